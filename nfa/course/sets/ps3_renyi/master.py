# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Problem set 3: Rényi accounting
#
# **Have this page open**: Lee & Kifer (2020), Section 3.3 from Definition 2 to Lemma 3, and the captions of Figures 2
# and 4. About 100 minutes, 20 points.
#
# You write the accountant behind a caption such as $\epsilon = 4.43$: from the divergence of two coins to thousands of
# noisy steps. On the way one number printed in the paper does not come out, and one habit of nearly all code turns out
# to be covered by no theorem. Replace every `raise NotImplementedError`. Loops or array operations, float64 or float32,
# helper functions in the same cell, NumPy, SciPy or neither: all are fine. A cell with points shows you a few of its
# checks; others run when your notebook is graded. Do not change those cells: they are put back before grading.
#
# `nfa eq lee2020:lem1` shows what stands behind a tag such as [lee2020:lem1]. When your notebook is graded, each call
# of one of your functions has three seconds of computing.
#
# Notation: logarithms are natural, so divergences are in nats.
#
# | | |
# |---|---|
# | `p`, `q` in part 1 | the probabilities of the same outcomes in two worlds: with my record, and with another one |
# | `alpha` | the order $\alpha$ of a divergence |
# | `cost` | the Rényi divergence $\epsilon(\alpha)$ of one step or of a whole run, at one order |
# | `z` | the noise multiplier: standard deviation of the noise / sensitivity |
# | `q` from part 3 on | the sampling rate: the probability that a record is in a batch |
# | `T` or `steps` | how many noisy steps a run has |

# %% setting
import math

import numpy as np

ORDERS = list(range(2, 33))  # whole orders 2..32, the grid of the later parts
DELTA = 1e-5  # of all captions

# %% [markdown]
# ## 1. Two coins (3 points)
#
# The survey of tutorial 03: whoever did it says yes with probability 3/4, whoever did not with probability 1/4
# [berthier2019:rr]. How far apart are two such laws? Definition 2 [lee2020:def2] averages a power of their ratio over
# the **second** law:
#
# $$D_\alpha(P \,\|\, Q) = \frac{1}{\alpha - 1} \log \sum_k q_k \Big(\frac{p_k}{q_k}\Big)^\alpha, \qquad \alpha > 1$$
#
# At $\alpha = 1$ this is 0/0. Its limit for $\alpha \to 1$ is the Kullback-Leibler divergence, an average of
# $\log (p_k / q_k)$: over which of the two laws? Return that limit where `alpha` is 1.
#
# An outcome with $p_k = 0$ adds nothing, whether $q_k$ is 0 or not. If $p_k > 0 = q_k$ for some outcome, the
# divergence is infinite: return `math.inf`.


# %% renyi solution=true
def renyi(p, q, alpha):
    """The Rényi divergence D_alpha(P || Q) in nats; p and q are arrays of probabilities, alpha is 1 or greater."""
    ### BEGIN SOLUTION
    p, q = np.asarray(p, float), np.asarray(q, float)
    if ((p > 0) & (q == 0)).any():
        return math.inf
    p, q = p[p > 0], q[p > 0]
    loss = np.log(p / q)
    if alpha == 1:
        return (p * loss).sum()
    return np.log((p * np.exp((alpha - 1) * loss)).sum()) / (alpha - 1)
    ### END SOLUTION


# %% renyi_values points=1
# 1 point: orders above 1, where no probability is 0
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").renyi_values(renyi)
### END HIDDEN TESTS
did, did_not = np.array([0.75, 0.25]), np.array([0.25, 0.75])  # the laws of (yes, no)
assert np.isclose(renyi(did, did_not, 2), np.log(7 / 3)), "0.75^2 / 0.25 + 0.25^2 / 0.75 is 7/3"

# %% renyi_zeros points=1
# 1 point: outcomes of probability 0 in one law or in both
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").renyi_zeros(renyi)
### END HIDDEN TESTS

# %% renyi_one points=1
# 1 point: the order 1
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").renyi_one(renyi)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps3_renyi", globals(), "renyi_values", "renyi_zeros", "renyi_one")

# %% [markdown]
# ## 2. Two Gaussians (3 points)
#
# Training adds Gaussian noise, and the sum becomes an integral:
#
# $$D_\alpha(P \,\|\, Q) = \frac{1}{\alpha - 1} \log \int p(x)^\alpha q(x)^{1 - \alpha} \, dx$$
#
# for $P = N(\mu_p, s_p^2)$ and $Q = N(\mu_q, s_q^2)$. Take [ohana2021:prop1], your own pencil, or your own quadrature:
# each is fine, to 4 digits.
#
# The exponent of the integrand is a quadratic in $x$. When does it not fall on both sides? Then the divergence is
# infinite: return `math.inf`. **Predict**: of $N(0, 1)$ and $N(0, 0.75)$, which order of the two gives an infinite
# divergence at $\alpha = 5$, and what does the other one give?


