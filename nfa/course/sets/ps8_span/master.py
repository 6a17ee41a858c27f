# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Problem set 8: one update gives the batch away
#
# **Have this page open**: Ohana et al. (2021), Section 3.2 and the beginning of Section 3.3: Equations 8 and 10 to 13,
# and the three sentences below Proposition 3. About 110 minutes, 20 points.
#
# You publish one noisy update of one layer, and then find out who was in the batch, what a record looked like, what
# that says about $\epsilon$, and which noise would have helped. Replace every `raise NotImplementedError`. Loops or
# array operations, float64 or float32, helper functions in the same cell: all are fine. A cell with points shows you a
# few of its checks; others run when your notebook is graded. Do not change those cells: they are put back before
# grading.
#
# `nfa eq ohana2021:eq8` shows what stands behind a tag such as [ohana2021:eq8]. When your notebook is graded, each
# call of one of your functions has three seconds of computing.
#
# Notation. Rows are records, and what is written for one layer has no index of the layer:
#
# | | shape | |
# |---|---|---|
# | `h` | `(k, n)` | what the layer reads of the k records of the batch |
# | `u` | `(k, units)` | the projected error of each record, $B e_i$ |
# | `dphi` | `(k, units)` | the slopes $\varphi'(z_i)$ |
# | `dW` | `(units, n + 1)` | the update of the weights |
#
# As in the paper, the bias is part of the weights: it is the **last column**, and its input is always 1. So the layer
# reads $\tilde h_i = (h_i, 1)$, and we write $N = n + 1$ for the number of columns. We leave out the paper's clips, and
# its minus sign: the training loop subtracts `dW`.

# %% setting
import math

import numpy as np
from scipy import stats


