"""Tests of stored networks: saving, loading, the forward pass of an oracle, and refusals of `nfa predict`."""

import csv
import hashlib
import json
import re

import numpy as np
import pytest

from nfa import data
from nfa.cli import main
from nfa.experiments import trained
from nfa.experiments.run import run, run_in_memory
from tests.experiments.tiny_runs import PRIVATE, tiny_settings, untimed, write_data

NAMES = np.array(["cat", "dog", "emu"])


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    write_data(tmp_path / "tiny.npz")
    return tmp_path


@pytest.fixture
def nfa(capsys):
    """nfa(words) -> (exit code, standard output, standard error)."""

    def call(*words):
        code = main.main(list(words))
        return code, *capsys.readouterr()

    return call


def table(path, x, y=None, columns=("a", "b", "c", "d")):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*columns, *(() if y is None else ["label"])])
        for i, row in enumerate(x.tolist()):
            writer.writerow([*row, *(() if y is None else [y[i]])])
    return path


def animals(n=60, seed=3):
    y = np.arange(n) % 3
    return np.random.default_rng(seed).standard_normal((n, 4)) + 2 * np.eye(3, 4)[y], NAMES[y]


@pytest.fixture
def kept(folder, nfa):
    """The folder of a stored network that was trained on a table."""
    table(folder / "animals.csv", *animals())
    typed = "train --dataset animals.csv --validation 0.2 --net 4-5-3 --batch 8 --epochs 3 --lr 0.1 --out kept"
    assert nfa(*typed.split())[0] == 0
    return folder / "kept"


@pytest.mark.parametrize("more", [{}, {"pixels": "as-is", "dtype": "float64"}, {"kernels": False}, PRIVATE])
def test_a_network_that_is_kept_predicts_as_its_record_says(more, folder):
    record = run(tiny_settings(folder / "tiny.npz", **more), folder / "out", keep_weights=True)
    network, read = trained.load(folder / "out")
    assert read == record
    _, accuracy = trained.predictions(network, data.load_to_predict(folder / "tiny.npz"))
    assert accuracy == record["test_accuracy"]
    content = (folder / "out" / record["weights"]["file"]).read_bytes()
    assert record["weights"]["sha256"] == hashlib.sha256(content).hexdigest()


def test_probabilities_are_those_of_a_forward_pass_in_plain_numpy(kept):
    record = json.loads(next(kept.glob("*.json")).read_text())
    with np.load(kept / record["weights"]["file"], allow_pickle=False) as file:
        W1, b1, W2, b2, mean, std = (file[name] for name in ("W1", "b1", "W2", "b2", "mean", "std"))
    x, _ = animals(7, seed=11)
    z = np.tanh((x - mean) / std @ W1.T.astype(float) + b1) @ W2.T.astype(float) + b2
    want = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    network, _ = trained.load(kept)
    # the network has float32, and the oracle float64
    np.testing.assert_allclose(network.probabilities(x), want, rtol=1e-5)
    assert network.classes == ("cat", "dog", "emu")


