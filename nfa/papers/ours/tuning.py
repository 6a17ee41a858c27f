"""How the settings of every rule were found: trials on MNIST, the best of them run whole, one chosen for each epsilon.

MNIST is taken as public, so that the search costs no privacy; its last 10,000 training images choose, its test set sees
nothing of it. Every rule has the same number of trials. `python -m nfa.papers.ours.tuning TRIALS FINALISTS` writes
what was chosen into chosen.toml, from the folders of the two experiments.
"""

import json
import sys
import tomllib
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Any

from nfa.experiments.experiment import Cell, Claims, Comparison, Experiment, Numbers, Rows, Runs, Trained
from nfa.experiments.settings import Settings
from nfa.papers.ours.contenders import BUDGET, RULES, TOML, draw, settings

CHOSEN = tomllib.loads(files("nfa.papers.ours").joinpath("chosen.toml").read_text(encoding="utf-8"))
WHOLE = TOML["scale"]["paper"]["epochs"]
SHARE = BUDGET["held_out"] / 60_000  # of MNIST's training set
DEMO = ("dp-sgd", "joint-dfa", "dp-dfa")


def trial_cells(scale: str, seeds: list[int]) -> list[Cell]:
    """Every trial of every rule, shorter than a whole run and at one epsilon; for the demo two of three rules.

    Source: [ours:equal-epsilon]
    """
    demo = scale == "demo"
    return [
        _cell(rule, trial, BUDGET["searched_at"], seed, epochs=1 if demo else WHOLE // BUDGET["shorter"], demo=demo)
        for rule in (DEMO if demo else RULES)
        for trial in range(2 if demo else BUDGET["trials"])
        for seed in seeds
    ]


def finalist_cells(scale: str, seeds: list[int]) -> list[Cell]:
    """The best trials of every rule as whole runs at every epsilon; for the demo the best of three rules, short."""
    demo = scale == "demo"
    return [
        _cell(rule, trial, epsilon, seed, epochs=2 if demo else WHOLE, demo=demo)
        for rule in (DEMO if demo else RULES)
        for epsilon in ([BUDGET["searched_at"]] if demo else BUDGET["epsilons"])
        for trial in CHOSEN["finalists"].get(rule, [])[: 1 if demo else None]
        for seed in seeds
    ]


def _cell(rule: str, trial: int, epsilon: float, seed: int, *, epochs: int, demo: bool) -> Cell:
    dataset = "fashion-mnist-small" if demo else "mnist"
    return Cell(
        name=f"{rule}-trial{trial}-epsilon{epsilon}-seed{seed}",
        settings=settings(
            rule, draw(rule, trial), epsilon=epsilon, dataset=dataset, epochs=epochs, seed=seed, validation=SHARE
        ),
        key={"rule": RULES[rule]["name"], "trial": str(trial), "epsilon": str(epsilon)},
    )


def held_out_accuracy(cell: Cell, record: dict[str, Any]) -> float:
    """The accuracy on the images held out, after the last epoch, in percent."""
    return 100 * record["history"][-1]["validation_accuracy"]


def values_tried(runs: Trained) -> dict[str, str]:
    """What a trial drew, in words."""
    name = runs[0][0].name
    rule, _, rest = name.partition("-trial")
    drawn = draw(rule, int(rest.partition("-")[0]))
    return {"values": ", ".join(f"{name} {value}" for name, value in drawn.items())}


def best(folder: Path, rule: str, epsilon: float, trials: Iterable[int]) -> list[int]:
    """Trials by their accuracy on the images held out, mean over seeds, the best first."""
    means = {}
    for trial in trials:
        records = [json.loads(p.read_text()) for p in folder.glob(f"{rule}-trial{trial}-epsilon{epsilon}-seed*.json")]
        if not records:
            raise ValueError(f"{folder} has no run of {rule}, trial {trial}, at epsilon {epsilon}")
        accuracies = [record["history"][-1]["validation_accuracy"] for record in records]
        means[trial] = sum(accuracies) / len(accuracies)
    return sorted(means, key=lambda trial: (-means[trial], trial))


def choice(trials: Path, finalists: Path | None) -> dict[str, dict[str, Any]]:
    """What chosen.toml holds: the finalists of each rule, and the chosen one for each epsilon where they have run."""
    found: dict[str, dict[str, Any]] = {"finalists": {}, "chosen": {}}
    for rule in RULES:
        every = best(trials, rule, BUDGET["searched_at"], range(BUDGET["trials"]))
        found["finalists"][rule] = every[: BUDGET["finalists"]]
        if finalists is not None:
            found["chosen"][rule] = [
                best(finalists, rule, epsilon, found["finalists"][rule])[0] for epsilon in BUDGET["epsilons"]
            ]
    return found


def write(found: dict[str, dict[str, Any]], path: Path) -> None:
    """Write a choice as TOML."""
    lines = ["# Written by `python -m nfa.papers.ours.tuning`: the best trials of each rule, the one for each epsilon."]
    for part, of_rules in found.items():
        lines += ["", f"[{part}]", *(f"{rule} = {trials}" for rule, trials in of_rules.items())]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def no_paper(settings: Settings, record: dict[str, Any]) -> str:
    """Why no number is held against a paper's."""
    return "none of the papers compares at equal epsilon"


def _draw(path: Path, rows: Rows, runs: Trained) -> None:
    from nfa.papers.ours.pictures import trials_figure

    trials_figure(path, rows)


def _experiment(id: str, title: str, cells, scales: dict[str, str]) -> Experiment:
    return Experiment(
        id=id,
        title=title,
        numbers=Numbers(where="none: ours", transcription="nothing is printed anywhere"),
        runs=Runs(cells=cells, scales=scales, seeds=dict.fromkeys(scales, 1), readings={}),
        comparison=Comparison(
            tolerance=0.0,
            value=held_out_accuracy,
            measures="accuracy on the images held out, in percent",
            not_comparable=no_paper,
            more=values_tried,
        ),
        claims=Claims(),
        picture=_draw,
    )


TRIALS = _experiment(
    "ours:trials",
    "Trials at equal epsilon: random settings of every rule on MNIST",
    trial_cells,
    {
        "demo": "fashion-mnist-small, 1 epoch, two trials of three rules",
        "paper": f"MNIST, {WHOLE // BUDGET['shorter']} epochs, {BUDGET['trials']} trials a rule at epsilon 3",
    },
)
FINALISTS = _experiment(
    "ours:finalists",
    "Finalists at equal epsilon: the best trials of every rule, run whole on MNIST",
    finalist_cells,
    {
        "demo": "fashion-mnist-small, 2 epochs, the best trial of three rules",
        "paper": f"MNIST, {WHOLE} epochs, the best {BUDGET['finalists']} trials a rule at epsilon 1, 3 and 8",
    },
)

if __name__ == "__main__":
    folders = [Path(name) for name in sys.argv[1:]]
    write(choice(folders[0], folders[1] if len(folders) > 1 else None), Path(__file__).with_name("chosen.toml"))
