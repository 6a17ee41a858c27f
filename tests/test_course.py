"""The problem sets grade what comes with them as they say, and show students nothing they should not see.

The scores are stated in each set's set.toml. Exercises cut out of nfa (`nfa course stub`) are judged by its own tests.
"""

import ast
import functools
import os
import re
import subprocess
import sys
import textwrap
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest
from tree import ROOT

from nfa import cli, ledger
from nfa.course import SETS, checking, checks, stubs

NAMES = sorted(path.parent.name for path in SETS.glob("*/set.toml"))
TABLES = {name: tomllib.loads((SETS / name / "set.toml").read_text(encoding="utf-8")) for name in NAMES}
QUICK = {"reference", "blank"}  # of every set, and the first mistake; the others take the slow tier


def submissions():
    """(set, submission) for every one there is; most of them slow."""
    for name, table in TABLES.items():
        every = ["reference", "blank", *table["solutions"], *table["wrong"]]
        for submission in every:
            quick = submission in QUICK or submission == next(iter(table["wrong"]))
            yield pytest.param(name, submission, marks=[] if quick else [pytest.mark.slow])


@pytest.fixture(scope="module")
def sets():
    """The problem sets by name; skips without jupytext, which reads them."""
    pytest.importorskip("jupytext", reason="problem sets need jupytext: pip install -e '.[course]'")
    from nfa.course import problem_sets

    return {name: problem_sets.load(SETS / name) for name in NAMES}


@pytest.fixture
def course(tmp_path):
    """A new course folder."""
    pytest.importorskip("nbgrader", reason="courses need nbgrader: pip install -e '.[course]'")
    from nfa.course import folder

    folder.new(tmp_path / "course")
    return tmp_path / "course"


# --- every set


@pytest.mark.parametrize("name, submission", list(submissions()))
def test_every_submission_gets_its_score(sets, name, submission, monkeypatch):
    from nfa.course import problem_sets

    problems = sets[name]
    handed_in = problems.submissions[submission]
    if "infinite" in submission:
        monkeypatch.setattr(checking, "SECONDS", 1.0)
    told = problem_sets.grade(problems, handed_in)
    failed = {cell: text for cell, text in told.items() if text}
    assert set(failed) == set(handed_in.fails), failed
    assert problem_sets.score(problems, told) == handed_in.score
    for text in failed.values():
        assert re.fullmatch(r"Wrong: [^\n]{15,400}", text), f"a failed check says in one sentence what is wrong: {text}"


@pytest.mark.parametrize("name", NAMES)
def test_a_set_is_whole(sets, name):
    problems, table, folder = sets[name], TABLES[name], SETS / name
    assert 60 <= problems.minutes <= 120
    assert problems.points == 20
    assert all(ledger.find(statement).id == statement for statement in problems.statements)
    assert len((folder / "goals.md").read_text(encoding="utf-8")) > 1000
    assert len(table["solutions"]) >= 3
    assert len(table["wrong"]) >= 8
    assert {"infinite_loop", "tampered"} <= set(table["wrong"])
    for kind in ("solutions", "wrong"):
        assert sorted(path.stem for path in (folder / kind).glob("*.py")) == sorted(table[kind])
    for row in table["wrong"].values():
        assert row["score"] == problems.points - sum(problems.tests[cell] for cell in row["fails"])
        assert row["score"] < problems.points
    for cell in problems.cells:
        if cell.kind == "test":  # one check, of the cell's name, and that before anything that may not end
            first = cell.source.partition("### END HIDDEN TESTS")[0]
            assert re.findall(r'checks\("(\w+)"\)\.(\w+)\(', cell.source) == [(name, cell.name)]
            assert [line for line in first.partition("### BEGIN")[0].splitlines() if not line.startswith("#")] == []
            assert callable(getattr(checks(name), cell.name))
        elif cell.kind == "solution":
            assert len(re.findall("### BEGIN SOLUTION|### END SOLUTION", cell.source)) == 2
        else:
            assert "###" not in cell.source.replace("####", "")


