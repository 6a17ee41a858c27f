"""The picture of the audit of photonic DFA: residuals, ROC curves, what isotropic noise does, and labels."""

import math
from pathlib import Path

import numpy as np
from scipy.special import ndtr, ndtri

from nfa.audit.roc import roc
from nfa.experiments.plots import new_figure, save_figure, tidy
from nfa.papers.ohana2021.audit_images import PhotonicAudit
from nfa.papers.ohana2021.span_trials import VIEWS, SpanAttack

INSIDE = {VIEWS[0]: "#0072B2", VIEWS[1]: "#56B4E9", VIEWS[3]: "#009E73"}  # Okabe and Ito's palette, as in `plots`
OUTSIDE, BEST, KNOWN = "#D55E00", "0.35", "#CC79A7"
LAYER_STYLES = {1: "o-", 2: "s--", 3: "^:"}


def audit_figure(path: Path, audit: PhotonicAudit) -> None:
    """Draw what `nfa.papers.ohana2021.audit_images.photonic_audit` has found.

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
    """One row of histograms for every sigma, layer 1, batch unknown."""
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
    """ROC curves of layer 1: the paper's rule at the largest sigma, the repaired one, and the best test against it."""
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
    """Share of labels recovered against sigma, a line a layer."""
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
    """AUC against the size of isotropic noise, layer 1, and the size that (epsilon, delta) asks for."""
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
