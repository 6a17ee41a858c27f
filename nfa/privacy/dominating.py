r"""Dominating pairs: pairs of laws with hockey-stick divergences at least as large as those of all neighbours.

We represent a pair (P, Q) by its profile, which is its hockey-stick divergence

.. math:: H_{e^\epsilon}(P \| Q) = \int \max(dP - e^\epsilon dQ, 0),

which is the delta for this epsilon, as a function of epsilon. Suppose that in each step, no two neighbours have a
larger profile than the pair of this step. Then for all steps together, no two neighbours have a larger profile than the
composed pair. This holds even if a step depends on the results of earlier steps. [zhu2022:compose]
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

Values = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
# A function from epsilons >= 0 (k,) to four arrays (k,): lower and upper bounds of the hockey-stick divergences, and
# lower and upper bounds of Q(L >= epsilon). This is the probability under Q of outcomes that are at least e^epsilon
# times as likely under P. It is minus the derivative of the profile with respect to e^epsilon.
Profile = Callable[[np.ndarray], Values]
ROUNDING = 1e-11  # relative margin, which is larger than the error of the formulas below
ULP = 2.0**-50
TINY = 1e-300  # a divisor instead of 0
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(8)


@dataclass(frozen=True)
class DominatingPair:
    r"""A dominating pair (P, Q), represented by its profile and the profile of (Q, P), at epsilons >= 0.

    For negative epsilons, the profile follows from that of the exchanged pair: :math:`H_{e^{-\epsilon}}(P \| Q) = 1 -
    e^{-\epsilon} + e^{-\epsilon} H_{e^\epsilon}(Q \| P)`.

    Parameters
    ----------
    forward : Profile of P from Q
    backward : Profile of Q from P
    """

    forward: Profile
    backward: Profile

    @property
    def exchanged(self) -> "DominatingPair":
        """The pair (Q, P)."""
        return DominatingPair(self.backward, self.forward)


def gaussian(noise_multiplier: float) -> Profile:
    r"""The profile of the pair N(1/z, 1), N(0, 1), which is one release with Gaussian noise.

    .. math:: H = \varphi(t)\,(R(t) - R(t + \mu)) = \varphi(t) \int_t^{t + \mu} (1 - s R(s))\, ds, \qquad
              t = \epsilon z - \frac{1}{2 z}, \quad \mu = \frac{1}{z}

    with the normal density phi and the Mills ratio R(s) = Phi(-s) / phi(s). In this form, no large terms cancel.
    """
    mu = 1 / noise_multiplier

    def profile(epsilons: np.ndarray) -> Values:
        t = epsilons / mu - mu / 2
        density = np.exp(-t * t / 2) / math.sqrt(2 * math.pi)
        above = special.ndtr(-t - mu)
        if mu < 0.5:  # t >= -1/4
            s = t[:, None] + mu / 2 * (1 + _NODES)
            values = density * (mu / 2) * (_mills_falls(s) @ _WEIGHTS)
            return _outward(values, values, above, above)
        beyond = density * _mills(t + mu)  # e^epsilon Phi(-t - mu)
        values = np.where(t < 0, special.ndtr(-t) - beyond, density * _mills(np.maximum(t, 0)) - beyond)
        return _outward(values, values, above, above)

    return profile


def _mills(s: np.ndarray) -> np.ndarray:
    return math.sqrt(math.pi / 2) * special.erfcx(s / math.sqrt(2))


def _mills_falls(s: np.ndarray) -> np.ndarray:
    """1 - s R(s). For s >= 40, we use the first terms of the asymptotic series 1/s^2 - 3/s^4 + 15/s^6 - ..."""
    far = 1 / np.square(np.maximum(s, 40.0))
    series = far * (1 - far * (3 - far * (15 - far * (105 - far * 945))))
    return np.where(s < 40, 1 - s * _mills(s), series)


def laplace(noise_multiplier: float) -> Profile:
    r"""The profile of two Laplace laws of scale b = z / sqrt(2) at the distance 1: 1 - e^{(epsilon - 1/b) / 2}."""
    farthest = math.sqrt(2) / noise_multiplier

    def profile(epsilons: np.ndarray) -> Values:
        less, more = _left_to(farthest, epsilons)
        near = np.minimum(epsilons, farthest)
        above = ((less > 0) * np.exp(-more / 2 - near) / 2, (more > 0) * np.exp(-less / 2 - near) / 2)
        return _outward(-np.expm1(-less / 2), -np.expm1(-more / 2), *above)

    return profile


def pure(epsilon: float) -> Profile:
    r"""The profile of randomised response, which dominates every epsilon-differentially private mechanism."""

    def profile(epsilons: np.ndarray) -> Values:
        less, more = _left_to(epsilon, epsilons)
        scale, above = 1 + math.exp(-epsilon), 1 / (1 + math.exp(epsilon))
        return _outward(-np.expm1(-less) / scale, -np.expm1(-more) / scale, (less > 0) * above, (more > 0) * above)

    return profile


def _left_to(largest: float, epsilons: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on max(largest - epsilon, 0). The relative rounding error of each of the two losses is at most ULP / 2."""
    off = ULP * largest
    return np.maximum(largest - off - epsilons, 0.0), np.maximum(largest + off - epsilons, 0.0)


