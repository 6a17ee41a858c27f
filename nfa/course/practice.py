"""A student's own run of the checks of a problem set. The values differ from the values of grading.

`nfa course check SET.ipynb` runs the checks on a notebook, and `check_it` runs some of the checks inside a notebook. A
check gets the values of the notebook that have the names of its parameters. nfa keeps no score.
"""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from nfa.course import checks, names, renamed
from nfa.course.checking import TimeIsUp, Wrong, limit, practising, shortened
from nfa.course.submissions import CannotGradeError, SubmittedCell, read
from nfa.require import meant

CELL_SECONDS = 30.0  # CPU time limit of a cell, as in grading


@dataclass(frozen=True)
class Practised:
    """The result of one check. ``problem`` is "" if the notebook passes, and otherwise the message of grading."""

    check: str
    problem: str = ""


def parameters(module: ModuleType, check: str) -> tuple[str, ...]:
    """The names of the notebook's functions and values that a check needs.

    Raises
    ------
    ValueError : if the problem set has no such check
    """
    functions = {name: one for name, one in vars(module).items() if inspect.isfunction(one)}
    own = {name: one for name, one in functions.items() if one.__code__.co_filename == module.__file__}
    if check not in own:
        raise ValueError(f"the problem set has no check {check!r}{meant(check, own) or ''}")
    return tuple(inspect.signature(own[check]).parameters)


def practised(name: str, which: Sequence[str], scope: Mapping[str, Any]) -> Iterator[Practised]:
    """Run checks of a problem set on the names that a notebook has defined, with the values of practice.

    Raises
    ------
    ValueError : if the problem set has no such check
    """
    module = checks(name)
    for check in which:
        needs = parameters(module, check)
        try:
            for one in needs:
                if one not in scope:
                    raise Wrong(f"{one} is not written yet")
            with practising():
                getattr(module, check)(*(scope[one] for one in needs))
        except Wrong as wrong:
            yield Practised(check, str(wrong))
        else:
            yield Practised(check)


def check_it(name: str, scope: Mapping[str, Any], *which: str) -> None:
    """Print for each of these checks whether your functions pass it and, if not, the sentence that grading would give.

    The values of these checks differ from the values of grading. nfa keeps no score.

    Parameters
    ----------
    name : problem set, such as ps2_dfa
    scope : ``globals()`` of the notebook
    which : names of graded cells

    Raises
    ------
    ValueError : for an unknown problem set, or for a check that the set does not have
    """
    if name not in (known := names()):
        if not (now := renamed(name, known)):
            raise ValueError(f"there is no problem set {name!r}{meant(name, known) or ''}")
        print(f"{name} is now {now}")
        name = now
    for found in practised(name, which, scope):
        print(f"{found.check}: {found.problem or 'passes'}")


@dataclass(frozen=True)
class Notebook:
    """A student's notebook for practice.

    Parameters
    ----------
    name : the problem set
    cells : given and solution cells, in order
    graded : names of the graded cells, in order
    """

    name: str
    cells: tuple[SubmittedCell, ...]
    graded: tuple[str, ...]


def notebook(path: Path) -> Notebook:
    """The notebook in a file.

    Raises
    ------
    ValueError : if the file is not a notebook, or not the notebook of a problem set
    """
    try:
        cells = read(path.read_bytes())
    except CannotGradeError as error:
        raise ValueError(f"{path}: {error}") from None
    graded = tuple(dict.fromkeys(cell.mark for cell in cells if cell.mark and cell.meta.get("grade")))
    for name in names():
        if graded and all(hasattr(checks(name), one) for one in graded):
            kept = tuple(cell for cell in cells if cell.mark and not cell.meta.get("grade") and cell.kind == "code")
            return Notebook(name, kept, graded)
    raise ValueError(
        f"{path} is not the notebook of a problem set: its cells have no names of graded cells. Take the notebook that"
        " you got from your teacher, and copy your solutions into it"
    )


def run(found: Notebook) -> Iterator[Practised]:
    """Run the cells of a notebook in order, and then its checks. Failed cells are reported before the checks.

    Cells without a name, such as plots, are not run.
    """
    scope: dict[str, Any] = {"__name__": "__main__"}
    for cell in found.cells:
        try:
            with limit(CELL_SECONDS):
                exec(compile(cell.source, f"<{cell.mark}>", "exec"), scope)
        except TimeIsUp:
            yield Practised(cell.mark, f"the cell did not end within {CELL_SECONDS:g} seconds")
        except SyntaxError as error:
            yield Practised(cell.mark, f"line {error.lineno} is not valid Python: {error.msg}")
        except Exception as error:
            yield Practised(cell.mark, f"the cell raised {type(error).__name__}: {shortened(error)}")
    yield from practised(found.name, found.graded, scope)
