"""The page "How far you can trust this": what was tried, from the files that the trying wrote into ``results/``."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "results"

START = """# How far you can trust this

What was tried on this code, how often, and what came of it. Every number of this page is read from a file in
`results/` that the command beside it made; the command does it again.
"""

END = """## What none of this says

- **No proof here was checked by a machine.** What a guarantee rests on is named with it (`nfa epsilon --explain`). A
  few proofs are ours, nobody else has reviewed them, and the statement says so.
- **Floats are not reals.** The low-order bits of a seeded run's noise can tell neighbours apart. A secure run has noise
  on a grid, and counts the rounding of its sums: {doc}`/pitfalls`. {doc}`/threat_model` says what it promises.
- **A search that finds nothing proves nothing.** It says how hard somebody has looked.
- **One kind of machine.** The numbers above are from Linux on x86-64.
"""


def trust() -> str:
    """The page, with a section for every file of figures that this copy of the project has."""
    found = {name: RESULTS / name for name in SECTIONS if (RESULTS / name).exists()}
    sections = [SECTIONS[name](json.loads(path.read_text(encoding="utf-8"))) for name, path in found.items()]
    return "\n".join([START, *sections, END])


def _table(head: list[str], rows: Iterable[list[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def _kills(found: dict[str, Any]) -> str:
    columns = ("kills", "rounds", "records", "differ")
    rows = [[f"`--{how}`", *(told[column] for column in columns)] for how, told in found["figures"].items()]
    return f"""## Runs that are killed

```sh
{found["command"]}
```

A small table by `nfa reproduce`, killed by SIGKILL at random moments and run again until it is done, as many rounds
as it takes. Its records are held against those of a run that nobody disturbed: `differ` counts those with another
byte anywhere but in their times.

{_table(["how", *columns], rows)}

SIGTERM, Ctrl-C, a full disk, a read-only folder and data that vanish are tests (`tests/trust/test_trust_runs.py`): one
sentence each, and finished runs are kept.
"""


def _workers(found: dict[str, Any]) -> str:
    told = found["figures"]
    rows = [[how, wall["seconds"], wall["load average before"]] for how, wall in told["wall"].items()]
    same = "the same" if told["records all the same but for times"] else "not the same"
    return f"""## More than one process or machine

```sh
{found["command"]}
```

{told["runs"]} runs on {found["machine"]}. The records are {same} however they were made, but for times. The load before
says whether the machine had other work. {{doc}}`/cluster` is about more machines.

{_table(["how", "seconds", "load before"], rows)}
"""


def _accountants(found: dict[str, Any]) -> str:
    gap = found["worst_relative_gap"]
    rows = [
        [_statement(bound), told["values"], told["theirs_off"], f"{told['apart']:.1e}"]
        for bound, told in found["dp_accounting"].items()
    ]
    return f"""## Accountants at the edges

```sh
python -m tests.trust.accountant_edges
```

{found["settings"]:,} random settings (seed {found["seed"]}), out to orders of 10^4, deltas of 1e-300, noise
multipliers from 1e-3 to 1e6 and 10^9 steps: **{len(found["faults"])} faults**. A fault is a nan, an epsilon that falls
where the theorem rises, or one that is below the same theorem, evaluated with mpmath at eighty digits, by more than
1e-12. The lowest is {gap["below"]["gap"]:.1e} below it, relatively, the highest {gap["above"]["gap"]:.1e} above.

Where dp-accounting 0.6.0 has the same theorem, both are held against mpmath:

{_table(["theorem", "values of both", "theirs off by more than 1e-7", "farthest apart elsewhere"], rows)}
"""


def _statement(id_: str) -> str:
    return f"{{ref}}`{id_} <{id_.replace(':', '-').replace('.', '-')}>`"


def _fuzz(found: dict[str, Any]) -> str:
    rows = [
        [name, f"{told['inputs']:,}", told["seconds"], told["edges"] or "", told["finding"] or "none"]
        for name, told in found["readers"].items()
    ]
    return f"""## Readers of files, fuzzed

```sh
make fuzz
```

Inputs guided by coverage (atheris {found["versions"]["atheris"]}, seed {found["seed"]}). The command gives each reader
a million or an hour; the table says what these had. A finding is anything but a result or one sentence, more than ten
seconds, more than 48 MB in use, or anything unpickled. What earlier runs found is repaired and has its test.

{_table(["reader", "inputs", "seconds", "edges covered", "findings"], rows)}
"""


def _above(ratio: float) -> str:
    return f"{ratio - 1:.0e}" if ratio > 1 else "0"


def _mechanisms(found: dict[str, Any]) -> str:
    rows = []
    for rule, told in found["search"].items():
        attained = [kind["ratio"] for kind in told["kinds"] if kind["said_attained"]]
        audits = found["audits"][rule]
        rows.append(
            [
                f"`{rule}`",
                len(told["kinds"]),
                told["searched"],
                _above(told["float64"]),
                _above(told["float32"]),
                f"{min(attained):.4f} of {len(attained)}",
                f"{audits['above_exact']} of {audits['audits']}",
            ]
        )
    head = ["rule", "kinds", "searches", "most above the bound, float64", "float32", "least where it is attained"]
    broken = found["broken"].values()
    by = {way: sum(rule[way] for rule in broken) for way in ("search", "noise", "game")}
    caught = sum(any(rule[way] for way in by) for rule in broken)
    unseen, games = found["unseen_in_means"].values(), found["games"].values()
    return f"""## Mechanisms keep their promise

