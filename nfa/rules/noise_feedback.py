"""Noise feedback: clipped gradients with noise, from which every step takes back the noise of the step before.

Berthier (2019, Section 3.4.1), after error feedback for compressed gradients. Kept for study: see `mechanism`.
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
    r"""The direction with noise feedback for every layer; the loop subtracts ``gamma`` times it.

    .. math:: \theta_{t+1} = \theta_t - \gamma \nabla \ell(\theta_t, x_t) - \eta_{t+1} + \eta_t, \qquad
              \eta_0 = 0, \quad \eta_t \sim N(0, \sigma^2 I)

    Source: [berthier2019:nf-update]

    Parameters
    ----------
    net : Net
    x : (k, *in_shape) array; k may be 0
    y : (k, n_L) array of targets, one-hot for class labels
    m : int > 0, the public normaliser of the sum over examples; 1 in the report
    sigma : float >= 0, standard deviation of eta_t on every coordinate, of what noise_on says
    C : float > 0, l2 bound on each example's gradient (the report's L); inf for no clip
    noise_on : "iterate", eta_t as it stands in the equation; "gradient", gamma eta_t for eta_t, as the text says and
        as in the report's other sections
    gamma : float > 0, the loop's learning rate, needed for "iterate"
    add_normal : function (out, std, rng) that adds the noise in place
    rng : numpy.random.Generator; layers draw from the top down, W before b
    state : dict, holds the noise of the step before by the name of the parameters, "W1", "b1", ...; empty at the start;
        told "clipped" as by `nfa.rules.dp_sgd.dp_sgd`

    Returns
    -------
    dW, db : lists with dW[l] and db[l] of the shapes of W[l] and b[l]; slot 0 is None

    Raises
    ------
    ValueError : if a number or the reading is out of range

    Notes
    -----
    The equation is that of plain SGD with one learning rate: no momentum, no decay. Otherwise the noise that a step
    takes back is not that which the step before has added.
    """
    require.one_of(READINGS, noise_on=noise_on)
    if noise_on == "iterate" and not (gamma is not None and 0 < gamma < math.inf):
        raise ValueError(f"noise on the iterate needs a positive learning rate gamma, got {gamma}")
    # The loop multiplies the direction by gamma, so noise on the iterate itself is divided by gamma here.
    std = sigma / gamma if noise_on == "iterate" and gamma else sigma
    # The noise is drawn below and not by dp_sgd, since the next step subtracts the same values.
    dW, db = dp_sgd(net, x, y, C=C, m=m, sigma=0, rng=rng, state=state)  # clipped, without noise
    for l in range(net.L, 0, -1):
        for name, direction in ((f"W{l}", dW[l]), (f"b{l}", db[l])):
            eta = np.zeros_like(direction)
            add_normal(eta, std, rng)
            direction += eta - state.get(name, 0)  # eta_{t+1} - eta_t
            state[name] = eta
    return dW, db


def mechanism(**settings) -> NoReturn:
    """One step of noise feedback is no mechanism of its own: raises `NoGuarantee`.

    Source: [berthier2019:nf-update]

    Given the iterates before it, theta_t is theta_0 - gamma times the sum of all gradients so far, with fresh noise
    N(0, sigma^2 I): what a record moves stays in every later iterate, and grows with its uses. The last iterate of one
    pass over a convex problem has a guarantee: `nfa.papers.berthier2019.perturbation.output.feedback_release`.
    """
    raise NoGuarantee(
        "berthier2019:nf-update",
        "noise feedback takes the noise of every step back at the next, so that each iterate holds the sum of all"
        " gradients so far under the noise of one step",
    )
