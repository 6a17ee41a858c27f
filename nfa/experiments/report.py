"""Make rows with our numbers and the paper's numbers from records, and write them as a plain table and as REPORT.md."""

import csv
import io
import shlex
import statistics
import tomllib
from collections.abc import Iterable
from importlib.resources import files
from typing import Any

from nfa.experiments.experiment import Analytic, Experiment, Rows, TableCell, Trained, in_words, unfinished
from nfa.experiments.records import epochs_of, settings_of, versions
from nfa.privacy.rounding import up

NO_ROW = {"": "none of these runs has a number in this table"}
NOT_COMPARABLE = "not comparable: "  # first words of the verdict of a row that is not comparable
TEXTS: dict[str, str] = tomllib.loads(files("nfa.experiments").joinpath("report.toml").read_text(encoding="utf-8"))


def rows(experiment: Experiment, runs: Trained, exact: bool = False) -> Rows:
    """One row for each different key of the cells, with paper, ours, sd, n, difference and verdict.

    ours is the mean over the seeds. sd has the divisor n - 1, and is None for a single run. If ``exact`` is true, the
    rows have all digits, and a column for each number of a `TableCell`.
    """
    digits = 17 if exact else experiment.digits
    groups: dict[tuple, Trained] = {}
    for cell, record in runs:
        groups.setdefault(tuple(cell.key.items()), []).append((cell, record))
    table = []
    for key, group in groups.items():
        cell, record = group[0]
        ours = [value for found in group if (value := experiment.value(*found)) is not None]
        if not ours:
            continue
        stopped = unfinished([epochs_of(record)])
        why = "; ".join(filter(None, [stopped and f"at {stopped}", experiment.not_comparable(cell.settings, record)]))
        found = compare(experiment.paper(cell.key), ours, experiment.tolerance, why, digits)
        table.append(dict(key) | (_apart if exact else dict)(experiment.extra_columns(group)) | found)
    return table


def _apart(more: dict[str, Any]) -> dict[str, Any]:
    return dict(p for k, v in more.items() for p in (v.columns if isinstance(v, TableCell) else {k: v}).items())


def compare(
    paper: float | None, ours: list[float], tolerance: float, not_comparable: str = "", digits: int = 2
) -> dict[str, Any]:
    """Compare runs with a number of the paper.

    Parameters
    ----------
    paper : the paper's number; None if the paper prints no number
    ours : one number for each run, in the unit of the paper's number. There must be at least one run
    tolerance : largest absolute difference of the mean for the verdict "inside"
    not_comparable : reason why the two numbers are not comparable; empty if they are comparable
    digits : number of decimals in the result

    Examples
    --------
    >>> compare(88.0, [87.0, 88.0], 1.0)
    {'paper': 88.0, 'ours': 87.5, 'sd': 0.71, 'n': 2, 'difference': -0.5, 'verdict': 'inside'}
    >>> compare(88.0, [90.0], 1.0)["verdict"]
    'outside: 2.00 above'
    """
    mean = statistics.fmean(ours)
    spread = round(statistics.stdev(ours), digits) if len(ours) > 1 else None
    if paper is None:
        not_comparable = not_comparable or "the paper prints no number"
        row = {"paper": None, "ours": round(mean, digits), "sd": spread, "n": len(ours), "difference": None}
        return row | {"verdict": NOT_COMPARABLE + not_comparable}
    difference = mean - paper
    # The accuracy on a test set is a multiple of a fixed number, so a difference can equal the tolerance. Without the
    # slack of 1e-9, the verdict would depend on rounding errors.
    inside = abs(difference) <= tolerance + 1e-9
    verdict = "inside" if inside else f"outside: {abs(difference):.2f} {'above' if difference > 0 else 'below'}"
    return {
        "paper": paper,
        "ours": round(mean, digits),
        "sd": spread,
        "n": len(ours),
        "difference": round(difference, digits),
        "verdict": NOT_COMPARABLE + not_comparable if not_comparable else verdict,
    }


