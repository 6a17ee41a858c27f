"""Randomised response: the random answers, their privacy, and the estimate of the share of yes."""

import math

import numpy as np

from nfa import require
from nfa.mechanism import Classic
from nfa.privacy.rdp import check_orders


def randomised_response(bits, *, truth: float, rng: np.random.Generator) -> np.ndarray:
    """Answers to a yes-no question: the truth with probability p, otherwise the result of a fair coin.

    Source: [berthier2019:rr]

    Parameters
    ----------
    bits : (n,) array of 0 and 1, the true answers
    truth : float p in [0, 1], the probability of a truthful answer; 1/2 in the report
    rng : numpy.random.Generator; with a seeded generator, the output is not private

    Returns
    -------
    answers : (n,) array of 0 and 1

    Raises
    ------
    ValueError : if a bit is neither 0 nor 1, or p is not in [0, 1]
    """
    bits = np.asarray(bits)
    if not np.isin(bits, (0, 1)).all():
        raise ValueError("bits must be 0 or 1")
    _check_truth(truth)
    truthful = rng.random(bits.shape) < truth
    return np.where(truthful, bits, rng.integers(0, 2, size=bits.shape)).astype(int)


def randomised_response_epsilon(*, truth: float) -> float:
    r"""The exact epsilon of one answer. Exchanging the two neighbours does not change this epsilon.

    .. math:: \epsilon = \log \frac{1 + p}{1 - p}

    Source: [berthier2019:rr]

    Parameters
    ----------
    truth : float p in [0, 1]

    Returns
    -------
    epsilon : float >= 0; inf for p = 1

    Examples
    --------
    With p = 1/2, the probability of a yes is 3/4 or 1/4.

    >>> round(float(np.exp(randomised_response_epsilon(truth=0.5))), 12)
    3.0
    """
    _check_truth(truth)
    return math.inf if truth == 1 else 2 * math.atanh(truth)


def randomised_response_truth(*, epsilon: float) -> float:
    """The probability p of a truthful answer that gives this epsilon, tanh(epsilon / 2).

    Source: [berthier2019:rr]

    Examples
    --------
    >>> round(randomised_response_truth(epsilon=np.log(3)), 12)
    0.5
    """
    require.at_least(0, epsilon=epsilon)
    return math.tanh(epsilon / 2)


def randomised_response_laws(*, truth: float) -> tuple[np.ndarray, np.ndarray]:
    """The laws of a person's answer (no, yes) if the true answer is yes, and if the true answer is no.

    Source: [berthier2019:rr] [berthier2019:rr-100]

    Examples
    --------
    >>> yes, no = randomised_response_laws(truth=0.5)
    >>> yes.tolist(), no.tolist()
    ([0.25, 0.75], [0.75, 0.25])
    """
    _check_truth(truth)
    yes = np.array([(1 - truth) / 2, (1 + truth) / 2])
    return yes, yes[::-1]


def debiased_mean(answers, *, truth: float) -> float:
    r"""An unbiased estimate of the share of true yeses from the randomised answers.

    .. math:: \hat\pi = \frac{\bar y - (1 - p)/2}{p}

    Source: [berthier2019:rr]

    Parameters
    ----------
    answers : (n,) array of 0 and 1, n >= 1
    truth : float p in (0, 1]

    Returns
    -------
    share : float, which may lie outside [0, 1]

    Raises
    ------
    ValueError : if there is no answer, if an answer is neither 0 nor 1, or if p is not in (0, 1]

    Examples
    --------
    >>> debiased_mean([1, 1, 1, 0], truth=0.5)
    1.0
    """
    answers = np.asarray(answers)
    if answers.ndim != 1 or not len(answers) or not np.isin(answers, (0, 1)).all():
        raise ValueError("answers must be a one-dimensional array of at least one 0 or 1")
    _check_informative(truth)
    return float((answers.mean() - (1 - truth) / 2) / truth)


