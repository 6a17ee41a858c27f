"""The algebra in "Forward Learning with Differential Privacy", tested independently of our code.

Expectations over the noise are Gauss-Hermite sums, and derivatives are central differences of these sums. We enumerate
laws of batches in fractions, compute covariances of the remedies from linear maps, and integrate densities.
"""

import itertools
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, special, stats
from scipy.ndimage import maximum_filter1d

from nfa import data
from nfa.mechanism import NoGuarantee
from nfa.network import Net, forward, mlp
from nfa.network.dense import Conv2d, Dense
from nfa.network.ops import gelu, identity, relu, squared_error, tanh
from nfa.papers.dpulr2024 import theorems, variances
from nfa.rules import dp_ulr as printed
from nfa.rules import dp_ulr_sound as sound
from nfa.rules.ulr import mechanism as ulr_mechanism
from nfa.rules.ulr import proxy
from nfa.rules.ulr import ulr as ulr_rule
from nfa.sampling import PoissonRejection

INF = math.inf


# --- tools -----------------------------------------------------------------------------------------------------


def nodes(n, d):
    """Points (n^d, d) and weights of the expectation over N(0, I_d), exact for polynomials up to degree 2n - 1."""
    t, w = np.polynomial.hermite_e.hermegauss(n)
    points = np.array(list(itertools.product(t, repeat=d)))
    return points, np.prod(list(itertools.product(w / w.sum(), repeat=d)), axis=1)


def zL(loss, v, sigma, n):
    """Mean and covariance of z L(v + z) / sigma^2 for z ~ N(0, sigma^2 I)."""
    u, w = nodes(n, len(v))
    values = u * loss(v + sigma * u)[:, None] / sigma
    mean = w @ values
    return mean, (values * w[:, None]).T @ values - np.outer(mean, mean)


def derivatives(f, v, h):
    """Central differences of f by each entry of v."""
    return np.array([(f(v + h * e) - f(v - h * e)) / (2 * h) for e in np.eye(len(v))])


class Draws:
    """Replaces a generator by given normal samples, so that a test can compute their exact sums or linear maps."""

    def __init__(self, values):
        self.values = values

    def standard_normal(self, shape, dtype=float):
        out = np.asarray(self.values, dtype)
        assert out.shape == tuple(shape)
        return out


SIX = np.array([-math.sqrt(3), 0.0, 0.0, 0.0, 0.0, math.sqrt(3)])  # equal weights, moments of N(0, 1) up to the fifth


def six_by_six(m):
    """36 pairs of normal samples for each of m examples, with the moments of N(0, I) up to the fifth degree."""
    return np.repeat(np.array(list(itertools.product(SIX, repeat=2)))[:, None], m, axis=1)


# Two inputs, two tanh units that receive the noise, three classes; label 1. The numbers are those of the ledger.
W1, X1 = np.array([[0.3, -0.6], [0.8, 0.1]]), np.array([1.0, -2.0])
W2 = np.array([[1.0, -0.5], [0.2, 0.7], [-0.9, 0.4]])


def tanh_loss(z):
    """Cross-entropy of W2 tanh(z) for label 1, for each row z."""
    o = np.tanh(z) @ W2.T
    return special.logsumexp(o, axis=-1) - o[..., 1]


def class_loss(z):
    """Cross-entropy of the outputs z for label 0."""
    return special.logsumexp(z, axis=-1) - z[..., 0]


V3 = np.array([0.5, -0.2, 0.1])
QUADRATIC = 1.3, np.array([0.7, -0.4]), np.array([[0.9, 0.2], [0.2, -0.5]])  # loss, gradient, Hessian


def quadratic(z):
    loss, g, H = QUADRATIC
    return loss + z @ g + np.einsum("...i,ij,...j", z, H, z) / 2


def zero_net(n_in, n_out):
    """One dense layer with output 0, so that every loss is log n_out for any input."""
    net = mlp([n_in, n_out], identity, rng=np.random.default_rng(0))
    net.W[1][:], net.b[1][:] = 0, 0
    return net


def class_net(sizes, m, seed, phi=tanh):
    """A network, m random inputs, and their one-hot labels."""
    rng = np.random.default_rng(seed)
    net = mlp(sizes, phi, rng=rng)
    return net, rng.normal(size=(m, sizes[0])), np.eye(sizes[-1])[rng.integers(sizes[-1], size=m)]


PRINTED = {"sigma_0": 4.0, "C": 1.0, "K": 10, "N_B": 1}


# --- definitions -----------------------------------------------------------------------------------------------


@pytest.mark.verifies("dpulr2024:erm", "dpulr2024:eq19", "dpulr2024:alg1.L204")
def test_for_a_quadratic_loss_the_proxy_has_the_gradient_of_the_mean_loss_for_its_mean():
    """For a quadratic loss, the proxy has the gradient of the mean loss as its mean.

    36 samples with the correct moments give the exact expectation. We compute the gradient by differences.
    """
    rng = np.random.default_rng(3)
    net = mlp([3, 2], identity, loss=squared_error, rng=rng)
    x, y = rng.normal(size=(4, 3)), rng.normal(size=(4, 2))
    dW, db = ulr_rule(net, x, y, sigma=0.7, K=36, rng=Draws(six_by_six(4)))

    def mean_loss(W, b):
        return np.mean(np.square(x @ W.T + b - y).sum(axis=1)) / 2

    by_W = np.reshape(derivatives(lambda w: mean_loss(w.reshape(2, 3), net.b[1]), net.W[1].ravel(), 1e-5), (2, 3))
    np.testing.assert_allclose(dW[1], by_W, atol=1e-9)
    np.testing.assert_allclose(db[1], derivatives(lambda b: mean_loss(net.W[1], b), net.b[1], 1e-5), atol=1e-9)
    # with noise below a linear layer, the loss is quadratic in the noise, with a Hessian that is not the identity
    net = mlp([2, 2, 3], identity, loss=squared_error, rng=rng)
    x, y = rng.normal(size=(4, 2)), rng.normal(size=(4, 3))
    z, h = forward(net, x)
    dz = proxy(net, 1, z, h, y, sigma=0.7, K=36, rng=Draws(six_by_six(4)))
    np.testing.assert_allclose(dz, (z[2] - y) @ net.W[2], rtol=1e-12, atol=1e-13)


