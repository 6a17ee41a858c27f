"""Tests of a user's own data: equal examples from tables and arrays, labels of every kind, splits and refusals."""

import csv
import json

import numpy as np
import pytest

from nfa import data, fit
from nfa.cli import main
from nfa.experiments.prepare import prepare
from nfa.experiments.settings import Settings

RNG = np.random.default_rng(3)
ANIMALS = np.array(["emu", "cat", "dog"])
Y = np.arange(60) % 3
X = RNG.standard_normal((60, 4)) + 2 * np.eye(3, 4)[Y]


def table(path, x=X, y=ANIMALS[Y], at=2):
    """Write a table with the standard library, with quoted labels in column `at`."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
        names = [f"feature {i}" for i in range(x.shape[1])]
        writer.writerow([*names[:at], "label", *names[at:]])
        for row, label in zip(x.tolist(), y.tolist(), strict=True):
            writer.writerow([*row[:at], label, *row[at:]])
    return path


@pytest.mark.parametrize("at", [0, 2, 4])
def test_a_table_and_its_arrays_are_the_same_data(at, tmp_path):
    np.savez(tmp_path / "animals.npz", x=X, y=ANIMALS[Y])
    ours = data.load(table(tmp_path / "animals.csv", at=at), unsplit=True)
    other = data.load(tmp_path / "animals.npz", unsplit=True)
    assert ours.digest == other.digest
    assert ours.name == other.name == "animals"
    assert ours.source == "your own file animals.csv"
    np.testing.assert_array_equal(ours.x_train, X)
    assert len(ours.x_test) == len(ours.y_test) == 0


@pytest.mark.parametrize(
    "y, names",
    [
        (ANIMALS[Y], ("cat", "dog", "emu")),
        (np.array([30, 4, 200])[Y], ("4", "30", "200")),  # numbers are sorted by size
        (np.array(["30", "4", "x"])[Y], ("30", "4", "x")),  # texts are sorted as texts
        (np.array([2, 0, 1])[Y], ("0", "1", "2")),
    ],
)
def test_labels_are_put_in_order_and_the_record_says_so(y, names, tmp_path):
    found = data.load(table(tmp_path / "own.csv", y=y), unsplit=True)
    assert found.class_names == names
    assert [names[k] for k in found.y_train] == y.astype(str).tolist()
    assert ("classes in order: " + ", ".join(names) in found.note) is (names != ("0", "1", "2"))


def test_text_labels_beside_a_test_set(tmp_path):
    given = {"x_train": X[:40], "y_train": ANIMALS[Y[:40]], "x_test": X[40:], "y_test": ANIMALS[Y[40:]]}
    np.savez(tmp_path / "own.npz", **given)
    found = data.load(tmp_path / "own.npz")
    assert [found.class_names[k] for k in found.y_test] == given["y_test"].tolist()
    assert found.note == "classes in order: cat, dog, emu"
    np.savez(tmp_path / "own.npz", **given | {"y_test": np.array(["cow"] * 20)})
    with pytest.raises(
        ValueError, match=r"^own\.npz: each label of y_test must occur in y_train, but the label cow does not occur$"
    ):
        data.load(tmp_path / "own.npz")


def test_whole_numbers_to_255_are_pixels(tmp_path):
    pixels = RNG.integers(0, 256, (60, 4))
    assert data.load(table(tmp_path / "a.csv", pixels), unsplit=True).x_train.dtype == np.uint8
    for other in (pixels + 0.5, pixels - 1, pixels + 1):
        other[0] = [-1, 256, 0, 0] if other.dtype.kind == "i" else other[0]
        assert data.load(table(tmp_path / "a.csv", other), unsplit=True).x_train.dtype == np.float64


def settings(path, **more):
    return Settings(**{"dataset": str(path), "architecture": "4-5-3", "batch": 10, "epochs": 2} | more)


@pytest.mark.parametrize("seed", [1, 2])
def test_what_is_held_out_is_the_test_set(seed, tmp_path):
    parts = prepare(settings(table(tmp_path / "own.csv"), validation=0.25, pixels="as-is", seed=seed))
    assert (parts.batches.n, len(parts.x_val), len(parts.x_test)) == (45, 0, 15)
    rows = np.concatenate([parts.batches.x, parts.x_test])
    np.testing.assert_array_equal(np.sort(rows, axis=0), np.sort(X.astype(np.float32), axis=0))
    by_row = {tuple(row): label for row, label in zip(X.astype(np.float32).tolist(), ANIMALS[Y], strict=True)}
    assert [by_row[tuple(row)] for row in parts.x_test.tolist()] == np.sort(ANIMALS)[parts.y_test].tolist()
    other = prepare(settings(tmp_path / "own.csv", validation=0.25, pixels="as-is", seed=seed + 1))
    assert not np.array_equal(other.x_test, parts.x_test)


def test_beside_a_test_set_validation_holds_out_of_the_training_set(tmp_path):
    np.savez(tmp_path / "own.npz", x_train=X[:40], y_train=Y[:40], x_test=X[40:], y_test=Y[40:])
    parts = prepare(settings(tmp_path / "own.npz", validation=0.25))
    assert (parts.batches.n, len(parts.x_val), len(parts.x_test)) == (30, 10, 20)


def typed(capsys, path, *more):
    words = ["train", "--dataset", str(path), "--net", "4-5-3", "--batch", "10", "--epochs", "2", *more]
    code = main.main(words)
    return code, *capsys.readouterr()


def test_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "own.csv")
    code, out, _ = typed(capsys, "own.csv", "--validation", "0.2", "--json")
    assert code == 0
    record = json.loads(out)
    note = "the examples held out are the test set, because the file has none; classes in order: cat, dog, emu"
    assert record["data"] | {"digest": ""} == {
        "name": "own", "digest": "", "source": "your own file own.csv", "note": note,
        "train": 48, "validation": 0, "test": 12,
    }  # fmt: skip
    assert record["settings"]["validation"] == 0.2
    table(tmp_path / "own.csv", X + 1)
    code, _, err = typed(capsys, "own.csv", "--validation", "0.2", "--json")
    assert code == 2
    assert "data" in err


PRIVATE = "--rule dp_sgd --set C=1 --set sigma=0.5 --sampling poisson --adjacency add-remove --delta 1e-3".split()
PRIVATE += ["--classes", "cat,dog,emu", "--records", "40"]


def test_four_arrays_are_the_way_out_of_the_circle(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    np.savez(tmp_path / "own.npz", x_train=X[:40], y_train=ANIMALS[Y[:40]], x_test=X[40:], y_test=ANIMALS[Y[40:]])
    code, out, err = typed(capsys, "own.npz", *PRIVATE, "--secure", "--pixels", "as-is", "--json")
    assert (code, json.loads(out)["private"]) == (0, True), err


def test_a_secure_run_of_a_table_takes_its_test_set_from_another(tmp_path, monkeypatch, capsys):
    """A secure run on a table needs its test set in another table. Each refusal names an option of the next command.

    The last command trains a private network.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    table(tmp_path / "own.csv", X[:40], ANIMALS[Y[:40]])
    table(tmp_path / "public.csv", X[40:], ANIMALS[Y[40:]])
    secure = (*PRIVATE, "--secure", "--pixels", "as-is", "--json")
    for more in ((), ("--validation", "0.2")):
        code, _, err = typed(capsys, "own.csv", *more, *secure)
        assert code == 2
        assert "--test FILE" in err
        assert ("--validation" in err) is False
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own.csv", "public.csv"]
    code, out, err = typed(capsys, "own.csv", "--test", str(tmp_path / "public.csv"), *secure)
    assert code == 0, err
    record = json.loads(out)
    assert record["private"] is True
    assert record["settings"]["test"] == "public.csv"
    assert (record["data"]["train"], record["data"]["test"]) == (40, 20)


