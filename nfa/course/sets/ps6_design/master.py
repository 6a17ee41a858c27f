# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Problem set 6: sensitivity by design
#
# **Have these pages open**: Lee & Kifer (2020), Equation 5 with the update below it, and Section 4 up to Algorithm 1;
# Ohana et al. (2021), Section 2.2. Problem sets 4 and 5 come before it. About 90 minutes, 20 points.
#
# The papers bound what a record can move by a product of worst cases: a clip of the error, a clip of the input, a
# slope, the norm of B. Each factor costs accuracy, and each can be forgotten. Here you design a release whose
# sensitivity needs no such product: you write it, prove its bound, show that no smaller number holds whatever B is,
# find out which of seven variations break it, and buy an epsilon with it.
#
# Replace every `raise NotImplementedError`. Loops or array operations, float64 or float32, lists or arrays, helper
# functions in the same cell: all are fine. A cell with points shows you a few of its checks; others run when your
# notebook is graded. Do not change those cells: they are put back before grading. Earlier exercises that are wrong
# cost nothing again in later ones.
#
# `nfa eq ours:joint-clip` shows what stands behind a tag such as [ours:joint-clip]. When your notebook is graded, each
# call of one of your functions has three seconds of computing.
#
# Notation, as in problem set 4: layers count from 1, and slot 0 of a list is `None`, but for `h[0]`. Rows are records.
#
# | | shape | |
# |---|---|---|
# | `h[l]` | `(k, n_l)` | what layer l puts out for k records, l = 0..L; `h[0]` is x, and **layer l reads `h[l-1]`** |
# | `dz[l]` | `(k, n_l)` | what layer l learns from: $e = \hat y - y$ at the top, below $(B^l e) \odot \phi'(z^l)$ |
# | `dW[l]`, `db[l]` | `(n_l, n_{l-1})`, `(n_l,)` | a direction for the weights and biases of layer l = 1..L |
# | `C` | number > 0 | the bound that a record's whole direction is clipped to |
# | `m` | number > 0 | what sums are divided by: public and fixed, whatever the number k of records |
#
# All norms are l2 norms. A record's **whole direction** is one long vector, all layers, weights and biases:
#
# $$u_i = \big(\delta z_i^1 (h_i^0)^\top, \; \delta z_i^1, \; \dots, \;
# \delta z_i^L (h_i^{L-1})^\top, \; \delta z_i^L\big)$$
#
# It is no gradient of anything: B stands where the transposed weights would be [lee2020:eq5]. So what does a bound on
# its norm need to know about B? Note your guess.

# %% setting
import math

import numpy as np


def small_net(sizes, seed):
    """Random W, b and feedback matrices B for a network of these sizes; B[l] is (n_l, n_L) for l = 1..L-1."""
    rng = np.random.default_rng(seed)
    L = len(sizes) - 1
    W = [None] + [rng.normal(size=(sizes[l], sizes[l - 1])) / np.sqrt(sizes[l - 1]) for l in range(1, L + 1)]
    b = [None] + [0.1 * rng.normal(size=sizes[l]) for l in range(1, L + 1)]
    B = [None] + [rng.normal(size=(sizes[l], sizes[L])) for l in range(1, L)]
    return W, b, B


def signals(W, b, B, x, y):
    """The lists dz and h of DFA: ReLU layers with a softmax on top; x is (k, n_0), y (k, n_L) one-hot."""
    L = len(W) - 1
    z, h, dz = [None], [np.asarray(x, dtype=float)], [None] * (L + 1)
    for l in range(1, L + 1):
        z.append(h[l - 1] @ W[l].T + b[l])
        h.append(np.maximum(z[l], 0))
    powers = np.exp(z[L] - z[L].max(axis=1, keepdims=True))
    h[L] = powers / powers.sum(axis=1, keepdims=True)
    dz[L] = h[L] - y
    for l in range(1, L):
        dz[l] = (dz[L] @ np.transpose(B[l])) * (z[l] > 0)
    return dz, h


# %% [markdown]
# ## 1. The norm of what nobody forms (2 points)
#
# One number for each record: $\|u_i\|$. With 512 records and a million weights the directions themselves would fill
# gigabytes, so compute it **without holding any record's direction**, not even one at a time. What is the norm of an
# outer product in terms of its two vectors, and what do the biases add? A check measures the memory: a few numbers for
# each entry of `dz` and `h` are fine, one for each weight of a layer is too many.


