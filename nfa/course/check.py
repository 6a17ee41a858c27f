"""The judge of a student's file: `judgements` of its functions, by cases of nfa or by the project's tests.

A function of `staged` and a task of a ladder are judged with cases of nfa, so they do not need the tests. For other
functions, `tests` runs the project's tests in a checkout, up to the first failure.
"""

import inspect
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache, partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from nfa.course import directions, ladder, stubs
from nfa.course.judging import Judgement, NamedSlip, Task, judge, without_docstring

SLIPS = Path(__file__).with_name("slips.toml")
CHECKOUT = Path(__file__).resolve().parents[2]
SECONDS = 600  # time limit of the project's tests
FROM_TESTS = 8  # largest number of lines that are reported from the output of the tests


@cache
def _slips() -> list[dict]:
    return tomllib.loads(SLIPS.read_text(encoding="utf-8"))["slip"]


def staged() -> dict[str, str]:
    """The functions of nfa that are judged in stages, by the code in the mark of a stub, with the kind of the cases."""
    kinds = dict.fromkeys(kind for slip in _slips() for kind in slip["of"])
    return {f"nfa.rules.{kind}:{kind}": kind for kind in kinds}


@cache
def task(kind: str) -> Task:
    """The task that judges a rule. ``kind`` is the name of the rule, such as "bp" or "dp_sgd"."""
    module = import_module(f"nfa.rules.{kind}")
    slips = tuple(NamedSlip(one["old"], one["new"], one["says"]) for one in _slips() if kind in one["of"])
    source = without_docstring(inspect.getsource(getattr(module, kind)))
    return Task(partial(directions.cases, kind), source, vars(module), slips, directions.HINTS, copies=False)


class Checked(NamedTuple):
    """A function of a student's file: its name, the code that it replaces, its statements, and the judgement."""

    name: str
    code: str
    ids: tuple[str, ...]
    judgement: Judgement


def judgements(path: Path) -> Iterator[Checked]:
    """Judge the functions of a file, or of the files of a folder, up to the first wrong function.

    The files are judged in the order of their names. In each file, the functions of `staged` come first.

    Raises
    ------
    ValueError : if a file cannot be run or marks no function, or if a function needs tests that are missing
    """
    paths = sorted(path.glob("*.py")) if path.is_dir() else [path]
    if not paths:
        raise ValueError(
            f"{path} contains no file of exercises. `nfa course ladder PAPER --out FOLDER` writes such files"
        )
    kinds = staged()
    for each in paths:
        for one, function in sorted(stubs.load(each), key=lambda pair: pair[0].code not in kinds):
            if one.code.startswith(ladder.CODE):
                judgement = judge(ladder.find(one.code).task, function, each)
            elif one.code in kinds:
                judgement = judge(task(kinds[one.code]), function, each)
            else:
                judgement = tests(each, one)
            yield Checked(function.__name__, one.code, one.ids, judgement)
            if judgement.problem:
                return


def next_task(found: list[Checked]) -> ladder.LadderTask | None:
    """The task after the last of these tasks in its ladder; None if there is no such task or no ladder."""
    if not found[-1].code.startswith(ladder.CODE):
        return None
    last = ladder.find(found[-1].code)
    every = ladder.tasks(last.paper)
    return next((after for one, after in pairwise(every) if one.name == last.name), None)


def tests(path: Path, one: stubs.Exercise) -> Judgement:
    """Run the project's tests of the statements of one function, up to the first failure.

    Raises
    ------
    ValueError : without a checkout or pytest
    """
    if not (CHECKOUT / "tests" / "conftest.py").is_file():
        raise ValueError(
            f"the check of {one.code} needs the tests of the project, which are only in a clone of the repository: run "
            "this command in a clone"
        )
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=short", "--no-header", "-p", "no:cacheprovider"]
    command += ["-m", "not slow and not peers", f"--stub={path.resolve()}"]
    command += [f"--eq={name}" for name in one.ids]
    env = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"} | {"COLUMNS": "100"}
    try:
        done = subprocess.run(command, cwd=CHECKOUT, env=env, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return Judgement(("tests",), 0, f"the tests took more than {SECONDS} seconds: does a loop never end?")
    if "No module named pytest" in done.stderr:
        raise ValueError("the tests of the project need pytest: install it with pip install -e '.[test]'")
    if done.returncode == 0:
        return Judgement(("tests",), 1)
    return Judgement(("tests",), 0, *told(done.stdout + done.stderr, path))


def told(output: str, path: Path) -> tuple[str, str]:
    """The first failure in the output of pytest, in at most `FROM_TESTS` lines, and the student's line that failed."""
    lines = output.splitlines()
    names = [found[1] for line in lines if (found := re.fullmatch(r"_{3,} (\S.*) _{3,}", line))]
    errors = [line[1:].strip() for line in lines if line.startswith("E ")]
    if any(error.startswith("NotImplementedError: exercise") for error in errors):
        return f"{path.name} is not written yet", ""
    at = [i for i, line in enumerate(lines) if re.match(rf"(.*/)?{re.escape(path.name)}:\d+: in ", line)]
    where = f"{path.name}:{lines[at[-1]].rsplit(':', 2)[1]}: {lines[at[-1] + 1].strip()}" if at else ""
    shown = [error for error in errors if error] or [line for line in lines[-FROM_TESTS:] if line]
    return "\n".join([f"test: {name}" for name in names[:1]] + [line[:150] for line in shown[: FROM_TESTS - 1]]), where
