"""Mutation testing: after a small change to the code, one of the fast tests must fail.

``python -m tests.trust.mutants`` draws a seeded sample and writes results/trust-mutants/mutants.json. The run takes an
hour or two on one core. ``--again FILE`` tests the survivors of an earlier run again, and keeps the other results of
that run. Use this option after you have added tests for survivors.

A mutant is one changed file (tests/trust/mutations.py) in a copy of the tree. The tests of a mutant are those that
reach the changed statement. We find these tests in a run under coverage with one context for each test. The test file
that covers most of the changed module runs first. The other files follow, the quickest first. We test each mutant in a
fork of a process that has loaded NumPy, SciPy and pytest, but no module of nfa. Kernels are not compiled in these runs
(NUMBA_DISABLE_JIT=1), because coverage cannot measure compiled lines. At the end, the tests that failed run once more
on the unchanged tree, where they must pass. A survivor is a mutant that no test detects. tests/trust/mutants.toml
explains why survivors are harmless.
"""

import argparse
import ast
import compileall
import contextlib
import difflib
import gc
import importlib
import json
import os
import platform
import py_compile
import shutil
import signal
import sys
import tempfile
import time
import tomllib
import traceback
from collections import Counter, defaultdict
from functools import cache
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path

from tests.project.tree import revision
from tests.trust.mutations import ROOT, SAMPLES, Change, changed, draw

ENVIRONMENT = {
    "NUMBA_DISABLE_JIT": "1",
    "OMP_NUM_THREADS": "1",
    "MPLBACKEND": "Agg",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
}
HARMLESS = ROOT / "tests" / "trust" / "mutants.toml"
SEED = 2028
WARM = """numpy scipy.special scipy.stats scipy.optimize scipy.integrate mpmath hypothesis.extra.numpy numba
matplotlib.pyplot dp_accounting torch pytest coverage joblib typer rich""".split()
LONGEST = 5  # largest time of a test under coverage, in seconds; we do not use slower tests
SECONDS = 60  # largest total time of the tests for one mutant, in seconds, by their times under coverage


# Finding the tests that reach a change.


class Listener:
    """A pytest plugin that keeps only the wanted tests, quickest first, and notes the passed tests and their times."""

    def __init__(self, tree: Path, wanted: dict[str, float] | None, coverage=None):
        self.tree, self.wanted, self.coverage, self.times, self.failed = tree, wanted, coverage, {}, []

    def pytest_configure(self, config):
        import hypothesis

        signal.signal(signal.SIGVTALRM, out_of_time)

        few = [hypothesis.Phase.explicit, hypothesis.Phase.generate]  # without the search for the smallest example
        hypothesis.settings.register_profile("mutants", hypothesis.settings.get_profile("nfa"), phases=few)
        hypothesis.settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items):
        import nfa

        if Path(nfa.__file__).parent.parent != self.tree:
            os._exit(99)
        if self.wanted is None:
            items[:] = [i for i in items if not (i.get_closest_marker("slow") or i.get_closest_marker("nightly"))]
        else:
            items[:] = sorted((i for i in items if i.nodeid in self.wanted), key=lambda i: self.wanted[i.nodeid])

    def pytest_runtest_logstart(self, nodeid):
        if self.coverage:
            self.coverage.switch_context(nodeid)
            signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)

    def pytest_runtest_logreport(self, report):
        self.times[report.nodeid] = self.times.get(report.nodeid, 0.0) + report.duration
        if report.outcome != "passed":
            self.failed.append(report.nodeid)

    def pytest_collectreport(self, report):
        if report.failed:
            self.failed.append(report.nodeid)


def out_of_time(*_):
    raise TimeoutError(f"more than {LONGEST} s: a kernel that is not compiled, as a rule")


def pytest_here(tree: Path, more: list[str], listener) -> int:
    """Run pytest in a copy of the tree. The caller must be a fork that has not imported nfa."""
    import pytest

    os.chdir(tree)
    sys.path[:] = [path for path in sys.path if not Path(path or ".").resolve().is_relative_to(ROOT)] + SITE
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        arguments = ["-q", "-p", "_hypothesis_pytestplugin", "-p", "no:cacheprovider", f"--basetemp={tree}.tmp", *more]
        # hypothesis was imported before pytest could rewrite its assertions
        arguments += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        return int(pytest.main(arguments, plugins=[listener]))


