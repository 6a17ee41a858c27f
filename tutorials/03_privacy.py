# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 03 Differential privacy: from a coin to Rényi
#
# **Have this page open**: Berthier (2019), Section 2, pages 8 to 15: from histograms over randomised response,
# Laplace and Gaussian noise to total variation and Rényi. Eight pages with most of what the other papers take for
# granted. This tutorial begins with its example, a survey with a coin, and does not let go of it until the last
# definition.
#
# You need what a probability is, and logarithms. Nothing here is about neural networks.
#
# The statements we meet: {ref}`berthier2019:rr <berthier2019-rr>`, {ref}`berthier2019:def-hist
# <berthier2019-def-hist>`, {ref}`berthier2019:def2.1 <berthier2019-def2-1>`,
# {ref}`berthier2019:prop2.1 <berthier2019-prop2-1>`, {ref}`berthier2019:prop2.2 <berthier2019-prop2-2>`,
# {ref}`berthier2019:rem-release-one <berthier2019-rem-release-one>`,
# {ref}`berthier2019:def-tv <berthier2019-def-tv>`, {ref}`berthier2019:prop2.4 <berthier2019-prop2-4>`,
# {ref}`berthier2019:lecam <berthier2019-lecam>`, {ref}`berthier2019:thm2.1 <berthier2019-thm2-1>`,
# {ref}`berthier2019:def2.2 <berthier2019-def2-2>` and {ref}`berthier2019:prop2.7 <berthier2019-prop2-7>`.

# %%
import matplotlib.pyplot as plt
import numpy as np

from nfa.papers.berthier2019.mechanisms import classic, composition, testing, total_variation
from nfa.papers.berthier2019.mechanisms import randomised_response as rr
from nfa.papers.berthier2019.mechanisms.neighbours import histogram_distance, neighbours, release_one
from nfa.privacy import divergences, gaussians, rdp

plt.rcParams.update({"figure.constrained_layout.use": True, "axes.grid": True})
plt.rcParams["axes.axisbelow"] = True
rng = np.random.default_rng(2019)

# %% [markdown]
# ## A survey with a coin
#
# Did you copy your homework? Toss a coin in secret. Heads: answer truthfully. Tails: toss again, and say yes for
# heads, no for tails ({ref}`berthier2019:rr <berthier2019-rr>`). Of 1,000 people 300 did.
#
# **Predict before you run the next cell**: how many yeses will there be?

# %%
bits = np.zeros(1000, int)
bits[:300] = 1
answers = rr.randomised_response(bits, truth=0.5, rng=rng)
print("yeses:", answers.sum())
print(f"share of yeses as it is:  {answers.mean():.3f}")
print(f"share of yeses put right: {rr.debiased_mean(answers, truth=0.5):.3f}")

# %% [markdown]
# About 400: the 150 of the 300 whom the first coin tells to be truthful, and half of the 500 whom it sends to the
# second coin. Everybody's yes may be a coin's, and yet the share can be read off: take away the quarter of
# coin-yeses, divide by the one half that is true. The price is variance. Four hundred such surveys, and the
# formula for it:

# %%
surveys = [rr.randomised_response(bits, truth=0.5, rng=rng) for _ in range(400)]
shares = [rr.debiased_mean(answers, truth=0.5) for answers in surveys]
std = np.sqrt(rr.debiased_variance(1000, truth=0.5))

fig, ax = plt.subplots(figsize=(7, 3.2))
ax.hist(shares, bins=25, density=True, alpha=0.6, label="400 surveys")
t = np.linspace(0.15, 0.45, 200)
normal = np.exp(-(((t - 0.3) / std) ** 2) / 2) / std / np.sqrt(2 * np.pi)
ax.plot(t, normal, "k", label="normal, std by formula")
ax.axvline(0.3, color="gray", ls=":")
ax.set(xlabel="estimated share", ylabel="density", title="1,000 people, p = 1/2")
ax.legend()
# In words: A histogram of 400 estimated shares, bell-shaped about the true 0.3, under the normal curve that the
# formula gives.
plt.show()
print(f"std of the surveys {np.std(shares):.4f}, by the formula {std:.4f}")

