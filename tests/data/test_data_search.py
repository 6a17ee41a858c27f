"""Tests of the search for data sets, and of downloads of right and damaged files from a real server."""

import gzip
import hashlib
import http.server
import io
import logging
import re
import struct
import sys
import tarfile
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pooch
import pytest

from nfa import data
from nfa.data import search
from nfa.data.dataset import LAYOUTS
from nfa.data.registry import DATASETS, DatasetInfo, Download, File, Variant, by_name, find
from tests.data import sources


def idx(shape, content):
    return struct.pack(f">BBBB{len(shape)}I", 0, 0, 8, len(shape), *shape) + content


CONTENT = {
    "train-images": idx((4, 2, 2), bytes(range(16))),
    "train-labels": idx((4,), bytes([0, 1, 1, 0])),
    "t10k-images": idx((1, 2, 2), bytes(4)),
    "t10k-labels": idx((1,), b"\1"),
}
PACKED = {f"{name}.gz": gzip.compress(content) for name, content in CONTENT.items()}
CLOSED = "http://127.0.0.1:9"  # no process listens on the discard port


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def toy(*mirrors, **changed):
    """A data set of five tiny images in the layout of MNIST, at the given mirrors."""
    fields = {
        "name": "toy",
        "title": "Toy",
        "layout": "idx",
        "folder": "toy-folder",
        "shape": (1, 2, 2),
        "class_names": ("left", "right"),
        "licence": "none",
        "origin": "this test",
        "variants": (Variant(tuple(File(n, sha256(c)) for n, c in CONTENT.items()), n_train=4, n_test=1),),
        "downloads": tuple(
            Download(n, f"sha256:{sha256(c)}", tuple(f"{mirror}/{n}" for mirror in mirrors)) for n, c in PACKED.items()
        ),
    }
    return DatasetInfo(**(fields | changed))


def put(folder, content):
    folder.mkdir(parents=True, exist_ok=True)
    for name, bytes_ in content.items():
        (folder / name).write_bytes(bytes_)
    return folder


@pytest.fixture(autouse=True)
def nowhere(tmp_path, monkeypatch):
    """An environment with no data set, an empty user cache, and no proxy between a test and its server."""
    monkeypatch.delenv("NFA_DATA_HOME", raising=False)
    monkeypatch.setattr(search, "user_cache", lambda: tmp_path / "cache")
    monkeypatch.setattr(search, "DEBIAN", tmp_path / "debian" / "fashion-mnist")
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(DATASETS, "toy", toy(CLOSED))


