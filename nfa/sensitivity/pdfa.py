r"""The effect of one record on the directions that photonic DFA releases, and the law of their noise.

For every layer, photonic DFA (Ohana et al. 2021, Section 3.3) releases one matrix. Column k belongs to input k of the
layer, and row j to unit j of the layer. We write u for the projected errors after the scaling, and h for the inputs
after offset and clip. No function of this module computes epsilon, because the columns of a released matrix share their
noise (`row_covariance`).
"""

import math

import numpy as np

from nfa import require


def column_law(u: np.ndarray, dphi: np.ndarray, h: np.ndarray, *, sigma: float) -> tuple[np.ndarray, np.ndarray]:
    r"""Mean and standard deviations of every column of a PDFA direction, given the records.

    .. math:: f_k(D) = \frac1m \sum_i (u_i \odot \phi'_i) h_{ik}, \qquad
              \Sigma_k = \frac{\sigma^2}{m^2} \mathrm{diag}(a_k)^2, \qquad
              (a_k)_j = \Big(\sum_i (\phi'_{ij} h_{ik})^2\Big)^{1/2}, \quad j = 1, \dots, n_l

    Source: [ohana2021:eq13] [ohana2021:eq13-index] [ohana2021:A1-eq18] [ohana2021:data-covariance]

    Parameters
    ----------
    u : (m, n_l) array, rows scale(B e_i)
    dphi : (m, n_l) array, rows phi'_l(z_i)
    h : (m, n_{l-1}) array, rows clip(offset(h_i)), the inputs of layer l
    sigma : float >= 0, standard deviation of each entry of g_i

    Returns
    -------
    f, std : (n_l, n_{l-1}) arrays; column k has the law N(f[:, k], diag(std[:, k]^2)), and std = sigma a / m

    Raises
    ------
    ValueError : if sigma is negative or not finite, or if an array is empty or contains NaN or infinity

    Notes
    -----
    Each single column has this law. Two columns are not independent, because both use the same noise g
    (`row_covariance`).

    Examples
    --------
    >>> f, std = column_law(np.array([[0.5], [1.0]]), np.ones((2, 1)), np.array([[3.0, 1.0], [4.0, 0.0]]), sigma=0.2)
    >>> f.tolist(), std.tolist()
    ([[2.75, 0.25]], [[0.5, 0.1]])
    """
    _check_records(sigma, u=u, dphi=dphi, h=h)
    m = len(h)
    f = (u * dphi).T @ h / m
    a = np.sqrt(np.square(dphi).T @ np.square(h))
    return f, sigma / m * a


def row_covariance(dphi_j: np.ndarray, h: np.ndarray, *, sigma: float) -> np.ndarray:
    r"""Covariance matrix of row j of a PDFA direction, that is, of the noise of unit j in all columns.

    .. math:: \frac{\sigma^2}{m^2} \sum_i \phi_{ij}'^2 \, h_i h_i^\top

    Source: [ohana2021:eq13]

    Parameters
    ----------
    dphi_j : (m,) array, phi'_l(z_ij) of unit j for every record i
    h : (m, n_{l-1}) array, as in `column_law`
    sigma : float >= 0

    Returns
    -------
    covariance : (n_{l-1}, n_{l-1}) array of rank at most m; its diagonal has the squares of `column_law`'s std

    Raises
    ------
    ValueError : if sigma is negative or not finite, or if an array is empty or contains NaN or infinity

    Notes
    -----
    This formula is ours. The paper gives only the law of one column. Different rows are independent.

    Examples
    --------
    >>> row_covariance(np.ones(2), np.array([[3.0, 1.0], [4.0, 0.0]]), sigma=2.0).tolist()
    [[25.0, 3.0], [3.0, 1.0]]
    """
    _check_records(sigma, dphi_j=dphi_j, h=h)
    noise = sigma / len(h) * dphi_j[:, None] * h  # column k has the factors of g_1j..g_mj
    return noise.T @ noise


