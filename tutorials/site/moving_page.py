"""The page "Pictures that move": the values that nfa computes for them in each build, and a static version of each."""

import json
import warnings
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from nfa import data, feedback, network, noise, optim, sampling
from nfa.audit.roc import auc
from nfa.experiments.alignment import Watched, alignment
from nfa.network import ops
from nfa.papers.ohana2021.span_attack import layer_input, span_residuals
from nfa.privacy import rdp, subsampling
from nfa.rules.dfa import dfa
from nfa.rules.pdfa import pdfa
from nfa.rules.pdfa_isotropic import pdfa_isotropic
from nfa.train import train

ORDERS = np.arange(2, 257)
SEEDS = (1, 2)
START = {"z": 1.0, "q": 0.01, "delta": 1e-5}  # first positions of the sliders
STEPS = np.unique(np.geomspace(1, 10_000, 81).round().astype(int))


def epsilons(z: float, q: float, delta: float, steps: int) -> list[float]:
    """The epsilons from the theorems of the first picture, in its order. The script of the page has the same formulas.

    Source: [mironov2019:sec3.3] [canonne2020:prop12] [mironov2017:prop3] [wbk2019:thm9]
    """
    whole = rdp.gaussian(ORDERS, noise_multiplier=z)
    poisson = subsampling.poisson_gaussian(ORDERS, sampling_rate=q, noise_multiplier=z)
    drawn = subsampling.without_replacement(
        ORDERS, sampling_rate=q, curve=lambda a: rdp.gaussian(a, noise_multiplier=z)
    )
    curves = [(poisson, "canonne2020"), (poisson, "mironov2017"), (drawn, "canonne2020"), (whole, "canonne2020")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rdp.OrderAtGridEnd)  # the page states that the orders are whole numbers from 2
        return [
            rdp.to_dp(ORDERS, steps * np.minimum(curve, whole), delta=delta, conversion=conversion)[0]
            for curve, conversion in curves
        ]


NAMES = (
    "Poisson batches, a record added or removed",
    "the same by the older conversion",
    "batches without replacement, a record replaced",
    "as if every step saw every record",
)


def _span() -> dict[str, Any]:
    """Distances of 64 members and 64 others from the span of one update, for the paper's noise and isotropic noise."""
    images = data.load("fashion-mnist-small")
    pixels, _ = data.scale_pixels(images.x_train, images.x_test, how="standard")
    x, y = pixels.reshape(len(pixels), -1), data.one_hot(images.y_train, images.classes)
    streams, m = noise.Streams(1), 64
    net = network.ohana2021(rng=streams("init"))
    clips = {"tau_h_max": 1.0, "tau_h_min": 0.1, "floor": "signed"}
    B = feedback.draw(net, law="normal", scale=0.05, rng=streams("feedback"))
    given = {"B": B, "m": m, "tau_B": 1.0, "bias": "clipped", **clips}
    h = layer_input(net, 1, x[np.r_[:m, 1000 : 1000 + m]], **clips)
    rules = {
        "paper": (partial(pdfa, net, x[:m], y[:m], **given), "sigma", [0.0, 0.02, 0.2, 2.0, 20.0, 100.0]),
        "every": (partial(pdfa_isotropic, net, x[:m], y[:m], **given), "s", [0.0, *np.geomspace(1e-9, 1e-1, 9)]),
    }
    found: dict[str, Any] = {}
    for name, (rule, std, levels) in rules.items():
        residuals = [
            span_residuals(h, rule(**{std: float(level)}, rng=streams("noise", k + 1))[0][1], rank=m)
            for k, level in enumerate(levels)
        ]
        found[name] = {
            "std": [float(level) for level in levels],
            "members": [[float(f"{v:.4g}") for v in r[:m]] for r in residuals],
            "others": [[float(f"{v:.4g}") for v in r[m:]] for r in residuals],
            "auc": [round(float(auc(-r[:m], -r[m:])), 4) for r in residuals],
        }
    return found


