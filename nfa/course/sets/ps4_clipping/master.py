# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Problem set 4: clipping and per-example norms
#
# **Have these pages open**: Lee & Kifer (2020), Equations 2 and 3 of Section 3.2, and Section 4. You need the clipping
# function and footnote 1 of Section 4, Algorithm 1, and the three displayed formulas of Section 4.2. Tutorial 05
# explains the background. About 115 minutes, 20 points.
#
# A private training step adds noise that hides the influence of each single record. The amount of noise depends on how
# far one record can move the result of the step, so we clip the gradient of every record. You write this step with
# NumPy only. You show why the order of its operations matters and how clipping changes the result. At the end, you
# compare your bound for DFA with the formula of the paper.
#
# Replace every `raise NotImplementedError`. Loops or array operations, float64 or float32, lists or arrays, and helper
# functions in the same cell are all fine. After each exercise, `check_it` runs the checks of grading with other values.
# A cell with points shows a few of its checks, and the others are hidden. Do not change these cells, because grading
# restores them. A mistake in an earlier exercise does not cost points again in a later exercise.
#
# `nfa eq lee2020:clip` explains a tag such as [lee2020:clip]. In grading, each call of one of your functions has three
# seconds of processor time.
#
# Notation, as in the papers and in nfa: we count layers from 1, and slot 0 of a list is `None`, except `h[0]`. Rows are
# records.
#
# | | shape | |
# |---|---|---|
# | `h[l]` | `(k, n_l)` | the output of layer l = 0..L for k records; `h[0]` is x, and **layer l reads `h[l-1]`** |
# | `dz[l]` | `(k, n_l)` | the signal for layer l = 1..L (the papers' $\delta z^l$), from backpropagation or DFA |
# | `dW[l]`, `db[l]` | `(n_l, n_{l-1})`, `(n_l,)` | a direction for the weights and biases of layer l = 1..L |
# | `C` | number > 0 | the norm that gradients are clipped to |
# | `m` | number > 0 | the public number that we divide sums by, for every number k of records; m can be a fraction |
# | `z` (a number) | number > 0 | the noise multiplier: standard deviation of the noise / sensitivity |
#
# All norms are l2 norms. *The gradient of a record* is its gradient by the weights and biases of all layers, as one
# long vector, unless a single layer is named.

# %% setting
import numpy as np


def small_net(sizes, seed):
    """Random W and b, and feedback matrices B of spectral norm 0.9, for a network of these sizes."""
    rng = np.random.default_rng(seed)
    L = len(sizes) - 1
    W = [None] + [rng.normal(size=(sizes[l], sizes[l - 1])) / np.sqrt(sizes[l - 1]) for l in range(1, L + 1)]
    b = [None] + [0.1 * rng.normal(size=sizes[l]) for l in range(1, L + 1)]
    B = [None] + [rng.normal(size=(sizes[l], sizes[L])) for l in range(1, L)] + [None]
    B = [None if a is None else 0.9 * a / np.linalg.norm(a, 2) for a in B]
    return W, b, B


def small_batch(k, inputs, classes, seed):
    """k random records x with entries from 0 to 1, and one-hot targets y that depend on them."""
    x = np.random.default_rng(seed).uniform(size=(k, inputs))
    return x, np.eye(classes)[x[:, :classes].argmax(axis=1)]


def signals(W, b, x, y, B=None):
    """The lists dz and h of sigmoid layers with a softmax on top, by backpropagation, or by DFA if B is given."""
    L = len(W) - 1
    h, dz = [x], [None] * (L + 1)
    for l in range(1, L + 1):
        z = h[l - 1] @ W[l].T + b[l]
        h.append(1 / (1 + np.exp(-z)))
    powers = np.exp(z - z.max(axis=1, keepdims=True))
    h[L] = powers / powers.sum(axis=1, keepdims=True)
    dz[L] = h[L] - y
    for l in range(L - 1, 0, -1):
        dz[l] = (dz[l + 1] @ W[l + 1] if B is None else dz[L] @ B[l].T) * h[l] * (1 - h[l])
    return dz, h


