r"""Noise on a public grid, with exactly the law of a rounded Gaussian. Secure runs use this noise.

The set of possible results of a float64 sum of a value and noise depends on the value, so the result can reveal the
value. See Mironov, On significance of the least significant bits for differential privacy, CCS 2012. Also, noise from
finitely many random bits has a largest value, but a Gaussian has none. This module avoids these two problems:

1. The value is rounded to an integer s, in units of a public power of two g (`unit`).
2. The noise is the integer round(Z), where Z is a real Gaussian of standard deviation std / g.
3. The result is g (s + round(Z)), and float64 represents this number exactly.

Because s is an integer, s + round(Z) = round(s + Z), except for a tie, which has probability 0. So the result is a
function of s + Z. In real arithmetic, s + Z is the output of the Gaussian mechanism. So every guarantee of the Gaussian
mechanism holds for the result.

Z is a function of two uniform real numbers (Box and Muller). A uniform real number is a sequence of random bits. We
draw 64 bits of each number and compute Z in float64, with a known error bound. Nearly always, round(Z) can be only one
integer. Otherwise `by_intervals` computes in integers, with an interval that contains Z, and draws more bits until only
one integer is possible.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial

import numpy as np

from nfa import require
from nfa.cipher import LANES, chacha20

PAIRS = 4 * LANES  # number of pairs of normals in a group; a group is LANES blocks of the cipher
LARGEST_SUM = 2.0**51  # in units; sums are clamped to this size
LARGEST = 2**53  # in units; results are clamped to this size
LARGEST_SCALE = 2.0**40  # largest std / unit that `add_normal` accepts
# The blocks with further bits of pair i have the counter MORE + (i << 20) and the next ones. All other counters are
# smaller than MORE.
MORE = 1 << 62

EDGE = 2.0**-19  # if u or 1 - u is smaller, further bits of u could change the result by more than ERROR allows
ERROR = 2.0**-45  # ERROR scale (1 + r) is more than ten times the proved bound on the error of `quick`
ATANH = [4 / (2 * k + 1) for k in range(10)]  # 4 atanh(x) = sum_k ATANH[k] x^(2k + 1)
SIN = [(-1) ** k / math.factorial(2 * k + 1) for k in range(8)]
COS = [(-1) ** k / math.factorial(2 * k) for k in range(9)]
LOG_2, TURN, SQRT_HALF = math.log(2), 2 * math.pi, math.sqrt(0.5)


def unit(sensitivity: float, std: float, d: int) -> float:
    r"""The unit g of the grid. It is a power of two and a function of only three public numbers.

    Source: [ours:rounded-gaussian]

    .. math:: g = \max(\max \{2^k : 2^k \sqrt d \le 2^{-14} S\}, \; \min \{2^k : 2^k \ge 2^{-36} \sigma\})

    Parameters
    ----------
    sensitivity : float > 0, the l2 sensitivity S of the sum before it is rounded
    std : float > 0, the absolute standard deviation sigma of the noise on each coordinate
    d : int >= 1, the number of all coordinates that a step releases

    Returns
    -------
    g : float

    Raises
    ------
    ValueError : if a number is out of range, or if g is not between 2^-900 and 2^900

    Notes
    -----
    Rounding changes a coordinate by at most g / 2, and so a vector of d coordinates by at most g sqrt(d) / 2. The sums
    of the two neighbouring data sets are both rounded. So the l2 sensitivity of the rounded sum is at most S + g
    sqrt(d).

    If sigma sqrt(d) <= 2^21 S, this increases the sensitivity by at most 2^-14 S. With more noise, g is at least 2^-36
    sigma, so that std / g is at most 2^36. Then g sqrt(d) is below 2^-35 sigma sqrt(d).

    Examples
    --------
    >>> unit(1.0, 1.0, 1) == 2.0**-14
    True
    >>> unit(1.0, 3.0, 1_000_000) == 2.0**-24
    True
    """
    require.positive(**{"the sensitivity": sensitivity, "the standard deviation of the noise": std})
    require.whole(1, **{"the number of coordinates": d})
    fine = _floor_log2(Fraction(sensitivity) ** 2 / (int(d) << 28)) // 2
    coarse = -_floor_log2(1 / Fraction(std)) - 36
    exponent = max(fine, coarse)
    if not -900 <= exponent <= 900:
        raise ValueError(
            f"no grid fits the sensitivity {sensitivity} and the standard deviation {std} of the noise: the unit "
            f"of the grid would be 2^{exponent}, but must be between 2^-900 and 2^900"
        )
    return 2.0**exponent


def _floor_log2(x: Fraction) -> int:
    """The largest k with 2^k <= x, for x > 0."""
    k = x.numerator.bit_length() - x.denominator.bit_length()
    return k if x >= Fraction(2) ** k else k - 1


def add_normal(out: np.ndarray, std: float, rng: np.random.Generator, *, unit: float) -> None:
    r"""Round out to the grid of a unit g, and add fresh noise g round(Z) to every entry, Z ~ N(0, (std / g)^2).

    Source: [ours:rounded-gaussian]

    .. math:: \text{out} \leftarrow g \, \mathrm{clamp}_{2^{53}}(s + \mathrm{round}(Z)), \qquad
        s = \mathrm{round}(\mathrm{clamp}_{2^{51}}(\text{out} / g))

    Parameters
    ----------
    out : float64 array of any shape, without NaN; changed in place
    std : float >= 0. With 0, nothing is drawn, and out is only rounded
    rng : numpy.random.Generator, used only for a key of 256 bits
    unit : float, the power of two g of `unit`; std / g is at most 2^40

    Raises
    ------
    ValueError : if std or the unit is out of range, if std / unit has no float64, or if out is not float64 or has NaN

    Notes
    -----
    Guarantee: suppose the bits of the cipher are ideal random bits. Then the entries of round(Z) are independent and
    have exactly the law of a rounded Gaussian, tails included. Every entry is g times an integer, without rounding, and
    no 0 is -0.

    **Privacy.** Let x and x' be two values of out with ||x - x'|| <= S, and let rho be the function that maps out to s.
    Clamping is 1-Lipschitz. Rounding then changes a coordinate by at most 1/2. So g ||rho(x) - rho(x')|| <= S + g
    sqrt(d) for d coordinates. For an integer s and a real Z that is no tie, s + round(Z) = round(s + Z). A tie has
    probability 0. Hence the result is, almost surely, a function of g s + g Z. This is the Gaussian mechanism with
    standard deviation std on a value of sensitivity S + g sqrt(d). A function of a mechanism's output has the privacy
    of the mechanism.

    The noise is a function of the key, and the key is as secret as the generator. Some entries need more than 64 bits.
    The number of these entries, and so the running time, depends on the key and on std / g, but not on out.
    """
    check(out, std, unit)
    key = rng.integers(2**32, size=8, dtype=np.uint32) if std > 0 else np.zeros(8, np.uint32)
    flat = np.array(out).reshape(-1)
    add_keyed(flat, std, key, unit=unit)
    out[...] = flat.reshape(out.shape)


def check(out: np.ndarray, std: float, unit: float) -> None:
    """Raise ValueError unless `add_normal` can add noise of this size, on a grid of this unit, to out."""
    if out.dtype != np.float64:
        raise ValueError(f"rounded noise can only be added to a float64 array, got {out.dtype}")
    require.not_negative(**{"the standard deviation of the noise": std})
    if not (0 < unit < math.inf and math.frexp(unit)[0] == 0.5 and 2.0**-900 <= unit <= 2.0**900):
        raise ValueError(f"the unit of the grid must be a power of two between 2^-900 and 2^900, got {unit}")
    if not (std / unit <= LARGEST_SCALE and std / unit * unit == std):
        raise ValueError(f"noise of standard deviation {std} does not fit a grid of unit {unit}")


def add_keyed(out: np.ndarray, std: float, key: np.ndarray, group: int = 0, *, unit: float) -> np.ndarray:
    """`add_normal` with a given key. Each sample is a function of the key and the entry's place.

    Source: [ours:rounded-gaussian]

    Parameters
    ----------
    out : (n,) float64 array
    std, unit : as for `add_normal`, not checked
    key : (8,) uint32 array
    group : int >= 0, the group of the key's sequence in which out begins. A group has PAIRS cosines, then PAIRS sines

    Returns
    -------
    out : the same array

    Raises
    ------
    ValueError : if out has NaN
    """
    s = on_grid(out, unit)
    if std == 0:
        out[:] = unit * s
        return out
    scale, groups = std / unit, -(-len(out) // (2 * PAIRS))
    words = chacha20(key, group * LANES, groups * LANES)  # (16, groups LANES)
    k, certain = (
        a.reshape(2 * PAIRS // LANES, groups, LANES).swapaxes(0, 1).reshape(-1)[: len(out)] for a in quick(words, scale)
    )
    out[:] = unit * (s + k)
    for i in np.flatnonzero(~certain):
        out[i] = add_exactly(s[i], unit, scale, key, group, int(i))
    return out


def on_grid(out: np.ndarray, unit: float) -> np.ndarray:
    """The entries in units, clamped to +-2^51 and rounded to integers (ties to even integers). -0 becomes 0.

    Raises ValueError if an entry is NaN.
    """
    if np.isnan(out).any():
        raise ValueError("noise cannot be added to a sum that contains NaN")
    with np.errstate(over="ignore"):
        return np.rint(np.clip(out / unit, -LARGEST_SUM, LARGEST_SUM)) + 0.0


def add_exactly(
    s: float, unit: float, scale: float, key: np.ndarray, group: int, i: int, blocks: Callable = chacha20
) -> float:
    """unit (s + round(Z)) for the entry i of an array that begins in the given group. `by_intervals` computes round(Z).

    Parameters
    ----------
    s : float, an integer
    scale : float > 0, std / unit
    blocks : `nfa.cipher.chacha20` or its kernel
    """
    group, place = group + i // (2 * PAIRS), i % (2 * PAIRS)
    sine, pair = divmod(place, PAIRS)
    k = by_intervals(scale, partial(bits_of_pair, blocks, key, group * PAIRS + pair), bool(sine))
    return unit * float(min(max(int(s) + k, -LARGEST), LARGEST))


def bits_of_pair(blocks: Callable, key: np.ndarray, pair: int, more: int) -> tuple[int, int, int]:
    """The first 64 + 256 ``more`` bits of each of the two uniform numbers of a pair.

    Parameters
    ----------
    blocks : `nfa.cipher.chacha20` or its kernel
    key : (8,) uint32 array
    pair : int >= 0, the pair's place in the key's sequence
    more : int >= 0, the number of further blocks of the cipher

    Returns
    -------
    u, v, bits : the two numbers are in [u, u + 1] / 2^bits and [v, v + 1] / 2^bits
    """
    group, place = divmod(pair, PAIRS)
    row, lane = divmod(place, LANES)
    words = blocks(key, group * LANES + lane, 1)[:, 0].tolist()
    u, v = (words[row] << 32) + words[4 + row], (words[8 + row] << 32) + words[12 + row]
    for w in blocks(key, MORE + (pair << 20), more).T.tolist():
        for i in range(8):
            u, v = (u << 32) + w[i], (v << 32) + w[8 + i]
    return u, v, 64 + 256 * more


def quick(words: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    r"""Rounded normals from blocks of the cipher, computed in float64, and whether each of these values is certain.

    Source: [ours:rounded-gaussian]

    .. math:: Z = \sigma \sqrt{-2 \ln u} \, (\cos 2 \pi v, \sin 2 \pi v)

    Parameters
    ----------
    words : (16, n) uint32 array. Rows 0 to 3 have the first bits of u, and rows 4 to 7 the next bits. Rows 8 to 15 do
        the same for v
    scale : float > 0, at most 2^40: sigma

    Returns
    -------
    k : (8, n) float64 array of integers, four rows of cosines and four of sines
    certain : (8, n) bool array. If an entry is True, the same entry of k is round(Z), whatever bits follow

    Notes
    -----
    **Error.** Let e = 2^-53. The relative error of each operation and each constant is at most e, whether or not
    products are fused with additions. "The error" means an upper bound of the error. The numbers are rounded up, so
    that they include products of errors. U and V are the uniform numbers with all their bits, and L = -2 ln U = r^2.

    1. The error of ``u`` is e U + 2^-64, and that of ``rest`` is e (1 - U) + 2^-64. The summand 2^-64 is the effect of
       the bits that follow.
    2. If u < 3/4, ``m - 1`` is exact, and the error of u changes L by 2 e + 2^-63 / U. If u >= 3/4, the error of rest
       changes L by (8/3) (e (1 - U) + 2^-64), which is at most 1.4 e L + 2^-62.
    3. The relative error of the quotient ``x`` is 2 e. The square of x is below .0295, and its relative error is 5 e.
       Ten terms of the series of 4 atanh leave out .22 e of the series. A sum of Horner's rule has a relative error h
       with h <= .0295 (h + 6 e) + 2 e, so h < 2.3 e. The last sum has the relative error 1.3 e, because 4 is exact. So
       the relative error of x times the series is 4.6 e.
    4. If u >= 3/4, the exponent is 0, and the computation of L has the error 5.6 e L. Otherwise L >= .575, the series
       is at most .694, and the exponent's part is at most L + .694. The error of the series and this part is e (2 L +
       1.4 + 3.2 + L) < 11 e L. The summand 2 e of point 2 is at most 3.5 e L.
    5. So the error of L is 14.5 e L + 2^-63 / U or, if u >= 3/4, 7 e L + 2^-62. The square root halves this error and
       divides it by r. For U >= 2^-19, 2^-64 / (U r) is at most 2^-49.9 (1 + r). The reason is that the logarithm of
       the quotient of these two terms is convex in r. So the quotient is largest at an end of the interval. For 1 - U
       >= 2^-19, r >= 2^-9, and 2^-63 / r is at most 2^-54. So the error of ``r``, including the rounding of the square
       root, is 8.3 e r + 2^-49.9 (1 + r).
    6. ``t`` is at most pi / 4, and its error is 3 e t + 2 pi 2^-64 < 2.4 e. The remainders of the two series, after
       eight and nine terms, are .43 e and .02 e. The errors of Horner's rule are 1.9 e and 2.1 e. So the error of the
       sine and of the cosine is 4.8 e.
    7. After two more products, the error of Z is scale r (8.3 + 4.8 + 2) e + scale 2^-49.9 (1 + r). This is below
       2^-48.5 scale (1 + r).

    ERROR is 2^-45, which is more than ten times 2^-48.5. So k is certain if the distance of z from every half-integer
    is at least ERROR scale (1 + r). The share of values that are not certain is about 2^-18 + 2^-42.8 scale. For a
    scale of 2^23, it is 5e-6.
    """
    a, b, c, d = words.reshape(4, 4, -1)  # (4, 4, n)
    u = a * 2.0**-32 + b * 2.0**-64
    rest = ~a * 2.0**-32 + ~b * 2.0**-64  # 1 - u
    m, e = np.frexp(u)
    low = m < SQRT_HALF
    m, e = np.where(low, 2 * m, m), np.where(low, e - 1, e)  # u = m 2^e, m from sqrt(1/2) to sqrt(2)
    x = np.where(u < 0.75, m - 1, -rest)
    x = x / (2 + x)  # log(m) = 2 atanh(x)
    r = np.sqrt(e * (-2 * LOG_2) - x * _series(ATANH, x * x))
    quarter = (c + np.uint32(1 << 29)) >> np.uint32(30)  # the multiple of 1/4 that is nearest to v
    t = ((c - (quarter << np.uint32(30))).view(np.int32) * 2.0**-32 + d * 2.0**-64) * TURN
    sin, cos = t * _series(SIN, t * t), _series(COS, t * t)
    sin, cos = np.where(quarter & 1, cos, sin), np.where(quarter & 1, -sin, cos)
    r, sign = scale * r, np.where(quarter & 2, -1.0, 1.0)
    z = np.concatenate([r * (sign * cos), r * (sign * sin)])  # (8, n)
    k = np.rint(z)
    error = np.concatenate(2 * [ERROR * (scale + r)])
    inside = np.concatenate(2 * [(u >= EDGE) & (rest >= EDGE)])
    return k, inside & (np.abs(z - k) + error < 0.5)


def _series(coefficients: list[float], x: np.ndarray) -> np.ndarray:
    total = np.full_like(x, coefficients[-1])
    for c in coefficients[-2::-1]:
        total = total * x + c
    return total


def by_intervals(scale: float, digits: Callable[[int], tuple[int, int, int]], sine: bool) -> int:
    """round(Z) for a normal Z of two uniform numbers, computed with integers and with as many bits as needed.

    Source: [ours:rounded-gaussian]

    Parameters
    ----------
    scale : float > 0, the standard deviation of Z
    digits : function more -> (u, v, bits), whose result is that of `bits_of_pair`
    sine : bool, whether Z is the second normal of the pair

    Returns
    -------
    k : int, exact. The range of k is not bounded
    """
    more = 0
    while True:
        u, v, bits = digits(more)
        low, high = normal_bounds(scale, u, v - sine * (1 << bits - 2), bits)
        if low == high:
            return low
        more += 1


def normal_bounds(scale: float, u: int, v: int, bits: int) -> tuple[int, float]:
    r"""The smallest and the largest round(Z) for Z = scale sqrt(-2 ln U) cos(2 pi V).

    Parameters
    ----------
    scale : float > 0
    u, v, bits : U is in [u, u + 1] / 2^bits, V in [v, v + 1] / 2^bits; bits is at least 64

    Returns
    -------
    low, high : int, or infinite for u = 0

    Notes
    -----
    All numbers are integers, in units of 2^-p or 2^-2p. Each inexact number has an error bound.
    """
    if u == 0:
        return 0, math.inf
    p = bits + 64
    log_low, log_high = _minus_2_log(u, bits, p)
    r_low, r_high = math.isqrt(log_low << p), math.isqrt(log_high << p) + 1
    c_low, c_high = _cos_of_turn(v, bits, p)
    low = c_low * (r_low if c_low > 0 else r_high)
    high = c_high * (r_high if c_high > 0 else r_low)
    a, b = scale.as_integer_ratio()
    half = b << 2 * p
    return (2 * a * low + half) // (2 * half), (2 * a * high + half) // (2 * half)


def _minus_2_log(u: int, bits: int, p: int) -> tuple[int, int]:
    r"""Lower and upper bound of 2^p times -2 ln U, for every U in [u, u + 1] / 2^bits with u >= 1.

    Let u / 2^bits = f / 2^n with 1/2 <= f < 1, and let c be an odd integer with |64 f - c| <= 1. Then

    .. math:: -2 \ln(u / 2^{bits}) = 2 n \ln 2 - 2 \ln(c / 64) - 4 \, \mathrm{atanh} \frac{64 f - c}{64 f + c}

    The bits that follow decrease this value by at most 2 / u.
    """
    length = u.bit_length()
    n, c = bits - length, (u << 6 >> length) | 1
    log = -2 * n * _log_of_64ths(32, p) - 2 * _log_of_64ths(c, p)
    log -= 4 * _atanh((u << 6) - (c << length), (u << 6) + (c << length), p)
    error = (8 * n + 16) * p
    return max(log - error - (2 << p) // u - 1, 0), log + error


@cache
def _log_of_64ths(c: int, p: int) -> int:
    """2^p times ln(c / 64), with an error of at most 4 p, for 32 <= c <= 64."""
    return 2 * _atanh(c - 64, c + 64, p)


def _atanh(a: int, b: int, p: int) -> int:
    """2^p times atanh(a / b), with an error of at most 2 p, for |a / b| <= 1/3 and p >= 64.

    The error of ``x`` is below 1, and that of ``square`` is below 2. Then the error of ``power`` is below 2, because
    2/9 + 2/3 + 1 < 2. The error of a term is below 3. There are at most p / 3 + 1 terms, and the remainder of the
    series is below 1.
    """
    x = power = (abs(a) << p) // b
    square, total, k = x * x >> p, 0, 1
    while power:
        total += power // k
        power, k = power * square >> p, k + 2
    return total if a > 0 else -total


@cache
def _pi(p: int) -> int:
    """2^p times pi, with an error of at most 40 p, by Machin's formula."""
    return 16 * _arctan(5, p) - 4 * _arctan(239, p)


