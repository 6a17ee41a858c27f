# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Problem set 1: forward and backward by hand
#
# **Have this page open**: Lee & Kifer (2020), Section 3.2 from its beginning to Equation 4. About 115 minutes, 20
# points. Pencil and paper for part 1.
#
# You take a network through Equations 1 to 3, first on paper and then in NumPy, and find three places where learning
# stops. Replace every `raise NotImplementedError`. Loops or array operations, float64 or float32, lists or arrays,
# helper functions in the same cell: all are fine. A cell with points shows you a few of its checks; others run when
# your notebook is graded. Do not change those cells: they are put back before grading.
#
# `nfa eq lee2020:eq1` shows what stands behind a tag such as [lee2020:eq1]. When your notebook is graded, each call
# of one of your functions has three seconds of computing.
#
# Notation, as in the papers and in nfa: layers count from 1, and slot 0 of a list is `None`. Rows are examples: the
# papers' $W h$ for one record becomes `h @ W.T` for a batch.
#
# | | shape | |
# |---|---|---|
# | `x`, `y` | `(k, n_0)`, `(k, n_L)` | k records and their one-hot targets |
# | `W[l]`, `b[l]` | `(n_l, n_{l-1})`, `(n_l,)` | weights and biases of layer l = 1..L |
# | `z[l]`, `h[l]` | `(k, n_l)` | before and after the activation; `h[0]` is x, `h[L]` is $\hat y$ |
# | `dz[l]` | `(k, n_l)` | $\delta z^l$ of each record: the derivative of *its* loss by its $z^l$ |
#
# The hidden activation of this set is the sigmoid, $\phi(t) = 1 / (1 + e^{-t})$, whose derivative is
# $\phi'(t) = \phi(t) \, (1 - \phi(t))$. The top layer is a softmax, the loss the cross-entropy.

# %% setting
import numpy as np


def sigmoid(t):
    """1 / (1 + exp(-t)), entry by entry, without overflow."""
    return 0.5 * (1 + np.tanh(0.5 * np.asarray(t)))


def small_net(sizes, seed):
    """Random W and b for a network of these sizes."""
    rng = np.random.default_rng(seed)
    L = len(sizes) - 1
    W = [None] + [rng.normal(size=(sizes[l], sizes[l - 1])) for l in range(1, L + 1)]
    b = [None] + [rng.normal(size=sizes[l]) / 2 for l in range(1, L + 1)]
    return W, b


def small_batch(k, inputs, classes, seed):
    """k random records x and one-hot targets y that depend on them."""
    x = np.random.default_rng(seed).normal(size=(k, inputs))
    return x, np.eye(classes)[x[:, :classes].argmax(axis=1)]


# %% [markdown]
# ## 1. On paper (3 points)
#
# One record, two layers of two units. All weights are multiples of $c = \log 3$, because the sigmoid and the softmax
# turn these into fractions: $\phi(0) = 1/2$, $\phi(c) = 3/4$, $e^{2c} = 9$.
#
# $$x = \begin{pmatrix} 2 \\ 1 \end{pmatrix}, \quad
# W^1 = c \begin{pmatrix} 1 & -2 \\ -1 & 1 \end{pmatrix}, \quad b^1 = c \begin{pmatrix} 1 \\ 1 \end{pmatrix}, \quad
# W^2 = c \begin{pmatrix} 4 & -2 \\ 0 & 4 \end{pmatrix}, \quad b^2 = c \begin{pmatrix} -1 \\ 1 \end{pmatrix}, \quad
# y = \begin{pmatrix} 1 \\ 0 \end{pmatrix}$$
#
# Find on paper $z^1, h^1, z^2, \hat y$ ([lee2020:eq1]), $e = \delta z^2 = \hat y - y$ and $\delta z^1$
# ([lee2020:eq2]), and the gradients of the loss by $W^2$ and $W^1$ ([lee2020:eq3]). Enter them as numbers: fractions
# such as `5 / 16`, multiples such as `5 / 16 * c`, or decimals with three digits. Each is judged given what you entered
# before it, so that a slip costs its own point and no other.


