"""The audit of DP-SGD: games with the rule on its worst neighbours, compared with the accountant's epsilon.

With two classes and a softmax, the error of a record is a multiple of (1, -1), and backpropagation is linear in the
error. So a record and the same record with the other label have opposite gradients in all layers, for all weights. The
norm of each of the two gradients is above C. After the clip, the distance between the two gradients is 2 C, which is
the sensitivity of the sum.
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from nfa.audit.game import play, projection
from nfa.audit.private_game import LAW, GameSummary, Pair, flat, measure, measure_pair, number, share
from nfa.audit.reports import AuditOptions, Part, Report, Target
from nfa.audit.worst_neighbours import LEFT_OUT
from nfa.network import Net, mlp, ops
from nfa.noise import Streams
from nfa.privacy.accountant import epsilon
from nfa.privacy.gaussians import epsilon_gaussian
from nfa.rules.dp_sgd import dp_sgd, mechanism

NAME = "dp_sgd"
SIZES, M, C = (4, 3, 2), 8, 0.01  # C is below the norm of each single layer's gradient
SIGMA = 2 * C / M  # std of the noise of one step; the noise multiplier is 1 under replace-one
STEPS, LR = 3, 1.0  # settings of a short training; the noise of each step is sqrt(STEPS) SIGMA
RATE, POISSON_SIGMA = 0.25, C / M
FEWER = 20  # we divide the number of trials by this factor if one trial is a whole training


def worst_pair(adjacency: str, seed: int) -> tuple[Net, tuple, tuple]:
    """A small network and two batches that differ in the first record.

    Parameters
    ----------
    adjacency : "replace-one", "add-remove" or "zero-out". Under "replace-one", the record has another label in world 1.
        Under "add-remove" and "zero-out", the record is missing in the sum of world 0
    seed : int >= 0; chooses weights and records

    Returns
    -------
    net : Net, 4-3-2, sigmoid
    x, y : pairs of (8, 4) and (8, 2) arrays for world 0 and world 1. In the world without the record, the arrays have
        seven rows
    """
    streams = Streams(seed)
    net = mlp(SIZES, ops.sigmoid, rng=streams("init"))
    rng = streams("data")
    x, y = rng.standard_normal((M, SIZES[0])), np.eye(2)[rng.integers(2, size=M)]
    if adjacency in LEFT_OUT:
        return net, (x[1:], x), (y[1:], y)
    other = y.copy()
    other[0] = 1 - y[0]
    return net, (x, x), (y, other)


def games(settings: AuditOptions, rule: Callable = dp_sgd) -> list[GameSummary]:
    """Four games: two on one step, one on a training, and one on a training with Poisson batches.

    Parameters
    ----------
    settings : AuditOptions
    rule : the audited rule, with the signature of `nfa.rules.dp_sgd.dp_sgd`
    """
    few = max(1, settings.trials // FEWER)
    return [
        one_step("replace-one", settings, rule, trials=settings.trials, stream=1),
        one_step("add-remove", settings, rule, trials=max(1, settings.trials // 2), stream=2),
        training(settings, rule, trials=few, stream=3),
        poisson_training(settings, rule, trials=few, stream=4),
    ]


def one_step(
    adjacency: str, settings: AuditOptions, rule: Callable = dp_sgd, *, trials: int, stream: int = 1
) -> GameSummary:
    """The game on one step. The batch has all records."""
    net, x, y = worst_pair(adjacency, settings.seed)
    claimed, exact = _claims(adjacency, SIGMA, 1, settings.delta)
    pair = Pair(rule=partial(rule, net, C=C, m=M), x=x, y=y, sigma=SIGMA)
    return measure_pair(
        f"{adjacency}, 1 step", pair, trials=trials, claims={"claimed": claimed}, exact=exact,
        settings=settings, stream=stream,
    )  # fmt: skip


def training(settings: AuditOptions, rule: Callable = dp_sgd, *, trials: int, stream: int = 3) -> GameSummary:
    """The game on several steps under replace-one. Every batch has all records, and each step updates the weights."""
    start, x, y = worst_pair("replace-one", settings.seed)
    sigma = math.sqrt(STEPS) * SIGMA
    claimed, exact = _claims("replace-one", sigma, STEPS, settings.delta)

    def run(world: int, rng: np.random.Generator) -> float:
        """The score of a training: the sum of the projections of the steps' releases on the noiseless difference."""
        net, total = start.copy(), 0.0
        for _ in range(STEPS):
            pair = Pair(rule=partial(rule, net, C=C, m=M), x=x, y=y, sigma=sigma)
            dW, db = rule(net, x[world], y[world], C=C, m=M, sigma=sigma, rng=rng)
            total += float(projection(*pair.noiseless())(flat(dW, db)))
            _step(net, dW, db)
        return total

    return measure(
        f"replace-one, {STEPS} steps", run, float, shift=STEPS * 2 * C / M, std=math.sqrt(STEPS) * sigma,
        trials=trials, claims={"claimed": claimed}, exact=exact, settings=settings, stream=stream,
    )  # fmt: skip


