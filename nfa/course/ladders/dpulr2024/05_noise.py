"""Noise with a guarantee [ours:ulr-sound] [dpulr2024:alg1.L208]

The noise inside the estimates depends on the data, and no theorem proves a guarantee from this noise. The sound rule
adds noise as DP-SGD does. It sums the clipped estimates. To every coordinate of the sum it adds Gaussian noise of
standard deviation sigma_0 C. Then it divides by the public m. The number sigma_0 is the noise multiplier.

Hint: The noise is added to the sum, before the division by m.
"""

# %% task
import numpy as np


def release(g, C, sigma_0, m, rng):
    """Return the noisy direction.

    g : (k, d) array, the clipped estimates, each of norm at most C; k may be 0
    C : number > 0
    sigma_0 : number >= 0, the noise multiplier
    m : number > 0, public; not always k
    rng : numpy.random.Generator, the only source of randomness
    returns a (d,) array
    """
    ### BEGIN SOLUTION
    return (g.sum(axis=0) + sigma_0 * C * rng.standard_normal(g.shape[1])) / m
    ### END SOLUTION


# %% cases
from nfa.course.judging import TaskCase

D = 160_000  # coordinates; the measured std differs from the true std by more than 2 % with probability 1e-20


def deviation(f, k, C, sigma_0, m):
    """The std of the noise for rows of zeros: of all entries, from differences, and from the mean absolute value."""
    noise = np.asarray(f(np.zeros((k, D)), C, sigma_0, m, np.random.default_rng(3)), dtype=float)
    return np.array([noise.std(), np.diff(noise).std() / np.sqrt(2), np.abs(noise).mean() * np.sqrt(np.pi / 2)])


def cases():
    g = np.random.default_rng(0).normal(size=(5, 3))
    want = np.array([sum(float(t) for t in column) / 8 for column in g.T])
    yield TaskCase("", "sigma_0 = 0", lambda f: f(g, 9.0, 0.0, 8, np.random.default_rng(1)), want, "the mean")
    for k, C, sigma_0, m in ((3, 3.0, 2.0, 8), (0, 0.5, 4.0, 5)):
        name = f"{k} examples, C = {C}, sigma_0 = {sigma_0}, m = {m}"
        run = lambda f, given=(k, C, sigma_0, m): deviation(f, *given)
        what = "the standard deviation of the noise, measured in three ways,"
        yield TaskCase("", name, run, np.array([sigma_0 * C / m] * 3), what, rtol=0.02)


# %% slips
("sigma_0 * C * rng", "sigma_0 * rng", "C is missing: the noise on the sum has the standard deviation sigma_0 C.")
("sigma_0 * C * rng", "sigma_0 * C * m * rng", "The noise is on the mean: add it to the sum, before the division by m.")
("sigma_0 * C * rng", "(sigma_0 * C) ** 2 * rng", "The variance is used instead of the standard deviation.")
(
    " + sigma_0 * C * rng.standard_normal(g.shape[1])",
    "",
    "The noise is missing: add it to the sum, because the noise in the estimates gives no privacy.",
)
(
    "rng.standard_normal(g.shape[1])",
    "rng.standard_normal()",
    "All coordinates get the same noise: draw a sample for every coordinate.",
)
(
    "rng.standard_normal(g.shape[1])",
    "rng.standard_normal(g.shape).sum(axis=0)",
    "Every example gets noise of its own: add the noise once, to the sum.",
)
(" / m", "", "1/m is missing: divide the noisy sum by m.")
(" / m", " / max(1, len(g))", "The sum is divided by the number of examples: divide by the public m.")
