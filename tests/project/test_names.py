"""Tests that names of modules and classes are unique, and that every name in a page or a docstring exists."""

import ast
import itertools
import re
from collections import defaultdict
from importlib import import_module

from tests.project.tree import ROOT, modules, trees

NOT_COUNTED = ("__init__", "__main__")

# These modules may have another module's name, because their folder says what they contain: a paper's table, a command,
# the compiled twin of a module, or the sensitivity of a rule.
NAMED_AFTER = ("nfa.papers.", "nfa.cli.", "nfa.kernels.", "nfa.sensitivity.")
# An audit has the name of the rule that it attacks. This rule belongs to no paper.
BESIDE_ITS_RULE = {"nfa.audit.dp_sgd"}


def twice(places):
    """Name -> places, for the names that occur several times."""
    found = defaultdict(list)
    for name, place in places:
        found[name].append(place)
    return {name: sorted(places) for name, places in found.items() if len(places) > 1}


def module_names(names):
    """{last part of the name: modules}, for modules that need a unique name."""
    for name in names:
        last = name.split(".")[-1]
        if last not in NOT_COUNTED and name not in BESIDE_ITS_RULE and not name.startswith(NAMED_AFTER):
            yield last, name


def classes(found):
    """Name of a class -> the module that defines it; ``found`` has the syntax tree of each module."""
    for name, tree in found.items():
        yield from ((node.name, name) for node in ast.walk(tree) if isinstance(node, ast.ClassDef))


def test_a_modules_name_is_its_own():
    assert BESIDE_ITS_RULE <= modules().keys()
    assert twice(module_names(modules())) == {}


def test_a_class_has_one_name():
    assert twice(classes(trees())) == {}


def test_a_name_given_twice_is_found():
    names = ["nfa.rules.bp", "nfa.audit.bp", "nfa.cli.bp", "nfa.papers.x.bp", "nfa.course.__main__", "nfa.__main__"]
    assert twice(module_names(names)) == {"bp": ["nfa.audit.bp", "nfa.rules.bp"]}
    sources = {"nfa.a": "class Cell: ...", "nfa.b": "def f():\n    class Cell: ...", "nfa.c": "class Cells: ..."}
    assert twice(classes({name: ast.parse(source) for name, source in sources.items()})) == {"Cell": ["nfa.a", "nfa.b"]}


# --- names in pages, docstrings and comments

PLACES = re.compile(r"(?<![\w./])(?:nfa|kernels|data|tests|tutorials|results)/[\w./-]+\.(?:py|md|toml|json)\b")
PLACEHOLDERS = {
    "nfa.rules.NAME.NAME": "nfa.rules.bp.bp",
    "nfa.joinpath": "nfa",
    "nfa.tests": "nfa",  # this package exists in a checkout, but not in a wheel
    "/PAPER/": "/lee2020/",
    "tests/test_x.py": "tests/test_clip.py",
    "nfa/rules/NAME.py": "nfa/rules/bp.py",
    "tests/rules/test_NAME.py": "tests/rules/test_rules.py",
    "nfa/privacy/NAME.py": "nfa/privacy/amplification.py",
    "tests/privacy/test_NAME.py": "tests/privacy/test_subsampling.py",
}


def texts():
    """The text of every page and module, by its path."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "nfa").glob("*.md"), *(ROOT / "tutorials").glob("*.md")]
    scripts = [*(ROOT / "tutorials").glob("*.py"), *modules().values()]
    for path in sorted([*pages, *scripts]):
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def there(name):
    """Whether a dotted name is that of a module or of an object in a module."""
    module, found = "nfa", import_module("nfa")
    for part in name.split(".")[1:]:
        try:
            module = f"{module}.{part}"
            found = import_module(module)
        except ModuleNotFoundError:
            found = getattr(found, part, None)
        if found is None:
            return False
    return True


def gone(text):
    """The names of modules, functions and files in a text that do not exist."""
    for placeholder, example in PLACEHOLDERS.items():
        text = text.replace(placeholder, example)
    names = set(re.findall(r"\bnfa(?:\.[A-Za-z_]\w*)+", text))
    return sorted(n for n in names if not there(n)) + sorted(
        p for p in set(PLACES.findall(text)) if not (ROOT / p).exists()
    )


def test_all_that_is_named_is_there():
    assert {place: names for place, text in texts() if (names := gone(text))} == {}


def test_what_is_gone_is_found():
    assert gone("`nfa.rules.bp.bp` of nfa/rules/bp.py, nfa.network.Net.copy") == []
    text = "nfa.engine, nfa.rules.bp.dfa, nfa.network.Net.nothing, nfa/papers/PAPER/numbers.toml, nfa/engine.py"
    assert gone(text) == ["nfa.engine", "nfa.network.Net.nothing", "nfa.rules.bp.dfa", "nfa/engine.py"]


def test_the_way_to_an_epsilon_is_the_one_that_the_page_names():
    """Each file in the page's row imports the next one, at any place in the file."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (row,) = (line for line in page.splitlines() if line.startswith("| a run's epsilon |"))
    way = re.findall(r"nfa/[\w/]+\.py", row)[:7]
    assert way[0] == "nfa/cli/train.py"
    assert way[-1] == "nfa/privacy/in_full.py"
    for here, there in itertools.pairwise(way):
        package, name = there.removesuffix(".py").replace("/", ".").rsplit(".", 1)
        text = (ROOT / here).read_text(encoding="utf-8")
        assert re.search(rf"from {package}(\.{name} import|\s+import .*\b{name}\b)", text), f"{here} -> {there}"
