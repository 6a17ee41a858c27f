r"""The bounds that the accountants use for batches without replacement under zero-out.

Let f be the output of a step before its noise, and Delta its sensitivity under zero-out. Neighbours D and D' differ in
record i, which is x in D and the zero record 0 in D'. Batches of m out of the n records are drawn without replacement.
Draw a set T of m - 1 of the other records, and one more record j of the rest. A batch without record i consists of T
and j. Let A be the law of the release of this batch. In D, a batch with record i consists of T and x, and its release
has the law B. In D', this batch consists of T and 0, and its release has the law B'. With q = m / n, the two releases
have the laws P = (1 - q) A + q B and Q = (1 - q) A + q B', mixed over T and j.

The distances of f(T, x) and f(T, j) from f(T, 0) are at most Delta. So the distance of f(T, x) from f(T, j) is at most
2 Delta. So the epsilon under zero-out is at most the epsilon for a replaced record at the sensitivity 2 Delta. The
bounds below are smaller.

`nfa.privacy.amplification` declares these bounds.
"""

import math

import numpy as np

from nfa import require
from nfa.privacy.gaussians import check_noise
from nfa.privacy.rdp import gaussian
from nfa.privacy.subsampling import ROUNDED_UP
from nfa.privacy.subsampling_sums import (
    ROUNDING,
    check_rate,
    curve_at_integers,
    log_expm1,
    log_moment,
    log_sum_over_batches,
)


