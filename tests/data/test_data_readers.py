"""Tests of the readers of nfa.data. Damaged files cause a message of one sentence and take little memory."""

import csv
import gzip
import hashlib
import io
import math
import pickle
import struct
import tracemalloc
import zipfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nfa.data import read_cifar, read_idx, read_npz
from nfa.data.content import LARGEST, read_at_most, room
from nfa.data.own_data import read_csv

# element code, struct letter, a value, and its big-endian bytes, computed by hand
BY_HAND = [
    (0x08, "B", 200, "c8"),
    (0x09, "b", -2, "fe"),
    (0x0B, "h", -2, "fffe"),
    (0x0C, "i", 66051, "00010203"),
    (0x0D, "f", -0.5, "bf000000"),
    (0x0E, "d", 1.5, "3ff8000000000000"),
]


def idx(code, shape, content):
    """The bytes of an IDX file, written with `struct` and without nfa."""
    return struct.pack(f">BBBB{len(shape)}I", 0, 0, code, len(shape), *shape) + content


@contextmanager
def peak_below(limit):
    """Fail if the block allocates more than `limit` bytes at any time, including NumPy's arrays."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < limit
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("readers")


def refused(read, path, content, sentence):
    path.write_bytes(content)
    with pytest.raises(ValueError, match=sentence) as caught:
        read(path)
    message = str(caught.value)
    assert message.startswith(f"{path.name}: ")
    assert "\n" not in message
    assert str(path.parent) not in message


def attempt(read, path):
    """The result of the reader, or the message with which it refuses the file. Any other exception fails the test."""
    try:
        return read(path)
    except ValueError as error:
        return str(error)


# ---- IDX


@pytest.mark.parametrize("code, letter, value, hexadecimal", BY_HAND)
def test_idx_element_types_by_hand(tmp_path, code, letter, value, hexadecimal):
    path = tmp_path / "a"
    path.write_bytes(bytes.fromhex(f"0000{code:02x}01 00000001 {hexadecimal}"))
    array = read_idx(path)
    assert array.shape == (1,)
    assert array.dtype == np.dtype(letter)  # native byte order, so that arithmetic is fast
    assert array.dtype.isnative
    assert array[0] == value


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gz"])
@pytest.mark.parametrize("code, letter, value, hexadecimal", BY_HAND)
@pytest.mark.parametrize("shape", [(7,), (2, 3, 5), (1, 1, 1, 1, 1, 1, 1, 2)])
def test_idx_round_trip(tmp_path, pack, code, letter, value, hexadecimal, shape):
    values = [i % 100 for i in range(math.prod(shape))]
    content = idx(code, shape, struct.pack(f">{len(values)}{letter}", *values))
    path = tmp_path / "named-without-gz"  # the content decides, not the file name
    path.write_bytes(pack(content))
    digest = hashlib.sha256()
    array = read_idx(str(path), digest=digest)
    assert array.shape == shape
    assert array.ravel().tolist() == values
    assert array.flags.c_contiguous
    assert digest.hexdigest() == hashlib.sha256(content).hexdigest()


GOOD = idx(0x08, (2, 3), bytes(6))
HUGE = 2**32 - 1


@pytest.mark.parametrize(
    "content, sentence",
    [
        (b"", "must begin with two zero bytes, got nothing"),
        (b"\0\0\x08", "must begin with two zero bytes"),
        (b"PK\x03\x04" + bytes(20), "must begin with two zero bytes, got 504b"),
        (b"\0\1" + GOOD[2:], "must begin with two zero bytes, got 0001"),
        (idx(0x0A, (1,), b"\0"), "element type must be one of 08 09 0b 0c 0d 0e, got 0a"),
        (b"\0\0\x08\0", "the number of dimensions in the IDX header must be 1 to 8, got 0"),
        (idx(0x08, (1,) * 9, b"\0"), "the number of dimensions in the IDX header must be 1 to 8, got 9"),
        (GOOD[:11], "ends within the IDX header"),
        (idx(0x08, (2, 0), b""), r"every dimension in the IDX header must be at least 1, got \(2, 0\)"),
        (idx(0x08, (0, HUGE, HUGE), b""), "every dimension in the IDX header must be at least 1"),
        (GOOD[:-1], "declares 6 bytes, but the file holds only 5"),
        (GOOD + b"\0", "holds more than the 6 bytes that the IDX header declares"),
        (idx(0x08, (HUGE,), bytes(6)), "declares 4294967295 bytes, more than this file can hold"),
        (idx(0x0E, (HUGE,) * 8, bytes(6)), "more than this file can hold"),
        (idx(0x0D, (2,), struct.pack(">2f", 1, math.nan)), "must be finite, found NaN or infinity"),
        (idx(0x0E, (2,), struct.pack(">2d", -math.inf, 1)), "must be finite, found NaN or infinity"),
        (gzip.compress(GOOD, mtime=0)[:-9], "gzip data are damaged or cut short"),
        (gzip.compress(GOOD, mtime=0)[:5], "gzip data are damaged or cut short"),
        # wrong checksum and length
        (gzip.compress(GOOD, mtime=0)[:-8] + bytes(8), "gzip data are damaged or cut short"),
        (gzip.compress(GOOD, mtime=0)[:10] + b"\xff" * 30, "gzip data are damaged or cut short"),
        (b"\x1f\x8b", "gzip data are damaged or cut short"),
    ],
)
def test_idx_refuses(tmp_path, content, sentence):
    refused(read_idx, tmp_path / "images-idx", content, sentence)


def test_idx_header_is_refused_before_anything_is_allocated(tmp_path):
    padding = bytes(300_000)  # for a file of this size, nfa accepts at most 309 MB of content
    with peak_below(2**20):
        refused(read_idx, tmp_path / "a", idx(0x08, (HUGE,), padding), "more than this file can hold")
    with peak_below(8 * 2**20):  # nfa accepts 300 MB, but allocates only memory for the bytes in the file
        refused(read_idx, tmp_path / "a", idx(0x08, (300_000_000,), padding), "holds only 300000")


def test_idx_unpacks_one_byte_more_than_declared_and_no_further(tmp_path):
    bomb = gzip.compress(idx(0x08, (10,), bytes(64 * 2**20)))
    with peak_below(2**20):
        refused(read_idx, tmp_path / "a", bomb, "holds more than the 10 bytes")


def test_room_follows_the_file_up_to_a_limit(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(bytes(1000))
    assert room(path) == 1_032_000
    content = bytes(10**6)
    path.write_bytes(gzip.compress(content, 9))
    assert room(path) >= len(content)  # the limit accepts the largest content that deflate can pack into this size
    with path.open("wb") as file:
        file.truncate(2**33)
    assert room(path) == LARGEST


def test_read_at_most_takes_short_reads():
    class Dribble(io.BytesIO):
        def read(self, n=-1):
            return super().read(min(n, 3))

    assert read_at_most(Dribble(b"0123456789"), 8) == b"01234567"
    assert read_at_most(Dribble(b"0123"), 8) == b"0123"


def test_readers_leave_a_missing_file_to_the_caller(tmp_path):
    for read in (read_idx, read_cifar, read_npz):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "absent")


headers = st.builds(
    lambda code, dims, body: idx(code, dims, body),
    st.sampled_from([0x08, 0x09, 0x0B, 0x0C, 0x0D, 0x0E, 0x0A]),
    st.lists(st.one_of(st.integers(0, 4), st.integers(0, HUGE)), max_size=9),
    st.binary(max_size=70),
)
anything = st.one_of(st.binary(max_size=200), headers)


@given(content=st.one_of(anything, anything.map(gzip.compress), st.binary().map(lambda b: b"\x1f\x8b\x08" + b)))
@example(content=idx(0x08, (2, 2), b"abcd"))
def test_idx_any_bytes(folder, content):
    path = folder / "fuzz"
    path.write_bytes(content)
    with peak_below(2**22):
        answer = attempt(read_idx, path)
    if isinstance(answer, str):
        assert answer.startswith("fuzz: ")
        return
    assert answer.size > 0
    assert answer.nbytes <= 100
    assert np.isfinite(answer).all()


# ---- CIFAR-10


def batch(labels, pixel=lambda i, j: (7 * i + j) % 251):
    return b"".join(bytes([label]) + bytes(pixel(i, j) for j in range(3072)) for i, label in enumerate(labels))


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gz"])
def test_cifar_round_trip(tmp_path, pack):
    content = batch([3, 9, 0])
    path = tmp_path / "data_batch_1.bin"
    path.write_bytes(pack(content))
    digest = hashlib.sha256()
    images, labels = read_cifar(path, digest=digest)
    assert labels.tolist() == [3, 9, 0]
    assert images.shape == (3, 3, 32, 32)
    assert images.dtype == np.uint8
    for i, c, row, column in [(0, 0, 0, 0), (1, 0, 0, 31), (2, 0, 1, 0), (0, 1, 0, 0), (1, 2, 31, 31)]:
        assert images[i, c, row, column] == (7 * i + 1024 * c + 32 * row + column) % 251
    assert images.flags.c_contiguous
    assert digest.hexdigest() == hashlib.sha256(content).hexdigest()


@pytest.mark.parametrize(
    "content, sentence",
    [
        (b"", "whole number of records of 3073 bytes, got 0 bytes"),
        (batch([1])[:-1], "got 3072 bytes"),
        (batch([1]) + b"\0", "got 3074 bytes"),
        (batch([1, 10]), "labels must be below 10, got 10 in record 1"),
        (batch([0, 255, 11]), "got 255 in record 1"),
        (gzip.compress(batch([1]), mtime=0)[:-1], "gzip data are damaged or cut short"),
    ],
)
def test_cifar_refuses(tmp_path, content, sentence):
    refused(read_cifar, tmp_path / "test_batch.bin", content, sentence)


def test_cifar_refuses_a_flood(tmp_path, monkeypatch):
    monkeypatch.setattr("nfa.data.content.LARGEST", 2**21)
    bomb = gzip.compress(bytes(2**26))
    with peak_below(2**23):
        refused(
            read_cifar, tmp_path / "a.bin", bomb, "must have at most 2097152 bytes, but the file unpacks to more bytes"
        )


@given(content=st.one_of(st.binary(max_size=200), st.binary(max_size=10).map(lambda b: (b + bytes(3073))[:3073])))
def test_cifar_any_bytes(folder, content):
    path = folder / "fuzz.bin"
    path.write_bytes(content)
    with peak_below(2**22):
        answer = attempt(read_cifar, path)
    if isinstance(answer, str):
        assert answer.startswith("fuzz.bin: ")
        return
    images, labels = answer
    assert images.shape == (1, 3, 32, 32)
    assert labels.max() < 10


# ---- npz

X, Y = np.arange(24, dtype=np.uint8).reshape(2, 3, 4), np.array([1, 0])
ARRAYS = {"x_train": X, "y_train": Y, "x_test": X[:1].astype(np.float32), "y_test": Y[1:]}


def npz(**changed):
    """The bytes of an .npz file. A value of type bytes becomes the member itself, and None leaves out the member."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, value in (ARRAYS | changed).items():
            if isinstance(value, np.ndarray):
                member = io.BytesIO()
                np.lib.format.write_array(member, value)
                value = member.getvalue()
            if value is not None:
                archive.writestr(f"{key}.npy", value)
    return out.getvalue()


