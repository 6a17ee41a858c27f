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
# After this page you can explain the two numbers $\epsilon$ and $\delta$, which state how well a published result
# protects each person in the data. You can choose the noise for a count so that such a promise holds, and test if a
# given noise is enough. You can also compute how the promise becomes weaker if you publish many results.
#
# **Have this page open**: Berthier (2019), Section 2, pages 8 to 15. The topics of this section are histograms,
# randomised response, Laplace and Gaussian noise, total variation and the Rényi divergence. These eight pages contain
# most of the definitions that the other papers assume as known. This tutorial begins with the example of the report,
# a survey with a coin, and uses this example up to the last definition.
#
# You need to know what a probability is, and logarithms. This page does not use neural networks.
#
# Statements (claims, definitions and propositions of the report) that this page uses:
# {ref}`berthier2019:rr <berthier2019-rr>`, {ref}`berthier2019:def-hist <berthier2019-def-hist>`,
# {ref}`berthier2019:def2.1 <berthier2019-def2-1>`, {ref}`berthier2019:prop2.1 <berthier2019-prop2-1>`,
# {ref}`berthier2019:prop2.2 <berthier2019-prop2-2>`,
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
# Did you copy your homework? Toss a coin in secret. If it shows heads, answer truthfully. If it shows tails, toss
# again, and say yes for heads and no for tails ({ref}`berthier2019:rr <berthier2019-rr>`). We ask 1,000 people, and
# 300 of them did copy.
#
# **Predict before you run the next cell**: how many yeses will there be?

# %%
bits = np.zeros(1000, int)
bits[:300] = 1
answers = rr.randomised_response(bits, truth=0.5, rng=rng)
print("yeses:", answers.sum())
print(f"share of yeses:           {answers.mean():.3f}")
print(f"corrected share of yeses: {rr.debiased_mean(answers, truth=0.5):.3f}")

# %% [markdown]
# There are about 400 yeses. On average, the first coin tells 150 of the 300 people who copied to be truthful. The
# first coin sends 500 of the 1,000 people to the second coin, and 250 of these 500 say yes. Any single yes may come
# from the second coin. But we can estimate the share of people who copied. A quarter of all answers are yeses from
# the second coin, so we subtract 1/4 from the share of yeses. Then we divide by the probability $p$ of a truthful
# answer (`truth` in the code), here $p = 1/2$.
#
# In return, the estimate has a variance. If all 1,000 people answered truthfully, we would know the share exactly.
# Consider one person with a fixed true answer. The person's answer in the survey is a yes with probability
# $(1 + p)/2$ or $(1 - p)/2$, so the variance of the answer is $(1 - p^2)/4$. The estimate averages the answers of $n$
# people and divides by $p$. So the variance of the estimate is $(1 - p^2) / (4 p^2 n)$. The next cell makes four
# hundred such surveys and compares the standard deviation of their estimates with the root of this formula:

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
# In words: A histogram of 400 estimated shares. The histogram is bell-shaped around the true share 0.3 and follows
# the normal curve that the formula gives.
plt.show()
print(f"std of the surveys {np.std(shares):.4f}, by the formula {std:.4f}")

# %% [markdown]
# ## What the coin protects
#
# Suppose that somebody sees my answer. My answer is yes with probability 3/4 if I copied, and with probability 1/4 if
# I did not copy. So a yes multiplies the odds of "you did" to "you did not" by 3, and a no divides these odds by 3.
# The definition of privacy bounds this factor. The definition also states which two worlds we compare. In the first
# world, the data are as they are. In the second world, only my record is different.
#
# ### Neighbours
#
# A data set is the histogram $x$ of its records, with $x_j$ records of kind $j$
# ({ref}`berthier2019:def-hist <berthier2019-def-hist>`). Two data sets are **neighbours**, $x \sim y$, if they differ
# in one record. There are two definitions of "differ in one record":
#
# $$\textbf{add-remove:}\quad \|x - y\|_1 = \sum_j |x_j - y_j| = 1 \qquad\quad
# \textbf{replace-one:}\quad \|x - y\|_1 = 2,\; \sum_j x_j = \sum_j y_j$$
#
# With add-remove, a record is in the data set or not. With replace-one, a record has another value, and everybody
# knows the number of records. **Predict**: two people did not copy and one did. How many neighbours does this data
# set have, under each of the two definitions?