def _arctan(b: int, p: int) -> int:
    """2^p times arctan(1 / b), with an error of at most 2 p, for b >= 3 and p >= 64.

    The error of ``power`` is below 2, as in `_atanh`.
    """
    power, total, k = (1 << p) // b, 0, 1
    while power:
        total += power // k if k % 4 == 1 else -(power // k)
        power, k = power // (b * b), k + 2
    return total


def _cos_of_turn(v: int, bits: int, p: int) -> tuple[int, int]:
    """Lower and upper bound of 2^p times cos(2 pi V), for every V in [v, v + 1] / 2^bits.

    ``t`` is at most 1/8 of a turn, and its error is at most 10 p + 1. Each value of ``power`` is less than a third of
    the previous value, and its error is below 3, because 3/3 + 1/2 + 1 < 3. So there are at most p terms, and the error
    of the sum is 3 p + 2.
    """
    quarter = (v + (1 << bits - 3)) >> bits - 2
    t = (v - (quarter << bits - 2)) * 2 * _pi(p) >> bits
    square = t * t >> p
    power, total, k = t if quarter % 2 else 1 << p, 0, quarter % 2
    while power not in (0, -1):
        total += power
        power, k = -power * square // ((k + 1) * (k + 2) << p), k + 2
    total = -total if quarter % 4 in (1, 2) else total
    error = 16 * p + (7 << p - bits)  # 7 > 2 pi
    return total - error, total + error
