"""Figure 4 of "Forward Learning with Differential Privacy" (2024): a small residual network on CIFAR-10.

The paper prints no accuracy for this figure and leaves many settings open. So we train a small network of the same
kind, with the same kind of data and rules. The file numbers.toml has the settings and the readings. A reading is our
choice where the paper leaves a setting open.
"""

from functools import partial
from pathlib import Path

from nfa.experiments.experiment import Cell, Experiment, Rows, Trained
from nfa.experiments.report import proved_epsilon
from nfa.papers.dpulr2024.claims_in_words import beside_dp_sgd, caption
from nfa.papers.dpulr2024.runs import TOML, main_reading, not_comparable, readings, sound
from nfa.papers.dpulr2024.runs import cells as cells_of

_FIG4 = TOML["fig4"]
READINGS = readings("fig4")
POOLED = next(iter(READINGS))


def cells(scale: str, seeds: list[int]) -> list[Cell]:
    """The runs at a scale.

    Source: [dpulr2024:fig4]
    """
    return cells_of("fig4", scale, seeds)


def notes(rows: Rows) -> list[str]:
    """The paper's sentences, and a comparison of the runs with them, as Markdown."""
    lines = []
    for batch, reading in dict.fromkeys((row["batch"], row["reading"]) for row in rows):
        own = [row for row in rows if (row["batch"], row["reading"]) == (batch, reading)]
        told = [
            f"{row['rule']} {row['ours']:.2f}" + ("" if row["epsilon"] == "none" else f" (epsilon {row['epsilon']})")
            for row in own
        ]
        lines.append(f"- Batches of {batch} ({reading}): {', '.join(told)}.")
    return _FIG4["notes"].format(lines="\n".join(lines)).splitlines()


def _draw(path: Path, rows: Rows, runs: Trained) -> None:
    from nfa.papers.dpulr2024.pictures import setting_figure

    reading, own = main_reading(runs, POOLED)
    data = f"{own[0][1]['data']['name']}, {own[0][1]['data']['train']:,} images"
    setting_figure(path, own, title=f"Private training of ResNet-5, {reading}", data=data, caption=_caption(runs))


def _caption(runs: Trained) -> list[str]:
    return caption("fig4", main_reading(runs, POOLED)[1])


def _runs_notes(runs: Trained) -> list[str]:
    return ["## What these runs show", "", *ours] if (ours := beside_dp_sgd(runs, POOLED)) else []


FIG4 = Experiment.from_toml(
    _FIG4,
    id="dpulr2024:fig4",
    title='Figure 4 of "Forward Learning with Differential Privacy" (2024): test accuracy of ResNet-5, in percent',
    cells=cells,
    not_comparable=partial(not_comparable, "fig4"),
    extra_columns=proved_epsilon,
    notes=notes,
    runs_notes=_runs_notes,
    caption=_caption,
    picture=_draw,
)
FIG4_REPAIRED = FIG4.repaired(sound)
