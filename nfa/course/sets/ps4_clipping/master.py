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
# **Have this page open**: Lee & Kifer (2020), Section 4: the clipping function in its first paragraph with footnote 1,
# Algorithm 1, and the three displays of Section 4.2; Equations 2 and 3 of Section 3.2. Tutorial 05 is the reading
# beside it. About 100 minutes, 20 points.
#
# A private training step adds noise that hides any single record. How much noise that takes is decided by how far one
# record can move the step, so every record's gradient is clipped. You write that step from nothing but NumPy, find out
# why the order of its operations matters, what clipping does to the answer, and which layer a formula forgot. Replace
# every `raise NotImplementedError`. Loops or array operations, float64 or float32, lists or arrays, helper functions in
# the same cell: all are fine. A cell with points shows you a few of its checks; others run when your notebook is
# graded. Do not change those cells: they are put back before grading. Earlier exercises that are wrong cost nothing
# again in later ones.
#
# `nfa eq lee2020:clip` shows what stands behind a tag such as [lee2020:clip]. When your notebook is graded, each call
# of one of your functions has three seconds of computing.
#
# Notation, as in the papers and in nfa: layers count from 1, and slot 0 of a list is `None`, but for `h[0]`. Rows are
# records.
#
# | | shape | |
# |---|---|---|
# | `h[l]` | `(k, n_l)` | what layer l puts out for k records, l = 0..L; `h[0]` is x, and **layer l reads `h[l-1]`** |
# | `dz[l]` | `(k, n_l)` | what layer l = 1..L learns from, the papers' $\delta z^l$: each record's loss by `z[l]` |
# | `dW[l]`, `db[l]` | `(n_l, n_{l-1})`, `(n_l,)` | a direction for the weights and biases of layer l = 1..L |
# | `C` | number > 0 | the bound that norms are clipped to |
# | `m` | number > 0 | what sums over the batch are divided by: public and fixed, whatever the number k of records |
#
# All norms are l2 norms. *A record's gradient* means its gradient by the weights and the biases of all layers, taken
# as one long vector, unless a single layer is named.

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
    """The lists dz and h of sigmoid layers with a softmax on top: by backpropagation, or by DFA where B is given."""
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
# ## 1. Norms of gradients that nobody forms (4 points)
#
# A dense layer computes $z^l = W^l h^{l-1} + b^l$, so the gradient of record i's loss is [lee2020:eq3]
#
# $$\partial \mathcal L_i / \partial W^l = \delta z_i^l \, (h_i^{l-1})^\top, \qquad
# \partial \mathcal L_i / \partial b^l = \delta z_i^l$$
#
# First form it, for a single layer with `dz = dz[l]` and `below = h[l-1]`.


# %% gradients solution=true
def gradients(dz, below):
    """Each record's gradient in one layer: by the weights, (k, n_l, n_{l-1}), and by the biases, (k, n_l)."""
    ### BEGIN SOLUTION
    return dz[:, :, None] * below[:, None, :], dz
    ### END SOLUTION


# %% gradients_values points=1
# 1 point: both gradients of every record
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").gradients_values(gradients)
### END HIDDEN TESTS
W, b, B = small_net([4, 5, 3], seed=0)
x, y = small_batch(6, 4, 3, seed=1)
dz, h = signals(W, b, x, y)
assert [np.shape(g) for g in gradients(dz[1], h[0])] == [(6, 5, 4), (6, 5)]

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps4_clipping", globals(), "gradients_values")

# %% [markdown]
# The paper's fully connected network has 136,074 parameters: the gradients of 256 records fill 35 million numbers, only
# for their 256 norms to be taken. Section 4.2 has, in its first display, what spares that. Now compute the norms of all
# layers **without holding any record's gradient**, not even one at a time. A check measures the memory: a few numbers
# for each entry of `dz` and `h` are fine, one for each weight of a layer is too many.


# %% norms solution=true
def norms(dz, h):
    """An array (k, L): in row i and column l - 1 the norm of record i's gradient by W[l] and b[l] together."""
    ### BEGIN SOLUTION
    L = len(dz) - 1
    squares = [(dz[l] ** 2).sum(axis=1) * ((h[l - 1] ** 2).sum(axis=1) + 1) for l in range(1, L + 1)]
    return np.sqrt(np.stack(squares, axis=1))
    ### END SOLUTION


