"""Tests of activations, softmax and losses, compared with 50-digit arithmetic, differences and torch."""

import mpmath as mp
import numpy as np
import pytest

from nfa import ops
from tests.oracles.core import central_difference

mp.mp.dps = 50

PHI_MP = {
    "tanh": mp.tanh,
    "sigmoid": lambda t: 1 / (1 + mp.exp(-t)),
    "relu": lambda t: max(t, mp.mpf(0)),
    "gelu": lambda t: t * mp.ncdf(t),
    "identity": lambda t: t,
    "step": lambda t: mp.mpf(t > 0),
}
SMOOTH = ["tanh", "sigmoid", "gelu", "identity"]
POINTS = [
    -1e4,
    -700.5,
    -40.0,
    -9.25,
    -3.0,
    -1.4142,
    -0.75,
    -0.1,
    -1e-5,
    1e-5,
    0.3,
    1.0,
    1.4142,
    2.5,
    8.0,
    30.0,
    800.0,
    1e4,
]
EVERY = pytest.mark.parametrize("name", list(ops.ACTIVATIONS))
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
# The tolerance of 4 eps of the dtype allows for a few roundings. For values below 1, the tolerance is absolute, because
# 1 - tanh^2 cancels.
SLACK = {np.float32: 4 * 2.0**-23, np.float64: 4 * 2.0**-52}


def test_every_activation_has_a_50_digit_judge():
    assert list(PHI_MP) == list(ops.ACTIVATIONS)
    assert all(a.name == name for name, a in ops.ACTIVATIONS.items())


@EVERY
@DTYPES
def test_phi_equals_50_digits(name, dtype):
    z = np.array(POINTS, dtype)
    want = np.array([float(PHI_MP[name](mp.mpf(float(t)))) for t in z])
    got = ops.ACTIVATIONS[name].phi(z)
    assert got.dtype == dtype
    np.testing.assert_allclose(got, want, rtol=SLACK[dtype], atol=SLACK[dtype])


@EVERY
@DTYPES
def test_dphi_equals_50_digits(name, dtype):
    z = np.array(POINTS, dtype)
    want = np.array([float(mp.diff(PHI_MP[name], mp.mpf(float(t)))) for t in z])
    got = ops.ACTIVATIONS[name].dphi(z)
    assert got.dtype == dtype
    # gelu' adds two rounded terms that may have opposite signs. The error of exp(-t^2/2) is t^2/2 roundings.
    np.testing.assert_allclose(got, want, rtol=4 * SLACK[dtype], atol=4 * SLACK[dtype])


@pytest.mark.parametrize("name", SMOOTH)
def test_dphi_is_the_derivative_of_phi(name):
    phi = ops.ACTIVATIONS[name]
    z = np.linspace(-6, 6, 41)
    derivative = central_difference(lambda s: phi.phi(z + s))
    # phi is up to 6, so the quotient has the rounding error 6e-16 / 1e-5
    np.testing.assert_allclose(phi.dphi(z), derivative, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["relu", "step"])
def test_a_kink_takes_the_derivative_from_the_left(name):
    assert ops.ACTIVATIONS[name].dphi(np.array([0.0])).tolist() == [0.0]


@EVERY
@DTYPES
def test_no_finite_input_warns_or_gives_nan(name, dtype):
    largest = np.finfo(dtype).max
    z = np.array([-largest, -1e30, -1e4, -1.0, 0.0, 1.0, 1e4, 1e30, largest], dtype)
    for value in (ops.ACTIVATIONS[name].phi(z), ops.ACTIVATIONS[name].dphi(z)):
        assert np.isfinite(value).all()


