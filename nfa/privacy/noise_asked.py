"""The setting of a rule for a target epsilon or a noise multiplier, and the report of this setting in a run.

Each rule measures its noise in its own units, usually as the standard deviation on the averaged direction. The
mechanism of the rule relates these units to the sensitivity, which is the largest change that one record can cause.
"""

import math
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

from nfa import require
from nfa.mechanism import Classic, Release
from nfa.privacy.accountant import RDP, Guarantee, calibrate, epsilon, less_noise
from nfa.privacy.rdp import OrderAtGridEnd
from nfa.privacy.rounding import up

Stating = Callable[[float], Release]  # a function from the setting that scales the noise to the release of one step

LARGEST = 1e30  # largest setting that the search tries
DIGITS = 6  # number of digits of a setting from a search, because the last bits may differ between processors
COUNTED = ("epsilon", "delta", "steps", "bound", "conversion")


def setting_of_multiplier(stating: Stating, noise_multiplier: float) -> float:
    """The setting with which the noise is this multiple of the sensitivity, rounded to twelve digits.

    Parameters
    ----------
    stating : function of the setting, called with positive numbers. Its noise is proportional to the setting, and its
        sensitivity does not depend on the setting
    noise_multiplier : float > 0, standard deviation of the noise / sensitivity

    Raises
    ------
    ValueError : if the multiplier is out of range, if the noise is not proportional to the setting, or if the mechanism
        is given by its Renyi curve only, so that it has no noise multiplier
    NoGuarantee : if the mechanism is refused

    Examples
    --------
    >>> from nfa.mechanism import Mechanism
    >>> def stating(sigma):
    ...     return Mechanism(law="gaussian", sensitivity=1 / 512, adjacency="add-remove", noise_std=sigma,
    ...                      sampling="poisson", sampling_rate=0.01)
    >>> setting_of_multiplier(stating, 1.1)
    0.0021484375
    """
    require.positive(noise_multiplier=noise_multiplier)
    one = stating(1.0)
    if isinstance(one, Classic):
        raise ValueError(
            "a mechanism that states only a Renyi curve has no noise multiplier: give a target epsilon instead"
        )
    setting = float(f"{noise_multiplier / one.noise_multiplier:.12g}")
    _check(stating, setting, noise_multiplier)
    return setting


def setting_of_target(
    stating: Stating,
    *,
    target_epsilon: float,
    delta: float,
    steps: int,
    accountant: str | None = None,
    conversion: str | None = None,
    steps_per_epoch: int | None = None,
) -> float:
    """Approximately the smallest setting for which the epsilon of all steps is at most a target, to six digits.

    The setting is rounded up.

    Parameters
    ----------
    stating : as for `setting_of_multiplier`, or a function from the setting to a `Classic`, which is given by its Renyi
        curve. This curve must not increase with the setting
    target_epsilon, delta, steps, accountant, conversion, steps_per_epoch : as in `nfa.privacy.accountant.calibrate`

    Returns
    -------
    setting : float > 0, for which `nfa.privacy.accountant.epsilon` is at most the target

    Raises
    ------
    ValueError : as `calibrate`, or if the noise of a `Mechanism` is not proportional to the setting
    NoGuarantee : if the mechanism is refused, or if no theorem covers it

    Notes
    -----
    The result of `calibrate` is cached, so it is computed only once for rules that differ only in their sensitivity.
    For a Renyi curve, bisection finds the setting. If privacy losses prove a smaller epsilon with this setting, a
    search for smaller noise follows.

    Examples
    --------
    The noise multiplier is 1, as in the example of `nfa.privacy.accountant.calibrate`.

    >>> from nfa.mechanism import Mechanism
    >>> def stating(sigma):
    ...     return Mechanism(law="gaussian", sensitivity=0.25, adjacency="replace-one", noise_std=sigma,
    ...                      sampling="none", sampling_rate=1.0)
    >>> how = {"delta": math.exp(-49 / 8), "steps": 1, "conversion": "mironov2017"}
    >>> round(setting_of_target(stating, target_epsilon=4, **how), 4)
    0.25
    """
    one = stating(1.0)
    how: dict[str, Any] = {"delta": delta, "conversion": conversion, "steps_per_epoch": steps_per_epoch}
    asked = RDP if conversion else accountant

    def spent(setting: float, by: str | None) -> Guarantee:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OrderAtGridEnd)  # because the run itself warns
            return epsilon([(stating(setting), steps)], accountant=by, **how)

    if isinstance(one, Classic):
        setting = _least_by_bisection(lambda setting: spent(setting, RDP).epsilon, target_epsilon)
        if asked != RDP:
            setting, _ = less_noise(partial(spent, by=asked), target_epsilon, setting)
        setting = float(up(setting, DIGITS))
    else:
        multiplier = _least_multiplier(
            target_epsilon=target_epsilon,
            steps=steps,
            adjacency=one.adjacency,
            sampling=one.sampling,
            sampling_rate=one.sampling_rate,
            law=one.law,
            accountant=asked,
            **how,
        )
        setting = float(up(multiplier / one.noise_multiplier, DIGITS))
        _check(stating, setting, multiplier)
    more = 10.0**-DIGITS
    # The setting may be too small by a rounding error, or because epsilon has a jump.
    while spent(setting, asked).epsilon > target_epsilon:
        setting, more = float(up(setting * (1 + more), DIGITS)), 2 * more
    return setting


