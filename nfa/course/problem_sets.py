"""A problem set: its master, its submissions with the scores they must get, and how it is graded in one process.

The form of a set is written in ``sets/README.md``.
"""

import contextlib
import io
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from types import CodeType
from typing import Any

from nfa.course import MASTERS, SETS

STUB = "# YOUR CODE HERE\nraise NotImplementedError"
SOLUTION = re.compile(r"^([ \t]*)### BEGIN SOLUTION\n(.*?)^[ \t]*### END SOLUTION[ \t]*$", re.DOTALL | re.MULTILINE)
HIDDEN = re.compile(r"^[ \t]*### BEGIN HIDDEN TESTS\n(.*?)^[ \t]*### END HIDDEN TESTS[ \t]*$", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Cell:
    """A cell of a master: ``kind`` is "text", "free" (untitled code), "given", "solution" or "test"."""

    name: str
    kind: str
    source: str
    points: int = 0


@dataclass(frozen=True)
class Submission:
    """What one student wrote: the sources of some cells, the others being as in the reference solution.

    ``score`` is what it must get and ``fails`` the cells whose points it must lose.
    """

    name: str
    about: str
    sources: Mapping[str, str]
    score: int
    fails: tuple[str, ...] = ()


@dataclass(frozen=True)
class ProblemSet:
    """One set in its folder; see `load`."""

    name: str
    folder: Path
    title: str
    minutes: int
    statements: tuple[str, ...]
    cells: tuple[Cell, ...]
    expected: Mapping[str, Mapping[str, Mapping[str, Any]]]

    @property
    def tests(self) -> dict[str, int]:
        """The graded cells with their points."""
        return {cell.name: cell.points for cell in self.cells if cell.kind == "test"}

    @property
    def points(self) -> int:
        """What a full solution gets."""
        return sum(self.tests.values())

    @cached_property
    def submissions(self) -> dict[str, Submission]:
        """The reference, the blank notebook, and every file of ``solutions/`` and ``wrong/``, by name."""
        reference = Submission("reference", "the master itself", {}, self.points)
        empty = {cell.name: blank(cell.source) for cell in self.cells if cell.kind == "solution"}
        found = [reference, Submission("blank", "nothing filled in", empty, 0, tuple(self.tests))]
        for folder, table in self.expected.items():
            for name, row in table.items():
                sources = read_submission(self.folder / folder / f"{name}.py")
                score, fails = row.get("score", self.points), tuple(row.get("fails", ()))
                found.append(Submission(name, row["about"], sources, score, fails))
        return {submission.name: submission for submission in found}

    @cached_property
    def secrets(self) -> frozenset[str]:
        """Lines of solutions, hidden tests and checks that stand nowhere in what students are to see."""
        hidden = (self.folder / "checks.py").read_text(encoding="utf-8")
        seen = ""
        for cell in self.cells:
            hidden += "".join(f"\n{found[2]}" for found in SOLUTION.finditer(cell.source))
            hidden += "".join(f"\n{found[1]}" for found in HIDDEN.finditer(cell.source))
            seen += "\n" + HIDDEN.sub("", blank(cell.source))
        return frozenset(_telling(hidden) - _telling(seen))


def names() -> list[str]:
    """The problem sets that come with nfa."""
    return sorted(path.parent.name for path in SETS.glob("*/set.toml"))


def load(folder: Path) -> ProblemSet:
    """Read a problem set from its folder: ``set.toml`` and ``master.py``; submissions are read when they are asked for.

    Raises
    ------
    ValueError : if the folder is no problem set, its table lacks something, or its master has two cells of one name
    """
    import jupytext

    try:
        about = tomllib.loads((folder / "set.toml").read_text(encoding="utf-8"))
        notebook = jupytext.reads((folder / "master.py").read_text(encoding="utf-8"), fmt="py:percent")
    except FileNotFoundError:
        raise ValueError(f"a problem set is a folder with set.toml and master.py, got {folder}") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"set.toml of {folder.name} cannot be read: {error}") from None
    if lacks := [key for key in ("title", "minutes", "statements") if key not in about]:
        raise ValueError(f"set.toml of {folder.name} must have {', '.join(lacks)}")
    cells = []
    for at, cell in enumerate(notebook.cells):
        name, points = cell.metadata.get("title", ""), cell.metadata.get("points", 0)
        kind = "text" if cell.cell_type != "code" else "test" if points else "solution"
        if kind == "solution" and not cell.metadata.get("solution"):
            kind = "given" if name else "free"
        cells.append(Cell(name or f"cell_{at}", kind, cell.source, points))
    every = [cell.name for cell in cells]
    if twice := sorted({name for name in every if every.count(name) > 1}):
        raise ValueError(f"cells of {folder.name} need names of their own, got {', '.join(twice)} twice")
    expected = {kind: about.get(kind, {}) for kind in ("solutions", "wrong")}
    return ProblemSet(
        folder.name, folder, about["title"], about["minutes"], tuple(about["statements"]), tuple(cells), expected
    )


