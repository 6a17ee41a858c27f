"""A problem set: its master, its example submissions with their required scores, and grading in one process.

``sets/README.md`` describes the form of a set.
"""

import ast
import contextlib
import io
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import takewhile
from pathlib import Path
from types import CodeType
from typing import Any, NamedTuple

from nfa.course import MASTERS

SYNTAX = ("SyntaxError", "IndentationError", "TabError")
STUB = "# YOUR CODE HERE\nraise NotImplementedError"
SOLUTION = re.compile(r"^([ \t]*)### BEGIN SOLUTION\n(.*?)^[ \t]*### END SOLUTION[ \t]*$", re.DOTALL | re.MULTILINE)
HIDDEN = re.compile(r"^[ \t]*### BEGIN HIDDEN TESTS\n(.*?)^[ \t]*### END HIDDEN TESTS[ \t]*$", re.DOTALL | re.MULTILINE)
HEADER = re.compile(r'# %% (\w+)(?: score=(\d+)(?: fails=(\["\w+"(?:, "\w+")*\]))?)?')  # of solutions.py and wrong.py
HEADERS = '`# %% variant score=18`, `# %% variant score=18 fails=["cell", "cell"]` or `# %% cell`'


@dataclass(frozen=True)
class NotebookCell:
    """A cell of a master: ``kind`` is "text", "free" (untitled code), "given", "solution" or "test"."""

    name: str
    kind: str
    source: str
    points: int = 0


@dataclass(frozen=True)
class Submission:
    """An example submission: the sources of some cells. The other cells are those of the reference solution.

    ``score`` is its required score, and ``fails`` are the cells that must fail. ``replacements`` are triples (cell,
    old, new) that make some of the sources from the reference solution.
    """

    name: str
    about: str
    sources: Mapping[str, str]
    score: int
    fails: tuple[str, ...] = ()
    replacements: tuple[tuple[str, str, str], ...] = ()


class Slip(NamedTuple):
    """One replacement in the reference solution, and the only graded cell that must then fail."""

    cell: str
    old: str
    new: str
    fails: str


@dataclass(frozen=True)
class ProblemSet:
    """One set in its folder; see `load`."""

    name: str
    folder: Path
    title: str
    minutes: int
    statements: tuple[str, ...]
    cells: tuple[NotebookCell, ...]

    @property
    def tests(self) -> dict[str, int]:
        """The graded cells with their points."""
        return {cell.name: cell.points for cell in self.cells if cell.kind == "test"}

    @property
    def points(self) -> int:
        """The score of a full solution."""
        return sum(self.tests.values())

    @cached_property
    def solutions(self) -> list[Submission]:
        """The variants of ``solutions.py``."""
        return read_script(self.folder / "solutions.py", self.cells)[0]

    @cached_property
    def wrong(self) -> list[Submission]:
        """The variants of ``wrong.py``."""
        return read_script(self.folder / "wrong.py", self.cells)[0]

    @cached_property
    def slips(self) -> list[Slip]:
        """The slips that ``wrong.py`` lists."""
        return read_script(self.folder / "wrong.py", self.cells)[1]

    @property
    def reference(self) -> Submission:
        """The master itself."""
        return Submission("reference", "the master itself", {}, self.points)

    @cached_property
    def submissions(self) -> dict[str, Submission]:
        """The reference, the blank notebook, and every variant of ``solutions.py`` and ``wrong.py``, by name."""
        empty = {cell.name: blank(cell.source) for cell in self.cells if cell.kind == "solution"}
        nothing = Submission("blank", "nothing filled in", empty, 0, tuple(self.tests))
        found = [self.reference, nothing, *self.solutions, *self.wrong]
        _refuse_twice([submission.name for submission in found], f"submissions of {self.name}")
        return {submission.name: submission for submission in found}

    @cached_property
    def secrets(self) -> frozenset[str]:
        """The lines of solutions, hidden tests and checks that do not occur in the student version."""
        hidden = (self.folder / "checks.py").read_text(encoding="utf-8")
        seen = ""
        for cell in self.cells:
            hidden += "".join(f"\n{found[2]}" for found in SOLUTION.finditer(cell.source))
            hidden += "".join(f"\n{found[1]}" for found in HIDDEN.finditer(cell.source))
            seen += "\n" + HIDDEN.sub("", blank(cell.source))
        return frozenset(_telling(hidden) - _telling(seen))


