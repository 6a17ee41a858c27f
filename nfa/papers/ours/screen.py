"""Which setting limits the joint clip? We change one chosen setting at a time, on MNIST. MNIST counts as public here.

screen.toml lists the variants.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from nfa.experiments.experiment import Cell, Experiment, Rows, Trained
from nfa.experiments.settings import Settings
from nfa.papers.ours.contenders import DENSE, OF_THE_RUN, toml
from nfa.papers.ours.tuning import DEMO, HELD_OUT, held_out_accuracy, no_paper

SCREEN = toml("screen.toml")
BASE = SCREEN["variant"][0]["name"]


def cells(scale: str, seeds: list[int]) -> list[Cell]:
    """Every variant of each rule at the scale's number of epochs. The demo has the first three variants of one rule.

    Source: [ours:screen]
    """
    demo = scale == "demo"
    return [
        Cell(
            name=f"{rule}-{_slug(variant['name'])}-seed{seed}",
            settings=_settings(rule, variant, SCREEN["epochs"][scale], seed, demo=demo),
            key={"rule": DENSE.rules[rule]["name"], "changed": variant["name"]},
        )
        for rule in SCREEN["rules"]
        for variant in SCREEN["variant"][: 3 if demo else None]
        if rule not in variant.get("without", []) and (not demo or rule in DEMO)
        for seed in seeds
    ]


def _settings(rule: str, variant: dict[str, Any], epochs: int, seed: int, *, demo: bool) -> Settings:
    values = DENSE.values_chosen(rule, SCREEN["epsilon"], epochs) | variant.get("own", {})
    factors = variant.get("times", {})
    for name in factors.keys() & values.keys():
        values[name] = type(values[name])(values[name] * factors[name])
    epochs = max(1, round(epochs * factors.get("epochs", 1)))
    run = DENSE.settings(
        rule,
        values | {name: value for name, value in variant.get("run", {}).items() if name in OF_THE_RUN},
        epsilon=SCREEN["epsilon"],
        dataset="fashion-mnist-small" if demo else "mnist",
        epochs=epochs,
        seed=seed,
        validation=HELD_OUT,
    )
    falls = {"lr_factor": variant["falls"] ** (1 / max(1, epochs - 1))} if "falls" in variant else {}
    return replace(run, **variant.get("run", {}), **falls)


def _slug(name: str) -> str:
    return "-".join("".join(c if c.isalnum() or c == "." else " " for c in name.lower()).split())


def notes(rows: Rows) -> list[str]:
    """The points that each change gained or lost relative to the chosen settings, the largest gain first."""
    lines = []
    for rule in dict.fromkeys(row["rule"] for row in rows):
        own = {row["changed"]: row["ours"] for row in rows if row["rule"] == rule}
        if BASE not in own:
            continue
        ranked = sorted((value - own[BASE], name) for name, value in own.items() if name != BASE)[::-1]
        gained = ", ".join(f"{name} {gain:+.1f}" for gain, name in ranked if gain >= 0)
        lost = ", ".join(f"{name} {gain:+.1f}" for gain, name in ranked if gain < 0)
        lines.append(f"- {rule} has {own[BASE]:.1f} {BASE}.")
        lines += [f"- {rule}, points gained: {gained or 'none'}.", f"- {rule}, points lost: {lost or 'none'}."]
    return lines


def _draw(path: Path, rows: Rows, runs: Trained) -> None:
    from nfa.papers.ours.pictures import screen_figure

    screen_figure(path, rows, runs, BASE)


EXPERIMENT = Experiment(
    id="ours:screen",
    title="What limits the joint clip: one thing changed at a time, at epsilon 3",
    where="an experiment of ours",
    transcription="There are none.",
    cells=cells,
    scales={
        "demo": "fashion-mnist-small, 1 epoch, three variants of one rule",
        "small": "MNIST, 5 epochs, every variant of two rules, one seed",
        "paper": "MNIST, 20 epochs, every variant of two rules, three seeds",
    },
    seeds={"demo": 1, "small": 1, "paper": 3},
    value=held_out_accuracy,
    measures="accuracy on the images held out, in percent",
    not_comparable=no_paper,
    notes=notes,
    picture=_draw,
)
