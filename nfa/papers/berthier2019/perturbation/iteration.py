"""Amplification by iteration: bounds on what the last iterate of a pass of noisy SGD reveals about an earlier record.

Only the last iterate is released. The noise of the steps after the use of the record hides the record further. The
shifted divergences of `nfa.papers.berthier2019.perturbation.shifted` measure how well the noise hides the record.
Epsilons are in nats. `nfa.papers.berthier2019.perturbation.last_iterate` applies the result to a pass over shuffled
records, and returns this pass as a release for an accountant.
"""

import math

import numpy as np

from nfa import require
from nfa.papers.berthier2019.perturbation.shifted import (
    after_noise,
    after_step,
    check_alpha,
    check_position,
    shift_cost,
)


def iteration_bound(alpha, *, C: float, s, a, sigma):
    r"""Theorem 3.5: a bound on the shifted divergence of the last iterates, for any split of the shifts.

    .. math:: z_0 = 0, \quad z_{t+1} = C z_t + s_{t+1} - a_{t+1} \ge 0 \quad\Rightarrow\quad
              D_\alpha^{(z_n)}(X_n \| X'_n) \le \sum_{t=1}^n R_\alpha(\zeta_t, a_t)

    Source: [berthier2019:thm3.5]

    Parameters
    ----------
    alpha : order > 1, or an array of orders
    C : float >= 0, Lipschitz constant of every step, for at least one of the two data sets
    s : (n,) array >= 0, the largest distance between the steps of the two data sets; for a record replaced at step t,
        s is 2 gamma L at t and 0 elsewhere
    a : (n,) array >= 0, freely chosen so that no z_t is negative
    sigma : (n,) array > 0, or one number: standard deviation of the Gaussian noise on each iterate

    Returns
    -------
    z_n : float >= 0
    epsilon : nats, of the shape of alpha; a bound on the Renyi divergence of the last iterates only if z_n is 0

    Raises
    ------
    ValueError : if an argument is out of range, if lengths differ, or if a z_t is negative by more than rounding

    Notes
    -----
    Both runs start at the same point, or in the same law. The theorem is about the last iterate. The theorem does not
    cover the other iterates, which must not be published.

    Examples
    --------
    There are two steps without contraction, and the record differs in the first step. The noise of each step hides half
    of the shift, so the bound is 2 * 2 (1/2)^2/2.

    >>> z, epsilon = iteration_bound(2, C=1.0, s=[1.0, 0.0], a=[0.5, 0.5], sigma=1.0)
    >>> z, float(epsilon)
    (0.0, 0.5)
    """
    s, a = np.atleast_1d(np.asarray(s, float)), np.atleast_1d(np.asarray(a, float))
    if s.ndim != 1 or s.shape != a.shape:
        raise ValueError(f"s and a must be rows of one length, got shapes {s.shape} and {a.shape}")
    sigmas = np.broadcast_to(np.asarray(sigma, float), s.shape)
    z, size, epsilon = 0.0, 0.0, 0 * check_alpha(alpha)
    for s_t, a_t, sigma_t in zip(s.tolist(), a.tolist(), sigmas.tolist(), strict=True):
        z, epsilon = after_step(z, epsilon, C=C, s=s_t)
        size = C * size + s_t + a_t  # size of the terms in the difference z
        if not a_t <= z + 1e-12 * size:
            raise ValueError(
                f"each shift a_t must be at most the remaining distance z_t, got a_t = {a_t} and z_t = {z}"
            )
        z = max(z, a_t)
        z, epsilon = after_noise(z, epsilon, alpha=alpha, a=a_t, sigma=sigma_t)
    return (0.0 if z <= 1e-12 * size else z), epsilon


def best_shifts(*, s: float, C: float, n: int, t: int) -> np.ndarray:
    r"""The shifts a that minimise the bound of Theorem 3.5 with z_n = 0, for one record that is used at step t.

    .. math:: a_{t+k} = s\, C^{-k} \Big/ \sum_{j=0}^{n-t} C^{-2j}, \qquad k = 0, \dots, n - t

    Source: [berthier2019:thm3.6]

    Parameters
    ----------
    s : float >= 0, the largest distance between the steps of the two data sets at t
    C : float > 0
    n, t : integers, 1 <= t <= n

    Returns
    -------
    a : (n,) array, 0 before step t

    Raises
    ------
    ValueError : if an argument is out of range

    Examples
    --------
    >>> best_shifts(s=5.0, C=0.5, n=3, t=2).tolist()
    [0.0, 1.0, 2.0]
    """
    require.not_negative(s=s)
    require.positive(**{"the Lipschitz constant C of a step": C})
    check_position(n, t)
    powers = -np.arange(n - t + 1) * math.log(C)  # log C^-k
    top = powers.max()
    mu = np.exp(powers - top)
    return np.concatenate([np.zeros(t - 1), s * mu / (mu @ mu) * math.exp(-top)])


