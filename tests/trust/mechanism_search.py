"""A search for neighbours whose results differ by more than a rule's mechanism states, and audits of rules.

``python -m tests.trust.mechanism_search`` writes results/trust-mechanisms/search.json, which takes hours on one core.
With ``--missing``, it adds only the rules that the file lacks, and their broken versions. The games take most of the
time. The option ``--no-games`` leaves them out. tests/trust/test_mechanism_search.py tests some or all of these
settings. The settings are in mechanism_kinds.py. The releases and mechanisms of the rules are in mechanism_rules.py.
The broken rules are in broken_claims.py.
"""

import argparse
import json
import platform
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import scipy
from scipy import stats
from threadpoolctl import threadpool_limits

from nfa import ops
from nfa.audit import own_rule
from nfa.audit.game import projection
from nfa.audit.private_game import epsilon_of_shift, flat, measure
from nfa.audit.reports import AuditOptions
from nfa.audit.rule_games import Claim
from nfa.audit.worst_neighbours import NeighbourPair, search
from nfa.cli.terminal import plain
from nfa.network import forward, mlp
from nfa.privacy.accountant import epsilon
from nfa.rules.dp_sgd import dp_sgd
from tests.trust.broken_claims import broken, caught, refusal, refused, unseen_in_means
from tests.trust.mechanism_kinds import Kind, kinds
from tests.trust.mechanism_rules import DELTA, SEARCHED, SEED, coupled, released, says

ROUNDING = 1e-12  # allowed relative excess over the stated sensitivity in float64
ROUNDING_32 = 1e-5  # allowed relative excess in float32
TIGHT = 0.99
GIVEN = np.random.Generator(np.random.PCG64(0))  # rules without noise do not use this generator


# --- the search


def look(kind: Kind, seed, *, draws=60, climbs=1, evaluations=300) -> dict:
    """Search one kind.

    If the sensitivity of the kind is stated as attained but the search stays below it, make a longer search.
    """
    one, rng = kind.setting(), np.random.default_rng(seed)
    found = search(one.answer, one.stated, one.draw, draws=draws, climbs=climbs, evaluations=evaluations, rng=rng)
    drawn = found.drawn
    for longer in (1, 4, 16):
        if one.attained and found.ratio < TIGHT:
            found = search(
                one.answer, one.stated, one.draw, draws=draws, climbs=2, evaluations=longer * evaluations,
                offered=[found.pair], rng=rng,
            )  # fmt: skip
    return {"rule": one.rule, "setting": f"{one.about}, {one.adjacency}", "said_attained": one.attained,
            "random": drawn, "ratio": found.ratio}  # fmt: skip


def search_all(*, seed: int = SEED, done: Collection[str] = ()) -> dict:
    """Search every kind with its own hyper-parameters, and with other hyper-parameters in float64 and float32.

    Returns the largest ratios of each rule not in ``done``.
    """
    found: dict[str, dict] = {}
    for i, kind in enumerate(kinds()):
        if kind.rule in done:
            continue
        print(f"{i + 1} of {len(kinds())}: {kind.rule}, {kind.about}, {kind.adjacency}", file=sys.stderr)
        one = found.setdefault(kind.rule, {"kinds": [], "searched": 0, "float64": 0.0, "float32": 0.0})
        one["kinds"].append(look(kind, (seed, i)))
        one["searched"] += 3
        one["float64"] = max(one["float64"], one["kinds"][-1]["ratio"])
        for dtype in ("float64", "float32"):
            other = kind.other(np.random.default_rng((seed, i)), np.dtype(dtype).type)
            told = look(other, (seed, i), draws=40, climbs=1, evaluations=60)
            one[dtype] = max(one[dtype], told["ratio"])
    return found


# --- audits of sound rules

TRIALS = 60  # trials for each of the two neighbours
DEEPER = {"trials": 2000, "draws": 30, "climbs": 1, "evaluations": 150}  # for mistakes that do not change the mean


def worst(rule: str) -> tuple[Kind, NeighbourPair, float]:
    """A kind of network for the rule, and a pair of neighbours that attains the rule's sensitivity."""
    kind = min((k for k in kinds() if k.rule == rule and k.attained), key=lambda k: k.net.n_parameters)
    one, rng, pairs = kind.setting(), np.random.default_rng(SEED), []
    for longer in (1, 4, 16):
        found = search(
            one.answer, one.stated, one.draw, draws=60, climbs=2, evaluations=500 * longer, offered=pairs, rng=rng
        )
        pairs = [found.pair]
        if found.ratio >= TIGHT:
            break
    return kind, found.pair, found.ratio


