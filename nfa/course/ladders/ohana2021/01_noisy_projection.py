"""A noisy projection [ohana2021:eq5] [ohana2021:eq10]

An optical processing unit multiplies the error of each example by a fixed random matrix B, and its camera adds noise.
Compute B e for every example, plus independent Gaussian noise of standard deviation sigma on every entry.

Hint: With rows as examples, B e is e @ B.T. rng.normal(0, sigma, size) takes the standard deviation.
"""

# %% task
import numpy as np


def project(e, B, sigma, rng):
    """Return the noisy projection of every error.

    e : (k, n_L) array
    B : (n, n_L) array
    sigma : number >= 0, standard deviation of the noise
    rng : numpy.random.Generator, the only source of randomness
    returns a (k, n) array
    """
    ### BEGIN SOLUTION
    p = e @ B.T
    return p + sigma * rng.standard_normal(p.shape)
    ### END SOLUTION


# %% cases
from nfa.course.judging import TaskCase

K, N = 400, 400  # entries of the noise; correct code with another seed fails with a probability below 1e-6


def measured(f, sigma):
    """The std of the noise over all entries for B e = 0, and the scaled stds of the row means and column means."""
    noise = np.asarray(f(np.zeros((K, 3)), np.ones((N, 3)), sigma, np.random.default_rng(5)), dtype=float)
    return np.array([noise.std(), np.sqrt(N) * noise.mean(axis=1).std(), np.sqrt(K) * noise.mean(axis=0).std()])


def cases():
    rng = np.random.default_rng(0)
    for k, n, n_L in ((4, 5, 3), (1, 2, 6), (3, 3, 3)):
        e, B = rng.normal(size=(k, n_L)), rng.normal(size=(n, n_L))
        want = np.array([[sum(float(B[j, c] * row[c]) for c in range(n_L)) for j in range(n)] for row in e])
        name = f"{k} examples, B of shape ({n}, {n_L}), sigma = 0"
        run = lambda f, given=(e, B): f(*given, 0.0, np.random.default_rng(1))
        yield TaskCase("", name, run, None if n == n_L else want, "B e")
    what = "the std of the noise, and the scaled stds of the row means and of the column means"
    for sigma in (0.5, 3.0):
        run = lambda f, sigma=sigma: measured(f, sigma)
        yield TaskCase("", f"sigma = {sigma}", run, np.array([sigma] * 3), what, rtol=0.2)


# %% slips
("e @ B.T", "e @ B", "A matrix is transposed: each row of e becomes a row of B e, which is e @ B.T.")
(
    " + sigma * rng.standard_normal(p.shape)",
    "",
    "The noise is missing: add sigma times a standard normal sample to every entry.",
)
("sigma * rng", "sigma**2 * rng", "The variance is used instead of the standard deviation: rng.normal takes sigma.")
(
    "rng.standard_normal(p.shape)",
    "rng.standard_normal(p.shape[1])",
    "All examples get the same noise: every row needs noise of its own.",
)
(
    "rng.standard_normal(p.shape)",
    "rng.standard_normal((len(e), 1))",
    "All entries of an example get the same noise: every entry needs noise of its own.",
)
(
    "p + sigma * rng.standard_normal(p.shape)",
    "(e + sigma * rng.standard_normal(e.shape)) @ B.T",
    "The noise is added to e: the camera adds it after the projection.",
)
