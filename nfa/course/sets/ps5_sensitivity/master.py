# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Problem set 5: sensitivity, find the mistake
#
# **Have these pages open**: Lee & Kifer (2020), Section 3.3 (Definition 4), Section 4 with Algorithm 1, and the
# displayed formulas of Section 4.2. Also open Ohana et al. (2021), Section 3.1, and Section 3.3 up to Proposition 2.
# Problem sets 2 and 4 come before this one. About 115 minutes, 20 points.
#
# The sensitivity of a release f is the largest distance $\|f(D) - f(D')\|_2$ over all pairs of neighbouring data sets
# $D$, $D'$ ([lee2020:def4], [ohana2021:rem2.1]). The noise is a multiple of this number. If the number is too small,
# the guarantee does not hold. If it is too large, the noise is larger than necessary. First you compute a sensitivity
# by trying all pairs, then you derive formulas. At the end, you judge five short arguments. Two of them are published.
# Some of the five arguments are right.
#
# Replace every `raise NotImplementedError`. Loops or array operations, float64 or float32, and helper functions in the
# same cell are all fine. After each exercise, `check_it` runs the checks of grading with other values. The checks of
# grading are hidden in the cells with points. Do not change these cells, because grading restores them.
#
# `nfa eq lee2020:def4` explains a tag such as [lee2020:def4]. In grading, each call of one of your functions has three
# seconds of processor time.
#
# A data set is a list of records. The order of the records does not matter, and a record can occur more than once. Two
# data sets are **neighbours**
#
# - under `"replace-one"`, if they have the same size, and replacing one record of the first data set gives the second
#   data set;
# - under `"add-remove"`, if adding one record to one of the data sets gives the other data set.

# %% setting
import itertools
import math

import numpy as np

# %% [markdown]
# ## 1. The definition, by trying all pairs (3 points, 15 minutes)
#
# The function `neighbours` returns all neighbours of a data set D with records from the list `domain`. Some neighbours
# occur twice in the returned list. Under `"replace-one"`, the returned list also contains D itself. Why do these
# entries not change the largest distance?


# %% neighbours
def neighbours(D, domain, relation):
    """All neighbours of the list D, as lists of records from domain; relation is "replace-one" or "add-remove"."""
    D = list(D)
    shorter = [D[:i] + D[i + 1 :] for i in range(len(D))]
    if relation == "replace-one":
        return [[*rest, record] for rest in shorter for record in domain]
    return shorter + [[*D, record] for record in domain]


# %% [markdown]
# Write the sensitivity of a function f. The function f takes a list of records and returns a number or a NumPy vector.
# The sensitivity is the largest distance between `f(D)` and `f(other)` over all pairs of neighbours. **Both**
# neighbours must have a size in the list `sizes`. The sizes can be in any order, they can contain 0, and a size between
# two others can be missing. If there is no pair of neighbours, the sensitivity is 0. For example, no two data sets with
# 1 and 3 records are neighbours. The domains here are small, so try all pairs. For example,
# `sensitivity(max, [1, 2, 7], [3], "replace-one")` is 6, because the neighbours [1, 1, 1] and [1, 1, 7] have the maxima
# 1 and 7.


# %% sensitivity solution=true
def sensitivity(f, domain, sizes, relation):
    """The l2 sensitivity of f over data sets of records from domain with a size in the list sizes."""
    ### BEGIN SOLUTION
    largest = 0.0
    for n in sizes:
        for D in itertools.product(domain, repeat=n):
            for other in neighbours(list(D), domain, relation):
                if len(other) in sizes:
                    largest = max(largest, np.linalg.norm(f(list(D)) - f(other)))
    return largest
    ### END SOLUTION


# %% sensitivity_values points=2
# 2 points: the sensitivity of functions that return a number
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").sensitivity_values(sensitivity)
### END HIDDEN TESTS

# %% sensitivity_norm points=1
# 1 point: the sensitivity of functions that return a vector
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").sensitivity_norm(sensitivity)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "sensitivity_values", "sensitivity_norm")

