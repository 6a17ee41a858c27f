"""The noisy direction of a layer [ohana2021:eq8] [ohana2021:eq11]

p has the noisy projection of each example's error, B e + g. h is the input of the layer. The direction of the weights
is the sum over examples of (p * phi'(z)) h^T, divided by m. The update subtracts the direction times the learning rate.

Hint: With rows as examples, the sum of dz h^T is dz.T @ h. Equation 8 prints h of the wrong layer.
"""

# %% task
import numpy as np


def direction(p, dphi, h, m):
    """Return the direction of one layer's weights.

    p : (k, n) array, the noisy projections
    dphi : (k, n) array, the derivatives phi'(z)
    h : (k, n_in) array, the input of the layer
    m : number that the sum over examples is divided by; not always k
    returns a (n, n_in) array
    """
    ### BEGIN SOLUTION
    return (p * dphi).T @ h / m
    ### END SOLUTION


# %% cases
from nfa.course.checking import derivatives
from nfa.course.judging import TaskCase


def wanted(p, dphi, h, m):
    """The derivative by W of the mean of <phi(W h), p> for a linear phi with the derivative dphi."""

    def value(W):
        return float(sum((dphi[i] * (W @ h[i])) @ p[i] for i in range(len(p)))) / m

    return derivatives(value, np.zeros((p.shape[1], h.shape[1])))


def cases():
    rng = np.random.default_rng(0)
    for k, n, n_in, m in ((4, 5, 3, 4), (4, 5, 3, 9), (3, 3, 3, 7)):
        given = rng.normal(size=(k, n)), rng.normal(size=(k, n)), rng.normal(size=(k, n_in)), m
        name = f"{k} examples, n = {n}, n_in = {n_in}, m = {m}"
        yield TaskCase(
            "", name, lambda f, given=given: f(*given), None if n == n_in else wanted(*given), "the direction"
        )


# %% slips
("(p * dphi)", "p", "The derivative is missing: multiply p by phi'(z), entry by entry.")
("(p * dphi).T @ h", "((p * dphi).T @ h).T", "The matrix is transposed: it is dz^T h, with the shape of W.")
(" / m", "", "1/m is missing: divide the sum over examples by m.")
(" / m", " / len(p)", "The given m is ignored: divide by m, not by the number of examples.")
(" / m", " / m / len(p)", "1/m occurs twice: divide the sum over examples by m, and take no mean.")
(
    "return (p",
    "return -(p",
    "The sign is wrong: the update subtracts the direction, so the direction has no minus sign.",
)
(
    "(p * dphi).T @ h",
    "(p.T @ h) * dphi.mean(axis=0)[:, None]",
    "The derivatives are averaged first: use phi'(z) of each example.",
)
