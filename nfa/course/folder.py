"""A course folder, in which nfa runs nbgrader to make student versions without solutions, grades and feedback."""

import csv
import hashlib
import html
import io
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

from joblib import Parallel, delayed

from nfa.course import SETS, grader, names, problem_sets, renamed, submissions
from nfa.course.problem_sets import ProblemSet, Submission
from nfa.course.submissions import Submitted
from nfa.require import meant
from nfa.whole import whole_folder, write_whole

CONFIG = "nbgrader_config.py"
NOT_GRADED = "not graded"
BY_HAND = "points that you gave by hand before the last grading still count: check these points in nbgrader formgrader"
TIME = 300.0  # seconds for the start of nbgrader and all work except the cells
CELL_TIME = 45.0  # seconds for each cell: nbgrader's own limit, and the time to stop a cell
COLUMNS = (
    *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
    *("raw_score", "late_submission_penalty", "score", "max_score"),  # nbgrader exports the columns up to here
    "note",
)
NEEDS = "assignments need jupytext and nbgrader: pip install 'noisy-feedback-alignment[course]'"


def require() -> None:
    """Raise OSError with one sentence unless jupytext and nbgrader, from the extra ``course``, are installed."""
    if find_spec("jupytext") is None or find_spec("nbgrader") is None:
        raise OSError(NEEDS)


def new(folder: Path, chosen: Sequence[str] = ()) -> list[str]:
    """Make a course folder: nbgrader's settings, a README for the teacher, and the masters of the chosen sets or all.

    Raises
    ------
    ValueError : for an unknown set, or a folder that is not empty
    OSError : if the folder cannot be written. Then no part of the folder is left
    """
    known = names()
    chosen = _chosen(chosen, known, "there is") or known
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ValueError(f"the folder of a new course must be empty or not exist yet, got {folder}")
    sources = {Path(name): Path(__file__).parent / "files" / name for name in (CONFIG, "README.md", "Containerfile")}
    for name in chosen:
        files = [file for file in (SETS / name).rglob("*") if file.is_file() and "__pycache__" not in file.parts]
        sources |= {Path("masters", name, file.relative_to(SETS / name)): file for file in files}
    with whole_folder(folder) as part:
        for place, source in sources.items():
            (part / place).parent.mkdir(parents=True, exist_ok=True)
            write_whole(part / place, source.read_bytes())
        (part / "submitted").mkdir()
    return chosen


def _choose(unknown: str, known: Collection[str]) -> str:
    """The end of a sentence about an unknown name: similar names, or all known names."""
    return meant(unknown, known) or f": choose from {', '.join(known)}"


def _chosen(names: Sequence[str], known: Collection[str], told: str) -> list[str]:
    """The sets of these names, each once. A name with an outdated number stands for the set with the same word."""
    found = {name: name if name in known else renamed(name, known) for name in names}
    if unknown := [name for name, today in found.items() if not today]:
        raise ValueError(f"{told} no problem set {unknown[0]!r}{_choose(unknown[0], known)}")
    return list(dict.fromkeys(found.values()))


def sets_of(course: Path, chosen: Sequence[str] = ()) -> list[ProblemSet]:
    """The chosen problem sets of a course folder, or all of them.

    Raises
    ------
    ValueError : if the folder is not a course folder, or has no such set
    """
    if not (course / CONFIG).is_file():
        raise ValueError(
            f"{course.resolve()} is not a course folder, because the file {CONFIG} is missing: change into a course"
            " folder, or give --course DIR. `nfa course new DIR` makes a course folder"
        )
    known = sorted(path.parent.name for path in course.glob("masters/*/set.toml"))
    if not known:
        raise ValueError(
            f"the course {course} has no problem set. A problem set is a folder in masters/ with a file set.toml"
        )
    return [problem_sets.load(course / "masters" / name) for name in _chosen(chosen, known, "the course has") or known]


def notebook(problems: ProblemSet, submission: Submission | None = None) -> Any:
    """A problem set as a notebook with nbgrader's marks, with the cells of the master or of a submission."""
    from nbformat import v4

    cells = []
    submission = submission or problems.reference
    for cell, source in problem_sets.submitted(problems, submission):
        made = v4.new_markdown_cell(source) if cell.kind == "text" else v4.new_code_cell(source)
        made["id"] = cell.name.replace("_", "-")  # fixed ids, so that building twice gives the same file
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
    """Write a notebook, and make its folders if they do not exist."""
    import nbformat

    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, nbformat.writes(made).encode())


