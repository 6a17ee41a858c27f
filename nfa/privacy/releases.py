"""What an accountant counts: a Mechanism, or a classic mechanism that is known by its Renyi curve."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nfa import require
from nfa.mechanism import Mechanism


@dataclass(frozen=True, kw_only=True)
class Classic:
    """A mechanism that is known by its Renyi curve, such as randomised response.

    Parameters
    ----------
    id : str, ledger id of the statement that gives the curve
    curve : function, orders (k,) -> nats (k,), the curve of one release without sampling under the adjacency
    adjacency, sampling, sampling_rate : as in `nfa.mechanism.Mechanism`
    epsilon_infinity : float >= 0, the epsilon of pure differential privacy; inf if there is none

    Raises
    ------
    ValueError : if a field is out of range or not one of the names

    Examples
    --------
    >>> Classic(id="berthier2019:rr", curve=lambda a: 0.1 * a, adjacency="replace-one", sampling="none").law
    'classic'
    """

    id: str
    curve: Callable[[np.ndarray], np.ndarray]
    adjacency: str
    sampling: str
    sampling_rate: float = 1.0
    epsilon_infinity: float = math.inf

    def __post_init__(self) -> None:
        Mechanism(  # which checks the three fields that the two have in common
            law="gaussian",
            sensitivity=1.0,
            adjacency=self.adjacency,
            noise_std=1.0,
            sampling=self.sampling,
            sampling_rate=self.sampling_rate,
        )
        require.at_least(0, epsilon_infinity=self.epsilon_infinity)

    @property
    def law(self) -> str:
        """What the table calls it."""
        return "classic"


Release = Mechanism | Classic


def count_uses(release: Release, steps: int, steps_per_epoch: int | None) -> int:
    """How often one record is used, at most."""
    if release.sampling != "epoch-partition":
        return steps
    per_epoch, rounding = 1 / release.sampling_rate, 4 * np.finfo(float).eps  # n / m, a whole number but for rounding
    fewest, most = math.floor(per_epoch * (1 + rounding)), math.ceil(per_epoch * (1 - rounding))
    if steps_per_epoch is not None and steps_per_epoch > most:
        raise ValueError(
            f"an epoch at the rate {release.sampling_rate:g} has at most {most} steps, got steps_per_epoch="
            f"{steps_per_epoch}"
        )
    return -(-steps // (steps_per_epoch or fewest))
