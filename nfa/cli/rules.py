"""The command `nfa rules`: what a rule takes and guarantees, as its signature and its docstrings say it."""

import importlib
import inspect
import json as json_text
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console
from rich.text import Text

from nfa.cli.layout import hanging, output, plain_table
from nfa.cli.terminal import AsJson, print_json

if TYPE_CHECKING:
    from nfa.mechanism import NoGuarantee

ID = re.compile(r"\[(\w+:[\w.+-]+)\]")  # of a statement, in a docstring
AS_IN = re.compile(r"as (?:in|for) `([\w.]+)`")
LABEL_WIDTH = 12
# A setting that a run gives where nobody does, and what it gives.
OF_THE_RUN = {"m": "the batch size", "N_B": "--n-b"}


@dataclass(frozen=True, kw_only=True)
class OwnSetting:
    """A setting of a rule: keyword argument, default, and its meaning in the docstring, "" where that says none.

    Parameters
    ----------
    needed : whether neither the rule nor the run has a value where none is given
    default : of the signature; None where it is needed, or the run gives it
    given : what the run gives where nobody gives a value, in words; "" for nothing
    """

    name: str
    needed: bool
    default: Any
    given: str
    meaning: str


@dataclass(frozen=True, kw_only=True)
class Described:
    """What is known of a rule without running it.

    Parameters
    ----------
    about : what it is: the first paragraph of its file's docstring, of one's own rule that of its function
    settings : each `--set NAME=VALUE`
    feedback : whether it takes random feedback, from `--feedback-law` and so on
    optical : whether an OPU can project it
    stated : whether its file has a mechanism that states a guarantee
    guarantee : what that says first of itself, or why there is none
    checked : whether nfa has checked it: not of a rule from outside
    noise : the setting that a target epsilon finds; "" where nothing is guaranteed
    ids : of the statements that its docstrings name
    """

    name: str
    about: str
    settings: list[OwnSetting]
    feedback: bool
    optical: bool
    stated: bool
    guarantee: str
    checked: bool
    noise: str
    ids: list[str]


def rules(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", show_default=False, help="A rule, or module:function for your own."),
    ] = None,
    json: AsJson = False,
) -> None:
    """List the rules, or show one: its settings, their defaults and meanings, what it guarantees, its statements.

    Meanings are those of its docstring, under "Parameters". Of your own rule nothing is checked.

    Example:
    nfa rules
    nfa rules dp_sgd
    nfa rules my_rule:private_sign_bp --json
    """
    from nfa.experiments.rule_lookup import rules as names

    if name is not None:
        found = describe(name)
        if json:
            print_json(found)
        else:
            _show(output(), found)
        return
    every = [describe(one) for one in names()]
    if json:
        print_json([{key: getattr(one, key) for key in ("name", "about", "stated", "guarantee")} for one in every])
    else:
        _list(output(), every)


def describe(name: str) -> Described:
    """What a rule takes and guarantees. Raises ValueError if there is none of this name, as `rule_function` does."""
    from nfa.experiments import bind
    from nfa.experiments.rule_lookup import ALIASES, from_outside, mechanism_beside, noise_setting, rule_function

    function, stating, own = rule_function(name), mechanism_beside(name), from_outside(name)
    module = importlib.import_module(name.partition(":")[0] if own else f"nfa.rules.{ALIASES.get(name, name)}")
    docstring = inspect.getdoc(function) or ""
    parameters, meanings = inspect.signature(function).parameters, meanings_of(docstring, module)
    cited, refused = docstring + (inspect.getdoc(stating) or "" if stating else ""), refusal(stating)
    return Described(
        name=name,
        about=_first_paragraph(docstring if own else module.__doc__ or ""),
        settings=[
            _setting(parameter, meanings)
            for key, parameter in list(parameters.items())[3:]  # after net, x, y, whatever they are called
            if key not in bind.GIVEN and parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
        ],
        feedback=bool({"B", "V"} & set(parameters)),
        optical="project" in parameters,
        stated=_states(stating),
        guarantee=_guarantee(stating),
        checked=not own,
        noise=noise_setting(name) if _states(stating) else "",
        ids=list(dict.fromkeys([*ID.findall(cited), *([refused.id] if refused else [])])),
    )


def meanings_of(docstring: str, module: ModuleType | None = None) -> dict[str, str]:
    """What the parameters of a docstring mean: under "Parameters", ``name : text`` or ``name, name : text``.

    Parameters
    ----------
    docstring : as `inspect.getdoc` gives it; lines that go on with a text are indented
    module : where a text "as in `function`" is looked up; None to leave it

    Returns
    -------
    meanings : {name: text}, the text in one line; empty without such a section

    Examples
    --------
    >>> meanings_of("Walks.\\n\\nParameters\\n----------\\na, b : float > 0,\\n    in metres\\nc : int\\n\\nNone.")
    {'a': 'float > 0, in metres', 'b': 'float > 0, in metres', 'c': 'int'}
    """
    section = re.search(r"^Parameters\n-{3,}\n(.*?)(?=\n\n|\n[^\n]+\n-{3,}\n|\Z)", docstring, re.DOTALL | re.MULTILINE)
    found: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", section[1]) if section else []:
        names, colon, text = entry.partition(" : ")
        if colon:
            found |= dict.fromkeys((name.strip().lstrip("*") for name in names.split(",")), " ".join(text.split()))
    return {name: _looked_up(name, text, module) for name, text in found.items()}


