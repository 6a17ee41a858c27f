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
# **Have these pages open**: Ohana et al. (2021), Section 3.2 and the beginning of Section 3.3. You need Equations 8 and
# 10 to 13, and the three sentences below Proposition 3. About 120 minutes, 20 points.
#
# You publish one noisy update of one layer. From this update you find out who was in the batch and what a record looked
# like. Then you compute a lower bound on $\epsilon$ from this attack. At the end, you study noise that does protect the
# records.
#
# Replace every `raise NotImplementedError`. Loops or array operations, float64 or float32, and helper functions in the
# same cell are all fine. After each exercise, `check_it` runs the checks of grading with other values. The checks of
# grading are hidden in the cells with points. Do not change these cells, because grading restores them. A mistake in an
# earlier exercise does not cost points again in a later exercise.
#
# `nfa eq ohana2021:eq8` explains a tag such as [ohana2021:eq8]. In grading, each call of one of your functions has
# three seconds of processor time.
#
# Notation. Rows are records. We study one layer, so no symbol has an index of the layer.
#
# | | shape | |
# |---|---|---|
# | `k`, `m` | numbers | the number of records in the batch, and the number that we divide sums by |
# | `n`, `N` | numbers | the number of inputs of the layer, and $N = n + 1$, the number of columns of its weights |
# | `h` | `(k, n)` | the inputs of the layer, one row for each record |
# | `u` | `(k, units)` | the projected error $B e_i$ of each record |
# | `dphi` | `(k, units)` | the derivatives $\varphi'(z_i)$ of the units |
# | `dW` | `(units, N)` | the update of the weights |
#
# As in the paper, the bias is part of the weights. Here it is the **last column**, and its input is always 1. So the
# layer reads $\tilde h_i = (h_i, 1)$. We leave out the paper's clips. We also leave out its minus sign, because our
# training loop subtracts `dW`.

# %% setting
import math

import numpy as np
from scipy import stats


