"""A rule by its name, its settings and a small network: what `nfa.audit.own_rule` audits."""

from dataclasses import replace
from typing import Any

import numpy as np

from nfa.audit.rule_games import Claim
from nfa.audit.worst_neighbours import NeighbourPair, Silent, draw_pair, no_noise
from nfa.experiments.bind import bind
from nfa.experiments.prepare import network_of
from nfa.experiments.settings import Settings, check_ranges
from nfa.mechanism import ADJACENCIES, Mechanism
from nfa.network import Net
from nfa.noise import Streams
from nfa.rules.spec import spec

MOST = 10_000  # weights and biases of a network: the search moves each of them by itself
WHERE = {"sampling": "none", "sampling_rate": 1.0}


def claim_of(settings: Settings) -> Claim:
    """The rule that the settings name, on the network that they name, and its own mechanism under their adjacency.

    Parameters
    ----------
    settings : Settings; rule, rule_settings, architecture (of at most `MOST` weights), activation, loss, feedback_law,
        feedback_scale, batch, adjacency and seed are used. Batches have ``batch`` records, or one more and any number
        fewer where records come and go

    Raises
    ------
    ValueError : for a bad setting, a rule that states no mechanism, or an adjacency that is not its mechanism's
    """
    check_ranges(settings)
    known = spec(settings.rule)
    if known.mechanism is None:
        raise ValueError(f"rule {settings.rule} states no mechanism, so there is nothing to audit")
    if settings.adjacency is None:
        raise ValueError(f"adjacency must be named, one of {', '.join(ADJACENCIES)}")
    streams = Streams(settings.seed)
    net = _network(settings, streams)
    bound, state = bind(known, settings, net, streams, settings.batch)
    given_B = bound.pop("B", [])
    silent = {name: no_noise for name in ("add_normal", "add_normal_each") if name in known.given}

    def rule(
        net: Net, B: list, x: np.ndarray, y: np.ndarray, rng: np.random.Generator, kept: dict, **other
    ) -> tuple[list, list]:
        own: dict[str, Any] = ({"B": B} if "B" in known.given else {}) | ({} if state is None else {"state": kept})
        return known.function(net, x, y, rng=rng, **{**bound, **own, **other})

    def stated(net: Net, B: list) -> Mechanism:
        said = known.release(settings.adjacency, bound | {"net": net, "B": B} | WHERE)
        if not isinstance(said, Mechanism):
            raise ValueError(
                f"this audit is for rules that state a sensitivity and noise of one law, and {settings.rule} states a"
                " Renyi curve"
            )
        return said

    def draw(rng: np.random.Generator) -> NeighbourPair:
        others = settings.batch - 1
        if settings.adjacency == "add-remove":
            others = int(rng.integers(settings.batch + 1))
        return draw_pair(net, given_B, adjacency=settings.adjacency or "", others=others, rng=rng)

    return Claim(
        name=settings.rule,
        rule=rule,
        quiet=lambda net, B, x, y, seed, kept: rule(net, B, x, y, Silent(np.random.PCG64(seed)), kept, **silent),
        mechanism=stated,
        draw=draw,
    )


def _network(settings: Settings, streams: Streams) -> Net:
    """The network that is named, in double precision; refused where the search would take hours."""
    net = network_of(replace(settings, dtype="float64"), streams)
    if net.n_parameters > MOST:
        has = f"{settings.architecture} has {net.n_parameters:,}"
        raise ValueError(f"a network of this audit has at most {MOST:,} weights and biases, {has}")
    return net