def build_all(course: Path, chosen: Sequence[ProblemSet], jobs: int = 1) -> Iterator[Path]:
    """Run `build` for each set, ``jobs`` at a time, and yield the paths in order.

    The first set is built alone, because its build makes the gradebook.
    """
    if jobs > 1 and chosen[1:]:
        yield build(course, chosen[0])
        folders = [problems.folder for problems in chosen[1:]]
        yield from Parallel(n_jobs=jobs, return_as="generator")(delayed(_build)(course, folder) for folder in folders)
    else:
        yield from (build(course, problems) for problems in chosen)


def _build(course: Path, masters: Path) -> Path:
    return build(course, problem_sets.load(masters))


def build(course: Path, problems: ProblemSet) -> Path:
    """Make the student version of a set: ``source/`` from its master, and ``release/`` by nbgrader.

    The student version is searched for leaks.

    Raises
    ------
    ValueError : if the reference solution does not pass every check. Then nothing is built
    OSError : if nbgrader fails, or if students would see a solution or a hidden test. In the second case, the release
        is removed
    """
    failed = {cell: told for cell, told in reference(problems).items() if told}
    for cell, told in failed.items():
        raise ValueError(f"the reference solution of {problems.name} must pass every check, but fails {cell}: {told}")
    write(notebook(problems), course / "source" / problems.name / f"{problems.name}.ipynb")
    _nbgrader(course, "generate_assignment", problems.name, "--create", "--force")
    release = course / "release" / problems.name
    found = [path.name for path in sorted(release.rglob("*")) if path.name != f"{problems.name}.ipynb"]
    found += problem_sets.leaks(problems, _text(release / f"{problems.name}.ipynb"))
    if found:
        shutil.rmtree(release)
        raise OSError(
            f"the student version of {problems.name} must not show solutions or hidden tests, but shows"
            f" {found[0]!r}. nfa has removed this student version"
        )
    return release / f"{problems.name}.ipynb"


def reference(problems: ProblemSet) -> dict[str, str]:
    """The result of `problem_sets.grade` for the reference solution."""
    return problem_sets.grade(problems, problems.reference)


def rehearse(course: Path, problems: ProblemSet, chosen: Sequence[str]) -> list[Submission]:
    """Write example submissions of a set into ``submitted/``, each as a student with its name, to try the grading.

    Raises
    ------
    ValueError : for a submission that the set does not have
    """
    known = problems.submissions
    if unknown := [name for name in chosen if name not in known]:
        raise ValueError(f"{problems.name} has no submission {unknown[0]!r}{_choose(unknown[0], known)}")
    handed_in = [known[name] for name in dict.fromkeys(chosen or known)]
    for submission in handed_in:
        made = notebook(problems, submission)
        for cell in made.cells:  # students have neither the hidden tests nor the marks of solutions
            kept = problem_sets.HIDDEN.sub("", cell.source).splitlines()
            cell.source = "\n".join(line for line in kept if " SOLUTION" not in line).strip("\n")
        write(made, course / "submitted" / submission.name / problems.name / f"{problems.name}.ipynb")
    return handed_in


def grade(course: Path, problems: ProblemSet, again: bool = False, jobs: int = 1) -> list[dict[str, Any]]:
    """Grade the submissions in ``submitted/``. Write ``grades.csv`` for all sets, and the feedback for this set.

    Each submission is graded alone. An error in one submission does not affect the others.

    Parameters
    ----------
    again : grade submissions again that are already graded. After a change of a submission or of the set, submissions
        are graded again in any case
    jobs : int >= 1, number of submissions that are graded at the same time

    Returns
    -------
    rows : a dictionary {"student", "score", "points", "reason", "notes"} for each student. If a student is not graded,
        the score is None and ``reason`` gives the reason. ``notes`` are sentences for the teacher about a graded
        submission.

    Raises
    ------
    ValueError : if the set is not built, or if there is no submission
    OSError : if nbgrader cannot be run
    """
    name = problems.name
    handed_in = submissions.collect(course, problems)
    with grader.Grader(course) as first:
        book = _report(first)
        if not any(one.handed_in for one in handed_in) and not _scores(book, name):
            raise ValueError(
                f"there is no submission for {name}: put notebooks at submitted/STUDENT/{name}/{name}.ipynb"
            )
        can = [one for one in handed_in if one.handed_in and not one.problem]
        current = _current(course, problems, can, book)
        answers = _answers(course, problems, can, set() if again else current, first, jobs)
        book = _report(first)
    for one in handed_in:
        page = course / "feedback" / one.student / name / f"{name}.html"
        answer = answers.get(one.student, {})
        answer = answer | {"withheld": _give_back(problems, page, answer, one)} if one.handed_in else answer
        answers[one.student] = answer
    rows = _rows(course, problems, handed_in, book, answers)
    _write_grades(course, book, {name: rows})
    return rows


