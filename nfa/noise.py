"""Streams of randomness: a fresh generator for every purpose and step, so that nothing depends on what ran before.

A seeded stream is reproducible and therefore not private: whoever knows the seed can subtract the noise.
"""

from dataclasses import dataclass

import numpy as np

# Fixed for good: a record's seed must mean the same numbers in every version.
PURPOSES = {"init": 0, "feedback": 1, "batch": 2, "noise": 3, "split": 4, "data": 5}


@dataclass(frozen=True)
class Streams:
    """The seeded streams of one run: ``streams(purpose, t)`` is a function of its arguments and of the seed alone.

    Parameters
    ----------
    entropy : int >= 0, the seed

    Raises
    ------
    ValueError : if the seed is not a whole number >= 0; when called, for an unknown purpose or t outside 0..2**32 - 1

    Notes
    -----
    Guarantee: calls with different (purpose, t) give independent generators, the same call always the same one; so
    jobs, threads and resumed runs agree, and no noise is used twice.

    Examples
    --------
    >>> streams = Streams(7)
    >>> bool(streams("batch", 3).random() == streams("batch", 3).random())
    True
    >>> bool(streams("batch", 3).random() == streams("noise", 3).random())
    False
    """

    entropy: int

    def __post_init__(self) -> None:
        if not isinstance(self.entropy, (int, np.integer)) or self.entropy < 0:
            raise ValueError(f"the seed must be a whole number >= 0, got {self.entropy}")

    def __call__(self, purpose: str, t: int = 0) -> np.random.Generator:
        if purpose not in PURPOSES:
            raise ValueError(f"the purpose of a stream must be one of {', '.join(PURPOSES)}, got {purpose!r}")
        if not 0 <= t < 2**32:
            raise ValueError(f"the step t of a stream must be in 0..2**32 - 1, got {t}")
        seed = np.random.SeedSequence(self.entropy, spawn_key=(PURPOSES[purpose], t))
        return np.random.Generator(np.random.PCG64(seed))


def add_normal(out: np.ndarray, std: float, rng: np.random.Generator) -> None:
    """Add a fresh N(0, std^2) to every entry of out, in place and in out's dtype; std 0 draws nothing.

    Raises ValueError if std is negative or not finite.
    """
    if not 0 <= std < np.inf:
        raise ValueError(f"the standard deviation of the noise must be a number >= 0, got {std}")
    if std > 0:
        out += out.dtype.type(std) * rng.standard_normal(out.shape, out.dtype)
