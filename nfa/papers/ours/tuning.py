"""The search for every rule's settings: trials on MNIST, whole runs of the best trials, a choice for each epsilon.

MNIST counts as public, so the search does not increase any epsilon. We rank trials by their accuracy on 10,000 training
images of MNIST, which are drawn with the seed. The search does not use the test set. Every rule has the same number of
trials. `python -m nfa.papers.ours.tuning dense|cnn TRIALS [FINALISTS]` writes the chosen values. TRIALS and FINALISTS
are the folders of the experiments. Until the finalists have run, the program chooses the best trial for every epsilon.
"""

import json
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from nfa.experiments.experiment import Cell, Experiment, Rows, TableCell, Trained
from nfa.experiments.settings import Settings
from nfa.papers.ours.contenders import CNN, DENSE, Contest, write

HELD_OUT = DENSE.budget["held_out"] / 60_000  # share of MNIST's training set
DEMO = ("dp-sgd", "joint-dfa", "dp-dfa")


def trial_cells(scale: str, seeds: list[int], contest: Contest = DENSE) -> list[Cell]:
    """Every trial of every rule, shorter than a whole run, at one epsilon. The demo has two trials per rule in `DEMO`.

    Source: [ours:trials] [ours:cnn-trials]
    """
    demo, budget = scale == "demo", contest.budget
    epochs = 1 if demo else contest.scales["paper"]["epochs"] // budget["shorter"]
    return [
        _cell(contest, rule, trial, budget["searched_at"], seed, epochs=epochs, demo=demo)
        for rule in contest.rules
        for trial in range(2 if demo else budget["trials"])
        for seed in seeds
        if not demo or rule in DEMO
    ]


def finalist_cells(scale: str, seeds: list[int], contest: Contest = DENSE) -> list[Cell]:
    """The best trials of every rule as whole runs at every epsilon and with every length, a factor of the step.

    The demo has the best trial of three rules, as short runs.

    Source: [ours:finalists]
    """
    demo, budget, whole = scale == "demo", contest.budget, contest.scales["paper"]["epochs"]
    return [
        _cell(contest, rule, trial, epsilon, seed, epochs=2 if demo else whole, demo=demo, length=length)
        for rule in (DEMO if demo else contest.rules)
        for epsilon, lengths in zip(budget["epsilons"], budget["lengths"], strict=True)
        if not demo or epsilon == budget["searched_at"]
        for trial, length in _whole_runs(contest, contest.chosen["finalists"][rule][: 1 if demo else None], lengths)
        for seed in seeds
    ]


def _cell(
    contest: Contest, rule: str, trial: int, epsilon: float, seed: int, *, epochs: int, demo: bool, length: float = 1.0
) -> Cell:
    return Cell(
        name=f"{rule}-trial{_in_names(trial, length)}-epsilon{epsilon}-seed{seed}",
        settings=contest.settings(
            rule,
            contest.lengthened(contest.draw(rule, trial), length),
            epsilon=epsilon,
            dataset="fashion-mnist-small" if demo else "mnist",
            epochs=epochs,
            seed=seed,
            validation=HELD_OUT,
        ),
        key={"rule": contest.rules[rule]["name"], "trial": _in_names(trial, length), "epsilon": str(epsilon)},
    )


def _whole_runs(contest: Contest, finalists: list[int], lengths: list[float]) -> list[tuple[int, float]]:
    """Pairs of a finalist and a length, the factor of its step, for the whole runs at one epsilon."""
    every = contest.budget["lengthened"]
    return [(trial, x) for i, trial in enumerate(finalists) for x in (lengths if i < every else lengths[:1])]


def _in_names(trial: int, length: float) -> str:
    return f"{trial}" if length == 1 else f"{trial}x{length:g}"


def held_out_accuracy(cell: Cell, record: dict[str, Any]) -> float:
    """The accuracy on the held-out images after the last epoch, in percent."""
    return 100 * record["history"][-1]["validation_accuracy"]


def values_tried(runs: Trained, contest: Contest = DENSE) -> dict[str, TableCell]:
    """The values that a trial drew, in words, with the step of its run."""
    rule, _, rest = runs[0][0].name.partition("-trial")
    trial, _, length = rest.partition("-")[0].partition("x")
    drawn = contest.lengthened(contest.draw(rule, int(trial)), float(length or 1))
    return {"values": TableCell(", ".join(f"{name} {value}" for name, value in drawn.items()), drawn)}


