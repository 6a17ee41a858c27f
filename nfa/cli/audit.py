"""The command `nfa audit`: compare a claimed epsilon with a lower bound from runs of the mechanism."""

import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from nfa.cli.layout import output, plain_table, right, unbroken
from nfa.cli.numbers import assignments
from nfa.cli.terminal import NAMED, AsJson, DataDir, ProgressDisplay, argument, in_new_words, option, print_json, tell

if TYPE_CHECKING:
    from nfa.audit.reports import Report, Target


def audit(
    target: Annotated[
        str | None,
        argument(
            metavar="TARGET", help="Mechanism or claim to audit. Without this argument, the command lists all targets."
        ),
    ] = None,
    rule: Annotated[
        str | None, option(help="Rule to audit instead of a target. For your own rule, give module:function.")
    ] = None,
    rule_settings: Annotated[
        list[str] | None,
        option(
            "--set", metavar="KEY=VALUE", help="Setting of the rule, such as sigma=0.01. You can repeat this option."
        ),
    ] = None,
    adjacency: Annotated[
        str | None,
        option(help="Difference between neighbouring data sets (only with --rule): {nfa.mechanism.ADJACENCIES}."),
    ] = None,
    net: Annotated[
        str | None,
        option(
            help=(
                "Small network to audit (only with --rule), given by sizes (4-3-2) or layers (1x4x4:conv2-3,pool2,3)."
                " For your own network, give module:function. If you give sizes or layers, the command also audits the"
                " same network with 2, with 3 and with 10 outputs.  [default: 4-3-2]"
            )
        ),
    ] = None,
    activation: Annotated[
        str | None, option(help="Activation of the hidden layers (only with --rule).  [default: tanh]")
    ] = None,
    batch: Annotated[
        int | None,
        option(help="Size of most batches (only with --rule). Some batches have up to 64 records.  [default: 4]"),
    ] = None,
    steps: Annotated[
        int | None,
        option(help="Number of consecutive steps that are audited together (only with --rule).  [default: 4]"),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            help=(
                "Number of runs on each of two neighbouring data sets. The command computes the lower bound from these"
                " runs. Slow parts of an audit use a fixed share of this number."
            ),
            show_default="as many as the audit needs",
        ),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Confidence of the lower bound on epsilon.")] = 0.95,
    delta: Annotated[float, typer.Option(help="Delta of the claimed epsilon and of the lower bound.")] = 1e-5,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 1,
    out: Annotated[
        Path | None, option(metavar="FILE", **NAMED, help="File (.png, .pdf or .svg) for a picture of the attacks.")
    ] = None,
    data_dir: DataDir = None,
    json: AsJson = False,
) -> None:
    """Compare a privacy claim with a lower bound on the true epsilon.

    The command runs the mechanism many times to compute the lower bound. This bound exceeds the true epsilon with
    probability at most 1 - confidence. A lower bound above the claimed epsilon refutes the claim. A lower bound below
    the claimed epsilon proves nothing. A refuted claim is a result, not an error, so the exit code is 0. For your own
    rule, the claim follows from the mechanism that the rule states:
    nfa audit --rule my_rule:private_sign_bp --set C=1 --set sigma=0.5 --adjacency add-remove

    Example:
    nfa audit
    nfa audit dp_sgd
    nfa audit ohana2021:prop3-cols --trials 300 --json
    """
    from nfa.audit.reports import AuditOptions
    from nfa.experiments.rule_claim import LARGEST
    from nfa.network.own import from_outside
    from nfa.papers import audits
    from nfa.privacy.accountant import caution

    if target is not None and rule is not None:
        raise ValueError(f"give either a target or --rule, got {target!r} and {rule!r}")
    of_a_rule = {"set": rule_settings, "adjacency": adjacency, "net": net, "activation": activation, "batch": batch}
    given = {name: value for name, value in (of_a_rule | {"steps": steps}).items() if value is not None}
    if rule is None and given:
        raise ValueError(
            f"--{(name := next(iter(given)))} has an effect only with --rule: give --rule, or leave out --{name}"
        )
    if target is None and rule is None:
        if out is not None or trials is not None:
            raise ValueError(
                "--out and --trials need an audit: give a target or --rule. `nfa audit` without options lists the"
                " targets"
            )
        _list(json)
        return
    chosen = audits.find(target or "") if rule is None else _own(rule, given, seed)
    settings = AuditOptions(
        trials=chosen.trials if trials is None else trials,
        confidence=confidence,
        delta=delta,
        seed=seed,
        data_dir=data_dir,
        picture=out is not None,
    )
    if out is not None:
        _check_picture(out, chosen)
    with ProgressDisplay() as bar:
        report = chosen.audit(replace(settings, progress=lambda name, done, of: bar(name, done, of, None)))
    if out is not None:
        _draw(out, chosen, report)
    n = max(LARGEST, batch or 0)
    if 0 < report.delta < 1 and (too_large := caution(report.delta, n)):
        tell(f"{too_large} Here n = {n}, the largest number of records in a batch of this audit.")
    own = rule is not None and from_outside(rule)
    if json:
        answer = report.as_json()
        if own:
            answer["stated_by"] = rule
        if out is not None:
            answer["files"] = [out]
        print_json(answer)
    else:
        show_report(output(), report)
        if own:
            output().print(
                Text(f"The claim follows from the mechanism that {rule} states. nfa has not proved this claim.")
            )
        if out is not None:
            print(f"\nThe picture is in {out}")


