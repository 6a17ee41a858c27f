"""The Renyi divergence of two Gaussians [ohana2021:prop1]

If the noise depends on the data, two neighbours give Gaussians with different means and different variances. Compute
the Renyi divergence of order alpha of N(mean_1, var_1) from N(mean_2, var_2), by Equation 7 in one dimension. If
s = alpha var_2 + (1 - alpha) var_1 is not positive, the divergence is infinite.

Hint: In one dimension, the determinants are the variances. The equation has the logarithm of
s / (var_1^(1 - alpha) var_2^alpha).
"""

# %% task
import math


def divergence(mean_1, var_1, mean_2, var_2, alpha):
    """Return the divergence of order alpha > 1, which can be infinite.

    mean_1, mean_2 : numbers
    var_1, var_2 : numbers > 0, variances
    alpha : number > 1
    returns a number
    """
    ### BEGIN SOLUTION
    s = alpha * var_2 + (1 - alpha) * var_1
    if s <= 0:
        return math.inf
    logarithm = math.log(s) - (1 - alpha) * math.log(var_1) - alpha * math.log(var_2)
    return alpha / 2 * (mean_1 - mean_2) ** 2 / s - logarithm / (2 * (alpha - 1))
    ### END SOLUTION


# %% cases
import numpy as np

from nfa.course.judging import TaskCase


def integrated(mean_1, var_1, mean_2, var_2, alpha):
    """The logarithm of the integral of p^alpha q^(1 - alpha) on a fine grid, divided by alpha - 1."""
    t = np.linspace(-200, 200, 400_001)
    log_p = -((t - mean_1) ** 2) / (2 * var_1) - math.log(2 * math.pi * var_1) / 2
    log_q = -((t - mean_2) ** 2) / (2 * var_2) - math.log(2 * math.pi * var_2) / 2
    return math.log(np.exp(alpha * log_p + (1 - alpha) * log_q).sum() * (t[1] - t[0])) / (alpha - 1)


def finite(value):
    """The value, or a large number instead of infinity, because a comparison with infinity has no tolerance."""
    return 1e6 if value == math.inf else value


def cases():
    for given in (
        (1.0, 1.0, 0.0, 1.0, 2.0),
        (0.5, 1.0, 0.0, 2.0, 3.0),
        (0.0, 2.0, 1.0, 1.5, 2.5),
        (0.0, 0.5, 0.0, 1.0, 4.0),
    ):
        name = "means {0} and {2}, variances {1} and {3}, alpha = {4}".format(*given)
        yield TaskCase("", name, lambda f, given=given: f(*given), np.array(integrated(*given)), "the divergence")
    given = (0.0, 3.0, 0.0, 1.0, 2.0)
    yield TaskCase(
        "", "variances 3 and 1, alpha = 2", lambda f: finite(f(*given)), np.array(1e6), "the divergence (1e6: infinite)"
    )


# %% slips
(
    "alpha * var_2 + (1 - alpha) * var_1",
    "alpha * var_1 + (1 - alpha) * var_2",
    "The variances are exchanged in s: it is alpha var_2 + (1 - alpha) var_1.",
)
("    if s <= 0:\n        return math.inf\n", "    s = abs(s)\n", "The divergence is infinite if s is not positive.")
("alpha / 2 *", "1 / 2 *", "alpha is missing in the first term: it is alpha / 2 times the squared distance over s.")
("(mean_1 - mean_2) ** 2", "abs(mean_1 - mean_2)", "The distance of the means is not squared.")
(
    " - logarithm / (2 * (alpha - 1))",
    "",
    "The second term is missing: different variances give a divergence even at equal means.",
)
(" - logarithm /", " + logarithm /", "The sign of the second term is wrong: subtract this term.")
(
    "logarithm / (2 * (alpha - 1))",
    "logarithm / (alpha - 1)",
    "The 2 is missing in the second term: divide the logarithm by 2 (alpha - 1).",
)
("** 2 / s", "** 2 / var_2", "The first term is divided by s, not by a variance.")
