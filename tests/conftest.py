"""Options, marks and fixtures of the whole suite.

``--eq ID`` runs the tests that verify a statement of the ledger. ``--stub=FILE`` replaces functions of nfa by your
functions in FILE (`nfa course stub` writes such a file). ``--no-skips`` turns every skip into a failure.
``--once=FILE`` leaves out the tests that passed in an earlier run with this option and this file.
"""

import os
import re
import signal
from pathlib import Path

# We set these variables before numpy is imported. With one BLAS thread, sums have a fixed order. Figures need no
# screen.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")
os.environ["MPLBACKEND"] = "Agg"
# If a shell starts a process in the background, the process ignores Ctrl-C. Some tests send Ctrl-C and need the default
# handler.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import hypothesis  # noqa: E402
import pytest  # noqa: E402

from nfa import ledger  # noqa: E402
from nfa.course import stubs  # noqa: E402

hypothesis.settings.register_profile("nfa", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("nfa")


def pytest_addoption(parser):
    group = parser.getgroup("nfa")
    group.addoption(
        "--eq",
        action="append",
        default=[],
        metavar="ID",
        help="run only the tests that verify this statement (an id or alias of the ledger, an algorithm, or a "
        "document such as lee2020); may be given several times",
    )
    group.addoption(
        "--stub",
        metavar="FILE",
        help="functions filled in after `nfa course stub ID --out FILE`, to be tested in place of nfa's own; without "
        "--eq, the tests of their statements are run",
    )
    group.addoption("--no-skips", action="store_true", help="a skipped test fails the run; the skips are listed")
    group.addoption(
        "--once", metavar="FILE", help="leave out tests that this file lists, and add those that pass to it"
    )


def pytest_configure(config):
    config.addinivalue_line("markers", "verifies(*ids): the statements of the ledger that the test verifies")
    wanted, config.stash[EXERCISES] = {}, []
    if stub := config.getoption("--stub"):
        try:
            config.stash[EXERCISES] = stubs.use(Path(stub))
            if not config.getoption("--eq"):
                wanted[stub] = [ledger.find(name) for one in config.stash[EXERCISES] for name in one.ids]
        except ValueError as error:
            raise pytest.UsageError(f"--stub: {error}") from None
    for text in config.getoption("--eq"):
        try:
            wanted[text] = ledger.select(text)
        except ValueError as error:
            raise pytest.UsageError(f"--eq: {error}") from None
    config.stash[WANTED] = wanted
    if config.stash[EXERCISES]:
        config.pluginmanager.register(Stages(), "nfa-stages")
    if workers := getattr(config, "workerinput", {}).get("workercount"):
        config.pluginmanager.register(SlowFirst(workers), "nfa-slow-first")
    if once := config.getoption("--once"):
        config.pluginmanager.register(Once(Path(once).absolute(), not workers), "nfa-once")
    if config.getoption("--no-skips"):
        config.pluginmanager.register(NoSkips(), "nfa-no-skips")


WANTED = pytest.StashKey[dict]()
EXERCISES = pytest.StashKey[list]()


def pytest_report_header(config):
    """The line of the report's header that names the file of ``--stub``."""
    codes = [one.code for one in config.stash[EXERCISES]]
    return f"in place of nfa's own, from {config.getoption('--stub')}: {', '.join(codes)}" if codes else None


def pytest_ignore_collect(collection_path, config):
    """With ``--eq``, skip test files without a requested statement. Their import takes longer than the tests."""
    wanted = config.stash[WANTED]
    if not wanted or collection_path.suffix != ".py":
        return None
    every = {name for selected in wanted.values() for one in selected for name in (one.id, *one.aliases)}
    quoted = set(re.findall(r"""["']([^"'\s]+)["']""", collection_path.read_text(encoding="utf-8")))
    return True if quoted.isdisjoint(every) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    for item in items:
        if item.get_closest_marker("nightly"):
            item.add_marker("slow")  # so that `-m "not slow"` selects the fast tier
        if os.name != "posix" and (needs := item.get_closest_marker("posix")):
            item.add_marker(pytest.mark.skip(reason=f"needs POSIX: {needs.args[0]}"))
    wanted = config.stash[WANTED]
    if not wanted:
        return
    statements = {item: _verified(item) for item in items}
    for text, selected in wanted.items():
        ids = {statement.id for statement in selected}
        if not any(ids & verified for verified in statements.values()):
            pending = all(statement.verdict == "pending" for statement in selected)
            raise pytest.UsageError(f"--eq: no test verifies {text}{', which is not judged yet' if pending else ''}")
    every = {statement.id for selected in wanted.values() for statement in selected}
    config.hook.pytest_deselected(items=[item for item in items if not every & statements[item]])
    items[:] = [item for item in items if every & statements[item]]


def _verified(item):
    """The ids (without aliases) of the statements in a test's marks. An unknown id stops the run with a sentence."""
    try:
        return {ledger.find(name).id for mark in item.iter_markers("verifies") for name in mark.args}
    except ValueError as error:
        raise pytest.UsageError(f"{item.nodeid}: {error}") from None


BEYOND_DENSE = """\
What you wrote is right for dense networks. Now skips, convolutions and pooling:
`nfa course check FILE` takes them one by one, with a hint for each."""


class Stages:
    """Tests a reader's own functions in two stages: first on dense networks, then on all other networks."""

    def __init__(self):
        # {whether the tests are about other networks than dense ones: number of failed tests}
        self.failed = {False: 0, True: 0}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items.sort(key=_beyond_dense)

    def pytest_runtest_setup(self, item):
        if _beyond_dense(item) and self.failed[False]:
            pytest.skip("dense networks first")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item):
        report = (yield).get_result()
        self.failed[_beyond_dense(item)] += report.failed

    def pytest_terminal_summary(self, terminalreporter):
        if self.failed[True] and not self.failed[False]:
            terminalreporter.section("dense networks: done", green=True)
            terminalreporter.line(BEYOND_DENSE)
        elif self.failed[False]:
            terminalreporter.line("`nfa course check FILE` says in a few lines what is wrong.", yellow=True)