def column_noise_bounds(
    *, m: int, n: int, gamma_min: float, gamma_max: float, tau_h_min: float, tau_h_max: float
) -> tuple[float, float]:
    r"""Bounds on (a_k)_j of `column_law`. The lower bound needs a condition on every entry of h.

    .. math:: \sqrt{m/n} \, \gamma^{min} \tau_h^{min} \le (a_k)_j \le \sqrt{m/n} \, \gamma^{max} \tau_h^{max}

    Source: [ohana2021:eq14]

    Parameters
    ----------
    m : int, batch size
    n : int, number of inputs of the layer, as in c = tau_h_max / sqrt(n) and nu = tau_h_min / sqrt(n)
    gamma_min, gamma_max : float >= 0, bounds on abs(phi')
    tau_h_min, tau_h_max : float >= 0

    Raises
    ------
    ValueError : if m or n is not positive, if another number is negative, or if a number is not finite

    Notes
    -----
    The upper bound holds if every entry of h is clipped to c. The lower bound holds if every entry of h is at least nu
    in absolute value, as after `nfa.clip.offset_signed`. A bound on the norms of the rows of h is not enough.
    """
    require.positive(**{"the batch size m": m, "the number n of inputs": n})
    require.not_negative(gamma_min=gamma_min, gamma_max=gamma_max, tau_h_min=tau_h_min, tau_h_max=tau_h_max)
    return math.sqrt(m / n) * gamma_min * tau_h_min, math.sqrt(m / n) * gamma_max * tau_h_max


def column_sensitivity(*, m: int, n: int, tau_B: float, gamma_max: float, tau_h_max: float) -> float:
    r"""The largest change, in l2, of the mean f_k of one column of a PDFA direction if one record is replaced.

    .. math:: \Delta_f = \frac2m \tau_B \gamma^{max} \frac{\tau_h^{max}}{\sqrt n}

    Source: [ohana2021:prop2] [ohana2021:pre-eq15] [ohana2021:pre-eq16] [ohana2021:alg1-require] [ohana2021:iid-noise]

    Parameters
    ----------
    m : int, batch size
    n : int, number of inputs of the layer, as in c = tau_h_max / sqrt(n)
    tau_B : float, bound on the norm of every u_i
    gamma_max : float, bound on abs(phi')
    tau_h_max : float

    Raises
    ------
    ValueError : if m or n is not positive, if another number is negative, or if a number is not finite

    Notes
    -----
    The bound is attained in the limit, for two records with opposite u of norm tau_B, phi' = gamma_max and h_ik = c.
    The bound holds if one record is replaced and the other records stay. It does not hold for a bias whose input 1 is
    not clipped. For such a bias, use `bias_sensitivity`.

    Examples
    --------
    >>> round(column_sensitivity(m=256, n=784, tau_B=1.0, gamma_max=1.0, tau_h_max=1.0), 10)
    0.0002790179
    """
    require.positive(**{"the batch size m": m, "the number n of inputs": n})
    require.not_negative(tau_B=tau_B, gamma_max=gamma_max, tau_h_max=tau_h_max)
    return 2 / m * tau_B * gamma_max * tau_h_max / math.sqrt(n)


def bias_sensitivity(*, m: int, tau_B: float, gamma_max: float) -> float:
    r"""The largest change, in l2, of the biases' direction if one record is replaced. The input of the biases is 1.

    .. math:: \Delta = \frac2m \tau_B \gamma^{max}

    Source: [ohana2021:prop2]

    Raises ValueError if m is not positive, if another number is negative, or if a number is not finite.

    Notes
    -----
    This formula is ours. In the paper, the bias is a column of W, and the clip acts on the whole input vector. So
    `column_sensitivity` also holds for the paper's bias. In `nfa.rules.pdfa`, the input of the biases is 1 unless you
    set bias="clipped".

    Examples
    --------
    >>> bias_sensitivity(m=256, tau_B=1.0, gamma_max=1.0)
    0.0078125
    """
    require.positive(**{"the batch size m": m})
    require.not_negative(tau_B=tau_B, gamma_max=gamma_max)
    return 2 / m * tau_B * gamma_max


