"""Assignments: problem sets for nbgrader, the checks that grade them, and exercises made from functions of nfa.

`problem_sets` reads a set and grades a submission in one process. `checking` has the functions for writing checks.
`folder` makes a course folder and runs nbgrader in it. The sets are in ``sets/``. `problem_sets` needs jupytext, and
`folder` also needs nbgrader. The extra ``course`` installs both.

`stubs` makes a file with functions of nfa to fill in. `ladder` makes the files of small tasks about a paper, which are
in ``ladders/``. `check` judges both with `judging`, which recognises slips by the values that they compute.
"""

import importlib.util
import os
import re
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path
from types import ModuleType

SETS = Path(__file__).parent / "sets"
MASTERS = "NFA_COURSE_MASTERS"  # environment variable with the folder of a course's own masters, during grading


def names() -> list[str]:
    """The names of the problem sets of nfa, in the order of their numbers."""
    found = (path.parent.name for path in SETS.glob("*/set.toml"))
    return sorted(found, key=lambda name: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)])


def renamed(name: str, known: Collection[str]) -> str:
    """The set whose name differs from this name only in the number, or "" if there is no such set.

    The number of a set is its place in the order of teaching, and can change. The word after the number stays.

    Examples
    --------
    >>> renamed("ps4_sensitivity", ["ps2_dfa", "ps5_sensitivity"])
    'ps5_sensitivity'
    """
    number, _, word = name.partition("_")
    same = [one for one in known if one.partition("_")[2] == word] if re.fullmatch(r"ps\d+", number) and word else []
    return same[0] if len(same) == 1 else ""


def checks(name: str) -> ModuleType:
    """The checks of a problem set: the module in the file ``checks.py`` next to its master.

    If a course has its own masters, their checks are used instead of the checks of nfa. The file is read by its path
    and not imported by a name, so that no file next to a submission can replace it. The file is read again only if it
    has changed. If only the number of the name has changed, the set with the same word is used.

    Raises
    ------
    OSError : if there is no such file
    """
    folder = Path(os.environ.get(MASTERS) or SETS)
    if not (folder / name).is_dir():
        name = renamed(name, [path.parent.name for path in folder.glob("*/checks.py")]) or name
    path = folder / name / "checks.py"
    if not path.is_file():
        raise FileNotFoundError(f"the problem set {name} has no checks at {path}")
    return _read(path, path.stat().st_mtime_ns)


@lru_cache(maxsize=64)
def _read(path: Path, changed: int) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"checks of {path.parent.name}", path)
    assert spec is not None  # the path ends in .py
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
