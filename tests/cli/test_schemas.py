"""Tests that every JSON document of the command line follows its schema schemas/COMMAND.json (JSON Schema 2020-12).

test_cli.py checks the documents of `nfa demo` and of a trained table, because it trains a small table.
"""

import json
import shlex
from dataclasses import fields
from pathlib import Path

import pytest

from nfa.cli import main
from nfa.experiments.settings import Settings
from nfa.rules.spec import names
from tests.experiments.tiny_runs import write_data

FOLDER = Path(__file__).with_name("schemas")
SCHEMAS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.json"))}

PAPER = "--sampling without-replacement --adjacency replace-one --n 60000 --batch 512 --steps 5850 --delta 1e-5"
POISSON = "--sampling poisson --adjacency add-remove --q 0.01 --steps 1000 --delta 1e-5"
TINY = "train --dataset tiny.npz --net 6-5-4-3 --batch 10 --epochs 2 --no-kernels"
DECLARED = "--classes 3 --records 40"
DP_DFA = "--rule dp_dfa --set sigma=0.1 --set tau_h=1 --set tau_e=0.1 --adjacency replace-one"
PDFA = "--set sigma=0.1 --set tau_B=1 --set t=0.15"
DP_SGD = f"{TINY} {DECLARED} --rule dp_sgd --set C=1 --sampling poisson --adjacency add-remove --delta 1e-5"

COMMANDS = [
    "eq lee2020 ours wbk2019",
    "eq lee2020:eq5",
    "eq dpulr2024:thm4 --certificate",
    "eq lee2020 --bibtex",
    "errata",
    f"epsilon {PAPER} --noise-multiplier 1.7067 --bound wbk2019:thm27 --conversion mironov2017",
    f"epsilon {POISSON} --target-epsilon 3",
    f"epsilon {POISSON} --noise-multiplier 1.1 --accountant pld",
    f"epsilon {PAPER} --noise-multiplier 1e-200",
    f"epsilon {POISSON} --noise-multiplier 1.1 --explain",
    "epsilon --sampling none --adjacency add-remove --steps 9 --delta 0.1 --noise-multiplier 3 --law laplace --explain",
    "audit",
    "audit dp_dfa --trials 20",
    "audit dp_sgd --trials 20",
    pytest.param(f"audit {DP_DFA} --trials 20", marks=pytest.mark.slow),
    pytest.param("audit dpulr2024:thm4", marks=pytest.mark.slow),
    pytest.param("audit ohana2021:prop3-cols --trials 24", marks=pytest.mark.nightly),
    pytest.param("audit dpulr2024:thm2 --trials 400", marks=pytest.mark.slow),
    "rules",
    "data list",
    "data path",
    "data path fashion-mnist-small",
    "train --dataset tiny.npz --net 6-5-4-3 --batch 10 --epochs 2",
    f"{TINY} --lr-every 1 --lr-factor 0.5 --validation 0.2",
    f"{TINY} {DP_DFA} --delta 1e-5 {DECLARED}",
    f"{DP_SGD} --target-epsilon 3",
    f"{DP_SGD} --set sigma=1 --secure --kernels --pixels as-is",
    f"{TINY} --rule pdfa {PDFA} --opu photons=100 --opu n_anchor=4 --align-every 2",
    "reproduce --list",
    "reproduce berthier2019:table1 --out a",
    "reproduce lee2020:fig4 --only sigma=0.01 --only reading=sound --dry-run",
    pytest.param("reproduce lee2020:fig4 lee2020:fig2 --dry-run", marks=pytest.mark.slow),
    "course stub lee2020:eq5 --out mine.py",
    "course stub lee2020:eq5",
    "course ladder",
    "course ladder lee2020 --out ladder",
]
FILLED_IN = """\
from nfa.course.stubs import exercise
from nfa.rules.{rule} import {rule} as ours
@exercise("nfa.rules.{rule}:{rule}", "{id}")
def {rule}(*args, **kwargs):
    dW, db = ours(*args, **kwargs)
    return {dW}, db
"""


