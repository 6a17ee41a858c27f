"""Mutants of the lines that statements mark: after a small change, one of the statement's own tests must fail.

``python -m tests.trust.marked`` tests a seeded sample. ``--share 1`` tests every change, which takes hours on one core.
Like ``pytest --eq ID``, it runs only the tests that are marked with the statement's id, without the nightly tests. As
in tests/trust/mutants.py, a forked process tests each change in a copy of the tree. tests/trust/mutants.toml explains
why survivors (changes that no test detects) are harmless.
"""

import argparse
import ast
import json
import os
import random
import sys
import tempfile
import time
import tomllib
from collections import Counter
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from nfa import ledger
from nfa.ledger.lines import lines_of
from nfa.ledger.source import source_of
from tests.trust.mutants import ENVIRONMENT, HARMLESS, Listener, copy_tree, counted, forked, pytest_here, warm_up
from tests.trust.mutations import ROOT

SEED = 2031
SECONDS = 120  # processor time for the tests of one change
SIGNS = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.Pow: "*", ast.MatMult: "*", ast.FloorDiv: "/",
    ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.And: "or", ast.Or: "and",
}  # fmt: skip
WRITTEN = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**", ast.MatMult: "@", ast.FloorDiv: "//",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=", ast.And: "and", ast.Or: "or",
}  # fmt: skip
# for these functions of one argument, a change replaces f(x) by x
LEFT_OUT = "sqrt square log exp abs log1p expm1 sign".split()
OTHER = {"min": "max", "minimum": "maximum", "sum": "mean", "floor": "ceil", "ones": "zeros", "sin": "cos"}
OTHER |= {new: old for old, new in OTHER.items()}
# for these functions, no change exchanges the two arguments
COMMUTATIVE = "min max minimum maximum hypot logaddexp".split()
COMPOUND = (ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.UnaryOp)


@dataclass(frozen=True)
class Change:
    """A change for a statement: a new text between two positions of a file."""

    statement: str
    file: str
    start: int
    end: int
    new: str

    def of(self, text: str) -> tuple[str, str, str]:
        """The whole text after the change, and the changed lines before and after the change."""
        first = text.rfind("\n", 0, self.start) + 1
        last = text.find("\n", self.end)
        changed = text[: self.start] + self.new + text[self.end :]
        return changed, text[first:last].strip(), changed[first : last + len(changed) - len(text)].strip()


def replacements(text: str, lines: set[int]):
    """(start, end, new text) of every change to an expression that is within these lines."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line.encode()))
    raw = text.encode()

    def at(line: int, column: int) -> int:
        return len(raw[: starts[line - 1] + column].decode())

    def span(node) -> tuple[int, int]:
        return at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset)

    def operand(node) -> str:
        """The text with which an expression can replace a larger expression."""
        return f"({text[slice(*span(node))]})" if isinstance(node, COMPOUND) else text[slice(*span(node))]

    def between(left, right, op):
        """The position of an operator between two expressions."""
        here = text.find(WRITTEN[type(op)], span(left)[1], span(right)[0])
        return here, here + len(WRITTEN[type(op)])

    tree = ast.parse(text)
    silent = [node for node in ast.walk(tree) if isinstance(node, ast.Raise | ast.JoinedStr | ast.Assert)]
    skipped = {id(part) for node in silent for part in ast.walk(node)}
    for node in ast.walk(tree):
        if (
            not isinstance(node, ast.expr)
            or id(node) in skipped
            or not set(range(node.lineno, node.end_lineno + 1)) <= lines
        ):
            continue
        whole = span(node)
        if isinstance(node, ast.BinOp):
            if type(node.op) in SIGNS:
                yield *between(node.left, node.right, node.op), SIGNS[type(node.op)]
            yield *whole, operand(node.left)  # without the second operand
            yield *whole, operand(node.right)  # without the first operand
            if isinstance(node.op, ast.MatMult):
                yield *whole, f"({operand(node.right)} @ {operand(node.left)})"
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in SIGNS:
            yield *between(node.left, node.comparators[0], node.ops[0]), SIGNS[type(node.ops[0])]
        elif isinstance(node, ast.BoolOp):
            yield *between(node.values[0], node.values[1], node.op), SIGNS[type(node.op)]
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
            yield *whole, text[slice(*span(node.operand))]
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            yield *whole, repr(node.value + 1 if type(node.value) is int else 2 * node.value or 1.0)
        elif isinstance(node, ast.IfExp):
            yield *whole, text[slice(*span(node.body))]
            yield *whole, text[slice(*span(node.orelse))]
        elif isinstance(node, ast.Attribute) and node.attr == "T":
            yield *whole, text[slice(*span(node.value))]
        elif isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            end = span(node.func)[1]
            if (
                len(node.args) == 2
                and name not in COMMUTATIVE
                and not any(isinstance(part, ast.Starred) for part in node.args)
            ):
                first, second = map(span, node.args)
                yield first[0], second[1], text[slice(*second)] + text[first[1] : second[0]] + text[slice(*first)]
            if name in OTHER:
                yield end - len(name), end, OTHER[name]
            if name in LEFT_OUT and len(node.args) == 1 and not node.keywords:
                yield *whole, f"({text[slice(*span(node.args[0]))]})"


def changes_of(item) -> list[Change]:
    """Every change to the statement's lines."""
    found = {}
    for code, anchor in item.anchors:
        file = source_of(code)[0]
        lines = {line.number for line in lines_of(code, [anchor], whole=True)[0] if line.marked}
        text = (ROOT / file).read_text(encoding="utf-8")
        for start, end, new in replacements(text, lines):
            change = Change(item.id, file, start, end, new)
            try:
                compile(change.of(text)[0], file, "exec")
            except (SyntaxError, ValueError):
                continue
            found.setdefault(change.of(text)[0], change)
    return list(found.values())


