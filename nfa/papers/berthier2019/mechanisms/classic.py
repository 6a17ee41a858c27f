"""Classic mechanisms: Laplace noise, the textbook's Gaussian noise, and the least Gaussian noise that is enough.

`nfa.papers.berthier2019.mechanisms.randomised_response` has another classic mechanism, randomised response.
`nfa.papers.berthier2019.mechanisms.neighbours` computes the sensitivities to which the noise is scaled.
"""

import math
from collections.abc import Callable

import numpy as np

from nfa import require
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.papers.berthier2019.mechanisms.gaussian_delta import log_delta_gaussian


def laplace_scale(*, l1_sensitivity: float, epsilon: float) -> float:
    r"""The scale b of Laplace noise on each coordinate that gives epsilon-DP.

    .. math:: b = S_1(f) / \epsilon

    Source: [berthier2019:prop2.1]

    Parameters
    ----------
    l1_sensitivity, epsilon : floats > 0

    Raises
    ------
    ValueError : if an argument is not positive and finite

    Examples
    --------
    >>> laplace_scale(l1_sensitivity=1, epsilon=0.5)
    2.0
    """
    require.positive(l1_sensitivity=l1_sensitivity, epsilon=epsilon)
    return l1_sensitivity / epsilon


def laplace_mechanism(value, *, l1_sensitivity: float, epsilon: float, rng: np.random.Generator) -> np.ndarray:
    r"""Release a query's value with Laplace noise on each coordinate. The release is epsilon-DP.

    .. math:: f(x) + (Y_1, \ldots, Y_d), \qquad Y_i \sim \text{Lap}(S_1(f) / \epsilon)

    Source: [berthier2019:prop2.1]

    Parameters
    ----------
    value : (d,) array or a number, f(x)
    l1_sensitivity : float > 0, S_1(f) under the chosen adjacency
    epsilon : float > 0
    rng : numpy.random.Generator; with a seeded generator, the output is not private

    Returns
    -------
    released : array, shaped as value

    Raises
    ------
    ValueError : if the value is not finite, or if another argument is not positive and finite
    """
    b = laplace_scale(l1_sensitivity=l1_sensitivity, epsilon=epsilon)
    value = np.asarray(value, float)
    require.finite(value=value)
    return value + rng.laplace(scale=b, size=value.shape)


def laplace_release(*, l1_sensitivity: float, epsilon: float, adjacency: str) -> Mechanism:
    """The release of one run of the Laplace mechanism on all the data, for the accountant.

    Source: [berthier2019:prop2.1]

    Parameters
    ----------
    l1_sensitivity : float > 0, under the adjacency
    epsilon : float > 0, of one run
    adjacency : one of `nfa.mechanism.ADJACENCIES`

    Examples
    --------
    >>> from nfa.privacy.accountant import epsilon
    >>> run = laplace_release(l1_sensitivity=1, epsilon=0.1, adjacency="replace-one")
    >>> round(epsilon([(run, 100)], delta=1e-5).epsilon, 2)  # basic composition: 10
    4.22
    """
    b = laplace_scale(l1_sensitivity=l1_sensitivity, epsilon=epsilon)
    return Mechanism(
        law="laplace",
        sensitivity=l1_sensitivity,
        adjacency=adjacency,
        noise_std=b * math.sqrt(2),
        sampling="none",
        sampling_rate=1.0,
    )


def hockey_stick_laplace(*, epsilon: float, scale: float) -> float:
    r"""The exact delta of Laplace noise: the hockey-stick divergence of two Laplace laws.

    The centres of the two laws differ by the sensitivity, in one coordinate.

    .. math:: \delta(\epsilon) = \max\big(0,\; 1 - e^{(\epsilon - 1/\lambda)/2}\big), \qquad \lambda = b / \Delta_1

    Source: [berthier2019:prop2.1]

    Parameters
    ----------
    epsilon : float >= 0
    scale : float lambda > 0, scale b of the noise / l1 sensitivity

    Returns
    -------
    delta : float in [0, 1]; 0 for epsilon >= 1 / lambda, and positive for a smaller epsilon

    Raises
    ------
    ValueError : if epsilon is negative or the scale not positive and finite

    Examples
    --------
    >>> round(hockey_stick_laplace(epsilon=0, scale=2), 6)  # 1 - e^(-1/4)
    0.221199
    >>> hockey_stick_laplace(epsilon=0.5, scale=2)
    0.0
    """
    require.at_least(0, epsilon=epsilon)
    require.positive(scale=scale)
    return max(0.0, -math.expm1((epsilon - 1 / scale) / 2))


# --- Gaussian noise


