"""Tests of edited files of a secure run: nfa refuses the privacy statement, or its epsilon is at least the true one.

The run has shuffled epochs and two interruptions. So its 12 steps may have used a record 2 + 2 + 1 times.
"""

import copy
import json
from dataclasses import replace

import numpy as np
import pytest

from nfa.data import keyed_digest
from nfa.experiments import checkpoint, records, steps_spent
from nfa.experiments.prepare import prepare
from nfa.experiments.run import run
from tests.experiments.tiny_runs import PRIVATE, Killed, stop_after, tiny_settings, write_data

pytestmark = pytest.mark.filterwarnings("ignore::nfa.privacy.rdp.OrderAtGridEnd")

CELL = "dp_sgd-secure"


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """A temporary folder for the user's key."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


@pytest.fixture
def settings(tmp_path):
    return tiny_settings(write_data(tmp_path / "some.npz"), **PRIVATE)


def interrupt(settings, folder, monkeypatch, k):
    """Stop the run after k steps. The run writes a checkpoint after each step."""
    with monkeypatch.context() as patch:
        stop_after(patch, k)
        with pytest.raises(Killed):
            run(settings, folder, checkpoint_every=0)


@pytest.fixture
def finished(settings, tmp_path, monkeypatch):
    """The folder and the record of a finished run that was interrupted after 5 and after 9 steps."""
    folder = tmp_path / "run"
    for k in (5, 9):
        interrupt(settings, folder, monkeypatch, k)
    record = run(settings, folder)
    assert record["privacy"]["sessions"] == [[1, 5], [6, 4], [10, 3]]
    return folder, record


def answer(settings, folder, edited):
    """The epsilon that nfa returns for a record in this folder, or None if nfa refuses the record."""
    (folder / f"{CELL}.json").write_text(json.dumps(edited), encoding="utf-8")
    try:
        found = run(settings, folder)
    except ValueError:
        return None
    assert found["private"] is True
    return found["privacy"]["guarantee"]["epsilon"]


def saying(settings, record, sessions):
    """The record with these sessions, and with the epsilon and the other values that follow from the sessions."""
    said = prepare(settings).privacy.account([tuple(session) for session in sessions])
    return record | {"privacy": said | {"sessions": sessions}}


def sealed(record):
    """The record with a new seal, which an editor with the user's key can compute."""
    content = {name: value for name, value in record.items() if name != "seal"}
    return content | {"seal": records.seal_of(content)}


SHORTER = {
    "a session is left out": [[1, 5], [10, 3]],
    "the first is left out": [[6, 4], [10, 3]],
    "the last is left out": [[1, 5], [6, 4]],
    "one step alone": [[1, 1]],
    "a gap between two": [[1, 4], [6, 4], [10, 3]],
    "in another order": [[6, 4], [1, 5], [10, 3]],
    "steps that are not the run's": [[1, 5], [6, 4], [10, 4]],
    "one more than the run has": [[1, 5], [6, 4], [10, 3], [13, 1]],
    "steps counted from 0": [[0, 6], [6, 4], [10, 3]],
    "a session without steps": [[1, 5], [6, 0], [6, 7]],
    "none": [],
}


@pytest.mark.parametrize("sessions", SHORTER.values(), ids=SHORTER)
def test_sessions_that_leave_out_steps_are_refused_whoever_wrote_them(sessions, settings, finished, monkeypatch):
    folder, record = finished
    with monkeypatch.context() as patch:
        # because an editor can remove this check from a copy of nfa
        patch.setattr(steps_spent, "check", lambda *given: None)
        edited = saying(settings, record, sessions) if sessions else record
    edited["privacy"]["sessions"] = sessions
    assert answer(settings, folder, edited) is None
    assert answer(settings, folder, sealed(edited)) is None


WHOLE = {
    "one session": [[1, 12]],
    "one interruption fewer": [[1, 9], [10, 3]],
    "at the ends of epochs": [[1, 4], [5, 8]],
}


@pytest.mark.parametrize("sessions", WHOLE.values(), ids=WHOLE)
def test_the_record_of_another_run_takes_the_key(sessions, settings, finished):
    """nfa refuses the record of another run, with fewer interruptions, unless it has a seal made with the user's key.

    Every value of this record is correct for such a run, so only the seal can show that this run did not write the
    record.
    """
    folder, record = finished
    edited = saying(settings, record, sessions)
    assert edited["privacy"]["guarantee"]["epsilon"] < record["privacy"]["guarantee"]["epsilon"]
    assert answer(settings, folder, edited) is None
    assert answer(settings, folder, sealed(edited)) == edited["privacy"]["guarantee"]["epsilon"]


def leaves(value, path=()):
    """The path of every number, text, boolean and null of a JSON document."""
    if isinstance(value, dict | list):
        for key, one in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(one, (*path, key))
    else:
        yield path


def at(document, path):
    for key in path:
        document = document[key]
    return document


