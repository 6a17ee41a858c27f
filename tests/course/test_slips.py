"""Tests that a slip in a reference solution fails one graded cell, and that no check accepts a hard-coded result."""

import dataclasses
import itertools

import numpy as np
import pytest

from tests.course.test_course import NAMES, RAISED, TOLD, own_cells, problem_set, sources

# Two slips of these functions can affect one cell. In least_noise, both slips change z. In moves, a check compares a
# label with another answer of the student.
JOINED = {"least_noise", "moves"}
RARE = {  # slips that affect only one special case, so a lenient check accepts them
    "flat_is_finite",
    "last_leaves",
    "never_empty",
    "norm_and_a_bit",
    "order_one_with_zeros",
    "something_added_to_the_anchor",
    "unit_by_first_pixel",
    "zero_divided",
}


def all_slips(problems, function):
    """The listed slips of a function, and the wrong submissions that replace one piece of it and fail one cell."""
    from nfa.course import problem_sets

    wrong = [
        problem_sets.Slip(*one.replacements[0], one.fails[0])
        for one in problems.wrong
        if len(one.sources) == len(one.replacements) == len(one.fails) == 1 and one.name not in RARE
    ]
    return [slip for slip in problems.slips + wrong if slip.cell == function]


def slipped(problems, function, *changes):
    """{failed cell: message} for a function, after these changes (old, new) to the reference solution."""
    from nfa.course import problem_sets

    own, source = own_cells(problems, function), sources(problems, "solution")[function]
    for old, new in changes:
        source = problem_sets.replaced({function: source}, function, old, new)
    cells = tuple(cell for cell in problems.cells if cell.kind != "test" or cell.name in own)
    part = dataclasses.replace(problems, cells=cells)
    told = problem_sets.grade(part, problem_sets.Submission("slipped", "", {function: source}, 0))
    return {test: text for test, text in told.items() if text}


@pytest.mark.parametrize("name", NAMES)
def test_one_slip_costs_in_one_cell(name):
    problems = problem_set(name)
    assert len(set(problems.slips)) == len(problems.slips) > 5
    for slip in problems.slips:
        failed = slipped(problems, slip.cell, (slip.old, slip.new))
        assert list(failed) == [slip.fails], (slip, failed)
        assert all(TOLD.fullmatch(text) or RAISED.fullmatch(text) for text in failed.values()), failed


@pytest.mark.parametrize("name", ["ps1_by_hand", "ps2_dfa"])
def test_a_forward_pass_with_transposed_weights_is_named(name):
    """A forward pass that multiplies by W[l] instead of its transpose works only if all layers have the same size."""
    failed = slipped(problem_set(name), "forward", ("h[l - 1] @ W[l].T + b[l]", "h[l - 1] @ W[l] + b[l]"))
    assert set(failed) == {"forward_hidden"}
    assert "found (5, 4), expected (4, 5); W[1] is transposed" in failed["forward_hidden"]


def test_a_syntax_error_is_named_as_one():
    """The cells of an exercise with a syntax error fail, and their message names the error.

    Other exercises use right code.
    """
    failed = slipped(problem_set("ps2_dfa"), "transported", ("def transported(W):", "def transported(W:"))
    assert set(failed) == {"transported_last", "transported_all"}
    for text in failed.values():
        assert TOLD.fullmatch(text)
        assert "the cell transported: found a syntax error, expected valid Python; SyntaxError: " in text


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_two_slips_cost_in_two_cells(name):
    """For over 85 % of the pairs of slips, two cells fail.

    In the other pairs, one slip hides or corrects the other slip.
    """
    seen, problems = [], problem_set(name)
    for function, source in sources(problems, "solution").items():
        if function not in JOINED:
            for one, two in itertools.permutations(all_slips(problems, function), 2):
                after_one, after_two = source.replace(one.old, one.new), source.replace(two.old, two.new)
                if one.fails < two.fails and after_one.count(two.old) == after_two.count(one.old) == 1:
                    failed = slipped(problems, function, (one.old, one.new), (two.old, two.new))
                    seen.append(set(failed) == {one.fails, two.fails})
    assert len(seen) > 5
    assert np.mean(seen) > 0.85


@pytest.mark.parametrize("name", NAMES)
def test_every_function_with_several_cells_has_slips(name):
    problems = problem_set(name)
    for function in sources(problems, "solution"):
        if len(own_cells(problems, function)) > 1:
            assert len(all_slips(problems, function)) >= 3, function


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
    free = {name.removesuffix("_made") for name in problems.tests if name.endswith("guess_made")}  # any guess passes
    for function, value in itertools.product(sorted(set(sources(problems, "solution")) - free), HARD_CODED):
        whole = f"def {function}(*given, **named):\n    import math\n    import numpy as np\n    return {value}"
        failed = slipped(problems, function, (sources(problems, "solution")[function], whole))
        assert set(failed) == own_cells(problems, function), (function, value)
