"""Properties of total-variation privacy: post-processing, composition, and Pinsker's inequality."""

import math
from collections.abc import Sequence

import numpy as np
from scipy import special

from nfa import require
from nfa.privacy.divergences import total_variation


def apply_channel(channel, p) -> np.ndarray:
    r"""The law of an output that was processed further, knowing nothing more of the data: a Markov kernel applied.

    .. math:: q_{r'} = \sum_r p_r K_{r r'}

    Source: [berthier2019:prop2.3] [berthier2019:postproc] [berthier2019:attacks]

    Parameters
    ----------
    channel : (r, r') array K, whose rows are laws
    p : (r,) array of probabilities

    Returns
    -------
    q : (r',) array

    Raises
    ------
    ValueError : if a row of the channel, or p, is not a law, or the shapes do not fit

    Examples
    --------
    >>> apply_channel([[1, 0], [0.5, 0.5]], [0.5, 0.5]).tolist()
    [0.75, 0.25]
    """
    channel, p = np.asarray(channel, float), np.asarray(p, float)
    if p.ndim != 1 or channel.ndim != 2 or len(channel) != len(p):
        raise ValueError(f"channel (r, r') and p (r,) must fit, got the shapes {channel.shape} and {p.shape}")
    for name, laws in (("channel", channel), ("p", p[None])):
        if not ((laws >= 0).all() and (np.abs(laws.sum(1) - 1) <= 1e-9).all()):
            raise ValueError(f"{name} must hold probabilities that add up to 1")
    return p @ channel


def compose_tv(deltas: Sequence[float]) -> float:
    r"""Total variation after several releases, each possibly chosen after seeing those before, by Theorem 2.2.

    .. math:: \delta_1 + \delta_2 + \ldots

    Source: [berthier2019:thm2.2]

    Parameters
    ----------
    deltas : floats in [0, 1], one a release

    Examples
    --------
    >>> round(compose_tv([0.1, 0.2]), 12)
    0.3
    """
    return min(1.0, math.fsum(_deltas(deltas)))


def least_compose_tv(deltas: Sequence[float]) -> float:
    r"""Total variation after several releases, each possibly chosen after seeing those before: the least that holds.

    .. math:: 1 - (1 - \delta_1)(1 - \delta_2) \cdots

    Source: [berthier2019:thm2.2]

    Parameters
    ----------
    deltas : floats in [0, 1], one a release

    Notes
    -----
    Couple the first releases so that they agree with probability 1 - delta_1; where they do, the second ones see the
    same and can be coupled to agree with probability 1 - delta_2. A release that gives the data away with probability
    delta, and nothing else, attains it.

    Examples
    --------
    >>> round(least_compose_tv([0.1, 0.2]), 12)
    0.28
    """
    deltas = _deltas(deltas)
    return 1.0 if max(deltas) == 1 else -math.expm1(math.fsum(math.log1p(-delta) for delta in deltas))


def compose_gaussian_tv(deltas: Sequence[float]) -> float:
    r"""Total variation after several releases with the noise of Proposition 2.5, by the chain rule of KL.

    .. math:: \sqrt{\delta_1^2 + \delta_2^2 + \ldots}

    Source: [berthier2019:gauss-tv-comp]

    Parameters
    ----------
    deltas : floats in [0, 1], Delta_2 / (2 sigma) of each release

    Notes
    -----
    Only KL(i) <= 2 delta_i^2 for each release is used, whatever its noise.

    Examples
    --------
    >>> round(compose_gaussian_tv([0.3, 0.4]), 12)
    0.5
    """
    return min(1.0, math.hypot(*_deltas(deltas)))


def least_compose_gaussian_tv(deltas: Sequence[float]) -> float:
    r"""Total variation after several releases with the noise of Proposition 2.5: the least that holds.

    .. math:: \operatorname{erf}\big(\sqrt{\delta_1^2 + \delta_2^2 + \ldots} / \sqrt2\big)

    Source: [berthier2019:gauss-tv-comp]

    Parameters
    ----------
    deltas : floats in [0, 1], Delta_2 / (2 sigma) of each release

    Notes
    -----
    Releases with means mu_i noise stds apart are together one with the distance sqrt(sum mu_i^2), here mu_i = 2
    delta_i; adaptive ones are not worse.

    Examples
    --------
    >>> round(least_compose_gaussian_tv([0.3, 0.4]), 6)  # 2 Phi(1/2) - 1
    0.382925
    """
    return math.erf(math.hypot(*_deltas(deltas)) / math.sqrt(2))


def kl(p, q) -> float:
    r"""Kullback-Leibler divergence of two discrete laws, in nats; inf where p has mass that q has not.

    .. math:: KL(p \| q) = \sum_k p_k \log \frac{p_k}{q_k}

    Source: [berthier2019:pinsker]
    """
    total_variation(p, q)  # which checks the two laws
    return max(0.0, float(special.rel_entr(p, q).sum()))


def pinsker(p, q) -> float:
    r"""Pinsker's bound on the total variation.

    .. math:: TV(p, q) \le \sqrt{KL(p \| q) / 2}

    Source: [berthier2019:pinsker]

    Examples
    --------
    KL is log(3) / 2 here, and the total variation 1/2.

    >>> round(pinsker([0.75, 0.25], [0.25, 0.75]), 4)
    0.5241
    """
    return math.sqrt(kl(p, q) / 2)


def _deltas(deltas: Sequence[float]) -> list[float]:
    deltas = list(deltas)
    if not deltas:
        raise ValueError("deltas must hold one number a release, at least one")
    for delta in deltas:
        require.within("[0, 1]", deltas=delta)
    return deltas
