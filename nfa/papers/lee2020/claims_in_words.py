"""The sentences of Lee & Kifer (2020) about Figures 2 to 4, tested on our runs.

The paper prints no accuracies for these figures, so we test its sentences instead of its numbers.

Runs with the same seed share initialisation, feedback and batches if their settings allow it. So `nfa.papers.paired`
compares the rules seed by seed.
"""

import statistics
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from nfa.experiments.experiment import Trained
from nfa.experiments.report import proved_epsilon
from nfa.mechanism import NoGuarantee
from nfa.papers.lee2020.run_scope import as_long, length, of_data, shortfalls
from nfa.papers.paired import BySeed, Difference, brief, by_seed, intervals, paired, unbroken
from nfa.rules import dp_dfa

_TOML = tomllib.loads(files("nfa.papers.lee2020").joinpath("numbers.toml").read_text(encoding="utf-8"))
LEAST, MOST = _TOML["figures"]["gain"]
CHANCE = 20  # percent; guessing one of ten classes gives 10
BY_CHANCE = 1  # points; a loss from the clips up to this size counts as chance if there is only one seed
LEVELS = (40, 50, 60, 70, 75, 80, 85)  # accuracies in percent, to count the epochs of DP-BP and DP-DFA
SOUND = _TOML["figures"]["reading"][0]["name"]
SAID = {
    "FC": f'"significant gains in accuracy (often by {LEAST}-{MOST}%)" of DP-DFA over DP-BP',
    "CNN": f'"significant gains in accuracy (often by {LEAST}-{MOST}%)" of DP-DFA over DP-BP, "with the hybrid approach'
    ' clearly outperforming both"',
}

Accuracies = Mapping[tuple[str, ...], BySeed]  # percent, by (rule, sigma, reading) and seed


def accuracies(runs: Trained) -> Accuracies:
    """The final test accuracies of the runs on one data set, in percent, by rule, sigma and reading."""
    return by_seed(runs, ("rule", "sigma", "reading"))


def gains(
    found: Accuracies, rule: str = "DP-DFA", reading: str = SOUND, against: str | None = None, over: str = "DP-BP"
) -> dict[str, Difference]:
    """Points by which a rule is more accurate than another rule at each sigma above 0.

    Source: [lee2020:claim-gain] [lee2020:claim-hybrid] [lee2020:claim-fc]

    Parameters
    ----------
    found : accuracies on one data set
    rule, reading : the rule and its reading
    against, over : reading and rule with which we compare; if against is None, we use `reading`

    Examples
    --------
    >>> found = {("DP-BP", "0.01", "sound"): {1: 70.0}, ("DP-DFA", "0.01", "sound"): {1: 65.5}}
    >>> print(gains(found)["0.01"])
    -4.50
    """
    sigmas = [sigma for name, sigma, read in found if (name, read) == (rule, reading) and sigma != "0"]
    return _differences(
        {s: (found[rule, s, reading], found.get((over, s, against or reading), {})) for s in sigmas}.items()
    )


def clip_losses(found: Accuracies) -> dict[tuple[str, str], Difference]:
    """Points lost by clipping alone: BP without privacy minus each rule and reading that was run at sigma = 0.

    Source: [lee2020:claim-clip-bias] [lee2020:claim-conv]

    Examples
    --------
    >>> lost = clip_losses({("BP", "non-private", "sound"): {1: 87.0}, ("DP-BP", "0", "sound"): {1: 85.5}})
    >>> print(lost["DP-BP", "sound"])
    +1.50
    """
    own = {(rule, reading): accuracy for (rule, sigma, reading), accuracy in found.items() if sigma == "0"}
    return _differences((place, (_plain(found, place[1]), accuracy)) for place, accuracy in own.items())


def cost_of_privacy(found: Accuracies, rule: str = "DP-BP") -> dict[str, Difference]:
    """Points by which a rule is less accurate than the network without privacy at each sigma above 0.

    Source: [lee2020:claim-gap]

    Examples
    --------
    >>> found = {("BP", "non-private", "sound"): {1: 87.0}, ("DP-BP", "0.01", "sound"): {1: 70.5}}
    >>> print(cost_of_privacy(found)["0.01"])
    +16.50
    """
    noisy = {s: acc for (name, s, reading), acc in found.items() if (name, reading) == (rule, SOUND) and s != "0"}
    return _differences((s, (_plain(found, SOUND), accuracy)) for s, accuracy in noisy.items())


