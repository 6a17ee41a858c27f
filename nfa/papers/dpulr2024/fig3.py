"""Figure 3 of "Forward Learning with Differential Privacy" (2024): accuracy and epsilon over the epochs.

The runs are runs of Table 1. The paper computes the epsilon of DP-ULR by its Theorem 2, and the epsilon of DP-SGD by a
closed form. We also compute the epsilons of other accountants for the same settings. The file numbers.toml has the
settings and the readings. A reading is our choice where the paper leaves a setting open.
"""

import math
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np

from nfa.experiments.experiment import Cell, Experiment, Rows, Trained
from nfa.experiments.report import markdown_table
from nfa.mechanism import Mechanism
from nfa.papers.dpulr2024.claims_in_words import caption, convergence
from nfa.papers.dpulr2024.fig2 import largest_threshold
from nfa.papers.dpulr2024.runs import TOML, sound
from nfa.papers.dpulr2024.runs import cells as cells_of
from nfa.papers.dpulr2024.table1 import CHOSEN, READINGS, TABLE1, paper
from nfa.papers.dpulr2024.theorems import claimed_dp_ulr_epsilon
from nfa.privacy.gaussians import epsilon_gaussian
from nfa.privacy.rdp import to_dp
from nfa.privacy.theorems import choose, one_step

_FIG3, _TABLE1 = TOML["fig3"], TOML["table1"]
DELTA, N, EPOCHS = _TABLE1["delta"], _FIG3["n"], _FIG3["epochs"]
SIGMA_0 = tuple(_FIG3["sigma_0"])
ORDERS = np.unique(np.concatenate([np.arange(2, 65), np.geomspace(64, 4096, 200).astype(int)]))  # large for few steps


def cells(scale: str, seeds: list[int]) -> list[Cell]:
    """The runs at a scale, with the settings and names of the runs of Table 1.

    Source: [dpulr2024:fig3]
    """
    return cells_of("table1", scale, seeds, _FIG3["scale"][scale]["runs"])


# Epsilon after a number of epochs on 60,000 records


def steps(batch: int, epochs: int) -> int:
    """Number of steps in this number of epochs, rounded up."""
    return math.ceil(epochs * N / batch)


def theorem_2(share: float, batch: int, sigma_0: float, epochs: int) -> float | None:
    """The epsilon of Theorem 2 for an N_B that is a share of q N; None for sigma_0 < 4, which is not covered."""
    if sigma_0 < _TABLE1["covered"]:
        return None
    drawn = {"T": steps(batch, epochs), "q": batch / N, "N_B": round(share * batch), "N_bar": N}
    return claimed_dp_ulr_epsilon(delta=DELTA, sigma_0=sigma_0, **drawn)[0]


def claimed_closed_form(batch: int, sigma_0: float, epochs: int) -> float:
    r"""Epsilon from 2 T q^2 alpha / sigma_0^2 at the best of all orders, including orders at which this bound is false.

    .. math:: \gamma T + 2 \sqrt{\gamma T \ln(1 / \delta)}, \qquad \gamma = 2 q^2 / \sigma_0^2

    Source: [dpulr2024:fig3]

    Examples
    --------
    >>> round(claimed_closed_form(64, 4.0, 25), 6)
    0.395136
    """
    slope = 2 * steps(batch, epochs) * (batch / N) ** 2 / sigma_0**2
    return slope + 2 * math.sqrt(slope * math.log(1 / DELTA))


@cache
def _curve(batch: int, sigma_0: float) -> np.ndarray:
    step = Mechanism(
        law="gaussian",
        sensitivity=1.0,
        adjacency="add-remove",
        noise_std=sigma_0,
        sampling="poisson",
        sampling_rate=batch / N,
    )
    return one_step(step, ORDERS, choose(step, None))


def renyi(batch: int, sigma_0: float, epochs: int) -> float:
    """Epsilon of a Gaussian mechanism on Poisson batches, by its exact curve at integer orders and canonne2020."""
    spent_in_all = steps(batch, epochs) * _curve(batch, sigma_0)
    return to_dp(ORDERS, spent_in_all, delta=DELTA, conversion="canonne2020")[0]


