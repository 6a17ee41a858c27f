"""The function `load`, which loads images (or features) and labels by a name, and checks them."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from nfa.data.cifar import read_cifar
from nfa.data.idx import read_idx
from nfa.data.libsvm import N_TRAIN, STAND_IN, epsilon_arrays, find_epsilon, stand_in_arrays
from nfa.data.npz import ARRAYS, read_npz
from nfa.data.own_data import (
    Examples,
    class_names,
    in_classes,
    in_declared_classes,
    printable,
    read_own,
    read_test_set,
    read_to_predict,
)
from nfa.data.registry import VECTORS, File, find
from nfa.data.search import DataUnavailable, FoundFiles, NotReadable, existing, locate_or_download
from nfa.data.transforms import check_labels
from nfa.require import path_meant

OWN = (".npz", ".csv")  # suffixes of a user's own files


@dataclass(frozen=True, eq=False)
class Dataset:
    """Images (or features) and labels, checked at construction. The arrays are read-only.

    Parameters
    ----------
    name : name in the registry, or name of your own file
    x_train, x_test : (n, c, H, W) uint8 images. Your own file may also have (n, d) features and other number types
    y_train, y_test : (n,) int64 labels in 0 .. classes - 1
    class_names : meanings of the labels
    source : words about the place of the files, without a path of this machine
    note : a caveat for all results from these data; "" for a whole data set with the published bytes
    unsplit : whether these data have no test set, so that x_test and y_test are empty. Only your own file may lack a
        test set
    records : number of training records in the registry; None for your own file
    columns : names of the features, in order; None for features without names

    Raises
    ------
    ValueError : if the numbers of images and labels differ, or if the examples differ in shape or kind of numbers.
        ValueError also if there is no example, if a label is not one of the classes, or if a value is NaN or infinite.
        No message contains the number of examples or a value of an example
    """

    name: str
    x_train: np.ndarray = field(repr=False)
    y_train: np.ndarray = field(repr=False)
    x_test: np.ndarray = field(repr=False)
    y_test: np.ndarray = field(repr=False)
    class_names: tuple[str, ...]
    source: str
    note: str = ""
    unsplit: bool = False
    records: int | None = None
    columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for part in ("train", "test"):
            x, y = getattr(self, f"x_{part}"), getattr(self, f"y_{part}")
            if x.ndim < 2 or 0 in x.shape[1:]:
                raise ValueError(
                    f"x_{part} must hold examples of at least one value each, got examples of the shape {x.shape[1:]}"
                )
            if len(x) == 0 and not (self.unsplit and part == "test"):
                raise ValueError(f"x_{part} must hold at least one example")
            if len(x) != len(y):
                raise ValueError(f"x_{part} and y_{part} must have the same number of examples")
            check_labels(y, self.classes, f"y_{part}")
            if x.dtype.kind == "f" and not np.isfinite(x).all():
                raise ValueError(f"x_{part} must be finite, found NaN or infinity")
        if self.x_train.shape[1:] != self.x_test.shape[1:]:
            raise ValueError(
                f"x_train and x_test must hold examples of the same shape, got {self.x_train.shape[1:]} and"
                f" {self.x_test.shape[1:]}"
            )
        if (self.x_train.dtype.kind == "f") != (self.x_test.dtype.kind == "f"):
            raise ValueError(
                "x_train and x_test must both hold integers or both hold floats, with one scale,"
                f" got {self.x_train.dtype} and {self.x_test.dtype}"
            )
        for key in ARRAYS:
            array = np.ascontiguousarray(getattr(self, key)).view()
            array.flags.writeable = False
            object.__setattr__(self, key, array)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)

    @cached_property
    def digest(self) -> str:
        """A sha256 in hexadecimal that identifies the exact data.

        For each of x_train, y_train, x_test, y_test in this order, the hash first reads one line of ASCII, such as
        ``x_train |u1 6000,1,28,28``. This line has the name, the NumPy type string, the shape and a line feed. Then the
        hash reads the elements in C order, little-endian.
        """
        digest = hashlib.sha256()
        for key in ARRAYS:
            array = getattr(self, key)
            array = array.astype(array.dtype.newbyteorder("<"), copy=False)
            digest.update(f"{key} {array.dtype.str} {','.join(map(str, array.shape))}\n".encode())
            digest.update(array.data)
        return digest.hexdigest()


def is_own(name: str | os.PathLike[str]) -> bool:
    """Whether `load` treats this name as the path of a user's own file, and not as a name of the registry."""
    name = os.fspath(name)
    return Path(name).suffix.lower() in OWN or Path(name).name != name