def audits(rule: str, count: int, *, seed: int = SEED, trials: int = TRIALS) -> dict:
    """Audits of one step at 95 % confidence, on neighbours that attain the sensitivity, with noise of std equal to it.

    We compare each audit with the exact epsilon of the stated sensitivity and noise, and with the accountant's epsilon.
    A true claim cannot be below the exact epsilon. The score is the projection on the line through the two results
    without noise.
    """
    kind, pair, ratio = worst(rule)
    one, B = kind.setting(), kind.held(pair.B)
    known = {**kind.hyper, **({"weigh": coupled} if rule == "dp_ulr_sound" else {})}
    moved = one.stated(pair.net, pair.B)
    # this rule states its noise in units of C / m
    noise = moved / (kind.hyper["C"] / kind.hyper["m"]) if rule == "dp_ulr_sound" else moved
    said = says(rule, pair.net, B, kind.hyper, noise, kind.adjacency)
    exact = epsilon_of_shift(1 / said.noise_multiplier, DELTA)
    counted = epsilon([(said, 1)], delta=DELTA, conversion="mironov2017").epsilon
    ends = [one.answer(pair.net, pair.B, x, y) for x, y in zip(pair.x, pair.y, strict=True)]
    score = projection(*(np.broadcast_to(np.asarray(end, float), np.shape(ends[1])) for end in ends))

    def sample(world: int, rng: np.random.Generator) -> np.ndarray:
        return released(rule, pair.net, B, pair.x[world], pair.y[world], known, noise, rng)

    settings = AuditOptions(trials=trials, delta=DELTA)
    shown = [
        measure(
            rule, sample, score, shift=ratio * moved, std=said.noise_std, trials=trials, claims={}, exact=exact,
            settings=replace(settings, seed=seed + i), stream=1,
        )
        for i in range(count)
    ]  # fmt: skip
    bounds = [one.lower_bound for one in shown]
    return {
        "setting": f"{kind.about}, {kind.adjacency}",
        "ratio": ratio,
        "audits": count,
        "runs_a_side": trials,
        "exact_epsilon": exact,
        "counted_epsilon": counted,
        "above_exact": sum(bound > exact for bound in bounds),
        "above_exact_any_law": sum(one.any_law > exact for one in shown),
        "above_counted": sum(bound > counted for bound in bounds),
        "median_bound": float(np.median(bounds)),
    }


def as_claim(kind: Kind, pair: NeighbourPair) -> Claim:
    """A claim for the games of `nfa audit --rule`: a sound rule on a pair from `worst`.

    Its release is the W[1] of a direction. The std of the noise equals the sensitivity.
    """
    one, B = kind.setting(), kind.held(pair.B)
    moved = one.stated(pair.net, pair.B)
    noise = moved / (kind.hyper["C"] / kind.hyper["m"]) if kind.rule == "dp_ulr_sound" else moved
    known = {**kind.hyper, **({"weigh": coupled} if kind.rule == "dp_ulr_sound" else {})}

    def shaped(out: np.ndarray) -> tuple[list, list]:
        return [None, np.asarray(out, float)], [None, np.zeros(0)]

    return Claim(
        name=kind.rule,
        rule=lambda net, _, x, y, rng, state: shaped(released(kind.rule, net, B, x, y, known, noise, rng)),
        quiet=lambda net, _, x, y, seed, state: shaped(one.answer(net, pair.B, x, y)),
        mechanism=lambda net, _: says(kind.rule, net, B, kind.hyper, noise, kind.adjacency),
        draw=one.draw,
    )


def games_on(rule: str, count: int, *, seed: int = SEED, trials: int = TRIALS) -> dict:
    """Play all games of `nfa audit --rule` ``count`` times at 95 %, on neighbours that attain the sensitivity."""
    kind, pair, _ = worst(rule)
    one = as_claim(kind, pair)
    pairs = {"furthest apart": pair, "the same, other runs": pair}
    refuted, scores = 0, Counter()
    for i in range(count):
        outcomes = own_rule.games(one, pairs, AuditOptions(trials=trials, delta=DELTA, seed=seed + i))
        refuted += any(game.refuted for game in outcomes)
        scores.update(game.score for game in outcomes)
    return {"setting": f"{kind.about}, {kind.adjacency}", "audits": count, "runs_a_side": trials, "refuted": refuted,
            "looked_at": dict(scores.most_common())}  # fmt: skip


