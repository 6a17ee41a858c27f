"""Read the arrays of an `.npz` file, as `numpy.savez` writes it, without pickle."""

import math
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import IO

import numpy as np

from nfa.data.content import room

ARRAYS = ("x_train", "y_train", "x_test", "y_test")
WHOLE = ("x", "y")  # the arrays of a data set without a test set


def read_npz(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Read the arrays of a data set from an `.npz` file, as `numpy.savez` writes it.

    Returns
    -------
    dict with exactly the keys x_train, y_train, x_test, y_test or, if the file has none of these arrays, x and y. Other
    arrays in the file are ignored. Labels may be text

    Raises
    ------
    ValueError : if the file is not such an archive, or if an array is missing, contains Python objects, declares
        another size than the archive has, or contains NaN or infinity
    OSError : if the file cannot be read

    Notes
    -----
    Guarantees: nothing in the file is unpickled. Before it allocates memory, the function refuses an array that
    declares more bytes than the file can have.
    """
    path = Path(path)
    most = room(path)
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            raise ValueError(
                f"{path.name}: the file must be an .npz file as numpy.savez writes it, but has another format"
            )
        names = _names(file, path.name)
        keys = WHOLE if names & set(WHOLE) and not names & set(ARRAYS) else ARRAYS
        if missing := [key for key in keys if key not in names]:
            raise ValueError(
                f"{path.name}: the file must have the arrays {', '.join(ARRAYS)}, or x and y. The file has "
                f"{_listed(names)}, so {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
            )
        return {key: _read_array(file, key, most, path.name) for key in keys}


def read_examples(path: str | os.PathLike[str]) -> tuple[np.ndarray, np.ndarray | None]:
    """Read x_test and y_test from an `.npz` file or, if the file has no x_test, x and y. The file may have no labels.

    Returns
    -------
    x : array of examples
    y : array of labels, integers or text; None if the file has none

    The errors and the guarantees are those of `read_npz`.
    """
    path = Path(path)
    most = room(path)
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            raise ValueError(
                f"{path.name}: the file must be an .npz file as numpy.savez writes it, but has another format"
            )
        names = _names(file, path.name)
        x, y = ("x_test", "y_test") if "x_test" in names else WHOLE
        if x not in names:
            raise ValueError(
                f"{path.name}: the file must have an array x or x_test of examples, but has {_listed(names)}. The "
                "labels y or y_test are optional"
            )
        return _read_array(file, x, most, path.name), _read_array(file, y, most, path.name) if y in names else None


def _names(file: IO[bytes], name: str) -> set[str]:
    """The names of the arrays in the file."""
    try:
        with zipfile.ZipFile(file) as archive:
            return {member.removesuffix(".npy") for member in archive.namelist() if member.endswith(".npy")}
    except Exception as error:
        raise ValueError(
            f"{name}: the file must be an .npz file as numpy.savez writes it, but cannot be read ({first_line(error)})"
        ) from error


def _listed(names: set[str]) -> str:
    """At most eight names of arrays for a message, without characters that could control a terminal."""
    shown = [ascii(name)[1:-1] for name in sorted(names)]
    return ", ".join(shown[:8] + ["..."] * (len(shown) > 8)) or "none"


def _read_array(file: IO[bytes], key: str, most: int, name: str) -> np.ndarray:
    try:
        with zipfile.ZipFile(file) as archive:
            array = _unpacked(archive, key, most)
    # For damaged bytes, zipfile, its decompressors and numpy raise exceptions of a dozen types.
    except Exception as error:
        raise ValueError(f"{name}: the array {key} cannot be read ({first_line(error)})") from error
    if array.ndim == 0:
        raise ValueError(f"{name}: {key} must be an array, got a single value")
    kinds, what = ("uifU", "integers or text") if key.startswith("y") else ("uif", "integers or floats")
    if array.dtype.kind not in kinds:
        as_text = 'astype("U")' if key.startswith("y") else ""
        take = {"b": "astype(int)", "S": as_text}.get(array.dtype.kind, "")
        raise ValueError(f"{name}: {key} must hold {what}, got {array.dtype}{take and f': save {key}.{take}'}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{name}: {key} must be finite, found NaN or infinity")
    return array


def unpack(file: IO[bytes], size: int, keys: Iterable[str] | None = None) -> dict[str, np.ndarray]:
    """All arrays, or the arrays with the given keys, of an archive as `numpy.savez` writes it.

    The arrays may have any dtype except object.

    Parameters
    ----------
    file : open for reading, at any position
    size : int, number of bytes of the file. All arrays together must not have more bytes, because `numpy.savez` does
        not compress
    keys : names of arrays; all by default

    Raises an exception of any type if the archive is damaged, declares too many bytes, or would have to be unpickled.
    """
    with zipfile.ZipFile(file) as archive:
        wanted = [n.removesuffix(".npy") for n in archive.namelist()] if keys is None else list(keys)
        found = {}
        for key in wanted:
            found[key] = _unpacked(archive, key, size)
            size -= found[key].nbytes
    return found


def _unpacked(archive: zipfile.ZipFile, key: str, most: int) -> np.ndarray:
    """Read one array.

    Before it allocates memory, the function refuses an array that declares more bytes than the archive has, or than
    ``most``.
    """
    member = archive.getinfo(f"{key}.npy")
    with archive.open(member) as stream:
        declared = _declared_bytes(stream)
    if declared != member.file_size or declared > most:
        raise ValueError("the size that the array declares must be the size in the archive")
    with archive.open(member) as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)


def _declared_bytes(stream: IO[bytes]) -> int:
    """The size of an `.npy` file that its header declares, including the header."""
    version = np.lib.format.read_magic(stream)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_header(stream)
    if dtype.hasobject:
        raise ValueError(
            "the array holds Python objects, which nfa never unpickles: save the array as numbers or as text"
        )
    if any(n < 0 for n in shape):
        raise ValueError(f"the array declares the impossible shape {shape}")
    return stream.tell() + math.prod(shape) * dtype.itemsize


def first_line(error: Exception) -> str:
    """The message of an exception, in one line without its full stop."""
    return (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
