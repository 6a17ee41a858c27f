"""The command `nfa predict`: predict the classes of examples with a network that `nfa train` wrote."""

import csv
import io
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from nfa.cli.layout import output, plain_table, right
from nfa.cli.terminal import NAMED, AsJson, DataDir, argument, option, print_json

SHOWN = 10  # number of examples for which predictions are printed if they are not written to a file
LIKELY = 3  # number of classes for which each of these examples has a printed probability


def predict(
    folder: Annotated[
        Path, argument(metavar="FOLDER", help="Folder that `nfa train` wrote, or one record in this folder.")
    ],
    examples: Annotated[
        str,
        argument(
            metavar="DATA", help="File of examples (.csv or .npz), or a data set of `nfa data list` with its test set."
        ),
    ],
    out: Annotated[
        Path | None, option("--out", metavar="FILE", **NAMED, help="Write the predictions to this .csv file.")
    ] = None,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities",
            help="Also print the most probable classes of each example. With --out, write all probabilities.",
        ),
    ] = False,
    data_dir: DataDir = None,
    json: AsJson = False,
) -> None:
    """Predict the class of each row of a table or an array with a trained network.

    The features must be the same as in the training data, in the same order. The command prints the classes of the
    first rows. With --out, the command writes the classes of all rows. If the data have a column "label" or an array
    "y", the command also prints the accuracy.

    Example:
    nfa predict runs/bp fashion-mnist-small
    nfa predict runs/mine new.csv --out predictions.csv --probabilities
    """
    from nfa import data
    from nfa.experiments import records, trained

    if out is not None and out.suffix.lower() != ".csv":
        raise ValueError(f"--out must be a file that ends in .csv, got {out}")
    network, record = trained.load(folder)
    found = data.load_to_predict(examples, data_dir)
    try:
        y_hat, accuracy = trained.predictions(network, found)
    except ValueError as wrong:
        raise ValueError(f"{examples}: {wrong}") from None
    names = [network.classes[k] for k in y_hat.argmax(axis=1)]
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        records.write_text(out, _table(names, network.classes, y_hat if probabilities else None))
    if json:
        answer: dict[str, Any] = {"cell": record["cell"], "examples": len(names), "classes": list(network.classes)}
        answer |= {"predictions": names} | ({"probabilities": y_hat} if probabilities else {})
        print_json(answer | {"accuracy": accuracy, "file": out})
        return
    console = output()
    counted = Counter(names)
    table = plain_table("class", right("predicted"))
    for name in network.classes:
        if counted[name]:
            table.add_row(data.own_data.printable(name), f"{counted[name]:,}")
    console.print(f"{record['cell']}: {len(names):,} example{'s' * (len(names) != 1)}")
    console.print(table)
    if out is None:
        console.print()
        console.print(_first_rows(names, network.classes, y_hat if probabilities else None))
        if len(names) > SHOWN:
            console.print(f"These are the first {SHOWN} examples. To write all {len(names):,}, use --out FILE.csv.")
    if accuracy is not None:
        console.print(f"accuracy {accuracy:.2%}")
    if out is not None:
        console.print(f"predictions: {out}", soft_wrap=True)


def _first_rows(names: list[str], classes: tuple[str, ...], y_hat: Any) -> Table:
    """Return the predictions of the first examples, with the most probable classes if probabilities are given."""
    from nfa.data.own_data import printable

    table = plain_table(right("example"), "prediction", *(() if y_hat is None else ["most probable classes"]))
    for i, name in enumerate(names[:SHOWN]):
        likely = [] if y_hat is None else sorted(range(len(classes)), key=lambda k: -y_hat[i][k])[:LIKELY]
        shares = ", ".join(f"{printable(classes[k])} {y_hat[i][k]:.1%}" for k in likely)
        table.add_row(str(i + 1), printable(name), *([shares] if likely else []))
    return table


def _table(names: list[str], classes: tuple[str, ...], y_hat: Any) -> str:
    """Return a table with a row for each example and, if probabilities are given, a column for each class."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["prediction", *(() if y_hat is None else classes)])
    for i, name in enumerate(names):
        writer.writerow([name, *(() if y_hat is None else map(float, y_hat[i]))])
    return text.getvalue()