# %%
for adjacency in ("add-remove", "replace-one"):
    found = [y.tolist() for y in neighbours([2, 1], adjacency=adjacency)]
    apart = {histogram_distance([2, 1], y) for y in found}
    print(f"{adjacency:12} [2, 1] has {found}, at the distance {apart}")

# %% [markdown]
# With add-remove, one record of either kind is added or removed, so there are four neighbours. With replace-one, a
# record of one kind becomes a record of the other kind, so there are two. Our survey uses replace-one, because
# everybody answers, with a yes or a no.
#
# Private training can use a third definition, **zero-out** ({ref}`ours:zero-out <ours-zero-out>`). Two neighbours
# have the same number of records. In one of the two data sets, a blank record takes the place of a record, and the
# blank record adds exactly 0 to every sum. So zero-out hides whether a record took part, as add-remove does. Zero-out
# does not hide the number of records, which is public.
#
# ### The definition
#
# A mechanism $A$ computes a random output from a data set. It is $(\epsilon, \delta)$-private if the following holds
# for **all** neighbours $x \sim y$ and every set $S$ of outputs ({ref}`berthier2019:def2.1 <berthier2019-def2-1>`):
#
# $$\Pr[A(x) \in S] \le e^{\epsilon} \Pr[A(y) \in S] + \delta$$
#
# "All neighbours" includes both orders of two neighbours, so the inequality also holds with $x$ and $y$ exchanged. A
# mechanism is $\epsilon$-private if it is $(\epsilon, 0)$-private. To replace a record is to remove this record and
# then to add another record. The two factors $e^\epsilon$ multiply to $e^{2\epsilon}$. So a mechanism that is
# $\epsilon$-private for add-remove is $2\epsilon$-private for replace-one. Therefore an $\epsilon$ without a
# definition of neighbours leaves open a factor of two (tutorial {doc}`05_sensitivity` discusses this factor again).
#
# The survey outputs 1,000 answers. The answers of the other 999 people have the same distribution in both worlds, so
# their probabilities cancel. Therefore we consider only my answer. At $\delta = 0$ the coin has $\epsilon = \log 3$.
# For a smaller $\epsilon$, or for another mechanism, we can ask which $\delta$ is needed. Let $P$ and $Q$ be the
# distributions of the output on two neighbours, with the probabilities $P_s$ and $Q_s$ of an output $s$. The least
# $\delta$ for $P$ on the left and $Q$ on the right is a sum over outputs:
#
# $$\delta(\epsilon) = \max_S \big(P(S) - e^\epsilon Q(S)\big)
# = \sum_s \max(P_s - e^\epsilon Q_s,\, 0)$$
#
# The worst set $S$ contains the outputs with $P_s > e^\epsilon Q_s$. The mechanism needs the larger one of the two
# values of $\delta$, for $(P, Q)$ and for $(Q, P)$. For the coin, both values are equal. The function
# $\delta(\epsilon)$ is called the **hockey-stick divergence** of $P$ from $Q$, in the code `hockey_stick`.

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
right.set_title("Error with 1,000 people")
# In words: Left, the least delta over epsilon for three coins. Each curve falls to 0. Right, the standard deviation
# of the share over epsilon. It is larger for a smaller epsilon.
plt.show()

# %% [markdown]
# The curve of $\delta$ falls to 0 at $\epsilon = \log \frac{1+p}{1-p}$. It starts at $\delta = p$, and the section on
# tests below explains this start. The picture on the right shows the trade between privacy and accuracy. Research in
# this field tries to improve this trade.
#
# ## Laplace: trust somebody, and add the noise once
#
# Suppose that one trusted person counts the true yeses, adds noise to the count and publishes the result. Then less
# noise is needed. The Laplace distribution of scale $b$ has the density $e^{-|t|/b} / (2b)$ and the standard
# deviation $\sqrt 2\, b$. One record changes the count by at most 1, so it changes $|t|/b$ by at most $1/b$. So the
# density changes by a factor of at most $e^{1/b}$. Therefore Laplace noise of scale $b = 1/\epsilon$ makes the count
# $\epsilon$-private ({ref}`berthier2019:prop2.1 <berthier2019-prop2-1>`).
#
# The trusted person divides the noisy count by 1,000 to estimate the share. **Predict**: at $\epsilon = \log 3$, by
# what factor is the standard deviation of this share smaller than 0.0274, the standard deviation with coins?

