"""Tests of leaks in rare cases: copies of a record, larger batches, a third class, records stored in the state.

`tests.audit.leaking_rules` has the rules. An audit that used only batches of four different records of two classes
could not find these leaks. If both data sets had the same first record, an audit could not find the stored records.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from nfa import ops
from nfa.audit import own_rule, state
from nfa.audit.outliers import resized
from nfa.audit.reports import AuditOptions
from nfa.audit.state import Given, carried
from nfa.audit.worst_neighbours import LEFT_OUT, draw_pair, ratio
from nfa.experiments.rule_claim import claim_of
from nfa.experiments.settings import Settings
from nfa.mechanism import ADJACENCIES
from nfa.network import mlp
from nfa.noise import add_normal
from tests.audit import leaking_rules

HYPER = {"C": 0.3, "sigma": 0.1}
QUICK = {"draws": 80, "climbs": 0, "evaluations": 100}
rng = np.random.default_rng


def claim(name, adjacency, net="4-3-2"):
    rule = f"tests.audit.leaking_rules:{name}"
    return claim_of(Settings(rule=rule, rule_settings=HYPER, adjacency=adjacency, architecture=net, batch=4))


def audited(name, adjacency, trials=200):
    return own_rule.audit(claim(name, adjacency), AuditOptions(trials=trials), **QUICK)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", ["copies_together", "above_five", "third_class"])
def test_a_leak_in_a_rare_place_is_found_by_the_search(name, adjacency):
    """The search finds a leak in a rare case, in which a rule gives a record two or three times its weight.

    The random pairs of the search already exceed the stated sensitivity by at least 50 %.
    """
    report = audited(name, adjacency)
    assert report.refuted
    assert report.details["sensitivity"]["exceeded"]
    assert report.details["sensitivity"]["moved"] >= 1.5 * report.details["sensitivity"]["stated"]


@pytest.mark.parametrize("adjacency", [pytest.param("replace-one", marks=pytest.mark.nightly), "add-remove"])
@pytest.mark.parametrize("name, step", [("first_again", 2), ("late", leaking_rules.LATE)])
def test_a_record_that_the_state_keeps_is_found(name, step, adjacency):
    """The audit finds that the state of a rule stores a gradient of the first batch for a later release.

    The result of each step alone changes by at most the stated sensitivity.
    """
    report = audited(name, adjacency, trials=1000)
    assert report.details["state"]["kept"]
    assert report.details["state"]["carried"] >= 0.4
    assert not report.details["sensitivity"]["exceeded"]
    assert report.refuted
    [said] = [part for part in report.parts if "state" in part.heading]
    assert "the state of the rule keeps information about the record" in said.after[0]
    assert any(game["game"].endswith("the record in step 1") for game in report.details["games"])


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("name", ["sound", "of_its_releases"])
def test_a_sound_rule_is_not_refuted(name, adjacency):
    """An audit does not refute a sound rule that reuses its releases. It may refute at most one sound rule in 20."""
    report = audited(name, adjacency)
    assert not report.refuted
    assert report.details["sensitivity"]["moved"] <= report.details["sensitivity"]["stated"] * (1 + 1e-9)
    kept = name == "of_its_releases"
    assert (report.details["state"]["kept"], report.details["state"]["carried"]) == (kept, 0)
    assert bool(report.details["state"]["pairs"]) == kept
    assert any("outside its state" in phrase for phrase in report.not_looked_at)
    assert any("that the rule keeps in its state for more than" in phrase for phrase in report.not_looked_at) == kept


def drawn(one, count=200):
    draws = rng(3)
    return [one.draw(draws) for _ in range(count)]


def test_pairs_are_of_all_kinds():
    """The search draws pairs of all kinds, with 1 to 64 records and two, three or ten classes.

    Some pairs have copies, and the record that differs is at every position.
    """
    pairs = drawn(claim("sound", "replace-one"))
    sizes = {len(pair.x[1]) for pair in pairs}
    assert min(sizes) < 4
    assert 40 < max(sizes) <= 64
    assert {pair.net.shape_h[pair.net.L][0] for pair in pairs} == {2, 3, 10}
    assert {pair.place for pair in pairs if len(pair.x[1]) == 4} == {0, 1, 2, 3}
    assert 0 < sum(pair.copies > 0 for pair in pairs) < 100
    for pair in pairs:
        for world in (0, 1):
            x, y = pair.batch(world)
            where = [i for i in range(len(x)) if np.array_equal(x[i], pair.x[1][-1])]
            assert len(where) >= pair.copies
            assert np.array_equal(x[pair.place], pair.x[world][-1])
            assert np.array_equal(y[pair.place], pair.y[world][-1])
            np.testing.assert_array_equal(np.sort(x, axis=None), np.sort(pair.x[world], axis=None))


def test_what_is_not_drawn_is_said():
    """The claim lists the properties that the search does not vary, such as the outputs of a user's own network."""
    assert claim("sound", "replace-one").not_drawn == (
        "other numbers of outputs than 2, 3, 10",
        "batches of more than 64 records",
    )
    own = claim("sound", "replace-one", net="tests.audit.test_own_rule_audit:skipping")
    assert own.not_drawn[0] == "other numbers of outputs than 2"
    assert {pair.net.shape_h[2] for pair in drawn(own, 20)} == {(2,)}
    four = claim("of_four", "replace-one")
    assert four.not_drawn[1] == "batches of more than 4 records"
    assert {len(pair.x[1]) for pair in drawn(four, 40)} == {4}


