"""Tests that a small change to a reference solution gets full marks only if it changes no required result."""

import random

import pytest

from nfa.course import names
from tests.course.mutants import Mutant, changes, fates, harmless, mutants
from tests.course.test_course import problem_set

SOME = 12  # number of changes of a problem set in the quick tests


def unexplained(every):
    return [f.mutant for f in fates(every) if f.survives and f.mutant[1:4] not in harmless(f.mutant.problems)]


@pytest.mark.parametrize("name", names())
def test_some_changes_lose_points(name):
    every = mutants(problem_set(name))
    assert unexplained(random.Random(name).sample(every, SOME)) == []


@pytest.mark.nightly
@pytest.mark.parametrize("name", names())
def test_every_change_loses_points(name):
    every = mutants(problem_set(name))
    assert len(every) > 100
    assert len(unexplained(every)) <= 0.01 * len(every)


def test_the_reference_survives():
    """A survivor is a change that gets full marks. The unchanged reference solution must survive."""
    (cell, *_) = (cell for cell in problem_set("ps2_dfa").cells if cell.kind == "solution")
    (fate,) = fates([Mutant("ps2_dfa", cell.name, "", "", cell.source)])
    assert fate.survives


@pytest.mark.parametrize(
    "source, changed",
    [
        ("y = f(a, b)", {"y = f(b, a)", "y = a", "y = b", "pass"}),
        ("for t in x:\n    g = f(w)\n    w = w - g", {"g = f(w)\nfor t in x:\n    w = w - g"}),
        ("for t in x:\n    g()", {"for t in x:\n    g()\n    break", "for t in x:\n    pass"}),
        ("v = a.sum(axis=0)", {"v = a.sum(axis=1)", "v = a.sum()", "v = a", "v = a.mean(axis=0)"}),
        ("h = z[l]", {"h = z[l - 1]", "h = z[l + 1]"}),
        ("c = a / b", {"c = a * b", "c = a / (b + 1e-08)", "c = a", "c = b"}),
        ("n = rng.normal(0, s, k)", {"n = rng.laplace(0, s, k)", "n = rng.normal(s, 0, k)"}),
    ],
)
def test_kinds_of_changes(source, changed):
    assert changed <= set(changes(source))
