"""The span attack on the repaired photonic rule, whose isotropic noise reaches everywhere, beside the best test."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from nfa.papers.ohana2021.span_attack import layer_input, residuals_to, span_basis
from nfa.papers.ohana2021.span_isotropic import gaussian_auc, noisy_residuals
from nfa.papers.ohana2021.span_trials import CLIPS, TAU_B, Attacked, SpanAttack, T
from nfa.privacy.accountant import calibrate, epsilon
from nfa.rules.pdfa_isotropic import mechanism, pdfa_isotropic

# What the noise is calibrated for: Table 1's training, 15 epochs of 54,000 images, its batches drawn without
# replacement.
N, EPOCHS, EPSILON, DELTA, CONVERSION = 54_000, 15, 3.0, 1e-5, "canonne2020"
DRAWS = 2000  # of the noise, a side
SWEEP = tuple(10 ** (k / 2) for k in range(-14, -1))  # noise_std of the curve that shows where the attack dies


@dataclass(frozen=True, kw_only=True, eq=False)
class RepairedAudit:
    """The same attack on the direction with isotropic noise at a valid (epsilon, delta), beside the best test there is.

    Parameters
    ----------
    epsilon, delta, adjacency, sampling, steps, bound : of the whole training that the noise is calibrated for
    sampling_rate : float
    noise_multiplier, noise_std : floats; noise_std is s, of every entry of the mean
    attacks : list of SpanAttack, batch known (every layer) and unknown (layers with as many rows as records)
    optimal_auc : float, of the likelihood ratio test of one update, all layers and biases, averaged over the pairs
        D, D' of the attack
    largest_optimal_auc : float, the same for the pair that differs most
    bound_auc : float, what it would be for the two worst records that the clips allow, 1/z apart
    sweep : list of SweepPoint
    """

    epsilon: float
    delta: float
    adjacency: str
    sampling: str
    sampling_rate: float
    steps: int
    bound: str
    noise_multiplier: float
    noise_std: float
    attacks: list[SpanAttack]
    optimal_auc: float
    largest_optimal_auc: float
    bound_auc: float
    sweep: list


@dataclass(frozen=True, kw_only=True)
class SweepPoint:
    """AUCs against isotropic noise of one size, layer 1.

    Parameters
    ----------
    noise_std : float, of every entry of the mean
    known, blind : floats, of the span attack with the batch known and unknown
    optimal : float, of the best test between D and D', all layers and biases
    """

    noise_std: float
    known: float
    blind: float
    optimal: float


def repaired_audit(setting: Attacked, trials: int) -> RepairedAudit:
    """The span attack on the direction of `nfa.rules.pdfa_isotropic`, its noise calibrated to (3, 1e-5).

    Parameters
    ----------
    setting : Attacked
    trials : int >= 1, pairs D, D' that differ in one record; each gets `DRAWS` draws of the noise a side
    """
    net, _ = setting.net(np.float64)
    rate, steps = setting.m / N, EPOCHS * math.ceil(N / setting.m)
    scheme: dict[str, Any] = {"adjacency": "replace-one", "sampling": "without-replacement", "sampling_rate": rate}
    settings: dict[str, Any] = {name: value for name, value in CLIPS.items() if name != "floor"}
    settings |= {"net": net, "m": setting.m, "tau_B": TAU_B, "bias": "clipped"}
    needed = calibrate(target_epsilon=EPSILON, delta=DELTA, steps=steps, conversion=CONVERSION, **scheme)
    assert needed.noise_multiplier is not None  # of one Gaussian mechanism
    s = needed.noise_multiplier * mechanism(s=1.0, **settings, **scheme).sensitivity
    released = mechanism(s=s, **settings, **scheme)
    spent = epsilon([(released, steps)], delta=DELTA, conversion=CONVERSION)
    pairs = [draw_pair(setting, trial) for trial in range(trials)]
    optimal = [gaussian_auc(pair.distance, s) for pair in pairs]
    rng = setting.streams("noise", 2**31 + 2**30)
    return RepairedAudit(
        epsilon=spent.epsilon,
        delta=spent.delta,
        adjacency=spent.adjacency,
        sampling=spent.sampling,
        sampling_rate=rate,
        steps=steps,
        bound=spent.bound,
        noise_multiplier=released.noise_multiplier,
        noise_std=s,
        attacks=[known_attack(pairs, l, s, DRAWS, rng) for l in range(1, net.L + 1)]
        + [blind_attack(setting, l, s, math.ceil(DRAWS / setting.m), rng) for l in (1, 2)],
        optimal_auc=float(np.mean(optimal)),
        largest_optimal_auc=max(optimal),
        bound_auc=gaussian_auc(released.sensitivity, s),
        sweep=[
            SweepPoint(
                noise_std=std,
                known=known_attack(pairs, 1, std, DRAWS, rng).auc,
                blind=blind_attack(setting, 1, std, 1, rng).auc,
                optimal=float(np.mean([gaussian_auc(pair.distance, std) for pair in pairs])),
            )
            for std in SWEEP
        ],
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class DirectionPair:
    """The directions before noise of two batches D and D' that differ in their first record.

    Parameters
    ----------
    f, f_other : lists of dW[l], those of D and of D'; slot 0 is None
    basis : list of orthonormal rows that span what layer l reads of the records of D, clipped
    distance : float, l2, all weights and biases
    """

    f: list
    f_other: list
    basis: list
    distance: float


def draw_pair(setting: Attacked, trial: int) -> DirectionPair:
    """D is the first batch of a trial, D' has another record in the first place."""
    (images, *_), others = setting.batches(trial)
    swapped = np.concatenate([others[:1], images[1:]])
    net, _ = setting.net(np.float64)
    (dW, db), (dW_other, db_other) = (
        _direction(setting, batch, 0.0, setting.streams("noise")) for batch in (images, swapped)
    )
    differences = [a - b for a, b in zip(dW[1:] + db[1:], dW_other[1:] + db_other[1:], strict=True)]
    return DirectionPair(
        f=dW,
        f_other=dW_other,
        basis=[None, *(span_basis(layer_input(net, l, setting.x[images], **CLIPS))[0] for l in range(1, net.L + 1))],
        distance=math.hypot(*(float(np.linalg.norm(difference)) for difference in differences)),
    )


