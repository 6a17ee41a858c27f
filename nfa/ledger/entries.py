"""What the ledger's TOML files may say: `Header`, `Item`, and the rules each entry is held to when read."""

import re
import tomllib
from dataclasses import dataclass
from typing import Any

from nfa.ledger.tests_json import tests_of

VERDICTS = {
    "holds": "true as stated",
    "conditional": "true under a condition that the document does not state",
    "typo": "a slip of the pen: what is meant is clear and right",
    "ambiguous": "can be read in several ways that differ; the readings are named",
    "unproven": "neither proved nor refuted; its entry names what was searched",
    "differs": "a printed number that the stated procedure does not give; it may still be true",
    "false": "not true as stated; a counterexample runs",
    "conjecture": "the document itself does not claim a proof",
    "ours": "proved or measured by us and reviewed by nobody else; its place says where",
    "not-executable": "nothing to compute; the reason is given",
    "pending": "not judged yet",
}

KINDS = frozenset(
    "algorithm assumption claim conjecture correction definition equation experiment figure lemma"
    " proof-step proposition remark table theorem".split()
)

TEXT_FIELDS = tuple("kind where verdict claims right use number check certificate tutorial reason".split())
TO_USE = frozenset({"false", "conditional", "unproven", "differs", "conjecture"})
LIST_FIELDS = ("aliases", "printed", "code")
JUDGEMENT = (
    "printed",
    "claims",
    "right",
    "use",
    "number",
    "check",
    "certificate",
    "code",
    "tutorial",
    "reason",
)  # empty while pending

NAME = r"[A-Za-z0-9][A-Za-z0-9.%-]*"
OURS = "ours"  # the document of what is ours, and its one verdict
PAPER = rf"(?:[a-z]+[0-9]{{4}}|{OURS})"
ID = re.compile(rf"({PAPER}):({NAME})")
CERTIFICATE = re.compile(r"certificates/\w+\.py")
CODE = re.compile(r"nfa(\.[A-Za-z_]\w*)+:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")


@dataclass(frozen=True)
class Header:
    """A document: which version was judged, from which text, what to know of that text, and what of what it says."""

    paper: str
    title: str
    authors: tuple[str, ...]
    version: str
    texts: tuple[tuple[str, str], ...]  # (what it is, sha256 of the file)
    caveats: tuple[str, ...]
    essentials: tuple[str, ...] = ()  # what a user of the document must know, the weightiest first, at most ten


@dataclass(frozen=True)
class Item:
    """One statement of a document; the fields are explained in `nfa.ledger`. Empty means "" or ()."""

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
    code: tuple[str, ...] = ()  # module:object, each once
    anchors: tuple[tuple[str, str], ...] = ()  # (an entry of code, the text in the line of it that is the equation)
    terms: tuple[tuple[str, str], ...] = ()  # (in print or in the claim, in the lines that the anchors name)
    tutorial: str = ""
    reason: str = ""
    reviewed: bool | None = None  # of what is ours, whether others have reviewed its proof

    @property
    def paper(self) -> str:
        """Name of the document, the part of the id before the colon."""
        return self.id.partition(":")[0]

    @property
    def tests(self) -> tuple[str, ...]:
        """Sorted node ids of the tests that verify it; see `nfa.ledger.tests_json`."""
        return tests_of((self.id, *self.aliases))

    def anchors_of(self, entry: str) -> tuple[str, ...]:
        """What names the lines of an entry of ``code`` that are this statement; see `nfa.ledger.lines`."""
        return tuple(anchor for code, anchor in self.anchors if code == entry)


