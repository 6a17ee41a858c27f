"""Tests that each usual form of a number has the same value in every option and setting.

The references are exact fractions and Python.
"""

import inspect
import json
import math
from fractions import Fraction
from typing import get_args

import pytest

from nfa.cli import main, numbers
from nfa.cli.train import assignments
from tests.experiments.tiny_runs import write_data

# Texts that a user may type, and their exact values.
TYPED = {
    ".1": Fraction(1, 10),
    "1.": Fraction(1),
    "+0.1": Fraction(1, 10),
    "1e-3": Fraction(1, 1000),
    "-.5": Fraction(-1, 2),
    "1E3": Fraction(1000),
    "+1.e+2": Fraction(100),
    ".25e1": Fraction(5, 2),
    "60_000": Fraction(60000),
    "7": Fraction(7),
    "007": Fraction(7),
    "-0": Fraction(0),
}
NONE = ["", ".", "+", "-.", "e5", "1e", "1e+", "0,1", "1,000", "1.2.3", "1 2", "0x10", "1__0", "_1", "1_", "--1", "+-1",
        "one", "1/3", "1e1.5", "٣", "1j", "1.0f"]  # fmt: skip


@pytest.mark.parametrize("text", TYPED)
def test_a_number_is_the_one_that_was_typed(text):
    """A typed number becomes the float nearest to its exact value, or the exact int.

    We test a setting, a list and an option.
    """
    exact = TYPED[text]
    digits_alone = not set(text) & set(".eE")
    for found in (numbers.one(text), numbers.value(text), numbers.value(f"[0, {text}]")[1], numbers.one(f" {text} ")):
        assert type(found) is (int if digits_alone else float)
        assert found == exact.numerator / exact.denominator
    if exact.denominator == 1:
        assert (type(numbers.whole(text)), numbers.whole(text)) == (int, exact.numerator)
    else:
        with pytest.raises(ValueError, match=r"must be a whole number such as 100 or 1e3, got '"):
            numbers.whole(text)


@pytest.mark.parametrize("text", NONE)
def test_what_is_no_number_is_none(text):
    for read in (numbers.one, numbers.whole):
        with pytest.raises(ValueError, match=r"^must be a (whole )?number such as"):
            read(text)
    assert numbers.value(text) == text


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("true", True), ("None", None), ('"1."', "1."), ('["a .1", .5]', ["a .1", 0.5]), ('{"k": +1.}', {"k": 1.0}),
        ("x.1", "x.1"), ("1.+2", "1.+2"), ("[.1, oops]", "[.1, oops]"), ("v1", "v1"),
    ],
)  # fmt: skip
def test_texts_and_json_stay_what_they_are(text, found):
    assert numbers.value(text) == found


@pytest.mark.parametrize("text", ["nan", "-inf", "Infinity", "NaN", "1e999", "+inf", ".1e999"])
def test_a_setting_is_finite(text):
    with pytest.raises(ValueError, match="--set a must be finite, got"):
        assignments([f"a={text}"])


@pytest.mark.parametrize("text", ["1e400", "9" * 5000, "1e16", "9007199254740993.", "nan", "inf", "1e999999999"])
def test_a_count_has_a_size(text):
    """Counts have a limit.

    Whole numbers that a float cannot represent exactly, or that need all memory, are refused.
    """
    with pytest.raises(ValueError, match="must be a whole number"):
        numbers.whole(text)


def test_more_digits_than_python_reads_are_infinite():
    assert numbers.one("9" * 5000) == math.inf


# --- every option of every command


def callbacks():
    for group in (main.app, main.course_app, main.data_app):
        yield from (one.callback for one in group.registered_commands)


def test_no_option_reads_numbers_by_itself():
    found = 0
    for callback in callbacks():
        for parameter in inspect.signature(callback).parameters.values():
            if {"int", "float"} & set(str(parameter.annotation).replace("|", " ").replace("[", " ").split()):
                told = next(note for note in get_args(parameter.annotation) if hasattr(note, "parser"))
                assert told.parser("2.") == 2
                found += 1
    assert found > 25


