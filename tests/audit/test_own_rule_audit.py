"""The search for neighbours that change a rule's result most, and `nfa audit --rule` for any rule with a mechanism."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from nfa import ops
from nfa.audit import own_rule
from nfa.audit.own_rule import audit
from nfa.audit.reports import AuditOptions
from nfa.audit.worst_neighbours import LEFT_OUT, NeighbourPair, Silent, draw_pair, ratio, search
from nfa.cli import main
from nfa.mechanism import ADJACENCIES
from nfa.network import Dense, Net, mlp
from nfa.noise import add_normal, add_normal_each
from tests.trust import broken_rules
from tests.trust.broken_claims import SGD, claim
from tests.trust.mechanism_rules import dense

QUICK = {"draws": 30, "climbs": 0, "evaluations": 100}
rng = np.random.default_rng


# --- the search itself


def test_a_place_moves_only_what_it_may():
    net = mlp((2, 3, 2), ops.tanh, rng=rng(0))
    for adjacency, rows in (("replace-one", 2), ("replace-label", 1), ("add-remove", 1), ("zero-out", 1)):
        pair = draw_pair(net, [None, np.ones((3, 2)), None], adjacency=adjacency, others=2, rng=rng(1))
        assert pair.theta.size == net.n_parameters + 6 + 2 * rows
        other = pair.at(pair.theta + 1)
        assert np.array_equal(other.theta, pair.theta + 1)
        assert np.array_equal(other.x[1][:-1], pair.x[1][:-1])
        assert np.array_equal(other.x[1][-1], pair.x[1][-1] + 1)
        assert [len(x) for x in other.x] == [2 if adjacency in LEFT_OUT else 3, 3]
        if adjacency == "replace-label":
            assert np.array_equal(*other.x)
        for a, b in zip(pair.x, pair.y, strict=True):
            assert len(a) == len(b)
        assert np.array_equal(pair.x[0][:2], pair.x[1][:2])
        assert np.array_equal(pair.y[0][:2], pair.y[1][:2])
    with pytest.raises(ValueError, match=f"adjacency must be one of {', '.join(ADJACENCIES)}, got 'x'"):
        draw_pair(net, [], adjacency="x", others=0, rng=rng(0))


def test_the_ascent_finds_the_top_of_a_hill():
    """The ascent finds the maximum of the distance between two answers. It is 1 / (1 + ||theta - 2||^2), at most 1.

    The largest distance of the random pairs is below 0.5.
    """

    def answer(net, B, x, y):
        size = sum(np.square(a - 2).sum() for a in (*net.W[1:], *net.b[1:], *x))
        return np.array([(len(x) == 1) / (1 + size)])

    net = mlp((1, 2), ops.tanh, rng=rng(0))

    def draw(rng) -> NeighbourPair:
        return draw_pair(net, [], adjacency="add-remove", others=0, rng=rng)

    found = search(answer, lambda net, B: 1.0, draw, draws=5, climbs=1, evaluations=400, rng=rng(0))
    assert found.drawn < 0.5
    assert found.ratio > 0.999
    assert ratio(answer, lambda net, B: 0.0, found.pair) == 0  # not finite


def test_rounding_does_not_choose_the_way_of_an_ascent():
    """Rounding errors do not change the path of an ascent, so the search finds the same pair on two processors.

    In this test, every pair attains the bound. Only the last bits of the distances differ between the processors.
    """
    net = mlp((1, 2), ops.tanh, rng=rng(0))

    def found(processor):
        def answer(net, B, x, y):
            size = sum(np.square(a).sum() for a in (*net.W[1:], *net.b[1:], *x))
            return np.array([(len(x) == 1) * (1 + 1e-15 * np.sin(processor * 1e9 * size))])

        def draw(rng) -> NeighbourPair:
            return draw_pair(net, [], adjacency="add-remove", others=0, rng=rng)

        return search(answer, lambda net, B: 1.0, draw, draws=1, climbs=1, evaluations=200, rng=rng(0)).pair

    one, other = found(1), found(2)
    np.testing.assert_array_equal(one.theta, other.theta)


def test_a_silent_generator_draws_no_noise():
    silent, out = Silent(np.random.PCG64(0)), np.ones((2, 3), np.float32)
    add_normal(out, 5.0, silent)
    add_normal_each(out, 5.0, silent)
    assert (out == 1).all()
    assert silent.standard_normal() == silent.normal() == 0
    assert silent.normal(3, 2, size=(2,)).tolist() == silent.laplace([3, 3], 1).tolist() == [3, 3]
    assert silent.random() == rng(0).random()


# --- any rule


@pytest.mark.parametrize("adjacency", LEFT_OUT)
def test_the_sound_one_of_the_broken_rules_is_not_refuted(adjacency):
    net = dense(ops.tanh, (2, 2, 2))
    one = claim("sound", broken_rules.sound, broken_rules.mechanism, SGD, adjacency, net)
    report = audit(one, AuditOptions(trials=60), **QUICK)
    assert not report.refuted
    assert not report.details["sensitivity"]["exceeded"]
    assert not report.details["noise"]["too_little"]
    furthest, alone, steps = (game["game"] for game in report.details["games"])
    assert (furthest, steps) == ("furthest apart", "4 steps")
    assert alone.startswith("a record alone, size ")
    assert any("more than 4 steps" in phrase for phrase in report.not_looked_at)


def test_an_audit_has_at_least_two_steps():
    net = dense(ops.tanh, (2, 2, 2))
    one = claim("sound", broken_rules.sound, broken_rules.mechanism, SGD, "add-remove", net)
    with pytest.raises(ValueError, match="steps must be a whole number >= 2, got 1"):
        audit(one, AuditOptions(trials=10), steps=1)


# --- the command line


def skipping(*, loss, init, rng, dtype):
    """A user's own network with a skip connection."""
    layers = [(Dense(2), ops.tanh), (Dense(2), ops.tanh), (Dense(2),)]
    return Net((2,), layers, skip={2: 0}, loss=loss, init=init, rng=rng, dtype=dtype)