@pytest.mark.parametrize("name", NAMES)
def test_no_line_of_a_solution_or_check_is_in_what_students_get(sets, name):
    from nfa.course import problem_sets

    problems = sets[name]
    seen = "\n".join(problem_sets.HIDDEN.sub("", problem_sets.blank(cell.source)) for cell in problems.cells)
    assert problem_sets.leaks(problems, seen) == []
    assert len(problems.secrets) > 30
    solution = next(cell for cell in problems.cells if cell.kind == "solution")
    assert "BEGIN SOLUTION" in problem_sets.leaks(problems, seen + solution.source)
    line = max(problems.secrets, key=len)
    assert problem_sets.leaks(problems, f"{seen}\n    {line}\n") == [line]
    assert problem_sets.leaks(problems, seen + line, own=line) == []


# --- what checks are written with


def test_a_call_that_never_ends_is_stopped(monkeypatch):
    monkeypatch.setattr(checking, "SECONDS", 0.05)

    def forever():
        while True:
            try:
                time.sleep(0.001)
            except Exception:
                pass

    with pytest.raises(checking.Wrong, match=r"forever did not return within 0\.05 seconds"):
        checking.call(forever)


def test_what_a_student_raises_becomes_a_sentence():
    def broken(v):
        raise KeyError("W" * 1000)

    def leaves(v):
        sys.exit(0)

    def changes(v):
        v[:] = 7
        return v

    for function, told in [
        (broken, "broken raised KeyError: 'WW"),
        (leaves, "leaves raised SystemExit"),
        (3, "of type int"),
    ]:
        with pytest.raises(checking.Wrong, match=told) as caught:
            checking.call(function, [1])
        assert len(str(caught.value)) < 300
    kept = np.zeros(2)
    assert checking.call(changes, kept).tolist() == [7, 7]
    assert kept.tolist() == [0, 0]


def test_comparisons_say_where_and_by_what_factor():
    want = np.array([[1.0, 2.0], [3.0, 4.0]])
    checking.close(want.astype(np.float32) * np.float32(1 + 1e-6), want, "dW")
    for got, told in [(-want, "dW is -1 times"), (want / 7, "0.1429 times"), (want + [[0, 0], [1, 0]], r"at \[1, 0\]")]:
        with pytest.raises(checking.Wrong, match=told):
            checking.close(got, want, "dW")
    with pytest.raises(checking.Wrong, match=r"the shape \(2,\), and it has the shape \(2, 2\)"):
        checking.array(want, (2,), "db")
    with pytest.raises(checking.Wrong, match="nan"):
        checking.array([np.nan, 1], (2,), "db")
    with pytest.raises(checking.Wrong, match="None: is a return missing"):
        checking.pair(None, "z and h")


# --- a course, through nbgrader


