"""The mean of the weights after each of the last steps.

A run with the setting ``average`` evaluates and saves a network with this mean.

The training continues from the last weights, so the mean changes no step. The mean is computed from weights that the
steps have already released. So the mean is post-processing, and does not change epsilon.
"""

from collections.abc import Iterator

import numpy as np

from nfa.network import Net


def first_averaged(share: float, steps: int) -> int:
    """The first averaged step if the last ``share`` of the steps is averaged. At least one step is averaged.

    Examples
    --------
    >>> first_averaged(0.3, 10), first_averaged(1.0, 10), first_averaged(0.01, 10)
    (8, 1, 10)
    """
    return steps - max(1, round(share * steps)) + 1


def _parameters(net: Net) -> Iterator[np.ndarray]:
    for l in range(1, net.L + 1):
        yield net.W[l]
        yield net.b[l]


class TailAverage:
    """The sum of the weights after each step, from the step ``first`` on, in float64.

    Parameters
    ----------
    net : Net. The sums have the shapes of its weights and biases
    first : int >= 1, the first averaged step

    Attributes
    ----------
    sums : list of arrays in the order W[1], b[1], W[2], ...
    count : int >= 0, number of steps in the sums
    """

    def __init__(self, net: Net, first: int) -> None:
        self.first, self.count = first, 0
        self.sums = [np.zeros(p.shape) for p in _parameters(net)]

    def add(self, net: Net, t: int) -> None:
        """Add the weights of net after step t, if t >= ``first``."""
        if t < self.first:
            return
        with np.errstate(over="ignore", invalid="ignore"):  # no warning here, because the run reports divergence
            for total, p in zip(self.sums, _parameters(net), strict=True):
                total += p
        self.count += 1

    def restore(self, sums: list[np.ndarray], t: int) -> None:
        """Continue after step t from sums that were saved. Raise ValueError if the sums do not fit the network."""
        if [(a.shape, a.dtype) for a in sums] != [(a.shape, a.dtype) for a in self.sums]:
            raise ValueError("the averaged weights must have the shapes and types of the weights of the network")
        self.sums, self.count = sums, max(0, t - self.first + 1)

    def network(self, net: Net) -> Net:
        """Return the network with the mean of the weights, or net itself before the first averaged step."""
        if not self.count:
            return net
        twin = net.copy()
        means = iter(self.sums)
        for l in range(1, net.L + 1):
            twin.W[l] = (next(means) / self.count).astype(net.W[l].dtype)
            twin.b[l] = (next(means) / self.count).astype(net.b[l].dtype)
        return twin
