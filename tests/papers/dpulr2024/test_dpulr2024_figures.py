"""Table C1 and Figures 3 and 4 of the paper on forward passes: cells, printed numbers, epsilons and reports."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate, optimize

from nfa.experiments import report
from nfa.experiments.experiment import SCALES
from nfa.experiments.run import run
from nfa.experiments.settings import Settings
from nfa.network import mlp
from nfa.network.ops import gelu
from nfa.papers import index
from nfa.papers.dpulr2024 import fig3, table_c1
from nfa.papers.dpulr2024.fig3 import FIG3, FIG3_REPAIRED
from nfa.papers.dpulr2024.fig4 import FIG4
from nfa.papers.dpulr2024.table1 import TABLE1, TABLE1_REPAIRED
from nfa.papers.dpulr2024.table_c1 import TABLE_C1

NEW = {"tableC1": TABLE_C1, "fig3": FIG3, "fig4": FIG4}


# --- cells and settings --------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("item", NEW)
def test_cells(item, scale):
    experiment = NEW[item]
    assert index.find(f"dpulr2024:{item}") is experiment
    cells = experiment.cells(scale, [1, 2])
    assert len({cell.name for cell in cells}) == len({str(cell.settings.to_json()) for cell in cells}) == len(cells)
    assert {cell.settings.seed for cell in cells} == {1, 2}
    assert {cell.key["reading"] for cell in cells} <= set(experiment.readings)
    for cell in cells:
        assert Settings.from_json(cell.settings.to_json() | {"conversion": "mironov2017"}) == cell.settings
    repaired = index.find(f"dpulr2024:{item}", "repaired")
    assert repaired.cells(scale, [1, 2]) == [c for c in cells if c.key["rule"] != "DP-ULR printed"]
    assert repaired.home == experiment.home


@pytest.mark.parametrize("scale", SCALES)
def test_the_runs_of_figure_3_are_those_of_table_1_under_the_same_names(scale):
    known = {cell.name: cell for cell in TABLE1.cells(scale, [1])}
    cells = FIG3.cells(scale, [1])
    shared = [cell for cell in cells if cell.name in known]
    assert shared == [known[cell.name] for cell in shared]
    assert scale == "demo" or len(shared) == len(cells) == {"small": 9, "paper": 27}[scale]
    assert FIG3.home == TABLE1.id
    # the files of the four experiments are in one folder
    assert len({e.prefix for e in (TABLE1, TABLE1_REPAIRED, FIG3, FIG3_REPAIRED)}) == 4


@pytest.mark.verifies("dpulr2024:tableC1")
def test_the_sizes_of_the_mlps_are_near_those_stated():
    """The medium and large MLPs have 2.51 and 5.11 times as many parameters as the small MLP.

    The paper states "2.5 and 5" times. We count the parameters of built networks.
    """
    built = {}
    for name, sizes in table_c1.READINGS["chosen"]["model"].items():
        net = mlp([int(n) for n in sizes.split("-")], gelu, rng=np.random.default_rng(0), dtype=np.float32)
        built[name] = net.n_parameters
        assert table_c1.parameters(sizes) == net.n_parameters
    assert built == {"small": 111_146, "medium": 278_866, "large": 567_434}
    assert built["medium"] / built["small"] == pytest.approx(2.5, rel=0.03)
    assert built["large"] / built["small"] == pytest.approx(5.0, rel=0.03)
    assert table_c1.parameters(table_c1.READINGS["doubled"]["model"]["medium"]) / 111_146 == pytest.approx(
        2.184, abs=5e-4
    )
    small, large = (
        next(c for c in TABLE_C1.cells("paper", [1]) if c.key["model"] == name and c.key["batch"] == "64")
        for name in ("small", "large")
    )
    assert replace(large.settings, architecture="784-128-64-32-10") == small.settings
    assert {c.key["sigma_0"] for c in TABLE_C1.cells("paper", [1])} == {"8"}
    assert TABLE_C1.seeds["paper"] == 5


@pytest.mark.verifies("dpulr2024:fig4")
def test_figure_4_has_dp_sgd_once_as_stated_and_the_network_of_the_text():
    stated = [c for c in FIG4.cells("paper", [1]) if (c.key["rule"], c.key["reading"]) == ("DP-SGD", "pooled")]
    (cell,) = stated
    assert (cell.settings.batch, cell.key["sigma_0"]) == (64, "1")
    assert cell.settings.rule_settings == {"C": 1.0, "sigma": 1 / 64}
    nets = {c.key["reading"]: c.settings.architecture for c in FIG4.cells("paper", [1])}
    assert nets == {
        "pooled": "dpulr2024-resnet5",
        "unpooled": "dpulr2024-resnet5-unpooled",
        "valid": "dpulr2024-resnet5-valid",
    }
    assert {c.settings.dataset for c in FIG4.cells("paper", [1])} == {"cifar-10"}
    assert {c.settings.dataset for c in FIG4.cells("demo", [1])} == {"fashion-mnist-small"}
    assert "no embedded CIFAR-10" in FIG4.scales["demo"]


@pytest.mark.verifies("dpulr2024:fig4")
def test_the_copies_of_cifar_10_are_never_held_against_the_paper():
    jpeg = {"data": {"name": "cifar-10", "train": 4000, "note": "decoded from JPEG copies"}}
    for cell in FIG4.cells("small", [1]):
        why = FIG4.not_comparable(cell.settings, jpeg)
        assert why.startswith("the accuracies in the figure are not printed")
        assert "decoded from JPEG copies; 4,000 training images" in why
        assert "epochs" not in why  # the paper states no number of epochs


# --- printed numbers -----------------------------------------------------------------------------------------

PRINTED = {  # validation accuracy from the ledger, transcribed independently of the experiment's file
    ("DP-ULR", "64"): "58.65+-6.32 59.53+-4.38 41.42+-7.03",
    ("DP-SGD", "64"): "32.07+-4.17 43.81+-6.30 24.78+-6.28",
    ("DP-ULR", "128"): "74.24+-1.19 69.00+-1.39 67.75+-3.00",
    ("DP-SGD", "128"): "70.53+-0.57 67.98+-1.81 66.15+-1.49",
    ("DP-ULR", "256"): "80.94+-1.12 78.48+-0.43 78.28+-0.80",
    ("DP-SGD", "256"): "86.03+-0.46 84.96+-0.68 85.13+-0.89",
}


@pytest.mark.verifies("dpulr2024:tableC1")
def test_the_printed_numbers_of_table_c1():
    for cell in TABLE_C1.cells("paper", [1]):
        row = "DP-SGD" if cell.key["rule"] == "DP-SGD" else "DP-ULR"
        told = PRINTED[row, cell.key["batch"]].split()[["small", "medium", "large"].index(cell.key["model"])]
        assert table_c1.printed(cell.key) == tuple(map(float, told.split("+-")))
        assert TABLE_C1.paper(cell.key) == float(told.partition("+-")[0])
    small = {"rule": "DP-SGD", "batch": "64"}
    assert table_c1.printed(small | {"model": "small"})[0] == TABLE1.paper(small | {"sigma_0": "8"})


@pytest.mark.verifies("dpulr2024:tableC1")
def test_what_the_text_says_of_table_c1_is_within_the_spread_over_seeds():
    """The paper's statement on Table C1 is about differences within the spread over seeds.

    We divide the change of the gap from one model size to the next by the standard deviation of this change.
    """
    gaps = {m: table_c1.ahead(m) for m in ("64", "128", "256")}
    assert gaps == {"64": [26.58, 15.72, 16.64], "128": [3.71, 1.02, 1.6], "256": [-5.09, -6.48, -6.85]}
    assert gaps["64"][2] > gaps["64"][1]  # so the gap does not "diminish as model size increases" from medium to large
    for m in ("64", "128", "256"):
        sds = [[float(t.partition("+-")[2]) for t in PRINTED[row, m].split()] for row in ("DP-ULR", "DP-SGD")]
        wide = [math.hypot(a, b) for a, b in zip(*sds, strict=True)]  # standard deviation of a gap
        steps = [abs(gaps[m][i + 1] - gaps[m][i]) / math.hypot(wide[i], wide[i + 1]) for i in (0, 1)]
        assert max(steps) < 1.3


# --- epsilons ------------------------------------------------------------------------------------------------

E9 = {  # (batch, sigma_0): the ledger's epsilons, exact, by the closed form at any order, and for shuffled epochs
    (64, "1"): (0.80150, 1.62054, 33.1037),
    (64, "4"): (0.13086, 0.395136, 5.67959),
    (64, "8"): (0.06032, 0.196734, 2.55993),
    (200, "1"): (1.52926, 2.93710, 33.1037),
    (200, "4"): (0.24419, 0.703024, 5.67959),
    (200, "8"): (0.11281, 0.348908, 2.55993),
    (500, "1"): (2.60525, 4.79710, 33.1037),
    (500, "4"): (0.40350, 1.12115, 5.67959),
    (500, "8"): (0.18635, 0.554064, 2.55993),
}


@pytest.mark.verifies("dpulr2024:fig3")
@pytest.mark.parametrize("place", E9)
def test_epsilons_side_by_side(place):
    exact, closed, shuffled = E9[place]
    found = fig3.epsilons(*place)
    assert found["exact"] == pytest.approx(exact, abs=2e-5)
    assert found["closed form, any order"] == pytest.approx(closed, rel=5e-6)
    assert found["shuffled epochs"] == pytest.approx(shuffled, rel=5e-6)
    assert found["exact"] < found["Renyi"] < 1.3 * found["exact"]
    assert (found["Theorem 2, N_B = q N"] is None) == (place[1] == "1")


@pytest.mark.verifies("dpulr2024:fig3")
@pytest.mark.parametrize(
    "batch, at_mean, below, alone",
    [(64, 2.953, 0.822, 0.542286), (200, 2.204, 0.826, 0.817492), (500, 2.092, 1.207, 1.2067)],
)
def test_the_curves_overlap_for_thresholds_below_the_mean_only(batch, at_mean, below, alone):
    """The epsilon curves of DP-ULR and DP-SGD overlap only if the threshold N_B is below the mean q N.

    At sigma_0 = 4, we compare Theorem 2 for N_B = q N and N_B = 0.8 q N with its bound without the first term.
    """
    found = fig3.epsilons(batch, "4")
    assert found["Theorem 2, N_B = q N"] == pytest.approx(at_mean, abs=5e-4)
    assert found["Theorem 2, N_B = 0.8 q N"] == pytest.approx(below, abs=5e-4)
    assert found["Theorem 2, N_B = q N"] / alone == pytest.approx({64: 5.45, 200: 2.70, 500: 1.73}[batch], abs=5e-3)
    assert (found["Theorem 2, N_B = 0.8 q N"] / alone < 1.02) == (batch != 64)


@pytest.mark.verifies("dpulr2024:fig3")
def test_the_closed_form_is_at_its_best_order():
    """`claimed_closed_form` uses the best order.

    We search for this order, for 7 epochs with batches of 64 at sigma_0 = 4.
    """
    slope = 2 * math.ceil(7 * 60000 / 64) * (64 / 60000) ** 2 / 16

    def at(log_order):
        return slope * (1 + math.exp(log_order)) + math.log(1e5) * math.exp(-log_order)

    best = optimize.minimize_scalar(at, bounds=(-5, 12), method="bounded", options={"xatol": 1e-9}).fun
    assert fig3.claimed_closed_form(64, 4.0, 7) == pytest.approx(best, rel=1e-9)


@pytest.mark.verifies("dpulr2024:fig3")
def test_the_renyi_curve_against_quadrature():
    """The Renyi curve equals a quadrature of E_Q[(P / Q)^8], for q = 1/300.

    The laws are P = (1 - q) N(0, 4^2) + q N(1, 4^2) and Q = N(0, 4^2).
    """
    q, alpha = 1 / 300, 8
    value = integrate.quad(
        lambda z: math.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) * (1 - q + q * math.exp(z / 4 - 1 / 32)) ** alpha,
        -12,
        20,
    )[0]
    i = int(np.flatnonzero(fig3.ORDERS == alpha)[0])
    assert fig3._curve(200, 4.0)[i] == pytest.approx(math.log(value) / (alpha - 1), rel=1e-6)


@pytest.mark.slow
@pytest.mark.verifies("dpulr2024:fig3")
@pytest.mark.parametrize("batch, sigma_0", [(64, 8.0), (500, 4.0)])
def test_exact_epsilons_by_dp_accounting(batch, sigma_0):
    """After every listed number of epochs, the exact epsilon is at most 1e-4 above dp-accounting's epsilon.

    dp-accounting uses a finer grid here than in the table.
    """
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    loss = pld.from_gaussian_mechanism(sigma_0, sampling_prob=batch / 60000, value_discretization_interval=5e-6)
    for epochs in fig3._FIG3["epochs_exact"]:
        fine = loss.self_compose(math.ceil(epochs * 60000 / batch)).get_epsilon_for_delta(1e-5)
        assert 0 <= fig3.exact(batch, sigma_0, epochs) - fine < 1e-4
    assert fig3.exact(batch, sigma_0, 4) is None


# --- short runs ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def short_runs(tmp_path_factory):
    """Cells and records of one epoch of each demo, with K = 2 losses per example and few images."""
    found = {}
    for item, experiment in NEW.items():
        folder = tmp_path_factory.mktemp(item)
        runs = []
        for cell in experiment.cells("demo", [1]):
            own = dict(cell.settings.rule_settings)
            own |= {"K": 2} if "K" in own else {}
            images = {"train_examples": 200 if item == "fig3" else 128, "epochs": 1, "kernels": False}
            cell = replace(cell, settings=replace(cell.settings, rule_settings=own, **images))
            runs.append((cell, run(cell.settings, folder, experiment=experiment.home, cell=cell.name)))
        found[item] = runs
    return found


SAID = {
    "tableC1": (
        "| 64 | +26.58 | +15.72 | +16.64 |",
        "| medium | 784-288-144-72-10 | 278,866 | 2.51 | about 2.5 |",
        "from small to medium, and not from medium to large",
        "no embedded MNIST",
    ),
    "fig3": (
        "| 64 | 4 | 2.9535 | 0.8222 | 0.3951 | 0.1455 | 0.1309 | 5.6796 |",
        "N_B = 28 of 64, 137 of 200, 405 of 500",
        "what one would have to believe, and no guarantee",
        "Batches of 200, sigma_0 = 8: DP-ULR printed ",
    ),
    "fig4": (
        "no number is printed",
        "only a toy",
        "no embedded CIFAR-10",
        "fashion-mnist-small, 128 training images",
        "it must be padded, and cannot be pooled",
        "| ResNet-5, pooled | 10 | 0.0967 | 0.0106 | 0.1048 |",
    ),
}


@pytest.mark.slow
@pytest.mark.verifies("dpulr2024:tableC1", "dpulr2024:fig3", "dpulr2024:fig4")
@pytest.mark.parametrize("item", NEW)
def test_what_reports_say_and_that_pictures_are_drawn(item, short_runs, tmp_path):
    experiment, runs = NEW[item], short_runs[item]
    rows = report.rows(experiment, runs)
    text = report.report(experiment, "demo", [1], rows, runs)
    for words in SAID[item]:
        assert words in text
    assert all(row["verdict"].startswith("not comparable") for row in rows)
    for cell, record in runs:
        promised = "guarantee" in record["privacy"]
        assert promised == (cell.key["rule"] in ("corrected DP-ULR", "DP-SGD"))
    experiment.picture(tmp_path / "figure.png", rows, runs)
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