# %% renyi_gauss solution=true
def renyi_gauss(mean_p, std_p, mean_q, std_q, alpha):
    """D_alpha(N(mean_p, std_p^2) || N(mean_q, std_q^2)) in nats, alpha > 1; stds are standard deviations."""
    ### BEGIN SOLUTION
    spread = alpha * std_q**2 + (1 - alpha) * std_p**2
    if spread <= 0:
        return math.inf
    shape = 0.5 * math.log(spread) - (1 - alpha) * math.log(std_p) - alpha * math.log(std_q)
    return alpha * (mean_p - mean_q) ** 2 / (2 * spread) - shape / (alpha - 1)
    ### END SOLUTION


# %% gauss_same points=1
# 1 point: two Gaussians of one standard deviation
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").gauss_same(renyi_gauss)
### END HIDDEN TESTS

# %%
# to try it
assert np.isclose(renyi_gauss(1.0, 1.0, 0.0, 1.0, 2), 1.0, rtol=1e-4), "the number of [lee2020:def2] in nfa's ledger"

# %% gauss_spread points=1
# 1 point: standard deviations that differ, where the divergence is finite
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").gauss_spread(renyi_gauss)
### END HIDDEN TESTS

# %% gauss_infinite points=1
# 1 point: it is infinite where it should be, and finite with the two laws exchanged
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").gauss_infinite(renyi_gauss)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps3_renyi", globals(), "gauss_same", "gauss_spread", "gauss_infinite")

# %% [markdown]
# RDP asks for **both** orders of the two worlds [lee2020:def3]. For one step of training the two Gaussians have the
# same standard deviation and lie a sensitivity apart: then both orders give $\alpha / (2 z^2)$ [lee2020:lem1], which
# your function should give too.
#
# ## 3. A step that sees few (3 points)
#
# With Poisson sampling every record is in the batch with probability $q$, by a coin of its own, at every step, and the
# two worlds are the data with my record and without it. In the first my record is in the batch or not, so what a step
# releases has the law $(1-q) N(0, 1) + q N(1/z, 1)$ there and $N(0, 1)$ in the second, in units of the noise. At a
# whole order $\alpha \ge 2$ the power of the mixture can be
# expanded, and the divergence of the first from the second, which is the larger one, is a binomial sum
# ([mironov2019:sec3.3], footnote 1 of Lee & Kifer):
#
# $$\epsilon(\alpha) = \frac{1}{\alpha - 1} \log \sum_{k=0}^{\alpha} \binom{\alpha}{k} (1-q)^{\alpha-k} q^k
# e^{k(k-1) / (2 z^2)}$$
#
# Where does $k(k-1)$ come from? With part 2 you can see it. The terms soon are larger than any float: at
# $\alpha = 256$ and $z = 0.5$ the last one has 56,000 digits. The sum's logarithm is an ordinary number.


# %% step_cost solution=true
def step_cost(alpha, q, z):
    """The Rényi divergence of one Poisson sampled step with Gaussian noise, 0 < q < 1, at a whole order alpha >= 2."""
    ### BEGIN SOLUTION
    logs = []
    for k in range(alpha + 1):
        chosen = math.log(math.comb(alpha, k)) + (alpha - k) * math.log1p(-q) + k * math.log(q)
        logs.append(chosen + k * (k - 1) / (2 * z**2))
    top = max(logs)
    return (top + math.log(math.fsum(math.exp(t - top) for t in logs))) / (alpha - 1)
    ### END SOLUTION


# %% step_values points=2
# 2 points: orders up to 32, where the terms fit into a float64
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").step_values(step_cost)
### END HIDDEN TESTS
z = 1 / np.sqrt(np.log(3))  # so that e^(1 / z^2) is 3
assert np.isclose(step_cost(2, 0.5, z), np.log(1.5), rtol=1e-4), "by hand: 1/4 + 2 * 1/4 + 1/4 * 3 is 3/2"

# %% step_large points=1
# 1 point: orders up to 256 and little noise: the result is a number, and right to 5 %
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").step_large(step_cost)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps3_renyi", globals(), "step_values", "step_large")