def npy(shape, descr, content):
    """The bytes of an .npy file of format version 1.0. Its header has any ``descr``, given as a string."""
    header = f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape!r}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + content


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_round_trip(tmp_path, save):
    path = tmp_path / "own.npz"
    save(path, extra=np.zeros(3), **ARRAYS)
    arrays = read_npz(path)
    assert set(arrays) == set(ARRAYS)
    for key, array in ARRAYS.items():
        assert arrays[key].dtype == array.dtype
        np.testing.assert_array_equal(arrays[key], array)


class Trap:
    def __reduce__(self):
        return (Path.touch, (Path("trapped"),))


def test_npz_never_unpickles(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    objects = np.array([Trap()], dtype=object)
    refused(read_npz, tmp_path / "a.npz", npz(x_test=objects), "x_test cannot be read .*never unpickles")
    refused(read_npz, tmp_path / "a.npz", npz(x_test=pickle.dumps(Trap())), "x_test cannot be read")
    refused(read_npz, tmp_path / "a.npz", pickle.dumps(Trap()), "must be an .npz file")
    assert not Path("trapped").exists()


def damaged(content, at):
    return content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]


@pytest.mark.parametrize(
    "content, sentence",
    [
        (b"", "must be an .npz file as numpy.savez writes it"),
        (npz()[:-30], "must be an .npz file"),
        (
            npz(y_test=None),
            "must have the arrays x_train, y_train, x_test, y_test, or x and y. The file has x_test, x_train, y_train, "
            "so y_test is missing",
        ),
        (npz(x_train=np.array([[1.0, math.nan]])), "x_train must be finite, found NaN or infinity"),
        (npz(x_test=np.array([[1.0, math.inf]], np.float32)), "x_test must be finite"),
        (npz(y_train=np.array([b"a", b"b"])), r"y_train must hold integers or text, got \|S1"),
        (npz(x_train=np.ones(3, complex)), "x_train must hold integers or floats, got complex128"),
        (npz(x_train=npy((10**12,), "<f8", bytes(64))), "x_train cannot be read .*must be the size in the archive"),
        (npz(x_train=npy((7,), "<f8", bytes(64))), "x_train cannot be read .*must be the size in the archive"),
        (npz(x_train=npy((-8,), "<f8", bytes(64))), r"x_train cannot be read .*shape \(-8,\)"),
        (npz(x_train=npy((8,), "no", bytes(64))), "x_train cannot be read"),
        (npz(x_train=b"\x93NUMPY\x01\x00\xff\xff{"), "x_train cannot be read"),
        (npz(x_train=b""), "x_train cannot be read"),
        (damaged(npz(), 90), "x_train cannot be read"),
    ],
)
def test_npz_refuses(tmp_path, content, sentence):
    refused(read_npz, tmp_path / "own.npz", content, sentence)


