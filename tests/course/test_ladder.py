"""Tests of the ladders: each task passes with its solution, and each slip fails with the sentence that names it.

We also judge answers that share no text with the solutions. Right answers pass, and the output names the error in wrong
answers.
"""

import ast
import re

import pytest

from nfa import ledger
from nfa.cli import main
from nfa.course import check, judging, ladder, stubs
from nfa.course.problem_sets import SOLUTION

PAPERS = ladder.papers()
TASKS = [task for paper in PAPERS for task in ladder.tasks(paper)]
every_task = pytest.mark.parametrize("task", TASKS, ids=[f"{task.paper}-{task.name}" for task in TASKS])


@every_task
def test_the_solution_passes_and_every_slip_is_named(task):
    judgement = judging.judge(task.task, task.function)
    assert judgement.problem == ""
    assert len(task.task.slips) >= 4
    for slip in task.task.slips:
        judgement = judging.judge(task.task, task.task.function(slip))
        assert judgement.problem, slip
        assert judgement.slips == (slip.sentence,), slip


@every_task
def test_a_task_is_whole(task):
    assert re.fullmatch(r"\d\d_\w+", task.name)
    assert task.title
    assert all(ledger.find(name).id == name for name in task.ids)
    assert any(name.startswith((task.paper, "ours")) for name in task.ids)
    assert len(SOLUTION.findall(task.cell("task"))) == 1
    assert task.text.count("Hint:") == 0
    for text in (task.hint, *(slip.sentence for slip in task.task.slips)):
        assert re.fullmatch(r"[A-Za-z0-9].*[.]", text), text
    (docstring,) = [ast.get_docstring(node) for node in ast.parse(task.cell("task")).body if hasattr(node, "args")][-1:]
    assert docstring


def test_every_folder_of_tasks_is_of_a_paper():
    folders = {path.name for path in ladder.LADDERS.iterdir() if path.name != "__pycache__"}
    assert folders == set(PAPERS)
    assert len(ladder.tasks("lee2020")) == 10


@every_task
def test_a_new_file_tells_no_solution(task, tmp_path):
    ladder.write(task.paper, tmp_path)
    text = (tmp_path / f"{task.name}.py").read_text(encoding="utf-8")
    solution = SOLUTION.search(task.cell("task"))[2]
    told = {line.strip() for line in solution.splitlines()} & {line.strip() for line in text.splitlines()}
    assert told <= {""}
    ((one, _),) = stubs.load(tmp_path / f"{task.name}.py")
    assert (one.code, one.ids) == (task.code, task.ids)


def filled(folder, name, body):
    """Write ``body`` into the file of a task of lee2020, and return the file's path."""
    path = folder / f"{name}.py"
    head = path.read_text(encoding="utf-8").partition("    # YOUR CODE HERE")[0]
    path.write_text(head + body, encoding="utf-8")
    return path


def test_the_ladder_is_climbed_task_by_task(tmp_path, capsys):
    """The command judges a task and names the next task. After the last task, it reports the end of the ladder."""
    assert main.main(["course", "ladder", "lee2020", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    for number, task in enumerate(ladder.tasks("lee2020")):
        path = tmp_path / f"{task.name}.py"
        if number == 0:
            assert f"nfa course check {path}" in said
        assert main.main(["course", "check", str(path)]) == 1
        said = capsys.readouterr().out
        assert "is not written yet" in said
        assert f"Hint: {task.hint}" in " ".join(said.split())
        filled(tmp_path, task.name, SOLUTION.search(task.cell("task"))[2])
        assert main.main(["course", "check", str(path)]) == 0
        said = capsys.readouterr().out
        if number + 1 < len(ladder.tasks("lee2020")):
            assert f"nfa course check {tmp_path / ladder.tasks('lee2020')[number + 1].name}.py" in said
    assert "This task is the last of the ladder" in said
    assert main.main(["course", "check", str(tmp_path)]) == 0


@pytest.fixture
def lee2020(tmp_path):
    ladder.write("lee2020", tmp_path)
    return tmp_path


CLIP = """\
    rows = []
    for row in v.tolist():
        norm = sum(t * t for t in row) ** 0.5
        rows.append([t * {} for t in row])
    return rows
"""
BP = """\
    L = len(W) - 1
    dz = [None] * L + [h[L] - y]
    for l in range(L - 1, 0, -1):
        dz[l] = np.einsum("ij,jn->in", dz[l + 1], W[l + 1]) {}
    dW = [None] + [np.einsum("ia,ib->ab", dz[l], h[l - 1]) / m for l in range(1, L + 1)]
    db = [None] + [np.einsum("ia->a", dz[l]) / m for l in range(1, L + 1)]
    return {}
"""
NOISE = """\
    noisy = np.array([sum(column) / m for column in u.T])
    for i in range(len(noisy)):
        noisy[i] += rng.normal(0, {})
    return noisy
"""
ANSWERS = [
    ("05_clip", CLIP.format("(c / norm if norm > c else 1)"), ""),
    ("05_clip", CLIP.format("(c / norm if norm else 0)"), "Small rows are scaled up"),
    ("05_clip", CLIP.format("min(1, c / (norm**2 or 1))"), "The norm is squared"),
    ("03_bp", BP.format("* (1 - h[l] ** 2)", "dW, db"), ""),
    ("03_bp", BP.format("", "dW, db"), "The derivative is missing"),
    ("03_bp", BP.format("* (1 - h[l] ** 2)", "[None] + [w.T for w in dW[1:]], db"), "dW[l] is transposed"),
    ("03_bp", BP.format("", "dW, [None] + [-v * 0 for v in db[1:]]"), "The derivative is missing"),
    ("07_noise", NOISE.format("sigma"), ""),
    ("07_noise", NOISE.format("sigma**2"), "The variance is used instead of the standard deviation"),
    ("07_noise", NOISE.format("sigma / m"), "The noise is divided by m"),
]


@pytest.mark.parametrize("name, body, words", ANSWERS)
def test_an_answer_of_another_kind_is_judged_as_well(name, body, words, lee2020):
    (one,) = check.judgements(filled(lee2020, name, body))
    assert bool(one.judgement.problem) is bool(words), one
    assert any(slip.startswith(words) for slip in one.judgement.slips) is bool(words), one


def test_what_was_written_is_kept(lee2020, capsys):
    path = filled(lee2020, "05_clip", "    return v\n")
    before = path.read_text(encoding="utf-8")
    assert main.main(["course", "ladder", "lee2020", "--out", str(lee2020)]) == 2
    assert path.read_text(encoding="utf-8") == before
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [["ladder", "lee2021"], ["ladder", "--out", "x"], ["check", "."], ["ladder", "lee2020", "--out", ""]]
)
def test_an_invalid_call_is_refused_in_one_sentence(arguments, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main.main(["course", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert re.fullmatch(r"nfa: \S.*\n", said.err)
    assert list(tmp_path.iterdir()) == []


def test_a_mark_of_no_task_is_refused(lee2020, capsys):
    path = lee2020 / "05_clip.py"
    path.write_text(path.read_text(encoding="utf-8").replace("ladder:lee2020/05_clip", "ladder:lee2020/99_clip"))
    assert main.main(["course", "check", str(path)]) == 2
    assert "99_clip" in capsys.readouterr().err
