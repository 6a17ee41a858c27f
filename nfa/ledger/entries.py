"""The classes for a document (`Header`) and a statement (`Item`), and the parser of the ledger's TOML files."""

import math
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nfa.ledger.tests_json import tests_of

VERDICTS = {
    "holds": "true as stated",
    "conditional": "false as stated, true under a condition that the document does not state",
    "typo": "wrong as printed, but the document shows the meaning, and the statement is true in this meaning",
    "ambiguous": "some fair readings are true and others are not. The entry names the readings",
    "unproven": "neither proved nor refuted. The entry describes our attempts",
    "differs": "the stated procedure does not give the printed number. Something not stated may explain the difference",
    "false": "not true as stated. nfa has a counterexample",
    "conjecture": "the document says that there is no proof, and nobody has refuted the statement",
    "ours": "proved or measured by us, and reviewed by nobody else. The entry names the place",
    "not-executable": "nothing to compute. The entry gives the reason",
    "pending": "not judged yet",
}

KINDS = frozenset(
    "algorithm assumption claim conjecture definition equation experiment figure lemma"
    " proof-step proposition remark table theorem".split()
)

TEXT_FIELDS = tuple(
    "kind where verdict claims right use number check certificate uncertified no_line tutorial reason".split()
)
LIST_FIELDS = ("aliases", "printed", "code")

# "ours" is the name of the document with our own statements. It is also the only verdict of these statements.
OURS = "ours"
NAME = r"[A-Za-z0-9][A-Za-z0-9.%-]*"
PAPER = rf"(?:[a-z]+[0-9]{{4}}|{OURS})"
ID = re.compile(rf"({PAPER}):({NAME})")
_TESTS = re.compile(rf"pytest\s+--eq\s+{PAPER}:{NAME}(?<!\.)")


@dataclass(frozen=True)
class Header:
    """A document: the judged version, its texts, caveats, and the code of its experiments and audits.

    Parameters
    ----------
    texts : (description, sha256 of the file) of each text that was read
    caveats : facts about these texts that a reader should know
    essentials : facts that a user of the document must know, the most important first, at most ten
    order : position among the documents. Documents without an order come last, by name
    rerun, repaired : pairs (id of a statement without the document, module:object) of the experiments that rerun
        statements. ``rerun`` uses the published mechanisms, and ``repaired`` uses sound mechanisms
    audits : module:object of each audit of the document
    """

    paper: str
    title: str
    authors: tuple[str, ...]
    version: str
    texts: tuple[tuple[str, str], ...]
    caveats: tuple[str, ...]
    essentials: tuple[str, ...] = ()
    order: float = math.inf
    rerun: tuple[tuple[str, str], ...] = ()
    repaired: tuple[tuple[str, str], ...] = ()
    audits: tuple[str, ...] = ()


@dataclass(frozen=True)
class Item:
    """One statement of a document. `nfa.ledger` explains the fields. Empty means "" or ()."""

    id: str
    kind: str
    where: str
    verdict: str
    aliases: tuple[str, ...] = ()
    printed: tuple[str, ...] = ()  # LaTeX, without dollars
    claims: str = ""
    right: str = ""
    use: str = ""
    number: str = ""
    check: str = ""
    certificate: str = ""
    uncertified: str = ""
    no_line: str = ""
    code: tuple[str, ...] = ()  # entries module:object, without duplicates
    anchors: tuple[tuple[str, str], ...] = ()  # pairs (an entry of code, text in the line that computes the equation)
    terms: tuple[tuple[str, str], ...] = ()  # pairs (term in the formula or claim, its name in the anchored lines)
    tutorial: str = ""
    reason: str = ""
    reviewed: bool | None = None  # for our own statements, whether others have reviewed the proof

    @property
    def paper(self) -> str:
        """Name of the document, the part of the id before the colon."""
        return self.id.partition(":")[0]

    @property
    def tests(self) -> tuple[str, ...]:
        """Sorted pytest ids of the tests that verify the statement, see `nfa.ledger.tests_json`."""
        return tests_of((self.id, *self.aliases))

    def anchors_of(self, entry: str) -> tuple[str, ...]:
        """The anchors of an entry of ``code``. They name the lines that compute the statement (`nfa.ledger.lines`)."""
        return tuple(anchor for code, anchor in self.anchors if code == entry)


def parse(text: str) -> tuple[list[Header], list[Item]]:
    """Read one TOML file of the ledger.

    Tests check which fields each verdict requires (`tests/ledger/ledger_rules.py`).

    Parameters
    ----------
    text : str, content of the file

    Returns
    -------
    headers, items : in the order of the file

    Raises
    ------
    ValueError : if a table or a field is unknown, missing or of the wrong type, or if an id, a kind or a verdict is
        invalid. The message has one sentence that names the id
    """
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise ValueError("the lists in a ledger file are nested too deeply") from None
    unknown = set(data) - {"paper", "item"}
    if unknown:
        raise ValueError(
            f"a ledger file must contain only [paper.NAME] and [[item]] tables, got {sorted(unknown)[0]!r}"
        )
    papers, entries = data.get("paper", {}), data.get("item", [])
    if not (isinstance(papers, dict) and all(isinstance(table, dict) for table in papers.values())):
        raise ValueError("a ledger file's papers must be tables [paper.NAME]")
    if not (isinstance(entries, list) and all(isinstance(table, dict) for table in entries)):
        raise ValueError("a ledger file's items must be tables [[item]]")
    return [_header(*paper) for paper in papers.items()], [_item(table, set(papers)) for table in entries]