def random_batch(k, units, n, seed):
    """Random projected errors u, slopes dphi and inputs h of k records."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(k, units)), rng.uniform(0.1, 1, size=(k, units)), rng.normal(size=(k, n))


# %% [markdown]
# ## 1. Two places for noise (3 points)
#
# $$dW = \frac1m \sum_{i=1}^k \big((u_i + g_i) \odot \varphi'(z_i)\big) \, \tilde h_i^\top + G$$
#
# The published mechanism has noise on the projected errors, one $g_i$ for each record and $G = 0$
# ([ohana2021:eq10], [ohana2021:eq12]): the optics that compute $B e_i$ add it for free. Noise on the update itself has
# $g = 0$ and an independent number in every entry of $G$, as in Lee & Kifer's Algorithm 1 ([lee2020:A10-A11]).
#
# The number m is given. It need not be k, and k may be 0.


# %% update solution=true
def update(u, dphi, h, m, g, G):
    """The update dW (units, n + 1), with g (k, units) and G (units, n + 1); its last column is the bias."""
    ### BEGIN SOLUTION
    read = np.hstack([h, np.ones((len(h), 1))])
    return ((u + g) * dphi).T @ read / m + G
    ### END SOLUTION


# %% update_value points=1
# 1 point: dW without noise, for any m and k
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").update_value(update)
### END HIDDEN TESTS
u, dphi, h = random_batch(3, 4, 6, seed=0)
assert np.shape(update(u, dphi, h, 3, 0 * u, np.zeros((4, 7)))) == (4, 7), "a column for each input, one for the bias"

# %% update_noise points=1
# 1 point: what g and G do to dW
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").update_noise(update)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "update_value", "update_noise")

# %% [markdown]
# **Predict, before you compute any**: the rank of `dW`. Errors, slopes, inputs and noise are as random numbers are: no
# coincidences among them. `noise` is `"error"` for noise in g only, `"update"` for noise in G only. Does it matter how
# large the noise is?


# %% predicted_rank solution=true
def predicted_rank(k, units, N, noise):
    """The rank of the update (units, N) of k >= 0 records, with noise "error" or "update" of any size but 0."""
    ### BEGIN SOLUTION
    return min(k, units, N) if noise == "error" else min(units, N)
    ### END SOLUTION


# %% rank_predicted points=1
# 1 point: the rank for batches smaller and larger than the layer
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").rank_predicted(predicted_rank)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "rank_predicted")

# %% [markdown]
# ## 2. Who was in the batch? (6 points)
#
# Every row of the published `dW` is a combination of the $\tilde h_i$. So the rows span a space that everybody who sees
# the update can compute. If the layer has no fewer units than the batch has records, whoever was in the batch lies in
# that space; if it has more columns than records, hardly anybody else does. In the paper's network 256 records meet
# layers of 784, 512 and 512 columns.
#
# Write `span`: an orthonormal basis of the **row space** of `dW`, one vector a row, so of shape `(r, N)`. Directions
# whose singular value is at most `tol` *times the largest one* are rounding: leave them out. An update of zeros has no
# direction at all, r = 0. If `rank` is given, keep at most so many directions: those with the largest singular values.


# %% span solution=true
def span(dW, rank=None, tol=1e-5):
    """An orthonormal basis (r, N) of the row space of dW (units, N), in which a vector is a row."""
    ### BEGIN SOLUTION
    _, s, Vt = np.linalg.svd(dW, full_matrices=False)
    return Vt[s > tol * s[0]][:rank]
    ### END SOLUTION


# %% span_rows points=1
# 1 point: orthonormal rows, and the rows of dW are their combinations
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").span_rows(span)
### END HIDDEN TESTS
assert np.allclose(np.abs(span(np.array([[3.0, 4.0, 0.0]]))), [[0.6, 0.8, 0.0]]), "one row spans its own direction"

# %% span_tolerance points=1
# 1 point: how many directions there are, for updates of any size, zero included
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").span_tolerance(span)
### END HIDDEN TESTS

# %% span_leading points=1
# 1 point: the directions that are kept where rank is given
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").span_leading(span)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "span_rows", "span_tolerance", "span_leading")

# %% [markdown]
# Now the membership test. For each candidate h, how far is $\tilde h = (h, 1)$ from the span, relative to its length?
# With P the projection onto the span:
#
# $$\rho(h) = \frac{\|\tilde h - P \tilde h\|}{\|\tilde h\|}$$


# %% residuals solution=true
def residuals(h, basis):
    """rho of each candidate, k numbers for h (k, n); basis (r, n + 1) has orthonormal rows, r may be 0."""
    ### BEGIN SOLUTION
    read = np.hstack([h, np.ones((len(h), 1))])
    rest = read - (read @ basis.T) @ basis
    return np.linalg.norm(rest, axis=1) / np.linalg.norm(read, axis=1)
    ### END SOLUTION


# %% residuals_members points=1
# 1 point: 0 up to rounding for those who were in the batch, and not for others
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").residuals_members(residuals)
### END HIDDEN TESTS
basis = np.array([[0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
assert np.allclose(residuals(np.array([[3.0, 4.0], [-6.0, -8.0]]), basis), 0, atol=1e-6), "(3, 4, 1) is in this span"

# %% residuals_others points=1
# 1 point: the values for others
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").residuals_others(residuals)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "residuals_members", "residuals_others")

# %% [markdown]
# **By reasoning, without a simulation**: a candidate $\tilde h$ has a random direction in $\mathbb R^N$, all directions
# being equally likely. The span has r dimensions. Which is the mean of $\rho^2$? Return its square root.


# %% typical_residual solution=true
def typical_residual(r, N):
    """The root of the mean of rho^2 over random directions in N dimensions, for a span of r <= N dimensions."""
    ### BEGIN SOLUTION
    return np.sqrt(1 - r / N)
    ### END SOLUTION


# %% typical_value points=1
# 1 point: its value
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").typical_value(typical_residual)
### END HIDDEN TESTS
assert np.isclose(typical_residual(0, 50), 1), "where nothing is spanned, everything is as far away as it can be"

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "typical_value")

# %% [markdown]
# Look at it with real images, 14 x 14 pixels: 12 of them in the batch and 48 not. **Predict**: what does a noise 500
# times as large change? Are real images where random directions are, and why (not)? The largest noise of the paper's
# experiments is 0.2, with projected errors of length 1.

# %%
import matplotlib.pyplot as plt

from nfa import data

pictures = data.load("fashion-mnist-small").x_train[:60].reshape(60, 14, 2, 14, 2)
pixels = pictures.mean(axis=(2, 4)).reshape(60, 196) / (255 * 14)  # of length 1 at most
rng = np.random.default_rng(1)
u = rng.normal(size=(12, 16))
u /= np.linalg.norm(u, axis=1, keepdims=True)
for sigma in (0.2, 100.0):
    dW = update(u, np.ones((12, 16)), pixels[:12], 12, sigma * rng.normal(size=(12, 16)), np.zeros((16, 197)))
    rho = np.maximum(residuals(pixels, span(dW)), 1e-17)
    plt.semilogy(rho, ".", label=f"sigma = {sigma:g}")
plt.axhline(typical_residual(12, 197), color="gray", ls=":", label="random directions")
plt.axvline(11.5, color="k", lw=0.8)
plt.xlabel("image; the first 12 were in the batch")
plt.ylabel("relative distance from the span")
plt.legend()
plt.show()

# %% [markdown]
# ## 3. What did a record look like? (3 points)
#
# Membership needs candidates. For small batches an attacker needs none. Here is the published update of a batch of
# **one** record. Return the record, exactly (up to rounding), whatever its error and the noise on it were. Some units
# may be dead, with $\varphi' = 0$; at least one is not.


# %% recover_one solution=true
def recover_one(dW):
    """The h (n,) of the only record whose update is dW (units, n + 1)."""
    ### BEGIN SOLUTION
    row = dW[np.argmax(np.abs(dW[:, -1]))]
    return row[:-1] / row[-1]
    ### END SOLUTION


# %% recover_record points=1
# 1 point: the record, where all units are alive
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").recover_record(recover_one)
### END HIDDEN TESTS

# %%
# to try it
assert np.allclose(recover_one(np.array([[2.0, -1.0, 4.0]])), [0.5, -0.25])

# %% recover_dead points=1
# 1 point: also where some units are dead, and where the numbers of the units add up to 0
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").recover_dead(recover_one)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "recover_record", "recover_dead")

# %% [markdown]
# With **two** records the rows of `dW` are mixtures of two vectors, and nobody tells in which proportions. But suppose
# the two are black and white: all entries of h are 0 or 1, and the records differ. How many mixtures of the two have a
# 1 at the end and nothing but 0 and 1 before it? Return the two records, in any order. There may be hundreds of pixels.
# No unit is dead, and no two rows of `dW` are proportional.


# %% recover_two solution=true
def recover_two(dW):
    """The two records (2, n), with entries 0 and 1, whose update is dW (units, n + 1)."""
    ### BEGIN SOLUTION
    basis = span(dW, rank=2)
    c = basis[:, -1]
    point = c @ basis / (c @ c)  # ends in 1
    along = c[0] * basis[1] - c[1] * basis[0]  # ends in 0
    at = np.argmax(np.abs(along))
    return np.array([point + (pixel - point[at]) / along[at] * along for pixel in (0, 1)])[:, :-1]
    ### END SOLUTION


# %% recover_mixed points=1
# 1 point: both records
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").recover_mixed(recover_two)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "recover_mixed")

# %% [markdown]
# ## 4. From guesses to epsilon (6 points)
#
# An attack says "was in the batch" if $\rho \le t$. Over all thresholds t, its **advantage** is the largest difference
#
# $$\text{share of the members with } \rho \le t \quad - \quad \text{share of the others with } \rho \le t,$$
#
# true alarms minus false alarms.


# %% advantage solution=true
def advantage(members, others):
    """The advantage, in [0, 1], of the test rho <= t with the best t; both are arrays of residuals."""
    ### BEGIN SOLUTION
    members, others = np.asarray(members), np.asarray(others)
    return max([0.0, *((members <= t).mean() - (others <= t).mean() for t in members)])
    ### END SOLUTION


# %% advantage_value points=1
# 1 point: the advantage for samples of any sizes, ties included
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").advantage_value(advantage)
### END HIDDEN TESTS
assert np.isclose(advantage([0.1, 0.2, 0.6], [0.5, 0.9]), 2 / 3)

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "advantage_value")

# %% [markdown]
# Now let $P_1$ be the law of the update if a record is in the batch, and $P_0$ if another is in its place. Pure
# $\epsilon$-DP ([lee2020:def1] with $\delta = 0$) demands $P_1(S) \le e^\epsilon P_0(S)$ and $P_0(S) \le e^\epsilon
# P_1(S)$ for **every** event S, and so for "alarm" as well as for "no alarm".
#
# **By reasoning**: somebody has a test with advantage a, and does not say how many of its alarms are false. Which is
# the smallest $\epsilon$ that the mechanism can have? Not every pair of rates with this difference needs the same.


# %% advantage_epsilon solution=true
def advantage_epsilon(a):
    """The smallest epsilon >= 0, at delta = 0, of a mechanism for which a test has advantage a, 0 <= a < 1."""
    ### BEGIN SOLUTION
    return np.log((1 + a) / (1 - a))
    ### END SOLUTION


# %% advantage_least points=1
# 1 point: the smallest epsilon
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").advantage_least(advantage_epsilon)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "advantage_least")

# %% [markdown]
# That was for rates that are known. We only count. Of n trials k were alarms: Clopper and Pearson's bounds on the
# probability p of an alarm are, for a given error,
#
# $$P(X \ge k \mid p = \text{low}) = \text{error}, \qquad P(X \le k \mid p = \text{high}) = \text{error}, \qquad
# X \sim \mathrm{Binomial}(n, p),$$
#
# with low = 0 where k = 0, and high = 1 where k = n. Each of the two is wrong with at most the probability `error`, if
# the test and its t were fixed before the trials that are counted. `scipy.stats` may be used.


# %% clopper_pearson solution=true
def clopper_pearson(k, n, error):
    """The bounds low, high on the probability of an alarm, each wrong with at most the probability error."""
    ### BEGIN SOLUTION
    low = stats.beta.ppf(error, k, n - k + 1) if k > 0 else 0.0
    high = stats.beta.ppf(1 - error, k + 1, n - k) if k < n else 1.0
    return low, high
    ### END SOLUTION


# %% interval_values points=1
# 1 point: both bounds where some trials, but not all, were alarms
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").interval_values(clopper_pearson)
### END HIDDEN TESTS
low, high = clopper_pearson(3, 10, 0.025)
assert 0 < low < 0.3 < high < 1

# %% interval_ends points=1
# 1 point: both bounds where none or all were alarms
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").interval_ends(clopper_pearson)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "interval_values", "interval_ends")

# %% [markdown]
# So, with $k_0$ false alarms in n updates without the record and $k_1$ true ones in n updates with it,
#
# $$\epsilon \ge \log \frac{\text{low}_1 - \delta}{\text{high}_0},$$
#
# or 0, if that is negative or there is no logarithm. Here $\text{low}_1$ is the lower bound on the probability of a
# true alarm and $\text{high}_0$ the upper bound on that of a false one. The sentence may be wrong with probability
# 1 - confidence **in all**; give each of the two bounds half of that.
#
# For the paper's network, one step at $\sigma = 100$ and the most favourable inputs there are, the published formula
# says $\epsilon = 0.2565$ at $\delta = 10^{-5}$ ([ohana2021:prop3-cols]). Somebody attacks 1,000 updates with the
# record and 1,000 without, and is never wrong. **Predict** the bound: about 0.3, about 6, or infinite?


# %% epsilon_bound solution=true
def epsilon_bound(k0, k1, n, delta, confidence):
    """A lower bound on epsilon that is wrong with at most the probability 1 - confidence."""
    ### BEGIN SOLUTION
    error = (1 - confidence) / 2
    high0 = clopper_pearson(k0, n, error)[1]
    low1 = clopper_pearson(k1, n, error)[0]
    return max(0.0, math.log((low1 - delta) / high0)) if low1 > delta else 0.0
    ### END SOLUTION


# %% bound_value points=1
# 1 point: the bound, 0 included
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").bound_value(epsilon_bound)
### END HIDDEN TESTS

# %%
print(f"claimed 0.2565, at least {epsilon_bound(0, 1000, 1000, 1e-5, 0.95):.3f} with 95 % confidence")

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "bound_value")

# %% [markdown]
# Play the game yourself. In each trial draw g with entries of standard deviation sigma and G of standard deviation s
# **anew** (either may be 0), make the update of the batch with m = k, take of its span at most the k leading directions
# (so many records there are; with noise in G all other directions are noise), and raise an alarm if the residual of the
# target is at most t. Count the alarms.


# %% hits solution=true
def hits(h, target, u, dphi, sigma, s, trials, t, rng):
    """How many of the trials raise an alarm for target (n,), with the batch h (k, n); rng is a NumPy Generator."""
    ### BEGIN SOLUTION
    k, units, alarms = len(h), u.shape[1], 0
    for _ in range(trials):
        g = rng.normal(0, sigma, size=(k, units))
        G = rng.normal(0, s, size=(units, h.shape[1] + 1))
        basis = span(update(u, dphi, h, k, g, G), rank=k)
        alarms += residuals(target[None], basis)[0] <= t
    return alarms
    ### END SOLUTION


# %% hits_game points=1
# 1 point: how many alarms there are, with the target and without it, for noise in either place
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").hits_game(hits)
### END HIDDEN TESTS

# %%
u, dphi, h = random_batch(3, 6, 9, seed=2)
for sigma, s in ((1.0, 0.0), (100.0, 0.0), (0.0, 1.0)):
    alarms = hits(h, h[2], u, dphi, sigma, s, 20, 1e-3, np.random.default_rng(3))
    print(f"sigma {sigma:g}, s {s:g}: {alarms} of 20 find a target that was there")

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "hits_game")

# %% [markdown]
# ## 5. How much noise would it take? (2 points)
#
# If $\|u_i \odot \varphi'(z_i)\| \le \tau$ and $\|\tilde h_i\| \le c$ for every possible record, how far can the update
# (without noise) move, in the Frobenius norm, if one record of the batch is **replaced** by another? That is the
# sensitivity $\Delta$. Return the smallest number that is never exceeded.


# %% sensitivity solution=true
def sensitivity(tau, c, m):
    """The largest distance of two updates, both divided by m, whose batches differ in one record."""
    ### BEGIN SOLUTION
    return 2 * tau * c / m
    ### END SOLUTION


# %% sensitivity_value points=1
# 1 point: its value
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").sensitivity_value(sensitivity)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "sensitivity_value")

# %% [markdown]
# Independent noise $N(0, s^2)$ on every entry of the update has Rényi divergence at most $\alpha \Delta^2 / (2 s^2)$
# ([ohana2021:rem2.1]), for every real order $\alpha > 1$, not only for whole numbers; so one update is
# $(\epsilon, \delta)$-private ([ohana2021:thm2]) with
#
# $$\epsilon = \min_{\alpha > 1} \Big[\frac{\alpha \Delta^2}{2 s^2} + \frac{\log(1/\delta)}{\alpha - 1}\Big].$$
#
# Find the s that gives a stated $\epsilon$, to 0.1 % or better, by a formula or by search.


# %% noise_needed solution=true
def noise_needed(epsilon, delta, Delta):
    """The s for which the minimum over all orders is epsilon; Delta > 0 is the sensitivity."""
    ### BEGIN SOLUTION
    # with rho = Delta^2 / (2 s^2) and lam = log(1 / delta) the minimum is rho + 2 sqrt(rho lam)
    lam = math.log(1 / delta)
    return Delta / math.sqrt(2) / (math.sqrt(lam + epsilon) - math.sqrt(lam))
    ### END SOLUTION


# %% noise_value points=1
# 1 point: the epsilon that your s gives
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").noise_value(noise_needed)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "noise_value")

# %% [markdown]
# Look at it. Five records with entries 1 and -1, so that Proposition 3 is at its best, errors of length 1, and the
# target in place of the last record or not. Left of the line the noise on the update is less than $\epsilon = 8$ asks
# for. What the published formula claims for the noise on the errors is printed beside what the game shows.

# %%
import matplotlib.pyplot as plt

from nfa.papers.ohana2021.claims import claimed_pdfa_epsilon
from nfa.papers.ohana2021.column_bound import Clips

rng = np.random.default_rng(4)
k, units, n = 5, 9, 15
h, target = rng.choice([-1.0, 1.0], size=(k, n)), rng.choice([-1.0, 1.0], size=n)
u = rng.normal(size=(k, units))
u /= np.linalg.norm(u, axis=1, keepdims=True)
without, with_target = h, np.vstack([h[:-1], target])


def rates(sigma, s, trials, t):
    """False and true alarms."""
    return [hits(batch, target, u, np.ones((k, units)), sigma, s, trials, t, rng) for batch in (without, with_target)]


best = Clips(gamma_min=1, gamma_max=1, tau_h_min=1, tau_h_max=1, tau_B=1)
claimed, _ = claimed_pdfa_epsilon(delta=1e-5, sizes=(n + 1, units), T=1, m=k, sigma=100.0, clips=best)
k0, k1 = rates(100.0, 0.0, 30, 1e-3)
print(f"sigma = 100: claimed {claimed:.2f}; {k0} false and {k1} true alarms of 30: at least", end=" ")
print(f"{epsilon_bound(k0, k1, 30, 1e-5, 0.95):.2f} with 95 % confidence")

sizes = np.geomspace(1e-3, 3, 6)
alarms = np.array([rates(0.0, s, 12, 0.6) for s in sizes]) / 12
plt.semilogx(sizes, alarms, ".-", label=["false alarms", "true alarms"])
plt.axvline(noise_needed(8, 1e-5, sensitivity(1, np.sqrt(n + 1), k)), color="k", lw=0.8, label="epsilon 8, one update")
plt.xlabel("noise on every entry of the update, s")
plt.ylabel("share of 12 trials, t = 0.6")
plt.legend()
plt.show()

# %% [markdown]
# The paper says itself that all columns share one realisation of the noise, and multiplies the divergence of one column
# by their number as a precaution. Composition adds up releases whose noise is independent, and that of columns is not:
# where replacing a record changes the span, no finite number is a bound. So the statement is `false` for records
# ([ohana2021:prop3-cols]), and with it what builds on it ([ohana2021:prop3-dp]). For **labels** it holds, if loosely,
# where inputs are public and columns no fewer than records: whoever knows the inputs gets
# $(u_i + g_i) \odot \varphi'(z_i)$ of each record, and there the noise stands in the way. So what is it that $g$ hides,
# and what does it leave open? Compare with tutorial 08.
