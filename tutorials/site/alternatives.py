"""A Sphinx extension that gives each picture an alternative text, from the comment "In words" in its cell."""

import re

from docutils import nodes

WORDS = re.compile(r"^# In words: (.+(?:\n# .+)*)", re.MULTILINE)


def setup(app) -> dict:
    """Register the extension with Sphinx."""
    app.connect("doctree-read", _describe)
    return {"parallel_read_safe": True}


def in_words(source: str) -> str:
    """The text of the comment "In words" of a cell on one line, or "" without such a comment."""
    found = WORDS.search(source)
    return " ".join(found[1].replace("\n#", " ").split()) if found else ""


def _describe(app, doctree: nodes.document) -> None:
    for cell in doctree.findall(lambda node: isinstance(node, nodes.container) and "cell" in node.get("classes", ())):
        pictures = list(cell.findall(nodes.image))
        words = in_words(next(cell.findall(nodes.literal_block)).astext()) if pictures else ""
        for picture in pictures:
            picture["alt"] = words or picture.get("alt", "")
