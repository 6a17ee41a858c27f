"""Run the fast and the slow tests as on several kinds of processor cores, because results must not depend on the core.

    python -m tests.project.cores                          all of `CORES`
        python -m tests.project.cores --core Haswell -k dfa    one core; pytest gets the other arguments

Environment variables give OpenBLAS its core and numba its processor, and exclude loops of NumPy and functions of the C
library. A processor can stand in for older processors, but not for newer ones. So the run fails without AVX-512. It
also fails if NumPy's linear algebra is not OpenBLAS.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence

from tests.project.tree import ROOT

# OpenBLAS's name of a core -> numba's name, and the first letters of the features that NumPy and the C library must not
# use.
AVX512 = ("AVX512", "X86_V4")
AVX2 = (*AVX512, "AVX2", "FMA", "F16C", "X86_V3")
CORES = {
    "Nehalem": ("nehalem", (*AVX2, "AVX")),
    "Sandybridge": ("sandybridge", AVX2),
    "Haswell": ("haswell", AVX512),
    "Zen": ("znver1", AVX512),
    "SkylakeX": ("skylake-avx512", ()),
}
NAMES = ("OPENBLAS_CORETYPE", "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NPY_DISABLE_CPU_FEATURES", "GLIBC_TUNABLES")
LIBRARY = ("AVX512F", "AVX2", "FMA", "AVX")  # names of the features in the C library

ASK = """
import json, numpy, threadpoolctl
blas = [one for one in threadpoolctl.threadpool_info() if one["user_api"] == "blas"]
found = numpy.show_config(mode="dicts").get("SIMD Extensions", {}).get("found", [])
print(json.dumps([blas[0].get("architecture") if blas else None, found]))
"""


def environment(core: str, found: Sequence[str]) -> dict[str, str]:
    """The environment variables with which child processes run as on this kind of core.

    ``found`` has the features above the baseline that NumPy found.
    """
    for_numba, without = CORES[core]
    variables = {
        "OPENBLAS_CORETYPE": core,
        "NUMBA_CPU_NAME": for_numba,
        "NUMBA_CPU_FEATURES": "",  # "": numba uses the features of the named processor
        "NPY_DISABLE_CPU_FEATURES": " ".join(name for name in found if name.startswith(without)),
        "OMP_NUM_THREADS": "1",
    }
    if hidden := [f"-{name}" for name in LIBRARY if name.startswith(without)]:
        variables["GLIBC_TUNABLES"] = "glibc.cpu.hwcaps=" + ",".join(hidden)
    return variables


def as_on(variables: dict[str, str]) -> dict[str, str]:
    """This process's environment with these variables, and without variables of another core."""
    return {name: value for name, value in os.environ.items() if name not in NAMES} | variables


def reported(variables: dict[str, str]) -> tuple[str | None, list[str]]:
    """NumPy's features under these variables, and the core that its OpenBLAS reports (None without OpenBLAS)."""
    told = subprocess.run([sys.executable, "-c", ASK], env=as_on(variables), capture_output=True, check=True)
    core, found = json.loads(told.stdout)
    return core, found


def tests(variables: dict[str, str], arguments: Sequence[str]) -> int:
    """The exit code of pytest for the fast and the slow tests."""
    command = [sys.executable, "-m", "pytest", "-n", "auto", "--dist", "worksteal", "-m", "not nightly", *arguments]
    return subprocess.run(command, env=as_on(variables), cwd=ROOT).returncode


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--core", action="append", choices=CORES, help="one of them; may be given several times")
    asked, arguments = parser.parse_known_args(words)
    _, found = reported({})
    ran: dict[str | None, int] = {}  # {reported core: exit code}
    refused = []
    for core in asked.core or CORES:
        variables = environment(core, found)
        told, left = reported(variables)
        print(f"=== {core}: NumPy reports {told}; its own loops: {', '.join(left) or 'the least'}", flush=True)
        if told not in CORES or CORES[told][1] != CORES[core][1]:
            refused.append(core)
            print(f"{core} cannot be tried on this processor", flush=True)
        elif told in ran:
            print(f"{core} is {told} to this OpenBLAS, which has had its run", flush=True)
        else:
            ran[told] = tests(variables, arguments)
    for told, code in ran.items():
        print(f"{told}: {'every test passes' if code == 0 else 'FAILED'}")
    if refused:
        print(f"not tried: {', '.join(refused)}")
    return int(bool(refused or any(ran.values())))


if __name__ == "__main__":
    sys.exit(main())
