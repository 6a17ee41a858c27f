"""The ring of Berthier (2019), Section 5.4: n nodes compute the sum of their numbers, and learn only this sum.

The report sketches the protocol with "arbitrarily large noise". Here the numbers are integers modulo m and the noise is
one uniform mask, so secrecy is exact. `gaussian_mask_leak` computes how much Gaussian noise on real numbers reveals.
"""

import math

import numpy as np
from scipy.special import erf

from nfa import require

View = dict[str, np.ndarray]


def ring_views(x: np.ndarray, mask: np.ndarray, modulus: int) -> tuple[np.ndarray, list[View]]:
    r"""One round of the masked ring: the sum, and everything that each node holds and receives.

    .. math:: v_1 = r + x_1, \qquad v_i = v_{i-1} + x_i, \qquad S = v_n - r \pmod m

    Node 1 draws the mask r and sends v_1 to node 2. Node i adds its own x_i and sends v_i to node i + 1. Node n sends
    v_n back to node 1, which subtracts the mask and sends S to all nodes.

    Source: [berthier2019:ring] [berthier2019:poor-man]

    Parameters
    ----------
    x : (n, d) integer array; row i is the value of node i + 1; n >= 2
    mask : (d,) integer array, r
    modulus : int m >= 2, at most 2**62; entries of x and mask lie in 0 .. m - 1

    Returns
    -------
    S : (d,) array, the sum modulo m
    views : list of n dicts with the values that each node holds and receives, by name: "own", "received" and "sum". The
        dict of node 1 also has "mask"

    Raises
    ------
    ValueError : if a shape does not fit, or if an entry is no integer or outside 0 .. m - 1

    Notes
    -----
    Guarantee, for a uniform mask that only node 1 knows: given x_i and S, the value that node i receives has the same
    law for all values of the other nodes. Node 1 receives S + r, which it could compute from S. The guarantee does not
    cover collusion: nodes i - 1 and i + 1 together know v_i - v_{i-1} = x_i. With n = 2, the sum itself reveals to each
    node the value of the other node.

    Examples
    --------
    >>> S, views = ring_views(np.array([[3], [4], [1]]), np.array([2]), 5)
    >>> S.tolist(), [view["received"].tolist() for view in views]
    ([3], [[0], [0], [4]])
    """
    x, mask = _residues("x", x, modulus, 2), _residues("the mask", mask, modulus, 1)
    if len(x) < 2:
        raise ValueError(f"a ring has at least 2 nodes, got {len(x)}")
    if mask.shape != x.shape[1:]:
        raise ValueError(f"the mask must have the shape of one row of x, {x.shape[1:]}, got {mask.shape}")
    views: list[View] = [{"own": row} for row in x]
    v = (mask + x[0]) % modulus
    for i in range(1, len(x)):
        views[i]["received"] = v
        v = (v + x[i]) % modulus
    views[0] |= {"mask": mask, "received": v}
    S = (v - mask) % modulus
    for view in views:
        view["sum"] = S
    return S, views


def ring_sum(x: np.ndarray, modulus: int, rng: np.random.Generator) -> tuple[np.ndarray, list[View]]:
    """`ring_views` with a uniform mask, for n >= 3 nodes as the report requires.

    Source: [berthier2019:ring]

    The function raises the errors of `ring_views`. It also raises ValueError for n < 3, because each of two nodes can
    subtract its own number from the sum. The mask is only as secret as rng: anyone who knows the seed of rng knows the
    mask.

    Examples
    --------
    >>> ring_sum(np.array([[3], [4], [1]]), 100, np.random.default_rng(0))[0].tolist()
    [8]
    """
    x = _residues("x", x, modulus, 2)
    if len(x) < 3:
        raise ValueError(
            f"a secret sum needs at least 3 nodes, got {len(x)}, because each of two nodes can compute the value of"
            " the "
            "other node from the sum"
        )
    return ring_views(x, rng.integers(0, modulus, x.shape[1:]), modulus)


