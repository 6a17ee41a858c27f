"""Figure 2 of Berthier (2019), in exact numbers: Gaussian noise masks the value of a query."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from nfa.experiments.experiment import Analytic
from nfa.experiments.report import compare
from nfa.papers.berthier2019.mechanisms.printed import DELTA, PRINTED, REPORT, TRANSCRIPTION, notes
from nfa.papers.berthier2019.mechanisms.testing import success
from nfa.papers.berthier2019.mechanisms.total_variation import gaussian_tv
from nfa.privacy.gaussians import epsilon_gaussian

_FIG2 = PRINTED["fig2"]


def fig2_rows() -> list[dict[str, Any]]:
    """A row for each amount of noise: total variation, probability that the best guess is right, and exact epsilon.

    Source: [berthier2019:fig2]
    """
    rows = []
    for noise in _FIG2["noise"]:
        tv = gaussian_tv(l2_sensitivity=1, noise_std=noise)
        row = {"sigma / Delta": f"{noise:g}"} | compare(None, [tv], 0.0, "the figure has no scale", digits=9)
        row |= {"best guess": f"{100 * success(tv):.2f} %"}
        rows.append(row | {"epsilon": round(epsilon_gaussian(delta=DELTA, noise_multiplier=noise), 6)})
    return rows


def fig2_summary(rows: list[dict[str, Any]]) -> list[str]:
    """Sentences that summarise the rows."""
    first, last = rows[0], rows[-1]
    falls = all(later["ours"] < row["ours"] for row, later in pairwise(rows))
    return [
        f"The total variation {'falls with every doubling' if falls else 'does not always fall with a doubling'} of the"
        f" noise, from {first['ours']:.4f} at sigma = {first['sigma / Delta']} Delta to {last['ours']:.4f} at"
        f" {last['sigma / Delta']} Delta. No amount of noise makes it 0.",
        f"The best guess of the data set is right in {first['best guess']} of the cases at the smallest sigma, and in"
        f" {last['best guess']} at the largest sigma.",
    ]


def _draw_fig2(path: Path, rows: list[dict[str, Any]]) -> None:
    from nfa.papers.berthier2019.mechanisms.pictures import masking_figure

    noise = np.geomspace(0.1, 32, 200)
    curve = [gaussian_tv(l2_sensitivity=1, noise_std=s) for s in noise]
    points = [(float(row["sigma / Delta"]), row["ours"]) for row in rows]
    masking_figure(path, _FIG2["drawn"], (noise, curve), points)


FIG2 = Analytic.from_toml(
    _FIG2,
    id="berthier2019:fig2",
    title=f"Figure 2 of {REPORT}: masking a query's value by Gaussian noise",
    transcription=TRANSCRIPTION,
    rows=fig2_rows,
    columns=("sigma / Delta", "paper", "ours", "best guess", "epsilon", "verdict"),
    measures="the total variation between the outputs on two neighbours",
    digits=4,
    within="no row, because the report prints no number",
    summary=fig2_summary,
    notes=lambda rows: notes(_FIG2),
    picture=_draw_fig2,
)