@pytest.fixture
def server():
    """A web server on this machine. Set `files[path] = bytes` to add a file. `asked` contains the requests."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.server.asked.append(self.path)
            content = self.server.files.get(self.path)
            self.send_response(404 if content is None else 200)
            content = content or b""
            if "gzip" in self.headers["Accept-Encoding"]:  # some servers mark .gz files so that the client unpacks them
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(content) + self.server.promised_too_much))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.files, server.asked, server.promised_too_much = {}, [], 0
        server.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


# ---- the order of the folders


@pytest.mark.parametrize("content", [CONTENT, PACKED], ids=["plain", "gz"])
def test_each_step_of_the_order(tmp_path, monkeypatch, content):
    monkeypatch.setenv("NFA_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.setitem(DATASETS, "toy", toy(CLOSED, folder="fashion-mnist"))
    steps = [
        (tmp_path / "mine" / "fashion-mnist", "data_dir/fashion-mnist"),
        (tmp_path / "mine", "data_dir"),
        (tmp_path / "home" / "fashion-mnist", "NFA_DATA_HOME/fashion-mnist"),
        (tmp_path / "cache" / "fashion-mnist", "the user cache (fashion-mnist)"),
        (tmp_path / "debian" / "fashion-mnist", str(tmp_path / "debian" / "fashion-mnist")),
    ]
    for folder, _ in steps:
        put(folder, content)
    for folder, label in steps:
        loaded = data.load("toy", tmp_path / "mine")
        assert loaded.source == label
        assert data.path("toy", tmp_path / "mine") == folder
        assert data.fetch("toy", str(tmp_path / "mine")) == folder
        assert next(row for row in data.list_datasets(tmp_path / "mine") if row.name == "toy").found == label
        next(iter(folder.glob("train-labels*"))).unlink()  # nfa ignores an incomplete data set
    with pytest.raises(data.DataUnavailable):
        data.load("toy", tmp_path / "mine")
    assert next(row for row in data.list_datasets() if row.name == "toy").found == ""


def test_debian_folder_serves_fashion_mnist_alone():
    assert [place.folder for place in search.places(find("fashion-mnist"))][-1] == search.DEBIAN
    assert search.DEBIAN not in [place.folder for place in search.places(find("mnist"))]


def test_data_home_is_for_folders_of_data_sets(tmp_path, monkeypatch):
    put(tmp_path / "home", CONTENT)  # the files are not in a folder with the data set's name, so nfa ignores them
    monkeypatch.setenv("NFA_DATA_HOME", str(tmp_path / "home"))
    assert search.locate(find("toy")) is None
    monkeypatch.setenv("NFA_DATA_HOME", "")
    assert not any("NFA_DATA_HOME" in place.label for place in search.places(find("toy")))


def test_user_cache_is_pooch_s(monkeypatch):
    monkeypatch.undo()
    assert search.user_cache() == Path(pooch.os_cache("nfa"))


def test_embedded_data_need_no_folder_and_no_pooch(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    monkeypatch.setitem(sys.modules, "requests", None)
    assert data.load("fashion-mnist-small").source == "embedded in nfa"
    assert data.path("fashion-mnist-small").name == "fashion-mnist-small.npz"
    assert data.fetch("fashion-mnist-small").is_file()


def test_data_dir_must_be_a_folder(tmp_path):
    for call in (data.load, data.path, data.fetch):
        with pytest.raises(ValueError, match=r"^data_dir must be an existing folder, got 'absent'$"):
            call("toy", "absent")


@pytest.mark.parametrize(
    "name, meant",
    [
        ("FashionMNIST", "; did you mean fashion-mnist?"),
        ("mnsit", "; did you mean mnist?"),
        ("cifar10", "; did you mean cifar-10?"),
        ("fashion_mnist_smal", "; did you mean fashion-mnist-small or fashion-mnist?"),
        ("imagenet", ""),
        ("", ""),
    ],
)
def test_unknown_name_is_told_the_known_ones(name, meant):
    known = ", ".join(DATASETS)
    own = " or, to load your own, the path of an .npz or a .csv file"
    for call, besides in ((data.load, own), (data.path, ""), (data.fetch, "")):
        with pytest.raises(ValueError) as caught:
            call(name)
        assert str(caught.value) == f"dataset must be one of {known}{besides}, got {name!r}{meant}"


# ---- offline


def test_offline_is_one_sentence_that_says_where_to_put_what(tmp_path):
    with pytest.raises(data.DataUnavailable) as caught:
        data.load("toy")
    assert str(caught.value) == (
        "toy is in none of the places searched (NFA_DATA_HOME, which is not set; the user cache (toy-folder)) and"
        " cannot be downloaded (127.0.0.1 cannot be reached): put train-images, train-labels, t10k-images, t10k-labels"
        " (or these files compressed as .gz) into a folder toy-folder below the folder that NFA_DATA_HOME or data_dir"
        " names"
    )
    assert str(tmp_path) not in str(caught.value)
    assert isinstance(caught.value, OSError)
    assert list((tmp_path / "cache").rglob("*")) in ([], [tmp_path / "cache" / "toy-folder"])


def test_what_is_lacking_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("NFA_DATA_HOME", str(tmp_path))
    folder = put(tmp_path / "toy-folder", CONTENT)
    (folder / "t10k-labels").unlink()
    (folder / "train-images").unlink()
    with pytest.raises(
        data.DataUnavailable, match="NFA_DATA_HOME/toy-folder, which lacks train-images and t10k-labels;"
    ):
        data.load("toy")
    with pytest.raises(data.DataUnavailable, match=r"which lacks .*; `nfa data fetch toy` downloads it$"):
        data.path("toy")


# ---- downloads


def test_download_is_checked_kept_and_not_repeated(tmp_path, monkeypatch, server, capfd):
    monkeypatch.setitem(DATASETS, "toy", toy(server.url))
    server.files = {f"/{name}": content for name, content in PACKED.items()}
    folder = data.fetch("toy")
    assert folder == tmp_path / "cache" / "toy-folder"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == PACKED
    assert sorted(server.asked) == sorted(server.files)
    loaded = data.load("toy")
    assert loaded.source == "the user cache (toy-folder)"
    assert loaded.x_train.ravel().tolist() == list(range(16))
    assert data.fetch("toy") == folder
    assert len(server.asked) == 4
    assert capfd.readouterr() == ("", "")  # the command prints nothing else
    assert not pooch.get_logger().isEnabledFor(logging.INFO)  # pooch would write its messages to an old sys.stderr


def test_load_downloads_by_itself(monkeypatch, server):
    monkeypatch.setitem(DATASETS, "toy", toy(server.url))
    server.files = {f"/{name}": content for name, content in PACKED.items()}
    assert data.load("toy").y_train.tolist() == [0, 1, 1, 0]


@pytest.mark.parametrize("first", ["closed", "tampered", "absent", "unpacked"])
def test_next_mirror_when_the_first_fails(monkeypatch, server, first):
    monkeypatch.setitem(
        DATASETS, "toy", toy(CLOSED if first == "closed" else f"{server.url}/first", f"{server.url}/second")
    )
    server.files = {f"/second/{name}": content for name, content in PACKED.items()}
    if first == "tampered":
        server.files |= {f"/first/{name}": content[:-1] + b"?" for name, content in PACKED.items()}
    if first == "unpacked":
        server.files |= {f"/first/{name}": CONTENT[name[:-3]] for name in PACKED}
    assert data.load("toy").y_test.tolist() == [1]
    assert sum(path.startswith("/second/") for path in server.asked) == 4


@pytest.mark.parametrize(
    "fault, reason",
    [
        ("tampered", "127.0.0.1 sent train-images.gz with a digest that is not the published one"),
        ("cut short", "127.0.0.1 cannot be reached"),
        ("absent", "127.0.0.1 answered 404"),
    ],
)
def test_broken_download_leaves_no_file(tmp_path, monkeypatch, server, fault, reason):
    monkeypatch.setitem(DATASETS, "toy", toy(server.url))
    if fault != "absent":
        server.files = {f"/{name}": content[:-1] + b"?" for name, content in PACKED.items()}
    if fault == "cut short":
        server.promised_too_much = 100
    with pytest.raises(data.DataUnavailable, match=rf"cannot be downloaded \({reason}\): put train-images"):
        data.fetch("toy")
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_cache_that_cannot_be_written(tmp_path, monkeypatch, server):
    monkeypatch.setitem(DATASETS, "toy", toy(server.url))
    server.files = {f"/{name}": content for name, content in PACKED.items()}
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(data.DataUnavailable, match=r"^train-images.gz cannot be written to the user cache: \w+"):
        data.fetch("toy")


def record(label, seed):
    return bytes([label]) + bytes((seed + i) % 256 for i in range(3072))


BATCHES = {f"data_batch_{i}.bin": record(i, i) for i in range(1, 6)} | {"test_batch.bin": record(9, 9)}


def archive(content):
    """A tar.gz with the layout of the published archive, and with one unknown file."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, bytes_ in ({"readme.html": b"hello", "../escaped": b"bad"} | content).items():
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            member.size = len(bytes_)
            tar.addfile(member, io.BytesIO(bytes_))
    return out.getvalue()


