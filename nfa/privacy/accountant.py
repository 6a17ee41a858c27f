"""The accountants: they compute (epsilon, delta) from mechanisms and steps, and the noise from a target epsilon.

Two accountants prove an epsilon. `renyi` adds Renyi divergences, and `privacy_losses` composes the full distributions
of the privacy losses. `epsilon` returns the smaller of the two epsilons.
"""

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from scipy import optimize

from nfa import require
from nfa.mechanism import Mechanism, NoGuarantee, Release
from nfa.privacy import dominating, losses
from nfa.privacy.dominating import DominatingPair, Profile
from nfa.privacy.gaussians import epsilon_gaussian
from nfa.privacy.pure import PURE, ZERO, compose_pure, is_zero
from nfa.privacy.rdp import (
    ALL_ORDERS,
    CONVERSIONS,
    INTEGER_ORDERS,
    REAL_ORDERS,
    OrderAtGridEnd,
    best_order,
    check_orders,
    compose,
    warn_of_grid_end,
)
from nfa.privacy.theorems import (
    COVERAGE,
    Bound,
    base_bound,
    choose,
    counts_in_full,
    one_step,
    one_step_everywhere,
    smallest,
)
from nfa.sampling import SAMPLERS

RDP, PLD = "rdp", "pld"
ACCOUNTANTS = (RDP, PLD)
LAWS: dict[str, Callable[[float], Profile]] = {"gaussian": dominating.gaussian, "laplace": dominating.laplace}
# Range of the noise multipliers for which floats have enough range and digits.
SMALLEST_NOISE, LARGEST_NOISE = 0.01, 1e6
# `epsilon` replaces the result of `renyi` only if the relative gain is larger. An epsilon by pure composition holds for
# every delta, so it is better than an equal epsilon by privacy losses.
HARDLY_LESS = 1e-6
SMALL_STEP = 0.05  # change of the logarithm of the noise in a difference quotient
NOTHING_TO_GAIN = 1e-4  # if `renyi` gives at most this epsilon, `epsilon` does not compute privacy losses

SUMMARY = ("epsilon", "delta", "order", "adjacency", "sampling", "steps", "bound", "conversion", "noise_multiplier")


