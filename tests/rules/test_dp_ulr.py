"""Tests of DP-ULR as printed: batches drawn with rejection, the controller, and the clip of each layer."""

import math

import numpy as np
import pytest
from scipy import stats

from nfa import ops
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.network import Net, forward, mlp
from nfa.network.dense import Conv2d, Dense
from nfa.noise import Streams
from nfa.papers.dpulr2024.theorems import acceptance, inclusion_probability
from nfa.rules.dp_ulr import _parameter_noise, controller, dp_ulr, mechanism
from nfa.rules.ulr import proxy, proxy_and_power, weigh
from nfa.sampling import PoissonRejection
from tests.oracles.chance import fits, is_score
from tests.oracles.core import assert_close, assert_same_direction, batch
from tests.oracles.private_rules import clip_weight, norm
from tests.oracles.ulr import (
    Given,
    accepted_subsets,
    add_clipped,
    covariance,
    draws,
    estimates,
    given_losses,
    jacobian,
    loss_of,
    loss_with_noise,
)

rng = np.random.default_rng
FALSE_ALARM = 1e-6  # probability that a statistical test below fails on correct code with another seed


# --- batches drawn with rejection -----------------------------------------------------------------------------


def sampler(n, q, N_B, seed=0):
    i = np.arange(n, dtype=float)
    return PoissonRejection(i[:, None], i[:, None], q, N_B, Streams(seed))


@pytest.mark.verifies("dpulr2024:alg1.L195", "dpulr2024:def4")
def test_the_law_of_a_batch_with_rejection():
    """In 4,000 draws with rejection, the eleven possible batches of four records have their probabilities.

    The draws have q = 0.4 and at least two records in a batch. We enumerate the batches.
    """
    s = sampler(4, 0.4, 2)
    sets, p, _ = accepted_subsets(4, 0.4, 2)
    assert len(sets) == 11
    batches = [tuple(s.indices(t)) for t in range(1, 4001)]
    counts = [batches.count(b) for b in sets]
    assert sum(counts) == 4000
    fits(counts, 4000 * p, sees=0.2)


@pytest.mark.verifies("dpulr2024:alg1.L195")
def test_how_many_draws_a_batch_takes():
    """The number of draws until a batch is accepted is geometric with the acceptance probability.

    Vector TV6 of the ledger: 11 records, q = 0.2, at least 3 records in a batch.
    """
    s = sampler(11, 0.2, 3)
    assert s.acceptance == pytest.approx(0.3825984512, abs=1e-12)
    tries = np.array([s.draw(t)[1] for t in range(1, 3001)])
    sd = math.sqrt(1 - s.acceptance) / s.acceptance
    is_score((tries.mean() - 1 / s.acceptance) / sd * math.sqrt(3000), 3000, sees=0.18)  # in units of sd
    assert tries.min() == 1
    assert all(len(s.indices(t)) >= 3 for t in range(1, 100))


@pytest.mark.verifies("dpulr2024:alg1.L195")
def test_inclusion_after_rejection_is_more_likely_than_q():
    """Rejection increases the probability q' that a batch contains a record, so q' > q.

    For vector TV6 of the ledger, we compute q' and the mean size of a batch by enumeration. We compare q' with the
    formula and with 5,000 batches.
    """
    sets, p, accepted = accepted_subsets(11, 0.2, 3)
    included = sum(w for s, w in zip(sets, p, strict=True) if 0 in s)
    assert included == pytest.approx(0.3262900619, abs=5.1e-11)
    assert accepted == pytest.approx(0.3825984512, abs=5.1e-11)
    assert sum(w * len(s) for s, w in zip(sets, p, strict=True)) == pytest.approx(3.58919068, abs=5.1e-9)
    assert inclusion_probability(q=0.2, N_B=3, N=10) == pytest.approx(included, rel=1e-12)
    assert acceptance(q=0.2, N_B=3, N=11) == pytest.approx(accepted, rel=1e-12)
    s = sampler(11, 0.2, 3)
    batches = [s.indices(t) for t in range(1, 5001)]
    share = np.bincount(np.concatenate(batches), minlength=11) / 5000
    sd = math.sqrt(included * (1 - included))
    is_score((share - included) / sd * math.sqrt(5000), 5000, sees=0.15)  # the mean in units of its standard deviation