# %% norms solution=true
def norms(dz, h):
    """An array (k,): the norm of each record's whole direction."""
    ### BEGIN SOLUTION
    L = len(dz) - 1
    return np.sqrt(sum((dz[l] ** 2).sum(axis=1) * ((h[l - 1] ** 2).sum(axis=1) + 1) for l in range(1, L + 1)))
    ### END SOLUTION


# %% norms_values points=1
# 1 point: the numbers, however you come to them
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").norms_values(norms)
### END HIDDEN TESTS
assert np.isclose(norms([None, np.array([[3.0, 4.0]])], [np.array([[2.0, 2.0]]), None])[0], 15), "5 times 3"

# %% norms_memory points=1
# 1 point: one positive number a record, and no record's direction is ever held
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").norms_memory(norms)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "norms_values", "norms_memory")

# %% [markdown]
# ## 2. The sum (3 points)
#
# Now the design: clip every record's whole direction to C [lee2020:clip], and add up,
#
# $$S = \sum_{i=1}^k u_i \, \min\Big(1, \frac{C}{\|u_i\|}\Big)$$
#
# That is a number for each record which multiplies its `dz` in every layer; then one matrix product a layer does what
# k outer products would. A batch may have no records.
#
# A guarantee speaks of *every* record. One may have a direction of zero: nothing is to be clipped. Another's forward
# pass may overflow, so that entries of its `dz` or `h` are infinite or `nan`: such a record must not leave a trace in
# what the others add (and may add nothing, or something finite no longer than C).


# %% joint_sum solution=true
def joint_sum(dz, h, C):
    """The lists dW and db: the whole directions of the records, each clipped to C, added up."""
    ### BEGIN SOLUTION
    L = len(dz) - 1
    long = norms(dz, h)
    fine = np.isfinite(long)
    weight = C / np.maximum(long[fine], C)
    dW, db = [None], [None]
    for l in range(1, L + 1):
        kept = weight[:, None] * dz[l][fine]
        dW.append(kept.T @ h[l - 1][fine])
        db.append(kept.sum(axis=0))
    return dW, db
    ### END SOLUTION


# %% sum_direction points=1
# 1 point: the direction of dW and db together, whatever its length, where some records are clipped and some are not
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").sum_direction(joint_sum)
### END HIDDEN TESTS

# %% sum_length points=1
# 1 point: its length, for any number of records, none too
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").sum_length(joint_sum)
### END HIDDEN TESTS

# %% sum_any points=1
# 1 point: one record more moves what you return by at most C where its direction is zero, infinite or nan
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").sum_any(joint_sum)
### END HIDDEN TESTS

# %%
# to try it
W, b, B = small_net([4, 5, 3], seed=0)
x = np.random.default_rng(1).normal(size=(6, 4))
dz, h = signals(W, b, B, x, np.eye(3)[[0, 1, 2, 0, 1, 2]])
dW, db = joint_sum(dz, h, C=0.5)
assert [np.shape(a) for a in dW[1:]] == [(5, 4), (3, 5)], "dW[l] has the shape of W[l]"
assert [np.shape(a) for a in db[1:]] == [(5,), (3,)], "db[l] has the shape of b[l]"
square = sum((np.asarray(a) ** 2).sum() for a in [*dW[1:], *db[1:]])
assert square <= (6 * 0.5) ** 2, "six vectors no longer than C"

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "sum_direction", "sum_length", "sum_any")

# %% [markdown]
# ## 3. What one record moves, and why (5 points)
#
# The weights and B are given, the same for both of two neighbouring batches. How far apart can their sums S be, all
# layers as one long vector? Return the smallest number that is right for all networks and batches, under
#
# - `"add-remove"`: one of the batches has one record more [lee2020:fn1];
# - `"replace-one"`: a record of the first is another one in the second [lee2020:adjacency];
# - `"replace-label"`: that other record has the same x, and only its label is another.


# %% moves solution=true
def moves(C, relation):
    """The sensitivity of the sum under "add-remove", "replace-one" or "replace-label"."""
    ### BEGIN SOLUTION
    return C if relation == "add-remove" else 2 * C
    ### END SOLUTION


