"""Exact Renyi divergences of one update of photonic DFA under two data sets: for each column, and for the whole matrix.

A batch is a triple (u, dphi, h) as in `nfa.sensitivity.pdfa.column_law`. Here u (m, n_l) contains the projected errors
after the scaling, and dphi (m, n_l) the derivatives phi'_l(z). The array h (m, n_{l-1}) contains the inputs of layer l
after offset and clip. To include the bias in the matrix, append a column with the bias's input to h, usually ones.

The two batches may have different numbers of records. Both updates are divided by the same public number, which
cancels. P is the law of the update under the first batch, and Q is the law under the second batch. For the other
direction, exchange the batches.
"""

import math

import numpy as np
from scipy import linalg

from nfa import require
from nfa.privacy.divergences import check_order
from nfa.privacy.gaussians import renyi_gaussian
from nfa.sensitivity.pdfa import column_law

Batch = tuple[np.ndarray, np.ndarray, np.ndarray]
SPAN_TOLERANCE = 1e-10  # a record of norm 1 counts as inside a span if its distance from the span is smaller
RANK_TOLERANCE = 1e-12  # singular values of records of norm 1 count as 0 below this share of the largest value


@np.errstate(over="ignore", invalid="ignore")
def column_renyi(batch: Batch, other: Batch, *, alpha: float, sigma: float) -> np.ndarray:
    r"""Exact Renyi divergence of every column of one update on its own.

    .. math:: D_\alpha = \sum_{j=1}^{n_l} \Big( \frac{\alpha m^2}{2 \sigma^2}
              \frac{(f_j - f'_j)^2}{\alpha a_j'^2 + (1 - \alpha) a_j^2} - \frac{1}{2 (\alpha - 1)}
              \log \frac{\alpha a_j'^2 + (1 - \alpha) a_j^2}{a_j^{2 (1 - \alpha)} a_j'^{2 \alpha}} \Big)

    Source: [ohana2021:prop3-proof-1] [ohana2021:pre-proof-1] [ohana2021:prop3-proof-2] [ohana2021:A1-s1]
    [ohana2021:A1-s2]

    Parameters
    ----------
    batch, other : triples (u, dphi, h) with the same n_l and n_{l-1}
    alpha : float > 1, finite
    sigma : float > 0

    Returns
    -------
    divergences : (n_{l-1},) array of floats >= 0. A divergence is inf in three cases: some alpha a'^2 + (1 - alpha) a^2
        is not positive, a unit has noise under only one batch, or a unit has no noise under either batch and different
        means

    Raises
    ------
    ValueError : if a number is out of range, if shapes do not agree, or if an array is not finite

    Notes
    -----
    The sum of these divergences is neither an upper nor a lower bound on `matrix_renyi`, because the columns share
    their noise.

    Examples
    --------
    With one record and one unit, the two laws are N(1, 1) and N(0, 1).

    >>> one = np.ones((1, 1))
    >>> column_renyi((one, one, one), (0 * one, one, one), alpha=2, sigma=1).tolist()
    [1.0]
    """
    _check(batch, other, alpha, sigma)
    f, std = (len(batch[2]) * part for part in column_law(*batch, sigma=sigma))  # without the common normaliser
    f2, std2 = (len(other[2]) * part for part in column_law(*other, sigma=sigma))  # (n_l, n_{l-1})
    divergences = np.zeros(f.shape[1])
    for k in range(f.shape[1]):
        for j in range(f.shape[0]):
            divergences[k] += renyi_gaussian(f[j, k], std[j, k] ** 2, f2[j, k], std2[j, k] ** 2, alpha=alpha)
            if divergences[k] == math.inf:
                break
    return divergences


