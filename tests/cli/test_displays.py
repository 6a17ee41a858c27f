"""Tests that the output streams and the terminal never affect results."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nfa.cli import main
from nfa.cli.displays import QuietStream
from nfa.cli.terminal import ProgressDisplay
from tests.project.tree import ROOT

EPSILON = (
    "epsilon --sampling poisson --adjacency add-remove --q .01 --steps 10 --delta 1e-5 --noise-multiplier 1".split()
)
TRAIN = "train --net 6-4-3 --batch 10 --epochs 1 --dataset tiny.npz --no-kernels --out r".split()


@pytest.fixture
def shell(tmp_path):
    """Run nfa in a shell: shell(arguments, redirections, **environment) -> CompletedProcess."""
    rng = np.random.default_rng(0)
    parts = {"train": 30, "test": 9}
    x = {f"x_{name}": rng.standard_normal((n, 6)) for name, n in parts.items()}
    np.savez(tmp_path / "tiny.npz", **x, **{f"y_{name}": np.arange(n) % 3 for name, n in parts.items()})

    def call(arguments, redirected="", **environment):
        command = f"{sys.executable} -m nfa {' '.join(arguments)} {redirected}"
        env = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "80"} | environment
        return subprocess.run(["bash", "-c", command], cwd=tmp_path, env=env, capture_output=True, text=True)

    return call


@pytest.mark.parametrize("name", ["COLUMNS", "LINES"])
@pytest.mark.parametrize("text", ["0", "00", "-5", "²", "٣", " 80", "1e2", "", "9" * 30, "wide"])
def test_a_size_that_is_none_is_no_size(name, text, monkeypatch, capsys):
    """If an environment variable has an invalid terminal size, the output is the same as without this variable."""
    monkeypatch.delenv("COLUMNS", raising=False)
    monkeypatch.delenv("LINES", raising=False)
    assert main.main(EPSILON) == 0
    expected = capsys.readouterr().out
    assert expected
    monkeypatch.setenv(name, text)
    assert main.main(EPSILON) == 0
    assert capsys.readouterr().out == expected


@pytest.mark.parametrize("width", [1, 2, 7])
def test_a_narrow_terminal_gets_every_character(width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "500")
    assert main.main(EPSILON) == 0
    wide = "".join(capsys.readouterr().out.split())
    monkeypatch.setenv("COLUMNS", str(width))
    assert main.main(EPSILON) == 0
    assert "".join(capsys.readouterr().out.split()) == wide


@pytest.mark.posix("writes to /dev/full and closes descriptors in a shell")
@pytest.mark.parametrize("redirected", ["2> /dev/full", "2> >(exit)", "> >(exit)", "<&- >&- 2>&-"])
def test_a_training_ends_well_whatever_becomes_of_its_display(shell, tmp_path, redirected):
    done = shell(TRAIN, redirected)
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr
    (record,) = (tmp_path / "r").glob("*.json")
    assert json.loads(record.read_text(encoding="utf-8"))["steps"] == 3


@pytest.mark.posix("writes to /dev/full")
@pytest.mark.parametrize("arguments", [TRAIN, ["--help"], ["eq", "lee2020:eq5", "--bibtex"]])
def test_an_answer_that_cannot_be_printed_is_a_failure(shell, tmp_path, arguments):
    done = shell(arguments, "> /dev/full")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("nfa: the answer could not be printed in full (No space left on device)")
    assert "Traceback" not in done.stderr
    assert bool(list(tmp_path.glob("r/*.json"))) == (arguments[0] == "train")


@pytest.mark.posix("closes descriptors in a shell")
@pytest.mark.parametrize("redirected", ["2>&-", "2> /dev/full"])
def test_a_message_without_standard_error_is_not_in_the_answer(shell, redirected):
    done = shell(["epsilon", "--q", "2", "--json"], redirected)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.posix("starts a shell")
def test_a_backend_that_is_none_ends_no_picture(shell, tmp_path):
    done = shell(["reproduce", "berthier2019:fig2", "--out", "e"], MPLBACKEND="nonsense")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "e" / "figure.png").is_file()


def test_a_dumb_terminal_gets_lines(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")  # so that rich treats standard error as a terminal
    monkeypatch.setenv("TERM", "dumb")
    with ProgressDisplay() as progress:
        progress("a", 0, 10, None)
    assert capsys.readouterr().err == "a: starts, 10 steps\n"


def test_a_stream_that_failed_once_is_not_tried_again(tmp_path):
    class Full:
        tried = 0

        def write(self, text):
            self.tried += 1
            raise OSError(28, "No space left on device")

    inner = Full()
    stream = QuietStream(inner)
    assert (stream.write("ab"), stream.write("c"), inner.tried, stream.incomplete) == (2, 1, 1, True)


@pytest.mark.posix("closes a descriptor")
def test_no_file_takes_the_place_of_a_closed_stream(shell, tmp_path):
    """If standard error is closed, no file of the run gets descriptor 2, because libraries write to descriptor 2."""
    (tmp_path / "noisy_rule.py").write_text(
        "import os\nfrom nfa.rules.bp import bp\n"
        "def rule(net, x, y, *, rng=None):\n    os.write(2, b'noise')\n    return bp(net, x, y)\n",
        encoding="utf-8",
    )
    done = shell([*TRAIN, "--rule", "noisy_rule:rule"], "2>&- >&-")
    assert done.returncode == 0
    assert not [path for path in Path(tmp_path, "r").iterdir() if b"noise" in path.read_bytes()]
