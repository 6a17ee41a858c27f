"""The commands `nfa reproduce` and `nfa demo`: rerun a table or figure, and compare our numbers with the paper's."""

import inspect
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from nfa.cli.layout import hanging, output, plain_table, right
from nfa.cli.terminal import NAMED, AsJson, DataDir, Resume, argument, option, print_json, working
from nfa.experiments.duration import duration
from nfa.experiments.experiment import SCALES, VARIANTS, Analytic, Experiment, Result

WIDTH = 23  # columns for the ids in the list
NOTES = (
    "computed: nothing is trained, and the numbers are the same at every scale. Each time is the sum of the times of"
    " recorded runs on one core each. NumPy: the recorded runs used NumPy, but runs use the faster compiled kernels by"
    " default. ~: the time is an estimate from recorded runs of the same rules and networks, scaled by epochs and"
    " images. This estimate can be wrong by a factor of three. To estimate the time on this machine, run:"
    " nfa reproduce ITEM --scale SCALE --dry-run"
)
HOW = "seeds jobs backend scheduler resume data_dir kernels epochs format".split()  # options that every item has
Jobs = Annotated[int, typer.Option(help="Number of runs at the same time. The results do not depend on this number.")]
Format = Annotated[
    str, typer.Option(help="Format of the picture: png, pdf or svg. With pdf or svg, the command also writes a png.")
]


