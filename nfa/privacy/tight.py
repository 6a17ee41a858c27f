"""Tight epsilons beside ours: privacy loss distributions of dp-accounting, where it is installed."""

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from nfa import require
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.privacy.accountant import count_uses, epsilon
from nfa.privacy.rdp import OrderAtGridEnd
from nfa.privacy.releases import Release


@dataclass(frozen=True)
class Tight:
    """A tight epsilon, or the sentence that says why there is none.

    Parameters
    ----------
    epsilon : float, an upper bound that exceeds the best possible by the discretisation only; None where there is none
    says : str, one sentence: where the number comes from, or what is missing
    """

    epsilon: float | None
    says: str


def tight(
    spent: Iterable[tuple[Release, int]],
    *,
    delta: float,
    steps_per_epoch: int | None = None,
    interval: float | None = None,
) -> Tight:
    """The epsilon of dp-accounting's privacy loss distributions for what `nfa.privacy.accountant.epsilon` counts.

    Source: [lee2020:def1]

    Parameters
    ----------
    spent : pairs (release, steps), as for `nfa.privacy.accountant.epsilon`
    delta : float in (0, 1)
    steps_per_epoch : int, of epoch partitions, as there
    interval : float > 0, grid of privacy losses; smaller is tighter and slower. None: 1e-5, or a millionth of our
        epsilon where that is more

    Returns
    -------
    tight : Tight

    Raises
    ------
    ValueError : if a number is out of range
    NoGuarantee : if no theorem covers a release

    Notes
    -----
    Gaussian noise only, on all the data, in shuffled epochs (a record used once an epoch) or in Poisson batches under
    add-remove. dp-accounting has no privacy loss distribution for batches without replacement; see
    `tight_without_replacement`.
    """
    spent = list(spent)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrderAtGridEnd)  # only its size is wanted here
        ours = epsilon(spent, delta=delta, steps_per_epoch=steps_per_epoch).epsilon
    if interval is not None:
        require.positive(interval=interval)
    if ours == math.inf:
        return Tight(None, "no tight number: our own bound is infinite")
    if not all(isinstance(release, Mechanism) and release.law == "gaussian" for release, _ in spent):
        return Tight(None, "no tight number: only Gaussian noise is handed to dp-accounting")
    if any(release.sampling == "without-replacement" for release, _ in spent):
        return Tight(
            None, "no tight number: dp-accounting has no privacy loss distribution for batches without replacement"
        )
    try:
        from dp_accounting import dp_event
        from dp_accounting.pld import PLDAccountant
    except ImportError:
        return Tight(None, "no tight number: dp-accounting is not installed; pip install 'nfa[pld]' brings it")
    if interval is None:
        interval = max(1e-5, 1e-6 * ours)
    accountant = PLDAccountant(value_discretization_interval=interval)
    for release, steps in spent:
        assert isinstance(release, Mechanism)  # as all were found to be above
        event: dp_event.DpEvent = dp_event.GaussianDpEvent(release.noise_multiplier)
        if release.sampling == "poisson":
            event = dp_event.PoissonSampledDpEvent(release.sampling_rate, event)
        accountant.compose(event, count_uses(release, int(steps), steps_per_epoch))
    return Tight(
        float(accountant.get_epsilon(delta)), f"dp-accounting, privacy loss distribution on a grid of {interval:g}"
    )


TAIL = 12.0  # standard deviations of the noise beyond which privacy losses are put together