# %% by_hand solution=true
def by_hand():
    """A dictionary of what you found: z1, h1, z2, y_hat, e, dW2, dz1, dW1. A vector is a list, a matrix one of rows."""
    c = np.log(3)
    ### BEGIN SOLUTION
    return {
        "z1": [c, 0],
        "h1": [3 / 4, 1 / 2],
        "z2": [c, 3 * c],
        "y_hat": [1 / 10, 9 / 10],
        "e": [-9 / 10, 9 / 10],
        "dW2": [[-27 / 40, -9 / 20], [27 / 40, 9 / 20]],
        "dz1": [-27 / 40 * c, 27 / 20 * c],
        "dW1": [[-27 / 20 * c, -27 / 40 * c], [27 / 10 * c, 27 / 20 * c]],
    }
    ### END SOLUTION


# %% hand_forward points=1
# 1 point: z1, and from your numbers h1, z2, y_hat
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").hand_forward(by_hand)
### END HIDDEN TESTS
assert np.shape(by_hand()["z1"]) == (2,), "z1 is a list of two numbers"
assert np.isclose(np.sum(by_hand()["y_hat"]), 1, atol=0.01), "the two outputs sum to 1"

# %% hand_top points=1
# 1 point: e from your y_hat, dW2 from your e and h1
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").hand_top(by_hand)
### END HIDDEN TESTS
assert np.shape(by_hand()["dW2"]) == (2, 2), "a gradient has the shape of what it is taken by"

# %% hand_below points=1
# 1 point: dz1 from your e, z1 and h1; dW1 from your dz1
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").hand_below(by_hand)
### END HIDDEN TESTS
assert np.shape(by_hand()["dz1"]) == (2,), "layer 1 has two units"

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps1_by_hand", globals(), "hand_forward", "hand_top", "hand_below")

# %% [markdown]
# ## 2. The forward pass and the loss (3 points)
#
# $$h^0 = x, \qquad z^l = W^l h^{l-1} + b^l, \qquad h^l = \phi(z^l) \; (l < L), \qquad
# h^L = \hat y = \mathrm{softmax}(z^L)$$
#
# The paper says that $\phi_l$ is applied element by element; that is meant for the hidden layers. The softmax needs all
# entries of a record ([lee2020:softmax]). The loss of a batch is the mean over its records of
# $-\sum_j y[j] \log \hat y[j]$ ([lee2020:ce]). You may use `sigmoid` from above. The numbers stay small here:
# overflow is the business of problem set 2.


# %% forward solution=true
def forward(W, b, x):
    """The lists z and h with z[l], h[l] for l = 1..L; z[0] is None and h[0] is x."""
    ### BEGIN SOLUTION
    L = len(W) - 1
    z, h = [None], [x]
    for l in range(1, L + 1):
        z.append(h[l - 1] @ W[l].T + b[l])
        h.append(sigmoid(z[l]) if l < L else softmax(z[l]))
    return z, h


def softmax(z):
    powers = np.exp(z - z.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)
    ### END SOLUTION


# %% forward_hidden points=1
# 1 point: z[l] of every layer, h[l] below the top
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").forward_hidden(forward)
### END HIDDEN TESTS
z, h = forward([None, np.array([[3.0, 4.0]]), np.eye(1)], [None, np.zeros(1), np.zeros(1)], np.array([[1.0, -0.75]]))
assert np.isclose(z[1][0][0], 0.0), "3 * 1 + 4 * (-0.75) is 0"
assert np.isclose(h[1][0][0], 0.5), "the sigmoid of 0 is 1/2"

# %% forward_softmax points=1
# 1 point: h[L], given your z[L]
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").forward_softmax(forward)
### END HIDDEN TESTS

# %%
# to try it
W, b = small_net([4, 5, 3], seed=0)
x, y = small_batch(6, 4, 3, seed=1)
assert np.allclose(np.sum(forward(W, b, x)[1][2], axis=1), 1), "the outputs of a record sum to 1"

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps1_by_hand", globals(), "forward_hidden", "forward_softmax")


# %% loss solution=true
def loss(y_hat, y):
    """The mean over the records (rows) of the cross-entropy, one number."""
    ### BEGIN SOLUTION
    return -np.sum(y * np.log(y_hat)) / len(y)
    ### END SOLUTION


