"""The fuzzed readers: for each kind of file, the reader, initial files, and the conversion of an input to a file.

A compressed file is rarely valid after a mutation, so we would only test its checksum. For kinds that can be
compressed, the first byte of an input therefore determines whether and how we compress the other bytes.
"""

import bz2
import gzip
import io
import json
import struct
import tempfile
import tracemalloc
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from nfa import network, ops
from nfa.data import cifar, idx, libsvm, npz
from nfa.experiments import records
from nfa.experiments.checkpoint import load_checkpoint, save_checkpoint
from nfa.ledger import entries
from nfa.optim import SGD
from tests.project.tree import ROOT

MOST_MEMORY = 48 * 2**20  # bytes; an input unpacks to at most a tenth of this size
SECONDS = 10  # time limit for one input


def as_it_is(data: bytes) -> bytes:
    """The conversion that uses the input as the file."""
    return data


def packed(data: bytes) -> bytes:
    """The input without its first byte, uncompressed or compressed by gzip or bzip2. The first byte determines how."""
    pack: tuple[Callable, ...] = (as_it_is, as_it_is, gzip.compress, lambda plain: bz2.compress(plain, 1))
    return pack[data[0] % 4](data[1:]) if data else b""


def archived(names: tuple[str, ...]) -> Callable[[bytes], bytes]:
    """A conversion to the input without its first byte, or to a zip archive of its pieces with the given names.

    `CUT` separates the pieces.
    """

    def make(data: bytes) -> bytes:
        if not data or data[0] % 4 == 0:
            return data[1:]
        archive = io.BytesIO()
        how = zipfile.ZIP_DEFLATED if data[0] % 4 == 1 else zipfile.ZIP_STORED
        with zipfile.ZipFile(archive, "w", how) as made:
            for name, piece in zip(names, data[1:].split(CUT), strict=False):
                made.writestr(f"{name}.npy", piece)
        return archive.getvalue()

    return make


CUT = b"\xfe\xed\xfa\xce"


@dataclass(frozen=True)
class Reader:
    """One kind of file.

    Parameters
    ----------
    read : function of a path that raises ValueError or OSError, in one sentence, or returns the content
    seeds : function that returns initial inputs
    as_file : function, bytes of an input -> bytes of the file
    words : byte strings that the fuzzer may put anywhere
    longest : largest size of an input, in bytes
    """

    read: Callable[[Path], object]
    seeds: Callable[[], list[bytes]]
    as_file: Callable[[bytes], bytes] = as_it_is
    words: list[bytes] = field(default_factory=list)
    longest: int = 4096


def _finite(*arrays: np.ndarray) -> None:
    if not all(np.isfinite(a).all() for a in arrays):
        raise AssertionError("what was read is not finite")


def _read_idx(path: Path) -> None:
    _finite(idx.read_idx(path))


def _idx_seeds() -> list[bytes]:
    rng = np.random.default_rng(0)
    found = []
    for code, dtype in idx.ELEMENTS.items():
        for shape in ((3,), (2, 3), (2, 2, 2)):
            head = bytes([0, 0, code, len(shape)]) + struct.pack(f">{len(shape)}I", *shape)
            found.append(b"\0" + head + rng.integers(0, 100, shape).astype(dtype).tobytes())
    return found + [b"\2" + found[0][1:], b"\2" + found[4][1:]]


def _read_cifar(path: Path) -> None:
    images, labels = cifar.read_cifar(path)
    if len(images) != len(labels) or labels.max() >= cifar.CLASSES:
        raise AssertionError("images and labels do not belong together")


def _read_libsvm(path: Path) -> None:
    _finite(*libsvm.read_libsvm(path, 3, 5))


def _libsvm_seeds() -> list[bytes]:
    text = b"+1 1:0.5 2:-1e-3 5:3\n-1 3:.25\n1 1:1 2:2 3:3 4:4 5:5\n"
    return [bytes([how]) + text for how in range(4)]


def _read_npz(path: Path) -> None:
    _finite(*npz.read_npz(path).values())


def _array(a: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, a)
    return file.getvalue()


def _npz_seeds() -> list[bytes]:
    arrays = [np.ones((2, 3)), np.array([0, 1]), np.ones((1, 3), np.float32), np.array([1], np.uint8)]
    whole = io.BytesIO()
    np.savez(whole, **dict(zip(npz.ARRAYS, arrays, strict=True)))
    pieces = CUT.join(_array(a) for a in arrays)
    return [b"\0" + whole.getvalue(), b"\1" + pieces, b"\2" + pieces]


def _read_ledger(path: Path) -> None:
    entries.check_names(entries.parse(path.read_text(encoding="utf-8"))[1])


def _ledger_seeds() -> list[bytes]:
    head = '[paper.a2020]\ntitle = "T"\nauthors = ["A"]\nversion = "1"\ntexts = []\ncaveats = []\n'
    item = '[[item]]\nid = "a2020:eq1"\nkind = "equation"\nwhere = "Section 1"\nverdict = "pending"\n'
    judged = (
        '[[item]]\nid = "a2020:eq2"\naliases = ["a2020:e2"]\nkind = "equation"\nwhere = "1"\nverdict = "false"\n'
        'claims = "c"\nright = "r"\nnumber = "1"\ncheck = "c"\ncode = ["nfa.network.ops:tanh"]\n'
        'tutorial = "01_forward#a"\n'
    )
    return [text.encode() for text in (head, head + item, head + item + judged)]


