"""The audit of the step from columns to matrices in Ohana et al. (2021), below Proposition 3.

The paper bounds the Renyi divergence of one column of an update and multiplies by the number of columns. Composition
needs independent noise, but the columns of an update share their noise. The audit has three parts. The first part is
the span attack on Fashion-MNIST at the paper's noise. The second part is a distinguishing game on the rule itself. Its
noise is so large that a finite number of runs can refute the claimed epsilon. The third part is the exact divergence of
the two laws.
"""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from nfa import data, feedback, network
from nfa.audit.game import GameResult, play
from nfa.audit.reports import AuditOptions, Part, Report, Target
from nfa.clip import clip_l2
from nfa.network import Net, forward, ops
from nfa.noise import Streams
from nfa.papers.ohana2021 import audit_images
from nfa.papers.ohana2021.audit_images import SIGMAS, photonic_audit, prepare
from nfa.papers.ohana2021.claims import claimed_pdfa_epsilon
from nfa.papers.ohana2021.column_bound import Clips
from nfa.papers.ohana2021.exact import matrix_renyi
from nfa.papers.ohana2021.span_attack import layer_input
from nfa.papers.ohana2021.span_on_repaired import RepairedAudit, repaired_audit
from nfa.papers.ohana2021.span_trials import SpanAttack, span_attacks
from nfa.rules.pdfa import pdfa

