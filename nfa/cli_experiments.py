"""The commands that compute: `nfa train`, `nfa reproduce`, `nfa demo`."""

import hashlib
import inspect
import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from nfa.cli_terminal import NAMED, AsJson, DataDir, duration, hanging, output, plain_table, print_json, working
from nfa.experiments.declaration import Declared, declared
from nfa.experiments.settings import Settings

Resume = Annotated[
    bool, typer.Option("--resume/--no-resume", help="Go on from what an earlier run left, or start afresh.")
]


# What most runs set stands first in the help of `nfa train`; other settings follow the folders, as they are declared.
FIRST = """rule dataset architecture activation epochs batch optimizer lr momentum lr_every lr_factor sampling N_B tau
    seed secure adjacency delta rule_settings""".split()


def names(one: Declared) -> list[str]:
    """The names of the option of a declared setting."""
    return (one.setting.option or f"--{one.name.lower().replace('_', '-')}").split()


def option(one: Declared) -> inspect.Parameter:
    """The option of a declared setting; None where it is not given, so that the default of the setting applies."""
    called, kind, default, meaning = names(one), one.kind, str(one.default), one.setting.meaning
    if kind is dict:
        kind, meaning = list[str], f"{meaning} May be repeated."
    if one.default is None or one.kind is dict:
        default = one.setting.unset
    elif kind is bool:
        on = called[0].removeprefix("--")
        called, default = [f"--{on}/--no-{on}"], on if one.default else f"no-{on}"
    given = typer.Option(
        *called,
        metavar=one.setting.metavar,
        show_default=False,
        help=f"{meaning}  [default: {default}]" if default else meaning,
    )
    annotation: Any = Annotated[kind | None, given]
    return inspect.Parameter(one.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def takes(settings: type) -> Callable[[Callable], Any]:
    """For a command: the parameter ``**given`` becomes an option a setting, but for those it takes itself."""

    def with_options(command: Any) -> Any:
        own = dict(inspect.signature(command).parameters)
        del own["given"]
        last = own.pop("json")
        options = {one.name: option(one) for one in declared(settings) if one.name not in own}
        first = [options.pop(name) for name in FIRST]
        command.__signature__ = inspect.Signature([*first, *own.values(), *options.values(), last])
        return command

    return with_options


def given_settings(settings: type, given: Mapping[str, Any]) -> Any:
    """The settings that the options give, those of parameters read from their KEY=VALUE texts."""
    read = {name: value for name, value in given.items() if value is not None}
    for one in declared(settings):
        if one.kind is dict and one.name in read:
            texts = [text for text in read[one.name] if text != one.setting.empty]
            read[one.name] = assignments(texts, names(one)[0])
    return settings(**read)


@takes(Settings)
def train(
    *,
    save: Annotated[
        Path | None,
        typer.Option(metavar="DIR", **NAMED, help="Folder for the record.  [default: one of its own under runs/train]"),
    ] = None,
    resume: Resume = True,
    data_dir: DataDir = None,
    json: AsJson = False,
    **given: Any,
) -> None:
    """Train a network by one rule on one data set, and keep the record of the run.

    Run the same command again and it goes on where it was stopped. Equal settings give equal numbers.
    """
    from nfa.experiments import run

    if given["secure"] and given["seed"] is not None:
        seed = given["seed"]
        raise ValueError(f"--secure and --seed {seed} exclude each other: a seeded run can be drawn again by anybody")
    given["data_dir"] = None if data_dir is None else str(data_dir)
    settings = given_settings(Settings, given)
    folder = save or Path("runs", "train", _name_of(settings))
    with working(folder, resume) as progress:
        record = run.run(settings, folder, resume=resume, progress=progress)
    if json:
        print_json(record)
    else:
        show_record(output(), record, folder)


def reproduce(
    item: Annotated[
        str, typer.Argument(metavar="ITEM", show_default=False, help="A table or figure, such as ohana2021:table1.")
    ],
    scale: Annotated[
        str,
        typer.Option(help="demo (embedded data, a minute), small (minutes) or paper (the paper's own sizes)."),
    ] = "demo",
    variant: Annotated[
        str, typer.Option(help="published, or repaired: sound mechanisms, and what their guarantees cost.")
    ] = "published",
    seeds: Annotated[
        int | None, typer.Option(help="Number of seeds.  [default: that of the scale]", show_default=False)
    ] = None,
    jobs: Annotated[int, typer.Option(help="Runs at work at the same time; changes no number.")] = 1,
    backend: Annotated[
        str, typer.Option(help="local, or dask: the runs go to the workers of a running --scheduler.")
    ] = "local",
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="Of a dask scheduler, such as tcp://10.0.0.1:8786.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", **NAMED, help="Folder for report, picture and records.  [default: one under runs]"),
    ] = None,
    resume: Resume = True,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it would take; write nothing.")] = False,
    data_dir: DataDir = None,
    json: AsJson = False,
) -> None:
    """Rerun a table or figure of a paper and print it beside the paper's numbers.

    Run the same command again and it goes on where it was stopped; finished runs are kept. What follows from formulas,
    such as lee2020:epsilons, is computed in seconds: it has no seeds, and is the same at every scale.
    """
    from nfa import papers
    from nfa.experiments.experiment import Analytic
    from nfa.experiments.reproduce import MOST_SEEDS, default_folder
    from nfa.experiments.reproduce import reproduce as rerun

    experiment = papers.find(item, variant)
    if isinstance(experiment, Analytic):
        where: dict[str, Any] = {"backend": backend, "scheduler": scheduler, "out": out}
        result = rerun(experiment, scale=scale, seeds=seeds, jobs=jobs, dry_run=dry_run, **where)
        show_reproduced(experiment, result, dry_run, json)
        return
    folder = out or default_folder(experiment.home, scale)
    # A bad scale or number of seeds is refused below; the count is for the progress shown.
    count = seeds or experiment.runs.seeds.get(scale, 0)
    known = scale in experiment.runs.scales and count <= MOST_SEEDS
    runs = len(experiment.runs.cells(scale, list(range(1, 1 + count)))) if known else 1
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
            progress=progress,
        )
    show_reproduced(experiment, result, dry_run, json)


