"""The command `nfa train`: its options are the settings of a run, as they are declared."""

import hashlib
import inspect
import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from nfa.cli import numbers
from nfa.cli.layout import output, plain_table
from nfa.cli.terminal import NAMED, AsJson, DataDir, Resume, duration, print_json, working
from nfa.experiments.declaration import Declared, declared
from nfa.experiments.settings import Settings

if TYPE_CHECKING:
    from nfa.experiments.prepare import Prepared
    from nfa.experiments.privacy_statement import Statement

# What most runs set stands first in the help of `nfa train`; other settings follow the folders, as they are declared.
FIRST = """rule dataset architecture activation epochs batch optimizer lr momentum adam_eps lr_every lr_factor
    sampling N_B tau seed secure adjacency delta target_epsilon noise_multiplier rule_settings""".split()


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
    anyway: Annotated[
        bool, typer.Option("--anyway", help="With --secure: train also what will have no guarantee, and say so.")
    ] = False,
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
    if anyway and not given["secure"]:
        raise ValueError("--anyway is for --secure, which refuses what will have no guarantee")
    given["data_dir"] = None if data_dir is None else str(data_dir)
    settings = given_settings(Settings, given)
    folder = save or Path("runs", "train", _name_of(settings))
    with working(folder, resume) as progress:
        before = refuse_what_is_not_private if settings.secure and not anyway else None
        record = run.run(settings, folder, resume=resume, progress=progress, before=before)
    if json:
        print_json(record)
    else:
        show_record(output(), record, folder)


def refuse_what_is_not_private(parts: "Prepared") -> None:
    """Raise ValueError, saying what to change, for a secure run that, uninterrupted, would not end private.

    A rule or network from outside, which nfa has not checked, is not refused for that: what its guarantee rests on is
    said in the record.
    """
    privacy = parts.privacy
    why = "; ".join([*_not_counted(privacy, parts.steps), *privacy.shown])
    if why:
        raise ValueError(f"--secure would not make this run private: {why}; --anyway trains it all the same")


def _not_counted(privacy: "Statement", steps: int) -> list[str]:
    """Why there is no epsilon, and what to change; nothing where there is one."""
    told = privacy.account([(1, steps)])
    said = told["statement"].removeprefix("none: ")
    if privacy.mechanism is None:
        if "adjacency is named" in said:
            return [f"{said}: give --adjacency"]
        return [said if "id" in told else f"{said}: `nfa rules` lists the rules that have a guarantee"]
    if privacy.delta is None:
        return ["no epsilon is counted, because no delta is named: give --delta"]
    guarantee = told.get("guarantee") or told.get("unchecked", {}).get("guarantee")
    if guarantee is None:
        other = _covered(privacy.mechanism, privacy.delta, privacy.conversion)
        return [f"{said.partition(';')[0]}: take --sampling {other} ({told['id']})" if other else said]
    return [f"{said}: it takes more noise"] if guarantee["epsilon"] == "inf" else []


def _covered(release: Any, delta: float, conversion: str | None) -> str:
    """The samplings that a theorem covers under the same adjacency; batches of all examples only where no other is."""
    from nfa.mechanism import SCHEMES, Mechanism, NoGuarantee
    from nfa.privacy.accountant import epsilon

    found = []
    for scheme in SCHEMES if isinstance(release, Mechanism) else ():
        other = replace(release, sampling=scheme, sampling_rate=1.0 if scheme == "none" else release.sampling_rate)
        with suppress(NoGuarantee, ValueError):
            epsilon([(other, 1)], delta=delta, conversion=conversion)
            found.append(scheme)
    return " or ".join([scheme for scheme in found if scheme != "none"] or found)


def assignments(texts: Sequence[str], option: str = "--set") -> dict[str, Any]:
    """Settings from an option's KEY=VALUE texts, each value read by `nfa.cli.numbers.value`.

    Raises
    ------
    ValueError : without a KEY or "=", for a KEY given twice, or for a number that is not finite

    Examples
    --------
    >>> assignments(["sigma=.01", "law=normal", "ternarize=true"])
    {'sigma': 0.01, 'law': 'normal', 'ternarize': True}
    """
    values: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not (key and equals):
            raise ValueError(f"{option} needs KEY=VALUE, got {text!r}")
        if key in values:
            raise ValueError(f"{option} gives {key} twice")
        values[key] = numbers.value(value)
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
        console.print(f"data: {data['note']}")
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
    privacy = record["privacy"]
    console.print(f"privacy: {privacy['statement']}")
    if noise := privacy.get("noise", privacy.get("unchecked", {}).get("noise")):
        console.print(f"noise: {noise['statement']}")
    console.print(f"record: {folder / record['cell']}.json", soft_wrap=True)


def _cell(key: str, value: Any) -> str:
    if key == "clipped":  # by each clip of the rule, in the last batch of the epoch
        shares = value if isinstance(value, list) else [value]  # your own rule may tell one number, or none of an epoch
        return " ".join("-" if share is None else f"{100 * share:.0f}" for share in shares)
    return str(value) if key == "epoch" else f"{value:.4f}" if key == "train_loss" else f"{value:.2%}"
