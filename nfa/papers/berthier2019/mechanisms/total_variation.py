"""Total-variation privacy, which is (0, delta)-DP: couplings, Laplace and Gaussian noise for it, and its properties.

The properties are post-processing, composition and Pinsker's inequality. The total variation itself is in
`nfa.privacy.divergences.total_variation`.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy import special

from nfa import require
from nfa.privacy.divergences import total_variation


def best_coupling(p, q) -> np.ndarray:
    r"""A joint law with the marginals p and q under which the two values agree as often as possible.

    .. math:: P(X \ne Y) = TV(p, q)

    Source: [berthier2019:def-tv] [berthier2019:rem-close-diracs]

    Parameters
    ----------
    p, q : (k,) arrays of probabilities over the same k outcomes

    Returns
    -------
    joint : (k, k) array; rows sum to p, columns to q

    Examples
    --------
    >>> best_coupling([0.75, 0.25], [0.25, 0.75]).tolist()
    [[0.25, 0.5], [0.0, 0.25]]
    """
    apart = total_variation(p, q)  # this call checks the two laws
    p, q = np.asarray(p, float), np.asarray(q, float)
    both = np.minimum(p, q)
    joint = np.diag(both)
    return joint + np.outer(p - both, q - both) / apart if apart else joint


def tv_of_any_two(delta: float, *, n: int, adjacency: str) -> float:
    """A bound on the total variation between the outputs on any two data sets of n records.

    Source: [berthier2019:def-tv]

    Parameters
    ----------
    delta : float in (0, 1), bound on the total variation between the outputs on two neighbours
    n : int >= 1, number of records
    adjacency : "replace-one", with n steps from one data set to the other, or "add-remove", with 2 n steps

    Examples
    --------
    With delta far below 1/n, the output reveals almost nothing about the data.

    >>> tv_of_any_two(1e-6, n=1000, adjacency="replace-one")
    0.001
    """
    require.within("(0, 1)", delta=delta)
    require.at_least(1, **{"the number n of records": n})
    require.one_of(("replace-one", "add-remove"), adjacency=adjacency)
    return min(1.0, n * delta * (1 if adjacency == "replace-one" else 2))


# --- Laplace noise


def laplace_tv(*, l1_sensitivity: float, scale: float) -> float:
    r"""Bound on the total variation of two Laplace laws, in any dimension. Their centres differ by a sensitivity.

    .. math:: TV \le 1 - e^{-\Delta_1 / (2 b)}

    Source: [berthier2019:prop2.4]

    Parameters
    ----------
    l1_sensitivity : float > 0, l1 distance between the centres
    scale : float b > 0, of the noise on each coordinate

    Returns
    -------
    tv : float in [0, 1]; the bound is attained if the centres differ in one coordinate

    Raises
    ------
    ValueError : if an argument is not positive and finite

    Notes
    -----
    Let v be the distance between the centres of two laws on the line. Under their best coupling, the two values agree
    with probability e^{-v/(2b)}. Couple each coordinate in this way. The probability that all coordinates agree is the
    product of these probabilities.

    Examples
    --------
    >>> round(laplace_tv(l1_sensitivity=1, scale=0.5), 6)  # 1 - 1/e
    0.632121
    """
    require.positive(l1_sensitivity=l1_sensitivity, scale=scale)
    return -math.expm1(-l1_sensitivity / scale / 2)


def claimed_laplace_tv_scale(*, l1_sensitivity: float, delta: float) -> float:
    r"""The scale of Proposition 2.4. This scale bounds the gap between two densities, not their total variation.

    .. math:: b = \sqrt{\Delta_1 / (2 \delta)}

    Source: [berthier2019:prop2.4]

    Parameters
    ----------
    l1_sensitivity : float > 0
    delta : float in (0, 1)

    Notes
    -----
    This scale has no guarantee; use `corrected_laplace_tv_scale`. The scale is too small unless the sensitivity is at
    most 2 log(1 - delta)^2 / delta, which is about 2 delta. Its unit also differs from the unit of the sensitivity.

    Examples
    --------
    >>> b = claimed_laplace_tv_scale(l1_sensitivity=1, delta=0.005)
    >>> b, round(laplace_tv(l1_sensitivity=1, scale=b), 4)  # almost ten times delta
    (10.0, 0.0488)
    """
    require.positive(l1_sensitivity=l1_sensitivity)
    require.within("(0, 1)", delta=delta)
    return math.sqrt(l1_sensitivity / (2 * delta))


def corrected_laplace_tv_scale(*, l1_sensitivity: float, delta: float) -> float:
    r"""The least Laplace noise on each coordinate with a total variation of at most delta between neighbours.

    .. math:: b = -\frac{\Delta_1}{2 \log(1 - \delta)} \approx \frac{\Delta_1}{2 \delta}

    Source: [berthier2019:prop2.4]

    Parameters
    ----------
    l1_sensitivity : float > 0
    delta : float in (0, 1)

    Examples
    --------
    >>> round(corrected_laplace_tv_scale(l1_sensitivity=1, delta=0.01), 4)
    49.7496
    """
    require.positive(l1_sensitivity=l1_sensitivity)
    require.within("(0, 1)", delta=delta)
    return -l1_sensitivity / (2 * math.log1p(-delta))


# --- Gaussian noise


def gaussian_tv(*, l2_sensitivity: float, noise_std: float) -> float:
    r"""The exact total variation between two Gaussian releases whose means differ by a sensitivity.

    .. math:: TV = \operatorname{erf}\Big(\frac{\Delta_2}{2 \sqrt2\, \sigma}\Big) = 2 \Phi\Big(\frac{\Delta_2}{2
              \sigma}\Big) - 1

    Source: [berthier2019:prop2.5] [berthier2019:fig2]

    Parameters
    ----------
    l2_sensitivity : float > 0
    noise_std : float sigma > 0, on each coordinate

    Examples
    --------
    >>> round(gaussian_tv(l2_sensitivity=1, noise_std=1), 6)
    0.382925
    """
    require.positive(l2_sensitivity=l2_sensitivity, noise_std=noise_std)
    return math.erf(l2_sensitivity / noise_std / (2 * math.sqrt(2)))


def gaussian_tv_scale(*, l2_sensitivity: float, delta: float) -> float:
    r"""Gaussian noise with a total variation of at most delta between neighbours, by Pinsker's inequality.

    .. math:: \sigma = \frac{\Delta_2}{2 \delta}

    Source: [berthier2019:prop2.5]

    Parameters
    ----------
    l2_sensitivity : float > 0
    delta : float in (0, 1)

    Examples
    --------
    This noise is a quarter more than the least noise.

    >>> gaussian_tv_scale(l2_sensitivity=1, delta=0.01)
    50.0
    >>> round(least_gaussian_tv_scale(l2_sensitivity=1, delta=0.01), 3)
    39.893
    """
    require.positive(l2_sensitivity=l2_sensitivity)
    require.within("(0, 1)", delta=delta)
    return l2_sensitivity / (2 * delta)


def least_gaussian_tv_scale(*, l2_sensitivity: float, delta: float) -> float:
    r"""The least Gaussian noise with a total variation of at most delta between neighbours.

    .. math:: \sigma = \frac{\Delta_2}{2 \sqrt2\, \operatorname{erf}^{-1}(\delta)}

    Source: [berthier2019:prop2.5]

    Parameters
    ----------
    l2_sensitivity : float > 0
    delta : float in (0, 1)

    Notes
    -----
    For small delta, this noise is sqrt(2 / pi) = 0.798 times `gaussian_tv_scale`. For larger delta, the factor is
    smaller.
    """
    require.positive(l2_sensitivity=l2_sensitivity)
    require.within("(0, 1)", delta=delta)
    return l2_sensitivity / (2 * math.sqrt(2) * float(special.erfinv(delta)))


def apply_channel(channel, p) -> np.ndarray:
    r"""The law of an output after more processing that does not use the data: a Markov kernel applied to p.

    .. math:: q_{r'} = \sum_r p_r K_{r r'}

    Source: [berthier2019:prop2.3] [berthier2019:postproc] [berthier2019:attacks]

    Parameters
    ----------
    channel : (r, r') array K; each row is a law
    p : (r,) array of probabilities

    Returns
    -------
    q : (r',) array

    Raises
    ------
    ValueError : if a row of the channel, or p, is not a law, or if the shapes do not fit

    Examples
    --------
    >>> apply_channel([[1, 0], [0.5, 0.5]], [0.5, 0.5]).tolist()
    [0.75, 0.25]
    """
    channel, p = np.asarray(channel, float), np.asarray(p, float)
    if p.ndim != 1 or channel.ndim != 2 or len(channel) != len(p):
        raise ValueError(
            f"channel (r, r') and p (r,) must have the same length r, got the shapes {channel.shape} and {p.shape}"
        )
    for name, laws in (("channel", channel), ("p", p[None])):
        if not ((laws >= 0).all() and (np.abs(laws.sum(1) - 1) <= 1e-9).all()):
            raise ValueError(f"{name} must hold probabilities that add up to 1")
    return p @ channel


def compose_tv(deltas: Sequence[float]) -> float:
    r"""Total variation after several releases, by Theorem 2.2. Each release may depend on earlier results.

    .. math:: \delta_1 + \delta_2 + \ldots

    Source: [berthier2019:thm2.2]

    Parameters
    ----------
    deltas : floats in [0, 1], one for each release

    Examples
    --------
    >>> round(compose_tv([0.1, 0.2]), 12)
    0.3
    """
    return min(1.0, math.fsum(_deltas(deltas)))


def least_compose_tv(deltas: Sequence[float]) -> float:
    r"""The least bound on the total variation after several releases. Each release may depend on earlier results.

    .. math:: 1 - (1 - \delta_1)(1 - \delta_2) \cdots

    Source: [berthier2019:thm2.2]

    Parameters
    ----------
    deltas : floats in [0, 1], one for each release

    Notes
    -----
    Couple the first releases so that they agree with probability 1 - delta_1. If they agree, the second releases have
    the same history. Then a coupling exists under which the second releases agree with probability 1 - delta_2. A
    release that reveals the data with probability delta, and nothing otherwise, attains the bound.

    Examples
    --------
    >>> round(least_compose_tv([0.1, 0.2]), 12)
    0.28
    """
    deltas = _deltas(deltas)
    return 1.0 if max(deltas) == 1 else -math.expm1(math.fsum(math.log1p(-delta) for delta in deltas))


def compose_gaussian_tv(deltas: Sequence[float]) -> float:
    r"""Total variation after several releases with the noise of Proposition 2.5, by the chain rule for KL.

    .. math:: \sqrt{\delta_1^2 + \delta_2^2 + \ldots}

    Source: [berthier2019:gauss-tv-comp] [berthier2019:gauss-tv-only]

    Parameters
    ----------
    deltas : floats in [0, 1], Delta_2 / (2 sigma) of each release

    Notes
    -----
    The bound uses only KL(i) <= 2 delta_i^2 for each release, so it holds for every kind of noise with this property.

    Examples
    --------
    >>> round(compose_gaussian_tv([0.3, 0.4]), 12)
    0.5
    """
    return min(1.0, math.hypot(*_deltas(deltas)))


def least_compose_gaussian_tv(deltas: Sequence[float]) -> float:
    r"""The least bound on the total variation after several releases with the noise of Proposition 2.5.

    .. math:: \operatorname{erf}\big(\sqrt{\delta_1^2 + \delta_2^2 + \ldots} / \sqrt2\big)

    Source: [berthier2019:gauss-tv-comp]

    Parameters
    ----------
    deltas : floats in [0, 1], Delta_2 / (2 sigma) of each release

    Notes
    -----
    Let the means of release i be mu_i noise stds apart. Together, the releases are equivalent to one release with the
    distance sqrt(sum mu_i^2). Here mu_i = 2 delta_i. Adaptive releases do not increase the total variation.

    Examples
    --------
    >>> round(least_compose_gaussian_tv([0.3, 0.4]), 6)  # 2 Phi(1/2) - 1
    0.382925
    """
    return math.erf(math.hypot(*_deltas(deltas)) / math.sqrt(2))


def kl(p, q) -> float:
    r"""Kullback-Leibler divergence of two discrete laws, in nats; inf if an outcome has mass under p but not under q.

    .. math:: KL(p \| q) = \sum_k p_k \log \frac{p_k}{q_k}

    Source: [berthier2019:pinsker]
    """
    total_variation(p, q)  # this call checks the two laws
    return max(0.0, float(special.rel_entr(p, q).sum()))


def pinsker(p, q) -> float:
    r"""Pinsker's bound on the total variation.

    .. math:: TV(p, q) \le \sqrt{KL(p \| q) / 2}

    Source: [berthier2019:pinsker]

    Examples
    --------
    Here, KL is log(3) / 2 and the total variation is 1/2.

    >>> round(pinsker([0.75, 0.25], [0.25, 0.75]), 4)
    0.5241
    """
    return math.sqrt(kl(p, q) / 2)


def _deltas(deltas: Sequence[float]) -> list[float]:
    deltas = list(deltas)
    if not deltas:
        raise ValueError("deltas must contain one number for each release, and at least one number")
    for delta in deltas:
        require.within("[0, 1]", deltas=delta)
    return deltas
