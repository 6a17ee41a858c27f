"""What a secure run counts for floats: the rounding of its rule's sums, and the grid of its noise."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from nfa.mechanism import Mechanism, Release
from nfa.network import Net
from nfa.rules.spec import RuleSpec
from nfa.sensitivity.rounding import Rounding, check_norm, check_settings, rounding

# Under which a rule states the norm of one record's term, and batches that any rule knows: the term does not depend on
# how batches are drawn.
OF_A_TERM = {"sampling": "none", "sampling_rate": 1.0}


def rounding_of(rule: RuleSpec, bound: dict[str, Any], net: Net, *, part: int, records: int) -> Rounding:
    """What rounding adds to the sensitivity of a rule in a secure run.

    Source: [ours:rounding]

    Parameters
    ----------
    rule : RuleSpec
    bound : its settings, as the run has bound them, with some noise
    net : Net
    part : int >= 1, examples of a part
    records : int >= 1, at most in a batch: `nfa.sampling.most_records`

    Returns
    -------
    rounding : of a rule from outside it counts the grid alone, for nfa has not checked what the rule adds up

    Raises
    ------
    NoGuarantee : if the rule has no bound on a record's term, or the norm of a feedback matrix is not proved
    ValueError : if a setting is out of the theorem's range, or the rule's mechanism has another law
    """
    if rule.from_outside:
        return Rounding(term=0.0, terms=Fraction(0), sums=Fraction(0), d=net.n_parameters)
    check_settings((one.name, bound[one.name]) for one in rule.settings if one.name in bound)
    one = of_a_term(rule, bound, net)
    if "B" in rule.mechanism_defaults:
        for B in bound["B"]:
            if B is not None:
                check_norm(B, net)
    return rounding(net, term=one.sensitivity, part=part, records=records)


def of_a_term(rule: RuleSpec, bound: dict[str, Any], net: Net) -> Mechanism:
    """The mechanism of a rule whose sensitivity is its bound on the norm of one record's term, in real numbers.

    A rule from outside is asked for none: nfa does not know what it adds up.

    Raises
    ------
    NoGuarantee : if the rule has no such bound
    ValueError : for a rule from outside, or one of another law
    """
    if rule.from_outside:
        raise ValueError(
            f"a secure run of rule {rule.name} needs a mechanism and an adjacency, because the grid of the noise"
            " follows from its sensitivity"
        )
    one = rule.release("add-remove", bound | {"net": net} | OF_A_TERM)
    return gaussian(rule, one)


def unit_of(rule: RuleSpec, bound: dict[str, Any], net: Net, stated: Release | None, counted: Rounding) -> float:
    """The unit of the grid of a secure run's noise.

    It follows from the mechanism that the rule states, or, if there is none, from the norm of one record's term.
    Raises as `of_a_term` and `gaussian` do.
    """
    return counted.unit(of_a_term(rule, bound, net) if stated is None else gaussian(rule, stated))


def gaussian(rule: RuleSpec, mechanism: Release) -> Mechanism:
    """The mechanism of a rule; ValueError unless it is Gaussian, as the noise of a secure run is."""
    if not isinstance(mechanism, Mechanism) or mechanism.law != "gaussian":
        raise ValueError(f"a secure run adds Gaussian noise, but the mechanism of rule {rule.name} is {mechanism.law}")
    return mechanism


def with_its_grid(
    solve: Callable[[Callable[[float], Any]], float], stating: Callable[[float], Any], counted: Rounding | None
) -> float:
    """The setting that `solve` finds for noise that is asked for, where the grid of the noise depends on the noise.

    Parameters
    ----------
    solve : function of a function from the setting to a mechanism, whose noise is proportional to the setting
    stating : what one step releases in real numbers, as a function of the setting; Gaussian where ``counted`` is given
    counted : what rounding adds; None for a seeded run, which counts nothing

    Notes
    -----
    The unit is held while `solve` works. It grows with the noise, in powers of two, and the noise that is needed grows
    with the unit. So the units of the rounds of this loop only grow or only fall, until one is found again.
    """
    if counted is None:
        return solve(stating)
    unit = counted.unit(stating(1.0))
    while True:
        setting = solve(partial(_on_grid, stating, counted, unit))
        before, unit = unit, counted.unit(stating(setting))
        if unit == before:
            return setting


def _on_grid(stating: Callable[[float], Any], counted: Rounding, unit: float, noise: float) -> Mechanism:
    return counted.on_grid(stating(noise), unit)
