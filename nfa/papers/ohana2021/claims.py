r"""The claims of Ohana et al. (2021), Section 3.3 and Appendix A, on the privacy of photonic DFA.

The claims are about one column of an update, the matrix of the update, and a whole run.

The letters are the paper's. Here alpha is the order, m the batch size, n_l the number of rows of the layer's matrix,
and sigma the standard deviation of each entry of g_i. The bounds gamma_min, gamma_max, tau_h_min, tau_h_max and tau_B,
and the r that follows from them, are those of `nfa.papers.ohana2021.column_bound.Clips`.

The name of every function begins with ``claimed_``, because its formula does not hold as published. The Notes state
which part holds. The formulas of Appendix A hold for a column under the appendix's conditions, but no formula holds for
the matrix. No accountant calls these functions. `nfa.papers.ohana2021.column_bound` has a bound for one column that
holds in both directions. `nfa.papers.ohana2021.exact` computes the exact divergences, and
`nfa.papers.ohana2021.labels` has a guarantee that holds.
"""

import itertools
import math

from nfa import require
from nfa.papers.ohana2021.column_bound import Clips, check, mean_term

VERSIONS = ("published", "preprint")


def claimed_column_renyi(
    *,
    alpha: float,
    m: int,
    n_l: int,
    sigma: float,
    clips: Clips,
    version: str = "published",
) -> float:
    r"""Proposition 3: the published bound on the Renyi divergence of one column of one update.

    .. math:: \epsilon_{PDFA} = \frac{2 \alpha}{m \sigma^2} r \tau_B^2
              + \frac{n_l \alpha}{2 (\alpha - 1)} \log \frac{m}{m + 1 - r}

    Source: [ohana2021:eq17] [ohana2021:pre-prop3] [ohana2021:prop3-proof-3] [ohana2021:A1-s3] [ohana2021:A1-s4]
    [ohana2021:A1-s5] [ohana2021:A1-s6] [ohana2021:A1-s7] [ohana2021:alg1-require] [ohana2021:A1-s8]

    Parameters
    ----------
    alpha : float > 1, finite
    m, n_l : ints >= 1
    sigma : float > 0
    clips : Clips, the bounds on phi', on the layer's inputs and on the projected errors
    version : "published" or "preprint"; the first term of the preprint is n_l times larger

    Returns
    -------
    epsilon : float, nats; inf for clips without a floor, and for r >= m + 1, because the formula has no value there

    Raises
    ------
    ValueError : if an argument is out of range

    Notes
    -----
    The formula bounds D_alpha(column of D, column of D') under two conditions. First, replacing a record must make no
    entry of the noise smaller: (a_k)'_j >= (a_k)_j for every row j. The proof assumes this sign, but the definition of
    RDP requires both orders of D and D'. In the other order, the divergence is infinite from alpha = (m - 1 + r) /
    (r - 1) on, while this formula is finite there. At small alpha, the bound is true in both directions. It is loose,
    because `corrected_column_renyi` is smaller.

    Second, the formula needs two floors. The first floor is abs(phi') >= gamma_min > 0. tanh, sigmoid and ReLU satisfy
    this floor for all z only if phi' is clamped. The second floor is abs(h_ik) >= tau_h_min / sqrt(n_{l-1}) for every
    entry. For signed h, the printed offset does not ensure this floor, but `nfa.clip.offset_signed` does.

    In the main text, the proofs of both versions have the preprint's first term. Appendix A.1 derives the published
    first term.

    Examples
    --------
    With r = 1 the logarithm is 0, so 2 * 2 / (256 * 0.1^2) remains.

    >>> clips = Clips(gamma_min=1, gamma_max=1, tau_h_min=1, tau_h_max=1, tau_B=1)
    >>> layer = dict(m=256, n_l=512, sigma=0.1, clips=clips)
    >>> round(claimed_column_renyi(alpha=2, **layer), 12)
    1.5625
    >>> round(claimed_column_renyi(alpha=2, **layer, version="preprint"), 12)
    800.0
    """
    check(alpha=alpha, m=m, sigma=sigma)
    require.integer(1, n_l=n_l)
    require.one_of(VERSIONS, version=version)
    r = clips.r
    if (r - 1) / m >= 1:
        return math.inf
    rows = n_l if version == "preprint" else 1
    return rows * mean_term(alpha, m, sigma, r, clips.tau_B) - n_l / 2 * (alpha / (alpha - 1)) * math.log1p((1 - r) / m)


