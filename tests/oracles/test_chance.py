"""Tests of the statistical tests in `chance`. False alarms and missed errors are as rare as stated."""

import math
import re

import numpy as np
import pytest
from scipy import stats

from tests.oracles import chance
from tests.project.tree import ROOT

RUNS = 400


def right_and_wrong(kind, r):
    """A call of a statistical test on correct samples, and a call on samples with the error that it should detect."""
    g = r.standard_normal(900)
    if kind == "law":
        sees = stats.kstwo.isf(0.02, 900) + math.sqrt(-math.log(0.02) / 1800)
        shift = 2 * stats.norm.ppf(0.5 + sees / 2)
        return (lambda: chance.follows(g, "norm", sees=sees + 1e-9)), (
            lambda: chance.follows(g + shift, "norm", sees=sees + 1e-9)
        )
    if kind == "counts":
        p = np.full(6, 1 / 6)
        other = p + 0.18 / 6 * np.array([1, -1] * 3)
        return tuple(lambda q=q: chance.fits(r.multinomial(900, q), sees=0.18) for q in (p, other))
    if kind == "rate":
        return tuple(lambda p=p: chance.has_rate(r.binomial(900, p), 900, 0.3, sees=0.08) for p in (0.3, 0.38))
    if kind == "at most":
        return tuple(lambda p=p: chance.is_at_most(r.binomial(900, p), 900, 0.3, sees=0.08) for p in (0.3, 0.38))
    if kind == "variance":
        return tuple(lambda s=s: chance.has_variance((s * g**2).sum(), 900, sees=0.25) for s in (1, 1.25))
    if kind == "score":
        return tuple(lambda m=m: chance.is_score((g + m).sum() / 30, 900, sees=0.15) for m in (0, 0.15))
    other = r.standard_normal(900)
    return tuple(
        lambda c=c: chance.is_uncorrelated(g, c * g + math.sqrt(1 - c * c) * other, sees=0.15) for c in (0, 0.15)
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["law", "counts", "rate", "at most", "variance", "score", "correlation"])
def test_both_errors_are_rare(monkeypatch, kind):
    """False alarms and missed errors have probabilities of at most 2 %, if we set CHANCE to 2 %.

    We use 2 %, so that we can count these errors. More than 24 false alarms (or missed errors) in 400 runs occur with
    probability 1e-6.
    """
    monkeypatch.setattr(chance, "CHANCE", 0.02)
    most = int(stats.binom.isf(1e-6, RUNS, 0.02))
    alarms = missed = 0
    for seed in range(RUNS):
        right, wrong = right_and_wrong(kind, np.random.default_rng(seed))
        alarms += fails(right)
        missed += not fails(wrong)
    assert most == 24
    assert alarms <= most
    assert missed <= most


def fails(call):
    try:
        call()
    except AssertionError:
        return True
    return False


@pytest.mark.parametrize(
    "call",
    [
        lambda: chance.follows(np.linspace(0.005, 0.995, 100), "uniform", sees=0.1),
        lambda: chance.fits([100, 100], sees=0.1),
        lambda: chance.has_rate(50, 100, 0.5, sees=0.1),
        lambda: chance.is_at_most(0, 100, 0.5, sees=0.1),
        lambda: chance.has_variance(100, 100, sees=0.1),
        lambda: chance.is_score(0.0, 100, sees=0.1),
        lambda: chance.game_exceeds(1.0, 3.0, 100, delta=1e-5),
        lambda: chance.is_uncorrelated([1.0, -1.0, 0.0], [1.0, 1.0, -2.0], sees=0.1),
    ],
)
def test_a_sample_that_is_too_small_for_what_it_is_to_see_fails(call):
    with pytest.raises(ValueError, match=r"the sample is too small|100 trials are too few"):
        call()


DRAWN = re.compile(r"\.pvalue\b|\bnorm\.isf\(|\bFALSE_ALARM\b|standard errors")
STATES_POWER = re.compile(r"\bsees\b|\bmiss(ed|es)?\b|\bpower\b", re.IGNORECASE)


def test_a_module_whose_tests_depend_on_draws_says_what_they_miss():
    silent = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        if DRAWN.search(text := path.read_text(encoding="utf-8")) and not STATES_POWER.search(text)
    ]
    assert not silent
