"""Epsilon [lee2020:lem1] [lee2020:compose] [lee2020:lem2]

A step adds noise of standard deviation sigma to a value of sensitivity Delta. By Lemma 1, the Renyi divergence of a
step at order alpha is at most alpha Delta^2 / (2 sigma^2). The divergences of all steps add up. By Lemma 2, a total of
rho alpha gives epsilon = rho alpha + log(1/delta) / (alpha - 1), for every alpha > 1. Return the smallest such epsilon.

Hint: With rho = steps Delta^2 / (2 sigma^2), set the derivative by alpha to 0. Then (alpha - 1)^2 = log(1/delta) / rho.
"""

# %% task
import math


def epsilon(Delta, sigma, steps, delta):
    """Return epsilon at delta after all steps, the smallest over all real alpha > 1.

    Delta : number > 0, sensitivity of one step
    sigma : number > 0, standard deviation of the noise of one step
    steps : integer >= 1
    delta : number in (0, 1)
    returns a number
    """
    ### BEGIN SOLUTION
    rho = steps * Delta**2 / (2 * sigma**2)
    alpha = 1 + math.sqrt(math.log(1 / delta) / rho)
    return rho * alpha + math.log(1 / delta) / (alpha - 1)
    ### END SOLUTION


# %% cases
import numpy as np

from nfa.course.judging import TaskCase


def renyi(Delta, sigma, alpha):
    """The Renyi divergence of N(Delta, sigma^2) from N(0, sigma^2), by a sum over a fine grid."""
    t = np.linspace(-40 * sigma, 40 * sigma + alpha * Delta, 200_001)
    log_p, log_q = -((t - Delta) ** 2) / (2 * sigma**2), -(t**2) / (2 * sigma**2)
    tilted = np.exp(alpha * log_p + (1 - alpha) * log_q).sum() * (t[1] - t[0]) / (sigma * math.sqrt(2 * math.pi))
    return math.log(tilted) / (alpha - 1)


def on_a_grid(Delta, sigma, steps, delta):
    """The least epsilon over 40,000 orders, from an integral of the divergence at order 2."""
    per_alpha = renyi(Delta, sigma, 2.0) / 2  # the divergence of two Gaussians is linear in alpha
    alphas = 1 + np.geomspace(1e-3, 1e4, 40_000)
    return float((steps * per_alpha * alphas - math.log(delta) / (alphas - 1)).min())


def cases():
    for Delta, sigma, steps, delta in ((1.0, 1.0, 1, 1e-5), (1.0, 2.0, 10, 1e-5), (0.3, 1.7, 100, 1e-3)):
        name = f"Delta = {Delta}, sigma = {sigma}, {steps} steps, delta = {delta}"
        want = np.array(on_a_grid(Delta, sigma, steps, delta))
        yield TaskCase("", name, lambda f, given=(Delta, sigma, steps, delta): f(*given), want, "epsilon")


# %% slips
("steps * Delta**2", "Delta**2", "The steps do not add up: rho is the value of one step times the number of steps.")
(
    "steps * Delta**2",
    "steps**2 * Delta**2",
    "The steps are squared: Renyi values add up, so that rho grows with the number of steps.",
)
("Delta**2", "Delta", "The sensitivity is not squared: rho has Delta^2.")
("(2 * sigma**2)", "(2 * sigma)", "sigma is not squared: rho has the variance sigma^2.")
("(2 * sigma**2)", "sigma**2", "The 2 is missing: the divergence is alpha Delta^2 / (2 sigma^2).")
(
    "alpha = 1 + math.sqrt(math.log(1 / delta) / rho)",
    "alpha = 2",
    "alpha is 2: take the alpha for which epsilon is smallest.",
)
("alpha = 1 + ", "alpha = ", "alpha is too small by 1: (alpha - 1)^2 = log(1/delta) / rho.")
("(alpha - 1)", "alpha", "Lemma 2 divides by alpha - 1, not by alpha.")
(
    "rho * alpha + math.log(1 / delta)",
    "rho * alpha + math.log(delta)",
    "The sign of the logarithm is wrong: log(1/delta) is positive.",
)
(
    "rho * alpha + math.log(1 / delta)",
    "rho * alpha + math.log10(1 / delta)",
    "This is the logarithm to base 10: use math.log.",
)
(
    "rho * alpha + math.log(1 / delta) / (alpha - 1)",
    "rho * alpha",
    "A term is missing: epsilon is rho alpha + log(1/delta) / (alpha - 1), both terms.",
)
