"""Tests of `RuleSpec`: the facts that nfa reads from the function and the module of a rule."""

import importlib
import sys

import numpy as np
import pytest

from nfa import feedback, ops
from nfa.mechanism import Classic, Mechanism, NoGuarantee
from nfa.network import mlp
from nfa.rules.spec import ALIASES, FUNCTIONS, GIVEN, names, spec
from tests.oracles.core import assert_same_direction, batch
from tests.oracles.rule_settings import values

rng = np.random.default_rng
OUTSIDE = '''
from __future__ import annotations

from typing import NoReturn

from nfa.mechanism import Mechanism, NoGuarantee


def rule(n, features, labels, width: float, *, C: float, K: int | None = None, m, B, state=None, rng, **more):
    """Walks.

    Parameters
    ----------
    width : float > 0, of a step
    C : float > 0, l2 bound on a record

    Source: [lee2020:dp-bp]
    """


def mechanism(*, C: float, width, adjacency="add-remove", sampling, sampling_rate) -> Mechanism:
    """What a step releases."""
    return Mechanism(law="gaussian", sensitivity=C, adjacency=adjacency, noise_std=width, sampling=sampling,
                     sampling_rate=sampling_rate)


NOISE = "width"
SUM_OVER_EXAMPLES = True
'''
REFUSES = '''
from typing import NoReturn

from nfa.mechanism import NoGuarantee


def rule(net, x, y, *, rng=None):
    """Walks."""


def mechanism(**settings) -> NoReturn:
    """Nothing is known of it: raises `NoGuarantee`."""
    raise NoGuarantee("lee2020:lem1", "nothing is known")
'''


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """Write a module into the current folder, and return the declaration of its rule."""
    monkeypatch.chdir(tmp_path)

    def known(text):
        name = f"outside_{abs(hash(text))}"
        (tmp_path / f"{name}.py").write_text(text)
        importlib.invalidate_caches()
        try:
            return spec(f"{name}:rule")
        finally:
            sys.modules.pop(name, None)

    return known


def test_a_rule_from_outside_is_read_as_its_signature_and_docstring_have_it(outside):
    found = outside(OUTSIDE)
    assert [(one.name, one.type, one.required, one.default) for one in found.settings] == [
        ("width", float, True, None),
        ("C", float, True, None),
        ("K", int | None, False, None),
        ("m", None, True, None),
    ]
    assert [one.name for one in found.settings if one.needed] == ["width", "C"]  # m comes from the run
    assert found.setting("C").meaning == "float > 0, l2 bound on a record"
    assert found.given == {"B", "state", "rng"}
    assert (found.noise, found.sum_over_examples, found.ids) == ("width", True, ("lee2020:dp-bp",))
    assert found.from_outside
    assert found.states
    assert found.needs_adjacency
    release = found.release(
        "add-remove", {"C": 2.0, "width": 3.0, "sampling": "none", "sampling_rate": 1.0, "other": 1}
    )
    assert (release.sensitivity, release.noise_std, release.adjacency) == (2.0, 3.0, "add-remove")


def test_a_mechanism_that_only_refuses_is_asked_once_for_its_id(outside):
    found = outside(REFUSES)
    assert not found.states
    assert (found.refusal.id, found.refusal.why) == ("lee2020:lem1", "nothing is known")
    assert found.guarantee == "none: Nothing is known of it (lee2020:lem1)"
    with pytest.raises(NoGuarantee, match="nothing is known"):
        found.release(None, {})


@pytest.mark.parametrize(
    "declared, told",
    [
        ('NOISE = "rho"', r"NOISE of rule .* must name a setting of the rule \(width, C, K, m\), got 'rho'"),
        ("NOISE = 3", "NOISE of rule .* must name a setting of the rule .* got 3"),
        ('SUM_OVER_EXAMPLES = "no"', "SUM_OVER_EXAMPLES of rule .* must be True or False, got 'no'"),
    ],
)
def test_a_declaration_that_is_wrong_gets_a_sentence(outside, declared, told):
    with pytest.raises(ValueError, match=told):
        outside(f"{OUTSIDE}\n{declared}\n")


UNHASHABLE = '''
class Rule:
    """Walks.

    Parameters
    ----------
    C : as in `nfa.nowhere.rule`
    """

    __hash__ = None

    def __call__(self, net, x, y, *, C: float = 1.0, rng=None):
        return None


rule = Rule()
'''


def test_a_rule_that_cannot_be_hashed_and_a_docstring_that_leads_nowhere(outside):
    found = outside(UNHASHABLE)
    assert [(one.name, one.meaning) for one in found.settings] == [("C", "as in `nfa.nowhere.rule`")]


@pytest.mark.parametrize("name", names())
def test_every_rule_of_nfa_keeps_to_the_contract(name):
    """Every rule of nfa follows the contract: the names of its arguments, and defaults for its
    functions and its state.
    """
    found = spec(name)
    assert found.given <= set(GIVEN)
    for one in set(FUNCTIONS) & found.given:
        assert callable(found.defaults[one])
    assert found.mechanism is not None  # each rule states a mechanism, or the reason why none is known
    assert found.states == (found.returns in (Mechanism, Classic))
    assert found.states or found.refusal
    assert not found.states or found.setting(found.noise)
    assert spec(name) is found  # the declaration is computed once
    assert (name in ALIASES) == (found.function.__name__ != name)


@pytest.mark.parametrize("name", [name for name in names() if spec(name).sum_over_examples and name not in ALIASES])
@pytest.mark.parametrize("cut", [1, 4])
def test_a_rule_that_declares_a_sum_is_one(name, cut):
    """If a rule declares a sum over examples, the directions of two parts of a batch add up to that of the batch.

    The sum and the direction of the batch agree up to rounding. m is given, and there is no noise. The random samples
    of a forward rule belong to single records, so they are equal in the parts and in the batch.
    """
    rule = spec(name)
    net = mlp((3, 5, 4, 2), ops.tanh, rng=rng(0))
    x, y = batch(net, 6)

    def weigh(net, l, z, h, y, sigma, draws, calm, antithetic, chunk, rng_):
        own = rng([l, draws])
        seen = z[l][:, :1] + own.standard_normal(z[l].shape[1:])  # values that depend on only one record
        return seen, (seen**2).sum(axis=1)

    known = {
        "B": feedback.draw(net, law="spectral", scale=0.9, rng=rng(1)),
        "V": feedback.draw_layerwise(net, law="normal", scale=0.7, rng=rng(2)),
        **{"m": 6, "sigma": 0.0, "s": 0.0, "sigma_0": 0.0, "K": 2, "t": 0.1, "tau": 0.1, "tau_h": 0.9, "C": 0.2},
        "weigh": weigh,
    }
    if "weigh" in rule.given:
        known["sigma"] = 0.1
    known = values(rule, known, bound=0.2, positive=1.0, noise=0.0, count=2)

    def direction(some):
        state = {"state": {}} if "state" in rule.given else {}
        return rule.function(net, x[some], y[some], rng=rng(3), **known, **state)

    first, second = direction(slice(None, cut)), direction(slice(cut, None))
    total = tuple(
        [None, *(a + b for a, b in zip(u[1:], v[1:], strict=True))] for u, v in zip(first, second, strict=True)
    )
    assert_same_direction(total, direction(slice(None)), 1e-12)