def claimed_network_renyi(
    *,
    alpha: float,
    sizes: tuple[int, ...],
    T: int,
    m: int,
    sigma: float,
    clips: Clips,
    version: str = "published",
) -> float:
    r"""The published extension from one column to a training run: the bound times the number of columns, layers and T.

    .. math:: T \sum_{l=1}^L n_{l-1} \, \epsilon_{PDFA}^l

    Source: [ohana2021:prop3-T] [ohana2021:prop3-cols] [ohana2021:prop3-layers]

    Parameters
    ----------
    sizes : (n_0, ..., n_L), number of units of every layer
    T : int >= 1, iterations (published version) or epochs (preprint)
    alpha, m, sigma, clips, version : as for `claimed_column_renyi`

    Returns
    -------
    epsilon : float, nats; inf if `claimed_column_renyi` is inf

    Raises
    ------
    ValueError : if an argument is out of range

    Notes
    -----
    The claim is false. Renyi divergences add up over releases with independent noise, but the columns of an update
    share their noise. In the paper's network, every layer has more inputs than the batch has records, n_{l-1} > m. Take
    two data sets such that a layer reads different values of one record. Then the laws of the update are in general
    mutually singular, so the divergence is infinite at every order and every sigma
    (`nfa.papers.ohana2021.exact.matrix_renyi`).

    As a statement about labels, the claim is true for n_{l-1} >= m with noise on the output layer, but loose. With 1808
    columns, m = 256 and r = 1, the claimed epsilon is 1808 / 256 / 3 = 2.35 times the bound that holds.

    We read the printed L T n_{l-1} as T times the sum over layers, each with its columns n_{l-1} and rows
    n_l. The output layer has noise like the other layers. T is the number of updates that use a record. If the batches
    of an epoch are disjoint and drawn independently of the data, T is the number of epochs. Otherwise it is the number
    of iterations.

    Examples
    --------
    Two layers with 3 + 2 columns, r = 1 and T = 10 give 10 * 5 * 2 alpha / (m sigma^2).

    >>> clips = Clips(gamma_min=1, gamma_max=1, tau_h_min=1, tau_h_max=1, tau_B=1)
    >>> claimed_network_renyi(alpha=2, sizes=(3, 2, 2), T=10, m=4, sigma=1, clips=clips)
    50.0
    """
    require.integer(1, steps=T)
    return T * sum(
        columns * claimed_column_renyi(alpha=alpha, m=m, n_l=rows, sigma=sigma, clips=clips, version=version)
        for columns, rows in _layers(sizes)
    )


def claimed_pdfa_epsilon(
    *,
    delta: float,
    sizes: tuple[int, ...],
    T: int,
    m: int,
    sigma: float,
    clips: Clips,
    version: str = "published",
) -> tuple[float, float | None]:
    r"""The epsilon of the published formulas for a training run, at the order that makes it smallest.

    .. math:: \epsilon = \min_{\alpha > 1} \Big[ T \sum_l n_{l-1} \epsilon_{PDFA}^l(\alpha)
              + \frac{\log 1/\delta}{\alpha - 1} \Big]

    Source: [ohana2021:prop3-dp] [ohana2021:claim-strong]

    Parameters
    ----------
    delta : float in (0, 1)
    sizes, T, m, sigma, clips, version : as for `claimed_network_renyi`

    Returns
    -------
    epsilon : float; inf if `claimed_network_renyi` is inf
    alpha : float, the best order; None if epsilon is inf

    Raises
    ------
    ValueError : if an argument is out of range

    Notes
    -----
    The conversion is right, but its input is wrong (`claimed_network_renyi`). So the result is no valid guarantee for a
    record. The paper itself reports no epsilon for its Table 1.

    With x = alpha - 1, the bound is a (1 + x) + b (1 + 1 / x) + log(1 / delta) / x. It is smallest at
    x = sqrt((b + log 1/delta) / a).

    Examples
    --------
    Table 1 at sigma = 0.2, T = 15 epochs and the most favourable r = 1:

    >>> clips = Clips(gamma_min=1, gamma_max=1, tau_h_min=1, tau_h_max=1, tau_B=1)
    >>> sizes = (784, 512, 512, 10)
    >>> epsilon, alpha = claimed_pdfa_epsilon(delta=1e-5, sizes=sizes, T=15, m=256, sigma=0.2, clips=clips)
    >>> round(epsilon, 2), round(alpha, 3)
    (5790.77, 1.047)
    """
    require.within("(0, 1)", delta=delta)
    require.integer(1, steps=T)
    layers = _layers(sizes)
    require.integer(1, **{"the batch size m": m})
    require.positive(sigma=sigma)
    require.one_of(VERSIONS, version=version)
    r = clips.r
    if (r - 1) / m >= 1:
        return math.inf, None
    mean = sum(columns * (rows if version == "preprint" else 1) for columns, rows in layers)
    a = T * mean * mean_term(1.0, m, sigma, r, clips.tau_B)
    b = -T * sum(columns * rows for columns, rows in layers) / 2 * math.log1p((1 - r) / m)
    spent = b - math.log(delta)
    epsilon = a + b + 2 * math.sqrt(a) * math.sqrt(spent)
    return (epsilon, 1 + math.sqrt(spent / a)) if 0 < a and epsilon < math.inf else (math.inf, None)