# %%
eps = np.log(3)
b = classic.laplace_scale(l1_sensitivity=1, epsilon=eps)
count = np.full(5, 300)
released = classic.laplace_mechanism(count, l1_sensitivity=1, epsilon=eps, rng=rng)
print("five releases of the count 300:", released.round(1))
print(f"standard deviation of the share: {np.sqrt(2) * b / 1000:.5f} by Laplace, {std:.4f} by coins")

# %% [markdown]
# For a thousand people, the standard deviation is more than twenty times smaller. In the count, the noise of the
# coins grows with $\sqrt n$, and the Laplace noise does not depend on $n$. Why do we use Laplace noise? The next cell
# plots the **privacy loss**: the logarithm of the ratio of the density without my record to the density with my
# record. The picture also shows Gaussian noise, which the next section explains.

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
# In words: Left, densities of the released count for two neighbours: a pair of pointed Laplace curves and a pair of
# Gaussian bells. Right, the log ratio of each pair. The log ratio of Laplace stays between two dotted lines. The log
# ratio of Gauss is a straight line and crosses the dotted lines.
plt.show()

# %% [markdown]
# The privacy loss of Laplace noise stays between $-\epsilon$ and $\epsilon$, like the privacy loss of the coin. The
# privacy loss of Gaussian noise is a straight line. Far from the centre, this line exceeds any bound, but such
# outputs are rare. The number $\delta$ covers these rare outputs.
#
# ## Gauss, and a formula that one should not use for large $\epsilon$
#
# Textbooks give $\sigma = \sqrt{2 \log(1.25/\delta)}\, S_2 / \epsilon$, where $S_2$ is the largest change of the
# result (in the l2 norm) that one record causes. The textbooks add the condition $\epsilon < 1$, and the report omits
# this condition ({ref}`berthier2019:prop2.2 <berthier2019-prop2-2>`). For $S_2 = 1$, the exact $\delta$ of Gaussian
# noise is $\Phi\big(\frac{1}{2\sigma} - \epsilon\sigma\big) - e^\epsilon \Phi\big(-\frac{1}{2\sigma} -
# \epsilon\sigma\big)$, with the standard normal distribution function $\Phi$. The function `hockey_stick_gaussian`
# computes this $\delta$ from $\epsilon$ and the noise multiplier $\sigma / S_2$. The next cell compares the exact
# $\delta$ with the promised $\delta$:
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
# In words: Exact over promised delta against epsilon, for three promises. The ratio is below 1 for small epsilon.
# From some epsilon on, the ratio is above the dotted line at 1. For a smaller delta, this epsilon is larger.
plt.show()

# %% [markdown]
# For small $\epsilon$, the formula adds more noise than needed. Where a curve is above the dotted line, the noise is
# too small for the promise. `classic.gaussian_scale` computes the least noise that satisfies the promise, for every
# $\epsilon$. `classic.classical_gaussian_scale` uses the textbooks' formula and refuses an $\epsilon$ above 1.
#
# How small must $\delta$ be? Consider the mechanism that picks one of $n$ records at random and prints it. This
# mechanism is $(0, 1/n)$-private ({ref}`berthier2019:rem-release-one <berthier2019-rem-release-one>`):

# %%
with_me, without_me = release_one([999, 1]), release_one([1000, 0])
print("delta at epsilon = 0:", divergences.hockey_stick(with_me, without_me, epsilon=0))

# %% [markdown]
# So a promise of $\epsilon = 0$ and $\delta = 1/n$ permits this mechanism, although every run reveals one person's
# record completely. Therefore $\delta$ must be well below $1/n$.
#
# ## Privacy as a test
#
# At $\epsilon = 0$ the least $\delta$ is the **total variation** $TV$, the largest difference $|P(S) - Q(S)|$
# ({ref}`berthier2019:def-tv <berthier2019-def-tv>`). For the coin, the total variation is $p$. The total variation
# measures how well a test can tell two neighbours apart. Suppose that a fair coin chooses one of two neighbours. You
# see the output of the mechanism on this neighbour, and you guess the neighbour. Your best guess is the neighbour
# under which this output is more likely. This guess is right with probability $\frac12 + \frac12 TV$
# ({ref}`berthier2019:lecam <berthier2019-lecam>`).
#
# For the survey with $p = 1/2$, the guess is right with probability 3/4. So privacy limits what somebody can infer
# about one person, but the inference remains possible. Ohana et al., in a paper on photonic training, say that this
# inference is impossible ({ref}`ohana2021:dp-impossible <ohana2021-dp-impossible>`). Their sentence is true only for
# $\epsilon = \delta = 0$. The survey is a counterexample:
#
# (shown-ohana2021-dp-impossible)=

