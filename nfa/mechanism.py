"""What one step of a rule releases: the meeting point of rules, which know it, and accountants, which count it."""

import math
from dataclasses import dataclass

from nfa import require

LAWS = ("gaussian", "laplace")
ADJACENCIES = ("replace-one", "add-remove", "replace-label")
SCHEMES = ("none", "epoch-partition", "without-replacement", "poisson")  # those that a theorem can speak of
REJECTION = "poisson-rejection"  # that of `PoissonRejection`, which no theorem here counts


class NoGuarantee(Exception):
    """Raised where no theorem supports a privacy statement.

    Parameters
    ----------
    id : str, the ledger id of the statement that says why
    why : str, one sentence
    """

    def __init__(self, id: str, why: str) -> None:
        super().__init__(f"no privacy guarantee: {why} [{id}]")
        self.id, self.why = id, why

    def __reduce__(self):  # a worker process hands the exception on by pickling it
        return NoGuarantee, (self.id, self.why)


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """A sum of per-record terms with noise of one law added: everything a privacy theorem needs to know of one step.

    Source: [lee2020:def4] [lee2020:dp-mechanism]

    Parameters
    ----------
    law : "gaussian" (sensitivity in l2) or "laplace" (sensitivity in l1)
    sensitivity : float > 0, how far one change under the adjacency moves the released value before noise
    adjacency : "replace-one", "add-remove" or "replace-label"; never defaulted
    noise_std : float > 0, standard deviation of the noise on each released coordinate, in the same units
    sampling : one of `SCHEMES`
    sampling_rate : float in (0, 1], expected share of the records in one batch; 1 for sampling "none"

    Raises
    ------
    ValueError : if a field is out of range or not one of the names above

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
        require.one_of(SCHEMES, sampling=self.sampling)
        require.positive(sensitivity=self.sensitivity, noise_std=self.noise_std)
        if not 0 < self.noise_multiplier < math.inf:
            raise ValueError(
                "noise_std / sensitivity must be positive and finite,"
                f" got {self.noise_std} / {self.sensitivity} = {self.noise_multiplier}"
            )
        if not 0 < self.sampling_rate <= 1 or (self.sampling == "none" and self.sampling_rate != 1):
            raise ValueError(
                "sampling_rate must be in (0, 1], and 1 for sampling 'none', "
                f"got {self.sampling_rate} for {self.sampling!r}"
            )

    @property
    def noise_multiplier(self) -> float:
        """noise_std / sensitivity under the named adjacency."""
        return self.noise_std / self.sensitivity