def test_a_test_set_in_a_file_of_its_own_is_that_of_four_arrays(tmp_path):
    halves = {"x_train": X[:40], "y_train": ANIMALS[Y[:40]], "x_test": X[40:], "y_test": ANIMALS[Y[40:]]}
    np.savez(tmp_path / "own.npz", **halves)
    np.savez(tmp_path / "train.npz", x=X[:40], y=ANIMALS[Y[:40]])
    np.savez(tmp_path / "test.npz", x=X[40:], y=ANIMALS[Y[40:]])
    table(tmp_path / "train.csv", X[:40], ANIMALS[Y[:40]])
    table(tmp_path / "test.csv", X[40:], ANIMALS[Y[40:]])
    whole = data.load(tmp_path / "own.npz").digest
    for classes in (None, "cat,dog,emu"):
        for one in ("train.npz", "train.csv"):
            for other in ("test.npz", "test.csv", "own.npz"):
                found = data.load(tmp_path / one, test=tmp_path / other, classes=classes)
                assert (found.digest, found.unsplit) == (whole, False), (one, other)


@pytest.mark.parametrize("names", [["7", "30", "4"], ["x", "30", "4"]])
def test_labels_of_a_test_set_are_read_as_those_of_the_training_data(names, tmp_path):
    """nfa reads the labels of a test set like those of the training data, even if only one of the two files has text.

    For example, if the labels of the training data are text, the number 30 in a test set is the class "30".
    """
    y = np.array(names)[Y]
    table(tmp_path / "train.csv", X[:40], y[:40])
    table(tmp_path / "test.csv", X[:20], np.full(20, "30"))
    np.savez(tmp_path / "test.npz", x=X[:20], y=np.full(20, 30))
    for other in ("test.csv", "test.npz"):
        found = data.load(tmp_path / "train.csv", test=tmp_path / other)
        assert {found.class_names[k] for k in found.y_test} == {"30"}


