"""What a run's record says of privacy: the mechanism of a step, and what all steps would guarantee."""

import inspect
import math
import sys
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from nfa.experiments.settings import Settings
from nfa.mechanism import REJECTION, Mechanism, NoGuarantee
from nfa.network import Net
from nfa.privacy.accountant import Guarantee, epsilon
from nfa.privacy.rdp import OrderAtGridEnd
from nfa.privacy.rounding import up

SEEDED = "the seed is recorded, so whoever reads this record can subtract the noise"
FLOATS = "in exact arithmetic: low-order bits of floating-point noise can tell neighbours apart, which is not counted"


@dataclass(frozen=True, kw_only=True)
class Statement:
    """What is known of a run's privacy before its first step, and what its record says of all steps.

    Parameters
    ----------
    known : the privacy part of the record, as far as it is known before the first step
    mechanism : of one step; None where none is stated, or no theorem covers it
    delta : in (0, 1), at which epsilon is counted; None for no count
    conversion : as in `nfa.privacy.accountant.epsilon`; None for the smallest epsilon that is proved
    steps_per_epoch : int >= 1, of the batches
    secure : whether batches and noise are drawn under a key of the operating system
    shown : what the run or its record gives away of the training examples beside the steps that are counted
    public : what is taken as public for the count
    """

    known: dict[str, Any]
    mechanism: Mechanism | None = None
    delta: float | None
    conversion: str | None = None
    steps_per_epoch: int
    secure: bool
    shown: list[str] = field(default_factory=list)
    public: str = ""

    def account(self, sittings: list[int]) -> dict[str, Any]:
        """The privacy part of the record of a run that has done its steps: with a delta named, the guarantee too.

        Parameters
        ----------
        sittings : ints >= 1, the steps done; of a secure run those of each sitting, for a sitting shuffles afresh,
            and counts the steps that it repeats because they were lost
        """
        if self.mechanism is None:
            return self.known
        if self.delta is None:
            words = f"{self.known['statement']}; no epsilon is counted, because no delta is named"
            return self.known | {"statement": words}
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", OrderAtGridEnd)
                found = epsilon(
                    [(self.mechanism, count) for count in sittings],
                    delta=self.delta,
                    conversion=self.conversion,
                    steps_per_epoch=self.steps_per_epoch if self.mechanism.sampling == "epoch-partition" else None,
                )
        except NoGuarantee as refusal:
            return self.known | _refused(refusal)
        guarantee = {name: "inf" if value == math.inf else value for name, value in found.summary().items()}
        words = self._of_a_secure_run(found) if self.secure else self._of_a_seeded_run(found)
        words += "".join(f"; {warning.message!s}" for warning in caught if warning.category is OrderAtGridEnd)
        return self.known | {"statement": words, "guarantee": guarantee}

    def warrants(self, privacy: dict[str, Any]) -> bool:
        """Whether a record with this privacy part may say that its run is private: generator, batches, mechanism."""
        guarantee = privacy.get("guarantee")
        return bool(self.secure and guarantee and guarantee["epsilon"] != "inf" and not self.shown)

    def _of_a_seeded_run(self, found: Guarantee) -> str:
        words = (
            f"none: {SEEDED}; with secret randomness the weights of all steps would be ({up(found.epsilon, 4)},"
            f" {found.delta:g})-differentially private under {found.adjacency}, not so the training loss in this record"
        )
        return words + (f"; {self.public}" if self.public else "")

    def _of_a_secure_run(self, found: Guarantee) -> str:
        if found.epsilon == math.inf:
            return "none: no finite epsilon is proved"
        if self.shown:
            return f"none: {'; '.join(self.shown)}"
        return (
            f"the weights of all steps are ({up(found.epsilon, 4)}, {self.delta:g})-differentially private under"
            f" {found.adjacency}, with keys from the operating system that were kept nowhere, {FLOATS}; the number"
            " of training examples is taken as public"
        )


