"""The declaration of a kind of public features, the setting ``features``, and the features of a run.

Each example is processed alone, so its features are bitwise identical in every batch.
"""

import hashlib
import importlib
import math
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Self

import numpy as np

from nfa import require
from nfa.network.net import AT_ONCE, one_by_one
from nfa.network.ops import Activation, tanh

Arrays = Mapping[str, np.ndarray]
# The values of an example count as equal if their standard deviation is below this share of the largest value.
FLAT = 1e-5


def product_alone(x: np.ndarray, b: np.ndarray) -> np.ndarray:
    """x b, (n, k), with a separate product for each row, so that a row is bitwise identical in every batch.

    A product of all rows together may round a row differently in another batch.
    """
    return np.array([row @ b for row in x], dtype=x.dtype).reshape(len(x), b.shape[1])


@dataclass(frozen=True)
class Tools:
    """The parts of a run that every kind gets: the law of the first weights, the activation, and a matrix product.

    Parameters
    ----------
    init : name in `nfa.network.net.INITS`
    phi : Activation
    product : function that computes each row alone, as `product_alone` or `nfa.kernels.rows.matmul` does
    """

    init: str = "uniform-fan-in"
    phi: Activation = tanh
    product: Callable = product_alone


@dataclass(frozen=True)
class Kind:
    """The base class of all kinds of features. The fields of a subclass are the parameters in the setting.

    Attributes
    ----------
    kind : name of the kind in the setting
    form : form of the setting, for help and errors
    version : int. The version must change if equal parameters give new features, so that old cached files are not read
    multiplies : whether the features use the product of `Tools`
    costly : whether the features take long to compute. Such features of public data are cached in a file
    """

    kind: ClassVar[str]
    form: ClassVar[str]
    version: ClassVar[int] = 1
    multiplies: ClassVar[bool] = False
    costly: ClassVar[bool] = False

    @classmethod
    def read(cls, sizes: tuple[int, ...], named: dict[str, Any]) -> Self:
        """The kind with the sizes and the named parameters of the setting. Raises ValueError for wrong parameters."""
        if sizes or named:
            raise ValueError(f"features {cls.kind} take no parameters")
        return cls()

    def out_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the features of an example of this shape. Raises ValueError if the shape does not fit."""
        raise NotImplementedError

    def draw(
        self, shape: tuple[int, ...], tools: Tools, rng: np.random.Generator, dtype: type
    ) -> dict[str, np.ndarray]:
        """The arrays that are drawn once in a run. The arrays are public. By default, no arrays are drawn."""
        return {}

    def transform(self, x: np.ndarray, arrays: Arrays, tools: Tools) -> np.ndarray:
        """The features of examples (n, *shape), in the dtype of x. They are bitwise identical in every batch."""
        raise NotImplementedError


def _kinds() -> dict[str, type[Kind]]:
    """The kinds that the modules of this package declare, by name."""
    package = importlib.import_module(__package__)
    found: dict[str, type[Kind]] = {}
    for module in pkgutil.iter_modules(package.__path__):
        declared = vars(importlib.import_module(f"{__package__}.{module.name}")).values()
        mine = [one for one in declared if isinstance(one, type) and issubclass(one, Kind) and one is not Kind]
        found |= {one.kind: one for one in mine}
    return found


def __getattr__(name: str) -> Any:
    """Return the attribute KINDS. It is computed at each use, because the modules of the kinds import this module."""
    if name == "KINDS":
        return _kinds()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def read(text: str) -> Kind:
    """The kind and the parameters that a setting names: KIND, or KIND:SIZE,SIZE,...,NAME=VALUE,...

    Raises
    ------
    ValueError : for an unknown kind or parameter, or for a value that is out of range

    Examples
    --------
    >>> read("random:512,256")
    RandomLayers(sizes=(512, 256))
    """
    kinds = _kinds()
    name, colon, rest = text.partition(":")
    if name not in kinds:
        forms = ", ".join(one.form for one in kinds.values())
        raise ValueError(f"features must be one of {forms}, got {text!r}{require.meant(name, list(kinds))}")
    sizes, named = [], {}
    for word in rest.split(",") if colon else []:
        key, equals, value = word.partition("=")
        try:
            if equals:
                named[key] = float(value)
            elif named or not (word.isascii() and word.isdigit() and int(word) >= 1):
                raise ValueError
            else:
                sizes.append(int(word))
        except ValueError:
            raise ValueError(f"features {text}: {word!r} cannot be read. Write {kinds[name].form}") from None
    try:
        return kinds[name].read(tuple(sizes), named)
    except ValueError as wrong:
        raise ValueError(f"features {text}: {wrong}") from None


def refuse_unknown(kind: type[Kind], named: Mapping[str, Any]) -> None:
    """Raise ValueError for a named parameter that is not a field of the kind with the default None."""
    known = [one.name for one in fields(kind) if one.default is None]
    for name in named:
        if name not in known:
            raise ValueError(f"there is no parameter {name!r}. The parameters are {', '.join(known)}")


@dataclass(frozen=True, kw_only=True, eq=False)
class Features:
    """The features of a run, as a function of examples (n, *shape). The function processes each example alone.

    Parameters
    ----------
    kind : Kind
    shape : shape of one example
    arrays : arrays that the kind has drawn
    tools : Tools

    Raises
    ------
    ValueError : for a shape that does not fit the kind

    Notes
    -----
    Guarantee: the features of an example are bitwise identical in every batch and for every ``run``.
    """

    kind: Kind
    shape: tuple[int, ...]
    arrays: Arrays
    tools: Tools = field(default_factory=Tools)

    def __post_init__(self) -> None:
        self.kind.out_shape(self.shape)

    @property
    def out_shape(self) -> tuple[int, ...]:
        """The shape of the features of one example."""
        return self.kind.out_shape(self.shape)

    def __call__(self, x: np.ndarray, run: Callable = one_by_one) -> np.ndarray:
        """The features of n examples, (n, *out_shape), in the dtype of x.

        ``run`` processes pieces of the examples as `one_by_one` does. If a feature of an example overflows, all
        features of this example are 0.
        """
        out = np.empty((len(x), *self.out_shape), x.dtype)

        def piece(i: int) -> None:
            rows = slice(i * AT_ONCE, (i + 1) * AT_ONCE)
            with np.errstate(over="ignore", invalid="ignore"):
                found = self.kind.transform(x[rows], self.arrays, self.tools)
            finite = np.isfinite(found.reshape(len(found), -1)).all(axis=1)
            out[rows] = found
            out[rows][~finite] = 0

        run(piece, -(-len(x) // AT_ONCE), lambda _: None)
        return out

    def digest(self, x: np.ndarray) -> str:
        """A SHA-256 of everything that determines the features of x: x, the kind, its parameters and its arrays."""
        of_all = hashlib.sha256(f"{self.kind!r} {self.kind.version} {self.tools.phi.name}".encode())
        for name, array in {"x": x, **dict(sorted(self.arrays.items()))}.items():
            of_all.update(f"{name} {array.dtype.str} {array.shape}".encode())
            of_all.update(np.ascontiguousarray(array).data)
        return of_all.hexdigest()


def standardised(values: np.ndarray, largest: np.ndarray) -> np.ndarray:
    """Each row with mean 0 and standard deviation 1, computed only from this row.

    Parameters
    ----------
    values : (n, k) array, one example in each row
    largest : (n,) array, the largest absolute value of each example. If the standard deviation of a row is far below
        `FLAT` times this value, it comes only from the rounding of floats. Then the row becomes about 0
    """
    out = np.empty_like(values)
    for row, into, most in zip(values, out, largest, strict=True):
        centred = row - row.mean()
        square = float(np.mean(centred * centred)) + (FLAT * float(most)) ** 2
        into[:] = centred / row.dtype.type(math.sqrt(square)) if square > 0 else 0
    return out
