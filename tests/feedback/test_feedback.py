"""Tests of feedback matrices: laws, shapes and spectral norms, the projection, and the connections in Figure 1."""

import math

import numpy as np
import pytest
from scipy import stats

from nfa import feedback, ops
from nfa.network import mlp
from nfa.network.pooling import MaxPool
from nfa.rules.bp import bp
from nfa.rules.dfa import dfa
from tests.oracles.chance import follows, is_uncorrelated
from tests.oracles.core import assert_close, batch, fix_a_raw_feedback, pooled_cnn, residual_cnn, times, top_eigenvalue

FALSE_ALARM = 1e-6  # probability that a statistical test below fails on correct code with another seed


def net_and_rng(sizes=(7, 40, 30, 10), seed=0):
    return mlp(sizes, ops.tanh, rng=np.random.default_rng(100)), np.random.default_rng(seed)


# --- draw ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at, sizes", [("h", [48, 16, 6]), ("z", [270, 64, 6])])
@pytest.mark.parametrize("law", feedback.LAWS)
def test_shapes_follow_the_place_in_a_pooled_network(law, at, sizes):
    """In a network with pooling, the shape of B[l] depends on the place to which the error is projected.

    The map of 3 channels has 10 x 9 entries per channel before pooling (z) and 4 x 4 after pooling (h). The map of 4
    channels has 4 x 4 before and 2 x 2 after pooling.
    """
    B = feedback.draw(pooled_cnn(MaxPool), law=law, scale=1, rng=np.random.default_rng(0), at=at)
    assert B[0] is None
    assert B[4] is None
    assert [b.shape for b in B[1:4]] == [(n, 3) for n in sizes]


@pytest.mark.verifies("lee2020:eq5", "ohana2021:eq5")
@pytest.mark.parametrize(
    "law, distribution",
    [("normal", stats.norm(0, 0.3)), ("uniform", stats.uniform(-0.3, 0.6))],
)
def test_entries_are_independent_draws_of_their_law(law, distribution):
    net, rng = net_and_rng((7, 400, 300, 10))
    B = feedback.draw(net, law=law, scale=0.3, rng=rng)
    for b in B[1:3]:
        follows(b, distribution.cdf, sees=0.1)
    # Adjacent entries, in rows, in columns and across the layers, are uncorrelated: z = r sqrt(n) is N(0, 1).
    pairs = [(b[:, 1:], b[:, :-1]) for b in B[1:3]] + [(b[1:], b[:-1]) for b in B[1:3]] + [(B[1][:300], B[2])]
    for one, other in pairs:
        is_uncorrelated(one, other, sees=0.2)


def test_the_uniform_law_reaches_its_ends_and_no_further():
    """Samples of the uniform law come near the ends of its interval, and do not exceed them.

    With probability 0.998^7000 = 8e-7, none of 7,000 entries is within 0.4 % of an end, and the test fails on correct
    code.
    """
    net, rng = net_and_rng((7, 400, 300, 10))
    entries = np.concatenate([b.ravel() for b in feedback.draw(net, law="uniform", scale=0.3, rng=rng)[1:3]])
    assert -0.3 <= entries.min() < -0.996 * 0.3
    assert 0.996 * 0.3 < entries.max() <= 0.3


@pytest.mark.parametrize("beta", [0.9, 3.0])
def test_the_spectral_law_has_its_norm(beta):
    net, rng = net_and_rng()
    for b in feedback.draw(net, law="spectral", scale=beta, rng=rng)[1:3]:
        assert math.sqrt(top_eigenvalue(b)) == pytest.approx(beta, rel=1e-12)
        assert np.linalg.svd(b, compute_uv=False)[0] == pytest.approx(beta, rel=1e-12)