def exact(batch: int, sigma_0: float, epochs: int) -> float | None:
    """The nearly exact epsilon of these steps, rounded up, from a sum of privacy losses; None if not tabulated."""
    if epochs not in _FIG3["epochs_exact"]:
        return None
    return _FIG3["exact"][str(batch)][SIGMA_0.index(f"{sigma_0:g}")][_FIG3["epochs_exact"].index(epochs)]


def shuffled(batch: int, sigma_0: float, epochs: int) -> float:
    """Epsilon for shuffled epochs. For every batch size, an epoch uses a record once, in one full Gaussian release."""
    return epsilon_gaussian(delta=DELTA, noise_multiplier=sigma_0 / math.sqrt(epochs))


ACCOUNTANTS: dict[str, Callable[[int, float, int], float | None]] = {
    "Theorem 2, N_B = q N": partial(theorem_2, 1.0),
    "Theorem 2, N_B = 0.8 q N": partial(theorem_2, _FIG3["least"]),
    "closed form, any order": claimed_closed_form,
    "Renyi": renyi,
    "exact": exact,
    "shuffled epochs": shuffled,
}


def epsilons(batch: int, sigma_0: str, epochs: int = EPOCHS) -> dict[str, float | None]:
    """Epsilon at delta = 1e-5 by each of `ACCOUNTANTS` for Gaussian steps with multiplier sigma_0.

    The value is None if the accountant does not cover the steps.

    Source: [dpulr2024:fig3]
    """
    return {name: count(batch, float(sigma_0), epochs) for name, count in ACCOUNTANTS.items()}


def notes(rows: Rows) -> list[str]:
    """A table of the epsilons, and the paper's sentences about them, as Markdown."""
    table = []
    for batch in _TABLE1["batches"]:
        for sigma_0 in SIGMA_0:
            found = {name: "-" if e is None else f"{e:.4f}" for name, e in epsilons(batch, sigma_0).items()}
            table.append({"batch": str(batch), "sigma_0": sigma_0} | found)
    least = ", ".join(f"{largest_threshold(f'{m}/{N}', N)} of {m}" for m in _TABLE1["batches"])
    return _FIG3["notes"].format(epochs=EPOCHS, delta=DELTA, table=markdown_table(table), least=least).splitlines()


def _caption(runs: Trained) -> list[str]:
    return caption("fig3", runs)


def _draw(path: Path, rows: Rows, runs: Trained) -> None:
    from nfa.papers.dpulr2024.pictures import dynamics_figure

    drawn = {}
    for batch, sigma_0 in dict.fromkeys((cell.key["batch"], cell.key["sigma_0"]) for cell, _ in runs):
        at = {epoch: epsilons(int(batch), sigma_0, epoch) for epoch in range(1, EPOCHS + 1)}
        points = {name: [(epoch, found[name]) for epoch, found in at.items()] for name in ACCOUNTANTS}
        drawn[batch, sigma_0] = {
            name: kept for name, line in points.items() if (kept := [(t, e) for t, e in line if e is not None])
        }
    below = (
        "Accuracy: validation accuracy in percent. Below it, the ε at δ = 1e-5 of 60,000 records by several accounts."
    )
    title = "Accuracy and epsilon while training: forward learning and DP-SGD"
    dynamics_figure(path, runs, drawn, title=title, caption=[*_caption(runs), below])


FIG3 = Experiment.from_toml(
    _FIG3,
    id="dpulr2024:fig3",
    title='Figure 3 of "Forward Learning with Differential Privacy" (2024): accuracy on MNIST and epsilon by epoch',
    paper=paper,
    cells=cells,
    seeds=TABLE1.seeds,
    readings={CHOSEN: READINGS[CHOSEN]["why"]},
    of=TABLE1.id,
    tolerance=TABLE1.tolerance,
    band=TABLE1.band,
    not_comparable=TABLE1.not_comparable,
    extra_columns=TABLE1.extra_columns,
    measures="validation accuracy after the last epoch, in percent",
    notes=notes,
    runs_notes=convergence,
    caption=_caption,
    picture=_draw,
)
FIG3_REPAIRED = FIG3.repaired(sound)