class Own(Listener):
    """A statement's own tests without the nightly tests. The slow tests come last."""

    def pytest_collection_modifyitems(self, items):
        import nfa

        if Path(nfa.__file__).parent.parent != self.tree:
            os._exit(99)
        kept = [item for item in items if not item.get_closest_marker("nightly")]
        items[:] = sorted(kept, key=lambda item: bool(item.get_closest_marker("slow")))


def tried(work: Path, change: Change) -> dict:
    """Write the change into this process's tree, and run the statement's tests."""
    tree, start = tree_of(work), time.perf_counter()
    text = (ROOT / change.file).read_text(encoding="utf-8")
    changed, old, new = change.of(text)
    tests = ledger.find(change.statement).tests

    def run(write):
        for name in [name for name in sys.modules if name.partition(".")[0] in ("nfa", "tests")]:
            del sys.modules[name]  # because this process may have imported the unchanged modules
        listener = Own(tree, None)
        code = pytest_here(tree, ["-x", *tests], listener)
        write("".join(listener.failed[:1]))
        return code

    (tree / change.file).write_text(changed, encoding="utf-8")
    try:
        code, failed = forked(run, SECONDS)
    finally:
        (tree / change.file).write_text(text, encoding="utf-8")
    if code in (5, 98, 99):
        raise RuntimeError(f"the tests of {change.statement} cannot be run in {tree}: {code}")
    killed = None if code == 0 else failed or f"exit code {code}"
    where = {"statement": change.statement, "file": change.file, "old": old, "new": new, "killed": killed}
    return where | {"seconds": round(time.perf_counter() - start, 1)}


TREES: dict[int, Path] = {}


def tree_of(work: Path) -> Path:
    """A copy of the tree that only this process uses."""
    if os.getpid() not in TREES:
        TREES[os.getpid()] = copy_tree(Path(tempfile.mkdtemp(dir=work)) / "tree")
    return TREES[os.getpid()]


def tried_there(task: tuple[Path, Change]) -> dict:
    return tried(*task)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", help="a document such as lee2020, or one statement (default: all)")
    parser.add_argument("--share", type=float, default=0.1, help="of all changes (default 0.1)")
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "trust-mutants" / "marked.json")
    parser.add_argument("--seed", type=int, default=SEED, help=f"of the sample (default {SEED})")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    args = parser.parse_args()
    os.chdir(ROOT)
    os.environ |= ENVIRONMENT
    sys.dont_write_bytecode = True
    items = ledger.select(args.only) if args.only else ledger.items()
    every = {item.id: changes_of(item) for item in items if item.anchors}
    flat = [change for changes in every.values() for change in changes]
    sample = random.Random(args.seed).sample(flat, round(args.share * len(flat)))
    warm_up()
    with tempfile.TemporaryDirectory() as temporary, get_context("fork").Pool(args.jobs) as pool:
        records = []
        for record in pool.imap_unordered(tried_there, [(Path(temporary), change) for change in sample]):
            records.append(record)
            fate = record["killed"] or f"SURVIVES: {record['old']} -> {record['new']}"
            print(f"{len(records)} of {len(sample)}: {record['statement']} {fate}", flush=True)
    known = {(h["file"], h["old"], h["new"]): h["why"] for h in tomllib.loads(HARMLESS.read_text())["harmless"]}
    survivors = [r | {"why": known.get((r["file"], r["old"], r["new"]), "")} for r in records if not r["killed"]]
    found = {
        "seed": args.seed,
        "share": args.share,
        "statements": len(every),
        "changes": len(flat),
        "all": counted(records),
        "papers": {
            paper: counted([r for r in records if r["statement"].startswith(f"{paper}:")])
            for paper in Counter(r["statement"].partition(":")[0] for r in records)
        },
        "harmless": sum(bool(s["why"]) for s in survivors),
        "unexplained": sum(not s["why"] for s in survivors),
        "survivors": survivors,
    }
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(found, indent=1) + "\n")
    print({name: found[name] for name in ("all", "papers", "harmless", "unexplained")})
    sys.exit(found["unexplained"] > 0.02 * len(records))


if __name__ == "__main__":
    main()
