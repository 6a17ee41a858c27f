"""Random streams: a fresh generator for every purpose and step. So no random value depends on earlier computations.

A seeded stream is reproducible and therefore not private, because anyone who knows the seed can subtract the noise.
`secure` returns streams that nobody can reproduce. Rules and samplers take a `numpy.random.Generator` and call any of
its methods, but NumPy has no generator that is a cipher. So nfa's optional dependencies ``secure`` include the package
randomgen. The stream of its generator is that of `nfa.cipher.chacha20`.

Random values of single examples, such as the noise of a camera, must not depend on how a batch is divided into parts.
Therefore a part gets `OfExamples`, in which every example has its own generator.
"""

import os
import threading
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np

from nfa import require
from nfa.cipher import chacha20, check_noise

# # These numbers never change, because the seed in a run's record must give the same values in every version of nfa.
PURPOSES = {"init": 0, "feedback": 1, "batch": 2, "noise": 3, "split": 4, "data": 5, "features": 6}


@dataclass(frozen=True)
class Streams:
    """The seeded streams of one run. ``streams(purpose, t)`` is a function of its arguments and of the seed alone.

    Parameters
    ----------
    entropy : int >= 0, the seed

    Raises
    ------
    ValueError : if the seed is not a whole number >= 0. When called, for an unknown purpose or t outside 0..2**32 - 1

    Notes
    -----
    Guarantee: calls with different (purpose, t) give independent generators, and a repeated call gives an equal
    generator. So the values do not depend on jobs, threads or interruptions, and no noise is used twice.

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


SECRET = ("batch", "noise")  # the guarantee holds only if the samples for these purposes are secret


class SecureStreams:
    """The streams of one process and one run. No other process can get the same batches and noise (see `secure`)."""

    def __init__(self) -> None:
        self._key = np.frombuffer(os.urandom(32), np.uint32)
        self._cipher = _cipher()
        self._process = os.getpid()
        self._last = dict.fromkeys(SECRET, -1)  # the last t that was used
        self._lock = threading.Lock()

    def __call__(self, purpose: str, t: int = 0) -> np.random.Generator:
        if purpose not in SECRET:
            return Streams(0)(purpose, t)
        _check_step(t)
        if os.getpid() != self._process:
            raise RuntimeError(
                "secure streams can be used only in the process that made them, because another process would "
                "draw the same noise: make new streams with nfa.noise.secure()"
            )
        with self._lock:
            if t <= self._last[purpose]:
                raise ValueError(
                    f"secure streams draw the {purpose} of each step once, in the order of the steps, got step {t} "
                    f"after step {self._last[purpose]}: make new streams with nfa.noise.secure() for a second "
                    "model or an earlier step"
                )
            self._last[purpose] = t
        key = chacha20(self._key, PURPOSES[purpose] << 32 | t, 1)[:8, 0]
        return np.random.Generator(self._cipher(key=key.copy().view(np.uint64), counter=0, rounds=20))

    def __reduce__(self):
        raise TypeError("secure streams cannot be saved, because anyone who has their key can subtract the noise")


def secure() -> SecureStreams:
    """Streams whose batches and noise come from the cipher ChaCha20 with a key from the operating system.

    Returns
    -------
    streams : called like `Streams`, for one run. For the purposes "batch" and "noise", a stream is a function of
        (purpose, t) and of 256 bits from `os.urandom`. These bits are stored nowhere else and cannot be pickled. Each
        of these streams is returned once, for t in increasing order. A t that is not larger than the last t raises
        ValueError. So two models, or two runs of one model, cannot share noise or batches. Random values that may be
        public, such as the first weights and the feedback, are those of ``Streams(0)``. They are equal in all runs.

    Raises
    ------
    OSError : if randomgen is not installed

    Notes
    -----
    To distinguish the noise from true randomness, an attacker must break the cipher or read this process's memory. No
    generator prevents leaks through finite precision. The low-order bits of a floating-point sum can distinguish two
    data sets. See Mironov, On significance of the least significant bits for differential privacy, CCS 2012. Therefore
    a secure run adds its noise by `nfa.rounded.add_normal`, on a grid. This noise has exactly the law of a rounded
    Gaussian.

    Examples
    --------
    >>> streams = secure()
    >>> bool(streams("noise", 3).random() == secure()("noise", 3).random())
    False
    >>> streams("noise", 3)
    Traceback (most recent call last):
    ...
    ValueError: secure streams draw the noise of each step once, in the order of the steps, got step 3 after step 3: \
