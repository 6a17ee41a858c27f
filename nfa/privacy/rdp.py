"""Renyi curves: epsilon as a function of the order, the sum of curves, and their conversion to (epsilon, delta).

Let M and M' be the laws of a mechanism on neighbours D and D'. The mechanism is (alpha, epsilon(alpha))-RDP if
D_alpha(M || M') <= epsilon(alpha) for all D and D', in either order. In this module, a curve is an array of epsilons,
in nats, over an array of orders.
"""

import math
import warnings
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from nfa import require
from nfa.privacy.divergences import check_order
from nfa.privacy.gaussians import check_noise

INTEGER_ORDERS = np.arange(2, 257)  # for the theorems on subsampling, which need integers
# For all other theorems; alpha - 1 increases by 2.6 % from one order to the next.
REAL_ORDERS = 1 + np.geomspace(1e-3, 1e6, 800)
ALL_ORDERS = np.union1d(REAL_ORDERS[(REAL_ORDERS < 40) | (REAL_ORDERS > 256)], INTEGER_ORDERS)

CONVERSIONS = {"mironov2017": "mironov2017:prop3", "canonne2020": "canonne2020:prop12"}


class OrderAtGridEnd(UserWarning):
    """Warning that the optimal order is at an end of the grid, so a wider grid may give a smaller epsilon."""


def check_orders(orders) -> np.ndarray:
    """The orders as a float array. Raises ValueError unless they increase, are above 1 and are finite."""
    orders = np.asarray(orders, float)
    if orders.ndim != 1 or len(orders) == 0:
        raise ValueError(f"orders must be a one-dimensional list of numbers, got shape {orders.shape}")
    for alpha in orders[~((orders > 1) & (orders < math.inf))][:1]:
        check_order(alpha)
        raise ValueError(f"orders must be finite, got {alpha}")
    if (np.diff(orders) <= 0).any():
        raise ValueError("orders must increase from each order to the next")
    return orders


def gaussian(orders: np.ndarray, *, noise_multiplier: float) -> np.ndarray:
    r"""Renyi curve of a release with Gaussian noise.

    .. math:: \epsilon(\alpha) = \frac{\alpha}{2 z^2}, \qquad z = \sigma / \Delta

    Source: [lee2020:lem1] [ohana2021:rem2.1] [berthier2019:prop2.6]

    Parameters
    ----------
    orders : (k,) array of orders > 1
    noise_multiplier : float z > 0, noise std / l2 sensitivity under the given adjacency

    Returns
    -------
    rdp : (k,) array, nats

    Raises
    ------
    ValueError : if the noise multiplier is not positive and finite, or if orders contain NaN

    Notes
    -----
    The bound is attained if the distance of the two means is the sensitivity.

    Examples
    --------
    >>> gaussian(np.array([2, 8]), noise_multiplier=2).tolist()
    [0.25, 1.0]
    """
    check_noise(noise_multiplier)
    _no_nan(orders=orders)
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(orders, float) / 2 / np.float64(noise_multiplier) / np.float64(noise_multiplier)


def laplace(orders: np.ndarray, *, scale: float) -> np.ndarray:
    r"""Renyi curve of a release with Laplace noise: the divergence of two Laplace laws at the distance Delta_1.

    .. math:: \epsilon(\alpha) = \frac{1}{\alpha - 1} \log \Big( \frac{\alpha}{2 \alpha - 1} e^{(\alpha - 1)/\lambda}
              + \frac{\alpha - 1}{2 \alpha - 1} e^{-\alpha/\lambda} \Big), \qquad \lambda = b / \Delta_1

    Source: [berthier2019:prop2.1] [berthier2019:def2.2]

    Parameters
    ----------
    orders : (k,) array of orders > 1
    scale : float lambda > 0, scale b of the noise / l1 sensitivity

    Returns
    -------
    rdp : (k,) array, nats; at most 1 / lambda, the epsilon of pure differential privacy

    Raises
    ------
    ValueError : if the scale is not positive and finite, or if orders contain NaN

    Notes
    -----
    With several coordinates, the worst case is a shift of only one coordinate by the whole l1 sensitivity. The reason
    is that the divergence is a convex function of the shift and is 0 for no shift.

    Examples
    --------
    For lambda = 2 and alpha = 2, epsilon is log(2/3 e^(1/2) + 1/3 e^(-1)).

    >>> round(float(laplace(np.array([2.0]), scale=2)[0]), 6)
    0.200304
    """
    require.positive(**{"the scale of the noise": scale})
    _no_nan(orders=orders)
    a = np.asarray(orders, float)
    with np.errstate(over="ignore", invalid="ignore"):  # values that are not finite are not used below
        up, down = (a - 1) / scale, -a / scale
        # The terms of first order cancel, because a up + (a - 1) down = 0. We leave them out, so small epsilons lose no
        # digits.
        excess = (a * expm1_beyond_linear(up) + (a - 1) * expm1_beyond_linear(down)) / (2 * a - 1)
        far = up + np.log(a / (2 * a - 1)) + np.log1p((a - 1) / a * np.exp(down - up))
    return np.where(up < 1, np.log1p(np.where(up < 1, excess, 0)), far) / (a - 1)