# %% [markdown]
# ## 4. From steps to (ε, δ) (5 points)
#
# A cost $\epsilon$ at the order $\alpha$ says: for every $\delta$ between 0 and 1 the run is
# $(\epsilon', \delta)$-private with
#
# $$\epsilon' = \epsilon + \frac{\log(1/\delta)}{\alpha - 1}$$
#
# ([lee2020:lem2], [mironov2017:prop3]). It is not the last word; this one is smaller ([canonne2020:prop12]):
#
# $$\epsilon' = \max\Big\{0,\; \epsilon + \log \frac{\alpha - 1}{\alpha}
# - \frac{\log \delta + \log \alpha}{\alpha - 1}\Big\}$$


# %% mironov solution=true
def mironov(cost, alpha, delta):
    """The epsilon of a cost at the order alpha by Mironov's conversion."""
    ### BEGIN SOLUTION
    return cost + math.log(1 / delta) / (alpha - 1)
    ### END SOLUTION


# %% mironov_values points=1
# 1 point: Mironov's conversion
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").mironov_values(mironov)
### END HIDDEN TESTS
assert np.isclose(mironov(1.0, 2, np.exp(-3)), 4.0), "1 + 3"

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps3_renyi", globals(), "mironov_values")


# %% better solution=true
def better(cost, alpha, delta):
    """The epsilon of a cost at the order alpha by the newer conversion, at least 0."""
    ### BEGIN SOLUTION
    return max(0.0, cost + math.log(1 - 1 / alpha) - math.log(delta * alpha) / (alpha - 1))
    ### END SOLUTION


# %% better_values points=1
# 1 point: the newer conversion
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").better_values(better)
### END HIDDEN TESTS
assert np.isclose(better(1.0, 2, np.exp(-3)), 4.0 - 2 * np.log(2)), "2 log 2 less than Mironov's"

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps3_renyi", globals(), "better_values")

# %% [markdown]
# Steps with noise and batches of their own: the costs of one order add up [lee2020:compose]. So a run of $T$ equal
# steps has a cost at every order, every order gives an $\epsilon$ by Mironov's conversion, **each of them is
# proved**, and we take the smallest.
#
# Also tell where it was found. If the best order is the first or the last of the grid, another grid may give a
# smaller epsilon, and whoever reads the number should know.


# %% run_epsilon solution=true
def run_epsilon(costs, orders, steps, delta):
    """The smallest epsilon of a run of equal steps by Mironov's conversion.

    costs and orders are arrays of one length: costs[i] is what one step costs at orders[i], and orders increase.
    Return three things: epsilon, the order that gives it, and whether that is the first or the last of the orders.
    """
    ### BEGIN SOLUTION
    candidates = [mironov(steps * cost, alpha, delta) for cost, alpha in zip(costs, orders, strict=True)]
    best = int(np.argmin(candidates))
    return candidates[best], orders[best], best in (0, len(candidates) - 1)
    ### END SOLUTION


# %% run_value points=1
# 1 point: epsilon and the order that gives it
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").run_value(run_epsilon)
### END HIDDEN TESTS

# %% run_end points=1
# 1 point: whether the best order is at an end of the grid
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").run_end(run_epsilon)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps3_renyi", globals(), "run_value", "run_end")

# %% [markdown]
# Now the paper. Its batches have a fixed size, and for these another theorem holds ([wbk2019:thm27]: the one behind
# the captions, stronger than the Lemma 3 that is printed); nfa has it, and here it is under a short name. In Figure 4,
# $\sigma = 0.01$ is added to the average of 128 out of 60,000 records, the sensitivity of their sum is 2, so that
# $z = 0.01 \cdot 128 / 2 = 0.64$, and an epoch has 468 steps.

# %% captions
from nfa.privacy.subsampling import without_replacement_gaussian


def fixed_batches(orders, q, z):
    """What one step costs at each of the orders, for batches without replacement of the rate q (an array)."""
    return without_replacement_gaussian(orders, sampling_rate=q, noise_multiplier=z)


PRINTED = {50: 9.77, 100: 13.75, 150: 17.8, 200: 21.3, 250: 23.74, 300: 26.19}  # epochs: epsilon, Figure 4 (a)

# %% [markdown]
# Five of the six are what your `run_epsilon` gives, **cut** to two decimals (not rounded: a habit that makes a
# promise a little better than what was proved). The sixth is most likely a misprint. Which one? Return the number as
# it is printed.


# %% misprint solution=true
def misprint():
    """The one of the six printed epsilons that does not come out."""
    ### BEGIN SOLUTION
    costs = fixed_batches(ORDERS, 128 / 60_000, 0.64)
    for epochs, printed in PRINTED.items():
        found = run_epsilon(costs, ORDERS, 468 * epochs, DELTA)[0]
        if math.floor(100 * found) != round(100 * printed):
            return printed
    ### END SOLUTION


