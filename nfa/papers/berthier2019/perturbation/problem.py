"""Empirical risk minimisation (Berthier 2019, Section 3.1): the problems, their constants and their minimisers."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize
from scipy.special import expit

from nfa import require
from nfa.clip import row_norms

LOSSES = ("logistic", "least-squares")


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem:
    r"""A training problem: minimise the mean over n records of a convex loss, plus an l2 regulariser.

    .. math:: \min_\theta \frac1n \sum_i \ell(\theta, (x_i, y_i)), \qquad
              \ell(\theta, (x, y)) = \varphi(x^\top \theta, y) + \frac\lambda2 \|\theta\|^2

    with phi(z, y) = log(1 + e^z) - y z for the logistic loss and (z - y)^2 / 2 for least squares.

    Source: [berthier2019:erm]

    Parameters
    ----------
    loss : "logistic" or "least-squares"
    x : (n, d) array of records, n >= 1
    y : (n,) array: labels 0 or 1 for the logistic loss, targets for least squares
    lam : float lambda >= 0
    x_bound : float > 0, public bound on the norms of records
    y_bound : float > 0, public bound on the absolute values of targets; the logistic loss does not use it
    radius : float > 0, radius of the ball around 0 that contains the parameters; the gradients of least squares are
        bounded only in a ball

    Raises
    ------
    ValueError : if a number is out of range, if an array has another shape or is not finite, if a label is neither 0
        nor 1, or if a record or a target exceeds its bound

    Notes
    -----
    The bounds are arguments and not computed from the data, because a constant that depends on the data would reveal
    something about them. All constants hold for the loss of every record within the bounds.
    """

    loss: str
    x: np.ndarray
    y: np.ndarray
    lam: float
    x_bound: float
    y_bound: float = 1.0
    radius: float = math.inf

    def __post_init__(self) -> None:
        require.one_of(LOSSES, loss=self.loss)
        if self.x.ndim != 2 or len(self.x) == 0 or self.y.shape != (len(self.x),):
            raise ValueError(f"x must be (n, d) and y (n,) with n >= 1, got {self.x.shape} and {self.y.shape}")
        if not (np.isfinite(self.x).all() and np.isfinite(self.y).all()):
            raise ValueError("x and y must hold finite numbers")
        require.not_negative(lam=self.lam)
        require.positive(x_bound=self.x_bound, y_bound=self.y_bound)
        require.positive_or_infinite(radius=self.radius)
        largest = float(row_norms(self.x).max())
        if largest > self.x_bound * (1 + 1e-12):
            raise ValueError(
                f"x_bound must be at least the norm of every record, got {self.x_bound} for norm {largest:.6g}"
            )
        if self.loss == "logistic" and not np.isin(self.y, (0, 1)).all():
            wrong = self.y[~np.isin(self.y, (0, 1))][0]
            raise ValueError(f"labels of the logistic loss must be 0 or 1, got {wrong:g}: map -1 and 1 by (y + 1) / 2")
        if self.loss == "least-squares" and np.abs(self.y).max() > self.y_bound * (1 + 1e-12):
            raise ValueError(
                f"y_bound must be at least the absolute value of every target, got {self.y_bound} for"
                f" {np.abs(self.y).max():.6g}"
            )

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.x)

    @property
    def mu(self) -> float:
        """Strong convexity: the least curvature of a record's loss. It is lambda, since x x^T has rank one."""
        return float(self.lam)

    @property
    def beta(self) -> float:
        """Smoothness: the largest curvature of a record's loss, with phi'' <= 1/4 (logistic) or 1 (least squares)."""
        return self.lam + self.x_bound**2 * (0.25 if self.loss == "logistic" else 1.0)

    @property
    def L(self) -> float:
        """Bound on the norm of phi' x, the part of a gradient that depends on the data, for parameters in the ball.

        The bound does not include lambda theta, the gradient of the regulariser. lambda theta is the same for all
        records, so it cancels in the difference of two records' gradients. No strongly convex loss, and so no loss with
        a regulariser, has bounded gradients on all of R^d.
        """
        derivative = 1.0 if self.loss == "logistic" else self.x_bound * self.radius + self.y_bound
        return self.x_bound * derivative

    def value(self, theta: np.ndarray) -> float:
        """The mean loss at theta (d,)."""
        z = self.x @ theta
        losses = np.logaddexp(0, z) - self.y * z if self.loss == "logistic" else (z - self.y) ** 2 / 2
        return float(losses.mean() + self.lam / 2 * (theta @ theta))

    def gradients(self, theta: np.ndarray) -> np.ndarray:
        """Each record's gradient at theta (d,): a multiple of the record, plus lambda theta.   (n, d)

        Source: [berthier2019:erm] [berthier2019:linreg]
        """
        return self._derivative(self.x @ theta, self.y)[:, None] * self.x + self.lam * theta

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """The gradient of the mean loss at theta (d,).   (d,)"""
        return self.gradients(theta).mean(axis=0)

    def hessian(self, theta: np.ndarray) -> np.ndarray:
        """Second derivatives of the mean loss at theta (d,).   (d, d)"""
        z = self.x @ theta
        curvature = expit(z) * expit(-z) if self.loss == "logistic" else np.ones_like(z)
        return (self.x.T * curvature) @ self.x / self.n + self.lam * np.eye(self.x.shape[1])

    def steps(self, order: Sequence[int] | np.ndarray) -> list[Callable[[np.ndarray], np.ndarray]]:
        """The gradients of single records as functions of theta, in the order in which a pass uses the records."""

        def gradient_of(x: np.ndarray, y: float) -> Callable[[np.ndarray], np.ndarray]:
            return lambda theta: self._derivative(x @ theta, y) * x + self.lam * theta

        return [gradient_of(self.x[i], self.y[i]) for i in order]

    def _derivative(self, z, y):
        return expit(z) - y if self.loss == "logistic" else z - y


