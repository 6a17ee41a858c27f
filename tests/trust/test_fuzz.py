"""Tests of our code for fuzzing, without the fuzzer: initial files can be read, and findings are detected.

`python -m tests.trust.fuzz` runs the fuzzer. The tests of each reader also test the inputs that the fuzzer has found
(tests/data/test_data_readers.py and others).
"""

import tracemalloc

import numpy as np
import pytest

from tests.trust.fuzz import readers
from tests.trust.fuzz.readers import READERS, Reader, outcome

EVERY = pytest.mark.parametrize("name", READERS)


@EVERY
def test_what_fuzzing_starts_from_is_read(name, tmp_path):
    """At least half of the initial files can be read, so that the fuzzer explores more than refusals."""
    reader, taken = READERS[name], 0
    for data in reader.seeds():
        assert len(data) <= reader.longest
        outcome(reader, tmp_path / "input", data)
        try:
            reader.read(tmp_path / "input")
            taken += 1
        except ValueError:
            pass
    assert taken >= len(reader.seeds()) / 2


@EVERY
def test_damaged_seeds_are_no_findings(name, tmp_path):
    """For each reader, 30 damaged initial files (bytes changed, removed or inserted) give no finding."""
    reader, rng = READERS[name], np.random.default_rng(8)
    for _ in range(30):
        data = bytearray(rng.choice(np.array(reader.seeds(), object)))
        at, n = rng.integers(len(data)), rng.integers(1, 9)
        data[at : at + n * rng.integers(2)] = rng.bytes(n * rng.integers(2))
        outcome(reader, tmp_path / "input", bytes(data))


def _too_much(path):
    np.ones(readers.MOST_MEMORY // 8 + 2**17)


def _two_lines(path):
    raise ValueError("one line\nand another")


def _says_nothing(path):
    raise OSError("")


def _breaks(path):
    raise KeyError("a")


@pytest.mark.parametrize(
    "read, raised, sentence",
    [
        (_too_much, AssertionError, "bytes were in use"),
        (_two_lines, AssertionError, "not one line"),
        (_says_nothing, AssertionError, "not one line"),
        (_breaks, KeyError, "a"),
    ],
)
def test_each_kind_of_finding_is_one(read, raised, sentence, tmp_path):
    tracemalloc.start()
    try:
        with pytest.raises(raised, match=sentence):
            outcome(Reader(read, list), tmp_path / "input", b"")
    finally:
        tracemalloc.stop()
