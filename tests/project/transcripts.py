"""Pages that show commands and what they print: read, run in order in a folder, and compared.

In a block ``console`` a line ``$ command`` is run, and what stands below it is what it must print on standard output.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.project.tree import ROOT

# What differs between runs, machines or harmless changes, and what is compared in its place.
VARIES = {
    r"\b\d+(\.\d+)?( ?s\b)": r"1\2",  # seconds
    r"(\.\d{6})\d+\b": r"\1",  # digits that a processor may round otherwise
    r"\d\.\.\.\d+\b": "0...",  # and such a number shortened
}

# What training gives, and processors round otherwise: within so much of what a page shows.
ACCURACY, POINTS = r"\b(\d+\.\d\d)%", 3.0
LOSS, SHARE = r"\b(\d+\.\d{4})\b(?=.*\d%)|\b(0\.\d{4})\b", 0.05  # any in a line with an accuracy, elsewhere below 1

# Lines on standard error about the progress of a run. A page leaves them out, and has these words to say so.
PROGRESS = re.compile(
    r"compiling kernels: .*|.+: (?:starts, \d+ steps?|(?:at )?step \d+ of \d+.*|(?:finished|stopped)\b.*)"
)
LEFT_OUT = "progress to standard error"

# What a reader's terminal does not set: our own tracebacks, and the marks by which pytest knows a build server, where
# it does not shorten the lines of its summary.
READER_HAS_NOT = ("NFA_DEBUG", "CI", "BUILD_NUMBER", "PYTEST_ADDOPTS")


def blocks(page: Path) -> list[tuple[str, str]]:
    """(language, text) of every fenced block, those of included files among them."""
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
    """(command, what it prints) of a console block."""
    first, *typed = re.split(r"^\$ ", block, flags=re.MULTILINE)
    assert not first, f"a console block begins with a command, got {first!r}"
    return [(command, shown) for command, _, shown in (one.partition("\n") for one in typed)]


def run(command: str, folder: Path, page: str = "") -> tuple[str, Path]:
    """What a command prints, and the folder that the next one is typed in. nfa is the one of this checkout.

    On standard error it may print what `PROGRESS` names, if the text of the page has the words `LEFT_OUT`.
    """
    if command.startswith("cd "):
        return "", folder / command[3:]
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = os.environ | {"PATH": tools, "PYTHONPATH": str(ROOT), "COLUMNS": "80", "NO_COLOR": "1", "MPLBACKEND": "Agg"}
    for name in READER_HAS_NOT:
        env.pop(name, None)
    command = re.sub(r"^(nfa|pytest|jupytext) ", rf"{sys.executable} -m \1 ", command)
    done = subprocess.run(command, shell=True, cwd=folder, env=env, capture_output=True, text=True)
    # What an interrupted command says of it depends on how far it has come.
    told = [] if command.startswith("timeout ") else [line for line in done.stderr.splitlines() if line]
    assert not told or done.returncode == 0, f"{command}\n{done.stderr}"
    assert all(map(PROGRESS.fullmatch, told)), f"the page does not show what this prints: {command}\n{done.stderr}"
    assert not told or LEFT_OUT in " ".join(page.split()), f"the page does not say that it leaves this out:\n{told[0]}"
    return done.stdout, folder


def same(printed: str, shown: str) -> bool:
    """Whether a command printed what a page shows: accuracies and losses near it, all else to the letter."""
    (lines, losses, accuracies), (others, near, close) = _apart(printed), _apart(shown)
    return (
        lines == others
        and all(abs(one - other) <= SHARE * other for one, other in zip(losses, near, strict=True))
        and all(abs(one - other) <= POINTS for one, other in zip(accuracies, close, strict=True))
    )


def _apart(printed: str) -> tuple[list[str], list[float], list[float]]:
    """Lines without what training gives; the losses and the accuracies that stood in them, in order."""
    text = "\n".join(plain(printed))
    losses = [float(found[1] or found[2]) for found in re.finditer(LOSS, text)]
    text = re.sub(LOSS, "LOSS", text)
    return re.sub(ACCURACY, "ACCURACY", text).splitlines(), losses, [float(one) for one in re.findall(ACCURACY, text)]


def plain(printed: str) -> list[str]:
    """Lines to compare: what `VARIES` replaced, and nothing at the ends of lines."""
    for pattern, stands in VARIES.items():
        printed = re.sub(pattern, stands, printed)
    return [line.rstrip() for line in printed.rstrip().splitlines()]
