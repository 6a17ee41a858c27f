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
# points. Part 1 needs pencil and paper.
#
# You compute the forward and the backward pass of a network with Equations 1 to 3, first on paper and then in NumPy.
# You test your gradient with differences of the loss. At the end, you find three cases in which a network stops
# learning.
#
# Replace every `raise NotImplementedError`. Loops or array operations, float64 or float32, lists or arrays, and helper
# functions in the same cell are all fine. After each exercise, `check_it` runs the checks of grading with other values.
# The checks of grading are hidden in the cells with points. Do not change these cells, because grading restores them.
#
# `nfa eq lee2020:eq1` explains a tag such as [lee2020:eq1]. In grading, each call of one of your functions has three
# seconds of processor time.
#
# Notation, as in the papers and in nfa: we count layers from 1, and slot 0 of a list is `None`, except `h[0]`. Rows are
# records. So the papers' $W h$ for one record becomes `h @ W.T` for a batch.
#
# | | shape | |
# |---|---|---|
# | `x`, `y` | `(k, n_0)`, `(k, n_L)` | k records and their one-hot labels |
# | `W[l]`, `b[l]` | `(n_l, n_{l-1})`, `(n_l,)` | weights and biases of layer l = 1..L |
# | `z[l]`, `h[l]` | `(k, n_l)` | before and after the activation; `h[0]` is x, `h[L]` is $\hat y$ |
# | `dz[l]` | `(k, n_l)` | $\delta z^l$ of each record: the derivative of *its own* loss by its $z^l$ |
#
# The activation $\phi$ of the hidden layers is the sigmoid, $\phi(t) = 1 / (1 + e^{-t})$. Its derivative is
# $\phi'(t) = \phi(t) \, (1 - \phi(t))$. The top layer L has a softmax, and the loss is the cross-entropy.

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
    """k random records x and one-hot labels y that depend on them."""
    x = np.random.default_rng(seed).normal(size=(k, inputs))
    return x, np.eye(classes)[x[:, :classes].argmax(axis=1)]


# %% [markdown]
# ## 1. On paper (3 points, 25 minutes)
#
# Take one record and a network with two layers of two units. All weights are multiples of $c = \log 3$, because the
# sigmoid and the softmax turn these multiples into fractions: $\phi(0) = 1/2$, $\phi(c) = 3/4$, $e^{2c} = 9$.
#
# $$x = \begin{pmatrix} 2 \\ 1 \end{pmatrix}, \quad
# W^1 = c \begin{pmatrix} 1 & -2 \\ -1 & 1 \end{pmatrix}, \quad b^1 = c \begin{pmatrix} 1 \\ 1 \end{pmatrix}, \quad
# W^2 = c \begin{pmatrix} 4 & -2 \\ 0 & 4 \end{pmatrix}, \quad b^2 = c \begin{pmatrix} -1 \\ 1 \end{pmatrix}, \quad
# y = \begin{pmatrix} 1 \\ 0 \end{pmatrix}$$
#
# Compute on paper:
#
# - $z^1, h^1, z^2, \hat y$ ([lee2020:eq1])
# - the error $e = \delta z^2 = \hat y - y$, and $\delta z^1$ ([lee2020:eq2])
# - the gradients of the loss by $W^2$ and $W^1$ ([lee2020:eq3])
#
# Enter fractions such as `5 / 16`, multiples such as `5 / 16 * c`, or decimals with three digits. Each check computes
# the next number from your earlier numbers, even if these are wrong. So one slip of the pen costs only one point.


# %% by_hand solution=true
def by_hand():
    """A dictionary with z1, h1, z2, y_hat, e, dW2, dz1, dW1. A vector is a list, and a matrix is a list of rows."""
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
# 1 point: z1, and then h1, z2 and y_hat, each computed from your number before it
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").hand_forward(by_hand)
### END HIDDEN TESTS
assert np.shape(by_hand()["z1"]) == (2,), "z1 is a list of two numbers"
assert np.isclose(np.sum(by_hand()["y_hat"]), 1, atol=0.01), "the two outputs sum to 1"

