"""The paper's claims in words about DP-ULR and DP-SGD, compared with runs, paired by seed (`nfa.papers.paired`)."""

import statistics

from nfa.experiments.experiment import Trained
from nfa.experiments.report import markdown_table
from nfa.papers.dpulr2024.runs import METHODS, PRIVATE_AS_PRINTED, TOML
from nfa.papers.paired import BySeed, Difference, brief, by_seed, intervals, paired

BASE = "DP-SGD"  # the rule with which we compare the other rules
RULES = {PRIVATE_AS_PRINTED: "DP-ULR as printed", "corrected DP-ULR": "corrected DP-ULR"}
SAID = {
    "table1": '"DP-ULR outperforms DP-SGD with the large batch, underperforms with the small batch"',
    "tableC1": '"with smaller batch sizes, the performance advantage of DP-ULR over DP-SGD diminishes as model size'
    ' increases"',
    "fig3": '"under the same batch size and high noise levels, DP-SGD suffers from performance degradation, whereas'
    ' DP-ULR continues to converge"',
    "fig4": '"by selecting suitable parameters, our proposed DP-ULR can achieve comparable performance in the end with'
    ' DP-SGD in terms of both accuracy and privacy cost"',
}

Place = tuple[str, ...]  # batch, model ("" if the item has only one), reading, sigma_0
PLACE = ("batch", "model", "reading", "sigma_0")


def accuracies(runs: Trained) -> dict[Place, dict[str, BySeed]]:
    """The final accuracies in percent, by place and rule. ULR has no noise, so all sigma_0 share its accuracy."""
    found: dict[Place, dict[str, BySeed]] = {}
    plain: dict[Place, BySeed] = {}
    for (*place, rule), accuracy in by_seed(runs, (*PLACE, "rule")).items():
        if rule == "ULR":
            plain[tuple(place[:3])] = accuracy
        else:
            found.setdefault(tuple(place), {})[rule] = accuracy
    return {p: {"ULR": plain[p[:3]]} | rules if p[:3] in plain else rules for p, rules in found.items()}


def leads(runs: Trained, rule: str, over: str = BASE) -> dict[Place, Difference]:
    """Points by which a rule is more accurate than another rule with the same batch size, reading and sigma_0.

    Source: [dpulr2024:table1] [dpulr2024:tableC1]
    """
    found = {p: paired(own[rule], own[over]) for p, own in accuracies(runs).items() if {rule, over} <= own.keys()}
    return {place: lead for place, lead in found.items() if lead is not None}