def proved_epsilon(runs: Trained) -> dict[str, TableCell]:
    """The epsilon that is proved for the runs of a row if their random numbers are secret; "none" without a proof.

    The epsilon is rounded up. The records of these runs differ only in the seed.
    """
    guarantee = runs[0][1]["privacy"].get("guarantee")
    epsilon = guarantee and guarantee["epsilon"]
    text = epsilon or "none" if epsilon in (None, "inf") else up(epsilon, decimals=2)
    return {"epsilon": TableCell(text, {"epsilon": epsilon})}


def informative(table: Rows) -> tuple[Rows, str]:
    """The rows without uninformative columns, and a sentence to print below the table, which may be "".

    A column is uninformative if it has no entry. If all rows have the same "not comparable" verdict, the sentence
    replaces this column.

    Examples
    --------
    >>> row = {"rule": "bp", "paper": None, "ours": 88.0, "verdict": "not comparable: the paper prints no number"}
    >>> informative([row, row | {"rule": "dfa"}])[0]
    [{'rule': 'bp', 'ours': 88.0}, {'rule': 'dfa', 'ours': 88.0}]
    >>> informative([row])[1]
    'None of these rows is comparable with a printed number: the paper prints no number.'
    """
    if not table:
        return [NO_ROW], ""
    silent = {name for name in table[0] if all(row[name] is None for row in table)}
    verdict, below = table[0].get("verdict", ""), ""
    if verdict.startswith(NOT_COMPARABLE) and all(row["verdict"] == verdict for row in table):
        silent.add("verdict")
        below = f"None of these rows is comparable with a printed number: {verdict.removeprefix(NOT_COMPARABLE)}."
    return [{name: value for name, value in row.items() if name not in silent} for row in table], below


def plain_table(table: Rows, digits: int = 2) -> str:
    """The `informative` part of a table as lines of plain text, with numbers aligned to the right."""
    lines, right, below = lines_of(table, digits)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = []
    for line in lines:
        padded = (text.rjust(w) if r else text.ljust(w) for text, w, r in zip(line, widths, right, strict=True))
        texts.append("  ".join(padded).rstrip())
    return "\n".join([*texts, "", below] if below else texts)


def markdown_table(table: Rows, digits: int = 2) -> str:
    """The `informative` part of a table in Markdown."""
    (heads, *lines), right, below = lines_of(table, digits)
    rule = ["---:" if r else "---" for r in right]
    texts = ["| " + " | ".join(line) + " |" for line in (heads, rule, *lines)]
    return "\n".join([*texts, "", below] if below else texts)


def lines_of(table: Rows, digits: int) -> tuple[list[list[str]], list[bool], str]:
    """The texts of a table with its head, whether each column has numbers, and the sentence below the table."""
    rows, below = informative(table)
    heads = ["diff." if name == "difference" else name for name in rows[0]]
    right = [isinstance(value, int | float | None) for value in rows[0].values()]
    return [heads, *([in_table(name, value, digits) for name, value in row.items()] for row in rows)], right, below


