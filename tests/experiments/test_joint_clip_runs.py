"""Tests of joint-clip DFA from the command line: every kind of feedback, records, secure runs, audits and refusals."""

import json

import pytest

from nfa.cli.main import main
from nfa.mechanism import Mechanism
from nfa.privacy.accountant import epsilon
from tests.experiments.tiny_runs import write_data

pytestmark = pytest.mark.filterwarnings("ignore::nfa.privacy.rdp.OrderAtGridEnd")
OPU = "--opu bits=8 --opu saturation=60 --opu photons=50 --opu dark_std=0.1 --opu anchor_shot=true --opu noise_std=0.1"
FEEDBACK = {
    "matrices": ("error", ""),
    "a ternary error": ("ternary", ""),
    "labels": ("label", ""),
    "matrices that are not stored": ("error", "--no-stored"),
    "OPUs, every effect": ("ternary", OPU),
    "OPUs that are not stored": ("ternary", f"{OPU} --opu stored=false"),
    "labels by OPUs": ("label", "--opu bits=8 --opu saturation=60"),
}
WORDS = (
    "train --net 6-5-4-3 --batch 10 --epochs 2 --pixels as-is --sampling poisson --adjacency add-remove --delta 1e-3"
    " --classes 3 --records 40"
)


@pytest.fixture
def train(tmp_path, monkeypatch, capsys):
    """Run `nfa train` on 40 examples, and return the exit code, the JSON document and standard error."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    data = write_data(tmp_path / "some.npz")

    def call(rule, options):
        code = main([*WORDS.split(), "--json", "--dataset", str(data), "--rule", rule, *options.split()])
        out, err = capsys.readouterr()
        return code, json.loads(out) if out else None, err

    return call


RELEASED = Mechanism(
    law="gaussian", sensitivity=0.05, adjacency="add-remove", noise_std=0.075, sampling="poisson", sampling_rate=0.25
)


@pytest.mark.verifies("ours:joint-clip")
@pytest.mark.parametrize(
    "rule, name", [*(("dp_dfa_joint", name) for name in FEEDBACK), ("dp_hybrid_joint", "matrices")]
)
def test_the_guarantee_is_that_of_the_clip_whatever_the_feedback(train, rule, name):
    """The guarantee follows from the clip alone, for any feedback: the sensitivity is C / m = 0.05 in each of 8 steps.

    The record of a run with an OPU names the signals that the device can carry. Each record has the share of examples
    that the clip scales down.
    """
    carries, options = FEEDBACK[name]
    carries = "" if rule == "dp_hybrid_joint" else f"--set carries={carries}"
    code, told, err = train(rule, f"--set C=0.5 --set sigma=0.075 {carries} {options} --out out")
    assert code == 0, err
    privacy = told["privacy"]
    assert privacy["mechanism"]["sensitivity"] == pytest.approx(0.05, rel=1e-15)
    assert privacy["guarantee"]["steps"] == told["steps"] == 8
    want = epsilon([(RELEASED, 8)], delta=1e-3).epsilon
    assert privacy["guarantee"]["epsilon"] == pytest.approx(want, rel=1e-12)
    assert told["private"] is False  # because the run has a seed, which its record contains
    assert all(len(epoch["clipped"]) == 1 and 0 < epoch["clipped"][0] <= 1 for epoch in told["history"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["matrices", "OPUs, every effect"])
def test_a_secure_run_is_private(train, name):
    carries, options = FEEDBACK[name]
    code, told, err = train("dp_dfa_joint", f"--secure --set C=0.5 --set sigma=0.075 --set carries={carries} {options}")
    assert code == 0, err
    assert told["private"] is True
    # The accountant also counts rounding and the grid of the noise. Together they add at most 2^-13 of the sensitivity.
    real = epsilon([(RELEASED, 8)], delta=1e-3).epsilon
    assert 1 < told["privacy"]["guarantee"]["epsilon"] / real < 1 + 2 * 2**-13


@pytest.mark.parametrize(
    "rule, options, sentence",
    [
        (
            "dp_dfa_joint",
            "--set C=1 --set sigma=1 --opu bits=8 --opu saturation=9",
            "every entry of an error for an OPU must be -1, 0 or 1",
        ),
        ("dp_dfa_joint", "--set C=1 --set sigma=1 --set t=4", "t must be in [0, 1], got 4"),
        ("dp_dfa_joint", "--set C=1 --set sigma=1 --set carries=signs", "carries must be one of error, ternary, label"),
        ("dp_dfa_joint", "--set C=1e-30 --set sigma=1", "for float32 arrays, got 1e-30"),
        ("dp_dfa_joint", "--set sigma=1", "rule dp_dfa_joint needs a value for the setting 'C'"),
        ("dp_dfa_joint", "--set C=0 --set sigma=1", "C must be positive and finite, got 0"),
        (
            "dp_hybrid_joint",
            "--set C=1 --set sigma=1 --set ell=3",
            "layers with backpropagation must be between 0 and 2, got 3",
        ),
        (
            "dp_hybrid_joint",
            "--set C=1 --set sigma=1 --opu bits=8",
            "rule dp_hybrid_joint computes no projection, so an",
        ),
        (
            "dp_hybrid_joint",
            "--set C=1 --set sigma=1 --no-stored",
            "because this rule reads the feedback matrices directly",
        ),
    ],
)
def test_bad_settings_are_one_sentence_and_nothing_is_written(train, tmp_path, rule, options, sentence):
    code, told, err = train(rule, f"{options} --out out")
    assert (code, told) == (2, None)
    assert sentence in err
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "rule, carries", [("dp_dfa_joint", "error"), ("dp_dfa_joint", "ternary"), ("dp_hybrid_joint", "")]
)
def test_its_audit_finds_all_that_is_stated_and_no_more(capsys, rule, carries):
    """The audit does not refute the stated guarantee, and its neighbours attain the stated sensitivity.

    The audit compares the stated epsilon with a 95 % bound from its games.
    """
    given = ["--set", "C=0.3", "--set", "sigma=0.15", *(["--set", f"carries={carries}"] if carries else [])]
    code = main(["audit", "--rule", rule, *given, "--adjacency", "add-remove", "--trials", "60", "--json"])
    told = json.loads(capsys.readouterr().out)
    assert code == 0
    assert not told["refuted"]
    assert told["sensitivity"]["moved"] == pytest.approx(told["sensitivity"]["stated"], rel=1e-9)
    assert told["sensitivity"]["stated"] == pytest.approx(0.3 / 4, rel=1e-15)
