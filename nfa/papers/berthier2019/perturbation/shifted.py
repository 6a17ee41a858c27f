"""Shifted Renyi divergences, and how a step and its noise change them: the lemmas of amplification by iteration.

Divergences are in nats. Here sigma is the standard deviation of the noise on an iterate. If a step is theta - gamma
(gradient + noise), sigma is gamma times the standard deviation of the noise on the gradient.
`nfa.papers.berthier2019.perturbation.iteration` has the theorems on passes of SGD that follow from the lemmas.
"""

import math

import numpy as np

from nfa import require
from nfa.privacy.divergences import check_order


def shifted_renyi_gaussian(alpha, *, distance: float, sigma: float, z: float):
    r"""Shifted Renyi divergence of two Gaussians with the same covariance sigma^2 I and different means.

    .. math:: D_\alpha^{(z)}(\mu \| \nu) := \inf_{\mu' :\, W_\infty(\mu, \mu') \le z} D_\alpha(\mu' \| \nu)
              = \frac{\alpha (d - z)_+^2}{2 \sigma^2}

    Source: [berthier2019:shifted-renyi] [ours:shifted-gaussian]

    Parameters
    ----------
    alpha : order > 1, or an array of orders
    distance : float d >= 0, l2 distance of the means
    sigma : float > 0, standard deviation of each coordinate
    z : float >= 0, the distance by which mass may be moved

    Returns
    -------
    divergence : nats, of the shape of alpha; at z = 0 it is the Renyi divergence itself

    Raises
    ------
    ValueError : if an argument is out of range

    Notes
    -----
    The closed form is ours. The report gives only the definition. The closed form is an upper bound, because we may
    move the mean of mu by z towards the mean of nu. It is also a lower bound. Let mu' be a law within z of mu.
    Projected on the line through the means, mu' is stochastically at least N(d - z, sigma^2). Let r be the density of
    N(d - z, sigma^2) divided by the density of N(0, sigma^2). For d > z, r is increasing. So by convexity
    E_nu[(dmu'/dnu)^alpha] >= E_nu[r^alpha] + alpha (E_mu'[r^(alpha - 1)] - E_r[r^(alpha - 1)]) >= E_nu[r^alpha]. E_r is
    the mean under N(d - z, sigma^2).

    Examples
    --------
    Half of the distance 2 remains, so the divergence is 2 * 1^2 / 2.

    >>> float(shifted_renyi_gaussian(2, distance=2.0, sigma=1.0, z=1.0))
    1.0
    """
    require.not_negative(distance=distance, z=z)
    return shift_cost(alpha, a=max(distance - z, 0.0), sigma=sigma)


def shift_cost(alpha, *, a: float, sigma: float):
    r"""R_alpha(zeta, a): the divergence that a shift of norm a causes in the Gaussian noise zeta = N(0, sigma^2 I).

    .. math:: R_\alpha(\zeta, a) := \sup_{\|v\| \le a} D_\alpha(\zeta * v \| \zeta) = \frac{\alpha a^2}{2 \sigma^2}

    Source: [berthier2019:lem3.3]

    Parameters
    ----------
    alpha : order > 1, or an array of orders
    a : float >= 0
    sigma : float > 0, standard deviation of the noise on the iterate; gamma sigma for noise on the gradient

    Returns
    -------
    cost : nats, of the shape of alpha

    Raises
    ------
    ValueError : if an argument is out of range

    Notes
    -----
    The report gives the value for Gaussian noise and leaves R_alpha undefined for other noise. With the supremum as the
    definition, Lemma 3.3 is true.

    Examples
    --------
    >>> float(shift_cost(2, a=3.0, sigma=1.5))
    4.0
    """
    alpha = check_alpha(alpha)
    require.not_negative(a=a)
    require.positive(sigma=sigma)
    with np.errstate(over="ignore", under="ignore"):
        return alpha / 2 * np.float64(a / sigma) ** 2


def after_noise(z: float, epsilon, *, alpha, a: float, sigma: float):
    r"""Lemma 3.3: Gaussian noise turns a part a of the shift into divergence.

    .. math:: D_\alpha^{(z - a)}(\mu * \zeta \| \nu * \zeta) \le D_\alpha^{(z)}(\mu \| \nu) + R_\alpha(\zeta, a),
              \qquad 0 \le a \le z

    Source: [berthier2019:lem3.3]

    Parameters
    ----------
    z : float >= 0, the shift before the noise
    epsilon : nats, bound on the divergence of order alpha shifted by z
    alpha, a, sigma : as in `shift_cost`

    Returns
    -------
    z, epsilon : the shift after the noise, and a bound on the divergence shifted by this z

    Raises
    ------
    ValueError : if an argument is out of range, or if a is more than z

    Examples
    --------
    >>> z, epsilon = after_noise(3.0, 0.5, alpha=2, a=1.0, sigma=1.0)
    >>> z, float(epsilon)
    (2.0, 1.5)
    """
    cost = shift_cost(alpha, a=a, sigma=sigma)
    if not a <= z:
        raise ValueError(f"the reduction a of the shift must be at most the shift z = {z}, got {a}")
    return z - a, epsilon + cost


def after_step(z: float, epsilon, *, C: float, s: float):
    r"""Lemma 3.4: the shift after a C-Lipschitz step psi on X and a step psi' on X' that differ by at most s.

    .. math:: D_\alpha^{(C z + s)}(\psi(X) \| \psi'(X')) \le D_\alpha^{(z)}(X \| X')

    Source: [berthier2019:lem3.4]

    Parameters
    ----------
    z, epsilon : the shift and the bound before the step, as in `after_noise`
    C : float >= 0, Lipschitz constant of psi or of psi'; one of them is enough
    s : float >= 0, supremum of the distance between psi(u) and psi'(u); 0 if both data sets have the same record

    Returns
    -------
    z, epsilon : the shift after the step, and the bound epsilon, which does not change

    Raises
    ------
    ValueError : if an argument is out of range

    Examples
    --------
    >>> after_step(1.0, 0.5, C=1.5, s=0.25)
    (1.75, 0.5)
    """
    require.not_negative(z=z, C=C, s=s)
    return C * z + s, epsilon


def check_alpha(alpha) -> np.ndarray:
    """The order or orders as a float array. Raises ValueError unless all orders are above 1 and finite."""
    alpha = np.asarray(alpha, float)
    for order in alpha[~((alpha > 1) & (alpha < math.inf))].ravel()[:1]:
        check_order(order)
        raise ValueError(f"the order alpha must be finite, got {order}")
    return alpha


def check_position(n: int, t: int) -> None:
    """Raise ValueError unless t is a step of a pass of n steps."""
    require.integer(1, **{"the number n of steps": n})
    if not (math.isfinite(t) and t == int(t) and 1 <= t <= n):
        raise ValueError(f"the step t must be an integer between 1 and the number n = {n} of steps, got {t}")
