"""Activations phi with the derivative phi' and its bounds gamma, the softmax, and the losses with their error e.

Every function is elementwise or row by row, preserves the dtype of its input, and never warns on large input.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtr

Elementwise = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Activation:
    """An elementwise activation: ``phi``, its derivative ``dphi``, and ``gamma_min <= |dphi| <= gamma_max``.

    Source: [ohana2021:eq9c]

    Parameters
    ----------
    name : str, the key in `ACTIVATIONS`
    phi, dphi : functions of an array z of any shape, returning the same shape and dtype
    gamma_min, gamma_max : float, the infimum and the supremum of |dphi(t)| over all real t
    monotone : whether phi never decreases, so that the largest of several values of z has the largest phi(z)

    Notes
    -----
    The bounds hold for the computed ``dphi``, because values that exceed ``gamma_max`` by rounding are set to
    ``gamma_max``. At a kink or jump of phi (ReLU, step), ``dphi`` is the derivative from the left, so ``dphi(0) = 0``.
    """

    name: str
    phi: Elementwise
    dphi: Elementwise
    gamma_min: float
    gamma_max: float
    monotone: bool = False


def _tanh(z: np.ndarray) -> np.ndarray:
    return np.tanh(z)


def _dtanh(z: np.ndarray) -> np.ndarray:
    return 1 - np.tanh(z) ** 2


def _sigmoid(z: np.ndarray) -> np.ndarray:
    return expit(z)


def _dsigmoid(z: np.ndarray) -> np.ndarray:
    return np.minimum(expit(z) * expit(-z), 0.25)


def _relu(z: np.ndarray) -> np.ndarray:
    return np.maximum(z, 0)


def _positive(z: np.ndarray) -> np.ndarray:
    return (z > 0).astype(z.dtype)


def _gelu(z: np.ndarray) -> np.ndarray:
    return z * ndtr(z)


# phi'(t) = Phi(t) + t Phi'(t) has a root, so gamma_min is 0. |phi'| is largest at t = sqrt(2), where phi'' = (2 - t^2)
# Phi' is 0.
GELU_STEEPEST = float(ndtr(math.sqrt(2)) + math.sqrt(2) * math.exp(-1) / math.sqrt(2 * math.pi))


def _dgelu(z: np.ndarray) -> np.ndarray:
    near = np.clip(z, -40, 40)  # outside [-40, 40], exp(-z^2 / 2) is 0, and z^2 could overflow
    dphi = ndtr(z) + z * np.exp(-(near**2) / 2) / np.sqrt(2 * np.pi).astype(z.dtype)
    return np.minimum(dphi, GELU_STEEPEST)


def _identity(z: np.ndarray) -> np.ndarray:
    return z


tanh = Activation("tanh", _tanh, _dtanh, 0.0, 1.0, True)
sigmoid = Activation("sigmoid", _sigmoid, _dsigmoid, 0.0, 0.25, True)
relu = Activation("relu", _relu, _positive, 0.0, 1.0, True)
gelu = Activation("gelu", _gelu, _dgelu, 0.0, GELU_STEEPEST)
identity = Activation("identity", _identity, np.ones_like, 1.0, 1.0, True)
# The derivative of the step function is 0 wherever it exists. So rules that multiply by dphi do not train the layers
# below a step. Rules with only forward passes train these layers.
step = Activation("step", _positive, np.zeros_like, 0.0, 0.0, True)

ACTIVATIONS = {a.name: a for a in (tanh, sigmoid, relu, gelu, identity, step)}


def softmax(z: np.ndarray) -> np.ndarray:
    r"""Turn each row of pre-activations into class probabilities.

    .. math:: h^L[k] = \exp(z^L[k]) / \sum_j \exp(z^L[j])

    Source: [lee2020:softmax]

    Parameters
    ----------
    z : (m, K) float array. Each row is first shifted by its maximum, so no entry can overflow

    Returns
    -------
    y_hat : (m, K) array, rows in [0, 1] that sum to 1

    Notes
    -----
    Each output of the softmax depends on all entries of the row. So the softmax is not one of the elementwise
    `ACTIVATIONS` and has no gamma.

    Examples
    --------
    >>> softmax(np.log([[1.0, 3.0]])).round(12).tolist()
    [[0.25, 0.75]]
    """
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def cross_entropy(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    r"""Cross-entropy of the softmax of z and the target y, for each example, in nats.

    .. math:: \mathcal L = -\sum_k y[k] \log \hat y[k], \qquad \hat y = \mathrm{softmax}(z^L)

    Source: [lee2020:ce]

    Parameters
    ----------
    z : (m, K) float array of pre-activations z[L]
    y : (m, K) array of targets, rows that sum to 1 (one-hot for a class label)

    Returns
    -------
    loss : (m,) array, >= 0. It is computed from z by log-sum-exp, so it is finite if z is finite

    Examples
    --------
    >>> cross_entropy(np.log([[1.0, 3.0]]), np.array([[0.0, 1.0]])).round(12).tolist() == [round(np.log(4 / 3), 12)]
    True
    """
    shifted = z - z.max(axis=1, keepdims=True)
    log_y_hat = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return -(y * log_y_hat).sum(axis=1)


def cross_entropy_error(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    r"""The error e of softmax with cross-entropy: the derivative of the loss with respect to z[L], for each example.

    .. math:: e = \delta z^L = \hat y - y

    Source: [lee2020:e] [ohana2021:eq4] [ohana2021:error]

    Parameters
    ----------
    z, y : (m, K) arrays: pre-activations z[L], and targets with rows that sum to 1

    Returns
    -------
    e : (m, K) array; rows sum to 0 and, for one-hot y, have l2 norm at most sqrt(2)

    Notes
    -----
    The error already includes the Jacobian of the softmax, so a rule multiplies e by no further factor at the output
    layer.

    Examples
    --------
    >>> cross_entropy_error(np.log([[1.0, 3.0]]), np.array([[0.0, 1.0]])).round(12).tolist()
    [[0.25, -0.25]]
    """
    return softmax(z) - y


def half_squared_error(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Half the squared distance of the linear output z to the target y, ||z - y||^2 / 2: (m, K) -> (m,)."""
    return ((z - y) ** 2).sum(axis=1) / 2


