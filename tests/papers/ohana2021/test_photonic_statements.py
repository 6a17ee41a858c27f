"""Statements of Ohana et al. (2021), Sections 3.1, 3.2 and 4, compared with the code.

V-11, V-12 and V-17 are test vectors: small examples with recorded digits. V-11 is the 4-3-3-2 tanh network of
`tests.oracles.core.v11`. V-12 adds clips and noise to V-11 (`v12` below). V-17 is an optical medium (`v17` below).
"""

import itertools
import math
from collections import Counter
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from nfa import data, feedback, ops
from nfa.clip import clip_entries, clip_l2, offset, offset_signed, row_norms
from nfa.experiments import records
from nfa.feedback.camera import shot_variance
from nfa.feedback.mirrors import ternarize, two_images
from nfa.feedback.opu import OPU
from nfa.network import ARCHITECTURES, accuracy, forward, mlp
from nfa.noise import Streams
from nfa.optim import SGD
from nfa.papers.ohana2021.table1 import PRINTED, clipping_and_noise, drops, expected_noise_norm, gaps_to_dfa
from nfa.rules.dfa import dfa
from nfa.rules.drtp import drtp
from nfa.rules.noisy_bp import noisy_bp
from nfa.rules.pdfa import pdfa
from nfa.sampling import EpochPartition, Full, WithoutReplacement
from nfa.train import train
from tests.oracles.core import assert_close, v11
from tests.project.tree import ROOT

rng = np.random.default_rng


class Given:
    """Replaces an rng by known normal samples: each call returns the next of these arrays."""

    def __init__(self, *arrays):
        self.arrays = list(arrays)

    def standard_normal(self, shape, dtype=None):
        assert self.arrays[0].shape == shape
        return self.arrays.pop(0)


def noise_v12(*layers):
    """The noise g of V-12 in the given layers l: 0.1 sin(6 + l + 2 i + 3 j) for record i and unit j."""
    units = {1: 3, 2: 3, 3: 2}
    return [
        np.array([[0.1 * math.sin(6 + l + 2 * i + 3 * j) for j in range(units[l])] for i in range(3)]) for l in layers
    ]


V12 = {"m": 3, "sigma": 1.0, "tau_B": 0.5, "tau_h_min": 0.2}


def v12(**settings):
    """dW of PDFA on V-12."""
    net, x, y, B = v11()
    return pdfa(net, x, y, B=B, **(V12 | {"rng": Given(*noise_v12(3, 2, 1))} | settings))[0]


def printed_entry(v, c):
    return math.copysign(min(c, abs(v)), v) if v else 0.0


def printed_clip(h, n, tau_h_min=0.2, tau_h_max=1.0):
    """clip_c(offset_nu(h)) entry by entry, with c and nu from this n."""
    c, nu = tau_h_max / math.sqrt(n), tau_h_min / math.sqrt(n)
    return np.array([[printed_entry(v + nu, c) for v in row] for row in h.tolist()])


def printed_scale(v, s):
    """min(s, ||v||) v / ||v||, as printed; it is 0 / 0 at v = 0."""
    norm = np.linalg.norm(v)
    return min(s, norm) * v / norm


# --- clip, scale, offset -------------------------------------------------------------------------------------


@pytest.mark.verifies("ohana2021:scale", "ohana2021:exp-ternary")
def test_scale_of_zero_is_zero_and_the_case_comes_up():
    """The scale of 0 is 0, and this case occurs: a confident answer has a ternary error of 0, and B 0 = 0.

    The printed formula divides 0 by 0 in this case.
    """
    e = np.array([[0.87, 0.1, 0.03]]) - np.array([[1.0, 0, 0]])
    p = ternarize(e, 0.15) @ rng(0).normal(size=(5, 3)).T
    assert not p.any()
    with np.errstate(invalid="ignore"):
        assert np.isnan(printed_scale(p[0], 1.0)).all()
    assert clip_l2(p, 1.0).tolist() == [[0.0] * 5]


@pytest.mark.verifies("ohana2021:scale", "ohana2021:eq9b")
@given(arrays(np.float64, (3, 4), elements=st.floats(-1e6, 1e6)), st.floats(1e-3, 1e3))
def test_scale_is_the_printed_formula_and_its_norm_is_at_most_the_bound(v, s):
    scaled = clip_l2(v, s)
    assert (np.linalg.norm(scaled, axis=1) <= s * (1 + 1e-14)).all()
    for row, want in zip(scaled, v, strict=True):
        if np.linalg.norm(want) > 1e-100:  # squares of smaller entries lose digits
            # for entries below 1e-208, the printed product with the norm is not a normal float
            np.testing.assert_allclose(row, printed_scale(want, s), rtol=1e-13, atol=1e-200)


@pytest.mark.verifies("ohana2021:offset")
@given(arrays(np.float64, (2, 3), elements=st.floats(-10, 10)), st.floats(0, 2))
def test_offset_adds_nu_to_every_entry(v, nu):
    assert offset(v, nu).tolist() == [[t + nu for t in row] for row in v.tolist()]


# --- the floor of equation 9, as printed and repaired ----------------------------------------------------------


