"""The privacy that the settings of a run request, and the refusal of a run that would not have this privacy."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nfa.experiments.settings import Settings
from nfa.experiments.wording import OPTIONS, Wording

if TYPE_CHECKING:
    from nfa.experiments.prepare import Prepared
    from nfa.experiments.privacy_statement import Statement
    from nfa.mechanism import Release

OTHERS = "`nfa rules` lists the rules that have a guarantee"


def wanted(settings: Settings, words: Wording = OPTIONS) -> str:
    """The first words of a refusal, which name the privacy that a run requests and would not have.

    The result can be "".

    A noise multiplier always needs an adjacency. So an adjacency together with a noise multiplier is not a request for
    an epsilon.
    """
    if settings.secure:
        return f"{words.setting('secure')} would not make this run private"
    named = [name for name in ("adjacency", "delta") if getattr(settings, name) is not None]
    if not named or (settings.noise_multiplier is not None and named == ["adjacency"]):
        return ""
    return f"{' and '.join(map(words.setting, named))} would give no epsilon"


def refuse_what_lacks_a_count(settings: Settings, words: Wording = OPTIONS) -> None:
    """Raise ValueError if the requested privacy needs a setting that is missing, or if two settings exclude each other.

    The message names all missing settings.

    Raises NoGuarantee if noise is requested and the rule has no guarantee with any settings, or if a secure run cannot
    use this rule.
    """
    from nfa.experiments.privacy_statement import ASKING
    from nfa.experiments.public import undeclared
    from nfa.mechanism import NoGuarantee
    from nfa.rules.spec import spec

    rule = spec(settings.rule)
    if settings.secure:
        try:
            rule.refuse_insecure()
        except NoGuarantee as refusal:
            raise NoGuarantee(refusal.id, f"{refusal.why}; {OTHERS}") from None
    asked = [name for name in ASKING if getattr(settings, name) is not None]
    asking = list(map(words.setting, asked))
    noise, head = rule.noise, wanted(settings, words)
    if asking[1:]:
        raise ValueError(f"{' and '.join(asking)} exclude each other: leave out one of the two")
    if asking and noise in settings.rule_settings:
        raise ValueError(
            f"{asking[0]} and {words.own(noise)} exclude each other: leave out one of the two, because both settings"
            " determine the noise"
        )
    if asking and rule.refusal:
        raise NoGuarantee(rule.refusal.id, f"{rule.refusal.why}; {OTHERS}")
    if not rule.states or not (asking or head):
        return  # the run itself reports the error
    missing = []
    if settings.adjacency is None and (asking or rule.needs_adjacency):
        missing.append(f"{words.setting('adjacency')} ({_adjacencies(settings.sampling, words)})")
    if settings.delta is None and (head or "target_epsilon" in asked):
        missing.append(f"{words.setting('delta')} (such as 1e-5)")
    if missing:
        needed = [one.name for one in rule.settings if one.needed and not (asking and one.name == noise)]
        missing += [words.own(name, "...") for name in needed if name not in settings.rule_settings]
        fit = _of(settings.adjacency) if settings.adjacency else [settings.sampling]
        if settings.sampling not in fit:
            missing.append(words.setting("sampling", _named(fit)))
        missing += (declarations := undeclared(settings, words))
        what = f"{asking[0]} needs" if asking else f"{head}: give"
        more = "" if asking or declarations else words.anyway
        raise ValueError(f"{what} {', '.join(missing)}{more}")


def refuse_what_has_no_guarantee(head: str, parts: "Prepared", words: Wording = OPTIONS) -> None:
    """Raise ValueError if an uninterrupted run would not have the privacy that it requests.

    The message recommends a change of the settings.

    nfa has not checked a rule or network from outside, but this alone is no reason for a refusal. The record of such a
    run reports the assumptions of the guarantee.
    """
    why = _not_counted(parts.privacy, parts.steps, words)
    if not why and parts.privacy.secure and (large := parts.privacy.large_delta):
        why = f"{large.removesuffix('.')}. Take a delta well below 1/{parts.privacy.records}"
    if why:
        raise ValueError(f"{head}: {why}{words.anyway}")


def _not_counted(privacy: "Statement", steps: int, words: Wording) -> str:
    """The reason why there is no epsilon, with advice; "" if there is an epsilon."""
    told = privacy.account([(1, steps)])
    said = told["statement"].removeprefix("none: ")
    if privacy.mechanism is None:
        return f"{said}; {OTHERS}"
    guarantee = told.get("guarantee") or told.get("unchecked", {}).get("guarantee")
    if guarantee is None:
        other = _covered(privacy.mechanism) if "id" in told else []
        instead = words.setting("sampling", _named(other))
        return f"{said.partition('. ')[0]}: take {instead} ({told['id']})" if other else said
    return "no finite epsilon is proved: use more noise" if guarantee["epsilon"] == "inf" else ""


def _covered(release: "Release") -> list[str]:
    """The sampling schemes that a theorem covers under the adjacency of a release."""
    from nfa.mechanism import Mechanism, NoGuarantee
    from nfa.privacy import theorems
    from nfa.sampling import ALL_RECORDS, SCHEMES

    found = []
    for scheme in SCHEMES if isinstance(release, Mechanism) else ():
        with suppress(NoGuarantee):
            rate = 1.0 if scheme in ALL_RECORDS else release.sampling_rate
            theorems.choose(replace(release, sampling=scheme, sampling_rate=rate))
            found.append(scheme)
    return found


def _named(schemes: Sequence[str]) -> str:
    """The sampling schemes in words. Batches of all examples are named only if there is no other scheme."""
    from nfa.sampling import ALL_RECORDS

    return " or ".join([scheme for scheme in schemes if scheme not in ALL_RECORDS] or schemes)


def _of(adjacency: str) -> list[str]:
    """The sampling schemes that a theorem covers for Gaussian noise under an adjacency."""
    from nfa.mechanism import Mechanism

    how: dict[str, Any] = {"law": "gaussian", "sensitivity": 1.0, "noise_std": 1.0, "sampling_rate": 1.0}
    return _covered(Mechanism(adjacency=adjacency, sampling="none", **how))


def _adjacencies(sampling: str, words: Wording) -> str:
    """The adjacencies that are possible with a sampling scheme, and the adjacencies that need another scheme."""
    from nfa.mechanism import ADJACENCIES

    every = {adjacency: _of(adjacency) for adjacency in ADJACENCIES}
    fit = [adjacency for adjacency, schemes in every.items() if sampling in schemes]
    first = {adjacency: _named(schemes).partition(" or ")[0] for adjacency, schemes in every.items()}
    other = [adjacency for adjacency in every if adjacency not in fit]
    found = fit + [f"{adjacency} with {words.setting('sampling', first[adjacency])}" for adjacency in other]
    return f"{', '.join(found[:-1])}, or {found[-1]}"
