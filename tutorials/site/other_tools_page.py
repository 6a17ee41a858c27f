"""The page "What users of other tools met", from the log next to this file. We tried each public report with nfa."""

import tomllib
from pathlib import Path
from typing import Any

LOG = Path(__file__).with_name("other_tools.toml")

OUTCOMES = {
    "right": "nfa handles the situation correctly",
    "refused": "nfa refuses and prints one sentence",
    "repaired": "nfa had the error, and we repaired it",
    "open": "nfa still has the error",
}

START = """# What users of other tools met

Users of other tools report errors in public. We read such reports and try each situation with nfa. This page is the log
of these trials. We describe each situation in our words, and link to the report. The last column says what nfa does,
and names the test that checks it.

"""


def entries() -> list[dict[str, Any]]:
    """The reports of the log, in its order."""
    return tomllib.loads(LOG.read_text(encoding="utf-8"))["report"]


def page() -> str:
    """The text of the page: the number of reports with each outcome, then a table for each kind of tool."""
    found = entries()
    counts = [
        f"- {text}: {sum(one['outcome'] == outcome for one in found)}"
        for outcome, text in OUTCOMES.items()
        if any(one["outcome"] == outcome for one in found)
    ]
    lines = [START + f"We tried {len(found)} reports:", "", *counts]
    for kind in dict.fromkeys(one["kind"] for one in found):
        lines += ["", f"## {kind}", "", "| report | situation | what nfa does |", "|---|---|---|"]
        lines += [_row(one) for one in found if one["kind"] == kind]
    return "\n".join(lines) + "\n"


def _row(one: dict[str, Any]) -> str:
    repository, _, number = one["source"].partition("#")
    source = f"[{one['source']}](https://github.com/{repository}/issues/{number})"
    test = f" Test: `{one['test']}`" if "test" in one else ""
    cells = [source, one["situation"], f"**{one['outcome']}**. {one['nfa']}{test}"]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
