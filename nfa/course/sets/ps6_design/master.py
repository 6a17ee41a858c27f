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
# **Have these pages open**: Lee & Kifer (2020), Equation 5 with the update below it, and Section 4 up to Algorithm 1.
# Problem sets 3, 4 and 5 come before this one. About 120 minutes, 20 points.
#
# The paper bounds the effect of one record by a product of worst cases. The factors are a clip of the error, a clip of
# the input, a bound on the derivative, and the norm of B. Each factor costs accuracy, and it is easy to forget one.
# Here you design a release with a sensitivity that needs no such product. You write the release, prove its bound, and
# show that no smaller bound holds. Then you decide which of five variations break the bound, and calibrate noise to a
# target epsilon.
#
# Replace every `raise NotImplementedError`. Loops or array operations, float64 or float32, lists or arrays, and helper
# functions in the same cell are all fine. After each exercise, `check_it` runs the checks of grading with other values.
# The checks of grading are hidden in the cells with points. Do not change these cells, because grading restores them. A
# mistake in an earlier exercise does not cost points again in a later exercise.
#
# `nfa eq ours:joint-clip` explains a tag such as [ours:joint-clip]. In grading, each call of one of your functions has
# three seconds of processor time.
#
# Notation, as in problem set 4: we count layers from 1, and slot 0 of a list is `None`, except `h[0]`. Rows are
# records.
#
# | | shape | |
# |---|---|---|
# | `h[l]` | `(k, n_l)` | the output of layer l for k records, l = 0..L; `h[0]` is x, and **layer l reads `h[l-1]`** |
# | `dz[l]` | `(k, n_l)` | the signal for layer l: $e = \hat y - y$ at the top, $(B^l e) \odot \phi'(z^l)$ below |
# | `dW[l]`, `db[l]` | `(n_l, n_{l-1})`, `(n_l,)` | a direction for the weights and biases of layer l = 1..L |
# | `C` | number > 0 | the norm that a record's whole direction is clipped to |
# | `m` | number > 0 | the public and fixed number that we divide sums by, whatever the number k of records is |
#
# In the table, $\phi'$ is the derivative of the activation, and $z^l$ is the input of the activation in layer l. All
# norms are l2 norms. A record's **whole direction** is one long vector with the weights and biases of all layers:
#
# $$u_i = \big(\delta z_i^1 (h_i^0)^\top, \; \delta z_i^1, \; \dots, \;
# \delta z_i^L (h_i^{L-1})^\top, \; \delta z_i^L\big)$$
#
# This vector is not the gradient of the loss, because B stands in the place of the transposed weights [lee2020:eq5].
# What must we assume about B to bound the effect of one record on the sum? Part 3 answers this question.

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
# ## 1. Norms without directions (2 points, 12 minutes)
#
# Compute one number for each record: the norm $\|u_i\|$. With 512 records and a million weights, the directions
# themselves would need gigabytes. So compute the norms **without forming any record's direction**, not even one at a
# time. What is the norm of an outer product, in terms of its two vectors? What do the biases add?
#
# A check measures the memory. A few numbers for each entry of `dz` and `h` are fine, and so is a k x k matrix. One
# number for each weight of a layer is too much. The checks of part 1 use batches with at least one record.


# %% norms solution=true
def norms(dz, h):
    """An array (k,): the norm of each record's whole direction."""
    ### BEGIN SOLUTION
    L = len(dz) - 1
    return np.sqrt(sum((dz[l] ** 2).sum(axis=1) * ((h[l - 1] ** 2).sum(axis=1) + 1) for l in range(1, L + 1)))
    ### END SOLUTION


# %% norms_values points=1
# 1 point: the norms of the directions, computed in any way
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").norms_values(norms)
### END HIDDEN TESTS
assert np.isclose(norms([None, np.array([[3.0, 4.0]])], [np.array([[2.0, 2.0]]), None])[0], 15), "5 times 3"

# %% norms_memory points=1
# 1 point: one positive number for each record, and no record's direction in memory
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").norms_memory(norms)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "norms_values", "norms_memory")