# %% hand_top points=1
# 1 point: e, computed from your y_hat; dW2, computed from your e and h1
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").hand_top(by_hand)
### END HIDDEN TESTS
assert np.shape(by_hand()["dW2"]) == (2, 2), "the gradient by W^2 has the shape of W^2"

# %% hand_below points=1
# 1 point: dz1, computed from your e, z1 and h1; dW1, computed from your dz1
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").hand_below(by_hand)
### END HIDDEN TESTS
assert np.shape(by_hand()["dz1"]) == (2,), "layer 1 has two units"

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps1_by_hand", globals(), "hand_forward", "hand_top", "hand_below")

# %% [markdown]
# ## 2. The forward pass and the loss (3 points, 15 minutes)
#
# $$h^0 = x, \qquad z^l = W^l h^{l-1} + b^l, \qquad h^l = \phi(z^l) \; (l < L), \qquad
# h^L = \hat y = \mathrm{softmax}(z^L)$$
#
# The paper applies $\phi_l$ to each entry separately. This is true for the hidden layers only, because the softmax
# needs all entries of a record ([lee2020:softmax]). The loss of a batch is the mean over its records of
# $-\sum_j y[j] \log \hat y[j]$ ([lee2020:ce]). You may use `sigmoid` from above. The entries of z stay small here, so
# nothing overflows. Problem set 2 treats overflow.


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
# 1 point: z[l] of every layer, and h[l] of the hidden layers
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").forward_hidden(forward)
### END HIDDEN TESTS
z, h = forward([None, np.array([[3.0, 4.0]]), np.eye(1)], [None, np.zeros(1), np.zeros(1)], np.array([[1.0, -0.75]]))
assert np.isclose(z[1][0][0], 0.0), "3 * 1 + 4 * (-0.75) is 0"
assert np.isclose(h[1][0][0], 0.5), "the sigmoid of 0 is 1/2"

# %% forward_softmax points=1
# 1 point: h[L], computed from your z[L]
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").forward_softmax(forward)
### END HIDDEN TESTS

# %%
# Try your function.
W, b = small_net([4, 5, 3], seed=0)
x, y = small_batch(6, 4, 3, seed=1)
assert np.allclose(np.sum(forward(W, b, x)[1][2], axis=1), 1), "the outputs of a record sum to 1"

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps1_by_hand", globals(), "forward_hidden", "forward_softmax")


# %% loss solution=true
def loss(y_hat, y):
    """The mean over the records (rows) of the cross-entropy, one number."""
    ### BEGIN SOLUTION
    return -np.sum(y * np.log(y_hat)) / len(y)
    ### END SOLUTION


# %% loss_values points=1
# 1 point: the loss of batches with one record and with several records
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").loss_values(loss)
### END HIDDEN TESTS
assert np.isclose(loss(np.array([[0.5, 0.5]]), np.array([[0.0, 1.0]])), np.log(2)), "log 2 for two equal outputs"

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps1_by_hand", globals(), "loss_values")

# %% [markdown]
# ## 3. Derivatives without calculus (4 points, 20 minutes)
#
# Before you trust a formula for a gradient, compare it with differences. The *central difference* of a function f by
# entry i of an array v is
#
# $$\frac{f(v + s\, u_i) - f(v - s\, u_i)}{2 s}.$$
#
# Here $u_i$ is 1 at entry i and 0 elsewhere, and the number s > 0 is the **shift**. The *one-sided difference* is
# $(f(v + s\, u_i) - f(v)) / s$.
#
# **Predict** first. You can choose the shift $s = 10^{-p}$ with a whole number p. Suppose that f, its derivatives and v
# are of about size 1. For which p is the error smallest? Guess three numbers: for the central difference in float64,
# the one-sided difference in float64, and the central difference in float32. float64 rounds to about 16 digits, and
# float32 to about 7. Every guess from 1 to 16 gets the point.


# %% guess solution=true
def guess():
    """A list with your three guesses of p: central, one-sided, central in float32."""
    ### BEGIN SOLUTION
    return [5, 8, 2]
    ### END SOLUTION


