"""Tests of the optical processing unit: physics, statistics, the ideal limit, lightonml's device and bad input.

Every statistical test has a fixed seed. With another seed, correct code would fail with probability at most
FALSE_ALARM.
"""

import cmath
import importlib.util
import math
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from scipy import stats

from nfa import ops
from nfa.feedback.camera import Camera, recover, shot_variance
from nfa.feedback.lighton import LightOnOPU, NoDevice
from nfa.feedback.mirrors import ternarize, two_images
from nfa.feedback.opu import OPU, optical
from nfa.network import mlp
from nfa.rules.dfa import dfa
from tests.oracles import chance
from tests.oracles.core import assert_close, batch

FALSE_ALARM = 1e-6


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture
def lightonml():
    """Whether LightOn's library is installed. `LightOnOPU` imports this library."""
    if importlib.util.find_spec("lightonml") is None:
        pytest.skip(
            "lightonml is not installed: pip install 'setuptools<81' attrs requests numexpr, "
            "then pip install --no-deps lightonml==1.4.3"
        )


@pytest.fixture(params=[OPU, LightOnOPU])
def device(request):
    """The class of an OPU: nfa's or lightonml's. Each must pass the tests that use this fixture."""
    if request.param is LightOnOPU:
        request.getfixturevalue("lightonml")
    return request.param


def follows(sample, distribution):
    chance.follows(sample, distribution.cdf, sees=0.06)


def is_normal_score(z):
    """Test that z is from N(0, 1). If the mean of z is 9.7 instead of 0, the test misses this with probability 1e-6."""
    assert 2 * stats.norm.sf(abs(z)) > FALSE_ALARM, z


def are_normal(sample, std):
    """Test a sample of N(0, std^2) by its distribution function and, with more power, by its variance."""
    sample = np.ravel(sample)
    follows(sample, stats.norm(0, std))
    have_variance(sample[:, None], std**2, excess=0)


def are_uncorrelated(one, other):
    is_normal_score(np.corrcoef(np.ravel(one), np.ravel(other))[0, 1] * math.sqrt(np.size(one)))


def have_variance(samples, variance, excess):
    """Test that the columns of an array of independent samples have these variances.

    ``excess`` is the law's excess kurtosis in each column. For n samples, the relative error of the sample variance has
    variance 2 / (n - 1) + excess / n. The score is the sum of these errors over the columns, divided by the std of this
    sum.
    """
    n = len(samples)
    error = samples.var(axis=0, ddof=1) / variance - 1
    is_normal_score(error.sum() / math.sqrt(np.broadcast_to(2 / (n - 1) + excess / n, error.shape).sum()))


def fits_counts(counts, distribution, last):
    """Pearson's test of the numbers of counts 0, 1, ..., last - 1 and of larger counts."""
    observed = np.bincount(np.minimum(counts, last), minlength=last + 1)
    expected = len(counts) * np.append(distribution.pmf(np.arange(last)), distribution.sf(last - 1))
    assert expected.min() > 20
    chance.fits(observed, expected, sees=0.2)


def true_intensities(opu, x):
    """I_{x+a}, I_x and I_a for one x and the anchor a, from the columns of R for the lit mirrors."""
    E_x = sum((opu.R[:, k] for k in np.flatnonzero(x)), np.zeros(opu.n_out, complex))
    E_a = sum(opu.R[:, opu.n_in + k] for k in range(opu.n_anchor))
    return [abs(E) ** 2 for E in (E_x + E_a, E_x, E_a)]


def some_e(m, n, seed=1, dtype=np.float64):
    return rng(seed).integers(-1, 2, (m, n)).astype(dtype)


X = np.array([1.0, 0, 1, 1, 0, 1, 0, 1])  # five of eight mirrors are lit


# --- the ideal limit -----------------------------------------------------------------------------------------


def V17():
    """The fixed 2 x 4 medium of the ledger's reference numbers.

    Three mirrors are for the data, and the fourth mirror is for the anchor.
    """
    opu = OPU(3, 2, rng=rng(), scale=1 / math.sqrt(2), n_anchor=1)
    opu.medium = np.array(
        [[math.sin(1 + 2 * j + 3 * k) + 1j * math.sin(2 + 2 * j + 3 * k) for k in range(4)] for j in (0, 1)]
    )
    return opu