# %% loss_values points=1
# 1 point: batches of one record and of several
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").loss_values(loss)
### END HIDDEN TESTS
assert np.isclose(loss(np.array([[0.5, 0.5]]), np.array([[0.0, 1.0]])), np.log(2)), "the loss of a coin toss"

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps1_by_hand", globals(), "loss_values")

# %% [markdown]
# ## 3. Slopes without calculus (3 points)
#
# Before you trust a formula for a gradient, measure it. The *central difference* of f by entry i of v is
#
# $$\frac{f(v + s\, u_i) - f(v - s\, u_i)}{2 s},$$
#
# where $u_i$ is 1 at entry i and 0 elsewhere, and s is the step. Write it for an array of any shape, with the step
# that is given, in float64 (you will soon see why). Leave v as it was.


# %% numerical_gradient solution=true
def numerical_gradient(f, v, step):
    """Central differences of f, a function from arrays of v's shape to numbers, by every entry: an array like v."""
    ### BEGIN SOLUTION
    found = np.zeros(v.shape)
    for i in np.ndindex(v.shape):
        up, down = v.copy(), v.copy()
        up[i] += step
        down[i] -= step
        found[i] = (f(up) - f(down)) / (2 * step)
    return found
    ### END SOLUTION


# %% numerical_values points=1
# 1 point: the derivatives of smooth functions by vectors and matrices, with a small step; v as it was
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").numerical_values(numerical_gradient)
### END HIDDEN TESTS

# %%
# to try it
assert np.allclose(numerical_gradient(lambda v: v[0] * v[1], np.array([2.0, 3.0]), 0.01), [3, 2])

# %% numerical_central points=1
# 1 point: large steps, of which both sides matter (up to a common factor)
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").numerical_central(numerical_gradient)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps1_by_hand", globals(), "numerical_values", "numerical_central")

# %% [markdown]
# How small should the step be? **Predict** the form of the curve before you run the next cell: the error of your
# numerical gradient against the step, from 0.1 down to $10^{-12}$. The exact slope comes from a step into the
# complex plane, $\operatorname{Im} f(v + \mathrm{i}s)/s$, where nothing is subtracted. Then add the one-sided
# difference $(f(v + s) - f(v)) / s$ to the picture, and both in float32.

# %%
import matplotlib.pyplot as plt


def curve(v):
    """A smooth function of one number, of about size 1."""
    return np.exp(v[0]) * np.sin(v[0])


at = np.array([0.7])
exact = np.imag(curve(at + 1e-30j)) / 1e-30
steps = 10.0 ** -np.arange(1, 13)
errors = [abs(np.ravel(numerical_gradient(curve, at, step))[0] - exact) for step in steps]
plt.loglog(steps, errors, "o-", label="central, float64")
plt.xlabel("step")
plt.ylabel("error of the slope")
plt.legend()
plt.show()

# %% [markdown]
# Two errors meet. Taylor's series leaves something out, the less the smaller the step. And f is computed only to
# about $\varepsilon = 2 \cdot 10^{-16}$ of its size ($10^{-7}$ in float32), an error that the division by s blows up.
# For which power of ten, $s = 10^{-p}$, is their sum smallest, where f, its derivatives and v are of about size 1?
# Find p by reasoning or by measuring. The best power counts, and the ones beside it.


# %% best_steps solution=true
def best_steps():
    """A dictionary with the whole number p of "central", "one-sided" (float64 both) and "central in float32"."""
    ### BEGIN SOLUTION
    return {"central": 5, "one-sided": 8, "central in float32": 2}
    ### END SOLUTION


# %% best_powers points=1
# 1 point: all three
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").best_powers(best_steps)
### END HIDDEN TESTS
assert set(best_steps()) == {"central", "one-sided", "central in float32"}

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps1_by_hand", globals(), "best_powers")

