"""One pass of SGD over the records: the distance between two passes, and noise on every gradient.

This is Berthier (2019, Sections 3.2.2 and 3.2.3). A pass uses every record once, in a random order. Step t of n uses
record order[t - 1]. For noise on the output, see `nfa.papers.berthier2019.perturbation.output`.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from nfa import require
from nfa.clip import clip_l2
from nfa.mechanism import Mechanism
from nfa.papers.berthier2019.perturbation.problem import Problem

Gradients = Sequence[Callable[[np.ndarray], np.ndarray]]


def sgd_pass(
    gradients: Gradients,
    *,
    theta0: np.ndarray,
    gamma: float,
    noise: np.ndarray | None = None,
    radius: float = math.inf,
) -> np.ndarray:
    r"""The iterates of one pass of SGD, projected onto a ball.

    .. math:: \theta_t = \Pi_R\big(\theta_{t-1} - \gamma (\nabla \ell(\theta_{t-1}, x_t) + \eta_t)\big)

    Source: [berthier2019:outpert] [berthier2019:gradpert]

    Parameters
    ----------
    gradients : n functions of theta, one for each step
    theta0 : (d,) array
    gamma : float > 0, learning rate
    noise : (n, d) array of the eta_t; None for no noise
    radius : float R > 0, the radius of the ball; inf for no projection

    Returns
    -------
    iterates : (n + 1, d) array, theta0 first

    Raises
    ------
    ValueError : if gamma or the radius is not positive, or the shape of the noise is not (n, d)
    """
    require.positive_or_infinite(**{"the radius": radius})
    require.positive(**{"the learning rate gamma": gamma})
    theta = np.asarray(theta0, float)
    eta = np.zeros((len(gradients), len(theta))) if noise is None else noise
    if eta.shape != (len(gradients), len(theta)):
        raise ValueError(
            f"the noise must have one row for each of the {len(gradients)} steps, got the shape {eta.shape}"
        )
    iterates = [theta]
    for t, gradient in enumerate(gradients):
        theta = theta - gamma * (gradient(theta) + eta[t])
        if radius < math.inf:
            theta = clip_l2(theta[None], radius)[0]
        iterates.append(theta)
    return np.array(iterates)


def simulate_pair(gradients: Gradients, others: Gradients, **settings) -> np.ndarray:
    """Two passes with the same start and the same noise, on data sets that may differ.   (2, n + 1, d)

    Source: [berthier2019:outpert] [berthier2019:gradpert]

    Parameters
    ----------
    gradients, others : the gradients of the steps on the first and on the second data set, two lists of the same size
    settings : further arguments of `sgd_pass`

    Examples
    --------
    All losses are theta^2 / 2, but the first step on the second data set has the loss theta^2. Each later step halves
    the gap.

    >>> plain = lambda theta: theta
    >>> pair = simulate_pair([plain] * 3, [lambda theta: 2 * theta, plain, plain], theta0=np.array([1.0]), gamma=0.5)
    >>> np.abs(pair[0] - pair[1])[:, 0].tolist()
    [0.0, 0.5, 0.25, 0.125]
    """
    if len(gradients) != len(others):
        raise ValueError(f"the two passes must have the same number of steps, got {len(gradients)} and {len(others)}")
    return np.array([sgd_pass(each, **settings) for each in (gradients, others)])


def contraction(*, gamma: float, mu: float, beta: float) -> float:
    r"""The largest factor by which a gradient step stretches distances, for losses with curvature from mu to beta.

    .. math:: \rho = \max(|1 - \gamma \mu|, |1 - \gamma \beta|)

    Source: [berthier2019:outpert] [berthier2019:gradpert]

    Parameters
    ----------
    gamma : float > 0, learning rate
    mu, beta : floats, 0 <= mu <= beta, beta > 0: strong convexity (0 for convex) and smoothness of every record's loss

    Returns
    -------
    rho : float >= 0. It is below 1 if mu > 0 and gamma < 2 / beta. It is 1 if mu = 0 and gamma <= 2 / beta

    Raises
    ------
    ValueError : if an argument is out of range

    Examples
    --------
    The best learning rate 2 / (mu + beta) gives (beta - mu) / (beta + mu).

    >>> contraction(gamma=0.5, mu=1, beta=3)
    0.5
    """
    require.positive(**{"the learning rate gamma": gamma})
    if not (0 <= mu <= beta and 0 < beta < math.inf):
        raise ValueError(
            f"mu and beta must satisfy 0 <= mu <= beta, and beta must be positive and finite, got mu={mu}, beta={beta}"
        )
    return max(abs(1 - gamma * mu), abs(1 - gamma * beta))


def gradient_perturbation(
    problem: Problem, *, gamma: float, sigma: float, theta0: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    r"""One pass of SGD in random order over a convex problem, with fresh noise on every gradient.   (n + 1, d)

    .. math:: \theta_t = \theta_{t-1} - \gamma (\nabla \ell(\theta_{t-1}, x_t) + \eta_t), \qquad
              \eta_t \sim N(0, \sigma^2 I)

    Source: [berthier2019:gradpert]

    Parameters
    ----------
    problem : Problem
    gamma : float in (0, 2 / beta]; at these learning rates, no step on a shared record increases the distance of two
        passes
    sigma : float > 0, standard deviation of the noise on every entry of a gradient
    theta0 : (d,) array, public
    rng : numpy.random.Generator

    Returns
    -------
    iterates : (n + 1, d) array

    Raises
    ------
    ValueError : if gamma or sigma is out of range
    """
    check_nonexpansive(problem, gamma)
    require.positive(sigma=sigma)
    order = rng.permutation(problem.n)
    noise = sigma * rng.standard_normal((problem.n, len(theta0)))
    return sgd_pass(problem.steps(order), theta0=theta0, gamma=gamma, noise=noise, radius=problem.radius)


def check_nonexpansive(problem: Problem, gamma: float) -> None:
    """Raise ValueError unless gamma is in (0, 2 / beta], so that a step on a convex loss increases no distance."""
    if not 0 < gamma <= 2 / problem.beta:
        raise ValueError(f"gamma must be in (0, 2 / beta], here at most {2 / problem.beta:.6g}, got {gamma}")


def gradient_mechanism(problem: Problem, *, sigma: float) -> Mechanism:
    """The release of a step of `gradient_perturbation` if all iterates are released: Gaussian with sensitivity 2 L.

    Source: [berthier2019:gradpert]

    The function raises ValueError if the gradients are not bounded or if sigma is out of range. A pass uses every
    record once, so a whole pass has the same epsilon as one step. This guarantee needs no convexity.
    """
    if problem.L == math.inf:
        raise ValueError("the gradients of least squares are bounded only in a ball: give the problem a finite radius")
    return Mechanism(
        law="gaussian",
        sensitivity=2 * problem.L,
        adjacency="replace-one",
        noise_std=sigma,
        sampling="epoch-partition",
        sampling_rate=1 / problem.n,
    )
