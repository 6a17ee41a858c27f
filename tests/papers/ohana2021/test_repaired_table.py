"""The repaired Table 1, with privacy guarantees: its cells and their noise, its report, and its options."""

from dataclasses import replace

import pytest

from nfa.cli import main
from nfa.experiments.experiment import Cell
from nfa.experiments.prepare import prepare
from nfa.papers import index, reproduce
from nfa.papers.ohana2021 import table1, table1_repaired
from nfa.privacy.rounding import up
from tests.experiments.tiny_runs import tiny_settings, write_data

TABLE1, REPAIRED = table1.TABLE1, table1_repaired.TABLE1_REPAIRED


# --- cells and their noise -----------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", ["demo", pytest.param("small", marks=pytest.mark.slow), "paper"])
def test_cells_are_three_rules_without_privacy_and_under_four_guarantees(scale):
    cells = REPAIRED.cells(scale, [1, 2])
    assert len({cell.name for cell in cells}) == len(cells) == 2 * 3 * (1 + 2 * 2)
    published = {cell.name: cell.settings for cell in TABLE1.cells(scale, [1, 2])}
    for cell in cells:
        if cell.key["epsilon"] == "non-private":
            assert published[cell.name] == cell.settings  # finished runs can be used again
        else:
            assert cell.name not in published
            assert cell.settings.delta == 1e-5
            for name, value in table1.scale_settings(scale).items():
                assert name == "lr" or getattr(cell.settings, name) == value
    assert REPAIRED.home == TABLE1.id


@pytest.mark.parametrize("protected", ["records", "labels"])
@pytest.mark.parametrize("rule", ["DFA", "PDFA"])
@pytest.mark.parametrize("epsilon", ["3", "8"])
def test_the_demos_runs_stay_within_epsilon_and_use_it_up(protected, rule, epsilon):
    """The epsilon of each demo run is at most the target and at least 0.998 times the target.

    We count this epsilon with the rule's mechanism, and with the sampling rate, sizes and clips of the run.
    """
    settings = table1_repaired.settings(rule, protected, epsilon, scale="demo", seed=1)
    parts = prepare(settings)
    steps = settings.epochs * parts.batches.steps_per_epoch
    said = parts.privacy.account([(1, steps)])
    assert 0.998 * float(epsilon) <= said["guarantee"]["epsilon"] <= float(epsilon)
    assert said["guarantee"]["delta"] == 1e-5
    assert said["guarantee"]["adjacency"] == {"records": "replace-one", "labels": "replace-label"}[protected]
    assert settings.pixels == "unit" or protected == "labels"  # the scale of images does not matter for labels


@pytest.mark.parametrize(
    "value, rounded", [(0.0123401, 0.01235), (1.0, 1.0), (24.001, 24.01), (0.99991, 1.0), (9.9999, 10.0)]
)
def test_noise_is_rounded_up(value, rounded):
    assert float(up(value, 4)) == rounded


# --- the text of the report ----------------------------------------------------------------------------------


def rows():
    """Rows with simple accuracies: 86 % without privacy, and one point less in each further row of a rule."""
    cells = REPAIRED.cells("paper", [1])
    return [dict(cell.key) | {"ours": 86.0 - place % 5, "paper": None} for place, cell in enumerate(cells)]


def test_costs_are_points_below_the_run_without_privacy():
    assert table1_repaired.costs(rows())["DFA", "records", "8"] == 1.0
    assert table1_repaired.costs(rows())["PDFA", "labels", "3"] == 4.0
    text = "\n".join(table1_repaired.notes(rows()))
    assert "| TDFA | 86.00 | 85.00 (-1.00) | 84.00 (-2.00) | 83.00 (-3.00) | 82.00 (-4.00) |" in text
    assert "- The loss of accuracy from (3, 1e-05) for records is 2.0 to 2.0 points." in text


def test_the_paper_has_a_number_for_the_runs_without_privacy_only():
    for cell in REPAIRED.cells("paper", [1]):
        if cell.key["epsilon"] == "non-private":
            plain = {"rule": cell.key["rule"], "sigma": "non-private"}
            assert REPAIRED.paper(cell.key) == TABLE1.paper(plain)
        else:
            assert REPAIRED.paper(cell.key) is None
            assert REPAIRED.not_comparable(cell.settings, {}) == "the paper reports no epsilon"


# --- the variants of an experiment ---------------------------------------------------------------------------


def test_variants_are_found_by_name():
    assert index.find("ohana2021:table1") is index.find("ohana2021:table1", "published") is TABLE1
    assert index.find("ohana2021:table1", "repaired") is REPAIRED
    with pytest.raises(ValueError, match="variant must be one of published, repaired, got 'sound'"):
        index.find("ohana2021:table1", "sound")
    with pytest.raises(
        ValueError, match=r"fig2 has no variant 'repaired'. The items with this variant are .*ohana2021:table1"
    ):
        index.find("ohana2021:fig2", "repaired")


@pytest.mark.parametrize("arguments", [["--variant", "sound"], ["--variant", "repaired", "--scale", "large"]])
def test_the_command_refuses_a_bad_variant_in_a_sentence(arguments, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main.main(["reproduce", "ohana2021:table1", *arguments]) == 2
    error = capsys.readouterr().err
    assert "must be one of" in error
    assert "Traceback" not in error
    assert not list(tmp_path.iterdir())


@pytest.fixture
def tiny_table(tmp_path, monkeypatch):
    """The repaired table with short runs on tiny data."""
    path = write_data(tmp_path / "tiny.npz")
    counted = {"adjacency": "replace-one", "delta": 1e-3, "rule": "pdfa_isotropic", "rule_settings": {"s": 0.3}}

    def cells(scale, seeds):
        found = []
        for cell in REPAIRED.cells("demo", [1]):
            more = {"rule": "bp"} if cell.key["epsilon"] == "non-private" else counted
            found.append(Cell(cell.name, tiny_settings(path, **more), cell.key))
        return found

    table = replace(REPAIRED, cells=cells)
    monkeypatch.setattr(index, "find", lambda item, variant="published": table)
    return table


@pytest.mark.slow
def test_the_whole_of_it_small(tiny_table, tmp_path):
    result = reproduce("ohana2021:table1", variant="repaired", scale="demo", out=tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    made = {"repaired-REPORT.md", "repaired-table.txt", "repaired-table.csv", "repaired-figure.png"}
    assert made < names
    assert len(names - made) == 15
    text = (tmp_path / "out" / "repaired-REPORT.md").read_text()
    assert "nfa reproduce ohana2021:table1 --variant repaired --scale demo --seeds 1" in text
    assert "-DP under replace-one" in text
    assert [row["verdict"] for row in result.rows][1:5] == ["not comparable: the paper reports no epsilon"] * 4