# %% [markdown]
# ## What the coin protects
#
# Somebody sees my answer. It is yes with probability 3/4 if I did, 1/4 if I did not. So a yes makes "you did"
# three times as likely as before, compared with "you did not", and never more; nor does a no. That factor is the
# whole definition, once it is said which two worlds are compared: mine as it is, and one in which nothing but my
# record is another.
#
# ### Neighbours
#
# A data set is the histogram $x$ of its records, $x_k$ records of kind $k$ ({ref}`berthier2019:def-hist
# <berthier2019-def-hist>`). Two data sets are **neighbours**, $x \sim y$, if they differ in one record. That is said
# in two ways, and they are not the same:
#
# $$\textbf{add-remove:}\quad \|x - y\|_1 = \sum_k |x_k - y_k| = 1 \qquad\quad
# \textbf{replace-one:}\quad \|x - y\|_1 = 2,\; \sum_k x_k = \sum_k y_k$$
#
# In the first a record is there or not, in the second it has another value and the number of records is known to all.
# **Predict**: two who did not copy and one who did. How many neighbours has this data set, either way?

# %%
for adjacency in ("add-remove", "replace-one"):
    found = [y.tolist() for y in neighbours([2, 1], adjacency=adjacency)]
    apart = {histogram_distance([2, 1], y) for y in found}
    print(f"{adjacency:12} [2, 1] has {found}, at the distance {apart}")

# %% [markdown]
# Our survey is replace-one: everybody answers, with a yes or a no. Replacing is removing and then adding, so what is
# $\epsilon$-private for add-remove is $2\epsilon$-private for replace-one; an $\epsilon$ that does not name its
# neighbours can be off by a factor of two ({doc}`05_sensitivity` meets it again).
#
# Training has a third relation, **zero-out** ({ref}`ours:zero-out <ours-zero-out>`): the number of records stays, and
# one record adds exactly 0 to every sum. It hides whether a record took part, as add-remove does, and lets everybody
# know how many records there are.
#
# ### The definition
#
# A mechanism $A$ makes of a data set a random output. It is $(\epsilon, \delta)$-private if for **all** neighbours
# $x \sim y$ and every set $S$ of outputs
#
# $$P[A(x) \in S] \le e^{\epsilon} P[A(y) \in S] + \delta$$
#
# ({ref}`berthier2019:def2.1 <berthier2019-def2-1>`). All neighbours means both orders too, $x$ on the left and $y$ on
# the left. At $\delta = 0$ the coin has $\epsilon = \log 3$. For a
# smaller $\epsilon$, or for another mechanism, one may ask how much $\delta$ is needed. The answer is a sum over
# outputs,
#
# $$\delta(\epsilon) = \max_S \big(P[A(x) \in S] - e^\epsilon P[A(y) \in S]\big)
# = \sum_k \max(p_k - e^\epsilon q_k,\, 0)$$
#
# where $p$ and $q$ are the laws of the output on the two neighbours: the worst $S$ collects the outputs with
# $p_k > e^\epsilon q_k$. As a curve over $\epsilon$ it says everything that can be said.

# %%
yes, no = rr.randomised_response_laws(truth=0.5)
eps = rr.randomised_response_epsilon(truth=0.5)
print(f"epsilon = {eps:.4f}, log 3 = {np.log(3):.4f}")

epsilons = np.linspace(0, 4, 81)
truths = np.linspace(0.02, 0.98, 97)
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4))
for truth in (0.25, 0.5, 0.75):
    laws = rr.randomised_response_laws(truth=truth)
    delta = [divergences.hockey_stick(*laws, epsilon=e) for e in epsilons]
    left.plot(epsilons, delta, label=f"p = {truth}")
left.set(xlabel="ε", ylabel="least δ", title="One answer")
left.legend()
right.semilogy(
    [rr.randomised_response_epsilon(truth=p) for p in truths],
    [np.sqrt(rr.debiased_variance(1000, truth=p)) for p in truths],
)
right.set(xlabel="ε", ylabel="error of the share (std)")
right.set_title("What 1,000 people pay for it")
# In words: Left, the least delta over epsilon for three coins: each falls in a curve to 0. Right, the error of the
# share over epsilon: the smaller epsilon, the larger the error.
plt.show()

