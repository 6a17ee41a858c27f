"""What the commands of tests/project/commands.toml print, kept in tests/project/commands, and how much of it must stay.

Record anew after a change that users are meant to see, all of them or some, and read the difference in git::

    python -m tests.project.commands
    python -m tests.project.commands help-train eq-json

A command is run in this process, in a folder of its own that holds one small data set, with no data found elsewhere.
Kept are what it prints on both streams, its exit code, and files that it writes. Compared to the letter, but for

- what differs between machines and runs, for which `VARIES` puts a word: times, memory, versions, line numbers;
- floats of ten characters or more, whose last digits a processor may round otherwise: to `CLOSE` of their size or one
  unit of the last digit, what training and audits give to `TRAINED`;
- the source that `nfa eq` lists (functions and where they stand are compared, their text is not), and the file that a
  test stands in (tests are compared by name);
- what typer lays out, where it is not the version of constraints.txt: then the letters alone, without the types.
"""

import contextlib
import io
import json
import math
import os
import re
import shlex
import sys
import tempfile
import tomllib
from decimal import Decimal
from itertools import groupby
from pathlib import Path
from unittest import mock

from tests.project.tree import ROOT

FOLDER = ROOT / "tests" / "project" / "commands"
NAMED = FOLDER.parent / "commands.toml"
SLOW = {"audit-dpulr2024-json", "audit-rule", "berthier2019-fig11", "lee2020-epsilons", "lee2020-epsilons-json"}
SLOW |= {f"plan-{item}" for item in ("dpulr2024-table1", "ohana2021-table1", "repaired-json")}
LAID_OUT = ("help", "unknown-option")  # names that begin so: typer lays it out
COMPUTED = ("audit", "train", "berthier2019")  # and so: what they print is trained or sampled
CLOSE, TRAINED = 1e-9, 1e-5

# Environment that changes what is printed, or where data are found.
NOT_SET = ("NFA_DEBUG", "NFA_DATA_HOME", "FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE")
VARIES = {
    r"^.*, about [\d.]+ (s|min|h) left\n": "",  # a line of progress every 15 seconds
    r"(about |took |, |~)[\d.]+ (s|min|h|days)\b": r"\1TIME",
    r"^(compiling kernels: |each of \d+ processes compiles ).*\n": "",  # once a process; this one runs many commands
    r"\btimed [\w =]+?(, and scaled)?(?=\n|\\n)": "timed SOME",  # as much as there is time for
    r"\b[\d.]+ GB\b": "MEMORY",
    r'("((cpu_)?seconds(_per_step)?|compiling)": )[\d.e-]+': r"\1TIME",
    r'("step_bytes": )\d+': r"\1MEMORY",
    r'("(nfa|python|numpy|scipy|platform|blas|randomgen|numba)": )"[^"]*"': r'\1"VERSION"',
    r"^Software: .*": "Software: VERSIONS",  # in a report
    r"\.py:\d+\b": ".py:N",
    r"─{101,}": "─" * 100,  # across a terminal as wide as that of `nfa eq`
}
NUMBER = re.compile(r"-?\d+\.\d+(?:e[+-]?\d+)?")
TEST = re.compile(r"tests/[\w/]+\.py::")


def commands() -> dict[str, str]:
    """Name -> command, in order."""
    table = tomllib.loads(NAMED.read_text(encoding="utf-8"))
    return {name: command.format(**table["short"]) for name, command in table["commands"].items()}


def file_of(name: str) -> Path:
    return FOLDER / f"{list(commands()).index(name) + 1:02}-{name}.txt"


def record(name: str) -> str:
    """Run a command in a new folder; what is kept of it."""
    with tempfile.TemporaryDirectory() as folder:
        return run(commands()[name], Path(folder).resolve())