# %% norms_values points=1
# 1 point: the numbers, however you come to them
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").norms_values(norms)
### END HIDDEN TESTS
W, b, B = small_net([4, 5, 3], seed=0)
dz, h = signals(W, b, *small_batch(6, 4, 3, seed=1))
assert np.shape(norms(dz, h)) == (6, 2), "a row for each record, a column for each layer"

# %% norms_memory points=1
# 1 point: positive numbers, and no record's gradient is ever held
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").norms_memory(norms)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps4_clipping", globals(), "norms_values", "norms_memory")


# %% joint_norms solution=true
def joint_norms(dz, h):
    """An array (k,): the norm of each record's gradient, all layers as one long vector."""
    ### BEGIN SOLUTION
    return np.sqrt((norms(dz, h) ** 2).sum(axis=1))
    ### END SOLUTION


# %% joint_values points=1
# 1 point: the norm of everything together
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").joint_values(joint_norms)
### END HIDDEN TESTS

# %%
# to try it
assert np.shape(joint_norms(dz, h)) == (6,), "one norm a record"

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps4_clipping", globals(), "joint_values")

# %% [markdown]
# ## 2. Clip, add up, divide (5 points)
#
# Clipping shortens a vector until its norm is at most C, keeps its direction, and leaves alone what is short enough
# [lee2020:clip]:
#
# $$\mathrm{clip}_C(v) = \min(C, \|v\|) \, \frac{v}{\|v\|}$$
#
# So it multiplies the gradient by a number. Return that number for each of several norms. As printed the formula is
# 0/0 for a gradient of zero, which does occur (a black image, ReLU units that are all off). Nothing is to be clipped
# there: the number is 1.


# %% clip_weights solution=true
def clip_weights(norms, C):
    """For each norm in an array (k,), the number that clipping to C multiplies the gradient by."""
    ### BEGIN SOLUTION
    return C / np.maximum(norms, C)
    ### END SOLUTION


# %% weights_values points=1
# 1 point: positive norms
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").weights_values(clip_weights)
### END HIDDEN TESTS
assert np.isclose(clip_weights(np.array([8.0]), 2.0)[0], 0.25)

# %% weights_zero points=1
# 1 point: a norm of zero
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").weights_zero(clip_weights)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps4_clipping", globals(), "weights_values", "weights_zero")

# %% [markdown]
# Now the batch: clip each record's gradient, all layers as one long vector, then add up and divide by m:
#
# $$(dW, db) = \frac1m \sum_{i=1}^k \mathrm{clip}_C(g_i), \qquad
# g_i = (\partial \mathcal L_i / \partial W^1, \partial \mathcal L_i / \partial b^1, \dots,
# \partial \mathcal L_i / \partial W^L, \partial \mathcal L_i / \partial b^L)$$
#
# The number of records that happen to be in the batch is private, for it tells whether one more was there. So it
# appears nowhere but in the sum, and k may be 0.


# %% clipped_mean solution=true
def clipped_mean(dz, h, C, m):
    """The lists dW and db: the clipped gradients of the records, added up and divided by m."""
    ### BEGIN SOLUTION
    L = len(dz) - 1
    share = clip_weights(joint_norms(dz, h), C)[:, None] / m
    dW = [None] + [(share * dz[l]).T @ h[l - 1] for l in range(1, L + 1)]
    db = [None] + [(share * dz[l]).sum(axis=0) for l in range(1, L + 1)]
    return dW, db
    ### END SOLUTION


# %% clipped_values points=2
# 2 points: the direction, whatever its length, where some records are clipped and some are not
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").clipped_values(clipped_mean)
### END HIDDEN TESTS

# %%
# to try it
W, b, B = small_net([4, 5, 3], seed=0)
dz, h = signals(W, b, *small_batch(6, 4, 3, seed=1))
dW, db = clipped_mean(dz, h, C=0.5, m=6)
assert [np.shape(a) for a in dW[1:]] == [(5, 4), (3, 5)], "dW[l] has the shape of W[l]"
assert [np.shape(a) for a in db[1:]] == [(5,), (3,)], "db[l] has the shape of b[l]"

# %% clipped_m points=1
# 1 point: the length, where C is large: any m, batches of no records, records whose gradient is zero
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").clipped_m(clipped_mean)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps4_clipping", globals(), "clipped_values", "clipped_m")

# %% [markdown]
# ## 3. Why not clip once, at the end? (2 points)
#
# It would be so much simpler to average first and clip the mean, as is usual in training without privacy. Then its norm
# is at most C as well. Let us see what one record can do. Here are both ways, for gradients `g` that are the rows of an
# array:

