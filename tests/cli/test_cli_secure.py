"""Tests of the refusal of runs that would not be private, or whose requested epsilon cannot be computed.

`nfa train` refuses such a run before the first step. The message names all missing settings and the settings that help.
With --anyway, nfa trains the run.
"""

import json
from pathlib import Path

import pytest

from nfa.cli import main
from nfa.privacy.theorems import COVERAGE
from nfa.sampling import ALL_RECORDS
from tests.experiments.tiny_runs import write_data


def fit(adjacency):
    """The sampling schemes for which an epsilon can be computed under an adjacency, as the refusal lists them."""
    found = COVERAGE.items()
    return " or ".join(scheme for scheme, one in found if scheme not in ALL_RECORDS and adjacency not in one.refused)


FIT, ADD_REMOVE = fit("replace-one"), fit("add-remove")
pytestmark = pytest.mark.filterwarnings("ignore::nfa.privacy.rdp.OrderAtGridEnd")

TINY = "train --dataset tiny.npz --classes 3 --records 40 --net 6-5-4-3 --batch 10 --epochs 2 --lr 0.1"
DP_SGD = "--rule dp_sgd --set C=1 --set sigma=3"
PIXELS = "the mean and the deviation of the training pixels enter without noise (set pixels to unit or as-is)"


