"""The Laplace mechanism [berthier2019:prop2.1]

The answer of a query has several coordinates, and one record moves the answer by at most S in the l1 norm. Independent
Laplace noise of scale S / epsilon on every coordinate makes the answer epsilon-DP. Return the noisy answer.

Hint: rng.laplace(0, scale, size) takes the scale b. The standard deviation is sqrt(2) b.
"""

# %% task
import numpy as np


def laplace(value, S, epsilon, rng):
    """Return the noisy answer.

    value : (d,) array, the answer of the query
    S : number > 0, the l1 sensitivity
    epsilon : number > 0
    rng : numpy.random.Generator, the only source of randomness
    returns a (d,) array
    """
    ### BEGIN SOLUTION
    return value + rng.laplace(0, S / epsilon, value.shape)
    ### END SOLUTION


# %% cases
from nfa.course.judging import TaskCase

D = 160_000  # coordinates; correct code with another seed fails with a probability below 1e-9


def measured(f, S, epsilon):
    """Statistics of the noise: mean, mean absolute value, share within one scale (1 - 1/e), std of differences."""
    scale = S / epsilon
    noise = np.asarray(f(np.full(D, 2.0), S, epsilon, np.random.default_rng(3)), dtype=float) - 2.0
    within = scale * np.mean(np.abs(noise) <= scale)
    return np.array([noise.mean(), np.abs(noise).mean(), within, np.diff(noise).std() / 2])


def cases():
    for S, epsilon in ((1.0, 0.5), (3.0, 2.0)):
        scale = S / epsilon
        want = np.array([0.0, scale, scale * (1 - np.exp(-1)), scale])
        what = "mean, mean absolute value, share within S / epsilon, std of differences of the noise"
        run = lambda f, given=(S, epsilon): measured(f, *given)
        yield TaskCase("", f"S = {S}, epsilon = {epsilon}", run, want, what, rtol=0.03)


# %% slips
("S / epsilon", "epsilon / S", "The scale is inverted: it is S / epsilon.")
("S / epsilon", "1 / epsilon", "The sensitivity is missing: the scale is S / epsilon.")
("S / epsilon", "2 * S / epsilon", "There is an extra factor 2: the scale is S / epsilon.")
(
    "S / epsilon",
    "S / epsilon / np.sqrt(2)",
    "S / epsilon is used as the standard deviation: S / epsilon is the scale, and the std is sqrt(2) S / epsilon.",
)
(
    "rng.laplace(0, S / epsilon, value.shape)",
    "rng.laplace(0, S / epsilon)",
    "All coordinates get the same noise: draw a sample for every coordinate.",
)
("rng.laplace(", "rng.normal(", "The noise is Gaussian: use Laplace noise, because Gaussian noise needs a delta.")
(" + rng.laplace(0, S / epsilon, value.shape)", "", "The noise is missing.")
("value + rng", "rng", "The answer is missing: add the noise to the answer.")
