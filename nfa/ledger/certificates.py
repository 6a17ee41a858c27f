"""Certificates: one file for each refutation that is a computation, which a reader can run without nfa.

``papers/NAME/certificates/*.py`` are scripts of Python's standard library, read here as files and never imported. An
item names its own in the field ``certificate``; other items that are ``false`` or ``conditional`` say in the field
``uncertified`` why they have none.
"""

from importlib.resources import files

from nfa.ledger.entries import Item


def place(item: Item) -> str:
    """Where the certificate of an item stands, relative to the folder that holds the package, or "".

    Examples
    --------
    >>> from nfa.ledger import find
    >>> place(find("dpulr2024:thm4"))
    'nfa/papers/dpulr2024/certificates/thm4.py'
    """
    return f"nfa/papers/{item.paper}/{item.certificate}" if item.certificate else ""


def text(item: Item) -> str:
    """The certificate of an item, as it stands in its file.

    Raises
    ------
    ValueError : if it has none; one sentence, with the reason where there is one to give
    """
    if not item.certificate:
        reason = item.uncertified or f"the verdict is {item.verdict}, so there is nothing to refute"
        raise ValueError(f"{item.id} has no certificate: {reason}")
    return files("nfa").joinpath("papers", item.paper, item.certificate).read_text(encoding="utf-8")
