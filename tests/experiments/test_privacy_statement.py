"""Tests of the entry "privacy" of a record: the mechanism, and the guarantee or the reason why there is no epsilon."""

import json
import math
import re
import sys
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
from scipy import optimize

from nfa.cli import main
from nfa.experiments import run as runs
from nfa.experiments.prepare import prepare
from nfa.experiments.privacy_statement import PIXELS_PUBLIC, SEEDED, Statement
from nfa.experiments.run import run
from nfa.mechanism import ADJACENCIES, Mechanism
from nfa.rules.spec import spec
from tests.experiments.tiny_runs import tiny_settings, untimed, write_data

ISOTROPIC = {"rule": "pdfa_isotropic", "rule_settings": {"s": 0.3, "tau_h_max": 2.0}}
LABEL = {"rule": "pdfa_label", "rule_settings": {"sigma": 5.0}}


def told_epsilon(text):
    """The epsilon that a sentence reports. It may be rounded up but never down."""
    return float(re.search(r"\(([0-9.]+), 0\.001\)-DP under replace-one", text)[1])


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("data") / "tiny.npz")


@pytest.fixture
def settings(tiny):
    return tiny_settings(tiny, **ISOTROPIC)


def gaussian_epsilon(noise_multiplier, uses, delta):
    """The smallest epsilon of `uses` Gaussian releases by Mironov's conversion, found by a search over
    all real orders.
    """
    rho = uses / (2 * noise_multiplier**2)
    best = optimize.minimize_scalar(
        lambda log_a: rho * (1 + math.exp(log_a)) - math.log(delta) / math.exp(log_a),
        bounds=(-12, 12),
        method="bounded",
        options={"xatol": 1e-10},
    )
    return best.fun


# The network 6-5-4-3 with tanh has the sensitivity 2/10 sqrt(3 (4 + 1)) = 0.7746. An epoch has 4 batches of 10 of the
# 40 records, and the run has 3 epochs.
Z = 0.3 / (0.2 * math.sqrt(15))


@pytest.mark.parametrize("sampling, uses, steps", [("none", 3, 3), ("epoch-partition", 3, 12)])
def test_the_guarantee_is_that_of_the_steps_done(sampling, uses, steps, settings, tmp_path):
    counted = {"adjacency": "replace-one", "delta": 1e-3, "conversion": "mironov2017"}
    settings = replace(settings, sampling=sampling, **counted)
    if sampling == "none":
        settings = replace(settings, rule_settings=settings.rule_settings | {"m": 10})
    record = run(settings, tmp_path)
    privacy = record["privacy"]
    guarantee = privacy["guarantee"]
    assert record["private"] is False
    assert record["steps"] == steps == guarantee["steps"]
    assert guarantee["epsilon"] == pytest.approx(gaussian_epsilon(Z, uses, 1e-3), rel=1e-4)
    assert guarantee["noise_multiplier"] == pytest.approx(Z, rel=1e-12)
    assert {name: guarantee[name] for name in ("delta", "adjacency", "sampling", "bound", "conversion")} == {
        "delta": 1e-3,
        "adjacency": "replace-one",
        "sampling": sampling,
        "bound": "lee2020:lem1",
        "conversion": "mironov2017",
    }
    assert guarantee["order"] > 1
    assert privacy["mechanism"]["sensitivity"] == pytest.approx(0.2 * math.sqrt(15), rel=1e-12)
    # The statement begins with the guarantee of a secure run, and reports that this run is seeded.
    first = privacy["statement"].partition(". ")[0]
    assert told_epsilon(first) == told_epsilon(privacy["statement"])
    assert "this seeded run is not private" in first
    assert "not private" in first
    assert all(len(sentence.split()) <= 25 for sentence in re.split(r"[.;] ", privacy["statement"]))
    assert 1 <= told_epsilon(privacy["statement"]) / guarantee["epsilon"] < 1.001
    assert json.loads((tmp_path / "pdfa_isotropic-seed1.json").read_text()) == record