def test_the_spectral_law_has_the_direction_of_normal_draws():
    net, _ = net_and_rng()
    normal, spectral = (
        feedback.draw(net, law=law, scale=0.9, rng=np.random.default_rng(1)) for law in ("normal", "spectral")
    )
    for a, b in zip(normal[1:3], spectral[1:3], strict=True):
        assert_close(b, a * (np.linalg.norm(b) / np.linalg.norm(a)))


def test_the_orthogonal_law_has_orthogonal_columns_of_one_length_or_rows_where_they_are_fewer():
    net = mlp([5, 30, 3, 4], ops.tanh, rng=np.random.default_rng(0))
    tall, wide = feedback.draw(net, law="orthogonal", scale=0.7, rng=np.random.default_rng(2))[1:3]
    np.testing.assert_allclose(tall.T @ tall, 0.49 * np.eye(4), rtol=0, atol=1e-15)
    np.testing.assert_allclose(wide @ wide.T, 0.49 * np.eye(3), rtol=0, atol=1e-15)


def test_the_orthogonal_law_prefers_no_direction():
    """The orthogonal law prefers no direction: multiplication by any orthogonal matrix leaves it unchanged.

    For 3 x 3, the entry (0, 0) is a coordinate of a uniform point on the sphere, so it is uniform on [-1, 1]. We use
    the Kolmogorov-Smirnov test.
    """
    net, rng = mlp([2, 3, 3], ops.tanh, rng=np.random.default_rng(0)), np.random.default_rng(5)
    entries = [feedback.draw(net, law="orthogonal", scale=1.0, rng=rng)[1][0, 0] for _ in range(2000)]
    assert stats.kstest(entries, stats.uniform(-1, 2).cdf).pvalue > FALSE_ALARM


def test_spectral_norms_of_the_fixture():
    """The spectral norms of the fixture's feedback agree with vector V2 of the ledger, computed in two ways."""
    for raw, norm in zip(fix_a_raw_feedback(), (2.011857985420, 2.163011435406), strict=True):
        assert math.sqrt(top_eigenvalue(raw)) == pytest.approx(norm, abs=1e-12)
        assert np.linalg.norm(raw, 2) == pytest.approx(norm, abs=1e-12)


@pytest.mark.parametrize("law", feedback.LAWS)
def test_a_generator_in_the_same_state_draws_the_same(law):
    net, _ = net_and_rng()
    one, two = (feedback.draw(net, law=law, scale=1, rng=np.random.default_rng(3)) for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(one[1:3], two[1:3], strict=True))
    assert not np.array_equal(one[1][:30], one[2])


@pytest.mark.parametrize("law", feedback.LAWS)
def test_the_dtype_is_the_networks_and_the_draws_are_not(law):
    nets = [mlp([4, 6, 3], ops.tanh, rng=np.random.default_rng(0), dtype=dtype) for dtype in (np.float64, np.float32)]
    exact, rounded = (feedback.draw(net, law=law, scale=0.7, rng=np.random.default_rng(4))[1] for net in nets)
    assert rounded.dtype == np.float32
    assert np.array_equal(rounded, exact.astype(np.float32))


@pytest.mark.parametrize(
    "settings, sentence",
    [
        (
            {"law": "cauchy"},
            "the law of the feedback must be one of normal, uniform, spectral, orthogonal, got 'cauchy'",
        ),
        ({"at": "a"}, "at must be 'h' or 'z', got 'a'"),
        ({"scale": 0.0}, "the scale of the feedback must be positive and finite, got 0.0"),
        ({"scale": math.inf}, "the scale of the feedback must be positive and finite, got inf"),
        ({"scale": math.nan}, "the scale of the feedback must be positive and finite, got nan"),
    ],
)
def test_bad_settings_get_a_sentence(settings, sentence):
    net, rng = net_and_rng()
    with pytest.raises(ValueError, match=sentence):
        feedback.draw(net, **({"law": "normal", "scale": 1.0, "rng": rng} | settings))


# --- project -------------------------------------------------------------------------------------------------


