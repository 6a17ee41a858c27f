"""Tutorials 02, 07, 09, 10 and 12 say which rule is more accurate; these tests train again with three seeds.

A test fails if the order of two rules is reversed for one of the seeds. CI trains with the first seed. The required
differences are a few of 1,000 test images smaller than the measured differences, because rounding on other processors
may change the result by a few images.
"""

import runpy
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
import pytest

from nfa.audit.membership import membership_by_loss
from nfa.noise import Streams
from tests.project.tree import ROOT

pytestmark = pytest.mark.nightly  # each test runs a whole tutorial, which the build of the site also runs
SEEDS = (1, 2, 3)
EACH_SEED = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture
def ran(monkeypatch):
    """{name: value} of everything that a tutorial has defined at its end."""
    monkeypatch.setattr(plt, "show", lambda: plt.close("all"))
    return lambda name: runpy.run_path(str(ROOT / "tutorials" / f"{name}.py"))


def test_what_matters_about_feedback_and_what_depth_does(ran):
    tutorial = ran("02_feedback_alignment")
    run, dfa = tutorial["run"], lambda B: partial(tutorial["dfa"], B=B)
    for seed in SEEDS:
        last = {name: run(rule, seed=seed)[2][-1] for name, rule in {**tutorial["rules"], "DFA": dfa}.items()}
        assert last["B fresh every step"] + 0.07 < last["hidden layers frozen"] < last["TDFA: signs of e"] - 0.05
        assert last["TDFA: signs of e"] < last["BP"] + 0.01
        assert last["DFA"] > last["BP"] - 0.01
        assert (last["DFA"], last["TDFA: signs of e"]) == pytest.approx((0.82, 0.79), abs=0.02)
        zeros = {
            name: run(rule, init="zeros", seed=seed)[2][-1]
            for name, rule in (("BP", tutorial["rules"]["BP"]), ("DFA", dfa))
        }
        assert zeros["BP"] == pytest.approx(0.1, abs=0.001)
        assert zeros["DFA"] > 0.75
        deep = {
            name: run(rule, (128,) * 8, seed=seed) for name, rule in (("BP", tutorial["rules"]["BP"]), ("DFA", dfa))
        }
        assert deep["DFA"][2][-1] > deep["BP"][2][-1] + 0.05
        shallow = run(dfa, (128,), seed=seed)[1][-20:, :-1].mean()
        assert deep["DFA"][1][-20:, :-1].mean() < shallow - 0.1


def test_neither_the_ternary_error_nor_the_camera_matters_much(ran):
    tutorial = ran("07_light")
    learn, drawn = tutorial["learn"], tutorial["drawn"]
    rules = {"TDFA": lambda streams, net: partial(tutorial["tdfa"], B=drawn(streams, net), t=0.15), **tutorial["rules"]}
    right = tutorial["images"].y_test

    def curve(make, seed):
        return [
            100 * tutorial["network"].accuracy(net, tutorial["x_test"], right) for net in learn(make, seed=seed)[1:]
        ]

    for seed in SEEDS:
        found = {name: curve(make, seed) for name, make in rules.items()}
        first, last = ({name: values[at] for name, values in found.items()} for at in (0, -1))
        assert first["DFA"] > max(value for name, value in first.items() if name != "DFA") + 1
        assert max(last.values()) - min(last.values()) < 1


@EACH_SEED
def test_forward_learning_beside_backpropagation(ran, seed):
    tutorial = ran("09_forward_learning")
    found = [100 * tutorial["accuracy"](*how, seed=seed) for how in tutorial["rules"].values()]
    bp, plain, pairs, bp_steps, pairs_steps = found
    assert plain + 25 < pairs < bp
    assert bp - pairs < 6.5
    assert bp_steps + 8 < pairs_steps


@EACH_SEED
def test_the_price_of_a_guarantee(ran, seed):
    tutorial = ran("10_controller")
    accuracy, m, multipliers = tutorial["accuracy"], tutorial["m"], tutorial["multipliers"]
    sgd = np.array([accuracy(partial(tutorial["dp_sgd"], C=1.0, m=m, sigma=s / m), seed) for s in multipliers])
    pairs, printed = (
        np.array([accuracy(partial(tutorial[name], sigma_0=s), seed) for s in multipliers])
        for name in ("pairs", "printed")
    )
    assert (sgd[1:] - pairs[1:] > 0.4).all()
    assert (np.abs(sgd - pairs) < 6).all()
    assert (printed < 30).all()
    assert (pairs > printed + 30).all()


@EACH_SEED
def test_a_private_model_tells_less_of_its_members(ran, seed):
    tutorial = ran("12_auditing")
    rules = {"BP": tutorial["bp"], "DP-SGD": partial(tutorial["sound_dp_sgd"], C=1.0, m=500, sigma=14 / 500)}
    members, others = tutorial["members"], tutorial["others"]
    told = {}
    for name, rule in rules.items():
        seen = tutorial["trained"](rule, *members, hidden=64, steps=200, streams=Streams(seed))
        told[name] = membership_by_loss(seen, members, others).auc
    assert told["BP"] > told["DP-SGD"] + 0.03
    assert told["DP-SGD"] > 0.5