@pytest.mark.verifies("ohana2021:eq9a", "ohana2021:exp-clip")
def test_the_printed_floor_fails_where_the_offset_cancels_the_activation():
    """The printed floor fails if the offset cancels the activation: the norm is 0, below tau_h_min = 0.2.

    The activation h is -nu in every unit, which is possible with tanh.
    """
    nu, c = 0.2 / math.sqrt(16), 1 / math.sqrt(16)
    net = mlp([3, 16, 2], ops.tanh, rng=rng(0))
    net.W[1][:], net.b[1][:] = 0, math.atanh(-nu)
    h = forward(net, rng(1).normal(size=(1, 3)))[1][1]
    assert row_norms(h)[0] == pytest.approx(0.2, rel=1e-14)
    assert row_norms(clip_entries(offset(h, nu), c))[0] < 1e-15


@pytest.mark.verifies("ohana2021:eq9a")
def test_the_digits_of_a_unit_that_the_offset_cancels():
    """If the offset cancels half of the units, the norm can be 0.0283 instead of at least 0.2.

    The setting is nu = 0.05, c = 0.25 and n = 16. Eight units are at -0.05 and eight at -0.06.
    """
    h = np.repeat([[-0.05, -0.06]], 8, axis=0).reshape(1, 16)
    assert row_norms(clip_entries(offset(h, 0.05), 0.25))[0] == pytest.approx(0.01 * math.sqrt(8), rel=1e-12)


FLOORS = st.floats(0.01, 1.0).flatmap(lambda low: st.tuples(st.just(low), st.floats(low, 2.0)))


@pytest.mark.verifies("ohana2021:eq9a")
@given(arrays(np.float64, (3, 5), elements=st.floats(0, 3)), FLOORS)
def test_the_printed_floor_holds_for_inputs_that_are_not_negative(h, bounds):
    low, high = bounds
    norms = row_norms(clip_entries(offset(h, low / math.sqrt(5)), high / math.sqrt(5)))
    assert (norms >= low * (1 - 1e-14)).all()
    assert (norms <= high * (1 + 1e-14)).all()


@pytest.mark.verifies("ohana2021:eq9a")
@given(arrays(np.float64, (3, 5), elements=st.floats(-3, 3)), FLOORS)
def test_the_signed_floor_holds_for_every_entry(h, bounds):
    low, high = bounds
    nu, c = low / math.sqrt(5), high / math.sqrt(5)
    v = clip_entries(offset_signed(h, nu), c)
    assert (np.abs(v) >= min(nu, c)).all()
    assert (row_norms(v) >= low * (1 - 1e-14)).all()
    assert (row_norms(v) <= high * (1 + 1e-14)).all()


@pytest.mark.verifies("ohana2021:eq9a")
@given(arrays(np.float64, (3, 5), elements=st.floats(-3, 3)), FLOORS)
def test_the_upper_bound_holds_for_every_input(h, bounds):
    low, high = bounds
    v = clip_entries(offset(h, low / math.sqrt(5)), high / math.sqrt(5))
    assert (row_norms(v) <= high * (1 + 1e-14)).all()


@pytest.mark.verifies("ohana2021:eq9")
def test_the_n_of_the_clip_is_that_of_the_vector_that_is_clipped():
    """In the clip of a vector, n must be the number of entries of this vector.

    For n_0 = 784 pixels with the value 1, the clip with n_0 gives the norm 1. The clip with n_1 = 512 gives the norm
    sqrt(784 / 512) = 1.2374.
    """
    x = np.ones((1, 784))
    assert row_norms(clip_entries(x, 1 / math.sqrt(784)))[0] == pytest.approx(1, rel=1e-14)
    assert row_norms(clip_entries(x, 1 / math.sqrt(512)))[0] == pytest.approx(1.2374368671, abs=5e-11)
    assert row_norms(clip_entries(np.ones((1, 512)), 1 / math.sqrt(10)))[0] == pytest.approx(7.1554175280, abs=5e-11)
    net = mlp([784, 6, 4, 2], ops.tanh, rng=rng(0))
    B = feedback.draw(net, law="normal", scale=1.0, rng=rng(1))
    dW, _ = pdfa(net, x, np.eye(2)[:1], B=B, m=1, sigma=0.0, rng=rng(2))
    _, h = forward(net, x)
    for l, n in ((1, 784), (2, 6), (3, 4)):  # with one record, dW = dz h^T has rank 1, so its rows are multiples of h
        want = printed_clip(h[l - 1], n, tau_h_min=0.0)
        assert_close(dW[l], np.outer(dW[l] @ want[0] / (want @ want.T)[0, 0], want[0]))
        assert np.abs(want).max() <= 1 / math.sqrt(n)


@pytest.mark.verifies("ohana2021:exp-clip")
def test_the_norms_of_the_experiment_at_its_start():
    """With the first weights of the experiment, the norms of all layer inputs are above tau_h_min = 0.5.

    We use the Fashion-MNIST images that are part of nfa, with pixels in [0, 1]. Every pixel satisfies the floor nu, but
    5 to 20 % of the tanh units do not.
    """
    images = data.load("fashion-mnist-small").x_train[:1000]
    x = images.reshape(len(images), -1) / 255.0
    for seed in (0, 1, 2):
        net = ARCHITECTURES["ohana2021"](init="uniform-fan-in", rng=rng(seed), dtype=np.float64)
        _, h = forward(net, x)
        for l in (0, 1, 2):
            root = math.sqrt(h[l].shape[1])
            v = clip_entries(offset(h[l], 0.5 / root), 1 / root)
            share = np.mean(np.abs(v) < 0.5 / root * (1 - 1e-12))
            assert row_norms(v).max() <= 1 + 1e-12
            assert row_norms(v).min() > (0.5 if l == 0 else 0.7)
            assert share == 0 if l == 0 else 0.05 < share < 0.2