def expm1_beyond_linear(x: np.ndarray) -> np.ndarray:
    """e^x - 1 - x without cancellation near 0."""
    near = np.where(np.abs(x) < 0.5, x, 0.0)
    series = np.zeros_like(near)
    for k in range(18, 1, -1):  # 18 terms are enough, because 0.5^17 / 18! is smaller than the rounding error
        series = near / k * (1 + series) if k > 2 else near * near / 2 * (1 + series)
    return np.where(np.abs(x) < 0.5, series, np.expm1(x) - x)


def compose(spent: Iterable[tuple[np.ndarray, int]]) -> np.ndarray:
    r"""Renyi curve of several releases, each of which may depend on the earlier ones. At each order, epsilons add up.

    .. math:: \epsilon(\alpha) = \sum_i T_i \epsilon_i(\alpha)

    Source: [lee2020:compose] [ohana2021:thm1] [berthier2019:rdp-comp] [dpulr2024:rdp-comp] [dpulr2024:L286]

    Parameters
    ----------
    spent : pairs (rdp, steps) of a curve and the number of its uses, an integer >= 1. All curves are over the same
        orders

    Returns
    -------
    rdp : (k,) array, nats

    Raises
    ------
    ValueError : if there is no pair, if a curve contains NaN, or if a number of steps is not an integer >= 1

    Notes
    -----
    The releases must draw their noise and their batches independently of each other.

    Examples
    --------
    >>> compose([(np.array([0.1, 0.2]), 10), (np.array([1.0, 3.0]), 1)]).tolist()
    [2.0, 5.0]
    """
    spent = list(spent)
    if not spent:
        raise ValueError("the accountant has no mechanism to count: give at least one mechanism and its steps")
    for rdp, steps in spent:
        _no_nan(rdp=rdp)
        require.integer(1, steps=steps)
    with np.errstate(over="ignore"):
        return np.sum([steps * rdp for rdp, steps in spent], axis=0)


def _no_nan(**arrays: ArrayLike) -> None:
    for name, values in arrays.items():
        if np.isnan(values).any():
            raise ValueError(f"{name} must not contain NaN")


def mironov2017(orders: np.ndarray, rdp: np.ndarray, *, delta: float) -> np.ndarray:
    r"""The epsilon for each order of a Renyi curve, by Mironov's conversion.

    .. math:: \epsilon = \epsilon(\alpha) + \frac{\log(1/\delta)}{\alpha - 1}

    Source: [mironov2017:prop3] [lee2020:lem2] [ohana2021:thm2] [berthier2019:prop2.7] [dpulr2024:prop1]
    [berthier2019:rdp-between]

    Parameters
    ----------
    orders, rdp : (k,) arrays, orders > 1 and nats
    delta : float in (0, 1)

    Returns
    -------
    epsilon : (k,) array; (epsilon, delta) holds for every entry

    Raises
    ------
    ValueError : if delta is out of range, or if orders or rdp contain NaN

    Examples
    --------
    >>> mironov2017(np.array([2.0]), np.array([1.0]), delta=np.exp(-3)).tolist()
    [4.0]
    """
    require.within("(0, 1)", delta=delta)
    _no_nan(orders=orders, rdp=rdp)
    return rdp - math.log(delta) / (orders - 1)


