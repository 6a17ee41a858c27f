"""A gradient from losses alone [dpulr2024:eq4] [dpulr2024:alg1.L200-202] [dpulr2024:alg1.L204]

Add noise zeta_k to the pre-activation z of an example and compute the loss, for k = 1..K. The average of
zeta_k loss(z + zeta_k) / sigma^2 is an estimate of the derivative of the loss by z. No backward pass is needed. Compute
this estimate for given draws of the noise.

Hint: loss(z + zeta[k]) has one number for each example, and zeta[k] has a row for each example. Multiply row by row.
"""

# %% task
import numpy as np


def estimate(loss, z, zeta, sigma):
    """Return the estimate for every example.

    loss : function that takes a (k, n) array, and returns the k losses
    z : (k, n) array
    zeta : (K, k, n) array, the noise, of standard deviation sigma
    sigma : number > 0
    returns a (k, n) array
    """
    ### BEGIN SOLUTION
    total = 0
    for noise in zeta:
        total = total + noise * loss(z + noise)[:, None]
    return total / (len(zeta) * sigma**2)
    ### END SOLUTION


# %% cases
from nfa.course.checking import derivatives
from nfa.course.judging import TaskCase


def crossed(k, n, sigma):
    """2 n draws along the axes in both directions. For a quadratic loss, their average is exactly the derivative."""
    steps = sigma * np.sqrt(n) * np.vstack([np.eye(n), -np.eye(n)])
    return np.repeat(steps[:, None], k, axis=1)


def cases():
    rng = np.random.default_rng(0)
    for k, n, sigma in ((3, 4, 1.0), (3, 4, 0.5), (1, 2, 3.0), (3, 3, 0.5)):
        A, a, z = rng.normal(size=(n, n)), rng.normal(size=(k, n)), rng.normal(size=(k, n))
        A, height = A + A.T, 1 + rng.random(k)

        def loss(v, A=A, a=a, height=height):
            return height + (a * v).sum(axis=1) + ((v @ A) * v).sum(axis=1) / 2

        want = derivatives(lambda v, loss=loss: float(loss(v).sum()), z)
        name = f"a quadratic loss, {k} examples, sigma = {sigma}"
        given = (loss, z, crossed(k, n, sigma), sigma)
        yield TaskCase("", name, lambda f, given=given: f(*given), None if k == n else want, "the estimate")


# %% slips
("sigma**2", "sigma", "sigma is not squared: divide by the variance.")
(" * sigma**2", "", "The division by sigma^2 is missing.")
("len(zeta) * sigma**2", "sigma**2", "The sum is not averaged: divide by the number K of draws.")
("len(zeta)", "len(z)", "The sum is divided by the number of examples: divide by the number K of draws.")
(
    "noise * loss(z + noise)[:, None]",
    "loss(z + noise)[:, None] / noise.shape[1]",
    "The noise is missing: multiply each loss by the noise that led to it.",
)
("loss(z + noise)", "loss(z)", "The loss is taken without noise: it must be the loss at z + zeta_k.")
("loss(z + noise)", "loss(noise)", "z is missing: it must be the loss at z + zeta_k.")
("return total", "return -total", "The sign is wrong: the estimate has the sign of the derivative.")
(
    "loss(z + noise)[:, None]",
    "loss(z + noise).sum()",
    "The losses are summed over the examples: every example has its own loss.",
)
(
    "loss(z + noise)[:, None]",
    "loss(z + noise)",
    "The losses multiply the columns instead of the rows: give them a second axis, [:, None].",
)