SITE = [path for path in sys.path if "site-packages" in path]


def forked(work, seconds: float) -> tuple[int | None, str]:
    """(exit code, output) of `work(write)` in a fork.

    The exit code is None if the work needs over ``seconds`` of processor time.
    """
    import resource

    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 98
        try:
            os.setsid()
            os.close(read)
            resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 10))
            code = work(lambda text: os.write(write, text.encode()))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(write)
    end = time.monotonic() + 10 * seconds
    while (done := os.waitpid(pid, os.WNOHANG)) == (0, 0) and time.monotonic() < end:
        time.sleep(0.01)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)  # kills the fork and the processes that it started
    status = done[1] if done[0] else os.waitpid(pid, 0)[1]
    with open(read, errors="replace") as pipe:
        said = pipe.read(4096)
    return (os.waitstatus_to_exitcode(status) if os.WIFEXITED(status) else None), said


def copy_tree(to: Path) -> Path:
    """A copy of the tree in the layout of an installation, compiled so that Python always detects a changed file."""
    ignore = shutil.ignore_patterns(".*", "build", "runs", "dist", "*.egg-info", "__pycache__", "mutants")
    shutil.copytree(ROOT, to, ignore=ignore, symlinks=True)
    for name in ("kernels", "data"):
        if not (to / "nfa" / name).exists():
            (to / "nfa" / name).symlink_to(f"../{name}")
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    for name in ("nfa", "kernels", "data"):
        compileall.compile_dir(to / name, quiet=2, invalidation_mode=mode)
    return to


def warm_up():
    for name in WARM:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()  # so that the garbage collector of a fork does not search the present objects


def baseline(work: Path, files: list[str]) -> None:
    """Run the fast tests once under coverage, and write work/coverage and work/times.json."""
    tree = copy_tree(work / "baseline")

    def under_coverage(write):
        import coverage

        watched = [f"{tree}/{pattern}" for patterns, _ in SAMPLES.values() for pattern in patterns]
        watched += [f"{tree}/nfa/{pattern}" for pattern in SAMPLES["kernels"][0]]
        meter = coverage.Coverage(data_file=str(work / "coverage"), include=watched, config_file=False)
        listener = Listener(tree, None, meter)
        meter.start()
        pytest_here(tree, files, listener)
        meter.stop()
        meter.save()
        (work / "times.json").write_text(json.dumps({"times": listener.times, "failed": listener.failed}))
        return 0

    code, _ = forked(under_coverage, 4 * 3600)
    if code != 0:
        raise SystemExit(f"the run under coverage ended with {code}")


@cache
def reached(work: Path) -> tuple[dict, dict[str, float]]:
    """The tests that reach a line, by file and line, and the seconds of each test that passed."""
    import coverage

    data = coverage.CoverageData(str(work / "coverage"))
    data.read()
    spent = json.loads((work / "times.json").read_text())
    times = {test: t for test, t in spent["times"].items() if test not in spent["failed"]}
    found: dict = {}
    for path in data.measured_files():
        inside = Path(path).relative_to(next(p for p in Path(path).parents if (p / "setup.cfg").exists()))
        lines = found.setdefault(str(inside).removeprefix("nfa/" if "nfa/kernels/" in path else ""), defaultdict(set))
        for line, contexts in data.contexts_by_lineno(path).items():
            lines[line] |= {test for c in contexts if (test := c.rsplit("|", 1)[0]) in times}
    return found, times


def around(change: Change) -> list[range]:
    """Three ranges of lines around a change: the innermost statement, the outermost function, and the whole file."""
    text = (ROOT / change.file).read_text()
    holds = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.stmt) and node.lineno <= change.first and change.last <= node.end_lineno
    ]
    inner = max(holds, key=lambda node: (node.lineno, -node.end_lineno))
    outer = next((node for node in holds if isinstance(node, ast.FunctionDef)), inner)
    return [
        range(inner.lineno, change.last + 1),
        range(outer.lineno, outer.end_lineno + 1),
        range(1, text.count("\n") + 1),
    ]


