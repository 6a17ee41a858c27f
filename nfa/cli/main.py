"""The command `nfa` with its subcommands for training, privacy, data sets, courses and statements of the papers.

Every subcommand has the option ``--help``, and its help ends in an example. Every subcommand has the option ``--json``,
which prints one JSON document and nothing else on standard output. `nfa --help` lists the exit codes. nfa prints each
error as one sentence on standard error. The docstring of a command is its help text. Each command imports slow modules
inside its function, so that the other commands start quickly.
"""

import inspect
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, Any

import typer

from nfa import __version__
from nfa.cli import audit, course, data, epsilon, numbers, predict, reproduce, rules, terminal, train
from nfa.cli.displays import leave_out_odd_displays, quiet_streams
from nfa.cli.layout import output
from nfa.cli.terminal import AsJson, Failed, Listing, argument, example, print_json, sentence, tell

UsageError: Any = typer.BadParameter.__bases__[0]  # base class of all usage errors, which typer does not export

EXIT_CODES = (  # the end of the help of every command
    "Exit codes: 0 if the command succeeded, 1 if it failed (for example, because a file is missing), 2 for bad input"
    " or a guarantee that is not proved, 130 after Ctrl-C, 143 after SIGTERM."
)
app = typer.Typer(name="nfa", rich_markup_mode=None, pretty_exceptions_enable=False)
data_app = typer.Typer(rich_markup_mode=None, epilog=example("nfa data list", "nfa data path fashion-mnist-small"))
course_app = typer.Typer(
    rich_markup_mode=None,
    epilog=example(
        "nfa course new ml2",
        "nfa course stub lee2020:eq5 --out mine.py",
        "nfa course check mine.py",
        "nfa course ladder",
    ),
)
app.add_typer(data_app, name="data", help="List, find and fetch the data sets.")
app.add_typer(course_app, name="course", help="Set and grade assignments, or do an exercise yourself.")


def _version(asked: bool) -> None:
    if asked:
        print(f"nfa {__version__}")
        raise typer.Exit


@app.callback(
    help=(
        f"Private learning without backpropagation: five papers as code that you can run.\n\n{EXIT_CODES} The exit"
        " code is also 0 if an audit refutes a claim."
    ),
    epilog=example("nfa demo", "nfa eq lee2020:eq5"),
)
def nfa(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", help="Show the traceback of an error. The environment variable NFA_DEBUG=1 has the same effect."
        ),
    ] = False,
) -> None:
    """Set the options of the command `nfa` itself."""


def eq(
    statements: Annotated[
        list[str] | None, argument(metavar="ID", help="Statements of a paper, such as lee2020:eq5, or whole papers.")
    ] = None,
    whole: Annotated[
        bool, typer.Option("--docstrings", help="Show the code with its docstrings and its checks of arguments.")
    ] = False,
    certificate: Annotated[
        bool,
        typer.Option(
            "--certificate", help="Print the certificate, a Python file that refutes the statement without nfa."
        ),
    ] = False,
    bibtex: Annotated[bool, typer.Option("--bibtex", help="Print the BibTeX entries of the paper and of nfa.")] = False,
    json: AsJson = False,
) -> None:
    """Show statements of the papers with our verdict, the correct form, the code and the tests.

    A statement is a claim, an equation, a table or a figure. With the name of a paper, the command lists the statements
    of the paper. Without an ID, the command counts the statements of each paper by verdict. To run the file that
    --certificate prints, pipe the file into `python -I -S -`.

    Example:
    nfa eq lee2020:eq5
    nfa eq ohana2021 --json
    nfa eq dpulr2024:thm4 --certificate
    """
    from nfa import ledger
    from nfa.cli import statements as cli_statements

    chosen = {name: ledger.select(name) for name in statements or []}
    if bibtex and certificate:
        raise ValueError("give either --bibtex or --certificate, got both options")
    if bibtex or certificate:
        answer = cli_statements.bibtex(chosen) if bibtex else cli_statements.the_certificate(chosen)
        if json:
            print_json(answer)
        else:
            sys.stdout.write(answer["bibtex" if bibtex else "certificate"])
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


def errata(
    paper: Annotated[
        str | None, argument(metavar="PAPER", help="Paper such as lee2020, or statement such as lee2020:eq5.")
    ] = None,
    json: AsJson = False,
) -> None:
    """List the statements that are not right as printed, each with the claim, the correction and the evidence.

    The evidence is a computed number that shows the error, and a test that checks this number.

    Example:
    nfa errata ohana2021
    """
    from nfa import ledger
    from nfa.cli import statements as cli_statements

    items = ledger.items() if paper is None else ledger.select(paper)
    found = ledger.findings(items)
    if json:
        print_json([cli_statements.as_json(item) for item in found])
        return
    console = output()
    for item in found:
        cli_statements.show_item(console, item, code=False)
    cli_statements.show_tally(console, paper, items, found)


