"""Tests that the files and the output of a secure run contain only released steps and public facts.

We train on two data sets that differ in one record, with the same randomness. A replacement of the rule makes the
released steps equal. Then all files and lines of the two runs must be equal, except the codes computed with the user's
key.
"""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from nfa import noise
from nfa.cli import main
from nfa.data import keyed_digest
from nfa.experiments import records
from nfa.experiments.run import run
from nfa.parts import InParts
from nfa.rules.spec import names, spec
from tests.experiments.tiny_runs import PRIVATE, Killed, stop_after, tiny_settings, write_data

pytestmark = pytest.mark.filterwarnings("ignore::nfa.privacy.rdp.OrderAtGridEnd")

CODE = re.compile(rb"hmac-sha256( [0-9a-f]{64})+")


def relabelled(x, y):
    y[3] = (y[3] + 1) % 3
    return x, y


def zeroed(x, y):
    x[3] = 0
    return x, y


def grown(x, y):
    x[3] *= 1000
    return x, y


def overflowing(x, y):
    x[3] = 1e300
    return x, y


def repeated(x, y):
    x[3], y[3] = x[4], y[4]
    return x, y


def added(x, y):
    return np.concatenate([x, x[:1] + 1]), np.concatenate([y, y[1:2]])


def removed(x, y):
    return x[1:], y[1:]


REPLACED = [relabelled, zeroed, grown, overflowing, repeated]
NEIGHBOURS = [*REPLACED, added, removed]


def of_change(change):
    """The settings for which the two data sets are neighbours. The public number of records is 40."""
    if change in REPLACED:
        return PRIVATE
    return PRIVATE | {"adjacency": "add-remove", "sampling": "poisson", "records": 40}


@pytest.fixture(autouse=True)
def same_draws(tmp_path, monkeypatch):
    """One key for batches and noise, one salt, and steps whose release does not depend on the examples."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(noise.os, "urandom", lambda n: bytes(range(n)))
    monkeypatch.setattr(keyed_digest.secrets, "token_hex", lambda n: "5a" * n)
    whole = InParts.__call__

    def released(self, net, x, y, **given):
        dW, db = whole(self, net, x, y, **given)
        for array in (*dW[1:], *db[1:]):
            array[...] = 0.01
        return dW, db

    monkeypatch.setattr(InParts, "__call__", released)


def neighbours(folder, change):
    """The tests' data set or its neighbour, each in its own folder, with the same file name."""
    folder.mkdir()
    write_data(folder / "some.npz")
    with np.load(folder / "some.npz") as file:
        arrays = dict(file)
    if change is not None:
        arrays["x_train"], arrays["y_train"] = change(arrays["x_train"], arrays["y_train"])
    np.savez(folder / "some.npz", **arrays)
    return str(folder / "some.npz")


def without_codes(content):
    """The bytes of a file without the codes computed with the user's key. All codes have the same size."""
    return CODE.sub(lambda found: b"c" * len(found[0]), content)


def files_of(folder):
    return {path.name: without_codes(path.read_bytes()) for path in sorted(folder.iterdir()) if path.is_file()}


def arrays_of(path):
    with np.load(path) as file:
        return {name: without_codes(file[name].tobytes()) for name in file.files}


@pytest.mark.parametrize("change", NEIGHBOURS)
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_neighbours_write_the_same_files(change, activation, tmp_path, monkeypatch):
    """Runs on neighbours write the same files: the record, and the checkpoint and the note after every step."""
    found = []
    for name, one in (("one", None), ("other", change)):
        folder = tmp_path / name
        settings = replace(tiny_settings(neighbours(folder, one), **of_change(change)), activation=activation)
        run(settings, folder / "whole")
        told = files_of(folder / "whole")
        for k in (3, 4, 6):
            with monkeypatch.context() as patch:
                stop_after(patch, k)
                with pytest.raises(Killed):
                    run(settings, folder / "stopped", checkpoint_every=0)
            files = files_of(folder / "stopped")
            sizes = {file: len(content) for file, content in files.items()}
            files |= {file: arrays_of(folder / "stopped" / file) for file in files if file.endswith(".npz")}
            told |= {f"{k} {file}": [content, sizes[file]] for file, content in files.items()}
        run(settings, folder / "stopped")
        told |= {f"resumed {file}": content for file, content in files_of(folder / "stopped").items()}
        found.append(told)
    assert found[0] == found[1]
    assert len(found[0]) >= 1 + 3 * 2 + 1