def test_two_tables_hold_numbers_of_one_kind(tmp_path):
    """Training and test tables get the same dtype, even if only one of them has only whole numbers in 0 .. 255."""
    pixels = RNG.integers(0, 256, (60, 4))
    table(tmp_path / "train.csv", pixels[:40], Y[:40])
    for other, kind in ((pixels[40:], np.uint8), (pixels[40:] + 0.5, np.float64), (pixels[40:] + 256, np.float64)):
        table(tmp_path / "test.csv", other, Y[40:])
        found = data.load(tmp_path / "train.csv", test=tmp_path / "test.csv")
        assert found.x_train.dtype == found.x_test.dtype == kind
        np.testing.assert_array_equal(found.x_test, other)


def test_a_counted_run_on_real_numbers_is_told_of_as_is(tmp_path, monkeypatch, capsys):
    """If a run with a target epsilon refuses `--pixels unit` for real numbers, the message names `as-is`.

    This advice keeps users from `standard`, which scales with the mean and the deviation of the private data.
    """
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "own.csv")
    words = [*PRIVATE[:-1], "60", "--validation", "0.2", "--epochs", "1"]
    for pixels, code in (("unit", 2), ("standard", 0), ("as-is", 0)):
        got, _, err = typed(capsys, "own.csv", *words, "--pixels", pixels, "--no-kernels")
        assert got == code, err
        assert ("--pixels as-is" in err) is (pixels != "as-is")
        assert "how=" not in err
    got, _, err = typed(capsys, "own.csv", "--validation", "0.2", "--epochs", "1", "--no-kernels")
    assert (got, "--pixels" in err) == (0, False)


def test_what_is_no_test_set_is_refused_in_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "own.csv")
    np.savez(tmp_path / "four.npz", x_train=X, y_train=Y, x_test=X, y_test=Y)
    np.savez(tmp_path / "bare.npz", x=X)
    text = (tmp_path / "own.csv").read_text()
    (tmp_path / "order.csv").write_text(text.replace('"feature 0","feature 1"', '"feature 1","feature 0"'))
    (tmp_path / "few.csv").write_text("feature 0,label\n1,cat\n")
    (tmp_path / "none.csv").write_text("\n".join(line.replace('"label"', '"name"') for line in text.splitlines()[:1]))
    table(tmp_path / "cow.csv", y=np.array(["cow"])[0 * Y])
    table(tmp_path / "numbers.csv", y=Y)
    for one, other, told in (
        ("four.npz", "own.csv", "leave out test, because four.npz has its own test set"),
        ("fashion-mnist-small", "own.csv", "leave out test, because fashion-mnist-small has its own test set"),
        ("own.csv", "own.csv", "test must be another file than the training data"),
        ("own.csv", "own.txt", "test must be an .npz or a .csv file, got 'own.txt'"),
        ("own.csv", "bare.npz", "bare.npz: a test set must have labels: add a column label, or an array y"),
        ("own.csv", "order.csv", "order.csv: a test set must have the columns of the training data, in order, but"),
        ("own.csv", "few.csv", "few.csv: a test set must have the columns of the training data, in order"),
        ("own.csv", "none.csv", "none.csv: there is no example below"),
        ("own.csv", "cow.csv", "each label of y_test must occur in y_train, but the label cow does not occur"),
        (
            "numbers.csv",
            "cow.csv",
            "cow.csv: each label of a test set must occur in the training data, but the label cow",
        ),
    ):
        code, out, err = typed(capsys, one, "--test", other)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert told in err
    assert not (tmp_path / "runs").exists()


NO_NAMES = "the first line must name the columns, and one column must be called label"
UNREAD = "the row that begins on line {} cannot be split into columns, perhaps because a quote is not closed ({})"
WIDER = "line {} must have the {} columns that the first line names, got {}: write 1.5 instead of 1,5,"
WIDER += " put text that has a comma in quotes, and end no line with a comma"
NO_LABEL = "line {} must have a label in column label: add a label, or leave out the line"
SEPARATED = "the columns must have commas between them, but the first line has {}: save the table"
SEPARATED += " with commas between columns and with points in decimal numbers"
NO_NUMBER = "line {} must have a number in column {}, got {!r}: write a number such as -1.5e3, or leave the column out"
EMPTY = "line {} must have a number in column {}, got {!r}: fill in the value, or leave the line out"
COMMA = "line {} must have a number in column {}, got {!r}: write a decimal number with a point, not with a comma"
INDEX = "if this column numbers the rows, leave out the column, in pandas with to_csv(..., index=False)"
AS_NPZ = "the rows: leave out this column or, if the column is a feature, save the arrays x and y as .npz"
MISSING = "line {} must have a label, but in a column of numbers {!r} means a missing value: leave out the line"
NOT_UTF_8 = "the encoding of a table must be UTF-8: save the table again in UTF-8"


def rows(names, *columns):
    """A table of six rows; each argument is the values of one column."""
    return "".join(f"{','.join(map(str, line))}\n" for line in [names, *zip(*columns, strict=True)])


