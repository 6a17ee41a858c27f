"""The cipher ChaCha20 and normal samples from it. Each sample is a function of the key and of the entry's place."""

import math

import numpy as np

LANES = 256  # number of the cipher's blocks in a group; a group is processed at once
_CONSTANT = np.frombuffer(b"expand 32-byte k", "<u4").astype(np.uint32)  # the first words of the cipher's state
_ROLLED = {turn: np.roll(np.arange(4), -turn) for turn in (1, 2, -1)}  # the words of a row, rotated to the left


def chacha20(key: np.ndarray, first: int, n: int) -> np.ndarray:
    """The n blocks of the cipher ChaCha20 with the counters first, first + 1, ... Each has 16 words of uniform bits.

    Parameters
    ----------
    key : (8,) uint32 array, 256 bits
    first : int >= 0, the counter of the first block. A block is a function of the key and its counter alone
    n : int >= 0

    Returns
    -------
    words : (16, n) uint32 array, one block in each column

    Notes
    -----
    The cipher is that of RFC 8439, Section 2.3, with the nonce 0. The counter has 64 bits, as in the first version of
    ChaCha20.
    """
    counter = np.arange(first, first + n, dtype=np.uint64)
    start = np.zeros((16, n), np.uint32)
    start[:4], start[4:12] = _CONSTANT[:, None], key[:, None]
    start[12], start[13] = counter, counter >> np.uint64(32)
    a, b, c, d = start.reshape(4, 4, n).copy()  # the rows of the state
    for _ in range(10):
        for turn in (1, -1):  # first the columns of the state, then its diagonals; all four quarter rounds at once
            a += b
            d = _rotated(d ^ a, 16)
            c += d
            b = _rotated(b ^ c, 12)
            a += b
            d = _rotated(d ^ a, 8)
            c += d
            b = _rotated(b ^ c, 7)
            b, c, d = b[_ROLLED[turn]], c[_ROLLED[2]], d[_ROLLED[-turn]]
    return np.concatenate([a, b, c, d]) + start


def _rotated(words: np.ndarray, left: int) -> np.ndarray:
    """Each word with its bits rotated to the left."""
    return (words << np.uint32(left)) | (words >> np.uint32(32 - left))


def add_keyed(out: np.ndarray, std: float, key: np.ndarray, group: int = 0, skip: int = 0) -> np.ndarray:
    r"""Add N(0, std^2) to every entry of out, in place. Each sample is a function of the key and the entry's place.

    .. math:: (g_1, g_2) = \sqrt{-2 \ln u} \, (\cos 2 \pi v, \sin 2 \pi v), \qquad u, v \sim U(0, 1)

    Parameters
    ----------
    out : (n,) float64 array without gaps in memory
    std : float >= 0
    key : (8,) uint32 array
    group : int >= 0, the group of the key's sequence in which out begins. A group is the ``LANES`` blocks of the cipher
        from the counter ``group * LANES``, which give 8 LANES normals.
    skip : int, 0 <= skip < 8 LANES, number of normals of this group before the normal of out's first entry

    Returns
    -------
    out : the same array

    Raises
    ------
    ValueError : if out is not float64

    Notes
    -----
    The method is that of Box and Muller (1958). u and v have 52 bits each. No \|g\| exceeds sqrt(106 ln 2) = 8.57. A
    normal is beyond this bound with probability 1e-17.
    """
    _check_dtype(out)
    groups = -(-(skip + len(out)) // (8 * LANES))
    words = chacha20(key, group * LANES, groups * LANES).astype(np.uint64)  # (16, groups LANES)
    u = (((words[:4] << 20) | (words[4:8] >> 12)) + 0.5) * 2.0**-52
    v = ((words[8:12] << 20) | (words[12:] >> 12)) * 2.0**-52
    r = np.sqrt(-2 * np.log(u))
    g = np.concatenate([r * np.cos(2 * np.pi * v), r * np.sin(2 * np.pi * v)])  # (8, groups LANES)
    g = g.reshape(8, groups, LANES).swapaxes(0, 1).reshape(-1)[skip : skip + len(out)]
    out += std * g
    return out


def _check_dtype(out: np.ndarray) -> None:
    if out.dtype != np.float64:
        raise ValueError(f"noise of the cipher can only be added to a float64 array, got {out.dtype}")


def check_noise(std: float, dtype: np.dtype) -> None:
    """Raise ValueError if std > 0 is so small that noise loses digits, or so large that sums can overflow.

    Examples
    --------
    >>> check_noise(1e-40, np.dtype(np.float32))
    Traceback (most recent call last):
    ValueError: the standard deviation of float32 noise must be 0 or between 9.86e-32 and 4.84e+24, got 1e-40
    """
    if not 0 <= std < np.inf:
        raise ValueError(f"the standard deviation of the noise must be a number >= 0, got {std}")
    limits = np.finfo(dtype)
    least, most = float(limits.tiny) / float(limits.eps), float(limits.max) * float(limits.eps) ** 2
    if std > 0 and not least <= std <= most:
        raise ValueError(
            f"the standard deviation of {dtype} noise must be 0 or between {least:.3g} and {most:.3g}, got {std}"
        )


def add_normal_keyed(out: np.ndarray, std: float, rng: np.random.Generator) -> None:
    """`nfa.noise.add_normal` by `add_keyed`, with a fresh key of 256 bits from rng.

    The fast kernel is tested against this function.

    Parameters
    ----------
    out : float64 array of any shape
    std : float >= 0; 0 draws nothing
    rng : numpy.random.Generator, used only for the key

    Raises
    ------
    ValueError : if std is out of range (`check_noise`), or if out is not float64

    Notes
    -----
    The values differ from those of `nfa.noise.add_normal`, but the law is the same. Seeded runs in float64 use this
    noise. Anyone who knows the key can subtract the noise. A key from the operating system stays secret, but the low
    bits of a floating-point sum can still reveal data. So secure runs use `nfa.rounded.add_normal`.
    """
    _add_from(0, out, std, rng)


def add_normal_each_keyed(out: np.ndarray, std: float, rng: np.random.Generator) -> None:
    """`add_normal_keyed` for one part of a batch. The part's place in the batch is its place in the key's sequence.

    Parameters
    ----------
    out : float64 array (k, ...), one row for each example
    std, rng : as for `add_normal_keyed`. The part's first example has the place ``rng.first``, or 0 if rng has no
        ``first``

    Raises
    ------
    ValueError : as `add_normal_keyed`

    Notes
    -----
    Guarantee: with the same state of rng, the noise of an example is bitwise identical in a part and in the whole
    batch.
    """
    _add_from(first_entry(out, rng), out, std, rng)


def first_entry(out: np.ndarray, rng: np.random.Generator) -> int:
    """The place of out's first entry in the whole batch, counted in entries.

    Parameters
    ----------
    out : (k, ...) array, one row for each example
    rng : numpy.random.Generator, `nfa.noise.OfExamples` in a part of a batch. Any other generator means that out is the
        whole batch
    """
    return getattr(rng, "first", 0) * math.prod(out.shape[1:])


def _add_from(first: int, out: np.ndarray, std: float, rng: np.random.Generator) -> None:
    """Add noise from the sequence of a fresh key, beginning at the entry ``first`` of this sequence."""
    _check_dtype(out)
    check_noise(std, out.dtype)
    if std > 0:
        key = rng.integers(2**32, size=8, dtype=np.uint32)
        out += add_keyed(np.zeros(out.size), std, key, *divmod(first, 8 * LANES)).reshape(out.shape)
