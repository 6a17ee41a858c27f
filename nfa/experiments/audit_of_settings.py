"""A rule by its name, its settings and a small network: what `nfa.audit.own_rule` audits."""

import inspect
import sys
from typing import Any

import numpy as np

from nfa.audit.own_rule import Claim
from nfa.audit.worst_neighbours import Place, Silent, draw_place, no_noise
from nfa.experiments.prepare import bind
from nfa.experiments.rule_lookup import rule_function
from nfa.experiments.settings import Settings, check_ranges
from nfa.mechanism import Mechanism
from nfa.network import Net, mlp
from nfa.network.ops import ACTIVATIONS, LOSSES
from nfa.noise import Streams

WHERE = {"sampling": "none", "sampling_rate": 1.0}


def claim_of(settings: Settings) -> Claim:
    """The rule that the settings name, on a fully connected network, and its own mechanism under their adjacency.

    Parameters
    ----------
    settings : Settings; rule, rule_settings, architecture (sizes such as 4-3-2), activation, loss, feedback_law,
        feedback_scale, batch, adjacency and seed are used. Batches have ``batch`` records, or one more and any number
        fewer where records come and go

    Raises
    ------
    ValueError : for a bad setting, a rule that states no mechanism, or an adjacency that is not its mechanism's
    """
    check_ranges(settings)
    function = rule_function(settings.rule)
    mechanism_of = getattr(sys.modules[function.__module__], "mechanism", None)
    if mechanism_of is None:
        raise ValueError(f"rule {settings.rule} states no mechanism, so there is nothing to audit")
    if settings.adjacency is None:
        raise ValueError("adjacency must be named: replace-one, add-remove or replace-label")
    streams = Streams(settings.seed)
    net = _network(settings, streams)
    bound, state = bind(function, settings, net, streams, settings.batch)
    given_B = bound.pop("B", [])
    parameters = inspect.signature(function).parameters
    defaults = {p.name: p.default for p in parameters.values() if p.default is not inspect.Parameter.empty}
    silent = {"add_normal": no_noise} if "add_normal" in parameters else {}

    def rule(net: Net, B: list, x: np.ndarray, y: np.ndarray, rng: np.random.Generator, **other) -> tuple[list, list]:
        own: dict[str, Any] = ({"B": B} if "B" in parameters else {}) | ({} if state is None else {"state": {}})
        return function(net, x, y, rng=rng, **{**bound, **own, **other})

    def stated(net: Net, B: list) -> Mechanism:
        known = {**defaults, **bound, "net": net, "B": B, "adjacency": settings.adjacency, **WHERE}
        try:
            said = mechanism_of(
                **{name: known[name] for name in inspect.signature(mechanism_of).parameters if name in known}
            )
        except (TypeError, KeyError, AttributeError) as failure:
            raise ValueError(f"the mechanism of rule {settings.rule} fails: {failure}") from failure
        if said.adjacency != settings.adjacency:
            raise ValueError(f"adjacency must be {said.adjacency} for rule {settings.rule}, got {settings.adjacency}")
        return said

    def draw(rng: np.random.Generator) -> Place:
        others = settings.batch - 1
        if settings.adjacency == "add-remove":
            others = int(rng.integers(settings.batch + 1))
        return draw_place(net, given_B, adjacency=settings.adjacency or "", others=others, rng=rng)

    return Claim(
        name=settings.rule,
        rule=rule,
        quiet=lambda net, B, x, y, seed: rule(net, B, x, y, Silent(np.random.PCG64(seed)), **silent),
        mechanism=stated,
        draw=draw,
    )


def _network(settings: Settings, streams: Streams) -> Net:
    sizes = settings.architecture.split("-")
    if len(sizes) < 2 or not all(s.isascii() and s.isdigit() and int(s) >= 1 for s in sizes):
        raise ValueError(f"architecture must be sizes such as 4-3-2 for this audit, got {settings.architecture!r}")
    phi = ACTIVATIONS[settings.activation or "tanh"]
    return mlp([int(s) for s in sizes], phi, loss=LOSSES[settings.loss], rng=streams("init"))
