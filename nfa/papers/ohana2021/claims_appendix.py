"""What Ohana et al. (2021), Appendix A, claim about one column of an update beside Proposition 3.

Letters, r and the ranges of the parameters are those of `nfa.papers.ohana2021.claims.claimed_column_renyi`.

Each formula holds for a column under its conditions, and none for the matrix: see the Notes. No accountant calls them.
"""

import math

from nfa import require
from nfa.papers.ohana2021.column_bound import Clips, check, mean_term


def claimed_column_renyi_alternative(
    *,
    alpha: float,
    m: int,
    n_l: int,
    sigma: float,
    clips: Clips,
) -> float:
    r"""Appendix A.1's alternative to Proposition 3, with a smaller logarithm that is there for every finite r.

    .. math:: \frac{2 \alpha}{m \sigma^2} r \tau_B^2
              + \frac{n_l \alpha}{2 (\alpha - 1)} \log \Big[ \frac{m - 1}{m} + \frac{r}{m} \Big]

    Source: [ohana2021:A1-alt]

    Parameters
    ----------
    alpha, m, n_l, sigma, clips : as for Equation 17

    Returns
    -------
    epsilon : float, nats; inf for clips without a floor, r = inf

    Raises
    ------
    ValueError : if an argument is out of range

    Notes
    -----
    True and false where Equation 17 is, in one direction only, and never above it:
    1 + x <= 1 / (1 - x) for x = (r - 1) / m.

    Examples
    --------
    r = 4, m = 3 and n_l = 2: 2 * 2 * 4 / 3 + 2 log(2 / 3 + 4 / 3).

    >>> clips = Clips(gamma_min=1, gamma_max=1, tau_h_min=0.5, tau_h_max=1, tau_B=1)
    >>> round(claimed_column_renyi_alternative(alpha=2, m=3, n_l=2, sigma=1, clips=clips), 6)
    6.719628
    """
    check(alpha=alpha, m=m, sigma=sigma)
    require.integer(1, n_l=n_l)
    mean = mean_term(alpha, m, sigma, clips.r, clips.tau_B)
    return mean + n_l / 2 * (alpha / (alpha - 1)) * math.log1p((clips.r - 1) / m)


def claimed_equal_covariances(
    *,
    alpha: float,
    m: int,
    sigma: float,
    clips: Clips,
) -> float:
    r"""Appendix A.2: the bound on one column whose noise has the same covariance under D and D'.

    .. math:: \epsilon_2 = \frac{2 \alpha}{m \sigma^2} r \tau_B^2

    Source: [ohana2021:A2]

    Parameters
    ----------
    alpha, m, sigma, clips : as for Equation 17

    Returns
    -------
    epsilon : float, nats; inf for clips without a floor, r = inf

    Raises
    ------
    ValueError : if an argument is out of range

    Notes
    -----
    It holds for a column, both ways, given the floors. The covariances are equal whenever only the label of a record
    changes. What fails is the step to the matrix, even then: n_{l-1} times this is no bound on the divergence of the
    update (`nfa.papers.ohana2021.exact.label_matrix_renyi`) unless n_{l-1} r >= m.

    Examples
    --------
    >>> clips = Clips(gamma_min=1, gamma_max=2, tau_h_min=1, tau_h_max=1, tau_B=1)
    >>> claimed_equal_covariances(alpha=2, m=8, sigma=1, clips=clips)
    2.0
    """
    check(alpha=alpha, m=m, sigma=sigma)
    return mean_term(alpha, m, sigma, clips.r, clips.tau_B)


def claimed_saturated(*, alpha: float, m: int, sigma: float, tau_B: float) -> float:
    r"""Appendix A.3: the bound on one column whose noise has the same covariance and whose records all saturate, r = 1.

    .. math:: \epsilon_3 = \frac{2 \alpha}{m \sigma^2} \tau_B^2

    Source: [ohana2021:A3] [ohana2021:rem3.2]

    Parameters
    ----------
    alpha, m, sigma, tau_B : as for Equation 17

    Returns
    -------
    epsilon : float, nats

    Raises
    ------
    ValueError : if an argument is out of range

    Notes
    -----
    It holds for a column, both ways. Entries of h that all are c or -c saturate too, and their signs still tell the
    joint laws of the columns apart: n_{l-1} times this is no bound on the divergence of the update.

    Examples
    --------
    >>> claimed_saturated(alpha=2, m=8, sigma=1, tau_B=1)
    0.5
    """
    check(alpha=alpha, m=m, sigma=sigma)
    require.positive(tau_B=tau_B)
    return mean_term(alpha, m, sigma, 1.0, tau_B)
