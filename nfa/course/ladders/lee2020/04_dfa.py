"""Direct feedback alignment [lee2020:eq5] [lee2020:dfa-update]

This task is task 3 with one change. In every hidden layer, dz[l] is B[l] e, multiplied entry by entry by
1 - tanh(z[l])^2. Here e is the error h[L] - y, which is the same for all layers. In the top layer, dz[L] is e itself.
The paper prints B^{l+1} for B[l].

Hint: With rows as examples, B e is e @ B.T. No dz[l] depends on dz of another layer, so the order of the layers does
not matter.
"""

# %% task
import numpy as np


def dfa(B, z, h, y, m):
    """Return the directions dW and db.

    B : list, B[l] of shape (n_l, n_L) for l = 1..L-1; slots 0 and L are None
    z, h : lists as in task 1
    y : (k, n_L) array, the labels as one-hot rows
    m : number that the sums over examples are divided by; not always k
    returns dW, db : lists with the shapes of W and b; slot 0 is None
    """
    ### BEGIN SOLUTION
    L = len(h) - 1
    dW, db = [None] * (L + 1), [None] * (L + 1)
    e = h[L] - y
    for l in range(1, L + 1):
        dz = e if l == L else (e @ B[l].T) * (1 - np.tanh(z[l]) ** 2)
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
        B = small_nets.feedback(sizes)
        e = h[-1] - y
        targets = [None, *(np.array([M @ row for row in e]) for M in B[1:-1]), e]
        want = small_nets.surrogate(W, b, h, targets, m) if m else None
        if not m:  # every slot has a matrix, because some slips use other slots
            rng = np.random.default_rng(4)
            B = [rng.normal(size=(3, 3)) for _ in sizes]
        name = f"network {'-'.join(map(str, sizes))}, m = {m}"
        yield TaskCase("", name, lambda f, given=(B, z, h, y, m or 7): f(*given), want)


# %% slips
(" * (1 - np.tanh(z[l]) ** 2)", "", "The derivative is missing: in a hidden layer, multiply by 1 - tanh(z[l])^2.")
("np.tanh(z[l])", "np.tanh(h[l])", "The derivative is taken at h[l]: it is 1 - tanh(z[l])^2, which is also 1 - h[l]^2.")
(
    "e if l == L else (e @ B[l].T)",
    "e @ B[l].T if l == L else (e @ B[l].T)",
    "The top layer uses B: its dz must be e itself, because only hidden layers use B[l] e.",
)
(
    "e if l == L else ",
    "",
    "The top layer uses B and a derivative: its dz must be e itself, because only hidden layers use B[l] e.",
)
(
    "e if l == L else",
    "e * h[L] * (1 - h[L]) if l == L else",
    "The top layer has a derivative too many: the error e is already the derivative by z[L].",
)
("B[l].T", "B[l]", "A matrix is transposed: each row of e becomes a row of B[l] e, which is e @ B[l].T.")
(
    "B[l].T",
    "B[l + 1].T",
    "This is B of the wrong layer: B[l] feeds layer l here, although the paper prints B^{l+1} for it.",
)
("h[L] - y", "y - h[L]", "The sign is wrong: the error is y_hat - y.")
("h[L] - y", "h[L]", "The target is missing: the error is y_hat - y.")
("h[l - 1]", "h[l]", "This is h of the wrong layer: W[l] multiplies h[l-1], so dW[l] takes h[l-1].")
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
("dz.sum(axis=0) / m", "0 * dz[0]", "The bias is forgotten: db[l] is the sum of dz[l] over the examples, divided by m.")
(
    "return dW, db",
    "return dW, [None] * (L + 1)",
    "The bias is forgotten: db[l] is the sum of dz[l] over the examples, divided by m.",
)
