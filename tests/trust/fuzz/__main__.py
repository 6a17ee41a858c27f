"""Fuzz the readers one after another, and write the results: ``python -m tests.trust.fuzz --inputs 1000000``.

Each reader runs in its own process under atheris (libFuzzer). An input is a finding if the reader raises anything
except a ValueError or an OSError of one line, or if the reader unpickles an object. An input is also a finding if the
reader takes over 10 seconds, or if it uses more memory than `readers.MOST_MEMORY` at any time. For a finding, the
folder gets the input and the message. The fuzzing needs no data sets.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

from nfa.experiments import records

from .readers import READERS, SECONDS


def fuzz(name: str, inputs: int, most: int, seed: int, keep: Path) -> dict:
    """Run the process of one reader.

    Return its number of inputs, its seconds, the covered edges, and its finding, if any.
    """
    reader = READERS[name]
    with tempfile.TemporaryDirectory(prefix="nfa-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as tmp:
        corpus = Path(tmp) / "corpus"
        corpus.mkdir()
        for i, data in enumerate(reader.seeds()):
            (corpus / f"seed{i}").write_bytes(data)
        words = Path(tmp) / "words"
        words.write_text("".join(f'"{"".join(f"{chr(92)}x{b:02x}" for b in word)}"\n' for word in reader.words))
        keep.mkdir(parents=True, exist_ok=True)
        options = [f"-runs={inputs}", f"-seed={seed}", f"-max_len={reader.longest}", f"-timeout={SECONDS}"]
        options += ["-rss_limit_mb=2048", f"-max_total_time={most}", f"-artifact_prefix={keep}/{name}-"]
        options += ["-print_final_stats=1"]
        if reader.words:
            options.append(f"-dict={words}")
        start = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "tests.trust.fuzz.child", name, tmp, *options, str(corpus)],
            capture_output=True,
            text=True,
            errors="replace",
        )
        seconds = time.monotonic() - start
    told = done.stderr + done.stdout
    executed = re.search(r"stat::number_of_executed_units:\s*(\d+)", told)
    edges = re.findall(r"\bcov: (\d+)", told)
    found = {
        "inputs": int(executed[1]) if executed else 0,
        "seconds": round(seconds),
        "edges": int(edges[-1]) if edges else 0,
        "finding": None,
    }
    if done.returncode:
        raised = re.findall(r"^(?:[\w.]+(?:Error|Exception|Warning)\b|ALARM|==).*", told, re.MULTILINE)
        found["finding"] = (raised or ["the process ended"])[-1]
        (keep / f"{name}.log").write_text(told)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.trust.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("readers", nargs="*", metavar="READER", help=f"of {', '.join(READERS)}; all without")
    parser.add_argument("--inputs", type=int, default=1_000_000, help="for each reader")
    parser.add_argument("--seconds", type=int, default=3600, help="for each reader, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("runs/fuzz"), help="folder for fuzz.json and for findings")
    taken = parser.parse_args()
    if unknown := sorted(set(taken.readers) - set(READERS)):
        parser.error(f"there is no reader {unknown[0]}, only {', '.join(READERS)}")
    found = {}
    for name in taken.readers or READERS:
        found[name] = fuzz(name, taken.inputs, taken.seconds, taken.seed, taken.out)
        told = found[name]
        print(
            f"{name:11} {told['inputs']:>9,} inputs, {told['seconds']} s: {told['finding'] or 'no finding'}", flush=True
        )
    versions = {"atheris": version("atheris"), "numpy": np.__version__, "python": sys.version.split()[0]}
    report = {"seed": taken.seed, "versions": versions, "readers": found}
    records.write(taken.out / "fuzz.json", report)
    sys.exit(any(r["finding"] for r in found.values()))


if __name__ == "__main__":
    main()
