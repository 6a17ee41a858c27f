"""Two more proofs of an epsilon, by pure differential privacy (order infinity) and by total variation (epsilon 0)."""

import math
from collections.abc import Iterable

import numpy as np

from nfa import require
from nfa.mechanism import Release
from nfa.privacy.rdp import CONVERSIONS
from nfa.privacy.theorems import COVERAGE, Bound, base_bound, counts_in_full, epsilon_infinity

PURE, ZERO = "pure", "bretagnolle1979"  # names of these two proofs in the conversion of a guarantee
UNDERFLOW = 1e-300  # an upper bound on a value of a curve that underflows to 0
ROUTES = CONVERSIONS | {PURE: "berthier2019:postproc", ZERO: "bretagnolle1979:tv"}  # ledger ids
FORMULAS = {  # for the output in a terminal
    "mironov2017": "ε = ε(α) + log(1/δ) / (α - 1)",
    "canonne2020": "ε = ε(α) + log((α - 1) / α) - (log δ + log α) / (α - 1)",
    PURE: "ε = ε(∞), for every δ",
    ZERO: "ε = 0 where δ² >= 1 - e^(-ε(α))",
}
IN_WORDS = {
    PURE: "pure composition: epsilons at the order infinity add up, and hold for every delta",
    ZERO: "bretagnolle1979: the total variation is at most delta, so that epsilon is 0",
}


def compose_pure(spent: Iterable[tuple[Release, int]], bound: str | None = None) -> tuple[float, list[str]]:
    r"""The epsilon of pure differential privacy of all releases, which is the sum of the epsilons of all uses.

    .. math:: \epsilon = \sum_i T_i \epsilon_i(\infty)

    Source: [berthier2019:postproc] [balle2018:poisson] [balle2018:without-replacement] [ours:zero-out-pure]

    Parameters
    ----------
    spent : pairs (release, uses) that `nfa.privacy.theorems.choose` covers
    bound : str, the requested bound. If it is the bound without sampling, amplification is not used. None: the smallest
        proved epsilon

    Returns
    -------
    epsilon : float >= 0; inf if a release has no finite epsilon(infinity), or if the requested bound does not prove
        pure differential privacy
    bounds : ids of the theorem for one use, one for each release
    """
    total, ids = 0.0, []
    for release, uses in spent:
        base: Bound = base_bound(release)
        once, id_ = epsilon_infinity(release), base.id
        if bound not in (None, base.id):
            once = math.inf
        covering = (pure for pure in COVERAGE[release.sampling].pure if release.adjacency in pure.adjacencies)
        pure = next(covering, None) if release.sampling_rate < 1 else None
        if pure is not None and bound is None and once < math.inf:
            once, id_ = pure.epsilon(once, sampling_rate=release.sampling_rate), pure.id
        elif not counts_in_full(release):
            once = math.inf
        total += uses * once
        ids.append(id_)
    return total, ids


def is_zero(rdp: np.ndarray, *, delta: float) -> np.ndarray:
    r"""Whether a Renyi curve proves (0, delta)-differential privacy, for each order.

    .. math:: \delta^2 \ge 1 - e^{-\epsilon(\alpha)}

    Source: [bretagnolle1979:tv]

    Parameters
    ----------
    rdp : (k,) array of nats >= 0, at any orders > 1
    delta : float in (0, 1)

    Returns
    -------
    zero : (k,) boolean array

    Raises
    ------
    ValueError : if delta is not in (0, 1)

    Notes
    -----
    (0, delta) means that the total variation TV of the laws on neighbours is at most delta. By the inequality of
    Bretagnolle and Huber, TV^2 <= 1 - e^{-KL}. KL is the Renyi divergence of order 1, which is at most the divergence
    of any larger order.

    Examples
    --------
    1 - e^{-r} is 1/4 at r = log(4/3) = 0.2877.

    >>> is_zero(np.array([0.287, 0.288]), delta=0.5).tolist()
    [True, False]
    """
    require.within("(0, 1)", delta=delta)
    with np.errstate(divide="ignore"):
        r = rdp * (1 + 1e-12) + UNDERFLOW  # a margin that is larger than the rounding errors
        return np.where(r < 1, np.log(-np.expm1(-r)), np.log1p(-np.exp(-r))) <= 2 * math.log(delta)