OWN = """
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.rules.dp_sgd import dp_sgd
from nfa.sensitivity import clipped_sensitivity

def mine(net, x, y, *, C, m, sigma, rng):
    return dp_sgd(net, x, y, C={C}, m=m, sigma=sigma, rng=rng)

def drops(net, x, y, *, C, m, sigma, rng):
    keep = rng.random(len(x)) < 0.5
    return dp_sgd(net, x[keep], y[keep], C=C, m=m, sigma=sigma, rng=rng)

def mechanism(*, C, m, sigma, adjacency, sampling, sampling_rate):
    if sigma == 0:
        raise NoGuarantee("lee2020:lem1", "without noise a release protects nothing")
    return Mechanism(law="{law}", sensitivity=clipped_sensitivity(C=C, m=m, adjacency=adjacency), adjacency=adjacency,
                     noise_std=sigma, sampling=sampling, sampling_rate=sampling_rate)
"""


@pytest.fixture
def own(tmp_path, monkeypatch, capsys):
    """A function that runs `nfa audit --rule` on a rule in the current folder: exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(own_rule.audit, "__kwdefaults__", QUICK)

    def call(name, *arguments, C="C", law="gaussian", function="mine", mechanism="mechanism", net="2-2-2"):
        Path(f"{name}.py").write_text(OWN.format(C=C, law=law).replace("def mechanism(", f"def {mechanism}("))
        values = ["--set", "C=0.3", "--set", "sigma=0.1", "--net", net, "--trials", "200"]
        return main.main(["audit", "--rule", f"{name}:{function}", *values, *arguments]), *capsys.readouterr()

    return call


@pytest.mark.slow
def test_your_own_rule_is_held_against_its_own_mechanism(own):
    code, out, _ = own("rule_that_is_right", "--adjacency", "replace-one", "--steps", "3")
    assert code == 0
    assert "The search found no record that moves the answer by more than the stated sensitivity." in " ".join(
        out.split()
    )
    _, unseen = out.split("The claim is not refuted. This result does not prove the claim.\n")
    assert " ".join(unseen.split()).startswith("Not examined: networks with other layers, activations or losses")
    assert "more than 3 steps" in " ".join(unseen.split())
    assert " ".join(out.split()).endswith("nfa has not proved this claim.")


@pytest.mark.slow
@pytest.mark.parametrize("adjacency", LEFT_OUT)
def test_a_rule_that_states_half_is_refuted(own, adjacency):
    code, out, _ = own("rule_that_doubles", "--adjacency", adjacency, "--json", C="2 * C")
    told = json.loads(out)
    assert code == 0
    assert told["refuted"]
    assert told["sensitivity"]["exceeded"]
    assert told["sensitivity"]["moved"] == pytest.approx(2 * told["sensitivity"]["stated"], rel=1e-9)
    assert told["lower_bound"] > told["claimed_epsilon"]
    assert [game["game"] for game in told["games"]][1].startswith("a record alone, size ")


@pytest.mark.slow
@pytest.mark.parametrize("net", ["1x3x3:conv2-2,pool2,2", "tests.audit.test_own_rule_audit:skipping"])
def test_it_is_asked_on_the_network_that_you_name(own, net):
    """The audit uses the network that the user names. This network may have convolutions and skip connections.

    For a rule with twice the stated sensitivity, the audit measures the factor 2 up to rounding. The audit does not
    refute a rule with the stated sensitivity.
    """
    for name, C, doubled in (("rule_on_right", "C", False), ("rule_on_doubled", "2 * C", True)):
        code, out, err = own(name, "--adjacency", "add-remove", "--steps", "2", "--json", C=C, net=net)
        assert code == 0, err
        told = json.loads(out)
        assert told["refuted"] == told["sensitivity"]["exceeded"] == doubled
        if doubled:
            assert told["sensitivity"]["moved"] == pytest.approx(2 * told["sensitivity"]["stated"], rel=1e-9)


@pytest.mark.parametrize(
    "arguments, changes, sentence",
    [
        ((), {}, f"give an adjacency, one of {', '.join(ADJACENCIES)}"),
        (
            ("--adjacency", "replace-one", "--set", "sigma=0"),
            {},
            "--set must set each KEY only once, got two values of sigma",
        ),
        (("--adjacency", "replace-one"), {"net": "2-"}, "a text such as 1x28x28:conv16-5,pool2,dense64,10, or module"),
        (("--adjacency", "replace-one"), {"law": "laplace"}, "this audit needs gaussian noise"),
        (("--adjacency", "replace-one"), {"function": "drops"}, "drops draws other random numbers"),
        (("--adjacency", "replace-one"), {"mechanism": "another"}, "states no mechanism"),
    ],
)
def test_an_audit_that_cannot_be_done_says_why(own, arguments, changes, sentence):
    code, out, err = own("rule_" + re.sub(r"\W", "", sentence), *arguments, **changes)
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1


def test_a_rule_without_a_guarantee_is_refused(monkeypatch, capsys):
    assert main.main(["audit", "--rule", "pdfa", "--set", "sigma=0.1", "--adjacency", "replace-one"]) == 2
    assert "[ohana2021:prop3-cols]" in capsys.readouterr().err
    assert main.main(["audit", "dp_sgd", "--rule", "dp_sgd"]) == 2
    assert "give either a target or --rule" in capsys.readouterr().err