# %% [markdown]
# ## 1. Norms without gradients (3 points, 20 minutes)
#
# A dense layer computes $z^l = W^l h^{l-1} + b^l$, so the gradient of the loss of record i is [lee2020:eq3]
#
# $$\partial \mathcal L_i / \partial W^l = \delta z_i^l \, (h_i^{l-1})^\top, \qquad
# \partial \mathcal L_i / \partial b^l = \delta z_i^l$$
#
# The function `gradients` computes this gradient for one layer with `dz = dz[l]` and `below = h[l-1]`.


# %% gradients
def gradients(dz, below):
    """The gradient of each record in one layer: by the weights, (k, n_l, n_{l-1}), and by the biases, (k, n_l)."""
    return dz[:, :, None] * below[:, None, :], dz


# %%
# Try your function.
W, b, B = small_net([4, 5, 3], seed=0)
x, y = small_batch(6, 4, 3, seed=1)
dz, h = signals(W, b, x, y)
assert [np.shape(g) for g in gradients(dz[1], h[0])] == [(6, 5, 4), (6, 5)]

# %% [markdown]
# The fully connected network of the paper has 136,074 parameters. So the gradients of 256 records are 35 million
# numbers, but we need only their 256 norms. The first displayed formula of Section 4.2 shows how to avoid the
# gradients. Compute the norms for all layers **without storing the gradient of any record**, not even one at a time. A
# check measures the memory. You may store a few numbers for each entry of `dz` and `h`, and a k x k matrix. But do not
# store one number for each weight of a layer. The checks of part 1 use batches with at least one record, so for k = 0
# any shape of `norms` and `joint_norms` is right.


# %% norms solution=true
def norms(dz, h):
    """An array (k, L). Row i, column l - 1 is the norm of the gradient of record i by W[l] and b[l] together."""
    ### BEGIN SOLUTION
    L = len(dz) - 1
    squares = [(dz[l] ** 2).sum(axis=1) * ((h[l - 1] ** 2).sum(axis=1) + 1) for l in range(1, L + 1)]
    return np.sqrt(np.stack(squares, axis=1))
    ### END SOLUTION


# %% norms_values points=1
# 1 point: the norms, also if you store gradients
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").norms_values(norms)
### END HIDDEN TESTS
W, b, B = small_net([4, 5, 3], seed=0)
dz, h = signals(W, b, *small_batch(6, 4, 3, seed=1))
assert np.shape(norms(dz, h)) == (6, 2), "one row for each record, one column for each layer"

# %% norms_memory points=1
# 1 point: positive norms, and no stored gradients
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").norms_memory(norms)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps4_clipping", globals(), "norms_values", "norms_memory")


# %% joint_norms solution=true
def joint_norms(dz, h):
    """An array (k,): the norm of the gradient of each record, with all layers as one long vector."""
    ### BEGIN SOLUTION
    return np.sqrt((norms(dz, h) ** 2).sum(axis=1))
    ### END SOLUTION


# %% joint_values points=1
# 1 point: the norm of the long vector
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").joint_values(joint_norms)
### END HIDDEN TESTS

# %%
# Try your function.
assert np.shape(joint_norms(dz, h)) == (6,), "one norm for each record"

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps4_clipping", globals(), "joint_values")

# %% [markdown]
# ## 2. Clip, add, divide (5 points, 20 minutes)
#
# If the norm of a vector is larger than C, clipping scales the vector down to the norm C. Clipping keeps the direction,
# and does not change vectors with a norm of at most C [lee2020:clip]:
#
# $$\mathrm{clip}_C(v) = \min(C, \|v\|) \, \frac{v}{\|v\|}$$
#
# So clipping multiplies the gradient by a factor. Return this factor for each of several norms. For a gradient of zero,
# the printed formula is 0/0. Such gradients occur, for example if the prediction is exact. There is nothing to clip, so
# the factor is 1. A zero does not change the factors of the other norms.


