"""What was spent: from mechanisms and steps to (epsilon, delta), and from a target epsilon to the noise it needs."""

import math
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy import optimize

from nfa import require
from nfa.mechanism import Mechanism, NoGuarantee, Release
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
from nfa.privacy.theorems import Bound, base_bound, choose, one_step, one_step_everywhere, smallest
from nfa.sampling import SAMPLERS

SUMMARY = ("epsilon", "delta", "order", "adjacency", "sampling", "steps", "bound", "conversion", "noise_multiplier")


@dataclass(frozen=True, kw_only=True, eq=False)
class Guarantee:
    """(epsilon, delta)-differential privacy with everything that the number depends on.

    Parameters
    ----------
    epsilon : float >= 0, as computed, not rounded; inf where the bounds are
    delta : float in (0, 1)
    order : float, the Renyi order that gave epsilon, inf for pure composition; None where epsilon is inf
    adjacency : str, what neighbouring data sets are
    sampling : str, the scheme; several different ones joined by " + "
    sampling_rate : float; None where it differs between steps
    steps : int, steps in all
    uses : int, releases counted: the steps, but for an epoch partition the epochs, in which a record is used once
    bound : str, ledger id of the theorem for one step; several joined by " + "
    conversion : str, "mironov2017" or "canonne2020"; "pure" for pure composition; "bretagnolle1979" for an epsilon of 0
        by total variation; "pld" for `nfa.privacy.tight.privacy_losses`
    noise_multiplier : float, noise std / sensitivity under the adjacency; None where it differs or there is none
    orders, rdp : (k,) arrays, the Renyi curve of everything that was spent, nats
    at_least : float, for "pld" what a more exact computation with the same dominating pairs could give at least; else
        None
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
        """Epsilon, as computed, with what it depends on, by name: what a record and ``nfa epsilon --json`` tell."""
        beside = {} if self.at_least is None else {"epsilon_at_least": self.at_least}
        return {name: getattr(self, name) for name in SUMMARY} | beside


def caution(delta: float, n: int) -> str:
    """A sentence for a delta that protects no single record, because it is at least 1/n; empty for a smaller delta.

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
    bound: str | None = None,
    conversion: str | None = None,
    orders=None,
    steps_per_epoch: int | None = None,
) -> Guarantee:
    r"""What a run has spent: the smallest epsilon that the theorems prove at this delta.

    .. math:: \epsilon = \min_{\alpha \le \infty} \Big( \sum_i T_i \epsilon_i(\alpha)
              \text{ converted from order } \alpha \text{ at } \delta \Big)

    Source: [lee2020:acct] [lee2020:compose]

    Parameters
    ----------
    spent : pairs (release, steps) of a Mechanism or Classic and an integer >= 1; they may differ in all but adjacency
    delta : float in (0, 1)
    bound : str, ledger id of the theorem for one step, see `nfa.privacy.theorems.BOUNDS`; None: the smallest of each
    conversion : "mironov2017" or "canonne2020", as the papers name it; None: what gives the smallest epsilon, of the
        two, of pure composition where epsilon(infinity) is finite, and of total variation
    orders : increasing orders > 1, which then count alone, without pure composition; None: all that the bounds allow,
        of a fine grid of reals and the integers to 256; where a conversion is named, the integers alone if a bound
        needs them
    steps_per_epoch : int, of epoch partitions, at most n / m rounded up; None: n / m rounded down, never too many

    Returns
    -------
    guarantee : Guarantee

    Raises
    ------
    ValueError : if a number or a name is out of range
    NoGuarantee : if no theorem, or not the one named, covers a release, or the adjacencies differ

    Warns
    -----
    OrderAtGridEnd : if the optimal order is the first or the last of the grid

    Notes
    -----
    Shuffled epochs count by parallel composition: under replace-one the record is in at most one batch of an epoch, so
    an epoch costs what one full release costs. Each pair begins a fresh epoch.

    Examples
    --------
    Ten releases with z = 10 have the curve rho alpha with rho = 10 / (2 z^2) = 1/20, and its best is rho +
    2 sqrt(rho log(1/delta)) at alpha = 1 + sqrt(log(1/delta) / rho).

    >>> m = Mechanism(law="gaussian", sensitivity=0.5, adjacency="replace-one", noise_std=5.0,
    ...               sampling="none", sampling_rate=1.0)
    >>> g = epsilon([(m, 10)], delta=np.exp(-5), conversion="mironov2017")
    >>> round(g.epsilon, 3), round(g.order), g.bound
    (1.05, 11, 'lee2020:lem1')
    """
    spent = list(spent)
    if not spent:
        raise ValueError("the accountant has counted no mechanism: give at least one mechanism and its steps")
    require.within("(0, 1)", delta=delta)
    for _, steps in spent:
        require.integer(1, steps=steps)
        if steps > 2**53:
            raise ValueError(f"steps must be at most 2^53, because a float cannot count further by ones, got {steps}")
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
            f"epsilons add up only under one adjacency, got {' and '.join(adjacencies)}; count all releases under the "
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


