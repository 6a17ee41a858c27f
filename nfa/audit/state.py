"""What a rule's state carries from a step with a record to later steps without it, beyond what was released.

A step may depend on releases before it: they are public. Therefore both worlds get the noise under which they release
the same, and afterwards the same batches and the same noise. What still differs came through the state, and no step's
sensitivity covers it.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nfa.audit.private_game import flat
from nfa.audit.worst_neighbours import NeighbourPair
from nfa.noise import Streams

LATER = 15  # steps without the record, after the one step with it
SAME = 1e-9  # relative: what is as near as this is the same up to rounding
WHOLE = 1e-3  # how far from a whole number the number of a normal may be by rounding


@dataclass(frozen=True, kw_only=True, eq=False)
class Carried:
    """How far a record moves later steps, all releases before them being the same.

    Parameters
    ----------
    pair : NeighbourPair, where
    step : int >= 2, the step that it moves most
    distance : float > 0, of the two answers of that step, in l2; inf where they are not finite
    """

    pair: NeighbourPair
    step: int
    distance: float


class Given(np.random.Generator):
    """A generator whose first normals are given; those beyond them are drawn from a seed and added to ``normals``."""

    def __init__(self, normals: np.ndarray, seed: int) -> None:
        super().__init__(np.random.PCG64(seed))
        self.normals, self.used = np.asarray(normals, float), 0

    def standard_normal(self, size=None, dtype=np.float64, out=None):
        """The next normals in the shape asked for."""
        if out is not None:
            out[...] = self._next(out.shape)
            return out
        return self._next(() if size is None else size).astype(dtype)[()]

    def normal(self, loc=0.0, scale=1.0, size=None):
        """The same with another mean and standard deviation."""
        return loc + scale * self._next(np.broadcast(loc, scale).shape if size is None else size)

    def _next(self, size) -> np.ndarray:
        shape = tuple(np.atleast_1d(size).astype(int))
        start, self.used = self.used, self.used + int(np.prod(shape))
        if self.used > len(self.normals):
            more = super().standard_normal(self.used - len(self.normals))
            self.normals = np.concatenate([self.normals, more])
        return self.normals[start : self.used].reshape(shape)


def remembers(rule: Callable, pair: NeighbourPair) -> bool:
    """Whether a step of a rule writes anything into its state.

    Parameters
    ----------
    rule : function (net, B, x, y, rng, state) -> (dW, db), as for `carried`
    pair : NeighbourPair
    """
    state: dict = {}
    rule(pair.net, pair.B, *pair.batch(1), np.random.default_rng(0), state)
    return bool(state)


def carried(rule: Callable, pair: NeighbourPair, *, std: float, seed: int) -> Carried | None:
    """The later step that a record of the first step moves most through the state; None where it moves none.

    Parameters
    ----------
    rule : function (net, B, x, y, rng, state) -> (dW, db), noise included; state is a dict that it reads and writes
    pair : NeighbourPair; the later steps have world 0's batch in both worlds
    std : float > 0, standard deviation of the noise on each released number, as stated
    seed : int >= 0, of the noise

    Raises
    ------
    ValueError : if no noise makes the two worlds release the same: it is not one normal of this size on each number
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
        same = distance <= SAME * (std + float(np.linalg.norm(one)))  # False where one is not finite
        if step == 1 and not same:
            raise ValueError("nfa cannot make the two worlds release the same values")
        if not same and (found is None or distance > found.distance):
            found = Carried(pair=pair, step=step, distance=distance)
    return found


def _same_release(release: Callable, std: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Normals for the first step of either world, under which both release the same.

    Adding 1 to the first normal, 2 to the second and so on shows which normal each released number has, and its sign.
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
