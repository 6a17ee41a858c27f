"""A selection of an item's runs by the values in their keys, as a separate experiment."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from nfa.experiments.experiment import Analytic, Cell, Experiment, in_words

Item = TypeVar("Item", bound=Experiment | Analytic)


class NoSuchRun(ValueError):
    """No run of an item has the requested values."""


def options(texts: Iterable[str]) -> dict[str, str]:
    """The values after each --only of the command line, by the key's name. The values of a repeated key are joined.

    Raises
    ------
    ValueError : for a text that is not KEY=V or KEY=V,V

    Examples
    --------
    >>> options(["sigma=0.01,0.05", "reading=sound"])
    {'sigma': '0.01,0.05', 'reading': 'sound'}
    """
    found: dict[str, str] = {}
    for text in texts:
        name, _, values = (part.strip() for part in text.partition("="))
        if not (name and values):
            raise ValueError(f"only must be KEY=V or KEY=V,V, got {text!r}")
        found[name] = f"{found[name]},{values}" if name in found else values
    return found


def only(experiment: Item, scale: str, wanted: Mapping[str, str | Sequence[str]]) -> Item:
    """The experiment with only those runs that have the wanted values in their keys.

    If no key is named, the result is the whole experiment. Otherwise the title of the result names the selection. The
    runs keep their names, settings and folder, so finished runs count as finished. Files of other runs do not change.

    Parameters
    ----------
    experiment : as `nfa.papers.find` returns it
    scale : the scale of the runs
    wanted : {name: values} of `Cell.key`; a run needs one of the values for each name. In a text, commas separate the
        values. A value that itself contains commas is recognised

    Raises
    ------
    NoSuchRun : if no run of the scale has a name or value (the message lists those that exist), or if no run has all
        values at once
    ValueError : if the experiment does not have the scale, or if the item is computed from formulas
    """
    if not wanted:
        return experiment
    if isinstance(experiment, Analytic):
        raise ValueError(f"{experiment.id} is computed from formulas, so --only has no effect: leave out --only")
    if scale not in experiment.scales:
        raise ValueError(f"{experiment.id} has no scale {scale}. Its scales are {', '.join(experiment.scales)}")
    every = experiment.cells
    keys = [cell.key for cell in every(scale, [1])]
    at = f"no run of {experiment.id} at scale {scale} has"
    chosen: dict[str, tuple[str, ...]] = {}
    for name, values in wanted.items():
        there = list(dict.fromkeys(key[name] for key in keys if name in key))
        if not there:
            raise NoSuchRun(f"{at} a key {name!r}: {_choose(dict.fromkeys(name for key in keys for name in key))}")
        chosen[name] = tuple(dict.fromkeys(_apart(values, there) if isinstance(values, str) else values))
        for value in chosen[name]:
            if value not in there:
                raise NoSuchRun(f"{at} {name} {value!r}: {_choose(there)}")

    def cells(scale: str, seeds: list[int]) -> list[Cell]:
        return [cell for cell in every(scale, seeds) if cell.fits(chosen)]

    if not cells(scale, [1]):
        raise NoSuchRun(f"{at} {in_words(chosen)} at once")
    title = f"{experiment.title}; only {in_words(chosen)}"
    return replace(experiment, title=title, chosen=chosen, cells=cells)


def _choose(names: Collection[str]) -> str:
    return f"choose from {', '.join(names)}"


def _apart(text: str, there: Collection[str]) -> list[str]:
    """The values that a text names.

    We read from the left and take the longest known value. If no known value fits, we take the text up to a comma.
    """
    parts, found = text.split(","), []
    while parts:
        joined = {k: ",".join(parts[:k]).strip() for k in range(len(parts), 0, -1)}
        k = next((k for k, value in joined.items() if value in there), 1)
        found.append(joined[k])
        del parts[:k]
    return found