def best(folder: Path, rule: str, epsilon: float, runs: Iterable[tuple[int, float]]) -> list[tuple[int, float]]:
    """Trials with their lengths, sorted by accuracy on the held-out images (mean over seeds), the best first."""
    means = {}
    for trial, length in runs:
        name = f"{rule}-trial{_in_names(trial, length)}-epsilon{epsilon}"
        records = [json.loads(p.read_text()) for p in folder.glob(f"{name}-seed*.json")]
        if not records:
            raise ValueError(f"{folder} has no run {name}")
        accuracies = [record["history"][-1]["validation_accuracy"] for record in records]
        means[trial, length] = sum(accuracies) / len(accuracies)
    return sorted(means, key=lambda one: (-means[one], *one))


def choice(contest: Contest, trials: Path, finalists: Path | None) -> dict[str, dict[str, Any]]:
    """The finalists of each rule, and the rule's best trial and length for each epsilon.

    Until the finalists have run, the choice for each epsilon is the best trial with length 1.

    Source: [ours:finalists]
    """
    budget = contest.budget
    found: dict[str, dict[str, Any]] = {"finalists": {}, "chosen": {}, "lengths": {}}
    for rule in contest.rules:
        ranked = best(trials, rule, budget["searched_at"], [(trial, 1.0) for trial in range(budget["trials"])])
        ahead = [trial for trial, _ in ranked[: budget["finalists"]]]
        won = [
            best(finalists, rule, epsilon, _whole_runs(contest, ahead, lengths))[0] if finalists else ranked[0]
            for epsilon, lengths in zip(budget["epsilons"], budget["lengths"], strict=True)
        ]
        found["finalists"][rule] = ahead
        found["chosen"][rule] = [trial for trial, _ in won]
        found["lengths"][rule] = [length for _, length in won]
    return found


def no_paper(settings: Settings, record: dict[str, Any]) -> str:
    """The reason why our numbers cannot be compared with a paper."""
    return "no paper compares rules at equal epsilon"


def _draw(path: Path, rows: Rows, runs: Trained) -> None:
    from nfa.papers.ours.pictures import trials_figure

    trials_figure(path, rows, runs)


def _experiment(contest: Contest, id: str, title: str, cells, scales: dict[str, str]) -> Experiment:
    return Experiment(
        id=id,
        title=title,
        where="an experiment of ours",
        transcription="There are none.",
        cells=partial(cells, contest=contest),
        scales=scales,
        seeds=dict.fromkeys(scales, 1),
        value=held_out_accuracy,
        measures="accuracy on the images held out, in percent",
        not_comparable=no_paper,
        extra_columns=partial(values_tried, contest=contest),
        picture=_draw,
    )


def _trials(contest: Contest, id: str, title: str, demo: str) -> Experiment:
    budget = contest.budget
    epochs = contest.scales["paper"]["epochs"] // budget["shorter"]
    length = f"{epochs} epoch{'s' if epochs > 1 else ''}"
    paper = f"MNIST, {length}, {budget['trials']} trials a rule at epsilon {budget['searched_at']}"
    scales = {"demo": f"fashion-mnist-small, 1 epoch, {demo}", "paper": paper}
    return _experiment(contest, id, title, trial_cells, scales)


TRIALS = _trials(
    DENSE, "ours:trials", "Trials at equal epsilon: random settings of every rule on MNIST", "two trials of three rules"
)
CNN_TRIALS = _trials(
    CNN,
    "ours:cnn-trials",
    "Trials at equal epsilon on lee2020's network: random settings of four rules on MNIST",
    "two trials of two rules",
)
FINALISTS = _experiment(
    DENSE,
    "ours:finalists",
    "Finalists at equal epsilon: the best trials of every rule, run whole on MNIST",
    finalist_cells,
    {
        "demo": "fashion-mnist-small, 2 epochs, the best trial of three rules",
        "paper": f"MNIST, {DENSE.scales['paper']['epochs']} epochs, the best {DENSE.budget['finalists']} trials a rule"
        " at epsilon 1, 3 and 8, and at epsilon 1 three of these trials also with a third of the learning rate",
    },
)

if __name__ == "__main__":
    which, *folders = sys.argv[1:]
    contest = {"dense": DENSE, "cnn": CNN}[which]
    write(contest, choice(contest, Path(folders[0]), Path(folders[1]) if len(folders) > 1 else None))