# %% [markdown]
# ## 2. The clipped sum (3 points, 20 minutes)
#
# The design is simple. Clip every record's whole direction to C [lee2020:clip], and add the clipped directions:
#
# $$S = \sum_{i=1}^k u_i \, \min\Big(1, \frac{C}{\|u_i\|}\Big)$$
#
# The clip multiplies a record's `dz` by the same number in every layer. After this multiplication, one matrix product
# for each layer replaces k outer products. A batch can also be empty. Then `dW[l]` and `db[l]` contain zeros, and they
# have the same shapes as for other batches.
#
# A guarantee covers *every* record. A record can have a direction of zero, which needs no clip. The forward pass of
# another record can overflow. Then some or all entries of its `dz` or `h` are infinite, `nan`, or so large (for example
# $10^{200}$) that the norm overflows. The entries of `h[L]` can be bad, too, although no direction contains them. Such
# a record must not change what the other records add. The record itself may add nothing, or a finite vector with a norm
# of at most C. A batch can also contain only such records.


# %% joint_sum solution=true
def joint_sum(dz, h, C):
    """The lists dW and db: the sum of the whole directions of the records, each clipped to C; slot 0 is None."""
    ### BEGIN SOLUTION
    L = len(dz) - 1
    every = norms(dz, h)
    fine = np.isfinite(every)
    weight = C / np.maximum(every[fine], C)
    dW, db = [None], [None]
    for l in range(1, L + 1):
        kept = weight[:, None] * dz[l][fine]
        dW.append(kept.T @ h[l - 1][fine])
        db.append(kept.sum(axis=0))
    return dW, db
    ### END SOLUTION


# %% sum_direction points=1
# 1 point: the direction of dW and db together, whatever their norm; some records are clipped and some are not
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").sum_direction(joint_sum)
### END HIDDEN TESTS

# %% sum_norm points=1
# 1 point: the norm of the sum, for any number of records, also for an empty batch
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").sum_norm(joint_sum)
### END HIDDEN TESTS

# %% sum_any points=1
# 1 point: an additional record with a zero, infinite, nan or very large direction moves your result by at most C
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").sum_any(joint_sum)
### END HIDDEN TESTS

# %%
# Try your function.
W, b, B = small_net([4, 5, 3], seed=0)
x = np.random.default_rng(1).normal(size=(6, 4))
dz, h = signals(W, b, B, x, np.eye(3)[[0, 1, 2, 0, 1, 2]])
dW, db = joint_sum(dz, h, C=0.5)
assert [np.shape(a) for a in dW[1:]] == [(5, 4), (3, 5)], "dW[l] has the shape of W[l]"
assert [np.shape(a) for a in db[1:]] == [(5,), (3,)], "db[l] has the shape of b[l]"
square = sum((np.asarray(a) ** 2).sum() for a in [*dW[1:], *db[1:]])
assert square <= (6 * 0.5) ** 2, "the sum of six vectors with norms of at most C"

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "sum_direction", "sum_norm", "sum_any")

# %% [markdown]
# ## 3. The effect of one record (4 points, 25 minutes)
#
# Two neighbouring batches have the same weights and the same B. How far apart can their sums S be, with all layers as
# one long vector? Return the smallest number that is right for all networks and batches. There are two relations:
#
# - `"add-remove"`: one of the batches has one record more [lee2020:fn1].
# - `"replace-one"`: one record of the first batch is replaced by another record in the second batch
#   [lee2020:adjacency].


# %% moves solution=true
def moves(C, relation):
    """The sensitivity of the sum S under "add-remove" or "replace-one"."""
    ### BEGIN SOLUTION
    return C if relation == "add-remove" else 2 * C
    ### END SOLUTION


# %% moves_record points=1
# 1 point: the sensitivity under both relations
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").moves_record(moves)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "moves_record")