# %% misprint_found points=1
# 1 point: the misprint
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").misprint_found(misprint)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps3_renyi", globals(), "misprint_found")

# %% [markdown]
# Look at it: the first caption of Figure 2, with your functions: batches of 512, 117 of them an epoch, 50 epochs, and a
# sum that a record moves by at most 3. The cost grows with the order, the price of δ falls.
# Beside it stand Poisson batches with the same z. That account answers another question (my record is there or not;
# with batches of a fixed size it is replaced by another one), so it is not simply better.
#
# Then change `sigma` to 0.05. What do the third entries, `True` or `False`, say now, and what becomes of epsilon with
# `orders = list(range(2, 101))`?

# %%
import matplotlib.pyplot as plt

sigma, orders, rate, steps = 0.01, ORDERS, 512 / 60_000, 50 * 117
ways = {
    "batches of 512 (captions)": fixed_batches(orders, rate, sigma * 512 / 3),
    "Poisson, same z": np.array([step_cost(alpha, rate, sigma * 512 / 3) for alpha in orders]),
}
for name, costs in ways.items():
    by_better = min(better(steps * cost, alpha, DELTA) for cost, alpha in zip(costs, orders, strict=True))
    print(f"{name}: {run_epsilon(costs, orders, steps, DELTA)}, newer conversion {by_better}")
    plt.semilogy(orders, [mironov(steps * c, a, DELTA) for c, a in zip(costs, orders, strict=True)], label=name)
plt.semilogy(orders, [mironov(0.0, alpha, DELTA) for alpha in orders], "k:", label="the price of δ alone")
plt.xlabel("order α")
plt.ylabel("ε that the order proves")
plt.ylim(0.1, 100)
plt.legend()
plt.show()

# %% [markdown]
# ## 5. What noise buys (4 points)
#
# Usually somebody names the epsilon and asks for the noise. More noise always costs less: halve an interval that
# holds the answer until it is short enough. Poisson steps, the orders of `ORDERS`, Mironov's conversion.


# %% noise_for solution=true
def noise_for(target, q, steps, delta):
    """The least noise multiplier z, to 0.1 %, for which the epsilon is at most the target; it is in 0.2 .. 200."""
    ### BEGIN SOLUTION
    low, high = 0.2, 200.0
    while high > 1.0001 * low:
        middle = math.sqrt(low * high)
        found = run_epsilon(np.array([step_cost(a, q, middle) for a in ORDERS]), ORDERS, steps, delta)[0]
        low, high = (middle, high) if found > target else (low, middle)
    return high
    ### END SOLUTION


# %% noise_least points=2
# 2 points: with this noise the epsilon is the target, with 0.1 % less it is above
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").noise_least(noise_for)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps3_renyi", globals(), "noise_least")

# %% [markdown]
# Twice as many steps. **Predict, before you compute**, by which factor $z$ must grow so that the run costs what it
# cost before:
#
# 1. if every step sees everybody (no sampling: a step costs $\alpha / (2 z^2)$), so that the cost is as before at
#    every order: return the factor, to 1 %;
# 2. with Poisson batches of $q = 512 / 60000$ and the epsilon of $T = 5850$ steps at $z = 128/75$: is the factor
#    `"less"`, `"equal"` or `"more"` than that of 1.? Return the word. What is the reason? Look at the binomial sum at
#    $\alpha = 2$.


# %% doubled solution=true
def doubled():
    """The factor of question 1, and the word for question 2."""
    ### BEGIN SOLUTION
    z, factor = 128 / 75, math.sqrt(2)
    before, after = (
        run_epsilon(np.array([step_cost(a, 512 / 60_000, noise) for a in ORDERS]), ORDERS, steps, DELTA)[0]
        for noise, steps in ((z, 5850), (factor * z, 11700))
    )
    return factor, "less" if after < before else "more"
    ### END SOLUTION


# %% doubled_full points=1
# 1 point: the factor where every step sees everybody
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").doubled_full(doubled)
### END HIDDEN TESTS

# %% doubled_sampled points=1
# 1 point: the comparison with Poisson batches
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").doubled_sampled(doubled)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps3_renyi", globals(), "doubled_full", "doubled_sampled")

# %% [markdown]
# Look at it: what one moment loses. A Rényi divergence is one moment of the privacy loss, and your accountant uses the
# best one. The losses of all steps add up, so the whole distribution of their sum also gives an epsilon. Take 100
# Poisson steps with $q = 0.001$ and $z = 1.5$, at $\delta = 10^{-6}$. **Predict**: by which factor is the epsilon of
# the whole distribution smaller than that of the best moment?
#
# Why is it? Nine runs in ten never use your record. A high moment counts little but the rarest large losses, which
# $\delta$ may ignore. A low moment has a large $\log(1/\delta) / (\alpha - 1)$.