def debiased_variance(n: int, *, truth: float) -> float:
    r"""The variance of `debiased_mean` over the random answers, which is the same for all true answers.

    .. math:: \text{Var}\, \hat\pi = \frac{1 - p^2}{4 p^2 n}

    Source: [berthier2019:rr]

    Parameters
    ----------
    n : int >= 1, number of answers
    truth : float p in (0, 1]

    Raises
    ------
    ValueError : if n or truth is out of range

    Notes
    -----
    Every answer is yes with probability (1 + p)/2 or (1 - p)/2. Its variance is (1 - p^2)/4 in both cases. If n people
    are drawn at random from a population with the share pi, add pi (1 - pi) / n.

    Examples
    --------
    >>> debiased_variance(300, truth=0.5)
    0.0025
    """
    require.at_least(1, **{"the number n of answers": n})
    _check_informative(truth)
    return (1 - truth * truth) / (4 * truth * truth * n)


def randomised_response_curve(orders, *, truth: float) -> np.ndarray:
    r"""Renyi curve of one answer.

    .. math:: \epsilon(\alpha) = \frac{1}{\alpha - 1}
              \log \big( h^\alpha l^{1 - \alpha} + l^\alpha h^{1 - \alpha} \big), \qquad h, l = \frac{1 \pm p}{2}

    Source: [berthier2019:rr] [berthier2019:def2.2]

    Parameters
    ----------
    orders : (k,) array of increasing orders > 1
    truth : float p in [0, 1]

    Returns
    -------
    rdp : (k,) array, nats, at most the epsilon of one answer; inf for p = 1

    Examples
    --------
    At p = 1/2 and alpha = 2, the sum is (27 + 1) / 12 = 7/3.

    >>> round(float(np.exp(randomised_response_curve([2], truth=0.5)[0])), 12)
    2.333333333333
    """
    orders = check_orders(orders)
    _check_truth(truth)
    if truth == 1:
        return np.full(orders.shape, math.inf)
    # With e = log(h/l), the sum h^a l^(1-a) + l^a h^(1-a) is cosh((a - 1/2) e) / cosh(e/2). `near` is the sum minus 1,
    # from cosh x - cosh y = 2 sinh((x+y)/2) sinh((x-y)/2). It has no cancellation for small epsilons.
    e = 2 * math.atanh(truth)
    x = (orders - 0.5) * e
    with np.errstate(over="ignore"):
        near = 2 * np.sinh(orders * e / 2) * np.sinh((orders - 1) * e / 2) / math.cosh(e / 2)
    far = x - e / 2 + np.log1p(np.exp(-2 * x)) - math.log1p(math.exp(-e))
    return np.where(x < 1, np.log1p(np.where(x < 1, near, 0)), far) / (orders - 1)


def randomised_response_release(*, truth: float, sampling: str = "none", sampling_rate: float = 1.0) -> Classic:
    """The release of one round of randomised response, for the accountant. Neighbours replace one true answer.

    Source: [berthier2019:rr]

    Parameters
    ----------
    truth : float p in [0, 1]
    sampling, sampling_rate : as in `nfa.mechanism.Mechanism`; in each round, everybody or a fresh sample answers

    Examples
    --------
    >>> from nfa.privacy.accountant import epsilon
    >>> survey = randomised_response_release(truth=0.05)
    >>> round(epsilon([(survey, 100)], delta=1e-5).epsilon, 2)  # basic composition: 10.01
    4.31
    """
    return Classic(
        id="berthier2019:rr",
        curve=lambda orders: randomised_response_curve(orders, truth=truth),
        adjacency="replace-one",
        sampling=sampling,
        sampling_rate=sampling_rate,
        epsilon_infinity=randomised_response_epsilon(truth=truth),
    )


def _check_truth(truth: float) -> None:
    require.within("[0, 1]", truth=truth)


def _check_informative(truth: float) -> None:
    if not 0 < truth <= 1:
        raise ValueError(f"truth must be in (0, 1], got {truth}: no estimate is possible without true answers")
