"""Divergences of Gaussian laws in closed form: the delta of one release, and Renyi divergences."""

import math

import numpy as np
from scipy import linalg, special

from nfa import require
from nfa.privacy.divergences import check_order

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)
RANK_TOLERANCE = 4e-15  # after scaling Q to unit variances, a variance below RANK_TOLERANCE k counts as 0
ROUNDING = 1e-12  # relative margin, which is larger than the error of `hockey_stick_gaussian`


def hockey_stick_gaussian(*, epsilon: float, noise_multiplier: float) -> float:
    r"""Hockey-stick divergence of N(1/z, 1) from N(0, 1): the exact delta of one Gaussian release.

    .. math:: \delta(\epsilon) = \Phi(\tfrac{\mu}{2} - \tfrac{\epsilon}{\mu})
              - e^\epsilon \Phi(-\tfrac{\mu}{2} - \tfrac{\epsilon}{\mu}), \qquad \mu = 1/z

    Source: [lee2020:def1] [berthier2019:prop2.2] [berthier2019:rem-high-prob] [berthier2019:rem-gauss-pure]

    Parameters
    ----------
    epsilon : float >= 0
    noise_multiplier : float z > 0, noise std / l2 sensitivity

    Returns
    -------
    delta : float in [0, 1]

    Raises
    ------
    ValueError : if epsilon is negative or the noise multiplier not positive

    Examples
    --------
    At epsilon 0, delta is the total variation. For z = 1, it is 2 Phi(1/2) - 1.

    >>> round(hockey_stick_gaussian(epsilon=0, noise_multiplier=1), 4)
    0.3829
    """
    require.at_least(0, epsilon=epsilon)
    check_noise(noise_multiplier)
    z = float(noise_multiplier)
    above, below = 0.5 / z - epsilon * z, -0.5 / z - epsilon * z
    if above > 0 and epsilon < 1:  # if z is large, Phi(above) and Phi(below) are about 1/2, so we subtract them first
        between = 0.5 * (special.erf(above / math.sqrt(2)) - special.erf(below / math.sqrt(2)))
        return float(between - math.expm1(epsilon) * special.ndtr(below))
    if above > 0:
        return float(special.ndtr(above) - math.exp(epsilon + special.log_ndtr(below)))
    # The two terms have the common factor phi(above). We subtract the terms without this factor, because with the
    # factor they could underflow.
    if z < 100 or above < -40:  # the difference loses at most three digits, or delta is 0
        tails = special.erfcx(-above / math.sqrt(2)) - special.erfcx(-below / math.sqrt(2))
        return float(0.5 * math.exp(-0.5 * above * above) * max(tails, 0))
    return math.exp(-0.5 * above * above + log_mills_drop(-above, 1 / z)) / math.sqrt(2 * math.pi)


def log_mills_drop(t: float, mu: float) -> float:
    r"""log(R(t) - R(t + mu)) of the Mills ratio R(s) = Phi(-s) / phi(s), for t >= 0 and mu > 0, without cancellation.

    .. math:: R(t) - R(t + \mu) = \int_t^{t + \mu} (1 - s R(s))\, ds
    """
    if mu > max(1.0, t):  # the two values differ so much that the difference loses no digits
        return math.log(_mills(t) - _mills(t + mu))
    s = t + mu / 2 * (1 + _NODES)
    return math.log(mu) + math.log(float(_WEIGHTS @ _mills_falls(s)) / 2)


def _mills(s):
    """R(s) = Phi(-s) / phi(s) for s >= 0."""
    return math.sqrt(math.pi / 2) * special.erfcx(s / math.sqrt(2))


def _mills_falls(s: np.ndarray) -> np.ndarray:
    """1 - s R(s) for s >= 0. For s >= 3, we use the continued fraction R(s) = 1 / (s + 1 / (s + 2 / (s + ...)))."""
    far = np.maximum(s, 3.0)
    tail = np.zeros_like(far)
    for k in range(60, 0, -1):
        tail = k / (far + tail)
    return np.where(s < 3, 1 - s * _mills(s), tail / (far + tail))