def poisson_training(settings: AuditOptions, rule: Callable = dp_sgd, *, trials: int, stream: int = 4) -> GameSummary:
    """The game on several steps with Poisson batches under add-remove. The lower bound is valid for noise of any law.

    D has no record, and D' has one record. The score is the log likelihood ratio, which is the sum over the steps of
    log(1 - q + q exp((<g, f> - |f|^2 / 2) / sigma^2)). Here g is the release and f the noiseless direction of the
    record.
    """
    start, (_, x), (_, y) = worst_pair("add-remove", settings.seed)
    x, y = x[:1], y[:1]
    released = mechanism(C=C, m=M, sigma=POISSON_SIGMA, adjacency="add-remove", sampling="poisson", sampling_rate=RATE)
    claimed = epsilon([(released, STEPS)], delta=settings.delta, conversion="mironov2017").epsilon

    def run(world: int, rng: np.random.Generator) -> float:
        net, total = start.copy(), 0.0
        for _ in range(STEPS):
            drawn = slice(0, int(world == 1 and rng.random() < RATE))
            dW, db = rule(net, x[drawn], y[drawn], C=C, m=M, sigma=POISSON_SIGMA, rng=rng)
            f = flat(*rule(net, x, y, C=C, m=M, sigma=0.0, rng=rng))
            log_ratio = (flat(dW, db) @ f - f @ f / 2) / POISSON_SIGMA**2
            total += float(np.logaddexp(math.log1p(-RATE), math.log(RATE) + log_ratio))
            _step(net, dW, db)
        return total

    name = f"add-remove, {STEPS} Poisson steps"
    game = play(
        run, float, claimed_epsilon=claimed, delta=settings.delta, trials=trials, confidence=settings.confidence,
        progress=lambda done, of: settings.progress(name, done, of), rng=Streams(settings.seed)("noise", stream),
    )  # fmt: skip
    return GameSummary(
        name=name,
        trials=trials,
        claims={"claimed": claimed},
        exact=None,
        lower_bound=None,
        any_law=game.lower_bound,
        auc=game.auc,
    )


def audit(settings: AuditOptions) -> Report:
    """The report of the four games. The main result is that of the game on one step under replace-one."""
    with threadpool_limits(1):  # because more threads would slow down the many small products
        summaries = games(settings)
    first = summaries[0]
    assert first.lower_bound is not None
    return Report(
        target=NAME,
        claimed_epsilon=first.claims["claimed"],
        lower_bound=first.lower_bound,
        confidence=settings.confidence,
        auc=first.auc,
        delta=settings.delta,
        title="DP-SGD on its worst neighbours, compared with the epsilon of the accountant",
        parts=(_part(summaries),),
        details={
            "law": "gaussian",
            "trials": [first.trials, first.trials],
            "sigma": SIGMA,
            "exact_epsilon": first.exact,
            "lower_bound_any_law": first.any_law,
            "games": [one.as_json() for one in summaries],
        },
    )


TARGET = Target(
    name=NAME,
    aliases=("dp-sgd", "dp_bp", "dp-bp"),
    about="DP-SGD: the epsilon of the accountant, on the worst neighbours",
    audit=audit,
    trials=20_000,
)


def _claims(adjacency: str, sigma: float, steps: int, delta: float) -> tuple[float, float]:
    """The accountant's epsilon and the exact epsilon of this number of steps, if every batch has all records."""
    released = mechanism(C=C, m=M, sigma=sigma, adjacency=adjacency, sampling="none", sampling_rate=1.0)
    together = released.noise_multiplier / math.sqrt(steps)
    return (
        epsilon([(released, steps)], delta=delta, conversion="mironov2017").epsilon,
        epsilon_gaussian(delta=delta, noise_multiplier=together),
    )


def _step(net: Net, dW: list, db: list) -> None:
    for l in range(1, net.L + 1):
        net.W[l] -= LR * dW[l]
        net.b[l] -= LR * db[l]


def _part(summaries: list[GameSummary]) -> Part:
    return Part(
        heading="Distinguishing games on the rule itself",
        before=(
            f"The network is {'-'.join(map(str, SIZES))}, a batch has {M} records, and C = {C:g}. replace-one: the "
            "first record has the other label in D', so the clipped gradient of this record is the opposite "
            "vector, in all layers together. add-remove: the first record is missing in D. Every run executes "
            "the rule itself, with fresh noise. The adversary sees all steps of a run. Poisson: a batch takes each "
            f"record with probability {RATE:g}. D has no record, and D' has one record.",
        ),
        columns=("", "runs", "claimed", "exact", "at least", "of exact", "any law"),
        rows=tuple(
            (
                one.name,
                f"{one.trials:,}",
                *map(number, (one.claims["claimed"], one.exact, one.lower_bound)),
                share(one),
                number(one.any_law),
            )
            for one in summaries
        ),
        after=(
            "claimed: the epsilon of the accountant, from the mechanism of the rule and Renyi divergences. " + LAW,
            f"For one step sigma is {SIGMA:g}, so the noise multiplier is 1 for a record replaced and 2 for a record "
            f"added. For each of {STEPS} steps sigma is sqrt({STEPS}) times as large, so the exact epsilon is the same "
            f"as for one step. For Poisson batches sigma is {POISSON_SIGMA:g}.",
        ),
    )