# %% [markdown]
# ## 4. The way back (6 points)
#
# $$\delta z^L = \hat y - y, \qquad \delta z^l = ((W^{l+1})^\top \delta z^{l+1}) \odot \phi'(z^l) \quad (l < L)$$
#
# Below the top there is a $\phi'$, at the top none. Where has the derivative of the softmax gone? On paper: with
# $\partial \hat y[j] / \partial z^L[i] = \hat y[j] \, (\mathbf{1}[i = j] - \hat y[i])$ and the loss
# $-\sum_j y[j] \log \hat y[j]$, show that the derivative by $z^L[i]$ is $\hat y[i] - y[i]$ ([lee2020:e]). You need that
# y sums to 1.
#
# Do the same for the *squared error* $\frac12 \|\hat y - y\|^2$ of the same softmax, where less cancels. Then take a
# network that is sure and wrong: two classes, $z^L = (t, 0)$, the target $y = (0, 1)$, and t grows without bound. To
# which number does the length $\|\delta z^L\|$ tend with the one loss, and with the other?


# %% sure_and_wrong solution=true
def sure_and_wrong():
    """The two limits of the length, as numbers: with the cross-entropy, with the squared error."""
    ### BEGIN SOLUTION
    return np.sqrt(2), 0.0
    ### END SOLUTION


# %% sure_and_wrong_limits points=1
# 1 point: both limits
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").sure_and_wrong_limits(sure_and_wrong)
### END HIDDEN TESTS
assert np.shape(sure_and_wrong()) == (2,), "two numbers"

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps1_by_hand", globals(), "sure_and_wrong_limits")

# %% [markdown]
# So much for the top; now all layers. What you return here is for each record by itself: no mean yet.


# %% deltas solution=true
def deltas(W, z, h, y):
    """The list dz with dz[l] (k, n_l) for l = 1..L; dz[0] is None. z and h are what `forward` returns."""
    ### BEGIN SOLUTION
    L = len(W) - 1
    dz = [None] * (L + 1)
    dz[L] = h[L] - y
    for l in range(L - 1, 0, -1):
        dz[l] = (dz[l + 1] @ W[l + 1]) * h[l] * (1 - h[l])
    return dz
    ### END SOLUTION


# %% deltas_top points=1
# 1 point: dz[L]
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").deltas_top(deltas)
### END HIDDEN TESTS

# %%
# to try it
one = [None, np.eye(2)], [None, np.zeros((1, 2))], [np.zeros((1, 2)), np.full((1, 2), 0.5)], np.array([[0.0, 1.0]])
assert np.shape(deltas(*one)[1]) == (1, 2), "a row for the record, a column for each class"

# %% deltas_hidden points=1
# 1 point: the layers below, given your dz[L]
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").deltas_hidden(deltas)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps1_by_hand", globals(), "deltas_top", "deltas_hidden")

# %% [markdown]
# The gradient of one record's loss by $W^l$ is the outer product $\delta z^l (h^{l-1})^\top$ ([lee2020:eq3]), by $b^l$
# it is $\delta z^l$. The gradient of the mean loss of a batch is the mean of these over its records.


# %% gradient solution=true
def gradient(W, b, x, y):
    """The lists dW and db: the gradient of the mean loss by every W[l] and b[l], l = 1..L; slot 0 is None."""
    ### BEGIN SOLUTION
    z, h = forward(W, b, x)
    dz = deltas(W, z, h, y)
    dW, db = [None], [None]
    for l in range(1, len(W)):
        dW.append(dz[l].T @ h[l - 1] / len(x))
        db.append(dz[l].mean(axis=0))
    return dW, db
    ### END SOLUTION


# %% gradient_direction points=1
# 1 point: every direction, whatever its length and sign
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").gradient_direction(gradient)
### END HIDDEN TESTS

# %% gradient_scale points=1
# 1 point: lengths and signs
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").gradient_scale(gradient)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps1_by_hand", globals(), "gradient_direction", "gradient_scale")

# %% [markdown]
# Hold it against your own numerical gradient, layer by layer, as here for the biases of layer 1. With which step? And
# in the by-hand network of part 1?

# %%
W, b = small_net([4, 5, 6, 3], seed=2)
x, y = small_batch(8, 4, 3, seed=3)


def loss_of_b1(v):
    """The loss as a function of the biases of layer 1."""
    _, h = forward(W, [None, v, *b[2:]], x)
    return loss(np.asarray(h[-1]), y)


dW, db = gradient(W, b, x, y)
print("shapes of dW, as of W:", [np.shape(a) for a in dW[1:]], [np.shape(w) for w in W[1:]])
print("backpropagation", np.round(db[1], 6))
print("differences    ", np.round(numerical_gradient(loss_of_b1, b[1], 1e-5), 6))

