"""Sampling of batches. Each scheme has a class, because each theorem of an accountant holds for one scheme only.

A class declares all facts about its scheme that other modules need (see `Sampler`). `SAMPLERS` lists the classes of
this file. ``at(t)`` is a function of the step t = 1, 2, ... and of the streams, so a resumed run gets the same batches.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from nfa import require
from nfa.old_names import old_names

StreamsLike = Callable[[str, int], np.random.Generator]


# The smallest rate of Poisson batches. Probabilities are multiples of 2^-53, so a smaller rate would lose digits.
LEAST_RATE = 2.0**-30

__getattr__ = old_names(__name__, pass_length="records_per_pass")


def most_records(N: int) -> int:
    """The largest number of training records in a secure run: max(2^20, 2 N), for the public number N.

    Neighbours under add-remove have n and n + 1 records, so the number of training records is not public. But an upper
    bound on this number must be public. Some rounding bounds depend on the number of terms of a sum. We prove these
    bounds for sums with at most the number of terms that this function returns.

    Examples
    --------
    >>> most_records(60_000), most_records(1_000_000)
    (1048576, 2000000)
    """
    return max(2**20, 2 * N)


class Rows:
    """Some rows of an array. They are copied only when they are used, because a batch may be processed in parts.

    Parameters
    ----------
    array : the array of the rows
    chosen : (k,) array, indices of the rows

    Examples
    --------
    >>> rows = Rows(np.array([[1.0], [2.0], [3.0]]), np.array([2, 0, 1]))
    >>> len(rows), rows[1:].tolist()
    (3, [[1.0], [2.0]])
    """

    def __init__(self, array: np.ndarray, chosen: np.ndarray) -> None:
        self.array, self.chosen = array, chosen

    def __len__(self) -> int:
        return len(self.chosen)

    def __getitem__(self, some: slice) -> np.ndarray:
        return self.array[self.chosen[some]]


class Sampler:
    """Base class of the schemes, with the checked data and `at`. Each subclass declares the facts about its scheme.

    Attributes
    ----------
    scheme : name of the scheme in settings, in records of runs and in theorems
    batches : name of the scheme's batches in a sentence
    does : description of one step in reports
    batch_is : meaning of the batch size under this scheme, for the help; "" if it is the size of every batch
    options : settings that only this scheme takes, with their meanings
    all_records : whether every record is in every batch. Then the scheme has no batch size, and its rate is 1
    size_varies : whether the size of a batch is random. Then a private rule divides by the expected size
    reads_n : whether one more record in the file changes which of the other records are in the batches. No theorem
        covers such batches under an adjacency of `nfa.mechanism.NUMBER_DIFFERS`. If False, the scheme needs only a
        public number of records
    once_an_epoch : whether a record is in at most one batch of an epoch. Each session of an interrupted run begins a
        fresh epoch, in which the record can occur again. If False, a record can occur at every step
    theorems : the module of `nfa.privacy` with the theorems for this scheme in its COVERAGE; "" if there are none
    refused : if no theorem covers the scheme, the ledger id and the sentence of the refusal
    rate : the probability that a record is in a batch
    steps_per_epoch : expected number of steps until n records have been drawn
    """

    scheme: str
    batches: ClassVar[str]
    does: ClassVar[str]
    batch_is: ClassVar[str] = ""
    options: ClassVar[dict[str, str]] = {}
    all_records: ClassVar[bool] = False
    size_varies: ClassVar[bool] = False
    reads_n: ClassVar[bool] = True
    once_an_epoch: ClassVar[bool] = False
    theorems: ClassVar[str] = ""
    refused: ClassVar[tuple[str, str]] = ("", "")
    rate: float
    steps_per_epoch: int

    def __init__(self, x: np.ndarray, y: np.ndarray) -> None:
        require.pairs(x, y)
        for name, values in (("x", x), ("y", y)):
            if not np.isfinite(values).all():
                raise ValueError(f"{name} holds NaN or infinity in example {_first_bad_row(values)}")
        self.x, self.y, self.n = x, y, len(x)
        self._drawn: tuple[int, np.ndarray] = (0, np.empty(0, int))

    @classmethod
    def of_run(
        cls, x: np.ndarray, y: np.ndarray, streams: StreamsLike, *, batch: int, epochs: int, **options: Any
    ) -> Self:
        """The sampler of a run with this batch size and number of epochs.

        `options` contains the options that the class declares.

        A scheme with `reads_n` False also gets `records`, the public number of records that replaces n.

        Raises ValueError if the settings do not fit the number of records.
        """
        _check_fits(batch, len(x))
        made: Any = cls
        return made(x, y, batch, streams=streams, **options)

    @classmethod
    def rate_of(cls, batch: int, n: int) -> float:
        """The rate for a batch size: the probability that a record is in a batch."""
        return batch / n

    @classmethod
    def steps_of_epoch(cls, batch: int, n: int, **options: Any) -> int:
        """The number of steps in an epoch of n records. The batch size and the options are the arguments of `of_run`.

        A run, the noise for a target epsilon and ``nfa epsilon`` all use this function to compute steps from epochs.
        """
        raise NotImplementedError

    def indices(self, t: int) -> np.ndarray:
        """Indices of the records in the batch of step t >= 1."""
        raise NotImplementedError

    def at(self, t: int) -> tuple[np.ndarray, np.ndarray]:
        """The batch (x, y) of step t >= 1."""
        x, y = self.rows(t)
        return x[:], y[:]

    def rows(self, t: int) -> tuple[Rows, Rows]:
        """The batch (x, y) of step t >= 1, without copying it.

        The last batch is cached, because secure streams cannot draw the same batch twice.
        """
        if t < 1:
            raise ValueError(f"the step t must be at least 1, got t={t}")
        if self._drawn[0] != t:
            self._drawn = t, self.indices(t)
        chosen = self._drawn[1]
        return Rows(self.x, chosen), Rows(self.y, chosen)

    def recorded(self, steps: int) -> dict[str, Any]:
        """The facts about the batches of steps 1 to `steps` in the run's record, by name. Most schemes have none."""
        return {}


