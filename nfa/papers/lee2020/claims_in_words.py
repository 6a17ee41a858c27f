"""What Lee & Kifer (2020) say in words of Figures 2 to 4, held against rows of accuracies; no accuracy is printed."""

import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from nfa.mechanism import NoGuarantee
from nfa.rules import dp_dfa

_TOML = tomllib.loads(files("nfa.papers.lee2020").joinpath("numbers.toml").read_text(encoding="utf-8"))
LEAST, MOST = _TOML["figures"]["gain"]
CHANCE = 20  # percent; ten classes by chance give 10
SOUND = _TOML["figures"]["reading"][0]["name"]

Rows = list[dict[str, Any]]


def gains(rows: Rows, rule: str = "DP-DFA", reading: str = SOUND, against: str | None = None) -> dict[str, float]:
    """Points by which a rule is ahead of DP-BP at each sigma, both as the reading has them, clips alone left out.

    Source: [lee2020:claim-gain] [lee2020:claim-hybrid] [lee2020:claim-fc]

    Parameters
    ----------
    rows : of one data set, with rule, sigma, reading and ours
    rule, reading : whose gain
    against : reading of DP-BP; that of the rule if not given

    Examples
    --------
    >>> row = {"sigma": "0.01", "reading": "sound"}
    >>> gains([row | {"rule": "DP-BP", "ours": 70.0}, row | {"rule": "DP-DFA", "ours": 65.5}])
    {'0.01': -4.5}
    """
    other = _accuracies(rows, "DP-BP", against or reading)
    own = _accuracies(rows, rule, reading)
    return {s: round(own[s] - other[s], 2) for s in own if s in other and s != "0"}


def clip_losses(rows: Rows) -> dict[tuple[str, str], float]:
    """Points lost by clipping alone, sigma = 0: BP without privacy less each rule and reading that was run so.

    Source: [lee2020:claim-clip-bias] [lee2020:claim-conv]

    Examples
    --------
    >>> plain = {"rule": "BP", "sigma": "non-private", "reading": "sound", "ours": 87.0}
    >>> clip_losses([plain, {"rule": "DP-BP", "sigma": "0", "reading": "sound", "ours": 85.5}])
    {('DP-BP', 'sound'): 1.5}
    """
    plain = {row["reading"]: row["ours"] for row in rows if row["sigma"] == "non-private"}
    return {
        (row["rule"], row["reading"]): round(plain.get(row["reading"], plain[SOUND]) - row["ours"], 2)
        for row in rows
        if row["sigma"] == "0"
    }


def cost_of_privacy(rows: Rows, rule: str = "DP-BP") -> dict[str, float]:
    """Points by which a rule stays below the network without privacy at each sigma, clips alone left out.

    Source: [lee2020:claim-gap]

    Examples
    --------
    >>> plain = {"rule": "BP", "sigma": "non-private", "reading": "sound", "ours": 87.0}
    >>> cost_of_privacy([plain, {"rule": "DP-BP", "sigma": "0.01", "reading": "sound", "ours": 70.5}])
    {'0.01': 16.5}
    """
    (plain,) = _accuracies(rows, "BP", SOUND).values()
    return {s: round(plain - ours, 2) for s, ours in _accuracies(rows, rule, SOUND).items() if s != "0"}


def epochs_to_reach(history: Sequence[Mapping[str, float]], accuracy: float) -> int | None:
    """The first epoch of a record's history whose test accuracy is at least this share of 1; None if there is none.

    Source: [lee2020:claim-epochs] [lee2020:claim-scratch]

    Examples
    --------
    >>> epochs_to_reach([{"epoch": 1, "test_accuracy": 0.4}, {"epoch": 2, "test_accuracy": 0.7}], 0.5)
    2
    """
    return next((int(entry["epoch"]) for entry in history if entry["test_accuracy"] >= accuracy), None)


def _accuracies(rows: Rows, rule: str, reading: str) -> dict[str, float]:
    return {row["sigma"]: row["ours"] for row in rows if (row["rule"], row["reading"]) == (rule, reading)}


def notes(rows: Rows) -> list[str]:
    """What the text claims, and what these rows show of it, as lines of Markdown.

    Source: [lee2020:claim-gain] [lee2020:claim-clip-bias] [lee2020:claim-hybrid] [lee2020:claim-gap]
    """
    lines = ["## What the text says, and what these runs show", ""]
    for data in dict.fromkeys(row.get("data") for row in rows):
        own = [row for row in rows if row.get("data") == data]
        if data:
            lines += [f"### {data}", ""]
        lines += [*_cost(own), *_gain(own), *_hybrid(own), *_clip_bias(own), *_printed(own), ""]
    few = min(row["n"] for row in rows)
    lines += [
        f"These are means over {few} seed{'s' if few > 1 else ''}, and shorter or smaller than the paper's runs where"
        " the verdicts say so; initialisation, pixels, padding and how tau_h follows from equal sensitivity are our"
        " readings. They show what happens here, and cannot refute what the paper saw.",
        "",
    ]
    return lines


