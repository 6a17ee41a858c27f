"""Tests of the papers' pages in Chromium, which act like a reader with the paper. Run them after `make site`.

The first result of a search for a printed number is its statement. Each statement opens at its own address. The page
draws its formulas next to its lines of code, and marks a term in the formula and in the code alike.
"""

import re

import in_print
import pytest
from markup import anchor
from moving_page import epsilons
from playwright.sync_api import sync_playwright
from reading_view import NOTATION

from nfa import ledger
from nfa.ledger import OURS, documents
from nfa.ledger.formulas import DISPLAY
from tests.project.site_check import SITE, chromium, served

# What a reader of a paper types into the search, and the statement that the reader means.
PRINTED = {
    "lee2020": {
        "(5)": "eq5", "eq. (2)": "eq2", "equation 4": "eq4", "Lemma 3": "lem3", "Fig. 1": "fig1", "Figure 2": "fig2",
        "figure 4": "fig4", "Alg. 1 line 9": "A6-A8", "A13": "A13", "(1)": "eq1",
    },
    "ohana2021": {
        "Table 1": "table1", "(8)": "eq8", "Prop. 3": "prop3", "Proposition 2": "prop2", "eq (13)": "eq13",
        "(17)": "prop3", "Fig. 2": "fig2", "(14)": "eq14", "Appendix A.3": "A3", "(4)": "eq4",
    },
    "dpulr2024": {
        "Theorem 2": "thm2", "Thm. 1": "thm1", "(8)": "eq8", "equation (26)": "eq26", "Table 1": "table1",
        "(13)": "thm3", "Figure 2": "fig2", "Alg. 1 line 205": "alg1.L205", "(4)": "eq4", "(12)": "eq12",
    },
    "berthier2019": {
        "Theorem 3.2": "thm3.2", "Prop. 3.3": "prop3.3", "Lemma 3.1": "lem3.1", "Table 1": "table1",
        "Theorem 4.2": "thm4.2", "Thm 3.6": "thm3.6", "Fig. 10": "fig10", "Figure 12": "fig12", "Prop. 2.4": "prop2.4",
        "Algorithm 1": "alg1",
    },
}  # fmt: skip

LOOK = """id => {
  const section = document.getElementById(id).closest("section");
  const marks = section.querySelectorAll(":is(.says, .printed) mjx-container [class^=term-]");
  const classes = [...marks].map(g => g.getAttribute("class"));
  return {
    drawn: section.querySelectorAll(":is(.says, .printed) div.math mjx-container > svg").length,
    failed: section.querySelectorAll("mjx-container [data-mml-node=merror]").length,
    lines: [...section.querySelectorAll(".computes pre")].map(pre => pre.textContent),
    formula: [...new Set(classes)].sort(),
    code: [...new Set([...section.querySelectorAll(".computes pre span.term")].map(s => s.classList[1]))].sort(),
  };
}"""
FOUND = """() => [...document.querySelectorAll(".facts")].map(facts => facts.closest("section"))
  .filter(section => section.checkVisibility()).map(section => section.querySelector("h2").firstChild.textContent)"""


@pytest.fixture(scope="module")
def tab():
    with served(SITE) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1300, "height": 900}, base_url=address)
        page.set_default_timeout(120_000)  # milliseconds; enough for a busy machine
        yield page
        browser.close()


def opened(tab, paper, fragment=""):
    tab.goto(f"generated/papers/{paper}.html{fragment}")
    tab.wait_for_function("() => window.MathJax?.startup?.promise !== undefined")
    tab.evaluate("() => MathJax.startup.promise.then(() => null)")


@pytest.mark.parametrize("paper", PRINTED)
def test_a_printed_number_finds_its_statement_first(tab, paper):
    opened(tab, paper)
    for typed, name in PRINTED[paper].items():
        tab.fill(".finder input", typed)
        found = tab.evaluate(FOUND)
        assert found, f"{paper}: {typed} finds nothing"
        assert found[0] == f"{paper}:{name}", f"{paper}: {typed} finds {found[:3]}"
    tab.fill(".finder input", "")
    assert len(tab.evaluate(FOUND)) == len(list(ledger.items(paper)))


@pytest.mark.parametrize("paper", PRINTED)
def test_a_filter_leaves_the_verdict_or_kind_that_was_chosen(tab, paper):
    opened(tab, paper)
    items = in_print.items(paper)
    verdict = next(item.verdict for item in items if item.verdict not in ("holds", "not-executable"))
    tab.select_option(".finder select[name=verdict]", verdict)
    assert tab.evaluate(FOUND) == [item.id for item in items if item.verdict == verdict]
    tab.select_option(".finder select[name=verdict]", "all")
    tab.select_option(".finder select[name=kind]", "equation")
    assert tab.evaluate(FOUND) == [item.id for item in items if item.kind == "equation"]


def test_a_link_to_what_is_filtered_away_shows_it(tab):
    opened(tab, "lee2020")
    tab.fill(".finder input", "(5)")
    tab.evaluate("() => { location.hash = '#lee2020-eq1'; }")
    tab.wait_for_function("() => document.getElementById('lee2020-eq1').closest('section').checkVisibility()")