# %% clip_factors solution=true
def clip_factors(gradient_norms, C):
    """For each norm in an array (k,), the factor by which clipping to C multiplies the gradient."""
    ### BEGIN SOLUTION
    return C / np.maximum(gradient_norms, C)
    ### END SOLUTION


# %% factors_values points=1
# 1 point: the factors for positive norms
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").factors_values(clip_factors)
### END HIDDEN TESTS
assert np.isclose(clip_factors(np.array([8.0]), 2.0)[0], 0.25)

# %% factors_zero points=1
# 1 point: the factor for a norm of zero
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").factors_zero(clip_factors)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps4_clipping", globals(), "factors_values", "factors_zero")

# %% [markdown]
# Now clip the gradient of each record in the batch, with all layers as one long vector. Then add the clipped gradients,
# and divide by m:
#
# $$(dW, db) = \frac1m \sum_{i=1}^k \mathrm{clip}_C(g_i), \qquad
# g_i = (\partial \mathcal L_i / \partial W^1, \partial \mathcal L_i / \partial b^1, \dots,
# \partial \mathcal L_i / \partial W^L, \partial \mathcal L_i / \partial b^L)$$
#
# The number k of records in the batch is private, because it shows whether one more record is there. So use k only in
# the sum. The batch can also be empty, with k = 0. Then `dW[l]` and `db[l]` contain zeros, and they have the same
# shapes as for other batches.


# %% clipped_mean solution=true
def clipped_mean(dz, h, C, m):
    """The lists dW and db: the sum of the clipped gradients of the records, divided by m."""
    ### BEGIN SOLUTION
    L = len(dz) - 1
    share = clip_factors(joint_norms(dz, h), C)[:, None] / m
    dW = [None] + [(share * dz[l]).T @ h[l - 1] for l in range(1, L + 1)]
    db = [None] + [(share * dz[l]).sum(axis=0) for l in range(1, L + 1)]
    return dW, db
    ### END SOLUTION


# %% clipped_values points=2
# 2 points: the direction of dW and db, with any norm, if some records are clipped and some are not
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").clipped_values(clipped_mean)
### END HIDDEN TESTS

# %%
# Try your function.
W, b, B = small_net([4, 5, 3], seed=0)
dz, h = signals(W, b, *small_batch(6, 4, 3, seed=1))
dW, db = clipped_mean(dz, h, C=0.5, m=6)
assert [np.shape(a) for a in dW[1:]] == [(5, 4), (3, 5)], "dW[l] has the shape of W[l]"
assert [np.shape(a) for a in db[1:]] == [(5,), (3,)], "db[l] has the shape of b[l]"

# %% clipped_m points=1
# 1 point: the norm of dW and db for a large C, for any m, an empty batch, and records with a zero gradient
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").clipped_m(clipped_mean)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps4_clipping", globals(), "clipped_values", "clipped_m")

# %% [markdown]
# ## 3. Why not clip the mean? (2 points, 15 minutes)
#
# It is simpler to average first and to clip the mean, as in training without privacy. Then the norm of the result is
# also at most C. How far can one record move this result? Here are both orders of operations, for an array `g` of
# gradients, one in each row:

# %% two_orders
from nfa.clip import clip_l2


def clip_then_mean(g, C, m):
    """Clip each row to C, add the rows, and divide by m."""
    return clip_l2(np.asarray(g, dtype=float), C).sum(axis=0) / m


def mean_then_clip(g, C, m):
    """Add the rows, divide by m, and clip this one vector to C."""
    return clip_l2(np.asarray(g, dtype=float).sum(axis=0, keepdims=True) / m, C)[0]


