"""The epsilon by privacy losses, or a sentence that explains why it is not known."""

from collections.abc import Iterable
from dataclasses import dataclass

from nfa.mechanism import NoGuarantee, Release
from nfa.privacy.accountant import Unresolved, privacy_losses
from nfa.privacy.theorems import choose


@dataclass(frozen=True)
class Tight:
    """A tight epsilon, or a sentence that explains why it is not known.

    Parameters
    ----------
    epsilon : float, an upper bound that exceeds the exact value only by the discretisation; None if it is not known
    says : str, one sentence with the method that gave epsilon, or with the reason for None
    """

    epsilon: float | None
    says: str


def tight(spent: Iterable[tuple[Release, int]], *, delta: float, steps_per_epoch: int | None = None) -> Tight:
    """The epsilon of `nfa.privacy.accountant.privacy_losses`, if the privacy losses are known.

    Source: [lee2020:def1]

    Parameters
    ----------
    spent, delta, steps_per_epoch : as in `nfa.privacy.accountant.privacy_losses`

    Returns
    -------
    tight : Tight

    Raises
    ------
    ValueError : if a number is out of range
    NoGuarantee : if no theorem covers a release

    Examples
    --------
    >>> from nfa.mechanism import Mechanism
    >>> m = Mechanism(law="gaussian", sensitivity=1.0, adjacency="add-remove", noise_std=1.5,
    ...               sampling="poisson", sampling_rate=0.001)
    >>> round(tight([(m, 100)], delta=1e-6).epsilon, 4)
    0.0292
    """
    spent = list(spent)
    for release, _ in spent:
        choose(release)
    try:
        found = privacy_losses(spent, delta=delta, steps_per_epoch=steps_per_epoch)
    except Unresolved as unresolved:
        return Tight(None, f"no tight number: {unresolved}")
    except NoGuarantee as unknown:
        return Tight(None, f"no tight number: {unknown.why}")
    return Tight(found.epsilon, f"composed privacy losses; an exact computation gives at least {found.at_least:.6g}")