def _least_by_bisection(spent: Callable[[float], float], target_epsilon: float) -> float:
    """The smallest setting for which the decreasing epsilon is at most a target, to a relative accuracy of 1e-9."""
    require.positive(target_epsilon=target_epsilon)
    high = 1.0
    while (floor := spent(high)) > target_epsilon:
        if high > LARGEST:
            raise ValueError(
                f"no amount of noise brings epsilon to {target_epsilon:g}, because epsilon stays at {floor:.4g} with "
                "the other settings of the rule: change these settings"
            )
        high *= 16
    while spent(high / 16) <= target_epsilon:
        high /= 16
    low = high / 16
    while high > low * (1 + 1e-9):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if spent(middle) <= target_epsilon else (middle, high)
    return high


@lru_cache(maxsize=1024)
def _least_multiplier(**how) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrderAtGridEnd)
        found = calibrate(**how).noise_multiplier
    assert found is not None
    return found


def _check(stating: Stating, setting: float, noise_multiplier: float) -> None:
    one, found = (getattr(stating(value), "noise_multiplier", math.nan) for value in (1.0, setting))
    if not math.isclose(found, noise_multiplier, rel_tol=10.0 ** (1 - DIGITS)):
        raise ValueError(
            "the noise multiplier of a rule must be proportional to the setting for the noise, got the noise "
            f"multiplier {one:g} for the setting 1 and {found:g} for the setting {setting:g}"
        )


def _steps(count: int) -> str:
    return f"{count:,} step{'s' * (count != 1)}"


def noise_report(
    asked: Mapping[str, Any],
    setting: Mapping[str, float],
    noise_multiplier: float | None,
    counted: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """The entry about requested noise in the record of a run: the request, the setting, and a sentence about them.

    Parameters
    ----------
    asked : {"noise_multiplier": float}, or "target_epsilon" with its "delta" and "steps"
    setting : {name: value} of the rule's setting
    noise_multiplier : float > 0, standard deviation of the noise / sensitivity; None for a mechanism that is given by
        its Renyi curve
    counted : the summary of a `nfa.privacy.accountant.Guarantee` for the counted steps; None if no epsilon is computed
    """
    got: dict[str, Any] = {**setting}
    ((name, value),) = setting.items()
    if "target_epsilon" in asked:
        words = (
            f"epsilon at most {asked['target_epsilon']:.10g} at delta {asked['delta']:g} after {_steps(asked['steps'])}"
        )
    else:
        words = f"noise multiplier {asked['noise_multiplier']:.10g}"
    words = f"asked for {words}. Got {name} = {value:.12g}"
    if noise_multiplier is not None:
        got["noise_multiplier"] = noise_multiplier
        words += f", noise multiplier {noise_multiplier:.6g}"
    if counted is not None:
        got |= {key: counted[key] for key in COUNTED}
        spent = "inf" if counted["epsilon"] == "inf" else up(counted["epsilon"])
        words += (
            f", for which epsilon {spent} at delta {counted['delta']:g} is counted after {_steps(counted['steps'])}"
            f" ({counted['bound']}, {counted['conversion']})"
        )
        if float(counted["epsilon"]) > asked.get("target_epsilon", math.inf):
            words += (
                ". This epsilon exceeds the target, because the run was interrupted, and each interruption can raise"
                " epsilon"
            )
    return {"asked": dict(asked), "got": got, "statement": words}