@pytest.fixture
def train(tmp_path, monkeypatch, capsys):
    """train(words) -> (exit code, record or None, standard error). A refused run must not write anything."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    write_data(tmp_path / "tiny.npz")

    def call(words: str):
        tiny = TINY.replace(" --batch 10", "") if "--sampling none" in words else TINY
        typed = f"{tiny} --secure --json {words}"
        code = main.main(typed.split())
        out, err = capsys.readouterr()
        if code:
            assert not Path("runs").exists()
        return code, json.loads(out) if out else None, err

    return call


# Arguments, refusal, and the additional arguments of a private run. If an option occurs twice, the last value counts.
REFUSED = [
    (
        f"{DP_SGD} --adjacency add-remove --delta 1e-3 --pixels as-is",
        f"record with shuffled batches of a fixed size: take --sampling {ADD_REMOVE} (dpulr2024:L249)",
        "--sampling poisson",
    ),
    (
        f"{DP_SGD} --adjacency add-remove --delta 1e-3 --sampling epoch-partition --pixels as-is",
        f"take --sampling {ADD_REMOVE} (dpulr2024:L249)",
        "--sampling poisson",
    ),
    (
        f"{DP_SGD} --adjacency replace-one --delta 1e-3 --sampling poisson --pixels as-is",
        f"take --sampling {FIT} (lee2020:fn1)",
        "--sampling without-replacement",
    ),
    (f"{DP_SGD} --adjacency replace-one --pixels as-is", "give --delta", "--delta 1e-3"),
    (f"{DP_SGD} --delta 1e-3 --pixels as-is", "give --adjacency", "--adjacency replace-one"),
]


COUNTED = f"{DP_SGD} --delta 1e-3 --adjacency replace-one"
ADDED = f"{DP_SGD} --delta 1e-3 --adjacency add-remove --sampling poisson"
# Arguments of a run that would reveal facts about the examples in addition to the steps; the refusal; the arguments to
# use instead.
SHOWN = [
    (COUNTED, PIXELS, f"{COUNTED} --pixels as-is"),
    (DP_SGD, PIXELS, f"{DP_SGD} --pixels as-is"),
    (f"{COUNTED} --pixels as-is --validation 0.2", "leave out validation", f"{COUNTED} --pixels as-is"),
    (f"{COUNTED} --pixels as-is --align-every 2", "leave out align_every", f"{COUNTED} --pixels as-is"),
    (f"{ADDED} --pixels as-is --train-examples 30", "leave out train_examples", f"{ADDED} --pixels as-is"),
    (
        f"{ADDED} --validation 0.2",
        f"{PIXELS}; the accuracy on held-out examples depends on these examples",
        f"{ADDED} --pixels as-is",
    ),
]


@pytest.mark.parametrize("anyway", ["", " --anyway"])
@pytest.mark.parametrize("typed, says, instead", SHOWN)
def test_what_would_show_examples_is_refused_with_anyway_too(train, typed, says, instead, anyway):
    code, record, err = train(f"{typed}{anyway if '--delta' in typed else ' --anyway'}")
    assert (code, record) == (2, None)
    assert err.startswith("nfa: a secure run must reveal only its noisy steps, but this run reveals more: ")
    assert err.count("\n") == 1
    assert says in err
    code, record, _ = train(f"{instead} --anyway")
    assert (code, record["private"]) == (0, "--delta" in instead)


def test_public_inputs_may_be_standardised(train):
    """Under replace-label, public inputs may be standardised, because neighbours have the same inputs."""
    code, record, _ = train(f"{DP_SGD} --delta 1e-3 --adjacency replace-label")
    assert (code, record["private"], record["settings"]["pixels"]) == (0, True, "standard")


@pytest.mark.parametrize("typed, says, mended", REFUSED)
def test_refused_before_the_first_step_and_mended_as_it_says(train, typed, says, mended):
    code, record, err = train(typed)
    assert (code, record) == (2, None)
    assert err.startswith("nfa: --secure would not make this run private: ")
    assert err.endswith(" (to train nevertheless, use --anyway)\n")
    assert err.count("\n") == 1
    assert says in err
    if mended:
        code, record, _ = train(f"{typed} {mended}")
        assert (code, record["private"]) == (0, True)


@pytest.mark.parametrize("typed", [typed for typed, _, _ in REFUSED])
def test_anyway_trains_it_and_the_record_says_that_it_is_not_private(train, typed):
    code, record, _ = train(f"{typed} --anyway")
    assert code == 0
    assert record["private"] is False
    assert record["privacy"]["statement"].startswith("none: ")


# --- a requested epsilon, for seeded runs


@pytest.fixture
def seeded(train, tmp_path, capsys):
    """The same run without --secure."""

    def call(words: str):
        typed = f"{TINY} --json {words}"
        code = main.main(typed.split())
        out, err = capsys.readouterr()
        if code:
            assert not Path("runs").exists()
        return code, json.loads(out) if out else None, err

    return call


SHUFFLED = "no theorem covers an added or removed record with shuffled batches of a fixed size"
UNCOUNTED = [
    (
        f"{DP_SGD} --adjacency add-remove --delta 1e-3",
        f"{SHUFFLED}: take --sampling {ADD_REMOVE} (dpulr2024:L249)",
        "--sampling poisson",
    ),
    (
        f"{DP_SGD} --adjacency add-remove --delta 1e-3 --sampling without-replacement",
        f"cover only a replaced or zeroed-out record: take --sampling {ADD_REMOVE} (wbk2019:thm9)",
        "--sampling poisson",
    ),
    (
        f"{DP_SGD} --adjacency replace-one --delta 1e-3 --sampling poisson",
        f"take --sampling {FIT} (lee2020:fn1)",
        "--sampling without-replacement",
    ),
    (
        "--rule dp_sgd --set C=1 --set sigma=.1 --adjacency replace-one --delta 1e-3 --sampling poisson",
        f"take --sampling {FIT} (lee2020:fn1)",
        "--sampling epoch-partition",
    ),
    ("--adjacency add-remove --delta 1e-3", "dfa adds no noise to the direction", None),
    ("--delta 1e-3", "`nfa rules` lists the rules that have a guarantee", None),
    ("--rule pdfa --set sigma=.1 --adjacency add-remove --delta 1e-3", "(ohana2021:prop3-cols)", None),
    (f"{DP_SGD} --adjacency replace-one", "give --delta (such as 1e-5)", "--delta 1e-3"),
    (
        f"{DP_SGD} --delta 1e-3",
        "give --adjacency (replace-one, zero-out, replace-label, or add-remove with --sampling poisson)",
        "--adjacency replace-one",
    ),
    (
        f"{DP_SGD} --delta 1e-3 --sampling poisson",
        "give --adjacency (add-remove, zero-out, replace-one with --sampling epoch-partition, or replace-label with",
        "--adjacency add-remove",
    ),
    (
        "--rule dp_sgd --set C=1 --set sigma=1e-200 --dtype float64 --adjacency replace-one --delta 1e-3",
        "no finite epsilon is proved: use more noise",
        "--set sigma=1",
    ),
]


@pytest.mark.parametrize("typed, says, mended", UNCOUNTED)
@pytest.mark.filterwarnings("error")
def test_a_count_that_cannot_be_had_is_refused(seeded, typed, says, mended):
    code, record, err = seeded(typed)
    assert (code, record) == (2, None)
    named = [name for name in ("--adjacency", "--delta") if name in typed]
    assert err.startswith(f"nfa: {' and '.join(named)} would give no epsilon: ")
    assert err.endswith(" (to train nevertheless, use --anyway)\n")
    assert err.count("\n") == 1
    assert says in err
    if mended:
        noise = " --set sigma=1e-200"
        code, record, _ = seeded(f"{typed.replace(noise, '') if noise in typed else typed} {mended}")
        assert code == 0
        assert record["privacy"]["guarantee"]["epsilon"] > 0


@pytest.mark.parametrize("typed", [typed for typed, _, _ in UNCOUNTED])
def test_anyway_trains_it_without_a_count(seeded, typed):
    code, record, _ = seeded(f"{typed} --anyway")
    assert code == 0
    assert record["privacy"].get("guarantee", {"epsilon": "inf"})["epsilon"] == "inf"


def test_anyway_needs_something_to_go_against(seeded):
    assert seeded("--anyway")[::2] == (
        2,
        "nfa: --anyway has an effect only with --secure, --adjacency or --delta: leave out --anyway\n",
    )


def test_a_noise_multiplier_needs_an_adjacency_and_no_delta(seeded):
    """`--noise-multiplier` needs an adjacency, because the sensitivity depends on the adjacency, but no delta.

    This run requests no epsilon, so the record has no guarantee.
    """
    code, record, _ = seeded("--rule dp_sgd --set C=1 --noise-multiplier 1.1 --adjacency replace-one")
    assert (code, "guarantee" in record["privacy"]) == (0, False)


ADJACENCY = "--adjacency (replace-one, zero-out, replace-label, or add-remove with --sampling poisson)"
MISSING = [
    ("--rule dp_sgd --target-epsilon 3", f"--target-epsilon needs {ADJACENCY}, --delta (such as 1e-5), --set C=..."),
    (
        "--rule dp_sgd --target-epsilon 3 --adjacency add-remove",
        f"--target-epsilon needs --delta (such as 1e-5), --set C=..., --sampling {ADD_REMOVE}",
    ),
    ("--rule dp_sgd --noise-multiplier 1", f"--noise-multiplier needs {ADJACENCY}, --set C=..."),
    (
        "--rule dp_sgd --delta 1e-3",
        f"--delta would give no epsilon: give {ADJACENCY}, --set C=..., --set sigma=..."
        " (to train nevertheless, use --anyway)",
    ),
    (
        "--rule dp_sgd --secure",
        f"--secure would not make this run private: give {ADJACENCY}, --delta (such as 1e-5), --set C=...,"
        " --set sigma=... (to train nevertheless, use --anyway)",
    ),
    (
        "--rule dp_sgd --target-epsilon 3 --noise-multiplier 2",
        "--target-epsilon and --noise-multiplier exclude each other: leave out one of the two",
    ),
    (
        "--rule dp_sgd --target-epsilon 3 --set sigma=1",
        "--target-epsilon and --set sigma exclude each other: leave out one of the two, because both"
        " settings determine the noise",
    ),
    # If a rule has no guarantee, the refusal reports this first, also if settings are missing.
    (
        "--rule bp --noise-multiplier 1",
        "no privacy guarantee: bp adds no noise to the gradient; `nfa rules` lists"
        " the rules that have a guarantee [lee2020:eq3]",
    ),
    (
        "--rule dp_ulr --target-epsilon 3",
        "no privacy guarantee: the controller bounds the noise before the clip and reads the batch, so no theorem"
        " covers the released direction; `nfa rules` lists the rules that have a guarantee [dpulr2024:thm2]",
    ),
]


@pytest.mark.parametrize("typed, says", MISSING)
def test_one_refusal_names_all_that_is_missing(seeded, typed, says):
    assert seeded(typed) == (2, None, f"nfa: {says}\n")


OWN = """
from nfa.mechanism import Mechanism
from nfa.noise import add_normal
from nfa.rules.dp_sgd import dp_sgd


