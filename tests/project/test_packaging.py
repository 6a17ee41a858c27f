"""Tests that nfa works from a wheel, an sdist, an editable install and a checkout, and tests of its package map.

`kernels/` and `data/` are at the top of the checkout, and are imported as nfa.kernels and nfa.data.
"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from nfa import ledger
from nfa.ledger import tests_json
from tests.project.packages import missing, tracked
from tests.project.tree import ROOT, declared_packages, folders, installed_files, modules
from tests.project.watched import commands

# A program that imports every given module, and opens the given data files at the paths that the code uses.
PROBE = r"""
import importlib, importlib.resources, sys
modules, files = (argument.split() for argument in sys.argv[1:])
for name in modules:
    importlib.import_module(name)
for file in files:
    package, _, name = file.rpartition("/")
    text = importlib.resources.files(package.replace("/", ".")).joinpath(name).read_bytes()
    assert text or name == "py.typed", file
print(importlib.import_module("nfa").__version__)
"""

GUARDED = ("kernels", "data")


def run(*command, cwd, **settings):
    """Run a command without this process's Python paths, and return the completed command."""
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV"))}
    return subprocess.run(list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True, **settings)


def checked(*command, cwd):
    done = run(*command, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the checkout, so that a build writes nothing into the real checkout and finds no old files."""
    copy = tmp_path_factory.mktemp("checkout") / "nfa"
    copy.mkdir()
    for name in (
        "setup.cfg",
        "setup.py",
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "CONTRIBUTING.md",
        "MANIFEST.in",
        "Makefile",
        "constraints.txt",
        "tests",
    ):
        path = ROOT / name
        (shutil.copytree if path.is_dir() else shutil.copy)(path, copy / name)
    for folder in folders().values():
        shutil.copytree(folder, copy / folder.name, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def build(kind, source, out):
    """Let setuptools build a wheel or an sdist, as pip would; return the path."""
    out.mkdir()
    code = f"from setuptools import build_meta; build_meta.build_{kind}({str(out)!r})"
    checked(sys.executable, "-c", code, cwd=source)
    (built,) = out.iterdir()
    return built


@pytest.fixture(scope="module")
def wheel(checkout, tmp_path_factory):
    copy = tmp_path_factory.mktemp("built") / "tree"  # setuptools leaves build/ and *.egg-info in the tree
    shutil.copytree(checkout, copy)
    return build("wheel", copy, copy.parent / "wheel")


def environment(folder):
    """The Python of a virtual environment without nfa, which uses the libraries of the present environment.

    A path file names the folder of the libraries. Python does not read path files in that folder. So it does not find
    an editable install of nfa.
    """
    venv.create(folder, with_pip=False)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    site = Path(checked(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip())
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def install(python, *what):
    options = ("--no-deps", "--no-index", "--no-build-isolation", "--disable-pip-version-check")
    checked(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", *options, *what, cwd=python.parent)


def probe(python, cwd):
    """Every module can be imported, every other file of a package exists, and the command starts."""
    files = sorted(place for place in installed_files() if not place.endswith(".py"))
    assert {
        "nfa/NOTATION.md",
        "nfa/papers/lee2020/statements.toml",
        "nfa/data/SOURCES.md",
    } <= set(files)
    assert any(place.endswith(".npz") for place in files)
    version = checked(python, "-W", "error", "-c", PROBE, " ".join(modules()), " ".join(files), cwd=cwd).strip()
    assert version == re.search(r'__version__ = "(.*)"', (ROOT / "nfa/__init__.py").read_text())[1]
    assert "demo" in checked(python, "-m", "nfa", "--help", cwd=cwd)


def refused(python, name, cwd):
    """The last line of the error message of `import name`, which must fail."""
    done = run(python, "-c", f"import {name}", cwd=cwd)
    assert done.returncode != 0, f"`import {name}` works in {cwd}"
    return done.stderr.strip().splitlines()[-1]


def folders_stay_hidden(python, elsewhere, checkout):
    for name in GUARDED:
        assert refused(python, name, elsewhere) == f"ModuleNotFoundError: No module named '{name}'"
        told = refused(python, name, checkout)
        assert re.match(rf"ImportError: .*nfa\.{name}", told), told


# --- the files in a wheel


@pytest.mark.slow
def test_wheel_holds_every_file_and_one_top_level_name(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {name for name in names if ".dist-info/" not in name}
    assert package == {*installed_files(), "nfa/ledger/tests.json"}
    assert json.loads(zipfile.ZipFile(wheel).read("nfa/ledger/tests.json")) == tests_json.scan(ROOT)
    (top,) = (name for name in names if name.endswith("top_level.txt"))
    assert zipfile.ZipFile(wheel).read(top).decode().split() == ["nfa"]
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.mark.slow
def test_sdist_makes_the_same_wheel(checkout, wheel, tmp_path):
    tree = tmp_path / "tree"
    shutil.copytree(checkout, tree)
    shutil.unpack_archive(build("sdist", tree, tmp_path / "sdist"), tmp_path / "unpacked", filter="data")
    (unpacked,) = (tmp_path / "unpacked").iterdir()
    again = build("wheel", unpacked, tmp_path / "wheel")
    assert sorted(zipfile.ZipFile(again).namelist()) == sorted(zipfile.ZipFile(wheel).namelist())
    assert json.loads((unpacked / "nfa" / "ledger" / "tests.json").read_text()) == tests_json.scan(ROOT)


@pytest.mark.slow
@pytest.mark.posix("makes symbolic links")
def test_sdist_holds_every_file_of_the_repository(tmp_path):
    """The sdist has every file of the repository, including results, tutorials and Makefile, for its tests."""
    if not (ROOT / ".git").exists():
        pytest.skip("no clone: without version control nothing says which files belong to the repository")
    tree = tmp_path / "tree"
    for name in tracked():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).symlink_to(ROOT / name)
    assert missing(build("sdist", tree, tmp_path / "sdist"), tracked()) == []


# --- imports and commands use no network, and write only into the allowed folders


TRY = r"""
import encodings.idna, os, socket, subprocess, sys  # idna, which looking up a host imports, may have to be compiled
from tests.project.watched import Watch
may, outside = sys.argv[1:]
watch = Watch([may])
open(f"{may}/file", "w").close()
open(os.devnull, "w").close()
os.rename(f"{may}/file", f"{may}/moved")
open(f"{may}/moved").close()
tries = [
    lambda: open(f"{outside}/file", "w"),
    lambda: open(f"{may}/../file", "ab"),
    lambda: os.open(f"{outside}/file", os.O_RDWR | os.O_CREAT),
    lambda: os.mkdir(f"{outside}/folder"),
    lambda: os.rename(f"{may}/moved", f"{outside}/file"),
    lambda: os.remove("file", dir_fd=os.open(outside, os.O_RDONLY)),
    lambda: os.symlink(outside, f"{outside}/link"),
    lambda: socket.create_connection(("localhost", 9)),
    lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"", ("127.0.0.1", 9)),
    lambda: subprocess.run([sys.executable, "-c", ""]),
    lambda: os.system("true"),
]
for i, one in enumerate(tries):
    try:
        one()
    except PermissionError:
        continue
    raise SystemExit(f"number {i} was let through")