def claimed_column_renyi_alternative(
    *,
    alpha: float,
    m: int,
    n_l: int,
    sigma: float,
    clips: Clips,
) -> float:
    r"""Appendix A.1's alternative to Proposition 3. Its logarithm is smaller and exists for every finite r.

    .. math:: \frac{2 \alpha}{m \sigma^2} r \tau_B^2
              + \frac{n_l \alpha}{2 (\alpha - 1)} \log \Big[ \frac{m - 1}{m} + \frac{r}{m} \Big]

    Source: [ohana2021:A1-alt]

    Parameters
    ----------
    alpha, m, n_l, sigma, clips : as for `claimed_column_renyi`

    Returns
    -------
    epsilon : float, nats; inf for clips without a floor, because r = inf

    Raises
    ------
    ValueError : if an argument is out of range

    Notes
    -----
    Like Equation 17, the alternative is true in one direction only, and in the same cases. It is at most the bound of
    Equation 17, because 1 + x <= 1 / (1 - x) for x = (r - 1) / m.

    Examples
    --------
    With r = 4, m = 3 and n_l = 2, the result is 2 * 2 * 4 / 3 + 2 log(2 / 3 + 4 / 3).

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
    r"""Appendix A.2: the bound on one column, if its noise has the same covariance under D and D'.

    .. math:: \epsilon_2 = \frac{2 \alpha}{m \sigma^2} r \tau_B^2

    Source: [ohana2021:A2]

    Parameters
    ----------
    alpha, m, sigma, clips : as for `claimed_column_renyi`

    Returns
    -------
    epsilon : float, nats; inf for clips without a floor, because r = inf

    Raises
    ------
    ValueError : if an argument is out of range

    Notes
    -----
    The bound holds for a column in both directions if the floors hold. The covariances are equal if only the label of a
    record changes. But even then, we cannot add up the columns of the matrix. Unless n_{l-1} r >= m, the divergence
    of the update is not bounded by n_{l-1} times this value (`nfa.papers.ohana2021.exact.label_matrix_renyi`).

    Examples
    --------
    >>> clips = Clips(gamma_min=1, gamma_max=2, tau_h_min=1, tau_h_max=1, tau_B=1)
    >>> claimed_equal_covariances(alpha=2, m=8, sigma=1, clips=clips)
    2.0
    """
    check(alpha=alpha, m=m, sigma=sigma)
    return mean_term(alpha, m, sigma, clips.r, clips.tau_B)


def claimed_saturated(*, alpha: float, m: int, sigma: float, tau_B: float) -> float:
    r"""Appendix A.3: the bound on one column with equal covariances, if all records saturate, so that r = 1.

    .. math:: \epsilon_3 = \frac{2 \alpha}{m \sigma^2} \tau_B^2

    Source: [ohana2021:A3] [ohana2021:rem3.2]

    Parameters
    ----------
    alpha, m, sigma, tau_B : as for `claimed_column_renyi`

    Returns
    -------
    epsilon : float, nats

    Raises
    ------
    ValueError : if an argument is out of range

    Notes
    -----
    The bound holds for a column in both directions. Entries of h that are all c or -c saturate too, but their signs
    still distinguish the joint laws of the columns. So n_{l-1} times this value does not bound the divergence of the
    update.

    Examples
    --------
    >>> claimed_saturated(alpha=2, m=8, sigma=1, tau_B=1)
    0.5
    """
    check(alpha=alpha, m=m, sigma=sigma)
    require.positive(tau_B=tau_B)
    return mean_term(alpha, m, sigma, 1.0, tau_B)


def _layers(sizes: tuple[int, ...]) -> list[tuple[int, int]]:
    """Columns n_{l-1} and rows n_l of every layer."""
    sizes = tuple(sizes)
    if len(sizes) < 2 or not all(n >= 1 and n == int(n) for n in sizes):
        raise ValueError(f"sizes must be the units of at least two layers, integers and at least 1, got {sizes}")
    return list(itertools.pairwise(sizes))
