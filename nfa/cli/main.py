"""The command `nfa`: the ledger, the data sets and the experiments from a terminal.

Every subcommand has ``--help`` with an example and ``--json`` (one JSON document on standard output, nothing else
there). Exit code 0: done; 1: the work failed; 2: bad usage, or refused for want of a theorem; 130: interrupted.
An error is one sentence on standard error. Heavy imports stand inside the commands, so that the light ones are quick.
"""

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from nfa import __version__
from nfa.cli import audit, course, epsilon, numbers, reproduce, rules, train
from nfa.cli.data import data_app
from nfa.cli.layout import output
from nfa.cli.terminal import FAILED, INTERRUPTED, OK, USAGE, AsJson, Failed, example, print_json, sentence, tell

UsageError: Any = typer.BadParameter.__bases__[0]  # typer's wrong option, missing argument ...; it has no name there

app = typer.Typer(name="nfa", rich_markup_mode=None, pretty_exceptions_enable=False)
app.add_typer(data_app, name="data", help="List, find and fetch the data sets.")
course_app = typer.Typer(rich_markup_mode=None, epilog=example("nfa course new ml2", "nfa course stub lee2020:eq5"))
app.add_typer(course_app, name="course", help="Set assignments, grade them, or do an exercise yourself.")


def _version(asked: bool) -> None:
    if asked:
        print(f"nfa {__version__}")
        raise typer.Exit


@app.callback(epilog=example("nfa demo", "nfa eq lee2020:eq5"))
def nfa(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error (or set NFA_DEBUG=1).")
    ] = False,
) -> None:
    """Private learning without backpropagation: five papers as code beside the page."""


app.command(short_help="See feedback alignment beside backpropagation, in about a minute.", epilog=example("nfa demo"))(
    reproduce.demo
)
app.command(
    short_help="Rerun a table or figure beside the paper's numbers.",
    epilog=example(
        "nfa reproduce ohana2021:table1",
        "nfa reproduce ohana2021:table1 --scale paper --seeds 3 --jobs 2 --dry-run",
        "nfa reproduce lee2020:fig2 --scale paper --epochs 25 --jobs 2",
        "nfa reproduce lee2020:fig4 --only sigma=0.01 --only data=Fashion-MNIST",
    ),
)(reproduce.reproduce)
app.command(
    short_help="Train a network by one rule on one data set.",
    epilog=example(
        "nfa train --epochs 3",
        "nfa train --rule bp --net 784-64-10 --batch 128 --lr 0.05 --save runs/bp",
        "nfa train --net 1x28x28:conv16-5,pool2,dense64,10 --activation relu",
        "nfa train --dataset mine.csv --validation 0.2 --net 49-64-10",
        "nfa train --rule dp_sgd --set C=1 --target-epsilon 3 --delta 1e-5 \\",
        "  --adjacency add-remove --sampling poisson --batch 500 --pixels unit",
        "nfa train --rule dp_sgd --set C=1 --noise-multiplier 1.1 --delta 1e-5 \\",
        "  --adjacency add-remove --sampling poisson --batch 500 --pixels unit",
    ),
)(train.train)
app.command(
    short_help="List the rules, or show one: settings, guarantee.",
    epilog=example("nfa rules", "nfa rules dp_sgd", "nfa rules my_rule:private_sign_bp --json"),
)(rules.rules)
app.command(
    short_help="Count what a run spends, or the noise for a target.",
    epilog=example(
        "nfa epsilon --sampling without-replacement --adjacency replace-one \\",
        "  --n 60000 --batch 512 --steps 5850 --delta 1e-5 --noise-multiplier 1.7",
        "nfa epsilon --sampling poisson --adjacency add-remove --q 0.01 \\",
        "  --steps 1000 --delta 1e-5 --target-epsilon 3 --explain",
    ),
)(epsilon.epsilon)
app.command(
    short_help="Hold a claim of privacy against what runs show.",
    epilog=example("nfa audit", "nfa audit dp_sgd", "nfa audit ohana2021:prop3-cols --trials 300 --json"),
)(audit.audit)
course_app.command(short_help="Make a course folder.", epilog=example("nfa course new ml2 --set ps2_dfa"))(course.new)
course_app.command(short_help="Make the student versions.", epilog=example("nfa course build ps2_dfa"))(course.build)
course_app.command(
    short_help="Hand in what comes with a set, to try the grading.",
    epilog=example("nfa course rehearse ps2_dfa loops forgot_dphi"),
)(course.rehearse)
course_app.command(short_help="Grade what was handed in.", epilog=example("nfa course grade ps2_dfa"))(course.grade)
course_app.command(
    short_help="Write functions of nfa to fill in, for its tests to judge.",
    epilog=example("nfa course stub lee2020:eq5 --out mine.py"),
)(course.stub)