# %%
test = testing.best_test(no, yes)
wrong = testing.errors(test, no, yes)
tv_coin = divergences.total_variation(no, yes)
print("answer to (no, yes):", test, " errors:", wrong)
print("right:", 1 - sum(wrong) / 2, "=", testing.success(tv_coin))

# %% [markdown]
# You may want a test that accuses rarely. Call a case guilty if the data are $x$, which contain my record, and
# innocent if the data are the neighbour $y$. The test accuses after some outputs and acquits after the others. It
# finds the share $f = \Pr[\text{accuse} \mid x]$ of the guilty cases, and its rate of false accusations is
# $a = \Pr[\text{accuse} \mid y]$. The **ROC curve** shows the largest possible $f$ for each $a$.
#
# For a mechanism that is $(\epsilon, \delta)$-private, the curve has two upper bounds. The definition for the set of
# outputs "accuse" gives the first bound. The definition for the set "acquit", with $y$ on the left, gives the second
# bound:
#
# $$f \le e^\epsilon a + \delta \qquad\text{and}\qquad 1 - f \ge e^{-\epsilon} (1 - \delta - a)$$

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
# In words: Found records over false accusations. The coin's curve touches the corner of the grey area that log 3
# forbids. The curve of Gaussian noise 1 crosses into the grey area. The curve of Gaussian noise 3 is nearer to the
# diagonal of guessing.
plt.show()
print(f"area under the curve of the coin: {testing.auc_of_laws(no, yes)}")

# %% [markdown]
# For a mechanism with $\epsilon = \log 3$ and $\delta = 0$, the curve stays in the white region. The coin's curve
# reaches the corner of this region. So no mechanism with this $\epsilon$ and $\delta = 0$ can reveal more than the
# coin. The area under the coin's curve is 0.75. Take a random guilty and a random innocent case. With probability
# 0.75, the guilty case has the more suspicious answer (a tie counts as a half). The curve of Gaussian noise with
# $\sigma = 1$ enters the grey region at both ends. The curve with $\sigma = 3$ also enters the grey region, nearer to
# the corners. So Gaussian noise needs a $\delta$ above 0. In tutorial {doc}`12_auditing` you run such tests against
# real mechanisms.
#
# ## What $\epsilon = 1$, 3 and 8 mean to one person
#
# Networks are published with such epsilons ({doc}`04_accounting`, {doc}`15_which_rule`). What do these epsilons mean
# for me if my record is in the data? Let $x$ be the data with my true record, and $y$ the same data with another
# record in place of mine. Suppose that somebody has odds of $x$ to $y$. When they see the output $s$, Bayes' rule
# multiplies their odds by $\Pr[A(x) = s] / \Pr[A(y) = s]$. For $\delta = 0$, this factor is at most $e^\epsilon$ and
# at least $e^{-\epsilon}$:
#
# $$\frac{\Pr[x \mid s]}{\Pr[y \mid s]}
# = \frac{\Pr[x]}{\Pr[y]} \cdot \frac{\Pr[A(x) = s]}{\Pr[A(y) = s]}
# \le \frac{\Pr[x]}{\Pr[y]}\; e^{\epsilon}$$
#
# Suppose that their probability of $x$ is 10 % before they see the output. For each $\epsilon$, we compute three
# numbers. The first number is the largest probability of $x$ after they see the output. The second number is the
# probability that the best test is right about me. The third number is the probability that a test finds me if the
# test may accuse only one innocent person in a hundred. We compute the three numbers for the worst mechanism that the
# promise allows, which is a coin with this $\epsilon$. Then we compute the second and the third number for the least
# Gaussian noise that satisfies the same promise at $\delta = 10^{-5}$.
#
# **Predict before you run**: for which of the three epsilons can somebody be nearly sure that the data are $x$?

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
# In words: Found records over false accusations on log scales, for epsilon 1, 3 and 8. For each epsilon, the dashed
# curve shows the most that epsilon allows. It lies far above the curve of Gaussian noise with this epsilon. Guessing
# is the diagonal.
plt.show()