# The commands of each group in the order of the help. The text is the short help of the command.
COMMANDS: dict[typer.Typer, dict[str, tuple[Callable, str]]] = {
    app: {
        "demo": (reproduce.demo, "Compare feedback alignment with backpropagation in about a minute."),
        "reproduce": (reproduce.reproduce, "Rerun a table or figure and compare the numbers with the paper."),
        "train": (train.train, "Train a network by one rule on one data set."),
        "predict": (predict.predict, "Predict classes with a trained network."),
        "rules": (rules.rules, "List the rules, or show the settings and guarantee of one rule."),
        "epsilon": (epsilon.epsilon, "Compute the epsilon of a run, or the noise for a target epsilon."),
        "audit": (audit.audit, "Test a privacy claim by running the mechanism."),
        "eq": (eq, "Show statements of the papers: verdict, code, tests."),
        "errata": (errata, "List statements that are not right as printed."),
    },
    course_app: {
        "new": (course.new, "Make a course folder."),
        "build": (course.build, "Make the student versions of problem sets."),
        "rehearse": (course.rehearse, "Submit the example solutions of a set, to try the grading."),
        "grade": (course.grade, "Grade the submissions."),
        "stub": (course.stub, "Write functions of nfa without their bodies, for you to fill in."),
        "ladder": (course.ladder, "List small tasks that lead through a paper, or write the files of the tasks."),
        "check": (course.check, "Check the functions that you filled in, and name your mistake."),
    },
    data_app: {
        "list": (data.data_list, "List the data sets and their places."),
        "fetch": (data.data_fetch, "Download a data set."),
        "path": (data.data_path, "Print the paths of data sets."),
    },
}
for group, commands in COMMANDS.items():
    for name, (command, short_help) in commands.items():
        text, _, lines = (inspect.getdoc(command) or "").partition("\n\nExample:\n")
        text = f"{text}\n\n{EXIT_CODES}"
        numbers.given_to(command)
        group.command(name, cls=Listing, help=text, short_help=short_help, epilog=example(*lines.splitlines()))(command)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    ``argv`` has the arguments after `nfa`, by default the arguments of the process. If nfa cannot write to standard
    output or standard error, the command still runs to its end. The exit code is 1 if a part of the answer is lost.
    Otherwise, the exit code is the same as without the failure.
    """
    leave_out_odd_displays()
    with quiet_streams() as (answer, _):
        code = _run(list(sys.argv[1:] if argv is None else argv) or ["--help"])
        answer.flush()
        if answer.failure and answer.incomplete:
            tell(
                f"the answer could not be printed in full ({sentence(answer.failure)}). Files that were written are"
                " kept."
            )
            code = code or terminal.FAILED
    return code


def _run(arguments: list[str]) -> int:
    """Run the command line, print a sentence for each error, and return the exit code."""
    debug = "--debug" in arguments or os.environ.get("NFA_DEBUG", "0") not in ("", "0")
    try:
        code = _commands()(arguments, prog_name="nfa", standalone_mode=False)
        return code if isinstance(code, int) else terminal.OK
    except KeyboardInterrupt as stop:
        tell(str(stop) or "stopped")
        return terminal.INTERRUPTED
    except UsageError as wrong:
        tell(_usage(wrong))
        return terminal.USAGE
    except SystemExit as left:  # only a user's own rule or network can raise it, because nfa does not call sys.exit
        tell(f"the command did not finish, because your own rule or network called sys.exit({left}): remove this call")
        return terminal.FAILED
    except Exception as problem:
        from nfa.mechanism import NoGuarantee

        if debug:
            traceback.print_exception(problem)
        tell(str(problem) if isinstance(problem, Failed) else sentence(problem))
        return terminal.USAGE if isinstance(problem, ValueError | NoGuarantee) else terminal.FAILED


@cache
def _commands() -> Callable[..., Any]:
    """Build the commands with typer. The cache keeps them, because building takes time."""
    return typer.main.get_command(app)


def _usage(wrong: Any) -> str:
    message = wrong.format_message().strip().removesuffix(".").replace(". Did you", ", did you")
    command = wrong.ctx.command_path if wrong.ctx else "nfa"
    joint = " See" if message.endswith("?") else "; see"
    return f"{message[:1].lower()}{message[1:]}{joint} `{command} --help`"