def _cost(rows: Rows) -> list[str]:
    """What privacy costs DP-BP, at every noise."""
    if not _accuracies(rows, "BP", SOUND) or not (lost := cost_of_privacy(rows)):
        return []
    return [
        '- "A large gap between differentially private BP and the non-private network" (`lee2020:claim-gap`). BP'
        f" without privacy less DP-BP, in points: {_points(lost)}."
    ]


def _gain(rows: Rows) -> list[str]:
    """The gain of DP-DFA over DP-BP at one sensitivity, under every reading that has both."""
    found = {reading: gains(rows, reading=reading) for reading in dict.fromkeys(row["reading"] for row in rows)}
    found["DP-BP with DP-DFA's activations"] = gains(rows, reading=SOUND, against="same-activations")
    every = [gain for each in found.values() for gain in each.values()]
    if not every:
        return []
    reached, ahead = sum(gain >= LEAST for gain in every), sum(gain > 0 for gain in every)
    verdict = "Seen here" if reached == len(every) else "Not seen here" if not reached else "Seen here in part"
    told = "; ".join(f"{_points(each)} ({reading})" for reading, each in found.items() if each)
    idle = [s for s in found[SOUND] if _accuracies(rows, "DP-DFA", SOUND)[s] < CHANCE]
    chance = f" At sigma {', '.join(idle)} DP-DFA is below {CHANCE} %: so few steps say nothing of it." if idle else ""
    return [
        f'- "Significant gains in accuracy (often by {LEAST}-{MOST}%)" over DP-BP (`lee2020:claim-gain`). {verdict}:'
        f" at the same sensitivity DP-DFA is ahead in {ahead} of {len(every)} comparisons, by {LEAST} points or more in"
        f" {reached}. DP-DFA less DP-BP, in points: {told}.{chance}"
    ]


def _hybrid(rows: Rows) -> list[str]:
    """The hybrid against both others; where it has not left chance, its steps were too few."""
    found = gains(rows, rule="hybrid")
    if not found:
        return []
    dfa = gains(rows)
    both = [s for s in found if found[s] > max(0.0, dfa[s])]
    idle = [s for s, accuracy in _accuracies(rows, "hybrid", SOUND).items() if s in found and accuracy < CHANCE]
    chance = f" At sigma {', '.join(idle)} it is below {CHANCE} %: so few steps say nothing of it." if idle else ""
    return [
        '- "The hybrid approach clearly outperforming both" (`lee2020:claim-hybrid`): here it is ahead of both at'
        f" {len(both)} of {len(found)} noises. Hybrid less DP-BP, in points: {_points(found)}.{chance}"
    ]


def _clip_bias(rows: Rows) -> list[str]:
    lost = clip_losses(rows)
    if ("DP-BP", SOUND) not in lost:
        return []
    told = "; ".join(f"{rule} {points:+.2f} ({reading})" for (rule, reading), points in lost.items())
    verdict = "Seen here" if lost["DP-BP", SOUND] > 1 else "Not seen here"
    return [
        '- "This bias already causes a degradation in model accuracy (even without noise addition)"'
        f" (`lee2020:claim-clip-bias`). {verdict} for DP-BP. Points lost from BP without privacy by the clips alone:"
        f" {told}."
    ]


def _printed(rows: Rows) -> list[str]:
    """What tau_h from the printed formula claims, and what can be proved for it."""
    found = {row["sigma"]: row for row in rows if row["reading"] == "printed" and row["sigma"] != "0"}
    if not found:
        return []
    claims = {r["sigma"]: r["epsilon"] for r in rows if (r["rule"], r["reading"]) == ("DP-BP", SOUND)}
    told = "; ".join(
        f"sigma {s}: {row['epsilon']} proved, {claims[s]} if the formula held, {row['ours']:.2f} %"
        for s, row in found.items()
        if s in claims
    )
    return [
        f"- DP-DFA with tau_h from the printed sensitivity. Its claim is refused by name: {refusal()} The epsilon"
        " that the corrected sensitivity proves (where sigmoid layers cannot reach tau_h, a lower one would hold):"
        f" {told}."
    ]


def refusal() -> str:
    """Why no mechanism is built on the printed overall sensitivity, with the id of the statement."""
    given: Mapping[str, Any] = {"net": None, "B": [], "m": 1, "sigma": 1.0, "tau_h": 1.0, "adjacency": "replace-one"}
    try:
        dp_dfa.mechanism(**given, sensitivity="printed", sampling="none", sampling_rate=1.0)
    except NoGuarantee as refused:
        return f"{refused.why} (`{refused.id}`)."
    raise AssertionError("the printed sensitivity is refused whatever the network")


def _points(gains: Mapping[str, float]) -> str:
    return ", ".join(f"{gain:+.2f} at sigma {sigma}" for sigma, gain in gains.items())