def small_cifar(url, packed, digest=None):
    files = tuple(File(name, sha256(content)) for name, content in BATCHES.items())
    digest = digest or f"md5:{hashlib.md5(packed).hexdigest()}"
    download = Download("cifar-10-binary.tar.gz", digest, (f"{url}/c.tar.gz",))
    return replace(DATASETS["cifar-10"], variants=(Variant(files, 5, 1),), downloads=(download,))


def test_cifar_archive_is_unpacked_and_removed(tmp_path, monkeypatch, server):
    packed = archive(BATCHES)
    server.files["/c.tar.gz"] = packed
    monkeypatch.setitem(DATASETS, "cifar-10", small_cifar(server.url, packed))
    loaded = data.load("cifar-10")
    folder = tmp_path / "cache" / "cifar-10-batches-bin"
    assert sorted(path.name for path in folder.iterdir()) == sorted(BATCHES)
    assert not any(path.name == "escaped" for path in tmp_path.rglob("*"))
    assert loaded.y_train.tolist() == [1, 2, 3, 4, 5]
    assert loaded.y_test.tolist() == [9]
    assert loaded.x_train[2, 0, 0, :3].tolist() == [3, 4, 5]
    assert loaded.note == ""


def test_cifar_archive_with_a_changed_batch_does_not_load(monkeypatch, server):
    packed = archive(BATCHES | {"data_batch_4.bin": record(4, 0)})
    server.files["/c.tar.gz"] = packed
    monkeypatch.setitem(DATASETS, "cifar-10", small_cifar(server.url, packed))
    with pytest.raises(ValueError, match=r"^cifar-10, the user .*: data_batch_4.bin: the content differs from the pub"):
        data.load("cifar-10")


