"""`python -m tests.benchmarks`: race, print, and write JSON and the figure. See --help."""

import argparse
import os
import sys

parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
parser.add_argument(
    "--only", nargs="+", metavar="PART", help="mlp cnn normals projections ulr start scaling memory; all by default"
)
parser.add_argument("--without", nargs="+", metavar="NAME", default=[], help="contenders to leave out: 'jax vmap', say")
parser.add_argument("--repeats", type=int, default=9, help="rounds (default 9)")
parser.add_argument("--threads", type=int, help="cores to use, for every library (default: all)")
parser.add_argument("--out", default="runs/bench", help="folder for bench.json and scaling.png (default runs/bench)")
parser.add_argument("--tiny", action="store_true", help="sizes at which no time means anything, to try the harness")
parser.add_argument("--peak", nargs=2, metavar=("GROUP", "NAME"), help=argparse.SUPPRESS)
asked = parser.parse_args()

if asked.threads:  # before any library counts the cores
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: asked.threads])
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = str(asked.threads)

from . import report  # noqa: E402

if asked.peak:
    print(report.peak(*asked.peak, tiny=asked.tiny))
    sys.exit()
try:
    report.run(
        asked.only,
        without=asked.without,
        repeats=asked.repeats,
        tiny=asked.tiny,
        out=asked.out,
        threads=asked.threads,
    )
except ValueError as error:
    sys.exit(f"error: {error}")
