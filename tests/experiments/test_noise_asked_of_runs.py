"""Tests of `nfa train --target-epsilon` and `--noise-multiplier`: the noise, the record, and the refusals."""

import functools
import importlib
import itertools
import json
import math
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

from nfa import data
from nfa.cli import main
from nfa.experiments import dry_run, records, reproduce
from nfa.experiments.declaration import declared
from nfa.experiments.experiment import Cell
from nfa.experiments.prepare import prepare, resolved
from nfa.experiments.run import run
from nfa.experiments.settings import Settings
from nfa.mechanism import ADJACENCIES, Mechanism, NoGuarantee
from nfa.privacy import accountant
from nfa.rules.spec import names, spec
from tests.cli.tiny_items import item
from tests.experiments.test_runs_refused import BAD
from tests.experiments.tiny_runs import Killed, stop_after, tiny_settings, untimed, write_data
from tests.oracles.rule_settings import values
from tests.project.tree import ROOT

pytestmark = pytest.mark.filterwarnings("ignore::nfa.privacy.rdp.OrderAtGridEnd")

TARGET = {
    "rule": "dp_sgd",
    "rule_settings": {"C": 1.0},
    "target_epsilon": 3.0,
    "adjacency": "replace-one",
    "delta": 1e-3,
}
MULTIPLIER = {"rule": "dp_sgd", "rule_settings": {"C": 1.0}, "noise_multiplier": 1.1, "adjacency": "replace-one"}
# The settings that each rule needs in addition to its noise.
NEEDED = {"C": 0.3, "K": 2, "L": 0.3, "N_B": 5, "sigma": 0.5, "sigma_0": 1.0, "t": 0.15, "tau": 0.2, "tau_h": 0.9}
NEEDED |= {"lam": 0.5}
SOFTMAX = {"architecture": "6-3", "sampling": "none", "epochs": 1, "lr": 1.0, "adjacency": "add-remove"}
CURVE = "objective_perturbation"  # this rule states a Rényi curve, which has no noise multiplier


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("data") / "tiny.npz")


def needs(rule):
    """The settings, except the noise, that a rule needs for a guarantee."""
    known = spec(rule)
    asked = {one.name for one in known.settings if one.required or one.name == "L"}
    told = {name: NEEDED[name] for name in asked & NEEDED.keys()}
    found = values(known, told, bound=1.0, positive=1.0, noise=1.0, count=2)
    return {name: value for name, value in found.items() if name != known.noise}


def epsilon_of(settings, path, setting):
    """The accountant's epsilon for these settings with another noise."""
    own = settings.rule_settings | setting
    told = prepare(replace(settings, target_epsilon=None, rule_settings=own)).privacy
    return told.account([(1, settings.epochs * told.steps_per_epoch)])["guarantee"]["epsilon"]


# --- the noise that follows from a target or a multiplier

BY_HAND = [  # batches of 10; the net is 6-5-4-3 with tanh
    ("dp_sgd", {"C": 2.5}, "add-remove", "sigma", 1.1 * 2.5 / 10),
    ("dp_sgd", {"C": 2.5}, "replace-one", "sigma", 1.1 * 2 * 2.5 / 10),
    ("dp_sgd", {"C": 2.5, "m": 16}, "add-remove", "sigma", 1.1 * 2.5 / 16),
    # The sum over the examples has noise of std sigma_0 C, so the mean has sigma_0 C / m. sigma does not affect the
    # guarantee.
    ("dp_ulr_sound", {"C": 2.5, "K": 2, "sigma": 0.3}, "add-remove", "sigma_0", 1.1),
    ("dp_ulr_sound", {"C": 2.5, "K": 2, "sigma": 0.3}, "replace-one", "sigma_0", 2.2),
    # Three layers have derivative 1, errors of norm 1, inputs of norm 2 and a bias input of 1.
    ("pdfa_isotropic", {"tau_h_max": 2.0}, "replace-one", "s", 1.1 * 2 / 10 * math.sqrt(3 * (4 + 1))),
    # The change of the errors from one record is 2 in each of two hidden layers, and sqrt(2) at the top.
    ("pdfa", {}, "replace-label", "sigma", 1.1 * math.sqrt(2 * 4 + 2)),
    ("shuffled_sgd", {"L": 0.7}, "replace-one", "sigma", 1.1 * 2 * 0.7),
]


