"""Tests that files and folders are written completely or not at all. An error names the file or folder."""

import os
import subprocess
import sys

import pytest

from nfa.whole import whole_folder, write_whole
from tests.project.tree import ROOT

LIMITED = [  # functions that write more than 1 KiB into one file, and the name of this file
    ("course stub lee2020:eq5 --out st.py", "st.py"),
    ("course ladder lee2020 --out deep/ladder", "deep/ladder/"),
    ("course new c/d --set ps2_dfa", "c/d/"),
]


def nfa(folder, typed, limit=""):
    command = f"{limit} {sys.executable} -m nfa {typed}"
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True)


@pytest.mark.posix("limits the size of files")
@pytest.mark.parametrize(("typed", "named"), LIMITED)
def test_what_could_not_be_written_leaves_nothing_and_can_be_tried_again(tmp_path, typed, named):
    if typed.startswith("course new"):
        pytest.importorskip("nbgrader", reason="courses need nbgrader: pip install -e '.[course]'")
    done = nfa(tmp_path, typed, "ulimit -f 1;")
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"nfa: {named}")
    assert line.endswith("File too large")
    assert ".part" not in line
    assert list(tmp_path.iterdir()) == []
    again = nfa(tmp_path, typed)
    assert again.returncode == 0, again.stderr
    assert not [path for path in tmp_path.rglob("*") if "part" in path.name]


def filled(folder, stop=None):
    """Write a folder with one file, or stop after this file."""
    with whole_folder(folder) as part:
        (part / "a").write_text("a", encoding="utf-8")
        if stop:
            raise stop


def test_an_empty_folder_stays_the_same_folder(tmp_path):
    """An empty folder remains the same folder, because it may be the current folder or a mount point."""
    (tmp_path / "mine").mkdir()
    before = (tmp_path / "mine").stat().st_ino
    with pytest.raises(OSError, match="No space") as raised:
        filled(tmp_path / "mine", OSError(28, "No space left on device"))
    assert raised.value.filename == str(tmp_path / "mine")
    assert list((tmp_path / "mine").iterdir()) == []
    filled(tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["a"]
    assert (tmp_path / "mine").stat().st_ino == before


def test_other_errors_leave_nothing_either(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        filled(tmp_path / "deep" / "mine", KeyboardInterrupt())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["none/x.json", "file/x.json", "folder"])
def test_the_error_names_the_file_that_was_asked_for(tmp_path, place):
    (tmp_path / "file").touch()
    (tmp_path / "folder" / "inside").mkdir(parents=True)
    with pytest.raises(OSError, match=r"\w") as raised:
        write_whole(tmp_path / place, b"content")
    assert raised.value.filename == str(tmp_path / place)
    assert not list(tmp_path.glob("*.part"))
