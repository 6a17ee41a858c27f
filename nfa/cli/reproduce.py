"""The commands `nfa reproduce` and `nfa demo`: a table or figure of a paper, rerun beside its numbers."""

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from nfa.cli.layout import hanging, output, plain_table
from nfa.cli.terminal import NAMED, AsJson, DataDir, Resume, argument, option, print_json, working


def reproduce(
    items: Annotated[
        list[str] | None,
        argument(
            metavar="ITEM",
            help="A table or figure, such as ohana2021:table1; several, a paper; all. Without it, a list of them.",
        ),
    ] = None,
    scale: Annotated[
        str | None,
        option(
            help="demo (embedded data, a minute), small (minutes) or paper (the paper's own sizes).  [default: demo]"
        ),
    ] = None,
    variant: Annotated[
        str, typer.Option(help="published, or repaired: sound mechanisms, and what their guarantees cost.")
    ] = "published",
    seeds: Annotated[int | None, option(help="Number of seeds.  [default: that of the scale]")] = None,
    jobs: Annotated[int, typer.Option(help="Runs at work at the same time; changes no number.")] = 1,
    backend: Annotated[
        str, typer.Option(help="local, or dask: the runs go to the workers of a running --scheduler.")
    ] = "local",
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Of a dask scheduler, such as tcp://10.0.0.1:8786.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            **NAMED,
            help="Folder for report, picture and records; of several items one in it each.  [default: one under runs]",
        ),
    ] = None,
    resume: Resume = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would take; write nothing.")] = False,
    data_dir: DataDir = None,
    kernels: Annotated[
        bool, typer.Option("--kernels/--no-kernels", help="Compiled kernels for the runs; without them plain NumPy.")
    ] = True,
    epochs: Annotated[
        int | None,
        typer.Option(
            metavar="E", help="Stop every run after E of its epochs; more of them, or none named, go on from there."
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        option(
            metavar="KEY=V[,V]",
            help="Only runs with one of these values, such as sigma=0.01,0.05; again for another KEY.",
        ),
    ] = None,
    format: Annotated[str, typer.Option(help="Of the picture: png; pdf or svg, beside the png.")] = "png",
    listing: Annotated[
        bool,
        typer.Option("--list", help="List what can be rerun, its scales, and what recorded runs took; run nothing."),
    ] = False,
    json: AsJson = False,
) -> None:
    """Rerun a table or figure of a paper and print it beside the paper's numbers.

    Run the same command again and it goes on where it was stopped; finished runs are kept. What follows from formulas,
    such as lee2020:epsilons, is computed in seconds: it has no seeds and no epochs, and is the same at every scale.

    With --epochs 25 the runs of 200 epochs stop after 25, and the table, the report and the picture say so; the step
    sizes and the noise are those of whole runs. --epochs 50 goes on from there, and no --epochs runs the rest: each
    with the very numbers of a run that never stopped. Fewer than a run already has are refused.

    With --only sigma=0.01 --only reading=sound,printed only the runs that have these values are made, and table, report
    and picture speak of them alone. A KEY is a column to the left of the numbers. Other runs in the folder stay.

    Without an item, with --list, or with a paper's name alone, you get the items, their scales and the time that
    recorded runs of them took. With a --scale a paper's name stands for all its items.

    Several items, all those of a paper or all there are run one after the other, the shortest first, each in its own
    folder. One that fails is told, and the others go on; the exit code is then 1.

    Example:
    nfa reproduce ohana2021:table1
    nfa reproduce ohana2021:table1 --scale paper --seeds 3 --jobs 2 --dry-run
    nfa reproduce lee2020:fig2 --scale paper --epochs 25 --jobs 2
    nfa reproduce lee2020:fig4 --only sigma=0.01 --only data=Fashion-MNIST
    """
    chosen = dict(locals())
    from nfa.experiments.experiment import SCALES, Analytic
    from nfa.experiments.plots import picture_names
    from nfa.experiments.reproduce import MOST_SEEDS, default_folder
    from nfa.experiments.reproduce import reproduce as rerun
    from nfa.papers import index, run_selection

    try:
        index.several(items or [])
    except index.NotRerun:
        if not (json or listing):
            show_list([])
        raise
    more = _besides(chosen)
    whole = bool(items) and scale is None and all(index.is_paper(name) for name in items or [])
    if listing or whole or not items:
        if more and listing:
            raise ValueError(f"--list runs nothing, and takes no {more[0]}")
        if more and whole:
            told = "give --scale to run all its items, or leave out"
            raise ValueError(f"{' '.join(items or ())} is listed, not run: {told} {more[0]}")
        if more:
            raise ValueError("name an item, a paper or all: `nfa reproduce --list` lists what there is")
        show_list(items or [], json)
        return
    scale = scale or SCALES[0]
    wanted = run_selection.options(only or [])
    if len(items) > 1 or index.stands_for_several(items[0]):
        from nfa.cli import long_runs

        options: dict[str, Any] = {"scale": scale, "seeds": seeds, "jobs": jobs, "resume": resume, "data_dir": data_dir}
        options |= {"kernels": kernels, "epochs": epochs, "backend": backend, "scheduler": scheduler}
        options |= {"only": wanted, "format": format}
        picture_names(format)
        long_runs.reproduce(index.several(items, variant), options, out, dry_run, json)
        return
    experiment = run_selection.only(index.find(items[0], variant), scale, wanted)
    if isinstance(experiment, Analytic):
        where: dict[str, Any] = {"backend": backend, "scheduler": scheduler, "out": out}
        result = rerun(
            experiment, scale=scale, seeds=seeds, jobs=jobs, dry_run=dry_run, epochs=epochs, format=format, **where
        )
        show_reproduced(experiment, result, dry_run, json)
        return
    folder = out or default_folder(experiment.home, scale)
    # A bad scale or number of seeds is refused below; the count is for the progress shown.
    count = seeds or experiment.seeds.get(scale, 0)
    known = scale in experiment.scales and count <= MOST_SEEDS
    runs = len(experiment.cells(scale, list(range(1, 1 + count)))) if known else 1
    with working(folder, resume, runs) as progress:
        result = rerun(
            experiment,
            scale=scale,
            seeds=seeds,
            jobs=jobs,
            backend=backend,
            scheduler=scheduler,
            out=out,
            resume=resume,
            dry_run=dry_run,
            data_dir=data_dir,
            kernels=kernels,
            epochs=epochs,
            format=format,
            progress=progress,
        )
    show_reproduced(experiment, result, dry_run, json)


