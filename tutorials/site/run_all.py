"""Run every tutorial and every page of solutions, as many at a time as there are cores, for the build to find them run.

``python tutorials/site/run_all.py`` from the root of the repository; `make site` does. What has not changed is not run
again. Sphinx by itself would run one after the other.
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
SECONDS = 300  # that a cell may take
# Of those that take longest, so that none of them is the last to begin.
FIRST = (
    "13_your_own_rule",
    "12_auditing",
    "08_span_attack",
    "06_private_dfa",
    "10_controller",
    "02_feedback_alignment",
)


def scripts() -> list[Path]:
    """Every script that is a page."""
    return sorted([*TUTORIALS.glob("[0-9][0-9]_*.py"), *TUTORIALS.glob("solutions/[0-9][0-9]_*.py")])


def read(script: Path) -> nbformat.NotebookNode:
    """A script as a notebook."""
    return jupytext.read(script, fmt="py:percent")


def missing(cache: JupyterCacheAbstract) -> list[Path]:
    """The scripts that have not been run as they stand, the longest first."""
    found = []
    for script in scripts():
        try:
            cache.match_cache_notebook(read(script))
        except KeyError:
            found.append(script)
    return sorted(found, key=lambda script: (script.stem not in FIRST or script.parent != TUTORIALS, script.stem))


def run(script: Path) -> tuple[Path, nbformat.NotebookNode, float]:
    """A script's notebook, run in its folder, and how many seconds that took."""
    start, notebook = time.perf_counter(), read(script)
    resources = {"metadata": {"path": str(script.parent)}}
    quiet = {"timeout": SECONDS, "resources": resources, "extra_arguments": ["--log-level=ERROR"]}
    # Times of cells would be part of what a notebook is found by.
    NotebookClient(notebook, record_timing=False, **quiet).execute()
    return script, notebook, time.perf_counter() - start


def main() -> None:
    """Run what is missing; an error in a cell ends it with that cell's traceback."""
    cache = get_cache(str(CACHE))
    with ThreadPoolExecutor(os.process_cpu_count() if sys.version_info >= (3, 13) else os.cpu_count()) as pool:
        for script, notebook, seconds in pool.map(run, missing(cache)):
            bundle = CacheBundleIn(notebook, str(script), data={"execution_seconds": seconds})
            cache.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
            print(f"{seconds:6.1f} s  {script.relative_to(TUTORIALS)}", flush=True)


if __name__ == "__main__":
    main()