# --- bounds on phi' ------------------------------------------------------------------------------------------


@pytest.mark.verifies("ohana2021:eq9c")
def test_no_positive_constant_bounds_the_derivatives_of_tanh_sigmoid_and_relu_from_below():
    """No positive constant bounds the derivatives of tanh, sigmoid and ReLU from below.

    For every gamma > 0, there is a z with phi'(z) < gamma, because tanh'(z) < 4 exp(-2 z) and sigmoid'(z) < exp(-z).
    """
    for exponent in range(1, 13):
        gamma = 10.0**-exponent
        z = -math.log(gamma)
        assert 0 < ops.tanh.dphi(np.array(z / 2 + 0.7)) < gamma
        assert 0 < ops.sigmoid.dphi(np.array(z)) < gamma
    assert ops.tanh.dphi(np.array(9.0)) == pytest.approx(6.0919938e-8, rel=1e-7)
    assert ops.sigmoid.dphi(np.array(20.0)) == pytest.approx(2.0611536e-9, rel=1e-7)
    assert ops.relu.dphi(np.array(-0.1)) == 0
    assert [ops.ACTIVATIONS[name].gamma_min for name in ("tanh", "sigmoid", "relu")] == [0, 0, 0]


@pytest.mark.verifies("ohana2021:eq9c")
@pytest.mark.parametrize("phi", [ops.tanh, ops.sigmoid], ids=lambda phi: phi.name)
@pytest.mark.parametrize("reach", [0.5, 2.0, 6.0])
def test_on_a_bounded_range_the_derivative_has_a_positive_minimum_at_its_ends(phi, reach):
    values = phi.dphi(np.linspace(-reach, reach, 4001))
    assert 0 < values.min() == pytest.approx(float(phi.dphi(np.array(reach))), rel=1e-12)
    assert values.max() == pytest.approx(phi.gamma_max, rel=1e-15)


@pytest.mark.verifies("ohana2021:eq9c")
def test_how_far_z_may_reach_for_equation_17_to_be_defined():
    """If tau_h_min = tau_h_max, Equation 17 is defined up to the z with (gamma_max / phi'(z))^2 = m + 1 = 257.

    We compute this z by bisection.
    """

    def reach(phi):
        low, high = 0.0, 20.0
        for _ in range(100):
            middle = (low + high) / 2
            inside = phi.gamma_max / float(phi.dphi(np.array(middle))) < math.sqrt(257)
            low, high = (middle, high) if inside else (low, middle)
        return low

    assert reach(ops.tanh) == pytest.approx(2.06444366, abs=5e-9)
    assert reach(ops.sigmoid) == pytest.approx(4.12888732, abs=5e-9)


# --- equations 1, 8, 11, 12 and Algorithm 1 -----------------------------------------------------------------------


@pytest.mark.verifies("ohana2021:eq1")
def test_the_clip_of_equation_1_acts_on_what_the_layer_reads_and_not_on_the_derivative():
    """The clip of Equation 1 acts on the input of the layer, not on the derivative.

    On V-12 without an offset, Equation 8 clips h. If we clip phi' instead, as the brace in Equation 1 says, dW differs.
    """
    net, x, y, B = v11()
    z, h = forward(net, x)
    dW = v12(tau_h_min=0.0)
    for l, of_h, of_dphi in ((1, 0.0753293490, 0.1187729831), (2, 0.1838645057, 0.1267506611)):
        p = np.array([printed_scale(row, 0.5) for row in (h[3] - y) @ B[l].T]) + noise_v12(l)[0]
        dphi, c = 1 / np.cosh(z[l]) ** 2, 1 / math.sqrt(h[l - 1].shape[1])
        assert_close(dW[l], (p * dphi).T @ np.clip(h[l - 1], -c, c) / 3)
        assert np.linalg.norm(dW[l]) == pytest.approx(of_h, abs=5e-11)
        assert np.linalg.norm((p * np.clip(dphi, -c, c)).T @ h[l - 1] / 3) == pytest.approx(of_dphi, abs=5e-11)


@pytest.mark.verifies("ohana2021:eq8", "ohana2021:alg1.16")
def test_the_printed_index_of_h_has_the_wrong_shape_or_gives_another_update():
    """With the printed index of h, an update has the wrong shape or the wrong value, on V-12.

    In the update of W^1, h^1 has 3 entries, but W^1 has 4 columns. In the update of W^2, h^2 has the correct shape, but
    the update has the wrong value.
    """
    net, x, y, B = v11()
    z, h = forward(net, x)
    u = [None] + [np.array([printed_scale(row, 0.5) for row in (h[3] - y) @ B[l].T]) + noise_v12(l)[0] for l in (1, 2)]
    dz = [None] + [u[l] / np.cosh(z[l]) ** 2 for l in (1, 2)]
    dW = v12()
    for l in (1, 2):
        assert_close(dW[l], dz[l].T @ printed_clip(h[l - 1], h[l - 1].shape[1]) / 3)
    assert (dz[1].T @ printed_clip(h[1], 3)).shape == (3, 3) != net.W[1].shape
    printed = dz[2].T @ printed_clip(h[2], 3) / 3
    assert printed.shape == net.W[2].shape
    assert np.linalg.norm(printed) == pytest.approx(0.0749394241, abs=5e-11)
    assert np.linalg.norm(dW[2]) == pytest.approx(0.1916016088, abs=5e-11)


