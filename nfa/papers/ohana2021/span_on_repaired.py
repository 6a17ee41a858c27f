"""The span attack on the repaired photonic rule, which has isotropic noise, and the best possible test of an update.

We know the exact laws of the attack's residuals, so thousands of trials need few random numbers.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtr

from nfa import require
from nfa.papers.ohana2021.span_attack import layer_input, residuals_to, span_basis
from nfa.papers.ohana2021.span_trials import CLIPS, TAU_B, Attacked, SpanAttack, T
from nfa.privacy.accountant import calibrate, epsilon
from nfa.rules.pdfa_isotropic import mechanism, pdfa_isotropic

# The noise is calibrated for Table 1's training: 15 epochs of 54,000 images, with batches drawn without
# replacement.
N, EPOCHS, EPSILON, DELTA, CONVERSION = 54_000, 15, 3.0, 1e-5, "canonne2020"
DRAWS = 2000  # samples of the noise for each of the two batches
SWEEP = tuple(10 ** (k / 2) for k in range(-14, -1))  # values of noise_std at which the attack is measured


@dataclass(frozen=True, kw_only=True, eq=False)
class RepairedAudit:
    """The span attack on the direction with isotropic noise at a valid (epsilon, delta), and the best possible test.

    Parameters
    ----------
    epsilon, delta, adjacency, sampling, steps, bound : of the whole training for which the noise is calibrated
    sampling_rate : float
    noise_multiplier, noise_std : floats; noise_std is s, the noise on every entry of the mean
    attacks : list of SpanAttack: with the batch known, one for every layer; with the batch unknown, one for every layer
        that has at least as many rows as the batch has records
    optimal_auc : float, AUC of the likelihood ratio test on one update with all layers and biases, averaged over the
        pairs D, D' of the attack
    largest_optimal_auc : float, the same AUC for the pair with the largest difference
    bound_auc : float, the optimal AUC for the two worst records that the clips allow, at a distance of 1/z
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
    """AUCs at one size of isotropic noise, layer 1.

    Parameters
    ----------
    noise_std : float, noise on every entry of the mean
    known, blind : floats, of the span attack with the batch known and unknown
    optimal : float, AUC of the best test between D and D', with all layers and biases
    """

    noise_std: float
    known: float
    blind: float
    optimal: float


def repaired_audit(setting: Attacked, trials: int) -> RepairedAudit:
    """The span attack on the direction of `nfa.rules.pdfa_isotropic`, with noise calibrated to (3, 1e-5).

    Parameters
    ----------
    setting : Attacked
    trials : int >= 1, pairs D, D' that differ in one record; for each batch of a pair, we draw `DRAWS` noise samples
    """
    net, _ = setting.net(np.float64)
    rate, steps = setting.m / N, EPOCHS * math.ceil(N / setting.m)
    scheme: dict[str, Any] = {"adjacency": "replace-one", "sampling": "without-replacement", "sampling_rate": rate}
    settings: dict[str, Any] = {name: value for name, value in CLIPS.items() if name != "floor"}
    settings |= {"net": net, "m": setting.m, "tau_B": TAU_B, "bias": "clipped"}
    needed = calibrate(target_epsilon=EPSILON, delta=DELTA, steps=steps, conversion=CONVERSION, **scheme)
    assert needed.noise_multiplier is not None  # because this is one Gaussian mechanism
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
    f, f_other : lists of dW[l] for D and for D'; slot 0 is None
    basis : list of arrays of orthonormal rows that span the clipped inputs of layer l for the records of D
    distance : float, l2 distance of the two directions over all weights and biases
    """

    f: list
    f_other: list
    basis: list
    distance: float


def draw_pair(setting: Attacked, trial: int) -> DirectionPair:
    """D is the first batch of a trial. D' has another record in the first place."""
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
    """The attack that compares noisy updates of D and D' with the span of D, with ``draws`` updates of each batch."""
    inside = [noisy_residuals(pair.f[l], pair.basis[l], noise_std=s, trials=draws, rng=rng) for pair in pairs]
    outside = [noisy_residuals(pair.f_other[l], pair.basis[l], noise_std=s, trials=draws, rng=rng) for pair in pairs]
    return _attack(l, s, True, np.concatenate(inside), np.concatenate(outside))


def blind_attack(setting: Attacked, l: int, s: float, updates: int, rng: np.random.Generator) -> SpanAttack:
    """The attack that compares m images of the batch and m other images with the m leading directions of an update."""
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