def test_the_anchor_recovers_the_projection_to_the_digits():
    """The anchor recovers the projection of x = (1, 0, 1) with all digits of vector V-17 in the ledger."""
    opu, x = V17(), np.array([[1.0, 0.0, 1.0]])
    I_x = opu.intensity(x)[0]
    I_xa = abs(opu.R @ [1, 0, 1, 1]) ** 2
    I_a = abs(opu.R[:, 3]) ** 2
    assert I_xa == pytest.approx([1.7185486017, 0.77583373458], rel=1e-10)
    assert I_x == pytest.approx([5.85026849595, 1.99821488491], rel=1e-10)
    assert I_a == pytest.approx([1.29593938229, 0.46445083517], rel=1e-10)
    for p in (recover(I_xa, I_x, I_a), opu.linear(x)[0], opu.B @ x[0]):
        assert p == pytest.approx([-2.38391209598, -1.23757622543], rel=1e-10)


@pytest.mark.verifies("ohana2021:eq5", "ohana2021:exp-twoproj")
@pytest.mark.parametrize("n_anchor, anchor_shot, scale", [(1, False, 1.0), (16, True, 0.1)])
def test_without_effects_an_opu_multiplies_by_B(n_anchor, anchor_shot, scale):
    opu = OPU(6, 50, rng=rng(), n_anchor=n_anchor, anchor_shot=anchor_shot, scale=scale)
    e = some_e(40, 6)
    B = np.empty((50, 6))
    for j, k in np.ndindex(B.shape):
        phase = cmath.phase(sum(complex(r) for r in opu.R[j, 6:]))
        B[j, k] = math.sqrt(2) * scale * (cmath.exp(-1j * phase) * complex(opu.R[j, k])).real
    assert_close(opu.B, B)
    largest = np.abs(e @ B.T).max()
    assert np.abs(opu.project(e) - e @ B.T).max() < 1e-12 * largest
    assert np.abs(opu.linear((e > 0) * 1.0) - (e > 0) @ B.T).max() < 1e-12 * largest


def test_without_noise_nothing_is_drawn(device):
    generator = rng(3)
    opu = device(6, 20, rng=generator)
    before = generator.bit_generator.state
    first = opu.project(some_e(5, 6), rng=generator)
    opu.intensity((some_e(5, 6) > 0) * 1.0, rng=generator)
    assert generator.bit_generator.state == before
    assert np.array_equal(first, opu.project(some_e(5, 6)))


@pytest.mark.verifies("ohana2021:exp-twoproj")
def test_two_images_are_binary_and_make_up_the_error():
    e = some_e(30, 10)
    plus, minus = two_images(e)
    assert set(np.unique(plus)) | set(np.unique(minus)) == {0.0, 1.0}
    assert np.array_equal(plus - minus, e)
    assert not (plus * minus).any()


@pytest.mark.verifies("ohana2021:exp-twoproj")
def test_intensities_do_not_make_a_projection_of_a_ternary_error():
    """Intensities do not give the projection of a ternary error e = e_+ - e_-.

    The difference |B e_+|^2 - |B e_-|^2 of two exposures is not a linear function of e, so they need the linear mode.
    """
    opu = OPU(2, 200, rng=rng())
    one, other, both = (opu.intensity(np.array([x])) for x in ([1.0, 0], [0, 1.0], [1.0, 1.0]))
    assert np.abs(both - one - other).max() > 1


@pytest.mark.verifies("ohana2021:exp-ternary", "ohana2021:exp-twoproj")
def test_dfa_by_an_opu_is_dfa_on_the_ternary_error(device):
    """DFA with OPUs is DFA on the ternary error, with the matrices B[l] of the OPUs.

    The tolerance for lightonml is larger, because lightonml computes in float32.
    """
    net = mlp((7, 12, 9, 5), ops.tanh, rng=rng(1))
    x, y = batch(net, 20, seed=2)
    opus = [None, device(5, 12, rng=rng(3), scale=0.2), device(5, 9, rng=rng(4), scale=0.2), None]
    got = dfa(net, x, y, B=opus, project=partial(optical, threshold=0.15))
    want = dfa(net, x, y, B=[opu and opu.B for opu in opus], project=lambda e, B: ternarize(e, 0.15) @ B.T)
    for one, other in zip(got, want, strict=True):
        for l in (1, 2, 3):
            assert np.abs(other[l]).max() > 0
            tolerance = 1e-12 if device is OPU else 1e-6
            assert np.abs(one[l] - other[l]).max() < tolerance * np.abs(other[l]).max()


def test_optical_without_a_threshold_takes_a_ternary_error_only():
    opu, e = OPU(3, 4, rng=rng()), np.array([[0.7, -0.1, -0.6]])
    assert_close(optical(e, opu, threshold=0.15), optical(np.array([[1.0, 0.0, -1.0]]), opu))
    with pytest.raises(ValueError, match=r"must be -1, 0 or 1 .*, got 0\.7"):
        optical(e, opu)


