"""The example of Section 4.5 of Berthier's report in exact fractions, and the rows of Figure 9 and Conjecture 1."""

import itertools
import json
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from nfa.papers import reproduce
from nfa.papers.berthier2019.shuffling import figures as shuffling
from nfa.papers.berthier2019.shuffling.exact import mixture_renyi, worst_pair
from nfa.papers.berthier2019.shuffling.toy import OUTPUTS, noisy_toy, toy, toy_ratio
from nfa.privacy.divergences import renyi, total_variation

HALF = Fraction(1, 2)


def gradient_walk(first, second):
    """End point of two steps with learning rate 1 and derivatives 1 or -1. Two equal losses lead back to the start."""
    derivative = {1: lambda u: -1 if u == 0 else 1, 2: lambda u: 1 if u == 0 else -1}
    theta = 0 - derivative[first](0)
    return theta - derivative[second](theta)


def by_all_draws(losses, p, replacement):
    places = itertools.product(range(2), repeat=2) if replacement else itertools.permutations(range(2))
    ends = Counter(gradient_walk(losses[i], losses[j]) for i, j in places)
    draws = sum(ends.values())
    return {output: p * Fraction(ends[output], draws) + (1 - p) / 3 for output in OUTPUTS}


@pytest.mark.verifies("berthier2019:sec4.5")
@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("losses", [(1, 1), (1, 2), (2, 1), (2, 2)])
def test_the_laws_by_all_draws(losses, replacement):
    for p in (Fraction(0), Fraction(1, 3), HALF, Fraction(9, 10)):
        assert toy(losses, p=p, replacement=replacement) == by_all_draws(losses, p, replacement)


@pytest.mark.verifies("berthier2019:sec4.5")
def test_the_two_epsilons_of_the_text():
    assert toy_ratio(p=HALF, replacement=True) == Fraction(7, 4)
    assert toy_ratio(p=HALF, replacement=False) == 4
    assert math.log(toy_ratio(p=0.5, replacement=True)) == pytest.approx(0.559615787935423, rel=1e-14)
    assert math.log(toy_ratio(p=0.5, replacement=False)) == pytest.approx(1.38629436111989, rel=1e-14)
    for p in [Fraction(k, 20) for k in range(20)]:
        expected = max(1 + 3 * p / (4 * (1 - p)), (1 + 2 * p) / (1 + p / 2))
        assert toy_ratio(p=p, replacement=True) == expected
        assert toy_ratio(p=p, replacement=False) == (1 + 2 * p) / (1 - p) >= expected
    assert [toy_ratio(p=Fraction(3, 4), replacement=r) for r in (True, False)] == [Fraction(13, 4), 10]


@pytest.mark.verifies("berthier2019:sec4.5")
def test_the_two_numbers_leave_one_structure():
    """The numbers 7/4 and 4 of the example determine its structure.

    Each of the four orders of losses ends at one of three outputs, which gives 81 ways. Only 6 of the 81 ways give 7/4
    and 4. These 6 ways differ only in the names of the outputs.
    """

    def largest_ratio(ends, replacement):
        laws = []
        for data in ((1, 1), (1, 2), (2, 2)):
            draws = itertools.product(data, repeat=2) if replacement else itertools.permutations(data)
            reached = [ends[draw] for draw in draws]
            laws.append([HALF * Fraction(reached.count(o), len(reached)) + Fraction(1, 6) for o in OUTPUTS])
        pairs = [*itertools.permutations(laws[:2]), *itertools.permutations(laws[1:])]
        return max(a / b for p, q in pairs for a, b in zip(p, q, strict=True))

    orders = [(1, 1), (1, 2), (2, 1), (2, 2)]
    every = [dict(zip(orders, ends, strict=True)) for ends in itertools.product(OUTPUTS, repeat=4)]
    left = [ends for ends in every if [largest_ratio(ends, way) for way in (True, False)] == [Fraction(7, 4), 4]]
    assert len(left) == 6
    assert all(e[1, 1] == e[2, 2] and {e[1, 1], e[1, 2], e[2, 1]} == set(OUTPUTS) for e in left)


@pytest.mark.verifies("berthier2019:sec4.5")
@pytest.mark.parametrize(("replacement", "tv", "D"), [(True, 0.25, 0.228841572428847), (False, 0.5, 1.02961941718116)])
def test_total_variation_and_renyi_of_the_toy(replacement, tv, D):
    p, q = (np.array([*toy(losses, p=HALF, replacement=replacement).values()], float) for losses in ((1, 1), (1, 2)))
    assert total_variation(p, q) == pytest.approx(tv, rel=1e-14)
    assert renyi(p, q, alpha=2) == pytest.approx(D, rel=1e-13)


