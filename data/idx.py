"""The IDX format of MNIST and Fashion-MNIST: a magic number, the sizes, then the elements, all big-endian.

The file begins with two zero bytes, a byte for the element type and a byte for the number of dimensions. Then it has
four bytes for each dimension, and the elements in C order.
"""

import hashlib
import math
import os
import struct
from pathlib import Path

import numpy as np

from nfa.data.content import open_content, read_at_most, room

ELEMENTS = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
MOST_DIMENSIONS = 8


def read_idx(path: str | os.PathLike[str], *, digest: "hashlib._Hash | None" = None) -> np.ndarray:
    """Read one IDX file, compressed by gzip or not.

    Parameters
    ----------
    path : path of the file
    digest : hashlib object or None. It is updated with the unpacked bytes of the file

    Returns
    -------
    array in C order and native byte order, with the element type in the file (8-bit integers with and without sign, 16-
    and 32-bit integers, 32- and 64-bit floats)

    Raises
    ------
    ValueError : if the magic number, the element type, the number of dimensions or a size is not possible. ValueError
        also if the file has fewer or more bytes than its header declares, or if a float element is NaN or infinite
    OSError : if the file cannot be read

    Notes
    -----
    Guarantees: the function unpacks at most one byte more than the header declares. Before it allocates memory, it
    refuses a header that declares more bytes than a file of this size can have.
    """
    path = Path(path)
    with open_content(path) as stream:
        magic = stream.read(4)
        if len(magic) < 4 or magic[:2] != b"\0\0":
            raise ValueError(
                f"{path.name}: an IDX file must begin with two zero bytes, got {magic[:2].hex() or 'nothing'}"
            )
        code, dimensions = magic[2], magic[3]
        if code not in ELEMENTS:
            raise ValueError(f"{path.name}: the IDX element type must be one of 08 09 0b 0c 0d 0e, got {code:02x}")
        if not 1 <= dimensions <= MOST_DIMENSIONS:
            raise ValueError(
                f"{path.name}: the number of dimensions in the IDX header must be 1 to {MOST_DIMENSIONS}, got"
                f" {dimensions}"
            )
        sizes = stream.read(4 * dimensions)
        if len(sizes) < 4 * dimensions:
            raise ValueError(f"{path.name}: the file ends within the IDX header")
        shape = struct.unpack(f">{dimensions}I", sizes)
        dtype = np.dtype(ELEMENTS[code])
        declared = math.prod(shape) * dtype.itemsize
        if declared == 0:
            raise ValueError(f"{path.name}: every dimension in the IDX header must be at least 1, got {shape}")
        if declared > room(path):
            raise ValueError(f"{path.name}: the IDX header declares {declared} bytes, more than this file can hold")
        content = read_at_most(stream, declared + 1)
    if len(content) < declared:
        raise ValueError(
            f"{path.name}: the IDX header declares {declared} bytes, but the file holds only {len(content)}"
        )
    if len(content) > declared:
        raise ValueError(f"{path.name}: the file holds more than the {declared} bytes that the IDX header declares")
    if digest is not None:
        digest.update(magic + sizes)
        digest.update(content)
    array = np.frombuffer(content, dtype).reshape(shape).astype(dtype.newbyteorder("="), copy=False)
    if dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{path.name}: elements must be finite, found NaN or infinity")
    return array
