"""Figures 10 and 11 of Berthier (2019), Section 4.6: logistic regression on partial passes, with and without noise.

The file numbers.toml has the settings and the readings, which are choices that the report leaves open. The report
prints no losses, so `notes_fig10` and `notes_fig11` compare the runs with the statements in the report's text.
"""

import statistics
import tomllib
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
from scipy import optimize

from nfa import data
from nfa.clip import row_norms
from nfa.experiments.experiment import Cell, Experiment, Rows, TableCell, Trained
from nfa.experiments.settings import Settings
from nfa.papers.berthier2019.perturbation.problem import Problem
from nfa.privacy.rounding import up

_TOML = tomllib.loads(files("nfa.papers.berthier2019.logistic").joinpath("numbers.toml").read_text(encoding="utf-8"))
_FIGURES = _TOML["figures"]
WORDS: dict[str, float] = _FIGURES["words"]
TAUS: dict[str, float] = _FIGURES["tau"]
RIDGE: float = _FIGURES["data"]["ridge"]


def cells(figure: str, scale: str, seeds: list[int]) -> list[Cell]:
    """The runs of a figure at a scale: every reading, tau and seed. Some readings are run only with the first seeds.

    Source: [berthier2019:exp4.6]
    """
    fig = _TOML[figure]
    found = []
    for reading, most in fig["scale"][scale]["readings"].items():
        for tau in fig["taus"]:
            for seed in seeds[:most]:
                given = settings(figure, reading=reading, tau=tau, epochs=fig["scale"][scale]["epochs"], seed=seed)
                key = {"rule": fig["method"], "tau": tau, "reading": reading}
                name = f"{reading}-tau-{tau}-seed{seed}".replace(" = ", "-").replace(", ", "-")
                found.append(Cell(name.replace(" ", "-").replace("/", "-").lower(), given, key))
    return found


def settings(figure: str, *, reading: str, tau: str, epochs: int, seed: int) -> Settings:
    """One run of a figure.

    Parameters
    ----------
    figure : "fig10" or "fig11"
    reading : name of one of the figure's readings
    tau : one of `TAUS`
    epochs : e, the expected number of times that a record is used
    seed : int >= 0; runs with the same seed and the same tau use the same records in the same order
    """
    (chosen,) = (entry for entry in _TOML[figure]["reading"] if entry["name"] == reading)
    values = _FIGURES["setting"] | {"dataset": _FIGURES["data"]["dataset"], "epochs": epochs, "seed": seed}
    values["conversion"] = "mironov2017"
    values |= {"rule": "shuffled_sgd", "rule_settings": chosen["rule"] | {"ridge": RIDGE}, "tau": TAUS[tau]}
    private = _TOML[figure].get("private", {}) if chosen["rule"]["sigma"] else {}
    return Settings.from_json(values | private | chosen["run"])


@cache
def least(dataset: str, data_dir: str | None, ridge: float = RIDGE) -> float:
    """The minimum of the regularised objective on two-class data, at most 2.5e-10 too large for ridge 0.001.

    Source: [berthier2019:exp4.6]

    The objective is strongly convex with constant 2 ridge. So at a point with gradient g, the objective is at most
    ||g||^2 / (4 ridge) above the minimum. The function raises ValueError if the search finds no point with ||g|| <=
    1e-6.
    """
    found = data.load(dataset, data_dir)
    x = found.x_train.reshape(len(found.x_train), -1).astype(float)
    bound = float(row_norms(x).max())
    problem = Problem(loss="logistic", x=x, y=found.y_train.astype(float), lam=2 * ridge, x_bound=bound)
    start, how = np.zeros(x.shape[1]), {"ftol": 0, "gtol": 1e-9}
    best = optimize.minimize(problem.value, start, jac=problem.gradient, method="L-BFGS-B", options=how).x
    if np.linalg.norm(problem.gradient(best)) > 1e-6:
        raise ValueError(f"nfa finds no minimum of the objective on {dataset}")
    return problem.value(best)


def suboptimality(cell: Cell, record: dict[str, Any]) -> float:
    """The regularised training loss after the last epoch minus the minimum of the objective."""
    return record["history"][-1]["objective"] - least(cell.settings.dataset, cell.settings.data_dir)


def means(runs: Trained) -> dict[str, str]:
    """The additional values of a row: the training accuracy, in percent, averaged over the runs of the row."""
    accuracies = [100 * record["history"][-1]["train_accuracy"] for _, record in runs]
    mean = statistics.fmean(accuracies)
    return {"train. acc. %": TableCell(f"{mean:.1f}", {"train. acc. %": mean})}


def epsilon_and_means(runs: Trained) -> dict[str, str]:
    """The additional values of a row: the means, and the proved epsilon, rounded up.

    The epsilon holds if the random numbers of a run are secret.
    """
    guarantee = runs[0][1]["privacy"].get("guarantee")
    epsilon = None if guarantee is None else guarantee["epsilon"]
    return {"epsilon": TableCell("none" if epsilon is None else up(epsilon, 4), {"epsilon": epsilon})} | means(runs)


def not_comparable(settings: Settings, record: dict[str, Any]) -> str:
    """The reasons why the loss of a run cannot be compared with the figure. The report prints no losses."""
    why = ["the losses in the figure are not printed"]
    if record["data"]["name"] != "epsilon":
        why.append(f"{record['data']['name']}, synthetic records")
    if settings.epochs != WORDS["epochs"]:
        why.append(f"{settings.epochs} of {WORDS['epochs']:g} epochs")
    return "; ".join(why)


