"""Tests of ULR: its estimate (proxy) compared with quadrature and full passes, its moments, its cost and its limits."""

import functools
import inspect
import math
import tracemalloc

import numpy as np
import pytest
from scipy import stats

from nfa import ops
from nfa.mechanism import NoGuarantee
from nfa.network import Net, forward, mlp
from nfa.network.dense import Dense
from nfa.network.pooling import AvgPool, MaxPool
from nfa.papers.dpulr2024.variances import proxy_covariance
from nfa.rules.bp import bp
from nfa.rules.dp_ulr import dp_ulr
from nfa.rules.dp_ulr_sound import dp_ulr_sound
from nfa.rules.ulr import mechanism, proxy, ulr
from tests.oracles.core import PHI, assert_close, assert_same_direction, batch, pooled_cnn, residual_cnn
from tests.oracles.ulr import (
    Given,
    draws,
    estimates,
    hermite,
    linear,
    loss_of,
    loss_with_noise,
    moments,
    one_layer,
    proxy_by_records,
)

rng = np.random.default_rng
FALSE_ALARM = 1e-6  # probability that a statistical test below fails on correct code with another seed

NETS = {
    "dense": lambda: mlp([4, 5, 3, 3], ops.tanh, rng=rng(0)),
    "step": lambda: mlp([4, 5, 3], ops.step, rng=rng(0)),
    "squared error": lambda: mlp([4, 5, 3], ops.gelu, rng=rng(0), loss=ops.squared_error),
    "one layer": lambda: mlp([5, 3], ops.tanh, rng=rng(0)),
    "skips": lambda: mlp([4, 4, 4, 4, 3], ops.sigmoid, rng=rng(0), skip={2: 0, 3: 1, 4: 1}),
    "max pooling": functools.partial(pooled_cnn, MaxPool),
    "average pooling": functools.partial(pooled_cnn, AvgPool),
    "residual": functools.partial(residual_cnn, "same"),
}
EVERY = pytest.mark.parametrize("make", NETS.values(), ids=list(NETS))
WAYS = [{}, {"baseline": True}, {"antithetic": True}]


def proxy_at(net, l, x, y, nodes, sigma, **how):
    """The proxy (estimate of dz) of one record at every node, (nodes, n_l).

    A node is one noise vector or one antithetic pair.
    """
    m = len(nodes)
    xs, ys = np.repeat(x, m, axis=0), np.repeat(y, m, axis=0)
    z, h = forward(net, xs)
    K = 2 if how.get("antithetic") else 1
    return proxy(net, l, z, h, ys, sigma=sigma, K=K, chunk=1 << 30, rng=Given(nodes[None]), **how)


def digits(got, want, decimals):
    """Assert that values agree in every decimal that the ledger prints."""
    np.testing.assert_allclose(got, want, rtol=0, atol=0.51 * 10.0**-decimals)


# --- given noise ----------------------------------------------------------------------------------------------


@pytest.mark.verifies("dpulr2024:eq4", "dpulr2024:alg1.L203", "dpulr2024:alg1.L204")
def test_three_draws_by_hand():
    """The proxy gives the values of the ledger's vector TV13: three noises, three losses, one input.

    The vector has the weights' gradient, its norm, and its first row after a clip to 1.
    """
    zeta = np.array([[0.1, -0.2], [0.3, 0.05], [-0.15, 0.25]])
    losses = iter([(1.2, 0.7, 1.9)])
    net = linear(3, 2, loss_of(lambda z, y: np.array(next(losses))))
    x, y = np.array([[2.0, -1.0, 0.5]]), np.zeros((1, 2))
    dW, db = ulr(net, x, y, sigma=0.2, K=3, rng=Given(zeta[:, None] / 0.2))
    assert_close(db[1], np.array([0.375, 2.25]))
    assert_close(dW[1], np.array([[0.75, -0.375, 0.1875], [4.5, -2.25, 1.125]]))
    digits(math.sqrt(net.map[1].norms2(db[1][None], x)[0][0]), 5.226509949287383, 14)
    want = [0.14349920066683, -0.07174960033342, 0.03587480016671]
    digits(dW[1][0] / 5.226509949287383, want, 13)