def _default_orders(bounds: list[Bound], conversion: str | None) -> np.ndarray:
    if conversion is None or any(b.id == "mironov2019:sec3.3" for b in bounds):
        return ALL_ORDERS
    return INTEGER_ORDERS if any(b.integers for b in bounds) else REAL_ORDERS


def _ends(spent, bounds: list[Bound], orders: np.ndarray, curves: list[np.ndarray]) -> set[float]:
    """The first and the last order of the grid, and of the integers at which a theorem gives the curve."""
    ends = {float(orders[0]), float(orders[-1])}
    for (release, _), bound, curve in zip(spent, bounds, curves, strict=True):
        for k in np.flatnonzero(np.isin(orders, INTEGER_ORDERS[[0, -1]])) if bound.integers else ():
            if curve[k] < one_step(release, orders[k : k + 1], base_bound(release))[0]:
                ends.add(float(orders[k]))
    return ends


def count_uses(release: Release, steps: int, steps_per_epoch: int | None) -> int:
    """How often one record is used, at most."""
    if not SAMPLERS[release.sampling].once_an_epoch:
        return steps
    per_epoch, rounding = 1 / release.sampling_rate, 4 * np.finfo(float).eps  # n / m, a whole number but for rounding
    fewest, most = math.floor(per_epoch * (1 + rounding)), math.ceil(per_epoch * (1 - rounding))
    if steps_per_epoch is not None and steps_per_epoch > most:
        raise ValueError(
            f"with sampling rate {release.sampling_rate:g} an epoch has at most {most} steps, got "
            f"steps_per_epoch={steps_per_epoch}"
        )
    return -(-steps // (steps_per_epoch or fewest))


def in_fresh_epochs(sessions: Iterable[tuple[int, int]], steps_per_epoch: int) -> list[int]:
    """The steps of all sessions, cut so that each part begins a fresh epoch of its own.

    A session shuffles anew where it begins, be it in the middle of an epoch: what is left of that epoch can use a
    record that an earlier session has used in it, and so can every epoch after it. With one part up to the end of that
    epoch and another from there on, the epochs begun in all parts are the most uses that any record can have had.

    Source: [ours:fresh-epochs]

    Proof. Within a part every step of an epoch is of one shuffle, which has a record at most once: at most one use for
    each epoch that the part begins. Shuffles of different parts and epochs are independent and uniform, so that one
    record can come in every one of them, among the steps that were taken.

    Parameters
    ----------
    sessions : (first step, number of steps) of each, in a run of shuffled epochs, step t in epoch (t - 1) //
        steps_per_epoch
    steps_per_epoch : int >= 1

    Returns
    -------
    parts : ints >= 1

    Examples
    --------
    Epochs of four steps: steps 1 to 5, 6 to 9 and 10 to 12 begin two epochs, two and one.

    >>> in_fresh_epochs([(1, 5), (6, 4), (10, 3)], 4)
    [5, 3, 1, 3]
    """
    parts = []
    for first, steps in sessions:
        begun = min(steps, (1 - first) % steps_per_epoch)  # the steps left of the epoch in which the session begins
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
    bound: str | None = None,
    conversion: str | None = None,
    orders=None,
    steps_per_epoch: int | None = None,
    count: Callable[..., Guarantee] | None = None,
) -> Guarantee:
    """The least noise with which `epsilon` stays within a target.

    Source: [lee2020:acct]

    Parameters
    ----------
    target_epsilon : float > 0
    law : "gaussian" or "laplace"
    delta, steps, adjacency, sampling, sampling_rate, bound, conversion, orders, steps_per_epoch : as in `epsilon` and
        `nfa.mechanism.Mechanism`
    count : what counts in the place of `epsilon`, such as `nfa.privacy.tight.privacy_losses`; bound, conversion and
        orders are then left out

    Returns
    -------
    guarantee : Guarantee; its noise_multiplier is the answer, and its epsilon is at most the target, and at least the
        target less a relative 1e-6, or 0 where any less noise exceeds the target. With `count` it is at least the
        target less a relative 1e-3

    Raises
    ------
    ValueError : if a number or a name is out of range, or no noise, however large, brings the bound to the target
    NoGuarantee : if no theorem, or not the one named, covers the setting

    Examples
    --------
    One Gaussian release: epsilon = 1 / (2 z^2) + sqrt(2 log(1/delta)) / z, which is 4 at z = 1 and delta = e^{-49/8}.

    >>> g = calibrate(target_epsilon=4, delta=np.exp(-49 / 8), steps=1, adjacency="replace-one", sampling="none",
    ...               conversion="mironov2017")
    >>> round(g.noise_multiplier, 3)
    1.0
    """
    require.positive(target_epsilon=target_epsilon)

    def spend(z: float) -> Guarantee:
        release = Mechanism(
            law=law,
            sensitivity=1.0,
            adjacency=adjacency,
            noise_std=z,
            sampling=sampling,
            sampling_rate=sampling_rate,
        )
        if count is not None:
            return count([(release, steps)], delta=delta, steps_per_epoch=steps_per_epoch)
        return epsilon(
            [(release, steps)],
            delta=delta,
            bound=bound,
            conversion=conversion,
            orders=orders,
            steps_per_epoch=steps_per_epoch,
        )

    if count is not None:
        how: dict[str, Any] = {"law": law, "steps_per_epoch": steps_per_epoch}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OrderAtGridEnd)
            enough = calibrate(
                target_epsilon=target_epsilon,
                delta=delta,
                steps=steps,
                adjacency=adjacency,
                sampling=sampling,
                sampling_rate=sampling_rate,
                **how,
            )
        assert enough.noise_multiplier is not None
        return _less_noise(spend, target_epsilon, enough.noise_multiplier)

    @cache  # the search comes back to its ends
    def excess(log_z: float) -> float:
        reached = spend(math.exp(log_z)).epsilon
        return min(math.log(max(reached, 1e-300) / target_epsilon) if reached < math.inf else 700.0, 700.0)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrderAtGridEnd)
        low = high = math.log(4.0)  # from which on the closed form for Poisson batches holds
        while excess(high) > 0:
            low, high = high, high + math.log(4.0)
            if high > math.log(1e9):
                floor = spend(1e9).epsilon
                raise ValueError(
                    f"no amount of noise brings epsilon to {target_epsilon:g}, because with these orders and this "
                    f"conversion the bound stays above {floor:g}; give larger orders or a larger delta"
                )
        while low == high or excess(low) <= 0:
            low -= math.log(4.0)
        log_z = optimize.brentq(excess, low, high, xtol=1e-13, rtol=1e-13)
        step = 1e-13
        while excess(log_z) > 0:  # the root's last digit may lie on the wrong side
            log_z, step = log_z + step, 2 * step
    return spend(math.exp(log_z))


