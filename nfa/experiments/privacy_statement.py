"""The part of a run's record about privacy: the mechanism of a step, and the guarantee of all steps."""

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, NoReturn, Self

from nfa.experiments.public import standardises
from nfa.experiments.secure_sums import gaussian, unit_of, with_its_grid
from nfa.experiments.settings import Settings
from nfa.experiments.steps_spent import Spent, check, recorded
from nfa.mechanism import NUMBER_DIFFERS, Mechanism, NoGuarantee, Release, refuse_uncounted
from nfa.network import AvgPool, Conv2d, Dense, MaxPool, Net, ops
from nfa.network.own import from_outside
from nfa.privacy import theorems
from nfa.privacy.accountant import PLD, RDP, Guarantee, Unresolved, caution, epsilon, in_fresh_epochs
from nfa.privacy.noise_asked import noise_report, setting_of_multiplier, setting_of_target
from nfa.privacy.rdp import CONVERSIONS, OrderAtGridEnd
from nfa.privacy.rounding import up
from nfa.rules.spec import RuleSpec
from nfa.sampling import SAMPLERS
from nfa.sensitivity.rounding import Rounding

# The reason why a seeded run is not private, and the limits of its guarantee.
SEEDED = "this seeded run is not private, because its record has the seed and anyone can subtract the noise"
IF_SECURE = (
    "Anyone who reads the seed in this record can subtract the noise. A secure run also counts the rounding of floats,"
    " which can raise epsilon a little. The guarantee is for the weights of all steps, not for the training loss and"
    " accuracy in this record."
)
# Sentences about floats in a secure run, for a rule of nfa and for a rule from outside nfa. nfa does not check the sums
# of a rule from outside.
FLOATS = "Epsilon counts the exact law of the noise, its grid and the rounding of the sums."
GRID = "Epsilon counts the exact law of the noise and its grid, but not the rounding of the sums."
SECURE = "Batches and noise come from keys of the operating system, and the run kept none of these keys."
SIDE_CHANNELS = "Epsilon does not count what the time of a step or the memory of the process reveals."
DIGEST = "Anyone who has the key to the digest of the data can test a guess of the data."
# The next sentences report facts that the computation of epsilon takes as public, and settings that do not change
# epsilon. Every record with an epsilon has the sentence about overflows, whether an overflow occurred or not. Otherwise
# the sentence would reveal a fact about the training records.
PIXELS_PUBLIC = "We take the mean and the standard deviation of the training pixels as public."
DRAW_PUBLIC = "We take as public which examples are drawn for training."
HELD_PUBLIC = "We take as public which examples are held out."
OVERFLOWS = "A record whose values overflow counts as 0."
FEATURES_ALONE = "The features of a record follow from this record and public draws alone, so they change no epsilon."
AVERAGED = "The weights of the last steps are averaged. This is post-processing, so it changes no epsilon."
UNREPORTED = "The run does not report whether there was such a record."


# A method to compute epsilon: (accountant, conversion). (None, None) means the smallest proved epsilon.
Way = tuple[str | None, str | None]
SMALLEST, BY_RENYI = (None, None), (RDP, None)
WAYS: tuple[Way, ...] = (SMALLEST, BY_RENYI, (PLD, None), *((RDP, name) for name in CONVERSIONS))