def minimise(problem: Problem, *, eta: np.ndarray | None = None, tolerance: float = 1e-9) -> np.ndarray:
    r"""The minimiser of the objective: the mean loss or, if eta is given, the mean loss plus a linear term.

    .. math:: \theta^* = \mathrm{argmin}_\theta \frac1n \sum_i \ell(\theta, x_i) + \eta^\top \theta

    Source: [berthier2019:erm] [berthier2019:objpert] [berthier2019:objpert-close]

    Parameters
    ----------
    problem : Problem; its radius is not used
    eta : (d,) array; None for no linear term
    tolerance : float > 0, bound on the norm of the gradient at the result

    Returns
    -------
    theta : (d,) array, at a distance of at most tolerance / mu from the minimiser

    Raises
    ------
    ValueError : if the objective is not strongly convex, so that it may have no minimiser or many, or if eta has
        another shape

    Examples
    --------
    The noise in the objective moves the mean of 1 and 3 to (1 + 3) / 2 - 0.5.

    >>> problem = Problem(loss="least-squares", x=np.ones((2, 1)), y=np.array([1.0, 3.0]), lam=0, x_bound=1, y_bound=3)
    >>> minimise(problem, eta=np.array([0.5])).tolist()
    [1.5]
    """
    d = problem.x.shape[1]
    eta = np.zeros(d) if eta is None else np.asarray(eta, float)
    if eta.shape != (d,):
        raise ValueError(f"eta must have the shape of the parameters, {(d,)}, got {eta.shape}")
    if problem.loss == "least-squares":
        H = problem.hessian(eta)
        if problem.lam == 0 and np.linalg.eigvalsh(H)[0] <= 1e-12 * np.linalg.norm(H):
            raise ValueError(
                "lam must be positive, because the objective is not strongly convex on these records, got lam = 0"
            )
        return linalg.solve(H, problem.y @ problem.x / problem.n - eta, assume_a="pos")
    if problem.lam == 0:
        raise ValueError("lam must be positive, because the logistic loss alone is not strongly convex, got lam = 0")
    found = optimize.minimize(
        lambda theta: problem.value(theta) + eta @ theta,
        np.zeros(d),
        jac=lambda theta: problem.gradient(theta) + eta,
        hess=problem.hessian,
        method="trust-exact",
        options={"gtol": tolerance / 2},
    )
    theta = found.x
    # Rounding of the objective can stop the search too early. Newton's method does not use the objective's value.
    for _ in range(5):
        gradient = problem.gradient(theta) + eta
        if np.linalg.norm(gradient) <= tolerance:
            return theta
        theta = theta - linalg.solve(problem.hessian(theta), gradient, assume_a="pos")
    raise ValueError(
        f"nfa finds no minimiser with the tolerance {tolerance:g}: choose a larger lam or a larger tolerance"
    )