def reproduce(
    items: Annotated[
        list[str] | None,
        argument(
            metavar="ITEM",
            help=(
                "Tables and figures, such as ohana2021:table1, a paper such as ohana2021, or the word all. Without an"
                " ITEM, the command lists the items."
            ),
        ),
    ] = None,
    scale: Annotated[
        str | None,
        option(
            help=(
                "Scale of the runs: demo (embedded data, a minute), small (minutes) or paper (the paper's own sizes)."
                "  [default: demo]"
            )
        ),
    ] = None,
    variant: Annotated[
        str,
        typer.Option(
            help=(
                "Variant of the item: published, or repaired (with proved guarantees, to measure the loss of accuracy"
                " from these guarantees)."
            )
        ),
    ] = "published",
    seeds: Annotated[int | None, option(help="Number of seeds.  [default: depends on the scale]")] = None,
    jobs: Jobs = 1,
    backend: Annotated[
        str,
        typer.Option(
            help="Place where the runs are computed: local (this machine), or dask (the workers of the --scheduler)."
        ),
    ] = "local",
    scheduler: Annotated[
        str | None, option(metavar="ADDRESS", help="Address of a dask scheduler, such as tcp://10.0.0.1:8786.")
    ] = None,
    out: Annotated[
        Path | None,
        option(
            metavar="DIR",
            **NAMED,
            help=(
                "Folder for report, picture and records. With several items, each item has a folder of its own in this"
                " folder.  [default: a folder under runs]"
            ),
        ),
    ] = None,
    resume: Resume = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Estimate time and memory, and write nothing.")] = False,
    data_dir: DataDir = None,
    kernels: Annotated[
        bool,
        typer.Option(
            "--kernels/--no-kernels", help="Use compiled kernels for the runs or, with --no-kernels, plain NumPy."
        ),
    ] = True,
    epochs: Annotated[
        int | None,
        option(
            metavar="E",
            help=(
                "Number of epochs after which every run stops. A later command with a larger E, or without --epochs,"
                " continues the stopped runs."
            ),
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        option(
            metavar="KEY=V[,V]",
            help="Values of KEY to run, such as sigma=0.01,0.05. For another KEY, repeat the option.",
        ),
    ] = None,
    format: Format = "png",
    listing: Annotated[
        bool,
        typer.Option("--list", help="List the items, their scales and the times of recorded runs, and run nothing."),
    ] = False,
    json: AsJson = False,
) -> Result | None:
    """Rerun a table or figure of a paper and print our numbers next to the paper's numbers.

    If the command was stopped, run the same command again. The command keeps the finished runs and continues the other
    runs. Items that follow from formulas, such as lee2020:epsilons, are computed in seconds. These items have no seeds
    and no epochs, and their numbers are the same at every scale.

    With --epochs 25, runs of 200 epochs stop after 25 epochs. The table, the report and the picture state the number of
    epochs. The learning rates and the noise are the same as in runs of 200 epochs. A later command with --epochs 50
    continues the stopped runs, and a command without --epochs completes these runs. The results are then the same as
    without a stop. The command refuses a value of --epochs below the number of epochs that a run has already finished.

    With --only sigma=0.01 --only reading=sound,printed, the command makes only the runs with these values. The table,
    the report and the picture show these runs alone. A KEY is the heading of a column to the left of the numbers in the
    table. Other runs in the folder are kept.

    With --list, without an item, or with only the name of a paper, the command lists the items, their scales and the
    times of recorded runs. With --scale and the name of a paper, the command reruns all items of the paper.

    Several items run one after the other, the shortest first, each in its own folder. If an item fails, the command
    reports the failure and runs the other items. The exit code is then 1.

    Example:
    nfa reproduce ohana2021:table1
    nfa reproduce ohana2021:table1 --scale paper --seeds 3 --jobs 2 --dry-run
    nfa reproduce lee2020:fig2 --scale paper --epochs 25 --jobs 2
    nfa reproduce lee2020:fig4 --only sigma=0.01 --only data=Fashion-MNIST
    """
    chosen = dict(locals())
    from nfa.experiments.plots import picture_names
    from nfa.experiments.reproduce import MOST_SEEDS, default_folder
    from nfa.experiments.reproduce import reproduce as rerun
    from nfa.papers import index, run_selection

    index.several(items or [])  # report an unknown name before options that have no effect
    whole = bool(items) and scale is None and all(index.is_paper(name) for name in items or [])
    if listing or whole or not items:
        if more := _besides(chosen):
            if listing:
                raise ValueError(f"--list only lists the items, so {more} has no effect: leave out {more}")
            if whole:
                told = "give --scale to run all items, or leave out"
                raise ValueError(f"without --scale, the command only lists {' '.join(items or ())}: {told} {more}")
            raise ValueError("give an item, a paper or the word all: `nfa reproduce --list` lists the items")
        show_list(items or [], json)
        return None
    how = {name: chosen[name] for name in HOW} | {"scale": scale or SCALES[0]}
    wanted = run_selection.options(only or [])
    if len(items) > 1 or index.stands_for_several(items[0]):
        from nfa.cli import long_runs

        picture_names(format)
        long_runs.reproduce(index.several(items, variant), how, wanted, out, dry_run, json)
        return None
    experiment = run_selection.only(index.find(items[0], variant), how["scale"], wanted)
    progress: Any = nullcontext()
    if isinstance(experiment, Experiment):
        # `rerun` below refuses a bad scale or number of seeds. The count is only for the display of the progress.
        count = min(MOST_SEEDS, seeds or experiment.seeds.get(how["scale"], 0))
        known = how["scale"] in experiment.scales
        cells = experiment.cells(how["scale"], list(range(1, 1 + count))) if known else []
        runs = len(cells) or 1
        if epochs is not None and cells and epochs > (most := max(cell.settings.epochs for cell in cells)):
            raise ValueError(f"--epochs must be at most {most}, the number of epochs of the runs, got {epochs}")
        progress = working(out or default_folder(experiment.home, how["scale"]), resume, runs)
    with progress as shown:
        result = rerun(experiment, out=out, dry_run=dry_run, progress=shown, **how)
    if json:
        answer = {name: getattr(result, name) for name in ("experiment", "scale", "rows", "files")}
        answer["stopped"] = result.stopped or None
        print_json(answer | {"plan": result.text} if dry_run else answer)
    elif dry_run:
        print(result.text, end="")
    else:
        show_result(output(), experiment, result)
    return result


def _besides(chosen: Mapping[str, Any]) -> str:
    """Return the first given option that has no effect on a list, or "" if there is no such option."""
    for name, one in inspect.signature(reproduce).parameters.items():
        if name not in ("items", "listing", "json") and chosen[name] != one.default:
            return f"--{name.replace('_', '-')}"
    return ""


# --- the list of items


def show_list(names: Sequence[str], json: bool = False) -> None:
    """Print the items of these names, or all items. Raise NotRerun for a name without an item."""
    from nfa.papers import index

    chosen = [experiment.id for experiment in index.several(names or ["all"])]
    entries = [_listed(id, variant) for id in chosen for variant in index.variants(id)]
    if json:
        print_json({"items": entries})
        return
    console = output()
    for _, paper in groupby(entries, key=lambda entry: entry["item"].partition(":")[0]):
        for entry in paper:
            if entry["variant"] == VARIANTS[0]:
                # The title is printed without the number of the figure and the paper, because the id has both.
                title = f"{entry['title'].partition(': ')[2] or entry['title']}{' (computed)' * entry['computed']}"
                console.print(hanging(Text(entry["item"], style="bold"), title, WIDTH))
            if not entry["computed"]:
                repaired = "" if entry["variant"] == VARIANTS[0] else f"--variant {entry['variant']}: "
                shared = f" (runs of {entry['runs_of']})" if entry["runs_of"] else ""
                scales = "; ".join(map(_scale, entry["scales"]))
                console.print(hanging("", f"{repaired}{scales}{shared}", WIDTH))
        console.print()
    console.print(NOTES)


def _listed(id: str, variant: str) -> dict[str, Any]:
    """Return the entry of an item in the JSON list."""
    from nfa.papers import index

    experiment = index.find(id, variant)
    about = {"item": id, "variant": variant, "title": experiment.title, "where": experiment.where}
    if isinstance(experiment, Analytic):
        return about | {"computed": True, "runs_of": None, "scales": []}
    scales = []
    for scale, what in experiment.scales.items():
        seeds = experiment.seeds[scale]
        runs = len(experiment.cells(scale, list(range(1, 1 + seeds))))
        told = {"scale": scale, "what": what, "seeds": seeds, "runs": runs}
        told |= {
            "recorded": index.recorded(id, variant, scale),
            "estimated_seconds": index.estimated(id, variant, scale),
        }
        scales.append(told)
    return about | {"computed": False, "runs_of": None if experiment.home == id else experiment.home, "scales": scales}


def _scale(scale: dict[str, Any]) -> str:
    """Return a text such as "paper 99 runs, 90 min (NumPy)", in which an estimated time is written "~90 min"."""
    told, recorded = f"{scale['scale']} {scale['runs']} run{'s' if scale['runs'] > 1 else ''}", scale["recorded"]
    if recorded is None:
        estimated = scale["estimated_seconds"]
        return told if estimated is None else f"{told}, ~{duration(estimated)}"
    part = "" if recorded["runs"] == scale["runs"] else f"{recorded['runs']} of them "
    return f"{told}, {part}{duration(recorded['seconds'])}{'' if recorded['kernels'] else ' (NumPy)'}"


def demo(
    jobs: Jobs = 2,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", **NAMED, help="Folder for report, picture and records.  [default: a folder under runs]"
        ),
    ] = None,
    resume: Resume = True,
    format: Format = "png",
    json: AsJson = False,
) -> None:
    """Train a network on real images by backpropagation and feedback alignment, with and without noise.

    The command is short for `nfa reproduce ohana2021:table1 --scale demo`. The runs use data that come with nfa. The
    command makes a table, a picture and a report.

    Example:
    nfa demo
    """
    result = reproduce(["ohana2021:table1"], scale="demo", jobs=jobs, out=out, resume=resume, format=format, json=json)
    if not json and result is not None:
        console = output()
        console.print()
        console.print("DFA sends the error to every layer through a fixed random matrix, not back through the weights.")
        console.print(
            "TDFA sends only the signs of the error. PDFA computes the projections of these signs with light."
        )
        console.print()
        for sentence in conclusions(result.rows):
            console.print(hanging("-", sentence, 2))
        console.print()
        for command, does in (
            ("nfa eq ohana2021:eq8", "shows the equation next to its code"),
            ("nfa reproduce ohana2021:table1 --scale small", "runs the same table on all of Fashion-MNIST"),
        ):
            console.print(hanging(Text(command, style="bold"), does, 46))


