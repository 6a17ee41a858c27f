"""Tests that features of every kind depend only on their example. Other methods check random layers and light."""

import hashlib

import numpy as np
import pytest
from scipy import stats

from nfa import features
from nfa.features import kind as kinds
from nfa.features.kind import Features, Tools, read, standardised
from nfa.feedback.camera import Camera
from nfa.feedback.opu import OPU
from nfa.kernels import cores, rows
from nfa.network import forward, mlp
from nfa.network.ops import ACTIVATIONS, relu, tanh

TEXTS = ["random:24", "random:40,16", "scattering", "optical:48", "optical:48,photons=50,dark_std=0.1,bits=6"]
SHAPE = (2, 12, 9)


def made(text, dtype=np.float64, shape=SHAPE, seed=0, **tools):
    kind, tools = read(text), Tools(**tools)
    arrays = kind.draw(shape, tools, np.random.default_rng(seed), dtype)
    return Features(kind=kind, shape=shape, arrays=arrays, tools=tools)


def images(n, dtype=np.float64, shape=SHAPE):
    return np.random.default_rng(7).standard_normal((n, *shape)).astype(dtype)


def test_every_kind_is_found_and_tried_here():
    assert {text.partition(":")[0] for text in TEXTS} == set(kinds.KINDS)
    assert set(features.FORMS) == {one.form for one in kinds.KINDS.values()}
    for form in features.FORMS:
        assert type(read(form)).form == form


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("product", [kinds.product_alone, rows.matmul])
def test_the_features_of_an_example_are_its_own_alone(text, dtype, product, monkeypatch):
    """The features of an example are bitwise identical in another order, in other batches and on several threads.

    They are also the same if we leave out or change the other examples.
    """
    features, x = made(text, dtype, product=product), images(37, dtype)
    whole, rng = features(x), np.random.default_rng(1)
    assert whole.shape == (37, *features.out_shape)
    assert whole.dtype == dtype
    assert len({row.tobytes() for row in whole}) == 37
    order = rng.permutation(37)
    assert np.array_equal(features(x[order]), whole[order])
    for size in (1, 2, 3, 7, 8, 9, 36):
        some = rng.permutation(37)[:size]
        assert np.array_equal(features(x[some]), whole[some])
    changed = x.copy()
    changed[5] *= 1e3
    changed[6] = 0
    assert np.array_equal(np.delete(features(changed), (5, 6), axis=0), np.delete(whole, (5, 6), axis=0))
    monkeypatch.setattr(kinds, "AT_ONCE", 5)
    assert np.array_equal(features(x), whole)
    assert np.array_equal(features(x, cores.together), whole)
    assert features(x[:0]).shape == (0, *features.out_shape)


@pytest.mark.parametrize("text", TEXTS)
def test_features_that_overflow_are_0_and_change_no_others(text):
    features, x = made(text, np.float32), images(4, np.float32)
    whole, huge = features(x), x.copy()
    huge[2] = 3e38
    found = features(huge)
    assert np.isfinite(found).all()
    assert np.array_equal(np.delete(found, 2, axis=0), np.delete(whole, 2, axis=0))


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_random_layers_are_the_hidden_layers_of_a_network(name):
    phi = ACTIVATIONS[name]
    features, x = made("random:40,16", phi=phi, init="he-normal"), images(5)
    net = mlp([216, 40, 16, 3], phi, rng=np.random.default_rng(1))
    for l in (1, 2):
        net.W[l], net.b[l] = features.arrays[f"W{l}"], features.arrays[f"b{l}"]
    _, h = forward(net, x.reshape(5, -1))
    np.testing.assert_allclose(features(x), h[2], rtol=0, atol=1e-12)


def test_random_layers_have_the_law_of_the_first_weights():
    """Random layers have the law of first weights: with equal generators, they equal a network's first weights."""
    features = made("random:40,16", init="uniform-fan-in", seed=3)
    net = mlp([216, 40, 16], tanh, rng=np.random.default_rng(3), init="uniform-fan-in")
    for l in (1, 2):
        assert np.array_equal(features.arrays[f"W{l}"], net.W[l])
        assert np.array_equal(features.arrays[f"b{l}"], net.b[l])


def test_light_is_that_of_the_simulated_device():
    """Light features agree with the simulated device, for binary images, which the device can display.

    We standardise the intensities of each image. The tolerance is 1e-6.
    """
    x = (np.random.default_rng(2).uniform(size=(6, 30)) < 0.4).astype(float)
    features = made("optical:500", shape=(30,), seed=4)
    light = OPU(30, 500, rng=np.random.default_rng(4), n_anchor=1).intensity(x)
    want = (light - light.mean(axis=1, keepdims=True)) / light.std(axis=1, keepdims=True)
    np.testing.assert_allclose(features(x), want, rtol=0, atol=1e-6)


