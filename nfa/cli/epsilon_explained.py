"""Print `nfa epsilon --explain`: the guarantee, the formula, the curve, other settings and the tight epsilon."""

import math
from typing import Any

from rich.console import Console
from rich.text import Text

from nfa.cli.layout import field, hanging, plain_table, right, unbroken
from nfa.privacy import theorems
from nfa.privacy.accountant import PLD, Guarantee
from nfa.privacy.counted_run import RESCALED, CountedRun
from nfa.privacy.rounding import down, up
from nfa.sampling import ALL_RECORDS

BAR = 22  # columns


def show(console: Console, run: CountedRun, g: Guarantee, told: dict[str, Any]) -> None:
    """Print the explanation that `nfa.privacy.counted_run.CountedRun.explain` returns, in six sections."""
    r = run.in_renyi_orders(g)
    _section(console, "What is guaranteed")
    field(console, "adjacency", told["adjacency"])
    field(console, "sampling", told["sampling"])
    _section(console, f"Rényi divergences, one step: {told['formula']['id']}")
    _show_formula(console, r, told)
    _section(console, "Rényi divergences, all steps: the order that gives the smallest epsilon")
    _show_curve(console, r, told)
    _section(console, "What each choice saves")
    _show_choices(console, told["choices"])
    _section(console, "The same run under other samplings and adjacencies, by Rényi divergences")
    _show_settings(console, run, r, told["settings"])
    _section(console, "How tight the epsilon is")
    _show_tight(console, g, told["tight"])


def _show_tight(console: Console, g: Guarantee, tight: dict[str, Any]) -> None:
    if tight["epsilon"] is None:
        console.print(Text(f"Privacy losses give no number here: {tight['says']}."))
        return
    found, least, limit = up(tight["epsilon"]), down(tight["at_least"]), up(tight["gaussian_limit"], 3)
    beside = (
        f" The printed epsilon is {up(g.epsilon / tight['epsilon'], 3)} times as large." if g.conversion != PLD else ""
    )
    says = tight["says"]
    console.print(
        Text(
            f"Privacy losses prove epsilon {found}.{beside if tight['epsilon'] else ''} {says[:1].upper()}{says[1:]}"
            f" {least}. If the losses of all steps added up to a Gaussian law, epsilon would be about {limit}. This"
            " last number is not proved."
        )
    )


def _section(console: Console, title: str) -> None:
    console.print()
    console.rule(Text(title, style="bold"), align="left", style="dim")


def _show_formula(console: Console, g: Guarantee, told: dict[str, Any]) -> None:
    amplifies = theorems.amplifies(g.bound)
    field(console, "theorem", f"{theorems.says(g.bound)}; `nfa eq {g.bound}` shows its source and its tests")
    for k, line in enumerate(told["formula"]["lines"]):
        field(console, "" if k else "formula", line)
    if amplifies:
        field(console, "", "At orders at which the curve without sampling is smaller, nfa uses that curve.")
    for row in told["curve"]:
        if row["order"] == g.order:
            beside = f"; without sampling {up(row['unsampled'])}" if amplifies else ""
            field(console, "one step", f"{up(row['one_step'])} at the order {g.order:.6g}{beside}")


