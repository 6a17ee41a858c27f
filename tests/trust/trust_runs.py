"""Runs `nfa reproduce` with killed processes and with workers, and computes the numbers for results/trust-runs.

To compute the numbers again, type in the root of the checkout::

    python -m tests.trust.trust_runs kills --out results/trust-runs/kills.json
    python -m tests.trust.trust_runs workers --out results/trust-runs/workers.json

``python -m tests.trust.trust_runs child ...`` is `nfa ...` with a small table instead of a paper's tables. This table
takes seconds, so a test can start such a process and kill it.
"""

import argparse
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from tests.project.tree import ROOT

KILLS = [(50, 1, 500), (10, 2, 1000)]  # (number of kills, processes, epochs of the runs)
PRIVATE = {"C": 1.0, "m": 10, "sigma": 0.3}


def cells(scale, seeds):
    """Cells for BP, DFA and DP-SGD on the tiny data set. The record of DP-SGD has an epsilon.

    Environment variables have the path of the data and the number of epochs.
    """
    from nfa.experiments.experiment import Cell
    from tests.experiments.tiny_runs import tiny_settings

    rules = {
        "bp": {"rule": "bp"},
        "dfa": {"rule": "dfa", "optimizer": "adam", "lr": 0.01},
        "dp_sgd": {
            "rule": "dp_sgd",
            "rule_settings": PRIVATE,
            "sampling": "poisson",
            "adjacency": "add-remove",
            "delta": 1e-5,
        },
    }
    key = {"sigma": "non-private", "reading": "first"}
    path, epochs = os.environ["NFA_TINY"], int(os.environ.get("NFA_TINY_EPOCHS", "150"))
    return [
        Cell(f"{name}-seed{seed}", tiny_settings(path, seed=seed, epochs=epochs, **more), key | {"rule": name.upper()})
        for name, more in rules.items()
        for seed in seeds
    ]


def child(arguments):
    """`nfa` in which every experiment is the tiny table, with a checkpoint every 0.05 seconds."""
    from nfa.cli import main as cli
    from nfa.experiments import run
    from nfa.papers import index
    from nfa.papers.ohana2021 import table1
    from nfa.whole import write_whole

    table = replace(
        table1.TABLE1,
        paper=lambda key: None,
        cells=cells,
        readings={"first": "B is as it is."},
        tried=(),
        notes=lambda rows: [],
        picture=lambda path, rows, runs: write_whole(path, repr(rows).encode()),  # matplotlib takes a second to import
    )
    # otherwise this process ignores Ctrl-C if a shell started the tests in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
    index.find = lambda item, variant="published": table
    run.run.__kwdefaults__["checkpoint_every"] = 0.05
    return cli.main(arguments)