@dataclass(frozen=True, kw_only=True)
class Statement:
    """The facts about a run's privacy before its first step, and the sentences of the record about all steps.

    Parameters
    ----------
    known : the privacy part of the record, as far as it is known before the first step
    mechanism : mechanism of one step; None if the rule states no mechanism or its mechanism is refused
    stated_by : name of the rule that states the mechanism, if the rule or the network is from outside nfa. nfa has not
        checked such a mechanism. None if rule and network belong to nfa
    premise : the assumption about the parts from outside under which epsilon holds, in words
    delta : number in (0, 1) at which epsilon is computed; None if no epsilon is computed
    accountant, conversion : as in `nfa.privacy.accountant.epsilon`; None for the smallest proved epsilon
    steps_per_epoch : int >= 1
    secure : whether batches and noise are drawn with a key from the operating system
    unit : unit of the grid of a secure run's noise, see `nfa.rounded`; None for a seeded run
    public : sentences that name the facts that the computation of epsilon takes as public
    same : sentences about settings that do not change epsilon
    records : int >= 1, the public number of training records; None if it is not known
    asked, noise : the settings that ask for noise, and the resulting {setting: value} of the rule, see
        `nfa.privacy.noise_asked.noise_report`. Both are empty if the noise was given directly
    """

    known: dict[str, Any]
    mechanism: Release | None = None
    stated_by: str | None
    premise: str = ""
    delta: float | None
    accountant: str | None = None
    conversion: str | None = None
    steps_per_epoch: int
    secure: bool
    unit: float | None = None
    public: str = ""
    same: str = ""
    records: int | None = None
    asked: dict[str, Any] = field(default_factory=dict)
    noise: dict[str, float] = field(default_factory=dict)
    _known: dict[tuple[int, ...], tuple[Guarantee, list[str]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def account(self, sessions: Sequence[Spent]) -> dict[str, Any]:
        """The privacy part of a finished run's record. If the run has a delta, the part includes the guarantee.

        Parameters
        ----------
        sessions : the first step and the number of steps of each session. A seeded run counts as one session. A session
            of a secure run shuffles again and repeats lost steps, see `nfa.experiments.steps_spent`
        """
        said = self.counted(sessions)
        if not self.asked or self.mechanism is None:
            return said
        place = said if self.stated_by is None else said["unchecked"]
        multiplier = self.mechanism.noise_multiplier if isinstance(self.mechanism, Mechanism) else None
        got = noise_report(self.asked, self.noise, multiplier, place.get("guarantee"))
        return said | ({"noise": got} if self.stated_by is None else {"unchecked": place | {"noise": got}})

    def by_renyi(self) -> Self:
        """The statement with the epsilon from Renyi divergences, which take a tenth of the time of privacy losses."""
        return replace(self, accountant=RDP)

    def counted(self, sessions: Sequence[Spent]) -> dict[str, Any]:
        """The privacy part without the entry about requested noise."""
        if self.mechanism is None:
            return self.known
        if self.delta is None:
            words = f"{self.known['statement']}. No epsilon is counted, because no delta is named."
            return self.known | {"statement": words}
        try:
            found, warned = self._found(sessions)
        except NoGuarantee as refusal:
            return self.known | _refused(refusal)
        except Unresolved as unresolved:
            return self.known | {"statement": f"none: {unresolved}"}
        guarantee = {name: "inf" if value == math.inf else value for name, value in found.summary().items()}
        words = self._words(found) + "".join(f" {_as_sentence(warning)}" for warning in warned)
        if self.stated_by is not None:
            return self.known | {"statement": words, "unchecked": self.known["unchecked"] | {"guarantee": guarantee}}
        return self.known | {"statement": words, "guarantee": guarantee}

    def _found(self, sessions: Sequence[Spent]) -> tuple[Guarantee, list[str]]:
        """The guarantee and its warnings. The result is cached, because privacy losses take half a second."""
        assert self.mechanism is not None
        assert self.delta is not None
        shuffled = SAMPLERS[self.mechanism.sampling].once_an_epoch
        parts = in_fresh_epochs(sessions, self.steps_per_epoch) if shuffled else [steps for _, steps in sessions]
        if tuple(parts) not in self._known:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", OrderAtGridEnd)
                found = epsilon(
                    [(self.mechanism, steps) for steps in parts],
                    delta=self.delta,
                    accountant=self.accountant,
                    conversion=self.conversion,
                    steps_per_epoch=self.steps_per_epoch if shuffled else None,
                )
            warned = [str(warning.message) for warning in caught if warning.category is OrderAtGridEnd]
            self._known[tuple(parts)] = found, warned
        return self._known[tuple(parts)]

    def check_record(self, record: dict[str, Any], steps: int) -> None:
        """Raise ValueError if the privacy part of a finished secure run does not follow from the steps of the run.

        Parameters
        ----------
        record : record of the run
        steps : int >= 1, number of steps of the whole run
        """
        told = record["privacy"]
        try:
            sessions = recorded(told)
            check(sessions, steps)
        except ValueError as wrong:
            raise ValueError(f"the steps in the record differ from the steps of the run: {wrong}") from None
        told_of = {"sessions": told["sessions"]}
        counted = next((how for how in self._counts() if told == how.account(sessions) | told_of), None)
        if counted is None or record["private"] != self.warrants(told) or record["steps"] != steps:
            raise ValueError(
                "the privacy statement does not follow from the sessions in the record: the record was edited, or"
                " another version of nfa wrote it"
            )
        kept = self.way == SMALLEST and counted.way == BY_RENYI  # earlier versions of nfa used Renyi divergences
        if counted.way != self.way and not kept:
            self._refuse_count(counted.way)

    def _counts(self) -> Iterator[Self]:
        """This statement, and then its copies with every other method to compute epsilon."""
        yield self
        for accountant, conversion in WAYS:
            if (accountant, conversion) != self.way:
                yield replace(self, accountant=accountant, conversion=conversion)

    @property
    def way(self) -> Way:
        """The accountant and the conversion. A conversion implies the accountant of Renyi divergences."""
        return (RDP if self.conversion else self.accountant), self.conversion

    def refuse_other_count(self, told: dict[str, Any]) -> None:
        """Raise ValueError if the accountant or conversion of a finished seeded run differs from the settings.

        If the settings name no accountant and no conversion, the record keeps its epsilon.

        Parameters
        ----------
        told : privacy part of the record
        """
        guarantee = told.get("guarantee", told.get("unchecked", {}).get("guarantee", {}))
        if self.way == SMALLEST or "conversion" not in guarantee:
            return
        (accountant, conversion), found = self.way, guarantee["conversion"]
        if accountant == RDP and found == PLD:
            self._refuse_count(SMALLEST)
        elif found in CONVERSIONS and (accountant == PLD or conversion not in (None, found)):
            self._refuse_count((RDP, found))
        elif accountant == PLD and found != PLD:
            self._refuse_count(BY_RENYI)

    def _refuse_count(self, recorded: Way) -> NoReturn:
        """Raise ValueError, because the record's epsilon was computed by a method that differs from the settings."""
        theirs, ours = (_way_in_words(way) for way in (recorded, self.way))
        again = f"give {_options(recorded)}" if recorded != SMALLEST else f"leave out {_options(self.way)}"
        again += f" instead of {_options(self.way)}" if SMALLEST not in (recorded, self.way) else ""
        raise ValueError(
            f"the epsilon of the record was computed {theirs}, but this command would compute epsilon {ours}:"
            f" {again}, or choose another folder"
        )

    def warrants(self, privacy: dict[str, Any]) -> bool:
        """Whether a record with this privacy part may report its run as private.

        The run must be secure, and its epsilon must be proved and finite. The result is False for a rule or a network
        from outside, and for a delta of at least 1/n.
        """
        guarantee = privacy.get("guarantee")
        proved = bool(guarantee and guarantee["epsilon"] != "inf") and self.stated_by is None
        return self.secure and proved and not self.large_delta

    @property
    def large_delta(self) -> str:
        """The sentences of `nfa.privacy.accountant.caution` for this delta, without their first word."""
        if self.delta is None or self.records is None:
            return ""
        return caution(self.delta, self.records).removeprefix("Caution: ")

    def _words(self, found: Guarantee) -> str:
        """The sentences of the record about the guarantee: first the state of this run, then the conditions."""
        if found.epsilon == math.inf:
            return f"none: no finite epsilon is proved{'' if self.secure else f'; {SEEDED}'}."
        if self.secure and self.large_delta:
            return f"none: {self.large_delta}"
        dp = f"({up(found.epsilon, 4)}, {found.delta:g})-DP under {found.adjacency}"
        if self.stated_by is not None:
            run = "the weights of all steps are" if self.secure else "a run with --secure would be"
            state = "none that nfa has checked" + ("" if self.secure else "; this seeded run is not private")
            parts = [f"{state}. If {self.premise}, {run} {dp}."]
        elif self.secure:
            parts = [f"{dp}: this secure run is private. The guarantee is for the weights of all steps."]
        else:
            # only a seeded run may use facts about the data that are not declared as public
            when = (
                "if its noise were secret and the facts named below were public"
                if self.public
                else "if run with --secure"
            )
            parts = [f"{dp} {when}; this seeded run is not private."]
        if self.records is not None:
            parts.append(caution(found.delta, self.records))
        if self.secure:
            public = "The classes and the number of records are public, as declared."
            if found.adjacency not in NUMBER_DIFFERS:
                public = (
                    "The classes are public, as declared. The number of records is public too, because neighbours"
                    " share it."
                )
            parts += [SECURE, GRID if self.stated_by else FLOATS, SIDE_CHANNELS, public, DIGEST]
        else:
            parts.append(IF_SECURE)
        if self.stated_by is None:
            parts += [OVERFLOWS, UNREPORTED if self.secure else ""]
        return " ".join(part for part in [*parts, self.public, self.same] if part)


def _way_in_words(way: Way) -> str:
    accountant, conversion = way
    if conversion:
        return f"by the conversion {conversion}"
    return f"by the accountant {accountant}" if accountant else "by the smallest bound that is proved"


def _options(way: Way) -> str:
    accountant, conversion = way
    return f"--conversion {conversion}" if conversion else f"--accountant {accountant}"


def describe(
    rule: RuleSpec,
    settings: Settings,
    bound: dict[str, Any],
    net: Net,
    batches,
    counted: Rounding | None = None,
    records: int | None = None,
) -> Statement:
    """Return the release of one step of a rule, and the privacy part of the record.

    This part contains only facts that are known before the first step.

    Parameters
    ----------
    rule : rule of the run
    settings : Settings. If they name no adjacency, the mechanism of the rule is computed only if it needs no adjacency
    bound : settings of the rule that the run has bound
    net, batches : network and batches of the run
    counted : effect of rounding on the sensitivity in a secure run; None for a seeded run, which uses the sensitivity
        in real numbers
    records : int >= 1, the public number of training records; None if it is not known

    Raises
    ------
    ValueError : for settings that the mechanism refuses, for an adjacency that the mechanism does not have, or for a
        rule of nfa that was replaced in this process. For a secure run, also if the record would reveal facts about the
        examples beyond the released steps, or if the noise is not Gaussian

    Notes
    -----
    If a rule from outside states a mechanism, the record reports this mechanism under the rule's name, and not as a
    guarantee. The record has the same form for any rule on a network from outside, because the first weights of such a
    network may depend on the data.
    """
    real, known = _first_words(rule, settings, bound, net, batches)
    unit = None if counted is None else unit_of(rule, bound, net, real, counted)
    mechanism = real
    if counted is not None and real is not None and unit is not None:
        mechanism = counted.on_grid(gaussian(rule, real), unit)
    premises = _premises(settings)
    if mechanism is not None and premises:
        network = {"network": settings.architecture} if from_outside(settings.architecture) else {}
        known |= {"unchecked": {"stated_by": rule.name, **network, "mechanism": _in_record(mechanism)}}
    elif mechanism is not None:
        known |= {"mechanism": _in_record(mechanism)}
    adjacency = settings.adjacency if mechanism is None else mechanism.adjacency
    number_differs = mechanism is not None and mechanism.adjacency in NUMBER_DIFFERS
    shown, public = [], []
    if standardises(settings, adjacency):
        shown.append(
            "the mean and the deviation of the training pixels enter without noise (set pixels to unit or as-is)"
        )
        public.append(PIXELS_PUBLIC)
    if settings.validation:
        shown.append(
            "the accuracy on held-out examples depends on these examples (leave out validation; `nfa train --test"
            " FILE` takes a public test set)"
        )
        # The seed and the number of records determine the positions of the held-out examples. With one more record, the
        # positions change.
        if number_differs:
            public.append(HELD_PUBLIC)
    if settings.train_examples and number_differs:
        shown.append("one more record changes which examples are drawn for training (leave out train_examples)")
        public.append(DRAW_PUBLIC)
    if settings.align_every is not None:
        shown.append("the alignment is computed from gradients without noise (leave out align_every)")
    if settings.secure and shown:
        raise ValueError(
            f"a secure run must reveal only its noisy steps, but this run reveals more: {'; '.join(shown)}"
        )
    return Statement(
        known=known if unit is None else known | {"unit": unit},
        mechanism=mechanism,
        stated_by=settings.rule if premises else None,
        premise=" and ".join(f"{what} {claim}" for what, claim in premises),
        delta=settings.delta,
        accountant=settings.accountant,
        conversion=settings.conversion,
        steps_per_epoch=batches.steps_per_epoch,
        secure=bool(settings.secure),
        unit=unit,
        public=" ".join(public),
        same=" ".join(_changing_no_epsilon(settings)),
        records=records,
    )


def _changing_no_epsilon(settings: Settings) -> list[str]:
    """The record's sentences about settings that change the network but not epsilon."""
    said = {FEATURES_ALONE: settings.features, AVERAGED: settings.average}
    return [sentence for sentence, value in said.items() if value is not None]


def _first_words(
    rule: RuleSpec, settings: Settings, bound: dict[str, Any], net: Net, batches
) -> tuple[Release | None, dict[str, Any]]:
    """Return a step's mechanism in real numbers (or None), and the privacy part of the record before the first step."""
    if rule.mechanism is None:
        return None, {"statement": f"none: rule {rule.name} states no mechanism"}
    if settings.adjacency is None and rule.needs_adjacency:
        return None, {"statement": "none: no epsilon is counted, because no adjacency is named"}
    try:
        mechanism = stated_mechanism(rule, settings, bound, net, batches)
    except NoGuarantee as refusal:
        return None, _refused(refusal)
    if not rule.from_outside and (part := _part_from_outside(net)):
        return None, {"statement": f"none: the network has {part}, which is not part of nfa, so nfa has not checked it"}
    why = "this secure run has not been counted yet" if settings.secure else SEEDED
    if premises := _premises(settings):
        unchecked = f"{' and '.join(what for what, _ in premises)} {'are' if premises[1:] else 'is'} unchecked"
        return mechanism, {"statement": f"none: {unchecked}, and {why}"}
    return mechanism, {"statement": f"none: {why}"}


def _as_sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:].rstrip('.')}."


