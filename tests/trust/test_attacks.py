"""Tests of attacks on the guarantees, from the list on the page tutorials/attacks.md.

Independent computations give the true values.
"""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from nfa import clip as numpy_clips
from nfa import network, noise, ops, sampling
from nfa.mechanism import Mechanism
from nfa.papers.ohana2021.column_bound import Clips, corrected_column_renyi
from nfa.privacy import subsampling
from nfa.privacy.accountant import epsilon
from nfa.rules.dp_sgd import dp_sgd
from nfa.rules.shuffled_sgd import shuffled_sgd


@pytest.fixture(params=["numpy", pytest.param("kernels", marks=pytest.mark.slow)])
def clip(request):
    """The module that defines the clips."""
    if request.param == "numpy":
        return numpy_clips
    return pytest.importorskip("nfa.kernels.clip", reason="numba is not installed: pip install numba")


def norm(dW, db):
    """The l2 norm of a direction, in long double."""
    parts = [np.asarray(g, np.longdouble).ravel() for g in (*dW[1:], *db[1:])]
    return float(np.sqrt(np.square(np.concatenate(parts)).sum()))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int64, np.bool_])
def test_pixels_that_are_no_floats_are_refused(dtype):
    """The rules refuse integer pixels, because an image of norm 1731 C in uint8 would pass every clip.

    The square of 255 overflows in uint8.
    """
    net = network.mlp([784, 3], ops.relu, rng=np.random.default_rng(0), dtype=np.float32)
    x = np.ones((1, 784), dtype)
    with pytest.raises(ValueError, match="x must hold floats, because"):
        dp_sgd(net, x, np.eye(3, dtype=np.float32)[:1], C=1.0, m=1, sigma=0.0, rng=np.random.default_rng(0))


@pytest.mark.parametrize("std", [6.9e-46, 1e-40, 1e37])
def test_noise_that_a_dtype_does_not_have_is_refused(std):
    """Noise is refused if its std is too small or too large for the dtype.

    If the std is below the normal floats, the noise has only few values. If it is near the largest float, an overflow
    of sums reveals the number of records.
    """
    out = np.zeros(4, np.float32)
    with pytest.raises(ValueError, match="the standard deviation of float32 noise must be 0 or between"):
        noise.add_normal(out, std, np.random.default_rng(0))
    assert not out.any()
    noise.add_normal(out.astype(np.float64), std, np.random.default_rng(0))


def one_weight(x, y, rule, **settings):
    """The norm of one record's direction in float32, without noise. The network has one weight, which is 0."""
    layers = [(network.Dense(1, bias=False),)]
    net = network.Net((1,), layers, loss=ops.squared_error, rng=np.random.default_rng(0), dtype=np.float32)
    net.W[1][:] = 0
    x, y = (np.full((1, 1), v, np.float32) for v in (x, y))
    return norm(*rule(net, x, y, rng=np.random.default_rng(0), **settings))


def test_a_weight_below_the_normal_floats_is_none():
    """A clip factor below the normal floats counts as 0.

    If such a factor were rounded up, it could almost double the bound C / m or L of a record.
    """
    assert one_weight(1e19, -1, dp_sgd, C=1e-15, m=1.4e11, sigma=0.0) <= 1e-15 / 1.4e11
    assert one_weight(1e18, -1, shuffled_sgd, L=7.1e-28, sigma=0.0) <= 7.1e-28


