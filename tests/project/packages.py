"""Build the sdist and the wheel, install and test them on each Python, with old, pinned and new libraries.

``make packages`` runs this module and writes results/trust-packages/packages.json. ``python -m tests.project.packages
--only "3.11 lowest"`` runs one environment again and keeps the records of the others. The Python that runs this module
needs `uv` and `pip_audit` (extra `packages`). The module works in a temporary folder. The first patch release of the
oldest Python must be able to install the pinned libraries with every extra. In every environment, which has nfa from
the wheel, we run these checks:
- `pip check`, before and after the extras;
- the import of every module and the commands of tests/project/watched.py, with its audit hook, in an empty folder;
- nfa installed from the sdist has the files of nfa installed from the wheel;
- the fast tests of the unpacked sdist, with the installed package, in the environments of TESTED;
- pip-audit for everything installed.
"""

import argparse
import configparser
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from tests.project import watched
from tests.project.tree import ROOT, revision

NAME = "noisy-feedback-alignment"  # name of the distribution; its package is imported as nfa
RECORD = ROOT / "results" / "trust-packages" / "packages.json"
EXTRAS = ("test", "course", "sweep", "secure", "opu")  # extras that fast tests or the command line use
LIBRARIES = ("newest", "pinned", "lowest")
OLDEST = "3.11"
# The lowest versions are for the oldest Python. A newer Python needs newer libraries, and pip finds libraries with a
# wheel.
ENVIRONMENTS = [f"{p} {s}" for p in ("3.11", "3.12", "3.13") for s in LIBRARIES if s != "lowest" or p == OLDEST]
TESTED = ("3.11 lowest", "3.11 newest", "3.12 newest", "3.13 newest")


def call(*command, cwd, check=True, **environment):
    """Run a command without this process's Python variables, and return the completed command."""
    own = ("PYTHON", "PYTEST", "COV", "VIRTUAL_ENV", "XDG_", "MPL")
    env = {name: value for name, value in os.environ.items() if not name.startswith(own)}
    env |= {"OMP_NUM_THREADS": "1"} | environment
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True)
    if check and done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def uv(*arguments, cwd, **settings):
    return call(Path(sys.executable).parent / "uv", "--quiet", *arguments, cwd=cwd, **settings)


def interpreter(version):
    """A Python of this version from PATH or else from pyenv; None if there is none."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [shutil.which(f"python{version}"), *sorted(pyenv.glob(f"versions/{version}.*/bin/python"))]
    code = "import sys, ssl, venv; print('.'.join(map(str, sys.version_info[:2])))"
    for python in filter(None, candidates):
        if call(python, "-c", code, cwd=ROOT, check=False).stdout.strip() == version:
            return python
    return None


def tracked():
    """The files under version control, as paths from the root."""
    names = call("git", "ls-files", "-z", cwd=ROOT).stdout.split("\0")
    return [name for name in names if name and (ROOT / name).is_file()]


def copied(to):
    """Copy the files under version control, so that no other file gets into a package."""
    for name in tracked():
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, to / name)
    return to


def missing(sdist, names):
    """The names that the sdist does not contain."""
    with tarfile.open(sdist) as archive:
        return sorted(set(names) - {name.partition("/")[2] for name in archive.getnames()})


def built(place):
    """Build the sdist and from it the wheel, and inspect their files: (sdist, wheel, unpacked sdist, summary)."""
    tree = copied(place / "tree")
    uv("build", "--out-dir", place / "dist", tree, cwd=place)
    (sdist,), (wheel,) = (place / "dist").glob("*.tar.gz"), (place / "dist").glob("*.whl")
    shutil.unpack_archive(sdist, place / "unpacked", filter="data")
    (unpacked,) = (place / "unpacked").iterdir()
    held = [name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name]
    mapped = {"nfa": "nfa", "kernels": "nfa/kernels", "data": "nfa/data"}
    wanted = [re.sub(r"^\w+", lambda m: mapped[m[0]], n) for n in tracked() if n.split("/")[0] in mapped]
    wanted.append("nfa/ledger/tests.json")  # setup.py builds this file
    what = {
        "sdist": {"files of the repository": len(tracked()), "missing": missing(sdist, tracked())},
        "wheel": {"files": len(held), "missing": sorted(set(wanted) - set(held))},
    }
    what["wheel"]["not of the package"] = sorted(set(held) - set(wanted))
    what["pins"] = {"with every extra, on Python": OLDEST, "do not hold": unsatisfiable(tree)}
    return sdist, wheel, unpacked, what


def unsatisfiable(tree):
    """The lines of the error if the oldest Python's first patch release cannot install constraints.txt."""
    every = ("setup.cfg", "--all-extras", "--constraint", "constraints.txt", "--python-version", OLDEST)
    done = uv("pip", "compile", *every, "--output-file", os.devnull, cwd=tree, check=False)
    return done.stderr.splitlines() if done.returncode else []


