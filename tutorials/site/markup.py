"""Pieces of MyST Markdown that all pages made from the ledger use."""

import itertools
import re
import textwrap
from collections.abc import Iterable, Iterator

from nfa import ledger
from nfa.ledger.entries import PAPER
from nfa.ledger.formulas import DISPLAY, INLINE

NAMED = re.compile(rf"(?<!--eq )(?<!--bound )\b({PAPER}:[A-Za-z0-9.%-]*[A-Za-z0-9])")  # not in a command
ITEM = re.compile(r" +(\d+\.|\([A-Z0-9]\)) ")  # the first line of a list
SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|$~&])")
OPENS = re.compile(r"^(\d*)([-+%=:(]|[.)](?= ))")  # start of a list, a comment, a heading, a definition or a label


def anchor(id: str) -> str:
    """The label of a statement."""
    return re.sub("[^a-z0-9]+", "-", id.lower())


def link(name: str, id: str = "") -> str:
    """A link to a statement with its id as the text, or with another name if ``id`` is given too."""
    return f"{{ref}}`{name} <{anchor(id or name)}>`"


def badge(verdict: str) -> str:
    """A verdict as a coloured word."""
    return f'<span class="verdict verdict-{verdict}">{verdict}</span>'


def escape(text: str) -> str:
    """The text with escapes, so that Markdown shows it unchanged."""
    return SPECIAL.sub(r"\\\1", text)


def linked_ids(text: str) -> str:
    """The text unchanged, except that ids of statements become links."""
    parts = NAMED.split(text)
    parts[::2] = map(escape, parts[::2])
    parts[1::2] = [link(name, ledger.find(name).id) for name in parts[1::2]]
    return "".join(parts)


def line(text: str, *, linked: bool = True) -> str:
    """Running text of the ledger on one line, with typeset formulas. Its first character opens no Markdown block."""
    parts = INLINE.split(" ".join(text.split()))
    parts[::2] = map(linked_ids if linked else escape, parts[::2])
    parts[1::2] = (f"${latex}$" for latex in parts[1::2])
    return OPENS.sub(r"\1\\\2", "".join(parts))


def prose(text: str, *, linked: bool) -> str:
    """Paragraphs of the ledger with typeset formulas and, with ``linked``, links in place of ids.

    Other lines that begin with spaces are a list, or are shown unchanged.
    """
    blocks: list[str] = []
    before, *formulas = DISPLAY.split(INLINE.sub(lambda found: " ".join(found[0].split()), text))
    blocks += _paragraphs(before, linked)
    for _, latex, after, text in zip(*(formulas[k::4] for k in range(4)), strict=True):
        sign, end = re.match("[.,;:]?", after)[0], r"\end{aligned}"
        latex = latex.strip()
        ended = latex.removesuffix(end) + sign + end if latex.endswith(end) else latex + sign
        blocks += ["", "$$", " ".join(ended.split()), "$$", "", *_paragraphs(after[len(sign) :].strip() + text, linked)]
    return "\n".join(blocks)


def _paragraphs(text: str, linked: bool) -> Iterator[str]:
    for runs_on, lines in itertools.groupby(text.split("\n"), lambda one: bool(one[:1].strip())):
        block = "\n".join(lines).strip("\n")
        if runs_on:
            yield line(block, linked=linked)
        elif not block.strip():
            yield ""
        elif ITEM.match(block):
            yield from ("", *listed(block.split("\n"), linked), "")
        else:
            yield from ("", "```text", textwrap.dedent(block), "```")


def listed(lines: list[str], linked: bool) -> Iterator[str]:
    """Items 1., 2. or (A), (B) with the indent of the first line. Lines with a larger indent continue an item."""
    depth = len(lines[0]) - len(lines[0].lstrip())
    begins = [at for at, one in enumerate(lines) if len(one) - len(one.lstrip()) == depth]
    for first, last in itertools.pairwise([*begins, len(lines)]):
        number, rest = re.match(r" *(\d+\. )?((?s:.*))", "\n".join(lines[first:last])).groups()
        yield (number or "- ") + line(rest, linked=linked)


def table(head: list[str], rows: Iterable[list[str]]) -> list[str]:
    """Lines of a Markdown table."""
    return ["| " + " | ".join(cells) + " |" for cells in (head, ["---"] * len(head), *rows)]


def toctree(pages: Iterable[str], *options: str) -> list[str]:
    """Lines of a table of contents that the navigation shows."""
    return ["```{toctree}", ":maxdepth: 1", *options, "", *pages, "```", ""]
