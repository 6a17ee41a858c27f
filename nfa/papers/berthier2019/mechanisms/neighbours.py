"""Data sets as histograms: how far two are apart, who the neighbours are, and what one record can move, by brute force.

A data set over k possible records is the row of its counts, x in N^k.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from nfa import require

ADJACENCIES = ("add-remove", "replace-one")


def histogram_distance(x, y) -> int:
    r"""How many records have to be added or removed to come from one data set to the other.

    .. math:: \|x - y\|_1 = \sum_i |x_i - y_i|

    Source: [berthier2019:def-hist]

    Parameters
    ----------
    x, y : (k,) arrays of counts, whole numbers >= 0

    Raises
    ------
    ValueError : if one is not a row of counts, or the lengths differ

    Examples
    --------
    Replacing a record changes two counts.

    >>> histogram_distance([2, 0, 1], [1, 1, 1])
    2
    """
    x, y = _histogram("x", x), _histogram("y", y)
    if x.shape != y.shape:
        raise ValueError(f"x and y must count the same possible records, got {len(x)} and {len(y)}")
    return int(np.abs(x - y).sum())


def neighbours(x, *, adjacency: str) -> Iterator[np.ndarray]:
    """Every data set that differs from this one in one record.

    Source: [berthier2019:def-hist]

    Parameters
    ----------
    x : (k,) array of counts
    adjacency : "add-remove" (histograms at the distance 1) or "replace-one" (of the same size, at the distance 2)

    Raises
    ------
    ValueError : if x is not a row of counts, or the adjacency is not one of the two

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
    """Every data set of so many records over so many possible ones.

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
    r"""How far a query moves between neighbours, at most, over a finite list of data sets.

    .. math:: S(f) = \sup_{x \sim y} \|f(x) - f(y)\|

    Source: [berthier2019:sens] [berthier2019:stability-gap] [berthier2019:stability-noiseless]

    Parameters
    ----------
    f : function of a histogram (k,) -> number or array
    datasets : histograms of one length; only pairs of neighbours that are both in the list are compared
    adjacency : as in `neighbours`
    order : float >= 1, of the norm: 1 for Laplace noise, 2 for Gaussian noise, inf

    Returns
    -------
    sensitivity : float >= 0
    worst : pair of histograms that attains it

    Raises
    ------
    ValueError : if the list holds no two neighbours, the order is below 1, or f is not finite somewhere

    Examples
    --------
    The mean of three records out of {0, 1}: replacing one moves it by 1/3.

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
    """The law of one record, drawn uniformly from the data set and released as it is.

    Source: [berthier2019:rem-release-one] [berthier2019:rem-eps-zero]

    Parameters
    ----------
    x : (k,) array of counts, at least one record

    Returns
    -------
    law : (k,) array of probabilities, x / n

    Notes
    -----
    Neighbours have laws at the total variation 1/n at most, n the size of the larger of the two; the record that
    differs is released with that probability.

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