def noise_share(C: float, i):
    r"""Divergence caused by a record under the noise of i steps, divided by the divergence under one step's noise.

    .. math:: \frac{1 - C^{-2}}{1 - C^{-2i}} = \Big( \sum_{k=0}^{i-1} C^{-2k} \Big)^{-1}, \qquad 1/i \text{ for } C = 1

    Source: [berthier2019:thm3.6]

    Parameters
    ----------
    C : float >= 0, Lipschitz constant of a step
    i : integer >= 1, or an array: the number of steps with noise from the record's step on

    Returns
    -------
    share : in [0, 1], of the shape of i; decreases in i, to 1 - C^-2 for C > 1 and to 0 for C <= 1

    Raises
    ------
    ValueError : if an argument is out of range

    Examples
    --------
    >>> noise_share(1.0, np.array([1, 2, 4])).tolist(), float(noise_share(0.5, 2)), float(noise_share(0.0, 2))
    ([1.0, 0.5, 0.25], 0.2, 0.0)
    """
    require.not_negative(**{"the Lipschitz constant C of a step": C})
    i = np.asarray(i)
    if i.size and not (i >= 1).all():
        raise ValueError(f"the number of noises i must be at least 1, got {i.min()}")
    if C == 1:
        return 1 / i
    with np.errstate(divide="ignore", under="ignore"):
        logs = -2 * np.abs(np.log(np.float64(C)))  # log of C^-2, or of C^2 for C < 1
        share = np.expm1(logs) / np.expm1(i * logs)
        return share if C > 1 else share * np.float64(C) ** (2 * (i - 1))


def rdp_iteration(alpha, L: float, sigma: float, C: float, n: int, t: int):
    r"""Theorem 3.6: Renyi epsilon of the last iterate of one pass of noisy SGD, for the record used at step t.

    .. math:: \epsilon(\alpha) = \frac{2 \alpha L^2}{\sigma^2} \, \frac{1 - C^{-2}}{1 - C^{-2 (n - t + 1)}}, \qquad
              \frac{2 \alpha L^2}{\sigma^2 (n - t + 1)} \text{ for } C = 1

    Source: [berthier2019:thm3.6]

    Parameters
    ----------
    alpha : order > 1, or an array of orders
    L : float > 0, bound on the norm of every record's gradient, everywhere
    sigma : float > 0, standard deviation of the noise on the gradient in theta - gamma (gradient + noise)
    C : float >= 0, Lipschitz constant of the steps u - gamma gradient(u), for every record
    n : integer >= 1, number of steps of the pass, one record each
    t : integer in 1 .. n, the step that uses the record

    Returns
    -------
    rdp : nats, of the shape of alpha, under replace-one: the order of the records is fixed, and the records at step t
        differ

    Raises
    ------
    ValueError : if an argument is out of range

    Notes
    -----
    Only the last iterate may be released. If the loss is beta-smooth in theta for every record, C is

    - 1 + gamma beta for any beta-smooth loss, as in the report. Clipping the gradient at L preserves this C, because
      the projection on a ball does not increase distances.
    - 1 for a convex loss and gamma <= 2 / beta, and max(|1 - gamma mu|, |1 - gamma beta|) if the loss is mu-strongly
      convex. In more than one dimension, clipping does not preserve this C, because the clipped gradient of a convex
      loss need not be monotone.

    The bound is an equality for t = 1 and affine steps u -> C u. For t > 1 the noise of the steps before t hides the
    record too, but the bound does not count it. At t = n there is no gain: 2 alpha L^2 / sigma^2 is the curve of one
    Gaussian release.

    Examples
    --------
    Two steps with noise and C^2 = 2 give the share (1 - 1/2) / (1 - 1/4) = 2/3. The curve of one release is 2 * 3 * 1 /
    4.

    >>> round(float(rdp_iteration(3, L=1.0, sigma=2.0, C=2**0.5, n=5, t=4)), 12)
    1.0
    """
    alpha = check_alpha(alpha)
    require.positive(**{"the Lipschitz constant L of the losses": L}, sigma=sigma)
    check_position(n, t)
    return shift_cost(alpha, a=2 * L, sigma=sigma) * noise_share(C, n - t + 1)
