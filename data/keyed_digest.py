"""A digest of data with a key, so that only this user can check a guess of the data.

With a digest without a key, anyone could check a guess of the data.

The key also seals the files of a secure run, so that a run does not continue from a file that someone else has edited.

When a key is first needed, nfa makes one from random bytes of the operating system. The key is in the user's state
folder. Only the user can read it, and nfa does not copy it. Anyone who has the key can check a guess of the data
against every record of a secure run.
"""

import hmac
import os
import secrets
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

KIND = "hmac-sha256"
BITS = 256  # size of a key, and of a salt


def key_file() -> Path:
    """The path of the key, ``nfa/data.key`` in the user's state folder (XDG_STATE_HOME on Linux). It may not exist."""
    import platformdirs  # only secure runs need it

    return Path(platformdirs.user_state_dir("nfa", appauthor=False)) / "data.key"


def make(digest: str) -> str:
    """The digest of data for the record of a run: a new salt, and two codes that are computed with the key.

    The first code depends on the key and the salt. The second code depends also on the data. Because of the salt, two
    records do not reveal whether they have the same data or the same user.

    Parameters
    ----------
    digest : digest of the data, as `Dataset.digest`

    Raises
    ------
    ValueError : if the key is damaged, or others may read it
    OSError : if the key can be neither read nor written
    """
    key, salt = _key() or _new_key(), secrets.token_hex(BITS // 8)
    return " ".join((KIND, salt, *_codes(key, salt, digest)))


def fits(told: str, digest: str) -> bool:
    """Whether data match a digest from `make`.

    Raises
    ------
    ValueError : if the key is missing or damaged, if the digest was made with another key, if others may read the key,
        or if there is no digest
    OSError : if the key cannot be read
    """
    kind, *rest = told.split(" ")
    if kind != KIND or len(rest) != 3:
        raise ValueError("the run does not record a digest of the data")
    salt, of_key, of_data = rest
    key, path = _key(), key_file()
    if key is None:
        raise ValueError(
            "the data of the run can only be checked with the key of the user who began the run, and the key "
            f"file {path} does not exist"
        )
    same_key, same_data = _codes(key, salt, digest)
    if not hmac.compare_digest(of_key.encode(), same_key.encode()):
        raise ValueError(
            f"the data of the run can only be checked with the key of the user who began the run, and {path} has "
            "another key"
        )
    return hmac.compare_digest(of_data.encode(), same_data.encode())


def seal(content: str) -> str:
    """A code of a text that only the owner of the key can compute. Raises the errors of `make`."""
    return f"{KIND} {_code(_key() or _new_key(), f'seal {content}')}"


def sealed(told: Any, content: str) -> bool:
    """Whether ``told`` is the code from `seal` for a text. Without a key, raises the errors of `fits`."""
    key = _key()
    if key is None:
        raise ValueError(
            "the seal of the run can only be checked with the key of the user who began the run, and the key "
            f"file {key_file()} does not exist"
        )
    return hmac.compare_digest(str(told).encode(), f"{KIND} {_code(key, f'seal {content}')}".encode())


def _codes(key: bytes, salt: str, digest: str) -> tuple[str, str]:
    return _code(key, f"{salt} key"), _code(key, f"{salt} {digest}")


def _code(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(), "sha256").hexdigest()


def _key() -> bytes | None:
    """The key, or None if there is no key file."""
    path = key_file()
    try:
        mode, content = path.stat().st_mode, path.read_bytes()
    except FileNotFoundError:
        return None
    if sys.platform != "win32" and stat.S_IMODE(mode) & 0o077:
        raise ValueError(
            f"other users may read the key {path}: run chmod 600 on this file if the key is still secret, or delete"
            " the file"
        )
    try:
        key = bytes.fromhex(content.decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != BITS // 8:
        raise ValueError(f"the key {path} is damaged: restore a copy, or delete the file")
    return key


def _new_key() -> bytes:
    """Make a key, unless another process has just made a key. No reader can see an incomplete key file."""
    path, key = key_file(), secrets.token_bytes(BITS // 8)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, part = tempfile.mkstemp(dir=path.parent, prefix=path.name)  # only the user can read and write it
    try:
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(key.hex() + "\n")
            file.flush()
            os.fsync(file.fileno())
        # We link the file, because moving it would replace a key that another process has just made.
        os.link(part, path)
    except FileExistsError:
        return _key() or key
    finally:
        with suppress(OSError):
            os.unlink(part)
    return key
