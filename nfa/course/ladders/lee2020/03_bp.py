"""Backpropagation [lee2020:eq2] [lee2020:eq3]

The lists z and h of the forward pass are given, and h[L] is the output. In the top layer, dz[L] is the error h[L] - y.
In a hidden layer, dz[l] is W[l+1]^T dz[l+1], multiplied entry by entry by the derivative 1 - tanh(z[l])^2. The gradient
by W[l] is the sum over examples of dz[l] h[l-1]^T, divided by m. The gradient by b[l] is the sum of dz[l], divided by
m.

Hint: With rows as examples, W^T dz is dz @ W, and the sum over examples of dz h^T is dz.T @ h.
"""

# %% task
import numpy as np


def bp(W, z, h, y, m):
    """Return the gradients dW and db.

    W, z, h : lists as in task 1
    y : (k, n_L) array, the labels as one-hot rows
    m : number that the sums over examples are divided by; not always k
    returns dW, db : lists with the shapes of W and b; slot 0 is None
    """
    ### BEGIN SOLUTION
    L = len(W) - 1
    dW, db = [None] * (L + 1), [None] * (L + 1)
    dz = h[L] - y
    for l in range(L, 0, -1):
        if l < L:
            dz = (dz @ W[l + 1]) * (1 - np.tanh(z[l]) ** 2)
        dW[l], db[l] = dz.T @ h[l - 1] / m, dz.sum(axis=0) / m
    return dW, db
    ### END SOLUTION


# %% cases
from nfa.course import small_nets
from nfa.course.judging import TaskCase


def cases():
    for sizes, m in (([4, 5, 3], 5), ([3, 4, 6, 2], 5), ([3, 4, 6, 2], 8), ([3, 3, 3, 3], None)):
        W, b = small_nets.weights(sizes)
        x, y = small_nets.data(sizes[0], sizes[-1])
        z, h = small_nets.passed(W, b, x)
        want = small_nets.gradient(W, b, x, y, m) if m else None  # without m, a probe that only distinguishes slips
        name = f"network {'-'.join(map(str, sizes))}, m = {m}"
        yield TaskCase("", name, lambda f, given=(W, z, h, y, m or 7): f(*given), want)


# %% slips
(" * (1 - np.tanh(z[l]) ** 2)", "", "The derivative is missing: in a hidden layer, multiply by 1 - tanh(z[l])^2.")
("np.tanh(z[l])", "np.tanh(h[l])", "The derivative is taken at h[l]: it is 1 - tanh(z[l])^2, which is also 1 - h[l]^2.")
("np.tanh(z[l])", "z[l]", "The derivative has no tanh: it is 1 - tanh(z[l])^2.")
(
    "h[L] - y",
    "(h[L] - y) * h[L] * (1 - h[L])",
    "The top layer has a derivative too many: h[L] - y is already the derivative by z[L].",
)
("h[L] - y", "y - h[L]", "The sign is wrong: the error is y_hat - y.")
("h[L] - y", "h[L]", "The target is missing: the error is y_hat - y.")
(
    "dz @ W[l + 1]",
    "dz @ W[l + 1].T",
    "A matrix is transposed: each row of dz becomes a row of W[l+1]^T dz, which is dz @ W[l+1].",
)
("W[l + 1]", "W[l]", "This is W of the wrong layer: W[l+1]^T takes dz[l+1] to layer l.")
("(dz @ W", "((h[L] - y) @ W", "Every layer gets the error: layer l takes the dz of the layer above.")
("h[l - 1]", "h[l]", "This is h of the wrong layer: W[l] multiplies h[l-1], so dW[l] takes h[l-1].")
("h[l - 1]", "(z[l - 1] if l > 1 else h[0])", "z[l-1] is used instead of h[l-1]: W[l] multiplies h[l-1].")
("dz.T @ h[l - 1]", "(dz.T @ h[l - 1]).T", "dW[l] is transposed: it is dz^T h, with the shape of W[l].")
("h[l - 1] / m, dz.sum(axis=0) / m", "h[l - 1], dz.sum(axis=0)", "1/m is missing: divide the sums over examples by m.")
("h[l - 1] / m, dz", "h[l - 1], dz", "1/m is missing in the weights: divide the sum over examples by m.")
("dz.sum(axis=0) / m", "dz.sum(axis=0)", "1/m is missing in the bias: divide the sum over examples by m.")
(
    "h[l - 1] / m, dz.sum(axis=0) / m",
    "h[l - 1] / m / len(y), dz.mean(axis=0) / m",
    "1/m occurs twice: divide the sums over examples by m, and take no mean.",
)
(
    "h[l - 1] / m, dz.sum(axis=0) / m",
    "h[l - 1] / len(y), dz.mean(axis=0)",
    "The given m is ignored: divide by m, not by the number of examples.",
)
(
    "dz.sum(axis=0) / m",
    "dz.mean(axis=0)",
    "The given m is ignored in the bias: divide the sum over examples by m.",
)
("dz.sum(axis=0) / m", "0 * dz[0]", "The bias is forgotten: db[l] is the sum of dz[l] over the examples, divided by m.")
(
    "return dW, db",
    "return dW, [None] * (L + 1)",
    "The bias is forgotten: db[l] is the sum of dz[l] over the examples, divided by m.",
)
