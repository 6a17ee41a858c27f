"""What `nfa epsilon --explain` adds: the words, the formula, the curve, the other settings, the tight number."""

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.text import Text

from nfa.cli.epsilon_choices import choices, show_choices
from nfa.cli.epsilon_formulas import CONVERSIONS, FORMULAS, UNSAMPLED, bound_says
from nfa.cli.epsilon_options import CountedRun, field
from nfa.cli.layout import hanging, plain_table
from nfa.mechanism import ADJACENCIES, SCHEMES, NoGuarantee
from nfa.privacy import accountant, rdp, theorems
from nfa.privacy.pure import PURE, ROUTES, ZERO, compose_pure, is_zero
from nfa.privacy.rounding import up
from nfa.privacy.tight import tight, tight_without_replacement

if TYPE_CHECKING:
    from nfa.privacy.accountant import Guarantee

# What the same noise makes of the noise multiplier where replacing a record moves the release twice as far as adding.
RESCALED = {("replace-one", "add-remove"): 2.0, ("add-remove", "replace-one"): 0.5}
SHARES = (1 / 4, 1 / 2, 2 / 3, 1, 3 / 2, 2, 4)  # of the best order less 1: the orders shown
BAR = 22  # columns


def explain(setting: CountedRun, guarantee: "Guarantee") -> dict[str, Any]:
    """Everything that `show` prints, as values."""
    g = guarantee
    return {
        "adjacency": _promise(g),
        "sampling": _chance(setting, g),
        "sampling_rate": setting.rate,
        "uses": g.uses,
        "formula": {"id": g.bound, "lines": list(FORMULAS[g.bound])},
        "conversion": {"id": ROUTES[g.conversion], "lines": [CONVERSIONS[g.conversion]]},
        "curve": curve(setting, g),
        "choices": choices(setting, setting.release(_noise(g)), g),
        "settings": settings(setting, g),
        "tight": _tight(setting, g),
    }


def curve(setting: CountedRun, g: "Guarantee") -> list[dict[str, float]]:
    """The Renyi curve at some orders about the best: one step, all uses, what the conversion adds, epsilon."""
    if g.order is None:
        return []
    release = setting.release(_noise(g))
    convert = rdp.mironov2017 if g.conversion == "mironov2017" else rdp.canonne2020
    epsilons = convert(g.orders, g.rdp, delta=g.delta)
    if g.conversion == ZERO:
        epsilons = np.where(is_zero(g.rdp, delta=g.delta), 0.0, epsilons)
    best = int(epsilons.argmin()) if g.order == math.inf else int(np.flatnonzero(g.orders == g.order)[0])
    shown = {best - 1, best, best + 1}
    shown |= {int(np.abs(g.orders - 1 - share * (g.orders[best] - 1)).argmin()) for share in SHARES}
    at = np.array([k for k in sorted(shown) if 0 <= k < len(g.orders)])
    bound = (theorems.choose if setting.conversion else theorems.smallest)(release, setting.bound)
    step = (theorems.one_step if setting.orders else theorems.one_step_everywhere)(release, g.orders, bound)[at]
    alone = theorems.one_step(release, g.orders, theorems.base_bound(release))[at]
    epsilons = epsilons[at]
    names = ("order", "one_step", "unsampled", "all_uses", "epsilon")
    rows = [
        dict(zip(names, map(float, row), strict=True))
        for row in zip(g.orders[at], step, alone, g.rdp[at], epsilons, strict=True)
    ]
    if g.conversion == PURE:
        once = compose_pure([(release, 1)], setting.bound)[0]
        last = (math.inf, once, theorems.epsilon_infinity(release), g.epsilon, g.epsilon)
        rows.append(dict(zip(names, last, strict=True)))
    return rows


def settings(setting: CountedRun, g: "Guarantee") -> list[dict[str, Any]]:
    """The same numbers under every scheme and adjacency: the epsilon and its bound, or the refusal.

    ``epsilon_rescaled`` is for the same noise where a replaced record moves the release twice as far as an added one.
    """
    rows = []
    for sampling in SCHEMES if setting.sampling != "none" else ("none",):
        for adjacency in ADJACENCIES:
            asked = (sampling, adjacency) == (setting.sampling, setting.adjacency)
            row = {"sampling": sampling, "adjacency": adjacency, "asked": asked}
            try:
                found = g if asked else _other(setting, g, sampling, adjacency, 1.0)
                factor = RESCALED.get((setting.adjacency, adjacency), 0.0)
                possible = 0 < factor * _noise(g) < math.inf
                rescaled = _other(setting, g, sampling, adjacency, factor).epsilon if possible else None
                row |= {"epsilon": found.epsilon, "epsilon_rescaled": rescaled, "bound": found.bound, "refused": None}
            except NoGuarantee as refusal:
                row |= {"epsilon": None, "epsilon_rescaled": None, "bound": None}
                row |= {"refused": {"id": refusal.id, "why": refusal.why}}
            rows.append(row)
    return rows