# %% [markdown]
# The curve of $\delta$ falls to 0 at $\epsilon = \log \frac{1+p}{1-p}$ and starts at $\delta = p$, on which more
# below. On the right is the trade that the rest of the field tries to improve.
#
# ## Laplace: trust somebody, and add the noise once
#
# If one trusted person counts the true yeses and adds noise to the count, less is needed. One record moves a
# count by at most 1; Laplace noise of scale $1/\epsilon$ makes it $\epsilon$-private ({ref}`berthier2019:prop2.1
# <berthier2019-prop2-1>`). **Predict**: at $\epsilon = \log 3$, by what factor is the error smaller than the
# coin's?

# %%
eps = np.log(3)
b = classic.laplace_scale(l1_sensitivity=1, epsilon=eps)
count = np.full(5, 300)
released = classic.laplace_mechanism(count, l1_sensitivity=1, epsilon=eps, rng=rng)
print("five releases of the count 300:", released.round(1))
print(f"error of the share: {np.sqrt(2) * b / 1000:.5f} by Laplace, {std:.4f} by coins")

# %% [markdown]
# More than twenty times smaller, for a thousand people; the coins' noise grows with $\sqrt n$, this one does not
# grow. Why Laplace? Draw the logarithm of the ratio of the two densities, with a record and without it:

# %%
sigma = classic.gaussian_scale(epsilon=eps, delta=1e-5, l2_sensitivity=1)
t = np.linspace(-14, 15, 600)
laplace_loss = (np.abs(t - 1) - np.abs(t)) / b
gauss_loss = ((t - 1) ** 2 - t**2) / (2 * sigma**2)
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4))
for centre, style in ((0, "-"), (1, "--")):
    density = np.exp(-np.abs(t - centre) / b) / (2 * b)
    left.plot(t, density, "C0" + style, label=f"Laplace at {centre}")
    density = np.exp(-((t - centre) ** 2) / (2 * sigma**2)) / sigma / np.sqrt(2 * np.pi)
    left.plot(t, density, "C1" + style, label=f"Gauss at {centre}")
left.set(xlabel="released count - count without me", ylabel="density", xlim=(-6, 7))
left.legend(fontsize=8)
right.plot(t, laplace_loss, label="Laplace")
right.plot(t, gauss_loss, label="Gauss")
for bound in (-eps, eps):
    right.axhline(bound, color="gray", ls=":")
right.set(xlabel="released count - count without me", ylabel="log ratio")
right.set_title("Privacy loss")
right.legend()
# In words: Left, densities of the released count for two neighbours: a pair of pointed Laplace curves, a pair of
# Gaussian bells. Right, their log ratio: Laplace's stays between two dotted lines, that of Gauss is straight and
# leaves them.
plt.show()

# %% [markdown]
# Laplace's ratio stays between $\pm\epsilon$, like the coin's. The Gaussian's is a straight line: far out it
# passes any bound, but far out it seldom is. That "seldom" is what $\delta$ is for.
#
# ## Gauss, and a formula that one should not use for large $\epsilon$
#
# Textbooks give $\sigma = \sqrt{2 \log(1.25/\delta)}\, S_2 / \epsilon$. They say $\epsilon < 1$ with it; the
# report does not ({ref}`berthier2019:prop2.2 <berthier2019-prop2-2>`). The exact $\delta$ is known in closed
# form, so we can see:
#
# (shown-berthier2019-prop2-2)=

# %%
grid = np.linspace(0.2, 14, 70)
fig, ax = plt.subplots(figsize=(7, 3.6))
for delta in (1e-2, 1e-5, 1e-10):
    ratio = []
    for e in grid:
        sigma = classic.claimed_gaussian_scale(epsilon=e, delta=delta, l2_sensitivity=1)
        exact = gaussians.hockey_stick_gaussian(epsilon=e, noise_multiplier=sigma)
        ratio.append(exact / delta)
    crossing = np.interp(1, ratio, grid)
    ax.semilogy(grid, ratio, label=f"δ = {delta:g}, above 1 from ε = {crossing:.1f}")
ax.axhline(1, color="k", ls=":")
ax.set(xlabel="ε", ylabel="exact δ / promised δ")
ax.set_title("Noise by the textbook's formula")
ax.legend()
# In words: Exact over promised delta against epsilon, for three promises: below 1 for small epsilon, above the dotted
# line at 1 from some epsilon on, the later the smaller delta is.
plt.show()