def in_table(name: str, value: Any, digits: int) -> str:
    """An entry of a row as text. A difference has a sign."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:+.{digits}f}" if name == "difference" else f"{value:.{digits}f}"
    return str(value)


def csv_table(table: list[dict[str, Any]]) -> str:
    """The rows as comma-separated values below their names, with 15 digits. A missing value is empty.

    Examples
    --------
    >>> csv_table([{"rule": "bp", "ours": 1 / 3}, {"rule": "a, b", "ours": None}])
    'rule,ours\\nbp,0.333333333333333\\n"a, b",\\n'
    """
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in table for name in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: f"{x:.15g}" if isinstance(x, float) else x for name, x in row.items()} for row in table)
    return text.getvalue()


def report(experiment: Experiment, scale: str, seeds: list[int], table: Rows, runs: Trained) -> str:
    """The text of REPORT.md: the runs, their data, the readings, and the differences from the paper."""
    used = sorted({row["reading"] for row in table if "reading" in row})
    sets = []
    for entry in {record["data"]["name"]: record["data"] for _, record in runs}.values():
        note = f" Note: {entry['note']}." if entry["note"] else ""
        sets.append(TEXTS["data"].format(**entry, examples=experiment.examples) + note)
    software = {", ".join(f"{k} {v}" for k, v in record["versions"].items()): None for _, record in runs}
    stopped = unfinished(epochs_of(record) for _, record in runs)
    shared, own = _settings(runs)
    limits = TEXTS["only"].format(chosen=in_words(experiment.chosen)) if experiment.chosen else ""
    limits += TEXTS["stopped"].format(stopped=stopped) if stopped else ""
    readings = _listed(f"**{name}**: {_one_line(experiment.readings[name])}" for name in used)
    tried = ""
    for group in experiment.tried:
        entries = [dict(zip(group["columns"], row, strict=True)) for row in group["rows"]]
        tried += f"{_one_line(group['what'])}\n\n{markdown_table(entries)}\n\n"
    caveats = [f"Paper numbers: {_one_line(experiment.transcription)}"]
    if not informative(table)[1]:
        verdicts = sorted({row["verdict"] for row in table if row["verdict"].startswith(NOT_COMPARABLE)})
        caveats += [f"{verdict[0].upper()}{verdict[1:]}." for verdict in verdicts]
    if len(seeds) < 3:
        caveats.append(TEXTS["few"].format(seeds=_seeds(seeds)))
    return TEXTS["runs"].format(
        item=experiment,
        stopped_at=f", stopped at {stopped}" if stopped else "",
        scale=scale,
        what=experiment.scales[scale],
        limits=limits,
        table=markdown_table(experiment.shown(table), experiment.digits),
        caption=" ".join(experiment.caption(runs)) or "the picture",
        legend=_legend(experiment, seeds, table),
        notes=_joined([*experiment.notes(table), *experiment.runs_notes(runs)]),
        data=_listed(sets),
        shared=shared,
        own=own,
        rules=_listed(_rules(runs)),
        readings=TEXTS["readings"].format(lines=readings) if used else "",
        tried=TEXTS["tried"].format(groups=tried) if tried else "",
        privacy=_listed(sorted({record["privacy"]["statement"] for _, record in runs})),
        caveats=_listed(caveats),
        command=_command(experiment, scale, seeds, runs),
        seconds=sum(record["timing"]["seconds"] for _, record in runs),
        software="\n".join(f"Software: {entry}." for entry in software),
        records=_listed(f"`{cell.name}.json`" for cell, _ in runs),
    )


def _legend(experiment: Experiment, seeds: list[int], table: Rows) -> str:
    """The meanings of the columns of the table."""
    if experiment.legend:
        return experiment.legend
    printed, spread = (any(row[name] is not None for row in table) for name in ("paper", "sd"))
    told = ["paper: the printed value."] if printed else []
    told.append(f"ours: {experiment.measures}, mean over n runs ({_seeds(seeds)}).")
    told += ["sd: standard deviation over these runs."] if spread else []
    if printed:
        band = f"{experiment.band[0].upper()}{experiment.band[1:]}"
        told.append(f"verdict: a row is `inside` if ours is within {experiment.tolerance} points of the paper. {band}.")
    return _listed(told)


def computed_report(experiment: Analytic, table: Rows) -> str:
    """The text of REPORT.md for an `Analytic`: table, picture, descriptions, and the command for a rerun."""
    return TEXTS["computed"].format(
        item=experiment,
        made=experiment.made[0].upper() + experiment.made[1:],
        summary=_listed(experiment.summary(table)),
        notes=_joined(experiment.notes(table)),
        within=experiment.within
        or f"our value differs from the printed value by at most {experiment.tolerance} (our own band)",
        table=markdown_table(experiment.shown(table), experiment.digits),
        transcription=_one_line(experiment.transcription),
        software=", ".join(f"{name} {version}" for name, version in versions().items()),
    )


def _joined(lines: Iterable[str]) -> str:
    return "".join(f"{line}\n" for line in lines)


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def texts_of_runs(experiment: Experiment, scale: str, seeds: list[int], table: Rows, runs: Trained) -> dict[str, str]:
    """The texts of the files about runs and their rows, by file name without the prefix of the experiment."""
    stopped = unfinished(epochs_of(record) for _, record in runs)
    head = [
        experiment.title,
        f"Scale {scale}: {experiment.scales[scale]}",
        *([f"Stopped at {stopped}."] if stopped else []),
    ]
    return {
        "REPORT.md": report(experiment, scale, seeds, table, runs),
        "table.txt": "\n".join([*head, "", plain_table(experiment.shown(table), experiment.digits)]) + "\n",
        "table.csv": csv_table(rows(experiment, runs, exact=True)),
    }


def texts_of_rows(experiment: Analytic, table: Rows) -> dict[str, str]:
    """The texts of the files about rows that are computed from formulas, by file name."""
    shown = plain_table(experiment.shown(table), experiment.digits)
    return {
        "REPORT.md": computed_report(experiment, table),
        "table.txt": "\n".join([experiment.title, "", shown, "", *experiment.summary(table)]) + "\n",
        "table.csv": csv_table(table),
    }


def _settings(runs: Trained) -> tuple[str, str]:
    """The settings that are equal in all runs, with their values, and the names of the other settings."""
    every = [record["settings"] for _, record in runs]
    names = [name for name in dict.fromkeys(name for settings in every for name in settings) if name != "rule_settings"]
    shared = [name for name in names if all(name in s and s[name] == every[0][name] for s in every)]
    told = [f"{name} {every[0][name]}" for name in shared if every[0][name] is not None]
    return ", ".join(told), ", ".join(name for name in names if name not in shared)


def _rules(runs: Trained) -> list[str]:
    """A line for each rule, with its own settings except sigma, and its OPUs."""
    lines = []
    for cell, record in runs:
        given = {k: v for k, v in settings_of(record)["rule_settings"].items() if k != "sigma"}
        told = ", ".join(f"{name} {value}" for name, value in given.items()) or "no settings of its own"
        if "opu" in record["settings"]:
            told += "; OPUs with " + ", ".join(f"{name} {value}" for name, value in record["settings"]["opu"].items())
        reading = f", reading {cell.key['reading']}" if "reading" in cell.key else ""
        lines.append(f"{cell.key['rule']} by `{record['settings']['rule']}`{reading}: {told}")
    return list(dict.fromkeys(lines))


def _seeds(seeds: list[int]) -> str:
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"


def _command(experiment: Experiment, scale: str, seeds: list[int], runs: Trained) -> str:
    id, variant = experiment.id, experiment.variant
    plain = not any(record["settings"].get("kernels") for _, record in runs)
    epochs = max((record["stopped"]["epochs"] for _, record in runs if "stopped" in record), default=None)
    if seeds == list(range(1, len(seeds) + 1)):
        chosen = "" if variant == "published" else f" --variant {variant}"
        how = f"--seeds {len(seeds)}{f' --epochs {epochs}' if epochs else ''}{' --no-kernels' if plain else ''}"
        only = [f"--only {shlex.quote(name + '=' + ','.join(values))}" for name, values in experiment.chosen.items()]
        return " ".join([f"nfa reproduce {id}{chosen} --scale {scale} {how}", *only])
    chosen = "" if variant == "published" else f', variant="{variant}"'
    how = f"seeds={seeds}{f', epochs={epochs}' if epochs else ''}{', kernels=False' if plain else ''}"
    how += f", only={dict(experiment.chosen)}" if experiment.chosen else ""
    return f'nfa.papers.reproduce("{id}"{chosen}, scale="{scale}", {how})'


def _one_line(text: str) -> str:
    return " ".join(text.split())