# %% [markdown]
# **A convolution** uses the same weights at every position of an image. Take k images `x`, an array (k, n, m), and a
# kernel `K`, an array (s, t) with $s \leq n$ and $t \leq m$. Record i has the pre-activations
#
# $$z_i[a, b] = \sum_{p=0}^{s-1} \sum_{q=0}^{t-1} K[p, q] \; x_i[a + p, b + q]
# \qquad (0 \leq a \leq n - s, \; 0 \leq b \leq m - t).$$
#
# As before, `dz` has the derivatives of each record's loss by its z, here an array (k, n - s + 1, m - t + 1). On paper,
# derive the derivative of one record's loss by $K[p, q]$ with the chain rule. How many entries of z does $K[p, q]$
# change? Then write the convolution, and the gradient of the mean loss of the batch by K. You can test the gradient
# with your `numerical_gradient`.


# %% convolve solution=true
def convolve(x, K):
    """The pre-activations z, an array (k, n - s + 1, m - t + 1), for images x and a kernel K."""
    ### BEGIN SOLUTION
    s, t = K.shape
    z = np.zeros((len(x), x.shape[1] - s + 1, x.shape[2] - t + 1))
    for p in range(s):
        for q in range(t):
            z += K[p, q] * x[:, p : p + z.shape[1], q : q + z.shape[2]]
    return z
    ### END SOLUTION


# %% kernel_gradient solution=true
def kernel_gradient(x, dz):
    """The gradient of the mean loss of the batch by K, an array like K."""
    ### BEGIN SOLUTION
    rows, columns = dz.shape[1:]
    dK = np.zeros((x.shape[1] - rows + 1, x.shape[2] - columns + 1))
    for p, q in np.ndindex(dK.shape):
        dK[p, q] = np.sum(dz * x[:, p : p + rows, q : q + columns]) / len(x)
    return dK
    ### END SOLUTION


# %% kernel_values points=1
# 1 point: the convolution, and the gradient by its kernel
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").kernel_values(convolve, kernel_gradient)
### END HIDDEN TESTS
assert np.shape(convolve(np.ones((1, 3, 4)), np.ones((2, 2)))) == (1, 2, 3), "the kernel has 2 by 3 positions"

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps1_by_hand", globals(), "kernel_values")

# %% [markdown]
# ## 5. The length of one record's gradient (2 points)
#
# Private training limits how much *one record* can change an update, and so needs the length of every record's own
# gradient, all entries taken as one vector (the Frobenius norm). That looks like k matrices of the shape of $W^l$. But
# each is an outer product: what is $\sum_{i,j} (\delta z[i] \, h[j])^2$? Form no matrix.


# %% lengths solution=true
def lengths(dz, h):
    """Two arrays (k,): the length of each record's gradient by W[l], and by W[l] and b[l] together, as one long vector.

    dz (k, n_l) is dz[l] and h (k, n_{l-1}) is h[l-1].
    """
    ### BEGIN SOLUTION
    errors, inputs = np.sum(dz**2, axis=1), np.sum(h**2, axis=1)
    return np.sqrt(errors * inputs), np.sqrt(errors * (inputs + 1))
    ### END SOLUTION


# %% lengths_W points=1
# 1 point: by W[l]
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").lengths_W(lengths)
### END HIDDEN TESTS
assert np.allclose(lengths(np.array([[3.0, 4.0]]), np.array([[0.0, 2.0, 0.0]]))[0], [10])

# %% lengths_both points=1
# 1 point: by W[l] and b[l] together
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").lengths_both(lengths)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps1_by_hand", globals(), "lengths_W", "lengths_both")

# %% [markdown]
# ## 6. Where learning stops (3 points)
#
# **From zero.** A network with three layers, 3-4-4-2, all weights *and* biases 0, trained by gradient descent on one
# batch ([lee2020:eq4]): how many of $W^1, W^2, W^3$ are no longer zero after 1, 2 and 3 steps, rounding aside? Three
# cases: sigmoid units and more records of one class than of the other; the same batch with tanh units ($\phi(0) = 0$,
# $\phi'(0) = 1$); sigmoid units again and as many records of either class. Last: after 100 steps in the first case, how
# many different rows does $W^1$ have, rounding aside?
#
# Think first, layer by layer, with Equations 2 and 3. `descend` makes steps with your `gradient`, to look afterwards.


