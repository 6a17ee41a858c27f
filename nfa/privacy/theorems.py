"""The table of theorems by (sampling, adjacency, law), and the refusal of all cases that are not in the table."""

from importlib import import_module

import numpy as np

from nfa import require
from nfa.mechanism import NUMBER_DIFFERS, Classic, Mechanism, NoGuarantee, Release
from nfa.privacy import rdp
from nfa.privacy.coverage import Bound, Coverage, PureBound, unsampled, unsampled_curve
from nfa.privacy.in_full import IN_FULL, SAYS
from nfa.sampling import SAMPLERS, SCHEMES

# For each adjacency, the definition of neighbours that reports print.
# Source: [lee2020:adjacency] [ohana2021:def2.1] [ours:zero-out]
ADJACENCY_MEANS = {
    "replace-one": "neighbouring data sets have the same size and differ in one record, which may have any values",
    "add-remove": "neighbouring data sets differ by the presence of one record, so their sizes differ by one",
    "zero-out": (
        "neighbouring data sets have the same size and differ in one record, which in one of the two data sets adds "
        "exactly 0 to every sum"
    ),
    "replace-label": "neighbouring data sets differ in the label of one record, so the inputs are not protected",
}


def _declared() -> dict[str, Coverage]:
    """The coverage of every scheme, from the modules that the samplers name.

    Source: [ours:public-number]

    Raises ValueError if a scheme has no coverage, or if it covers neighbours with different numbers of records although
    its batches depend on n.
    """
    modules = dict.fromkeys(SAMPLERS[scheme].theorems for scheme in SCHEMES)
    found = [one for name in modules for one in import_module(f"nfa.privacy.{name}").COVERAGE]
    by_scheme = {one.sampling: one for one in found}
    if missing := [scheme for scheme in SCHEMES if scheme not in by_scheme]:
        raise ValueError(
            f"nfa.privacy.{SAMPLERS[missing[0]].theorems} has no Coverage for the sampling scheme {missing[0]}"
        )
    for scheme in SCHEMES:
        one = by_scheme[scheme]
        counted = [name for name in NUMBER_DIFFERS if name not in one.refused or name in one.in_full]
        if SAMPLERS[scheme].reads_n and counted:
            raise ValueError(
                f"the Coverage of {scheme} must refuse {counted[0]}, because one more record changes the batches "
                f"of the other records: refuse {counted[0]}, or declare reads_n = False in the sampler"
            )
    return {scheme: by_scheme[scheme] for scheme in SCHEMES}


COVERAGE = _declared()
BOUNDS = (*(bound for one in COVERAGE.values() for bound in one.bounds), *IN_FULL)


def refuse_conjecture(bound: str | None) -> None:
    """Raise NoGuarantee if the requested bound is a conjecture.

    Source: [berthier2019:conj1] [berthier2019:conj2]
    """
    if bound in ("berthier2019:conj1", "berthier2019:conj2"):
        raise NoGuarantee(
            bound,
            "a conjecture is not a theorem. Without a named bound, nfa counts one full release for each epoch of "
            "shuffled batches. For batches of one record, nfa.papers.berthier2019.shuffling.our_bound computes "
            "the bound of our own, unreviewed proof",
        )


def says(bound: str) -> str:
    """The sentence about a bound with a given id.

    For a Classic's own curve, the sentence states that every use of a record is counted in full.
    """
    return next((b.says for b in _stated() if b.id == bound), SAYS)


def formula(bound: str) -> tuple[str, ...]:
    """The lines with the equation of a bound with a given id; () for a Classic's own curve."""
    return next((b.formula for b in _stated() if b.id == bound), ())


def amplifies(bound: str) -> bool:
    """Whether the bound with a given id uses the sampling."""
    return bound not in {b.id for b in IN_FULL}


def _stated() -> list[Bound | PureBound]:
    return [*BOUNDS, *(pure for one in COVERAGE.values() for pure in one.pure)]


def base_bound(release: Release) -> Bound:
    """The bound that ignores the sampling."""
    if isinstance(release, Classic):
        laws = (release.law,)
        return Bound(id=release.id, samplings=SCHEMES, laws=laws, integers=False, says=SAYS, curve=unsampled_curve)
    return next(b for b in IN_FULL if release.law in b.laws)


