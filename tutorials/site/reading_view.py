"""The page of a document, to be read beside it: what it says on the left, the lines that compute it on the right.

Below each statement stands what we found of it; numbers and tests are folded away, and whole functions a link further.
``_static/reading_view.js`` adds a search by printed number, filters, and the same mark to a term and its code.
"""

import importlib
import re
import textwrap
from html import escape as escape_html
from pathlib import Path

from certificates_page import reference
from in_print import facts
from markup import anchor, badge, escape, line, link, prose, table
from terms import marked, typeset

from nfa import ledger
from nfa.ledger import VERDICTS, Header, Item
from nfa.ledger.breaking import columns
from nfa.ledger.entries import in_the_clone
from nfa.ledger.formulas import DISPLAY, in_text
from nfa.ledger.lines import lines_of, runs

TUTORIALS = Path(__file__).parents[1]
NOTATION = TUTORIALS.parent / "nfa" / "NOTATION.md"
HALF = 60  # columns of a formula in a terminal that are as wide as half of the page
SENTENCE = re.compile(r"(?<=[.?!])[ \n]+(?=[A-Z])")


def named(header: Header) -> str:
    """The id of a document and how one cites it: ``lee2020: Lee & Kifer (2020)``."""
    family = [author.split()[-1] for author in header.authors]
    who = {1: family[0], 2: " & ".join(family)}.get(len(family), f"{family[0]} et al.")
    if header.authors[0].startswith("anonymous"):
        who = "anonymous"
    return f"{header.paper}: {who} ({header.paper[-4:]})"


def document(name: str, headers: list[Header], items: list[Item]) -> str:
    """The page of one document: which version was judged, a table of the statements, then each of them."""
    lines = ["---", "hide-toc: true", "---", f"# {name}", ""]
    for header in headers:
        lines += [f"**{escape(header.title)}**, {escape(', '.join(header.authors))}. {escape(header.version)}.", ""]
        lines += essentials(header, "What a reader must know")
        lines += ["About the text that was judged:", ""] if header.essentials else []
        lines += [f"- {line(caveat)}" for caveat in header.caveats] + [""]
    lines += symbols([header.paper for header in headers])
    rows = [[link(item.id), badge(item.verdict), item.kind, line(item.where, linked=False)] for item in items]
    summary = f"<summary>All {len(items)} statements in a table</summary>"
    lines += ["<details>", summary, "", *table(["statement", "verdict", "kind", "where"], rows), "", "</details>", ""]
    for before, item, after in zip([None, *items], items, [*items[1:], None], strict=False):
        lines += statement(item)
        there = [f"← {link(before.id)}"] if before else []
        there += [f"{link(after.id)} →"] if after else []
        lines += [":::{container} onward", " · ".join(there), ":::", ""]
    return "\n".join(lines)


def symbols(papers: list[str]) -> list[str]:
    """What NOTATION.md says of the letters of all papers and of these ones, folded away; nothing if it has none."""
    _, *sections = re.split("^## ", NOTATION.read_text(encoding="utf-8"), flags=re.MULTILINE)
    tables = {title: text.strip() for title, _, text in (section.partition("\n") for section in sections)}
    own = [text for title, text in tables.items() if any(f"(`{paper}`)" in title for paper in papers)]
    if not own:
        return []
    every = tables["Symbols of all papers"]
    rest = "{doc}`/notation` has the symbols of the other papers, and the letters with several meanings."
    summary = "<summary>The symbols, their meanings and their names in code</summary>"
    return ['<details class="letters">', summary, "", *own, "", every, "", rest, "", "</details>", ""]


def essentials(header: Header, title: str) -> list[str]:
    """What a user of a document must know, with links to what is said of it."""
    if not header.essentials:
        return []
    return [f"**{title}**", "", *(f"- {line(text)}" for text in header.essentials), ""]


def statement(item: Item) -> list[str]:
    """One statement: claim and code side by side, what we find in a sentence, the rest folded away."""
    lines = [*(f"({anchor(name)})=" for name in (item.id, *item.aliases)), f"## {escape(item.id)}", ""]
    known = " ".join(f'data-{name}="{escape_html(text)}"' for name, text in facts(item))
    lines += [f'<div class="facts" {known}></div>', ""]
    what = f"{item.kind.capitalize()}, {line(item.where, linked=False)}"
    lines += [f"{badge(item.verdict)} {VERDICTS[item.verdict]}. {what}.", ""]
    if item.aliases:
        lines += [f"Also {', '.join(f'`{alias}`' for alias in item.aliases)}.", ""]
    wide = any(columns(one) > HALF for latex in item.printed for one in in_text(latex).split("\n"))
    if wide:
        lines += [":::{container} printed", *printed(item), ":::", ""]
    lines += ["::::{container} beside", ":::{container} says", *([] if wide else printed(item)), *said(item)]
    lines += [":::", ":::{container} computes", *computed(item), ":::", "::::", ""]
    first, rest = _first_sentences(item.right or item.reason)
    if first:
        lines += [f"**What we find.** {prose(first, linked=True)}", ""]
    if item.use:
        lines += [f"**What to do.** {prose(item.use, linked=True)}", ""]
    more = [f"**Further.** {prose(rest, linked=True)}", ""] if rest else []
    more += fields(item, without=("claims", "right", "use", "reason"))
    if item.tests:
        tests = "".join(f"<li><code>{test}</code></li>" for test in item.tests)
        more += [f"Tests: <code>pytest --eq {item.id}</code> (in the clone)<ul>{tests}</ul>", ""]
    if more:
        lines += ["<details>", f"<summary>{_contents(item, rest)}</summary>", "", *more, "</details>", ""]
    return [*lines, *taught(item), *reference(item)]


