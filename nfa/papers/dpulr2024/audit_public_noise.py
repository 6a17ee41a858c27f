"""An audit of the sound DP-ULR rule, and of the same rule if Equation 8 sets its internal noise from the batch.

`nfa.rules.dp_ulr_sound` clips jointly and adds noise to the sum. The size of its internal noise must be public. Here
the rule itself runs on Poisson batches of add-remove neighbours, with public noise and with the controller's noise.
"""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
from scipy import optimize
from scipy.special import ndtr

from nfa.audit.game import GameResult, play
from nfa.audit.reports import AuditOptions, Part
from nfa.network import Net, forward
from nfa.network.dense import Dense
from nfa.network.ops import Loss, identity
from nfa.noise import Streams
from nfa.rules.dp_ulr_sound import dp_ulr_sound

SIGMA_0, C, Q, K = 4.0, 1.0, 0.2, 25
OTHERS = 1000
# The other records have a loss with sin(SLOPE z). Noise of std 0.7 hardly changes its gradient, but noise of std 50
# hides its gradient.
SLOPE = 0.5
LOUD = 1000.0  # the target's loss divided by the loss of another record at z = 0
# Records (a, b) have the loss a + b sin(z / 2). The last record is only in D'.
CROWD = np.array([(1.0, 0.9)] * OTHERS + [(LOUD, 0.0)])  # many records that move the bias together, and one large loss
ALONE = np.array([(1.0, 100.0)])  # only one record, with a gradient norm far above C: the worst neighbours
SIGMA = math.sqrt(Q * OTHERS / K) / (C * SIGMA_0)  # public: Equation 8 for qN examples with loss 1


