"""The table in data/SOURCES.md, made from the registry of data sets.

`python -m tests.data.sources` updates the page.
"""

from nfa.data.registry import DATASETS, DatasetInfo
from tests.project.tree import ROOT

PAGE = ROOT / "data" / "SOURCES.md"
START, END = "<!-- the data sets, written by python -m tests.data.sources -->\n", "<!-- end of the data sets -->\n"
COLOURS = {1: "grey", 3: "colour"}  # words for the number of channels


def row(info: DatasetInfo) -> str:
    """The row of a data set: its name for `nfa train`, its title, its content, its licence and its origin."""
    channels, height, width = info.shape
    published = info.variants[0]
    images = f"{published.n_train:,} + {published.n_test:,}, {COLOURS.get(channels, f'{channels} channels')}"
    images += f", {height}x{width}, {info.classes} classes"
    return f"| {info.name} | {info.title} | {images} | {info.licence} | {info.origin} |\n"


def table() -> str:
    """The whole table, one row for each data set, in the order of the registry."""
    head = "| name | data set | images | licence | origin |\n|---|---|---|---|---|\n"
    return head + "".join(map(row, DATASETS.values()))


def page(text: str) -> str:
    """The text of SOURCES.md with the current table of the registry."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}{table()}{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
