"""Tests of the papers' formulas: all numbered formulas are in a statement, and every formula can be printed."""

import re

import pytest

from nfa import ledger
from nfa.ledger.formulas import DISPLAY, in_text

NUMBERED = {"lee2020": range(1, 6), "ohana2021": range(1, 19), "dpulr2024": range(1, 43), "berthier2019": range(0)}
PRINTED = [(item.id, latex) for item in ledger.items() for latex in item.printed]


@pytest.mark.parametrize("paper", NUMBERED)
def test_every_numbered_formula_is_printed_once_and_its_number_finds_its_statement(paper):
    """Every numbered formula is printed once, and a search for its number finds its statement.

    The test ignores formulas that only the preprint of ohana2021 has, for example the preprint's formula (15).
    """
    numbers = []
    for item in (item for item in ledger.items(paper) if not item.where.startswith("preprint only")):
        for number in re.findall(r"\\tag{(.*?)}", "".join(item.printed)):
            numbers.append(int(number))
            assert ledger.find(f"{paper}:eq{number}").id == item.id or f"({number})" in item.where, (item.id, number)
    assert sorted(numbers) == list(NUMBERED[paper])


def test_what_is_printed_is_spelled_out_for_a_terminal():
    for id_, latex in PRINTED:
        text = in_text(latex)
        assert text
        assert not re.search(r"[\\$&\v\t\x01-\x04\xa0]", text), f"{id_}: {text}"


def test_brackets_that_grow_close_in_the_cell_that_opens_them():
    """Growing brackets must close in the cell in which they open, because the site's typesetting requires this.

    In a terminal, nfa prints them as ordinary brackets.
    """
    for id_, latex in PRINTED:
        outer = re.sub(r"\\begin{(pmatrix|cases)}.*?\\end{\1}|\\substack{.*?\\\\.*?}", "", latex)
        for cell in re.split(r"&|\\\\|\\(?:begin|end){\w+}", outer):
            depth = 0
            for side in re.findall(r"\\(left|right)(?![A-Za-z])", cell):
                depth += 1 if side == "left" else -1
                assert depth >= 0, f"{id_}: {cell}"
            assert depth == 0, f"{id_}: {cell}"


def test_a_claim_has_a_display_only_where_it_says_something_else_than_print():
    for item in ledger.items():
        if item.paper in NUMBERED and item.printed:
            for found in DISPLAY.finditer(item.claims):
                assert " ".join(found[2].split()) not in item.printed, item.id


def test_where_a_formula_is_code_a_line_is_named_and_its_terms():
    """If a statement has code and a formula, an anchor names the line of the formula.

    The statement then lists the terms of this line. The test covers formulas of documents, our own formulas, and those
    of theorems from other sources. If no line is the formula, the field no_line gives the reason.
    """
    with_formula = [item for item in ledger.items() if item.code and (item.printed or DISPLAY.search(item.claims))]
    assert len(with_formula) > 180
    without = {item.id for item in with_formula if not item.anchors}
    assert without == {item.id for item in ledger.items() if item.no_line}, "say why in the field no_line"
    assert [item.id for item in with_formula if item.anchors and not item.terms] == []
    # Each term has a colour on the site. Readers can distinguish five colours in either theme.
    assert [item.id for item in ledger.items() if len(item.terms) > 5] == []
