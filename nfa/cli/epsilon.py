"""The command `nfa epsilon`: what a run spends, or how much noise it needs, and on what that depends."""

import math
import warnings
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from nfa.cli import epsilon_formulas
from nfa.cli.epsilon_options import CountedRun, check, check_positive, field
from nfa.cli.layout import output
from nfa.cli.terminal import AsJson, print_json, tell
from nfa.privacy.rounding import up

if TYPE_CHECKING:
    from nfa.privacy.accountant import Guarantee


def epsilon(
    sampling: Annotated[
        str,
        typer.Option(
            metavar="SCHEME", show_default=False, help="none, poisson, without-replacement or epoch-partition."
        ),
    ],
    adjacency: Annotated[
        str,
        typer.Option(
            metavar="RELATION",
            show_default=False,
            help="What neighbouring data sets are: replace-one, add-remove or replace-label.",
        ),
    ],
    delta: Annotated[float, typer.Option(show_default=False, help="The delta of (epsilon, delta).")],
    noise_multiplier: Annotated[
        float | None,
        typer.Option(
            show_default=False,
            help="Standard deviation of the noise / sensitivity under this adjacency (l2; for laplace l1).",
        ),
    ] = None,
    target_epsilon: Annotated[
        float | None, typer.Option(show_default=False, help="Solve for the noise multiplier that keeps to it.")
    ] = None,
    steps: Annotated[int | None, typer.Option(show_default=False, help="Updates in all.")] = None,
    epochs: Annotated[
        int | None, typer.Option(show_default=False, help="Instead of --steps: floor(N / BATCH) steps each.")
    ] = None,
    q: Annotated[
        float | None, typer.Option(show_default=False, help="Sampling rate, the share of the records in a batch.")
    ] = None,
    n: Annotated[int | None, typer.Option(show_default=False, help="Instead of --q: number of records ...")] = None,
    batch: Annotated[
        int | None, typer.Option(show_default=False, help="... and batch size, under poisson the expected one.")
    ] = None,
    bound: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            show_default=False,
            help="Theorem for one step, such as wbk2019:thm27.  [default: what gives the smallest epsilon]",
        ),
    ] = None,
    conversion: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            show_default=False,
            help="mironov2017, as in the papers, with bound and orders of theirs, or canonne2020 (smaller)."
            "  [default: the smallest epsilon that is proved]",
        ),
    ] = None,
    law: Annotated[str, typer.Option(help="Of the noise: gaussian or laplace.")] = "gaussian",
    orders: Annotated[
        str | None,
        typer.Option(
            show_default=False,
            help="Rényi orders to try, such as 2-64 or 1.5,2,8-32.  [default: all that the theorems allow]",
        ),
    ] = None,
    accountant: Annotated[
        str, typer.Option(metavar="NAME", help="rdp, or pld: privacy losses by dp-accounting (extra pld), often less.")
    ] = "rdp",
    explain: Annotated[
        bool, typer.Option("--explain", help="Show where the number comes from, and what others it stands among.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Count the privacy that a run spends, or find the noise for a target.

    What has no theorem is refused. Nothing is assumed of the adjacency: an epsilon means something under one only.

    Example:
    nfa epsilon --sampling without-replacement --adjacency replace-one \\
      --n 60000 --batch 512 --steps 5850 --delta 1e-5 --noise-multiplier 1.7
    nfa epsilon --sampling poisson --adjacency add-remove --q 0.01 \\
      --steps 1000 --delta 1e-5 --target-epsilon 3 --explain
    """
    setting = check(
        sampling=sampling,
        adjacency=adjacency,
        law=law,
        q=q,
        n=n,
        batch=batch,
        steps=steps,
        epochs=epochs,
        delta=delta,
        bound=bound,
        conversion=conversion,
        orders=orders,
        accountant=accountant,
    )
    if (noise_multiplier is None) == (target_epsilon is None):
        raise ValueError("give exactly one of --noise-multiplier and --target-epsilon")
    if noise_multiplier is not None:
        check_positive("--noise-multiplier", noise_multiplier)
    if target_epsilon is not None:
        check_positive("--target-epsilon", target_epsilon)

    if accountant == "pld" and (target_epsilon is not None or explain):
        option = "--explain" if explain else "--target-epsilon"
        raise ValueError(f"{option} is for the accountant rdp; with pld give --noise-multiplier alone")

    guarantee, notes = count(setting, noise_multiplier, target_epsilon)
    told: dict[str, Any] = {}
    if explain:
        from nfa.cli import epsilon_explained

        told = {"explain": epsilon_explained.explain(setting, guarantee)}
    for note in notes:
        tell(note)
    if json:
        print_json(guarantee.summary() | told)
        return
    console = output()
    show(console, setting, guarantee, target_epsilon)
    if explain:
        epsilon_explained.show(console, setting, guarantee, told["explain"])
    else:
        more = " --explain shows where this one is from." if accountant == "rdp" else ""
        console.print(Text(f"\nEpsilons are rounded up; --json has all digits.{more}"))


def count(
    setting: CountedRun, noise_multiplier: float | None, target_epsilon: float | None
) -> tuple["Guarantee", list[str]]:
    """What the accountant says, with this noise or with the least that keeps to the target, and what it warns of."""
    from nfa.privacy import accountant
    from nfa.privacy.rdp import OrderAtGridEnd

    if setting.accountant == "pld":
        from nfa.privacy.tight import privacy_losses

        assert noise_multiplier is not None
        spent = [(setting.release(noise_multiplier), setting.steps)]
        return privacy_losses(spent, delta=setting.delta, steps_per_epoch=setting.steps_per_epoch), []
    how: dict[str, Any] = {
        "delta": setting.delta,
        "bound": setting.bound,
        "conversion": setting.conversion,
        "orders": setting.orders,
        "steps_per_epoch": setting.steps_per_epoch,
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", OrderAtGridEnd)
        if noise_multiplier is not None:
            guarantee = accountant.epsilon([(setting.release(noise_multiplier), setting.steps)], **how)
        else:
            assert target_epsilon is not None
            guarantee = accountant.calibrate(
                target_epsilon=target_epsilon,
                steps=setting.steps,
                adjacency=setting.adjacency,
                sampling=setting.sampling,
                sampling_rate=setting.rate,
                law=setting.law,
                **how,
            )
    told = [str(warning.message) for warning in caught if issubclass(warning.category, OrderAtGridEnd)]
    return guarantee, list(dict.fromkeys(told))


def show(console: Console, setting: CountedRun, guarantee: "Guarantee", target_epsilon: float | None) -> None:
    """Print the number with everything that it depends on."""
    from nfa.privacy.theorems import ADJACENCY_MEANS, SAMPLING_MEANS

    g, z = guarantee, guarantee.noise_multiplier
    assert z is not None
    headline = f"epsilon = {up(g.epsilon)} at delta = {_whole(g.delta)}"
    if target_epsilon is not None:
        headline = f"noise multiplier = {up(z)} keeps epsilon to {_whole(target_epsilon)} at delta = {_whole(g.delta)}"
    console.print(Text(headline, style="bold"))
    console.print()
    q = f"{setting.rate:.6g}"
    if setting.n is not None:
        q = f"{setting.batch} / {setting.n}" + ("" if setting.rate == 1 else f" = {q}")
    rate = "" if setting.sampling == "none" else f"; q = {q}"
    per = "standard deviation / sensitivity"
    lines = {
        "adjacency": f"{g.adjacency}: {ADJACENCY_MEANS[g.adjacency]}",
        "sampling": f"{g.sampling}: {SAMPLING_MEANS[g.sampling]}{rate}",
        "steps": _steps(setting, g),
        "noise": f"{setting.law}, noise multiplier {f'{z:.10g}' if target_epsilon is None else up(z)} = {per}",
        "bound": f"{g.bound}: {epsilon_formulas.bound_says(g)}",
        "conversion": _conversion(setting, g),
    }
    for label, text in lines.items():
        field(console, label, text)
    if g.epsilon == math.inf:
        console.print()
        console.print(Text("The bound is infinite at every order: this is no guarantee. It takes more noise."))


def _conversion(setting: CountedRun, g: "Guarantee") -> str:
    from nfa.privacy.pure import PURE, ZERO
    from nfa.privacy.tight import PLD

    if g.epsilon == math.inf:
        return g.conversion
    text = {
        PURE: "pure composition: epsilons at the order infinity add up, and hold for every delta",
        ZERO: "bretagnolle1979: the total variation is at most delta, so that epsilon is 0",
        PLD: "pld: privacy losses on a grid, rounded up; no Rényi order is involved",
    }.get(g.conversion) or f"{g.conversion}, optimal order {g.order:.6g}"
    least = setting.conversion is None and setting.accountant == "rdp"
    return text + ("; the smallest of all that is proved here" if least and not setting.orders else "")


def _steps(setting: CountedRun, g: "Guarantee") -> str:
    per = setting.steps_per_epoch
    if setting.sampling == "none" or (per is None and setting.sampling != "epoch-partition"):
        return str(g.steps)
    if setting.sampling != "epoch-partition":
        return f"{g.steps}, {g.steps / (per or 1):.6g} times the floor(n / batch) = {per} of an epoch"
    of = "" if per is None else f" of floor(n / batch) = {per}"
    text = f"{g.steps}, in {g.uses} epoch{'s' * (g.uses != 1)}{of}; a record is used at most once in each"
    if per is not None and g.steps % per:
        text += "; if yours end in a short batch, give --epochs instead"
    return text


def _whole(x: float) -> str:
    """A number with all its digits: ten where these are all."""
    return short if float(short := f"{x:.10g}") == x else repr(x)
