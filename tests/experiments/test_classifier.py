"""Tests of `nfa.Classifier` and `nfa.fit`: the checks of scikit-learn, the forward pass in NumPy, and private fits."""

import copy
import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest

import nfa
from nfa.experiments.classifier import NOT_FOR_ARRAYS
from nfa.experiments.run import run
from nfa.experiments.settings import Settings
from nfa.experiments.trained import load
from nfa.mechanism import NoGuarantee

PRIVATE = {"rule": "dp_dfa_joint", "epsilon": 3, "delta": 1e-5, "classes": [0, 1, 2], "records": 300}
SHORT = {"architecture": "4-5-3", "epochs": 2}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path


def blobs(n=300, seed=3):
    y = np.arange(n) % 3
    return np.random.default_rng(seed).standard_normal((n, 4)) + 3 * np.eye(3, 4)[y], y


@pytest.mark.filterwarnings("ignore:Estimator Classifier does not inherit")
def test_scikit_learn_accepts_it(monkeypatch):
    """scikit-learn accepts the classifier: every check passes, and none is skipped or expected to fail."""
    checks = pytest.importorskip("sklearn.utils.estimator_checks", reason="not installed: pip install scikit-learn")
    pytest.importorskip("pandas", reason="pandas is not installed: pip install pandas")
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    done = checks.check_estimator(nfa.Classifier(), on_fail=None)
    assert len(done) >= 50
    assert [(one["check_name"], one["exception"]) for one in done if one["status"] != "passed"] == []


def test_scikit_learn_clones_and_searches_it():
    base = pytest.importorskip("sklearn.base", reason="not installed: pip install scikit-learn")
    selection = pytest.importorskip("sklearn.model_selection")
    model = nfa.Classifier(rule="dp_dfa_joint", rule_settings={"C": 2, "sigma": 0.01}, seed=4, **SHORT)
    twin = base.clone(model)
    assert twin is not model
    assert twin.get_params() == model.get_params()
    assert base.is_classifier(model)
    search = selection.GridSearchCV(nfa.Classifier(**SHORT), {"lr": [1e-9, 0.1]}, cv=2).fit(*blobs())
    assert search.best_params_ == {"lr": 0.1}


def test_probabilities_are_those_of_a_forward_pass_in_plain_numpy():
    x, y = blobs()
    model = nfa.fit(x, np.array(["cat", "dog", "emu"])[y], rule="dfa", epochs=3, pixels="standard")
    (W1, W2), (b1, b2) = model.trained_.net.W[1:], model.trained_.net.b[1:]
    assert W1.shape == (100, 4)
    new = blobs(7, seed=11)[0]
    z = np.tanh((new - x.mean(axis=0)) / x.std(axis=0) @ W1.T + b1) @ W2.T + b2
    want = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(new), want, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(new), np.array(["cat", "dog", "emu"])[want.argmax(axis=1)])
    assert model.classes_.tolist() == ["cat", "dog", "emu"]


def test_it_trains_what_nfa_train_trains(folder):
    """With equal data and seed, the classifier and `nfa train` give equal weights, history and privacy."""
    x, y = blobs()
    np.savez(folder / "mine.npz", x_train=x, y_train=y, x_test=x[:30], y_test=y[:30])
    given = {"rule": "dp_dfa_joint", "classes": "0,1,2", "records": 300, "delta": 1e-5, "adjacency": "add-remove"}
    given |= {"sampling": "poisson", "pixels": "as-is", "batch": 50, "dtype": "float64", "seed": 7, **SHORT}
    more = {"rule_settings": {"C": 1}, "target_epsilon": 3}
    record = run(Settings(dataset="mine.npz", **given, **more), folder / "out", keep_weights=True)
    model = nfa.fit(x, y, **(PRIVATE | {"batch": 50, "seed": 7, **SHORT}))
    ours, theirs = model.trained_.net, load(folder / "out")[0].net
    for l in range(1, ours.L + 1):
        np.testing.assert_array_equal(ours.W[l], theirs.W[l])
        np.testing.assert_array_equal(ours.b[l], theirs.b[l])
    assert model.record_["privacy"] == record["privacy"]
    losses = ([entry["train_loss"] for entry in one["history"]] for one in (model.record_, record))
    assert next(losses) == next(losses)


def test_a_private_fit_keeps_to_its_epsilon():
    x, y = blobs()
    model = nfa.fit(x, y, **PRIVATE)
    record = model.record_
    assert record["privacy"]["guarantee"]["epsilon"] <= 3
    assert record["settings"]["adjacency"] == "add-remove"
    assert record["settings"]["pixels"] == "as-is"
    assert record["private"] is False  # because the run has a seed
    assert record["settings"]["classes"] == "0,1,2"
    assert record["settings"]["records"] == 300
    assert np.mean(model.predict(x) == y) == model.score(x, y)
    assert model.predict_proba(x).shape == (300, 3)


