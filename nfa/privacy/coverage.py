"""Classes that declare a theorem: the covered cases, the Renyi curve, and the formula as text.

A module of `nfa.privacy` that a sampler names (see `nfa.sampling.Sampler`) has a tuple COVERAGE, with a `Coverage` for
each scheme that its theorems cover. `nfa.privacy.theorems` collects these declarations. The accountants, the refusals
and the output of `nfa epsilon --explain` use them.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nfa.mechanism import ADJACENCIES, Classic, Mechanism, Release
from nfa.privacy import rdp
from nfa.privacy.dominating import DominatingPair, Profile
from nfa.privacy.gaussians import check_noise
from nfa.sampling import SCHEMES

ANY_LAW = ("gaussian", "laplace", "classic")


@dataclass(frozen=True, kw_only=True)
class Bound:
    """One theorem on the Renyi curve of a step.

    Parameters
    ----------
    id : str, ledger id
    samplings, adjacencies, laws : tuples with the names that the theorem covers
    integers : whether the theorem needs integer orders
    says : str, one sentence about the theorem
    curve : function (release, orders (k,)) -> nats (k,), the bound as stated; inf at orders without a bound
    formula : lines with the equation for a terminal, where C(a, l) is a binomial coefficient
    finer : str, id of a bound with the same curve at more orders, which replaces this bound if no bound is named
    """

    id: str
    samplings: tuple[str, ...]
    adjacencies: tuple[str, ...] = ADJACENCIES
    laws: tuple[str, ...] = ANY_LAW
    integers: bool = True
    says: str
    curve: Callable[[Release, np.ndarray], np.ndarray]
    formula: tuple[str, ...] = ()
    finer: str = ""

    @property
    def amplifies(self) -> bool:
        """Whether the bound uses the sampling. A bound that does not use it counts every use of a record in full."""
        return self.samplings != SCHEMES


@dataclass(frozen=True, kw_only=True)
class PureBound:
    """One theorem on the epsilon of pure differential privacy of a step.

    Parameters
    ----------
    id, adjacencies, says, formula : as in `Bound`
    epsilon : function (epsilon without sampling, sampling_rate=q) -> epsilon, rounded up
    """

    id: str
    adjacencies: tuple[str, ...]
    says: str
    epsilon: Callable[..., float]
    formula: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """The theorems on the batches of one sampling scheme, under each adjacency.

    Parameters
    ----------
    sampling : the scheme
    in_full : the adjacencies under which every use of a record may be counted in full, as without sampling. There are
        two conditions. A record is at most once in a batch. Which other records are in the batch does not depend on
        this record
    bounds : the theorems that use the sampling. The first bound that covers a release is the default for tables and
        figures of the papers. At every order, the first bound is at most as large as the later bounds
    pure : the theorems on pure differential privacy that use the sampling, at most one for each adjacency
    refused : {adjacency: (ledger id, reason)}, the cases in which no epsilon is computed unless a bound is named. If
        the adjacency is in `in_full`, you can name the bound without sampling, whose id replaces ``{base}`` in the
        reason. If the adjacency is not in `in_full`, no epsilon is computed in any case
    attained : the adjacencies under which some neighbours attain the dominating pairs, so that no smaller epsilon can
        be proved
    pairs : function (release, law) -> the dominating pairs of one step under the release's adjacency, or None if no
        theorem uses the sampling. `law` is a function from a noise multiplier to the profile of the noise

    Raises
    ------
    ValueError : if an adjacency has no entry
    """

    sampling: str
    in_full: tuple[str, ...]
    bounds: tuple[Bound, ...] = ()
    pure: tuple[PureBound, ...] = ()
    refused: dict[str, tuple[str, str]]
    attained: tuple[str, ...] = ()
    pairs: Callable[[Mechanism, Callable[[float], Profile]], tuple[DominatingPair, ...] | None] | None = None

    def __post_init__(self) -> None:
        said = {*self.in_full, *self.refused, *(name for bound in self.bounds for name in bound.adjacencies)}
        if missing := [adjacency for adjacency in ADJACENCIES if adjacency not in said]:
            raise ValueError(f"the coverage of {self.sampling} has no entry for {missing[0]}: add a bound or a refusal")


def noise_multiplier(release: Release) -> float:
    """The noise multiplier of a release to which a bound for Gaussian noise applies."""
    assert isinstance(release, Mechanism), (
        "a bound for Gaussian noise needs a Mechanism, but this mechanism states only a Renyi curve"
    )
    return release.noise_multiplier


def unsampled(release: Release) -> tuple[Callable[[np.ndarray], np.ndarray], float]:
    """The Renyi curve of one release without sampling, and its epsilon at infinity."""
    if isinstance(release, Classic):
        return release.curve, release.epsilon_infinity
    z = release.noise_multiplier
    check_noise(z)
    if release.law == "gaussian":
        return lambda orders: rdp.gaussian(orders, noise_multiplier=z), math.inf
    scale = z / math.sqrt(2)  # a Laplace law of scale b has the standard deviation b sqrt(2)
    return lambda orders: rdp.laplace(orders, scale=scale), 1 / scale


def unsampled_curve(release: Release, orders: np.ndarray) -> np.ndarray:
    """The Renyi curve of one release without sampling."""
    return unsampled(release)[0](orders)
