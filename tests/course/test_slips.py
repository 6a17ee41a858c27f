"""What a slip in a reference solution costs: one graded cell; and what no check lets through."""

import dataclasses
import itertools

import numpy as np
import pytest

from tests.course.slips import SLIPS
from tests.course.test_course import NAMES, RAISED, TOLD, own_cells, problem_set, sources

JOINED = {"least_noise", "moves"}  # a z is too large or too small; one label is held against the student's other number


def slipped(problems, function, *slips):
    """The cells of a function that fail, with what they say, where the reference solution has these slips."""
    from nfa.course import problem_sets

    own, source = own_cells(problems, function), sources(problems, "solution")[function]
    for right, slip, _ in slips:
        assert right in source, right
        source = source.replace(right, slip)
    cells = tuple(cell for cell in problems.cells if cell.kind != "test" or cell.name in own)
    part = dataclasses.replace(problems, cells=cells)
    told = problem_sets.grade(part, problem_sets.Submission("slipped", "", {function: source}, 0))
    return {test: text for test, text in told.items() if text}


@pytest.mark.parametrize("name, function", [(name, function) for name in SLIPS for function in SLIPS[name]])
def test_one_slip_costs_in_one_cell(name, function):
    for slip in SLIPS[name][function]:
        failed = slipped(problem_set(name), function, slip)
        assert list(failed) == [slip[2]], (slip, failed)
        assert all(TOLD.fullmatch(text) or RAISED.fullmatch(text) for text in failed.values()), failed


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_two_slips_cost_in_two_cells(name):
    """A lenient check sees another mistake, but for few pairs of which one mistake hides the other or makes it good."""
    seen = []
    for function in set(SLIPS[name]) - JOINED:
        slips = SLIPS[name][function]
        source = sources(problem_set(name), "solution")[function]
        for one, two in itertools.permutations(slips, 2):
            if one[2] < two[2] and two[0] in source.replace(*one[:2]) and one[0] in source.replace(*two[:2]):
                seen.append(set(slipped(problem_set(name), function, one, two)) == {one[2], two[2]})
    assert len(seen) > 5
    assert np.mean(seen) > 0.85


@pytest.mark.parametrize("name", NAMES)
def test_every_function_with_several_cells_has_slips(name):
    problems = problem_set(name)
    for function in sources(problems, "solution"):
        if len(own_cells(problems, function)) > 1:
            assert len(SLIPS[name].get(function, [])) >= 3, function


HARD_CODED = [
    "1.0",
    "math.inf",
    "(0.0, 1.0)",
    "[None, *(0 * w for w in given[0][1:])], [None, *(0 * v for v in given[1][1:])]",
    "[None, *(1 + 0 * w for w in given[0][1:])], [None, *(1 + 0 * v for v in given[1][1:])]",
    "np.zeros(np.shape(given[0]))",
    "np.ones(len(given[0]))",
    "np.random.default_rng(0).normal(size=np.shape(given[1]))",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_what_is_hard_coded_gets_no_point(name):
    problems = problem_set(name)
    for function, value in itertools.product(sources(problems, "solution"), HARD_CODED):
        whole = f"def {function}(*given, **named):\n    import math\n    import numpy as np\n    return {value}"
        failed = slipped(problems, function, (sources(problems, "solution")[function], whole, ""))
        assert set(failed) == own_cells(problems, function), (function, value)
