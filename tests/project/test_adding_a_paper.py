"""Tests that you can add a paper as one folder: statements, printed numbers, theory, a table, an audit, a certificate.

The tests add the folder of an invented paper, and a file of tests, to a copy of the tree. Commands and tests in the
copy include the paper without further changes.
"""

import json
from pathlib import Path

import pytest

from tests.project.copies import copy_of_tree, nfa_in, pytest_in

NAME = "nobody2000"
FILES = {
    f"nfa/papers/{NAME}/__init__.py": "",
    f"nfa/papers/{NAME}/statements.toml": r"""
[paper.nobody2000]
title = "On Means"
authors = ["N. Obody"]
version = "as a test invented it (2000)"
texts = [
    { name = "the text of the test", sha256 = "0000000000000000000000000000000000000000000000000000000000000000" },
]
essentials = ["The median can be above the mean (nobody2000:claim-median)."]
caveats = ["Nobody wrote this paper."]
audits = ["nfa.papers.nobody2000.means:AUDIT"]

[paper.nobody2000.rerun]
table1 = "nfa.papers.nobody2000.means:TABLE1"

[[item]]
id = "nobody2000:eq1"
aliases = ["nobody2000:mean"]
kind = "equation"
where = "section 1, equation (1)"
printed = ['\bar{x} = \frac{1}{n} \sum_{i=1}^n x_i \tag{1}']
claims = "The mean of n numbers."
verdict = "holds"
terms = [['$\frac{1}{n} \sum_{i=1}^n x_i$', "sum(x) / len(x)"]]
code = ["nfa.papers.nobody2000.means:mean @ return sum(x) / len(x)"]

[[item]]
id = "nobody2000:claim-median"
kind = "claim"
where = "section 2"
claims = "The median of three numbers is at most their mean."
verdict = "false"
right = "The median differs from the mean by at most one standard deviation."
use = "Compute the median."
number = "Of 2, 3, 3 the median is 3 and the mean 8/3."
check = "nfa eq nobody2000:claim-median --certificate | python -I -S -"
certificate = "certificates/claim_median.py"
code = ["nfa.papers.nobody2000.means:claimed_largest_median"]

[[item]]
id = "nobody2000:claim-clear"
kind = "claim"
where = "section 2"
claims = "Means are clear where numbers are."
verdict = "conditional"
right = "Where there are numbers: of none there is no mean."
use = "Take the mean of one number or more."
number = "len(x) = 0: division by zero."
check = "pytest --eq nobody2000:claim-clear"
uncertified = "of no numbers the formula has no value, and of others it is right"
code = ["nfa.papers.nobody2000.means:mean"]

[[item]]
id = "nobody2000:table1"
kind = "table"
where = "section 3, Table 1"
claims = "The means of two samples, 2.67 and 5.00."
verdict = "holds"
code = ["nfa.papers.nobody2000.means:table1_rows"]
""",
    f"nfa/papers/{NAME}/numbers.toml": """
[table1]
transcription = "Typed from the text of the test."
where = "section 3, Table 1"
tolerance = 0.005

[[table1.sample]]
x = [2.0, 3.0, 3.0]
mean = 2.67

[[table1.sample]]
x = [4.0, 6.0]
mean = 5.00
""",
    f"nfa/papers/{NAME}/means.py": '''
"""On Means (nobody2000): the mean, what is claimed of the median, and Table 1."""

import statistics
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from nfa.audit.reports import AuditOptions, Report, Target
from nfa.experiments.experiment import Analytic
from nfa.experiments.report import compare

_TABLE1 = tomllib.loads(files("nfa.papers.nobody2000").joinpath("numbers.toml").read_text(encoding="utf-8"))["table1"]


def mean(x: list[float]) -> float:
    """The mean of one number or more.

    Source: [nobody2000:eq1] [nobody2000:claim-clear]
    """
    return sum(x) / len(x)


def claimed_largest_median(x: list[float]) -> float:
    """The claimed largest value of the median of three numbers; 2, 3 and 3 have a larger one.

    Source: [nobody2000:claim-median]
    """
    return mean(x)


def table1_rows() -> list[dict[str, Any]]:
    """A row for each sample.

    Source: [nobody2000:table1]
    """
    rows = []
    for sample in _TABLE1["sample"]:
        row = compare(sample["mean"], [mean(sample["x"])], _TABLE1["tolerance"])
        rows.append({"sample": ", ".join(f"{x:g}" for x in sample["x"])} | row)
    return rows


def _draw(path: Path, rows: list[dict[str, Any]]) -> None:
    from nfa.experiments.plots import new_figure, save_figure

    figure = new_figure("Two means", 6.0)
    figure.subplots().plot([row["ours"] for row in rows])
    save_figure(figure, path)


TABLE1 = Analytic.from_toml(
    _TABLE1,
    id="nobody2000:table1",
    title="Table 1 of On Means: two means",
    measures="the mean",
    rows=table1_rows,
    columns=("sample", "paper", "ours", "verdict"),
    picture=_draw,
)


def _audit(settings: AuditOptions) -> Report:
    x = [2.0, 3.0, 3.0]
    return Report(
        target="nobody2000:claim-median",
        claimed_epsilon=claimed_largest_median(x),
        lower_bound=statistics.median(x),
        confidence=1.0,
        auc=0.5,
        delta=settings.delta,
        title="The median of three numbers",
        parts=(),
    )


AUDIT = Target(name="nobody2000:claim-median", about="the claimed bound on a median", audit=_audit)
''',
    f"nfa/papers/{NAME}/certificates/claim_median.py": '''
"""On Means, section 2. nobody2000:claim-median.

Claim: the median of three numbers is at most their mean.

Counterexample: three numbers in order. Arithmetic: fractions.
"""

from fractions import Fraction

# The counterexample.
LOW, MIDDLE, HIGH = 2, 3, 3


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(LOW <= MIDDLE <= HIGH, "the numbers must be in order")
mean = Fraction(LOW + MIDDLE + HIGH, 3)
if MIDDLE <= mean:
    raise SystemExit(f"not refuted: the median is at most {mean}")
print(f"refuted: claimed a median of at most {mean}, it is at least {MIDDLE}")
''',
    f"tests/papers/{NAME}/test_means.py": '''
"""On Means, compared with exact arithmetic and the standard library."""

import statistics
from fractions import Fraction

import pytest

from nfa.papers.nobody2000.means import claimed_largest_median, mean, table1_rows


@pytest.mark.verifies("nobody2000:eq1")
def test_the_mean():
    assert mean([Fraction(1), Fraction(2), Fraction(4)]) == Fraction(7, 3)


@pytest.mark.verifies("nobody2000:claim-clear")
def test_no_numbers_have_no_mean():
    with pytest.raises(ZeroDivisionError):
        mean([])


@pytest.mark.verifies("nobody2000:claim-median")
def test_the_printed_bound_fails():
    assert claimed_largest_median([2, 3, 3]) < statistics.median([2, 3, 3])


@pytest.mark.verifies("nobody2000:claim-median")
def test_the_corrected_bound_holds():
    assert abs(3 - Fraction(8, 3)) <= statistics.pstdev([2, 3, 3])


@pytest.mark.verifies("nobody2000:table1")
def test_table_1():
    assert [row["verdict"] for row in table1_rows()] == ["inside", "inside"]
''',
}  # fmt: skip
# The tests of the ledger, of runs and audits, of commands that list papers, and of the tree.
TESTS = """
    tests/ledger tests/papers/nobody2000 tests/papers/test_certificates.py tests/papers/test_headers.py
    tests/experiments/test_experiments.py
    tests/cli/test_cli.py tests/cli/test_cli_layout.py tests/cli/test_cli_audit.py tests/cli/test_cli_rerunnable.py
    tests/project/test_commands_unchanged.py tests/project/test_imports.py tests/project/test_names.py
    tests/project/test_results.py tests/project/test_site_sources.py tests/project/test_wall.py
    tests/project/test_packaging.py::test_trap_1_declared_packages_are_those_on_the_disk
""".split()


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Path:
    tree = copy_of_tree(tmp_path_factory.mktemp("paper"))
    for name, text in FILES.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text.removeprefix("\n"), encoding="utf-8")
    return tree


