"""The commands `nfa course`: assignments for nbgrader, and exercises from functions of nfa."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from nfa.cli.layout import output, plain_table, right, unbroken
from nfa.cli.terminal import FAILED, NAMED, AsJson, argument, option, print_json, tell
from nfa.course import renamed
from nfa.whole import write_whole

Sets = Annotated[
    list[str] | None, argument(metavar="SET", help="Problem sets. Without a SET, the command uses all problem sets.")
]
Course = Annotated[Path, typer.Option("--course", metavar="DIR", **NAMED, help="Folder of the course.")]
SHOWN = 8  # `nfa course check` prints one line for each of at most this many right functions
Jobs = Annotated[int, typer.Option("--jobs", min=1, metavar="N", help="Number of processes that run at the same time.")]


def _tell_renamed(asked: Iterable[str], found: Collection[str]) -> None:
    """Print the present name of each problem set that the user named by its old name."""
    for name in asked:
        if name not in found:
            tell(f"{name} is now {renamed(name, found)}")


def new(
    folder: Annotated[
        Path,
        argument(metavar="DIR", **NAMED, help="Folder of the new course. The folder must be empty or not exist yet."),
    ],
    sets: Annotated[
        list[str] | None,
        option(
            "--set",
            metavar="SET",
            help="Problem set of the course. You can repeat this option. Without --set, the course has all sets.",
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Make a course folder with nbgrader's settings, a README for the teacher, and the problem sets with solutions.

    The README describes all steps up to grades and feedback. The README also describes a container in which you can
    run the students' code safely.

    Example:
    nfa course new ml2 --set ps2_dfa
    """
    from nfa.course import folder as course_folder

    course_folder.require()
    chosen = course_folder.new(folder, sets or ())
    _tell_renamed(sets or (), chosen)
    if json:
        print_json({"course": folder, "sets": chosen})
        return
    print(f"{folder} contains {', '.join(chosen)}. The README.md in this folder describes the next steps.")


def build(sets: Sets = None, course: Course = Path("."), jobs: Jobs = 1, json: AsJson = False) -> None:
    """Make the student versions of problem sets: release/SET/SET.ipynb, without solutions and hidden tests.

    The command stops if the reference solution fails a check, or if a student version shows a solution or a hidden
    test.

    Example:
    nfa course build ps2_dfa
    """
    from nfa.course import folder as course_folder

    course_folder.require()
    made = []
    chosen = course_folder.sets_of(course, sets or ())
    _tell_renamed(sets or (), [problems.name for problems in chosen])
    for problems, release in zip(chosen, course_folder.build_all(course, chosen, jobs), strict=True):
        made.append({"set": problems.name, "points": problems.points, "release": release})
        if not json:
            about = f"{problems.points} points, {len(problems.tests)} graded cells, and students see no solution"
            print(f"{release.relative_to(course)}: {about}")
    if json:
        print_json(made)


def rehearse(
    problem_set: Annotated[str, argument(metavar="SET", help="Problem set of the course.")],
    names: Annotated[
        list[str] | None,
        argument(
            metavar="NAME",
            help="Example submissions of the problem set. Without a NAME, the command submits all examples.",
        ),
    ] = None,
    course: Course = Path("."),
    json: AsJson = False,
) -> None:
    """Submit the right and wrong example solutions of a problem set, so that you can try the grading.

    The name of an example is also the name of the student for whom the command submits this example.

    Example:
    nfa course rehearse ps2_dfa loops forgot_dphi
    """
    from nfa.course import folder as course_folder

    course_folder.require()
    (problems,) = course_folder.sets_of(course, [problem_set])
    _tell_renamed([problem_set], [problems.name])
    handed_in = course_folder.rehearse(course, problems, names or ())
    if json:
        print_json([{"name": s.name, "about": s.about, "score": s.score} for s in handed_in])
        return
    table = plain_table(unbroken("student"), right("expected"), "description")
    for submission in handed_in:
        table.add_row(submission.name, str(submission.score), submission.about)
    output().print(table)


