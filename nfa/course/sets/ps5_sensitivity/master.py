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
# **Have these pages open**: Lee & Kifer (2020), Section 3.3 (Definition 4), Section 4 with Algorithm 1 and the
# displays of Section 4.2; Ohana et al. (2021), Section 3.1, and Section 3.3 up to the paragraph below Proposition 3.
# About 120 minutes, 20 points.
#
# The noise of a private release is sized by its sensitivity: the largest $\ell_2$ distance $\|f(D) - f(D')\|_2$ over
# all pairs of neighbouring data sets $D$, $D'$ ([lee2020:def4], [ohana2021:rem2.1]). If that number is too small, the
# guarantee is void; if it is too large, the noise is. You compute it by trying all pairs, find it by thinking, and
# then judge seven short arguments, published ones and typical ones. Some are right.
#
# Replace every `raise NotImplementedError`. Loops or array operations, float64 or float32, helper functions in the
# same cell: all are fine. A cell with points shows you a few of its checks; others run when your notebook is graded.
# Do not change those cells: they are put back before grading.
#
# `nfa eq lee2020:def4` shows what stands behind a tag such as [lee2020:def4]. When your notebook is graded, each call
# of one of your functions has three seconds of computing.
#
# Two data sets are **neighbours**
#
# - under `"replace-one"`, if they have the same size and one record of the first is another one in the second;
# - under `"add-remove"`, if one of them is the other with one record more.
#
# A data set is a list of records. Their order does not matter, and a record may be there more than once.

# %% setting
import itertools
import math

import numpy as np

# %% [markdown]
# ## 1. The definition, by trying everything (4 points)
#
# `neighbours` returns the neighbours of D whose records are from the list `domain`. D is a list too. In what order
# they come, whether some come twice, and whether D itself is among them does not matter here (why not?).


# %% neighbours solution=true
def neighbours(D, domain, relation):
    """All neighbours of the data set D, a list of lists; relation is "replace-one" or "add-remove"."""
    ### BEGIN SOLUTION
    found = []
    for i in range(len(D)):
        rest = D[:i] + D[i + 1 :]
        found += [rest] if relation == "add-remove" else [[*rest, record] for record in domain]
    if relation == "add-remove":
        found += [[*D, record] for record in domain]
    return found
    ### END SOLUTION


# %% neighbours_replace points=1
# 1 point: "replace-one"
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").neighbours_replace(neighbours)
### END HIDDEN TESTS
assert {len(other) for other in neighbours([3, 5], [3, 5, 8], "replace-one")} == {2}

# %% neighbours_add_remove points=1
# 1 point: "add-remove", the empty data set too
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").neighbours_add_remove(neighbours)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "neighbours_replace", "neighbours_add_remove")

# %% [markdown]
# Now the sensitivity of a function f, which takes a list of records and returns a number or a NumPy vector: the
# largest distance of `f(D)` and `f(other)` over all neighbours that **both** have a size in `sizes`. Try them all;
# the domains here are small. For example, `sensitivity(max, [1, 2, 7], [3], "replace-one")` is 6: take [1, 1, 1] and
# [1, 1, 7].


# %% sensitivity solution=true
def sensitivity(f, domain, sizes, relation):
    """The l2 sensitivity of f over data sets of records from domain whose size is in the list sizes."""
    ### BEGIN SOLUTION
    largest = 0.0
    for n in sizes:
        for D in itertools.product(domain, repeat=n):
            for other in neighbours(list(D), domain, relation):
                if len(other) in sizes:
                    largest = max(largest, np.linalg.norm(f(list(D)) - f(other)))
    return largest
    ### END SOLUTION


# %% sensitivity_values points=1
# 1 point: of functions whose value is a number
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").sensitivity_values(sensitivity)
### END HIDDEN TESTS

# %% sensitivity_norm points=1
# 1 point: of functions whose value is a vector
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").sensitivity_norm(sensitivity)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "sensitivity_values", "sensitivity_norm")

# %% [markdown]
# ## 2. Predict (3 points)
#
# The records are numbers in $[a, b]$, $a < b$; a may be negative. **Predict before you compute**, and then try your
# formulas with `sensitivity` on a few small domains. What surprises you? (The checks have n from 3 to 7, and whatever
# returns the right number is right.)
#
# - the sum of the records, in data sets of any size;
# - their mean: n records under `"replace-one"`, n - 1 or n records under `"add-remove"`;
# - their median for an odd n: n records under `"replace-one"`, n - 1 or n under `"add-remove"`. The median of an even
#   number of records is the mean of the two in the middle.


