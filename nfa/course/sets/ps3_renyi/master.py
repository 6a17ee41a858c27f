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
# **Have these pages open**: Lee & Kifer (2020), Section 3.3 from Definition 2 to Lemma 3, and the captions of Figures 2
# and 4. About 115 minutes, 20 points.
#
# You write the accountant that computes a number such as the $\epsilon = 4.43$ of a caption. You begin with the
# divergence of two coins and end with thousands of noisy steps. You find a printed number that the paper's own
# procedure does not reproduce. You also test a common habit: accounting for shuffled batches as if they were Poisson
# batches.
#
# Replace every `raise NotImplementedError`. Loops or array operations, float64 or float32, NumPy or SciPy, and helper
# functions in the same cell are all fine. After each exercise, `check_it` runs the checks of grading with other values.
# A cell with points shows a few of its checks, and the others are hidden. Do not change these cells, because grading
# restores them. A mistake in an earlier exercise does not cost points again in a later exercise.
#
# `nfa eq lee2020:lem1` explains a tag such as [lee2020:lem1]. In grading, each call of one of your functions has three
# seconds of processor time.
#
# Notation: logarithms are natural, so divergences are in nats.
#
# | | |
# |---|---|
# | `p`, `q` in part 1 | the probabilities of the same outcomes in two worlds: with my record, and with another record |
# | `alpha` | the order $\alpha$ of a divergence |
# | `cost` | the Rényi divergence $\epsilon(\alpha)$ of one step or of a whole run, at one order |
# | `z` | the noise multiplier: standard deviation of the noise / sensitivity |
# | `q` from part 3 on | the sampling rate: the probability that a record is in a batch |
# | `T` or `steps` | the number of noisy steps of a run |

# %% setting
import math

import numpy as np

ORDERS = list(range(2, 33))  # whole orders 2..32, the grid of the later parts
DELTA = 1e-5  # the delta of all captions

# %% [markdown]
# ## 1. Two coins (3 points, 20 minutes)
#
# The survey of tutorial 03 asks people whether they did something. A person who did it says yes with probability 3/4. A
# person who did not do it says yes with probability 1/4 [berthier2019:rr]. How far apart are these two distributions?
# Definition 2 [lee2020:def2] averages a power of the ratio of their probabilities over the **second** distribution:
#
# $$D_\alpha(P \,\|\, Q) = \frac{1}{\alpha - 1} \log \sum_k q_k \Big(\frac{p_k}{q_k}\Big)^\alpha, \qquad \alpha > 1$$
#
# At $\alpha = 1$ this formula is 0/0. Its limit for $\alpha \to 1$ is the Kullback-Leibler divergence, which is an
# average of $\log (p_k / q_k)$. Over which of the two distributions is this average? Return the limit if `alpha` is 1.
#
# An outcome with $p_k = 0$ adds nothing, whether $q_k$ is 0 or not. If $p_k > 0 = q_k$ for some outcome, the divergence
# is infinite. Then return `math.inf`.


# %% renyi solution=true
def renyi(p, q, alpha):
    """The Rényi divergence D_alpha(P || Q) in nats; p and q are arrays of probabilities, and alpha >= 1."""
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
# 1 point: the divergence at orders above 1, if no probability is 0
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").renyi_values(renyi)
### END HIDDEN TESTS
did, did_not = np.array([0.75, 0.25]), np.array([0.25, 0.75])  # the probabilities of (yes, no)
assert np.isclose(renyi(did, did_not, 2), np.log(7 / 3)), "0.75^2 / 0.25 + 0.25^2 / 0.75 is 7/3"

# %% renyi_zeros points=1
# 1 point: the divergence if an outcome has probability 0 in one distribution or in both distributions
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").renyi_zeros(renyi)
### END HIDDEN TESTS

# %% renyi_one points=1
# 1 point: the divergence at the order 1
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").renyi_one(renyi)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps3_renyi", globals(), "renyi_values", "renyi_zeros", "renyi_one")

