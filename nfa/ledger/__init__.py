r"""The ledger: every statement of the documents, its verdict, the code that computes it, the tests that show it.

Every folder of ``nfa/papers`` that has a file ``statements.toml`` is found. The file (like ``external.toml`` here, for
theorems from elsewhere) holds a table ``[paper.NAME]``, whose fields `Header` explains, and one ``[[item]]`` for each
statement. ``papers/ours`` has our corrections, bounds and proofs, which the documents do not have.

The fields of an item:

===========  ==========================================================================================
id           ``paper:name``, the canonical name; ``aliases`` are other names of the same statement
kind         one of `KINDS`
where        section and number in the document; of what is ours, where the proof stands
printed      its formulas as the document sets them, a list of LaTeX without dollars: letters, order, brackets, limits,
             number (``\tag``) and misprints; what stands within a sentence of the document too, if it is the statement
claims       what the document says, in our words, and what it leaves unsaid
verdict      one of `VERDICTS`; ``pending`` means not judged yet, then only kind and where are filled
right        what is right instead, or how to read it; every verdict but ``holds`` and ``ours`` needs it
use          what a user of the statement should do, with the main thing first; needed by verdicts that a user must heed
number       the computed number that shows it
check        a command with which a reader can check it
certificate  ``certificates/NAME.py`` beside the TOML, a file that refutes without nfa (`nfa.ledger.certificates`)
uncertified  why an item that is ``false`` or ``conditional`` has no certificate
code         ``module:object``, where it is computed; ``module:object @ TEXT`` says which line of it is the equation
terms        pairs of a term of the formula and what it is in the lines that the anchors name
no_line      why an item with a formula and code has no anchor
tutorial     a file of ``tutorials/`` that teaches it
reviewed     of what is ours: whether others have reviewed its proof
reason       why a ``not-executable`` statement cannot be run
tests        the tests marked ``verifies(id)``; not in the TOML but read from the marks (`nfa.ledger.tests_json`)
===========  ==========================================================================================

What follows `` @ `` in an entry of ``code`` is an anchor: a text that stands in exactly one line of the object, outside
its docstring, however the line is spaced. ``A ... B`` names the lines from that of A to that of B; lines that are apart
need an entry each. Where the line is rewritten, a test asks for a new anchor.

Texts are paragraphs; lines that begin with spaces are formulas or lists and keep their breaks. A formula between ``$$``
is LaTeX, typeset on the site and spelled out for a terminal (`nfa.ledger.formulas`); so is what is between ``$`` in a
sentence or is a term.
Files are read at the first question, not at import.
"""

from nfa.ledger.entries import KINDS, OURS, VERDICTS, Header, Item
from nfa.ledger.lookup import coverage, documents, find, findings, header, items, papers, select
from nfa.ledger.source import source_of

__all__ = [
    "KINDS", "OURS", "VERDICTS", "Header", "Item", "coverage", "documents", "find", "findings",
    "header", "items", "papers", "select", "source_of",
]  # fmt: skip
