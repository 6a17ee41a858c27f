"""Objective perturbation: softmax regression with a random linear term in its objective, solved to convergence.

The method is that of Chaudhuri, Monteleoni and Sarwate (2011, Algorithm 2, for two classes), which Berthier (2019,
Section 3.2.1) sketches. This rule allows any number of classes and uses Gaussian noise, with our own proof. One step on
all records (``--sampling none --epochs 1 --lr 1``) is the whole training, as with `nfa.rules.output_perturbation`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr, ndtr

from nfa import require
from nfa.mechanism import ADJACENCIES, Classic, NoGuarantee
from nfa.network import Net
from nfa.network.softmax_regression import check_one_hot, check_softmax_regression, joined_inputs, minimise
from nfa.noise import add_normal as numpy_normal
from nfa.rules.output_perturbation import check_settings, leading_to

SHARE = 1e-3  # the noise that hides the inexact minimisation increases the Renyi curve by this share


def objective_perturbation(
    net: Net,
    x: np.ndarray,
    y: np.ndarray,
    *,
    m: int,
    lam: float,
    R: float = 1.0,
    sigma: float,
    tolerance: float = 1e-10,
    add_normal: Callable = numpy_normal,
    rng: np.random.Generator,
    state: dict | None = None,
) -> tuple[list, list]:
    r"""The direction from the weights to the perturbed minimiser. A step with learning rate 1 reaches it.

    .. math:: (dW, db) = (W, b) - \theta - N(0, \rho^2 I), \qquad
              \theta = \mathrm{argmin}_\theta \frac1m \sum_i \mathcal L(\theta \tilde x_i, y_i)
              + \frac\lambda2 \|\theta\|^2 + \langle \eta, \theta \rangle, \qquad \eta \sim N(0, \sigma^2 I)

    The inputs are clipped to norm R as in `nfa.rules.output_perturbation`. `hiding_noise` computes rho.

    Source: [ours:softmax-objective]

    Parameters
    ----------
    net : Net of one dense layer, with the softmax cross-entropy; the values of its weights do not matter
    x : (k, *in_shape) array; k may be 0, and then the minimiser is -eta / lam
    y : (k, n_L) array of one-hot targets
    m : float > 0, public normaliser: the number of records, or its expected value
    lam : float > 0, weight of the regulariser, biases included
    R : float > 0, l2 bound on each record's input together with the input 1 of the biases, as one vector
    sigma : float >= 0, standard deviation of the noise on every coordinate of the gradient of the objective
    tolerance : float in [1e-12, 1); at the computed minimiser, the norm of the gradient is at most tolerance R
    add_normal : function (out, std, rng) that adds the noise in place
    rng : numpy.random.Generator, which draws eta (a row for each class, with its bias last), and then the noise on
        theta
    state : dict. Its entry "clipped" gets the share of examples that the clip scales down

    Returns
    -------
    dW, db : lists with dW[1] and db[1] of the shapes and dtypes of W[1] and b[1]; slot 0 is None

    Raises
    ------
    ValueError : for another network, for targets that are not one-hot, for a number out of range, or if the search
        finds no minimiser to the tolerance

    Notes
    -----
    The minimiser is computed in float64. If the input of a record is not finite, it is replaced by 0, so the record has
    no effect.
    """
    check_softmax_regression(net, rule="objective_perturbation")
    check_settings(m=m, lam=lam, R=R, sigma=sigma, tolerance=tolerance, rule="objective_perturbation")
    check_one_hot(net, y)
    shares: list = []  # share of the batch that the clip scales down
    inputs = joined_inputs(net, x, R, shares)  # (k, n_0 + 1)
    eta = np.zeros((net.shape_z[1][0], inputs.shape[1]))  # (n_L, n_0 + 1)
    add_normal(eta, sigma, rng)
    # The inputs are divided by R, so we minimise over R theta: lam becomes lam / R^2, and eta becomes eta / R.
    theta = minimise(inputs, y, m=m, lam=lam / R / R, linear=eta / R, tolerance=tolerance) / R  # (n_L, n_0 + 1)
    # The computed theta differs from the exact minimiser by up to the tolerance. This noise hides the difference.
    add_normal(theta, hiding_noise(m=m, lam=lam, sigma=sigma, tolerance=tolerance), rng)
    if state is not None:
        state["clipped"] = shares
    return leading_to(theta, net)


def hiding_noise(*, m: float, lam: float, sigma: float, tolerance: float) -> float:
    r"""The std of the noise on theta that hides the difference from the exact minimiser. `SHARE` determines its size.

    .. math:: \rho = \frac{2 \tau}{s \sqrt{\mathrm{SHARE}}}, \qquad \tau = \frac{\mathrm{tolerance} \, R}\lambda, \qquad
              s = \frac{\sqrt2 R}{m \sigma}
    """
    return math.sqrt(2 / SHARE) * tolerance * m * sigma / lam


@dataclass(frozen=True, kw_only=True)
class SoftmaxObjective:
    r"""The Renyi curve and the delta of one release of `objective_perturbation`, under add-remove and zero-out.

    `mechanism` has the proof.

    Source: [ours:softmax-objective]

    Parameters
    ----------
    classes : int >= 2, K
    shift : float s > 0, the largest shift of the noise in the objective by one record, divided by the standard
        deviation of the noise: sqrt(2) R / (m sigma)
    stretch : float c >= 0, bound on the logarithm of the ratio of the volumes: (K - 1) log(1 + R^2 / (K m lam))
    share : float >= 0. The noise that hides the inexact minimisation adds this share of alpha s^2 / 2 to the curve

    Examples
    --------
    For two classes and a shift of 1, the curve is log(1 + e^(alpha (alpha - 1) / 2)) / (alpha - 1). At alpha = 2, it is
    log(1 + e).

    >>> round(float(SoftmaxObjective(classes=2, shift=1.0, stretch=0.0, share=0.0)(np.array([2.0]))[0]), 6)
    1.313262
    """

    classes: int
    shift: float
    stretch: float
    share: float

    def __post_init__(self) -> None:
        require.whole(2, classes=self.classes)
        require.positive(**{"sqrt(2) R / (m sigma)": self.shift})
        require.not_negative(**{"the ratio of volumes": self.stretch, "the share": self.share})

    def __call__(self, orders: np.ndarray) -> np.ndarray:
        r"""The Renyi curve.

        .. math:: \epsilon(\alpha) = c + \frac{\log(1 + (K - 1) e^{\alpha (\alpha - 1) s^2 / 2})}{\alpha - 1}
                  + \mathrm{SHARE} \, \frac{\alpha s^2}2
        """
        a = np.asarray(orders, float)
        with np.errstate(over="ignore"):
            cost = a * self.shift * self.shift / 2
            sum_ = np.logaddexp(0, math.log(self.classes - 1) + (a - 1) * cost)
            return self.stretch + sum_ / (a - 1) + self.share * cost

    def delta(self, epsilon: float) -> float:
        r"""A delta for (epsilon, delta)-differential privacy, which is smaller than the delta from the Renyi curve.

        .. math:: \delta = (K - 1) \, \delta_G(\epsilon - c; s \sqrt{1 + \mathrm{SHARE}})
                  + \delta_G(\epsilon - c; s \sqrt{\mathrm{SHARE}}), \qquad
                  \delta_G(\epsilon; s) = \Phi(s/2 - \epsilon/s) - e^\epsilon \Phi(-s/2 - \epsilon/s)

        The result is 1 for an epsilon below c.
        """
        left = epsilon - self.stretch
        if left < 0:
            return 1.0
        if left == math.inf:
            return 0.0
        found = 0.0
        for times, share in ((self.classes - 1, 1 + self.share), (1, self.share)):
            s = self.shift * math.sqrt(share)
            if s > 0:
                found += times * float(ndtr(s / 2 - left / s) - np.exp(left + log_ndtr(-s / 2 - left / s)))
        return min(found, 1.0)

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon for a delta in (0, 1) by the method `delta`, rounded up by at most a relative 1e-12."""
        require.within("(0, 1)", delta=delta)
        low, high = self.stretch, self.stretch
        while self.delta(high) > delta:
            low, high = high, self.stretch + 2 * (high - self.stretch) + 1
        while high - low > 1e-12 * high:
            middle = (low + high) / 2
            low, high = (low, middle) if self.delta(middle) <= delta else (middle, high)
        return high


