"""Figures 2 to 4 of Lee & Kifer (2020), Section 5: DP-BP, DP-DFA, the hybrid, and the network without privacy.

The file numbers.toml has the settings and the readings. A reading is our choice where the paper leaves a setting open.
The paper prints no accuracies, so `nfa.papers.lee2020.claims_in_words` compares the runs with the sentences of the
paper's text.
"""

import math
import tomllib
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from nfa import feedback
from nfa.experiments.experiment import Cell, Experiment, Rows, Trained
from nfa.experiments.prepare import network_of
from nfa.experiments.report import proved_epsilon
from nfa.experiments.settings import Settings
from nfa.noise import Streams
from nfa.papers.lee2020.claims import claimed_tau_h
from nfa.papers.lee2020.claims_in_words import caption, notes
from nfa.papers.lee2020.run_scope import differs, images
from nfa.sensitivity.dfa import LayerBound, corrected_tau_h, hybrid_thresholds, layer_bounds

_TOML = tomllib.loads(files("nfa.papers.lee2020").joinpath("numbers.toml").read_text(encoding="utf-8"))
_FIGURES = _TOML["figures"]
READINGS: dict[str, dict[str, Any]] = {reading["name"]: reading for reading in _FIGURES["reading"]}
SOUND = next(iter(READINGS))
SENSITIVITY = {net: _TOML["network"][net]["sensitivity"] for net in ("CNN", "FC")}  # S
TRANSCRIPTION = _FIGURES["transcription"]
RULES = {"BP": "bp", "DP-BP": "dp_sgd", "DP-DFA": "dp_dfa", "hybrid": "dp_hybrid"}  # method: rule
DIGITS = 6  # significant digits of a threshold; rounding down keeps the sensitivity at most S on every machine
NOT_PRINTED = "the accuracies in the figure are not printed"


def cells(figure: str, scale: str, seeds: list[int]) -> list[Cell]:
    """The runs of a figure at a scale: every data set, reading, method, noise and seed. Sigma 0 means only clips.

    Source: [lee2020:exp-cnn] [lee2020:exp-fc]
    """
    fig = _TOML[figure]
    found = []
    for run in fig["scale"][scale]["runs"]:
        data, reading = run["data"], run["reading"]
        for method in fig["methods"]:
            if method not in READINGS[reading].get("methods", RULES):
                continue
            for sigma in ["non-private"] if method == "BP" else run["sigma"]:
                key = {"data": data} if len(fig["data"]) > 1 else {}
                key |= {"rule": method, "sigma": sigma, "reading": reading}
                for seed in seeds[: run.get("most_seeds")]:
                    given = {"data": data, "method": method, "sigma": sigma, "reading": reading}
                    name = "-".join([*key.values(), f"seed{seed}"]).lower()
                    found.append(Cell(name, settings(figure, **given, scale=scale, seed=seed), key))
    return found


def settings(figure: str, *, data: str, method: str, sigma: str, reading: str, scale: str, seed: int) -> Settings:
    """One run of a figure.

    Parameters
    ----------
    figure : "fig2", "fig3" or "fig4"
    data : "Fashion-MNIST" or "CIFAR-10"
    method : one of `RULES`
    sigma : as in the paper, at the paper's batch size; "0" for clips without noise, "non-private" for BP
    reading : one of `READINGS`
    scale : "demo", "small" or "paper"
    seed : int >= 0; runs with the same seed share initialisation, feedback and batches if their settings allow it
    """
    fig, chosen, network = _TOML[figure], _TOML[figure]["scale"][scale], _TOML["network"][_TOML[figure]["net"]]
    shape = tuple(chosen.get("shape", fig["data"][data].get("shape", ())))
    values = {"dataset": fig["data"][data]["dataset"], "epochs": fig["epochs"], "batch": network["batch"], "seed": seed}
    values |= _FIGURES["setting"] | READINGS[SOUND]["run"] | READINGS[reading].get("run", {}) | chosen["run"]
    backward = method in ("BP", "DP-BP") and reading != "same-activations"
    values["architecture"] = fig["data"][data]["bp_architecture" if backward and shape else "architecture"]
    if method == "BP":
        del values["delta"]
        return Settings.from_json(values | {"rule": RULES[method]})
    own = {"sigma": float(sigma) * network["batch"] / values["batch"]}  # sigma m / S is the paper's noise multiplier
    own |= clips(method, reading, fig["net"], values["architecture"], shape)
    values |= _FIGURES["private"] | {"conversion": "mironov2017"}
    return Settings.from_json(values | {"rule": RULES[method], "rule_settings": own})