@np.errstate(over="ignore", invalid="ignore")
def matrix_renyi(batch: Batch, other: Batch, *, alpha: float, sigma: float) -> float:
    r"""Exact Renyi divergence of one update, all of its columns together.

    .. math:: D_\alpha = \sum_{j=1}^{n_l} D_\alpha \big( N(\mu_j, S_j) \,\|\, N(\mu'_j, S'_j) \big), \qquad
              \mu_j = \frac1m H^\top \Phi_j u_j, \quad S_j = \frac{\sigma^2}{m^2} H^\top \Phi_j^2 H

    Source: [ohana2021:prop3-cols]

    Parameters
    ----------
    batch, other : triples (u, dphi, h) with the same n_l and n_{l-1}
    alpha : float > 1, finite
    sigma : float > 0

    Returns
    -------
    divergence : float >= 0; inf if S_* = alpha S' + (1 - alpha) S is not positive definite for some unit. It is inf at
        every alpha and sigma if the records for which a unit fires span different spaces under the two batches

    Raises
    ------
    ValueError : if a number is out of range, if shapes do not agree, or if an array is not finite

    Notes
    -----
    Rows are independent, but columns are not. Row j lies in the span of the h_i with phi'_ij != 0, which has dimension
    at most m. We compute in this span. A record counts as inside a span if its distance from the span is at most
    `SPAN_TOLERANCE`, even if this distance is not 0.

    Write A = Phi_j H and A' = Phi'_j H' in coordinates of the common span, and A' = Q R. After the map R^{-T}, the laws
    are N(M^T u_j, sigma^2 M^T M) and N(Q^T u'_j, sigma^2 I), with M = A R^{-1}. We do not compute a covariance, because
    its condition number is the square of the condition number of A or A'.

    Examples
    --------
    One unit reads three records without signal: (1, 1), (1, -1), and a third record that is (1, 1) or (1, -1). Each
    column on its own has the same law in both cases, so the divergences of the columns add up to 0. But the matrix
    distinguishes the two cases at every sigma.

    >>> u = phi = np.ones((3, 1))
    >>> D, D2 = np.array([[1, 1], [1, -1], [1, 1.0]]), np.array([[1, 1], [1, -1], [1, -1.0]])
    >>> column_renyi((0 * u, phi, D), (0 * u, phi, D2), alpha=1.5, sigma=1).tolist()
    [0.0, 0.0]
    >>> [round(matrix_renyi((0 * u, phi, D), (0 * u, phi, D2), alpha=a, sigma=100), 6) for a in (1.5, 2)]
    [0.470004, inf]
    """
    _check(batch, other, alpha, sigma)
    u, dphi, h = (np.asarray(part, float) for part in batch)
    u2, dphi2, h2 = (np.asarray(part, float) for part in other)
    spans = RecordSpans(h), RecordSpans(h2)
    same_h = np.array_equal(h, h2)
    total = 0.0
    for j in range(dphi.shape[1]):
        if same_h and np.array_equal(dphi[:, j], dphi2[:, j]):  # the covariances are equal, so only the means differ
            shift = float(np.linalg.norm(spans[0].noise_basis(dphi[:, j]).T @ (u[:, j] - u2[:, j]))) / sigma
            total += alpha / 2 * shift * shift
            continue
        fires = dphi[:, j] != 0
        V, V2 = spans[0].of(fires), spans[1].of(dphi2[:, j] != 0)  # (n_{l-1}, k) each
        if V.shape != V2.shape or leave(spans[0].rows[fires], V2):
            return math.inf
        A, A2 = dphi[:, j, None] * spans[0].along(V2), dphi2[:, j, None] * spans[1].along(V2)  # (m, k)
        total += _row_renyi(A, u[:, j], A2, u2[:, j], alpha=alpha, sigma=sigma)
        if total == math.inf:
            return math.inf
    return total


