"""What an audit is, is given and hands back, the same for every target of `nfa audit`."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nfa import require
from nfa.audit.bounds import check_levels


def _silent(name: str, done: int, of: int) -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class AuditOptions:
    """What the caller chooses; an audit that has no use for one of them leaves it.

    Parameters
    ----------
    trials : int >= 1, counted trials a side of the distinguishing game
    confidence : float in (0, 1), of the lower bound on epsilon
    delta : float in (0, 1), at which epsilon is claimed and bounded
    seed : int >= 0
    data_dir : folder to look for data in first, as for `nfa.data.load`
    picture : whether to work out also what only the picture shows
    progress : function (name, done, all) that is told how far a part of the work is

    Raises
    ------
    ValueError : if a number is out of range
    """

    trials: int = 1000
    confidence: float = 0.95
    delta: float = 1e-5
    seed: int = 1
    data_dir: str | os.PathLike[str] | None = None
    picture: bool = False
    progress: Callable[[str, int, int], Any] = _silent

    def __post_init__(self) -> None:
        require.whole(1, trials=self.trials)
        check_levels(self.delta, self.confidence)
        if self.delta == 0:
            raise ValueError("delta must be positive, because the claims are converted from Renyi divergences")
        require.whole(0, **{"the seed": self.seed})

    def at_most(self, world_0: int, world_1: int) -> tuple[int, int]:
        """How many runs to play in the two worlds: as many trials as were chosen, and no more than these."""
        return min(self.trials, world_0), min(self.trials, world_1)


@dataclass(frozen=True, kw_only=True)
class Part:
    """One finding: a heading, what is said before the table, the table as texts, and what is said after it.

    Parameters
    ----------
    heading : str
    before, after : paragraphs
    columns : headings of the table; () for none
    rows : tuples of str as long as columns
    """

    heading: str
    before: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Report:
    """What an audit found.

    Parameters
    ----------
    target : name of the audit
    claimed_epsilon : float >= 0, inf where nothing is claimed
    lower_bound : float >= 0, inf allowed; the true epsilon is at least this, with the confidence below
    confidence : float in (0, 1]; 1 for a bound that is worked out exactly
    auc : float in [0, 1] of the game behind the lower bound
    delta : float in [0, 1)
    title : str, one line
    parts : what is printed, in order
    details : what `--json` has besides, numbers and texts
    drawn : what a picture is made from; None where there is none
    not_looked_at : what the verdict says nothing about, a phrase each; () where the target's own text says it
    """

    target: str
    claimed_epsilon: float
    lower_bound: float
    confidence: float
    auc: float
    delta: float
    title: str
    parts: tuple[Part, ...]
    details: Mapping[str, Any] = field(default_factory=dict)
    drawn: Any = field(default=None, repr=False, compare=False)
    not_looked_at: tuple[str, ...] = ()

    @property
    def refuted(self) -> bool:
        """Whether the lower bound is above the claim."""
        return self.lower_bound > self.claimed_epsilon

    def as_json(self) -> dict[str, Any]:
        """The numbers, without the sentences."""
        names = ("target", "claimed_epsilon", "lower_bound", "confidence", "auc", "delta", "refuted")
        unseen = {"not_looked_at": list(self.not_looked_at)} if self.not_looked_at else {}
        return {name: getattr(self, name) for name in names} | dict(self.details) | unseen


@dataclass(frozen=True, kw_only=True)
class Target:
    """What `nfa audit` can audit.

    Parameters
    ----------
    name : id of the statement that is compared with the facts, or name of the rule
    aliases : other names
    about : one line
    audit : function AuditOptions -> Report
    trials : int, counted trials a side where the caller names no number
    draw : function (path, report) that writes a picture; None where there is nothing to draw
    """

    name: str
    aliases: tuple[str, ...] = ()
    about: str
    audit: Callable[[AuditOptions], Report]
    trials: int = 1000
    draw: Callable[[Path, Report], None] | None = None
