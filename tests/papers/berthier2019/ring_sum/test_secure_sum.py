"""The masked ring sum: secrecy by enumeration, values that colluding nodes learn, and leaks of real-valued masks."""

import itertools
import math
import re
from collections import Counter

import mpmath
import numpy as np
import pytest
from scipy import stats

from nfa.papers import reproduce
from nfa.papers.berthier2019.ring_sum.ring_sum import (
    decode,
    encode,
    gaussian_mask_error,
    gaussian_mask_leak,
    ring_sum,
    ring_views,
)

MODULUS = 5


def seen(views, nodes):
    """All values that the given nodes have seen, as a tuple that a `Counter` can count."""
    return tuple((i, name, tuple(views[i][name].tolist())) for i in nodes for name in sorted(views[i]))


def laws(n, nodes):
    """For each pair (numbers of the given nodes, sum), the set of laws of the values that these nodes see.

    Each data set has one law, over uniform masks.
    """
    found = {}
    for data in itertools.product(range(MODULUS), repeat=n):
        x = np.array(data)[:, None]
        law = Counter()
        for r in range(MODULUS):
            S, views = ring_views(x, np.array([r]), MODULUS)
            assert S.tolist() == [sum(data) % MODULUS]
            law[seen(views, nodes)] += 1
        known = (*(data[i] for i in nodes), sum(data) % MODULUS)
        found.setdefault(known, set()).add(frozenset(law.items()))
    return found


@pytest.mark.verifies("berthier2019:ring")
@pytest.mark.parametrize("node", [0, 1, 2])
def test_what_a_node_sees_depends_on_its_own_number_and_the_sum_alone(node):
    """The values that a node sees depend only on its own number and the sum.

    We enumerate all 125 data sets of three nodes modulo 5 and all masks. Each of the 25 pairs (own number, sum) has
    only one law.
    """
    found = laws(3, [node])
    assert len(found) == 25
    assert all(len(group) == 1 for group in found.values())


@pytest.mark.verifies("berthier2019:ring")
def test_the_neighbours_of_a_node_learn_its_number_together():
    """Together, the two neighbours of a node learn its number.

    In a ring of four nodes, nodes 1 and 3 know v_2 - v_1 = x_2. So each law of the values that nodes 1 and 3 see
    belongs to one x_2. Nodes 2 and 3 learn only x_1 + x_4, which the sum reveals anyway. In a ring of three nodes, two
    nodes learn the number of the third node from the sum.
    """
    for x in itertools.product(range(MODULUS), repeat=4):
        _, views = ring_views(np.array(x)[:, None], np.array([3]), MODULUS)
        sent = (views[0]["mask"] + views[0]["own"]) % MODULUS
        assert (views[2]["received"] - sent) % MODULUS == x[1]
    assert all(len(group) == 5 for group in laws(4, [0, 2]).values())  # one law for each x_2
    assert all(len(group) == 1 for group in laws(4, [1, 2]).values())


@pytest.mark.verifies("berthier2019:ring")
def test_two_nodes_learn_each_others_number_from_the_sum():
    for x in itertools.product(range(MODULUS), repeat=2):
        S, views = ring_views(np.array(x)[:, None], np.array([4]), MODULUS)
        assert (S - views[0]["own"]) % MODULUS == x[1]
    with pytest.raises(
        ValueError,
        match="a secret sum needs at least 3 nodes, got 2, because each of two nodes can compute the value of the",
    ):
        ring_sum(np.array([[1], [2]]), MODULUS, np.random.default_rng(0))


@pytest.mark.verifies("berthier2019:ring")
@pytest.mark.parametrize("modulus", [7, 10**6, 2**62])
def test_the_sum_is_that_of_python_integers(modulus):
    rng = np.random.default_rng(modulus % 97)
    x = rng.integers(0, modulus, (5, 3))
    S, views = ring_sum(x, modulus, rng)
    assert S.tolist() == [sum(int(v) for v in column) % modulus for column in x.T]
    assert len(views) == 5
    assert all(np.array_equal(view["sum"], S) for view in views)


@pytest.mark.verifies("berthier2019:ring")
def test_the_mask_is_uniform_and_new_for_every_coordinate():
    """Every coordinate has a new uniform mask, so node 2 receives the 25 pairs of numbers equally often.

    We apply a chi-square test with false alarm rate 1e-6 to 2,500 pairs. If the 25 probabilities have a root mean
    square relative error of a quarter, the test misses this error with probability 1e-6.
    """
    x, rng = np.full((3, 5000), 2), np.random.default_rng(8)
    received = ring_sum(x, MODULUS, rng)[1][1]["received"].reshape(2500, 2)
    counts = np.bincount(received @ [MODULUS, 1], minlength=25)
    assert 5e-7 < stats.chi2.sf(((counts - 100) ** 2).sum() / 100, 24) < 1 - 5e-7