# %% two_orders
from nfa.clip import clip_l2


def clip_then_mean(g, C, m):
    """Each row clipped to C, then added up and divided by m."""
    return clip_l2(np.asarray(g, dtype=float), C).sum(axis=0) / m


def mean_then_clip(g, C, m):
    """Added up and divided by m, then that one vector is clipped to C."""
    return clip_l2(np.asarray(g, dtype=float).sum(axis=0, keepdims=True) / m, C)[0]


# %% [markdown]
# Two batches are **neighbours** here if one of them has one record more, and they agree in all others: "add or remove a
# record", as in the paper's footnote 1. Outputs of `clip_then_mean` on neighbours are at most C/m apart, and noise is
# made for that distance. Construct neighbours on which the outputs of `mean_then_clip` are further apart than that, in
# fact **as far apart as they can be** (up to one percent). You choose the gradients and how many there are; m is at
# least 2 and need not be the number of records.


# %% neighbours solution=true
def neighbours(C, m):
    """Two batches of gradients, arrays (k, n) and (k + 1, n); the second has one row more than the first."""
    ### BEGIN SOLUTION
    first = np.array([[m * C, 0.0]])
    return first, np.vstack([first, [[-2 * m * C, 0.0]]])
    ### END SOLUTION


# %% neighbours_break points=1
# 1 point: neighbours on which mean_then_clip moves by more than C/m
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").neighbours_break(neighbours)
### END HIDDEN TESTS
first, second = neighbours(1.0, 10)
assert abs(len(second) - len(first)) == 1, "one record more"

# %% neighbours_worst points=1
# 1 point: no neighbours are further apart
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").neighbours_worst(neighbours)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps4_clipping", globals(), "neighbours_break", "neighbours_worst")

# %% [markdown]
# By how many times would the noise have to be larger, if one averaged first? Does a larger batch help?
#
# ## 4. What one record moves, and the noise for it (4 points)
#
# One can also clip layer by layer: record i's gradient by `W[l]` and `b[l]` together to a bound `C[l]` of its own, for
# each l = 1..L, before adding up and dividing by m. How far can one record move the whole release, all layers as one
# long vector? Give the smallest number that is never exceeded, under either notion of neighbours:
#
# - `"add-remove"`: one of the batches has one record more;
# - `"replace-one"`, the paper's [lee2020:adjacency]: as many records in both, one of them another.


# %% sensitivity solution=true
def sensitivity(C, m, adjacency):
    """The l2 sensitivity of the release where layer l = 1..L is clipped to C[l]; C[0] is None."""
    ### BEGIN SOLUTION
    terms = {"add-remove": 1, "replace-one": 2}[adjacency]
    return terms * np.sqrt(sum(c**2 for c in C[1:])) / m
    ### END SOLUTION


# %% sensitivity_layers points=1
# 1 point: add-remove, one layer or several
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").sensitivity_layers(sensitivity)
### END HIDDEN TESTS
assert np.shape(sensitivity([None, 1.0, 2.0], 10, "add-remove")) == (), "a number"

# %% sensitivity_adjacency points=1
# 1 point: what changes from add-remove to replace-one
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").sensitivity_adjacency(sensitivity)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps4_clipping", globals(), "sensitivity_layers", "sensitivity_adjacency")

# %% [markdown]
# Now the private step of DP-SGD: `clipped_mean`, all layers as one vector clipped to one number C, with Gaussian noise
# on every coordinate. Its standard deviation is z times the sensitivity of that release under **add-remove**; z is the
# *noise multiplier*, and all of an epsilon's accounting is about it. So that it can be checked, the noise is given:
# `noise = (N_W, N_b)`, lists like dW and db whose entries are independent draws of variance 1.


# %% private_step solution=true
def private_step(dz, h, C, m, z, noise):
    """The lists dW and db: the clipped gradients, averaged, with noise of z times the add-remove sensitivity."""
    ### BEGIN SOLUTION
    std = z * sensitivity([None, C], m, "add-remove")
    N_W, N_b = noise
    dW, db = clipped_mean(dz, h, C, m)
    dW = [None] + [d + std * n for d, n in zip(dW[1:], N_W[1:], strict=True)]
    return dW, [None] + [d + std * n for d, n in zip(db[1:], N_b[1:], strict=True)]
    ### END SOLUTION


# %% step_noise points=1
# 1 point: the part of the noise, whatever stands beside it; batches of many records and of none
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").step_noise(private_step)
### END HIDDEN TESTS