def residual(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The error e = z - y, the derivative of `half_squared_error` with respect to z, (m, K).

    Source: [ohana2021:error]
    """
    return z - y


def sigmoid_cross_entropy(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    r"""Cross-entropy of the sigmoid of each output and its label, summed over the outputs, in nats.

    .. math:: \mathcal L = -\sum_k \big( y[k] \log \sigma(z[k]) + (1 - y[k]) \log \sigma(-z[k]) \big)

    Source: [berthier2019:exp4.6]

    Parameters
    ----------
    z : (m, K) float array of pre-activations. K = 1 gives logistic regression
    y : (m, K) array of labels 0 and 1. A label -1 would make the loss unbounded below

    Returns
    -------
    loss : (m,) array, >= 0, finite if z is finite

    Examples
    --------
    >>> sigmoid_cross_entropy(np.log([[3.0], [3.0]]), np.array([[1.0], [0.0]])).round(6).tolist()
    [0.287682, 1.386294]
    """
    return (np.logaddexp(0, z) - y * z).sum(axis=1)


def sigmoid_cross_entropy_error(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The error e = sigmoid(z) - y, the derivative of `sigmoid_cross_entropy` with respect to z, (m, K), in [-1, 1]."""
    return expit(z) - y


@dataclass(frozen=True)
class Loss:
    """A loss with its output function and its error e.

    Parameters
    ----------
    name : str, the key in `LOSSES`
    output : function, z[L] (m, K) -> y_hat (m, K)
    value : function, (z[L], y) -> loss per example (m,)
    error : function, (z[L], y) -> e (m, K), the derivative of each example's loss with respect to its z[L]
    """

    name: str
    output: Elementwise
    value: Callable[[np.ndarray, np.ndarray], np.ndarray]
    error: Callable[[np.ndarray, np.ndarray], np.ndarray]


softmax_cross_entropy = Loss("softmax-cross-entropy", softmax, cross_entropy, cross_entropy_error)
squared_error = Loss("squared-error", _identity, half_squared_error, residual)
logistic = Loss("sigmoid-cross-entropy", expit, sigmoid_cross_entropy, sigmoid_cross_entropy_error)

LOSSES = {loss.name: loss for loss in (softmax_cross_entropy, squared_error, logistic)}
