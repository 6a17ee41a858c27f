"""The command `nfa epsilon`: compute the epsilon of a run, or the noise that the run needs for a target epsilon."""

import math
import warnings
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from nfa.cli.layout import field, output
from nfa.cli.numbers import one, whole
from nfa.cli.terminal import AsJson, option, print_json, tell
from nfa.privacy.rounding import down, up

if TYPE_CHECKING:
    from nfa.privacy.accountant import Guarantee
    from nfa.privacy.counted_run import CountedRun

LARGEST_COUNT = 10**15  # largest number of records or steps, which a float represents exactly
LARGEST_SIZE = 1e100  # largest noise multiplier or epsilon
LARGEST_ORDER = 4096  # at this order, the bounds take seconds. Their time grows with the square of the order


def epsilon(
    sampling: Annotated[str, option(metavar="SCHEME", help="Sampling scheme of the batches: {nfa.sampling.SCHEMES}.")],
    adjacency: Annotated[
        str, option(metavar="RELATION", help="Difference between neighbouring data sets: {nfa.mechanism.ADJACENCIES}.")
    ],
    delta: Annotated[float, option(help="Delta of the (epsilon, delta) guarantee.")],
    noise_multiplier: Annotated[
        float | None,
        option(
            help=(
                "Standard deviation of the noise divided by the sensitivity under the adjacency. The norm of the"
                " sensitivity is l2 or, for laplace noise, l1."
            )
        ),
    ] = None,
    target_epsilon: Annotated[
        float | None, option(help="Largest allowed epsilon, from which the command computes the noise multiplier.")
    ] = None,
    steps: Annotated[int | None, option(help="Total number of updates.")] = None,
    epochs: Annotated[int | None, option(help="Number of epochs, as in `nfa train`. Give --epochs or --steps.")] = None,
    q: Annotated[
        float | None, option(help="Sampling rate: the expected share of the records that a batch contains.")
    ] = None,
    n: Annotated[int | None, option(help="Number of records. Give --n and --batch instead of --q.")] = None,
    batch: Annotated[
        int | None,
        option(help="Batch size or, if the sizes vary, the expected size. Give --n and --batch instead of --q."),
    ] = None,
    bound: Annotated[
        str | None,
        option(
            metavar="ID",
            help="Theorem for one step, such as wbk2019:thm27.  [default: the theorem that gives the smallest epsilon]",
        ),
    ] = None,
    conversion: Annotated[
        str | None,
        option(
            metavar="NAME",
            help=(
                "Conversion from Rényi divergences to (epsilon, delta): mironov2017 or canonne2020. The epsilon of"
                " canonne2020 is smaller. The papers use mironov2017 with their own bounds and orders.  [default:"
                " the conversion that gives the smallest epsilon]"
            ),
        ),
    ] = None,
    law: Annotated[str, typer.Option(help="Law of the noise: {nfa.mechanism.LAWS}.")] = "gaussian",
    orders: Annotated[
        str | None,
        option(help="Rényi orders to try, such as 2-64 or 1.5,2,8-32.  [default: all orders that the theorems allow]"),
    ] = None,
    accountant: Annotated[
        str | None,
        option(
            metavar="NAME",
            help=(
                "Method to compute epsilon: rdp (Rényi differential privacy) or pld (privacy loss distributions)."
                "  [default: the method that gives the smaller epsilon]"
            ),
        ),
    ] = None,
    explain: Annotated[
        bool,
        typer.Option(
            "--explain", help="Explain the computation of the printed number, and show the epsilons of other settings."
        ),
    ] = False,
    plot: Annotated[
        Path | None,
        option(
            metavar="FILE", help="File (.png, .pdf or .svg) for a picture of delta over epsilon for each accountant."
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Compute the epsilon of a run, or the noise for a target epsilon.

    The command refuses settings that no theorem covers. There is no default adjacency, because the same run has
    different epsilons under different adjacencies.

    Example:
    nfa epsilon --sampling without-replacement --adjacency replace-one \\
      --n 60000 --batch 512 --steps 5850 --delta 1e-5 --noise-multiplier 1.7
    nfa epsilon --sampling poisson --adjacency add-remove --q 0.01 \\
      --steps 1000 --delta 1e-5 --target-epsilon 3 --explain
    """
    _check_names(sampling, adjacency, law, conversion, accountant, bound)
    for name, value in {"--bound": bound, "--conversion": conversion, "--orders": orders}.items():
        if accountant == "pld" and value is not None:
            raise ValueError(f"{name} has an effect only with the accountant rdp: leave out {name} or --accountant pld")
    if not 0 < delta < 1:
        raise ValueError(f"--delta must be in (0, 1), got {delta}")
    from nfa.privacy.accountant import caution
    from nfa.privacy.counted_run import CountedRun

    run = CountedRun(
        sampling=sampling,
        adjacency=adjacency,
        law=law,
        rate=_rate(sampling, q, n, batch),
        n=n,
        batch=batch,
        steps=_steps(sampling, steps, epochs, n, batch),
        epochs=epochs,
        delta=delta,
        bound=bound,
        conversion=conversion,
        orders=None if orders is None else parse_orders(orders),
        accountant=accountant,
    )
    if (noise_multiplier is None) == (target_epsilon is None):
        raise ValueError("give exactly one of --noise-multiplier and --target-epsilon")
    for name, size in {"--noise-multiplier": noise_multiplier, "--target-epsilon": target_epsilon}.items():
        if size is not None and not 0 < size <= LARGEST_SIZE:  # the square of the size is finite
            raise ValueError(f"{name} must be positive and finite, at most {LARGEST_SIZE:g}, got {size}")

    if plot is not None:
        from nfa.cli import epsilon_drawn

        epsilon_drawn.check_picture(plot)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if noise_multiplier is not None:
            guarantee = run.guarantee(noise_multiplier)
        else:
            assert target_epsilon is not None
            guarantee = run.within(target_epsilon)
    if n is not None and (too_large := caution(delta, n)):
        tell(too_large)
    told = {"explain": run.explain(guarantee)} if explain else {}
    for note in dict.fromkeys(str(warning.message) for warning in caught):
        tell(note)
    if json:
        print_json(guarantee.summary() | told)
    else:
        _print(run, guarantee, target_epsilon, told.get("explain"))
    if plot is not None:
        epsilon_drawn.draw(plot, run, guarantee)
        tell(f"The picture of delta over epsilon is in {plot}.")


def _print(run: "CountedRun", guarantee: "Guarantee", target_epsilon: float | None, explained: dict | None) -> None:
    console = output()
    show(console, run, guarantee, target_epsilon)
    if explained is not None:
        from nfa.cli import epsilon_explained

        epsilon_explained.show(console, run, guarantee, explained)
    else:
        more = "--explain shows how this number is computed."
        console.print(Text(f"\nEpsilons are rounded up. --json prints all digits. {more}"))


def _check_names(
    sampling: str, adjacency: str, law: str, conversion: str | None, accountant: str | None, bound: str | None
):
    """Raise ValueError if the value of an option is unknown, or NoGuarantee if no theorem covers the value."""
    from nfa.mechanism import ADJACENCIES, LAWS, refuse_uncounted
    from nfa.privacy.accountant import ACCOUNTANTS
    from nfa.privacy.rdp import CONVERSIONS
    from nfa.privacy.theorems import BOUNDS, refuse_conjecture
    from nfa.sampling import SCHEMES

    refuse_uncounted(sampling)
    refuse_conjecture(bound)
    for name, value, allowed in (
        ("--sampling", sampling, SCHEMES),
        ("--adjacency", adjacency, ADJACENCIES),
        ("--law", law, LAWS),
        ("--conversion", conversion, CONVERSIONS),
        ("--accountant", accountant, ACCOUNTANTS),
        ("--bound", bound, [b.id for b in BOUNDS]),
    ):
        if value is not None and value not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")


def _rate(sampling: str, q: float | None, n: int | None, batch: int | None) -> float:
    from nfa.sampling import ALL_RECORDS, SAMPLERS

    everybody = sampling in ALL_RECORDS
    if q is not None and (n is not None or batch is not None):
        raise ValueError("give the sampling rate once: either --q, or --n and --batch")
    if (n is None) != (batch is None):
        missing, there = ("--n", "--batch") if n is None else ("--batch", "--n")
        raise ValueError(f"{there} needs {missing}, because the sampling rate is batch / n: give {missing}")
    rate = 1.0
    if n is not None and batch is not None:
        _count("--n", n)
        if not 1 <= batch <= n:
            raise ValueError(f"--batch must be between 1 and the number of records, {n}, got {batch}")
        rate = SAMPLERS[sampling].rate_of(batch, n)
    elif q is not None:
        if not 1 / LARGEST_COUNT <= q <= 1:
            raise ValueError(f"--q must be in (0, 1], and at least {1 / LARGEST_COUNT:.0e}, got {q}")
        rate = q
    elif not everybody:
        raise ValueError(f"--sampling {sampling} needs a sampling rate: give --q, or --n and --batch")
    if everybody and rate != 1:
        raise ValueError(
            f"the sampling rate must be 1 with --sampling {sampling}, got {rate:.6g}. Every step uses all records:"
            " leave out --q, --n and --batch"
        )
    return rate


def _steps(sampling: str, steps: int | None, epochs: int | None, n: int | None, batch: int | None) -> int:
    """Return the number of steps, which --steps or --epochs determines."""
    from nfa.sampling import SAMPLERS

    if steps is not None and epochs is None:
        _count("--steps", steps)
        return steps
    if steps is not None or epochs is None:
        raise ValueError("give exactly one of --steps and --epochs")
    _count("--epochs", epochs)
    if n is None or batch is None:
        raise ValueError(
            "--epochs needs --n and --batch, which determine the steps of an epoch: give --n and --batch, or give"
            " --steps"
        )
    return epochs * SAMPLERS[sampling].steps_of_epoch(batch, n)


def _count(name: str, value: int) -> None:
    if not 1 <= value <= LARGEST_COUNT:
        raise ValueError(f"{name} must be between 1 and {LARGEST_COUNT:.0e}, got {value}")


def parse_orders(text: str) -> list[float]:
    """Return the Renyi orders in a text of numbers and ranges of integers, separated by commas.

    Examples
    --------
    >>> parse_orders("1.5,2-4,8")
    [1.5, 2.0, 3.0, 4.0, 8.0]
    """
    orders: list[float] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        try:
            ends = (whole(first), whole(last)) if dash else (float(one(first)),)
        except ValueError:
            raise ValueError(f"--orders must be numbers and ranges such as 1.5,2,8-32, got {text!r}") from None
        if not all(1 < end <= LARGEST_ORDER for end in ends):
            raise ValueError(f"each order in --orders must be above 1 and at most {LARGEST_ORDER}, got {part.strip()}")
        orders += [float(k) for k in range(int(ends[0]), int(ends[-1]) + 1)] if dash else ends
    if not orders or any(b <= a for a, b in pairwise(orders)):
        raise ValueError(f"the orders in --orders must increase, got {text!r}")
    return orders


def show(console: Console, run: "CountedRun", g: "Guarantee", target_epsilon: float | None) -> None:
    """Print the epsilon or the noise multiplier, with the settings that determine this number."""
    from nfa.privacy.counted_run import bound_says
    from nfa.privacy.theorems import ADJACENCY_MEANS
    from nfa.sampling import SAMPLERS

    z, sampler = g.noise_multiplier, SAMPLERS[g.sampling]
    assert z is not None
    headline = f"epsilon = {up(g.epsilon)} at delta = {_whole(g.delta)}"
    if target_epsilon is not None:
        headline = (
            f"noise multiplier = {up(z)} gives epsilon at most {_whole(target_epsilon)} at delta = {_whole(g.delta)}"
        )
    console.print(Text(headline, style="bold"))
    console.print()
    q = f"{run.rate:.6g}"
    if run.n is not None and run.batch is not None and run.rate == run.batch / run.n:
        q = f"{run.batch} / {run.n}" + ("" if run.rate == 1 else f" = {q}")
    rate = "" if sampler.all_records else f"; q = {q}"
    multiplier = f"{z:.10g}" if target_epsilon is None else up(z)
    field(console, "adjacency", f"{g.adjacency}: {ADJACENCY_MEANS[g.adjacency]}")
    field(console, "sampling", f"{g.sampling}: {sampler.does}{rate}")
    field(console, "steps", _steps_in_words(run, g))
    field(console, "noise", f"{run.law}, noise multiplier {multiplier} = standard deviation / sensitivity")
    field(console, "bound", f"{g.bound}: {bound_says(g)}")
    field(console, "conversion", _conversion(run, g))
    if g.epsilon == math.inf:
        console.print()
        console.print(Text("The bound is infinite at every order, so there is no guarantee. Use more noise."))


def _conversion(run: "CountedRun", g: "Guarantee") -> str:
    from nfa.privacy.accountant import PLD
    from nfa.privacy.counted_run import least_says
    from nfa.privacy.pure import IN_WORDS

    if g.epsilon == math.inf:
        return g.conversion
    if g.conversion == PLD:
        assert g.at_least is not None
        return f"pld: privacy losses composed on a grid, rounded up. {_sentence(least_says(g))} {down(g.at_least)}"
    text = IN_WORDS.get(g.conversion) or f"{g.conversion}, optimal order {g.order:.6g}"
    named = run.accountant or run.conversion or run.orders or run.bound
    return text + ("" if named else ". This is the smallest epsilon that nfa can prove")


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def _steps_in_words(run: "CountedRun", g: "Guarantee") -> str:
    from nfa.sampling import SAMPLERS

    sampler, per = SAMPLERS[run.sampling], run.steps_per_epoch
    if sampler.once_an_epoch:
        of = ""
        if per is not None:
            of = f" of {per} step{'s' * (per != 1)}" if run.epochs else f" of floor(n / batch) = {per}"
        text = f"{g.steps}, in {g.uses} epoch{'s' * (g.uses != 1)}{of}. A record is used at most once in each epoch"
        short = per is not None and g.steps % per
        return text + (". If your epochs end in a short batch, give --epochs instead of --steps" if short else "")
    if sampler.all_records or per is None:
        return str(g.steps)
    return f"{g.steps}, {g.steps / per:.6g} epoch{'s' * (g.steps != per)} of {per} step{'s' * (per != 1)}"


def _whole(x: float) -> str:
    """Return a number as text.

    The text has at most ten digits if these digits represent the number exactly. Otherwise, the text has all digits.
    """
    return short if float(short := f"{x:.10g}") == x else repr(x)
