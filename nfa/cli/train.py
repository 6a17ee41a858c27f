"""The command `nfa train`. The options of this command are the declared settings of a run."""

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from nfa.cli.layout import output, plain_table, right
from nfa.cli.numbers import assignments
from nfa.cli.terminal import NAMED, AsJson, DataDir, Resume, in_new_words, print_json, tell, working
from nfa.experiments.declaration import Declared, declared
from nfa.experiments.duration import duration
from nfa.experiments.settings import Settings
from nfa.experiments.wanted import refuse_what_has_no_guarantee, refuse_what_lacks_a_count, wanted

# Settings that most runs set. They are first in the help of `nfa train`. The other settings follow after the folders,
# in the order of their declaration.
FIRST = """rule dataset test classes records architecture activation epochs batch optimizer lr momentum adam_eps
    lr_every lr_factor sampling N_B tau seed secure adjacency delta target_epsilon noise_multiplier
    rule_settings""".split()


def names(one: Declared) -> list[str]:
    """Return the names of the option of a declared setting."""
    return (one.setting.option or f"--{one.name.lower().replace('_', '-')}").split()


def option(one: Declared) -> inspect.Parameter:
    """Return the option of a declared setting. The option's default is None, which means the setting's own default."""
    called, kind, default, meaning = names(one), one.kind, str(one.default), one.meaning
    if kind is dict:
        kind, meaning = list[str], f"{meaning} You can repeat this option."
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
    """Replace the parameter ``**given`` of a command by an option for each setting that is not a parameter already."""

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
    """Return the settings for the given options. Dictionaries are given as KEY=VALUE texts."""
    read = {name: value for name, value in given.items() if value is not None}
    for one in declared(settings):
        if one.kind is dict and one.name in read:
            texts = [text for text in read[one.name] if text != one.setting.empty]
            read[one.name] = assignments(texts, names(one)[0])
    if "rule_settings" in read:
        read["rule_settings"] = in_new_words(read.get("rule", Settings.rule), read["rule_settings"])
    return settings(**read)


@takes(Settings)
def train(
    *,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            **NAMED,
            help="Folder for the weights and the record of the run.  [default: a folder under runs/train]",
        ),
    ] = None,
    save: Annotated[Path | None, typer.Option(metavar="DIR", **NAMED, hidden=True)] = None,
    resume: Resume = True,
    anyway: Annotated[
        bool,
        typer.Option(
            "--anyway",
            help="Train even if nfa can give no guarantee or compute no epsilon. The record then states the reason.",
        ),
    ] = False,
    data_dir: DataDir = None,
    json: AsJson = False,
    **given: Any,
) -> None:
    """Train a network by one rule on one data set, and write the weights and a record of the run.

    If the run was stopped, the same command continues the run. Runs with equal settings give equal results. To
    predict classes with the trained network, use `nfa predict`.

    You can train on your own .npz or .csv file. An .npz file from numpy.savez has the arrays x_train, y_train, x_test
    and y_test, or only x and y. The first line of a .csv file has the column names, and each further line is one
    example. One column must be named "label". Labels are whole numbers or text. If your file has no test set, give a
    file with a test set in --test. Instead of --test, you can use --validation to hold out a share of the examples as a
    test set. A secure run needs --test. For a secure run, or if nfa computes an epsilon, give the classes in --classes.
    Under add-remove, also give the number of training records in --records.

    Example:
    nfa train --epochs 3
    nfa train --rule bp --net 784-64-10 --batch 128 --lr 0.05 --out runs/bp
    nfa train --net 1x28x28:conv16-5,pool2,dense64,10 --activation relu
    nfa train --features scattering --net 3969-10 --average 0.5
    nfa train --dataset mine.csv --validation 0.2 --net 49-64-10
    nfa train --dataset mine.csv --test public.csv --classes cat,dog,emu \\
      --records 5000 --net 49-64-3 --pixels as-is --rule dp_sgd --set C=1 \\
      --target-epsilon 3 --delta 1e-5 --adjacency add-remove \\
      --sampling poisson --secure
    nfa train --rule dp_sgd --set C=1 --target-epsilon 3 --delta 1e-5 \\
      --adjacency add-remove --sampling poisson --batch 500 --pixels unit
    nfa train --rule dp_sgd --set C=1 --noise-multiplier 1.1 --delta 1e-5 \\
      --adjacency add-remove --sampling poisson --batch 500 --pixels unit
    """
    from nfa.experiments import run

    if given["secure"] and given["seed"] is not None:
        seed = given["seed"]
        raise ValueError(
            f"give either --secure or --seed, got --secure and --seed {seed}. A secure run has no seed, because anyone"
            " who knows the seed can compute the noise and the batches"
        )
    if save is not None:
        if out is not None:
            raise ValueError("--save is the old name of --out: leave out --save")
        tell("--save is the old name of --out. A later version will refuse --save: use --out")
        out = save
    given["data_dir"] = None if data_dir is None else str(data_dir)
    settings = given_settings(Settings, given)
    refuse_what_has_no_effect(settings, given)
    if anyway and not wanted(settings):
        raise ValueError("--anyway has an effect only with --secure, --adjacency or --delta: leave out --anyway")
    if not anyway:
        refuse_what_lacks_a_count(settings)
    folder = out or Path("runs", "train", _name_of(settings))
    with working(folder, resume) as progress:
        before = partial(_check_before, wanted(settings)) if wanted(settings) and not anyway else None
        record = run.run(settings, folder, resume=resume, progress=progress, before=before, keep_weights=True)
    if json:
        print_json(record)
    else:
        show_record(output(), record, folder)