def _plain(found: Accuracies, reading: str) -> BySeed:
    """The accuracies of BP without privacy, under this reading or, if it has no such runs, under the first reading."""
    return found.get(("BP", "non-private", reading), found.get(("BP", "non-private", SOUND), {}))


def _differences(pairs: Iterable) -> dict:
    """The differences of the pairs that have a seed in common."""
    every = {place: paired(*pair) for place, pair in pairs}
    return {place: difference for place, difference in every.items() if difference is not None}


def epochs_to_reach(history: Sequence[Mapping[str, float]], accuracy: float) -> int | None:
    """The first epoch with at least this test accuracy, a number from 0 to 1; None if the run has no such epoch.

    Source: [lee2020:claim-epochs] [lee2020:claim-scratch]

    Examples
    --------
    >>> epochs_to_reach([{"epoch": 1, "test_accuracy": 0.4}, {"epoch": 2, "test_accuracy": 0.7}], 0.5)
    2
    """
    return next((int(entry["epoch"]) for entry in history if entry["test_accuracy"] >= accuracy), None)


def notes(figure: str, runs: Trained) -> list[str]:
    """The claims of the text, and the results of these runs, as lines of Markdown.

    Source: [lee2020:claim-gain] [lee2020:claim-clip-bias] [lee2020:claim-hybrid] [lee2020:claim-gap]
    [lee2020:claim-epochs]

    Parameters
    ----------
    figure : "fig2", "fig3" or "fig4"
    """
    lines = ["## What the text says, and what these runs show", ""]
    for data, own in of_data(figure, runs).items():
        found = accuracies(own)
        printed = _points(gains(found, reading="printed", against=SOUND))
        told = [*_cost(found), *_gain(found, as_long(figure, own)), *_hybrid(found, as_long(figure, own))]
        told += [
            *_clip_bias(found),
            *(_epochs(own) if figure == "fig4" else []),
            *_printed_threshold(own, printed),
        ]
        every = [*cost_of_privacy(found).values(), *gains(found).values(), *clip_losses(found).values()]
        lines += [f"### {data}", "", *told, "", *([intervals(every)] if every else []), *_weight(figure, own), ""]
    return lines


def _weight(figure: str, runs: Trained) -> list[str]:
    """A paragraph on the conclusions that runs of this length on these images allow."""
    missing, open_ = (
        shortfalls(figure, runs),
        "initialisation, pixels, padding, how tau_h follows from equal sensitivity",
    )
    seeds = sorted({record["seed"] for _, record in runs})
    told = f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"
    if not missing:
        return [
            f"These runs are whole: images, batches, noise and all {_TOML[figure]['epochs']} epochs are the paper's,"
            f" {told}. So these runs test the claims under the readings below. The paper leaves some settings open"
            f" ({open_}). Other choices of these settings may explain a different result of the paper. We have not seen"
            " the curves of the paper."
        ]
    if as_long(figure, runs):
        return [
            f"These runs are as long as the paper's, {told}, on other images ({'; '.join(missing)}). They show how the"
            f" rules compare on these images under our readings of the settings that the paper leaves open ({open_})."
            " They cannot refute the results of the paper."
        ]
    return [
        f"These runs, {told}, are shorter or smaller than the paper's ({'; '.join(missing)}). We chose readings"
        f" of {open_}. The runs show what happens in this case, but cannot refute the results of the paper."
    ]


def _cost(found: Accuracies) -> list[str]:
    """The loss of accuracy of DP-BP from privacy, at every sigma above 0."""
    if not (lost := cost_of_privacy(found)):
        return []
    seen = sum(one.above(0) for one in lost.values())
    return [
        '- "A large gap between differentially private BP and the non-private network" (`lee2020:claim-gap`). Seen here'
        f" at {seen} of {len(lost)} noises. BP without privacy less DP-BP, in points: {_points(lost)}."
    ]


