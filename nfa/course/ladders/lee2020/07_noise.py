"""Noise on the mean [lee2020:A10-A11] [lee2020:A12] [lee2020:lem1]

The clipped gradients of the examples are the rows of u. The algorithm releases their sum, divided by the public m, plus
Gaussian noise of standard deviation sigma on every coordinate. The noise is added once, to the mean, and does not
depend on the examples. For a batch without examples, the algorithm releases only noise.

Hint: rng.normal(0, sigma, size) takes the standard deviation, not the variance.
"""

# %% task
import numpy as np


def noisy_mean(u, m, sigma, rng):
    """Return the noisy mean.

    u : (k, d) array; k may be 0
    m : number > 0, which is not always k
    sigma : number >= 0, the standard deviation of the noise on the mean
    rng : numpy.random.Generator, the only source of randomness
    returns a (d,) array
    """
    ### BEGIN SOLUTION
    return u.sum(axis=0) / m + sigma * rng.standard_normal(u.shape[1])
    ### END SOLUTION


# %% cases
from nfa.course.judging import TaskCase

D = 160_000  # coordinates; correct code with another seed fails with a probability below 1e-6


def measured(f, k, m, sigma, seed):
    """For rows of ones: mean, share within one deviation (0.683 if normal), and twice the neighbours' correlation."""
    noisy = np.asarray(f(np.ones((k, D)), m, sigma, np.random.default_rng(seed)), dtype=float)
    if noisy.shape != (D,):
        return noisy
    centred = noisy - noisy.mean()
    alike = np.mean(centred[1:] * centred[:-1]) / max(centred.var(), 1e-12)
    return np.array([noisy.mean(), np.mean(np.abs(centred) <= sigma), 2 * alike])


def deviation(f, k, m, sigma, seed):
    """The standard deviation over the coordinates, for rows of ones."""
    return np.std(np.asarray(f(np.ones((k, D)), m, sigma, np.random.default_rng(seed)), dtype=float))


def cases():
    u = np.random.default_rng(0).normal(size=(5, 3))
    want = np.array([sum(float(t) for t in column) / 8 for column in u.T])
    yield TaskCase("", "sigma = 0", lambda f: f(u, 8, 0.0, np.random.default_rng(1)), want, "the mean")
    yield TaskCase("", "probe", lambda f: measured(f, 4, 8, 2.5, 3), rtol=0.05)
    what = "mean, share within one deviation, twice the correlation"
    for k, m, sigma in ((4, 8, 2.5), (4, 8, 0.5), (0, 8, 0.5)):
        name = f"{k} examples, m = {m}, sigma = {sigma}"
        given = (k, m, sigma, 3)
        sd = "the standard deviation of the noise"
        yield TaskCase("", name, lambda f, given=given: deviation(f, *given), np.array(sigma), sd, rtol=0.02)
        want = np.array([k / m, 0.6827, 0.0])
        yield TaskCase("", name, lambda f, given=given: measured(f, *given), want, what, rtol=0.05)


# %% slips
(
    "sigma * rng",
    "sigma / m * rng",
    "The noise is divided by m: sigma is already the standard deviation of the noise on the mean.",
)
(
    "sigma * rng",
    "sigma * m * rng",
    "The noise is multiplied by m: sigma is already the standard deviation of the noise on the mean.",
)
("sigma * rng", "sigma**2 * rng", "The variance is used instead of the standard deviation: rng.normal takes sigma.")
(
    "sigma * rng",
    "np.sqrt(sigma) * rng",
    "The square root of sigma is taken: sigma is the standard deviation, not the variance.",
)
(
    " + sigma * rng.standard_normal(u.shape[1])",
    "",
    "The noise is missing: add sigma times a standard normal sample to every coordinate.",
)
(
    "rng.standard_normal(u.shape[1])",
    "rng.standard_normal()",
    "All coordinates get the same noise: draw a sample for every coordinate.",
)
(
    "rng.standard_normal(u.shape[1])",
    "rng.uniform(-1, 1, u.shape[1])",
    "The noise is uniform: the theorem is about Gaussian noise.",
)
(
    "u.sum(axis=0) / m +",
    "u.mean(axis=0) +",
    "The mean is taken over the batch: divide the sum by the public m, because the size of the batch depends on the records.",
)
("u.sum(axis=0) / m +", "u.sum(axis=0) +", "1/m is missing: divide the sum by m.")
(
    "sigma * rng.standard_normal(u.shape[1])",
    "(sigma * rng.standard_normal(u.shape)).sum(axis=0)",
    "Every example gets noise of its own: add the noise once, to the mean.",
)
(
    "sigma * rng.standard_normal(u.shape[1])",
    "(sigma * rng.standard_normal(u.shape)).sum(axis=0) / m",
    "Every example gets noise of its own before the mean: add the noise once, to the mean.",
)
