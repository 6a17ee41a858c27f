"""The audit of any rule that says what it releases: its own `mechanism` held against what the rule does.

Three questions. How far can one record move the answer without noise (`nfa.audit.worst_neighbours`)? Is there as much
noise as stated on every number, an empty batch included? And are the two batches that the search found told apart more
often than the stated sensitivity and noise allow?
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy import stats
from threadpoolctl import threadpool_limits

from nfa.audit.game import play
from nfa.audit.private_game import Shown, epsilon_of_shift, flat, number, shift_lower_bound
from nfa.audit.reports import AuditOptions, Part, Report
from nfa.audit.worst_neighbours import Found, Place, search
from nfa.mechanism import Mechanism
from nfa.network import Net
from nfa.noise import Streams

DRAWS, CLIMBS, EVALUATIONS = 200, 3, 1000  # of the search
ROUNDING = 1e-6  # above the stated sensitivity, relatively, from which it counts as exceeded
RUNS = 400  # in which the noise of each number is measured


@dataclass(frozen=True, kw_only=True, eq=False)
class Claim:
    """A rule and what it states.

    Parameters
    ----------
    name : str
    rule : function (net, B, x, y, rng) -> (dW, db), everything else bound
    quiet : function (net, B, x, y, seed) -> (dW, db), the same without noise; a rule that draws nothing else has one
        answer for all seeds
    mechanism : function (net, B) -> Mechanism, of law "gaussian"
    draw : function rng -> Place, see `nfa.audit.worst_neighbours.draw_place`
    """

    name: str
    rule: Callable
    quiet: Callable
    mechanism: Callable[[Net, list], Mechanism]
    draw: Callable[[np.random.Generator], Place]


def moved(claim: Claim, settings: AuditOptions, *, draws: int, climbs: int, evaluations: int) -> Found:
    """The search for the neighbours that move the rule most, in units of the stated sensitivity."""
    return search(
        lambda net, B, x, y: flat(*claim.quiet(net, B, x, y, 0)),
        lambda net, B: claim.mechanism(net, B).sensitivity,
        claim.draw,
        draws=draws,
        climbs=climbs,
        evaluations=evaluations,
        rng=Streams(settings.seed)("data"),
    )


def least_noise(claim: Claim, place: Place, settings: AuditOptions) -> tuple[float, float]:
    """The least standard deviation of a released number over the stated one, and from where it is too little.

    Returns
    -------
    least : float >= 0, over all numbers, on both batches of the place, from `RUNS` runs each
    enough : float; noise as stated falls below it with probability at most 1 - confidence
    """
    said, rng = claim.mechanism(place.net, place.B), Streams(settings.seed)("noise", 0)
    found = [
        np.std([flat(*claim.rule(place.net, place.B, x, y, rng)).astype(float) for _ in range(RUNS)], axis=0, ddof=1)
        for x, y in zip(place.x, place.y, strict=True)
    ]
    error = (1 - settings.confidence) / sum(map(len, found))
    return float(np.min(found) / said.noise_std), math.sqrt(stats.chi2.ppf(error, RUNS - 1) / (RUNS - 1))


def told_apart(claim: Claim, name: str, place: Place, settings: AuditOptions, stream: int) -> Shown:
    """The game on the two batches of a place, its statistic learnt from runs of their own.

    The score is Fisher's: the outputs along the difference of their means, weighted by the inverse of their
    covariance, so that numbers without noise, or with noise that others share, speak loudest.
    """
    said, rng = claim.mechanism(place.net, place.B), Streams(settings.seed)("noise", stream)

    def sample(world: int, rng: np.random.Generator) -> np.ndarray:
        return flat(*claim.rule(place.net, place.B, place.x[world], place.y[world], rng)).astype(float)

    learnt = [np.array([sample(world, rng) for _ in range(max(settings.trials, 2))]) for world in (0, 1)]
    means = [outputs.mean(axis=0) for outputs in learnt]
    covariance = np.mean([np.cov(outputs, rowvar=False) for outputs in learnt], axis=0)
    ridge = max(1e-12 * float(np.trace(covariance)), (1e-9 * said.noise_std) ** 2)
    direction = np.linalg.solve(covariance + ridge * np.eye(len(covariance)), means[1] - means[0])
    middle = direction @ (means[0] + means[1]) / 2
    confidence = (1 + settings.confidence) / 2  # for each of the two bounds, so that both hold together
    claimed = epsilon_of_shift(1 / said.noise_multiplier, settings.delta)
    game = play(
        sample,
        lambda output: float(direction @ output - middle),
        claimed_epsilon=claimed,
        delta=settings.delta,
        trials=settings.trials,
        confidence=confidence,
        progress=lambda done, of: settings.progress(name, done, of),
        rng=rng,
    )
    hits = [int((scores >= 0).sum()) for scores in game.scores]
    mu = shift_lower_bound(hits, settings.trials, confidence=confidence)
    return Shown(
        name=name,
        trials=settings.trials,
        claims={"stated": claimed},
        exact=None,
        lower_bound=epsilon_of_shift(mu, settings.delta),
        any_law=game.lower_bound,
        auc=game.auc,
    )


def audit(
    claim: Claim, settings: AuditOptions, *, draws: int = DRAWS, climbs: int = CLIMBS, evaluations: int = EVALUATIONS
) -> Report:
    """All three; the headline is the largest lower bound. The last three are as for
    `nfa.audit.worst_neighbours.search`.

    Raises
    ------
    NoGuarantee : if the rule's own mechanism refuses
    ValueError : if it states another law than the Gaussian, or the rule draws more than normals
    """
    with threadpool_limits(1):  # many small products: more threads get into each other's way
        first = claim.draw(Streams(settings.seed)("data", 1))
        said = claim.mechanism(first.net, first.B)
        if said.law != "gaussian":
            raise ValueError(
                f"the law of the noise must be gaussian for this audit, rule {claim.name} states {said.law}"
            )
        answers = [flat(*claim.quiet(first.net, first.B, first.x[1], first.y[1], seed)) for seed in (0, 1)]
        if not np.array_equal(answers[0], answers[1]):
            raise ValueError(f"rule {claim.name} draws more than normals, so that its answers cannot be compared")
        found = moved(claim, settings, draws=draws, climbs=climbs, evaluations=evaluations)
        places = {"furthest apart": found.place}
        if found.place.adjacency == "add-remove":
            x, y = ((world[0][len(world[0]) :], world[1][-1:]) for world in (found.place.x, found.place.y))
            places["a record alone"] = replace(found.place, x=x, y=y)
        each = replace(settings, confidence=1 - (1 - settings.confidence) / len(places))
        noise = [least_noise(claim, place, each) for place in places.values()]
        shown = [told_apart(claim, *one, each, stream) for stream, one in enumerate(places.items(), start=1)]
    said = claim.mechanism(found.place.net, found.place.B)
    claimed = epsilon_of_shift(1 / said.noise_multiplier, settings.delta)
    exceeded, little = found.ratio > 1 + ROUNDING, any(least < enough for least, enough in noise)
    known = epsilon_of_shift(found.ratio / said.noise_multiplier, settings.delta) if exceeded else 0.0
    return Report(
        target=claim.name,
        claimed_epsilon=claimed,
        lower_bound=max([known, *(max(one.lower_bound or 0.0, one.any_law) for one in shown)]),
        confidence=settings.confidence,
        auc=max(one.auc for one in shown),
        delta=settings.delta,
        title=f"{claim.name}, beside what its mechanism states of one step under {said.adjacency}",
        parts=(_moved_part(found, said, exceeded), _noise_part(noise, places, said, little), _game_part(shown)),
        details={
            "law": "gaussian",
            "trials": [settings.trials, settings.trials],
            "sensitivity": {"stated": said.sensitivity, "moved": found.ratio * said.sensitivity, "exceeded": exceeded},
            "noise": {"stated": said.noise_std, "least": min(noise)[0] * said.noise_std, "too_little": little},
            "games": [one.as_json() for one in shown],
        },
    )


def _moved_part(found: Found, said: Mechanism, exceeded: bool) -> Part:
    words = "Nothing found moves it by more than is stated, which is no proof."
    if exceeded:
        words = "The stated sensitivity is exceeded: it is none, whatever the noise."
    elif found.ratio == 0:
        words = "Nothing is left of the answer where all normals are 0: the rule draws some of its own. See the games."
    return Part(
        heading="How far one record moves the answer without noise, in l2",
        columns=("", "moved", "of stated"),
        rows=(
            ("stated sensitivity", number(said.sensitivity), "100 %"),
            ("random neighbours", number(found.drawn * said.sensitivity), f"{100 * found.drawn:.4g} %"),
            ("after the ascent", number(found.ratio * said.sensitivity), f"{100 * found.ratio:.4g} %"),
        ),
        after=(words,),
    )


def _noise_part(noise, places, said: Mechanism, little: bool) -> Part:
    return Part(
        heading="Noise on each released number",
        before=(f"Standard deviations from {RUNS} runs on each batch; stated is {said.noise_std:.4g}.",),
        columns=("batches", "least, of stated", "too little below"),
        rows=tuple(
            (name, f"{100 * least:.4g} %", f"{100 * enough:.4g} %")
            for name, (least, enough) in zip(places, noise, strict=True)
        ),
        after=("There is less noise than stated.",) if little else (),
    )


def _game_part(shown: list[Shown]) -> Part:
    return Part(
        heading="Distinguishing games: epsilon of one step",
        columns=("batches", "runs", "stated", "at least", "any law"),
        rows=tuple(
            (one.name, f"{one.trials:,}", *map(number, (one.claims["stated"], one.lower_bound, one.any_law)))
            for one in shown
        ),
        after=(
            "stated: the exact epsilon of Gaussian noise of the stated size and sensitivity. at least: a lower bound "
            "that refutes this pair of numbers. any law: a bound from rare events. All hold together with the "
            "confidence below.",
        ),
    )
