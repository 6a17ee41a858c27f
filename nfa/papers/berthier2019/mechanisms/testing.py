"""Privacy as a test between two hypotheses: which of two neighbouring data sets did the algorithm use?

A fair coin draws one of the two data sets. The adversary sees the output and answers. p is the law of the output under
the first data set, and q is the law under the second one. A test returns 1 if it decides for the second data set.
`nfa.audit.roc` computes ROC curves of scores. `nfa.audit.game` computes lower bounds on epsilon from tests on runs.
"""

import math

import numpy as np
from scipy import special

from nfa import require
from nfa.privacy.divergences import total_variation
from nfa.privacy.gaussians import check_noise


def best_test(p, q) -> np.ndarray:
    r"""The test with the smallest sum of errors. It decides for the data set that makes the outcome more likely.

    Source: [berthier2019:lecam]

    Parameters
    ----------
    p, q : (k,) arrays of probabilities over the same k outcomes

    Returns
    -------
    test : (k,) array of 0 and 1, the answer to each outcome; 0 if the outcome is equally likely under both data sets

    Examples
    --------
    >>> best_test([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]).tolist()
    [0, 0, 1]
    """
    total_variation(p, q)  # this call checks the two laws
    return (np.asarray(q) > np.asarray(p)).astype(int)


def errors(test, p, q) -> tuple[float, float]:
    """The two error rates of a test: answer "second" under the first data set, and "first" under the second.

    Source: [berthier2019:lecam]

    Parameters
    ----------
    test : (k,) array in [0, 1], probability of the answer 1 for each outcome
    p, q : (k,) arrays of probabilities

    Returns
    -------
    type_one, type_two : floats in [0, 1]

    Examples
    --------
    >>> errors([0, 1], [0.75, 0.25], [0.25, 0.75])
    (0.25, 0.25)
    """
    total_variation(p, q)
    test = np.asarray(test, float)
    if test.shape != np.shape(p) or not ((test >= 0) & (test <= 1)).all():
        raise ValueError("test must contain the probability of the answer 1 for every outcome")
    return min(1.0, float(np.dot(p, test))), min(1.0, float(np.dot(q, 1 - test)))


def least_errors(p, q) -> float:
    r"""The smallest sum of the two errors that any test has.

    .. math:: \inf_\psi P[\psi = 1 \mid x] + P[\psi = 0 \mid y] = 1 - TV(p, q)

    Source: [berthier2019:lecam]

    Examples
    --------
    >>> least_errors([0.75, 0.25], [0.25, 0.75])
    0.5
    """
    return 1 - total_variation(p, q)


def success(tv: float) -> float:
    r"""The probability that the best answer is right, from the total variation.

    .. math:: \tfrac12 + \tfrac12 TV

    Source: [berthier2019:lecam]

    Examples
    --------
    >>> success(0.5)
    0.75
    """
    require.within("[0, 1]", **{"the total variation tv": tv})
    return 0.5 + tv / 2


def roc_of_laws(p, q) -> tuple[np.ndarray, np.ndarray]:
    """The ROC curve of the likelihood ratio q / p: the best true positive rate at each false positive rate.

    Source: [berthier2019:lecam] [berthier2019:membership]

    Parameters
    ----------
    p, q : (k,) arrays of probabilities over the same k outcomes

    Returns
    -------
    false_positive, true_positive : (j,) arrays from 0 to 1, the corners of the curve. Mixtures of two tests give the
        lines between the corners. The trade-off curve is 1 - true_positive as a function of false_positive

    Examples
    --------
    >>> false_positive, true_positive = roc_of_laws([0.5, 0.25, 0.25], [0.25, 0.25, 0.5])
    >>> false_positive.tolist(), true_positive.tolist()
    ([0.0, 0.25, 0.5, 1.0], [0.0, 0.5, 0.75, 1.0])
    """
    total_variation(p, q)
    p, q = np.asarray(p, float), np.asarray(q, float)
    p, q = p[p + q > 0], q[p + q > 0]
    share = q / (p + q)  # increases with the likelihood ratio, but is always finite
    _, group = np.unique(-share, return_inverse=True)
    corners = [np.concatenate([[0.0], np.cumsum(np.bincount(group, weights=law))]) for law in (p, q)]
    return corners[0] / corners[0][-1], corners[1] / corners[1][-1]


def auc_of_laws(p, q) -> float:
    """The area under the curve of `roc_of_laws`: the probability that an output under q ranks above an output under p.

    A tie counts 1/2.

    Source: [berthier2019:membership] [berthier2019:attacks]

    Examples
    --------
    >>> auc_of_laws([0.75, 0.25], [0.25, 0.75])
    0.75
    """
    false_positive, true_positive = roc_of_laws(p, q)
    return float(np.trapezoid(true_positive, false_positive))


# --- Gaussian releases


def gaussian_trade_off(type_one, *, noise_multiplier: float) -> np.ndarray:
    r"""The least error of the second kind at each error of the first kind, for one Gaussian release.

    .. math:: T(a) = \Phi\big(\Phi^{-1}(1 - a) - 1/z\big)

    Source: [berthier2019:lecam]

    Parameters
    ----------
    type_one : array in [0, 1]
    noise_multiplier : float z > 0, noise std / distance of the two means

    Examples
    --------
    >>> round(float(gaussian_trade_off(0.5, noise_multiplier=1)), 6)  # Phi(-1)
    0.158655
    """
    check_noise(noise_multiplier)
    return special.ndtr(-special.ndtri(_rates(type_one)) - 1 / noise_multiplier)


