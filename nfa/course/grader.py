"""A process in which nbgrader grades one submission after another, each in its own folder.

`Grader` starts the process and sends it tasks. If a submission ends the process, or does not end, the other submissions
are not affected. On POSIX systems, `nfa.course.confined` replaces nbgrader's own execution of notebooks. The process
runs `main`. Each line of standard input is a task as a JSON object, and each line of standard output is an answer.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from threading import Timer
from typing import Any

from nfa.course.confined import DIED, ENDLESS, CodeCell, Limits, StoppedError, judge

QUIET = {"PYTHONWARNINGS": "ignore", "PYDEVD_DISABLE_FILE_VALIDATION": "1", "MPLBACKEND": "Agg"}
LOCKED = "the gradebook is busy"
WHY = {
    "DeadKernelError": DIED,
    "Timeout waiting for IOPub output": ENDLESS,
    "sqlalchemy.exc.OperationalError": LOCKED,
    "Kernel died before replying": "the Python process did not start",
}


class GraderDiedError(OSError):
    """The process has ended. The text gives the reason."""


class Grader:
    """A process that grades in a course folder. It starts with the first task, and again after it has ended."""

    def __init__(self, course: Path) -> None:
        self.course = course
        self.process: subprocess.Popen[str] | None = None
        self.said: Any = None

    def __enter__(self) -> "Grader":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def ask(self, seconds: float, **task: Any) -> dict[str, Any]:
        """The answer to a task.

        Raises
        ------
        GraderDiedError : if the process ends, or does not answer within this number of seconds
        """
        process = self.process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        late: list[bool] = []

        def stop() -> None:
            late.append(True)
            process.kill()

        timer = Timer(seconds, stop)
        timer.start()
        try:
            process.stdin.write(json.dumps(task) + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        finally:
            timer.cancel()
        if answer.endswith("\n"):
            return json.loads(answer)
        process.kill()
        process.wait()
        self.said.seek(0)
        said = last_error(self.said.read())
        self.stop()
        raise GraderDiedError(
            f"the grading took more than {seconds / 60:.0f} minutes"
            if late
            else said or "the code of the notebook ended the process of the grader"
        )

    def _start(self) -> subprocess.Popen[str]:
        self.said = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        command = [sys.executable, "-m", "nfa.course.grader", str(self.course.resolve())]
        self.process = subprocess.Popen(
            command,
            cwd=self.course,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.said,
            text=True,
            encoding="utf-8",
        )
        return self.process

    def stop(self) -> None:
        """End the process."""
        if self.process is None:
            return
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.kill()
        self.process.wait()
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        self.process.stdout.close()
        self.said.close()
        self.process = None


def environment() -> dict[str, str]:
    """The environment of nbgrader's processes: no warnings, no windows, and the path of the command alembic."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return os.environ | QUIET | {"PATH": path}


def last_error(text: str) -> str:
    """The last line of a text that names an error; "" if no line names an error."""
    said = re.findall(r"^ *((?:[\w]+\.)*\w*(?:Error|Exception): .*)$", text, re.MULTILINE)
    return said[-1][:300] if said else ""


# --- in the process of the grader


def main(course: Path) -> None:
    """Answer tasks until standard input ends. The output of nbgrader and of notebooks is kept out of the answers."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    sys.modules.setdefault("rfc3987_syntax", None)  # type: ignore[arg-type] # jsonschema does not need this slow module
    from nbgrader.apps import NbGrader

    os.chdir(course)
    app = NbGrader.instance()
    app.initialize([], root=str(course))
    book = app.coursedir.db_url
    does: dict[str, Callable[..., dict[str, Any]]] = {"grade": _grade, "feedback": _feedback, "report": _report}
    for line in sys.stdin:
        task = json.loads(line)
        print(json.dumps(does[task.pop("do")](app, course, book, **task)), file=answers, flush=True)


def _run(converter: Any, app: Any, course: Path, book: str, root: str, name: str, student: str) -> str:
    """Let nbgrader convert the only notebook in a folder. Return the problem in one line, or ""."""
    from nbgrader.coursedir import CourseDirectory
    from nbgrader.utils import capture_log

    coursedir = CourseDirectory(parent=app, root=root, db_url=book, assignment_id=name)
    coursedir.root, coursedir.source_directory = root, str(course / "source")

    class OfOne(converter):
        def init_notebooks(self) -> None:  # nbgrader reads a name as a pattern, in which [d] is the letter d
            place = Path(root, self._input_directory, student, name)
            self.notebooks: list[str] = []
            self.assignments = {str(place): [str(place / f"{name}.ipynb")]}

    made = OfOne(coursedir=coursedir, parent=app)
    made.force = True
    if hasattr(made, "autograde_preprocessors") and os.name == "posix":
        made.autograde_preprocessors = [_confined(course, one) for one in made.autograde_preprocessors]
    result = capture_log(made)
    if result["success"]:
        return ""
    log = result.get("log", "") + result["error"]
    if stopped := re.findall(rf"{StoppedError.__name__}: (.+)", log):
        return stopped[-1]
    for mark, why in WHY.items():
        if mark in log:
            return why
    own = "\n".join(line for line in log.splitlines() if "NbGraderException" not in line)  # such a line gives no reason
    return f"nbgrader failed: {last_error(own) or 'no reason is given'}"


def _confined(course: Path, preprocessor: Any) -> Any:
    """A preprocessor of nbgrader. `Confined` replaces the preprocessor that executes a notebook."""
    from nbgrader.preprocessors import Execute
    from traitlets import Float, Integer

    if preprocessor is not Execute:
        return preprocessor

    class Confined(Execute):
        """Runs a notebook with `nfa.course.confined`. Its limits and nbgrader's time for a cell are settings."""

        memory = Float(4.0, help="GB of memory for the code of a submission").tag(config=True)
        processes = Integer(128, help="processes and threads of a submission at once").tag(config=True)

        def preprocess(self, nb: Any, resources: Any = None, km: Any = None) -> tuple[Any, Any]:
            """Set the outputs of a notebook."""
            limits = Limits(int(self.memory * 2**30), self.processes, cell=float(self.timeout or 30))
            _execute(nb, course / "masters", limits)
            return nb, resources

    return Confined


