"""Finds faults of our prose: `python -m tests.project.prose` counts the marked sentences in every kind of text.

A sentence is marked if it has more than `LONGEST` words, two colons or semicolons, or a word that the section "Words"
of nfa/NOTATION.md replaces by another. For each kind of text prose.toml has a ceiling: the share of its sentences that
may be marked, in percent. If you name kinds of text or paths, their marked sentences are printed.
"""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.project.tree import ROOT

LONGEST = 30  # largest number of words in a sentence
CEILINGS = ROOT / "tests" / "project" / "prose.toml"
# Code, formulas, links and roles count as one word. Tables, headings and fenced blocks are not sentences.
ONE_WORD = re.compile(r"`[^`]*`|\$[^$]*\$|\{\w+\}`[^`]*`|\]\([^)]*\)|https?://\S+")
END = re.compile(r"(?<=[.!?])[\"')*_]*\s+(?=[\"'(*_`A-Z$])")
NO_PROSE = re.compile(r"^\s*(\||#|```|~~~|>>>|\.\.\.|:::|<|!\[|---|\(\w[\w-]*\)=)")


def kinds() -> dict[str, list[str]]:
    """The kinds of text and the patterns of their files, as prose.toml declares them."""
    return {name: kind["files"] for name, kind in _declared().items()}


@cache
def _declared() -> dict[str, dict]:
    return tomllib.loads(CEILINGS.read_text(encoding="utf-8"))


@cache
def files(kind: str) -> list[Path]:
    """The files of a kind, in order. A file that fits several kinds belongs to the first of these kinds."""
    earlier = {path for other in list(kinds())[: list(kinds()).index(kind)] for path in files(other)}
    return sorted({path for pattern in kinds()[kind] for path in ROOT.glob(pattern)} - earlier)


@cache
def replaced() -> re.Pattern:
    """A pattern for the words in the third column of the table "Words"."""
    section = (ROOT / "nfa" / "NOTATION.md").read_text(encoding="utf-8").split("\n## Words\n")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    words = [word.strip() for row in rows[2:] if len(row) == 3 for word in row[2].split(",") if word.strip()]
    return re.compile(rf"(?i)\b({'|'.join(map(re.escape, words))})\b")


def paragraphs(path: Path) -> Iterator[str]:
    """The running text of a file, without tables and code.

    In Python files, it is the docstrings or the Markdown cells.
    """
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".toml":
        yield from _of_markdown("\n\n".join(_strings(tomllib.loads(text))))
    elif path.suffix == ".py" and "# %% [markdown]" in text:
        yield from _of_markdown(re.sub(r"(?m)^# ?", "", "\n".join(_cells(text))))
    elif path.suffix == ".py":
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (found := ast.get_docstring(node)):
                yield from _of_markdown(re.sub(r"(?m)^-{3,}$", "", found))
    else:
        yield from _of_markdown(text)


def _cells(text: str) -> Iterator[str]:
    """The Markdown cells of a percent script, as comments."""
    for cell in text.split("# %%")[1:]:
        head, _, body = cell.partition("\n")
        if "[markdown]" in head:
            yield body


def _strings(value: object) -> Iterator[str]:
    """The texts of a statement in the ledger that readers see."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if isinstance(inner, dict | list) or name in ("claims", "right", "use", "check", "number"):
                yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
    elif isinstance(value, str):
        yield value


def _of_markdown(text: str) -> Iterator[str]:
    text = re.sub(r"(?ms)^ *(```|~~~).*?^ *\1", "", text)
    text = re.sub(r"\$\$.*?\$\$", "", text, flags=re.DOTALL)
    for block in re.split(r"\n\s*\n|\n(?=\s*[-*] |\s*\d+\. |\w[\w, ]* : )", text):
        lines = [line for line in block.splitlines() if not NO_PROSE.match(line)]
        # leave out the parameter's name before its meaning
        yield re.sub(r"^\w[\w, ]* : ", "", " ".join(" ".join(lines).split()))


def sentences(path: Path) -> list[str]:
    """The sentences of a file: texts that end with a full stop and have at least four words."""
    found = []
    for text in paragraphs(path):
        # A full stop inside code does not end a sentence.
        ends = [
            match.start() for match in END.finditer(ONE_WORD.sub(lambda code: "`" + "x" * (len(code[0]) - 1), text))
        ]
        found += [text[a:b].strip() for a, b in zip([0, *ends], [*ends, len(text)], strict=True)]
    return [one for one in found if len(one.split()) > 3 and re.search(r"[.!?][\"')*_]*$", one)]


def faults(sentence: str) -> list[str]:
    """The faults of a sentence that a program can find.

    >>> faults("We shorten each gradient to the norm C.")
    ["'shorten' is another word in NOTATION"]
    >>> faults("We clip each gradient to the norm C.")
    []
    """
    plain = ONE_WORD.sub(" code ", sentence)
    long = len(re.findall(r"[A-Za-z][\w'-]*", plain))
    stops = len(re.findall(r"[:;](?=\s)", plain))
    found = [f"{long} words"] * (long > LONGEST) + [f"{stops} colons and semicolons"] * (stops > 1)
    return found + [f"'{word}' is another word in NOTATION" for word in dict.fromkeys(replaced().findall(plain))]


def share(kind: str) -> tuple[int, int]:
    """The number of marked sentences and the number of all sentences of a kind."""
    every = [sentence for path in files(kind) for sentence in sentences(path)]
    return sum(bool(faults(one)) for one in every), len(every)


def main(names: list[str]) -> int:
    """Print the counts, or the marked sentences of the named kinds or files; 1 if a kind is above its ceiling."""
    for name in names:
        for path in files(name) if name in kinds() else [ROOT / name]:
            for sentence in sentences(path):
                if found := faults(sentence):
                    print(f"{path.relative_to(ROOT)}: {', '.join(found)}: {sentence}")
    if names:
        return 0
    above = 0
    for kind, declared in _declared().items():
        marked, of = share(kind)
        percent = 100 * marked / max(1, of)
        too_many = percent > declared["ceiling"]
        above += too_many
        print(
            f"{kind:15} {marked:5} of {of:5} sentences marked, {percent:4.1f} %, at most {declared['ceiling']} %"
            f"{': TOO MANY' if too_many else ''}"
        )
    if above:
        print("python -m tests.project.prose KIND prints them")
    return int(above > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