# %% [markdown]
# Two batches are **neighbours** here if one of them has one record more, and all other records are the same. This is
# the adjacency add-remove, as in footnote 1 of the paper. For neighbours, the distance of the two results of
# `clip_then_mean` is at most C/m, and the noise is chosen for this distance.
#
# Construct neighbours for which the distance of the two results of `mean_then_clip` is larger than C/m. Make this
# distance **as large as possible**: at least 99 % of the largest distance that any neighbours have. You choose the
# gradients and their number. The additional record can be in any row. Here m is a whole number of at least 2, and it
# does not have to be the number of records.


# %% neighbours solution=true
def neighbours(C, m):
    """Two batches of gradients, arrays (k, n) and (k + 1, n); the second one has one row more."""
    ### BEGIN SOLUTION
    first = np.array([[m * C, 0.0]])
    return first, np.vstack([first, [[-2 * m * C, 0.0]]])
    ### END SOLUTION


# %% neighbours_break points=1
# 1 point: neighbours for which mean_then_clip moves by more than C/m
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").neighbours_break(neighbours)
### END HIDDEN TESTS
first, second = neighbours(1.0, 10)
assert abs(len(second) - len(first)) == 1, "one record more in one batch"

# %% neighbours_worst points=1
# 1 point: neighbours with the largest possible distance
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").neighbours_worst(neighbours)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps4_clipping", globals(), "neighbours_break", "neighbours_worst")

# %% [markdown]
# Two questions to think about, without points and without a cell: if you clip the mean, by which factor must the noise
# be larger than with `clip_then_mean`? Does a larger batch help?
#
# ## 4. Sensitivity and noise (5 points, 25 minutes)
#
# You can also clip each layer separately. Then the gradient of record i by `W[l]` and `b[l]` together is clipped to a
# norm `C[l]`, for each l = 1..L. The clipped gradients are added and divided by m. How far can one record move the
# result, with all layers as one long vector? Return the smallest bound, for both kinds of neighbours:
#
# - `"add-remove"`: one of the batches has one record more
# - `"replace-one"`, used in the paper [lee2020:adjacency]: the batches have the same number of records, and one record
#   differs


# %% sensitivity solution=true
def sensitivity(C, m, adjacency):
    """The l2 sensitivity of the result if each layer l = 1..L is clipped to C[l]; C[0] is None."""
    ### BEGIN SOLUTION
    terms = {"add-remove": 1, "replace-one": 2}[adjacency]
    return terms * np.sqrt(sum(c**2 for c in C[1:])) / m
    ### END SOLUTION


# %% sensitivity_layers points=1
# 1 point: the sensitivity under add-remove, for one layer or several layers
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").sensitivity_layers(sensitivity)
### END HIDDEN TESTS
assert np.shape(sensitivity([None, 1.0, 2.0], 10, "add-remove")) == (), "a number"

# %% sensitivity_adjacency points=1
# 1 point: the sensitivity under replace-one, compared with your sensitivity under add-remove
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").sensitivity_adjacency(sensitivity)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps4_clipping", globals(), "sensitivity_layers", "sensitivity_adjacency")

# %% [markdown]
# The private step of DP-SGD adds Gaussian noise to every coordinate of `clipped_mean`, which clips all layers as one
# vector to one number C. The standard deviation of the noise is z times the sensitivity of `clipped_mean` under
# **add-remove**. The sensitivity is one number for all batches. In problem set 3, epsilon depended on the noise only
# through this noise multiplier z. It is not the vector $z^l$ of a layer. The argument `noise` is a pair `(N_W, N_b)` of
# lists like dW and db. In training, their entries are independent random values with mean 0 and variance 1. The noise
# is an argument so that the checks can test it. For example, a check sets all its entries to 0.


# %% private_step solution=true
def private_step(dz, h, C, m, z, noise):
    """The lists dW and db: `clipped_mean` plus noise with the standard deviation z times the add-remove sensitivity."""
    ### BEGIN SOLUTION
    std = z * sensitivity([None, C], m, "add-remove")
    N_W, N_b = noise
    dW, db = clipped_mean(dz, h, C, m)
    dW = [None] + [d + std * n for d, n in zip(dW[1:], N_W[1:], strict=True)]
    return dW, [None] + [d + std * n for d, n in zip(db[1:], N_b[1:], strict=True)]
    ### END SOLUTION