# %% sum_moves solution=true
def sum_moves(a, b, relation):
    """The sensitivity of the sum."""
    ### BEGIN SOLUTION
    return b - a if relation == "replace-one" else max(abs(a), abs(b))
    ### END SOLUTION


# %% sum_predicted points=1
# 1 point: the sum
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").sum_predicted(sum_moves)
### END HIDDEN TESTS

# %%
# to try it
assert np.isclose(sum_moves(0, 1, "replace-one"), 1)

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "sum_predicted")


# %% mean_moves solution=true
def mean_moves(a, b, n, relation):
    """The sensitivity of the mean, with at most n records."""
    ### BEGIN SOLUTION
    return (b - a) / n
    ### END SOLUTION


# %% mean_predicted points=1
# 1 point: the mean
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").mean_predicted(mean_moves)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "mean_predicted")


# %% median_moves solution=true
def median_moves(a, b, n, relation):
    """The sensitivity of the median, with at most n records, n odd and at least 3."""
    ### BEGIN SOLUTION
    return b - a if relation == "replace-one" else (b - a) / 2
    ### END SOLUTION


# %% median_predicted points=1
# 1 point: the median
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").median_predicted(median_moves)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "median_predicted")

# %% [markdown]
# ## 3. Several layers at once (2 points)
#
# A step of training releases the directions of all layers. Say one record can move the vector $f_1$ by at most
# $\Delta_1$, $f_2$ by at most $\Delta_2$, and so on. By how much can it move all of them together, taken as one long
# vector? Return the smallest number that is right whatever the functions are.


# %% joint solution=true
def joint(deltas):
    """The sensitivity of several vectors released together, from the list of their sensitivities."""
    ### BEGIN SOLUTION
    return math.sqrt(sum(delta**2 for delta in deltas))
    ### END SOLUTION


# %% joint_parts points=1
# 1 point: any number of parts
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").joint_parts(joint)
### END HIDDEN TESTS
assert np.isclose(joint([2.5]), 2.5)

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "joint_parts")

# %% [markdown]
# For convolutions Lee & Kifer clip each record's gradient by $W^l$ to the norm $\tau$, and its gradient by $b^l$,
# apart from that, to $\tau$ as well; then they average over the m records of the batch (Section 4.2, the two displays
# of "Handling Convolutional Layers"). The text does not say which $\tau$ to take ([lee2020:hybrid-sens]). Take a
# network of L such layers. Which $\tau$ makes the replace-one sensitivity of the whole average, all layers with
# weights and biases, exactly $S / m$?


# %% clip_norm solution=true
def clip_norm(S, L):
    """The tau with which L layers, clipped in this way, together have the replace-one sensitivity S / m."""
    ### BEGIN SOLUTION
    return S / (2 * math.sqrt(2 * L))
    ### END SOLUTION


# %% clip_norm_values points=1
# 1 point: the tau for several S and L
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").clip_norm_values(clip_norm)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "clip_norm_values")

# %% [markdown]
# ## 4. Seven claims (11 points)
#
# Each claim is a release, a relation of neighbours, and a number: no two neighbours are farther apart. **Some hold.**
# For each write `pair_...`, which returns three things: your verdict, and the two neighbours that show it, as lists
# of 1 to 20 records (an empty one is allowed where the relation is add-remove).
#
# - `"fails", D, other`: these two are farther apart than claimed, by more than a thousandth of it. *Every* such pair
#   is right. One is enough.
# - `"holds", D, other`: nothing is farther apart, which takes a proof, for yourself; and these two are as far apart
#   as claimed, up to a thousandth of it, so that no smaller number would do.
#
# Four claims come with a second exercise, `bound_...`: the smallest bound that you can prove. Where the claim holds
# it is the claimed number. No two neighbours may be farther apart, and it must not be wasteful: at most 1.25 times
# the largest distance that there is.
#
# The releases are code, so that you can search before you prove.

# %% clip
C, TAU_E, TAU_B, TAU_H = 1.0, 0.1, 0.8, 1.0


def clip(v, c):
    """Shorten the vector v to the norm c if it is longer; zero stays zero."""
    v = np.asarray(v, dtype=float)
    norm = np.linalg.norm(v)
    return v if norm <= c else v * (c / norm)


def distance(f, D, other):
    """How far a release f is moved from one data set to the other."""
    return np.linalg.norm(f(D) - f(other))


