"""What published weights tell of the last step: its direction, and how exactly."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from nfa import require


def update_from_weights(weights: Sequence[np.ndarray], *, lr: float, momentum: float = 0.0) -> np.ndarray:
    r"""The direction of the last step, read off published weights: momentum hides nothing.

    .. math:: v_t = (W_{t-1} - W_t) / \eta, \qquad dW_t = v_t - \mu v_{t-1}

    Parameters
    ----------
    weights : W_{t-1}, W_t; with momentum W_{t-2}, W_{t-1}, W_t, or only the first two of a run, before which v is 0
    lr : float eta > 0
    momentum : float mu, 0 <= mu < 1

    Returns
    -------
    dW : array of the shape and dtype of the weights

    Raises
    ------
    ValueError : if there are not two or three iterates of one shape, or eta or mu is out of range

    Notes
    -----
    `weights_rounding` bounds what storing the weights in their dtype has rounded away.

    Examples
    --------
    Directions 1 and 5 with eta = 1/4 and mu = 1/2: v is 1, then 5.5.

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
    weights, lr, momentum : as for `update_from_weights`, which raises for the same

    Returns
    -------
    error : float; every entry of an iterate is off by at most half an eps of its size, and W_{t-2} is taken as exact,
        for the step started from it. Rounding in the optimizer is relative to the update and not counted here.
    """
    _check_steps(weights, lr, momentum)
    half_eps = float(np.finfo(weights[0].dtype).eps) / 2
    last = float(np.linalg.norm(weights[-1]))
    before = momentum * float(np.linalg.norm(weights[-2])) if len(weights) == 3 else 0.0
    return (last + before) * half_eps / lr


def _check_steps(weights: Sequence[np.ndarray], lr: float, momentum: float) -> None:
    if len(weights) not in (2, 3) or len({(W.shape, W.dtype) for W in weights}) != 1:
        raise ValueError("weights must be two or three iterates of one shape and dtype, from the first to the last")
    if not all(np.isfinite(W).all() for W in weights):
        raise ValueError("weights must be finite, found NaN or infinity")
    require.positive(lr=lr)
    require.within("[0, 1)", momentum=momentum)
