"""The classes of the options and of the report of an audit. All targets of `nfa audit` use them."""

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
    """The options that the caller chooses. An audit ignores the options that it does not use.

    Parameters
    ----------
    trials : int >= 1, counted trials in each world of the distinguishing game
    confidence : float in (0, 1), confidence of the lower bound on epsilon
    delta : float in (0, 1), the delta of the claimed and the bounded epsilon
    seed : int >= 0
    data_dir : folder that is searched first for data, as in `nfa.data.load`
    picture : whether to compute also the values that only the picture shows
    progress : function (name, done, all) that receives the progress of each part

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
        """The numbers of runs in the two worlds: the number of trials in the options, but at most the given numbers."""
        return min(self.trials, world_0), min(self.trials, world_1)


@dataclass(frozen=True, kw_only=True)
class Part:
    """A section of a report: a heading, text before a table, the table as texts, and text after the table.

    Parameters
    ----------
    heading : str
    before, after : paragraphs
    columns : headings of the table; () for no table
    rows : tuples of str, one entry for each column
    """

    heading: str
    before: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    after: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Report:
    """The results of an audit.

    Parameters
    ----------
    target : name of the audit
    claimed_epsilon : float >= 0, inf if nothing is claimed
    lower_bound : float >= 0, inf allowed; the true epsilon is at least this bound, with the confidence below
    confidence : float in (0, 1]; 1 for an exactly computed bound
    auc : float in [0, 1], the AUC of the game that gave the lower bound
    delta : float in [0, 1)
    title : str, one line
    parts : the sections of the report, in the printed order
    details : further numbers and texts for `--json`
    drawn : the data of a picture; None if there is no picture
    not_looked_at : phrases, each for a case that the audit has not tested; () if the text of the report names these
        cases
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
        """The numbers of the report, without the sentences."""
        names = ("target", "claimed_epsilon", "lower_bound", "confidence", "auc", "delta", "refuted")
        unseen = {"not_looked_at": list(self.not_looked_at)} if self.not_looked_at else {}
        return {name: getattr(self, name) for name in names} | dict(self.details) | unseen


@dataclass(frozen=True, kw_only=True)
class Target:
    """A target of `nfa audit`.

    Parameters
    ----------
    name : id of the audited statement, or name of the rule
    aliases : other names
    about : description of the target in one line
    audit : function AuditOptions -> Report
    trials : int, counted trials in each world if the caller gives no number
    draw : function (path, report) that writes a picture; None if there is no picture
    """

    name: str
    aliases: tuple[str, ...] = ()
    about: str
    audit: Callable[[AuditOptions], Report]
    trials: int = 1000
    draw: Callable[[Path, Report], None] | None = None
