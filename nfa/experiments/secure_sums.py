"""The effect of floats in a secure run: the rounding of the rule's sums, and the grid of the noise."""

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from nfa.mechanism import Mechanism, Release
from nfa.network import Net
from nfa.rules.spec import RuleSpec
from nfa.sensitivity.rounding import Rounding, check_norm, check_settings, rounding

# We read the bound on one record's term from a mechanism with this sampling. The bound does not depend on the sampling.
OF_A_TERM = {"sampling": "none", "sampling_rate": 1.0}


def rounding_of(rule: RuleSpec, bound: dict[str, Any], net: Net, *, part: int, records: int) -> Rounding:
    """The increase of the sensitivity of a rule from rounding in a secure run.

    Source: [ours:rounding]

    Parameters
    ----------
    rule : RuleSpec
    bound : settings of the rule, as the run has bound them, including noise
    net : Net
    part : int >= 1, number of examples in a part
    records : int >= 1, largest number of records in a batch, from `nfa.sampling.most_records`

    Returns
    -------
    rounding : Rounding. For a rule from outside, it includes only the grid, because nfa has not checked the sums of the
        rule

    Raises
    ------
    NoGuarantee : if the rule has no bound on a record's term, or if no proof covers the computed norm of a
        feedback matrix
    ValueError : if a setting is out of the theorem's range, or if the noise of the rule is not Gaussian
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
    """The mechanism of a rule in real numbers. Its sensitivity is the rule's bound on the norm of one record's term.

    A rule from outside has no such mechanism, because nfa does not know the terms of this rule's sums.

    Raises
    ------
    NoGuarantee : if the rule has no such bound
    ValueError : for a rule from outside, or a rule with noise that is not Gaussian
    """
    if rule.from_outside:
        raise ValueError(
            f"a secure run of rule {rule.name} needs a mechanism and an adjacency, because the grid of the noise"
            " follows from the sensitivity"
        )
    one = rule.release("add-remove", bound | {"net": net} | OF_A_TERM)
    return gaussian(rule, one)


def unit_of(rule: RuleSpec, bound: dict[str, Any], net: Net, stated: Release | None, counted: Rounding) -> float:
    """The unit of the grid of a secure run's noise.

    The unit is computed from the mechanism that the rule states. If ``stated`` is None, it is computed from the bound
    on one record's term. Raises as `of_a_term` and `gaussian` do.
    """
    return counted.unit(of_a_term(rule, bound, net) if stated is None else gaussian(rule, stated))


def gaussian(rule: RuleSpec, mechanism: Release) -> Mechanism:
    """Return the mechanism of a rule.

    Raise ValueError unless the noise is Gaussian, because a secure run adds Gaussian noise.
    """
    if not isinstance(mechanism, Mechanism) or mechanism.law != "gaussian":
        raise ValueError(f"a secure run adds Gaussian noise, but rule {rule.name} states {mechanism.law} noise")
    return mechanism


def with_its_grid(
    solve: Callable[[Callable[[float], Any]], float], stating: Callable[[float], Any], counted: Rounding | None
) -> float:
    """Return the setting from `solve` for requested noise, if the grid of the noise depends on the noise.

    Parameters
    ----------
    solve : function that takes a function (setting) -> mechanism and returns the setting for the requested noise. The
        noise of the mechanism is proportional to the setting
    stating : the release of one step in real numbers, as a function of the setting; Gaussian if ``counted`` is given
    counted : effect of rounding; None for a seeded run

    Notes
    -----
    In each call of `solve`, the unit is fixed. The unit is a power of two that increases with the noise, and the
    required noise increases with the unit. So in the loop, the units only increase or only decrease, until a unit
    repeats.
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
