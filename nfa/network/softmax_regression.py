"""Softmax regression as a convex problem: the inputs and the minimiser. The network has one dense layer.

The parameters are one matrix theta. It is W, with b as an additional last column if the layer has biases.
"""

import numpy as np
from scipy import linalg
from scipy.sparse.linalg import LinearOperator, cg

from nfa.clip import clip_l2
from nfa.network.dense import Dense
from nfa.network.net import Net
from nfa.network.ops import softmax, softmax_cross_entropy

STEPS = 200  # largest number of Newton steps; ten steps are enough unless lam is far too small for useful training
SHORTER = tuple(0.5**k for k in range(21))  # factors by which a Newton step is scaled down
# Relative residual of the linear equations of a Newton step; a smaller residual makes the whole method slower.
RESIDUAL = 0.1
FLOAT32 = 1e-5  # if lam m / k is larger, float32 has enough digits for a Newton step


def check_softmax_regression(net: Net, *, rule: str) -> None:
    """Raise ValueError unless a network is one dense layer with at least two classes and the softmax cross-entropy."""
    one = net.L == 1 and isinstance(net.map[1], Dense) and net.shape_z[1][0] >= 2
    if not (one and net.loss is softmax_cross_entropy):
        raise ValueError(
            f"{rule} needs softmax regression, so the network must have one dense layer, as in 784-10, and the "
            f"loss softmax-cross-entropy, got layers of {', '.join(str(shape[0]) for shape in net.shape_z[1:])} "
            f"units and the loss {net.loss.name}"
        )


def joined_inputs(net: Net, x: np.ndarray, R: float, shares: list | None = None) -> np.ndarray:
    r"""The vectors that theta multiplies: each input, with a 1 for the biases, clipped to norm R and divided by R.

    .. math:: \tilde x / R, \qquad \tilde x = \mathrm{clip}_R((x, 1))

    Parameters
    ----------
    net : Net of one dense layer
    x : (k, *in_shape) array
    R : float > 0
    shares : list to which the share of clipped records is appended, as by `nfa.clip.clip_factor`

    Returns
    -------
    inputs : (k, d) float64 array, d = n_0 + 1, or n_0 without biases. Rows have norm at most 1. The row of a record
        that is not finite is 0

    Raises
    ------
    ValueError : if x does not have the network's input shape, or if R is not positive

    Notes
    -----
    The clip changes no prediction, because it multiplies theta's outputs for all classes by the same factor.
    """
    if x.shape[1:] != net.shape_h[0]:
        raise ValueError(f"x must have the shape (m, {', '.join(map(str, net.shape_h[0]))}), got {x.shape}")
    ones = np.ones((len(x), min(net.map[1].n_bias, 1)))
    joined = np.concatenate([x.reshape(len(x), net.map[1].shape_W[1]), ones], axis=1, dtype=float)
    clipped = clip_l2(joined, R, shares)
    clipped /= R
    return clipped


def check_one_hot(net: Net, y: np.ndarray) -> None:
    """Raise ValueError unless every row of y, (k, n_L), contains one 1 and otherwise zeros."""
    if y.shape[1:] != net.shape_z[net.L] or not (((y == 0) | (y == 1)).all() and (y.sum(axis=1) == 1).all()):
        raise ValueError(f"y must be one-hot: each row of y must hold a single 1 and {net.shape_z[net.L][0] - 1} zeros")


def minimise(
    x: np.ndarray, y: np.ndarray, *, m: float, lam: float, linear: np.ndarray | float = 0.0, tolerance: float
) -> np.ndarray:
    r"""The minimiser of the regularised cross-entropy with a linear term.

    .. math:: \mathrm{argmin}_\theta \frac1m \sum_i \mathcal L(\theta x_i, y_i) + \frac\lambda2 \|\theta\|^2
              + \langle b, \theta \rangle

    Parameters
    ----------
    x : (k, d) float64 array, rows of norm at most 1. k may be 0
    y : (k, K) one-hot array
    m : float > 0, divisor of the sum
    lam : float > 0
    linear : (K, d) array b, or 0
    tolerance : float > 0, bound on the norm of the gradient at theta, as computed in float64

    Returns
    -------
    theta : (K, d) float64 array, at a distance of at most tolerance / lam from the minimiser

    Raises
    ------
    ValueError : if the tolerance is not reached

    Notes
    -----
    The method is Newton's method, which starts at theta = 0. Conjugate gradients compute each Newton step,
    preconditioned by the diagonal blocks of the second derivatives at theta = 0. The products are in float32 if lam is
    large enough for its precision. A Newton step is scaled down until the norm of the gradient decreases. Because lam >
    0, a small enough step decreases this norm. So the method reaches the tolerance if the precision of float64 permits.
    Methods that compare values of the objective, such as L-BFGS, stop when these values agree in all digits. For 60,000
    records, such methods stop at a gradient of norm 1e-9.

    Examples
    --------
    A record of the first class is 1/2, and a record of the second class is -1/2. The minimiser is (t, -t) with 1 / (1 +
    e^t) = 2 lam t. Here t = 1.

    >>> lam = 1 / (1 + np.e) / 2
    >>> minimise(np.array([[0.5], [-0.5]]), np.eye(2), m=2, lam=lam, tolerance=1e-12).round(12).tolist()
    [[1.0], [-1.0]]
    """
    (k, d), K = x.shape, y.shape[1]
    fast = x.astype(np.float32) if lam * m > FLOAT32 * k else x
    near = linalg.cho_factor(lam * np.eye(d) + (K - 1) / K**2 / m * (x.T @ x))
    precondition = LinearOperator((K * d, K * d), lambda v: linalg.cho_solve(near, v.reshape(K, d).T).T.ravel())

    def gradient(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        p = softmax(x @ theta.T)  # (k, K)
        return (p - y).T @ x / m + lam * theta + linear, p

    def newton(g: np.ndarray, p: np.ndarray) -> np.ndarray:
        p = p.astype(fast.dtype)

        def curve(v: np.ndarray) -> np.ndarray:  # the product of the second derivatives with v
            dz = p * (fast @ v.reshape(K, d).T.astype(fast.dtype))  # (k, K)
            dz -= p * dz.sum(axis=1, keepdims=True)
            return ((dz.T @ fast) / m).ravel() + lam * v

        hessian = LinearOperator((K * d, K * d), curve, dtype=float)
        return cg(hessian, g.ravel(), rtol=RESIDUAL, maxiter=1000, M=precondition)[0].reshape(K, d)

    theta = np.zeros((K, d))
    g, p = gradient(theta)
    for _ in range(STEPS):
        size = np.linalg.norm(g)
        if size <= tolerance:
            return theta
        step = newton(g, p)
        for t in SHORTER:
            nearer = theta - t * step
            g, p = gradient(nearer)
            if np.linalg.norm(g) <= (1 - 1e-4 * t) * size:
                break
        else:  # no factor decreases the norm of the gradient, because rounding dominates it
            break
        theta = nearer
    raise ValueError(
        f"nfa finds no minimiser with the tolerance {tolerance:g}: choose a larger factor lam of the penalty, or a"
        " larger tolerance"
    )
