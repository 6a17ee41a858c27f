"""Trials of the span attack on photonic DFA: the batches, the published updates, and the residuals of the attack."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nfa import feedback, network
from nfa.audit.roc import auc
from nfa.clip import clip_l2
from nfa.network import Net, forward
from nfa.noise import Streams
from nfa.optim import SGD
from nfa.papers.ohana2021.span_attack import (
    layer_input,
    most_likely_labels,
    recover_errors,
    residuals_to,
    span_basis,
    update_from_weights,
    update_threshold,
    weights_rounding,
    whole_residual,
)
from nfa.rules.pdfa import pdfa

# Ohana et al., Section 4, and the floor that their theory needs. They print no number for this floor.
CLIPS: dict[str, Any] = {"tau_h_max": 1.0, "tau_h_min": 0.1, "floor": "signed"}
T, TAU_B = 0.15, 1.0
LR, MOMENTUM = 0.01, 0.9

CANDIDATES = 1000  # images outside the batch on which we try the blind attack
BLIND_TRIALS = 1  # batches of the blind attack for every sigma, each with m members and CANDIDATES other images
VIEWS = (
    "update, float64",
    "update, float32",
    "weights, float32",
    "weights through momentum, float32",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Attacked:
    """The public network and feedback of an attack, and the images from which the batches are drawn.

    Parameters
    ----------
    x : (n, 784) float64 array, pixels scaled
    y : (n, classes) array, one-hot targets
    m : int, batch size
    feedback_scale : float, standard deviation of the entries of B
    streams : Streams for initialisation, feedback, batches and noise
    """

    x: np.ndarray = field(repr=False)
    y: np.ndarray = field(repr=False)
    m: int
    feedback_scale: float
    streams: Streams

    def net(self, dtype) -> tuple[Net, list]:
        """The network before training and its feedback matrices. They are the same in every dtype up to rounding."""
        net = network.ohana2021(init="uniform-fan-in", rng=self.streams("init"), dtype=dtype)
        return net, feedback.draw(net, law="normal", scale=self.feedback_scale, rng=self.streams("feedback"))

    def batches(self, trial: int) -> tuple[np.ndarray, np.ndarray]:
        """Three disjoint batches (3, m) of record numbers, and up to `CANDIDATES` record numbers outside them."""
        order = self.streams("batch", trial).permutation(len(self.x))
        return order[: 3 * self.m].reshape(3, self.m), order[3 * self.m :][:CANDIDATES]


@dataclass(frozen=True, kw_only=True, eq=False)
class SpanAttack:
    """The residuals of one attack on one layer, for vectors inside and outside the span.

    Parameters
    ----------
    sees : one of `VIEWS`, or another description of what the adversary sees
    batch_known : True if the adversary knows D and D' and asks which batch was used. Each residual is then the relative
        distance of a whole update from the span of D. False if the adversary knows no batch and asks whether an image
        was in the batch. Each residual is then the relative distance of an image's clipped input from the row space of
        the update
    layer : int
    sigma : float, noise on each projected error; for isotropic noise, the noise on every entry of the mean
    inside, outside : (a,) and (b,) arrays of relative residuals
    threshold : float, the largest of the residuals up to which an adversary who makes no trials answers "inside"; None
        if the noise leaves no such threshold
    """

    sees: str
    batch_known: bool
    layer: int
    sigma: float
    inside: np.ndarray = field(repr=False)
    outside: np.ndarray = field(repr=False)
    threshold: float | None

    @property
    def auc(self) -> float:
        """Probability that a vector inside the span has a smaller residual than a vector outside. Ties count half."""
        return auc(-self.inside, -self.outside)

    @property
    def largest_inside(self) -> float:
        """The largest residual of a vector inside the span."""
        return float(np.max(self.inside))

    @property
    def smallest_outside(self) -> float:
        """The smallest residual of a vector outside the span."""
        return float(np.min(self.outside))


@dataclass(frozen=True, kw_only=True)
class LabelRecovery:
    """The number of a known batch's labels that one update reveals to an adversary who knows B.

    Parameters
    ----------
    layer : int
    sigma : float
    records, right : ints, number of guessed labels and of right guesses
    """

    layer: int
    sigma: float
    records: int
    right: int

    @property
    def share(self) -> float:
        """Share of right guesses. Guessing ten classes at random gives 1/10."""
        return self.right / self.records


@dataclass(frozen=True, kw_only=True, eq=False)
class Published:
    """One update as the adversary sees it.

    Parameters
    ----------
    sees : one of `VIEWS`
    number : int, number of the batch that was used
    net : Net with the public weights at which the update was computed
    dW : list of directions; slot 0 is None
    rounding : list of bounds on the Frobenius norm of the error from rounding the weights, for each layer
    """

    sees: str
    number: int
    net: Net
    dW: list
    rounding: list


def published(setting: Attacked, sigma: float, batches: np.ndarray, run: int) -> Iterator[Published]:
    """The four views of a run that uses these batches in its first three steps.

    Parameters
    ----------
    setting : Attacked
    sigma : float > 0
    batches : (3, m) array of record numbers
    run : int >= 0, number of the run; each run has its own noise
    """
    for dtype in (np.float64, np.float32):
        net, B = setting.net(dtype)
        optimizer = SGD(LR, MOMENTUM)
        iterates = [net.copy()]
        exact = [0.0] * (net.L + 1)  # a published update has no error from rounded weights
        for k in range(len(batches) if dtype is np.float32 else 1):
            x, y = setting.x[batches[k]].astype(dtype), setting.y[batches[k]].astype(dtype)
            rng = setting.streams("noise", 8 * run + 2 * k + (dtype is np.float32))
            dW, db = pdfa(net, x, y, B=B, m=setting.m, sigma=sigma, bias="clipped", t=T, tau_B=TAU_B, **CLIPS, rng=rng)
            if k == 0:
                sees = VIEWS[0] if dtype is np.float64 else VIEWS[1]
                yield Published(sees=sees, number=k, net=iterates[0], dW=dW, rounding=exact)
            optimizer.step(net, dW, db, k + 1)
            iterates.append(net.copy())
    yield _read_off(VIEWS[2], 0, iterates[:2])
    yield _read_off(VIEWS[3], 2, iterates[1:])


def _read_off(sees: str, number: int, iterates: list[Net]) -> Published:
    """The update of the last step, from the public networks. With three networks, the first one gives the momentum."""
    dW: list = [None]
    rounding = [0.0]
    for l in range(1, iterates[0].L + 1):
        weights = [net.W[l] for net in iterates]
        dW.append(update_from_weights(weights, lr=LR, momentum=MOMENTUM))
        rounding.append(weights_rounding(weights, lr=LR, momentum=MOMENTUM))
    return Published(sees=sees, number=number, net=iterates[-2], dW=dW, rounding=rounding)


def span_attacks(setting: Attacked, sigmas: Sequence[float], trials: int) -> list[SpanAttack]:
    """The span attack on every layer, from every view, with the batch known and, in hidden layers, also unknown.

    Parameters
    ----------
    setting : Attacked
    sigmas : floats > 0
    trials : int >= 1, number of batches D for every sigma, and of batches D' that differ from D in one record

    Returns
    -------
    attacks : list of SpanAttack, by sigma, view and layer. There is no blind attack on the output layer, because its
        ten rows do not span the space of the batch's inputs
    """
    inside: dict[tuple, list] = defaultdict(list)
    outside: dict[tuple, list] = defaultdict(list)
    thresholds: dict[tuple, list] = defaultdict(list)
    for trial in range(trials):
        batches, others = setting.batches(trial)
        swapped = batches.copy()
        swapped[:, 0] = others[: len(batches)]  # D': every batch has another first record
        known: dict = {}
        for sigma in sigmas:
            for world, (made_by, found) in enumerate(((batches, inside), (swapped, outside))):
                for seen in published(setting, sigma, made_by, 2 * trial + world):
                    for l in range(1, seen.net.L + 1):
                        key = (sigma, seen.sees, True, l)
                        found[key].append(whole_residual(seen.dW[l], _batch_basis(setting, batches, seen, l, known)))
                        if world == 0:
                            thresholds[key].append(update_threshold(seen.dW[l], seen.rounding[l]))
                        if world == 0 and trial < BLIND_TRIALS and len(seen.dW[l]) >= setting.m:
                            key = (sigma, seen.sees, False, l)
                            basis, threshold = span_basis(seen.dW[l], rank=setting.m)
                            thresholds[key].append(threshold)
                            for images, residuals in ((batches[seen.number], inside), (others, outside)):
                                x = setting.x[images].astype(seen.dW[l].dtype)
                                residuals[key].extend(residuals_to(layer_input(seen.net, l, x, **CLIPS), basis))
    return [
        SpanAttack(
            sigma=sigma,
            sees=sees,
            batch_known=batch_known,
            layer=l,
            inside=np.array(inside[sigma, sees, batch_known, l]),
            outside=np.array(outside[sigma, sees, batch_known, l]),
            threshold=max(thresholds[sigma, sees, batch_known, l]),
        )
        for sigma, sees, batch_known, l in sorted(
            inside, key=lambda key: (key[0], VIEWS.index(key[1]), not key[2], key[3])
        )
    ]


def _batch_basis(setting: Attacked, batches: np.ndarray, seen: Published, l: int, known: dict) -> np.ndarray:
    """The span of layer l's inputs for D. We cache it for the network before training, which all runs share."""
    dtype = seen.dW[l].dtype
    key = (dtype, l)
    if seen.number == 0 and key in known:
        return known[key]
    basis, _ = span_basis(layer_input(seen.net, l, setting.x[batches[seen.number]].astype(dtype), **CLIPS))
    if seen.number == 0:
        known[key] = basis
    return basis


