"""Tests of data sets: the embedded subset, published files, a user's own file, and preparation for a network."""

import gzip
import hashlib
import math
import shutil
import struct
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nfa import data
from nfa.data import make_small

# MD5 digests that the authors of Fashion-MNIST publish for the gzip files, and the time in the header of each file.
FASHION_MD5 = {
    "train-images-idx3-ubyte": ("8d4fb7e6c68d591d4c3dfef9ec88bf0d", 1504176606),
    "train-labels-idx1-ubyte": ("25c81989df183df01b3e8a0aad5dffbe", 1504176606),
    "t10k-images-idx3-ubyte": ("bef4ecab320f06d8554ea6380940ec79", 1504176627),
    "t10k-labels-idx1-ubyte": ("bb300cfdad3c16e7a12a480ee83cd310", 1504176627),
}
# digests that are published for the unpacked files of MNIST
MNIST_MD5 = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}


# ---- the embedded subset


def test_embedded_subset():
    small = data.load("fashion-mnist-small")
    assert small.x_train.shape == (6000, 1, 28, 28)
    assert small.x_test.shape == (1000, 1, 28, 28)
    assert small.x_train.dtype == small.x_test.dtype == np.uint8
    assert small.y_train.dtype == small.y_test.dtype == np.int64
    assert small.classes == 10
    assert small.class_names[0] == "T-shirt/top"
    assert small.source == "embedded in nfa"
    assert "600 training and 100 test images a class" in small.note
    for labels, per_class in ((small.y_train, 600), (small.y_test, 100)):
        assert np.bincount(labels).tolist() == [per_class] * 10
        # ten consecutive labels contain each class once
        assert (np.sort(labels.reshape(-1, 10), axis=1) == np.arange(10)).all()
        # different groups of ten have different orders of the classes
        assert not (labels.reshape(-1, 10) == labels[:10]).all()
    assert small.digest == "679f7df2ccb178b2935b8f3b99028998521f164a26dec6e44026d936f90513f0"


def test_embedded_subset_is_what_the_script_draws(data_home):
    built = make_small.build(data_home)
    small = data.load("fashion-mnist-small")
    for key in ("x_train", "x_test"):
        assert built[key].tobytes() == getattr(small, key).tobytes()
    for key in ("y_train", "y_test"):
        np.testing.assert_array_equal(built[key], getattr(small, key))


def test_embedded_subset_is_taken_from_the_originals(data_home):
    """Every image of the embedded subset is in Fashion-MNIST, with the same label and in the same part.

    No image occurs twice. This test does not use the script that made the subset.
    """
    full = data.load("fashion-mnist", data_home)
    small = data.load("fashion-mnist-small")
    for x, y, x_full, y_full in (
        (small.x_train, small.y_train, full.x_train, full.y_train),
        (small.x_test, small.y_test, full.x_test, full.y_test),
    ):
        known = {(image.tobytes(), label) for image, label in zip(x_full, y_full.tolist(), strict=True)}
        drawn = [(image.tobytes(), label) for image, label in zip(x, y.tolist(), strict=True)]
        assert set(drawn) <= known
        assert len(set(drawn)) == len(drawn)


def test_draw_by_hand():
    labels = np.array([0, 1, 0, 1, 0, 1, 0])
    keys = np.random.PCG64((1, 2)).random_raw(7)
    drawn = make_small.draw(labels, 2, (1, 2))
    first = [min((i for i in range(7) if labels[i] == c), key=lambda i: keys[i]) for c in (0, 1)]
    second = [min((i for i in range(7) if labels[i] == c and i != first[c]), key=lambda i: keys[i]) for c in (0, 1)]
    assert drawn.tolist() == sorted(first, key=lambda i: keys[i]) + sorted(second, key=lambda i: keys[i])
    assert make_small.draw(labels, 2, (1, 3)).tolist() != drawn.tolist()


# ---- the published files


def test_fashion_mnist(data_home):
    full = data.load("fashion-mnist", data_home)
    assert full.x_train.shape == (60000, 1, 28, 28)
    assert full.x_test.shape == (10000, 1, 28, 28)
    assert np.bincount(full.y_train).tolist() == [6000] * 10
    assert np.bincount(full.y_test).tolist() == [1000] * 10
    assert full.note == ""
    assert full.source == "data_dir/fashion-mnist"