@pytest.mark.parametrize("rule, own, adjacency, name, expected", BY_HAND)
def test_a_multiplier_is_the_sensitivity_so_many_times(rule, own, adjacency, name, expected, tiny):
    sampling = {"dp_sgd": "poisson", "dp_ulr_sound": "poisson"}.get(rule) if adjacency == "add-remove" else None
    how = {"batch": 1, "sampling": "partial-passes", "tau": 1.0} if rule == "shuffled_sgd" else {}
    how |= {"sampling": sampling} if sampling else {}
    asking = {"noise_multiplier": 1.1, "adjacency": adjacency, "rule": rule, "rule_settings": own}
    parts = prepare(tiny_settings(tiny, **asking, **how))
    assert parts.settings.rule_settings == own | {name: pytest.approx(expected, rel=1e-11)}
    assert parts.rule.keywords[name] == parts.settings.rule_settings[name]
    assert parts.mechanism.noise_multiplier == pytest.approx(1.1, rel=1e-11)
    assert (parts.settings.noise_multiplier, parts.settings.target_epsilon) == (None, None)


def test_the_noise_of_dp_dfa_follows_from_its_corrected_sensitivity(tiny):
    """The noise of DP-DFA follows from its corrected sensitivity, computed by hand.

    The rule multiplies errors of norm 0.2 by B, by a derivative of at most 1, and by inputs of norm 0.9 with a bias
    input of 1.
    """
    own = {"tau_e": 0.2, "tau_h": 0.9}
    parts = prepare(tiny_settings(tiny, **MULTIPLIER | {"rule": "dp_dfa", "rule_settings": own}))
    norms = [np.linalg.svd(B, compute_uv=False)[0] for B in parts.rule.keywords["B"][1:3]]
    sensitivity = 2 / 10 * 0.2 * math.sqrt((0.9**2 + 1) * (1 + sum(norm**2 for norm in norms)))
    assert parts.rule.keywords["sigma"] == pytest.approx(1.1 * sensitivity, rel=1e-6)  # B has single precision


@pytest.mark.parametrize("rule", [rule for rule in names() if rule != CURVE])
def test_every_rule_has_a_multiplier_or_says_by_its_id_why_not(rule, tiny):
    """Every rule has the requested noise multiplier under some adjacency, or is refused with the id of a statement."""
    found, refused = [], []
    for adjacency in ADJACENCIES:
        sampling = "poisson" if adjacency == "add-remove" else "epoch-partition"
        asking = {"noise_multiplier": 1.1, "adjacency": adjacency, "sampling": sampling}
        asking |= {"sampling": "partial-passes", "tau": 1.0, "batch": 1} if rule == "shuffled_sgd" else {}
        asking |= {"architecture": "6-3"} if rule == "output_perturbation" else {}
        try:
            parts = prepare(tiny_settings(tiny, rule=rule, rule_settings=needs(rule), **asking))
            found.append(parts.mechanism.noise_multiplier)
        except NoGuarantee as refusal:
            refused.append(refusal.id)
    assert found == [pytest.approx(1.1, rel=1e-11)] * len(found)
    assert bool(found) == spec(rule).states
    assert all(re.fullmatch(r"\w+:\S+", id) for id in refused)


def test_the_noise_of_output_perturbation_follows_from_how_far_the_minimiser_moves(tiny):
    """The noise of output perturbation follows from the largest change of the minimiser, which we compute by hand.

    In this test, lam = 1/2 and R = 2. One of the 40 records moves the minimiser by at most sqrt(2) R / (40 lam). The
    tolerance of the solver adds 2 R / lam times this tolerance.
    """
    own = {"lam": 0.5, "R": 2.0}
    parts = prepare(tiny_settings(tiny, **MULTIPLIER | SOFTMAX | {"rule": "output_perturbation", "rule_settings": own}))
    assert parts.rule.keywords["sigma"] == pytest.approx(1.1 * 4 * (math.sqrt(2) / 40 + 2e-10), rel=1e-11)


