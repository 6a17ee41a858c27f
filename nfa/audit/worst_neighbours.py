"""A search for the neighbours with the largest distance between a rule's directions, compared with its sensitivity.

The search first draws random networks, feedback and records. It then maximises the distance between the two directions
without noise by ascents. The ascents begin at the best of the random pairs and of the pairs that the caller offers. A
distance above the stated sensitivity refutes this sensitivity with certainty. If all distances are smaller, this
proves nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import optimize

from nfa import require
from nfa.mechanism import ADJACENCIES
from nfa.network import Net
from nfa.network.ops import squared_error

LEAST_STEP = 1e-9  # an accepted random step increases the distance at least by this relative amount
# Under these adjacencies, world 0 leaves a record out. Under zero-out, world 0 would have a zero record in its place.
# The release would not change, so world 0 leaves the record out under zero-out too.
LEFT_OUT = ("add-remove", "zero-out")


@dataclass(frozen=True, kw_only=True, eq=False)
class NeighbourPair:
    """The input of a rule in two worlds: a network, its feedback, and two neighbouring batches.

    Parameters
    ----------
    net : Net
    B : list of feedback matrices, None for a layer without a matrix; [] for a rule without feedback
    x, y : pairs of arrays for world 0 and world 1, which differ in the last record
    adjacency : "replace-one"; "replace-label", if x is equal in the two worlds; or a name in `LEFT_OUT`, if world 0
        does not have the last record
    place : int, the row of the last record in `batch`; None for the last row
    copies : int >= 0, number of the first records that are copies of world 1's last record in both worlds
    """

    net: Net
    B: list
    x: tuple[np.ndarray, np.ndarray]
    y: tuple[np.ndarray, np.ndarray]
    adjacency: str
    place: int | None = None
    copies: int = 0

    def batch(self, world: int) -> tuple[np.ndarray, np.ndarray]:
        """The rule's input (x, y) in a world: the records in order, with the differing record in row ``place``."""
        x, y = self.x[world], self.y[world]
        if self.place is None or len(x) < len(self.x[1]):
            return x, y
        order = np.insert(np.arange(len(x) - 1), self.place, len(x) - 1)
        return x[order], y[order]

    @property
    def records(self) -> list[np.ndarray]:
        """The inputs that an ascent changes: the differing record in world 1 and, under replace-one, in world 0."""
        return [self.x[0][-1], self.x[1][-1]] if self.adjacency == "replace-one" else [self.x[1][-1]]

    @property
    def theta(self) -> np.ndarray:
        """All values that the ascent changes, as one vector: weights, biases, feedback, and the records that differ."""
        matrices = [M for M in self.B if M is not None]
        return np.concatenate([a.ravel() for a in (*self.net.W[1:], *self.net.b[1:], *matrices, *self.records)])

    def at(self, theta: np.ndarray) -> "NeighbourPair":
        """The pair with the values theta in place of its own values."""
        start = 0

        def take(like: np.ndarray) -> np.ndarray:
            nonlocal start
            start += like.size
            return theta[start - like.size : start].reshape(like.shape).astype(like.dtype)

        net = self.net.copy()
        net.W = [None, *map(take, net.W[1:])]
        net.b = [None, *map(take, net.b[1:])]
        B = [None if M is None else take(M) for M in self.B]
        return replace(self, net=net, B=B).with_records([take(record) for record in self.records])

    def with_records(self, records: list[np.ndarray]) -> "NeighbourPair":
        """The pair with new inputs for the differing record and its copies, in the order of `records`."""
        worlds: dict[str, list] = {
            "replace-one": records, "replace-label": 2 * records,
            "add-remove": [None, *records], "zero-out": [None, *records],
        }  # fmt: skip

        def changed(x: np.ndarray, record: np.ndarray | None) -> np.ndarray:
            x = x.copy()
            if record is not None:
                x[-1] = record
            x[: self.copies] = records[-1]
            return x

        one, other = (changed(x, record) for x, record in zip(self.x, worlds[self.adjacency], strict=True))
        return replace(self, x=(one, other))