# %% [markdown]
# ## 2. The mean and the median (4 points, 25 minutes)
#
# **Predict** first. A data set has five records, which are numbers between 0 and 1. How far can replacing one record
# move the mean, and how far can it move the median? Every guess between 0 and 1 gets the point. A cell below compares
# your guess with the sensitivities.


# %% guess solution=true
def guess():
    """A list with your two guesses: the sensitivity of the mean and the sensitivity of the median."""
    ### BEGIN SOLUTION
    return [0.6, 0.6]
    ### END SOLUTION


# %% guess_made points=1
# 1 point: two numbers between 0 and 1
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").guess_made(guess)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "guess_made")

# %%
for name, f, mine in zip(("mean", "median"), (np.mean, np.median), guess(), strict=True):
    print(f"{name}: my guess {mine:g}, measured {sensitivity(f, [0, 0.5, 1], [5], 'replace-one'):.3g}")

# %% [markdown]
# Now derive formulas. The records are numbers in $[a, b]$ with $a < b$, and a can be negative. As an example, take the
# sum of the records, in data sets of any size. Under `"replace-one"`, the sensitivity of the sum is $b - a$, because a
# record can change from a to b. Under `"add-remove"`, its sensitivity is $\max(|a|, |b|)$, because the sum changes by
# the added record itself.
#
# Derive the sensitivities of two other functions. Compare your formulas with `sensitivity` for a few small domains.
#
# - The mean. The data sets have n records under `"replace-one"`, and n - 1 or n records under `"add-remove"`.
# - The median for an odd n. The data sets have n records under `"replace-one"`, and n - 1 or n records under
#   `"add-remove"`. So n - 1 is even. The median of an even number of records is the mean of the two records in the
#   middle.
#
# The checks use n from 3 to 7.


# %% mean_moves solution=true
def mean_moves(a, b, n, relation):
    """The sensitivity of the mean, with at most n records."""
    ### BEGIN SOLUTION
    return (b - a) / n
    ### END SOLUTION


# %% mean_predicted points=1
# 1 point: the sensitivity of the mean under both relations
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").mean_predicted(mean_moves)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "mean_predicted")


# %% median_moves solution=true
def median_moves(a, b, n, relation):
    """The sensitivity of the median, with at most n records; n is odd and at least 3."""
    ### BEGIN SOLUTION
    return b - a if relation == "replace-one" else (b - a) / 2
    ### END SOLUTION


# %% median_predicted points=1
# 1 point: the sensitivity of the median under both relations
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").median_predicted(median_moves)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "median_predicted")

# %% [markdown]
# **Question.** Somebody publishes the median of five numbers in [0, 1] with Gaussian noise. The standard deviation is
# proportional to the largest move of the median that replacing one record of this data set can cause. For the data set
# 0, 0, 0, 0, 1 this move is 0, so its median gets no noise. Which sentence is true?
#
# - `"a"`: The release is private, because the noise covers every move that one record can cause in this data set.
# - `"b"`: The release is not private. The neighbour 0, 0, 0, 1, 1 gets noise, so the output distinguishes the two data
#   sets.
# - `"c"`: The release is private, because one record hardly moves a median. It would not be private for a mean.
#
# Return the letter and your reason, which must have at least eight different words. The letter is graded. Your teacher
# reads the reason.


# %% own_noise solution=true
def own_noise():
    """Two things: the letter and the reason."""
    ### BEGIN SOLUTION
    return (
        "b",
        "The standard deviation depends on the records, so an output that is exactly 0 tells the two neighbours apart.",
    )
    ### END SOLUTION


# %% own_noise_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").own_noise_answer(own_noise)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "own_noise_answer")

# %% [markdown]
# ## 3. Several layers together (1 point, 8 minutes)
#
# A training step releases the directions of all layers. Suppose that one record can move the vector $f_1$ by at most
# $\Delta_1$, the vector $f_2$ by at most $\Delta_2$, and so on. How far can this record move the long vector that
# contains all these vectors? Return the smallest number that is right for all functions with these sensitivities.


