"""Our bound on the Renyi divergence of one column of one update of photonic DFA. It holds in both directions.

Letters, r and the ranges of the parameters are those of `nfa.papers.ohana2021.claims`, which has the paper's claims.
"""

import math
from dataclasses import dataclass

from nfa import require
from nfa.privacy.divergences import check_order


@dataclass(frozen=True, kw_only=True)
class Clips:
    r"""The bounds on a record's term in one update of a layer of photonic DFA, after the clips.

    .. math:: r = \Big( \frac{\gamma^{max} \tau_h^{max}}{\gamma^{min} \tau_h^{min}} \Big)^2 \ge 1

    r is the largest ratio of the noise variances that two records can add to an entry of the update (ohana2021:eq17).

    Parameters
    ----------
    gamma_min, gamma_max : floats, bounds on abs(phi') (ohana2021:eq9c), with 0 <= gamma_min <= gamma_max
    tau_h_min, tau_h_max : floats, 0 <= tau_h_min <= tau_h_max; they bound the entries of the layer's inputs:
        abs(h_ik) in [tau_h_min, tau_h_max] / sqrt(n_{l-1}) (ohana2021:eq9a)
    tau_B : float > 0, bound on the norm of scale(B e_i) (ohana2021:eq9b)

    Raises
    ------
    ValueError : if a bound is out of its range or not finite, or if an upper bound is 0

    Examples
    --------
    >>> Clips(gamma_min=1, gamma_max=1, tau_h_min=0.5, tau_h_max=1, tau_B=1).r
    4.0
    """

    gamma_min: float
    gamma_max: float
    tau_h_min: float
    tau_h_max: float
    tau_B: float

    def __post_init__(self) -> None:
        require.positive(tau_B=self.tau_B)
        for name, low, high in (
            ("gamma", self.gamma_min, self.gamma_max),
            ("tau_h", self.tau_h_min, self.tau_h_max),
        ):
            if not (0 <= low <= high < math.inf and high > 0):
                raise ValueError(
                    f"{name}_min and {name}_max must satisfy 0 <= {name}_min <= {name}_max, and {name}_max must be"
                    f" positive and finite, got {low} and {high}"
                )

    @property
    def r(self) -> float:
        """The ratio r; inf if gamma_min or tau_h_min is 0, so that there is no floor."""
        if self.gamma_min == 0 or self.tau_h_min == 0:
            return math.inf
        ratio = float(self.gamma_max) / float(self.gamma_min) * (float(self.tau_h_max) / float(self.tau_h_min))
        return ratio * ratio