def test_the_mean_intensity_is_1_and_a_camera_reads_it():
    """The mean intensity is 1, so a camera that saturates at 1 cuts 1/e of the pixels.

    Correct code fails with probability 1e-9, by the exact binomial law.
    """
    features, x = made("optical:20000,saturation=1", shape=(30,)), 7.5 * images(1, shape=(30,))
    found = features(x)[0]
    cut = int((found == found.max()).sum())
    assert stats.binom.ppf(5e-10, 20000, np.exp(-1)) <= cut <= stats.binom.isf(5e-10, 20000, np.exp(-1))
    assert np.array_equal(features(x), made("optical:20000,saturation=1", shape=(30,))(x))
    levels = made("optical:20000,bits=3", shape=(30,))(x)[0]
    assert len(np.unique(levels)) <= 8
    assert len(np.unique(made("optical:20000", shape=(30,))(x)[0])) == 20000


def test_the_noise_of_an_example_follows_from_its_values_and_the_key():
    text = "optical:64,photons=20,dark_std=0.3"
    features, still, x = made(text, shape=(30,)), made("optical:64", shape=(30,)), images(3, shape=(30,))
    key = features.arrays["key"]
    assert np.array_equal(features.arrays["B_real"], still.arrays["B_real"])
    for row, found in zip(x, features(x), strict=True):
        B = features.arrays["B_real"] + 1j * features.arrays["B_imag"]
        light = abs(B @ row) ** 2 / (row @ row)
        seed = hashlib.blake2b(row.tobytes(), key=key.tobytes(), digest_size=16).digest()
        rng = np.random.Generator(np.random.Philox(key=np.frombuffer(seed, np.uint64)))
        read_out = Camera(photons=20.0, dark_std=0.3).read(light, rng=rng)
        np.testing.assert_allclose(found, (read_out - read_out.mean()) / read_out.std(), rtol=0, atol=1e-6)
    other = made(text, shape=(30,), seed=1)
    other.arrays["B_real"], other.arrays["B_imag"] = features.arrays["B_real"], features.arrays["B_imag"]
    assert not np.array_equal(other(x), features(x))


def test_standardised_rows():
    v = np.random.default_rng(0).normal(3, 5, (4, 50))
    v[1] = 2.0
    v[2] = 1 + 1e-9 * v[2]
    found = standardised(v, np.abs(v).max(axis=1))
    for i in (0, 3):
        np.testing.assert_allclose(found[i], (v[i] - v[i].mean()) / v[i].std(), rtol=0, atol=1e-6)
    assert (found[1] == 0).all()
    assert np.abs(found[2]).max() < 1e-2
    assert (standardised(np.zeros((1, 3)), np.zeros(1)) == 0).all()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("fourier", "features must be one of .*random:512,512.*, got 'fourier'"),
        ("scatering", "got 'scatering'.*scattering"),
        ("random", "features random: the features random need only the sizes of the layers. Write random:512,512"),
        ("random:", "features random:: '' cannot be read. Write random:512,512"),
        ("random:512,0", "features random:512,0: '0' cannot be read"),
        ("random:5,a=3", "features random:5,a=3: the features random need only the sizes of the layers"),
        ("scattering:2", "features scattering:2: features scattering take no parameters"),
        ("optical", "features optical: the features optical need one number of pixels"),
        ("optical:5,6", "features optical:5,6: the features optical need one number of pixels"),
        ("optical:5,photons=x", "'photons=x' cannot be read"),
        ("optical:5,photons=0", "the photon budget must be positive"),
        ("optical:5,n=3", "there is no parameter 'n'. The parameters are photons, dark_std, saturation, bits"),
        ("optical:5,bits=2.5", "the bits of a camera must be a whole number in 1..24, got 2.5"),
        ("optical:photons=3,5", "'5' cannot be read"),
    ],
)
def test_a_text_that_names_no_features_is_refused(text, sentence):
    with pytest.raises(ValueError, match=sentence):
        read(text)


def test_a_digest_covers_all_that_the_features_follow_from():
    x, of = images(3), made("random:8")
    digests = [
        of.digest(x),
        of.digest(x[::-1]),
        of.digest(x.astype(np.float32)),
        made("random:8", seed=1).digest(x),
        made("random:8", phi=relu).digest(x),
        made("scattering").digest(x),
        made("optical:8").digest(x),
        made("optical:8,bits=4").digest(x),
    ]
    assert len(set(digests)) == len(digests)
    assert made("random:8").digest(x.copy()) == digests[0]