@pytest.mark.verifies("ohana2021:eq8")
def test_the_noise_is_added_after_the_scaling():
    """The rule adds the noise after the scaling. Otherwise, it would scale the noise together with the signal.

    On V-12, the update of W^2 has the norm 0.1916. With noise before the scaling, the norm would be 0.1654.
    """
    net, x, y, B = v11()
    z, h = forward(net, x)
    before = np.array([printed_scale(row, 0.5) for row in (h[3] - y) @ B[2].T + noise_v12(2)[0]])
    other = (before / np.cosh(z[2]) ** 2).T @ printed_clip(h[1], 3) / 3
    assert np.linalg.norm(other) == pytest.approx(0.1654351920, abs=5e-11)
    assert np.linalg.norm(v12()[2]) == pytest.approx(0.1916016088, abs=5e-11)


@pytest.mark.verifies("ohana2021:eq11", "ohana2021:pre-eq11")
def test_equation_11_is_equation_8_wherever_its_parenthesis_opens():
    """On V-12, Equation 11 equals Equation 8 for both possible places of the opening parenthesis in Equation 11.

    ((B e + g) * phi') h^T and (B e + g) * (phi' h^T) are equal if * acts on every column.
    """
    net, x, y, B = v11()
    z, h = forward(net, x)
    p = np.array([printed_scale(row, 0.5) for row in (h[3] - y) @ B[2].T])
    g, h_in = noise_v12(2)[0], printed_clip(h[1], 3)
    first = sum(np.outer((p[i] + g[i]) / np.cosh(z[2][i]) ** 2, h_in[i]) for i in range(3)) / 3
    second = sum((p[i] + g[i])[:, None] * np.outer(1 / np.cosh(z[2][i]) ** 2, h_in[i]) for i in range(3)) / 3
    assert_close(first, second)
    assert_close(v12()[2], first)


@pytest.mark.verifies("ohana2021:eq12")
def test_the_noise_of_equation_12_carries_the_sign_of_the_signal():
    """The noise of Equation 12 must have the sign of the signal: on V-12, delta W = -signal - noise.

    Our direction is signal + noise. The paper prints -signal + noise, a different matrix with the same law, because -g
    has the law of g.
    """
    signal, whole = v12(sigma=0.0), v12()
    noise = [None] + [whole[l] - signal[l] for l in (1, 2, 3)]
    _, h = forward(*v11()[:2])
    assert_close(noise[3], noise_v12(3)[0].T @ printed_clip(h[2], 3) / 3)
    printed = [np.linalg.norm(-signal[l] + noise[l]) for l in (1, 2, 3)]
    right = [np.linalg.norm(-signal[l] - noise[l]) for l in (1, 2, 3)]
    assert printed == pytest.approx([0.0807618325, 0.1443241827, 0.0879945137], abs=5e-11)
    assert right == pytest.approx([0.0757108041, 0.1916016088, 0.0490646242], abs=5e-11)
    flipped = v12(rng=Given(*(-g for g in noise_v12(3, 2, 1))))
    for l in (1, 2, 3):
        assert_close(flipped[l], signal[l] - noise[l])


@pytest.mark.verifies("ohana2021:alg1.1-3")
def test_each_hidden_layer_has_one_feedback_matrix():
    """Each hidden layer l has one feedback matrix B[l], which the paper prints as B^{l+1}.

    Lines 1 to 3 of Algorithm 1 draw B^1..B^L, but line 14 uses B^2..B^{L+1}.
    """
    net = mlp([4, 7, 6, 5, 3], ops.tanh, rng=rng(0))
    B = feedback.draw(net, law="normal", scale=1.0, rng=rng(1))
    assert [l for l in range(len(B)) if B[l] is not None] == [1, 2, 3]
    assert [B[l].shape for l in (1, 2, 3)] == [(7, 3), (6, 3), (5, 3)]


@pytest.mark.verifies("ohana2021:alg1.4-5")
def test_two_readings_of_the_minibatches_differ_in_how_often_a_record_takes_part():
    """The minibatches of Algorithm 1 can be disjoint or fresh, and use a record 15 times or 16 times on average.

    There are 60 records, batches of 8 and 15 epochs. Disjoint batches use each record 15 times. Fresh batches use a
    record 16 times on average.
    """
    x = y = np.arange(60.0)[:, None]
    epochs, fresh = EpochPartition(x, y, 8, Streams(3)), WithoutReplacement(x, y, 8, Streams(3))
    assert epochs.steps_per_epoch == 8
    assert [len(epochs.indices(t)) for t in range(1, 9)] == [8] * 7 + [4]
    seen = Counter(int(i) for t in range(1, 121) for i in epochs.indices(t))
    assert set(seen.values()) == {15}
    seen = Counter(int(i) for t in range(1, 121) for i in fresh.indices(t))
    assert all(len(set(fresh.indices(t).tolist())) == 8 for t in range(1, 121))
    assert min(seen[i] for i in range(60)) < 15 < max(seen.values())
    assert sum(seen.values()) == 120 * 8