def claimed_gaussian_scale(*, epsilon: float, delta: float, l2_sensitivity: float) -> float:
    r"""The noise of Proposition 2.2, which is printed for every epsilon but is too little for a large epsilon.

    .. math:: \sigma = \sqrt{2 \log(1.25/\delta)}\, S_2(f) / \epsilon

    Source: [berthier2019:prop2.2]

    Parameters
    ----------
    epsilon : float > 0
    delta : float in (0, 1)
    l2_sensitivity : float > 0

    Raises
    ------
    ValueError : if an argument is out of range

    Notes
    -----
    This noise has no guarantee. `classical_gaussian_scale` raises an error if epsilon is above 1, because no proof
    covers such an epsilon. The noise of `gaussian_scale` is enough for every epsilon. The report asks for noise
    strictly above the value that this function returns. The noise is too little if epsilon is above a limit. This limit
    is between 4 and 10 and depends on delta (`nfa.papers.berthier2019.mechanisms.printed_scales.critical_epsilon`).

    Examples
    --------
    >>> round(claimed_gaussian_scale(epsilon=10, delta=1e-5, l2_sensitivity=1), 6)
    0.484481
    """
    require.positive(epsilon=epsilon)
    require.within("(0, 1)", delta=delta)
    require.positive(l2_sensitivity=l2_sensitivity)
    return math.sqrt(2 * math.log(1.25 / delta)) * l2_sensitivity / epsilon


def classical_gaussian_scale(*, epsilon: float, delta: float, l2_sensitivity: float) -> float:
    r"""The noise of the textbook for (epsilon, delta)-DP, for epsilon up to 1.

    .. math:: \sigma = \sqrt{2 \log(1.25/\delta)}\, S_2(f) / \epsilon, \qquad \epsilon \le 1

    Source: [berthier2019:prop2.2]

    Parameters
    ----------
    epsilon : float in (0, 1]
    delta : float in (0, 1)
    l2_sensitivity : float > 0

    Raises
    ------
    ValueError : if an argument is out of range
    NoGuarantee : if epsilon is above 1

    Notes
    -----
    The textbook states this noise for epsilon < 1 (we quote from memory). On a grid of epsilon <= 1 and delta from
    1e-12 to 0.999, the exact delta at this noise is at most 0.318 of the requested delta.

    Examples
    --------
    >>> round(classical_gaussian_scale(epsilon=1, delta=1e-5, l2_sensitivity=1), 6)
    4.844805
    """
    sigma = claimed_gaussian_scale(epsilon=epsilon, delta=delta, l2_sensitivity=l2_sensitivity)
    if epsilon > 1:
        raise NoGuarantee(
            "berthier2019:prop2.2",
            f"the proof of the textbook's noise needs an epsilon of at most 1, got {epsilon:g}: use"
            " `gaussian_scale`, which is exact",
        )
    return sigma


def gaussian_scale(*, epsilon: float, delta: float, l2_sensitivity: float) -> float:
    r"""The least Gaussian noise that gives (epsilon, delta)-DP, for every epsilon.

    .. math:: \sigma = \min \{\sigma : \delta_\sigma(\epsilon) \le \delta\}

    Source: [berthier2019:prop2.2]

    Parameters
    ----------
    epsilon : float >= 0; at 0 the total variation must be at most delta
    delta : float in (0, 1)
    l2_sensitivity : float > 0

    Returns
    -------
    noise_std : float, larger than the least noise by a factor of about 1 + 1e-12

    Raises
    ------
    ValueError : if an argument is out of range

    Examples
    --------
    >>> round(gaussian_scale(epsilon=1, delta=1e-5, l2_sensitivity=1), 6)
    3.730632
    """
    require.not_negative(epsilon=epsilon)
    require.within("(0, 1)", delta=delta)
    require.positive(l2_sensitivity=l2_sensitivity)
    target = math.log(delta)

    def fits(z: float) -> bool:
        return log_delta_gaussian(epsilon=epsilon, noise_multiplier=z) <= target

    return _least(fits, 1.0) * l2_sensitivity


def gaussian_mechanism(value, *, noise_std: float, rng: np.random.Generator) -> np.ndarray:
    r"""A query's value with Gaussian noise on each coordinate.

    .. math:: f(x) + \mathcal{N}(0, \sigma^2 I)

    Source: [berthier2019:prop2.2] [berthier2019:prop2.5]

    Parameters
    ----------
    value : (d,) array or a number, f(x)
    noise_std : float > 0, from `gaussian_scale`, `classical_gaussian_scale` or
        `nfa.papers.berthier2019.mechanisms.total_variation.gaussian_tv_scale`. For the accountant, give it to
        `nfa.mechanism.Mechanism` as noise_std
    rng : numpy.random.Generator; with a seeded generator, the output is not private

    Returns
    -------
    released : array, shaped as value

    Raises
    ------
    ValueError : if the value is not finite, or the noise not positive and finite
    """
    require.positive(noise_std=noise_std)
    value = np.asarray(value, float)
    require.finite(value=value)
    return value + noise_std * rng.standard_normal(value.shape)


def _least(fits: Callable[[float], bool], start: float) -> float:
    """The least positive number for which `fits` is true, by bisection; `fits` must be true for all larger numbers."""
    low = high = start
    while not fits(high):
        low, high = high, 4 * high
    while low == high or fits(low):
        low /= 4
    while high / low > 1 + 1e-13:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