def _wave(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    return y[:, 0] + y[:, 1] * np.sin(SLOPE * z[:, 0])


def _wave_error(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    return SLOPE * y[:, 1:] * np.cos(SLOPE * z)


wave = Loss("wave", identity.phi, _wave, _wave_error)


def with_controller(net: Net, x: np.ndarray, y: np.ndarray, *, rng: np.random.Generator) -> tuple[list, list]:
    r"""`dp_ulr_sound` with the internal noise of Equation 8. This is unsound, because the noise depends on the batch.

    .. math:: \sigma^2 = \frac{\sum_i \ell_i^2}{K C^2 \sigma_0^2}

    Source: [dpulr2024:eq8] [dpulr2024:lim-losses]
    """
    z, _ = forward(net, x)
    loss = net.loss.value(z[net.L], y)  # (k,)
    sigma = max(math.sqrt(float(loss @ loss) / K) / (C * SIGMA_0), 1e-9)  # an empty batch has no losses
    return dp_ulr_sound(net, x, y, sigma=sigma, sigma_0=SIGMA_0, C=C, K=K, m=Q * OTHERS, rng=rng)


with_public_noise = partial(dp_ulr_sound, sigma=SIGMA, sigma_0=SIGMA_0, C=C, K=K, m=Q * OTHERS)


def unit() -> Net:
    """One unit with the loss `wave` and parameters 0. With inputs 0, it learns only its bias, which has Jacobian 1."""
    net = Net((1,), [(Dense(1),)], loss=wave, rng=np.random.default_rng(0))
    net.W[1][:], net.b[1][:] = 0, 0
    return net


def bias(rule: Callable, net: Net, records: np.ndarray, world: int, rng: np.random.Generator) -> float:
    """The bias of the sum, q N times the released bias, for one Poisson batch. World 0 lacks the last record."""
    y = records[np.flatnonzero(rng.random(len(records) - 1 + world) < Q)]
    _, db = rule(net, np.zeros((len(y), 1)), y, rng=rng)
    return Q * OTHERS * db[1].item()


def play_crowd(rule: Callable, settings: AuditOptions, *, trials: tuple[int, int], stream: int) -> GameResult:
    """A game on the record with the large loss.

    Without this record, the sum is near 85. With this record, the controller's noise hides the other records. The
    threshold is half of 85.
    """
    half = 0.5 * 0.9 * SLOPE * Q * OTHERS * math.exp(-((SLOPE * SIGMA) ** 2) / 2)
    return _play("the loud record", rule, CROWD, -half, -1, settings, trials, stream)


def play_alone(settings: AuditOptions, *, trials: tuple[int, int], stream: int) -> GameResult:
    """A game on the worst neighbours of the sound rule, with the best threshold for 20,000 runs on D and on D'."""
    return _play("one record", with_public_noise, ALONE, 3.5, 1, settings, trials, stream)


def _play(name, rule, records, threshold, sign, settings, trials, stream) -> GameResult:
    return play(
        partial(bias, rule, unit(), records),
        lambda total: sign * total,
        claimed_epsilon=one_step(delta=settings.delta),
        delta=settings.delta,
        trials=trials,
        confidence=settings.confidence,
        threshold=threshold,
        progress=lambda done, of: settings.progress(name, done, of),
        rng=Streams(settings.seed)("noise", stream),
    )


def one_step(*, delta: float, q: float = Q, sigma_0: float = SIGMA_0) -> float:
    r"""The exact epsilon of one sampled Gaussian step under add-remove: the larger epsilon of the two directions.

    .. math:: \delta = \max\Big\{ H_{e^\epsilon}\big((1 - q) N(0, \sigma_0^2) + q N(1, \sigma_0^2) \,\|\,
              N(0, \sigma_0^2)\big), \; H_{e^\epsilon}(\cdot \,\|\, \cdot) \text{ exchanged} \Big\}

    Source: [dpulr2024:def1]

    Examples
    --------
    >>> round(one_step(delta=1e-5), 4)
    0.2271
    """

    def spent(epsilon: float) -> float:
        grow = math.exp(epsilon)
        t = 0.5 + sigma_0**2 * math.log((grow - 1 + q) / q)  # above t, the law with the record is larger
        there = (1 - q - grow) * ndtr(-t / sigma_0) + q * ndtr((1 - t) / sigma_0)
        if 1 / grow <= 1 - q:
            return there
        s = 0.5 + sigma_0**2 * math.log((1 / grow - 1 + q) / q)  # below s, the law without the record is larger
        return max(there, (1 - grow * (1 - q)) * ndtr(s / sigma_0) - grow * q * ndtr((s - 1) / sigma_0))

    if spent(1e-9) <= delta:
        return 0.0
    return float(optimize.brentq(lambda epsilon: spent(epsilon) - delta, 1e-9, 100, xtol=1e-12))


def part(settings: AuditOptions) -> tuple[Part, dict]:
    """The part of Theorem 2's audit about the sound rule, with public noise and with the noise of Equation 8."""
    cost = one_step(delta=settings.delta)
    runs, crowd = settings.at_most(20_000, 20_000), settings.at_most(20_000, 5_000)
    games = {
        "Equation 8, loud record": play_crowd(with_controller, settings, trials=crowd, stream=7),
        "public, loud record": play_crowd(with_public_noise, settings, trials=crowd, stream=8),
        "public, one record": play_alone(settings, trials=runs, stream=9),
    }
    found = Part(
        heading="The corrected DP-ULR, with and without Equation 8",
        before=(
            "These games run nfa.rules.dp_ulr_sound itself. The rule clips jointly, adds N(0, (sigma_0 C)^2 I) to the"
            f" sum and draws Poisson batches with q = {Q:g} and sigma_0 = {SIGMA_0:g}. One step costs exactly epsilon"
            f" = {cost:.3g}. Loud record: D has a thousand examples, and D' has one more example, with a thousand"
            " times the loss of the others. One record: D is empty, and D' has one example with a gradient norm far"
            " above C.",
        ),
        columns=("internal noise, neighbours", "runs", "said D' on D", "on D'", "eps >="),
        rows=tuple(
            (
                name,
                " + ".join(f"{n:,}" for n in one.trials),
                *(f"{k:,}" for k in one.hits),
                f"{one.lower_bound:.3g}",
            )
            for name, one in games.items()
        ),
        after=(
            "With Equation 8, the internal noise depends on the batch, so C no longer bounds the change from one"
            " record. With public noise, the audit does not refute the guarantee. This result alone is no proof. The"
            " proof is in nfa.rules.dp_ulr_sound.mechanism.",
        ),
    )
    shown = [{"name": name} | one.as_json() for name, one in games.items()]
    return found, {"sound": {"one_step_epsilon": cost, "games": shown}}