# %% [markdown]
# **Question.** Now one record keeps its x, and only its label changes. Which bound on the distance of the two sums is
# the smallest that holds for all networks and batches?
#
# - `"a"`: C. The record stays in the batch, so at most one clipped direction changes.
# - `"b"`: $\sqrt 2 \, C$. The errors of one input with two different labels differ by a vector of norm $\sqrt 2$.
# - `"c"`: 2 C. The two errors can be opposite, and the norms of both directions can be at least C before the clip.
#
# Return the letter and your reason, which must have at least eight different words. The letter is graded. Your teacher
# reads the reason.


# %% label_only solution=true
def label_only():
    """Two things: the letter and the reason."""
    ### BEGIN SOLUTION
    return "c", "With two classes the errors are opposite, so the two clipped terms can be opposite vectors of norm C."
    ### END SOLUTION


# %% label_only_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").label_only_answer(label_only)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "label_only_answer")

# %% [markdown]
# **Prove** your bound for add-remove, in three lines on paper. Then list the assumptions of your proof. The bound needs
# some of the following sentences: if such a sentence is false, the bound can be false, too. Which sentences does the
# bound need?
#
# 1. What a record adds is computed from this record, from public values, and from randomness that depends on no
#    record.
# 2. The records are drawn independently of each other.
# 3. The norm in the clip is at least the norm of the record's direction before the clip: all layers, weights and
#    biases.
# 4. The spectral norm of every matrix $B^l$ is at most 1, so no product with B has a larger norm.
# 5. The derivative of the activation is bounded.
# 6. Nothing that happens to a clipped vector before the sum increases its norm.
# 7. The entries of x lie between 0 and 1.


# %% premises solution=true
def premises():
    """The numbers of the sentences that the bound needs, as a list."""
    ### BEGIN SOLUTION
    return [1, 3, 6]
    ### END SOLUTION


# %% premises_needed points=1
# 1 point: all sentences that the bound needs, and no other sentence
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").premises_needed(premises)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "premises_needed")

# %% [markdown]
# **No smaller bound holds.** Suppose that somebody gives you a network as in `signals`, with at least one hidden layer
# of ReLU units and a softmax on top. For every number, there is an input x for which the norm of the output of the last
# hidden layer is larger than this number. Your function must find such an x. The person also chooses *any* matrices B,
# even zero or enormous matrices, and any C, for example $10^5$. Construct a record with a clipped direction of norm C.
# If a batch gets this record as an additional record, S moves by exactly C, for every batch. The x of this record may
# be any vector of finite numbers.


# %% attain solution=true
def attain(W, b, B, C):
    """A record: x, an array (n_0,), and its label, a whole number from 0 to n_L - 1."""
    ### BEGIN SOLUTION
    classes = len(b[-1])
    for scale in 4.0 ** np.arange(20):
        x = scale * np.random.default_rng(0).normal(size=(20, W[1].shape[1]))
        for label in range(classes):
            found = norms(*signals(W, b, B, x, np.eye(classes)[[label] * 20]))
            if found.max() >= C:
                return x[found.argmax()], label
    ### END SOLUTION


# %% attains_C points=1
# 1 point: a right record for several networks, B and C
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").attains_C(attain)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "attains_C")

# %% [markdown]
# Compare your bound with the formula of Section 4.2, $2 \gamma \beta \tau_e \sqrt{(1 + \tau_h^2) L} / m$
# [lee2020:sens-total]. There, $\gamma$ bounds the derivative and $\beta$ is the norm of B. The error is clipped to
# $\tau_e$, and the inputs of the layers are clipped to $\tau_h$. The formula is too small if the top layer learns from
# e itself and $\gamma \beta < 1$. Which factors of this formula does your bound need?
#
# ## 4. Five variations (7 points, 45 minutes)
#
# Here are five variations of the design. Somebody could write each of them in good faith. The network is small, with
# two layers and two classes. A batch is a list of records `(x, label)`. Here x has 2 numbers, and label is 0 or 1. The
# claim for the first four variations is: **a record that is added or removed moves the release by at most C**. For the
# last variation, the claim has C / M in place of C. Some of the five claims hold.
#
# For each variation, write `pair_...`. This function returns three things: your verdict, and two batches as evidence.
# One batch consists of the other batch and one more record. You may return the two batches in either order. Each batch
# has 0 to 20 records.
#
# - `"fails", D, other`: the distance of the two releases exceeds the claimed bound by more than a thousandth of this
#   bound. *Every* such pair is right, and one pair is enough.
# - `"holds", D, other`: no pair exceeds the bound. Prove this for yourself. Your two batches attain the claimed bound,
#   up to a thousandth of it.
#
# The releases are given as code. So you can search for a pair by computer, or think first. Which sentence of part 3
# does each wrong claim violate?