def test_a_batch_with_rejection_is_a_function_of_the_step():
    one, other = sampler(11, 0.2, 3), sampler(11, 0.2, 3)
    want = [one.indices(t) for t in range(1, 20)]
    assert all(np.array_equal(other.indices(t), want[t - 1]) for t in range(19, 0, -1))
    assert any(not np.array_equal(sampler(11, 0.2, 3, seed=1).indices(t), want[t - 1]) for t in range(1, 20))
    assert (one.scheme, one.rate, one.steps_per_epoch) == ("poisson-rejection", 0.2, 5)


@pytest.mark.parametrize(
    "n, q, N_B, says",
    [
        (
            23,
            0.01,
            9,
            "a Poisson batch from 23 records at the rate q = 0.01 has at least N_B = 9 records only "
            "with probability 7.2e-13: lower N_B or raise q",
        ),
        (
            23,
            0.5,
            24,
            "the smallest batch size N_B must be between 1 and the number n of examples, got N_B=24 and n=23",
        ),
        (23, 0.5, 0, "the smallest batch size N_B must be between 1 and the number n of examples, got N_B=0 and n=23"),
        (23, 0.0, 1, "the sampling rate q must be in (0, 1], got 0.0"),
        (23, 1.1, 1, "the sampling rate q must be in (0, 1], got 1.1"),
        (23, math.nan, 1, "the sampling rate q must be in (0, 1], got nan"),
    ],
)
def test_batches_that_cannot_be_drawn_are_refused(n, q, N_B, says):
    with pytest.raises(ValueError) as error:
        sampler(n, q, N_B)
    assert str(error.value) == says


def test_at_rate_one_every_batch_is_everything():
    assert sampler(5, 1.0, 5).draw(3)[1] == 1
    assert sampler(5, 1.0, 5).indices(3).tolist() == [0, 1, 2, 3, 4]


# --- the controller -------------------------------------------------------------------------------------------


@pytest.mark.verifies("dpulr2024:eq8", "dpulr2024:alg1.L198", "dpulr2024:eq26")
def test_three_records_by_hand():
    """The controller, which chooses a layer's noise, gives the ledger's value (TV10, without bias) on three records.

    The controller's input has the form w_i [h_i; 1], so we write the rows l_i x_i in this form.
    """
    X, losses = np.array([[1, 2], [-1, 0.5], [0.3, -0.7]]), np.array([0.9, 1.4, 2.1])
    got = controller(given_losses(1, 2), 1, X[:, :1] / X[:, 1:], losses * X[:, 1], K=10, C=1.0, sigma_0=4.0)
    assert got**2 == pytest.approx(0.019607346591853647, rel=1e-13)
    full = sum(l**2 * np.kron(np.eye(2), np.outer(x, x)) for l, x in zip(losses, X, strict=True))
    np.testing.assert_allclose(
        np.linalg.eigvalsh(full)[[0, -1]], [3.13717545469658, 5.92062454530342], rtol=0, atol=5e-15 * 10
    )


@pytest.mark.verifies("dpulr2024:eq8", "dpulr2024:alg1.L198", "dpulr2024:eq26")
def test_three_records_by_hand_in_a_layer_without_biases():
    """In a layer without biases, the controller gives the ledger's value (TV10), because its input is only X."""
    X, losses = np.array([[1, 2], [-1, 0.5], [0.3, -0.7]]), np.array([0.9, 1.4, 2.1])
    got = controller(bare([2, 2]), 1, X, losses, K=10, C=1.0, sigma_0=4.0)
    assert got**2 == pytest.approx(0.019607346591853647, rel=1e-13)


def bare(sizes, biases=()):
    """A fully connected network. Only the named layers have biases."""
    layers = [(Dense(n, bias=l in biases), ops.tanh) for l, n in enumerate(sizes[1:], start=1)]
    return Net(sizes[:1], [*layers[:-1], layers[-1][:1]], rng=rng(0))


def conv_net(stride=1, c_out=2):
    return Net(
        (2, 4, 3),
        [(Conv2d(c_out, 2, stride=stride, padding="same"), ops.tanh), (Dense(3),)],
        rng=rng(0),
    )