@pytest.mark.verifies("dpulr2024:eq4", "dpulr2024:alg1.L203", "dpulr2024:alg1.L200-202", "dpulr2024:modules")
def test_the_transpose_of_the_jacobian_times_noise_times_loss():
    """The proxy is the transposed Jacobian times noise times loss, for K = 2 draws through the whole network.

    We compute the Jacobian d z^1 / d (W, b) by differences.
    """
    net, x, y = class_net([3, 2, 4], 1, 5)
    z, h = forward(net, x)
    sigma, zeta = 0.4, np.array([[0.3, -0.2], [0.1, 0.5]])
    dz = proxy(net, 1, z, h, y, sigma=sigma, K=2, rng=Draws(zeta[:, None] / sigma))
    W, b = net.map[1].outer(dz, x)

    def pre_activation(theta):
        return theta[:6].reshape(2, 3) @ x[0] + theta[6:]

    theta = np.concatenate([net.W[1].ravel(), net.b[1]])
    J = derivatives(pre_activation, theta, 1e-3).T  # (d_v, d_theta)
    assert J.shape == (2, 8)
    total = np.zeros(8)
    for zeta_k in zeta:
        a = net.W[2] @ np.tanh(z[1][0] + zeta_k) + net.b[2]
        loss = special.logsumexp(a) - a @ y[0]
        total += J.T @ zeta_k * loss / sigma**2 / 2  # line 203 prints J, which has the wrong shape
    np.testing.assert_allclose(np.concatenate([W.ravel(), b]), total, rtol=1e-9)
    # at the output layer, noise can only enter the logits; otherwise this layer cannot learn
    top = proxy(net, 2, z, h, y, sigma=sigma, K=1, rng=Draws(np.ones((1, 1, 4))))
    assert np.allclose(top, class_loss_at(net, z, y, sigma) / sigma)


def class_loss_at(net, z, y, shift):
    a = z[net.L][0] + shift
    return special.logsumexp(a) - a @ y[0]


# --- Appendix A.2: the gradient of the smoothed loss -----------------------------------------------------------


@pytest.mark.verifies("dpulr2024:thm3", "dpulr2024:eq4", "dpulr2024:eq15")
def test_the_mean_is_the_gradient_of_the_smoothed_loss():
    """The mean of the proxy is the gradient of the smoothed loss.

    We compute the mean with 80^2 nodes and compare it with differences by W. We also draw samples of our proxy.
    """
    sigma = 0.5
    mean, cov = zL(tanh_loss, W1 @ X1, sigma, 80)
    printed_mean = [[0.041297518863, -0.082595037726], [-0.419549977243, 0.839099954486]]
    np.testing.assert_allclose(np.outer(mean, X1), printed_mean, atol=1e-12)
    u, w = nodes(80, 2)

    def smoothed(W):
        return w @ tanh_loss(W.reshape(2, 2) @ X1 + sigma * u)

    by_W = derivatives(smoothed, W1.ravel(), 1e-5).reshape(2, 2)
    np.testing.assert_allclose(by_W, np.outer(mean, X1), atol=1e-9)
    np.testing.assert_allclose(cov, [[3.608900007575, -0.106989697285], [-0.106989697285, 4.660707858506]], atol=1e-11)
    net = mlp([2, 2, 3], tanh, rng=np.random.default_rng(0))
    net.W[1][:], net.b[1][:], net.W[2][:], net.b[2][:] = W1, 0, W2, 0
    z, h = forward(net, X1[None])
    K = 400_000
    drawn = proxy(net, 1, z, h, np.eye(3)[[1]], sigma=sigma, K=K, rng=np.random.default_rng(8))[0]
    # A false alarm has probability 4e-9. An error of 10.8 standard errors is missed with probability 1e-6.
    assert (np.abs(drawn - mean) < 6 * np.sqrt(np.diag(cov) / K)).all()


@pytest.mark.verifies("dpulr2024:thm3", "dpulr2024:modules")
def test_noise_in_all_layers_and_in_one_smooth_the_loss_in_two_ways():
    """Noise in all layers and noise in one layer smooth the loss differently.

    Each estimate is the gradient of its smoothed loss. The example has v1 = w x, v2 = 1.3 tanh(v1 + z1) + z2, and the
    loss log(1 + e^-v2).
    """
    t, p = np.polynomial.hermite_e.hermegauss(60)
    p, sigma, w = p / p.sum(), 0.5, 0.4

    def losses(w, second):
        return np.logaddexp(0, -(1.3 * np.tanh(w + sigma * t)[:, None] + second * sigma * t[None]))

    found = []
    for second, expected in ((1.0, -0.419493976664), (0.0, -0.415926477185)):
        by_difference = (p @ losses(w + 1e-5, second) @ p - p @ losses(w - 1e-5, second) @ p) / 2e-5
        estimate = (p * t) @ losses(w, second) @ p / sigma
        assert estimate == pytest.approx(by_difference, abs=1e-9)
        assert estimate == pytest.approx(expected, abs=1e-11)
        found.append(estimate)
    without = -1.3 / math.cosh(w) ** 2 / (1 + math.exp(1.3 * math.tanh(w)))
    assert without == pytest.approx(-0.421536899878, abs=1e-11)
    assert abs(found[0] - found[1]) > 3e-3