def _angles() -> dict[str, Any]:
    """Angles in degrees between DFA's direction and the gradient, layers 1 and 2, at every step, for two seeds."""
    images = data.load("fashion-mnist-small")
    x = images.x_train.reshape(len(images.x_train), -1).astype(np.float32) / np.float32(255)
    y = data.one_hot(images.y_train, images.classes)
    found: dict[str, Any] = {"seeds": list(SEEDS), "layers": [[], []], "weights": []}
    for seed in SEEDS:
        streams = noise.Streams(seed)
        net = network.mlp([784, 128, 128, 10], ops.tanh, init="uniform-fan-in", rng=streams("init"), dtype=np.float32)
        B = feedback.draw(net, law="normal", scale=0.3, rng=streams("feedback"))
        rule, weights = Watched(partial(dfa, B=B), every=1), []
        batches = sampling.EpochPartition(x, y, 64, streams)
        for t in train(net, rule, batches, optim.SGD(0.01, momentum=0.9), streams):
            weights.append(_degrees(alignment([net.W[net.L].T], [B[net.L - 1]], 0)))
            if t == 3 * batches.steps_per_epoch:
                break
        for l in (0, 1):
            found["layers"][l].append([_degrees(cosines[l]) for cosines in rule.noted])
        found["weights"].append(weights)
    return found


def _degrees(cosine: float) -> float:
    return round(float(np.degrees(np.arccos(np.clip(cosine, -1, 1)))), 2)


def page(folder: Path) -> str:
    """The text of the page. The function writes the static pictures into the folder."""
    span, angles = _span(), _angles()
    folder.mkdir(parents=True, exist_ok=True)
    for name, draw in (("epsilon", _draw_epsilon), ("span", partial(_draw_span, span)),
                       ("angles", partial(_draw_angles, angles))):  # fmt: skip
        figure = Figure(figsize=(7, 3.2), layout="constrained")
        draw(figure.subplots())
        written = BytesIO()
        figure.savefig(written, format="png", dpi=110, metadata={"Software": None})
        path = folder / f"moving-{name}.png"
        if not path.exists() or path.read_bytes() != written.getvalue():  # otherwise, Sphinx would copy it again
            path.write_bytes(written.getvalue())
    start = {"names": NAMES, "orders": [int(ORDERS[0]), int(ORDERS[-1])]} | START
    known = {"EPSILON": start, "SPAN": span, "ANGLES": angles}
    text = (Path(__file__).parent / "moving.md").read_text(encoding="utf-8")
    for name, values in known.items():
        text = text.replace(f"@{name}@", json.dumps(values, separators=(",", ":")))
    return text


def _draw_epsilon(axes) -> None:
    told = np.array([epsilons(**START, steps=int(T)) for T in STEPS[::4]])
    for name, curve, style in zip(NAMES, told.T, ("-", "--", "-.", ":"), strict=True):
        axes.loglog(STEPS[::4], curve, style, label=name)
    axes.set(xlabel="steps", ylabel="epsilon", title="z = 1, q = 0.01, delta = 1e-5", ylim=(None, 1e3))
    axes.legend(fontsize=8)


def _draw_span(span: dict[str, Any], axes) -> None:
    known = span["every"]
    for k in range(0, len(known["std"]), 3):
        for name, marker, shift in (("members", "o", 0.15), ("others", "x", -0.15)):
            axes.plot(known[name][k], [k / 3 + shift] * len(known[name][k]), marker, color="C0" if shift > 0 else "C1",
                      markersize=4, label=name if k == 0 else None)  # fmt: skip
    axes.set_yticks(range(len(known["std"][::3])), [f"{s:.0e}" for s in known["std"][::3]])
    axes.set(xscale="log", xlabel="distance from the span, relative", ylabel="noise on every entry, s")
    axes.legend(fontsize=8, loc="upper left")


def _draw_angles(angles: dict[str, Any], axes) -> None:
    for l in (0, 1):
        for k, seed in enumerate(SEEDS):
            axes.plot(angles["layers"][l][k], f"C{l}", linestyle="-" if k == 0 else "--",
                      label=f"layer {l + 1}, seed {seed}")  # fmt: skip
    axes.axhline(90, color="0.5", lw=0.8)
    axes.set(xlabel="step", ylabel="angle of DFA with the gradient, degrees", ylim=(0, 100))
    axes.legend(fontsize=8, ncol=2)