def test_a_curve_has_no_multiplier(tiny):
    asking = MULTIPLIER | SOFTMAX | {"rule": CURVE, "rule_settings": {"lam": 0.5}}
    with pytest.raises(
        ValueError, match="that states only a Renyi curve has no noise multiplier: give a target epsilon"
    ):
        resolved(tiny_settings(tiny, **asking))


WAYS = {
    "shuffled": {},
    "shuffled, the last batch short": {"batch": 15, "epochs": 7},
    "all at once": {"sampling": "none"},
    "of examples held out": {"validation": 0.25, "sampling": "none"},
    "Poisson": {"sampling": "poisson", "adjacency": "add-remove"},
    "a conversion": {"conversion": "mironov2017", "sampling": "without-replacement"},
    "labels": {"rule": "pdfa", "rule_settings": {}, "adjacency": "replace-label"},
    "matrices": {"rule": "dp_dfa", "rule_settings": {"tau_h": 1.0}, "seed": 3},
    "a minimiser": {"rule": "output_perturbation", "rule_settings": {"lam": 0.5}, **SOFTMAX},
    "a minimiser of records replaced": {
        "rule": "output_perturbation",
        "rule_settings": {"lam": 0.5},
        **SOFTMAX | {"adjacency": "replace-one"},
    },
    "an objective": {"rule": CURVE, "rule_settings": {"lam": 0.5}, **SOFTMAX},
    "an objective twice, with long records": {
        "rule": CURVE,
        "rule_settings": {"lam": 9.0, "R": 7.0},
        **SOFTMAX,
        "epochs": 2,
    },
    "an objective of Poisson batches": {"rule": CURVE, "rule_settings": {"lam": 1.0}, **SOFTMAX, "sampling": "poisson"},
}


@pytest.mark.parametrize("way", WAYS)
def test_the_target_is_kept_and_a_thousandth_less_noise_is_too_little(way, tiny):
    settings = tiny_settings(tiny, **TARGET | WAYS[way])
    given = resolved(settings)
    assert given == prepare(settings).settings
    ((name, value),) = given.rule_settings.items() - settings.rule_settings.items()
    assert 2.9 < epsilon_of(settings, tiny, {name: value}) <= 3
    assert epsilon_of(settings, tiny, {name: 0.999 * value}) > 3


@pytest.mark.parametrize("tau", [1.0, 1 / 40])
def test_a_target_for_partial_passes(tau, tiny):
    own = {"rule": "shuffled_sgd", "rule_settings": {"L": 1.0}}
    settings = tiny_settings(tiny, **TARGET | own, sampling="partial-passes", tau=tau, batch=1, epochs=2)
    sigma = resolved(settings).rule_settings["sigma"]
    assert epsilon_of(settings, tiny, {"sigma": sigma}) <= 3 < epsilon_of(settings, tiny, {"sigma": 0.999 * sigma})


def test_the_data_can_be_read_once_for_many_settings(tiny):
    read = []

    @functools.cache
    def load(name, data_dir, **how):
        read.append(name)
        return data.load(name, data_dir, **how)

    settings = [tiny_settings(tiny, **TARGET | {"target_epsilon": target}) for target in (1.0, 2.0, 3.0)]
    found = [resolved(one, load) for one in settings]
    assert read == [str(tiny)]
    assert found == [resolved(one) for one in settings]
    assert [resolved(one, None) for one in found] == found  # the noise of these settings is known, so no data are read


# --- the content of a record


def test_the_record_says_what_was_asked_for_and_what_was_got(tiny, tmp_path):
    asking = tiny_settings(tiny, **TARGET, kernels=False)
    record = run(asking, tmp_path / "asked")
    sigma = record["settings"]["rule_settings"]["sigma"]
    assert record["settings"] == resolved(asking).to_json()
    assert not {"target_epsilon", "noise_multiplier"} & record["settings"].keys()
    noise, guarantee = record["privacy"]["noise"], record["privacy"]["guarantee"]
    assert noise["asked"] == {"target_epsilon": 3.0, "delta": 1e-3, "steps": 12}
    assert noise["got"] == {
        "sigma": sigma,
        "noise_multiplier": sigma / (2 * 1.0 / 10),
        **{name: guarantee[name] for name in ("epsilon", "delta", "steps", "bound", "conversion")},
    }
    assert guarantee["epsilon"] <= 3.0
    assert f"Got sigma = {sigma:.12g}," in noise["statement"]
    given = Settings.from_json(record["settings"] | {"dataset": str(tiny)})
    same = run(given, tmp_path / "given")
    del record["privacy"]["noise"]
    assert untimed(same) == untimed(record)