# %% variants
C, M = 0.5, 4
W_NET, b_NET, B_NET = small_net([2, 4, 2], seed=9)


def clip(v, c):
    """The vector v, scaled down to the norm c if its norm is larger; zero stays zero."""
    norm = np.linalg.norm(v)
    return v if norm <= c else v * (c / norm)


def error(x, label):
    """The error e of a record, (2,)."""
    dz, _ = signals(W_NET, b_NET, B_NET, [x], np.eye(2)[[int(label)]])
    return dz[2][0]


def unclipped(x, e, fed=None):
    """The direction of a record with the error e before any clip: for each layer (entries of weights, of biases).

    B multiplies the vector ``fed``, which is e itself if it is not given.
    """
    x = np.asarray(x, dtype=float)
    z = W_NET[1] @ x + b_NET[1]
    dz = (B_NET[1] @ (e if fed is None else fed)) * (z > 0)
    return [(np.outer(dz, x).ravel(), dz), (np.outer(e, np.maximum(z, 0)).ravel(), e)]


def one_vector(layers):
    """The entries of all layers as one vector."""
    return np.concatenate([entries for layer in layers for entries in layer])


def added(vectors):
    """The sum of the vectors; zero if there are none."""
    return sum(vectors, np.zeros(22))


def distance(release, D, other):
    """The distance of the releases of two batches."""
    return np.linalg.norm(release(D) - release(other))


# %% [markdown]
# #### "layers": *we clip a record's direction in each layer, weights and biases, to C. No layer moves by more than C,
# so the release moves by at most C.*
#
# #### "error": *a record's direction is proportional to its error. So we clip the error to C, before the top layer and
# B use it.*
#
# A photonic device can compute the product with B by light [ohana2021:eq5]. Suppose that this device accepts only
# vectors with entries from {-1, 0, 1}. So we replace each entry of e by its sign if its absolute value is at least a
# threshold, and by 0 otherwise. We multiply the product of B and this ternary vector by the norm $\|e\|$ of the error.
# The top layer learns from e as before. In the next two variations, we compute each record's whole direction in this
# way. Then we clip this direction, with the weights and biases of both layers, to the norm C.
#
# #### "own": *the threshold is half of the largest absolute value of the entries of this record's error.*
#
# #### "batch": *the threshold is half of the largest absolute value of the entries of all errors in the batch. The
# release is safe, because we then clip each term to C.*
#
# The last variation is the design of part 2, without ternary errors. Only the divisor differs:
#
# #### "count": *every batch has at least M records. We divide the sum of the clipped directions by the number k of
# records in the batch. So a record moves the release by at most C / k, which is at most C / M.* For this variation,
# both batches must have at least M = 4 records.


# %% releases
def release_layers(D):
    """The sum of the directions, with each layer clipped to C."""
    terms = [unclipped(x, error(x, label)) for x, label in D]
    return added(np.concatenate([clip(np.concatenate(layer), C) for layer in term]) for term in terms)


def release_error(D):
    """The sum of the directions, with each error clipped to C."""
    return added(one_vector(unclipped(x, clip(error(x, label), C))) for x, label in D)


def ternary(e, threshold):
    """The sign of every entry with a size of at least the threshold, and 0 for the other entries."""
    return np.sign(e) * (np.abs(e) >= threshold)


def optical(x, e, threshold):
    """What a record adds if B multiplies its ternary error; the whole direction is clipped."""
    return clip(one_vector(unclipped(x, e, np.linalg.norm(e) * ternary(e, threshold))), C)


