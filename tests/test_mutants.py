"""The list of changes that no test can notice, tests/mutants.toml: what it says is still true of the code."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_every_harmless_change_is_to_lines_that_are_there():
    """Each has its reason, and none is left over from lines that are gone."""
    harmless = tomllib.loads((ROOT / "tests" / "mutants.toml").read_text())["harmless"]
    for change in harmless:
        lines = [line.strip() for line in (ROOT / change["file"]).read_text().splitlines()]
        assert all(line in lines for line in change["old"].splitlines()), change
        assert change["old"] != change["new"]
        assert change["why"].endswith(".")
    assert len({(c["file"], c["old"], c["new"]) for c in harmless}) == len(harmless)