@pytest.mark.parametrize("name", FASHION_MD5)
def test_fashion_mnist_has_the_published_md5(data_home, name):
    """The files of Fashion-MNIST have the published MD5, if their gzip headers are those of the authors.

    If a file has another gzip header, the test replaces this header.
    """
    packed = (data_home / "fashion-mnist" / f"{name}.gz").read_bytes()
    md5, time = FASHION_MD5[name]
    if hashlib.md5(packed).hexdigest() != md5:
        assert packed[3] == 0  # this header contains no file name
        packed = b"\x1f\x8b\x08\x08" + struct.pack("<I", time) + b"\0\3" + name.encode() + b"\0" + packed[10:]
        assert hashlib.md5(packed).hexdigest() == md5
    download = next(item for item in data.DATASETS["fashion-mnist"].downloads if item.name == f"{name}.gz")
    assert download.digest == f"sha256:{hashlib.sha256(packed).hexdigest()}"


def test_mnist(data_home):
    full = data.load("mnist", data_home)
    assert full.x_train.shape == (60000, 1, 28, 28)
    assert full.x_test.shape == (10000, 1, 28, 28)
    assert full.y_train[:5].tolist() == [5, 0, 4, 1, 9]
    assert np.bincount(full.y_train).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert full.note == ""
    with pytest.raises(ValueError, match="read-only"):
        full.x_train[0] = 0


@pytest.mark.parametrize("name", MNIST_MD5)
def test_mnist_has_the_published_md5(data_home, name):
    """The unpacked files of MNIST have the published MD5 and the sha256 of the registry."""
    unpacked = gzip.decompress((data_home / "mnist" / f"{name}.gz").read_bytes())
    assert hashlib.md5(unpacked).hexdigest() == MNIST_MD5[name]
    file = next(file for file in data.DATASETS["mnist"].variants[0].files if file.name == name)
    assert hashlib.sha256(unpacked).hexdigest() == file.sha256


def test_unpacked_files_load_too(tmp_path, data_home):
    (tmp_path / "mnist").mkdir()
    for packed in (data_home / "mnist").glob("*.gz"):
        with gzip.open(packed) as source, open(tmp_path / "mnist" / packed.stem, "wb") as out:
            shutil.copyfileobj(source, out)
    assert data.load("mnist", tmp_path).digest == data.load("mnist", data_home).digest


def test_one_data_set_does_not_pass_for_another(data_home):
    with pytest.raises(ValueError, match=r"^mnist, data_dir: .*: the content differs from the published content"):
        data.load("mnist", data_home / "fashion-mnist")


def test_cifar_10_jpeg_copies_say_so(data_home):
    full = data.load("cifar-10", data_home)
    assert full.note == "JPEG copies, 20,000 training images (two of five batches)"
    assert full.x_train.shape == (20000, 3, 32, 32)
    assert full.x_test.shape == (10000, 3, 32, 32)
    assert np.bincount(full.y_train).tolist() == [2000] * 10
    assert np.bincount(full.y_test).tolist() == [1000] * 10
    names = (data_home / "cifar-10-batches-bin" / "batches.meta.txt").read_text().split()
    assert full.class_names == tuple(names)
    listed = next(row for row in data.list_datasets(data_home) if row.name == "cifar-10")
    assert (listed.n_train, listed.note, listed.shape) == (20000, full.note, (3, 32, 32))


# ---- your own file


def own(**changed):
    arrays = {
        "x_train": np.arange(24, dtype=np.uint8).reshape(3, 2, 4),
        "y_train": np.array([0, 1, 2], np.uint8),
        "x_test": np.ones((1, 2, 4), np.uint8),
        "y_test": np.array([1], np.uint8),
    }
    return arrays | changed


def test_own_file(tmp_path):
    np.savez(tmp_path / "birds.npz", **own())
    loaded = data.load(tmp_path / "birds.npz")
    assert loaded.name == "birds"
    assert loaded.source == "your own file birds.npz"
    assert loaded.x_train.shape == (3, 1, 2, 4)
    assert loaded.x_test.shape == (1, 1, 2, 4)
    assert loaded.y_train.dtype == np.int64
    assert loaded.class_names == ("0", "1", "2")


@pytest.mark.parametrize("shape", [(5,), (3, 2, 4)])
def test_own_features_and_colour_images_keep_their_shape(tmp_path, shape):
    rng = np.random.default_rng(1)
    x_train, x_test = rng.normal(size=(3, *shape)), rng.normal(size=(1, *shape))
    np.savez(tmp_path / "own.npz", **own(x_train=x_train, x_test=x_test))
    loaded = data.load(str(tmp_path / "own.npz"))
    np.testing.assert_array_equal(loaded.x_train, x_train)
    assert loaded.x_train.dtype == np.float64


