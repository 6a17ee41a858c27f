"""Tests of digests with the user's key: what a digest reveals, who can check it, and where nfa stores the key."""

import hashlib
import os
import stat
import threading
from pathlib import Path

import pytest

from nfa.data import keyed_digest
from nfa.data.keyed_digest import fits, key_file, make

ONE, OTHER = (hashlib.sha256(word).hexdigest() for word in (b"one", b"other"))


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def code(key, text):
    """HMAC-SHA256 of a text, computed from the definition in RFC 2104."""
    padded = key.ljust(64, b"\0")
    inner = hashlib.sha256(bytes(k ^ 0x36 for k in padded) + text.encode()).digest()
    return hashlib.sha256(bytes(k ^ 0x5C for k in padded) + inner).hexdigest()


def test_what_is_told_by_its_definition():
    kind, salt, of_key, of_data = make(ONE).split(" ")
    key = bytes.fromhex(key_file().read_text())
    assert (kind, len(key), len(salt)) == ("hmac-sha256", 32, 64)
    assert (of_key, of_data) == (code(key, f"{salt} key"), code(key, f"{salt} {ONE}"))


def test_the_same_data_fit_and_no_others():
    told = make(ONE)
    assert fits(told, ONE)
    assert not fits(told, OTHER)


def test_nothing_in_common_shows_that_two_are_of_the_same_data_or_user():
    """Two keyed digests have no common word that would reveal the same data or the same user.

    They do not contain the plain digest of the data.
    """
    words = [word for told in (make(ONE), make(ONE), make(OTHER)) for word in told.split(" ")[1:]]
    assert len(set(words)) == 9
    assert ONE not in words


@pytest.mark.posix("looks at permissions")
def test_the_key_lies_in_the_state_folder_and_only_the_user_may_read_it(state):
    before = os.umask(0)
    try:
        make(ONE)
    finally:
        os.umask(before)
    assert key_file() == state / "nfa" / "data.key"
    assert [path.name for path in key_file().parent.iterdir()] == ["data.key"]
    assert stat.S_IMODE(key_file().stat().st_mode) == 0o600
    assert stat.S_IMODE(key_file().parent.stat().st_mode) == 0o700


def test_without_a_folder_of_ones_own_it_is_that_of_the_platform(monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert key_file().is_relative_to(tmp_path)
    assert key_file().parent.name == "nfa"


def test_one_key_stays_the_key(state):
    make(ONE)
    key = key_file().read_bytes()
    make(OTHER)
    assert key_file().read_bytes() == key


def test_of_two_who_make_the_key_at_once_both_have_the_same(monkeypatch):
    """If two processes make the key at the same time, both get the same key.

    Each process finds no key, and waits until the other process has also found none.
    """
    whole, meet, told = keyed_digest._new_key, threading.Barrier(2, timeout=10), []

    def at_once():
        meet.wait()
        return whole()

    monkeypatch.setattr(keyed_digest, "_new_key", at_once)
    makers = [threading.Thread(target=lambda: told.append(make(ONE))) for _ in range(2)]
    for maker in makers:
        maker.start()
    for maker in makers:
        maker.join()
    assert [fits(one, ONE) for one in told] == [True, True]
    assert [path.name for path in key_file().parent.iterdir()] == ["data.key"]


@pytest.mark.parametrize(
    "change, told",
    [
        (Path.unlink, "with the key of the user who began the run, and the key file "),
        (lambda path: path.write_text("00" * 32), "with the key of the user who began the run, and .* has another key"),
        (lambda path: path.write_text("00" * 31), r"data\.key is damaged"),
        (lambda path: path.write_text("x" * 64), r"data\.key is damaged"),
        (lambda path: path.write_bytes(b"\xff" * 64), r"data\.key is damaged"),
        pytest.param(
            lambda path: path.chmod(0o640),
            r"other users may read the key .*/data\.key: run chmod 600",
            marks=pytest.mark.posix("changes permissions"),
        ),
    ],
)
def test_what_is_told_without_the_key(change, told):
    said = make(ONE)
    change(key_file())
    left = key_file().exists()
    with pytest.raises(ValueError, match=told) as caught:
        fits(said, ONE)
    assert "\n" not in str(caught.value)
    assert key_file().exists() == left  # nfa does not make a new key


@pytest.mark.parametrize("said", ["", ONE, "not kept: a hash of the training data would tell neighbours apart"])
def test_what_tells_nothing(said):
    with pytest.raises(ValueError, match="the run does not record a digest of the data"):
        fits(said, ONE)


def test_a_seal_is_of_one_text_and_one_key():
    seal = keyed_digest.seal("a text")
    assert keyed_digest.sealed(seal, "a text")
    for other in (keyed_digest.seal("a test"), seal[:-1], "", None, make("a text")):
        assert not keyed_digest.sealed(other, "a text")
    key_file().write_text("12" * 32)
    assert not keyed_digest.sealed(seal, "a text")
    key_file().unlink()
    with pytest.raises(ValueError, match="with the key of the user who began the run, and the key file "):
        keyed_digest.sealed(seal, "a text")
    assert not key_file().exists()
