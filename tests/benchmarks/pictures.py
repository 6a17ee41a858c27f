"""Pictures of a benchmark run: bars of nfa, peers and floors in units of torch's step, and growth of the cost."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import scaling, timing
from .contenders import ANY

BASE = "torch bp"
COLOURS = {"ours": "#1f77b4", "peer": "#b0b0b0", "floor": "#e0a030"}
HATCHES = ("", "///")  # hatches of the bars for the first core type and for the other core types
OF_PEERS = ("torch bp", "opacus ghost")  # peers whose growth is drawn with dashed lines
LABELS = {
    "width": "width n of every layer",
    "depth": "depth L",
    "batch": "batch size m\n(784-512-512-10)",
    "memory": "batch size m\n(784-512-512-10)",
    "threads": "threads\n(784-512-512-10, batch 4,096)",
    "K": "losses K an example\n(256-128-10, batch 64)",
    "records": "records of an epoch\n(784-512-512-10, batch 256)",
    "jobs": "processes for 4 cells",
}


def bars_of(group: dict[str, Any], cores: Sequence[str]) -> list[tuple[str, str, int, dict[str, float]]]:
    """The bars: name, kind, number of the core type, and median and quartiles divided by torch's median."""
    base = group["contenders"].get(BASE, {}).get(ANY, {}).get("times", {})
    if not (whole := base.get("step") or base.get("epoch")):
        return []
    below, bars = whole["wall"], []
    for name, by_core in group["contenders"].items():
        for core, about in by_core.items():
            for label, found in about.get("times", {}).items():
                if label in ("normals", "copy"):
                    continue
                kind = "floor" if name == "floor" else "peer" if core == ANY else "ours"
                title = f"floor: {label}" if kind == "floor" else name
                ratio = timing.ratio(found["wall"], below)
                bars.append((title, kind, max(0, [*cores, ANY].index(core)) if core != ANY else 0, ratio))
    return bars


def draw(document: dict[str, Any], folder: Path) -> list[Path]:
    """Write the pictures for which we have times, and return their paths."""
    import matplotlib

    matplotlib.use("Agg")
    cores, groups = list(document["core_types"]), document["groups"]
    shown = {name: bars for name in groups if (bars := bars_of(groups[name], cores))}
    made = []
    if shown:
        made.append(_bars(shown, {name: groups[name]["what"] for name in shown}, cores, folder / "bench.png"))
    if document.get("growth", {}).get("rows"):
        made.append(_growth(document["growth"]["rows"], folder / "growth.png"))
    return made


def _bars(shown: dict[str, list], titles: dict[str, str], cores: Sequence[str], path: Path) -> Path:
    from matplotlib import pyplot as plt
    from matplotlib.patches import Patch

    heights = [1.2 + 0.27 * len({bar[0] for bar in bars}) * 1.6 for bars in shown.values()]
    figure, axes = plt.subplots(
        len(shown), 1, figsize=(8.5, sum(heights)), height_ratios=heights, squeeze=False, layout="constrained"
    )
    for ax, (name, bars) in zip(axes[:, 0], shown.items(), strict=True):
        names = list(dict.fromkeys(bar[0] for bar in bars))
        longest = max(max(ratio["median"], min(ratio["q3"], 1.3 * ratio["median"])) for *_, ratio in bars)
        for title, kind, core, ratio in bars:
            two = sum(bar[0] == title for bar in bars) > 1
            height, place = (0.4, names.index(title) + (core - 0.5) * 0.42) if two else (0.5, names.index(title))
            ax.barh(place, ratio["median"], height, color=COLOURS[kind], hatch=HATCHES[min(core, 1)], edgecolor="w")
            ax.plot([ratio["q1"], ratio["q3"]], [place, place], color="k", lw=1)
            end = min(max(ratio["q3"], ratio["median"]), longest)
            ax.text(end + 0.01 * longest, place, f"{ratio['median']:.2f}", va="center", fontsize=8)
        ax.axvline(1, color="gray", ls=":", lw=1)
        ax.set_yticks(range(len(names)), names)
        ax.invert_yaxis()
        ax.set_xlim(0, 1.1 * longest)
        ax.set_title(f"{name}: {titles[name]}", fontsize=10, loc="left")
        ax.set_xlabel("time over torch's BP without privacy (median; line: quartiles of the rounds)", fontsize=9)
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
    handles = [Patch(color=COLOURS[kind], label=kind) for kind in COLOURS]
    handles += [
        Patch(facecolor=COLOURS["ours"], hatch=HATCHES[min(i, 1)], edgecolor="w", label=f"OpenBLAS with {core}")
        for i, core in enumerate(cores)
        if len(cores) > 1
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=8, frameon=False)
    figure.savefig(path, dpi=130)
    plt.close(figure)
    return path


def _growth(rows: list[dict[str, Any]], path: Path) -> Path:
    from matplotlib import pyplot as plt
    from matplotlib.ticker import FuncFormatter, LogLocator

    rows = rows + [{**row, "axis": "memory"} for row in rows if scaling.has_memory(row)]
    kinds = [axis for axis in LABELS if any(row["axis"] == axis for row in rows)]
    columns = min(3, len(kinds))
    lines = -(-len(kinds) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(4.4 * columns, 3.8 * lines), squeeze=False, layout="constrained"
    )
    for ax, kind in zip(axes.flat, kinds, strict=False):
        for row in (row for row in rows if row["axis"] == kind):
            low, high = row["interval"]
            label = f"{row['name']}: {row['exponent']:.2f} ({low:.2f} to {high:.2f})"
            drawn = [1e3 * s for s in row["seconds"]]
            if kind == "memory":
                label, drawn = row["name"], [n / 1e6 for n in row["bytes"]]
            ax.loglog(row["values"], drawn, "s--" if row["name"] in OF_PEERS else "o-", label=label)
            ax.set_xticks(row["values"], [str(v) for v in row["values"]])
        ax.minorticks_off()
        ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        ax.set_xlabel(LABELS[kind])
        ax.set_ylabel("memory of a step, MB" if kind == "memory" else "ms")
        ax.legend(fontsize=8, title=None if kind == "memory" else "exponent (95 % interval)", title_fontsize=8)
        ax.grid(alpha=0.3)
    for ax in axes.flat[len(kinds) :]:
        ax.set_visible(False)
    figure.suptitle("How cost grows; where nothing else is said: one step, one thread, width 256, depth 3, batch 128")
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return path
