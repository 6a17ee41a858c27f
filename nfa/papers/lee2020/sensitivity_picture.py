"""The picture of a sensitivity as printed, as corrected, and as the real rule attains it. Drawn to a file only."""

from pathlib import Path

from nfa.experiments.plots import new_figure, save_figure, tidy

PRINTED, CORRECTED, RULE = "#D55E00", "#0072B2", "black"
COLOURS = {"sigmoid": "#CC79A7", "tanh": "#009E73"}
DEPTHS = {2: "--", 3: "-", 5: ":"}


def sensitivity_figure(path: Path, curves: dict[str, tuple], ratios: dict[str, list], products, slopes: dict) -> None:
    """What one label moves against a bias, against the depth and against gamma beta, beside both formulas; a PNG.

    Parameters
    ----------
    path : file to write
    curves : {units: (biases, distances, printed sensitivity, corrected sensitivity)}, two of them
    ratios : {activation: list of (L, corrected / printed, attained / printed)}
    products : (k,) array of gamma beta
    slopes : {L: (k,) array, attained / printed}
    """
    figure = new_figure("What one label moves in DP-DFA, and the printed sensitivity of Lee & Kifer (2020)", 12)
    figure.set_size_inches(12, 8.8)
    above, (bars, lines) = figure.subplots(2, 2)
    for axes, (name, (biases, found, printed, corrected)) in zip(above, curves.items(), strict=True):
        axes.plot(biases, found, color=RULE, linewidth=2.2)
        for value, colour, told in ((corrected, CORRECTED, "corrected"), (printed, PRINTED, "printed")):
            axes.axhline(value, color=colour, linewidth=1.8, linestyle="--")
            at = {"xytext": (-4, 5), "textcoords": "offset points", "ha": "right", "fontsize": 12, "color": colour}
            axes.annotate(f"{told} {value:.4f}", (biases[-1], value), **at)
        at = {"xytext": (-6, -20), "textcoords": "offset points", "ha": "right", "fontsize": 12, "color": RULE}
        axes.annotate("the real rule", (biases[-1], found[-1]), **at)
        axes.set_xlim(biases[0], biases[-1])
        low, high = min(*found, printed), max(*found, corrected)
        axes.set_ylim(max(0, low - 0.25 * (high - low)), high + 0.15 * (high - low))
        axes.set_xlabel("bias of the hidden units", fontsize=12)
        axes.set_title(f"distance of the directions for two labels: {name}, L = 2", loc="left", fontsize=12)
    for i, (name, entries) in enumerate(ratios.items()):
        places = [j + 0.36 * (i - 0.5) for j in range(len(entries))]
        bars.bar(places, [entry[1] for entry in entries], 0.34, color=COLOURS[name], label=f"{name}, corrected")
        bars.plot(places, [entry[2] for entry in entries], "o", color=RULE, markersize=6)
        for place, (_, ratio, _) in zip(places, entries, strict=True):
            at = {"xytext": (0, 7), "textcoords": "offset points", "ha": "center", "fontsize": 11}
            bars.annotate(f"{ratio:.2f}", (place, ratio), **at)
    bars.plot([], [], "o", color=RULE, label="the real rule")
    bars.axhline(1, color=PRINTED, linewidth=1.8, linestyle="--", label="printed")
    bars.set_xticks(range(len(entries)), [f"L = {entry[0]}" for entry in entries])
    bars.set_ylim(0, 3.7)
    bars.legend(frameon=False, fontsize=11, ncols=2, loc="upper right")
    bars.set_title(r"times the printed value, $\beta$ = 0.9", loc="left", fontsize=12)
    for L, values in slopes.items():
        lines.plot(products, values, color=RULE, linewidth=1.8, linestyle=DEPTHS[L], label=f"the real rule, L = {L}")
    lines.axhline(1, color=PRINTED, linewidth=1.8, linestyle="--", label="printed")
    lines.set_xscale("log")
    lines.set_yscale("log")
    for axis in (lines.xaxis, lines.yaxis):
        axis.set_ticks(ticks := [0.1, 0.25, 0.5, 1, 2, 5], [f"{tick:g}" for tick in ticks])
        axis.set_ticks([], minor=True)
    lines.set_xlim(products[0], products[-1])
    lines.set_ylim(0.4, 8)
    lines.set_xlabel(r"$\gamma\beta$", fontsize=12)
    lines.legend(frameon=False, fontsize=11, loc="upper right")
    lines.set_title(
        r"times the printed value, sigmoid units: a bound where $\gamma\beta \geq 1$", loc="left", fontsize=12
    )
    for axes in (*above, bars, lines):
        tidy(axes)
    save_figure(figure, path)
