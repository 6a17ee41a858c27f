"""The command `nfa rules`: the settings and the guarantee of a rule, from its `RuleSpec`."""

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Console
from rich.text import Text

from nfa.cli.layout import field as print_field
from nfa.cli.layout import hanging, output, plain_table, unbroken
from nfa.cli.terminal import AsJson, argument, print_json

if TYPE_CHECKING:
    from nfa.rules.spec import OwnSetting, RuleSpec


def rules(
    name: Annotated[
        str | None, argument(metavar="NAME", help="Rule, such as dp_sgd or, for your own rule, module:function.")
    ] = None,
    json: AsJson = False,
) -> None:
    """List the rules or, with a NAME, show the settings and the guarantee of one rule.

    For each setting, the command prints the default and the meaning from the docstring of the rule. At the end, the
    command prints the ids of the rule's equations and theorems. To read such a statement, use `nfa eq ID`. nfa does not
    check the mechanism that your own rule states.

    Example:
    nfa rules
    nfa rules dp_sgd
    nfa rules my_rule:private_sign_bp --json
    """
    from nfa.rules.spec import names, spec

    if name is not None:
        found = spec(name)
        if json:
            print_json(_in_json(found))
        else:
            _show(output(), found)
        return
    every = [spec(one) for one in names()]
    if json:
        shown = ("name", "about", "stated", "protects", "guarantee")
        print_json([{key: value for key, value in _in_json(one).items() if key in shown} for one in every])
    else:
        _list(output(), every)


def _in_json(one: "RuleSpec") -> dict[str, Any]:
    """Return the entry of a rule in the JSON document."""
    settings = [
        {
            "name": setting.name,
            "needed": setting.needed,
            "default": setting.default,
            "given": setting.given_if_unset,
            "meaning": setting.meaning,
        }
        for setting in one.settings
    ]
    return {
        "name": one.name,
        "about": one.about,
        "settings": settings,
        "feedback": one.uses_feedback,
        "optical": "project" in one.given,
        "stated": one.states,
        "protects": one.protects or None,
        "guarantee": one.guarantee,
        "checked": not one.from_outside,
        "noise": one.noise if one.states else "",
        "sum_over_examples": one.sum_over_examples,
        "ids": one.ids,
    }


def _list(console: Console, every: list["RuleSpec"]) -> None:
    table = plain_table(unbroken("rule"), unbroken("guarantee"), "description")
    for one in every:
        stated = {"": Text("none", "dim"), "records": Text("stated", "green")}
        table.add_row(one.name, stated.get(one.protects, Text(one.protects, "yellow")), Text(one.about))
    console.print(table)
    console.print()
    console.print(hanging("nfa rules dp_sgd", "shows the settings and the guarantee of one rule", 20))


def _show(console: Console, one: "RuleSpec") -> None:
    console.print(Text(one.name, style="bold"))
    console.print(Text(one.about))
    console.print()
    field = partial(print_field, console)
    if one.settings:
        console.print(Text("settings, each given as --set NAME=VALUE", style="bold"))
        table = plain_table(unbroken("name", style="cyan"), unbroken("default"), "meaning")
        for setting in one.settings:
            table.add_row(setting.name, Text(_default(setting)), Text(setting.meaning))
        console.print(table)
        console.print()
    else:
        field("settings", "The rule has no settings of its own.")
    if one.uses_feedback:
        opu = ", or an OPU, set by --opu" if "project" in one.given else ""
        field("feedback", f"random matrices, set by --feedback-law and --feedback-scale{opu}")
    unchecked = " nfa has not checked this guarantee." if one.states and one.from_outside else ""
    field("guarantee", f"{one.guarantee.rstrip('.')}.{unchecked}" if unchecked else one.guarantee)
    if one.states:
        field("protects", one.protects + (". nfa treats the inputs as public" if one.protects == "labels only" else ""))
        field("noise", f"{one.noise}, which --target-epsilon or --noise-multiplier can determine")
    if one.ids:
        field("statements", " ".join(one.ids))


def _default(setting: "OwnSetting") -> str:
    if setting.needed:
        return "needed"
    return setting.given_if_unset or ("not set" if setting.default is None else str(setting.default).lower())
