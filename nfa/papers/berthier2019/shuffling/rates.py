"""The exact distance of SGD from the minimiser, with and without replacement, for quadratic losses on the line.

This is Berthier (2019, Sections 4.1 and 4.6.3). Record i has the loss a_i (theta - x_i)^2 / 2. So a step is affine, and
the first two moments of the distance to the minimiser satisfy a recursion. We enumerate the orders of a pass.
"""

from itertools import permutations
from math import prod

import numpy as np

from nfa import require


def squared_distance(
    a, x, *, gamma: float, passes: int, replacement: bool, sigma: float = 0.0, theta0: float = 0.0
) -> float:
    r"""E (theta - theta*)^2 after some passes of SGD, one record per step, with noise N(0, sigma^2) on each gradient.

    .. math:: \theta \leftarrow \theta - \gamma \big( a_i (\theta - x_i) + \eta \big), \qquad
              \theta^* = \frac{\sum_i a_i x_i}{\sum_i a_i}

    Source: [berthier2019:rates] [berthier2019:sec4.6.3-sense]

    Parameters
    ----------
    a, x : (n,) arrays, curvatures > 0 and minima of the records' losses; n <= 7 without replacement
    gamma : float > 0, the learning rate, the same at all steps
    passes : int >= 1; a pass has n steps
    replacement : if True, each step draws its record afresh; otherwise each pass uses all records in a uniform order
    sigma : float >= 0
    theta0 : float, the starting point

    Raises
    ------
    ValueError : if a number is out of range

    Examples
    --------
    One pass over -1 and 1 at gamma = 1/2 ends in 1/4 or -1/4 without replacement. With replacement, 3/4 and -3/4 are
    possible too.

    >>> [squared_distance([1, 1], [-1, 1], gamma=0.5, passes=1, replacement=r) for r in (False, True)]
    [0.0625, 0.3125]
    """
    a, x = np.asarray(a, float), np.asarray(x, float)
    require.positive(**{"the learning rate gamma": gamma})
    require.integer(1, passes=passes)
    require.at_least(0, sigma=sigma)
    if a.ndim != 1 or a.shape != x.shape or not len(a) or not (a > 0).all() or not np.isfinite(a * x).all():
        raise ValueError("a and x must be finite rows of one length, and a must be positive")
    if not replacement and len(a) > 7:
        raise ValueError(f"at most 7 records can be enumerated in every order, got {len(a)}")
    goal = a @ x / a.sum()
    kept, pull = 1 - gamma * a, gamma * a * (x - goal)  # a step: off <- kept off + pull - gamma eta
    orders = [[i] for i in range(len(a))] if replacement else list(permutations(range(len(a))))
    laws = [_of_order(kept[list(s)], pull[list(s)]) for s in orders]
    K, b, spread = np.array(laws).T  # for one step with replacement, or for one pass without replacement
    KK, Kb, bb, K, b = (float(np.mean(v)) for v in (K**2, K * b, b**2, K, b))
    bb += (gamma * sigma) ** 2 * float(np.mean(spread))
    first, second = float(theta0 - goal), float(theta0 - goal) ** 2
    for _ in range(passes * (len(a) if replacement else 1)):
        first, second = K * first + b, KK * second + 2 * Kb * first + bb
    return second


def _of_order(kept: np.ndarray, pull: np.ndarray) -> tuple[float, float, float]:
    """K, b and spread: the steps map a distance z to K z + b, and noise of variance 1 adds the variance spread."""
    later = [prod(kept[j + 1 :]) for j in range(len(kept))]
    return prod(kept), float(pull @ later), float(np.square(later).sum())