@pytest.mark.slow
def test_commands_know_the_paper(copy):
    statements = json.loads(nfa_in(copy, "eq", NAME, "--json"))
    assert [(one["id"], one["verdict"], len(one["tests"])) for one in statements] == [
        ("nobody2000:eq1", "holds", 1),
        ("nobody2000:claim-median", "false", 2),
        ("nobody2000:claim-clear", "conditional", 1),
        ("nobody2000:table1", "holds", 1),
    ]
    assert "return sum(x) / len(x)" in nfa_in(copy, "eq", "nobody2000:mean")
    assert NAME in nfa_in(copy, "eq").splitlines()[2]
    assert "The median of three numbers is at most their mean." in nfa_in(copy, "errata", NAME)
    assert "nobody2000:claim-median" in nfa_in(copy, "errata")
    assert nfa_in(copy, "eq", "nobody2000:claim-median", "--certificate").startswith('"""On Means, section 2.')


@pytest.mark.slow
def test_its_table_is_listed_and_rerun_and_its_claim_audited(copy):
    assert "\nnobody2000:table1      two means (computed)\n" in nfa_in(copy, "reproduce", "--list")
    found = json.loads(nfa_in(copy, "reproduce", "nobody2000:table1", "--json"))
    assert [(row["paper"], row["ours"], row["verdict"]) for row in found["rows"]] == [
        (2.67, 2.67, "inside"),
        (5.0, 5.0, "inside"),
    ]
    assert (copy / "runs" / "nobody2000-table1" / "REPORT.md").is_file()
    assert "nobody2000:claim-median" in nfa_in(copy, "audit")
    assert json.loads(nfa_in(copy, "audit", "nobody2000:claim-median", "--json"))["refuted"]


@pytest.mark.nightly
def test_the_tests_take_the_paper_in(copy):
    """No test contains a list of papers: the existing tests also pass for the invented paper."""
    pytest_in(copy, "-m", "not slow", *TESTS)