def without_replacement_zeroed(orders, *, sampling_rate: float, noise_multiplier: float) -> np.ndarray:
    r"""The bound for batches of m out of n records without replacement, under zero-out, with Gaussian noise.

    .. math:: \epsilon'(\alpha) = \frac{1}{\alpha - 1} \log \Big(1 + q^2 \binom{\alpha}{2}
              (e^{4s} - 2 e^{2s} + e^s) + \sum_{l=3}^\alpha \binom{\alpha}{l} q^l
              \min\{u_l (w_l b_l + w_l - 1)^l, \; u_l^4 + u_l\}\Big)

    with s = 1 / z^2, w_l = e^{(l-1)s}, u_l = e^{l(l-1)s/2} and b_l = (B(2 floor(l/2)) B(2 ceil(l/2)))^{1/(2l)}. In this
    formula, B(j) = E_Q[(dP/dQ - 1)^j] for P = N(1/z, 1) and Q = N(0, 1).

    Source: [ours:zero-out-drawn]

    Parameters
    ----------
    orders : (k,) array of integers >= 2
    sampling_rate : float q = m / n in (0, 1]
    noise_multiplier : float z > 0, noise std / l2 sensitivity under zero-out

    Returns
    -------
    rdp : (k,) array, nats, for the neighbours in either order

    Raises
    ------
    ValueError : if the sampling rate, the noise multiplier or an order is out of range
    NoGuarantee : if an order is not an integer

    Notes
    -----
    Proof. Let Delta be 1, so that the noise is N(0, z^2 I). The exponential e^{(alpha - 1) D_alpha} is jointly convex
    in the two laws. So it is enough to bound this exponential for each T and j. Choose f(T, 0) as the origin. Then B' =
    N(0, z^2 I), A = N(u, z^2 I) and B = N(v, z^2 I) with ||u|| <= 1 and ||v|| <= 1.

    *Moments.* P / Q = 1 + q (B - B') / Q, and the mean of (B - B') / Q under Q is 0. Let M_l be the integral of |B -
    B'|^l / Q^{l-1}. By the binomial theorem, E_Q[(P / Q)^alpha] is at most 1 + sum_{l >= 2} C(alpha, l) q^l M_l. Let
    T_l be M_l with A in place of Q, and let T'_l be M_l with B' in place of Q. M_l is convex in Q, so it is at most (1
    - q) T_l + q T'_l. If P and Q are exchanged, T_l is the same. T'_l has B in place of B', and its value is the same
    by symmetry.

    *From B'.* Let Y_d = e^{d g / z - d^2 / (2 z^2)} with g ~ N(0, 1). Then T'_l = E|Y_d - 1|^l with d = ||v||. Y_d is a
    martingale in d^2, so E F(Y_d) increases with d for every convex F. Hence T'_l <= E|Y_1 - 1|^l.

    *From A.* Write the release under A as u + y with y ~ N(0, z^2 I). Then B' / A = e^{(<b, y> - ||b||^2 / 2) / z^2}
    with b = -u. We take (B' / A)^l out of |B / A - B' / A|^l and absorb it into the law of y, whose mean becomes l b:

        T_l = e^{l (l-1) ||u||^2 s / 2} E|w Y_d - 1|^l,    w = e^{-(l-1) <u, v> s}.

    The first factor is largest at ||u|| = 1. The mean E|w Y_d - 1|^l increases with d, and it is convex in w. Since
    |log w| <= (l - 1) s, the mean is at most the larger of its values at the two ends. So T_l is at most u_l times the
    larger of E|w Y_1 - 1|^l at w = w_l and at w = 1 / w_l.

    *l = 2.* E(w Y_1 - 1)^2 = w^2 e^s - 2 w + 1. At w = e^s this mean is e^{3s} - 2 e^s + 1. At w = e^{-s} the mean is 1
    - e^{-s}, which is smaller by e^s (e^s - e^{-s})^2. The larger value, multiplied by u_2 = e^s, is the claimed bound
    on M_2. This bound exceeds the bound e^s - 1 on T'_2 by (e^{2s} - 1)^2.

    *l >= 3.* At w = w_l and at w = 1 / w_l, |w Y_1 - 1| is at most w_l |Y_1 - 1| + w_l - 1. By Minkowski's inequality
    E|w Y_1 - 1|^l is at most (w_l b + w_l - 1)^l with b^l = E|Y_1 - 1|^l, and b <= b_l by the inequality of Cauchy and
    Schwarz. This is the first number of the minimum. For the second number, |B - B'|^l <= B^l + B'^l. A Gaussian at the
    distance r from A has the moment e^{l (l-1) r^2 s / 2}. The distance of B from A is at most 2, and the distance of
    B' from A is at most 1. The two numbers are at least the bound on T'_l, which is at most b_l^l and at most E Y_1^l +
    1 = u_l + 1. QED.

    In the worst case, record i adds +Delta in some direction, and every other record adds -Delta.

    Examples
    --------
    At alpha = 2, q = 1/2 and e^s = 2, the bound is log(1 + (16 - 8 + 2) / 4).

    >>> z = 1 / math.sqrt(math.log(2))
    >>> found = without_replacement_zeroed([2], sampling_rate=0.5, noise_multiplier=z)
    >>> round(float(np.exp(found[0])), 12)
    3.5
    """
    check_noise(noise_multiplier)
    orders, base = curve_at_integers(
        orders, "ours:zero-out-drawn", lambda a: gaussian(a, noise_multiplier=noise_multiplier)
    )
    l = np.arange(len(base))
    s = float(base[2])
    with np.errstate(invalid="ignore"):  # for an infinite s
        log_w = (l - 1) * s
    log_u = (l - 1) * base
    terms = np.logaddexp(4 * log_u, log_u)
    # We write e^{4s} - 2 e^{2s} + e^s as e^s ((e^{3s} - 1) - 2 (e^s - 1)) for small s, and as e^{4s} (1 - 2 e^{-2s} +
    # e^{-3s}) for large s.
    if s < 1:
        terms[2] = s + math.log(math.expm1(3 * s) - 2 * math.expm1(s))
    else:
        terms[2] = 4 * s + math.log1p(math.exp(-3 * s) - 2 * math.exp(-2 * s))
    if noise_multiplier > 0.1:  # for smaller z, B(j) is e^{j (j-1) / 2 z^2} to more than 20 digits
        log_B = np.zeros(len(base) + 1)
        log_B[2::2] = log_moment(np.arange(2, len(log_B), 2), noise_multiplier=noise_multiplier)
        root = (log_B[2 * (l // 2)] + log_B[2 * ((l + 1) // 2)]) / 2  # l log b_l
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = l * np.logaddexp(log_w + root / l, log_expm1(log_w))
        terms[3:] = np.minimum(terms, log_u + apart)[3:]
    terms += 8 * ROUNDING * (np.abs(terms) + 1)
    return log_sum_over_batches(orders, sampling_rate, terms, base)


def amplified_zeroed(epsilon: float, *, sampling_rate: float) -> float:
    r"""The epsilon of pure differential privacy for batches without replacement under zero-out, for any mechanism.

    .. math:: \epsilon' = \log \frac{1 + q (e^{2 \epsilon} - 1)}{1 + q (e^\epsilon - 1)}

    Source: [ours:zero-out-pure]

    Parameters
    ----------
    epsilon : float >= 0, epsilon of the mechanism on batches under zero-out
    sampling_rate : float q = m / n in (0, 1]

    Returns
    -------
    epsilon : float >= 0 under zero-out, rounded up; at most the given epsilon, except for rounding; inf if the given
        epsilon is inf

    Raises
    ------
    ValueError : if epsilon is negative or the rate is not in (0, 1]

    Notes
    -----
    Proof. For each T and j, the batch of B' is the batch of A with one record zeroed out. It is also the batch of B
    with one record zeroed out. So B <= e^epsilon B', B' <= e^epsilon B and B' <= e^epsilon A. Mixing over T and j keeps
    these inequalities. With r = B' / A, which is at most e^epsilon,

        P / Q <= (1 - q + q e^epsilon r) / (1 - q + q r),

    which increases with r and has the claimed value at r = e^epsilon. In the other order, B >= e^-epsilon B', so Q / P
    is at most (1 - q + q r) / (1 - q + q e^-epsilon r). This ratio also increases with r, and it is 1 + q (e^epsilon -
    1) at r = e^epsilon. This value is at most the claimed value, because (1 + q (e^epsilon - 1))^2 <= 1 + q (e^{2
    epsilon} - 1). The reason is that the square of a mean is at most the mean of the squares. QED. Laws on two outcomes
    with these three ratios attain the bound.

    Examples
    --------
    At q = 1/2 and e^epsilon = 3, the result is log(5 / 2).

    >>> round(math.exp(amplified_zeroed(math.log(3), sampling_rate=0.5)), 12)
    2.5
    """
    require.at_least(0, epsilon=epsilon)
    check_rate(sampling_rate)
    if epsilon == math.inf:
        return math.inf
    q = sampling_rate
    if epsilon < 300:
        gained = math.expm1(epsilon)
        return math.log1p(gained * (q * math.exp(epsilon) / (1 + q * gained))) * ROUNDED_UP
    log_gap = math.log(q + (1 - q) * math.exp(-2 * epsilon)) - math.log(q + (1 - q) * math.exp(-epsilon))
    return (epsilon + log_gap) * ROUNDED_UP