def epsilon_gaussian(*, delta: float, noise_multiplier: float) -> float:
    r"""The exact epsilon of one Gaussian release at this delta: `hockey_stick_gaussian` solved for epsilon.

    .. math:: \epsilon = \min \{\epsilon \ge 0 : \delta(\epsilon) \le \delta\}

    Source: [lee2020:def1] [berthier2019:prop2.2]

    Parameters
    ----------
    delta : float in (0, 1)
    noise_multiplier : float z > 0, noise std / l2 sensitivity; for T composed releases, z / sqrt(T)

    Returns
    -------
    epsilon : float >= 0, rounded up by a few units in its last place, and by the effect of a relative error of 2e-12 in
        delta

    Raises
    ------
    ValueError : if delta is not in (0, 1) or the noise multiplier not positive and finite

    Examples
    --------
    >>> round(epsilon_gaussian(delta=1e-5, noise_multiplier=1), 6)
    4.377178
    """
    require.within("(0, 1)", delta=delta)
    check_noise(noise_multiplier)
    within = delta * (1 - ROUNDING)
    if hockey_stick_gaussian(epsilon=0, noise_multiplier=noise_multiplier) <= within:
        return 0.0
    # delta(epsilon) <= Phi(mu / 2 - epsilon / mu), and Phi(-t) <= exp(-t^2 / 2). So the epsilon `high` is always
    # enough.
    low, high = 0.0, 0.5 / noise_multiplier / noise_multiplier + math.sqrt(-2 * math.log(delta)) / noise_multiplier
    if high == math.inf:
        return math.inf
    # The formula for delta loses its digits, and the relative error of `high` is at most 1e-5.
    if noise_multiplier < 1e-6:
        return high
    for _ in range(2000):  # about 50 bisections if epsilon is of the size of `high`, and more if epsilon is far smaller
        middle = (low + high) / 2
        if not low + 2 * np.finfo(float).eps * high < middle < high:
            break
        if hockey_stick_gaussian(epsilon=middle, noise_multiplier=noise_multiplier) <= within:
            high = middle
        else:
            low = middle
    return high * (1 + 2**-50)


def renyi_gaussian(mean_p, cov_p, mean_q, cov_q, *, alpha: float) -> float:
    r"""Renyi divergence of N(mean_p, cov_p) from N(mean_q, cov_q), in nats.

    .. math:: D_\alpha = \frac\alpha2 d^\top S_*^{-1} d
              - \frac{1}{2(\alpha - 1)} \log \frac{\det S_*}{\det S_p^{1-\alpha} \det S_q^\alpha}, \qquad
              S_* = \alpha S_q + (1 - \alpha) S_p, \quad d = \mu_p - \mu_q

    Source: [ohana2021:prop1] [ohana2021:fn3] [berthier2019:prop2.6] [lee2020:dp-mechanism]

    Parameters
    ----------
    mean_p, mean_q : (k,) arrays, or numbers for k = 1
    cov_p, cov_q : (k, k) symmetric positive semidefinite arrays, or variances for k = 1
    alpha : float > 1

    Returns
    -------
    divergence : float >= 0; inf if S_* is not positive definite, and for singular laws on different affine subspaces

    Raises
    ------
    ValueError : if alpha is at most 1 or infinite, an argument is not finite, shapes differ, or a covariance is not
        symmetric positive semidefinite

    Notes
    -----
    The formula is for regular covariances. If a covariance is singular, the two laws must have the same support. So
    every direction without variance under Q must have no variance under P and no shift, and vice versa. Otherwise the
    divergence is infinite. Directions are compared after scaling Q to unit variances, with the tolerance
    `RANK_TOLERANCE`.

    Examples
    --------
    If the covariances are equal, the divergence is alpha d^T S^{-1} d / 2. In the first example, it is 2 (1 + 4 / 4) /
    2.

    >>> renyi_gaussian([1.0, 2.0], np.diag([1.0, 4.0]), [0.0, 0.0], np.diag([1.0, 4.0]), alpha=2)
    2.0
    >>> renyi_gaussian(0.0, 1.0, 0.0, 0.75, alpha=4)
    inf
    """
    check_order(alpha, finite_for="the closed form")
    d, S_p, S_q = _gaussians(mean_p, cov_p, mean_q, cov_q)
    common = _common_support(d, S_p, S_q)
    if common is None:
        return math.inf
    d, S_p, S_q = common
    if len(d) == 0:
        return 0.0
    S_star = alpha * S_q + (1 - alpha) * S_p
    rounding = 8 * len(d) * np.finfo(float).eps * (alpha * np.linalg.norm(S_q) + (alpha - 1) * np.linalg.norm(S_p))
    if np.linalg.eigvalsh(S_star)[0] <= rounding:  # S_* is not positive definite, up to rounding
        return math.inf
    root = np.linalg.cholesky(S_star)
    shift = linalg.solve_triangular(root, d, lower=True)  # S_*^{-1/2} d   (k,)
    log_dets = [float(np.linalg.slogdet(S).logabsdet) for S in (S_star, S_p, S_q)]
    volume = log_dets[0] - (1 - alpha) * log_dets[1] - alpha * log_dets[2]
    return max(0.0, float(alpha / 2 * (shift @ shift) - volume / (2 * (alpha - 1))))