# --- the medium ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_anchor", [1, 16])
def test_entries_of_B_are_independent_normals(n_anchor):
    opu = OPU(40, 500, rng=rng(1), scale=0.3, n_anchor=n_anchor)
    B = opu.B
    are_normal(B, 0.3)
    for one, other in ((B[:, 1:], B[:, :-1]), (B[1:], B[:-1]), (B[:, ::2], B[:, 1::2])):
        are_uncorrelated(one, other)
        are_uncorrelated(one**2, other**2)


def test_the_medium_is_complex_gaussian_of_unit_mean_intensity():
    R = OPU(40, 500, rng=rng(2), scale=0.3).R
    are_normal(R.real, math.sqrt(0.5))
    are_normal(R.imag, math.sqrt(0.5))
    are_uncorrelated(R.real, R.imag)


def test_the_linear_output_is_normal_with_the_variance_of_the_lit_mirrors():
    """The linear output is normal over the pixels, and each lit mirror adds scale^2 to its variance.

    The covariance of the outputs of two inputs is scale^2 times the number of mirrors that are lit for both inputs. In
    this test, 5 and 4 mirrors are lit, and 2 of them are lit for both inputs.
    """
    n = 20_000
    opu = OPU(8, n, rng=rng(3), scale=0.3)
    other = np.array([0, 1.0, 1, 0, 1, 1, 0, 0])
    p, q = opu.linear(np.array([X, other]))
    are_normal(p, 0.3 * math.sqrt(5))
    are_normal(q, 0.3 * math.sqrt(4))
    is_normal_score((np.mean(p * q) / 0.3**2 - 2) * math.sqrt(n / (5 * 4 + 2**2)))


def test_intensities_are_exponential():
    """Over the pixels, the intensity |R x|^2 has the exponential law with mean |x|^2 (fully developed speckle)."""
    opu = OPU(8, 20_000, rng=rng(4))
    follows(opu.intensity(X[None]), stats.expon(scale=5))


def test_an_anchor_on_mirrors_of_the_data_biases_the_projection():
    """An anchor on the mirrors of the data biases the projection.

    The anchor lights all d mirrors. The bias is sqrt(pi / 2 / d) times the std of an entry, which is 1 / sqrt(2) in
    this test. The reason is that sum_k B_k = |R a|. So the mean of a row is |R a| / d, with variance (1 - pi / 4) / d.
    If the anchor has its own mirrors, the rows have mean 0 and variance 1 / (2 d).
    """
    d, n = 10, 20_000
    opu = OPU(d, n, rng=rng(5), scale=1 / math.sqrt(2))
    R = opu.R[:, :d]
    a = np.ones(d)
    overlapping = np.stack([recover(*(abs(R @ v) ** 2 for v in (u + a, u, a))) for u in np.eye(d)], axis=1)
    disjoint = opu.linear(np.eye(d)).T  # shape (n, d)
    bias = math.sqrt(math.pi / 2 / d) / math.sqrt(2)
    is_normal_score((overlapping.mean() - bias) * math.sqrt(n * d / (1 - math.pi / 4)))
    is_normal_score(disjoint.mean() * math.sqrt(2 * n * d))
    assert overlapping.mean() > 0.2


def test_two_opus_have_independent_matrices(device):
    generator = rng(6)
    one, other = (device(40, 500, rng=generator) for _ in range(2))
    are_uncorrelated(one.B, other.B)
    are_uncorrelated(np.abs(one.B), np.abs(other.B))
    assert np.array_equal(device(40, 500, rng=rng(6)).B, one.B)


# --- the camera ----------------------------------------------------------------------------------------------


def test_detected_photons_are_poisson():
    """Detected photons have a Poisson law: 8 photons per unit at intensity 0.4 have mean 3.2."""
    counts = 8 * Camera(photons=8).read(np.full(20_000, 0.4), rng=rng(7))
    assert np.abs(counts - np.rint(counts)).max() < 1e-12
    fits_counts(np.rint(counts).astype(int), stats.poisson(3.2), last=9)


def test_shot_noise_has_the_variance_of_its_mean():
    """The variance of shot noise equals its mean, from 0.5 to 500,000 photons.

    The excess kurtosis of a Poisson law is 1 / mean.
    """
    mean = np.geomspace(0.5, 5e5, 40)
    counts = 100 * Camera(photons=100).read(np.tile(mean / 100, (2000, 1)), rng=rng(8))
    is_normal_score(((counts.mean(axis=0) - mean) / np.sqrt(mean / 2000)).sum() / math.sqrt(40))
    have_variance(counts, mean, 1 / mean)


