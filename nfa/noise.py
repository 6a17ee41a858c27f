"""Streams of randomness: a fresh generator for every purpose and step, so that nothing depends on what ran before.

A seeded stream is reproducible and therefore not private: whoever knows the seed can subtract the noise. `secure` has
the other kind, for which the extra ``secure`` brings randomgen: rules and samplers take a `numpy.random.Generator` and
call what they like of it, and NumPy has no generator that is a cipher. Its stream is that of `nfa.cipher.chacha20`.
"""

import os
from dataclasses import dataclass

import numpy as np

from nfa import require
from nfa.cipher import chacha20, check_noise

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
        require.whole(0, **{"the seed": self.entropy})

    def __call__(self, purpose: str, t: int = 0) -> np.random.Generator:
        require.one_of(PURPOSES, **{"the purpose of a stream": purpose})
        _check_step(t)
        seed = np.random.SeedSequence(self.entropy, spawn_key=(PURPOSES[purpose], t))
        return np.random.Generator(np.random.PCG64(seed))


def _check_step(t: int) -> None:
    if not 0 <= t < 2**32:
        raise ValueError(f"the step t of a stream must be in 0..2**32 - 1, got {t}")


SECRET = ("batch", "noise")  # the purposes on which privacy rests; what the others draw may be known to everybody


class SecureStreams:
    """The streams of one process, whose batches and noise nobody can draw again: see `secure`."""

    def __init__(self) -> None:
        self._key = np.frombuffer(os.urandom(32), np.uint32)
        self._cipher = _cipher()
        self._process = os.getpid()

    def __call__(self, purpose: str, t: int = 0) -> np.random.Generator:
        if purpose not in SECRET:
            return Streams(0)(purpose, t)
        _check_step(t)
        if os.getpid() != self._process:
            raise RuntimeError("secure streams belong to one process: another would draw the same noise")
        key = chacha20(self._key, PURPOSES[purpose] << 32 | t, 1)[:8, 0]
        return np.random.Generator(self._cipher(key=key.copy().view(np.uint64), counter=0, rounds=20))

    def __reduce__(self):
        raise TypeError("secure streams are not written anywhere: whoever has their key can subtract the noise")


def secure() -> SecureStreams:
    """Streams whose batches and noise come from the cipher ChaCha20 under a key of the operating system.

    Returns
    -------
    streams : called like `Streams`. For the purposes "batch" and "noise" it is a function of (purpose, t) while the
        process lives, and of 256 bits from `os.urandom`, which are kept nowhere else and cannot be pickled. What needs
        no secrecy, such as the first weights and the feedback, is drawn as by ``Streams(0)``, the same in all runs.

    Raises
    ------
    OSError : if randomgen is not installed

    Notes
    -----
    Telling the noise from true randomness takes breaking the cipher, or reading this process's memory. It does not help
    against what finite precision leaks: sums of floating-point numbers have low-order bits that can tell two data sets
    apart whatever the generator is (Mironov, On significance of the least significant bits for differential privacy,
    CCS 2012). No guarantee here counts that.

    Examples
    --------
    >>> streams = secure()
    >>> bool(streams("noise", 3).random() == streams("noise", 3).random())
    True
    >>> bool(streams("noise", 3).random() == secure()("noise", 3).random())
    False
    """
    return SecureStreams()


AnyStreams = Streams | SecureStreams


def _cipher():
    try:
        from randomgen import ChaCha
    except ImportError as missing:
        raise OSError(
            f"secure noise needs randomgen: pip install 'noisy-feedback-alignment[secure]' brings it ({missing})"
        ) from missing
    return ChaCha


def add_normal(out: np.ndarray, std: float, rng: np.random.Generator) -> None:
    """Add a fresh N(0, std^2) to every entry of out, in place and in out's dtype; std 0 draws nothing.

    Raises ValueError if std is out of range: see `nfa.cipher.check_noise`.
    """
    check_noise(std, out.dtype)
    if std > 0:
        out += out.dtype.type(std) * rng.standard_normal(out.shape, out.dtype)