@pytest.mark.verifies("dpulr2024:eq8", "dpulr2024:asm1", "dpulr2024:alg1.L198", "dpulr2024:eq26", "dpulr2024:eq27")
@pytest.mark.parametrize(
    "make, l, k",
    [
        (lambda: mlp([2, 3, 2], ops.tanh, rng=rng(0)), 1, 5),
        (lambda: mlp([2, 3, 2], ops.tanh, rng=rng(0)), 2, 5),
        (lambda: mlp([3, 3, 3, 2], ops.tanh, rng=rng(0), skip={2: 0, 3: 1}), 3, 6),
        (lambda: bare([2, 3, 2]), 1, 5),
        (lambda: bare([2, 3, 2], biases={2}), 2, 5),
        (conv_net, 1, 3),
        (lambda: conv_net(stride=(2, 1)), 1, 4),
    ],
)
def test_the_controller_equals_brute_force(make, l, k):
    """The controller equals a brute-force computation from every record's Jacobian and all eigenvalues.

    The test computes the Jacobian weight by weight and bias by bias. With the controller's sigma, the smallest
    eigenvalue of the leading covariance of the sum is (sigma_0 C)^2.
    """
    net = make()
    x, y = batch(net, k)
    z, h = forward(net, x)
    loss = net.loss.value(z[net.L], y)
    got = controller(net, l, net.input(l, h), loss, K=10, C=0.5, sigma_0=4.0)
    full = np.linalg.eigvalsh(covariance(net, l, net.input(l, h), loss))
    assert got == pytest.approx(math.sqrt(full[0] / 10) / (0.5 * 4.0), rel=1e-10)
    leading = np.linalg.eigvalsh(covariance(net, l, net.input(l, h), loss / got) / 10)
    assert leading[0] == pytest.approx((4.0 * 0.5) ** 2, rel=1e-9)


@pytest.mark.verifies("dpulr2024:L256")
def test_a_batch_taken_twice_has_twice_the_covariance_at_one_sigma_and_the_same_under_the_controller():
    """If every record of a batch occurs twice, the covariance doubles at a fixed sigma.

    With the controller, the covariance does not change. We compute the covariance of the sum of estimates by brute
    force, to leading order, from the losses divided by sigma.
    """
    net = mlp([2, 3, 2], ops.tanh, rng=rng(0))
    x, y = batch(net, 5)
    z, h = forward(net, x)
    loss = net.loss.value(z[net.L], y)
    once, twice = (net.input(1, h), loss), (np.tile(net.input(1, h), (2, 1)), np.tile(loss, 2))
    sigmas = [controller(net, 1, *own, K=1, C=1.0, sigma_0=4.0) for own in (once, twice)]
    assert sigmas[1] ** 2 == pytest.approx(2 * sigmas[0] ** 2, rel=1e-10)
    one_sigma = [covariance(net, 1, inputs, losses / 0.1) for inputs, losses in (once, twice)]
    np.testing.assert_allclose(one_sigma[1], 2 * one_sigma[0], rtol=1e-12, atol=1e-12)
    each = [covariance(net, 1, own[0], own[1] / sigma) for own, sigma in zip((once, twice), sigmas, strict=True)]
    np.testing.assert_allclose(each[1], each[0], rtol=1e-9, atol=1e-9 * np.abs(each[0]).max())


