"""Tests that claimed and conjectured quantities are defined in `nfa.papers`, and that no epsilon depends on them."""

import ast
import re

import numpy as np
import pytest

from nfa import ledger
from nfa.network import mlp
from nfa.network.ops import tanh
from nfa.papers.berthier2019.mechanisms.randomised_response import randomised_response_release
from nfa.papers.berthier2019.perturbation.last_iterate import one_pass
from nfa.papers.berthier2019.perturbation.objective import Problem
from nfa.papers.berthier2019.perturbation.output import feedback_release, output_release
from nfa.privacy.theorems import BOUNDS
from nfa.rules import objective_perturbation
from tests.project.tree import trees

ABOVE = ("nfa.papers", "nfa.course", "nfa.cli", "nfa.__main__")
NO_PROOF = {"false", "conjecture", "unproven"}


def claimed(trees):
    """{name: modules that define it} for functions named claimed_... or conjectured_...."""
    found = {}
    for name, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and re.match("claimed_|conjectured_", node.name):
                found.setdefault(node.name, set()).add(name)
    return found


def named(tree):
    """All names in the code of a module: variables, attributes, imports, and whole words of strings."""
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None
    }
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.FunctionDef(name=name):
                yield name
            case ast.alias(name=name):
                yield from name.split(".")
            case ast.Constant(value=str(text)) if id(node) not in docstrings:
                yield from re.findall(r"\w+", text)


def below(trees):
    return {name: tree for name, tree in trees.items() if not name.startswith(ABOVE)}


def over_the_wall(trees):
    """{module below the papers: the claimed or conjectured functions that it names}."""
    known = claimed(trees).keys()
    return {name: names for name, tree in below(trees).items() if (names := known & set(named(tree)))}


def test_claims_and_conjectures_stand_above_the_wall():
    found = claimed(trees())
    assert {"claimed_dfa_sensitivity", "claimed_tau_h"} <= found.keys()
    assert {name for places in found.values() for name in places if not name.startswith("nfa.papers.")} == set()


def test_nothing_below_the_papers_names_a_claim():
    assert over_the_wall(trees()) == {}


@pytest.mark.parametrize(
    "line",
    [
        "from nfa.papers.lee2020.claims import claimed_tau_h as tau",
        "def counted(claims): return claims.claimed_tau_h(S=1.0)",
        "def claimed_tau_h(): ...",
        "formula = getattr(module, 'claimed_tau_h')",
        "PLACE = 'nfa.papers.lee2020.claims:claimed_tau_h'",
    ],
)
def test_a_line_that_names_a_claim_is_refused(line):
    found = {"nfa.papers.lee2020.claims": trees()["nfa.papers.lee2020.claims"], "nfa.privacy.counted": ast.parse(line)}
    assert over_the_wall(found) == {"nfa.privacy.counted": {"claimed_tau_h"}}


def test_a_docstring_may_tell_of_a_claim():
    tree = ast.parse('def corrected():\n    """Larger than `claimed_tau_h`."""')
    assert over_the_wall({"nfa.papers.x": ast.parse("def claimed_tau_h(): ..."), "nfa.clip": tree}) == {}


def test_nothing_below_the_papers_loads_a_paper_by_name():
    """No module below the papers has a string with a paper module's name, which importlib could load."""
    place = re.compile(r"nfa\.papers[.\w]*(:\w+)?")
    for name, tree in below(trees()).items():
        strings = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        assert [text for text in strings if place.fullmatch(text)] == [], name


# --- ids of theorems for an epsilon


def releases():
    """An example of every function that returns a `Classic`, by the function's module and name."""
    x, y = np.array([[1.0], [-1.0]]), np.array([1.0, 0.0])
    problem = Problem(loss="logistic", x=x, y=y, lam=0.75, x_bound=1.0)
    iteration = {"L": 1.0, "sigma": 4.0, "C": 1.0, "n": 10, "released": "last"}
    net = mlp([2, 3], tanh, rng=np.random.default_rng(0))
    objective = {"net": net, "m": 1, "lam": 1.0, "sigma": 1.0, "adjacency": "add-remove", "sampling": "none"}
    made = [
        (randomised_response_release, [randomised_response_release(truth=0.05)]),
        (output_release, [output_release(problem, gamma=1.0, sigma=2.0)]),
        (feedback_release, [feedback_release(problem, gamma=1.0, sigma=2.0)]),
        (objective_perturbation.mechanism, [objective_perturbation.mechanism(**objective, sampling_rate=1.0)]),
        (one_pass, [one_pass(order=order, **iteration) for order in ("shuffled", "fixed")]),
    ]
    return {(function.__module__, function.__name__): found for function, found in made}


def is_classic(node):
    return isinstance(node, ast.Call) and "Classic" in (getattr(node.func, "id", ""), getattr(node.func, "attr", ""))


def counted_ids():
    """Every id that a report can name as the proof of an epsilon."""
    written = {
        keyword.value.value
        for tree in trees().values()
        for node in filter(is_classic, ast.walk(tree))
        for keyword in node.keywords
        if keyword.arg == "id" and isinstance(keyword.value, ast.Constant)
    }
    return written | {bound.id for bound in BOUNDS} | {one.id for found in releases().values() for one in found}


def test_every_function_that_returns_a_release_known_by_its_curve_is_tried():
    """`releases` has every function that returns a `Classic`. We find them by their return types and modules."""
    returned, makers = set(), set()
    for name, tree in trees().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and node.returns is not None and not node.name.startswith("_"):
                returned |= {(name, node.name)} if "Classic" in ast.unparse(node.returns) else set()
            makers |= {name} if is_classic(node) else set()
    assert returned == releases().keys()
    assert makers == {name for name, _ in returned}


def test_what_counts_an_epsilon_is_proved():
    ids = counted_ids()
    assert {"wbk2019:thm27", "lee2020:lem1", "berthier2019:rr", "berthier2019:thm3.6"} <= ids
    assert {id_: verdict for id_ in ids if (verdict := ledger.find(id_).verdict) in NO_PROOF} == {}