# %% step_noise points=1
# 1 point: the noise alone, for batches with records and for an empty batch
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").step_noise(private_step)
### END HIDDEN TESTS

# %% step_signal points=1
# 1 point: the result if all values of the noise are 0
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").step_signal(private_step)
### END HIDDEN TESTS

# %%
# Try your function.
rng = np.random.default_rng(5)
noise = [[None, rng.normal(size=(5, 4)), rng.normal(size=(3, 5))], [None, rng.normal(size=5), rng.normal(size=3)]]
W, b, B = small_net([4, 5, 3], seed=0)
dz, h = signals(W, b, *small_batch(6, 4, 3, seed=1))
dW, db = private_step(dz, h, 0.5, 8, 1.1, noise)
assert np.shape(dW[2]) == (3, 5)
assert np.shape(db[2]) == (3,)

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps4_clipping", globals(), "step_noise", "step_signal")

# %% [markdown]
# **Question.** A programmer divides the sum of the clipped gradients by the number k of records in the batch, in place
# of the public m. On average, k equals m. The noise stays as it is, with the standard deviation z C / m. Which sentence
# is true under add-remove?
#
# - `"a"`: The guarantee holds as before, because every gradient is still clipped to C and k is close to m.
# - `"b"`: The guarantee no longer follows, because an added record also changes the divisor. It can move the result by
#   more than C / m.
# - `"c"`: The guarantee becomes stronger, because a mean moves less than a sum if one record is added.
#
# Return the letter and your reason, which must have at least eight different words. The letter is graded. Your teacher
# reads the reason.


# %% divisor solution=true
def divisor():
    """Two things: the letter and the reason."""
    ### BEGIN SOLUTION
    return "b", "If k equal gradients meet one opposite gradient, their mean moves by 2 C / (k + 1), nearly 2 C / m."
    ### END SOLUTION


# %% divisor_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").divisor_answer(divisor)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps4_clipping", globals(), "divisor_answer")

# %% [markdown]
# ## 5. Clipping changes the result (2 points, 15 minutes)
#
# Section 2 of the paper says about clipping that "this bias already causes a degradation in model accuracy (even
# without noise addition)". The paper has no experiment with clips and without noise, so this claim is unproven
# [lee2020:claim-clip-bias]. But a small computation shows that clipping causes a bias. The smallest example has one
# parameter $\theta$, records $x_i$ that are numbers, and the loss $\frac12 (\theta - x_i)^2$.
#
# Without a clip, gradient steps with a small learning rate converge to the mean of the records. If the gradient
# $\theta - x_i$ of each record is clipped to C, the steps converge to the point where the clipped gradients add up to
# 0. We call this point the stationary point.
#
# **Predict** first. Ten records are at 0, and one record is at 100. With C = 1000 no gradient is clipped, so the
# stationary point is the mean, 9.09. Where is the stationary point with C = 10 and with C = 1? Every guess between 0
# and 100 gets the point.


# %% guess solution=true
def guess():
    """A list with your two guesses of the stationary point, with C = 10 and with C = 1."""
    ### BEGIN SOLUTION
    return [7.0, 3.0]
    ### END SOLUTION


# %% guess_made points=1
# 1 point: two numbers between 0 and 100
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").guess_made(guess)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps4_clipping", globals(), "guess_made")

# %% [markdown]
# The function `stationary_point` computes the stationary point for any **odd** number of records. For an odd number,
# there is exactly one stationary point. Compare your guess with the result.


# %% halving
def stationary_point(x, C):
    """The theta at which the gradients theta - x[i], each clipped to C, add up to 0."""
    low, high = min(x), max(x)
    for _ in range(60):
        middle = (low + high) / 2
        if sum(np.clip(middle - np.asarray(x), -C, C)) < 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