def mechanism(
    *,
    net: Net,
    m: int,
    lam: float,
    R: float = 1.0,
    sigma: float,
    tolerance: float = 1e-10,
    adjacency: str,
    sampling: str,
    sampling_rate: float,
) -> Classic:
    r"""The release of one step, given by its Renyi curve, which is a `SoftmaxObjective`.

    Source: [ours:softmax-objective]

    Parameters
    ----------
    net : Net
    m, lam, R, sigma, tolerance : as given to `objective_perturbation`
    adjacency : "add-remove" or "zero-out"
    sampling, sampling_rate : scheme and rate of the batches

    Raises
    ------
    ValueError : if a number is out of range
    NoGuarantee : for a network that is not softmax regression, for any other adjacency, or without noise

    Notes
    -----
    Proof. Let D' be D with one more record (x, y). Here x includes the input 1 of the biases and is clipped, so
    ||x|| <= R. (Under zero-out, D has a zero record in place of (x, y). The gradient of the zero record's loss is 0,
    and D and D' have the same m.) For a theta, p is the softmax of theta x, e = p - y, and g = e x^T is the gradient of
    the record's loss.

    *Densities.* The objective is strictly convex and has a minimiser for every eta. The minimiser is theta if and only
    if

        eta = B(theta) = -(1/m) sum_i grad L_i(theta) - lam theta.

    B is one to one and smooth. Its derivative -(H / m + lam I) is invertible, where H is the sum of the second
    derivatives of the losses. So the minimiser has the density phi(B(theta)) det(H / m + lam I). Here phi is the
    density of N(0, sigma^2 I). For D', B' = B - g / m and H' = H + h with h = (diag(p) - p p^T) (x) x x^T.

    *Volumes.* det(H' / m + lam I) / det(H / m + lam I) = det(I + (H + m lam I)^-1 h) is between 1 and det(I + h / (m
    lam)), because H >= 0. One eigenvalue of diag(p) - p p^T is 0. The other eigenvalues add up to 1 - ||p||^2 <= 1 -
    1/K. So by the inequality of arithmetic and geometric means, the determinant is at most (1 + R^2 / (K m lam))^(K -
    1) = e^c.

    *Noise, a record added.* Let theta come from D', so that eta' = B'(theta) is N(0, sigma^2 I). The log of the ratio
    of the two densities at theta is at most

        (||eta' + g / m||^2 - ||eta'||^2) / (2 sigma^2) + c
            = <eta', e x^T> / (m sigma^2) + ||e||^2 ||x||^2 / (2 m^2 sigma^2) + c.

    theta depends on eta', so p depends on eta' too. For fixed p and x, this bound without c is a function of eta'
    alone, and the function is convex in p. So it is at most max_k Q_k, where Q_k are its values at the K corners of the
    simplex. At corner k, p is the unit vector of class k. Q_y = 0. At every other corner, e does not depend on eta'. So
    Q_k has the law N(s_x^2 / 2, s_x^2) with s_x = sqrt(2) ||x|| / (m sigma) <= s. This is the law of the privacy loss
    of Gaussian noise with a shift of s_x standard deviations.

    *A record removed.* Let theta come from D, so that eta = B(theta) is N(0, sigma^2 I). The log of the inverse ratio
    is at most (||eta - g / m||^2 - ||eta||^2) / (2 sigma^2), because the ratio of the volumes is at least 1. This bound
    has the form of the bound above, without c.

    *All corners.* In the two cases, the privacy loss is at most c + max_k Q_k, and the exponential of a maximum is at
    most the sum of the exponentials. So the mean of e^((alpha - 1) loss) is at most e^((alpha - 1) c) (1 + (K - 1)
    e^(alpha (alpha - 1) s^2 / 2)). The same argument bounds delta, the mean of (1 - e^(epsilon - loss))_+. The corner y
    adds nothing to this bound if epsilon >= c.

    *The release* is not the minimiser. It is a point at a distance of at most tau = tolerance R / lam from the
    minimiser, plus the noise N(0, rho^2 I). We view it as two releases. The first is the minimiser. The second is the
    difference of the point and the minimiser, plus this noise, given the minimiser. For D and for D', the difference is
    a function of the minimiser and has norm at most tau. So the second release is a Gaussian mechanism with a shift of
    2 tau / rho = s sqrt(SHARE). The Renyi curves of the two releases add up, and the sum of the two releases gives the
    result of `objective_perturbation`. For delta, a normal loss is added to each Q_k.

    For K = 2, the curve is about that of a Gaussian mechanism of sensitivity sqrt(2) R / m. Each further class adds one
    more corner. The noise of different steps is independent, so the curves of steps add up. The proof makes two
    assumptions. It treats floats as real numbers. It ignores the event that the run ends because the computed minimiser
    does not reach the tolerance.
    """
    try:
        check_softmax_regression(net, rule="objective_perturbation")
    except ValueError as refusal:
        raise NoGuarantee("ours:softmax-objective", str(refusal)) from None
    check_settings(m=m, lam=lam, R=R, sigma=sigma, tolerance=tolerance, rule="objective_perturbation")
    require.one_of(ADJACENCIES, adjacency=adjacency)
    if adjacency not in ("add-remove", "zero-out"):
        raise NoGuarantee(
            "ours:softmax-objective",
            f"the proof covers only the adjacencies add-remove and zero-out, got {adjacency}. Use add-remove or"
            " zero-out",
        )
    if sigma == 0:
        raise NoGuarantee("lee2020:lem1", "sigma is 0, so the release has no noise and no guarantee")
    K = net.shape_z[1][0]
    return Classic(
        id="ours:softmax-objective",
        curve=SoftmaxObjective(
            classes=K,
            # A record's error is the difference of two probability vectors, so its norm is at most sqrt(2).
            shift=math.sqrt(2) * R / m / sigma,
            stretch=(K - 1) * math.log1p(R / lam * R / (K * m)),
            share=SHARE,
        ),
        adjacency=adjacency,
        sampling=sampling,
        sampling_rate=sampling_rate,
    )