def random_batch(k, units, n, seed):
    """Random projected errors u, derivatives dphi and inputs h of k records."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(k, units)), rng.uniform(0.1, 1, size=(k, units)), rng.normal(size=(k, n))


# %% [markdown]
# ## 1. Two places for noise (3 points, 22 minutes)
#
# $$dW = \frac1m \sum_{i=1}^k \big((u_i + g_i) \odot \varphi'(z_i)\big) \, \tilde h_i^\top + G$$
#
# Noise can enter this update in two places:
#
# - **Noise on the errors**: each record has its own $g_i$, and $G = 0$. The published mechanism uses this noise,
#   because the optical measurement of $B e_i$ adds it ([ohana2021:eq10], [ohana2021:eq12]).
# - **Noise on the update**: $g = 0$, and every entry of $G$ is independent. Lee & Kifer's Algorithm 1 uses this noise
#   ([lee2020:A10-A11]).
#
# The number m is given. It can differ from k, and k can be 0.


# %% update solution=true
def update(u, dphi, h, m, g, G):
    """The update dW (units, N), with g (k, units) and G (units, N); its last column is the bias."""
    ### BEGIN SOLUTION
    inputs = np.hstack([h, np.ones((len(h), 1))])
    return ((u + g) * dphi).T @ inputs / m + G
    ### END SOLUTION


# %% update_value points=1
# 1 point: dW without noise, for any m and k
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").update_value(update)
### END HIDDEN TESTS
u, dphi, h = random_batch(3, 4, 6, seed=0)
assert np.shape(update(u, dphi, h, 3, 0 * u, np.zeros((4, 7)))) == (4, 7), "one column for each input, one for the bias"

# %% update_noise points=1
# 1 point: the effects of g and G on dW
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").update_noise(update)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "update_value", "update_noise")

# %% [markdown]
# **Question.** A batch has 12 records. The layer has 16 units, and its weights have 197 columns. The noise is on the
# errors only, and now we multiply this noise by 500. Errors, derivatives and inputs are in general position, as random
# values are. What happens to the row space of `dW`?
#
# - `"a"`: It gets 16 dimensions, because enough random noise fills every row of the matrix.
# - `"b"`: It keeps 12 dimensions, but it becomes another space, because larger noise changes the rows more.
# - `"c"`: It stays the same space of 12 dimensions. Each row of dW is a combination of the 12 inputs, and the noise
#   only changes the coefficients.
#
# Return the letter and your reason, which must have at least eight different words. The letter is graded. Your teacher
# reads the reason.


# %% larger_noise solution=true
def larger_noise():
    """Two things: the letter and the reason."""
    ### BEGIN SOLUTION
    return "c", "For every g, each row of dW is a combination of the same twelve inputs."
    ### END SOLUTION


# %% larger_noise_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").larger_noise_answer(larger_noise)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "larger_noise_answer")

# %% [markdown]
# ## 2. Who was in the batch? (7 points, 38 minutes)
#
# Everybody who sees the published update can compute its row space, which we call the **span**. How far is a candidate
# h from the span? Let $\Pi$ be the projection onto the span. The **residual** of the candidate is the relative distance
#
# $$\rho(h) = \frac{\|\tilde h - \Pi \tilde h\|}{\|\tilde h\|}, \qquad \tilde h = (h, 1).$$
#
# The residual is between 0 and 1. In the experiment below, 12 real images of 14 x 14 pixels are in the batch, and 48
# are not. The layer has 16 units. The noise is on the errors, with standard deviation $\sigma$. The largest $\sigma$ in
# the paper's experiments is 0.2, and the projected errors have norm 1.
#
# **Predict** three residuals. Every guess between 0 and 1 gets the point.


# %% guess solution=true
def guess():
    """The largest residual in the batch at sigma 100, and the medians of the other images at sigma 0.2 and at 100."""
    ### BEGIN SOLUTION
    return [0.6, 0.8, 0.9]
    ### END SOLUTION


# %% guess_made points=1
# 1 point: three numbers between 0 and 1
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").guess_made(guess)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "guess_made")

# %% [markdown]
# Write `span`, an orthonormal basis of the row space of `dW`. Each vector of the basis is a row, so the shape is
# `(r, N)` for a span of r dimensions.
#
# - Leave out the directions that come from rounding. Their singular values are at most `tol` *times the largest
#   singular value*.
# - An update of zeros has no direction, so r = 0.
# - If `rank` is given, keep at most this number of directions, those with the largest singular values. `rank` can be 0.
#   Then the basis has no direction, so r = 0.


# %% span solution=true
def span(dW, rank=None, tol=1e-5):
    """An orthonormal basis (r, N) of the row space of dW (units, N), one vector in each row."""
    ### BEGIN SOLUTION
    _, values, Vt = np.linalg.svd(dW, full_matrices=False)
    return Vt[values > tol * values[0]][:rank]
    ### END SOLUTION


# %% span_rows points=1
# 1 point: orthonormal rows, and the rows of dW are combinations of them
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").span_rows(span)
### END HIDDEN TESTS
assert np.allclose(np.abs(span(np.array([[3.0, 4.0, 0.0]]))), [[0.6, 0.8, 0.0]]), "one row spans its own direction"

# %% span_tolerance points=1
# 1 point: the number of directions, for updates of any size and for zeros
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").span_tolerance(span)
### END HIDDEN TESTS

# %% span_leading points=1
# 1 point: the kept directions if rank is given
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").span_leading(span)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "span_rows", "span_tolerance", "span_leading")

# %% [markdown]
# Now write the membership test, which computes the residual $\rho$ of each candidate.


# %% residuals solution=true
def residuals(h, basis):
    """rho of each candidate, one number for each row of h (k, n); basis (r, N) has orthonormal rows, r can be 0."""
    ### BEGIN SOLUTION
    inputs = np.hstack([h, np.ones((len(h), 1))])
    rest = inputs - (inputs @ basis.T) @ basis
    return np.linalg.norm(rest, axis=1) / np.linalg.norm(inputs, axis=1)
    ### END SOLUTION


# %% residuals_members points=1
# 1 point: a residual of 0, up to rounding, for records of the batch, and a larger residual for other records
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").residuals_members(residuals)
### END HIDDEN TESTS
basis = np.array([[0.6, 0.8, 0.0], [0.0, 0.0, 1.0]])
assert np.allclose(residuals(np.array([[3.0, 4.0], [-6.0, -8.0]]), basis), 0, atol=1e-6), "(3, 4, 1) is in this span"

# %% residuals_others points=1
# 1 point: the residuals of other records
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").residuals_others(residuals)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "residuals_members", "residuals_others")

# %% [markdown]
# How large is the residual of a record with a random direction? **Use reasoning, without a simulation**: suppose that
# all directions of $\tilde h$ in $\mathbb R^N$ are equally likely, and the span has r dimensions. Compute the mean of
# $\rho^2$, and return its square root.


# %% typical_residual solution=true
def typical_residual(r, N):
    """The square root of the mean of rho^2 over random directions in N dimensions, for a span of r <= N dimensions."""
    ### BEGIN SOLUTION
    return np.sqrt(1 - r / N)
    ### END SOLUTION


# %% typical_value points=1
# 1 point: the value of the typical residual
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").typical_value(typical_residual)
### END HIDDEN TESTS
assert np.isclose(typical_residual(0, 50), 1), "without a span, every residual is 1"

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "typical_value")

# %% [markdown]
# Now run the experiment, and compare the residuals with your guess. Which residuals surprise you more: those of the
# images in the batch, or those of the other images? Why are real images so much nearer to the span than random
# directions?

# %%
import matplotlib.pyplot as plt

from nfa import data

pictures = data.load("fashion-mnist-small").x_train[:60].reshape(60, 14, 2, 14, 2)
pixels = pictures.mean(axis=(2, 4)).reshape(60, 196) / (255 * 14)  # each image has norm 1 at most
rng = np.random.default_rng(1)
u = rng.normal(size=(12, 16))
u /= np.linalg.norm(u, axis=1, keepdims=True)
found = {}
for sigma in (0.2, 100.0):
    dW = update(u, np.ones((12, 16)), pixels[:12], 12, sigma * rng.normal(size=(12, 16)), np.zeros((16, 197)))
    found[sigma] = np.array(residuals(pixels, span(dW)))
    plt.semilogy(np.maximum(found[sigma], 1e-17), ".", label=f"sigma = {sigma:g}")
plt.axhline(typical_residual(12, 197), color="gray", ls=":", label="random directions")
plt.axvline(11.5, color="k", lw=0.8)
plt.xlabel("image; the first 12 were in the batch")
plt.ylabel("residual")
plt.legend()
plt.show()
measured = found[100.0][:12].max(), np.median(found[0.2][12:]), np.median(found[100.0][12:])
for name, mine, value in zip(("batch, sigma 100", "others, 0.2", "others, 100"), guess(), measured, strict=True):
    print(f"{name}: my guess {mine:.3g}, measured {value:.3g}")

# %% [markdown]
# With random noise on the errors, the whole batch lies in the span if the layer has at least k units. If there are also
# more than k columns, hardly any other record lies in the span. In the paper, the batches have 256 records, and the
# layers have 784, 512 and 512 columns.
#
# ## 3. What did a record look like? (2 points, 10 minutes)
#
# The membership test needs candidates. For a batch of **one** record, an attacker needs no candidates. Return this
# record from its published update, exactly up to rounding. Its error and the noise on the error are unknown. Some units
# can be dead, which means $\varphi' = 0$. At least one unit is alive. The entries of a column of dW can sum to 0, for
# example if the errors come from a softmax.


# %% recover_one solution=true
def recover_one(dW):
    """The inputs h (n,) of the only record whose update is dW (units, N)."""
    ### BEGIN SOLUTION
    row = dW[np.argmax(np.abs(dW[:, -1]))]
    return row[:-1] / row[-1]
    ### END SOLUTION


# %% recover_record points=1
# 1 point: the record if all units are alive
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").recover_record(recover_one)
### END HIDDEN TESTS

# %% recover_dead points=1
# 1 point: the record if some units are dead, and if the entries of a column of dW sum to 0
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").recover_dead(recover_one)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "recover_record", "recover_dead")

# %%
# Try your function.
assert np.allclose(recover_one(np.array([[2.0, -1.0, 4.0]])), [0.5, -0.25])

# %% [markdown]
# ## 4. From an attack to epsilon (6 points, 34 minutes)
#
# An attack raises an **alarm** if it says "this record was in the batch". Let $P_1$ be the probability of an alarm if
# the record is in the batch. Let $P_0$ be the probability of an alarm if another record is in its place. These two
# batches are neighbours under replace-one ([lee2020:adjacency]). If the mechanism is $(\epsilon, \delta)$-private, then
# $P_1 \le e^\epsilon P_0 + \delta$ by definition ([lee2020:def1]). So
#
# $$\epsilon \ge \log \frac{P_1 - \delta}{P_0}.$$
#
# We do not know the two probabilities. We only count alarms. Suppose that `alarms` of `trials` runs raised an alarm.
# Clopper and Pearson's bounds on the probability p of an alarm are defined by
#
# $$P(X \ge \text{alarms} \mid p = \text{low}) = \text{error}, \qquad P(X \le \text{alarms} \mid p = \text{high}) =
# \text{error}, \qquad X \sim \mathrm{Binomial}(\text{trials}, p).$$
#
# If no run raised an alarm, low is 0. If all runs raised an alarm, high is 1. Each bound is wrong with a probability of
# at most `error`, a number between 0 and 1/2 (both excluded). Both bounds hold only if the attack and its threshold
# were fixed before the counted runs. You can use `scipy.stats`, for example `stats.beta.ppf` or `stats.binomtest`.


# %% clopper_pearson solution=true
def clopper_pearson(alarms, trials, error):
    """The bounds low and high on the probability of an alarm; each is wrong with a probability of at most error."""
    ### BEGIN SOLUTION
    low = stats.beta.ppf(error, alarms, trials - alarms + 1) if alarms > 0 else 0.0
    high = stats.beta.ppf(1 - error, alarms + 1, trials - alarms) if alarms < trials else 1.0
    return low, high
    ### END SOLUTION


# %% interval_values points=1
# 1 point: both bounds if some runs, but not all, raised an alarm
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").interval_values(clopper_pearson)
### END HIDDEN TESTS
low, high = clopper_pearson(3, 10, 0.025)
assert 0 < low < 0.3 < high < 1

# %% interval_ends points=1
# 1 point: both bounds if no run or every run raised an alarm
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").interval_ends(clopper_pearson)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "interval_values", "interval_ends")

# %% [markdown]
# **Question.** The noise is on the errors, with $\sigma = 100$. For one step of the paper's network and the most
# favourable inputs, the published formula claims $\epsilon = 0.2565$ at $\delta = 10^{-5}$ ([ohana2021:prop3-cols]).
# Somebody attacks 1,000 updates with the record and 1,000 updates without it, and is never wrong. Which lower bound on
# $\epsilon$ do these counts give, with a confidence of 95 %?
#
# - `"a"`: The bound is infinite, because the attack made no mistake.
# - `"b"`: The bound is between 5 and 6, because after 1,000 runs without a mistake the probability of a mistake can
#   still be nearly 0.4 %.
# - `"c"`: The bound is 0.2565, because no experiment can show a larger epsilon than a published formula.


# %% never_wrong solution=true
def never_wrong():
    """Two things: the letter and the reason, in at least eight different words."""
    ### BEGIN SOLUTION
    return "b", "No mistake in a thousand runs only bounds the probability of one, so the logarithm stays finite."
    ### END SOLUTION


# %% never_wrong_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").never_wrong_answer(never_wrong)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "never_wrong_answer")

# %% [markdown]
# Write the bound on epsilon. An alarm is **false** if the record was not in the batch, and **true** if it was. Use the
# upper bound on the probability of a false alarm for $P_0$. Use the lower bound on the probability of a true alarm for
# $P_1$. Return 0 if the result is negative or has no logarithm.
#
# Your bound can be wrong with a probability of 1 - confidence **in all**. Give half of this probability to each of the
# two bounds.


# %% epsilon_bound solution=true
def epsilon_bound(false_alarms, true_alarms, trials, delta, confidence):
    """A lower bound on epsilon, from trials updates without the record and trials updates with the record."""
    ### BEGIN SOLUTION
    error = (1 - confidence) / 2
    high = clopper_pearson(false_alarms, trials, error)[1]
    low = clopper_pearson(true_alarms, trials, error)[0]
    return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0
    ### END SOLUTION


# %% bound_value points=1
# 1 point: the lower bound on epsilon, also if it is 0
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").bound_value(epsilon_bound)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "bound_value")

# %%
print(f"claimed 0.2565, at least {epsilon_bound(0, 1000, 1000, 1e-5, 0.95):.3f} with 95 % confidence")

# %% [markdown]
# Now run the attack, and count its alarms. Each trial has these steps:
#
# 1. Draw g with entries $N(0, \sigma^2)$ and G with entries $N(0, s^2)$, **anew in every trial**. All entries are
#    independent, so each record has its own $g_i$. Both $\sigma$ and s can be 0.
# 2. Compute the update of the batch with m = k.
# 3. Take at most the k leading directions of its span, because the batch has k records. With noise on the update, all
#    other directions are noise.
# 4. Raise an alarm if the residual of the target is at most the threshold t.


# %% hits solution=true
def hits(h, target, u, dphi, sigma, s, trials, t, rng):
    """The number of trials with an alarm for target (n,), with the batch h (k, n); rng is a NumPy Generator."""
    ### BEGIN SOLUTION
    k, units, alarms = len(h), u.shape[1], 0
    for _ in range(trials):
        g = rng.normal(0, sigma, size=(k, units))
        G = rng.normal(0, s, size=(units, h.shape[1] + 1))
        basis = span(update(u, dphi, h, k, g, G), rank=k)
        alarms += residuals(target[None], basis)[0] <= t
    return alarms
    ### END SOLUTION


# %% hits_game points=2
# 2 points: the number of alarms for both places of the noise, with the target in the batch and without it
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").hits_game(hits)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "hits_game")

# %%
u, dphi, h = random_batch(3, 6, 9, seed=2)
for sigma, s in ((1.0, 0.0), (100.0, 0.0), (0.0, 1.0)):
    alarms = hits(h, h[2], u, dphi, sigma, s, 20, 1e-3, np.random.default_rng(3))
    print(f"sigma {sigma:g}, s {s:g}: {alarms} of 20 trials find a target that was in the batch")

# %% [markdown]
# ## 5. Noise that helps (2 points, 16 minutes)
#
# Now we use noise on the update, with standard deviation s. Suppose that $\|u_i \odot \varphi'(z_i)\| \le \tau$ and
# $\|\tilde h_i\| \le c$ for every possible record. One record of the batch is **replaced** by another record. How far
# can the update without noise move, in the Frobenius norm? Return the smallest bound. This bound is the sensitivity
# $\Delta$.


# %% sensitivity solution=true
def sensitivity(tau, c, m):
    """The largest distance between two updates, both divided by m, whose batches differ in one record."""
    ### BEGIN SOLUTION
    return 2 * tau * c / m
    ### END SOLUTION


# %% sensitivity_value points=1
# 1 point: the value of the sensitivity
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").sensitivity_value(sensitivity)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "sensitivity_value")

# %% [markdown]
# With independent noise $N(0, s^2)$ on every entry, the Rényi divergence between neighbours is at most
# $\alpha \Delta^2 / (2 s^2)$, for every real order $\alpha > 1$ ([ohana2021:rem2.1]). So one update is
# $(\epsilon, \delta)$-private ([ohana2021:thm2]) with
#
# $$\epsilon = \min_{\alpha > 1} \Big[\frac{\alpha \Delta^2}{2 s^2} + \frac{\log(1/\delta)}{\alpha - 1}\Big]
# = v + 2 \sqrt{v \log(1/\delta)}, \qquad v = \frac{\Delta^2}{2 s^2}.$$
#
# The function `noise_needed` solves this equation for s.

# %% noise_size


def noise_needed(epsilon, delta, Delta):
    """The standard deviation s for which one update has this epsilon; Delta is the sensitivity."""
    root = math.sqrt(math.log(1 / delta) + epsilon) - math.sqrt(math.log(1 / delta))  # the square root of v
    return Delta / (math.sqrt(2) * root)


# %% [markdown]
# In the experiment below, five records have entries 1 and -1, which is the best case for Proposition 3. The errors have
# norm 1. In one of the two batches, the target takes the place of the last record. The first line compares the claim of
# the published formula with your bound, for noise on the errors. This claim is for the small layer of the experiment.
# So it differs from 0.2565, which is the claim for the paper's network in part 4. The figure shows noise on the update.
# To the right of the vertical line, the noise is enough for $\epsilon = 8$.

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
    """The numbers of false and of true alarms."""
    return [hits(batch, target, u, np.ones((k, units)), sigma, s, trials, t, rng) for batch in (without, with_target)]


best = Clips(gamma_min=1, gamma_max=1, tau_h_min=1, tau_h_max=1, tau_B=1)
claimed, _ = claimed_pdfa_epsilon(delta=1e-5, sizes=(n + 1, units), T=1, m=k, sigma=100.0, clips=best)
false_alarms, true_alarms = rates(100.0, 0.0, 30, 1e-3)
print(f"sigma = 100: claimed {claimed:.2f}; {false_alarms} false and {true_alarms} true alarms of 30", end=" ")
print(f"show at least {epsilon_bound(false_alarms, true_alarms, 30, 1e-5, 0.95):.2f} with 95 % confidence")

noises = np.geomspace(1e-3, 3, 6)
shares = np.array([rates(0.0, s, 12, 0.6) for s in noises]) / 12
plt.semilogx(noises, shares, ".-", label=["false alarms", "true alarms"])
plt.axvline(noise_needed(8, 1e-5, sensitivity(1, np.sqrt(n + 1), k)), color="k", lw=0.8, label="epsilon 8, one update")
plt.xlabel("noise on every entry of the update, s")
plt.ylabel("share of 12 trials, t = 0.6")
plt.legend()
plt.show()

# %% [markdown]
# **Question.** The noise is on the errors again. Two neighbouring batches are given. Every **single** column of `dW`
# has a Rényi divergence of order 2 of at most D between these batches. There are N columns. Which sentence about the
# whole update is true?
#
# - `"a"`: Its divergence can be larger than N D, because all columns share the same noise g.
# - `"b"`: Its divergence is at most N D, because the divergences of several releases add up.
# - `"c"`: Its divergence is at most D, because all columns share the same noise g, which counts only once.


# %% columns solution=true
def columns():
    """Two things: the letter and the reason, in at least eight different words."""
    ### BEGIN SOLUTION
    return "a", "Divergences add up only for independent noise, and the correlation of the columns shows the inputs."
    ### END SOLUTION


# %% columns_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps8_span").columns_answer(columns)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps8_span", globals(), "columns_answer")

# %% [markdown]
# Read the three sentences below Proposition 3 again. The paper itself says that all columns share one realisation of
# the noise. As a precaution, it multiplies the divergence of one column by the number of columns. But divergences add
# up only for releases with independent noise. If there are more columns than records and replacing a record changes the
# span, the divergence of the update is infinite. So the statement is `false` for records ([ohana2021:prop3-cols]). The
# statement that follows from it is also `false` ([ohana2021:prop3-dp]).
#
# For **labels**, the statement holds, but the bound is loose. It needs public inputs, and at least as many columns as
# records. An attacker who knows the inputs can compute $(u_i + g_i) \odot \varphi'(z_i)$ of each record. There the
# noise hides the error. So what does $g$ protect, and what does it not protect? Compare your answer with tutorial 08.
