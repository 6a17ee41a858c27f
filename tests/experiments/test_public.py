"""Tests that a run with a guarantee uses the same public facts for neighbouring data sets before its first step.

The user declares these facts, for example the classes. We write neighbouring data files for every sampler and adjacency
for which a theorem gives an epsilon. The tests construct the neighbours from the definition of the adjacency, without
nfa's own code for neighbours.
"""

import csv
import json
from contextlib import suppress
from dataclasses import asdict, replace

import numpy as np
import pytest

from nfa import data, noise
from nfa.cli import main
from nfa.data.own_data import class_names
from nfa.experiments import company, dry_run
from nfa.experiments.experiment import Cell
from nfa.experiments.prepare import prepare
from nfa.experiments.privacy_statement import HELD_PUBLIC
from nfa.experiments.records import validate
from nfa.experiments.run import run
from nfa.experiments.settings import Settings
from nfa.experiments.wanted import refuse_what_has_no_guarantee
from nfa.mechanism import ADJACENCIES, NUMBER_DIFFERS, NoGuarantee
from nfa.privacy.theorems import COVERAGE
from nfa.sampling import SAMPLERS, most_records

pytestmark = pytest.mark.filterwarnings("ignore::nfa.privacy.rdp.OrderAtGridEnd")

RNG = np.random.default_rng(11)
N = 24  # the public number of records; the files have 23 to 25 records
NAMES = ("emu", "cat", "ant", "dog")  # the order is not alphabetical; no record is an ant
X, Y = RNG.standard_normal((N, 3)).round(3), np.array([0, 1, 1, 3] * (N // 4))
Y[Y == 0] = 1
Y[5] = 0  # the only record of the class emu
PUBLIC = RNG.standard_normal((8, 3)).round(3), np.array([0, 1, 3, 3, 1, 0, 1, 3])  # the test set


def neighbours_of(adjacency):
    """Pairs (x, y, x', y') that are neighbours under the adjacency, made from the data above.

    In some pairs, a class loses its only record.
    """
    if adjacency in NUMBER_DIFFERS:
        for k in (0, 5, N - 1):  # one record fewer
            yield X, Y, np.delete(X, k, axis=0), np.delete(Y, k)
        for record, label in (([1e6, -1e6, 0.0], 2), (X[5], 0)):  # one additional record: a new record or a duplicate
            yield X, Y, np.vstack([X, record]), np.append(Y, label)
        return
    for k, record, label in ((5, X[5], 1), (5, X[6], 2), (0, np.zeros(3), 0), (N - 1, [255.0, 1e6, -3.0], 3)):
        x, y = X.copy(), Y.copy()
        x[k] = X[k] if adjacency == "replace-label" else record
        y[k] = label
        yield X, Y, x, y


def write(path, x, y, labels):
    """Write a user's own file with a public test set.

    With "names", labels are text; with "numbers", they are integers.
    """
    named = np.array(NAMES) if labels == "names" else np.arange(4)
    np.savez(path, x_train=x, y_train=named[y], x_test=PUBLIC[0], y_test=named[PUBLIC[1]])
    return path


def settings_of(path, scheme, adjacency, labels="names", **more):
    """The settings of a run with a guarantee and this sampler.

    For partial passes, tau is 1, so a pass is a whole shuffle.
    """
    options = {"tau": {"tau": 1.0, "batch": 1}, "N_B": {"N_B": 2}}
    given = {"rule": "dp_sgd", "rule_settings": {"C": 1.0}, "noise_multiplier": 2.0, "batch": 6}
    for name in SAMPLERS[scheme].options:
        given |= options[name]
    given |= {"sampling": scheme, "adjacency": adjacency, "delta": 1e-3, "pixels": "as-is", "dtype": "float64"}
    given |= {"architecture": "3-5-4", "epochs": 2, "kernels": False, "records": N}
    given |= {"classes": ",".join(NAMES) if labels == "names" else "4"}
    return Settings(dataset=str(path), **(given | more))


def before_the_first_step(parts):
    """Everything that is fixed before the first step, except the examples and the choice of examples in a batch."""
    net, sampler = parts.net, parts.batches
    known = {name: parts.rule.keywords.get(name) for name in ("C", "m", "sigma")}
    said = parts.privacy.account([(1, parts.steps)])
    return {
        "weights": [[p.tolist() for p in (net.W[l], net.b[l])] for l in range(1, net.L + 1)],
        "rule": known, "steps": parts.steps, "part": parts.part, "sizes": asdict(parts.sizes),
        "batches": (sampler.scheme, sampler.rate, sampler.steps_per_epoch), "align": parts.align_every,
        "mechanism": repr(parts.mechanism), "settings": parts.settings.to_json(), "said": json.dumps(said),
        "classes": parts.dataset.class_names, "note": parts.dataset.note, "lr": repr(parts.optimizer.lr),
        "test": (parts.x_test.tolist(), parts.y_test.tolist()),
    }  # fmt: skip


EVERY = pytest.mark.parametrize("scheme", SAMPLERS)
UNDER = pytest.mark.parametrize("adjacency", ADJACENCIES)


@pytest.fixture(autouse=True)
def fixed(tmp_path, monkeypatch):
    """A temporary state folder, secure streams with one fixed key, and no check of NumPy's products."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(noise.os, "urandom", lambda k: bytes(range(k)))
    monkeypatch.setattr(company, "check", lambda *of, **how: None)


@pytest.fixture
def pairs(tmp_path):
    """pairs(scheme, adjacency, ...) -> the settings of both runs, for every pair of neighbours with a guarantee."""

    def make(scheme, adjacency, labels="names", **more):
        for k, (x, y, other_x, other_y) in enumerate(neighbours_of(adjacency)):
            both = []
            for side, one in enumerate(((x, y), (other_x, other_y))):
                folder = tmp_path / f"{k}{side}"
                folder.mkdir(exist_ok=True)
                # both files have the same name, because the record contains the name
                path = write(folder / "own.npz", *one, labels)
                both.append(settings_of(path, scheme, adjacency, labels, **more))
            with suppress(NoGuarantee):
                prepare(both[0])
                yield both

    return make


def labels_in(settings):
    """The labels in the data file of a run, as numbers in the order of the declared classes."""
    y = np.load(settings.dataset)["y_train"]
    return [NAMES.index(label) for label in y] if y.dtype.kind == "U" else y.tolist()


def test_what_is_counted_here_is_what_has_a_theorem(pairs):
    """Every sampler and adjacency with a theorem is tested.

    If all pairs were refused, the next tests would test nothing.
    """
    counted = {(s, a) for s in SAMPLERS for a in ADJACENCIES if list(pairs(s, a))}
    expected = {(s, a) for s, one in COVERAGE.items() for a in ADJACENCIES if a not in one.refused}
    whole_shuffles = {("partial-passes", a) for a in ADJACENCIES if a not in COVERAGE["epoch-partition"].refused}
    assert counted == expected | whole_shuffles


@pytest.mark.parametrize("labels, secure", [("names", None), ("numbers", None), ("names", True)])
@EVERY
@UNDER
def test_nothing_before_the_first_step_differs_for_neighbours(scheme, adjacency, labels, secure, pairs):
    for both in pairs(scheme, adjacency, labels, secure=secure):
        one, other = map(prepare, both)
        assert before_the_first_step(one) == before_the_first_step(other)
        for settings, parts in zip(both, (one, other), strict=True):
            assert parts.batches.y.argmax(axis=1).tolist() == labels_in(settings)


@EVERY
@UNDER
def test_the_batches_of_the_other_records_are_the_same(scheme, adjacency, pairs):
    """With equal seeds, the batches for two neighbours contain the same other records in every step.

    The neighbours differ in a record that is changed in place, or in the last record.
    """
    for both in pairs(scheme, adjacency):
        one, other = map(prepare, both)
        n = min(one.batches.n, other.batches.n)
        if adjacency in NUMBER_DIFFERS and not np.array_equal(one.batches.x[:n], other.batches.x[:n]):
            # The other records change places. Their batches have the same distribution, because the rate is the same.
            continue
        for t in range(1, one.steps + 1):
            drawn = [chosen[chosen < n].tolist() for chosen in (one.batches.indices(t), other.batches.indices(t))]
            assert drawn[0] == drawn[1]


@pytest.mark.parametrize("adjacency", [name for name in ADJACENCIES if name not in NUMBER_DIFFERS])
@EVERY
def test_a_split_is_by_place_where_neighbours_have_the_same_number(scheme, adjacency, pairs):
    """If neighbours have equally many records, the place of a record alone determines its part of a validation split.

    So neighbours have the same training and validation examples, except for the record that differs.
    """
    for both in pairs(scheme, adjacency, validation=0.25, train_examples=12):
        one, other = map(prepare, both)
        assert len(one.batches.x) == len(other.batches.x) == 12
        moved = (one.batches.x != other.batches.x).any(axis=1).sum() + (one.x_val != other.x_val).any(axis=1).sum()
        assert moved <= 1


@pytest.mark.parametrize("secure", [None, True])
@EVERY
@UNDER
def test_a_record_shows_neighbours_alike(scheme, adjacency, secure, pairs, tmp_path):
    """The record of a run is the same for neighbours, except for released results and codes with the user's key.

    In a seeded run, the training accuracy may also differ.
    """
    released = {"history", "test_accuracy", "timing", "seal"} | (set() if secure else {"train_accuracy"})
    for k, both in enumerate(pairs(scheme, adjacency, secure=secure, epochs=1)):
        one, other = (run(settings, tmp_path / "out" / f"{k}{side}") for side, settings in enumerate(both))
        for record in (one, other):
            assert record["private"] is bool(secure)
            del record["data"]["digest"]
        assert {name: one[name] for name in one.keys() - released} == {n: other[n] for n in other.keys() - released}
        assert one["data"]["train"] == N


# --- classes


ROW = "--rule dp_sgd --set C=1 --noise-multiplier 2 --delta 1e-5 --pixels as-is --net 3-5-4 --batch 6 --epochs 1"


@pytest.fixture
def typed(tmp_path, monkeypatch, capsys):
    """typed(words) -> (exit code, record or None, standard error) of `nfa train` in a temporary folder."""
    monkeypatch.chdir(tmp_path)

    def call(words):
        code = main.main(["train", "--json", *words.split()])
        out, err = capsys.readouterr()
        return code, json.loads(out) if out else None, err

    return call


@pytest.mark.parametrize("how", ["", "--secure"])
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_a_run_that_promises_something_wants_its_classes_declared(adjacency, how, typed, tmp_path):
    """A run with a guarantee needs declared classes, because one changed record could change the classes in the data.

    For example, if one `emu` becomes an `ant`, the columns of all later classes change.
    """
    write(tmp_path / "own.npz", X, Y, "names")
    sampling = "poisson" if adjacency in NUMBER_DIFFERS else "epoch-partition"
    words = f"{ROW} --dataset own.npz --adjacency {adjacency} --sampling {sampling} {how}"
    code, record, err = typed(words)
    assert (code, record) == (2, None)
    assert "give --classes (the names a,b,c, or a number K for the labels 0 to K-1)" in err
    assert ("--records N (the public number of training records" in err) is (adjacency in NUMBER_DIFFERS)
    assert not any(name in err for name in NAMES)
    assert [path.name for path in tmp_path.iterdir()] == ["own.npz"]


def test_a_run_that_promises_nothing_may_read_its_classes(typed, tmp_path):
    write(tmp_path / "own.npz", X, Y, "names")
    code, record, err = typed("--dataset own.npz --net 3-5-3 --pixels as-is --batch 6 --epochs 1 --no-kernels")
    assert code == 0, err
    assert record["data"]["note"] == "classes in order: cat, dog, emu"
    code, record, err = typed(
        "--dataset own.npz --net 3-5-4 --pixels as-is --batch 6 --epochs 1 --no-kernels --classes emu,cat,ant,dog"
    )
    assert code == 0, err
    assert record["data"]["note"] == "classes in order: emu, cat, ant, dog"
    assert record["settings"]["classes"] == "emu,cat,ant,dog"


def bad_files():
    """The contents of refused files of 25 examples. No error message may contain the number 25 or the word "sesame"."""
    x, y = np.vstack([X, X[:1]]), np.insert(np.array(NAMES, "U9")[Y], 3, "sesame")
    numbers = np.insert(Y, 3, 777)
    good = {"x_train": x, "y_train": np.append(np.array(NAMES)[Y], "emu"), "x_test": PUBLIC[0]}
    good["y_test"] = np.array(NAMES)[PUBLIC[1]]
    nan = x.copy()
    nan[3, 1] = np.nan
    for change in (
        {"y_train": y}, {"y_train": numbers}, {"y_train": numbers.astype(float)}, {"y_train": y[:-1]},
        {"x_train": nan}, {"x_train": x[:, 0]}, {"x_train": x[:, :0]}, {"y_train": y[:, None]},
    ):  # fmt: skip
        yield "npz", good | change
    head, rows = ["a", "label", "b", "c"], [[r[0], name, *r[1:]] for r, name in zip(x.tolist(), y, strict=True)]
    yield "csv", [head, *rows]
    yield "csv", [head, *rows[:-1], ["sesame", "emu", 1.0, 2.0]]
    yield "csv", [head, *rows[:-1], [1.0, "emu", 1.0, 2.0, "sesame"]]
    yield "csv", [head, *rows[:-1], [1.0, "", 1.0, "sesame"]]
    yield "csv", [head, *rows[:-1], ["sesame"]]


@pytest.mark.parametrize("kind, content", [*bad_files()])
def test_no_error_shows_what_a_record_holds_or_how_many_there_are(kind, content, typed, tmp_path):
    if kind == "npz":
        np.savez(tmp_path / "own.npz", **content)
    else:
        with (tmp_path / "own.csv").open("w", newline="") as file:
            csv.writer(file).writerows(content)
    more = "--adjacency add-remove --sampling poisson --classes emu,cat,ant,dog --records 24"
    held = "--validation 0.25" if kind == "csv" else ""
    code, record, err = typed(f"{ROW} --dataset own.{kind} {more} {held}")
    assert (code, record, err.count("\n")) == (2, None, 1)
    assert "Traceback" not in err
    for private in ("sesame", "777", " 24", " 25", "(24", "(25"):
        assert private not in err


@pytest.mark.parametrize("y", [np.array(["04", "4", "30"]), np.array(["4", "30", "x"])])
def test_a_label_of_a_table_means_the_same_beside_any_other(y, tmp_path):
    table = [["label", "a"], *([label, 1.5] for label in y)]
    with (tmp_path / "own.csv").open("w", newline="") as file:
        csv.writer(file).writerows(table)
    found = data.load(tmp_path / "own.csv", unsplit=True, classes="x,30,4,04")
    assert found.y_train.tolist() == [("x", "30", "4", "04").index(label) for label in y]
    with pytest.raises(ValueError, match=r"line [24] must have one of the 3 declared classes as its label$"):
        data.load(tmp_path / "own.csv", unsplit=True, classes=f"x,30,{'4' if '04' in y else '04'}")


@pytest.mark.parametrize(
    "classes, names",
    [
        ("2", ("0", "1")),
        ("a,b", ("a", "b")),
        (' "a,b" , c', ("a,b", "c")),
        ("1,0", ("1", "0")),
        ("b,a,9", ("b", "a", "9")),
    ],
)
def test_a_declaration_is_read_as_it_says(classes, names):
    assert class_names(classes) == names


@pytest.mark.parametrize("classes", ["", "a", "1", "0", "03", "a,a", "a,,b", "a, ", "1000001", "2.0", "-3", "9" * 30])
def test_a_declaration_that_is_none_is_refused(classes):
    with pytest.raises(ValueError, match="classes must be"):
        class_names(classes)


def test_a_data_set_of_the_registry_declares_its_own(typed):
    for words, said in (
        ("--classes 10", "classes is only for your own file"),
        ("--records 6000", "the setting `records` applies only to your own file"),
    ):
        code, _, err = typed(f"--epochs 1 {words}")
        assert (code, said in err) == (2, True)
    parts = prepare(Settings(rule="dp_sgd", rule_settings={"C": 1.0, "sigma": 1.0}, architecture="784-10", batch=500,
                             sampling="poisson", adjacency="add-remove", delta=1e-5, pixels="unit"))  # fmt: skip
    assert (parts.sizes.N, parts.batches.rate) == (6000, 500 / 6000)


# --- the number of records


def test_a_number_that_is_not_that_of_the_file_is_refused_where_it_could_be_read(tmp_path):
    path = write(tmp_path / "own.npz", X, Y, "names")
    for adjacency in ADJACENCIES:
        settings = settings_of(path, "none", adjacency, records=N + 1)
        if adjacency in NUMBER_DIFFERS:
            assert prepare(settings).sizes.N == N + 1
        else:
            with pytest.raises(
                ValueError, match=f"`records` must be {N}, the number of training records .*, got {N + 1}"
            ):
                prepare(settings)


def test_a_secure_run_holds_a_public_bound_on_the_file(tmp_path, monkeypatch):
    from nfa.experiments import public

    path = write(tmp_path / "own.npz", X, Y, "names")
    assert most_records(N) == 2**20
    monkeypatch.setattr(public, "most_records", lambda number: number + 3)
    for number, refused in ((N - 3, False), (N - 4, True)):
        settings = settings_of(path, "poisson", "add-remove", records=number, secure=True, epochs=1)
        if refused:
            with pytest.raises(ValueError, match="a secure run can use at most 23 training records") as caught:
                prepare(settings)
            assert "24" not in str(caught.value)
        else:
            assert prepare(settings).sizes.N == number


def test_an_estimate_is_of_the_public_number(tmp_path):
    path = write(tmp_path / "own.npz", X, Y, "names")
    cells = [Cell("one", settings_of(path, "none", "add-remove", records=5000), {})]
    (found,) = dry_run.estimates(cells, dry_run.sources(cells), 0.0).values()
    assert " of 5000 examples" in found.how


@pytest.mark.parametrize("sampling", ["none", "poisson"])
def test_a_rule_that_states_an_adjacency_of_its_own_wants_it_named(sampling, tmp_path, monkeypatch):
    """A run of a rule that states its own adjacency needs this adjacency in its settings.

    Without an adjacency in the settings, nfa would read the number of records from the file.
    """
    (tmp_path / "states_its_own.py").write_text(
        "from nfa.mechanism import Mechanism\nfrom nfa.rules.dp_sgd import dp_sgd\n"
        "def rule(net, x, y, *, C=1.0, m, sigma=1.0, rng): return dp_sgd(net, x, y, C=C, m=m, sigma=sigma, rng=rng)\n"
        "def mechanism(*, C=1.0, m, sigma=1.0, sampling, sampling_rate):\n"
        "    how = {'sampling': sampling, 'sampling_rate': sampling_rate, 'adjacency': 'add-remove'}\n"
        "    return Mechanism(law='gaussian', sensitivity=C / m, noise_std=sigma, **how)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    path = write(tmp_path / "own.npz", X, Y, "names")
    own = {"rule": "states_its_own:rule", "rule_settings": {}, "noise_multiplier": None}
    settings = settings_of(path, sampling, None, **own)
    with pytest.raises(ValueError, match=r"under add-remove: give --adjacency add-remove and --records N"):
        prepare(settings)
    assert prepare(replace(settings, adjacency="add-remove")).sizes.N == N
    assert prepare(replace(settings, delta=None)).sizes.N == N


# --- held-out examples


def test_what_is_taken_as_public_under_add_remove_is_said(tmp_path):
    path = write(tmp_path / "own.npz", X, Y, "names")
    for adjacency in ADJACENCIES:
        sampling = "poisson" if adjacency in NUMBER_DIFFERS else "epoch-partition"
        settings = settings_of(path, sampling, adjacency, validation=0.25, epochs=1)
        said = run(settings, tmp_path / adjacency)["privacy"]["statement"]
        assert (HELD_PUBLIC in said) is (adjacency in NUMBER_DIFFERS)
        with pytest.raises(ValueError, match="the accuracy on held-out examples depends on these examples"):
            prepare(replace(settings, secure=True))


# --- delta


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_a_delta_that_allows_one_record_to_be_published_is_refused(adjacency, tmp_path):
    path = write(tmp_path / "own.npz", X, Y, "names")
    sampling = "poisson" if adjacency in NUMBER_DIFFERS else "epoch-partition"
    for delta, refused in ((0.9, True), (1 / N, True), (np.nextafter(1 / N, 0), False)):
        settings = settings_of(path, sampling, adjacency, delta=float(delta), secure=True)
        parts = prepare(settings)
        if refused:
            with pytest.raises(
                ValueError, match=f"^--secure: delta .* is at least 1/n = .* 1/{N} .to train nevertheless, use"
            ):
                refuse_what_has_no_guarantee("--secure", parts)
        else:
            refuse_what_has_no_guarantee("--secure", parts)
        record = run(settings, tmp_path / str(delta))  # a call of `run`, like --anyway, trains without a guarantee
        assert record["private"] is not refused
        assert record["privacy"]["statement"].startswith("none: delta ") is refused
        refuse_what_has_no_guarantee("--delta", prepare(replace(settings, secure=None)))
        if refused:
            with pytest.raises(ValueError, match="a run with a delta of at least 1/n as private"):
                validate(record | {"private": True})


@pytest.mark.parametrize("delta, warned", [("0.1", True), ("0.01", True), ("0.009", False)])
def test_nfa_epsilon_warns_of_such_a_delta(delta, warned, capsys):
    words = "epsilon --sampling poisson --adjacency add-remove --n 100 --batch 10 --steps 100 --noise-multiplier 1"
    assert main.main([*words.split(), "--delta", delta]) == 0
    assert (f"nfa: Caution: delta {delta} is at least 1/n = 0.01" in capsys.readouterr().err) is warned


def test_a_secure_run_with_such_a_delta_is_refused_before_it_writes(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    words = "train --secure --rule dp_sgd --set C=1 --adjacency add-remove --sampling poisson --batch 500 --pixels unit"
    words += " --net 784-10 --epochs 1 --noise-multiplier 1 --delta 0.9 --out"
    assert main.main([*words.split(), str(tmp_path / "run")]) == 2
    assert "delta 0.9 is at least 1/n" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