def _check_records(sigma: float, **arrays: np.ndarray) -> None:
    require.not_negative(sigma=sigma)
    for name, values in arrays.items():
        if len(values) == 0 or not np.isfinite(values).all():
            raise ValueError(f"{name} must contain at least one record and no NaN or infinity")


LABEL_TOPS = ("softmax", "scaled", "frozen")


def label_sensitivity(*, tau_B: float, hidden: int, top: str) -> float:
    r"""The largest change, in l2, of the noisy projected errors of a step of PDFA if one record's label changes.

    .. math:: \Delta = \Big(\sum_l s_l^2\Big)^{1/2}, \qquad s_l = 2 \tau_B \text{ in a hidden layer}

    Source: [ohana2021:prop3-cols] [ohana2021:eq9b] [ours:pdfa-labels]

    Parameters
    ----------
    tau_B : float > 0, bound on the norm of every projected error u_i^l = scale(B^l e_i)
    hidden : int >= 0, number of hidden layers
    top : the error from which the output layer learns, with noise g in every case. "softmax" is scale(y_hat - y) of a
        softmax with one-hot labels, with s_L = min(sqrt 2, 2 tau_B). "scaled" is any other error after the scaling, for
        example a ternarised error, with s_L = 2 tau_B. "frozen" means that the output layer does not learn, so s_L = 0

    Returns
    -------
    sensitivity : float, the sensitivity of (u_i^l) over all records i and layers l under replace-label. The inputs stay
        the same, so y_hat, phi' and h also stay the same

    Raises
    ------
    ValueError : if tau_B is not positive and finite, if hidden is not an integer >= 0, if top is unknown, or if no
        layer learns

    Notes
    -----
    This formula is ours. The paper gives no guarantee for labels. Proof. The forward pass does not use labels. So the
    label of record I changes only the vectors u_I^l of this record. Two vectors of norm at most tau_B have a distance
    of at most 2 tau_B. At the top, e - e' = y' - y has norm sqrt 2. The scaling is the projection onto a ball, which
    increases no distance. Opposite errors attain the bound. For "softmax", any e and e' inside the ball attain the
    bound at the top.

    The noise on each u_i^l has the standard deviation sigma, not sigma / m. The rule averages over the batch after it
    adds the noise, so the average does not reduce the sensitivity. The result does not hold for an output layer that
    learns without noise, because such a layer reveals e.

    Examples
    --------
    With two hidden layers and the softmax error, the squared sensitivity is 2^2 + 2^2 + 2.

    >>> round(label_sensitivity(tau_B=1.0, hidden=2, top="softmax") ** 2, 12)
    10.0
    """
    require.positive(tau_B=tau_B)
    require.integer(0, hidden=hidden)
    require.one_of(LABEL_TOPS, top=top)
    if hidden == 0 and top == "frozen":
        raise ValueError("no layer learns: set hidden to at least 1, or choose a top other than 'frozen'")
    s_L = {"softmax": min(math.sqrt(2), 2 * tau_B), "scaled": 2 * tau_B, "frozen": 0.0}[top]
    return math.hypot(2 * tau_B * math.sqrt(hidden), s_L)