def amplified_profile(epsilons: np.ndarray, *, sampling_rate: float, noise_multiplier: float) -> np.ndarray:
    r"""The hockey-stick divergence that no two neighbours exceed, for Gaussian noise and batches without replacement.

    .. math:: H_{1 + q(a - 1)} \le q \, H_a\big(\mathcal N(1/z, 1) \,\|\, \mathcal N(0, 1)\big), \qquad
              H_{1/a} = \frac{H_a - (1 - a)}{a}

    The first is the amplification theorem of Balle, Barthe and Gaboardi (2018) for batches of a fixed size and one
    record replaced, a >= 1; the second holds for any pair of laws that is as bad as the exchanged pair.

    Parameters
    ----------
    epsilons : (k,) array; the divergence is that of order e^epsilon
    sampling_rate : float q in (0, 1], batch size / records
    noise_multiplier : float z > 0, noise std / sensitivity under replace-one

    Returns
    -------
    deltas : (k,) array in [0, 1], not increasing with epsilon

    Raises
    ------
    ValueError : if the rate or the noise multiplier is out of range, or epsilons hold NaN

    Examples
    --------
    At epsilon = 0 it is q times the total variation distance of the two Gaussians, here 2 Phi(1/2) - 1 = 0.3829.

    >>> amplified_profile(np.array([0.0]), sampling_rate=0.5, noise_multiplier=1.0).round(4).tolist()
    [0.1915]
    """
    q, z = sampling_rate, noise_multiplier
    if not (0 < q <= 1 and 0 < z < math.inf) or np.isnan(epsilons).any():
        raise ValueError(f"need a rate in (0, 1], a noise multiplier above 0 and epsilons, got {q}, {z} and {epsilons}")
    size = np.abs(epsilons)
    whole = size + np.log1p(-np.expm1(-size) * (1 - q) / q)  # log a
    up = log_ndtr(0.5 / z - whole * z)
    stick = np.exp(up) * -np.expm1(whole + log_ndtr(-0.5 / z - whole * z) - up)
    half = q * np.maximum(stick, 0.0)
    return np.where(epsilons >= 0, half, -np.expm1(-size) + np.exp(-size) * half)


def tight_without_replacement(
    mechanism: Mechanism, steps: list[int], *, delta: float, interval: float = 1e-4
) -> list[Tight]:
    """The epsilon after each number of steps, by composing the worst pair of laws: nearly exact, and never too small.

    Parameters
    ----------
    mechanism : Mechanism with Gaussian noise, replace-one, sampling "without-replacement"
    steps : integers >= 1
    delta : float in (0, 1)
    interval : float > 0, grid of privacy losses; smaller is tighter and slower

    Returns
    -------
    tight : list of Tight, one a number of steps; their epsilon is None where dp-accounting is not installed

    Raises
    ------
    ValueError : if a number is out of range
    NoGuarantee : for another mechanism

    Notes
    -----
    Guarantee: up to rounding, (epsilon, delta) holds. `amplified_profile` is turned into the law of a privacy loss on a
    grid that dominates it ("connect the dots"), and laws that dominate step by step dominate in composition.
    """
    if (mechanism.law, mechanism.adjacency, mechanism.sampling) != ("gaussian", "replace-one", "without-replacement"):
        raise NoGuarantee(
            "wbk2019:thm27",
            "this number is for Gaussian noise, replace-one and batches without replacement, got"
            f" {mechanism.law}, {mechanism.adjacency} and {mechanism.sampling}",
        )
    require.within("(0, 1)", delta=delta)
    for count in steps:
        require.integer(1, steps=count)
    require.positive(interval=interval)
    try:
        from dp_accounting.pld import pld_pmf
        from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
    except ImportError:
        return [Tight(None, "no tight number: dp-accounting is not installed; pip install 'nfa[pld]' brings it")] * len(
            steps
        )
    q, z = mechanism.sampling_rate, mechanism.noise_multiplier
    farthest = TAIL / z + 0.5 / z**2  # what is beyond counts as an infinite loss
    ends = math.ceil((farthest + math.log(q + (1 - q) * math.exp(-farthest))) / interval)
    profile = amplified_profile(interval * np.arange(-ends, ends + 1), sampling_rate=q, noise_multiplier=z)
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(interval, -ends, ends, profile)
    loss = PrivacyLossDistribution(pmf)
    says = f"dp-accounting, composition of the worst pair on a grid of {interval:g}"
    return [Tight(float(loss.self_compose(int(n)).get_epsilon_for_delta(delta)), says) for n in steps]
