"""The audit of photonic DFA on real images, and its picture: what published updates, or weights, reveal about records.

The network, the clips and the ternarised error are those of Ohana et al. (2021), Section 4. We add the requirements of
their theory: the clip of every layer's input, an entrywise floor, and noise on every layer. The attack needs only one
update.
"""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.special import ndtr, ndtri

from nfa import data, require
from nfa.audit.roc import roc
from nfa.experiments.plots import new_figure, save_figure, tidy
from nfa.noise import Streams
from nfa.papers.ohana2021.span_on_repaired import RepairedAudit, repaired_audit
from nfa.papers.ohana2021.span_trials import VIEWS, Attacked, LabelRecovery, SpanAttack, recover_labels, span_attacks

SIGMAS = (0.01, 0.03, 0.05, 0.1, 0.2, 100.0)  # the values of Table 1, and 500 times the largest value
LABEL_SIGMAS = (0.01, 0.03, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 100.0)
IMAGES = 6000  # number of images that are drawn from the training set

# The picture has Okabe and Ito's palette, as in `nfa.papers.ohana2021.pictures`.
INSIDE = {VIEWS[0]: "#0072B2", VIEWS[1]: "#56B4E9", VIEWS[3]: "#009E73"}
OUTSIDE, BEST, KNOWN = "#D55E00", "0.35", "#CC79A7"
LAYER_STYLES = {1: "o-", 2: "s--", 3: "^:"}


@dataclass(frozen=True, kw_only=True, eq=False)
class PhotonicAudit:
    """The results of `photonic_audit`.

    Parameters
    ----------
    dataset, digest, note : exact name and digest of the data; note is empty for a whole published data set
    m, trials, seed : the arguments of `photonic_audit`
    attacks : list of SpanAttack, one for each sigma, view and layer
    labels : list of LabelRecovery
    repaired : RepairedAudit
    """

    dataset: str
    digest: str
    note: str
    m: int
    trials: int
    seed: int
    attacks: list[SpanAttack]
    labels: list[LabelRecovery]
    repaired: RepairedAudit


def photonic_audit(
    *,
    data_dir: str | os.PathLike[str] | None = None,
    dataset: str | None = None,
    sigmas: Sequence[float] = SIGMAS,
    m: int = 256,
    trials: int = 5,
    seed: int = 1,
    feedback_scale: float = 0.05,
) -> PhotonicAudit:
    """Attack PDFA and its repair on real images.

    Source: [ohana2021:prop3-cols]

    Parameters
    ----------
    data_dir : folder that is searched first, as for `nfa.data.load`
    dataset : name of a data set of 28 x 28 images; None means Fashion-MNIST if it is on this machine, otherwise its
        embedded subset, so that nothing is downloaded
    sigmas : floats > 0, standard deviations of the noise on each projected error
    m : int, batch size, 2 .. 511; it must be smaller than the 512 inputs of the inner layers
    trials : int >= 1, number of batches D for every sigma, and of batches D' that differ from D in one record
    seed : int >= 0
    feedback_scale : standard deviation of the entries of B. With 0.05, most projected errors reach tau_B. Below 1/23,
        no projected error reaches tau_B, and labels are harder to recover at the same sigma

    Returns
    -------
    audit : PhotonicAudit

    Raises
    ------
    ValueError : if a number is out of range, or if the data have too few images or another size
    OSError : if the data cannot be read
    """
    for sigma in sigmas:
        require.positive(sigmas=sigma)
    if not len(sigmas):
        raise ValueError("sigmas must contain at least one noise level")
    require.at_least(1, trials=trials)
    loaded, setting = prepare(data_dir=data_dir, dataset=dataset, m=m, seed=seed, feedback_scale=feedback_scale)
    return PhotonicAudit(
        dataset=loaded.name,
        digest=loaded.digest,
        note=loaded.note,
        m=m,
        trials=trials,
        seed=seed,
        attacks=span_attacks(setting, sigmas, trials),
        labels=[found for sigma in LABEL_SIGMAS for found in recover_labels(setting, sigma)],
        repaired=repaired_audit(setting, trials),
    )


