# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 11 Shuffling, iteration and the conjecture
#
# After this page you can compute how well noise hides a training record, if only the last model is published or if
# all models are published. You can give a small example in which shuffling the records makes the result less private.
# You can also tell a proved bound from a conjectured bound, and show by exact computation where a formula stops being
# a bound.
#
# **Have this page open**: Berthier (2019), Section 3.3, and then Sections 4.2 to 4.5. In practice, almost all
# training shuffles: the records are shuffled once an epoch, and then used one after the other. But the theorems of
# {doc}`04_accounting` are about batches drawn afresh at every step. How much privacy does a shuffled pass have? The
# report has a theorem for the last iterate, a conjecture for all iterates, and an example as a warning. We run all
# three, and report which results are proved, and by whom.
#
# These are **two tutorials**, with one pass of noisy SGD in common. They differ in what is published:
#
# | | I. Iteration (Section 3) | II. Shuffling (Section 4) |
# | --- | --- | --- |
# | published | the last iterate | every iterate |
# | what hides your record | the noise of the steps after yours | nobody knows which step was yours |
# | condition on the loss | steps that are $C$-Lipschitz | gradients of norm $L$ at most, nothing else |
# | why the record used last is hidden worst | no noise is added after it | no other unused record is left |
# | status | a theorem | a conjecture; our own proof for batches of one, which nobody else has reviewed |
#
# You can stop after the first half. Between the halves, one cell computes the $\epsilon$ of one pass in both ways.
#
# You need Rényi divergences, and you need to know how to convert them into $(\epsilon, \delta)$. Here two neighbours
# differ in one replaced record.
#
# The statements we meet: {ref}`berthier2019:thm3.5 <berthier2019-thm3-5>`, {ref}`berthier2019:thm3.6
# <berthier2019-thm3-6>`, {ref}`berthier2019:prop3.3 <berthier2019-prop3-3>`, {ref}`berthier2019:sec3.4.3
# <berthier2019-sec3-4-3>`, {ref}`berthier2019:sec4.5 <berthier2019-sec4-5>`, {ref}`berthier2019:sec4.4.2-belief
# <berthier2019-sec4-4-2-belief>`, {ref}`berthier2019:conj1 <berthier2019-conj1>` and {ref}`berthier2019:conj2
# <berthier2019-conj2>`. Three remarks are false: {ref}`berthier2019:rem-softmax <berthier2019-rem-softmax>`,
# {ref}`berthier2019:rem-feedback-private <berthier2019-rem-feedback-private>` and {ref}`berthier2019:rem-largest-rate
# <berthier2019-rem-largest-rate>`.

# %%
from fractions import Fraction
from itertools import permutations

import matplotlib.pyplot as plt
import numpy as np

from nfa import ops
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.network import Net
from nfa.network.dense import Dense
from nfa.noise import Streams
from nfa.papers.berthier2019.perturbation import noise_feedback as laws
from nfa.papers.berthier2019.perturbation.iteration import best_shifts, iteration_bound, rdp_iteration
from nfa.papers.berthier2019.perturbation.last_iterate import one_pass, rdp_shuffled_epoch
from nfa.papers.berthier2019.perturbation.shifted import after_noise, after_step
from nfa.papers.berthier2019.shuffling.beliefs import beliefs, non_common_mass
from nfa.papers.berthier2019.shuffling.conjectures import conjectured_epsilon, conjectured_step_rdp
from nfa.papers.berthier2019.shuffling.exact import mixture_renyi, worst_pair
from nfa.papers.berthier2019.shuffling.our_bound import corrected_epsilon, corrected_step_rdp
from nfa.papers.berthier2019.shuffling.our_proof import decomposition
from nfa.papers.berthier2019.shuffling.toy import OUTPUTS, noisy_toy, toy, toy_ratio
from nfa.privacy.accountant import epsilon
from nfa.privacy.gaussians import renyi_gaussian
from nfa.rules.noise_feedback import noise_feedback
from nfa.rules.shuffled_sgd import mechanism, private_sgd_shuffling

plt.rcParams.update({"figure.figsize": (7, 3.6), "figure.constrained_layout.use": True})
plt.rcParams["axes.grid"] = True

# %% [markdown]
# ## I. The last iterate hides its past
#
# We study one pass of noisy SGD: $\theta \leftarrow \theta - \gamma (\nabla \ell(\theta, x_t) + Z)$ with
# $Z \sim N(0, \sigma^2 I)$. Only the last iterate is published. Your record was used at step $t$. After it came
# $n - t$ more steps, each with fresh noise. These steps hide your record further.
#
# Two lemmas bound this effect. A step that is $C$-Lipschitz multiplies a shift between the iterates by at most $C$.
# At the step whose record differs, the shift also grows by $s = 2 \gamma L$
# ({ref}`berthier2019:lem3.4 <berthier2019-lem3-4>`). The noise of a step then removes a part $a$ of the shift, and
# the divergence grows in exchange ({ref}`berthier2019:lem3.3 <berthier2019-lem3-3>`). The next cell applies both
# lemmas in three steps, and your record is used in the first step:

