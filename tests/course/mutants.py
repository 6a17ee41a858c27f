"""Mutants of the reference solutions. A mutant is a small change that a program makes and a check must detect.

``python -m tests.course.mutants ps2_dfa`` makes every mutant of the reference solution of a problem set, and grades
each mutant in its own process. The command lists the survivors, which are the mutants with full marks. With
``--several``, the command also lists the mutants that fail more than one cell. harmless/SET.toml explains why some
survivors change no required result.
"""

import argparse
import ast
import contextlib
import copy
import difflib
import os
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from nfa.course import SETS, names, problem_sets
from nfa.course.problem_sets import ProblemSet, Submission
from tests.trust.marked import replacements
from tests.trust.mutants import counted, forked

HARMLESS = Path(__file__).parent / "harmless"
SECONDS = 30  # limit of the processor time for grading a mutant; a mutant over the limit does not survive
TINY = "1e-08"  # constant that a mutant adds to a denominator


class Mutant(NamedTuple):
    """One change to one cell of a reference solution. ``before`` and ``after`` are the lines that differ."""

    problems: str
    cell: str
    before: str
    after: str
    source: str


@dataclass(frozen=True)
class Fate:
    """The result of grading a mutant: the graded cells that fail, or None if the process failed or took too long."""

    mutant: Mutant
    lost: tuple[str, ...] | None
    sentences: tuple[str, ...] = ()

    @property
    def survives(self) -> bool:
        return self.lost == ()


def mutants(problems: ProblemSet) -> list[Mutant]:
    """All changes to all cells that a student writes, without duplicates."""
    found = {}
    for cell in problems.cells:
        if cell.kind != "solution":
            continue
        source = ast.unparse(ast.parse(cell.source))  # without comments, and with one statement in a line
        for changed in changes(source):
            with contextlib.suppress(SyntaxError, ValueError):
                compile(changed, cell.name, "exec")
                if ast.unparse(ast.parse(changed)) != source:
                    found.setdefault(
                        (cell.name, changed), Mutant(problems.name, cell.name, *differing(source, changed), changed)
                    )
    return list(found.values())


def differing(old: str, new: str) -> tuple[str, str]:
    """The lines in which two texts differ: one string for the old text, one for the new text."""
    lines = list(difflib.ndiff(old.splitlines(), new.splitlines()))
    before, after = ("\n".join(line[2:].strip() for line in lines if line[0] == sign) for sign in "-+")
    return before, after


def changes(source: str) -> Iterator[str]:
    """Yield the source with each possible change of an operator, operand, constant, argument, call or statement."""
    for start, end, new in replacements(source, set(range(1, source.count("\n") + 2))):
        yield source[:start] + new + source[end:]
    tree = ast.parse(source)
    of_annotations = {id(part) for node in ast.walk(tree) if isinstance(node, ast.arg) for part in ast.walk(node)}
    for place, node in enumerate(ast.walk(tree)):
        if id(node) not in of_annotations:
            for change in CHANGES:
                for way in range(change.ways(node)):
                    again = copy.deepcopy(tree)
                    twin = next(one for at, one in enumerate(ast.walk(again)) if at == place)
                    change.make(again, twin, way)
                    yield ast.unparse(ast.fix_missing_locations(again))


class Kind(NamedTuple):
    """A kind of change: the number of ways to change a node, and a function that makes one of these changes."""

    ways: object
    make: object


def put(tree: ast.AST, node: ast.AST, new: ast.AST) -> None:
    """Put a new expression or statement in place of a node."""
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            if value is node:
                setattr(parent, name, new)
            elif isinstance(value, list) and any(one is node for one in value):
                value[[one is node for one in value].index(True)] = new


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def one_less(tree: ast.AST, node: ast.Constant, way: int) -> None:
    node.value -= 1


def other_index(tree: ast.AST, node: ast.Subscript, way: int) -> None:
    node.slice = expression(f"({ast.unparse(node.slice)}) {'+-'[way]} 1")


def inner(node: ast.Call) -> list[ast.expr]:
    """The expressions that can replace a call: its arguments, and the object of its method."""
    owner = [node.func.value] if isinstance(node.func, ast.Attribute) else []
    modules = [one for one in owner if isinstance(one, ast.Name) and one.id in ("np", "math", "rng")]
    return [one for one in owner if one not in modules] + [a for a in node.args if not isinstance(a, ast.Starred)]


def no_call(tree: ast.AST, node: ast.Call, way: int) -> None:
    put(tree, node, inner(node)[way])


def swap(tree: ast.AST, node: ast.Call, way: int) -> None:
    node.args[way : way + 2] = node.args[way + 1], node.args[way]


def no_keyword(tree: ast.AST, node: ast.Call, way: int) -> None:
    del node.keywords[way]


def no_statement(tree: ast.AST, node: ast.stmt, way: int) -> None:
    put(tree, node, ast.Pass())


def before_loop(tree: ast.AST, node: ast.For, way: int) -> None:
    """Move a statement from the body of a loop to the place before the loop."""
    for parent in ast.walk(tree):
        for _, block in ast.iter_fields(parent):
            if isinstance(block, list) and any(one is node for one in block):
                moved = node.body.pop(way)
                block.insert([one is node for one in block].index(True), moved)
                return