NAME = "ohana2021:prop3-cols"
SIZES, M, TAU_B = (784, 512, 512, 10), 256, 1.0
# The lower and upper bounds on |phi'| are equal. The two bounds on every entry of a layer's input are equal too, so
# r = 1. This is the best case of Equation 17: the variances under D and D' are equal, and the equation holds for every
# column.
BEST = Clips(gamma_min=1.0, gamma_max=1.0, tau_h_min=1.0, tau_h_max=1.0, tau_B=TAU_B)
CLIPS: dict[str, Any] = {"tau_h_min": BEST.tau_h_min, "tau_h_max": BEST.tau_h_max, "floor": "signed"}
SIGMA = 100.0  # 500 times the largest sigma of the paper, so that the claimed epsilon is small
BATCHES = 3  # number of batches D, and of batches D', in the span attack for every sigma
CHUNK = 16  # updates in memory at the same time
ORDERS = (1.01, 2.0, 10.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Neighbours:
    """Two batches of real images that differ in the first record, and the rule that the game runs on them.

    Parameters
    ----------
    net : 784-512-512-10 with the identity as activation, before training
    B : feedback matrices
    x, y : pairs of (256, 784) and (256, 10) arrays, for world 0 (batch D) and world 1 (D'); every pixel is -1 or 1
    direction : (784,) unit vector, orthogonal to every input of world 0 but not to the new input of world 1
    gap : float > 0, distance of the new input, scaled to norm 1, from the span of the inputs of world 0
    """

    net: Net
    B: list
    x: tuple[np.ndarray, np.ndarray]
    y: tuple[np.ndarray, np.ndarray]
    direction: np.ndarray = field(repr=False)
    gap: float

    def update(self, world: int, rng: np.random.Generator) -> np.ndarray:
        """The update of layer 1 in one run of PDFA, a (512, 784) array. A step releases this array, among others."""
        x, y = self.x[world], self.y[world]
        dW, _ = pdfa(self.net, x, y, B=self.B, m=M, sigma=SIGMA, tau_B=TAU_B, **CLIPS, rng=rng)
        return dW[1]

    def updates(self, world: int, rng: np.random.Generator, n: int) -> list[np.ndarray]:
        """The updates of n runs, on all cores. Each run has its own generator, so the number of cores has no effect."""
        generators = [np.random.default_rng(int(seed)) for seed in rng.integers(2**63, size=n)]
        with ThreadPoolExecutor(min(n, os.cpu_count() or 1)) as pool:
            return list(pool.map(lambda one: self.update(world, one), generators))

    def residuals(self, updates: list[np.ndarray]) -> np.ndarray:
        """Norm of each update along the direction, relative to the whole update: 0 in world 0, up to rounding."""
        return np.array([np.linalg.norm(dW @ self.direction) / np.linalg.norm(dW) for dW in updates])


def neighbours(seed: int) -> Neighbours:
    """Two neighbouring batches of embedded Fashion-MNIST images in black and white, which are saturated inputs.

    Parameters
    ----------
    seed : int >= 0; chooses images, weights and feedback. Of all images outside the batch, the replacement has the
        largest distance from the span of the batch
    """
    streams = Streams(seed)
    images = data.load("fashion-mnist-small")
    order = streams("data").permutation(len(images.x_train))
    x = np.where(images.x_train[order].reshape(len(order), -1) >= 128, 1.0, -1.0)
    y = data.one_hot(images.y_train[order], images.classes)
    net = network.mlp(SIZES, ops.identity, rng=streams("init"))
    B = feedback.draw(net, law="normal", scale=0.05, rng=streams("feedback"))
    h = layer_input(net, 1, x, **CLIPS)
    basis, _ = np.linalg.qr(h[:M].T)  # (784, 256)
    outside = h[M:] - (h[M:] @ basis) @ basis.T
    outside -= (outside @ basis) @ basis.T  # again, because the first projection leaves rounding errors
    gaps = np.linalg.norm(outside, axis=1)
    new = int(np.argmax(gaps))
    swapped = np.r_[M + new, 1:M]
    return Neighbours(
        net=net,
        B=B,
        x=(x[:M], x[swapped]),
        y=(y[:M], y[swapped]),
        direction=outside[new] / gaps[new],
        gap=float(gaps[new] / np.linalg.norm(h[M + new])),
    )


def play_the_game(pair: Neighbours, settings: AuditOptions, claimed: float) -> GameResult:
    """Distinguish the two batches from one update.

    The threshold is the square root of the machine epsilon of float64. It is fixed before any trial.

    In world 0, the residual is the rounding error of a product of matrices, below 1e-12. In world 1, it is of the order
    of gap / sqrt(m).
    """
    return play(
        pair.updates,
        pair.residuals,
        claimed_epsilon=claimed,
        delta=settings.delta,
        trials=settings.trials,
        confidence=settings.confidence,
        threshold=math.sqrt(np.finfo(np.float64).eps),
        batch=CHUNK,
        progress=lambda done, of: settings.progress("distinguishing game", done, of),
        rng=Streams(settings.seed)("noise"),
    )


def exact_divergences(pair: Neighbours) -> dict[float, tuple[float, float]]:
    """Renyi divergences of the two laws of layer 1's update, in both directions, for each of `ORDERS`."""
    laws = []
    for x, y in zip(pair.x, pair.y, strict=True):
        z, _ = forward(pair.net, x)
        e = pair.net.loss.error(z[pair.net.L], y)
        u = clip_l2(feedback.project(e, pair.B[1]), TAU_B)
        laws.append((u, np.ones_like(u), layer_input(pair.net, 1, x, **CLIPS)))
    one, two = laws
    return {
        alpha: (matrix_renyi(one, two, alpha=alpha, sigma=SIGMA), matrix_renyi(two, one, alpha=alpha, sigma=SIGMA))
        for alpha in ORDERS
    }


def audit(settings: AuditOptions) -> Report:
    """Run the attack at the paper's noise, the game at a noise for which the claim is small, and the exact computation.

    Source: [ohana2021:prop3-cols]
    """
    with threadpool_limits(1):  # more threads would slow down the many small matrix products
        if settings.picture:
            whole = photonic_audit(data_dir=settings.data_dir, trials=BATCHES, seed=settings.seed)
            dataset, attacks, repaired = whole.dataset, whole.attacks, whole.repaired
        else:
            whole = None
            dataset, attacks, repaired = _attack(settings)
        pair = neighbours(settings.seed)
        claimed = claim(SIGMA, settings.delta)
        game = play_the_game(pair, settings, claimed)
        exact = exact_divergences(pair)
    return Report(
        target=NAME,
        claimed_epsilon=claimed,
        lower_bound=game.lower_bound,
        confidence=game.confidence,
        auc=game.auc,
        delta=settings.delta,
        title="One update of photonic DFA, compared with the privacy that the paper claims by adding up the columns",
        parts=(_attack_part(dataset, attacks, repaired, settings), _game_part(pair, game), _exact_part(exact)),
        details={
            "trials": list(game.trials),
            "threshold": game.threshold,
            "sigma": SIGMA,
            "total_variation": 1.0,
            "renyi": [{"alpha": alpha, "forward": one, "backward": two} for alpha, (one, two) in exact.items()],
            "dataset": dataset,
            "span_attack": [_as_json(a) for a in attacks],
            "repaired": {name: getattr(repaired, name) for name in ("epsilon", "delta", "noise_std", "optimal_auc")}
            | {"span_attack": [_as_json(a) for a in repaired.attacks]},
        },
        drawn=whole,
    )


def _draw(path: Path, report: Report) -> None:
    audit_images.audit_figure(path, report.drawn)


TARGET = Target(
    name=NAME,
    aliases=("ohana2021:prop3", "ohana2021:eq17", "pdfa"),
    about="photonic DFA: the privacy of an update that the paper claims by adding up the columns",
    audit=audit,
    draw=_draw,
)


def claim(sigma: float, delta: float) -> float:
    """The epsilon of the paper's formulas for one step on the paper's network at r = 1. It is no valid guarantee."""
    return claimed_pdfa_epsilon(delta=delta, sizes=SIZES, T=1, m=M, sigma=sigma, clips=BEST)[0]


def _attack(settings: AuditOptions) -> tuple[str, list[SpanAttack], RepairedAudit]:
    loaded, setting = prepare(data_dir=settings.data_dir, dataset=None, m=M, seed=settings.seed, feedback_scale=0.05)
    attacks = []
    for i, sigma in enumerate(SIGMAS):
        settings.progress("span attack", i, len(SIGMAS))
        attacks += span_attacks(setting, [sigma], BATCHES)
    settings.progress("span attack", len(SIGMAS), len(SIGMAS))
    return loaded.name, attacks, repaired_audit(setting, BATCHES)


def _attack_part(dataset: str, attacks: list[SpanAttack], repaired: RepairedAudit, settings: AuditOptions) -> Part:
    rows = []
    for sigma in SIGMAS:
        at = [a for a in attacks if a.sigma == sigma]
        gap = min(a.smallest_outside / a.largest_inside for a in at)
        rows.append((f"{sigma:g}", *_aucs(at), f"{gap:.3g}", f"{claim(sigma, settings.delta):.4g}"))
    rows.append(("repaired", *_aucs(repaired.attacks), "", ""))
    blind = next(a for a in attacks if not a.batch_known)
    return Part(
        heading=f"Span attack on {dataset}, batches of {M}",
        before=(
            "Whatever the noise, the rows of an update lie in the span of the batch's inputs. The columns have the"
            " AUC of the distance from this span, where 1 is perfect. D, D': the attacker knows both batches and"
            f" tells which batch was used, for {BATCHES} batches of each kind that differ in one image, in layers 1,"
            f" 2, 3. Blind: the attacker knows neither batch and tells {len(blind.inside):,} images of the batches"
            f" from {len(blind.outside):,} other images, in layers 1, 2. Each number is the worst of four: from"
            " updates in float64 and float32, and from weights in float32, without and with momentum. gap: the"
            " smallest distance of an image outside the batch divided by the largest distance of an image in the"
            " batch.",
        ),
        columns=("sigma", "D, D': 1", "2", "3", "blind: 1", "2", "gap", "claim"),
        rows=tuple(rows),
        after=(
            "claim: the epsilon that the paper's formula gives for one step if every constant is as favourable as can"
            " be. The paper itself reports no epsilon. The largest sigma of the paper is 0.2.",
            f"repaired: noise of standard deviation {repaired.noise_std:.3g} on every entry of the averaged update."
            f" With this noise, {repaired.steps:,} steps are ({repaired.epsilon:.3g}, {repaired.delta:g})-DP,"
            f" {repaired.adjacency}, {repaired.sampling}. The best possible test of one update, D against D', has AUC"
            f" {repaired.optimal_auc:.3g}.",
        ),
    )


def _game_part(pair: Neighbours, game: GameResult) -> Part:
    k0, k1 = game.hits
    perfect = (k0, k1) == (0, game.trials[1])
    return Part(
        heading=f"Distinguishing game at sigma = {SIGMA:g}, where the claim is small",
        before=(
            "The network is 784-512-512-10 with the identity as activation. Every input of a layer is at its bounds,"
            f" so the published bound holds for each of the 784 + 512 + 512 columns. The two batches have {M} real"
            " images in black and white and differ in one image. The game runs one step of the rule itself. The"
            " adversary sees layer 1 only.",
        ),
        columns=("", "runs", f"residual >= {game.threshold:.1e}", "smallest", "largest"),
        rows=tuple(
            (name, f"{n:,}", f"{k:,}", f"{s.min():.1e}", f"{s.max():.1e}")
            for name, n, k, s in (
                ("on D", game.trials[0], k0, game.scores[0]),
                ("on D'", game.trials[1], k1, game.scores[1]),
            )
        ),
        after=(game.words + (" More runs would raise the bound without limit." if perfect else ""),),
    )


def _exact_part(exact: dict[float, tuple[float, float]]) -> Part:
    computed = sorted({f"{divergence:g}" for both in exact.values() for divergence in both})
    return Part(
        heading="Exact computation",
        before=(
            "The two laws of the game are mutually singular: their total variation is 1. Their Renyi divergence is "
            "infinite at every order above 1, in both directions and for every sigma (computed at orders "
            f"{', '.join(f'{alpha:g}' for alpha in exact)}: {', '.join(computed)}), so that no epsilon holds with any "
            "delta below 1.",
            "So the sum over columns is not a valid record-level guarantee: composition needs independent noise, but"
            " the columns of an update share their noise. For neighbours that differ only in a label, and for layers"
            " with at least as many inputs as the batch has records, the paper's bound is valid but loose.",
        ),
    )


def _aucs(attacks: list[SpanAttack]) -> list[str]:
    """The smallest AUC of each kind of attack."""
    kinds = ((True, 1), (True, 2), (True, 3), (False, 1), (False, 2))
    return [f"{min(a.auc for a in attacks if (a.batch_known, a.layer) == kind):.3g}" for kind in kinds]


def _as_json(attack: SpanAttack) -> dict:
    names = ("sees", "batch_known", "layer", "sigma", "auc", "largest_inside", "smallest_outside", "threshold")
    return {name: getattr(attack, name) for name in names}
