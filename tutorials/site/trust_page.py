"""The page "How far you can trust this": the results of our tests of the code, from their files in ``results/``."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "results"

START = """# How far you can trust this

This page reports how we tested this code, and the results. Every number of the page comes from a file in `results/`.
The command of each section wrote its file, and you can run this command again.
"""

END = """## Limits of these tests

- **No program has checked our proofs.** Each guarantee names the theorem from which it follows (`nfa epsilon
  --explain`). We proved a few theorems ourselves. Nobody else has reviewed these proofs, and their statements say so.
- **Floats are not real numbers.** The low-order bits of a seeded run's noise can reveal which of two neighbours the
  data set is. A secure run has noise on a grid, and epsilon includes the rounding of its sums ({doc}`/pitfalls`).
  {doc}`/threat_model` explains the guarantee of a secure run.
- **A search without a finding is not a proof.** It only shows how thoroughly we searched.
- **We used one kind of machine.** The numbers above are from Linux on x86-64.
"""


def trust() -> str:
    """The text of the page, with a section for each file of results that this copy of the project has."""
    found = {name: RESULTS / name for name in SECTIONS if (RESULTS / name).exists()}
    sections = [SECTIONS[name](json.loads(path.read_text(encoding="utf-8"))) for name, path in found.items()]
    return "\n".join([START, *sections, END])


def _table(head: list[str], rows: Iterable[list[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def _kills(found: dict[str, Any]) -> str:
    columns = ("kills", "rounds", "records", "differ")
    rows = [[f"`--{how}`", *(told[column] for column in columns)] for how, told in found["figures"].items()]
    return f"""## Runs that we killed

```sh
python -m tests.trust.trust_runs kills --out results/trust-runs/kills.json
```

`nfa reproduce` computes a small table. We kill the command with SIGKILL at random moments, and run it again until the
table is complete. Then we compare the records with those of a run without interruptions. The column `differ` counts
the records that differ in any byte, except in their times.

{_table(["how", *columns], rows)}

`tests/trust/test_trust_runs.py` tests SIGTERM, Ctrl-C, a full disk, a read-only folder and data that vanish. In each
case, the command prints one sentence, and finished runs are not lost.
"""


def _workers(found: dict[str, Any]) -> str:
    told = found["figures"]
    rows = [[how, wall["seconds"], wall["load average before"]] for how, wall in told["wall"].items()]
    same = "the same" if told["records all the same but for times"] else "not the same"
    return f"""## More than one process or machine

```sh
python -m tests.trust.trust_runs workers --out results/trust-runs/workers.json
```

We did {told["runs"]} runs on {found["machine"]} in several ways. Except for times, the records are {same} in all ways.
The load before a run shows whether the machine had other work. {{doc}}`/cluster` describes runs on several machines.

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

We tried {found["settings"]:,} random settings (seed {found["seed"]}), with orders up to 10^4, deltas down to 1e-300,
noise multipliers from 1e-3 to 1e6 and up to 10^9 steps. There were **{len(found["faults"])} faults**. We compare each
epsilon with the same theorem, evaluated with mpmath at eighty digits. An epsilon is a fault if it is not a number, if
it decreases although the theorem's epsilon increases, or if it is below the exact value by more than 1e-12. The largest
relative difference below the exact value is {gap["below"]["gap"]:.1e}, and the largest one above it is
{gap["above"]["gap"]:.1e}.

dp-accounting 0.6.0 has some of the same theorems. For these we compare both libraries with mpmath:

{_table(["theorem", "values of both", "dp-accounting off by more than 1e-7", "largest other difference"], rows)}
"""


def _statement(id_: str) -> str:
    return f"{{ref}}`{id_} <{id_.replace(':', '-').replace('.', '-')}>`"


def _fuzz(found: dict[str, Any]) -> str:
    rows = [
        [name, f"{told['inputs']:,}", told["seconds"], told["edges"] or "", told["finding"] or "none"]
        for name, told in found["readers"].items()
    ]
    return f"""## Fuzzing of all functions that read files

```sh
make fuzz
```

