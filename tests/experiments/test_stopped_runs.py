"""Tests of runs that stop after some of their epochs: their privacy statements and their continuation."""

import json
import logging
import re
import struct
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from nfa.experiments import records, report
from nfa.experiments import reproduce as engine
from nfa.experiments.experiment import Cell, Experiment
from nfa.experiments.run import run
from nfa.papers import index
from nfa.papers.ohana2021.table1 import TABLE1
from nfa.papers.ours import equal_epsilon
from tests.experiments.test_experiments import in_folder, tiny_experiment
from tests.experiments.test_resume import VARIANTS
from tests.experiments.tiny_runs import Killed, stop_after, tiny_settings, untimed, write_data
from tests.project.committed import as_run
from tests.project.tree import ROOT

NOISY = {
    "rule": "dp_sgd",
    "rule_settings": {"C": 1.0, "sigma": 0.5},
    "sampling": "poisson",
    "pixels": "as-is",
    "adjacency": "add-remove",
    "delta": 1e-3,
}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    return write_data(tmp_path_factory.mktemp("data") / "tiny.npz")


@pytest.fixture
def tiny_table(tiny):
    """An experiment with BP and DFA, three epochs of four steps, and the picture of the real table."""
    return partial(engine.reproduce, replace(tiny_experiment(tiny), picture=TABLE1.picture), seeds=2)


def saved(folder, cell="dfa-seed1"):
    """All arrays of a checkpoint, and its header without the times."""
    with np.load(folder / f"{cell}.ckpt.npz") as file:
        arrays = {name: file[name].tobytes() for name in file.files}
    header = json.loads(arrays.pop("header"))
    del header["meta"]["seconds"]
    return arrays, header


# One run


@pytest.mark.parametrize("kernels", [pytest.param(True, marks=pytest.mark.slow), False])
@pytest.mark.parametrize("variant", VARIANTS)
def test_stopped_after_any_epochs_and_taken_further_it_has_the_same_bits(variant, kernels, tiny, tmp_path):
    """A run that stops after any epoch and continues is bitwise identical to the uninterrupted run.

    We compare the weights, the optimizer's memory and the rule's state at every stop, and the record at the end.
    """
    settings = tiny_settings(tiny, kernels=kernels, **VARIANTS[variant])
    whole = untimed(run(settings, tmp_path / "whole"))
    run(settings, tmp_path / "two", until=2)
    for k in (1, 2):
        stopped = run(settings, tmp_path / "out", until=k)
        assert stopped["stopped"] == {"epochs": k, "of": 3}
        assert stopped["history"] == whole["history"][:k]
        assert stopped["steps"] == whole["history"][k - 1]["step"]
        assert stopped["settings"] == whole["settings"]
    assert saved(tmp_path / "out", stopped["cell"]) == saved(tmp_path / "two", stopped["cell"])
    assert untimed(stopped) == untimed(records.read(tmp_path / "two" / f"{stopped['cell']}.json"))
    assert untimed(run(settings, tmp_path / "out")) == whole
    assert untimed(run(settings, tmp_path / "two", until=3)) == whole
    assert "stopped" not in whole
    assert not list(tmp_path.rglob("*.ckpt.npz"))


def test_epsilon_is_that_of_the_steps_done_and_the_noise_that_of_the_whole_run(tiny, tmp_path):
    """The epsilon of a stopped run is that of its finished steps, and its noise is that of the whole run.

    It equals the epsilon of a run with this number of epochs and the same noise. A run reaches its requested epsilon
    only at the end.
    """
    stopped = run(tiny_settings(tiny, **NOISY), tmp_path / "stopped", until=1)
    short = run(tiny_settings(tiny, **NOISY | {"epochs": 1}), tmp_path / "1")
    whole = run(tiny_settings(tiny, **NOISY), tmp_path / "whole")
    assert stopped["privacy"]["guarantee"] == short["privacy"]["guarantee"] != whole["privacy"]["guarantee"]
    assert stopped["privacy"]["guarantee"]["steps"] == 4
    assert stopped["privacy"]["statement"].endswith("The run stopped after 1 of 3 epochs, 4 steps.")
    asking = NOISY | {"rule_settings": {"C": 1.0}, "target_epsilon": 3.0}
    found = [run(tiny_settings(tiny, **asking), tmp_path / f"asked{k}", until=k) for k in (1, 3)]
    assert found[0]["settings"] == found[1]["settings"]
    epsilons = [record["privacy"]["guarantee"]["epsilon"] for record in found]
    assert epsilons[0] < epsilons[1] <= 3.0
    assert epsilons[1] >= 3 * (1 - 1e-3)  # the search for the noise has this precision


