"""Tests of scattering, compared with kymatio and with sums over pixels. A loop checks its standardisation."""

import numpy as np
import pytest

from nfa.features import scattering
from nfa.features.kind import Features, read
from nfa.features.scattering import Bank, J, L, low_pass, morlet
from tests.oracles import kymatio_scattering


def coefficients(x):
    """All coefficients of float64 images, before standardisation, as an array (n, 81, rows, columns)."""
    bank = Bank(*x.shape[1:], np.float64)
    return np.concatenate(bank.coefficients(x), axis=1).reshape(len(x), -1, *bank.out)


@pytest.mark.peers
@pytest.mark.parametrize(
    ("shape", "out"), [((28, 28), (7, 7)), ((32, 32), (8, 8)), ((29, 34), (7, 8)), ((8, 9), (2, 2))]
)
def test_coefficients_and_filters_equal_those_of_kymatio(shape, out):
    """Coefficients and filters equal those of kymatio's code in float64, if we replace its constant 3.1415 by pi."""
    oracle = kymatio_scattering.in_double(shape, J, L)
    for psi in oracle.psi:
        rows, columns = psi["levels"][0].shape
        ours = np.fft.fft2(morlet(rows, columns, psi["j"], psi["theta"]))
        np.testing.assert_allclose(ours, psi["levels"][0], rtol=0, atol=1e-14)
    x = np.random.default_rng(0).standard_normal((3, *shape))
    want = oracle(x)
    assert want.shape == (3, 81, *out)
    np.testing.assert_allclose(coefficients(x), want, rtol=0, atol=1e-14)


@pytest.mark.peers
def test_it_is_kymatio_as_installed_up_to_float32():
    """The features equal those of kymatio as installed, to the precision of float32.

    The filters of kymatio are float32, and kymatio divides by 2 times 3.1415 instead of 2 pi.
    """
    oracle = kymatio_scattering.as_installed((28, 28), J, L)
    x = np.random.default_rng(1).uniform(size=(4, 28, 28))
    np.testing.assert_allclose(coefficients(x), oracle(x), rtol=2e-4, atol=2e-6)


def test_the_finest_coefficients_are_sums_in_space():
    """The finest coefficients are |x * psi| * phi. We compute this definition pixel by pixel on the padded image.

    The padded image is periodic.
    """
    x = np.random.default_rng(2).standard_normal((8, 8))
    padded = np.pad(x, 4, mode="reflect")  # the padded image has 16 x 16 pixels
    n, found = 16, coefficients(x[None])[0]
    assert found.shape == (81, 2, 2)
    around = np.add.outer(np.arange(n) * 0, np.arange(-2, 3) * n)  # five periodic copies of each coordinate
    g = np.exp(-((np.arange(n)[:, None] + around) ** 2) / (2 * 1.6**2)).sum(axis=1) / (np.sqrt(2 * np.pi) * 1.6)
    for r in range(L):
        theta, psi = (3 - r) * np.pi / 8, np.zeros((n, n), complex)
        envelope = np.zeros((n, n))
        for a in range(-2 * n, 3 * n):
            for b in range(-2 * n, 3 * n):
                s, t = a * np.cos(theta) + b * np.sin(theta), b * np.cos(theta) - a * np.sin(theta)
                bell = np.exp(-(s**2 + 0.25 * t**2) / (2 * 0.64))
                envelope[a % n, b % n] += bell
                psi[a % n, b % n] += bell * np.exp(0.75j * np.pi * s)
        psi = (psi - psi.sum() / envelope.sum() * envelope) * 0.5 / (2 * np.pi * 0.64)
        U = np.zeros((n, n), complex)
        for a in range(n):
            for b in range(n):
                U += padded[a, b] * np.roll(psi, (a, b), (0, 1))
        S1 = np.zeros((2, 2))
        for p in range(2):
            for q in range(2):
                near = np.outer(g[(4 * (p + 1) - np.arange(n)) % n], g[(4 * (q + 1) - np.arange(n)) % n])
                S1[p, q] = (abs(U) * near).sum()
        np.testing.assert_allclose(found[1 + r], S1, rtol=0, atol=1e-12)
    for p in range(2):
        for q in range(2):
            near = np.outer(g[(4 * (p + 1) - np.arange(n)) % n], g[(4 * (q + 1) - np.arange(n)) % n])
            assert abs(found[0, p, q] - (padded * near).sum()) < 1e-12


def test_wavelets_sum_to_0_and_averages_keep_a_constant():
    for j in range(J):
        for r in range(L):
            assert abs(morlet(36, 40, j, r).sum()) < 1e-14
    for res in range(J):
        np.testing.assert_allclose(low_pass(36, res).sum(axis=1), 1, rtol=0, atol=1e-12)
        assert low_pass(36, res).shape == (7, 36 // 2**res)
    S = coefficients(np.full((1, 28, 28), 3.0))[0]
    np.testing.assert_allclose(S[0], 3, rtol=0, atol=1e-12)
    np.testing.assert_allclose(S[1:], 0, atol=1e-13)


@pytest.mark.parametrize(("dtype", "close"), [(np.float64, 1e-10), (np.float32, 2e-3)])
def test_each_order_of_each_colour_is_standardised_in_each_image(dtype, close):
    x = np.random.default_rng(3).uniform(size=(5, 3, 32, 32)).astype(dtype)
    features = Features(kind=read("scattering"), shape=(3, 32, 32), arrays={})
    found = features(x)
    assert features.out_shape == (243, 8, 8)
    assert found.shape == (5, 243, 8, 8)
    assert found.dtype == dtype
    for image, of_image in zip(x, found, strict=True):
        for colour, own in zip(image, of_image.reshape(3, 81, 8, 8), strict=True):
            S = coefficients(colour[None].astype(np.float64))[0]
            for order in (slice(0, 1), slice(1, 17), slice(17, 81)):
                want = (S[order] - S[order].mean()) / np.sqrt(S[order].var() + (1e-5 * abs(S).max()) ** 2)
                assert abs(want.std() - 1) < 1e-4
                np.testing.assert_allclose(own[order], want, rtol=0, atol=close)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_an_image_without_contrast_has_features_of_about_0(dtype):
    x = np.stack([np.zeros((1, 28, 28)), np.ones((1, 28, 28)), np.full((1, 28, 28), -200.0)]).astype(dtype)
    found = Features(kind=read("scattering"), shape=(1, 28, 28), arrays={})(x)
    assert (found[0] == 0).all()
    assert np.abs(found).max() < 0.1


@pytest.mark.parametrize(
    ("shape", "sentence"),
    [
        ((49,), "features scattering need images, but an example has 49 values"),
        ((1, 28, 7), "the features 'scattering' need images of at least 8x8 pixels, got 28x7"),
    ],
)
def test_what_is_no_image_is_refused(shape, sentence):
    with pytest.raises(ValueError, match=sentence):
        Features(kind=read("scattering"), shape=shape, arrays={})


def test_filters_are_made_once():
    assert scattering.bank(28, 28, "<f4") is scattering.bank(28, 28, "<f4")
