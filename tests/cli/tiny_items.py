"""Items that train in a second and replace the papers' items in tests of `nfa reproduce` with several items.

As a program, this module is `nfa` with these items: ``python -m tests.cli.tiny_items reproduce all``.
"""

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

from nfa.cli import main
from nfa.experiments.experiment import Cell
from nfa.experiments.settings import Settings
from nfa.papers import index
from nfa.papers.lee2020.epsilons import EPSILONS
from nfa.papers.ohana2021.table1 import TABLE1
from nfa.rules.bp import bp

ITEMS = {
    "ohana2021:table1": "tests.cli.tiny_items:TABLE",
    "ohana2021:fig2": "tests.cli.tiny_items:SHARES",
    "dpulr2024:table1": "tests.cli.tiny_items:DIVERGES",
    "dpulr2024:fig3": "tests.cli.tiny_items:WITHOUT_DATA",
    "lee2020:fig4": "tests.cli.tiny_items:KILLED",
    "lee2020:fig2": "tests.cli.tiny_items:LONG",
    "lee2020:epsilons": "tests.cli.tiny_items:FORMULAS",
}


def killed(net, x, y, *, rng):
    """BP, but a worker process that finds the file `kill` removes this file and kills itself."""
    if os.getpid() != int(os.environ["MAIN"]) and Path("kill").exists():
        Path("kill").unlink(missing_ok=True)
        os.kill(os.getpid(), signal.SIGKILL)
    return bp(net, x, y)


def item(id, rules=("bp", "dfa"), of=None, **settings):
    """An experiment with one run for each rule and seed."""

    def cells(scale, seeds):
        shape = {"dataset": "tiny.npz", "classes": "3", "architecture": "6-4-3", "batch": 10, "epochs": 2} | settings
        return [
            Cell(
                f"{rule.partition(':')[0][-3:]}-seed{seed}",
                Settings(rule=rule, seed=seed, **shape),
                {"rule": rule.upper(), "sigma": "non-private"},
            )
            for rule in rules
            for seed in seeds
        ]

    own = {"id": id, "title": f"A tiny {id}", "cells": cells, "of": of, "tried": (), "notes": lambda rows: []}
    return replace(TABLE1, **own, picture=lambda path, *_: path.touch())


TABLE = item("ohana2021:table1", epochs=4)
SHARES = item("ohana2021:fig2", rules=("bp",), of="ohana2021:table1", epochs=4)
DIVERGES = item("dpulr2024:table1", activation="relu", lr=1e6, epochs=30)
WITHOUT_DATA = item("dpulr2024:fig3", dataset="nowhere.npz")
KILLED = item("lee2020:fig4", rules=("tests.cli.tiny_items:killed",))
LONG = item("lee2020:fig2", epochs=3000)
ROW = {"figure": "fig2", "data": "mnist", "net": "cnn", "sigma": 0.1, "epochs": 1}
ROW |= {"paper": 1.0, "ours": 1.0, "difference": 0.0, "verdict": "inside"}
FORMULAS = replace(
    EPSILONS,
    rows=lambda: [ROW],
    summary=lambda rows: [],
    notes=lambda rows: [],
    picture=lambda path, *_: path.touch(),
)

if __name__ == "__main__":
    os.environ["MAIN"] = str(os.getpid())
    index.EXPERIMENTS = ITEMS
    sys.exit(main.main(sys.argv[1:]))