# %% guess_made points=1
# 1 point: three numbers from 1 to 16
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").guess_made(guess)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps1_by_hand", globals(), "guess_made")

# %% [markdown]
# Now write the central difference for an array v of float64, with any shape, and the given shift. Do not change v.


# %% numerical_gradient solution=true
def numerical_gradient(f, v, shift):
    """The central differences of f by every entry of v, an array like v. f returns a number for an array like v."""
    ### BEGIN SOLUTION
    found = np.zeros(v.shape)
    for i in np.ndindex(v.shape):
        up, down = v.copy(), v.copy()
        up[i] += shift
        down[i] -= shift
        found[i] = (f(up) - f(down)) / (2 * shift)
    return found
    ### END SOLUTION


# %% numerical_values points=1
# 1 point: the derivatives of smooth functions by arrays, with a small shift; v is not changed
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").numerical_values(numerical_gradient)
### END HIDDEN TESTS

# %%
# Try your function.
assert np.allclose(numerical_gradient(lambda v: v[0] * v[1], np.array([2.0, 3.0]), 0.01), [3, 2])

# %% numerical_central points=1
# 1 point: the central differences for large shifts; if all are wrong by one factor, only the cell above loses its point
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").numerical_central(numerical_gradient)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps1_by_hand", globals(), "numerical_values", "numerical_central")

# %% [markdown]
# The next cell measures the errors and compares them with your guess. The exact derivative comes from a complex shift:
# $\operatorname{Im} f(v + \mathrm{i} s) / s$ with a tiny s. This formula subtracts nothing, so no digits cancel.

# %%
import matplotlib.pyplot as plt


def smooth(v):
    """A smooth function of one number. Its values and derivatives are of about size 1."""
    return np.exp(v) * np.sin(v)


at = np.linspace(0.3, 1.2, 10)
exact = np.imag(smooth(at + 1e-30j)) / 1e-30
best = []
for name, number_type in (("central", np.float64), ("one-sided", np.float64), ("central in float32", np.float32)):
    errors = []
    for p in range(1, 13):
        s, v = number_type(10.0**-p), at.astype(number_type)
        one_sided = (smooth(v + s) - smooth(v)) / s
        central = (smooth(v + s) - smooth(v - s)) / (2 * s)
        errors.append(np.mean(np.abs((one_sided if name == "one-sided" else central) - exact)))
    best.append(int(np.argmin(errors)) + 1)
    plt.semilogy(range(1, 13), errors, "o-", label=name)
plt.xlabel("p, for the shift $10^{-p}$")
plt.ylabel("mean error of the derivative")
plt.legend()
plt.show()
print("the best p:", best, "  my guess:", list(guess()))

# %% [markdown]
# **Question.** In float64, the central difference is much less accurate with $s = 10^{-12}$ than with $s = 10^{-5}$.
# Which sentence explains why?
#
# - `"a"`: Taylor's series leaves out more terms if the shift is smaller.
# - `"b"`: The values of f are rounded, and the division by 2s multiplies their rounding errors.
# - `"c"`: $10^{-12}$ is below the accuracy of float64, so v + s is equal to v.
#
# Return the letter and your reason, which must have at least eight different words. The letter is graded. Your teacher
# reads the reason.


# %% rounding solution=true
def rounding():
    """Two things: the letter and the reason."""
    ### BEGIN SOLUTION
    return "b", "Each f has an error of about 1e-16, and 1e-16 divided by 1e-12 is only 1e-4."
    ### END SOLUTION


# %% rounding_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").rounding_answer(rounding)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps1_by_hand", globals(), "rounding_answer")

