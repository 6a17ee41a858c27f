"""Epsilons by privacy losses: ours, which are proved, and beside them those of dp-accounting, where it is installed."""

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np

from nfa import require
from nfa.mechanism import Mechanism, NoGuarantee, Release
from nfa.privacy import dominating, losses
from nfa.privacy.accountant import Guarantee, count_uses, epsilon
from nfa.privacy.dominating import DominatingPair, Profile
from nfa.privacy.gaussians import epsilon_gaussian
from nfa.privacy.rdp import OrderAtGridEnd
from nfa.privacy.theorems import COVERAGE, base_bound, choose, counts_in_full
from nfa.sampling import SAMPLERS, WithoutReplacement

PLD = "pld"  # what a guarantee of `privacy_losses` has for a conversion
MISSING = "dp-accounting is not installed; install it with pip install 'noisy-feedback-alignment[pld]'"
SMALLEST_NOISE, LARGEST_NOISE = 0.01, 1e6  # beyond, floats overflow or lose the profile's digits


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
    add-remove or zero-out. dp-accounting has no privacy loss distribution for batches without replacement; see
    `tight_without_replacement`.
    """
    spent = list(spent)
    ours = _counted(spent, delta, steps_per_epoch).epsilon
    if interval is not None:
        require.positive(interval=interval)
    if ours == math.inf:
        return Tight(None, "no tight number: our own bound is infinite")
    if not all(isinstance(release, Mechanism) and release.law == "gaussian" for release, _ in spent):
        return Tight(None, "no tight number: nfa passes only Gaussian noise to dp-accounting")
    for release, _ in spent:
        if COVERAGE[release.sampling].losses is None:
            return Tight(
                None,
                "no tight number: dp-accounting has no privacy loss distribution for "
                f"{SAMPLERS[release.sampling].batches}",
            )
    if interval is None:
        interval = max(1e-5, 1e-6 * ours)
    try:
        found = _composed(spent, delta, steps_per_epoch, interval)
    except ImportError:
        return Tight(None, f"no tight number: {MISSING}")
    return Tight(found, f"dp-accounting, privacy loss distribution on a grid of {interval:g}")


def privacy_losses(
    spent: Iterable[tuple[Release, int]], *, delta: float, steps_per_epoch: int | None = None
) -> Guarantee:
    """What a run has spent, by composing the privacy losses of its steps, rounded up.

    Source: [lee2020:def1] [zhu2022:compose] [doroshenko2022:connect] [higham2002:thm24.2]

    Parameters
    ----------
    spent : pairs (release, steps), as for `nfa.privacy.accountant.epsilon`
    delta : float in (0, 1)
    steps_per_epoch : int, of epoch partitions, as there

    Returns
    -------
    guarantee : Guarantee; its conversion is "pld", its bound the one of a use without sampling, and it has no order.
        Any more exact computation with the same dominating pairs gives a number between `at_least` and `epsilon`

    Raises
    ------
    ValueError : if a number is out of range, or rounding hides a delta as small as this one
    NoGuarantee : if no theorem covers a release, or a release has no privacy losses, because it is known by its Renyi
        curve alone

    Notes
    -----
    Guarantee: (epsilon, delta) holds, rounding included; see `nfa.privacy.losses`.

    Laplace noise on several coordinates: the laws are reached from each other by moving one coordinate after the other,
    and the power of tests between the ends is at most that of tests chained along the path; for shifts of one
    coordinate, whose best tests are nested, the chain is the shift by the whole l1 sensitivity.

    Examples
    --------
    One release with Laplace noise of scale 1: exact is 1 + 2 log(1 - delta).

    >>> m = Mechanism(law="laplace", sensitivity=1.0, adjacency="replace-one", noise_std=2**0.5,
    ...               sampling="none", sampling_rate=1.0)
    >>> round(privacy_losses([(m, 1)], delta=0.1).epsilon, 2), round(1 + 2 * math.log(0.9), 2)
    (0.79, 0.79)
    """
    spent = list(spent)
    counted = _counted(spent, delta, steps_per_epoch)
    uses = [count_uses(release, int(steps), steps_per_epoch) for release, steps in spent]
    at_least, found = _both_bounds([(release, count) for (release, _), count in zip(spent, uses, strict=True)], delta)
    if found == math.inf:
        raise ValueError(
            f"privacy losses give no epsilon at delta {delta:g} after {counted.uses} uses, because rounding hides it; "
            "leave out the accountant pld"
        )
    bounds, none = dict.fromkeys(base_bound(release).id for release, _ in spent), np.array([])
    return replace(
        counted,
        epsilon=found,
        at_least=at_least,
        order=None,
        bound=" + ".join(bounds),
        conversion=PLD,
        orders=none,
        rdp=none,
    )


LAWS: dict[str, Callable[[float], Profile]] = {"gaussian": dominating.gaussian, "laplace": dominating.laplace}


def _both_bounds(spent: list[tuple[Release, int]], delta: float) -> tuple[float, float]:
    """The smallest and the largest that the epsilon of so many uses of each release can be."""
    pairs: list[tuple[tuple[DominatingPair, ...], int]] = []
    inverse_square = 0.0  # 1 / z^2 of the one Gaussian release that all those without sampling amount to
    for release, uses in spent:
        chosen = choose(release)
        if not isinstance(release, Mechanism):
            if release.epsilon_infinity == math.inf or not counts_in_full(release):
                raise NoGuarantee(
                    chosen.id, "this mechanism is known by its Rényi curve, which says nothing of its privacy losses"
                )
            pairs.append((dominating.in_full(dominating.pure(release.epsilon_infinity)), uses))
            continue
        z, of = release.noise_multiplier, COVERAGE[release.sampling].pairs
        if not SMALLEST_NOISE <= z <= LARGEST_NOISE:
            raise ValueError(
                f"the accountant pld takes noise multipliers from {SMALLEST_NOISE:g} to {LARGEST_NOISE:g}, got {z:g}"
            )
        law, whole = LAWS[release.law], release.sampling_rate == 1 or SAMPLERS[release.sampling].once_an_epoch
        found = None if of is None or whole else of(release, law)
        if found is None and release.law == "gaussian":
            inverse_square += uses / z**2
        else:
            pairs.append((found or dominating.in_full(law(z)), uses))
    if inverse_square and not pairs:
        exact = epsilon_gaussian(delta=delta, noise_multiplier=inverse_square**-0.5)
        return exact * (1 - 1e-9), exact
    if inverse_square:
        pairs.append((dominating.in_full(dominating.gaussian(inverse_square**-0.5)), 1))
    return losses.bounds(pairs, delta)


def _counted(spent: list[tuple[Release, int]], delta: float, steps_per_epoch: int | None) -> Guarantee:
    """What our accountant says, without its warning: of its epsilon only the size is wanted here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrderAtGridEnd)
        return epsilon(spent, delta=delta, conversion="mironov2017", steps_per_epoch=steps_per_epoch)


