"""Pictures of shuffled SGD, as PNG files: output probabilities of the toy example, and the divergence of one step."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from nfa.experiments.plots import new_figure, save_figure, tidy

DATA: dict[int, dict[str, Any]] = {  # the second record's loss
    1: {"color": "#0072B2", "label": r"$\{\ell_1, \ell_1\}$"},
    2: {"color": "#E69F00", "label": r"$\{\ell_1, \ell_2\}$"},
}
LINES: dict[str, dict[str, Any]] = {
    "exact, worst pair known": {"color": "black", "linewidth": 2.2},
    "bound, every term": {"color": "#009E73", "linewidth": 1.8, "linestyle": "--"},
    "leading term, C = 16": {"color": "#D55E00", "linewidth": 1.8, "linestyle": "-."},
}
REPLACEMENT = {"with": "#0072B2", "without": "#D55E00"}


def toy_figure(
    path: Path,
    laws: Mapping[str, Mapping[int, Mapping[int, Fraction]]],
    ratios: Mapping[str, Fraction],
    shares: Sequence[float],
    curves: Mapping[str, Sequence[float]],
) -> None:
    """Draw to a PNG file output probabilities on two neighbours and epsilon by p, with and without replacement.

    Parameters
    ----------
    path : file to write
    laws : {with or without: {second record's loss: {output: probability}}}
    ratios : {with or without: largest ratio}
    shares : values of p
    curves : {with or without: epsilons at these p}
    """
    figure = new_figure("Two steps, two records: shuffling gives away more (section 4.5)", 13.5)
    *panels, last = figure.subplots(1, 3)
    for axes, (sampling, own) in zip(panels, laws.items(), strict=True):
        for place, (loss, law) in enumerate(own.items()):
            at = [k + 0.36 * (place - 0.5) for k in range(len(law))]
            axes.bar(at, [float(value) for value in law.values()], 0.34, **DATA[loss])
            for x, value in zip(at, law.values(), strict=True):
                axes.annotate(str(value), (x, float(value)), xytext=(0, 3), textcoords="offset points", ha="center")
        axes.set_xticks(range(3), [f"{output}" for output in own[1]])
        axes.set_ylim(0, 0.8)
        axes.set_xlabel("output", fontsize=12)
        axes.set_title(f"{sampling} replacement, p = 1/2: largest ratio {ratios[sampling]}", loc="left", fontsize=12)
        axes.legend(frameon=False, fontsize=11, loc="upper right", title="data set")
    panels[0].set_ylabel("probability", fontsize=12)
    for sampling, epsilons in curves.items():
        last.plot(shares, epsilons, color=REPLACEMENT[sampling], linewidth=2, label=f"{sampling} replacement")
        last.plot([0.5], [epsilons[shares.index(0.5)]], "o", color=REPLACEMENT[sampling], markersize=7)
    last.set_xlim(0, 1)
    last.set_ylim(0, None)
    last.set_xlabel("p, how often the last iterate itself is released", fontsize=12)
    last.set_title(r"$\epsilon$ of pure differential privacy", loc="left", fontsize=12)
    last.legend(frameon=False, fontsize=11, loc="upper left")
    for axes in (*panels, last):
        tidy(axes)
    save_figure(figure, path)


def step_figure(
    path: Path,
    orders: Sequence[int],
    by_order: Mapping[str, Sequence[float]],
    lefts: Sequence[int],
    by_left: Mapping[int, Mapping[str, Sequence[float]]],
) -> None:
    """Draw to a PNG file the divergence of one step as a function of the Renyi order and of the number of records left.

    Parameters
    ----------
    path : file to write
    orders : Renyi orders
    by_order : {line: divergences at these orders, with 1000 records left}
    lefts : numbers of records left
    by_left : {order: {line: divergences at these numbers}}
    """
    figure = new_figure(r"One step of shuffled SGD at $\sigma = 2 L$: Conjecture 1 against exact numbers", 13.5)
    first, *others = figure.subplots(1, 1 + len(by_left))
    for name, values in by_order.items():
        first.plot(orders, values, marker="o", markersize=3, **LINES[name], label=name)
    first.set_xlabel(r"Rényi order $\alpha$", fontsize=12)
    first.set_title(r"$D_\alpha$ in nats, 1000 records left", loc="left", fontsize=12)
    for axes, (alpha, lines) in zip(others, by_left.items(), strict=True):
        for name, values in lines.items():
            axes.plot(lefts, values, **LINES[name], label=name)
        axes.axhline(alpha / 2, color="0.5", linewidth=1)
        axes.annotate("the record known", (lefts[-1], alpha / 2), xytext=(0, 4), textcoords="offset points", ha="right")
        axes.set_xscale("log")
        axes.set_xlabel("records not yet used, n - t + 1", fontsize=12)
        axes.set_title(rf"$D_\alpha$ in nats, $\alpha$ = {alpha}", loc="left", fontsize=12)
    for axes in (first, *others):
        axes.set_yscale("log")
        tidy(axes)
    others[0].legend(frameon=False, fontsize=11, loc="lower left")
    save_figure(figure, path)
