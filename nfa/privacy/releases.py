"""How often a record is used by the releases that an accountant counts."""

import math

import numpy as np

from nfa.mechanism import Release


def count_uses(release: Release, steps: int, steps_per_epoch: int | None) -> int:
    """How often one record is used, at most."""
    if release.sampling != "epoch-partition":
        return steps
    per_epoch, rounding = 1 / release.sampling_rate, 4 * np.finfo(float).eps  # n / m, a whole number but for rounding
    fewest, most = math.floor(per_epoch * (1 + rounding)), math.ceil(per_epoch * (1 - rounding))
    if steps_per_epoch is not None and steps_per_epoch > most:
        raise ValueError(
            f"an epoch at the rate {release.sampling_rate:g} has at most {most} steps, got steps_per_epoch="
            f"{steps_per_epoch}"
        )
    return -(-steps // (steps_per_epoch or fewest))
