"""Run records: one JSON file for each run, written whole or not at all, and a check of their folder."""

import json
import math
import os
import platform
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import threadpoolctl

import nfa
from nfa.data import keyed_digest
from nfa.data.npz import first_line, unpack
from nfa.experiments.settings import Settings
from nfa.network.own import file_digest, from_outside
from nfa.privacy.accountant import caution
from nfa.rules.spec import new_values
from nfa.whole import write_whole

FORMAT = 1
UNSEALED = (  # a seal is a code that only the owner of the key can compute from the content of the file
    "has no valid seal from this user's key: the file was edited, or another version of nfa wrote the file"
)
# This advice is part of every message that asks the user to begin a secure run again.
COUNT_BESIDE = (
    "The epsilon of the new run does not include the steps that were already taken: add these steps when you compute"
    " the total epsilon"
)
OF_FILES = {"rule": "rule", "network": "architecture"}  # {kind of a user's own file: setting that names the file}
HasData = Callable[[str], bool]  # whether the digest of a record or a checkpoint matches the data of the run
# Every record has these fields. The records of two seeded runs with equal settings differ only in "timing".
FIELDS: dict[str, type | tuple[type, ...]] = {
    "format": int,
    "experiment": str,
    "cell": str,
    "reading": (str, type(None)),
    "seed": (int, type(None)),  # None for a secure run
    "settings": dict,
    "private": bool,
    "privacy": dict,
    "data": dict,
    "n_parameters": int,
    "steps": int,
    "history": list,
    "test_accuracy": (float, type(None)),  # None if the run has no test set or was not tested
    "versions": dict,
    "timing": dict,
}


def versions() -> dict[str, str]:
    """The versions of the software on which the numbers can depend. The versions do not identify the machine."""
    blas = [lib for lib in threadpoolctl.threadpool_info() if lib["user_api"] == "blas"]
    blas.sort(key=lambda lib: "numpy" not in lib["filepath"])  # SciPy can have its own linear algebra library
    found = {
        "nfa": nfa.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,  # used for sigmoid, gelu and the accountant
        "platform": f"{platform.system()} {platform.machine()}",
    }
    if blas:
        lib = blas[0]
        found["blas"] = " ".join(str(lib[key]) for key in ("internal_api", "version", "architecture") if lib.get(key))
    return found