# ---- changed files on this machine


@pytest.mark.parametrize("name", list(CONTENT))
def test_tampered_file_is_refused(tmp_path, name):
    changed = bytearray(CONTENT[name])
    changed[-1] ^= 1
    put(tmp_path / "toy-folder", CONTENT | {name: bytes(changed)})
    with pytest.raises(ValueError) as caught:
        data.load("toy", tmp_path)
    assert str(caught.value) == (
        f"toy, data_dir/toy-folder: {name}: the content differs from the published content"
        f" (sha256 {sha256(changed)[:12]}..., need {sha256(CONTENT[name])[:12]}...):"
        " delete the file so that nfa fetches it again, or replace it by the original"
    )


@pytest.mark.parametrize(
    "content, sentence",
    [
        (CONTENT["train-images"][:-3], "the IDX header declares 16 bytes, but the file holds only 13"),
        (CONTENT["train-images"] + b"?", "the file holds more than the 16 bytes that the IDX header declares"),
    ],
)
def test_file_of_another_length_names_data_set_and_folder(tmp_path, content, sentence):
    put(tmp_path / "toy-folder", CONTENT | {"train-images": content})
    with pytest.raises(ValueError, match=f"^toy, data_dir/toy-folder: train-images: {sentence}$"):
        data.load("toy", tmp_path)


# ---- mistakes in an entry of the registry


@pytest.mark.parametrize(
    "changed, sentence",
    [
        ({"shape": (1, 4, 1)}, "3 training images of 1x4x1, but the files hold 4 training images of 1x2x2"),
        ({}, "3 training images of 1x2x2, but the files hold 4 training images of 1x2x2"),
        ({"n_train": 4, "n_test": 2}, "2 test images of 1x2x2, but the files hold 1 test images of 1x2x2"),
    ],
)
def test_sizes_that_the_files_do_not_have_are_refused(tmp_path, monkeypatch, changed, sentence):
    put(tmp_path / "toy-folder", CONTENT)
    sizes = {"n_train": 3, "n_test": 1} | {key: n for key, n in changed.items() if key != "shape"}
    shape = changed.get("shape", (1, 2, 2))
    entry = toy(CLOSED, shape=shape, variants=(replace(toy().variants[0], **sizes),))
    monkeypatch.setitem(DATASETS, "toy", entry)
    with pytest.raises(ValueError, match=f"^toy, data_dir/toy-folder: the registry declares {sentence}$"):
        data.load("toy", tmp_path)


