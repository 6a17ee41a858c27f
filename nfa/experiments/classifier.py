"""The class `Classifier`: a network for arrays in memory, with the methods of a classifier of scikit-learn."""

import csv
import inspect
import io
import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np

from nfa import require
from nfa.data import Dataset
from nfa.data.own_data import class_names, in_declared_classes, refuse_alike, refuse_names, with_channel
from nfa.experiments.declaration import check, declared
from nfa.experiments.public import IN_MEMORY, hides, refuse_undeclared
from nfa.experiments.run import run_in_memory
from nfa.experiments.settings import Settings
from nfa.experiments.trained import Trained, from_bytes, to_bytes
from nfa.experiments.wanted import refuse_what_has_no_guarantee, refuse_what_lacks_a_count, wanted
from nfa.experiments.wording import KEYWORDS
from nfa.features.kind import read
from nfa.rules.spec import spec

EXACT = 2**53  # up to this size, a float represents every whole number
KINDS = {"U": "text", "S": "bytes", "m": "time spans", "M": "dates", "V": "structured values"}  # by NumPy's kinds
NOTHING = ("NoneType", "NAType", "NaTType")  # names of the types of missing values in Python and pandas
HIDDEN = 100  # units of the hidden layer of the default network
# Settings about files and test sets, which a `Classifier` does not have.
NOT_FOR_ARRAYS = ("dataset", "test", "tested", "data_dir")
# Settings whose name or default differs from that of `nfa train`.
CALLED = KEYWORDS.called
DEFAULTS = {
    "rule_settings": None,
    "pixels": None,
    "architecture": None,
    "sampling": None,
    "batch": None,
    "epochs": 100,
    "dtype": "float64",
}


def _parameters() -> dict[str, Any]:
    """The parameters of a `Classifier` with their defaults, as `Settings` declares them."""
    found = {one.name: one.default for one in declared(Settings) if one.name not in NOT_FOR_ARRAYS}
    return {CALLED.get(name, name): default for name, default in (found | DEFAULTS).items()}


PARAMETERS = _parameters()


