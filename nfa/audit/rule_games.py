"""Distinguishing games on any rule, on one step or on several steps with the rule's state. We learn scores from runs.

A game has three sets of runs. We learn the scores from the first set (`nfa.audit.scores`). We use the second set to
choose one score and a threshold. In the third set, we count how often the score reaches the threshold. This event is
fixed before the counted runs. So Clopper-Pearson bounds on its probabilities in the two worlds give a valid lower bound
on epsilon, for every score.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from nfa.audit.bounds import clopper_pearson, epsilon_lower_bound
from nfa.audit.game import thresholds_of
from nfa.audit.private_game import GameSummary, epsilon_of_shift, flat, shift_lower_bound
from nfa.audit.reports import AuditOptions
from nfa.audit.roc import auc
from nfa.audit.scores import Ends, Score, learn
from nfa.audit.worst_neighbours import NeighbourPair
from nfa.mechanism import Mechanism
from nfa.network import Net
from nfa.noise import Streams

CHUNK = 500  # number of runs whose outputs are in memory at the same time
MOST_RUNS = 50  # largest number of runs of the game on rare events, as a multiple of the counted runs
# Hits that the game on rare events needs. We expect 100 hits, and fewer than 50 have probability about 1e-7.
LEAST_HITS = 50


@dataclass(frozen=True, kw_only=True, eq=False)
class Claim:
    """A rule and the mechanism that it states.

    Parameters
    ----------
    name : str
    rule : function (net, B, x, y, rng, state) -> (dW, db), with all other arguments bound. state is a dict that a run
        passes from step to step. It is empty at the start
    quiet : function (net, B, x, y, seed, state) -> (dW, db), the rule without noise. If the rule draws no other random
        numbers, the result is the same for all seeds
    mechanism : function (net, B) -> Mechanism with the law "gaussian"
    draw : function rng -> NeighbourPair, see `nfa.audit.worst_neighbours.draw_pair`
    not_drawn : phrases for the report, each for a case that `draw` never draws
    """

    name: str
    rule: Callable
    quiet: Callable
    mechanism: Callable[[Net, list], Mechanism]
    draw: Callable[[np.random.Generator], NeighbourPair]
    not_drawn: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Steps:
    """A game on consecutive steps of one pair. The record is in the batches of the first steps only.

    A step without the record has world 0's batch in both worlds. So noise that is used twice appears in the difference
    of two steps, and noise that is subtracted later appears in their sum.

    Parameters
    ----------
    claim : Claim
    pair : NeighbourPair
    steps : int >= 1
    first : int in 1 .. steps, number of steps with the record; None for half of the steps, rounded up
    """

    claim: Claim
    pair: NeighbourPair
    steps: int = 1
    first: int | None = None

    @property
    def uses(self) -> int:
        """Number of steps with the record."""
        return (self.steps + 1) // 2 if self.first is None else self.first

    @property
    def stated(self) -> float:
        """The stated sensitivity / std for all steps together: sqrt(uses) times the quotient for one step."""
        return math.sqrt(self.uses) / self.claim.mechanism(self.pair.net, self.pair.B).noise_multiplier

    @property
    def ends(self) -> Ends:
        """The release without noise in world 0 and in world 1."""

        def quiet(net, B, x, y, rng, state):
            return self.claim.quiet(net, B, x, y, 0, state)

        f0, f1 = (self._run(world, quiet, None) for world in (0, 1))
        return Ends(f0=f0, f1=f1, std=self.claim.mechanism(self.pair.net, self.pair.B).noise_std)

    def outputs(self, world: int, n: int, rng: np.random.Generator) -> np.ndarray:
        """The releases of n runs, with all steps of a run in one row."""
        with np.errstate(all="ignore"):
            return np.array([self._run(world, self.claim.rule, rng) for _ in range(n)])

    def _run(self, world: int, rule: Callable, rng) -> np.ndarray:
        state: dict = {}
        found = []
        for step in range(self.steps):
            x, y = self.pair.batch(world if step < self.uses else 0)
            found.append(flat(*rule(self.pair.net, self.pair.B, x, y, rng, state)).astype(float))
        return np.concatenate(found)


@dataclass(frozen=True, kw_only=True, eq=False)
class GameOutcome:
    """The result of a game, and the counted event.

    Parameters
    ----------
    summary : GameSummary, with bounds and claim for all steps of the game together
    score : str, description of the counted event
    one_step : float >= 0, lower bound on the epsilon of one step
    alike : (a_0, a_1), the number of runs of each world in which noise was missing or used twice, see
        `nfa.audit.scores.Ends.coincidences`
    runs : int, number of all runs in each world
    """

    summary: GameSummary
    score: str
    one_step: float
    alike: tuple[int, int]
    runs: int

    @property
    def refuted(self) -> bool:
        """Whether one of the two lower bounds is above the claim."""
        return max(self.summary.lower_bound or 0.0, self.summary.any_law) > self.summary.claims["stated"]

    def as_json(self) -> dict[str, Any]:
        """The fields, with their names in the output of `--json`."""
        return self.summary.as_json() | {"score": self.score, "lower_bound_one_step": self.one_step}


def distinguish(name: str, game: Steps, settings: AuditOptions, *, stream: int) -> GameOutcome:
    """Play a game: learn scores, choose a score and a threshold, and count the runs that reach the threshold.

    Parameters
    ----------
    name : str, name of the game in the progress and the tables
    game : Steps
    settings : AuditOptions; the trials are the counted runs in each world. The first two sets of runs together have as
        many runs as the third set
    stream : int, number of the noise stream, different for every game

    Notes
    -----
    We count two events, each with half of the error probability. The first event gives a bound on the distance between
    the worlds in units of the noise (`nfa.audit.private_game.shift_lower_bound`). The second event is rare and gives a
    bound on epsilon for noise of any law.
    """
    n, rng, ends = settings.trials, Streams(settings.seed)("noise", stream), game.ends
    before = max(n // 2, 2)
    progress = _progress(name, settings, 2 * (2 * before + n))
    confidence = (1 + settings.confidence) / 2
    learnt = [game.outputs(world, before, rng) for world in (0, 1)]
    progress(2 * before)
    scores = learn((learnt[0], learnt[1]), ends, game.steps, rng)
    tuned = _scored(game, scores, before, rng, progress)
    low, high = clopper_pearson(np.arange(before + 1), before, error=(1 - confidence) / 2)
    with np.errstate(divide="ignore"):  # a bound of 0 becomes -inf, which gives no information
        by_shift = _choose(tuned, ndtri(low), ndtri(high))
        by_event = _choose(tuned, np.log(np.maximum(low - settings.delta, 0)), np.log(high))
    counted = _scored(game, {one: scores[one] for one in {by_shift[0], by_event[0], "coincidences"}}, n, rng, progress)
    hits = [[int((side >= threshold).sum()) for side in counted[one]] for one, threshold in (by_shift, by_event)]
    mu = shift_lower_bound(hits[0], n, confidence=confidence)
    event = float(epsilon_lower_bound(hits[1], n, delta=settings.delta, confidence=confidence))
    alike = [
        sum(int((part != 0).sum()) for part in (ends.coincidences(learnt[world]), tuned["coincidences"][world],
                                                counted["coincidences"][world]))
        for world in (0, 1)
    ]  # fmt: skip
    area = auc(counted[by_shift[0]][1], counted[by_shift[0]][0])
    return _outcome(name, game, settings, mu, event, area, by_shift[0], (alike[0], alike[1]), 2 * before + n)


def runs_needed(outcome: GameOutcome, game: Steps, settings: AuditOptions) -> float:
    """The number of runs in each world with which `rare_events` probably refutes the claim; inf if it is too large.

    We take the frequency of the event in the runs so far. For safety, we assume half of this frequency in one world and
    no event in the other world. The number of runs is enough if the game then refutes the claim. The largest allowed
    number is `MOST_RUNS` times the trials.
    """
    rate, n = max(outcome.alike) / outcome.runs, settings.trials
    while n <= MOST_RUNS * settings.trials:
        hits = int(rate * n / 2)
        if (
            hits >= LEAST_HITS
            and shift_lower_bound((0, hits), n, confidence=(1 + settings.confidence) / 2) > game.stated
        ):
            return n
        n *= 2
    return math.inf


def rare_events(game: Steps, outcome: GameOutcome, settings: AuditOptions, *, stream: int) -> GameOutcome:
    """The game on noise that is missing or used twice. It is played if such noise occurred in the other games.

    The event is fixed before the runs: `nfa.audit.scores.Ends.coincidences` decides for the world in which the event
    was more frequent in the other games. So all runs are counted.
    """
    n, rng, ends = settings.trials, Streams(settings.seed)("noise", stream), game.ends
    name = f"{outcome.summary.name}, rare events"
    sign = 1 if outcome.alike[1] >= outcome.alike[0] else -1
    counted = _scored(game, {"": ends.coincidences}, n, rng, _progress(name, settings, 2 * n))[""]
    seen = (int((sign * counted[0] > 0).sum()), int((sign * counted[1] > 0).sum()))
    hits = seen[::sign]  # counts of the event, the second in the world for which the event is evidence
    confidence = (1 + settings.confidence) / 2
    mu = shift_lower_bound(hits, n, confidence=confidence)
    event = float(epsilon_lower_bound(hits, n, delta=settings.delta, confidence=confidence))
    return _outcome(name, game, settings, mu, event, auc(counted[1], counted[0]), "coincidences", seen, n)


def _outcome(name: str, game: Steps, settings: AuditOptions, mu, event, area, score, alike, runs) -> GameOutcome:
    """The result of a game from its two bounds, which are for all steps together."""
    return GameOutcome(
        summary=GameSummary(
            name=name,
            trials=settings.trials,
            claims={"stated": epsilon_of_shift(game.stated, settings.delta)},
            exact=None,
            lower_bound=epsilon_of_shift(mu, settings.delta),
            any_law=event,
            auc=area,
        ),
        score=score,
        one_step=max(epsilon_of_shift(mu / math.sqrt(game.uses), settings.delta), event if game.steps == 1 else 0.0),
        alike=alike,
        runs=runs,
    )


def _scored(game: Steps, scores: dict[str, Score], n: int, rng, progress: Callable[[int], None]) -> dict[str, list]:
    """The values of each score for n fresh runs of world 0 and of world 1."""
    found: dict[str, list] = {name: [] for name in scores}
    for world in (0, 1):
        parts: dict[str, list] = {name: [] for name in scores}
        for start in range(0, n, CHUNK):
            outputs = game.outputs(world, min(CHUNK, n - start), rng)
            for name, score in scores.items():
                parts[name].append(np.nan_to_num(score(outputs)))
            progress(len(outputs))
        for name, some in parts.items():
            found[name].append(np.concatenate(some))
    return found


def _choose(tuned: dict[str, list], gained: np.ndarray, lost: np.ndarray) -> tuple[str, float]:
    """The score and the threshold with the largest bound on these runs and, among equal bounds, the largest k_1 - k_0.

    The bound is gained[k_1] - lost[k_0], where k_0 and k_1 count the scores of each world that reach the threshold.
    """
    choices = []
    for name, scores in tuned.items():
        sides = [np.sort(side) for side in scores]
        thresholds = thresholds_of(sides)
        k0, k1 = (len(side) - np.searchsorted(side, thresholds, side="left") for side in sides)
        bounds = gained[k1] - lost[k0]
        i = int(np.lexsort((k1 - k0, bounds))[-1])
        choices.append((float(bounds[i]), int(k1[i] - k0[i]), name, float(thresholds[i])))
    return max(choices)[2:]


def _progress(name: str, settings: AuditOptions, total: int) -> Callable[[int], None]:
    done = 0

    def told(more: int) -> None:
        nonlocal done
        done += more
        settings.progress(name, done, total)

    return told