def run(command: str, folder: Path) -> str:
    """What a command prints in a folder, as it is kept; ``> FILE`` after it stands for a file that it writes."""
    from nfa import data
    from nfa.cli import main as cli
    from tests.experiments.tiny_runs import write_data

    write_data(folder / "tiny.npz")
    typed, _, shown = command.partition(" > ")
    # Where files are named, lines are as long as they need: a longer path wraps no line elsewhere.
    width = 400 if typed.startswith(("nfa eq", "nfa errata")) and not typed.endswith("--help") else 100
    env = {name: value for name, value in os.environ.items() if name not in NOT_SET}
    env |= {"COLUMNS": str(width), "NO_COLOR": "1", "TERM": "dumb"}
    out, err = io.StringIO(), io.StringIO()
    elsewhere = {"user_cache": lambda: folder / "cache", "DEBIAN": folder / "fashion-mnist"}
    with (
        mock.patch.dict(os.environ, env, clear=True),
        mock.patch.multiple("nfa.data.search", **elsewhere),
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = cli.main(shlex.split(typed)[1:])
    parts = {"standard output": out.getvalue(), "standard error": err.getvalue()}
    if shown:
        parts[shown] = (folder / shown).read_text(encoding="utf-8")
    text = f"$ {command}\nexit code {code}\n"
    text += "".join(f"\n--- {part}\n{printed}" for part, printed in parts.items() if printed)
    text = text.replace(str(Path(data.__file__).parent), "DATA").replace(str(folder), "FOLDER")
    text = re.sub(r"\bnfa/(?=(data|kernels)/[\w/]+\.py:)", "", text)  # a wheel has these folders inside the package
    for pattern, stands in VARIES.items():
        text = re.sub(pattern, stands, text, flags=re.MULTILINE)
    return text


def kept(name: str) -> str:
    """What is recorded of a command, as it would be printed today."""
    return comparable(file_of(name).read_text(encoding="utf-8"))


def comparable(text: str) -> str:
    """Without source, and without the files of tests; the lines of statements' texts joined."""
    head, mark, body = text.partition("--- standard output\n")
    if text.startswith(("$ nfa eq", "$ nfa errata")) and body.startswith("["):
        return head + mark + json.dumps([_item(item) for item in json.loads(body)], indent=2, ensure_ascii=False)
    lines, listing = [], False
    for line in text.splitlines():
        label = line[:10].rstrip()
        listing = listing and label not in ("code", "tests", "tutorial") and "─────" not in line
        if not listing:
            lines.append(line.partition(" @ ")[0] if label == "code" else TEST.sub("", line))
        if label == "code":
            listing = text.startswith("$ nfa eq")
    return re.sub(
        r"\n {10}(?=\S)(?!test_)", " ", "\n".join(_sorted_tests(lines))
    )  # where a path of another length wraps


def _item(item: dict) -> dict:
    joined = {key: re.sub(r"\n(?=\S)", " ", value) for key, value in item.items() if isinstance(value, str)}
    code = [entry.partition(" @ ")[0] for entry in item["code"]]
    places = [re.sub(r":\d+$|:N$", ":N", place) for place in item["places"]]
    places = [f"{place}  {entry.partition(':')[2]}" for place, entry in zip(places, code, strict=True)]
    return item | joined | {"code": code, "places": places, "tests": sorted(TEST.sub("", t) for t in item["tests"])}


def _sorted_tests(lines: list[str]) -> list[str]:
    """Runs of lines with the name of a test, and nothing else, in the order of the alphabet."""
    runs = groupby(lines, lambda line: bool(re.fullmatch(r" +test_\w+", line)))
    return [line for tests, run in runs for line in (sorted(run) if tests else run)]


def rounded_alike(printed: str, recorded: str, tolerance: float) -> str:
    """What is printed, with each long float that is close to the recorded one in its place written as that one."""
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
    """A help text without what versions of typer lay out or name differently."""
    return re.sub(r"<[\w\[\]]+>|\b(TEXT|INTEGER|FLOAT)\b|\W", "", text)


def main(*names: str) -> int:
    """Record the named commands, or all."""
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
    # Before numpy is imported: sums in one order; pictures without a screen.
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "MPLBACKEND": "Agg"}
    sys.exit(main(*sys.argv[1:]))
