"""The distinguishing game: a lower confidence bound on the epsilon of a mechanism that we can run many times.

World 0 runs the mechanism on D, and world 1 runs it on a neighbour D'. If a statistic of the output reaches a
threshold, we decide for world 1. The frequencies of this decision in the two worlds give a lower bound on epsilon. For
every event, (epsilon, delta)-DP requires P_1(event) <= e^epsilon P_0(event) + delta and P_0(event) <= e^epsilon
P_1(event) + delta.

Guarantee: `play` returns a lower bound that is above the true epsilon with probability at most 1 - confidence. The true
epsilon is the smallest epsilon for which the two worlds satisfy (epsilon, delta)-DP. So a true claim is refuted with
probability at most 1 - confidence, for every mechanism and every statistic. The trials must be independent, and the
threshold must not depend on the counted trials. If you play k games, each game can fail with this probability.

A low bound proves nothing. The statistic or the pair of neighbours may be badly chosen, or the number of trials too
small. With n trials in each world, the bound is at most about log(n) nats.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

from nfa import require
from nfa.audit.bounds import check_levels, check_trials, epsilon_lower_bound
from nfa.audit.roc import auc as area

MOST_THRESHOLDS = 500  # largest number of thresholds that we test on the tuning trials


@dataclass(frozen=True, kw_only=True)
class GameResult:
    """The result of a game.

    Parameters
    ----------
    claimed_epsilon : float >= 0, inf if nothing is claimed
    delta : float in [0, 1), the delta of the claimed and the bounded epsilon
    lower_bound : float >= 0; the true epsilon is at least this bound, with the confidence below
    confidence : float in (0, 1)
    trials : (n_0, n_1), counted trials in world 0 and in world 1
    hits : (k_0, k_1), the numbers of these trials that decided for world 1
    tuning : int, trials in each world that chose the threshold and were not counted; 0 if the threshold was given
    threshold : float
    high_means : 1 if a score of at least the threshold decides for world 1, 0 if a score of at most the threshold
        decides for world 1, None if both events were counted
    auc : float in [0, 1], probability that a counted score of world 1 is above a counted score of world 0. If
        high_means is 0, it is the probability that it is below
    scores : the counted scores of the two worlds
    """

    claimed_epsilon: float
    delta: float
    lower_bound: float
    confidence: float
    trials: tuple[int, int]
    hits: tuple[int, int]
    tuning: int
    threshold: float
    high_means: int | None
    auc: float
    scores: tuple[np.ndarray, np.ndarray] = field(repr=False, compare=False)

    @property
    def refuted(self) -> bool:
        """Whether the lower bound is above the claim."""
        return self.lower_bound > self.claimed_epsilon

    @property
    def words(self) -> str:
        """The result in one or two sentences."""
        shown = (
            f"With {100 * self.confidence:g} % confidence epsilon is at least {self.lower_bound:.4g} "
            f"at delta = {self.delta:g}"
        )
        if self.claimed_epsilon == math.inf:
            return f"{shown}. No epsilon is claimed."
        if self.refuted:
            return f"{shown}: the claim of {self.claimed_epsilon:.4g} is refuted."
        return f"{shown}: the claim of {self.claimed_epsilon:.4g} is not refuted. This result does not prove the claim."

    def as_json(self) -> dict[str, Any]:
        """The numbers, without the scores."""
        names = ("claimed_epsilon", "lower_bound", "threshold", "auc", "refuted")
        return {name: getattr(self, name) for name in names} | {"trials": list(self.trials), "hits": list(self.hits)}


def play(
    sample: Callable | Sequence[Callable],
    statistic: Callable,
    *,
    claimed_epsilon: float,
    delta: float,
    trials: int | tuple[int, int],
    confidence: float = 0.95,
    threshold: float | None = None,
    tuning: int | None = None,
    high_means: int | None = 1,
    batch: int | None = None,
    progress: Callable[[int, int], Any] | None = None,
    rng: np.random.Generator,
) -> GameResult:
    r"""Play the game: run both worlds, count the decisions for world 1, and compute a lower bound on epsilon.

    .. math:: \epsilon \ge \log \frac{\underline{TPR} - \delta}{\overline{FPR}}, \qquad
              \epsilon \ge \log \frac{1 - \overline{FPR} - \delta}{1 - \underline{TPR}}

    Parameters
    ----------
    sample : function (world, rng) -> output with world 0 or 1, or a pair of functions rng -> output. Every call is an
        independent run of the mechanism. With ``batch``, the function takes one more argument, n, and returns n outputs
        stacked along the first axis
    statistic : function output -> float. With ``batch``, the function takes the stack and returns n floats. It may use
        D and D', and its values may be infinite
    claimed_epsilon : float >= 0; inf if nothing is claimed
    delta : float in [0, 1)
    trials : int >= 1, counted trials in each world, or (n_0, n_1)
    confidence : float in (0, 1), confidence of the lower bound
    threshold : float, fixed before any trial; None to choose the threshold on separate trials
    tuning : int >= 1, trials in each world that choose the threshold; by default max(n_0, n_1)
    high_means : 1 if a high score is evidence for world 1, 0 if it is evidence for world 0, None if you do not know.
        With None and no threshold, the tuning trials choose 0 or 1. With None and a threshold, we count both events,
        each with half of the error probability
    batch : int >= 1, number of trials in one call; None for one trial per call, without the argument n
    progress : function (done, all), called from time to time with the number of trials done and of all trials
    rng : numpy.random.Generator

    Returns
    -------
    result : GameResult

    Raises
    ------
    ValueError : if an argument is out of range, if a threshold and tuning are both given, or if the statistic is NaN or
        does not give one number for each output

    Notes
    -----
    Guarantee: P(lower bound > true epsilon) <= 1 - confidence, under the conditions in the module's docstring. We use
    the bounds of Clopper and Pearson on the rates, which hold for every number of trials.

    Examples
    --------
    Randomised response with probability 9/10 for the true bit has epsilon = log 9 = 2.197. We claim that epsilon is 1.

    >>> def respond(bit, rng):
    ...     return bit if rng.random() < 0.9 else 1 - bit
    >>> result = play(respond, float, claimed_epsilon=1, delta=0, trials=1000, threshold=0.5,
    ...               rng=np.random.default_rng(1))
    >>> result.refuted, bool(1 < result.lower_bound < np.log(9))
    (True, True)
    """
    n = check_trials(trials)
    require.at_least(0, claimed_epsilon=claimed_epsilon)
    check_levels(delta, confidence)
    if high_means not in (0, 1, None):
        raise ValueError(f"high_means must be 0, 1 or None, got {high_means!r}")
    if batch is not None:
        require.whole(1, batch=batch)
    if threshold is not None:
        if tuning is not None:
            raise ValueError("give either a threshold or tuning trials, because tuning trials choose the threshold")
        if math.isnan(threshold):
            raise ValueError("threshold must be a number, got nan")
        tuning = 0
    else:
        tuning = max(n) if tuning is None else tuning
        require.whole(1, tuning=tuning)
    worlds = _Worlds(sample, statistic, batch, rng, progress, total=sum(n) + 2 * tuning)

    if threshold is None:
        threshold, high_means = _tune(
            (worlds.scores(0, tuning), worlds.scores(1, tuning)), high_means, delta, confidence
        )
    scores = worlds.scores(0, n[0]), worlds.scores(1, n[1])
    hits = _hits(scores, threshold, high_means)
    if high_means is None:  # we count two events: scores of at least the threshold, and scores of at most the threshold
        below = _hits(scores, threshold, 0)
        bounds = [epsilon_lower_bound(k, n, delta=delta, confidence=(1 + confidence) / 2) for k in (hits, below)]
    else:
        bounds = [epsilon_lower_bound(hits, n, delta=delta, confidence=confidence)]
    ranks = stats.rankdata(np.concatenate(scores))  # the ranks have the order of the scores, and they are finite
    above = area(ranks[n[0] :], ranks[: n[0]])
    return GameResult(
        claimed_epsilon=float(claimed_epsilon),
        delta=float(delta),
        lower_bound=max(float(bound) for bound in bounds),
        confidence=float(confidence),
        trials=n,
        hits=hits,
        tuning=int(tuning),
        threshold=float(threshold),
        high_means=high_means,
        auc=1 - above if high_means == 0 else above,
        scores=scores,
    )


def projection(f0: np.ndarray, f1: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    r"""The best statistic under isotropic Gaussian noise: the projection on the line through the two noiseless outputs.

    .. math:: \Big\langle \text{output} - \frac{f_0 + f_1}{2},\; \frac{f_1 - f_0}{\|f_1 - f_0\|} \Big\rangle

    Parameters
    ----------
    f0, f1 : arrays of equal shape, the outputs of the mechanism without noise in world 0 and in world 1

    Returns
    -------
    statistic : function of an output of that shape, or of a stack of outputs; its law is
        N(-distance / 2, noise_std^2) in world 0 and N(distance / 2, noise_std^2) in world 1

    Raises
    ------
    ValueError : if the shapes differ, if a value is not finite, or if f0 and f1 are equal

    Notes
    -----
    The statistic increases with the likelihood ratio. So by the lemma of Neyman and Pearson, no statistic has a higher
    true positive rate at the same false positive rate.

    Examples
    --------
    >>> statistic = projection(np.array([0.0, 0.0]), np.array([6.0, 8.0]))
    >>> float(statistic(np.array([3.0, 4.0]))), statistic(np.array([[6.0, 8.0], [0.0, 0.0]])).tolist()
    (0.0, [5.0, -5.0])
    """
    f0, f1 = np.asarray(f0, float), np.asarray(f1, float)
    if f0.shape != f1.shape or not (np.isfinite(f0).all() and np.isfinite(f1).all()):
        raise ValueError(f"f0 and f1 must be finite arrays of the same shape, got the shapes {f0.shape} and {f1.shape}")
    distance = np.linalg.norm(f1 - f0)
    if distance == 0:
        raise ValueError(
            "f0 and f1 must differ, because otherwise no statistic of the means can distinguish the worlds"
        )
    middle, direction = (f0 + f1) / 2, (f1 - f0) / distance
    return lambda output: np.tensordot(np.asarray(output) - middle, direction, axes=direction.ndim)


class _Worlds:
    """The two worlds as sources of scores."""

    def __init__(self, sample, statistic, batch, rng, progress, total: int) -> None:
        if callable(sample):
            self._draw = [lambda *rest: sample(0, *rest), lambda *rest: sample(1, *rest)]
        elif len(sample) == 2 and all(callable(one) for one in sample):
            self._draw = list(sample)
        else:
            raise ValueError("sample must be a function (world, rng) -> output, or a pair of functions rng -> output")
        self._statistic, self._batch, self._rng = statistic, batch, rng
        self._progress, self._done, self._total = progress, 0, total

    def scores(self, world: int, n: int) -> np.ndarray:
        """The statistic of n fresh runs in this world."""
        scores = np.empty(n)
        size = self._batch or 1
        for start in range(0, n, size):
            part = scores[start : start + size]  # the last part may be smaller
            output = self._draw[world](self._rng, *([len(part)] if self._batch else []))
            values = np.asarray(self._statistic(output), float)
            if values.shape != (part.shape if self._batch else ()):
                raise ValueError(f"the statistic must give one number for each output, got the shape {values.shape}")
            part[:] = values
            self._done += len(part)
            if self._progress:
                self._progress(self._done, self._total)
        if np.isnan(scores).any():
            raise ValueError(f"the statistic is NaN for an output of world {world}")
        return scores


def _hits(scores, threshold: float, high_means: int | None) -> tuple[int, int]:
    """The number of scores of each world that decide for world 1."""
    k0, k1 = (int((s <= threshold if high_means == 0 else s >= threshold).sum()) for s in scores)
    return k0, k1


def thresholds_of(scores) -> np.ndarray:
    """Candidate thresholds between the scores of both worlds, dense at both ends, where the rates are small."""
    pool = np.unique(np.concatenate(scores))
    with np.errstate(invalid="ignore"):
        middles = pool[:-1] / 2 + pool[1:] / 2
    ok = np.isfinite(middles) & (middles > pool[:-1])
    thresholds = np.concatenate([pool[:1], np.where(ok, middles, pool[1:])])
    if len(thresholds) > MOST_THRESHOLDS:
        ranks = np.unique(np.geomspace(1, len(thresholds), MOST_THRESHOLDS // 2).astype(int)) - 1
        thresholds = thresholds[np.unique(np.concatenate([ranks, len(thresholds) - 1 - ranks]))]
    return thresholds


def _tune(scores, high_means: int | None, delta: float, confidence: float) -> tuple[float, int]:
    """The threshold and the value of high_means (0 or 1) that give the largest lower bound on these scores."""
    thresholds = thresholds_of(scores)
    n = len(scores[0])
    reach = [n - np.searchsorted(np.sort(s), thresholds, side="left") for s in scores]  # scores >= threshold
    stay = [np.searchsorted(np.sort(s), thresholds, side="right") for s in scores]  # scores <= threshold
    choices = []
    for meaning, (k0, k1) in ((1, reach), (0, stay)):
        if high_means in (meaning, None):
            bounds = epsilon_lower_bound((k0, k1), n, delta=delta, confidence=confidence)
            i = int(np.lexsort((k1 - k0, bounds))[-1])  # among equal bounds, take the largest k1 - k0
            choices.append((bounds[i], k1[i] - k0[i], thresholds[i], meaning))
    *_, threshold, meaning = max(choices)
    return float(threshold), meaning