def _report(one_grader: grader.Grader) -> dict[str, Any]:
    """The content of the gradebook."""
    try:
        return one_grader.ask(TIME, do="report")
    except grader.GraderDiedError as error:
        raise OSError(f"nbgrader cannot be run: {error}") from None


def _scores(book: dict[str, Any], name: str) -> dict[str, float]:
    """The scores of a set in the gradebook, by student."""
    return {
        row["student_id"]: row["score"]
        for row in book["submissions"]
        if row["assignment"] == name and row["score"] is not None
    }


def _current(course: Path, problems: ProblemSet, can: list[Submitted], book: dict[str, Any]) -> set[str]:
    """The students with a graded submission. Neither the submission nor the set has changed since the grading."""
    scores, made_of = _scores(book, problems.name), _digest(course, problems)
    return {one.student for one in can if one.student in scores and _is_of(_stamp(course, problems, one), one, made_of)}


def _stamp(course: Path, problems: ProblemSet, one: Submitted) -> dict[str, Any]:
    """The digests in the graded notebook of a student: of the submission and of the version of the set."""
    try:
        path = course / "autograded" / one.student / problems.name / f"{problems.name}.ipynb"
        return json.loads(path.read_text(encoding="utf-8"))["metadata"].get("nfa", {})
    except (OSError, ValueError):
        return {}


def _is_of(stamp: dict[str, Any], one: Submitted, made_of: str) -> bool:
    """Whether a graded notebook comes from this submission and this version of the set."""
    return (stamp.get("submitted"), stamp.get("set")) == (one.digest, made_of)


def _digest(course: Path, problems: ProblemSet) -> str:
    """A digest of the files that determine the grading of a set: the notebook with the hidden tests, and the checks."""
    source = course / "source" / problems.name / f"{problems.name}.ipynb"
    parts = [path.read_bytes() if path.is_file() else b"" for path in (source, problems.folder / "checks.py")]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def _answers(
    course: Path, problems: ProblemSet, can: list[Submitted], current: set[str], first: grader.Grader, jobs: int
) -> dict[str, dict[str, Any]]:
    """The answers of the graders for all submissions. Several graders work in parallel, one submission at a time."""
    left, lock, made_of = list(can), Lock(), _digest(course, problems)
    answers: dict[str, dict[str, Any]] = {}

    def work(one_grader: grader.Grader) -> None:
        while True:
            with lock:
                if not left:
                    return
                one = left.pop(0)
            answers[one.student] = _answer(one_grader, problems, one, one.student in current, made_of)

    def work_alone() -> None:
        with grader.Grader(course) as one_grader:
            work(one_grader)

    more = min(jobs, len(can)) - 1
    with ThreadPoolExecutor(max(1, more)) as pool:  # each thread waits for its own process
        others = [pool.submit(work_alone) for _ in range(more)]
        work(first)
        for other in others:
            other.result()
    for one in can:
        if answers[one.student].get("problem") == grader.LOCKED:
            answers[one.student] = _answer(first, problems, one, one.student in current, made_of)
    return answers


def _answer(
    one_grader: grader.Grader, problems: ProblemSet, one: Submitted, current: bool, made_of: str
) -> dict[str, Any]:
    task: dict[str, Any] = {"do": "feedback", "name": problems.name, "student": one.student}
    made = json.loads(one.notebook)
    if not current:
        made["metadata"]["nfa"] = {"submitted": one.digest, "set": made_of}
        task |= {"do": "grade", "notebook": json.dumps(made), "timestamp": one.timestamp}
    try:
        return one_grader.ask(TIME + CELL_TIME * len(made["cells"]), **task)
    except grader.GraderDiedError as error:
        return {"problem": str(error)}


def _give_back(problems: ProblemSet, page: Path, answer: dict[str, Any], one: Submitted) -> str:
    """Write the feedback of a submission. Return "", or the reason why there is no feedback.

    Without feedback, an older page is removed, because it is about another submission.
    """
    text = answer.get("page", "")
    if found := problem_sets.leaks(problems, _visible(text), one.own):
        text, answer = "", {"withheld": f"the feedback would reveal {found[0]!r}, so nfa did not write the feedback"}
    if text:
        page.parent.mkdir(parents=True, exist_ok=True)
        write_whole(page, text.encode("utf-8"))
        return ""
    page.unlink(missing_ok=True)
    return answer.get("withheld", "")


