"""Noise on the output of one pass of SGD: the largest distance between two outputs, and the noise that hides it.

This is Berthier (2019, Section 3.2.2). The last iterate under noise feedback (Section 3.4) has the same Renyi curve.
"""

import math

import numpy as np

from nfa import require
from nfa.mechanism import Classic
from nfa.papers.berthier2019.perturbation.gradient import check_nonexpansive, contraction, sgd_pass
from nfa.papers.berthier2019.perturbation.last_iterate import softmax_average
from nfa.papers.berthier2019.perturbation.problem import Problem
from nfa.privacy.rdp import check_orders


def output_gaps(n: int, *, gamma: float, L: float, rho: float) -> np.ndarray:
    r"""The largest distance between the outputs of two passes, for each step t = 1..n at which the records may differ.

    .. math:: s_t = 2 \gamma L \rho^{n - t}

    Source: [berthier2019:outpert] [berthier2019:gradpert] [berthier2019:stability-passes]

    Parameters
    ----------
    n : int >= 1, steps of the pass
    gamma : float > 0, learning rate
    L : float > 0, bound on the part of a gradient that depends on the data
    rho : float >= 0, from `contraction`; if rho is 1, no gap shrinks

    Returns
    -------
    gaps : (n,) array, l2 norms

    Raises
    ------
    ValueError : if a number is out of range

    Examples
    --------
    >>> output_gaps(3, gamma=0.25, L=1, rho=0.5).tolist()
    [0.125, 0.25, 0.5]
    """
    if not (n >= 1 and 0 < gamma < math.inf and 0 < L < math.inf and 0 <= rho < math.inf):
        raise ValueError(
            f"n must be at least 1, gamma and L must be positive, and rho must be at least 0, all finite, got {n},"
            f" {gamma}, {L}, {rho}"
        )
    return 2 * gamma * L * float(rho) ** np.arange(n - 1, -1, -1)


def output_rdp(orders: np.ndarray, *, gaps: np.ndarray, sigma: float) -> np.ndarray:
    r"""Renyi curve of a pass in random order with noise N(0, sigma^2 I) on its output.

    .. math:: \epsilon(\alpha) = \frac{1}{\alpha - 1} \log \Big( \frac1n \sum_{t=1}^n
              \exp\big((\alpha - 1) \frac{\alpha s_t^2}{2 \sigma^2}\big) \Big)

    Source: [berthier2019:outpert]

    Parameters
    ----------
    orders : (k,) increasing array of orders > 1
    gaps : (n,) array of the s_t, from `output_gaps`
    sigma : float > 0, standard deviation of the noise on every entry of the output

    Returns
    -------
    rdp : (k,) array, nats; between the mean and the maximum of the curves of the n places

    Raises
    ------
    ValueError : if an order or sigma is out of range

    Notes
    -----
    The record that differs has every place with probability 1 / n, and Lemma 3.1 averages over the places. For two
    Gaussians with the same covariance, the divergences in the two directions are equal, so the curve bounds both.
    """
    orders = check_orders(orders)
    require.positive(sigma=sigma)
    halves = np.square(np.asarray(gaps) / sigma) / 2  # alpha times halves[t - 1] is the curve of place t   (n,)
    return np.array([softmax_average(alpha, alpha * halves) for alpha in orders])


def corrected_output_variance(*, alpha: float, sensitivity: float, epsilon: float) -> float:
    r"""The variance at which an output of this sensitivity is (alpha, epsilon)-RDP.

    .. math:: \sigma^2 = \frac{\alpha s^2}{2 \epsilon}

    Source: [berthier2019:outpert-var]

    The function raises ValueError if alpha is not above 1 or if another number is not positive.

    Examples
    --------
    >>> corrected_output_variance(alpha=2, sensitivity=1, epsilon=2)
    0.5
    """
    _check_target(alpha, sensitivity, epsilon)
    return alpha * sensitivity**2 / (2 * epsilon)


def claimed_output_variance(*, alpha: float, sensitivity: float, epsilon: float) -> float:
    r"""The printed variance, which is enough for epsilon <= 1 and too small for epsilon > 1.

    .. math:: \sigma^2 = \frac{\alpha s^2}{2 \epsilon^2}

    Source: [berthier2019:outpert-var]

    At this variance, the release is exactly (alpha, epsilon^2)-RDP. `corrected_output_variance` gives the requested
    epsilon. The function raises ValueError if alpha is not above 1 or if another number is not positive.
    """
    _check_target(alpha, sensitivity, epsilon)
    return alpha * sensitivity**2 / (2 * epsilon**2)