@pytest.mark.verifies("dpulr2024:eq4", "dpulr2024:alg1.L200-202", "dpulr2024:alg1.L203", "dpulr2024:alg1.L204")
@EVERY
@pytest.mark.parametrize("how", WAYS, ids=["raw", "baseline", "antithetic"])
def test_a_suffix_gives_the_losses_of_full_passes(make, how):
    """In every layer, the proxy equals a loop over repeats and records with full passes, to 1e-12."""
    net = make()
    x, y = batch(net, 2)
    z, h = forward(net, x)
    for l in range(1, net.L + 1):
        u = rng(l).standard_normal((2, *z[l].shape))
        K = 4 if how.get("antithetic") else 2
        got = proxy(net, l, z, h, y, sigma=0.3, K=K, rng=Given(u), **how)
        assert_close(got, proxy_by_records(net, l, x, y, u, 0.3, **how), 1e-12)


@pytest.mark.verifies("dpulr2024:eq4")
@EVERY
def test_the_direction_is_the_average_of_the_records_estimates(make):
    net = make()
    x, y = batch(net, 3)
    u = draws(net, 2, 3)
    found = estimates(net, x, y, u, [0.4] * (net.L + 1))
    for m in (None, 7):
        want = tuple(
            [None] + [sum(f[part][l] for f in found) / (m or 3) for l in range(1, net.L + 1)] for part in (0, 1)
        )
        assert_same_direction(ulr(net, x, y, sigma=0.4, K=2, m=m, rng=Given(*u[:0:-1])), want)


@pytest.mark.parametrize("how", WAYS, ids=["raw", "baseline", "antithetic"])
@pytest.mark.parametrize("make", [NETS["dense"], NETS["residual"]])
def test_the_chunk_changes_nothing(make, how):
    """The results do not depend on the number of repeats in a chunk.

    The second half of an antithetic pair uses the noise of the first half.
    """
    net = make()
    x, y = batch(net, 3)
    want = ulr(net, x, y, sigma=0.3, K=12, rng=rng(1), **how)
    for chunk in (1, 60, 10_000):
        assert_same_direction(ulr(net, x, y, sigma=0.3, K=12, chunk=chunk, rng=rng(1), **how), want)


def test_a_std_for_each_example():
    """An (m, 1) array of stds gives each record its own std, with the same result as one record at a time."""
    net = NETS["dense"]()
    x, y = batch(net, 3)
    z, h = forward(net, x)
    u = rng(0).standard_normal((4, *z[2].shape))
    got = proxy(net, 2, z, h, y, sigma=np.array([[0.1], [0.5], [2.0]]), K=4, rng=Given(u))
    for i, sigma in enumerate((0.1, 0.5, 2.0)):
        one = [None if v is None else v[i : i + 1] for v in z], [v[i : i + 1] for v in h]
        assert_close(got[i : i + 1], proxy(net, 2, *one, y[i : i + 1], sigma=sigma, K=4, rng=Given(u[:, i : i + 1])))


def test_float32_stays_float32():
    net = mlp([4, 5, 3], ops.tanh, rng=rng(0), dtype=np.float32)
    x, y = (a.astype(np.float32) for a in batch(net, 3))
    dW, db = ulr(net, x, y, sigma=0.3, K=4, m=np.float64(3), baseline=True, rng=rng(1))
    assert {a.dtype for a in (*dW[1:], *db[1:])} == {np.dtype(np.float32)}


def test_nothing_given_is_changed():
    net = NETS["residual"]()
    given = (*batch(net, 3), *net.W[1:], *net.b[1:])
    kept = [a.copy() for a in given]
    ulr(net, *given[:2], sigma=0.3, K=4, rng=rng(1))
    assert all(np.array_equal(a, b) for a, b in zip(given, kept, strict=True))


# --- the mean -------------------------------------------------------------------------------------------------


def tv9():
    """A network with two inputs, two tanh units and three classes, and one record."""
    net = mlp([2, 2, 3], ops.tanh, rng=rng(0))
    net.W[1][:], net.W[2][:] = [[0.3, -0.6], [0.8, 0.1]], [[1, -0.5], [0.2, 0.7], [-0.9, 0.4]]
    net.b[1][:], net.b[2][:] = 0, 0
    return net, np.array([[1.0, -2.0]]), np.eye(3)[[1]]


def three_logits():
    """TV21: one layer whose logits are (0.5, -0.2, 0.1), and the label 0."""
    return one_layer([0.5, -0.2, 0.1], ops.softmax_cross_entropy), np.zeros((1, 1)), np.eye(3)[[0]]


