"""The release of one step of a rule. A rule declares this release, and an accountant computes its epsilon."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from nfa import require
from nfa.sampling import ALL_RECORDS, SAMPLERS, SCHEMES

LAWS = ("gaussian", "laplace")
ADJACENCIES = ("replace-one", "add-remove", "zero-out", "replace-label")
OF_LABELS = ("replace-label",)  # neighbours differ in a label, and their inputs are public
NUMBER_DIFFERS = ("add-remove",)  # neighbours differ in their number of records, so this number is not public


class NoGuarantee(Exception):
    """Raised if no theorem supports a privacy statement.

    Parameters
    ----------
    id : str, the ledger id of the statement with the reason
    why : str, one sentence
    """

    def __init__(self, id: str, why: str) -> None:
        super().__init__(f"no privacy guarantee: {why} [{id}]")
        self.id, self.why = id, why

    def __reduce__(self):  # a worker process passes the exception on by pickling it
        return NoGuarantee, (self.id, self.why)


def refuse_uncounted(sampling: str) -> None:
    """Raise NoGuarantee for a sampler that no theorem covers."""
    if sampling in SAMPLERS and sampling not in SCHEMES:
        raise NoGuarantee(*SAMPLERS[sampling].refused)


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """A sum of one term per record, with added noise. The fields contain all facts that a theorem needs.

    Source: [lee2020:def4] [lee2020:dp-mechanism]

    Parameters
    ----------
    law : "gaussian" (sensitivity in l2) or "laplace" (sensitivity in l1)
    sensitivity : float > 0, largest change of the released value before noise from one change under the adjacency
    adjacency : one of `ADJACENCIES`. `nfa.privacy.theorems.ADJACENCY_MEANS` explains them. There is no default
    noise_std : float > 0, standard deviation of the noise on each released coordinate, in the same units
    sampling : the scheme of a sampler that a theorem covers (see `nfa.sampling.SAMPLERS`)
    sampling_rate : float in (0, 1], expected share of the records in one batch. It is 1 for sampling "none"

    Raises
    ------
    ValueError : if a field is out of range or is not one of the names above
    NoGuarantee : for a sampling that no theorem covers

    Notes
    -----
    The sensitivity of a rule is proved for real numbers, but a run computes in floats. A secure run computes in
    float64. The sensitivity of a secure run includes the effect of rounding (see `nfa.sensitivity.rounding`). In a
    secure run, the passes of an example through the network are bitwise identical in every batch.

    A seeded run is not private, and its sensitivity is that of real numbers. Its bounds on norms hold up to rounding.
    For example, in float32 a record with ten million inputs can exceed the bound by half a percent. In batches of
    different sizes, linear algebra may round the passes of the same example differently. A derivative, a ternary error
    or the output of a camera can jump, as the derivative of ReLU does at 0. At such a jump, a small difference from
    rounding can change the whole term of the example.

    If a value overflows the dtype, it is not finite and is replaced by 0.

    Examples
    --------
    >>> Mechanism(law="gaussian", sensitivity=0.5, adjacency="replace-one", noise_std=1.0,
    ...           sampling="none", sampling_rate=1.0).noise_multiplier
    2.0
    """

    law: str
    sensitivity: float
    adjacency: str
    noise_std: float
    sampling: str
    sampling_rate: float

    def __post_init__(self) -> None:
        require.one_of(LAWS, law=self.law)
        require.one_of(ADJACENCIES, adjacency=self.adjacency)
        refuse_uncounted(self.sampling)
        require.one_of(SCHEMES, sampling=self.sampling)
        require.positive(sensitivity=self.sensitivity, noise_std=self.noise_std)
        if not 0 < self.noise_multiplier < math.inf:
            raise ValueError(
                "noise_std / sensitivity must be positive and finite,"
                f" got {self.noise_std} / {self.sensitivity} = {self.noise_multiplier}"
            )
        if not 0 < self.sampling_rate <= 1 or (self.sampling in ALL_RECORDS and self.sampling_rate != 1):
            raise ValueError(
                "sampling_rate must be in (0, 1], and must be 1 if sampling is 'none', got "
                f"sampling_rate={self.sampling_rate} and sampling={self.sampling!r}"
            )

    @property
    def noise_multiplier(self) -> float:
        """noise_std / sensitivity, under the mechanism's adjacency."""
        return self.noise_std / self.sensitivity


@dataclass(frozen=True, kw_only=True)
class Classic:
    """A mechanism that is given by its Renyi curve, such as randomised response.

    Parameters
    ----------
    id : str, ledger id of the statement with the curve
    curve : function, orders (k,) -> nats (k,), the curve of one release without sampling under the adjacency
    adjacency, sampling, sampling_rate : as in `Mechanism`
    epsilon_infinity : float >= 0, the epsilon of pure differential privacy; inf if there is none

    Raises
    ------
    ValueError : if a field is out of range or is not one of the names

    Examples
    --------
    >>> Classic(id="berthier2019:rr", curve=lambda a: 0.1 * a, adjacency="replace-one", sampling="none").law
    'classic'
    """

    id: str
    curve: Callable[[np.ndarray], np.ndarray]
    adjacency: str
    sampling: str
    sampling_rate: float = 1.0
    epsilon_infinity: float = math.inf

    def __post_init__(self) -> None:
        Mechanism(  # the constructor checks the three fields that both classes have
            law="gaussian",
            sensitivity=1.0,
            adjacency=self.adjacency,
            noise_std=1.0,
            sampling=self.sampling,
            sampling_rate=self.sampling_rate,
        )
        require.at_least(0, epsilon_infinity=self.epsilon_infinity)

    @property
    def law(self) -> str:
        """The name of the law in the table of theorems."""
        return "classic"


Release = Mechanism | Classic
