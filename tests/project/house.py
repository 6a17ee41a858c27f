"""The house: rooms, floors and imports of nfa, read from the import lines, and their picture in CONTRIBUTING.md.

A room is a module in the root of nfa or a package drawn closed. `python -m tests.project.house` draws the picture anew.
"""

import ast
import graphlib
from collections.abc import Container, Iterator
from pathlib import Path

from tests.project.tree import ROOT, modules

PAGE = ROOT / "CONTRIBUTING.md"
START, END = "<!-- the house, drawn by python -m tests.project.house -->\n", "<!-- end of the house -->\n"


def imports(name: str, path: Path, known: Container[str]) -> set[str]:
    """The dotted names that a module imports, at its top or inside a function; of known modules, their whole names."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} line {node.lineno}: write imports absolutely, as everywhere"
            parts = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {part if part in known else str(node.module) for part in parts}
    return found


MODULES = modules()
IMPORTS = {name: imports(name, path, MODULES) for name, path in MODULES.items()}


def room(name: str) -> str:
    """`nfa.rules.bp` -> `rules`; nfa itself, which holds the version, is the room `nfa`."""
    return name.split(".")[1] if "." in name else name


def rooms() -> dict[str, str]:
    """Room -> what it is called in the picture: a folder ends in a slash."""
    packages = {room(name) for name in IMPORTS if name.count(".") > 1}
    names = sorted({room(name) for name in IMPORTS})
    return {name: "nfa/__init__.py" if name == "nfa" else name + ("/" if name in packages else ".py") for name in names}


def arrows() -> dict[str, set[str]]:
    """Room -> the other rooms that it imports, of every room."""
    found: dict[str, set[str]] = {name: set() for name in rooms()}
    for name, imported in IMPORTS.items():
        found[room(name)] |= {room(other) for other in imported if other.split(".")[0] == "nfa"}
    return {name: others - {name} for name, others in found.items()}


def floors(arrows: dict[str, set[str]]) -> dict[str, int]:
    """Room -> its floor: the first if it imports no other, else one above the highest that it imports.

    Raises
    ------
    graphlib.CycleError : if rooms import one another in a ring
    """
    found: dict[str, int] = {}
    for name in graphlib.TopologicalSorter(arrows).static_order():
        found[name] = 1 + max((found[other] for other in arrows[name]), default=0)
    return found


def direct(arrows: dict[str, set[str]]) -> Iterator[tuple[str, str]]:
    """The arrows that no longer way implies, those of the highest rooms first."""
    floor = floors(arrows)
    reached: dict[str, set[str]] = {}
    for name in sorted(arrows, key=lambda name: floor[name]):
        reached[name] = arrows[name].union(*(reached[other] for other in arrows[name]))
    for name in sorted(arrows, key=lambda name: (-floor[name], name)):
        implied = set().union(*(reached[other] for other in arrows[name]))
        yield from ((name, other) for other in sorted(arrows[name] - implied))


def drawn() -> str:
    """The picture in mermaid, and what it counts."""
    found = arrows()
    floor, names, shown = floors(found), rooms(), list(direct(found))
    lines = ["```mermaid", "flowchart TD"]
    lines += [f'    {name}["{names[name]}"]' for name in sorted(names, key=lambda name: (-floor[name], name))]
    lines += [f"    {name} --> {other}" for name, other in shown]
    lines += [
        "```",
        "",
        f"{len(names)} rooms on {max(floor.values())} floors, {sum(map(len, found.values()))} imports between rooms.",
        f"The {len(shown)} arrows leave out the imports that a longer way of arrows implies.",
    ]
    return "\n".join(lines) + "\n"


def page(text: str) -> str:
    """CONTRIBUTING.md with the picture as it is now."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}{drawn()}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