def _gain(found: Accuracies, whole: bool) -> list[str]:
    """The gain of DP-DFA over DP-BP at the same sensitivity, under every reading with both rules."""
    each = {reading: gains(found, reading=reading) for reading in dict.fromkeys(place[2] for place in found)}
    chance = _idle(found, "DP-DFA", gains(found), whole)
    each["DP-BP with DP-DFA's activations"] = gains(found, against="same-activations")
    every = [gain for differences in each.values() for gain in differences.values()]
    if not every:
        return []
    reached, ahead = sum(gain.mean >= LEAST for gain in every), sum(gain.mean > 0 for gain in every)
    verdict = "Seen here" if reached == len(every) else "Not seen here" if not reached else "Seen here in part"
    told = "; ".join(f"{_points(gain)} ({reading})" for reading, gain in each.items() if gain)
    sure = [gain for gain in every if gain.half is not None]
    beyond = (
        f" The interval is below {LEAST} in {sum(g.below(LEAST) for g in sure)} of {len(sure)} comparisons, and below 0"
        f" in {sum(g.below(0) for g in sure)}."
        if sure
        else ""
    )
    return [
        f'- "Significant gains in accuracy (often by {LEAST}-{MOST}%)" over DP-BP (`lee2020:claim-gain`). {verdict}.'
        f" At the same sensitivity, DP-DFA is more accurate in {ahead} of {len(every)} comparisons, and by {LEAST}"
        f" points or more in {reached}.{beyond} DP-DFA less DP-BP, in points: {told}.{chance}"
    ]


def _hybrid(found: Accuracies, whole: bool) -> list[str]:
    """The hybrid compared with DP-BP and DP-DFA, and the values of sigma at which the hybrid stays at chance."""
    over_bp, over_dfa = gains(found, rule="hybrid"), gains(found, rule="hybrid", over="DP-DFA")
    if not over_bp:
        return []
    both = [s for s in over_bp if over_bp[s].above(0) and (s not in over_dfa or over_dfa[s].above(0))]
    beside = f" Hybrid less DP-DFA, in points: {_points(over_dfa)}." if over_dfa else ""
    return [
        '- "The hybrid approach clearly outperforming both" (`lee2020:claim-hybrid`): here the hybrid is more accurate'
        f" than both other rules at {len(both)} of {len(over_bp)} noises. Hybrid less DP-BP, in points:"
        f" {_points(over_bp)}.{beside}{_idle(found, 'hybrid', over_bp, whole)}"
    ]


def _idle(found: Accuracies, rule: str, compared: Mapping[str, Difference], whole: bool) -> str:
    """A sentence on the values of sigma at which a rule stays at chance, and on the meaning of this result."""
    idle = [s for s in compared if statistics.fmean(found[rule, s, SOUND].values()) < CHANCE]
    says = (
        "all the steps of the paper are not enough for this rule here"
        if whole
        else "so few steps show nothing about this rule"
    )
    return f" At sigma {', '.join(idle)} {rule} stays below {CHANCE} %: {says}." if idle else ""


def _clip_bias(found: Accuracies) -> list[str]:
    lost = clip_losses(found)
    if ("DP-BP", SOUND) not in lost:
        return []
    told = ", ".join(f"{rule} {points} ({reading})" for (rule, reading), points in lost.items())
    own = lost["DP-BP", SOUND]
    verdict = "Seen here" if own.above(BY_CHANCE if own.half is None else 0) else "Not seen here"
    return [
        '- "This bias already causes a degradation in model accuracy (even without noise addition)"'
        f" (`lee2020:claim-clip-bias`). {verdict} for DP-BP. Points lost from BP without privacy by the clips alone:"
        f" {told}."
    ]


def _printed_threshold(runs: Trained, gains: str) -> list[str]:
    """Lines of Markdown about the runs of the reading "printed" with noise. Without such runs, there are no lines.

    Parameters
    ----------
    runs : the runs on one data set
    gains : the points by which these runs are more accurate than DP-BP, as text; may be empty
    """
    rows: dict[tuple[str, ...], Trained] = {}
    for cell, record in runs:
        rows.setdefault(tuple(cell.key[name] for name in ("rule", "sigma", "reading")), []).append((cell, record))
    proved = {place: proved_epsilon(own)["epsilon"] for place, own in rows.items()}
    told = []
    for (rule, sigma, reading), epsilon in proved.items():
        if (rule, reading) == ("DP-DFA", "printed") and sigma != "0":
            claimed = proved.get(("DP-BP", sigma, "sound"))
            told.append(f"sigma {sigma}: {epsilon} proved{f', {claimed} if the formula held' if claimed else ''}")
    if not told:
        return []
    return [
        f"- DP-DFA with tau_h from the printed sensitivity. nfa refuses this claim by name: {refusal()} The epsilon"
        " that the corrected sensitivity proves (a lower epsilon would hold if sigmoid layers cannot reach tau_h):",
        *(f"  - {one}." for one in told),
        *([f"  - DP-DFA less DP-BP, in points: {gains}."] if gains else []),
    ]