def test_photons_of_speckle_follow_the_law_of_bose_and_einstein():
    """Photon numbers of speckle, which are Poisson with an exponential mean, have the geometric law (Bose-Einstein).

    Three lit mirrors with two photons each give mean 6.
    """
    opu = OPU(4, 20_000, rng=rng(9), camera=Camera(photons=2))
    counts = 2 * opu.intensity(np.array([[1.0, 1, 0, 1]]), rng=rng(10))[0]
    fits_counts(counts.astype(int), stats.geom(1 / 7, loc=-1), last=30)


@pytest.mark.verifies("ohana2021:eq10")
@pytest.mark.parametrize("n_anchor, anchor_shot, photons", [(1, False, 200), (16, False, 200), (16, True, 5)])
def test_shot_noise_of_a_projection_has_the_documented_variance(n_anchor, anchor_shot, photons):
    """Over 4,000 measurements of one x at 200 pixels, the shot noise of a projection has the documented variance.

    The test uses the excess kurtosis 1 / photons, as for terms of equal weight.
    """
    scale, n = 0.3, 4000
    camera = Camera(photons=photons)
    opu = OPU(8, 200, rng=rng(11), scale=scale, n_anchor=n_anchor, anchor_shot=anchor_shot, camera=camera)
    p = opu.linear(np.tile(X, (n, 1)), rng=rng(12))
    I_xa, I_x, I_a = true_intensities(opu, X)
    variance = 2 * scale**2 * shot_variance(I_xa, I_x, I_a, photons, anchor_shot=anchor_shot)
    detected = photons * (I_xa + I_x + (I_a if anchor_shot else 0))
    is_normal_score(((p.mean(axis=0) - opu.B @ X) / np.sqrt(variance / n)).sum() / math.sqrt(200))
    have_variance(p, variance, 1 / detected)


@pytest.mark.verifies("ohana2021:eq10", "ohana2021:exp-twoproj")
def test_the_shots_of_a_ternary_projection_add_their_variances():
    scale, n, photons = 0.3, 4000, 50
    opu = OPU(8, 200, rng=rng(13), scale=scale, camera=Camera(photons=photons))
    e = X - np.array([0, 1.0, 0, 0, 1, 0, 1, 0])
    p = opu.project(np.tile(e, (n, 1)), rng=rng(14))
    plus, minus = (true_intensities(opu, image) for image in (e > 0, e < 0))
    variance = 2 * scale**2 * (shot_variance(*plus, photons) + shot_variance(*minus, photons))
    is_normal_score(((p.mean(axis=0) - opu.B @ e) / np.sqrt(variance / n)).sum() / math.sqrt(200))
    have_variance(p, variance, 1 / (photons * (plus[0] + plus[1] + minus[0] + minus[1])))


@pytest.mark.verifies("ohana2021:eq10")
@pytest.mark.parametrize(
    "n_anchor, low, median, high", [(1, 0.028, 0.118, 1.13), (16, 0.0255, 0.045, 0.287), (256, 0.0265, 0.0360, 0.083)]
)
def test_a_strong_anchor_makes_shot_noise_even(n_anchor, low, median, high):
    """With a strong anchor, the std of shot noise is nearly the same at all pixels (1st, 50th and 99th percentiles).

    Five mirrors are lit, with 200 photons each. The tolerance of 3 % is four standard errors of the highest percentile.
    """
    normals = rng(15).standard_normal((4, 400_000)) / math.sqrt(2)
    E_x, E_a = math.sqrt(5) * (normals[0] + 1j * normals[1]), math.sqrt(n_anchor) * (normals[2] + 1j * normals[3])
    std = np.sqrt(shot_variance(abs(E_x + E_a) ** 2, abs(E_x) ** 2, abs(E_a) ** 2, 200))
    assert np.percentile(std, [1, 50, 99]) == pytest.approx([low, median, high], rel=0.03)


def test_shot_noise_tends_to_a_constant_with_the_anchor():
    """For a stronger and stronger calibrated anchor, the std of shot noise tends to 1 / (2 sqrt(kappa)).

    If the anchor's intensity is measured each time, the std tends to 1 / sqrt(2 kappa).
    """
    I_a, E_x = 1e16, 3 + 4j
    I_xa = abs(1e8 + E_x) ** 2
    assert math.sqrt(shot_variance(I_xa, 25.0, I_a, 200)) == pytest.approx(0.035355339, rel=1e-6)
    assert math.sqrt(shot_variance(I_xa, 25.0, I_a, 200, anchor_shot=True)) == pytest.approx(0.05, rel=1e-6)