# %% moves_record points=1
# 1 point: "add-remove" and "replace-one"
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").moves_record(moves)
### END HIDDEN TESTS

# %% moves_label points=1
# 1 point: "replace-label"; where your "replace-one" is wrong, it may be right beside that
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").moves_label(moves)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "moves_record", "moves_label")

# %% [markdown]
# **Prove it**, in three lines on paper, for add-remove. Then say what your proof used. Of these sentences, which are
# those without which the bound is not true?
#
# 1. What a record adds is computed from this record, from what is public, and from randomness that depends on no
#    record.
# 2. The records are drawn independently of each other.
# 3. The norm in the clip is at least that of everything that the record adds: all layers, weights and biases.
# 4. No matrix $B^l$ makes a vector longer: its spectral norm is at most 1.
# 5. The slope of the activation is bounded.
# 6. Nothing that is done to a clipped vector before it is added makes it longer.
# 7. The entries of x lie between 0 and 1.


# %% premises solution=true
def premises():
    """The numbers of the sentences that the bound needs, as a list."""
    ### BEGIN SOLUTION
    return [1, 3, 6]
    ### END SOLUTION


# %% premises_needed points=1
# 1 point: all of them, and no other
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").premises_needed(premises)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "premises_needed")

# %% [markdown]
# **No smaller number will do.** Somebody hands you a network as in `signals` (at least one hidden layer of ReLU units,
# a softmax on top), *any* matrices B, be they zero or enormous, and any C. Construct a record whose clipped direction
# is as long as C, so that S moves by exactly C when it joins a batch, any batch. Its x may be any vector of finite
# numbers.


# %% attain solution=true
def attain(W, b, B, C):
    """A record: x, an array (n_0,), and its label, a whole number from 0 to n_L - 1."""
    ### BEGIN SOLUTION
    classes = len(b[-1])
    for scale in 4.0 ** np.arange(20):
        x = scale * np.random.default_rng(0).normal(size=(20, W[1].shape[1]))
        for label in range(classes):
            long = norms(*signals(W, b, B, x, np.eye(classes)[[label] * 20]))
            if long.max() >= C:
                return x[long.argmax()], label
    ### END SOLUTION


# %% attains_C points=1
# 1 point: several networks, B and C
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").attains_C(attain)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "attains_C")

# %% [markdown]
# Now the other number, for a network with **two** classes, where C is at most 0.4: construct an x such that the sum
# moves by exactly 2 C when its label is changed from 0 to 1. Either class is the likelier one for many inputs with
# entries of about 1, but its biases may be large. How must the two clipped directions lie? Which of the two
# errors can become too short?


# %% opposite solution=true
def opposite(W, b, B, C):
    """An input x, an array (n_0,), whose two labels give the sum terms that are 2 C apart."""
    ### BEGIN SOLUTION
    x = np.random.default_rng(0).normal(size=(500, W[1].shape[1]))
    shorter = np.minimum(*(norms(*signals(W, b, B, x, np.eye(2)[[label] * 500])) for label in (0, 1)))
    return x[shorter.argmax()]
    ### END SOLUTION


# %% attains_2C points=1
# 1 point: several networks of two classes, B and C
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").attains_2C(opposite)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "attains_2C")

# %% [markdown]
# Compare the formula of Section 4.2, $2 \gamma \beta \tau_e \sqrt{(1 + \tau_h^2) L} / m$ [lee2020:sens-total], which
# problem sets 4 and 5 found too small at the top. Which of its factors does your bound need?
#
# ## 4. Break it (7 points)
#
# Seven variations on the design, each of which somebody might write. Here is one small network with two layers and two
# classes; a batch is a list of records `(x, label)`, where x has 2 numbers and label is 0 or 1. For all of them the
# claim is: **a record that is added or removed moves the release by at most C** (in the last: by at most C / M). Some
# hold.
#
# For each write `pair_...`, which returns three things: your verdict and the two batches that show it. One of them is
# the other with one record more; each has 0 to 20 records.
#
# - `"fails", D, other`: these two are farther apart than claimed, by more than a thousandth of it. *Every* such pair
#   is right. One is enough.
# - `"holds", D, other`: nothing is farther apart, which takes a proof, for yourself; and these two are as far apart
#   as claimed, up to a thousandth of it.
#
# The releases are code, so that you can search before you think, or the other way round. Which sentence of part 3 does
# each of those that fail offend?