@pytest.mark.verifies("dpulr2024:asm1", "dpulr2024:eq8", "dpulr2024:L256", "dpulr2024:rank-claim", "dpulr2024:rayleigh")
def test_when_the_matrix_is_singular():
    """The controller refuses a layer if its matrix is singular.

    One record has rank at most n_l. With biases, n_{l-1} records give rank n_{l-1}, but the matrix has order n_{l-1} +
    1. If an input is always 0, the matrix is singular for any number of records. Additional records never lower the
    least eigenvalue, but may leave it equal. So the paper's claim that the eigenvalue becomes greater is false.
    """
    net = mlp([4, 2], ops.tanh, rng=rng(0))
    x = rng(1).normal(size=(9, 4))
    J = jacobian(net.map[1], net.W[1], net.b[1], x[0])
    assert J.shape == (2, 10)
    assert np.linalg.matrix_rank(J.T @ J) == 2
    one = np.ones(9)
    with pytest.raises(
        ValueError, match="no noise for layer 1, because the controller's matrix of this layer has order 5, but rank 4"
    ):
        controller(net, 1, x[:4], one[:4], K=1, C=1.0, sigma_0=4.0)
    assert np.linalg.matrix_rank(covariance(net, 1, x[:4], one[:4])[:8, :8]) == 8  # the block of the weights alone
    assert np.linalg.matrix_rank(covariance(net, 1, x[:4], one[:4])) == 8  # the rank of the whole matrix of order 10
    least = [controller(net, 1, x[:k], one[:k], K=1, C=1.0, sigma_0=4.0) for k in range(5, 10)]
    assert (np.diff(least) > 0).all()
    dead = np.concatenate([x[:, :3], 0 * x[:, 3:]], axis=1)
    for h in (dead, np.repeat(x[:1], 9, axis=0)):
        with pytest.raises(ValueError, match="set remedy to"):
            controller(net, 1, h, one, K=1, C=1.0, sigma_0=4.0)
    # The largest eigenvalue is 1e13 times the smallest eigenvalue and 1e10 times the others, so the matrix is
    # numerically singular.
    wide = np.array([[1e5, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0.03], [0, 0, 0, 0]])
    with pytest.raises(ValueError, match="set remedy to"):
        controller(net, 1, wide, one[:5], K=1, C=1.0, sigma_0=4.0)
    for losses in (one, np.append(one[:8], 0)):  # a record with loss 0 adds nothing
        got = controller(net, 1, x, losses, K=1, C=1.0, sigma_0=4.0)
        assert got == pytest.approx(least[3] if losses[-1] == 0 else least[4], rel=1e-12)


# --- the rule -------------------------------------------------------------------------------------------------


@pytest.mark.verifies(
    "dpulr2024:alg1.L198",
    "dpulr2024:alg1.L200-202",
    "dpulr2024:alg1.L203",
    "dpulr2024:alg1.L204",
    "dpulr2024:alg1.L205",
    "dpulr2024:alg1.L208",
)
@pytest.mark.parametrize("biases", [{1, 2}, {1}, {2}, {}], ids=["biases", "below", "above", "no biases"])
@pytest.mark.parametrize("N_B", [4, 6])
def test_a_step_equals_algorithm_1_record_by_record(N_B, biases):
    """A step equals Algorithm 1, computed record by record.

    The loops compute the sigma of each layer by brute force, make full passes, clip each layer, and divide by N_B.
    """
    net = bare([2, 3, 2], biases)
    x, y = batch(net, 6)
    z, h = forward(net, x)
    loss = net.loss.value(z[2], y)
    sigma_0, C, K = 1.0, 0.7, 3
    sigmas = [0.0]
    for l in (1, 2):
        least = np.linalg.eigvalsh(covariance(net, l, net.input(l, h), loss))[0]
        sigmas.append(math.sqrt(least / K) / (C * sigma_0))
    u = draws(net, K, 6)
    found = estimates(net, x, y, u, sigmas)
    state = {}
    got = dp_ulr(net, x, y, sigma_0=sigma_0, C=C, K=K, N_B=N_B, rng=Given(*u[:0:-1]), state=state)
    assert_same_direction(got, add_clipped(net, found, C, N_B, joint=False), 1e-10)
    assert_close(state["sigma"], np.array(sigmas[1:]), 1e-10)
    over = [[norm(dW[l], db[l]) > C for dW, db in found] for l in (1, 2)]
    assert state["clipped"] == [sum(o) / 6 for o in over]
    assert all(0 < sum(o) <= 6 for o in over)
    assert min(sum(o) for o in over) < 6


