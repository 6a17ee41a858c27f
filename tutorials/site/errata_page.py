"""The page "Errata": what is not right as printed in any of the documents, by its weight for who builds on it."""

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

What is not right as printed, or needs a condition, or can be read in two ways; each with the number that shows it and
how to check it. What is refuted by a computation has a file that needs nothing of this project: {{doc}}`certificates`.
The order is that of weight, over all documents: what fails, then what lacks a condition, down to slips of the pen;
within each, theorems before what nobody builds on. The same from the command line: `nfa errata`. How to dispute one:
[here](../contributing.md#how-to-dispute-a-verdict).

{counts}

## First of all: the {number} that fail

And what to do about each. What a reader of one document must know stands at the top of its page: {pages}.
"""
HEADINGS = {
    "false": "What fails",
    "conditional": "Conditions that are missing",
    "differs": "Numbers that differ",
    "unproven": "Neither proved nor refuted",
    "conjecture": "Conjectures",
    "ambiguous": "What can be read in several ways",
    "typo": "Slips of the pen",
}


def errata() -> str:
    """Every finding, a section a verdict, and on top those that fail with what to do about them."""
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
    """What to do about a statement, in a sentence."""
    return line(SENTENCE.split(item.use)[0])