def _looked_up(name: str, text: str, module: ModuleType | None) -> str:
    """The meaning that a text refers to with "as in `function`"; the text itself where there is none."""
    said = AS_IN.fullmatch(text)
    if module is None or not said:
        return text
    home, _, function = said[1].rpartition(".")
    there = importlib.import_module(home) if home.startswith("nfa.") else module
    return meanings_of(inspect.getdoc(getattr(there, function, None)) or "", there).get(name, text)


def _first_paragraph(docstring: str) -> str:
    return " ".join(inspect.cleandoc(docstring).partition("\n\n")[0].split())


def _setting(parameter: inspect.Parameter, meanings: dict[str, str]) -> OwnSetting:
    name, unset = parameter.name, parameter.default is inspect.Parameter.empty
    given = OF_THE_RUN.get(name, "") if unset else ""
    return OwnSetting(
        name=name,
        needed=unset and not given,
        default=None if unset else _in_json(parameter.default),
        given=given,
        meaning=meanings.get(name, ""),
    )


def _in_json(default: Any) -> Any:
    """A default as it stands, or as Python prints it where it is no JSON value."""
    try:
        json_text.dumps(default)
        return default
    except (TypeError, ValueError):
        return repr(default)


def _states(stating: Callable | None) -> bool:
    """Whether a mechanism can state a guarantee: one that only ever refuses returns NoReturn."""
    return stating is not None and inspect.signature(stating).return_annotation not in (NoReturn, "NoReturn")


def refusal(stating: Callable | None) -> "NoGuarantee | None":
    """What a mechanism raises that only ever refuses, whatever it is given; None of any other."""
    from nfa.mechanism import NoGuarantee

    if stating is None or _states(stating):
        return None
    taken = inspect.signature(stating).parameters.values()
    try:
        stating(**{one.name: None for one in taken if one.kind is one.KEYWORD_ONLY})
    except NoGuarantee as refused:
        return refused
    except Exception:  # of a mechanism from outside, which does not do what its annotation says
        pass
    return None


def _guarantee(stating: Callable | None) -> str:
    if stating is None:
        return "none: it states no mechanism"
    said = _first_paragraph(inspect.getdoc(stating) or "")
    if _states(stating):
        return said or "its mechanism says nothing of itself"
    refused = refusal(stating)
    return f"none: {said.partition(': raises')[0].rstrip('.')}{f' ({refused.id})' if refused else ''}"


def _list(console: Console, every: list[Described]) -> None:
    table = plain_table()
    table.add_column("rule", no_wrap=True)
    table.add_column("guarantee", no_wrap=True)
    table.add_column("what it is")
    for one in every:
        table.add_row(one.name, Text("stated", "green") if one.stated else Text("none", "dim"), Text(one.about))
    console.print(table)
    console.print()
    console.print(hanging("nfa rules dp_sgd", "shows one: settings, guarantee, statements", 20))


def _show(console: Console, one: Described) -> None:
    console.print(Text(one.name, style="bold"))
    console.print(Text(one.about))
    console.print()
    field = partial(_field, console)
    if one.settings:
        console.print(Text("settings, each given as --set NAME=VALUE", style="bold"))
        table = plain_table()
        table.add_column("name", no_wrap=True, style="cyan")
        table.add_column("default", no_wrap=True)
        table.add_column("meaning")
        for setting in one.settings:
            table.add_row(setting.name, Text(_default(setting)), Text(setting.meaning))
        console.print(table)
        console.print()
    else:
        field("settings", "none of its own")
    if one.feedback:
        opu = ", or an OPU, --opu" if one.optical else ""
        field("feedback", f"random, drawn by --feedback-law and --feedback-scale{opu}")
    unchecked = ", as it says itself: nfa has checked nothing of it" if one.stated and not one.checked else ""
    field("guarantee", f"{one.guarantee.rstrip('.') if unchecked else one.guarantee}{unchecked}")
    if one.noise:
        field("noise", f"{one.noise}, which --target-epsilon and --noise-multiplier find")
    if one.ids:
        field("statements", " ".join(one.ids))


def _field(console: Console, label: str, text: str) -> None:
    console.print(hanging(Text(label, style="cyan"), text, LABEL_WIDTH))


def _default(setting: OwnSetting) -> str:
    if setting.needed:
        return "needed"
    return setting.given or ("not set" if setting.default is None else str(setting.default).lower())