def parse(text: str) -> tuple[list[Header], list[Item]]:
    """Read one TOML file of the ledger and hold it to the rules.

    Parameters
    ----------
    text : str, the file's content

    Returns
    -------
    headers, items : in the order of the file

    Raises
    ------
    ValueError : one sentence that names the id and the rule it breaks
    """
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise ValueError("a ledger file is flat, this one has lists within lists without end") from None
    unknown = set(data) - {"paper", "item"}
    if unknown:
        raise ValueError(f"a ledger file has only [paper.NAME] and [[item]] tables, got {sorted(unknown)[0]!r}")
    papers, entries = data.get("paper", {}), data.get("item", [])
    if not (_is_table(papers) and all(map(_is_table, papers.values()))):
        raise ValueError("a ledger file's papers must be tables [paper.NAME]")
    if not (isinstance(entries, list) and all(map(_is_table, entries))):
        raise ValueError("a ledger file's items must be tables [[item]]")
    headers = [_header(paper, table) for paper, table in papers.items()]
    items = [_item(table, {h.paper for h in headers}) for table in entries]
    return headers, items


def check_names(items: list[Item]) -> None:
    """Raise ValueError if an id or alias names two statements."""
    seen: dict[str, str] = {}
    for item in items:
        for name in (item.id, *item.aliases):
            if name in seen:
                raise ValueError(f"{name} names two statements: {seen[name]} and {item.id}")
            seen[name] = item.id


def _is_table(value: Any) -> bool:
    return isinstance(value, dict)


def _are_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) for v in value)


def _header(paper: str, table: dict[str, Any]) -> Header:
    fields = {"title", "authors", "version", "texts", "caveats"}
    if set(table) - {"essentials"} != fields:
        odd = sorted((set(table) - {"essentials"}) ^ fields)[0]
        raise ValueError(f"[paper.{paper}] must have the fields {', '.join(sorted(fields))}; look at {odd!r}")
    for field in ("title", "version"):
        if not isinstance(table[field], str):
            raise ValueError(f"[paper.{paper}] {field} must be a string, got {table[field]!r}")
    for field in ("authors", "caveats", "essentials"):
        if not _are_strings(table.get(field, [])):
            raise ValueError(f"[paper.{paper}] {field} must be a list of strings, got {table[field]!r}")
    files = table["texts"]
    named = isinstance(files, list) and all(_is_table(f) and {"name", "sha256"} <= set(f) for f in files)
    if not named or not _are_strings([f[key] for f in files for key in ("name", "sha256")]):
        raise ValueError(f"[paper.{paper}] texts must be a list of {{name, sha256}} with strings, got {files!r}")
    texts = tuple((text["name"], text["sha256"]) for text in files)
    for name, sha256 in texts:
        if not re.fullmatch("[0-9a-f]{64}", sha256):
            raise ValueError(f"[paper.{paper}] the sha256 of {name!r} must be 64 hex digits, got {sha256!r}")
    lists = {field: tuple(table.get(field, ())) for field in ("authors", "caveats", "essentials")}
    return Header(paper=paper, title=table["title"], version=table["version"], texts=texts, **lists)