def _besides(chosen: Mapping[str, Any]) -> list[str]:
    """The options of `nfa reproduce`, but those that a list takes, that are not at their defaults."""
    options = inspect.signature(reproduce).parameters
    given = [name for name, value in chosen.items() if value != options[name].default]
    return [f"--{name.replace('_', '-')}" for name in given if name not in ("items", "listing", "json")]


def show_list(names: Sequence[str], json: bool = False) -> None:
    """Print what can be rerun of these names, or all of it; NotRerun for one that stands for nothing."""
    from nfa.cli import rerunnable

    entries = rerunnable.listed(names)
    if json:
        print_json({"items": entries})
    else:
        rerunnable.show(output(), entries)


def demo(
    jobs: Annotated[int, typer.Option(help="Runs at work at the same time; changes no number.")] = 2,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", **NAMED, help="Folder for report, picture and records.  [default: one under runs]"),
    ] = None,
    resume: Resume = True,
    format: Annotated[str, typer.Option(help="Of the picture: png; pdf or svg, beside the png.")] = "png",
    json: AsJson = False,
) -> None:
    """Train a network on real images by backpropagation and feedback alignment, with noise and without.

    It is `nfa reproduce ohana2021:table1 --scale demo`: data that come with nfa, a table, a picture and a report.

    Example:
    nfa demo
    """
    reproduce(["ohana2021:table1"], scale="demo", jobs=jobs, out=out, resume=resume, format=format, json=json)
    if not json:
        console = output()
        console.print()
        console.print("DFA sends the error to every layer through a fixed random matrix, not back through the weights;")
        console.print("TDFA sends its signs only, PDFA sends them by light:")
        for command, does in (
            ("nfa eq ohana2021:eq8", "the equation beside the code"),
            ("nfa reproduce ohana2021:table1 --scale small", "the same on all of Fashion-MNIST"),
        ):
            console.print(hanging(Text(command, style="bold"), does, 46))