def leverages(dphi: np.ndarray, h: np.ndarray, *, record: int) -> np.ndarray:
    r"""For each unit, the share of one record's noise that the update separates from the noise of the other records.

    .. math:: lev_{Ij} = \phi_{Ij}'^2 \, h_I^\top (H^\top \Phi_j^2 H)^+ h_I \in [0, 1]

    Source: [ohana2021:prop3-cols]

    Parameters
    ----------
    dphi : (m, n_l) array
    h : (m, n_{l-1}) array
    record : int, the index I of the record

    Returns
    -------
    leverages : (n_l,) array. A leverage is 1 if h_I is outside the span of the other records for which the unit fires.
        It is 0 if the unit does not fire for I. The leverages of the m records add up to the rank of Phi_j H

    Raises
    ------
    ValueError : if shapes do not agree, if an array is not finite, or if there is no such record

    Examples
    --------
    Two equal records share one direction. The third record has its own direction.

    >>> leverages(np.ones((3, 1)), np.array([[1.0, 0], [1, 0], [0, 1]]), record=0).round(12).tolist()
    [0.5]
    """
    dphi, h = np.asarray(dphi, float), np.asarray(h, float)
    _check_batch((np.zeros_like(dphi), dphi, h))
    if isinstance(record, bool) or not 0 <= record < len(h):
        raise ValueError(f"record must be one of the {len(h)} records 0 to {len(h) - 1}, got {record}")
    span = RecordSpans(h)
    return np.array([float(np.square(span.noise_basis(dphi_j)[record]).sum()) for dphi_j in dphi.T])


@np.errstate(over="ignore", invalid="ignore")
def label_matrix_renyi(
    delta_u: np.ndarray, dphi: np.ndarray, h: np.ndarray, *, record: int, alpha: float, sigma: float
) -> float:
    r"""Exact Renyi divergence of one update if only the label of one record changes.

    .. math:: D_\alpha = \frac{\alpha}{2 \sigma^2} \sum_j (\Delta u_j)^2 \, lev_{Ij}
              \le \frac{\alpha \|\Delta u\|^2}{2 \sigma^2}

    Source: [ohana2021:A2] [ohana2021:prop3-cols]

    Parameters
    ----------
    delta_u : (n_l,) array, the change of the record's projected error
    dphi : (m, n_l) array
    h : (m, n_{l-1}) array
    record : int, the index I of the record
    alpha : float > 1, finite
    sigma : float > 0

    Returns
    -------
    divergence : float >= 0, the same in both directions

    Raises
    ------
    ValueError : if a number is out of range, if shapes do not agree, or if an array is not finite

    Notes
    -----
    The covariances are equal, as in Appendix A.2. Whitening the row turns its shift phi'_Ij h_I Delta u_j into a shift
    of squared norm (Delta u_j)^2 lev_Ij / sigma^2. If lev = 1, a larger batch does not reduce the divergence, because
    the noise of each record can be separated from the mean. The usual case for n_{l-1} >= m is lev = 1.

    Examples
    --------
    >>> label_matrix_renyi(np.array([2.0]), np.ones((3, 1)), np.array([[1.0, 0], [1, 0], [0, 1]]), record=2, alpha=2,
    ...                    sigma=1)
    4.0
    """
    delta_u = np.asarray(delta_u, float)
    lev = leverages(dphi, h, record=record)
    _check_numbers(alpha, sigma)
    if delta_u.shape != lev.shape or not np.isfinite(delta_u).all():
        raise ValueError(f"delta_u must contain one finite number for each of the {len(lev)} units")
    return float(alpha / 2 * np.sum(np.square(delta_u[lev > 0] / sigma) * lev[lev > 0]))


class RecordSpans:
    """The spans of the records for which a unit fires. The span of all records is computed once."""

    def __init__(self, h: np.ndarray) -> None:
        self.h, self.rows = h, unit_rows(h)
        self.whole = _basis(self.rows)
        self._last = self.whole, self.h @ self.whole

    def of(self, fires: np.ndarray) -> np.ndarray:
        """Orthonormal basis (n_{l-1}, k) of the span of h[fires]."""
        return self.whole if fires.all() else _basis(self.rows[fires])

    def along(self, V: np.ndarray) -> np.ndarray:
        """h in coordinates of V. The last result is cached, because most units have the same V."""
        if V is not self._last[0]:
            self._last = V, self.h @ V
        return self._last[1]

    def noise_basis(self, dphi_j: np.ndarray) -> np.ndarray:
        """Orthonormal basis (m, k) of the columns of Phi_j H, in which the release reveals the noise g_1j..g_mj."""
        fires = dphi_j != 0
        V = self.of(fires)
        if V.shape[1] == fires.sum():  # the records are linearly independent, so the release reveals all their noise
            return np.diag(fires.astype(float))[:, fires]
        return np.linalg.qr(dphi_j[:, None] * self.along(V))[0]