def _read_record(path: Path) -> None:
    record = records.read(path)
    if len(record["history"]) != record["settings"]["epochs"] and "stopped" not in record:
        raise AssertionError("a record of some epochs is taken for one of all")
    if record["private"] and (record["seed"] is not None or "guarantee" not in record["privacy"]):
        raise AssertionError("a record is called private that is not")


def _a_record() -> dict:
    path = min((ROOT / "results" / "dpulr2024-table1-paper").glob("*seed1.json"))
    record = json.loads(path.read_text())
    of = record["settings"]["epochs"]
    return record | {"history": record["history"][:1], "stopped": {"epochs": 1, "of": of}}


def _record_seeds() -> list[bytes]:
    record = _a_record()
    private = record | {
        "seed": None,
        "private": True,
        "settings": record["settings"] | {"secure": True},
        "privacy": {"guarantee": {"delta": 1e-5}},
        "seal": "sealed",
    }
    return [json.dumps(r).encode() for r in (record, private, {}, [])]


def _net() -> network.Net:
    return network.mlp([2, 2, 2], ops.tanh, rng=np.random.default_rng(0))


def _read_checkpoint(path: Path) -> None:
    """Read a checkpoint like a continued run: first its header, then all arrays."""
    records.checkpoint_meta(path)
    net, optimizer, state = _net(), SGD(0.1, 0.9), {}
    t, _ = load_checkpoint(path, net, optimizer, state, privacy=None)
    if type(t) is not int or t < 0:
        raise AssertionError(f"a checkpoint of step {t!r} was taken")
    if [W.shape for W in net.W[1:]] != [(2, 2), (2, 2)]:
        raise AssertionError("parameters of other shapes were taken")


PARTS = ("header", "W1", "W2", "b1", "b2", *(f"optimizer/v/{i}" for i in range(4)), "state/s")


def _checkpoint_seeds() -> list[bytes]:
    net, optimizer = _net(), SGD(0.1, 0.9)
    optimizer.step(net, [None, *map(np.zeros_like, net.W[1:])], [None, *map(np.zeros_like, net.b[1:])], 1)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.ckpt.npz"
        save_checkpoint(file, net, optimizer, 3, {"s": np.ones(2), "word": 1}, meta={"settings": {}})
        whole = file.read_bytes()
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        pieces = CUT.join(archive.read(f"{name}.npy") for name in PARTS)
    return [b"\0" + whole, b"\1" + pieces, b"\2" + pieces]


READERS = {
    "idx": Reader(_read_idx, _idx_seeds, packed),
    "cifar": Reader(
        _read_cifar,
        lambda: [bytes([how, 3]) + bytes(cifar.RECORD - 1) for how in (0, 2)] + [b"\0" + bytes(2 * cifar.RECORD)],
        packed,
        longest=3 * cifar.RECORD,
    ),
    "libsvm": Reader(_read_libsvm, _libsvm_seeds, packed, [b"nan", b"inf", b"1e999", b" 1:", b":"], longest=1024),
    "npz": Reader(_read_npz, _npz_seeds, archived(npz.ARRAYS), [CUT, b"|O", b"'<f8'", b"'shape': (", b"PK\3\4"]),
    "toml": Reader(
        _read_ledger,
        _ledger_seeds,
        words=[f"{f} = ".encode() for f in (*entries.TEXT_FIELDS, *entries.LIST_FIELDS)] + [b"[[item]]\n", b"[paper."],
    ),
    "record": Reader(
        _read_record,
        _record_seeds,
        words=[f'"{f}": '.encode() for f in records.FIELDS] + [b"NaN", b"null", b"true", b"1e999", b"[[[[[[[["],
        longest=8192,
    ),
    "checkpoint": Reader(
        _read_checkpoint,
        _checkpoint_seeds,
        archived(PARTS),
        [CUT, b'"t": ', b'"privacy": null', b'"state": ', b"|O", b"'<f8'", b"'shape': ("],
    ),
}


def outcome(reader: Reader, file: Path, data: bytes) -> None:
    """Read the file of an input. If the input is a finding, raise AssertionError or the reader's exception.

    The function measures memory if tracemalloc has been started.
    """
    file.write_bytes(reader.as_file(data))
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    try:
        reader.read(file)
    except (ValueError, OSError) as refused:
        if isinstance(refused, UnicodeError) and type(refused) is not ValueError:
            return  # a UnicodeDecodeError is a ValueError with the position in the text
        if not str(refused).strip() or "\n" in str(refused):
            raise AssertionError(f"not one line: {refused!r}") from refused
    peak = tracemalloc.get_traced_memory()[1] - before
    if peak > MOST_MEMORY:
        raise AssertionError(f"{peak} bytes were in use for an input of {len(data)}")
