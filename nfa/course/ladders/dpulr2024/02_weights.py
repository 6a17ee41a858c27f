"""From pre-activations to weights [dpulr2024:alg1.L203]

v has each example's estimate of the derivative by z, and h is the input of the layer. Because z = W h + b, the estimate
of the gradient by W is the outer product of v and h. The estimate by b is v. Return both for every example, and not the
sum over examples, because the rule clips each example separately.

Hint: v[:, :, None] * h[:, None, :] has the outer products of all examples.
"""

# %% task
import numpy as np


def by_weights(v, h):
    """Return each example's estimate by W and by b.

    v : (k, n) array
    h : (k, n_in) array
    returns gW, gb : arrays (k, n, n_in) and (k, n)
    """
    ### BEGIN SOLUTION
    gW = v[:, :, None] * h[:, None, :]
    return gW, v
    ### END SOLUTION


# %% cases
from nfa.course.checking import derivatives
from nfa.course.judging import TaskCase


def wanted(v, h):
    """The derivatives of <W h + b, v> by W and b for each example."""
    W, b = np.zeros((v.shape[1], h.shape[1])), np.zeros(v.shape[1])
    gW = [derivatives(lambda a, i=i: float((a @ h[i] + b) @ v[i]), W) for i in range(len(v))]
    gb = [derivatives(lambda a, i=i: float((W @ h[i] + a) @ v[i]), b) for i in range(len(v))]
    return {"gW": np.array(gW), "gb": np.array(gb)}


def cases():
    rng = np.random.default_rng(0)
    for k, n, n_in in ((4, 3, 5), (1, 2, 3), (3, 3, 3)):
        v, h = rng.normal(size=(k, n)), rng.normal(size=(k, n_in))
        want = None if k == n == n_in else wanted(v, h)
        yield TaskCase("", f"{k} examples, n = {n}, n_in = {n_in}", lambda f, given=(v, h): f(*given), want)


# %% slips
("v[:, :, None] * h[:, None, :]", "(v.T @ h)", "The examples are added up: return the outer product of each example.")
(
    "v[:, :, None] * h[:, None, :]",
    "v[:, None, :] * h[:, :, None]",
    "The outer products are transposed: a row belongs to an entry of v.",
)
(
    "v[:, :, None] * h[:, None, :]",
    "v[:, :, None] * h[:, None, :] / len(v)",
    "The outer products are divided by the number of examples: no mean is taken here.",
)
("return gW, v", "return gW, 0 * v", "The bias is forgotten: the estimate by b is v.")
("return gW, v", "return gW, v.sum(axis=0)", "The estimate by b is summed: return it for each example.")