# %%
gamma, L, sigma, C = 0.1, 1.0, 2.0, 1.1
z, spent = 0.0, 0.0
a = best_shifts(s=2 * gamma * L, C=C, n=3, t=1)
for t, part in enumerate(a, start=1):
    z, spent = after_step(z, spent, C=C, s=2 * gamma * L if t == 1 else 0.0)
    z, spent = after_noise(z, spent, alpha=2, a=min(part, z), sigma=gamma * sigma)
    print(f"after step {t}: shift {z:.5f}, divergence {spent:.5f}")
apart = [2 * gamma * L, 0, 0]
_, bound = iteration_bound(2, C=C, s=apart, a=a, sigma=gamma * sigma)
print(f"Theorem 3.5: {bound:.5f}")
print(f"Theorem 3.6: {rdp_iteration(2, L=L, sigma=sigma, C=C, n=3, t=1):.5f}")

# %% [markdown]
# The proof of Theorem 3.6 consists of these steps. It distributes the shift over the noise of all steps that follow,
# in the proportion that gives the least divergence. **Predict before you run the next cell**: Take 50 steps. How does
# the bound depend on $t$ for $C < 1$ (steps that contract), for $C = 1$, and for $C > 1$?
#
# For affine steps $\theta \mapsto C \theta$, both last iterates are Gaussian, so we can compare the bound with the
# exact divergence.

# %%
n = 50
ts = np.arange(1, n + 1)
fig, ax = plt.subplots()
for C, color in ((0.9, "C0"), (1.0, "C1"), (1.1, "C2")):
    bound = [rdp_iteration(2, L, sigma, C, n, int(t)) for t in ts]
    ax.semilogy(ts, bound, color=color, label=f"C = {C}")
    var = (gamma * sigma) ** 2 * np.sum(C ** (2.0 * np.arange(n)))
    apart = 2 * gamma * L * C ** (n - ts)
    exact = [renyi_gaussian(d, var, 0.0, var, alpha=2) for d in apart]
    ax.semilogy(ts, exact, ":", color=color)
ax.set(
    xlabel="t, the step that used the record",
    ylabel="Rényi divergence of order 2",
    title="Solid: Theorem 3.6; dotted: affine steps, exactly",
    ylim=(1e-5, 2),
)
ax.legend()
# In words: Divergence over the step that used the record, for three Lipschitz constants. The divergence is least for
# early steps and rises to that of one plain release at the last step. The bound lies above the dotted exact curves.
plt.show()

# %% [markdown]
# Early records are hidden best, and the last record is not hidden at all: at $t = n$ the bound is the divergence of
# one plain release. At $t = 1$ the bound equals the exact divergence. For $t > 1$ the bound leaves out the noise of
# the steps before $t$, which hides the record too.
#
# If the records are shuffled, nobody knows the step $t$ of a record. Then the divergence is at most a kind of average
# over the curve ({ref}`berthier2019:sec3.3.2-mean <berthier2019-sec3-3-2-mean>`). This is a theorem, and nfa's
# accountant uses it if its conditions are satisfied. There are two averages. The average `softmax` is from Lemma 3.1.
# The average `mean` is twice the mean over the records, and it needs high noise,
# $\sigma \ge L \sqrt{2 \alpha (\alpha - 1)}$. The report takes `mean`. It says that in `softmax` the weakest record,
# which is used last, dominates the average.
#
# **Predict**: At $\sigma = 4$, which of the two averages is smaller? What fraction of `max`, the divergence of the
# weakest record, is `softmax`?
#
# (shown-berthier2019-rem-softmax)=

# %%
for method in ("max", "mean", "softmax"):
    cost = rdp_shuffled_epoch(2, L, 4.0, 1.001, 1000, method=method)
    print(f"{method:7}: order 2, one pass of 1000 records: {float(cost):.6f}")
for noise in (4.0, 2.0, 0.3):
    low, high = (float(rdp_shuffled_epoch(2, L, noise, 1.001, 1000, method=name)) for name in ("softmax", "max"))
    print(f"σ = {noise}: softmax is {low / high:.3f} of max")

# %% [markdown]
# With high noise, `softmax` is about half of `mean` and a small share of `max`. So the report's sentence is false in
# the case for which the report needs it ({ref}`berthier2019:rem-softmax <berthier2019-rem-softmax>`). The weakest
# record dominates only at $\sigma = 0.3$, and there `mean` is not allowed. So nfa's accountant takes `softmax`:

# %%
setting = {"L": 1.0, "sigma": 4.0, "C": 1.001, "n": 1000}
for order in ("fixed", "shuffled"):
    release = one_pass(order=order, released="last", **setting)
    spent = epsilon([(release, 1000)], delta=1e-4, conversion="mironov2017")
    print(f"{order:8}: ε = {spent.epsilon:.3f}")
try:
    one_pass(order="shuffled", released="all", **setting)
except NoGuarantee as refusal:
    print(refusal)

# %% [markdown]
# ## Noise that is taken back
#
# Noise slows training. Section 3.4 tries a trick: at every step, it takes back the noise of the step before,
# $\theta_{t+1} = \theta_t - \gamma \nabla \ell - \eta_{t+1} + \eta_t$. How much noise remains in $\theta_t$? For
# affine gradients, the report has a recursion ({ref}`berthier2019:prop3.3 <berthier2019-prop3-3>`). The report
# concludes that most of the noise is cancelled, so that the variance of $\theta_t$ is less than the variance
# $\sigma^2$ of the noise of one step.
#
# **Predict**: Take $\theta_1 = \theta_0 - \gamma g_0 - \eta_1$. What is the variance of $\theta_1$? Which value must
# a recursion have at $t = 1$?
#
# We run the rule itself, on a network with 4,000 weights. These weights are 4,000 independent one-dimensional runs
# with the gradient $0.1 \, \theta$:
#
# (shown-berthier2019-prop3-3)=
# (shown-berthier2019-sec3-4-3)=

# %%
T, curvature, runs = 40, 0.1, 4000
draws = Streams(3)


def paths(sigma, feedback):
    """Variance over the runs of theta_1 .. theta_T."""
    layer = (Dense(runs, bias=False),)
    net = Net((1,), [layer], loss=ops.squared_error, init="zeros", rng=draws("init"))
    x, y, state, found = np.full((1, 1), curvature**0.5), np.zeros((1, runs)), {}, []
    for t in range(1, T + 1):
        rng = draws("noise", t)
        dW, _ = noise_feedback(net, x, y, m=1, sigma=sigma, rng=rng, state=state)
        net.W[1] -= dW[1]  # learning rate 1
        if not feedback:
            state.clear()  # without the noise of this step, the next step takes nothing back
        found.append(net.W[1].var())
    return found


A = np.full((T, 1, 1), curvature)
recursion = {
    "without feedback": laws.affine_covariances(A, gamma=1.0, sigma=1.0),
    "with it, corrected": laws.corrected_feedback_covariances(A, gamma=1.0, sigma=1.0),
    "with it, as printed": laws.claimed_feedback_covariances(A, gamma=1.0, sigma=1.0),
}
fig, ax = plt.subplots(figsize=(7, 4))
for name, covariance in recursion.items():
    ax.semilogy(range(1, T + 1), covariance[1:, 0, 0], label=name)
ax.semilogy(range(1, T + 1), paths(1.0, feedback=False), "C0.", label="runs of the rule")
ax.semilogy(range(1, T + 1), paths(1.0, feedback=True), "C1.")
ax.axhline(1, color="gray", ls=":", label="σ², one noise")
ax.set(xlabel="t", ylabel="variance of the iterate", ylim=(0.01, 12))
ax.set_title("γα = 0.1, σ = 1")
ax.legend(ncols=2, fontsize=9)
# In words: Variance of an iterate over t. Without feedback it grows. With feedback, the corrected recursion and the
# runs stay just above 1, and the printed recursion is far below them.
plt.show()
for name, covariance in recursion.items():
    first, last = covariance[[1, T], 0, 0]
    print(f"{name:20} variance at t = 1: {first:.2f}, at t = 40: {last:.4f}")

# %% [markdown]
# The first iterate shows that the printed recursion is wrong. The variance of this iterate is $\sigma^2$, but the
# printed recursion gives $2 \gamma^2 \sigma^2 \alpha^2 = 0.02$. The error is in the last line of the proof. With the
# correction, the variance stays **just above** $\sigma^2$. So the conclusion of Section 3.4.3, that the variance
# falls below $\sigma^2$, is false ({ref}`berthier2019:sec3.4.3 <berthier2019-sec3-4-3>`). One part of the conclusion
# is correct: with feedback, most of the privacy from iteration is lost. About the noise of one step remains on the
# output of the pass. Given the iterates before it, each iterate is the sum of all gradients so far plus one fresh
# noise. So a single step is not a mechanism by itself ({ref}`berthier2019:nf-update <berthier2019-nf-update>`).
#
# The report also expects too little of feedback. Section 3.4.1 says that a model which converges cannot be private.
# Add the noise to the gradient, so that the standard deviation of the noise on the iterate is $\gamma \sigma$. The
# gradients are $\theta - x_t$, and one record moves a gradient by at most $2L$.
#
# **Predict**: We lower $\gamma$ from 0.1 to 0.01. How does the noise in the last iterate change? How does the
# divergence that the last record causes change? One plain release has the divergence $2 \alpha L^2 / \sigma^2 = 1$.
#
# (shown-berthier2019-rem-feedback-private)=

