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
# **Have this page open**: Lee & Kifer (2020), Section 3.2, Equations 2 to 5 with Figure 1. Problem set 1 comes before
# this one. About 90 minutes, 20 points.
#
# You write direct feedback alignment (DFA) for a small network in NumPy. Then you measure the angle between the DFA
# direction and the gradient, before and during training.
#
# Replace every `raise NotImplementedError`. You may paste what you wrote in problem set 1. Loops or array operations,
# float64 or float32, and helper functions in the same cell are all fine. After each exercise, `check_it` runs the
# checks of grading with other values. The checks of grading are hidden in the cells with points. Do not change these
# cells, because grading restores them.
#
# `nfa eq lee2020:eq5` explains a tag such as [lee2020:eq5]. In grading, each call of one of your functions has three
# seconds of processor time.
#
# Notation, as in the papers and in nfa: we count layers from 1, and slot 0 of a list is `None`, except `h[0]`. Rows are
# records.
#
# | | shape | |
# |---|---|---|
# | `x`, `y` | `(k, n_0)`, `(k, n_L)` | k records and their one-hot labels |
# | `W[l]`, `b[l]` | `(n_l, n_{l-1})`, `(n_l,)` | weights and biases of layer l = 1..L |
# | `z[l]`, `h[l]` | `(k, n_l)` | before and after the activation; `h[0]` is x, `h[L]` is $\hat y$ |
# | `dz[l]` | `(k, n_l)` | $\delta z^l$ of each record: the vector that layer l learns from |
# | `B[l]` | `(n_l, n_L)` | fixed random feedback of layer l = 1..L-1 in place of transposed weights; slot L is `None` |

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
    """k random records x and one-hot labels y that depend on them."""
    x = np.random.default_rng(seed).normal(size=(k, inputs))
    return x, np.eye(classes)[x[:, :classes].argmax(axis=1)]


# %% [markdown]
# ## 1. The forward pass (3 points, 15 minutes)
#
# $$h^0 = x, \qquad z^l = W^l h^{l-1} + b^l, \qquad h^l = \tanh(z^l) \; (l < L), \qquad
# h^L = \hat y = \mathrm{softmax}(z^L)$$
#
# The hidden layers now have tanh in place of the sigmoid of problem set 1. The entries of $z^L$ can be any numbers from
# -2000 to 2000. But $e^{2000}$ overflows, and $e^{-2000}$ is rounded to 0, so a row of such powers can become 0/0. The
# softmax of z does not change if the same number is added to all its entries. Use this property to avoid both problems.


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


# %% forward_hidden points=1
# 1 point: z[l] of every layer, h[l] of the hidden layers
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").forward_hidden(forward)
### END HIDDEN TESTS
z, h = forward([None, np.array([[3.0, 4.0]]), np.eye(1)], [None, np.zeros(1), np.zeros(1)], np.array([[1.0, -0.5]]))
assert np.isclose(z[1][0][0], 1.0), "3 * 1 + 4 * (-0.5) is 1"

# %% forward_softmax points=1
# 1 point: h[L], computed from your z[L]
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").forward_softmax(forward)
### END HIDDEN TESTS

# %%
# Try your function.
W, b, B = small_net([4, 5, 3], seed=0)
x, y = small_batch(6, 4, 3, seed=1)
assert np.allclose(np.sum(forward(W, b, x)[1][2], axis=1), 1), "the outputs of a record sum to 1"

# %% forward_large points=1
# 1 point: h[L] if entries of z[L] are large
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").forward_large(forward)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps2_dfa", globals(), "forward_hidden", "forward_softmax", "forward_large")

# %% [markdown]
# ## 2. The DFA direction (8 points, 25 minutes)
#
# Backpropagation passes the vector $(W^{l+1})^\top \delta z^{l+1}$ to layer l. DFA passes a fixed random projection of
# the output's error e to layer l ([lee2020:eq5]). The matrix $B^l$, in code `B[l]`, feeds layer l. The papers print
# $B^{l+1}$ for this matrix. In the following formulas, $\odot$ is the product entry by entry.
#
# $$e = \hat y - y, \qquad \delta z^L = e, \qquad \delta z^l = (B^l e) \odot \tanh'(z^l) \quad (l < L)$$
#
# The direction for $W^l$ and $b^l$ is a sum over the records i, divided by a number m:
#
# $$dW^l = \frac1m \sum_i \delta z^l_i (h^{l-1}_i)^\top, \qquad db^l = \frac1m \sum_i \delta z^l_i$$
#
# A training loop *subtracts* this direction. The number m is given, and it may differ from the number of records in the
# batch. In private training (problem set 4), the batch is random and may have any number of records, even 0, while m is
# public and fixed.


# %% dfa solution=true
def dfa(W, b, B, x, y, m):
    """The lists dW and db: the DFA direction for every W[l] and b[l], l = 1..L; slot 0 is None."""
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
# 1 point: the direction of the top layer, with any norm and sign
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").dfa_top(dfa)
### END HIDDEN TESTS