def show(console: Console, setting: CountedRun, guarantee: "Guarantee", told: dict[str, Any]) -> None:
    """Print the explanation in six sections."""
    _section(console, "What is promised")
    field(console, "adjacency", told["adjacency"])
    field(console, "sampling", told["sampling"])
    _section(console, f"One step: {told['formula']['id']}")
    _show_formula(console, guarantee, told)
    _section(console, "All steps: the order that gives the smallest epsilon")
    _show_curve(console, guarantee, told)
    _section(console, "What each choice is worth")
    show_choices(console, told["choices"])
    _section(console, "The same numbers under other sampling and adjacency")
    _show_settings(console, setting, guarantee, told["settings"])
    _section(console, "How much of it is slack")
    best = told["tight"]["epsilon"]
    if best is None:
        console.print(Text(_capital(told["tight"]["says"]) + "."))
    else:
        beside = f", {up(guarantee.epsilon / best, 3)} times that" if 0 < best and guarantee.order else ""
        console.print(Text(f"Tight: {up(best)} ({told['tight']['says']}). Ours: {up(guarantee.epsilon)}{beside}."))


def _promise(g: "Guarantee") -> str:
    pair = {
        "replace-one": "Change all values of one record, keep the number of records",
        "add-remove": "Take one record out, or put one in",
        "replace-label": "Change the label of one record; its inputs are treated as public",
    }[g.adjacency]
    factor = up(math.exp(g.epsilon), 4) if g.epsilon < 20 else "e^ε"
    if g.order is None:
        return f"{pair}: nothing is promised about what that may change, for epsilon is infinite."
    return f"{pair}: an event of probability p then has at most {factor} p + {g.delta:.10g}, whatever the event."


def _chance(setting: CountedRun, g: "Guarantee") -> str:
    if setting.sampling == "none":
        return f"Every record is in every step, {g.steps} in all, and each of them counts in full."
    if setting.sampling == "epoch-partition":
        epochs = f"{g.uses} epoch{'s' * (g.uses > 1)}"
        return (
            f"Steps in all: {g.steps}, in {epochs}, begun or whole, and a record is in at most one batch of each. "
            f"So uses that count, each in full: {g.uses}. The shuffle by itself is not counted as protection."
        )
    drawn = f"A record is in a batch with probability {setting.rate:.6g}, in {setting.rate * g.steps:.6g} of the "
    drawn += f"{g.steps} step{'s' * (g.steps != 1)} on average. "
    if g.bound in UNSAMPLED:
        return drawn + "This bound leaves that out: every step counts in full."
    return drawn + "That makes each step cheaper, as long as nobody learns which records were drawn."


def _other(setting: CountedRun, g: "Guarantee", sampling: str, adjacency: str, factor: float) -> "Guarantee":
    """The default bound for another scheme and adjacency, at the noise multiplier times a factor."""
    release = setting.release(_noise(g) * factor, sampling=sampling, adjacency=adjacency)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rdp.OrderAtGridEnd)
        return accountant.epsilon(
            [(release, g.steps)],
            delta=g.delta,
            conversion=setting.conversion,
            steps_per_epoch=setting.steps_per_epoch,
        )


def _tight(setting: CountedRun, g: "Guarantee") -> dict[str, Any]:
    z = _noise(g)
    moderate = g.steps <= 10**7 and 0.05 <= z <= 1e4 and g.delta >= 1e-30 and 1e-4 <= g.epsilon <= 1e5
    if g.order is not None and not moderate:  # where it takes minutes, or overflows
        return {"epsilon": None, "says": "no tight number: dp-accounting is not asked at numbers as extreme as these"}
    grid = max(1e-5, 1e-4 * g.epsilon) if g.order is not None else None  # a second or two, where the default takes many
    release = setting.release(z)
    worst_pair = (release.law, release.adjacency, release.sampling) == (
        "gaussian",
        "replace-one",
        "without-replacement",
    )
    try:
        if worst_pair and grid is not None:
            (found,) = tight_without_replacement(release, [g.steps], delta=g.delta, interval=grid)
        else:
            spent = [(release, g.steps)]
            found = tight(spent, delta=g.delta, steps_per_epoch=setting.steps_per_epoch, interval=grid)
    except NoGuarantee as refusal:
        return {"epsilon": None, "says": f"no tight number: {refusal.why} [{refusal.id}]"}
    return {"epsilon": found.epsilon, "says": found.says}