# %% variants
C, M = 0.5, 4
W_NET, b_NET, B_NET = small_net([2, 4, 2], seed=9)


def shorten(v, c):
    """The vector v, shortened to the norm c if it is longer; zero stays zero."""
    norm = np.linalg.norm(v)
    return v if norm <= c else v * (c / norm)


def error(x, label):
    """The error e of a record, (2,)."""
    dz, _ = signals(W_NET, b_NET, B_NET, [x], np.eye(2)[[int(label)]])
    return dz[2][0]


def parts(x, e, shown=None):
    """What a record with the error e adds before any clip: for each layer the weights' part and the biases' part.

    B is shown e itself, or something in its place.
    """
    x = np.asarray(x, dtype=float)
    z = W_NET[1] @ x + b_NET[1]
    dz = (B_NET[1] @ (e if shown is None else shown)) * (z > 0)
    return [(np.outer(dz, x).ravel(), dz), (np.outer(e, np.maximum(z, 0)).ravel(), e)]


def long_vector(layers):
    """All parts of all layers as one vector."""
    return np.concatenate([part for layer in layers for part in layer])


def added(vectors):
    """Their sum; zero if there are none."""
    return sum(vectors, np.zeros(22))


def distance(release, D, other):
    """How far a release is moved from one batch to the other."""
    return np.linalg.norm(release(D) - release(other))


# %% [markdown]
# #### "layers": *a record's part of each layer, weights and biases, is clipped to C; no layer moves by more, and so the
# release moves by at most C.*
#
# #### "split": *there are two layers, so each record's part of a layer, weights and biases, is clipped to
# $C / \sqrt 2$.*
#
# #### "weights": *the norm in the clip is that of all weights, which are nearly all of the numbers there are. Weights
# and biases are multiplied by the same $\min(1, C / \text{norm})$.*
#
# #### "error": *a record's direction is in proportion to its error, so it is the error that is clipped to C, before it
# is used at the top and by B.*


# %% releases
def release_layers(D):
    """Each layer clipped to C."""
    terms = [parts(x, error(x, label)) for x, label in D]
    return added(np.concatenate([shorten(np.concatenate(layer), C) for layer in term]) for term in terms)


def release_split(D):
    """Each of the two layers clipped to C / sqrt(2)."""
    terms = [parts(x, error(x, label)) for x, label in D]
    return added(np.concatenate([shorten(np.concatenate(layer), C / 2**0.5) for layer in term]) for term in terms)


def release_weights(D):
    """The norm taken without the biases."""

    def clipped(layers):
        norm = np.linalg.norm(np.concatenate([weights for weights, _ in layers]))
        return long_vector(layers) * (C / max(norm, C))

    return added(clipped(parts(x, error(x, label))) for x, label in D)


def release_error(D):
    """The error clipped to C."""
    return added(long_vector(parts(x, shorten(error(x, label), C))) for x, label in D)


# %% pair_layers solution=true
def pair_layers():
    """The verdict on "layers", and two batches that are add-remove neighbours and show it."""
    ### BEGIN SOLUTION
    return "fails", [], [((3.0, -2.0), 0)]
    ### END SOLUTION


# %% variant_layers points=1
# 1 point: verdict and pair for "layers"
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").variant_layers(pair_layers)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "variant_layers")


# %% pair_split solution=true
def pair_split():
    """The verdict on "split", and two batches that are add-remove neighbours and show it."""
    ### BEGIN SOLUTION
    return "holds", [], [((3.0, -2.0), 0)]
    ### END SOLUTION


# %% variant_split points=1
# 1 point: verdict and pair for "split"
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").variant_split(pair_split)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "variant_split")


# %% pair_weights solution=true
def pair_weights():
    """The verdict on "weights", and two batches that are add-remove neighbours and show it."""
    ### BEGIN SOLUTION
    return "fails", [], [((0.0, 0.0), 0)]
    ### END SOLUTION


# %% variant_weights points=1
# 1 point: verdict and pair for "weights"
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").variant_weights(pair_weights)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "variant_weights")