@pytest.mark.parametrize("anchor_shot", [False, True])
def test_dark_noise_is_gaussian_and_does_not_depend_on_the_light(anchor_shot):
    """Dark noise is Gaussian and does not depend on the light.

    A projection has the noise of two or three exposures, divided by 2 |R a|. Each exposure adds N(0, dark_std^2). The
    noise has the same variance for a dark input and a lit input.
    """
    scale, n = 0.3, 500
    camera = Camera(dark_std=0.7)
    opu = OPU(8, 60, rng=rng(16), scale=scale, camera=camera, anchor_shot=anchor_shot)
    std = math.sqrt(2) * scale * 0.7 * math.sqrt(3 if anchor_shot else 2) / (2 * np.sqrt(true_intensities(opu, X)[2]))
    for x in (X, np.zeros(8)):
        p = opu.linear(np.tile(x, (n, 1)), rng=rng(17))
        are_normal((p - opu.B @ x) / std, 1)


def test_readings_are_rounded_to_the_levels_of_8_bits():
    camera = Camera(bits=8, saturation=51.0)  # adjacent levels differ by 0.2
    I = rng(18).uniform(0, 51, 20_000)
    reading = camera.read(I)
    levels = reading / 0.2
    assert np.abs(levels - np.rint(levels)).max() < 1e-12 * 255
    assert set(np.rint(levels).astype(int)) == set(range(256))
    assert 0.0999 < np.abs(reading - I).max() <= 0.1 + 1e-12


@pytest.mark.parametrize(
    "camera, want",
    [
        (Camera(), [0.0, 0.3, 1.6, 40.0]),
        (Camera(saturation=3.0), [0.0, 0.3, 1.6, 3.0]),
        (Camera(bits=1, saturation=3.0), [0.0, 0.0, 3.0, 3.0]),
        (Camera(bits=2, saturation=3), [0.0, 0.0, 2.0, 3.0]),
        (Camera(bits=3, saturation=1.75), [0.0, 0.25, 1.5, 1.75]),
    ],
)
def test_saturation_and_rounding_by_hand(camera, want):
    assert camera.read(np.array([0.0, 0.3, 1.6, 40.0])) == pytest.approx(want, rel=1e-12)


def test_a_saturated_camera_cuts_the_documented_share_of_the_speckle():
    """A saturated camera cuts the documented share of speckle: for mean 5 and saturation 12.5, exp(-2.5) = 8.2 %."""
    n = 20_000
    reading = OPU(8, n, rng=rng(19), camera=Camera(saturation=12.5)).intensity(X[None])
    share = math.exp(-2.5)
    is_normal_score((np.mean(reading == 12.5) - share) / math.sqrt(share * (1 - share) / n))
    assert reading.max() == 12.5


def test_readings_below_zero_exist_only_without_saturation():
    dark = np.zeros(1000)
    assert Camera(dark_std=1.0).read(dark, rng=rng(20)).min() < -2
    assert Camera(dark_std=1.0, saturation=2.0).read(dark, rng=rng(20)).min() == 0


def test_8_bits_alone_change_the_projection_by_no_more_than_their_levels():
    """A camera of 8 bits changes the projection by at most the error of two readings, divided by 2 |R a|.

    The error of a reading is at most half a level. The saturation is 1000 units, so no pixel saturates.
    """
    coarse = OPU(8, 500, rng=rng(21), camera=Camera(bits=8, saturation=1000.0))
    error = np.abs(coarse.linear(X[None])[0] - coarse.B @ X)
    I_a = true_intensities(coarse, X)[2]
    assert true_intensities(coarse, X)[0].max() < 1000
    assert (error <= math.sqrt(2) * (1000 / 255) / (2 * np.sqrt(I_a)) * (1 + 1e-9)).all()
    assert np.median(error) > 0.01


# --- the paper's noise, and the generator -------------------------------------------------------------------------


@pytest.mark.verifies("ohana2021:eq10", "ohana2021:exp-twoproj")
def test_noise_on_the_output_is_gaussian_and_sqrt_2_larger_after_two_projections(device):
    opu = device(6, 50, rng=rng(22), noise_std=0.3)
    e = some_e(800, 6)
    x = (e > 0) * 1.0
    one, two = opu.linear(x, rng=rng(23)) - x @ opu.B.T, opu.project(e, rng=rng(24)) - e @ opu.B.T
    are_normal(one, 0.3)
    are_normal(two, 0.3 * math.sqrt(2))
    for g in (one, two):
        are_uncorrelated(g[1:], g[:-1])
        are_uncorrelated(g[:, 1:], g[:, :-1])
    # The ratio of two sample variances of n normals follows the F law with n and n degrees of freedom.
    ratio, n = np.mean(two**2) / np.mean(one**2), one.size
    assert 2 * min(stats.f.cdf(ratio / 2, n, n), stats.f.sf(ratio / 2, n, n)) > FALSE_ALARM
    assert math.sqrt(ratio) == pytest.approx(1.414, abs=0.03)


