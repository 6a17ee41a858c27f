"""A noisy step of logistic regression [berthier2019:gradpert] [berthier2019:exp4.6]

The loss of one record is log(1 + exp(-y theta.x)), with the label y = 1 or -1. A step of gradient perturbation adds
Gaussian noise eta to the gradient, with standard deviation sigma on every coordinate. Then it subtracts gamma times
this sum from theta. Here eta is given, so the result is exact. Return the next theta.

Hint: The gradient is -y x / (1 + exp(y theta.x)).
"""

# %% task
import numpy as np


def step(theta, x, y, gamma, eta):
    """Return theta after one step.

    theta, x, eta : (d,) arrays
    y : 1 or -1
    gamma : number > 0, the learning rate
    returns a (d,) array
    """
    ### BEGIN SOLUTION
    gradient = -y * x / (1 + np.exp(y * (theta @ x)))
    return theta - gamma * (gradient + eta)
    ### END SOLUTION


# %% cases
import math

from nfa.course.checking import derivatives
from nfa.course.judging import TaskCase


def wanted(theta, x, y, gamma, eta):
    """The step with a gradient from central differences of the loss."""
    found = derivatives(lambda v: math.log1p(math.exp(-y * float(v @ x))), theta)
    return np.array([t - gamma * g - gamma * n for t, g, n in zip(theta, found, eta, strict=True)])


def cases():
    rng = np.random.default_rng(0)
    for d, y, gamma, noise in ((3, 1, 0.5, 0.0), (3, -1, 0.5, 0.0), (4, -1, 0.3, 1.0)):
        given = rng.normal(size=d), rng.normal(size=d), y, gamma, noise * rng.normal(size=d)
        name = f"y = {y}, gamma = {gamma}, {'with' if noise else 'without'} noise"
        yield TaskCase("", name, lambda f, given=given: f(*given), wanted(*given), "theta")
    yield TaskCase("", "probe", lambda f: f(np.ones(3), np.arange(3.0), -1, 0.3, np.array([1.0, -2.0, 0.5])))


# %% slips
("theta - gamma", "theta + gamma", "The sign is wrong: the step subtracts gamma times the gradient and the noise.")
("-y * x /", "y * x /", "The sign of the gradient is wrong: it is -y x / (1 + exp(y theta.x)).")
("-y * x /", "-x /", "The factor y in front of x is missing: the gradient is -y x / (1 + exp(y theta.x)).")
("np.exp(y * (theta @ x))", "np.exp(theta @ x)", "The label is missing in the exponential: it is exp(y theta.x).")
("np.exp(y * (theta @ x))", "np.exp(-y * (theta @ x))", "The sign in the exponential is wrong: it is exp(y theta.x).")
(
    "gamma * (gradient + eta)",
    "gamma * gradient - eta",
    "The noise is not multiplied by gamma: the step subtracts gamma * (gradient + eta).",
)
("(gradient + eta)", "gradient", "The noise is missing: add eta to the gradient.")
(
    "gamma * (gradient + eta)",
    "(gradient + eta)",
    "The learning rate is missing: subtract gamma times the gradient and the noise.",
)
