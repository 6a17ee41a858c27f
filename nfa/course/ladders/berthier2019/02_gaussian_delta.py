"""The delta of Gaussian noise [berthier2019:def2.1]

One record moves a query by at most S, and the query gets Gaussian noise of standard deviation sigma. Let A be a set of
outputs, P(A) its probability without the record, and P'(A) its probability with the record. For a given epsilon, the
smallest delta is the largest value of P(A) - exp(epsilon) P'(A) over all sets A. With mu = S / sigma, this delta is
Phi(mu/2 - epsilon/mu) - exp(epsilon) Phi(-mu/2 - epsilon/mu). Phi is the distribution function of the standard normal.

Hint: statistics.NormalDist().cdf is Phi.
"""

# %% task
import math
from statistics import NormalDist


def gaussian_delta(S, sigma, epsilon):
    """Return the smallest delta.

    S : number > 0, the l2 sensitivity
    sigma : number > 0, the standard deviation of the noise
    epsilon : number >= 0
    returns a number in [0, 1]
    """
    ### BEGIN SOLUTION
    Phi, mu = NormalDist().cdf, S / sigma
    return Phi(mu / 2 - epsilon / mu) - math.exp(epsilon) * Phi(-mu / 2 - epsilon / mu)
    ### END SOLUTION


# %% cases
import numpy as np

from nfa.course.judging import TaskCase


def integrated(S, sigma, epsilon):
    """The integral of max(p - exp(epsilon) q, 0) on a fine grid, which is the value for the best set A."""
    t = np.linspace(-12 * sigma, S + 12 * sigma, 400_001)
    p, q = (np.exp(-((t - mean) ** 2) / (2 * sigma**2)) / (sigma * math.sqrt(2 * math.pi)) for mean in (S, 0.0))
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * (t[1] - t[0]))


def cases():
    for given in ((1.0, 1.0, 0.7), (2.0, 1.0, 0.0), (1.0, 2.0, 0.5), (3.0, 1.5, 2.0)):
        name = "S = {}, sigma = {}, epsilon = {}".format(*given)
        yield TaskCase("", name, lambda f, given=given: f(*given), np.array(integrated(*given)), "delta")


# %% slips
("S / sigma", "sigma / S", "mu is inverted: it is S / sigma.")
("math.exp(epsilon) * ", "", "The factor exp(epsilon) is missing in the second term.")
("math.exp(epsilon) * ", "epsilon * ", "The factor of the second term is exp(epsilon), not epsilon.")
(
    "mu / 2 - epsilon / mu) -",
    "mu / 2 + epsilon / mu) -",
    "The sign of epsilon / mu is wrong in the first term: subtract epsilon / mu.",
)
(
    "(-mu / 2 - epsilon / mu)",
    "(-mu / 2 + epsilon / mu)",
    "The sign of epsilon / mu is wrong in the second term: subtract epsilon / mu.",
)
(
    "(-mu / 2 - epsilon / mu)",
    "(mu / 2 - epsilon / mu)",
    "The sign of mu / 2 is wrong in the second term: it must be -mu / 2.",
)
(
    " - math.exp(epsilon) * Phi(-mu / 2 - epsilon / mu)",
    "",
    "The second term is missing: subtract exp(epsilon) times the other probability.",
)
(
    "Phi(mu / 2 - epsilon / mu) -",
    "Phi(mu - epsilon / mu) -",
    "The factor 1/2 is missing in the first term: use mu / 2.",
)
