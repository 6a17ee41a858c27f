"""Growth of the cost with width, depth, batch size, threads, K, records and jobs: exponents with intervals.

We fit the exponents to the times of the group `growth`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

DRAWS = 2000
HOW = (
    f"95 %: {DRAWS} times as many rounds are drawn from the rounds with replacement, the same for every value, and the"
    " slope is fitted to their medians"
)


def exponent(values: Sequence[float], seconds: np.ndarray) -> np.ndarray:
    """Least-squares slopes of log seconds (..., n) over log values (n,). The cost grows as value^exponent."""
    x = np.log(np.asarray(values, float))
    x = x - x.mean()
    return np.log(seconds) @ x / (x @ x)


def fitted(values: Sequence[float], rounds: np.ndarray) -> dict[str, Any]:
    """Exponent, its interval and the median seconds, from the seconds (rounds, n) for n values.

    HOW describes the interval.
    """
    rng = np.random.default_rng(0)
    again = rng.integers(0, len(rounds), (DRAWS, len(rounds)))
    slopes = exponent(values, np.median(rounds[again], axis=1))  # (DRAWS,)
    low, high = np.quantile(slopes, [0.025, 0.975])
    middle = np.median(rounds, axis=0)
    return {
        "values": list(values),
        "seconds": middle.tolist(),
        "exponent": float(exponent(values, middle)),
        "interval": [float(low), float(high)],
    }


def fit(group: dict[str, Any]) -> list[dict[str, Any]]:
    """A row {"axis", "name", ...} for each axis and contender of the group "growth", with the bytes of its steps."""
    rows = []
    for name, by_core in group["contenders"].items():
        about = next(iter(by_core.values()))
        times, taken = about.get("times", {}), about.get("bytes", {})
        axes: dict[str, list[int]] = {}
        for label in times:
            axis, value = label.split()
            axes.setdefault(axis, []).append(int(value))
        for axis, values in axes.items():
            if len(values) > 1:
                rounds = np.array([times[f"{axis} {value}"]["wall"] for value in values]).T  # (rounds, n)
                bytes_of = [taken.get(f"{axis} {value}") for value in values]
                rows.append({"axis": axis, "name": name, **fitted(values, rounds), "bytes": bytes_of})
    return rows


def has_memory(row: dict[str, Any]) -> bool:
    """Whether a row reports how the memory of a step grows with the batch size."""
    return row["axis"] == "batch" and None not in row.get("bytes", [None])


def table(rows: list[dict[str, Any]]) -> list[str]:
    """The exponents as lines of text."""
    lines = []
    for row in sorted(rows, key=lambda row: row["axis"]):
        first, last = (1e3 * row["seconds"][i] for i in (0, -1))
        span = f"{row['values'][0]} to {row['values'][-1]}"
        low, high = row["interval"]
        slope = f"exponent {row['exponent']:5.2f} ({low:.2f} to {high:.2f})"
        if has_memory(row):
            slope += "   {:7.1f} to {:7.1f} MB".format(*(row["bytes"][i] / 1e6 for i in (0, -1)))
        lines.append(f"{row['axis']:8s} {span:12s} {row['name']:12s} {first:9.3f} to {last:9.3f} ms   {slope}")
    return lines