@pytest.mark.verifies("ohana2021:alg1.4-5", "ohana2021:exp-opt")
def test_the_steps_of_the_experiment():
    """An epoch of the experiment has 211 steps with the last batch of 240 records, or 210 steps without this batch.

    The experiment has 15 epochs of 54,000 records, in batches of 256.
    """
    x = np.zeros((54_000, 1), np.float32)
    short, drop = (EpochPartition(x, x, 256, Streams(0), last=last) for last in ("short", "drop"))
    assert (short.steps_per_epoch * 15, drop.steps_per_epoch * 15) == (3165, 3150)
    assert len(short.indices(211)) == 240
    assert 3165 * 256 / 54_000 == pytest.approx(15.0044, abs=5e-5)


@pytest.mark.verifies("ohana2021:alg1.6-12")
def test_the_output_is_that_of_layer_l_max_and_not_of_the_last_l_of_the_loop():
    """The output of the network is the output of its top layer, not of the last layer l in the printed loop.

    The loop runs over l = 1..L-1. With the last l, the printed line 11 computes h^2 again, which has 3 entries on V-11.
    """
    net, x, _, _ = v11()
    _, h = forward(net, x)
    for i, start in enumerate(x.tolist()):
        below = start
        for l in (1, 2):
            above = [math.tanh(math.fsum(w * v for w, v in zip(row, below, strict=True))) for row in net.W[l].tolist()]
            last, below = below, above
        read_literally = [math.tanh(math.fsum(w * v for w, v in zip(r, last, strict=True))) for r in net.W[2].tolist()]
        assert_close(h[2][i], np.array(read_literally))
        top = [math.exp(math.fsum(w * v for w, v in zip(row, below, strict=True))) for row in net.W[3].tolist()]
        assert_close(h[3][i], np.array(top) / math.fsum(top))
    assert (h[2].shape, h[3].shape) == ((3, 3), (3, 2))


@pytest.mark.verifies("ohana2021:alg1.13-15")
def test_the_three_readings_of_the_output_layer():
    """The three readings (interpretations) of the output layer give the recorded norms of dW^3 on V-12.

    The first reading is scale(e) + g, according to the loop from L. The second reading is scale(e), which releases the
    labels. The third reading is e without scaling or noise.
    """
    norms = {
        "noisy": np.linalg.norm(v12(top="noisy")[3]),
        "noiseless": np.linalg.norm(v12(top="noiseless", rng=Given(*noise_v12(2, 1)))[3]),
        "raw": np.linalg.norm(v12(top="raw", rng=Given(*noise_v12(2, 1)))[3]),
    }
    assert norms == pytest.approx({"noisy": 0.0490646242, "noiseless": 0.0678403263, "raw": 0.0931476766}, abs=5e-11)


@pytest.mark.verifies("ohana2021:alg1.13-15")
def test_without_noise_at_the_top_its_update_tells_a_record_apart():
    """Without noise in the top layer, the update dW^3 of this layer reveals a record.

    For each data set, dW^3 has only one value, whatever the noise in the layers below. The two data sets differ in one
    label, and their values of dW^3 differ.
    """
    net, x, y, B = v11()
    other = y[[0, 1, 0]]
    quiet = partial(pdfa, net, x, B=B, m=3, sigma=0.2, top="noiseless")
    tops = {tuple(quiet(y, rng=rng(seed))[0][3].ravel()) for seed in range(5)}
    others = {tuple(quiet(other, rng=rng(seed))[0][3].ravel()) for seed in range(5)}
    assert (len(tops), len(others), len(tops & others)) == (1, 1, 0)


@pytest.mark.verifies("ohana2021:alg1.16")
def test_one_step_is_line_16_with_h_of_the_layer_below():
    net, x, y, B = v11()
    old, dW = [W if W is None else W.copy() for W in net.W], v12()

    def rule(net, x, y, **_):
        return pdfa(net, x, y, B=B, **V12, rng=Given(*noise_v12(3, 2, 1)))

    next(train(net, rule, Full(x, y), SGD(0.1), Streams(0)))
    for l in (1, 2, 3):
        assert_close(net.W[l], old[l] - 0.1 * dW[l])


# --- the projection ------------------------------------------------------------------------------------


def v17():
    """An OPU with the medium of V-17, three mirrors for data, a fourth mirror for the anchor, and two pixels."""
    opu = OPU(3, 2, rng=rng(0), scale=1 / math.sqrt(2), n_anchor=1)
    opu.medium = np.array(
        [[math.sin(1 + 2 * j + 3 * k) + 1j * math.sin(2 + 2 * j + 3 * k) for k in range(4)] for j in (0, 1)]
    )
    return opu


@pytest.mark.verifies("ohana2021:eq10")
def test_noise_of_a_camera_depends_on_the_input_and_the_pixel():
    """The noise of a camera depends on the input and the pixel, with V-17's medium.

    We compare kappa times the variance of the recovered projection with the recorded digits.
    """
    R = v17().R
    got = {}
    for x in ([1, 0, 1], [1, 0, 0]):
        I_xa, I_x, I_a = (abs(R @ lit) ** 2 for lit in ([*x, 1], [*x, 0], [0, 0, 0, 1]))
        got[str(x)] = shot_variance(I_xa, I_x, I_a, photons=1.0)
    assert got["[1, 0, 1]"] == pytest.approx([1.46010246, 1.49318744], abs=5e-9)
    assert got["[1, 0, 0]"] == pytest.approx([0.31475177, 0.46418870], abs=5e-9)


