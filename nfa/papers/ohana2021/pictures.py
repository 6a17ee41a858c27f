"""Pictures of Table 1 and Figure 2 of Ohana et al. (2021), and of the table with guarantees."""

from pathlib import Path
from typing import Any

from nfa.experiments.experiment import Trained
from nfa.experiments.plots import empty_figure, mean_curve, new_figure, save_figure, spread_labels, tidy

# Each rule has a fixed colour of Okabe and Ito's palette. Readers with colour blindness can distinguish these colours.
COLOURS = {"BP": "#0072B2", "DFA": "#D55E00", "TDFA": "#009E73", "PDFA": "#CC79A7", "DRTP": "#7F7F7F"}


def accuracy_figure(path: Path, rows: list[dict[str, Any]], runs: Trained, title: str) -> None:
    """Draw to a PNG file the accuracy by epoch without privacy, and each final accuracy next to the paper's accuracy.

    Parameters
    ----------
    path : file to write
    rows : of the table, with rule, sigma, paper, ours and verdict
    runs : list of (Cell, record)
    """
    readings = list(dict.fromkeys(row.get("reading") for row in rows))
    figure = new_figure(title, 1.2 + 4.9 * (1 + len(readings)), runs)
    left, *others = figure.subplots(1, 1 + len(readings), width_ratios=(1.1, *[1.0] * len(readings)))
    plain = [row for row in rows if row.get("reading") == readings[0] and row["sigma"] == "non-private"]
    left.set_visible(bool(plain))
    _curves(left, {row["rule"]: _of(row, runs) for row in plain})
    left.set_title("test accuracy (%) while training, non-private", loc="left", fontsize=12)
    for axes, reading in zip(others, readings, strict=True):
        _columns(axes, [row for row in rows if row.get("reading") == reading], runs)
        named = f", reading: {reading}" if reading and len(readings) > 1 else ""
        axes.set_title(f"final test accuracy (%){named}", loc="left", fontsize=12)
    save_figure(figure, path)


def alignment_figure(path: Path, runs: Trained, layer: int) -> None:
    """Draw to a PNG file the accuracy by epoch for every rule and sigma, and PDFA's cosine with the gradient.

    Parameters
    ----------
    path : file to write
    runs : list of (Cell, record); the records of PDFA have an alignment in their history
    layer : the layer of the cosine
    """
    figure = new_figure("Noise, accuracy and alignment: BP, DFA and photonic DFA on Fashion-MNIST", 11, runs)
    left, right = figure.subplots(1, 2)
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for cell, record in runs:
        groups.setdefault((cell.key["rule"], cell.key["sigma"]), []).append(record)
    columns = list(dict.fromkeys(sigma for _, sigma in groups))
    for (rule, sigma), found in groups.items():
        style = _faded(rule, columns.index(sigma), len(columns))
        left.plot(*mean_curve(found, lambda entry: 100 * entry["test_accuracy"]), **style)
        if rule == "PDFA":
            epochs, mean = mean_curve(found, lambda entry: entry["alignment"][layer - 1])
            right.plot(epochs, mean, **style, label="non-private" if sigma == "non-private" else f"$\\sigma$ = {sigma}")
    for rule in dict.fromkeys(rule for rule, _ in groups):
        left.plot([], [], color=COLOURS[rule], linewidth=2.4, label=rule)
    left.legend(frameon=False, fontsize=11, loc="lower right")
    low, high = right.get_ylim()
    right.set_ylim(min(0.0, low), high + 0.25 * (high - low))  # room for the legend
    right.set_visible(any(rule == "PDFA" for rule, _ in groups))
    if right.get_visible():
        right.legend(frameon=False, fontsize=10, ncols=3, loc="upper left")
    left.set_title("test accuracy (%); dashed: non-private, paler: more noise", loc="left", fontsize=12)
    right.set_title(f"cosine between PDFA and BP, layer {layer}", loc="left", fontsize=12)
    for axes in (left, right):
        axes.set_xlabel("epoch", fontsize=12)
        axes.xaxis.get_major_locator().set_params(integer=True)
        tidy(axes)
    save_figure(figure, path)