def _noise(g: "Guarantee") -> float:
    assert g.noise_multiplier is not None  # one mechanism has one
    return g.noise_multiplier


def _section(console: Console, title: str) -> None:
    console.print()
    console.rule(Text(title, style="bold"), align="left", style="dim")


def _show_formula(console: Console, g: "Guarantee", told: dict[str, Any]) -> None:
    field(console, "theorem", f"{bound_says(g)}; `nfa eq {g.bound}` has where it stands and the tests")
    for k, line in enumerate(told["formula"]["lines"]):
        field(console, "" if k else "formula", line)
    if g.bound not in UNSAMPLED:
        field(console, "", "and where the curve without sampling is smaller, that")
    for row in told["curve"]:
        if row["order"] == g.order:
            beside = "" if g.bound in UNSAMPLED else f"; without sampling {up(row['unsampled'])}"
            field(console, "one step", f"{up(row['one_step'])} at the order {g.order:.6g}{beside}")


def _show_curve(console: Console, g: "Guarantee", told: dict[str, Any]) -> None:
    if not told["curve"]:
        console.print(Text("The curve is infinite at every order, so no order gives a finite epsilon."))
        return
    full, rest = ("#", "-") if console.options.ascii_only else ("█", "░")
    count = "steps" if g.uses == g.steps else "uses"
    many = f"Rényi epsilons add up: {g.uses} {count} cost {g.uses} times one. They grow"
    text = (
        f"{many if g.uses > 1 else 'The Rényi epsilon of the one release grows'} with the order α, and what the "
        f"conversion to (ε, δ) adds shrinks with it: {told['conversion']['lines'][0]} [{told['conversion']['id']}]. "
        "The best order balances the two."
    )
    console.print(Text(text))
    console.print()
    table = plain_table()
    for heading in ("order", "one step", f"x {g.uses}", "conversion", "epsilon"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column(f"{full} {count} {rest} conversion", overflow="crop")  # where it is narrow, the bars give way
    scale = BAR / min(3 * g.epsilon, max(row["epsilon"] for row in told["curve"])) if g.epsilon else 0.0
    for row in told["curve"]:
        best = row["order"] == g.order
        added = row["epsilon"] - row["all_uses"] if row["all_uses"] < math.inf else 0.0
        spent, whole = (round(min(scale * row[part], 9 * BAR)) if scale else 0 for part in ("all_uses", "epsilon"))
        bar = full * min(spent, whole) + rest * (whole - spent)
        bar = bar if whole <= BAR else bar[: BAR - 1] + ">"
        table.add_row(
            f"{'best ' if best else ''}{row['order']:.5g}",
            up(row["one_step"], 5),
            up(row["all_uses"], 5),
            ("-" if added < 0 else "") + up(abs(added), 5),
            up(row["epsilon"], 5),
            bar,
            style="bold" if best else "",
        )
    console.print(table)


def _show_settings(console: Console, setting: CountedRun, g: "Guarantee", rows: list[dict[str, Any]]) -> None:
    factor = {"replace-one": "2 z", "add-remove": "z / 2"}.get(setting.adjacency)
    table = plain_table()
    for heading in ("  sampling", "adjacency"):
        table.add_column(heading, no_wrap=True)
    table.add_column("epsilon", justify="right", no_wrap=True)
    if factor:
        table.add_column(f"at {factor}", justify="right", no_wrap=True)
    table.add_column("bound")
    reasons: dict[tuple[str, str], None] = {}
    for row in rows:
        cells = [f"{'>' if row['asked'] else ' '} {row['sampling']}", row["adjacency"]]
        if row["refused"]:
            id_, why = row["refused"]["id"], row["refused"]["why"].partition(";")[0]
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
    console.print(Text(_caution(setting, g, factor)))


def _caution(setting: CountedRun, g: "Guarantee", factor: str | None) -> str:
    text = (
        f"The noise multiplier is z = {_noise(g):.6g} in every row, relative to the sensitivity under that row's "
        "adjacency, so rows of different adjacency are not the same noise: in a sum of records clipped to norm C, "
        "adding or removing one moves the sum by up to C, replacing one by up to 2 C."
    )
    if factor:
        text += f" The column at {factor} is the same noise in that case."
    if setting.sampling == "none":
        text += " Name a sampling with its rate to see the other schemes too."
    return text


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