def critical_order(cov_p, cov_q) -> float:
    r"""The smallest order for which the Renyi divergence of two Gaussians is infinite.

    .. math:: \alpha_c = 1 / (1 - \lambda_{\min}) \text{ if } \lambda_{\min} < 1, \text{ else } \infty,
              \qquad S_q v = \lambda S_p v

    Source: [ohana2021:fn3]

    Parameters
    ----------
    cov_p, cov_q : (k, k) symmetric positive definite arrays, or variances for k = 1

    Returns
    -------
    order : float > 1; the divergence is finite below this order, and infinite at this order and above it

    Raises
    ------
    ValueError : if an argument is not finite, symmetric and positive definite

    Examples
    --------
    >>> critical_order(1.0, 0.75)
    4.0
    """
    S_p, S_q = _covariance("cov_p", cov_p), _covariance("cov_q", cov_q)
    if S_p.shape != S_q.shape:
        raise ValueError(f"the two covariances must have the same shape, got {S_p.shape} and {S_q.shape}")
    try:
        np.linalg.cholesky(S_q)
        smallest = float(linalg.eigh(S_q, S_p, eigvals_only=True)[0])
    except np.linalg.LinAlgError:
        raise ValueError(
            "the critical order needs two positive definite covariances, but one covariance is not positive definite"
        ) from None
    return 1 / (1 - smallest) if smallest < 1 else math.inf


def check_noise(noise_multiplier: float) -> None:
    """Raise ValueError unless the noise multiplier is positive and finite."""
    require.positive(**{"the noise multiplier": noise_multiplier})


def _covariance(name: str, S) -> np.ndarray:
    S = np.asarray(S, float)
    S = S.reshape(1, 1) if S.ndim == 0 else S
    if S.ndim != 2 or S.shape[0] != S.shape[1]:
        raise ValueError(f"{name} must be a square array, got shape {S.shape}")
    require.finite(**{name: S})
    size = np.sqrt(np.abs(np.outer(S.diagonal(), S.diagonal())))
    if (S.diagonal() < 0).any() or (np.abs(S - S.T) > 1e-12 * size).any():
        raise ValueError(f"{name} must be symmetric, and its diagonal must not be negative")
    return (S + S.T) / 2


def _gaussians(mean_p, cov_p, mean_q, cov_q) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    means = [np.atleast_1d(np.asarray(mean, float)) for mean in (mean_p, mean_q)]
    S_p, S_q = _covariance("cov_p", cov_p), _covariance("cov_q", cov_q)
    if not (means[0].shape == means[1].shape == (len(S_p),) and S_p.shape == S_q.shape):
        raise ValueError(
            "the means must have shape (k,) and the covariances shape (k, k) with the same k, got means of shapes "
            f"{means[0].shape} and {means[1].shape}, and covariances of shapes {S_p.shape} and {S_q.shape}"
        )
    require.finite(mean_p=means[0], mean_q=means[1])
    return means[0] - means[1], S_p, S_q


def _common_support(d, S_p, S_q) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """d, S_p, S_q in coordinates of the common affine subspace of the two laws; None if their subspaces differ."""
    live = S_q.diagonal() > 0
    if (S_p.diagonal()[~live] > 0).any() or (d[~live] != 0).any():
        return None
    scale = np.sqrt(S_q.diagonal()[live])
    d = d[live] / scale
    S_p, S_q = (S[np.ix_(live, live)] / np.outer(scale, scale) for S in (S_p, S_q))
    if len(d) == 0:
        return d, S_p, S_q
    variances, axes = np.linalg.eigh(S_q)
    if variances[0] < -RANK_TOLERANCE * len(d):
        raise ValueError("cov_q must be positive semidefinite")
    spread_p = np.linalg.eigvalsh(S_p)
    if spread_p[0] < -RANK_TOLERANCE * len(d) * max(spread_p[-1], 1):
        raise ValueError("cov_p must be positive semidefinite")
    flat = variances > RANK_TOLERANCE * len(d)
    none, axes = axes[:, ~flat], axes[:, flat]
    if np.abs(none.T @ d).max(initial=0) > RANK_TOLERANCE * len(d) * np.abs(d).max() or (
        np.einsum("ki,kl,li->i", none, S_p, none).max(initial=0) > RANK_TOLERANCE * len(d) * spread_p[-1]
    ):
        return None
    if not flat.all():
        d, S_p, S_q = axes.T @ d, axes.T @ S_p @ axes, axes.T @ S_q @ axes
    # If P has no variance in a direction of the subspace of Q, P is singular to Q.
    if np.linalg.matrix_rank(S_p, hermitian=True) < len(S_p):
        return None
    return d, S_p, S_q