@cache
def clips(method: str, reading: str, net: str, architecture: str, shape: tuple[int, ...]) -> dict[str, Any]:
    """The clipping bounds of a method at the sensitivity that the paper states, as arguments of its rule.

    Parameters
    ----------
    method : "DP-BP", "DP-DFA" or "hybrid"
    reading : one of `READINGS`; "printed" computes tau_h from the printed sensitivity, which is no bound
    net : "FC" or "CNN"
    architecture : name in `nfa.network.ARCHITECTURES`
    shape : shape of an image, for a CNN; () if the architecture has its own shape

    Raises
    ------
    ValueError : if no bound gives the sensitivity; the message contains the least possible sensitivity
    """
    S, tau_e = SENSITIVITY[net], _FIGURES["clips"]["tau_e"]
    if method == "DP-BP":
        return {"C": S / 2}
    layers = bounds(architecture, shape)
    if method == "hybrid":
        dense = [bound for bound in layers if bound.gain_W == 1]
        tau, tau_h = hybrid_thresholds(dense, L=len(layers), S=S, tau_e=tau_e)
        return {"tau": rounded_down(tau), "tau_e": tau_e, "tau_h": [rounded_down(t) for t in tau_h]}
    if reading == "printed":
        beta, gamma = _FIGURES["setting"]["feedback_scale"], _FIGURES["phi"][net]
        found = claimed_tau_h(S=S, L=len(layers), gamma=gamma, beta=beta, tau_e=tau_e)
    else:
        found = corrected_tau_h(layers, S=S, tau_e=tau_e)
    return {"tau_e": tau_e, "tau_h": rounded_down(found)}


@cache
def bounds(
    architecture: str,
    shape: tuple[int, ...] = (),
    *,
    activation: str | None = None,
    beta: float = _FIGURES["setting"]["feedback_scale"],
    **top: Any,
) -> list[LayerBound]:
    """Bounds on the effect of one record on each layer in DFA, which depend only on shapes, gamma, beta and the top.

    Parameters
    ----------
    architecture : name in `nfa.network.ARCHITECTURES`, or a text such as 784-128-256-10
    shape : as for `clips`
    activation : activation of the hidden layers, if the architecture is a text
    beta : spectral norm of the feedback
    top : top and beta_top of `nfa.rules.dp_dfa.dp_dfa`, with tau_e if `nfa.sensitivity.dfa.layer_bounds` needs it
    """
    of = Settings(architecture=architecture, activation=activation, dtype="float64")
    net = network_of(of, Streams(0), shape or None)
    B = feedback.draw(net, law=_FIGURES["setting"]["feedback_law"], scale=beta, rng=np.random.default_rng(0))
    return layer_bounds(net, B, **top)


def rounded_down(value: float) -> float:
    """A positive number rounded down to `DIGITS` significant digits.

    Examples
    --------
    >>> rounded_down(9.4765976164), rounded_down(0.25)
    (9.47659, 0.25)
    """
    places = DIGITS - 1 - math.floor(math.log10(value))
    return math.floor(value * 10**places) / 10**places


def not_comparable(figure: str, settings: Settings, record: dict[str, Any]) -> str:
    """The reasons why the accuracy of a run cannot be compared with the figure.

    The first reason is that the figure prints no accuracy. The other reasons are differences from the paper.
    """
    return "; ".join([NOT_PRINTED, *differs(figure, settings, record)])


def printed_epsilons(figure: str) -> dict[str, dict[int, float]]:
    """The epsilons in the captions for the figure's kind of network: {sigma: {epochs: epsilon}}."""
    captions = [caption for caption in _TOML["epsilons"]["caption"] if caption["net"] == _TOML[figure]["net"]]
    return {entry["sigma"]: dict(zip(entry["epochs"], entry["epsilon"], strict=True)) for entry in captions}


def extra_columns(figure: str, runs: Trained) -> dict[str, str]:
    """Additional columns of a row: the proved epsilon, and "data" if the images are not the published ones.

    "data" then has the name and the number of images. If the row already has an entry "data", this text replaces it.
    """
    (*_, only) = _TOML[figure]["data"]
    cell, record = runs[0]
    bare = cell.key.get("data", only)
    named = images(bare, record)
    return ({} if named == bare else {"data": named}) | proved_epsilon(runs)


def _draw(figure: str, title: str, path: Path, rows: Rows, runs: Trained) -> None:
    from nfa.papers.lee2020.pictures import private_figure

    delta, printed = _FIGURES["setting"]["delta"], printed_epsilons(figure)
    private_figure(path, figure, runs, title=title, delta=delta, printed=printed, caption=caption(figure, runs))


def _figure(figure: str, title: str, headline: str) -> Experiment:
    return Experiment.from_toml(
        _FIGURES | _TOML[figure],
        id=f"lee2020:{figure}",
        title=title,
        cells=partial(cells, figure),
        not_comparable=partial(not_comparable, figure),
        extra_columns=partial(extra_columns, figure),
        runs_notes=partial(notes, figure),
        caption=partial(caption, figure),
        picture=partial(_draw, figure, headline),
    )


def _sound(cell: Cell) -> bool:
    """Whether the thresholds of a run come from a sensitivity that holds, not from the printed sensitivity."""
    return cell.key["reading"] != "printed"


FIG2 = _figure(
    "fig2",
    "Figure 2 of Lee & Kifer (2020): test accuracy of private CNNs on Fashion-MNIST, in percent",
    "Private training of a CNN on Fashion-MNIST",
)
FIG3 = _figure(
    "fig3",
    "Figure 3 of Lee & Kifer (2020): test accuracy of private CNNs on CIFAR-10, in percent",
    "Private training of a CNN on CIFAR-10",
)
FIG4 = _figure(
    "fig4",
    "Figure 4 of Lee & Kifer (2020): test accuracy of private fully connected networks, in percent",
    "Private training of fully connected networks",
)
FIG2_REPAIRED, FIG3_REPAIRED, FIG4_REPAIRED = (figure.repaired(_sound) for figure in (FIG2, FIG3, FIG4))