@dataclass(frozen=True, kw_only=True, eq=False)
class SearchResult:
    """The result of a search.

    Parameters
    ----------
    ratio : float >= 0, the largest distance between two directions, divided by the stated sensitivity
    drawn : float >= 0, the largest ratio among the random draws
    pair : NeighbourPair with the largest ratio
    """

    ratio: float
    drawn: float
    pair: NeighbourPair


# answer(net, B, x, y) is the rule's release without noise, as one vector. stated(net, B) is the stated sensitivity.
Answer = Callable[[Net, list, np.ndarray, np.ndarray], np.ndarray]
StatedSensitivity = Callable[[Net, list], float]


def ratio(answer: Answer, stated: StatedSensitivity, pair: NeighbourPair, *, not_finite: float = 0.0) -> float:
    """The l2 distance between the two directions, divided by the stated sensitivity.

    If the distance is not finite, the result is ``not_finite``.

    With ``not_finite`` = 0, an ascent avoids points with a distance that is not finite. To test whether a rule is safe
    for all finite records, set ``not_finite`` to infinity.
    """
    with np.errstate(all="ignore"):
        one, other = (np.asarray(answer(pair.net, pair.B, *pair.batch(world)), float) for world in (0, 1))
        distance = float(np.linalg.norm((other - one) / stated(pair.net, pair.B)))
    return distance if np.isfinite(distance) else not_finite