def gaussian_auc(distance: float, noise_std: float) -> float:
    r"""AUC of the best test between N(a, s^2 I) and N(b, s^2 I). No attack on one release has a larger AUC.

    .. math:: \mathrm{AUC} = \Phi\Big(\frac{\|a - b\|}{s \sqrt 2}\Big)

    Parameters
    ----------
    distance : float >= 0, ||a - b||
    noise_std : float > 0, s

    Returns
    -------
    auc : float in [1/2, 1]

    Raises
    ------
    ValueError : if distance is negative or not finite, or if noise_std is not positive and finite

    Notes
    -----
    Proof. By Neyman and Pearson, every point of the best ROC curve is a likelihood ratio test. The ratio grows with the
    projection of the release on (b - a) / ||b - a||. Subtract the projection of a. The result is N(0, s^2) under the
    first law and N(||a - b||, s^2) under the second law. The AUC is the probability that a sample of the second law
    exceeds a sample of the first law. The difference of the two samples is N(||a - b||, 2 s^2).

    Examples
    --------
    >>> round(gaussian_auc(math.sqrt(2), 1.0), 6), gaussian_auc(0.0, 1.0)
    (0.841345, 0.5)
    """
    require.not_negative(distance=distance)
    require.positive(noise_std=noise_std)
    return float(ndtr(distance / noise_std / math.sqrt(2)))


def noisy_residuals(
    f: np.ndarray, basis: np.ndarray, *, noise_std: float, trials: int, rng: np.random.Generator
) -> np.ndarray:
    r"""Samples of `nfa.papers.ohana2021.span_attack.update_residual` of f + s Z to a known batch, without drawing Z.

    .. math:: \rho = \sqrt{\frac{R}{R + Q}}, \qquad
              R \sim s^2 \chi'^2_{n_l (n - r)}\Big(\frac{\|f - f P\|_F^2}{s^2}\Big), \quad
              Q \sim s^2 \chi'^2_{n_l r}\Big(\frac{\|f P\|_F^2}{s^2}\Big) \text{ independent}

    Source: [ours:span-residual]

    Parameters
    ----------
    f : (n_l, n) array, the direction before the noise
    basis : (r, n) array, r < n, orthonormal rows that span the clipped inputs of the batch with which the update is
        compared (`nfa.papers.ohana2021.span_attack.span_basis`)
    noise_std : float > 0, s, noise on every entry of Z
    trials : int >= 1
    rng : numpy.random.Generator

    Returns
    -------
    residuals : (trials,) array in (0, 1]

    Raises
    ------
    ValueError : if noise_std or trials is out of range, or if the shapes leave no direction outside the span

    Notes
    -----
    Proof. Extend the given r vectors to an orthonormal basis of the row space, and write Z in this basis. A rotation
    does not change the law of Gaussian noise with equal variance in every direction. So the n_l r entries of Z P and
    the n_l (n - r) entries of Z - Z P are independent N(0, 1). Thus R = ||f - f P + s (Z - Z P)||_F^2 and Q = ||f P + s
    Z P||_F^2 are independent of each other. Both are sums of squares of independent normals with standard deviation s,
    so they are noncentral chi-square.
    """
    require.positive(noise_std=noise_std)
    require.at_least(1, trials=trials)
    r, n = basis.shape
    if r >= n or f.ndim != 2 or f.shape[1] != n:
        raise ValueError(
            f"f must have more columns than basis has rows, and as many columns as basis, got {f.shape} and {r, n}"
        )
    inside = f @ basis.T  # (n_l, r)
    outside = f - inside @ basis
    R = _squared_norms(outside, len(f) * (n - r), noise_std, trials, rng)
    Q = _squared_norms(inside, len(f) * r, noise_std, trials, rng)
    return np.sqrt(R / (R + Q))


def _squared_norms(mean: np.ndarray, d: int, s: float, trials: int, rng: np.random.Generator) -> np.ndarray:
    """Samples of ||mean + s N(0, I_d)||^2: a normal along the mean, and one chi-square for all other directions."""
    if d == 0:
        return np.zeros(trials)
    along = np.linalg.norm(mean) + s * rng.standard_normal(trials)
    return np.square(along) + s**2 * 2 * rng.standard_gamma((d - 1) / 2, trials)