def said(item: Item) -> list[str]:
    """What the document says, all of it in our words."""
    return [f"**The claim.** {prose(_marked(item), linked=True)}"]


def _first_sentences(text: str) -> tuple[str, str]:
    """As many sentences as say something, and the rest; a formula or a list ends them."""
    ends = list(SENTENCE.finditer(text))
    for end, after in zip(ends, [*ends[1:], None], strict=False):
        sentence = text[end.start() : after.start() if after else None]
        if end.start() >= 80 or "$$" in sentence or "\n " in sentence:
            return text[: end.start()], text[end.start() :].lstrip("\n" if "\n " in end[0] else None)
    return text, ""


def _contents(item: Item, rest: str) -> str:
    """What is folded away below a statement."""
    parts = [("further", bool(rest)), ("numbers", bool(item.number)), ("how to check it", bool(item.check))]
    parts += [("tests", bool(item.tests))]
    return ", ".join(name for name, there in parts if there).capitalize()


def _marked(item: Item) -> str:
    """The claim with a class around each term that has a counterpart in the code."""
    return DISPLAY.sub(lambda found: f"{found[1]}$${marked(found[2], item.terms)}$${found[3]}", item.claims)


def printed(item: Item) -> list[str]:
    """The formulas of a statement as its document sets them, one after the other; nothing if it has none."""
    formulas = [line for latex in item.printed for line in ("$$", typeset(latex, item.terms), "$$", "")]
    return ["**As printed.**", "", *formulas] if formulas else []


def computed(item: Item) -> list[str]:
    """The lines that are the statement, and which term of it is what in them; else where it is computed."""
    lines: list[str] = []
    for entry in item.code:
        lines += [source(entry), ""]
        for piece in runs(lines_of(entry, item.anchors_of(entry))[0]):
            if piece[0].marked:
                text = textwrap.dedent("\n".join(one.text for one in piece))
                lines += ["```{code-block} python", text, "```", ""]
    if item.terms:
        rows = [f"{at}. {formula if formula[0] == '$' else f'`` {formula} ``'} is `` {code_} ``"
                for at, (formula, code_) in enumerate(item.terms, 1)]  # fmt: skip
        lines += ["::::{container} terms", *rows, "::::", ""]
    return lines or ["Nothing is computed."]


def source(entry: str) -> str:
    """A link to the source of an object, which the site shows by the module if that has a public function or class."""
    module, _, name = entry.partition(":")
    file, line, _ = ledger.source_of(entry)
    of_module = vars(importlib.import_module(module)).items()
    if not any(getattr(one, "__module__", "") == module and one_name[0] != "_" for one_name, one in of_module):
        return f"`{name}`, {file}:{line}"
    target = f"../../_modules/{module.replace('.', '/')}.html"
    first = name.partition(".")[0]
    if not first.startswith("_") and not first.isupper():  # of these the site has no places
        target += f"#{first}"
    return f'`{name}`, <a href="{target}">{file}:{line}</a>'


def taught(item: Item) -> list[str]:
    """The tutorial of a statement, and the cell in it that shows what is wrong, where one is labelled."""
    if not item.tutorial:
        return []
    page, label = f"{{doc}}`/{Path(item.tutorial).stem}`", f"shown-{anchor(item.id)}"
    if f"({label})=" in (TUTORIALS.parent / item.tutorial).read_text(encoding="utf-8"):
        return [f"Shown by {{ref}}`this cell <{label}>` of {page}.", ""]
    return [f"Taught in {page}.", ""]


def fields(item: Item, without: tuple[str, ...] = ()) -> list[str]:
    """What is claimed, what is right, the number and how to check it."""
    titles = {
        "claims": "The claim",
        "right": "What we find",
        "use": "What to do",
        "number": "In numbers",
        "check": "To check",
    }
    lines = [] if "claims" in without else printed(item)
    for name, title in (titles | {"reason": "Why it is not run"}).items():
        if name not in without and (text := getattr(item, name)):
            text = in_the_clone(text) if name == "check" else text
            lines += [f"**{title}.** " + prose(text, linked=name != "check"), ""]  # a check is commands
    return lines
