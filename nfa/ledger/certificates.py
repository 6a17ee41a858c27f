"""Certificates: files that refute a statement by a computation. You can run each file without nfa.

``papers/NAME/certificates/*.py`` are scripts that use only Python's standard library. This module reads them as files
and never imports them. An item names its certificate in the field ``certificate``. An item that is ``false`` or
``conditional`` and has no certificate gives the reason in the field ``uncertified``.
"""

from importlib.resources import files

from nfa.ledger.entries import Item


def place(item: Item) -> str:
    """The path of an item's certificate, relative to the folder that contains the package; "" without a certificate.

    Examples
    --------
    >>> from nfa.ledger import find
    >>> place(find("dpulr2024:thm4"))
    'nfa/papers/dpulr2024/certificates/thm4.py'
    """
    return f"nfa/papers/{item.paper}/{item.certificate}" if item.certificate else ""


def text(item: Item) -> str:
    """The text of an item's certificate.

    Raises
    ------
    ValueError : if the item has no certificate. The message has one sentence, with the reason
    """
    if not item.certificate:
        reason = item.uncertified or f"the verdict is {item.verdict}, so there is nothing to refute"
        raise ValueError(f"{item.id} has no certificate: {reason}")
    return files("nfa").joinpath("papers", item.paper, item.certificate).read_text(encoding="utf-8")