# %% [markdown]
# ## 4. The backward pass (6 points, 35 minutes)
#
# In the following formulas, $\odot$ is the product entry by entry.
#
# $$\delta z^L = \hat y - y, \qquad \delta z^l = ((W^{l+1})^\top \delta z^{l+1}) \odot \phi'(z^l) \quad (l < L)$$
#
# The hidden layers have a factor $\phi'$, but the top layer has no such factor. You show on paper why. The derivative
# of the softmax is $\partial \hat y[j] / \partial z^L[i] = \hat y[j] \, (\mathbf{1}[i = j] - \hat y[i])$, where
# $\mathbf{1}[i = j]$ is 1 if i = j, and 0 otherwise. The loss is $-\sum_j y[j] \log \hat y[j]$. Show from these two
# formulas that the derivative of the loss by $z^L[i]$ is $\hat y[i] - y[i]$ ([lee2020:e]). Use that the entries of y
# sum to 1.
#
# **Question.** Use the *squared error* $\frac12 \|\hat y - y\|^2$ in place of the cross-entropy. Then fewer factors
# cancel:
#
# $$\delta z^L[i] = \hat y[i] \, \Big(e[i] - \sum_j \hat y[j] \, e[j]\Big), \qquad e = \hat y - y.$$
#
# Take a network that is confident and wrong. It has two classes, $z^L = (t, 0)$ and the label $y = (0, 1)$, and t grows
# without bound. What is the limit of the norm $\|\delta z^L\|$?
#
# - `"a"`: 0 with both losses, because the softmax hardly changes with z if it is confident.
# - `"b"`: $\sqrt 2$ with both losses, because both losses depend on the same error $\hat y - y$.
# - `"c"`: $\sqrt 2$ with the cross-entropy, and 0 with the squared error.


# %% confident solution=true
def confident():
    """Two things: the letter and the reason, in at least eight different words."""
    ### BEGIN SOLUTION
    return "c", "The logarithm cancels the factor y_hat of the softmax; the squared error keeps this vanishing factor."
    ### END SOLUTION


# %% confident_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").confident_answer(confident)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps1_by_hand", globals(), "confident_answer")

# %% [markdown]
# Now write the backward pass for all layers. Return the derivatives of each record separately, without a mean.


# %% deltas solution=true
def deltas(W, z, h, y):
    """The list dz with dz[l] (k, n_l) for l = 1..L; dz[0] is None. `forward` returns the lists z and h."""
    ### BEGIN SOLUTION
    L = len(W) - 1
    dz = [None] * (L + 1)
    dz[L] = h[L] - y
    for l in range(L - 1, 0, -1):
        dz[l] = (dz[l + 1] @ W[l + 1]) * h[l] * (1 - h[l])
    return dz
    ### END SOLUTION


# %% deltas_top points=1
# 1 point: the derivatives dz[L]
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").deltas_top(deltas)
### END HIDDEN TESTS

# %%
# Try your function.
one = [None, np.eye(2)], [None, np.zeros((1, 2))], [np.zeros((1, 2)), np.full((1, 2), 0.5)], np.array([[0.0, 1.0]])
assert np.shape(deltas(*one)[1]) == (1, 2), "a row for the record, a column for each class"

# %% deltas_hidden points=1
# 1 point: dz[l] of the hidden layers, computed from your dz[L]
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").deltas_hidden(deltas)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps1_by_hand", globals(), "deltas_top", "deltas_hidden")

# %% [markdown]
# The gradient of one record's loss by $W^l$ is the outer product $\delta z^l (h^{l-1})^\top$ ([lee2020:eq3]). The
# gradient of this loss by $b^l$ is $\delta z^l$. The gradient of the mean loss of a batch is the mean of these
# gradients.


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
# 1 point: the direction of every dW[l] and db[l], with any norm and sign
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").gradient_direction(gradient)
### END HIDDEN TESTS

# %% gradient_scale points=1
# 1 point: the norm and sign of every dW[l] and db[l]
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").gradient_scale(gradient)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps1_by_hand", globals(), "gradient_direction", "gradient_scale")

# %% [markdown]
# Compare your gradient with your numerical gradient. The next cell does this for the biases of layer 1. Try other
# shifts and other layers. If your `forward` computes in float32, use the shift 1e-2. With the shift 1e-5, rounding to
# float32 changes these differences strongly.

# %%
W, b = small_net([4, 5, 6, 3], seed=2)
x, y = small_batch(8, 4, 3, seed=3)