def release_own(D):
    """The sum of the clipped optical directions, with a threshold for each record."""
    both = [(x, error(x, label)) for x, label in D]
    return added(optical(x, e, np.abs(e).max() / 2) for x, e in both)


def release_batch(D):
    """The sum of the clipped optical directions, with one threshold for all records."""
    both = [(x, error(x, label)) for x, label in D]
    largest = max((np.abs(e).max() for _, e in both), default=0.0)
    return added(optical(x, e, largest / 2) for x, e in both)


def release_count(D):
    """The sum of the clipped directions, divided by the number of records."""
    return added(clip(one_vector(unclipped(x, error(x, label))), C) for x, label in D) / len(D)


# %% [markdown]
# **Predict** first. At the end of this part, we draw 100 random pairs of batches. In each pair, one random record joins
# five others. In how many of the 100 pairs does the distance of the releases exceed C? Guess this number for "layers",
# "own" and "batch". Every guess between 0 and 100 gets the point.


# %% guess solution=true
def guess():
    """A list with your three guesses, for "layers", "own" and "batch"."""
    ### BEGIN SOLUTION
    return [70, 0, 30]
    ### END SOLUTION


# %% guess_made points=1
# 1 point: three numbers between 0 and 100
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").guess_made(guess)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "guess_made")


# %% pair_layers solution=true
def pair_layers():
    """The verdict on "layers", and two add-remove neighbours as evidence."""
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
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "variant_layers")


# %% pair_error solution=true
def pair_error():
    """The verdict on "error", and two add-remove neighbours as evidence."""
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
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "variant_error")


# %% pair_own solution=true
def pair_own():
    """The verdict on "own", and two add-remove neighbours as evidence."""
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
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "variant_own")


# %% pair_batch solution=true
def pair_batch():
    """The verdict on "batch", and two add-remove neighbours as evidence."""
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
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "variant_batch")


# %% pair_count solution=true
def pair_count():
    """The verdict on "count", and two add-remove neighbours as evidence."""
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
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "variant_count")

# %% [markdown]
# Now run the experiment, and compare it with your guess. The first plot has the distances of all pairs, sorted. Would
# you have believed the wrong claim "batch" after 100 random pairs? Two of the wrong claims already fail for a single
# record. The other two wrong claims fail only if the batch has more records. Which claims are these two, and which
# sentence of part 3 do they violate?

# %%
import matplotlib.pyplot as plt

rng = np.random.default_rng(0)
exceeds = []
for release in (release_layers, release_own, release_batch):
    moved = []
    for _ in range(100):
        D = [(x, rng.integers(2)) for x in rng.normal(size=(6, 2))]
        moved.append(distance(release, D[1:], D) / C)
    exceeds.append(int(np.sum(np.array(moved) > 1.001)))
    plt.plot(np.sort(moved), label=release.__name__.removeprefix("release_"))
plt.axhline(1, color="k", lw=0.8)
plt.xlabel("random pairs of batches, sorted")
plt.ylabel("distance / C")
plt.legend()
plt.show()
for name, mine, counted in zip(("layers", "own", "batch"), guess(), exceeds, strict=True):
    print(f"{name}: my guess {mine}, counted {counted} of 100")

# %% [markdown]
# **Question.** We replace the product with B by a real photonic device and a camera. Nobody knows the device's B
# exactly, and its answers are noisy. We clip each record's whole direction to C, after the device has answered. Which
# property of the device breaks the bound C?
#
# - `"a"`: B drifts during the run with the temperature of the room, which does not depend on the records.
# - `"b"`: The camera sets its exposure for a whole batch by the brightest image in this batch.
# - `"c"`: The shot noise of an image is larger for a bright image. This noise depends on this image and on new
#   randomness.


# %% device solution=true
def device():
    """Two things: the letter and the reason, in at least eight different words."""
    ### BEGIN SOLUTION
    return "b", "One bright record changes the exposure, and so the answers for all other records in its batch."
    ### END SOLUTION


# %% device_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").device_answer(device)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "device_answer")

