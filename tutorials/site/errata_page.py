"""The page "Errata": all statements that are not right as printed, the most important statements first."""

from certificates_page import reference
from in_print import items
from markup import badge, line, link
from reading_view import SENTENCE, fields, taught

from nfa import ledger
from nfa.ledger import VERDICTS, Item, documents
from nfa.ledger.lookup import FINDINGS

START = """---
tocdepth: 2
---

# Errata

This page lists all statements that are not right as printed, that need a condition, or that readers can understand in
several ways. Each entry has a number that shows the problem, and a way to check this number. If a computation refutes a
statement, there is also a file that runs without this project ({{doc}}`certificates`). The most important findings of
all documents come first: false statements, then missing conditions, and misprints at the end. In each section, theorems
come before statements that nothing else depends on. `nfa errata` prints the same list. If you disagree with a verdict,
read [how to dispute it](../contributing.md#how-to-dispute-a-verdict).

{counts}

## The {number} false statements

For each false statement we say what to do. The page of each document begins with the main points for its readers:
{pages}.
"""
HEADINGS = {
    "false": "False statements",
    "conditional": "Missing conditions",
    "differs": "Numbers that differ",
    "unproven": "Neither proved nor refuted",
    "conjecture": "Conjectures",
    "ambiguous": "Ambiguous statements",
    "typo": "Misprints",
}


def errata() -> str:
    """The text of the page: the false statements with our advice, then all findings in a section for each verdict."""
    found = ledger.findings(item for paper in documents() for item in items(paper))
    weights = {verdict: [item for item in found if item.verdict == verdict] for verdict in FINDINGS}
    counts = ", ".join(f"{len(those)} [{HEADINGS[verdict].lower()}](#{verdict})" for verdict, those in weights.items())
    pages = ", ".join(f"[{paper}](papers/{paper}.md)" for paper in documents())
    fails = weights["false"]
    lines = [START.format(counts=f"{len(found)} findings: {counts}.", number=len(fails), pages=pages)]
    lines += [f"{at}. {link(item.id)}, {line(item.where)}: {first_of_all(item)}" for at, item in enumerate(fails, 1)]
    for verdict, those in weights.items():
        lines += ["", f"({verdict})=", f"## {HEADINGS[verdict]}", "", f"{badge(verdict)} {VERDICTS[verdict]}.", ""]
        for item in those:
            what = f"{item.kind.capitalize()}, {line(item.where)}."
            lines += [f"### {link(item.id)} {badge(verdict)}", "", what, "", *fields(item)]
            lines += [*reference(item), *taught(item)]
    return "\n".join(lines)


def first_of_all(item: Item) -> str:
    """The first sentence of our advice about a statement."""
    return line(SENTENCE.split(item.use)[0])