@pytest.fixture
def nfa(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_data(tmp_path / "tiny.npz")
    (tmp_path / "takes.py").write_text(
        "from nfa.rules.bp import bp\n"
        "def rule(net, x, y, *, strength, rng):\n"
        "    assert type(strength) is float, strength\n"
        "    return bp(net, x, y)\n"
    )

    def call(*typed):
        code = main.main(list(typed))
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


TRAIN = ("train", "--dataset", "tiny.npz", "--net", "6-4-3", "--json", "--no-kernels")


def test_a_run_has_the_numbers_that_were_typed(nfa):
    typed = ("--rule", "takes:rule", "--set", "strength=.1", "--batch", "1e1", "--epochs", "+2", "--lr", "1e-3")
    code, out, err = nfa(*TRAIN, *typed, "--momentum", ".5", "--validation", "+.2")
    assert code == 0, err
    settings = json.loads(out)["settings"]
    assert settings["rule_settings"] == {"strength": 0.1}
    assert [settings[name] for name in ("batch", "epochs", "lr", "momentum", "validation")] == [10, 2, 0.001, 0.5, 0.2]


def test_a_count_of_a_rule_may_have_an_exponent(nfa):
    code, out, err = nfa(*TRAIN, "--rule", "ulr", "--set", "K=2e0", "--set", "sigma=.5", "--epochs", "1")
    assert code == 0, err
    assert json.loads(out)["settings"]["rule_settings"] == {"K": 2, "sigma": 0.5}
    assert nfa(*TRAIN, "--rule", "ulr", "--set", "K=2.5", "--set", "sigma=.5", "--out", "b")[0] == 2


def test_a_count_of_an_opu_may_have_a_point(nfa):
    light = (*TRAIN, "--rule", "tdfa", "--set", "t=0.1", "--opu", "saturation=20.", "--epochs", "1")
    runs = []
    for k, (bits, anchors) in enumerate([("8", "16"), ("8.", "1.6e1"), ("2.", "16.")]):
        code, out, err = nfa(*light, "--opu", f"bits={bits}", "--opu", f"n_anchor={anchors}", "--out", str(k))
        assert code == 0, err
        runs.append(json.loads(out))
    eight, typed, coarse = ([entry["train_loss"] for entry in one["history"]] for one in runs)
    assert typed == eight != coarse
    for wrong, said in [
        ("bits=8.5", "the bits of a camera must be a whole number in 1..24, got 8.5"),
        ("n_anchor=16.5", "n_anchor of an OPU must be a whole number >= 1, got 16.5"),
    ]:
        assert nfa(*light, "--opu", wrong, "--out", "wrong") == (2, "", f"nfa: {said}\n")


COUNTED = ("epsilon", "--sampling", "poisson", "--adjacency", "add-remove", "--json")


def test_epsilon_counts_the_same_however_it_was_typed(nfa):
    plain = nfa(*COUNTED, "--q", "0.01", "--steps", "1000", "--delta", "0.00001", "--noise-multiplier", "1")
    typed = nfa(*COUNTED, "--q", ".01", "--steps", "1e3", "--delta", "+1.e-5", "--noise-multiplier", "1.")
    assert plain[0] == 0
    assert typed == plain


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        (
            (*TRAIN, "--epochs", "2.5"),
            "invalid value for '--epochs': must be a whole number such as 100 or 1e3, got '2.5'; see `nfa train",
        ),
        (
            (*TRAIN, "--lr", "0,1"),
            "invalid value for '--lr': must be a number such as 0.1 or 1e-5, got '0,1'; see `nfa train --help`",
        ),
        (("demo", "--jobs", "two"), "invalid value for '--jobs': must be a whole number"),
        (("audit", "dp_sgd", "--confidence", "95%"), "invalid value for '--confidence': must be a number"),
        (("audit", "dp_sgd", "--trials", "1e-3"), "invalid value for '--trials': must be a whole number"),
        ((*TRAIN, "--lr", "nan"), "lr must be"),
    ],
)
def test_what_is_no_number_gets_a_sentence(nfa, tmp_path, typed, said):
    code, out, err = nfa(*typed)
    assert (code, out) == (2, "")
    assert err.startswith(f"nfa: {said}")
    assert err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["takes.py", "tiny.npz"]
