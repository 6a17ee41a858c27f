"""Trained networks: files of weights next to the record of a run, and predictions."""

import hashlib
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from nfa.data import Scale
from nfa.data.npz import first_line, unpack
from nfa.data.own_data import Examples, check_row, printable
from nfa.experiments import public_features, records
from nfa.experiments.bind import layers_with_kernels, possible
from nfa.experiments.declaration import check
from nfa.experiments.prepare import Prepared, network_of
from nfa.experiments.settings import Settings
from nfa.features.kind import Features
from nfa.network import Net
from nfa.network.net import outputs
from nfa.network.own import file_digest
from nfa.noise import Streams
from nfa.require import path_meant

AGAIN = "train the network again with --no-resume (resume=False)"


@dataclass(frozen=True, kw_only=True, eq=False)
class Trained:
    """A trained network with the other data that a prediction needs.

    Parameters
    ----------
    net : Net
    scale : scale of the network's inputs, computed from the training examples
    shape : shape of one example in a file: (d,) features or (c, H, W) pixels
    classes : names of the classes, in the order of the outputs
    columns : names of the features, in order; None for features without names
    features : features of the scaled inputs, which the network reads; None if the network reads the inputs themselves
    """

    net: Net
    scale: Scale
    shape: tuple[int, ...]
    classes: tuple[str, ...]
    columns: tuple[str, ...] | None = None
    features: Features | None = None

    @classmethod
    def of(cls, parts: Prepared, net: Net | None = None) -> Self:
        """The network of a finished run, or ``net`` with the other parts of the run that a prediction needs."""
        data = parts.dataset
        return cls(
            net=parts.net if net is None else net,
            scale=parts.scale,
            shape=data.x_train.shape[1:],
            classes=data.class_names,
            columns=data.columns,
            features=parts.features,
        )

    def probabilities(self, x: np.ndarray) -> np.ndarray:
        """Return the probability of each class, (n, K), for n >= 1 unscaled examples (n, *shape).

        Raises ValueError for examples of another shape, for NaN or infinity, or for values that the scale does not
        accept.
        """
        if x.ndim < 2 or x.shape[1:] != self.shape:
            needed, got = ("x".join(map(str, shape)) for shape in (self.shape, x.shape[1:]))
            raise ValueError(f"the network reads examples of {needed} values, got {got or 'single values'}")
        if len(x) == 0:
            raise ValueError("there must be at least one example to predict")
        scaled = self.scale.apply(x, self.net.W[1].dtype)
        if self.features is not None:
            scaled = self.features(scaled)
        if len(self.net.shape_h[0]) == 1:
            scaled = scaled.reshape(len(x), -1)
        with np.errstate(over="ignore"):
            _, y_hat = outputs(self.net, scaled)
        if y_hat.shape[1] == 1:  # one output is the probability of the second of two classes
            return np.concatenate([1 - y_hat, y_hat], axis=1)
        return y_hat

    def predict(self, x: np.ndarray) -> np.ndarray:
        """Return the position in `classes` of the most probable class of each example, (n,).

        Raises as `probabilities` does.
        """
        return self.probabilities(x).argmax(axis=1)

    def check_columns(self, columns: tuple[str, ...] | None) -> None:
        """Raise ValueError if the names of the features, or their order, differ from the training examples."""
        if columns is None or self.columns is None or columns == self.columns:
            return
        if len(columns) != len(self.columns):
            raise ValueError(f"the network reads {len(self.columns)} features, got {len(columns)}")
        if sorted(columns) == sorted(self.columns):
            k = next(i for i, (ours, theirs) in enumerate(zip(self.columns, columns, strict=True)) if ours != theirs)
            raise ValueError(
                f"the features must be in the order of the training data: feature {k + 1} must be"
                f" {printable(self.columns[k])}, got {printable(columns[k])}"
            )
        unknown = next(name for name in columns if name not in self.columns)
        raise ValueError(f"the network was not trained on a feature called {printable(unknown)}")

    def places(self, labels: np.ndarray) -> np.ndarray:
        """Return the position in `classes` of each label, (n,). Raises ValueError for a label that is not a class."""
        check_row(labels, "y")
        at = {name: k for k, name in enumerate(self.classes)}
        texts = labels.astype(str).tolist()
        if unknown := [(i, text) for i, text in enumerate(texts) if text not in at]:
            number, text = unknown[0]
            raise ValueError(f"the label of example {number + 1}, {printable(text)}, is not a class of the network")
        return np.array([at[text] for text in texts])


def file_name(cell: str) -> str:
    """The name of a run's file of weights. The file is next to the record ``CELL.json``."""
    return f"{cell}.weights.npz"


def to_bytes(trained: Trained) -> bytes:
    """Return W1, b1, W2, ..., the mean and std of the scale, and the features' arrays in the format of `numpy.savez`.

    The names of the features' arrays begin with "features/".
    """
    net = trained.net
    arrays = {f"{p}{l}": getattr(net, p)[l] for l in range(1, net.L + 1) for p in "Wb"}
    if trained.features is not None:
        arrays |= {f"features/{name}": array for name, array in trained.features.arrays.items()}
    content = io.BytesIO()
    np.savez(content, allow_pickle=False, **arrays, mean=trained.scale.mean, std=trained.scale.std)
    return content.getvalue()


def described(trained: Trained, cell: str, content: bytes) -> dict[str, Any]:
    """The entry of a record about the file of weights next to the record."""
    return {
        "file": file_name(cell),
        "sha256": hashlib.sha256(content).hexdigest(),
        "shape": list(trained.shape),
        "classes": list(trained.classes),
        "columns": None if trained.columns is None else list(trained.columns),
    }


