"""Data sets as histograms: their distance, their neighbours, and the effect of one record, all by brute force.

A data set over k possible records is the vector x in N^k of its counts.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from nfa import require

ADJACENCIES = ("add-remove", "replace-one")


def histogram_distance(x, y) -> int:
    r"""The number of records to add or remove to get from one data set to the other.

    .. math:: \|x - y\|_1 = \sum_i |x_i - y_i|

    Source: [berthier2019:def-hist]

    Parameters
    ----------
    x, y : (k,) arrays of counts, whole numbers >= 0

    Raises
    ------
    ValueError : if x or y is not a row of counts, or if their lengths differ

    Examples
    --------
    Replacing a record changes two counts.

    >>> histogram_distance([2, 0, 1], [1, 1, 1])
    2
    """
    x, y = _histogram("x", x), _histogram("y", y)
    if x.shape != y.shape:
        raise ValueError(f"x and y must have one count for each possible record, got {len(x)} and {len(y)} counts")
    return int(np.abs(x - y).sum())


def neighbours(x, *, adjacency: str) -> Iterator[np.ndarray]:
    """Every data set that differs from x in one record.

    Source: [berthier2019:def-hist]

    Parameters
    ----------
    x : (k,) array of counts
    adjacency : "add-remove" (histograms at distance 1) or "replace-one" (histograms of the same size at distance 2)

    Raises
    ------
    ValueError : if x is not a row of counts, or if the adjacency is not one of the two names

    Examples
    --------
    >>> [y.tolist() for y in neighbours([1, 0], adjacency="add-remove")]
    [[2, 0], [0, 0], [1, 1]]
    >>> [y.tolist() for y in neighbours([1, 0], adjacency="replace-one")]
    [[0, 1]]
    """
    x = _histogram("x", x)
    require.one_of(ADJACENCIES, adjacency=adjacency)
    one = np.eye(len(x), dtype=int)
    if adjacency == "add-remove":
        moves = [step for i in range(len(x)) for step in (one[i], -one[i])]
    else:
        moves = [one[j] - one[i] for i, j in itertools.permutations(range(len(x)), 2)]
    return (x + move for move in moves if (x + move >= 0).all())


def histograms(values: int, records: int) -> Iterator[np.ndarray]:
    """Every data set with this number of records and this number of possible values.

    Examples
    --------
    >>> [x.tolist() for x in histograms(2, 2)]
    [[2, 0], [1, 1], [0, 2]]
    """
    for chosen in itertools.combinations_with_replacement(range(values), records):
        yield np.bincount(chosen, minlength=values)


def sensitivity(
    f: Callable[[np.ndarray], object], datasets: Iterable, *, adjacency: str, order: float = 2
) -> tuple[float, tuple[np.ndarray, np.ndarray]]:
    r"""The largest change of a query between neighbours, over a finite list of data sets.

    .. math:: S(f) = \sup_{x \sim y} \|f(x) - f(y)\|

    Source: [berthier2019:sens] [berthier2019:stability-gap] [berthier2019:stability-noiseless]

    Parameters
    ----------
    f : function of a histogram (k,) -> number or array
    datasets : histograms of the same length; the function compares only neighbours that are both in the list
    adjacency : as in `neighbours`
    order : float >= 1, the order of the norm: 1 for Laplace noise, 2 for Gaussian noise, or inf

    Returns
    -------
    sensitivity : float >= 0
    worst : pair of histograms that attains the sensitivity

    Raises
    ------
    ValueError : if the list has no two neighbours, if the order is below 1, or if f is not finite somewhere

    Examples
    --------
    Replacing one of three records in {0, 1} moves their mean by 1/3.

    >>> S, _ = sensitivity(lambda x: x[1] / x.sum(), histograms(2, 3), adjacency="replace-one")
    >>> round(S, 12)
    0.333333333333
    """
    require.at_least(1, order=order)
    known = {tuple(map(int, x)): np.atleast_1d(np.asarray(f(np.asarray(x)), float)).ravel() for x in datasets}
    for x, value in known.items():
        if not np.isfinite(value).all():
            raise ValueError(f"f must be finite on every data set, but is not finite on {list(x)}")
    most, worst = -1.0, None
    for x in known:
        for y in neighbours(x, adjacency=adjacency):
            other = tuple(map(int, y))
            if other in known:
                moved = float(np.linalg.norm(known[x] - known[other], ord=order))
                if moved > most:
                    most, worst = moved, (np.array(x), np.array(other))
    if worst is None:
        raise ValueError(f"datasets must hold two neighbours under {adjacency}")
    return most, worst


def release_one(x) -> np.ndarray:
    """The law of one record that is drawn uniformly from the data set and released unchanged.

    Source: [berthier2019:rem-release-one] [berthier2019:rem-eps-zero]

    Parameters
    ----------
    x : (k,) array of counts, at least one record

    Returns
    -------
    law : (k,) array of probabilities, x / n

    Notes
    -----
    Let n be the size of the larger of two neighbours. The total variation between their laws is at most 1/n, because
    the record that differs is released with probability 1/n.

    Examples
    --------
    >>> release_one([3, 1]).tolist()
    [0.75, 0.25]
    """
    x = _histogram("x", x)
    if not x.sum():
        raise ValueError("x must hold at least one record")
    return x / x.sum()


def _histogram(name: str, x) -> np.ndarray:
    counts = np.asarray(x, float)
    if counts.ndim != 1 or not len(counts) or not ((counts >= 0) & (counts == np.floor(counts))).all():
        raise ValueError(f"{name} must be a row of counts, whole numbers >= 0")
    if not (counts < math.inf).all():
        raise ValueError(f"{name} holds an infinite count")
    return counts.astype(int)
