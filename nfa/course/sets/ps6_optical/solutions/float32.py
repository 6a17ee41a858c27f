"""Works in float32 and complex64 throughout."""

import numpy as np


# %% intensity
def intensity(R, mirrors):
    field = np.complex64(R) @ np.float32(mirrors).T
    return (field * field.conj()).real.T


# %% speckle
def speckle(n):
    return np.full(2, n, np.float32)


# %% overexposed
def overexposed(n, top):
    return np.exp(-np.float32(top) / np.float32(n))


# %% linear
def linear(see, x, I_a):
    I_a = np.asarray(I_a, np.float32)
    crossed = np.float32(see(x, 1)) - np.float32(see(x, 0)) - I_a
    return np.float32(0.5) * crossed * I_a ** np.float32(-0.5)


# %% matrix
def matrix(R, n_anchor):
    R = R.astype(np.complex64)
    a = R[:, -n_anchor:] @ np.ones((n_anchor, 1), np.complex64)
    return np.real(R[:, :-n_anchor] * np.conj(a) / np.abs(a))


# %% ternarise
def ternarise(e, t):
    e = np.float32(e)
    return np.where(np.abs(e) > np.float32(t), np.sign(e), np.float32(0))


# %% project
def project(see, e, I_a):
    e = np.float32(e)
    p = linear(see, np.concatenate([np.maximum(e, 0), np.maximum(-e, 0)]), I_a)
    return p[: len(e)] - p[len(e) :]


# %% read
def read(I, top, bits):
    highest = np.float32(2**bits - 1)
    level = np.round(np.float32(I) / np.float32(top) * highest)
    return np.clip(level, 0, highest) / highest * np.float32(top)


# %% shot_variance
def shot_variance(I_xa, I_x, I_a, photons):
    return np.float32(0.25) * (np.float32(I_xa) + np.float32(I_x)) / (np.float32(photons) * np.float32(I_a))


# %% scale
def scale(p, s):
    p = np.float32(p)
    norms = np.linalg.norm(p, axis=-1)[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.nan_to_num(np.minimum(np.float32(s), norms) * p / norms)


# %% step
def step(see, e, I_a, dphi, h, t, s, m):
    p = np.float32(scale(project(see, ternarise(e, t), I_a), s))
    return np.einsum("ij,ij,ik->jk", p, np.float32(dphi), np.float32(h)) / np.float32(m)


# %% noise_length
def noise_length(sigma, n, projections):
    return np.linalg.norm(np.full(n * projections, sigma, np.float32))