# %%
ones = np.ones((2000, 1, 1))
for rate in (0.1, 0.01):
    left = laws.corrected_feedback_covariances(ones, gamma=rate, sigma=2 * rate)[-1, 0, 0]  # σ = 2 on the gradient
    causes = renyi_gaussian(2 * rate * L, left, 0.0, left, alpha=2)
    print(f"γ = {rate}: standard deviation {left**0.5:.4f}, divergence of order 2: {causes:.3f}")

# %% [markdown]
# The noise in the last iterate falls with $\gamma$, so the last iterate converges. The difference that a record
# causes falls with $\gamma$ too, and the divergence stays below that of one release. So the sentence of Section 3.4.1
# is false if steps contract ({ref}`berthier2019:rem-feedback-private <berthier2019-rem-feedback-private>`).
#
# ## The crossing: one pass, counted both ways
#
# So far we did not publish the intermediate iterates, and all privacy came from noise added later. Publishing the
# iterates removes this privacy. Anyone who sees $\theta_t$ and $\theta_{t+1}$ also sees $\theta_{t+1} - \theta_t$,
# which is a gradient with the noise of **one** step, whatever steps follow. In practice, the iterates are often
# known. For example, a server may send out its model after every step, or somebody may read a checkpoint. An
# accountant that adds up steps also assumes that the iterates are known.
#
# The **order** can still be secret. If nobody knows which record step $t$ used, it may be any record that was not
# used before. There are $n$ such records at the first step, and one at the last step. From here on, the secret order
# is the only protection, and no lemma above uses it.
#
# **Predict before you run**: Take one pass over 1,000 records, with $\sigma = 4 L$. There are four values of
# $\epsilon$: for the last iterate or all iterates, with a known or a secret order. Which of these values are equal?
# And what is $\epsilon$ for two passes that each stop half way, if every iterate is published?


# %%
def spent_by(release, steps=1):
    return epsilon([(release, steps)], delta=1e-4, conversion="mironov2017").epsilon


plain = Mechanism(
    law="gaussian",
    sensitivity=2.0,
    adjacency="replace-one",
    noise_std=4.0,
    sampling="none",
    sampling_rate=1.0,
)
stops = {"n": 1000, "e": 1, "L": 1.0, "sigma": 4.0, "delta": 1e-4, "orders": range(2, 65)}
print("one pass of 1,000 records, σ = 4L: ε at δ = 1e-4")
for order in ("fixed", "shuffled"):
    last = spent_by(one_pass(order=order, released="last", **setting), 1000)
    print(f"I.  last iterate, order {order:8}: {last:.3f}  (theorem)")
print(f"II. every iterate, order known:    {spent_by(plain):.3f}  (theorem: one full release)")
for tau in (1.0, 0.99, 0.5):
    secret = corrected_epsilon(tau=tau, **stops).epsilon
    of = f"passes of {tau:4.0%} of the records"
    print(f"II. every iterate, order secret, {of}: {secret:.3f}  (unreviewed)")

# %% [markdown]
# A whole pass costs one full release if all its iterates are published. If we count it step by step, the secret order
# does not help. (The value 2.273 is a bound at Rényi orders that are whole numbers. It is not smaller than the bound
# for a known order.) The reason is that before the last step, an adversary may know that all records except yours
# have been used. A fixed order with only the last iterate published also costs one full release, because no noise is
# added after the record used last.
#
# **Shuffling can help only in passes that stop early.** In such a pass, your record is hidden among many unused
# records. The conjecture is about such passes, for example two half passes in place of a whole pass. Two terms change
# their meaning at this point. In the first half, $C$ is a Lipschitz constant, and "late" means that little noise
# follows. In the second half, $C$ is a constant of the conjecture, and "late" means that few records are left.
#
# ## II. Shuffling can be less private
#
# We begin with the warning of Section 4 ({ref}`berthier2019:sec4.5 <berthier2019-sec4-5>`). There are two records,
# each with one of two losses, and two steps of size one from 0. The walk ends in $-2$, $0$ or $2$. With probability
# $p$ this end is published, and otherwise a random one of the three values is published. The next cell computes the
# probabilities of the outputs, in exact fractions:

# %%
half = Fraction(1, 2)
fig, axes = plt.subplots(1, 3, figsize=(10, 3.4))
ways = (("with", True), ("without", False))
for ax, (name, replacement) in zip(axes[:2], ways, strict=True):
    for shift, losses, label in ((-0.3, (1, 1), "{ℓ₁, ℓ₁}"), (0.3, (1, 2), "{ℓ₁, ℓ₂}")):
        law = toy(losses, p=half, replacement=replacement)
        print(f"{name:8} replacement, {label}:", *(f"{k}: {v}" for k, v in law.items()))
        heights = [float(v) for v in law.values()]
        ax.bar([k + shift for k in OUTPUTS], heights, 0.6, label=label)
    ratio = toy_ratio(p=half, replacement=replacement)
    ax.set(xticks=OUTPUTS, ylim=(0, 0.8), xlabel="output")
    ax.set_axisbelow(True)
    ax.set_title(f"{name} replacement: ε = log {float(ratio):g}", fontsize=11)
    ax.legend()
axes[0].set_ylabel("probability, p = 1/2")
ps = [Fraction(k, 100) for k in range(96)]
for name, replacement in ways:
    ratios = [float(toy_ratio(p=p, replacement=replacement)) for p in ps]
    axes[2].plot(ps, np.log(ratios), label=name)
axes[2].set(xlabel="p", ylabel="ε", title="for every p")
axes[2].legend()
# In words: Left and middle, bars of the probabilities of the outputs for two sets of losses, with and without
# replacement. Right, epsilon over p. The epsilon without replacement is larger for every p.
plt.show()

# %% [markdown]
# Sampling without replacement is less private for every $p > 0$. It is also less private with Gaussian noise and
# quadratic losses:

# %%
for name, replacement in ways:
    both, equal = (noisy_toy(pair, replacement=replacement) for pair in ((1, 2), (1, 1)))
    D = mixture_renyi(both, equal, sigma=2**0.5, alpha=2)
    print(f"{name:8} replacement: D₂ of the last iterate {D:.5f}")

# %% [markdown]
# Is this example an argument against shuffling? The example has $n = 2$ and a pass that uses both records, so no
# unused record remains to hide the replaced record. The conjecture is about passes that stop early, while many
# records are unused.
#
# ## What do the outputs reveal about the next record?
#
# Suppose that every iterate is published. Each iterate reveals something about which record was used. So after a few
# iterates, an adversary has **beliefs** about which record comes next, and these beliefs depend on the data. The
# report's proof stops at this point ({ref}`berthier2019:sec4.4.2-belief <berthier2019-sec4-4-2-belief>`). Take five
# records and two published outputs. `phi[j][k]` is the density of output $j$ if record $k$ made it. To avoid any
# formula, we enumerate all $5!$ orders.

# %%
phi = [[8, 1, 2, 1, 3], [1, 5, 1, 2, 1]]  # record 0 is replaced in the neighbour
replaced = [1, 9]  # densities of the outputs if the record that replaces record 0 made them


def by_enumeration(phi):
    """The law of the third record given two outputs, over all orders of five."""
    weight = [Fraction(0)] * 5
    for s in permutations(range(5)):
        weight[s[2]] += phi[0][s[0]] * phi[1][s[1]]
    return [w / sum(weight) for w in weight]


other = [[own, *row[1:]] for row, own in zip(phi, replaced, strict=True)]
p, q = by_enumeration(phi), by_enumeration(other)
print("p =", *p)
print("q =", *q)
print("the same as `beliefs`:", p == beliefs(phi) and q == beliefs(other))
print("largest belief", max(p + q), " never above 1/(n - m) =", Fraction(1, 5 - 2))

# %% [markdown]
# The beliefs $p$ and $q$ differ for **every** record, not only for the replaced record. So the probabilities of the
# next record depend on the data. Theorems on subsampling do not apply to such probabilities.
#
# **Predict**: The common part of the two laws is $\sum_{k \ge 1} \min(p_k, q_k)$, without the replaced record 0. Is
# it more or less than $2/3$?

# %%
parts = decomposition(phi, replaced)
c = parts.c
print("c =", c)
for name, law, side in (("p, A", p, parts.A), ("q, B", q, parts.B)):
    mixed = [(1 - c) * o + c * own for o, own in zip(parts.O, side, strict=True)]
    print(f"{name}: the law is (1 - c) O + c times its own part:", mixed == law)
print("O =", *parts.O)
print("A =", *parts.A)
print("B =", *parts.B)
print("not common in truth:", non_common_mass(p, q), "≤ c:", non_common_mass(p, q) <= c)