@pytest.mark.verifies("ohana2021:exp-twoproj")
def test_two_projections_add_up_and_two_intensities_do_not():
    """The difference of two linear projections is the projection of e, but the difference of two intensities is not.

    We use the medium of V-17 and e = (1, 0, -1). The linear mode gives B e_+ - B e_-. Intensities do not distinguish
    R e_+ from -R e_+.
    """
    opu, e = v17(), np.array([[1.0, 0, -1.0]])
    plus, minus = two_images(e)
    p = opu.linear(plus) - opu.linear(minus)
    assert_close(opu.project(e), p)
    phase = np.exp(-1j * np.angle(opu.R[:, 3]))
    assert_close(p[0], (phase * (opu.R[:, 0] - opu.R[:, 2])).real)
    assert p[0] == pytest.approx([-0.01783511, 0.08218078], abs=5e-9)
    seen = opu.intensity(plus) - opu.intensity(minus)
    assert seen[0] == pytest.approx([0.12443410, 0.12686426], abs=5e-9)
    opu.R[:, 0] *= -1
    assert_close(opu.intensity(plus) - opu.intensity(minus), seen)
    assert np.abs(opu.project(e) - p).max() > 1


# --- settings that the experiments do not state ----------------------------------------------------------------


@pytest.mark.verifies("ohana2021:exp-net")
def test_the_network_of_the_experiment_and_what_its_initialisation_leaves_open():
    net = ARCHITECTURES["ohana2021"](rng=rng(0), dtype=np.float64)
    assert net.shape_h == [(784,), (512,), (512,), (10,)]
    assert [phi.name for phi in net.phi[1:3]] == ["tanh", "tanh"]
    assert net.loss is ops.softmax_cross_entropy
    assert net.n_parameters == 784 * 512 + 512 + 512 * 512 + 512 + 512 * 10 + 10 == 669_706
    stds = {
        init: ARCHITECTURES["ohana2021"](init=init, rng=rng(0), dtype=np.float64).W[1].std()
        for init in ("uniform-fan-in", "glorot-uniform")
    }
    assert stds == pytest.approx({"uniform-fan-in": 0.0206, "glorot-uniform": 0.0393}, abs=1e-4)


@pytest.mark.verifies("ohana2021:exp-tau")
def test_readings_that_the_stated_bounds_leave_open():
    """The paper's stated bounds allow several readings (interpretations). Their updates have recorded norms on V-12.

    We compute the norm of dW^3 for four tau_h_min, and of dW^1 with and without clipping the input.
    """
    norms = [np.linalg.norm(v12(tau_h_min=low)[3]) for low in (0, 0.1, 0.2, 0.5)]
    assert norms == pytest.approx([0.0364951526, 0.0402175140, 0.0490646242, 0.0883347267], abs=5e-11)
    norms = [np.linalg.norm(v12(clip_x=clip_x)[1]) for clip_x in (True, False)]
    assert norms == pytest.approx([0.0757108041, 0.1472305793], abs=5e-11)


@pytest.mark.verifies("ohana2021:exp-bp")
def test_two_readings_of_the_error_in_the_baseline():
    """In the baseline BP, one reading scales the error e to the norm 0.5, and a second reading leaves e unscaled.

    We use V-11 with V-12's noise of the top layer. The rule draws the noise once for all layers.
    """
    net, x, y, _ = v11()

    def norms(tau_e):
        dW, _ = noisy_bp(net, x, y, m=3, sigma=1.0, tau_e=tau_e, tau_h_min=0.2, rng=Given(*noise_v12(3)))
        return [np.linalg.norm(d) for d in dW[1:]]

    assert norms(0.5) == pytest.approx([0.0386766994, 0.0848007865, 0.0490646242], abs=5e-11)
    assert norms(math.inf) == pytest.approx([0.0579087145, 0.1304397644, 0.0746914968], abs=5e-11)


@pytest.mark.verifies("ohana2021:exp-ternary")
@given(arrays(np.float64, (2, 4), elements=st.floats(-1, 1)), st.floats(0, 0.9))
def test_ternary_errors_follow_the_printed_cases(e, t):
    want = [[-1 if v < -t else 1 if v > t else 0 for v in row] for row in e.tolist()]
    assert ternarize(e, t).tolist() == want


@pytest.mark.verifies("ohana2021:exp-ternary")
def test_of_a_network_that_knows_nothing_only_the_label_survives():
    """If all ten outputs of a network are equal, its ternary error is nonzero only at the label.

    The error e is 0.1 everywhere except -0.9 at the label, and the threshold t is 0.15.
    """
    e = np.full((10, 10), 0.1) - np.eye(10)
    assert np.array_equal(ternarize(e, 0.15), -np.eye(10))
    assert list(itertools.chain(*ternarize(np.array([[0.15, -0.15]]), 0.15))) == [0, 0]


