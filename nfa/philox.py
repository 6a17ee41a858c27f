"""The generator Philox and normal samples from it. Each sample is a function of the key and of the entry's place.

Seeded runs use this noise. Philox passes tests of randomness, but it is not a cipher. A run that needs secret noise
uses `nfa.rounded.add_normal`.
"""

import numpy as np

from nfa.cipher import add_normal_each_keyed, add_normal_keyed, check_noise, first_entry

LANES = 256  # number of counters in a tile, which is processed at once; each counter gives four normals


def philox(counter: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Four random words for each counter, by Philox4x32-10 of Salmon et al. (2011), which has ten rounds.

    Parameters
    ----------
    counter : (4, n) uint32 array, one counter in each column, least word first
    key : (2,) uint32 array

    Returns
    -------
    words : (4, n) uint32 array. With the same key, different counters give different words.

    Examples
    --------
    >>> [f"{word:08x}" for word in philox(np.zeros((4, 1), np.uint32), np.zeros(2, np.uint32))[:, 0]]
    ['6627e8d5', 'e169c58d', 'bc57ac4c', '9b00dbd8']
    """
    c, (k0, k1) = counter.astype(np.uint64), (int(k) for k in key)
    low = np.uint64(2**32 - 1)
    for _ in range(10):
        p, q = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        c = np.stack([(q >> 32) ^ c[1] ^ np.uint64(k0), q & low, (p >> 32) ^ c[3] ^ np.uint64(k1), p & low])
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return c.astype(np.uint32)


def add_keyed(out: np.ndarray, std: float, key: np.ndarray, tile: int = 0, skip: int = 0) -> np.ndarray:
    r"""Add N(0, std^2) to every entry of out, in place. Each sample is a function of the key and the entry's place.

    .. math:: (g_1, g_2) = \sqrt{-2 \ln u} \, (\pm \sin \tfrac{\pi}{2} v, \pm \cos \tfrac{\pi}{2} v),
              \qquad u, v \sim U(0, 1)

    Parameters
    ----------
    out : (n,) float32 array without gaps in memory
    std : float >= 0
    key : (4,) uint32 array: the key of Philox, and the upper half of every counter
    tile : int, 0 <= tile < 2**32, the tile of the key's sequence in which out begins. A tile is ``4 LANES`` normals,
        and its counters are ``(lane, tile, key[2], key[3])``
    skip : int, 0 <= skip < 4 LANES, number of normals of this tile before the normal of out's first entry

    Returns
    -------
    out : the same array

    Notes
    -----
    The method is that of Box and Muller (1958), with 32 bits for the radius, 30 for the angle in a quarter of the
    circle and 2 for the signs. No \|g\| exceeds sqrt(66 ln 2) = 6.77. A normal is beyond this bound with probability
    1.3e-11. u is the float32 nearest to ``(word + 1/2) / 2**32``. Just below 1, float32 has only the multiples of
    2^-24. With probability 2^-25 = 3e-8, u is exactly 1, and both normals are 0.
    """
    size = 4 * LANES
    tiles = -(-(skip + len(out)) // size)
    counter = np.empty((4, tiles * LANES), np.uint32)
    counter[0] = np.tile(np.arange(LANES), tiles)
    counter[1] = np.repeat(np.arange(tile, tile + tiles), LANES)
    counter[2:] = key[2:, None]
    words = philox(counter, key[:2])
    # (2, tiles LANES); row 0 gives a counter's first two normals, and row 1 the other two.
    a, b = words[::2], words[1::2]
    u = (a.astype(np.float32) + np.float32(0.5)) * np.float32(2.0**-32)
    r = np.sqrt(-2 * np.log(u.astype(float)))
    v = np.pi / 2 * ((b >> 2) * 2.0**-30)
    g_1 = np.where(b & 1, 1, -1) * r * np.sin(v)
    g_2 = np.where(b & 2, 1, -1) * r * np.cos(v)
    g = np.stack([g_1[0], g_2[0], g_1[1], g_2[1]])  # (4, tiles LANES)
    g = g.reshape(4, tiles, LANES).swapaxes(0, 1).reshape(-1)[skip : skip + len(out)]
    out += np.float32(std) * g.astype(np.float32)
    return out


def add_normal(out: np.ndarray, std: float, rng: np.random.Generator) -> None:
    """`nfa.noise.add_normal` by `add_keyed`, with a fresh key of 128 bits from rng.

    The fast kernel is tested against this function.

    Parameters
    ----------
    out : array of any shape. For float64, the function calls `nfa.cipher.add_normal_keyed`, whose normals have more
        digits
    std : float >= 0; 0 draws nothing
    rng : numpy.random.Generator, used only for the key

    Raises
    ------
    ValueError : if std is out of range (`nfa.cipher.check_noise`), or if out is neither float32 nor float64
    """
    if out.dtype == np.float64:
        add_normal_keyed(out, std, rng)
        return
    _add_from(0, out, std, rng)


def add_normal_each(out: np.ndarray, std: float, rng: np.random.Generator) -> None:
    """`add_normal` for one part of a batch. The part's place in the batch is its place in the key's sequence.

    Parameters
    ----------
    out : array (k, ...), one row for each example. For float64, the function calls `nfa.cipher.add_normal_each_keyed`
    std, rng : as for `add_normal`. The part's first example has the place ``rng.first``, or 0 if rng has no ``first``

    Raises
    ------
    ValueError : as `add_normal`

    Notes
    -----
    Guarantee: with the same state of rng, the noise of an example is bitwise identical in a part and in the whole
    batch.
    """
    if out.dtype == np.float64:
        add_normal_each_keyed(out, std, rng)
        return
    _add_from(first_entry(out, rng), out, std, rng)


def _add_from(first: int, out: np.ndarray, std: float, rng: np.random.Generator) -> None:
    """Add float32 noise from the sequence of a fresh key, beginning at the entry ``first`` of this sequence."""
    if out.dtype != np.float32:
        raise ValueError(f"noise can only be added to a float32 or float64 array, got {out.dtype}")
    check_noise(std, out.dtype)
    if std > 0:
        key = rng.integers(2**32, size=4, dtype=np.uint32)
        out += add_keyed(np.zeros(out.size, np.float32), std, key, *divmod(first, 4 * LANES)).reshape(out.shape)
