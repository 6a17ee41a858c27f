"""Epsilon of Poisson batches [dpulr2024:dpsgd-gamma] [dpulr2024:rdp-comp] [dpulr2024:prop1]

Each step takes every record with probability q and adds noise with the noise multiplier sigma. For a whole order
alpha >= 2, the Renyi value of a step is log(A) / (alpha - 1). A is the sum over k = 0..alpha of
binomial(alpha, k) (1 - q)^(alpha - k) q^k exp(k (k - 1) / (2 sigma^2)). The values of all steps add up to a total
gamma. This total gives epsilon = gamma + log(1/delta) / (alpha - 1). Return the smallest epsilon over alpha = 2..20.

Hint: math.comb gives the binomials. For k = 0 and k = 1 the exponential is 1.
"""

# %% task
import math


def epsilon(q, sigma, steps, delta):
    """Return epsilon at delta after all steps.

    q : number in (0, 1], the probability of each record
    sigma : number > 0, the noise multiplier
    steps : integer >= 1
    delta : number in (0, 1)
    returns a number
    """
    ### BEGIN SOLUTION
    found = []
    for alpha in range(2, 21):
        A = 0.0
        for k in range(alpha + 1):
            A += math.comb(alpha, k) * (1 - q) ** (alpha - k) * q**k * math.exp(k * (k - 1) / (2 * sigma**2))
        gamma = steps * math.log(A) / (alpha - 1)
        found.append(gamma + math.log(1 / delta) / (alpha - 1))
    return min(found)
    ### END SOLUTION


# %% cases
import numpy as np

from nfa.course.judging import TaskCase


def integrated(q, sigma, steps, delta):
    """Epsilon with A from a grid: the integral of (p/r)^alpha r, p = (1 - q) r + q N(1, sigma^2), r = N(0, sigma^2)."""
    t = np.linspace(-12 * sigma, 12 * sigma + 20, 400_001)
    log_r = -(t**2) / (2 * sigma**2) - math.log(sigma * math.sqrt(2 * math.pi))
    ratio = np.log1p(q * np.expm1(np.minimum((2 * t - 1) / (2 * sigma**2), 700)))  # log of p / r
    width = t[1] - t[0]
    best = math.inf
    for alpha in range(2, 21):
        A = np.exp(alpha * ratio + log_r).sum() * width
        best = min(best, (steps * math.log(A) + math.log(1 / delta)) / (alpha - 1))
    return best


def cases():
    for given in ((0.01, 2.0, 100, 1e-5), (0.1, 3.0, 50, 1e-5), (0.5, 1.0, 3, 1e-2)):
        name = "q = {}, sigma = {}, {} steps, delta = {}".format(*given)
        yield TaskCase("", name, lambda f, given=given: f(*given), np.array(integrated(*given)), "epsilon")


# %% slips
("gamma = steps *", "gamma =", "The steps do not add up: multiply the value of one step by the number of steps.")
("k * (k - 1)", "k * k", "The exponent is k (k - 1) / (2 sigma^2), not k^2 / (2 sigma^2).")
("(2 * sigma**2)", "(2 * sigma)", "sigma is not squared: the exponent is divided by 2 sigma^2.")
("(2 * sigma**2)", "sigma**2", "The 2 is missing: the exponent is divided by 2 sigma^2.")
("math.comb(alpha, k) * ", "", "The binomials are missing: term k has the factor binomial(alpha, k).")
("(1 - q) ** (alpha - k) * ", "", "The factor (1 - q)^(alpha - k) is missing.")
(" * q**k", "", "The factor q^k is missing.")
("steps * math.log(A) / (alpha - 1)", "steps * math.log(A)", "The Renyi value is log(A) / (alpha - 1).")
("math.log(1 / delta) / (alpha - 1)", "math.log(1 / delta) / alpha", "Divide log(1/delta) by alpha - 1, not by alpha.")
("math.log(1 / delta)", "math.log(delta)", "The sign of the logarithm is wrong: log(1/delta) is positive.")
(
    "return min(found)",
    "return max(found)",
    "This is the largest epsilon: every alpha gives a valid epsilon, so take the smallest.",
)
("return min(found)", "return found[0]", "Only alpha = 2 is used: take the smallest epsilon over alpha = 2..20.")
("range(alpha + 1)", "range(alpha)", "The last term is missing: k runs from 0 to alpha, both included.")
