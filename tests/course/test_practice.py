"""Tests of practice: `nfa course check SET.ipynb` and `check_it` print the sentences of grading for other values."""

import json

import numpy as np
import pytest

from nfa.cli import main
from nfa.course import checking, checks, names, practice, problem_sets
from nfa.course.folder import notebook, write
from tests.course.test_course import problem_set

NAMES = names()


@pytest.fixture
def given(tmp_path, monkeypatch):
    """A function that writes a submission without hidden tests, and returns the path of the notebook."""
    monkeypatch.chdir(tmp_path)

    def write_it(name, variant="reference", old="", new=""):
        problems = problem_set(name)
        made = notebook(problems, problems.submissions[variant])
        for cell in made.cells:
            cell.source = problem_sets.HIDDEN.sub("", cell.source).replace(old, new) if old else cell.source
        write(made, tmp_path / f"{name}.ipynb")
        return tmp_path / f"{name}.ipynb"

    return write_it


@pytest.mark.parametrize("name", NAMES)
def test_a_check_takes_the_names_of_its_hidden_call(name):
    """The parameters of a check have the names of its hidden call.

    So nfa can also check a notebook without this call.
    """
    problems = problem_set(name)
    for cell in problems.cells:
        if cell.kind == "test":
            taken = ", ".join(practice.parameters(checks(name), cell.name))
            assert f'checks("{name}").{cell.name}({taken})' in cell.source


@pytest.mark.parametrize("name", NAMES)
def test_right_solutions_pass_with_the_values_of_practice(name):
    problems = problem_set(name)
    for submission in [problems.reference, *problems.solutions]:
        with checking.practising():
            told = problem_sets.grade(problems, submission)
        assert not any(told.values()), submission.name


def wrong_solutions_fail_in_practice(problems, submissions):
    for submission in submissions:
        with checking.practising():
            told = problem_sets.grade(problems, submission)
        assert {cell for cell, said in told.items() if said} == set(submission.fails), submission.name


def practised_with(problems):
    """The wrong submissions that practice can detect. Tampering is possible only in grading, and a loop takes long."""
    return [one for one in problems.wrong if one.fails and one.name not in ("tampered", "infinite_loop")]


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_solution_fails_with_the_values_of_practice(name):
    problems = problem_set(name)
    wrong_solutions_fail_in_practice(problems, practised_with(problems)[:2])


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_wrong_solutions_fail_with_the_values_of_practice(name):
    problems = problem_set(name)
    wrong_solutions_fail_in_practice(problems, practised_with(problems))


def test_the_values_of_practice_are_others():
    def drawn():
        return [*checking.seeded(3).normal(size=4), checking.size(5)]

    graded = drawn()
    with checking.practising():
        tried = drawn()
    assert not set(graded) & set(tried)
    assert graded == drawn() == [*np.random.default_rng(3).normal(size=4), 5]


def test_the_command_names_what_is_wrong(given, capsys):
    path = given("ps2_dfa", "forgot_dphi")
    before = path.read_bytes()
    assert main.main(["course", "check", path.name]) == 1
    first, *told, last = capsys.readouterr().out.splitlines()
    checks = len(problem_set("ps2_dfa").tests)
    assert first == f"ps2_dfa: {checks - 1} of {checks} checks pass"
    assert " ".join(told).startswith("  dfa_feedback: the direction of dW[1]")
    assert "other values than the grading" in last
    assert path.read_bytes() == before


def test_a_right_notebook_and_json(given, capsys):
    path = given("ps2_dfa", "loops")
    assert main.main(["course", "check", path.name, "--json"]) == 0
    document, checks = json.loads(capsys.readouterr().out), len(problem_set("ps2_dfa").tests)
    assert (document["set"], document["right"], len(document["checks"])) == ("ps2_dfa", True, checks)


def test_a_blank_notebook_is_not_written_yet(given, capsys):
    assert main.main(["course", "check", given("ps2_dfa", "blank").name]) == 1
    told = capsys.readouterr().out
    checks = len(problem_set("ps2_dfa").tests)
    assert told.startswith(f"ps2_dfa: 0 of {checks} checks pass")
    assert told.count("is not written yet") == checks


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("L = len(W) - 1", "L = len(W - 1", "forward: line"),
        ("    L = len(W) - 1\n    z, h", "    return undefined\n    z, h", "forward raised NameError"),
        ("def transported(W):", "raise OSError('no')\ndef transported(W):", "transported: the cell raised OSError: no"),
    ],
)
def test_a_cell_that_does_not_run_is_named(given, capsys, old, new, sentence):
    assert main.main(["course", "check", given("ps2_dfa", old=old, new=new).name]) == 1
    assert sentence in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("content", ["", "{}", '{"cells": [], "nbformat": 4, "nbformat_minor": 5, "metadata": {}}'])
def test_what_is_no_notebook_of_a_set_is_refused(tmp_path, monkeypatch, capsys, content):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.ipynb").write_text(content)
    assert main.main(["course", "check", "mine.ipynb"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("nfa: mine.ipynb")


def test_check_it_in_a_notebook(capsys):
    problems = problem_set("ps2_dfa")
    scope = {"np": np}
    exec(next(cell.source for cell in problems.cells if cell.name == "cosine"), scope)
    practice.check_it("ps2_dfa", scope, "cosine_values", "dfa_top")
    assert capsys.readouterr().out.splitlines() == ["cosine_values: passes", "dfa_top: dfa is not written yet"]
    with pytest.raises(ValueError, match=r"no problem set 'ps2_dfb'.*ps2_dfa"):
        practice.check_it("ps2_dfb", scope)
    with pytest.raises(ValueError, match=r"no check 'cosine_value'.*cosine_values"):
        practice.check_it("ps2_dfa", scope, "cosine_value")


@pytest.mark.parametrize("name", NAMES)
def test_every_exercise_of_a_notebook_has_its_checks(name):
    """In each notebook, free cells run the check of each graded cell once."""
    cells = problem_set(name).cells
    said = "\n".join(cell.source for cell in cells if cell.kind == "free" and "check_it" in cell.source)
    assert all(said.count(f'"{cell.name}"') == 1 for cell in cells if cell.kind == "test")
