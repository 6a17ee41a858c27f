"""The rules that keep ledger, code, tests, tutorials and text in step; each returns its findings as sentences.

Code and ledger are held together both ways: a ``code`` entry must exist and its docstring must cite the statement in
a ``Source:`` line, and whatever cites a judged statement must stand in that statement's ``code``. A pending statement
may be cited; it has no ``code`` yet.
"""

import importlib
import re
from functools import reduce
from pathlib import Path

from nfa.ledger.entries import NAME
from nfa.ledger.lookup import plain
from nfa.ledger.source import citations, definitions

PACKAGES = {"nfa": "nfa", "kernels": "nfa.kernels", "data": "nfa.data"}  # folder of the checkout -> its package
LEFT_OUT = {"build", "dist", "runs", "node_modules", "__pycache__"}
WRONG_ON_PURPOSE = re.compile(r"\w+:(no-such.*|eq55)")  # what tests of wrong names write; no document has 55 equations
TEXTS = {".py", ".md", ".toml", ".cfg", ".json", ".rst", ".ipynb"}


def known_names(items):
    """{id or alias: item}, spelt exactly as in the ledger."""
    return {name: item for item in items for name in (item.id, *item.aliases)}


def cited_in(root):
    """{module:object: ids in its ``Source:`` lines}, "module:" for a module's own docstring, and stray citations."""
    cited, stray = {}, []
    for folder, package in PACKAGES.items():
        for path in sorted((root / folder).rglob("*.py")):
            module = ".".join([package, *path.relative_to(root / folder).with_suffix("").parts]).removesuffix(
                ".__init__"
            )
            found, loose = citations(path.read_text(encoding="utf-8"))
            cited |= {f"{module}:{name}": ids for name, ids in found.items()}
            stray += [f"{path.relative_to(root)}: [{id_}] stands in no object's docstring or comment" for id_ in loose]
    return cited, stray


def code_without_source(items, cited):
    """Every ``code`` entry cites its statement, under its id or an alias."""
    findings = []
    for item in items:
        for entry in item.code:
            if not {item.id, *item.aliases} & set(cited.get(entry, ())):
                findings.append(f"{item.id}: {entry} has no line Source: with this id")
    return findings


def code_that_does_not_import(items):
    """Every ``code`` entry imports."""
    findings = []
    for entry in sorted({entry for item in items for entry in item.code}):
        module, _, name = entry.partition(":")
        try:
            reduce(getattr, name.split("."), importlib.import_module(module))
        except (ImportError, AttributeError) as error:
            findings.append(f"{entry}: {error}")
    return findings


def sources_without_code(items, cited):
    """Every ``Source:`` names a statement, and every judged statement lists who cites it."""
    names = known_names(items)
    findings = []
    for entry, ids in cited.items():
        for id_ in ids:
            if id_ not in names:
                findings.append(f"{entry}: Source: [{id_}] is not in the ledger")
            elif names[id_].verdict != "pending" and entry not in names[id_].code:
                findings.append(f"{names[id_].id}: {entry} cites it, but is not in its code")
    return findings


def marks_of_unknown(items, marked):
    """Every ``verifies`` mark names a statement."""
    names = known_names(items)
    return [
        f"{tests[0]}: verifies({name!r}) is not in the ledger" for name, tests in marked.items() if name not in names
    ]


def too_few_tests(items, marked):
    """Every judged statement that can be run has a test; a false one has two, for what fails and for what holds."""
    findings = []
    for item in items:
        tests = {test for name in (item.id, *item.aliases) for test in marked.get(name, ())}
        needed = {"pending": 0, "not-executable": 0, "false": 2}.get(item.verdict, 1)
        if len(tests) < needed:
            findings.append(f"{item.id} ({item.verdict}): {len(tests)} tests verify it, {needed} needed")
    return findings


def tutorials_that_miss(items, root):
    """Every tutorial named is a file, and in that of a false statement a label stands above the cell that shows it."""
    findings = []
    for item in (item for item in items if item.tutorial):
        path, label = root / item.tutorial, f"(shown-{re.sub('[^a-z0-9]+', '-', item.id.lower())})="
        if not path.is_file():
            findings.append(f"{item.id}: no file {item.tutorial}")
        elif item.verdict == "false" and f"\n# {label}\n" not in path.read_text(encoding="utf-8"):
            findings.append(f"{item.id}: no line # {label} in {item.tutorial}")
    return findings


def unknown_ids(items, root):
    """Every id written anywhere in the tree is in the ledger. Tests may write what `WRONG_ON_PURPOSE` matches."""
    names = {plain(name) for name in known_names(items)}
    names |= {name[: name.index(".")] for name in names if ":alg" in name and "." in name}  # an algorithm, its lines
    papers = "|".join(sorted({item.paper for item in items}))
    # lee2020:eq5, lee2020:Lemma 3, but not the object of a module that is named after the paper, nfa.x.lee2020:f
    pattern = re.compile(rf"(?<![.\w])((?:{papers}):{NAME})( \(?[0-9C][0-9.]*\)?)?")
    findings, tests = [], root / "tests"
    for path in sorted(_files(root)):
        for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            for id_, number in pattern.findall(text):
                written = id_.rstrip(".-"), id_ + number  # the first without the end of a sentence
                if not names & {plain(name) for name in written} and not (
                    tests in path.parents and WRONG_ON_PURPOSE.fullmatch(written[0])
                ):
                    findings.append(f"{path.relative_to(root)}:{line}: {written[0]} is not in the ledger")
    return findings


def _files(folder: Path):
    for path in folder.iterdir():
        if path.name.startswith(".") or path.name in LEFT_OUT or path.name.endswith(".egg-info"):
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.suffix in TEXTS:
            yield path


def defined(text):
    """Names that `nfa.ledger.source.definitions` finds in a module."""
    return [name for name, _, _ in definitions(text)]