# %%
# Try your function: the shapes of dW and db.
W, b, B = small_net([4, 5, 6, 3], seed=2)
x, y = small_batch(8, 4, 3, seed=3)
dW, db = dfa(W, b, B, x, y, m=8)
assert [np.shape(a) for a in dW[1:]] == [(5, 4), (6, 5), (3, 6)], "dW[l] has the shape of W[l]"
assert [np.shape(a) for a in db[1:]] == [(5,), (6,), (3,)], "db[l] has the shape of b[l]"

# %% dfa_feedback points=3
# 3 points: the directions of the hidden layers, with any norms and signs
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").dfa_feedback(dfa)
### END HIDDEN TESTS

# %% dfa_scale points=2
# 2 points: norms and signs for one record, with m = 1
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").dfa_scale(dfa)
### END HIDDEN TESTS

# %% dfa_m points=2
# 2 points: the sum over several records, divided by any m, and a batch without records
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").dfa_m(dfa)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps2_dfa", globals(), "dfa_top", "dfa_feedback", "dfa_scale", "dfa_m")

# %% [markdown]
# ## 3. Which B gives the gradient? (3 points, 15 minutes)
#
# Suppose that $\tanh$ were the identity. Then for one choice of the matrices B, DFA is equal to backpropagation. Return
# these matrices. The list must have a slot 0, so that `B[l]` belongs to layer l. A slot L is optional. You can put
# anything into these two slots, for example `None`.


# %% transported solution=true
def transported(W):
    """The list B, with B[l] (n_l, n_L) for l = 1..L-1, for which DFA is the gradient of a linear network."""
    ### BEGIN SOLUTION
    L = len(W) - 1
    B = [None] * (L + 1)
    for l in range(L - 1, 0, -1):
        B[l] = W[L].T if l == L - 1 else W[l + 1].T @ B[l + 1]
    return B
    ### END SOLUTION


# %% transported_last points=1
# 1 point: the matrix B[L-1]
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").transported_last(transported)
### END HIDDEN TESTS

# %%
# Try your function.
assert np.shape(transported(small_net([4, 5, 6, 3], seed=2)[0])[2]) == (6, 3)

# %% transported_all points=1
# 1 point: every matrix B[l]
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").transported_all(transported)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps2_dfa", globals(), "transported_last", "transported_all")

# %% [markdown]
# **Question.** Now use these matrices B in a network with three layers and **tanh** units in the hidden layers. In
# which layers is the DFA direction, with m = number of records, equal to the gradient of the mean loss? The loss of a
# record is the cross-entropy, as in problem set 1.
#
# - `"a"`: In layers 2 and 3. For layer 1, backpropagation also multiplies by the derivative of tanh at $z^2$.
# - `"b"`: In all three layers, because B contains the same transposed weights as backpropagation.
# - `"c"`: Only in layer 3, because the other layers have a derivative of tanh.
#
# Return the letter and your reason, which must have at least eight different words. The letter is graded. Your teacher
# reads the reason.


# %% transposes solution=true
def transposes():
    """Two things: the letter and the reason."""
    ### BEGIN SOLUTION
    return "a", "In layer 2 both rules multiply e by the transposed W[3] and then by the same derivative."
    ### END SOLUTION


# %% transposes_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").transposes_answer(transposes)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps2_dfa", globals(), "transposes_answer")

# %% [markdown]
# ## 4. The alignment (6 points, 35 minutes)
#
# The alignment of two directions in a layer is the cosine of the angle between `dW[l]` and the gradient by `W[l]`. For
# this cosine, take all entries of an array as one vector. Your function must be right for small and large numbers. The
# largest absolute value in an array is between $10^{-8}$ and $10^4$, so no array is 0 everywhere. nfa computes the
# gradient:

# %% gradient
from nfa import network, ops
from nfa.rules.bp import bp


def gradient(W, b, x, y):
    """The gradient of the mean cross-entropy by every W[l], by backpropagation."""
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
# 1 point: the cosine of vectors and matrices, with small and large numbers
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").cosine_values(cosine)
### END HIDDEN TESTS
assert np.isclose(cosine(np.array([[3.0, 0.0]]), np.array([[3.0, 4.0]])), 0.6)

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps2_dfa", globals(), "cosine_values")

# %% [markdown]
# **Question.** Somebody makes one DFA step with a very small learning rate $\eta$:
# $W^l \leftarrow W^l - \eta\, dW^l$ and $b^l \leftarrow b^l - \eta\, db^l$. They compute the loss of the same batch
# before and after the step. Which sentence is true?
#
# - `"a"`: The loss always decreases, because the DFA direction is the gradient of the loss, with B in place of W.
# - `"b"`: The loss decreases only if the cosine with the gradient is 1 in every layer.
# - `"c"`: The loss decreases if the inner product of the DFA direction and the gradient, added over all weights and
#   biases, is positive.