@pytest.mark.parametrize(
    "changed, sentence",
    [
        ({"y_train": np.array([0, 1])}, "x_train and y_train must have the same number of examples$"),
        ({"y_test": np.array([3])}, "y_test must lie in 0 .. 2, got 3 at index 0"),
        ({"y_test": np.array([-1])}, "no label of y_test may be negative"),
        (
            {"y_train": np.array([1, 2, 3])},
            "every class from 0 to the largest label must occur in y_train, but class 0 does not",
        ),
        (
            {"y_train": np.array([0, 1, 10**9])},
            "every class from 0 to the largest label must occur in y_train, but class 2 does",
        ),
        (
            {"y_train": np.array([0.0, 1, 2])},
            r"y_train must be a one-dimensional array of integers or text, got float64: use y_train\.astype\(int\)",
        ),
        ({"y_train": np.array([[0], [1], [2]])}, r"got 2 dimensions: use y_train\.ravel\(\)"),
        ({"x_test": np.ones((1, 2, 5))}, r"must hold examples of the same shape, got \(1, 2, 4\) and \(1, 2, 5\)"),
        (
            {"x_train": np.ones(3)},
            r"x_train must hold examples of at least one value each, got examples of the shape \(\)",
        ),
        ({"x_test": np.ones((0, 2, 4))}, "x_test must hold at least one example"),
        ({"x_train": np.full((3, 2, 4), math.nan)}, "x_train must be finite, found NaN or infinity"),
    ],
)
def test_own_file_refused(tmp_path, changed, sentence):
    np.savez(tmp_path / "own.npz", **own(**changed))
    with pytest.raises(ValueError, match=f"^own.npz: .*{sentence}") as caught:
        data.load(tmp_path / "own.npz")
    assert str(tmp_path) not in str(caught.value)


def test_own_file_missing(tmp_path):
    with pytest.raises(data.DataUnavailable, match=r"^there is no file .*absent\.npz$"):
        data.load(tmp_path / "absent.npz")


# ---- Dataset


def toy(**changed):
    fields = {
        "name": "toy",
        "x_train": np.array([[1, 2], [3, 4]], np.uint8),
        "y_train": np.array([0, 1]),
        "x_test": np.array([[5, 6]], np.uint8),
        "y_test": np.array([1]),
        "class_names": ("a", "b"),
        "source": "here",
    }
    return data.Dataset(**(fields | changed))


def test_digest_is_the_documented_one():
    little = "<q"
    expected = hashlib.sha256(
        b"x_train |u1 2,2\n\1\2\3\4"
        + b"y_train <i8 2\n"
        + struct.pack(little, 0)
        + struct.pack(little, 1)
        + b"x_test |u1 1,2\n\5\6"
        + b"y_test <i8 1\n"
        + struct.pack(little, 1)
    ).hexdigest()
    assert toy().digest == expected
    assert toy(y_train=np.array([0, 1], ">i8"), x_train=np.array([[1, 3], [2, 4]], np.uint8).T).digest == expected
    others = [
        toy(x_train=np.array([[1, 2], [4, 3]], np.uint8)),
        toy(y_test=np.array([0])),
        toy(y_train=np.array([0, 1], np.int32)),
        toy(x_train=np.arange(4).reshape(2, 2)),
        replace(toy(), x_test=np.array([[6, 5]], np.uint8)),
    ]
    assert len({expected, *(other.digest for other in others)}) == 6