def constraints(libraries, unpacked, place):
    """A file that restricts the libraries to the pinned versions, to the lowest versions, or to nothing."""
    if libraries == "pinned":
        return unpacked / "constraints.txt"
    path = place / f"{libraries}.txt"
    path.write_text("")
    if libraries == "lowest":
        extras = [word for extra in EXTRAS for word in ("--extra", extra)]
        resolve = ("--resolution", "lowest-direct", "--python-version", OLDEST, "--no-annotate", "--no-header")
        uv("pip", "compile", *resolve, *extras, "setup.cfg", "--output-file", path, cwd=unpacked)
    return path


def floors(unpacked, installed):
    """{library: installed version} for the libraries that setup.cfg requires for run time or in one of EXTRAS."""
    config = configparser.ConfigParser()
    config.read(unpacked / "setup.cfg")
    lists = [config["options"]["install_requires"], *(config["options.extras_require"][extra] for extra in EXTRAS)]
    lines = [line for text in lists for line in text.splitlines() if line and not line.startswith("#")]
    names = {re.match(r"[\w-]+", line)[0].lower() for line in lines}
    return {name: version for name, version in sorted(installed.items()) if name in names}


def files_of(python, cwd):
    """The paths of the files of nfa in the environment, from pip's list of them."""
    code = f"import importlib.metadata as m; print(*sorted(map(str, m.files('{NAME}'))), sep='\\n')"
    names = call(python, "-I", "-c", code, cwd=cwd).stdout.split()
    return {name for name in names if name.startswith("nfa/") and not name.endswith(".pyc")}


def tried(python, unpacked, place, *parts):
    """Run parts of tests/project/watched.py in an empty folder with an empty home, and return the commands that ran."""
    folders = {name: place / name for name in ("home", "temp", "elsewhere", "out")}
    for folder in folders.values():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    settings = {"HOME": str(folders["home"]), "TMPDIR": str(folders["temp"]), "COLUMNS": "80"}
    call(python.parent / "nfa", "--version", cwd=folders["elsewhere"], **settings)
    ran = []
    for part in parts:
        what = [part] if part == "modules" else [part, folders["out"]]
        done = call(python, unpacked / "tests" / "project" / "watched.py", *what, cwd=folders["elsewhere"], **settings)
        ran += [line.split()[1:] for line in done.stdout.replace(str(folders["out"]), "OUT").splitlines()]
    strays = [*folders["elsewhere"].iterdir(), *(p for p in folders["home"].rglob("*") if p.is_file())]
    own = (folders["home"] / ".cache", folders["home"] / ".local" / "state" / "nfa")
    strays = [str(p.relative_to(place)) for p in strays if not any(p.is_relative_to(folder) for folder in own)]
    if strays:
        raise RuntimeError(f"files were written where none belong: {', '.join(strays)}")
    return ran


def tests(python, unpacked, more):
    """The numbers of passed, failed and skipped fast tests of the sdist.

    The tests use the installed nfa, but a process that a test starts uses the sdist.
    """
    # The tests get their own font cache, because the user's cache would list fonts of an environment that is soon
    # removed.
    safe = {"PYTHONSAFEPATH": "1", "MPLCONFIGDIR": str(unpacked.parent / "matplotlib")}
    where = call(python, "-c", "import nfa; print(nfa.__file__)", cwd=unpacked, **safe).stdout
    assert "site-packages" in where, where
    command = [python, "-m", "pytest", "-n", "auto", "--dist", "worksteal", "-q", "-o", "pythonpath=tests"]
    done = call(*command, "-m", "not slow and not nightly", *more, cwd=unpacked, check=False, **safe)
    last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    counts |= {name: int(n) for n, name in re.findall(r"(\d+) (passed|failed|skipped|errors?|xfailed)", last)}
    if done.returncode:
        print(done.stdout[-8000:], done.stderr[-2000:], sep="\n", file=sys.stderr)
    return counts | {"exit code": done.returncode} | ({"only": " ".join(more)} if more else {})