# %% [markdown]
# For small $\epsilon$ the formula wastes noise; above the dotted line it breaks its promise.
# `classic.gaussian_scale` solves for the least noise instead and is right everywhere;
# `classic.classical_gaussian_scale` refuses beyond 1.
#
# And how small must $\delta$ be? Consider the mechanism that picks one of $n$ records at random and prints it. It
# is $(0, 1/n)$-private ({ref}`berthier2019:rem-release-one <berthier2019-rem-release-one>`):

# %%
with_me, without_me = release_one([999, 1]), release_one([1000, 0])
print("delta at epsilon = 0:", divergences.hockey_stick(with_me, without_me, epsilon=0))

# %% [markdown]
# It tells all about somebody, every time. Hence $\delta$ well below $1/n$.
#
# ## Privacy as a test
#
# At $\epsilon = 0$ the least $\delta$ is the **total variation**, the largest difference $|P(S) - Q(S)|$
# ({ref}`berthier2019:def-tv <berthier2019-def-tv>`); for the coin it is $p$. It has a meaning of its own. One of
# two neighbours is chosen by a fair coin, you see the output and say which it was. The best answer is the
# likelier one, and it is right with probability $\frac12 + \frac12 TV$ ({ref}`berthier2019:lecam
# <berthier2019-lecam>`). For the coin this is more than a half. So privacy bounds what can be inferred about one
# person. It does not make the inference impossible, as a paper on photonic training says
# ({ref}`ohana2021:dp-impossible <ohana2021-dp-impossible>`):
#
# (shown-ohana2021-dp-impossible)=

# %%
test = testing.best_test(no, yes)
wrong = testing.errors(test, no, yes)
tv_coin = divergences.total_variation(no, yes)
print("answer to (no, yes):", test, " errors:", wrong)
print("right:", 1 - sum(wrong) / 2, "=", testing.success(tv_coin))

# %% [markdown]
# One may also prefer to accuse rarely. Every such choice is a point, and all of them are the **ROC curve**: how
# many of the guilty are found at a given rate of false accusations. What $(\epsilon, \delta)$ promises is that
# this curve stays below two lines.

# %%
a = np.linspace(0, 1, 401)
fig, ax = plt.subplots(figsize=(4.6, 4.4))
most = 1 - testing.dp_trade_off(a, epsilon=eps)
ax.fill_between(a, most, 1, color="0.85", label="not with ε = log 3")
ax.plot(*testing.roc_of_laws(no, yes), "o-", label="coin, p = 1/2")
ax.plot(a, 1 - testing.gaussian_trade_off(a, noise_multiplier=1.0), label="Gauss, σ = 1")
ax.plot(a, 1 - testing.gaussian_trade_off(a, noise_multiplier=3.0), label="Gauss, σ = 3")
ax.plot([0, 1], [0, 1], "k:")
ax.set(xlabel="false accusations", ylabel="found", aspect="equal")
ax.set_title("What a test can reach")
ax.legend(loc="lower right", fontsize=8)
# In words: Found records over false accusations: the coin's curve touches the corner of the grey area that log 3
# forbids, the Gaussian with noise 1 crosses into it, the one with noise 3 stays nearer to the diagonal of guessing.
plt.show()
print(f"area under the curve of the coin: {testing.auc_of_laws(no, yes)}")

# %% [markdown]
# The coin goes to the very corner of what $\epsilon = \log 3$ allows: no mechanism with this $\epsilon$ gives
# more away. It is the worst case that theorems are made for. The Gaussian at $\sigma = 1$ crosses into the grey
# at both ends, and so does the other, nearer to the corners: neither has an $\epsilon$ without a $\delta$. To
# play this game against real mechanisms, see {doc}`12_auditing`.
#
# ## What $\epsilon = 1$, 3 and 8 mean to one person
#
# Trained networks are published with such epsilons ({doc}`04_accounting`, {doc}`15_which_rule`). To me, whose record is
# in the data, they say this. Somebody has an opinion: odds that my record is $x$ and not $y$. They see the output, and
# by Bayes their odds are multiplied by $P[A(x)] / P[A(y)]$, which is at most $e^\epsilon$ and at least $e^{-\epsilon}$:
#
# $$\frac{P[x \mid \text{output}]}{P[y \mid \text{output}]}
# = \frac{P[x]}{P[y]} \cdot \frac{P[A(x) = \text{output}]}{P[A(y) = \text{output}]}
# \le \frac{P[x]}{P[y]}\; e^{\epsilon}$$
#
# Let them believe it with 10 % before. We ask for what they can believe at most after; how often the best test is
# right about me; and how often it finds me if it must accuse only one innocent in a hundred. First for the worst
# mechanism that the promise allows, then for Gaussian noise of the least size that keeps the same promise at $\delta =
# 10^{-5}$.
#
# **Predict before you run**: for which of the three epsilons can somebody be nearly sure?

