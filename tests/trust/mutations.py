"""All small changes to the code, and a seeded sample of these changes, for tests/trust/mutants.py.

mutmut proposes the changes to the plain NumPy modules, and cosmic-ray the changes to the kernels. We leave out
docstrings, annotations, decorators, the content of a `raise` or a warning, and strings with a blank, which are texts
for readers.
"""

import ast
import random
from dataclasses import dataclass

from tests.project.tree import ROOT

PLAIN = [
    *("nfa/rules/*.py", "nfa/privacy/*.py", "nfa/sensitivity/*.py"),
    *(f"nfa/{name}.py" for name in ("clip", "sampling", "feedback/matrices", "optim")),
]
# for each sample: the files, and the number of mutants
SAMPLES = {"plain": (PLAIN, 520), "kernels": (["kernels/*.py"], 120)}


@dataclass(frozen=True)
class Change:
    """A proposed change: its number in the file, and the lines from `first` to `last` that it changes."""

    file: str
    number: int
    first: int
    last: int
    how: object  # data that the tool needs to make the change


def prose(node) -> bool:
    """Whether a node is a string with a blank, which is a text for readers."""
    import libcst as cst

    strings = (cst.SimpleString, cst.ConcatenatedString, cst.FormattedString)
    return isinstance(node, strings) and " " in cst.Module([]).code_for_node(node)


def plain_changes(file: str) -> list[Change]:
    """The changes that mutmut proposes for a module, also in decorated functions, except in messages."""
    import libcst as cst
    from libcst.metadata import MetadataWrapper, ParentNodeProvider, PositionProvider
    from mutmut.mutation import file_mutation

    class Everywhere(file_mutation.MutationVisitor):
        # mutmut skips decorated functions, because it cannot run them after a change; we can
        def _skip_node_and_children(self, node):
            decorated = isinstance(node, cst.FunctionDef) and node.decorators
            return not decorated and super()._skip_node_and_children(node)

    wrapper = MetadataWrapper(cst.parse_module((ROOT / file).read_text()))
    ignored = file_mutation.get_ignored_lines(file, (ROOT / file).read_text(), wrapper, None)
    visitor = Everywhere(file_mutation.mutation_operators, ignored)
    module = wrapper.visit(visitor)
    where = wrapper.resolve_many([ParentNodeProvider, PositionProvider])
    parents, positions = where[ParentNodeProvider], where[PositionProvider]

    def message(node) -> bool:
        while node in parents:
            called = getattr(getattr(node, "func", None), "attr", None)
            if prose(node) or isinstance(node, cst.Raise) or getattr(called, "value", None) == "warn":
                return True
            node = parents[node]
        return False

    def left_out(change) -> bool:
        node, new = change.original_node, change.mutated_node
        if isinstance(node, cst.Call) and isinstance(new, cst.Call):
            gone = [arg.value for arg in node.args if all(arg is not kept for kept in new.args)]
            if gone and all(map(prose, gone)):
                return True
        return message(node) or prose(getattr(node, "value", None))

    changes = [c for c in visitor.mutations if c.contained_by_top_level_function is not None and not left_out(c)]
    return [
        Change(file, i, positions[c.original_node].start.line, positions[c.original_node].end.line, (module, c))
        for i, c in enumerate(changes)
    ]


def of_bodies(text: str) -> set[int]:
    """The lines of the bodies of functions, without raise statements, decorators and heads of inner functions."""
    bodies, left_out = set(), set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            bodies.update(range(node.body[0].lineno, node.end_lineno + 1))
        if isinstance(node, ast.FunctionDef | ast.Raise):
            last = node.end_lineno if isinstance(node, ast.Raise) else node.body[0].lineno - 1
            left_out.update(
                range(min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))]), last + 1)
            )
    return bodies - left_out


def kernel_changes(file: str) -> list[Change]:
    """The changes that cosmic-ray proposes for the bodies of a kernel module's functions, except in messages."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.operators.provider import OperatorProvider

    text, operators = (ROOT / file).read_text(), OperatorProvider()
    nodes, lines, found = list(ast_nodes(get_ast(text))), of_bodies(text), []
    for name in sorted(operators):
        if operators[name].arguments():
            continue
        operator, occurrence = operators[name](), 0
        for node in nodes:
            for start, end in operator.mutation_positions(node):
                if start[0] in lines:
                    found.append(Change(file, len(found), start[0], end[0], (name, occurrence)))
                occurrence += 1
    return found


def changed(change: Change) -> str:
    """The whole file after the change."""
    if not change.file.startswith("kernels/"):
        module, mutation = change.how
        return module.deep_replace(mutation.original_node, mutation.mutated_node).code
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.operators.provider import OperatorProvider

    name, occurrence = change.how
    return mutate_code((ROOT / change.file).read_text(), OperatorProvider()[name](), occurrence)


PROPOSED = {"plain": plain_changes, "kernels": kernel_changes}


def draw(seed: int, share: float = 1.0, proposed=PROPOSED) -> tuple[dict[str, int], list[Change]]:
    """The number of changes of each file, and a shuffled sample in which each file has a proportional share."""
    rng, totals, sample = random.Random(seed), {}, []
    for group, (patterns, size) in SAMPLES.items():
        files = sorted({str(path.relative_to(ROOT)) for pattern in patterns for path in ROOT.glob(pattern)})
        every = {file: proposed[group](file) for file in files}
        every = {file: changes for file, changes in every.items() if changes}
        totals |= {file: len(changes) for file, changes in every.items()}
        exact = {file: round(share * size) * len(c) / sum(map(len, every.values())) for file, c in every.items()}
        quota = {file: int(x) for file, x in exact.items()}
        # round up the files with the largest remainders
        most = sorted(exact, key=lambda file: quota[file] - exact[file])
        for file in most[: round(share * size) - sum(quota.values())]:
            quota[file] += 1
        for file in files:
            sample += rng.sample(every.get(file, []), quota.get(file, 0))
    rng.shuffle(sample)
    return totals, sample