def test_a_private_fit_depends_on_no_record_that_is_not_there():
    """The settings of a private fit depend only on the declarations, so it has the declared classes, in their order.

    The noise depends on the declared number of records, even if the data have fewer records.
    """
    x, y = blobs()
    few = y < 2
    asked = PRIVATE | SHORT | {"classes": [2, 1, 0]}
    model, whole = nfa.fit(x[few], y[few], **asked), nfa.fit(x, y, **asked)
    assert model.classes_.tolist() == [2, 1, 0]
    assert model.predict_proba(x).shape == (300, 3)
    assert model.record_["settings"] == whole.record_["settings"]
    assert model.record_["steps"] == whole.record_["steps"]


def test_a_secure_fit_is_private_and_has_no_seed():
    model = nfa.fit(*blobs(), **(PRIVATE | SHORT), secure=True)
    assert model.record_["private"] is True
    assert model.record_["seed"] is None
    assert "train_accuracy" not in model.record_


WITHOUT = {name: value for name, value in PRIVATE.items() if name not in ("classes", "records", "delta")}
REFUSED = [
    ({**WITHOUT, "delta": 1e-5}, ValueError, "classes= .*records=N"),
    ({**PRIVATE, "classes": None}, ValueError, "give classes="),
    ({**PRIVATE, "records": None}, ValueError, "give records=N"),
    (WITHOUT, ValueError, "epsilon= needs delta="),
    ({**PRIVATE, "rule": "dfa"}, NoGuarantee, "adds no noise to the direction; `nfa rules` lists"),
    ({**PRIVATE, "delta": None, "epsilon": None, "secure": True}, ValueError, "secure=True would not .* delta="),
    ({"rule": "dfa", "secure": True}, NoGuarantee, "adds no noise to the direction; `nfa rules` lists"),
    ({**PRIVATE, "pixels": "standard", "secure": True}, ValueError, "pixels"),
    ({**PRIVATE, "classes": [0, 1]}, ValueError, "the label of example 3 is no declared class"),
    ({**PRIVATE, "classes": [0, 1, 1]}, ValueError, "different names"),
    ({"optimizer": "adam", "momentum": 0.5}, ValueError, "momentum= has no effect"),
    ({"architecture": "5-3"}, ValueError, "5 values per example"),
    ({"architecture": "5-3"}, ValueError, "such as architecture=4-64-3$"),
    ({**PRIVATE, "pixels": "unit"}, ValueError, "pixels=as-is"),
    ({**PRIVATE, "epsilon": "three"}, ValueError, "^epsilon must be"),
    ({"epsilon": -1}, ValueError, "^epsilon must be"),
    ({"records": 7}, ValueError, "got 7: leave out `records`, or give [0-9]+$"),
    ({"epochs": 0}, ValueError, "epochs must be"),
    ({"epsilons": 3}, TypeError, "did you mean epsilon?"),
]


@pytest.mark.parametrize("given, error, sentence", REFUSED)
def test_what_cannot_be_is_refused_in_one_sentence(given, error, sentence, folder):
    with pytest.raises(error, match=sentence) as refused:
        nfa.fit(*blobs(), **given)
    assert "\n" not in str(refused.value)
    assert "--" not in str(refused.value)
    assert list(folder.rglob("*.json")) == []


BAD = [
    ([[1.0, np.nan]] * 4, [0, 1, 0, 1], "finite"),
    ([[1.0, 2.0]] * 4, [0, 1, 0], "the same number of entries"),
    ([[1.0, 2.0]] * 4, [0.5, 1, 0, 1], "Unknown label type"),
    ([[1.0, 2.0]] * 4, [0, 0, 0, 0], "1 class"),
    ([1.0, 2.0], [0, 1], "Reshape your data"),
    ([[]] * 4, [0, 1, 0, 1], "0 feature"),
    ([[1.0, 2.0]] * 4, None, "target y is None"),
    (None, [0, 1], r"shape \(\)"),
    ({"a": [1, 2]}, [0, 1], r"shape \(\)"),
    ("rows", [0, 1], r"shape \(\)"),
    (np.zeros((4, 1), [("a", "f8"), ("b", "f8")]), [0, 1, 0, 1], "X must hold numbers"),
    ([["1_1", "2"], ["3", "4"]] * 2, [0, 1, 0, 1], "X must hold numbers, got text: convert X to numbers"),
    (np.array([[1, "2"], [3, 4]] * 2, object), [0, 1, 0, 1], "got text in example 1, feature 2"),
    (np.array([[1, 2], [None, 4]] * 2, object), [0, 1, 0, 1], "got a missing value in example 2, feature 1"),
    (np.array([[1, np.datetime64("2026-01-01", "D").item()]] * 4, object), [0, 1, 0, 1], "got date in example 1"),
    (np.arange(8).astype("M8[D]").reshape(4, 2), [0, 1, 0, 1], "got dates"),
    ([[1.0, 2.0]] * 4, [1, "1", 1, "1"], "labels of one kind, got numbers together with text"),
    (
        [[1.0, 2.0]] * 4,
        np.array([1, True, 2, False], object),
        "labels of one kind, got numbers together with true or false",
    ),
    ([[1.0, 2.0]] * 4, ["a", np.nan, "b", "b"], "the label of example 2 is missing"),
    ([[1.0, 2.0]] * 4, ["a", "b", None, "b"], "the label of example 3 is missing"),
    ([[1.0, 2.0]] * 4, ["a", "b", " ", "b"], "the label of example 3 is empty"),
    ([[1.0, 2.0]] * 4, ["a", "a\0", "b", "b"], "the label of example 2 is empty or contains the character NUL"),
    ([[1.0, 2.0]] * 4, [1e300, 2e300, 1e300, 2e300], r"between -2\^53 and 2\^53"),
    ([[1.0, 2.0]] * 4, ["a", "a\u200b", "b", "b"], r"two labels look the same, 'a' and 'a\\u200b'"),
]