def write(path: Path, record: Any) -> None:
    """Write JSON so that a reader sees the old file or the whole new file.

    Raises
    ------
    ValueError : if the record holds NaN or infinity
    OSError : if the file cannot be written. An existing file is then left unchanged
    """
    write_text(path, json.dumps(record, indent=1, allow_nan=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text file whole or not at all. Raises OSError if it cannot be written."""
    write_whole(path, text.encode())


def read(path: Path) -> dict[str, Any]:
    """Read a record and check its form.

    Raises
    ------
    ValueError : if the file is not a whole record
    OSError : if the file cannot be read
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(_damaged(str(path), error)) from error
    validate(record, str(path))
    return record


def seal_of(record: dict[str, Any]) -> str:
    """The seal of a secure run's record: a code that nfa computes from the whole record with the user's key.

    Raises as `nfa.data.keyed_digest.make`.
    """
    content = {name: value for name, value in record.items() if name != "seal"}
    return keyed_digest.seal(_canonical(content))


def refuse_unsealed(record: dict[str, Any], name: str) -> None:
    """Raise ValueError if the record of a secure run has no valid seal of this user's key."""
    content = {key: value for key, value in record.items() if key != "seal"}
    if not keyed_digest.sealed(record.get("seal"), _canonical(content)):
        raise ValueError(f"{name} {UNSEALED}. To start afresh, use --no-resume (resume=False). {COUNT_BESIDE}")


def _canonical(content: Any) -> str:
    return json.dumps(content, sort_keys=True)


def validate(record: Any, name: str = "the record") -> None:
    """Raise a ValueError with one sentence if a field of a record is missing or wrong, or contradicts another field."""
    if not isinstance(record, dict) or record.get("format") != FORMAT:
        raise ValueError(
            f"{name} is not a run record of format {FORMAT}: move this file away, or choose another folder"
        )
    for field, kind in FIELDS.items():
        if field not in record or not isinstance(record[field], kind):
            raise ValueError(_damaged(name, f"{field} is missing or of the wrong kind"))
    secure = record["settings"].get("secure") is True and record["seed"] is None
    if record["private"] and not secure:
        raise ValueError(f"nfa never records a run with a seed as private, but {name} does: choose another folder")
    for what, setting in OF_FILES.items():
        if record["private"] and from_outside(str(record["settings"].get(setting))):
            raise ValueError(
                f"nfa never records a run of a user's own {what} as private, but {name} does: choose another folder"
            )
    if record["private"] and "guarantee" not in record["privacy"]:
        raise ValueError(
            f"nfa never records a run without a guarantee as private, but {name} does: choose another folder"
        )
    if record["private"] and not _below_one_record(record):
        raise ValueError(
            f"nfa never records a run with a delta of at least 1/n as private, but {name} does: choose another folder"
        )
    if record["private"] and not isinstance(record.get("seal"), str):
        raise ValueError(
            f"{name} records a run as private, but has no seal: choose another folder. Either the record was edited, or"
            " version 0.1 wrote the record. The epsilon of secure runs of version 0.1 did not include the privacy loss"
            " from the rounding of floats"
        )
    untested = record["test_accuracy"] is None and record["data"].get("test") == 0
    for measured in ("test_accuracy", "train_accuracy")[untested:]:  # older records have no train_accuracy
        value = record.get(measured, 0.0)
        if not (isinstance(value, float) and 0 <= value <= 1):
            raise ValueError(_damaged(name, f"{measured} must be in [0, 1]"))
    done, of = epochs_of(record)
    stopped = None if done == of else {"epochs": done, "of": of}
    if type(of) is not int or done > of or record.get("stopped") != stopped:
        raise ValueError(f"{name} records {done} of {of} epochs, but not that the run stopped after these epochs")


def _below_one_record(record: dict[str, Any]) -> bool:
    """Whether the guarantee of a record has a delta below 1/n, where n is the number of training examples."""
    guarantee, n = record["privacy"]["guarantee"], record["data"].get("train")
    delta = guarantee.get("delta") if isinstance(guarantee, dict) else None
    return isinstance(delta, float) and type(n) is int and n >= 1 and not caution(delta, n)


def _damaged(name: str, why: object) -> str:
    """The message about an incomplete record, with advice. ``name`` is the path of the record's file."""
    return f"{name} is not a whole record ({why}): delete this file, and repeat the command of the run"


def epochs_of(record: dict[str, Any]) -> tuple[int, Any]:
    """The finished epochs in a record or in the meta of a checkpoint, and the number of epochs of the whole run."""
    return len(record["history"]), record["settings"].get("epochs")


def accuracy_in_words(record: Mapping[str, Any]) -> str:
    """The last accuracy of a record on examples that are not for training; "" if there are no such examples.

    Examples
    --------
    >>> accuracy_in_words({"test_accuracy": None, "history": [{"validation_accuracy": 0.9}]})
    'validation accuracy 90.00%'
    """
    if record["test_accuracy"] is not None:
        return f"test accuracy {record['test_accuracy']:.2%}"
    held_out = record["history"][-1].get("validation_accuracy")
    return "" if held_out is None else f"validation accuracy {held_out:.2%}"


def in_folder(folder: Path) -> Iterator[dict[str, Any]]:
    """The records of a folder, in the order of their file names. Other JSON files are ignored."""
    for path in sorted(folder.glob("*.json")):
        try:
            yield read(path)
        except ValueError:
            continue


def guard(folder: str | os.PathLike, experiment: str) -> Path:
    """Check that a folder is free for the runs of one experiment, and return its path. Nothing is written.

    Raises
    ------
    ValueError : if the path is a file, or if the folder contains another experiment's records or checkpoints
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"the output folder {folder} is a file: choose another folder")
    theirs = [record["experiment"] for record in in_folder(folder)]
    theirs += [checkpoint_meta(path)["experiment"] for path in sorted(folder.glob("*.ckpt.npz"))]
    for other in theirs:
        if other != experiment:
            raise ValueError(
                f"the output folder {folder} holds runs of {other}, not of {experiment}: choose another folder"
            )
    return folder


def refuse_seeded(folder: Path) -> None:
    """Raise ValueError if a secure run would continue in the folder of an interrupted seeded run."""
    for path in sorted(folder.glob("*.ckpt.npz")):
        if not checkpoint_meta(path)["settings"].get("secure"):
            raise ValueError(
                f"the output folder {folder} holds the interrupted run {path.name.removesuffix('.ckpt.npz')}, which"
                " has a seed. A secure run cannot continue a run with a seed: choose another folder"
            )


def refuse_key(folder: Path) -> None:
    """Raise ValueError if a secure run would write its record into the folder of the key to the digest of its data."""
    key = keyed_digest.key_file()
    if key.resolve().is_relative_to(folder.resolve()):
        raise ValueError(
            f"the output folder {folder} holds {key}, the key to the data of secure runs: choose another folder"
        )


def checkpoint_meta(path: Path) -> dict[str, Any]:
    """The meta of a checkpoint (settings and history), read without the arrays.

    Raises ValueError if the checkpoint is incomplete.
    """
    return _header(path)["meta"]


def epochs_begun(checkpoint: Path) -> float:
    """The finished epochs in a checkpoint, plus 1/2 if an epoch has begun; 0 without a checkpoint.

    Raises as `checkpoint_meta`.
    """
    if not checkpoint.exists():
        return 0.0
    header = _header(checkpoint)
    over = header["meta"].get("history") or []
    return len(over) + (0.5 if header["t"] > (over[-1]["step"] if over else 0) else 0.0)


def _header(path: Path) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            header = json.loads(unpack(file, path.stat().st_size, ["header"])["header"].tobytes())
        header["meta"], header["t"]
        return header
    except OSError:
        raise
    except Exception as damage:
        raise ValueError(
            f"{path} is not a whole checkpoint ({first_line(damage)}): delete this file to start the run afresh"
        ) from damage


def settings_of(found: dict[str, Any]) -> dict[str, Any]:
    """The settings in a record or a checkpoint of any version, as this version of nfa records them."""
    settings = {"kernels": False} | found["settings"]  # a record without this entry describes a run with plain NumPy
    settings.pop("threads", None)  # a setting of version 0.1 that has no effect on results
    if isinstance(own := settings.get("rule_settings"), dict):
        settings["rule_settings"] = own | new_values(str(settings.get("rule")), own)
    return settings


def same(found: dict[str, Any], wanted: dict[str, Any], has_data: HasData, folder: Path, what: str) -> None:
    """Raise a ValueError unless a record or a checkpoint belongs to the requested run.

    Parameters
    ----------
    found, wanted : dicts with "cell", "settings" and the digests of the user's own rule or network. found also has
        "digest"
    has_data : as for `finished`
    what : "a finished run" or "an interrupted run"
    """
    afresh = "Choose another folder, or start afresh with --no-resume (resume=False)"
    held = f"the output folder {folder} holds {what} {wanted['cell']}"
    there, here = settings_of(found), settings_of(wanted)
    differs = [
        f"{name} is {there.get(name, 'not set')} in that run and {here.get(name, 'not set')} in the new run"
        for name in sorted(there.keys() | here.keys())
        if there.get(name) != here.get(name)
    ]
    for own, setting in OF_FILES.items():
        if (digest := found.get(f"{own}_digest")) and digest != wanted.get(f"{own}_digest"):
            differs.append(f"another file of the {own} {there[setting]}")
    try:
        if not has_data(found["digest"]):
            differs.append("other data")
    except ValueError as unknown:
        if not differs:
            raise ValueError(f"{held}, but {unknown}. {afresh}") from unknown
    if differs:
        raise ValueError(f"{held} with other settings ({'; '.join(differs)}). {afresh}")


def identify(experiment: str, cell: str, reading: str | None, settings: Settings) -> dict[str, Any]:
    """The values that a record or a checkpoint of this run must have, except the digest of the data."""
    digests = {f"{what}_digest": file_digest(getattr(settings, setting), what) for what, setting in OF_FILES.items()}
    return {
        "experiment": experiment,
        "cell": cell,
        "reading": reading,
        "settings": settings.to_json(),
        **{name: digest for name, digest in digests.items() if digest},
    }


def finished(
    folder: Path, identity: dict[str, Any], has_data: HasData, until: int | None = None
) -> dict[str, Any] | None:
    """Return the record of the run in this folder, or None if the run is not finished.

    Parameters
    ----------
    identity : identity of the run, from `identify`
    has_data : function that returns whether a digest matches the run's data. It raises ValueError if a match cannot be
        determined
    until : number of epochs after which the run stops; None for all. A run that stopped earlier is not finished

    Raises
    ------
    ValueError : if the folder has a run of this name, finished or not, with other settings or data, or with more
        finished epochs than ``until``
    """
    cell, of = identity["cell"], identity["settings"]["epochs"]
    path, checkpoint = folder / f"{cell}.json", folder / f"{cell}.ckpt.npz"
    wanted = of if until is None else min(until, of)
    done = 0.0
    if path.exists():
        record = read(path)
        same(record | {"digest": record["data"]["digest"]}, identity, has_data, folder, "a finished run")
        done = len(record["history"])
        if done == wanted:
            return record
    if checkpoint.exists():
        same(checkpoint_meta(checkpoint), identity, has_data, folder, "an interrupted run")
        done = max(done, epochs_begun(checkpoint))
    if done > wanted:
        raise ValueError(
            f"the run {cell} in the output folder {folder} has already finished more than {wanted} of {of} epochs:"
            " ask for at least"
            f" {math.ceil(done)} epochs, choose another folder, or start afresh with --no-resume (resume=False)"
        )
    return None