def conclusions(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return conclusions from the table of the demo, as sentences with numbers of the table.

    Examples
    --------
    >>> row = {"rule": "BP", "sigma": "non-private", "ours": 82.0, "n": 1}
    >>> dfa, pdfa = row | {"rule": "DFA", "ours": 84.0}, row | {"rule": "PDFA", "ours": 81.0}
    >>> for sentence in conclusions([row, dfa, pdfa, pdfa | {"sigma": "0.2", "ours": 78.5}]):
    ...     print(sentence)
    DFA trains without transposed weights and is 2.0 points more accurate than BP here.
    Noise of sigma 0.2 makes PDFA 2.5 points less accurate than without noise.
    Each number comes from 1 run on few images, so small differences may be chance.
    """
    ours = {(row["rule"], row["sigma"]): row["ours"] for row in rows}
    quiet, found = "non-private", []
    if {("DFA", quiet), ("BP", quiet)} <= set(ours):
        points = ours["DFA", quiet] - ours["BP", quiet]
        found.append(f"DFA trains without transposed weights and is {_compared(points)} BP here.")
    noisy = [sigma for rule, sigma in ours if rule == "PDFA" and sigma != quiet]
    if noisy and ("PDFA", quiet) in ours:
        sigma = max(noisy, key=float)
        points = ours["PDFA", sigma] - ours["PDFA", quiet]
        found.append(f"Noise of sigma {sigma} makes PDFA {_compared(points)} without noise.")
    runs = max(row["n"] for row in rows)
    few = f"Each number comes from {runs} run{'s' * (runs != 1)} on few images, so small differences may be chance."
    return [*found, few]


def _compared(points: float) -> str:
    """Return a comparison such as "2.0 points less accurate than"."""
    size = f"{abs(points):.1f}"
    if size == "0.0":
        return "as accurate as"
    return f"{size} point{'s' * (size != '1.0')} {'more' if points > 0 else 'less'} accurate than"


# --- the results


def show_result(console: Console, experiment: Any, result: Result) -> None:
    """Print the rows as a table, the notes on the rows, and the files.

    If several rows have the same reason, print this reason once.
    """
    computed = isinstance(experiment, Analytic)
    rows = experiment.shown(result.rows)
    console.print(Text(experiment.title, style="bold"))
    console.print(experiment.made if computed else f"scale {result.scale}: {experiment.scales[result.scale]}")
    if result.stopped:
        console.print(f"stopped at {result.stopped}", style="yellow")
    console.print()
    below = print_rows(console, rows, experiment.digits)
    if computed:
        for sentence in experiment.summary(result.rows):
            console.print(hanging("-", sentence, 2))
        console.print(f"\nours: {experiment.measures}")
        console.print(f"inside: {experiment.within or f'at most {experiment.tolerance} from the paper'}")
    else:
        verdicts = list(dict.fromkeys(row["verdict"] for row in result.rows))
        for verdict in [] if below else verdicts:
            if ": " in verdict:
                console.print(verdict)
        spread = any(row["sd"] is not None for row in result.rows)
        told = f"ours: {experiment.measures}, mean over n seeds{'; sd: standard deviation over these seeds' * spread}"
        console.print(experiment.legend or told)
        if not all(verdict.startswith("not comparable") for verdict in verdicts):
            console.print(f"inside: at most {experiment.tolerance} points from the paper")
    console.print()
    records = [] if computed else [file for file in result.files if file.endswith(".json")]
    for file in result.files:
        if file not in records:
            console.print(file, soft_wrap=True)
    if not computed:
        console.print(f"and {len(records)} record{'s' * (len(records) != 1)} in the same folder, one for each run")


def print_rows(console: Console, rows: list[dict[str, Any]], digits: int) -> str:
    """Print the rows as a table and, below the table, the sentence that holds for every row.

    Return this sentence, or "" if there is none.
    """
    from nfa.experiments.report import lines_of

    (heads, *lines), numbers, below = lines_of(rows, digits)
    table = plain_table(*(right(head) if number else head for head, number in zip(heads, numbers, strict=True)))
    for line in lines:
        cells = [Text(text) for text in line]
        if "verdict" in heads:
            verdict = line[heads.index("verdict")].partition(":")[0]
            style = {"inside": "green", "outside": "yellow"}.get(verdict, "dim")
            cells[heads.index("verdict")] = Text(verdict, style=style)
        table.add_row(*cells)
    console.print(table)
    console.print(f"\n{below}\n" if below else "")
    return below