def test_killed_on_the_way_to_the_stop_and_between_checkpoint_and_record(tiny, tmp_path, monkeypatch):
    settings = tiny_settings(tiny)
    whole = untimed(run(settings, tmp_path / "whole"))
    run(settings, tmp_path / "out", until=1)
    with monkeypatch.context() as patch:
        stop_after(patch, 6)
        with pytest.raises(Killed):
            run(settings, tmp_path / "out", until=2, checkpoint_every=0)
    assert records.read(tmp_path / "out/dfa-seed1.json")["stopped"] == {"epochs": 1, "of": 3}
    assert run(settings, tmp_path / "out", until=1)["steps"] == 4  # the run already has the requested epochs
    assert saved(tmp_path / "out")[1]["t"] == 6  # the later steps stay in the checkpoint

    def no_disk(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(records, "write", no_disk)
        with pytest.raises(OSError, match="No space left"):
            run(settings, tmp_path / "out", until=2)
    assert run(settings, tmp_path / "out", until=2)["history"] == whole["history"][:2]
    assert untimed(run(settings, tmp_path / "out")) == whole


def test_fewer_epochs_than_there_are_are_refused(tiny, tmp_path, monkeypatch):
    """A request for fewer epochs than the run already has is refused.

    We test a stopped run, a finished run, and a run that was interrupted in the middle of an epoch.
    """
    settings = tiny_settings(tiny)
    run(settings, tmp_path / "stopped", until=2)
    run(settings, tmp_path / "whole")
    with monkeypatch.context() as patch:
        stop_after(patch, 5)
        with pytest.raises(Killed):
            run(settings, tmp_path / "interrupted", checkpoint_every=0)
    for name, least in {"stopped": 2, "whole": 3, "interrupted": 2}.items():
        before = {path: path.read_bytes() for path in (tmp_path / name).iterdir()}
        sentence = rf"{name} has already finished more than 1 of 3 epochs: ask for at least {least} epochs, "
        with pytest.raises(ValueError, match=sentence):
            run(settings, tmp_path / name, until=1)
        assert {path: path.read_bytes() for path in (tmp_path / name).iterdir()} == before
        assert run(settings, tmp_path / name, until=1, resume=False)["steps"] == 4


def test_without_its_checkpoint_it_begins_afresh_and_says_so(tiny, tmp_path, caplog):
    settings = tiny_settings(tiny)
    run(settings, tmp_path, until=2)
    (tmp_path / "dfa-seed1.ckpt.npz").unlink()
    with caplog.at_level(logging.INFO, "nfa"):
        again = run(settings, tmp_path)
    assert "the checkpoint of the stopped run dfa-seed1 is missing, so this run starts afresh" in caplog.messages
    assert untimed(again) == untimed(run(settings, tmp_path / "whole"))


@pytest.mark.parametrize(
    "bad, sentence",
    [
        ({"until": 0}, "until must be a whole number >= 1, got 0"),
        ({"until": 1.5}, "until must be a whole number >= 1, got 1.5"),
    ],
)
def test_no_such_epoch(bad, sentence, tiny, tmp_path):
    with pytest.raises(ValueError) as refusal:
        run(tiny_settings(tiny), tmp_path / "out", **bad)
    assert str(refusal.value) == sentence
    assert not (tmp_path / "out").exists()


def test_a_secure_run_is_not_stopped(tiny, tmp_path):
    with pytest.raises(ValueError, match="a secure run has one record for all its epochs"):
        run(tiny_settings(tiny, **NOISY, secure=True), tmp_path / "out", until=1)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.pop("stopped"),
        lambda record: record["stopped"].update(epochs=2),
        lambda record: record["stopped"].update(of=2),
        lambda record: record["settings"].update(epochs=1),
        lambda record: record["settings"].pop("epochs"),
        lambda record: record["history"].pop(),
    ],
)
def test_a_stopped_record_that_is_edited_to_look_whole_is_none(change, tiny, tmp_path):
    record = run(tiny_settings(tiny), tmp_path, until=1)
    records.validate(record)
    change(record)
    with pytest.raises(ValueError, match="epochs, but not that the run stopped after these epochs"):
        records.validate(record)