# %% [markdown]
# The result is exact: $p = (1 - c) O + c A$ and $q = (1 - c) O + c B$ with the same $O$ and $c = 1/(n - m)$, one over
# the number of records not yet used. Whatever the outputs have revealed, the next record is drawn as if the replaced
# record had the probability $c$. If this decomposition always exists, the conjecture follows.
#
# We have a proof that it always exists for batches of one record. **The proof is ours, and nobody else has reviewed
# it.** The module `nfa.papers.berthier2019.shuffling.our_proof` has its hypotheses, its lemmas, and functions with
# which you can try to refute the proof. For batches of two the decomposition fails, and the module runs an example of
# this failure too. So the verdict stays "conjecture", which is the report's own word.
#
# ## The leading term, and the order up to which it is a bound
#
# Conjecture 1 ({ref}`berthier2019:conj1 <berthier2019-conj1>`) says that step $t$ costs at most
# $\frac{16 \alpha L^2}{(n - t + 1)^2 \sigma^2}$ **plus** an $O((n - t + 1)^{-3})$. The report does not give the
# constant of the second part. The report does not say whether its Figure 12 counts the second part
# ({ref}`berthier2019:fig12 <berthier2019-fig12>`). May we leave the second part out? The first step of a pass is a
# draw with replacement, so its divergence is known.
#
# **Predict**: With $n = 1000$ and $\sigma = 2L$, up to which order is the leading term a bound?

# %%
orders, noisy = np.arange(2, 33), {"L": 1.0, "sigma": 2.0}
curves = {
    "exact, the worst pair we know": worst_pair(orders, c=1 / 1000, x=1.0),
    "every term (proof unreviewed)": corrected_step_rdp(orders, c=1 / 1000, **noisy),
    "leading term alone": conjectured_step_rdp(orders, n=1000, t=1, **noisy),
}
fig, (left, right) = plt.subplots(1, 2, figsize=(10, 3.9))
for name, curve in curves.items():
    left.semilogy(orders, curve, label=name)
left.set(xlabel="order α", ylabel="Rényi divergence of a step", title="1000 records left")
left.legend(fontsize=9)
exact, _, leading = curves.values()
for alpha in (2, 13, 14, 16):
    k = alpha - 2
    print(f"order {alpha:2}: exact {exact[k]:.3g}, leading term {leading[k]:.3g}")
unused = np.unique(np.geomspace(1, 1000, 40).astype(int))
for alpha, color in ((2, "C0"), (8, "C1"), (16, "C2")):
    truth = [worst_pair([alpha], c=1 / k, x=1.0)[0] for k in unused]
    first = [conjectured_step_rdp([alpha], n=int(k), t=1, **noisy)[0] for k in unused]
    right.loglog(unused, truth, color=color, label=f"α = {alpha}")
    right.loglog(unused, first, ":", color=color)
right.set(xlabel="records left, n - t + 1", title="solid: exact; dotted: leading term")
right.legend()
# In words: Left, divergence of a step over the order. The exact divergence and the leading term agree up to order 13,
# and then the exact divergence grows steeply. Right, the divergence over the number of records left. The leading term
# is parallel to the exact divergence for small orders and below it for 16.
plt.show()

# %% [markdown]
# The leading term is a bound up to order 13. At order 14 it is too small by a factor of about 5, and at order 16 by a
# factor of about 10,000. The reason is the binomial term $c^\alpha e^{\alpha (\alpha - 1) / 2}$, which belongs to the
# case that your record is used. From order 14 on, this term is larger than all others. The constant of the $O(\cdot)$
# depends on $\alpha$, and grows as fast as this term. The same sharp increase bends the curve of
# {doc}`04_accounting`.
#
# ## $\epsilon$ against epochs, computed in five ways
#
# Which Rényi order does an accountant take? For few epochs it takes a large order, $1 + \sqrt{\log(1/\delta)/R}$, if
# the divergence is $R \alpha$. This order is far larger than the orders up to which the leading term is a bound.

# %%
e, order = conjectured_epsilon(n=1000, e=1, tau=0.001, L=1.0, sigma=2.0, delta=1e-4)
print(f"one epoch by the leading term: ε = {e:.5f} at order {order:.1f}: no bound")

tau, epochs = 0.5, np.array([1, 2, 3, 5, 7, 10, 15, 20, 30, 50])
run = {"n": 1000, "L": 1.0, "sigma": 2.0, "delta": 1e-4}
whole = Mechanism(
    law="gaussian",
    sensitivity=2.0,
    adjacency="replace-one",
    noise_std=2.0,
    sampling="none",
    sampling_rate=1.0,
)
clip = {"L": 1.0, "sigma": 2.0, "adjacency": "replace-one"}
fresh = mechanism(sampling="without-replacement", sampling_rate=1 / 1000, **clip)
small = range(2, 65)


def leading(e):
    return conjectured_epsilon(e=e, tau=tau, **run)[0]


def every_term(e):
    return corrected_epsilon(e=e, tau=tau, orders=small, **run).epsilon


def proved(release, steps):
    counted = epsilon([(release, steps)], delta=1e-4, conversion="mironov2017")
    return counted.epsilon


