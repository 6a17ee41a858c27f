"""The papers' experiments by id: `reproduce` reruns a table or figure, and `find` returns the experiment of an id."""

import importlib
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from nfa import ledger, require
from nfa.experiments.experiment import VARIANTS, Analytic, Experiment, Result
from nfa.experiments.reproduce import reproduce as reproduce_experiment
from nfa.papers.run_selection import only as chosen_of


def _named_in(field: str) -> dict[str, str]:
    """{id or alias of the ledger: module:object}, collected from the headers of the papers' folders."""
    headers = [ledger.header(paper) for paper in sorted([*ledger.documents(), ledger.OURS])]
    return {f"{header.paper}:{name}": place for header in headers for name, place in getattr(header, field)}


# A module is imported only when its experiment is requested.
EXPERIMENTS, REPAIRED = _named_in("rerun"), _named_in("repaired")
LISTED = "`nfa reproduce --list` lists the experiments"


class NotRerun(ValueError):
    """No item that can be rerun has this name."""


def find(item: str, variant: str = "published") -> Experiment | Analytic:
    """The experiment of an id or alias of the ledger, in one of `VARIANTS`.

    Raises
    ------
    NotRerun : if no item has this name
    ValueError : if the item does not have the variant
    """
    try:
        id = ledger.find(item).id
    except ValueError as unknown:
        names = [*EXPERIMENTS, *dict.fromkeys(name.partition(":")[0] for name in EXPERIMENTS), "all"]
        close = require.meant(item, names) or f"; {LISTED}"
        raise NotRerun(f"no item that can be rerun has the name {item!r}{close}") from unknown
    if variant not in VARIANTS:
        raise ValueError(f"variant must be one of {', '.join(VARIANTS)}, got {variant!r}")
    item = next((name for name in EXPERIMENTS if ledger.find(name).id == id), "")
    if not item:
        raise NotRerun(f"there is no experiment for {id}. {LISTED}")
    known = EXPERIMENTS if variant == "published" else REPAIRED
    if item not in known:
        raise ValueError(f"{item} has no variant {variant!r}. The items with this variant are {', '.join(known)}")
    paper, _, local = item.partition(":")
    experiment: Experiment | Analytic = loaded(
        known[item], f"[paper.{paper}.{'rerun' if variant == 'published' else 'repaired'}] {local}"
    )
    return experiment


def loaded(place: str, line: str) -> Any:
    """The object that ``module:object`` names.

    Parameters
    ----------
    place : module:object
    line : the line of a paper's header that names the object, such as "[paper.lee2020.rerun] fig2". Error messages
        contain this line

    Raises
    ------
    ValueError : if there is no such module or object, or if the module's TOML cannot be read or lacks a field
    """
    name, _, attribute = place.partition(":")
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as absent:
        if not f"{name}.".startswith(f"{absent.name}."):
            raise  # the module `name` exists, but a library that it imports does not
        raise ValueError(f"{line}: there is no module {absent.name}") from absent
    except KeyError as absent:
        raise ValueError(f"{line}: {name} reads the field {absent}, which is missing") from absent
    except tomllib.TOMLDecodeError as wrong:
        raise ValueError(f"{line}: {name} reads a file that is not valid TOML: {wrong}") from wrong
    if not hasattr(module, attribute):
        raise ValueError(f"{line}: {name} has no object {attribute}")
    return getattr(module, attribute)


def variants(item: str) -> list[str]:
    """The variants of `VARIANTS` that an item has."""
    return [variant for variant, known in zip(VARIANTS, (EXPERIMENTS, REPAIRED), strict=True) if item in known]


def recorded(item: str, variant: str, scale: str) -> dict[str, Any] | None:
    """The cost of an item's recorded runs: numbers of seeds and runs, total seconds, and whether they used kernels.

    The result is None if no records are saved. ``python -m tests.project.committed`` writes these values from the
    records in results/.
    """
    return _recorded().get(variant, {}).get(item, {}).get(scale)


def estimated(item: str, variant: str, scale: str) -> int | None:
    """Estimated seconds of all runs of a scale without `recorded` time, from records of the same rules and networks.

    The result is None if a combination of rule and network has no record.
    """
    found: int | None = _recorded().get("estimated", {}).get(variant, {}).get(item, {}).get(scale)
    return found


@cache
def _recorded() -> dict[str, Any]:
    return tomllib.loads(files("nfa.papers").joinpath("recorded.toml").read_text(encoding="utf-8"))


def stands_for_several(name: str) -> bool:
    """Whether a name is "all" or a paper, so that it stands for several items."""
    return name == "all" or is_paper(name)


def is_paper(name: str) -> bool:
    """Whether this is the name of a paper with at least one item that can be rerun."""
    return any(item.startswith(f"{name}:") for item in EXPERIMENTS)


def several(names: Iterable[str], variant: str = "published") -> list[Experiment | Analytic]:
    """The experiments of the named items, each experiment once. A paper's name or "all" stands for several items.

    Raises
    ------
    ValueError : if an item does not exist or lacks the variant, or if no item of a named paper has the variant
    """
    if variant not in VARIANTS:
        raise ValueError(f"variant must be one of {', '.join(VARIANTS)}, got {variant!r}")
    known = EXPERIMENTS if variant == "published" else REPAIRED
    found: dict[str, Experiment | Analytic] = {}
    for name in names:
        items = [name]
        if stands_for_several(name):
            items = [item for item in known if name == "all" or item.startswith(f"{name}:")]
            if not items:
                raise ValueError(
                    f"no item of {name} has a variant {variant!r}. The items with this variant are {', '.join(known)}"
                )
        for item in items:
            experiment = find(item, variant)
            found[experiment.id] = experiment
    return list(found.values())


def reproduce(
    item: str,
    *,
    variant: str = "published",
    scale: str = "demo",
    only: Mapping[str, str | Sequence[str]] | None = None,
    **how: Any,
) -> Result:
    """Rerun a table or figure of a paper and compare it with the paper's numbers.

    Parameters
    ----------
    item : id or alias of the ledger, such as "ohana2021:table1"
    variant : "published", as in the paper, or "repaired", with proved mechanisms and their guarantees
    scale : "demo", "small" or "paper"
    only : values of the runs' keys, such as {"sigma": "0.01,0.05", "reading": "sound"}. Only runs with these values are
        made and shown. `nfa.papers.run_selection.only` describes the details and the errors
    how : seeds, jobs, out and the other arguments of `nfa.experiments.reproduce.reproduce`, which documents the errors
    """
    return reproduce_experiment(chosen_of(find(item, variant), scale, only or {}), scale=scale, **how)
