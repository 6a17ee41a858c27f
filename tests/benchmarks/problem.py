"""The data that all contenders train on, as plain arrays: records in files, first weights, sizes of the networks."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

SIGMA = 0.01  # standard deviation of the noise on every coordinate of the average
C = 1.0  # the clipping bound of DP-SGD
LR, MOMENTUM = 0.01, 0.9
TRAIN_LOSS = 2000  # training examples on which the loss of an epoch is measured, as in `nfa train`
# A step uses records of the embedded data set. An epoch uses a whole data set if it is available.
SMALL, TINY = "fashion-mnist-small", "tiny"
WHOLE = {"mlp": "fashion-mnist", "cnn": SMALL, "ulr": "mnist"}
ARRAYS = ("x_train", "y_train", "x_test", "y_test")
BATCH = {"mlp": 256, "cnn": 64, "ulr": 500}
# `growth` uses these batch sizes of the MLP and these numbers of threads, for our code and for the peers. When the
# number of threads varies, the batch size is SHARED_BATCH.
BATCHES, THREADS, SHARED_BATCH = (64, 128, 256, 512, 1024, 2048, 4096, 8192), (1, 2, 4, 8, 16), 4096
TINY_BATCHES, TINY_SHARED_BATCH = (4, 8), 8


class Built(NamedTuple):
    """The result of building a contender: its steps by label, and the values that it reports."""

    steps: dict[str, Callable[[], dict[str, float] | None]]
    told: dict[str, Any]


class Layer(NamedTuple):
    """A layer: the shape of its W, and its activation, "" for none. A convolution is followed by 2x2 pooling."""

    shape: tuple[int, ...]
    activation: str


def layers(problem: str, tiny: bool) -> list[Layer]:
    """The layers of the MLP, or of Lee & Kifer's CNN. The tiny networks read images of 8x8 pixels."""
    if problem == "mlp":
        sizes = (64, 16, 12, 10) if tiny else (784, 512, 512, 10)
        shapes = list(zip(sizes[1:], sizes, strict=False))
        return [Layer(shape, "tanh" if l < len(shapes) - 1 else "") for l, shape in enumerate(shapes)]
    flat = 64 * (2 * 2 if tiny else 7 * 7)
    convolutions = [Layer((64, 1, 5, 5), "tanh"), Layer((64, 64, 5, 5), "tanh")]
    return [*convolutions, Layer((384, flat), "sigmoid"), Layer((384, 384), "sigmoid"), Layer((10, 384), "")]


def weights(shapes: list[Layer], seed: int = 0) -> list[tuple[np.ndarray, np.ndarray]]:
    """W and b of every layer: uniform values up to 1 / sqrt(fan-in), as float32."""
    rng, made = np.random.default_rng(seed), []
    for shape, _ in shapes:
        bound = 1 / np.sqrt(np.prod(shape[1:]))
        draws = (rng.uniform(-bound, bound, size).astype(np.float32) for size in (shape, shape[0]))
        made.append(tuple(draws))
    return made


def batch(tiny: bool, problem: str) -> int:
    """The batch size."""
    return 4 if tiny else BATCH[problem]


def records(folder: str | Path, name: str, *, flat: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """x_train, y_train, x_test, y_test of a data set on the disk, with the images standardised as in `nfa train`.

    The mean and standard deviation are those of the training pixels. Images are float32; labels are int64.
    """
    x, y, x_test, y_test = (np.load(Path(folder) / f"{name}-{what}.npy") for what in ARRAYS)
    counts = np.bincount(x.ravel(), minlength=256) / x.size
    mean = counts @ np.arange(256)
    deviation = np.sqrt(counts @ (np.arange(256) - mean) ** 2)
    table = ((np.arange(256) - mean) / deviation).astype(np.float32)
    images = [table[v].reshape((len(v), -1) if flat else v.shape) for v in (x, x_test)]
    return images[0], y, images[1], y_test


def name_of_data(folder: str | Path, problem: str, *, tiny: bool, epoch: bool = False) -> str:
    """The data set of a step or an epoch. `own.export` has written it to the folder."""
    if tiny:
        return TINY
    whole = epoch and (Path(folder) / f"{WHOLE[problem]}-x_train.npy").is_file()
    return WHOLE[problem] if whole else SMALL


def whole_batches(n: int, m: int) -> int:
    """The largest multiple of m that is at most n. With this number of records, all batches are full."""
    return n // m * m


def sizes_of_growth(tiny: bool) -> dict[str, list[tuple[int, int]]]:
    """The values of each axis, "batch" and "threads", with the MLP's batch size for each value.

    A number of threads is included if the process has at least as many cores.
    """
    sizes, shared = (TINY_BATCHES, TINY_SHARED_BATCH) if tiny else (BATCHES, SHARED_BATCH)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return {"batch": [(m, m) for m in sizes], "threads": [(n, shared) for n in THREADS if n <= cores]}


def permuted(n: int, m: int, permutation: Callable[[int], Any]) -> Iterator[Any]:
    """The indices of batches, without end. Each pass has a new order, and its last batch may be smaller."""
    while True:
        order = permutation(n)
        for start in range(0, n, m):
            yield order[start : start + m]
