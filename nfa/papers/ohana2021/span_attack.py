r"""The span attack: one published update of photonic DFA identifies the records of its batch.

The direction of layer l is dW = (1/m) sum_i v_i h_i^T with v_i = phi'_i * (u_i + g_i). So for every noise g, each row
of dW is a linear combination of h_1 .. h_m, the clipped inputs of the batch. If a layer has more inputs than the batch
has records, these combinations form a small subspace, and the noise stays in it. The attack measures the distance of a
vector from this span, relative to the norm of the vector. For vectors in the span, the result is a rounding error. For
other vectors, it is far larger.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import scipy.linalg

from nfa import require
from nfa.network import Net, forward
from nfa.network.dense import Dense
from nfa.rules.pdfa import clipped_input


def layer_input(net: Net, l: int, x: np.ndarray, **clips) -> np.ndarray:
    """The input of layer l for each image, computed from the public weights and clipped as in `nfa.rules.pdfa`.

    Parameters
    ----------
    net : Net with a fully connected layer l
    l : int, 1 <= l <= L
    x : (k, *in_shape) array of images
    clips : tau_h_max, tau_h_min, clip_x, floor, with the same values as in the attacked call of `nfa.rules.pdfa.pdfa`

    Returns
    -------
    h : (k, n_{l-1}) array

    Raises
    ------
    ValueError : if l is no fully connected layer of net, if x does not fit net, or if a bound is out of range
    """
    if not (1 <= l <= net.L and isinstance(net.map[l], Dense)):
        raise ValueError(
            f"the span attack covers only fully connected layers of 1..{net.L}, but layer {l} is not fully connected"
        )
    h_in = clipped_input(net, l, forward(net, x)[1], **clips)
    return h_in.reshape(len(h_in), -1)


def update_from_weights(weights: Sequence[np.ndarray], *, lr: float, momentum: float = 0.0) -> np.ndarray:
    r"""The direction of the last step, computed from published weights. Momentum does not hide the direction.

    .. math:: v_t = (W_{t-1} - W_t) / \eta, \qquad dW_t = v_t - \mu v_{t-1}

    Parameters
    ----------
    weights : W_{t-1} and W_t or, with momentum, W_{t-2}, W_{t-1} and W_t. For the first step of a run, two iterates are
        enough with momentum too, because v is 0 before this step
    lr : float eta > 0
    momentum : float mu, 0 <= mu < 1

    Returns
    -------
    dW : array of the shape and dtype of the weights

    Raises
    ------
    ValueError : if there are not two or three iterates of the same shape, or if eta or mu is out of range

    Notes
    -----
    `weights_rounding` bounds the error from storing the weights in their dtype.

    Examples
    --------
    The directions 1 and 5 with eta = 1/4 and mu = 1/2 give v = 1 and then v = 5.5.

    >>> update_from_weights([np.array([2.0]), np.array([1.75]), np.array([0.375])], lr=0.25, momentum=0.5).tolist()
    [5.0]
    """
    _check_steps(weights, lr, momentum)
    v = [(before - after) / weights[0].dtype.type(lr) for before, after in pairwise(weights)]
    return v[-1] if len(v) == 1 else v[1] - weights[0].dtype.type(momentum) * v[0]


def weights_rounding(weights: Sequence[np.ndarray], *, lr: float, momentum: float = 0.0) -> float:
    r"""Bound on the Frobenius norm of the error of `update_from_weights` that comes from rounding the weights.

    .. math:: (\|W_t\|_F + \mu \|W_{t-1}\|_F) \, \mathrm{eps} / (2 \eta)

    Parameters
    ----------
    weights, lr, momentum : as for `update_from_weights`, which raises the same errors

    Returns
    -------
    error : float. Every entry of an iterate has a relative error of at most half of the machine epsilon. W_{t-2} counts
        as exact, because the step started from it. The bound does not include rounding in the optimizer, which is
        relative to the update
    """
    _check_steps(weights, lr, momentum)
    half_eps = float(np.finfo(weights[0].dtype).eps) / 2
    last = float(np.linalg.norm(weights[-1]))
    before = momentum * float(np.linalg.norm(weights[-2])) if len(weights) == 3 else 0.0
    return (last + before) * half_eps / lr


def span_basis(rows: np.ndarray, rank: int | None = None) -> tuple[np.ndarray, float]:
    r"""An orthonormal basis of the span of some rows, and a threshold for rounding errors.

    Parameters
    ----------
    rows : (k, n) float array
    rank : int >= 1, the largest number of directions. The function keeps the directions with the largest singular
        values. None keeps all directions

    Returns
    -------
    basis : (r, n) array of the dtype of rows, orthonormal: the leading right singular vectors. Singular values of at
        most max(k, n) eps s_1 count as 0, because rounding can raise a 0 to this size. r = 0 if all rows are 0
    threshold : float; relative residuals up to this value count as inside. It is n eps + E / s_r. E is s_{r+1} if
        `rank` omits singular values, and otherwise max(k, n) eps s_1

    Raises
    ------
    ValueError : if rows is no matrix of finite floats with a row and a column, or if rank is below 1

    Notes
    -----
    The threshold follows from Wedin's theorem. Suppose that the rows are exact rows plus an error of spectral norm E.
    Then the error turns the span by an angle with a sine of at most about E / s_r. If the exact rows have rank r, the
    omitted part is error, so s_{r+1} <= E estimates its size. n eps is the rounding error of the projection itself.

    Examples
    --------
    >>> basis, threshold = span_basis(np.array([[3.0, 4.0], [6.0, 8.0]]))
    >>> np.abs(basis).round(12).tolist(), threshold < 1e-14
    ([[0.6, 0.8]], True)
    """
    rows = _matrix("rows", rows)
    if rank is not None:
        require.at_least(1, rank=rank)
    _, s, vt = _svd(rows)
    eps = float(np.finfo(rows.dtype).eps)
    rounding = max(rows.shape) * eps * float(s[0])
    r = int(np.count_nonzero(s > rounding))
    error = rounding
    if rank is not None and rank < len(s):
        r = min(r, int(rank))
        error = float(s[r]) if r else 0.0
    return vt[:r], rows.shape[1] * eps + (error / float(s[r - 1]) if r else 0.0)


def span_residuals(v: np.ndarray, rows: np.ndarray, rank: int | None = None) -> np.ndarray:
    r"""The distance of each v from the span of some rows, relative to the norm of v.

    .. math:: \rho(v) = \|v - P v\| / \|v\|, \qquad P \text{ the projection onto } \mathrm{span}(rows)

    Source: [ohana2021:prop3-cols]

    Parameters
    ----------
    v : (a, n) float array
    rows : (k, n) float array. If you know the batch, use its clipped inputs h_i as rows, and the rows of an update as
        v. Otherwise, use the update as rows, and the clipped inputs of candidate images as v
    rank : int >= 1, the number of leading directions of rows to use. Use m for an update that was computed from rounded
        weights

    Returns
    -------
    residuals : (a,) array in [0, 1] up to rounding; 0 for v = 0, which is in every span

    Raises
    ------
    ValueError : if v or rows is no matrix of finite floats, if their n differ, or if rank is below 1

    Examples
    --------
    The span is the first axis. The distance of (3, 4) from this axis is 4/5 of the norm of (3, 4).

    >>> span_residuals(np.array([[3.0, 4.0], [7.0, 0.0], [0.0, 0.0]]), np.array([[2.0, 0.0]])).round(12).tolist()
    [0.8, 0.0, 0.0]
    """
    return residuals_to(v, span_basis(rows, rank)[0])


def update_residual(dW: np.ndarray, h: np.ndarray) -> float:
    r"""The relative distance of an update from the updates that a batch can cause.

    For the batch of the update itself, this distance is 0 up to rounding.

    .. math:: \rho(dW) = \|dW - dW P\|_F / \|dW\|_F, \qquad P \text{ the projection onto } \mathrm{span}\{h_1 .. h_m\}

    Source: [ohana2021:prop3-cols]

    Parameters
    ----------
    dW : (n_l, n_{l-1}) array, a PDFA direction of layer l, or the result of `update_from_weights`
    h : (m, n_{l-1}) array, the clipped input of layer l for every record of the batch (`layer_input`)

    Returns
    -------
    residual : float in [0, 1] up to rounding; 0 if dW is 0

    Raises
    ------
    ValueError : as in `span_residuals`

    Notes
    -----
    Suppose that the update is from a batch that differs from the given batch in record I. Then the part of phi'_I *
    (u_I + g_I) h_I^T outside the span remains, so more noise makes the residual larger. Each row has its squared norm
    as its weight. So the rows of dead units, which are rounding errors, have almost no weight.
    """
    return whole_residual(dW, span_basis(h)[0])


def update_threshold(dW: np.ndarray, rounding: float = 0.0) -> float:
    r"""The largest `update_residual` at which an adversary who makes no trials attributes the update to the batch.

    .. math:: n \, \mathrm{eps} + rounding / \|dW\|_F

    Parameters
    ----------
    dW : (n_l, n) float array
    rounding : float >= 0, bound on the Frobenius norm of the error in dW from rounding of the published weights, from
        `weights_rounding`

    Returns
    -------
    threshold : float; 1 if dW is 0. The first term covers the arithmetic and is a rule of thumb. The residual of an
        update can exceed this term if the update lies along the directions in which the batch's inputs are smallest.
        The second term is proved
    """
    dW = _matrix("dW", dW)
    norm = float(np.linalg.norm(dW))
    return dW.shape[1] * float(np.finfo(dW.dtype).eps) + rounding / norm if norm else 1.0


def residuals_to(v: np.ndarray, basis: np.ndarray) -> np.ndarray:
    """`span_residuals` for a span that is given by orthonormal rows, for many v and one basis."""
    v, rest = _outside(v, basis)
    return _ratio(np.linalg.norm(rest, axis=1), np.linalg.norm(v, axis=1))


def whole_residual(v: np.ndarray, basis: np.ndarray) -> float:
    """`update_residual` for a span that is given by orthonormal rows."""
    v, rest = _outside(v, basis)
    return float(_ratio(np.linalg.norm(rest), np.linalg.norm(v)))


def recover_errors(dW: np.ndarray, h: np.ndarray, *, m: float) -> np.ndarray:
    r"""Undo the averaging: the contribution of each record of a known batch to the update, including its noise.

    .. math:: v_i = \phi'_i \odot (u_i + g_i), \qquad V = m \, (dW \, H^+)^\top

    Source: [ohana2021:prop3-cols]

    Parameters
    ----------
    dW : (n_l, n_{l-1}) array, the direction to subtract (the paper's delta W is its negative)
    h : (k, n_{l-1}) array, linearly independent rows
    m : float > 0, the rule's public normaliser

    Returns
    -------
    V : (k, n_l) array, one record per row, exact up to rounding. So the mean protects no record

    Raises
    ------
    ValueError : if the rows of h are linearly dependent, as for more records than inputs, or if the shapes differ

    Examples
    --------
    Two records, (1, 0) and (1, 1), contribute 2 and 6 to the row of one unit. The mean of the two terms is (4, 3).

    >>> recover_errors(np.array([[4.0, 3.0]]), np.array([[1.0, 0.0], [1.0, 1.0]]), m=2).round(12).tolist()
    [[2.0], [6.0]]
    """
    dW, h = _matrix("dW", dW), _matrix("h", h)
    require.positive(**{"the normaliser m": m})
    if dW.shape[1] != h.shape[1]:
        raise ValueError(f"dW and h must have the same number of columns, got the shapes {dW.shape} and {h.shape}")
    U, s, Vt = _svd(h)
    if len(h) > h.shape[1] or not s[-1] > max(h.shape) * np.finfo(h.dtype).eps * s[0]:
        raise ValueError(
            f"the {len(h)} inputs in h must be linearly independent, because an update does not distinguish"
            " dependent inputs"
        )
    return (dW.dtype.type(m) * (dW @ Vt.T / s) @ U.T).T  # m (dW H^+)^T, H^+ = V s^{-1} U^T


def most_likely_labels(V: np.ndarray, dphi: np.ndarray, u: np.ndarray) -> np.ndarray:
    r"""The label of each record under which its recovered error is most likely.

    .. math:: \arg\min_y \| V_i / \phi'_i - u_i^y \|

    Parameters
    ----------
    V : (k, n_l) array from `recover_errors`
    dphi : (k, n_l) array, phi'_l(z_i); all 1 for the output layer. Entries that are 0 reveal nothing
    u : (classes, k, n_l) array, the projected error scale(B e_i) that record i would have with each label

    Returns
    -------
    labels : (k,) integers in 0 .. classes - 1

    Raises
    ------
    ValueError : if the shapes do not fit or a value is NaN or infinite

    Notes
    -----
    V / phi' = u + g, and the entries of g are independent with equal standard deviations. So the label with the nearest
    u is the most likely label.
    """
    V, dphi, u = np.asarray(V), np.asarray(dphi), np.asarray(u)
    if V.ndim != 2 or dphi.shape != V.shape or u.ndim != 3 or u.shape[1:] != V.shape or not len(u):
        raise ValueError(
            f"V, dphi and each u[y] must be matrices of the same shape, got {V.shape}, {dphi.shape}, {u.shape}"
        )
    require.finite(V=V, dphi=dphi, u=u)
    live = dphi != 0
    noisy = np.divide(V, dphi, out=np.zeros_like(V), where=live)
    distances = [np.square(np.where(live, noisy - candidate, 0)).sum(axis=1) for candidate in u]
    return np.argmin(distances, axis=0)


def _check_steps(weights: Sequence[np.ndarray], lr: float, momentum: float) -> None:
    if len(weights) not in (2, 3) or len({(W.shape, W.dtype) for W in weights}) != 1:
        raise ValueError("weights must be two or three iterates of one shape and dtype, from the first to the last")
    if not all(np.isfinite(W).all() for W in weights):
        raise ValueError("weights must be finite, found NaN or infinity")
    require.positive(lr=lr)
    require.within("[0, 1)", momentum=momentum)


def _svd(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Thin singular value decomposition. NumPy's method fails for some rank-deficient updates; then we use gesvd."""
    try:
        return np.linalg.svd(a, full_matrices=False)
    except np.linalg.LinAlgError:
        return scipy.linalg.svd(a, full_matrices=False, lapack_driver="gesvd")


def _matrix(name: str, a: np.ndarray) -> np.ndarray:
    a = np.asarray(a)
    if a.ndim != 2 or not a.size or a.dtype.kind != "f":
        raise ValueError(
            f"{name} must be a matrix of floats with at least one entry, got the shape {a.shape} of {a.dtype}"
        )
    if not np.isfinite(a).all():
        raise ValueError(f"{name} holds NaN or infinity in row {int(np.argmin(np.isfinite(a).all(axis=1)))}")
    return a


def _outside(v: np.ndarray, basis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """v, checked, and its remainder after the projection onto orthonormal rows."""
    v = _matrix("v", v)
    if v.shape[1] != basis.shape[1]:
        raise ValueError(f"v and rows must have the same number of columns, got {v.shape[1]} and {basis.shape[1]}")
    return v, v - (v @ basis.T) @ basis


def _ratio(part, whole) -> np.ndarray:
    return np.divide(part, whole, out=np.zeros(np.shape(whole)), where=np.asarray(whole) > 0)
