"""The audits of `nfa audit` by name."""

from collections.abc import Callable
from dataclasses import dataclass

from nfa import ledger
from nfa.audit import prop3_cols
from nfa.audit.reports import Report, Settings


@dataclass(frozen=True, kw_only=True)
class Target:
    """An audit.

    Parameters
    ----------
    name : id of the statement that is held against the facts, or name of the rule
    aliases : other names
    about : one line
    audit : function Settings -> Report
    """

    name: str
    aliases: tuple[str, ...] = ()
    about: str
    audit: Callable[[Settings], Report]


TARGETS = {
    target.name: target
    for target in (
        Target(
            name="ohana2021:prop3-cols",
            aliases=("ohana2021:prop3", "ohana2021:eq17", "pdfa"),
            about="photonic DFA: the privacy claimed of an update, column by column added up",
            audit=prop3_cols.audit,
        ),
    )
}


def find(name: str) -> Target:
    """The audit of this name, of an alias, or of a statement under any of its names in the ledger.

    Raises
    ------
    ValueError : with the audits there are
    """
    try:
        wanted = {name.strip().lower(), ledger.find(name).id}
    except ValueError:
        wanted = {name.strip().lower()}
    for target in TARGETS.values():
        if wanted & {target.name, *target.aliases}:
            return target
    raise ValueError(f"there is no audit of {name!r}; there is one of {', '.join(TARGETS)}")
