"""The layout of answers: lines break between words but never inside a command, and no line ends in blanks."""

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.containers import Lines
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Column, Table
from rich.text import Text

# Text that stays on one line: text between backticks, and a command with its options, their values, and its ids.
_OPTION, _ID = r"--?[a-z][\w-]*(?:[ =][^\s-]\S*)?", r"\S*[\d:=/_]\S*|[A-Z]{2,}\S*"
_COMMAND = rf"`[^`]+`|(?:nfa [a-z]+|pytest|python -m \S+)\b(?: (?:{_OPTION}|{_ID}))*"
_WORD = re.compile(rf"\s*(?:[(\[\"']*(?:{_COMMAND})\S*|\S+)\s*")
GAP = 2  # blanks between the columns of a table
WHOLE = 10_000  # a width at which every row is one line


class Prose(Text):
    """Text that breaks between words. A name, a path or a command longer than a line extends beyond the width."""

    def wrap(self, console: Console, width: int, **how: Any) -> Lines:
        """Return the lines for a width. No line ends in a blank."""
        lines = Lines()
        whole = how.get("no_wrap") or self.no_wrap or "ignore" in (how.get("overflow"), self.overflow)
        for line in self.split(allow_blank=True):
            for part in [line] if whole else line.divide(_breaks(line.plain, width)):
                part.rstrip()
                if how.get("overflow") == "crop":
                    part.truncate(width, overflow="ellipsis")
                if (how.get("justify") or self.justify) == "right":
                    part.pad_left(max(0, width - part.cell_len))
                lines.append(part)
        return lines

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        lines = self.plain.splitlines()
        widest = max(map(cell_len, lines), default=0)
        least = max((cell_len(word.rstrip()) for line in lines for word in _WORD.findall(line)), default=0)
        return Measurement(widest if self.no_wrap else least, widest)


class Answers(Console):
    """A console that prints every text as `Prose`, and leaves out blanks at the end of a line."""

    whole_rows = False  # whether each row of a table is one line of any length

    def print(self, *objects: Any, **how: Any) -> None:
        """Print as rich does, but without cutting words and without reading square brackets as markup."""
        shown = [prose(one) if isinstance(one, str | Text) else one for one in objects]
        super().print(*map(_Trimmed, shown), **({"crop": False} | how))


class _Trimmed:
    """A renderable without blanks at the ends of its lines."""

    def __init__(self, shown: RenderableType) -> None:
        self._shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for line in Segment.split_lines(console.render(self._shown, options)):
            kept = list(line)
            while kept and not kept[-1].text.strip():
                kept.pop()
            yield from kept[:-1]
            yield from (Segment(last.text.rstrip(), last.style) for last in kept[-1:])
            yield Segment.line()


class _Hanging:
    """A label of a fixed width with a text next to it. A label that is wider than this width has a line of its own."""

    def __init__(self, label: str | Text, text: str | Text, width: int) -> None:
        self._label, self._text, self._width = prose(label), prose(text), width

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        lines = self._text.wrap(console, max(1, options.max_width - self._width))
        label = self._label.copy()
        if label.cell_len > self._width:
            yield label
            label = Prose()
        label.pad_right(self._width - label.cell_len)
        for i, line in enumerate(lines):
            beside = label if i == 0 else " " * self._width
            yield prose(Text.assemble(beside, line, no_wrap=True))


class _PlainTable(Table):
    """A table that narrows the widest columns first.

    Each column stays at least as wide as its longest word, unless overflow is "crop".

    If the table is still too wide, columns with the same value in every row are removed, beginning with the last
    column. A sentence below the table then states these values. If the other columns are still too wide, they are split
    into several tables, one below the other. Each of these tables begins with the columns that distinguish the rows.
    """

    def add_column(self, header: RenderableType = "", *args: Any, **how: Any) -> None:
        super().add_column(prose(header), *args, **how)

    def add_row(self, *cells: RenderableType | None, **how: Any) -> None:
        super().add_row(*(prose(cell or "") for cell in cells), **how)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        room = WHOLE if isinstance(console, Answers) and console.whole_rows else options.max_width
        columns, everywhere = _apart([_measured(column, console, options) for column in self.columns], room)
        for i, some in enumerate(_groups(columns, room)):
            if i:
                yield Segment.line()
            yield from self._narrowed(some, room, console, options)
        if everywhere:
            yield Segment.line()
            yield prose("in every row: " + ", ".join(f"{c.header} {_cells(c)[0] or '-'}" for c in everywhere))

    def _narrowed(self, columns: list[Column], room: int, console: Console, options: ConsoleOptions) -> RenderResult:
        """Return a table of some columns. The widest columns are narrowed until the table fits into the width ``room``.

        A column is at least as wide as its longest word.
        """
        widths, least = ([getattr(c, name) for c in columns] for name in ("width", "min_width"))
        between = GAP * (len(columns) - 1)
        while sum(widths) + between > room and widths != least:
            widest = max((w, i) for i, w in enumerate(widths) if w > least[i])[1]
            widths[widest] -= 1
        part = plain_table()
        part.rows = self.rows
        part.columns = [replace(c, _index=i, width=w) for i, (c, w) in enumerate(zip(columns, widths, strict=True))]
        yield from Table.__rich_console__(part, console, options.update(width=sum(widths) + between + GAP))


