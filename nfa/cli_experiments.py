"""The commands that compute: `nfa train`, `nfa reproduce`, `nfa demo`."""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from nfa.cli_statements import plain_table
from nfa.cli_terminal import AsJson, DataDir, duration, output, print_json, working

Resume = Annotated[
    bool, typer.Option("--resume/--no-resume", help="Go on from what an earlier run left, or start afresh.")
]


def _setting(name: str, default: str, meaning: str, *more: str) -> Any:
    """An option for a field of `nfa.experiments.settings.Settings`, whose default applies where it is not given."""
    return typer.Option(f"--{name}", *more, show_default=False, help=f"{meaning}  [default: {default}]")


def train(
    rule: Annotated[
        str | None, _setting("rule", "dfa", "A rule of nfa.rules, or module:function for your own.")
    ] = None,
    dataset: Annotated[
        str | None, _setting("dataset", "fashion-mnist-small", "A name of `nfa data list`, or your own .npz file.")
    ] = None,
    architecture: Annotated[
        str | None,
        _setting("net", "ohana2021", "A network of the papers, or sizes such as 784-512-512-10.", "--architecture"),
    ] = None,
    activation: Annotated[
        str | None, _setting("activation", "tanh", "Of the hidden layers, for a net given as sizes.")
    ] = None,
    epochs: Annotated[int | None, _setting("epochs", "15", "Passes over the training examples.")] = None,
    batch: Annotated[int | None, _setting("batch", "32", "Batch size; under poisson the expected one.")] = None,
    optimizer: Annotated[str | None, _setting("optimizer", "sgd", "sgd or adam.")] = None,
    lr: Annotated[float | None, _setting("lr", "0.01", "Step size.")] = None,
    momentum: Annotated[float | None, _setting("momentum", "0.9", "Momentum of sgd.")] = None,
    sampling: Annotated[
        str | None,
        _setting("sampling", "epoch-partition", "none, epoch-partition, without-replacement or poisson."),
    ] = None,
    seed: Annotated[int | None, _setting("seed", "1", "Seed of all randomness.")] = None,
    rule_settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the rule, such as sigma=0.01. May be repeated."),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder for the record.  [default: one of its own under runs/train]"),
    ] = None,
    resume: Resume = True,
    data_dir: DataDir = None,
    train_examples: Annotated[
        int | None, _setting("train-examples", "all", "Use only so many, drawn at random.")
    ] = None,
    validation: Annotated[float | None, _setting("validation", "0.0", "Share of the training set held out.")] = None,
    pixels: Annotated[
        str | None, _setting("pixels", "standard", "standard (mean 0, deviation 1) or unit (0 to 1).")
    ] = None,
    init: Annotated[str | None, _setting("init", "uniform-fan-in", "Law of the first weights.")] = None,
    loss: Annotated[str | None, _setting("loss", "softmax-cross-entropy", "Loss function.")] = None,
    feedback_law: Annotated[
        str | None, _setting("feedback-law", "normal", "normal, uniform or spectral, for rules with B.")
    ] = None,
    feedback_scale: Annotated[float | None, _setting("feedback-scale", "0.05", "Its scale, for rules with B.")] = None,
    at: Annotated[str | None, _setting("at", "h", "Where B e enters a pooled layer: h or z.")] = None,
    dtype: Annotated[str | None, _setting("dtype", "float32", "float32 or float64.")] = None,
    threads: Annotated[int | None, _setting("threads", "1", "Of the linear algebra library.")] = None,
    json: AsJson = False,
) -> None:
    """Train a network by one rule on one data set, and keep the record of the run.

    Run the same command again and it goes on where it was stopped. Equal settings give equal numbers.
    """
    from nfa.experiments import runs

    given: dict[str, Any] = {
        "rule": rule,
        "dataset": dataset,
        "architecture": architecture,
        "activation": activation,
        "epochs": epochs,
        "batch": batch,
        "optimizer": optimizer,
        "lr": lr,
        "momentum": momentum,
        "sampling": sampling,
        "seed": seed,
        "rule_settings": assignments(rule_settings or []),
        "data_dir": None if data_dir is None else str(data_dir),
        "train_examples": train_examples,
        "validation": validation,
        "pixels": pixels,
        "init": init,
        "loss": loss,
        "feedback_law": feedback_law,
        "feedback_scale": feedback_scale,
        "at": at,
        "dtype": dtype,
        "threads": threads,
    }
    settings = runs.Settings(**{name: value for name, value in given.items() if value is not None})
    folder = save or Path("runs", "train", _name_of(settings))
    with working(folder, resume) as progress:
        record = runs.run(settings, folder, resume=resume, progress=progress)
    if json:
        print_json(record)
    else:
        _show_record(output(), record, folder)


def assignments(texts: Sequence[str]) -> dict[str, Any]:
    """The rule's settings from KEY=VALUE texts, a value read as JSON where it is JSON and as text elsewhere.

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
            raise ValueError(f"--set needs KEY=VALUE, got {text!r}")
        if key in values:
            raise ValueError(f"--set gives {key} twice")
        try:
            values[key] = json.loads(value)
        except ValueError:
            values[key] = {"True": True, "False": False, "None": None}.get(value, value)
        if isinstance(values[key], float) and not math.isfinite(values[key]):
            raise ValueError(f"--set {key} must be finite, got {value}")
    return values


def _name_of(settings: Any) -> str:
    """A folder name that the same settings give again and others do not."""
    identity = settings.to_json()
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    rule, dataset = (str(identity[key]).replace(":", "-") for key in ("rule", "dataset"))
    return f"{rule}-{dataset}-{digest[:8]}"


def _show_record(console: Console, record: Mapping[str, Any], folder: Path) -> None:
    settings, data, history = record["settings"], record["data"], record["history"]
    console.print(
        f"[bold]{record['cell']}[/bold]: {settings['architecture']} on {data['name']}, "
        f"{data['train']:,} training and {data['test']:,} test examples"
    )
    if data["note"]:
        console.print(f"data: {data['note']}", markup=False)
    console.print()
    table = plain_table()
    columns = {
        "epoch": "epoch",
        "train_loss": "training loss",
        "validation_accuracy": "validation accuracy",
        "test_accuracy": "test accuracy",
    }
    columns = {key: title for key, title in columns.items() if key in history[-1]}
    for title in columns.values():
        table.add_column(title, justify="right")
    for entry in history:
        table.add_row(*(_cell(key, entry[key]) for key in columns))
    console.print(table)
    console.print()
    console.print(
        f"test accuracy {record['test_accuracy']:.2%} after {record['steps']:,} steps, "
        f"{duration(record['timing']['seconds'])} in all"
    )
    console.print(f"privacy: {record['privacy']['statement']}", markup=False)
    console.print(f"record: {folder / record['cell']}.json", markup=False, soft_wrap=True)


def _cell(key: str, value: float) -> str:
    return str(value) if key == "epoch" else f"{value:.4f}" if key == "train_loss" else f"{value:.2%}"