# %%
print("            worst mechanism of this epsilon          Gauss, same epsilon, delta 1e-5")
print("epsilon   odds times   10 % becomes   right   found      noise   right   found")
for e in (1, 3, 8):
    after = 0.1 * np.exp(e) / (0.9 + 0.1 * np.exp(e))
    right = testing.success(testing.dp_to_tv(epsilon=e))
    found = 1 - testing.dp_trade_off([0.01], epsilon=e)[0]
    z = classic.gaussian_scale(epsilon=e, delta=1e-5, l2_sensitivity=1)
    _, gauss_right = testing.gaussian_membership(noise_multiplier=z)
    gauss_found = 1 - testing.gaussian_trade_off([0.01], noise_multiplier=z)[0]
    print(f"{e:7} {np.exp(e):12.1f} {after:14.1%} {right:7.1%} {found:7.1%}", end="")
    print(f" {z:10.2f} {gauss_right:7.1%} {gauss_found:7.1%}")

a = np.geomspace(1e-5, 1, 400)
fig, ax = plt.subplots(figsize=(5.2, 4.4))
for e, color in ((1, "C0"), (3, "C1"), (8, "C3")):
    z = classic.gaussian_scale(epsilon=e, delta=1e-5, l2_sensitivity=1)
    most = 1 - testing.dp_trade_off(a, epsilon=e, delta=1e-5)
    ax.loglog(a, most, color + "--", label=f"most that ε = {e}, δ = 1e-5 allows")
    found = 1 - testing.gaussian_trade_off(a, noise_multiplier=z)
    ax.loglog(a, found, color, label=f"Gauss, σ = {z:.2f}")
ax.loglog(a, a, "k:", label="guessing")
ax.axvline(0.01, color="gray", lw=0.8)
ax.set(xlabel="false accusations", ylabel="found", ylim=(1e-5, 1.1))
ax.legend(fontsize=7, loc="lower right")
# In words: Found records over false accusations on log scales, for epsilon 1, 3 and 8: what the number allows lies,
# dashed, far above what Gaussian noise of that epsilon gives away; guessing is the diagonal.
plt.show()

# %% [markdown]
# **1** is a promise that one can explain: odds times 2.7, and an accuser who may be wrong once in a hundred finds me at
# most 2.7 times in a hundred. **3** allows a suspicion of 10 % to become 69 %. **8** by itself promises next to
# nothing: 10 % may become 99.7 %, and a test may be right 9,997 times in 10,000.
#
# The right half of the table is why an $\epsilon$ of 8 is used all the same: Gaussian noise of that $\epsilon$ does not
# do the worst that is allowed. It finds one person in four at 1 % of false accusations, not all of them. That is a fact
# about this noise and this test, one release or many that add up to one, and no part of the promise: the number 8 alone
# does not tell which of the two curves is yours. On logarithmic axes the two touch far to the left (for 8 left of
# the picture), among the rarest accusations: those are the outputs that $\delta$ is there for. And what somebody learns
# of **all** (that smoking causes cancer, to a smoker's harm) is no breach, whatever the odds: it would be learned
# without my record too.
#
# ## A density is not a probability
#
# How much Laplace noise keeps the total variation below $\delta$? Proposition 2.4 bounds the gap of two
# **densities** and takes it for the total variation ({ref}`berthier2019:prop2.4 <berthier2019-prop2-4>`).
# **Predict** the slopes of the next picture: the noise that is printed goes like $\delta^{-1/2}$.
#
# (shown-berthier2019-prop2-4)=

