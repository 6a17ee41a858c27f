"""Formulas as the papers set them: every display is in a statement, once, as it was compared with the paper."""

import hashlib
import re
import tomllib
from collections import Counter

import pytest

from nfa import ledger
from nfa.ledger.formulas import DISPLAY, in_text
from tests.project.tree import ROOT

LISTED = tomllib.loads((ROOT / "tests" / "ledger" / "displays.toml").read_text(encoding="utf-8"))
# How many formulas each paper sets apart, counted in its text; a group of lines under one number is one.
APART = {"lee2020": 10, "ohana2021": 34, "dpulr2024": 48, "berthier2019": 117}  # of ohana2021 one is the preprint's
PRINTED = [(item.id, latex) for item in ledger.items() for latex in item.printed]


def digits(latex):
    return hashlib.sha256("".join(latex.split()).encode()).hexdigest()[:8]


@pytest.mark.parametrize("paper", APART)
def test_every_display_of_a_paper_is_listed_once(paper):
    apart, within = LISTED[paper]["apart"], LISTED[paper]["within"]
    assert len(apart) == APART[paper]
    places = Counter(place for place, _, _ in (*apart, *within))
    assert [place for place, times in places.items() if times > 1] == []


@pytest.mark.parametrize("paper", APART)
def test_every_display_is_in_its_statement_as_it_was_compared_with_the_paper(paper):
    """And nothing is printed that is not listed; several of one statement stand in the order of the paper."""
    apart, within = LISTED[paper]["apart"], LISTED[paper]["within"]
    for item in ledger.items(paper):
        found = [digits(latex) for latex in item.printed]
        listed = [[known for _, id_, known in part if id_ == item.id] for part in (apart, within)]
        assert sorted(found) == sorted([*listed[0], *listed[1]]), item.id
        for part in listed:
            assert [one for one in found if one in part] == part, item.id
    assert {id_ for _, id_, _ in (*apart, *within)} <= {item.id for item in ledger.items(paper)}


@pytest.mark.parametrize("paper", APART)
def test_a_number_stands_beside_the_display_that_has_it_and_finds_its_statement(paper):
    numbers = []
    for place, id_, known in LISTED[paper]["apart"]:
        (latex,) = (one for one in ledger.find(id_).printed if digits(one) == known)
        number = re.search(r"\\tag{(.*?)}", latex)
        assert (f"({number[1]})" if number else "") == (place.partition(" of ")[0] if place[0] == "(" else ""), id_
        if number and " of " not in place:
            numbers.append(number[1])
            found = ledger.find(f"{paper}:eq{number[1]}")
            assert found.id == id_ or place in found.where, place
    assert len(set(numbers)) == len(numbers)


def test_what_is_printed_is_spelled_out_for_a_terminal():
    for id_, latex in PRINTED:
        text = in_text(latex)
        assert text
        assert not re.search(r"[\\$&\v\t\x01-\x04\xa0]", text), f"{id_}: {text}"


def test_brackets_that_grow_close_in_the_cell_that_opens_them():
    """As the site's typesetting needs it; in a terminal they are brackets."""
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
        if item.paper in APART and item.printed:
            for found in DISPLAY.finditer(item.claims):
                assert " ".join(found[2].split()) not in item.printed, item.id


def test_where_a_formula_is_code_a_line_is_named_and_its_terms():
    """Of what is printed, of what is ours and of theorems from elsewhere; where no line is it, the list says why."""
    no_line = tomllib.loads((ROOT / "tests" / "ledger" / "no_line.toml").read_text(encoding="utf-8"))
    why = {id_: text for part in no_line.values() for id_, text in part.items()}
    with_formula = [item for item in ledger.items() if item.code and (item.printed or DISPLAY.search(item.claims))]
    assert len(with_formula) > 180
    assert {item.id for item in with_formula if not item.anchors} == set(why)
    assert [item.id for item in with_formula if item.anchors and not item.terms] == []
    assert all(why.values())
    # A colour of the site each; five are told apart in either theme.
    assert [item.id for item in ledger.items() if len(item.terms) > 5] == []