def budget_figure(path: Path, rows: list[dict[str, Any]], runs: Trained, title: str, delta: float) -> None:
    """Draw the accuracy without privacy and at every epsilon to a PNG file, with panels for records and labels.

    Parameters
    ----------
    path : file to write
    rows : rows of the table, with rule, epsilon, reading ("records" or "labels") and ours
    runs : list of (Cell, record)
    delta : the delta of all guarantees
    """
    plain = [row for row in rows if row["epsilon"] == "non-private"]
    protected = list(dict.fromkeys(row["reading"] for row in rows if row not in plain))
    if not protected:
        return empty_figure(path, "None of these runs has a guarantee.")
    epsilons = list(dict.fromkeys(row["epsilon"] for row in rows))
    figure = new_figure(title, 1.0 + 4.9 * len(protected), runs)
    panels = figure.subplots(1, len(protected), sharey=True, squeeze=False)[0]
    for axes, reading in zip(panels, protected, strict=True):
        for i, rule in enumerate(dict.fromkeys(row["rule"] for row in rows)):
            own = [row for row in rows if row["rule"] == rule and (row in plain or row["reading"] == reading)]
            places = [epsilons.index(row["epsilon"]) + 0.08 * (i - 1) for row in own]
            for place, row in zip(places, own, strict=True):
                finals = [100 * record["test_accuracy"] for record in _of(row, runs)]
                axes.plot([place] * len(finals), finals, "o", color=COLOURS[rule], markersize=3, alpha=0.4)
            style = {"color": COLOURS[rule], "markersize": 7, "linewidth": 1.6, "label": rule}
            axes.plot(places, [row["ours"] for row in own], "o-", **style)
        axes.set_xticks(
            range(len(epsilons)), [f"$\\epsilon$ = {e}" if e[0].isdigit() else "non-\nprivate" for e in epsilons]
        )
        axes.set_title(f"final test accuracy (%), {reading} protected", loc="left", fontsize=12)
        axes.set_xlabel(f"$\\delta$ = {delta:g}", fontsize=11, color="0.3")
        axes.tick_params(labelleft=True)
        tidy(axes)
    panels[0].legend(frameon=False, fontsize=11, loc="lower left")
    save_figure(figure, path)


def _of(row: dict[str, Any], runs: Trained) -> list[dict[str, Any]]:
    """The records of the runs that a row summarises."""
    return [record for cell, record in runs if all(row[name] == value for name, value in cell.key.items())]


def _faded(rule: str, place: int, columns: int) -> dict[str, Any]:
    """The line of a rule in a column: dashed without privacy, otherwise paler with more noise."""
    if place == 0:
        return {"color": COLOURS[rule], "linewidth": 2.0, "linestyle": "--"}
    return {"color": COLOURS[rule], "linewidth": 1.8, "alpha": 1 - 0.8 * (place - 1) / max(1, columns - 1)}


def _curves(axes, groups: dict[str, list[dict[str, Any]]]) -> None:
    """Draw a thin line for each seed and a thick line for their mean. Each rule has its name at the end of its line."""
    means, epochs = {}, range(1, 2)
    for rule, found in groups.items():
        epochs, means[rule] = mean_curve(found, lambda entry: 100 * entry["test_accuracy"])
        for record in found if len(found) > 1 else ():
            curve = [100 * entry["test_accuracy"] for entry in record["history"]]
            axes.plot(epochs, curve, color=COLOURS[rule], linewidth=0.9, alpha=0.4)
        axes.plot(epochs, means[rule], color=COLOURS[rule], linewidth=2.4, marker="o", markersize=4)
    low, high = axes.get_ylim()
    last = len(epochs)
    heights = spread_labels([mean[-1] for mean in means.values()], gap=0.06 * (high - low)) if means else []
    for rule, height in zip(means, heights, strict=True):
        axes.annotate(
            rule,
            (last, height),
            xytext=(8, 0),
            textcoords="offset points",
            color=COLOURS[rule],
            fontsize=13,
            fontweight="bold",
            va="center",
            annotation_clip=False,
        )
    axes.set_xlim(1 - 0.03 * last, 1.15 * last)
    axes.set_xticks(range(0, last + 1, 5) if last >= 10 else range(1, last + 1))
    axes.set_xlabel("epoch", fontsize=12)
    tidy(axes)


def _columns(axes, rows: list[dict[str, Any]], runs: Trained) -> None:
    """Draw the accuracies of every column: our means as dots, our seeds as small dots, the paper as hollow diamonds."""
    columns = list(dict.fromkeys(row["sigma"] for row in rows))
    rules = list(dict.fromkeys(row["rule"] for row in rows))
    for i, rule in enumerate(rules):
        own = [row for row in rows if row["rule"] == rule]
        shift = 0.1 * (i - (len(rules) - 1) / 2)  # the paper's rules are only tenths of a point apart
        places = [columns.index(row["sigma"]) + shift for row in own]
        for place, row in zip(places, own, strict=True):
            finals = [100 * record["test_accuracy"] for record in _of(row, runs)]
            axes.plot([place] * len(finals), finals, "o", color=COLOURS[rule], markersize=3, alpha=0.4)
        axes.plot(
            places, [row["ours"] for row in own], "o-", color=COLOURS[rule], markersize=6, linewidth=1.6, label=rule
        )
        told = [(place, row["paper"]) for place, row in zip(places, own, strict=True) if row["paper"] is not None]
        style = {"color": COLOURS[rule], "markersize": 6, "markerfacecolor": "white", "linewidth": 0.8}
        axes.plot(*zip(*told, strict=True) if told else ([], []), "D:", **style)
    names = [r"$\sigma$ = " + s if s != "non-private" else "non-\nprivate" for s in columns]
    axes.set_xticks(range(len(columns)), names if len(columns) < 5 else [n.replace(r"$\sigma$ = ", "") for n in names])
    axes.legend(frameon=False, fontsize=11, loc="best")
    why = {row["verdict"] for row in rows if row["verdict"].startswith("not comparable") and row["paper"] is not None}
    below = ["dots: ours, diamonds: the paper" + ("" if len(columns) < 5 else r", by $\sigma$"), *sorted(why)]
    axes.set_xlabel("\n".join(below), fontsize=10, color="0.3")
    tidy(axes)