def test_positions_of_a_convolution_that_cancel_are_clipped_by_what_is_added():
    """If the terms of positions cancel, the clip of a convolution uses the norm of their computed sum.

    dz is orthogonal to the patches of all positions, so the norm and the sum consist of rounding errors.
    """
    r, most = np.random.default_rng(0), 0.0
    map_ = network.Conv2d(64, (3, 2)).bind((33, 5, 5))  # this convolution computes norms from Gram matrices
    for _ in range(40):
        h, dz = np.zeros((1, 33, 5, 5)), np.zeros((1, *map_.out_shape))
        h[0, r.integers(33)] = r.normal(size=(5, 5)) * 2.0**30
        _, s, v = np.linalg.svd(map_.patches(h)[0].T)
        unseen = v[np.sum(s > 1e-12 * s[0]) :]
        dz[0, r.integers(64)] = (r.normal(size=len(unseen)) @ unseen).reshape(map_.out_shape[1:])
        terms = map_.terms(dz, h)
        found, (dW, _) = math.sqrt(terms.norms2()[0][0]), terms.outer(np.ones(1))
        most = max(most, float(np.linalg.norm(dW)) / found)
    assert 0 < most <= 1 + 1e-9


def test_more_steps_than_floats_count_are_refused():
    """Step counts beyond the range of exact floats are refused.

    For example, 1e308 uses of a curve that is too small for a float give the delta 4e-17, but a sum of zeros gives 0.
    """
    tiny = Mechanism(
        law="gaussian", sensitivity=1.0, adjacency="add-remove", noise_std=1e170, sampling="none", sampling_rate=1.0
    )
    with pytest.raises(ValueError, match=r"steps must be at most 2\^53"):
        epsilon([(tiny, 10**308)], delta=1e-100)


@pytest.mark.parametrize("eps, q", [(632.2986462251511, 6.112024905763592e-277), (700.0, 1e-300), (40.0, 1e-17)])
def test_amplified_pure_epsilons_are_rounded_up(eps, q):
    with mpmath.workdps(60):
        exact = mpmath.log1p(mpmath.mpf(q) * mpmath.expm1(mpmath.mpf(eps)))
        assert exact <= subsampling.amplified(eps, sampling_rate=q) <= exact * (1 + mpmath.mpf("1e-11"))


def test_a_rate_that_no_coin_has_is_refused():
    """A sampling rate below 2^-30 is refused.

    The values of `random()` are multiples of 2^-53. So the probability of a record would be at least 2^-53 for any
    small q.
    """
    x = np.zeros((3, 1))
    with pytest.raises(ValueError, match=r"the sampling rate q must be at least 2\^-30"):
        sampling.Poisson(x, x, 1e-300, noise.Streams(0))


def test_the_column_bound_is_infinite_where_rounding_decides_on_its_pole():
    clips = Clips(gamma_min=0.31168731430693886, gamma_max=1, tau_h_min=0.21877529075697374, tau_h_max=1, tau_B=1.0)
    alpha, m = 2.242626251087401, 266
    r = (1 / (Fraction(clips.gamma_min) * Fraction(clips.tau_h_min))) ** 2
    assert (Fraction(alpha) - 1) * (r - 1) / m > 1
    assert corrected_column_renyi(alpha=alpha, m=m, n_l=5, sigma=0.2, clips=clips) == math.inf


def test_rows_that_are_no_numbers_are_clipped_to_0(clip):
    assert clip.clip_l2(np.array([[math.nan, 1.0], [math.inf, 1.0], [3.0, 4.0]]), 1.0).tolist() == [
        [0.0, 0.0],
        [0.0, 0.0],
        [0.6000000000000001, 0.8],
    ]


def test_clips_and_normalisers_beyond_a_dtypes_digits_are_refused(clip):
    """A clip and a normaliser whose quotient has too few digits in the dtype are refused.

    For example, in float32, a row of norm 1e-45 divided by m = 1.99 is rounded to 1e-45, which is 1.99 times too large.
    """
    with pytest.raises(
        ValueError, match=r"the clipping bound c must be at least 9\.86e-32 for float32 arrays, got 1e-45"
    ):
        clip.clip_l2(np.ones((1, 1), np.float32), 1e-45)
    assert clip.clip_l2(np.ones((1, 1)), 1e-45).item() == 1e-45
    with pytest.raises(ValueError, match=r"the normaliser m of dp_sgd must be at most 2\^53, got m=3.4e\+38"):
        one_weight(1, -1, dp_sgd, C=1.0, m=3.4e38, sigma=0.0)
