"""Tests that you can add a data set in two places: an entry of data/registry.py and a paragraph of data/SOURCES.md.

The tests make both changes in a copy of the tree. Lists, errors and training in the copy include the data set without
further changes.
"""

import gzip
import hashlib
import json
import os
import struct
from pathlib import Path

import numpy as np
import pytest

from tests.project.copies import checked_in, copy_of_tree, nfa_in, pytest_in, run_in

NAME, CLASSES = "stripes", 3
ENTRY = """\
    DatasetInfo(
        name="stripes",
        title="Stripes",
        layout="idx",
        folder="stripes",
        shape=(1, 6, 6),
        class_names=("left", "middle", "right"),
        licence="CC0 (nobody)",
        origin="drawn by a test",
        variants=(Variant(files=(FILES), n_train=90, n_test=30),),
    ),
"""
PARAGRAPH = "- **Stripes**: bright columns in noise, drawn by a test, which computed the digests from the files.\n"
# Tests that list or name data sets, or compare the registry with another text. -k selects those about data.
TESTS = ("tests/data", "tests/cli/test_cli.py", "tests/project/test_commands_unchanged.py", "-k", "data")


def write_files(folder: Path) -> dict[str, bytes]:
    """Write the four files of 90 training and 30 test images of 6x6 pixels, and return their unpacked bytes by name."""
    folder.mkdir(parents=True)
    rng, content = np.random.default_rng(1), {}
    for part, n in (("train", 90), ("t10k", 30)):
        y = (np.arange(n) % CLASSES).astype(np.uint8)
        x = rng.integers(0, 100, (n, 6, 6)).astype(np.uint8)
        for image, label in zip(x, y, strict=True):
            image[:, 2 * label : 2 * label + 2] += 150
        for kind, array in (("images-idx3", x), ("labels-idx1", y)):
            head = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
            content[f"{part}-{kind}-ubyte"] = head + array.tobytes()
    for name, unpacked in content.items():
        (folder / f"{name}.gz").write_bytes(gzip.compress(unpacked))
    return content


def replaced(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{path}: {old!r}"
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture(scope="module")
def added(tmp_path_factory):
    """A copy of the tree with the data set added, and the folder of data sets, which contains the new data set."""
    folder = tmp_path_factory.mktemp("added")
    copy, home = copy_of_tree(folder), folder / "home"
    home.mkdir()
    if known := os.environ.get("NFA_DATA_HOME"):
        for place in Path(known).resolve().iterdir():
            (home / place.name).symlink_to(place)
    content = write_files(home / NAME)
    files = "".join(f'File("{name}", "{hashlib.sha256(b).hexdigest()}"), ' for name, b in content.items())
    replaced(copy / "data" / "registry.py", "\n    ),\n)\n", f"\n    ),\n{ENTRY.replace('FILES', files)})\n")
    sources = copy / "data" / "SOURCES.md"
    sources.write_text(sources.read_text(encoding="utf-8") + PARAGRAPH, encoding="utf-8")
    checked_in(copy, "-m", "tests.data.sources")
    return copy, str(home)


@pytest.mark.slow
def test_the_data_set_is_listed_named_in_errors_and_trained_on(added):
    copy, home = added
    rows = {row["name"]: row for row in json.loads(nfa_in(copy, "data", "list", "--json", NFA_DATA_HOME=home))}
    assert rows[NAME] == {
        "name": NAME,
        "n_train": 90,
        "n_test": 30,
        "shape": [1, 6, 6],
        "classes": CLASSES,
        "licence": "CC0 (nobody)",
        "found": "NFA_DATA_HOME/stripes",
        "note": "",
    }
    listed = nfa_in(copy, "data", "list", NFA_DATA_HOME=home)
    assert "stripes                  90      30    1x6x6  NFA_DATA_HOME/stripes\n" in listed
    assert "| stripes | Stripes | 90 + 30, grey, 6x6, 3 classes | CC0 (nobody) | drawn by a test |\n" in (
        copy / "data" / "SOURCES.md"
    ).read_text(encoding="utf-8")
    refused = run_in(copy, "-m", "nfa", "train", "--dataset", "stripe")
    assert refused.returncode == 2
    assert "cifar-10, stripes or, to load your own" in " ".join(refused.stderr.split())
    assert "did you mean stripes?" in " ".join(refused.stderr.split())
    command = [
        "train",
        "--dataset",
        NAME,
        "--net",
        "36-12-3",
        "--batch",
        "10",
        "--epochs",
        "1",
        "--lr",
        "0.5",
        "--json",
    ]
    record = json.loads(nfa_in(copy, *command, "--out", str(copy.parent / "run"), NFA_DATA_HOME=home))
    assert record["data"]["name"] == NAME
    assert record["history"][-1]["test_accuracy"] > 0.6  # guessing gives one third


@pytest.mark.nightly
def test_the_tests_take_the_data_set_in(added):
    """No test contains a list of data sets, so the tests pass in the copy.

    Tests that need other data sets are skipped.
    """
    copy, home = added
    pytest_in(copy, *TESTS, NFA_DATA_HOME=home)


@pytest.mark.slow
def test_one_of_the_two_places_alone_is_not_enough(added):
    """Without the paragraph about the data set, a test fails and names the missing paragraph."""
    copy, _ = added
    sources = copy / "data" / "SOURCES.md"
    kept = sources.read_text(encoding="utf-8")
    sources.write_text(kept.replace(PARAGRAPH, ""), encoding="utf-8")
    try:
        done = run_in(copy, "-m", "pytest", "-q", "-n", "0", "tests/data/test_data_search.py", "-k", "sources")
    finally:
        sources.write_text(kept, encoding="utf-8")
    assert done.returncode == 1
    assert "- **Stripes** is missing in data/SOURCES.md" in done.stdout