def started(data, out, *more, seeds=1, epochs=150, **options):
    """A process that runs the tiny table in its own group: `nfa reproduce ohana2021:table1 --out OUT`."""
    tiny = {"NFA_TINY": str(data), "NFA_TINY_EPOCHS": str(epochs), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    command = [
        sys.executable,
        "-m",
        "tests.trust.trust_runs",
        "child",
        "reproduce",
        "ohana2021:table1",
        "--out",
        str(out),
    ]
    return subprocess.Popen(
        [*command, "--seeds", str(seeds), *map(str, more)],
        env=os.environ | {"NFA_DEBUG": "0"} | tiny,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )


def finished(*arguments, **options):
    """Wait for the process to end: (exit code, its output on standard error)."""
    process = started(*arguments, **options)
    said = process.communicate()[1]
    return process.returncode, said


def last_line(said):
    """The last line of a process's standard error. All other lines must be lines of progress."""
    *progress, sentence = said.splitlines()
    assert "Traceback" not in said
    known = r"\w+-seed1: (starts|finished|at step|step)\b|compiling kernels: |each of \d+ processes compiles "
    assert all(re.match(known, line) for line in progress), said
    assert sentence.startswith("nfa: ")
    return sentence.removeprefix("nfa: ")


def kept(folder):
    """{name: text without the times} of the records, and of the table from these records."""
    texts = {path.name: path.read_text() for path in sorted(folder.glob("*.json"))}
    texts = {name: re.sub(r'"timing": \{[^}]*\}', '"timing": {}', text) for name, text in texts.items()}
    return texts | {path.name: path.read_text() for path in folder.glob("table.txt")}


def whole(folder):
    """Read every record and checkpoint in the folder, and return the steps of the checkpoints.

    Raise if a file is damaged.
    """
    from nfa.experiments import records

    for path in folder.glob("*.json"):
        records.read(path)
    steps = {}
    for path in folder.glob("*.ckpt.npz"):
        assert records.checkpoint_meta(path)["spent"]["statement"]
        with np.load(path) as saved:
            steps[path.name] = json.loads(saved["header"].tobytes())["t"]
    return steps


def kills(n, seed=0, jobs=1, epochs=150):
    """Kill the tiny table n times at random moments, continue each time, and compare with an undisturbed run.

    The signal is SIGKILL. The moments are uniform over the time of the undisturbed run. After a table is finished, the
    next round begins in another folder. The result counts the kills, the rounds, the kills that left a checkpoint, and
    the kills that left finished cells. The result also counts the records of all rounds, and the files that differ from
    those of the undisturbed run.
    """
    from tests.experiments.tiny_runs import write_data

    rng = np.random.default_rng(seed)
    counts = {"kills": 0, "rounds": 0, "with a checkpoint": 0, "with finished cells": 0, "records": 0, "differ": 0}
    with tempfile.TemporaryDirectory() as place:
        data = write_data(Path(place) / "tiny.npz")
        began = time.monotonic()
        code, said = finished(data, Path(place) / "alone", "--jobs", jobs, epochs=epochs)
        took = time.monotonic() - began
        assert code == 0, said
        alone = kept(Path(place) / "alone")
        names = {path.name for path in (Path(place) / "alone").iterdir()}
        while counts["kills"] < n:
            counts["rounds"] += 1
            out = Path(place) / str(counts["rounds"])
            while True:
                process = started(data, out, "--jobs", jobs, epochs=epochs)
                try:
                    if counts["kills"] < n:
                        process.wait(rng.uniform(0, took))
                    said = process.communicate()[1]
                    assert process.returncode == 0, said
                    break
                except subprocess.TimeoutExpired:
                    process.kill()  # kills only this process; its workers must notice this and end
                    process.communicate()
                    counts["kills"] += 1
                    counts["with a checkpoint"] += bool(whole(out))
                    counts["with finished cells"] += bool(list(out.glob("*.json")))
            again = kept(out)
            counts["records"] += len(list(out.glob("*.json")))
            counts["differ"] += sum(again.get(name) != text for name, text in alone.items())
            counts["differ"] += {path.name for path in out.iterdir()} != names
    return counts | {"seconds alone": round(took, 1)}


@contextmanager
def cluster(workers, folder):
    """A dask scheduler and its workers, one process each: (address, [scheduler, worker, ...])."""
    folder.mkdir(exist_ok=True)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    processes = []

    def start(*arguments):
        command = [sys.executable, "-m", "dask", *arguments, "--no-dashboard"]
        with open(folder / f"{len(processes)}.log", "w") as log:
            processes.append(subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log))

    def wait_for(condition):
        until = time.monotonic() + 120
        while not condition():
            assert time.monotonic() < until, (folder / "0.log").read_text()
            time.sleep(0.02)

    try:
        start("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", "scheduler.json")
        wait_for(lambda: list(folder.glob("scheduler.json")) and (folder / "scheduler.json").read_text().endswith("}"))
        address = json.loads((folder / "scheduler.json").read_text())["address"]
        for _ in range(workers):
            start("worker", address, "--nthreads", "1", "--no-nanny", "--memory-limit", "0")
        wait_for(lambda: (folder / "0.log").read_text().count("Register worker") == workers)
        yield address, processes
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


def walls(seeds=4, epochs=1500):
    """Seconds of the tiny table and the start of its processes, with workers on this machine and on a cluster."""
    from tests.experiments.tiny_runs import write_data

    found = {}
    with tempfile.TemporaryDirectory() as place:
        data = write_data(Path(place) / "tiny.npz")

        def timed(name, *more):
            began, load = time.monotonic(), os.getloadavg()[0]
            code, said = finished(data, Path(place) / name, *more, seeds=seeds, epochs=epochs)
            assert code == 0, said
            found[name] = {"seconds": round(time.monotonic() - began, 1), "load average before": round(load, 1)}
            texts.append(kept(Path(place) / name))

        texts = []
        for n in (1, 2):
            timed(f"jobs {n}", "--jobs", n)
        for n in (1, 2):
            with cluster(n, Path(place) / f"cluster {n}") as (address, _):
                timed(f"dask, workers {n}", "--backend", "dask", "--scheduler", address)
    same = all(text == texts[0] for text in texts)
    return {"runs": 3 * seeds, "steps of a run": 4 * epochs, "wall": found, "records all the same but for times": same}


def main():
    if sys.argv[1:2] == ["child"]:
        return child(sys.argv[2:])
    parser = argparse.ArgumentParser(prog="python -m tests.trust.trust_runs")
    parser.add_argument("what", choices=["kills", "workers"])
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    if given.what == "kills":
        figures = {f"jobs {jobs}": kills(n, seed=jobs, jobs=jobs, epochs=epochs) for n, jobs, epochs in KILLS}
    else:
        figures = walls()
    report = {
        "command": f"python -m tests.trust.trust_runs {given.what} --out {given.out}",
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "figures": figures,
    }
    text = json.dumps(report, indent=1) + "\n"
    print(text, end="")
    if given.out:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