def corrected_column_renyi(
    *,
    alpha: float,
    m: int,
    n_l: int,
    sigma: float,
    clips: Clips,
) -> float:
    r"""A bound on the Renyi divergence of one column of one update that holds in both directions.

    .. math:: \frac{1}{1 - k} \frac{2 \alpha r \tau_B^2}{m \sigma^2} - \frac{n_l}{2 (\alpha - 1)}
              \Big[ \log(1 - k) + (\alpha - 1) \log \Big(1 + \frac{r - 1}{m}\Big) \Big], \qquad
              k = \frac{(\alpha - 1)(r - 1)}{m}

    Source: [ours:column-bound] [ohana2021:rem3.1]

    Parameters
    ----------
    alpha, m, n_l, sigma, clips : as for `nfa.papers.ohana2021.claims.claimed_column_renyi`

    Returns
    -------
    epsilon : float, nats; inf for k >= 1, which means alpha >= (m - 1 + r) / (r - 1) (`critical_column_order`). It is
        also inf for clips without a floor, because r = inf

    Raises
    ------
    ValueError : if an argument is out of range

    Notes
    -----
    This bound is ours. It needs four conditions, and it fails if any of them is missing. (1) Neighbours replace one
    record, in place. (2) m is the number of records in the actual batch, not the size of the full batches. (3) Every
    entry of h is in [tau_h_min, tau_h_max] / sqrt(n_{l-1}) in absolute value. The printed offset does not ensure
    condition (3) for signed h. (4) abs(phi') is in [gamma_min, gamma_max]. For tanh, sigmoid and ReLU, condition (4)
    needs a clamp in the backward pass. The bound is about one column: no theorem allows us to add up columns
    (`nfa.papers.ohana2021.claims.claimed_network_renyi`).

    Proof. Write q = (phi'_ij h_ik)^2, between q_min and q_max = r q_min. Write a^2 and a'^2 for the sums of q over the
    batch under D and D', rho = a^2 / a'^2, b = alpha - 1. One q changes, so
    rho <= ((m - 1) q_min + q_max) / (m q_min) = 1 + (r - 1) / m, and 1 / rho has the same bound. The variance part of a
    row is v(rho) = -[log(1 - b (rho - 1)) + b log rho] / (2 b). Its derivative has the sign of rho - 1. For x >= 1 the
    derivative of v(x) - v(1 / x) is a positive multiple of x / B + 1 / A - 2 with A = alpha x - b, B = alpha - b x.
    Here A B <= x, which is equivalent to (x - 1)^2 >= 0. By the inequality of arithmetic and geometric mean, x / B +
    1 / A - 2 is at least 0. So v is largest at the largest rho, which gives the bracket. The mean part of a row is
    alpha m^2 (f_j - f'_j)^2 / (2 sigma^2 S*) with S* = a^2 + alpha (a'^2 - a^2) >= (m - 1) q_min + alpha q_min - b
    q_max = m q_min (1 - k). The sum of (f_j - f'_j)^2 is at most 4 tau_B^2 q_max / m^2
    (`nfa.sensitivity.pdfa.column_sensitivity`). Adding both parts over the rows gives the bound.

    The variance part is attained if m - 1 records are at q_min and one record changes from q_max to q_min. For sigma =
    0.2 and 512 rows, the bound is below Equation 17 up to alpha = 16.6, 7.38 and 2.76 for r = 4, 16 and 100.

    Examples
    --------
    >>> clips = Clips(gamma_min=1, gamma_max=1, tau_h_min=0.5, tau_h_max=1, tau_B=1)
    >>> layer = dict(m=256, n_l=512, sigma=10, clips=clips)
    >>> round(corrected_column_renyi(alpha=2, **layer), 4)  # the published formula gives 6.0361
    0.0358
    >>> corrected_column_renyi(alpha=87, **layer)
    inf
    """
    check(alpha=alpha, m=m, sigma=sigma)
    require.integer(1, n_l=n_l)
    r = clips.r
    x = (r - 1) / m
    k = (alpha - 1) * x
    if k >= 1 - 1e-12 or r == math.inf:  # nearer to the pole k = 1, rounding would change the result
        return math.inf
    # The terms of first order, -k and (alpha - 1) x, cancel. Omitting them keeps the digits for r near 1.
    variance = -n_l / (2 * (alpha - 1)) * (_log1p_beyond_linear(-k) + (alpha - 1) * _log1p_beyond_linear(x))
    return mean_term(alpha, m, sigma, r, clips.tau_B) / (1 - k) + variance


def critical_column_order(*, m: int, clips: Clips) -> float:
    r"""The order from which on some column within the bounds has an infinite Renyi divergence in one direction.

    .. math:: \frac{m - 1 + r}{r - 1}

    Source: [ours:column-bound]

    Parameters
    ----------
    m, clips : as for `nfa.papers.ohana2021.claims.claimed_column_renyi`

    Returns
    -------
    order : float >= 1; inf for r = 1; 1 for clips without a floor, because r = inf

    Raises
    ------
    ValueError : if an argument is out of range

    Notes
    -----
    You can convert a guarantee for one column to (epsilon, delta) only at orders below this order. So the conversion
    alone adds at least log(1 / delta) (r - 1) / m to epsilon.

    Examples
    --------
    >>> clips = Clips(gamma_min=1, gamma_max=1, tau_h_min=0.5, tau_h_max=1, tau_B=1)
    >>> round(critical_column_order(m=256, clips=clips), 4)
    86.3333
    """
    require.integer(1, **{"the batch size m": m})
    return 1 + m / (clips.r - 1) if clips.r > 1 else math.inf


def mean_term(alpha: float, m: int, sigma: float, r: float, tau_B: float) -> float:
    """The part of the bound from the shift of the means, 2 alpha r tau_B^2 / (m sigma^2); inf for an infinite r."""
    return alpha * (2 / m * (tau_B / sigma) * (tau_B / sigma) * r) if r < math.inf else math.inf


def _log1p_beyond_linear(x: float) -> float:
    """log(1 + x) - x without cancellation near 0."""
    if abs(x) > 0.01:
        return math.log1p(x) - x
    series = 0.0
    for p in range(9, 1, -1):  # 0.01^8 is below the rounding error
        series = x * (-1 / p if p % 2 == 0 else 1 / p) + x * series
    return x * series


def check(*, alpha: float, m: int, sigma: float) -> None:
    """Raise ValueError unless alpha is above 1 and finite, m an integer >= 1, and sigma positive and finite."""
    check_order(alpha, finite_for="the formula")
    require.integer(1, **{"the batch size m": m})
    require.positive(sigma=sigma)