def gain(rows: Rows, reading: str) -> float | None:
    """The suboptimality for tau = 1/n divided by the suboptimality for tau = 1; None if one of the two is missing.

    Source: [berthier2019:fig10]

    Examples
    --------
    >>> gain([{"reading": "a", "tau": "1/n", "ours": 0.02}, {"reading": "a", "tau": "1", "ours": 0.001}], "a")
    20.0
    """
    ours = {row["tau"]: row["ours"] for row in rows if row["reading"] == reading}
    return ours["1/n"] / ours["1"] if {"1/n", "1"} <= ours.keys() else None


def largest_difference(rows: Rows, reading: str) -> float | None:
    """The largest difference between the mean losses of two values of tau; None if the reading has only one tau.

    Source: [berthier2019:fig11]

    Examples
    --------
    >>> largest_difference([{"reading": "a", "ours": 0.5}, {"reading": "a", "ours": 0.25}], "a")
    0.25
    """
    ours = [row["ours"] for row in rows if row["reading"] == reading]
    return max(ours) - min(ours) if len(ours) > 1 else None


def notes_fig10(rows: Rows) -> list[str]:
    """A comparison of these rows with the statements of section 4.6.2 about Figure 10, as lines of Markdown.

    Source: [berthier2019:fig10]
    """
    lines = [
        _HEAD,
        "",
        '"Sampling without replacement (tau = 1) is one order of magnitude better than with (tau = 1/n)". Here,',
    ]
    told = []
    for reading in _readings(rows):
        times = gain(rows, reading)
        told.append(f"{times:.1f} times smaller at {reading}" if times else f"not run with both tau at {reading}")
    lines.append(f"the suboptimality with tau = 1 is {', '.join(told)}.")
    interpolate = all(
        [row["ours"] for row in rows if row["reading"] == reading]
        == sorted((row["ours"] for row in rows if row["reading"] == reading), reverse=True)
        for reading in _readings(rows)
    )
    verdict = "This is the case here." if interpolate else "This is not always the case here."
    lines.append(f"The text claims that the other values of tau give a suboptimality in between. {verdict}")
    low = min(float(row["train. acc. %"]) for row in rows if row["reading"] == _readings(rows)[0])
    lines.append(
        f'"More than {WORDS["accuracy"]:g} % training accuracy": we have at least {low:.1f} % at {_readings(rows)[0]}.'
    )
    return [*lines, "", _TOML["fig10"]["closing"], ""]


def notes_fig11(rows: Rows) -> list[str]:
    """A comparison of these rows with the statements of section 4.6.2 about Figure 11, as lines of Markdown.

    Source: [berthier2019:fig11] [berthier2019:sec4.6.3]
    """
    lines = [
        _HEAD,
        "",
        '"We see no difference of loss between values of tau". Runs of one seed have the same noise for all tau. The',
        "list has the largest difference between tau, and the standard deviation between seeds.",
        "",
    ]
    for reading in _readings(rows):
        own = [row for row in rows if row["reading"] == reading]
        sd, most = max(row["sd"] or 0 for row in own), largest_difference(rows, reading)
        told = "only one tau was run" if most is None else f"{most:.6f} at most"
        lines.append(f"- {reading}: {told}, standard deviation {sd:.6f}.")
    lines.append("")
    accuracies = [float(row["train. acc. %"]) for row in rows if row["reading"] == _readings(rows)[0]]
    lines.append(f'"Around {WORDS["private_accuracy"]:g} %" training accuracy: we have {min(accuracies):.1f} to')
    lines.append(f"{max(accuracies):.1f} % at {_readings(rows)[0]}.")
    return [*lines, "", _TOML["fig11"]["closing"], ""]


_HEAD = "## What the text says, and what these runs show"


def _readings(rows: Rows) -> list[str]:
    return list(dict.fromkeys(row["reading"] for row in rows))


def _draw(figure: str, headline: str, path: Path, rows: Rows, runs: Trained) -> None:
    from nfa.papers.berthier2019.logistic.pictures import suboptimality_figure

    def low(cell: Cell) -> float:
        return least(cell.settings.dataset, cell.settings.data_dir)

    title = f"{headline} ({runs[0][1]['data']['name']})"
    suboptimality_figure(path, runs, low, title, log=figure == "fig10")


def _figure(figure: str, title: str, headline: str, notes) -> Experiment:
    return Experiment.from_toml(
        _FIGURES | _TOML[figure],
        id=f"berthier2019:{figure}",
        title=title,
        cells=partial(cells, figure),
        examples="records",
        value=suboptimality,
        measures="regularised training loss less its minimum, after the last epoch",
        digits=6,
        not_comparable=not_comparable,
        extra_columns=epsilon_and_means if figure == "fig11" else means,
        notes=notes,
        picture=partial(_draw, figure, headline),
    )


FIG10 = _figure(
    "fig10",
    "Figure 10 of Berthier (2019): suboptimality of SGD without noise, by the share tau of the data that a pass takes",
    "SGD without noise on partial passes",
    notes_fig10,
)
FIG11 = _figure(
    "fig11",
    "Figure 11 of Berthier (2019): suboptimality of DP-SGD, by the share tau of the data that a pass takes",
    "DP-SGD on partial passes",
    notes_fig11,
)