# %% [markdown]
# A promise of $\epsilon = 1$ is easy to explain. The output multiplies odds by at most 2.7. A test that may accuse
# one innocent person in a hundred finds me at most 2.7 times in a hundred. A promise of $\epsilon = 3$ allows a
# suspicion of 10 % to become 69 %. A promise of $\epsilon = 8$ by itself is nearly empty. This promise allows a
# suspicion of 10 % to become 99.7 %, and a test may be right 9,997 times in 10,000.
#
# The right half of the table explains why an $\epsilon$ of 8 is used nevertheless. Gaussian noise with this
# $\epsilon$ protects people better than the worst mechanism. At 1 % of false accusations, a test finds one person in
# four. With the worst mechanism, a test finds nearly everybody. The smaller share is true for one Gaussian release,
# and for many Gaussian releases that together are equivalent to this release. But the promise $\epsilon = 8$ does not
# include the smaller share. The number 8 alone does not tell whether the mechanism is the worst one or Gaussian
# noise.
#
# For each $\epsilon$, the dashed and the solid curve touch at a very small rate of false accusations, because the
# Gaussian noise is the least that satisfies the promise. For $\epsilon = 1$, this rate is $6 \cdot 10^{-5}$. For 3
# and 8, this rate is below $10^{-5}$, to the left of the picture. The test at this point accuses only after the rare
# outputs that $\delta$ covers.
#
# If somebody learns a fact about **all** people, privacy is not violated, even if this fact changes their odds about
# me. For example, the fact that smoking causes cancer can harm a smoker. But people would learn this fact without the
# smoker's record too.
#
# ## A density is not a probability
#
# How much Laplace noise keeps the total variation below $\delta$? If one record moves the query by 1, Laplace noise
# of scale $b$ has the total variation $1 - e^{-1/(2b)}$. For a large scale this is about $1/(2b)$. Proposition 2.4
# bounds the difference of two **densities** and uses this bound as the total variation
# ({ref}`berthier2019:prop2.4 <berthier2019-prop2-4>`). The printed scale $b$ is proportional to $\delta^{-1/2}$. The
# next picture shows the true total variation over the promised $\delta$ on logarithmic axes, for the printed $b$ and
# for a corrected $b$. **Predict** the slopes of these two lines.
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
# In words: True total variation over the promised one. For small delta, the line of the report's scale lies far above
# the dotted line of the promise, and its slope is half as large. The line of the corrected scale is the dotted line.
plt.show()
at = total_variation.claimed_laplace_tv_scale(l1_sensitivity=1, delta=0.005)
print(f"promised 0.005, true {total_variation.laplace_tv(l1_sensitivity=1, scale=at):.4f}")

# %% [markdown]
# For the printed $b$, the slope is 1/2 at small $\delta$. The promise has the slope 1, like the corrected $b$. At
# $\delta = 0.005$, the true total variation is ten times as large as promised, and for smaller $\delta$ the factor is
# larger. A density has a unit, one over the unit of the query, and a probability has no unit. So if a formula uses a
# density as a probability, its result depends on the unit.
#
# The report composes Gaussian releases by the root of the sum of squares of their $\delta_i$, and says that this
# "holds only for Gaussian noise" ({ref}`berthier2019:gauss-tv-only <berthier2019-gauss-tv-only>`). Here $\delta_i$ is
# not the total variation of release $i$, but a bound on this total variation. For Gaussian noise $\sigma$ and the
# sensitivity $S_2$, the report uses $\delta_i = S_2 / (2 \sigma)$. The proof uses the Kullback-Leibler divergence
# $KL(P \,\|\, Q) = \sum_s P_s \log (P_s / Q_s)$ and three facts. First, the divergences $KL_i$ of the releases add
# up. Second, Pinsker's inequality $TV \le \sqrt{KL / 2}$ holds for all distributions. Third, $KL_i \le 2 \delta_i^2$
# for each release. For example, a Gaussian release has $KL_i \le S_2^2 / (2 \sigma^2) = 2 \delta_i^2$. Together, the
# three facts give
#
# $$TV \text{ of all releases} \;\le\; \sqrt{\tfrac12 \textstyle\sum_i KL_i} \;\le\; \sqrt{\textstyle\sum_i
# \delta_i^2} .$$
#
# Only the third fact depends on the noise. For any noise with a known divergence, we can choose
# $\delta_i = \sqrt{KL_i / 2}$, and then the third fact holds. We apply the root of the sum of squares to two Laplace
# releases of scale 3. **Predict**: is the true total variation larger or smaller than this root, and by more or by
# less than a half?
#
# (shown-berthier2019-gauss-tv-only)=