def check(command, document):
    """Raise a ValueError unless a document follows the schema of its command."""
    # a local import, because it takes two seconds if all formats are installed
    from jsonschema import Draft202012Validator
    from referencing import Registry

    registry = Registry().with_contents((f"{name}.json", schema) for name, schema in SCHEMAS.items())
    for error in Draft202012Validator(SCHEMAS[command], registry=registry).iter_errors(document):
        raise ValueError(str(error))


@pytest.fixture
def printed(tmp_path, monkeypatch, capsys):
    """A function that returns a command's document. The command runs in a folder with tiny.npz, or in a subfolder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    write_data(tmp_path / "tiny.npz")

    def call(typed, folder="."):
        monkeypatch.chdir(tmp_path / folder)
        capsys.readouterr()
        assert main.main([*shlex.split(typed), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return call


@pytest.mark.parametrize("typed", COMMANDS)
def test_a_document_has_the_form_of_its_schema(typed, printed):
    document = printed(typed)
    check(typed.split()[0], document)
    if typed.startswith("train"):
        assert document["settings"].keys() <= {field.name for field in fields(Settings)}


def test_predictions_have_the_form_of_their_schema(printed):
    printed(f"{TINY} --out kept")
    document = printed("predict kept tiny.npz --probabilities --out said.csv")
    check("predict", document)
    assert document["examples"] == 20


@pytest.mark.parametrize(("dW", "code"), [("dW", 0), ("[None, *(-w for w in dW[1:])]", 1)])
def test_a_judgement_has_the_form_of_its_schema(dW, code, tmp_path, capsys):
    mine = tmp_path / "mine.py"
    mine.write_text(FILLED_IN.format(rule="bp", id="lee2020:eq3", dW=dW), encoding="utf-8")
    assert main.main(["course", "check", str(mine), "--json"]) == code
    document = json.loads(capsys.readouterr().out)
    check("course", document)
    assert document["right"] is (code == 0)


def test_a_rule_has_the_form_of_its_schema(printed):
    for name in names():
        check("rules", printed(f"rules {name}"))


@pytest.mark.nightly
def test_a_course_has_the_form_of_its_schema(printed):
    """The documents of a course follow its schema, from a new folder to the grades of one student."""
    pytest.importorskip("nbgrader", reason="courses need nbgrader: pip install -e '.[course]'")
    check("course", printed("course new course --set ps1_by_hand"))
    for typed in ("build", "rehearse ps1_by_hand reference", "grade"):
        check("course", printed(f"course {typed}", folder="course"))


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_one(name):
    from jsonschema import Draft202012Validator

    Draft202012Validator.check_schema(SCHEMAS[name])


WRONG = {
    "eq": [("verdict", "maybe"), ("verdict", None), ("tests", "tests/a.py::test_b"), ("places", ["nfa/a.py"])],
    "epsilon": [("epsilon", -1), ("epsilon", "infinite"), ("delta", 0), ("adjacency", "add"), ("steps", 0.5)],
    "train": [("test_accuracy", 1.5), ("history", []), ("seed", "1"), ("private", True), ("steps", None)],
}


@pytest.mark.parametrize(("command", "typed"), [("eq", "eq lee2020:eq5"), ("epsilon", COMMANDS[5]), ("train", TINY)])
def test_a_document_of_another_form_is_refused(command, typed, printed):
    """The schema refuses a document with a missing key, with an additional key, and with each value of `WRONG`."""
    document = printed(typed)
    values = document[0] if command == "eq" else document
    for key in values:
        with pytest.raises(ValueError, match="Failed validating"):
            check(command, [_without(values, key)] if command == "eq" else _without(values, key))
    for key, value in [("extra", 1), *WRONG[command]]:
        with pytest.raises(ValueError, match="Failed validating"):
            check(command, [values | {key: value}] if command == "eq" else values | {key: value})


def _without(values, key):
    return {name: value for name, value in values.items() if name != key}