def later(runs: Trained) -> dict[tuple[str, ...], Difference]:
    """Points gained from the middle epoch to the last, by batch, sigma_0 and rule; negative if the accuracy falls.

    Source: [dpulr2024:fig3]
    """
    last = by_seed(runs, ("batch", "sigma_0", "rule"))
    middle: dict[tuple[str, ...], dict[int, float]] = {}
    for cell, record in runs:
        history, place = record["history"], tuple(cell.key[name] for name in ("batch", "sigma_0", "rule"))
        halfway = history[(len(history) - 1) // 2]["test_accuracy"]
        middle.setdefault(place, {})[record["seed"]] = 100 * halfway
    return {place: found for place in last if (found := paired(last[place], middle[place])) is not None}


def beside_dp_sgd(runs: Trained, first: str) -> list[str]:
    """The accuracies in every setting with a form of DP-ULR, and the differences to DP-SGD, as lines of Markdown.

    Parameters
    ----------
    first : the reading whose lines also show DP-SGD with Adam
    """
    found = accuracies(runs)
    lines: list[str] = []
    shown: list[Difference] = []
    ahead = {rule: leads(runs, rule) for rule in RULES}
    for place, own in found.items():
        batch, model, reading, sigma_0 = place
        if not own.keys() & RULES.keys():
            continue
        means = {rule: statistics.fmean(own[rule].values()) for rule in METHODS if rule in own}
        adam = found.get((batch, model, "adam", sigma_0), {}).get(BASE)
        if reading == first and adam:
            means["DP-SGD with Adam"] = statistics.fmean(adam.values())
        told = ", ".join(f"{rule} {mean:.2f}" for rule, mean in means.items())
        gaps = {name: ahead[rule][place] for rule, name in RULES.items() if place in ahead[rule]}
        shown += gaps.values()
        less = ", ".join(f"{name} {gap}" for name, gap in gaps.items())
        beside = f" Difference to DP-SGD: {less}." if less else ""
        at = f"Batches of {batch}{f', {model}' if model else ''}, sigma_0 = {sigma_0} ({reading})"
        lines.append(f"- {at}: {told}.{beside}")
    if not lines:
        return []
    head = (
        "The numbers are the validation accuracy of these runs in percent, and differences in points. As in the paper,"
        " DP-SGD uses SGD, and the other rules use Adam. The corrected DP-ULR has the epsilon of DP-SGD. DP-ULR as"
        f" printed has no epsilon.{f' {intervals(shown)}' if shown else ''}"
    )
    return [head, "", *lines, ""]


def adam_beside_sgd(runs: Trained, first: str) -> list[str]:
    """The accuracy of DP-SGD with both optimizers, if the runs have the reading with Adam, as lines of Markdown."""
    found = accuracies(runs)
    told = []
    for (batch, model, reading, sigma_0), own in found.items():
        by_sgd = found.get((batch, model, first, sigma_0), {}).get(BASE)
        if reading == "adam" and BASE in own and by_sgd:
            sgd, adam = (statistics.fmean(values.values()) for values in (by_sgd, own[BASE]))
            told.append(f"In batches of {batch} at sigma_0 = {sigma_0}, SGD has {sgd:.2f} and Adam {adam:.2f}.")
    if not told:
        return []
    return [
        "- Adam for DP-SGD: the authors also tried Adam, at 0.01, and found the default, SGD at 0.1, better"
        f" (`dpulr2024:exp-adam`). They do not state the batch sizes of this comparison. Our runs: {' '.join(told)}",
        "",
    ]


def by_size(runs: Trained) -> list[str]:
    """The accuracy of the methods by size of the MLP, and the differences to DP-SGD, as a table in Markdown."""
    ahead = {rule: leads(runs, rule) for rule in RULES}
    table = []
    for place, own in accuracies(runs).items():
        row = dict(zip(("batch", "model", "reading"), place, strict=False))
        row |= {rule: f"{statistics.fmean(own[rule].values()):.2f}" if rule in own else "-" for rule in METHODS[1:]}
        row |= {f"{name} less DP-SGD": str(ahead[rule].get(place, "-")) for rule, name in RULES.items()}
        table.append(row)
    if not table:
        return []
    shown = [gap for gaps in ahead.values() for gap in gaps.values()]
    said = f" {intervals(shown)}" if shown else ""
    return [
        f"The table has the validation accuracy of these runs in percent, and differences in points.{said}",
        "",
        markdown_table(table),
        "",
    ]


def convergence(runs: Trained) -> list[str]:
    """The final accuracies, the gains in the second half of the epochs, and the differences to DP-SGD, as Markdown."""
    gained, ahead, lines, shown = later(runs), {rule: leads(runs, rule) for rule in RULES}, [], []
    for place, own in accuracies(runs).items():
        batch, _, _, sigma_0 = place
        rules = [rule for rule in METHODS if rule in own and (batch, sigma_0, rule) in gained]
        if not rules:
            continue
        told = ", ".join(
            f"{rule} {statistics.fmean(own[rule].values()):.2f} ({gained[batch, sigma_0, rule]})" for rule in rules
        )
        gaps = {name: ahead[rule][place] for rule, name in RULES.items() if place in ahead[rule]}
        shown += [*gaps.values(), *(gained[batch, sigma_0, rule] for rule in rules)]
        less = ", ".join(f"{name} {gap}" for name, gap in gaps.items())
        beside = f" Difference to DP-SGD: {less}." if less else ""
        lines.append(f"- Batches of {batch}, sigma_0 = {sigma_0}: {told}.{beside}")
    if not lines:
        return []
    head = (
        "The numbers are the validation accuracy of these runs after the last epoch, in percent. In brackets are the"
        " points gained since the middle epoch. A negative gain means that the accuracy falls. Differences are in"
        f" points. {intervals(shown)}"
    )
    return [head, "", *lines, ""]


def caption(item: str, runs: Trained) -> list[str]:
    """The text below the picture of an item: the paper's claim, and the result of these runs.

    Parameters
    ----------
    item : "table1", "tableC1", "fig3" or "fig4"
    runs : the runs that the picture shows
    """
    _, record = runs[0]
    of = TOML["table1" if item == "fig3" else item]["setting"].get("epochs")
    done = " and ".join(map(str, sorted({len(record["history"]) for _, record in runs})))
    length = f"{done} epochs" if of is None or done == str(of) else f"{done} of {of} epochs"
    seeds = len({record["seed"] for _, record in runs})
    data = f"{record['data']['name']}, {record['data']['train']:,} images"
    here = f"Here, {data}, {length}, {seeds} seed{'s' if seeds > 1 else ''}"
    told = _of_settings(runs) or ["There is no other rule to compare with DP-SGD"]
    return brief(f"The paper: {SAID[item]}.", f"{here}.", *(f"{one[0].upper()}{one[1:]}." for one in told))


def _of_settings(runs: Trained) -> list[str]:
    """For each rule, the number of settings in which it is more accurate than DP-SGD in the mean over the seeds."""
    told = []
    for rule, name in RULES.items():
        if every := leads(runs, rule).values():
            more = sum(lead.mean > 0 for lead in every)
            told.append(f"{name} is more accurate in {more} of {len(every)} settings")
    return told
