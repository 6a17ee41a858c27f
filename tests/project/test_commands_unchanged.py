"""Tests that commands print the output that is recorded in tests/project/commands/.

If users should see a change, run ``python -m tests.project.commands NAME`` and commit the difference with the change.
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


def test_only_source_and_tests_of_a_statement_are_not_compared():
    shown = commands.file_of("eq-lee2020-eq5").read_text(encoding="utf-8")
    for was, becomes in (("    L = net.L\n", "    top = net.L\n"), ("::test_fix_a_dfa", "::test_dfa")):
        assert shown.count(was) == 1
        assert comparable(shown.replace(was, becomes)) == comparable(shown)
    for was, becomes in (
        ("code 0", "code 1"),
        ("holds", "false"),
        ("dfa.py", "tdfa.py"),
        ("tutorials/02", "tutorials/3"),
    ):
        assert was in shown
        assert comparable(shown.replace(was, becomes)) != comparable(shown)


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