def demo(
    jobs: Annotated[int, typer.Option(help="Runs at work at the same time; changes no number.")] = 2,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", **NAMED, help="Folder for report, picture and records.  [default: one under runs]"),
    ] = None,
    resume: Resume = True,
    json: AsJson = False,
) -> None:
    """Train a network on real images by backpropagation and feedback alignment, with noise and without.

    It is `nfa reproduce ohana2021:table1 --scale demo`: data that come with nfa, a table, a picture and a report.
    """
    reproduce("ohana2021:table1", scale="demo", jobs=jobs, out=out, resume=resume, json=json)
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


def assignments(texts: Sequence[str], option: str = "--set") -> dict[str, Any]:
    """Settings from an option's KEY=VALUE texts, a value read as JSON where it is JSON and as text elsewhere.

    Raises
    ------
    ValueError : without a KEY or "=", for a KEY given twice, or for a number that is not finite

    Examples
    --------
    >>> assignments(["sigma=0.01", "law=normal", "ternarize=true"])
    {'sigma': 0.01, 'law': 'normal', 'ternarize': True}
    """
    values: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise ValueError(f"{option} needs KEY=VALUE, got {text!r}")
        if key in values:
            raise ValueError(f"{option} gives {key} twice")
        try:
            values[key] = json.loads(value)
        except ValueError:
            values[key] = {"True": True, "False": False, "None": None}.get(value, value)
        if isinstance(values[key], float) and not math.isfinite(values[key]):
            raise ValueError(f"{option} {key} must be finite, got {value}")
    return values


def _name_of(settings: Any) -> str:
    """A folder name that the same settings give again and others do not."""
    identity = settings.to_json()
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    rule, dataset = (str(identity[key]).replace(":", "-") for key in ("rule", "dataset"))
    return f"{rule}-{dataset}-{digest[:8]}"


def show_record(console: Console, record: Mapping[str, Any], folder: Path) -> None:
    settings, data, history = record["settings"], record["data"], record["history"]
    of = f"{settings['architecture']} on {data['name']}, {data['train']:,} training and {data['test']:,} test examples"
    console.print(Text.assemble((record["cell"], "bold"), ": ", of))
    if data["note"]:
        console.print(f"data: {data['note']}", markup=False)
    console.print()
    table = plain_table()
    columns = {
        "epoch": "epoch",
        "train_loss": "training loss",
        "validation_accuracy": "validation accuracy",
        "test_accuracy": "test accuracy",
        "clipped": "clipped, %",
    }
    columns = {key: title for key, title in columns.items() if key in history[-1]}
    for title in columns.values():
        table.add_column(title, justify="right")
    for entry in history:
        table.add_row(*(_cell(key, entry.get(key)) for key in columns))
    console.print(table)
    console.print()
    console.print(
        f"test accuracy {record['test_accuracy']:.2%} after {record['steps']:,} steps, "
        f"{duration(record['timing']['seconds'])} in all"
    )
    console.print(f"privacy: {record['privacy']['statement']}", markup=False)
    console.print(f"record: {folder / record['cell']}.json", markup=False, soft_wrap=True)