def test_the_record_of_a_curve_says_so_too(tiny, tmp_path):
    """The record also has the target if the rule states a Rényi curve. We compute the shift of this curve by hand.

    There are 40 records, lam = 1/2, and three classes.
    """
    asking = tiny_settings(tiny, **TARGET | SOFTMAX | {"rule": CURVE, "rule_settings": {"lam": 0.5}}, kernels=False)
    record = run(asking, tmp_path)
    noise, sigma = record["privacy"]["noise"], record["settings"]["rule_settings"]["sigma"]
    counted = ("epsilon", "delta", "steps", "bound", "conversion")
    assert noise["got"] == {"sigma": sigma, **{name: record["privacy"]["guarantee"][name] for name in counted}}
    assert f"Got sigma = {sigma:.12g}, for which epsilon " in noise["statement"]
    orders, s = 1 + np.geomspace(0.01, 20, 20_000), math.sqrt(2) / (40 * sigma)
    curve = 2 * math.log1p(1 / 60) + np.log1p(2 * np.exp(orders * (orders - 1) * s**2 / 2)) / (orders - 1)
    by_hand = curve + 1e-3 * orders * s**2 / 2 + np.log1p(-1 / orders) - np.log(1e-3 * orders) / (orders - 1)
    assert by_hand.min() == pytest.approx(3, rel=1e-4)
    assert run(asking, tmp_path) == record


def test_a_multiplier_is_told_with_or_without_a_delta(tiny, tmp_path):
    bare = run(tiny_settings(tiny, **MULTIPLIER, kernels=False), tmp_path / "bare")["privacy"]["noise"]
    assert bare["asked"] == {"noise_multiplier": 1.1}
    assert bare["got"] == {"sigma": 0.22, "noise_multiplier": pytest.approx(1.1, rel=1e-12)}
    counted = run(tiny_settings(tiny, **MULTIPLIER, kernels=False, delta=1e-3), tmp_path / "counted")["privacy"]
    assert counted["noise"]["asked"] == bare["asked"]
    assert counted["noise"]["got"]["epsilon"] == counted["guarantee"]["epsilon"]


def test_the_same_command_goes_on_and_finds_its_record(tiny, tmp_path, monkeypatch):
    asking = tiny_settings(tiny, **TARGET, kernels=False)
    whole = run(asking, tmp_path / "whole")
    for k in (1, 4, 11):
        folder = tmp_path / str(k)
        with monkeypatch.context() as patch:
            stop_after(patch, k)
            with pytest.raises(Killed):
                run(asking, folder, checkpoint_every=0)
        # a run without a target, with the noise of the first run, gives the same results
        went_on = run(asking if k != 4 else resolved(asking), folder)
        if k == 4:
            assert "noise" not in went_on["privacy"]
            went_on["privacy"]["noise"] = whole["privacy"]["noise"]
        assert untimed(went_on) == untimed(whole)
    assert run(asking, tmp_path / "whole") == whole
    assert run(resolved(asking), tmp_path / "whole") == whole
    with pytest.raises(ValueError, match=r"with other settings .*'sigma'"):
        run(replace(asking, target_epsilon=2.0), tmp_path / "whole")