def load(
    name: str | os.PathLike[str],
    data_dir: str | os.PathLike[str] | None = None,
    *,
    unsplit: bool = False,
    classes: str | None = None,
    test: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Load a data set by its name, or your own data from an `.npz` or a `.csv` file.

    Parameters
    ----------
    name : a name in DATASETS, the name "epsilon", "epsilon-stand-in" or "epsilon-or-stand-in", or the path of an `.npz`
        or a `.csv` file. "epsilon" has vectors of 2,000 features instead of images. "epsilon-or-stand-in" is "epsilon"
        if its file is available, and otherwise "epsilon-stand-in". An `.npz` file has x_train, y_train, x_test, y_test,
        or x and y. The arrays x are integers or floats of shape (n, d), (n, c, H, W) or (n, H, W). The shape (n, H, W)
        becomes (n, 1, H, W). Labels are text or integers. Integers in y_train are 0 .. k - 1, and each of them must
        occur. For text, and for integers in y, the classes are the sorted labels. A `.csv` file has a line of column
        names, with the name ``label`` among them, and then one line for each example.
    data_dir : folder that is searched first, before NFA_DATA_HOME, the user cache and the download
    unsplit : whether to accept a file without a test set (a `.csv` file, or the arrays x and y). All its examples
        become x_train and y_train
    classes : the classes of your own file, declared in the format of `nfa.data.own_data.class_names`. The number of a
        label then depends only on the label itself, and no error reveals the content of an example. With None, the
        classes are the labels that occur
    test : the path of an `.npz` or a `.csv` file with the test set, for a file without a test set. The file is a table
        with the columns of the training data, or it has the arrays x_test and y_test, or x and y

    Returns
    -------
    Dataset; for a known data set, (n, c, H, W) uint8 images and int64 labels

    Raises
    ------
    ValueError : if the name is not known, if data_dir is not a folder, or if a file is damaged or is not the published
        file. ValueError also if a file has no test set and unsplit is false, or if a file has a test set and ``test``
        is also given. ValueError also if a label is not a declared class, if classes or ``test`` are given for a data
        set of the registry, or if the registry has an unknown layout or other sizes than the files
    DataUnavailable : if the files are not found and cannot be downloaded, or cannot be read. If your own file is
        missing or cannot be read, the exception is also a ValueError

    Notes
    -----
    Guarantees: the unpacked bytes of every file of a known data set have the sha256 of the registry. Nothing is
    unpickled.

    Examples
    --------
    >>> small = load("fashion-mnist-small")
    >>> small.x_train.shape, small.x_test.shape, small.classes, small.class_names[9]
    ((6000, 1, 28, 28), (1000, 1, 28, 28), 10, 'Ankle boot')
    """
    name = os.fspath(name)
    existing(data_dir)
    if is_own(name):
        return _own(Path(name), unsplit, classes, None if test is None else Path(test))
    info = None if name in VECTORS else find(name, own=True)
    if classes is not None:
        raise ValueError(
            f"classes is only for your own file: leave out classes, because {name} declares its own classes"
        )
    if test is not None:
        raise ValueError(f"test is only for your own file: leave out test, because {name} has its own test set")
    if info is None:
        return _vectors(name, data_dir)
    if info.layout not in LAYOUTS:
        raise ValueError(f"{info.name}: layout must be one of {', '.join(LAYOUTS)}, got {info.layout!r}")
    found = locate_or_download(info, data_dir)
    try:
        with _readable(info.name):
            x_train, y_train, x_test, y_test = LAYOUTS[info.layout](found)
        _check_size("training", x_train, (found.variant.n_train, *info.shape))
        _check_size("test", x_test, (found.variant.n_test, *info.shape))
        return Dataset(
            name=info.name,
            x_train=x_train,
            y_train=y_train.astype(np.int64),
            x_test=x_test,
            y_test=y_test.astype(np.int64),
            class_names=info.class_names,
            source=found.place.label,
            note=found.variant.note,
            records=found.variant.n_train,
        )
    except ValueError as error:
        raise ValueError(f"{info.name}, {found.place.label}: {error}") from error


def load_to_predict(name: str | os.PathLike[str], data_dir: str | os.PathLike[str] | None = None) -> Examples:
    """Load examples to predict their classes, by the name of a data set or from an `.npz` or a `.csv` file.

    Parameters
    ----------
    name : the path of a `.csv` file as for `load`, with or without the column ``label``. It may also be the path of an
        `.npz` file with x or x_test, with or without labels. Finally, it may be the name of a data set for `load`. The
        examples are then the test set of this data set
    data_dir : as for `load`

    Returns
    -------
    Examples. The labels of a table are text. The labels of a known data set are the names of the classes

    Raises
    ------
    ValueError, DataUnavailable : as `load`
    """
    name = os.fspath(name)
    existing(data_dir)
    if is_own(name):
        with _readable(name, own=True):
            return read_to_predict(Path(name))
    dataset = load(name, data_dir)
    return Examples(dataset.x_test, np.array(dataset.class_names)[dataset.y_test])


def _check_size(part: str, images: np.ndarray, stated: tuple[int, ...]) -> None:
    if images.shape != stated:
        says, hold = (f"{n} {part} images of {'x'.join(map(str, image))}" for n, *image in (stated, images.shape))
        raise ValueError(f"the registry declares {says}, but the files hold {hold}")


def _idx(found: FoundFiles) -> list[np.ndarray]:
    arrays = []
    for file, path in zip(found.variant.files, found.files, strict=True):
        digest = hashlib.sha256()
        arrays.append(read_idx(path, digest=digest))
        _check_digest(file, path, digest.hexdigest())
    x_train, y_train, x_test, y_test = arrays
    return [x_train[:, None], y_train, x_test[:, None], y_test]  # (n, 1, H, W)


def _cifar(found: FoundFiles) -> list[np.ndarray]:
    batches = []
    for file, path in zip(found.variant.files, found.files, strict=True):
        digest = hashlib.sha256()
        batches.append(read_cifar(path, digest=digest))
        _check_digest(file, path, digest.hexdigest())
    *train, test = batches
    return [np.concatenate([x for x, _ in train]), np.concatenate([y for _, y in train]), *test]


def _embedded(found: FoundFiles) -> list[np.ndarray]:
    (path,) = found.files
    _check_digest(found.variant.files[0], path, hashlib.sha256(path.read_bytes()).hexdigest())
    arrays = read_npz(path)
    return [arrays["x_train"][:, None], arrays["y_train"], arrays["x_test"][:, None], arrays["y_test"]]


LAYOUTS = {"idx": _idx, "cifar": _cifar, "npz": _embedded}


def _vectors(name: str, data_dir: str | os.PathLike[str] | None) -> Dataset:
    """The data set `epsilon` or its stand-in. The name and the note of the result state which data set was loaded."""
    if name == "epsilon-or-stand-in":
        name = "epsilon" if find_epsilon(data_dir) else "epsilon-stand-in"
    if name == "epsilon":
        (x_train, y_train, x_test, y_test), source = epsilon_arrays(data_dir)
        note = "the first 1,000 records; the next 1,000 are the test set; the digest of the file is not checked"
    else:
        (x_train, y_train, x_test, y_test), source, note = stand_in_arrays(), "drawn by nfa", STAND_IN
    arrays = (x_train, y_train, x_test, y_test)
    return Dataset(name, *arrays, class_names=("-1", "+1"), source=source, note=note, records=N_TRAIN)


def _own(path: Path, unsplit: bool, classes: str | None, test: Path | None) -> Dataset:
    names = None if classes is None else class_names(classes)
    with _readable(str(path), own=True):
        arrays, whole, columns = read_own(path, names)
    source = f"your own file {path.name}"
    if test is not None:
        if not whole:
            raise ValueError(
                f"test is only for data without a test set: leave out test, because {path.name} has its own test set"
            )
        if test.suffix.lower() not in OWN:
            raise ValueError(f"test must be an {' or a '.join(OWN)} file, got {os.fspath(test)!r}")
        with _readable(str(test), own=True):
            if test.samefile(path):
                raise ValueError(f"test must be another file than the training data, got {test.name}")
            arrays = read_test_set(test, arrays, columns)
        source = f"your own files {path.name} and {test.name}"
    try:
        if whole and test is None and not unsplit:
            raise ValueError(
                "the file has no test set: name a file with a test set as test=, or take all examples as the training"
                " set with unsplit=True"
            )
        y_train, y_test = arrays["y_train"], arrays["y_test"]
        if names is None:
            y_train, y_test, names = in_classes(y_train, y_test, whole)
        else:
            y_train = in_declared_classes(y_train, names, "y" if whole else "y_train")
            y_test = in_declared_classes(y_test, names, "y_test")
        split = test is not None or not whole
        notes = [] if split else ["the examples held out are the test set, because the file has none"]
        if names != tuple(map(str, range(len(names)))):
            notes.append(f"classes in order: {', '.join(map(printable, names))}")
        return Dataset(
            name=path.stem,
            x_train=arrays["x_train"],
            y_train=y_train,
            x_test=arrays["x_test"],
            y_test=y_test,
            class_names=names,
            source=source,
            note="; ".join(notes),
            unsplit=not split,
            columns=columns,
        )
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None


def _check_digest(file: File, path: Path, digest: str) -> None:
    if digest != file.sha256:
        raise ValueError(
            f"{path.name}: the content differs from the published content (sha256 {digest[:12]}..., need"
            f" {file.sha256[:12]}...): delete the file so that nfa fetches it again, or replace it by the original"
        )


@contextmanager
def _readable(name: str, own: bool = False) -> Iterator[None]:
    """Replace an OSError in the body of the ``with`` statement by an exception of nfa.

    For a user's own file, the exception is also a ValueError, because the caller has named the file.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        what = (Path(error.filename).name if isinstance(error.filename, str) else "") or name
        if not own:
            raise DataUnavailable(f"{what}: the file cannot be read ({reason})") from error
        if isinstance(error, FileNotFoundError):
            raise NotReadable(f"there is no file {name}{path_meant(Path(name), OWN)}") from error
        raise NotReadable(f"{what}: the file cannot be read ({reason})") from error
