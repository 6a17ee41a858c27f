"""Queries of the ledger: all statements, one statement by name, the header of a document, the counts of verdicts."""

import math
import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from itertools import chain, pairwise, takewhile

from nfa.ledger.entries import OURS, VERDICTS, Header, Item, check_names, parse

# The verdicts that are findings, by their importance for a user of the statement. The other verdicts are not findings.
FINDINGS = ("false", "conditional", "differs", "unproven", "conjecture", "ambiguous", "typo")
PROVED = ("theorem", "proposition", "lemma")  # kinds of statements on which other statements depend

# Words that a reader may write, and their short forms in ids.
SHORT = {
    "equation": "eq", "definition": "def", "theorem": "thm", "proposition": "prop", "lemma": "lem", "remark": "rem",
    "figure": "fig", "conjecture": "conj", "algorithm": "alg", "assumption": "asm", "section": "sec", "footnote": "fn",
}  # fmt: skip


def texts() -> dict[str, str]:
    """The TOML files in the folders of `nfa.papers` and, as the last file, the theorems from other sources.

    Returns
    -------
    texts : {path of a file, such as nfa/papers/lee2020/statements.toml: content of the file}
    """
    nfa = files("nfa")
    names = [f"papers/{folder.name}/statements.toml" for folder in nfa.joinpath("papers").iterdir()]
    places = {f"nfa/{name}": nfa.joinpath(name) for name in [*names, "ledger/external.toml"]}
    return {name: place.read_text(encoding="utf-8") for name, place in places.items() if place.is_file()}


def _read(file: str, text: str) -> tuple[list[Header], list[Item]]:
    head = f"[paper.{file.split('/')[-2]}]"
    if "/papers/" in file and not re.match(r"(#.*\n|\s)*" + re.escape(head), text):
        raise ValueError(f"{file} must begin with {head}")
    try:
        return parse(text)
    except ValueError as wrong:
        raise ValueError(f"{file}: {wrong}") from wrong


@cache
def _ledger() -> tuple[dict[str, Header], dict[str, Item]]:
    *folders, elsewhere = (_read(*file) for file in texts().items())
    folders.sort(key=lambda read: (read[0][0].paper == OURS, read[0][0].order, read[0][0].paper))
    for one, two in pairwise(read[0][0] for read in folders):
        if one.order == two.order < math.inf:
            raise ValueError(f"[paper.{one.paper}] and [paper.{two.paper}] have the same order, {one.order}")
    headers, all_items = (list(chain.from_iterable(part)) for part in zip(*folders, elsewhere, strict=True))
    check_names(all_items)
    return {h.paper: h for h in headers}, {i.id: i for i in all_items}


@cache
def _names() -> dict[str, Item]:
    return {plain(name): item for item in _ledger()[1].values() for name in (item.id, *item.aliases)}


def plain(text: str) -> str:
    """The spelling in which names are compared, for example ``lee2020:lem3`` for ``lee2020:Lemma 3``."""
    text = re.sub(r"[\s()]+", "", text.lower())
    for word, short in SHORT.items():
        text = re.sub(rf"(?<=:){word}s?\.?(?=[\d.a-z]*\d)|(?<=:){short}\.(?=\d)", short, text)
    return text


def papers() -> list[str]:
    """Names of the documents, of our own statements and of the other sources, in the order of the ledger."""
    return list(_ledger()[0])


def documents() -> list[str]:
    """Names of the judged documents, in the order of their headers. Each document is a folder of `nfa.papers`."""
    return list(takewhile(lambda paper: paper != OURS, papers()))


def items(paper: str | None = None) -> list[Item]:
    """The statements of one document or of all, in the ledger's order. Raises ValueError for an unknown document."""
    if paper is not None:
        header(paper)
    return [item for item in _ledger()[1].values() if paper in (None, item.paper)]


def header(paper: str) -> Header:
    """The header of a document: the judged version, its texts, and caveats.

    Raises
    ------
    ValueError : if there is no such document
    """
    headers = _ledger()[0]
    if paper not in headers:
        close = _meant(paper, headers, "the document ") or f": choose from {', '.join(headers)}"
        raise ValueError(f"the ledger has no document {paper!r}{close}")
    return headers[paper]


def find(text: str) -> Item:
    """One statement by its id, an alias, or a number as printed in the document.

    Parameters
    ----------
    text : str such as ``lee2020:eq5``, ``lee2020:A1`` or ``lee2020:Lemma 3``. Case and spaces do not matter

    Raises
    ------
    ValueError : if there is no such statement. The message lists similar names

    Examples
    --------
    >>> find("lee2020:A11").id
    'lee2020:A10-A11'
    """
    spelling = plain(text)
    if found := _names().get(spelling):
        return found
    raise ValueError(f"the ledger has no statement {text!r}{_near(spelling)}")


def select(text: str) -> list[Item]:
    """The statements to which a name refers: a whole document, all lines of an algorithm, or one statement.

    Parameters
    ----------
    text : str, a document (``lee2020``), an algorithm (``ohana2021:alg1``), or any name for `find`

    Raises
    ------
    ValueError : if the name refers to no statement. The message contains similar names

    Examples
    --------
    >>> [item.id for item in select("mironov2017")]
    ['mironov2017:prop3']
    """
    if ":" not in text and text in _ledger()[0]:
        return items(text)
    spelling = plain(text)
    if spelling in _names():
        return [_names()[spelling]]
    parts = {item.id: item for name, item in _names().items() if ":" in spelling and name.startswith(spelling + ".")}
    return list(parts.values()) or [find(text)]


def coverage() -> dict[str, dict[str, int]]:
    """The number of statements with each verdict: {document: {verdict: count}}. The count can be 0."""
    table = {paper: dict.fromkeys(VERDICTS, 0) for paper in papers()}
    for item in items():
        table[item.paper][item.verdict] += 1
    return table


def _near(spelling: str) -> str:
    names = _names()
    documents = _ledger()[0]
    document, colon, local = spelling.partition(":")
    if document not in documents:
        if not colon and (ids := [f"{paper}:{spelling}" for paper in documents if f"{paper}:{spelling}" in names]):
            return f": write the document before it, {' or '.join(ids)}"
        close = _meant(document, documents, "the document ")
        return close or f": write document:name, the documents are {', '.join(documents)}"
    if not local:
        return f": write the name of a statement after {document}:"
    return _meant(spelling, [item.id for item in items(document)])


def _meant(name: str, known: Iterable[str], what: str = "") -> str:
    from nfa import require  # only a wrong name needs NumPy

    return require.meant(name, known, what)


def findings(items: Iterable[Item]) -> list[Item]:
    """The items that are findings, by importance: false statements first and typos last.

    For each verdict, theorems, propositions and lemmas come before other kinds. Items of equal importance stay in the
    given order.
    """
    found = [item for item in items if item.verdict in FINDINGS]
    return sorted(found, key=lambda item: (FINDINGS.index(item.verdict), item.kind not in PROVED))