def _outward(low: np.ndarray, high: np.ndarray, least_above: np.ndarray, most_above: np.ndarray) -> Values:
    less, more = 1 - ROUNDING, 1 + ROUNDING
    return low * less, high * more, least_above * less, most_above * more


def in_full(profile: Profile) -> tuple[DominatingPair, ...]:
    """The pair for a use that counts in full, if the profile of a law and its shift does not depend on their order."""
    return (DominatingPair(profile, profile),)


def poisson(profile: Profile, q: float) -> tuple[DominatingPair, ...]:
    r"""The pairs for a record that is in a batch with probability q: ((1 - q) Q + q P, Q), and the exchanged pair.

    .. math:: H_{e^\epsilon}((1 - q) Q + q P \| Q) = q H_a(P \| Q), \qquad a = 1 + \frac{e^\epsilon - 1}{q}

    .. math:: H_{e^\epsilon}(Q \| (1 - q) Q + q P) = c\, H_b(Q \| P), \qquad
              c = 1 - (1 - q) e^\epsilon, \quad b = \frac{q e^\epsilon}{c}
    """

    def without_it(epsilons: np.ndarray) -> Values:
        # If c is far below q, its terms cancel, so we use bounds on c. c is negative if e^epsilon > 1 / (1 - q).
        c, off = q - (1 - q) * np.expm1(np.minimum(epsilons, 700.0)), 4 * ULP * q
        least, most = np.maximum(c - off, 0.0), np.maximum(c + off, 0.0)
        # Both H_b and the probability at b increase with c.
        low, _, least_above, _ = at(epsilons, least)
        _, high, _, most_above = at(epsilons, most)
        least_above = (1 - q) * low + q / np.maximum(most, TINY) * least_above
        most_above = (1 - q) * high + q / np.maximum(least, TINY) * most_above
        return least * low, most * high, least_above, np.minimum(most_above, 1.0)

    def at(epsilons: np.ndarray, c: np.ndarray) -> np.ndarray:
        """The given profile at b, or 0 if c is 0."""
        found, there = np.zeros((4, len(c))), c > 0
        found[:, there] = profile(np.log(q / c[there]) + epsilons[there])
        return found

    pair = DominatingPair(_amplified(profile, q), without_it)
    return pair, pair.exchanged


def without_replacement(profile: Profile, q: float) -> tuple[DominatingPair, ...]:
    r"""The pair for a batch of a fixed size. Its profile is q H_a(P || Q) with a = 1 + (e^epsilon - 1) / q.

    The profile of the exchanged pair is the same.

    The given profile must dominate the laws of any two batches that differ in one record.
    """
    return (DominatingPair(_amplified(profile, q), _amplified(profile, q)),)


def _amplified(profile: Profile, q: float) -> Profile:
    def amplified(epsilons: np.ndarray) -> Values:
        near = np.minimum(epsilons, 40.0)  # for a larger epsilon, the -1 in e^epsilon - 1 is below rounding
        low, high, *above = profile(np.log1p(np.expm1(near) / q) + (epsilons - near))
        return q * low, q * high, above[0], above[1]

    return amplified