def prepare(
    *, data_dir: str | os.PathLike[str] | None, dataset: str | None, m: int, seed: int, feedback_scale: float
) -> tuple[data.Dataset, Attacked]:
    """The data and the setting of the attack. Arguments and errors are those of `photonic_audit`."""
    if dataset is None:
        try:
            data.path("fashion-mnist", data_dir)
            dataset = "fashion-mnist"
        except data.DataUnavailable:
            dataset = "fashion-mnist-small"
    loaded = data.load(dataset, data_dir)
    size = math.prod(loaded.x_train.shape[1:])
    if size != 784 or loaded.classes != 10:
        raise ValueError(
            f"the audited network reads 784 pixels and has 10 classes, but {loaded.name} has {size} pixels and"
            f" {loaded.classes} classes"
        )
    if not 2 <= m < 512:
        raise ValueError(
            "the batch size m must be between 2 and 511, because a batch must have fewer records than an inner"
            " layer has"
            f" inputs, got {m}"
        )
    if len(loaded.x_train) <= 3 * m:
        raise ValueError(f"the audit needs more than 3 m = {3 * m} images, but {loaded.name} has {len(loaded.x_train)}")
    streams = Streams(seed)
    kept = streams("data").permutation(len(loaded.x_train))[:IMAGES]
    x, _ = data.scale_pixels(loaded.x_train[kept], loaded.x_test[:1], "standard")
    y = data.one_hot(loaded.y_train[kept], loaded.classes)
    setting = Attacked(x=x.reshape(len(x), -1), y=y, m=m, feedback_scale=feedback_scale, streams=streams)
    return loaded, setting


def audit_figure(path: Path, audit: PhotonicAudit) -> None:
    """Draw the results of `photonic_audit`: residuals, ROC curves, the effect of isotropic noise, and labels.

    Parameters
    ----------
    path : file to write, of one of `nfa.experiments.plots.FORMATS`
    audit : PhotonicAudit
    """
    figure = new_figure(f"What photonic DFA's updates give away: {audit.dataset}, batches of {audit.m}", 13)
    figure.set_figheight(9.6)
    (residuals, curves), (labels, sweep) = figure.subplots(2, 2)
    _residuals(residuals, audit)
    _curves(curves, audit)
    _labels(labels, audit)
    _sweep(sweep, audit)
    save_figure(figure, path)


def _residuals(axes, audit: PhotonicAudit) -> None:
    """One row of histograms for every sigma: layer 1, batch unknown."""
    sigmas = sorted({attack.sigma for attack in audit.attacks})
    bins = np.logspace(-16, 0, 97)
    for row, sigma in enumerate(sigmas):
        found = [a for a in audit.attacks if (a.sigma, a.layer, a.batch_known) == (sigma, 1, False)]
        sides = [(a.inside, INSIDE[a.sees]) for a in found if a.sees in INSIDE]
        sides += [(a.outside, OUTSIDE) for a in found if a.sees == VIEWS[3]]
        for values, colour in sides:
            counts, _ = np.histogram(np.clip(values, bins[0], bins[-1]), bins)
            axes.stairs(row + 0.85 * counts / counts.max(), bins, baseline=row, fill=True, color=colour, alpha=0.8)
    for sees, colour in INSIDE.items():
        axes.plot([], [], "s", color=colour, label=f"in it: {sees}")
    axes.plot([], [], "s", color=OUTSIDE, label="not in it")
    axes.set_xscale("log")
    axes.set_ylim(0, len(sigmas) + 1.6)  # room for the legend
    axes.set_yticks(range(len(sigmas)), [f"$\\sigma$ = {sigma:g}" for sigma in sigmas])
    axes.set_xlabel("distance of an image from the update's span, relative", fontsize=12)
    axes.set_title("which images were in the batch: layer 1, batch unknown", loc="left", fontsize=12)
    axes.legend(frameon=False, fontsize=9, ncols=2, loc="upper left")
    tidy(axes)