def stated_mechanism(rule: RuleSpec, settings: Settings, bound: dict[str, Any], net: Net, batches) -> Release:
    """The release of one step in real numbers, with the arguments of `describe`.

    Raises NoGuarantee if nothing is proved. Raises ValueError as `describe` does, or if the rule states no mechanism.
    """
    if "sampling" in rule.mechanism_defaults:
        refuse_uncounted(batches.scheme)
    known = bound | {"net": net, "sampling": batches.scheme, "sampling_rate": batches.rate}
    return rule.release(settings.adjacency, known)


def _premises(settings: Settings) -> list[tuple[str, str]]:
    """The parts of a run that are from outside, and for each part the assumption under which epsilon holds."""
    rule, net = settings.rule, settings.architecture
    found = []
    if from_outside(rule):
        found.append((f"the mechanism that {rule} states", "is correct"))
    if from_outside(net):
        found.append((f"network {net}", "uses only rng and nfa's own parts"))
    return found


def _part_from_outside(net: Net) -> str | None:
    """A part of a network that is not from nfa; None if all parts are from nfa.

    A guarantee depends on the derivatives and norms of each part. nfa has not checked the derivatives and norms of a
    part from outside.
    """
    for l in range(1, net.L + 1):
        for part in (net.map[l], net.pool[l]):
            if type(part) not in (Dense, Conv2d, MaxPool, AvgPool, type(None)):
                return f"a layer {type(part).__name__}"
        phis = (ops.tanh, ops.sigmoid, ops.relu, ops.gelu, ops.identity, ops.step, None)
        if not any(net.phi[l] is phi for phi in phis):
            return f"an activation {net.phi[l].name!r}"
    if not any(net.loss is loss for loss in (ops.softmax_cross_entropy, ops.squared_error, ops.logistic)):
        return f"a loss {net.loss.name!r}"
    return None if type(net) is Net else f"a class {type(net).__name__}"