# %% joint solution=true
def joint(deltas):
    """The sensitivity of several vectors released together, from the list of their sensitivities."""
    ### BEGIN SOLUTION
    return math.sqrt(sum(delta**2 for delta in deltas))
    ### END SOLUTION


# %% joint_parts points=1
# 1 point: the sensitivity of any number of vectors together
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").joint_parts(joint)
### END HIDDEN TESTS
assert np.isclose(joint([2.5]), 2.5)

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "joint_parts")

# %% [markdown]
# ## 4. Five claims (12 points, 67 minutes)
#
# Each claim has a release, a relation of neighbours, and a number. The claim says that the releases of two neighbours
# are never farther apart than this number. **Some claims hold.** For each claim, write a function `pair_...` that
# returns three things: your verdict and two neighbours as evidence. Each neighbour is a list of at most 20 records. If
# the relation is add-remove, one of the two lists can be empty. Otherwise each list has at least one record. In most
# claims, the data sets are batches.
#
# - `"fails", D, other`: the distance between the two releases exceeds the claimed number by more than 0.1 %. *Every*
#   such pair is right. One pair is enough.
# - `"holds", D, other`: the distance equals the claimed number up to 0.1 %, so no smaller number holds. You need a
#   proof that no distance is larger. Write this proof for yourself, because no check can read it.
#
# Two claims have a second exercise, `bound_...`. There you return the smallest bound that you can prove. The bound must
# be at least the largest distance of two neighbours, and at most 1.25 times this distance.
#
# The releases are code, so you can search for pairs before you prove something.

# %% clip
C, TAU_E, TAU_B, TAU_H = 1.0, 0.1, 0.8, 1.0


def clip(v, c):
    """The vector v, scaled down to the norm c if its norm is larger; zero stays zero."""
    v = np.asarray(v, dtype=float)
    norm = np.linalg.norm(v)
    return v if norm <= c else v * (c / norm)


def distance(f, D, other):
    """The distance between the releases f of two data sets."""
    return np.linalg.norm(f(D) - f(other))


# %% [markdown]
# #### Claim "size"
#
# *Every record is in the batch with some probability, independently of the others. So the number k of records in the
# batch is random. The release is the mean of the gradients in the batch, each clipped to the norm C. The release of an
# empty batch is 0. If one record is added or removed, then one term of the mean appears or disappears. The norm of this
# term is at most C / k. So under add-remove the sensitivity is C / k, where k is the size of the larger batch.*
#
# A record is a gradient, a vector of 2 numbers.


# %% release_size
def release_size(D):
    """The mean of the clipped gradients."""
    return sum((clip(g, C) for g in D), np.zeros(2)) / max(len(D), 1)


def claimed_size(C, k):
    return C / k