def _check_before(head: str, parts: Any) -> None:
    """Refuse a run without the guarantee that it needs. Warn if --pixels treats values from the data as public."""
    from nfa.experiments.public import standardises

    refuse_what_has_no_guarantee(head, parts)
    if standardises(parts.settings, parts.settings.adjacency):
        tell(
            "--pixels standard treats the mean and the standard deviation of the training pixels as public. To avoid"
            " this, use --pixels unit (for whole numbers from 0 to 255) or --pixels as-is"
        )


def refuse_what_has_no_effect(settings: Settings, given: Mapping[str, Any]) -> None:
    """Raise ValueError for a given option that has no effect on the run."""
    for one in declared(type(settings)):
        if given.get(one.name) is not None and (why := settings.without_effect().get(one.name)):
            raise ValueError(f"{names(one)[0]} has no effect, because {why}: leave out {names(one)[0]}")


def _name_of(settings: Any) -> str:
    """Return a folder name that depends only on the settings."""
    identity = settings.to_json()
    digest = hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
    rule, dataset = (str(identity[key]).replace(":", "-") for key in ("rule", "dataset"))
    return f"{rule}-{dataset}-{digest[:8]}"


def show_record(console: Console, record: Mapping[str, Any], folder: Path) -> None:
    from nfa.experiments.records import accuracy_in_words

    settings, data, history = record["settings"], record["data"], record["history"]
    features = "" if settings.get("features") is None else f"features {settings['features']} of "
    sizes = f"{data['train']:,} training and {data['test']:,} test examples"
    of = f"{settings['architecture']} on {features}{data['name']}, {sizes}"
    console.print(Text.assemble((record["cell"], "bold"), ": ", of))
    if data["note"]:
        console.print(f"data: {data['note']}")
    console.print()
    columns = {
        "epoch": "epoch",
        "train_loss": "training loss",
        "validation_accuracy": "validation accuracy",
        "test_accuracy": "test accuracy",
        "clipped": "clipped, %",
    }
    columns = {key: title for key, title in columns.items() if key in history[-1]}
    table = plain_table(*map(right, columns.values()))
    for entry in history:
        table.add_row(*(_cell(key, entry.get(key)) for key in columns))
    console.print(table)
    console.print()
    seconds = record["timing"].get("seconds")  # a secure run does not record its time
    in_all = "" if seconds is None else f", {duration(seconds)} in all"
    steps = f"{record['steps']:,} step{'s' * (record['steps'] != 1)}"
    console.print(f"{accuracy_in_words(record)} after {steps}{in_all}".lstrip())
    privacy = record["privacy"]
    console.print(f"privacy: {privacy['statement']}")
    if noise := privacy.get("noise", privacy.get("unchecked", {}).get("noise")):
        console.print(f"noise: {noise['statement']}")
    console.print(f"record: {folder / record['cell']}.json", soft_wrap=True)
    if weights := record.get("weights"):
        path = folder / weights["file"]
        lost = "" if path.exists() else " (missing: to write this file again, train with --no-resume)"
        console.print(f"weights: {path}{lost}", soft_wrap=True)


def _cell(key: str, value: Any) -> str:
    if key == "clipped":  # for each clip of the rule, the share of clipped vectors in the last batch of the epoch
        shares = value if isinstance(value, list) else [value]  # a user's own rule may record a single number or None
        return " ".join("-" if share is None else f"{100 * share:.0f}" for share in shares)
    return str(value) if key == "epoch" else f"{value:.4f}" if key == "train_loss" else f"{value:.2%}"
