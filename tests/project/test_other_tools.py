"""Tests of the log of problems in other tools: each entry has a source, an outcome, and an existing test."""

import ast
import collections
import importlib
import re
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def log():
    sys.path.insert(0, str(ROOT / "tutorials" / "site"))
    try:
        yield importlib.import_module("other_tools_page")
    finally:
        sys.path.remove(str(ROOT / "tutorials" / "site"))


@cache
def defined_in(file):
    """The names of the tests that a file defines."""
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef) and one.name.startswith("test_")}


def test_every_report_has_its_fields(log):
    for one in log.entries():
        assert set(one) - {"test"} == {"source", "kind", "situation", "outcome", "nfa"}, one
        assert re.fullmatch(r"[\w.-]+/[\w.-]+#[1-9][0-9]*", one["source"]), one["source"]
        assert one["outcome"] in log.OUTCOMES, one
        assert "test" in one or one["outcome"] != "repaired", f"{one['source']}: a repair has a test"


def test_no_report_is_there_twice(log):
    counted = collections.Counter(one["source"] for one in log.entries())
    assert [source for source, count in counted.items() if count > 1] == []


def test_every_test_that_the_log_names_exists(log):
    for one in log.entries():
        if "test" in one:
            file, _, name = one["test"].partition("::")
            assert name in defined_in(file), one["test"]


def test_the_page_has_a_row_for_every_report(log):
    rows = [line for line in log.page().splitlines() if line.startswith("| [")]
    assert len(rows) == len(log.entries())
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 4 for row in rows)
