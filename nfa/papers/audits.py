"""The audits of `nfa audit` by name."""

from collections.abc import Callable
from dataclasses import dataclass

from nfa import ledger
from nfa.audit import dp_sgd
from nfa.audit.reports import AuditOptions, Report
from nfa.papers.dpulr2024 import audit_theorem2, audit_theorem4
from nfa.papers.lee2020 import audit_dp_dfa
from nfa.papers.ohana2021 import audit_columns


@dataclass(frozen=True, kw_only=True)
class Target:
    """An audit.

    Parameters
    ----------
    name : id of the statement that is held against the facts, or name of the rule
    aliases : other names
    about : one line
    audit : function AuditOptions -> Report
    trials : int, counted trials a side where the caller names no number
    picture : whether there is something to draw
    """

    name: str
    aliases: tuple[str, ...] = ()
    about: str
    audit: Callable[[AuditOptions], Report]
    trials: int = 1000
    picture: bool = True


TARGETS = {
    target.name: target
    for target in (
        Target(
            name="ohana2021:prop3-cols",
            aliases=("ohana2021:prop3", "ohana2021:eq17", "pdfa"),
            about="photonic DFA: the privacy claimed of an update, column by column added up",
            audit=audit_columns.audit,
        ),
        Target(
            name=audit_theorem2.NAME,
            aliases=("dp_ulr", "dp-ulr"),
            about="DP-ULR as printed: the privacy claimed of a step, and three attacks",
            audit=audit_theorem2.audit,
            trials=audit_theorem2.TRIALS,
            picture=False,
        ),
        Target(
            name=audit_theorem4.NAME,
            about="sums of Gaussians: the bound claimed of them, in closed form",
            audit=audit_theorem4.audit,
            picture=False,
        ),
        Target(
            name=dp_sgd.NAME,
            aliases=("dp-sgd", "dp_bp", "dp-bp"),
            about="DP-SGD: the accountant's epsilon, on the worst neighbours",
            audit=dp_sgd.audit,
            trials=20_000,
            picture=False,
        ),
        Target(
            name=audit_dp_dfa.NAME,
            aliases=("dp-dfa", "lee2020:sens-total"),
            about="DP-DFA: its overall sensitivity as printed and as corrected",
            audit=audit_dp_dfa.audit,
            trials=6_000,
            picture=False,
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
