"""The noise of a column [ohana2021:eq12] [ohana2021:eq13]

The device adds the noise g to each projection, but the algorithm publishes the direction of task 5. So the noise in the
direction depends on the data. In column k of the direction, entry j has the noise sum_i g_ij phi'_ij h_ik / m. The g_ij
are independent with standard deviation sigma. Compute the standard deviation of the noise for every j.

Hint: Variances of independent noises add up. Sum the squares over the examples, and take the root.
"""

# %% task
import numpy as np


def column_noise(dphi, h, k, sigma, m):
    """Return the standard deviation of the noise in column k of the direction.

    dphi : (number of examples, n) array, the derivatives phi'(z)
    h : (number of examples, n_in) array, the input of the layer
    k : integer, the column
    sigma : number, standard deviation of each g_ij
    m : number that the sum over examples is divided by
    returns a (n,) array
    """
    ### BEGIN SOLUTION
    return sigma / m * np.sqrt((dphi**2 * h[:, [k]] ** 2).sum(axis=0))
    ### END SOLUTION


# %% cases
from nfa.course.judging import TaskCase


def wanted(dphi, h, k, sigma, m):
    """The root of the sum of squares of column k over all g with a single entry sigma and otherwise zeros."""
    total = np.zeros(dphi.shape[1])
    for i, j in np.ndindex(dphi.shape):
        g = np.zeros(dphi.shape)
        g[i, j] = sigma
        moved = sum(np.outer(g[a] * dphi[a], h[a]) for a in range(len(h))) / m
        total += moved[:, k] ** 2
    return np.sqrt(total)


def cases():
    rng = np.random.default_rng(0)
    for records, n, n_in, k, sigma, m in ((4, 3, 5, 2, 1.0, 1), (4, 3, 5, 0, 0.3, 4), (3, 2, 2, 1, 2.0, 7)):
        given = rng.normal(size=(records, n)), rng.normal(size=(records, n_in)), k, sigma, m
        name = f"{records} examples, column {k}, sigma = {sigma}, m = {m}"
        yield TaskCase("", name, lambda f, given=given: f(*given), wanted(*given), "the standard deviation")


# %% slips
(
    "np.sqrt((dphi**2 * h[:, [k]] ** 2).sum(axis=0))",
    "np.abs(dphi * h[:, [k]]).sum(axis=0)",
    "Standard deviations are added: add the squares, and take the root.",
)
(
    "np.sqrt((dphi**2 * h[:, [k]] ** 2).sum(axis=0))",
    "(dphi**2 * h[:, [k]] ** 2).sum(axis=0)",
    "The root is missing: the sum of squares is the variance.",
)
(
    "sigma / m *",
    "sigma / np.sqrt(m) *",
    "The square root of m is taken: divide the noise by m, because the square root of the sum is already taken.",
)
("sigma / m *", "sigma *", "1/m is missing: the direction is a mean.")
("sigma / m *", "1 / m *", "sigma is missing: every g_ij has the standard deviation sigma.")
("dphi**2 *", "", "The derivative is missing: g_ij is multiplied by phi'_ij.")
(" * h[:, [k]] ** 2", "", "h is missing: g_ij is multiplied by h_ik.")
("h[:, [k]] ** 2", "(h**2).sum(axis=1)[:, None]", "All columns are summed: take h_ik for column k only.")
(
    "np.sqrt((dphi**2 * h[:, [k]] ** 2).sum(axis=0))",
    "np.abs((dphi * h[:, [k]]).sum(axis=0))",
    "The sum is squared: square every term before the sum, because the g_ij are independent.",
)