def load(folder: Path) -> ProblemSet:
    """Read a problem set from ``set.toml`` and ``master.py`` in its folder. Submissions are read at their first use.

    Raises
    ------
    ValueError : if the folder is not a problem set, if its table lacks an entry, or if two cells of its master have the
        same name
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
        cells.append(NotebookCell(name or f"cell_{at}", kind, cell.source, points))
    _refuse_twice([cell.name for cell in cells], f"cells of {folder.name}")
    return ProblemSet(folder.name, folder, about["title"], about["minutes"], tuple(about["statements"]), tuple(cells))


def read_script(path: Path, cells: Iterable[NotebookCell]) -> tuple[list[Submission], list[Slip]]:
    """The variants of ``solutions.py`` or ``wrong.py`` and the slips in it. Both are empty if there is no such script.

    A header with a score begins a variant. The comment below the header describes the variant. Then the replacements in
    the reference solution and the whole cells of the variant follow, up to the next header with a score.

    Parameters
    ----------
    path : the percent script
    cells : the master's cells

    Raises
    ------
    ValueError : for a header of another form; for a cell without a variant above it, a cell that the master does not
        have, or a cell that occurs twice in one variant; for a variant without a description or without a change; and
        for a replacement that does not fit at exactly one place
    """
    if not path.is_file():
        return [], []
    reference = {cell.name: cell.source for cell in cells}
    text = path.read_text(encoding="utf-8")
    headers = list(re.finditer(r"^#[ \t]*%%.*$", text, re.MULTILINE))
    ends = [header.start() for header in headers[1:]] + [len(text)]
    variants: list[Submission] = []
    slips: list[Slip] = []
    sources: dict[str, str] = {}  # the sources of the current variant
    for header, end in zip(headers, ends, strict=True):
        where = f"{path.name} of {path.parent.name}, line {text.count(chr(10), 0, header.start()) + 1}"
        source = text[header.end() : end].strip("\n")
        parts = HEADER.fullmatch(header[0].rstrip())
        if parts is None:
            raise ValueError(f"{where}: a header must have the form {HEADERS}, got {header[0]!r}")
        name, score, fails = parts.groups(default="")
        if score:
            comment = takewhile(lambda line: line.startswith("#"), source.splitlines())
            about = " ".join(line.removeprefix("#").strip() for line in comment)
            if not about:
                raise ValueError(f"{where}: below the header of {name}, a comment must describe this variant")
            sources = {}
            replacements = _tuples(source, ("cell", "old", "new"), where)
            for cell, old, new in replacements:
                sources[cell] = replaced({**reference, **sources}, cell, old, new, where)
            failed = tuple(re.findall(r"\w+", fails))
            variants.append(Submission(name, about, sources, int(score), failed, tuple(replacements)))
        elif name == "slips":
            for cell, old, new, failed in _tuples(source, ("cell", "old", "new", "graded cell"), where):
                replaced(reference, cell, old, new, where)
                slips.append(Slip(cell, old, new, failed))
        elif not variants:
            raise ValueError(f"{where}: the header of a variant, with a score, must come before the cell {name}")
        elif name not in reference:
            raise ValueError(
                f"{where}: the master has no cell {name}. If {name} is a variant, the header needs a score"
            )
        elif name in sources:
            raise ValueError(f"{where}: {variants[-1].name} has the cell {name} twice")
        else:
            sources[name] = source
    if empty := [variant.name for variant in variants if not variant.sources]:
        raise ValueError(
            f"{path.name} of {path.parent.name}: each variant must change at least one cell, but these variants"
            " change no cell:"
            f" {', '.join(empty)}"
        )
    return variants, slips


def replaced(sources: Mapping[str, str], cell: str, old: str, new: str, where: str = "replacement") -> str:
    """The source of a cell with ``old`` replaced by ``new``.

    Raises
    ------
    ValueError : if there is no such cell, or if ``old`` does not occur exactly once in it. The message begins with
        ``where``
    """
    if cell not in sources:
        raise ValueError(f"{where}: the master has no cell {cell}")
    if (times := sources[cell].count(old)) != 1:
        raise ValueError(f"{where}: {old!r} must occur exactly once in the cell {cell}, but occurs {times} times")
    return sources[cell].replace(old, new)


def blank(source: str) -> str:
    """A cell of the student version: the text between the marks of a solution is replaced, as by nbgrader.

    Examples
    --------
    >>> print(blank("def f(x):\\n    ### BEGIN SOLUTION\\n    return x\\n    ### END SOLUTION"))
    def f(x):
        # YOUR CODE HERE
        raise NotImplementedError
    """
    return SOLUTION.sub(lambda found: "\n".join(found[1] + line for line in STUB.splitlines()), source)


def submitted(problems: ProblemSet, submission: Submission) -> Iterator[tuple[NotebookCell, str]]:
    """Every cell with its source in this submission. A submission can change any cell.

    Raises
    ------
    ValueError : if the submission has a cell that the master does not have
    """
    if unknown := sorted(set(submission.sources) - {cell.name for cell in problems.cells}):
        raise ValueError(f"{submission.name} has cells that {problems.name} does not have: {', '.join(unknown)}")
    for cell in problems.cells:
        yield cell, submission.sources.get(cell.name, cell.source)


def grade(problems: ProblemSet, submission: Submission) -> dict[str, str]:
    """Grade a submission in this process. Return the sentence of the failure, or "", for each graded cell.

    The function runs the cells in order and continues after an error, like nbgrader. It always takes given and graded
    cells from the master. Free cells (untitled code) are not run.
    """
    scope: dict[str, Any] = {"__name__": "__main__"}
    told = {}
    broken: dict[str, str] = {}  # messages about functions in cells that are not valid Python
    before = os.environ.get(MASTERS)
    os.environ[MASTERS] = str(problems.folder.parent)
    try:
        for cell, source in submitted(problems, submission):
            if cell.kind in ("given", "solution", "test"):
                problem = _run(source if cell.kind == "solution" else cell.source, cell.name, scope)
                if cell.kind == "test":
                    missing = re.match(r"NameError: name '(\w+)' is not defined", problem)
                    told[cell.name] = broken.get(missing[1], problem) if missing else problem
                elif cell.kind == "solution" and problem.startswith(SYNTAX):
                    said = f"Wrong: the cell {cell.name}: found a syntax error, expected valid Python; {problem}"
                    broken |= dict.fromkeys(re.findall(r"(?m)^def (\w+)", cell.source), said)
                elif problem and cell.kind == "given":
                    raise ValueError(f"the given cell {cell.name} of {problems.name} fails: {problem}")
    finally:
        if before is None:
            del os.environ[MASTERS]
        else:
            os.environ[MASTERS] = before
    return told


def score(problems: ProblemSet, told: Mapping[str, str]) -> int:
    """The points for a result of `grade`."""
    return sum(points for name, points in problems.tests.items() if not told[name])


def leaks(problems: ProblemSet, text: str, own: str = "") -> list[str]:
    """The lines of solutions, hidden tests or checks in a text for students, and the remaining marks.

    A line of the student's ``own`` notebook is not a leak, because many students write the same lines as the reference
    solution.
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


