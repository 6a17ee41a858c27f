"""The data set `epsilon` of libsvm, whose first 1,000 records Berthier (2019) uses, and a stand-in for it.

The file has 400,000 records of 2,000 features and 12 GB of text, so nfa does not download it. If you have put the file
into a data folder, nfa reads its first lines. The file may be compressed.
"""

import bz2
import functools
import gzip
import math
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import numpy as np

from nfa.data.registry import DatasetInfo, File, Variant
from nfa.data.search import DataUnavailable, SearchedFolder, places

D = 2000  # features
N_TRAIN, N_TEST = 1000, 1000  # the report has no test set, so we use the next records as the test set
LONGEST = 2**20  # largest number of bytes of a line; a line of epsilon has about 26,000 bytes
PAGE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary.html"
INFO = DatasetInfo(
    name="epsilon",
    title="epsilon",
    layout="libsvm",
    folder="epsilon",
    shape=(1, 1, D),
    class_names=("-1", "+1"),
    licence="none stated (PASCAL Large Scale Learning Challenge 2008)",
    origin=PAGE,
    variants=(Variant(files=(File("epsilon_normalized", ""),), n_train=N_TRAIN, n_test=N_TEST),),
)
Arrays = tuple[np.ndarray, np.ndarray]


def read_libsvm(path: str | os.PathLike[str], n: int, d: int) -> Arrays:
    """Read the first n records of a libsvm text file with lines ``label index:value ...``, compressed or not.

    Parameters
    ----------
    path : path of the file, which bzip2 or gzip may have compressed
    n : int >= 1, records to read
    d : int >= 1, features. Indices start at 1 and increase within a line, and missing features are 0

    Returns
    -------
    x : (n, d) float64 array
    labels : (n,) float64 array, as written in the file

    Raises
    ------
    ValueError : if a line has another form, if an index is outside 1 .. d, or if a number is not finite. The message
        names the line. ValueError also if there are fewer than n records, or if a compressed file is damaged
    OSError : if the file cannot be read
    """
    path = Path(path)
    x, labels = np.zeros((n, d)), np.zeros(n)
    with _lines(path) as stream:
        for i in range(n):
            line = stream.readline(LONGEST)
            if not line.strip():
                raise ValueError(f"{path.name}: the file must have {n} records, but ends after {i} records")
            try:
                if b"_" in line:  # Python reads 1_0 as the number 10, but the libsvm format has no such numbers
                    raise ValueError("numbers must have no underscore")
                labels[i] = _finite(line.split(None, 1)[0])
                pairs = [pair.split(b":") for pair in line.split()[1:]]
                k = np.array([int(index) for index, _ in pairs], int)
                x[i, k - 1] = [_finite(value) for _, value in pairs]
                if not line.endswith(b"\n") and len(line) == LONGEST:
                    raise ValueError(f"a line must have fewer than {LONGEST} bytes")
                if len(k) and not (k[0] >= 1 and (np.diff(k) > 0).all()):
                    raise ValueError("indices must count from 1 and increase")
            except (ValueError, IndexError, OverflowError) as error:
                raise ValueError(f"{path.name}: line {i + 1} is not a record of {d} features ({error})") from None
    return x, labels


def binary_labels(labels: np.ndarray) -> np.ndarray:
    """Labels -1 and +1, or 0 and 1, as integers 0 and 1.

    Raises ValueError for other labels, or if the two forms are mixed.

    Source: [berthier2019:exp4.6]

    Examples
    --------
    >>> binary_labels(np.array([-1.0, 1.0, 1.0])).tolist()
    [0, 1, 1]
    """
    for pair in ((-1, 1), (0, 1)):
        if np.isin(labels, pair).all():
            return (labels == 1).astype(np.int64)
    wrong = next((v for v in labels.tolist() if v not in (-1, 0, 1)), None)
    got = "both -1 and 0" if wrong is None else f"{wrong:g}"
    raise ValueError(f"labels must be -1 and +1, or 0 and 1, got {got}")


