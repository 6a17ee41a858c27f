"""Reads the commands and outputs of a page, runs the commands in order in a folder, and compares the outputs.

In a ``console`` block, this module runs the lines ``$ command``. The lines below a command are its expected standard
output.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.project.tree import ROOT

# Patterns of output that differs between runs or machines, or after harmless changes, and their replacements.
VARIES = {
    r"\b\d+(\.\d+)?( ?s\b)": r"1\2",  # seconds
    r"(\.\d{6})\d+\b": r"\1",  # digits that another processor may round differently
    r"\d\.\.\.\d+\b": "0...",  # such a digit sequence, abbreviated by dots
}

# Allowed differences of the results of training, because processors round differently.
ACCURACY, POINTS = r"\b(\d+\.\d\d)%", 3.0
# a loss is a number with four decimals next to an accuracy, or such a number below 1
LOSS, SHARE = r"\b(\d+\.\d{4})\b(?=.*\d%)|\b(0\.\d{4})\b", 0.05

# Lines on standard error about the progress of a run. A page may leave them out if it has the words LEFT_OUT.
PROGRESS = re.compile(
    r"compiling kernels: .*|.+: (?:starts, \d+ steps?|(?:at )?step \d+ of \d+.*|(?:finished|stopped)\b.*)"
)
LEFT_OUT = "progress to standard error"

# Variables that a reader's terminal does not set. The first variable shows nfa's tracebacks. By the other variables,
# pytest detects a build server, on which it prints the lines of its summary in full.
READER_HAS_NOT = ("NFA_DEBUG", "CI", "BUILD_NUMBER", "PYTEST_ADDOPTS")


def blocks(page: Path) -> list[tuple[str, str]]:
    """(language, text) of every fenced block, including the blocks of included files."""
    include = re.compile(r"^```\{include\} (\S+)\n((?::.*\n)*)```$", re.MULTILINE)
    text = include.sub(lambda directive: _included(page, directive), page.read_text(encoding="utf-8"))
    return re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def _included(page: Path, directive: re.Match) -> str:
    text = (page.parent / directive[1]).read_text(encoding="utf-8")
    for option, mark in re.findall(r'^:(.*?): "(.*)"$', directive[2], re.MULTILINE):
        assert mark in text, f"{directive[1]} has no {mark}"
        text = text.split(mark, 1)[option == "start-after"]
    return text


def commands(block: str) -> list[tuple[str, str]]:
    """The commands of a console block, each with its output."""
    first, *typed = re.split(r"^\$ ", block, flags=re.MULTILINE)
    assert not first, f"a console block begins with a command, got {first!r}"
    return [(command, shown) for command, _, shown in (one.partition("\n") for one in typed)]


def run(command: str, folder: Path, page: str = "") -> tuple[str, Path]:
    """The output of a command, and the folder for the next command. The command uses the nfa of this checkout.

    The command may print the lines of `PROGRESS` on standard error, if the page has the words `LEFT_OUT`.
    """
    if command.startswith("cd "):
        return "", folder / command[3:]
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = os.environ | {"PATH": tools, "PYTHONPATH": str(ROOT), "COLUMNS": "80", "NO_COLOR": "1", "MPLBACKEND": "Agg"}
    for name in READER_HAS_NOT:
        env.pop(name, None)
    command = re.sub(r"^(nfa|pytest|jupytext) ", rf"{sys.executable} -m \1 ", command)
    done = subprocess.run(command, shell=True, cwd=folder, env=env, capture_output=True, text=True)
    # The message of an interrupted command depends on the time of the interruption.
    told = [] if command.startswith("timeout ") else [line for line in done.stderr.splitlines() if line]
    assert not told or done.returncode == 0, f"{command}\n{done.stderr}"
    assert all(map(PROGRESS.fullmatch, told)), f"the page does not show what this prints: {command}\n{done.stderr}"
    assert not told or LEFT_OUT in " ".join(page.split()), f"the page does not say that it leaves this out:\n{told[0]}"
    return done.stdout, folder


def same(printed: str, shown: str) -> bool:
    """Whether a command prints what a page shows: accuracies and losses approximately, everything else exactly."""
    (lines, losses, accuracies), (others, near, close) = _apart(printed), _apart(shown)
    return (
        lines == others
        and all(abs(one - other) <= SHARE * other for one, other in zip(losses, near, strict=True))
        and all(abs(one - other) <= POINTS for one, other in zip(accuracies, close, strict=True))
    )


def _apart(printed: str) -> tuple[list[str], list[float], list[float]]:
    """(The lines without results of training, the losses, the accuracies), in order."""
    text = "\n".join(plain(printed))
    losses = [float(found[1] or found[2]) for found in re.finditer(LOSS, text)]
    text = re.sub(LOSS, "LOSS", text)
    return re.sub(ACCURACY, "ACCURACY", text).splitlines(), losses, [float(one) for one in re.findall(ACCURACY, text)]


def plain(printed: str) -> list[str]:
    """The lines for the comparison, with the replacements of `VARIES` and without spaces at the ends."""
    for pattern, stands in VARIES.items():
        printed = re.sub(pattern, stands, printed)
    return [line.rstrip() for line in printed.rstrip().splitlines()]
