"""Which theorem counts what: the table of (sampling, adjacency, law), and the refusal of all that is not in it."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nfa import require
from nfa.mechanism import ADJACENCIES, SCHEMES, Classic, Mechanism, NoGuarantee, Release
from nfa.privacy import rdp, sampled_gaussian, subsampling
from nfa.privacy.gaussians import check_noise

# What an adjacency protects, and what a scheme does, in words for reports.
# Source: [lee2020:adjacency] [ohana2021:def2.1]
ADJACENCY_MEANS = {
    "replace-one": "neighbouring data sets have the same size and differ in one record, whose values may be anything",
    "add-remove": "neighbouring data sets differ by the presence of one record; their sizes differ by one",
    "replace-label": "neighbouring data sets differ in the label of one record; its inputs are not protected",
}
SAMPLING_MEANS = {
    "none": "every step sees all records",
    "epoch-partition": "every epoch cuts a fresh shuffle into batches, and each record is in at most one of them",
    "without-replacement": "every step draws a fresh batch of exactly m of the n records, uniformly",
    "poisson": "every step takes each record with probability q, independently; batch sizes vary",
}


@dataclass(frozen=True)
class Bound:
    """One theorem: the schemes, adjacencies and laws that it covers, and what it says.

    Parameters
    ----------
    id : str, ledger id
    samplings, adjacencies, laws : tuples of the names covered
    integers : whether it needs integer orders
    says : str, one sentence
    """

    id: str
    samplings: tuple[str, ...]
    adjacencies: tuple[str, ...]
    laws: tuple[str, ...]
    integers: bool
    says: str


_EVERY = (SCHEMES, ADJACENCIES)
_WITHOUT = (("without-replacement",), ("replace-one",))
_POISSON = (("poisson",), ("add-remove",))
_ANY_LAW = ("gaussian", "laplace", "classic")

# The first that covers a release is the default of the papers' items, which name their conversion; it is below those
# after it at every order, but for the one that has more orders: see `smallest`. The last two ignore the sampling, see
# `_NEVER` and `_ON_REQUEST`.
BOUNDS = (
    Bound("wbk2019:thm27", *_WITHOUT, ("gaussian",), True, "batches without replacement, the bound for Gaussian noise"),
    Bound("wbk2019:thm9", *_WITHOUT, _ANY_LAW, True, "batches without replacement, the bound for any mechanism"),
    Bound("lee2020:lem3", *_WITHOUT, _ANY_LAW, True, "batches without replacement, the bound for any mechanism"),
    Bound("berthier2019:thm3.2", *_WITHOUT, _ANY_LAW, True, "batches without replacement, a weaker form of the bound"),
    Bound("lee2020:fn1", *_POISSON, ("gaussian",), True, "Poisson batches, the exact curve for Gaussian noise"),
    Bound("mironov2019:sec3.3", *_POISSON, ("gaussian",), False, "Poisson batches, the exact curve at all real orders"),
    Bound("mironov2019:thm11", *_POISSON, ("gaussian",), False, "Poisson batches, the closed form for Gaussian noise"),
    Bound("zhuwang2019:thm5", *_POISSON, _ANY_LAW, True, "Poisson batches, the bound for any mechanism"),
    Bound("lee2020:lem1", *_EVERY, ("gaussian",), False, "Gaussian noise, every use of a record counted in full"),
    Bound("berthier2019:prop2.1", *_EVERY, ("laplace",), False, "Laplace noise, every use of a record counted in full"),
)

# Adding a record changes n, and with it every batch of a scheme whose batches have a fixed size: nothing is covered.
_NEVER = {
    ("epoch-partition", "add-remove"): (
        "dpulr2024:L249",
        "shuffled batches of a fixed size have no theorem for a record added or removed; count replace-one, with the "
        "sensitivity to a replaced record, or draw Poisson batches",
    ),
    ("without-replacement", "add-remove"): (
        "wbk2019:thm9",
        "the theorems on batches without replacement are for one record replaced; count replace-one, with the "
        "sensitivity to a replaced record, or draw Poisson batches",
    ),
}
# Only the bounds that ignore the sampling hold here, and none is chosen unasked: it would look like amplification.
_ON_REQUEST = {
    ("poisson", "replace-one"): (
        "lee2020:fn1",
        "the theorems on Poisson batches are for a record added or removed; count add-remove, or ask for the bound "
        "{base}, which leaves the sampling out",
    ),
    ("poisson", "replace-label"): (
        "lee2020:fn1",
        "the theorems on Poisson batches are for a record added or removed, not for a label replaced; count "
        "add-remove, or ask for the bound {base}, which leaves the sampling out",
    ),
    ("without-replacement", "replace-label"): (
        "wbk2019:thm9",
        "the proof compares batches that differ in a whole record, so a label's sensitivity is not enough; count "
        "replace-one, or ask for the bound {base}, which leaves the sampling out",
    ),
}


def refuse_conjecture(bound: str | None) -> None:
    """Raise NoGuarantee if the bound that is asked for is a conjecture.

    Source: [berthier2019:conj1] [berthier2019:conj2]
    """
    if bound in ("berthier2019:conj1", "berthier2019:conj2"):
        raise NoGuarantee(
            bound,
            "a conjecture is no theorem; without a bound, shuffled batches count as one full release an epoch, and "
            "nfa.papers.berthier2019.shuffling.our_bound has what our own, unreviewed proof gives for batches of one",
        )


def says(bound: str) -> str:
    """The sentence of a bound, by its id; of a Classic's own curve, that it leaves the sampling out."""
    return next((b.says for b in BOUNDS if b.id == bound), "every use of a record counted in full")


