"""Tests of runs that are refused or diverge. A refused run writes no file. The message is one sentence."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from nfa import ops
from nfa.experiments.run import check, run
from nfa.rules.spec import names
from nfa.sampling import SAMPLERS
from nfa.train import Diverged
from tests.experiments.tiny_runs import Killed, stop_after, tiny_settings, write_data

OWN = "tests.experiments.own_rules"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("data") / "tiny.npz")


@pytest.fixture
def settings(tiny):
    return tiny_settings(tiny)


OPTICAL = {"rule": "tdfa", "rule_settings": {"t": 0.15}}
BAD = {
    f"rule must be one of {', '.join(names())}, or module:function, got 'bpp'": {"rule": "bpp"},
    "rule 'no_such_module:f' cannot be imported: ModuleNotFoundError": {"rule": "no_such_module:f"},
    f"rule '{OWN}:none' cannot be imported: AttributeError": {"rule": f"{OWN}:none"},
    f"rule '{OWN}:NOT_A_RULE' must name a function, got int": {"rule": f"{OWN}:NOT_A_RULE"},
    f"rule {OWN}:transposed must return directions with the shapes of the weights": {"rule": f"{OWN}:transposed"},
    f"nfa tests rule {OWN}:broken on two examples, but the rule raised AttributeError": {"rule": f"{OWN}:broken"},
    "wants_ten needs ten examples, got 5": {"rule": f"{OWN}:wants_ten", "batch": 5},
    "rule bp has no setting 'sigma'. The settings of this rule are m": {"rule": "bp", "rule_settings": {"sigma": 1}},
    f"rule {OWN}:remembers needs a value for the setting 'sigma'": {"rule": f"{OWN}:remembers"},
    "sigma must not be negative, got -1": {
        "rule": f"{OWN}:noisy_dfa",
        "rule_settings": {"sigma": -1},
    },
    "rule_settings must contain only JSON values": {"rule_settings": {"m": float("nan")}},
    "batch must be at most the 40 training examples, got 41": {"batch": 41},
    "batch must be a whole number >= 1, got 0": {"batch": 0},
    "epochs must be a whole number >= 1, got 0": {"epochs": 0},
    "epochs must be a whole number >= 1, got '3'": {"epochs": "3"},
    "a run must have fewer than 2^32 steps, got 1073741824 epochs of 4 steps: lower epochs": {"epochs": 2**30},
    "threads must be a whole number >= 1, got 0": {"threads": 0},
    "train_examples must be at most the 40 training examples, got 99": {"train_examples": 99},
    "validation must be a share in [0, 1), got 1.0": {"validation": 1.0},
    "validation: fraction must leave examples in both parts": {"validation": 0.001},
    "lr_factor must be positive, got 0.0": {"lr_every": 1, "lr_factor": 0.0},
    "lr must be positive and finite, got 0": {"lr": 0.0},
    "lr must be a finite number, got inf": {"lr": float("inf")},
    "momentum must be in [0, 1), got 1.0": {"momentum": 1.0},
    "the seed must be a whole number >= 0, got -1": {"seed": -1},
    "seed must be a whole number >= 0, got 1.5": {"seed": 1.5},
    "dtype must be one of float32, float64, got 'float16'": {"dtype": "float16"},
    "optimizer must be one of sgd, adam, got 'sgdm'": {"optimizer": "sgdm"},
    f"sampling must be one of {', '.join(SAMPLERS)}, got 'shuffle'": {"sampling": "shuffle"},
    "sampling 'poisson-rejection' needs N_B, the smallest size of a batch: give --n-b": {
        "sampling": "poisson-rejection"
    },
    "N_B, the smallest size of a batch, is only for sampling 'poisson-rejection', got 5 with sampling 'poisson'": {
        "sampling": "poisson",
        "N_B": 5,
    },
    "N_B must be a whole number >= 1, got 0": {"sampling": "poisson-rejection", "N_B": 0},
    "sampling 'partial-passes' needs tau, the share of the examples that a pass takes: give --tau": {
        "sampling": "partial-passes"
    },
    "is only for sampling 'partial-passes', got 0.5 with sampling 'poisson'": {"sampling": "poisson", "tau": 0.5},
    "batch must be 1 for sampling 'partial-passes', got 10": {"sampling": "partial-passes", "tau": 0.5},
    "must be in (0, 1], got 1.5": {"sampling": "partial-passes", "tau": 1.5, "batch": 1},
    "tau must be at least 1/n, because a pass uses floor(tau n) examples, got tau = 0.01 and n = 40": {
        "sampling": "partial-passes",
        "tau": 0.01,
        "batch": 1,
    },
    "e / tau must be a whole number of passes, got 3 / 0.7 = 4.28571": {
        "sampling": "partial-passes",
        "tau": 0.7,
        "batch": 1,
    },
    "with tau = 0.06 and 40 examples an epoch has 33.3333 steps": {
        "sampling": "partial-passes",
        "tau": 0.06,
        "batch": 1,
    },
    "N_B must be between 1 and the number n of examples, got N_B=41 and n=40": {
        "sampling": "poisson-rejection",
        "N_B": 41,
    },
    "at the rate q = 0.25 has at least N_B = 26 records only with probability 1.11e-07": {
        "sampling": "poisson-rejection",
        "N_B": 26,
    },
    "loss must be one of softmax-cross-entropy, squared-error, sigmoid-cross-entropy, got 'mse'": {"loss": "mse"},
    "activation must be one of tanh, sigmoid, relu, gelu, identity, step, got 'swish'": {"activation": "swish"},
    "activation applies only to an architecture given as sizes": {"activation": "relu", "architecture": "ohana2021"},
    "64,10, or module:function, got 'vgg'": {"architecture": "vgg"},
    "architecture 7-3 reads 7 values per example, but tiny has 6": {"architecture": "7-3"},
    "architecture 6-4 ends in 4 classes, but tiny has 3": {"architecture": "6-4"},
    "init must be one of": {"init": "ones"},
    "pixels must be one of standard, unit, as-is, got 'raw'": {"pixels": "raw"},
    "the law of the feedback must be one of": {"feedback_law": "cauchy"},
    "the scale of the feedback must be positive": {"feedback_scale": 0.0},
    "at must be 'h' or 'z', got 'x'": {"at": "x"},
    "'no-such-set'": {"dataset": "no-such-set"},
    "sigma must be a number, got 'nan'": {"rule": "pdfa", "rule_settings": {"sigma": "nan"}},
    "sigma must be a number, got True": {"rule": "pdfa", "rule_settings": {"sigma": True}},
    "t must be a number, got 'low'": {"rule": "pdfa", "rule_settings": {"sigma": 0.1, "t": "low"}},
    "clip_x must be true or false, got 'no'": {"rule": "pdfa", "rule_settings": {"sigma": 0.1, "clip_x": "no"}},
    "sigma must be a number >= 0, got -1": {"rule": "pdfa", "rule_settings": {"sigma": -1}},
    "must satisfy 0 <= tau_h_min <= tau_h_max": {
        "rule": "pdfa",
        "rule_settings": {"sigma": 0.1, "tau_h_min": 2, "tau_h_max": 1},
    },
    "the threshold t must not be negative, got -1": {"rule": "tdfa", "rule_settings": {"t": -1}},
    "the photon budget must be positive and at most 1e12, got 0": OPTICAL | {"opu": {"photons": 0}},
    "an OPU has no parameter 'photon'. The parameters of an OPU are n_anchor, anchor_shot, noise_std, stored": OPTICAL
    | {"opu": {"photon": 1}},
    "the OPU's bits must be a number, got '8'": OPTICAL | {"opu": {"bits": "8"}},
    "opu must contain only JSON values": OPTICAL | {"opu": {"saturation": float("inf")}},
    "opu must be a dictionary from names of parameters to values, got 3": OPTICAL | {"opu": 3},
    "every entry of an error for an OPU must be -1, 0 or 1": {
        "rule": "pdfa",
        "rule_settings": {"sigma": 0.1},
        "opu": {},
    },
    "rule bp computes no projection, so an OPU has no effect: leave out opu": {"rule": "bp", "opu": {}},
    "feedback_law must be normal for an OPU, got 'uniform'": OPTICAL | {"opu": {}, "feedback_law": "uniform"},
    "the scale of an OPU must be positive": OPTICAL | {"opu": {}, "feedback_scale": -1.0},
    "rule dfa has no setting 'project'. The settings of this rule are m": {
        "rule": "dfa",
        "rule_settings": {"project": "x"},
    },
    "`stored` must be true or false for the medium of an OPU, got 0": OPTICAL | {"opu": {"stored": 0}},
    "For OPUs, set the parameter of the device, as in `opu stored=false`": OPTICAL | {"opu": {}, "stored": False},
    "feedback_law must be normal if stored is false, got 'spectral'": OPTICAL
    | {"stored": False, "feedback_law": "spectral"},
    "`stored` must be true for rule dp_dfa, because this rule reads the feedback matrices directly": {
        "rule": "dp_dfa",
        "rule_settings": {"sigma": 0.1, "tau_h": 1.0},
        "stored": False,
    },
    "align_every must be a whole number >= 1, got 0": {"align_every": 0},
}


@pytest.mark.parametrize("sentence", BAD)
def test_bad_settings_get_one_sentence_and_nothing_is_written(sentence, settings, tmp_path):
    bad = replace(settings, **BAD[sentence])
    for call in (lambda: check(bad), lambda: run(bad, tmp_path / "out")):
        with pytest.raises(ValueError) as refusal:
            call()
        assert sentence in str(refusal.value)
        assert "\n" not in str(refusal.value)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("what, array", [("NaN", np.full((40, 6), np.nan)), ("labels", np.zeros(40, int) + 5)])
def test_bad_data_get_one_sentence_and_nothing_is_written(what, array, settings, tiny, tmp_path):
    with np.load(tiny) as arrays:
        key = "x_train" if what == "NaN" else "y_train"
        np.savez(tmp_path / "bad.npz", **(dict(arrays) | {key: array}))
    with pytest.raises(ValueError, match=rf"bad.npz: .*{key}"):
        run(replace(settings, dataset=str(tmp_path / "bad.npz")), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_missing_data_are_an_error_of_the_environment(settings, tmp_path):
    with pytest.raises(OSError, match=r"gone\.npz"):
        run(replace(settings, dataset=str(tmp_path / "gone.npz")), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_check_writes_nothing_and_finds_nothing_wrong_with_good_settings(settings, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check(settings)
    assert not list(tmp_path.iterdir())


def test_the_losses_and_activations_that_a_run_can_name_are_those_of_ops(settings):
    for loss in ops.LOSSES:
        check(replace(settings, loss=loss))
    for activation in ops.ACTIVATIONS:
        check(replace(settings, activation=activation))


def test_a_rule_in_the_current_folder_is_found(settings, tmp_path, monkeypatch):
    (tmp_path / "rule_of_this_folder.py").write_text("from nfa.rules.bp import bp as mine\n")
    monkeypatch.chdir(tmp_path)
    path = list(sys.path)
    record = run(replace(settings, rule="rule_of_this_folder:mine"), tmp_path / "out")
    assert sys.path == path
    assert record["cell"] == "rule_of_this_folder-mine-seed1"
    assert record["history"] == run(replace(settings, rule="bp"), tmp_path / "out")["history"]


def test_a_folder_of_another_experiment_is_refused(settings, tmp_path, monkeypatch):
    run(settings, tmp_path / "finished", experiment="paper:table9")
    stop_after(monkeypatch, 1)
    with pytest.raises(Killed):
        run(settings, tmp_path / "half", experiment="paper:table9", checkpoint_every=0)
    monkeypatch.undo()
    for name in ("finished", "half"):
        before = sorted(p.name for p in (tmp_path / name).iterdir())
        with pytest.raises(ValueError, match=f"{name} holds runs of paper:table9, not of train: choose another folder"):
            run(settings, tmp_path / name, resume=False)
        assert sorted(p.name for p in (tmp_path / name).iterdir()) == before


def test_a_file_is_no_output_folder_and_strange_files_do_no_harm(settings, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ValueError, match=r"the output folder .*file is a file"):
        run(settings, tmp_path / "file")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "package.json").write_text('{"name": "not a record"}')
    run(settings, tmp_path / "out")
    assert (tmp_path / "out" / "package.json").read_text() == '{"name": "not a record"}'


def test_a_diverging_run_says_step_and_layer_and_leaves_no_record(settings, tmp_path):
    wild = replace(settings, rule="bp", activation="relu", lr=1e6, epochs=20)
    with pytest.raises(Diverged, match=r"at step \d+ the direction for layer \d is not finite") as stop:
        run(wild, tmp_path)
    assert stop.value.step > 1
    assert 1 <= stop.value.layer <= 3
    assert not list(tmp_path.glob("*.json"))


def test_an_infinite_loss_at_the_end_of_an_epoch_is_divergence(settings, tmp_path):
    """An infinite loss at the end of an epoch counts as divergence.

    One full-batch step with the learning rate 1e38 gives finite weights and outputs that overflow float32.
    """
    wild = replace(settings, rule="bp", architecture="6-3", sampling="none", lr=3e38, momentum=0.0, epochs=1)
    with pytest.raises(Diverged, match="at step 1 "):
        run(wild, tmp_path)
    assert not list(tmp_path.glob("*.json"))
