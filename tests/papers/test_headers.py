"""The headers of the papers' TOML files name experiments and audits, which all exist.

If a line of a header is wrong, the error is one sentence.
"""

import sys
import tomllib
from types import ModuleType

import pytest

from nfa.cli import main
from nfa.experiments.experiment import Analytic, Experiment
from nfa.papers import audits, index


@pytest.mark.parametrize("variant", ["published", "repaired"])
def test_every_experiment_that_a_header_names_is_there(variant):
    known = {"published": index.EXPERIMENTS, "repaired": index.REPAIRED}[variant]
    assert all(isinstance(index.find(item, variant), Experiment | Analytic) for item in known)


def test_every_audit_that_a_header_names_is_there():
    assert len(audits.TARGETS) >= 5
    assert all(name == target.name for name, target in audits.TARGETS.items())


ITEM = "lee2020:fig2"
LINE = "[paper.lee2020.rerun] fig2: "


@pytest.mark.parametrize(
    "place, sentence",
    [
        ("nfa.papers.lee2020.no_such:X", "there is no module nfa.papers.lee2020.no_such"),
        ("nfa.papers.no2001.no_such:X", "there is no module nfa.papers.no2001"),
        ("nfa.papers.lee2020.figures:NO_SUCH", "nfa.papers.lee2020.figures has no object NO_SUCH"),
    ],
)
@pytest.mark.parametrize("command", [["--list"], [ITEM, "--dry-run"]])
def test_a_line_that_names_what_is_not_there(monkeypatch, capsys, place, sentence, command):
    monkeypatch.setitem(index.EXPERIMENTS, ITEM, place)
    assert main.main(["reproduce", *command]) == 2
    assert " ".join(capsys.readouterr().err.split()) == f"nfa: {LINE}{sentence}"


@pytest.mark.parametrize(
    "source, sentence",
    [
        ("{}['tolerance']", "nfa.papers.no2001 reads the field 'tolerance', which is missing"),
        ("tomllib.loads('x =')", "nfa.papers.no2001 reads a file that is not valid TOML: Invalid value"),
    ],
)
def test_a_module_whose_numbers_cannot_be_read(monkeypatch, source, sentence):
    monkeypatch.setattr(index.importlib, "import_module", lambda name: eval(source, {"tomllib": tomllib}))
    with pytest.raises(ValueError, match=r"\w") as refused:
        index.loaded("nfa.papers.no2001:X", LINE.removesuffix(": "))
    assert str(refused.value).startswith(LINE + sentence)


def test_a_library_that_a_module_lacks_is_no_fault_of_the_header(monkeypatch):
    monkeypatch.setitem(sys.modules, "no_such_library", None)
    monkeypatch.setattr(index.importlib, "import_module", lambda name: __import__("no_such_library"))
    with pytest.raises(ModuleNotFoundError, match="no_such_library"):
        index.loaded("nfa.papers.no2001:X", LINE)
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "nfa.papers.no2001", ModuleType("nfa.papers.no2001"))
    with pytest.raises(ValueError, match=r"nfa\.papers\.no2001 has no object X"):
        index.loaded("nfa.papers.no2001:X", LINE)


# --- the table of an item in a paper's TOML file

TABLE = {"where": "Table 1", "transcription": "typed", "tolerance": 0.5}
COMPUTED = {"id": "no2001:table1", "title": "t", "rows": list, "columns": (), "picture": print}
TRAINED = {name: COMPUTED[name] for name in ("id", "title", "picture")} | {"cells": list, "not_comparable": str}
SCALE = {"demo": {"what": "one run"}}


@pytest.mark.parametrize("field", TABLE)
def test_a_field_that_a_computed_table_lacks(field):
    table = {name: value for name, value in TABLE.items() if name != field}
    with pytest.raises(ValueError, match=f"no2001:table1: the field '{field}' is missing"):
        Analytic.from_toml(table, **COMPUTED)


def test_what_is_inside_in_words_needs_no_tolerance():
    table = {name: TABLE[name] for name in ("where", "transcription")}
    assert Analytic.from_toml(table, **COMPUTED, within="both are equal").tolerance == 0


@pytest.mark.parametrize(
    "change, field",
    [
        ({"scale": {"demo": {}}}, "'what' of a scale or reading"),
        ({"scale": SCALE, "reading": [{"name": "own"}]}, "'why' of a scale or reading"),
        ({"scale": SCALE, "reading": [{"why": "ours"}]}, "'name' of a scale or reading"),
        ({}, "'scales'"),
    ],
)
def test_a_field_that_an_experiment_lacks(change, field):
    assert Experiment.from_toml(TABLE | {"scale": SCALE}, **TRAINED).seeds == {"demo": 1}
    with pytest.raises(ValueError, match=f"no2001:table1: the field {field} is missing"):
        Experiment.from_toml(TABLE | change, **TRAINED)