def describe(function: Callable, settings: Settings, bound: dict[str, Any], net: Net, batches) -> Statement:
    """What one step of a rule releases, and the privacy part of the record as far as it is known before the first step.

    Parameters
    ----------
    function : the rule, whose module may hold a function ``mechanism``, see `mechanism_of`; where no adjacency is named
        it is asked only if its own default is None
    settings : Settings
    bound : the settings of the rule that the run has bound
    net, batches : of the run

    Raises
    ------
    ValueError : for settings that the mechanism refuses, or an adjacency that is not its own
    """
    mechanism, known = _first_words(function, settings, bound, net, batches)
    standardised = settings.pixels == "standard" and mechanism is not None and mechanism.adjacency != "replace-label"
    shown = []
    if standardised:
        shown.append("the mean and the deviation of the training pixels enter without noise: take pixels unit or as-is")
    if settings.validation:
        shown.append("the validation accuracy shows held-out examples, which train nothing: leave out validation")
    if settings.align_every is not None:
        shown.append("the alignment compares with gradients without noise: leave out align_every")
    return Statement(
        known=known,
        mechanism=mechanism,
        delta=settings.delta,
        conversion=settings.conversion,
        steps_per_epoch=batches.steps_per_epoch,
        secure=bool(settings.secure),
        shown=shown,
        public="the mean and the deviation of the training pixels are taken as public" if standardised else "",
    )


def _first_words(
    function: Callable, settings: Settings, bound: dict[str, Any], net: Net, batches
) -> tuple[Mechanism | None, dict[str, Any]]:
    """The mechanism of a step, if there is one, and what the record says before any step is counted."""
    taken = parameters_of_mechanism(function)
    if taken is None:
        return None, {"statement": f"none: rule {settings.rule} states no mechanism"}
    if settings.adjacency is None and "adjacency" in taken and taken["adjacency"].default is not None:
        return None, {"statement": "none: no epsilon is counted, because no adjacency is named"}
    if "sampling" in taken and batches.scheme == REJECTION:
        why = "no theorem here counts batches that are drawn again until they are large enough"
        return None, _refused(NoGuarantee("dpulr2024:thm1", why))
    known = bound | {"net": net, "sampling": batches.scheme, "sampling_rate": batches.rate}
    try:
        mechanism = mechanism_of(function, settings.rule, settings.adjacency, known)
    except NoGuarantee as refusal:
        return None, _refused(refusal)
    why = "a run in secret randomness that has not been counted yet" if settings.secure else SEEDED
    return mechanism, {"statement": f"none: {why}", "mechanism": asdict(mechanism)}


def parameters_of_mechanism(function: Callable) -> Mapping[str, inspect.Parameter] | None:
    """What the function ``mechanism`` beside a rule takes; None where there is none."""
    mechanism = getattr(sys.modules[function.__module__], "mechanism", None)
    return None if mechanism is None else inspect.signature(mechanism).parameters


def mechanism_of(function: Callable, name: str, adjacency: str | None, known: Mapping[str, Any]) -> Mechanism:
    """What the module of a rule says that one step of it releases.

    Parameters
    ----------
    function : the rule, beside which stands a function ``mechanism(*, net, ..., adjacency, sampling, sampling_rate)``;
        of what is known, of the adjacency and of the rule's own defaults, it is given what it takes
    name : of the rule, for messages
    adjacency : one of `nfa.mechanism.ADJACENCIES`; None for the mechanism's own
    known : the settings of the rule that are bound, its net, how its batches are sampled

    Raises
    ------
    NoGuarantee : where nothing is proved
    ValueError : for settings that the mechanism refuses, or an adjacency that is not its own
    """
    parameters = inspect.signature(function).parameters.values()
    defaults = {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}
    given = {**defaults, **known, "adjacency": adjacency}
    mechanism = sys.modules[function.__module__].mechanism
    taken = inspect.signature(mechanism).parameters
    try:
        found = mechanism(**{name: value for name, value in given.items() if name in taken})
    except (TypeError, KeyError, AttributeError) as failure:
        raise ValueError(f"the mechanism of rule {name} fails: {failure}") from failure
    if adjacency not in (None, found.adjacency):
        raise ValueError(f"adjacency must be {found.adjacency} for rule {name}, got {adjacency}")
    return found


def _refused(refusal: NoGuarantee) -> dict[str, Any]:
    return {"statement": f"none: {refusal.why} ({refusal.id})", "id": refusal.id}