@pytest.mark.parametrize("paper", [*documents(), OURS])
def test_every_statement_has_its_formulas_its_lines_and_the_same_marks_in_both(tab, paper):
    opened(tab, paper)
    for item in ledger.items(paper):
        found = tab.evaluate(LOOK, anchor(item.id))
        assert found["drawn"] == len(item.printed) + len(DISPLAY.findall(item.claims)), f"{item.id}: {found}"
        assert found["failed"] == 0, f"{item.id}: a formula has an error"
        code = "".join(found["lines"])
        assert bool(code) == bool(item.anchors), f"{item.id}: lines beside it {found['lines']}"
        for _, name in item.anchors:
            assert " ".join(name.partition(" ... ")[0].split()) in " ".join(code.split()), f"{item.id}: {name}"
        assert found["code"] == [f"term-{at}" for at in range(1, len(item.terms) + 1)], f"{item.id}: {found}"
        latex = [f"term-{at}" for at, (formula, _) in enumerate(item.terms, 1) if formula[0] == "$"]
        assert found["formula"] == latex, f"{item.id}: {found}"


POINTED = """([id, letter]) => {
  const section = document.getElementById(id).closest("section");
  const name = (node) => [...node.querySelectorAll("[data-c]")]
    .map((glyph) => String.fromCodePoint(parseInt(glyph.dataset.c, 16)).normalize("NFKC")).join("");
  const node = [...section.querySelectorAll('g[data-mml-node="mi"]')].find((node) => name(node) === letter);
  node.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
  return node.querySelector("title")?.textContent ?? "";
}"""


def row_of(symbol):
    """The cells in a symbol's row of NOTATION.md, without the name in code and without the backquotes."""
    (row,) = re.findall(rf"^\| {re.escape(symbol)} \|(.*)\|$", NOTATION.read_text(encoding="utf-8"), re.MULTILINE)
    _, *cells = row.replace("`", "").split(" | ")
    return [cell.strip() for cell in cells]


@pytest.mark.parametrize(
    ("item", "letter", "symbol"),
    [
        ("lee2020:eq1", "z", "z^l"),
        ("lee2020:eq1", "W", "W^l, b^l"),
        ("lee2020:eq1", "φ", "φ_l, φ'_l"),
        ("lee2020:eq1", "l", "i, j, k, l, t"),
        ("lee2020:eq5", "δ", "δz^l"),
        ("lee2020:eq5", "z", "δz^l"),
        ("lee2020:eq5", "B", "B^{l+1}"),
        ("lee2020:eq5", "e", "e, δz^L"),
    ],
)
def test_a_letter_that_is_pointed_at_says_what_it_means(tab, item, letter, symbol):
    opened(tab, item.partition(":")[0], f"#{anchor(item)}")
    told = tab.evaluate(POINTED, [anchor(item), letter])
    assert [cell for cell in row_of(symbol) if cell not in told] == []


def test_a_letter_that_no_table_has_says_nothing(tab):
    opened(tab, "lee2020")
    assert tab.evaluate(POINTED, [anchor("lee2020:sens-zeta"), "F"]) == ""


# --- moving pictures


def moved(tab, slider, to):
    tab.evaluate(
        "([id, to]) => { const s = document.getElementById(id); s.value = to; s.dispatchEvent(new Event('input')); }",
        [slider, str(to)],
    )
    return float(tab.evaluate("id => document.querySelector(`output[for=${id}]`).dataset.value", slider))


def told(tab, figure):
    cells = tab.evaluate(f"() => [...document.querySelectorAll('#{figure} .legend output')].map(o => o.dataset.values)")
    return [[float(value) for value in cell.split()] for cell in cells]


@pytest.mark.parametrize(("z", "q", "delta"), [(15, 30, 37), (0, 52, 20), (60, 10, 59), (24, 60, 0)])
def test_the_sliders_of_epsilon_say_what_nfa_says(tab, z, q, delta):
    """At four positions of the sliders, four theorems give nfa's epsilon to nine digits.

    We compare the epsilons after 100, 1,000 and 10,000 steps.
    """
    tab.goto("generated/moving.html")
    at = {name: moved(tab, f"epsilon-{name}", to) for name, to in (("z", z), ("q", q), ("delta", delta))}
    for k, steps in enumerate((100, 1000, 10_000)):
        expected = epsilons(**at, steps=steps)
        assert [values[k] for values in told(tab, "move-epsilon")] == pytest.approx(expected, rel=1e-9, abs=1e-15), at


def test_the_pictures_move(tab):
    """A slider changes the drawing and its text.

    In the two tested pictures, the angles decrease and the span attack fails.
    """
    tab.goto("generated/moving.html")
    drawn = "id => document.querySelector(`#${id} svg`).innerHTML"
    for figure, slider, first, last in (
        ("move-epsilon", "epsilon-z", 0, 60),
        ("move-span", "span-every", 1, 9),
        ("move-angles", "angles-step", 0, 281),
    ):
        moved(tab, slider, first)
        before = tab.evaluate(drawn, figure)
        moved(tab, slider, last)
        assert tab.evaluate(drawn, figure) != before
    angles = [value for (value,) in told(tab, "move-angles")]
    assert max(angles) < 60
    moved(tab, "angles-step", 0)
    assert min(value for (value,) in told(tab, "move-angles")) > 80
    paper, every = (
        float(v) for v in tab.evaluate("() => document.querySelector('#move-span .told').dataset.values").split()
    )
    assert (paper, every) == (1.0, pytest.approx(0.5, abs=0.1))
    tab.focus("#angles-step")  # using only the keyboard
    tab.keyboard.press("End")
    assert tab.evaluate("() => document.querySelector('output[for=angles-step]').textContent") == "282"