def test_a_secure_run_that_was_interrupted_got_more_than_it_asked_for(tiny, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    asking = tiny_settings(tiny, **TARGET, pixels="as-is", secure=True)
    whole = run(asking, tmp_path / "whole")
    assert whole["private"] is True
    assert whole["privacy"]["noise"]["got"]["epsilon"] <= 3
    with monkeypatch.context() as patch:
        stop_after(patch, 6)
        with pytest.raises(Killed):
            run(asking, tmp_path / "out", checkpoint_every=0)
    record = run(asking, tmp_path / "out")
    assert record["settings"] == whole["settings"]
    noise = record["privacy"]["noise"]
    assert noise["asked"] == {"target_epsilon": 3.0, "delta": 1e-3, "steps": 12}
    # with an interruption, a record is used twice in each session, so four times instead of three times
    mechanism = Mechanism(**record["privacy"]["mechanism"])
    four = accountant.epsilon([(mechanism, 4)], delta=1e-3, steps_per_epoch=1).epsilon
    assert noise["got"]["epsilon"] == record["privacy"]["guarantee"]["epsilon"] == pytest.approx(four, rel=1e-12)
    assert four > 3
    assert noise["statement"].endswith(
        "exceeds the target, because the run was interrupted, and each interruption can raise epsilon"
    )
    assert run(asking, tmp_path / "out") == record


# --- rules from outside nfa

OWN = """
from nfa.mechanism import Mechanism
from nfa.rules.dp_sgd import dp_sgd

def rule(net, x, y, *, C, m, noise, rng):
    return dp_sgd(net, x, y, C=C, m=m, sigma=noise / 4, rng=rng)

def mechanism(*, C, m, noise, sampling, sampling_rate):
    return Mechanism(law="gaussian", sensitivity=2 * C / m, adjacency="replace-one", noise_std=noise / 4,
                     sampling=sampling, sampling_rate=sampling_rate)
"""
SAYS = '\nNOISE = "noise"\n'


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """Write a module into the current folder, and return the name of its rule."""
    monkeypatch.chdir(tmp_path)
    count = itertools.count()

    def write(body):
        name = f"asked_{tmp_path.name}_{next(count)}"
        (tmp_path / f"{name}.py").write_text(body)
        importlib.invalidate_caches()
        monkeypatch.setitem(sys.modules, name, None)
        del sys.modules[name]
        return f"{name}:rule"

    return write


def test_a_rule_from_outside_names_its_noise(tiny, tmp_path, outside):
    name = outside(OWN + SAYS)
    record = run(tiny_settings(tiny, **TARGET | {"rule": name}, kernels=False), tmp_path / "out")
    ours = run(tiny_settings(tiny, **TARGET, kernels=False), tmp_path / "ours")
    assert "noise" not in record["privacy"]
    theirs = record["privacy"]["unchecked"]["noise"]
    assert theirs["got"]["noise"] == pytest.approx(4 * ours["privacy"]["noise"]["got"]["sigma"], rel=2e-5)
    assert theirs["got"]["epsilon"] == record["privacy"]["unchecked"]["guarantee"]["epsilon"] <= 3
    assert record["history"][0]["train_loss"] == pytest.approx(ours["history"][0]["train_loss"], rel=1e-3)


@pytest.mark.parametrize(
    "body, sentence",
    [
        (OWN, "needs a value for the setting 'noise'"),
        (OWN + '\nNOISE = "C"\n', "the setting C exclude each other"),
        (
            OWN.replace("m, noise, rng", "m, rng").replace("noise / 4", "0.2") + SAYS,
            r"NOISE of rule .* must name a setting of the rule \(C, m\), got .noise.",
        ),
        (OWN.replace("m, noise, s", "m, s").replace("noise_std=noise / 4", "noise_std=0.2") + SAYS, "be proportional"),
        (OWN.replace("2 * C / m", "2 * C / m / (1 + noise)") + SAYS, "must be proportional to the setting"),
        (OWN.partition("def mechanism")[0] + SAYS, "has no mechanism, so its noise cannot be computed"),
    ],
)
def test_a_rule_from_outside_that_does_not_say_enough(body, sentence, tiny, outside):
    with pytest.raises(ValueError, match=sentence):
        resolved(tiny_settings(tiny, **TARGET | {"rule": outside(body)}))


@pytest.mark.parametrize(
    "change, sentence",
    [
        ({"noise_multiplier": 1.1}, "target_epsilon and noise_multiplier exclude each other: leave out one of the two"),
        ({"rule_settings": {"C": 1.0, "sigma": 0.1}}, "target_epsilon and the setting sigma exclude each other"),
        ({"adjacency": None}, "with target_epsilon, give adjacency too"),
        ({"delta": None, "adjacency": None}, "with target_epsilon, give adjacency and delta too"),
    ],
)
def test_what_is_asked_for_must_be_complete(change, sentence, tiny):
    with pytest.raises(ValueError, match=sentence):
        resolved(tiny_settings(tiny, **TARGET | change))


@pytest.mark.parametrize("sentence", BAD)
def test_bad_settings_that_ask_for_noise_get_the_sentence_of_a_run(sentence, tiny):
    """For invalid settings with a target or a multiplier, the computation of the noise raises the error of a run.

    We compare a run with a call that computes only the noise. For a rule without a mechanism, the message of this call
    names the missing mechanism.
    """
    asking = replace(tiny_settings(tiny, **TARGET | WAYS["matrices"]), **BAD[sentence])
    told = []
    for call in (prepare, resolved):
        with pytest.raises((ValueError, NoGuarantee, OSError)) as refusal:
            call(asking)
        told.append((refusal.type, str(refusal.value)))
    assert told[0] == told[1]


# --- experiments


def test_cells_that_ask_are_planned_run_and_found_finished(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_data(tmp_path / "tiny.npz")
    asks = item(
        "ohana2021:table1",
        rules=("dp_sgd",),
        kernels=False,
        **{name: TARGET[name] for name in TARGET if name != "rule"},
    )
    how = {"scale": "demo", "seeds": 2, "out": tmp_path / "out"}
    plan = reproduce.reproduce(asks, dry_run=True, **how)
    assert "2 of 2 runs to do" in plan.text
    assert not (tmp_path / "out").exists()
    reproduce.reproduce(asks, **how)
    assert reproduce.look(asks, **how).missing == []
    found = list(records.in_folder(tmp_path / "out"))
    assert [record["privacy"]["noise"]["asked"]["steps"] for record in found] == [8, 8]
    assert all(2.9 < record["privacy"]["guarantee"]["epsilon"] <= 3 for record in found)


def test_a_dry_run_needs_no_noise_and_no_data_that_fit_its_target(tiny):
    """A dry run does not need the noise, and accepts data for which the target is refused.

    The dry run uses other batch sizes, for which no theorem may give an epsilon.
    """
    settings = tiny_settings(tiny, **TARGET | {"adjacency": "add-remove"}, sampling="poisson", kernels=False)
    cells = [Cell("one", settings, {})]
    (estimate,) = dry_run.estimates(cells, dry_run.sources(cells), 0.1).values()
    assert estimate.seconds > 0


# --- the command

ASKED = {"--rule": "dp_sgd", "--set": "C=1", "--target-epsilon": "3", "--delta": "1e-3", "--adjacency": "replace-one"}
ONE_STEP = {"--net": "6-3", "--sampling": "none", "--batch": None, "--adjacency": "add-remove"}
MULTIPLIED = {"--target-epsilon": None, "--noise-multiplier": "1"}
REFUSED = [
    ({"--noise-multiplier": "1.1"}, "--target-epsilon and --noise-multiplier exclude each other"),
    ({"--set": "sigma=0.1"}, "--target-epsilon and --set sigma exclude each other"),
    ({"--adjacency": None}, "--target-epsilon needs --adjacency (replace-one, "),
    ({"--delta": None}, "--target-epsilon needs --delta (such as 1e-5)"),
    ({"--delta": None, "--adjacency": None}, "with --sampling poisson), --delta (such as 1e-5)"),
    (
        {"--target-epsilon": None, "--noise-multiplier": "1", "--adjacency": None},
        "--noise-multiplier needs --adjacency (replace-one, ",
    ),
    ({"--target-epsilon": "0"}, "target_epsilon must be positive, got 0.0"),
    ({"--target-epsilon": "inf"}, "target_epsilon must be a finite number, got inf"),
    ({"--target-epsilon": None, "--noise-multiplier": "-1"}, "noise_multiplier must be positive, got -1.0"),
    (
        {"--target-epsilon": None, "--noise-multiplier": "1e300"},
        "the standard deviation of float32 noise must be 0 or between",
    ),
    ({"--target-epsilon": "1e-9", "--conversion": "mironov2017"}, "no amount of noise brings epsilon to 1e-09"),
    ({"--set": None}, "rule dp_sgd needs a value for the setting 'C'"),
    ({"--rule": "bp", "--set": None}, "[lee2020:eq3]"),
    ({"--rule": CURVE, "--set": "lam=1", **ONE_STEP, "--net": "6-5-3"}, "[ours:softmax-objective]"),
    ({"--rule": CURVE, "--set": "lam=1", **ONE_STEP, "--adjacency": "replace-one"}, "[ours:softmax-objective]"),
    (
        {"--rule": CURVE, "--set": "lam=1e-4", **ONE_STEP},
        "no amount of noise brings epsilon to 3, because epsilon stays at",
    ),
    ({"--rule": CURVE, "--set": "lam=1", **ONE_STEP, **MULTIPLIED}, "Renyi curve has no noise multiplier"),
    ({"--rule": "noisy_bp", "--set": None}, "[ohana2021:exp-bp]"),
    ({"--rule": "pdfa", "--set": None}, "[ohana2021:prop3-cols]"),
    ({"--sampling": "poisson"}, "[lee2020:fn1]"),
    ({"--sampling": "poisson", "--target-epsilon": None, "--noise-multiplier": "1"}, "[lee2020:fn1]"),
    ({"--adjacency": "add-remove"}, "[dpulr2024:L249]"),
    ({"--sampling": "poisson-rejection", "--n-b": "3"}, "[dpulr2024:thm1]"),
    (
        {"--rule": "shuffled_sgd", "--set": "L=1", "--batch": "1", "--sampling": "partial-passes", "--tau": "0.5"},
        "[berthier2019:conj1]",
    ),
]


@pytest.mark.parametrize("change, sentence", REFUSED)
def test_what_is_refused_is_told_before_anything_is_written(change, sentence, tiny, tmp_path, capsys):
    where = {"--dataset": str(tiny), "--classes": "3", "--records": "40", "--net": "6-5-4-3", "--batch": "10"}
    where |= {"--out": str(tmp_path / "out")}
    given = where | ASKED | change
    assert main.main(["train", *(text for pair in given.items() if pair[1] is not None for text in pair)]) == 2
    told = capsys.readouterr().err
    assert sentence in told
    assert told.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_the_command_shows_what_follows_and_finds_its_record_again(tiny, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")
    where = ["--dataset", str(tiny), "--classes", "3", "--net", "6-5-4-3", "--batch", "10", "--epochs", "3"]
    where.append("--no-kernels")
    typed = ["train", *where, *(text for pair in ASKED.items() for text in pair)]
    assert main.main(typed) == 0
    out = capsys.readouterr().out
    assert "noise: asked for epsilon at most 3 at delta 0.001 after 12 steps. Got sigma = " in out
    assert main.main([*typed, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert f"noise: {record['privacy']['noise']['statement']}\n" in out
    # the paper's conversion needs more noise, so the run has other settings and another folder
    assert main.main([*typed, "--conversion", "mironov2017", "--json"]) == 0
    other = json.loads(capsys.readouterr().out)
    assert other["settings"]["rule_settings"]["sigma"] > record["settings"]["rule_settings"]["sigma"]
    assert len(list((tmp_path / "runs" / "train").iterdir())) == 2


@pytest.mark.slow
def test_the_page_shows_what_its_command_asks_for():
    text = (ROOT / "tutorials" / "usage.md").read_text(encoding="utf-8")
    typed, shown = re.search(
        r"bin/nfa train ([^`]*--target-epsilon.*?)\n```\n\n```text\nnoise: (.*?)```", text, re.S
    ).groups()
    words = typed.replace("\\\n", " ").split()
    given = dict(zip(words[::2], words[1::2], strict=True))
    assert given.pop("--set") == "C=1"
    values = {name.removeprefix("--").replace("-", "_"): value for name, value in given.items()}
    numbers = {one.name: one.kind(values[one.name]) for one in declared(Settings) if one.name in values}
    told = prepare(Settings(**numbers, rule_settings={"C": 1}, kernels=False)).privacy
    assert told.account([(1, 120)])["noise"]["statement"] == " ".join(shown.split())
