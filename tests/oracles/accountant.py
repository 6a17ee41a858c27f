"""The theorems of `nfa.privacy.theorems` with eighty digits, term by term with exact ratios, for orders up to 10^4.

All computations use the moments M(l) = E_Q[(P/Q)^l] = e^{(l-1) epsilon(l)} of one release. The ratio of consecutive
weights is a rational number. Unlike the tested code, these computations use logarithms only in the last line.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import mpmath as mp

DIGITS = 80


@dataclass(frozen=True)
class Law:
    """Moments M of a release without sampling, at integers 0 to alpha and at any order, and e^{epsilon(infinity)} - 1.

    `twice` is the release with the same noise and twice the sensitivity.
    """

    moments: Callable[[int], list]
    moment: Callable[[float], mp.mpf]
    gap: mp.mpf
    twice: Callable[[], "Law"] | None = None


def gaussian(z: float) -> Law:
    one_over_zz = 1 / mp.mpf(z) ** 2

    def moments(alpha):
        found, power, base = [mp.mpf(1)], mp.mpf(1), mp.exp(one_over_zz)  # M(l + 1) / M(l) = e^{l / z^2}
        for _ in range(alpha):
            found.append(found[-1] * power)
            power *= base
        return found

    return Law(
        moments, lambda a: mp.exp(mp.mpf(a) * (mp.mpf(a) - 1) * one_over_zz / 2), mp.inf, lambda: gaussian(z / 2)
    )


def laplace(z: float) -> Law:
    up = mp.exp(mp.sqrt(2) / mp.mpf(z))  # e^{1 / lambda}

    def moments(alpha):
        found, rise, fall = [], 1 / up, mp.mpf(1)  # up^(l-1) and up^(-l)
        for l in range(alpha + 1):
            found.append((l * rise + (l - 1) * fall) / (2 * l - 1))
            rise, fall = rise * up, fall / up
        return found

    def moment(a):
        a = mp.mpf(a)
        return (a * up ** (a - 1) + (a - 1) * up ** (-a)) / (2 * a - 1)

    return Law(moments, moment, up - 1, lambda: laplace(z / 2))


def randomised_response(truth: float) -> Law:
    h, s = (1 + mp.mpf(truth)) / 2, (1 - mp.mpf(truth)) / 2

    def moments(alpha):
        found, rise, fall = [], s, h
        for _ in range(alpha + 1):
            found.append(rise + fall)
            rise, fall = rise * h / s, fall * s / h
        return found

    return Law(moments, lambda a: h**a * s ** (1 - mp.mpf(a)) + s**a * h ** (1 - mp.mpf(a)), h / s - 1)


@lru_cache(maxsize=2)
def central_moments(z: float, alpha: int) -> list:
    """B(0), ..., B(alpha) of `wbk2019:thm27`: forward differences of M at 0.

    The computation uses so many digits that the result is exact, although differences lose digits.
    """
    with mp.workdps(100 + int(alpha * (1 + max(0, math.log10(z))))):
        row, found = gaussian(z).moments(alpha), []
        while row:
            found.append(row[0])
            row = [b - a for a, b in itertools.pairwise(row)]
    return found


def weights(alpha: int, q: mp.mpf, start: mp.mpf, ratio: mp.mpf):
    """Yield start C(alpha, l) ratio^l for l = 0 .. alpha."""
    weight = start
    for l in range(alpha + 1):
        yield weight
        weight = weight * ratio * (alpha - l) / (l + 1)


def without_replacement(alpha: int, q: float, term: Callable[[int], mp.mpf]):
    """Epsilon of batches without replacement: log(1 + sum C(alpha, l) q^l term(l)) / (alpha - 1)."""
    q = mp.mpf(q)
    total = mp.fsum(w * term(l) for l, w in enumerate(weights(alpha, q, mp.mpf(1), q)) if l >= 2)
    return mp.log(1 + total) / (alpha - 1)


def poisson(alpha: int, q: float, term: Callable[[int], mp.mpf]):
    """Epsilon of Poisson batches: log(sum C(alpha, l) (1-q)^(alpha-l) q^l term(l)) / (alpha - 1)."""
    q = mp.mpf(q)
    if q == 1:
        return mp.log(term(alpha)) / (alpha - 1)
    shares = enumerate(weights(alpha, q, (1 - q) ** alpha, q / (1 - q)))
    return mp.log(mp.fsum(w * term(l) for l, w in shares)) / (alpha - 1)


def second(M, gap):
    return min(4 * (M[2] - 1), 2 * M[2], M[2] * gap**2)


def zeroed(z: float, alpha: int) -> Callable[[int], mp.mpf]:
    """The term l of `ours:zero-out-drawn` without the factor C(alpha, l) q^l."""
    s, B = 1 / mp.mpf(z) ** 2, central_moments(z, 2 * ((alpha + 1) // 2))

    def term(l):
        if l == 2:
            return mp.exp(4 * s) - 2 * mp.exp(2 * s) + mp.exp(s)
        w, u = mp.exp((l - 1) * s), mp.exp(l * (l - 1) * s / 2)
        b = (B[2 * (l // 2)] * B[2 * ((l + 1) // 2)]) ** (mp.mpf(1) / (2 * l))
        return min(u * (w * b + w - 1) ** l, u**4 + u)

    return term


def closed_form(alpha: float, q: float, z: float):
    a, q, z = mp.mpf(alpha), mp.mpf(q), mp.mpf(z)
    A = mp.log(1 + 1 / (q * (a - 1)))
    first = a <= z**2 * A / 2 - 2 * mp.log(z)
    other = a <= (z**2 * A**2 / 2 - mp.log(5) - 2 * mp.log(z)) / (A + mp.log(q * a) + 1 / (2 * z**2))
    return 2 * q**2 * a / z**2 if first and other else mp.inf


SCHEMES = ("none", "epoch-partition", "without-replacement", "poisson")  # the sampling schemes of this oracle
# The bounds that `one_step` computes. If you add a theorem, write its oracle into the test of this theorem.
KNOWN = """mironov2019:thm11 lee2020:lem1 berthier2019:prop2.1 berthier2019:rr wbk2019:thm27 wbk2019:thm9 lee2020:lem3
    berthier2019:thm3.2 lee2020:fn1 mironov2019:sec3.3 zhuwang2019:thm5 ours:zero-out-drawn
    ours:zero-out-replaced""".split()


def one_step(bound: str, alpha: float, law: Law, *, q: float, z: float):
    """The Rényi epsilon of one step at the order ``alpha``.

    The result is the theorem's value, or the value without sampling if that value is smaller.
    """
    whole = mp.log(law.moment(alpha)) / (mp.mpf(alpha) - 1)
    if bound == "mironov2019:thm11":
        return min(whole, closed_form(alpha, q, z))
    if bound in ("lee2020:lem1", "berthier2019:prop2.1", "berthier2019:rr"):
        return whole
    if bound == "ours:zero-out-replaced":
        assert law.twice is not None
        law = law.twice()
    M, gap = law.moments(int(alpha)), law.gap
    if bound == "ours:zero-out-drawn":
        found = without_replacement(alpha, q, zeroed(z, int(alpha)))
    elif bound == "wbk2019:thm27":
        B = central_moments(z, 2 * ((int(alpha) + 1) // 2))

        def root(l):
            return 4 * mp.sqrt(B[2 * (l // 2)] * B[2 * ((l + 1) // 2)])

        found = without_replacement(alpha, q, lambda l: second(M, gap) if l == 2 else min(root(l), 2 * M[l]))
    elif bound in ("wbk2019:thm9", "lee2020:lem3", "ours:zero-out-replaced"):
        found = without_replacement(alpha, q, lambda l: second(M, gap) if l == 2 else M[l] * min(2, gap**l))
    elif bound == "berthier2019:thm3.2":
        found = without_replacement(alpha, q, lambda l: 4 * (M[2] - 1) if l == 2 else 2 * M[l])
    elif bound in ("lee2020:fn1", "mironov2019:sec3.3"):
        found = poisson(alpha, q, lambda l: M[l])
    elif bound == "zhuwang2019:thm5":
        found = poisson(alpha, q, lambda l: 3 * M[l] if l > 2 else M[l])
    else:
        raise AssertionError(bound)
    return min(whole, found)


def converted(conversion: str, alpha: float, rdp, delta: float):
    """The epsilon at ``delta`` that the Rényi epsilon ``rdp`` at the order ``alpha`` gives, or 0 if it is negative."""
    a, delta = mp.mpf(alpha), mp.mpf(delta)
    if conversion == "mironov2017":
        return rdp - mp.log(delta) / (a - 1)
    return max(rdp + mp.log(1 - 1 / a) - (mp.log(delta) + mp.log(a)) / (a - 1), mp.mpf(0))
