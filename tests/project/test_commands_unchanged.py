"""What a user sees stays: commands print what is recorded in commands/, but for the places that modules have today.

Where a change is meant to be seen: ``python -m tests.project.commands NAME``, and the difference is part of the change.
"""

import importlib
import tomllib
from importlib.metadata import version

import pytest

from tests.project import commands
from tests.project.commands import (
    CLOSE,
    COMPUTED,
    LAID_OUT,
    MOVED,
    SLOW,
    TRAINED,
    comparable,
    letters,
    rounded_alike,
    today,
)
from tests.project.tree import ROOT

NAMES = [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in commands.commands()]


@pytest.mark.parametrize("name", NAMES)
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


def test_what_moved_is_there():
    moved = tomllib.loads(MOVED.read_text(encoding="utf-8"))
    for module in moved.get("modules", {}).values():
        importlib.import_module(module)
    for symbol in moved.get("symbols", {}).values():
        module, _, name = symbol.partition(":")
        place = importlib.import_module(module)
        for part in name.split("."):
            place = getattr(place, part)


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


MADE_UP = {
    "modules": {
        "nfa.feedback": "nfa.feedback.draws",
        "nfa.kernels.noise": "nfa.kernels.normal",
        "nfa.ops": "nfa.network.ops",
    },
    "symbols": {"nfa.ops:conv": "nfa.network.patches:convolve"},
    "texts": {"project of nfa.feedback": "project of nfa.opu"},
}


@pytest.mark.parametrize(
    "old, new",
    [
        ("nfa.feedback:draw", "nfa.feedback.draws:draw"),
        ("nfa/feedback.py:N  draw", "nfa/feedback/draws.py:N  draw"),
        ("with `nfa.feedback.draw`, see nfa.feedback.", "with `nfa.feedback.draws.draw`, see nfa.feedback.draws."),
        ("nfa.feedbacks, my.nfa.feedback", "nfa.feedbacks, my.nfa.feedback"),
        ("kernels/noise.py:N", "kernels/normal.py:N"),
        ("nfa.ops:conv nfa.ops:convex", "nfa.network.patches:convolve nfa.network.ops:convex"),
        ("nfa/ops.py:N  conv", "nfa/network/patches.py:N  convolve"),
        ("nfa/ops.py:N  convex", "nfa/network/ops.py:N  convex"),
        ("nfa/ops/__init__.py:N  relu", "nfa/network/ops.py:N  relu"),
        ("project of nfa.feedback", "project of nfa.opu"),
    ],
)
def test_what_moved_is_put_in_its_new_place(old, new):
    assert today(old, MADE_UP) == new


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
