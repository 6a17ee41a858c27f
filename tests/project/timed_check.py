"""Tests that a reader can find ten statements of each document by their printed numbers, in 20 seconds each.

Run this test after `make site`. The test opens the page of a document, types the printed number into the page's search,
key by key, and sends it. The time ends when the window shows the statement with drawn formulas. A person needs
additional time for reading.
"""

import time

import pytest

from nfa import ledger
from nfa.ledger import documents
from tests.project.reading_check import opened, tab  # noqa: F401 (a fixture)

SECONDS = 20  # largest time of a search
KEY = 80  # milliseconds between two keys, for a fast typist
PRINTED = {
    "lee2020": {
        "(1)": "eq1", "(2)": "eq2", "(3)": "eq3", "(4)": "eq4", "(5)": "eq5", "Def. 1": "def1", "Definition 2": "def2",
        "Lemma 2": "lem2", "Lemma 3": "lem3", "Alg. 1 line 9": "A6-A8",
    },
    "ohana2021": {
        "(1)": "eq1", "eq. (3)": "eq3", "Def. 2.3": "def2.3", "Thm. 2": "thm2", "Prop. 1": "prop1", "(8)": "eq8",
        "(9)": "eq9", "Alg. 1 line 13": "alg1.13-15", "(17)": "prop3", "(13)": "eq13",
    },
    "dpulr2024": {
        "Definition 1": "def1", "(4)": "eq4", "Ass. 1": "asm1", "(8)": "eq8", "Alg. 1 line 205": "alg1.L205",
        "Theorem 1": "thm1", "Thm. 2": "thm2", "(13)": "thm3", "(26)": "eq26", "(40)": "eq40",
    },
    "berthier2019": {
        "Def. 2.1": "def2.1", "Prop. 2.2": "prop2.2", "Theorem 2.1": "thm2.1", "Prop. 2.4": "prop2.4",
        "Lemma 3.1": "lem3.1", "Theorem 3.2": "thm3.2", "Thm. 3.6": "thm3.6", "Prop. 3.3": "prop3.3",
        "Algorithm 1": "alg1", "Conj. 2": "conj2",
    },
}  # fmt: skip
THERE = """id => {
  const heading = [...document.querySelectorAll("section > h2")].find(h => h.firstChild.textContent === id);
  const section = heading.closest("section");
  const [top, bottom] = [heading.getBoundingClientRect().top, section.getBoundingClientRect().bottom];
  const math = [...section.querySelectorAll(":is(.says, .printed) div.math")];
  const there = section.checkVisibility() && bottom > 0 && top < innerHeight;
  if (!there || !math.length || math.some(one => !one.querySelector("mjx-container > svg"))) return null;
  return [math.length, section.querySelectorAll(".computes pre").length];
}"""
FIRST = """() => [...document.querySelectorAll(".facts")].map(facts => facts.closest("section"))
  .find(section => section.checkVisibility()).querySelector("h2").firstChild.textContent"""


@pytest.mark.parametrize("paper", documents())
def test_ten_statements_are_found_by_their_printed_numbers(tab, paper):  # noqa: F811
    assert len(PRINTED[paper]) == 10
    start = time.perf_counter()
    opened(tab, paper)
    print(f"\n{paper}: the page is open, and its formulas are drawn, after {time.perf_counter() - start:.1f} s\n")
    print("| typed | found | formulas | marked pieces of code | seconds |\n| --- | --- | --- | --- | --- |")
    for typed, name in PRINTED[paper].items():
        item = ledger.find(f"{paper}:{name}")
        start = time.perf_counter()
        tab.fill(".finder input", "")
        tab.type(".finder input", typed, delay=KEY)
        tab.press(".finder input", "Enter")
        formulas, pieces = tab.wait_for_function(THERE, arg=item.id).json_value()
        seconds = time.perf_counter() - start
        print(f"| {typed} | {item.id} | {formulas} | {pieces} | {seconds:.1f} |")
        assert tab.evaluate(FIRST) == item.id, typed
        assert formulas >= len(item.printed) > 0, typed
        assert pieces > 0, typed
        assert seconds < SECONDS, typed