def extra_noise(net, x, y, *, sigma_0, C, K, sigma, l=1):
    """The matrix M by which the rule multiplies independent normals to get its additional noise.

    We pass the identity instead of normals. The number of outputs of the layer must be the number of weights and biases
    of a unit, which is also the number of rows of M.
    """
    z, h = forward(net, x)
    width = math.prod(net.map[l].shape_W[1:]) + net.map[l].bias
    assert (net.L, net.map[l].shape_W[0]) == (1, width)
    u = rng(3).standard_normal((K, len(x), *net.shape_z[l]))
    settings = {"sigma_0": sigma_0, "C": C, "K": K, "N_B": 3, "remedy": "eigenvectors", "sigma": sigma}
    dW, db = dp_ulr(net, x, y, rng=Given(u, np.eye(width)), **settings)
    dz = proxy(net, l, z, h, y, sigma=sigma, K=K, rng=Given(u))
    total = 0.0
    for i in range(len(x)):
        g = np.concatenate([p.reshape(width, -1) for p in net.map[l].outer(dz[i : i + 1], h[0][i : i + 1])], axis=1)
        total = total + g * clip_weight(norm(g), C)
    return 3 * np.concatenate([dW[l].reshape(width, -1), db[l].reshape(width, -1)], axis=1) - total


@pytest.mark.verifies("dpulr2024:extra-noise", "dpulr2024:eq26")
def test_negative_variances_of_the_extra_noise_are_clamped():
    """Negative variances of the additional noise are replaced by 0, as in the ledger's vector TV14.

    Lambda = (400, 2000, 0, 160), K = 10 and sigma_0 C = 4. The paper's (-24, -184, 16, 0) becomes (0, 0, 16, 0). The
    rows [h; 1] are three rows of a Hadamard matrix, with squared norm 4.
    """
    H = np.array([[1.0, 1, 1, 1], [-1, 1, -1, 1], [-1, -1, 1, 1], [1, -1, -1, 1]])
    own = np.array([400.0, 2000, 160])
    y = np.zeros((3, 4))
    y[:, 0] = 0.5 * np.sqrt(own / 4)
    net = given_losses(3, 4)
    M = extra_noise(net, H[[0, 1, 3], :3], y, sigma_0=4.0, C=1.0, K=10, sigma=0.5)
    by_eigenvector = H @ (M @ M.T) @ H.T / 4
    np.testing.assert_allclose(by_eigenvector, np.diag([0, 0, 16, 0]), atol=1e-10)
    full = covariance(net, 1, H[[0, 1, 3], :3], y[:, 0] / 0.5)
    np.testing.assert_allclose(np.linalg.eigvalsh(full), np.repeat([0, 160, 400, 2000], 4), atol=1e-9)


@pytest.mark.verifies("dpulr2024:extra-noise", "dpulr2024:eq26")
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("k", [1, 3, 5, 6, 12])
def test_the_extra_noise_equals_the_literal_eigenvectors(k, bias):
    """The additional noise of all the layer's parameters has the covariance Q (sigma_0^2 C^2 I - Lambda / K)_+ Q^T.

    We test layers in which the rule uses the Gram matrix, and layers in which it does not.
    """
    width = 4 + bias
    net = bare([4, width], {1} if bias else {})
    x, y = batch(net, k)
    K, sigma, sigma_0, C = 4, 0.4, 3.0, 1.5
    M = extra_noise(net, x, y, sigma_0=sigma_0, C=C, K=K, sigma=sigma)
    loss = net.loss.value(forward(net, x)[0][1], y)
    own, Q = np.linalg.eigh(covariance(net, 1, x, loss / sigma) / K)
    want = Q @ np.diag(np.maximum(0, sigma_0**2 * C**2 - own)) @ Q.T
    got = np.zeros_like(want)
    # the parameters of one output: the weights, then the bias
    rows = [[*range(4 * o, 4 * o + 4), *[4 * width + o] * bias] for o in range(width)]
    for r in rows:
        got[np.ix_(r, r)] = M.T @ M
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-11 * sigma_0**2 * C**2)
    assert (own > sigma_0**2 * C**2).any() == (k > (1 if bias else 3))
    assert (own < 1e-9).any() == (k < width)


