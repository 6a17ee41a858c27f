r"""The laws of SGD's iterates for affine gradients, with and without noise feedback.

This is Berthier (2019, Section 3.4), with gradients g_t(theta) = a_t theta + b_t at the steps t = 0..T-1. Without
feedback, theta_{t+1} = theta_t - gamma g_t - eta_{t+1}. Feedback adds eta_t, the noise of the step before, with
eta_0 = 0. The noise is N(0, sigma^2 I) on the iterate. For noise on the gradient, use gamma sigma in place of sigma.
"""

import numpy as np

from nfa import require


def affine_means(a: np.ndarray, b: np.ndarray, *, theta0: np.ndarray, gamma: float) -> np.ndarray:
    r"""Means of the iterates, with or without noise feedback.

    .. math:: m_0 = \theta_0, \qquad m_{t+1} = (I - \gamma a_t) m_t - \gamma b_t

    Source: [berthier2019:prop3.2] [berthier2019:prop3.3]

    Parameters
    ----------
    a : (T, d, d) array of matrices, alpha_t in the report
    b : (T, d) array, beta_t in the report
    theta0 : (d,) array
    gamma : float > 0, learning rate

    Returns
    -------
    means : (T + 1, d) array

    Raises
    ------
    ValueError : if shapes disagree, if a matrix is not symmetric positive semidefinite, or if gamma is not positive

    Examples
    --------
    >>> affine_means(np.ones((2, 1, 1)), np.ones((2, 1)), theta0=np.array([3.0]), gamma=0.5)[:, 0].tolist()
    [3.0, 1.0, 0.0]
    """
    kept = _kept(a, gamma)
    if b.shape != kept.shape[:2] or np.shape(theta0) != kept.shape[2:]:
        raise ValueError(f"b must be (T, d) and theta0 (d,) for a {a.shape}, got {b.shape} and {np.shape(theta0)}")
    require.finite(b=b, theta0=theta0)
    means = [np.asarray(theta0, float)]
    for A, b_t in zip(kept, b, strict=True):
        means.append(A @ means[-1] - gamma * b_t)
    return np.array(means)


def affine_covariances(a: np.ndarray, *, gamma: float, sigma: float) -> np.ndarray:
    r"""Covariances of the iterates without noise feedback.

    .. math:: \Sigma_0 = 0, \qquad \Sigma_{t+1} = \sigma^2 I + (I - \gamma a_t) \Sigma_t (I - \gamma a_t)

    Source: [berthier2019:prop3.2] [berthier2019:sec3.4.3] [berthier2019:rem-langevin] [berthier2019:rem-largest-rate]

    Parameters
    ----------
    a : (T, d, d) array of symmetric positive semidefinite matrices
    gamma : float > 0, learning rate
    sigma : float > 0, standard deviation of the noise on every entry of an iterate

    Returns
    -------
    covariances : (T + 1, d, d) array

    Raises
    ------
    ValueError : if a matrix is not symmetric positive semidefinite, or if a number is not positive and finite
    """
    return _recursion(a, gamma, sigma, lambda a_t, t: np.eye(len(a_t)))


def corrected_feedback_covariances(a: np.ndarray, *, gamma: float, sigma: float) -> np.ndarray:
    r"""Covariances of the iterates with noise feedback.

    .. math:: \Sigma_1 = \sigma^2 I, \qquad
              \Sigma_{t+1} = 2 \gamma \sigma^2 a_t + (I - \gamma a_t) \Sigma_t (I - \gamma a_t), \quad t \ge 1

    Source: [berthier2019:prop3.3] [berthier2019:sec3.4.3] [berthier2019:rem-feedback-private]

    Parameters, Returns, Raises: as in `affine_covariances`.

    Notes
    -----
    Guarantee: Sigma_t - sigma^2 I is positive semidefinite for every t >= 1 and every gamma. The reason is that
    theta_t = y_t - eta_t, and y_t depends on eta_1 .. eta_{t-1} only. From t = 2 on, Sigma_t is at least sigma^2 (I +
    gamma^2 a_{t-1}^2).

    Examples
    --------
    >>> corrected_feedback_covariances(np.full((3, 1, 1), 0.5), gamma=1.0, sigma=1.0)[:, 0, 0].tolist()
    [0.0, 1.0, 1.25, 1.3125]
    """
    # The first step adds no earlier noise. Each later step adds eta_t, which theta_t contains: the covariance of
    # theta_t with eta_t is -sigma^2 I.
    return _recursion(a, gamma, sigma, lambda a_t, t: np.eye(len(a_t)) if t == 0 else 2 * gamma * a_t)


def claimed_feedback_covariances(a: np.ndarray, *, gamma: float, sigma: float) -> np.ndarray:
    r"""The printed covariances of the iterates with noise feedback. The printed values are too small.

    .. math:: \Sigma_0 = 0, \qquad
              \Sigma_{t+1} = 2 \gamma^2 \sigma^2 a_t^2 + (I - \gamma a_t) \Sigma_t (I - \gamma a_t)

    Source: [berthier2019:prop3.3] [berthier2019:sec3.4.3]

    Parameters, Returns, Raises: as in `affine_covariances`. `corrected_feedback_covariances` has the right values.
    """
    return _recursion(a, gamma, sigma, lambda a_t, t: 2 * gamma**2 * a_t @ a_t)


def _recursion(a: np.ndarray, gamma: float, sigma: float, added) -> np.ndarray:
    """The matrices S_t with S_0 = 0 and S_{t+1} = sigma^2 added(a_t, t) + (I - gamma a_t) S_t (I - gamma a_t)."""
    require.positive(sigma=sigma)
    kept = _kept(a, gamma)
    covariances = [np.zeros(kept.shape[1:])]
    for t, A in enumerate(kept):
        covariances.append(sigma**2 * added(a[t], t) + A @ covariances[-1] @ A)
    return np.array(covariances)


def _kept(a: np.ndarray, gamma: float) -> np.ndarray:
    """The matrices I - gamma a_t."""
    require.positive(**{"the learning rate gamma": gamma})
    if a.ndim != 3 or a.shape[1] != a.shape[2] or not np.isfinite(a).all():
        raise ValueError(f"a must be a finite (T, d, d) array, got the shape {a.shape}")
    if not np.array_equal(a, a.transpose(0, 2, 1)) or (np.linalg.eigvalsh(a) < -1e-12 * np.abs(a).max(initial=0)).any():
        raise ValueError("every matrix of a must be symmetric positive semidefinite")
    return np.eye(a.shape[1]) - gamma * a
