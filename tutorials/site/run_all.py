"""Run all tutorials and all pages of solutions on all cores, so that the build finds their outputs in the cache.

Run ``python tutorials/site/run_all.py`` from the root of the repository. `make site` does this. Scripts that have not
changed are not run again. Sphinx alone would run one script after the other.
"""

import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jupytext
import nbformat
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn, JupyterCacheAbstract
from nbclient import NotebookClient

TUTORIALS = Path(__file__).parents[1]
CACHE = TUTORIALS.parent / "build" / "tutorials"
SECONDS = 300  # largest time of a cell
# The slowest scripts run first, so that none of them begins last.
FIRST = (
    "13_your_own_rule",
    "12_auditing",
    "08_span_attack",
    "06_private_dfa",
    "10_controller",
    "02_feedback_alignment",
)


def scripts() -> list[Path]:
    """All scripts that are pages."""
    return sorted([*TUTORIALS.glob("[0-9][0-9]_*.py"), *TUTORIALS.glob("solutions/[0-9][0-9]_*.py")])


def read(script: Path) -> nbformat.NotebookNode:
    """The notebook of a script."""
    return jupytext.read(script, fmt="py:percent")


def missing(cache: JupyterCacheAbstract) -> list[Path]:
    """The scripts without a run of their present version in the cache, the slowest first."""
    found = []
    for script in scripts():
        try:
            cache.match_cache_notebook(read(script))
        except KeyError:
            found.append(script)
    return sorted(found, key=lambda script: (script.stem not in FIRST or script.parent != TUTORIALS, script.stem))


def run(script: Path) -> tuple[Path, nbformat.NotebookNode, float]:
    """A script, its notebook after a run in the script's folder, and the seconds of the run."""
    start, notebook = time.perf_counter(), read(script)
    resources = {"metadata": {"path": str(script.parent)}}
    quiet = {"timeout": SECONDS, "resources": resources, "extra_arguments": ["--log-level=ERROR"]}
    # We do not record times of cells, because they would become part of the key in the cache.
    NotebookClient(notebook, record_timing=False, **quiet).execute()
    return script, notebook, time.perf_counter() - start


def main() -> None:
    """Run the scripts that are missing in the cache. An error in a cell ends the program with the cell's traceback."""
    cache = get_cache(str(CACHE))
    with ThreadPoolExecutor(os.process_cpu_count() if sys.version_info >= (3, 13) else os.cpu_count()) as pool:
        for script, notebook, seconds in pool.map(run, missing(cache)):
            bundle = CacheBundleIn(notebook, str(script), data={"execution_seconds": seconds})
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
            print(f"{seconds:6.1f} s  {script.relative_to(TUTORIALS)}", flush=True)


if __name__ == "__main__":
    main()