def epsilon_arrays(data_dir: str | os.PathLike[str] | None = None) -> tuple[list[np.ndarray], str]:
    """x_train, y_train, x_test, y_test from the file of libsvm, and the place where the file was found.

    Source: [berthier2019:exp4.6]

    Raises
    ------
    ValueError : if the file is damaged or has other labels, or if data_dir is not a folder
    DataUnavailable : if the file is in none of the searched places, or cannot be read
    """
    found = find_epsilon(data_dir)
    if found is None:
        searched = "; ".join(place.label for place in places(INFO, data_dir))
        raise DataUnavailable(
            f"nfa finds the data set epsilon in none of these places ({searched}) and does not download this large"
            f" file: put epsilon_normalized (or this file compressed as .bz2 or .gz) from {PAGE} into a folder epsilon"
            " below the folder that NFA_DATA_HOME or data_dir names, or use the data set epsilon-stand-in"
        )
    place, path = found
    try:
        x, labels = read_libsvm(path, N_TRAIN + N_TEST, D)
    except OSError as error:
        raise DataUnavailable(f"{path.name}: the file cannot be read ({error.strerror or error})") from error
    y = binary_labels(labels)
    return [x[:N_TRAIN], y[:N_TRAIN], x[N_TRAIN:], y[N_TRAIN:]], place.label


def find_epsilon(data_dir: str | os.PathLike[str] | None = None) -> tuple[SearchedFolder, Path] | None:
    """The first file of the data set in the search order, and its folder."""
    for place in places(INFO, data_dir):
        for ending in ("", ".bz2", ".gz"):
            if (path := place.folder / f"epsilon_normalized{ending}").is_file():
                return place, path
    return None


@functools.cache
def stand_in_arrays(seed: int = 2019, a: float = 1.5) -> list[np.ndarray]:
    r"""x_train, y_train, x_test, y_test of the stand-in: two clouds of points with 2,000 features and norm 1.

    .. math:: y \in \{0, 1\} \text{ fair}, \qquad x = \frac{g + (2 y - 1)\, a\, w}{\|g + (2 y - 1)\, a\, w\|}, \qquad
              g \sim N(0, I_d)

    Source: [berthier2019:exp4.6]

    Parameters
    ----------
    seed : int, seed of the only generator, which draws w, a uniform direction, and then y and g
    a : float, half the distance of the two centres. With a = 1.5, the best possible classifier has an accuracy of 93 %.
        A classifier learned from 1,000 records has about 88 %

    Notes
    -----
    The stand-in has the sizes, the labels and the norms of `epsilon`. We know of no other common property. Entries are
    rounded to multiples of 2^-20, so that the data are equal on machines that round differently.
    """
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(D)
    w /= math.sqrt(float(w @ w))
    n = N_TRAIN + N_TEST
    y = rng.integers(0, 2, n)
    x = rng.standard_normal((n, D)) + a * (2 * y - 1)[:, None] * w
    x /= np.sqrt((x**2).sum(axis=1, keepdims=True))
    x = np.rint(x * 2**20) / 2**20
    return [x[:N_TRAIN], y[:N_TRAIN], x[N_TRAIN:], y[N_TRAIN:]]


STAND_IN = (
    "synthetic stand-in for the first 1,000 records of epsilon: two Gaussian clouds of 2,000 features, centres 3"
    " standard deviations apart, records scaled to norm 1, drawn with seed 2019; its values are not those of epsilon"
)


@contextmanager
def _lines(path: Path) -> Iterator[IO[bytes]]:
    with path.open("rb") as raw:
        start = raw.read(3)
    try:
        if start == b"BZh":
            with bz2.open(path, "rb") as stream:
                yield stream
        elif start[:2] == b"\x1f\x8b":
            with gzip.open(path, "rb") as unpacked:
                yield cast(IO[bytes], unpacked)
        else:
            with path.open("rb") as plain:
                yield plain
    except (EOFError, zlib.error, OSError) as error:
        if getattr(error, "errno", None) is not None:  # an error of the operating system, not an error in the data
            raise
        raise ValueError(f"{path.name}: the packed data are damaged or cut short") from error


def _finite(text: bytes) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text.decode(errors='replace')} is not finite")
    return value
