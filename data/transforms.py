"""The input of a network from images and labels: scaled floats, one-hot rows, a validation split."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import DTypeLike

NO_PIXELS = '{} must hold whole numbers from 0 to 255 (uint8), because "unit" divides by 255, got {}'
CHUNK = 1000  # number of examples that are processed together, to limit the memory for float64 copies


def one_hot(labels: np.ndarray, classes: int, dtype: DTypeLike = np.float64) -> np.ndarray:
    """Rows with a single 1 in the column of the label.

    Source: [lee2020:notation]

    Parameters
    ----------
    labels : (n,) integer array, each in 0 .. classes - 1
    classes : int > 0, number of columns
    dtype : type of the result

    Returns
    -------
    (n, classes) array

    Raises
    ------
    ValueError : if labels are not an (n,) array of integers, or if a label is outside the classes

    Examples
    --------
    >>> one_hot(np.array([2, 0]), 3)
    array([[0., 0., 1.],
           [1., 0., 0.]])
    """
    labels = np.asarray(labels)
    check_labels(labels, classes, "labels")
    y = np.zeros((len(labels), classes), dtype)  # (n, classes)
    y[np.arange(len(labels)), labels] = 1
    return y


def check_labels(labels: np.ndarray, classes: int, name: str) -> None:
    """Raise a ValueError with the name unless labels is an (n,) array of integers within 0 .. classes - 1."""
    if not classes >= 1:
        raise ValueError(f"classes must be at least 1, got {classes}")
    if labels.ndim != 1 or labels.dtype.kind not in "ui":
        raise ValueError(
            f"{name} must be a one-dimensional array of integers, got shape {labels.shape} of {labels.dtype}"
        )
    outside = (labels < 0) | (labels >= classes)
    if outside.any():
        i = int(np.argmax(outside))
        raise ValueError(f"{name} must lie in 0 .. {classes - 1}, got {labels[i]} at index {i}")


def scale_pixels(
    x_train: np.ndarray, x_test: np.ndarray, how: str = "standard", dtype: DTypeLike = np.float64
) -> tuple[np.ndarray, np.ndarray]:
    r"""Pixels as floats, on a scale that is computed only from the training images.

    .. math:: x \mapsto (x - \mu) / s \quad\text{("standard")}, \qquad x \mapsto x / 255 \quad\text{("unit")}, \qquad
              x \mapsto x \quad\text{("as-is")}

    Parameters
    ----------
    x_train, x_test : (n, ...) arrays, images (n, c, H, W) or features (n, d)
    how : "standard", "unit" or "as-is". For "standard", mu and s are the mean and the standard deviation (with the
        count as divisor) of the training examples. For (n, d), each feature has its own pair (mu, s). For (n, c, H, W),
        each channel has its own pair. Other arrays have one pair for all pixels. A feature that is constant in training
        becomes 0. "unit" needs uint8 pixels. "as-is" is for features that are already scaled.
    dtype : float type of the result. The function computes in float64 and then rounds once

    Returns
    -------
    the two scaled arrays, with the given shapes

    Raises
    ------
    ValueError : if `how` is unknown, if dtype is not a float, if the shapes of an example differ, if x_train is empty,
        or if a value is NaN or infinite. ValueError also if the training pixels (of a channel) or all features are
        constant, so that s = 0, or if a scaled value does not fit into dtype

    Notes
    -----
    mu and s are functions of the training data and are published without noise. So a guarantee for a run with
    "standard" holds only if mu and s are public. "unit" and "as-is" do not depend on data.

    Examples
    --------
    >>> x = np.array([[1, 3], [3, 1]], np.uint8)  # mean 2, every pixel 1 away from it: s = 1
    >>> scale_pixels(x, np.array([[5, 2]], np.uint8), dtype=np.float32)[1]
    array([[3., 0.]], dtype=float32)
    """
    x_train, x_test = np.asarray(x_train), np.asarray(x_test)
    if np.dtype(dtype).kind != "f":
        raise ValueError(f"dtype must be a float type, got {np.dtype(dtype)}")
    if x_train.shape[1:] != x_test.shape[1:] or x_train.ndim < 2 or x_train.size == 0:
        raise ValueError(
            f"x_train and x_test must hold examples of the same shape, got {x_train.shape} and {x_test.shape}"
        )
    for name, x in (("x_train", x_train), ("x_test", x_test)):
        _check_finite(x, name)
    scale = Scale.of(x_train, how)
    return scale.apply(x_train, dtype, "x_train"), scale.apply(x_test, dtype, "x_test")


@dataclass(frozen=True, eq=False)
class Scale:
    """The scale of the pixels of a run, as `scale_pixels` computes it. x becomes (x - mean) / std.

    Parameters
    ----------
    how : "standard", "unit" or "as-is"
    mean, std : float64 arrays that broadcast against one example. std is positive, and infinite for a feature that is
        constant in training
    """

    how: str
    mean: np.ndarray
    std: np.ndarray

    @classmethod
    def of(cls, x_train: np.ndarray, how: str) -> Self:
        """Compute the scale from the training examples.

        Only "standard" reads the values of x_train. Raises the errors of `scale_pixels`.
        """
        if how == "unit":
            if x_train.dtype != np.uint8:
                raise ValueError(
                    f'{NO_PIXELS.format("x_train", x_train.dtype)}: take "as-is" if the values are already scaled'
                )
            return cls(how, np.zeros(()), np.full((), 255.0))
        if how == "as-is":
            return cls(how, np.zeros(()), np.ones(()))
        if how != "standard":
            raise ValueError(f'how must be "standard", "unit" or "as-is", got {how!r}')
        features = x_train.ndim == 2
        axes = (0,) if features else (0, 2, 3) if x_train.ndim == 4 else tuple(range(x_train.ndim))
        constant = x_train.min(axes, keepdims=True)[0] == x_train.max(axes, keepdims=True)[0]
        if constant.all() or (constant.any() and not features):
            where = f" in channel {int(np.argmax(constant))}" if constant.size > 1 and not features else ""
            raise ValueError(
                f"x_train must not be constant{where}, because nfa divides the pixels by the standard deviation, which"
                " would be 0"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            mean, std = _mean_and_std(x_train, axes)
        std[constant] = np.inf
        extreme = ~((np.isfinite(std) | constant) & (std > 0))
        if extreme.any():
            where = f" in feature {int(np.argmax(extreme)) + 1}" if features else ""
            raise ValueError(
                "the standard deviation of x_train must fit into a 64-bit float, but x_train has too large or too small"
                f" values{where}"
            )
        return cls(how, mean, std)

    def apply(self, x: np.ndarray, dtype: DTypeLike = np.float64, name: str = "x") -> np.ndarray:
        """The scaled examples. The method computes in float64 and then rounds once.

        Raises ValueError, with the name of the array, for NaN, infinity, a scaled value that does not fit into dtype,
        or, with "unit", values that are not uint8.
        """
        if self.how == "unit" and x.dtype != np.uint8:
            raise ValueError(NO_PIXELS.format(name, x.dtype))
        _check_finite(x, name)
        out = np.empty(x.shape, dtype)
        for rows in _chunks(len(x)):
            with np.errstate(over="ignore"):
                out[rows] = (x[rows] - self.mean) / self.std
            if not np.isfinite(out[rows]).all():
                raise ValueError(f"{name} must fit into {np.dtype(dtype)} when scaled, but a value is too large")
        return out


def _check_finite(x: np.ndarray, name: str) -> None:
    if x.dtype.kind == "f" and not np.isfinite(x).all():
        raise ValueError(f"{name} must be finite, found NaN or infinity")


def _mean_and_std(x: np.ndarray, axes: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation over the axes in float64, in a shape that broadcasts against one example."""
    count = math.prod(x.shape[a] for a in axes)
    mean = sum(x[rows].sum(axes, dtype=np.float64, keepdims=True) for rows in _chunks(len(x))) / count
    square = sum(((x[rows] - mean) ** 2).sum(axes, keepdims=True) for rows in _chunks(len(x))) / count
    return mean[0], np.sqrt(square)[0]