def in_the_clone(text: str) -> str:
    """Add "(in the clone)" after each pytest command, because only a clone of the repository has the tests.

    Examples
    --------
    >>> in_the_clone("pytest --eq lee2020:eq5; nfa reproduce lee2020:fig2; then pytest --eq lee2020:clip.")
    'pytest --eq lee2020:eq5 (in the clone); nfa reproduce lee2020:fig2; then pytest --eq lee2020:clip (in the clone).'
    """
    return _TESTS.sub(lambda found: f"{found[0]} (in the clone)", text)


def check_names(items: list[Item]) -> None:
    """Raise ValueError if an id or alias names two statements."""
    seen: dict[str, str] = {}
    for item in items:
        for name in (item.id, *item.aliases):
            if name in seen:
                raise ValueError(f"{name} names two statements: {seen[name]} and {item.id}")
            seen[name] = item.id


def _are_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


def _are_pairs(value: Any) -> bool:
    return isinstance(value, list) and all(_are_strings(pair) and len(pair) == 2 for pair in value)


def _are_texts(value: Any) -> bool:
    named = isinstance(value, list) and all(isinstance(one, dict) and {"name", "sha256"} <= set(one) for one in value)
    return named and _are_strings([one[key] for one in value for key in ("name", "sha256")])


def _are_objects(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) and ":" in one for one in value.values())


# The types of fields. Each type has its words for a message and a function that checks a value.
TEXT = "a string", lambda value: isinstance(value, str)
TEXTS = "a list of strings", _are_strings
HEADER_FIELDS = {"title": TEXT, "version": TEXT, "authors": TEXTS, "caveats": TEXTS}
HEADER_FIELDS["texts"] = "a list of {name, sha256} with strings", _are_texts
MAY_HAVE = {"essentials": TEXTS, "order": ("a whole number", lambda value: type(value) is int), "audits": TEXTS}
MAY_HAVE |= dict.fromkeys(("rerun", "repaired"), ("a table of statements, each with its module:object", _are_objects))
ITEM_FIELDS = {"id": TEXT} | dict.fromkeys(TEXT_FIELDS, TEXT) | dict.fromkeys(LIST_FIELDS, TEXTS)
ITEM_FIELDS["reviewed"] = "true or false", lambda value: isinstance(value, bool)
ITEM_FIELDS["terms"] = "pairs of strings, of the formula and of the code", _are_pairs


def _check_types(name: str, table: dict[str, Any], fields: Mapping[str, tuple[str, Callable[[Any], bool]]]) -> None:
    for field, value in table.items():
        if field not in fields:
            raise ValueError(f"{name}: there is no field {field!r}")
        called, fits = fields[field]
        if not fits(value):
            raise ValueError(f"{name}: {field} must be {called}, got {value!r}")


def _header(paper: str, table: dict[str, Any]) -> Header:
    _check_types(f"[paper.{paper}]", table, HEADER_FIELDS | MAY_HAVE)
    if absent := sorted(set(HEADER_FIELDS) - set(table)):
        raise ValueError(f"[paper.{paper}]: the field {absent[0]!r} is missing")
    lists = {field: tuple(table.get(field, ())) for field in ("authors", "caveats", "essentials", "audits")}
    lists |= {field: tuple(table.get(field, {}).items()) for field in ("rerun", "repaired")}
    lists["texts"] = tuple((text["name"], text["sha256"]) for text in table["texts"])
    return Header(paper, table["title"], version=table["version"], order=table.get("order", math.inf), **lists)


def _item(table: dict[str, Any], papers: set[str]) -> Item:
    id_ = table.get("id", "")
    if not isinstance(id_, str) or not ID.fullmatch(id_):
        raise ValueError(f"an id must be paper:name, where a paper is lower-case letters and four digits, got {id_!r}")
    _check_types(id_, table, ITEM_FIELDS)
    fields: dict[str, Any] = {field: table.get(field, "").strip() for field in TEXT_FIELDS}
    anchored = [entry.partition(" @ ") for entry in table.get("code", ())]
    item = Item(
        id=id_,
        aliases=tuple(table.get("aliases", ())),
        printed=tuple(" ".join(latex.split()) for latex in table.get("printed", ())),
        code=tuple(dict.fromkeys(code for code, _, _ in anchored)),
        anchors=tuple((code, anchor) for code, at, anchor in anchored if at),
        terms=tuple((formula, code) for formula, code in table.get("terms", ())),
        reviewed=table.get("reviewed"),
        **fields,
    )
    if item.paper not in papers:
        raise ValueError(f"{id_}: the file of this statement has no [paper.{item.paper}] table")
    for field, allowed in (("kind", sorted(KINDS)), ("verdict", VERDICTS)):
        if getattr(item, field) not in allowed:
            raise ValueError(f"{id_}: {field} must be one of {', '.join(allowed)}, got {getattr(item, field)!r}")
    return item