def test_dataset_is_frozen_and_its_arrays_are_read_only():
    x = np.array([[1, 2], [3, 4]], np.uint8)
    made = toy(x_train=x)
    with pytest.raises(FrozenInstanceError):
        made.name = "other"
    for key in ("x_train", "y_train", "x_test", "y_test"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(made, key)[0] = 0
    x[0] = 0  # the caller's array is not locked
    assert "array" not in repr(made)


def test_dataset_checks_what_it_is_given():
    with pytest.raises(ValueError, match=r"^y_train must lie in 0 .. 1, got 2 at index 1$"):
        toy(y_train=np.array([0, 2]))
    with pytest.raises(ValueError, match=r"^x_test and y_test must have the same number of examples$"):
        toy(y_test=np.array([0, 1]))
    with pytest.raises(ValueError, match=r"^x_test must be finite, found NaN or infinity$"):
        toy(x_test=np.array([[1, math.inf]]))


# ---- preparation


@given(labels=st.lists(st.integers(0, 6), max_size=20), dtype=st.sampled_from([np.float32, np.float64, np.int8]))
def test_one_hot(labels, dtype):
    y = data.one_hot(np.array(labels, int), 7, dtype)
    assert y.shape == (len(labels), 7)
    assert y.dtype == dtype
    assert y.tolist() == [[1 if k == label else 0 for k in range(7)] for label in labels]


@pytest.mark.parametrize(
    "labels, classes, sentence",
    [
        ([0, 3, 1], 3, r"labels must lie in 0 .. 2, got 3 at index 1"),
        ([0, -1], 3, r"labels must lie in 0 .. 2, got -1 at index 1"),
        ([0.0, 1.0], 3, r"labels must be a one-dimensional array of integers, got shape \(2,\) of float64"),
        ([[0, 1]], 3, r"labels must be a one-dimensional array of integers, got shape \(1, 2\) of int64"),
        ([True, False], 3, r"labels must be a one-dimensional array of integers, got shape \(2,\) of bool"),
        ([], 0, r"classes must be at least 1, got 0"),
    ],
)
def test_one_hot_refuses(labels, classes, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}$"):
        data.one_hot(np.array(labels), classes)


def test_scale_standard_by_hand():
    x_train = np.array([[[0, 2]], [[2, 4]]], np.uint8)  # mean 2, variance (2^2 + 0 + 0 + 2^2) / 4 = 2
    x_test = np.array([[[255, 2]]], np.uint8)
    a, b = data.scale_pixels(x_train, x_test)
    r = math.sqrt(2)
    np.testing.assert_allclose(a, [[[-r, 0]], [[0, r]]], rtol=1e-15)
    # the test images are scaled with the mean and deviation of the training images
    np.testing.assert_allclose(b, [[[253 / r, 0]]], rtol=1e-15)


@pytest.mark.parametrize("n", [2, 999, 1000, 2500])
def test_scale_standard_features_one_by_one(n):
    """With "standard", each feature is scaled separately. The oracle is NumPy's mean and standard deviation.

    The tolerance is 1e-12, for features whose scales differ by a factor of 1e9.
    """
    rng = np.random.default_rng(n)
    scales = np.array([1e-3, 1, 1e6])
    x_train = rng.standard_normal((n, 3)) * scales + 5 * scales
    x_test = rng.standard_normal((7, 3)) * scales
    a, b = data.scale_pixels(x_train, x_test)
    for x, found in ((x_train, a), (x_test, b)):
        np.testing.assert_allclose(found, (x - x_train.mean(axis=0)) / x_train.std(axis=0), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float64])
def test_a_feature_that_is_constant_in_training_becomes_0(dtype):
    x_train = np.array([[0, 7, 1], [2, 7, 1], [1, 7, 4]], dtype)
    a, b = data.scale_pixels(x_train, np.array([[1, 9, 1]], dtype))
    r = math.sqrt(2 / 3)
    np.testing.assert_allclose(a[:, 0], [-1 / r, 1 / r, 0], rtol=1e-15)
    assert a[:, 1].tolist() == [0, 0, 0]
    np.testing.assert_allclose(b, [[0, 0, -1 / math.sqrt(2)]], rtol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 999, 1000, 1001, 2500])
