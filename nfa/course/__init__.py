"""Assignments: problem sets on nbgrader, the checks that grade them, and exercises cut out of nfa itself.

`problem_sets` reads a set and grades a submission in one process. `checking` is what checks are written with. `folder`
makes a course folder and drives nbgrader in it. The sets lie in ``sets/``. `problem_sets` needs jupytext and `folder`
nbgrader too: the extra ``course``.

`stubs` makes a file of functions of nfa to fill in, and `ladder` the files of small tasks that lead through a paper,
which lie in ``ladders/``. `check` judges both with `judging`, which recognises slips by what they compute.
"""

import importlib.util
import os
import re
from collections.abc import Collection
from functools import lru_cache
from pathlib import Path
from types import ModuleType

SETS = Path(__file__).parent / "sets"
MASTERS = "NFA_COURSE_MASTERS"  # names the folder of a course's own masters while it is graded


def names() -> list[str]:
    """The problem sets that come with nfa, in the order of their numbers."""
    found = (path.parent.name for path in SETS.glob("*/set.toml"))
    return sorted(found, key=lambda name: [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", name)])


def renamed(name: str, known: Collection[str]) -> str:
    """The set that had this name with another number, or "" if there is none.

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
    """The checks of a problem set: the file ``checks.py`` beside its master, read from where it lies.

    A course's own masters come before those of nfa. The file is not looked up by its name as a module, so that nothing
    beside a submission can stand in for it. It is read again only where it has changed. A name with an older number
    means the set with the same word.

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
    assert spec is not None  # for a path that ends in .py
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