@pytest.mark.verifies("dpulr2024:eq4", "dpulr2024:thm3", "dpulr2024:eq21")
def test_the_mean_and_the_covariance_of_a_small_net():
    """The mean and the covariance for a small network are those of the ledger's vector TV9.

    TV9 has the exact mean of the estimate, the gradient (which differs from this mean), and the covariance of one
    repeat.
    """
    net, x, y = tv9()
    nodes, weights = hermite(60, 2)
    mean, cov = moments(proxy_at(net, 1, x, y, nodes, 0.5), weights)
    want = [[0.041297518863, -0.082595037726], [-0.419549977243, 0.839099954486]]
    digits(np.outer(mean, x), want, 12)
    digits(cov, [[3.608900007575, -0.106989697285], [-0.106989697285, 4.660707858506]], 12)
    true = [[0.03922445161763, -0.07844890323526], [-0.41370931860585, 0.8274186372117]]
    digits(bp(net, x, y)[0][1], true, 13)
    digits(net.loss.value(forward(net, x)[0][2], y), 0.8743913825255089, 14)


@pytest.mark.verifies("dpulr2024:eq4", "dpulr2024:thm3", "dpulr2024:eq14", "dpulr2024:eq15")
@pytest.mark.parametrize("phi", [ops.tanh, ops.relu, ops.step], ids=lambda phi: phi.name)
def test_the_mean_is_the_derivative_of_the_smoothed_loss(phi):
    """The rule's mean is the derivative of the smoothed loss E L(v + zeta), to 1e-7.

    We compare an integral over xi = v + zeta, its central differences, and the rule's mean. We apply Gauss-Legendre
    quadrature on both sides of 0 separately, because the kinks and jumps are at 0.
    """
    net = mlp([2, 2, 3], phi, rng=rng(3))
    x, y = batch(net, 1)
    v, sigma = forward(net, x)[0][1][0], 0.5
    nodes, weights = np.polynomial.legendre.leggauss(60)
    axis, width = np.concatenate([2.5 * nodes - 2.5, 2.5 * nodes + 2.5]), np.tile(2.5 * weights, 2)
    xi = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    area = np.outer(width, width).ravel()
    hidden = np.array([PHI[phi.name][0](t) for t in axis])
    hidden = np.stack(np.meshgrid(hidden, hidden, indexing="ij"), axis=-1).reshape(-1, 2)
    logits = hidden @ net.W[2].T + net.b[2]
    losses = np.log(np.exp(logits).sum(axis=1)) - logits[:, y[0].argmax()]

    def density(at):
        return area * np.exp(-(((xi - at) / sigma) ** 2).sum(axis=1) / 2) / (2 * math.pi * sigma**2)

    assert density(v).sum() == pytest.approx(1, abs=1e-9)
    mean = density(v) @ proxy_at(net, 1, x, y, (xi - v) / sigma, sigma)
    for k, e in enumerate(np.eye(2)):
        difference = (density(v + 1e-4 * e) @ losses - density(v - 1e-4 * e) @ losses) / 2e-4
        assert mean[k] == pytest.approx(difference, abs=1e-7)


@pytest.mark.verifies("dpulr2024:eq4", "dpulr2024:thm3", "dpulr2024:prop2")
@pytest.mark.parametrize("how", WAYS, ids=["raw", "baseline", "antithetic"])
def test_baseline_and_antithetic_pairs_keep_the_mean(how):
    """With a baseline or antithetic pairs, the mean is the same, and the trace of the covariance is that of TV21 (E13).

    The network has three logits.
    """
    net, x, y = three_logits()
    digits(net.loss.value(forward(net, x)[0][1], y), 0.773300043625, 12)
    nodes, weights = hermite(30, 3)
    mean, cov = moments(proxy_at(net, 1, x, y, nodes, 0.5, **how), weights)
    digits(mean, [-0.548604378855, 0.236015934287, 0.312588444568], 11)
    trace = {(): 11.6940446207, ("baseline",): 2.16691621932, ("antithetic",): 1.85004786146}[tuple(how)]
    digits(np.trace(cov), trace, 10)


