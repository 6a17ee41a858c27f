"""Who may import whom, read from the import lines; and that what needs no experiments needs no numba or matplotlib."""

import ast
import graphlib
import subprocess
import sys

import pytest

from tests.project.tree import ROOT, modules, requirements, trees

# From the ground up. A module imports its own tier and those before it.
TIERS = [
    "require clip sampling noise cipher philox mechanism data ledger",
    "network feedback sensitivity optim",
    "rules privacy",
    "train",
    "audit",
    "experiments",
    "papers",
    "course",
    "cli __main__",
]
TIER = {part: tier for tier, parts in enumerate(TIERS) for part in parts.split()}
EXPERIMENTS, PAPERS = TIER["experiments"], TIER["papers"]

# Libraries that only some places may use.
ONLY_IN = {
    "pylatexenc": ("nfa.ledger.formulas",),
    "numba": ("nfa.kernels", "nfa.experiments", "nfa.cli"),
    "matplotlib": ("nfa.experiments", "nfa.cli"),
    "typer": ("nfa.cli",),
    "rich": ("nfa.cli", "nfa.experiments"),
    "lightonml": ("nfa.feedback.lighton",),
    "randomgen": ("nfa.noise",),
    "dp_accounting": ("nfa.privacy",),
    "distributed": ("nfa.experiments",),
    "jupytext": ("nfa.course",),
    "nbformat": ("nfa.course",),
    "nbgrader": ("nfa.course",),
}


def imports(name, tree):
    """The dotted names that a module imports, at its top or inside a function; of nfa's modules, their whole names."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} line {node.lineno}: write imports absolutely, as everywhere"
            parts = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {part if part in modules() else node.module for part in parts}
    return found


@pytest.fixture(scope="module")
def every():
    """Module -> what it imports."""
    return {name: imports(name, tree) for name, tree in trees().items()}


def part(name):
    """The part of nfa that a module is in: `nfa.rules.bp` -> `rules`, `nfa.train` -> `train`."""
    return name.split(".")[1] if "." in name else name


def within(name, packages):
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def tier(name):
    """The tier of a module of nfa; not for nfa itself, which holds the version and imports nothing of nfa's."""
    return TIER[part(name)]


# The rules, as functions of the import lines, so that each can also be shown to refuse a line that breaks it.


def upward(imports):
    """Imports of a higher tier, and imports of a kernel from below the experiments."""
    for name, imported in imports.items():
        for other in sorted(imported):
            if not within(other, ["nfa"]) or other == "nfa" or within(name, ["nfa.kernels"]):
                continue
            if within(other, ["nfa.kernels"]):
                wrong = name == "nfa" or tier(name) < EXPERIMENTS
            else:
                wrong = name == "nfa" or tier(other) > tier(name)
            if wrong:
                yield name, other


def across(imports):
    """Imports between rules and privacy, which meet in a Mechanism."""
    for name, imported in imports.items():
        for one, two in (("nfa.rules", "nfa.privacy"), ("nfa.privacy", "nfa.rules")):
            yield from ((name, other) for other in imported if within(name, [one]) and within(other, [two]))


def beyond_the_wall(imports):
    """Imports of the papers by what stands below them: no epsilon rests on a claim, no experiment knows its paper."""
    for name, imported in imports.items():
        if name == "nfa" or within(name, ["nfa.kernels"]) or tier(name) < PAPERS:
            yield from ((name, other) for other in sorted(imported) if within(other, ["nfa.papers"]))


def foreign(imports):
    """Imports of a library that setup.cfg does not install, or outside the place that may use it."""
    allowed = {name.replace("-", "_") for name in requirements()} | set(ONLY_IN)
    for name, imported in imports.items():
        for other in imported:
            library = other.split(".")[0]
            if library == "nfa" or library in sys.stdlib_module_names:
                continue
            if library not in allowed or not within(name, ONLY_IN.get(library, ("nfa",))):
                yield name, other
            if within(name, ["nfa.kernels"]) and library not in ("numpy", "numba"):
                yield name, other


def beyond_numpy(imports):
    """What kernels import of nfa: nothing but kernels."""
    for name, imported in imports.items():
        if within(name, ["nfa.kernels"]):
            yield from (
                (name, other) for other in imported if within(other, ["nfa"]) and not within(other, [name[:11]])
            )


def cycle(imports):
    """Modules that import one another in a ring; a package's own __init__ may gather its modules."""
    graph = {name: {o for o in imported if within(o, ["nfa"]) and o != "nfa"} for name, imported in imports.items()}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return error.args[1]
    return []


def test_every_module_has_a_tier():
    for name in modules():
        assert name == "nfa" or within(name, ["nfa.kernels"]) or part(name) in TIER, f"{name}: add it to TIERS"


@pytest.mark.parametrize("rule", [upward, across, beyond_the_wall, foreign, beyond_numpy, cycle])
def test_import_lines(every, rule):
    assert list(rule(every)) == []