def _first_bad_row(values: np.ndarray) -> int:
    return int(np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))[0])


def _check_batch_size(m: int, n: int) -> None:
    if not 1 <= m <= n:
        raise ValueError(f"the batch size m must be between 1 and the number n of examples, got m={m} and n={n}")


def _check_fits(batch: int, n: int) -> None:
    if batch > n:
        raise ValueError(f"batch must be at most the {n} training examples, got {batch}")


class Full(Sampler):
    """Scheme "none": every step uses all the data."""

    scheme, rate, steps_per_epoch = "none", 1.0, 1
    batches = "batches of all records"
    does = "every step sees all records"
    batch_is = "not used"
    all_records = True
    reads_n = False
    theorems = "in_full"

    @classmethod
    def of_run(
        cls, x: np.ndarray, y: np.ndarray, streams: StreamsLike, *, batch: int, epochs: int, **options: Any
    ) -> Self:
        """The sampler of a run. It ignores the streams, the batch size and the number of epochs."""
        return cls(x, y)

    @classmethod
    def steps_of_epoch(cls, batch: int, n: int, **options: Any) -> int:
        """One step."""
        return 1

    def indices(self, t: int) -> np.ndarray:
        """All records, in order."""
        return np.arange(self.n)


class EpochPartition(Sampler):
    """Scheme "epoch-partition": every epoch divides a fresh shuffle into batches and uses a record at most once.

    Source: [ohana2021:alg1.4-5] [ohana2021:exp-opt]

    Parameters
    ----------
    x, y : arrays with n rows
    m : int, batch size, 1 <= m <= n
    streams : `nfa.noise.Streams`; epoch k = 0, 1, ... shuffles with ``streams("batch", k)``
    last : "short" keeps a last batch of fewer than m records, and "drop" omits these records from the epoch
    """

    scheme = "epoch-partition"
    batches = "shuffled batches"
    does = "every epoch cuts a fresh shuffle into batches, and each record is in at most one batch"
    once_an_epoch = True
    theorems = "in_full"

    def __init__(self, x: np.ndarray, y: np.ndarray, m: int, streams: StreamsLike, last: str = "short") -> None:
        super().__init__(x, y)
        _check_batch_size(m, self.n)
        if last not in ("short", "drop"):
            raise ValueError(f"last must be 'short' or 'drop', got {last!r}")
        self.m, self.streams, self.rate = m, streams, m / self.n
        self.steps_per_epoch = self.n // m if last == "drop" else self.steps_of_epoch(m, self.n)
        self._shuffled: tuple[int, np.ndarray] = (-1, np.empty(0, int))

    @classmethod
    def steps_of_epoch(cls, batch: int, n: int, **options: Any) -> int:
        """ceil(n / batch), including a short last batch."""
        return -(-n // batch)

    def indices(self, t: int) -> np.ndarray:
        """Batch number (t - 1) mod steps_per_epoch of the shuffle of epoch (t - 1) // steps_per_epoch."""
        epoch, k = divmod(t - 1, self.steps_per_epoch)
        if self._shuffled[0] != epoch:
            self._shuffled = epoch, self.streams("batch", epoch).permutation(self.n)
        return self._shuffled[1][k * self.m : (k + 1) * self.m]


class WithoutReplacement(Sampler):
    """Scheme "without-replacement": every step draws m distinct records, uniformly among all such sets.

    Source: [lee2020:A3-A5] [ohana2021:alg1.4-5]

    Parameters
    ----------
    x, y : arrays with n rows
    m : int, batch size, 1 <= m <= n
    streams : `nfa.noise.Streams`; step t draws from ``streams("batch", t)``
    """

    scheme = "without-replacement"
    batches = "batches without replacement"
    does = "every step draws a fresh batch of exactly m of the n records, uniformly"
    theorems = "amplification"

    def __init__(self, x: np.ndarray, y: np.ndarray, m: int, streams: StreamsLike) -> None:
        super().__init__(x, y)
        _check_batch_size(m, self.n)
        self.m, self.streams, self.rate = m, streams, m / self.n
        self.steps_per_epoch = self.steps_of_epoch(m, self.n)

    @classmethod
    def steps_of_epoch(cls, batch: int, n: int, **options: Any) -> int:
        """floor(n / batch)."""
        return n // batch

    def indices(self, t: int) -> np.ndarray:
        """m distinct records."""
        return self.streams("batch", t).choice(self.n, self.m, replace=False, shuffle=False)


class Poisson(Sampler):
    """Scheme "poisson": every step takes each record independently with probability q, so a batch may be empty.

    Parameters
    ----------
    x, y : arrays with n rows
    q : float, 0 < q <= 1
    streams : `nfa.noise.Streams`; step t draws from ``streams("batch", t)``

    Notes
    -----
    The public normaliser of a private rule is the expected batch size q n, not the actual size.
    """

    scheme = "poisson"
    batches = "Poisson batches"
    does = "every step takes each record independently with probability q, so batch sizes vary"
    batch_is = "the expected size"
    size_varies = True
    reads_n = False
    theorems = "amplification"

    def __init__(self, x: np.ndarray, y: np.ndarray, q: float, streams: StreamsLike) -> None:
        super().__init__(x, y)
        require.within("(0, 1]", **{"the sampling rate q": q})
        if q < LEAST_RATE:
            raise ValueError(
                f"the sampling rate q must be at least 2^-30, got {q}. The random numbers are multiples of 2^-53, so a"
                " smaller rate would be inexact"
            )
        self.streams, self.rate, self.steps_per_epoch = streams, q, _poisson_steps(q)

    @classmethod
    def of_run(
        cls,
        x: np.ndarray,
        y: np.ndarray,
        streams: StreamsLike,
        *,
        batch: int,
        epochs: int,
        records: int | None = None,
        **options: Any,
    ) -> Self:
        """The sampler of a run whose batches have the expected size `batch`, if the number of records is `records`.

        Source: [ours:public-number]
        """
        N = len(x) if records is None else records
        _check_fits(batch, N)
        return cls(x, y, cls.rate_of(batch, N), streams=streams, **options)

    @classmethod
    def steps_of_epoch(cls, batch: int, n: int, **options: Any) -> int:
        """1 / q, rounded to the nearest whole number."""
        return _poisson_steps(cls.rate_of(batch, n))

    def indices(self, t: int) -> np.ndarray:
        """The records that were drawn."""
        return np.flatnonzero(self.streams("batch", t).random(self.n) < coin(self.rate))


def coin(q: float) -> float:
    """The largest multiple of 2^-53 that is at most q. A uniform value is below the result with probability at most q.

    A generator's uniform values are multiples of 2^-53. If q is not a multiple of 2^-53, a uniform value is below q
    with a probability above q.

    Examples
    --------
    >>> coin(0.5), coin(0.1) < 0.1
    (0.5, True)
    """
    return math.floor(q * 2**53) / 2**53


def _poisson_steps(q: float) -> int:
    return max(1, round(1 / q))


class PoissonRejection(Poisson):
    """Scheme "poisson-rejection": Poisson batches, drawn again until a batch has at least N_B records.

    Source: [dpulr2024:alg1.L195] [dpulr2024:exp-q]

    Parameters
    ----------
    x, y : arrays with n rows
    q : float, 0 < q <= 1, before rejection
    N_B : int, 1 <= N_B <= n, smallest size of a batch
    streams : `nfa.noise.Streams`; step t draws from ``streams("batch", t)``

    Raises
    ------
    ValueError : as the other samplers, and if the probability of accepting a batch is below 1e-3

    Notes
    -----
    No theorem on Poisson batches covers this scheme (see dpulr2024:thm1). We treat q and N_B as two independent
    settings, as in the text of the paper, although line 195 prints q = N_B / n.
    """

    scheme = "poisson-rejection"
    batches = "Poisson batches with rejection"
    does = "every step draws Poisson batches until a batch has at least N_B records"
    batch_is = "the expected size before rejection"
    reads_n = True  # one more record in the file can decide whether a batch is large enough
    options: ClassVar = {"N_B": "the smallest size of a batch"}
    theorems = ""
    refused = ("dpulr2024:thm1", "no theorem of nfa covers a scheme that draws a batch again if the batch is too small")

    def __init__(self, x: np.ndarray, y: np.ndarray, q: float, N_B: int, streams: StreamsLike) -> None:
        super().__init__(x, y, q, streams)
        if not 1 <= N_B <= self.n:
            raise ValueError(
                f"the smallest batch size N_B must be between 1 and the number n of examples, got N_B={N_B} and"
                f" n={self.n}"
            )
        from scipy import stats

        self.N_B = N_B
        self.acceptance = float(stats.binom.sf(N_B - 1, self.n, q))  # probability that a Poisson batch is large enough
        if self.acceptance < 1e-3:
            raise ValueError(
                f"a Poisson batch from {self.n} records at the rate q = {q:g} has at least N_B = {N_B} records "
                f"only with probability {self.acceptance:.3g}: lower N_B or raise q"
            )

    def indices(self, t: int) -> np.ndarray:
        """The records of the first Poisson batch that is large enough."""
        return self.draw(t)[0]

    def draw(self, t: int) -> tuple[np.ndarray, int]:
        """The records of step t, and the number of batches that were drawn until one was accepted."""
        rng, tries = self.streams("batch", t), 0
        while True:
            tries += 1
            chosen = np.flatnonzero(rng.random(self.n) < coin(self.rate))
            if len(chosen) >= self.N_B:
                return chosen, tries

    def statistics(self, steps: int) -> dict[str, float]:
        """Statistics of the rejection in the steps 1 to `steps` >= 1, for the record of a run.

        Returns
        -------
        statistics : {"q", "N_B", "acceptance": probability that a batch is accepted, "draws": number of drawn batches,
            "accepted": share of the drawn batches that were accepted, "mean_batch": mean number of records in an
            accepted batch}
        """
        sizes, draws = 0, 0
        for t in range(1, steps + 1):
            chosen, tries = self.draw(t)
            sizes, draws = sizes + len(chosen), draws + tries
        told = {"q": self.rate, "N_B": self.N_B, "acceptance": self.acceptance, "draws": draws}
        return told | {"accepted": steps / draws, "mean_batch": sizes / steps}

    def recorded(self, steps: int) -> dict[str, Any]:
        """The `statistics` of the rejection."""
        return {"rejection": self.statistics(steps)}


def records_per_pass(tau: float, n: int) -> int:
    """floor(tau n), the number of records in a partial pass. If tau n is a whole number k, but rounding makes it
    slightly smaller, the result is still k.

    Source: [berthier2019:alg1.5]

    Raises ValueError unless 0 < tau <= 1 and floor(tau n) >= 1.

    Examples
    --------
    >>> int(0.29 * 100), records_per_pass(0.29, 100), records_per_pass(0.5, 7)
    (28, 29, 3)
    """
    if not 0 < tau <= 1:
        raise ValueError(f"tau, the share of the records that a pass takes, must be in (0, 1], got {tau}")
    k = math.floor(tau * n + 1e-9)
    if k == 0:
        raise ValueError(
            f"tau must be at least 1/n, because a pass uses floor(tau n) examples, got tau = {tau:g} and n = {n}"
        )
    return k


def number_of_passes(e: float, tau: float) -> int:
    """e / tau, the number of partial passes in which a record is used e times on average.

    Source: [berthier2019:alg1.3]

    Raises ValueError unless the result is a whole number >= 1.

    Examples
    --------
    >>> number_of_passes(3, 0.3)
    10
    """
    if not (0 < e < math.inf and 0 < tau <= 1):
        raise ValueError(
            f"the number of epochs e must be positive and finite, and tau must be in (0, 1], got e={e} and tau={tau}"
        )
    passes = round(e / tau)
    if abs(e / tau - passes) > 1e-9 * passes:
        raise ValueError(f"e / tau must be a whole number of passes, got {e:g} / {tau:g} = {e / tau:g}")
    return passes


class PartialPasses(Sampler):
    """Scheme "partial-passes": a pass takes the first floor(tau n) records of a fresh shuffle, one at a time.

    Source: [berthier2019:alg1.4] [berthier2019:alg1.6]

    Parameters
    ----------
    x, y : arrays with n rows
    tau : float in (0, 1], floor(tau n) >= 1
    streams : `nfa.noise.Streams`; pass i = 0, 1, ... shuffles with ``streams("batch", i)``

    Raises
    ------
    ValueError : if tau is out of range

    Notes
    -----
    If a pass has one record, every step draws one of all records, so the scheme is "without-replacement" with batches
    of one record. If a pass has all records, the scheme is "epoch-partition". Otherwise the scheme is "partial-passes".

    Examples
    --------
    >>> from nfa.noise import Streams
    >>> x = np.zeros((10, 1))
    >>> [(s.scheme, s.k, s.steps_per_epoch) for s in (PartialPasses(x, x, tau, Streams(0)) for tau in (0.1, 0.5, 1))]
    [('without-replacement', 1, 10), ('partial-passes', 5, 10), ('epoch-partition', 10, 10)]
    """

    scheme = "partial-passes"
    batches = "partial passes"
    does = "every pass takes the first tau n records of a fresh shuffle, one at a time"
    batch_is = "1"
    options: ClassVar = {"tau": "the share of the examples that a pass takes"}
    refused = (
        "berthier2019:conj1",
        "for tau between 1/n and 1, the smaller epsilon of partial passes is only a conjecture. Use tau = 1/n or"
        " tau = 1",
    )

    def __init__(self, x: np.ndarray, y: np.ndarray, tau: float, streams: StreamsLike) -> None:
        super().__init__(x, y)
        self.k, self.streams, self.rate = records_per_pass(tau, self.n), streams, 1 / self.n
        self.steps_per_epoch = self.steps_of_epoch(1, self.n, tau=tau)
        self.scheme = {1: WithoutReplacement.scheme, self.n: EpochPartition.scheme}.get(self.k, self.scheme)
        self._shuffled: tuple[int, np.ndarray] = (-1, np.empty(0, int))

    @classmethod
    def of_run(
        cls, x: np.ndarray, y: np.ndarray, streams: StreamsLike, *, batch: int, epochs: int, **options: Any
    ) -> Self:
        """The sampler of a run. The number of passes, epochs / tau, and the steps of an epoch must be whole numbers."""
        if batch != 1:
            raise ValueError(f"batch must be 1 for sampling {cls.scheme!r}, got {batch}")
        made, tau = cls(x, y, streams=streams, **options), options["tau"]
        if number_of_passes(epochs, tau) * made.k != epochs * made.steps_per_epoch:
            raise ValueError(
                f"an epoch must have a whole number of steps, but with tau = {tau:g} and {len(x)} examples an "
                f"epoch has {made.k / tau:g} steps"
            )
        return made

    @classmethod
    def steps_of_epoch(cls, batch: int, n: int, **options: Any) -> int:
        """k / tau for the k records of a pass, rounded to the nearest whole number."""
        return max(1, round(records_per_pass(options["tau"], n) / options["tau"]))

    def indices(self, t: int) -> np.ndarray:
        """The record at position (t - 1) mod k in the shuffle of pass (t - 1) // k."""
        i, j = divmod(t - 1, self.k)
        if self._shuffled[0] != i:
            self._shuffled = i, self.streams("batch", i).permutation(self.n)
        return self._shuffled[1][j : j + 1]


SAMPLERS: dict[str, type[Sampler]] = {
    one.scheme: one
    for one in list(vars().values())
    if isinstance(one, type) and issubclass(one, Sampler) and one is not Sampler
}  # every class above by its scheme, in this order
SCHEMES = tuple(name for name, one in SAMPLERS.items() if one.theorems)  # the schemes that a theorem covers
ALL_RECORDS = tuple(name for name, one in SAMPLERS.items() if one.all_records)
OPTIONS = {name: scheme for scheme, one in SAMPLERS.items() for name in one.options}  # the scheme of each option


def batch_help(samplers: Mapping[str, type[Sampler]]) -> str:
    """The meaning of a run's batch size under the schemes in which the actual size of a batch can differ from it."""
    return ", ".join(f"{one.batch_is} under {scheme}" for scheme, one in samplers.items() if one.batch_is)


BATCH_IS = batch_help(SAMPLERS)
