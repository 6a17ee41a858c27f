"""Tight epsilons beside ours: privacy loss distributions of dp-accounting, where it is installed."""

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

from nfa import require
from nfa.mechanism import Mechanism
from nfa.privacy.accountant import count_uses, epsilon
from nfa.privacy.rdp import OrderAtGridEnd
from nfa.privacy.releases import Release


@dataclass(frozen=True)
class Tight:
    """A tight epsilon, or the sentence that says why there is none.

    Parameters
    ----------
    epsilon : float, an upper bound that exceeds the best possible by the discretisation only; None where there is none
    says : str, one sentence: where the number comes from, or what is missing
    """

    epsilon: float | None
    says: str


def tight(
    spent: Iterable[tuple[Release, int]],
    *,
    delta: float,
    steps_per_epoch: int | None = None,
    interval: float | None = None,
) -> Tight:
    """The epsilon of dp-accounting's privacy loss distributions for what `nfa.privacy.accountant.epsilon` counts.

    Source: [lee2020:def1]

    Parameters
    ----------
    spent : pairs (release, steps), as for `nfa.privacy.accountant.epsilon`
    delta : float in (0, 1)
    steps_per_epoch : int, of epoch partitions, as there
    interval : float > 0, grid of privacy losses; smaller is tighter and slower. None: 1e-5, or a millionth of our
        epsilon where that is more

    Returns
    -------
    tight : Tight

    Raises
    ------
    ValueError : if a number is out of range
    NoGuarantee : if no theorem covers a release

    Notes
    -----
    Gaussian noise only, on all the data, in shuffled epochs (a record used once an epoch) or in Poisson batches under
    add-remove. dp-accounting has no privacy loss distribution for batches without replacement; see
    `nfa.privacy.tight_batches`.
    """
    spent = list(spent)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OrderAtGridEnd)  # only its size is wanted here
        ours = epsilon(spent, delta=delta, steps_per_epoch=steps_per_epoch).epsilon
    if interval is not None:
        require.positive(interval=interval)
    if ours == math.inf:
        return Tight(None, "no tight number: our own bound is infinite")
    if not all(isinstance(release, Mechanism) and release.law == "gaussian" for release, _ in spent):
        return Tight(None, "no tight number: only Gaussian noise is handed to dp-accounting")
    if any(release.sampling == "without-replacement" for release, _ in spent):
        return Tight(
            None, "no tight number: dp-accounting has no privacy loss distribution for batches without replacement"
        )
    try:
        from dp_accounting import dp_event
        from dp_accounting.pld import PLDAccountant
    except ImportError:
        return Tight(None, "no tight number: dp-accounting is not installed; pip install 'nfa[pld]' brings it")
    if interval is None:
        interval = max(1e-5, 1e-6 * ours)
    accountant = PLDAccountant(value_discretization_interval=interval)
    for release, steps in spent:
        assert isinstance(release, Mechanism)  # as all were found to be above
        event: dp_event.DpEvent = dp_event.GaussianDpEvent(release.noise_multiplier)
        if release.sampling == "poisson":
            event = dp_event.PoissonSampledDpEvent(release.sampling_rate, event)
        accountant.compose(event, count_uses(release, int(steps), steps_per_epoch))
    return Tight(
        float(accountant.get_epsilon(delta)), f"dp-accounting, privacy loss distribution on a grid of {interval:g}"
    )