class Classifier:
    """A network with one or more hidden layers, trained on arrays by a rule of nfa, as a classifier of scikit-learn.

    Each parameter has the meaning and the default of the setting in `nfa.experiments.settings.Settings` with the same
    name. The exceptions are listed below. `Classifier` does not need scikit-learn.

    Parameters
    ----------
    epsilon : the setting ``target_epsilon``, from which nfa computes the noise of the rule
    rule_settings : dict of the rule's own settings. If a rule needs a bound C and none is given, C = 1
    classes : list of the labels, in the order of the columns of `predict_proba`, or the value of the setting
        ``classes``, such as "cat,dog" or 3. You must give the classes if the fit computes epsilon or is secure. None:
        the labels in y
    records : int, the public number of training examples. You must give this number if the fit computes epsilon under
        add-remove
    architecture : None for one hidden layer of 100 units
    batch : None for 32 or, if there are fewer than 32 examples, for all examples
    sampling : None for poisson if the fit computes epsilon or is secure, and otherwise for epoch-partition
    adjacency : None for add-remove if the fit computes epsilon or is secure
    pixels : None for standard. A fit that computes epsilon or is secure must not use the mean of the data. In such a
        fit, None means unit for uint8 and as-is for other numbers
    epochs : 100 by default
    dtype : float64 by default
    **settings : all other settings

    Attributes
    ----------
    classes_ : (K,) array of the labels, in the order of the columns of `predict_proba`
    n_features_in_ : int, number of values of one example
    feature_names_in_ : array of the names of the features, if every column name of x is a text
    record_ : dict, the record of the run, as `nfa train` writes it
    trained_ : `nfa.experiments.trained.Trained`

    Examples
    --------
    >>> x = np.array([[0.0, 1.0], [1.0, 0.0], [0.1, 0.9], [0.8, 0.3]])
    >>> model = Classifier(rule="dfa", kernels=False).fit(x, ["cat", "dog", "cat", "dog"])
    >>> model.predict([[0.0, 0.8]]).tolist(), model.score(x, ["cat", "dog", "cat", "dog"])
    (['cat'], 1.0)
    """

    classes_: np.ndarray
    n_features_in_: int
    feature_names_in_: np.ndarray
    record_: dict[str, Any]
    trained_: Trained

    def __init__(self, **settings: Any) -> None:
        _refuse_unknown(settings, TypeError)
        for name, default in PARAMETERS.items():
            setattr(self, name, settings.get(name, default))

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name. ``deep`` has no effect, because no parameter has parameters of its own."""
        return {name: getattr(self, name) for name in PARAMETERS}

    def set_params(self, **settings: Any) -> Self:
        """Change parameters. If a name is unknown, raise ValueError and change nothing."""
        _refuse_unknown(settings, ValueError)
        for name, value in settings.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        changed = {name: value for name, value in self.get_params().items() if _differs(value, PARAMETERS[name])}
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in changed.items())})"

    def __getstate__(self) -> dict[str, Any]:
        """The state for a copy or a pickle.

        The state contains only the arrays of the network and their description, because compiled kernels cannot be
        pickled.
        """
        state = dict(vars(self))
        if (trained := state.get("trained_")) is not None:
            state["trained_"] = {
                "content": to_bytes(trained),
                "shape": trained.shape,
                "classes": trained.classes,
                "columns": trained.columns,
            }
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if "trained_" in state:
            self.trained_ = from_bytes(record=self.record_, **state["trained_"])

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(three_d_array=True),
        )

    def __sklearn_is_fitted__(self) -> bool:
        return "trained_" in vars(self)

    def fit(self, x: Any, y: Any) -> Self:
        """Train on the examples, and store the network and the record of the run.

        Parameters
        ----------
        x : (n, d) features, or (n, H, W) or (n, c, H, W) pixels: an array, a list or a data frame
        y : (n,) labels, whole numbers or text

        Raises
        ------
        ValueError : if data or parameters do not fit, or if a fit that computes epsilon or is secure lacks a
            declaration or a necessary setting
        NoGuarantee : if you give a target epsilon but no theorem covers the run
        nfa.train.Diverged : if the run diverges

        Notes
        -----
        Guarantee: the method writes no file, with one exception. A secure run writes the file of the user's key if the
        user has no key yet. With equal data and parameters, the weights equal the weights of `nfa train`.
        """
        names = _feature_names(x)
        examples, labels = _examples(x), _labels(y)
        if len(labels) != len(examples):
            raise ValueError(
                f"x and y must have the same number of entries, got {len(examples)} examples and {len(labels)} labels"
            )
        settings = self._settings(examples)
        for name, why in settings.without_effect().items():
            if name in self._given():
                raise ValueError(
                    f"{KEYWORDS.setting(name)} has no effect, because {why}: leave out {KEYWORDS.setting(name)}"
                )
        refuse_what_lacks_a_count(settings, KEYWORDS)
        refuse_undeclared(settings, KEYWORDS)
        order, codes, texts = self._classes(labels)
        dataset = Dataset(
            name=IN_MEMORY,
            x_train=examples,
            y_train=codes,
            x_test=examples[:0],
            y_test=codes[:0],
            class_names=texts,
            source="arrays in memory",
            unsplit=True,
            columns=None if names is None else tuple(names),
        )
        if self.architecture is None:  # type: ignore[attr-defined]
            shape = examples.shape[1:]
            if settings.features is not None:
                shape = read(settings.features).out_shape(shape)
            sizes = f"{math.prod(shape)}-{HIDDEN}-{len(order)}"
            settings = replace(settings, architecture=sizes)
        head = wanted(settings, KEYWORDS)
        before = partial(refuse_what_has_no_guarantee, head, words=KEYWORDS) if head else None
        self.trained_, self.record_ = run_in_memory(settings, lambda *_, **__: dataset, before=before)
        self.classes_, self.n_features_in_ = order, math.prod(examples.shape[1:])
        vars(self).pop("feature_names_in_", None)
        if names is not None:
            self.feature_names_in_ = np.array(names, object)
        return self

    def predict_proba(self, x: Any) -> np.ndarray:
        """Return the probability of each class, (n, K), for n examples. The columns are in the order of `classes_`.

        Raises ValueError for examples whose shape or features differ from the fit, or before the fit. If scikit-learn
        is installed, the error before the fit is scikit-learn's `NotFittedError`.
        """
        self._check_fitted()
        self._check_names(_feature_names(x))
        examples = _examples(x)
        if examples.shape[1:] != self.trained_.shape:
            got = math.prod(examples.shape[1:])
            if got == self.n_features_in_:
                needed, has = ("x".join(map(str, shape)) for shape in (self.trained_.shape, examples.shape[1:]))
                raise ValueError(f"X must hold examples of the shape {needed} as in the fit, got {has}")
            raise ValueError(
                f"X has {got} features, but {type(self).__name__} is expecting {self.n_features_in_} features as input"
            )
        return self.trained_.probabilities(examples)

    def predict(self, x: Any) -> np.ndarray:
        """Return the label of the most probable class of each example, (n,). Raises as `predict_proba` does."""
        places = self.predict_proba(x).argmax(axis=1)
        return self.classes_[places]

    def score(self, x: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of the examples whose label is predicted correctly, weighted if weights are given."""
        predicted = self.predict(x)
        labels = _labels(y)
        if labels.shape != predicted.shape:
            raise ValueError(
                f"x and y must have the same number of entries, got {len(predicted)} examples and {len(labels)} labels"
            )
        return float(np.average(predicted == labels, weights=sample_weight))

    def _given(self) -> dict[str, Any]:
        """The settings that differ from their defaults, by the names of `Settings`."""
        of = {CALLED.get(one.name, one.name): one.name for one in declared(Settings)}
        changed = {name: value for name, value in self.get_params().items() if _differs(value, PARAMETERS[name])}
        return {of[name]: value for name, value in changed.items()}

    def _settings(self, x: np.ndarray) -> Settings:
        """The settings of the run, without the architecture, which depends on the classes."""
        given = {"epochs": self.epochs, "dtype": self.dtype} | self._given()  # type: ignore[attr-defined]
        given["rule_settings"] = dict(given.get("rule_settings") or {})
        given["classes"] = _declared_classes(given.get("classes"))
        if given["classes"] is None:
            del given["classes"]
        given = {name: value.item() if isinstance(value, np.generic) else value for name, value in given.items()}
        settings = Settings(dataset=IN_MEMORY, **given)
        check(settings, CALLED)
        private = hides(settings)
        if private:
            given = {"adjacency": "add-remove", "sampling": "poisson"} | given
        if "pixels" not in given and private:
            given["pixels"] = "unit" if x.dtype == np.uint8 else "as-is"
        if "batch" not in given:
            given["batch"] = max(1, min(Settings.batch, given.get("records", Settings.batch) if private else len(x)))
        rule = spec(settings.rule)
        if any(one.name == "C" and one.needed for one in rule.settings):
            given["rule_settings"] = {"C": 1.0} | given["rule_settings"]
        return Settings(dataset=IN_MEMORY, **given)

    def _classes(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
        """The classes in the order of the network's outputs, the position of each label, and the class names."""
        text = _declared_classes(self.classes)  # type: ignore[attr-defined]
        if text is None:
            order, codes = np.unique(labels, return_inverse=True)
            if len(order) < 2:
                raise ValueError("y must have at least two classes, got 1 class")
            if labels.dtype.kind == "U":
                refuse_alike(order)
            return order, codes.astype(np.int64), tuple(map(str, order.tolist()))
        names = class_names(text)
        codes = in_declared_classes(labels.astype(str) if labels.dtype.kind == "b" else labels, names, "y")
        order = np.array(names)
        if labels.dtype.kind == "b" and set(names) == {"True", "False"}:
            order = order == "True"
        return order.astype(labels.dtype) if labels.dtype.kind in "ui" else order, codes, names

    def _check_fitted(self) -> None:
        if self.__sklearn_is_fitted__():
            return
        words = f"this {type(self).__name__} is not fitted yet: call fit first"
        try:
            from sklearn.exceptions import NotFittedError
        except ImportError:
            raise ValueError(words) from None
        raise NotFittedError(words)

    def _check_names(self, names: list[str] | None) -> None:
        """Raise ValueError if the feature names differ from the fit. Warn if only the fit or only x has names."""
        fitted = getattr(self, "feature_names_in_", None)
        who = type(self).__name__
        if fitted is None and names is not None:
            warnings.warn(f"X has feature names, but {who} was fitted without feature names", stacklevel=3)
        elif fitted is not None and names is None:
            words = f"X does not have valid feature names, but {who} was fitted with feature names"
            warnings.warn(words, stacklevel=3)
        elif fitted is not None and names != fitted.tolist():
            raise ValueError(_names_differ(fitted.tolist(), names or []))


def fit(x: Any, y: Any, **settings: Any) -> Classifier:
    """Train a network on arrays. The call is short for ``Classifier(**settings).fit(x, y)`` and raises its errors.

    Examples
    --------
    >>> x, y = np.array([[0.0, 1.0], [1.0, 0.0]] * 50), [0, 1] * 50
    >>> model = fit(x, y, rule="dp_dfa_joint", epsilon=3, delta=1e-5, classes=[0, 1], records=100, epochs=5)
    >>> model.record_["privacy"]["guarantee"]["epsilon"] <= 3
    True
    """
    return Classifier(**settings).fit(x, y)


def _sign(function: Any, *first: str) -> None:
    """Give a function that takes ``**settings`` the signature of the declared parameters."""
    kind = inspect.Parameter
    own = [kind(name, kind.POSITIONAL_OR_KEYWORD) for name in first]
    own += [kind(name, kind.KEYWORD_ONLY, default=default) for name, default in PARAMETERS.items()]
    function.__signature__ = inspect.Signature(own)


_sign(Classifier.__init__, "self")
_sign(fit, "x", "y")


def _differs(value: Any, default: Any) -> bool:
    return value is not default and not (type(value) is type(default) and value == default)


def _refuse_unknown(settings: dict[str, Any], error: type[Exception]) -> None:
    for name in settings:
        if name not in PARAMETERS:
            hint = require.meant(name, list(PARAMETERS)) or f"; the parameters are {', '.join(PARAMETERS)}"
            raise error(f"{name!r} is not a parameter of Classifier{hint}")


def _declared_classes(classes: Any) -> str | None:
    """The classes as one text, the form that the setting ``classes`` of a run needs."""
    if classes is None or isinstance(classes, str):
        return classes
    if isinstance(classes, int | np.integer):
        return str(classes)
    line, texts = io.StringIO(), [f"{one:.0f}" if _is_whole(one) else str(one) for one in classes]
    csv.writer(line, lineterminator="").writerow(texts)
    if class_names(line.getvalue()) != tuple(texts):
        raise ValueError(f"classes must be a list of at least two labels, or the number of labels, got {classes!r}")
    return line.getvalue()


def _is_whole(one: Any) -> bool:
    """Whether a label is a float that represents a whole number."""
    return isinstance(one, float | np.floating) and float(one).is_integer()


def _feature_names(x: Any) -> list[str] | None:
    """The names of the columns of a data frame, if every name is a text. Raises ValueError as `refuse_names`."""
    columns = getattr(x, "columns", None)
    names = [] if columns is None else list(columns)
    if not (names and all(isinstance(name, str) for name in names)):
        return None
    refuse_names(names)
    return names


def _names_differ(fitted: list[str], names: Sequence[str]) -> str:
    words = ["The feature names should match those that were passed during fit."]
    unexpected, missing = sorted(set(names) - set(fitted)), sorted(set(fitted) - set(names))
    if unexpected:
        words += ["Feature names unseen at fit time:", *(f"- {name}" for name in unexpected)]
    if missing:
        words += ["Feature names seen at fit time, yet now missing:", *(f"- {name}" for name in missing)]
    if not (unexpected or missing):
        words += ["Feature names must be in the same order as they were in fit."]
    return "\n".join(words) + "\n"


def _examples(x: Any) -> np.ndarray:
    """Return the examples as an array of numbers, with at least one example and one value in each example."""
    if hasattr(x, "toarray"):
        raise ValueError("X must be dense, got a sparse matrix: pass X.toarray()")
    array = np.asarray(x)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported")
    if array.ndim < 2:
        raise ValueError(
            f"X must have a row for each example, got an array of shape {array.shape}. Reshape your data with"
            " X.reshape(-1, 1) for one feature, or X.reshape(1, -1) for one example"
        )
    if array.dtype.kind in "USmMV":
        raise ValueError(f"X must hold numbers, got {KINDS[array.dtype.kind]}: convert X to numbers")
    if array.dtype.kind == "O":
        _refuse_objects(array)
    if array.dtype.kind not in "uif":
        array = array.astype(np.float64)
    if len(array) == 0:
        raise ValueError(f"X must hold at least one example, got 0 sample(s) (shape={array.shape})")
    if 0 in array.shape[1:]:
        raise ValueError(f"X has no features: 0 feature(s) (shape={array.shape}) while a minimum of 1 is required.")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError("X must be finite, found NaN or infinity")
    return with_channel(array)


def _labels(y: Any) -> np.ndarray:
    """Return the labels as an array of whole numbers, of booleans, or of text."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    if hasattr(y, "toarray"):
        raise ValueError("y must be dense, got a sparse matrix: pass y.toarray().ravel()")
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        warnings.warn("A column-vector y was passed when a 1d array was expected", _conversion(), stacklevel=3)
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise ValueError(f"y must be a one-dimensional array of labels, got shape {labels.shape}")
    if labels.dtype.kind in "OU":
        labels = _of_one_kind(np.asarray(y, object).ravel().tolist())
    if labels.dtype.kind == "f":
        if not np.isfinite(labels).all():
            raise ValueError("y must be finite, found NaN or infinity")
        if (labels != np.floor(labels)).any():
            raise ValueError("Unknown label type: continuous. Labels must be whole numbers or text")
        if (abs(labels) > EXACT).any():
            raise ValueError(
                "float labels must be between -2^53 and 2^53, because a float cannot represent every whole number"
                " beyond this range"
            )
        labels = labels.astype(np.int64)
    if labels.dtype.kind not in "biuU":
        raise ValueError(f"Unknown label type: {labels.dtype}. Labels must be whole numbers or text")
    return labels


def _of_one_kind(objects: list[Any]) -> np.ndarray:
    """Return the labels as an array if all are text, numbers, or booleans; otherwise raise ValueError."""
    for i, one in enumerate(objects):
        if _is_missing(one):
            raise ValueError(f"y must have a label for each example, but the label of example {i + 1} is missing")
    kinds = {
        "text" if isinstance(one, str) else "true or false" if isinstance(one, bool | np.bool_) else "numbers"
        for one in objects
    }
    if len(kinds) > 1:
        raise ValueError(f"y must hold labels of one kind, got {' together with '.join(sorted(kinds))}")
    if kinds == {"text"}:
        for i, one in enumerate(objects):
            # NumPy drops a NUL at the end of a text, so two different labels could become equal.
            if not one.strip() or "\0" in one:
                raise ValueError(
                    f"the label of example {i + 1} is empty or contains the character NUL: rename the class"
                )
        return np.array(objects, dtype=str)
    return np.array(objects)


def _refuse_objects(array: np.ndarray) -> None:
    """Raise ValueError if a value of the examples is a text, a date or missing."""
    kinds = map(type, array.ravel().tolist())
    bad = {kind for kind in kinds if issubclass(kind, str) or hasattr(kind, "isoformat") or kind.__name__ in NOTHING}
    for place, one in np.ndenumerate(array) if bad else ():
        if type(one) in bad:
            named = "text" if isinstance(one, str) else type(one).__name__
            what = "a missing value" if type(one).__name__ in NOTHING else named
            raise ValueError(f"X must hold numbers, got {what} in example {place[0] + 1}, feature {place[-1] + 1}")


def _is_missing(one: Any) -> bool:
    """Whether a value is None, NaN, or a missing value of pandas."""
    return type(one).__name__ in NOTHING or (isinstance(one, float) and one != one)


def _conversion() -> type[Warning]:
    """The warning of scikit-learn for a column of labels, if scikit-learn is installed."""
    try:
        from sklearn.exceptions import DataConversionWarning
    except ImportError:
        return UserWarning
    return DataConversionWarning