make new streams with nfa.noise.secure() for a second model or an earlier step
    """
    return SecureStreams()


AnyStreams = Streams | SecureStreams


def _cipher():
    try:
        from randomgen import ChaCha
    except ImportError as missing:
        raise OSError(
            f"secure noise needs randomgen, which cannot be imported ({missing}): pip install "
            "'noisy-feedback-alignment[secure]'"
        ) from missing
    return ChaCha


class OfExamples(np.random.Generator):
    """A generator for the examples of one part of a batch, as `of_examples` makes it.

    In all parts of a step, this generator has the same state. So samples that are drawn from it directly, such as one
    row of noise for a whole batch, are the same in every part. Samples for single examples come from the generators of
    `each`.

    Parameters
    ----------
    bit_generator : the source of its random bits
    first : int >= 0, the place of the part's first example in the batch

    Attributes
    ----------
    first : int >= 0, as given
    """

    def __init__(self, bit_generator: np.random.BitGenerator, first: int = 0) -> None:
        super().__init__(bit_generator)
        self.first = first

    def each(self, k: int) -> list[np.random.Generator]:
        """The generators of k examples. Each is a function of a key, which this call draws, and of the example's place.

        Parameters
        ----------
        k : int >= 0, number of examples from the place ``first`` on. The key is drawn for k = 0 too

        Notes
        -----
        Guarantee: parts that make the same calls draw the same keys, whatever the sizes of the parts. Generators of
        examples at different places, or of different calls of `each`, share no values. Seeded runs use Philox with the
        place in the counter's highest word. Secure runs use ChaCha20 with one more than the place as its nonce, because
        the nonce 0 belongs to `nfa.cipher.chacha20`.
        """
        words = self.integers(2**32, size=8, dtype=np.uint32)
        places = range(self.first, self.first + k)
        if _of_numpy(self.bit_generator):
            key = words[:4].view(np.uint64)
            return [np.random.Generator(np.random.Philox(key=key, counter=[0, 0, 0, place])) for place in places]
        return [np.random.Generator(_cipher_at(words, 1 + place)) for place in places]

    def at(self, first: int) -> "OfExamples":
        """A copy of this generator, in its state, for the examples from the place ``first`` on."""
        return OfExamples(deepcopy(self.bit_generator), first)

    def __reduce__(self):
        return OfExamples, (self.bit_generator, self.first)


def of_examples(rng: np.random.Generator, first: int = 0) -> OfExamples:
    """The generator for the examples of a part of a batch, derived from the generator rng of the step.

    Parameters
    ----------
    rng : numpy.random.Generator of the step. Its state does not change
    first : int >= 0, the place of the part's first example in the batch

    Returns
    -------
    examples : OfExamples, in the same state for every ``first``

    Notes
    -----
    In a seeded run, the state of the result is a hash of the 256 bits that rng would draw next, so it shares no values
    with rng. Otherwise, the result is the cipher ChaCha20 with these bits as its key, and with a nonce that is used
    nowhere else. If these bits stay secret, the result is independent of later samples from rng. In a secure run these
    bits stay secret, because `nfa.rounded.add_normal` uses them as a key.

    Examples
    --------
    >>> rng = np.random.default_rng(3)
    >>> x = np.zeros((4, 2))
    >>> for i in (0, 3):  # a part of three examples and one of one
    ...     add_normal_each(x[i : i + 3], 1.0, of_examples(rng, i))
    >>> whole = np.zeros((4, 2))
    >>> add_normal_each(whole, 1.0, of_examples(rng))
    >>> bool((x == whole).all())
    True
    """
    copied = np.random.Generator(deepcopy(rng.bit_generator))
    words = copied.integers(2**32, size=8, dtype=np.uint32)
    if _of_numpy(rng.bit_generator):
        return OfExamples(np.random.PCG64(np.random.SeedSequence(words, spawn_key=(0,))), first)
    return OfExamples(_cipher_at(words, 2**59), first)


def _of_numpy(bits: np.random.BitGenerator) -> bool:
    """Whether a bit generator belongs to NumPy. No bit generator of NumPy is a cipher."""
    return type(bits).__module__.partition(".")[0] == "numpy"


def _cipher_at(key: np.ndarray, nonce: int) -> np.random.BitGenerator:
    """The cipher's stream for a key of 8 words and a nonce below 2**60 (words 14 and 15 of the cipher's state)."""
    # # randomgen's counter counts words, and a block has 16 words. The upper half of the block's number is the nonce.
    return _cipher()(key=key.view(np.uint64), counter=16 * (nonce << 64), rounds=20)


def add_normal(out: np.ndarray, std: float, rng: np.random.Generator) -> None:
    """Add a fresh sample of N(0, std^2) to every entry of out, in place and in out's dtype. A std of 0 draws nothing.

    Raises ValueError if std is out of range: see `nfa.cipher.check_noise`.
    """
    check_noise(std, out.dtype)
    if std > 0:
        out += out.dtype.type(std) * rng.standard_normal(out.shape, out.dtype)


def add_normal_each(out: np.ndarray, std: float, rng: np.random.Generator) -> None:
    """Add a fresh sample of N(0, std^2) to every entry of out (k, ...), in place. Each row belongs to an example.

    With `OfExamples`, a row's noise is a function of its example's place in the batch. Any other generator draws all k
    rows at once, as for `add_normal`. A std of 0 draws nothing. Raises ValueError if std is out of range.
    """
    check_noise(std, out.dtype)
    if std > 0:
        out += out.dtype.type(std) * normals_each(rng, out.shape, out.dtype)


def normals_each(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any = np.float64) -> np.ndarray:
    """Standard normals of a shape (k, ...), one row for each example, as `add_normal_each` adds them."""
    if not isinstance(rng, OfExamples):
        return rng.standard_normal(shape, dtype)
    return repeated_normals(rng, shape, dtype)(1)[0]


def repeated_normals(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: Any = np.float64
) -> Callable[[int], np.ndarray]:
    """A function that draws standard normals for k examples, as many repeats as each call requests.

    Parameters
    ----------
    rng : numpy.random.Generator. With `OfExamples`, an example's normals come from its own generator
    shape : (k, ...), shape of one repeat
    dtype : float32 or float64

    Returns
    -------
    normals : function (repeats) -> (repeats, k, ...) array. Each call continues the previous call. An example's normals
        do not depend on the number of repeats in each call
    """
    if not isinstance(rng, OfExamples):
        return lambda repeats: rng.standard_normal((repeats, *shape), dtype)
    each = rng.each(shape[0])

    def normals(repeats: int) -> np.ndarray:
        u = np.empty((repeats, *shape), dtype)
        for i, own in enumerate(each):
            u[:, i] = own.standard_normal((repeats, *shape[1:]), dtype)
        return u

    return normals
