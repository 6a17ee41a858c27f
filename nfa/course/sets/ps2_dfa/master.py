# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Problem set 2: direct feedback alignment
#
# **Have this page open**: Lee & Kifer (2020), Section 3.2, Equations 2 to 5 with Figure 1. About 90 minutes, 20 points.
#
# You write direct feedback alignment (DFA) for a small network from nothing but NumPy, and measure how far its
# direction is from the gradient. Replace every `raise NotImplementedError`. Loops or array operations, float64 or
# float32, helper functions in the same cell: all are fine. A cell with points shows you a few of its checks; others
# run when your notebook is graded. Do not change those cells: they are put back before grading.
#
# `nfa eq lee2020:eq5` shows what stands behind a tag such as [lee2020:eq5]. When your notebook is graded, each call
# of one of your functions has three seconds of computing.
#
# Notation, as in the papers and in nfa: layers count from 1, and slot 0 of a list is `None`. Rows are examples.
#
# | | shape | |
# |---|---|---|
# | `x`, `y` | `(k, n_0)`, `(k, n_L)` | k records and their one-hot targets |
# | `W[l]`, `b[l]` | `(n_l, n_{l-1})`, `(n_l,)` | weights and biases of layer l = 1..L |
# | `z[l]`, `h[l]` | `(k, n_l)` | before and after the activation; `h[0]` is x |
# | `B[l]` | `(n_l, n_L)` | what feeds layer l = 1..L-1 in place of transposed weights (the papers print $B^{l+1}$) |

# %% setting
import numpy as np


def small_net(sizes, seed):
    """Random W, b and B for a network of these sizes."""
    rng = np.random.default_rng(seed)
    L = len(sizes) - 1
    W = [None] + [rng.normal(size=(sizes[l], sizes[l - 1])) / np.sqrt(sizes[l - 1]) for l in range(1, L + 1)]
    b = [None] + [0.1 * rng.normal(size=sizes[l]) for l in range(1, L + 1)]
    B = [None] + [rng.normal(size=(sizes[l], sizes[L])) for l in range(1, L)] + [None]
    return W, b, B


def small_batch(k, inputs, classes, seed):
    """k random records x and one-hot targets y that depend on them."""
    x = np.random.default_rng(seed).normal(size=(k, inputs))
    return x, np.eye(classes)[x[:, :classes].argmax(axis=1)]


# %% [markdown]
# ## 1. The forward pass (5 points)
#
# $$h^0 = x, \qquad z^l = W^l h^{l-1} + b^l, \qquad h^l = \tanh(z^l) \; (l < L), \qquad
# h^L = \hat y = \mathrm{softmax}(z^L)$$
#
# The softmax of $z$ does not change when a number is added to all its entries. Use that, so that large entries do
# not overflow.


# %% forward solution=true
def forward(W, b, x):
    """The lists z and h with z[l], h[l] for l = 1..L; z[0] is None and h[0] is x."""
    ### BEGIN SOLUTION
    L = len(W) - 1
    z, h = [None], [x]
    for l in range(1, L + 1):
        z.append(h[l - 1] @ W[l].T + b[l])
        h.append(np.tanh(z[l]) if l < L else softmax(z[l]))
    return z, h


def softmax(z):
    powers = np.exp(z - z.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
    ### END SOLUTION


# %% forward_hidden points=2
# 2 points: z[l] of every layer, h[l] below the top
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").forward_hidden(forward)
### END HIDDEN TESTS
z, h = forward([None, np.array([[3.0, 4.0]]), np.eye(1)], [None, np.zeros(1), np.zeros(1)], np.array([[1.0, -0.5]]))
assert np.isclose(z[1][0][0], 1.0), "3 * 1 + 4 * (-0.5) is 1"

# %% forward_softmax points=2
# 2 points: h[L], given your z[L]
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").forward_softmax(forward)
### END HIDDEN TESTS

# %%
# to try it
W, b, B = small_net([4, 5, 3], seed=0)
x, y = small_batch(6, 4, 3, seed=1)
assert np.allclose(np.sum(forward(W, b, x)[1][2], axis=1), 1), "the outputs of a record sum to 1"

# %% forward_large points=1
# 1 point: h[L] where entries of z[L] are large
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").forward_large(forward)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps2_dfa", globals(), "forward_hidden", "forward_softmax", "forward_large")

# %% [markdown]
# ## 2. The DFA direction (8 points)
#
# Backpropagation gives layer l the vector $(W^{l+1})^\top \delta z^{l+1}$. DFA gives it a fixed random projection of
# the error of the output ([lee2020:eq5]). $B^l$, in code `B[l]`, feeds layer l; the paper prints $B^{l+1}$ for it:
#
# $$e = \hat y - y, \qquad \delta z^L = e, \qquad \delta z^l = (B^l e) \odot \tanh'(z^l) \quad (l < L)$$
#
# $$dW^l = \frac1m \sum_i \delta z^l_i (h^{l-1}_i)^\top, \qquad db^l = \frac1m \sum_i \delta z^l_i$$
#
# A training loop *subtracts* these. The number m is given and need not be the number of records: with private training
# the batch is drawn at random and may have any size, even 0, while m is public and fixed.


# %% dfa solution=true
def dfa(W, b, B, x, y, m):
    """The lists dW and db with the direction for every W[l] and b[l], l = 1..L; slot 0 is None."""
    ### BEGIN SOLUTION
    L = len(W) - 1
    z, h = forward(W, b, x)
    e = h[L] - y
    dW, db = [None] * (L + 1), [None] * (L + 1)
    for l in range(1, L + 1):
        dz = e if l == L else (e @ B[l].T) * (1 - np.tanh(z[l]) ** 2)
        dW[l] = dz.T @ h[l - 1] / m
        db[l] = dz.sum(axis=0) / m
    return dW, db
    ### END SOLUTION