def test_batches_drawn_afresh_count_their_rate_and_their_steps(settings, tmp_path):
    """If each step draws a new batch, the guarantee uses the sampling rate and the number of steps.

    The accountant's own tests check the epsilon. This test checks the arguments that the run passes to the accountant.
    """
    from nfa.privacy.accountant import epsilon

    more = {"adjacency": "replace-one", "delta": 1e-3, "sampling": "without-replacement"}
    record = run(replace(settings, rule_settings={"s": 5.0, "tau_h_max": 2.0}, **more), tmp_path)
    release = Mechanism(
        law="gaussian",
        sensitivity=0.2 * math.sqrt(15),
        adjacency="replace-one",
        noise_std=5.0,
        sampling="without-replacement",
        sampling_rate=0.25,
    )
    least, papers, by_renyi = (
        epsilon([(release, 12)], delta=1e-3, **how)
        for how in ({}, {"conversion": "mironov2017"}, {"accountant": "rdp"})
    )
    guarantee = record["privacy"]["guarantee"]
    assert guarantee["epsilon"] == pytest.approx(least.epsilon)
    assert (guarantee["bound"], guarantee["conversion"]) == ("lee2020:lem1", "pld")
    assert guarantee["epsilon_at_least"] == least.at_least
    for named, counted in ({"conversion": "mironov2017"}, papers), ({"accountant": "rdp"}, by_renyi):
        other = replace(settings, rule_settings={"s": 5.0, "tau_h_max": 2.0}, **named, **more)
        again = run(other, tmp_path / counted.conversion)
        assert again["privacy"]["guarantee"]["epsilon"] == pytest.approx(counted.epsilon)
        assert again["privacy"]["guarantee"]["bound"] == "wbk2019:thm27"
        assert again["settings"] == record["settings"]  # the settings that identify a run do not contain the accountant
    assert least.epsilon < by_renyi.epsilon < papers.epsilon


def test_labels_are_counted_by_epochs(settings, tmp_path):
    counted = {"adjacency": "replace-label", "delta": 1e-3, "conversion": "mironov2017"}
    record = run(replace(settings, **LABEL, **counted), tmp_path)
    guarantee = record["privacy"]["guarantee"]
    assert guarantee["epsilon"] == pytest.approx(gaussian_epsilon(5 / math.sqrt(10), 3, 1e-3), rel=1e-4)
    assert "pixels" not in record["privacy"]["statement"]  # the pixels are public


@pytest.mark.parametrize("change", [{"adjacency": "replace-label", "delta": 1e-3}, {"adjacency": "replace-one"}, {}])
def test_pdfa_under_its_other_name_is_the_same_run(change, settings, tmp_path):
    """The rules pdfa and pdfa_label give equal runs. Their records differ only in the name of the rule.

    The guarantee depends on the adjacency, not on the rule's name.
    """
    found = [
        untimed(run(replace(settings, **LABEL | {"rule": name} | change), tmp_path / name))
        for name in ("pdfa_label", "pdfa")
    ]
    for record, name in zip(found, ("pdfa_label", "pdfa"), strict=True):
        assert record["settings"].pop("rule") == name
        assert record.pop("cell") == f"{name}-seed1"
    assert found[0] == found[1]
    assert ("guarantee" in found[0]["privacy"]) == ("delta" in change)
    assert ("not a valid bound" in found[0]["privacy"]["statement"]) == (not change)


def test_a_name_that_is_none_is_told_the_aliases_too():
    with pytest.raises(ValueError, match=r"rule must be one of bp, .*, pdfa, pdfa_isotropic, pdfa_label, shuffled_sgd"):
        spec("pdfa_labels")


def test_scaled_pixels_are_said_to_be_public(settings, tmp_path):
    """The record reports that the pixels' mean and deviation count as public but come from the training images.

    The test does not use the scaling "unit", because "unit" needs bytes, and the tiny data are not bytes.
    """
    record = run(replace(settings, adjacency="replace-one", delta=1e-3), tmp_path)
    assert record["privacy"]["statement"].endswith(PIXELS_PUBLIC)


@pytest.mark.parametrize(
    "change, statement",
    [
        ({"delta": 1e-3}, "none: no epsilon is counted, because no adjacency is named"),
        ({}, "none: no epsilon is counted, because no adjacency is named"),
        (
            {"adjacency": "replace-one"},
            f"none: {SEEDED}. No epsilon is counted, because no delta is named.",
        ),
        (
            {"adjacency": "replace-label", "delta": 1e-3},
            "none: the bound covers whole records, and not labels alone. Use the adjacency replace-one, which"
            " includes a changed label "
            "(ohana2021:prop2)",
        ),
        (
            {"rule": "pdfa_label", "rule_settings": {"sigma": 5.0}, "adjacency": "replace-one", "delta": 1e-3},
            "none: the noise hides only labels, because a direction reveals the inputs. Use the adjacency"
            " replace-label (ohana2021:prop3-cols)",
        ),
        (
            {"rule": "dfa", "rule_settings": {}, "adjacency": "replace-one", "delta": 1e-3},
            "none: dfa adds no noise to the direction (lee2020:dfa-update)",
        ),
    ],
)
def test_why_nothing_is_counted(change, statement, settings, tmp_path):
    record = run(replace(settings, **change), tmp_path)
    assert record["privacy"]["statement"] == statement
    assert "guarantee" not in record["privacy"]