@pytest.mark.parametrize(
    ("rule", "name", "other"),
    [
        (upward, "nfa.network.ops", "nfa.rules.bp"),
        (upward, "nfa.rules.bp", "nfa.train"),
        (upward, "nfa.train", "nfa.experiments.records"),
        (upward, "nfa.network.dense", "nfa.kernels.conv"),
        (upward, "nfa.train", "nfa.kernels"),
        (upward, "nfa", "nfa.rules.bp"),
        (across, "nfa.rules.dp_dfa", "nfa.privacy.rdp"),
        (across, "nfa.privacy.rdp", "nfa.rules.dp_dfa"),
        (upward, "nfa.papers.index", "nfa.course.folder"),
        (upward, "nfa.course.stubs", "nfa.cli.main"),
        (upward, "nfa.cipher", "nfa.feedback"),
        (beyond_the_wall, "nfa.privacy.accountant", "nfa.papers.lee2020.claims"),
        (beyond_the_wall, "nfa.rules.dp_dfa", "nfa.papers"),
        (beyond_the_wall, "nfa.sensitivity.dfa", "nfa.papers.lee2020.claims"),
        (beyond_the_wall, "nfa.audit.dp_sgd", "nfa.papers.audits"),
        (beyond_the_wall, "nfa.experiments.reproduce", "nfa.papers.index"),
        (beyond_the_wall, "nfa.kernels.ulr", "nfa.papers.index"),
        (beyond_the_wall, "nfa", "nfa.papers"),
        (foreign, "nfa.network", "lightonml.opu"),
        (foreign, "nfa.network", "torch"),
        (foreign, "nfa.network.ops", "numba"),
        (foreign, "nfa.train", "matplotlib.pyplot"),
        (foreign, "nfa.kernels.conv", "scipy.special"),
        (beyond_numpy, "nfa.kernels.conv", "nfa.network.im2col"),
    ],
)
def test_the_rules_refuse(rule, name, other):
    assert list(rule({name: {"math", "numpy", other}})) == [(name, other)]


def test_a_ring_is_refused():
    ring = {"nfa.network.ops": {"nfa.clip"}, "nfa.clip": {"nfa.noise"}, "nfa.noise": {"nfa.network.ops"}}
    assert set(cycle(ring)) == set(ring)


WITHOUT_NUMBA = r"""
import importlib, importlib.abc, sys

class Blocked(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numba", "llvmlite", "matplotlib"):
            raise ModuleNotFoundError(f"{name} is blocked in this test", name=name)

sys.meta_path.insert(0, Blocked())
for name in ("numba", "matplotlib"):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError:
        continue
    raise SystemExit(f"{name} was not blocked")

for name in sys.argv[1:]:
    importlib.import_module(name)

import numpy as np
from nfa import data, feedback, ledger, network, ops
from nfa.noise import Streams
from nfa.optim import SGD
from nfa.rules.bp import bp
from nfa.rules.dfa import dfa
from nfa.sampling import EpochPartition
from nfa.train import train
from functools import partial

streams = Streams(7)
images = data.load("fashion-mnist-small")
x = images.x_train[:64].reshape(64, -1) / 255.0
y = data.one_hot(images.y_train[:64], 10, np.float64)
net = network.mlp([784, 12, 10], ops.tanh, rng=streams("init", 0))
B = feedback.draw(net, law="normal", scale=0.1, rng=streams("feedback", 0))
for rule in (bp, partial(dfa, B=B)):
    for t in train(net, rule, EpochPartition(x, y, 16, streams), SGD(0.1), streams):
        if t == 4:
            break
    assert all(np.isfinite(net.W[l]).all() for l in (1, 2))
assert ledger.find("lee2020:eq5").kind == "equation"
print("ran without", *sorted({"numba", "matplotlib"} - set(sys.modules)))
"""


def reached(name, imports):
    """All of nfa that a module imports, directly or not."""
    found, left = set(), {name}
    while left:
        found |= left
        left = set().union(*(imports[other] & imports.keys() for other in left)) - found
    return found - {name}


def without_experiments(every):
    """The modules below the experiments, and those of the papers that need none: the theory."""
    below = [n for n in modules() if n == "nfa" or (not within(n, ["nfa.kernels"]) and tier(n) < EXPERIMENTS)]
    papers = [n for n in modules() if within(n, ["nfa.papers"])]
    theory = [n for n in papers if not any(within(o, ["nfa.experiments"]) for o in reached(n, every))]
    return below + theory


def test_the_theory_of_every_paper_stands_without_the_experiments(every):
    found = set(without_experiments(every))
    assert {
        "nfa.papers.lee2020.claims",
        "nfa.papers.ohana2021.claims",
        "nfa.papers.dpulr2024.theorems",
        "nfa.papers.berthier2019.shuffling.our_proof",
    } <= found
    assert not found & {"nfa.papers.index", "nfa.papers.lee2020.figures", "nfa.experiments.run"}


def test_works_without_numba_and_matplotlib(every):
    """As in a browser, where neither exists: all that needs no experiments imports, and both rules train."""
    names = without_experiments(every)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT_NUMBA, *names], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ran without matplotlib numba\n"
