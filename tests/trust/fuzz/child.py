"""The process that fuzzes one reader: ``python -m tests.trust.fuzz.child READER FOLDER OPTIONS...`` of libFuzzer."""

import sys
import tracemalloc
from pathlib import Path

import atheris

with atheris.instrument_imports(
    include=["nfa.data", "nfa.experiments.checkpoint", "nfa.experiments.records", "nfa.ledger", "tomllib"]
):
    from .readers import READERS, outcome


def _never_pickle(event: str, _) -> None:
    if event == "pickle.find_class":
        raise AssertionError("something was unpickled")


if __name__ == "__main__":
    reader, file = READERS[sys.argv[1]], Path(sys.argv[2]) / "input"
    sys.addaudithook(_never_pickle)
    tracemalloc.start()
    atheris.Setup([sys.argv[0], *sys.argv[3:]], lambda data: outcome(reader, file, data))
    atheris.Fuzz()  # this call does not return: it ends the process
