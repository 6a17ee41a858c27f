r"""The ledger: every statement of the documents, its verdict, the code that computes it, the tests that verify it.

The ledger finds every folder of ``nfa/papers`` with a file ``statements.toml``. This file (and ``external.toml`` here,
for theorems from elsewhere) has a table ``[paper.NAME]``, whose fields `Header` explains, and one ``[[item]]`` for each
statement. ``papers/ours`` has our corrections, bounds and proofs, which the documents do not have.

The fields of an item:

===========  ==========================================================================================
id           ``paper:name``, the canonical name; ``aliases`` are other names of the same statement
kind         one of `KINDS`
where        section and number in the document; for our own statements, the place of the proof
printed      its formulas as the document prints them, a list of LaTeX without dollars: letters, order, brackets,
             limits, number (``\tag``) and misprints; also a formula within a sentence, if it is the statement
claims       the claim of the document, in our words, and what the document leaves open
verdict      one of `VERDICTS`; ``pending`` means not judged yet, so only kind and where are filled
right        the correct statement, or how to read it; every verdict except ``holds`` and ``ours`` needs it
use          the consequence for a user of the statement, with the main thing first; some verdicts need it
number       the computed number that demonstrates it
check        a command with which a reader can check it
certificate  ``certificates/NAME.py`` next to the TOML, a file that refutes without nfa (`nfa.ledger.certificates`)
uncertified  the reason why an item that is ``false`` or ``conditional`` has no certificate
code         ``module:object`` that computes it; ``module:object @ TEXT`` names the line of the equation
terms        pairs of a term of the formula and its name in the lines of the anchors
no_line      the reason why an item with a formula and code has no anchor
tutorial     a file of ``tutorials/`` that teaches it
reviewed     for our own statements: whether others have reviewed the proof
reason       the reason why a ``not-executable`` statement cannot be run
tests        the tests marked ``verifies(id)``; not in the TOML, but read from the marks (`nfa.ledger.tests_json`)
===========  ==========================================================================================

The text after `` @ `` in an entry of ``code`` is an anchor. It occurs in exactly one line of the object, outside its
docstring; spaces do not matter. ``A ... B`` names the lines from that of A to that of B. Lines that are apart need one
entry each. If the line is rewritten, a test asks for a new anchor.

Texts are paragraphs. Lines that begin with spaces are formulas or lists and keep their line breaks. A formula between
``$$`` is LaTeX. It is typeset on the site and spelled out for a terminal (`nfa.ledger.formulas`). So is a formula
between ``$`` in a sentence, or a formula that is a term.
Files are read at the first question, not at import.
"""

from nfa.ledger.entries import KINDS, OURS, VERDICTS, Header, Item
from nfa.ledger.lookup import coverage, documents, find, findings, header, items, papers, select
from nfa.ledger.source import source_of

__all__ = [
    "KINDS", "OURS", "VERDICTS", "Header", "Item", "coverage", "documents", "find", "findings",
    "header", "items", "papers", "select", "source_of",
]  # fmt: skip
