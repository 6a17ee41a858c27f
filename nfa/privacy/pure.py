"""Beside the Renyi orders: pure differential privacy, which is the order infinity, and total variation, epsilon 0."""

import math
import sys
from collections.abc import Iterable

import numpy as np

from nfa import require
from nfa.mechanism import Release
from nfa.privacy.rdp import CONVERSIONS
from nfa.privacy.subsampling_sums import check_rate
from nfa.privacy.theorems import Bound, base_bound, epsilon_infinity

PURE, ZERO = "pure", "bretagnolle1979"  # what a guarantee has for a conversion where one of the two gives it
ROUNDED_UP = 1 + 2**-48  # of one sum or function
UNDERFLOW = 1e-300  # above what a curve that is written as 0 can be
ROUTES = CONVERSIONS | {PURE: "berthier2019:postproc", ZERO: "bretagnolle1979:tv"}  # ledger ids
AMPLIFIED = {
    "balle2018:poisson": "Poisson batches, pure differential privacy of any mechanism",
    "balle2018:without-replacement": "batches without replacement, pure differential privacy of any mechanism",
}


def amplified(epsilon: float, *, sampling_rate: float) -> float:
    r"""The epsilon of pure differential privacy of a mechanism that sees a random batch.

    .. math:: \epsilon' = \log(1 + q (e^\epsilon - 1))

    Source: [balle2018:poisson] [balle2018:without-replacement]

    Parameters
    ----------
    epsilon : float >= 0, of the mechanism on batches; for Poisson batches under add-remove, for batches without
        replacement under replace-one
    sampling_rate : float q in (0, 1]

    Returns
    -------
    epsilon : float >= 0 under the same adjacency, rounded up; inf where epsilon is

    Raises
    ------
    ValueError : if epsilon is negative or the rate not in (0, 1]

    Notes
    -----
    Poisson: given the other records' coins the laws with and without the record are (1 - q) A + q B and A, where A
    and B are within e^epsilon of each other. B <= e^epsilon A gives one ratio, 1 + q (e^epsilon - 1), and A <=
    e^epsilon B the other, 1 / (1 - q (1 - e^-epsilon)), which is smaller.

    Without replacement: the two laws are (1 - q) A + q B and (1 - q) A + q B', where A is the law given that the record
    is not drawn. Each of A, B and B' is within e^epsilon of the others, for a batch with the record becomes one without
    when another record takes its place. With m = min(A, B'), B <= e^epsilon m, so B - B' <= e^epsilon m - B', which is
    at most (e^epsilon - 1) B' and at most (e^epsilon - 1) A; hence q (B - B') <= q (e^epsilon - 1) ((1 - q) A + q B').

    Examples
    --------
    >>> round(amplified(1.0, sampling_rate=0.001), 6)
    0.001717
    """
    require.at_least(0, epsilon=epsilon)
    check_rate(sampling_rate)
    if epsilon < 1:
        return math.log1p(sampling_rate * math.expm1(epsilon)) * ROUNDED_UP
    terms = 4 * sys.float_info.epsilon * (epsilon + abs(math.log(sampling_rate)))  # what the sums below may round away
    found = epsilon + math.log(sampling_rate + (1 - sampling_rate) * math.exp(-epsilon))
    if found < 1:  # where the two nearly cancel
        found = math.log1p(math.exp(epsilon + math.log(sampling_rate)) - sampling_rate)
        return found * (ROUNDED_UP + terms)
    return found * ROUNDED_UP + terms


def compose_pure(spent: Iterable[tuple[Release, int]], bound: str | None = None) -> tuple[float, list[str]]:
    r"""The epsilon of pure differential privacy of all releases, each counted once a use; epsilons add up.

    .. math:: \epsilon = \sum_i T_i \epsilon_i(\infty)

    Source: [berthier2019:postproc] [balle2018:poisson] [balle2018:without-replacement]

    Parameters
    ----------
    spent : pairs (release, uses) that `nfa.privacy.theorems.choose` covers
    bound : str, the bound that was asked for: that without sampling counts no amplification; None: what is proved

    Returns
    -------
    epsilon : float >= 0, inf where a release has no finite epsilon(infinity), or where another bound was asked for
    bounds : ids, one a release, of the theorem for one use
    """
    total, ids = 0.0, []
    for release, uses in spent:
        base: Bound = base_bound(release)
        once, id_ = epsilon_infinity(release), base.id
        if bound not in (None, base.id):
            once = math.inf
        pair = (release.sampling, release.adjacency)
        covered = {("poisson", "add-remove"), ("without-replacement", "replace-one")}
        if bound is None and pair in covered and release.sampling_rate < 1 and once < math.inf:
            once, id_ = amplified(once, sampling_rate=release.sampling_rate), f"balle2018:{release.sampling}"
        total += uses * once
        ids.append(id_)
    return total, ids


def is_zero(rdp: np.ndarray, *, delta: float) -> np.ndarray:
    r"""Whether a Renyi curve proves (0, delta)-differential privacy, an order.

    .. math:: \delta^2 \ge 1 - e^{-\epsilon(\alpha)}

    Source: [bretagnolle1979:tv]

    Parameters
    ----------
    rdp : (k,) array of nats >= 0, of any orders > 1
    delta : float in (0, 1)

    Returns
    -------
    zero : (k,) boolean array

    Raises
    ------
    ValueError : if delta is not in (0, 1)

    Notes
    -----
    (0, delta) says that the total variation TV of the laws on neighbours is at most delta. By the inequality of
    Bretagnolle and Huber TV^2 <= 1 - e^{-KL}, and KL, the divergence of order 1, is at most that of any order above.

    Examples
    --------
    1 - e^{-r} is 1/4 at r = log(4/3) = 0.2877.

    >>> is_zero(np.array([0.287, 0.288]), delta=0.5).tolist()
    [True, False]
    """
    require.within("(0, 1)", delta=delta)
    with np.errstate(divide="ignore"):
        return np.log(-np.expm1(-(rdp * (1 + 1e-12) + UNDERFLOW))) <= 2 * math.log(delta) * (1 + 2**-50)