readings = {
    "leading term alone, τ = 1/2 (no bound)": leading,
    "every term, τ = 1/2 (proof unreviewed)": every_term,
    "proved, τ = 1/2: a pass is a release": lambda e: proved(whole, 2 * e),
    "proved, τ = 1: a pass is a release": lambda e: proved(whole, e),
    "proved, τ = 1/n: drawn afresh": lambda e: proved(fresh, 1000 * e),
}
styles = (":", "--", "-", "-", "-")
fig, ax = plt.subplots(figsize=(8, 4.6))
print("ε at 1, 10 and 50 epochs")
for (name, reading), style in zip(readings.items(), styles, strict=True):
    eps = [reading(int(e)) for e in epochs]
    ax.loglog(epochs, eps, style, label=name)
    print(f"{name:40}", *(f"{eps[i]:8.3f}" for i in (0, 5, 9)))
ax.set(xlabel="epochs", ylabel="ε at δ = 1e-4", title="1000 records, σ = 2L")
ax.legend(fontsize=9)
# In words: Epsilon over epochs on log scales, computed in five ways. Solid lines for the theorems are highest and
# lowest, and the conjectured curves are between them.
plt.show()

# %% [markdown]
# The solid lines are theorems. If the adversary knows the order of a pass, the pass costs one full release, whatever
# $\tau$ is. This fact needs no conjecture, and the report misses it for $\tau = 1$
# ({ref}`berthier2019:alg1 <berthier2019-alg1>`). If the batch is drawn afresh at every step, the bound on $\epsilon$ is
# also a theorem. Partial passes are between these lines, and their saving is a conjecture
# ({ref}`berthier2019:conj2 <berthier2019-conj2>`).
# For one epoch, the dotted line is below the dashed line, which has every term. So do not use the dotted line. If you
# ask nfa for a guarantee by the conjecture, it raises an error:

# %%
for ask in (
    lambda: mechanism(sampling="partial-passes", sampling_rate=1e-3, **clip),
    lambda: epsilon([(whole, 1)], delta=1e-4, bound="berthier2019:conj1"),
):
    try:
        ask()
    except NoGuarantee as refusal:
        print(refusal, end="\n\n")
print("by name only:", corrected_epsilon(e=1, tau=tau, orders=small, **run).bound)

# %% [markdown]
# ## Does it matter how one shuffles?
#
# Without noise, passes without replacement converge faster, and this is why almost all training shuffles. Do they also
# converge faster with the noise that privacy needs? We use a small problem in two dimensions,
# $\ell(\theta, x) = \|\theta - x\|^2 / 2$. Its minimiser is the mean.

# %%
points = np.random.default_rng(0).normal(0, 0.5, (50, 2))
given = {
    "theta_0": np.zeros(2),
    "gamma": 0.02,
    "grad": lambda theta, x: theta - x,
    "L": 2.0,
    "e": 8,
}
for sigma in (0.0, 0.2, 1.0):
    told = []
    for tau in (0.02, 0.5, 1):
        given |= {"tau": tau, "sigma": sigma}
        seeds = [Streams(k) for k in range(30)]
        ends = [private_sgd_shuffling(points, streams=one, **given) for one in seeds]
        off = np.sum((np.array(ends) - points.mean(axis=0)) ** 2, axis=1)
        told.append(f"τ = {tau}: {np.sqrt(off.mean()):.4f}")
    print(f"σ = {sigma}: distance to the minimiser", *told, sep="   ")

# %% [markdown]
# Without noise, whole passes come much closer to the minimiser ({ref}`berthier2019:rates <berthier2019-rates>` has
# the rates of convergence). At $\sigma = 1$, which is half of the clip and a quarter of the value that the conjecture
# requires, the difference is no longer visible. (This is one small problem with one learning rate.) The difference of
# the squared distances is as large as without noise. But it is only a very small share of the squared distance
# ({ref}`berthier2019:sec4.6.3-sense <berthier2019-sec4-6-3-sense>`). Then you can choose between whole and partial
# passes by their privacy alone.
#
# One setting does matter: the learning rate. No step's $\epsilon$ depends on the learning rate. The report concludes
# that you should take the largest rate at which the loss does not diverge, here just below 2.
#
# **Predict**: Take $\sigma = 1$, no clip, and a start at distance 3 from 0. At which of the rates below does the run
# end nearest to the minimiser?
#
# (shown-berthier2019-rem-largest-rate)=

# %%
given |= {"tau": 1, "sigma": 1.0, "L": np.inf, "theta_0": np.array([3.0, 0.0])}
for rate in (0.002, 0.02, 0.2, 1.9):
    given["gamma"] = rate
    ends = [private_sgd_shuffling(points, streams=Streams(k), **given) for k in range(30)]
    off = np.sum((np.array(ends) - points.mean(axis=0)) ** 2, axis=1)
    print(f"γ = {rate:5}: distance to the minimiser {np.sqrt(off.mean()):.3f}")