def _less_noise(spend: Callable[[float], Guarantee], target: float, enough: float) -> Guarantee:
    """The guarantee at about the least noise multiplier that keeps to the target, from one that is enough.

    What counts here is exact to less than the search asks for, and may jump by that.
    """
    z, low, high, slope = enough, 0.0, math.inf, -1.0
    before: tuple[float, float] | None = None
    best: Guarantee | None = None
    for _ in range(60):
        found = spend(z)
        reached = max(found.epsilon / target, 1e-3)
        if reached <= 1:
            best, high = found, z
            if reached >= 1 - 1e-3 or high <= low * (1 + 1e-9):
                break
        else:
            low = z
        log_off = math.log(reached) + 5e-4  # a little below the target
        if before and z != before[0] and log_off != before[1]:
            slope = min((log_off - before[1]) / math.log(z / before[0]), -0.2)
        before = z, log_off
        z *= math.exp(min(max(-log_off / slope, -1.0), 1.0))
        if not low < z < high:
            z = math.sqrt(low * high) if 0 < low and high < math.inf else z
    if best is None:
        raise ValueError(f"the search for a noise multiplier whose epsilon is at most {target:g} has not ended")
    return best


def _common(values):
    values = list(dict.fromkeys(values))
    return values[0] if len(values) == 1 else None
