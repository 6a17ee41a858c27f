"""Amplification by subsampling: the Renyi curve of a mechanism on a random batch, from its curve without sampling.

Each bound belongs to one sampling scheme and one adjacency, and needs integer orders. The functions evaluate the bounds
as stated. A bound can exceed the curve without sampling. If the curve without sampling also holds,
`nfa.privacy.accountant` uses the smaller of the two. q is the sampling rate of records, and epsilon(alpha) is the
mechanism's own curve. `nfa.privacy.amplification` declares which bounds the accountants use.
"""

import math
import sys

import numpy as np

from nfa import require
from nfa.mechanism import NoGuarantee
from nfa.privacy.gaussians import check_noise
from nfa.privacy.rdp import check_orders, gaussian
from nfa.privacy.subsampling_sums import (
    Curve,
    check_rate,
    curve_at_integers,
    log_3_exp_minus_1,
    log_expm1,
    log_moment,
    log_sum_over_batches,
    log_sum_poisson,
)

ROUNDED_UP = 1 + 2**-48  # rounds a bound up: 2**-48 is larger than the relative error of one sum or function


def without_replacement(
    orders, *, sampling_rate: float, curve: Curve, epsilon_infinity: float = math.inf
) -> np.ndarray:
    r"""The bound for batches of m out of n records without replacement, under replace-one, for any mechanism.

    .. math:: \epsilon'(\alpha) = \frac{1}{\alpha - 1} \log \Big(1 + q^2 \binom{\alpha}{2}
              \min\{4 (e^{\epsilon(2)} - 1), 2 e^{\epsilon(2)}, e^{\epsilon(2)} (e^{\epsilon(\infty)} - 1)^2\}
              + \sum_{l=3}^\alpha \binom{\alpha}{l} q^l e^{(l-1) \epsilon(l)}
              \min\{2, (e^{\epsilon(\infty)} - 1)^l\}\Big)

    Source: [lee2020:lem3] [lee2020:lem3-gauss] [wbk2019:thm9]

    Parameters
    ----------
    orders : (k,) array of integers >= 2
    sampling_rate : float q = m / n in (0, 1]
    curve : function orders -> nats, the mechanism's Renyi curve under replace-one on batches
    epsilon_infinity : float >= 0, the mechanism's epsilon of pure differential privacy; inf if it has none

    Returns
    -------
    rdp : (k,) array, nats; inf where the curve is infinite

    Raises
    ------
    ValueError : if the sampling rate or an order is out of range
    NoGuarantee : if an order is not an integer

    Notes
    -----
    Lee & Kifer print j instead of l in the last exponent. In the sentence before the lemma, they call the batches
    Poisson.

    Examples
    --------
    At alpha = 2 and q = 1/2, with e^{epsilon(2)} = 3/2, the bound is log(1 + 1/4 min(2, 3)).

    >>> rdp = without_replacement([2], sampling_rate=0.5, curve=lambda a: np.log(1.5) * a / 2)
    >>> round(float(np.exp(rdp[0])), 12)
    1.5
    """
    require.at_least(0, epsilon_infinity=epsilon_infinity)
    orders, base = curve_at_integers(orders, "wbk2019:thm9", curve)
    log_gap = float(log_expm1(epsilon_infinity))  # log(e^{epsilon(infinity)} - 1)
    terms = np.zeros(len(base))
    terms[2] = min(math.log(4) + log_expm1(base[2]), base[2] + min(math.log(2), 2 * log_gap))
    l = np.arange(3, len(base))
    terms[3:] = (l - 1) * base[3:] + np.minimum(math.log(2), l * log_gap)
    return log_sum_over_batches(orders, sampling_rate, terms, base)


