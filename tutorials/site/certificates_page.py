"""The page "Certificates": the files that refute a statement without nfa, and the reasons if there is no file."""

import re
from pathlib import Path

from markup import link, linked_ids

from nfa import ledger
from nfa.ledger import Item, certificates, documents

START = """# Certificates

A certificate is one file of Python that refutes a statement by a computation. It has at most 80 lines and uses only
Python's standard library, and nothing of this project. The file states the claim and its place in the paper. It checks
that a counterexample satisfies the hypotheses, and computes with fractions or with numbers that are rounded outwards.
The last line of its output is `refuted: claimed ..., at least ...`. You can change a number of the counterexample. If
the changed example refutes nothing, the file fails and prints the reason.

If a statement is true under a condition, the certificate names the reading that it refutes.

Save a certificate from this page, or let nfa print it. Run it with Python 3.11 or newer:

```sh
nfa eq lee2020:sens-total --certificate > sens_total.py
python -I -S sens_total.py
```

If you find a wrong step, read [how to dispute a verdict](../contributing.md#how-to-dispute-a-verdict).
"""

WITHOUT = """## Statements without a certificate

Every false statement has a certificate. The following statements are true under a condition that the document does not
state. For these statements, no computation refutes a reading:
"""


def label(place: str) -> str:
    """The label of a file's section, such as `certificate-lee2020-eq5` for `nfa/papers/lee2020/certificates/eq5.py`."""
    paper, _, name = Path(place).with_suffix("").parts[2:]
    return "certificate-" + re.sub("[^a-z0-9]+", "-", f"{paper}-{name}".lower())


def reference(item: Item) -> list[str]:
    """The lines about the certificate in the entry of a statement, or no line without a certificate."""
    if not item.certificate:
        return []
    name = Path(item.certificate).name
    return [
        f"**Without nfa.** {{ref}}`{name} <{label(certificates.place(item))}>`, one file of Python's standard library: "
        f"`nfa eq {item.id} --certificate`",
        "",
    ]


def page() -> str:
    """The text of the page. Each file is below the statements that it refutes."""
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