def encode(values: np.ndarray, resolution: float, modulus: int) -> np.ndarray:
    """Real numbers as residues: the nearest multiples of the resolution. Negative multiples k become modulus + k.

    The function raises ValueError unless every value is finite and its multiple k lies in -m/2 < k < m/2. The multiple
    of a sum must lie in this range too. Otherwise `decode` returns the sum modulo m. So choose m larger than 2 n max
    abs(value) / resolution.

    Source: [berthier2019:ring]

    Examples
    --------
    >>> encode(np.array([0.5, -0.25]), 0.25, 100).tolist()
    [2, 99]
    """
    require.positive(resolution=resolution)
    _check_modulus(modulus)
    values = np.asarray(values, float)
    multiples = np.rint(values / resolution)
    if not (np.abs(multiples) < modulus / 2).all():
        most = modulus / 2 * resolution
        raise ValueError(f"absolute values must be less than {most:g}, which is modulus * resolution / 2")
    return multiples.astype(np.int64) % modulus


def decode(residues: np.ndarray, resolution: float, modulus: int) -> np.ndarray:
    """Real numbers from residues, between -m/2 and m/2 times the resolution: the inverse of `encode` up to rounding.

    Source: [berthier2019:ring]

    The function raises ValueError unless residues contains whole numbers in 0 .. modulus - 1.

    Examples
    --------
    >>> decode(np.array([2, 99]), 0.25, 100).tolist()
    [0.5, -0.25]
    """
    residues = _residues("residues", residues, modulus, np.ndim(residues))
    return np.where(residues > modulus // 2, residues - modulus, residues) * resolution


def gaussian_mask_leak(Delta: float, M: float) -> float:
    r"""The total variation of v_1 for two values Delta apart, if the mask on real numbers is N(0, M^2).

    .. math:: \mathrm{TV}(N(x, M^2), N(x + \Delta, M^2)) = \mathrm{erf}\Big(\frac{\Delta}{2 \sqrt2 \, M}\Big)

    Source: [berthier2019:ring]

    Node 2 distinguishes the two values with the advantage TV over guessing. The advantage tends to 0 only if M tends to
    infinity. But a mask with a large M rounds away digits of the value: see `gaussian_mask_error`. The function raises
    ValueError unless Delta >= 0 and M > 0, both finite.

    Examples
    --------
    >>> round(gaussian_mask_leak(1.0, 10.0), 5)
    0.03988
    """
    if not (0 <= Delta < math.inf and 0 < M < math.inf):
        raise ValueError(f"Delta must be at least 0 and finite, and M must be positive and finite, got {Delta} and {M}")
    return float(erf(Delta / (2 * math.sqrt(2) * M)))


def gaussian_mask_error(value: float, mask: float) -> float:
    """The error of a 64-bit float after a mask is added and subtracted: (value + mask) - mask - value.

    Source: [berthier2019:ring]

    The function raises ValueError if value, mask or their sum is not finite.

    Examples
    --------
    >>> round(gaussian_mask_error(0.1, 1e15), 6)
    0.025
    """
    if not (math.isfinite(value) and math.isfinite(value + mask)):
        raise ValueError(f"value, mask and their sum must be finite, got {value} and {mask}")
    return (value + mask) - mask - value


def _check_modulus(modulus: int) -> None:
    if not (isinstance(modulus, int | np.integer) and 2 <= modulus <= 2**62):
        raise ValueError(f"the modulus must be a whole number in 2 .. 2**62, got {modulus!r}")


def _residues(name: str, values: np.ndarray, modulus: int, ndim: int) -> np.ndarray:
    """The checked values as 64-bit integers, so that the sum of two values does not overflow."""
    _check_modulus(modulus)
    values = np.asarray(values)
    if values.ndim != ndim or values.size == 0 or values.dtype.kind not in "ui":
        raise ValueError(f"{name} must be integers in {ndim} dimensions, got shape {values.shape} of {values.dtype}")
    if values.min() < 0 or values.max() >= modulus:
        raise ValueError(f"{name} must lie in 0 .. {modulus - 1}, modulo {modulus}")
    return values.astype(np.int64)
