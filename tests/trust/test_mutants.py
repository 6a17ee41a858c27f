"""Tests of mutation testing without its tools: the sample, earlier results, and the list of harmless changes."""

import tomllib
from collections import Counter
from itertools import groupby

import pytest

from tests.project.tree import ROOT
from tests.trust.marked import replacements
from tests.trust.mutants import taken_over
from tests.trust.mutations import Change, draw, of_bodies


def test_every_harmless_change_is_to_lines_that_are_there():
    """Each change in tests/trust/mutants.toml has a reason, and the changed lines exist in the code."""
    harmless = tomllib.loads((ROOT / "tests" / "trust" / "mutants.toml").read_text())["harmless"]
    for change in harmless:
        lines = [line.strip() for line in (ROOT / change["file"]).read_text().splitlines()]
        assert all(line in lines for line in change["old"].splitlines()), change
        assert change["old"] != change["new"]
        assert change["why"].endswith(".")
    assert len({(c["file"], c["old"], c["new"]) for c in harmless}) == len(harmless)


def every_line(file):
    """A change for every line of a file, in place of the changes that mutmut or cosmic-ray propose."""
    lines = (ROOT / file).read_text().splitlines()
    return [Change(file, i, i + 1, i + 1, None) for i in range(len(lines))]


def test_a_sample_has_its_size_and_of_each_file_a_share():
    """A tenth of the two samples has 52 and 12 changes. With another seed, the changes are different.

    The number of sampled changes of a file is proportional to its number of possible changes, rounded by the method
    of largest remainders.
    """
    proposed = {"plain": every_line, "kernels": every_line}
    totals, sample = draw(1, 0.1, proposed)
    assert totals == {file: len(every_line(file)) for file in totals if every_line(file)}
    assert {"nfa/clip.py", "nfa/rules/dp_sgd.py", "nfa/privacy/rdp.py", "kernels/noise.py"} < set(totals)
    counts = Counter(change.file for change in sample)
    for size, kernels in ((52, False), (12, True)):
        files = [file for file in totals if file.startswith("kernels/") == kernels]
        whole = sum(totals[file] for file in files)
        assert sum(counts[file] for file in files) == size
        gaps = [counts[file] - size * totals[file] / whole for file in files]
        # each remainder that is rounded up is at least as large as each remainder that is rounded down
        assert max(gaps) - min(gaps) <= 1 + 1e-12
    assert len(set(sample)) == len(sample)
    assert len(list(groupby(change.file for change in sample))) > len(counts)  # the sample is not ordered by file
    assert draw(1, 0.1, proposed) == (totals, sample) != draw(2, 0.1, proposed)


KERNEL = """\
SIZE = 3

@njit
def sums(x, n=2):
    total = 0  # here
    if n > SIZE:  # here
        raise ValueError(
            f"n = {n + 1}"
        )
    @njit(cache=True)
    def one(
        a, b=1
    ):
        return a + b  # here
    return one(total, x)  # here
"""


def test_changes_are_to_the_bodies_of_functions_and_to_no_raise_or_decorator():
    assert of_bodies(KERNEL) == {i for i, line in enumerate(KERNEL.splitlines(), 1) if line.endswith("# here")}


def test_an_earlier_result_spares_what_was_noticed_and_must_be_of_the_same_sample():
    sample = [Change("nfa/clip.py", number, 10 * number, 10 * number, None) for number in (3, 1, 2)]
    earlier = {
        "killed": {"nfa/clip.py:30 #3": "a test", "nfa/clip.py:20 #2": "another"},
        "survivors": [{"file": "nfa/clip.py", "number": 1, "line": 10}],
    }
    records, todo = taken_over(sample, earlier)
    assert [(record["number"], record["line"], record["killed"]) for record in records] == [
        (3, 30, "a test"),
        (2, 20, "another"),
    ]
    assert todo == sample[1:2]
    assert taken_over(sample, {}) == ([], sample)
    for other in (
        sample[:2],
        [*sample, Change("nfa/clip.py", 4, 40, 40, None)],
        [*sample[:2], Change("nfa/clip.py", 2, 21, 21, None)],
    ):
        with pytest.raises(SystemExit, match="the earlier result is of another sample"):
            taken_over(other, earlier)


def changed(line):
    """The line of code after each possible change."""
    return {line[:start] + new + line[end:] for start, end, new in replacements(line, {1})}


def test_a_marked_line_loses_either_operand_and_two_arguments_or_factors_change_places():
    """A change of a marked line replaces an operator, removes an operand, or exchanges two arguments or factors.

    We list the expected changes by hand. An operand keeps its parentheses. No change applies to a raise statement or to
    the order of three arguments.
    """
    assert changed("y = (a + b) * c") == {
        "y = (a + b) / c",
        "y = (a + b)",
        "y = c",
        "y = (a - b) * c",
        "y = (a) * c",
        "y = (b) * c",
    }
    assert changed("y = (a - b) @ c") >= {"y = (c @ (a - b))", "y = (a - b)", "y = c", "y = (a - b) * c"}
    assert changed("y = f(a, (b))") == {"y = f(b, (a))"}
    assert changed("y = min(a, b)") == {"y = max(a, b)"}
    assert changed("y = f(a, *b)") == changed("y = f(a, b, c)") == changed("raise f(a, b)") == set()