TWICE, NOISE = "abcabc", [3.5, 1, 2, 0, 7, 4]


@pytest.mark.parametrize(
    "text, told",
    [
        ("a,b\n1,2\n", f"{NO_NAMES}, got a, b"),
        ("5.1,3.5,setosa\n4.9,3,setosa\n", f"{NO_NAMES}, got 5.1, 3.5, setosa"),
        ("a,Label\n1,x\n", f"{NO_NAMES}, got a, Label"),
        ("", NO_NAMES),
        ("\na,label\n1,x\n", NO_NAMES),
        ("label\nx\ny\n", "there must be at least one column of features next to the column label"),
        ("label,a,label\nx,1,x\n", "two columns are called label: leave out or rename one of the two columns"),
        (
            "sep=;\na;label\n1;x\n",
            "the first line must name the columns, but it sets the separator for a spreadsheet: delete this line",
        ),
        (
            "sep=,\na,label\n1,x\n",
            "the first line must name the columns, but it sets the separator for a spreadsheet: delete this line",
        ),
        ("a,label\n", "there is no example below the names of the columns"),
        ("a,label\n1,x\n2,y,3\n", WIDER.format(3, 2, 3)),
        ("a,label,b\n1,x\n2,y\n", "line 2 must have the 3 columns that the first line names, got 2"),
        ("a,label\n1,x,\n2,y,\n", WIDER.format(2, 2, 3)),
        ("a,label\n1,5,x\n2,5,y\n", WIDER.format(2, 2, 3)),
        ("a;label\n1;x\n", SEPARATED.format("semicolons")),
        ('"a, in cm";"label"\n1;x\n', SEPARATED.format("semicolons")),
        ("a\tlabel\n1\tx\n", SEPARATED.format("tabs")),
        ("a|b|label\n1|2|x\n", SEPARATED.format("vertical bars")),
        (",a,label\n0,1,x\n", f"column 1 has no name: {INDEX}"),
        ("a,label,,\n0,x,,\n", "column 3 has no name: delete this column and the comma at the end of each line"),
        (",a,label,\n0,0,x,\n", f"column 1 has no name: {INDEX}"),
        (",,\na,b,label\n1,2,x\n", NO_NAMES),
        ("a,label,\n0,x,\n", "column 3 has no name: delete this column and the comma at the end of each line"),
        (
            rows(["Unnamed: 0", "a", "label"], range(6), NOISE, TWICE),
            "column 1 has no name (pandas called it Unnamed: 0): " + INDEX,
        ),
        (
            rows(["a", "Unnamed: 0.1", "label"], NOISE, NOISE, TWICE),
            "column 2 has no name (pandas called it Unnamed: 0.1): " + INDEX,
        ),
        (rows(["i", "a", "label"], range(6), NOISE, TWICE), f"column i numbers {AS_NPZ}"),
        (rows(["a", "label", "no"], NOISE, TWICE, range(1, 7)), f"column no numbers {AS_NPZ}"),
        (rows(["index", "a", "label"], [0, 1, 2, 3, 0, 1], NOISE, TWICE), f"column index numbers {AS_NPZ}"),
        (rows(["Index", "a", "label"], [4, 0, 5, 2, 3, 1], NOISE, TWICE), f"column Index identifies {AS_NPZ}"),
        (
            rows(["a", "sample_id", "label"], NOISE, [907, 16, 31, 255, 12, 80], TWICE),
            f"column sample_id identifies {AS_NPZ}",
        ),
        (
            rows(["a", "patientID", "label"], NOISE, [907, 16, 31, 255, 12, 80], TWICE),
            f"column patientID identifies {AS_NPZ}",
        ),
        (rows(["a", "ID", "label"], NOISE, [907, 16, 31, 255, 12, 80], TWICE), f"column ID identifies {AS_NPZ}"),
        ("a,a,label\n0,1,x\n", "two columns are called a: leave out or rename one of the two columns"),
        ("a, a ,label\n0,1,x\n", "two columns are called a: leave out or rename one of the two columns"),
        ('label,a\n"x\n\ny",1\nx,red\n', NO_NUMBER.format(5, "a", "red")),
        ("a,b,label\n1,1_0,x\n", NO_NUMBER.format(2, "b", "1_0")),
        ("a,label\n\u0663,x\n", NO_NUMBER.format(2, "a", "\u0663")),
        ("a,label\n1\xa0,x\n", NO_NUMBER.format(2, "a", "1\xa0")),
        ("a,label\n1 234,x\n", NO_NUMBER.format(2, "a", "1 234")),
        ("a,label\n0x10,x\n", NO_NUMBER.format(2, "a", "0x10")),
        ("a,label\n12%,x\n", NO_NUMBER.format(2, "a", "12%")),
        ("a,label\n1,x\nred,y\n", NO_NUMBER.format(3, "a", "red")),
        ("a,label\n,x\n1,y\n", EMPTY.format(2, "a", "")),
        ("a,label\n1,x\n\n\nred,y\n", NO_NUMBER.format(5, "a", "red")),
        ("a,label\n\n1,x\n\n2,y,3\n", WIDER.format(5, 2, 3)),
        ("a,label\n1,x\n\n2,\n3,y\n", NO_LABEL.format(4)),
        ("a,label\n1,x\n2,  \n3,y\n", NO_LABEL.format(3)),
        ("a,label\n1,x\n2,y\n,\n", NO_LABEL.format(4)),
        ("a\x1b[2J,label\n1,x\nred,y\n", NO_NUMBER.format(3, "a\\x1b[2J", "red")),
        ("a,label\n1,y\nnan,x\n", EMPTY.format(3, "a", "nan")),
        ("a,label\nNA,x\n1,y\n", EMPTY.format(2, "a", "NA")),
        ("a,b,label\n1,-inf,x\n1,1,y\n", NO_NUMBER.format(2, "b", "-inf")),
        ("a,b,label\n1,1e400,x\n1,1,y\n", NO_NUMBER.format(2, "b", "1e400")),
        (f"a,label\n1,x\n{'9' * 400},y\n", NO_NUMBER.format(3, "a", "9" * 400)),
        ("a,label\n1,0\n2,1\n\n3,NA\n", MISSING.format(5, "NA")),
        ("a,label\n1,4\n2,-\n3,5\n", MISSING.format(3, "-")),
        ("a,label\n1,0.0\n2,1.0\n3,nan\n", MISSING.format(4, "nan")),
        ("a,label\n1,x\n2,x\n", "there must be at least two classes, got 1"),
        (
            "a,label\n1,caf\u00e9\n2,cafe\u0301\n",
            "two labels look the same, 'cafe\\u0301' and 'caf\\xe9': write both labels in the same way",
        ),
        (
            rows(["a", "label"], NOISE, NOISE),
            "each label must be the name of a class, but the 6 examples all have different labels",
        ),
        ('a,label\n1,x\n2,"y\n3,x\n', UNREAD.format(3, "unexpected end of data")),
        ('a,label\n1,x\n2,"y"z\n3,x\n', UNREAD.format(3, "',' expected after '\"'")),
        ('"a,label\n1,x\n', UNREAD.format(1, "unexpected end of data")),
        (f"a,label\n1,x\n2,{'y' * 200_000}\n", UNREAD.format(3, "field larger than field limit (131072)")),
        *[
            (text, f"line {line} begins a label in quotes that holds whole lines of the table: close the quotes")
            for text, line in {
                'a,label\n5,z\n1,"x\n2,y"\n3,z\n': 3,
                'label,a\n"x,1\ny",2\nz,3\n': 2,
                'a,label,b\n1,"x,2\n3,y,4\n5,z",6\n': 2,
            }.items()
        ],
        (
            "a,label,label.1\n1,x,0\n2,y,1\n",
            "column label.1 is a second column of labels: leave out or rename this column",
        ),
        ("a,label\n1,x\n2,x\0\n", "line 3 must have a label without the character NUL"),
        ("a,label\n1\0,x\n2,y\n", NO_NUMBER.format(2, "a", "1\0")),
        ("\0a\0,\0l\0a\0b\0e\0l\0\n", NOT_UTF_8),
        ('a,label\n"1,234",x\n2,y\n', COMMA.format(2, "a", "1,234")),
        (
            "a,label\n1,x\nTrue,y\n",
            "line 3 must have a number in column a, got 'True': write 1 for true and 0 for false",
        ),
        ("a,label\n1,x\nTotal,\n", NO_LABEL.format(3)),
    ],
)
def test_a_table_that_is_none_is_refused_in_one_sentence(text, told, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.csv").write_text(text, encoding="utf-8")
    words = ["train", "--dataset", "own.csv", "--net", "1-5-2", "--validation", "0.5", "--batch", "1", "--epochs", "1"]
    assert main.main(words) == 2
    assert capsys.readouterr().err == f"nfa: own.csv: {told}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["own.csv"]


@pytest.mark.parametrize(
    "labels, classes",
    [
        (["1_1", "11", "2"], ["11", "1_1", "2"]),
        (["+1", "-1", "1"], ["+1", "-1", "1"]),
        (["0", "-0", "1"], ["-0", "0", "1"]),
        (["1.0", "1", "2"], ["1", "1.0", "2"]),
        (["True", "False", "true"], ["False", "True", "true"]),
        (["9" * 20, "9" * 19 + "8", "1"], ["1", "9" * 19 + "8", "9" * 20]),
        (["01", "1", "1"], ["01", "1"]),
        (["\u0663", "3", "3"], ["3", "\u0663"]),
        (["-1", "0", "10"], ["-1", "0", "10"]),
        (["10", "9", "9"], ["9", "10"]),
        (['"a\n2,b,c"', '"a\nb,c"', '"1,a\nb"'], ["1,a\nb", "a\n2,b,c", "a\nb,c"]),
        (['"a\n\nb"', '"a\nb"', '"a\nb"'], ["a\n\nb", "a\nb"]),
        (["NA", "None", "null", "nan"], ["NA", "None", "nan", "null"]),
        (["a", ' "a"', " b"], ["a", "b"]),
    ],
)
def test_a_label_is_what_stands_there(labels, classes, tmp_path):
    """Labels are integers only if Python prints each of them exactly as it is written in the file.

    Otherwise nfa reads all labels as texts.
    """
    (tmp_path / "own.csv").write_text("a,label\n" + "".join(f"1,{one}\n" for one in labels), encoding="utf-8")
    assert list(data.load(tmp_path / "own.csv", unsplit=True).class_names) == classes


IMAGES = {  # shape of an example -> whether its channels are last
    (28, 28, 1): True, (32, 32, 3): True, (32, 32, 4): True, (2, 3, 1): True, (16, 20, 3): True,
    (1, 28, 28): False, (3, 32, 32): False, (3, 4, 1): False, (2, 3, 3): False, (16, 5, 5): False, (7, 1, 1): False,
}  # fmt: skip


@pytest.mark.parametrize("shape, last", IMAGES.items())
def test_images_with_their_channels_last_are_refused(shape, last, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    x = RNG.integers(0, 255, (6, *shape)).astype(np.uint8)
    arrays = {"x_train": x, "y_train": [0, 1] * 3, "x_test": x[:2], "y_test": [0, 1]}
    np.savez("own.npz", **arrays)
    if not last:
        assert data.load("own.npz").x_train.shape == x.shape
        return
    told = f"nfa: own.npz: x_train must be (n, channels, H, W), got shape {x.shape} with the channels last: use"
    assert main.main(["train", "--dataset", "own.npz", "--net", f"{x[0].size}-2", "--epochs", "1"]) == 2
    assert capsys.readouterr().err == f"{told} x_train.transpose(0, 3, 1, 2)\n"
    for read in (data.load_to_predict, lambda path: fit(x, [0, 1] * 3)):
        with pytest.raises(ValueError, match=r"with the channels last: use \w+\.transpose\(0, 3, 1, 2\)$"):
            read("own.npz")
    arrays |= {key: arrays[key].transpose(0, 3, 1, 2) for key in ("x_train", "x_test")}
    np.savez("own.npz", **arrays)
    assert data.load("own.npz").x_train.shape == (6, shape[2], *shape[:2])


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("names", ["a,b,label", '\ufeff"a","b","label"', "#a, b, label", 'a, b, "label"'])
def test_the_names_of_the_columns_are_read_as_programs_write_them(names, ends, tmp_path):
    """nfa reads column names of other programs: with an encoding mark, quotes, a hash, spaces, or any line end."""
    (tmp_path / "own.csv").write_text(ends.join([names, "1,2,x", '3, 4, "y"', ""]), encoding="utf-8", newline="")
    own = data.load(tmp_path / "own.csv", unsplit=True)
    assert own.class_names == ("x", "y")
    assert own.x_train.tolist() == [[1, 2], [3, 4]]


def test_the_line_is_that_of_the_file_whatever_a_label_holds(tmp_path):
    """The line number in a message is the line number in the file, for any labels.

    A label may contain characters that only some programs treat as a line end, and line ends of two characters.
    """
    for text in (
        "a,label\n1,x\x0by\n2,x\x0cy\n3,x\x85y\n4,x\u2028y\nbad,z\n",
        'a,label\r\n1,"x\r\n\r\ny"\r\n\r\nbad,z\r\n',
    ):
        (tmp_path / "own.csv").write_bytes(text.encode())
        line = text.replace("\r\n", "\n").split("\n").index("bad,z") + 1
        with pytest.raises(ValueError, match=f"line {line} must have a number"):
            data.load(tmp_path / "own.csv", unsplit=True)


@pytest.mark.parametrize(
    "names", [["t", "label"], ["t", "step", "label"], ["index", "x", "label"], ["grid", "x", "label"]]
)
def test_a_feature_that_only_looks_like_row_numbers_is_kept(names, tmp_path):
    """A feature that only resembles row numbers is kept.

    The cases are a table with a single feature, a feature with a repeated value, and whole numbers in another order.
    """
    columns = [range(6)] if len(names) == 2 else [[4, 0, 5, 2, 3, 1] if "grid" in names else [0, 1, 2, 3, 4, 4], NOISE]
    (tmp_path / "own.csv").write_text(rows(names, *columns, TWICE))
    assert data.load(tmp_path / "own.csv", unsplit=True).x_train.T.tolist() == [list(column) for column in columns]


def test_neither_a_refusal_nor_its_words_depend_on_one_record_of_declared_classes(tmp_path):
    """With declared classes, no refusal and no message depends on a single record.

    If a feature numbers the rows, leaving out one record breaks this numbering.
    """
    for drop in (6, 2):
        table = [[name for k, name in enumerate(column) if k != drop] for column in (range(6), NOISE, TWICE)]
        (tmp_path / "own.csv").write_text(rows(["id", "a", "label"], *table))
        assert data.load(tmp_path / "own.csv", unsplit=True, classes="a,b,c").classes == 3
    (tmp_path / "own.csv").write_text("5.1,777,setosa\n5.2,3,virginica\n")
    with pytest.raises(ValueError, match=f"^own\\.csv: {NO_NAMES}$"):
        data.load(tmp_path / "own.csv", unsplit=True, classes="setosa,virginica")


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a,label\n1,\xff\n"])
def test_a_table_in_another_encoding_is_refused(content, tmp_path):
    (tmp_path / "own.csv").write_bytes(content)
    with pytest.raises(ValueError, match=r"^own\.csv: the encoding of a table must be UTF-8"):
        data.load(tmp_path / "own.csv", unsplit=True)


def test_without_a_test_set_and_a_share_to_hold_out_nothing_is_trained(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, _, err = typed(capsys, table(tmp_path / "own.csv"))
    assert code == 2
    told = "give a file with a test set (--test FILE), or hold examples out, for example with --validation 0.2"
    assert err == f"nfa: own.csv has no test set: {told}\n"


def test_blank_lines_are_no_examples_and_the_name_may_be_in_capitals(tmp_path):
    lines = table(tmp_path / "own.csv").read_text().splitlines()
    (tmp_path / "CAPITALS.CSV").write_text("\n\n".join(lines) + "\n\n")
    assert (
        data.load(tmp_path / "CAPITALS.CSV", unsplit=True).digest
        == data.load(tmp_path / "own.csv", unsplit=True).digest
    )
    with (tmp_path / "own.NPZ").open("wb") as file:
        np.savez(file, x=X, y=ANIMALS[Y])
    assert data.load(tmp_path / "own.NPZ", unsplit=True).digest == data.load(tmp_path / "own.csv", unsplit=True).digest


def test_a_label_sends_no_codes_to_the_terminal(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "own.csv", y=np.array(["\x1b[31mred", "café", "\x9bJ"])[Y])
    code, out, err = typed(capsys, "own.csv", "--validation", "0.2")
    assert code == 0, err
    assert "\x1b" not in out + err
    assert "\x9b" not in out + err
    assert "classes in order: \\x1b[31mred, café, \\x9bJ" in " ".join(out.split())


KNOWN = ", ".join(data.DATASETS)
OWN = "or, to load your own, the path of an .npz or a .csv file"


@pytest.mark.parametrize(
    "name, told",
    [
        ("mine.npy", f"dataset must be one of {KNOWN} {OWN}, got 'mine.npy'"),
        ("", f"dataset must be one of {KNOWN} {OWN}, got ''"),
        (".", ".: the file cannot be read (Is a directory)"),
        ("no/such.csv", "there is no file no/such.csv"),
    ],
)
def test_what_is_no_data_set(name, told, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code, out, err = typed(capsys, name)
    assert (code, out) == (2, "")
    assert err == f"nfa: {told}\n"
    assert list(tmp_path.iterdir()) == []


def test_a_name_near_that_of_a_file_in_the_folder_is_offered(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "animals.csv")
    (tmp_path / "animal.txt").write_text("")
    (tmp_path / "runs_kept").mkdir()
    (tmp_path / "mine.py").write_text("")
    table(tmp_path / "public.csv")
    for words, told in (
        ("train --dataset animal.csv", "there is no file animal.csv; did you mean animals.csv?"),
        ("train --dataset animals.csv --test publc.csv", "there is no file publc.csv; did you mean public.csv?"),
        ("predict run_kept animals.csv", "there is no folder or record run_kept; did you mean runs_kept?"),
        ("course check min.py", "the file of exercises min.py does not exist; did you mean mine.py?"),
    ):
        assert main.main(words.split()) == 2
        assert capsys.readouterr().err == f"nfa: {told}\n"


def test_where_no_file_of_ones_own_is_asked_for_none_is_offered(capsys):
    assert main.main(["data", "path", "nosuch"]) == 2
    assert capsys.readouterr().err == f"nfa: dataset must be one of {KNOWN}, got 'nosuch'\n"


def test_one_step_is_one_step(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table(tmp_path / "own.csv")
    words = ["--validation", "0.5", "--batch", "30", "--epochs", "1", "--rule", "dp_sgd", "--set", "C=1"]
    words += ["--target-epsilon", "3", "--delta", "1e-3", "--adjacency", "replace-one", "--classes", "cat,dog,emu"]
    code, out, err = typed(capsys, "own.csv", *words)
    assert code == 0, err
    assert "1 steps" not in out + err
    assert (out + err).count(" 1 step") == 4  # in the lines for progress, accuracy, request and result


@pytest.mark.parametrize(
    "x, y",
    [
        (X.astype(">f8"), Y.astype(">i4")),
        (np.asfortranarray(X), Y.astype(np.uint8)),
        (X[::-1][::-1], np.repeat(Y, 2)[::2]),
    ],
)
def test_how_an_array_lies_in_memory_changes_nothing(x, y, tmp_path):
    """The memory layout of an array changes nothing: another byte order, columns first, or a view."""
    for name, arrays in (("own", {"x": X, "y": Y}), ("other", {"x": x, "y": y})):
        np.savez(tmp_path / f"{name}.npz", **arrays)
    own, other = (data.load(tmp_path / f"{name}.npz", unsplit=True) for name in ("own", "other"))
    assert (own.x_train == other.x_train).all()
    assert (own.y_train == other.y_train).all()
    assert own.digest == other.digest


@pytest.mark.parametrize("seed", range(8))
def test_a_class_of_one_example_counts_on_either_side_of_the_split(seed, tmp_path):
    path = table(tmp_path / "own.csv", y=np.array(["emu", "cat", "dog", "rare"])[np.append(Y[:-1], 3)])
    parts = prepare(settings(path, validation=0.5, architecture="4-5-4", seed=seed))
    names = data.load(path, unsplit=True).class_names
    assert names == ("cat", "dog", "emu", "rare")
    assert parts.batches.y.shape[1] == 4
    assert parts.batches.y[:, 3].sum() + (parts.y_test == 3).sum() == 1


@pytest.mark.parametrize(
    "arrays, told",
    [
        (
            {"x": X},
            "must have the arrays x_train, y_train, x_test, y_test, or x and y. The file has x, so y is missing",
        ),
        ({"x": X, "y": Y[:-1]}, "x_train and y_train must have the same number of examples"),
        (
            {"x": X, "y": Y + 0.5},
            "y must be a one-dimensional array of integers or text, got float64: use y.astype(int)",
        ),
        (
            {"x": X, "y": Y[:, None]},
            "y must be a one-dimensional array of integers or text, got 2 dimensions: use y.ravel()",
        ),
        ({"x": X, "y": np.eye(3)[Y]}, "got 2 dimensions: use y.argmax(axis=1)"),
        ({"x": X, "y": Y > 0}, "y must hold integers or text, got bool: save y.astype(int)"),
        ({"x": X > 0, "y": Y}, "x must hold integers or floats, got bool: save x.astype(int)"),
        ({"x": X, "y": ANIMALS[Y].astype("S")}, 'got |S3: save y.astype("U")'),
        ({"X": X, "Y": Y}, "The file has X, Y, so x_train, y_train, x_test, y_test are missing"),
        ({"x": X, "y": 0 * Y}, "there must be at least two classes, got 1"),
        ({"x_train": X, "y_train": 0 * Y, "x_test": X, "y_test": 0 * Y}, "there must be at least two classes, got 1"),
        (
            {"x_train": X, "y_train": Y + 1, "x_test": X, "y_test": Y + 1},
            "y_train, but class 0 does not occur: number the classes from 0, or save their names",
        ),
        (
            {"x_train": X, "y_train": Y, "x_test": X, "y_test": ANIMALS[Y]},
            "y_test must have labels of the same type as y_train, got <U3 and int64",
        ),
        (
            {"x_train": (9 * X).astype(np.uint8), "y_train": Y, "x_test": X, "y_test": Y},
            "x_train and x_test must both hold integers or both hold floats, with one scale, got uint8 and float64",
        ),
        ({"x": X, "y": np.array(["cat", "cat ", "dog"])[Y]}, "two labels look the same, 'cat' and 'cat '"),
        ({"x": X, "y": np.array(3)}, "y must be an array, got a single value"),
        ({"x": np.array(3), "y": Y}, "x must be an array, got a single value"),
        (
            {"x_train": X, "y_train": Y - 1, "x_test": X, "y_test": Y - 1},
            "no label of y_train may be negative: number the classes from 0, or save their names",
        ),
        ({"x": X, "y": np.arange(60)}, "the 60 examples all have different labels"),
        ({"x": X, "y": np.array(["a b", "a\xa0b", "c"])[Y]}, "two labels look the same, 'a b' and 'a\\xa0b'"),
        ({"x": X[:, None, None, None], "y": Y}, "x must be (n, features), (n, H, W) or (n, channels, H, W), got shape"),
        ({"x": ANIMALS[Y], "y": Y}, "x must hold integers or floats, got <U3"),
        ({"x": X, "y": np.array([object()] * 60)}, "never unpickles: save the array as numbers or as text"),
        ({"x": X, "y_train": Y}, "The file has x, y_train, so x_train, x_test, y_test are missing"),
        ({"x": X, "y": np.array(["", "cat", "dog"])[Y]}, "a label must not be empty"),
    ],
)
def test_arrays_that_are_none_are_refused(arrays, told, tmp_path):
    np.savez(tmp_path / "own.npz", **arrays)
    with pytest.raises(ValueError, match=r"^own\.npz: ") as caught:
        data.load(tmp_path / "own.npz", unsplit=True)
    assert told in str(caught.value)