def own(net, x, y, *, C, m, sigma, add_normal=add_normal, rng):
    return dp_sgd(net, x, y, C=C, m=m, sigma=sigma, add_normal=add_normal, rng=rng)


def mechanism(*, C, m, sigma, adjacency, sampling, sampling_rate):
    how = {"adjacency": adjacency, "sampling": sampling, "sampling_rate": sampling_rate}
    return Mechanism(law="gaussian", noise_std=sigma, sensitivity=2 * C / m, **how)
"""


def test_a_rule_from_outside_is_not_refused_for_being_unchecked(train, tmp_path, monkeypatch):
    (tmp_path / "own_secure_rule.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    typed = "--rule own_secure_rule:own --set C=1 --set sigma=3 --adjacency replace-one --delta 1e-3"
    assert PIXELS in train(typed)[2]
    code, record, err = train(f"{typed} --pixels as-is")
    assert code == 0, err
    assert record["privacy"]["statement"].startswith("none that nfa has checked. ")


# --- zero-out: the number of records is fixed, so an epsilon can be computed for every sampling scheme


@pytest.mark.parametrize("sampling", list(COVERAGE))
def test_zero_out_is_counted_and_private_with_every_scheme(train, sampling):
    words = f"--rule dp_sgd --set C=1 --adjacency zero-out --delta 1e-3 --pixels as-is --sampling {sampling}"
    code, record, err = train(f"{words} --target-epsilon 3")
    assert code == 0, err
    assert record["private"] is True
    stated, guarantee = record["privacy"]["mechanism"], record["privacy"]["guarantee"]
    assert stated["adjacency"] == guarantee["adjacency"] == "zero-out"
    assert 2.9 < guarantee["epsilon"] <= 3


def test_a_rule_that_hides_labels_alone_refuses_zero_out(seeded):
    code, _, err = seeded("--rule pdfa --set sigma=0.1 --adjacency zero-out --delta 1e-3 --pixels as-is")
    assert code == 2
    assert "the noise hides only labels" in err