print(len(watch.stopped), len(tries))
if len(watch.stopped) != len(tries):
    print(*watch.stopped, sep="\n")
"""


def watched(tmp_path, *arguments):
    """Run Python with an empty home, in an empty folder: (its output, the files that it wrote, except in out/)."""
    for name in ("home", "temp", "elsewhere", "out"):
        (tmp_path / name).mkdir()
    env = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "MPL"))}
    env |= {"HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "temp")}
    env |= {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, cwd=tmp_path / "elsewhere", env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    return done.stdout, {name for name in left if not name.startswith("out/")}


@pytest.mark.posix("tries what the system calls of POSIX allow")
def test_the_watch_stops_what_it_says(tmp_path):
    printed, left = watched(tmp_path, "-c", TRY, tmp_path / "out", tmp_path / "elsewhere")
    assert printed == "11 11\n"
    assert left == set()


@pytest.mark.slow
def test_importing_every_module_reaches_no_network_and_writes_nothing(tmp_path):
    assert watched(tmp_path, "-W", "error", ROOT / "tests" / "project" / "watched.py", "modules") == ("", set())


@pytest.mark.slow
def test_commands_reach_no_network_and_write_only_where_they_may(tmp_path):
    """Commands do not use the network, and write only to --out; matplotlib's font list goes to the user's cache."""
    printed, left = watched(tmp_path, ROOT / "tests" / "project" / "watched.py", "commands", tmp_path / "out")
    assert printed.count("\n") == len(commands(""))
    assert all(name.startswith("home/.cache/matplotlib/") for name in left), left
    written = {path.relative_to(tmp_path / "out").parts[0] for path in (tmp_path / "out").rglob("*")}
    assert written == {"bp", "private", "epsilons", "mine.py", "ladder"}


# --- the ways to install nfa


@pytest.mark.slow
def test_installed_wheel(wheel, checkout, tmp_path):
    python = environment(tmp_path / "env")
    install(python, wheel)
    probe(python, tmp_path)
    probe(python, checkout)
    folders_stay_hidden(python, tmp_path, checkout)
    command = python.parent / "nfa"
    assert "demo" in checked(command, "--help", cwd=tmp_path)
    (shown,) = json.loads(checked(command, "eq", "lee2020:eq5", "--json", cwd=tmp_path))
    assert shown["tests"] == list(ledger.find("lee2020:eq5").tests) != []


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["default", "strict"])
def test_editable(mode, checkout, tmp_path):
    tree = tmp_path / "tree"
    shutil.copytree(checkout, tree)
    python = environment(tmp_path / "env")
    install(python, "--editable", tree, *(["--config-settings", "editable_mode=strict"] if mode == "strict" else []))
    probe(python, tmp_path)
    probe(python, tree)
    folders_stay_hidden(python, tmp_path, tree)
    with (tree / "nfa" / "clip.py").open("a") as file:
        file.write("\nedited = True\n")
    assert checked(python, "-c", "import nfa.clip as c; print(c.edited)", cwd=tmp_path) == "True\n"


@pytest.mark.slow
def test_checkout_without_installing(checkout, tmp_path):
    python = environment(tmp_path / "env")
    assert refused(python, "nfa", tmp_path) == "ModuleNotFoundError: No module named 'nfa'"
    probe(python, checkout)
    folders_stay_hidden(python, tmp_path, checkout)


# --- the traps of the package map


def test_trap_1_declared_packages_are_those_on_the_disk():
    """The declared packages are the folders on the disk; an undeclared folder would be missing from the wheel.

    In an editable install it could still be imported.
    """
    on_disk = {name if path.name == "__init__.py" else name.rpartition(".")[0] for name, path in modules().items()}
    assert sorted(declared_packages()) == sorted(on_disk)


def test_trap_2_doctests_do_not_run_under_the_wrong_names():
    """`pytest --doctest-modules kernels` would import kernels.conv; a guard in this module raises a clear error."""
    done = run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--doctest-modules", "kernels", cwd=ROOT)
    assert done.returncode != 0
    assert "nfa.kernels, not kernels" in " ".join(done.stdout.split())


def test_trap_3_nobody_imports_the_folders_by_their_own_names():
    """No file has `from kernels import ...`, which would compile every kernel twice, under two names."""
    # we parse only files that match this pattern
    written = re.compile(rf"\b(from|import)\b.*(?<![.\w])({'|'.join(GUARDED)})\b")
    for path in [*modules().values(), *(ROOT / "tests").rglob("*.py"), *(ROOT / "tutorials").rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if written.search(text.replace("\\\n", " ")) else ():
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert name.split(".")[0] not in GUARDED, f"{path.relative_to(ROOT)} line {node.lineno}: nfa.{name}"


def test_trap_4_what_a_checkout_makes_importable_is_harmless():
    """In a checkout, nfa.tests can be imported, but a wheel has no such package."""
    assert checked(sys.executable, "-c", "import nfa.tests as t; print(t.__file__)", cwd=ROOT) == "None\n"
    assert not any(place.startswith("nfa/tests") for place in installed_files())


@pytest.mark.parametrize("target", re.findall(r"^([a-z-]+):.*  ## ", (ROOT / "Makefile").read_text(), re.MULTILINE))
@pytest.mark.posix("asks make")
def test_every_target_of_the_makefile_can_be_made(target, checkout):
    """make can print the commands of every target, also without .venv, because all prerequisites have rules."""
    checked("make", "--dry-run", target, cwd=checkout)


@pytest.mark.nightly
@pytest.mark.posix("asks make")
def test_trap_4_the_type_checker_sees_the_mapped_packages(checkout, tmp_path):
    """`make types` shows the type checker the installed layout, because the checker does not follow the package map."""
    pytest.importorskip("mypy", reason="mypy is not installed: make check installs it")
    tree = tmp_path / "tree"
    shutil.copytree(checkout, tree)
    for name in GUARDED:
        with (tree / name / "__init__.py").open("a") as file:
            file.write("\nwrongly_typed: int = 'no number'\n")
    python = os.path.relpath(sys.executable, tree)
    done = run("make", "types", f"python={python}", "-o", ".venv/.dev", cwd=tree)
    assert done.returncode != 0
    for name in GUARDED:
        assert re.search(rf"^nfa/{name}/__init__\.py:\d+: error: .*\"str\"", done.stdout, re.MULTILINE), done.stdout