def unit_rows(h: np.ndarray) -> np.ndarray:
    """The rows of h, scaled to norm 1. Rows of zeros do not change."""
    h = h / np.where(h.any(axis=1), np.abs(h).max(axis=1), 1)[:, None]
    return h / np.where(h.any(axis=1), np.linalg.norm(h, axis=1), 1)[:, None]


def _basis(rows: np.ndarray) -> np.ndarray:
    """Orthonormal basis (n, k) of the span of rows of norm 1 or 0."""
    _, s, Vt = np.linalg.svd(rows, full_matrices=False)
    return Vt[s > RANK_TOLERANCE * s.max(initial=0)].T


def leave(rows: np.ndarray, V: np.ndarray) -> bool:
    """Whether a row is outside the span of the orthonormal columns of V."""
    return bool(np.linalg.norm(rows - (rows @ V) @ V.T, axis=1).max(initial=0) > SPAN_TOLERANCE)


def _row_renyi(A, u_j, A2, u2_j, *, alpha: float, sigma: float) -> float:
    """Divergence of A^T N(u_j, sigma^2 I) from A2^T N(u2_j, sigma^2 I), where A and A2 (m, k) have rank k."""
    if A.shape[1] == 0:
        return 0.0
    try:
        Q, R = np.linalg.qr(A2)
        M = linalg.solve_triangular(
            R, A.T, trans="T", check_finite=False
        ).T  # the covariances become M^T M and I   (m, k)
        spread = np.square(np.linalg.svd(M, compute_uv=False))  # variances under P, relative to those under Q
        variances = alpha - (alpha - 1) * spread
        rounding = 8 * len(R) * np.finfo(float).eps * (alpha + (alpha - 1) * spread.max(initial=0))
        if not (variances.min(initial=math.inf) > rounding and spread.min(initial=1) > 0):
            return math.inf  # not positive definite, up to rounding
        d = (M.T @ u_j - Q.T @ u2_j) / sigma
        S_star = alpha * np.eye(len(R)) - (alpha - 1) * M.T @ M
        shift = linalg.solve_triangular(np.linalg.cholesky(S_star), d, lower=True, check_finite=False)
    except np.linalg.LinAlgError:  # numerically singular
        return math.inf
    volume = float(np.log(variances).sum() + (alpha - 1) * np.log(spread).sum())
    divergence = alpha / 2 * float(shift @ shift) - volume / (2 * (alpha - 1))
    return max(0.0, divergence) if divergence < math.inf else math.inf  # an overflow counts as infinite


def _check(batch: Batch, other: Batch, alpha: float, sigma: float) -> None:
    _check_numbers(alpha, sigma)
    _check_batch(batch)
    _check_batch(other)
    widths = [(np.shape(dphi)[1], np.shape(h)[1]) for _, dphi, h in (batch, other)]
    if widths[0] != widths[1]:
        raise ValueError(f"the two batches must have the same (n_l, n_(l-1)), got {widths[0]} and {widths[1]}")


def _check_numbers(alpha: float, sigma: float) -> None:
    check_order(alpha, finite_for="the closed form")
    require.positive(sigma=sigma)


def _check_batch(batch: Batch) -> None:
    u, dphi, h = (np.shape(part) for part in batch)
    if not (len(u) == len(dphi) == len(h) == 2 and u == dphi and u[0] == h[0] > 0):
        raise ValueError(f"a batch is u (m, n_l), dphi (m, n_l), h (m, n_(l-1)) with m > 0, got {u}, {dphi}, {h}")
    require.finite(u=batch[0], dphi=batch[1], h=batch[2])