def loss_of_b1(v):
    """The loss as a function of the biases of layer 1."""
    _, h = forward(W, [None, v, *b[2:]], x)
    return loss(np.asarray(h[-1]), y)


dW, db = gradient(W, b, x, y)
print("shapes of dW and of W:", [np.shape(a) for a in dW[1:]], [np.shape(w) for w in W[1:]])
print("backpropagation", np.round(db[1], 6))
print("differences    ", np.round(numerical_gradient(loss_of_b1, b[1], 1e-5), 6))

# %% [markdown]
# **A convolution** uses the same weights at every position of an image. Take k images `x`, an array (k, n, m), and a
# kernel `K`, an array (s, t) with $s \leq n$ and $t \leq m$. In this exercise, s and t are the sizes of the kernel.
# Record i has the pre-activations
#
# $$z_i[a, b] = \sum_{p=0}^{s-1} \sum_{q=0}^{t-1} K[p, q] \; x_i[a + p, b + q]
# \qquad (0 \leq a \leq n - s, \; 0 \leq b \leq m - t).$$
#
# The function `convolve` computes these pre-activations. As before, `dz` has the derivatives of each record's loss by
# its z. Here `dz` is an array (k, n - s + 1, m - t + 1). How many entries of $z_i$ depend on $K[p, q]$? Derive the
# derivative of one record's loss by $K[p, q]$ with the chain rule. Then write the gradient of the mean loss of the
# batch by K.


# %% convolve
def convolve(x, K):
    """The pre-activations z, an array (k, n - s + 1, m - t + 1), for images x and a kernel K."""
    s, t = K.shape
    z = np.zeros((len(x), x.shape[1] - s + 1, x.shape[2] - t + 1))
    for p in range(s):
        for q in range(t):
            z += K[p, q] * x[:, p : p + z.shape[1], q : q + z.shape[2]]
    return z


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
# 1 point: the gradient by the kernel, for images and kernels of several shapes
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").kernel_values(kernel_gradient)
### END HIDDEN TESTS
assert np.shape(kernel_gradient(np.ones((1, 3, 4)), np.ones((1, 2, 3)))) == (2, 2), "the kernel has 2 by 2 weights"

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps1_by_hand", globals(), "kernel_values")

# %% [markdown]
# ## 5. The norm of one record's gradient (2 points, 10 minutes)
#
# Private training limits how much *one record* can change an update. For this limit, private training needs the norm of
# each record's own gradient, with all entries as one vector (the Frobenius norm). There are k such gradients, and each
# has the shape of $W^l$. But each gradient is an outer product. For one record with $\delta z$ and the input h of its
# layer, what is $\sum_{i,j} (\delta z[i] \, h[j])^2$? Use your answer, and form no matrix.


# %% norms solution=true
def norms(dz, h):
    """Two arrays (k,): the norms of each record's gradient by W[l] alone, and by W[l] and b[l] as one vector.

    dz (k, n_l) is dz[l], and h (k, n_{l-1}) is h[l-1].
    """
    ### BEGIN SOLUTION
    errors, inputs = np.sum(dz**2, axis=1), np.sum(h**2, axis=1)
    return np.sqrt(errors * inputs), np.sqrt(errors * (inputs + 1))
    ### END SOLUTION


# %% norms_W points=1
# 1 point: the norms of the gradients by W[l]
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").norms_W(norms)
### END HIDDEN TESTS
assert np.allclose(norms(np.array([[3.0, 4.0]]), np.array([[0.0, 2.0, 0.0]]))[0], [10])

# %% norms_both points=1
# 1 point: the norms of the gradients by W[l] and b[l] together
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").norms_both(norms)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps1_by_hand", globals(), "norms_W", "norms_both")

# %% [markdown]
# ## 6. Where learning stops (2 points, 10 minutes)
#
# **From zero.** All weights *and* biases of a network with the sizes 3-4-4-2 are 0. We train it by gradient descent on
# one batch, which has more records of one class than of the other ([lee2020:eq4]). How many of $W^1, W^2, W^3$ differ
# from zero after 1, 2 and 3 steps, except for rounding? Answer for two activations:
#
# - sigmoid units
# - tanh units, for which $\phi(0) = 0$ and $\phi'(0) = 1$
#
# Think first, layer by layer, with Equations 2 and 3. Then you can use `descend`, which makes steps with your
# `gradient`.