@pytest.mark.slow
def test_the_teachers_walk(course):
    """The README's commands give what it shows; so four submissions go the whole way through nbgrader."""
    text = (course / "README.md").read_text(encoding="utf-8")
    walk = re.findall(r"```console\n\$ (.*)\n((?:(?!```).*\n)*)```", text)
    assert [command.split()[2] for command, _ in walk[:3]] == ["build", "rehearse", "grade"]
    env = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "80"}
    env.pop("NFA_DEBUG", None)
    for command, shown in walk:
        command = command.replace("nfa course", f"{sys.executable} -m nfa course")
        done = subprocess.run(command, shell=True, cwd=course, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert [line.rstrip() for line in done.stdout.splitlines()] == shown.splitlines()
    for page in course.glob("feedback/*/*/*.html"):
        page = page.read_text(encoding="utf-8")
        assert "HIDDEN" not in page
        assert "checks(" not in page
        assert "Traceback (most recent" not in page
    assert len(list(course.glob("feedback/*/*/*.html"))) == 4


def test_the_notebooks_have_nbgraders_marks(course):
    from nfa.course import folder

    (problems, *_) = folder.sets_of(course, ["ps2_dfa"])
    made = folder.notebook(problems)
    marks = {
        cell.metadata.nbgrader.grade_id: cell.metadata.nbgrader for cell in made.cells if "nbgrader" in cell.metadata
    }
    assert {name: mark.points for name, mark in marks.items() if mark.grade} == problems.tests
    assert all(mark.locked != mark.solution for mark in marks.values())
    handed_in = folder.rehearse(course, problems, ["forgot_dphi"])
    assert [one.score for one in handed_in] == [17]
    (path,) = course.glob("submitted/forgot_dphi/ps2_dfa/*")
    assert "HIDDEN" not in path.read_text(encoding="utf-8")


def refused(capsys, *arguments):
    """Exit code and the one sentence of a command that is refused."""
    code = cli.main(["course", *map(str, arguments)])
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1, err
    return code, err


def test_bad_usage_is_one_sentence(course, capsys, tmp_path, monkeypatch):
    assert refused(capsys, "new", course) == (
        2,
        f"nfa: a new course needs a folder that is empty or not there yet, got {course}\n",
    )
    code, told = refused(capsys, "new", tmp_path / "x", "--set", "ps99")
    assert code == 2
    assert "there is no problem set 'ps99': choose from" in told
    assert not (tmp_path / "x").exists()
    assert "made, with nbgrader_config.py in it" in refused(capsys, "build", "--course", tmp_path)[1]
    assert "has no problem set 'ps99'" in refused(capsys, "build", "ps99", "--course", course)[1]
    assert "has no submission 'best'" in refused(capsys, "rehearse", "ps2_dfa", "best", "--course", course)[1]
    assert "must be built before" in refused(capsys, "grade", "ps2_dfa", "--course", course)[1]
    assert "nobody handed in anything" in refused(capsys, "grade", "--course", course)[1]
    master = course / "masters" / "ps2_dfa" / "master.py"
    master.write_text(master.read_text(encoding="utf-8").replace("e = h[L] - y", "e = y - h[L]"), encoding="utf-8")
    code, told = refused(capsys, "build", "ps2_dfa", "--course", course)
    assert code == 2
    assert "the reference solution of ps2_dfa must pass every check, and fails dfa_scale" in told


def test_without_the_extra_it_says_what_to_install(capsys, tmp_path, monkeypatch):
    from nfa.course import folder

    monkeypatch.setattr(folder, "find_spec", lambda name: None)
    code, told = refused(capsys, "new", tmp_path / "x")
    assert (code, told) == (1, "nfa: assignments need jupytext and nbgrader: pip install 'nfa[course]'\n")


# --- exercises cut out of nfa


parsed = functools.cache(ast.parse)


def filled(text, spoil=("", "")):
    """A stub with nfa's own bodies written into it, one piece of them exchanged."""
    lines, code = [], ""
    for line in text.splitlines():
        code = found[1] if (found := re.match(r'@exercise\("([^"]+)"', line)) else code
        if line.startswith('    raise NotImplementedError("exercise: '):
            module, _, name = code.partition(":")
            source = Path(sys.modules[module].__file__).read_text(encoding="utf-8")
            node = parsed(source)
            for part in name.split("."):
                node = next(child for child in node.body if getattr(child, "name", None) == part)
            after = node.body[0].end_lineno if ast.get_docstring(node) is not None else node.body[0].lineno - 1
            body = textwrap.dedent("\n".join(source.splitlines()[after : node.end_lineno]))
            line = textwrap.indent(body.replace(*spoil) if spoil[0] else body, "    ")
        lines.append(line)
    return "\n".join(lines) + "\n"


def judged(stub, *arguments):
    """Exit code and output of pytest with a stub."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--tb=line",
        f"--stub={stub}",
        *arguments,
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


CASES = {
    "reference": (0, ("", ""), "passed"),
    "without phi'": (1, ("net.pull(l, z, project(e, B[l]), at)", "project(e, B[l]).reshape(z[l].shape)"), "failed"),
    "sign": (1, ("net.loss.error(z[L], y)", "-net.loss.error(z[L], y)"), "failed"),
    "not filled in": (1, None, "NotImplementedError: exercise: [lee2020:eq5]"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_projects_tests_judge_a_filled_in_stub(case, tmp_path, capsys):
    code, spoil, told = CASES[case]
    mine = tmp_path / "mine.py"
    assert cli.main(["course", "stub", "lee2020:eq5", "--out", str(mine)]) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[-1] == f"python -m pytest --eq lee2020:eq5 --stub={mine}"
    if spoil is not None:
        mine.write_text(filled(mine.read_text(encoding="utf-8"), spoil), encoding="utf-8")
    got, output = judged(mine, "--eq", "lee2020:eq5", "-m", "not peers", "tests/test_rules.py")
    assert (got, told in output) == (code, True), output[-2000:]


@pytest.mark.slow
def test_a_stub_of_every_statement_can_be_filled_in(tmp_path):
    """Every function of the ledger with nfa's own body in it runs as a file and can be put in place of nfa's."""
    chosen = stubs.exercises(ledger.papers())
    assert len(chosen) > 250
    code = (
        "import sys; from pathlib import Path; from nfa.course import stubs; print(len(stubs.use(Path(sys.argv[1]))))"
    )
    mine = tmp_path / "mine.py"
    mine.write_text(filled(stubs.write(chosen)), encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", code, mine], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == f"{len(chosen)}\n", done.stderr


@pytest.mark.slow
def test_every_holder_of_a_function_gets_the_students(tmp_path):
    """Names imported before, tables, defaults and methods: the function itself is exchanged, not one name of it."""
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from nfa.course.stubs import exercise\n"
        "@exercise('nfa.feedback:project', 'ohana2021:eq5')\n"
        "def project(e, B, *, noise_std=0.0, rng=None):\n    return 'mine'\n"
        "@exercise('nfa.opu:OPU.linear', 'ohana2021:eq5')\n"
        "def linear(self, e):\n    return 'mine too'\n"
    )
    code = f"""
from pathlib import Path
import inspect
from nfa.rules.dfa import dfa
from nfa.feedback import project as before
from nfa.course import stubs
stubs.use(Path({str(mine)!r}))
from nfa.feedback import project as after
from nfa.opu import OPU
default = inspect.signature(dfa).parameters["project"].default
print(before(1, 2), after(1, 2), default(1, 2), OPU.linear(None, 1), inspect.signature(before))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "mine mine mine mine too (e, B, *, noise_std=0.0, rng=None)\n", done.stderr


def test_a_stub_that_cannot_be_used_is_refused_in_one_sentence(tmp_path, capsys):
    mine = tmp_path / "mine.py"
    head = "from nfa.course.stubs import exercise\n"
    for text, told in [
        ("def f(:\n", "cannot be run: SyntaxError"),
        ("x = 1\n", "has no function marked"),
        (f"{head}@exercise('nfa.nowhere:f', 'lee2020:eq5')\ndef f(): pass\n", "nfa has no nfa.nowhere:f"),
        (f"{head}@exercise('nfa.network:Net', 'lee2020:eq1')\ndef f(): pass\n", "is not a plain function"),
    ]:
        mine.write_text(text)
        with pytest.raises(ValueError, match=told):
            stubs.use(mine)
    with pytest.raises(ValueError, match="there is no file"):
        stubs.use(tmp_path / "none.py")
    code, told = refused(capsys, "stub", "lee2020:eq5", "--out", mine)
    assert code == 2
    assert "there is a file already" in told
    assert mine.read_text() == text
    nothing = next(item.id for item in ledger.items() if not item.code)
    assert "so there is nothing to fill in" in refused(capsys, "stub", nothing)[1]