def _composed(spent: list[tuple[Release, int]], delta: float, steps_per_epoch: int | None, interval: float) -> float:
    """The epsilon of dp-accounting; its relation is the one under which a law and its shift are compared."""
    from dp_accounting import dp_event
    from dp_accounting.pld import PLDAccountant

    accountant = PLDAccountant(value_discretization_interval=interval)
    for release, steps in spent:
        assert isinstance(release, Mechanism)  # as all were found to be
        z = release.noise_multiplier
        event: dp_event.DpEvent = dp_event.GaussianDpEvent(z)
        if release.law == "laplace":
            event = dp_event.LaplaceDpEvent(z / math.sqrt(2))  # the scale
        losses = COVERAGE[release.sampling].losses
        assert losses is not None
        event = losses(event, release.sampling_rate)
        accountant.compose(event, count_uses(release, int(steps), steps_per_epoch))
    return float(accountant.get_epsilon(delta))


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
        raise ValueError(
            "this bound needs a sampling rate in (0, 1], a positive and finite noise multiplier and epsilons without "
            f"NaN, got {q}, {z} and {epsilons}"
        )
    (pair,) = dominating.without_replacement(dominating.gaussian(z), q)
    half, below = pair.forward(np.abs(epsilons))[1], np.minimum(epsilons, 0.0)
    return -np.expm1(below) + np.exp(below) * half


def _has_worst_pair(mechanism: Mechanism) -> bool:
    """Whether `amplified_profile` is for this mechanism."""
    asked = (mechanism.law, mechanism.adjacency, mechanism.sampling)
    return asked == ("gaussian", "replace-one", WithoutReplacement.scheme)


def tightest(
    mechanism: Mechanism, steps: int, *, delta: float, steps_per_epoch: int | None = None, interval: float | None = None
) -> Tight:
    """`tight_without_replacement` where it applies and an interval is named, else `tight`, for steps of one mechanism.

    Parameters, exceptions and answer are theirs.
    """
    if interval is not None and _has_worst_pair(mechanism):
        (found,) = tight_without_replacement(mechanism, [steps], delta=delta, interval=interval)
        return found
    return tight([(mechanism, steps)], delta=delta, steps_per_epoch=steps_per_epoch, interval=interval)


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
    if not _has_worst_pair(mechanism):
        raise NoGuarantee(
            "wbk2019:thm27",
            "this number is only for Gaussian noise, replace-one and batches without replacement, got "
            f"{mechanism.law}, {mechanism.adjacency} and {mechanism.sampling}",
        )
    require.within("(0, 1)", delta=delta)
    for count in steps:
        require.integer(1, steps=count)
    require.positive(interval=interval)
    try:
        from dp_accounting.pld import pld_pmf
        from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
    except ImportError:
        return [Tight(None, f"no tight number: {MISSING}")] * len(steps)
    q, z = mechanism.sampling_rate, mechanism.noise_multiplier
    farthest = TAIL / z + 0.5 / z**2  # what is beyond counts as an infinite loss
    ends = math.ceil((farthest + math.log(q + (1 - q) * math.exp(-farthest))) / interval)
    profile = amplified_profile(interval * np.arange(-ends, ends + 1), sampling_rate=q, noise_multiplier=z)
    pmf = pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(interval, -ends, ends, profile)
    loss = PrivacyLossDistribution(pmf)
    says = f"dp-accounting, composition of the worst pair on a grid of {interval:g}"
    return [Tight(float(loss.self_compose(int(n)).get_epsilon_for_delta(delta)), says) for n in steps]