def test_a_whole_record_with_epochs_missing_is_none(tiny, tmp_path):
    record = run(tiny_settings(tiny), tmp_path)
    record["history"].pop()
    with pytest.raises(ValueError, match="records 2 of 3 epochs, but not that the run stopped after"):
        records.validate(record)


# A table


@pytest.mark.slow
@pytest.mark.parametrize("kernels", [True, False])
def test_a_table_stops_says_so_and_is_taken_further(kernels, tiny_table, tmp_path, caplog):
    how = {"out": tmp_path / "out", "kernels": kernels}
    whole = tiny_table(out=tmp_path / "whole", kernels=kernels)
    for k in (1, 2):
        with caplog.at_level(logging.INFO, "nfa"):
            found = tiny_table(**how, epochs=k)
        assert f"ohana2021:table1: the runs stop at {k} of 3 epochs" in caplog.messages
        assert found.stopped == f"{k} of 3 epochs"
        assert [row["verdict"] for row in found.rows] == [f"not comparable: at {k} of 3 epochs"] * 2
        written = (tmp_path / "out/REPORT.md").read_text()
        assert written.startswith(f"# A tiny table, stopped at {k} of 3 epochs\n")
        assert f"\n**Stopped at {k} of 3 epochs.** These runs are not complete: " in written
        plain = "" if kernels else " --no-kernels"
        assert f"\n    nfa reproduce ohana2021:table1 --scale demo --seeds 2 --epochs {k}{plain}\n" in written
        assert f"\nStopped at {k} of 3 epochs.\n" in (tmp_path / "out/table.txt").read_text()
        assert title(tmp_path / "out/figure.png").endswith(f"\nstopped at {k} of 3 epochs")
        assert tiny_table(**how, epochs=k).rows == found.rows
    last = tiny_table(**how)
    assert (last.rows, last.stopped) == (whole.rows, "")
    assert in_folder(tmp_path / "out") == in_folder(tmp_path / "whole")
    for name in ("table.txt", "figure.png"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    assert "topped" not in (tmp_path / "out/REPORT.md").read_text()
    assert "topped" not in title(tmp_path / "out/figure.png")
    assert not list((tmp_path / "out").glob("*.ckpt.npz"))
    assert tiny_table(out=tmp_path / "out", kernels=kernels, epochs=7).rows == whole.rows  # no run has over 3 epochs


def test_stopped_at_different_numbers_of_epochs(tiny, tmp_path):
    """The runs of a table may have different numbers of epochs. A run with fewer epochs than the stop is complete.

    In this test, one run has 2 epochs and the other run has 3. The table stops after 2 epochs.
    """
    experiment = tiny_experiment(tiny)

    def cells(scale, seeds):
        bp, dfa = experiment.cells(scale, [1])
        return [replace(bp, settings=replace(bp.settings, epochs=2)), dfa]

    found = engine.reproduce(replace(experiment, cells=cells), out=tmp_path / "out", epochs=2)
    assert found.stopped == "2 of 3 epochs (in 1 of 2 runs)"
    assert [row["verdict"] for row in found.rows] == ["inside", "not comparable: at 2 of 3 epochs"]
    assert [path.name for path in (tmp_path / "out").glob("*.ckpt.npz")] == ["dfa-seed1.ckpt.npz"]


def test_a_table_refuses_fewer_epochs_before_training(tiny_table, tmp_path):
    tiny_table(out=tmp_path / "out", epochs=2)
    before = in_folder(tmp_path / "out")
    for k in (2, 3):
        with pytest.raises(ValueError, match=f"has already finished more than 1 of 3 epochs: .* at least {k} epochs"):
            tiny_table(out=tmp_path / "out", epochs=1)
        assert in_folder(tmp_path / "out") == before
        before = (tiny_table(out=tmp_path / "out"), in_folder(tmp_path / "out"))[1]


def test_a_plan_counts_the_epochs_that_are_asked_for_less_those_done(tiny, tmp_path):
    """A plan estimates the time of the requested epochs without the finished epochs. The second of 2 epochs takes half.

    For one of a hundred thousand epochs, the estimate is below a tenth of the time.
    """
    one, all_of_it = (Cell(str(k), tiny_settings(tiny, epochs=1_000_000), {}, until=k) for k in (10, None))
    found = engine.estimates([one, all_of_it], engine.sources([one]), 0.5)
    assert 10 * found[engine.kind(one)].seconds < found[engine.kind(all_of_it)].seconds
    experiment, out = tiny_experiment(tiny), tmp_path / "out"
    todo = partial(engine.look, experiment, scale="demo", seeds=1, out=out)
    whole, one = todo(), todo(epochs=1)
    found = engine.estimates([*whole.missing, *one.missing], whole.sources, 0.5)
    assert len(found) == 4
    assert (whole.stops, one.stops) == ("", "1 of 3 epochs")
    for cell in [*whole.missing, *one.missing]:
        assert whole.seconds(cell, found) == found[engine.kind(cell)].seconds
    engine.reproduce(experiment, seeds=1, out=out, epochs=1)
    two = todo(epochs=2)
    assert two.begun == {"bp-seed1": 1.0, "dfa-seed1": 1.0}
    found = engine.estimates(two.missing, two.sources, 0.5)
    for cell in two.missing:
        assert two.seconds(cell, found) == found[engine.kind(cell)].seconds / 2
    plan = engine.plan(two, found, 1)
    assert re.search(r"\nStops at 2 of 3 epochs\.\n\nbp-seed1: about \d+ s, from epoch 1 on\n", plan)
    assert "\nStops at 1 of 3 epochs.\n\nbp-seed1: at 1 of 3 epochs\n" in engine.plan(todo(epochs=1), {}, 1)


def test_what_is_computed_from_formulas_has_no_epochs(tmp_path):
    sentence = "lee2020:epsilons is computed from formulas, so epochs have no effect: leave out epochs"
    with pytest.raises(ValueError, match=sentence):
        engine.reproduce(index.find("lee2020:epsilons"), out=tmp_path / "out", epochs=5)
    assert not (tmp_path / "out").exists()


# The pictures of the experiments


def title(path):
    """The text chunk Title of a PNG, read as its specification defines it: size, name, data, checksum."""
    content, at = path.read_bytes(), 8
    while at < len(content):
        (length,), name = struct.unpack(">I", content[at : at + 4]), content[at + 4 : at + 8]
        data = content[at + 8 : at + 8 + length]
        if name == b"tEXt" and data.startswith(b"Title\0"):
            return data[6:].decode("latin-1")
        if name == b"iTXt" and data.startswith(b"Title\0"):
            return data.rpartition(b"\0")[2].decode()
        at += 12 + length
    raise AssertionError(f"{path} has no title")


# Experiments without a folder have no stored runs. For their pictures, we use a record of another experiment.
TRAINED = [
    ("berthier2019:fig10", "published", "paper", "berthier2019-fig10-paper"),
    ("berthier2019:fig11", "published", "paper", "berthier2019-fig11-paper"),
    ("dpulr2024:table1", "published", "paper", "dpulr2024-table1-paper"),
    ("dpulr2024:fig3", "published", "paper", "dpulr2024-table1-paper"),
    ("lee2020:fig2", "published", "small", "lee2020-fig2-small"),
    ("lee2020:fig4", "published", "small", "lee2020-fig4-small"),
    ("ohana2021:table1", "published", "paper", "ohana2021-table1-paper"),
    ("ohana2021:fig2", "published", "paper", "ohana2021-table1-paper"),
    ("ohana2021:table1", "repaired", "paper", "ohana2021-table1-repaired"),
    ("ours:trials", "published", "paper", "ours-trials"),
    ("ours:equal-epsilon", "published", "small", "ours-equal-epsilon-small"),
    ("ours:finalists", "published", "paper", "ours-finalists"),
    ("ours:screen", "published", "small", "ours-screen-small"),
    ("ours:cnn", "published", "paper", "ours-cnn-paper"),
    ("dpulr2024:fig4", "published", "paper", None),
    ("dpulr2024:tableC1", "published", "paper", "dpulr2024-tableC1-paper"),
    ("lee2020:fig3", "published", "paper", "lee2020-fig3-paper"),
    ("lee2020:claim-gain", "published", "small", "lee2020-claim-gain-small"),
    ("ohana2021:exp-bp", "published", "paper", "ohana2021-exp-bp-paper"),
]

DONORS = ("lee2020-fig2-small", "dp-bp-0.01-sound-seed1"), ("ours-trials", "dp-sgd-trial0-epsilon3-seed1")


def of_committed(experiment, scale, folder):
    """The cells of an experiment with their stored records.

    In each record, the entries for rows and pictures are those of a stopped run.
    """
    other, one = DONORS[experiment.id.startswith("ours:")]
    kept = ROOT / "results" / (folder or other)
    found = {record["cell"]: record for record in records.in_folder(kept)}
    donor = found.get(one)
    trained = []
    for cell in experiment.cells(scale, list(range(1, 11)) if folder else [1]):
        record = found.get(cell.name) if folder else donor | {"settings": cell.settings.to_json()}
        if record and record["settings"]["epochs"] > 1:
            of = record["settings"]["epochs"]
            history = record["history"][: min(2, of - 1)]
            stop = {"stopped": {"epochs": len(history), "of": of}, "steps": history[-1]["step"], "history": history}
            stop["test_accuracy"] = history[-1]["test_accuracy"]
            trained.append((replace(cell, settings=as_run(cell.settings, record)), record | stop))
    return trained


def test_every_item_that_trains_is_held_to_it():
    """The tests cover every experiment that trains, except two kinds that cannot stop after some of their epochs.

    These are experiments with runs of a single epoch, and experiments in which one run follows another run.
    """
    found = {id: index.find(id) for id in index.EXPERIMENTS}
    trained = {id: item.cells("paper", [1]) for id, item in found.items() if isinstance(item, Experiment)}
    longer = {id for id, cells in trained.items() if any(cell.settings.epochs > 1 for cell in cells)}
    longer -= {id for id, cells in trained.items() if any(cell.follow for cell in cells)}
    assert longer == {item for item, *_ in TRAINED}


@pytest.mark.slow
@pytest.mark.parametrize("item, variant, scale, folder", TRAINED)
def test_rows_report_and_picture_of_stopped_runs_say_so(item, variant, scale, folder, tmp_path, monkeypatch):
    # the tight epsilon takes seconds, and this test does not need it
    monkeypatch.setattr(equal_epsilon, "_tight", lambda *_: None)
    experiment = index.find(item, variant)
    trained = of_committed(experiment, scale, folder)
    rows = report.rows(experiment, trained)
    stops = {f"{len(record['history'])} of {record['settings']['epochs']} epochs" for _, record in trained}
    assert stops
    assert all(row["verdict"].startswith(tuple(f"not comparable: at {stop}" for stop in stops)) for row in rows)
    experiment.picture(tmp_path / "figure.png", rows, trained)
    drawn = title(tmp_path / "figure.png").partition("\nstopped at ")[2]
    assert set(drawn.split(" and ")) <= stops
    head, _, told = report.report(experiment, scale, [1], rows, trained).splitlines()[0].partition(", stopped at ")
    assert head == f"# {experiment.title}"
    assert set(told.split(" and ")) == stops