@pytest.mark.verifies("dpulr2024:extra-noise")
def test_the_extra_noise_of_a_convolution():
    """The additional noise of a convolution is correct even if the batch has fewer positions than a unit has weights.

    A dense layer follows the convolution.
    """
    # one position; each unit has 8 weights and a bias
    net = Net((2, 2, 2), [(Conv2d(9, 2), ops.tanh), (Dense(2),)], rng=rng(0))
    x, y = batch(net, 3)
    settings = {"C": 1e9, "K": 2, "N_B": 1, "remedy": "eigenvectors", "sigma": 0.2}
    u = draws(net, 2, 3)
    found = {}
    for sigma_0 in (1e-9, 1e-10):  # sigma_0 C is 1, then 0.1
        white = Given(u[2], np.zeros((2, 10)), u[1], np.eye(9))
        dW, db = dp_ulr(net, x, y, sigma_0=sigma_0, rng=white, **settings)
        found[sigma_0] = np.concatenate([dW[1].reshape(9, 8), db[1][:, None]], axis=1)
    loss = net.loss.value(forward(net, x)[0][2], y)
    rows = np.concatenate([x.reshape(3, 8), np.ones((3, 1))], axis=1) * (loss / 0.2 / math.sqrt(2))[:, None]
    own, Q = np.linalg.eigh(rows.T @ rows)
    for_each = [Q @ np.diag(np.sqrt(np.maximum(0, t**2 - own))) @ Q.T for t in (1.0, 0.1)]
    assert_close(found[1e-9] - found[1e-10], for_each[0] - for_each[1], 1e-10)


# --- noise on the parameters ----------------------------------------------------------------------------------


def literal_parameter_noise(net, l, x, y, sigma, C, K, runs, r):
    """The clipped sum of estimates from K noise samples on W[l] and b[l] for each record: (runs, n_l, n + 1)."""
    h = forward(net, x)[1]
    seen = np.concatenate([net.input(l, h), np.ones((len(x), int(net.map[l].bias)))], axis=1)
    omega = sigma * r.standard_normal((runs, K, len(x), net.shape_z[l][0], seen.shape[1]))
    zeta = np.einsum("rkmij,mj->rkmi", omega, seen)
    many = runs * K
    losses = loss_with_noise(net, l, np.tile(x, (many, 1)), np.tile(y, (many, 1)), zeta.reshape(many * len(x), -1))
    g = np.einsum("rkmij,rkm->rmij", omega, losses.reshape(runs, K, len(x))) / (K * sigma**2)
    sizes = np.sqrt(np.square(g).sum(axis=(2, 3), keepdims=True))
    return (g * np.minimum(1, C / sizes)).sum(axis=1)


@pytest.mark.verifies("dpulr2024:virtual-linear", "dpulr2024:alg1.L203", "dpulr2024:alg1.L205")
@pytest.mark.parametrize(
    "C, K",
    [
        pytest.param(1e3, 1, id="one draw", marks=pytest.mark.slow),
        pytest.param(1e3, 3, id="three draws", marks=pytest.mark.slow),
        pytest.param(1.0, 3, id="clipped"),
    ],
)
@pytest.mark.parametrize(
    "biases", [pytest.param({1, 2}, id="biases"), pytest.param({}, id="no biases", marks=pytest.mark.slow)]
)
def test_parameter_noise_has_the_law_of_drawing_the_weights(C, K, biases):
    """The rule's parameter noise has the distribution of noise that is drawn on the weights.

    We compare 3,000 runs of each kind: every entry, some sums, and the norm in each layer, by KS tests. If two
    distribution functions are 0.2 apart, a test misses this with probability 1e-6. Without biases, one of the two
    records is 0, so noise on the first layer does not change the loss of this record.
    """
    net = bare([2, 2, 2], biases)
    x, y = batch(net, 2, seed=3)
    if not biases:
        x[1] = 0
    z, _ = forward(net, x)
    runs, sigma = 3000, 0.6
    sigma_0 = math.sqrt(np.square(net.loss.value(z[2], y)).sum() / K) / (C * sigma)
    r, rule = rng(1), [[], []]
    for _ in range(runs):
        state = {}
        how = {"sigma_0": sigma_0, "C": C, "K": K, "N_B": 1, "remedy": "parameters"}
        dW, db = dp_ulr(net, x, y, rng=r, state=state, **how)
        for l in (1, 2):
            rule[l - 1].append(np.concatenate([dW[l], db[l].reshape(2, -1)], axis=1))
    assert state["sigma"] == pytest.approx([sigma, sigma], rel=1e-12)
    for l in (1, 2):
        ours = np.array(rule[l - 1]).reshape(runs, -1)
        theirs = literal_parameter_noise(net, l, x, y, sigma, C, K, runs, rng(4)).reshape(runs, -1)
        mixes = rng(2).normal(size=(4, ours.shape[1]))
        for a, b in zip(seen_by_tests(ours, mixes), seen_by_tests(theirs, mixes), strict=True):
            assert stats.ks_2samp(a, b).pvalue > FALSE_ALARM / 22