def _item(table: dict[str, Any], papers: set[str]) -> Item:
    id_ = table.get("id", "")
    if not isinstance(id_, str) or not ID.fullmatch(id_):
        raise ValueError(f"an item needs an id of the form paper:name, got {id_!r}")

    def need(rule: bool, sentence: str) -> None:
        if not rule:
            raise ValueError(f"{id_}: {sentence}")

    for field, value in table.items():
        need(field in ("id", "reviewed", "terms", *TEXT_FIELDS, *LIST_FIELDS), f"there is no field {field!r}")
        if field == "reviewed":
            need(isinstance(value, bool), f"reviewed must be true or false, got {value!r}")
        elif field == "terms":
            pairs = isinstance(value, list) and all(_are_strings(pair) and len(pair) == 2 for pair in value)
            need(pairs, f"terms must be pairs of strings, of the formula and of the code, got {value!r}")
        elif field in LIST_FIELDS:
            need(_are_strings(value), f"{field} must be a list of strings, got {value!r}")
        else:
            need(isinstance(value, str), f"{field} must be a string, got {value!r}")

    fields: dict[str, Any] = {f: table[f].strip() for f in TEXT_FIELDS if f in table}
    fields |= {f: tuple(table[f]) for f in LIST_FIELDS if f in table}
    fields = {"kind": "", "where": "", "verdict": ""} | fields
    anchored = [entry.partition(" @ ") for entry in fields.get("code", ())]
    fields["code"] = tuple(dict.fromkeys(code for code, _, _ in anchored))
    fields["printed"] = tuple(" ".join(latex.split()) for latex in table.get("printed", ()))
    fields["terms"] = tuple((formula, code) for formula, code in table.get("terms", ()))
    fields["anchors"] = tuple((code, anchor) for code, at, anchor in anchored if at)
    item = Item(id=id_, reviewed=table.get("reviewed"), **fields)
    need(item.paper in papers, f"its file has no [paper.{item.paper}] table")
    need(item.kind in KINDS, f"kind must be one of {', '.join(sorted(KINDS))}, got {item.kind!r}")
    need(item.verdict in VERDICTS, f"verdict must be one of {', '.join(VERDICTS)}, got {item.verdict!r}")
    need((item.paper == OURS) == (item.verdict == OURS), "the verdict of what is ours, and of that alone, is 'ours'")
    need((item.reviewed is None) == (item.paper != OURS), "what is ours, and nothing else, says whether it is reviewed")
    need(bool(item.where), "where is missing: say the section and number in the document")
    for alias in item.aliases:
        match = ID.fullmatch(alias)
        need(
            match is not None and match[1] == item.paper,
            f"an alias must begin with {item.paper}:, got {alias!r}",
        )
    for entry in item.code:
        need(CODE.fullmatch(entry) is not None, f"code must be module:object inside nfa, got {entry!r}")
    for entry, anchor in item.anchors:
        need(bool(anchor.strip()), f"after the @ of {entry} stands a text of the line that is the equation")

    need(all(item.printed), "a formula of printed is empty")
    for formula, _ in item.terms:
        stands = any(formula.strip("$") in text for text in (*item.printed, " ".join(item.claims.split())))
        need(stands, f"the term {formula!r} is neither in print nor in its claims")
        opened, closed = (len(re.findall(rf"\\{side}(?![a-z])", formula)) for side in ("left", "right"))
        whole = opened == closed and not re.search(r"&|\\\\", formula)
        need(whole, f"the term {formula!r} must be one piece of a line, with both of its brackets")
    need(not item.terms or bool(item.anchors), "terms belong to lines that anchors name, and it has no anchor")
    need(
        not item.certificate or CERTIFICATE.fullmatch(item.certificate) is not None,
        f"certificate must be certificates/NAME.py in the folder of its document, got {item.certificate!r}",
    )

    if item.verdict == "pending":
        for field in JUDGEMENT:
            need(not getattr(item, field), f"a pending item has only a kind and a place, but {field} is filled")
        return item
    need(bool(item.claims), "claims is missing: say what the document states")
    need(
        (item.verdict in TO_USE) == bool(item.use),
        f"the verdicts {', '.join(sorted(TO_USE))}, and no others, need the field use",
    )
    if item.verdict == "not-executable":
        need(bool(item.reason), "a not-executable item must give its reason")
        need(not item.code, "a not-executable item has no code")
        need(not item.certificate, "a not-executable item has no certificate")
        return item
    need(not item.reason, f"reason belongs to not-executable items, this one has the verdict {item.verdict!r}")
    need(bool(item.code), "code is missing: name the function that computes it")
    need(not item.certificate or item.verdict != "holds", "a certificate refutes, and this item holds")
    if item.verdict != "holds":
        for field in ("right", "number", "check") if item.verdict != OURS else ("number", "check"):
            need(bool(getattr(item, field)), f"the verdict {item.verdict!r} needs the field {field}")
    return item