# %% descend
def descend(W, b, x, y, steps, eta=2.0):
    """Gradient descent with your `gradient` and sigmoid units. Returns new W and b."""
    for _ in range(steps):
        dW, db = gradient(W, b, x, y)
        W = [None, *(W[l] - eta * np.asarray(dW[l]) for l in range(1, len(W)))]
        b = [None, *(b[l] - eta * np.asarray(db[l]) for l in range(1, len(b)))]
    return W, b


def zero_net(sizes):
    """All weights and biases 0."""
    L = len(sizes) - 1
    W = [None] + [np.zeros((sizes[l], sizes[l - 1])) for l in range(1, L + 1)]
    return W, [None] + [np.zeros(sizes[l]) for l in range(1, L + 1)]


x_zero = np.random.default_rng(5).normal(size=(6, 3))
y_more = np.eye(2)[[0, 0, 0, 0, 1, 1]]  # more of one class
y_even = np.eye(2)[[0, 0, 0, 1, 1, 1]]  # as many of either


# %%
# Room for experiments with descend, zero_net, x_zero, y_more, y_even


# %% from_zero solution=true
def from_zero():
    """A dictionary: "sigmoid", "tanh" and "even classes" lists of three counts, "different rows" a whole number."""
    ### BEGIN SOLUTION
    return {"sigmoid": [1, 2, 3], "tanh": [0, 0, 0], "even classes": [0, 0, 0], "different rows": 1}
    ### END SOLUTION


# %% zero_moves points=1
# 1 point: "sigmoid" and "tanh"
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").zero_moves(from_zero)
### END HIDDEN TESTS

# %%
# to try it
assert np.shape(from_zero()["sigmoid"]) == np.shape(from_zero()["tanh"]) == (3,)

# %% zero_stays points=1
# 1 point: "even classes" and "different rows"
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").zero_stays(from_zero)
### END HIDDEN TESTS

# %%
# to try it
assert np.shape(from_zero()["even classes"]) == (3,)

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps1_by_hand", globals(), "zero_moves", "zero_stays")

# %% [markdown]
# **In the depth.** Lee & Kifer ask of every activation a bound on its slope, $|\phi'| \le \gamma$ ([lee2020:gamma]). In
# a network of L layers, the hidden ones sigmoid, let no $W^l$ stretch any vector (its largest singular value is at
# most 1). What is the largest that $\|\delta z^1\| / \|\delta z^L\|$ can be, over all such networks and records?


# %% largest_share solution=true
def largest_share(L):
    """The largest possible length of dz[1] for one record, as a share of that of dz[L]."""
    ### BEGIN SOLUTION
    return 0.25 ** (L - 1)
    ### END SOLUTION


# %% fading points=1
# 1 point: networks of one layer up to six
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").fading(largest_share)
### END HIDDEN TESTS
assert np.isclose(largest_share(1), 1), "with one layer dz[1] is dz[L]"

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps1_by_hand", globals(), "fading")

# %% [markdown]
# Larger weights, then? Look at how long $\delta z^l$ is in each layer of a network with eight layers, for weights of
# three sizes. **Predict** before you run the cell: which size carries the error furthest down? Why does the largest not
# help? Compare with the way of [lee2020:eq5], the subject of problem set 2, where every layer gets e itself.

# %%
x, y = small_batch(10, 8, 8, seed=8)
for size in (0.3, 3, 30):
    W, b = small_net([8] * 9, seed=9)
    W = [None, *(size * w / np.sqrt(8) for w in W[1:])]
    z, h = forward(W, b, x)
    dz = deltas(W, z, h, y)
    plt.semilogy(range(1, 9), [np.mean(np.linalg.norm(dz[l], axis=1)) for l in range(1, 9)], "o-")
plt.legend([f"weights of size {size}" for size in (0.3, 3, 30)])
plt.xlabel("layer")
plt.ylabel("mean length of dz")
plt.show()
