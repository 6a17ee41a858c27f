"""Tests of `nfa rules`. The references are the rules' signatures, sentences in this file, and a run's settings."""

import inspect
import json
import re
from collections.abc import Callable

import numpy as np
import pytest

from nfa.cli import main
from nfa.docstrings import meanings_of
from nfa.mechanism import ADJACENCIES, NoGuarantee
from nfa.network import mlp, ops
from nfa.rules.spec import names, spec
from tests.experiments.tiny_runs import write_data

OWN = '''\
from nfa.mechanism import Mechanism
from nfa.rules.bp import bp

def rule(net, x, y, *, length, strength=0.5, m, how=print, rng, **more):
    """Walks so far.

    Source: [lee2020:eq2]

    Parameters
    ----------
    net : Net
    length : float > 0, in metres,
        both ways
    strength : float
    """
    return bp(net, x, y, m=m)

def bare(net, x, y, *, rng):
    return bp(net, x, y)

def wants(net, x, y, *, sigma, tau, rng):
    return bp(net, x, y)
'''
STATES = '''
def mechanism(*, length) -> Mechanism:
    """What one step releases: nothing at all.

    Source: [lee2020:lem1]
    """
'''


@pytest.fixture
def nfa(capsys):
    def call(*typed):
        code = main.main(list(typed))
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A module with a user's own rules, in the current folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "walking.py").write_text(OWN)
    (tmp_path / "walking_sure.py").write_text(OWN + STATES)


# --- the parser


@pytest.mark.parametrize(
    "docstring, found",
    [
        ("", {}),
        ("Adds.\n\nReturns\n-------\na : float", {}),
        ("Adds.\n\nParameters\n----------\na : float", {"a": "float"}),
        ("Parameters\n----------\na, b : float,\n    of both : kinds\n*rest : int", {
            "a": "float, of both : kinds", "b": "float, of both : kinds", "rest": "int",
        }),
        ("Parameters\n----------\na : float\nReturns\n-------\nb : int", {"a": "float"}),
        ("Parameters\n----------\nno entry\na : float\n\nb : not in it", {"a": "float"}),
    ],
    ids=["nothing", "another section", "one", "several lines and names", "no empty line", "no name"],
)  # fmt: skip
def test_parameters_are_read_as_numpydoc_has_them(docstring, found):
    assert meanings_of(docstring) == found


def test_a_meaning_that_refers_to_another_function_is_that_functions():
    chunk = meanings_of(inspect.getdoc(spec("dp_ulr").function), inspect.getmodule(spec("dp_ulr").function))["chunk"]
    assert chunk.startswith("int >= 1, approximate largest number of entries in an array")


# --- every rule of nfa


@pytest.mark.parametrize("name", names())
def test_every_setting_of_every_rule_is_explained(name):
    one = spec(name)
    assert all(len(setting.meaning) > 10 and "as in `" not in setting.meaning for setting in one.settings)
    taken = inspect.signature(one.function).parameters
    plain = [k for k, p in taken.items() if p.kind is p.KEYWORD_ONLY and p.annotation is not Callable]
    assert [setting.name for setting in one.settings] == [k for k in plain if k not in ("B", "V", "at", "rng", "state")]
    for setting in one.settings:
        if not setting.required:
            assert setting.default == taken[setting.name].default
    assert all(re.fullmatch(r"\w+:[\w.+-]+", each) for each in one.ids)
    returns = re.search(
        r"^def mechanism\(.*?\) -> (\w+):", inspect.getsource(inspect.getmodule(one.function)), re.M | re.S
    )
    assert one.states == (returns[1] in ("Mechanism", "Classic"))
    assert one.guarantee.startswith("none: ") != one.states
    assert not one.from_outside


def test_dp_sgd_is_told_as_its_file_has_it(nfa):
    code, out, _ = nfa("rules", "dp_sgd", "--json")
    one = json.loads(out)
    assert code == 0
    assert [(s["name"], s["needed"], s["default"]) for s in one["settings"]] == [
        ("C", True, None),
        ("m", False, None),
        ("sigma", True, None),
        ("clip", False, "joint"),
    ]
    assert one["guarantee"].startswith("One step of `dp_sgd`: a Gaussian mechanism of sensitivity C / m")
    assert one["noise"] == "sigma"
    assert one["ids"] == ["lee2020:dp-bp", "lee2020:acct", "lee2020:same-privacy", "dpulr2024:sec2.2"]
    shown = " ".join(nfa("rules", "dp_sgd")[1].split())
    assert "C needed float > 0, l2 bound on each example's gradient for all weights and biases together" in shown
    assert "m the batch size" in shown


def test_the_list_has_every_rule(nfa):
    listed = json.loads(nfa("rules", "--json")[1])
    assert [one["name"] for one in listed] == names()
    text = nfa("rules")[1]
    assert all(re.search(rf"^{name} +(stated|labels only|none) ", text, re.MULTILINE) for name in names())


def test_a_rule_that_protects_labels_alone_is_listed_so(nfa):
    """`nfa rules` marks a rule that protects only labels. The mechanism of this rule refuses every other adjacency.

    We compare the output with the result of the rule's mechanism for each adjacency.
    """
    listed = {one["name"]: one["protects"] for one in json.loads(nfa("rules", "--json")[1])}
    assert {name for name, protects in listed.items() if protects == "labels only"} == {"pdfa", "pdfa_label"}
    for name, protects in listed.items():
        if protects == "labels only":
            net, sampling = (
                mlp([4, 3, 2], ops.tanh, rng=np.random.default_rng(1)),
                {"sampling": "none", "sampling_rate": 1.0},
            )
            known = {"net": net, "sigma": 1.0} | sampling
            assert spec(name).release("replace-label", known).adjacency == "replace-label"
            for adjacency in {*ADJACENCIES} - {"replace-label"}:
                with pytest.raises(NoGuarantee):
                    spec(name).release(adjacency, known)
            assert "labels only" in nfa("rules", name)[1]
            assert json.loads(nfa("rules", name, "--json")[1])["protects"] == protects
        else:
            assert (protects is None) != spec(name).states