# %% pair_error solution=true
def pair_error():
    """The verdict on "error", and two batches that are add-remove neighbours and show it."""
    ### BEGIN SOLUTION
    return "fails", [], [((3.0, -2.0), 0)]
    ### END SOLUTION


# %% variant_error points=1
# 1 point: verdict and pair for "error"
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").variant_error(pair_error)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "variant_error")

# %% [markdown]
# An optical device can show B only numbers from {-1, 0, 1}. So every entry of e becomes its sign where it is at least a
# threshold in size, and 0 elsewhere; what B makes of that is multiplied by the error's own norm $\|e\|$. The top layer
# learns from e as ever. In both of the following each record's whole direction, made in this way, is then clipped to
# the norm C, weights and biases of both layers.
#
# #### "own": *the threshold is half of the largest entry (in size) of this record's error.*
#
# #### "batch": *the threshold is half of the largest entry (in size) of all errors in the batch; each term is still
# clipped to C, after all that.*
#
# The last one is the design of part 2, with the error as it is, but for its divisor:
#
# #### "count": *every batch has at least M records. The sum of the clipped directions is divided by the number k of
# records that are in the batch; so a record moves it by at most C / k, and that is at most C / M.* For this one both
# batches must have at least M = 4 records.


# %% more_releases
def ternary(e, threshold):
    """The sign of every entry that is at least the threshold in size, 0 of the others."""
    return np.sign(e) * (np.abs(e) >= threshold)


def optical(x, e, threshold):
    """What a record adds if B is shown a ternary error, clipped as a whole."""
    return shorten(long_vector(parts(x, e, np.linalg.norm(e) * ternary(e, threshold))), C)


def release_own(D):
    """Each record's own threshold."""
    both = [(x, error(x, label)) for x, label in D]
    return added(optical(x, e, np.abs(e).max() / 2) for x, e in both)


def release_batch(D):
    """One threshold for all records."""
    both = [(x, error(x, label)) for x, label in D]
    largest = max((np.abs(e).max() for _, e in both), default=0.0)
    return added(optical(x, e, largest / 2) for x, e in both)


def release_count(D):
    """The sum of the clipped directions, divided by the number of records."""
    return added(shorten(long_vector(parts(x, error(x, label))), C) for x, label in D) / len(D)


# %% pair_own solution=true
def pair_own():
    """The verdict on "own", and two batches that are add-remove neighbours and show it."""
    ### BEGIN SOLUTION
    return "holds", [], [((3.0, -2.0), 0)]
    ### END SOLUTION


# %% variant_own points=1
# 1 point: verdict and pair for "own"
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").variant_own(pair_own)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "variant_own")


# %% pair_batch solution=true
def pair_batch():
    """The verdict on "batch", and two batches that are add-remove neighbours and show it."""
    ### BEGIN SOLUTION
    D = [((3.0, 3.0), 1)] * 10
    return "fails", D, [*D, ((3.0, 3.0), 0)]
    ### END SOLUTION


# %% variant_batch points=1
# 1 point: verdict and pair for "batch"
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").variant_batch(pair_batch)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "variant_batch")


# %% pair_count solution=true
def pair_count():
    """The verdict on "count", and two batches that are add-remove neighbours and show it."""
    ### BEGIN SOLUTION
    D = [((0.0, 0.0), 1)] * 4
    return "fails", D, [*D, ((0.0, 0.0), 0)]
    ### END SOLUTION


# %% variant_count points=1
# 1 point: verdict and pair for "count"
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").variant_count(pair_count)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "variant_count")

# %% [markdown]
# Look at it: what a random record moves when it joins five others. Which variants would you have believed after 100
# tries? Of those that fail, three show it by a single record and two only beside others: which are these two, and which
# sentence of part 3 do both offend?

# %%
import matplotlib.pyplot as plt

rng = np.random.default_rng(0)
releases = [release_layers, release_split, release_weights, release_error, release_own, release_batch]
for release in releases:
    moved = []
    for _ in range(100):
        D = [(x, rng.integers(2)) for x in rng.normal(size=(6, 2))]
        moved.append(distance(release, D[1:], D) / C)
    plt.plot(np.sort(moved), label=release.__name__.removeprefix("release_"))
plt.axhline(1, color="k", lw=0.8)
plt.xlabel("random neighbours, sorted")
plt.ylabel("distance / C")
plt.legend()
plt.show()