def read_submission(path: Path) -> dict[str, str]:
    """The titled cells of a submission's file; what stands above the first (a docstring, imports) is for its reader."""
    import jupytext

    cells = jupytext.reads(path.read_text(encoding="utf-8"), fmt="py:percent").cells
    return {cell.metadata["title"]: cell.source for cell in cells if "title" in cell.metadata}


def blank(source: str) -> str:
    """A cell as students get it: what is between the marks of a solution is replaced, as nbgrader does.

    Examples
    --------
    >>> print(blank("def f(x):\\n    ### BEGIN SOLUTION\\n    return x\\n    ### END SOLUTION"))
    def f(x):
        # YOUR CODE HERE
        raise NotImplementedError
    """
    return SOLUTION.sub(lambda found: "\n".join(found[1] + line for line in STUB.splitlines()), source)


def submitted(problems: ProblemSet, submission: Submission) -> Iterator[tuple[Cell, str]]:
    """Every cell with its source in this submission, which may have changed any of them.

    Raises
    ------
    ValueError : if it has a cell that the master has not
    """
    if unknown := sorted(set(submission.sources) - {cell.name for cell in problems.cells}):
        raise ValueError(f"{submission.name} has cells that {problems.name} has not: {', '.join(unknown)}")
    for cell in problems.cells:
        yield cell, submission.sources.get(cell.name, cell.source)


def grade(problems: ProblemSet, submission: Submission) -> dict[str, str]:
    """Grade a submission in this process: for each graded cell the sentence of its failure, or "" for its points.

    As nbgrader does, it runs the cells in their order, goes on after an error, and takes given and graded cells from
    the master whatever was submitted for them. Free cells (untitled code) are not run.
    """
    scope: dict[str, Any] = {"__name__": "__main__"}
    told = {}
    before = os.environ.get(MASTERS)
    os.environ[MASTERS] = str(problems.folder.parent)
    try:
        for cell, source in submitted(problems, submission):
            if cell.kind in ("given", "solution", "test"):
                problem = _run(source if cell.kind == "solution" else cell.source, cell.name, scope)
                if cell.kind == "test":
                    told[cell.name] = problem
                elif problem and cell.kind == "given":
                    raise ValueError(f"the given cell {cell.name} of {problems.name} fails: {problem}")
    finally:
        if before is None:
            del os.environ[MASTERS]
        else:
            os.environ[MASTERS] = before
    return told


def score(problems: ProblemSet, told: Mapping[str, str]) -> int:
    """The points of what `grade` returned."""
    return sum(points for name, points in problems.tests.items() if not told[name])


def leaks(problems: ProblemSet, text: str, own: str = "") -> list[str]:
    """Lines of solutions, hidden tests or checks that a text for students has, and marks that should be gone.

    What the student's ``own`` notebook has is no leak: many write what the reference solution has.
    """
    marks = [mark for mark in ("BEGIN SOLUTION", "END SOLUTION", "HIDDEN TESTS") if mark in text and mark not in own]
    return marks + sorted(problems.secrets & _telling(text) - _telling(own))


def _run(source: str, name: str, scope: dict[str, Any]) -> str:
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(_compiled(source, f"<{name}>"), scope)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


@lru_cache(maxsize=4096)
def _compiled(source: str, name: str) -> CodeType:
    return compile(source, name, "exec")


def _telling(text: str) -> set[str]:
    """The lines of code that say something: long enough, and neither comments nor imports."""
    lines = {line.strip() for line in text.splitlines()}
    return {line for line in lines if len(line) >= 12 and not line.startswith(("#", "import ", "from ", '"""', "def "))}
