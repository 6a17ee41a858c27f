"""Tests of the capstone as a student works through it: every cell of the notebook, from the guess to the final page."""

import json
import os
import subprocess
import sys

import pytest

from nfa.cli import main
from nfa.course import SETS
from tests.course.test_course import problem_set

BAR = 0.70  # accuracy at epsilon 3 that the notebook requires
SECONDS = 600  # limit of processor time, which other programs on the machine do not affect
RUN = """
import json, os, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
scope = {{"__name__": "__main__"}}
for source in json.load(sys.stdin):
    exec(compile(source, "<cell>", "exec"), scope)
rows, seeds = scope["rows"], (1, 2, 3)
found = [scope["accuracy_of"](3.0, seed) for seed in seeds]
print(json.dumps({{"rows": rows.tolist(), "at 3": found, "page": scope["page"](3.0, 1e-5, tuple(rows[1]))}}))
"""


@pytest.fixture
def capstone(tmp_path, monkeypatch):
    """The capstone's notebook with the reference solution, without hidden tests."""
    problems = problem_set("ps10_capstone")
    from nfa.course import problem_sets
    from nfa.course.folder import notebook, write

    monkeypatch.chdir(tmp_path)
    made = notebook(problems, problems.submissions["reference"])
    for cell in made.cells:
        cell.source = problem_sets.HIDDEN.sub("", cell.source)
    write(made, tmp_path / "ps10_capstone.ipynb")
    return made


@pytest.mark.slow
@pytest.mark.posix("limits the processor time and the cores of a process")
def test_the_reference_reaches_its_accuracy_in_ten_minutes_on_two_cores(capstone):
    """The seeds are fixed, so each run has the same accuracies. Each accuracy is more than 0.05 above BAR."""
    cells = [cell.source for cell in capstone.cells if cell.cell_type == "code"]
    ran = subprocess.run(
        [sys.executable, "-c", RUN.format(seconds=SECONDS)],
        input=json.dumps(cells),
        capture_output=True,
        text=True,
        env=os.environ | {"MPLBACKEND": "Agg"},
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    *said, last = ran.stdout.splitlines()
    found = json.loads(last)
    assert min(found["at 3"]) > BAR + 0.05
    mean, low, high = found["rows"][1]
    assert mean == pytest.approx(sum(found["at 3"]) / 3)
    assert low < mean < high
    assert found["rows"][0][0] < mean < found["rows"][2][0]
    assert found["page"]["accuracy"] == found["rows"][1]
    passed = [line.removesuffix(": passes") for line in said if line.endswith(": passes")]
    assert passed == list(problem_set("ps10_capstone").tests)


@pytest.mark.slow
def test_nfa_course_check_passes_the_capstone(capstone, capsys):
    assert main.main(["course", "check", "ps10_capstone.ipynb"]) == 0
    assert capsys.readouterr().out.startswith("ps10_capstone: 20 of 20 checks pass")


def test_the_notebook_states_the_accuracy_that_the_check_asks_for():
    text = (SETS / "ps10_capstone" / "master.py").read_text(encoding="utf-8")
    assert f"must be at least **{BAR:.2f}**" in " ".join(text.replace("\n# ", "\n").split())
    from nfa.course import checks

    assert checks("ps10_capstone").BAR == BAR