Coverage guides the inputs (atheris {found["versions"]["atheris"]}, seed {found["seed"]}). The command gives each
reader a million inputs or one hour. The table has the actual numbers. A reader must return a result or print one
sentence, within ten seconds and 48 MB, and must not unpickle anything. Everything else is a finding. We repaired all
findings of earlier runs, and each has a test.

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
    head = ["rule", "kinds", "searches", "excess over the bound, float64", "float32", "least share of attained bounds"]
    broken = found["broken"].values()
    by = {way: sum(rule[way] for rule in broken) for way in ("search", "noise", "game")}
    caught = sum(any(rule[way] for way in by) for rule in broken)
    unseen, games = found["unseen_in_means"].values(), found["games"].values()
    return f"""## Tests of the mechanisms

```sh
python -m tests.trust.mechanism_search
```

Every rule states a sensitivity. We search for neighbours that move the rule's output further, by random draws and then
by gradient ascent. We use several kinds of network, neighbours and clips (seed {found["seed"]}). Except for rounding,
no neighbour may move the output by more than the stated sensitivity. If a rule states that its bound is attained, the
search must reach at least 99 % of this bound. The last column counts the audits that refute a sound rule with 95 %
confidence. At most {found["most_false_alarms"]} such audits are acceptable.

{_table([*head, "false alarms"], rows)}

We put errors into {len(broken)} rules on purpose, and the tests **find {caught} of them**. The search finds
{by["search"]}, measurements of the noise on each number find {by["noise"]}, and a distinguishing game finds
{by["game"]}. Most errors are found in more than one way. nfa refuses {len(found["refused"])} further combinations
before they run. `nfa audit --rule module:function` does the same tests for your own rule.

The error of {len(unseen)} other rules changes no mean of a single step. Examples are noise with a spread or a
correlation that depends on the data, steps without noise, noise that is used twice or subtracted again, and a clip that
does not clip an outlier. `nfa audit --rule` finds **{sum(told["refuted"] for told in unseen)}** of these errors by its
distinguishing games and by records of every size. We played the same games at 95 % confidence with sound rules, on
neighbours that attain the stated sensitivity. The games refuted a sound rule
{sum(told["refuted"] for told in games)} times in {sum(told["audits"] for told in games):,} audits of
{len(games)} of the rules above.

Rounding can increase the sensitivity. A linear algebra library may round a row differently if there are two rows. If
the input of a ReLU is exactly 0, this rounding can change its derivative. In a case that we constructed, one record
moves DP-SGD by {found["rounding_beside_a_kink"]:.3f} times its sensitivity.
"""


def _mutants(found: dict[str, Any]) -> str:
    def share(told: dict[str, Any]) -> str:
        low, high = told["interval"]
        return f"{told['killed']} of {told['sampled']}, {told['rate']:.1%} ({low:.1%} to {high:.1%})"

    first = "No test was written for this sample."
    if before := found["at first"]:
        first = f"""We wrote new tests for changes that no test noticed. Before these new tests, the tests noticed
{share(before["all"])}."""
    listed = "\n".join(
        f"- `{one['file']}:{one['line']}` `{one['old'].strip()}` → `{one['new'].strip()}`: {one['why']}"
        for one in found["survivors"]
    )
    return f"""## Do the tests notice a changed line?

```sh
make mutants
```

We make one small change to the code at a time, and run the fast tests. At least one test should fail. The changes are
drawn at random from the files of rules, privacy, clips, batches, feedback, sensitivity, optimizers and kernels (seed
{found["seed"]}). mutmut {found["versions"]["mutmut"]} makes the changes, and cosmic-ray
{found["versions"]["cosmic-ray"]} makes those in kernels, which are not compiled. The text of messages is not changed.
The intervals are exact, at a confidence of {found["confidence"]:.0%}.

{_table(["what", "noticed"], [[name, share(found[name])] for name in ("plain", "kernels", "all")])}

{first}

No fast test notices the following {len(found["survivors"])} changes. For each we explain why it does not affect a
documented result:

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

The sdist has {sdist["files of the repository"]:,} files of the repository, and {len(sdist["missing"])} are missing. The
wheel has {wheel["files"]} files, and {len(wheel["missing"])} are missing. In each environment below we installed the
wheel and its extras, with the newest libraries, the pinned libraries, or the oldest libraries that nfa allows. In each
environment we imported every module and ran {len(found["commands"])} commands. A monitor refused the network, other
programs, and files outside the given folder, the user's cache and the folder for temporary files.

{_table(["Python, libraries", "NumPy", "SciPy", "pip check", "fast tests", "known vulnerabilities (pip-audit)"], rows)}
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