def _in_record(mechanism: Release) -> dict[str, Any]:
    """A mechanism as JSON values for a record. For a Renyi curve, the values are the numbers that define it."""
    return {name: "inf" if value == math.inf else value for name, value in asdict(mechanism).items()}


def _refused(refusal: NoGuarantee) -> dict[str, Any]:
    return {"statement": f"none: {refusal.why} ({refusal.id})", "id": refusal.id}


# --- requested noise


ASKING = ("target_epsilon", "noise_multiplier")


def asked(settings: Settings) -> dict[str, float]:
    """Return the requested noise in a run's settings: a target epsilon with its delta, or a noise multiplier.

    The result is empty if the settings request no noise.

    Raises ValueError if the settings name a target epsilon and a noise multiplier, or if a necessary setting is
    missing.
    """
    asking = {name: value for name in ASKING if (value := getattr(settings, name)) is not None}
    if len(asking) > 1:
        raise ValueError("target_epsilon and noise_multiplier exclude each other: leave out one of the two")
    needed = ["adjacency", "delta"] if "target_epsilon" in asking else ["adjacency"] if asking else []
    if missing := [name for name in needed if getattr(settings, name) is None]:
        raise ValueError(f"with {' and '.join(asking)}, give {' and '.join(missing)} too")
    return asking | ({"delta": settings.delta} if settings.delta is not None and "target_epsilon" in asking else {})