class Unresolved(ValueError):
    """Privacy losses that floats cannot resolve."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Guarantee:
    """(epsilon, delta)-differential privacy, with the facts on which epsilon depends.

    Parameters
    ----------
    epsilon : float >= 0, as computed, not rounded; inf if the bounds are infinite
    delta : float in (0, 1)
    order : float, the Renyi order that gave epsilon; inf for pure composition; None if epsilon is inf
    adjacency : str, definition of neighbouring data sets
    sampling : str, the sampling scheme; several different schemes are joined by " + "
    sampling_rate : float; None if it differs between steps
    steps : int, number of all steps
    uses : int, number of counted releases. For an epoch partition, uses is the number of epochs, because each epoch
        uses a record once. Otherwise, uses is the number of steps
    bound : str, ledger id of the theorem for one step; several joined by " + "
    conversion : str, "mironov2017" or "canonne2020"; "pure" for pure composition; "bretagnolle1979" for an epsilon of 0
        from the total variation; "pld" for `privacy_losses`
    noise_multiplier : float, noise std / sensitivity under the adjacency; None if this quotient differs between steps
        or does not exist
    orders, rdp : (k,) arrays, the Renyi curve of all steps together, nats
    at_least : float, the smallest epsilon that a more exact computation with the same dominating pairs could give; None
        if privacy losses were not computed or do not bound this epsilon from below
    """

    epsilon: float
    delta: float
    order: float | None
    adjacency: str
    sampling: str
    sampling_rate: float | None
    steps: int
    uses: int
    bound: str
    conversion: str
    noise_multiplier: float | None
    orders: np.ndarray
    rdp: np.ndarray
    at_least: float | None = None

    def summary(self) -> dict[str, Any]:
        """Return the unrounded epsilon and the facts on which it depends, for records and ``nfa epsilon --json``."""
        beside = {} if self.at_least is None else {"epsilon_at_least": self.at_least}
        return {name: getattr(self, name) for name in SUMMARY} | beside


def caution(delta: float, n: int) -> str:
    """Return a warning for a delta of at least 1/n, which protects no single record, and "" for a smaller delta.

    Parameters
    ----------
    delta : float in (0, 1)
    n : int >= 1, number of records

    Examples
    --------
    >>> caution(1e-5, 1000)
    ''
    >>> caution(0.01, 100)
    'Caution: delta 0.01 is at least 1/n = 0.01. A mechanism that publishes one whole record satisfies such a delta.'
    """
    if delta < 1 / n:
        return ""
    return (
        f"Caution: delta {delta:g} is at least 1/n = {1 / n:.3g}. A mechanism that publishes one whole record satisfies"
        " such a delta."
    )


def epsilon(
    spent: Iterable[tuple[Release, int]],
    *,
    delta: float,
    accountant: str | None = None,
    bound: str | None = None,
    conversion: str | None = None,
    orders=None,
    steps_per_epoch: int | None = None,
) -> Guarantee:
    """The epsilon of a run: the smallest epsilon that is proved at this delta.

    Source: [lee2020:acct]

    Parameters
    ----------
    spent : pairs (release, steps) of a Mechanism or Classic and an integer >= 1. The releases must have the same
        adjacency
    delta : float in (0, 1)
    accountant : "rdp" for `renyi`, "pld" for `privacy_losses`; None for the smaller of the two epsilons, or for "rdp"
        if you name a bound, a conversion or orders
    bound, conversion, orders, steps_per_epoch : as in `renyi`

    Returns
    -------
    guarantee : Guarantee. If no accountant is chosen, `at_least` is None in three cases: only `renyi` gives an epsilon,
        the epsilon of `renyi` is at most 1e-4, or it is smaller than the lower bound of `privacy_losses`

    Raises
    ------
    ValueError : if a number or a name is out of range, or if you name a bound, a conversion or orders together with the
        accountant "pld"
    NoGuarantee : if no theorem, or not the named theorem, covers a release, or if the adjacencies differ

    Warns
    -----
    OrderAtGridEnd : as `renyi`, if the returned epsilon is from `renyi`

    Examples
    --------
    For these hundred steps, Renyi divergences prove only epsilon = 0.317, because a record is rarely in a batch.

    >>> m = Mechanism(law="gaussian", sensitivity=1.0, adjacency="add-remove", noise_std=1.5,
    ...               sampling="poisson", sampling_rate=0.001)
    >>> g = epsilon([(m, 100)], delta=1e-6)
    >>> round(g.epsilon, 4), g.conversion
    (0.0292, 'pld')
    """
    spent = list(spent)
    how: dict[str, Any] = {"delta": delta, "steps_per_epoch": steps_per_epoch}
    asked = _asked(accountant, bound=bound, conversion=conversion, orders=orders)
    if asked == PLD:
        return privacy_losses(spent, **how)
    if asked == RDP:
        return renyi(spent, bound=bound, conversion=conversion, orders=orders, **how)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", OrderAtGridEnd)
        found = renyi(spent, **how)
    if found.epsilon > NOTHING_TO_GAIN:
        try:
            composed = privacy_losses(spent, **how)
        except (NoGuarantee, Unresolved):  # NoGuarantee for a mechanism that is given by its Renyi curve only
            composed = None
        if composed is not None and composed.epsilon < found.epsilon * (1 - HARDLY_LESS):
            return composed
        if composed is not None and composed.at_least is not None and composed.at_least <= found.epsilon:
            found = replace(found, at_least=composed.at_least)
    for warning in caught:
        warnings.warn(warning.message, warning.category, stacklevel=2)
    return found


def _asked(accountant: str | None, **named: Any) -> str | None:
    """The named accountant, or "rdp" if an argument needs it. None means the smaller of the two epsilons."""
    if accountant is not None:
        require.one_of(ACCOUNTANTS, accountant=accountant)
    for name, value in named.items():
        if value is not None and accountant == PLD:
            raise ValueError(
                f"{name} applies only to the accountant rdp: leave out {name}, or choose the accountant rdp"
            )
    return RDP if any(value is not None for value in named.values()) else accountant


def renyi(
    spent: Iterable[tuple[Release, int]],
    *,
    delta: float,
    bound: str | None = None,
    conversion: str | None = None,
    orders=None,
    steps_per_epoch: int | None = None,
) -> Guarantee:
    r"""The epsilon of a run by Renyi divergences: the smallest epsilon that they prove at this delta.

    .. math:: \epsilon = \min_{\alpha \le \infty} \Big( \sum_i T_i \epsilon_i(\alpha)
              \text{ converted from order } \alpha \text{ at } \delta \Big)

    Source: [lee2020:acct] [lee2020:compose]

    Parameters
    ----------
    spent : pairs (release, steps) of a Mechanism or Classic and an integer >= 1. The releases must have the same
        adjacency
    delta : float in (0, 1)
    bound : str, ledger id of the theorem for one step, see `nfa.privacy.theorems.BOUNDS`; None: the smallest bound for
        each release
    conversion : "mironov2017" or "canonne2020". None: the conversion with the smallest epsilon. The candidates are
        these two, pure composition if epsilon(infinity) is finite, and total variation
    orders : increasing orders > 1. If orders are given, only these orders are used, without pure composition. None: all
        orders that the bounds allow, from a fine grid of reals and the integers up to 256. If a conversion is named and
        a bound needs integers, only the integers are used
    steps_per_epoch : int, for epoch partitions only, at most n / m rounded up. None: n / m rounded down, so that the
        number of epochs is never too small

    Returns
    -------
    guarantee : Guarantee

    Raises
    ------
    ValueError : if a number or a name is out of range
    NoGuarantee : if no theorem, or not the named theorem, covers a release, or if the adjacencies differ

    Warns
    -----
    OrderAtGridEnd : if the optimal order is the first or the last of the grid

    Notes
    -----
    Shuffled epochs use parallel composition. Under replace-one, the record is in at most one batch of an epoch, so the
    epsilon of an epoch is that of one release without sampling. We assume that each pair of `spent` begins a fresh
    epoch.

    Examples
    --------
    Ten releases with z = 10 have the Renyi curve rho alpha with rho = 10 / (2 z^2) = 1/20. The smallest epsilon from
    this curve is rho + 2 sqrt(rho log(1/delta)), at alpha = 1 + sqrt(log(1/delta) / rho).

    >>> m = Mechanism(law="gaussian", sensitivity=0.5, adjacency="replace-one", noise_std=5.0,
    ...               sampling="none", sampling_rate=1.0)
    >>> g = renyi([(m, 10)], delta=np.exp(-5), conversion="mironov2017")
    >>> round(g.epsilon, 3), round(g.order), g.bound
    (1.05, 11, 'lee2020:lem1')
    """
    spent = list(spent)
    if not spent:
        raise ValueError("the accountant has no mechanism to count: give at least one mechanism and its steps")
    require.within("(0, 1)", delta=delta)
    for _, steps in spent:
        require.integer(1, steps=steps)
        if steps > 2**53:
            raise ValueError(
                f"steps must be at most 2^53, because a float cannot represent every larger number, got {steps}"
            )
    if conversion is not None:
        require.one_of(CONVERSIONS, conversion=conversion)
    if steps_per_epoch is not None:
        require.integer(1, steps=steps_per_epoch)
    pick = choose if conversion else smallest
    bounds = [pick(release, bound) for release, _ in spent]
    adjacencies = sorted({release.adjacency for release, _ in spent})
    if len(adjacencies) > 1:
        raise NoGuarantee(
            "lee2020:compose",
            f"epsilons add up only under one adjacency, got {' and '.join(adjacencies)}: count all releases under the "
            "same adjacency",
        )
    uses = [count_uses(release, int(steps), steps_per_epoch) for release, steps in spent]
    asked = orders is not None
    orders = check_orders(orders if asked else _default_orders(bounds, conversion))
    step = one_step if asked else one_step_everywhere
    curves = [step(release, orders, b) for (release, _), b in zip(spent, bounds, strict=True)]
    rdp = compose(zip(curves, uses, strict=True))
    names = [conversion] if conversion else list(CONVERSIONS)
    found = [(*best_order(orders, rdp, delta=delta, conversion=name), name) for name in names]
    smallest_epsilon, order, chosen = min(found, key=lambda one: one[0])
    ids = [b.id for b in bounds]
    if conversion is None:
        counted = [(release, count) for (release, _), count in zip(spent, uses, strict=True)]
        pure, pure_ids = (math.inf, ids) if asked else compose_pure(counted, bound)
        zero = is_zero(rdp, delta=delta)
        if smallest_epsilon > 0 and zero.any():
            smallest_epsilon, order, chosen = 0.0, float(orders[zero][0]), ZERO
        elif pure < smallest_epsilon:
            smallest_epsilon, order, chosen, ids = pure, math.inf, PURE, pure_ids
    if order is not None and smallest_epsilon > 0 and order in _ends(spent, bounds, orders, curves):
        warn_of_grid_end(order, smallest=order == orders[0] or (order == INTEGER_ORDERS[0] and order != orders[-1]))
    return Guarantee(
        epsilon=smallest_epsilon,
        delta=delta,
        order=order,
        adjacency=adjacencies[0],
        sampling=" + ".join(dict.fromkeys(release.sampling for release, _ in spent)),
        sampling_rate=_common(release.sampling_rate for release, _ in spent),
        steps=sum(int(steps) for _, steps in spent),
        uses=sum(uses),
        bound=" + ".join(dict.fromkeys(ids)),
        conversion=chosen,
        noise_multiplier=_common(getattr(release, "noise_multiplier", None) for release, _ in spent),
        orders=orders,
        rdp=rdp,
    )


def privacy_losses(
    spent: Iterable[tuple[Release, int]],
    *,
    delta: float,
    steps_per_epoch: int | None = None,
) -> Guarantee:
    """The epsilon of a run by composing the privacy losses of its steps, rounded up.

    Source: [lee2020:def1] [zhu2022:compose] [doroshenko2022:connect] [higham2002:thm24.2]

    Parameters
    ----------
    spent, delta, steps_per_epoch : as in `renyi`

    Returns
    -------
    guarantee : Guarantee. Its conversion is "pld". Its bound is the theorem for one use without sampling. Its order is
        None. Any more exact computation with the same dominating pairs gives an epsilon between `at_least` and
        `epsilon`

    Raises
    ------
    ValueError : if a number is out of range
    Unresolved : a ValueError, if floats do not resolve the noise, or if the rounding errors are larger than the given
        delta
    NoGuarantee : if no theorem covers a release, or if a release is given by its Renyi curve only, because its privacy
        losses are then unknown

    Notes
    -----
    Guarantee: (epsilon, delta)-differential privacy holds, also with the rounding errors of the computation (see
    `nfa.privacy.losses`).

    Suppose that a release has several coordinates with Laplace noise. Shift the mean of the first law, one coordinate
    at a time, until it is the mean of the second law. The power of a test between the two laws is at most the power of
    the chain of tests along this path. For shifts of one coordinate, the best tests are nested. So the power of the
    chain is that of one shift by the whole l1 sensitivity.

    Examples
    --------
    For one release with Laplace noise of scale 1, the exact epsilon is 1 + 2 log(1 - delta).

    >>> m = Mechanism(law="laplace", sensitivity=1.0, adjacency="replace-one", noise_std=2**0.5,
    ...               sampling="none", sampling_rate=1.0)
    >>> round(privacy_losses([(m, 1)], delta=0.1).epsilon, 2), round(1 + 2 * math.log(0.9), 2)
    (0.79, 0.79)
    """
    spent = list(spent)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrderAtGridEnd)  # the warning would be about an epsilon that is not returned
        counted = renyi(spent, delta=delta, conversion="mironov2017", steps_per_epoch=steps_per_epoch)
    uses = [count_uses(release, int(steps), steps_per_epoch) for release, steps in spent]
    at_least, found = _both_bounds([(release, count) for (release, _), count in zip(spent, uses, strict=True)], delta)
    if found == math.inf:
        raise Unresolved(
            f"privacy losses give no epsilon at delta {delta:g} after {counted.uses} uses, because rounding "
            "errors are too large: leave out the accountant pld"
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


def gaussian_limit(spent: Iterable[tuple[Release, int]], *, delta: float, steps_per_epoch: int | None = None) -> float:
    """The epsilon if the sum of the privacy losses of all steps were Gaussian.

    This epsilon is not proved, and no guarantee uses it.

    Parameters
    ----------
    spent, delta, steps_per_epoch : as in `renyi`

    Returns
    -------
    epsilon : float >= 0

    Raises
    ------
    As `privacy_losses`.
    """
    pairs, _ = _pairs([(release, count_uses(release, int(steps), steps_per_epoch)) for release, steps in spent])
    return losses.gaussian_limit(pairs, delta)


def _both_bounds(spent: list[tuple[Release, int]], delta: float) -> tuple[float, float]:
    """The smallest and the largest possible epsilon for these numbers of uses of each release."""
    pairs, z = _pairs(spent)
    if z and not pairs[1:]:
        exact = epsilon_gaussian(delta=delta, noise_multiplier=z)
        return exact * (1 - 1e-9), exact
    return losses.bounds(pairs, delta)


def _pairs(spent: Iterable[tuple[Release, int]]) -> tuple[list[tuple[tuple[DominatingPair, ...], int]], float]:
    """The dominating pairs of the releases with their numbers of uses, and a noise multiplier.

    All Gaussian releases without sampling are joined into one equivalent release, which is the last pair. The second
    result is the noise multiplier of this release, or 0 if there is no such release.
    """
    pairs: list[tuple[tuple[DominatingPair, ...], int]] = []
    inverse_square = 0.0  # 1 / z^2 of the joint release
    for release, uses in _together(spent):
        chosen = choose(release)
        if not isinstance(release, Mechanism):
            if release.epsilon_infinity == math.inf or not counts_in_full(release):
                raise NoGuarantee(
                    chosen.id,
                    "the accountant pld needs the privacy losses of the mechanism, but nfa has only the Rényi curve of "
                    "the mechanism",
                )
            pairs.append((dominating.in_full(dominating.pure(release.epsilon_infinity)), uses))
            continue
        z, of = release.noise_multiplier, COVERAGE[release.sampling].pairs
        if not SMALLEST_NOISE <= z <= LARGEST_NOISE:
            raise Unresolved(
                f"the accountant pld covers only noise multipliers from {SMALLEST_NOISE:g} to {LARGEST_NOISE:g}, got"
                f" {z:g}"
            )
        law, whole = LAWS[release.law], release.sampling_rate == 1 or SAMPLERS[release.sampling].once_an_epoch
        found = None if of is None or whole else of(release, law)
        if found is None and release.law == "gaussian":
            inverse_square += uses / z**2
        else:
            pairs.append((found or dominating.in_full(law(z)), uses))
    if not inverse_square:
        return pairs, 0.0
    z = inverse_square**-0.5
    return [*pairs, (dominating.in_full(dominating.gaussian(z)), 1)], z


def _together(spent: Iterable[tuple[Release, int]]) -> list[tuple[Release, int]]:
    """Join all uses of a mechanism in one pair (release, uses).

    The uses of a `Classic` are not joined, because it may have no hash.
    """
    uses: dict[Mechanism, int] = {}
    others: list[tuple[Release, int]] = []
    for release, count in spent:
        if isinstance(release, Mechanism):
            uses[release] = uses.get(release, 0) + count
        else:
            others.append((release, count))
    return [*uses.items(), *others]


def _default_orders(bounds: list[Bound], conversion: str | None) -> np.ndarray:
    if conversion is None or any(b.id == "mironov2019:sec3.3" for b in bounds):
        return ALL_ORDERS
    return INTEGER_ORDERS if any(b.integers for b in bounds) else REAL_ORDERS


def _ends(spent, bounds: list[Bound], orders: np.ndarray, curves: list[np.ndarray]) -> set[float]:
    """The first and the last order of the grid, and 2 or 256 if a theorem for integers gives the curve there."""
    ends = {float(orders[0]), float(orders[-1])}
    for (release, _), bound, curve in zip(spent, bounds, curves, strict=True):
        for k in np.flatnonzero(np.isin(orders, INTEGER_ORDERS[[0, -1]])) if bound.integers else ():
            if curve[k] < one_step(release, orders[k : k + 1], base_bound(release))[0]:
                ends.add(float(orders[k]))
    return ends


def count_uses(release: Release, steps: int, steps_per_epoch: int | None) -> int:
    """The largest number of uses of one record."""
    if not SAMPLERS[release.sampling].once_an_epoch:
        return steps
    # If n / m is a whole number, 1 / rate can differ from it by rounding.
    per_epoch, rounding = 1 / release.sampling_rate, 4 * np.finfo(float).eps
    fewest, most = math.floor(per_epoch * (1 + rounding)), math.ceil(per_epoch * (1 - rounding))
    if steps_per_epoch is not None and steps_per_epoch > most:
        raise ValueError(
            f"steps_per_epoch must be at most {most}, because an epoch with the sampling rate"
            f" {release.sampling_rate:g} "
            f"has at most {most} steps, got {steps_per_epoch}"
        )
    return -(-steps // (steps_per_epoch or fewest))


def in_fresh_epochs(sessions: Iterable[tuple[int, int]], steps_per_epoch: int) -> list[int]:
    """The steps of all sessions of a run, divided into parts so that each part begins with a fresh epoch.

    A session shuffles again at its start, even in the middle of an epoch. Then the rest of this epoch can use a record
    that an earlier session has already used in the epoch. Every later epoch can use the record once more. So each
    session has one part up to the end of its first epoch, and a second part from there on. Add up the numbers of epochs
    that begin in each part. The sum is the largest possible number of uses of a record.

    Source: [ours:fresh-epochs]

    Proof. Within a part, all steps of an epoch belong to one shuffle, which contains a record at most once. So a record
    has at most one use for each epoch that the part begins. Shuffles of different parts and epochs are independent and
    uniform, so a record can occur in each of these epochs, among the steps that were taken.

    Parameters
    ----------
    sessions : (first step, number of steps) of each session, in a run of shuffled epochs. Step t is in epoch (t - 1) //
        steps_per_epoch
    steps_per_epoch : int >= 1

    Returns
    -------
    parts : ints >= 1

    Examples
    --------
    An epoch has four steps. The session with the steps 1 to 5 is one part of 5 steps. The session with the steps 6 to 9
    has a part with the steps 6 to 8, and a part with the step 9. The session with the steps 10 to 12 is one part.

    >>> in_fresh_epochs([(1, 5), (6, 4), (10, 3)], 4)
    [5, 3, 1, 3]
    """
    parts = []
    for first, steps in sessions:
        begun = min(steps, (1 - first) % steps_per_epoch)  # the steps left in the epoch in which the session begins
        parts += [part for part in (begun, steps - begun) if part]
    return parts


def calibrate(
    *,
    target_epsilon: float,
    delta: float,
    steps: int,
    adjacency: str,
    sampling: str,
    sampling_rate: float = 1.0,
    law: str = "gaussian",
    accountant: str | None = None,
    bound: str | None = None,
    conversion: str | None = None,
    orders=None,
    steps_per_epoch: int | None = None,
) -> Guarantee:
    """The smallest noise for which `epsilon` is at most a target.

    Source: [lee2020:acct]

    Parameters
    ----------
    target_epsilon : float > 0
    law : "gaussian" or "laplace"
    delta, steps, adjacency, sampling, sampling_rate, accountant, bound, conversion, orders, steps_per_epoch : as in
        `epsilon` and `nfa.mechanism.Mechanism`

    Returns
    -------
    guarantee : Guarantee. Its noise_multiplier is the smallest noise. Its epsilon is at most the target. The relative
        difference is at most 1e-6 with Renyi divergences, or 1e-3 with privacy losses, unless the epsilon of any
        smaller noise exceeds the target

    Raises
    ------
    ValueError : if a number or a name is out of range, or if the epsilon exceeds the target for every noise
    NoGuarantee : if no theorem, or not the named theorem, covers the setting

    Examples
    --------
    For one Gaussian release, epsilon = 1 / (2 z^2) + sqrt(2 log(1/delta)) / z. At z = 1 and delta = e^{-49/8}, epsilon
    is 4.

    >>> g = calibrate(target_epsilon=4, delta=np.exp(-49 / 8), steps=1, adjacency="replace-one", sampling="none",
    ...               conversion="mironov2017")
    >>> round(g.noise_multiplier, 3)
    1.0
    """
    require.positive(target_epsilon=target_epsilon)
    asked = _asked(accountant, bound=bound, conversion=conversion, orders=orders)

    def spend(z: float, by: str | None = RDP) -> Guarantee:
        release = Mechanism(
            law=law,
            sensitivity=1.0,
            adjacency=adjacency,
            noise_std=z,
            sampling=sampling,
            sampling_rate=sampling_rate,
        )
        return epsilon(
            [(release, steps)],
            delta=delta,
            accountant=by,
            bound=bound,
            conversion=conversion,
            orders=orders,
            steps_per_epoch=steps_per_epoch,
        )

    @cache  # the search evaluates the ends of its interval again
    def excess(log_z: float) -> float:
        reached = spend(math.exp(log_z)).epsilon
        return min(math.log(max(reached, 1e-300) / target_epsilon) if reached < math.inf else 700.0, 700.0)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrderAtGridEnd)
        low = high = math.log(4.0)  # start at z = 4, because the closed form for Poisson batches needs z >= 4
        while excess(high) > 0:
            low, high = high, high + math.log(4.0)
            if high > math.log(1e9):
                floor = spend(1e9).epsilon
                raise ValueError(
                    f"no amount of noise brings epsilon to {target_epsilon:g}, because with these orders and this "
                    f"conversion the bound stays above {floor:g}: give larger orders or a larger delta"
                )
        while low == high or excess(low) <= 0:
            low -= math.log(4.0)
        log_z = optimize.brentq(excess, low, high, xtol=1e-13, rtol=1e-13)
        step = 1e-13
        while excess(log_z) > 0:  # the root may be too small by its last digit
            log_z, step = log_z + step, 2 * step
        z = math.exp(log_z)
        if asked != RDP:
            slope = (excess(log_z + SMALL_STEP) - excess(log_z)) / SMALL_STEP
            z, found = less_noise(partial(spend, by=asked), target_epsilon, z, slope)
            if found.conversion == PLD:
                return found
    return spend(z, asked)  # this call warns if the order is at the end of the grid


def less_noise(
    spend: Callable[[float], Guarantee], target: float, enough: float, slope: float = -1.0
) -> tuple[float, Guarantee]:
    """Approximately the smallest noise for which epsilon is at most a target, and the guarantee with this noise.

    Parameters
    ----------
    spend : function of the noise, in any unit
    target : float > 0, the largest epsilon
    enough : float > 0, a noise that satisfies the target according to another accountant. It may be slightly too small
    slope : float < 0, approximate derivative of log epsilon with respect to the logarithm of the noise

    Returns
    -------
    noise, guarantee : the epsilon of the guarantee is at most the target. The relative difference is at most 1e-3,
        unless the epsilon of any smaller noise exceeds the target

    Raises
    ------
    ValueError : if the search does not end

    Notes
    -----
    An epsilon from privacy losses has small jumps as a function of the noise. These jumps are smaller than the
    precision of the search.
    """
    z, low, high, slope = enough, 0.0, math.inf, min(slope, -0.2)
    before: tuple[float, float] | None = None
    for _ in range(60):
        spent = spend(z)
        reached = max(spent.epsilon / target, 1e-3)
        if reached <= 1:
            high, found = z, spent
            if reached >= 1 - 1e-3 or high <= low * (1 + 1e-9):
                break
        else:
            low = z
        log_off = math.log(reached) + 5e-4  # slightly below the target
        if before and z != before[0] and log_off != before[1]:
            slope = min((log_off - before[1]) / math.log(z / before[0]), -0.2)
        before = z, log_off
        z *= math.exp(min(max(-log_off / slope, -1.0), 1.0))
        if not low < z < high:
            z = math.sqrt(low * high) if 0 < low and high < math.inf else z
    if high == math.inf:
        raise ValueError(
            f"nfa found no noise for the target epsilon {target:g}, because no noise of 60 trials reaches the target"
        )
    return high, found


def _common(values):
    values = list(dict.fromkeys(values))
    return values[0] if len(values) == 1 else None