def choose(release: Release, bound: str | None = None) -> Bound:
    """The theorem for a release: the named theorem, or the default theorem. Raises NoGuarantee if there is none.

    Source: [lee2020:acct] [dpulr2024:L249]

    Parameters
    ----------
    release : Mechanism or Classic
    bound : str, a ledger id from `BOUNDS` or the id of a Classic's own curve; None: the default

    Raises
    ------
    ValueError : if the release is neither a Mechanism nor a Classic, or if no bound has this name
    NoGuarantee : if the named bound, or every bound, does not cover the release, or if a conjecture is named. The
        message names the bounds or settings that are covered

    Examples
    --------
    >>> choose(Mechanism(law="gaussian", sensitivity=1.0, adjacency="replace-one", noise_std=2.0,
    ...                  sampling="without-replacement", sampling_rate=0.01)).id
    'wbk2019:thm27'
    """
    if not isinstance(release, Mechanism | Classic):
        raise ValueError(f"an accountant needs a Mechanism or a Classic, got {release!r}: call mechanism() of the rule")
    base, coverage = base_bound(release), COVERAGE[release.sampling]
    named = {b.id: b for b in (*BOUNDS, base)}
    refuse_conjecture(bound)
    if bound is not None:
        require.one_of(named, bound=bound)
    if bound is not None and bound != base.id:
        _refuse_unless_covered(named[bound], release, base)
    refused = release.adjacency in coverage.refused
    if refused and (bound is None or release.adjacency not in coverage.in_full):
        id_, why = coverage.refused[release.adjacency]
        raise NoGuarantee(id_, why.format(base=base.id))
    chosen = next((b for b in coverage.bounds if _covers(b, release)), base) if bound is None else named[bound]
    if chosen is base and not counts_in_full(release):
        id_ = coverage.bounds[0].id if coverage.bounds else base.id
        raise NoGuarantee(
            id_,
            f"nfa knows no theorem on {release.law} noise with {release.sampling} batches under {release.adjacency}, "
            "with or without amplification by sampling",
        )
    return chosen


def counts_in_full(release: Release) -> bool:
    """Whether every use of a record may be counted in full, as without sampling."""
    return release.adjacency in COVERAGE[release.sampling].in_full


def smallest(release: Release, bound: str | None = None) -> Bound:
    """The bound from `choose` or, if no bound is named, the bound that has the same curve at more orders."""
    chosen = choose(release, bound)
    return choose(release, chosen.finer) if bound is None and chosen.finer else chosen


def _covers(bound: Bound, release: Release) -> bool:
    return release.adjacency in bound.adjacencies and release.law in bound.laws


def _refuse_unless_covered(bound: Bound, release: Release, base: Bound) -> None:
    if release.sampling not in bound.samplings:
        refused = COVERAGE[release.sampling].refused.values()
        id_ = next((of for of, _ in refused), bound.id) if SAMPLERS[release.sampling].once_an_epoch else bound.id
        raise NoGuarantee(
            id_,
            f"{bound.id} covers only {bound.samplings[0]} batches, but the sampling scheme of this release is "
            f"{release.sampling}. Draw {bound.samplings[0]} batches, or use a bound for {release.sampling}",
        )
    if release.adjacency not in bound.adjacencies:
        raise NoGuarantee(
            bound.id,
            f"{bound.id} covers only {' or '.join(bound.adjacencies)} neighbours, but the sensitivity is for "
            f"{release.adjacency}. Give the sensitivity for {' or '.join(bound.adjacencies)}",
        )
    if release.law not in bound.laws:
        raise NoGuarantee(
            bound.id,
            f"{bound.id} covers only {bound.laws[0]} noise, but this release has {release.law} noise. Use a bound for "
            f"any mechanism, or the bound {base.id}",
        )


def one_step(release: Release, orders: np.ndarray, bound: Bound) -> np.ndarray:
    """Renyi curve of one step: the bound or, if it also holds and is smaller, the curve without sampling.

    Source: [lee2020:acct] [lee2020:def3] [ohana2021:def2.4] [berthier2019:lem3.1] [dpulr2024:def3]

    Parameters
    ----------
    release : Mechanism or Classic
    orders : (k,) array of orders > 1
    bound : Bound, from `choose`

    Returns
    -------
    rdp : (k,) array, nats. For all neighbours, the divergences in either order are at most this curve

    Notes
    -----
    The curve without sampling also holds for random batches under two conditions. A record is at most once in a batch,
    and which other records are in the batch does not depend on this record. The reason is that e^{(alpha - 1) D_alpha}
    is jointly convex. Given the batches, the two laws are equal, or they are the laws of a release on neighbouring
    batches. The scheme's `Coverage` lists the adjacencies for which these conditions hold.

    Examples
    --------
    At q = 0.9 the bound with sampling is above the curve without sampling, alpha / (2 z^2).

    >>> m = Mechanism(law="gaussian", sensitivity=1.0, adjacency="replace-one", noise_std=5.0,
    ...               sampling="without-replacement", sampling_rate=0.9)
    >>> one_step(m, np.array([2.0]), choose(m)).tolist()
    [0.04]
    """
    if not bound.amplifies:
        return unsampled_curve(release, orders)
    curve = bound.curve(release, orders)
    return np.minimum(curve, unsampled_curve(release, orders)) if counts_in_full(release) else curve


def one_step_everywhere(release: Release, orders: np.ndarray, bound: Bound) -> np.ndarray:
    """The result of `one_step`, but at all orders.

    A theorem for integers is used at the orders 2 to 256. At the other orders, the result is the curve without
    sampling, or inf if this curve does not hold.
    """
    if not bound.integers:
        return one_step(release, orders, bound)
    curve = unsampled_curve(release, orders) if counts_in_full(release) else np.full(orders.shape, np.inf)
    covered = np.isin(orders, rdp.INTEGER_ORDERS)
    curve[covered] = one_step(release, orders[covered], bound)
    return curve


def epsilon_infinity(release: Release) -> float:
    """The epsilon of pure differential privacy of one release without sampling; inf if the release has none."""
    return unsampled(release)[1]
