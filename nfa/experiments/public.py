"""The facts about a run's data that are public before its first step. These facts are declared, not computed from data.

If a run is secure or nfa computes its epsilon, the run promises a guarantee for its training examples. So its classes
and its number of records must be declared, by the registry of data sets or by the settings ``classes`` and ``records``.
The normaliser, the sampling rate and the number of steps follow from the number of records. If neighbours have the same
number of records, nfa may instead count the records in the file.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass

from nfa import data
from nfa.data.transforms import held_out
from nfa.experiments.settings import Settings
from nfa.experiments.wording import KEYWORDS, OPTIONS, Wording
from nfa.mechanism import ADJACENCIES, NUMBER_DIFFERS, Release
from nfa.sampling import most_records

IN_MEMORY = "data in memory"  # name of a data set that is not in a file


@dataclass(frozen=True)
class Sizes:
    """The public numbers of examples: N for training, and the number of examples held out of the training set."""

    N: int
    held: int


def hides(settings: Settings) -> bool:
    """Whether a run promises a guarantee for its training examples: it is secure, or nfa computes its epsilon."""
    counted = (settings.adjacency, settings.delta, settings.target_epsilon, settings.noise_multiplier)
    return bool(settings.secure) or any(asked is not None for asked in counted)


def words_of(settings: Settings) -> Wording:
    """The form of settings in messages to the user: options or, for data in memory, keywords of Python."""
    return KEYWORDS if settings.dataset == IN_MEMORY else OPTIONS


def standardises(settings: Settings, adjacency: str | None) -> bool:
    """Whether the scale of the pixels depends on training examples in which neighbours may differ."""
    return settings.pixels == "standard" and adjacency != "replace-label"


def undeclared(settings: Settings, words: Wording = OPTIONS) -> list[str]:
    """The missing declarations with their meanings. nfa must not compute these public facts from the data."""
    own = data.is_own(settings.dataset) or settings.dataset == IN_MEMORY
    if not (own and hides(settings)):
        return []
    missing = []
    if settings.classes is None:
        missing.append(f"{words.setting('classes')} (the names a,b,c, or a number K for the labels 0 to K-1)")
    if settings.records is None and settings.adjacency in NUMBER_DIFFERS:
        missing.append(f"{words.setting('records', 'N')} (the public number of training records)")
    return missing


def refuse_undeclared(settings: Settings, words: Wording = OPTIONS) -> None:
    """Raise ValueError if a run that is secure, or whose epsilon is computed, lacks a declaration."""
    if missing := undeclared(settings, words):
        what = "data" if settings.dataset == IN_MEMORY else "file"
        said = f"a secure run, or a run with an epsilon, must not read public settings from your own {what}, because"
        said += f" its records are private: give {' and '.join(missing)}"
        if settings.records is None and settings.adjacency in NUMBER_DIFFERS:
            *others, last = [name for name in ADJACENCIES if name not in NUMBER_DIFFERS]
            same = f"{words.setting('adjacency', ', '.join(others))} or {last}"
            said += f". With {same}, neighbours have the same number of records, so you then need not give this number"
        raise ValueError(said)


def load(settings: Settings, read: Callable[..., data.Dataset] = data.load) -> data.Dataset:
    """Load the data of a run, and declare its classes if this is needed.

    ``read`` is `nfa.data.load` or a version with a cache.

    Raises
    ------
    ValueError : as `nfa.data.load`; if a run that is secure, or whose epsilon is computed, lacks a declaration; if a
        file has no test set, and the settings neither name a test set nor hold examples out; or if ``records`` is given
        for a data set of the registry
    nfa.data.DataUnavailable : as `nfa.data.load`
    """
    refuse_undeclared(settings)
    own = {name: value for name in ("classes", "test") if (value := getattr(settings, name)) is not None}
    dataset = read(settings.dataset, settings.data_dir, unsplit=True, **own)
    if dataset.unsplit and settings.dataset != IN_MEMORY and not settings.validation:
        remedy = (
            "give a file with a public test set (--test FILE), because a secure run holds no examples out"
            if settings.secure
            else "give a file with a test set (--test FILE), or hold examples out, for example with --validation 0.2"
        )
        raise ValueError(f"{os.path.basename(settings.dataset)} has no test set: {remedy}")
    if dataset.unsplit and not settings.tested:
        raise ValueError(f"{os.path.basename(settings.dataset)} has no test set: leave out `tested`")
    if settings.records is not None and dataset.records is not None:
        raise ValueError(
            f"the setting `records` applies only to your own file, but {settings.dataset} declares its number of"
            " records: leave out `records`"
        )
    return dataset


def sizes(settings: Settings, declared: int | None, found: int) -> Sizes:
    """The public numbers of examples of a run.

    Source: [ours:public-number]

    Parameters
    ----------
    settings : settings of the run
    declared : number of training records in the registry; None for a file of the user
    found : number of training records in the file

    Raises
    ------
    ValueError : if the settings ask for more examples than there are; if neighbours have the same number of records,
        and ``records`` is not the number in the file; if ``validation`` leaves a part empty; or if the file of a secure
        run has more records than `nfa.sampling.most_records`

    Notes
    -----
    Suppose that the adjacency is in `nfa.mechanism.NUMBER_DIFFERS`, and that the number of records is declared or
    given. Then no result depends on ``found``. Only one error depends on ``found``: the error for a file with more
    records than `nfa.sampling.most_records`.
    """
    n = found
    if settings.adjacency in NUMBER_DIFFERS:
        n = declared or settings.records or found
    elif settings.records not in (None, found):
        raise ValueError(
            f"`records` must be {found}, the number of training records in {settings.dataset}, got {settings.records}:"
            f" leave out `records`, or give {found}"
        )
    if settings.secure and found > most_records(n):
        raise ValueError(
            f"a secure run can use at most {most_records(n):,} training records (the larger of 2^20 and twice the"
            " public number of records), but the file has more records"
        )
    try:
        held = held_out(n, settings.validation) if settings.validation else 0
    except ValueError as refusal:
        raise ValueError(f"validation: {refusal}") from None
    N = n - held
    if settings.train_examples is not None:
        if settings.train_examples > N:
            raise ValueError(f"train_examples must be at most the {N} training examples, got {settings.train_examples}")
        N = settings.train_examples
    return Sizes(N, held)


def check_adjacency(settings: Settings, mechanism: Release | None, declared: int | None) -> None:
    """Raise ValueError if a rule from outside chooses an adjacency for which the number of records must be given."""
    if mechanism is None or settings.adjacency is not None or declared is not None or not hides(settings):
        return
    if mechanism.adjacency in NUMBER_DIFFERS:
        raise ValueError(
            f"nfa computes the epsilon of rule {settings.rule} under {mechanism.adjacency}: give --adjacency"
            f" {mechanism.adjacency} and --records N, the public number of training records"
        )
