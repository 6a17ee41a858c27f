"""The error [lee2020:e] [lee2020:ce]

The error of one example is the derivative of its loss by z[L]. Let y_hat be the softmax of z[L]. The loss is the
cross-entropy of y_hat, so the error is y_hat - y. Compute the error of every example from z[L].

Hint: First compute y_hat, row by row. The rows of the error add up to 0.
"""

# %% task
import numpy as np


def error(z_L, y):
    """Return the error of every example.

    z_L : (k, n_L) array, the last pre-activation of each example
    y : (k, n_L) array, the labels as one-hot rows
    returns e : (k, n_L) array
    """
    ### BEGIN SOLUTION
    p = np.exp(z_L - z_L.max(axis=1, keepdims=True))
    y_hat = p / p.sum(axis=1, keepdims=True)
    return y_hat - y
    ### END SOLUTION


# %% cases
from nfa.course import small_nets
from nfa.course.checking import derivatives
from nfa.course.judging import TaskCase


def cases():
    for k, classes in ((4, 3), (3, 5), (1, 2)):
        z_L, y = small_nets.data(classes, classes, k)
        want = derivatives(lambda z, y=y: small_nets.cross_entropy(z, y), 2 * z_L)
        yield TaskCase("", f"{k} examples", lambda f, given=(2 * z_L, y): f(*given), want, "the error")


# %% slips
("y_hat - y", "y - y_hat", "The sign is wrong: the error is y_hat - y, so that the loop subtracts.")
("y_hat - y", "y_hat", "The target is missing: the error is y_hat - y.")
("y_hat - y", "z_L - y", "The softmax is missing: the error is y_hat - y, not z[L] - y.")
(
    "y_hat - y",
    "(y_hat - y) / len(y)",
    "The error has a factor 1/m: leave it out, because the mean is taken later.",
)
(
    "y_hat - y",
    "(y_hat - y) * y_hat * (1 - y_hat)",
    "There is a derivative too many: y_hat - y is already the derivative by z[L].",
)
("y_hat - y", "(y_hat - y) ** 2", "This is a square: the error is y_hat - y itself.")
("y_hat - y", "-y * np.log(y_hat)", "This is the loss: the error is its derivative, y_hat - y.")
(
    "y_hat - y",
    "-y / y_hat",
    "This is the derivative of the loss by y_hat: the error is the derivative by z[L], y_hat - y.",
)
("p.sum(axis=1", "p.sum(axis=0", "The softmax is normalised over the examples: divide each row by its own sum, axis=1.")