# --- a user's own rules


def test_a_rule_of_ones_own(nfa, own):
    one = json.loads(nfa("rules", "walking:rule", "--json")[1])
    assert [(s["name"], s["needed"], s["default"], s["given"], s["meaning"]) for s in one["settings"]] == [
        ("length", True, None, "", "float > 0, in metres, both ways"),
        ("strength", False, 0.5, "", "float"),
        ("m", False, None, "the batch size", ""),
        ("how", False, repr(print), "", ""),
    ]
    assert (one["about"], one["ids"], one["checked"]) == ("Walks so far.", ["lee2020:eq2"], False)
    assert (one["stated"], one["guarantee"]) == (False, "none: the rule states no mechanism")
    sure = json.loads(nfa("rules", "walking_sure:rule", "--json")[1])
    assert (sure["stated"], sure["ids"]) == (True, ["lee2020:eq2", "lee2020:lem1"])
    told = " ".join(nfa("rules", "walking_sure:rule")[1].split())
    assert "What one step releases: nothing at all. nfa has not checked this guarantee." in told
    code, out, _ = nfa("rules", "walking:bare")
    assert code == 0
    assert "The rule has no settings of its own." in out


@pytest.mark.parametrize(
    "name, said",
    [
        ("dp_sg", f"rule must be one of {', '.join(names()[:2])}"),
        ("dp_sg", "got 'dp_sg'; did you mean dp_sgd"),
        ("walking:no", "rule 'walking:no' cannot be imported"),
        ("nowhere:rule", "cannot be imported: ModuleNotFoundError"),
        ("walking:STATES", "cannot be imported"),
    ],
)
def test_a_rule_that_is_none_gets_a_sentence(nfa, own, name, said):
    code, out, err = nfa("rules", name)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "function, lacks",
    [
        ("def f(x): pass", "takes only x by position and does not take rng by name"),
        ("def f(net, x, *, rng): pass", "takes only net and x by position"),
        ("def f(net, x, y, *, sigma=1.0): pass", "does not take rng by name"),
        ("def f(net, x, y, rng, /): pass", "does not take rng by name"),
        ("def f(net, rng, x, y): pass", "has rng among its first three parameters"),
        ("class f: pass", "takes nothing by position and does not take rng by name"),
        ("f = dict", "has no signature that can be read"),
    ],
)
def test_a_function_that_is_no_rule_by_its_signature_is_refused_everywhere(nfa, own, tmp_path, function, lacks):
    name = f"unlike_a_rule_{abs(hash(function))}"
    (tmp_path / f"{name}.py").write_text(f"{function}\n")
    data = write_data(tmp_path / "tiny.npz")
    train = ("train", "--dataset", str(data), "--net", "6-5-4-3", "--rule")
    for typed in (("rules",), train, ("audit", "--adjacency", "add-remove", "--rule")):
        assert nfa(*typed, f"{name}:f") == (
            2,
            "",
            f"nfa: rule '{name}:f' must take net, x and y by position and rng by name, as in"
            f" def rule(net, x, y, *, rng), but the function {lacks}\n",
        )
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("signature", ["*every, **more", "net, *rest, rng", "a, b, c, rng", "net, x, y, /, **more"])
def test_a_signature_that_can_be_called_as_a_rule_is_not_refused(nfa, own, tmp_path, signature):
    """A signature is accepted if Python can call the function as a rule."""
    name = f"like_a_rule_{abs(hash(signature))}"
    (tmp_path / f"{name}.py").write_text(f"def f({signature}): pass\n")
    assert nfa("rules", f"{name}:f")[0] == 0
    assert spec(f"{name}:f").function(None, None, None, rng=None) is None


# --- messages of a run about missing settings


@pytest.mark.parametrize(
    "given, said",
    [
        ([], "values for the settings sigma and tau: give each value as in --set sigma=1"),
        (["--set", "sigma=1"], "a value for the setting 'tau': give the value as in --set tau=1"),
    ],
)
def test_all_settings_that_are_missing_are_named_at_once(nfa, own, tmp_path, given, said):
    data = write_data(tmp_path / "tiny.npz")
    code, _, err = nfa("train", "--dataset", str(data), "--net", "6-5-4-3", "--rule", "walking:wants", *given)
    assert code == 2
    assert err == f"nfa: rule walking:wants needs {said}. `nfa rules walking:wants` describes the settings\n"
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("what", ["--rule", "--net"])
def test_a_module_that_exits_at_import_is_refused(nfa, tmp_path, monkeypatch, what):
    """A module that exits at import is refused.

    Otherwise the command would end with the module's exit code, such as 0.
    """
    monkeypatch.chdir(tmp_path)
    (tmp_path / "leaving.py").write_text("import sys\nsys.exit(0)\n", encoding="utf-8")
    code, out, err = nfa("train", what, "leaving:f", "--epochs", "1")
    assert (code, out) == (2, "")
    assert "its module exits (SystemExit: 0)" in err
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".py"] in ([], ["__pycache__"])


def test_a_rule_that_exits_is_work_that_failed(nfa, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rule = "import sys\n\ndef f(net, x, y, *, rng):\n    sys.exit(0)\n"
    (tmp_path / "leaving_late.py").write_text(rule, encoding="utf-8")
    code, _, err = nfa("train", "--rule", "leaving_late:f", "--epochs", "1")
    assert code == 1
    assert "called sys.exit(0)" in err