# %% [markdown]
# ## 2. Two Gaussians (3 points, 15 minutes)
#
# Training adds Gaussian noise. For $P = N(\mu_p, s_p^2)$ and $Q = N(\mu_q, s_q^2)$ with densities $p$ and $q$, the sum
# becomes an integral:
#
# $$D_\alpha(P \,\|\, Q) = \frac{1}{\alpha - 1} \log \int p(x)^\alpha q(x)^{1 - \alpha} \, dx$$
#
# You can use the formula of [ohana2021:prop1], derive your own formula, or integrate numerically. The relative error of
# the result must be at most 0.01 %. The finite divergences in the checks are between 0.2 and 10.
#
# The exponent of the integrand is a quadratic function of $x$. If this function does not decrease towards $-\infty$ on
# both sides, the divergence is infinite. Then return `math.inf`. If the factor of $x^2$ is 0, the function is linear or
# constant, and the divergence is infinite, too.
#
# **Predict**: At $\alpha = 5$, one of $D_\alpha(N(0, 1) \,\|\, N(0, 0.75))$ and $D_\alpha(N(0, 0.75) \,\|\, N(0, 1))$
# is infinite. Which of these two divergences is it? In $N(0, 0.75)$, the number 0.75 is a variance, but your function
# takes standard deviations.


# %% renyi_gauss solution=true
def renyi_gauss(mean_p, std_p, mean_q, std_q, alpha):
    """D_alpha(N(mean_p, std_p^2) || N(mean_q, std_q^2)) in nats for alpha > 1; the stds are standard deviations."""
    ### BEGIN SOLUTION
    spread = alpha * std_q**2 + (1 - alpha) * std_p**2
    if spread <= 0:
        return math.inf
    shape = 0.5 * math.log(spread) - (1 - alpha) * math.log(std_p) - alpha * math.log(std_q)
    return alpha * (mean_p - mean_q) ** 2 / (2 * spread) - shape / (alpha - 1)
    ### END SOLUTION


# %% gauss_same points=1
# 1 point: two Gaussians with the same standard deviation
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").gauss_same(renyi_gauss)
### END HIDDEN TESTS

# %%
# Try your function.
assert np.isclose(renyi_gauss(1.0, 1.0, 0.0, 1.0, 2), 1.0, rtol=1e-4), "the number in nfa eq lee2020:def2"

# %% gauss_spread points=1
# 1 point: Gaussians with different standard deviations, if the divergence is finite
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").gauss_spread(renyi_gauss)
### END HIDDEN TESTS

# %% gauss_infinite points=1
# 1 point: pairs with an infinite divergence in one direction and a finite divergence in the other direction
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").gauss_infinite(renyi_gauss)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps3_renyi", globals(), "gauss_same", "gauss_spread", "gauss_infinite")

# %% [markdown]
# Rényi differential privacy (RDP) bounds the divergences in **both** directions between the two worlds [lee2020:def3].
# In one step of training, the two Gaussians have the same standard deviation, and their means differ by at most the
# sensitivity. Then both directions give at most $\alpha / (2 z^2)$ [lee2020:lem1]. If the means differ by the
# sensitivity, your function should return exactly this bound.
#
# ## 3. A step with a random batch (3 points, 15 minutes)
#
# With Poisson sampling, every record is in the batch of a step with probability $q$, independently of all others. The
# two worlds are the data with my record and the data without it. If we divide by the standard deviation of the noise,
# the output of a step without my record has the distribution $N(0, 1)$. With my record in the data, it has the
# distribution $(1-q) N(0, 1) + q N(1/z, 1)$, because my record is in the batch or not.
#
# We need the divergence of the distribution with my record from the distribution without my record. This divergence is
# larger than the divergence in the other direction. At a whole order $\alpha \ge 2$, you can expand the power of the
# mixture, and the divergence is a binomial sum ([mironov2019:sec3.3], footnote 1 of Lee & Kifer):
#
# $$\epsilon(\alpha) = \frac{1}{\alpha - 1} \log \sum_{k=0}^{\alpha} \binom{\alpha}{k} (1-q)^{\alpha-k} q^k
# e^{k(k-1) / (2 z^2)}$$
#
# Why does the exponent have the factor $k(k-1)$? Part 2 gives the answer. Some terms are larger than any float: at
# $\alpha = 256$, $z = 0.5$ and $q = 0.01$, the last term of the sum has 56,190 digits. But the logarithm of the sum is
# an ordinary number. A factor of a term can also be larger than any float if the term itself is small.