# %% [markdown]
# ## 5. Buy an epsilon (3 points)
#
# What training uses is the **mean**: S divided by the public m, and then Gaussian noise on every coordinate. The *noise
# multiplier* z is the standard deviation of the noise, divided by how far a record that is added or removed moves what
# the noise is added to [lee2020:lem1]. Which standard deviation has the noise on the mean?


# %% noise_std solution=true
def noise_std(z, C, m):
    """The standard deviation of the noise on every coordinate of the mean, for the noise multiplier z."""
    ### BEGIN SOLUTION
    return z * moves(C, "add-remove") / m
    ### END SOLUTION


# %% std_value points=1
# 1 point: several z, C and m
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").std_value(noise_std)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "std_value")

# %% [markdown]
# Everything else that an epsilon depends on is z, the rate q at which a record comes into a batch (Poisson sampling, a
# coin for each record and step), the number of steps, and $\delta$. Below is nfa's accountant under a short name, with
# whole orders [mironov2019:sec3.3] and the newer conversion [canonne2020:prop12], the one that problem set 3 builds.

# %% accountant
from nfa.mechanism import Mechanism
from nfa.privacy.accountant import epsilon

ORDERS = np.arange(2, 65)


def spent(z, q, steps, delta):
    """The epsilon of that many steps with the noise multiplier z, under add-remove."""
    step = Mechanism(
        law="gaussian",
        sensitivity=1.0,
        adjacency="add-remove",
        noise_std=float(z),
        sampling="poisson",
        sampling_rate=q,
    )
    return epsilon([(step, steps)], delta=delta, orders=ORDERS, conversion="canonne2020").epsilon


# %% [markdown]
# Find the least noise for a target: a z with `spent(z, q, steps, delta)` **at most** the target, and no more than
# 0.1 % larger than it must be. More noise never costs more. (A call of `spent` takes some milliseconds. For little
# noise it warns that orders below 2 could prove less, which does not matter here.)


# %% least_noise solution=true
def least_noise(target, q, steps, delta):
    """The least noise multiplier z, to 0.1 %, for which the epsilon is at most the target; it is in 0.3 .. 30."""
    ### BEGIN SOLUTION
    low, high = 0.3, 30.0
    while high > 1.0005 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if spent(middle, q, steps, delta) <= target else (middle, high)
    return high
    ### END SOLUTION


# %% noise_enough points=1
# 1 point: with this noise the epsilon is at most the target
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").noise_enough(least_noise)
### END HIDDEN TESTS

# %% noise_spare points=1
# 1 point: with 0.1 % less noise it is above the target
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").noise_spare(least_noise)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "noise_enough", "noise_spare")

# %% [markdown]
# **Predict**: for $\epsilon = 3$ and ten epochs of 60,000 records, batches of 256, 1024 and 4096. Which way does z go,
# and which way the noise on the mean? Now why does nobody simply take the largest batch?

# %%
for m in (256, 1024, 4096):
    z = least_noise(3.0, m / 60_000, 10 * 60_000 // m, 1e-5)
    print(f"batch {m:4}: {10 * 60_000 // m:4} steps, z = {z:.3f}, noise on the mean {noise_std(z, C=1.0, m=m):.2e}")

# %% [markdown]
# This release, with a choice of what B is shown, is the rule `nfa.rules.dp_dfa_joint`; what a record of the sum may do,
# and that no smaller number holds, is [ours:joint-clip].
#
# ## 6. A device in place of B
#
# In words, for your teacher to read (no points from the machine). A photonic device shows every record's ternary error
# to a scattering medium, and a camera reads what comes out [ohana2021:eq5]. Nobody knows its B exactly. It is noisy, it
# saturates, some pixels are dead. Your bound speaks of none of that: it holds *whatever the device answers*, if the
# device keeps a promise.
#
# 1. Which promise? Say it in one sentence, and say where the proof uses it.
# 2. Which of these keep it, and why: shot noise of every image; an exposure that is set by the brightest image of the
#    batch; a B that drifts with the temperature of the room; light of the image before, which the camera has not
#    forgotten; eight bits of which the camera always uses the same range?
# 3. The device returns the double of what it should for one record in a thousand. What does that cost in privacy?
#
# *Your answer, in at most ten sentences:*
