"""A module is what one sitting can hold."""

import pytest

from tests.project.tree import modules

MOST = 300  # lines


def too_long(files):
    """The files of more than `MOST` lines, with how many they have."""
    lengths = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in files.items()}
    return {name: length for name, length in lengths.items() if length > MOST}


def test_no_module_is_longer_than_a_sitting():
    """nfa, its kernels and its data; problem sets are data."""
    assert {"nfa.rules.dp_dfa", "nfa.kernels.ulr", "nfa.data"} <= set(modules())
    assert too_long(modules()) == {}


@pytest.mark.parametrize("length, refused", [(MOST, False), (MOST + 1, True)])
def test_a_longer_one_is_refused(tmp_path, length, refused):
    path = tmp_path / "long.py"
    path.write_text("x = 1\n" * length)
    assert too_long({"long": path}) == ({"long": length} if refused else {})
