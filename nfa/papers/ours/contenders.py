"""The rules that we compare at equal epsilon, and their runs with the values that a search has drawn or chosen.

The file equal_epsilon.toml describes the comparison and the search for dense networks. The file equal_epsilon_cnn.toml
describes the comparison and the search for the convolutional network. The files chosen.toml and chosen_cnn.toml contain
the chosen values.
"""

import math
import tomllib
import zlib
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

import numpy as np

from nfa.experiments.settings import Settings
from nfa.network import ARCHITECTURES, Net, mlp
from nfa.network.ops import ACTIVATIONS
from nfa.network.own import sizes_of
from nfa.rules.hybrid import convolutions
from nfa.sensitivity.dfa import LayerBound, corrected_dfa_sensitivity, hybrid_sensitivity
from nfa.sensitivity.pdfa import repaired_pdfa_sensitivity
from nfa.whole import write_whole

Values = dict[str, float | int | str]
OF_THE_RUN = ("activation", "architecture", "batch", "feedback_scale", "init")  # drawn settings of the run


@dataclass(frozen=True, kw_only=True)
class Contest:
    """The rules that we compare on one kind of network, all with the same budget.

    Parameters
    ----------
    budget : delta, epsilons and the sizes of the search. `trials` is the number of trials of each rule. Trials have the
        epsilon `searched_at`, and `shorter` times fewer epochs than a whole run. `finalists` is the number of best
        trials that are run with all epochs at each epsilon. For each epsilon, `lengths` lists factors of the step. The
        first `lengthened` finalists are run with every factor, the other finalists only with the first factor.
        `held_out` is the number of MNIST images on which the trials are compared
    scales : {scale: its data sets, epochs, epsilons, seeds and description}. A scale without some of the rules also
        lists its rules
    run : settings that all runs share
    search : {setting: law}, the settings that every rule draws unless it has in_steps = false
    rules : {name: its title, needs, given settings (run, own) and further draws}; in_steps = false if the rule releases
        a minimiser and makes no steps
    chosen : "finalists": {rule: trials, the best first}. "chosen": {rule: the trial for each epsilon}. "lengths":
        {rule: the factor of the step for each epsilon}
    file : name of the file with ``chosen``
    """

    budget: dict[str, Any]
    scales: dict[str, dict[str, Any]]
    run: dict[str, Any]
    search: dict[str, dict[str, Any]]
    rules: dict[str, dict[str, Any]]
    chosen: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    file: str = ""

    @classmethod
    def read(cls, ending: str) -> Self:
        """The contest of the files with this ending: "" or "_cnn"."""
        file = f"chosen{ending}.toml"
        return cls.of(toml(f"equal_epsilon{ending}.toml"), chosen=toml(file), file=file)

    @classmethod
    def of(cls, known: dict[str, Any], **chosen: Any) -> Self:
        """The contest that a file describes. The keyword arguments are the chosen values and the name of their file."""
        parts = {"budget": "budget", "scales": "scale", "run": "run", "search": "search", "rules": "rule"}
        return cls(**{name: known[place] for name, place in parts.items()}, **chosen)

    def laws(self, rule: str) -> dict[str, dict[str, Any]]:
        """The settings that a trial of a rule draws, and their laws."""
        known = self.rules[rule]
        return (self.search if known.get("in_steps", True) else {}) | known["search"]

    def draw(self, rule: str, trial: int) -> Values:
        """The values of a trial, which depend only on the rule and the trial's number.

        Settings are drawn independently of each other. A setting with "turns" in its law takes its values in turn.

        Source: [ours:trials] [ours:cnn-trials]

        Parameters
        ----------
        rule : a name in the file
        trial : int >= 0

        Returns
        -------
        values : {setting: value}; a number from a "log" law has three significant digits. The method `settings`
            computes the learning rate of a run from "step"
        """
        rng = np.random.default_rng((zlib.crc32(rule.encode()), trial))
        values: Values = {}
        for name, law in self.laws(rule).items():
            if "turns" in law:
                values[name] = law["turns"][trial % len(law["turns"])]
            else:
                values[name] = drawn(law, rng)
        return values

    def settings(
        self,
        rule: str,
        values: Values,
        *,
        epsilon: float,
        dataset: str,
        epochs: int,
        seed: int,
        validation: float = 0.0,
        tested: bool = True,
    ) -> Settings:
        """The run of a rule with values as `draw` gives them, and with the noise that its steps need.

        Source: [ours:equal-epsilon] [ours:cnn]

        Parameters
        ----------
        rule : a name in the file
        values : settings of the run and of the rule, and "step". "step" is the distance by which a step moves the
            parameters if all records of a batch are at their bound and have the same direction
        epsilon : float > 0, for the whole run
        dataset, epochs, seed, validation, tested : settings of the run
        """
        known = self.rules[rule]
        run = self.run | known["run"] | {name: value for name, value in values.items() if name in OF_THE_RUN}
        own = {name: value for name, value in values.items() if name not in OF_THE_RUN and name != "step"}
        if "step" in values:
            run["lr"] = _rounded(float(values["step"]) / bound(run["rule"], run, own), 4)
        return Settings(
            **{"epochs": epochs} | run,
            rule_settings=known.get("own", {}) | own,
            dataset=dataset,
            seed=seed,
            validation=validation,
            tested=tested,
            delta=self.budget["delta"],
            target_epsilon=float(epsilon),
        )

    def lengthened(self, values: Values, length: float) -> Values:
        """Values with "step" multiplied by ``length``.

        If there is no "step", `lam` is divided by ``length``. A larger `lam` means less noise.
        """
        name, factor = ("step", length) if "step" in values else ("lam", 1 / length)
        return values | {name: _rounded(float(values[name]) * factor, 3)}

    def values_chosen(self, rule: str, epsilon: float, epochs: int) -> Values:
        """The chosen values for an epsilon: a finalist for a whole run, the best trial for a shorter run.

        Source: [ours:finalists]
        """
        if epochs < self.scales["paper"]["epochs"]:
            return self.draw(rule, self.chosen["finalists"][rule][0])
        place = self.budget["epsilons"].index(epsilon)
        values = self.draw(rule, self.chosen["chosen"][rule][place])
        return self.lengthened(values, self.chosen["lengths"][rule][place])