def _execute(nb: Any, masters: Path, limits: Limits) -> None:
    """Set the outputs of each cell that nbgrader uses: the printed text, and the error.

    Raises
    ------
    StoppedError : if the notebook cannot be graded completely
    """
    from nbformat.v4 import new_output

    code = [cell for cell in nb.cells if cell.cell_type == "code"]
    cells = [CodeCell(cell.source, cell.metadata.get("nbgrader", {}).get("grade", False)) for cell in code]
    verdict = judge(cells, masters, limits)
    if verdict["problem"]:
        raise StoppedError(verdict["problem"])
    nb.metadata.setdefault("nfa", {})["notes"] = verdict["notes"]
    for number, (cell, found) in enumerate(zip(code, verdict["cells"], strict=True), 1):
        said = [("stdout", found["stdout"]), ("stderr", found["stderr"])]
        cell.outputs = [new_output("stream", name=name, text=text) for name, text in said if text]
        if found["error"]:
            name, text, lines = found["error"]
            cell.outputs.append(new_output("error", ename=name, evalue=text, traceback=lines or [f"{name}: {text}"]))
        cell.execution_count = number


def _grade(app: Any, course: Path, book: str, name: str, student: str, notebook: str, timestamp: str) -> dict[str, Any]:
    """Grade a notebook in a folder without other files. Then store the graded notebook in ``autograded/``."""
    from nbgrader.converters import Autograde

    with _folder() as root:
        place = Path(root, "submitted", student, name)
        place.mkdir(parents=True)
        (place / f"{name}.ipynb").write_text(notebook, encoding="utf-8")
        if timestamp:
            (place / "timestamp.txt").write_text(timestamp, encoding="utf-8")
        if problem := _run(Autograde, app, course, book, root, name, student):
            _forget(book, name, student)
            return {"problem": problem}
        made = Path(root, "autograded", student, name, f"{name}.ipynb")
        kept = course / "autograded" / student / name
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir(parents=True, exist_ok=True)
        shutil.copy(made, kept / made.name)
        return _page(app, course, book, root, name, student)


def _feedback(app: Any, course: Path, book: str, name: str, student: str) -> dict[str, Any]:
    """Make the feedback of a notebook that is already graded, because the teacher may have changed points by hand."""
    with _folder() as root:
        place = Path(root, "autograded", student, name)
        place.mkdir(parents=True)
        shutil.copy(course / "autograded" / student / name / f"{name}.ipynb", place)
        return _page(app, course, book, root, name, student)


def _page(app: Any, course: Path, book: str, root: str, name: str, student: str) -> dict[str, Any]:
    from nbgrader.converters import GenerateFeedback

    if problem := _run(GenerateFeedback, app, course, book, root, name, student):
        return {"problem": "", "withheld": f"nfa wrote no feedback: {problem}"}
    return {"problem": "", "page": Path(root, "feedback", student, name, f"{name}.html").read_text(encoding="utf-8")}


def _folder() -> tempfile.TemporaryDirectory[str]:
    """A folder for one submission, so that a cell that deletes neighbouring files deletes no other submission."""
    return tempfile.TemporaryDirectory(prefix="nfa-course-", ignore_cleanup_errors=True)


def _forget(book: str, name: str, student: str) -> None:
    """Remove a submission without a score from the gradebook, because nbgrader would export it with the score 0."""
    from nbgrader.api import Gradebook, MissingEntry

    with Gradebook(book) as gradebook:
        try:
            submission = gradebook.find_submission(name, student)
        except MissingEntry:
            return
        grades = [grade for notebook in submission.notebooks for grade in notebook.grades]
        if all(grade.auto_score is None and grade.manual_score is None for grade in grades):
            gradebook.remove_submission(name, student)


def _report(app: Any, course: Path, book: str) -> dict[str, Any]:
    """The students of the gradebook, and every submission. The score is None if a cell has no score."""
    from nbgrader.api import Gradebook

    with Gradebook(book) as gradebook:
        students = {
            one.id: {"last_name": one.last_name, "first_name": one.first_name, "email": one.email}
            for one in gradebook.students
        }
        submissions = []
        for assignment in gradebook.assignments:
            for one in assignment.submissions:
                grades = [grade for notebook in one.notebooks for grade in notebook.grades]
                scored = all(grade.auto_score is not None or grade.manual_score is not None for grade in grades)
                penalty = one.late_submission_penalty
                by_hand = any(grade.manual_score is not None and grade.needs_manual_grade for grade in grades)
                submissions.append(
                    {
                        "assignment": assignment.name,
                        "duedate": str(assignment.duedate or ""),
                        "timestamp": str(one.timestamp or ""),
                        "student_id": one.student_id,
                        "raw_score": one.score,
                        "late_submission_penalty": penalty,
                        "score": max(0.0, one.score - penalty) if scored else None,
                        "max_score": assignment.max_score,
                        "by_hand": by_hand,  # the points were given for an earlier submission
                    }
                )
    return {"students": students, "submissions": submissions}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