def test_npz_declaration_is_refused_before_it_is_allocated(tmp_path):
    with peak_below(2**20):
        refused(read_npz, tmp_path / "a.npz", npz(x_train=npy((2**29,), "|u1", b"")), "must be the size in the archive")


@given(at=st.integers(0, len(npz()) - 1), mask=st.integers(1, 255), cut=st.booleans())
def test_npz_any_damage(folder, at, mask, cut):
    good = npz()
    path = folder / "fuzz.npz"
    path.write_bytes(good[:at] if cut else good[:at] + bytes([good[at] ^ mask]) + good[at + 1 :])
    with peak_below(2**21):
        answer = attempt(read_npz, path)
    if isinstance(answer, str):
        assert answer.startswith("fuzz.npz: ")
        return
    for key, array in ARRAYS.items():  # an array that can still be read must be unchanged
        np.testing.assert_array_equal(answer[key], array)


# ---- csv

cells = st.one_of(
    st.sampled_from(["", "label", "a", "1", "-2.5e3", "1_0", "nan", "NA", "x", "y", " x", "\u0663"]),
    st.text(max_size=3),
)
ends = st.sampled_from(["\n", "\r\n", "\r", "\n\n", ";\n", ",\n", "\t"])
lines = st.lists(st.tuples(st.lists(cells, max_size=4).map(",".join), ends).map("".join), max_size=8).map("".join)


