"""A run with the same mechanism in every step: its guarantee, the noise for a target, and an explanation of epsilon.

`nfa epsilon` prints these results. The explanation of a sampling scheme follows from its `nfa.sampling.Sampler`, and
the explanation of a theorem follows from its `nfa.privacy.coverage.Bound`.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

import numpy as np

from nfa.mechanism import ADJACENCIES, Mechanism, NoGuarantee
from nfa.privacy import accountant, rdp, theorems
from nfa.privacy.accountant import PLD, Guarantee, Unresolved, privacy_losses
from nfa.privacy.pure import FORMULAS, PURE, ROUTES, ZERO, compose_pure, is_zero
from nfa.privacy.rounding import up
from nfa.sampling import ALL_RECORDS, SAMPLERS, SCHEMES
from nfa.sensitivity import BOUNDS_APART

CHANGED = {  # for each adjacency, words for the change of one record
    "replace-one": "Change all values of one record, but not the number of records",
    "add-remove": "Add or remove one record",
    "zero-out": "Let one record add 0 to every sum, but do not change the number of records",
    "replace-label": "Change the label of one record, and treat the inputs as public",
}
# Factor of the noise multiplier if the adjacency changes but the noise does not. Replacing a record changes the release
# twice as much as adding a record or zeroing it out. Entries are (adjacency of the run, other adjacency): factor.
RESCALED = {
    (one, other): BOUNDS_APART[one] / BOUNDS_APART[other]
    for one, other in permutations((name for name in BOUNDS_APART if name != "replace-label"), 2)
    if BOUNDS_APART[one] != BOUNDS_APART[other]
}
SHARES = (1 / 4, 1 / 2, 2 / 3, 1, 3 / 2, 2, 4)  # (order - 1) / (best order - 1) for the orders that are printed
LAST = {PURE: "pure composition", ZERO: "total variation: epsilon 0"}


@dataclass(frozen=True, kw_only=True)
class CountedRun:
    """A run of which everything except the noise is fixed.

    Parameters
    ----------
    sampling, adjacency, law, delta, accountant, bound, conversion, orders : as in `nfa.privacy.accountant.calibrate`
    rate : float in (0, 1], share of the records in a batch; 1 if every record is in every batch
    n, batch : int, number of records and batch size; None if the rate was given
    steps : int
    epochs : int, the number of epochs of the steps; None if the number of steps was given
    """

    sampling: str
    adjacency: str
    law: str = "gaussian"
    rate: float = 1.0
    n: int | None = None
    batch: int | None = None
    steps: int
    epochs: int | None = None
    delta: float
    bound: str | None = None
    conversion: str | None = None
    orders: Sequence[float] | None = None
    accountant: str | None = None

    @property
    def steps_per_epoch(self) -> int | None:
        """The steps of an epoch. None if only the rate is known. The accountant then uses floor(1 / rate)."""
        return self._steps_of_epoch(self.sampling)

    def _steps_of_epoch(self, sampling: str) -> int | None:
        """The number of steps of an epoch under this sampling, or a smaller number.

        For shuffled epochs, the result is n // batch if the number of steps was given, because the run may leave out a
        short last batch.
        """
        if self.n is None or self.batch is None:
            return None
        if self.epochs is None and SAMPLERS[sampling].once_an_epoch:
            return self.n // self.batch
        return SAMPLERS[sampling].steps_of_epoch(self.batch, self.n)

    def release(self, noise_multiplier: float, **change: str) -> Mechanism:
        """The release of one step with this noise, optionally under another sampling or adjacency."""
        named = {"sampling": self.sampling, "adjacency": self.adjacency} | change
        rate = 1.0 if named["sampling"] in ALL_RECORDS else self.rate
        if rate < 1 and self.n is not None and self.batch is not None:
            rate = SAMPLERS[named["sampling"]].rate_of(self.batch, self.n)
        return Mechanism(law=self.law, sensitivity=1.0, noise_std=noise_multiplier, sampling_rate=rate, **named)

    def guarantee(self, noise_multiplier: float) -> Guarantee:
        """The guarantee of all steps with this noise. Raises and warns as `nfa.privacy.accountant.epsilon` does."""
        return accountant.epsilon([(self.release(noise_multiplier), self.steps)], **self._how())

    def within(self, target_epsilon: float) -> Guarantee:
        """The guarantee with the smallest noise for which epsilon is at most a target.

        The errors are those of `nfa.privacy.accountant.calibrate`.
        """
        return accountant.calibrate(
            target_epsilon=target_epsilon,
            steps=self.steps,
            adjacency=self.adjacency,
            sampling=self.sampling,
            sampling_rate=self.rate,
            law=self.law,
            **self._how(),
        )

    def _how(self) -> dict[str, Any]:
        names = ("delta", "accountant", "bound", "conversion", "orders", "steps_per_epoch")
        return {name: getattr(self, name) for name in names}

    def by_renyi(self, release: Mechanism, **change: Any) -> Guarantee:
        """The guarantee by Renyi divergences, without a warning. ``change`` can name another bound or conversion."""
        how = {name: getattr(self, name) for name in ("delta", "bound", "conversion", "orders")}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rdp.OrderAtGridEnd)
            per_epoch = self._steps_of_epoch(release.sampling)
            return accountant.renyi([(release, self.steps)], steps_per_epoch=per_epoch, **how | change)

    def by_losses(self, release: Mechanism) -> Guarantee | str:
        """The guarantee by privacy losses, or a sentence that explains why privacy losses prove no epsilon."""
        try:
            spent, per_epoch = [(release, self.steps)], self._steps_of_epoch(release.sampling)
            return privacy_losses(spent, delta=self.delta, steps_per_epoch=per_epoch)
        except Unresolved as unresolved:
            return str(unresolved)
        except NoGuarantee as refusal:  # this can happen if a bound is named, but no theorem covers the sampling
            return refusal.why

    def in_renyi_orders(self, g: Guarantee) -> Guarantee:
        """The guarantee by Renyi divergences with the noise of g. If g is by Renyi divergences, the result is g."""
        return self.by_renyi(self.release(_noise(g))) if g.conversion == PLD else g

    def explain(self, g: Guarantee) -> dict[str, Any]:
        """The derivation of a guarantee of this run, and the guarantees with other bounds, conversions and settings.

        The curve, the choices and the other settings use Renyi divergences, because a Renyi curve has a formula for one
        step.
        """
        r = self.in_renyi_orders(g)
        losses = g if g.conversion == PLD else self.by_losses(self.release(_noise(g)))
        return {
            "adjacency": _promise(g),
            "sampling": self._chance(g),
            "sampling_rate": self.rate,
            "uses": g.uses,
            "formula": {"id": r.bound, "lines": list(theorems.formula(r.bound))},
            "conversion": {"id": ROUTES[r.conversion], "lines": [FORMULAS[r.conversion]]},
            "curve": self.curve(r),
            "choices": self.choices(g, losses),
            "settings": self.settings(r),
            "tight": self._tight(g, losses),
        }

    def _chance(self, g: Guarantee) -> str:
        """A text about the number of uses of a record, and whether the sampling decreases epsilon."""
        sampler = SAMPLERS[self.sampling]
        if sampler.all_records:
            return f"Each of the {g.steps} steps uses every record, so no sampling lowers epsilon."
        if sampler.once_an_epoch:
            epochs = f"{g.uses} epoch{'s' * (g.uses > 1)}"
            return (
                f"The run has {g.steps} steps in {epochs}. An unfinished epoch counts as an epoch. A record is in at "
                f"most one batch of each epoch, so nfa adds up the privacy loss of {g.uses} use{'s' * (g.uses > 1)} of "
                "a record. nfa proves no lower epsilon from the shuffle itself."
            )
        drawn = f"A record is in a batch with probability {self.rate:.6g}, in {self.rate * g.steps:.6g} of the "
        drawn += f"{g.steps} step{'s' * (g.steps != 1)} on average. "
        if g.conversion != PLD and not theorems.amplifies(g.bound):
            return drawn + "This bound ignores the sampling, so the sampling does not lower epsilon."
        return (
            drawn + "The sampling lowers the epsilon of each step, as long as nobody learns which records were drawn."
        )

    def curve(self, g: Guarantee) -> list[dict[str, float]]:
        """The Renyi curve at orders near the best: of one step, of all uses, the conversion's term, and epsilon."""
        if g.order is None:
            return []
        release = self.release(_noise(g))
        convert = rdp.mironov2017 if g.conversion == "mironov2017" else rdp.canonne2020
        epsilons = convert(g.orders, g.rdp, delta=g.delta)
        if g.conversion == ZERO:
            epsilons = np.where(is_zero(g.rdp, delta=g.delta), 0.0, epsilons)
        best = int(epsilons.argmin()) if g.order == math.inf else int(np.flatnonzero(g.orders == g.order)[0])
        shown = {best - 1, best, best + 1}
        shown |= {int(np.abs(g.orders - 1 - share * (g.orders[best] - 1)).argmin()) for share in SHARES}
        at = np.array([k for k in sorted(shown) if 0 <= k < len(g.orders)])
        bound = (theorems.choose if self.conversion else theorems.smallest)(release, self.bound)
        step = (theorems.one_step if self.orders else theorems.one_step_everywhere)(release, g.orders, bound)[at]
        alone = theorems.one_step(release, g.orders, theorems.base_bound(release))[at]
        names = ("order", "one_step", "unsampled", "all_uses", "epsilon")
        rows = [
            dict(zip(names, map(float, row), strict=True))
            for row in zip(g.orders[at], step, alone, g.rdp[at], epsilons[at], strict=True)
        ]
        if g.conversion == PURE:
            once = compose_pure([(release, 1)], self.bound)[0]
            last = (math.inf, once, theorems.epsilon_infinity(release), g.epsilon, g.epsilon)
            rows.append(dict(zip(names, last, strict=True)))
        return rows

    def choices(self, g: Guarantee, losses: Guarantee | str) -> list[dict[str, Any]]:
        """The rows of choices, from no amplification by sampling to the smallest proved epsilon.

        Each row adds one choice, such as a better conversion. It has the epsilon and, as ``saves``, the difference from
        the epsilon of the previous row. The row of the given guarantee is marked ``asked``. ``saves`` is None in the
        first row, and if the epsilon of the previous row is infinite.
        """
        release = self.release(_noise(g))
        base, first = theorems.base_bound(release), theorems.choose(release, self.bound)
        best = theorems.smallest(release, self.bound)
        papers = {"conversion": "mironov2017"}
        ask: list[tuple[str, dict[str, Any]]] = []
        if theorems.counts_in_full(release):
            ask.append(("no amplification by sampling", papers | {"bound": base.id, "orders": None}))
        if first.id != base.id:
            ask.append(("amplification by sampling", papers | {"bound": first.id}))
        if best.id != first.id:
            ask.append(("orders between the integers", papers | {"bound": best.id}))
        ask.append(("the conversion canonne2020", {"bound": best.id, "conversion": "canonne2020"}))
        ask.append(("the best proof by Rényi orders", {"conversion": None}))
        rows: list[dict[str, Any]] = []
        for choice, how in ask:
            found = self.by_renyi(release, **how)
            asked = (found.epsilon, found.conversion, found.bound) == (g.epsilon, g.conversion, g.bound)
            before = rows[-1]["epsilon"] if rows else math.inf
            if how["conversion"] is None and found.epsilon >= before * (1 - 1e-12):
                rows[-1]["asked"] |= asked
                break
            rows.append(
                {
                    "choice": LAST.get(found.conversion, choice),
                    "epsilon": found.epsilon,
                    "saves": before - found.epsilon if before < math.inf else None,
                    "bound": found.bound,
                    "conversion": found.conversion,
                    "order": found.order,
                    "asked": asked,
                }
            )
        by_losses = g.conversion == PLD
        less = rows[-1]["epsilon"] * (1 - accountant.HARDLY_LESS)
        if isinstance(losses, Guarantee) and (by_losses or losses.epsilon < less):
            row = {"choice": "privacy losses", "epsilon": losses.epsilon, "order": None, "asked": by_losses}
            row |= {"saves": rows[-1]["epsilon"] - losses.epsilon if rows[-1]["epsilon"] < math.inf else None}
            rows.append(row | {"bound": losses.bound, "conversion": PLD})
        return rows

    def settings(self, g: Guarantee) -> list[dict[str, Any]]:
        """The epsilon and its bound, or the refusal, of this run under every scheme and adjacency.

        ``epsilon`` is for the same noise multiplier. ``epsilon_rescaled`` is for the same noise. For this conversion,
        we assume that a replaced record changes the release twice as much as a record that is added or zeroed out.
        ``epsilon_rescaled`` is None if it equals ``epsilon``, or if `RESCALED` has no factor.
        """
        rows = []
        for sampling in (self.sampling,) if self.sampling in ALL_RECORDS else SCHEMES:
            for adjacency in ADJACENCIES:
                asked = (sampling, adjacency) == (self.sampling, self.adjacency)
                row = {"sampling": sampling, "adjacency": adjacency, "asked": asked}
                try:
                    found = g if asked else self._other(g, sampling, adjacency, 1.0)
                    factor = RESCALED.get((self.adjacency, adjacency), 0.0)
                    possible = 0 < factor * _noise(g) < math.inf
                    rescaled = self._other(g, sampling, adjacency, factor).epsilon if possible else None
                    row |= {"epsilon": found.epsilon, "epsilon_rescaled": rescaled, "bound": found.bound}
                    row |= {"refused": None}
                except NoGuarantee as refusal:
                    row |= {"epsilon": None, "epsilon_rescaled": None, "bound": None}
                    row |= {"refused": {"id": refusal.id, "why": refusal.why}}
                rows.append(row)
        return rows

    def _other(self, g: Guarantee, sampling: str, adjacency: str, factor: float) -> Guarantee:
        """The guarantee by the default bound under another scheme and adjacency, with the scaled noise multiplier."""
        release = self.release(_noise(g) * factor, sampling=sampling, adjacency=adjacency)
        return self.by_renyi(release, bound=None, orders=None)

    def _tight(self, g: Guarantee, found: Guarantee | str) -> dict[str, Any]:
        """The epsilon by privacy losses, its lower bound, and the epsilon if the sum of the losses were Gaussian."""
        if isinstance(found, str):
            return {"epsilon": None, "at_least": None, "gaussian_limit": None, "says": found}
        return {
            "epsilon": found.epsilon,
            "at_least": found.at_least,
            "gaussian_limit": accountant.gaussian_limit(
                [(self.release(_noise(g)), self.steps)], delta=self.delta, steps_per_epoch=self.steps_per_epoch
            ),
            "says": least_says(found),
        }


def least_says(g: Guarantee) -> str:
    """Words for the meaning of the lower bound on epsilon from privacy losses."""
    if g.adjacency in theorems.COVERAGE[g.sampling].attained:
        return "no proof can give less than"
    return "an exact computation with the same theorem gives at least"


def bound_says(g: Guarantee) -> str:
    """The sentence of the theorem for one step."""
    if g.conversion != PLD:
        return theorems.says(g.bound)
    sampler = SAMPLERS[g.sampling]
    batches = "" if sampler.all_records or sampler.once_an_epoch else f" on {sampler.batches}"
    return f"the law of its noise{batches}, whose privacy loss is composed"


def _noise(g: Guarantee) -> float:
    assert g.noise_multiplier is not None  # it exists, because all steps have the same mechanism
    return g.noise_multiplier


def _promise(g: Guarantee) -> str:
    pair, factor = CHANGED[g.adjacency], up(math.exp(g.epsilon), 4) if g.epsilon < 20 else "e^ε"
    if g.epsilon == math.inf:
        return f"{pair}. Epsilon is infinite, so there is no bound on the change of an event's probability."
    return (
        f"{pair}. If an event had probability p before this change, it has probability at most {factor} p +"
        f" {g.delta:.10g} after the change."
    )