@pytest.mark.parametrize(
    "sigma, raw, baseline, antithetic",
    [(0.05, 721.82, 1.758, 1.754), (0.1, 183.63, 1.772, 1.757), (0.5, 11.694, 2.167, 1.850), (1, 6.861, 2.975, 2.038)],
)
def test_how_much_variance_the_options_take_away(sigma, raw, baseline, antithetic):
    """A baseline or antithetic pairs remove the term loss^2 / sigma^2 from the variance (the ledger's E13).

    The paper's guarantee from internal noise depends on this term.
    """
    net, x, y = three_logits()
    nodes, weights = hermite(30, 3)
    traces = [np.trace(moments(proxy_at(net, 1, x, y, nodes, sigma, **how), weights)[1]) for how in WAYS]
    digits(traces[0], raw, 2 if raw > 100 else 3)
    digits(traces[1:], [baseline, antithetic], 3)
    if sigma == 0.1:  # we halve the raw variance, because an antithetic pair needs two losses
        assert traces[0] / 2 / traces[2] == pytest.approx(52, abs=0.5)
        assert traces[0] / traces[1] == pytest.approx(104, abs=0.5)
    limit = 4 * float(np.square(ops.cross_entropy_error(np.array([[0.5, -0.2, 0.1]]), y)).sum())
    digits(limit, 1.7528, 4)


@pytest.mark.verifies("dpulr2024:prop2", "dpulr2024:eq19")
def test_the_bias_falls_as_the_square_of_sigma():
    """Prop. 2: the mean converges to the gradient, and the bias falls as the square of sigma.

    In a log-log plot, the bias has slope 2 (to 1 %) for small sigma. For the three logits of TV21, the bias has the
    ledger's value.
    """
    net, x, y = tv9()
    nodes, weights = hermite(40, 2)
    gradient = bp(net, x, y)[1][1]
    bias = [
        np.linalg.norm(weights @ proxy_at(net, 1, x, y, nodes, s, baseline=True) - gradient) for s in (0.01, 0.02, 0.04)
    ]
    slopes = np.diff(np.log(bias)) / math.log(2)
    np.testing.assert_allclose(slopes, 2, atol=0.02)
    net, x, y = three_logits()
    nodes, weights = hermite(30, 3)
    for sigma, want in ((0.05, 1.44e-4), (0.1, 5.72e-4), (0.2, 2.25e-3), (0.5, 1.26e-2)):
        off = weights @ proxy_at(net, 1, x, y, nodes, sigma, baseline=True) - bp(net, x, y)[1][1]
        assert np.linalg.norm(off) == pytest.approx(want, rel=4e-3)


@pytest.mark.verifies("dpulr2024:prop2")
@pytest.mark.parametrize("sigma, mean", [(0.1, 3.989), (0.01, 39.89)])
def test_at_a_jump_the_mean_diverges(sigma, mean):
    """A counterexample to Prop. 2: for the loss 1{v + zeta > 0} at v = 0, the mean phi(0) / sigma diverges."""
    net = one_layer([0.0], loss_of(lambda z, y: (z[:, 0] > 0).astype(float)))
    nodes = (np.arange(-400_000, 400_000) + 0.5)[:, None] / 40_000
    weights = stats.norm.pdf(nodes[:, 0])
    got = weights @ proxy_at(net, 1, np.zeros((1, 1)), np.zeros((1, 1)), nodes, sigma) / weights.sum()
    digits(got, mean, 3 if sigma == 0.1 else 2)
    assert got[0] == pytest.approx(1 / math.sqrt(2 * math.pi) / sigma, rel=1e-8)


# --- the covariance -------------------------------------------------------------------------------------------

QUADRATIC = 1.3, np.array([0.7, -0.4]), np.array([[0.9, 0.2], [0.2, -0.5]])


def quadratic(l_0, g, H):
    """A loss that equals its Taylor polynomial around 0."""
    return loss_of(lambda z, y: l_0 + z @ g + np.einsum("ij,jk,ik->i", z, H, z) / 2)