@pytest.mark.parametrize("x, y, sentence", BAD)
def test_bad_data_are_refused(x, y, sentence):
    with pytest.raises(ValueError, match=sentence):
        nfa.fit(x, y)


@pytest.mark.parametrize(
    "names, sentence", [(["Unnamed: 0", "b"], "column 1 has no name"), (["a", "a"], "two columns are called a")]
)
def test_a_data_frame_with_a_column_of_row_numbers_is_refused(names, sentence):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: pip install pandas")
    with pytest.raises(ValueError, match=sentence):
        nfa.fit(pandas.DataFrame([[0, 1.5], [1, 2.5]] * 2, columns=names), [0, 1, 0, 1])


@pytest.mark.parametrize("kind", [pytest.param("NA", id="missing"), pytest.param("NaT", id="no date")])
def test_missing_values_of_pandas_are_no_numbers_and_no_labels(kind):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: pip install pandas")
    missing = getattr(pandas, kind)
    with pytest.raises(ValueError, match="got a missing value in example 2, feature 1"):
        nfa.fit(np.array([[1.0], [missing]] * 2, object), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="the label of example 2 is missing"):
        nfa.fit([[1.0], [2.0]] * 2, pandas.Series(["a", missing] * 2))


@pytest.mark.parametrize(
    "labels, classes",
    [
        (np.array([False, True]), [True, False]),
        (np.array([5.0, 6.0]), [5.0, 6.0]),
        (np.array([5, 6]), [6, 5]),
        (np.array(["5", "6"]), ["5", "6"]),
    ],
)
def test_declared_classes_are_the_labels_themselves(labels, classes):
    x, y = blobs(40)
    given = PRIVATE | {"classes": classes, "records": 40, "epochs": 1}
    model = nfa.fit(x, labels[y % 2], **given)
    assert model.classes_.tolist() == classes
    assert set(model.predict(x).tolist()) <= set(classes)


def test_other_data_than_in_the_fit_are_refused():
    model = nfa.fit(*blobs(), **SHORT)
    with pytest.raises(ValueError, match="X has 3 features"):
        model.predict(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="not fitted yet"):
        nfa.Classifier().predict(np.zeros((2, 3)))


def test_images_train_a_network_of_the_papers_kind():
    y = np.arange(24) % 2
    x = np.random.default_rng(0).integers(0, 256, (24, 6, 6), dtype=np.uint8)
    model = nfa.fit(x, y, architecture="1x6x6:conv2-3,pool2,2", activation="tanh", epochs=1, pixels="unit")
    assert model.predict_proba(x).shape == (24, 2)
    assert model.n_features_in_ == 36


def test_parameters_are_the_settings_of_a_run():
    parameters = inspect.signature(nfa.Classifier).parameters
    names = set(Settings.__dataclass_fields__) - {*NOT_FOR_ARRAYS, "target_epsilon"} | {"epsilon"}
    assert set(parameters) == set(nfa.Classifier().get_params()) == names
    assert set(inspect.signature(nfa.fit).parameters) == names | {"x", "y"}
    model = nfa.Classifier(lr=0.5)
    assert model.set_params(lr=0.25, epsilon=2) is model
    assert (model.get_params()["lr"], model.epsilon) == (0.25, 2)
    assert repr(model) == "Classifier(lr=0.25, epsilon=2)"
    with pytest.raises(ValueError, match="did you mean lr"):
        model.set_params(lr=1, LR_=2)
    assert model.lr == 0.25


def test_a_copy_or_a_pickle_predicts_the_same():
    x, y = blobs()
    model = nfa.fit(x, y, optimizer="adam", **SHORT)
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(twin.predict_proba(x), model.predict_proba(x))
        assert twin.record_ == model.record_
        np.testing.assert_array_equal(twin.fit(x, y).predict_proba(x), model.predict_proba(x))


def test_nothing_needs_scikit_learn_and_the_package_stays_light():
    code = """
import sys
sys.modules["sklearn"] = None  # as if it were not installed
import nfa
assert "numpy" not in sys.modules
x, y = [[0.0, 1.0], [1.0, 0.0]] * 5, ["a", "b"] * 5
model = nfa.fit(x, y, kernels=False, epochs=2)
assert model.predict(x).shape == (10,)
try:
    nfa.Classifier().predict(x)
except ValueError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "not fitted yet" in done.stdout
