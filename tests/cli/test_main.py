"""Tests of Ctrl-C during Python's imports.

The command ends without a traceback, with the exit code of a later Ctrl-C.
"""

import configparser
import os
import subprocess
import sys

import pytest

from nfa.__main__ import INTERRUPTED
from nfa.cli import terminal
from tests.project.tree import ROOT

# Python runs this file before any other module. The file sends Ctrl-C when a given module is first imported.
CTRL_C = """
import signal, sys

class Hook:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            print("sent", file=sys.stderr)
            signal.raise_signal(signal.SIGINT)

signal.signal(signal.SIGINT, signal.{handler})
sys.meta_path.insert(0, Hook())
"""
EPSILON = (
    "epsilon --sampling poisson --adjacency add-remove --q 0.01 --noise-multiplier 1 --steps 10 --delta 1e-5".split()
)


def script() -> list[str]:
    """The command of the console script in setup.cfg."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg", encoding="utf-8")
    name, _, place = setup["options.entry_points"]["console_scripts"].strip().partition(" = ")
    assert name == "nfa"
    module, _, function = place.partition(":")
    return ["-c", f"import sys; from {module} import {function}; sys.exit({function}())"]


ENV = os.environ | {"PYTHONPATH": str(ROOT)}
RUNPY = "import first, runpy, sys; sys.argv = ['nfa', 'eq']; runpy.run_module('nfa', run_name='__main__')"
ENTRIES = {"module": ["-m", "nfa"], "script": script()}
each = pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)


def run(folder, entry, *typed, module, handler="default_int_handler"):
    (folder / "sitecustomize.py").write_text(CTRL_C.format(module=module, handler=handler), encoding="utf-8")
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    command = [sys.executable, *entry, *typed]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=300)


@each
@pytest.mark.parametrize("module", ["nfa.cli.main", "typer", "nfa.experiments.settings", "numpy"])
def test_ctrl_c_while_nfa_imports_ends_quietly(tmp_path, entry, module):
    done = run(tmp_path, entry, *EPSILON, module=module)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "sent\n")


@each
def test_ctrl_c_that_the_parent_has_switched_off_stays_off(tmp_path, entry):
    done = run(tmp_path, entry, "--version", module="typer", handler="SIG_IGN")
    assert (done.returncode, done.stderr) == (0, "sent\n")
    assert done.stdout.startswith("nfa ")


@each
def test_ctrl_c_just_before_the_command_begins_ends_quietly(tmp_path, entry):
    """After Ctrl-C just before the command begins, nfa ends without a traceback, although it has no handler yet.

    The test replaces the first function that the command line calls.
    """
    (tmp_path / "first.py").write_text(
        "import nfa.cli.main as one\ndef stop():\n    raise KeyboardInterrupt\none.leave_out_odd_displays = stop\n"
    )
    code = f"import first, runpy, sys; sys.argv = ['nfa', 'eq']; {entry[1]}" if entry[0] == "-c" else RUNPY
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=ENV, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_the_code_is_that_of_a_later_ctrl_c():
    assert INTERRUPTED == terminal.INTERRUPTED