@pytest.mark.verifies("berthier2019:sec4.5")
@pytest.mark.parametrize(
    ("sigma", "replacement", "D"),
    [
        (1.0, True, 0.52505328257),
        (1.0, False, 1.32500274736),
        (2.0, True, 0.0314080537502),
        (2.0, False, 0.120114506958),
    ],
)
def test_the_same_with_quadratic_losses_and_noise(sigma, replacement, D):
    """The example with quadratic losses and Gaussian noise has the expected divergence D_2.

    D_2 of a mixture from one Gaussian is the log of a sum over all pairs of the mixture's centres. We also compare the
    mixture with a simulation.
    """
    weights, centres = noisy_toy((1, 2), replacement=replacement)
    assert noisy_toy((1, 1), replacement=replacement) == ([1.0], [0.0])
    closed = sum(
        v * w * math.exp(a * b / (2 * sigma**2))
        for (v, a), (w, b) in itertools.product(zip(weights, centres, strict=True), repeat=2)
    )
    assert math.log(closed) == pytest.approx(D, abs=2e-11)
    found = mixture_renyi((weights, centres), ([1.0], [0.0]), sigma=sigma * math.sqrt(2), alpha=2)
    assert found == pytest.approx(D, rel=1e-9)

    rng = np.random.default_rng(8)
    draws = rng.integers(0, 2, (2, 100_000))
    second = draws[1] if replacement else 1 - draws[0]
    theta = np.zeros(100_000)
    for records in (draws[0], second):
        sign = np.where(records == 0, 1.0, -1.0)  # l_1 = u^2 - u, l_2 = u^2 + u
        theta = theta - (2 * theta - sign) + sigma * rng.standard_normal(100_000)
    # the mean cosine of a mixture is exp(-variance / 2) times the mean cosine of its centres
    law, error = np.cos(theta).mean(), np.cos(theta).std() / math.sqrt(100_000)
    expected = math.exp(-(sigma**2)) * float(np.dot(weights, np.cos(centres)))
    # the probability of a false alarm is 6e-7; an error of 9.8 standard errors is missed with probability 1e-6
    assert abs(law - expected) < 5 * error


def test_total_variation_with_noise_doubles():
    theta = np.arange(-14, 14, 1e-4)

    def density(weights, centres):
        pieces = np.exp(-((theta[:, None] - np.array(centres)) ** 2) / 4) / math.sqrt(4 * math.pi)
        return pieces @ np.array(weights)

    tv = [
        0.5e-4 * float(np.abs(density(*noisy_toy((1, 2), replacement=r)) - density([1.0], [0.0])).sum())
        for r in (True, False)
    ]
    assert tv == pytest.approx([0.17967372, 0.35934744], abs=1e-8)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: toy((1, 3), p=HALF, replacement=True), "losses must be two numbers, each 1 or 2"),
        (lambda: toy((1,), p=HALF, replacement=True), "losses must be two numbers, each 1 or 2"),
        (lambda: toy((1, 2), p=1, replacement=True), r"p must be in \[0, 1\)"),
        (lambda: toy_ratio(p=-0.1, replacement=True), r"p must be in \[0, 1\)"),
        (lambda: toy_ratio(p=math.nan, replacement=True), r"p must be in \[0, 1\)"),
    ],
)
def test_bad_input_is_told_in_a_sentence(call, told):
    with pytest.raises(ValueError, match=told):
        call()


# ---------------------------------------------------------------- the experiments


def test_rows_of_figure_9():
    rows = {(row["p"], row["replacement"]): row for row in shuffling.fig9_rows()}
    assert [rows["1/2", way]["verdict"] for way in ("with", "without")] == ["inside", "inside"]
    assert rows["1/2", "with"]["{l1, l2}"] == "7/24, 5/12, 7/24"
    assert rows["1/2", "without"]["{l1, l2}"] == "5/12, 1/6, 5/12"
    assert rows["3/4", "without"]["e^epsilon"] == "10"
    assert all(row["verdict"].startswith("not comparable") for (p, _), row in rows.items() if p != "1/2")


@pytest.mark.verifies("berthier2019:conj1")
def test_rows_of_conjecture_1():
    rows = shuffling.conj1_rows()
    for row in rows:
        left, alpha = row["n - t + 1"], row["order"]
        assert row["paper"] == pytest.approx(4 * alpha / left**2, rel=1e-12)
        assert row["ours"] == pytest.approx(worst_pair([alpha], c=1 / left, x=1.0)[0], rel=1e-12)
        assert float(row["bound"]) >= float(row["exact"])
        assert (row["verdict"] == "inside") == (row["ours"] <= row["paper"])
    outside = {(row["n - t + 1"], row["order"]) for row in rows if row["verdict"] != "inside"}
    assert (1000, 13) not in outside
    assert {(1000, 14), (1000, 16), (5, 8), (11, 8)} <= outside
    assert "but not from the order 14 on" in shuffling.conj1_summary(rows)[1]


@pytest.mark.slow
@pytest.mark.parametrize("item", ["berthier2019:fig9", "berthier2019:conj1"])
def test_reproduce(item, tmp_path):
    result = reproduce(item, out=tmp_path / "out")
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"REPORT.md", "table.txt", "figure.png", "rows.json"} <= written
    text = (tmp_path / "out" / "REPORT.md").read_text(encoding="utf-8")
    assert "nan" not in text
    if item == "berthier2019:conj1":
        assert "nobody else has reviewed it" in text
        assert "no accountant uses it" in text
    else:
        assert "| 1 | without | 1.325003 |" in text
        assert "0.25 with and 0.5 without replacement" in text
    rows = json.loads((tmp_path / "out" / "rows.json").read_text(encoding="utf-8"))["rows"]
    assert len(rows) == len(result.rows)
