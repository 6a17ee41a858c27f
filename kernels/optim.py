"""Kernels for `nfa.optim`. They read and write a parameter and its state only once, and round as NumPy does."""

import numpy as np
from numba import njit

from nfa.kernels import cores

SHARED = 1 << 19  # smallest number of values for each thread, if several threads share the work

entries = njit(nogil=True, error_model="numpy")


@entries
def _descend(p, dp, eta):
    for k in range(len(p)):
        p[k] -= eta * dp[k]


@entries
def _momentum(p, dp, v, eta, mu):
    for k in range(len(p)):
        v[k] = mu * v[k] + dp[k]
        p[k] -= eta * v[k]


@entries
def _adam(p, dp, m, v, eta, beta1, beta2, rest1, rest2, correct1, correct2, eps):
    for k in range(len(p)):
        m[k] = beta1 * m[k] + rest1 * dp[k]
        v[k] = beta2 * v[k] + rest2 * (dp[k] * dp[k])
        p[k] -= eta * (m[k] / correct1) / (np.sqrt(v[k] / correct2) + eps)


def _share(loop, arrays, numbers):
    """Call loop on pieces of the flattened arrays, which it changes, with the numbers in the first array's dtype."""
    p = arrays[0]
    numbers = [p.dtype.type(number) for number in numbers]
    flat = [np.ascontiguousarray(a, p.dtype).reshape(-1) for a in arrays]

    def work(start, stop):
        loop(*(a[start:stop] for a in flat), *numbers)

    cores.share(work, p.size, SHARED)
    for a, moved in zip(arrays, flat, strict=True):
        if not a.flags.c_contiguous:
            a[...] = moved.reshape(a.shape)


def sgd_update(p, dp, v, eta, mu):
    """Twin of `nfa.optim.sgd_update`."""
    if v is None:
        _share(_descend, (p, dp), (eta,))
    else:
        _share(_momentum, (p, dp, v), (eta, mu))


def adam_update(p, dp, m, v, eta, beta, correct, eps):
    """Twin of `nfa.optim.adam_update`."""
    _share(_adam, (p, dp, m, v), (eta, *beta, *(1 - b for b in beta), *correct, eps))