def recover_labels(setting: Attacked, sigma: float, *, batches: int = 2, t: float | None = T) -> list[LabelRecovery]:
    """Guess the labels of known images from one update of each batch, layer by layer, with B known.

    Parameters
    ----------
    setting : Attacked, with m at most the number of inputs of the layers
    sigma : float > 0
    batches : int >= 1
    t : threshold of the ternarised error, as in the rule; None for the error itself

    Returns
    -------
    recoveries : list of LabelRecovery, one for each layer
    """
    net, B = setting.net(np.float64)
    right = np.zeros(net.L + 1, int)
    labels = np.eye(setting.y.shape[1])
    for k in range(batches):
        images = setting.batches(k)[0][0]
        x, y = setting.x[images], setting.y[images]
        rng = setting.streams("noise", 2**31 + k)
        dW, _ = pdfa(net, x, y, B=B, m=setting.m, sigma=sigma, tau_B=TAU_B, t=t, bias="clipped", **CLIPS, rng=rng)
        z, _ = forward(net, x)
        errors = [net.loss.error(z[net.L], np.broadcast_to(label, y.shape)) for label in labels]
        for l in range(1, net.L + 1):
            V = recover_errors(dW[l], layer_input(net, l, x, **CLIPS), m=setting.m)
            if l < net.L:
                u = [clip_l2((e if t is None else feedback.ternarize(e, t)) @ B[l].T, TAU_B) for e in errors]
                dphi = net.pull(l, z, np.ones_like(V))
            else:
                u, dphi = [clip_l2(e, TAU_B) for e in errors], np.ones_like(V)
            guesses = most_likely_labels(V, dphi, np.stack(u))
            right[l] += np.count_nonzero(guesses == y.argmax(axis=1))
    return [
        LabelRecovery(layer=l, sigma=sigma, records=batches * setting.m, right=int(right[l]))
        for l in range(1, net.L + 1)
    ]
