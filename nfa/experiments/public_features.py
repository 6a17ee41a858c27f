"""The features of a run.

The random values of the features come from the random streams of the run. The features are computed once, before the
first step. In a search for settings, several runs use the same computed features.

Features of data in memory and of secure runs are not cached. Other features are cached in the process. If these
features take long to compute and the data set is public, they are also cached in a file of the user cache.
"""

import os
import tempfile
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy

from nfa.data.search import user_cache
from nfa.experiments.bind import kernel_product, possible
from nfa.experiments.public import IN_MEMORY
from nfa.experiments.settings import Settings
from nfa.features.kind import Features, Kind, Tools, read
from nfa.kernels import cores
from nfa.network.ops import ACTIVATIONS
from nfa.noise import AnyStreams

IN_PROCESS = 2**31  # largest number of bytes of features in the cache of a process
IN_FILES = 2**32  # largest number of bytes of features in the user cache

_kept: OrderedDict[str, np.ndarray] = OrderedDict()  # {digest: features}, with the most recently used features last


def drawn(settings: Settings, shape: tuple[int, ...], streams: AnyStreams) -> Features | None:
    """Return the features that the settings name, for examples of a shape; None if the settings name no features.

    Raises
    ------
    ValueError : for a shape that does not fit, or for a secure run without kernels if the features need matrix products
    """
    if settings.features is None:
        return None
    kind = read(settings.features)
    if settings.secure and kind.multiplies and not settings.kernels:
        raise ValueError(
            f"a secure run with the features {settings.features} needs kernels: use kernels, or leave out features"
        )
    tools, dtype = _tools(settings, kind), np.dtype(settings.precision).type
    return Features(kind=kind, shape=shape, arrays=kind.draw(shape, tools, streams("features"), dtype), tools=tools)


def restored(settings: Settings, shape: tuple[int, ...], arrays: Mapping[str, np.ndarray]) -> Features | None:
    """Restore the features of a run from stored arrays. Raises ValueError if the arrays do not fit its settings."""
    if settings.features is None:
        return None
    kind = read(settings.features)
    tools = _tools(settings, kind)
    asked = kind.draw(shape, tools, np.random.default_rng(0), np.dtype(settings.precision).type)
    for name, array in asked.items():
        if name not in arrays or (arrays[name].shape, arrays[name].dtype) != (array.shape, array.dtype):
            raise ValueError(f"the array {name} of the features must be {array.dtype} {array.shape}")
    return Features(kind=kind, shape=shape, arrays={name: arrays[name] for name in asked}, tools=tools)


def _tools(settings: Settings, kind: Kind) -> Tools:
    """The functions that compute the features.

    In a secure run, these functions are kernels. A kernel computes each row of a product alone.
    """
    tools = Tools(init=settings.init, phi=ACTIVATIONS[settings.activation or "tanh"])
    if not (settings.secure and kind.multiplies and possible(settings).kernels):
        return tools
    product, phi = kernel_product(tools.phi)
    return replace(tools, product=product, phi=phi)


def computed(features: Features, x: np.ndarray, settings: Settings, public: bool) -> np.ndarray:
    """Return the features of x. The caller must not change the returned array.

    Parameters
    ----------
    features : Features
    x : (n, *shape) array
    settings : settings of the run
    public : whether x is part of a data set of the registry, so that a copy in the user cache reveals nothing
    """
    if settings.secure or settings.dataset == IN_MEMORY or not len(x):
        return features(x, cores.together)
    key = features.digest(x)
    if key in _kept:
        _kept.move_to_end(key)
        return _kept[key]
    filed = public and features.kind.costly and x.dtype == np.float32
    found = _read(_path(key), (len(x), *features.out_shape)) if filed else None
    if found is None:
        found = features(x, cores.together)
        if filed:
            with suppress(OSError):  # the run does not need the file
                _write(_path(key), found)
    found.flags.writeable = False
    _kept[key] = found
    while sum(array.nbytes for array in _kept.values()) > IN_PROCESS and len(_kept) > 1:
        _kept.popitem(last=False)
    return found


def _path(key: str) -> Path:
    """The path of a file of features.

    The name of the file contains the versions of NumPy and SciPy, because other versions can round differently.
    """
    return user_cache() / "features" / f"{key[:40]}-{np.__version__}-{scipy.__version__}.npy"


def _read(path: Path, shape: tuple[int, ...]) -> np.ndarray | None:
    """The array of a file, memory-mapped; None if there is no such array."""
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    if found.shape != shape or found.dtype != np.float32:
        return None
    with suppress(OSError):
        os.utime(path)  # `_write` removes the least recently used files
    return np.asarray(found)


def _write(path: Path, array: np.ndarray) -> None:
    """Write an array whole or not at all. If all files together are too large, remove the least recently used files.

    Raises OSError if the file cannot be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    number, part = tempfile.mkstemp(suffix=".part", dir=path.parent)
    try:
        with os.fdopen(number, "wb") as file:
            np.save(file, array, allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    finally:
        with suppress(OSError):
            os.unlink(part)
    files = sorted(path.parent.glob("*.npy"), key=lambda one: one.stat().st_mtime, reverse=True)
    total = 0
    for one in files:
        total += one.stat().st_size
        if total > IN_FILES and one != path:
            with suppress(OSError):
                one.unlink()