# %% dfa_top points=1
# 1 point: the direction of the top layer, whatever its length and sign
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").dfa_top(dfa)
### END HIDDEN TESTS

# %%
# to try it: a shape is that of what it is added to
W, b, B = small_net([4, 5, 6, 3], seed=2)
x, y = small_batch(8, 4, 3, seed=3)
dW, db = dfa(W, b, B, x, y, m=8)
assert [np.shape(a) for a in dW[1:]] == [(5, 4), (6, 5), (3, 6)], "dW[l] has the shape of W[l]"
assert [np.shape(a) for a in db[1:]] == [(5,), (6,), (3,)], "db[l] has the shape of b[l]"

# %% dfa_feedback points=3
# 3 points: the directions of the layers below, whatever their lengths and signs
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").dfa_feedback(dfa)
### END HIDDEN TESTS

# %% dfa_scale points=2
# 2 points: lengths and signs for one record, with m = 1
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").dfa_scale(dfa)
### END HIDDEN TESTS

# %% dfa_m points=2
# 2 points: the sum over several records, divided by any m, and a batch of no records
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").dfa_m(dfa)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps2_dfa", globals(), "dfa_top", "dfa_feedback", "dfa_scale", "dfa_m")

# %% [markdown]
# ## 3. Which B would give the gradient? (3 points)
#
# If $\tanh$ were the identity, DFA would be exactly backpropagation for one choice of the matrices. Return it.


# %% transported solution=true
def transported(W):
    """The list B, with B[l] (n_l, n_L) for l = 1..L-1, that makes DFA the gradient of a linear network."""
    ### BEGIN SOLUTION
    L = len(W) - 1
    B = [None] * (L + 1)
    for l in range(L - 1, 0, -1):
        B[l] = W[L].T if l == L - 1 else W[l + 1].T @ B[l + 1]
    return B
    ### END SOLUTION


# %% transported_last points=1
# 1 point: B[L-1]
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").transported_last(transported)
### END HIDDEN TESTS

# %%
# to try it
assert np.shape(transported(small_net([4, 5, 6, 3], seed=2)[0])[2]) == (6, 3)

# %% transported_all points=2
# 2 points: every B[l]
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").transported_all(transported)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps2_dfa", globals(), "transported_last", "transported_all")

# %% [markdown]
# ## 4. It aligns (4 points)
#
# The alignment of two directions in a layer is the cosine of the angle between `dW[l]` and the gradient by `W[l]`, each
# taken as one long vector. The gradient comes from nfa:

# %% gradient
from nfa import network, ops
from nfa.rules.bp import bp


def gradient(W, b, x, y):
    """The gradient of the mean loss by every W[l], by backpropagation."""
    net = network.mlp([W[1].shape[1], *(len(v) for v in b[1:])], ops.tanh, rng=np.random.default_rng(0))
    net.W, net.b = W, b
    return bp(net, x, y)[0]


# %% cosine solution=true
def cosine(a, b):
    """The cosine of the angle between two arrays of one shape, each taken as one vector."""
    ### BEGIN SOLUTION
    return np.vdot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b))
    ### END SOLUTION


# %% cosine_values points=1
# 1 point: vectors, matrices, small and large numbers
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").cosine_values(cosine)
### END HIDDEN TESTS
assert np.isclose(cosine(np.array([[3.0, 0.0]]), np.array([[3.0, 4.0]])), 0.6)

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps2_dfa", globals(), "cosine_values")

# %% [markdown]
# Now train: at every step take the DFA direction of the whole batch (m is its size), note its cosine with the gradient
# at the same weights in each layer, and then take a step, $W^l \leftarrow W^l - \eta\, dW^l$ and
# $b^l \leftarrow b^l - \eta\, db^l$. The matrices B never change. Leave the lists and arrays that you are given as they
# are: work on copies.


# %% train solution=true
def train(W, b, B, x, y, steps, eta):
    """Train by DFA; return W, b and the cosines, an array (steps, L) with a column for each layer 1..L."""
    ### BEGIN SOLUTION
    W, b = [None, *(w.copy() for w in W[1:])], [None, *(v.copy() for v in b[1:])]
    L = len(W) - 1
    cosines = np.zeros((steps, L))
    for t in range(steps):
        dW, db = dfa(W, b, B, x, y, len(x))
        g = gradient(W, b, x, y)
        for l in range(1, L + 1):
            cosines[t, l - 1] = cosine(dW[l], g[l])
        for l in range(1, L + 1):
            W[l] -= eta * dW[l]
            b[l] -= eta * db[l]
    return W, b, cosines
    ### END SOLUTION


# %% train_cosines points=1
# 1 point: the cosines of the first step
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").train_cosines(train)
### END HIDDEN TESTS

# %% train_steps points=1
# 1 point: W and b after a few steps
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").train_steps(train)
### END HIDDEN TESTS

# %% train_copies points=1
# 1 point: W, b and B that were given are as before
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").train_copies(train)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps2_dfa", globals(), "train_cosines", "train_steps", "train_copies")

# %% [markdown]
# Look at it. The top layer has cosine 1 (why?). What do the others do, though B never learns anything? Who adapts to
# whom? Compare with tutorial 02.

# %%
import matplotlib.pyplot as plt

W, b, B = small_net([6, 10, 10, 3], seed=7)
x, y = small_batch(30, 6, 3, seed=6)
_, _, cosines = train(W, b, B, x, y, steps=150, eta=0.2)
plt.plot(cosines, label=["layer 1", "layer 2", "layer 3"])
plt.xlabel("step")
plt.ylabel("cosine of DFA and gradient")
plt.legend()
plt.show()