# %%
at = (np.arange(-6000, 6000) + 0.5) / 100  # the middle of each small interval
# the probabilities of these intervals on two neighbours
here, there = np.exp(-abs(at) / 3) / 600, np.exp(-abs(at - 1) / 3) / 600
each = np.sqrt(np.sum(here * np.log(here / there)) / 2)
both = abs(np.outer(here[2000:-2000], here[2000:-2000]) - np.outer(there[2000:-2000], there[2000:-2000])).sum() / 2
print(f"two releases: rule {total_variation.compose_gaussian_tv([each, each]):.4f}, true {both:.4f}")
true = total_variation.laplace_tv(l1_sensitivity=1, scale=3)
print(f"one release: delta_i {each:.4f}, true {true:.4f}; KL {2 * each**2:.4f}, 2 TV^2 {2 * true**2:.4f}")

# %% [markdown]
# The rule holds. The true total variation is about a quarter smaller than the value of the rule. You can use the sum
# of squares for every noise with a known divergence. The second line of the output shows why $\delta_i$ must not be
# the total variation itself. For one release, $KL$ is larger than $2\, TV^2$, so the third fact would be false.
#
# ## Many answers
#
# I answer the survey every week, each time with a fresh coin of $\epsilon = 0.1$. What is my $\epsilon$ after $k$
# weeks? The sum $k\epsilon$ is always a valid $\epsilon$. But this sum assumes that the privacy loss is $+\epsilon$
# in every week, so that each answer points to the truth. In nearly half of the weeks, my answer points away from the
# truth, and the loss is $-\epsilon$. If we allow a small $\delta'$, then $\epsilon$ grows only about like $\sqrt k$.
# Theorem 2.1
# ({ref}`berthier2019:thm2.1 <berthier2019-thm2-1>`) says that $k$ answers, each $\epsilon$-private, are together
# $(\epsilon', \delta')$-private with
#
# $$\epsilon' = \sqrt{2 k \log(1/\delta')}\; \epsilon + k \epsilon (e^\epsilon - 1) .$$
#
# The best possible value is a binomial sum, because the privacy loss depends only on how many of the $k$ answers are
# true.
#
# **Predict**: for which $k$ is the theorem better than the sum, at $\delta' = 10^{-5}$?

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
# In words: Epsilon over the number of answers. The sum grows fastest. For many answers, Theorem 2.1 and the Rényi
# curve grow with the square root. The Rényi curve is nearest to the dashed curve of the best possible epsilon.
plt.show()
print(f"Theorem 2.1 is smaller than the sum for k above {composition.advanced_pays_from(**slack):.1f}")
for name, values in ways.items():
    print(f"{name:23} k = 1000: {values[-1]:8.2f}")

