"""Tests with records of every size in a dtype: does a record exceed the stated sensitivity, or change the noise?

A clip that squares a norm overflows if the norm is above the square root of the largest number. It underflows if the
norm is below the square root of the smallest number. Noise that grows with a record reveals a large record.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nfa.audit.worst_neighbours import Answer, NeighbourPair, StatedSensitivity, ratio

DTYPES = (np.float64, np.float32)
SIZES = 40  # number of sizes in each dtype
PILOTS = tuple(10.0**k for k in (-30, -10, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 10, 30, 100))
PILOT_RUNS = 40  # number of runs for each size and world
SURE = 5.0  # a difference of two spreads must exceed this number of standard errors


@dataclass(frozen=True, kw_only=True, eq=False)
class Outlier:
    """The size of a record for which the directions of a rule in the two worlds differ most.

    Parameters
    ----------
    ratio : float >= 0, the distance between the two directions, divided by the stated sensitivity; inf if the
        distance is not finite
    pair : NeighbourPair that has this ratio
    size : float > 0, the largest entry of the record
    raised : int >= 0, number of tests in which the rule raised a ValueError; these tests are not counted
    """

    ratio: float
    pair: NeighbourPair
    size: float
    raised: int

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the network and the records."""
        return self.pair.x[1].dtype

    @property
    def exceeded(self) -> bool:
        """Whether the ratio exceeds 1 by more than rounding."""
        return self.ratio > 1 + rounding(self.dtype)


def rounding(dtype) -> float:
    """The relative amount by which rounding in this dtype can make a distance exceed the stated sensitivity."""
    return max(1e-6, 1e3 * float(np.finfo(dtype).eps))


def resized(pair: NeighbourPair, size: float, *, entries: slice = slice(None), both: bool = True) -> NeighbourPair:
    """The pair with scaled records. Only the records in which the worlds differ, and their copies, are scaled.

    Parameters
    ----------
    pair : NeighbourPair
    size : float > 0, largest absolute value of the scaled entries, in the pair's dtype
    entries : slice of the flattened record that is scaled
    both : whether world 0's record is also scaled, if world 0 has its own record
    """

    def grown(record: np.ndarray) -> np.ndarray:
        flat = record.reshape(-1).copy()
        largest = float(np.abs(flat[entries]).max(initial=0)) or 1.0
        with np.errstate(over="ignore", under="ignore"):
            flat[entries] = (flat[entries].astype(float) / largest * size).astype(record.dtype)
        return flat.reshape(record.shape)

    *before, last = pair.records
    return pair.with_records([*(grown(one) if both else one for one in before), grown(last)])


def outlier(answer: Answer, stated: StatedSensitivity, pairs: Sequence[NeighbourPair]) -> Outlier:
    """The largest ratio over the sizes of the records, from the smallest to the largest number of float32 and float64.

    Either the whole record has this size, or only its first entry. If a record is replaced, either both records have
    this size, or only world 1's record. We use the networks of the pairs, and also copies of these networks whose first
    layer has the weights 0. With these weights, no activation saturates, so the gradient is as large as the record.

    Parameters
    ----------
    answer, stated : as for `nfa.audit.worst_neighbours.search`
    pairs : at least one NeighbourPair. The search changes only the sizes of the records
    """
    raised, best = 0, Outlier(ratio=0.0, pair=pairs[0], size=float(np.abs(pairs[0].x[1][-1]).max()), raised=0)
    there = [one for pair in pairs for one in (pair, _blind(pair))]
    for pair in (_cast(one, dtype) for dtype in DTYPES for one in there):
        limits, slack = np.finfo(pair.x[1].dtype), rounding(pair.x[1].dtype)
        with np.errstate(over="ignore"):
            sizes = np.geomspace(float(limits.smallest_subnormal), float(limits.max), SIZES)
        for size in sizes:
            for entries in (slice(None), slice(1)):
                for both in (True, False) if pair.adjacency == "replace-one" else (True,):
                    grown = resized(pair, size, entries=entries, both=both)
                    try:
                        reached = ratio(answer, stated, grown, not_finite=math.inf)
                    except ValueError:
                        raised += 1
                        continue
                    # Rounding differs between processors. So a later size replaces an earlier one only if its ratio is
                    # larger by more than rounding.
                    ahead = 1.0 if reached > 1 + slack else 1 + slack
                    if reached > best.ratio * ahead:
                        best = Outlier(ratio=reached, pair=grown, size=float(size), raised=0)
    return replace(best, raised=raised)


def most_telling(
    run: Callable, pair: NeighbourPair, answer: Answer, stated: StatedSensitivity, rng: np.random.Generator
) -> NeighbourPair:
    """The pair, with the size of the record for which the spreads of the noise in the two worlds differ most.

    If no difference is statistically significant, we take the size with the largest distance between the directions.

    Parameters
    ----------
    run : function (pair, world, rng) -> array, the release of one run
    pair : NeighbourPair
    answer, stated : as for `nfa.audit.worst_neighbours.search`
    rng : numpy.random.Generator
    """
    sizes = [size for size in PILOTS if size <= np.finfo(pair.x[1].dtype).max]
    both = (True, False) if pair.adjacency == "replace-one" else (True,)
    pairs = [pair, *(resized(pair, size, both=each) for size in sizes for each in both)]
    differences = [_spread_apart(run, there, rng) for there in pairs]
    if max(differences) > SURE:
        return pairs[int(np.argmax(differences))]
    return pairs[int(np.argmax([round(ratio(answer, stated, there), 6) for there in pairs]))]


def _spread_apart(run: Callable, pair: NeighbourPair, rng: np.random.Generator) -> float:
    """The difference between the spreads of the two worlds in a few runs, in standard errors."""
    spreads = []
    for world in (0, 1):
        runs = np.nan_to_num([run(pair, world, rng) for _ in range(PILOT_RUNS)], posinf=1e300, neginf=-1e300)
        spreads.append(float(np.median(np.abs(runs / 2 - np.median(runs / 2, axis=0)))))
    low, high = sorted(spreads)
    # The log of the median of k samples of |N(0, 1)| has the standard error 1.17 / sqrt(k). The quotient has two
    # medians.
    return 0.0 if low == high else math.inf if low == 0 else math.log(high / low) / (1.17 * math.sqrt(2 / runs.size))


def _blind(pair: NeighbourPair) -> NeighbourPair:
    """A copy of the pair in which the first layer has the weights 0."""
    net = pair.net.copy()
    net.W[1][:] = 0
    return replace(pair, net=net)


def _cast(pair: NeighbourPair, dtype) -> NeighbourPair:
    """The pair in another dtype. Values outside the range of the dtype are clipped to its largest number."""

    def cast(a: np.ndarray) -> np.ndarray:
        largest = float(np.finfo(dtype).max)
        return np.clip(a, -largest, largest).astype(dtype)

    net = pair.net.copy()
    net.W, net.b = [None, *map(cast, net.W[1:])], [None, *map(cast, net.b[1:])]
    (x0, x1), (y0, y1) = map(cast, pair.x), map(cast, pair.y)
    return replace(pair, net=net, B=[M if M is None else cast(M) for M in pair.B], x=(x0, x1), y=(y0, y1))