```sh
python -m tests.trust.mechanism_search
```

What every rule says that a record can move, against the neighbours that random draws and then ascent find, on several
kinds of network, neighbours and clips (seed {found["seed"]}). Nothing may lie above the bound beyond rounding; where
the bound is said to be attained, the search must come within 1 % of it. The last column counts audits at 95 % that
refute a sound rule; more than {found["most_false_alarms"]} would be too many.

{_table([*head, "false alarms"], rows)}

{len(broken)} rules are broken on purpose, and **{caught} are caught**: {by["search"]} by the search, {by["noise"]} by
looking at the noise on each number, {by["game"]} by a distinguishing game, most by more than one.
{len(found["refused"])} further combinations are refused before they run. `nfa audit --rule module:function` does the
same for your own rule.

{len(unseen)} more have a mistake that no mean of one step shows: noise whose spread or correlation depends on the data,
steps without noise, noise that is used twice or taken back, a clip that an outlier passes. The games of `nfa audit
--rule` and its records of every size catch **{sum(told["refuted"] for told in unseen)}**. The same games at 95 % on
neighbours that attain what a sound rule states refuted it {sum(told["refuted"] for told in games)} times in
{sum(told["audits"] for told in games):,}, on {len(games)} of the rules above.

Floats: a linear algebra library may round a row differently when there are two, and where ReLUs stand at 0 exactly,
that flips them. In a case made for this, DP-SGD moves by {found["rounding_beside_a_kink"]:.3f} times its sensitivity.
"""


def _mutants(found: dict[str, Any]) -> str:
    def share(told: dict[str, Any]) -> str:
        low, high = told["interval"]
        return f"{told['killed']} of {told['sampled']}, {told['rate']:.1%} ({low:.1%} to {high:.1%})"

    first = "No test was written for this sample."
    if before := found["at first"]:
        first = f"""Survivors led to new tests. Before these, when nothing had been held against this sample, it was
{share(before["all"])}."""
    listed = "\n".join(
        f"- `{one['file']}:{one['line']}` `{one['old'].strip()}` → `{one['new'].strip()}`: {one['why']}"
        for one in found["survivors"]
    )
    return f"""## Changed lines that tests notice

```sh
make mutants
```

One small change at a time, drawn over the files of rules, privacy, clips, batches, feedback, sensitivity, optimizers
and kernels (mutmut {found["versions"]["mutmut"]}; for kernels cosmic-ray {found["versions"]["cosmic-ray"]}, nothing
compiled; seed {found["seed"]}; text of messages left out): do the fast tests fail? Intervals are exact, at
{found["confidence"]:.0%}.

{_table(["what", "noticed"], [[name, share(found[name])] for name in ("plain", "kernels", "all")])}

{first}

The {len(found["survivors"])} that no fast test notices, each with why it changes nothing that is promised:

{listed}
"""


def _packages(found: dict[str, Any]) -> str:
    def tests(told: dict[str, Any]) -> str:
        ran = told.get("fast tests")
        return f"{ran['passed']:,} passed, {ran['failed']} failed, {ran['skipped']} skipped" if ran else "not run"

    def audit(told: dict[str, Any]) -> str:
        return told["pip-audit"].get("not available") or str(len(told["pip-audit"].get("vulnerable", ())))

    rows = [
        [where, told["versions"]["numpy"], told["versions"]["scipy"], told["pip check"], tests(told), audit(told)]
        for where, told in found["environments"].items()
    ]
    wheel, sdist = found["packages"]["wheel"], found["packages"]["sdist"]
    return f"""## Packages

```sh
{found["command"]}
```

The sdist has {sdist["files of the repository"]:,} files of the repository and misses {len(sdist["missing"])}; the
wheel has {wheel["files"]} and misses {len(wheel["missing"])}. Each environment below has the wheel and its extras, with
the newest libraries, the pinned ones, or the lowest that are allowed. In each every module was imported and
{len(found["commands"])} commands ran under a watch that refuses the network, other programs, and files outside of the
folder given, the user's cache and the place for temporary files.

{_table(["Python, libraries", "NumPy", "SciPy", "pip check", "fast tests", "known holes (pip-audit)"], rows)}
"""


SECTIONS: dict[str, Callable[[dict[str, Any]], str]] = {
    "trust-runs/kills.json": _kills,
    "trust-runs/workers.json": _workers,
    "trust-accountants/edges.json": _accountants,
    "trust-mechanisms/search.json": _mechanisms,
    "trust-fuzz/fuzz.json": _fuzz,
    "trust-mutants/mutants.json": _mutants,
    "trust-packages/packages.json": _packages,
}
