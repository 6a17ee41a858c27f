"""The page of a document, to be read next to the document: claims on the left, the lines of code on the right.

Below each statement are our findings. Numbers and tests are folded, and links lead to the whole functions.
``_static/reading_view.js`` adds a search by printed number, filters, and the same mark for a term and its code.
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
HALF = 60  # columns of a formula in a terminal with the width of half a page
SENTENCE = re.compile(r"(?<=[.?!])[ \n]+(?=[A-Z])")


def named(header: Header) -> str:
    """The id and the citation of a document, such as ``lee2020: Lee & Kifer (2020)``."""
    family = [author.split()[-1] for author in header.authors]
    who = {1: family[0], 2: " & ".join(family)}.get(len(family), f"{family[0]} et al.")
    if header.authors[0].startswith("anonymous"):
        who = "anonymous"
    return f"{header.paper}: {who} ({header.paper[-4:]})"


def document(name: str, headers: list[Header], items: list[Item]) -> str:
    """The page of one document: the judged version, a table of the statements, then each statement."""
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
    """The folded symbol tables of NOTATION.md for all papers and for these papers, or no line without such tables."""
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
    """The main points for users of a document, with links to statements."""
    if not header.essentials:
        return []
    return [f"**{title}**", "", *(f"- {line(text)}" for text in header.essentials), ""]


def statement(item: Item) -> list[str]:
    """One statement: claim and code next to each other, our findings in a few sentences, and the rest folded."""
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
    """The claim of the document in our words."""
    return [f"**The claim.** {prose(_marked(item), linked=True)}"]


def _first_sentences(text: str) -> tuple[str, str]:
    """The first sentences of a text, of at least 80 characters or up to a formula or list, and the rest."""
    ends = list(SENTENCE.finditer(text))
    for end, after in zip(ends, [*ends[1:], None], strict=False):
        sentence = text[end.start() : after.start() if after else None]
        if end.start() >= 80 or "$$" in sentence or "\n " in sentence:
            return text[: end.start()], text[end.start() :].lstrip("\n" if "\n " in end[0] else None)
    return text, ""


def _contents(item: Item, rest: str) -> str:
    """The heading of the folded part below a statement."""
    parts = [("further", bool(rest)), ("numbers", bool(item.number)), ("how to check it", bool(item.check))]
    parts += [("tests", bool(item.tests))]
    return ", ".join(name for name, there in parts if there).capitalize()


def _marked(item: Item) -> str:
    """The claim with a class around each term that has a counterpart in the code."""
    return DISPLAY.sub(lambda found: f"{found[1]}$${marked(found[2], item.terms)}$${found[3]}", item.claims)


def printed(item: Item) -> list[str]:
    """The formulas of a statement as printed, one after the other, or no line without formulas."""
    formulas = [line for latex in item.printed for line in ("$$", typeset(latex, item.terms), "$$", "")]
    return ["**As printed.**", "", *formulas] if formulas else []


def computed(item: Item) -> list[str]:
    """Links to the code of a statement, the lines that compute it, and a list of its terms in the code."""
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
    """A link to the source of an object. The site shows a module's source if it has a public function or class."""
    module, _, name = entry.partition(":")
    file, line, _ = ledger.source_of(entry)
    of_module = vars(importlib.import_module(module)).items()
    if not any(getattr(one, "__module__", "") == module and one_name[0] != "_" for one_name, one in of_module):
        return f"`{name}`, {file}:{line}"
    target = f"../../_modules/{module.replace('.', '/')}.html"
    first = name.partition(".")[0]
    if not first.startswith("_") and not first.isupper():  # the site has no anchors for these names
        target += f"#{first}"
    return f'`{name}`, <a href="{target}">{file}:{line}</a>'


def taught(item: Item) -> list[str]:
    """The link to the tutorial of a statement, or to the labelled cell of the tutorial that shows the error."""
    if not item.tutorial:
        return []
    page, label = f"{{doc}}`/{Path(item.tutorial).stem}`", f"shown-{anchor(item.id)}"
    if f"({label})=" in (TUTORIALS.parent / item.tutorial).read_text(encoding="utf-8"):
        return [f"Shown by {{ref}}`this cell <{label}>` of {page}.", ""]
    return [f"Taught in {page}.", ""]


def fields(item: Item, without: tuple[str, ...] = ()) -> list[str]:
    """The claim, our finding, our advice, the number and the check of a statement, without some of these fields."""
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