@pytest.mark.verifies("dpulr2024:eq12")
@pytest.mark.parametrize("R", [1, 2, 5])
def test_the_condition_of_theorem_3_needs_bounded_parameters(R):
    """The condition of Theorem 3 needs bounded parameters, because the integral of sup |f'(xi - theta)| grows with R.

    For v = theta, |theta| <= R, L = 1 and sigma = 1, the integral is (2R + 4) phi(1).
    """
    step = 1e-3
    xi = np.arange(-R - 12, R + 12, step)
    derivative = np.abs(xi * stats.norm.pdf(xi))
    largest = maximum_filter1d(derivative, 2 * round(R / step) + 1, mode="constant")
    assert largest.sum() * step == pytest.approx((2 * R + 4) * stats.norm.pdf(1), rel=1e-5)


@pytest.mark.verifies("dpulr2024:eq14")
def test_moving_the_noise_into_the_argument():
    """The substitution xi = v + zeta does not change the expectation of h(v + zeta).

    We compare the two sides for h(x) = |x| above 0.3 and h(x) = 0 below 0.3.
    """
    v, sigma = 0.7, 0.6

    def h(x):
        return abs(x) if x > 0.3 else 0.0

    left = integrate.quad(lambda t: h(v + t) * stats.norm.pdf(t, scale=sigma), 0.3 - v, 12, epsabs=1e-13)[0]
    right = integrate.quad(lambda x: h(x) * stats.norm.pdf(x - v, scale=sigma), 0.3, 12 + v, epsabs=1e-13)[0]
    assert left == pytest.approx(right, abs=1e-12)
    exact = v * stats.norm.cdf((v - 0.3) / sigma) + sigma * stats.norm.pdf((v - 0.3) / sigma)
    assert left == pytest.approx(exact, abs=1e-10)


@pytest.mark.verifies("dpulr2024:eq15")
@pytest.mark.slow
def test_the_density_of_the_shifted_noise_by_the_parameters():
    """The derivative of the shifted noise's density f(xi - W x) by the parameters is -J^T grad f.

    So Equation 16 holds after integration.
    """
    sigma, xi = 0.5, np.array([0.9, 0.1])

    def density(v):
        return stats.multivariate_normal.pdf(xi - v, cov=sigma**2 * np.eye(2))

    by_W = derivatives(lambda w: density(w.reshape(2, 2) @ X1), W1.ravel(), 1e-5).reshape(2, 2)
    zeta = xi - W1 @ X1
    gradient = -zeta / sigma**2 * density(W1 @ X1)
    np.testing.assert_allclose(by_W, -np.outer(gradient, X1), atol=1e-9)
    box = [(-4, 4)] * 2
    for k in range(2):  # -int h(xi) grad_k f(xi - v) dxi is entry k of the mean of zeta L / sigma^2
        value = integrate.nquad(
            lambda a, b, k=k: (
                float(tanh_loss(W1 @ X1 + np.array([a, b])))
                * (a, b)[k]
                / sigma**2
                * math.exp(-(a * a + b * b) / (2 * sigma**2))
                / (2 * math.pi * sigma**2)
            ),
            box,
            opts={"epsabs": 1e-7},
        )[0]
        assert value == pytest.approx(zL(tanh_loss, W1 @ X1, sigma, 60)[0][k], abs=1e-6)


@pytest.mark.verifies("dpulr2024:prop2")
def test_the_bias_falls_as_sigma_squared_where_the_loss_is_smooth():
    v, gradient = W1 @ X1, derivatives(tanh_loss, W1 @ X1, 1e-5)
    found = {s: np.linalg.norm(zL(tanh_loss, v, s, 80)[0] - gradient) for s in (0.5, 0.2, 0.1, 0.05)}
    for sigma, bias in ((0.5, 6.19765e-3), (0.2, 5.89266e-3), (0.1, 1.76409e-3), (0.05, 4.60712e-4)):
        assert found[sigma] == pytest.approx(bias, rel=1e-5)

    def laplacian(p, h=1e-3):
        return sum(tanh_loss(p + h * e) - 2 * tanh_loss(p) + tanh_loss(p - h * e) for e in np.eye(2)) / h**2

    leading = np.linalg.norm(derivatives(laplacian, v, 1e-2)) / 2
    assert found[0.05] == pytest.approx(0.05**2 * leading, rel=0.02)


@pytest.mark.verifies("dpulr2024:prop2")
def test_at_a_jump_of_the_loss_the_mean_diverges():
    """At a jump of the loss, the mean diverges: for the loss 1{v > 0} at v = 0, E zL / sigma^2 = phi(0) / sigma.

    So the mean has no limit as sigma falls to 0. We compute the mean by quadrature.
    """
    for sigma, mean in ((0.1, 3.989422804), (0.01, 39.89422804)):
        value = integrate.quad(lambda t, s=sigma: t / s**2 * stats.norm.pdf(t, scale=s), 0, 12 * sigma)[0]
        assert value == pytest.approx(mean, rel=1e-8)


# --- Appendix A.3: the covariance ------------------------------------------------------------------------------


@pytest.mark.verifies("dpulr2024:eq17")
def test_the_expansion_leaves_a_remainder_of_third_order():
    """The expansion has a remainder of third order: if z is halved, the error is divided by 8.

    We interpret z^2 H as z^T H z. If z^2 were a vector of squares, the term would be a vector, not a number.
    """
    v = W1 @ X1
    g = derivatives(tanh_loss, v, 1e-5)
    H = np.array([derivatives(lambda p, k=k: derivatives(tanh_loss, p, 1e-4)[k], v, 1e-4) for k in range(2)])
    z = np.array([0.3, -0.2])
    errors = [float(tanh_loss(v + s * z) - (tanh_loss(v) + s * g @ z + s * s * z @ H @ z / 2)) for s in (0.2, 0.1)]
    assert errors[0] / errors[1] == pytest.approx(8, rel=0.1)
    assert abs(errors[0]) > 1e-6
    assert (H @ z**2).shape == (2,)  # a row, but the loss is a number