def _check_target(alpha: float, sensitivity: float, epsilon: float) -> None:
    if not (1 < alpha < math.inf and 0 < sensitivity < math.inf and 0 < epsilon < math.inf):
        raise ValueError(
            f"alpha must be above 1, and sensitivity and epsilon must be positive, all finite, got {alpha},"
            f" {sensitivity}, {epsilon}"
        )


def output_perturbation(
    problem: Problem, *, gamma: float, sigma: float, theta0: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """One pass of SGD in random order over a strongly convex problem, with noise N(0, sigma^2 I) on its output.   (d,)

    Source: [berthier2019:outpert]

    `output_release` returns the guarantee. This function raises the same errors as `output_release`. theta0 is public.
    """
    output_release(problem, gamma=gamma, sigma=sigma)
    order = rng.permutation(problem.n)
    output = sgd_pass(problem.steps(order), theta0=theta0, gamma=gamma, radius=problem.radius)[-1]
    return output + sigma * rng.standard_normal(output.shape)


def output_release(problem: Problem, *, gamma: float, sigma: float) -> Classic:
    """The guarantee of `output_perturbation` if a record is replaced, as a release for an accountant.

    Source: [berthier2019:outpert]

    Parameters
    ----------
    problem : Problem, strongly convex: lam > 0
    gamma : float in (0, 2 / beta), learning rate
    sigma : float > 0, standard deviation of the noise

    Raises
    ------
    ValueError : if the problem is not strongly convex, if its gradients are not bounded, or if a number is out of range

    Examples
    --------
    >>> x, y = np.array([[1.0], [-1.0]]), np.array([1.0, 0.0])
    >>> problem = Problem(loss="logistic", x=x, y=y, lam=0.75, x_bound=1.0)
    >>> release = output_release(problem, gamma=1.0, sigma=2.0)  # mu = 3/4, beta = 1, rho = 1/4, gaps 1/2 and 2
    >>> bool(abs(release.curve(np.array([2.0]))[0] - np.log((np.exp(1 / 16) + np.exp(1)) / 2)) < 1e-15)
    True
    """
    if problem.mu == 0:
        raise ValueError("output perturbation needs strongly convex losses: lam must be positive, got 0")
    if not gamma < 2 / problem.beta:
        raise ValueError(
            f"gamma must be below 2 / beta = {2 / problem.beta:.6g} so that each step is a contraction, got {gamma}"
        )
    return _release(problem, gamma, sigma, "berthier2019:outpert")


def feedback_release(problem: Problem, *, gamma: float, sigma: float) -> Classic:
    r"""The guarantee of the last iterate of a pass with noise feedback. Noise on the output has the same guarantee.

    .. math:: \theta_n = y_n - \eta_n, \qquad y_t = y_{t-1} - \gamma \nabla \ell(y_{t-1} - \eta_{t-1}, x_t)

    Source: [berthier2019:sec3.4.3] [ours:last-iterate]

    Parameters
    ----------
    problem : Problem with the logistic loss. Its radius is not used, because noise feedback has no projection
    gamma : float in (0, 2 / beta], learning rate
    sigma : float > 0, standard deviation of the noise on the iterate

    Raises
    ------
    ValueError : if the loss is least squares or a number is out of range

    Notes
    -----
    This result is ours and unreviewed. The report has laws for affine gradients only. Write y_t = theta_t + eta_t. The
    noises eta_1 .. eta_{n-1} do not depend on the data. Given these noises, y_n is the output of a pass without noise
    on the shifted losses u -> l(u - eta_{t-1}, x_t). The shifted losses have the same mu, beta and L, so `output_gaps`
    bounds the gap between y_n on two neighbours. eta_n is fresh noise on y_n. By joint convexity (Lemma 3.1), averaging
    over eta_1 .. eta_{n-1} does not increase the divergence. So the claim of Section 3.4.3 is false.
    """
    if problem.loss != "logistic":
        raise ValueError(
            "noise feedback needs the logistic loss, because only the gradients of this loss are bounded without a"
            " projection"
        )
    check_nonexpansive(problem, gamma)
    return _release(problem, gamma, sigma, "ours:last-iterate")


def _release(problem: Problem, gamma: float, sigma: float, id: str) -> Classic:
    if problem.L == math.inf:
        raise ValueError("the gradients of least squares are bounded only in a ball: give the problem a finite radius")
    rho = contraction(gamma=gamma, mu=problem.mu, beta=problem.beta)
    gaps = output_gaps(problem.n, gamma=gamma, L=problem.L, rho=rho)
    output_rdp(np.array([2.0]), gaps=gaps, sigma=sigma)  # this call checks sigma

    return Classic(
        id=id, curve=lambda orders: output_rdp(orders, gaps=gaps, sigma=sigma), adjacency="replace-one", sampling="none"
    )