def tests_of(work: Path, change: Change) -> dict[str, dict[str, float]]:
    """The seconds of each test that reaches the changed statement or else its function or its file, by test file."""
    lines, times = reached(work)
    here = lines.get(change.file, {})
    for some in around(change):
        if tests := set().union(*(here.get(line, ()) for line in some)):
            break
    files: dict[str, dict[str, float]] = defaultdict(dict)
    for test in tests:
        files[test.split("::")[0]][test] = times[test]
    broad = Counter(test.split("::")[0] for tests_here in here.values() for test in tests_here)
    first = max(files, key=lambda file: broad[file], default=None)
    return dict(sorted(files.items(), key=lambda item: (item[0] != first, sum(item[1].values()))))


# Testing whether a test detects a change.


def attempt(tree: Path, file: str, wanted: dict[str, float]) -> tuple[int | None, str]:
    """(exit code, the test that failed) of some tests in one file. The code is None if the time ran out."""

    def work(write):
        listener = Listener(tree, wanted)
        code = pytest_here(tree, ["-x", file], listener)
        write("".join(listener.failed[:1]))
        return code

    code, failed = forked(work, 20 + 10 * sum(wanted.values()))
    if code in (98, 99) or code == 5:
        raise RuntimeError(f"{file} cannot be run in {tree}: {code}")
    return code, failed


def noticed(work: Path, change: Change) -> dict:
    """Write the change into this process's tree, and run the tests that reach the changed statement."""
    tree, start, spent, tests = worker_tree(work), time.perf_counter(), 0.0, 0
    old, new = (ROOT / change.file).read_text(), changed(change)
    differ = [x for x in difflib.ndiff(old.splitlines(), new.splitlines()) if x[0] in "+-"]
    record = {"file": change.file, "number": change.number, "line": change.first, "killed": None}
    record |= {
        name: "\n".join(x[2:].strip() for x in differ if x[0] == sign) for name, sign in (("old", "-"), ("new", "+"))
    }
    try:
        (tree / change.file).write_text(new)
        for file, wanted in tests_of(work, change).items():
            if spent > SECONDS:
                break
            spent, tests = spent + sum(wanted.values()), tests + len(wanted)
            code, failed = attempt(tree, file, wanted)
            if code != 0:
                record["killed"] = failed if code == 1 else f"{file} {'took too long' if code is None else 'broke'}"
                break
    finally:
        (tree / change.file).write_text(old)
    return record | {"tests": tests, "seconds": round(time.perf_counter() - start, 2)}


@cache
def worker_tree(work: Path) -> Path:
    """A tree that only this process uses, in which pytest has compiled the tests."""
    tree = copy_tree(Path(tempfile.mkdtemp(dir=work)) / "tree")

    def collect(write):
        sys.dont_write_bytecode = False
        return pytest_here(tree, ["--collect-only", "tests"], Listener(tree, {}))

    forked(collect, 600)
    return tree


def control(work: Path, records: list[dict]) -> list[str]:
    """The test files that failed on a mutant and also fail on the unchanged tree. The list should be empty."""
    _, times = reached(work)
    killers = {r["killed"] for r in records if r["killed"] in times}
    wrong = []
    for file in sorted({test.split("::")[0] for test in killers}):
        wanted = {test: times[test] for test in killers if test.startswith(f"{file}::")}
        if attempt(worker_tree(work), file, wanted)[0] != 0:
            wrong.append(file)
    return wrong


def counted(records: list[dict]) -> dict:
    """The number of detected mutants, with the 95 % Clopper-Pearson interval of their share."""
    from scipy.stats import binomtest

    n, k = len(records), sum(r["killed"] is not None for r in records)
    low, high = binomtest(k, n).proportion_ci(0.95, method="exact") if n else (0.0, 1.0)
    return {"sampled": n, "killed": k, "rate": k / max(n, 1), "interval": [round(low, 4), round(high, 4)]}


