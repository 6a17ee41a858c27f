r"""The ledger: every statement of the documents, with its verdict, the code that computes it, and the tests for it.

The ledger reads the file ``statements.toml`` in each folder of ``nfa/papers`` that has one. Theorems from other sources
are in the file ``nfa/ledger/external.toml``. Each file has tables ``[paper.NAME]``, and one ``[[item]]`` for each
statement. `Header` explains the fields of ``[paper.NAME]``. The folder ``papers/ours`` has our own statements:
corrections, bounds and proofs that are not in the documents.

The fields of an item:

===========  ==========================================================================================
id           ``paper:name``, the canonical name; ``aliases`` are other names of the same statement
kind         one of `KINDS`
where        section and number in the document; for our own statements, the place of the proof
printed      the formulas as the document prints them, a list of LaTeX without dollars. It keeps letters, order,
             brackets, limits, number (``\tag``) and misprints. It can be a formula within a sentence, if this formula
             is the statement
claims       the claim of the document, in our words, and what the document leaves open
verdict      one of `VERDICTS`; ``pending`` means not judged yet, so only kind and where are filled
right        the correct statement, or the correct reading; needed for every verdict except ``holds`` and ``ours``
use          the consequence for a user of the statement, with the main point first; needed for some verdicts
number       the computed number that demonstrates the verdict
check        a command with which a reader can check the statement
certificate  ``certificates/NAME.py`` next to the TOML, a file that refutes without nfa (`nfa.ledger.certificates`)
uncertified  the reason why an item that is ``false`` or ``conditional`` has no certificate
code         ``module:object`` that computes the statement; ``module:object @ TEXT`` names the line of the equation
terms        pairs of a term of the formula and its name in the lines of the anchors
no_line      the reason why an item with a formula and code has no anchor
tutorial     a file of ``tutorials/`` that teaches the statement
reviewed     for our own statements: whether others have reviewed the proof
reason       the reason why a ``not-executable`` statement cannot be run
tests        the tests marked ``verifies(id)``, read from the marks (`nfa.ledger.tests_json`), not from the TOML
===========  ==========================================================================================

The text after `` @ `` in an entry of ``code`` is an anchor. It must occur in exactly one line of the object, outside
its docstring. Spaces do not matter. ``A ... B`` names the lines from the line with A to the line with B. Lines that are
not adjacent need separate entries. If somebody changes an anchored line, a test fails until the anchor is changed too.

Texts are paragraphs. Lines that begin with spaces are formulas or lists and keep their line breaks. A formula between
``$$``, a formula between ``$`` in a sentence, and a formula in ``terms`` are LaTeX. The site typesets them. A terminal
shows them as text (`nfa.ledger.formulas`). The files are read at the first query, not at import.
"""

from nfa.ledger.entries import KINDS, OURS, VERDICTS, Header, Item
from nfa.ledger.lookup import coverage, documents, find, findings, header, items, papers, select
from nfa.ledger.source import source_of

__all__ = [
    "KINDS", "OURS", "VERDICTS", "Header", "Item", "coverage", "documents", "find", "findings",
    "header", "items", "papers", "select", "source_of",
]  # fmt: skip