# %%
# Try your function.
for C, guessed in zip((10, 1), guess(), strict=True):
    print(f"C = {C}: your guess {guessed}, the stationary point {stationary_point([0] * 10 + [100], C):.4f}")

# %% [markdown]
# **Question.** The record at 100 moves to 10,000, and C = 10 stays the same. Where is the stationary point now? Decide
# before you compute this point.
#
# - `"a"`: At the same point, because the clipped gradient of this record is the same in both cases.
# - `"b"`: About 100 times as far from 0, because clipping keeps the direction of every gradient.
# - `"c"`: Nearer to 0, because clipping removes a larger part of the gradient.


# %% outlier solution=true
def outlier():
    """Two things: the letter and the reason, in at least eight different words."""
    ### BEGIN SOLUTION
    return "a", "Its clipped gradient is -C in both cases, so the ten others balance it at C / 10."
    ### END SOLUTION


# %% outlier_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").outlier_answer(outlier)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps4_clipping", globals(), "outlier_answer")

# %% [markdown]
# Plot the stationary point for many C. Which number does the stationary point approach if C becomes small? If the
# records are people, who has an advantage and who has a disadvantage?

# %%
import matplotlib.pyplot as plt

x = np.exp(np.random.default_rng(3).normal(size=15))
bounds = np.geomspace(0.02, 60, 25)
plt.semilogx(bounds, [stationary_point(x, C) for C in bounds], label="stationary point")
plt.axhline(np.mean(x), color="gray", linestyle="--", label="mean")
plt.axhline(np.median(x), color="gray", linestyle=":", label="median")
plt.title("15 records")
plt.xlabel("C")
plt.ylabel("theta")
plt.legend()
plt.show()

# %% [markdown]
# ## 6. A bound for DFA without gradients (3 points, 20 minutes)
#
# With DFA, the direction of a record is also an outer product of $\delta z^l$ and $h^{l-1}$. For $l < L$, the signal is
# $\delta z^l = (B^l e) \odot \phi'_l(z^l)$. At the top layer, the signal is the error $e$ itself (Figure 1(b)). With
# backpropagation, the signals are products with the weights W, which can grow in training. With DFA, the signals do not
# contain W. So Algorithm 1 ([lee2020:A9] to [lee2020:A12]) clips only two vectors after the forward pass: e to $\tau_e$
# and $h^{l-1}$ to $\tau_h$. Then a bound for one record is known before the training. It follows from
#
# $$\|e\| \leq \tau_e, \qquad \|h^{l-1}\| \leq \tau_{h}, \qquad \|B^l\|_2 = \beta_l, \qquad
# |\phi'_l| \leq \gamma_l$$
#
# The direction of a record contains W and b of all layers, as one long vector. Return the smallest bound of its norm
# that holds for all e, h, B and $\phi'$ within these limits. Here every layer may have its own limits:
#
# - `gamma[l]` for the hidden layers l = 1..L-1: the bound of the derivative $\phi'_l$
# - `beta[l]` for the hidden layers: the spectral norm of $B^l$, which computes the signal of layer l. The paper prints
#   $B^{l+1}$ and $\beta_{l+1}$ for this matrix and its norm, so the paper's superscripts are larger than ours by 1
# - `tau_h[l]` for l = 1..L: the bound of the norm of the vector that layer l reads
# - `tau_e`: the bound of the norm of e, one number
#
# Slot 0 of the three lists is `None`. So `len(gamma)` is L, and a network with one layer has `[None]` for gamma and
# beta.


# %% dfa_bound solution=true
def dfa_bound(gamma, beta, tau_e, tau_h):
    """The largest norm of the direction of one record, with weights and biases of all layers together."""
    ### BEGIN SOLUTION
    L = len(gamma)
    gains = [None] + [gamma[l] * beta[l] for l in range(1, L)] + [1]
    return tau_e * np.sqrt(sum(gains[l] ** 2 * (tau_h[l] ** 2 + 1) for l in range(1, L + 1)))
    ### END SOLUTION


