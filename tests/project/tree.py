"""Facts about the checkout for tests and records: declared packages, files on the disk, and the commit."""

import ast
import configparser
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def _setup_cfg() -> configparser.ConfigParser:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    return config


def _listed(value: str) -> list[str]:
    return [line.strip() for line in value.splitlines() if line.strip()]


def declared_packages() -> list[str]:
    """The packages that setup.py declares."""
    ask = "import setuptools, distutils.core as core; print(*core.run_setup('setup.py', stop_after='config').packages)"
    asked = subprocess.run([sys.executable, "-c", ask], cwd=ROOT, capture_output=True, text=True, check=True)
    return asked.stdout.split()


def requirements() -> list[str]:
    """The names, without versions, of the libraries that setup.cfg installs for run time."""
    lines = _listed(_setup_cfg()["options"]["install_requires"])
    return [line.split()[0] for line in lines if not line.startswith("#")]


def folders() -> dict[str, Path]:
    """{import name: folder} for nfa and for the packages that setup.cfg maps to another folder."""
    pairs = (line.split("=") for line in _listed(_setup_cfg()["options"]["package_dir"]))
    return {name.strip(): ROOT / folder.strip() for name, folder in pairs}


def installed_files() -> dict[str, Path]:
    """Path under site-packages -> file in the checkout, for every file of the package folders."""
    return {
        f"{name.replace('.', '/')}/{path.relative_to(folder).as_posix()}": path
        for name, folder in folders().items()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


# Python files that are part of nfa as data: problem sets, ladders, the first files of a course folder, certificates.
NOT_MODULES = re.compile(r"nfa/course/(sets|files|ladders)/|nfa/papers/\w+/certificates/")


@cache
def modules() -> dict[str, Path]:
    """Import name -> file, for every module on the disk."""
    return {
        place.removesuffix(".py").removesuffix("/__init__").replace("/", "."): path
        for place, path in installed_files().items()
        if place.endswith(".py") and not NOT_MODULES.match(place)
    }


@cache
def trees() -> dict[str, ast.Module]:
    """Import name -> syntax tree, for every module on the disk."""
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in modules().items()}


def revision() -> str:
    """The commit of the checkout, and whether some files differ from this commit."""
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip() or "not a clone"