def audited(python, place):
    """pip-audit's report on all installed packages except nfa: known vulnerabilities, or a failed request."""
    site = call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=place).stdout.strip()
    command = (sys.executable, "-m", "pip_audit", "--progress-spinner", "off", "--format", "json", "--path", site)
    done = call(*command, cwd=place, check=False)
    command = "python -m pip_audit --format json --path SITE-PACKAGES"
    try:
        found = [one for one in json.loads(done.stdout)["dependencies"] if one["name"] != NAME]
    except json.JSONDecodeError:
        return {"command": command, "not available": done.stderr.strip().splitlines()[-1]}
    asked = [one for one in found if "skip_reason" not in one]
    if not asked:
        why = f"the advisory service answered for none of the {len(found)} libraries"
        return {"command": command, "not available": why}
    known = {f"{one['name']} {one['version']}": [v["id"] for v in one["vulns"]] for one in asked if one["vulns"]}
    return {"command": command, "asked": len(asked), "not answered": len(found) - len(asked), "vulnerable": known}


def environment(name, python, packages, place, more):
    """Make one environment, test it, and return the results."""
    sdist, wheel, unpacked = packages
    uv("venv", "--seed", "--python", python, place / "env", cwd=place)
    own = place / "env" / "bin" / "python"
    install = ("pip", "install", "--python", own, "--constraint", constraints(name.split()[1], unpacked, place))
    uv(*install, wheel, cwd=place)
    call(own, "-m", "pip", "check", cwd=place)
    report = {"python": call(own, "-c", "import platform as p; print(p.python_version())", cwd=place).stdout.strip()}
    ran = tried(own, unpacked, place, "modules", "commands")
    of_wheel = files_of(own, place)
    uv("pip", "install", "--python", own, "--no-deps", "--reinstall-package", NAME, sdist, cwd=place)
    assert files_of(own, place) == of_wheel, "the sdist installs other files than the wheel"
    uv(*install, "--reinstall-package", NAME, f"{wheel}[{','.join(EXTRAS)}]", cwd=place)
    ran += tried(own, unpacked, place, "extras")
    assert ran == watched.commands("OUT") + watched.extras("OUT"), ran
    report["pip check"] = call(own, "-m", "pip", "check", cwd=place).stdout.strip()
    listed = json.loads(call(own, "-m", "pip", "list", "--format", "json", cwd=place).stdout)
    installed = {one["name"].lower(): one["version"] for one in listed}
    report |= {"installed": len(installed), "versions": floors(unpacked, installed)}
    report["pip-audit"] = audited(own, place)
    if more is not None:
        report["fast tests"] = tests(own, unpacked, more)
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=ENVIRONMENTS, metavar="ENVIRONMENT", help=", ".join(ENVIRONMENTS))
    parser.add_argument(
        "--pytest", type=shlex.split, default=[], metavar="ARGUMENTS", help="more for pytest, in one word"
    )
    parser.add_argument("--no-tests", action="store_true", help="all but the fast tests")
    parser.add_argument("--out", type=Path, default=RECORD)
    given = parser.parse_args()
    old = json.loads(given.out.read_text()) if given.only and given.out.exists() else {}
    found = dict(old.get("environments", {}))
    with tempfile.TemporaryDirectory(prefix="nfa-packages-") as folder:
        *packages, what = built(Path(folder))
        for name in given.only or ENVIRONMENTS:
            place = Path(folder) / name.replace(" ", "-")
            place.mkdir()
            python = interpreter(name.split()[0])
            more = given.pytest if name in TESTED and not given.no_tests else None
            try:
                told = environment(name, python, packages, place, more) if python else "not available"
            except (RuntimeError, AssertionError) as error:
                told = {"failed": str(error)}
            found[name] = {"code": revision()} | told if python else told
            shutil.rmtree(place)
            print(name, json.dumps(found[name], indent=1), flush=True)
    report = {
        "command": "make packages",
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        "packages": what,
        "extras": list(EXTRAS),
        "commands": [" ".join(["nfa", *words]) for words in watched.commands("OUT") + watched.extras("OUT")],
        "environments": {name: found[name] for name in ENVIRONMENTS if name in found},
    }
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(report, indent=1) + "\n")
    return int(not good(report))


def good(report):
    """Whether nothing failed, nothing is missing, and no library has a known vulnerability."""
    complete = not any(
        names for one in report["packages"].values() for names in one.values() if isinstance(names, list)
    )
    made = [one for one in report["environments"].values() if one != "not available"]
    return complete and all(
        "failed" not in one
        and one.get("fast tests", {}).get("exit code", 0) == 0
        and not one["pip-audit"].get("vulnerable")
        for one in made
    )


if __name__ == "__main__":
    sys.exit(main())
