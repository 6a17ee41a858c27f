"""DP-DFA with tau_h from the sensitivity that Lee & Kifer (2020) print: what it claims, and what can be proved."""

from collections.abc import Mapping
from typing import Any

from nfa.experiments.experiment import Trained
from nfa.experiments.report import proved_epsilon
from nfa.mechanism import NoGuarantee
from nfa.rules import dp_dfa


def notes(runs: Trained, gains: str) -> list[str]:
    """A line of Markdown on the runs of the reading "printed" that have noise; none without such.

    Parameters
    ----------
    runs : of one data set
    gains : their points over DP-BP, in words; may be empty
    """
    rows: dict[tuple[str, ...], Trained] = {}
    for cell, record in runs:
        rows.setdefault(tuple(cell.key[name] for name in ("rule", "sigma", "reading")), []).append((cell, record))
    proved = {place: proved_epsilon(own)["epsilon"] for place, own in rows.items()}
    told = []
    for (rule, sigma, reading), epsilon in proved.items():
        if (rule, reading) == ("DP-DFA", "printed") and sigma != "0":
            claimed = proved.get(("DP-BP", sigma, "sound"))
            told.append(f"sigma {sigma}: {epsilon} proved{f', {claimed} if the formula held' if claimed else ''}")
    if not told:
        return []
    return [
        f"- DP-DFA with tau_h from the printed sensitivity. Its claim is refused by name: {refusal()} The epsilon"
        " that the corrected sensitivity proves (where sigmoid layers cannot reach tau_h, a lower one would hold):"
        f" {'; '.join(told)}.{f' Its accuracy less that of DP-BP, in points: {gains}.' if gains else ''}"
    ]


def refusal() -> str:
    """Why no mechanism is built on the printed overall sensitivity, with the id of the statement."""
    given: Mapping[str, Any] = {"net": None, "B": [], "m": 1, "sigma": 1.0, "tau_h": 1.0, "adjacency": "replace-one"}
    try:
        dp_dfa.mechanism(**given, sensitivity="printed", sampling="none", sampling_rate=1.0)
    except NoGuarantee as refused:
        return f"{refused.why} (`{refused.id}`)."
    raise AssertionError("the printed sensitivity is refused whatever the network")
