"""A run with the same mechanism in every step: its guarantee, the noise for a target, and an explanation of the number.

`nfa epsilon` prints what stands here. All that an explanation says of a sampling scheme follows from its
`nfa.sampling.Sampler`, and all that it says of a theorem from its `nfa.privacy.coverage.Bound`.
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
from nfa.privacy.accountant import Guarantee
from nfa.privacy.pure import FORMULAS, PURE, ROUTES, ZERO, compose_pure, is_zero
from nfa.privacy.rounding import up
from nfa.privacy.tight import PLD, privacy_losses, tightest
from nfa.sampling import ALL_RECORDS, SAMPLERS, SCHEMES
from nfa.sensitivity import BOUNDS_APART

CHANGED = {  # an adjacency, in words that a number can be promised for
    "replace-one": "Change all values of one record, keep the number of records",
    "add-remove": "Take one record out, or put one in",
    "zero-out": "Let one record add 0 to every sum, keep the number of records",
    "replace-label": "Change the label of one record; its inputs are treated as public",
}
# What the same noise makes of the noise multiplier where replacing a record moves the release twice as far as adding
# one or zeroing it out: (adjacency of the run, another): factor.
RESCALED = {
    (one, other): BOUNDS_APART[one] / BOUNDS_APART[other]
    for one, other in permutations((name for name in BOUNDS_APART if name != "replace-label"), 2)
    if BOUNDS_APART[one] != BOUNDS_APART[other]
}
SHARES = (1 / 4, 1 / 2, 2 / 3, 1, 3 / 2, 2, 4)  # of the best order less 1: the orders shown
LAST = {PURE: "pure composition", ZERO: "total variation: epsilon 0"}


@dataclass(frozen=True, kw_only=True)
class CountedRun:
    """What is counted: everything but the noise.

    Parameters
    ----------
    sampling, adjacency, law, delta, bound, conversion, orders : as in `nfa.privacy.accountant.calibrate`
    rate : float in (0, 1], share of the records in a batch; 1 where every record is in every batch
    n, batch : int, records and batch size; None where the rate was given
    steps : int
    epochs : int, those that the steps are; None where the steps were given
    accountant : "rdp", Renyi divergences with pure composition, or "pld", privacy losses
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
    accountant: str = "rdp"

    @property
    def steps_per_epoch(self) -> int | None:
        """The steps of an epoch; None if only the rate is known, from which the accountant takes floor(n / batch)."""
        return self._steps_of_epoch(self.sampling)

    def _steps_of_epoch(self, sampling: str) -> int | None:
        """Under a sampling, where a record is used at most once an epoch: never too many.

        If the steps were given, a short last batch may have been left out.
        """
        if self.n is None or self.batch is None:
            return None
        if self.epochs is None and SAMPLERS[sampling].once_an_epoch:
            return self.n // self.batch
        return SAMPLERS[sampling].steps_of_epoch(self.batch, self.n)

    def release(self, noise_multiplier: float, **change: str) -> Mechanism:
        """One step with this noise, perhaps under another sampling or adjacency."""
        named = {"sampling": self.sampling, "adjacency": self.adjacency} | change
        rate = 1.0 if named["sampling"] in ALL_RECORDS else self.rate
        if rate < 1 and self.n is not None and self.batch is not None:
            rate = SAMPLERS[named["sampling"]].rate_of(self.batch, self.n)
        return Mechanism(law=self.law, sensitivity=1.0, noise_std=noise_multiplier, sampling_rate=rate, **named)

    def guarantee(self, noise_multiplier: float) -> Guarantee:
        """What all steps spend with this noise. Raises and warns as `nfa.privacy.accountant.epsilon`."""
        spent = [(self.release(noise_multiplier), self.steps)]
        if self.accountant == PLD:
            return privacy_losses(spent, delta=self.delta, steps_per_epoch=self.steps_per_epoch)
        return accountant.epsilon(spent, **self._how())

    def within(self, target_epsilon: float) -> Guarantee:
        """What they spend with the least noise that keeps to a target. Raises as `nfa.privacy.accountant.calibrate`."""
        return accountant.calibrate(
            target_epsilon=target_epsilon,
            steps=self.steps,
            adjacency=self.adjacency,
            sampling=self.sampling,
            sampling_rate=self.rate,
            law=self.law,
            **self._how(),
            count=privacy_losses if self.accountant == PLD else None,
        )

    def _how(self, **change: Any) -> dict[str, Any]:
        how = {name: getattr(self, name) for name in ("delta", "bound", "conversion", "orders", "steps_per_epoch")}
        return how | change

    def _quietly(self, release: Mechanism, **how: Any) -> Guarantee:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rdp.OrderAtGridEnd)
            per_epoch = {"steps_per_epoch": self._steps_of_epoch(release.sampling)}
            return accountant.epsilon([(release, self.steps)], **self._how(**per_epoch, **how))

    def explain(self, g: Guarantee) -> dict[str, Any]:
        """Where the number of a guarantee of this run comes from, and what others it stands among."""
        return {
            "adjacency": _promise(g),
            "sampling": self._chance(g),
            "sampling_rate": self.rate,
            "uses": g.uses,
            "formula": {"id": g.bound, "lines": list(theorems.formula(g.bound))},
            "conversion": {"id": ROUTES[g.conversion], "lines": [FORMULAS[g.conversion]]},
            "curve": self.curve(g),
            "choices": self.choices(g),
            "settings": self.settings(g),
            "tight": self._tight(g),
        }

    def _chance(self, g: Guarantee) -> str:
        """How often a record is used, and whether that counts."""
        sampler = SAMPLERS[self.sampling]
        if sampler.all_records:
            return f"Every record is in every step ({g.steps} in all), and each step counts in full."
        if sampler.once_an_epoch:
            epochs = f"{g.uses} epoch{'s' * (g.uses > 1)}"
            return (
                f"The run has {g.steps} steps in {epochs}, whole or begun. A record is in at most one batch of each "
                f"epoch, so {g.uses} uses count, each in full. The shuffle itself does not count as protection."
            )
        drawn = f"A record is in a batch with probability {self.rate:.6g}, in {self.rate * g.steps:.6g} of the "
        drawn += f"{g.steps} step{'s' * (g.steps != 1)} on average. "
        if not theorems.amplifies(g.bound):
            return drawn + "This bound ignores the sampling, so every step counts in full."
        return (
            drawn + "The sampling lowers the epsilon of each step, as long as nobody learns which records were drawn."
        )

    def curve(self, g: Guarantee) -> list[dict[str, float]]:
        """The Renyi curve at some orders about the best: one step, all uses, what the conversion adds, epsilon."""
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

    def choices(self, g: Guarantee) -> list[dict[str, Any]]:
        """One choice more a row, from every use counted in full to the smallest that is proved: epsilon, what it saves.

        A row that is the answer is marked ``asked``; ``saves`` is None where the row before is infinite.
        """
        release = self.release(_noise(g))
        base, first = theorems.base_bound(release), theorems.choose(release, self.bound)
        best = theorems.smallest(release, self.bound)
        papers = {"conversion": "mironov2017"}
        ask: list[tuple[str, dict[str, Any]]] = []
        if theorems.counts_in_full(release):
            ask.append(("every use in full", papers | {"bound": base.id, "orders": None}))
        if first.id != base.id:
            ask.append(("amplification by sampling", papers | {"bound": first.id}))
        if best.id != first.id:
            ask.append(("orders that are no integers", papers | {"bound": best.id}))
        ask.append(("the sharper conversion", {"bound": best.id, "conversion": "canonne2020"}))
        ask.append(("all that is proved", {"conversion": None}))
        rows: list[dict[str, Any]] = []
        for choice, how in ask:
            found = self._quietly(release, **how)
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
        return rows

    def settings(self, g: Guarantee) -> list[dict[str, Any]]:
        """The same numbers under every scheme and adjacency: the epsilon and its bound, or the refusal.

        ``epsilon_rescaled`` is for the same noise where a replaced record moves the release twice as far as one that
        is added or zeroed out; None where that is the epsilon itself.
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
        """The default bound for another scheme and adjacency, at the noise multiplier times a factor."""
        release = self.release(_noise(g) * factor, sampling=sampling, adjacency=adjacency)
        return self._quietly(release, bound=None, orders=None)

    def _tight(self, g: Guarantee) -> dict[str, Any]:
        z = _noise(g)
        moderate = g.steps <= 10**7 and 0.05 <= z <= 1e4 and g.delta >= 1e-30 and 1e-4 <= g.epsilon <= 1e5
        if g.order is not None and not moderate:  # where it takes minutes, or overflows
            says = "no tight number: dp-accounting is not used with numbers as extreme as these"
            return {"epsilon": None, "says": says}
        grid = max(1e-5, 1e-4 * g.epsilon) if g.order is not None else None  # seconds, where the default takes many
        how: dict[str, Any] = {"delta": g.delta, "steps_per_epoch": self.steps_per_epoch, "interval": grid}
        try:
            found = tightest(self.release(z), g.steps, **how)
        except NoGuarantee as refusal:
            return {"epsilon": None, "says": f"no tight number: {refusal.why} [{refusal.id}]"}
        return {"epsilon": found.epsilon, "says": found.says}


def bound_says(g: Guarantee) -> str:
    """The sentence of the theorem for one step."""
    if g.conversion != PLD:
        return theorems.says(g.bound)
    sampler = SAMPLERS[g.sampling]
    batches = "" if sampler.all_records or sampler.once_an_epoch else f" on {sampler.batches}"
    return f"the law of its noise{batches}, whose privacy loss is composed"


def _noise(g: Guarantee) -> float:
    assert g.noise_multiplier is not None  # one mechanism has one
    return g.noise_multiplier


def _promise(g: Guarantee) -> str:
    pair, factor = CHANGED[g.adjacency], up(math.exp(g.epsilon), 4) if g.epsilon < 20 else "e^ε"
    if g.order is None:
        return f"{pair}: epsilon is infinite, so there is no bound on how far the probability of an event can change."
    return (
        f"{pair}: an event of probability p then has probability at most {factor} p + {g.delta:.10g}, for every event."
    )