@pytest.mark.slow
@pytest.mark.verifies("ohana2021:exp-ternary")
def test_direct_random_target_projection_ends_below_ternarised_dfa():
    """After 15 epochs, direct random target projection is 2 points less accurate than DFA with ternary errors.

    The runs have three seeds and the Fashion-MNIST images that are part of nfa. Entries of B have standard deviation
    0.05.
    """
    images = data.load("fashion-mnist-small")
    x, x_test = data.scale_pixels(images.x_train, images.x_test, "standard", np.float32)
    x, x_test = x.reshape(len(x), -1), x_test.reshape(len(x_test), -1)
    y = data.one_hot(images.y_train, 10, np.float32)

    def ternary(e, B):
        return feedback.project(ternarize(e, 0.15), B)

    def final(rule, seed, **settings):
        streams = Streams(seed)
        net = ARCHITECTURES["ohana2021"](rng=streams("init", 0), dtype=np.float32)
        B = feedback.draw(net, law="normal", scale=0.05, rng=streams("feedback", 0))
        batches = EpochPartition(x, y, 256, streams)
        steps = train(net, partial(rule, B=B, **settings), batches, SGD(0.01, momentum=0.9), streams)
        for _ in itertools.islice(steps, 15 * batches.steps_per_epoch):
            pass
        return accuracy(net, x_test, images.y_test)

    tdfa = np.array([final(dfa, seed, project=ternary) for seed in range(3)])
    binary = np.array([final(drtp, seed) for seed in range(3)])
    assert tdfa.mean() == pytest.approx(0.818, abs=0.005)
    assert binary.mean() == pytest.approx(0.795, abs=0.005)
    assert (binary < tdfa - 0.01).all()


@pytest.mark.verifies("ohana2021:exp-data")
def test_the_split_of_the_experiment():
    """The experiment holds out a tenth of the 60,000 training images, or a tenth of all 70,000 images.

    Each image is either a training image or a held-out image.
    """
    for n, held_out, steps in ((60_000, 6_000, 211), (70_000, 7_000, 247)):
        kept, held = data.split_validation(n, 0.1, rng(0))
        assert len(held) == held_out
        assert np.array_equal(np.sort(np.concatenate([kept, held])), np.arange(n))
        assert math.ceil(len(kept) / 256) == steps


@pytest.mark.verifies("ohana2021:exp-sigma")
@pytest.mark.parametrize("n, times", [(512, 22.616371158), (10, 3.084327760), (100, 9.975031640)])
def test_the_norm_of_the_noise_grows_with_the_width_of_the_layer(n, times):
    """The norm of the noise grows with the width of the layer. The norm of 10 sigma in the text belongs to 100 units.

    We use SciPy's chi law.
    """
    assert stats.chi(n).mean() == pytest.approx(times, rel=1e-9)
    for sigma in (0.01, 0.05, 0.1, 0.2):
        assert expected_noise_norm(sigma, n) == pytest.approx(sigma * times, rel=1e-9)


@pytest.mark.verifies("ohana2021:exp-sigma")
def test_the_printed_percentages_are_not_those_of_512_units():
    """The printed noise percentages are too small for 512 units, relative to the largest ||B e||, which is 1.

    For each sigma, the mean norm of 4,000 samples is within 5 standard errors of our value (false alarm 6e-7). An error
    of 9.8 standard errors (0.5 % of the norm) is missed with probability 1e-6.
    """
    for sigma, printed, ours in ((0.01, 0.1, 0.2262), (0.05, 0.5, 1.1308), (0.1, 1.0, 2.2616), (0.2, 2.0, 4.5233)):
        norms = np.linalg.norm(rng(8).normal(0, sigma, (4000, 512)), axis=1)
        assert abs(norms.mean() - ours) < 5 * norms.std() / math.sqrt(4000) + 5e-5
        assert norms.min() > 1.9 * printed
        assert np.linalg.norm(rng(9).normal(0, sigma, (4000, 10)), axis=1).mean() < 0.32 * printed


TABLE1 = {
    "BP": "88.33 75.22 70.71 71.47 71.27 70.28 66.78",
    "DFA": "86.80 84.20 84.04 84.15 83.70 83.06 81.66",
    "TDFA": "86.63 84.20 84.38 84.04 83.94 82.98 80.80",
    "PDFA": "85.85 84.00 83.79 83.69 83.36 82.63 80.94",
}
TABLE1 = {rule: [Fraction(number) for number in row.split()] for rule, row in TABLE1.items()}
COLUMNS = ["non-private", "0", "0.01", "0.03", "0.05", "0.1", "0.2"]


@pytest.mark.verifies("ohana2021:table1-c1")
def test_pdfa_is_within_one_point_of_dfa_in_every_printed_column():
    gaps = [a - b for a, b in zip(TABLE1["DFA"], TABLE1["PDFA"], strict=True)]
    assert list(gaps_to_dfa(PRINTED)) == COLUMNS
    assert list(gaps_to_dfa(PRINTED).values()) == [float(gap) for gap in gaps]
    assert 0 < max(gaps) == Fraction("0.95") < 1
    assert float(100 * gaps[0] / TABLE1["DFA"][0]) == pytest.approx(1.0945, abs=5e-5)


@pytest.mark.verifies("ohana2021:table1-c2")
def test_three_readings_of_the_hit_within_three_percent():
    own = {rule: float(row[0] - row[4]) for rule, row in TABLE1.items()}
    assert drops(PRINTED, "0.05") == own == {"BP": 17.06, "DFA": 3.1, "TDFA": 2.69, "PDFA": 2.49}
    below_bp = {rule: float(TABLE1["BP"][0] - TABLE1[rule][4]) for rule in ("DFA", "TDFA", "PDFA")}
    assert below_bp == {"DFA": 4.63, "TDFA": 4.39, "PDFA": 4.97}
    relative = [float(100 * (row[0] - row[4]) / row[0]) for row in (TABLE1["DFA"], TABLE1["TDFA"], TABLE1["PDFA"])]
    assert relative == pytest.approx([3.571, 3.105, 2.900], abs=5e-4)