def toml(name: str) -> dict[str, Any]:
    """A file of settings in this module's folder."""
    return tomllib.loads(files("nfa.papers.ours").joinpath(name).read_text(encoding="utf-8"))


def drawn(law: dict[str, Any], rng: np.random.Generator) -> float | int | str:
    """A value drawn from {"log": [low, high]}, with three digits, or from {"of": values}."""
    if "log" in law:
        low, high = law["log"]
        return _rounded(math.exp(rng.uniform(math.log(low), math.log(high))), 3)
    value: float | int | str = law["of"][rng.integers(len(law["of"]))]
    return value


def bound(function: str, run: dict[str, Any], own: Values) -> float:
    """The sensitivity of a rule's mean direction times the batch size: a bound on the effect of one record on the sum.

    With Adam, the result is 1, because the size of Adam's steps does not depend on the size of the direction.

    Parameters
    ----------
    function : the rule's name in nfa.rules
    run, own : settings of the run and of the rule
    """
    if run.get("optimizer") == "adam":
        return 1.0
    if "C" in own:
        return float(own["C"])
    adjacency = run["adjacency"]
    net = _network(run["architecture"], run.get("activation"))
    derivatives = [phi.gamma_max for phi in net.phi[1 + convolutions(net) : net.L]]
    if function == "pdfa_isotropic":
        clips = {"tau_B": float(own["tau_B"]), "tau_h_max": float(own["tau_h_max"])}
        return repaired_pdfa_sensitivity(
            m=1, gamma_max=derivatives, bias=[1.0] * (len(derivatives) + 1), adjacency=adjacency, **clips
        )
    scale = float(run["feedback_scale"])
    layers = [*(LayerBound(gain_dz=derivative * scale) for derivative in derivatives), LayerBound(gain_dz=1.0)]
    dfa = {"m": 1, "tau_e": float(own["tau_e"]), "tau_h": float(own["tau_h"]), "adjacency": adjacency}
    if function == "dp_hybrid":
        return hybrid_sensitivity(layers, ell=convolutions(net), tau=float(own["tau"]), **dfa)
    return corrected_dfa_sensitivity(layers, **dfa)


@cache
def _network(architecture: str, activation: str | None) -> Net:
    rng = np.random.default_rng(0)
    if architecture in ARCHITECTURES:
        return ARCHITECTURES[architecture](rng=rng)
    return mlp(sizes_of(architecture), ACTIVATIONS[activation or "tanh"], rng=rng)


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")


DENSE = Contest.read("")
CNN = Contest.read("_cnn")


def write(contest: Contest, found: dict[str, dict[str, Any]]) -> None:
    """Write the chosen values into the contest's file."""
    lines = [
        "# Written by `python -m nfa.papers.ours.tuning`: the best trials of each rule, the one for each epsilon, and",
        "# what its step is multiplied by.",
    ]
    for part, of_rules in found.items():
        lines += ["", f"[{part}]", *(f"{rule} = {trials}" for rule, trials in of_rules.items())]
    write_whole(Path(__file__).with_name(contest.file), ("\n".join(lines) + "\n").encode())