# %% [markdown]
# ## 5. Noise for a target epsilon (4 points, 18 minutes)
#
# Training uses the **mean**: S divided by the public m, with Gaussian noise on every coordinate. The *noise multiplier*
# z is a number, not the $z^l$ of a layer. It is the standard deviation of the noise divided by the sensitivity under
# add-remove [lee2020:lem1]. What is the standard deviation of the noise on the mean?


# %% noise_std solution=true
def noise_std(z, C, m):
    """The standard deviation of the noise on every coordinate of the mean, for the noise multiplier z."""
    ### BEGIN SOLUTION
    return z * moves(C, "add-remove") / m
    ### END SOLUTION


# %% std_value points=1
# 1 point: the standard deviation for several z, C and m
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").std_value(noise_std)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "std_value")

# %% [markdown]
# The epsilon of a run depends on z, the sampling rate q, the number of steps, and $\delta$. With Poisson sampling, each
# record is in a batch with probability q, independently of all other records and steps. The function `spent` is nfa's
# accountant. This accountant uses Rényi divergences at whole orders [mironov2019:sec3.3] and a newer conversion
# [canonne2020:prop12].

# %% accountant
from nfa.mechanism import Mechanism
from nfa.privacy.accountant import epsilon

ORDERS = np.arange(2, 65)


def spent(z, q, steps, delta):
    """The epsilon of this many steps with the noise multiplier z, under add-remove."""
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
# Find the smallest noise multiplier for a target: a z with `spent(z, q, steps, delta)` **at most** the target. Your z
# may be at most 0.1 % larger than the smallest such z. In all checks, the smallest such z is between 0.3 and 30, so you
# can search in this interval. A larger z never has a larger epsilon. A call of `spent` takes some milliseconds. For
# small z, the function warns that orders below 2 could prove a smaller epsilon. You can ignore this warning.


# %% least_noise solution=true
def least_noise(target, q, steps, delta):
    """The smallest noise multiplier z, up to 0.1 %, with an epsilon of at most the target."""
    ### BEGIN SOLUTION
    low, high = 0.3, 30.0
    while high > 1.0005 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if spent(middle, q, steps, delta) <= target else (middle, high)
    return high
    ### END SOLUTION


# %% noise_enough points=1
# 1 point: with this z, the epsilon is at most the target
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").noise_enough(least_noise)
### END HIDDEN TESTS

# %% noise_spare points=1
# 1 point: with a z that is 0.1 % smaller, the epsilon exceeds the target
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").noise_spare(least_noise)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "noise_enough", "noise_spare")

# %% [markdown]
# **Question.** A run has ten epochs of 60,000 records and the target $\epsilon = 3$ at $\delta = 10^{-5}$. We compare
# batches of m = 256 and m = 4096 records, with q = m / 60,000. Which sentence is true?
#
# - `"a"`: z is the same for both batches, because each record is used ten times on average in both runs.
# - `"b"`: z is larger for m = 4096, so the noise on the mean is also larger.
# - `"c"`: z is larger for m = 4096, but the noise on the mean is smaller, because m grows by a larger factor than z.


# %% larger_batch solution=true
def larger_batch():
    """Two things: the letter and the reason, in at least eight different words."""
    ### BEGIN SOLUTION
    return "c", "The rate q is 16 times larger, so z grows by a factor 2, and we divide by 16 times more."
    ### END SOLUTION


# %% larger_batch_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps6_design").larger_batch_answer(larger_batch)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps6_design", globals(), "larger_batch_answer")

# %%
# Why does nobody simply take the largest batch?
for m in (256, 1024, 4096):
    z = least_noise(3.0, m / 60_000, 10 * 60_000 // m, 1e-5)
    print(f"batch {m:4}: {10 * 60_000 // m:4} steps, z = {z:.3f}, noise on the mean {noise_std(z, C=1.0, m=m):.2e}")

# %% [markdown]
# The rule `nfa.rules.dp_dfa_joint` computes this release. In this rule, you can also choose the vector that B
# multiplies. The statement [ours:joint-clip] has the proof of the bound, and shows that no smaller bound holds.