def refusal() -> str:
    """The reason why no mechanism uses the printed overall sensitivity, with the id of the statement."""
    given: Mapping[str, Any] = {"net": None, "B": [], "m": 1, "sigma": 1.0, "tau_h": 1.0, "adjacency": "replace-one"}
    try:
        dp_dfa.mechanism(**given, sensitivity="printed", sampling="none", sampling_rate=1.0)
    except NoGuarantee as refused:
        return f"{refused.why} (`{refused.id}`)."
    raise AssertionError("nfa must refuse the printed sensitivity for every network")


def _epochs(runs: Trained) -> list[str]:
    """The epochs that DP-BP and DP-DFA need for the same accuracy, on the mean curves of their common seeds."""
    curves: dict[tuple[str, str], dict[int, list[dict[str, float]]]] = {}
    for cell, record in runs:
        if cell.key["reading"] == SOUND and cell.key["sigma"] not in ("0", "non-private"):
            curves.setdefault((cell.key["rule"], cell.key["sigma"]), {})[record["seed"]] = record["history"]
    told, first = [], []
    for sigma in dict.fromkeys(sigma for _, sigma in curves):
        both = [curves.get((rule, sigma), {}) for rule in ("DP-BP", "DP-DFA")]
        if not (seeds := both[0].keys() & both[1].keys()):
            continue
        means = [_mean_history([own[seed] for seed in sorted(seeds)]) for own in both]
        needed = {level: [epochs_to_reach(mean, level / 100) for mean in means] for level in LEVELS}
        if not (needed := {level: pair for level, pair in needed.items() if any(pair)}):
            continue
        first += [pair[1] is not None and (pair[0] is None or pair[1] < pair[0]) for pair in needed.values()]
        each = ", ".join(f"{level} % after {a or 'none'} and {b or 'none'}" for level, (a, b) in needed.items())
        told.append(f"sigma {sigma}: {each}")
    if not told:
        return []
    return [
        '- "DP DFA achieving good accuracy with fewer epochs than DP BP" (`lee2020:claim-epochs`). Here DP-DFA is the'
        f" first at {sum(first)} of {len(first)} levels. Epochs after which DP-BP and DP-DFA reach each mean test"
        " accuracy, or none if no run reaches this accuracy:",
        *(f"  - {one}." for one in told),
    ]


def _mean_history(histories: Sequence[Sequence[Mapping[str, float]]]) -> list[dict[str, float]]:
    """The mean test accuracy at each epoch that all histories have."""
    return [
        {"epoch": entries[0]["epoch"], "test_accuracy": statistics.fmean(entry["test_accuracy"] for entry in entries)}
        for entries in zip(*histories, strict=False)
    ]


def caption(figure: str, runs: Trained) -> list[str]:
    """The text below the picture: the paper's claim, and one sentence for each result of these runs."""
    lines = [f"The paper: {SAID[_TOML[figure]['net']]}."]
    for data, own in of_data(figure, runs).items():
        found = accuracies(own)
        told = []
        for rule in ("DP-DFA", "hybrid"):
            ahead = [f"{gain.short} at {unbroken(f'σ = {s}')}" for s, gain in gains(found, rule=rule).items()]
            told += [f"{rule[0].upper()}{rule[1:]} less DP-BP, in points: {', '.join(ahead)}."] if ahead else []
        lines.append(f"Here, {data}, {length(figure, own)}.")
        lines += told or ["There is no other private rule to compare with DP-BP."]
    return brief(*lines)


def _points(differences: Mapping[str, Difference]) -> str:
    return ", ".join(f"{points} at sigma {sigma}" for sigma, points in differences.items())