def test_scale_standard_colour_images_by_channel(n, dtype):
    rng = np.random.default_rng(n)
    x_train = (rng.integers(0, 200, (n, 3, 4, 2)) // np.array([1, 2, 5])[:, None, None]).astype(np.uint8)
    x_test = x_train[:1] + np.uint8(3)
    a, b = data.scale_pixels(x_train, x_test, "standard", dtype)
    assert a.dtype == b.dtype == dtype
    assert a.shape == x_train.shape
    tolerance = 1e-12 if dtype == np.float64 else 1e-6
    for c in range(3):
        pixels = x_train[:, c].astype(np.float64)
        np.testing.assert_allclose(a[:, c], (pixels - pixels.mean()) / pixels.std(), rtol=tolerance, atol=tolerance)
        expected = (x_test[:, c] - pixels.mean()) / pixels.std()
        np.testing.assert_allclose(b[:, c], expected, rtol=tolerance, atol=tolerance)


def test_scale_standard_grey_images_as_a_whole():
    x = np.random.default_rng(0).integers(0, 256, (50, 1, 3, 3)).astype(np.uint8)
    a, _ = data.scale_pixels(x, x)
    assert a.shape == x.shape
    assert abs(a.mean()) < 1e-12
    assert abs(a.std() - 1) < 1e-12
    order = np.argsort(x, axis=None, kind="stable")
    assert (np.diff(a.ravel()[order]) >= 0).all()  # all pixels have one scale


def test_scale_unit():
    x = np.array([[0, 51, 255]], np.uint8)
    a, b = data.scale_pixels(x, x, "unit", np.float32)
    np.testing.assert_array_equal(a, np.array([[0, 0.2, 1]], np.float32))
    np.testing.assert_array_equal(a, b)
    assert a.dtype == np.float32


IMAGES = np.arange(24, dtype=np.uint8).reshape(2, 3, 2, 2)
FLOATS = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    "x_train, x_test, keywords, sentence",
    [
        (np.full((2, 3), 7, np.uint8), IMAGES[:, :, 0, 0], {}, "x_train must not be constant, because nfa divides"),
        # constant, although the mean of 0.1 is rounded
        (np.full((2, 3), 0.1), FLOATS, {}, "x_train must not be constant"),
        (IMAGES * np.array([1, 0, 1], np.uint8)[:, None, None], IMAGES, {}, "must not be constant in channel 1"),
        (IMAGES, IMAGES[:, :2], {}, r"the same shape, got \(2, 3, 2, 2\) and \(2, 2, 2, 2\)"),
        (np.arange(3), np.arange(3), {}, r"the same shape, got \(3,\) and \(3,\)"),
        (FLOATS[:0], FLOATS, {}, r"the same shape, got \(0, 3\) and"),
        (IMAGES, IMAGES, {"how": "zscore"}, 'how must be "standard", "unit" or "as-is", got \'zscore\''),
        (FLOATS, FLOATS, {"how": "unit"}, "x_train must hold whole numbers from 0 to 255 .*, got float64: take .as-is"),
        (
            IMAGES,
            FLOATS[:, :, None, None] + np.zeros((2, 2)),
            {"how": "unit"},
            "x_test must hold whole .*, got float64$",
        ),
        (IMAGES, IMAGES, {"dtype": np.uint8}, "dtype must be a float type, got uint8"),
        (FLOATS, FLOATS * math.nan, {}, "x_test must be finite"),
        (FLOATS + math.inf, FLOATS, {}, "x_train must be finite"),
        (FLOATS * 1e200, FLOATS, {}, "the standard deviation of x_train must fit into a 64-bit float"),
        (FLOATS * 1e-200, FLOATS, {}, "the standard deviation of x_train must fit into a 64-bit float"),
        (FLOATS, FLOATS * 1e6, {"dtype": np.float16}, "x_test must fit into float16 when scaled"),
    ],
)
def test_scale_refuses(x_train, x_test, keywords, sentence):
    with pytest.raises(ValueError, match=sentence):
        data.scale_pixels(x_train, x_test, **keywords)


@given(n=st.integers(2, 200), fraction=st.floats(0.01, 0.99), seed=st.integers(0, 5))
def test_split_validation(n, fraction, seed):
    if not 0 < round(n * fraction) < n:
        with pytest.raises(ValueError, match="fraction must leave examples in both parts"):
            data.split_validation(n, fraction, np.random.default_rng(seed))
        return
    train, held = data.split_validation(n, fraction, np.random.default_rng(seed))
    assert abs(len(held) - n * fraction) <= 0.5
    assert sorted([*train, *held]) == list(range(n))
    assert (np.diff(train) > 0).all()
    assert (np.diff(held) > 0).all()
    again = data.split_validation(n, fraction, np.random.default_rng(seed))
    np.testing.assert_array_equal(held, again[1])


@pytest.mark.parametrize("fraction", [0, 1, -0.1, 1.5, math.nan])
def test_split_validation_refuses(fraction):
    with pytest.raises(ValueError, match="fraction must lie between 0 and 1"):
        data.split_validation(10, fraction, np.random.default_rng(0))


def test_split_validation_is_uniform():
    """The validation split is uniform: each index is held out with the same probability.

    We count over 4000 random splits, with a tolerance of 5 standard deviations. Correct code fails with probability
    below 1e-4. If a probability is wrong by 10 standard deviations, the test misses this with probability below 1e-6.
    """
    rng = np.random.default_rng(3)
    draws, n, held = 4000, 20, 5
    counts = np.zeros(n)
    for _ in range(draws):
        counts[data.split_validation(n, held / n, rng)[1]] += 1
    p = held / n
    assert (np.abs(counts - draws * p) < 5 * math.sqrt(draws * p * (1 - p))).all()
