"""A digest of data that only this user can check, in the place of a plain one, which lets anybody confirm a guess.

The same key seals what a secure run writes, so that a run does not go on from a file that somebody else has edited.

The key is made when it is first needed, by the operating system. It lies in the user's state folder, is readable by the
user alone, and is copied nowhere: who has it can check a guess of the data against every record of a secure run.
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
BITS = 256  # of a key, and of a salt


def key_file() -> Path:
    """Where the key lies, or will: ``nfa/data.key`` in the user's state folder, on Linux XDG_STATE_HOME."""
    import platformdirs  # not needed, and not imported, but for secure runs

    return Path(platformdirs.user_state_dir("nfa", appauthor=False)) / "data.key"


def make(digest: str) -> str:
    """What a record may say of its data: a salt of its own, and two codes under the key.

    One code is of the key alone and one of the data. Both depend on the salt, so that two records do not even show
    whether they are of the same data, or of the same user.

    Parameters
    ----------
    digest : of the data, as `Dataset.digest`

    Raises
    ------
    ValueError : if the key is damaged, or others may read it
    OSError : if it can be neither read nor written
    """
    key, salt = _key() or _new_key(), secrets.token_hex(BITS // 8)
    return " ".join((KIND, salt, *_codes(key, salt, digest)))


def fits(told: str, digest: str) -> bool:
    """Whether data are those of which `make` has told.

    Raises
    ------
    ValueError : if the key is not there or another one, damaged, or others may read it; if nothing was told
    OSError : if the key cannot be read
    """
    kind, *rest = told.split(" ")
    if kind != KIND or len(rest) != 3:
        raise ValueError("the run does not record a digest of its data")
    salt, of_key, of_data = rest
    key, path = _key(), key_file()
    if key is None:
        raise ValueError(
            "the data of the run can only be checked with the key of the user who began the run, and there is no "
            f"{path}"
        )
    same_key, same_data = _codes(key, salt, digest)
    if not hmac.compare_digest(of_key.encode(), same_key.encode()):
        raise ValueError(
            f"the data of the run can only be checked with the key of the user who began the run, and {path} has "
            "another key"
        )
    return hmac.compare_digest(of_data.encode(), same_data.encode())


def seal(content: str) -> str:
    """A code of a text that only who has the key can make. Raises as `make`."""
    return f"{KIND} {_code(_key() or _new_key(), f'seal {content}')}"


def sealed(told: Any, content: str) -> bool:
    """Whether `seal` has given this code for a text. Raises ValueError or OSError as `fits` if there is no key."""
    key = _key()
    if key is None:
        raise ValueError(
            "the seal of the run can only be checked with the key of the user who began the run, and there is no "
            f"{key_file()}"
        )
    return hmac.compare_digest(str(told).encode(), f"{KIND} {_code(key, f'seal {content}')}".encode())


def _codes(key: bytes, salt: str, digest: str) -> tuple[str, str]:
    return _code(key, f"{salt} key"), _code(key, f"{salt} {digest}")


def _code(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(), "sha256").hexdigest()


def _key() -> bytes | None:
    """The key, or None if there is none."""
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
    """Make a key, unless another process has just made one; a reader never sees part of it."""
    path, key = key_file(), secrets.token_bytes(BITS // 8)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, part = tempfile.mkstemp(dir=path.parent, prefix=path.name)  # readable and writable by the user alone
    try:
        with open(descriptor, "w", encoding="ascii") as file:
            file.write(key.hex() + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.link(part, path)  # where a move would replace the other's
    except FileExistsError:
        return _key() or key
    finally:
        with suppress(OSError):
            os.unlink(part)
    return key
