"""Rules that keep ledger, code, tests, tutorials and text consistent. Each rule returns a sentence for each fault.

Code and ledger are compared in both directions. Each object in a ``code`` entry must exist, and its docstring must cite
the statement in a ``Source:`` line. If an object cites a judged statement, the statement's ``code`` must list the
object. A pending statement may be cited, but has no ``code`` yet.
"""

import ast
import importlib
import re
from functools import reduce
from pathlib import Path

from nfa.ledger.entries import ID, NAME, OURS
from nfa.ledger.lookup import plain
from nfa.ledger.source import definitions

PACKAGES = {"nfa": "nfa", "kernels": "nfa.kernels", "data": "nfa.data"}  # folder of the checkout -> package
LEFT_OUT = {"build", "dist", "runs", "node_modules", "__pycache__"}
# names that some tests use because they do not exist; no document has 55 equations
WRONG_ON_PURPOSE = re.compile(r"\w+:(no-such.*|eq55)")
CITATION = re.compile(r"\bSource:((?:[\s#]*\[[^\[\]\s]+\])+)")
TEXTS = {".py", ".md", ".toml", ".cfg", ".json", ".rst", ".ipynb"}


def known_names(items):
    """{id or alias: item}, spelled exactly as in the ledger."""
    return {name: item for item in items for name in (item.id, *item.aliases)}


def citations(text: str) -> tuple[dict[str, list[str]], list[str]]:
    """The ids that the objects of a module cite in a ``Source:`` line.

    Returns
    -------
    cited : {qualified name: ids}; the module's own docstring has the name ""
    stray : ids cited on lines that belong to no object
    """
    cited: dict[str, list[str]] = {}
    stray: list[str] = []
    matches = list(CITATION.finditer(text))
    spans = [("", 1, _docstring_end(text)), *definitions(text)] if matches else []
    for match in matches:
        line = text.count("\n", 0, match.start()) + 1
        ids = re.findall(r"\[([^\[\]\s]+)\]", match[1])
        around = [(last - first, name) for name, first, last in spans if first <= line <= last]
        if around:
            cited.setdefault(min(around)[1], []).extend(ids)  # the innermost object that contains the line
        else:
            stray += ids
    return cited, stray


def _docstring_end(text: str) -> int:
    body = ast.parse(text).body
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        return body[0].end_lineno or 0
    return 0


def cited_in(root):
    """The ids that each object cites, {module:object: ids}, and the stray citations.

    A module's docstring has the name "module:".
    """
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


