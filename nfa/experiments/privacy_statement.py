"""What a run's record says of privacy: the mechanism of a step, and what all steps would guarantee."""

import inspect
import math
import sys
import warnings
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from nfa.experiments.settings import Settings
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.network import Net
from nfa.privacy.accountant import epsilon
from nfa.privacy.rdp import OrderAtGridEnd
from nfa.privacy.rounding import up
from nfa.sampling import REJECTION

SEEDED = "the seed is recorded, so whoever reads this record can subtract the noise"
FLOATS = "in exact arithmetic: low-order bits of floating-point noise can tell neighbours apart, which is not counted"
COUNTED = (
    "epsilon",
    "delta",
    "order",
    "adjacency",
    "sampling",
    "steps",
    "bound",
    "conversion",
    "noise_multiplier",
)


def describe(
    function: Callable, settings: Settings, bound: dict[str, Any], net: Net, batches
) -> tuple[Mechanism | None, dict[str, Any]]:
    """What one step of a rule releases, and the privacy part of the record as far as it is known before the first step.

    Parameters
    ----------
    function : the rule, whose module may hold a function ``mechanism(*, net, ..., adjacency, sampling,
        sampling_rate)``; of these, and of the rule's own settings, it is given those that it takes. Where no adjacency
        is named it is asked only if its own default is None
    settings : Settings
    bound : the settings of the rule that the run has bound
    net, batches : of the run

    Raises
    ------
    ValueError : for settings that the mechanism refuses, or an adjacency that is not its own
    """
    mechanism_of = getattr(sys.modules[function.__module__], "mechanism", None)
    if mechanism_of is None:
        return None, {"statement": f"none: rule {settings.rule} states no mechanism"}
    taken = inspect.signature(mechanism_of).parameters
    if settings.adjacency is None and "adjacency" in taken and taken["adjacency"].default is not None:
        return None, {"statement": "none: no epsilon is counted, because no adjacency is named"}
    if "sampling" in taken and batches.scheme == REJECTION:
        why = "no theorem here counts batches that are drawn again until they are large enough"
        return None, _refused(NoGuarantee("dpulr2024:thm1", why))
    parameters = inspect.signature(function).parameters.values()
    defaults = {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}
    known = {
        **defaults,
        **bound,
        "net": net,
        "adjacency": settings.adjacency,
        "sampling": batches.scheme,
        "sampling_rate": batches.rate,
    }
    try:
        mechanism = mechanism_of(**{name: value for name, value in known.items() if name in taken})
    except NoGuarantee as refusal:
        return None, _refused(refusal)
    except (TypeError, KeyError, AttributeError) as failure:
        raise ValueError(f"the mechanism of rule {settings.rule} fails: {failure}") from failure
    if settings.adjacency not in (None, mechanism.adjacency):
        raise ValueError(f"adjacency must be {mechanism.adjacency} for rule {settings.rule}, got {settings.adjacency}")
    why = "a run in secret randomness that has not been counted yet" if settings.secure else SEEDED
    return mechanism, {"statement": f"none: {why}", "mechanism": asdict(mechanism)}


def account(
    privacy: dict[str, Any],
    mechanism: Mechanism | None,
    settings: Settings,
    steps: int | list[int],
    steps_per_epoch: int,
) -> dict[str, Any]:
    """The privacy part of the record of a run that has done its steps: with a delta named, the guarantee too.

    Parameters
    ----------
    privacy, mechanism : from `describe`
    settings : Settings
    steps : int >= 1, steps done; of a secure run those of each sitting, for a sitting shuffles afresh, and counts the
        steps that it repeats because they were lost
    steps_per_epoch : int, of the batches
    """
    sittings = [steps] if isinstance(steps, int) else steps
    if mechanism is None:
        return privacy
    if settings.delta is None:
        return privacy | {"statement": f"{privacy['statement']}; no epsilon is counted, because no delta is named"}
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", OrderAtGridEnd)
            found = epsilon(
                [(mechanism, count) for count in sittings],
                delta=settings.delta,
                steps_per_epoch=steps_per_epoch if mechanism.sampling == "epoch-partition" else None,
            )
    except NoGuarantee as refusal:
        return privacy | _refused(refusal)
    guarantee = {name: getattr(found, name) for name in COUNTED}
    guarantee["epsilon"] = found.epsilon if math.isfinite(found.epsilon) else "inf"
    if settings.secure:
        return _counted(privacy, settings, guarantee, found.epsilon, caught)
    words = (
        f"none: {SEEDED}; with secret randomness the weights of all steps would be ({up(found.epsilon, 4)},"
        f" {found.delta:g})-differentially private under {found.adjacency}, not so the training loss in this record"
    )
    if settings.pixels == "standard" and found.adjacency != "replace-label":
        words += "; the mean and the deviation of the training pixels are taken as public"
    words += "".join(f"; {warning.message!s}" for warning in caught if warning.category is OrderAtGridEnd)
    return privacy | {"statement": words, "guarantee": guarantee}


def warranted(privacy: dict[str, Any], settings: Settings) -> bool:
    """Whether a record may say that its run is private: generator, batches and mechanism all warrant it."""
    guarantee = privacy.get("guarantee")
    return bool(settings.secure and guarantee and guarantee["epsilon"] != "inf" and not shown(settings, guarantee))


def shown(settings: Settings, guarantee: dict[str, Any]) -> list[str]:
    """What a run or its record gives away of the training examples beside the steps that are counted."""
    found = []
    if settings.pixels == "standard" and guarantee["adjacency"] != "replace-label":
        found.append("the mean and the deviation of the training pixels enter without noise: take pixels unit or as-is")
    if settings.validation:
        found.append("the validation accuracy shows held-out examples, which train nothing: leave out validation")
    if settings.align_every is not None:
        found.append("the alignment compares with gradients without noise: leave out align_every")
    return found


def _counted(privacy, settings: Settings, guarantee: dict[str, Any], epsilon: float, caught) -> dict[str, Any]:
    """The statement of a secure run."""
    words = (
        f"the weights of all steps are ({up(epsilon, 4)}, {settings.delta:g})-differentially private under"
        f" {guarantee['adjacency']}, with keys from the operating system that were kept nowhere, {FLOATS}; the number"
        " of training examples is taken as public"
    )
    if epsilon == math.inf:
        words = "none: no finite epsilon is proved"
    elif leaks := shown(settings, guarantee):
        words = f"none: {'; '.join(leaks)}"
    words += "".join(f"; {warning.message!s}" for warning in caught if warning.category is OrderAtGridEnd)
    return privacy | {"statement": words, "guarantee": guarantee}


def _refused(refusal: NoGuarantee) -> dict[str, Any]:
    return {"statement": f"none: {refusal.why} ({refusal.id})", "id": refusal.id}