@pytest.mark.verifies("dpulr2024:eq20", "dpulr2024:eq21", "dpulr2024:eq22", "dpulr2024:eq24", "dpulr2024:prop3")
def test_the_covariance_for_a_quadratic_loss():
    """For a quadratic loss, our covariance agrees with sums over 8^2 nodes, but the printed covariance does not.

    The paper prints the loss in place of its square, and 1 / sigma in place of 1 / sigma^2.
    """
    loss, g, H = QUADRATIC
    u, w = nodes(8, 2)
    for sigma, first, second, missed, dropped in (
        (0.1, (173.0267, 0.2424), (0.2424, 169.0399), 39.0267, 0.0267),
        (0.3, (23.0180777777778, 0.2616), (0.2616, 18.8968777777778), 4.57363, 0.2403),
        (1.0, (8.36, 0.48), (0.48, 2.71), 3.06, 2.67),
    ):
        mean, cov = zL(quadratic, np.zeros(2), sigma, 8)
        np.testing.assert_allclose(mean, g, atol=1e-13)  # equation 19
        np.testing.assert_allclose(cov, [first, second], atol=1e-10)
        z = sigma * u
        second_moment = (z * (w * quadratic(z) ** 2)[:, None]).T @ z / sigma**4
        np.testing.assert_allclose(cov, second_moment - np.outer(g, g), atol=1e-11)  # equation 21
        np.testing.assert_allclose(variances.proxy_covariance(loss=loss, g=g, H=H, sigma=sigma), cov, atol=1e-11)
        bracket = 2 * loss * H + np.outer(g, g) + np.trace(loss * H + np.outer(g, g)) * np.eye(2)
        as_printed = loss / sigma**2 * np.eye(2) + bracket
        assert np.abs(cov - as_printed).max() == pytest.approx(missed, abs=1e-4)
        with_square = loss**2 / sigma**2 * np.eye(2) + bracket
        # the expansion drops the term in sigma^2
        assert np.abs(cov - with_square).max() == pytest.approx(dropped, abs=1e-9)
        values = z * quadratic(z)[:, None]
        crossed = (values / sigma * w[:, None]).T @ (values / sigma**2) - sigma * np.outer(g, g)
        np.testing.assert_allclose(crossed, sigma * cov, atol=1e-11)  # equation 20 as printed: too small by sigma
    leading = zL(quadratic, np.zeros(2), 1e-3, 8)[1] / (loss**2 / 1e-6)
    np.testing.assert_allclose(leading, np.eye(2), atol=3e-6)  # equation 24


@pytest.mark.verifies("dpulr2024:eq22")
def test_third_derivatives_leave_the_bracket_alone():
    """Third derivatives do not change Equation 22's bracket: cubic terms enter the covariance only at order sigma^2.

    For cross-entropy, we subtract the leading term and the bracket from the covariance. If sigma is halved, the rest is
    divided by 4.
    """
    v = V3
    p = np.exp(v) / np.exp(v).sum()
    g, H, loss = p - np.eye(3)[0], np.diag(p) - np.outer(p, p), float(class_loss(v))
    off = {}
    for sigma in (0.1, 0.05):
        cov = zL(class_loss, v, sigma, 20)[1]
        bracket = 2 * loss * H + np.outer(g, g) + np.trace(loss * H + np.outer(g, g)) * np.eye(3)
        off[sigma] = np.abs(cov - loss**2 / sigma**2 * np.eye(3) - bracket).max()
    assert off[0.1] / off[0.05] == pytest.approx(4, rel=0.05)


@pytest.mark.verifies("dpulr2024:prop3", "dpulr2024:eq8")
def test_the_leading_covariance_is_too_small_for_a_convex_loss_and_too_large_for_a_bump():
    """The leading covariance loss^2 / sigma^2 is too small for a convex loss and too large for a bump.

    We divide the smallest eigenvalue of the exact covariance by the leading covariance. The losses are the
    cross-entropy of three classes and the bump exp(-z^2 / 2).
    """
    for sigma, ratio in ((0.05, 1.00390), (0.2, 1.06290), (0.5, 1.40893), (1.0, 2.79266), (2.0, 9.25629)):
        smallest = np.linalg.eigvalsh(zL(class_loss, V3, sigma, 30)[1])[0]
        assert smallest / (float(class_loss(V3)) ** 2 / sigma**2) == pytest.approx(ratio, abs=1e-5)
    for sigma, ratio in ((0.1, 0.970733), (0.5, 0.544331), (1.0, 0.192450), (2.0, 0.037037)):
        second = integrate.quad(lambda u, s=sigma: u * u * math.exp(-s * s * u * u) * stats.norm.pdf(u), -40, 40)[0]
        assert second == pytest.approx(ratio, abs=1e-6)
        assert second == pytest.approx((1 + 2 * sigma**2) ** -1.5, rel=1e-8)