# %% bound_top points=1
# 1 point: the bound of the top layer, if gamma and beta are 0 or if there is no hidden layer
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").bound_top(dfa_bound)
### END HIDDEN TESTS

# %%
# Try your function.
assert np.shape(dfa_bound([None, 0.25], [None, 0.9], 0.1, [None, 2.0, 3.0])) == (), "a number"

# %% bound_hidden points=1
# 1 point: the part of the hidden layers in the square of the bound, also if your top layer is wrong
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").bound_hidden(dfa_bound)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps4_clipping", globals(), "bound_top", "bound_hidden")

# %% [markdown]
# Now read the end of Section 4.2. If one record of a batch of m is replaced, the averaged direction of all layers moves
# by
#
# $$\Delta \leq \frac{2 \gamma \beta \tau_e \sqrt{(1 + \tau_h^2) L}}{m}$$
#
# The formula has one $\gamma$, one $\beta$ and one $\tau_h$ for all layers [lee2020:sens-total]. The next cell divides
# your bound for the same distance by this formula, for sigmoid units ($\gamma = 1/4$) and the paper's $\beta = 0.9$.
# The ratio does not depend on $\tau_e$, $\tau_h$ or m. As in Figure 1(b), the top layer learns from e. Algorithm 1 can
# be interpreted in other ways at l = L. The statement [lee2020:A10-A11] describes them.

# %%
# Try your function.
for L in (2, 3, 4, 5, 10):
    printed = 2 * 0.25 * 0.9 * np.sqrt(2 * L)
    ours = 2 * dfa_bound([None] + [0.25] * (L - 1), [None] + [0.9] * (L - 1), 1, [None] + [1] * L)
    print(f"{L} layers: your bound / the printed formula = {ours / printed:.3f}")

# %% [markdown]
# **Question.** Why is the ratio larger than 1?
#
# - `"a"`: The formula adds the squares of the layers. It must add their norms.
# - `"b"`: The formula does not bound the gradients by the biases.
# - `"c"`: The formula bounds the signal of the top layer by $\gamma \beta \tau_e$. But this signal is e, without a
#   matrix B and without a derivative.


# %% top_layer solution=true
def top_layer():
    """Two things: the letter and the reason, in at least eight different words."""
    ### BEGIN SOLUTION
    return "c", "With 1 in place of gamma beta for the top layer only, the formula gives my bound."
    ### END SOLUTION


# %% top_layer_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").top_layer_answer(top_layer)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps4_clipping", globals(), "top_layer_answer")

# %% [markdown]
# If the noise is too small by this factor, the guarantee is weaker than the claimed one. Tutorial 05 shows this with an
# audit.
#
# DFA has a bound even without clipping. The norm of the error of a softmax is less than $\sqrt 2$, and the norm of the
# outputs of n sigmoid units is less than $\sqrt n$. The next cell multiplies the weights of the top layer by larger and
# larger numbers, and computes the largest norm of a gradient among twenty records. **Predict**: how does this norm
# change with backpropagation, how does it change with DFA, and why?

# %%
W, b, B = small_net([6, 8, 8, 3], seed=7)
x, y = small_batch(20, 6, 3, seed=6)
scales = np.geomspace(1, 300, 15)
for name, feedback in (("backpropagation", None), ("DFA", B)):
    largest = [np.max(joint_norms(*signals([*W[:3], s * W[3]], b, x, y, feedback))) for s in scales]
    plt.loglog(scales, largest, label=name)
tau_h = [None, np.sqrt(6), np.sqrt(8), np.sqrt(8)]
bound = dfa_bound([None, 0.25, 0.25], [None, 0.9, 0.9], np.sqrt(2), tau_h)
plt.axhline(bound, color="gray", linestyle="--", label="bound of DFA without clipping")
plt.title("6-8-8-3, sigmoid, 20 records")
plt.xlabel("factor on the weights of the top layer")
plt.ylabel("largest norm of a gradient")
plt.legend()
plt.show()