def grade(
    sets: Sets = None,
    course: Course = Path("."),
    again: Annotated[bool, typer.Option("--again", help="Also grade submissions that have a grade already.")] = False,
    jobs: Jobs = 1,
    json: AsJson = False,
) -> None:
    """Grade the notebooks submitted/STUDENT/SET/SET.ipynb, and write grades.csv and the feedback for the students.

    The feedback contains no hidden test. The command runs the code of the submissions within limits on memory,
    processes, time, files and network, if the operating system has these limits. The README of the course describes a
    container, which is safer than these limits. Without a SET, the command grades every set with a submission. The exit
    code is 1 if a submission could not be graded.

    Example:
    nfa course grade ps2_dfa
    """
    from nfa.course import cage, submissions
    from nfa.course import folder as course_folder

    course_folder.require()
    chosen = course_folder.sets_of(course, sets or ())
    _tell_renamed(sets or (), [problems.name for problems in chosen])
    if not sets:
        chosen = [problems for problems in chosen if submissions.mentioned(course, problems.name)]
        if not chosen:
            raise ValueError("there is no submission: put notebooks at submitted/STUDENT/SET/SET.ipynb")
    ready = submissions.built(course)
    lacking = [] if sets else [problems.name for problems in chosen if problems.name not in ready]
    if len(lacking) < len(chosen):  # sets that are not built do not stop the grading of the other sets
        chosen = [problems for problems in chosen if problems.name not in lacking]
    for lack in cage.missing():
        tell(f"nfa cannot limit the students' code fully: {lack}. The README of the course describes a container")
    rows = [{"set": p.name, **row} for p in chosen for row in course_folder.grade(course, p, again, jobs)]
    missing = [row for row in rows if row["score"] is None]
    if json:
        status = {True: course_folder.NOT_GRADED, False: "graded"}
        print_json([{**row, "status": status[row["score"] is None]} for row in rows])
    else:
        table = plain_table(unbroken("set"), unbroken("student"), right("score", no_wrap=True))
        for row in rows:
            score = course_folder.NOT_GRADED if row["score"] is None else f"{row['score']:g} of {row['points']}"
            table.add_row(row["set"], row["student"], score)
        output().print(table)
        noted = [(row, note) for row in rows if row["score"] is not None for note in row["notes"]]
        for title, lines in (
            ("Not graded:", [(row, row["reason"]) for row in missing]),
            ("Graded, with a note:", noted),
        ):
            if lines:
                print(title)
            for row, text in lines:
                print(f"  {row['set'] + ' ' if len(chosen) > 1 else ''}{row['student']}: {text}")
        print("grades.csv contains all scores. The feedback for each student is in feedback/STUDENT/SET.")
    if lacking:
        tell(f"these problem sets are not built, so their submissions are not graded: {', '.join(lacking)}")
    if missing:
        tell(f"{len(missing)} of {len(rows)} submissions not graded: {', '.join(row['student'] for row in missing)}")
    if missing or lacking:
        raise typer.Exit(FAILED)