def without_replacement_berthier(orders, *, sampling_rate: float, curve: Curve) -> np.ndarray:
    r"""The bound of `without_replacement` as Berthier's report prints it, with one term in place of each minimum.

    .. math:: \epsilon'(\alpha) = \frac{1}{\alpha - 1} \log \Big(1 + 4 q^2 \binom{\alpha}{2} (e^{\epsilon(2)} - 1)
              + 2 \sum_{l=3}^\alpha \binom{\alpha}{l} q^l e^{(l-1) \epsilon(l)} \Big)

    Source: [berthier2019:thm3.2]

    Parameters
    ----------
    orders : (k,) array of integers >= 2
    sampling_rate : float q in (0, 1]; the report draws one record, q = 1 / n
    curve : function orders -> nats

    Returns
    -------
    rdp : (k,) array, nats, at least the result of `without_replacement`

    Raises
    ------
    ValueError : if the sampling rate or an order is out of range
    NoGuarantee : if an order is not an integer

    Examples
    --------
    >>> rdp = without_replacement_berthier([2], sampling_rate=0.5, curve=lambda a: np.log(5) * a / 2)
    >>> round(float(np.exp(rdp[0])), 12)
    5.0
    """
    orders, base = curve_at_integers(orders, "berthier2019:thm3.2", curve)
    terms = math.log(2) + (np.arange(len(base)) - 1) * base
    terms[2] = math.log(4) + log_expm1(base[2])
    return log_sum_over_batches(orders, sampling_rate, terms, base)