def climb(
    answer: Answer, stated: StatedSensitivity, pair: NeighbourPair, *, evaluations: int, rng: np.random.Generator
) -> NeighbourPair:
    """Ascend from a pair. Half of the evaluations are for L-BFGS with numerical gradients, the others for random steps.

    We need random steps because the gradient does not exist at the kinks of the clips. A random step changes a few of
    the values, each by a share of its size. A step is accepted only if the distance grows by more than rounding,
    because rounding differs between processors.
    """
    found = optimize.minimize(
        lambda theta: -ratio(answer, stated, pair.at(theta)),
        pair.theta,
        method="L-BFGS-B",
        options={"maxfun": evaluations // 2, "ftol": 1e-12},
    )
    theta, best, size = found.x, -float(found.fun), 0.3
    for _ in range(evaluations // 2):
        few = rng.random(len(theta)) < max(0.1, 2 / len(theta))
        step = theta + few * size * (np.abs(theta) + 0.1) * rng.standard_normal(len(theta))
        if (reached := ratio(answer, stated, pair.at(step))) > (1 + LEAST_STEP) * best:
            theta, best, size = step, reached, min(1.5 * size, 3.0)
        else:
            size = max(0.93 * size, 1e-4)
    return pair.at(theta)


def search(
    answer: Answer,
    stated: StatedSensitivity,
    draw: Callable[[np.random.Generator], NeighbourPair],
    *,
    draws: int,
    climbs: int,
    evaluations: int,
    offered: Sequence[NeighbourPair] = (),
    rng: np.random.Generator,
) -> SearchResult:
    """The pair with the largest ratio among random pairs, offered pairs, and ascents from the best of these pairs.

    Parameters
    ----------
    answer : function (net, B, x, y) -> array, the rule's direction without noise
    stated : function (net, B) -> float > 0, the stated sensitivity
    draw : function rng -> NeighbourPair, see `draw_pair`
    draws : int >= 1, number of random pairs
    climbs : int >= 0, number of ascents, each from a different pair
    evaluations : int >= 1, approximate number of evaluations for each ascent
    offered : further pairs from which an ascent may start
    rng : numpy.random.Generator
    """
    pairs = [draw(rng) for _ in range(draws)]
    ratios = [ratio(answer, stated, pair) for pair in pairs]
    drawn = max(ratios)
    pairs, ratios = [*offered, *pairs], [*(ratio(answer, stated, pair) for pair in offered), *ratios]
    for i in _best_first(pairs, ratios)[:climbs]:
        pairs.append(climb(answer, stated, pairs[i], evaluations=evaluations, rng=rng))
        ratios.append(ratio(answer, stated, pairs[-1]))
    best = _best_first(pairs, ratios)[0]
    return SearchResult(ratio=ratios[best], drawn=drawn, pair=pairs[best])


def _best_first(pairs: list[NeighbourPair], ratios: list[float]) -> list[int]:
    """Indices of the pairs in the order of their ratios, the largest ratio first.

    Among ratios that are equal up to rounding, the smallest network comes first, and then the smallest batch of at
    least two records. Games on small networks and batches take the least time.
    """

    def key(i: int) -> tuple:
        records = len(pairs[i].x[1])
        return -float(f"{ratios[i]:.8e}"), pairs[i].net.n_parameters, records < 2, records

    return sorted(range(len(pairs)), key=key)


def draw_pair(
    net: Net,
    B: list,
    *,
    adjacency: str,
    others: int,
    rng: np.random.Generator,
    spread: float = 1.0,
    place: int | None = None,
    copies: int = 0,
) -> NeighbourPair:
    """A pair with random weights, feedback and records, whose sizes vary over orders of magnitude.

    Parameters
    ----------
    net, B : network and feedback that give shapes and dtypes
    adjacency : one of `nfa.mechanism.ADJACENCIES`
    others : int >= 0, number of records that are in both worlds
    rng : numpy.random.Generator
    spread : float >= 0, standard deviation of the base-10 logarithm of the sizes
    place : int in 0 .. others, the row of the record that differs; None for the last row
    copies : int in 0 .. others, number of the other records that are copies of world 1's record, with its label

    Raises ValueError for an unknown adjacency.
    """
    require.one_of(ADJACENCIES, adjacency=adjacency)

    def some(like: np.ndarray) -> np.ndarray:
        return (10 ** (spread * rng.standard_normal()) * rng.standard_normal(like.shape)).astype(like.dtype)

    net = net.copy()
    net.W, net.b = [None, *map(some, net.W[1:])], [None, *map(some, net.b[1:])]
    dtype, classes = net.W[-1].dtype, net.shape_h[net.L][0]
    x = np.concatenate([some(np.zeros((1, *net.shape_h[0]), dtype)) for _ in range(others + 2)])
    y = _targets(net, others + 2, classes, rng).astype(dtype)
    if adjacency == "replace-label" or rng.random() < 0.5:
        x[-1] = x[-2]
    x[:copies], y[:copies] = x[-1], y[-1]
    one, other = np.r_[: others + 1], np.r_[:others, others + 1]
    if adjacency in LEFT_OUT:
        one = one[:-1]
    B = [None if M is None else some(M) for M in B]
    return NeighbourPair(
        net=net, B=B, x=(x[one], x[other]), y=(y[one], y[other]), adjacency=adjacency, place=place, copies=copies
    )


def _targets(net: Net, n: int, classes: int, rng: np.random.Generator) -> np.ndarray:
    """One-hot targets, labels 0 and 1 (one output), or real values (squared error). The last two targets differ."""
    if net.loss is squared_error:
        return 10 ** rng.standard_normal() * rng.standard_normal((n, classes))
    labels = rng.integers(max(classes, 2), size=n)
    labels[-1] = (labels[-2] + 1 + rng.integers(max(classes, 2) - 1)) % max(classes, 2)
    return labels[:, None] if classes == 1 else np.eye(classes)[labels]


class Silent(np.random.Generator):
    """A generator that returns the mean in place of each normal and Laplace variable, so it adds no noise."""

    def standard_normal(self, size=None, dtype=np.float64, out=None):
        """Zeros in the requested shape."""
        zeros = np.zeros(() if size is None else size, dtype) if out is None else out
        zeros[...] = 0
        return zeros[()] if out is None and size is None else zeros

    def normal(self, loc=0.0, scale=1.0, size=None):
        """loc in the requested shape."""
        return np.broadcast_to(loc, np.broadcast(loc, scale).shape if size is None else size).astype(float)[()]

    laplace = normal


def no_noise(out: np.ndarray, std: float, rng: np.random.Generator) -> None:
    """A replacement for add_normal or add_normal_each that adds nothing."""
