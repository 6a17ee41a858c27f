"""The ROC curve and the area under it. They measure how well a score separates members from others."""

import numpy as np
from scipy.stats import rankdata


def roc(members, others) -> tuple[np.ndarray, np.ndarray]:
    """For each threshold, the share of others and the share of members whose score is at least the threshold.

    Parameters
    ----------
    members, others : (a,) and (b,) arrays of finite scores, a, b >= 1; a high score is evidence for membership

    Returns
    -------
    false_positive, true_positive : (k,) arrays that increase from 0 to 1. The first point is (0, 0), and each distinct
        score adds a point

    Raises
    ------
    ValueError : if one side is empty, or if a score is NaN or infinite

    Examples
    --------
    >>> false_positive, true_positive = roc([3.0, 1.0], [1.0, 0.0])
    >>> false_positive.tolist(), true_positive.tolist()
    ([0.0, 0.0, 0.5, 1.0], [0.0, 0.5, 1.0, 1.0])
    """
    members, others = _scores("members", members), _scores("others", others)
    thresholds = np.unique(np.concatenate([members, others]))[::-1]
    shares = [1 - np.searchsorted(np.sort(side), thresholds, side="left") / len(side) for side in (others, members)]
    return np.concatenate([[0.0], shares[0]]), np.concatenate([[0.0], shares[1]])


def auc(members, others) -> float:
    """The area under `roc`: the probability that a member has a higher score than another example. Ties count half.

    Parameters
    ----------
    members, others : as for `roc`

    Returns
    -------
    auc : float in [0, 1]; 1/2 for a score without information

    Raises
    ------
    ValueError : as in `roc`

    Examples
    --------
    >>> auc([3.0, 1.0], [1.0, 0.0])
    0.875
    """
    members, others = _scores("members", members), _scores("others", others)
    a, b = len(members), len(others)
    ranks = rankdata(np.concatenate([members, others]))
    return float((ranks[:a].sum() - a * (a + 1) / 2) / (a * b))


def _scores(name: str, scores) -> np.ndarray:
    scores = np.asarray(scores, float)
    if scores.ndim != 1 or not len(scores):
        raise ValueError(f"{name} must be a one-dimensional array of at least one score, got shape {scores.shape}")
    if not np.isfinite(scores).all():
        raise ValueError(f"{name} contains a score that is NaN or infinite")
    return scores
