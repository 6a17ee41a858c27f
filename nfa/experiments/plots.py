"""Pictures of experiments. nfa imports matplotlib only when it draws a picture, and writes every picture to a file."""

import io
import statistics
import textwrap
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from nfa.experiments.experiment import Trained, unfinished
from nfa.experiments.records import epochs_of
from nfa.whole import write_whole

BANDS = (
    "Lines are means over the seeds, and bands reach from the lowest to the highest seed. The number after ± is half of"
    " Student's 95 % interval."
)
LETTERS = 13.4  # number of letters of a caption in one inch

# For each format, the metadata that would contain the date. The value None leaves the date out.
FORMATS: dict[str, dict[str, None]] = {"png": {}, "pdf": {"CreationDate": None}, "svg": {"Date": None}}


def new_figure(title: str, width: float, runs: Trained | None = None):
    """An empty figure, 4.8 inches high, with its title at the top left.

    If runs stopped before their last epoch, a line below the title reports the number of their epochs.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if stopped := unfinished(epochs_of(record) for _, record in runs or []):
        title = f"{title}\nstopped at {stopped}"
    figure = Figure(figsize=(width, 4.8), dpi=130, layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=15, x=0.01, ha="left", fontweight="bold")
    return figure


def captioned(figure, sentences: Sequence[str]):
    """Write sentences below a figure, each on a new line. Return the part of the figure above the sentences."""
    width, height = figure.get_size_inches()
    lines = [
        line for sentence in sentences for line in textwrap.wrap(sentence, int(LETTERS * width), break_on_hyphens=False)
    ]
    if not lines:
        return figure
    room = 0.1 + 0.19 * len(lines)
    figure.set_figheight(height + room)
    above, below = figure.subfigures(2, 1, height_ratios=(height, room))
    below.text(0.01, 1.0, "\n".join(lines), ha="left", va="top", fontsize=10, color="0.2", linespacing=1.3)
    return above


def empty_figure(path: Path, why: str) -> None:
    """Draw a PNG that gives the reason for an empty picture.

    A picture is empty if only some runs of an experiment were requested, and the picture needs other runs.
    """
    figure = new_figure("Nothing to draw", 9)
    figure.text(0.5, 0.5, why, ha="center", fontsize=12, color="0.3")
    save_figure(figure, path)


def picture_names(format: str, prefix: str = "") -> tuple[str, ...]:
    """The names of figure.png and of the picture in another of `FORMATS`. Raises ValueError for any other format."""
    if format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    return tuple(dict.fromkeys((f"{prefix}figure.png", f"{prefix}figure.{format}")))


def save_figure(figure, path: Path) -> None:
    """Write a figure in the format of its file name, whole or not at all. The file also contains the title as text.

    Equal figures give equal files, because the files contain no date.
    """
    from matplotlib import rc_context

    picture, format = io.BytesIO(), path.suffix.removeprefix(".").lower()
    with rc_context({"svg.hashsalt": "nfa"}):
        figure.savefig(picture, format=format, metadata={"Title": figure.get_suptitle()} | FORMATS[format])
    write_whole(path, picture.getvalue())


def tidy(axes) -> None:
    """Remove the top and right sides of the frame, and draw pale horizontal lines."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=11)
    axes.grid(axis="y", color="0.92")
    axes.set_axisbelow(True)


def mean_curve(found: list[dict[str, Any]], value) -> tuple[range, list[float]]:
    """The epochs that all records have, and for each epoch the mean of a value over the records."""
    curves = [[value(entry) for entry in record["history"]] for record in found]
    mean = [statistics.fmean(values) for values in zip(*curves, strict=False)]
    return range(1, len(mean) + 1), mean


def seeds_curve(
    axes, found: list[dict[str, Any]], value: Callable[[Any], float], style: Mapping[str, Any], label: str
) -> tuple[int, float]:
    """Draw the mean over the records as a line, and a band from the lowest to the highest value.

    Returns the largest number of epochs of a record, and the last value of the mean. The band covers the epochs that
    all records have. A record with more epochs continues as a thin line.

    Parameters
    ----------
    found : records of one kind of run, one for each seed
    value : function of an entry of a history
    style : colour and kind of the line
    """
    epochs, mean = mean_curve(found, value)
    axes.plot(epochs, mean, **style, linewidth=1.8, label=label, marker="o" if len(mean) == 1 else "")
    curves = [[value(entry) for entry in record["history"]] for record in found]
    if len(curves) > 1:
        low, high = ([pick(values) for values in zip(*curves, strict=False)] for pick in (min, max))
        axes.fill_between(epochs, low, high, color=style["color"], alpha=0.22, linewidth=0)
    for curve in curves:
        if curve[len(mean) :]:
            axes.plot(range(len(mean), len(curve) + 1), curve[len(mean) - 1 :], **style, linewidth=0.8, alpha=0.7)
    return max(map(len, curves)), mean[-1]


def spread_labels(heights: list[float], gap: float) -> list[float]:
    """Heights for labels, in the given order. Overlapping labels are moved apart without changing their mean height."""
    placed = list(heights)
    order = sorted(range(len(heights)), key=heights.__getitem__)
    for below, above in pairwise(order):
        placed[above] = max(placed[above], placed[below] + gap)
    shift = statistics.fmean(placed) - statistics.fmean(heights)
    return [height - shift for height in placed]
