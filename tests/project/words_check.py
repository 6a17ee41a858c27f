"""Tests that every word of the ledger is on the site, after `make site`, so that Markdown drops no word as markup.

We compare the texts without spaces and without formulas. Other checks count the formulas and test that they are drawn.
"""

import re
from functools import cache

import pytest
from bs4 import BeautifulSoup, Tag
from in_print import items
from markup import anchor
from reading_view import SENTENCE

from nfa import ledger
from nfa.ledger import OURS, documents
from nfa.ledger.entries import in_the_clone
from nfa.ledger.formulas import DISPLAY, INLINE
from tests.project.site_check import SITE

FIELDS = ("where", "claims", "right", "use", "number", "check", "reason")


@cache
def page(name: str) -> BeautifulSoup:
    """A page of the site without its formulas."""
    found = BeautifulSoup((SITE / f"generated/{name}.html").read_text(encoding="utf-8"), "html.parser")
    for formula in found.select(".math"):
        formula.decompose()
    return found


def together(text: str) -> str:
    """A text without its spaces."""
    return re.sub(r"\s+", "", text)


def pieces(text: str) -> list[str]:
    """The pieces of a text of the ledger between formulas, list numbers and ends of sentences, without spaces."""
    prose = INLINE.sub("\n\n", DISPLAY.sub(r"\n\n\3", text))
    prose = re.sub(r"(?m)^ +\d+\. ", "\n\n", prose)
    cut = [sentence for paragraph in prose.split("\n\n") for sentence in SENTENCE.split(paragraph)]
    return [together(piece).strip(".,;:") for piece in cut if piece.strip(" \n.,;:")]


def missing(text: str, shown: str) -> list[str]:
    """The pieces of a text that the text `shown` (without spaces) does not contain."""
    return [piece for piece in pieces(text) if piece not in shown]


@cache
def labels(name: str) -> dict[str, Tag]:
    """The elements of a page that have a label."""
    return {str(element["id"]): element for element in page(name).find_all(id=True)}


@cache
def section(name: str, label: str) -> str:
    """The text of the section of a page with a label, without spaces."""
    return together(labels(name)[label].find_parent("section").get_text())


@cache
def article(name: str) -> str:
    """The text of a page, without spaces."""
    return together(page(name).find("article").get_text())


ELSEWHERE = [paper for paper in ledger.papers() if paper not in (*documents(), OURS)]


@pytest.mark.parametrize("paper", ledger.papers())
def test_every_word_of_a_statement_is_on_its_page(paper):
    name = "papers/external" if paper in ELSEWHERE else f"papers/{paper}"
    lost = [
        (item.id, field, piece)
        for item in ledger.items(paper)
        for field in FIELDS
        for piece in missing(in_the_clone(getattr(item, field, "")), section(name, anchor(item.id)))
    ]
    assert not lost


@pytest.mark.parametrize("paper", documents())
def test_every_word_of_a_finding_is_in_the_errata(paper):
    lost = [
        (item.id, field, piece)
        for item in ledger.findings(ledger.items(paper))
        for field in FIELDS[1:]
        for piece in missing(in_the_clone(getattr(item, field, "")), article("errata"))
    ]
    assert not lost


@pytest.mark.parametrize("paper", ledger.papers())
def test_every_word_about_a_document_is_on_its_page(paper):
    header = ledger.header(paper)
    shown = article("papers/external" if paper in ELSEWHERE else f"papers/{paper}")
    texts = [header.title, header.version, *header.caveats, *header.essentials]
    assert not [piece for text in texts for piece in missing(text, shown)]


@pytest.mark.parametrize("paper", documents())
def test_the_page_has_its_statements_in_the_order_of_print(paper):
    shown = [heading.contents[0] for heading in page(f"papers/{paper}").select("section section > h2")]
    assert shown == [item.id for item in items(paper)]


def test_what_markdown_drops_would_be_missed():
    """The check reports lines that Markdown would turn into a comment, a quotation or a list."""
    shown = together("Claim the true direction only where the clip shortens no gradient.")
    text = "Claim the true direction only where the clip shortens no gradient (clipped,\n%), and one more\n+ word."
    assert missing(text, shown)
    assert not missing("Claim the true direction only\nwhere the clip shortens no gradient.", shown)