def test_weights_are_those_that_the_run_ended_with(folder):
    settings = tiny_settings(folder / "tiny.npz")
    run(settings, folder / "out", keep_weights=True)
    kept, record = trained.load(folder / "out")
    ended, in_memory = run_in_memory(settings, data.load)
    for ours, theirs in zip((*kept.net.W[1:], *kept.net.b[1:]), (*ended.net.W[1:], *ended.net.b[1:]), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert untimed(record).keys() - untimed(in_memory).keys() == {"weights"}
    assert untimed(in_memory) == {name: value for name, value in untimed(record).items() if name != "weights"}


def test_a_secure_run_in_memory_says_what_one_in_a_folder_says(folder):
    settings = tiny_settings(folder / "tiny.npz", **PRIVATE)
    record = run(settings, folder / "out")
    _, in_memory = run_in_memory(settings, data.load)
    assert in_memory["private"] is record["private"] is True
    assert in_memory["privacy"] == record["privacy"]


def test_a_table_with_labels_has_an_accuracy_and_one_without_has_none(kept, folder, nfa):
    x, y = animals(30, seed=8)
    network, _ = trained.load(kept)
    want = NAMES[network.predict(x)]
    table(folder / "new.csv", x, y)
    code, out, _ = nfa("predict", "kept", "new.csv", "--json", "--probabilities", "--out", "said.csv")
    answer = json.loads(out)
    assert code == 0
    assert answer["accuracy"] == np.mean(want == y)
    assert answer["predictions"] == want.tolist()
    rows = list(csv.DictReader((folder / "said.csv").read_text().splitlines()))
    assert [row["prediction"] for row in rows] == want.tolist()
    assert [[float(row[name]) for name in NAMES] for row in rows] == answer["probabilities"]
    table(folder / "bare.csv", x)
    code, out, _ = nfa("predict", "kept", "bare.csv", "--json")
    answer = json.loads(out)
    assert (code, answer["accuracy"], answer["predictions"]) == (0, None, want.tolist())


def no_weights(kept, folder):
    next(kept.glob("*.npz")).unlink()


def other_weights(kept, folder):
    path = next(kept.glob("*.npz"))
    path.write_bytes(path.read_bytes()[:-1] + b"x")


def old_record(kept, folder):
    path = next(kept.glob("*.json"))
    record = json.loads(path.read_text())
    del record["weights"]
    path.write_text(json.dumps(record))


def no_record(kept, folder):
    next(kept.glob("*.json")).write_text("{}")


def half_a_record(kept, folder):
    path = next(kept.glob("*.json"))
    path.write_text(path.read_text()[:-20])


def two_networks(kept, folder):
    path = next(kept.glob("*.json"))
    path.with_name("other.json").write_text(path.read_text())


def a_feature_less(kept, folder):
    table(folder / "new.csv", animals()[0][:, :3], columns="abc")


def other_order(kept, folder):
    table(folder / "new.csv", animals()[0], columns="acbd")


def other_names(kept, folder):
    table(folder / "new.csv", animals()[0], columns="abcx")


def other_class(kept, folder):
    table(folder / "new.csv", animals()[0], ["cow"] * 60)


def not_a_number(kept, folder):
    table(folder / "new.csv", animals()[0] * np.nan)


def an_index_of_pandas(kept, folder):
    lines = (folder / "new.csv").read_text().splitlines()
    (folder / "new.csv").write_text("\n".join([f",{lines[0]}", *(f"{i},{line}" for i, line in enumerate(lines[1:]))]))


def no_line_of_names(kept, folder):
    (folder / "new.csv").write_text("5.1,3.5,1.4,0.2\n4.9,3,1.4,0.2\n")


def semicolons(kept, folder):
    (folder / "new.csv").write_text((folder / "new.csv").read_text().replace(",", ";"))


def channels_last(kept, folder):
    np.savez(folder / "new.npz", x=np.zeros((5, 2, 2, 1)))


def arrays_of_three(kept, folder):
    np.savez(folder / "new.npz", x=animals()[0][:, :3])


REFUSED = [
    (no_weights, "that dfa-seed1.json names is missing"),
    (other_weights, "the digest of the file differs"),
    (old_record, "has no entry for a weights file"),
    (no_record, "holds no record"),
    (half_a_record, "kept/dfa-seed1.json is not a whole record"),
    (two_networks, "several trained networks"),
    (a_feature_less, "reads 4 features, got 3"),
    (other_order, "feature 2 must be b, got c"),
    (other_names, "not trained on a feature called x"),
    (other_class, "the label of example 1, cow, is not a class"),
    (not_a_number, "line 2 must have a number in column a, got 'nan'"),
    (an_index_of_pandas, "to_csv(..., index=False)"),
    (no_line_of_names, "5.1, 3.5, 1.4, 0.2"),
    (semicolons, "semicolons"),
    (channels_last, "x.transpose(0, 3, 1, 2)"),
    (arrays_of_three, "reads examples of 4 values, got 3"),
]


@pytest.mark.parametrize("n", [7, 30])
def test_without_a_file_the_classes_of_the_first_rows_are_printed(n, kept, folder, nfa):
    x, _ = animals(n, seed=8)
    network, _ = trained.load(kept)
    table(folder / "bare.csv", x)
    shown = min(n, 10)
    for more in ((), ("--probabilities",)):
        code, out, _ = nfa("predict", "kept", "bare.csv", *more)
        rows = [line.split() for line in out.splitlines() if re.match(r" *\d+  ", line)]
        assert code == 0
        assert [row[:2] for row in rows] == [[str(i + 1), NAMES[k]] for i, k in enumerate(network.predict(x[:shown]))]
        assert ("--out" in out) is (n > shown)
        for row, y_hat in zip(rows, network.probabilities(x), strict=False):
            want = [f"{name} {share:.1%}" for share, name in sorted(zip(y_hat, NAMES, strict=True), reverse=True)]
            assert " ".join(row[2:]) == (", ".join(want) if more else "")
    _, out, _ = nfa("predict", "kept", "bare.csv", "--out", "said.csv")
    assert not any(line.startswith("example") for line in out.splitlines())


@pytest.mark.parametrize("change, sentence", REFUSED, ids=[change.__name__ for change, _ in REFUSED])
def test_bad_input_is_refused_in_one_sentence(change, sentence, kept, folder, nfa):
    table(folder / "new.csv", animals()[0])
    change(kept, folder)
    data_file = "new.npz" if (folder / "new.npz").exists() else "new.csv"
    code, out, err = nfa("predict", "kept", data_file, "--out", "said.csv")
    assert (code, out) == (2, "")
    assert sentence in err
    assert err.count("\n") == 1
    assert not (folder / "said.csv").exists()
