"""The search for the files of a data set, the download, and the message if files are missing.

nfa searches the argument `data_dir`, the environment variable NFA_DATA_HOME, the user cache and, for Fashion-MNIST, the
folder of the Debian package. Then pooch downloads from the mirrors of the registry into the user cache.
"""

import importlib.resources
import os
import shutil
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from nfa.data.registry import DATASETS, DatasetInfo, Download, Variant, find

DEBIAN = Path("/usr/share/datasets/fashion-mnist")
TIMEOUT = 10  # seconds after which a mirror without an answer is skipped


class DataUnavailable(OSError):
    """The files of a data set cannot be found, downloaded, read or written. The message gives advice."""


class NotReadable(DataUnavailable, ValueError):
    """A user's own file is missing or cannot be read.

    The exception is a ValueError, because the caller has named this file.
    """


@dataclass(frozen=True)
class SearchedFolder:
    """A folder to search, and a name of the folder for messages and records, without an absolute path."""

    label: str
    folder: Path


@dataclass(frozen=True)
class FoundFiles:
    """A complete set of files: their folder, the variant, and the files in the variant's order."""

    place: SearchedFolder
    variant: Variant
    files: tuple[Path, ...]


@dataclass(frozen=True)
class Listed:
    """One line of the list of data sets. If the data set must be downloaded first, `found` is empty."""

    name: str
    n_train: int
    n_test: int
    shape: tuple[int, int, int]
    classes: int
    licence: str
    found: str
    note: str


def path(name: str, data_dir: str | os.PathLike[str] | None = None) -> Path:
    """The folder from which `load` would read or, for the embedded data set, the file. Nothing is downloaded.

    Raises
    ------
    ValueError : if the name is not known, or data_dir is not a folder
    DataUnavailable : if the files are in none of the searched places
    """
    info = find(name)
    found = locate(info, data_dir)
    if found is None:
        fetched = f"; `nfa data fetch {name}` downloads it" * bool(info.downloads)
        raise DataUnavailable(_not_here(info, data_dir) + fetched)
    return found.files[0] if info.layout == "npz" else found.place.folder


def fetch(name: str, data_dir: str | os.PathLike[str] | None = None, *, progressbar: Any = False) -> Path:
    """Make sure that the files of a data set are on this machine. If needed, download them into the user cache.

    Parameters
    ----------
    name : a name in DATASETS
    data_dir : folder that is searched first
    progressbar : as for `pooch.HTTPDownloader`: False, True (needs tqdm), or an object with a `total` attribute and the
        methods update, reset and close

    Returns
    -------
    as `path`

    Raises
    ------
    ValueError : if the name is not known, or data_dir is not a folder
    DataUnavailable : if the files are not found and no mirror has them. The message lists the searched places and gives
        advice

    Notes
    -----
    Guarantees: a file gets its name only when it is complete and has the digest of the registry. The function does not
    read existing files, but `load` checks them.
    """
    info = find(name)
    locate_or_download(info, data_dir, progressbar=progressbar)
    return path(name, data_dir)


def list_datasets(data_dir: str | os.PathLike[str] | None = None) -> list[Listed]:
    """Every known data set with the place of its files. No file is read or downloaded."""
    rows = []
    for info in DATASETS.values():
        found = locate(info, data_dir)
        variant = found.variant if found else info.variants[0]
        where = found.place.label if found else ""
        shape, classes = info.shape, info.classes
        n_train, n_test = variant.n_train, variant.n_test
        rows.append(Listed(info.name, n_train, n_test, shape, classes, info.licence, where, variant.note))
    return rows


def locate_or_download(
    info: DatasetInfo, data_dir: str | os.PathLike[str] | None = None, *, progressbar: Any = False
) -> FoundFiles:
    """The first complete set of files in the search order. Raises DataUnavailable if there is none."""
    found = locate(info, data_dir)
    if found is None:
        for item in info.downloads:
            _download(info, item, data_dir, progressbar)
        found = locate(info, data_dir)
    if found is None:
        raise DataUnavailable(_not_here(info, data_dir))
    return found


def locate(info: DatasetInfo, data_dir: str | os.PathLike[str] | None = None) -> FoundFiles | None:
    """The first complete set of files on this machine, or None."""
    for place in places(info, data_dir):
        for variant in info.variants:
            files = [_present(place.folder, file.name) for file in variant.files]
            if all(files):
                return FoundFiles(place, variant, tuple(file for file in files if file))
    return None


