"""Every clip of the papers, named by what it does to each row (one row, one example).

The papers call several of these "clip"; NOTATION.md says which is whose.
"""

import math

import numpy as np

# Entries of a row that einsum takes at a time: fewer than NumPy's buffer holds, which cuts longer rows anywhere.
AT_ONCE = 1 << 12


def squared_norms(rows: np.ndarray) -> np.ndarray:
    """The sum of squares of each row, (m, n) -> (m,), by an order of its terms that n alone decides."""
    # A row's entries side by side in memory, as one row alone has them.
    parts = (np.ascontiguousarray(rows[:, k : k + AT_ONCE]) for k in range(0, max(1, rows.shape[1]), AT_ONCE))
    return sum(np.einsum("ij,ij->i", part, part) for part in parts)


def row_norms(v: np.ndarray) -> np.ndarray:
    """The l2 norm of each row of v, trailing axes flattened (for a tensor: Frobenius), (m, ...) -> (m,).

    Squares that would overflow or underflow are avoided by rescaling the row; a norm beyond the dtype gives inf, a row
    with infinity or NaN gives either.
    """
    rows = v.reshape(len(v), math.prod(v.shape[1:]))
    limits = np.finfo(v.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.sqrt(squared_norms(rows))
        lost = ~(np.isfinite(norms) & (norms > np.sqrt(limits.tiny) / limits.eps))
        if lost.any():  # each by itself: no row's norm depends on another row
            alone = np.ascontiguousarray(rows[lost])
            largest = np.abs(alone).max(axis=1, initial=0)
            largest[largest == 0] = 1
            norms[lost] = largest * np.sqrt(np.square(alone / largest[:, None]).sum(axis=1))
    return norms


def clip_factor(norms: np.ndarray, c: float, shares: list | None = None) -> np.ndarray:
    """min(1, c / norm) for each norm >= 0, and 1 where the norm is 0: the weight that clips a row to l2 norm c.

    A norm that is NaN or infinite gets 0. A weight too small for full precision becomes 0: rounded up, it would let the
    row exceed c. To ``shares``, a list, the share of rows that are scaled down is added, None if there are no rows.

    Examples
    --------
    >>> shares = []
    >>> clip_factor(np.array([5.0, 1.0, 0.0, 2.0]), 2.0, shares).tolist(), shares
    ([0.4, 1.0, 1.0, 1.0], [0.25])
    >>> clip_factor(np.array([np.nan, np.inf]), 2.0).tolist()
    [0.0, 0.0]
    """
    weight = np.ones_like(norms)
    over = ~((norms <= np.float64(c)) & np.isfinite(norms))  # NaN is below nothing
    with np.errstate(invalid="ignore"):  # inf / inf, where c is no bound
        weight[over] = np.float64(c) / norms[over]
    weight[~(weight >= np.finfo(weight.dtype).tiny)] = 0
    if shares is not None:
        shares.append(float(over.mean()) if len(over) else None)
    return weight


def clip_factor_of_squares(norms2: np.ndarray, c: float, shares: list | None = None) -> np.ndarray:
    """`clip_factor` where squares of norms are known: min(1, c / sqrt(norm2)) for each norm2 >= 0, (m,) -> (m,).

    Raises ValueError if c is not positive, or so small that the dtype has no squares of such norms: what vanishes
    there would pass the clip, however much longer than c it is.
    """
    limits = np.finfo(norms2.dtype)
    if not c > 0:
        raise ValueError(f"the clipping bound must be positive, got {c}")
    if c < (least := math.sqrt(float(limits.tiny) / float(limits.eps))):
        raise ValueError(f"the clipping bound must be at least {least:.3g} for {norms2.dtype} arrays, got {c}")
    return clip_factor(np.sqrt(norms2), c, shares)


def weights_in(dtype: np.dtype, weight: np.ndarray) -> np.ndarray:
    """Weights (m,) >= 0 in a dtype, 0 where it has fewer digits for them: rounded up, they would let a row exceed c."""
    each = weight.astype(dtype, copy=False)
    small = each < np.finfo(dtype).tiny
    return np.where(small, 0, each) if small.any() else each


def scale_rows(v: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Each row of v (m, ...) times its own weight, of (m,), in v's dtype; a row of weight 0 is 0, whatever it holds."""
    each = weights_in(v.dtype, weight).reshape(-1, *[1] * (v.ndim - 1))
    if each.all():
        return v * each
    with np.errstate(invalid="ignore"):
        return np.where(each == 0, 0, v * each)  # 0 times infinity is NaN


def finite_rows(*arrays: np.ndarray) -> list[np.ndarray]:
    """The arrays with a record's rows set to 0 in all of them, where they are not finite in one: no record adds NaN.

    What a record adds to a sum is bounded only if it is a number: 0 times infinity is NaN, and NaN passes every
    comparison, so every clip. A private rule therefore hands the rows of dz and h through here before any product of
    the two. It looks at each record by itself, so that a record taken out here adds 0 and moves no other.

    Parameters
    ----------
    arrays : (m, ...) arrays, row i of each being of record i

    Returns
    -------
    kept : list of arrays of the same shapes and dtypes; those given, where all rows are finite

    Examples
    --------
    >>> dz, h = finite_rows(np.array([[1.0], [2.0], [3.0]]), np.array([[4.0], [np.inf], [5.0]]))
    >>> dz.tolist(), h.tolist()
    ([[1.0], [0.0], [3.0]], [[4.0], [0.0], [5.0]])
    """
    # As memory has them: nothing is copied where it has the examples last. As its squares' sum is, so is every entry.
    if all(math.isfinite(np.vdot(flat, flat)) for flat in (v.ravel(order="K") for v in arrays)):
        return list(arrays)
    finite = np.logical_and.reduce([np.isfinite(v).all(axis=tuple(range(1, v.ndim))) for v in arrays])
    if finite.all():
        return list(arrays)
    return [np.where(finite.reshape(-1, *[1] * (v.ndim - 1)), v, 0) for v in arrays]


def clip_l2(v: np.ndarray, c: float, shares: list | None = None) -> np.ndarray:
    r"""Shrink each row of v to l2 norm at most c, keeping its direction.

    .. math:: \mathrm{clip}_c(v) = v \min(1, c / \|v\|_2)

    Source: [lee2020:clip] [ohana2021:scale] [ohana2021:eq9b] [berthier2019:clip] [lee2020:clip-direction]
    [dpulr2024:joint-loss] [berthier2019:rem-clip]

    Parameters
    ----------
    v : (m, ...) float array, one example a row; trailing axes count as one vector
    c : float > 0, the bound; inf leaves v as it is, but for rows without a finite norm
    shares : list that is told what share of the rows is scaled down, as by `clip_factor`

    Returns
    -------
    clipped : array of v's shape and dtype

    Raises
    ------
    ValueError : if c is not positive, or so small that the dtype has few digits for what is left

    Notes
    -----
    Guarantees: row norms at most c up to rounding; zero rows stay zero (the printed formulas are 0/0 there); rows
    within the bound are returned unchanged; rows with NaN, infinity or a norm beyond the dtype become zero. Applying it
    twice changes nothing beyond rounding.

    Examples
    --------
    >>> clip_l2(np.array([[3.0, -4.0, 12.0], [0.0, 0.0, 0.0]]), 6.5).tolist()
    [[1.5, -2.0, 6.0], [0.0, 0.0, 0.0]]
    """
    if not c > 0:
        raise ValueError(f"the clipping bound c must be positive, got {c}")
    limits = np.finfo(v.dtype)
    if c < (least := float(limits.tiny) / float(limits.eps)):  # rows that short keep no digits
        raise ValueError(f"the clipping bound c must be at least {least:.3g} for {v.dtype} arrays, got {c}")
    weight = clip_factor(row_norms(v), c, shares)  # (m,)
    return scale_rows(v, weight)


def clip_entries(v: np.ndarray, c: float) -> np.ndarray:
    r"""Bound every entry of v by c in absolute value: :math:`\mathrm{sign}(v_k) \min(c, |v_k|)`.

    Source: [ohana2021:clip]

    Raises ValueError if c is not positive. Afterwards a row of n entries has l2 norm at most c sqrt(n).

    Examples
    --------
    >>> clip_entries(np.array([[0.5, -0.02, -0.3]]), 0.25).tolist()
    [[0.25, -0.02, -0.25]]
    """
    if not c > 0:
        raise ValueError(f"the clipping bound c must be positive, got {c}")
    return np.clip(v, -float(c), float(c))


def offset(v: np.ndarray, nu: float) -> np.ndarray:
    """Add nu to every entry, as printed: v + nu. Entries near -nu end near 0, so this is no floor for signed v.

    Source: [ohana2021:offset] [ohana2021:eq9a]

    Raises ValueError if nu is negative.
    """
    if not nu >= 0:
        raise ValueError(f"the offset nu must not be negative, got {nu}")
    return v + v.dtype.type(nu)


def offset_signed(v: np.ndarray, nu: float) -> np.ndarray:
    """Move every entry away from 0 by nu, zeros upwards: afterwards |v_k| >= nu for every entry, whatever its sign.

    Our repair of `offset` for signed activations. Raises ValueError if nu is negative.

    Source: [ohana2021:eq9a]

    Examples
    --------
    >>> offset_signed(np.array([0.5, -0.25, 0.0]), 0.25).tolist()
    [0.75, -0.5, 0.25]
    """
    if not nu >= 0:
        raise ValueError(f"the offset nu must not be negative, got {nu}")
    return v + np.where(v < 0, -nu, nu).astype(v.dtype)


FLOORS = {"literal": offset, "signed": offset_signed}  # as printed, and as it must be for signed activations


def clip_offset(v: np.ndarray, nu: float, c: float, floor: str = "literal") -> np.ndarray:
    """Offset every entry by nu, then bound it by c: `clip_entries` of `offset`, or of `offset_signed`.

    Parameters
    ----------
    v : float array, an example a row
    nu : float >= 0, the offset
    c : float > 0, the bound on an entry's absolute value
    floor : which offset, a name in ``FLOORS``

    Returns
    -------
    clipped : array of v's shape and dtype

    Raises
    ------
    ValueError : if nu is negative, c is not positive, or floor is no such name

    Examples
    --------
    >>> clip_offset(np.array([[0.5, -0.125, -0.0625]]), 0.125, 0.25).tolist()
    [[0.25, 0.0, 0.0625]]
    >>> clip_offset(np.array([[0.5, -0.125, -0.0625]]), 0.125, 0.25, "signed").tolist()
    [[0.25, -0.25, -0.1875]]
    """
    if floor not in FLOORS:
        raise ValueError(f"floor must be one of {', '.join(FLOORS)}, got {floor!r}")
    return clip_entries(FLOORS[floor](v, nu), c)


def check_clip_of_inputs(*, tau_h_max: float, tau_h_min: float, floor: str) -> None:
    """Hold what the photonic rules clip and offset a layer's input by (see `nfa.rules.pdfa`) against its ranges.

    Raises ValueError unless 0 <= tau_h_min <= tau_h_max, the one finite and the other positive, and floor is known.
    """
    if not (0 <= tau_h_min <= tau_h_max and tau_h_max > 0 and tau_h_min < math.inf):
        raise ValueError(
            "tau_h_min and tau_h_max must satisfy 0 <= tau_h_min <= tau_h_max, tau_h_min < inf and tau_h_max > 0, "
            f"got tau_h_min={tau_h_min} and tau_h_max={tau_h_max}"
        )
    if floor not in FLOORS:
        raise ValueError(f"floor must be one of {', '.join(FLOORS)}, got {floor!r}")