def test_copies_move_with_their_record():
    net = mlp((2, 3, 2), ops.tanh, rng=rng(0))
    for adjacency in ADJACENCIES:
        pair = draw_pair(net, [], adjacency=adjacency, others=3, copies=2, place=1, rng=rng(1))
        for other in (pair, pair.at(pair.theta + 1), resized(pair, 7.0), resized(pair, 7.0, entries=slice(1))):
            for world in (0, 1):
                for copy in other.x[world][:2]:
                    assert np.array_equal(copy, other.x[1][-1])
                assert np.array_equal(other.x[world][2], pair.x[world][2])
            assert np.array_equal(other.batch(1)[0][1], other.x[1][-1])
        gone = pair.batch(0)[0]
        if adjacency in LEFT_OUT:
            np.testing.assert_array_equal(gone, pair.x[0])


def test_a_rule_is_asked_in_the_order_of_the_batch():
    """An audit passes the records to the rule in the order of the batch.

    The rule of this test returns the position of the largest record, so its result depends on this order.
    """
    net = mlp((1, 2), ops.tanh, rng=rng(0))
    pair = draw_pair(net, [], adjacency="replace-one", others=2, rng=rng(1))
    pair = replace(pair, x=(np.array([[1.0], [2], [0]]), np.array([[1.0], [2], [9]])))

    def answer(net, B, x, y):
        return np.array([float(x.argmax())])

    for place, apart in ((None, 1), (0, 2), (1, 1), (2, 1)):
        assert ratio(answer, lambda net, B: 1.0, replace(pair, place=place)) == apart


# --- the state


def test_given_normals_come_in_their_order():
    """`Given` returns its normal samples in their order, for any call.

    After the last sample, it draws and stores new samples.
    """
    given = Given(np.arange(8.0), seed=1)
    assert given.standard_normal(2).tolist() == [0, 1]
    assert given.standard_normal() == 2
    assert given.normal(1, 2, size=(1, 2)).tolist() == [[7, 9]]
    out = np.zeros((2, 2), np.float32)
    add_normal(out, 0.5, given)
    assert out.tolist() == [[2.5, 3], [3.5, 0.5 * np.float32(given.normals[8])]]
    given.standard_normal(out=out)
    again = Given(given.normals, seed=2)
    assert again.standard_normal(13)[-4:].tolist() == given.normals[9:].tolist()
    assert again.used == 13


