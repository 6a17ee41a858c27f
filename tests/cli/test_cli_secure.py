"""`nfa train --secure` refuses before the first step what would not end private, and names the change that mends it."""

import json
from pathlib import Path

import pytest

from nfa.cli import main
from tests.experiments.tiny_runs import write_data

pytestmark = pytest.mark.filterwarnings("ignore::nfa.privacy.rdp.OrderAtGridEnd")

DP_SGD = "--rule dp_sgd --set C=1 --set sigma=3"
PIXELS = "the mean and the deviation of the training pixels enter without noise: take pixels unit or as-is"


@pytest.fixture
def train(tmp_path, monkeypatch, capsys):
    """train(words) -> (exit code, record or None, standard error); nothing may be written where it is refused."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    write_data(tmp_path / "tiny.npz")

    def call(words: str):
        typed = f"train --dataset tiny.npz --net 6-5-4-3 --batch 10 --epochs 2 --lr 0.1 --secure --json {words}"
        code = main.main(typed.split())
        out, err = capsys.readouterr()
        if code:
            assert not Path("runs").exists()
        return code, json.loads(out) if out else None, err

    return call


# What is typed, what the refusal says, and what is typed beside it (a later option stands) to be private.
REFUSED = [
    (f"{DP_SGD} --adjacency replace-one --delta 1e-3", PIXELS, "--pixels as-is"),
    (
        f"{DP_SGD} --adjacency add-remove --delta 1e-3 --pixels as-is",
        "no theorem for a record added or removed: take --sampling poisson (dpulr2024:L249)",
        "--sampling poisson",
    ),
    (
        f"{DP_SGD} --adjacency add-remove --delta 1e-3 --sampling epoch-partition",
        f"take --sampling poisson (dpulr2024:L249); {PIXELS}",
        "--sampling poisson --pixels as-is",
    ),
    (
        f"{DP_SGD} --adjacency replace-one --delta 1e-3 --sampling poisson --pixels as-is",
        "take --sampling epoch-partition or without-replacement (lee2020:fn1)",
        "--sampling without-replacement",
    ),
    (f"{DP_SGD} --adjacency replace-one --pixels as-is", "give --delta", "--delta 1e-3"),
    (f"{DP_SGD} --delta 1e-3 --pixels as-is", "give --adjacency", "--adjacency replace-one"),
    (
        f"{DP_SGD} --delta 1e-3 --adjacency add-remove --sampling poisson --pixels as-is --train-examples 30",
        "leave out train_examples",
        None,
    ),
    (f"{DP_SGD} --delta 1e-3 --adjacency replace-one --pixels as-is --validation 0.2", "leave out validation", None),
    ("--rule bp --delta 1e-3 --adjacency replace-one", "bp releases the gradient as it is, without noise", None),
    ("--rule dp_sgd --set C=1 --set sigma=0 --adjacency replace-one --delta 1e-3 --pixels as-is", "sigma = 0", None),
]


@pytest.mark.parametrize("typed, says, mended", REFUSED)
def test_refused_before_the_first_step_and_mended_as_it_says(train, typed, says, mended):
    code, record, err = train(typed)
    assert (code, record) == (2, None)
    assert err.startswith("nfa: --secure would not make this run private: ")
    assert err.endswith("; --anyway trains it all the same\n")
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


def test_anyway_is_for_secure_runs(train, capsys):
    assert main.main("train --dataset tiny.npz --net 6-4-3 --anyway".split()) == 2
    assert "--anyway is for --secure" in capsys.readouterr().err


OWN = """
from nfa.mechanism import Mechanism
from nfa.rules.dp_sgd import dp_sgd


def own(net, x, y, *, C, m, sigma, rng):
    return dp_sgd(net, x, y, C=C, m=m, sigma=sigma, rng=rng)


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
    assert record["privacy"]["statement"].startswith("none that nfa has checked: ")
