"""The logarithm of the exact delta of one Gaussian release, accurate for every size of delta."""

import math

from nfa import require
from nfa.privacy.gaussians import check_noise, hockey_stick_gaussian, log_mills_drop


def log_delta_gaussian(*, epsilon: float, noise_multiplier: float) -> float:
    r"""The logarithm of the exact delta of one Gaussian release, accurate even if delta is below the smallest float.

    .. math:: \delta(\epsilon) = \Phi(-t) - e^\epsilon \Phi(-t - \mu)
              = \phi(t) \int_t^{t + \mu} (1 - s R(s))\, ds, \qquad
              \mu = 1/z,\quad t = \frac{\epsilon}{\mu} - \frac{\mu}{2},\quad R(s) = \frac{\Phi(-s)}{\phi(s)}

    Source: [berthier2019:prop2.2]

    Parameters
    ----------
    epsilon : float >= 0
    noise_multiplier : float z > 0, noise std / l2 sensitivity

    Returns
    -------
    log_delta : float <= 0; delta itself has a relative error of about 1e-14 times 1 + |log delta|

    Raises
    ------
    ValueError : if epsilon is negative or not finite, or if the noise multiplier is not positive and finite

    Notes
    -----
    phi(t) = e^epsilon phi(t + mu), so delta is phi(t) times a difference of two Mills ratios R. The derivative of R is
    -(1 - s R(s)), and 1 - s R(s) is positive. For t < 0, we use `hockey_stick_gaussian`.

    Examples
    --------
    >>> round(log_delta_gaussian(epsilon=0, noise_multiplier=1), 6)  # log(2 Phi(1/2) - 1)
    -0.959916
    >>> round(log_delta_gaussian(epsilon=100, noise_multiplier=1), 2)
    -4960.25
    """
    require.not_negative(epsilon=epsilon)
    check_noise(noise_multiplier)
    mu = 1 / noise_multiplier
    t = epsilon * noise_multiplier - mu / 2
    if t < 0:
        return math.log(hockey_stick_gaussian(epsilon=epsilon, noise_multiplier=noise_multiplier))
    if t > 1e100:  # the other terms are negative and smaller than the rounding error
        return -t * t / 2
    return -t * t / 2 - math.log(2 * math.pi) / 2 + log_mills_drop(t, mu)