@app.command(
    short_help="Show statements of the papers: verdict, code, tests.",
    epilog=example(
        "nfa eq lee2020:eq5",
        "nfa eq ohana2021 --json",
        "nfa eq dpulr2024:thm4 --certificate",
    ),
)
def eq(
    statements: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID", show_default=False, help="Statements such as lee2020:eq5, or whole papers."),
    ] = None,
    whole: Annotated[bool, typer.Option("--docstrings", help="Show the code with docstrings and checks.")] = False,
    certificate: Annotated[
        bool, typer.Option("--certificate", help="Print the file that refutes it with Python's standard library alone.")
    ] = False,
    bibtex: Annotated[bool, typer.Option("--bibtex", help="Print what cites it: the paper, and nfa.")] = False,
    json: AsJson = False,
) -> None:
    """Show statements of the papers: verdict, what is right, the code that computes them and the tests that show it.

    A paper's name lists its statements; without a name you get the coverage, a count for each paper and verdict. A
    certificate is one file that needs nothing of nfa: pipe it into `python -I -S -`.
    """
    from nfa import ledger
    from nfa.cli import statements as cli_statements

    chosen = {name: ledger.select(name) for name in statements or []}
    if bibtex:
        if certificate:
            raise ValueError("give --bibtex or --certificate, not both")
        cited = cli_statements.bibtex(chosen)
        if json:
            print_json({"bibtex": cited})
        else:
            sys.stdout.write(cited)
        return
    if certificate:
        item, text = cli_statements.the_certificate(chosen)
        if json:
            print_json({"id": item.id, "certificate": text})
        else:
            sys.stdout.write(text)
        return
    if json:
        items = [item for some in chosen.values() for item in some] if chosen else ledger.items()
        print_json([cli_statements.as_json(item) for item in items])
        return
    console = output()
    if not chosen:
        cli_statements.show_coverage(console)
    for name, items in chosen.items():
        if name in ledger.papers():
            cli_statements.show_document(console, name, items)
        else:
            for item in items:
                cli_statements.show_item(console, item, whole=whole)


@app.command(short_help="List what is not right as printed, with numbers.", epilog=example("nfa errata ohana2021"))
def errata(
    paper: Annotated[
        str | None, typer.Argument(metavar="PAPER", show_default=False, help="A paper, or one statement of it.")
    ] = None,
    json: AsJson = False,
) -> None:
    """List what is not right as printed: what is claimed, what is right, the number, and how to check it."""
    from nfa import ledger
    from nfa.cli import statements as cli_statements

    items = ledger.items() if paper is None else ledger.select(paper)
    found = ledger.findings(items)
    if json:
        print_json([cli_statements.as_json(item) for item in found])
        return
    console = output()
    for item in found:
        cli_statements.show_finding(console, item)
    cli_statements.show_tally(console, paper, items, found)


for each in (app, course_app, data_app):
    for registered in each.registered_commands:
        if registered.callback:
            numbers.given_to(registered.callback)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; ``argv`` is what follows `nfa`, by default that of the process."""
    arguments = list(sys.argv[1:] if argv is None else argv) or ["--help"]
    debug = "--debug" in arguments or os.environ.get("NFA_DEBUG", "0") not in ("", "0")
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal without ∇ shows a question mark, not an error
    try:
        code = app(arguments, prog_name="nfa", standalone_mode=False)
        return code if isinstance(code, int) else OK
    except KeyboardInterrupt as stop:
        tell(str(stop) or "stopped")
        return INTERRUPTED
    except UsageError as wrong:
        tell(_usage(wrong))
        return USAGE
    except Exception as problem:
        from nfa.mechanism import NoGuarantee

        if debug:
            traceback.print_exception(problem)
        tell(str(problem) if isinstance(problem, Failed) else sentence(problem))
        return USAGE if isinstance(problem, ValueError | NoGuarantee) else FAILED


def _usage(wrong: Any) -> str:
    message = wrong.format_message().strip().removesuffix(".").replace(". Did you", ", did you")
    command = wrong.ctx.command_path if wrong.ctx else "nfa"
    joint = " See" if message.endswith("?") else "; see"
    return f"{message[:1].lower()}{message[1:]}{joint} `{command} --help`"