def stub(
    statements: Annotated[
        list[str], argument(metavar="ID", help="Statements of a paper, such as lee2020:eq5, or whole papers.")
    ],
    out: Annotated[
        Path | None,
        option(
            metavar="FILE", **NAMED, help="File for the functions. Without --out, the command prints the functions."
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Write the heads and docstrings of the functions of nfa that compute the formulas of the given statements, without
    the bodies.

    Fill in the bodies. Then check the functions with `nfa course check FILE`. In a clone of the repository, `pytest
    --stub=FILE` runs all tests of these statements.

    Example:
    nfa course stub lee2020:eq5 --out mine.py
    """
    from nfa.course import stubs

    exercises = stubs.exercises(statements)
    text = stubs.write(exercises)
    if out is not None:
        if out.exists():
            raise ValueError(f"{out} exists already, and nfa does not overwrite files: give another --out")
        write_whole(out, text.encode())
    if json:
        print_json(
            {"out": out, "functions": {one.code: one.ids for one in exercises}, **({} if out else {"text": text})}
        )
    elif out is None:
        print(text, end="")
    else:
        print(f"{out} has {len(exercises)} function{'s' if len(exercises) > 1 else ''} to fill in. Afterwards, run:")
        print(f"nfa course check {out}")


def ladder(
    paper: Annotated[
        str | None,
        argument(metavar="PAPER", help="Paper, such as lee2020. Without a PAPER, the command lists all tasks."),
    ] = None,
    out: Annotated[Path | None, option(metavar="DIR", **NAMED, help="Folder for the files of the tasks.")] = None,
    json: AsJson = False,
) -> None:
    """List small tasks that lead through a paper or, with --out, write a file to fill in for each task.

    `nfa course check FILE` checks the file of one task. If the function is right, the command names the next task.
    Otherwise, the command prints the first failure with a hint.

    Example:
    nfa course ladder lee2020
    nfa course ladder lee2020 --out ladder
    """
    from nfa.course import ladder as course_ladder

    chosen = [paper] if paper else course_ladder.papers()
    if out and not paper:
        raise ValueError(f"--out needs a paper: give one of {', '.join(chosen)}")
    every = [task for name in chosen for task in course_ladder.tasks(name)]
    written = course_ladder.write(chosen[0], out) if out else [None] * len(every)
    if json:
        rows = zip(every, written, strict=True)
        told = [{"paper": t.paper, "task": t.name, "title": t.title, "statements": t.ids, "file": f} for t, f in rows]
        print_json({"tasks": told})
        return
    if out:
        print(f"{out} has {len(every)} files to fill in. Begin with {every[0].name}.py, then run:")
        print(f"nfa course check {(out / every[0].name).as_posix()}.py")
        return
    table = plain_table(unbroken("task"), "title", "statements")
    for task in every:
        table.add_row(task.name if paper else f"{task.paper}/{task.name}", task.title, ", ".join(task.ids))
    output().print(table)
    print(f"\nTo write a file for each task, run: nfa course ladder {chosen[0]} --out ladder")


def check(
    path: Annotated[
        Path,
        argument(
            metavar="FILE",
            **NAMED,
            help="Notebook of a problem set, file of `nfa course stub` or `nfa course ladder`, or a folder of such"
            " files.",
        ),
    ],
    json: AsJson = False,
) -> None:
    """Check the functions that you filled in, and print each failure with its possible cause.

    For the notebook of a problem set, the command runs all checks of the set and prints the sentences that grading
    would print. These checks use other values than the grading. nfa saves no score.

    The command checks BP, FA, DFA, DP-SGD and DFA with a joint clip on dense networks first. Then the command checks
    these functions on networks with skips, convolutions and pooling. For the other functions of `nfa course stub`, the
    command runs the tests of the project, which are only in a clone of the repository. If the function of a ladder's
    task is right, the command names the next task. The exit code is 1 if a function is wrong.

    Example:
    nfa course check ps2_dfa.ipynb
    nfa course check mine.py
    nfa course check ladder/03_bp.py
    nfa course check ladder
    """
    if path.suffix == ".ipynb":
        _practise(path, json)
        return
    from nfa.course import check as course_check

    found = []
    for one in course_check.judgements(path):
        found.append(one)
        if not json and (len(found) <= SHOWN or one.judgement.problem):
            if len(found) > SHOWN + 1:
                print(f"{len(found) - SHOWN - 1} more functions: right")
            _show_judgement(one)
    right = not found[-1].judgement.problem
    if right and len(found) > SHOWN and not json:
        print(f"{len(found) - SHOWN} more functions: right")
    after = course_check.next_task(found) if right else None
    if json:
        told = {"file": path, "right": right, "functions": [_judged(one) for one in found]}
        print_json({**told, "next": after and after.name})
    elif right:
        _show_way_on(path, found[-1].code, after)
    if not right:
        raise typer.Exit(FAILED)


def _practise(path: Path, json: bool) -> None:
    """Run the checks of a notebook, and print one line for each check that fails."""
    from nfa.course import practice

    notebook = practice.notebook(path)
    found = list(practice.run(notebook))
    failed = [one for one in found if one.problem]
    if json:
        told = [{"check": one.check, "passes": not one.problem, "problem": one.problem} for one in found]
        print_json({"file": path, "set": notebook.name, "right": not failed, "checks": told})
    else:
        passed = len(notebook.graded) - sum(one.check in notebook.graded for one in failed)
        print(f"{notebook.name}: {passed} of {len(notebook.graded)} checks pass")
        for one in failed:
            output().print(f"  {one.check}: {one.problem}")
        print("These checks use other values than the grading.")
    if failed:
        raise typer.Exit(FAILED)


def _show_way_on(path: Path, code: str, after: Any) -> None:
    """Print the next command if all functions of a file are right."""
    from nfa.course.ladder import CODE

    if after:
        file = (path if path.is_dir() else path.parent) / f"{after.name}.py"
        command = f"check {file.as_posix()}" if file.is_file() else f"ladder {after.paper} --out ladder"
        print(f"\nRight. Next: {after.title}\nnfa course {command}")
    elif code.startswith(CODE):
        print(f"\nRight. This task is the last of the ladder of {code.removeprefix(CODE).partition('/')[0]}.")
    else:
        print("\nRight. In a clone of the repository, run all tests of these statements:")
        print(f"python -m pytest --stub={path}")


def _judged(one: Any) -> dict[str, Any]:
    judgement = one.judgement
    states = dict(zip([stage or "task" for stage in judgement.stages], _states(judgement), strict=True))
    told = {"problem": judgement.problem, "where": judgement.where, "slips": judgement.slips, "hint": judgement.hint}
    return {"function": one.name, "code": one.code, "statements": one.ids, "stages": states, **told}


def _states(judgement: Any) -> list[str]:
    """Return the state of every stage: right, wrong or not tried."""
    at = judgement.passed
    return ["right" if i < at else "wrong" if i == at else "not tried" for i in range(len(judgement.stages))]


def _show_judgement(one: Any) -> None:
    """Print one line for a right function. For a wrong function, print the stages, the first failure and a hint."""
    judgement, states = one.judgement, _states(one.judgement)
    about = f"{', '.join(one.ids[:3])}{f' and {len(one.ids) - 3} more' if len(one.ids) > 3 else ''}"
    staged = len(states) > 1
    head = f"{one.name} ({about}){':' if judgement.problem and staged else ': ' + states[0]}"
    output().print(f"{head} for {', '.join(judgement.stages)}" if staged and not judgement.problem else head)
    if not judgement.problem:
        return
    width = max(map(len, judgement.stages))
    for stage, state in zip(judgement.stages, states, strict=True):
        if staged:
            print(f"  {stage:{width}}  {state}")
    last = judgement.slips or ([f"Hint: {judgement.hint}"] if judgement.hint else [])
    print()
    for line in [*judgement.problem.splitlines(), *([judgement.where] if judgement.where else []), *last]:
        output().print(line)
