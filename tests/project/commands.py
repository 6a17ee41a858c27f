"""The recorded output of the commands in tests/project/commands.toml, and the comparison with the present output.

The records are in tests/project/commands. After a change that users should see, record all commands again, or some of
them, and read the difference in git::

    python -m tests.project.commands
    python -m tests.project.commands help-train epsilon

A command runs in this process, in its own folder with one small data set, and finds no other data. The record has the
command's standard output, standard error and exit code. The comparison is exact, except for

- times, memory and line numbers, which differ between machines and runs: `VARIES` replaces them by a word;
- floats of ten characters or more, because their last digits depend on the processor. They may have a relative
  difference of `CLOSE`, or differ by one unit of the last digit. Results of training and audits may differ by
  `TRAINED`;
- the source and the tests that `nfa eq` lists, which are left out;
- the layout of typer, if its version is not that of constraints.txt: then only the letters are compared, without types.
"""

import contextlib
import io
import math
import os
import re
import shlex
import sys
import tempfile
import tomllib
from decimal import Decimal
from pathlib import Path
from unittest import mock

from tests.project.tree import ROOT

FOLDER = ROOT / "tests" / "project" / "commands"
NAMED = FOLDER.parent / "commands.toml"
SLOW = {"plan-ohana2021-table1"}
LAID_OUT = ("help", "unknown-option")  # typer determines the layout of commands whose names begin like this
COMPUTED = ("audit", "train")  # these commands print results of training or sampling
CLOSE, TRAINED = 1e-9, 1e-5

# The recorded commands know only these samplers. If you add a sampler, the records stay valid.
RECORDED = ("none", "epoch-partition", "without-replacement", "poisson", "poisson-rejection", "partial-passes")
# Environment variables that change the output or the place of the data.
NOT_SET = ("NFA_DEBUG", "NFA_DATA_HOME", "FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
VARIES = {
    r"^.*, about [\d.]+ (s|min|h) left\n": "",  # a line of progress every 15 seconds
    r"(about |took |, |~)[\d.]+ (s|min|h|days)\b": r"\1TIME",
    # printed once per process, but this process runs many commands
    r"^(compiling kernels: |each of \d+ processes compiles ).*\n": "",
    r"\btimed [\w =]+?(, and scaled)?(?=\n|\\n)": "timed SOME",  # the number of timings depends on the time
    r"\b[\d.]+ GB\b": "MEMORY",
    r"\.py:\d+\b": ".py:N",
    r"─{101,}": "─" * 100,  # as wide as the terminal of `nfa eq`
}
NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")


def commands() -> dict[str, str]:
    """The commands by name, in order."""
    table = tomllib.loads(NAMED.read_text(encoding="utf-8"))
    return {name: command.format(**table["short"]) for name, command in table["commands"].items()}


def file_of(name: str) -> Path:
    return FOLDER / f"{name}.txt"


def record(name: str) -> str:
    """Run a command in a new folder and return its record."""
    with tempfile.TemporaryDirectory() as folder:
        return run(commands()[name], Path(folder).resolve())


def run(command: str, folder: Path) -> str:
    """Run a command in a folder and return its output in the form of a record."""
    from nfa import data, sampling
    from nfa.cli import main as cli
    from tests.experiments.tiny_runs import write_data

    write_data(folder / "tiny.npz")
    # A width that is large enough for any path, so a longer path does not change the line breaks.
    width = 400 if command.startswith(("nfa eq", "nfa errata")) and not command.endswith("--help") else 100
    env = {name: value for name, value in os.environ.items() if name not in NOT_SET}
    env |= {"COLUMNS": str(width), "NO_COLOR": "1", "TERM": "dumb"}
    out, err = io.StringIO(), io.StringIO()
    samplers = {scheme: sampling.SAMPLERS[scheme] for scheme in RECORDED}
    schemes = tuple(scheme for scheme in sampling.SCHEMES if scheme in RECORDED)
    listed = {"SAMPLERS": samplers, "SCHEMES": schemes, "BATCH_IS": sampling.batch_help(samplers)}
    elsewhere = {"user_cache": lambda: folder / "cache", "DEBIAN": folder / "fashion-mnist"}
    with (
        mock.patch.dict(os.environ, env, clear=True),
        mock.patch.multiple("nfa.data.search", **elsewhere),
        mock.patch.multiple("nfa.sampling", **listed),
        mock.patch("nfa.privacy.counted_run.SCHEMES", schemes),
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        cli._commands.cache_clear()  # a cached help text would list every sampler
        code = cli.main(shlex.split(command)[1:])
    cli._commands.cache_clear()
    parts = {"standard output": out.getvalue(), "standard error": err.getvalue()}
    text = f"$ {command}\nexit code {code}\n"
    text += "".join(f"\n--- {part}\n{printed}" for part, printed in parts.items() if printed)
    text = text.replace(str(Path(data.__file__).parent), "DATA").replace(str(folder), "FOLDER")
    text = re.sub(r"\bnfa/(?=(data|kernels)/[\w/]+\.py:)", "", text)  # a wheel has these folders inside the package
    for pattern, stands in VARIES.items():
        text = re.sub(pattern, stands, text, flags=re.MULTILINE)
    return text


def kept(name: str) -> str:
    """The stored record of a command, in the form that we compare."""
    return comparable(file_of(name).read_text(encoding="utf-8"))


def comparable(text: str) -> str:
    """The output without the source and the tests that `nfa eq` lists, with the lines of each text joined."""
    lines, listing = [], False
    for line in text.splitlines():
        label = line[:10].rstrip()
        listing = listing and label != "tutorial" and "─────" not in line
        if not listing:
            lines.append(line.partition(" @ ")[0] if label == "code" else line)
        if label in ("code", "tests"):
            listing = text.startswith("$ nfa eq")
    # join wrapped lines, because a path of another length wraps them at other places
    return re.sub(r"\n {10}(?=\S)", " ", "\n".join(lines))


def rounded_alike(printed: str, recorded: str, tolerance: float) -> str:
    """The output in which each long float is replaced by the recorded float if the two are close."""
    words, said = NUMBER.split(printed), NUMBER.split(recorded)
    if len(words) != len(said):
        return printed
    pairs = zip(NUMBER.findall(printed), NUMBER.findall(recorded), strict=True)
    told = [old if _close(new, old, tolerance) else new for new, old in pairs]
    return "".join(word + number for word, number in zip(words, [*told, ""], strict=True))


def _close(a: str, b: str, tolerance: float) -> bool:
    if max(len(a), len(b)) < 10:
        return False
    last = 1.01 * 10.0 ** Decimal(min(a, b, key=len)).as_tuple().exponent
    return math.isclose(float(a), float(b), rel_tol=tolerance, abs_tol=last)


def letters(text: str) -> str:
    """The letters of a help text, without the layout and the names that differ between versions of typer."""
    return re.sub(r"<[\w\[\]]+>|\b(TEXT|INTEGER|FLOAT)\b|\W", "", text)


def main(*names: str) -> int:
    """Record the named commands, or all commands if no name is given."""
    if unknown := [name for name in names if name not in commands()]:
        print(f"no such command: {', '.join(unknown)}; there are {', '.join(commands())}", file=sys.stderr)
        return 2
    FOLDER.mkdir(exist_ok=True)
    for file in FOLDER.glob("*.txt"):
        if file not in map(file_of, commands()):
            file.unlink()
    for name in names or commands():
        file_of(name).write_text(record(name), encoding="utf-8")
    return 0


if __name__ == "__main__":
    # Set before numpy is imported, so that sums have one order and pictures need no screen.
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    sys.exit(main(*sys.argv[1:]))