def base_bound(release: Release) -> Bound:
    """The bound that leaves the sampling out, which holds whenever any does."""
    if isinstance(release, Classic):
        return Bound(release.id, *_EVERY, ("classic",), False, "every use of a record counted in full")
    return next(b for b in BOUNDS if (b.samplings, b.adjacencies) == _EVERY and release.law in b.laws)


def choose(release: Release, bound: str | None = None) -> Bound:
    """The theorem that counts a release: the one named, or the default; a refusal where there is none.

    Source: [lee2020:acct] [dpulr2024:L249]

    Parameters
    ----------
    release : Mechanism or Classic
    bound : str, a ledger id out of `BOUNDS` or a Classic's own; None: the default

    Raises
    ------
    ValueError : if the release is neither a Mechanism nor a Classic, or no bound has this name
    NoGuarantee : if the bound named, or every bound, does not cover the release, or a conjecture is named; the sentence
        says what would

    Examples
    --------
    >>> choose(Mechanism(law="gaussian", sensitivity=1.0, adjacency="replace-one", noise_std=2.0,
    ...                  sampling="without-replacement", sampling_rate=0.01)).id
    'wbk2019:thm27'
    """
    if not isinstance(release, Mechanism | Classic):
        raise ValueError(f"an accountant counts Mechanisms and Classics, got {release!r}; ask the rule's mechanism()")
    base, pair = base_bound(release), (release.sampling, release.adjacency)
    named = {b.id: b for b in (*BOUNDS, base)}
    refuse_conjecture(bound)
    if bound is not None:
        require.one_of(named, bound=bound)
    if bound is not None and bound != base.id:
        _refuse_unless_covered(named[bound], release, base)
    if pair in _NEVER:
        raise NoGuarantee(*_NEVER[pair])
    if bound is not None:
        return named[bound]
    if pair in _ON_REQUEST:
        id_, why = _ON_REQUEST[pair]
        raise NoGuarantee(id_, why.format(base=base.id))
    return next((b for b in BOUNDS if _covers(b, release)), base)


def smallest(release: Release, bound: str | None = None) -> Bound:
    """`choose`, but for the bound that has the same curve at more orders, where none is named."""
    chosen = choose(release, bound)
    if bound is None and chosen.id == "lee2020:fn1":
        return choose(release, "mironov2019:sec3.3")
    return chosen


def _covers(bound: Bound, release: Release) -> bool:
    fits = release.sampling in bound.samplings and release.adjacency in bound.adjacencies
    return fits and release.law in bound.laws


def _refuse_unless_covered(bound: Bound, release: Release, base: Bound) -> None:
    if release.sampling not in bound.samplings:
        id_ = "dpulr2024:L249" if release.sampling == "epoch-partition" else bound.id
        raise NoGuarantee(
            id_,
            f"{bound.id} is for {bound.samplings[0]} batches, and these are drawn by {release.sampling}; draw them as "
            f"the theorem says, or count with a bound for {release.sampling}",
        )
    if release.adjacency not in bound.adjacencies:
        raise NoGuarantee(
            bound.id,
            f"{bound.id} is for {bound.adjacencies[0]} neighbours, and the sensitivity is that under "
            f"{release.adjacency}; give the sensitivity under {bound.adjacencies[0]}",
        )
    if release.law not in bound.laws:
        raise NoGuarantee(
            bound.id,
            f"{bound.id} is for {bound.laws[0]} noise, and this release is {release.law}; take a bound for any "
            f"mechanism, or {base.id}",
        )