@pytest.mark.verifies(
    "dpulr2024:eq17", "dpulr2024:eq20", "dpulr2024:eq21", "dpulr2024:eq22", "dpulr2024:eq24", "dpulr2024:eq19"
)
@pytest.mark.parametrize(
    "sigma, want, decimals",
    [
        (0.1, [[173.0267, 0.2424], [0.2424, 169.0399]], 4),
        (0.3, [[23.0180777777778, 0.2616], [0.2616, 18.8968777777778]], 13),
        (1.0, [[8.36, 0.48], [0.48, 2.71]], 12),
    ],
)
def test_the_covariance_of_a_quadratic_loss(sigma, want, decimals):
    """For a quadratic loss, quadrature gives the covariance of the corrected Equation 22, as in vector TV11.

    Quadrature also gives the error of the printed Equation 23.
    """
    l_0, g, H = QUADRATIC
    net = one_layer([0.0, 0.0], quadratic(l_0, g, H))
    nodes, weights = hermite(8, 2)
    mean, cov = moments(proxy_at(net, 1, np.zeros((1, 1)), np.zeros((1, 2)), nodes, sigma), weights)
    assert_close(mean, g)  # exact for quadratic losses, for every sigma
    digits(cov, want, decimals)
    assert_close(proxy_covariance(loss=l_0, g=g, H=H, sigma=sigma), cov)
    if sigma == 0.3:  # Equation 23 has l_0 in place of l_0^2, and the last term is missing
        printed = proxy_covariance(loss=l_0, g=g, H=H, sigma=sigma) - (l_0**2 - l_0) / sigma**2 * np.eye(2)
        last = sigma**2 * (((0.4**2 + 2 * np.trace(H @ H)) / 4) * np.eye(2) + 0.4 * H + 2 * H @ H)
        assert np.abs(printed - last - cov).max() > 4
        assert np.abs((l_0**2 - l_0) / sigma**2) == pytest.approx(4.3333, abs=1e-4)


@pytest.mark.verifies("dpulr2024:prop3", "dpulr2024:eq24")
def test_prop_3_is_the_leading_term():
    """Prop. 3 is the leading term of the covariance.

    The covariance divided by loss^2 / sigma^2 J^T J tends to 1, from above or from below, with an error like sigma^2.
    """
    net, x, y = tv9()
    nodes, weights = hermite(30, 2)
    l_0 = net.loss.value(forward(net, x)[0][2], y)[0]
    off = [
        np.abs(s**2 / l_0**2 * moments(proxy_at(net, 1, x, y, nodes, s), weights)[1] - np.eye(2)).max()
        for s in (0.01, 0.1)
    ]
    assert off[0] < 5e-4
    assert off[1] / off[0] == pytest.approx(100, rel=0.05)


@pytest.mark.verifies("dpulr2024:prop3", "dpulr2024:eq8")
@pytest.mark.parametrize("sigma, want", [(0.5, 2.17732421580727), (1.0, 0.192450089729875)])
def test_a_bump_has_less_variance_than_the_leading_term(sigma, want):
    """For the loss exp(-z^2 / 2), the variance is 0.544 and 0.192 times the leading term (TV20, E8)."""
    net = one_layer([0.0], loss_of(lambda z, y: np.exp(-(z[:, 0] ** 2) / 2)))
    nodes, weights = hermite(120, 1)
    _, cov = moments(proxy_at(net, 1, np.zeros((1, 1)), np.zeros((1, 1)), nodes, sigma), weights)
    assert cov[0, 0] == pytest.approx(want, rel=1e-12)
    assert cov[0, 0] * sigma**2 < 0.55


@pytest.mark.verifies("dpulr2024:prop3", "dpulr2024:eq8")
def test_a_convex_loss_has_more_variance_than_the_leading_term():
    """For cross-entropy, the smallest eigenvalue is 1.004 to 9.26 times that of the leading term (E8)."""
    net, x, y = three_logits()
    nodes, weights = hermite(40, 3)
    loss = net.loss.value(forward(net, x)[0][1], y)[0]
    for sigma, want in ((0.05, 1.0039), (0.2, 1.0629), (0.5, 1.409), (1, 2.793), (2, 9.256)):
        cov = moments(proxy_at(net, 1, x, y, nodes, sigma), weights)[1]
        assert np.linalg.eigvalsh(cov)[0] * sigma**2 / loss**2 == pytest.approx(want, rel=3e-4)