def _curves(axes, audit: PhotonicAudit) -> None:
    """ROC curves of layer 1: the paper's rule at the largest sigma, the repaired rule, and its best possible test."""
    largest = max(attack.sigma for attack in audit.attacks)
    blind = [a for a in audit.attacks if (a.sigma, a.layer, a.batch_known, a.sees) == (largest, 1, False, VIEWS[3])]
    for attack in blind:
        _roc(axes, attack, INSIDE[VIEWS[3]], f"PDFA, $\\sigma$ = {largest:g}, batch unknown", 3.0)
    for attack in audit.repaired.attacks:
        if attack.layer == 1:
            colour, known = (KNOWN, "known") if attack.batch_known else (OUTSIDE, "unknown")
            _roc(axes, attack, colour, f"isotropic, $\\epsilon$ = {audit.repaired.epsilon:.3g}, batch {known}", 1.8)
    others = np.linspace(0, 1, 201)
    shift = math.sqrt(2) * ndtri(audit.repaired.optimal_auc)
    best = f"isotropic, best test there is: AUC {audit.repaired.optimal_auc:.3f}"
    axes.plot(others, ndtr(ndtri(others) + shift), color=BEST, linestyle="--", linewidth=1.5, label=best)
    axes.set_xlabel("others taken for members (share)", fontsize=12)
    axes.set_title("members recognised (share)", loc="left", fontsize=12)
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(-0.02, 1.02)
    axes.legend(frameon=False, fontsize=10, loc="lower right")
    tidy(axes)


def _roc(axes, attack: SpanAttack, colour: str, name: str, width: float) -> None:
    label = f"{name}: AUC {attack.auc:.3f}"
    axes.plot(*roc(-attack.inside, -attack.outside), color=colour, linewidth=width, label=label)


def _labels(axes, audit: PhotonicAudit) -> None:
    """Share of recovered labels as a function of sigma, with a line for each layer."""
    for layer in sorted({found.layer for found in audit.labels}):
        own = [found for found in audit.labels if found.layer == layer]
        style = {"color": list(INSIDE.values())[(layer - 1) % 3], "markersize": 5, "linewidth": 1.6}
        axes.plot(
            [f.sigma for f in own], [100 * f.share for f in own], LAYER_STYLES[layer], **style, label=f"layer {layer}"
        )
    axes.axhline(10, color=BEST, linestyle=":", linewidth=1.2)
    axes.annotate("guessing", (audit.labels[0].sigma, 10), xytext=(0, 4), textcoords="offset points", color=BEST)
    axes.axvspan(0.01, 0.2, color="0.94", zorder=0)
    axes.annotate(
        "the paper's $\\sigma$", (0.01, 52), xytext=(6, 0), textcoords="offset points", color=BEST, fontsize=11
    )
    axes.set_xscale("log")
    axes.set_ylim(0, 105)
    axes.set_xlabel("$\\sigma$", fontsize=12)
    axes.set_title("labels told from one update, knowing B (%)", loc="left", fontsize=12)
    axes.legend(frameon=False, fontsize=11, loc="upper right")
    tidy(axes)


def _sweep(axes, audit: PhotonicAudit) -> None:
    """AUC in layer 1 for several sizes of isotropic noise, and the size that (epsilon, delta) requires."""
    points = audit.repaired.sweep
    s = [point.noise_std for point in points]
    axes.plot(s, [point.optimal for point in points], "--", color=BEST, linewidth=1.6, label="best test there is")
    axes.plot(s, [point.known for point in points], "o-", color=KNOWN, linewidth=1.6, label="span attack, batch known")
    axes.plot(
        s, [point.blind for point in points], "s-", color=OUTSIDE, linewidth=1.6, label="span attack, batch unknown"
    )
    axes.axvline(audit.repaired.noise_std, color="#0072B2", linewidth=1.2)
    name = f"$\\epsilon$ = {audit.repaired.epsilon:.3g}\n$\\delta$ = {audit.repaired.delta:g}"
    place = {"xytext": (6, -4), "textcoords": "offset points", "va": "top", "fontsize": 11}
    axes.annotate(name, (audit.repaired.noise_std, 1.0), **place, color="#0072B2")
    axes.set_xscale("log")
    axes.set_ylim(0.4, 1.03)
    axes.set_xlabel("std of isotropic noise on every entry", fontsize=12)
    axes.set_title("AUC under isotropic noise instead, layer 1", loc="left", fontsize=12)
    axes.legend(frameon=False, fontsize=11, loc="lower left")
    tidy(axes)
