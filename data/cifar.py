"""The binary layout of CIFAR-10: records of a label byte and 3,072 pixel bytes (red, green, blue planes of 32x32)."""

import hashlib
import os
from pathlib import Path

import numpy as np

from nfa.data.content import open_content, read_at_most, room

CLASSES = 10
SHAPE = (3, 32, 32)
RECORD = 1 + 3 * 32 * 32


def read_cifar(path: str | os.PathLike[str], *, digest: "hashlib._Hash | None" = None) -> tuple[np.ndarray, np.ndarray]:
    """Read one batch file, compressed by gzip or not.

    Parameters
    ----------
    path : path of the file
    digest : hashlib object or None. It is updated with the unpacked bytes of the file

    Returns
    -------
    images : (n, 3, 32, 32) uint8 array
    labels : (n,) uint8 array, each below 10

    Raises
    ------
    ValueError : if the file is not a positive whole number of records, or if a label is 10 or more
    OSError : if the file cannot be read
    """
    path = Path(path)
    most = room(path)
    with open_content(path) as stream:
        content = read_at_most(stream, most + 1)
    if len(content) > most:
        raise ValueError(
            f"{path.name}: a CIFAR-10 batch must have at most {most} bytes, but the file unpacks to more bytes"
        )
    if len(content) == 0 or len(content) % RECORD:
        raise ValueError(
            f"{path.name}: a CIFAR-10 batch must be a whole number of records of {RECORD} bytes, got {len(content)}"
            " bytes"
        )
    if digest is not None:
        digest.update(content)
    records = np.frombuffer(content, np.uint8).reshape(-1, RECORD)
    labels = records[:, 0].copy()
    if labels.max() >= CLASSES:
        i = int(np.argmax(labels >= CLASSES))
        raise ValueError(f"{path.name}: labels must be below {CLASSES}, got {labels[i]} in record {i}")
    return np.ascontiguousarray(records[:, 1:]).reshape(-1, *SHAPE), labels