def show_reproduced(experiment: Any, result: Any, dry_run: bool, json: bool) -> None:
    """Print what `nfa.experiments.reproduce` answers: one JSON document, the plan of a dry run, or the table."""
    from nfa.experiments.experiment import Analytic

    if json:
        answer = {name: getattr(result, name) for name in ("experiment", "scale", "rows", "files")}
        print_json(answer | {"plan": result.text} if dry_run else answer)
    elif dry_run:
        print(result.text, end="")
    else:
        (show_computed if isinstance(experiment, Analytic) else show_result)(output(), experiment, result)


def show_computed(console: Console, experiment: Any, result: Any) -> None:
    """Print the rows of what follows from formulas as a table, what they say, and the files."""
    console.print(Text(experiment.title, style="bold"))
    console.print(experiment.formulas.made, markup=False)
    console.print()
    _print_rows(console, experiment.shown(result.rows), experiment.formulas.digits)
    for sentence in experiment.claims.summary(result.rows):
        console.print(hanging("-", sentence, 2))
    console.print()
    formulas = experiment.formulas
    console.print(f"ours: {formulas.measures}", markup=False)
    console.print(f"inside: {formulas.within or f'at most {formulas.tolerance} from the paper'}", markup=False)
    console.print()
    for file in result.files:
        console.print(file, markup=False, soft_wrap=True)


def _print_rows(console: Console, rows: Sequence[Mapping[str, Any]], digits: int) -> None:
    from nfa.experiments.report import HEADS

    table = plain_table()
    for name, value in rows[0].items():
        side: Any = "left" if isinstance(value, str) else "right"
        table.add_column(HEADS.get(name, name), justify=side, overflow="fold")  # no digit of a number is cut off
    for row in rows:
        table.add_row(*(_entry(name, value, digits) for name, value in row.items()))
    console.print(table)
    console.print()


def show_result(console: Console, experiment: Any, result: Any) -> None:
    """Print the rows as a table, reasons that several of them share once below, and the files."""
    console.print(Text(experiment.title, style="bold"))
    console.print(f"scale {result.scale}: {experiment.runs.scales[result.scale]}", markup=False)
    console.print()
    _print_rows(console, result.rows, experiment.comparison.digits)
    verdicts = list(dict.fromkeys(row["verdict"] for row in result.rows))
    for verdict in verdicts:
        if ": " in verdict:
            console.print(verdict, markup=False)
    console.print(f"ours: {experiment.comparison.measures}, mean over n seeds; sd: standard deviation over them")
    if not all(verdict.startswith("not comparable") for verdict in verdicts):
        console.print(f"inside: at most {experiment.comparison.tolerance} points from the paper")
    records = [file for file in result.files if file.endswith(".json")]
    console.print()
    for file in result.files:
        if file not in records:
            console.print(file, markup=False, soft_wrap=True)
    console.print(f"and {len(records)} records, one a run, beside them")


def _entry(name: str, value: Any, digits: int) -> Text:
    if name == "verdict":
        verdict = str(value).partition(":")[0]
        return Text(verdict, style={"inside": "green", "outside": "yellow"}.get(verdict, "dim"))
    if value is None:
        return Text("-")
    if isinstance(value, float):
        return Text(f"{value:+.{digits}f}" if name == "difference" else f"{value:.{digits}f}")
    return Text(str(value))


def _cell(key: str, value: Any) -> str:
    if key == "clipped":  # by each clip of the rule, in the last batch of the epoch
        shares = value if isinstance(value, list) else [value]  # your own rule may tell one number, or none of an epoch
        return " ".join("-" if share is None else f"{100 * share:.0f}" for share in shares)
    return str(value) if key == "epoch" else f"{value:.4f}" if key == "train_loss" else f"{value:.2%}"
