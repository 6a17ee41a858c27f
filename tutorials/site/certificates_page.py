"""The page "Certificates": the files that refute a statement without nfa, whole, and why other items have none."""

import re
from pathlib import Path

from markup import link, linked_ids

from nfa import ledger
from nfa.ledger import Item, certificates, documents

START = """# Certificates

A refutation that is a computation, in one file each: at most 80 lines of Python's standard library, nothing of this
project. It states the claim with its place in the paper, takes a counterexample, checks that it satisfies the
hypotheses, computes in fractions or in numbers rounded outwards, and ends with a line `refuted: claimed ..., at least
...`. With another number in the counterexample it fails and says why, unless that is a counterexample too.

Where a statement is true under a condition, the file names the reading that it refutes.

Save one from here, or let nfa print it, and run it with any Python from 3.11 on:

```sh
nfa eq lee2020:sens-total --certificate > sens_total.py
python -I -S sens_total.py
```

If you find a step that does not follow: [how to dispute it](../contributing.md#how-to-dispute-a-verdict).
"""

WITHOUT = """## Statements without one

Every false statement has one. These are true under a condition that the document does not state, and no reading of them
fails by a computation:
"""


def label(place: str) -> str:
    """Of the section with a file: `nfa/papers/lee2020/certificates/eq5.py` has `certificate-lee2020-eq5`."""
    paper, _, name = Path(place).with_suffix("").parts[2:]
    return "certificate-" + re.sub("[^a-z0-9]+", "-", f"{paper}-{name}".lower())


def reference(item: Item) -> list[str]:
    """The line about its certificate in the entry of a statement, where it has one."""
    if not item.certificate:
        return []
    name = Path(item.certificate).name
    return [
        f"**Without nfa.** {{ref}}`{name} <{label(certificates.place(item))}>`, one file of Python's standard library: "
        f"`nfa eq {item.id} --certificate`",
        "",
    ]


def page() -> str:
    """Every file below the statements that it refutes."""
    lines = [START]
    for paper in documents():
        files: dict[str, list[Item]] = {}
        for item in ledger.items(paper):
            if item.certificate:
                files.setdefault(certificates.place(item), []).append(item)
        lines += [f"## {paper}", ""] if files else []
        for place, items in files.items():
            source = certificates.text(items[0])
            lines += [f"({label(place)})=", f"### {Path(place).name}", "", f"{', '.join(link(i.id) for i in items)}."]
            lines += ["", "```python", source.rstrip(), "```", ""]
    without = [item for item in ledger.items() if item.uncertified]
    lines += [WITHOUT, *(f"- {link(item.id)}: {linked_ids(item.uncertified)}" for item in without), ""]
    return "\n".join(lines)
