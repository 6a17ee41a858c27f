"""Distinguishing games on any rule: one step, or several with the rule's state, scored by what training runs show.

A game has three lots of runs. From the first the scores are learnt (`nfa.audit.scores`), on the second one of them and
a threshold are chosen, and the third is counted. What is counted is therefore an event fixed before its runs, and
exact bounds on two probabilities bound what the rule gives away, whichever score it was.
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

CHUNK = 500  # runs whose outputs are held at a time
MOST_RUNS = 50  # times the counted runs: of the game on rare events
LEAST_HITS = 50  # that it waits for, of twice as many expected: fewer come once in ten million times


@dataclass(frozen=True, kw_only=True, eq=False)
class Claim:
    """A rule and what it states.

    Parameters
    ----------
    name : str
    rule : function (net, B, x, y, rng, state) -> (dW, db), everything else bound; state is a dict that one run keeps
        from step to step, empty at the start
    quiet : function (net, B, x, y, seed, state) -> (dW, db), the same without noise; a rule that draws nothing else
        has one answer for all seeds
    mechanism : function (net, B) -> Mechanism, of law "gaussian"
    draw : function rng -> NeighbourPair, see `nfa.audit.worst_neighbours.draw_pair`
    not_drawn : phrases for the report: what `draw` never draws
    """

    name: str
    rule: Callable
    quiet: Callable
    mechanism: Callable[[Net, list], Mechanism]
    draw: Callable[[np.random.Generator], NeighbourPair]
    not_drawn: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, eq=False)
class Steps:
    """Consecutive steps on one pair, as one game: the record is there in the first of them, and then gone.

    A step without the record has world 0's batch in both worlds. So noise that is used twice shows in the difference
    of two steps, and noise that is taken back in their sum.

    Parameters
    ----------
    claim : Claim
    pair : NeighbourPair
    steps : int >= 1
    first : int in 1 .. steps, in how many steps the record takes part; None for half of them
    """

    claim: Claim
    pair: NeighbourPair
    steps: int = 1
    first: int | None = None

    @property
    def uses(self) -> int:
        """Steps in which the record takes part."""
        return (self.steps + 1) // 2 if self.first is None else self.first

    @property
    def stated(self) -> float:
        """The distance of the two worlds over the noise that all steps together state: sqrt(uses) times one step's."""
        return math.sqrt(self.uses) / self.claim.mechanism(self.pair.net, self.pair.B).noise_multiplier

    @property
    def ends(self) -> Ends:
        """What both worlds release without noise."""

        def quiet(net, B, x, y, rng, state):
            return self.claim.quiet(net, B, x, y, 0, state)

        f0, f1 = (self._run(world, quiet, None) for world in (0, 1))
        return Ends(f0=f0, f1=f1, std=self.claim.mechanism(self.pair.net, self.pair.B).noise_std)

    def outputs(self, world: int, n: int, rng: np.random.Generator) -> np.ndarray:
        """What n runs release, all steps of a run in one row."""
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
    """A game and what it was decided by.

    Parameters
    ----------
    summary : GameSummary; bounds and claim are of all its steps together
    score : str, what the counted event looks at
    one_step : float >= 0, lower bound on the epsilon of one step
    alike : (a_0, a_1), in how many of all runs of either world noise was left out or used twice, see
        `nfa.audit.scores.Ends.coincidences`
    runs : int, all runs of each world
    """

    summary: GameSummary
    score: str
    one_step: float
    alike: tuple[int, int]
    runs: int

    @property
    def refuted(self) -> bool:
        """Whether a bound is above the claim."""
        return max(self.summary.lower_bound or 0.0, self.summary.any_law) > self.summary.claims["stated"]

    def as_json(self) -> dict[str, Any]:
        """The numbers under the names of `--json`."""
        return self.summary.as_json() | {"score": self.score, "lower_bound_one_step": self.one_step}


def distinguish(name: str, game: Steps, settings: AuditOptions, *, stream: int) -> GameOutcome:
    """Learn, choose and count.

    Parameters
    ----------
    name : str, what the progress and the tables call it
    game : Steps
    settings : AuditOptions; as many runs a side as there are trials are counted, and as many again spent before
    stream : int, number of the noise stream, another one for every game

    Notes
    -----
    Two events are counted, each with half of the error probability: one that bounds the distance of the worlds in
    units of the noise (`nfa.audit.private_game.shift_lower_bound`), and a rare one that bounds epsilon for any law.
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
    with np.errstate(divide="ignore"):  # a bound of 0 says nothing: -inf
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
    """Runs a side with which `rare_events` is likely to refute, after what was seen; inf for more than `MOST_RUNS`.

    They are enough if the event has half the rate at which it was seen in one world, and is never seen in the other.
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
    """The game on noise that is left out or used twice, where some has been seen.

    The event is fixed: `nfa.audit.scores.Ends.coincidences` speaks for the world in which it was seen more often. So
    all runs are counted.
    """
    n, rng, ends = settings.trials, Streams(settings.seed)("noise", stream), game.ends
    name = f"{outcome.summary.name}, rare events"
    sign = 1 if outcome.alike[1] >= outcome.alike[0] else -1
    counted = _scored(game, {"": ends.coincidences}, n, rng, _progress(name, settings, 2 * n))[""]
    seen = (int((sign * counted[0] > 0).sum()), int((sign * counted[1] > 0).sum()))
    hits = seen[::sign]  # of the event in the world that it speaks against, and in the other
    confidence = (1 + settings.confidence) / 2
    mu = shift_lower_bound(hits, n, confidence=confidence)
    event = float(epsilon_lower_bound(hits, n, delta=settings.delta, confidence=confidence))
    return _outcome(name, game, settings, mu, event, auc(counted[1], counted[0]), "coincidences", seen, n)


def _outcome(name: str, game: Steps, settings: AuditOptions, mu, event, area, score, alike, runs) -> GameOutcome:
    """What a game has shown, from its two bounds, which are of all its steps together."""
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
    """Each score of n fresh runs of world 0 and of world 1."""
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
    """The score and the threshold with the best bound on these runs; of equal ones that with the widest gap.

    The bound is gained[k_1] - lost[k_0], of the numbers of scores in either world that reach the threshold.
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