@EVERY
def test_gamma_bounds_every_derivative_and_is_attained(name):
    """gamma is the largest derivative of each activation, on a grid with spacing 1e-4.

    The derivative of dphi is below 1, so the maximum over the grid is at most 1e-4 / 2 too small, and 1e-8 at a smooth
    extremum.
    """
    activation = ops.ACTIVATIONS[name]
    derivative = np.abs(activation.dphi(np.linspace(-50, 50, 1_000_001)))
    assert derivative.min() >= activation.gamma_min - 1e-15
    assert derivative.max() <= activation.gamma_max + 1e-15
    assert derivative.max() == pytest.approx(activation.gamma_max, abs=1e-8)
    assert derivative.min() == pytest.approx(activation.gamma_min, abs=1e-4)


def test_gamma_of_gelu_is_its_derivative_at_root_two():
    assert ops.gelu.gamma_max == pytest.approx(float(mp.diff(PHI_MP["gelu"], mp.sqrt(2))), rel=1e-14)


# --- softmax and cross-entropy -------------------------------------------------------------------------------


@pytest.mark.verifies("lee2020:softmax")
def test_softmax_of_the_hand_example():
    got = ops.softmax(np.array([[1.0, -2.0, 0.5]]))[0]
    np.testing.assert_allclose(got, [0.60374889614863, 0.030058887569574, 0.3661922162818], rtol=1e-13)


@pytest.mark.verifies("lee2020:softmax")
@DTYPES
def test_softmax_equals_50_digits(dtype):
    z = np.random.default_rng(0).normal(0, 5, (6, 4)).astype(dtype)
    got = ops.softmax(z)
    assert got.dtype == dtype
    for row, y_hat in zip(z, got, strict=True):
        terms = [mp.exp(mp.mpf(float(t))) for t in row]
        # exp turns the rounding error of z - max, up to 30 eps, into a relative error
        np.testing.assert_allclose(y_hat, [float(t / mp.fsum(terms)) for t in terms], rtol=8 * SLACK[dtype])


@pytest.mark.verifies("lee2020:softmax")
def test_softmax_does_not_see_a_shift():
    z = np.random.default_rng(1).normal(size=(5, 7))
    for shift in (-1024.0, 1024.0):  # the shifts are powers of two, so the rounding error of z + shift is at most 1e-13
        np.testing.assert_allclose(ops.softmax(z + shift), ops.softmax(z), rtol=1e-12)


@pytest.mark.verifies("lee2020:softmax")
@DTYPES
def test_softmax_rows_sum_to_one_even_for_huge_z(dtype):
    z = np.array([[1e4, -1e4, 0], [1e30, 1e30, -1e30], [-1e30, -1e30, -1e30], [0, 0, 0]], dtype)
    y_hat = ops.softmax(z)
    np.testing.assert_allclose(y_hat.sum(axis=1), 1, rtol=SLACK[dtype])
    np.testing.assert_allclose(y_hat, [[1, 0, 0], [0.5, 0.5, 0], [1 / 3] * 3, [1 / 3] * 3], rtol=SLACK[dtype])


@pytest.mark.verifies("lee2020:ce")
def test_cross_entropy_of_the_hand_example():
    got = ops.cross_entropy(np.array([[1.0, -2.0, 0.5]]), np.eye(3)[[1]])
    assert got[0] == pytest.approx(3.5045969023423, rel=1e-13)


@pytest.mark.verifies("lee2020:ce")
@DTYPES
def test_cross_entropy_equals_50_digits(dtype):
    rng = np.random.default_rng(2)
    z = rng.normal(0, 4, (6, 4)).astype(dtype)
    y = rng.dirichlet(np.ones(4), 6).astype(dtype)
    got = ops.cross_entropy(z, y)
    assert got.dtype == dtype
    for i in range(len(z)):
        total = mp.fsum(mp.exp(mp.mpf(float(t))) for t in z[i])
        want = mp.fsum(
            -mp.mpf(float(t)) * mp.log(mp.exp(mp.mpf(float(s))) / total) for s, t in zip(z[i], y[i], strict=True)
        )
        np.testing.assert_allclose(got[i], float(want), rtol=8 * SLACK[dtype])