def other(value, rng):
    """A different value of the same type, which often understates the privacy loss of the run."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int):
        return int(rng.choice([max(value - 1, 0), value // 2, 1, value + 1]))
    if isinstance(value, float):
        return float(value * rng.choice([0.5, 2.0, 1 - 1e-12]))
    return value[:-1] if rng.random() < 0.5 else f"{value}."


@pytest.mark.parametrize("edits", [150, pytest.param(1500, marks=pytest.mark.slow)])
def test_no_edit_makes_less_of_what_was_spent(edits, settings, finished):
    """No edit of one to four values lowers epsilon: nfa refuses the record, or epsilon is at least the true epsilon."""
    folder, record = finished
    truth, rng = record["privacy"]["guarantee"]["epsilon"], np.random.default_rng(7)
    places = list(leaves(record))
    for _ in range(edits):
        edited = copy.deepcopy(record)
        for i in rng.choice(len(places), rng.integers(1, 5), replace=False):
            *path, last = places[i]
            holder = at(edited, path)
            holder[last] = other(holder[last], rng)
        if edited == record:
            continue
        said = answer(settings, folder, edited)
        assert said is None or said >= truth, edited
    assert answer(settings, folder, record) == truth


@pytest.mark.parametrize("edits", [100])
def test_not_even_who_has_the_key_lowers_one_number(edits, settings, finished):
    """An editor with the key cannot lower epsilon by changing one value, because other values contradict the change.

    These other values follow from the settings and the data. The editor computes a new seal after the edit.
    """
    folder, record = finished
    truth, rng = record["privacy"]["guarantee"]["epsilon"], np.random.default_rng(8)
    counted = ("settings", "private", "privacy", "steps", "history")
    free = ("test_accuracy",)  # accuracies on public examples may change
    places = [path for path in leaves(record) if path[0] in counted and path[-1] not in free]
    for _ in range(edits):
        edited = copy.deepcopy(record)
        *path, last = places[rng.integers(len(places))]
        holder = at(edited, path)
        holder[last] = other(holder[last], rng)
        if edited == record:
            continue
        said = answer(settings, folder, sealed(edited))
        assert said is None or said >= truth, edited


def test_a_private_record_without_a_seal_is_refused(settings, finished):
    """A private record without a seal is refused, for example a record of version 0.1."""
    folder, record = finished
    del record["seal"]
    with pytest.raises(ValueError, match="records a run as private, but has no seal"):
        records.validate(record)
    assert answer(settings, folder, record) is None


# --- checkpoints and the notes of the spent steps


def change_header(folder, change):
    """Apply `change` to the header of a checkpoint."""
    path = folder / f"{CELL}.ckpt.npz"
    with np.load(path) as file:
        arrays = dict(file)
    header = json.loads(arrays["header"].tobytes())
    change(header)
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(path, **arrays)


def seal_again(folder, settings, sessions):
    """Add a valid seal to the checkpoint, and write a note of these sessions. An editor with the key can do this."""
    path = folder / f"{CELL}.ckpt.npz"
    with np.load(path) as file:
        arrays = dict(file)
    del arrays["seal"]
    seal = keyed_digest.seal(checkpoint._digest_of(arrays))
    np.savez(path, **arrays, seal=np.frombuffer(seal.encode(), np.uint8))
    steps_spent.note(path, sessions, records.identify("train", CELL, None, prepare(settings).settings))


def change_note(folder, sessions):
    path = folder / f"{CELL}.spent.txt"
    note = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(note | {"sessions": sessions}), encoding="utf-8")


def test_note_and_checkpoint_edited_alike_to_a_run_that_was_not_interrupted_are_refused(
    settings, tmp_path, monkeypatch
):
    """If an edited note and an edited checkpoint both report an uninterrupted run, nfa refuses their seals.

    The note and the checkpoint report nine steps in one session, and no other value contradicts this.
    """
    folder = tmp_path / "run"
    for k in (5, 9):
        interrupt(settings, folder, monkeypatch, k)
    change_header(folder, lambda header: header["meta"]["spent"].update(sessions=[[1, 9]]))
    change_note(folder, [[1, 9]])
    with pytest.raises(ValueError, match="has no valid seal from this user's key"):
        run(settings, folder)


@pytest.mark.parametrize(
    "told, noted, says",
    [
        ([[1, 1]], [(1, 1)], "the sessions are not those of a run of 9 steps"),
        ([[1, 5], [7, 3]], [(1, 5), (7, 3)], "the sessions are not those of a run of 9 steps"),
        ([[1, 5], [6, 4]], [(1, 5), (6, 3)], r"spent\.txt records fewer steps than dp_sgd-secure\.ckpt\.npz has taken"),
        ([[1, 5], [6, 4]], [(1, 5)], r"spent\.txt records fewer steps than dp_sgd-secure\.ckpt\.npz has taken"),
    ],
)
def test_not_even_who_has_the_key_goes_on_from_steps_that_no_session_tells_of(
    told, noted, says, settings, tmp_path, monkeypatch
):
    folder = tmp_path / "run"
    for k in (5, 9):
        interrupt(settings, folder, monkeypatch, k)
    change_header(folder, lambda header: header["meta"]["spent"].update(sessions=told))
    seal_again(folder, settings, noted)
    with pytest.raises(ValueError, match=says):
        run(settings, folder)


def test_a_note_that_tells_less_is_refused_without_a_checkpoint_too(settings, tmp_path, monkeypatch):
    """nfa refuses a note that was edited to report fewer steps, even if there is no checkpoint.

    The run was killed while it wrote the first checkpoint. Only the note reports the lost step.
    """
    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save_checkpoint", lambda *given, **more: raise_killed())
        with pytest.raises(Killed):
            run(settings, folder, checkpoint_every=0)
    change_note(folder, [])
    with pytest.raises(ValueError, match="has no valid seal from this user's key"):
        run(settings, folder)


def raise_killed():
    raise Killed


@pytest.mark.parametrize("what", ["weights", "step", "history", "optimizer"])
def test_a_checkpoint_edited_anywhere_is_refused(what, settings, tmp_path, monkeypatch):
    folder = tmp_path / "run"
    interrupt(settings, folder, monkeypatch, 5)
    path = folder / f"{CELL}.ckpt.npz"
    with np.load(path) as file:
        arrays = dict(file)
    header = json.loads(arrays["header"].tobytes())
    if what == "weights":
        arrays["W1"] = arrays["W1"] + 1
    elif what == "optimizer":
        arrays["optimizer/v/0"] = arrays["optimizer/v/0"] * 0
    elif what == "step":
        header["t"] = 4
        header["meta"]["spent"]["sessions"] = [[1, 4]]
    else:
        header["meta"]["history"][0]["test_accuracy"] = 1.0
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match="has no valid seal from this user's key"):
        run(settings, folder)


def test_a_checkpoint_of_a_seeded_run_needs_no_key(settings, tmp_path, monkeypatch):
    seeded = replace(settings, secure=None)
    interrupt(seeded, tmp_path / "run", monkeypatch, 5)
    assert run(seeded, tmp_path / "run")["steps"] == 12
    assert not keyed_digest.key_file().exists()


def test_a_note_is_of_its_own_run(settings, tmp_path, monkeypatch):
    """A note is valid only for its own run. nfa refuses the note of another run with fewer interruptions."""
    for name, interruptions, more in (("run", (5, 9), {}), ("other", (9,), {"lr": 0.2})):
        for k in interruptions:
            interrupt(replace(settings, **more), tmp_path / name, monkeypatch, k)
    note = (tmp_path / "other" / f"{CELL}.spent.txt").read_text(encoding="utf-8")
    (tmp_path / "run" / f"{CELL}.spent.txt").write_text(note, encoding="utf-8")
    with pytest.raises(ValueError, match="has no valid seal from this user's key"):
        run(settings, tmp_path / "run")


@pytest.mark.parametrize(
    "sessions, steps, whole",
    [
        ([(1, 12)], 12, True),
        ([(1, 5), (6, 7)], 12, True),
        ([(1, 7), (7, 6)], 12, True),  # step 7 was lost and repeated
        ([(1, 7), (1, 12)], 12, True),  # the run began again at step 1
        ([(1, 5), (3, 2), (5, 8)], 12, True),
        ([(1, 12), (12, 1)], 12, True),
        ([(1, 5), (7, 6)], 12, False),
        ([(1, 5), (3, 1), (5, 8)], 12, False),  # no later session reached step 4
        ([(2, 11)], 12, False),
        ([(1, 11)], 12, False),
        ([(1, 13)], 12, False),
        ([(1, 13), (1, 12)], 12, False),
        ([], 12, False),
    ],
)
def test_sessions_of_a_run(sessions, steps, whole):
    """nfa accepts sessions that a run of 12 steps can have, and refuses all other sessions."""
    if whole:
        steps_spent.check(sessions, steps)
    else:
        with pytest.raises(ValueError, match="the sessions are not those of a run of 12 steps"):
            steps_spent.check(sessions, steps)


@pytest.mark.parametrize(
    "change",
    [
        {"rule_settings": {"C": 1.0}, "target_epsilon": 2.0},
        {"rule_settings": {"C": 1.0}, "noise_multiplier": 1.1},
        {"conversion": "mironov2017"},
        {"delta": None},
        {"delta": None, "adjacency": None},
        {"rule_settings": {"C": 1.0, "sigma": 1e-50}},
        {"sampling": "poisson", "adjacency": "add-remove"},
        {"sampling": "poisson"},
        {"sampling": "none", "adjacency": "zero-out"},
        {"architecture": "tests.experiments.own_networks:small"},
    ],
    ids=str,
)
def test_a_finished_run_is_answered_with_as_it_was_written(change, settings, tmp_path):
    """nfa accepts the record of a finished run as the run wrote it, for any privacy statement.

    A value that has another form in JSON, such as a very small number, does not count as an edit.
    """
    given = replace(settings, **change)
    record = run(given, tmp_path / "run")
    assert run(given, tmp_path / "run") == record
