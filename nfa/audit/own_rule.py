"""The audit of any rule that states a mechanism. The audit compares the outputs of the rule with this mechanism.

The audit answers four questions:

- How much can one record change the direction without noise (`nfa.audit.worst_neighbours`), for records of every size
  (`nfa.audit.outliers`)?
- Does every released value have as much noise as stated, also for an empty batch?
- Does the rule's state carry information about a record to later steps (`nfa.audit.state`)?
- Can an attacker distinguish two batches better than the stated sensitivity and noise allow? The attacker observes
  one step, or several steps with the state (`nfa.audit.rule_games`).
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats
from threadpoolctl import threadpool_limits

from nfa import require
from nfa.audit.outliers import Outlier, most_telling, outlier, rounding
from nfa.audit.private_game import epsilon_of_shift, flat, number
from nfa.audit.reports import AuditOptions, Part, Report
from nfa.audit.rule_games import Claim, GameOutcome, Steps, distinguish, rare_events, runs_needed
from nfa.audit.state import LATER, Carried, carried, remembers
from nfa.audit.worst_neighbours import LEFT_OUT, Answer, NeighbourPair, SearchResult, StatedSensitivity, search
from nfa.mechanism import Mechanism
from nfa.noise import Streams

DRAWS, CLIMBS, EVALUATIONS = 200, 3, 1000  # settings of the search
STEPS = 4  # number of steps of the game on consecutive steps
FEWER = 2  # the number of runs is divided by this factor in the game on consecutive steps
PILOT_STREAM = 100  # number of the noise stream of pilot runs; the games use the streams 1, 2, ...
RUNS = 400  # number of runs that measure the noise of each value
DRAWS_PAIRS = 20  # number of random pairs on which two seeds must give the same direction if all normals are 0
STATE_PAIRS = 30  # number of random pairs on which the audit measures the effect of the state on later steps
DRAWS_STREAM, STATE_STREAM = 2, 3  # numbers of data streams; the search and the first pair use others


def moved(claim: Claim, settings: AuditOptions, *, draws: int, climbs: int, evaluations: int) -> SearchResult:
    """The result of the search for the neighbours with the largest distance, in units of the stated sensitivity."""
    return search(
        _answer(claim),
        _stated(claim),
        claim.draw,
        draws=draws,
        climbs=climbs,
        evaluations=evaluations,
        rng=Streams(settings.seed)("data"),
    )


def least_noise(claim: Claim, pair: NeighbourPair, settings: AuditOptions) -> tuple[float, float]:
    """The smallest quotient of the measured and the stated std of a released value, and a limit for this quotient.

    Returns
    -------
    least : float >= 0, smallest quotient over all released values and the two batches of the pair, from `RUNS` runs on
        each batch
    enough : float, the limit. If the noise is as stated, ``least`` is below ``enough`` with probability at most
        1 - confidence
    """
    said, rng = claim.mechanism(pair.net, pair.B), Streams(settings.seed)("noise", 0)
    found = [
        np.std(
            [flat(*claim.rule(pair.net, pair.B, *pair.batch(world), rng, {})).astype(float) for _ in range(RUNS)],
            axis=0,
            ddof=1,
        )
        for world in (0, 1)
    ]
    error = (1 - settings.confidence) / sum(map(len, found))
    return float(np.min(found) / said.noise_std), math.sqrt(stats.chi2.ppf(error, RUNS - 1) / (RUNS - 1))


def pairs_of(claim: Claim, found: SearchResult, settings: AuditOptions) -> dict[str, NeighbourPair]:
    """The pairs of batches for the games of one step, by name.

    The first pair is the result of the search. In the second pair, the record has the size that `most_telling` returns.
    If the record is missing in one world's sum, the second pair has no records except this one.
    """
    pair = found.pair
    if pair.adjacency in LEFT_OUT:
        x, y = ((world[0][len(world[0]) :], world[1][-1:]) for world in (pair.x, pair.y))
        pair = replace(pair, x=x, y=y, place=None, copies=0)

    def run(pair: NeighbourPair, world: int, rng: np.random.Generator) -> np.ndarray:
        return Steps(claim=claim, pair=pair).outputs(world, 1, rng)[0]

    resized = most_telling(run, pair, _answer(claim), _stated(claim), Streams(settings.seed)("noise", PILOT_STREAM))
    name = "a record alone" if pair.adjacency in LEFT_OUT else "a record"
    return {"furthest apart": found.pair, f"{name}, size {np.abs(resized.x[1][-1]).max():.0e}": resized}


def audit(
    claim: Claim,
    settings: AuditOptions,
    *,
    steps: int = STEPS,
    draws: int = DRAWS,
    climbs: int = CLIMBS,
    evaluations: int = EVALUATIONS,
) -> Report:
    """The report of the audit. Its main result is the largest lower bound on the epsilon of one step.

    Parameters
    ----------
    claim : Claim
    settings : AuditOptions. The error probability, 1 - confidence, is divided among all games
    steps : int >= 2, number of steps of the game on consecutive steps
    draws, climbs, evaluations : as for `nfa.audit.worst_neighbours.search`

    Raises
    ------
    NoGuarantee : if the rule's function `mechanism` raises it
    ValueError : if the law of the stated mechanism is not Gaussian, if the rule draws random numbers other than
        normals, or if there are fewer than two steps
    """
    require.whole(2, steps=steps)
    # More threads would slow down the many small products. NumPy need not warn of overflows, because the audit reports
    # them.
    with threadpool_limits(1), np.errstate(all="ignore"):
        first = claim.draw(Streams(settings.seed)("data", 1))
        said = claim.mechanism(first.net, first.B)
        if said.law != "gaussian":
            raise ValueError(f"this audit needs gaussian noise, but rule {claim.name} states {said.law} noise")
        rng = Streams(settings.seed)("data", DRAWS_STREAM)
        for pair in (first, *(claim.draw(rng) for _ in range(DRAWS_PAIRS))):
            answers = [flat(*claim.quiet(pair.net, pair.B, *pair.batch(1), seed, {})) for seed in (0, 1)]
            if not np.array_equal(answers[0], answers[1], equal_nan=True):
                raise ValueError(
                    f"the rule must draw only normal random numbers, but rule {claim.name} draws other random"
                    " numbers. So the audit cannot compare the outputs"
                )
        found = moved(claim, settings, draws=draws, climbs=climbs, evaluations=evaluations)
        farthest = outlier(_answer(claim), _stated(claim), [found.pair, first])
        pairs = pairs_of(claim, found, settings)
        both = replace(settings, confidence=1 - (1 - settings.confidence) / len(pairs))
        noise = [least_noise(claim, pair, both) for pair in pairs.values()]
        through = _through_state(claim, [found.pair, first], settings)
        outcomes = games(claim, pairs, settings, steps=steps, carried=through.most)
    said = claim.mechanism(found.pair.net, found.pair.B)
    claimed = epsilon_of_shift(1 / said.noise_multiplier, settings.delta)
    searched = found.ratio > 1 + rounding(found.pair.x[1].dtype)
    little = any(least < enough for least, enough in noise)
    further = farthest.ratio > found.ratio * (1 + rounding(farthest.dtype))
    most = farthest.ratio if further else found.ratio
    reached = most if searched or farthest.exceeded else 0.0
    known = math.inf if reached == math.inf else epsilon_of_shift(reached / said.noise_multiplier, settings.delta)
    best = max(outcomes, key=lambda one: one.one_step)
    return Report(
        target=claim.name,
        claimed_epsilon=claimed,
        lower_bound=max(known, best.one_step),
        confidence=settings.confidence,
        auc=max(one.summary.auc for one in outcomes),
        delta=settings.delta,
        title=f"{claim.name}, compared with its mechanism for one step under {said.adjacency}",
        parts=(
            _moved_part(found, farthest, said, searched),
            _noise_part(noise, pairs, said, little),
            *_state_part(through, claim),
            _game_part(outcomes),
        ),
        details={
            "law": "gaussian",
            "trials": [settings.trials, settings.trials],
            "sensitivity": {
                "stated": said.sensitivity,
                "moved": most * said.sensitivity,
                "exceeded": searched or farthest.exceeded,
                "outlier": {"size": farthest.size, "dtype": str(farthest.dtype), "of_stated": farthest.ratio},
            },
            "noise": {"stated": said.noise_std, "least": min(noise)[0] * said.noise_std, "too_little": little},
            "state": {"kept": through.kept, "pairs": through.pairs, "carried": _carried_of_stated(claim, through.most)},
            "games": [one.as_json() for one in outcomes],
        },
        not_looked_at=_not_looked_at(claim, through, steps, settings.trials),
    )


def games(
    claim: Claim,
    pairs: dict[str, NeighbourPair],
    settings: AuditOptions,
    *,
    steps: int = STEPS,
    carried: Carried | None = None,
) -> list[GameOutcome]:
    """Games on one step, a game on several steps of the first pair, and possibly a game on rare events.

    The game on rare events is played if such events occurred in the other games.

    If the state carries information about a record to later steps, one more game ends with the step that the record
    changes most.

    Each game has an equal share of the error probability, whether the game is played or not. So if the stated
    mechanism is correct, the probability that any game refutes it is at most 1 - confidence.

    Parameters
    ----------
    claim : Claim
    pairs : at least one pair of batches by name
    settings : AuditOptions
    steps : int >= 2
    carried : Carried, the information that the state carries about a record; None if there is none
    """
    several = {f"{steps} steps": Steps(claim=claim, pair=next(iter(pairs.values())), steps=steps)}
    if carried is not None:
        name = f"{carried.step} steps, the record in step 1"
        several[name] = Steps(claim=claim, pair=carried.pair, steps=carried.step, first=1)
    each = replace(settings, confidence=1 - (1 - settings.confidence) / (len(pairs) + len(several) + 1))
    fewer = replace(each, trials=max(settings.trials // FEWER, 1))
    games = [(name, Steps(claim=claim, pair=pair), each) for name, pair in pairs.items()]
    games += [(name, game, fewer) for name, game in several.items()]
    outcomes = [distinguish(name, game, how, stream=i) for i, (name, game, how) in enumerate(games, start=1)]
    if any(one.refuted for one in outcomes):
        return outcomes
    needed = [runs_needed(one, game, each) for one, (_, game, _) in zip(outcomes, games, strict=True)]
    cheapest = min(range(len(games)), key=lambda i: needed[i] * games[i][1].steps)
    if needed[cheapest] == math.inf:
        return outcomes
    many = replace(each, trials=int(needed[cheapest]))
    return [*outcomes, rare_events(games[cheapest][1], outcomes[cheapest], many, stream=len(games) + 1)]


def _answer(claim: Claim) -> Answer:
    return lambda net, B, x, y: flat(*claim.quiet(net, B, x, y, 0, {}))


def _stated(claim: Claim) -> StatedSensitivity:
    return lambda net, B: claim.mechanism(net, B).sensitivity


@dataclass(frozen=True, kw_only=True, eq=False)
class _ThroughState:
    """The result of the search for information about a record that the state carries to later steps.

    Parameters
    ----------
    kept : bool, whether the rule writes anything into its state
    pairs : int >= 0, number of pairs on which the search could run
    most : Carried, the result with the largest distance in units of the stated sensitivity; None if no pair gave a
        result
    """

    kept: bool
    pairs: int
    most: Carried | None


def _through_state(claim: Claim, pairs: list[NeighbourPair], settings: AuditOptions) -> _ThroughState:
    """Search, on these pairs and on random pairs, for information that the state carries to later steps."""
    if not remembers(claim.rule, pairs[0]):
        return _ThroughState(kept=False, pairs=0, most=None)
    rng, asked, most = Streams(settings.seed)("data", STATE_STREAM), 0, None
    for pair in (*pairs, *(claim.draw(rng) for _ in range(STATE_PAIRS))):
        try:
            one = carried(claim.rule, pair, std=claim.mechanism(pair.net, pair.B).noise_std, seed=settings.seed)
        except ValueError:
            continue
        asked += 1
        if one is not None and (most is None or _of_stated(claim, one) > _of_stated(claim, most)):
            most = one
    return _ThroughState(kept=True, pairs=asked, most=most)


def _of_stated(claim: Claim, found: Carried) -> float:
    return found.distance / claim.mechanism(found.pair.net, found.pair.B).sensitivity


def _carried_of_stated(claim: Claim, found: Carried | None) -> float:
    return 0.0 if found is None else _of_stated(claim, found)


def _not_looked_at(claim: Claim, through: _ThroughState, steps: int, trials: int) -> tuple[str, ...]:
    state = (
        f"data that the rule keeps in its state for more than {LATER} steps"
        if through.pairs
        else f"data that the rule keeps in its state, except in the game of {steps} steps"
    )
    return (
        "networks with other layers, activations or losses",
        *claim.not_drawn,
        f"more than {steps} steps, weights that change between steps, batches drawn at random",
        *((state,) if through.kept else ()),
        "data that the rule keeps outside its state",
        "properties of the noise other than mean, spread, correlation and repetition",
        f"events that happen less often than once in about {trials:,} steps",
        "seeds, the generator and the low bits of floating-point numbers",
    )


def _moved_part(found: SearchResult, farthest: Outlier, said: Mechanism, searched: bool) -> Part:
    words = (
        "The search found no record that moves the answer by more than the stated sensitivity. This result does not "
        "prove the sensitivity."
    )
    if searched or farthest.exceeded:
        words = "A record moves the answer by more than the stated sensitivity, so the stated value is no upper bound."
    elif found.ratio == 0:
        words = (
            "If all normal random numbers are 0, the record does not move the answer, because the rule uses these "
            "numbers not only for its noise. The games below examine the rule with noise."
        )
    if farthest.ratio == math.inf:
        words = "A record with finite values makes the answer infinite or NaN. No noise hides such a record."
    some = (
        f"At {farthest.raised} sizes of the record, the rule raises an error. An error also distinguishes the two "
        "data sets, but the audit does not count errors."
    )
    rows = {
        "random neighbours": found.drawn,
        "after the ascent": found.ratio,
        f"a record of size {farthest.size:.0e}, {farthest.dtype}": farthest.ratio,
    }
    return Part(
        heading="How far one record moves the answer without noise, in l2 norm",
        columns=("", "moved", "of stated"),
        rows=(
            ("stated sensitivity", number(said.sensitivity), "100 %"),
            *((name, number(one * said.sensitivity), f"{100 * one:.4g} %") for name, one in rows.items()),
        ),
        after=(words, *((some,) if farthest.raised else ())),
    )


def _noise_part(noise, pairs, said: Mechanism, little: bool) -> Part:
    return Part(
        heading="Noise on each released number",
        before=(
            f"The standard deviations are from {RUNS} runs on each batch. The stated standard deviation is "
            f"{said.noise_std:.4g}.",
        ),
        columns=("batches", "least, of stated", "too little below"),
        rows=tuple(
            (name, f"{100 * least:.4g} %", f"{100 * enough:.4g} %")
            for name, (least, enough) in zip(pairs, noise, strict=True)
        ),
        after=("There is less noise than stated.",) if little else (),
    )


def _state_part(through: _ThroughState, claim: Claim) -> tuple[Part, ...]:
    if not through.kept:
        return ()
    said = (
        "The noise is not a normal of the stated size on each released number, so the audit cannot examine the state."
    )
    if through.most is not None:
        said = (
            f"The record is not in step {through.most.step}, but the answer of this step still moves by "
            f"{_of_stated(claim, through.most):.4g} times the stated sensitivity. So the state of the rule keeps "
            "information about the record."
        )
    elif through.pairs:
        said = "The search found no information about the record in later steps. This result is no proof."
    return (
        Part(
            heading="Information about a record in the state of the rule",
            before=(
                "Step 1 uses the record, with noise such that both data sets release the same values. The next "
                f"{LATER} steps do not use the record.",
            ),
            after=(said,),
        ),
    )


def _game_part(outcomes: list[GameOutcome]) -> Part:
    alike = max((max(one.alike) for one in outcomes), default=0)
    return Part(
        heading="Distinguishing games: epsilon of one step, or of several",
        columns=("batches", "runs", "stated", "at least", "any law", "score"),
        rows=tuple(
            (
                one.summary.name,
                f"{one.summary.trials:,}",
                *map(number, (one.summary.claims["stated"], one.summary.lower_bound, one.summary.any_law)),
                one.score,
            )
            for one in outcomes
        ),
        after=(
            *((f"In up to {alike:,} runs, the rule left out noise or used the same noise twice.",) if alike else ()),
            "stated: the exact epsilon of Gaussian noise of the stated size and sensitivity. at least: a lower "
            "bound on epsilon for Gaussian noise. any law: a lower bound from rare events, for noise of any law. "
            "All bounds hold together with the confidence below. score: the score that distinguished the two data "
            "sets best in runs that are not counted. In a game of several steps, the record takes part in the "
            "first half of the steps, or only in step 1 if the name says so.",
        ),
    )