# %%
deltas = np.geomspace(1e-4, 0.5, 40)
ways = {
    "printed b": total_variation.claimed_laplace_tv_scale,
    "corrected b": total_variation.corrected_laplace_tv_scale,
}
fig, ax = plt.subplots(figsize=(7, 3.6))
for name, scale_for in ways.items():
    scales = [scale_for(l1_sensitivity=1, delta=d) for d in deltas]
    true = [total_variation.laplace_tv(l1_sensitivity=1, scale=b) for b in scales]
    ax.loglog(deltas, true, label=name)
ax.loglog(deltas, deltas, "k:", label="as promised")
ax.set(xlabel="promised δ", ylabel="true total variation")
ax.set_title("Laplace noise, one record moves the query by 1")
ax.legend()
# In words: True total variation over the promised one: the report's scale lies far above the dotted line of the
# promise for small delta, with half its slope; the corrected scale is on it.
plt.show()
at = total_variation.claimed_laplace_tv_scale(l1_sensitivity=1, delta=0.005)
print(f"promised 0.005, true {total_variation.laplace_tv(l1_sensitivity=1, scale=at):.4f}")

# %% [markdown]
# Slope 1/2 where 1 is promised: ten times too much at $\delta = 0.005$, and worse the smaller $\delta$ is. A
# density has a unit, one over that of the query, and a probability has none; a formula that mixes them changes
# with the unit.
#
# The report composes Gaussian releases by the sum of squares of their $\delta_i$, and says that this "holds only for
# Gaussian noise" ({ref}`berthier2019:gauss-tv-only <berthier2019-gauss-tv-only>`). The proof uses only that the
# Kullback-Leibler divergence of a release is at most $2 \delta_i^2$. **Predict**: does the rule hold for two Laplace
# releases of scale 3?
#
# (shown-berthier2019-gauss-tv-only)=

# %%
at = (np.arange(-6000, 6000) + 0.5) / 100  # the middle of small intervals
here, there = np.exp(-abs(at) / 3) / 600, np.exp(-abs(at - 1) / 3) / 600  # their probabilities on neighbours
each = np.sqrt(np.sum(here * np.log(here / there)) / 2)
both = abs(np.outer(here[2000:-2000], here[2000:-2000]) - np.outer(there[2000:-2000], there[2000:-2000])).sum() / 2
print(f"rule {total_variation.compose_gaussian_tv([each, each]):.4f}, true {both:.4f}")

# %% [markdown]
# It does. The sum of squares is a rule for every noise whose divergence you know.
#
# ## Many answers
#
# I answer the survey every week, each time with a fresh coin of $\epsilon = 0.1$. After $k$ weeks, what is my
# $\epsilon$? The sum, $k\epsilon$, always. But to be so unlucky every time is rare, and with a little $\delta$ to
# spend, $\epsilon$ grows about like $\sqrt k$ ({ref}`berthier2019:thm2.1 <berthier2019-thm2-1>`). The best
# possible is a binomial sum, since only the number of answers that speak against me counts.
#
# **Predict**: for which $k$ is the theorem better than the sum?

# %%
eps, delta = 0.1, 1e-5
ks = np.unique(np.geomspace(1, 1000, 60).astype(int))
truth = rr.randomised_response_truth(epsilon=eps)
one = rr.randomised_response_curve(rdp.REAL_ORDERS, truth=truth)
slack = {"epsilon": eps, "delta_slack": delta}
advanced = [composition.advanced_composition(k=k, **slack) for k in ks]
by_renyi = [rdp.mironov2017(rdp.REAL_ORDERS, k * one, delta=delta).min() for k in ks]
ways = {
    "sum": [composition.basic_composition([(eps, 0)] * k)[0] for k in ks],
    "Theorem 2.1": [total for total, _ in advanced],
    "Rényi, Proposition 2.7": by_renyi,
    "best possible": [composition.optimal_epsilon(delta, epsilon=eps, k=k) for k in ks],
}
fig, ax = plt.subplots(figsize=(7, 3.8))
for (name, values), style in zip(ways.items(), (":", "-", "-", "k--"), strict=True):
    ax.loglog(ks, values, style, label=name)
