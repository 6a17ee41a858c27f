"""What an experiment would take: time and memory, estimated from a few steps of each rule."""

import time
from itertools import islice

from threadpoolctl import threadpool_limits

from nfa.experiments.experiment import Cell, Experiment
from nfa.experiments.prepare import Prepared
from nfa.experiments.runs import measure
from nfa.experiments.settings import Settings
from nfa.train import train

TRIAL_STEPS = 20
BASE_BYTES = 150e6  # Python with NumPy and SciPy


def kind(settings: Settings) -> str:
    """Runs of one kind take equally long: those of a rule, with or without OPUs."""
    return settings.rule + ("" if settings.opu is None else " by OPU")


def plan(
    experiment: Experiment, scale: str, cells: list[Cell], missing: list[Cell], parts: dict[str, Prepared], jobs: int
) -> str:
    """The cells with the time each should take, and time and memory of the whole, as plain text.

    Parameters
    ----------
    cells, missing : all runs, and those that are not finished
    parts : {kind: the parts of one of its runs}; a few steps are trained with them
    jobs : processes at work at the same time
    """
    each = {}
    for name, part in parts.items():
        each[name] = _seconds(part, next(cell.settings for cell in cells if kind(cell.settings) == name))
    lines = [experiment.title, f"Scale {scale}: {experiment.scales[scale]}", ""]
    for cell in cells:
        lines.append(f"{cell.name}: " + (_in_words(each[kind(cell.settings)]) if cell in missing else "finished"))
    total = sum(each[kind(cell.settings)] for cell in missing) / min(jobs, max(1, len(missing)))
    memory = max(map(_bytes, parts.values())) * min(jobs, max(1, len(missing)))
    lines += [
        "",
        f"{len(missing)} of {len(cells)} runs to do, {jobs} at a time:"
        f" {_in_words(total)}, {memory / 1e9:.1f} GB of memory.",
        "Estimated from a few steps of each rule on this machine. Nothing was written.",
    ]
    return "\n".join(lines) + "\n"


def _seconds(parts: Prepared, settings: Settings) -> float:
    """Time of one run: steps and, at the end of each epoch, measurements."""
    with threadpool_limits(settings.threads):
        loop = train(parts.net, parts.rule, parts.batches, parts.optimizer, parts.streams, mechanism=parts.mechanism)
        next(loop)
        began = time.perf_counter()
        for _ in islice(loop, TRIAL_STEPS):
            pass
        step = (time.perf_counter() - began) / TRIAL_STEPS
        began = time.perf_counter()
        measure(parts, parts.batches.steps_per_epoch)
        return settings.epochs * (parts.batches.steps_per_epoch * step + time.perf_counter() - began)


def _bytes(parts: Prepared) -> float:
    """Memory of one run: pixels as read and as floats, parameters, their momentum and their direction."""
    dataset, batches = parts.dataset, parts.batches
    arrays = (dataset.x_train, dataset.x_test, batches.x, batches.y, parts.x_val, parts.x_test)
    return BASE_BYTES + sum(a.nbytes for a in arrays) + 3 * parts.net.n_parameters * parts.net.W[1].itemsize


def _in_words(seconds: float) -> str:
    if seconds < 120:
        return f"about {max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"about {minutes} min" if minutes < 120 else f"about {minutes / 60:.1f} h"
