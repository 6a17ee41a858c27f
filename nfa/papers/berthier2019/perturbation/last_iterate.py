"""The Renyi curve of a pass of noisy SGD over shuffled records, if only the last iterate is released.

The replaced record is used at each of the n steps with the same probability.
`nfa.papers.berthier2019.perturbation.iteration` bounds the divergence for each step. This module averages these bounds
in the three ways of the report and returns releases for the accountant. Epsilons are in nats, neighbours replace one
record, and sigma is the noise on the gradient.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import special

from nfa import require
from nfa.mechanism import Classic, NoGuarantee
from nfa.papers.berthier2019.perturbation.iteration import noise_share, rdp_iteration
from nfa.papers.berthier2019.perturbation.shifted import check_alpha, check_position, shift_cost


def softmax_average(alpha: float, divergences, weights=None) -> float:
    r"""Lemma 3.1: a bound on the divergence of a mixture whose components are drawn independently of the data.

    The index of the drawn component must not be released.

    .. math:: D_\alpha \le \frac{1}{\alpha - 1} \log \sum_j q_j e^{(\alpha - 1) D_\alpha^{(j)}}

    Source: [berthier2019:lem3.1] [berthier2019:rem-softmax]

    Parameters
    ----------
    alpha : order > 1
    divergences : (m,) array >= 0, nats, the divergence of order alpha of each component, or a bound on it
    weights : (m,) array of probabilities q; None means 1/m each

    Returns
    -------
    divergence : nats, between the mean and the largest of the divergences. The bound is attained if the output
        identifies the component

    Raises
    ------
    ValueError : if an argument is out of range

    Examples
    --------
    (e^0 + e^log 3) / 2 = 2.

    >>> round(softmax_average(2, [0.0, np.log(3)]) / float(np.log(2)), 12)
    1.0
    """
    order, D, q = _average(alpha, divergences, weights)
    exponents = (order - 1) * D
    if exponents.max() < 1:  # this form has no cancellation for small exponents
        return float(np.log1p(q @ np.expm1(exponents)) / (order - 1))
    return float(special.logsumexp(exponents, b=q) / (order - 1))


def weak_convexity(alpha: float, divergences, weights=None, *, c: float = 1.0) -> float:
    r"""A multiple of the mean that bounds the divergence of a mixture, if no component has a large divergence.

    .. math:: D_\alpha \le (1 + c) \sum_j q_j D_\alpha^{(j)} \qquad
              \text{if } D_\alpha^{(j)} \le \frac{c}{\alpha - 1} \text{ for all } j, \quad 0 < c \le 1

    Source: [berthier2019:weak-convexity] [berthier2019:rem-softmax]

    Parameters
    ----------
    alpha, divergences, weights : as in `softmax_average`
    c : float in (0, 1]; the report's factor 2 is c = 1

    Returns
    -------
    divergence : nats. This bound follows from `softmax_average` and is at least as large

    Raises
    ------
    ValueError : if an argument is out of range
    NoGuarantee : if a divergence is more than c / (alpha - 1)

    Notes
    -----
    Write y_j = (alpha - 1) D_j <= c. Then log sum q e^y <= sum q (e^y - 1) <= (1 + c) sum q y, since (e^y - 1) / y
    increases and is at most (e^c - 1) / c <= 1 + c.

    Examples
    --------
    >>> weak_convexity(2, [0.0, 0.5])
    0.5
    """
    order, D, q = _average(alpha, divergences, weights)
    require.within("(0, 1]", c=c)
    if not (order - 1) * D.max() <= c * (1 + 1e-12):  # a slack of a few roundings, for values at the limit itself
        raise NoGuarantee(
            "berthier2019:weak-convexity",
            f"at the order {order:g} every divergence must be at most c / (alpha - 1) = {c / (order - 1):g}, got "
            f"{D.max():g}: add noise, lower the order, or use the softmax average",
        )
    return float((1 + c) * (q @ D))


def rdp_shuffled_epoch(alpha, L: float, sigma: float, C: float, n: int, *, method: str = "softmax"):
    r"""Renyi epsilon of the last iterate of one pass over shuffled records.

    .. math:: \text{softmax: } \frac{1}{\alpha - 1} \log \frac1n \sum_{t=1}^n e^{(\alpha - 1) D_t}, \quad
              \text{mean: } \frac2n \sum_{t=1}^n D_t, \quad \text{max: } D_n = \frac{2 \alpha L^2}{\sigma^2}

    with D_t of `rdp_iteration`.

    Source: [berthier2019:sec3.3.2-mean] [berthier2019:lem3.1]

    Parameters
    ----------
    alpha : order > 1, or an array of orders
    L, sigma, C : as in `nfa.papers.berthier2019.perturbation.iteration.rdp_iteration`, with the same conditions on
        the loss
    n : integer >= 1, number of records and of steps
    method : "softmax", "mean" or "max"

    Returns
    -------
    rdp : nats, of the shape of alpha, under replace-one; softmax <= mean if the mean is proved, and softmax <= max

    Raises
    ------
    ValueError : if an argument is out of range or if no method has this name
    NoGuarantee : for "mean", if sigma < L sqrt(2 alpha (alpha - 1)) at one of the orders

    Notes
    -----
    The order of the records is uniform, independent of the data, and not published. The printed value for the mean is
    4 alpha L^2 / sigma^2 times `nfa.papers.berthier2019.shuffling.small_learning_rate.mean_share`.

    Examples
    --------
    Two records, C = 1, 2 alpha L^2 / sigma^2 = 1. The results are 2 (1 + 1/2) / 2 and log((e + e^(1/2)) / 2).

    >>> float(rdp_shuffled_epoch(2, 1.0, 2.0, 1.0, 2, method="mean"))
    1.5
    >>> round(float(rdp_shuffled_epoch(2, 1.0, 2.0, 1.0, 2)), 6)
    0.78093
    """
    averages: dict[str, Callable[[float, np.ndarray], float]] = {
        "softmax": softmax_average,
        "mean": weak_convexity,
        "max": lambda order, D: float(D.max()),
    }
    require.one_of(averages, method=method)
    alpha = check_alpha(alpha)
    require.positive(**{"the clip norm L": L}, sigma=sigma)
    check_position(n, n)
    shares, release = noise_share(C, np.arange(1, n + 1)), shift_cost(alpha, a=2 * L, sigma=sigma)  # product: D_t
    pairs = zip(alpha.ravel(), np.ravel(release), strict=True)
    return np.array([averages[method](order, one * shares) for order, one in pairs]).reshape(alpha.shape)


def one_pass(*, L: float, sigma: float, C: float, n: int, order: str, released: str) -> Classic:
    """The release of one pass of noisy SGD with one record per step. The accountant counts it in steps, n per pass.

    Source: [berthier2019:thm3.6] [berthier2019:sec3.3.2-mean]

    Parameters
    ----------
    L, sigma, C, n : as in `nfa.papers.berthier2019.perturbation.iteration.rdp_iteration`, with its conditions on the
        loss
    order : "shuffled", afresh for every pass and not published, or "fixed"
    released : "last", only the last iterate of each pass, or "all"

    Returns
    -------
    release : Classic, under replace-one. The curves of passes add up, because each pass starts at the last iterate of
        the pass before it

    Raises
    ------
    ValueError : if an argument is out of range
    NoGuarantee : for "all", because there is no amplification by iteration

    Notes
    -----
    If the order is fixed, the replaced record may be at the last step, so the curve is the curve of one release. The
    epsilon of a pass that stops early is at most the epsilon of a whole pass, because we can regard its steps as the
    last steps of a pass. The pass reveals nothing about records that it does not use.

    Examples
    --------
    >>> from nfa.privacy.accountant import epsilon
    >>> setting = {"L": 1.0, "sigma": 4.0, "C": 1.001, "n": 1000, "released": "last"}
    >>> [round(epsilon([(one_pass(order=order, **setting), 1000)], delta=1e-4).epsilon, 2)
    ...  for order in ("shuffled", "fixed")]
    [1.0, 1.88]
    """
    check_position(n, n)
    require.one_of(("shuffled", "fixed"), order=order)
    require.one_of(("last", "all"), released=released)
    if released == "all":
        raise NoGuarantee(
            "berthier2019:thm3.6",
            "amplification by iteration is proved only for the last iterate of a pass: count released iterates "
            "with a Mechanism with the sampling epoch-partition",
        )
    if order == "shuffled":
        id_, curve = "berthier2019:sec3.3.2-mean", partial(rdp_shuffled_epoch, L=L, sigma=sigma, C=C, n=n)
    else:
        id_, curve = "berthier2019:thm3.6", partial(rdp_iteration, L=L, sigma=sigma, C=C, n=n, t=n)
    curve(2.0)  # checks the arguments now, not only when an accountant counts
    return Classic(id=id_, curve=curve, adjacency="replace-one", sampling="epoch-partition", sampling_rate=1 / n)


def _average(alpha, divergences, weights) -> tuple[float, np.ndarray, np.ndarray]:
    """The checked order, divergences and weights."""
    order, D = float(check_alpha(alpha)), np.asarray(divergences, float)
    if D.ndim != 1 or len(D) == 0 or not (D >= 0).all():
        raise ValueError("divergences must be a row of numbers that are at least 0")
    q = np.full(len(D), 1 / len(D)) if weights is None else np.asarray(weights, float)
    if q.shape != D.shape or not ((q >= 0).all() and abs(q.sum() - 1) <= 1e-9):
        raise ValueError("weights must be one probability for each divergence, and the weights must add up to 1")
    return order, D, q