ax.set(xlabel="answers k", ylabel="ε at δ = 1e-5")
ax.set_title("Randomised responses of ε = 0.1")
ax.legend()
# In words: Epsilon over the number of answers: the sum grows fastest, Theorem 2.1 and the Rényi way with the root in
# the long run, and the Rényi way is nearest to the dashed best possible.
plt.show()
print(f"Theorem 2.1 pays for k above {composition.advanced_pays_from(**slack):.1f}")
for name, values in ways.items():
    print(f"{name:23} k = 1000: {values[-1]:8.2f}")

# %% [markdown]
# ## Why Rényi
#
# The third curve is near the best possible, and all it does with $k$ is to multiply. Behind it is the **Rényi
# divergence** of order $\alpha > 1$ ({ref}`berthier2019:def2.2 <berthier2019-def2-2>`; for densities the sum is an
# integral). With $\ell_k = \log(p_k / q_k)$, the privacy loss of the output $k$,
#
# $$D_\alpha(p \,\|\, q) = \frac{1}{\alpha - 1} \log \sum_k p_k^\alpha q_k^{1 - \alpha}
# = \frac{1}{\alpha - 1} \log \mathbb{E}_{k \sim p}\big[e^{(\alpha - 1) \ell_k}\big]$$
#
# The second form reads: an average of the loss, which looks at the large losses the more, the larger $\alpha$ is. It
# goes from the plain average $\sum_k p_k \ell_k$ at $\alpha \to 1$ to the largest loss, which is $\epsilon$, at
# $\alpha = \infty$. A mechanism is $(\alpha, \epsilon(\alpha))$-Rényi-private if
#
# $$D_\alpha(A(x) \,\|\, A(y)) \le \epsilon(\alpha) \quad \text{for all neighbours } x \sim y$$
#
# Two properties make it the accountant's unit. **It adds up**: the losses of independent releases add, so their
# exponentials multiply, and so do the averages; of the logarithm a sum is left ({ref}`berthier2019:rdp-comp
# <berthier2019-rdp-comp>`). **It comes back to** $(\epsilon, \delta)$ ({ref}`berthier2019:prop2.7
# <berthier2019-prop2-7>`): split any $S$ into the outputs with a loss of at most $\epsilon$ and the others, and bound
# the others by Markov's inequality,
#
# $$P[S] \le e^\epsilon Q[S] + P[\ell > \epsilon], \qquad
# P[\ell > \epsilon] \le \frac{\mathbb{E}_p[e^{(\alpha - 1) \ell}]}{e^{(\alpha - 1) \epsilon}}
# \le e^{(\alpha - 1)(\epsilon(\alpha) - \epsilon)}$$
#
# Call the last expression $\delta$ and solve: $\epsilon = \epsilon(\alpha) + \frac{\log 1/\delta}{\alpha - 1}$, for
# every $\alpha$, hence for the best.
#
# **Predict** the curves of one release each, coin, Laplace and Gauss: which are bounded, and by what?

# %%
eps = np.log(3)
orders = 1 + np.geomspace(0.01, 100, 300)
fig, ax = plt.subplots(figsize=(7, 3.6))
coin = rr.randomised_response_curve(orders, truth=0.5)
ax.semilogx(orders, coin, label="coin, ε = log 3")
ax.semilogx(orders, rdp.laplace(orders, scale=1 / eps), label="Laplace, ε = log 3")
ax.semilogx(orders, rdp.gaussian(orders, noise_multiplier=2.0), label="Gauss, σ = 2")
ax.axhline(eps, color="gray", ls=":", label="log 3")
ax.set(xlabel="order α", ylabel="Rényi divergence, nats", ylim=(0, 2))
ax.set_title("One release")
ax.legend()
# In words: Rényi divergence over the order: the coin and Laplace rise and level off at log 3, Gauss with noise 2 is a
# straight line in the order that passes it.
plt.show()

# The definition at order 3, as a sum over two answers, and as an average of the loss; against the curve:
loss = np.log(yes / no)
by_sum = np.log(np.sum(yes**3 * no ** (1 - 3.0))) / (3 - 1)
by_loss = np.log(np.sum(yes * np.exp((3 - 1) * loss))) / (3 - 1)
by_curve = rr.randomised_response_curve([3.0], truth=0.5)[0]
print(f"order 3: {by_sum:.12f} {by_loss:.12f} {by_curve:.12f}")