def _beyond_dense(item):
    return item.get_closest_marker("beyond_dense") is not None


class SlowFirst:
    """Orders the tests for several pytest-xdist workers so that no worker has a slow test at the end.

    Each worker gets an equal part of the list. Each part begins with its share of the slow tests. A worker that has
    finished its part takes tests from the end of another part, so these tests are fast.
    """

    def __init__(self, workers):
        self.workers = workers

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        kinds = [[item for item in items if bool(item.get_closest_marker("slow")) is slow] for slow in (True, False)]
        parts = range(self.workers)
        items[:] = [item for i in parts for kind in kinds for item in self.part(kind, i)]

    def part(self, tests, i):
        """The tests of worker i. The list of tests has as many parts as there are workers."""
        return tests[len(tests) * i // self.workers : len(tests) * (i + 1) // self.workers]


class Once:
    """Leaves out the tests that passed in an earlier run on this commit, and notes the tests that pass in this run."""

    def __init__(self, file, writes):
        self.file, self.writes = file, writes
        self.before = set(file.read_text(encoding="utf-8").split("\n")) if file.exists() else set()
        self.passed, self.others = set(), set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config, items):
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in self.before])
        items[:] = [item for item in items if item.nodeid not in self.before]

    def pytest_runtest_logreport(self, report):
        (self.passed if report.passed else self.others).add(report.nodeid)

    def pytest_sessionfinish(self):
        if self.writes:
            known = self.before | (self.passed - self.others)
            self.file.write_text("".join(f"{nodeid}\n" for nodeid in sorted(known)), encoding="utf-8")


class NoSkips:
    """Counts skipped tests and skipped modules, and fails a run that has any. An expected failure is not a skip."""

    def __init__(self):
        self.skips = []

    def _note(self, report):
        if report.skipped and not hasattr(report, "wasxfail"):
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            self.skips.append((report.nodeid, reason.removeprefix("Skipped: ")))

    def pytest_runtest_logreport(self, report):
        self._note(report)

    def pytest_collectreport(self, report):
        self._note(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        if self.skips and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        if self.skips:
            terminalreporter.section("skipped, which --no-skips does not allow", red=True)
            for nodeid, reason in self.skips:
                terminalreporter.line(f"{nodeid}: {reason}")


@pytest.fixture(scope="session")
def data_home():
    """The folder of the real data sets, from `NFA_DATA_HOME`. Skips the test if this is not set."""
    folder = os.environ.get("NFA_DATA_HOME")
    if not folder:
        pytest.skip("real data: set NFA_DATA_HOME to the folder that holds fashion-mnist")
    path = Path(folder).resolve()
    if not path.is_dir():
        pytest.fail(f"NFA_DATA_HOME must be a folder, got {folder}")
    return path


@pytest.fixture(scope="session")
def torch():
    """PyTorch on one thread, as an independent oracle of gradients. Skips the test if PyTorch is not installed."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch==2.13.0")
    torch.set_num_threads(1)
    return torch
