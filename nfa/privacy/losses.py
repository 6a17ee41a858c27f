r"""Epsilon by privacy loss distributions: a lower and an upper bound on the epsilon of composed dominating pairs.

The privacy loss of a pair (P, Q) is L = log(dP / dQ) at an outcome drawn from P. The losses of the steps add up. For
one step, and for the sum L of the losses of all steps, delta is

.. math:: \delta(\epsilon) = \mathbb E\, \max(1 - e^{\epsilon - L}, 0).

1. `split` puts a loss on a grid. It splits each outcome between two grid points into two outcomes, one on each point.
   An observer of these outcomes learns more, so delta increases. `merge` joins outcomes until they are on the grid, so
   delta decreases.
2. `compose` adds the losses of all steps by a Fourier transform. It bounds the mass outside its window and the rounding
   of the transform.
3. `bounds` solves for epsilon, on finer and finer grids, until the two bounds are close. If the bounds are not close on
   the finest grid, `bounds` searches a second time, with another tilt, larger windows and another grid.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import optimize, special

from nfa import require
from nfa.privacy.dominating import ROUNDING, DominatingPair, Profile, Values
from nfa.privacy.rounding import down, up

UNIT = 2.0**-53  # relative rounding error of one operation
OUTSIDE = 1e-9  # largest share of delta, or of a tilted law, outside a window
FAR_OUTSIDE = 1e-12  # the largest share in the second search
MOST_CELLS = 2**20  # largest number of cells of a grid, because a composition with more cells takes seconds
MORE_CELLS = 2**22  # largest number of cells in the second search, in which a composition may take seconds
FINE = 2**14  # number of cells of a grid that is fine enough for a mean
MOST_LOG = 700.0  # largest logarithm of a float
GAP, SMALL = 1.001, 5e-5  # the bounds are close if their ratio is at most GAP or their difference is at most SMALL
DIGITS = 12  # digits of a bound, which is rounded outward, because its last bits may differ between processors


@dataclass(frozen=True, eq=False)
class Losses:
    """A privacy loss on a grid.

    Parameters
    ----------
    start : float, the first grid point
    interval : float h > 0, distance between adjacent grid points
    masses : (k,) array >= 0, the probabilities of the grid points under P, with a sum of at most 1
    infinite : float, the probability under P of an infinite loss
    """

    start: float
    interval: float
    masses: np.ndarray
    infinite: float

    @cached_property
    def at(self) -> np.ndarray:
        """The grid points, (k,)."""
        return self.start + self.interval * np.arange(len(self.masses))

    @cached_property
    def _logs(self) -> np.ndarray:
        with np.errstate(divide="ignore"):
            return np.log(self.masses)

    def tilted(self, lam: float) -> tuple[np.ndarray, float]:
        """The masses times e^{lam L}, divided by their sum K(lam), and log K(lam)."""
        logs = self._logs + lam * self.at
        largest = float(logs.max())
        tilted = np.exp(logs - largest)
        total = float(tilted.sum())
        return tilted / total, largest + math.log(total)


def split(pair: DominatingPair, start: float, h: float, cells: int) -> Losses:
    r"""The loss after each outcome between two grid points is split into two outcomes, one on each point.

    .. math:: P(L' \ge \epsilon_{i + 1}) = \frac{\delta_i - e^{-h} \delta_{i + 1}}{1 - e^{-h}}

    Let delta_i be the values of the pair's profile at the grid points. The profile of the new loss interpolates these
    values linearly in e^epsilon. The pair's profile is convex in e^epsilon, so the new profile is at least as large. A
    loss beyond the last point becomes infinite. A loss below the first point is increased to the first point.

    Source: [doroshenko2022:connect]
    """
    points, off = _grid(start, h, cells)
    negative = int(np.searchsorted(points, 0.0))  # the points below 0
    left, off_left, right, off_right = -points[:negative], off[:negative], points[negative:], off[negative:]
    back_down, back_up = pair.backward(left + off_left)[0], pair.backward(np.maximum(left - off_left, 0.0))[1]
    forth_down, forth_up = pair.forward(right + off_right)[0], pair.forward(np.maximum(right - off_right, 0.0))[1]
    x = np.exp(points[:negative])
    last = -np.expm1(points[negative - 1]) + x[-1] * back_up[-1]  # the profile at the last point below 0
    up, down = np.append(last, forth_up), forth_down
    above = (up[:-1] - math.exp(-h) * down) / -math.expm1(-h)  # P(L' >= point) for the points >= 0
    # Without rounding, the values are monotone already.
    above = np.minimum(np.maximum.accumulate(above[::-1])[::-1], 1.0)
    # P(L' < point) for the points below 0, except the first.
    below = x[:-1] * (back_down[1:] - back_up[:-1]) / -math.expm1(-h)
    below = np.clip(np.minimum.accumulate(below[::-1])[::-1], 0.0, 1 - above[0])
    below = np.concatenate([[0.0], below, [1 - above[0]]])
    infinite = float(forth_up[-1])
    masses = np.append(-np.diff(above), max(above[-1] - infinite, 0.0))
    return Losses(start, h, np.concatenate([np.diff(below), masses]), infinite)


def _grid(start: float, h: float, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """The grid points, and bounds on their rounding errors."""
    points = start + h * np.arange(cells + 1)
    return points, 4 * UNIT * (abs(start) + np.abs(points))


def merge(pair: DominatingPair, start: float, h: float, cells: int) -> Losses:
    r"""A loss on the grid for a lower bound. The pair dominates this loss. `first_corner` gives `start`.

    The profile of this loss has corners only at the grid points and is at most the pair's profile everywhere. In each
    cell, the chord of the pair's profile forms a triangle with the tangents at the ends of the cell. The distance from
    the convex profile to its chord is at most the height of this triangle. So take the values of the pair's profile at
    the grid points, and subtract from each value the larger height of its two cells. The chords between the results are
    below the profile. Their greatest convex minorant is the profile of a loss. In the first and the last cell, a
    tangent replaces the chord. The proof needs only lines below the profile, so each tangent gets the bound on its
    derivative that lowers this line.
    """
    points, off = _grid(start, h, cells)
    negative = int(np.searchsorted(points, 0.0))  # the points below 0
    x, least = np.exp(points), np.maximum(-np.expm1(points), 0.0)  # every profile is at least 1 - e^epsilon
    widths = x[:-1] * math.expm1(h)
    back, _, *beyond = pair.backward(-points[:negative] + off[:negative])
    forth, _, *above = pair.forward(points[negative:] + off[negative:])
    values = np.append(least[:negative] + x[:negative] * back, forth)
    # Lower and upper bounds of the derivatives with respect to e^epsilon. The last margin is for the rounding of x.
    steepest = np.append(-1 - 8 * UNIT + back + beyond[0] / x[:negative] * (1 - ROUNDING), -above[1])
    flattest = np.append(-1 + 8 * UNIT + back + beyond[1] / x[:negative] * (1 + ROUNDING), -above[0])
    chords = np.diff(values) / widths
    before = np.maximum(chords - steepest[:-1], 0.0)  # the chord minus the tangent at its left end
    after = np.maximum(flattest[1:] - chords, 0.0)
    with np.errstate(invalid="ignore"):
        heights = np.nan_to_num(widths * before * after / (before + after))
    lowered = np.maximum(np.append(0.0, heights), np.append(heights, 0.0))
    # In the last cell, we use the tangent at the end of the cell.
    lowered[-2] = max(heights[-2], widths[-1] * after[-1])
    lowered[1] = heights[1]  # because of the choice of `start`, the first chord is the tangent at its right end
    lowered *= 1 + 16 * ROUNDING
    values = values - 16 * ROUNDING * np.append(x[:negative] * back, forth) - 8 * UNIT * least - lowered
    values[0], values[-1] = least[0], 0.0
    low = values < least  # at these points and at the neighbouring points, the line of `least` is a valid lower bound
    low[1:] |= low[:-1].copy()
    low[:-1] |= low[1:].copy()
    values[low] = least[low]
    if low[negative - 1] and low[negative]:  # the line max(1 - e^epsilon, 0) has its corner in this cell
        return Losses(start, h, np.zeros(len(x)), 0.0)
    # Derivatives of the greatest convex minorant.
    slopes = optimize.isotonic_regression(np.diff(values) / widths, weights=widths).x
    masses = x * np.maximum(np.diff(slopes, prepend=-1.0, append=0.0), 0.0)
    return Losses(start, h, masses * (1 - 1e-12), 0.0)


def first_corner(pair: DominatingPair, h: float, back: float, forth: float) -> float:
    r"""The first grid point of `merge`. All smaller losses, and all losses in the first cell, move to this point.

    The line 1 - e^epsilon and the tangent one interval above the point are below the profile. The line and the tangent
    meet at this point.

    Parameters
    ----------
    back, forth : floats. The losses of interest are between -back and forth
    """
    low, high = -back - h, forth + h

    def meets(epsilon: float) -> bool:
        """Whether the tangent at epsilon + h is above the line at epsilon."""
        if epsilon >= 0:
            return True
        at = min(epsilon + h, 700.0)
        if at < 0:
            (back_down,), _, _, (beyond,) = pair.backward(np.array([-at]))
            # We subtract the line from both sides, and divide by e^at. If no loss is below `at`, the tangent is the
            # line.
            return back_down > 0 and back_down >= (back_down + beyond * math.exp(-at)) * -math.expm1(-h)
        (value,), _, (above,), _ = pair.forward(np.array([at]))
        return value + above * math.exp(at) * -math.expm1(-h) >= -math.expm1(epsilon)

    while high - low > 1e-14 * (abs(low) + h):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (low, middle) if meets(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class Tail:
    """Chernoff's bound for a sum S of losses, from log E e^{lam S} and the range of S."""

    parts: Sequence[tuple[Losses, int]]

    def log_moment(self, lam: float) -> float:
        """log E e^{lam S}, where infinite losses are left out."""
        return sum(uses * losses.tilted(lam)[1] for losses, uses in self.parts)

    def scale(self) -> float:
        """The standard deviation of S."""
        variance = 0.0
        for losses, uses in self.parts:
            weight = losses.masses / losses.masses.sum()
            mean = weight @ losses.at
            variance += uses * float(weight @ np.square(losses.at - mean))
        return math.sqrt(variance)

    def farthest(self, log_share: float, lam: float = 0.0, side: int = 1) -> tuple[float, float]:
        """A point that S exceeds with a probability of at most e^log_share, and the tilt of Chernoff's bound.

        The law of S is tilted by e^{lam S}. If `side` is 1, the point is above most of the mass of this law. If `side`
        is -1, the point is below most of the mass, and S is smaller than the point with a probability of at most
        e^log_share.
        """
        at_lam, scale = self.log_moment(lam), math.sqrt(-2 * log_share) / self.scale()

        def reach(log_t: float) -> float:
            t = scale * math.exp(log_t)
            return (self.log_moment(lam + side * t) - at_lam - log_share) / t

        found = optimize.minimize_scalar(reach, bounds=(-9.0, 9.0), method="bounded", options={"xatol": 0.05})
        return side * float(found.fun), lam + side * scale * math.exp(found.x)

    def tilt_towards(self, point: float) -> float:
        """Approximately the tilt lam > 0 with the smallest Chernoff bound on P(S >= point)."""
        scale = 1 / self.scale()

        def log_bound(log_t: float) -> float:
            t = scale * math.exp(log_t)
            return self.log_moment(t) - t * point

        found = optimize.minimize_scalar(log_bound, bounds=(-9.0, 9.0), method="bounded", options={"xatol": 0.02})
        return scale * math.exp(found.x)


def compose(
    parts: Sequence[tuple[Losses, int]],
    delta: float,
    *,
    upper: bool,
    guess: float | None = None,
    most_cells: int = MOST_CELLS,
) -> float:
    r"""The epsilon of all steps at this delta. It is rounded up if `upper` is true, and otherwise down.

    .. math:: \delta(\epsilon) = K^T e^{-\lambda \epsilon} \sum_{s > \epsilon} P_\lambda(S = s)
              e^{-\lambda (s - \epsilon)} (1 - e^{\epsilon - s})

    The masses of each loss are tilted by e^{lam L}. Then the sums of interest have most of the mass of the tilted law
    P_lam. K is the sum of the tilted masses. Fourier transforms compose the tilted laws in a window. If the rounding
    errors are too large to compute epsilon, the result is inf for an upper bound and 0 for a lower bound.

    Source: [higham2002:thm24.2]

    Parameters
    ----------
    guess : float, approximately epsilon, only in the second search. The tilt is then the best tilt for this point.
        Without a guess, the tilt is the best for Chernoff's bound on epsilon. If large losses are rare, this bound can
        be far above epsilon
    most_cells : int, the largest number of points of a window

    Notes
    -----
    The result is valid for every tilt. For an upper bound, the following error terms are added to delta. For a lower
    bound, they are subtracted:

    - Rounding of the transforms. For N = 2^t points, the 2-norm of the error is at most t eta / (1 - t eta) times the
      2-norm of the result. Here eta is 10 units of rounding, if the twiddle factors have an error of up to 4 units
      [higham2002:thm24.2]. The T-th power of a value of size at most 1 has at most T times the error of the value. The
      relative error of its products is together at most that of T - 1 products, each with sqrt(5) units. With a guess,
      we also compute the second bound below, and use the smaller of the two bounds.
    - Sums outside the window, which a cyclic transform moves into the window. Chernoff's inequality bounds the mass of
      these sums.
    - Rounding of the masses, of their sum and of K^T. We multiply by a factor that is larger than these errors.
    - Rounding of the last sums over s. Each of the two sums has a relative error of at most N + 4 MOST_LOG
      units, and their difference can be much smaller than the sums.

    A second bound on the rounding before the product is as follows. A transform has t stages. In each stage, a value is
    the sum of two values of the previous stage, each multiplied by a factor of size 1 with a relative error of at most
    eta. Each mass contributes to a coefficient along only one path of these sums. So each coefficient of a law has an
    error of at most r = t eta / (1 - t eta). Let f_i be the computed coefficients, one for each step. Replace the exact
    coefficients by the computed ones, one step after another. Each of the T replacements changes the product by at most
    r prod_i (|f_i| + r) / min_i (|f_i| + r). QED. Parseval's theorem gives the 2-norm of the error after the last
    transform. For many steps, this second bound is smaller than the first one, because most coefficients of the product
    are close to 0.
    """
    h, uses, tail = parts[0][0].interval, sum(count for _, count in parts), Tail(parts)
    unknown = math.inf if upper else 0.0
    infinite = sum(count * losses.infinite for losses, count in parts)
    nothing = any(losses.masses.sum() == 0 for losses, _ in parts) or tail.scale() == 0
    if (upper and infinite >= delta) or nothing:
        return unknown
    near, lam = tail.farthest(math.log(delta))
    outside = OUTSIDE
    if guess is not None:
        lam, outside = tail.tilt_towards(guess), FAR_OUTSIDE
    lam = min(lam, 0.5 / h)  # a larger tilt would move nearly all mass to the last points
    top = max(tail.farthest(math.log(outside * delta))[0], tail.farthest(math.log(outside), lam)[0])
    bottom = min(tail.farthest(math.log(outside), lam, side=-1)[0], near)
    origin = sum(count * losses.start for losses, count in parts)
    first = math.floor((bottom - origin) / h)
    N = 2 ** math.ceil(math.log2((top - origin) / h - first + 2))
    if N > most_cells:
        return unknown

    eta = 10 * UNIT * math.log2(N)
    product, log_K, norm, furthest = np.ones(N // 2 + 1, complex), 0.0, 0.0, 0.0
    log_most, least = np.zeros(N // 2 + 1), np.full(N // 2 + 1, 2.0)  # log prod_i (|f_i| + r), min_i (|f_i| + r)
    for losses, count in parts:
        law, log_moment = losses.tilted(lam)
        wrapped = np.bincount(np.arange(len(law)) % N, weights=law, minlength=N)
        norm += count * float(np.linalg.norm(wrapped))
        values = np.fft.rfft(wrapped)
        product *= _power(values, count)
        if guess is not None:
            sizes = np.abs(values) + 1.01 * eta
            log_most += count * np.log(sizes)
            least = np.minimum(least, sizes)
        log_K += count * log_moment
        furthest = max(furthest, abs(lam) * float(np.abs(losses.at).max()))
    law = np.maximum(np.roll(np.fft.irfft(product, N), -(first % N)), 0.0)

    # Error of the transforms before the product, which is T times the error of each transform.
    once = math.sqrt(N) * eta * norm
    if once > 1 or log_K - lam * near > MOST_LOG:
        return unknown
    error = eta * norm * math.exp(once) * 1.01
    if guess is not None:
        others = float(np.linalg.norm(np.exp(log_most) / least))
        error = min(error, 1.1 * uses * eta * math.sqrt(2 / N) * others)
    error += (eta + 2.5 * UNIT * uses) * float(np.linalg.norm(law)) * 1.01
    factor = UNIT * (uses * (4 * MOST_LOG + 4 * furthest) + 8 * abs(log_K) + 4 * N)

    s = origin + h * np.arange(first, first + N)
    # Without infinite losses, epsilon is at most `near`. For points far below `near`, the following values overflow.
    here = s > near - MOST_LOG / lam
    s, law = s[here], law[here]
    with np.errstate(under="ignore"):
        scale = math.exp(log_K - lam * near)
        decay = np.exp(-lam * (s - near))
        weight = scale * law * decay  # P(S = s)
        A = np.cumsum(weight[::-1])[::-1]
        # P(S >= s) <= delta for all larger s, so epsilon is close to this point.
        at_most = float(s[max(int((A > delta).sum()) - 1, 0)])
        here = s > at_most - MOST_LOG
        s, decay, weight, A = s[here], decay[here], weight[here], A[here]
        B = np.cumsum((weight * np.exp(at_most - s))[::-1])[::-1]
        steepest = scale * decay / math.sqrt(-math.expm1(-2 * lam * h))  # 2-norm of the weights of sums above s
        highest = scale * decay * math.exp(-lam * math.log1p(1 / lam)) / (1 + lam)  # the largest of these weights
    rise = error * steepest + 2 * UNIT * (N + 4 * MOST_LOG) * A
    if upper:
        rise, rest = rise * (1 + factor), infinite + outside * delta
    else:
        factor, rise, rest = -factor, -rise - 2 * outside * highest, 0.0
    spent = (A - np.exp(np.minimum(s - at_most, MOST_LOG)) * B) * (1 + factor) + rise + rest  # delta at each s
    over = np.flatnonzero(spent > delta)
    if len(over) == 0:
        return max(float(s[0]), 0.0) if upper else 0.0
    k = int(over[-1])
    if k == len(s) - 1:
        return unknown
    left = A[k + 1] - (delta - rise[k] - rest) / (1 + factor)
    solved = at_most + math.log(left / B[k + 1]) if left > 0 else -math.inf
    return max(min(max(solved, s[k]), s[k + 1]), 0.0) * (1 + (1 if upper else -1) * 2.0**-48)


def _power(values: np.ndarray, count: int) -> np.ndarray:
    """values^count with at most 2 log2(count) products."""
    result = np.ones_like(values)
    while count:
        if count & 1:
            result = result * values
        count >>= 1
        values = values * values if count else values
    return result


def bounds(
    spent: Iterable[tuple[tuple[DominatingPair, ...], int]], delta: float, *, gap: float = GAP, small: float = SMALL
) -> tuple[float, float]:
    """A lower and an upper bound on the epsilon of all uses of dominating pairs.

    Source: [zhu2022:compose]

    Parameters
    ----------
    spent : (pairs, uses) of each release. A release has one dominating pair, or two pairs for the neighbours (D, D')
        and (D', D). All releases must list the two pairs in the same order
    delta : float in (0, 1)
    gap, small : the largest ratio and the largest difference of the two bounds. The search ends if one of these two
        limits is satisfied, or if no grid can satisfy one of them

    Returns
    -------
    lower, upper : floats >= 0. If rounding errors are too large, lower can be 0 and upper can be inf

    Raises
    ------
    ValueError : if delta is not in (0, 1)

    Notes
    -----
    Guarantee: (upper, delta)-differential privacy holds, also with the rounding errors of the computation. If some
    neighbours attain the dominating pairs, no epsilon below `lower` holds for them.

    Distance of the bounds. If the bounds of the first search miss `gap` and `small` by more than a factor of 2, a
    second search follows. By default, the second search ends at a ratio of 1.002 or a difference of 1e-4. It can
    miss these limits if records are rarely in a batch and delta is tiny, for example q <= 1e-3 and delta <= 1e-11. Then
    the rounding errors of the transforms are not small compared with delta. In our tests of this case, the ratio is at
    most 1.005. The bounds remain valid.

    Proof that dominating pairs compose. Let M and M' be the laws of the first step on two neighbours, dominated by (P,
    Q). For every outcome of the first step, let (R, S) dominate the laws of the second step. For each outcome o of the
    first step, the profile of the second step at a M'(o) / M(o) is at most the profile of (R, S). So the profile of the
    two steps together at a is at most the integral of H_{a M' / M}(R || S) over M. This integral is the profile of (M
    R, M' S). Now exchange the roles of the two steps, and bound M and M' by P and Q in the same way. QED. The argument
    does not need a total mass of 1, so it also holds for the masses of `merge`.

    Examples
    --------
    One release with Laplace noise of scale 1 has the exact epsilon 1 + 2 log(1 - delta) = 0.78928.

    >>> from nfa.privacy.dominating import in_full, laplace
    >>> lower, upper = bounds([(in_full(laplace(math.sqrt(2))), 1)], 0.1)
    >>> lower <= 1 + 2 * math.log(0.9) <= upper <= 1.001 * lower
    True
    """
    require.within("(0, 1)", delta=delta)
    spent = list(spent)
    orders = max(len(pairs) for pairs, _ in spent)
    in_order = [[(pairs[k % len(pairs)], uses) for pairs, uses in spent] for k in range(orders)]
    found: list[tuple[float, float]] = []
    for one in in_order:
        found.append(_search(one, delta, gap, small, others=max((low for low, _ in found), default=0.0)))
    lower, upper = max(low for low, _ in found), max(high for _, high in found)
    if upper < math.inf:
        gap, small = 2 * gap - 1, 2 * small
        for k, (low, high) in enumerate(found):
            if high > lower and not _are_close(low, high, gap, small) and not _are_close(lower, upper, gap, small):
                found[k] = _search(in_order[k], delta, gap, small, found[k], MORE_CELLS)
        lower, upper = max(low for low, _ in found), max(high for _, high in found)
    return float(down(lower, DIGITS)), float(up(upper, DIGITS))


def _are_close(low: float, high: float, gap: float, small: float) -> bool:
    return high <= gap * low or high - low <= small


def _search(
    spent: list[tuple[DominatingPair, int]],
    delta: float,
    gap: float,
    small: float,
    known: tuple[float, float] = (0.0, math.inf),
    most_cells: int = MOST_CELLS,
    others: float = 0.0,
) -> tuple[float, float]:
    """`bounds` for one order of the neighbours. The second search gets the bounds of the first search as `known`.

    `others` is a lower bound for another order. The search ends if it has proved that this order has no larger epsilon.

    The second search differs from the first in three ways. The tilt is the best one for the known epsilon. Windows may
    have more cells. The grid of the upper bound begins at the smallest loss that has an effect. In the first search,
    this grid begins one cell below the grid of the lower bound, and all smaller losses are increased to its first
    point. For very many steps, this increases the upper bound too much.
    """
    uses = sum(count for _, count in spent)
    variation = [float(pair.forward(np.zeros(1))[1][0]) for pair, _ in spent]
    if sum(count * one for (_, count), one in zip(spent, variation, strict=True)) <= delta:
        # Delta is at least the sum of the total variations of the steps, which bounds that of all steps.
        return 0.0, 0.0
    share = OUTSIDE * delta / uses
    ends = [(_end(_below(pair.backward), share), _end(pair.forward, share)) for pair, _ in spent]
    if max(map(max, ends)) > MOST_LOG:
        return 0.0, math.inf
    variances = [count * _variance(pair, *end) for (pair, count), end in zip(spent, ends, strict=True)]
    order = sorted(range(len(spent)), key=lambda k: -variances[k])  # the release with the largest variance first
    finest = max(8 * max(map(max, ends)), 32 * math.sqrt(sum(variances))) / most_cells
    h = max(math.sqrt(sum(variances) / uses) / 2, 128 * finest)
    low, high = known
    again, before = high < math.inf, math.inf
    while True:
        h = max(h, finest)
        step, starts = _fitted(spent, ends, order, h)
        cells = [
            max(math.floor((end - start) / step), math.floor(-start / step) + 2, 3)
            for start, (_, end) in zip(starts, ends, strict=True)
        ]
        grids = [(pair, start, n, count) for (pair, count), start, n in zip(spent, starts, cells, strict=True)]
        guess = high if again else None
        lowest = [-back if again else start for start, (back, _) in zip(starts, ends, strict=True)]
        wider = [max(math.ceil((start - end) / step), 1) for start, end in zip(starts, lowest, strict=True)]
        above = [
            (split(pair, start - more * step, step, n + more + 1), count)
            for (pair, start, n, count), more in zip(grids, wider, strict=True)
        ]
        this_high = compose(above, delta, upper=True, guess=guess, most_cells=most_cells)
        below = [(merge(pair, start, step, n), count) for pair, start, n, count in grids]
        this_low = compose(below, delta, upper=False, guess=guess, most_cells=most_cells)
        low, high = max(low, this_low), min(high, this_high)
        # If rounding dominates, finer grids do not help. For several releases, the next grid may fit better.
        stalled = (again or not order[1:]) and this_low > 0 and this_high - this_low > 0.9 * before
        if _are_close(low, high, gap, small) or high <= others or h <= finest or stalled:
            return low, high
        before = this_high - this_low if this_low > 0 else math.inf
        off = high / low - 1 if low > 0 and high < math.inf else 1.0
        h *= min(max(0.8 * math.sqrt((gap - 1) / off), 1 / 4), 1 / 2)


def _fitted(
    spent: list[tuple[DominatingPair, int]], ends: list[tuple[float, float]], order: list[int], h: float
) -> tuple[float, list[float]]:
    """An interval of at most h for which the grids fit the largest losses, and the first points of these grids.

    A bounded loss has an atom at its largest value. `merge` moves this atom down to a grid point, so the largest loss
    should be a grid point, or be just above a grid point. The upper end of the losses of the first release in `order`
    is a grid point. If other releases have a largest loss, we choose the interval for which their largest losses are
    just above grid points.
    """

    def starts(step: float) -> list[float]:
        return [first_corner(pair, step, *end) for (pair, _), end in zip(spent, ends, strict=True)]

    main, wide = order[0], starts(h)
    largest = ends[main][1]
    others = [k for k in order[1:] if spent[k][0].forward(np.array([1.001 * ends[k][1]]))[1][0] == 0]

    def fitted(first: float, n: int | None = None) -> tuple[float, list[float]]:
        """The grids with n intervals from the first point of `main`, which is close to ``first``, to its upper end.

        Without n, the number of intervals is the smallest one for which they are at most h.
        """
        before = math.inf
        for _ in range(6):
            step = (largest - first) / (n or math.ceil((largest - first) / h)) * (1 - 1e-13)
            if step == before:
                break
            first, before = first_corner(spent[main][0], step, *ends[main]), step
        return step, starts(step)

    def moved(step, firsts):
        """The distance by which `merge` moves the largest losses, in intervals, as a sum over all uses."""
        return sum(spent[k][1] * (((ends[k][1] - firsts[k]) / step) % 1) for k in others)

    if not others:
        return fitted(wide[main])
    # A first point is approximately a linear function of the square of the interval.
    fewest = math.ceil((largest - wide[main]) / h)
    n = np.arange(fewest, 2 * fewest)
    t = (1 - np.square(fewest / n)) / (1 - 0.25)
    firsts = [a + (b - a) * t for a, b in zip(wide, starts(h / 2), strict=True)]
    best = np.argsort(moved((largest - firsts[main]) / n, firsts))[:3]
    return min((fitted(float(firsts[main][k]), int(n[k])) for k in best), key=lambda grid: moved(*grid))


def gaussian_limit(spent: Iterable[tuple[tuple[DominatingPair, ...], int]], delta: float) -> float:
    r"""The epsilon if the sum of the privacy losses were Gaussian. It is accurate for many steps, but not proved.

    .. math:: \delta(\epsilon) = \Phi\Big(\frac{M - \epsilon}{s}\Big)
              - e^{\epsilon - M + s^2 / 2}\, \Phi\Big(\frac{M - \epsilon - s^2}{s}\Big)

    with the mean M and the standard deviation s of the sum of all privacy losses.

    Parameters
    ----------
    spent, delta : as in `bounds`

    Examples
    --------
    In the first example, the true epsilon is between 1.5161 and 1.5162. For few steps in which a record is rarely in a
    batch, the result can be very inaccurate. In the second example, the true epsilon is about 0.029.

    >>> from nfa.privacy.dominating import gaussian, poisson
    >>> round(gaussian_limit([(poisson(gaussian(1.1), 0.01), 1000)], 1e-5), 3)
    1.376
    >>> round(gaussian_limit([(poisson(gaussian(1.5), 0.001), 100)], 1e-6), 3)
    0.025
    """
    spent = list(spent)
    found = 0.0
    for order in range(max(len(pairs) for pairs, _ in spent)):
        mean = variance = 0.0
        for pairs, uses in spent:
            pair, share = pairs[order % len(pairs)], OUTSIDE * delta / uses
            back, forth = _end(_below(pair.backward), share), _end(pair.forward, share)
            h = (back + forth) / FINE
            grid = split(pair, -back - h, h, FINE + 2)
            weight = grid.masses / grid.masses.sum()
            one = float(weight @ grid.at)
            mean += uses * one
            variance += uses * float(weight @ np.square(grid.at - one))
        found = max(found, _epsilon_of_gaussian_losses(mean, math.sqrt(variance), delta))
    return found


def _epsilon_of_gaussian_losses(M: float, s: float, delta: float) -> float:
    def over(epsilon: float) -> float:
        second = epsilon - M + s * s / 2 + special.log_ndtr((M - epsilon - s * s) / s)
        return float(special.ndtr((M - epsilon) / s) - np.exp(min(second, MOST_LOG))) - delta

    if s == 0 or over(0.0) <= 0:
        return 0.0
    return float(optimize.brentq(over, 0.0, max(M, 0.0) + 40 * s, rtol=1e-9))


def _variance(pair: DominatingPair, back: float, forth: float) -> float:
    """Approximate variance of the loss, from the integrals of the two profiles. For Gaussian laws, it is exact."""
    total = 0.0
    for profile, end in ((pair.forward, forth), (pair.backward, back)):
        at = np.geomspace(1e-6, 1, 200) * end
        total += float(np.trapezoid(profile(at)[1], at))
    return total


def _below(backward: Profile) -> Profile:
    """A bound on P(L <= -epsilon), as a profile. P(L <= -epsilon) is at most e^-epsilon times Q(L <= -epsilon)."""

    def below(epsilons: np.ndarray) -> Values:
        mass = np.exp(-epsilons) * backward(epsilons)[3]
        return mass, mass, mass, mass

    return below


def _end(profile: Profile, share: float) -> float:
    """An epsilon above which the profile is at most the share.

    If the profile is 0 just above this epsilon, the result is the first zero of the profile.
    """

    def within(epsilon: float) -> bool:
        return profile(np.array([epsilon]))[1][0] <= share

    high = 1e-300
    while not within(high):
        high *= 1e3
    low = high / 1e3
    while high > low * (1 + 2 * UNIT):
        middle = math.sqrt(low) * math.sqrt(high)
        if not low < middle < high:
            break
        low, high = (low, middle) if within(middle) else (middle, high)
    return _end(profile, 0.0) if share and profile(np.array([high * 1.001]))[1][0] == 0 else high