def after_first(tree: ast.AST, node: ast.For, way: int) -> None:
    """End a loop after its first iteration."""
    node.body.append(ast.Break())


def tiny(tree: ast.AST, node: ast.BinOp, way: int) -> None:
    node.right = expression(f"({ast.unparse(node.right)}) + {TINY}")


def other_law(tree: ast.AST, node: ast.Attribute, way: int) -> None:
    node.attr = LAWS[node.attr][way]


LAWS = {
    "normal": ["laplace", "uniform"],
    "standard_normal": ["random"],
    "laplace": ["normal"],
    "uniform": ["normal"],
    "argmax": ["argmin"],
    "tanh": ["sin"],
    "norm": ["sum"],
}
SIMPLE = ast.Assign | ast.AugAssign | ast.If

CHANGES = [
    Kind(lambda n: isinstance(n, ast.Constant) and type(n.value) is int, one_less),
    Kind(
        lambda n: 2 * (isinstance(n, ast.Subscript) and not isinstance(n.slice, ast.Slice | ast.Tuple | ast.Constant)),
        other_index,
    ),
    Kind(lambda n: len(inner(n)) if isinstance(n, ast.Call) else 0, no_call),
    Kind(lambda n: max(len(n.args) - 1, 0) if isinstance(n, ast.Call) and len(n.args) > 2 else 0, swap),
    Kind(lambda n: len(n.keywords) if isinstance(n, ast.Call) else 0, no_keyword),
    Kind(lambda n: isinstance(n, SIMPLE) or (isinstance(n, ast.Expr) and isinstance(n.value, ast.Call)), no_statement),
    Kind(lambda n: len(n.body) if isinstance(n, ast.For) and len(n.body) > 1 else 0, before_loop),
    Kind(lambda n: isinstance(n, ast.For), after_first),
    Kind(lambda n: isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div), tiny),
    Kind(lambda n: len(LAWS.get(n.attr, [])) if isinstance(n, ast.Attribute) else 0, other_law),
]


@cache
def loaded(name: str) -> ProblemSet:
    return problem_sets.load(SETS / name)


def graded(mutant: Mutant) -> Fate:
    """Grade a mutant in a forked process, so that the mutant does not change the state of this process."""
    problems = loaded(mutant.problems)
    submission = Submission("mutant", mutant.after, {mutant.cell: mutant.source}, 0)

    def work(write) -> int:
        sys.stdout = sys.stderr = open(os.devnull, "w")
        told = problem_sets.grade(problems, submission)
        write("\n".join(f"{cell}\t{' '.join(said.split())[:120]}" for cell, said in told.items() if said))
        return 0

    code, said = forked(work, SECONDS)
    if code != 0:
        return Fate(mutant, None)
    lost = [line.partition("\t") for line in said.splitlines()]
    return Fate(mutant, tuple(cell for cell, _, _ in lost), tuple(sentence for _, _, sentence in lost))


def harmless(name: str) -> dict[tuple[str, str, str], str]:
    """The survivors of a problem set that change no required result, as {(cell, before, after): reason}."""
    path = HARMLESS / f"{name}.toml"
    known = tomllib.loads(path.read_text(encoding="utf-8"))["harmless"] if path.exists() else []
    return {(h["cell"], h["before"], h["after"]): h["why"] for h in known}


def fates(every: list[Mutant], jobs: int = 1) -> Iterator[Fate]:
    """The fate of each mutant, in the given order."""
    for name in {one.problems for one in every}:
        problem_sets.grade(loaded(name), loaded(name).reference)  # so that forked processes have all imports
    if jobs == 1:
        yield from map(graded, every)
        return
    with get_context("fork").Pool(jobs) as pool:
        yield from pool.imap(graded, every)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("sets", nargs="*", help="names of sets (default: all)")
    parser.add_argument("--several", action="store_true", help="list the changes that cost several cells, too")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    args = parser.parse_args()
    unexplained, total = 0, []
    for name in args.sets or names():
        every = list(fates(mutants(loaded(name)), args.jobs))
        total += every
        for fate in every:
            if fate.survives and fate.mutant[1:4] not in harmless(name):
                unexplained += 1
                print(
                    f"SURVIVES {name} {fate.mutant.cell}\n  - {fate.mutant.before}\n  + {fate.mutant.after}", flush=True
                )
            elif args.several and fate.lost is not None and len(fate.lost) > 1:
                print(f"COSTS {', '.join(fate.lost)} {name} {fate.mutant.cell}")
                print(f"  - {fate.mutant.before}\n  + {fate.mutant.after}")
                print("".join(f"    {said}\n" for said in fate.sentences), end="", flush=True)
        print(f"{name}: {len(every)} changes, {sum(f.survives for f in every)} survive", flush=True)
    told = counted([{"killed": None if fate.survives else "check"} for fate in total])
    print(told | {"unexplained": unexplained})
    sys.exit(unexplained > 0.01 * len(total))


if __name__ == "__main__":
    main()