# %% descend
def descend(W, b, x, y, steps, eta=2.0):
    """W and b after this many steps of gradient descent with your `gradient` and sigmoid units; eta: learning rate."""
    for _ in range(steps):
        dW, db = gradient(W, b, x, y)
        W = [None, *(W[l] - eta * np.asarray(dW[l]) for l in range(1, len(W)))]
        b = [None, *(b[l] - eta * np.asarray(db[l]) for l in range(1, len(b)))]
    return W, b


def zero_net(sizes):
    """W and b of a network with these sizes, all 0."""
    L = len(sizes) - 1
    W = [None] + [np.zeros((sizes[l], sizes[l - 1])) for l in range(1, L + 1)]
    return W, [None] + [np.zeros(sizes[l]) for l in range(1, L + 1)]


x_zero = np.random.default_rng(5).normal(size=(6, 3))
y_more = np.eye(2)[[0, 0, 0, 0, 1, 1]]  # more records of one class than of the other
y_even = np.eye(2)[[0, 0, 0, 1, 1, 1]]  # the same number of records of each class


# %%
# Room for experiments with descend, zero_net, x_zero, y_more


# %% from_zero solution=true
def from_zero():
    """A dictionary with the entries "sigmoid" and "tanh": lists of three counts, after 1, 2 and 3 steps."""
    ### BEGIN SOLUTION
    return {"sigmoid": [1, 2, 3], "tanh": [0, 0, 0]}
    ### END SOLUTION


# %% zero_moves points=1
# 1 point: the counts for "sigmoid" and "tanh"
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").zero_moves(from_zero)
### END HIDDEN TESTS

# %%
# Try your function.
assert np.shape(from_zero()["sigmoid"]) == np.shape(from_zero()["tanh"]) == (3,)

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps1_by_hand", globals(), "zero_moves")

# %%
# After 100 steps with sigmoid units: how many different rows has W[1]? Does W[1] move if the classes are even?
for name, y in (("more of one class", y_more), ("even classes", y_even)):
    W, b = descend(*zero_net([3, 4, 4, 2]), x_zero, y, steps=100)
    rows = np.unique(W[1].round(9), axis=0)
    print(f"{name}: different rows {len(rows)}, largest entry {np.abs(W[1]).max():.2g}")

# %% [markdown]
# **Question.** Lee & Kifer require a bound $|\phi'| \le \gamma$ on the derivative of every activation
# ([lee2020:gamma]). For the sigmoid, $\gamma = 1/4$. Take a network of L layers with sigmoids in the hidden layers. No
# $W^l$ increases the norm of any vector, because its largest singular value is at most 1. What is the largest possible
# value of
# $\|\delta z^1\| / \|\delta z^L\|$, over all such networks and records?
#
# - `"a"`: $(1/4)^{L-1}$, because each of the L - 1 hidden layers has one derivative as a factor.
# - `"b"`: $(1/4)^L$, because each of the L layers has one derivative as a factor.
# - `"c"`: 1, because only the matrices change the norm, and no matrix increases it.


# %% fading solution=true
def fading():
    """Two things: the letter and the reason, in at least eight different words."""
    ### BEGIN SOLUTION
    return "a", "The top layer has no further derivative, so L - 1 factors of at most 1/4 remain."
    ### END SOLUTION


# %% fading_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps1_by_hand").fading_answer(fading)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps1_by_hand", globals(), "fading_answer")

# %% [markdown]
# Do larger weights help? The next cell draws the norm of $\delta z^l$ in a network with eight layers, for weights of
# three sizes. Before you run this cell, guess the size with the largest norm in layer 1. Why do even larger weights not
# help? With direct feedback alignment ([lee2020:eq5]), every hidden layer receives e times one fixed matrix, so the
# layers above do not shrink it. Problem set 2 is about this rule.

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
plt.ylabel("mean norm of dz")
plt.show()