@pytest.mark.verifies("dpulr2024:eq26", "dpulr2024:clt", "dpulr2024:alg1.L204")
@pytest.mark.parametrize("how", WAYS, ids=["raw", "baseline", "antithetic"])
@pytest.mark.parametrize("K", [2, 6])
def test_the_mean_of_k_draws_by_monte_carlo(K, how):
    """For 40,000 records, the proxies have the exact mean, and the exact covariance divided by K (or by K / 2).

    If a value is wrong by 10.2 standard errors, the test misses this with probability 1e-6.
    """
    l_0, g, H = QUADRATIC
    net = one_layer([0.0, 0.0], quadratic(l_0, g, H))
    n, sigma = 40_000, 0.5
    z, h = forward(net, np.zeros((n, 1)))
    got = proxy(net, 1, z, h, np.zeros((n, 2)), sigma=sigma, K=K, rng=rng(0), **how)
    if how.get("antithetic"):  # all terms are odd: g zeta
        cov = (np.outer(g, g) + g @ g * np.eye(2)) / (K / 2)
    else:
        cov = proxy_covariance(loss=0 if how else l_0, g=g, H=H, sigma=sigma) / K
    z_largest = stats.norm.isf(FALSE_ALARM / 10)  # five two-sided tests
    assert np.abs((got.mean(axis=0) - g) / np.sqrt(np.diag(cov) / n)).max() < z_largest
    products = np.einsum("mi,mj->mij", got - g, got - g)
    off = (products.mean(axis=0) - cov) / (products.std(axis=0) / math.sqrt(n))
    assert np.abs(off[np.triu_indices(2)]).max() < z_largest


@pytest.mark.verifies("dpulr2024:clt")
def test_the_mean_of_draws_is_not_gaussian():
    """The estimate is not Gaussian: L = 1 + zeta and sigma = 1 give skewness 2.694 and excess kurtosis 10.667.

    The mean is 1, the variance is 3, and no value is below -1/4.
    """
    net = one_layer([0.0], loss_of(lambda z, y: 1 + z[:, 0]))
    nodes, weights = hermite(12, 1)
    v = proxy_at(net, 1, np.zeros((1, 1)), np.zeros((1, 1)), nodes, 1.0)[:, 0]
    mean = weights @ v
    moment = [weights @ (v - mean) ** k for k in (2, 3, 4)]
    assert v.min() >= -0.25
    digits([mean, moment[0], moment[1] / moment[0] ** 1.5, moment[2] / moment[0] ** 2 - 3], [1, 3, 2.694, 10.667], 3)


# --- cost -----------------------------------------------------------------------------------------------------


class Counting:
    """A layer's map that counts the multiplications of its passes."""

    def __init__(self, map_):
        self.map, self.count = map_, 0

    def affine(self, W, b, h):
        """W h + b."""
        self.count += len(h) * W.size
        return self.map.affine(W, b, h)

    def __getattr__(self, name):
        return getattr(self.map, name)


@pytest.mark.verifies("dpulr2024:efficiency", "dpulr2024:exp-mlp", "dpulr2024:alg1.L200-202")
def test_only_the_suffix_is_run_again():
    """A repeat computes only the layers above the noise. Its number of multiplications is that of TV23.

    The network is 784-128-64-32-10. The test counts the multiplications during the run.
    """
    net = mlp([784, 128, 64, 32, 10], ops.gelu, rng=rng(0))
    assert net.n_parameters == 111_146
    net.map = [None, *map(Counting, net.map[1:])]
    x, y = batch(net, 1)
    z, h = forward(net, x)

    def counted():
        total = sum(m.count for m in net.map[1:])
        for m in net.map[1:]:
            m.count = 0
        return total

    assert counted() == 110_912
    suffix = []
    for l in range(1, 5):
        proxy(net, l, z, h, y, sigma=0.1, K=3, baseline=True, rng=rng(0))
        suffix.append(counted() / 3)
    assert suffix == [10_560, 2_368, 320, 0]


def sound(net, x, y, **settings):
    return dp_ulr_sound(net, x, y, sigma=0.1, sigma_0=1.0, C=1.0, m=6, **settings)


def printed(net, x, y, **settings):
    return dp_ulr(net, x, y, sigma_0=4.0, C=1.0, N_B=6, remedy="eigenvectors", sigma=0.1, **settings)


