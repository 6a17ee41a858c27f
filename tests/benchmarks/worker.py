"""A contender's own process. It builds the code to be timed, warms up, and sleeps until `race` requests a round.

`race.Contestant` starts this process and communicates with it in lines of JSON. The process imports no timed library
before it has read its task, and imports NumPy only after the settings of threads. A process of torch imports neither
numba nor our code.
"""

import contextlib
import importlib
import json
import os
import queue
import signal
import sys
import threading
import time
import traceback
from typing import Any

LIBRARIES = ("numpy", "scipy", "numba", "torch", "opacus", "jax", "jaxlib")
# if a build raises one of these errors, the contender is left out, and the error's message is the reason
REFUSALS = (ValueError, ImportError, OSError)


def main() -> None:
    """Answer the lines on standard input until the input ends. The output of libraries goes to standard error."""
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(lines,), daemon=True).start()
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    task = json.loads(lines.get())
    if task["bound"] and hasattr(os, "sched_setaffinity"):  # before any library counts the cores
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: task["bound"]])
    try:
        steps, about = prepared(task)
    except REFUSALS as refusal:
        answers.write(json.dumps({"left_out": f"{type(refusal).__name__}: {refusal}"}) + "\n")
        return
    except Exception:
        answers.write(json.dumps({"failed": traceback.format_exc()}) + "\n")
        return
    from . import timing

    calls: dict[str, int] = {}
    answers.write(json.dumps({**about, "labels": list(steps)}) + "\n")
    while True:
        found = {}
        for label in json.loads(lines.get()):  # the process sleeps until it reads the next line
            # we choose the number of calls in the first turn, because no other process is being prepared then
            if label not in calls:
                calls[label] = 1 if task["once"] else timing.calls_for(steps[label], task["least"])
            found[label] = timing.one_round(steps[label], calls[label], warm=not task["once"])
        answers.write(json.dumps(found) + "\n")


def _listen(lines: queue.SimpleQueue[bytes]) -> None:
    """Put the lines of standard input into ``lines``.

    When the input ends, end this process and the processes that it started. The input ends when the process that
    started this one ends, for any reason. This thread notices the end of the input even while the main thread is still
    building.
    """
    with open(0, "rb", buffering=0, closefd=False) as asked:
        for line in iter(asked.readline, b""):
            lines.put(line)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def prepared(task: dict[str, Any]) -> tuple[dict, dict[str, Any]]:
    """The steps by label, compiled and warm, and the report of this process.

    The tiny steps run first, so that the memory of a step does not include compilation and loading of libraries.
    ``task`` has the keys of `race.Contestant`.
    """
    if task["kind"] == "ours":
        importlib.import_module("nfa.cli.main")  # as the command `nfa` starts
        from threadpoolctl import threadpool_limits

        from nfa.experiments.run import limited

        floors = task["build"].startswith("floors:")
        threads = threadpool_limits(task["threads"]) if floors else limited(task["threads"])
        contextlib.ExitStack().enter_context(_for_good(threads))
    from . import timing

    module, function = task["build"].split(":")
    began = time.perf_counter()
    build = getattr(importlib.import_module(f"{__package__}.{module}"), function)
    built = build(task["folder"], tiny=True, threads=task["threads"], **task["options"])
    for step in built.steps.values():
        step()
    ready = time.perf_counter() - began
    if not task["tiny"]:
        built = build(task["folder"], tiny=False, threads=task["threads"], **task["options"])
    taken = {} if task["once"] else {label: timing.bytes_of(step) for label, step in built.steps.items()}
    return built.steps, {
        "threads": task["threads"],
        **built.told,
        "seconds_to_be_ready": ready,
        "bytes": taken,
        "step_bytes": taken.get("step"),
        "process_bytes": timing.resident(peak=True),
        "environment": environment(),
    }


_kept: list = []


def _for_good(context):
    """Enter a context that is never left, because the process ends first."""
    _kept.append(context)
    return context


def environment() -> dict[str, Any]:
    """The environment of this process: loaded libraries, thread pools of linear algebra, relevant variables."""
    import importlib.metadata

    import threadpoolctl

    keys = ("user_api", "internal_api", "version", "architecture", "num_threads")
    pools = [{key: pool.get(key) for key in keys} for pool in threadpoolctl.threadpool_info()]
    names = ("OPENBLAS_", "OMP_", "MKL_", "NUMBA_", "XLA_", "MALLOC_")
    return {
        "versions": {name: importlib.metadata.version(name) for name in LIBRARIES if name in sys.modules},
        "pools": pools,
        "variables": {name: value for name, value in sorted(os.environ.items()) if name.startswith(names)},
    }


if __name__ == "__main__":
    main()