@pytest.mark.verifies("dpulr2024:clt")
def test_the_average_tends_to_a_normal_law_and_keeps_a_bounded_side():
    """The average of K copies of zL tends to a normal law, but it can be bounded on one side for every K.

    For L = 1 + z and sigma = 1, zL = z + z^2 is at least -1/4, so the average is at least -1/4. We compute the
    cumulants of zL in fractions.
    """
    normal = [Fraction(math.prod(range(1, k, 2))) if k % 2 == 0 else Fraction(0) for k in range(9)]

    def moment(n):  # E (z + z^2)^n
        return sum(Fraction(math.comb(n, k)) * normal[n + k] for k in range(n + 1))

    m1, m2, m3, m4 = (moment(n) for n in (1, 2, 3, 4))
    variance = m2 - m1**2
    third = m3 - 3 * m1 * m2 + 2 * m1**3
    fourth = m4 - 4 * m1 * m3 + 6 * m1**2 * m2 - 3 * m1**4
    assert (m1, variance, third) == (1, 3, 14)
    assert float(third) / 3**1.5 == pytest.approx(2.694301, abs=1e-6)
    assert fourth / variance**2 - 3 == Fraction(32, 3)
    assert min(z + z * z for z in np.linspace(-2, 2, 4001)) == pytest.approx(-0.25, abs=1e-12)
    # So the divergence of the average from its shift by any c > 0 is infinite, because only the average itself has mass
    # below -1/4 + c.
    side = math.sqrt(0.02)
    assert stats.norm.cdf(-0.5 + side) - stats.norm.cdf(-0.5 - side) > 0.09  # P(-1/4 <= z + z^2 < -1/4 + 0.02)


# --- Appendix A.4: the batch's matrix and the controller --------------------------------------------------------


@pytest.mark.verifies("dpulr2024:eq26", "dpulr2024:eq8", "dpulr2024:alg1.L198")
def test_the_controller_bounds_the_leading_covariance_of_the_averages_before_the_clip():
    """The controller bounds the leading covariance of the averages before the clip.

    We compute every example's J by differences, its own loss, and the sum of 6 x 6 matrices. The least eigenvalue of
    this sum equals the target.
    """
    net, x, y = class_net([2, 2, 3], 5, 11)
    z, _ = forward(net, x)
    loss = net.loss.value(z[2], y)
    theta = np.concatenate([net.W[1].ravel(), net.b[1]])
    total, with_one_loss = np.zeros((6, 6)), np.zeros((6, 6))
    for x_i, loss_i in zip(x, loss, strict=True):
        J = derivatives(lambda t, x_i=x_i: t[:4].reshape(2, 2) @ x_i + t[4:], theta, 1e-3).T
        total += loss_i**2 * J.T @ J
        with_one_loss += loss[0] ** 2 * J.T @ J  # equation 26 prints a single loss for all examples
    K, C, sigma_0 = 10, 0.5, 4.0
    sigma = printed.controller(net, 1, x, loss, K=K, C=C, sigma_0=sigma_0)
    assert np.linalg.eigvalsh(total / sigma**2 / K)[0] == pytest.approx((sigma_0 * C) ** 2, rel=1e-8)
    assert abs(np.linalg.eigvalsh(with_one_loss / sigma**2 / K)[0] / (sigma_0 * C) ** 2 - 1) > 0.05
    state = {}
    printed.dp_ulr(net, x, y, **PRINTED | {"C": C}, rng=np.random.default_rng(0), state=state)
    assert state["sigma"][0] == pytest.approx(sigma, rel=1e-12)
    # A further example never lowers sigma. A copy of the data doubles sigma^2, so the covariance does not grow with n.
    fewer = printed.controller(net, 1, x[:4], loss[:4], K=K, C=C, sigma_0=sigma_0)
    twice = printed.controller(net, 1, np.tile(x, (2, 1)), np.tile(loss, 2), K=K, C=C, sigma_0=sigma_0)
    assert fewer <= sigma
    assert twice == pytest.approx(math.sqrt(2) * sigma, rel=1e-9)


@pytest.mark.verifies("dpulr2024:rayleigh")
def test_adding_a_semi_definite_matrix_never_lowers_the_least_eigenvalue_and_need_not_raise_it():
    rng = np.random.default_rng(2)
    for _ in range(200):
        A, B = (M @ M.T for M in rng.normal(size=(2, 4, rng.integers(1, 6))))
        least = [np.linalg.eigvalsh(M)[0] for M in (A, B, A + B)]
        assert least[2] >= least[0] + least[1] - 1e-12 * np.trace(A + B)
    A, B = np.diag([2.0, 1.0]), np.diag([1.0, 0.0])
    assert np.linalg.eigvalsh(A + B)[0] == np.linalg.eigvalsh(A)[0] == 1.0


@pytest.mark.verifies("dpulr2024:eq27", "dpulr2024:rank-claim", "dpulr2024:L256")
def test_the_jacobian_of_a_linear_layer_with_channels():
    """The Jacobian of a linear layer with channels has blocks x^T x of rank 2, by differences.

    v = x W^T has 2 channels, 4 features and 3 outputs. We also test a 1x1 convolution.
    """
    rng = np.random.default_rng(6)
    x, W = rng.normal(size=(2, 4)), rng.normal(size=(3, 4))
    J = derivatives(lambda w: (x @ w.reshape(3, 4).T).ravel(), W.ravel(), 1e-3).T  # (2 * 3, 3 * 4)
    for (k, l), (m, n) in itertools.product(np.ndindex(2, 3), np.ndindex(3, 4)):
        # the indices of rows and columns start at 0
        assert J[3 * k + l, 4 * m + n] == pytest.approx(x[k, n] if l == m else 0, abs=1e-10)
    np.testing.assert_allclose(J.T @ J, np.kron(np.eye(3), x.T @ x), atol=1e-9)
    assert np.linalg.matrix_rank(x.T @ x) == 2
    assert np.linalg.matrix_rank(J.T @ J, tol=1e-8) == 6 < 12  # d_theta = 12 > d_v = 6: one example is not enough
    # If indices started at 1, the last entry would have index H_out H_in + H_in in a row of H_out H_in entries.
    assert 3 * 4 + 4 > 3 * 4
    # With the bias, the block has order 5. More than features / channels examples are enough for full rank.
    net = Net((4, 2, 1), [(Conv2d(3, 1), relu), (Dense(2),)], rng=rng)  # 4 features, 2 positions of one kernel
    h = rng.normal(size=(3, 4, 2, 1))
    assert printed.controller(net, 1, h, np.ones(3), K=1, C=1, sigma_0=1) > 0  # 3 examples are more than 4 / 2
    with pytest.raises(ValueError, match="has order 5, but rank 4 on this batch"):
        printed.controller(net, 1, h[:2], np.ones(2), K=1, C=1, sigma_0=1)  # 2 examples are not more than 4 / 2


