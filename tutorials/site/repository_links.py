"""A Sphinx extension for links that lead to a file in the repository and to the page of this file on the site.

A page is Markdown that a forge shows unchanged, so its links name files and folders of the repository, such as
``../nfa/papers``. The site has pages that are made from such files and folders.
"""

import re

from markup import link

from nfa import ledger
from nfa.ledger.entries import PAPER

LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\((\.\./[^)\s]*|site/[^)\s]*)\)")
STATEMENT = re.compile(rf"{PAPER}:[A-Za-z0-9.%-]+")
STATEMENTS = (r"\.\./nfa/papers/(\w+)/statements\.toml", r"generated/papers/\1.md")
ELSEWHERE = (r"\.\./nfa/ledger/external\.toml", "generated/papers/external.md")
# Pairs of a pattern for a link to the repository and the page on the site. The first match counts.
PAGES = (
    STATEMENTS,
    ELSEWHERE,
    (r"\.\./nfa/papers", "generated/papers/index.md"),
    (r"\.\./nfa/papers#(errata|certificates)", r"generated/\1.md"),
    (r"\.\./nfa/course/sets", "generated/problem_sets.md"),
    (r"\.\./nfa/course/files/README\.md(?:#.*)?", "teacher.md"),
    (r"\.\./nfa", "generated/api/index.md"),
    (r"\.\./results/README\.md", "generated/experiments/index.md"),
    (r"\.\./results/([\w-]+)/REPORT\.md", r"generated/experiments/\1.md"),
    (r"\.\./results#trust", "generated/trust.md"),
    (r"site/other_tools\.toml", "generated/other_tools.md"),
)
SET = re.compile(r"\.\./nfa/course/sets/(\w+)/goals\.md")  # the label of a set is in the page of all sets


def setup(app) -> dict:
    """Register the extension with Sphinx."""
    app.connect("source-read", _read)
    return {"parallel_read_safe": True}


def _read(app, docname: str, source: list[str]) -> None:
    if "/" not in docname:  # generated pages already have links of the site
        source[0] = on_the_site(source[0])


def on_the_site(text: str) -> str:
    """The text of a page, with links to pages of the site in place of links to the repository.

    A link stays unchanged if the site has no such page. If the text of a link is the id of a statement, the new link
    leads to the statement itself.

    Examples
    --------
    >>> on_the_site("Our [report](../results/lee2020-fig4-paper/REPORT.md).")
    'Our [report](generated/experiments/lee2020-fig4-paper.md).'
    >>> on_the_site("[lee2020:eq5](../nfa/papers/lee2020/statements.toml)")
    '{ref}`lee2020:eq5 <lee2020-eq5>`'
    """
    return LINK.sub(_link, text)


def _link(found: re.Match) -> str:
    words, target = found.groups()
    if STATEMENT.fullmatch(words) and any(re.fullmatch(one, target) for one, _ in (STATEMENTS, ELSEWHERE)):
        return link(words, ledger.find(words).id)
    if its := SET.fullmatch(target):
        return f"{{ref}}`{words} <{its[1].replace('_', '-')}>`"
    for named, page in PAGES:
        if its := re.fullmatch(named, target):
            return f"[{words}]({its.expand(page)})"
    return found[0]