# %% decreases solution=true
def decreases():
    """Two things: the letter and the reason, in at least eight different words."""
    ### BEGIN SOLUTION
    return "c", "To first order in eta, the loss changes by minus eta times this inner product."
    ### END SOLUTION


# %% decreases_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").decreases_answer(decreases)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps2_dfa", globals(), "decreases_answer")

# %% [markdown]
# **Predict** before you train. The network below has three layers of 10, 10 and 3 units, and B is random and never
# changes. You make 150 steps with the learning rate 0.2. Guess three cosines: in layer 2 at the first step, in layer 2
# at the last step, and in layer 3 at the last step. Every guess from -1 to 1 gets the point.


# %% guess solution=true
def guess():
    """A list with your three guesses: layer 2 at the first step, layer 2 at the last step, layer 3 at the last step."""
    ### BEGIN SOLUTION
    return [0.0, 0.5, 1.0]
    ### END SOLUTION


# %% guess_made points=1
# 1 point: three numbers from -1 to 1
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").guess_made(guess)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps2_dfa", globals(), "guess_made")

# %% [markdown]
# Now train. Each step computes the DFA direction of the whole batch, with m = number of records. For each layer, the
# step stores the cosine of this direction with the gradient at the same weights. Then the step subtracts $\eta$ times
# the direction from W and b. The matrices B never change. A later cell compares the first W with the trained W. So
# store the new values in new arrays, and do not change the W and b that `train` gets. The function `gradient` needs
# arrays `W[l]` and `b[l]`, so do not give it lists of numbers.


# %% train solution=true
def train(W, b, B, x, y, steps, eta):
    """W and b after this many DFA steps, and the cosines: an array (steps, L) with a column for each layer 1..L."""
    ### BEGIN SOLUTION
    L = len(W) - 1
    cosines = np.zeros((steps, L))
    for t in range(steps):
        dW, db = dfa(W, b, B, x, y, len(x))
        g = gradient(W, b, x, y)
        for l in range(1, L + 1):
            cosines[t, l - 1] = cosine(dW[l], g[l])
        W = [None] + [W[l] - eta * dW[l] for l in range(1, L + 1)]
        b = [None] + [b[l] - eta * db[l] for l in range(1, L + 1)]
    return W, b, cosines
    ### END SOLUTION


# %% train_cosines points=1
# 1 point: the cosines of the first step and of later steps
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").train_cosines(train)
### END HIDDEN TESTS

# %% train_steps points=1
# 1 point: W and b after a few steps; the W and b that `train` gets are not changed
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").train_steps(train)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps2_dfa", globals(), "train_cosines", "train_steps")

# %% [markdown]
# Compare the cosines with your guess. Why is the cosine of the top layer exactly 1? The matrices B do not change. So
# which matrices change until the directions agree? The last printed line compares the top weights with the feedback of
# layer 2.

# %%
import matplotlib.pyplot as plt

W, b, B = small_net([6, 10, 10, 3], seed=7)
x, y = small_batch(30, 6, 3, seed=6)
new_W, _, cosines = train(W, b, B, x, y, steps=150, eta=0.2)
plt.plot(cosines, label=["layer 1", "layer 2", "layer 3"])
plt.plot([0, 149, 149], guess(), "kx", label="my guess")
plt.xlabel("step")
plt.ylabel("cosine of DFA and gradient")
plt.legend()
plt.show()
print("layer 2 first, layer 2 last, layer 3 last:", np.round([cosines[0][1], cosines[-1][1], cosines[-1][2]], 2))
agree = [cosine(np.transpose(top), B[2]) for top in (W[3], new_W[3])]
print("cosine of W[3].T and B[2], before and after:", np.round(agree, 2))

# %% [markdown]
# **Question.** Somebody draws new random matrices B in every step. The new matrices have the same distribution as the
# first matrices. What happens to the cosine in the hidden layers, averaged over many steps?
#
# - `"a"`: It rises as before, because each new B has the same distribution as the fixed B.
# - `"b"`: It stays near 0, because the weights cannot adapt to matrices that change in every step.
# - `"c"`: It rises faster, because the random matrices average out to the transposed weights.


# %% fresh solution=true
def fresh():
    """Two things: the letter and the reason, in at least eight different words."""
    ### BEGIN SOLUTION
    return "b", "Each new B is independent of the weights, so its direction is unrelated to the gradient."
    ### END SOLUTION


# %% fresh_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps2_dfa").fresh_answer(fresh)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps2_dfa", globals(), "fresh_answer")

# %%
# The experiment: 150 steps, each with a new B. The network still learns. Which of its layers learn?
rows = []
for step in range(150):
    new_B = [None, *(np.random.default_rng([step, l]).normal(size=B[l].shape) for l in (1, 2)), None]
    W, b, row = train(W, b, new_B, x, y, steps=1, eta=0.2)
    rows.append(row[0])
print("mean cosines with new B:  ", np.round(np.mean(rows, axis=0), 2))
print("mean cosines with fixed B:", np.round(np.mean(cosines, axis=0), 2))