def test_draws_come_in_the_documented_order():
    """The random samples are drawn in the documented order: for the exposures of x and anchor, of x, and of the anchor.

    Each exposure draws Poisson numbers and then normals. The noise on the output comes last.
    """
    camera = Camera(photons=30, dark_std=0.2)
    opu = OPU(8, 20, rng=rng(25), scale=0.3, camera=camera, anchor_shot=True, noise_std=0.1)
    x = np.tile(X, (3, 1))
    generator = rng(26)
    seen = []
    for I in true_intensities(opu, X):
        counts = generator.poisson(30 * np.tile(I, (3, 1)))
        seen.append(counts / 30 + 0.2 * generator.standard_normal((3, 20)))
    noise = 0.1 * generator.standard_normal((3, 20))
    want = math.sqrt(2) * 0.3 * recover(*seen, strength=true_intensities(opu, X)[2]) + noise
    assert_close(opu.linear(x, rng=rng(26)), want)

    generator = rng(27)
    first, second = opu.linear(x, rng=generator), opu.linear(0 * x, rng=generator)
    assert np.array_equal(opu.project(x, rng=rng(27)), first - second)
    assert not np.array_equal(opu.project(x, rng=rng(28)), opu.project(x, rng=rng(27)))


# --- dtypes and shapes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given, got",
    [(np.float32, np.float32), (np.float64, np.float64), (np.float16, np.float16), (np.int8, np.float64)],
)
def test_answers_have_the_dtype_of_the_input(device, given, got):
    opu = device(6, 20, rng=rng(29), noise_std=np.float64(0.1), scale=np.float64(0.5))
    e = some_e(5, 6, dtype=given)
    assert opu.project(e, rng=rng()).dtype == got
    assert opu.linear(abs(e), rng=rng()).dtype == got
    assert opu.intensity(abs(e), rng=rng()).dtype == got


def test_a_camera_keeps_float32():
    camera = Camera(photons=9, dark_std=np.float64(0.1), bits=8, saturation=np.float64(50))
    opu = OPU(6, 20, rng=rng(30), camera=camera, anchor_shot=True)
    exact = OPU(6, 20, rng=rng(30))
    e = some_e(5, 6, dtype=np.float32)
    assert camera.read(np.ones(3, np.float32), rng=rng()).dtype == np.float32
    assert opu.field(e).dtype == np.complex64
    assert opu.project(e, rng=rng()).dtype == np.float32
    assert np.abs(exact.project(e) - e @ exact.B.T).max() < 1e-5


def test_a_mask_is_a_binary_input(device):
    opu = device(8, 20, rng=rng(31))
    assert np.array_equal(opu.linear(X[None] > 0), opu.linear(X[None]))


@pytest.mark.parametrize("m, n_out", [(0, 20), (1, 20), (1, 1), (0, 1)])
def test_small_batches(device, m, n_out):
    opu = device(6, n_out, rng=rng(32), noise_std=0.1)
    e = some_e(m, 6)
    assert opu.project(e, rng=rng()).shape == (m, n_out)
    assert opu.intensity(abs(e)).shape == (m, n_out)


# --- lightonml -----------------------------------------------------------------------------------------------


def test_the_adapter_answers_with_the_devices_own_matrix(lightonml):
    """The adapter gives the projection by the device's complex matrix, compared with loops over this matrix.

    The real and imaginary parts of this matrix are N(0, 1 / n_in), in float32.
    """
    opu = LightOnOPU(8, 30, rng=rng(33), scale=0.3)
    R = opu.driver.device.random_matrix.astype(complex)  # (n_in, n_out)
    field = sum(R[k] for k in np.flatnonzero(X))
    assert opu.linear(X[None])[0] == pytest.approx(0.3 * math.sqrt(8) * field.real, rel=1e-5, abs=1e-6)
    assert opu.intensity(X[None])[0] == pytest.approx(8 / 2 * abs(field) ** 2, rel=1e-5)
    assert opu.B == pytest.approx(0.3 * math.sqrt(8) * R.real.T, rel=1e-6)


def test_the_adapters_matrix_and_intensities_have_the_laws_of_the_simulator(lightonml):
    opu = LightOnOPU(40, 500, rng=rng(34), scale=0.3)
    are_normal(opu.B, 0.3)
    x = np.zeros((1, 40))
    x[0, :5] = 1
    follows(LightOnOPU(40, 20_000, rng=rng(35)).intensity(x), stats.expon(scale=5))


