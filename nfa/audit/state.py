"""Information that a rule's state carries from a step with a record to later steps without the record.

A step may depend on earlier releases, because they are public. So we choose the noise of the two worlds such that the
releases of the two worlds are equal in the step with the record. In the later steps, the two worlds have equal batches
and equal noise. Any remaining difference comes from the state, and the sensitivity of a step does not include it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nfa.audit.private_game import flat
from nfa.audit.worst_neighbours import NeighbourPair
from nfa.noise import Streams

LATER = 15  # number of steps without the record after the step with the record
SAME = 1e-9  # two directions with a smaller relative distance count as equal, because of rounding
WHOLE = 1e-3  # the index of a normal is computed with rounding; larger distances from a whole number are an error


@dataclass(frozen=True, kw_only=True, eq=False)
class Carried:
    """The later step that a record changes most through the state, if all earlier releases are equal, and the change.

    Parameters
    ----------
    pair : NeighbourPair with which the change was measured
    step : int >= 2, the step that the record changes most
    distance : float > 0, l2 distance between the two worlds' directions of this step; inf if a direction is not finite
    """

    pair: NeighbourPair
    step: int
    distance: float


class Given(np.random.Generator):
    """A generator whose first normals are given. Further normals are drawn with a seed and appended to ``normals``."""

    def __init__(self, normals: np.ndarray, seed: int) -> None:
        super().__init__(np.random.PCG64(seed))
        self.normals, self.used = np.asarray(normals, float), 0

    def standard_normal(self, size=None, dtype=np.float64, out=None):
        """The next normals in the requested shape."""
        if out is not None:
            out[...] = self._next(out.shape)
            return out
        return self._next(() if size is None else size).astype(dtype)[()]

    def normal(self, loc=0.0, scale=1.0, size=None):
        """The next normals, with mean ``loc`` and standard deviation ``scale``."""
        return loc + scale * self._next(np.broadcast(loc, scale).shape if size is None else size)

    def _next(self, size) -> np.ndarray:
        shape = tuple(np.atleast_1d(size).astype(int))
        start, self.used = self.used, self.used + int(np.prod(shape))
        if self.used > len(self.normals):
            more = super().standard_normal(self.used - len(self.normals))
            self.normals = np.concatenate([self.normals, more])
        return self.normals[start : self.used].reshape(shape)


def remembers(rule: Callable, pair: NeighbourPair) -> bool:
    """Whether a step of a rule writes to its state.

    Parameters
    ----------
    rule : function (net, B, x, y, rng, state) -> (dW, db), as for `carried`
    pair : NeighbourPair
    """
    state: dict = {}
    rule(pair.net, pair.B, *pair.batch(1), np.random.default_rng(0), state)
    return bool(state)


def carried(rule: Callable, pair: NeighbourPair, *, std: float, seed: int) -> Carried | None:
    """The later step that a record of the first step changes most through the state; None if it changes no step.

    Parameters
    ----------
    rule : function (net, B, x, y, rng, state) -> (dW, db), with noise; state is a dict that the rule reads and writes
    pair : NeighbourPair; the later steps have world 0's batch in both worlds
    std : float > 0, stated standard deviation of the noise on each released value
    seed : int >= 0, seed of the noise

    Raises
    ------
    ValueError : if we find no noise with which the two worlds release equal values. Then the noise is not one normal of
        the stated standard deviation for each value
    """
    states: tuple[dict, dict] = ({}, {})

    def release(world: int, state: dict, given: Given) -> np.ndarray:
        return flat(*rule(pair.net, pair.B, *pair.batch(world), given, state)).astype(float)

    found = None
    for step in range(1, LATER + 2):
        noise = int(Streams(seed)("noise", step).integers(2**62))
        normals = _same_release(release, std, noise) if step == 1 else (np.zeros(0), np.zeros(0))
        worlds = (0, 1) if step == 1 else (0, 0)
        one, other = (
            release(world, state, Given(z, noise)) for world, state, z in zip(worlds, states, normals, strict=True)
        )
        distance = float(np.nan_to_num(np.linalg.norm(other - one), nan=np.inf, posinf=np.inf))
        same = distance <= SAME * (std + float(np.linalg.norm(one)))  # False if a distance or direction is not finite
        if step == 1 and not same:
            raise ValueError(
                "the audit needs noise with which both worlds release the same values, but nfa finds no such noise"
            )
        if not same and (found is None or distance > found.distance):
            found = Carried(pair=pair, step=step, distance=distance)
    return found


def _same_release(release: Callable, std: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Normals for the first step of each world with which the two worlds release equal values.

    We add 1 to the first normal, 2 to the second and so on. The changes of the released values reveal which normal each
    value contains, and the sign of this normal.
    """
    given = Given(np.zeros(0), seed)
    one = release(0, {}, given)
    z = given.normals
    numbers = (release(0, {}, Given(z + 1 + np.arange(len(z)), seed)) - one) / std
    which = np.rint(np.abs(numbers))
    if not (np.abs(np.abs(numbers) - which) < WHOLE).all() or len({*which} - {0}) < len(one):
        raise ValueError("the noise in each released value must be normal with the stated standard deviation")
    turned = z.copy()
    turned[which.astype(int) - 1] += np.sign(numbers) * (one - release(1, {}, Given(z, seed))) / std
    return z, turned