def test_unknown_layout_is_refused(monkeypatch):
    monkeypatch.setitem(DATASETS, "toy", toy(layout="idz"))
    with pytest.raises(ValueError, match=r"^toy: layout must be one of idx, cifar, npz, got 'idz'$"):
        data.load("toy")


@pytest.mark.parametrize("name", ["toy", "epsilon"])
def test_a_name_that_is_taken_is_refused(name):
    with pytest.raises(ValueError, match=f"^{name}: another data set has this name: choose a new name$"):
        by_name([toy(), toy(name=name)])


def test_without_a_known_download_the_user_puts_the_files(tmp_path, monkeypatch):
    monkeypatch.setitem(DATASETS, "toy", toy(downloads=()))
    for ask in (data.path, data.load, data.fetch):
        with pytest.raises(
            data.DataUnavailable, match=r"\); no download is known: put the files into NFA_DATA_HOME/toy-folder$"
        ):
            ask("toy")


def test_tampered_embedded_data_are_refused(tmp_path, monkeypatch):
    original = data.path("fashion-mnist-small").read_bytes()
    put(tmp_path, {"fashion-mnist-small.npz": original[:-1] + b"?"})
    monkeypatch.setattr(search.importlib.resources, "files", lambda _: tmp_path)
    with pytest.raises(ValueError, match=r"^fashion-mnist-small, .*: the content differs from the published content"):
        data.load("fashion-mnist-small")


def test_unreadable_file_is_one_sentence(tmp_path, monkeypatch):
    put(tmp_path / "toy-folder", CONTENT)

    def refuse(path, digest):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("nfa.data.dataset.read_idx", refuse)
    with pytest.raises(data.DataUnavailable, match=r"^train-images: the file cannot be read \(Permission denied\)$"):
        data.load("toy", tmp_path)


def test_every_entry_of_the_registry_is_complete():
    for name, info in DATASETS.items():
        assert info.name == name
        assert info.layout in LAYOUTS
        assert info.classes == len(set(info.class_names))
        for variant in info.variants:
            assert all(len(file.sha256) == 64 for file in variant.files)
        # all variants after the first have a note about their changed bytes
        assert np.all([variant.note for variant in info.variants[1:]])
        assert all(len(download.urls) >= 1 for download in info.downloads)


# ---- SOURCES.md


def test_the_table_of_sources_is_written_by_the_registry(monkeypatch):
    """The table in SOURCES.md is that of the registry. `python -m tests.data.sources` updates the table."""
    monkeypatch.delitem(DATASETS, "toy")
    text = sources.PAGE.read_text(encoding="utf-8")
    assert text.count(sources.START) == text.count(sources.END) == 1
    stale = "the table of data/SOURCES.md is stale: `.venv/bin/python -m tests.data.sources` rewrites it"
    assert sources.page(text) == text, stale


def test_every_data_set_has_a_paragraph_in_sources(monkeypatch):
    """Every data set has a paragraph in SOURCES.md, or a section if it is embedded.

    The paragraph or section is for the source and the digests of the data set's files.
    """
    monkeypatch.delitem(DATASETS, "toy")
    text = sources.PAGE.read_text(encoding="utf-8")
    for info in DATASETS.values():
        heading = f"## {info.folder}" if info.layout == "npz" else f"- **{info.title}**"
        assert re.search(rf"^{re.escape(heading)}", text, re.MULTILINE), f"{heading} is missing in data/SOURCES.md"


def test_a_row_of_the_table_by_hand():
    info = replace(toy(), shape=(3, 4, 5), class_names=tuple("abc"), licence="CC0", origin="Doe (1999)")
    assert sources.row(info) == "| toy | Toy | 4 + 1, colour, 4x5, 3 classes | CC0 | Doe (1999) |\n"