@pytest.mark.verifies("lee2020:eq5", "ohana2021:eq5")
def test_the_projection_is_b_times_e_for_every_row():
    rng = np.random.default_rng(5)
    e, B = rng.normal(size=(4, 3)), rng.normal(size=(5, 3))
    assert_close(feedback.project(e, B), [times(B, e_i) for e_i in e])


@pytest.mark.verifies("ohana2021:eq5")
def test_the_noisy_projection_adds_fresh_gaussian_noise():
    """The noisy projection adds new Gaussian noise in each call: 20,000 samples of B e + g with g ~ N(0, 0.5^2).

    The noise of different entries is independent.
    """
    B, e = np.array([[1.0, 2.0], [0.5, -1.0]]), np.tile([1.0, -1.0], (20_000, 1))
    p = feedback.project(e, B, noise_std=0.5, rng=np.random.default_rng(6))
    g = p - [-1.0, 1.5]
    follows(g, stats.norm(0, 0.5).cdf, sees=0.03)
    for one, other in ((g[:, 0], g[:, 1]), (g[1:, 0], g[:-1, 0])):
        is_uncorrelated(one, other, sees=0.07)


@pytest.mark.verifies("ohana2021:eq5")
def test_a_camera_sees_no_linear_projection_and_an_anchor_recovers_one():
    """A camera does not measure a linear projection, but an anchor recovers this projection (V-17, by loops).

    Intensities |R x|^2 are not additive. With an anchor a, the scaled difference |R (x + a)|^2 - |R x|^2 - |R a|^2 is a
    real projection of x.
    """
    R = [[math.sin(1 + 2 * j + 3 * k) + 1j * math.sin(2 + 2 * j + 3 * k) for k in range(4)] for j in range(2)]

    def intensity(j, *pixels):
        return abs(sum(R[j][k] for k in pixels)) ** 2

    assert [intensity(0, 0), intensity(0, 2), intensity(0, 0, 2)] == pytest.approx([1.5349, 1.4105, 5.8503], abs=5e-5)
    recovered = [
        (intensity(j, 0, 2, 3) - intensity(j, 0, 2) - intensity(j, 3)) / (2 * math.sqrt(intensity(j, 3)))
        for j in range(2)
    ]
    assert recovered == pytest.approx([-2.38391209598, -1.23757622543], rel=1e-11)
    B = np.array([[(r * row[3].conjugate() / abs(row[3])).real for r in row[:3]] for row in R])
    assert_close(feedback.project(np.array([[1.0, 0.0, 1.0]]), B)[0], recovered)


def test_without_noise_nothing_is_drawn():
    rng = np.random.default_rng(7)
    before = rng.bit_generator.state
    feedback.project(np.ones((2, 3)), np.ones((4, 3)), rng=rng)
    assert rng.bit_generator.state == before


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("noise_std", [0.0, 0.5, np.float64(0.5)])
def test_the_projection_keeps_the_dtype(dtype, noise_std):
    e, B = np.ones((2, 3), dtype), np.ones((4, 3), dtype)
    assert feedback.project(e, B, noise_std=noise_std, rng=np.random.default_rng(8)).dtype == dtype


@pytest.mark.parametrize(
    "noise_std, rng", [(-1.0, np.random.default_rng(0)), (math.nan, np.random.default_rng(0)), (1.0, None)]
)
def test_bad_noise_gets_a_sentence(noise_std, rng):
    with pytest.raises(
        ValueError,
        match=f"noise_std must be at least 0, and noise needs a random generator rng, got noise_std={noise_std}",
    ):
        feedback.project(np.ones((2, 3)), np.ones((4, 3)), noise_std=noise_std, rng=rng)


# --- the connections in Figure 1 -----------------------------------------------------------------------------