def _cells(column: Column) -> list[str]:
    return [str(cell) for cell in column.cells]


def _measured(column: Column, console: Console, options: ConsoleOptions) -> Column:
    """Return the column with its natural width as width, and with its smallest possible width as min_width."""
    cells = [Measurement.get(console, options.update(width=WHOLE), cell) for cell in (column.header, *column.cells)]
    widest = max(cell.maximum for cell in cells)
    needed = cells[:1] if column.overflow == "crop" else cells
    return replace(column, width=widest, min_width=widest if column.no_wrap else max(c.minimum for c in needed))


def _together(columns: list[Column], name: str = "min_width") -> int:
    """Return the sum of the columns' widths and of the gaps between the columns.

    ``name`` is the attribute of a column with its width: "width" or "min_width".
    """
    return sum(getattr(column, name) for column in columns) + GAP * (len(columns) - 1)


def _apart(columns: list[Column], room: int) -> tuple[list[Column], list[Column]]:
    """Return the columns that stay in the table, and the columns that are removed.

    If the table is too wide, columns with the same value in every row are removed.
    """
    kept, everywhere = list(columns), list[Column]()
    if _together(columns) <= room:
        return kept, everywhere
    for i in range(len(columns) - 1, 0, -1):
        cells = _cells(columns[i])
        if len(cells) > 1 and len(set(cells)) == 1 and _together(kept, "width") > room:
            everywhere.insert(0, kept.pop(i))
    return kept, everywhere


def _groups(columns: list[Column], room: int) -> Iterator[list[Column]]:
    """Return groups of columns that fit into the width.

    Each group begins with the first n columns, where n is the smallest number for which these columns distinguish all
    rows.
    """
    rows = list(zip(*map(_cells, columns), strict=True))
    n = next((n for n in range(1, len(columns)) if len({row[:n] for row in rows}) == len(rows)), 1)
    group = columns[:n]
    for column in columns[n:]:
        if len(group) > n and _together([*group, column]) > room:
            yield group
            group = columns[:n]
        group.append(column)
    yield group


def _breaks(text: str, width: int) -> list[int]:
    """Return the positions in the text at which a new line starts. Only a line of one long word exceeds the width."""
    starts, at = [], 0
    for word in _WORD.finditer(text):
        size = cell_len(word[0].rstrip())
        if at and at + size > width:
            starts.append(word.start())
            at = 0
        at += cell_len(word[0])
    return starts


def prose(text: RenderableType) -> Prose:
    """Return the text with its style as `Prose`."""
    if isinstance(text, Prose):
        return text
    given = text if isinstance(text, Text) else Text(str(text))
    how: dict[str, Any] = {name: getattr(given, name) for name in ("style", "justify", "overflow", "no_wrap", "end")}
    return Prose(given.plain, spans=given.spans, **how)


def output() -> Console:
    """Return the console of standard output, with the width of the terminal or, in a pipe, the width COLUMNS.

    In a pipe, if the environment variable COLUMNS is not set, prose is wrapped at 80 characters. Each row of a table is
    then one line, so that programs can read the table line by line.
    """
    console = Answers(highlight=False)
    console.whole_rows = not (console.is_terminal or os.environ.get("COLUMNS", "").isdigit())
    return console


def right(heading: str, **how: Any) -> Column:
    """Return a column of numbers."""
    return Column(prose(heading), justify="right", **how)


def unbroken(heading: str, **how: Any) -> Column:
    """Return a column in which each cell stays on one line."""
    return Column(prose(heading), no_wrap=True, **how)


def plain_table(*columns: Column | str) -> Table:
    """Return a table without a frame, with a line below the headings and two spaces between columns."""
    return _PlainTable(*columns, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))


def hanging(label: str | Text, text: str | Text, width: int) -> RenderableType:
    """Return a label of a fixed width with a text next to the label. The text wraps inside its own column."""
    return _Hanging(label, text, width)


def field(console: Console, label: str, text: str | Text, width: int = 12) -> None:
    """Print a label in a column of a fixed width, with its text next to it."""
    console.print(hanging(Text(label, style="cyan"), text, width))