def show_reproduced(experiment: Any, result: Any, dry_run: bool, json: bool) -> None:
    """Print what `nfa.experiments.reproduce` answers: one JSON document, the plan of a dry run, or the table."""
    from nfa.experiments.experiment import Analytic

    if json:
        answer = {name: getattr(result, name) for name in ("experiment", "scale", "rows", "files")}
        answer["stopped"] = result.stopped or None
        print_json(answer | {"plan": result.text} if dry_run else answer)
    elif dry_run:
        print(result.text, end="")
    else:
        (show_computed if isinstance(experiment, Analytic) else show_result)(output(), experiment, result)


def show_computed(console: Console, experiment: Any, result: Any) -> None:
    """Print the rows of what follows from formulas as a table, what they say, and the files."""
    console.print(Text(experiment.title, style="bold"))
    console.print(experiment.made)
    console.print()
    _print_rows(console, experiment.shown(result.rows), experiment.digits)
    for sentence in experiment.summary(result.rows):
        console.print(hanging("-", sentence, 2))
    console.print()
    console.print(f"ours: {experiment.measures}")
    console.print(f"inside: {experiment.within or f'at most {experiment.tolerance} from the paper'}")
    console.print()
    for file in result.files:
        console.print(file, soft_wrap=True)


def _print_rows(console: Console, rows: list[dict[str, Any]], digits: int) -> None:
    from nfa.experiments.report import informative

    table, (shown, below) = plain_table(), informative(rows)
    for name, value in shown[0].items():
        side: Any = "left" if isinstance(value, str) else "right"
        table.add_column("diff." if name == "difference" else name, justify=side)  # no digit of a number is cut off
    for row in shown:
        table.add_row(*(_entry(name, value, digits) for name, value in row.items()))
    console.print(table)
    console.print()
    if below:
        console.print(below)
        console.print()


def show_result(console: Console, experiment: Any, result: Any) -> None:
    """Print the rows as a table, reasons that several of them share once below, and the files."""
    from nfa.experiments.report import informative

    console.print(Text(experiment.title, style="bold"))
    console.print(f"scale {result.scale}: {experiment.scales[result.scale]}")
    if result.stopped:
        console.print(f"stopped at {result.stopped}", style="yellow")
    console.print()
    _print_rows(console, result.rows, experiment.digits)
    verdicts = list(dict.fromkeys(row["verdict"] for row in result.rows))
    for verdict in [] if informative(result.rows)[1] else verdicts:  # one that all rows share stands there already
        if ": " in verdict:
            console.print(verdict)
    spread = "; sd: standard deviation over them" if any(row["sd"] is not None for row in result.rows) else ""
    console.print(f"ours: {experiment.measures}, mean over n seeds{spread}")
    if not all(verdict.startswith("not comparable") for verdict in verdicts):
        console.print(f"inside: at most {experiment.tolerance} points from the paper")
    records = [file for file in result.files if file.endswith(".json")]
    console.print()
    for file in result.files:
        if file not in records:
            console.print(file, soft_wrap=True)
    console.print(f"and {len(records)} records, one a run, beside them")


def _entry(name: str, value: Any, digits: int) -> Text:
    from nfa.experiments.report import in_table

    if name == "verdict":
        verdict = str(value).partition(":")[0]
        return Text(verdict, style={"inside": "green", "outside": "yellow"}.get(verdict, "dim"))
    return Text(in_table(name, value, digits))
