"""What a user sees stays: commands print what is recorded in commands/.

Where a change is meant to be seen: ``python -m tests.project.commands NAME``, and the difference is part of the change.
"""

from importlib.metadata import version

import pytest

from tests.project import commands
from tests.project.commands import (
    CLOSE,
    COMPUTED,
    LAID_OUT,
    SLOW,
    TRAINED,
    comparable,
    letters,
    rounded_alike,
)
from tests.project.tree import ROOT

NAMES = [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in commands.commands()]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.posix("paths are recorded as POSIX writes them")
def test_a_command_prints_what_is_recorded(name):
    recorded = commands.kept(name)
    printed = comparable(commands.record(name))
    if name.startswith(LAID_OUT) and f"typer=={version('typer')}" not in (ROOT / "constraints.txt").read_text():
        printed, recorded = letters(printed), letters(recorded)
    printed = rounded_alike(printed, recorded, TRAINED if name.startswith(COMPUTED) else CLOSE)
    assert printed.splitlines() == recorded.splitlines(), f"where it is meant: python -m tests.project.commands {name}"


def test_every_record_is_of_a_command():
    assert sorted(commands.FOLDER.iterdir()) == sorted(map(commands.file_of, commands.commands()))
    for name, command in commands.commands().items():
        assert commands.file_of(name).read_text(encoding="utf-8").startswith(f"$ {command}\nexit code "), name


SHOWN = """$ nfa eq lee2020:eq5
exit code 0

--- standard output
verdict   holds: true as stated
code      nfa/rules/dfa.py:N  dfa @ dz = e

def dfa(net):
    tests = 1

tests     pytest --eq lee2020:eq5
          tests/feedback/test_feedback.py::test_b
          tests/rules/test_rules.py::test_a
tutorial  tutorials/02_feedback_alignment.py
"""


@pytest.mark.parametrize(
    "was, becomes",
    [
        ("tests/feedback/test_feedback.py::test_b", "tests/feedback/test_draw.py::test_b"),
        (
            "/test_feedback.py::test_b\n          tests/rules/test_rules.py::test_a",
            "/a.py::test_a\n          tests/a.py::test_b",
        ),
        ("dfa @ dz = e", "dfa @ dz = error"),
        ("    tests = 1", "    trials = 1\n\n    # and so on"),
    ],
)
def test_files_of_tests_and_source_may_change(was, becomes):
    assert SHOWN.count(was) == 1
    assert comparable(SHOWN.replace(was, becomes)) == comparable(SHOWN)


@pytest.mark.parametrize(
    "was, becomes",
    [
        ("exit code 0", "exit code 1"),
        ("holds", "false"),
        ("true as stated", "true"),
        ("rules/dfa.py", "rules/tdfa.py"),
        ("  dfa @", "  tdfa @"),
        ("::test_b", "::test_c"),
        ("          tests/rules/test_rules.py::test_a\n", ""),
        ("02_feedback", "03_feedback"),
        ("--eq lee2020:eq5", "--eq lee2020:eq4"),
        ("--- standard output", "--- standard error"),
    ],
)
def test_nothing_else_may(was, becomes):
    assert SHOWN.count(was) == 1
    assert comparable(SHOWN.replace(was, becomes)) != comparable(SHOWN)


def test_only_the_last_digits_of_long_floats_may_differ():
    recorded = 'epsilon 4.462859570797059, order 7, "loss": 1.25, 0.0'
    assert rounded_alike(recorded.replace("7059", "7061"), recorded, CLOSE) == recorded
    for was, becomes in [
        ("4.46285957", "4.46285967"),
        ("7,", "8,"),
        ("1.25", "1.26"),
        ("0.0", "-0.0"),
        ("loss", "lost"),
    ]:
        printed = recorded.replace(was, becomes)
        assert rounded_alike(printed, recorded, CLOSE) == printed != recorded
