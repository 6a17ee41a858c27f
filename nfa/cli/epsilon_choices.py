"""What `nfa epsilon --explain` says of choices: what bound, orders, conversion and pure composition each are worth."""

import math
import warnings
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from nfa.cli.epsilon_options import CountedRun
from nfa.cli.layout import plain_table
from nfa.mechanism import Mechanism
from nfa.privacy import accountant, rdp, theorems
from nfa.privacy.pure import PURE, ZERO
from nfa.privacy.rounding import up

if TYPE_CHECKING:
    from nfa.privacy.accountant import Guarantee

LAST = {PURE: "pure composition", ZERO: "total variation: epsilon 0"}


def choices(setting: CountedRun, release: Mechanism, answer: "Guarantee") -> list[dict[str, Any]]:
    """One choice more a row, from every use counted in full to the smallest that is proved: its epsilon, what it saves.

    A row that is the answer is marked ``asked``; ``saves`` is None where the row before is infinite.
    """
    base, first = theorems.base_bound(release), theorems.choose(release, setting.bound)
    best = theorems.smallest(release, setting.bound)
    papers = {"conversion": "mironov2017", "orders": setting.orders}
    ask: list[tuple[str, dict[str, Any]]] = [("every use in full", papers | {"bound": base.id, "orders": None})]
    if first.id != base.id:
        ask.append(("amplification by sampling", papers | {"bound": first.id}))
    if best.id != first.id:
        ask.append(("orders that are no integers", papers | {"bound": best.id}))
    ask.append(("the sharper conversion", papers | {"bound": best.id, "conversion": "canonne2020"}))
    ask.append(("all that is proved", {"bound": setting.bound, "conversion": None, "orders": setting.orders}))
    rows: list[dict[str, Any]] = []
    for choice, how in ask:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rdp.OrderAtGridEnd)
            found = accountant.epsilon(
                [(release, setting.steps)], delta=setting.delta, steps_per_epoch=setting.steps_per_epoch, **how
            )
        before = rows[-1]["epsilon"] if rows else math.inf
        if how["conversion"] is None and found.epsilon >= before * (1 - 1e-12):
            rows[-1]["asked"] |= _same(found, answer)
            break
        rows.append(
            {
                "choice": LAST.get(found.conversion, choice),
                "epsilon": found.epsilon,
                "saves": before - found.epsilon if before < math.inf else None,
                "bound": found.bound,
                "conversion": found.conversion,
                "order": found.order,
                "asked": _same(found, answer),
            }
        )
    return rows


def show_choices(console: Console, rows: list[dict[str, Any]]) -> None:
    """Print the rows; each has the choices of those above it too."""
    table = plain_table()
    for heading in ("  choice", "epsilon", "saves", "bound", "conversion"):
        table.add_column(heading, justify="right" if heading in ("epsilon", "saves") else "left")
    for row in rows:
        saves = "" if row["saves"] is None else ("-" if row["saves"] < 0 else "") + up(abs(row["saves"]), 5)
        cells = [f"{'>' if row['asked'] else ' '} {row['choice']}", up(row["epsilon"], 5), saves]
        table.add_row(*cells, row["bound"], row["conversion"], style="bold" if row["asked"] else "")
    console.print(table)
    console.print()
    console.print(Text("Each row keeps the choices of the rows above it. Without options you get the last one."))


def _same(one: "Guarantee", other: "Guarantee") -> bool:
    return (one.epsilon, one.conversion, one.bound) == (other.epsilon, other.conversion, other.bound)