@pytest.mark.verifies("dpulr2024:virtual-linear")
def test_parameter_noise_along_what_a_layer_reads_is_the_proxy():
    """With noise on the parameters, a record's estimate times [h; 1] gives exactly the dz that noise on z gives.

    In this test, there is one record, and no clip is active.
    """
    net = mlp([3, 4, 2], ops.tanh, rng=rng(0))
    x, y = batch(net, 1)
    z, h = forward(net, x)
    for l in (1, 2):
        seen = np.append(net.input(l, h)[0], 1.0)
        how = {"K": 3, "baseline": False, "antithetic": False, "chunk": 1 << 22, "weigh": weigh}
        dz, _ = proxy_and_power(net, l, z, h, y, sigma=0.6 * np.linalg.norm(seen), rng=rng(7), **how)
        dW, db, _ = _parameter_noise(net, l, z, h, y, 0.6, 1e9, 3, 1 << 22, weigh, rng(7))
        g = np.concatenate([dW, db[:, None]], axis=1)
        assert_close(g @ seen, dz[0] * (seen @ seen), 1e-12)
        assert np.linalg.norm(g - np.outer(dz[0], seen)) > 0.1 * np.linalg.norm(g)


def seen_by_tests(v, mixes):
    """The values that the KS tests compare: every entry, random sums of the entries, and the norm."""
    return [*v.T, *(v @ mixes.T).T, np.linalg.norm(v, axis=1)]


class Noting:
    """A generator that notes the dtypes of the requested normals."""

    def __init__(self):
        self.rng, self.types = rng(0), set()

    def standard_normal(self, size=None, dtype=float):
        self.types.add(np.dtype(dtype))
        return self.rng.standard_normal(size, dtype)


def test_parameter_noise_is_drawn_in_the_networks_own_precision():
    net = mlp([3, 4, 2], ops.tanh, rng=rng(0), dtype=np.float32)
    x, y = (a.astype(np.float32) for a in batch(net, 2))
    noting = Noting()
    dp_ulr(net, x, y, rng=noting, sigma_0=1.0, C=1.0, K=2, N_B=2, remedy="parameters")
    assert noting.types == {np.dtype(np.float32)}


@pytest.mark.verifies("dpulr2024:virtual-linear", "dpulr2024:eq8")
def test_the_std_of_parameter_noise():
    """If the Jacobian J is the identity, the std of the parameter noise is sigma = sqrt(sum of l^2 / K) / (C sigma_0).

    For example, 64 losses of ln 10 give 4.605 for K = 1.
    """
    net = given_losses(2, 2)
    y = np.zeros((64, 2))
    y[:, 0] = math.log(10)
    for K, want in ((1, 4.605), (100, 0.4605)):
        state = {}
        how = {"sigma_0": 4.0, "C": 1.0, "K": K, "N_B": 64, "remedy": "parameters", "state": state}
        dp_ulr(net, np.ones((64, 2)), y, rng=rng(0), **how)
        assert state["sigma"] == pytest.approx([want], abs=5e-4)


@pytest.mark.verifies("dpulr2024:alg1.L205", "dpulr2024:alg1.L208")
@pytest.mark.parametrize("remedy", ["none", "parameters"])
def test_each_layer_is_clipped_to_c_by_itself(remedy):
    """The rule clips each layer to C separately, so two layers together reach the norm sqrt(2) C.

    So the change from one record is larger than C, the bound for a clip of all layers together.
    """
    net = mlp([1, 1, 2], ops.tanh, rng=rng(0), loss=loss_of(lambda z, y: y.sum(axis=1)))
    x, y = np.array([[1.0], [-1.0]]), np.ones((2, 2))
    how = {"sigma_0": 1e4, "C": 0.5, "K": 1, "N_B": 3, "remedy": remedy}
    dW, db = dp_ulr(net, x, y, rng=rng(0), state=(state := {}), **how)
    assert state["clipped"] == [1.0, 1.0]
    if remedy == "parameters":
        dW, db = dp_ulr(net, x[:1], y[:1], rng=rng(0), **how)
        np.testing.assert_allclose([norm(dW[l], db[l]) for l in (1, 2)], 0.5 / 3, rtol=1e-12)
        assert norm(*dW[1:], *db[1:]) == pytest.approx(math.sqrt(2) * 0.5 / 3, rel=1e-12)