def report(totals: dict[str, int], records: list[dict], earlier: dict) -> dict:
    """The report: counts by file, by tool and in total, and each survivor with the reason why it is harmless."""
    known = tomllib.loads(HARMLESS.read_text())["harmless"]
    why = {(h["file"], h["old"], h["new"]): h["why"] for h in known}
    records = sorted(records, key=lambda r: (r["file"], r["number"]))
    survivors = [r | {"why": why.get((r["file"], r["old"], r["new"]), "")} for r in records if r["killed"] is None]
    of_kernels = [r["file"].startswith("kernels/") for r in records]
    return {
        "seed": SEED,
        "code": revision(),
        "at first": earlier.get("at first") or (earlier and {name: earlier[name] for name in ("code", "all")}),
        "confidence": 0.95,
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("mutmut", "cosmic-ray", "numpy", "pytest", "hypothesis", "coverage")},
        "all": counted(records),
        "plain": counted([r for r, kernel in zip(records, of_kernels, strict=True) if not kernel]),
        "kernels": counted([r for r, kernel in zip(records, of_kernels, strict=True) if kernel]),
        "harmless": sum(bool(s["why"]) for s in survivors),
        "unexplained": sum(not s["why"] for s in survivors),
        "files": {
            file: {"mutants": totals[file]} | counted([r for r in records if r["file"] == file])
            for file in sorted(totals)
        },
        "survivors": survivors,
        "killed": {name_of(r): r["killed"].partition("[")[0] for r in records if r["killed"]},
    }


def name_of(record: dict) -> str:
    return f"{record['file']}:{record['line']} #{record['number']}"


def taken_over(sample: list[Change], earlier: dict) -> tuple[list[dict], list[Change]]:
    """The results of an earlier run (if any) for changes that its tests detected, and the changes to test."""
    changes = [(c, {"file": c.file, "number": c.number, "line": c.first}) for c in sample]
    killed = earlier.get("killed", {})
    if earlier and {name_of(r) for _, r in changes} != {*killed, *map(name_of, earlier["survivors"])}:
        raise SystemExit("the earlier result is of another sample: the seed or the code is not the same")
    records = [r | {"killed": killed[name_of(r)]} for _, r in changes if name_of(r) in killed]
    return records, [c for c, r in changes if name_of(r) not in killed]


def try_all(work: Path, changes: list[Change], jobs: int):
    """Yield the record of each change. The folder stores the records, so no change is tested twice."""
    kept = work / "tried.jsonl"
    done = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    todo = {(c.file, c.number): c for c in changes}
    yield from (r for r in done if todo.pop((r["file"], r["number"]), None))
    changes[:] = todo.values()
    reached(work)  # once, before the processes start
    with get_context("fork").Pool(jobs, initializer=use, initargs=(work, changes)) as pool, kept.open("a") as log:
        for record in pool.imap_unordered(noticed_there, range(len(changes))):
            log.write(json.dumps(record) + "\n")
            log.flush()
            yield record


def use(work: Path, changes: list[Change]):
    """Set the global variables of `noticed_there` in each process.

    Processes inherit changes, which cannot be pickled.
    """
    global HERE
    HERE = work, changes


def noticed_there(i: int) -> dict:
    work, changes = HERE
    return noticed(work, changes[i])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "trust-mutants" / "mutants.json")
    parser.add_argument(
        "--again", type=Path, help="an earlier result: only its survivors are tried, the rest taken over"
    )
    parser.add_argument("--work", type=Path, help="a folder for what can be used again when a run is broken off")
    parser.add_argument("--share", type=float, default=1.0, help="of the sample's size (default 1)")
    parser.add_argument("--jobs", type=int, default=1, help="processes (default 1)")
    args = parser.parse_args()
    os.chdir(ROOT)
    os.environ |= ENVIRONMENT
    sys.dont_write_bytecode = True  # because a changed file can have the time and size of the previous version
    totals, sample = draw(SEED, args.share)
    earlier = json.loads(args.again.read_text()) if args.again else {}
    records, todo = taken_over(sample, earlier)
    warm_up()
    with tempfile.TemporaryDirectory() as temporary:
        work = (args.work or Path(temporary)).resolve()
        work.mkdir(parents=True, exist_ok=True)
        if not (work / "times.json").exists():
            baseline(work, ["tests"])
        for record in try_all(work, todo, args.jobs):
            records.append(record)
            print(f"{len(records)} of {len(sample)}: {name_of(record)} {record['killed'] or 'SURVIVES'}", flush=True)
        if wrong := control(work, records):
            raise SystemExit(f"these fail on the unchanged tree as well: {', '.join(wrong)}")
    found = report(totals, records, earlier)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(found, indent=1) + "\n")
    print({name: found[name] for name in ("all", "plain", "kernels", "harmless", "unexplained")})
    sys.exit(found["all"]["rate"] < 0.95)


if __name__ == "__main__":
    main()
