"""Amplification by subsampling with unequal weights, and the divergence of three laws that the report's proof uses.

A mechanism runs on one random record. Record i has the probability w_i <= c, which does not depend on the data.
Neighbours replace one record. Orders are integers, and epsilons are in nats.
"""

import math

import numpy as np
from scipy import special

from nfa import require
from nfa.privacy.divergences import check_laws
from nfa.privacy.subsampling import without_replacement_berthier
from nfa.privacy.subsampling_sums import Curve, curve_at_integers, log_expm1, log_sum_over_batches


def ternary_chi(p, q, r, *, j: float) -> float:
    r"""The |chi|^j divergence of three discrete laws.

    .. math:: D_{|\chi|^j}(p, q \| r) = E_r\Big[\Big(\frac{|p - q|}{r}\Big)^j\Big]
              = \sum_k \frac{|p_k - q_k|^j}{r_k^{j-1}}

    Source: [berthier2019:lem4.1]

    Parameters
    ----------
    p, q, r : (k,) arrays of probabilities over the same k outcomes
    j : float >= 1

    Returns
    -------
    divergence : float >= 0. For j > 1, it is inf if p and q differ on an outcome without mass under r. For j = 1, it is
        twice the total variation of p and q

    Raises
    ------
    ValueError : if the shapes differ, if an argument is not a law, or if j is below 1

    Notes
    -----
    The report does not define this divergence. We use the definition of the report's source, quoted from memory. The
    source calls a mechanism zeta-ternary-|chi|^alpha private if D_{|chi|^j} <= zeta(j)^j for the laws on any three
    mutually adjacent data sets. Lemma 4.1 says that a mechanism on one record, drawn with weights of at most c, has
    this property with c zeta in place of zeta. Three data sets are adjacent if they have the same size and differ in
    the same record.

    Examples
    --------
    The two terms are (1/2)^2 / (1/2) each.

    >>> ternary_chi([0.75, 0.25], [0.25, 0.75], [0.5, 0.5], j=2)
    1.0
    """
    if not 1 <= j < math.inf:
        raise ValueError(f"j must be at least 1 and finite, got {j}")
    p, q, r = (np.asarray(law, float) for law in (p, q, r))
    if p.ndim != 1 or not p.shape == q.shape == r.shape:
        raise ValueError(
            f"p, q and r must be one-dimensional arrays of the same size, got shapes {p.shape}, {q.shape} and {r.shape}"
        )
    check_laws(p=p, q=q, r=r)
    apart = p != q
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        return float(np.exp(j * np.log(np.abs(p - q)[apart]) - special.xlogy(j - 1, r[apart])).sum())


def subsampled_nonuniform(orders, *, c: float, curve: Curve) -> np.ndarray:
    r"""Theorem 4.2 with its sum from j = 3: one record is drawn with weights of at most c.

    .. math:: \epsilon'(\alpha) = \frac{1}{\alpha - 1} \log \Big(1 + 4 c^2 \binom{\alpha}{2} (e^{\epsilon(2)} - 1)
              + 2 \sum_{j=3}^\alpha c^j \binom{\alpha}{j} e^{(j-1) \epsilon(j)} \Big)

    Source: [berthier2019:thm4.2]

    Parameters
    ----------
    orders : (k,) array of integers >= 2
    c : float in (0, 1], at least the largest weight, so at least 1 / n
    curve : function orders -> nats, the Renyi curve of the mechanism on one record, for any two records

    Returns
    -------
    rdp : (k,) array, nats, under replace-one; inf if the curve is inf at the order. The result can exceed the curve.
        The curve itself is also a bound

    Raises
    ------
    ValueError : if c or an order is out of range
    NoGuarantee : if an order is not an integer

    Notes
    -----
    The weights must not depend on the data. In a shuffled pass, the weights given the outputs so far depend on the
    data. So the theorem does not cover a step of SGD with shuffling.

    Examples
    --------
    With the weights 1/n, this bound is Theorem 3.2. Here 1 + 4 (1/4) (3 - 1) = 3, as without amplification.

    >>> rdp = subsampled_nonuniform([2], c=0.5, curve=lambda a: np.log(3) * a / 2)
    >>> round(float(np.exp(rdp[0])), 12)
    3.0
    """
    require.within("(0, 1]", c=c)
    return without_replacement_berthier(orders, sampling_rate=c, curve=curve)


def printed_nonuniform(orders, *, c: float, curve: Curve) -> np.ndarray:
    r"""Theorem 4.2 as printed, with its sum from j = 1. This bound is true but too large to be useful.

    .. math:: \frac{1}{\alpha - 1} \log \Big(1 + 4 c^2 \binom{\alpha}{2} (e^{\epsilon(2)} - 1)
              + 2 \sum_{j=1}^\alpha c^j \binom{\alpha}{j} e^{(j-1) \epsilon(j)} \Big)

    Source: [berthier2019:thm4.2]

    Parameters
    ----------
    orders, c, curve : as in `subsampled_nonuniform`

    Returns
    -------
    rdp : (k,) array, nats, at least `subsampled_nonuniform`, because the additional printed terms are all positive

    Notes
    -----
    The term with j = 1 is 2 c alpha, so it is of order c, while subsampling gains a factor of order c^2.

    Examples
    --------
    1 + 4 (1/4) (3 - 1) + 2 (2 / 2 + 3 / 4) = 6.5.

    >>> rdp = printed_nonuniform([2], c=0.5, curve=lambda a: np.log(3) * a / 2)
    >>> round(float(np.exp(rdp[0])), 12)
    6.5
    """
    require.within("(0, 1]", c=c)
    orders, base = curve_at_integers(orders, "berthier2019:thm4.2", curve)
    j = np.arange(len(base))
    terms = math.log(2) + (j - 1) * base
    terms[2] = np.logaddexp(math.log(4) + log_expm1(base[2]), terms[2])
    rest = (orders - 1) * log_sum_over_batches(orders, c, terms, base)  # log(1 + the sum from j = 2)
    return np.logaddexp(rest, np.log(2 * c * orders)) / (orders - 1)


def high_noise_limit() -> float:
    r"""The largest divergence of order 2 in the report's high-noise regime: e^x - 1 is at most 2 x up to this x.

    .. math:: \max \{x : 4 (e^x - 1) \le 8 x\} = -\tfrac12 - W_{-1}(-\tfrac12 e^{-1/2})

    Source: [berthier2019:rem-8sigma]

    Returns
    -------
    x : float; for Gaussian noise, the largest (sensitivity / sigma)^2 at which the report's inequality is true

    Notes
    -----
    The report's inequality, 4 (e^epsilon(2) - 1) <= 8 / sigma^2, uses epsilon(2) = 1 / sigma^2, which belongs to a
    sensitivity of 1. With the report's own sensitivity 2 L, it becomes 4 (e^epsilon(2) - 1) <= 32 L^2 / sigma^2. The
    constant 16 of Conjecture 1 follows, because 32 (alpha (alpha - 1) / 2) / (alpha - 1) = 16 alpha.

    Examples
    --------
    >>> round(high_noise_limit(), 6)
    1.256431
    """
    return float(-0.5 - special.lambertw(-math.exp(-0.5) / 2, k=-1).real)