@pytest.mark.verifies("dpulr2024:rank-claim", "dpulr2024:asm1", "dpulr2024:L256")
def test_when_the_batch_has_full_rank():
    """A batch has full rank if it has enough different examples.

    With four features and a bias, four examples in general position give rank 4 of 5. Five examples give full rank.
    Equal inputs never give full rank.
    """
    net, x, _ = class_net([4, 3], 5, 4)
    loss = np.linspace(1, 2, 5)
    with pytest.raises(ValueError, match="order 5, but rank 4"):
        printed.controller(net, 1, x[:4], loss[:4], K=1, C=1, sigma_0=1)
    assert printed.controller(net, 1, x, loss, K=1, C=1, sigma_0=1) > 0
    dead = np.tile(x, (200, 1))
    dead[:, 2] = 0
    # a batch of equal inputs, and a batch in which one input is always 0
    for inputs in (np.tile(x[:1], (50, 1)), dead):
        with pytest.raises(ValueError, match="gives no noise for layer 1"):
            printed.controller(net, 1, inputs, np.ones(len(inputs)), K=1, C=1, sigma_0=1)
    with pytest.raises(ValueError, match="gives no noise for layer 1"):  # without loss, the matrix is 0
        printed.controller(net, 1, x, np.zeros(5), K=1, C=1, sigma_0=1)
    perfect = zero_net(4, 2)
    perfect.b[1][:] = 800, 0
    with pytest.raises(ValueError, match="every loss of the batch is 0"):
        printed.dp_ulr(perfect, x, np.eye(2)[[0] * 5], **PRINTED, rng=np.random.default_rng(0))


@pytest.mark.verifies("dpulr2024:asm1")
def test_no_batch_of_mnist_has_full_rank_at_the_first_layer(data_home):
    """No batch of MNIST has full rank at the first layer: 67 pixels are 0 in all 60,000 images.

    So the matrix of order 785 has rank at most 718.
    """
    images = data.load("mnist", data_home).x_train.reshape(60000, 784)
    assert (images == 0).all(axis=0).sum() == 67
    x = images[:500] / 255.0
    assert np.linalg.matrix_rank(np.concatenate([x, np.ones((500, 1))], axis=1)) == 500
    assert 784 - 67 + 1 == 718 < 785


def spectrum(net, l, h, loss):
    rows = np.concatenate([h[l - 1], np.ones((len(loss), 1))], axis=1) * loss[:, None]
    return np.linalg.eigvalsh(rows.T @ rows)


@pytest.mark.verifies("dpulr2024:noise-redundancy")
def test_most_directions_get_far_more_noise_than_the_least():
    """Most directions get far more noise than necessary.

    The largest eigenvalue of the controller's matrix is 10^4 to 10^6 times the smallest eigenvalue.
    We use the paper's MLP with its first weights, and 500 of the images that are part of nfa.
    """
    small = data.load("fashion-mnist-small")
    x, y = small.x_train[:500].reshape(500, 784) / 255.0, np.eye(10)[small.y_train[:500]]
    net = mlp([784, 128, 64, 32, 10], gelu, rng=np.random.default_rng(0))
    z, h = forward(net, x)
    loss = net.loss.value(z[4], y)
    for l, ratio in ((2, 2.4e4), (3, 1.13e5), (4, 1.40e6)):
        own = spectrum(net, l, h, loss)
        assert own[-1] / own[0] == pytest.approx(ratio, rel=0.01)
        # the controller uses only the least eigenvalue
        sigma = printed.controller(net, l, h[l - 1], loss, K=100, C=1, sigma_0=4)
        assert own[0] / sigma**2 / 100 == pytest.approx(16, rel=1e-6)
    with pytest.raises(ValueError, match="has order 785, but rank 500"):
        printed.controller(net, 1, x, loss, K=100, C=1, sigma_0=4)


# --- the remedies ----------------------------------------------------------------------------------------------


@pytest.mark.verifies("dpulr2024:virtual-linear")
@pytest.mark.slow
def test_noise_on_the_parameters_has_the_identity_for_its_jacobian():
    """For noise on the parameters, the Jacobian is the identity.

    With 64 examples of loss log 10, sigma is sqrt(64) log 10 / (4 sqrt K), which is small only for large K.
    """
    net = zero_net(3, 10)
    x, y = np.random.default_rng(0).normal(size=(64, 3)), np.eye(10)[[0] * 64]
    for K, sigma in ((1, 4.605170186), (100, 0.4605170186), (10_000, 0.04605170186)):
        state = {}
        settings = PRINTED | {"K": K, "remedy": "parameters", "state": state}
        printed.dp_ulr(net, x, y, **settings, rng=np.random.default_rng(1))
        assert state["sigma"][0] == pytest.approx(sigma, rel=1e-9)
    J = derivatives(lambda theta: np.eye(3) @ theta, np.arange(3.0), 1e-3).T
    np.testing.assert_allclose(J, np.eye(3), atol=1e-12)