def one_step(release: Release, orders: np.ndarray, bound: Bound) -> np.ndarray:
    """Renyi curve of one step: the bound, or the curve without sampling where that is smaller.

    Source: [lee2020:acct] [lee2020:def3] [ohana2021:def2.4] [berthier2019:lem3.1] [dpulr2024:def3]

    Parameters
    ----------
    release : Mechanism or Classic
    orders : (k,) array of orders > 1
    bound : Bound, from `choose`

    Returns
    -------
    rdp : (k,) array, nats; neighbours' divergences are at most this in either order of the two

    Notes
    -----
    The curve without sampling holds for random batches too: e^{(alpha - 1) D_alpha} is jointly convex, and given the
    batches the two laws are equal or those of neighbours.

    Examples
    --------
    At q = 0.9 the bound for any mechanism is above the curve without sampling, alpha / (2 z^2).

    >>> m = Mechanism(law="gaussian", sensitivity=1.0, adjacency="replace-one", noise_std=5.0,
    ...               sampling="without-replacement", sampling_rate=0.9)
    >>> one_step(m, np.array([2.0]), choose(m)).tolist()
    [0.04]
    """
    curve, at_infinity = _curve(release)
    base = curve(orders)
    q = release.sampling_rate
    match bound.id:
        case "wbk2019:thm27":
            z = _noise_multiplier(release)
            amplified = subsampling.without_replacement_gaussian(orders, sampling_rate=q, noise_multiplier=z)
        case "wbk2019:thm9" | "lee2020:lem3":
            amplified = subsampling.without_replacement(
                orders, sampling_rate=q, curve=curve, epsilon_infinity=at_infinity
            )
        case "berthier2019:thm3.2":
            amplified = subsampling.without_replacement_berthier(orders, sampling_rate=q, curve=curve)
        case "lee2020:fn1":
            z = _noise_multiplier(release)
            amplified = subsampling.poisson_gaussian(orders, sampling_rate=q, noise_multiplier=z)
        case "mironov2019:sec3.3":
            z = _noise_multiplier(release)
            amplified = sampled_gaussian.poisson_gaussian_at_any_order(orders, sampling_rate=q, noise_multiplier=z)
        case "mironov2019:thm11":
            z = _noise_multiplier(release)
            amplified = subsampling.poisson_gaussian_closed_form(orders, sampling_rate=q, noise_multiplier=z)
        case "zhuwang2019:thm5":
            amplified = subsampling.poisson(orders, sampling_rate=q, curve=curve)
        case _:
            amplified = base
    return np.minimum(amplified, base)


def one_step_everywhere(release: Release, orders: np.ndarray, bound: Bound) -> np.ndarray:
    """`one_step`, where a theorem for integers is asked at 2 .. 256, and the curve without sampling holds at others."""
    if not bound.integers:
        return one_step(release, orders, bound)
    curve = one_step(release, orders, base_bound(release))
    covered = np.isin(orders, rdp.INTEGER_ORDERS)
    curve[covered] = one_step(release, orders[covered], bound)
    return curve


def epsilon_infinity(release: Release) -> float:
    """The epsilon of pure differential privacy of one release without sampling; inf if it has none."""
    return _curve(release)[1]


def _noise_multiplier(release: Release) -> float:
    assert isinstance(release, Mechanism), "a bound for Gaussian noise covers no mechanism known by its curve"
    return release.noise_multiplier


def _curve(release: Release) -> tuple[Callable[[np.ndarray], np.ndarray], float]:
    """The Renyi curve of one release without sampling, and its epsilon at infinity."""
    if isinstance(release, Classic):
        return release.curve, release.epsilon_infinity
    z = release.noise_multiplier
    check_noise(z)
    if release.law == "gaussian":
        return lambda orders: rdp.gaussian(orders, noise_multiplier=z), math.inf
    scale = z / math.sqrt(2)  # a Laplace law of scale b has the standard deviation b sqrt(2)
    return lambda orders: rdp.laplace(orders, scale=scale), 1 / scale