# statements with these verdicts need the field `use`
TO_USE = frozenset({"false", "conditional", "unproven", "differs", "conjecture"})
CERTIFICATE = re.compile(r"certificates/\w+\.py")
CODE = re.compile(r"nfa(\.[A-Za-z_]\w*)+:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
# These fields are empty while a statement is pending (not judged yet).
JUDGEMENT = "printed claims right use number check certificate uncertified no_line code tutorial reason".split()


def faults_of_headers(headers):
    """In each header, digests have 64 hex digits, and experiments and audits have the form module:object inside nfa.

    Every name in ``repaired`` is also in ``rerun``.
    """
    return [f"[paper.{header.paper}] {fault}" for header in headers for fault in _faults_of_header(header)]


def _faults_of_header(header):
    for name, sha256 in header.texts:
        if not re.fullmatch("[0-9a-f]{64}", sha256):
            yield f"the sha256 of {name!r} must be 64 hex digits, got {sha256!r}"
    rerun, repaired = dict(header.rerun), dict(header.repaired)
    for place in (*rerun.values(), *repaired.values(), *header.audits):
        if not CODE.fullmatch(place):
            yield f"an experiment or audit must be module:object inside nfa, got {place!r}"
    for name in repaired.keys() - rerun.keys():
        yield f"{name} is in repaired, and not in rerun"


def faults_of_entries(items):
    """Every statement has the fields that its verdict needs, each in its correct form."""
    return [f"{item.id}: {fault}" for item in items for fault in (*_faults_of_form(item), *_faults_of_verdict(item))]


def _faults_of_form(item):
    if not item.where:
        yield "where is missing: say the section and number in the document"
    for alias in item.aliases:
        match = ID.fullmatch(alias)
        # our own statements may correct statements of other documents
        if not match or (match[1] != item.paper and item.paper != OURS):
            yield f"an alias must begin with {item.paper}:, got {alias!r}"
    for entry in item.code:
        if not CODE.fullmatch(entry):
            yield f"code must be module:object inside nfa, got {entry!r}"
    for entry, anchor in item.anchors:
        if not anchor.strip():
            yield f"after the @ of {entry} stands a text of the line that is the equation"
    if not all(item.printed):
        yield "a formula of printed is empty"
    for formula, _ in item.terms:
        if not any(formula.strip("$") in text for text in (*item.printed, " ".join(item.claims.split()))):
            yield f"the term {formula!r} is neither in print nor in its claims"
        opened, closed = (len(re.findall(rf"\\{side}(?![a-z])", formula)) for side in ("left", "right"))
        if opened != closed or re.search(r"&|\\\\", formula):
            yield f"the term {formula!r} must be one piece of a line, with both of its brackets"
    if item.terms and not item.anchors:
        yield "terms belong to lines that anchors name, and it has no anchor"
    if item.certificate and not CERTIFICATE.fullmatch(item.certificate):
        yield f"certificate must be certificates/NAME.py in the folder of its document, got {item.certificate!r}"
    if item.certificate and item.uncertified:
        yield "it has a certificate and says why it has none"
    if item.anchors and item.no_line:
        yield "it has an anchor and says why it has none"


def _faults_of_verdict(item):
    if (item.paper == OURS) != (item.verdict == OURS):
        yield "the verdict of what is ours, and of that alone, is 'ours'"
    if (item.reviewed is None) != (item.paper != OURS):
        yield "what is ours, and nothing else, says whether it is reviewed"
    if item.verdict == "pending":
        for field in JUDGEMENT:
            if getattr(item, field):
                yield f"a pending item has only a kind and a place, but {field} is filled"
        return
    if not item.claims:
        yield "claims is missing: say what the document states"
    if (item.verdict in TO_USE) != bool(item.use):
        yield f"the verdicts {', '.join(sorted(TO_USE))}, and no others, need the field use"
    if item.verdict == "not-executable":
        if not item.reason:
            yield "a not-executable item must give its reason"
        if item.code:
            yield "a not-executable item has no code"
        if item.certificate:
            yield "a not-executable item has no certificate"
        return
    if item.reason:
        yield f"reason belongs to not-executable items, this one has the verdict {item.verdict!r}"
    if not item.code:
        yield "code is missing: name the function that computes it"
    if item.verdict == "holds":
        if item.certificate:
            yield "a certificate refutes, and this item holds"
        return
    for field in ("number", "check") if item.verdict == OURS else ("right", "number", "check"):
        if not getattr(item, field):
            yield f"the verdict {item.verdict!r} needs the field {field}"


def code_without_source(items, cited):
    """The object of every ``code`` entry cites the statement, by its id or an alias."""
    findings = []
    for item in items:
        for entry in item.code:
            if not {item.id, *item.aliases} & set(cited.get(entry, ())):
                findings.append(f"{item.id}: {entry} has no line Source: with this id")
    return findings


def code_that_does_not_import(items):
    """The object of every ``code`` entry can be imported."""
    findings = []
    for entry in sorted({entry for item in items for entry in item.code}):
        module, _, name = entry.partition(":")
        try:
            reduce(getattr, name.split("."), importlib.import_module(module))
        except (ImportError, AttributeError) as error:
            findings.append(f"{entry}: {error}")
    return findings


def sources_without_code(items, cited):
    """Every ``Source:`` line names a statement, and every judged statement lists the objects that cite it."""
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
    """Every judged statement that can be run has a test.

    A false statement has two tests: one refutes the statement, and one tests the corrected statement.
    """
    findings = []
    for item in items:
        tests = {test for name in (item.id, *item.aliases) for test in marked.get(name, ())}
        needed = {"pending": 0, "not-executable": 0, "false": 2}.get(item.verdict, 1)
        if len(tests) < needed:
            findings.append(f"{item.id} ({item.verdict}): {len(tests)} tests verify it, {needed} needed")
    return findings


def tutorials_that_miss(items, root):
    """Every tutorial that a statement names exists.

    The tutorial of a false statement has a label above the cell that shows this statement.
    """
    findings = []
    for item in (item for item in items if item.tutorial):
        path, label = root / item.tutorial, f"(shown-{re.sub('[^a-z0-9]+', '-', item.id.lower())})="
        if not path.is_file():
            findings.append(f"{item.id}: no file {item.tutorial}")
        elif item.verdict == "false" and f"\n# {label}\n" not in path.read_text(encoding="utf-8"):
            findings.append(f"{item.id}: no line # {label} in {item.tutorial}")
    return findings


def unknown_ids(items, root):
    """Every id in the tree is in the ledger, except that tests may contain matches of `WRONG_ON_PURPOSE`."""
    names = {plain(name) for name in known_names(items)}
    # also the name of a whole algorithm, without a line
    names |= {name[: name.index(".")] for name in names if ":alg" in name and "." in name}
    papers = "|".join(sorted({item.paper for item in items}))
    # The pattern matches lee2020:Lemma 3 and lee2020:eq5. It does not match an object of a module named after the
    # paper, such as nfa.x.lee2020:f.
    pattern = re.compile(rf"(?<![.\w])((?:{papers}):{NAME})( \(?[0-9C][0-9.]*\)?)?")
    findings, tests = [], root / "tests"
    for path in sorted(_files(root)):
        for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            for id_, number in pattern.findall(text):
                # the first alternative is the id without the full stop or hyphen after it
                written = id_.rstrip(".-"), id_ + number
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
    """Names of the objects that `nfa.ledger.source.definitions` finds in the text of a module."""
    return [name for name, _, _ in definitions(text)]