def canonne2020(orders: np.ndarray, rdp: np.ndarray, *, delta: float) -> np.ndarray:
    r"""The epsilon for each order of a Renyi curve, by the conversion of Canonne, Kamath and Steinke.

    .. math:: \epsilon = \epsilon(\alpha) + \log \frac{\alpha - 1}{\alpha}
              - \frac{\log \delta + \log \alpha}{\alpha - 1}

    Source: [canonne2020:prop12]

    Parameters
    ----------
    orders, rdp : (k,) arrays, orders > 1 and nats
    delta : float in (0, 1)

    Returns
    -------
    epsilon : (k,) array, at least 0, rounded up; (epsilon, delta) holds for every entry

    Raises
    ------
    ValueError : if delta is out of range, or if orders or rdp contain NaN

    Examples
    --------
    At alpha = 2, the result is smaller than Mironov's epsilon by 2 log 2.

    >>> round(float(canonne2020(np.array([2.0]), np.array([1.0]), delta=np.exp(-3))[0]), 6)
    2.613706
    """
    require.within("(0, 1)", delta=delta)
    _no_nan(orders=orders, rdp=rdp)
    less, more = np.log1p(-1 / orders), -(math.log(delta) + np.log(orders)) / (orders - 1)
    # Bound on the rounding error, if the terms nearly cancel.
    lost = 4 * np.finfo(float).eps * (rdp - less + np.abs(more))
    return np.maximum(rdp + less + more + lost, 0)


def to_dp(orders, rdp, *, delta: float, conversion: str = "mironov2017") -> tuple[float, float | None]:
    """The smallest epsilon that a Renyi curve gives at this delta, and its order.

    Source: [mironov2017:prop3] [canonne2020:prop12]

    Parameters
    ----------
    orders : (k,) increasing array of orders > 1
    rdp : (k,) array of nats >= 0, inf where the curve has no bound
    delta : float in (0, 1)
    conversion : "mironov2017" or "canonne2020"

    Returns
    -------
    epsilon : float >= 0; inf if the whole curve is infinite
    order : float, the optimal order; None if epsilon is inf

    Raises
    ------
    ValueError : if delta, an order or the name of the conversion is out of range, or the curve is negative or nan

    Warns
    -----
    OrderAtGridEnd : if the optimal order is the first or the last of the grid

    Examples
    --------
    >>> epsilon, order = to_dp([2, 3, 4], [1.0, 1.5, 3.0], delta=np.exp(-3))
    >>> epsilon, order
    (3.0, 3.0)
    """
    orders, rdp = check_orders(orders), np.asarray(rdp, float)
    epsilon, order = best_order(orders, rdp, delta=delta, conversion=conversion)
    if order is not None and epsilon > 0 and order in (orders[0], orders[-1]):
        warn_of_grid_end(order, smallest=order == orders[0])
    return epsilon, order


def best_order(orders: np.ndarray, rdp: np.ndarray, *, delta: float, conversion: str) -> tuple[float, float | None]:
    """Return the result of `to_dp` without its warning. Source: [berthier2019:rdp-comp]"""
    require.one_of(CONVERSIONS, conversion=conversion)
    if rdp.shape != orders.shape or not (rdp >= 0).all():
        raise ValueError("rdp must contain one Renyi divergence >= 0 for every order")
    convert = {"mironov2017": mironov2017, "canonne2020": canonne2020}[conversion]
    epsilons = convert(orders, rdp, delta=delta)
    best = int(np.argmin(epsilons))
    epsilon = float(epsilons[best])
    return (math.inf, None) if epsilon == math.inf else (epsilon, float(orders[best]))


def warn_of_grid_end(order: float, *, smallest: bool) -> None:
    """Warn that the optimal order is the smallest or the largest of the grid.

    The warning names the line that called the caller.
    """
    where, other = ("smallest", "smaller") if smallest else ("largest", "larger")
    warnings.warn(
        f"the order {order:g} is the {where} of the given orders and gives the smallest epsilon. If the bounds allow "
        f"{other} orders, these orders may give a smaller epsilon",
        OrderAtGridEnd,
        stacklevel=3,
    )