@pytest.mark.verifies("ohana2021:table1-c3")
def test_clips_cost_more_than_noise_up_to_a_tenth():
    clips = {rule: float(row[0] - row[1]) for rule, row in TABLE1.items()}
    assert clips == {"BP": 13.11, "DFA": 2.6, "TDFA": 2.43, "PDFA": 1.85}
    noise = {"DFA": [0.5, 1.14, 2.54], "TDFA": [0.26, 1.22, 3.4], "PDFA": [0.64, 1.37, 3.06]}
    for rule, costs in noise.items():
        for column, cost in zip((4, 5, 6), costs, strict=True):
            assert float(TABLE1[rule][1] - TABLE1[rule][column]) == cost
            assert clipping_and_noise(PRINTED, rule, COLUMNS[column]) == (clips[rule], cost)
        assert costs[1] < clips[rule]
    assert [rule for rule in noise if noise[rule][2] > clips[rule]] == ["TDFA", "PDFA"]


# --- the results in this repository ----------------------------------------------------------------------------

RESULTS = ROOT / "results" / "ohana2021-table1-paper"


def results(reading, columns, seeds):
    """{rule: [accuracy in percent]} and the alignment cosines of PDFA's layer 2, as means over seeds.

    The runs have the paper's size.
    """
    accuracy, cosines = {}, []
    for rule, sigma in itertools.product(("BP", "DFA", "TDFA", "PDFA"), columns):
        found = [records.read(RESULTS / f"{rule.lower()}-{sigma}-{reading}-seed{seed}.json") for seed in seeds]
        accuracy.setdefault(rule, []).append(100 * np.mean([record["test_accuracy"] for record in found]))
        if rule == "PDFA":
            cosines.append(np.mean([entry["alignment"][1] for record in found for entry in record["history"]]))
    return accuracy, cosines


@pytest.mark.verifies("ohana2021:table1", "ohana2021:exp-ternary")
def test_the_numbers_of_the_two_readings_of_table_1():
    near, _ = results("nearest", COLUMNS, (1, 2, 3))
    apart = np.abs([np.array(near[rule]) - np.array(TABLE1[rule], float) for rule in ("DFA", "TDFA", "PDFA")])
    assert (apart.mean(), apart.max()) == pytest.approx((0.76, 1.81), abs=0.005)
    assert np.array(near["DFA"])[[0, 1, 6]] == pytest.approx([86.49, 84.91, 81.70], abs=0.005)
    assert np.array(near["BP"])[[1, 6]] == pytest.approx([71.28, 71.29], abs=0.005)
    theory, _ = results("theory", ["0", "0.05", "0.2"], (1,))
    printed = {rule: np.array(row, float)[[1, 4, 6]] for rule, row in TABLE1.items()}
    below = [printed[rule] - np.array(theory[rule]) for rule in ("DFA", "TDFA", "PDFA")]
    assert np.mean(below) == pytest.approx(4.68, abs=0.006)
    assert np.min(below) > 1
    assert theory["DFA"] == pytest.approx([80.22, 80.18, 79.87], abs=1e-9)
    labels = [records.read(RESULTS / f"drtp-non-private-nearest-seed{s}.json")["test_accuracy"] for s in (1, 2, 3)]
    assert (near["TDFA"][0], 100 * np.mean(labels)) == pytest.approx((85.59, 83.10), abs=0.005)


@pytest.mark.verifies("ohana2021:fig2")
def test_noise_degrades_the_alignment_of_layer_2():
    near, cosines = results("nearest", COLUMNS, (1, 2, 3))
    assert cosines == pytest.approx([0.378, 0.163, 0.146, 0.095, 0.066, 0.038, 0.023], abs=5e-4)
    assert near["PDFA"][6] == pytest.approx(82.72, abs=0.005)


@pytest.mark.verifies("ohana2021:prop2", "ohana2021:eq2")
def test_a_bias_whose_input_is_clipped_learns_28_times_more_slowly():
    """A bias with a clipped input learns 28 times more slowly: 784 inputs and tau_h_max = 1 give c = 1 / 28.

    The forward pass adds the unclipped bias, so the factor is not c^2.
    """
    net = mlp([784, 3, 2], ops.tanh, rng=rng(0))
    B = feedback.draw(net, law="normal", scale=1.0, rng=rng(1))
    x, y = rng(2).uniform(size=(4, 784)), np.eye(2)[[0, 1, 1, 0]]
    db = {
        bias: pdfa(net, x, y, B=B, m=4, sigma=0.0, tau_h_min=0.5, bias=bias, rng=rng(3))[1][1]
        for bias in ("one", "clipped")
    }
    np.testing.assert_allclose(db["one"], 28 * db["clipped"], rtol=1e-12)
    lifted = net.copy()
    lifted.b[1] += db["clipped"]
    np.testing.assert_allclose(
        forward(lifted, x)[0][1] - forward(net, x)[0][1], np.tile(db["clipped"], (4, 1)), atol=1e-12
    )
