"""How batches are drawn. Each sampler names its scheme, because an accountant's theorem holds for one scheme only.

``at(t)`` is a function of the step t = 1, 2, ... and of the streams: a resumed run sees the same batches.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy import stats

from nfa import require
from nfa.mechanism import REJECTION, SCHEMES

PARTIAL = "partial-passes"  # that of `PartialPasses` for tau between 1/n and 1, which no theorem here counts
NAMES = (*SCHEMES, REJECTION, PARTIAL)
StreamsLike = Callable[[str, int], np.random.Generator]


LEAST_RATE = 2.0**-30  # of a Poisson batch: its coins fall by multiples of 2^-53


class _Sampler:
    """What the schemes share: the data, checked once, and `at`."""

    scheme: str
    rate: float  # expected share of the records in one batch
    steps_per_epoch: int  # steps after which n records have been drawn in expectation

    def __init__(self, x: np.ndarray, y: np.ndarray) -> None:
        require.pairs(x, y)
        for name, values in (("x", x), ("y", y)):
            if not np.isfinite(values).all():
                raise ValueError(f"{name} holds NaN or infinity in example {_first_bad_row(values)}")
        self.x, self.y, self.n = x, y, len(x)

    def indices(self, t: int) -> np.ndarray:
        """Record numbers of the batch of step t >= 1."""
        raise NotImplementedError

    def at(self, t: int) -> tuple[np.ndarray, np.ndarray]:
        """The batch (x, y) of step t >= 1."""
        if t < 1:
            raise ValueError(f"steps count from 1, got t={t}")
        chosen = self.indices(t)
        return self.x[chosen], self.y[chosen]


def _first_bad_row(values: np.ndarray) -> int:
    return int(np.flatnonzero(~np.isfinite(values.reshape(len(values), -1)).all(axis=1))[0])


def _check_batch_size(m: int, n: int) -> None:
    if not 1 <= m <= n:
        raise ValueError(f"the batch size m must be between 1 and the {n} examples, got {m}")


class Full(_Sampler):
    """Scheme "none": every step sees all the data."""

    scheme, rate, steps_per_epoch = "none", 1.0, 1

    def indices(self, t: int) -> np.ndarray:
        """All records, in order."""
        return np.arange(self.n)


class EpochPartition(_Sampler):
    """Scheme "epoch-partition": every epoch cuts a fresh shuffle into disjoint batches; a record is seen once an epoch.

    Source: [ohana2021:alg1.4-5] [ohana2021:exp-opt]

    Parameters
    ----------
    x, y : arrays with n rows
    m : int, batch size, 1 <= m <= n
    streams : `nfa.noise.Streams`; epoch k = 0, 1, ... shuffles with ``streams("batch", k)``
    last : "short" keeps a last batch of fewer than m records, "drop" leaves those records out of the epoch
    """

    scheme = "epoch-partition"

    def __init__(self, x: np.ndarray, y: np.ndarray, m: int, streams: StreamsLike, last: str = "short") -> None:
        super().__init__(x, y)
        _check_batch_size(m, self.n)
        if last not in ("short", "drop"):
            raise ValueError(f"last must be 'short' or 'drop', got {last!r}")
        self.m, self.streams, self.rate = m, streams, m / self.n
        self.steps_per_epoch = self.n // m if last == "drop" else -(-self.n // m)
        self._shuffled: tuple[int, np.ndarray] = (-1, np.empty(0, int))

    def indices(self, t: int) -> np.ndarray:
        """Batch number (t - 1) mod steps_per_epoch of the shuffle of epoch (t - 1) // steps_per_epoch."""
        epoch, k = divmod(t - 1, self.steps_per_epoch)
        if self._shuffled[0] != epoch:
            self._shuffled = epoch, self.streams("batch", epoch).permutation(self.n)
        return self._shuffled[1][k * self.m : (k + 1) * self.m]


class WithoutReplacement(_Sampler):
    """Scheme "without-replacement": every step draws m distinct records, afresh and uniformly among all such sets.

    Source: [lee2020:A3-A5] [ohana2021:alg1.4-5]

    Parameters
    ----------
    x, y : arrays with n rows
    m : int, batch size, 1 <= m <= n
    streams : `nfa.noise.Streams`; step t draws from ``streams("batch", t)``
    """

    scheme = "without-replacement"

    def __init__(self, x: np.ndarray, y: np.ndarray, m: int, streams: StreamsLike) -> None:
        super().__init__(x, y)
        _check_batch_size(m, self.n)
        self.m, self.streams, self.rate, self.steps_per_epoch = m, streams, m / self.n, self.n // m

    def indices(self, t: int) -> np.ndarray:
        """m distinct records."""
        return self.streams("batch", t).choice(self.n, self.m, replace=False, shuffle=False)


class Poisson(_Sampler):
    """Scheme "poisson": every step takes each record independently with probability q; a batch may be empty.

    Parameters
    ----------
    x, y : arrays with n rows
    q : float, 0 < q <= 1
    streams : `nfa.noise.Streams`; step t draws from ``streams("batch", t)``

    Notes
    -----
    The public normaliser of a private rule is the expected batch size q n, never the size that was drawn.
    """

    scheme = "poisson"

    def __init__(self, x: np.ndarray, y: np.ndarray, q: float, streams: StreamsLike) -> None:
        super().__init__(x, y)
        require.within("(0, 1]", **{"the sampling rate q": q})
        if q < LEAST_RATE:
            raise ValueError(f"the sampling rate q must be at least 2^-30, for a coin has 53 bits, got {q}")
        self.streams, self.rate, self.steps_per_epoch = streams, q, max(1, round(1 / q))

    def indices(self, t: int) -> np.ndarray:
        """The records whose coin fell."""
        return np.flatnonzero(self.streams("batch", t).random(self.n) < self.rate)