# %% step_signal points=1
# 1 point: what is left where all draws of the noise are 0
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").step_signal(private_step)
### END HIDDEN TESTS

# %%
# to try it
rng = np.random.default_rng(5)
noise = [[None, rng.normal(size=(5, 4)), rng.normal(size=(3, 5))], [None, rng.normal(size=5), rng.normal(size=3)]]
W, b, B = small_net([4, 5, 3], seed=0)
dz, h = signals(W, b, *small_batch(6, 4, 3, seed=1))
dW, db = private_step(dz, h, 0.5, 8, 1.1, noise)
assert np.shape(dW[2]) == (3, 5)
assert np.shape(db[2]) == (3,)

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps4_clipping", globals(), "step_noise", "step_signal")

# %% [markdown]
# ## 5. Clipping is a bias (2 points)
#
# Of clipping Section 2 says that "this bias already causes a degradation in model accuracy (even without noise
# addition)", which is a claim still to be shown ([lee2020:claim-clip-bias]). That there is a bias can be computed: the
# smallest example has a single parameter $\theta$, records $x_i$ that are numbers, and
# the loss $\frac12 (\theta - x_i)^2$. Without a clip, gradient steps come to rest at the mean of the records. With each
# record's gradient clipped to C, and no noise, they come to rest where the clipped gradients add up to 0.
#
# **Predict first**, with pencil and paper: n records at 0 (n at least 2) and a single one at X, which is far away:
# X > 2C. Where do the clipped steps come to rest?


# %% predicted solution=true
def predicted(n, X, C):
    """Where clipped steps come to rest for n >= 2 records at 0 and one at X > 2 C."""
    ### BEGIN SOLUTION
    return C / n
    ### END SOLUTION


# %% predicted_values points=1
# 1 point: the place, for several n, X and C
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").predicted_values(predicted)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps4_clipping", globals(), "predicted_values")

# %% [markdown]
# Now find it by computing, for any **odd** number of records (there is then exactly one such place): by steps, by
# halving an interval, as you like. It must be right within C/1000. (Your function must come to an end.)


# %% stationary_point solution=true
def stationary_point(x, C):
    """The theta at which the gradients theta - x[i], each clipped to C, add up to 0."""
    ### BEGIN SOLUTION
    low, high = min(x), max(x)
    for _ in range(60):
        middle = (low + high) / 2
        if sum(np.clip(middle - np.asarray(x), -C, C)) < 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2
    ### END SOLUTION


# %% stationary_values points=1
# 1 point: an odd number of records anywhere
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").stationary_values(stationary_point)
### END HIDDEN TESTS
assert np.isclose(stationary_point(np.array([1.0, 2.0, 6.0]), 100.0), 3.0, atol=0.11), "nothing is clipped: the mean"

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps4_clipping", globals(), "stationary_values")

# %% [markdown]
# Look at all C at once. What does the place tend to as C becomes small? Who gains by it, who loses, if the records are
# people?

# %%
import matplotlib.pyplot as plt

x = np.exp(np.random.default_rng(3).normal(size=15))
bounds = np.geomspace(0.02, 60, 25)
plt.semilogx(bounds, [stationary_point(x, C) for C in bounds], label="clipped steps rest here")
plt.axhline(np.mean(x), color="gray", linestyle="--", label="mean")
plt.axhline(np.median(x), color="gray", linestyle=":", label="median")
plt.title("15 records")
plt.xlabel("C")
plt.ylabel("theta")
plt.legend()
plt.show()

# %% [markdown]
# ## 6. A bound without gradients, and the layer it forgot (3 points)
#
# Under DFA a record's update is an outer product too, of $\delta z^l = (B^l e) \odot \phi'_l(z^l)$ and $h^{l-1}$
# for $l < L$, and of $e$ itself and $h^{L-1}$ at the top (Figure 1(b)). No weights stand in it that grow while the
# network learns. So Algorithm 1 ([lee2020:A9] to [lee2020:A12]) clips only two short vectors after the forward pass,
# e to $\tau_e$ and $h^{l-1}$ to $\tau_h$, and what one record can do is known beforehand, from
#
# $$\|e\| \leq \tau_e, \qquad \|h^{l-1}\| \leq \tau_{h}, \qquad \|B^l\|_2 = \beta_l, \qquad
# |\phi'_l| \leq \gamma_l$$
#
# Return the smallest number that the norm of one record's update, W and b of all layers as one long vector, cannot
# exceed, whatever e, h, B and $\phi'$ are within these bounds. Here every layer may have its own:
#
# - `gamma[l]`, `beta[l]` for the hidden layers l = 1..L-1: the bound on the slopes of layer l, and the norm of the
#   matrix $B^l$ that feeds it (the paper prints $B^{l+1}$ and $\beta_{l+1}$); slot 0 is `None`, so `len(gamma)` is L;
#   a single layer has `[None]` for both;
# - `tau_h[l]` for l = 1..L: the bound on the norm of what layer l reads; slot 0 is `None`;
# - `tau_e`: one number.