def without_replacement_gaussian(orders, *, sampling_rate: float, noise_multiplier: float) -> np.ndarray:
    r"""The stronger bound for batches of m out of n records without replacement and Gaussian noise, under replace-one.

    .. math:: \epsilon'(\alpha) = \frac{1}{\alpha - 1} \log \Big(1 + q^2 \binom{\alpha}{2}
              \min\{4 (e^{\epsilon(2)} - 1), 2 e^{\epsilon(2)}\} + \sum_{l=3}^\alpha \binom{\alpha}{l} q^l
              \min\{4 \sqrt{B(2 \lfloor l/2 \rfloor) B(2 \lceil l/2 \rceil)}, 2 e^{(l-1) \epsilon(l)}\}\Big)

    with B(j) = E_Q[(dP/dQ - 1)^j] for P = N(1/z, 1) and Q = N(0, 1).

    Source: [wbk2019:thm27]

    Parameters
    ----------
    orders : (k,) array of integers >= 2
    sampling_rate : float q = m / n in (0, 1]
    noise_multiplier : float z > 0, noise std / l2 sensitivity under replace-one

    Returns
    -------
    rdp : (k,) array, nats, at most the result of `without_replacement` for the same noise

    Raises
    ------
    ValueError : if the sampling rate, the noise multiplier or an order is out of range
    NoGuarantee : if an order is not an integer

    Examples
    --------
    >>> float(without_replacement_gaussian([5], sampling_rate=0.2, noise_multiplier=2)[0])  # doctest: +ELLIPSIS
    0.1213890167...
    """
    check_noise(noise_multiplier)
    orders, base = curve_at_integers(orders, "wbk2019:thm27", lambda a: gaussian(a, noise_multiplier=noise_multiplier))
    l = np.arange(len(base))
    terms = math.log(2) + (l - 1) * base
    terms[2] = min(math.log(4) + log_expm1(base[2]), math.log(2) + base[2])
    # For smaller z, B(j) is e^{j (j-1) / 2 z^2} to more than 20 digits, and the term with the factor 2 is smaller.
    if noise_multiplier > 0.1:
        log_B = np.zeros(len(base) + 1)
        log_B[2::2] = log_moment(np.arange(2, len(log_B), 2), noise_multiplier=noise_multiplier)
        root = (log_B[2 * (l // 2)] + log_B[2 * ((l + 1) // 2)]) / 2
        terms[3:] = np.minimum(terms, math.log(4) + root)[3:]
    return log_sum_over_batches(orders, sampling_rate, terms, base)


def poisson_gaussian(orders, *, sampling_rate: float, noise_multiplier: float) -> np.ndarray:
    r"""The exact curve for Poisson batches and Gaussian noise under add-remove, at integer orders.

    .. math:: \epsilon'(\alpha) = \frac{1}{\alpha - 1} \log \sum_{k=0}^\alpha \binom{\alpha}{k} (1-q)^{\alpha-k} q^k
              e^{k(k-1) / 2 z^2}

    Source: [mironov2019:sec3.3] [lee2020:fn1]

    Parameters
    ----------
    orders : (k,) array of integers >= 2
    sampling_rate : float q in (0, 1], the probability of each record
    noise_multiplier : float z > 0, noise std / l2 sensitivity of the sum under add-remove or zero-out

    Returns
    -------
    rdp : (k,) array, nats; the divergence of (1 - q) N(0, 1) + q N(1/z, 1) from N(0, 1). The divergence of N(0, 1) from
        the mixture is not larger

    Raises
    ------
    ValueError : if the sampling rate, the noise multiplier or an order is out of range
    NoGuarantee : if an order is not an integer

    Notes
    -----
    `poisson_gaussian_closed_form` is a simpler bound by the same authors.

    Examples
    --------
    At alpha = 2, the value is log(1 + q^2 (e^{1/z^2} - 1)).

    >>> z = 1 / np.sqrt(np.log(3))
    >>> round(float(np.exp(poisson_gaussian([2], sampling_rate=0.5, noise_multiplier=z)[0])), 12)
    1.5
    """
    check_noise(noise_multiplier)
    orders, base = curve_at_integers(orders, "lee2020:fn1", lambda a: gaussian(a, noise_multiplier=noise_multiplier))
    return log_sum_poisson(orders, sampling_rate, log_expm1((np.arange(len(base)) - 1) * base), base)


def poisson_gaussian_closed_form(orders, *, sampling_rate: float, noise_multiplier: float) -> np.ndarray:
    r"""The closed form for Poisson batches and Gaussian noise under add-remove, with its conditions.

    .. math:: \epsilon'(\alpha) = \frac{2 q^2 \alpha}{z^2} \quad \text{if } q \le \tfrac15,\ z \ge 4,\
              \alpha \le \tfrac12 z^2 A - 2 \log z,\
              \alpha \le \frac{z^2 A^2 / 2 - \log 5 - 2 \log z}{A + \log(q \alpha) + 1 / (2 z^2)}

    with A = log(1 + 1 / (q (alpha - 1))).

    Source: [mironov2019:thm11] [dpulr2024:dpsgd-gamma] [dpulr2024:exp-eps]

    Parameters
    ----------
    orders : (k,) array of orders > 1, integers or not
    sampling_rate : float q in (0, 1]
    noise_multiplier : float z > 0, noise std / l2 sensitivity of the sum under add-remove or zero-out

    Returns
    -------
    rdp : (k,) array, nats; inf at orders that the theorem does not cover

    Raises
    ------
    ValueError : if the sampling rate, the noise multiplier or an order is out of range
    NoGuarantee : if q > 1/5 or z < 4, because the theorem then covers no order

    Examples
    --------
    >>> poisson_gaussian_closed_form([2, 10000], sampling_rate=0.01, noise_multiplier=4).round(9).tolist()
    [2.5e-05, inf]
    """
    check_noise(noise_multiplier)
    check_rate(sampling_rate)
    a, q, z = check_orders(orders), sampling_rate, noise_multiplier
    if q > 0.2 or z < 4:
        raise NoGuarantee(
            "mironov2019:thm11",
            f"the closed form needs a sampling rate q <= 1/5 and a noise multiplier z >= 4, got q={q} and z={z}",
        )
    A = np.log1p(1 / (q * (a - 1)))
    # The last condition divides by `room`. If `room` is not positive, the theorem does not cover the order.
    room = A + np.log(q * a) + 0.5 / z**2
    covered = (a <= 0.5 * z**2 * A - 2 * math.log(z)) & (room > 0)
    covered &= a * room <= 0.5 * z**2 * A**2 - math.log(5) - 2 * math.log(z)
    return np.where(covered, 2 * q**2 * a / z**2, math.inf)


def poisson(orders, *, sampling_rate: float, curve: Curve) -> np.ndarray:
    r"""The bound for Poisson batches under add-remove, for any mechanism.

    .. math:: \epsilon'(\alpha) = \frac{1}{\alpha - 1} \log \Big( (1-q)^{\alpha-1} (\alpha q - q + 1)
              + \binom{\alpha}{2} q^2 (1-q)^{\alpha-2} e^{\epsilon(2)}
              + 3 \sum_{l=3}^\alpha \binom{\alpha}{l} (1-q)^{\alpha-l} q^l e^{(l-1) \epsilon(l)} \Big)

    Source: [zhuwang2019:thm5]

    Parameters
    ----------
    orders : (k,) array of integers >= 2
    sampling_rate : float q in (0, 1], the probability of each record
    curve : function orders -> nats, the mechanism's Renyi curve under add-remove or zero-out on batches

    Returns
    -------
    rdp : (k,) array, nats; inf where the curve is infinite

    Raises
    ------
    ValueError : if the sampling rate or an order is out of range
    NoGuarantee : if an order is not an integer

    Examples
    --------
    At alpha = 2 and q = 1/2, with e^{epsilon(2)} = 3, the bound is log(3/4 + 3/4).

    >>> round(float(np.exp(poisson([2], sampling_rate=0.5, curve=lambda a: np.log(3) * a / 2)[0])), 12)
    1.5
    """
    orders, base = curve_at_integers(orders, "zhuwang2019:thm5", curve)
    terms = log_3_exp_minus_1((np.arange(len(base)) - 1) * base)  # 3 e^{(l-1) epsilon(l)} - 1
    terms[2] = log_expm1(base[2])
    return log_sum_poisson(orders, sampling_rate, terms, base)


def amplified(epsilon: float, *, sampling_rate: float) -> float:
    r"""The epsilon of pure differential privacy of a mechanism on a random batch.

    .. math:: \epsilon' = \log(1 + q (e^\epsilon - 1))

    Source: [balle2018:poisson] [balle2018:without-replacement]

    Parameters
    ----------
    epsilon : float >= 0, epsilon of the mechanism on batches, under add-remove for Poisson batches and under
        replace-one for batches without replacement
    sampling_rate : float q in (0, 1]

    Returns
    -------
    epsilon : float >= 0 under the same adjacency, rounded up; inf if the given epsilon is inf

    Raises
    ------
    ValueError : if epsilon is negative or the rate is not in (0, 1]

    Notes
    -----
    Poisson batches: fix the other records in the batch. The law of the release is (1 - q) A + q B on the data set with
    the record, and A on the data set without it. By assumption, A <= e^epsilon B and B <= e^epsilon A. The inequality B
    <= e^epsilon A gives one ratio, 1 + q (e^epsilon - 1). The inequality A <= e^epsilon B gives the inverse ratio, 1 /
    (1
    - q (1 - e^-epsilon)), which is smaller.

    Batches without replacement: let A be the law of the release if the record is not in the batch. The laws on two
    neighbours are (1 - q) A + q B and (1 - q) A + q B'. The ratio of any two of A, B and B' is at most e^epsilon,
    because their batches differ in one replaced record. With m = min(A, B'), we have B <= e^epsilon m. So B - B' <=
    e^epsilon m - B', which is at most (e^epsilon - 1) B' and at most (e^epsilon - 1) A. Hence q (B - B') <= q
    (e^epsilon - 1) ((1 - q) A + q B').

    Examples
    --------
    >>> round(amplified(1.0, sampling_rate=0.001), 6)
    0.001717
    """
    require.at_least(0, epsilon=epsilon)
    check_rate(sampling_rate)
    if epsilon < 1:
        return math.log1p(sampling_rate * math.expm1(epsilon)) * ROUNDED_UP
    # Bound on the rounding errors of the sums below.
    terms = 4 * sys.float_info.epsilon * (epsilon + abs(math.log(sampling_rate)))
    found = epsilon + math.log(sampling_rate + (1 - sampling_rate) * math.exp(-epsilon))
    if found < 1:  # the two terms nearly cancel
        found = math.log1p(math.exp(epsilon + math.log(sampling_rate)) - sampling_rate)
        return found * (ROUNDED_UP + terms)
    return found * ROUNDED_UP + terms
