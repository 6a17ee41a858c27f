"""Believed the expectation: holds, as some error is neither made longer nor shorter."""

import math

import numpy as np


# %% pair_expected
def pair_expected():
    e = np.random.default_rng(0).normal(size=(10_000, 3))
    e /= np.linalg.norm(e, axis=1, keepdims=True)
    usual = e[np.argmin(np.abs(np.linalg.norm(e @ B.T, axis=1) - 1))]
    return "holds", [usual], [-usual]


# %% bound_expected
def bound_expected(B, m, tau_e):
    return 2 * tau_e / m