def show_report(console: Console, report: "Report") -> None:
    """Print a `nfa.audit.reports.Report`. The last lines show the claimed epsilon next to the lower bound."""
    console.print(Text(report.title, style="bold"))
    for part in report.parts:
        console.print()
        console.rule(Text(part.heading, style="bold"), align="left", style="dim")
        for text in part.before:
            console.print(Text(text))
        if part.rows:
            table = plain_table(part.columns[0], *map(right, part.columns[1:]))
            for row in part.rows:
                table.add_row(*row)
            console.print(table)
        for text in part.after:
            console.print(Text(text))
    console.print()
    sure = "by an exact computation" if report.confidence == 1 else f"with {100 * report.confidence:g} % confidence"
    names = ("claimed epsilon", "lower bound", "delta", "AUC")
    table = plain_table("target", *(right(name, no_wrap=True) for name in names))
    numbers = (report.claimed_epsilon, report.lower_bound, report.delta, report.auc)
    table.add_row(report.target, *(f"{number:.4g}" for number in numbers))
    console.print(table)
    outcome = f"refuted {sure}" if report.refuted else "not refuted. This result does not prove the claim"
    console.print(Text(f"The claim is {outcome}."))
    if report.not_looked_at:
        console.print(Text(f"Not examined: {'; '.join(report.not_looked_at)}."))


def _own(rule: str, given: dict[str, Any], seed: int) -> "Target":
    """Return the audit of a rule with the given options. The rule itself states the claimed mechanism."""
    from nfa.audit import own_rule
    from nfa.audit.reports import Target
    from nfa.experiments.rule_claim import claim_of
    from nfa.experiments.settings import Settings

    settings = Settings(
        rule=rule,
        rule_settings=in_new_words(rule, assignments(given.get("set", []))),
        adjacency=given.get("adjacency"),
        architecture=given.get("net", "4-3-2"),
        activation=given.get("activation"),
        batch=given.get("batch", 4),
        seed=seed,
    )
    about = "a rule, compared with the mechanism that the rule states"
    audit = partial(own_rule.audit, claim_of(settings), steps=given.get("steps", own_rule.STEPS))
    return Target(name=rule, about=about, audit=audit, trials=2000)


def _list(json: bool) -> None:
    from nfa.papers import audits

    targets = audits.TARGETS.values()
    if json:
        print_json([{"target": one.name, "aliases": one.aliases, "about": one.about} for one in targets])
        return
    table = plain_table(unbroken("target"), "what is audited")
    for one in targets:
        table.add_row(one.name, one.about)
    output().print(table)


def _check_picture(path: Path, target: "Target") -> None:
    """Raise ValueError if the audit cannot draw a picture into this file.

    Raise OSError if nfa cannot write to the folder of the file.
    """
    from nfa.experiments.plots import FORMATS

    if path.suffix.removeprefix(".").lower() not in FORMATS or path.is_dir():
        raise ValueError(f"--out must be a file that ends in .png, .pdf or .svg, got {str(path)!r}")
    if target.draw is None:
        raise ValueError(f"the audit {target.name} has no picture: leave out --out")
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    try:
        tempfile.TemporaryFile(dir=folder).close()
    except OSError as problem:
        raise OSError(f"--out needs a folder in which nfa can write, got {folder} ({problem.strerror})") from problem


def _draw(path: Path, target: "Target", report: "Report") -> None:
    if target.draw is None or report.drawn is None:
        raise ValueError(f"the audit {report.target} has no picture: leave out --out")
    path.parent.mkdir(parents=True, exist_ok=True)
    target.draw(path, report)