def gaussian_membership(*, noise_multiplier: float) -> tuple[float, float]:
    r"""Area under the ROC curve and best accuracy of a test for membership after one Gaussian release.

    .. math:: \text{AUC} = \Phi\Big(\frac{1}{\sqrt2\, z}\Big), \qquad
              \text{accuracy} = \Phi\Big(\frac{1}{2 z}\Big) = \tfrac12 + \tfrac12 TV

    Source: [berthier2019:membership]

    Parameters
    ----------
    noise_multiplier : float z > 0, noise std / distance between the query's values with and without the member

    Returns
    -------
    auc, accuracy : floats in [1/2, 1]; the accuracy is for equally many members and non-members

    Examples
    --------
    >>> [round(value, 6) for value in gaussian_membership(noise_multiplier=1)]
    [0.76025, 0.691462]
    """
    check_noise(noise_multiplier)
    return float(special.ndtr(1 / noise_multiplier / math.sqrt(2))), float(special.ndtr(0.5 / noise_multiplier))


# --- errors that (epsilon, delta)-DP allows


def dp_trade_off(type_one, *, epsilon: float, delta: float = 0.0) -> np.ndarray:
    r"""The least error of the second kind that (epsilon, delta)-DP allows at each error of the first kind.

    .. math:: T(a) = \max\big(0,\; 1 - \delta - e^\epsilon a,\; e^{-\epsilon} (1 - \delta - a)\big)

    Source: [berthier2019:lecam]

    Parameters
    ----------
    type_one : array in [0, 1]
    epsilon : float >= 0
    delta : float in [0, 1]

    Examples
    --------
    >>> dp_trade_off([0.0, 0.25, 1.0], epsilon=np.log(3)).round(12).tolist()
    [1.0, 0.25, 0.0]
    """
    require.at_least(0, epsilon=epsilon)
    require.within("[0, 1]", delta=delta)
    a = _rates(type_one)
    with np.errstate(over="ignore", invalid="ignore"):
        first = 1 - delta - np.where(a > 0, math.inf if epsilon > 700 else math.exp(epsilon), 0) * a
    return np.maximum(np.maximum(first, math.exp(-epsilon) * (1 - delta - a)), 0)


def dp_to_tv(*, epsilon: float, delta: float = 0.0) -> float:
    r"""The largest total variation that (epsilon, delta)-DP allows. `success` turns a total variation into an accuracy.

    .. math:: TV \le \delta + (1 - \delta) \tanh(\epsilon / 2)

    Source: [berthier2019:lecam] [berthier2019:eps10]

    Parameters
    ----------
    epsilon : float >= 0
    delta : float in [0, 1]

    Notes
    -----
    The following mechanism attains the bound. It reveals the data with probability delta and otherwise answers one bit
    by randomised response.

    Examples
    --------
    >>> round(dp_to_tv(epsilon=np.log(3)), 12), round(success(dp_to_tv(epsilon=10)), 6)
    (0.5, 0.999955)
    """
    require.at_least(0, epsilon=epsilon)
    require.within("[0, 1]", delta=delta)
    return delta + (1 - delta) * math.tanh(epsilon / 2)


def stability_from_epsilon(*, epsilon: float, loss_range: float) -> float:
    r"""The largest change of the expected loss on any point if one record is replaced, under epsilon-DP.

    .. math:: \sup_z E\,[\ell(A(D), z) - \ell(A(D'), z)] \le B \tanh(\epsilon / 2)

    Source: [berthier2019:def5.1]

    Parameters
    ----------
    epsilon : float >= 0
    loss_range : float B > 0, the largest loss minus the smallest

    Notes
    -----
    The means of a function under two laws differ by at most the range of the function times the total variation. The
    bound is at most epsilon for every epsilon if and only if B <= 2. For unbounded losses there is no bound.

    Examples
    --------
    >>> round(stability_from_epsilon(epsilon=np.log(3), loss_range=10), 12)  # above log 3
    5.0
    """
    require.positive(loss_range=loss_range)
    return loss_range * dp_to_tv(epsilon=epsilon)


def guess_bound(*, epsilon: float, candidates: int, delta: float = 0.0) -> float:
    r"""A bound on the probability, under (epsilon, delta)-DP, of guessing one of m equally likely secrets.

    .. math:: P[\text{right}] \le e^\epsilon / m + \delta

    Source: [berthier2019:secret]

    The attacker guesses from the output of the mechanism. An answer that does not depend on the secret is right with
    probability 1/m, averaged over the secrets.

    Examples
    --------
    >>> round(guess_bound(epsilon=np.log(3), candidates=4), 12)
    0.75
    """
    require.at_least(0, epsilon=epsilon)
    require.within("[0, 1]", delta=delta)
    require.integer(1, candidates=candidates)
    return min(1.0, math.exp(min(epsilon - math.log(candidates), 0.0)) + delta)


def _rates(type_one) -> np.ndarray:
    rates = np.asarray(type_one, float)
    if not ((rates >= 0) & (rates <= 1)).all():
        raise ValueError("type_one must be in [0, 1]")
    return rates