def test_what_the_accountant_has_no_theorem_for_is_refused_by_name(settings, tmp_path):
    record = run(replace(settings, adjacency="add-remove", delta=1e-3), tmp_path)
    assert record["privacy"]["id"] == "dpulr2024:L249"
    assert record["privacy"]["statement"].endswith("(dpulr2024:L249)")
    assert record["privacy"]["mechanism"]["adjacency"] == "add-remove"
    assert "guarantee" not in record["privacy"]


def test_an_infinite_epsilon_is_written_as_text(settings, tmp_path):
    record = run(replace(settings, adjacency="replace-one", delta=1e-3, epochs=1), tmp_path)
    quiet = Mechanism(**record["privacy"]["mechanism"] | {"noise_std": 1e-160})
    said = Statement(known={}, stated_by=None, mechanism=quiet, delta=1e-3, steps_per_epoch=1, secure=False)
    guarantee = said.account([(1, 1)])["guarantee"]
    assert (guarantee["epsilon"], guarantee["order"]) == ("inf", None)
    assert said.account([(1, 1)])["statement"].startswith("none: ")


@pytest.mark.parametrize("delta, warned", [(0.1, True), (0.025, True), (0.024, False)])
def test_a_seeded_run_cautions_about_a_delta_of_one_over_its_40_records(delta, warned, settings, tmp_path):
    record = run(replace(settings, adjacency="replace-one", delta=delta, epochs=1), tmp_path)
    assert ("at least 1/n = 0.025" in record["privacy"]["statement"]) is warned


def test_an_order_at_the_end_of_the_grid_is_told(settings, tmp_path):
    more = {"adjacency": "replace-one", "delta": 1e-3, "sampling": "without-replacement", "conversion": "mironov2017"}
    record = run(replace(settings, rule_settings={"s": 0.01}, **more), tmp_path)
    assert "order" in record["privacy"]["statement"].rpartition(". ")[2]


def test_settings_that_are_not_given_do_not_change_what_a_run_is_called(settings):
    assert {"adjacency", "delta"}.isdisjoint(settings.to_json())
    given = replace(settings, adjacency="replace-one", delta=1e-3).to_json()
    assert {name: given[name] for name in ("adjacency", "delta")} == {"adjacency": "replace-one", "delta": 1e-3}


def test_counting_changes_nothing_else(settings, tmp_path):
    plain = run(settings, tmp_path / "a")
    counted = run(replace(settings, adjacency="replace-one", delta=1e-3), tmp_path / "b")
    for name in ("history", "test_accuracy", "steps"):
        assert untimed(plain)[name] == untimed(counted)[name]


# --- the arguments of a mechanism ------------------------------------------------------------------------------


def own_rule(monkeypatch, mechanism):
    """The rule "own:rule", which draws normal samples, in a module with this mechanism."""

    def rule(net, x, y, *, width=2.0, rng):
        dW = [None, *(width * rng.normal(size=W.shape).astype(W.dtype) for W in net.W[1:])]
        return dW, [None, *(np.zeros_like(b) for b in net.b[1:])]

    module = ModuleType("own")
    module.rule, module.mechanism = rule, mechanism
    monkeypatch.setitem(sys.modules, "own", module)


def test_a_mechanism_gets_the_net_the_defaults_of_the_rule_and_the_sampling(settings, monkeypatch):
    seen = {}

    def mechanism(*, net, width, adjacency, sampling, sampling_rate):
        seen.update(L=net.L, width=width)
        return Mechanism(
            law="gaussian",
            sensitivity=1.0,
            noise_std=width,
            adjacency=adjacency,
            sampling=sampling,
            sampling_rate=sampling_rate,
        )

    own_rule(monkeypatch, mechanism)
    parts = prepare(replace(settings, rule="own:rule", rule_settings={}, adjacency="add-remove", sampling="poisson"))
    assert seen == {"L": 3, "width": 2.0}
    assert (parts.mechanism.sampling, parts.mechanism.sampling_rate) == ("poisson", 0.25)


def test_a_mechanism_of_one_adjacency_is_not_counted_under_another(settings, monkeypatch):
    def mechanism(*, sampling, sampling_rate):
        return Mechanism(
            law="gaussian",
            sensitivity=1.0,
            noise_std=1.0,
            adjacency="add-remove",
            sampling=sampling,
            sampling_rate=sampling_rate,
        )

    own_rule(monkeypatch, mechanism)
    change = {"rule": "own:rule", "rule_settings": {}}
    assert prepare(replace(settings, **change)).mechanism.adjacency == "add-remove"
    with pytest.raises(ValueError, match="adjacency must be add-remove for rule own:rule, got replace-one"):
        prepare(replace(settings, **change, adjacency="replace-one"))


def test_a_mechanism_that_fails_gets_a_sentence(settings, monkeypatch):
    own_rule(monkeypatch, lambda *, gamma: None)
    with pytest.raises(ValueError, match="the mechanism of rule own:rule failed: "):
        prepare(replace(settings, rule="own:rule", rule_settings={}))