def _direction(setting: Attacked, images: np.ndarray, s: float, rng: np.random.Generator) -> tuple[list, list]:
    net, B = setting.net(np.float64)
    x, y = setting.x[images], setting.y[images]
    return pdfa_isotropic(net, x, y, B=B, m=setting.m, s=s, bias="clipped", t=T, tau_B=TAU_B, **CLIPS, rng=rng)


def known_attack(pairs: list[DirectionPair], l: int, s: float, draws: int, rng: np.random.Generator) -> SpanAttack:
    """Updates of D and of D' with noise s, each held against the span of D; ``draws`` a side for every pair."""
    inside, outside = (
        np.concatenate([noisy_residuals(f[l], basis, noise_std=s, trials=draws, rng=rng) for f, basis in worlds])
        for worlds in ([(pair.f, pair.basis[l]) for pair in pairs], [(pair.f_other, pair.basis[l]) for pair in pairs])
    )
    return _attack(l, s, True, inside, outside)


def blind_attack(setting: Attacked, l: int, s: float, updates: int, rng: np.random.Generator) -> SpanAttack:
    """Images of the batch and as many others against the m leading directions of an update with noise s."""
    net, _ = setting.net(np.float64)
    inside: list[np.ndarray] = []
    outside: list[np.ndarray] = []
    for trial in range(updates):
        (images, *_), others = setting.batches(trial)
        basis, _ = span_basis(_direction(setting, images, s, rng)[0][l], rank=setting.m)
        for found, asked in ((inside, images), (outside, others[: setting.m])):
            found.append(residuals_to(layer_input(net, l, setting.x[asked], **CLIPS), basis))
    return _attack(l, s, False, np.concatenate(inside), np.concatenate(outside))


def _attack(l: int, s: float, batch_known: bool, inside: np.ndarray, outside: np.ndarray) -> SpanAttack:
    return SpanAttack(
        sees="update with isotropic noise",
        batch_known=batch_known,
        layer=l,
        sigma=s,
        inside=inside,
        outside=outside,
        threshold=None,
    )
