"""Noise feedback: clipped gradients with noise. Every step also subtracts the noise of the previous step.

This is Berthier (2019, Section 3.4.1), by analogy with error feedback for compressed gradients. Kept for study. It has
no guarantee (see `mechanism`).
"""

import math
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from nfa import require
from nfa.mechanism import NoGuarantee
from nfa.network import Net
from nfa.noise import add_normal as numpy_normal
from nfa.rules.dp_sgd import dp_sgd

SUM_OVER_EXAMPLES = True

READINGS = ("gradient", "iterate")


def noise_feedback(
    net: Net,
    x: np.ndarray,
    y: np.ndarray,
    *,
    m: int,
    sigma: float,
    C: float = math.inf,
    noise_on: str = "gradient",
    gamma: float | None = None,
    add_normal: Callable = numpy_normal,
    rng: np.random.Generator,
    state: dict[str, Any],
) -> tuple[list, list]:
    r"""The direction with noise feedback for every layer. The training loop subtracts ``gamma`` times the direction.

    .. math:: \theta_{t+1} = \theta_t - \gamma \nabla \ell(\theta_t, x_t) - \eta_{t+1} + \eta_t, \qquad
              \eta_0 = 0, \quad \eta_t \sim N(0, \sigma^2 I)

    Source: [berthier2019:nf-update]

    Parameters
    ----------
    net : Net
    x : (k, *in_shape) array; k may be 0
    y : (k, n_L) array of targets, one-hot for class labels
    m : int > 0, the public normaliser of the sum over examples; 1 in the report
    sigma : float >= 0, standard deviation of the noise on every coordinate of the iterate or the gradient, see noise_on
    C : float > 0, l2 bound on each example's gradient (the report's L); inf for no clip
    noise_on : "iterate" for eta_t as in the equation; "gradient" for gamma eta_t in place of eta_t, as in the text and
        in the report's other sections
    gamma : float > 0, the loop's learning rate, needed for "iterate"
    add_normal : function (out, std, rng) that adds the noise in place
    rng : numpy.random.Generator; the noise is drawn from the top layer down, W before b
    state : dict with the noise of the previous step under the name of each parameter, "W1", "b1", ... The dict is empty
        at the start. Its entry "clipped" is that of `nfa.rules.dp_sgd.dp_sgd`

    Returns
    -------
    dW, db : lists with dW[l] and db[l] of the shapes of W[l] and b[l]; slot 0 is None

    Raises
    ------
    ValueError : if a number is out of range, or if noise_on is neither of the two names

    Notes
    -----
    The equation is for plain SGD with one learning rate, without momentum and without decay of the learning rate.
    Otherwise, a step does not subtract the noise that the previous step added.
    """
    require.one_of(READINGS, noise_on=noise_on)
    if noise_on == "iterate" and not (gamma is not None and 0 < gamma < math.inf):
        raise ValueError(f"noise on the iterate needs a positive and finite learning rate gamma, got {gamma}")
    # The loop multiplies the direction by gamma, so we divide noise on the iterate itself by gamma here.
    std = sigma / gamma if noise_on == "iterate" and gamma else sigma
    # We draw the noise below, and not in dp_sgd, because the next step must subtract the values of this step.
    dW, db = dp_sgd(net, x, y, C=C, m=m, sigma=0, rng=rng, state=state)  # clipped, without noise
    for l in range(net.L, 0, -1):
        for name, direction in ((f"W{l}", dW[l]), (f"b{l}", db[l])):
            eta = np.zeros_like(direction)
            add_normal(eta, std, rng)
            direction += eta - state.get(name, 0)  # eta_{t+1} - eta_t
            state[name] = eta
    return dW, db


def mechanism(**settings) -> NoReturn:
    """One step of noise feedback is no mechanism of its own, so this function raises `NoGuarantee`.

    Source: [berthier2019:nf-update]

    Given the previous iterates, theta_t is theta_0 - gamma times the sum of all gradients so far, plus fresh noise N(0,
    sigma^2 I). So the effect of a record stays in every later iterate and grows each time the record is used. The last
    iterate of one pass over a convex problem has a guarantee:
    `nfa.papers.berthier2019.perturbation.output.feedback_release`.
    """
    raise NoGuarantee(
        "berthier2019:nf-update",
        "noise feedback subtracts the noise of each step at the next step, so the noise of only one step hides the sum"
        " of all gradients",
    )
