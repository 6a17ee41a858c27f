"""Tests of the problem sets: submissions get the stated scores, and students do not see hidden tests.

The headers in each problem set's solutions.py and wrong.py state the scores. `nfa course stub` removes the bodies of
functions from nfa's code, and nfa's own tests judge these exercises.
"""

import ast
import configparser
import functools
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest

from nfa import ledger
from nfa.cli import main
from nfa.course import SETS, checking, checks, stubs
from tests.project.tree import ROOT
from tests.rules.test_rules import OTHERS

NAMES = sorted(
    (path.parent.name for path in SETS.glob("*/set.toml")), key=lambda name: int(re.match(r"ps(\d+)_", name)[1])
)
QUICK = {"reference", "blank"}  # the quick tests use these and each set's first wrong submission


def table(name):
    """The content of set.toml, or {} if the file is not valid TOML. Then only `test_a_set_is_whole` fails."""
    try:
        return tomllib.loads((SETS / name / "set.toml").read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError:
        return {}


def variants(name, script):
    """The headers of solutions.py or wrong.py that state a score, as {variant: (score, the cells that fail)}."""
    headers = re.findall(r"(?m)^# %% (\w+) score=(.*)$", (SETS / name / script).read_text(encoding="utf-8"))
    stated = [(variant, rest.partition(" fails=")) for variant, rest in headers]
    return {variant: (int(score), json.loads(fails or "[]")) for variant, (score, _, fails) in stated}


def submissions():
    """(problem set, submission) for every submission. Most submissions are slow tests."""
    for name in NAMES:
        solutions, wrong = variants(name, "solutions.py"), variants(name, "wrong.py")
        for submission in ["reference", "blank", *solutions, *wrong]:
            quick = submission in QUICK or submission == next(iter(wrong), "")
            yield pytest.param(name, submission, marks=[] if quick else [pytest.mark.slow])


# The sentences of failed checks. `mismatch` writes the first kind. `call` writes the second kind, if a function raises
# an error or takes too long.
TOLD = re.compile(r"Wrong: \S[^;]*: found [^;]+(, expected [^;]+| times what is expected)(; .+)?")
RAISED = re.compile(
    r"Wrong: (where [^:]+: )?\w+ (raised \w+: .*|did not return within [\d.]+ seconds: .*|is not written yet)"
)


@functools.cache
def problem_set(name):
    """A problem set. Skips the test without jupytext, which reads the sets."""
    pytest.importorskip("jupytext", reason="problem sets need jupytext: pip install -e '.[course]'")
    from nfa.course import problem_sets

    return problem_sets.load(SETS / name)


@pytest.fixture
def course(tmp_path):
    """A new course folder."""
    pytest.importorskip("nbgrader", reason="courses need nbgrader: pip install -e '.[course]'")
    from nfa.course import folder

    folder.new(tmp_path / "course")
    return tmp_path / "course"


# --- every set


@pytest.mark.parametrize("name, submission", list(submissions()))
def test_every_submission_gets_its_score(name, submission, monkeypatch):
    problems = problem_set(name)
    from nfa.course import problem_sets

    handed_in = problems.submissions[submission]
    if "infinite" in submission:
        monkeypatch.setattr(checking, "SECONDS", 0.3)
    told = problem_sets.grade(problems, handed_in)
    failed = {cell: text for cell, text in told.items() if text}
    assert set(failed) == set(handed_in.fails), failed
    assert problem_sets.score(problems, told) == handed_in.score
    for text in failed.values():
        assert re.fullmatch(r"Wrong: [^\n]{15,400}", text), f"a failed check says in one sentence what is wrong: {text}"
        assert TOLD.fullmatch(text) or RAISED.fullmatch(text), (
            f"what is wrong, found and expected, in this order: {text}"
        )


def assert_goals_fit(text, problems):
    """A problem set's page for teachers has the required sections, and states its minutes, points and statements."""
    parts = [part for part in re.findall("(?m)^## (.*)$", text) if part != "The claims, and whose they are"]
    assert parts == ["What a student can do afterwards", "Parts", "Mistakes to expect", "To discuss"]
    (number,) = re.findall(r"^ps(\d+)_", problems.name)
    assert re.match(rf"# Problem set {number}: \w.*\n\n{problems.minutes} minutes, 20 points[.,]", text)
    rows = re.findall(r"(?m)^\| \d .*\| (\d+) \| .* \|$", text)
    assert sum(map(int, rows)) == problems.points
    (listed,) = re.findall(r"(?s)\nStatements: (.*?)\.\n\n", text)
    assert tuple(listed.split()) == tuple(", ".join(problems.statements).split())
    first = " ".join(problems.cells[0].source.split())
    assert f"{problems.minutes} minutes" in first
    assert "20 points" in first
    text = "\n".join(cell.source for cell in problems.cells)
    found = re.findall(r"(?m)^## (\d)\. .* \((\d+) points?, (\d+) minutes\)$", text)
    assert [part[1] for part in found] == rows, "each part of the notebook ends its heading with (4 points, 25 minutes)"
    assert sum(int(part[2]) for part in found) == problems.minutes


def test_a_sentence_in_another_order_is_seen():
    for told in (
        "the rank: found 3, expected another number",
        "dW[1] at [0, 2]: found -1 times what is expected; e is y_hat - y",
        'the neighbours of D = [3] under "add-remove": found no [], expected it among them; what differs: one record',
    ):
        assert TOLD.fullmatch(f"Wrong: {told}")
        assert not RAISED.fullmatch(f"Wrong: {told}")
    for told in (
        "the rank is not 3; draw one",
        "the rank: expected 4, found 3",
        "the rank: found 3; expected 4",
        ": found 3, expected 4",
        "dW[1] is off by up to 0.4 at [0, 2]",
        "dW[1] raised my hopes",
    ):
        assert not TOLD.fullmatch(f"Wrong: {told}")
        assert not RAISED.fullmatch(f"Wrong: {told}")


@pytest.mark.parametrize("name", NAMES)
def test_every_sentence_of_a_check_is_put_together_in_one_place(name):
    """Only `mismatch` and `misfit` write the sentences of checks. We read the source to include every sentence."""
    parsed = ast.parse((SETS / name / "checks.py").read_text(encoding="utf-8"))
    raised = [node.exc for node in ast.walk(parsed) if isinstance(node, ast.Raise) and node.exc is not None]
    called = [node.func.id for node in raised if isinstance(node, ast.Call)]
    assert len(called) > 5
    assert set(called) <= {"mismatch", "misfit", "told", "AssertionError", "ValueError"}  # `told` calls `mismatch`
    assert "Wrong" not in [getattr(node.func, "id", "") for node in ast.walk(parsed) if isinstance(node, ast.Call)]


@pytest.mark.parametrize("name", NAMES)
def test_a_set_is_whole(name):
    has, folder = table(name), SETS / name
    lacks = [key for key in ("title", "minutes", "statements") if not has.get(key)]
    assert not lacks, f"set.toml of {name} lacks {', '.join(lacks)}, or is no TOML"
    problems = problem_set(name)
    assert 60 <= problems.minutes <= 120
    assert problems.points == 20
    assert all(ledger.find(statement).id == statement for statement in problems.statements)
    assert_goals_fit((folder / "goals.md").read_text(encoding="utf-8"), problems)
    files = {path.name for path in folder.iterdir() if path.name != "__pycache__"}
    assert files == {"master.py", "checks.py", "solutions.py", "wrong.py", "goals.md", "set.toml"}
    solutions, wrong = variants(name, "solutions.py"), variants(name, "wrong.py")
    assert len(solutions) >= 3
    assert len(wrong) >= 8
    assert {"infinite_loop", "tampered"} <= set(wrong)
    guesses = [cell for cell in problems.tests if cell.endswith("guess_made")]
    assert guesses, "a set asks for a guess before an experiment: a graded cell NAMEguess_made"
    answers = [cell for cell in problems.tests if cell.endswith("_answer")]
    assert len(answers) >= 2, "a set has two questions with a letter and a reason: graded cells NAME_answer"
    assert list(problems.submissions) == ["reference", "blank", *solutions, *wrong]
    for variant, (stated, fails) in {**solutions, **wrong}.items():
        assert stated == problems.points - sum(problems.tests[cell] for cell in fails)
        assert (stated == problems.points) == (variant in solutions)
        got = problems.submissions[variant]
        assert (got.score, got.fails) == (stated, tuple(fails))
        assert re.fullmatch(r"\S.{8,}[^.\s]", got.about), f"{variant} must say what it is, got {got.about!r}"
    for cell in problems.cells:
        if cell.kind == "test":  # the cell calls one check, with the cell's name, before any other code
            first = cell.source.partition("### END HIDDEN TESTS")[0]
            assert re.findall(r'checks\("(\w+)"\)\.(\w+)\(', cell.source) == [(name, cell.name)]
            assert [line for line in first.partition("### BEGIN")[0].splitlines() if not line.startswith("#")] == []
            assert callable(getattr(checks(name), cell.name))
        elif cell.kind == "solution":
            assert len(re.findall("### BEGIN SOLUTION|### END SOLUTION", cell.source)) == 2
        else:
            assert "###" not in cell.source.replace("####", "")


MASTER = """\
# %% [markdown]
# A set

# %% first solution=true
def first(x):
    ### BEGIN SOLUTION
    return x
    ### END SOLUTION

# %% one points=2
assert first(3) == 3

# %% two points=3
assert first(-3) == -3
"""


RIGHT = """\
# %% again score=5
# the same
# once more

# %% first
def first(x):
    return x
"""
MISTAKES = '''\
"""Mistakes."""

# %% length score=2 fails=["two"]
# forgot
#  the sign
# of x

"""Took it for a length."""
import math


# %% first
import numpy as np


def first(x):

    return np.abs(x)
    # %% no header



# %% sign score=2 fails=["two"]
# took abs(-x)
("first", "return x", "x = -x\\n    return x")
("first", "return x", "return abs(x)")

# %% tampered score=0 fails=["one", "two"]
# gave nothing
# %% first
first = print
# %% one

pass

# %% two
# %% slips
# by which one cell is lost
("first", "return x", "return abs(x)", "two")
'''


@pytest.fixture
def small(tmp_path):
    """A function that writes a problem set with two graded cells, and reads this set again."""
    pytest.importorskip("jupytext", reason="problem sets need jupytext: pip install -e '.[course]'")
    from nfa.course import problem_sets

    (tmp_path / "ps0").mkdir()
    (tmp_path / "ps0" / "set.toml").write_text('title = "A set"\nminutes = 1\nstatements = []\n')
    (tmp_path / "ps0" / "master.py").write_text(MASTER)

    def write(text, script="wrong.py"):
        (tmp_path / "ps0" / script).write_text(text)
        return problem_sets.load(tmp_path / "ps0")

    return write


def test_variants_are_cells_of_one_script(small):
    from nfa.course import problem_sets

    assert list(small(MISTAKES).submissions) == ["reference", "blank", "length", "sign", "tampered"]
    problems = small(RIGHT, "solutions.py")
    read = {one.name: one for one in problems.submissions.values()}
    assert list(read) == ["reference", "blank", "again", "length", "sign", "tampered"]
    assert read["again"] == problems.solutions[0]
    assert [one.name for one in problems.wrong] == ["length", "sign", "tampered"]
    assert [read[name].about for name in list(read)[2:]] == [
        "the same once more",
        "forgot the sign of x",
        "took abs(-x)",
        "gave nothing",
    ]
    assert [read[name].score for name in read] == [5, 0, 5, 2, 2, 0]
    assert [read[name].fails for name in read] == [(), ("one", "two"), (), ("two",), ("two",), ("one", "two")]
    body = "import numpy as np\n\n\ndef first(x):\n\n    return np.abs(x)\n    # %% no header"
    assert dict(read["length"].sources) == {"first": body}
    source = problems.cells[1].source.replace("return x", "x = -x\n    return abs(x)")
    assert dict(read["sign"].sources) == {"first": source}
    assert [one.replacements[1:] for one in problems.wrong] == [(), (("first", "return x", "return abs(x)"),), ()]
    assert problems.slips == [("first", "return x", "return abs(x)", "two")]
    assert dict(read["tampered"].sources) == {"first": "first = print", "one": "pass", "two": ""}
    for submission in read.values():
        told = problem_sets.grade(problems, submission)
        assert problem_sets.score(problems, told) == submission.score
        assert tuple(name for name in told if told[name]) == submission.fails


FORM = '`# %% variant score=18`, `# %% variant score=18 fails=["cell", "cell"]` or `# %% cell`'
TURNED = "# %% turned score=3\n# about\n"
FIRST = "# %% sign score=3\n# took -x\n\n# %% first\nfirst = abs\n\n"


@pytest.mark.parametrize(
    "text, told",
    [
        *(
            (
                f"{FIRST}{header}\n# about\n",
                f"wrong.py of ps0, line 7: a header must have the form {FORM}, got {header!r}",
            )
            for header in (
                "# %%",
                "#%% first",
                "# %%first",
                "# %%  first",
                "# %% [markdown]",
                "# %% two words",
                "# %% a-b score=3",
                "# %% score=3",
                "# %% turned score",
                "# %% turned score=",
                "# %% turned score=three",
                "# %% turned score=-3",
                "# %% turned score=2.5",
                "# %% turned, score=3",
                "# %% turned score=3 score=2",
                "# %% turned score=3 points=2",
                '# %% turned fails=["two"] score=3',
                '# %% turned fails=["two"]',
                "# %% turned score=3 fails=two",
                "# %% turned score=3 fails=[two]",
                "# %% turned score=3 fails=[]",
                '# %% turned score=3 fails=["one" "two"]',
                '# %% turned score=3 fails=["one", "two"',
            )
        ),
        (
            "\n# %% first\nfirst = abs\n",
            "wrong.py of ps0, line 2: the header of a variant, with a score, must come before the cell first",
        ),
        (
            f"{FIRST}# %% turned\n# about\n",
            "wrong.py of ps0, line 7: the master has no cell turned. If turned is a variant, the header needs a score",
        ),
        (f"{FIRST}# %% first\nfirst = max\n", "wrong.py of ps0, line 7: sign has the cell first twice"),
        (
            f"{FIRST}# %% turned score=3\nimport math\n\n# %% first\n",
            "wrong.py of ps0, line 7: below the header of turned, a comment must describe this variant",
        ),
        (
            f"{FIRST}# %% turned score=3\n# about\n",
            "wrong.py of ps0: each variant must change at least one cell, but these variants change no cell: turned",
        ),
        *(
            (f"{FIRST}{below}", f"wrong.py of ps0, line 7: {told}")
            for below, told in (
                (
                    f'{TURNED}("first", "return y", "return z")',
                    "'return y' must occur exactly once in the cell first, but occurs 0 times",
                ),
                (f'{TURNED}("first", "x", "y")', "'x' must occur exactly once in the cell first, but occurs 2 times"),
                (
                    f'{TURNED}("first", "x)", "y)")\n("first", "(x)", "(z)")',
                    "'(x)' must occur exactly once in the cell first, but occurs 0 times",
                ),
                (f'{TURNED}("third", "x", "y")', "the master has no cell third"),
                (
                    f'{TURNED}("first", "x)", "y)", "two")',
                    "each line below the header must be (cell, old, new), all strings, got ('first', 'x)', 'y)',"
                    " 'two')",
                ),
                (
                    f'{TURNED}"first", "x)", 1',
                    "each line below the header must be (cell, old, new), all strings, got ('first', 'x)', 1)",
                ),
                (
                    f'{TURNED}print("x")',
                    "each line below the header must be (cell, old, new), all strings, got print('x')",
                ),
                (f'{TURNED}("first", "x)"', "the text below is not valid Python: '(' was never closed"),
                (
                    '# %% slips\n("first", "x)", "y)")',
                    "each line below the header must be (cell, old, new, graded cell), all strings, got ('first',"
                    " 'x)', 'y)')",
                ),
                (
                    '# %% slips\n("first", "y)", "x)", "two")',
                    "'y)' must occur exactly once in the cell first, but occurs 0 times",
                ),
            )
        ),
        (
            f'{TURNED}("first", "x)", "y)")\n# %% first\nfirst = abs\n',
            "wrong.py of ps0, line 4: turned has the cell first twice",
        ),
        (f"{FIRST}{FIRST}", "submissions of ps0 must have different names, got sign twice"),
        (
            FIRST.replace("sign", "blank") + FIRST.replace("sign", "again"),
            "submissions of ps0 must have different names, got again, blank twice",
        ),
    ],
)
def test_a_script_of_variants_that_is_not_right_is_refused_in_one_sentence(text, told, small):
    small("# %% again score=5\n# the same\n\n# %% first\nfirst = int\n", "solutions.py")
    with pytest.raises(ValueError) as caught:
        small(text).submissions  # noqa: B018
    assert str(caught.value) == told


@pytest.mark.parametrize("name", NAMES)
def test_no_line_of_a_solution_or_check_is_in_what_students_get(name):
    problems = problem_set(name)
    from nfa.course import problem_sets

    seen = "\n".join(problem_sets.HIDDEN.sub("", problem_sets.blank(cell.source)) for cell in problems.cells)
    assert problem_sets.leaks(problems, seen) == []
    assert len(problems.secrets) > 30
    solution = next(cell for cell in problems.cells if cell.kind == "solution")
    assert "BEGIN SOLUTION" in problem_sets.leaks(problems, seen + solution.source)
    line = max(problems.secrets, key=len)
    assert problem_sets.leaks(problems, f"{seen}\n    {line}\n") == [line]
    assert problem_sets.leaks(problems, seen + line, own=line) == []


def judged_by(problems):
    """{graded cell: the arguments of its check}."""
    return {cell: re.search(rf"\)\.{cell}\((.*)\)", source)[1] for cell, source in sources(problems, "test").items()}


def sources(problems, kind):
    """{name: source} of the cells of one kind."""
    return {cell.name: cell.source for cell in problems.cells if cell.kind == kind}


@pytest.mark.parametrize("name", NAMES)
def test_a_mistake_costs_points_of_its_own_exercise_only(name):
    problems = problem_set(name)
    exercises = sources(problems, "solution")
    for one in problems.wrong:
        changed = [cell for cell in one.sources if cell in exercises]
        assert set(one.fails) <= set().union(*(own_cells(problems, cell) for cell in changed)), one.name


def own_cells(problems, function):
    """The graded cells with checks that are called with a function."""
    return {test for test, given in judged_by(problems).items() if re.search(rf"\b{function}\b", given)}


RETURN = r"your function returned nothing: is the return missing\?"
FORGOTTEN = {
    "exercise": (None, r".* {} is not written yet"),
    "return": (
        "def {}(*given, **named):\n    pass",
        rf"Wrong: [^;]*: found nothing, expected [^;]+; {RETURN}",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("what", FORGOTTEN)
@pytest.mark.parametrize("name", NAMES)
def test_what_was_forgotten_costs_its_own_points_only_and_is_named(name, what):
    problems = problem_set(name)
    from nfa.course import problem_sets

    left, sentence = FORGOTTEN[what]
    for cell, source in sources(problems, "solution").items():
        mine = left.format(cell) if left else problem_sets.blank(source)
        one = problem_sets.Submission("one missing", "", {cell: mine}, 0)
        told = problem_sets.grade(problems, one)
        own = own_cells(problems, cell)
        assert own
        assert {test: text for test, text in told.items() if text and test not in own} == {}
        assert all(re.fullmatch(sentence.format(cell), told[test]) for test in own), told


# --- the functions that checks use


def test_a_call_that_never_ends_is_stopped(monkeypatch):
    monkeypatch.setattr(checking, "SECONDS", 0.05)

    def busy():
        while True:
            try:
                pass
            except Exception:
                pass

    def sleeping():
        while True:
            time.sleep(0.01)

    def waiting():
        time.sleep(0.1)  # longer than SECONDS, but almost no processor time
        return 7

    assert checking.call(waiting) == 7
    with pytest.raises(checking.Wrong, match=r"busy did not return within 0\.05 seconds"):
        checking.call(busy)
    monkeypatch.setattr(checking, "WAIT", 0.05)
    with pytest.raises(checking.Wrong, match="sleeping did not return"):
        checking.call(sleeping)
    assert signal.getitimer(signal.ITIMER_PROF) == signal.getitimer(signal.ITIMER_REAL) == (0, 0)


STUDENT = """
def first(x):
    {first}

def second(x):
    {second}
"""


@pytest.mark.parametrize(
    "first, second, told",
    [
        ("return x", "return first(x)", None),
        ("return -x", "return first(x)", None),
        ("raise NotImplementedError", "return first(x)", None),
        ("raise NotImplementedError", "raise NotImplementedError", "second is not written yet"),
        ("raise NotImplementedError", "return -first(x)", "second: found -3, expected 3"),
        ("return 2 * x", "return -first(x)", "second: found -3, expected 3"),
        ("return 2 * x", "return first(x, 1)", "second raised TypeError"),
        # with the right `first`, `second` raises an error
        ("return -x, 1", "return first(x)[0]", "second: found -3, expected 3"),
        ("while True: pass", "return first(x)", None),
        ("while True: pass", "return -first(x)", "second: found -3, expected 3"),
        ("return x", "while True: first(x)", r"did not return within 0\.09 seconds"),
    ],
)
def test_nobody_loses_points_twice(first, second, told, monkeypatch):
    monkeypatch.setattr(checking, "SECONDS", 0.09)
    scope = {}
    exec(STUDENT.format(first=first, second=second), scope)
    mine = scope["first"]

    def check():
        checking.close(checking.call(scope["second"], 3.0), 3.0, "second")

    if told is None:
        checking.fair(check, scope["second"], first=lambda x: x)
    else:
        with pytest.raises(checking.Wrong, match=told):
            checking.fair(check, scope["second"], first=lambda x: x)
    assert scope["first"] is mine
    assert checking.SECONDS == 0.09


def test_a_check_that_needs_nothing_earlier_runs_once():
    runs = []

    def check():
        runs.append(1)
        raise checking.Wrong("no")

    for function in (lambda: 1, 3):
        with pytest.raises(checking.Wrong, match="no"):
            checking.fair(check, function, first=len)
    assert len(runs) == 2


def test_the_sentence_names_the_function_that_is_missing():
    scope = {}
    exec(STUDENT.format(first="raise NotImplementedError", second="return first(x)"), scope)
    with pytest.raises(checking.Wrong, match=r"^first is not written yet$"):
        checking.call(scope["second"], 1)
    exec(STUDENT.format(first="raise NotImplementedError('no such loss')", second="return first(x)"), scope)
    with pytest.raises(checking.Wrong, match=r"^second raised NotImplementedError: no such loss$"):
        checking.call(scope["second"], 1)


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
    turned, moved, one = (want.T / 7).T / -1, want + [[0, 0], [1, 0]], np.array([[0.0, 0.0], [0.0, 5e-4]])
    for got, told in [
        (-want, "dW: found -1 times what is expected; mind the sign"),
        (want / 7, "dW: found 0.1429 times what is expected; mind the sign"),
        (turned, "dW: found -0.1429 times what is expected; mind the sign"),
        (moved, "dW at [1, 0]: found 4, expected 3; mind the sign"),
        (want + one, "dW at [1, 1]: found 4.0005, expected 4; mind the sign"),
        (want * np.nan, "dW at [0, 0]: found nan, expected 1; mind the sign"),
    ]:
        with pytest.raises(checking.Wrong, match=f"^{re.escape(told)}$"):
            checking.close(got, want, "dW", "mind the sign")
    # for a single number, the message reports no factor
    with pytest.raises(checking.Wrong, match=r"^dW: found -2, expected 4$"):
        checking.close(-2, 4, "dW")
    with pytest.raises(checking.Wrong, match=r"^the shape of db: found \(2, 2\), expected \(2,\)$"):
        checking.array(want, (2,), "db")
    for value, told in [(np.nan, "nan, expected a finite number"), (-1e200, r"-1e\+200, expected less than 1e\+150")]:
        with pytest.raises(checking.Wrong, match=rf"^db at \[1\]: found {told}$"):
            checking.array([1, value], (2,), "db")


def test_the_old_name_of_derivatives_still_resolves():
    said = r"^nfa\.course\.checking\.slopes is deprecated: use nfa\.course\.checking\.derivatives$"
    with pytest.warns(DeprecationWarning, match=said):
        from nfa.course.checking import slopes
    assert slopes is checking.derivatives
    assert not hasattr(checking, "slope")


def test_directions_are_judged_apart_from_norms():
    want = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert checking.same_line(-3 * want, want, "dW") == pytest.approx(-3)
    for got, cosine in [(want[::-1], "0.7333"), (0 * want, "0"), (want * [[1, 1], [1, 1.001]], "0.9999999")]:
        name = r"the direction of dW \(the absolute value of its cosine with the right direction\)"
        told = rf"^{name}: found {cosine}, expected 1; why$"
        with pytest.raises(checking.Wrong, match=told):
            checking.same_line(got, want, "dW", "why")


def test_a_wrong_shape_or_direction_costs_nothing_where_the_norm_is_judged():
    like = [None, np.arange(6.0).reshape(2, 3), np.ones(2), np.ones(3), np.ones(1), np.ones(2)]
    mine = [None, 2 * like[1].T, like[1], [np.nan, 1, 1], ["x"], [1, 3]]
    assert checking.upright([[1], [2], [3]], (1, 3)).tolist() == [[1, 2, 3]]
    for value in (None, [[1, 2, 3]], [[1], [2, 3]], 7):
        assert checking.upright(value, (1, 3)) is value
    found = checking.fitting(mine, like, "W")
    assert {name: (got.tolist(), right.tolist()) for name, (got, right) in found.items()} == {
        "W[1]": ([[0, 2, 4], [6, 8, 10]], [[0, 1, 2], [3, 4, 5]]),
        "W[5]": ([1, 3], [1, 1]),
    }
    with pytest.raises(checking.Wrong, match=r"^W\[1\] of 5: found 2 times what is expected; once$"):
        checking.same_scale(found, "of 5", "once", "mind the sign")
    with pytest.raises(checking.Wrong, match=r"^W\[1\] of 5: found -1 times what is expected; mind the sign$"):
        checking.same_scale({"W[1]": (-like[1], like[1])}, "of 5", "once", "mind the sign")
    checking.same_scale({"W[1]": (like[1], like[1]), "W[5]": found["W[5]"]}, "of 5", "once", "mind the sign")
    with pytest.raises(checking.Wrong, match=r"^entries with the right direction: found none, expected at least one"):
        checking.same_scale({"W[5]": found["W[5]"]}, "of 5", "once", "mind the sign")


def test_a_follow_up_is_judged_leniently_only_where_the_first_is_lost():
    def fails(told):
        raise checking.Wrong(told)

    def good():
        pass

    checking.unless_lost(good, lambda: fails("not asked"), lambda: fails("not asked"))
    checking.unless_lost(lambda: fails("strict"), good, good, lambda: fails("lost"))
    for lenient, earlier in ((good, [good, good]), (good, []), (lambda: fails("lenient"), [lambda: fails("lost")])):
        with pytest.raises(checking.Wrong, match=r"^strict$"):
            checking.unless_lost(lambda: fails("strict"), lenient, *earlier)


class Tensor:
    """A stand-in for an array of another library, which must be detached before NumPy can read it."""

    def __init__(self, values, free=False):
        self.values, self.free, self.shape = np.asarray(values), free, np.shape(values)

    def detach(self):
        return Tensor(self.values, free=True)

    def __array__(self, dtype=None, copy=None):
        if not self.free:
            raise RuntimeError("detach it first")
        return self.values.astype(dtype)


def test_what_comes_back_is_taken_in_every_form():
    for value in (2, 2.0, np.float32(2), [2], np.array([[2.0]]), Tensor(2.0), Tensor([2.0])):
        assert checking.number(value, "it") == 2
    assert checking.number(np.inf, "it", finite=False) == np.inf
    for value, told in [
        (None, "it: found None, expected a number"),
        (checking.NOTHING, f"it: found nothing, expected a number; {RETURN}"),
        ("two", "it: found something of type str, expected a number"),
        ([1, 2], r"the shape of it: found \(2,\), expected the shape of one number"),
        (np.nan, "it: found nan, expected a finite number"),
        (np.inf, "it: found inf, expected a finite number"),
        (1e160, r"it: found 1e\+160, expected less than 1e\+150"),
    ]:
        with pytest.raises(checking.Wrong, match=f"^{told}$"):
            checking.number(value, "it")
    with pytest.raises(checking.Wrong, match=r"^it: found nan, expected a number$"):
        checking.number(np.nan, "it", finite=False)
    assert checking.array(Tensor([1, 2]), (2,), "it").tolist() == [1, 2]
    assert checking.numbers([[1], [2]], "it").tolist() == [1, 2]
    for value, told in [("two", "something of type str, expected numbers"), ([], "something of type list, expected")]:
        with pytest.raises(checking.Wrong, match=f"^it: found {told}"):
            checking.numbers(value, "it")
    with pytest.raises(checking.Wrong, match=r"^it at \[1\]: found nan, expected a finite number$"):
        checking.numbers([[1], [np.nan]], "it")
    with pytest.raises(checking.Wrong, match=r"^it: found None, expected a number$"):
        checking.array(None, (), "it")
    with pytest.raises(checking.Wrong, match=rf"^it: found nothing, expected an array of shape \(2,\); {RETURN}$"):
        checking.array(checking.call(lambda: None), (2,), "it")
    for value in ((1, 2), [1, 2], np.array([1, 2])):
        assert checking.pair(value, "a and b") == [1, 2]
    assert checking.pair("abc".split("b"), "a and c") == ["a", "c"]
    for value, told in [
        (None, "the result: found None, expected 2 values: a and b"),
        ("ab", "the result: found something of type str, expected 2 values: a and b"),
        ((1, 2, 3), "the number of returned values: found 3, expected 2: a and b"),
    ]:
        with pytest.raises(checking.Wrong, match=f"^{told}$"):
            checking.pair(value, "a and b")
    with pytest.raises(checking.Wrong, match=r"^the number of returned values: found 2, expected 3: a, b and c$"):
        checking.pair((1, 2), "a, b and c", 3)
    assert checking.entries({"a": 1, "b": 2}, "f", "b") == [2]
    for value, told in [
        (checking.NOTHING, f"the result of f: found nothing, expected a dictionary; {RETURN}"),
        ({}, "the entry 'b' in the dictionary that f returns: found none, expected one entry"),
    ]:
        with pytest.raises(checking.Wrong, match=f"^{told}$"):
            checking.entries(value, "f", "b")
    like = [None, np.zeros((2, 3)), np.zeros(2)]
    assert [np.shape(a) for a in checking.arrays([None, [[1, 2, 3]] * 2, [4, 5]], like, "W")] == [(), (2, 3), (2,)]
    for value, told in [
        ([[[1, 2, 3]] * 2, [4, 5]], "the length of W: found 2, expected 3; the list must have slots 0 to 2"),
        ([0, [4, 5], [4, 5]], r"the shape of W\[1\]: found \(2,\), expected \(2, 3\)"),
        (None, r"W: found None, expected a list with entries 1\.\.2"),
    ]:
        with pytest.raises(checking.Wrong, match=told):
            checking.arrays(value, like, "W")


def test_a_number_that_the_text_asks_for_is_not_given_away():
    checking.same_number(0.50001, 0.5, "the share", "count again")
    for got in (0.25, -0.5, np.nan):
        with pytest.raises(checking.Wrong, match=rf"^the share: found {got}, expected another number; count again$"):
            checking.same_number(got, 0.5, "the share", "count again")
    with pytest.raises(checking.Wrong, match=r"^z1 at \[1\]: found -2, expected another number; count again$"):
        checking.same_number([-1, -2], [1, 1], "z1", "count again")  # the message does not reveal the factor


def test_checks_are_read_again_where_they_have_changed(tmp_path, monkeypatch):
    monkeypatch.setenv("NFA_COURSE_MASTERS", str(tmp_path))
    path = tmp_path / "ps0" / "checks.py"
    path.parent.mkdir()
    path.write_text("VALUE = 1\n")
    os.utime(path, (1, 1))
    assert checks("ps0").VALUE == 1
    assert checks("ps0") is checks("ps0")
    path.write_text("VALUE = 2\n")
    os.utime(path, (2, 2))
    assert checks("ps0").VALUE == 2


# --- a course, through nbgrader


def covering(problems):
    """Names of submissions: the right ones, two wrong ones, and wrong ones that together fail every graded cell."""
    chosen = ["reference", "blank", *(one.name for one in problems.solutions), "infinite_loop", "tampered"]
    left = set(problems.tests) - {cell for name in chosen[-2:] for cell in problems.submissions[name].fails}
    while left:
        best = max(problems.wrong, key=lambda one: len(left & set(one.fails)))
        assert left & set(best.fails), f"no wrong submission fails {', '.join(sorted(left))}"
        left -= set(best.fails)
        chosen.append(best.name)
    return chosen


@pytest.mark.parametrize("name", NAMES)
def test_wrong_submissions_fail_every_graded_cell(name):
    assert len(covering(problem_set(name))) < 40


EQUAL = """
class Equal:
    __hash__ = None

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False
"""


@pytest.mark.parametrize("name", [NAMES[0], *(pytest.param(name, marks=pytest.mark.slow) for name in NAMES[1:])])
def test_an_object_that_equals_everything_gets_no_points(name):
    """If every function of a solution returns an object that equals everything, no graded cell passes."""
    problems = problem_set(name)
    from nfa.course import problem_sets

    sources = {}
    for cell, source in problem_sets.submitted(problems, problems.submissions["reference"]):
        if cell.kind == "solution":
            functions = [one for one in ast.parse(source).body if isinstance(one, ast.FunctionDef)]
            for one in functions:
                one.body = ast.parse("return Equal()").body
            sources[cell.name] = EQUAL + "\n".join(map(ast.unparse, functions))
    told = problem_sets.grade(problems, problem_sets.Submission("equal", "", sources, 0))
    assert "" not in told.values()


@pytest.mark.parametrize(
    "name, jobs",
    [
        pytest.param("ps2_dfa", 2, marks=pytest.mark.slow),
        *(pytest.param(n, 1, marks=pytest.mark.nightly) for n in NAMES),
    ],
)
def test_every_set_goes_through_nbgrader(course, name, jobs):
    """nbgrader builds, grades and returns a problem set: scores are as stated, and no page shows a hidden test.

    The slow test has two problem sets in one course, and grades four submissions in two processes. In this test,
    `blank` fails every graded cell. The nightly tests use all problem sets and one process. Another test has a
    submission that never ends.
    """
    from nfa.course import folder

    problems = problem_set(name)
    chosen, other = covering(problems), []
    if jobs > 1:
        chosen, other = ["reference", "blank", "tampered", problems.wrong[0].name], ["ps1_by_hand"]
    every = folder.sets_of(course, [*other, name])
    made = list(folder.build_all(course, every, jobs))
    assert made == [course / "release" / one.name / f"{one.name}.ipynb" for one in every]
    problems = every[-1]
    stated = {one.name: one.score for one in folder.rehearse(course, problems, chosen)}
    rows = folder.grade(course, problems, jobs=jobs)
    assert {row["student"]: row["score"] for row in rows} == stated
    pages = {page.parts[-3]: page.read_text(encoding="utf-8") for page in course.glob(f"feedback/*/{name}/*.html")}
    assert sorted(pages) == sorted(stated)
    for student, page in pages.items():
        assert not re.search("HIDDEN|checks\\(|Traceback \\(most recent", page), student
        assert page.count("Wrong: ") == len(problems.submissions[student].fails), student


def test_a_course_has_every_set(course):
    assert {path.name for path in course.glob("masters/*")} == set(NAMES)
    for name in NAMES:
        for path in SETS.glob(f"{name}/**/*.*"):
            if "__pycache__" not in path.parts:
                assert (course / "masters" / path.relative_to(SETS)).read_bytes() == path.read_bytes()
    listed = re.findall(r"(?m)^\| `(ps\w+)` \| (.*) \| (\d+) \|$", (course / "README.md").read_text(encoding="utf-8"))
    assert listed == [(name, table(name)["title"], str(table(name)["minutes"])) for name in NAMES]


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
    """The exit code and the message of a refused command. The message must be one sentence."""
    code = main.main(["course", *map(str, arguments)])
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1, err
    return code, err


def test_an_older_number_means_the_set_with_the_same_word(capsys, tmp_path):
    pytest.importorskip("nbgrader", reason="courses need nbgrader: pip install -e '.[course]'")
    from nfa.course import practice, renamed

    main.main(["course", "new", str(tmp_path / "old"), "--set", "ps7_span"])
    out, err = capsys.readouterr()
    assert "contains ps8_span." in out
    assert err == "nfa: ps7_span is now ps8_span\n"
    assert checks("ps4_clipping") is checks("ps3_clipping")
    practice.check_it("ps3_clipping", {})
    assert capsys.readouterr().out == "ps3_clipping is now ps4_clipping\n"
    assert not renamed("ps7_", ["ps7_optical"])
    assert not renamed("span", ["ps8_span"])


def test_bad_usage_is_one_sentence(course, capsys, tmp_path, monkeypatch):
    assert refused(capsys, "new", course) == (
        2,
        f"nfa: the folder of a new course must be empty or not exist yet, got {course}\n",
    )
    code, told = refused(capsys, "new", tmp_path / "x", "--set", "ps99")
    assert code == 2
    assert "there is no problem set 'ps99': choose from" in told
    assert not (tmp_path / "x").exists()
    for folder in (tmp_path, "."):
        told = refused(capsys, "build", "--course", folder)[1]
        assert f"{Path(folder).resolve()} is not a course folder" in told
        assert "--course DIR" in told
    (tmp_path / "bare").mkdir()
    (tmp_path / "bare" / "nbgrader_config.py").write_text("")
    for command in ("build", "grade"):
        code, told = refused(capsys, command, "--course", tmp_path / "bare")
        assert code == 2
        assert "has no problem set. A problem set is a folder in masters/ with a file set.toml" in told
    assert "did you mean ps2_dfa?" in refused(capsys, "new", "other", "--set", "ps2_daf")[1]
    assert "has no problem set 'ps99'" in refused(capsys, "build", "ps99", "--course", course)[1]
    assert "has no submission 'best'" in refused(capsys, "rehearse", "ps2_dfa", "best", "--course", course)[1]
    assert "only after you build this set" in refused(capsys, "grade", "ps2_dfa", "--course", course)[1]
    assert "there is no submission" in refused(capsys, "grade", "--course", course)[1]
    master = course / "masters" / "ps2_dfa" / "master.py"
    master.write_text(master.read_text(encoding="utf-8").replace("e = h[L] - y", "e = y - h[L]"), encoding="utf-8")
    code, told = refused(capsys, "build", "ps2_dfa", "--course", course)
    assert code == 2
    assert "the reference solution of ps2_dfa must pass every check, but fails dfa_scale" in told


def test_a_table_that_lacks_something_is_refused_in_one_sentence(tmp_path):
    pytest.importorskip("jupytext", reason="problem sets need jupytext: pip install -e '.[course]'")
    from nfa.course import problem_sets

    (tmp_path / "master.py").write_text("# %% [markdown]\n# A set\n")
    for text, told in [
        ("title = ", "set.toml of .* cannot be read: Invalid value"),
        ('title = "A set"', "set.toml of .* must have minutes, statements"),
    ]:
        (tmp_path / "set.toml").write_text(text)
        with pytest.raises(ValueError, match=told):
            problem_sets.load(tmp_path)
    with pytest.raises(ValueError, match=r"a folder with set\.toml and master\.py"):
        problem_sets.load(tmp_path / "none")


def test_without_the_extra_it_says_what_to_install(capsys, tmp_path, monkeypatch):
    from nfa.course import folder

    monkeypatch.setattr(folder, "find_spec", lambda name: None)
    code, told = refused(capsys, "new", tmp_path / "x")
    assert (code, told) == (
        1,
        "nfa: assignments need jupytext and nbgrader: pip install 'noisy-feedback-alignment[course]'\n",
    )


def test_an_image_is_built_from_the_package_alone(course):
    """A container engine gets only the files that setup.cfg and the Containerfile name. The test builds no image."""
    lines = (course / "Containerfile").read_text(encoding="utf-8").splitlines()
    (version,) = re.findall(r"on Python ([\d.]+):", (ROOT / "constraints.txt").read_text(encoding="utf-8"))
    assert f"FROM python:{version}-slim" in lines  # the line names no registry
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    folders = re.findall(r"= (\w+)", setup["options"]["package_dir"])
    read = [setup["metadata"]["license_files"], setup["metadata"]["long_description"].removeprefix("file: ")]
    files = ["setup.cfg", "setup.py", "pyproject.toml", *read, *re.findall(r"-c /nfa/(\S+)", "\n".join(lines))]
    sent = [line for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[:1] not in "#"]
    assert sent[0] == "*"
    assert sorted(sent[1:-1]) == sorted(f"!{name}" for name in folders + files)
    assert sent[-1] == "**/__pycache__"


# --- exercises cut out of nfa


parsed = functools.cache(ast.parse)


def filled(text, spoil=("", "")):
    """A stub filled with nfa's own function bodies, in which one piece of text is replaced."""
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
    """Exit code and output of the tests that judge a stub."""
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
    assert main.main(["course", "stub", "lee2020:eq5", "--out", str(mine)]) == 0
    said = capsys.readouterr().out
    assert said.splitlines()[-1] == f"nfa course check {mine}"
    if spoil is not None:
        mine.write_text(filled(mine.read_text(encoding="utf-8"), spoil), encoding="utf-8")
    got, output = judged(mine, "--eq", "lee2020:eq5", "-m", "not peers", "tests/rules/test_rules.py")
    assert (got, told in output) == (code, True), output[-2000:]


DENSE = ("net.pull(l, z, project(e, B[l]), at)", "project(e, B[l]) * net.phi[l].dphi(z[l])")


@pytest.mark.slow
@pytest.mark.parametrize("right", [True, False])
def test_dense_networks_are_judged_first(right, tmp_path):
    """A function only for dense networks fails on other networks, which are tested after all dense networks pass."""
    mine = tmp_path / "mine.py"
    assert main.main(["course", "stub", "lee2020:eq5", "--out", str(mine)]) == 0
    text = filled(mine.read_text(encoding="utf-8"), (DENSE[0], DENSE[1] if right else "project(e, B[l])"))
    body = ("net.map[l].outer(dz / float(m), net.input(l, h))", "dz.T @ h[l - 1] / m, dz.sum(axis=0) / m")
    assert body[0] in text
    mine.write_text(text.replace(*body), encoding="utf-8")
    got, output = judged(mine, "-rfs", "-m", "not peers", "tests/rules/test_rules.py")
    failed = re.findall(r"(?m)^FAILED .*\[(?:h-|z-)?(.*?)\]", output)
    assert got == 1
    assert ("dense networks: done" in output) is right
    assert (" skipped" in output) is not right
    assert failed
    assert all((name in OTHERS) is right for name in failed), failed


@pytest.mark.slow
def test_a_stub_of_every_statement_can_be_filled_in(tmp_path):
    """Every function of the ledger can be loaded from a stub with nfa's own body, and can replace nfa's function."""
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
    """A student's function replaces nfa's function everywhere, also in earlier imports, defaults and methods."""
    mine = tmp_path / "mine.py"
    mine.write_text(
        "from nfa.course.stubs import exercise\n"
        "@exercise('nfa.feedback.matrices:project', 'ohana2021:eq5')\n"
        "def project(e, B, *, noise_std=0.0, rng=None):\n    return 'mine'\n"
        "@exercise('nfa.feedback.opu:OPU.linear', 'ohana2021:eq5')\n"
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
from nfa.feedback.opu import OPU
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
        (f"{head}@exercise('nfa.nowhere:f', 'lee2020:eq5')\ndef f(): pass\n", "nfa has no function nfa.nowhere:f"),
        (f"{head}@exercise('nfa.network.net:Net', 'lee2020:eq1')\ndef f(): pass\n", "is not a plain function"),
    ]:
        mine.write_text(text)
        with pytest.raises(ValueError, match=told):
            stubs.use(mine)
    with pytest.raises(ValueError, match=r"the file of exercises .* does not exist"):
        stubs.use(tmp_path / "none.py")
    code, told = refused(capsys, "stub", "lee2020:eq5", "--out", mine)
    assert code == 2
    assert "exists already" in told
    assert mine.read_text() == text
    nothing = next(item.id for item in ledger.items() if not item.code)
    assert "an exercise needs a function of nfa" in refused(capsys, "stub", nothing)[1]