@pytest.mark.parametrize("rule", [functools.partial(ulr, sigma=0.1), sound, printed], ids=["ulr", "sound", "printed"])
def test_memory_is_bounded_by_the_chunk(rule):
    """The chunk limits the memory: K = 20,000 repeats of 6 records on 300-40-3 take less than 4 MB.

    Storing z L for every repeat would take 38 MB, and storing the outer products 11.5 GB.
    """
    net = mlp([300, 40, 3], ops.step, rng=rng(0))
    x, y = batch(net, 6)
    tracemalloc.start()
    rule(net, x, y, K=20_000, chunk=1 << 15, rng=rng(0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4e6


# --- learning -------------------------------------------------------------------------------------------------


@pytest.mark.verifies("dpulr2024:eq4", "dpulr2024:prop2")
def test_a_net_of_step_activations_learns():
    """ULR with a fixed sigma trains a network of step activations, in which BP gives layer 1 the gradient 0.

    The task is exclusive or, with eight step units. In 40 steps, the loss falls below a tenth of its first value. In
    the worst of 200 runs, the loss falls to 5.7 % of its first value.
    """
    x = np.array([[-1.0, -1], [-1, 1], [1, -1], [1, 1]])
    y = np.eye(2)[[0, 1, 1, 0]]
    for seed in range(5):
        net = mlp([2, 8, 2], ops.step, rng=rng(seed))
        assert not bp(net, x, y)[0][1].any()
        first = loss_with_noise(net, 1, x, y, 0).mean()
        r = rng(100 + seed)
        for _ in range(40):
            dW, db = ulr(net, x, y, sigma=0.5, K=40, baseline=True, rng=r)
            assert dW[1].any()
            for l in (1, 2):
                net.W[l] -= 2.0 * dW[l]
                net.b[l] -= 2.0 * db[l]
        assert loss_with_noise(net, 1, x, y, 0).mean() < first / 10


# --- refusals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change, says",
    [
        ({"K": 0}, "the number K of losses must be a whole number >= 1, got K=0"),
        ({"K": 2.5}, "the number K of losses must be a whole number >= 1, got K=2.5"),
        ({"K": math.nan}, "the number K of losses must be a whole number >= 1, got K=nan"),
        ({"K": 3, "antithetic": True}, "the number K of losses must be even for antithetic pairs, got K=3"),
        ({"sigma": 0.0}, "sigma must be positive and finite, got 0.0"),
        ({"sigma": -1.0}, "sigma must be positive and finite, got -1.0"),
        ({"sigma": math.nan}, "sigma must be positive and finite, got nan"),
        ({"sigma": math.inf}, "sigma must be positive and finite, got inf"),
        ({"chunk": 0}, "chunk must be at least 1, got 0"),
        ({"m": 0}, "the normaliser m of ulr must be positive, got m=0. Give m if a batch can be empty"),
    ],
)
def test_bad_input_is_one_sentence(change, says):
    net = NETS["dense"]()
    with pytest.raises(ValueError) as error:
        ulr(net, *batch(net, 2), **{"sigma": 0.1, "K": 2, "rng": rng(0), **change})
    assert str(error.value) == says


@EVERY
def test_an_empty_batch_has_the_direction_zero(make):
    net = make()
    x, y = batch(net, 2)
    dW, db = ulr(net, x[:0], y[:0], sigma=0.1, K=2, m=5, rng=rng(0))
    assert not any(a.any() for a in (*dW[1:], *db[1:]))
    with pytest.raises(ValueError, match="Give m if a batch can be empty"):
        ulr(net, x[:0], y[:0], sigma=0.1, K=2, rng=rng(0))


def test_ulr_has_no_guarantee():
    with pytest.raises(NoGuarantee, match=r"\[dpulr2024:eq4\]"):
        mechanism(sigma=0.1)


def test_zero_loss_gives_zero():
    """If every loss is 0, the direction is 0 and has no NaN."""
    net = linear(2, 2, loss_of(lambda z, y: 0 * z[:, 0]))
    dW, db = ulr(net, np.ones((3, 2)), np.zeros((3, 2)), sigma=0.1, K=4, rng=rng(0))
    assert not dW[1].any()
    assert not db[1].any()


def test_the_activation_needs_no_derivative():
    """An activation without a derivative works, because a rule with only forward passes does not use derivatives."""
    deaf = ops.Activation("deaf", np.tanh, None, 0.0, 1.0)
    net = Net((4,), [(Dense(5), deaf), (Dense(3),)], rng=rng(0))
    same = mlp([4, 5, 3], ops.tanh, rng=rng(0))
    x, y = batch(net, 2)
    assert_same_direction(*(ulr(n, x, y, sigma=0.1, K=2, rng=rng(1)) for n in (net, same)))
    assert "dphi" not in inspect.getsource(ulr) + inspect.getsource(proxy)