@pytest.mark.verifies("dpulr2024:virtual-linear")
@pytest.mark.parametrize("labels, rank", [((5, 5), 0), ((5, 6), 2)])
def test_noise_on_the_parameters_has_full_rank_if_and_only_if_one_loss_is_not_0(labels, rank):
    """Noise on the parameters has full rank if and only if some loss is not 0.

    The inputs are (1, 2) and (3, -1). The output weight is 0, and the output bias is 5. We compute moments by
    Gauss-Hermite sums.
    """
    x, y = np.array([[1.0, 2], [3, -1]]), np.array(labels, dtype=float)[:, None]
    net = mlp([2, 1, 1], identity, loss=squared_error, rng=np.random.default_rng(0))
    net.W[2][:], net.b[2][:] = 0, 5

    def covariance(i):
        return zL(lambda V: np.square(0 * (V @ x[i]) + 5 - y[i]) / 2, net.W[1][0], 0.5, 6)[1]

    assert np.linalg.matrix_rank(covariance(0) + covariance(1)) == rank
    state = {}
    settings = PRINTED | {"remedy": "parameters", "state": state}
    if rank == 0:
        with pytest.raises(ValueError, match="every loss of the batch is 0"):
            printed.dp_ulr(net, x, y, **settings, rng=np.random.default_rng(1))
    else:
        printed.dp_ulr(net, x, y, **settings, rng=np.random.default_rng(1))
        assert state["sigma"] == pytest.approx([0.5 / math.sqrt(10) / 4] * 2, rel=1e-12)


def covariance_of_extra_noise(x, loss, sigma, K, target):
    """Covariance of the additional noise for one output, from the linear map of normal samples to noise."""
    net = mlp([x.shape[1], x.shape[1] + 1], identity, rng=np.random.default_rng(0))
    weight = loss / (sigma * math.sqrt(K))
    W, b = printed._extra_noise(net, 1, x, weight, target, Draws(np.eye(x.shape[1] + 1)))
    factor = np.concatenate([W, b[:, None]], axis=1)
    return factor.T @ factor


@pytest.mark.verifies("dpulr2024:extra-noise")
@pytest.mark.parametrize("m", [2, 6])
def test_the_extra_noise_as_printed_is_no_covariance_and_set_to_0_it_leaves_directions_bare(m):
    """The printed matrix of the additional noise can have negative eigenvalues, so it is not a covariance.

    An eigenvalue sigma_0^2 C^2 - lambda / K is negative if lambda is large. If we set negative eigenvalues to 0, some
    directions have no noise. We test more examples than inputs, and fewer.
    """
    lam, K = np.array([400.0, 2000, 0, 160]), 10
    assert (16 - lam / K).tolist() == [-24, -184, 16, 0]
    rng = np.random.default_rng(m)
    x, loss, sigma = rng.normal(size=(m, 3)), np.linspace(1, 3, m), 0.2
    x[0] *= 40
    rows = np.concatenate([x, np.ones((m, 1))], axis=1) * loss[:, None] / sigma
    own, Q = np.linalg.eigh(rows.T @ rows)  # before the clip, with K = 1
    as_printed = 16 - own / K
    assert as_printed.min() < -100
    clamped = (Q * np.maximum(as_printed, 0)) @ Q.T
    np.testing.assert_allclose(covariance_of_extra_noise(x, loss, sigma, K, 4.0), clamped, atol=1e-8)
    assert np.linalg.eigvalsh(clamped)[0] < 1e-9  # no noise along the example with the large input


AUDIT_2 = ((4, 6.2073), (8, 15.6279), (16, 36.9202), (32, 84.7150), (128, 425.5680))


@pytest.mark.verifies("dpulr2024:extra-noise", "dpulr2024:thm2")
@pytest.mark.parametrize("outputs, shown", AUDIT_2)
def test_a_loud_example_takes_the_extra_noise_away(outputs, shown):
    """A target with a very large input removes the additional noise in its direction.

    The other examples have the input e_1, and the target has R e_2. Without the target, column 2 is N(0, 16 I). With
    the target, column 2 has no noise and a norm of at most C.
    """
    included = theorems.inclusion_probability(q=0.2, N_B=10, N=50)
    others = np.tile([1.0, 0, 0], (10, 1))
    loud = np.vstack([others, [[0, 1e4, 0]]])
    quiet = covariance_of_extra_noise(others, np.ones(10), 0.5, 10, 4.0)[1, 1]
    bare = covariance_of_extra_noise(loud, np.ones(11), 0.5, 10, 4.0)[1, 1]
    assert quiet == pytest.approx(16, rel=1e-12)
    assert bare < 1e-6
    log_false = mp.log(mp.gammainc(mp.mpf(outputs) / 2, 0, mp.mpf(1) / 32, regularized=True))  # P(16 chi^2_m <= 1)
    assert included == pytest.approx(0.2374016441458, abs=1e-12)
    found = math.log(included - 1e-5) - float(log_false)
    assert found == pytest.approx(shown, abs=1e-4)
    claimed, _ = theorems.claimed_dp_ulr_epsilon(delta=1e-5, T=1, q=0.2, sigma_0=4, N_B=10, N_bar=50)
    assert found > claimed


@pytest.mark.slow
@pytest.mark.verifies("dpulr2024:extra-noise")
def test_noise_that_subtracts_nothing_does_not_look_at_the_examples():
    """The noise of `dp_ulr_sound` does not depend on the examples, so it has the full variance in every direction.

    With 6 entries and 4000 runs, the smallest eigenvalue of the sample covariance exceeds 0.67 times the true
    eigenvalue, except with probability below 1e-9.
    """
    net, x, y = class_net([3, 2], 6, 1)
    x[0] *= 1e4
    settings = {"sigma": 0.1, "sigma_0": 4.0, "C": 1.0, "K": 10, "m": 1.0}
    runs = np.array(
        [
            sound.dp_ulr_sound(net, x, y, **settings, rng=np.random.default_rng(seed))[0][1].ravel()
            for seed in range(4000)
        ]
    )
    least = np.linalg.eigvalsh(np.cov(runs.T))[0]
    assert least > 0.67 * 16