def _chunks(n: int) -> Iterator[slice]:
    return (slice(i, i + CHUNK) for i in range(0, n, CHUNK))


def split_validation(n: int, fraction: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Split 0 .. n - 1 at random into a training and a validation part.

    Source: [ohana2021:exp-data]

    Parameters
    ----------
    n : int >= 2, number of examples
    fraction : float in (0, 1), share of the validation part, rounded to a whole number of examples
    rng : numpy.random.Generator, the only source of randomness

    Returns
    -------
    train_idx, val_idx : increasing integer arrays. Together they contain each number in 0 .. n - 1 once

    Raises
    ------
    ValueError : if fraction is not in (0, 1), or if a part would be empty

    Examples
    --------
    >>> train_idx, val_idx = split_validation(10, 0.2, np.random.default_rng(0))
    >>> len(train_idx), len(val_idx)
    (8, 2)
    """
    held = held_out(n, fraction)
    order = rng.permutation(n)
    return np.sort(order[held:]), np.sort(order[:held])


def held_out(n: int, fraction: float) -> int:
    """The number of examples that `split_validation` holds out of n examples. Raises the errors of `split_validation`.

    Examples
    --------
    >>> held_out(10, 0.25)
    2
    """
    if not 0 < fraction < 1:
        raise ValueError(f"fraction must lie between 0 and 1, got {fraction}")
    held = round(n * fraction)
    if not 0 < held < n:
        raise ValueError(f"fraction must leave examples in both parts, got {fraction} of {n} examples")
    return held
