"""The audits of `nfa audit` by name: the audits that the papers' headers declare, and the audit of DP-SGD."""

from nfa import ledger, require
from nfa.audit import dp_sgd
from nfa.audit.reports import Target
from nfa.papers.index import loaded

_TARGETS: list[Target] = [
    loaded(place, f"[paper.{paper}] audits")
    for paper in [*ledger.documents(), ledger.OURS]
    for place in ledger.header(paper).audits
]
TARGETS: dict[str, Target] = {target.name: target for target in [*_TARGETS, dp_sgd.TARGET]}


def find(name: str) -> Target:
    """The audit with this name. An alias, or any name that the ledger has for the audited statement, also works.

    Raises
    ------
    ValueError : if there is no such audit; the message lists the audits
    """
    try:
        wanted = {name.strip().lower(), ledger.find(name).id}
    except ValueError:
        wanted = {name.strip().lower()}
    for target in TARGETS.values():
        if wanted & {target.name, *target.aliases}:
            return target
    close = require.meant(name, TARGETS)
    raise ValueError(f"there is no audit of {name!r}. The audits are {', '.join(TARGETS)}{close}")