def _rows(
    course: Path,
    problems: ProblemSet,
    handed_in: list[Submitted],
    book: dict[str, Any],
    answers: dict[str, dict[str, Any]],
) -> list[dict[str, Any]]:
    """The rows of `grade`, in the order of the students' names."""
    scores = _scores(book, problems.name)
    current = _current(course, problems, handed_in, book)
    by_hand = {
        row["student_id"] for row in book["submissions"] if row["assignment"] == problems.name and row["by_hand"]
    }
    rows = []
    for one in handed_in:
        answer = answers.get(one.student, {})
        reason, notes = one.problem or answer.get("problem", ""), list(one.notes)
        if not one.handed_in and one.student in scores:
            reason, notes = "", [f"the grade is from an earlier grading: {one.problem}"]
        elif not reason and one.student not in current:
            reason = f"the submission changed after the last grading: run nfa course grade {problems.name}"
        elif not reason:
            notes += _stamp(course, problems, one).get("notes", [])  # notes about what the code of the submission did
            notes += [BY_HAND] if one.student in by_hand else []
        notes += [answer["withheld"]] if answer.get("withheld") and not reason else []
        rows.append(_row(problems, one.student, None if reason else scores[one.student], reason, notes))
    known = {one.student for one in handed_in}
    gone = "the grade is from an earlier grading: the student is not in submitted/"
    for student in sorted(set(scores) - known):
        rows.append(_row(problems, student, scores[student], "", [gone]))
    anywhere = {row["student_id"] for row in book["submissions"]} | known
    for student in sorted(set(book["students"]) - anywhere):  # students who are only in the gradebook's list
        place = f"submitted/{student}/{problems.name}/{problems.name}.ipynb"
        rows.append(_row(problems, student, None, f"no notebook at {place}", []))
    return sorted(rows, key=lambda row: row["student"])


def _row(problems: ProblemSet, student: str, score: float | None, reason: str, notes: list[str]) -> dict[str, Any]:
    return {"student": student, "score": score, "points": problems.points, "reason": reason, "notes": notes}


def _write_grades(course: Path, book: dict[str, Any], rows: dict[str, list[dict[str, Any]]]) -> None:
    """Write ``grades.csv``: nbgrader's columns and a note, for all sets with submissions."""
    names = sorted({row["assignment"] for row in book["submissions"]} | set(rows))
    for problems in sets_of(course):
        if problems.name in names and problems.name not in rows and problems.name in submissions.built(course):
            handed_in = submissions.collect(course, problems)
            rows = {**rows, problems.name: _rows(course, problems, handed_in, book, {})}
    about = {(row["assignment"], row["student_id"]): row for row in book["submissions"]}
    file = io.StringIO()
    table = csv.DictWriter(file, COLUMNS, restval="", extrasaction="ignore", lineterminator="\n")
    table.writeheader()
    for name in names:
        for row in rows.get(name, []):
            found = about.get((name, row["student"]), {}) | book["students"].get(row["student"], {})
            found = {key: "" if value is None else value for key, value in found.items()}
            found |= {"assignment": name, "student_id": row["student"], "note": "; ".join([*row["notes"]])}
            if row["score"] is None:
                empty = dict.fromkeys(("timestamp", "raw_score", "late_submission_penalty"), "")
                found |= {**empty, "score": NOT_GRADED, "max_score": float(row["points"]), "note": row["reason"]}
            table.writerow(found)
    write_whole(course / "grades.csv", file.getvalue().encode("utf-8"))


def _nbgrader(course: Path, *arguments: str) -> None:
    """Run an nbgrader command in the course folder.

    Raises
    ------
    OSError : if the command fails, with its last error
    """
    command = [sys.executable, "-m", "nbgrader", *arguments]
    done = subprocess.run(command, cwd=course, env=grader.environment(), capture_output=True, text=True)
    if done.returncode != 0:
        problem = grader.last_error(done.stdout + done.stderr) or f"exit code {done.returncode}"
        raise OSError(f"nbgrader {arguments[0]} failed: {problem}")


def _text(path: Path) -> str:
    """The sources and outputs of a notebook."""
    import nbformat

    made = nbformat.read(path, as_version=4)
    parts = [cell.source for cell in made.cells] + [str(cell.get("outputs", "")) for cell in made.cells]
    return "\n".join(parts)


def _visible(page: str) -> str:
    """The text of a page without its tags, and with the quotes of the code."""
    return html.unescape(re.sub(r"<[^>]*>", "", page))
