"""Tests of imports: between modules of nfa, of libraries, and without numba and matplotlib."""

import ast
import re
import shutil
import subprocess
import sys

import pytest

from tests.project.tree import ROOT, folders, modules, requirements, trees

# Libraries that only some modules may import.
ONLY_IN = {
    "pylatexenc": ("nfa.ledger.formulas",),
    "numba": ("nfa.kernels", "nfa.experiments", "nfa.cli"),
    "matplotlib": ("nfa.experiments", "nfa.cli"),
    "typer": ("nfa.cli",),
    "rich": ("nfa.cli", "nfa.experiments"),
    "lightonml": ("nfa.feedback.lighton",),
    "randomgen": ("nfa.noise",),
    "distributed": ("nfa.experiments",),
    "jupytext": ("nfa.course",),
    "nbformat": ("nfa.course",),
    "nbgrader": ("nfa.course",),
    "IPython": ("nfa.course.student",),  # this library and the next two come with nbgrader
    "psutil": ("nfa.course.confined",),
    "traitlets": ("nfa.course",),
    "sklearn": ("nfa.experiments.classifier",),
}


def imports(name, tree):
    """The dotted names that a module imports, at its top or inside a function; for modules of nfa, the full names."""
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
    """{module: names that it imports}."""
    return {name: imports(name, tree) for name, tree in trees().items()}


def within(name, packages):
    return any(name == package or name.startswith(f"{package}.") for package in packages)


# --- which modules of nfa may import which: the contracts of setup.cfg


def linted(folder, *broken):
    """import-linter's output for nfa in the installed layout, made of links.

    Each module in ``broken`` gets an additional line.
    """
    (folder / "nfa").mkdir()
    changed = {name.split(".")[1] for name, _ in broken if "." in name}
    for place in [*(ROOT / "nfa").iterdir(), *(path for name, path in folders().items() if name != "nfa")]:
        copied = folder / "nfa" / place.name
        if place.stem in changed or place.name == "__init__.py":
            (shutil.copytree if place.is_dir() else shutil.copy)(place, copied)
        else:
            copied.symlink_to(place)
    for name, line in broken:
        place = "nfa/__init__.py" if name == "nfa" else name.replace(".", "/") + ".py"
        with (folder / place).open("a", encoding="utf-8") as file:
            file.write(line + "\n")
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(sys.argv[1], no_cache=True))"
    command = [sys.executable, "-c", code, str(ROOT / "setup.cfg")]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True)


@pytest.mark.posix("makes symbolic links")
def test_the_contracts_are_kept(tmp_path):
    done = linted(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Contracts: 4 kept, 0 broken." in done.stdout
    # nfa.kernels and nfa.data are included
    assert int(re.search(r"Analyzed (\d+) files", done.stdout)[1]) >= len(modules())


BROKEN = [  # a line in a module, at its top or in a function, and import-linter's message
    ("nfa.clip", "def f(): from nfa.rules.bp import bp", "nfa.clip -> nfa.rules.bp"),
    ("nfa.train", "import nfa.kernels.conv", "nfa.train -> nfa.kernels.conv"),
    ("nfa.privacy.rdp", "from nfa.rules import dp_dfa", "nfa.privacy.rdp -> nfa.rules.dp_dfa"),
    ("nfa.rules.fa", "from nfa.privacy import rdp", "nfa.rules.fa -> nfa.privacy.rdp"),
    ("nfa.privacy.accountant", "def f(): import nfa.papers.index", "nfa.privacy.accountant -> nfa.papers.index"),
    ("nfa.experiments.reproduce", "from nfa.papers import index", "nfa.experiments.reproduce -> nfa.papers.index"),
    ("nfa.papers.index", "from nfa.course import folder", "nfa.papers.index -> nfa.course.folder"),
    ("nfa.kernels.conv", "from nfa.network import im2col", "nfa.kernels.conv -> nfa.network.im2col"),
    ("nfa.data.npz", "from nfa.network import im2col", "nfa.data.npz -> nfa.network.im2col"),
    ("nfa", "from nfa.noise import Streams", "nfa -> nfa.noise"),
    ("nfa.cipher", "from nfa import noise", "No cycles are allowed in nfa."),
    ("nfa.extra", "", "- nfa.extra"),  # a module that is in no tier of the contracts
]


@pytest.mark.posix("makes symbolic links")
def test_the_contracts_refuse(tmp_path):
    done = linted(tmp_path, *((name, line) for name, line, _ in BROKEN))
    assert done.returncode == 1
    assert [says for _, _, says in BROKEN if says not in done.stdout] == []


def foreign(imports):
    """Imports of a library that setup.cfg does not install, or outside the modules that may use it."""
    allowed = {name.replace("-", "_") for name in requirements()} | set(ONLY_IN)
    for name, imported in imports.items():
        for other in imported:
            library = other.split(".")[0]
            if library == "nfa" or library in sys.stdlib_module_names:
                continue
            if library not in allowed or not within(name, ONLY_IN.get(library, ("nfa",))):
                yield name, other
            ours = ("numpy", "threadpoolctl") if name == "nfa.kernels.cores" else ("numpy", "numba")
            if within(name, ["nfa.kernels"]) and library not in ours:
                yield name, other


def test_libraries_stand_where_they_may(every):
    assert list(foreign(every)) == []


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("nfa.network", "lightonml.opu"),
        ("nfa.network", "torch"),
        ("nfa.network.ops", "numba"),
        ("nfa.train", "matplotlib.pyplot"),
        ("nfa.kernels.conv", "scipy.special"),
    ],
)
def test_a_library_elsewhere_is_refused(name, other):
    assert list(foreign({name: {"math", "numpy", other}})) == [(name, other)]


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
    """All modules of nfa that a module imports, directly or indirectly."""
    found, left = set(), {name}
    while left:
        found |= left
        left = set().union(*(imports[other] & imports.keys() for other in left)) - found
    return found - {name}


def without_experiments(every):
    """The modules that need no experiments: those in lower tiers, and the theory of the papers."""
    own = [name for name in every if not within(name, ["nfa.kernels", "nfa.experiments", "nfa.course", "nfa.cli"])]
    return [name for name in own if not any(within(o, ["nfa.experiments", "nfa.cli"]) for o in reached(name, every))]


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
    """All modules that need no experiments can be imported without numba and matplotlib. BP and DFA can be trained.

    In a browser, these two libraries are missing.
    """
    names = without_experiments(every)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT_NUMBA, *names], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ran without matplotlib numba\n"