# %% [markdown]
# ## Why Rényi
#
# The curve "Rényi" is near the best possible curve, and it is easy to compute. It uses the **Rényi divergence** of
# order $\alpha > 1$ ({ref}`berthier2019:def2.2 <berthier2019-def2-2>`). The divergence of $k$ answers is exactly $k$
# times the divergence of one answer. We convert only the divergence of all $k$ answers to $\epsilon$, so $\epsilon$
# grows more slowly than $k$. With the privacy loss $\ell_s = \log(P_s / Q_s)$ of the output $s$, the divergence is
#
# $$D_\alpha(P \,\|\, Q) = \frac{1}{\alpha - 1} \log \sum_s P_s^\alpha Q_s^{1 - \alpha}
# = \frac{1}{\alpha - 1} \log \mathbb{E}_{s \sim P}\big[e^{(\alpha - 1) \ell_s}\big]$$
#
# (For densities, the sum becomes an integral.) The second form averages $e^{(\alpha - 1) \ell_s}$ over the outputs,
# so a larger $\alpha$ gives more weight to large privacy losses. For $\alpha \to 1$, the divergence tends to the
# plain average $\sum_s P_s \ell_s$, which is $KL$. For $\alpha \to \infty$, the divergence tends to the largest loss,
# which is the $\epsilon$ for $\delta = 0$. A mechanism is $(\alpha, \rho(\alpha))$-Rényi-private if
#
# $$D_\alpha(A(x) \,\|\, A(y)) \le \rho(\alpha) \quad \text{for all neighbours } x \sim y$$
#
# The papers and tutorial 04 write $\epsilon(\alpha)$ for $\rho(\alpha)$. We use the letter $\rho$, because the next
# formulas also contain the $\epsilon$ of $(\epsilon, \delta)$.
#
# Two properties make the divergence useful for accounting. The first property is that **it adds up**. The losses of
# independent releases add up. So the exponentials of the losses multiply, and the averages of these exponentials
# multiply too. The logarithm turns the product into a sum ({ref}`berthier2019:rdp-comp <berthier2019-rdp-comp>`). The
# second property is that **it converts to** $(\epsilon, \delta)$
# ({ref}`berthier2019:prop2.7 <berthier2019-prop2-7>`). Split any set $S$ into the outputs with a loss of at most
# $\epsilon$ and the other outputs. Markov's inequality bounds the probability of the other outputs:
#
# $$P(S) \le e^\epsilon Q(S) + \Pr_{s \sim P}[\ell_s > \epsilon], \qquad
# \Pr_{s \sim P}[\ell_s > \epsilon] \le \frac{\mathbb{E}_{s \sim P}[e^{(\alpha - 1) \ell_s}]}{e^{(\alpha - 1) \epsilon}}
# \le e^{(\alpha - 1)(\rho(\alpha) - \epsilon)}$$
#
# Call the last expression $\delta$ and solve for $\epsilon$. The result is
# $\epsilon = \rho(\alpha) + \frac{\log(1/\delta)}{\alpha - 1}$. This $\epsilon$ is valid for every $\alpha$, so we
# can use the best $\alpha$.
#
# **Predict** the Rényi divergence over $\alpha$ for one release of the coin, of Laplace noise and of Gaussian noise.
# Which of the three curves are bounded, and what is the bound?

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
# In words: Rényi divergence over the order. The coin and Laplace rise and level off at log 3. The curve of Gauss with
# noise 2 is a straight line in the order and crosses log 3.
plt.show()

# At order 3, compute both forms of the definition, and compare the results with the curve:
loss = np.log(yes / no)
by_sum = np.log(np.sum(yes**3 * no ** (1 - 3.0))) / (3 - 1)
by_loss = np.log(np.sum(yes * np.exp((3 - 1) * loss))) / (3 - 1)
by_curve = rr.randomised_response_curve([3.0], truth=0.5)[0]
print(f"order 3: {by_sum:.12f} {by_loss:.12f} {by_curve:.12f}")