# %% [markdown]
# The coin and Laplace end at their $\epsilon$, which is the divergence of order infinity. Gauss has none: its
# curve is the line $\alpha / (2\sigma^2)$, the simplest there is. The next tutorial is about that line and what
# becomes of it in 5,850 steps. For a
# whole run, {doc}`threat_model` says what such a promise covers.
#
# ## Exercises
#
# 1. **Another coin.** The first coin shows heads with probability 0.2. Find $\epsilon$ and the number of people
#    that gives the share to ±0.03 (one standard deviation), with pencil and paper. Check:
#    `rr.randomised_response_epsilon`, `rr.debiased_variance`; in the clone, `pytest --eq berthier2019:rr`.
# 2. **By counting.** Show $\epsilon = \log 3$ by a run: 100,000 answers in either world, the ratio of the shares
#    of yes. How near to 3 can you come, and can you exclude 3.1? Check: of such ratios the standard deviation is 0.017;
#    {doc}`12_auditing` does it with an error bar.
# 3. **Gauss by integral.** Compute $\delta$ at $\epsilon = 1$ and $\sigma = 2$ by
#    `divergences.hockey_stick_density`, which takes the logarithms of two densities. Check:
#    `gaussians.hockey_stick_gaussian(epsilon=1, noise_multiplier=2)`, 0.00683.
# 4. **Which releases?** How many Gaussian releases with $\sigma = 20$ (sensitivity 1) fit into $\epsilon = 1$ at
#    $\delta = 10^{-5}$? By Rényi, and exactly (they are one release with $\sigma / \sqrt k$). Check: `nfa epsilon
#    --sampling none --adjacency replace-one --noise-multiplier 20 --steps 16 --delta 1e-5 --conversion mironov2017` is
#    still below 1, one step more is not; the sharper conversion, which is taken where none is named, grants 24 in all,
#    and `gaussians.epsilon_gaussian` 28.
# 5. **Post-processing.** It cannot hurt ({ref}`berthier2019:prop2.3 <berthier2019-prop2-3>`).
#    Map the outcomes of two laws of your choice at random and watch total variation and Rényi divergence fall.
#    Check: `nfa.papers.berthier2019.mechanisms.total_variation.apply_channel`.
#
# ## Three questions
#
# Answer each before you unfold it.
#
# <details><summary>1. A mechanism is 1-private for add-remove. What is it for replace-one?</summary>
#
# 2-private: replacing is a removal and an addition, and the factors $e^1$ multiply.
#
# </details>
#
# <details><summary>2. Randomised response with ε = log 3 says yes. You thought it as likely as not that the person did.
# What now?</summary>
#
# Odds of 1 to 1 become 3 to 1: 75 %. More is not to be had from this answer, whatever else you know, as long as your
# prior odds were right.
#
# </details>
#
# <details><summary>3. Why may δ not be 1/n?</summary>
#
# The mechanism that prints one record chosen at random is $(0, 1/n)$-private. It violates somebody's privacy
# completely, every time.
#
# </details>
#
# ## Further reading
#
# - Warner, "Randomized response: a survey technique for eliminating evasive answer bias", Journal of the American
#   Statistical Association 60, 1965: the coin.
# - Dwork & Roth, "The algorithmic foundations of differential privacy", Foundations and Trends in Theoretical Computer
#   Science 9, 2014: the book; Section 2 of the report follows it.
# - Wasserman & Zhou, "A statistical framework for differential privacy", JASA 105, 2010: privacy as a limit on tests.
# - Mironov, "Rényi differential privacy", CSF 2017, [arXiv:1702.07476](https://arxiv.org/abs/1702.07476), and Balle &
#   Wang, "Improving the Gaussian mechanism for differential privacy", ICML 2018,
#   [arXiv:1805.06530](https://arxiv.org/abs/1805.06530): the unit that adds up, and the exact $\delta$ of Gaussian
#   noise.
# - Dong, Roth & Su, "Gaussian differential privacy", Journal of the Royal Statistical Society B 84, 2022,
#   [arXiv:1905.02383](https://arxiv.org/abs/1905.02383): the ROC curve itself as the definition.