def places(info: DatasetInfo, data_dir: str | os.PathLike[str] | None = None) -> list[SearchedFolder]:
    """The folders to search, in order.

    In `data_dir`, the files may be in the data set's own folder or directly in `data_dir`. In NFA_DATA_HOME, the files
    must be in the data set's own folder, because NFA_DATA_HOME is for many data sets.

    Raises
    ------
    ValueError : if data_dir is given and is not a folder
    """
    root = existing(data_dir)
    if info.layout == "npz":
        return [SearchedFolder("embedded in nfa", Path(str(importlib.resources.files("nfa.data"))))]
    order = []
    if root is not None:
        order += [SearchedFolder(f"data_dir/{info.folder}", root / info.folder), SearchedFolder("data_dir", root)]
    home = os.environ.get("NFA_DATA_HOME")
    if home:
        order.append(SearchedFolder(f"NFA_DATA_HOME/{info.folder}", Path(home).expanduser() / info.folder))
    order.append(SearchedFolder(f"the user cache ({info.folder})", user_cache() / info.folder))
    if info.folder == DEBIAN.name:
        order.append(SearchedFolder(str(DEBIAN), DEBIAN))
    return order


def existing(data_dir: str | os.PathLike[str] | None) -> Path | None:
    """The folder data_dir as a Path, or None if data_dir is None. Raises ValueError if there is no such folder."""
    if data_dir is None:
        return None
    root = Path(data_dir).expanduser()
    if not root.is_dir():
        raise ValueError(f"data_dir must be an existing folder, got {str(data_dir)!r}")
    return root


def user_cache() -> Path:
    """The user's folder for files that can be downloaded again."""
    import pooch  # imported here, because the embedded data set does not need pooch

    return Path(pooch.os_cache("nfa"))


def _present(folder: Path, name: str) -> Path | None:
    candidates = (folder / name, folder / f"{name}.gz")
    return next((candidate for candidate in candidates if os.path.isfile(candidate)), None)


def _download(info: DatasetInfo, item: Download, data_dir: str | os.PathLike[str] | None, progressbar: Any) -> None:
    """Download one file into the user cache from the first mirror that has it, and unpack it if it is an archive."""
    import pooch
    import requests

    folder = user_cache() / info.folder
    downloader = pooch.HTTPDownloader(
        progressbar=progressbar,
        chunk_size=2**16,
        timeout=TIMEOUT,
        # Otherwise, a server could send a .gz file unpacked, with another digest.
        headers={"Accept-Encoding": "identity"},
    )
    pooch.get_logger().setLevel("WARNING")  # pooch would print a message about every download between our own output
    failures = []
    for url in item.urls:
        host = urlsplit(url).hostname
        try:
            pooch.retrieve(url, item.digest, fname=item.name, path=folder, downloader=downloader)
            if item.name.endswith(".tar.gz"):
                _unpack(folder / item.name, info.variants[0], folder)
            return
        except requests.exceptions.HTTPError as error:
            failures.append(f"{host} answered {getattr(error.response, 'status_code', 'with an error')}")
        except requests.exceptions.RequestException:
            failures.append(f"{host} cannot be reached")
        except ValueError:
            failures.append(f"{host} sent {item.name} with a digest that is not the published one")
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise DataUnavailable(f"{item.name} cannot be written to the user cache: {reason}") from error
    wanted = ", ".join(file.name for file in info.variants[0].files)
    raise DataUnavailable(
        f"{_not_here(info, data_dir)} and cannot be downloaded ({', '.join(failures)}): put {wanted} (or these files"
        f" compressed as .gz) into a folder {info.folder} below the folder that NFA_DATA_HOME or data_dir names"
    )


def _unpack(archive: Path, variant: Variant, folder: Path) -> None:
    """Extract the files of a variant from a tar archive, with any folders in it, and remove the archive."""
    wanted = {file.name for file in variant.files}
    with tempfile.TemporaryDirectory(dir=folder) as unfinished, tarfile.open(archive) as tar:
        for member in tar:
            name = member.name.rpartition("/")[2]
            stream = tar.extractfile(member) if name in wanted and member.isfile() else None
            if stream is not None:
                with stream, open(os.path.join(unfinished, name), "wb") as out:
                    shutil.copyfileobj(stream, out)
        for name in os.listdir(unfinished):
            os.replace(os.path.join(unfinished, name), folder / name)
    archive.unlink()


def _not_here(info: DatasetInfo, data_dir: str | os.PathLike[str] | None) -> str:
    looked = [] if os.environ.get("NFA_DATA_HOME") else ["NFA_DATA_HOME, which is not set"]
    for place in places(info, data_dir):
        there = [_present(place.folder, file.name) for file in info.variants[0].files]
        lacking = [file.name for file, present in zip(info.variants[0].files, there, strict=True) if not present]
        looked.append(place.label + (f", which lacks {' and '.join(lacking)}" if any(there) else ""))
    by_hand = f"; {info.by_hand}" * bool(info.by_hand)
    return f"{info.name} is in none of the places searched ({'; '.join(looked)}){by_hand}"
