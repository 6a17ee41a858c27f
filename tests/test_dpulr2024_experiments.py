"""Figure 2 and Table 1 of the paper on forward passes: cells, settings, printed numbers, and what reports say."""

import json
import math
from fractions import Fraction
from pathlib import Path

import pytest

from nfa import cli
from nfa.experiments import dpulr2024, engine, report
from nfa.experiments.dpulr2024 import FIG2

RESULTS = Path(__file__).parent.parent / "results"


# --- Figure 2 ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows():
    return dpulr2024.fig2_rows()


def exact_ratio(rate: str, N: int, N_B: int) -> float:
    """The figure's value in whole fractions, the binomial mass function summed from 0 up."""
    q = Fraction(rate)
    p = [math.comb(N, k) * q**k * (1 - q) ** (N - k) for k in range(N_B)]
    return float(q * p[-1] / (1 - sum(p)) / (2 * q**2 * Fraction(11, 10) / 16))


@pytest.mark.verifies("dpulr2024:fig2")
def test_values_worked_out_elsewhere_are_rows(rows):
    """To the four digits that they are given with."""
    for rate, N, N_B, value in dpulr2024._FIG2["vectors"]:
        (row,) = [row for row in rows if (row["q"], row["N"], row["N_B"]) == (rate, N, N_B)]
        assert row["ours"] == pytest.approx(value, rel=5e-4 if value != 0.493 else 2e-3)
        assert row["ratio"] == f"{row['ours']:.4g}"


@pytest.mark.verifies("dpulr2024:fig2")
def test_rows_of_a_thousand_records_are_those_of_exact_fractions(rows):
    for row in rows:
        if row["N"] == 1000:
            assert row["ours"] == pytest.approx(exact_ratio(row["q"], 1000, row["N_B"]), rel=1e-9)


@pytest.mark.verifies("dpulr2024:fig2")
@pytest.mark.parametrize(
    "rate, N, most", [("1/5", 1000, 154), ("1/10", 1000, 64), ("1/20", 1000, 24), ("1/100", 1000, 0), ("1/100", 200, 0)]
)
def test_the_largest_threshold_in_exact_fractions(rate, N, most):
    assert dpulr2024.largest_threshold(rate, N) == most
    if most:
        assert exact_ratio(rate, N, most) < 1e-3
    assert exact_ratio(rate, N, most + 1) > 1e-3


@pytest.mark.parametrize(
    "place, verdict",
    [
        (("1/100", 1000, 9), "outside: 122,778 times 0.001"),
        (("1/10", 10000, 900), "outside: 2.93 times 0.001"),
        (("1/120", 60000, 400), "inside"),
        (("1/100", 1000, 5), "not comparable: N_B is 0.50 q N"),
        (("1/100", 10000, 100), "not comparable: N_B is not less than q N"),
    ],
)
def test_verdicts(rows, place, verdict):
    (row,) = [row for row in rows if (row["q"], row["N"], row["N_B"]) == place]
    assert row["verdict"] == verdict


def test_thresholds_are_at_least_their_share_and_below_the_mean():
    assert [dpulr2024.threshold("1/100", 1000, s) for s in (0.8, 0.9, 0.95)] == [8, 9, 9]
    assert dpulr2024.threshold("1/120", 10000, 0.8) == 67
    assert dpulr2024.falling(0.9)


def test_what_the_figure_says(rows):
    told = dpulr2024.fig2_summary(rows)
    assert "holds in 24 of 73 rows" in told[0]
    assert "28 of 64, 137 of 200, 405 of 500" in told[1]
    assert "658, 121, 30.9 in turn" in told[1]
    assert "right at 3 of 3 fixed shares" in told[2]


def test_the_committed_figure_is_what_the_code_computes(rows):
    folder = RESULTS / "dpulr2024-fig2"
    assert json.loads((folder / "rows.json").read_text())["rows"] == rows
    text = (folder / "REPORT.md").read_text()
    assert report.computed_report(FIG2, rows).partition("Software:")[0] == text.partition("Software:")[0]
    assert "q is a reading" in text
    assert (folder / "figure.png").read_bytes().startswith(b"\x89PNG")


def test_seeds_are_refused_for_what_is_computed(capsys):
    assert cli.main(["reproduce", "dpulr2024:fig2", "--seeds", "2"]) == 2
    assert "is computed from formulas" in " ".join(capsys.readouterr().err.split())
    assert engine.find("dpulr2024:fig2") is FIG2
