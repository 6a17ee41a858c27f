"""Draw the embedded data set fashion-mnist-small from the original files of Fashion-MNIST.

    python -m nfa.data.make_small FOLDER OUT.npz

FOLDER contains `fashion-mnist/` with the four original files. The draw takes, from every class, the images with the
smallest 64-bit keys. The keys are raw output of NumPy's PCG64 bit generator. NumPy promises that this stream never
changes, but makes no such promise for `Generator.choice`. The drawn images are in rounds of ten, with one image of each
class in random order. So the class counts of the first n images differ by at most one for every n.
"""

import sys
from pathlib import Path

import numpy as np

from nfa.data.dataset import load
from nfa.data.npz import ARRAYS

SEED = 2020
TRAIN, TEST = 600, 100  # number of images of each class


def draw(labels: np.ndarray, per_class: int, key: tuple[int, int]) -> np.ndarray:
    """Indices of a class-balanced draw.

    Parameters
    ----------
    labels : (n,) integer array with the classes 0 .. k - 1. Each class must occur at least per_class times
    per_class : int, number of images to draw from each class
    key : entropy of the PCG64 bit generator

    Returns
    -------
    (k * per_class,) int array; entries k r .. k r + k - 1 contain one image of each class
    """
    keys = np.random.PCG64(key).random_raw(len(labels))
    rounds = []
    for c in range(int(labels.max()) + 1):
        of_class = np.flatnonzero(labels == c)
        rounds.append(of_class[np.argsort(keys[of_class], kind="stable")[:per_class]])
    table = np.stack(rounds, axis=1)  # (per_class, k)
    order = np.argsort(keys[table], axis=1, kind="stable")
    return np.take_along_axis(table, order, axis=1).ravel()


def build(folder: Path) -> dict[str, np.ndarray]:
    """The four uint8 arrays of the subset, drawn from the original files in a folder."""
    full = load("fashion-mnist", folder)
    train = draw(full.y_train, TRAIN, (SEED, 0))
    test = draw(full.y_test, TEST, (SEED, 1))
    return {
        "x_train": full.x_train[train, 0],  # (6000, 28, 28)
        "y_train": full.y_train[train].astype(np.uint8),
        "x_test": full.x_test[test, 0],  # (1000, 28, 28)
        "y_test": full.y_test[test].astype(np.uint8),
    }


if __name__ == "__main__":
    arrays = build(Path(sys.argv[1]))
    x_train, y_train, x_test, y_test = (arrays[key] for key in ARRAYS)
    np.savez_compressed(sys.argv[2], x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test)
