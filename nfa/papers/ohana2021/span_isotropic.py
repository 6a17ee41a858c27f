"""What isotropic noise leaves of the span attack: exact laws, so that thousands of trials cost few random numbers."""

import math

import numpy as np
from scipy.special import ndtr

from nfa import require


def gaussian_auc(distance: float, noise_std: float) -> float:
    r"""AUC of the best test between N(a, s^2 I) and N(b, s^2 I): no attack on one release does better.

    .. math:: \mathrm{AUC} = \Phi\Big(\frac{\|a - b\|}{s \sqrt 2}\Big)

    Parameters
    ----------
    distance : float >= 0, ||a - b||
    noise_std : float > 0, s

    Returns
    -------
    auc : float in [1/2, 1]

    Raises
    ------
    ValueError : if distance is negative or not finite, or noise_std not positive and finite

    Notes
    -----
    Proof. By Neyman and Pearson every point of the best ROC curve is a likelihood ratio test, and the ratio grows with
    the projection of the release on (b - a) / ||b - a||, which is N(0, s^2) in one world and N(||a - b||, s^2) in the
    other once a's is subtracted. The AUC is the chance that a draw of the second exceeds one of the first: their
    difference is N(||a - b||, 2 s^2).

    Examples
    --------
    >>> round(gaussian_auc(math.sqrt(2), 1.0), 6), gaussian_auc(0.0, 1.0)
    (0.841345, 0.5)
    """
    require.not_negative(distance=distance)
    require.positive(noise_std=noise_std)
    return float(ndtr(distance / noise_std / math.sqrt(2)))


def noisy_residuals(
    f: np.ndarray, basis: np.ndarray, *, noise_std: float, trials: int, rng: np.random.Generator
) -> np.ndarray:
    r"""`nfa.papers.ohana2021.span_attack.update_residual` of f + s Z to a known batch, for many draws of Z, without
    drawing any Z.

    .. math:: \rho = \sqrt{\frac{R}{R + Q}}, \qquad
              R \sim s^2 \chi'^2_{n_l (n - r)}\Big(\frac{\|f - f P\|_F^2}{s^2}\Big), \quad
              Q \sim s^2 \chi'^2_{n_l r}\Big(\frac{\|f P\|_F^2}{s^2}\Big) \text{ independent}

    Source: [ours:span-residual]

    Parameters
    ----------
    f : (n_l, n) array, the direction before the noise
    basis : (r, n) array, r < n, orthonormal rows that span the clipped inputs of the batch that the update is held
        against (`nfa.papers.ohana2021.span_attack.span_basis`)
    noise_std : float > 0, s, of every entry of Z
    trials : int >= 1
    rng : numpy.random.Generator

    Returns
    -------
    residuals : (trials,) array in (0, 1]

    Raises
    ------
    ValueError : if noise_std or trials is out of range, or the shapes leave no direction outside the span

    Notes
    -----
    Proof. Write Z in an orthonormal basis of the row space whose first r vectors are the given ones. Rotating Gaussian
    noise of equal size in every direction leaves its law as it is, so that the n_l r entries of Z P and the n_l (n - r)
    entries of Z - Z P are independent N(0, 1). R = ||f - f P + s (Z - Z P)||_F^2 and Q = ||f P + s Z P||_F^2 are thus
    sums of squares of independent normals of standard deviation s, noncentral chi-square, independent of each other.
    """
    require.positive(noise_std=noise_std)
    require.at_least(1, trials=trials)
    r, n = basis.shape
    if r >= n or f.ndim != 2 or f.shape[1] != n:
        raise ValueError(f"f must have more columns than basis has rows, as many as it has, got {f.shape} and {r, n}")
    inside = f @ basis.T  # (n_l, r)
    outside = f - inside @ basis
    R = _squared_norms(outside, len(f) * (n - r), noise_std, trials, rng)
    Q = _squared_norms(inside, len(f) * r, noise_std, trials, rng)
    return np.sqrt(R / (R + Q))


def _squared_norms(mean: np.ndarray, d: int, s: float, trials: int, rng: np.random.Generator) -> np.ndarray:
    """Draws of ||mean + s N(0, I_d)||^2: only the noise along the mean meets it."""
    if d == 0:
        return np.zeros(trials)
    along = np.linalg.norm(mean) + s * rng.standard_normal(trials)
    return np.square(along) + s**2 * 2 * rng.standard_gamma((d - 1) / 2, trials)