def load(place: Path) -> tuple[Trained, dict[str, Any]]:
    """Load a network from a folder of `nfa train`, with the record of its run.

    Parameters
    ----------
    place : the folder, or a record ``CELL.json`` in it

    Raises
    ------
    ValueError : if there is not exactly one record with weights, if the weights are missing or differ from the record,
        or if the network cannot be built from the weights
    OSError : if a file cannot be read

    Notes
    -----
    Guarantee: nothing is unpickled.
    """
    path, record = _record(place)
    told = record["weights"]
    try:
        file, digest = told["file"], told["sha256"]
        shape, classes, columns = tuple(told["shape"]), tuple(told["classes"]), told["columns"]
        whole = all(type(n) is int and n >= 1 for n in shape) and all(type(name) is str for name in classes)
        if not whole or file != file_name(record["cell"]) or not isinstance(columns, list | None):
            raise ValueError
    except (LookupError, TypeError, ValueError):
        raise ValueError(
            f"{path} must describe the file of the weights, but has no valid description: {AGAIN}"
        ) from None
    beside = path.with_name(file)
    if not beside.exists():
        raise ValueError(f"the file of weights {file} that {path.name} names is missing in {path.parent}: {AGAIN}")
    content = beside.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise ValueError(
            f"{beside} is not the file of weights that {path.name} names, because the digest of the file differs:"
            f" {AGAIN}"
        )
    try:
        names = None if columns is None else tuple(columns)
        return from_bytes(content, record, shape=shape, classes=classes, columns=names), record
    except Exception as damage:
        raise ValueError(f"nfa cannot load the network in {path} and {file}: {first_line(damage)}") from damage


def from_bytes(
    content: bytes,
    record: dict[str, Any],
    *,
    shape: tuple[int, ...],
    classes: tuple[str, ...],
    columns: tuple[str, ...] | None,
) -> Trained:
    """The network of a run, from the content that `to_bytes` returned and from the record of the run.

    For damaged content or a damaged record, this function can raise any exception.
    """
    arrays = unpack(io.BytesIO(content), len(content))
    drawn = {name.removeprefix("features/"): array for name, array in arrays.items() if "/" in name}
    features = public_features.restored(Settings.from_json(record["settings"]), shape, drawn)
    net = _network(record, shape if features is None else features.out_shape, arrays)
    scale = Scale(record["settings"]["pixels"], arrays["mean"], arrays["std"])
    if (net.shape_h[net.L][0] if net.shape_h[net.L] != (1,) else 2) != len(classes):
        raise ValueError("the number of classes differs from the number of outputs of the network")
    return Trained(net=net, scale=scale, shape=shape, classes=classes, columns=columns, features=features)


def _record(place: Path) -> tuple[Path, dict[str, Any]]:
    """The path of a record that names weights, and the record itself."""
    if not place.is_dir():
        if not place.exists():
            near = path_meant(place) or f": `nfa train --out {place}` makes this folder"
            raise ValueError(f"there is no folder or record {place}{near}")
        record = records.read(place)
        if "weights" not in record:
            raise ValueError(f"{place} has no entry for a weights file: {AGAIN}")
        return place, record
    found, damaged = [], []
    for path in sorted(place.glob("*.json")):
        try:
            found.append((path, records.read(path)))
        except ValueError as wrong:
            damaged.append(wrong)
    if not found:
        why = f": {damaged[0]}" if damaged else ""
        raise ValueError(f"{place} holds no record of `nfa train`{why}")
    kept = [(path, record) for path, record in found if "weights" in record]
    if not kept:
        raise ValueError(f"the record in {place} has no entry for a weights file: {AGAIN}")
    if kept[1:]:
        names = ", ".join(str(path) for path, _ in kept)
        raise ValueError(f"{place} holds several trained networks: name one of the records {names}")
    return kept[0]


def _network(record: dict[str, Any], shape: tuple[int, ...], arrays: dict[str, np.ndarray]) -> Net:
    """The network that the settings of a record name, with the stored weights."""
    settings = Settings.from_json(record["settings"])
    check(settings)
    if record.get("network_digest") != file_digest(settings.architecture, "network"):
        raise ValueError(f"the file of the network {settings.architecture} has changed since the training: {AGAIN}")
    net = network_of(settings, Streams(0), shape)
    for l in range(1, net.L + 1):
        for parameters, key in ((net.W, f"W{l}"), (net.b, f"b{l}")):
            array = arrays[key]
            if array.shape != parameters[l].shape or array.dtype != parameters[l].dtype:
                raise ValueError(f"the array {key} must be {parameters[l].dtype} {parameters[l].shape}")
            parameters[l] = array
    if possible(settings).kernels:  # without kernels, NumPy computes the same values, up to rounding
        layers_with_kernels(net, bool(settings.secure))
    return net


def predictions(trained: Trained, examples: Examples) -> tuple[np.ndarray, float | None]:
    """Return the probability of each class for each example, (n, K), and the accuracy if the examples have labels.

    Raises ValueError as the methods of `Trained` do.
    """
    trained.check_columns(examples.columns)
    y_hat = trained.probabilities(examples.x)
    if examples.y is None:
        return y_hat, None
    if examples.y.shape != (len(examples.x),):
        raise ValueError(f"there must be one label for each of the {len(examples.x)} examples, got {examples.y.shape}")
    return y_hat, float(np.mean(y_hat.argmax(axis=1) == trained.places(examples.y)))