# --- refusals -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change, says",
    [
        ({"sigma_0": 0.0}, "sigma_0 must be positive and finite, got 0.0"),
        ({"sigma_0": math.nan}, "sigma_0 must be positive and finite, got nan"),
        ({"C": -1.0}, "the clipping bound C must be positive and finite, got -1.0"),
        ({"C": math.inf}, "the clipping bound C must be positive and finite, got inf"),
        ({"K": 0}, "the number K of losses must be a whole number >= 1, got K=0"),
        ({"K": 1.5}, "the number K of losses must be a whole number >= 1, got K=1.5"),
        ({"N_B": 0}, "the smallest batch size N_B must be at least 1, got 0"),
        ({"remedy": "hope"}, "remedy must be one of none, parameters, eigenvectors, got 'hope'"),
        ({"remedy": "eigenvectors"}, 'remedy "eigenvectors" needs sigma. With any other remedy, leave sigma out'),
        ({"sigma": 0.1}, 'remedy "eigenvectors" needs sigma. With any other remedy, leave sigma out'),
        ({"remedy": "eigenvectors", "sigma": 0.0}, "sigma must be positive and finite, got 0.0"),
        ({"x": np.zeros((0, 2)), "y": np.zeros((0, 2))}, "dp_ulr needs a batch of at least one example"),
        ({"y": np.zeros((6, 2))}, "Equation 8 needs a loss that is not 0, but every loss of the batch is 0"),
        ({"y": np.full((6, 2), np.nan)}, "the loss of example 0 of the batch is not finite"),
        (
            {"x": np.full((6, 2), 1.0)},
            "Equation 8 gives no noise for layer 1, because the controller's matrix of this layer has order 3",
        ),
    ],
)
def test_bad_input_is_one_sentence(change, says):
    net = given_losses(2, 2)
    given = {"x": rng(0).normal(size=(6, 2)), "y": np.ones((6, 2)), "sigma_0": 4.0, "C": 1.0, "K": 2, "N_B": 3}
    with pytest.raises(ValueError) as error:
        dp_ulr(net, **{**given, "rng": rng(0), **change})
    assert str(error.value).startswith(says)
    assert "\n" not in str(error.value)


def test_parameter_noise_is_for_dense_layers():
    net = conv_net()
    with pytest.raises(ValueError, match='remedy "parameters" needs dense layers, but layer 1 is not dense'):
        dp_ulr(net, *batch(net, 3), sigma_0=4.0, C=1.0, K=2, N_B=3, remedy="parameters", rng=rng(0))


@pytest.mark.parametrize("remedy", ["none", "parameters", "eigenvectors"])
def test_float32_stays_float32(remedy):
    net = mlp([2, 3, 2], ops.tanh, rng=rng(0), dtype=np.float32)
    x, y = (a.astype(np.float32) for a in batch(net, 8))
    how = {"sigma": 0.2} if remedy == "eigenvectors" else {}
    dW, db = dp_ulr(net, x, y, sigma_0=1.0, C=1.0, K=2, N_B=np.int64(8), remedy=remedy, rng=rng(0), **how)
    assert {a.dtype for a in (*dW[1:], *db[1:])} == {np.dtype(np.float32)}


@pytest.mark.verifies("dpulr2024:thm2")
def test_algorithm_1_has_no_guarantee():
    """The rule states no mechanism, because batches drawn with rejection have no proved guarantee."""
    with pytest.raises(NoGuarantee, match=r"\[dpulr2024:thm2\]"):
        mechanism(sigma_0=4.0, C=1.0, K=10, N_B=3)
    with pytest.raises(NoGuarantee, match=r"\[dpulr2024:thm1\]"):
        Mechanism(
            law="gaussian",
            sensitivity=1.0,
            adjacency="add-remove",
            noise_std=4.0,
            sampling="poisson-rejection",
            sampling_rate=0.1,
        )