@pytest.mark.verifies("berthier2019:ring")
def test_real_vectors_are_summed_to_the_resolution():
    """The sum of real vectors is correct up to the resolution.

    With 4 nodes, every coordinate of the sum is within 4 / 2 resolutions of the sum of the floats. The vectors have
    1,000 random coordinates.
    """
    rng = np.random.default_rng(2)
    values, resolution, modulus = rng.standard_normal((4, 1000)), 2.0**-20, 2**40
    S, _ = ring_sum(encode(values, resolution, modulus), modulus, rng)
    assert np.abs(decode(S, resolution, modulus) - values.sum(axis=0)).max() <= 2 * resolution
    ends = np.array([-2.0, 2.0])
    assert decode(encode(ends, 1.0, 5), 1.0, 5).tolist() == [-2, 2]


@pytest.mark.verifies("berthier2019:ring")
@pytest.mark.parametrize("M, printed", [(10.0, 3.99e-2), (1e3, 3.9894226377883e-4), (1e6, 3.99e-7)])
def test_real_noise_leaks_its_total_variation(M, printed):
    """A real-valued mask leaks its total variation, which is half the integral of |p - q|.

    The leak agrees with a quadrature up to a relative error of 1e-12, and with the recorded number.
    """
    leak = gaussian_mask_leak(1.0, M)
    assert leak == pytest.approx(printed, rel=3e-3 if printed != 3.9894226377883e-4 else 1e-13)
    with mpmath.workdps(30):
        p, q = (lambda v, c=c: mpmath.npdf(v, c, M) for c in (0, 1))
        total = mpmath.quad(lambda v: p(v) - q(v), mpmath.linspace(-12 * M, 0, 13) + [mpmath.mpf(1) / 2])
    assert leak == pytest.approx(float(total), rel=1e-12)


@pytest.mark.verifies("berthier2019:ring")
@pytest.mark.parametrize("mask, lost", [(1e6, -2.33e-11), (1e12, -2.44e-5), (1e15, 0.025)])
def test_a_large_mask_costs_digits(mask, lost):
    assert gaussian_mask_error(0.1, mask) == pytest.approx(lost, rel=3e-3)
    # the sum is rounded twice, each time by at most half a unit in the last place
    assert abs(gaussian_mask_error(0.1, mask)) <= math.ulp(mask)


@pytest.mark.slow
@pytest.mark.verifies("berthier2019:ring")
def test_no_size_of_a_real_mask_hides_everything_and_costs_nothing(tmp_path):
    """A real-valued mask of any size either reveals something or loses accuracy.

    The masked sum is rounded twice, each time by at most half a unit in the last place. So the error is at most one
    spacing of floats. The largest error is more than a third of a spacing.
    """
    done = reproduce("berthier2019:fig13", out=tmp_path)
    leaks = [row["ours"] for row in done.rows]
    assert leaks == sorted(leaks, reverse=True)
    for row in done.rows:
        M = float(row["M"])
        assert row["ours"] == pytest.approx(math.erf(1 / (2 * math.sqrt(2) * M)), rel=1e-12)
        assert math.ulp(M) / 3 < row["lost"] <= math.ulp(M)
        assert max(row["ours"], row["lost"]) > 1e-9


GOOD = np.array([[1], [2], [3]])


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda: ring_views(GOOD[:1], np.array([0]), 5), "a ring has at least 2 nodes, got 1"),
        (lambda: ring_views(GOOD, np.array([0, 1]), 5), "the mask must have the shape of one row of x, (1,), got (2,)"),
        (lambda: ring_views(GOOD, np.array([5]), 5), "the mask must lie in 0 .. 4, modulo 5"),
        (lambda: ring_views(GOOD - 2, np.array([0]), 5), "x must lie in 0 .. 4, modulo 5"),
        (
            lambda: ring_views(GOOD / 2, np.array([0]), 5),
            "x must be integers in 2 dimensions, got shape (3, 1) of float",
        ),
        (lambda: ring_sum(GOOD[:, 0], 5, None), "x must be integers in 2 dimensions, got shape (3,) of int64"),
        (lambda: ring_sum(GOOD, 1, None), "the modulus must be a whole number in 2 .. 2**62, got 1"),
        (lambda: encode([math.nan], 1.0, 5), "values must be less than 2.5, which is modulus * resolution / 2"),
        (lambda: encode([2.5, 3.0], 1.0, 5), "values must be less than 2.5, which is modulus * resolution / 2"),
        (lambda: encode([1.0], 0.0, 5), "resolution must be positive and finite, got 0.0"),
        (lambda: decode(np.array([5]), 1.0, 5), "residues must lie in 0 .. 4, modulo 5"),
        (lambda: decode(np.array([math.nan]), 1.0, 5), "residues must be integers in 1 dimensions, got shape (1,)"),
        (lambda: gaussian_mask_error(math.nan, 1.0), "value, mask and their sum must be finite, got nan and 1.0"),
        (lambda: gaussian_mask_error(1e308, 1e308), "value, mask and their sum must be finite, got 1e+308"),
        (lambda: gaussian_mask_leak(1.0, 0.0), "Delta must be at least 0 and finite, and M must be positive"),
    ],
)
def test_bad_input_gets_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        call()
