"""Tests for other operating systems: tests can be imported without POSIX, and line ends are equal everywhere."""

import ast
import re
import subprocess
from types import SimpleNamespace

import pytest

from tests.project.tree import ROOT, modules

# Modules and functions that Python has only on POSIX, and the signals that other systems have too.
MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
CALLS = {"chown", "fork", "getloadavg", "geteuid", "getuid", "killpg", "mkfifo", "openpty", "setpgid", "setsid"}
CALLS |= {"sched_getaffinity", "sched_setaffinity", "wait4", "waitid"}
ASKED = ("os.name ", "sys.platform ")
SIGNALS = {"SIGABRT", "SIGFPE", "SIGILL", "SIGINT", "SIGSEGV", "SIGTERM", "SIG_DFL", "SIG_IGN"}


def at_import(node):
    """The parts of a module that run at import, except `try` statements and code for one system."""
    if isinstance(node, ast.Try) or (isinstance(node, ast.If) and ast.unparse(node.test).startswith(ASKED)):
        return
    yield node
    inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
    defaults = [*node.args.defaults, *node.args.kw_defaults] if inside else []
    parts = [*getattr(node, "decorator_list", []), *defaults] if inside else ast.iter_child_nodes(node)
    for part in parts:
        if part is not None:
            yield from at_import(part)


def of_posix(source):
    """The names of POSIX that a module needs at import, as (line, name)."""
    for node in at_import(ast.parse(source)):
        names = []
        if isinstance(node, ast.Import):
            names = [one.name for one in node.names if one.name in MODULES]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module] if node.module in MODULES else []
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            home, name = node.value.id, node.attr
            posix = name in CALLS if home == "os" else name.startswith("SIG") and name not in SIGNALS
            names = [f"{home}.{name}"] if home in ("os", "signal") and posix else []
        for name in names:
            yield node.lineno, name


@pytest.mark.parametrize(
    "source, names",
    [
        ("import os, fcntl\n", ["fcntl"]),
        ("from pwd import getpwnam\n", ["pwd"]),
        ("class A:\n    kill = signal.SIGKILL\n", ["signal.SIGKILL"]),
        ("@mark(signal.SIGHUP)\ndef f(send=os.killpg): ...\n", ["signal.SIGHUP", "os.killpg"]),
        ("try:\n    import fcntl\nexcept ImportError: ...\n", []),
        ("if os.name == 'posix':\n    import fcntl\n", []),
        ("def f():\n    import resource\n    os.fork()\nx = lambda: os.getuid()\n", []),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN)\n", []),
        ("import stat, posixpath\n", []),
    ],
)
def test_what_is_looked_for_by_hand(source, names):
    assert [name for _, name in of_posix(source)] == names


@pytest.mark.slow
def test_every_module_can_be_imported_without_posix():
    """Every module can be imported without POSIX. A test that needs POSIX has the mark `@pytest.mark.posix(why)`."""
    places = [*modules().values(), *(ROOT / "tests").rglob("*.py")]
    assert len(places) > 300
    named = re.compile("|".join((*MODULES, *CALLS, "SIG")))  # we parse only texts with one of these names
    texts = {path: path.read_text(encoding="utf-8") for path in places}
    found = {path: list(of_posix(text)) for path, text in texts.items() if named.search(text)}
    assert {str(path.relative_to(ROOT)): what for path, what in found.items() if what} == {}


def test_a_test_that_needs_posix_is_skipped_by_name_elsewhere(monkeypatch):
    """Without POSIX, the hook of conftest.py skips the marked tests by name."""
    from tests import conftest

    class Item:
        def __init__(self, *marks):
            self.marks, self.added = {mark.name: mark for mark in marks}, []

        def get_closest_marker(self, name):
            return self.marks.get(name)

        def add_marker(self, mark):
            self.added.append(mark)

    config = SimpleNamespace(stash={conftest.WANTED: {}})
    for system, expected in (("posix", []), ("nt", ["needs POSIX: kills a process"])):
        monkeypatch.setattr(conftest.os, "name", system)
        marked, plain = Item(pytest.mark.posix("kills a process").mark), Item()
        conftest.pytest_collection_modifyitems(config, [marked, plain])
        monkeypatch.undo()
        assert [mark.kwargs["reason"] for mark in marked.added] == expected
        assert plain.added == []


def test_lines_end_alike_on_every_system():
    """By git's report, it stores text files with LF and other files unchanged."""
    if not (ROOT / ".git").exists():
        pytest.skip("no clone: there is no version control to ask")
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    asked = ["git", "check-attr", "--stdin", "-z", "eol", "binary"]
    told = subprocess.run(asked, cwd=ROOT, input=names, capture_output=True, check=True).stdout.decode().split("\0")
    said = {}
    for name, attribute, value in zip(told[:-1:3], told[1::3], told[2::3], strict=True):
        said.setdefault(name, {})[attribute] = value
    assert len(said) > 1000
    for name, is_ in said.items():
        binary = name.endswith((".npz", ".png"))
        assert is_["binary"] == ("set" if binary else "unspecified"), name
        assert binary or is_["eol"] == "lf", name
        assert binary or b"\r" not in (ROOT / name).read_bytes(), name
