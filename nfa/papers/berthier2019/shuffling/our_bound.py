"""Privacy of SGD with shuffling: the bound of Conjecture 1 with all its terms, by our own unreviewed proof.

For the setting, see `nfa.papers.berthier2019.shuffling.conjectures`. Two gradients of a step are at most 2 L apart, and
x = 4 L^2 / sigma^2 is the square of 2 L / sigma. `nfa.papers.berthier2019.shuffling.our_proof` has the proof with its
hypotheses: batch size one, one record replaced, fresh noise in each step. **Nobody else has reviewed the proof.** So no
accountant calls this module. You get its numbers only if you call its functions yourself, and the class of the result
is `Unreviewed`.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special

from nfa import require
from nfa.mechanism import NoGuarantee
from nfa.papers.berthier2019.shuffling.conjectures import check_clip, check_run
from nfa.privacy.rdp import INTEGER_ORDERS, check_orders, to_dp
from nfa.privacy.subsampling_sums import log_binomials, log_expm1
from nfa.sampling import records_per_pass

ROUNDING = 1e-14  # relative rounding error of e / tau, which must not add a step
UNREVIEWED = "our own proof of Conjecture 1, unreviewed (nfa.papers.berthier2019.shuffling.our_proof)"


@dataclass(frozen=True, kw_only=True, eq=False)
class Unreviewed:
    """The epsilon of a run of Algorithm 1 by our unreviewed proof. It is not a `Guarantee` of the accountant.

    Parameters
    ----------
    epsilon, delta : floats, if one record is replaced and all iterates are released
    order : float, the Renyi order that gave epsilon; None if epsilon is inf
    adjacency : str, always "replace-one"
    passes : float, e / tau
    steps_per_pass : int, floor(tau n)
    steps : int, steps of the whole run: passes times steps per pass, rounded up
    bound : str, `UNREVIEWED`
    conversion : str
    orders, rdp : (k,) arrays, the Renyi curve of the whole run, nats
    """

    epsilon: float
    delta: float
    order: float | None
    adjacency: str
    passes: float
    steps_per_pass: int
    steps: int
    bound: str
    conversion: str
    orders: np.ndarray
    rdp: np.ndarray


def corrected_step_rdp(orders, *, c, L: float, sigma: float, cap: bool = True) -> np.ndarray:
    r"""The bound of our proof of Conjecture 1, for one step given all earlier outputs. The proof is unreviewed.

    .. math:: B(c, \alpha, x) = \frac{1}{\alpha - 1} \log\Big(1 + c^2 \binom{\alpha}{2} 4 (e^x - 1)
              + 2 \sum_{j=3}^\alpha c^j \binom{\alpha}{j} e^{j (j-1) x / 2} \Big),
              \qquad x = \frac{4 L^2}{\sigma^2},\ c = \frac{1}{n - t + 1}

    With the cap, the first term has min{4 (e^x - 1), 2 e^x} in place of 4 (e^x - 1). The result is then at most 2 alpha
    L^2 / sigma^2, the value of the step if its record is known.

    Source: [berthier2019:conj1] [ours:conjecture-1]

    Parameters
    ----------
    orders : (k,) array of integers >= 2
    c : float in (0, 1], or an array (m,) of such numbers: 1 / (number of records not yet used before the step)
    L : float > 0, clip norm
    sigma : float > 0, noise std on each coordinate of the gradient. The report assumes sigma >= 2 L. Our proof does not
        need this condition
    cap : whether to take the minimum in the first term and the minimum with 2 alpha L^2 / sigma^2

    Returns
    -------
    rdp : (k,) array, or (m, k), in nats

    Raises
    ------
    ValueError : if a number is out of range
    NoGuarantee : if an order is not an integer

    Notes
    -----
    This is the formula of `nfa.privacy.subsampling.without_replacement_berthier` (with the cap: `without_replacement`)
    at the rate c. The proof shows that the formula holds for a shuffled pass, in which the weights depend on the data.
    `nfa.papers.berthier2019.shuffling.our_proof` lists the hypotheses of the proof, such as batch size one.

    Examples
    --------
    At alpha = 2 and x = log 5 the bound is log(1 + 16 c^2).

    >>> rdp = corrected_step_rdp([2], c=0.5, L=1.0, sigma=2 / np.sqrt(np.log(5)), cap=False)
    >>> round(float(np.exp(rdp[0])), 9)
    5.0
    """
    check_clip(L)
    require.positive(sigma=sigma)
    orders, c = check_orders(orders), np.asarray(c, float)
    if not ((c > 0) & (c <= 1)).all():
        raise ValueError("the probability c that a step uses the record must be in (0, 1]")
    for alpha in orders[orders != np.round(orders)][:1]:
        raise NoGuarantee("berthier2019:conj1", f"the proof is for integer orders, got {alpha:g}: give integer orders")
    x, largest = 4 * (L / sigma) ** 2, int(orders[-1])
    j = np.arange(largest + 1)
    terms = math.log(2) + j * (j - 1) * x / 2  # logs of the factors of c^j binomial(alpha, j) in the formula
    terms[2] = math.log(4) + log_expm1(x)
    if cap:
        terms[2] = min(terms[2], math.log(2) + x)
    weighted = np.log(c)[..., None] * j + terms  # (..., largest + 1)
    curve = [
        np.logaddexp(0, special.logsumexp(log_binomials(a)[2:] + weighted[..., 2 : a + 1], axis=-1)) / (a - 1)
        for a in orders.astype(int).tolist()
    ]
    rdp = np.stack(curve, axis=-1)
    return np.minimum(rdp, orders * x / 2) if cap else rdp


def remainder_constant(alpha: int, *, L: float, sigma: float) -> float:
    r"""The constant of the O((n - t + 1)^-3) in Conjecture 1 at one order, by our unreviewed proof.

    .. math:: K_\alpha(x) = \frac{2}{\alpha - 1} \sum_{j=3}^\alpha \binom{\alpha}{j} e^{j (j-1) x / 2}, \qquad
              D_\alpha \le 2 \alpha (e^x - 1) c^2 + K_\alpha(x) c^3

    For sigma >= 2 L the first term is at most 16 alpha L^2 c^2 / sigma^2.

    Source: [berthier2019:conj1] [ours:conjecture-1]

    Parameters
    ----------
    alpha : int >= 2
    L, sigma : as in `corrected_step_rdp`

    Returns
    -------
    K : float; 0 at alpha = 2, inf if it is above the largest float

    Examples
    --------
    The constant depends strongly on the order. At x = 1, it is e^3 for alpha = 3, and above 10^38 for alpha = 14.

    >>> round(math.log(remainder_constant(3, L=1.0, sigma=2.0)), 12)
    3.0
    >>> remainder_constant(14, L=1.0, sigma=2.0) > 1e38
    True
    """
    check_clip(L)
    check_orders([alpha])
    j = np.arange(3, int(alpha) + 1)
    with np.errstate(over="ignore"):
        terms = np.exp(log_binomials(int(alpha))[3:] + j * (j - 1) * 2 * (L / sigma) ** 2)
        return 2 / (alpha - 1) * float(terms.sum())


def corrected_pass_rdp(orders, *, n: int, k: int, L: float, sigma: float, cap: bool = True) -> np.ndarray:
    r"""The Renyi curve of a pass of k steps if all iterates are released, by our unreviewed proof.

    .. math:: \sum_{t=1}^k B\Big(\frac{1}{n - t + 1}, \alpha, x\Big)

    With the cap, the curve is at most 2 alpha L^2 / sigma^2, the value of the pass if its permutation is known.

    Source: [berthier2019:conj1] [berthier2019:conj2]

    Parameters
    ----------
    orders : (m,) array of integers >= 2
    n : int >= 1, number of records
    k : int in 1 .. n, number of steps of a pass
    L, sigma, cap : as in `corrected_step_rdp`

    Returns
    -------
    rdp : (m,) array, nats

    Examples
    --------
    A pass of one step is a step with c = 1 / n.

    >>> one = corrected_pass_rdp([2, 8], n=10, k=1, L=1.0, sigma=2.0)
    >>> bool((one == corrected_step_rdp([2, 8], c=0.1, L=1.0, sigma=2.0)).all())
    True
    """
    if not (k == int(k) and n == int(n) and 1 <= k <= n):
        raise ValueError(
            "the number k of steps of a pass must be a whole number between 1 and the number n of records, got"
            f" k={k} and n={n}"
        )
    return _pass(tuple(check_orders(orders).tolist()), int(n), int(k), L, sigma, cap).copy()


@lru_cache(maxsize=64)
def _pass(orders: tuple[float, ...], n: int, k: int, L: float, sigma: float, cap: bool) -> np.ndarray:
    total = corrected_step_rdp(orders, c=1 / (n - np.arange(k)), L=L, sigma=sigma, cap=cap).sum(axis=0)
    return np.minimum(total, 2 * np.array(orders) * (L / sigma) ** 2) if cap else total


def corrected_epsilon(
    *,
    n: int,
    e: float,
    tau: float,
    L: float,
    sigma: float,
    delta: float,
    cap: bool = True,
    orders=None,
    conversion: str = "mironov2017",
) -> Unreviewed:
    r"""The epsilon of a run of Algorithm 1, if one record is replaced, by our unreviewed proof of Conjecture 1.

    .. math:: \epsilon(\alpha) = w P(k) + P(r), \qquad P(j) = \sum_{t=1}^j B\Big(\frac{1}{n-t+1}, \alpha, x\Big),
              \qquad k = \lfloor \tau n \rfloor,\ \lceil k e / \tau \rceil = w k + r,\ 0 \le r < k

    Source: [berthier2019:conj2] [ours:conjecture-1]

    Parameters
    ----------
    n : int >= 1, number of records
    e : float > 0, expected number of times that a record is used; a run may stop inside its last pass
    tau : float in (0, 1], share of the records that a pass uses; tau n >= 1
    L, sigma, cap : as in `corrected_step_rdp`
    delta : float in (0, 1)
    orders : increasing integers >= 2; None means 2 .. 256
    conversion : "mironov2017" or "canonne2020"

    Returns
    -------
    unreviewed : Unreviewed

    Raises
    ------
    ValueError : if a number is out of range
    NoGuarantee : if an order is not an integer

    Warns
    -----
    OrderAtGridEnd : if the optimal order is the first or the last of the grid

    Notes
    -----
    If the proof is right, the curve is at least the Renyi divergence of all iterates of the run, wherever the run
    stops. Each B holds given all outputs before its step. The cap of a pass holds given all outputs before the pass. So
    the Renyi epsilons of w passes and r steps add up.

    With the cap, a pass that stops early can have a larger epsilon than its share of the whole pass. The reason is that
    the epsilon of few steps can be nearly as large as the epsilon of the capped pass. For example, take n = 2, sigma =
    L and delta = 1e-5. The first step of a whole pass has epsilon 8.98, but half of the capped pass gives 7.84. Without
    the cap, the share would be enough, because the epsilon of each step is larger than the epsilon of the step before
    it.

    Examples
    --------
    >>> spent = corrected_epsilon(n=1000, e=1, tau=0.5, L=1.0, sigma=2.0, delta=1e-4, orders=range(2, 33))
    >>> round(spent.epsilon, 6), spent.order, spent.bound.split(", ")[1].split(" ")[0]
    (0.908505, 12.0, 'unreviewed')
    """
    require.within("(0, 1)", delta=delta)
    check_run(n, e, tau, whole=True)
    orders = check_orders(INTEGER_ORDERS if orders is None else orders)
    k = records_per_pass(tau, n)
    steps = math.ceil(e / tau * k * (1 - ROUNDING))
    passes, rest = divmod(steps, k)
    parts = [(passes, k), (min(rest, 1), rest)]  # (how often, number of steps): whole passes, and a shorter last pass
    curves = [uses * corrected_pass_rdp(orders, n=n, k=j, L=L, sigma=sigma, cap=cap) for uses, j in parts if uses]
    rdp = np.sum(curves, axis=0)
    epsilon, order = to_dp(orders, rdp, delta=delta, conversion=conversion)
    return Unreviewed(
        epsilon=epsilon,
        delta=delta,
        order=order,
        adjacency="replace-one",
        passes=e / tau,
        steps_per_pass=k,
        steps=steps,
        bound=UNREVIEWED,
        conversion=conversion,
        orders=orders,
        rdp=rdp,
    )