def _tuples(source: str, form: tuple[str, ...], where: str) -> list[Any]:
    """The tuples of strings among the expressions of a script. Constants and other statements are ignored."""
    try:
        found = [line.value for line in ast.parse(source).body if isinstance(line, ast.Expr)]
    except SyntaxError as error:
        raise ValueError(f"{where}: the text below is not valid Python: {error.msg}") from None
    found = [value for value in found if not isinstance(value, ast.Constant)]  # such as a docstring
    for value in found:
        items = value.elts if isinstance(value, ast.Tuple) else []
        if len(items) != len(form) or not all(isinstance(getattr(item, "value", None), str) for item in items):
            raise ValueError(
                f"{where}: each line below the header must be ({', '.join(form)}), all strings, got"
                f" {ast.unparse(value)}"
            )
    return [ast.literal_eval(value) for value in found]


def _refuse_twice(every: list[str], what: str) -> None:
    if twice := sorted({name for name in every if every.count(name) > 1}):
        raise ValueError(f"{what} must have different names, got {', '.join(twice)} twice")


def _telling(text: str) -> set[str]:
    """The lines that can reveal a solution: at least 12 characters, and no comments, imports or function heads."""
    lines = {line.strip() for line in text.splitlines()}
    return {line for line in lines if len(line) >= 12 and not line.startswith(("#", "import ", "from ", '"""', "def "))}