# %% dfa_bound solution=true
def dfa_bound(gamma, beta, tau_e, tau_h):
    """The largest norm that one record's update can have, weights and biases of all layers together."""
    ### BEGIN SOLUTION
    L = len(gamma)
    slopes = [None] + [gamma[l] * beta[l] for l in range(1, L)] + [1]
    return tau_e * np.sqrt(sum(slopes[l] ** 2 * (tau_h[l] ** 2 + 1) for l in range(1, L + 1)))
    ### END SOLUTION


# %% bound_top points=1
# 1 point: where nothing is fed back, gamma and beta being 0, or where there is no hidden layer
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").bound_top(dfa_bound)
### END HIDDEN TESTS

# %%
# to try it
assert np.shape(dfa_bound([None, 0.25], [None, 0.9], 0.1, [None, 2.0, 3.0])) == (), "a number"

# %% bound_hidden points=1
# 1 point: what the hidden layers add to the square of the bound, beside your top layer if that is wrong
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").bound_hidden(dfa_bound)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps4_clipping", globals(), "bound_top", "bound_hidden")

# %% [markdown]
# Now read the end of Section 4.2: replacing a record of a batch of m moves the averaged update of all layers by
#
# $$\Delta \leq \frac{2 \gamma \beta \tau_e \sqrt{(1 + \tau_h^2) L}}{m}$$
#
# with one $\gamma$, one $\beta$ and one $\tau_h$ for all layers ([lee2020:sens-total]). Compare it with what your bound
# gives for the same thing, where the top layer learns from e as in Figure 1(b) (other readings of Algorithm 1 at l = L
# are in the ledger under [lee2020:A10-A11]). The ratio, yours divided by the printed one, depends on neither $\tau_e$,
# $\tau_h$ nor m. What is it for L layers, the top one included, with sigmoid units ($\gamma = 1/4$) and the paper's
# $\beta = 0.9$?


# %% too_small_by solution=true
def too_small_by(L):
    """By what factor the printed sensitivity is too small for L layers, with gamma = 1/4 and beta = 0.9."""
    ### BEGIN SOLUTION
    printed = 2 * 0.25 * 0.9 * np.sqrt(2 * L)
    return 2 * dfa_bound([None] + [0.25] * (L - 1), [None] + [0.9] * (L - 1), 1, [None] + [1] * L) / printed
    ### END SOLUTION


# %% too_small_values points=1
# 1 point: networks of 2 to 10 layers
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps4_clipping").too_small_values(too_small_by)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps4_clipping", globals(), "too_small_values")

# %% [markdown]
# Noise that is too small by this factor protects less than it claims to: tutorial 05 plays that game.
#
# At last, DFA needs no clip at all to have a bound. An error of the softmax is shorter than $\sqrt 2$, and n sigmoids
# are shorter than $\sqrt n$. Multiply the top layer's weights by larger and larger numbers, and look at the longest
# gradient of twenty records: what does backpropagation do, what does DFA do, and why?

# %%
W, b, B = small_net([6, 8, 8, 3], seed=7)
x, y = small_batch(20, 6, 3, seed=6)
scales = np.geomspace(1, 300, 15)
for name, feedback in (("backpropagation", None), ("DFA", B)):
    longest = [np.max(joint_norms(*signals([*W[:3], s * W[3]], b, x, y, feedback))) for s in scales]
    plt.loglog(scales, longest, label=name)
lengths = [None, np.sqrt(6), np.sqrt(8), np.sqrt(8)]
bound = dfa_bound([None, 0.25, 0.25], [None, 0.9, 0.9], np.sqrt(2), lengths)
plt.axhline(bound, color="gray", linestyle="--", label="bound of DFA without any clip")
plt.title("6-8-8-3, sigmoid, 20 records")
plt.xlabel("factor on the weights of the top layer")
plt.ylabel("longest gradient of a record")
plt.legend()
plt.show()