# --- a mechanism that states a curve -----------------------------------------------------------------------------

SOLVED = {"architecture": "6-3", "sampling": "none", "epochs": 1, "lr": 1.0, "pixels": "as-is", "delta": 1e-3}


@pytest.mark.parametrize("rule", ["output_perturbation", "objective_perturbation"])
def test_a_rule_that_solves_is_recorded_as_any_other(rule, tiny, tmp_path):
    """The record of a rule that computes a minimiser has the entries of any other rule.

    By hand, the shift of the Rényi curve is sqrt(2) / (40 sigma). The single step uses all 40 records, and lam = 0.5.
    """
    own = {"lam": 0.5, "sigma": 0.05}
    settings = tiny_settings(tiny, rule=rule, rule_settings=own, adjacency="add-remove", **SOLVED)
    record = run(settings, tmp_path)
    assert json.loads((tmp_path / f"{rule}-seed1.json").read_text()) == record
    guarantee, mechanism = record["privacy"]["guarantee"], record["privacy"]["mechanism"]
    assert (record["steps"], guarantee["steps"], guarantee["sampling"]) == (1, 1, "none")
    if rule == "output_perturbation":
        assert mechanism["sensitivity"] == pytest.approx(math.sqrt(2) / 20 + 4e-10, rel=1e-12)
        assert guarantee["bound"] == "lee2020:lem1"
    else:
        curve = {"classes": 3, "shift": math.sqrt(2) / 2, "stretch": 2 * math.log(1 + 1 / 60), "share": 1e-3}
        assert mechanism["curve"] == pytest.approx(curve, rel=1e-12)
        assert (mechanism["id"], mechanism["epsilon_infinity"]) == ("ours:softmax-objective", "inf")
        assert guarantee["bound"] == "ours:softmax-objective"
        assert guarantee["noise_multiplier"] is None
        orders = 1 + np.geomspace(0.01, 30, 10_000)
        rdp = curve["stretch"] + np.log1p(2 * np.exp(orders * (orders - 1) / 4)) / (orders - 1) + 1e-3 * orders / 4
        by_hand = rdp + np.log1p(-1 / orders) - np.log(1e-3 * orders) / (orders - 1)
        assert guarantee["epsilon"] == pytest.approx(by_hand.min(), rel=1e-4)
    assert run(settings, tmp_path) == record


def test_the_audit_of_rules_refuses_a_curve_in_a_sentence(capsys):
    own = ["--set", "lam=0.5", "--set", "sigma=0.1", "--net", "6-3", "--adjacency", "add-remove"]
    assert main.main(["audit", "--rule", "objective_perturbation", *own]) == 2
    told = capsys.readouterr().err
    assert "but rule objective_perturbation states a Renyi curve" in told
    assert told.count("\n") == 1


# --- the command line ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"adjacency": "replace-two"}, f"adjacency must be one of {', '.join(ADJACENCIES)}, got"),
        ({"delta": 0.0}, "delta must be a number between 0 and 1, got 0.0"),
        ({"delta": 1.0}, "delta must be a number between 0 and 1, got 1.0"),
        ({"delta": math.nan}, "delta must be a number between 0 and 1, got nan"),
        ({"delta": "1e-5"}, "delta must be a number between 0 and 1, got '1e-5'"),
    ],
)
def test_bad_values_get_a_sentence_and_nothing_is_written(change, sentence, settings, tmp_path):
    with pytest.raises(ValueError, match=sentence):
        runs.run(replace(settings, **change), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_nfa_train_counts(tiny, tmp_path, capsys):
    command = ["train", "--rule", "pdfa_isotropic", "--set", "s=0.3", "--dataset", tiny, "--net", "6-5-4-3"]
    command += ["--classes", 3]
    command += ["--batch", 10, "--epochs", 3, "--adjacency", "replace-one", "--delta", "1e-3", "--out", tmp_path / "o"]
    assert main.main([*map(str, command), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["settings"]["adjacency"] == "replace-one"
    assert record["privacy"]["guarantee"]["steps"] == 12
    assert main.main([str(word) for word in command]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert 1 <= told_epsilon(told) / record["privacy"]["guarantee"]["epsilon"] < 1.001


@pytest.mark.parametrize("option", [("--delta", "2"), ("--adjacency", "replace"), ("--delta", "nan")])
def test_nfa_train_refuses_bad_values_in_a_sentence(option, tiny, capsys):
    assert main.main(["train", "--dataset", str(tiny), "--net", "6-5-4-3", *option]) == 2
    error = capsys.readouterr().err
    assert option[0][2:] in error
    assert "Traceback" not in error
