"""Pieces of MyST Markdown that the pages made of the ledger have in common."""

import itertools
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator

from nfa import ledger
from nfa.ledger.entries import PAPER
from nfa.ledger.formulas import DISPLAY, INLINE

NAMED = re.compile(rf"(?<!--eq )(?<!--bound )\b({PAPER}:[A-Za-z0-9.%-]*[A-Za-z0-9])")  # not in a command
ITEM = re.compile(r" +(\d+\.|\([A-Z0-9]\)) ")  # the first line of a list
SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|$~])")


def anchor(id: str) -> str:
    """The label of a statement."""
    return re.sub("[^a-z0-9]+", "-", id.lower())


def link(name: str, id: str = "") -> str:
    """A link to a statement, by its id or, with the id beside it, another name for it."""
    return f"{{ref}}`{name} <{anchor(id or name)}>`"


def badge(verdict: str) -> str:
    """A verdict as a coloured word."""
    return f'<span class="verdict verdict-{verdict}">{verdict}</span>'


def escape(text: str) -> str:
    """Text that Markdown shows as it is."""
    return SPECIAL.sub(r"\\\1", text)


def linked_ids(text: str) -> str:
    """Text as it is, but for ids of statements, which become links."""
    parts = NAMED.split(text)
    parts[::2] = map(escape, parts[::2])
    parts[1::2] = [link(name, ledger.find(name).id) for name in parts[1::2]]
    return "".join(parts)


def prose(text: str, *, linked: bool) -> str:
    """Paragraphs of the ledger, in which ids become links and formulas, apart or in a sentence, are typeset.

    Other lines that begin with spaces are a list, or are shown as they stand.
    """
    shown = _with_formulas(linked_ids if linked else escape)
    blocks: list[str] = []
    before, *formulas = DISPLAY.split(INLINE.sub(lambda found: " ".join(found[0].split()), text))
    blocks += _paragraphs(before, shown)
    for _, latex, after, text in zip(*(formulas[k::4] for k in range(4)), strict=True):
        sign, end = re.match("[.,;:]?", after)[0], r"\end{aligned}"
        latex = latex.strip()
        ended = latex.removesuffix(end) + sign + end if latex.endswith(end) else latex + sign
        blocks += ["", "$$", " ".join(ended.split()), "$$", "", *_paragraphs(after[len(sign) :] + text, shown)]
    return "\n".join(blocks)


def _with_formulas(shown: Callable[[str], str]) -> Callable[[str], str]:
    """What shows a line as it is shown, but for the formulas in it."""

    def around(text: str) -> str:
        parts = INLINE.split(text)
        parts[::2] = map(shown, parts[::2])
        parts[1::2] = [f"${latex}$" for latex in parts[1::2]]
        return "".join(parts)

    return around


def _paragraphs(text: str, shown: Callable[[str], str]) -> Iterator[str]:
    for indented, lines in itertools.groupby(text.split("\n"), lambda line: line.startswith(" ")):
        block = list(lines)
        if not indented:
            yield from map(shown, block)
        elif ITEM.match(block[0]):
            yield from ("", *listed(block, shown), "")
        else:
            yield from ("", "```text", textwrap.dedent("\n".join(block)), "```")


def listed(lines: list[str], shown: Callable[[str], str]) -> Iterator[str]:
    """Items that begin as far left as the first one: 1., 2. or (A), (B); what is further right goes on."""
    depth = len(lines[0]) - len(lines[0].lstrip())
    for line in lines:
        begins, number, rest = re.match(r"( *)(\d+\. )?(.*)", line).groups()
        yield (number or "- ") + shown(rest) if len(begins) == depth else "   " + shown(rest)


def table(head: list[str], rows: Iterable[list[str]]) -> list[str]:
    """Lines of a Markdown table."""
    return ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]


def toctree(pages: Iterable[str], *options: str) -> list[str]:
    """Lines of a table of contents that the navigation shows."""
    return ["```{toctree}", ":maxdepth: 1", *options, "", *pages, "```", ""]