# %%
from nfa.mechanism import Mechanism
from nfa.privacy.accountant import epsilon

rare = Mechanism(
    law="gaussian",
    sensitivity=1.0,
    adjacency="add-remove",
    noise_std=1.5,
    sampling="poisson",
    sampling_rate=0.001,
)
best = min(better(100 * step_cost(alpha, 0.001, 1.5), alpha, 1e-6) for alpha in ORDERS)
whole = epsilon([(rare, 100)], delta=1e-6, accountant="pld").epsilon
print(f"the best moment {best:.4f}, the whole distribution {whole:.4f}: {best / whole:.1f} times")

# %% [markdown]
# ## 6. Shuffled batches (2 points)
#
# Nearly all programs do not draw batches: they shuffle the data once an epoch and cut it into pieces. A common habit
# is to account for it as if it were Poisson sampling ([dpulr2024:L249] does so, and says so). The smallest example:
#
# Two steps. Each asks its batch *is there a 1 in it?* and answers through the coin of part 1: the truth with
# probability 3/4, the contrary with 1/4. All records are 0, but mine may be 1.
#
# - `"poisson"`: my record is in a batch with probability 1/2, at each of the two steps, independently;
# - `"shuffled"`: my record is in exactly one of the two batches, in either with probability 1/2.
#
# The coins are tossed afresh at each step.


# %% two_answers solution=true
def two_answers(scheme):
    """The laws P (my record is 1) and Q (it is 0) of the two answers, for "poisson" or "shuffled".

    Each has four probabilities: of no no, no yes, yes no, yes yes.
    """
    ### BEGIN SOLUTION
    hidden, told = np.array([0.75, 0.25]), np.array([0.25, 0.75])  # laws of (no, yes) where the truth is no, or yes
    if scheme == "poisson":
        step = (hidden + told) / 2
        P = np.outer(step, step)
    else:
        P = (np.outer(hidden, told) + np.outer(told, hidden)) / 2
    return P.ravel(), np.outer(hidden, hidden).ravel()
    ### END SOLUTION


# %% answers_laws points=1
# 1 point: the laws of the two answers
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").answers_laws(two_answers)
### END HIDDEN TESTS
assert np.shape(two_answers("poisson")) == (2, 4)

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps3_renyi", globals(), "answers_laws")

# %% [markdown]
# The cost of an epoch at an order is the larger of $D_\alpha(P \| Q)$ and $D_\alpha(Q \| P)$. Compare the shuffled
# epoch with the Poisson one at orders from 1.1 to 50. Which is true?
#
# - `"never more"`: at none of these orders does the shuffled epoch cost more, so the Poisson account is safe;
# - `"always more"`: at all of these orders the shuffled epoch costs more;
# - `"both happen"`: at some orders it costs more, at others less.


# %% verdict solution=true
def verdict():
    """One of "never more", "always more" and "both happen"."""
    ### BEGIN SOLUTION
    orders = np.geomspace(1.1, 50, 40)
    shuffled, poisson = (
        np.array([max(renyi(P, Q, alpha), renyi(Q, P, alpha)) for alpha in orders])
        for P, Q in map(two_answers, ("shuffled", "poisson"))
    )
    more = shuffled > poisson
    return "always more" if more.all() else "both happen" if more.any() else "never more"
    ### END SOLUTION


# %% verdict_named points=1
# 1 point: the answer
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").verdict_named(verdict)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps3_renyi", globals(), "verdict_named")

# %% [markdown]
# So what is proved for shuffled batches? My record is in one batch of each epoch, so an epoch costs what **one step
# without sampling** costs: here $D_2 = \log(7/3)$. With the numbers of Figure 2 that is $50 \cdot \alpha / (2 z^2)$
# for 50 epochs. Which epsilon is that, beside 4.43? Plot what you like.

# %%
orders = np.geomspace(1.1, 50, 30)
for scheme in ("poisson", "shuffled"):
    P, Q = two_answers(scheme)
    plt.semilogx(orders, [max(renyi(P, Q, alpha), renyi(Q, P, alpha)) for alpha in orders], label=scheme)
plt.semilogx(orders, [renyi(did, did_not, alpha) for alpha in orders], "k:", label="one step without sampling")
plt.xlabel("order α")
plt.ylabel("cost of the epoch, nats")
plt.legend()
plt.show()