@given(
    content=st.one_of(
        st.binary(max_size=60), lines.map(str.encode), lines.map(lambda text: b"a,label\n" + text.encode())
    )
)
@example(content=b"a,label\n1\xc2\xa0,x\n2,y\n")
def test_csv_any_bytes(folder, content):
    """For any bytes, the reader of CSV files returns a table or reports one sentence with the name of the file."""
    path = folder / "fuzz.csv"
    path.write_bytes(content)
    for read in (read_csv, lambda path: read_csv(path, ("x", "y")), lambda path: read_csv(path, optional=True)):
        answer = attempt(read, path)
        if isinstance(answer, str):
            assert answer.startswith("fuzz.csv: ")
            assert answer.isprintable()
            continue
        assert answer.x.shape == (len(answer.x), len(answer.columns))
        assert answer.x.size > 0
        assert np.isfinite(answer.x).all()


texts = st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1, max_size=5)


@given(
    labels=st.lists(texts.map(str.strip).filter(bool), min_size=2, max_size=4),
    x=st.lists(st.floats(-9e9, 9e9), min_size=4, max_size=4),
)
def test_what_a_csv_writer_wrote_comes_back(folder, labels, x):
    path = folder / "own.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["a", "label"], *zip(x, labels, strict=False)])
    found = read_csv(path, optional=True)
    assert found.y.tolist() == labels
    assert found.x[:, 0].tolist() == x[: len(labels)]