@pytest.mark.verifies("lee2020:ce")
@DTYPES
def test_cross_entropy_stays_finite_for_huge_z(dtype):
    z = np.array([[1e4, -1e4], [1e30, -1e30]], dtype)
    np.testing.assert_allclose(ops.cross_entropy(z, np.array([[0, 1], [1, 0]], dtype)), [2e4, 0], rtol=SLACK[dtype])


@pytest.mark.peers
@pytest.mark.verifies("lee2020:ce")
def test_cross_entropy_equals_torch(torch):
    rng = np.random.default_rng(3)
    z, y = rng.normal(0, 10, (50, 10)), np.eye(10)[rng.integers(0, 10, 50)]
    want = torch.nn.functional.cross_entropy(torch.as_tensor(z), torch.as_tensor(y.argmax(1)), reduction="none")
    np.testing.assert_allclose(ops.cross_entropy(z, y), want.numpy(), rtol=1e-12, atol=1e-14)


# --- the error e ---------------------------------------------------------------------------------------------


def _targets(rng, loss, m, K):
    return np.eye(K)[rng.integers(0, K, m)] if loss is ops.softmax_cross_entropy else rng.normal(size=(m, K))


@pytest.mark.verifies("lee2020:e")
@pytest.mark.parametrize("loss", ops.LOSSES.values(), ids=list(ops.LOSSES))
def test_the_error_is_the_derivative_of_the_loss(loss):
    rng = np.random.default_rng(4)
    z, v = rng.normal(size=(2, 20, 5))
    y = _targets(rng, loss, 20, 5)
    derivative = central_difference(lambda s: loss.value(z + s * v, y))
    np.testing.assert_allclose((loss.error(z, y) * v).sum(axis=1), derivative, rtol=1e-6, atol=1e-9)


@pytest.mark.verifies("lee2020:e")
def test_the_error_of_cross_entropy_sums_to_zero_and_is_at_most_root_two():
    rng = np.random.default_rng(5)
    z = rng.normal(0, 30, (1000, 4))
    e = ops.cross_entropy_error(z, np.eye(4)[rng.integers(0, 4, 1000)])
    norms = np.linalg.norm(e, axis=1)
    np.testing.assert_allclose(e.sum(axis=1), 0, atol=1e-15)
    assert norms.max() <= np.sqrt(2)
    assert norms.max() > 1.414  # the norm is near its bound if a wrong class has a probability near 1


@pytest.mark.verifies("lee2020:e")
def test_the_error_of_the_hand_example():
    e = ops.cross_entropy_error(np.array([[1.0, -2.0, 0.5]]), np.eye(3)[[0]])
    assert np.linalg.norm(e) == pytest.approx(0.5403843199897, rel=1e-12)


def test_half_the_squared_distance_by_hand():
    z, y = np.array([[3.0, 1.0]]), np.array([[0.0, 5.0]])  # loss (3^2 + 4^2) / 2
    assert ops.half_squared_error(z, y).tolist() == [12.5]
    assert ops.residual(z, y).tolist() == [[3.0, -4.0]]
    assert ops.squared_error.output(z) is z


@DTYPES
@pytest.mark.parametrize("loss", ops.LOSSES.values(), ids=list(ops.LOSSES))
def test_losses_keep_the_dtype(loss, dtype):
    z, y = np.ones((2, 3), dtype), np.eye(3, dtype=dtype)[:2]
    assert {a.dtype for a in (loss.output(z), loss.value(z, y), loss.error(z, y))} == {np.dtype(dtype)}


@pytest.mark.parametrize("loss", ops.LOSSES.values(), ids=list(ops.LOSSES))
def test_losses_take_an_empty_batch(loss):
    z = np.empty((0, 3))
    assert [a.shape for a in (loss.output(z), loss.value(z, z), loss.error(z, z))] == [(0, 3), (0,), (0, 3)]
