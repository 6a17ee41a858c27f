"""A rule with its settings and a small network, in the form that `nfa.audit.own_rule` audits."""

from collections.abc import Callable
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
from nfa.network.own import is_text, sizes_of
from nfa.noise import Streams
from nfa.rules.spec import spec

MOST = 10_000  # largest number of weights and biases, because the search changes each value separately
LARGEST = 64  # some batches have up to this number of records, or up to twice the batch size if it is larger
CLASSES = (2, 3, 10)  # numbers of classes of the other networks that we draw
# Share of the pairs with a batch size that differs from the setting. It is also the share of pairs with copies, and of
# pairs with another number of classes.
SELDOM = 0.25
WHERE = {"sampling": "none", "sampling_rate": 1.0}


def claim_of(settings: Settings) -> Claim:
    """Return the rule and the network of the settings, with the rule's own mechanism under the chosen adjacency.

    Parameters
    ----------
    settings : Settings, of which we use rule, rule_settings, architecture (of at most `MOST` weights), activation,
        loss, feedback_law, feedback_scale, batch, adjacency and seed. Batches have ``batch`` records. Under add-remove,
        a batch has at most ``batch`` + 1 records. Some batches have up to `LARGEST` records or twice the batch size.
        Some batches contain copies of the record that differs. Some networks have another number of classes from
        `CLASSES`

    Raises
    ------
    ValueError : for a wrong setting, a rule that states no mechanism, or an adjacency that its mechanism does not have
    """
    check_ranges(settings)
    known = spec(settings.rule)
    if known.mechanism is None:
        raise ValueError(
            f"rule {settings.rule} states no mechanism, so nfa has no claim to audit: add a function `mechanism` to"
            " the module of the rule"
        )
    if settings.adjacency is None:
        raise ValueError(f"give an adjacency, one of {', '.join(ADJACENCIES)}")
    streams = Streams(settings.seed)
    net = _network(settings, streams)
    bounds: dict[int, dict] = {}  # {number of classes: keyword arguments of the rule}
    drawn = []  # pairs (network, feedback)
    for one in (net, *_with_other_classes(settings, net, streams)):
        bound, state = bind(known, settings, one, streams, settings.batch)
        drawn.append((one, bound.pop("B", [])))
        bounds[one.shape_h[one.L][0]] = bound

    def own(net: Net) -> dict[str, Any]:
        return bounds[net.shape_h[net.L][0]]

    silent = {name: no_noise for name in ("add_normal", "add_normal_each") if name in known.given}

    def rule(
        net: Net, B: list, x: np.ndarray, y: np.ndarray, rng: np.random.Generator, kept: dict, **other
    ) -> tuple[list, list]:
        given: dict[str, Any] = ({"B": B} if "B" in known.given else {}) | ({} if state is None else {"state": kept})
        return known.function(net, x, y, rng=rng, **{**own(net), **given, **other})

    def stated(net: Net, B: list) -> Mechanism:
        said = known.release(settings.adjacency, own(net) | {"net": net, "B": B} | WHERE)
        if not isinstance(said, Mechanism):
            raise ValueError(
                f"this audit needs a rule with a stated sensitivity and a stated law of the noise, but rule"
                f" {settings.rule} states a Renyi curve"
            )
        return said

    def quiet(net: Net, B: list, x: np.ndarray, y: np.ndarray, seed: int, kept: dict) -> tuple[list, list]:
        return rule(net, B, x, y, Silent(np.random.PCG64(seed)), kept, **silent)

    # Without a public m, a rule may divide by the size of the batch. A record in a smaller batch then changes the
    # direction more, which does not refute the claim. So no batch is smaller than the setting.
    sizes = (1 if "m" in own(net) else settings.batch, max(LARGEST, 2 * settings.batch))
    varied = all(_takes(quiet, drawn[0], records) for records in sizes)

    def draw(rng: np.random.Generator) -> NeighbourPair:
        others = settings.batch - 1
        if settings.adjacency == "add-remove":
            others = int(rng.integers(settings.batch + 1))
        if varied and rng.random() < SELDOM:  # draw a size whose logarithm is uniform
            others = int(sizes[0] * (sizes[1] / sizes[0]) ** rng.random()) - 1
        net, B = drawn[int(rng.integers(len(drawn)))] if rng.random() < SELDOM else drawn[0]
        return draw_pair(
            net,
            B,
            adjacency=settings.adjacency or "",
            others=others,
            place=int(rng.integers(others + 1)),
            copies=int(rng.integers(1, others + 1)) if others and rng.random() < SELDOM else 0,
            rng=rng,
        )

    classes = ", ".join(map(str, sorted(bounds)))
    most = sizes[1] if varied else settings.batch + (settings.adjacency == "add-remove")
    return Claim(
        name=settings.rule,
        rule=rule,
        quiet=quiet,
        mechanism=stated,
        draw=draw,
        not_drawn=(f"other numbers of outputs than {classes}", f"batches of more than {most} records"),
    )


def _with_other_classes(settings: Settings, net: Net, streams: Streams) -> list[Net]:
    """Networks with other numbers of classes from `CLASSES`, if the architecture is given as sizes or layers."""
    size = net.shape_h[net.L][0]
    if size == 1 or not (is_text(settings.architecture) or sizes_of(settings.architecture)):
        return []
    begin = settings.architecture.removesuffix(str(size))
    others = [replace(settings, architecture=f"{begin}{classes}") for classes in CLASSES if classes != size]
    return [_network(one, streams) for one in others]


def _takes(quiet: Callable, drawn: tuple[Net, list], records: int) -> bool:
    """Whether a rule accepts a batch of this number of records without a ValueError."""
    net, B = drawn
    y = np.eye(net.shape_h[net.L][0])[np.zeros(records, int)].astype(net.W[-1].dtype)
    try:
        quiet(net, B, np.zeros((records, *net.shape_h[0]), net.W[-1].dtype), y, 0, {})
    except ValueError:
        return False
    return True


def _network(settings: Settings, streams: Streams) -> Net:
    """The network of the settings, in double precision. Raises ValueError for more than `MOST` weights and biases."""
    net = network_of(replace(settings, dtype="float64"), streams)
    if net.n_parameters > MOST:
        has = f"{settings.architecture} has {net.n_parameters:,}"
        raise ValueError(f"a network of this audit must have at most {MOST:,} weights and biases, but {has}")
    return net
