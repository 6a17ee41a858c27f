"""Tests that the examples in docstrings print the output that the docstrings show.

We find the examples through the declared packages, because `pytest --doctest-modules kernels` would import the folder
under a wrong name.
"""

import doctest
import importlib

import pytest

from tests.project.tree import declared_packages, modules

# nfa.__main__ runs the command line when it is imported as the main program, and has no examples.
MODULES = sorted(set(modules()) - {"nfa.__main__"})


def test_every_declared_package_has_a_module_here():
    for package in declared_packages():
        assert any(name == package or name.startswith(f"{package}.") for name in MODULES), package


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0, f"{result.failed} of {result.attempted} examples fail; the output above says where"


def test_there_are_examples():
    """The finder finds examples; without any, all tests would pass."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    with_examples = [
        name for name in MODULES if any(test.examples for test in finder.find(importlib.import_module(name)))
    ]
    assert {"nfa.clip", "nfa.mechanism"} <= set(with_examples)