# %% pair_size solution=true
def pair_size():
    """The verdict, and two batches as evidence, which are add-remove neighbours; C = 1."""
    ### BEGIN SOLUTION
    return "fails", [[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]
    ### END SOLUTION


# %% pair_of_size points=1
# 1 point: the verdict and the pair
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").pair_of_size(pair_size)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "pair_of_size")

# %% [markdown]
# **Question.** Let $c_k$ be the largest distance if the larger batch has k records. If the claim holds, then
# $c_k = C / k$ for every k. If the claim fails, then $c_k$ differs from $C / k$ for some k. How can you release a mean
# of clipped gradients privately under add-remove? The noise multiplier z is the standard deviation of the noise
# divided by the sensitivity.
#
# - `"a"`: Add noise of standard deviation $z \, c_k$, where k is the number of records in the sampled batch. This noise
#   has the multiplier z, because no two neighbours are farther apart than $c_k$.
# - `"b"`: Add the noise of answer a, and also publish k. Then everybody knows the standard deviation, and k is not a
#   record.
# - `"c"`: Divide the sum by a fixed public number m in place of k. Then the sensitivity is $C / m$ for all batches.


# %% divisor solution=true
def divisor():
    """Two things: the letter and the reason."""
    ### BEGIN SOLUTION
    return "c", "Two neighbours have different k, so k itself and any noise that depends on k reveal a record."
    ### END SOLUTION


# %% divisor_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").divisor_answer(divisor)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "divisor_answer")

# %% [markdown]
# #### Claim "expected"
#
# *The entries of the feedback matrix B (n, K) are drawn from $N(0, 1/n)$ and published. Then
# $\mathbb{E} \|B e\|^2 = \|e\|^2$, so on average B does not change the norm. An error clipped to the norm $\tau_e$ is
# therefore a vector of norm $\tau_e$ after the projection. So the average
# $\frac1m \sum_i B \,\mathrm{clip}_{\tau_e}(e_i)$ over the m records of a batch has the replace-one sensitivity
# $2 \tau_e / m$.*
#
# A record is an error e, here any vector of 3 numbers.

# %% release_expected
B = np.random.default_rng(4).normal(size=(5, 3)) / np.sqrt(5)


def release_expected(D):
    """The average of the projected errors."""
    return sum(B @ clip(e, TAU_E) for e in D) / len(D)


def claimed_expected(m, tau_e):
    return 2 * tau_e / m


# %% pair_expected solution=true
def pair_expected():
    """The verdict, and two batches as evidence, which are replace-one neighbours, for the matrix B above."""
    ### BEGIN SOLUTION
    _, _, V = np.linalg.svd(B)
    return "fails", [V[0]], [-V[0]]
    ### END SOLUTION


# %% pair_of_expected points=1
# 1 point: the verdict and the pair
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").pair_of_expected(pair_expected)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "pair_of_expected")


# %% bound_expected solution=true
def bound_expected(B, m, tau_e):
    """A bound on how far replacing a record moves the released average, for a given matrix B of any shape."""
    ### BEGIN SOLUTION
    return 2 * tau_e / m * np.linalg.norm(B, 2)
    ### END SOLUTION


# %% bound_of_expected points=2
# 2 points: the bound
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").bound_of_expected(bound_expected)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "bound_of_expected")

# %% [markdown]
# #### Claim "column"
#
# *Ohana et al. bound the norm of each record's projected error v by $\tau_B$ [ohana2021:eq9b]. The input h of the layer
# has n entries, and they clip **every entry** to $\tau_h / \sqrt{n}$. Suppose that $|\varphi'| \le 1$. Then replacing a
# record moves a column of the averaged direction $\frac1m \sum_i v_i h_i^\top$ by at most
# $\frac2m \tau_B \tau_h / \sqrt{n}$ ([ohana2021:prop2]). The matrix has n columns, so the matrix moves by at most
# $\frac2m \tau_B \tau_h$ under replace-one.*
#
# A record is a pair (v, h). The vector v has any number of entries, and h has n = 4 numbers. We take $\varphi' = 1$.


# %% release_layer
def clip_entries(h, tau_h):
    """The vector h, each entry clipped to tau_h / sqrt(n), as in Section 3.1 of Ohana et al."""
    c = tau_h / np.sqrt(len(h))
    return np.clip(np.asarray(h, dtype=float), -c, c)


def release_column(D):
    """The direction of a weight matrix, without noise."""
    return sum(np.outer(clip(v, TAU_B), clip_entries(h, TAU_H)) for v, h in D) / len(D)


def claimed_column(m, tau_B, tau_h):
    return 2 / m * tau_B * tau_h


# %% pair_column solution=true
def pair_column():
    """The verdict, and two batches as evidence, which are replace-one neighbours, for the matrix of 4 columns."""
    ### BEGIN SOLUTION
    return "holds", [([1.0, 0.0], np.ones(4))], [([-1.0, 0.0], np.ones(4))]
    ### END SOLUTION


# %% pair_of_column points=1
# 1 point: the verdict and the pair
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").pair_of_column(pair_column)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "pair_of_column")

# %% [markdown]
# **Question.** In the paper, the bias is a column of the weight matrix with the constant input 1, and this input is
# clipped like the other inputs. Somebody adds a separate bias vector to the layer, and does not clip the input 1 of the
# bias. How far can replacing a record move the averaged direction of this bias, if $\tau_h / \sqrt n < 1$?
#
# - `"a"`: By up to $\frac2m \tau_B$, which is more than a column of the weight matrix moves.
# - `"b"`: By up to $\frac2m \tau_B \tau_h / \sqrt n$, because the bias is one more column.
# - `"c"`: It does not move, because the input 1 is the same for all records.


# %% constant_input solution=true
def constant_input():
    """Two things: the letter and the reason."""
    ### BEGIN SOLUTION
    return "a", "The bias adds up the vectors v times 1, and two opposite vectors of norm tau_B are 2 tau_B apart."
    ### END SOLUTION


# %% constant_input_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").constant_input_answer(constant_input)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "constant_input_answer")

# %% [markdown]
# #### Claim "total"
#
# *One record moves the direction of $W^l$ by at most $\Delta_\zeta = \frac2m \gamma \beta \tau_e \tau_h$, and the
# direction of $b^l$ by at most $\Delta_\xi = \frac2m \gamma \beta \tau_e$. So under replace-one, the record moves the
# directions of all L layers together by at most
# $\sqrt{L \Delta_\zeta^2 + L \Delta_\xi^2} = \frac2m \gamma \beta \tau_e \sqrt{(1 + \tau_h^2) L}$* (Lee & Kifer,
# Section 4.2, [lee2020:sens-zeta], [lee2020:sens-xi], [lee2020:sens-total]).
#
# Here $|\varphi'| \le \gamma$ in the hidden layers, and $\beta$ is the spectral norm of the matrices $B^l$. The error
# is clipped to the norm $\tau_e$, and the input of each layer to the norm $\tau_h$. The paper does not define line 10
# of Algorithm 1 for the output layer. The code follows Section 3.2 and Figure 1, so the output layer learns from e.
#
# A record is a pair (x, label): x has 2 numbers, and the label is 0 or 1. The network below is public and the same for
# all data sets.

# %% release_total
GAMMA, BETA = 0.25, 0.9  # the largest derivative of a sigmoid; the paper's spectral norm
NET = [2, 3, 2]  # the numbers of units, so L = 2
rng = np.random.default_rng(5)
W_NET = [None, *(rng.normal(size=(n, k)) for k, n in itertools.pairwise(NET))]
b_NET = [None, *(rng.normal(size=n) for n in NET[1:])]
B_NET = [None, rng.normal(size=(3, 2)), None]
B_NET[1] *= BETA / np.linalg.norm(B_NET[1], 2)


def term(x, label):
    """The directions of all layers for one record, in one long vector."""
    L = len(NET) - 1
    h = [np.asarray(x, dtype=float)]
    for l in range(1, L + 1):
        z = W_NET[l] @ h[l - 1] + b_NET[l]
        h.append(1 / (1 + np.exp(-z)) if l < L else np.exp(z) / np.exp(z).sum())
    e = clip(h[L] - np.eye(2)[int(label)], TAU_E)
    parts = []
    for l in range(1, L + 1):
        dz = e if l == L else (B_NET[l] @ e) * h[l] * (1 - h[l])
        parts += [np.outer(dz, clip(h[l - 1], TAU_H)).ravel(), dz]
    return np.concatenate(parts)


def release_total(D):
    """The average of the long vectors of all records."""
    return sum(term(x, label) for x, label in D) / len(D)


def claimed_total(L, m, gamma, beta, tau_e, tau_h):
    return 2 / m * gamma * beta * tau_e * np.sqrt((1 + tau_h**2) * L)


# %% pair_total solution=true
def pair_total():
    """The verdict, and two batches as evidence, which are replace-one neighbours, for the network above."""
    ### BEGIN SOLUTION
    return "fails", [([1.0, 1.0], 0)], [([1.0, 1.0], 1)]
    ### END SOLUTION


# %% pair_of_total points=2
# 2 points: the verdict and the pair
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").pair_of_total(pair_total)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "pair_of_total")

# %% [markdown]
# Your bound must hold for all networks with L layers, for all values of their weights, and for all activations whose
# derivative satisfies $|\varphi'| \le \gamma$. All hidden layers have the same $\gamma$ and the same $\beta$. The
# number L can be 1. Suppose that $\tau_e \le \sqrt 2$, because the error of a softmax output never has a larger norm.


# %% bound_total solution=true
def bound_total(L, m, gamma, beta, tau_e, tau_h):
    """A bound on how far replacing a record moves the directions of all L layers together."""
    ### BEGIN SOLUTION
    hidden = (L - 1) * (gamma * beta) ** 2
    return 2 / m * tau_e * math.sqrt((1 + tau_h**2) * (1 + hidden))
    ### END SOLUTION


# %% bound_of_total points=2
# 2 points: the bound
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").bound_of_total(bound_total)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "bound_of_total")

# %% [markdown]
# #### Claim "label"
#
# *Only the labels are private. So two neighbours have the same inputs, and one record has another label. The release is
# the sum of the clipped errors $\mathrm{clip}_{\tau_e}(\hat y_i - y_i)$, where $\hat y_i$ is a softmax output and $y_i$
# is one-hot. If one label changes, this sum moves by at most $\sqrt 2$ for every $\tau_e$. The sum also moves by at
# most $2 \tau_e$.*
#
# A record is a pair (y_hat, label). Here y_hat is a list of two or more probabilities, and the label is 0, 1, ... The
# claimed number is the smaller one of $\sqrt 2$ and $2 \tau_e$. Your pair is for $\tau_e = 1$.


# %% release_label
def release_label(D, tau_e=1.0):
    """The sum of the clipped errors."""
    return sum(clip(np.asarray(y_hat) - np.eye(len(y_hat))[int(label)], tau_e) for y_hat, label in D)


def claimed_label(tau_e):
    return min(np.sqrt(2), 2 * tau_e)


# %% pair_label solution=true
def pair_label():
    """The verdict, and two data sets as evidence, which differ in one label; tau_e = 1."""
    ### BEGIN SOLUTION
    return "holds", [([0.5, 0.5], 0)], [([0.5, 0.5], 1)]
    ### END SOLUTION


# %% pair_of_label points=1
# 1 point: the verdict and the pair
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").pair_of_label(pair_label)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "pair_of_label")

# %% [markdown]
# The last cell draws 300 random pairs of neighbours for three claims. For how many pairs does the distance exceed the
# claimed number? How close does the farthest random pair come to the largest possible distance? Which of the claims
# would you believe if you had only these pairs? `nfa eq ohana2021:prop2` and `nfa eq lee2020:sens-total` print what is
# known about the published claims.

# %%
import matplotlib.pyplot as plt

rng = np.random.default_rng(0)


def layer_record():
    return rng.normal(size=2), rng.normal(size=4)


def labelled_record():
    return rng.normal(size=2), rng.integers(2)


tries = {
    "expected": (release_expected, lambda: rng.normal(size=3), claimed_expected(2, TAU_E)),
    "column": (release_column, layer_record, claimed_column(2, TAU_B, TAU_H)),
    "total": (release_total, labelled_record, claimed_total(2, 2, GAMMA, BETA, TAU_E, TAU_H)),
}
bounds = {"expected": bound_expected(B, 2, TAU_E), "total": bound_total(2, 2, GAMMA, BETA, TAU_E, TAU_H)}
for name, (release, draw_record, claimed) in tries.items():
    ratios = []
    for _ in range(300):
        same, one, other = draw_record(), draw_record(), draw_record()
        ratios.append(distance(release, [same, one], [same, other]) / claimed)
    plt.hist(ratios, bins=np.linspace(0, 3.5, 71), histtype="step", label=name)
    print(f"{name}: {np.sum(np.array(ratios) > 1.001)} of 300 pairs exceed the claimed number")
    print(f"    farthest pair: {max(ratios):.2f} times the claimed number")
    if name in bounds:
        print(f"    your bound: {bounds[name] / claimed:.2f} times the claimed number")
plt.axvline(1, color="k", lw=0.8)
plt.xlabel("distance between two random neighbours / claimed number")
plt.ylabel("pairs")
plt.legend()
plt.show()
