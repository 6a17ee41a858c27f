"""The distinguishing game on rules that add Gaussian noise, with two lower bounds on epsilon from the same runs.

World 0 runs the rule on D, and world 1 runs it on a neighbour D'. The score of a run is its release, projected on the
line through the two noiseless directions. The law of the score is N(-shift / 2, std^2) in world 0 and N(shift / 2,
std^2) in world 1. At a small delta, the exact epsilon depends on rare events, which do not occur in a few thousand
runs. So the bound for noise of any law (`nfa.audit.game`) is far below the exact epsilon. If the noise is known to be
Gaussian, frequent events are enough. Their counts give a bound on shift / std, and this quotient determines epsilon at
every delta.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from nfa import require
from nfa.audit.bounds import check_trials, clopper_pearson, epsilon_lower_bound
from nfa.audit.game import play, projection
from nfa.audit.reports import AuditOptions
from nfa.noise import Streams
from nfa.privacy.gaussians import epsilon_gaussian


@dataclass(frozen=True, kw_only=True, eq=False)
class Pair:
    """Two neighbouring batches, and the rule that runs on them.

    Parameters
    ----------
    rule : function (x, y, *, sigma, rng) -> (dW, db), a private rule with all other arguments bound
    x, y : pairs of arrays for world 0 and world 1
    sigma : float > 0, the setting sigma of the rule
    """

    rule: Callable
    x: tuple[np.ndarray, np.ndarray]
    y: tuple[np.ndarray, np.ndarray]
    sigma: float

    def release(self, world: int, rng: np.random.Generator) -> np.ndarray:
        """The release of one run of the rule: all dW and db as one vector."""
        return self._run(world, self.sigma, rng)

    def noiseless(self) -> tuple[np.ndarray, np.ndarray]:
        """The release with sigma = 0, in world 0 and in world 1."""
        f0, f1 = (self._run(world, 0.0, np.random.default_rng(0)) for world in (0, 1))
        return f0, f1

    def _run(self, world: int, sigma: float, rng: np.random.Generator) -> np.ndarray:
        return flat(*self.rule(self.x[world], self.y[world], sigma=sigma, rng=rng))


@dataclass(frozen=True, kw_only=True)
class GameSummary:
    """The result of one game.

    Parameters
    ----------
    name : str
    trials : int, counted runs in each world
    claims : name -> epsilon claimed at the game's delta
    exact : float, the exact epsilon of Gaussian noise of this size on this pair; None if there is no formula
    lower_bound : float >= 0, lower bound on the true epsilon with the game's confidence, valid if the noise is
        Gaussian; None if this bound was not computed
    any_law : float >= 0, the lower bound on the true epsilon that is valid for noise of any law
    auc : float in [0, 1], the AUC of the scores
    """

    name: str
    trials: int
    claims: Mapping[str, float]
    exact: float | None
    lower_bound: float | None
    any_law: float
    auc: float

    def as_json(self) -> dict[str, Any]:
        """The fields, with their names in the output of `--json`."""
        return {
            "game": self.name,
            "trials": [self.trials, self.trials],
            "claims": dict(self.claims),
            "exact_epsilon": self.exact,
            "lower_bound": self.lower_bound,
            "lower_bound_any_law": self.any_law,
            "auc": self.auc,
        }


def flat(dW: list, db: list) -> np.ndarray:
    """All entries of a direction as one vector, layer by layer."""
    return np.concatenate([one.ravel() for pair in zip(dW[1:], db[1:], strict=True) for one in pair])


def shift_lower_bound(hits, trials: int | tuple[int, int], *, confidence: float) -> float:
    r"""Lower bound on mu = shift / std of Gaussian noise, from the counts of one event in each world.

    .. math:: \mu \ge \Phi^{-1}(\underline{p_1}) - \Phi^{-1}(\overline{p_0})

    Parameters
    ----------
    hits : (k_0, k_1), the counts of an event in world 0 and in world 1. The event must be fixed before the trials
    trials : int >= 1 in each world, or (n_0, n_1)
    confidence : float in (0, 1)

    Returns
    -------
    mu : float >= 0

    Raises
    ------
    ValueError : if an argument is out of range

    Notes
    -----
    Guarantee: the bound is above the true mu with probability at most 1 - confidence. Consider an event of probability
    p_0 under N(0, 1). By the lemma of Neyman and Pearson, its probability under N(mu, 1) is at most Phi(Phi^{-1}(p_0) +
    mu). The same holds after a randomised map of the two laws. It also holds for several steps if the squares of their
    shifts / std add up to mu^2. Suppose that a mechanism states Gaussian noise. If the bound is above the stated
    sensitivity / std, it refutes the stated values, whatever the true law of the noise is.

    Examples
    --------
    The confidence is 1 - 2^{-9}, and each of the two bounds has half of the error. If the event occurs in all of ten
    trials in world 1 and in none in world 0, then p_1 >= 1/2 and p_0 <= 1/2. So the bound is 0. With twenty trials, the
    two bounds are 2^{-1/2} and 1 - 2^{-1/2}.

    >>> round(shift_lower_bound((0, 10), 10, confidence=1 - 2**-9), 12)
    0.0
    >>> bound = shift_lower_bound((0, 20), 20, confidence=1 - 2**-9)
    >>> round(bound, 4), round(float(2 * ndtri(2**-0.5)), 4)
    (1.0899, 1.0899)
    """
    n = check_trials(trials)
    require.within("(0, 1)", confidence=confidence)
    error = (1 - confidence) / 2
    p0_high = clopper_pearson(hits[0], n[0], error=error)[1]
    p1_low = clopper_pearson(hits[1], n[1], error=error)[0]
    return max(float(ndtri(p1_low) - ndtri(p0_high)), 0.0)


def epsilon_of_shift(mu: float, delta: float) -> float:
    """The exact epsilon at delta of Gaussian noise of std 1 on two outputs at distance mu; 0 for mu = 0."""
    return epsilon_gaussian(delta=delta, noise_multiplier=1 / mu) if mu > 0 else 0.0


def rare_threshold(mu: float, n: int, *, delta: float, confidence: float) -> float:
    """The threshold for scores of N(-mu/2, 1) and N(mu/2, 1) whose expected counts in n runs give the largest bound.

    The threshold depends only on numbers that are fixed before the trials, so we need no trials to choose the
    threshold.
    """
    t = np.linspace(-mu / 2, mu / 2 + 5, 1001)
    expected = [np.rint(n * ndtr(-(t - mean))).astype(int) for mean in (-mu / 2, mu / 2)]
    return float(t[np.argmax(epsilon_lower_bound(expected, n, delta=delta, confidence=confidence))])


def measure(
    name: str,
    sample: Callable,
    statistic: Callable,
    *,
    shift: float,
    std: float,
    trials: int,
    claims: Mapping[str, float],
    exact: float,
    settings: AuditOptions,
    stream: int,
) -> GameSummary:
    """Play a game. With the stated rule and noise, the scores have the laws N(-shift/2, std^2) and N(shift/2, std^2).

    Parameters
    ----------
    name : str, name of the game in the progress and the tables
    sample, statistic : as for `nfa.audit.game.play`
    shift, std : floats > 0
    trials : int >= 1, counted runs in each world; there are no other runs
    claims, exact : as in `GameSummary`
    settings : AuditOptions; delta, confidence, seed and progress are used
    stream : int, number of the noise stream, different for every game
    """
    rare = rare_threshold(shift / std, trials, delta=settings.delta, confidence=settings.confidence)
    game = play(
        sample,
        statistic,
        claimed_epsilon=math.inf,
        delta=settings.delta,
        trials=trials,
        confidence=settings.confidence,
        threshold=rare * std,
        progress=lambda done, of: settings.progress(name, done, of),
        rng=Streams(settings.seed)("noise", stream),
    )
    middle = [int((scores >= 0).sum()) for scores in game.scores]
    mu = shift_lower_bound(middle, trials, confidence=settings.confidence)
    return GameSummary(
        name=name,
        trials=trials,
        claims=claims,
        exact=exact,
        lower_bound=epsilon_of_shift(mu, settings.delta),
        any_law=game.lower_bound,
        auc=game.auc,
    )


def measure_pair(name: str, pair: Pair, **rest) -> GameSummary:
    """`measure` for single steps. The score is the projection on the line through the two noiseless directions."""
    f0, f1 = pair.noiseless()
    shift = float(np.linalg.norm(f1 - f0))
    return measure(name, pair.release, projection(f0, f1), shift=shift, std=pair.sigma, **rest)


def number(value: float | None) -> str:
    """The number as text for tables; an empty text for None."""
    return "" if value is None else f"{value:.4g}"


def share(one: GameSummary) -> str:
    """The lower bound as a percentage of the exact epsilon."""
    return "" if one.lower_bound is None or not one.exact else f"{100 * one.lower_bound / one.exact:.0f} %"


LAW = (
    "exact: the smallest epsilon that Gaussian noise of this size has on these neighbours. at least: a lower "
    "bound on epsilon for Gaussian noise. To compute this bound, the audit projects the released numbers on the "
    "line through the two noiseless answers, and counts how often a projection lies nearer to the answer of D'. any "
    "law: a lower bound from rare events, for noise of any law. Each bound holds by itself with the confidence below."
)
