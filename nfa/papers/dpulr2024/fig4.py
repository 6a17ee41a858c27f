"""Figure 4 of "Forward Learning with Differential Privacy" (2024): a small residual network on CIFAR-10.

The paper prints no accuracy of it, and leaves so much open that this is a toy: the same kind of network, data and
rules. Settings and readings are in numbers.toml.
"""

from functools import partial
from pathlib import Path
from typing import Any

from nfa.experiments.experiment import SCALES, Cell, Experiment
from nfa.papers.dpulr2024.runs import TOML, not_comparable, readings, repaired, tried
from nfa.papers.dpulr2024.runs import cells as cells_of
from nfa.papers.lee2020.figures import spent

_FIG4 = TOML["fig4"]
READINGS = readings("fig4")
POOLED = next(iter(READINGS))


def cells(scale: str, seeds: list[int]) -> list[Cell]:
    """The runs at a scale.

    Source: [dpulr2024:fig4]
    """
    return cells_of("fig4", scale, seeds)


def notes(rows: list[dict[str, Any]]) -> list[str]:
    """What the text says, and how the runs stand to it; as Markdown."""
    lines = []
    for batch, reading in dict.fromkeys((row["batch"], row["reading"]) for row in rows):
        own = [row for row in rows if (row["batch"], row["reading"]) == (batch, reading)]
        told = [
            f"{row['rule']} {row['ours']:.2f}" + ("" if row["epsilon"] == "none" else f" (epsilon {row['epsilon']})")
            for row in own
        ]
        lines.append(f"- Batches of {batch} ({reading}): {', '.join(told)}.")
    return [
        "## What the text says",
        "",
        '"By selecting suitable parameters, our proposed DP-ULR can achieve comparable performance in the end with'
        ' DP-SGD in terms of both accuracy and privacy": no number is printed, nor the q and sigma_0 of DP-ULR, nor'
        " epochs, step sizes, padding, pooling or the dense layer's inputs. So the sentence cannot be checked against a"
        " number, and what follows is a toy: test accuracy after the last epoch, in percent, chance being 10.",
        "",
        *lines,
        "",
        "DP-ULR as printed has no guarantee, so no epsilon; with it goes the privacy of the comparison"
        " (`dpulr2024:thm2`).",
        "",
    ]


def _draw(path: Path, rows: list[dict[str, Any]], runs: list[tuple[Cell, dict[str, Any]]]) -> None:
    from nfa.papers.dpulr2024.pictures import setting_figure

    own = [(cell, record) for cell, record in runs if cell.key["reading"] == POOLED]
    data = own[0][1]["data"]
    setting_figure(path, own, title="Private training of ResNet-5", data=f"{data['name']}, {data['train']:,} images")


FIG4 = Experiment(
    id="dpulr2024:fig4",
    title='Figure 4 of "Forward Learning with Differential Privacy" (2024): test accuracy of ResNet-5, in percent',
    where=_FIG4["where"],
    transcription=_FIG4["transcription"],
    tolerance=0.0,
    readings={name: reading["why"] for name, reading in READINGS.items()},
    scales={scale: " ".join(_FIG4["scale"][scale]["what"].split()) for scale in SCALES},
    seeds={scale: _FIG4["scale"][scale]["seeds"] for scale in SCALES},
    cells=cells,
    paper=lambda key: None,
    not_comparable=partial(not_comparable, "fig4"),
    draw=_draw,
    notes=notes,
    tried=partial(tried, "fig4"),
    more=spent,
)
FIG4_REPAIRED = repaired(FIG4)
