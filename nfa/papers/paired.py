"""Differences in accuracy between two kinds of runs, paired by seed, with Student's 95 % interval."""

import math
import re
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scipy import stats

from nfa.experiments.experiment import Trained

BySeed = Mapping[int, float]  # accuracies of one kind of run, in percent
MINUS = "\N{MINUS SIGN}"
LONGEST = 35  # largest number of words of a caption


def half_width(values: list[float]) -> float:
    """Half the width of Student's 95 % interval for the mean of at least two values.

    Examples
    --------
    >>> round(half_width([1.0, 2.0, 3.0]), 3)  # 4.303 / sqrt(3)
    2.484
    """
    spread = statistics.stdev(values) / math.sqrt(len(values))
    return float(stats.t.ppf(0.975, len(values) - 1)) * spread


def unbroken(text: str) -> str:
    """The text with spaces at which no line is broken (no-break spaces)."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


@dataclass(frozen=True)
class Difference:
    """Points by which one kind of run is more accurate than another: the mean of differences paired by seed.

    Parameters
    ----------
    mean : points
    half : half of Student's 95 % interval for the mean; None for a single seed, which gives no interval
    n : number of seeds that both kinds of run have
    """

    mean: float
    half: float | None = None
    n: int = 1

    def __str__(self) -> str:
        return f"{self.mean:+.2f}" + ("" if self.half is None else f" ± {self.half:.2f}")

    @property
    def short(self) -> str:
        """The difference, rounded to a tenth of a point, for a picture."""
        mean, half = round(self.mean, 1), "" if self.half is None else f" ± {self.half:.1f}"
        return unbroken(f"{MINUS if mean < 0 else '+'}{abs(mean):.1f}{half}")

    def above(self, points: float) -> bool:
        """Whether the whole interval, or the difference of a single seed, is above this number of points."""
        return self.mean - (self.half or 0.0) > points

    def below(self, points: float) -> bool:
        """Whether the whole interval, or the difference of a single seed, is below this number of points."""
        return self.mean + (self.half or 0.0) < points


def paired(ours: BySeed, other: BySeed) -> Difference | None:
    """The mean difference of two kinds of runs over their common seeds; None if they have no seed in common.

    Parameters
    ----------
    ours, other : {seed: accuracy in percent}

    Examples
    --------
    >>> print(paired({1: 70.0, 2: 72.0, 3: 71.0}, {1: 69.0, 2: 70.0, 3: 68.0}))
    +2.00 ± 2.48
    >>> print(paired({1: 70.0, 2: 72.0}, {1: 75.5}))
    -5.50
    """
    seeds = sorted(ours.keys() & other.keys())
    if not seeds:
        return None
    values = [ours[seed] - other[seed] for seed in seeds]
    half = half_width(values) if len(values) > 1 else None
    return Difference(round(statistics.fmean(values), 9), half, len(values))  # gives -0.05 instead of -0.04999999999


def by_seed(runs: Trained, names: Iterable[str]) -> dict[tuple[str, ...], dict[int, float]]:
    """The final test accuracies of runs, in percent, grouped by the values of their keys under these names.

    Parameters
    ----------
    names : names in `Cell.key`; if a key lacks a name, its value there is an empty text
    """
    chosen = tuple(names)
    found: dict[tuple[str, ...], dict[int, float]] = {}
    for cell, record in runs:
        place = tuple(cell.key.get(name, "") for name in chosen)
        found.setdefault(place, {})[record["seed"]] = 100 * record["test_accuracy"]
    return found


def intervals(differences: Iterable[Difference]) -> str:
    """A caption that explains the numbers after ± and the numbers without an interval.

    Examples
    --------
    >>> intervals([Difference(1.0, 0.5, 3), Difference(2.0)])
    "The number after ± is half of Student's 95 % interval over 3 seeds. A number without ± comes from one seed."
    >>> intervals([Difference(2.0)])
    'Each of these numbers comes from one seed, so no interval can be given.'
    """
    every = list(differences)
    counts = sorted({one.n for one in every if one.half is not None})
    if not counts:
        return "Each of these numbers comes from one seed, so no interval can be given."
    told = f"The number after ± is half of Student's 95 % interval over {' or '.join(map(str, counts))} seeds"
    return f"{told}{'. A number without ± comes from one seed' if any(one.half is None for one in every) else ''}."


def brief(first: str, *others: str) -> list[str]:
    """The first sentences of a caption, with at most `LONGEST` words in total. The first sentence is always kept.

    Examples
    --------
    >>> brief("The paper: more.", "Here, less.", "word " * 40)
    ['The paper: more.', 'Here, less.']
    """
    kept = [first]
    for other in others:
        if sum(len(re.findall(r"\S*\w\S*", sentence)) for sentence in [*kept, other]) > LONGEST:
            break
        kept.append(other)
    return kept
