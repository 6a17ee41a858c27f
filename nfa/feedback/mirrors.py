"""The inputs of an OPU's mirrors and the noise after its camera. A ternary error becomes two binary images."""

import numpy as np

from nfa import require
from nfa.feedback.camera import check_std, needed
from nfa.noise import normals_each


def ternarize(e: np.ndarray, t: float) -> np.ndarray:
    """For each entry of e: 1 if it is above t, -1 if it is below -t, and otherwise 0. The result has e's dtype.

    Source: [ohana2021:exp-ternary]

    Raises ValueError if the threshold t is negative.

    Examples
    --------
    >>> ternarize(np.array([0.1, -0.9, 0.15, 0.8]), 0.15).tolist()
    [0.0, -1.0, 0.0, 1.0]
    """
    if not t >= 0:
        raise ValueError(f"the threshold t must not be negative, got {t}")
    return (e > t).astype(e.dtype) - (e < -t).astype(e.dtype)


def ternarize_relative(e: np.ndarray, t: float) -> np.ndarray:
    """The sign of each entry of e whose size is at least t times the largest size in its row, and 0 for other entries.

    This function is ours. The result has e's dtype. With a fixed threshold, as in `ternarize`, all errors of examples
    that the network has learnt become 0. Here, t = 1 keeps the largest entry, and t = 0 keeps the signs of all entries.

    Raises ValueError unless t is in [0, 1].

    Examples
    --------
    >>> ternarize_relative(np.array([[0.1, -0.9, 0.15, 0.6], [0.0, 0.001, 0.0, -0.001]]), 0.5).tolist()
    [[0.0, -1.0, 0.0, 1.0], [0.0, 1.0, 0.0, -1.0]]
    """
    require.within("[0, 1]", **{"the threshold t": t})
    size = np.abs(e)
    with np.errstate(invalid="ignore"):  # if an error has overflowed, 0 times infinity occurs
        seen = size >= e.dtype.type(t) * size.max(axis=1, keepdims=True)
    return ((e > 0) & seen).astype(e.dtype) - ((e < 0) & seen).astype(e.dtype)


def two_images(e: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The binary e_+ and e_- with e = e_+ - e_-, in e's dtype. Raises ValueError unless e is in {-1, 0, 1}.

    Source: [ohana2021:exp-twoproj]

    Examples
    --------
    >>> plus, minus = two_images(np.array([[1.0, 0.0, -1.0]]))
    >>> plus.tolist(), minus.tolist()
    ([[1.0, 0.0, 0.0]], [[0.0, 0.0, 1.0]])
    """
    e = np.asarray(e)
    wrong = e[~((e == 0) | (e == 1) | (e == -1))]
    if wrong.size:
        raise ValueError(
            f"every entry of an error for an OPU must be -1, 0 or 1 (see feedback.ternarize), got {wrong[0]}"
        )
    return (e > 0).astype(e.dtype), (e < 0).astype(e.dtype)


def binary_images(x, n_in):
    """x as an array of floats, (m, n_in), checked to be binary so that n_in mirrors can show it."""
    x = np.asarray(x)
    if x.ndim != 2 or x.shape[1] != n_in:
        raise ValueError(f"the input of an OPU with {n_in} mirrors must have the shape (m, {n_in}), got {x.shape}")
    wrong = x[~((x == 0) | (x == 1))]
    if wrong.size:
        raise ValueError(f"the input of an OPU must be binary, 0 or 1, got {wrong[0]}")
    return x if np.issubdtype(x.dtype, np.floating) else x.astype(np.float64)


def distinct_rows(x):
    """The different rows of a ternary or binary x, and the index of every row of x among these different rows.

    The function compares rows as numbers of base 3 in float64. With more than 33 columns, these numbers have too many
    digits, so all rows are returned.
    """
    if x.shape[1] > 33:
        return x, slice(None)
    _, first, which = np.unique(x @ 3.0 ** np.arange(x.shape[1]), return_index=True, return_inverse=True)
    return x[first], which


def noisy(p, std, rng):
    """p plus independent normals of this std, or p if std is None or 0. Raises ValueError if noise needs an rng."""
    if not std:
        return p
    g = normals_each(needed(rng, f"noise_std={std}"), p.shape).astype(p.dtype)
    return p + p.dtype.type(std) * g


def check_opu(*, scale, noise_std, **sizes):
    """Raise ValueError unless sizes are whole numbers >= 1, scale is positive and finite, and the noise is a std."""
    require.whole(1, **{f"{name} of an OPU": size for name, size in sizes.items()})
    require.positive(**{"the scale of an OPU": scale})
    check_std("noise_std", noise_std)