# %% step_cost solution=true
def step_cost(alpha, q, z):
    """The Rényi divergence of one Poisson step with Gaussian noise, for 0 < q < 1 and a whole order alpha >= 2."""
    ### BEGIN SOLUTION
    logs = []
    for k in range(alpha + 1):
        chosen = math.log(math.comb(alpha, k)) + (alpha - k) * math.log1p(-q) + k * math.log(q)
        logs.append(chosen + k * (k - 1) / (2 * z**2))
    top = max(logs)
    return (top + math.log(math.fsum(math.exp(t - top) for t in logs))) / (alpha - 1)
    ### END SOLUTION


# %% step_values points=2
# 2 points: the cost at orders up to 32, for which the terms fit into a float64
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").step_values(step_cost)
### END HIDDEN TESTS
z = 1 / np.sqrt(np.log(3))  # so that e^(1 / z^2) is 3
assert np.isclose(step_cost(2, 0.5, z), np.log(1.5), rtol=1e-4), "by hand: 1/4 + 2 * 1/4 + 1/4 * 3 is 3/2"

# %% step_large points=1
# 1 point: the cost at orders up to 256 with z from 0.25 to 12; the relative error must be at most 5 %
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").step_large(step_cost)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps3_renyi", globals(), "step_values", "step_large")

# %% [markdown]
# ## 4. From steps to (ε, δ) (6 points, 35 minutes)
#
# **Predict** first. Consider Poisson batches with $q = 512 / 60000$ and $z = 128/75$, which is 1.71. What is the
# epsilon of a run of 1 step, 100 steps and 5,850 steps at $\delta = 10^{-5}$? For comparison: without sampling, the
# epsilon of one step is 2.98, and the epsilon of 5,850 steps is 2,020. Every guess from 0 to 100,000 gets the
# point. You compare your guess with your result below.


# %% guess solution=true
def guess():
    """A list with your three guesses of epsilon, for 1, 100 and 5,850 steps."""
    ### BEGIN SOLUTION
    return [0.03, 1.5, 50.0]
    ### END SOLUTION


# %% guess_made points=1
# 1 point: three numbers from 0 to 100,000
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").guess_made(guess)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps3_renyi", globals(), "guess_made")

# %% [markdown]
# If a run has the cost $\epsilon$ at the order $\alpha$, the run is $(\epsilon', \delta)$-private for every $\delta$
# between 0 and 1, with
#
# $$\epsilon' = \epsilon + \frac{\log(1/\delta)}{\alpha - 1}$$
#
# This is Mironov's conversion ([lee2020:lem2], [mironov2017:prop3]).


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
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps3_renyi", globals(), "mironov_values")


# %% [markdown]
# The costs of steps with independent noise and independent batches add up at each order [lee2020:compose]. So a run of
# $T$ equal steps has a cost at every order, and Mironov's conversion gives an $\epsilon$ for every order. We take the
# smallest of these epsilons.
#
# Also return whether the best order is the first or the last order of the grid. In this case, orders outside the grid
# may give a smaller epsilon, and the reader of your epsilon should know this.


