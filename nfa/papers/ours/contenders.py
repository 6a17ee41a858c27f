"""The rules that are compared at equal epsilon: the run of each, under values that a search has drawn or chosen.

What is compared, and where is searched, is in equal_epsilon.toml.
"""

import math
import tomllib
import zlib
from dataclasses import fields
from importlib.resources import files
from typing import Any

import numpy as np

from nfa.experiments.settings import Settings
from nfa.network.ops import ACTIVATIONS
from nfa.sensitivity.dfa import LayerBound, corrected_dfa_sensitivity
from nfa.sensitivity.pdfa import repaired_pdfa_sensitivity

TOML = tomllib.loads(files("nfa.papers.ours").joinpath("equal_epsilon.toml").read_text(encoding="utf-8"))
BUDGET: dict[str, Any] = TOML["budget"]
RULES: dict[str, dict[str, Any]] = TOML["rule"]

Values = dict[str, float | int | str]
FIELDS = tuple(f.name for f in fields(Settings))


def draw(rule: str, trial: int) -> Values:
    """The values of a trial, a function of the rule and the trial's number: each searched setting drawn by itself.

    Parameters
    ----------
    rule : a name in equal_epsilon.toml
    trial : int >= 0

    Returns
    -------
    values : {setting: value}, numbers with three digits; "step" is the one that is no setting, see `settings`
    """
    rng = np.random.default_rng((zlib.crc32(rule.encode()), trial))
    values: Values = {}
    for name, law in (TOML["search"] | RULES[rule]["search"]).items():
        if "log" in law:
            low, high = law["log"]
            values[name] = _rounded(math.exp(rng.uniform(math.log(low), math.log(high))), 3)
        else:
            values[name] = law["of"][rng.integers(len(law["of"]))]
    return values


def settings(
    rule: str, values: Values, *, epsilon: float, dataset: str, epochs: int, seed: int, validation: float = 0.0
) -> Settings:
    """The run of a rule under values as `draw` gives them, with the noise that its own steps need.

    Parameters
    ----------
    rule : a name in equal_epsilon.toml
    values : settings of the run and of the rule, and "step": how far a step moves the parameters if all records of a
        batch are at their bound and of one mind
    epsilon : float > 0, of the whole run
    dataset, epochs, seed, validation : of the run
    """
    known = RULES[rule]
    run = TOML["run"] | known["run"] | {name: value for name, value in values.items() if name in FIELDS}
    own = {name: value for name, value in values.items() if name not in FIELDS and name != "step"}
    if "step" in values:
        run["lr"] = _rounded(float(values["step"]) / bound(run["rule"], run, own), 4)
    return Settings(
        **run,
        rule_settings=known.get("own", {}) | own,
        dataset=dataset,
        epochs=epochs,
        seed=seed,
        validation=validation,
        delta=BUDGET["delta"],
        target_epsilon=float(epsilon),
    )


def bound(function: str, run: dict[str, Any], own: Values) -> float:
    """What one record can add to the sum over a batch, in l2 norm: the sensitivity times the batch.

    Parameters
    ----------
    function : the rule's name in nfa.rules
    run, own : settings of the run and of the rule
    """
    if "C" in own:
        return float(own["C"])
    gamma, hidden = ACTIVATIONS[run["activation"]].gamma_max, run["architecture"].count("-") - 1
    if function == "dp_dfa":
        layers = [LayerBound(slope=gamma * float(run["feedback_scale"]))] * hidden + [LayerBound(slope=1.0)]
        clips = {"tau_e": float(own["tau_e"]), "tau_h": float(own["tau_h"])}
        return corrected_dfa_sensitivity(layers, m=1, adjacency=run["adjacency"], **clips)
    return repaired_pdfa_sensitivity(
        m=1,
        tau_B=float(own["tau_B"]),
        tau_h_max=float(own["tau_h_max"]),
        gamma_max=[gamma] * hidden,
        bias=[1.0] * (hidden + 1),
        adjacency=run["adjacency"],
    )


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")
