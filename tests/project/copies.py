"""A temporary copy of the tree, to which a test adds something, and commands that run in the copy.

`copy_of_tree` makes the copy. `run_in` runs a command there, so that the copy's nfa, kernels, data and tests are used.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.project.tree import ROOT

# Without git, the files with these names are not copied.
CACHES = ("__pycache__", ".*", "*.egg-info", "venv", "build", "dist", "runs", "mutants", "htmlcov", "generated")


def copy_of_tree(tmp_path: Path) -> Path:
    """Copy the tree into the folder `tree` below tmp_path and return that folder.

    The copy has the tracked files and the untracked files that git does not ignore, as they are on the disk. Without
    git, the copy has everything except caches and build outputs.
    """
    copy = tmp_path / "tree"
    if not (ROOT / ".git").exists():
        return shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*CACHES))
    asked = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    for name in names:
        if name and (ROOT / name).is_file():  # a tracked file may be deleted on the disk
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)
    return copy


def run_in(copy: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run `python ARGUMENTS` in a copy. Python imports nfa from this copy. ``env`` adds environment variables."""
    settings = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    settings |= {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"} | env
    return subprocess.run([sys.executable, *arguments], cwd=copy, env=settings, capture_output=True, text=True)


def checked_in(copy: Path, *arguments: str, **env: str) -> str:
    """The output of `python ARGUMENTS` in a copy.

    An exit code other than 0 fails the test, which then prints standard output and standard error.
    """
    done = run_in(copy, *arguments, **env)
    assert done.returncode == 0, f"python {' '.join(arguments)}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def nfa_in(copy: Path, *arguments: str, **env: str) -> str:
    """The output of `nfa ARGUMENTS` in a copy."""
    return checked_in(copy, "-m", "nfa", *arguments, **env)


def pytest_in(copy: Path, *arguments: str, **env: str) -> str:
    """Run tests of a copy in one process. If one of these tests fails, the test that calls this function fails."""
    return checked_in(copy, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-n", "0", *arguments, **env)
