"""Tests that the commands on the walks (guided pages for students, teachers and researchers) print the shown output.

The walks install nfa with the README's two commands, which `.ci/run` runs on a new machine.
"""

import re
import shutil

import pytest

from tests.project.transcripts import blocks, commands, plain, run, same
from tests.project.tree import ROOT, folders

PAGES = ROOT / "tutorials"


def typed(block, folder, page=""):
    """Run the commands of a console block of a page, compare their output, and return the last folder."""
    for command, shown in commands(block):
        printed, folder = run(command, folder, page)
        assert same(printed, shown), f"$ {command}\n{printed}"
    return folder


@pytest.mark.slow
@pytest.mark.posix("types into a shell")
def test_a_students_hour(tmp_path):
    """The student's walk runs in a copy of the checkout.

    A Python block of the page replaces the last line of the code.
    """
    pytest.importorskip("jupytext", reason="notebooks need jupytext: pip install -e '.[tutorials]'")
    kept = [*{path.relative_to(ROOT).parts[0] for path in folders().values()}, "tests", "tutorials"]
    for name in kept:
        ignored = shutil.ignore_patterns("__pycache__", "generated", "_static")
        shutil.copytree(ROOT / name, tmp_path / "nfa" / name, ignore=ignored)
    for name in ("setup.cfg", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path / "nfa" / name)
    folder, mine, head = tmp_path / "nfa", tmp_path / "nfa" / "mine.py", ""
    page = (PAGES / "student.md").read_text(encoding="utf-8")
    for language, text in blocks(PAGES / "student.md"):
        if language == "console":
            folder = typed(text, folder, page)
        elif language == "python":
            head = head or mine.read_text(encoding="utf-8").rpartition("    raise NotImplementedError")[0]
            mine.write_text(head + text, encoding="utf-8")
    assert head


@pytest.mark.slow
@pytest.mark.posix("types into a shell")
def test_a_teachers_afternoon(tmp_path):
    """In the teacher's walk, nbgrader grades four submissions. The README of every course has parts of this walk."""
    pytest.importorskip("nbgrader", reason="courses need nbgrader: pip install -e '.[course]'")
    folder = tmp_path
    for language, text in blocks(PAGES / "teacher.md"):
        if language == "console":
            folder = typed(text, folder)
    pages = list(folder.glob("feedback/*/*/*.html"))
    assert len(pages) == 4
    assert not any("Traceback (most recent" in page.read_text(encoding="utf-8") for page in pages)


@pytest.mark.slow
@pytest.mark.parametrize("page", ["researcher", "coming_from", "threat_model", "ladder"])
@pytest.mark.posix("types into a shell")
def test_a_page_of_files_and_commands(page, tmp_path, monkeypatch):
    """A page of files and commands runs as printed. A Python block is the file named in its first line.

    The test's own folder contains the key of secure runs.
    """
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    if page == "coming_from":
        pytest.importorskip("opacus", reason="Opacus is not installed: make .venv/.peers installs it")
    folder, whole = tmp_path, (PAGES / f"{page}.md").read_text(encoding="utf-8")
    for language, text in blocks(PAGES / f"{page}.md"):
        if language == "console":
            folder = typed(text, folder, whole)
        elif language == "python":
            (folder / re.match(r"# (\w+\.py):", text)[1]).write_text(text, encoding="utf-8")


def test_what_varies_is_little():
    """Output may differ only in the patterns of `transcripts.VARIES`. No word, score or count may differ."""
    alike = ("376 steps, 2 s in all", "376 steps, 12.5 s in all")
    assert plain(alike[0]) == plain(alike[1]) == ["376 steps, 1 s in all"]
    assert same(*alike)
    for shown, printed in [
        ("ps2_dfa  forgot_dphi  17 of 20", "ps2_dfa  forgot_dphi  18 of 20"),
        ("1 failed in 1s", "2 failed in 1s"),
        ("Obtained: -0.42567502468290885", "Obtained: -0.42567402468290885"),
        ("376 steps", "375 steps"),
        ("mine.py:82: dW[l]", "mine.py:83: dW[l]"),
        ("record: mine-dfa-ec05c15f/mine-dfa-seed1.json", "record: mine-dfa-5a751117/mine-dfa-seed1.json"),
        ("1 passed", "1 failed"),
    ]:
        assert plain(shown) != plain(printed)
        assert not same(printed, shown)


def test_accuracies_and_losses_are_compared_within_bands():
    """Accuracies may differ by 3 points and losses by 5 %, as the comment in `transcripts` says."""
    row = "    1         1.2720         53.00%         100"
    assert same("    1         1.3300         55.90%         100", row)
    for printed in (row.replace("53.00%", "56.10%"), row.replace("53.00%", "49.90%"), row.replace("100", "99")):
        assert not same(printed, row)
    assert not same(row.replace("1.2720", "1.3400"), row)
    assert not same(row.replace("1.2720", "1.2000"), row)
    assert not same(row.replace("53.00%", "nan%"), row)
    assert same("loss 0.2100", "loss 0.2000")
    assert not same("loss 0.2101", "loss 0.2000")
    assert not same("epsilon 3.0001", "epsilon 3.0000")


@pytest.mark.posix("types into a shell")
def test_a_page_that_shows_something_else_is_found(tmp_path):
    typed("$ mkdir a\n$ cd a\n", tmp_path)
    typed("$ echo one\none\n$ echo two; echo three\ntwo\nthree\n", tmp_path)
    with pytest.raises(AssertionError):
        typed("$ echo one\ntwo\n", tmp_path)
    with pytest.raises(AssertionError, match="does not show"):
        typed("$ echo careful >&2\n", tmp_path)
    starts = "$ echo 'dfa-seed1: starts, 4 steps' >&2\n"
    with pytest.raises(AssertionError, match="does not say"):
        typed(starts, tmp_path)
    typed(starts, tmp_path, "Lines about their\nprogress to standard error are left out.")
    with pytest.raises(AssertionError, match="nowhere"):
        typed("$ nowhere-to-be-found\n", tmp_path)
    with pytest.raises(AssertionError, match="begins with a command"):
        commands("one\n$ echo one\none\n")