# %% run_epsilon solution=true
def run_epsilon(costs, orders, steps, delta):
    """The smallest epsilon of a run of equal steps by Mironov's conversion.

    costs and orders are arrays of the same size, and the orders increase. costs[i] is the cost of a step at orders[i].
    Return three things: epsilon, the order that gives it, and whether this order is the first or the last order. If
    several orders give the smallest epsilon, return any of these orders.
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
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps3_renyi", globals(), "run_value", "run_end")

# %% [markdown]
# Compare your guess with your result.

# %%
# Try your function.
for steps, guessed in zip((1, 100, 5850), guess(), strict=True):
    found = run_epsilon(np.array([step_cost(alpha, 512 / 60_000, 128 / 75) for alpha in ORDERS]), ORDERS, steps, DELTA)
    print(f"{steps} steps: your guess {guessed}, epsilon {found[0]:.2f} at the order {found[1]}")

# %% [markdown]
# **Question.** Your `run_epsilon` computes 31 epsilons, one for each order, and returns the smallest. Which sentence is
# true?
#
# - `"a"`: The smallest epsilon is proved only if each conversion uses δ / 31, because we choose one of 31 statements.
# - `"b"`: The smallest epsilon is proved, because all 31 statements are true for the same run and the same δ.
# - `"c"`: Only the largest epsilon is proved, because an attacker can use the order that is best for the attack.
#
# Return the letter and your reason, which must have at least eight different words. The letter is graded. Your teacher
# reads the reason.


# %% smallest solution=true
def smallest():
    """Two things: the letter and the reason."""
    ### BEGIN SOLUTION
    return "b", "Each order proves an upper bound for the same run with certainty, so the smallest bound is also true."
    ### END SOLUTION


# %% smallest_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").smallest_answer(smallest)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps3_renyi", globals(), "smallest_answer")

# %% [markdown]
# The batches of the paper have a fixed size. Such batches need another theorem [wbk2019:thm27], which never gives a
# larger cost than the printed Lemma 3. The captions use this theorem. The function `fixed_batches` in the next cell
# computes the cost by this theorem. In Figure 4 (a), Gaussian noise with the standard deviation $\sigma = 0.01$ is
# added to the average of 128 of 60,000 records. Replacing one record moves the sum of the batch by at most 2. So
# $z = 0.01 \cdot 128 / 2 = 0.64$. An epoch has 468 steps.

# %% captions
from nfa.privacy.subsampling import without_replacement_gaussian


def fixed_batches(orders, q, z):
    """The cost of one step at each of the orders, an array, for batches of fixed size with q = batch / records."""
    return without_replacement_gaussian(orders, sampling_rate=q, noise_multiplier=z)


# the printed epsilon for each number of epochs
PRINTED = {50: 9.77, 100: 13.75, 150: 17.8, 200: 21.3, 250: 23.74, 300: 26.19}  # epsilons of Figure 4 (a)

# %% [markdown]
# Your `run_epsilon` reproduces five of these six epsilons if you **truncate** its result to two decimals. The paper
# truncates instead of rounding, so the printed epsilons are slightly smaller than the proved ones. One of the six
# numbers is most likely a misprint. Which number is it? Return the number as it is printed.


# %% misprint solution=true
def misprint():
    """The number among the six printed epsilons that `run_epsilon` does not reproduce."""
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
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps3_renyi", globals(), "misprint_found")

# %% [markdown]
# The next cell computes the first caption of Figure 2 with your functions. The batches have 512 records, the run has 50
# epochs of 117 steps, and replacing one record moves the sum by at most 3. The cost increases with the order, but the
# second term of the conversion decreases with the order.
#
# The second curve is for Poisson batches with the same z. For Poisson batches, the adjacency is add-remove: my record
# is in the data or not. For batches of a fixed size, the adjacency is replace-one: another record takes the place of my
# record. So the smaller epsilon of the two is not necessarily the better one.
#
# A newer conversion gives a smaller epsilon from the same cost [canonne2020:prop12]. The function `better` computes
# this epsilon:
#
# $$\epsilon' = \max\Big\{0,\; \epsilon + \log \frac{\alpha - 1}{\alpha}
# - \frac{\log \delta + \log \alpha}{\alpha - 1}\Big\}$$
#
# Run the next two cells, and then change `sigma` to 0.05 in the second cell. The third value that `run_epsilon` returns
# is `True` or `False`. What does it mean now? Then also use `orders = list(range(2, 101))`. For the batches of the
# captions, the epsilon stays 0.7549, and only the third value changes. So the order 32 was already the best order. What
# happens to the epsilon of the Poisson batches?


# %% newer_conversion
def better(cost, alpha, delta):
    """The epsilon of a cost at the order alpha by the newer conversion, at least 0."""
    return max(0.0, cost + math.log(1 - 1 / alpha) - math.log(delta * alpha) / (alpha - 1))


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
plt.semilogy(orders, [mironov(0.0, alpha, DELTA) for alpha in orders], "k:", label="second term alone")
plt.xlabel("order α")
plt.ylabel("ε that the order proves")
plt.ylim(0.1, 100)
plt.legend()
plt.show()

# %% [markdown]
# ## 5. The noise for a target (3 points, 15 minutes)
#
# Usually you know the target epsilon and need the noise. More noise always gives a smaller epsilon. So you can begin
# with an interval that contains the answer, and halve it until it is small enough. In all our checks, the smallest z
# that reaches the target is between 0.2 and 200. Return a z that is at most 0.1 % larger. Use Poisson steps, the orders
# `ORDERS` and Mironov's conversion.


# %% noise_for solution=true
def noise_for(target, q, steps, delta):
    """The smallest noise multiplier z, to 0.1 %, with an epsilon of at most the target. It is between 0.2 and 200."""
    ### BEGIN SOLUTION
    low, high = 0.2, 200.0
    while high > 1.0001 * low:
        middle = math.sqrt(low * high)
        found = run_epsilon(np.array([step_cost(a, q, middle) for a in ORDERS]), ORDERS, steps, delta)[0]
        low, high = (middle, high) if found > target else (low, middle)
    return high
    ### END SOLUTION


# %% noise_least points=2
# 2 points: the epsilon is at most the target with your z, and larger than the target if z is 0.1 % smaller
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").noise_least(noise_for)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps3_renyi", globals(), "noise_least")

# %% [markdown]
# **Question.** A run has twice as many steps as before. By which factor must $z$ increase so that the epsilon of the
# run stays the same? Without sampling, the cost of the run is $T \alpha / (2 z^2)$ at every order, so the factor is
# $\sqrt 2$. Now take Poisson batches with $q = 512 / 60000$, and 11,700 steps in place of 5,850 steps with
# $z = 128/75$. Decide before you compute anything. Then test your choice with your functions.
#
# - `"a"`: The factor is $\sqrt 2$, because the cost of a step is proportional to $1 / z^2$ for all kinds of batches.
# - `"b"`: The factor is larger than $\sqrt 2$, because more steps use my record more often.
# - `"c"`: The factor is smaller than $\sqrt 2$, because the cost of such a step decreases faster than $1 / z^2$.


# %% doubled solution=true
def doubled():
    """Two things: the letter and the reason, in at least eight different words."""
    ### BEGIN SOLUTION
    return "c", "At order 2 a step costs about q^2 (exp(1 / z^2) - 1), and the exponential falls faster than 1 / z^2."
    ### END SOLUTION


# %% doubled_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").doubled_answer(doubled)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps3_renyi", globals(), "doubled_answer")

# %% [markdown]
# The privacy loss is the logarithm of the ratio of the two densities at the output. A Rényi divergence follows from one
# moment of the distribution of this loss, and your accountant uses the best moment. The whole distribution also gives
# an epsilon. Take 100 Poisson steps with $q = 0.001$ and $z = 1.5$, at $\delta = 10^{-6}$. **Predict**: by which factor
# is the epsilon of the whole distribution smaller than the epsilon of the best moment?
#
# Why is the epsilon of the whole distribution smaller? Nine of ten runs never use your record. A high moment depends
# almost only on the rarest large losses, which may be ignored because $\delta$ is positive. A low moment has a large
# second term $\log(1/\delta) / (\alpha - 1)$.

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
# ## 6. Shuffled batches (2 points, 15 minutes)
#
# Most training programs do not sample a new batch for each step. They shuffle the data once in each epoch, and cut the
# shuffled data into batches. It is common to compute the epsilon as if these batches were Poisson batches. For example,
# the paper of [dpulr2024:L249] does so, and reports it. The following run is the smallest example.
#
# A run has two steps. Each step publishes an answer, yes or no, to the question whether its batch contains a 1. As in
# part 1, this answer is random: it is truthful with probability 3/4, and it is the opposite of the truth with
# probability 1/4, independently at each step. All other records are 0, and my record is 0 or 1.
#
# - `"poisson"`: my record is in the batch of each step with probability 1/2, independently
# - `"shuffled"`: my record is in exactly one of the two batches, and each of the two batches has probability 1/2


# %% two_answers solution=true
def two_answers(scheme):
    """The distributions P (my record is 1) and Q (my record is 0) of the two answers, for "poisson" or "shuffled".

    Each distribution has four probabilities: of the answers (no, no), (no, yes), (yes, no) and (yes, yes).
    """
    ### BEGIN SOLUTION
    hidden, told = np.array([0.75, 0.25]), np.array([0.25, 0.75])  # (no, yes) if the truth is no, or yes
    if scheme == "poisson":
        step = (hidden + told) / 2
        P = np.outer(step, step)
    else:
        P = (np.outer(hidden, told) + np.outer(told, hidden)) / 2
    return P.ravel(), np.outer(hidden, hidden).ravel()
    ### END SOLUTION


# %% answers_laws points=1
# 1 point: the distributions of the two answers
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").answers_laws(two_answers)
### END HIDDEN TESTS
assert np.shape(two_answers("poisson")) == (2, 4)

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps3_renyi", globals(), "answers_laws")

# %% [markdown]
# **Question.** The cost of the run at an order is the larger of $D_\alpha(P \| Q)$ and $D_\alpha(Q \| P)$. Compute the
# costs of both schemes with your functions at several orders between 1.1 and 50. Which sentence is true?
#
# - `"a"`: At some orders the shuffled run has the larger cost, and at other orders the smaller cost. So the account for
#   Poisson batches does not prove a guarantee for shuffled batches.
# - `"b"`: The shuffled run never has the larger cost, because it uses my record exactly once and Poisson batches can
#   use it twice. So the account for Poisson batches is safe.
# - `"c"`: The shuffled run has the larger cost at every order, because it always uses my record.


# %% shuffled solution=true
def shuffled():
    """Two things: the letter and the reason, in at least eight different words."""
    ### BEGIN SOLUTION
    return "a", "Shuffling always uses my record, which costs more at order 2. Poisson batches can use it twice."
    ### END SOLUTION


# %% shuffled_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps3_renyi").shuffled_answer(shuffled)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps3_renyi", globals(), "shuffled_answer")

# %% [markdown]
# What is proved for shuffled batches if one record is replaced? This record is in one batch of each epoch, so an epoch
# costs at most as much as **one step without sampling**. In the example, this cost is $D_2 = \log(7/3)$ at the order 2.
# With the numbers of Figure 2, 50 epochs cost $50 \cdot \alpha / (2 z^2)$. Which epsilon do you get from this cost?
# Compare this epsilon with the printed 4.43.

# %%
orders = np.geomspace(1.1, 50, 30)
for scheme in ("poisson", "shuffled"):
    P, Q = two_answers(scheme)
    plt.semilogx(orders, [max(renyi(P, Q, alpha), renyi(Q, P, alpha)) for alpha in orders], label=scheme)
plt.semilogx(orders, [renyi(did, did_not, alpha) for alpha in orders], "k:", label="one step without sampling")
plt.xlabel("order α")
plt.ylabel("cost of the run, nats")
plt.legend()
plt.show()
