"""Every clip of the papers, named by its effect on each row (one row for each example).

The papers call several of these "clip". NOTATION.md lists which clip belongs to which paper.
"""

import math

import numpy as np

# # Number of entries of a row that einsum sums at a time. So many entries fit into NumPy's buffer. NumPy would divide
# longer rows at places that can vary.
AT_ONCE = 1 << 12


def squared_norms(rows: np.ndarray) -> np.ndarray:
    """The sum of squares of each row, (m, n) -> (m,). The order of the summands depends only on n."""
    # # In these copies the entries of a row are adjacent in memory, as in an array with only this row.
    parts = (np.ascontiguousarray(rows[:, k : k + AT_ONCE]) for k in range(0, max(1, rows.shape[1]), AT_ONCE))
    return sum(np.einsum("ij,ij->i", part, part) for part in parts)


def row_norms(v: np.ndarray) -> np.ndarray:
    """The l2 norm of each row of v with its trailing axes flattened (the Frobenius norm of a tensor), (m, ...) -> (m,).

    If squares would overflow or underflow, the row is rescaled. If the norm is too large for the dtype, the result is
    inf. For a row with infinity or NaN, the result is inf or NaN.
    """
    rows = v.reshape(len(v), math.prod(v.shape[1:]))
    limits = np.finfo(v.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.sqrt(squared_norms(rows))
        lost = ~(np.isfinite(norms) & (norms > np.sqrt(limits.tiny) / limits.eps))
        if lost.any():  # only the rows concerned are rescaled, so that no row's norm depends on another row
            alone = np.ascontiguousarray(rows[lost])
            largest = np.abs(alone).max(axis=1, initial=0)
            largest[largest == 0] = 1
            norms[lost] = largest * np.sqrt(np.square(alone / largest[:, None]).sum(axis=1))
    return norms


def clip_factor(norms: np.ndarray, c: float, shares: list | None = None) -> np.ndarray:
    """min(1, c / norm) for each norm >= 0, and 1 for a norm of 0. This is the weight that clips a row to l2 norm c.

    A norm that is NaN or infinite gets 0. A weight that is too small for full precision becomes 0, because a weight
    that is rounded up would let the row exceed c. If ``shares`` is a list, the function appends the share of rows that
    are scaled down, or None if there are no rows.

    Examples
    --------
    >>> shares = []
    >>> clip_factor(np.array([5.0, 1.0, 0.0, 2.0]), 2.0, shares).tolist(), shares
    ([0.4, 1.0, 1.0, 1.0], [0.25])
    >>> clip_factor(np.array([np.nan, np.inf]), 2.0).tolist()
    [0.0, 0.0]
    """
    weight = np.ones_like(norms)
    over = ~((norms <= np.float64(c)) & np.isfinite(norms))  # every comparison with NaN is false
    with np.errstate(invalid="ignore"):  # if c is infinite, inf / inf occurs
        weight[over] = np.float64(c) / norms[over]
    weight[~(weight >= np.finfo(weight.dtype).tiny)] = 0
    if shares is not None:
        shares.append(float(over.mean()) if len(over) else None)
    return weight


def clip_factor_of_squares(norms2: np.ndarray, c: float, shares: list | None = None) -> np.ndarray:
    """`clip_factor` from squares of norms: min(1, c / sqrt(norm2)) for each norm2 >= 0, (m,) -> (m,).

    Raises ValueError if c is not positive, or so small that the dtype cannot represent the squares of such norms. Such
    squares become 0 and would pass the clip, even if the norm is far above c.
    """
    limits = np.finfo(norms2.dtype)
    if not c > 0:
        raise ValueError(f"the clipping bound must be positive, got {c}")
    if c < (least := math.sqrt(float(limits.tiny) / float(limits.eps))):
        raise ValueError(f"the clipping bound must be at least {least:.3g} for {norms2.dtype} arrays, got {c}")
    return clip_factor(np.sqrt(norms2), c, shares)


def weights_in(dtype: np.dtype, weight: np.ndarray) -> np.ndarray:
    """Weights (m,) >= 0 in a dtype. A weight that loses digits there becomes 0, because rounding up would exceed c."""
    each = weight.astype(dtype, copy=False)
    small = each < np.finfo(dtype).tiny
    return np.where(small, 0, each) if small.any() else each


def scale_rows(v: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Each row of v (m, ...) times its own weight, from (m,), in v's dtype.

    A row of weight 0 is 0, even if it is not finite.
    """
    each = weights_in(v.dtype, weight).reshape(-1, *[1] * (v.ndim - 1))
    if each.all():
        return v * each
    with np.errstate(invalid="ignore"):
        return np.where(each == 0, 0, v * each)  # 0 times infinity is NaN


def finite_rows(*arrays: np.ndarray) -> list[np.ndarray]:
    """Set a record's rows to 0 in all arrays if its row in one array is not finite. So no record adds NaN.

    A record's contribution to a sum is bounded only if the contribution is a number. The product of 0 and infinity is
    NaN, and every comparison with NaN is false, so NaN passes every clip. A private rule therefore applies this
    function to the rows of dz and h before any product of the two. The function treats each record separately, so a
    removed record adds 0 and changes no other record.

    Parameters
    ----------
    arrays : (m, ...) arrays. Row i of each array belongs to record i

    Returns
    -------
    kept : list of arrays of the same shapes and dtypes. If all rows are finite, these are the given arrays

    Examples
    --------
    >>> dz, h = finite_rows(np.array([[1.0], [2.0], [3.0]]), np.array([[4.0], [np.inf], [5.0]]))
    >>> dz.tolist(), h.tolist()
    ([[1.0], [0.0], [3.0]], [[4.0], [0.0], [5.0]])
    """
    # # If the sum of squares of an array is finite, every entry is finite. The sum is in memory order, so nothing is
    # copied if the examples are the last axis.
    if all(math.isfinite(np.vdot(flat, flat)) for flat in (v.ravel(order="K") for v in arrays)):
        return list(arrays)
    finite = np.logical_and.reduce([np.isfinite(v).all(axis=tuple(range(1, v.ndim))) for v in arrays])
    if finite.all():
        return list(arrays)
    return [np.where(finite.reshape(-1, *[1] * (v.ndim - 1)), v, 0) for v in arrays]


def clip_l2(v: np.ndarray, c: float, shares: list | None = None) -> np.ndarray:
    r"""Scale each row of v down to l2 norm at most c, without changing its direction.

    .. math:: \mathrm{clip}_c(v) = v \min(1, c / \|v\|_2)

    Source: [lee2020:clip] [ohana2021:scale] [ohana2021:eq9b] [berthier2019:clip] [lee2020:clip-direction]
    [dpulr2024:joint-loss] [berthier2019:rem-clip]

    Parameters
    ----------
    v : (m, ...) float array, one example in each row. The trailing axes of an example count as one vector
    c : float > 0, the bound. inf leaves v unchanged, except for rows without a finite norm
    shares : list to which the share of rows that are scaled down is appended, as by `clip_factor`

    Returns
    -------
    clipped : array of v's shape and dtype

    Raises
    ------
    ValueError : if c is not positive, or so small that the dtype has few digits for the result

    Notes
    -----
    Guarantees: the norms of the rows are at most c, up to rounding. Zero rows stay zero (the printed formulas are 0/0
    there). Rows within the bound are returned unchanged. Rows with NaN, infinity or a norm beyond the dtype become
    zero. A second application changes nothing, up to rounding.

    Examples
    --------
    >>> clip_l2(np.array([[3.0, -4.0, 12.0], [0.0, 0.0, 0.0]]), 6.5).tolist()
    [[1.5, -2.0, 6.0], [0.0, 0.0, 0.0]]
    """
    if not c > 0:
        raise ValueError(f"the clipping bound c must be positive, got {c}")
    limits = np.finfo(v.dtype)
    if c < (least := float(limits.tiny) / float(limits.eps)):  # a row with so small a norm has few digits
        raise ValueError(f"the clipping bound c must be at least {least:.3g} for {v.dtype} arrays, got {c}")
    weight = clip_factor(row_norms(v), c, shares)  # (m,)
    return scale_rows(v, weight)


def clip_entries(v: np.ndarray, c: float) -> np.ndarray:
    r"""Bound every entry of v by c in absolute value, as :math:`\mathrm{sign}(v_k) \min(c, |v_k|)`.

    Source: [ohana2021:clip]

    Raises ValueError if c is not positive. After this clip, a row of n entries has l2 norm at most c sqrt(n).

    Examples
    --------
    >>> clip_entries(np.array([[0.5, -0.02, -0.3]]), 0.25).tolist()
    [[0.25, -0.02, -0.25]]
    """
    if not c > 0:
        raise ValueError(f"the clipping bound c must be positive, got {c}")
    return np.clip(v, -float(c), float(c))


def offset(v: np.ndarray, nu: float) -> np.ndarray:
    """Add nu to every entry, as the paper prints. Entries near -nu become nearly 0, so |v_k| has no lower bound.

    Source: [ohana2021:offset] [ohana2021:eq9a]

    Raises ValueError if nu is negative.
    """
    if not nu >= 0:
        raise ValueError(f"the offset nu must not be negative, got {nu}")
    return v + v.dtype.type(nu)


def offset_signed(v: np.ndarray, nu: float) -> np.ndarray:
    """Move every entry away from 0 by nu, and a zero to nu. Then |v_k| >= nu for every entry of either sign.

    This is our repair of `offset` for signed activations. Raises ValueError if nu is negative.

    Source: [ohana2021:eq9a]

    Examples
    --------
    >>> offset_signed(np.array([0.5, -0.25, 0.0]), 0.25).tolist()
    [0.75, -0.5, 0.25]
    """
    if not nu >= 0:
        raise ValueError(f"the offset nu must not be negative, got {nu}")
    return v + np.where(v < 0, -nu, nu).astype(v.dtype)


FLOORS = {"literal": offset, "signed": offset_signed}  # the printed offset, and our repair for signed activations


def clip_offset(v: np.ndarray, nu: float, c: float, floor: str = "literal") -> np.ndarray:
    """Apply the offset nu to every entry (`offset` or `offset_signed`), then bound every entry by c.

    Parameters
    ----------
    v : float array, one example in each row
    nu : float >= 0, the offset
    c : float > 0, the bound on an entry's absolute value
    floor : name of the offset in ``FLOORS``

    Returns
    -------
    clipped : array of v's shape and dtype

    Raises
    ------
    ValueError : if nu is negative, if c is not positive, or if floor is not a name in ``FLOORS``

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
    """Check the bounds with which the photonic rules clip and offset a layer's input (see `nfa.rules.pdfa`).

    Raises ValueError unless 0 <= tau_h_min <= tau_h_max, tau_h_min is finite, tau_h_max is positive, and floor is a
    name in ``FLOORS``.
    """
    if not (0 <= tau_h_min <= tau_h_max and tau_h_max > 0 and tau_h_min < math.inf):
        raise ValueError(
            "tau_h_min and tau_h_max must satisfy 0 <= tau_h_min <= tau_h_max, tau_h_min < inf and tau_h_max > 0, "
            f"got tau_h_min={tau_h_min} and tau_h_max={tau_h_max}"
        )
    if floor not in FLOORS:
        raise ValueError(f"floor must be one of {', '.join(FLOORS)}, got {floor!r}")