def with_some_noise(rule: RuleSpec, settings: Settings) -> Settings:
    """A copy of the settings with the rule's noise setting 1, if they request noise; otherwise the settings unchanged.

    Raises ValueError as `asked`, or if the noise setting of the rule is also given.
    """
    asking = asked(settings)
    if not asking:
        return settings
    if rule.noise in settings.rule_settings:
        asks = next(iter(asking))
        raise ValueError(
            f"{asks} and the setting {rule.noise} exclude each other: leave out one of the two, because both"
            " settings determine the noise"
        )
    return _with_noise(settings, {rule.noise: 1.0} if rule.setting(rule.noise) else {})


def _with_noise(settings: Settings, noise: dict[str, float]) -> Settings:
    own = settings.rule_settings | noise
    return replace(settings, target_epsilon=None, noise_multiplier=None, rule_settings=own)


def resolve_noise(
    rule: RuleSpec,
    settings: Settings,
    bound: dict[str, Any],
    net: Net,
    batches,
    counted: Rounding | None = None,
    records: int | None = None,
) -> tuple[Settings, Statement]:
    """Return the settings with the requested noise as a setting of the rule, and the statement about privacy.

    Parameters
    ----------
    rule : rule of the run
    settings : settings before `with_some_noise`
    bound, net, batches, counted, records : as for `describe`. If noise is requested, bound contains a preliminary
        noise, and this function replaces it by the resulting noise

    Raises
    ------
    NoGuarantee : if noise is requested, and no theorem covers the rule or its batches under this adjacency
    ValueError : as `describe`; if the rule does not name a setting to which its noise is proportional; if epsilon
        exceeds the target for every noise; or if a noise multiplier is requested, but the mechanism is given by its
        Renyi curve only
    """
    asking = asked(settings)
    if not asking:
        return settings, describe(rule, settings, bound, net, batches, counted, records)
    name, steps = rule.noise, settings.epochs * batches.steps_per_epoch

    def stating(noise: float) -> Release:
        return stated_mechanism(rule, settings, bound | {name: noise}, net, batches)

    one = stating(1.0)
    theorems.smallest(one)  # this call raises NoGuarantee if no theorem covers the release
    if name not in bound:
        raise ValueError(
            f"NOISE in the module of rule {settings.rule} must name the setting to which the noise is proportional, but"
            f" the rule has no setting {name}"
        )
    if "noise_multiplier" in asking:
        solve = partial(setting_of_multiplier, noise_multiplier=asking["noise_multiplier"])
    else:
        shuffled = SAMPLERS[one.sampling].once_an_epoch
        per_epoch = batches.steps_per_epoch if shuffled else None
        asked_for: dict[str, Any] = asking | {
            "steps": steps,
            "accountant": settings.accountant,
            "conversion": settings.conversion,
            "steps_per_epoch": per_epoch,
        }
        solve = partial(setting_of_target, **asked_for)
        asking["steps"] = steps
    bound[name] = with_its_grid(solve, stating, counted)
    noise = {name: bound[name]}
    settings = _with_noise(settings, noise)
    statement = describe(rule, settings, bound, net, batches, counted, records)
    if statement.mechanism is None:
        raise ValueError(f"{next(iter(asking))} needs a guarantee, but there is {statement.known['statement']}")
    return settings, replace(statement, asked=asking, noise=noise)
