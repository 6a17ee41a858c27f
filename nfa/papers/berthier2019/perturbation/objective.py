"""Noise in the objective of empirical risk minimisation: a random linear term, and how private the results are.

This is Berthier (2019, Section 3.2.1). For noise on every gradient, see
`nfa.papers.berthier2019.perturbation.gradient`; for noise on the output, see
`nfa.papers.berthier2019.perturbation.output`.
"""

import math

import numpy as np

from nfa import require
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.papers.berthier2019.perturbation.problem import Problem, minimise

LAWS = ("entries", "norm")


def objective_perturbation(
    problem: Problem, *, b: float, law: str = "entries", rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    r"""The minimiser of the mean loss with a random linear term.

    .. math:: \theta^* = \mathrm{argmin}_\theta \frac1n \sum_i \ell(\theta, x_i) + \eta^\top \theta, \qquad
              \eta \sim \mathrm{Lap}(b)

    Source: [berthier2019:objpert]

    Parameters
    ----------
    problem : Problem, strongly convex
    b : float > 0, scale of the noise
    law : "entries": every entry of eta is Laplace with scale b. "norm": the density is proportional to
        exp(-|eta|_2 / b). The report does not specify the law
    rng : numpy.random.Generator

    Returns
    -------
    theta : (d,) array, the minimiser, which is released
    eta : (d,) array, the noise, which is not released

    Raises
    ------
    ValueError : if b or law is out of range, or if the objective is not strongly convex

    Notes
    -----
    This method has no epsilon, see `objective_mechanism`. The report gives neither the scale of the law nor conditions
    for a guarantee.
    """
    require.positive(**{"the scale b of the noise": b})
    require.one_of(LAWS, law=law)
    d = problem.x.shape[1]
    if law == "entries":
        eta = rng.laplace(0, b, size=(d,))
    else:
        direction = rng.standard_normal(size=(d,))
        eta = rng.gamma(d, b, size=(1,)) * direction / np.linalg.norm(direction)
    return minimise(problem, eta=eta), eta


def objective_mechanism(*, loss: str, n: int, R: float, b: float) -> Mechanism:
    r"""The release of objective perturbation for the mean of n numbers in [0, R] with Laplace noise.

    This is the only case with a guarantee that we know.

    .. math:: \mathrm{argmin}_\theta \frac1n \sum_i \tfrac12 (\theta - x_i)^2 + \eta \theta = \bar x - \eta

    Source: [berthier2019:objpert]

    Parameters
    ----------
    loss : "quadratic" for (theta - x)^2 / 2 in one dimension; for every other loss, we know no guarantee
    n : int >= 1, number of records
    R : float > 0, range of the records
    b : float > 0, scale of the noise; R / (n epsilon) for the epsilon of pure differential privacy

    Raises
    ------
    NoGuarantee : for any other loss
    ValueError : if a number is out of range

    Examples
    --------
    >>> objective_mechanism(loss="quadratic", n=10, R=1.0, b=0.05).sensitivity
    0.1
    """
    if loss != "quadratic":
        raise NoGuarantee(
            "berthier2019:objpert",
            "the report does not state the law of the noise in the objective, or the conditions for a guarantee. The"
            " report works out only the quadratic loss in one dimension",
        )
    require.at_least(1, **{"the number n of records": n})
    return Mechanism(
        law="laplace",
        sensitivity=R / n,
        adjacency="replace-one",
        noise_std=math.sqrt(2) * b,
        sampling="none",
        sampling_rate=1.0,
    )


def objective_descent(problem: Problem, *, eta: np.ndarray, gamma: float, steps: int, theta0: np.ndarray) -> np.ndarray:
    r"""Gradient descent on the perturbed objective. The same noise is added to every gradient.

    .. math:: \theta_{t+1} = \theta_t - \gamma (\nabla \ell(\theta_t) + \eta)

    Source: [berthier2019:objpert]

    The function returns the iterates, a (steps + 1, d) array. The iterates have no guarantee, because their differences
    cancel eta (see `released_contraction`).
    """
    iterates = [np.asarray(theta0, float)]
    for _ in range(steps):
        iterates.append(iterates[-1] - gamma * (problem.gradient(iterates[-1]) + eta))
    return np.array(iterates)


def released_contraction(iterates: np.ndarray) -> np.ndarray:
    r"""The matrix I - gamma H of a least-squares problem, from the iterates of `objective_descent` with any noise.

    .. math:: \theta_{t+2} - \theta_{t+1} = (I - \gamma H)(\theta_{t+1} - \theta_t), \qquad
              H = \frac1n \sum_i x_i x_i^\top + \lambda I

    Source: [berthier2019:objpert]

    Parameters
    ----------
    iterates : (T, d) array, T >= d + 2

    Returns
    -------
    contraction : (d, d) array. Because gamma and lambda are public, this matrix reveals the records' matrix of second
        moments

    Raises
    ------
    ValueError : if there are too few iterates
    """
    if len(iterates) < iterates.shape[1] + 2:
        raise ValueError(f"iterates must have at least d + 2 = {iterates.shape[1] + 2} rows, got {len(iterates)}")
    moves = np.diff(iterates, axis=0)  # (T - 1, d)
    return np.linalg.lstsq(moves[:-1], moves[1:], rcond=None)[0].T