def with_state(f, *, std=0.5, sign=1.0):
    """A rule that releases the three values f(x, state, step) plus noise.

    The noise is drawn in reversed order and has ``sign``.
    """

    def rule(net, B, x, y, rng, state):
        state["step"] = state.get("step", 0) + 1
        released = np.asarray(f(x, state, state["step"]), float) + sign * std * rng.standard_normal(3)[::-1]
        state["released"] = released
        return [None, released], [None, np.zeros(0)]

    return rule


def pair_of_sums():
    """A pair of neighbours. The sum of x is 1 in data set 0 and 4 in data set 1."""
    pair = draw_pair(mlp((1, 2), ops.tanh, rng=rng(0)), [], adjacency="replace-one", others=1, rng=rng(1))
    return replace(pair, x=(np.array([[1.0], [0]]), np.array([[1.0], [3]])))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_what_the_state_carries_is_measured(sign):
    """`carried` finds the later release that the stored record moves most.

    In step 1, the record changes each of the three values by 3. In step 5, the stored record changes each value by 6,
    so the release moves by 6 sqrt(3). In step 7, the release moves by a quarter of this distance.
    """

    def f(x, state, step):
        state.setdefault("kept", x.sum())
        return x.sum() + {5: 2, 7: 0.5}.get(step, 0) * state["kept"] * np.ones(3)

    found = carried(with_state(f, sign=sign), pair_of_sums(), std=0.5, seed=3)
    assert found.step == 5
    assert found.distance == pytest.approx(6 * np.sqrt(3), rel=1e-9)


def test_what_was_released_may_be_used_again():
    """A rule may reuse its releases in sums, products and thresholds, and it may count its steps.

    These values contain no further information about the record.
    """

    def f(x, state, step):
        before = state.get("released", np.zeros(3))
        return x.sum() + 3 * np.tanh(before) + 10 * (before > 0) + step

    assert carried(with_state(f), pair_of_sums(), std=0.5, seed=3) is None


def test_the_state_cannot_be_asked_under_other_noise():
    """Four rules are refused: noise with another std, one sample for all values, noise times the records, and NaN."""
    pair = pair_of_sums()
    for rule in (
        with_state(lambda x, state, step: x.sum(), std=0.7),
        lambda net, B, x, y, rng, state: ([None, np.zeros(3) + 0.5 * rng.standard_normal()], [None, np.zeros(0)]),
        lambda net, B, x, y, rng, state: ([None, x.sum() * 0.5 * rng.standard_normal(3)], [None, np.zeros(0)]),
        lambda net, B, x, y, rng, state: ([None, np.full(3, np.nan)], [None, np.zeros(0)]),
    ):
        with pytest.raises(
            ValueError,
            match=r"normal with the stated standard deviation|with which both worlds release the same",
        ):
            carried(rule, pair, std=0.5, seed=3)


def test_a_state_that_cannot_be_asked_is_named(monkeypatch):
    monkeypatch.setattr(own_rule, "carried", _refuse)
    report = audited("late", "add-remove")
    assert report.details["state"] == {"kept": True, "pairs": 0, "carried": 0.0}
    assert any("that the rule keeps in its state, except" in phrase for phrase in report.not_looked_at)


def _refuse(*_, **__):
    raise ValueError("the noise in each released value must be normal with the stated standard deviation")


def test_the_steps_that_follow_are_as_many_as_is_said():
    def late(x, kept, step, last):
        kept.setdefault("x", x.sum())
        return x.sum() + (step == last) * kept["x"]

    for last, found in ((state.LATER + 1, True), (state.LATER + 2, False)):
        rule = with_state(partial(late, last=last))
        assert (carried(rule, pair_of_sums(), std=0.5, seed=3) is not None) == found