def _show_curve(console: Console, g: Guarantee, told: dict[str, Any]) -> None:
    if not told["curve"]:
        console.print(Text("The curve is infinite at every order, so no order gives a finite epsilon."))
        return
    full, rest = ("#", "-") if console.options.ascii_only else ("█", "░")
    count = "steps" if g.uses == g.steps else "uses"
    many = f"The Rényi epsilon of {g.uses} {count} is {g.uses} times the Rényi epsilon of one {count[:-1]}."
    text = (
        f"{many + ' ' if g.uses > 1 else ''}The Rényi epsilon grows with the order α. The conversion to (ε, δ) adds a"
        f" term that shrinks with α: {told['conversion']['lines'][0]} [{told['conversion']['id']}]."
        " The best order minimises the sum of the two terms."
    )
    console.print(Text(text))
    console.print()
    headings = ("order", "one step", f"x {g.uses}", "conversion", "epsilon")
    table = plain_table(*(right(heading, no_wrap=True) for heading in headings))
    table.add_column(f"{full} {count} {rest} conversion", overflow="crop")  # on a narrow terminal, the bars are cut
    scale = BAR / min(3 * g.epsilon, max(row["epsilon"] for row in told["curve"])) if g.epsilon else 0.0
    for row in told["curve"]:
        best = row["order"] == g.order
        added = row["epsilon"] - row["all_uses"] if row["all_uses"] < math.inf else 0.0
        spent, whole = (round(min(scale * row[part], 9 * BAR)) if scale else 0 for part in ("all_uses", "epsilon"))
        bar = full * min(spent, whole) + rest * (whole - spent)
        bar = bar if whole <= BAR else bar[: BAR - 1] + ">"
        order = f"{'best ' if best else ''}{row['order']:.5g}"
        cells = [up(row["one_step"], 5), up(row["all_uses"], 5), _signed(added), up(row["epsilon"], 5)]
        table.add_row(order, *cells, bar, style="bold" if best else "")
    console.print(table)


def _show_choices(console: Console, rows: list[dict[str, Any]]) -> None:
    """Print the rows. Each row includes the choices of the rows above it."""
    table = plain_table("  choice", right("epsilon"), right("saves"), "bound", "conversion")
    for row in rows:
        saves = "" if row["saves"] is None else _signed(row["saves"])
        cells = [f"{'>' if row['asked'] else ' '} {row['choice']}", up(row["epsilon"], 5), saves]
        table.add_row(*cells, row["bound"], row["conversion"], style="bold" if row["asked"] else "")
    console.print(table)
    console.print()
    console.print(
        Text(
            "Each row includes the choices of the rows above it. If you name no bound, conversion, orders or"
            " accountant, `nfa epsilon` gives the smallest epsilon of the table."
        )
    )


def _show_settings(console: Console, run: CountedRun, g: Guarantee, rows: list[dict[str, Any]]) -> None:
    rescaled = next((factor for (one, _), factor in RESCALED.items() if one == run.adjacency), None)
    factor = "" if rescaled is None else f"{rescaled:g} z" if rescaled >= 1 else f"z / {1 / rescaled:g}"
    table = plain_table(unbroken("  sampling"), unbroken("adjacency"), right("epsilon", no_wrap=True))
    if factor:
        table.add_column(f"at {factor}", justify="right", no_wrap=True)
    table.add_column("bound")
    reasons: dict[tuple[str, str], None] = {}
    for row in rows:
        cells = [f"{'>' if row['asked'] else ' '} {row['sampling']}", row["adjacency"]]
        if row["refused"]:
            id_, why = row["refused"]["id"], row["refused"]["why"].partition(". ")[0]
            reasons[id_, why] = None
            cells += ["refused", *([""] if factor else []), id_]
        else:
            rescaled = row["epsilon_rescaled"]
            cells += [up(row["epsilon"], 5), *(["" if rescaled is None else up(rescaled, 5)] if factor else [])]
            cells.append(row["bound"])
        table.add_row(*cells, style="bold" if row["asked"] else "dim" if row["refused"] else "")
    console.print(table)
    console.print()
    for id_, why in reasons:
        console.print(hanging(id_, f"refused: {why}", 22))
    if reasons:
        console.print()
    text = (
        f"The noise multiplier is z = {g.noise_multiplier:.6g} in every row, relative to the sensitivity under that"
        " row's adjacency. So rows with different adjacencies do not have the same noise. Take a sum of records clipped"
        " to norm C. Adding, removing or zeroing one record moves the sum by up to C. Replacing one record moves the"
        " sum by up to 2 C."
    )
    if factor:
        text += f" For this sum, the column at {factor} is for the same noise as your run."
    if run.sampling in ALL_RECORDS:
        text += " To see the other sampling schemes too, give a scheme with a sampling rate."
    console.print(Text(text))


def _signed(number: float) -> str:
    """Return a number with five digits, rounded away from 0."""
    return ("-" if number < 0 else "") + up(abs(number), 5)