class PoissonRejection(Poisson):
    """Scheme "poisson-rejection": Poisson batches, drawn again until one has at least N_B records.

    Source: [dpulr2024:alg1.L195] [dpulr2024:exp-q]

    Parameters
    ----------
    x, y : arrays with n rows
    q : float, 0 < q <= 1, before rejection
    N_B : int, 1 <= N_B <= n, the least size of a batch
    streams : `nfa.noise.Streams`; step t draws from ``streams("batch", t)``

    Raises
    ------
    ValueError : also if a batch is accepted with a probability below 1e-3

    Notes
    -----
    No theorem on Poisson batches covers it: see dpulr2024:thm1. Reading: q and N_B are two numbers, as the text has
    them, though line 195 prints q = N_B / n.
    """

    scheme = REJECTION

    def __init__(self, x: np.ndarray, y: np.ndarray, q: float, N_B: int, streams: StreamsLike) -> None:
        super().__init__(x, y, q, streams)
        if not 1 <= N_B <= self.n:
            raise ValueError(f"N_B must be between 1 and the {self.n} examples, got {N_B}")
        self.N_B = N_B
        self.acceptance = float(stats.binom.sf(N_B - 1, self.n, q))  # probability that a draw is large enough
        if self.acceptance < 1e-3:
            raise ValueError(
                f"a batch of at least N_B = {N_B} of {self.n} records at the rate q = {q:g} is accepted with "
                f"probability {self.acceptance:.3g}; lower N_B or raise q"
            )

    def indices(self, t: int) -> np.ndarray:
        """The records of the first draw that is large enough."""
        return self.draw(t)[0]

    def draw(self, t: int) -> tuple[np.ndarray, int]:
        """The records of step t, and how many draws it took."""
        rng, tries = self.streams("batch", t), 0
        while True:
            tries += 1
            chosen = np.flatnonzero(rng.random(self.n) < self.rate)
            if len(chosen) >= self.N_B:
                return chosen, tries

    def statistics(self, steps: int) -> dict[str, float]:
        """What rejection did in the steps 1 to `steps` >= 1, for a record.

        Returns
        -------
        statistics : {"q", "N_B", "acceptance": probability that a draw is accepted, "draws": how many there were,
            "accepted": share of them that was accepted, "mean_batch": records in a batch, on average}
        """
        sizes, draws = 0, 0
        for t in range(1, steps + 1):
            chosen, tries = self.draw(t)
            sizes, draws = sizes + len(chosen), draws + tries
        told = {"q": self.rate, "N_B": self.N_B, "acceptance": self.acceptance, "draws": draws}
        return told | {"accepted": steps / draws, "mean_batch": sizes / steps}


def pass_length(tau: float, n: int) -> int:
    """floor(tau n), the records that a partial pass takes: a product that rounding put just below k counts as k.

    Source: [berthier2019:alg1.5]

    Raises ValueError unless 0 < tau <= 1 and floor(tau n) >= 1.

    Examples
    --------
    >>> int(0.29 * 100), pass_length(0.29, 100), pass_length(0.5, 7)
    (28, 29, 3)
    """
    if not 0 < tau <= 1:
        raise ValueError(f"tau, the share of the records that a pass takes, must be in (0, 1], got {tau}")
    k = math.floor(tau * n + 1e-9)
    if k == 0:
        raise ValueError(
            f"a pass takes floor(tau n) = 0 of the {n} examples for tau = {tau:g}; tau must be at least 1/n"
        )
    return k


def number_of_passes(e: float, tau: float) -> int:
    """e / tau, the partial passes in which a record is expected to be used e times.

    Source: [berthier2019:alg1.3]

    Raises ValueError unless it is a whole number >= 1.

    Examples
    --------
    >>> number_of_passes(3, 0.3)
    10
    """
    if not (0 < e < math.inf and 0 < tau <= 1):
        raise ValueError(f"need a number of epochs e > 0 and tau in (0, 1], got {e} and {tau}")
    passes = round(e / tau)
    if abs(e / tau - passes) > 1e-9 * passes:
        raise ValueError(f"e / tau must be a whole number of passes, got {e:g} / {tau:g} = {e / tau:g}")
    return passes


class PartialPasses(_Sampler):
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
    A pass of one record is a draw with replacement, and its scheme is called "without-replacement", batches of one; a
    pass of all records is an "epoch-partition". Only between the two is the scheme one of its own.

    Examples
    --------
    >>> from nfa.noise import Streams
    >>> x = np.zeros((10, 1))
    >>> [(s.scheme, s.k, s.steps_per_epoch) for s in (PartialPasses(x, x, tau, Streams(0)) for tau in (0.1, 0.5, 1))]
    [('without-replacement', 1, 10), ('partial-passes', 5, 10), ('epoch-partition', 10, 10)]
    """

    def __init__(self, x: np.ndarray, y: np.ndarray, tau: float, streams: StreamsLike) -> None:
        super().__init__(x, y)
        self.k, self.streams, self.rate = pass_length(tau, self.n), streams, 1 / self.n
        self.steps_per_epoch = max(1, round(self.k / tau))
        self.scheme = {1: "without-replacement", self.n: "epoch-partition"}.get(self.k, PARTIAL)
        self._shuffled: tuple[int, np.ndarray] = (-1, np.empty(0, int))

    def indices(self, t: int) -> np.ndarray:
        """Record number (t - 1) mod k of the shuffle of pass (t - 1) // k."""
        i, j = divmod(t - 1, self.k)
        if self._shuffled[0] != i:
            self._shuffled = i, self.streams("batch", i).permutation(self.n)
        return self._shuffled[1][j : j + 1]