# We read from the figure: for each layer, the matrix on the arrow into this layer, and the signal where the arrow
# begins. The paper's B^l is our B[l - 1]. No arrow with a matrix ends in the top layer.
FIGURE_1 = {
    "a": (("bp", 3), {3: ("I", "e"), 2: ("W[3].T", "dz[3]"), 1: ("W[2].T", "dz[2]")}),
    "b": (("dfa", 3), {3: ("I", "e"), 2: ("B[2]", "e"), 1: ("B[1]", "e")}),
    "c": (
        ("hybrid", 6, 3),
        {
            6: ("I", "e"),
            5: ("B[5]", "e"),
            4: ("B[4]", "e"),
            3: ("W[4].T", "dz[4]"),
            2: ("W[3].T", "dz[3]"),
            1: ("W[2].T", "dz[2]"),
        },
    ),
}


@pytest.mark.verifies("lee2020:fig1", "ohana2021:fig1")
@pytest.mark.parametrize("part", FIGURE_1)
def test_the_table_is_the_figure(part):
    arguments, table = FIGURE_1[part]
    assert feedback.wiring(*arguments) == table


def test_the_hybrid_ends_are_the_other_two():
    assert feedback.wiring("hybrid", 4, 0) == feedback.wiring("dfa", 4)
    assert feedback.wiring("hybrid", 4, 3) == feedback.wiring("bp", 4)
    assert feedback.wiring("bp", 1) == feedback.wiring("dfa", 1) == {1: ("I", "e")}


@pytest.mark.parametrize("arguments", [("sgd", 3), ("bp", 0), ("hybrid", 3, 3), ("hybrid", 3, -1)])
def test_wirings_of_no_network_get_a_sentence(arguments):
    with pytest.raises(
        ValueError, match=r"mode must be 'bp', 'dfa' or 'hybrid', got 'sgd'|the number L of layers must be at least 1"
    ):
        feedback.wiring(*arguments)


# --- consequences of these connections for the rules ------------------------------------------------------------


def changed_layers(before, after):
    """The layers in which the two dW differ in at least one bit."""
    return [l for l in range(1, len(before[0])) if not np.array_equal(before[0][l], after[0][l])]


@pytest.fixture(params=["mlp", "residual"])
def fed_net(request):
    """A network, a batch, and its feedback."""
    if request.param == "mlp":
        net = mlp([4, 5, 6, 5, 3], ops.tanh, rng=np.random.default_rng(9))
    else:
        net = residual_cnn("same")
    return net, *batch(net, 4), feedback.draw(net, law="normal", scale=1, rng=np.random.default_rng(10))


@pytest.mark.verifies("lee2020:fig1", "ohana2021:fig1")
def test_changing_one_feedback_matrix_changes_one_layer_alone(fed_net):
    net, x, y, B = fed_net
    before = dfa(net, x, y, B=B)
    for l in range(1, net.L):
        other = list(B)
        other[l] = B[l] + 0.1
        assert changed_layers(before, dfa(net, x, y, B=other)) == [l]


@pytest.mark.verifies("lee2020:fig1", "ohana2021:fig1")
@pytest.mark.parametrize("l", [1, 2, 3])
def test_with_e_fixed_the_weights_above_matter_to_bp_alone(l):
    """If e is fixed, only BP depends on the weights above a layer.

    Unit 0 of layer l has h = tanh(0) = 0. So a change of its weights in W[l+1] leaves e bitwise unchanged.
    """
    net = mlp([4, 5, 6, 5, 3], ops.tanh, rng=np.random.default_rng(9))
    net.W[l][0], net.b[l][0] = 0, 0
    x, y = batch(net, 4)
    B = feedback.draw(net, law="normal", scale=1, rng=np.random.default_rng(10))
    other = net.copy()
    other.W[l + 1][:, 0] += 1
    assert changed_layers(dfa(net, x, y, B=B), dfa(other, x, y, B=B)) == []
    assert changed_layers(bp(net, x, y), bp(other, x, y)) == [l]
