"""A course folder, and nbgrader driven in it: student versions that leak nothing, grades, feedback."""

import csv
import html
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed

from nfa.course import SETS, problem_sets
from nfa.course.problem_sets import ProblemSet, Submission

CONFIG = "nbgrader_config.py"
NEEDS = "assignments need jupytext and nbgrader: pip install 'noisy-feedback-alignment[course]'"


def require() -> None:
    """Raise OSError with one sentence unless what the extra ``course`` installs is there."""
    if find_spec("jupytext") is None or find_spec("nbgrader") is None:
        raise OSError(NEEDS)


def new(folder: Path, chosen: Sequence[str] = ()) -> list[str]:
    """Make a course folder: nbgrader's settings, a README for the teacher, and the masters of the chosen sets (all).

    Raises
    ------
    ValueError : for an unknown set, or a folder that is not empty
    """
    known = problem_sets.names()
    chosen = list(dict.fromkeys(chosen)) or known
    if unknown := [name for name in chosen if name not in known]:
        raise ValueError(f"there is no problem set {unknown[0]!r}: choose from {', '.join(known)}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"a new course needs a folder that is empty or not there yet, got {folder}")
    folder.mkdir(parents=True, exist_ok=True)
    for name in (CONFIG, "README.md", "Containerfile"):
        shutil.copy(Path(__file__).parent / "files" / name, folder / name)
    for name in chosen:
        shutil.copytree(SETS / name, folder / "masters" / name, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "submitted").mkdir()
    return chosen


def sets_of(course: Path, chosen: Sequence[str] = ()) -> list[ProblemSet]:
    """The chosen problem sets of a course folder, or all of them.

    Raises
    ------
    ValueError : if it is no course folder, or has no such set
    """
    if not (course / CONFIG).is_file():
        raise ValueError(f"a course folder is one that `nfa course new` made, with {CONFIG} in it, got {course}")
    known = sorted(path.parent.name for path in course.glob("masters/*/set.toml"))
    if not known:
        raise ValueError(f"the course {course} has no problem set: each is a folder of masters with a set.toml in it")
    if unknown := [name for name in chosen if name not in known]:
        raise ValueError(f"the course has no problem set {unknown[0]!r}: choose from {', '.join(known)}")
    return [problem_sets.load(course / "masters" / name) for name in dict.fromkeys(chosen or known)]


def notebook(problems: ProblemSet, submission: Submission | None = None) -> Any:
    """A problem set as a notebook with nbgrader's marks: the source, or with a submission's cells in place of it."""
    from nbformat import v4

    cells = []
    submission = submission or problems.reference
    for cell, source in problem_sets.submitted(problems, submission):
        made = v4.new_markdown_cell(source) if cell.kind == "text" else v4.new_code_cell(source)
        made["id"] = cell.name.replace("_", "-")  # so that building twice gives the same file
        if cell.kind in ("given", "solution", "test"):
            grade = cell.kind == "test"
            made.metadata["nbgrader"] = {
                "schema_version": 3,
                "grade_id": cell.name,
                "grade": grade,
                "solution": cell.kind == "solution",
                "locked": cell.kind != "solution",
                "task": False,
                **({"points": cell.points} if grade else {}),
            }
        cells.append(made)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return v4.new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


def write(made: Any, path: Path) -> None:
    """Write a notebook where its folders may not be there yet."""
    import nbformat

    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(made, path)


def build_all(course: Path, chosen: Sequence[ProblemSet], jobs: int = 1) -> Iterator[Path]:
    """`build` each of the sets, so many at once, and yield them in order; the first alone: it makes the gradebook."""
    if jobs > 1 and chosen[1:]:
        yield build(course, chosen[0])
        folders = [problems.folder for problems in chosen[1:]]
        yield from Parallel(n_jobs=jobs, return_as="generator")(delayed(_build)(course, folder) for folder in folders)
    else:
        yield from (build(course, problems) for problems in chosen)


def _build(course: Path, masters: Path) -> Path:
    return build(course, problem_sets.load(masters))


def build(course: Path, problems: ProblemSet) -> Path:
    """Make the student version of a set: ``source/`` from its master, ``release/`` by nbgrader; look for leaks.

    Raises
    ------
    ValueError : if the reference solution does not pass every check; nothing is built then
    OSError : if nbgrader fails, or students would see a solution or a hidden test; the release is removed then
    """
    failed = {cell: told for cell, told in reference(problems).items() if told}
    for cell, told in failed.items():
        raise ValueError(f"the reference solution of {problems.name} must pass every check, and fails {cell}: {told}")
    write(notebook(problems), course / "source" / problems.name / f"{problems.name}.ipynb")
    _nbgrader(course, "generate_assignment", problems.name, "--create", "--force")
    release = course / "release" / problems.name
    found = [path.name for path in sorted(release.rglob("*")) if path.name != f"{problems.name}.ipynb"]
    found += problem_sets.leaks(problems, _text(release / f"{problems.name}.ipynb"))
    if found:
        shutil.rmtree(release)
        raise OSError(f"students would see {found[0]!r} of {problems.name}; its release is removed")
    return release / f"{problems.name}.ipynb"


def reference(problems: ProblemSet) -> dict[str, str]:
    """The reference solution graded, as `problem_sets.grade` does."""
    return problem_sets.grade(problems, problems.reference)


def rehearse(course: Path, problems: ProblemSet, chosen: Sequence[str]) -> list[Submission]:
    """Hand in submissions that come with a set, each as a student of its name, so that grading can be tried.

    Raises
    ------
    ValueError : for a submission that the set does not have
    """
    known = problems.submissions
    if unknown := [name for name in chosen if name not in known]:
        raise ValueError(f"{problems.name} has no submission {unknown[0]!r}: choose from {', '.join(known)}")
    handed_in = [known[name] for name in dict.fromkeys(chosen or known)]
    for submission in handed_in:
        made = notebook(problems, submission)
        for cell in made.cells:  # students never had the hidden tests, nor the marks of solutions
            kept = problem_sets.HIDDEN.sub("", cell.source).splitlines()
            cell.source = "\n".join(line for line in kept if " SOLUTION" not in line).strip("\n")
        write(made, course / "submitted" / submission.name / problems.name / f"{problems.name}.ipynb")
    return handed_in


def grade(course: Path, problems: ProblemSet, again: bool = False, jobs: int = 1) -> list[dict[str, Any]]:
    """Grade what is in ``submitted/``, write ``grades.csv`` of all sets and the feedback of this one.

    Parameters
    ----------
    again : grade also what is graded already
    jobs : int >= 1, submissions that run at once

    Returns
    -------
    rows : of each student {"student", "score", "points"}, score None where nothing could be graded

    Raises
    ------
    ValueError : if the set is not built or nobody handed it in
    OSError : if nbgrader fails, or feedback would show hidden tests; that feedback is removed then
    """
    name = problems.name
    if not (course / "release" / name).is_dir():
        raise ValueError(f"{name} must be built before it is graded: nfa course build {name}")
    handed_in = sorted(path.parent.parent.name for path in course.glob(f"submitted/*/{name}/{name}.ipynb"))
    if not handed_in:
        raise ValueError(f"nobody handed in {name}: put notebooks at submitted/STUDENT/{name}/{name}.ipynb")
    force = ["--force"] * again
    if jobs > 1:
        with ThreadPoolExecutor(jobs) as pool:  # each waits for a process of its own
            for student in handed_in:
                pool.submit(
                    _nbgrader, course, "autograde", name, "--create", "--student", student, *force, strict=False
                )
        force = []
    # All of them, or whom the gradebook, busy with another, has left; it also says why one cannot be graded.
    failed = _nbgrader(course, "autograde", name, "--create", *force, strict=False)
    _nbgrader(course, "export", "--to", "grades.csv")
    _nbgrader(course, "generate_feedback", name, "--force")
    for page in sorted(course.glob(f"feedback/*/{name}/*.html")):
        student = page.parts[-3]
        own = _text(course / "submitted" / student / name / f"{name}.ipynb")
        if found := problem_sets.leaks(problems, _text(page), own):
            page.unlink()
            raise OSError(f"the feedback of {student} would show {found[0]!r}; it is removed")
    with (course / "grades.csv").open(encoding="utf-8", newline="") as file:
        scores = {row["student_id"]: row["score"] for row in csv.DictReader(file) if row["assignment"] == name}
    rows = [
        {
            "student": student,
            "score": float(scores[student]) if scores.get(student) else None,
            "points": problems.points,
        }
        for student in handed_in
    ]
    if failed and all(row["score"] is not None for row in rows):
        raise OSError(f"nbgrader could not grade everything: {failed}")
    return rows


def _nbgrader(course: Path, *arguments: str, strict: bool = True) -> str:
    """Run an nbgrader command in the course folder; what went wrong in one line, or ""."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])  # it calls alembic by name
    quiet = {"PYTHONWARNINGS": "ignore", "PYDEVD_DISABLE_FILE_VALIDATION": "1", "MPLBACKEND": "Agg", "PATH": path}
    command = [sys.executable, "-m", "nbgrader", *arguments]
    done = subprocess.run(command, cwd=course, env=os.environ | quiet, capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    said = re.findall(r"^ *([\w.]*(?:Error|Exception): .*)$", done.stdout + done.stderr, re.MULTILINE)
    problem = said[-1] if said else f"exit code {done.returncode}"
    if strict:
        raise OSError(f"nbgrader {arguments[0]} failed: {problem}")
    return problem


def _text(path: Path) -> str:
    """A notebook's or page's text, with quotes and line ends as they were in the code."""
    import nbformat

    if path.suffix == ".ipynb":
        made = nbformat.read(path, as_version=4)
        parts = [cell.source for cell in made.cells] + [str(cell.get("outputs", "")) for cell in made.cells]
        return "\n".join(parts)
    return html.unescape(re.sub(r"<[^>]*>", "", path.read_text(encoding="utf-8")))
