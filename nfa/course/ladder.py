"""The ladder of a paper: small tasks in order, each with one function to write, cases and one hint.

Every task is a percent script ``ladders/PAPER/NN_NAME.py``. A new task needs no other file. The docstring of the script
has a title with ids of statements, the text for students, and a last paragraph "Hint: ...". The cells of the script:

- ``# %% task``: the function, with its solution between the marks of a problem set
- ``# %% cases``: the function ``cases()``, which yields a `nfa.course.judging.TaskCase` for each value that is judged
- ``# %% slips``: tuples (old text, new text, sentence), each for a replacement in the solution
"""

import ast
import importlib.util
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType

from nfa import ledger, require
from nfa.course.judging import NamedSlip, Task, last_function
from nfa.course.problem_sets import blank
from nfa.whole import whole_folder, write_whole

LADDERS = Path(__file__).with_name("ladders")
CODE = "ladder:"  # start of the mark of `nfa.course.stubs.exercise` in the file of a task
CELL = re.compile(r"^# %% (\w+)\n", re.MULTILINE)
HEAD = '''"""Task {number} of {all} of the ladder of {paper}: {title} {ids}

{text}

Fill in the body, then run:

    nfa course check {file}
"""

{imports}from nfa.course.stubs import exercise


@exercise("{code}"{marked})
{function}
'''


@dataclass(frozen=True)
class LadderTask:
    """One task, read from its script."""

    path: Path

    @property
    def paper(self) -> str:
        """The paper to whose ladder the task belongs."""
        return self.path.parent.name

    @property
    def name(self) -> str:
        """The number and name of the task, such as 03_bp."""
        return self.path.stem

    @property
    def code(self) -> str:
        """The mark of the task in a student's file."""
        return f"{CODE}{self.paper}/{self.name}"

    @cached_property
    def _text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def _docstring(self) -> list[str]:
        return (ast.get_docstring(ast.parse(self._text)) or "").split("\n\n")

    @property
    def title(self) -> str:
        """The title, without its statements."""
        return self._docstring[0].partition(" [")[0]

    @property
    def ids(self) -> tuple[str, ...]:
        """The statements of the paper to which the task belongs."""
        return tuple(re.findall(r"\[([^\]]+)\]", self._docstring[0]))

    @property
    def text(self) -> str:
        """The text of the task for the student."""
        return "\n\n".join(self._docstring[1:-1])

    @property
    def hint(self) -> str:
        """The hint for a failure without a recognised slip."""
        return " ".join(self._docstring[-1].removeprefix("Hint: ").split())

    def cell(self, name: str) -> str:
        """The source of one cell of the script."""
        parts = CELL.split(self._text)
        return dict(zip(parts[1::2], parts[2::2], strict=True))[name].strip() + "\n"

    @cached_property
    def module(self) -> ModuleType:
        """The script as a module."""
        spec = importlib.util.spec_from_file_location(f"ladder_{self.paper}_{self.name}", self.path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    @property
    def function(self) -> Callable:
        """The solution."""
        return getattr(self.module, last_function(self.cell("task")))

    @cached_property
    def task(self) -> Task:
        """The `Task` that judges a student's function."""
        lines = ast.parse(self.cell("slips")).body
        slips = [NamedSlip(*ast.literal_eval(line.value)) for line in lines if isinstance(line, ast.Expr)]
        return Task(self.module.cases, self.cell("task"), vars(self.module), slips, {"": self.hint})


def papers() -> list[str]:
    """The papers that have a ladder, in the order of the ledger."""
    return [paper for paper in ledger.papers() if any((LADDERS / paper).glob("*.py"))]


def tasks(paper: str) -> list[LadderTask]:
    """The tasks of a paper, in order.

    Raises
    ------
    ValueError : if the paper has no ladder
    """
    if paper not in papers():
        close = require.meant(paper, papers())
        raise ValueError(f"the paper of a ladder must be one of {', '.join(papers())}, got {paper!r}{close}")
    return [LadderTask(path) for path in sorted((LADDERS / paper).glob("*.py"))]


def find(code: str) -> LadderTask:
    """The task for a mark in a student's file.

    Raises
    ------
    ValueError : if there is no such task
    """
    paper, _, name = code.removeprefix(CODE).partition("/")
    for task in tasks(paper):
        if task.name == name:
            return task
    raise ValueError(f"the ladder of {paper} has no task {name!r}")


def write(paper: str, folder: Path) -> list[Path]:
    """Write the files to fill in, one for each task.

    Raises
    ------
    ValueError : if one of the files exists, because its content must not be overwritten
    """
    every = tasks(paper)
    paths = [folder / f"{task.name}.py" for task in every]
    if there := [path for path in paths if path.exists()]:
        raise ValueError(f"{there[0]} exists already, and nfa does not overwrite files: name another folder with --out")
    with whole_folder(folder) as part:
        for number, (task, path) in enumerate(zip(every, paths, strict=True), 1):
            write_whole(part / path.name, to_fill_in(task, number, len(every), path).encode())
    return paths


def to_fill_in(task: LadderTask, number: int, count: int, path: Path) -> str:
    """The content of the file of a task: the text, and the function with its docstring and without its solution."""
    source = task.cell("task")
    start = next(node.lineno for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)) - 1
    lines = source.splitlines(keepends=True)
    return HEAD.format(
        number=number,
        all=count,
        paper=task.paper,
        title=task.title,
        ids=" ".join(f"[{name}]" for name in task.ids),
        text=task.text,
        file=path.as_posix(),
        imports="".join(lines[:start]).strip() + "\n\n",
        code=task.code,
        marked="".join(f', "{name}"' for name in task.ids),
        function=blank("".join(lines[start:])).rstrip(),
    )