def test_lightonml_alone_gives_every_device_one_matrix_no_noise_and_no_check_of_the_input(lightonml):
    """Without the adapter, lightonml gives every device the same matrix, no noise and no check of the input.

    So the adapter has its own seed, noise and check.
    """
    LightOnOPU(4, 6, rng=rng())  # imports lightonml without the warning that lightonml prints
    import lightonml as library

    one, other = (library.OPU(n_components=6, max_n_features=4, simulated=True) for _ in range(2))
    for opu in (one, other):
        opu.fit1d(n_features=4)
    x = np.array([[0.5, -1.0, 2.0, 0.0]])
    assert np.array_equal(one.linear_transform(x), other.linear_transform(x))
    assert np.array_equal(one.linear_transform(x), one.linear_transform(x))


def test_the_hardware_is_asked_by_the_same_calls(lightonml, monkeypatch):
    """The adapter calls real hardware like the simulator.

    The test replaces lightonml's class by a class that checks the calls. The unit of the results is that of lightonml's
    "variance" rescaling. The matrix of real hardware is unknown.
    """
    LightOnOPU(4, 6, rng=rng())
    import lightonml as library

    class Hardware:
        def __init__(self, n_components, max_n_features, simulated):
            assert not simulated
            self.n = n_components

        def fit1d(self, n_features):
            self.n_features = n_features

        def linear_transform(self, x):
            assert x.dtype == np.uint8
            return np.ones((len(x), self.n), np.float32) * x.sum(axis=1, keepdims=True) / math.sqrt(self.n_features)

        def transform(self, x):
            return np.full((len(x), self.n), 17, np.uint8)

    monkeypatch.setattr(library, "OPU", Hardware)
    opu = LightOnOPU(4, 6, scale=0.5, simulated=False)
    assert opu.B is None
    assert_close(opu.project(np.array([[1.0, 1, 0, 1], [1, -1, -1, 0]])), np.array([[1.5], [-0.5]]) * np.ones((2, 6)))
    assert opu.intensity(np.ones((1, 4))).tolist() == [[17.0] * 6]


def test_without_lightonml_the_adapter_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightonml", None)
    with pytest.raises(NoDevice) as refused:
        LightOnOPU(4, 6, rng=rng())
    text = str(refused.value)
    assert "`pip install 'setuptools<81' attrs requests numexpr`" in text
    assert "`pip install --no-deps lightonml==1.4.3`" in text
    assert "\n" not in text


def test_without_an_opu_the_adapter_offers_the_simulated_one(lightonml):
    with pytest.raises(
        NoDevice, match=r"^lightonml finds no OPU on this computer \(.+\)\. Use simulated=True, which needs no OPU$"
    ):
        LightOnOPU(4, 6, rng=rng(), simulated=False)


IMPORTS = """
import sys
import numpy as np
import nfa.feedback.lighton
assert not [name for name in sys.modules if name.startswith(("lightonml", "pkg_resources"))]
if "adapter" in sys.argv:
    nfa.feedback.lighton.LightOnOPU(4, 6, rng=np.random.default_rng(0)).project(np.eye(4))
"""


def test_importing_the_module_does_not_import_lightonml():
    subprocess.run([sys.executable, "-W", "error", "-c", IMPORTS], check=True)


def test_the_adapter_keeps_quiet_about_what_lightonml_imports(lightonml):
    subprocess.run([sys.executable, "-W", "error", "-c", IMPORTS, "adapter"], check=True)


# --- bad input -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [0.5, -1.0, 2.0, math.nan, math.inf])
def test_what_is_not_binary_gets_a_sentence(device, value):
    opu = device(3, 4, rng=rng())
    for ask in (opu.linear, opu.intensity):
        with pytest.raises(ValueError, match=f"^the input of an OPU must be binary, 0 or 1, got {value}$"):
            ask(np.array([[0.0, 1.0, 0.0], [1.0, value, 0.0]]))


@pytest.mark.parametrize("value", [0.5, -2.0, math.nan])
def test_what_is_not_ternary_gets_a_sentence(device, value):
    opu = device(3, 4, rng=rng())
    with pytest.raises(
        ValueError, match=rf"^every entry of an error for an OPU must be -1, 0 or 1 \(.+\), got {value}$"
    ):
        opu.project(np.array([[0.0, 1.0, value]]))


