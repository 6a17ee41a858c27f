"""How a step stretches distances [berthier2019:lem3.4] [berthier2019:gradpert]

Two runs start at different points and take the same step, u - gamma grad(u). If the second derivatives of the loss are
between mu and beta, the distance of the two points grows by at most the factor max(|1 - gamma mu|, |1 - gamma beta|).
Return this factor. If it is at most 1, no step makes the two runs easier to distinguish.

Hint: On a quadratic loss, a step multiplies each direction by 1 - gamma times its second derivative.
"""


# %% task
def stretch(gamma, mu, beta):
    """Return the largest factor by which a step can stretch a distance.

    gamma : number > 0, the learning rate
    mu, beta : numbers, 0 <= mu <= beta, the least and the largest second derivative
    returns a number
    """
    ### BEGIN SOLUTION
    return max(abs(1 - gamma * mu), abs(1 - gamma * beta))
    ### END SOLUTION


# %% cases
import numpy as np

from nfa.course.judging import TaskCase


def by_steps(gamma, mu, beta):
    """The growth of a distance in a step, for quadratic losses with 1,001 second derivatives from mu to beta."""
    curvatures = np.linspace(mu, beta, 1001)
    return float(np.abs((1.0 - gamma * curvatures * 1.0) - (0.0 - gamma * curvatures * 0.0)).max())


def cases():
    for gamma, mu, beta in ((0.5, 0.2, 1.0), (1.9, 0.5, 1.0), (3.0, 0.0, 1.0), (0.1, 1.0, 1.0), (1.6, 1.0, 1.1)):
        name = f"gamma = {gamma}, mu = {mu}, beta = {beta}"
        want = np.array(by_steps(gamma, mu, beta))
        yield TaskCase("", name, lambda f, given=(gamma, mu, beta): f(*given), want, "the factor")


# %% slips
(
    "max(abs(1 - gamma * mu), abs(1 - gamma * beta))",
    "abs(1 - gamma * mu)",
    "Only mu is used: with a large learning rate, the factor of beta is larger.",
)
(
    "max(abs(1 - gamma * mu), abs(1 - gamma * beta))",
    "abs(1 - gamma * beta)",
    "Only beta is used: with a small learning rate, the factor of mu is larger.",
)
(
    "max(abs(1 - gamma * mu), abs(1 - gamma * beta))",
    "max(1 - gamma * mu, 1 - gamma * beta)",
    "The absolute values are missing: a factor below -1 also increases the distance.",
)
("max(", "min(", "This is the smallest factor: the bound on the distance needs the largest factor.")
(
    "max(abs(1 - gamma * mu), abs(1 - gamma * beta))",
    "1 + gamma * beta",
    "This is the bound for any smooth loss: the bound for a convex loss is smaller.",
)
(
    "max(abs(1 - gamma * mu), abs(1 - gamma * beta))",
    "max(abs(1 - gamma * mu), abs(1 - gamma * beta)) ** 2",
    "The factor is squared: the bound is for distances, not for their squares.",
)