@pytest.mark.parametrize("change", NEIGHBOURS)
def test_neighbours_print_the_same_lines(change, tmp_path, monkeypatch, capsys):
    """Runs on neighbours print the same lines: as a table, as JSON, and on standard error.

    Standard error is not a terminal in this test.
    """
    words = "train --secure --rule dp_sgd --net 6-5-4-3 --batch 10 --epochs 3 --pixels as-is --set C=1 --set sigma=3"
    words += " --dtype float64"
    own = of_change(change)
    words += f" --adjacency {own['adjacency']} --sampling {own.get('sampling', 'without-replacement')}"
    words += f" --classes 3{' --records 40' if 'records' in own else ''} --delta 1e-3 --dataset some.npz --out out"
    printed = []
    for name, one in (("one", None), ("other", change)):
        neighbours(tmp_path / name, one)
        monkeypatch.chdir(tmp_path / name)
        for json_too in ([], ["--json", "--no-resume"]):
            assert main.main([*words.split(), *json_too]) == 0
            told = capsys.readouterr()
            printed.append([without_codes(text.encode()) for text in told])
    assert printed[:2] == printed[2:]


def test_the_difference_would_be_seen(tmp_path):
    """The tests would detect a difference: in seeded runs with full batches, the losses and the clipped
    shares differ.
    """
    found = []
    for name, one in (("one", None), ("other", grown)):
        own: dict = {"rule_settings": {"C": 4.0, "sigma": 3.0}, "batch": 40, "activation": "relu", "secure": None}
        settings = replace(tiny_settings(neighbours(tmp_path / name, one), **PRIVATE), **own)
        found.append(run(settings, tmp_path / name / "out")["history"])
    for name in ("train_loss", "clipped"):
        assert [entry[name] for entry in found[0]] != [entry[name] for entry in found[1]]


def test_all_that_a_secure_record_holds(tmp_path):
    """The names of all entries of a secure record. Check that a new entry does not come from training examples."""
    settings = tiny_settings(neighbours(tmp_path / "one", None), **PRIVATE)
    record = run(settings, tmp_path / "out")
    assert set(record) == {*records.FIELDS, "kernels", "seal"}
    assert set(record["timing"]) == {"threads", "part"}
    assert [set(entry) for entry in record["history"]] == [{"epoch", "step", "test_accuracy"}] * 3
    assert set(record["privacy"]) == {"statement", "mechanism", "unit", "guarantee", "sessions"}


def test_no_checkpoint_of_a_secure_run_holds_what_its_rule_computed_of_examples(tmp_path, monkeypatch):
    """No checkpoint of a secure run contains values that its rule computed from examples, such as "clipped".

    We test every rule with a guarantee that a secure run accepts.
    """
    taken = []
    for name in names():
        rule = spec(name)
        if not (rule.states and rule.sum_over_examples):
            continue
        own = {one.name: 1.0 for one in rule.settings if one.needed}
        given = PRIVATE | {"rule": name, "rule_settings": own, "adjacency": None, "delta": None}
        settings = tiny_settings(neighbours(tmp_path / name, None), **given)
        try:
            with monkeypatch.context() as patch:
                stop_after(patch, 3)
                run(settings, tmp_path / name / "out", checkpoint_every=0)
        except ValueError:
            continue
        except Killed:
            taken.append(name)
        (path,) = (tmp_path / name / "out").glob("*.ckpt.npz")
        with np.load(path) as saved:
            header = json.loads(saved["header"].tobytes())
            assert header["state"] == {}, name
            assert not [key for key in saved.files if key.startswith("state/")], name
            assert "seconds" not in header["meta"], name
    assert {"dp_sgd", "dp_dfa", "dp_dfa_joint", "dp_ulr_sound"} <= set(taken)