def repaired_pdfa_sensitivity(
    *, m: float, tau_B: float, tau_h_max: float, gamma_max: list[float], bias: list[float], adjacency: str
) -> float:
    r"""The largest change, in l2, of a whole PDFA direction (all weights and biases as one vector) from one record.

    .. math:: \Delta = \frac2m \tau_B \Big(\sum_{l=1}^L \gamma_l^2 \big((\tau_h^{max})^2 + \beta_l^2\big)\Big)^{1/2}
              \text{ if a record is replaced,} \qquad \gamma_L = 1,

    If a record is added, removed or zeroed out, the sensitivity is Delta / 2.

    Source: [ohana2021:prop2] [ohana2021:iid-noise] [ours:pdfa-sensitivity]

    Parameters
    ----------
    m : float > 0, the public normaliser
    tau_B : float > 0, bound on the norm of every projected error, and of the error at the top
    tau_h_max : float > 0, bound on the norm of the input of every layer, including layer 1
    gamma_max : L - 1 floats >= 0, bounds on abs(phi_l') for the hidden layers l = 1..L-1
    bias : L floats >= 0, the input of the biases of each layer: 1, or 1 after a clip
    adjacency : "replace-one", "add-remove" or "zero-out"

    Raises
    ------
    ValueError : if a number is out of range, if there is not one gamma_max for each hidden layer, or if the adjacency
        is none of the three names

    Notes
    -----
    This formula is ours. It extends Proposition 2 of the paper to whole matrices. Proof. Layer l is fully connected.
    Record i adds the matrix v_i (h_i, beta_l)^T to m times the direction. Here v_i = u_i * phi_l'(z_i), h_i is the
    clipped input of the layer, and beta_l is the input of the biases. This matrix of rank one has the Frobenius norm
    ||v_i|| ||(h_i, beta_l)||. We have ||v_i|| <= gamma_l tau_B, because every entry of u_i is multiplied by at most
    gamma_l and ||u_i|| <= tau_B. Also ||h_i||^2 <= n c^2 = tau_h^2, because the clip leaves n entries of at most c =
    tau_h / sqrt(n). The squared norms of the layers add up. A record changes no other record's term. So the norm of a
    record's term in m times the direction is at most R = tau_B sqrt(sum ...). Replacing the record changes the sum by
    at most 2 R. QED. The bound is attained if two records have equal h, opposite u of norm tau_B in all layers, and
    phi' = gamma_l. So the bound is the smallest possible one for these parameters. The projection may be exact or from
    an OPU, because u_i is scaled after the projection.

    Examples
    --------
    The network has one hidden layer with phi' <= 1, inputs of norm 3, and the input 4 for the biases. Each layer's
    matrix has a norm of at most 5, so the two layers together have a norm of at most sqrt(50). With m = 2, the factor 2
    / m is 1.

    >>> repaired_pdfa_sensitivity(m=2, tau_B=1.0, tau_h_max=3.0, gamma_max=[1.0], bias=[4.0, 4.0],
    ...                           adjacency="replace-one") == math.sqrt(50)
    True
    """
    require.positive(**{"the batch size m": m}, tau_B=tau_B, tau_h_max=tau_h_max)
    if len(bias) != len(gamma_max) + 1:
        raise ValueError(
            "gamma_max needs one value for each hidden layer, and bias needs one value for each layer, got "
            f"{len(gamma_max)} values of gamma_max and {len(bias)} of bias"
        )
    for name, values in (("gamma_max", gamma_max), ("bias", bias)):
        if not all(0 <= value < math.inf for value in values):
            raise ValueError(f"{name} must contain finite numbers >= 0, got {values}")
    require.one_of(("replace-one", "add-remove", "zero-out"), adjacency=adjacency)
    gammas = [*gamma_max, 1.0]
    try:
        squares = math.fsum(gamma**2 * (tau_h_max**2 + beta**2) for gamma, beta in zip(gammas, bias, strict=True))
    except OverflowError:
        raise ValueError(
            "the sensitivity must be finite, but tau_h_max, gamma_max or bias is too large, got"
            f" tau_h_max={tau_h_max}, gamma_max={gamma_max}, bias={bias}"
        ) from None
    return (2 if adjacency == "replace-one" else 1) / m * tau_B * math.sqrt(squares)
