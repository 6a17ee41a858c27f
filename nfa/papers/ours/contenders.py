"""The rules that are compared at equal epsilon: the run of each, under values that a search has drawn or chosen.

What is compared, and where is searched, is in equal_epsilon.toml for dense networks and in equal_epsilon_cnn.toml for
the convolutional one; what was chosen is in the files beside them whose names begin with "chosen".
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
OF_THE_RUN = ("activation", "architecture", "batch", "feedback_scale", "init")  # drawn, and of no rule


@dataclass(frozen=True, kw_only=True)
class Contest:
    """Rules that are compared on one kind of network, all with the same budget.

    Parameters
    ----------
    budget : delta; epsilons; trials of each rule at searched_at, over shorter times fewer epochs, of which finalists
        are run whole, at each epsilon with their step times its first length, the first lengthened of them times
        each; held_out images of MNIST that choose
    scales : {scale: data sets, epochs, epsilons, seeds, rules where not all of them, and what it is in words}
    run : settings that all have in common
    search : {setting: law} that all draw
    rules : {name: what it is called, needs, is given (run, own) and draws besides; in_steps = false if it has one step}
    chosen : "finalists", {rule: trials, the best first}, "chosen", {rule: the trial for each epsilon}, and "lengths",
        {rule: what its step is multiplied by}
    file : where ``chosen`` is from
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
        """The contest that a file describes, with what was chosen where that is in a file too."""
        parts = {"budget": "budget", "scales": "scale", "run": "run", "search": "search", "rules": "rule"}
        return cls(**{name: known[place] for name, place in parts.items()}, **chosen)

    def laws(self, rule: str) -> dict[str, dict[str, Any]]:
        """What a trial of a rule draws, and by which law."""
        known = self.rules[rule]
        return (self.search if known.get("in_steps", True) else {}) | known["search"]

    def draw(self, rule: str, trial: int) -> Values:
        """The values of a trial, by the rule and its number alone: each setting drawn by itself, or by turns.

        Source: [ours:trials] [ours:cnn-trials]

        Parameters
        ----------
        rule : a name in the file
        trial : int >= 0

        Returns
        -------
        values : {setting: value}, numbers with three digits; "step" is the one that is no setting, see `settings`
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
        """The run of a rule under values as `draw` gives them, with the noise that its own steps need.

        Source: [ours:equal-epsilon] [ours:cnn]

        Parameters
        ----------
        rule : a name in the file
        values : settings of the run and of the rule, and "step": how far a step moves the parameters if all records of
            a batch are at their bound and of one mind
        epsilon : float > 0, of the whole run
        dataset, epochs, seed, validation, tested : of the run
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
        """Values with their step times ``length``; without a step, with lam, which shrinks the noise, divided by it."""
        name, factor = ("step", length) if "step" in values else ("lam", 1 / length)
        return values | {name: _rounded(float(values[name]) * factor, 3)}

    def values_chosen(self, rule: str, epsilon: float, epochs: int) -> Values:
        """What was chosen for an epsilon: of the finalists for a whole run, for a shorter one the best trial.

        Source: [ours:finalists]
        """
        if epochs < self.scales["paper"]["epochs"]:
            return self.draw(rule, self.chosen["finalists"][rule][0])
        place = self.budget["epsilons"].index(epsilon)
        values = self.draw(rule, self.chosen["chosen"][rule][place])
        return self.lengthened(values, self.chosen["lengths"][rule][place])


def toml(name: str) -> dict[str, Any]:
    """A file of settings beside this module."""
    return tomllib.loads(files("nfa.papers.ours").joinpath(name).read_text(encoding="utf-8"))


def drawn(law: dict[str, Any], rng: np.random.Generator) -> float | int | str:
    """A value by a law, {"log": [low, high]} or {"of": values}; a number of the first has three digits."""
    if "log" in law:
        low, high = law["log"]
        return _rounded(math.exp(rng.uniform(math.log(low), math.log(high))), 3)
    value: float | int | str = law["of"][rng.integers(len(law["of"]))]
    return value


def bound(function: str, run: dict[str, Any], own: Values) -> float:
    """What one record can add to the sum over a batch, in l2 norm: the sensitivity times the batch.

    With Adam it is 1, because the size of its steps does not depend on that of the direction.

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
    slopes = [phi.gamma_max for phi in net.phi[1 + convolutions(net) : net.L]]
    if function == "pdfa_isotropic":
        clips = {"tau_B": float(own["tau_B"]), "tau_h_max": float(own["tau_h_max"])}
        return repaired_pdfa_sensitivity(
            m=1, gamma_max=slopes, bias=[1.0] * (len(slopes) + 1), adjacency=adjacency, **clips
        )
    layers = [LayerBound(gain_dz=slope * float(run["feedback_scale"])) for slope in slopes] + [LayerBound(gain_dz=1.0)]
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
    """Write what was chosen into the contest's file."""
    lines = [
        "# Written by `python -m nfa.papers.ours.tuning`: the best trials of each rule, the one for each epsilon, and",
        "# what its step is multiplied by.",
    ]
    for part, of_rules in found.items():
        lines += ["", f"[{part}]", *(f"{rule} = {trials}" for rule, trials in of_rules.items())]
    write_whole(Path(__file__).with_name(contest.file), ("\n".join(lines) + "\n").encode())