# --- Algorithm 1 -----------------------------------------------------------------------------------------------


@pytest.mark.verifies("dpulr2024:alg1.L191-193", "dpulr2024:alg1.L195")
def test_the_rate_and_the_threshold_are_two_numbers():
    """The rate q and the threshold N_B must be chosen separately, although line 195 prints q = N_B / N.

    With q = N_B / N, about every second batch is rejected. With N_B = qN / 2, hardly any batch is rejected.
    """
    for B, accepted, mean in (
        (64, 0.516650565515, 70.16603),
        (200, 0.509450505710, 211.05139),
        (500, 0.506021835768, 517.55239),
    ):
        q = B / 60000
        assert theorems.acceptance(q=q, N_B=B, N=60000) == pytest.approx(accepted, abs=1e-10)
        sizes = np.arange(B, 60001)
        weights = stats.binom.pmf(sizes, 60000, q)
        assert weights @ sizes / weights.sum() == pytest.approx(mean, abs=1e-5)
        assert theorems.acceptance(q=q, N_B=B // 2, N=60000) > 1 - 1e-4
        sampler = PoissonRejection(np.zeros((60000, 1)), np.zeros((60000, 1)), q, B, None)
        assert sampler.acceptance == pytest.approx(accepted, abs=1e-10)


@pytest.mark.verifies("dpulr2024:alg1.L205", "dpulr2024:alg1.L208")
def test_every_layer_is_clipped_to_C_and_the_step_divided_by_the_threshold():
    """The rule clips every layer to C and divides the direction by the threshold N_B.

    For one example and a tiny C, each layer has norm C / N_B, and all four layers together have norm 2 C / N_B. The
    direction does not contain the learning rate eta.
    """
    net, x, y = class_net([1, 2, 2, 2, 3], 1, 9)
    C, N_B = 1e-6, 5
    settings = {"sigma_0": 4.0, "C": C, "K": 20, "N_B": N_B, "remedy": "parameters"}
    dW, db = printed.dp_ulr(net, x, y, **settings, rng=np.random.default_rng(2))
    norms = [math.hypot(np.linalg.norm(W), np.linalg.norm(b)) for W, b in zip(dW[1:], db[1:], strict=True)]
    np.testing.assert_allclose(norms, C / N_B, rtol=1e-9)
    assert math.hypot(*norms) == pytest.approx(2 * C / N_B, rel=1e-9)


@pytest.mark.verifies("dpulr2024:alg1.L209", "dpulr2024:eq4")
def test_neither_rule_reports_a_cost():
    with pytest.raises(NoGuarantee, match="dpulr2024:thm2"):
        printed.mechanism(sigma_0=4.0)
    with pytest.raises(NoGuarantee, match="dpulr2024:eq4"):
        ulr_mechanism()


@pytest.mark.verifies("dpulr2024:efficiency")
def test_the_work_of_the_repeats():
    """Each of the K repeats takes 13,248 multiplications by weights in all layers; a forward pass takes 110,912.

    The clip does not multiply by weights. We count the multiplications in the maps of the layers.
    """
    work = []

    class Counted(Dense):
        def affine(self, W, b, h):
            work.append(len(h) * W.size)
            return super().affine(W, b, h)

    sizes = (128, 64, 32)
    net = Net((784,), [*((Counted(n), gelu) for n in sizes), (Counted(10),)], rng=np.random.default_rng(0))
    x, y = np.ones((1, 784)), np.eye(10)[[0]]
    forward(net, x)
    once = sum(work)
    assert once == 110912
    work.clear()
    printed.dp_ulr(net, x, y, **PRINTED | {"K": 100}, remedy="eigenvectors", sigma=1.0, rng=np.random.default_rng(0))
    assert sum(work) == once + 100 * 13248
    assert 100 * 13248 / once == pytest.approx(11.9446, abs=1e-4)
    # the ratio if each repeat took a whole forward pass for each layer
    assert 4 * 100 * once / (100 * 13248) == pytest.approx(33.488, abs=1e-3)


@pytest.mark.verifies("dpulr2024:A5-claims")
def test_with_equation_8_the_noise_before_the_clip_does_not_depend_on_the_repeats():
    """With Equation 8, the noise before the clip does not depend on the number K of repeats.

    All losses l are equal, so the covariance of an estimate is l^2 / (K sigma^2) = C^2 sigma_0^2 / n for any K.
    """
    net = zero_net(2, 3)
    x, y = np.zeros((25, 2)), np.eye(3)[[0] * 25]
    for K in (1, 100, 10_000):
        state = {}
        settings = PRINTED | {"K": K, "remedy": "parameters", "state": state}
        printed.dp_ulr(net, x, y, **settings, rng=np.random.default_rng(0))
        assert math.log(3) ** 2 / (K * state["sigma"][0] ** 2) == pytest.approx(16 / 25, rel=1e-12)


@pytest.mark.verifies("dpulr2024:eq24")
def test_the_first_term_of_the_variance_dominates_unless_the_loss_is_0():
    """The first term of the variance dominates unless the loss is 0: cov = l_0^2 / sigma^2 I + g g^T + |g|^2 I.

    The loss is l_0 + g z with Gaussian z, and we use the moments of z.
    """
    linear = {"g": np.array([0.7, -0.4]), "H": np.zeros((2, 2))}
    for sigma in (1.0, 0.01):
        covariance = variances.proxy_covariance(loss=0.0, sigma=sigma, **linear)
        np.testing.assert_allclose(covariance, [[1.14, -0.28], [-0.28, 0.81]], rtol=1e-12)
    trace = variances.proxy_covariance(loss=1.3, sigma=0.01, **linear).trace()
    assert (trace, trace - 1.95) == pytest.approx((33801.95, 33800.0), rel=1e-12)