# %% [markdown]
# #### Claim "size"
#
# *Every record comes into the batch by chance and independently of the others, so that the size k of the batch is
# random. The release is the mean of the gradients of those that came, each clipped to the norm C (and 0 if none
# came). If a record is added or removed, one term of the mean comes or goes, and its norm is at most C / k. So under
# add-remove the sensitivity is C / k, where k is the size of the larger batch.*
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
    """The verdict, and two batches that are add-remove neighbours and show it for C = 1."""
    ### BEGIN SOLUTION
    return "fails", [[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]
    ### END SOLUTION


# %% pair_of_size points=1
# 1 point: verdict and pair
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").pair_of_size(pair_size)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "pair_of_size")


# %% bound_size solution=true
def bound_size(C, k):
    """How far a record added or removed can move the mean, where the larger of the two batches has k >= 2 records."""
    ### BEGIN SOLUTION
    return 2 * C / k
    ### END SOLUTION


# %% bound_of_size points=1
# 1 point: the bound
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").bound_of_size(bound_size)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "bound_of_size")

# %% [markdown]
# #### Claim "expected"
#
# *The entries of the feedback matrix B (n, K) are drawn from $N(0, 1/n)$ and published. Then
# $\mathbb{E} \|B e\|^2 = \|e\|^2$: on average B changes no length. So an error clipped to the norm $\tau_e$ is a
# vector of norm $\tau_e$ after the projection, and the average $\frac1m \sum_i B \,\mathrm{clip}_{\tau_e}(e_i)$ has
# the replace-one sensitivity $2 \tau_e / m$.*
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
    """The verdict, and two batches that are replace-one neighbours and show it for the matrix B above."""
    ### BEGIN SOLUTION
    _, _, V = np.linalg.svd(B)
    return "fails", [V[0]], [-V[0]]
    ### END SOLUTION


# %% pair_of_expected points=1
# 1 point: verdict and pair
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").pair_of_expected(pair_expected)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "pair_of_expected")


# %% bound_expected solution=true
def bound_expected(B, m, tau_e):
    """How far replacing a record can move that average, for a given matrix B of any shape."""
    ### BEGIN SOLUTION
    return 2 * tau_e / m * np.linalg.norm(B, 2)
    ### END SOLUTION


# %% bound_of_expected points=1
# 1 point: the bound
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").bound_of_expected(bound_expected)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "bound_of_expected")

# %% [markdown]
# #### Claim "column"
#
# *Ohana et al. bound the projected error of a record by $\tau_B$ in norm, and **every entry** of what the layer
# reads, h with n entries, by $\tau_h / \sqrt{n}$. Where $|\varphi'| \le 1$, replacing a record moves a column of the
# averaged direction $\frac1m \sum_i v_i h_i^\top$ by at most $\frac2m \tau_B \tau_h / \sqrt{n}$ ([ohana2021:prop2]);
# and so the matrix, which has n columns, by at most $\frac2m \tau_B \tau_h$.*
#
# A record is a pair (v, h): v has any length, h has n = 4 numbers. (We take $\varphi' = 1$.)


# %% release_layer
def clip_entries(h, tau_h):
    """Every entry bounded by tau_h / sqrt(n), as in Section 3.1 of Ohana et al."""
    c = tau_h / np.sqrt(len(h))
    return np.clip(np.asarray(h, dtype=float), -c, c)


def release_column(D):
    """The direction of a weight matrix, without noise."""
    return sum(np.outer(clip(v, TAU_B), clip_entries(h, TAU_H)) for v, h in D) / len(D)


def claimed_column(m, tau_B, tau_h):
    return 2 / m * tau_B * tau_h


# %% pair_column solution=true
def pair_column():
    """The verdict, and two batches that are replace-one neighbours and show it: of the matrix of 4 columns."""
    ### BEGIN SOLUTION
    return "holds", [([1.0, 0.0], np.ones(4))], [([-1.0, 0.0], np.ones(4))]
    ### END SOLUTION


# %% pair_of_column points=1
# 1 point: verdict and pair
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").pair_of_column(pair_column)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "pair_of_column")

# %% [markdown]
# #### Claim "bias"
#
# *Somebody writes that layer with a bias vector of its own: the bias is one more column of the weight matrix, which
# reads the constant 1, and this 1 is left as it is. That makes n + 1 columns, each of which moves by at most
# $\frac2m \tau_B \tau_h / \sqrt{n}$. So the matrix and the bias together have the replace-one sensitivity
# $\sqrt{n + 1} \, \frac2m \tau_B \tau_h / \sqrt{n}$.*
#
# Records are as before: (v, h) with 4 numbers in h.


# %% release_bias
def release_bias(D):
    """The directions of the weight matrix and, as its last column, of the bias."""
    return sum(np.outer(clip(v, TAU_B), np.append(clip_entries(h, TAU_H), 1.0)) for v, h in D) / len(D)


def claimed_bias(m, n, tau_B, tau_h):
    return np.sqrt(n + 1) * 2 / m * tau_B * tau_h / np.sqrt(n)


# %% pair_bias solution=true
def pair_bias():
    """The verdict, and two batches that are replace-one neighbours and show it for n = 4."""
    ### BEGIN SOLUTION
    return "fails", [([1.0, 0.0], np.ones(4))], [([-1.0, 0.0], np.ones(4))]
    ### END SOLUTION


# %% pair_of_bias points=1
# 1 point: verdict and pair
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").pair_of_bias(pair_bias)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "pair_of_bias")


# %% bound_bias solution=true
def bound_bias(m, n, tau_B, tau_h):
    """How far replacing a record can move the matrix and the bias together."""
    ### BEGIN SOLUTION
    return 2 / m * tau_B * math.sqrt(tau_h**2 + 1)
    ### END SOLUTION


# %% bound_of_bias points=1
# 1 point: the bound
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").bound_of_bias(bound_bias)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "bound_of_bias")

# %% [markdown]
# #### Claim "total"
#
# *One record moves the direction of $W^l$ by at most $\Delta_\zeta = \frac2m \gamma \beta \tau_e \tau_h$ and that of
# $b^l$ by at most $\Delta_\xi = \frac2m \gamma \beta \tau_e$; so that of all L layers by at most
# $\sqrt{L \Delta_\zeta^2 + L \Delta_\xi^2} = \frac2m \gamma \beta \tau_e \sqrt{(1 + \tau_h^2) L}$* (Lee & Kifer,
# Section 4.2, [lee2020:sens-total]).
#
# Here $|\varphi'| \le \gamma$ in the hidden layers, $\beta$ is the spectral norm of the matrices $B^l$, the error is
# clipped to $\tau_e$ and what a layer reads to $\tau_h$, both in norm. What line 10 of Algorithm 1 does in the output
# layer the paper leaves open. The code takes it as Section 3.2 and Figure 1 have it: the output layer learns from e.
#
# A record is a pair (x, label): x has 2 numbers, label is 0 or 1. The network below is public, the same for all.

# %% release_total
GAMMA, BETA = 0.25, 0.9  # a sigmoid's slope; the paper's spectral norm
NET = [2, 3, 2]  # so L = 2
rng = np.random.default_rng(5)
W_NET = [None, *(rng.normal(size=(n, k)) for k, n in itertools.pairwise(NET))]
b_NET = [None, *(rng.normal(size=n) for n in NET[1:])]
B_NET = [None, rng.normal(size=(3, 2)), None]
B_NET[1] *= BETA / np.linalg.norm(B_NET[1], 2)


def term(x, label):
    """What one record adds to the sum: every layer's part, in one long vector."""
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
    """The directions of all layers, in one long vector."""
    return sum(term(x, label) for x, label in D) / len(D)


def claimed_total(L, m, gamma, beta, tau_e, tau_h):
    return 2 / m * gamma * beta * tau_e * np.sqrt((1 + tau_h**2) * L)


# %% pair_total solution=true
def pair_total():
    """The verdict, and two batches that are replace-one neighbours and show it for the network above."""
    ### BEGIN SOLUTION
    return "fails", [([1.0, 1.0], 0)], [([1.0, 1.0], 1)]
    ### END SOLUTION


# %% pair_of_total points=1
# 1 point: verdict and pair
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").pair_of_total(pair_total)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "pair_of_total")

# %% [markdown]
# The bound is for networks of L layers with any weights and any activation with $|\varphi'| \le \gamma$; hidden
# layers have one $\gamma$ and one $\beta$, and L may be 1.


# %% bound_total solution=true
def bound_total(L, m, gamma, beta, tau_e, tau_h):
    """How far replacing a record can move the directions of all L layers together."""
    ### BEGIN SOLUTION
    hidden = (L - 1) * (gamma * beta) ** 2
    return 2 / m * tau_e * math.sqrt((1 + tau_h**2) * (1 + hidden))
    ### END SOLUTION


# %% bound_of_total points=1
# 1 point: the bound
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").bound_of_total(bound_total)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "bound_of_total")

# %% [markdown]
# #### Claim "label"
#
# *Only labels are secret: neighbours have the same inputs, and one record has another label. The release is the sum
# of the clipped errors $\mathrm{clip}_{\tau_e}(\hat y_i - y_i)$, where $\hat y_i$ is a softmax and $y_i$ is one-hot.
# A label moves it by at most $\sqrt 2$, however large $\tau_e$ is, and by at most $2 \tau_e$.*
#
# A record is a pair (y_hat, label): y_hat is a list of two or more probabilities, label one of 0, 1, ... The pair is
# for $\tau_e = 1$.


# %% release_label
def release_label(D, tau_e=1.0):
    """The sum of the clipped errors."""
    return sum(clip(np.asarray(y_hat) - np.eye(len(y_hat))[int(label)], tau_e) for y_hat, label in D)


def claimed_label(tau_e):
    return min(np.sqrt(2), 2 * tau_e)


# %% pair_label solution=true
def pair_label():
    """The verdict, and two data sets that differ in one label and show it for tau_e = 1."""
    ### BEGIN SOLUTION
    return "holds", [([0.5, 0.5], 0)], [([0.5, 0.5], 1)]
    ### END SOLUTION


# %% pair_of_label points=1
# 1 point: verdict and pair
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").pair_of_label(pair_label)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "pair_of_label")

# %% [markdown]
# #### Claim "noise"
#
# *Photonic training adds its noise inside: one unit that reads n inputs releases the row
# $\frac1m \sum_i (v_i + g_i) h_i^\top$, with $|v_i| \le \tau_B$ and independent $g_i \sim N(0, \sigma^2)$. Let all
# entries of every $h_i$ be 1 or -1. In column k the noise has the standard deviation $\sigma / \sqrt m$, and
# replacing a record moves the mean by at most $2 \tau_B / m$, which is $2 \tau_B / (\sigma \sqrt m)$ standard
# deviations. Squares add up: in n columns together it is at most $\sqrt n$ times that* (the step of Ohana et al. from
# a column to the matrix, [ohana2021:prop3-cols], in terms of standard deviations).
#
# Noise covers a movement if it is likely to make the same movement itself. `noise_units` says how much noise that
# would take: the length of the shortest $(g_1, \dots, g_m)$ that moves the row as far and in the same direction,
# divided by $\sigma$. (For a single column that is the number of standard deviations above.) A record is a pair (v,
# h): v a number from `-TAU_B` to `TAU_B`, h a list of n = 3 numbers, each 1 or -1.

# %% release_noise
SIGMA = 0.5


def noise_units(D, other):
    """How many standard deviations of the noise on D lie between the rows of two batches without noise."""
    m, H = len(D), np.array([h for _, h in D], dtype=float)
    moved = sum(v * np.asarray(h) for v, h in other) / m - sum(v * np.asarray(h) for v, h in D) / m
    g = np.linalg.lstsq(H.T / m, moved, rcond=None)[0]  # the shortest of those that come nearest
    return np.linalg.norm(g) / SIGMA if np.allclose(g @ H / m, moved) else np.inf


def claimed_noise(m, n, tau_B, sigma):
    return np.sqrt(n) * 2 * tau_B / (sigma * np.sqrt(m))


# %% pair_noise solution=true
def pair_noise():
    """The verdict, and two batches D, other that are replace-one neighbours and show it by noise_units(D, other)."""
    ### BEGIN SOLUTION
    first = (0.5, [1, 1, 1])
    return "fails", [first, (0.5, [1, 1, -1])], [first, (0.5, [1, -1, 1])]
    ### END SOLUTION


# %% pair_of_noise points=1
# 1 point: verdict and pair
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps5_sensitivity").pair_of_noise(pair_noise)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps5_sensitivity", globals(), "pair_of_noise")

# %% [markdown]
# Look at it: how near to the claimed number do random pairs come, and how far is the farthest? Of which claims would
# random tries have told you that they fail, and what would you have believed of the others? `nfa eq
# lee2020:sens-total` and `nfa eq ohana2021:prop3-cols` say what is known about the published ones.

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
    "bias": (release_bias, layer_record, claimed_bias(2, 4, TAU_B, TAU_H)),
    "total": (release_total, labelled_record, claimed_total(2, 2, GAMMA, BETA, TAU_E, TAU_H)),
}
for name, (release, record, claimed) in tries.items():
    both = [record() for _ in range(300)]
    ratios = [distance(release, [both[0], one], [both[0], other]) / claimed for one, other in itertools.pairwise(both)]
    plt.hist(ratios, bins=np.linspace(0, 3.5, 71), histtype="step", label=name)
plt.axvline(1, color="k", lw=0.8)
plt.xlabel("distance of two random neighbours / claimed")
plt.ylabel("pairs")
plt.legend()
plt.show()