# %% [markdown]
# The curves of the coin and of Laplace noise end at their $\epsilon$, which is the divergence of order infinity. The
# curve of Gaussian noise has no bound. For sensitivity 1, this curve is the line $\alpha / (2\sigma^2)$ (tutorial
# {doc}`04_accounting` checks this formula by integration). The next tutorial uses this line to compute the $\epsilon$
# of 5,850 steps. The page {doc}`threat_model` describes what such a promise covers for a whole training.
#
# ## What you have learnt
#
# - A mechanism is $(\epsilon, \delta)$-private if one record changes the probability of any set of outputs by a
#   factor of at most $e^\epsilon$, plus $\delta$.
# - The coin with $p = 1/2$ has $\epsilon = \log 3$. State each $\epsilon$ with the definition of neighbours. The
#   $\epsilon$ for replace-one can be twice the $\epsilon$ for add-remove.
# - Laplace noise needs no $\delta$. Gaussian noise needs a $\delta$, which must be well below $1/n$.
# - Privacy limits every test. A promise of $\epsilon = 1$ means that the output multiplies odds by at most 2.7. A
#   promise of $\epsilon = 8$ alone is nearly empty.
# - The epsilons of $k$ releases add up. Rényi divergences add up too, but the $\epsilon$ that we compute from their
#   sum grows only about like $\sqrt k$.
#
# ## Exercises
#
# Type the commands `nfa` and `pytest` in the folder of your clone (your copy of the project). `make test` installs
# both commands. In each new terminal, first type `source .venv/bin/activate` ({doc}`usage`).
#
# 1. **Another coin.** The first coin shows heads with probability 0.2. Find $\epsilon$ with pencil and paper. How
#    many people must answer if the estimated share should have a standard deviation of 0.03? Check:
#    `rr.randomised_response_epsilon` and `rr.debiased_variance` compute both numbers. `pytest --eq berthier2019:rr`
#    runs our tests of the survey.
# 2. **By counting.** Estimate $e^\epsilon = 3$ by simulation. Draw 100,000 answers of people who copied and 100,000
#    answers of people who did not copy. Divide the two shares of yeses. How near to 3 is your ratio? Can you exclude
#    3.1? Check: the standard deviation of such ratios is 0.017. The tutorial {doc}`12_auditing` computes an interval
#    for such an estimate.
# 3. **Gauss by integral.** Compute $\delta$ at $\epsilon = 1$ and $\sigma = 2$ by `divergences.hockey_stick_density`,
#    which takes the logarithms of two densities. Check:
#    `gaussians.hockey_stick_gaussian(epsilon=1, noise_multiplier=2)`, 0.00683.
# 4. **Which releases?** How many Gaussian releases with $\sigma = 20$ (sensitivity 1) fit into $\epsilon = 1$ at
#    $\delta = 10^{-5}$? Count by Rényi, and exactly ($k$ releases are equivalent to one release with
#    $\sigma / \sqrt k$). Check: `nfa epsilon --sampling none --adjacency replace-one --noise-multiplier 20 --steps 16
#    --delta 1e-5 --conversion mironov2017` prints an $\epsilon$ below 1. With 17 steps, $\epsilon$ is above 1.
#    (Without sampling, $\epsilon$ depends only on the noise multiplier, so add-remove gives the same $\epsilon$.) The
#    sharper conversion `canonne2020` allows 24 releases. The exact computation allows 28 releases, by
#    `gaussians.epsilon_gaussian` or by `nfa epsilon` without `--conversion`.
# 5. **Post-processing.** Post-processing cannot weaken privacy ({ref}`berthier2019:prop2.3 <berthier2019-prop2-3>`).
#    Choose two distributions and a channel, which maps outcomes at random. A channel is a matrix with one row for
#    each old outcome, and each row is a distribution over the new outcomes. Apply the channel to both distributions.
#    Check: the total variation and the Rényi divergence of the results are at most as large as before.
#    `nfa.papers.berthier2019.mechanisms.total_variation.apply_channel` applies a channel.
#
# ## Three questions
#
# Answer each question before you unfold its answer.
#
# <details><summary>1. A mechanism is 1-private for add-remove. What is it for replace-one?</summary>
#
# It is 2-private. To replace a record is to remove this record and to add another record, and the two factors $e^1$
# multiply.
#
# </details>
#
# <details><summary>2. A person answers yes by randomised response with ε = log 3. Before, you thought that the person
# copied with probability 1/2. What is this probability now?</summary>
#
# Your odds of 1 to 1 become 3 to 1, which is a probability of 75 %. No answer of this survey can multiply your odds
# by more than 3, whatever else you know.
#
# </details>
#
# <details><summary>3. Why may δ not be 1/n?</summary>
#
# The mechanism that prints one record chosen at random is $(0, 1/n)$-private. Every run of this mechanism reveals one
# person's record completely. So a promise with $\delta = 1/n$ would allow a mechanism that protects nobody whose
# record is printed.
#
# </details>
#
# ## Further reading
#
# - Warner, "Randomized response: a survey technique for eliminating evasive answer bias", Journal of the American
#   Statistical Association 60, 1965. The paper introduces the survey with a coin.
# - Dwork & Roth, "The algorithmic foundations of differential privacy", Foundations and Trends in Theoretical
#   Computer Science 9, 2014: the textbook of the field. Section 2 of the report follows this textbook.
# - Wasserman & Zhou, "A statistical framework for differential privacy", JASA 105, 2010: privacy as a limit on tests.
# - Mironov, "Rényi differential privacy", CSF 2017, [arXiv:1702.07476](https://arxiv.org/abs/1702.07476): the
#   divergence that adds up.
# - Balle & Wang, "Improving the Gaussian mechanism for differential privacy", ICML 2018,
#   [arXiv:1805.06530](https://arxiv.org/abs/1805.06530): the exact $\delta$ of Gaussian noise.
# - Dong, Roth & Su, "Gaussian differential privacy", Journal of the Royal Statistical Society B 84, 2022,
#   [arXiv:1905.02383](https://arxiv.org/abs/1905.02383): uses the ROC curve itself as the definition.