def most_false_alarms(count: int, doubt: float = 0.05) -> int:
    """The number of false alarms that ``count`` audits at 95 % confidence exceed with probability at most ``doubt``."""
    return int(stats.binom.isf(doubt, count, 0.05))


# --- effects of rounding, which exact arithmetic would not have


def rounded_otherwise(*, tries: int = 20) -> tuple[float, bool]:
    """The relative change of DP-SGD's direction by a second record if ReLUs are at 0 up to rounding.

    The rounding of a product may depend on the number of records, which is a property of the linear algebra library.
    The second result is True if the rounding depends on this number for some network of the test. The first record's
    units are exactly 0 in one batch, and differ from 0 by a last bit in the other batch. So the gradient of the first
    record moves from the biases of the output layer to the weights below.
    """
    largest, differs = 0.0, False
    for seed in range(tries):
        net = mlp((40, 64, 2), ops.relu, rng=np.random.default_rng(seed))
        x = 10 * np.tile(np.random.default_rng(seed).standard_normal(40), (2, 1))
        net.W[2][:] *= 100
        net.b[1][:] = -(x[:1] @ net.W[1].T)[0]
        differs |= bool((forward(net, x)[0][1][0] != forward(net, x[:1])[0][1][0]).any())
        y = np.eye(2)[[0, 0]]
        one, both = (flat(*dp_sgd(net, x[:k], y[:k], C=0.1, m=1, sigma=0.0, rng=GIVEN)) for k in (1, 2))
        # 0.1 = C / m is the sensitivity for adding a record
        largest = max(largest, float(np.linalg.norm(both - one)) / 0.1)
    return largest, differs


# --- the whole record


def record(
    *, seed: int = SEED, count: int = 500, had: dict | None = None, played: Collection[str] = tuple(SEARCHED)
) -> dict:
    """All results. If an earlier record is given, only the results that it lacks are computed."""
    had = {name: {} for name in ("search", "audits", "games", "broken", "unseen_in_means")} | (had or {})
    start = time.monotonic()

    def each(part: str, names: Iterable[str], look: Callable[[str], dict]) -> dict:
        return had[part] | {name: look(name) for name in names if name not in had[part]}

    wrong, unseen = broken(), unseen_in_means()
    with threadpool_limits(1):
        told = {
            "seed": seed,
            "versions": {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__},
            "search": had["search"] | search_all(seed=seed, done=had["search"]),
            "audits": each("audits", SEARCHED, lambda rule: audits(rule, count, seed=seed)),
            "most_false_alarms": most_false_alarms(count),
            "games": each("games", played, lambda rule: games_on(rule, count, seed=seed)),
            "broken": each("broken", wrong, lambda name: caught(wrong[name], seed=seed)),
            "unseen_in_means": each("unseen_in_means", unseen, lambda name: caught(unseen[name], seed=seed, **DEEPER)),
            "rounding_beside_a_kink": rounded_otherwise()[0],
            "refused": {name: refusal(call) for name, call in refused().items()},
        }
    return told | {"seconds": round(time.monotonic() - start) + had.get("seconds", 0)}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--audits", type=int, default=500)
    parser.add_argument("--out", default="results/trust-mechanisms", help="folder for search.json")
    parser.add_argument("--missing", action="store_true", help="take over what search.json has, and add what it lacks")
    parser.add_argument("--no-games", action="store_true", help="play no games that the file does not have")
    asked = parser.parse_args()
    path = Path(asked.out, "search.json")
    had = json.loads(path.read_text()) if asked.missing else None
    if had and (had["seed"], {one["audits"] for one in had["audits"].values()}) != (asked.seed, {asked.audits}):
        parser.error(f"{path} has another seed or number of audits")
    told = plain(record(seed=asked.seed, count=asked.audits, had=had, played=() if asked.no_games else SEARCHED))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(told, indent=1) + "\n")
    print(json.dumps(told, indent=1))