# %% [markdown]
# The run with the rate 0.02, far below the largest rate, ends nearest to the minimiser. The noise keeps the last
# iterate at a distance from the minimiser, and this distance grows with the rate. So the report's advice is false
# ({ref}`berthier2019:rem-largest-rate <berthier2019-rem-largest-rate>`). With the rate 0.002 the run is too slow,
# because 400 steps are too few to come near the minimiser. Also, the guarantee of the last iterate alone does depend
# on the rate, through $C$.
#
# ## What you have learnt
#
# - If only the last iterate is published, the record used first is hidden best, and the record used last is not
#   hidden.
# - With feedback, the variance of an iterate stays just above $\sigma^2$, and does not fall below it.
# - If all iterates are published, a whole pass costs one full release, and only passes that stop early might cost
#   less.
# - With 1000 records and $\sigma = 2L$, the leading term of Conjecture 1 is a bound only up to order 13.
# - The saving of partial passes is a conjecture. Our proof for batches of one has been reviewed by nobody else.
#
# ## Exercises
#
# 1. **By hand.** In the toy example, derive $e^\epsilon = (1 + 2p)/(1 - p)$ without replacement. Check:
#    `toy_ratio(p=Fraction(3, 4), replacement=False)` is 10, or `nfa reproduce berthier2019:fig9`.
# 2. **Noise that is taken back, by hand.** With $\gamma \alpha = 1$ and $\sigma = 1$, write $\theta_3$ with feedback
#    as a sum of the three noises. What is its variance? Check: `corrected_feedback_covariances(np.ones((3, 1, 1)),
#    gamma=1.0, sigma=1.0)` of `nfa.papers.berthier2019.perturbation.noise_feedback`.
#    {ref}`berthier2019:prop3.3 <berthier2019-prop3-3>` has more numbers.
# 3. **Try to refute the decomposition.** Draw random tables `phi` of fractions, with $n$ up to 6 and 1 to $n - 2$
#    outputs. (For the last record $c = 1$, and there is no $O$.) Compare `decomposition` with your own enumeration.
#    Check: a hundred tables take seconds. In the clone, `pytest --eq berthier2019:conj1` makes the same comparison on
#    many tables, in minutes.
# 4. **Batches of two.** Take `next_batch` and `non_common_mass_of_batches` of
#    `nfa.papers.berthier2019.shuffling.beliefs`. Find an output after which the part that is not common to both laws
#    is larger than $b/(n - b)$. Check: the docstring of the second function has one, with $5/6$.
# 5. **How small is high noise?** For $n = 1000$, up to which order is the leading term a bound if $\sigma = 4L$? First
#    guess from $c^\alpha e^{\alpha(\alpha - 1)x/2}$, $x = (2L/\sigma)^2$. Check: compare `worst_pair` with $x = 1/4$
#    and `conjectured_step_rdp`. The order is 55.
#
# ## Three questions
#
# Answer each before you unfold it.
#
# <details><summary>1. Only the last iterate is published. Whose record is hidden best, the first one used or the
# last?</summary>
#
# The record used first is hidden best. Every later step adds fresh noise and, if it contracts, reduces the
# difference. The record used last is hidden only as well as in a plain release.
#
# </details>
#
# <details><summary>2. All iterates are published. Which results of the first half of this tutorial still
# hold?</summary>
#
# None of the amplification holds, because it comes from steps whose iterates are not published. A pass whose order is
# known costs one full release. For secret orders there is only the conjecture.
#
# </details>
#
# <details><summary>3. May we compute an ε with the leading term of Conjecture 1?</summary>
#
# No. The leading term leaves out a term whose constant grows with the order. From some order on (14 for 1,000 records
# and noise 2L), it is below the exact divergence. Accountants for few epochs choose far larger orders.
#
# </details>
#
# ## Further reading
#
# - Feldman, Mironov, Talwar & Thakurta, "Privacy amplification by iteration", FOCS 2018,
#   [arXiv:1808.06651](https://arxiv.org/abs/1808.06651): the source of the shifts in the first half.
# - Altschuler & Talwar, "Privacy of noisy stochastic gradient descent: more iterations without more privacy loss",
#   NeurIPS 2022, [arXiv:2205.13710](https://arxiv.org/abs/2205.13710). They bound the privacy loss of the last iterate
#   after many passes.
# - Feldman, McMillan & Talwar, "Hiding among the clones: a simple and nearly optimal analysis of privacy amplification
#   by shuffling", FOCS 2021, [arXiv:2012.12803](https://arxiv.org/abs/2012.12803). They shuffle answers that are each
#   private on their own, so their model differs from the model here.
# - Chua et al., "How private are DP-SGD implementations?", ICML 2024,
#   [arXiv:2403.17673](https://arxiv.org/abs/2403.17673): shuffled batches that are counted as Poisson batches, and how
#   wrong the count can be.
