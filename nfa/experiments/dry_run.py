"""What an experiment would take: time and memory, estimated from a few steps of each rule."""

import math
import time
from itertools import islice

from nfa.experiments.experiment import Cell, Experiment
from nfa.experiments.prepare import Prepared
from nfa.experiments.run import limited, measure
from nfa.experiments.settings import Settings
from nfa.train import train

TRIAL_STEPS, TRIAL_SECONDS = 20, 5.0  # whichever ends first
MEASURED_AT_ONCE = 1000  # examples, by `nfa.network.predict`
BASE_BYTES = 150e6  # Python with NumPy and SciPy


def kind(settings: Settings) -> str:
    """Runs of one kind take equally long: a rule, with or without OPUs, network, data set, epochs, size of batches."""
    by = "" if settings.opu is None else " by OPU"
    length = f"{settings.epochs} epochs in batches of {settings.batch}"
    return f"{settings.rule}{by} of {settings.architecture} on {settings.dataset}, {length}"


def trial(parts: Prepared, settings: Settings) -> tuple[float, float]:
    """Seconds and bytes that a run should take, from training a few steps of it."""
    return _seconds(parts, settings), _bytes(parts)


def plan(
    experiment: Experiment,
    scale: str,
    cells: list[Cell],
    missing: list[Cell],
    trials: dict[str, tuple[float, float]],
    jobs: int,
) -> str:
    """The cells with the time each should take, and time and memory of the whole, as plain text.

    Parameters
    ----------
    cells, missing : all runs, and those that are not finished
    trials : {kind: `trial` of one of its runs}
    jobs : processes at work at the same time
    """
    lines = [experiment.title, f"Scale {scale}: {experiment.runs.scales[scale]}", ""]
    for cell in cells:
        lines.append(f"{cell.name}: " + (_in_words(trials[kind(cell.settings)][0]) if cell in missing else "finished"))
    total = sum(trials[kind(cell.settings)][0] for cell in missing) / min(jobs, max(1, len(missing)))
    memory = max(size for _, size in trials.values()) * min(jobs, max(1, len(missing)))
    lines += [
        "",
        f"{len(missing)} of {len(cells)} runs to do, {jobs} at a time:"
        f" {_in_words(total)}, {memory / 1e9:.1f} GB of memory.",
        "Estimated from a few steps of each kind of run on this machine. Nothing was written.",
    ]
    return "\n".join(lines) + "\n"


def _seconds(parts: Prepared, settings: Settings) -> float:
    """Time of one run: steps and, at the end of each epoch, measurements."""
    with limited(settings.threads, settings.kernels):
        loop = train(parts.net, parts.rule, parts.batches, parts.optimizer, parts.streams, mechanism=parts.mechanism)
        next(loop)
        began = time.perf_counter()
        for taken, _ in enumerate(islice(loop, TRIAL_STEPS), start=1):
            step = (time.perf_counter() - began) / taken
            if taken * step > TRIAL_SECONDS:
                break
        began = time.perf_counter()
        measure(parts, parts.batches.steps_per_epoch)
        return settings.epochs * (parts.batches.steps_per_epoch * step + time.perf_counter() - began)


def _bytes(parts: Prepared) -> float:
    """Memory of one run: pixels as read and as floats, parameters with their memory and direction, what layers hold."""
    dataset, batches, net = parts.dataset, parts.batches, parts.net
    arrays = (dataset.x_train, dataset.x_test, batches.x, batches.y, parts.x_val, parts.x_test)
    held = sum(map(math.prod, (*net.shape_z[1:], *net.shape_h[1:])))  # of one example
    rows = max(MEASURED_AT_ONCE, batches.m if hasattr(batches, "m") else 0)
    return BASE_BYTES + sum(a.nbytes for a in arrays) + (4 * net.n_parameters + 2 * rows * held) * net.W[1].itemsize


def _in_words(seconds: float) -> str:
    if seconds < 120:
        return f"about {max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    return f"about {minutes} min" if minutes < 120 else f"about {minutes / 60:.1f} h"