@pytest.mark.parametrize("shape", [(3,), (2, 4), (2, 3, 1)])
def test_a_wrong_shape_gets_a_sentence(device, shape):
    opu = device(3, 4, rng=rng())
    for ask in (opu.linear, opu.intensity, opu.project):
        with pytest.raises(ValueError, match=r"with 3 mirrors must have the shape \(m, 3\), got \("):
            ask(np.zeros(shape))


@pytest.mark.parametrize(
    "settings, sentence",
    [
        ({"photons": 0}, "the photon budget must be positive and at most 1e12, got 0"),
        ({"photons": -3}, "the photon budget must be positive and at most 1e12, got -3"),
        ({"photons": math.nan}, "the photon budget must be positive and at most 1e12, got nan"),
        ({"photons": 10**13}, "the photon budget must be positive and at most 1e12, got 10000000000000"),
        ({"dark_std": -0.1}, "dark_std must be finite and not negative, got -0.1"),
        ({"dark_std": math.nan}, "dark_std must be finite and not negative, got nan"),
        ({"saturation": 0.0}, "the saturation of a camera must be positive and finite, got 0.0"),
        ({"saturation": math.inf}, "the saturation of a camera must be positive and finite, got inf"),
        ({"bits": 0, "saturation": 1.0}, "the bits of a camera must be a whole number in 1..24, got 0"),
        ({"bits": 25, "saturation": 1.0}, "the bits of a camera must be a whole number in 1..24, got 25"),
        ({"bits": 8.0, "saturation": 1.0}, "the bits of a camera must be a whole number in 1..24, got 8.0"),
        ({"bits": 8}, "a camera of 8 bits needs the setting `saturation`, the intensity of the highest level"),
    ],
)
def test_a_bad_camera_gets_a_sentence(settings, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        Camera(**settings)


@pytest.mark.parametrize(
    "settings, sentence",
    [
        ({"n_in": 0}, "n_in of an OPU must be a whole number >= 1, got 0"),
        ({"n_out": -1}, "n_out of an OPU must be a whole number >= 1, got -1"),
        ({"n_in": 2.0}, "n_in of an OPU must be a whole number >= 1, got 2.0"),
        ({"scale": 0.0}, "the scale of an OPU must be positive and finite, got 0.0"),
        ({"scale": math.inf}, "the scale of an OPU must be positive and finite, got inf"),
        ({"noise_std": -0.1}, "noise_std must be finite and not negative, got -0.1"),
        ({"noise_std": math.nan}, "noise_std must be finite and not negative, got nan"),
    ],
)
def test_bad_settings_get_a_sentence(device, settings, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        device(**{"n_in": 3, "n_out": 4, "rng": rng()} | settings)


def test_an_anchor_without_mirrors_gets_a_sentence():
    with pytest.raises(ValueError, match=r"^n_anchor of an OPU must be a whole number >= 1, got 0$"):
        OPU(3, 4, rng=rng(), n_anchor=0)


@pytest.mark.parametrize(
    "settings, what",
    [
        ({"camera": Camera(photons=5)}, "shot noise"),
        ({"camera": Camera(dark_std=0.1)}, "dark noise"),
        ({"noise_std": 0.1}, "noise_std=0.1"),
    ],
)
def test_noise_without_an_rng_gets_a_sentence(settings, what):
    with pytest.raises(ValueError, match=f"^{what} needs a random generator rng, got None$"):
        OPU(3, 4, rng=rng(), **settings).project(np.eye(3))


def test_a_simulated_device_without_an_rng_gets_a_sentence(lightonml):
    with pytest.raises(ValueError, match=r"^the seed of a simulated device needs a random generator rng, got None$"):
        LightOnOPU(3, 4)


@pytest.mark.parametrize("camera", [Camera(), Camera(bits=8, saturation=50.0)])
@pytest.mark.parametrize("n_in", [10, 60])
def test_equal_rows_are_projected_as_they_are_alone(camera, n_in):
    """Equal rows get the projection that such a row gets alone.

    The device computes the light once for equal rows.
    """
    opu = OPU(n_in, 30, rng=rng(), camera=camera)
    e = some_e(5, n_in)[[0, 3, 3, 1, 0, 4, 2, 2]]
    one_by_one = np.concatenate([opu.project(row[None]) for row in e])
    np.testing.assert_allclose(opu.project(e), one_by_one, rtol=0, atol=1e-9)


@pytest.mark.parametrize("camera", [Camera(photons=30.0), Camera(dark_std=0.5)])
def test_equal_rows_have_noise_of_their_own(camera):
    opu = OPU(4, 200, rng=rng(), camera=camera)
    one, two = opu.project(np.ones((2, 4)), rng=rng(1))
    assert np.mean(one == two) < 0.2
