"""What the command `nfa epsilon` counts, checked option by option, and numbers and fields as it prints them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from nfa.cli.layout import hanging
from nfa.cli.numbers import one, whole

if TYPE_CHECKING:
    from nfa.mechanism import Mechanism

LABEL_WIDTH = 12
LARGEST_COUNT = 10**15  # of records or steps: an integer that a float still holds exactly
LARGEST_SIZE = 1e100  # of a noise multiplier or an epsilon
LARGEST_ORDER = 4096  # the bounds at integer orders take seconds there, and four times as long for twice as many


@dataclass(frozen=True, kw_only=True)
class CountedRun:
    """What is counted, checked: everything but the noise.

    Parameters
    ----------
    sampling, adjacency, law, delta, bound, conversion : as in `nfa.privacy.accountant.calibrate`
    rate : float in (0, 1], share of the records in a batch; 1 for sampling "none"
    n, batch : int, records and batch size; None where the rate was given
    steps : int
    orders : list of Renyi orders; None: the default of the bound
    accountant : "rdp", Renyi divergences with pure composition, or "pld", privacy losses by dp-accounting
    """

    sampling: str
    adjacency: str
    law: str
    rate: float
    n: int | None
    batch: int | None
    steps: int
    delta: float
    bound: str | None
    conversion: str | None
    orders: Sequence[float] | None
    accountant: str = "rdp"

    @property
    def steps_per_epoch(self) -> int | None:
        """floor(n / m); None where only the rate is known, from which the accountant takes the same."""
        return None if self.n is None or self.batch is None else self.n // self.batch

    def release(self, noise_multiplier: float, **change: Any) -> "Mechanism":
        """One step with this noise, perhaps under another sampling or adjacency."""
        from nfa.mechanism import Mechanism

        sampling = change.get("sampling", self.sampling)
        return Mechanism(
            law=self.law,
            sensitivity=1.0,
            adjacency=change.get("adjacency", self.adjacency),
            noise_std=noise_multiplier,
            sampling=sampling,
            sampling_rate=1.0 if sampling == "none" else self.rate,
        )


def check(
    *,
    sampling: str,
    adjacency: str,
    law: str,
    q: float | None,
    n: int | None,
    batch: int | None,
    steps: int | None,
    epochs: int | None,
    delta: float,
    bound: str | None,
    conversion: str | None,
    orders: str | None,
    accountant: str,
) -> CountedRun:
    """The setting, or a ValueError that names the option at fault."""
    from nfa.mechanism import ADJACENCIES, LAWS, REJECTION, SCHEMES, NoGuarantee
    from nfa.privacy.rdp import CONVERSIONS
    from nfa.privacy.theorems import BOUNDS, refuse_conjecture

    if sampling == REJECTION:
        raise NoGuarantee("dpulr2024:thm1", "no theorem here counts batches drawn again until they are large enough")
    _one_of("--sampling", sampling, SCHEMES)
    _one_of("--adjacency", adjacency, ADJACENCIES)
    _one_of("--law", law, LAWS)
    if conversion is not None:
        _one_of("--conversion", conversion, tuple(CONVERSIONS))
    _one_of("--accountant", accountant, ("rdp", "pld"))
    for option, value in {"--bound": bound, "--conversion": conversion, "--orders": orders}.items():
        if accountant == "pld" and value is not None:
            raise ValueError(f"{option} is for the accountant rdp; pld composes privacy losses and takes none")
    if bound is not None:
        refuse_conjecture(bound)
        _one_of("--bound", bound, tuple(b.id for b in BOUNDS))
    if not 0 < delta < 1:
        raise ValueError(f"--delta must be in (0, 1), got {delta}")
    rate = _rate(sampling, q, n, batch)
    return CountedRun(
        sampling=sampling,
        adjacency=adjacency,
        law=law,
        rate=rate,
        n=n,
        batch=batch,
        steps=_steps(steps, epochs, n, batch),
        delta=delta,
        bound=bound,
        conversion=conversion,
        orders=None if orders is None else parse_orders(orders),
        accountant=accountant,
    )


def _steps(steps: int | None, epochs: int | None, n: int | None, batch: int | None) -> int:
    """The number of steps, given by itself or as epochs of floor(n / batch) steps."""
    if steps is not None and epochs is None:
        _count("--steps", steps)
        return steps
    if steps is not None or epochs is None:
        raise ValueError("give exactly one of --steps and --epochs")
    _count("--epochs", epochs)
    if n is None or batch is None:
        raise ValueError("--epochs needs --n and --batch, for an epoch is floor(n / batch) steps; or give --steps")
    return epochs * (n // batch)


def parse_orders(text: str) -> list[float]:
    """Renyi orders as they are typed: numbers and ranges of integers, separated by commas.

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
            raise ValueError(f"--orders must be above 1 and at most {LARGEST_ORDER}, got {part.strip()}")
        orders += [float(k) for k in range(int(ends[0]), int(ends[-1]) + 1)] if dash else ends
    if not orders or any(b <= a for a, b in pairwise(orders)):
        raise ValueError(f"--orders must increase, got {text!r}")
    return orders


def field(console: Console, label: str, text: str | Text) -> None:
    """Print a label with its text beside it."""
    console.print(hanging(Text(label, style="cyan"), text, LABEL_WIDTH))


def _rate(sampling: str, q: float | None, n: int | None, batch: int | None) -> float:
    if q is not None and (n is not None or batch is not None):
        raise ValueError("give --q, or --n and --batch, not both")
    if (n is None) != (batch is None):
        missing, there = ("--n", "--batch") if n is None else ("--batch", "--n")
        raise ValueError(f"{there} needs {missing}: the sampling rate is batch / n")
    rate = 1.0
    if n is not None and batch is not None:
        _count("--n", n)
        if not 1 <= batch <= n:
            raise ValueError(f"--batch must be between 1 and the {n} records, got {batch}")
        rate = batch / n
    elif q is not None:
        if not 1 / LARGEST_COUNT <= q <= 1:
            raise ValueError(f"--q must be in (0, 1], and at least {1 / LARGEST_COUNT:.0e}, got {q}")
        rate = q
    elif sampling != "none":
        raise ValueError(f"--sampling {sampling} needs a rate: give --q, or --n and --batch")
    if sampling == "none" and rate != 1:
        raise ValueError(f"--sampling none has every record in every step, got the rate {rate:.6g}; leave it out")
    return rate


def _one_of(option: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{option} must be one of {', '.join(allowed)}, got {value!r}")


def check_positive(option: str, value: float) -> None:
    """Raise ValueError unless the value of an option is positive and of a size whose square is finite."""
    if not 0 < value <= LARGEST_SIZE:
        raise ValueError(f"{option} must be positive and finite, at most {LARGEST_SIZE:g}, got {value}")


def _count(option: str, value: int | None) -> None:
    if value is None or not 1 <= value <= LARGEST_COUNT:
        raise ValueError(f"{option} must be between 1 and {LARGEST_COUNT:.0e}, got {value}")
