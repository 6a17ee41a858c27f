"""Output perturbation: softmax regression solved to the end, and noise on the answer.

The way of Chaudhuri, Monteleoni and Sarwate (2011, Algorithm 1, for two classes), with Gaussian noise. Berthier (2019,
Section 3.2.2) bounds instead how far the outputs of one pass of SGD can be apart, for a record replaced, see
`nfa.papers.berthier2019.perturbation.output`. One step on all records (``--sampling none --epochs 1 --lr 1``) is the
whole training: the direction leads from the present weights to the answer, wherever they are.
"""

import math
from collections.abc import Callable

import numpy as np

from nfa import require
from nfa.mechanism import ADJACENCIES, Mechanism, NoGuarantee
from nfa.network import Net
from nfa.network.softmax_regression import check_one_hot, check_softmax_regression, joined_inputs, minimise
from nfa.noise import add_normal as numpy_normal

# How long the difference of neighbours' sums of e x^T can be, in units of sqrt(2) R: two terms, one, or one whose e
# is the difference of two labels.
ERRORS_APART = {"replace-one": 2, "add-remove": 1, "zero-out": 1, "replace-label": 1}


def output_perturbation(
    net: Net,
    x: np.ndarray,
    y: np.ndarray,
    *,
    m: int,
    lam: float,
    R: float = 1.0,
    sigma: float,
    tolerance: float = 1e-10,
    add_normal: Callable = numpy_normal,
    rng: np.random.Generator,
    state: dict | None = None,
) -> tuple[list, list]:
    r"""The direction from the weights to the perturbed minimiser; with the learning rate 1 the loop arrives there.

    .. math:: (dW, db) = (W, b) - (\theta^* + N(0, \sigma^2 I)), \qquad
              \theta^* = \mathrm{argmin}_\theta \frac1m \sum_i \mathcal L(\theta \tilde x_i, y_i)
              + \frac\lambda2 \|\theta\|^2, \qquad \tilde x_i = \mathrm{clip}_R((x_i, 1))

    Source: [ours:softmax-output]

    Parameters
    ----------
    net : Net of one dense layer, with the softmax cross-entropy; where its weights are does not matter
    x : (k, *in_shape) array; k may be 0: then the minimiser is 0
    y : (k, n_L) array of one-hot targets
    m : float > 0, the public normaliser: the number of records, or what is expected of it
    lam : float > 0, weight of the regulariser, biases included
    R : float > 0, l2 bound on each record's input and the 1 that the biases see, as one vector
    sigma : float >= 0, standard deviation of the noise on every weight and bias
    tolerance : float in [1e-12, 1), the gradient at what is taken for the minimiser has at most the norm tolerance R
    add_normal : function (out, std, rng) that adds the noise in place
    rng : numpy.random.Generator; draws all weights and biases at once, a class a row, its bias last
    state : dict, told "clipped", the share of examples that the clip scales down

    Returns
    -------
    dW, db : lists with dW[1] and db[1] of the shapes and dtypes of W[1] and b[1]; slot 0 is None

    Raises
    ------
    ValueError : for another network, targets that are not one-hot, a number out of range, or where no minimiser is
        found to the tolerance

    Notes
    -----
    The minimiser is found in float64. Where R is below the norm of every input, lam and R count by lam / R^2 alone: all
    inputs end on one sphere. A record whose input is not finite counts as the input 0, which teaches nothing.
    """
    check_softmax_regression(net, rule="output_perturbation")
    check_settings(m=m, lam=lam, R=R, sigma=sigma, tolerance=tolerance, rule="output_perturbation")
    check_one_hot(net, y)
    shares: list = []  # of the batch that the clip scales down
    inputs = joined_inputs(net, x, R, shares)  # (k, n_0 + 1)
    # The inputs come divided by R, so R theta is minimised over: lam becomes lam / R^2.
    theta = minimise(inputs, y, m=m, lam=lam / R / R, tolerance=tolerance) / R  # (n_L, n_0 + 1)
    add_normal(theta, sigma, rng)
    if state is not None:
        state["clipped"] = shares
    return leading_to(theta, net)


def leading_to(theta: np.ndarray, net: Net) -> tuple[list, list]:
    """The direction from a network's weights and biases to those of theta, (n_L, n_0 + 1), in the network's dtype."""
    W, b = np.split(theta, [net.W[1].shape[1]], axis=1)  # (n_L, n_0), (n_L, 1), or (n_L, 0) without biases
    dW, db = net.W[1] - W, net.b[1] - b.ravel()
    return [None, dW.astype(net.W[1].dtype)], [None, db.astype(net.b[1].dtype)]


def check_settings(*, m: float, lam: float, R: float, sigma: float, tolerance: float, rule: str) -> None:
    """Raise ValueError unless the settings that both rules of softmax regression have are in their ranges."""
    require.normaliser(m, rule=rule)
    require.positive(lam=lam, R=R)
    # lam / R / R, since R^2 can underflow to 0 where this quotient is infinite and refused.
    require.positive(**{"lam / R^2": lam / R / R})
    require.not_negative(sigma=sigma)
    if not 1e-12 <= tolerance < 1:
        raise ValueError(
            "tolerance must be at least 1e-12, the smallest tolerance that float64 can resolve, and below 1, got "
            f"{tolerance}"
        )


def mechanism(
    *,
    net: Net,
    m: int,
    lam: float,
    R: float = 1.0,
    sigma: float,
    tolerance: float = 1e-10,
    adjacency: str,
    sampling: str,
    sampling_rate: float,
) -> Mechanism:
    r"""What one step releases: a Gaussian mechanism whose sensitivity is that of the minimiser.

    .. math:: \Delta = \frac{R}{\lambda} \Big(\frac{k \sqrt2}{m} + 2 \cdot \mathrm{tolerance}\Big), \qquad
              k = 1 \text{ for a record added, removed, zeroed out or relabelled, } 2 \text{ for one replaced}

    Source: [ours:softmax-output]

    Parameters
    ----------
    net : Net
    m, lam, R, sigma, tolerance : as given to `output_perturbation`
    adjacency : one of `nfa.mechanism.ADJACENCIES`
    sampling, sampling_rate : of the batches

    Raises
    ------
    ValueError : if a number or a name is out of range
    NoGuarantee : for a network that is no softmax regression, or without noise

    Notes
    -----
    Proof. Let F and F' be the objectives of neighbours, theta and theta' their exact minimisers. The losses are convex,
    so the gradient of F is lam-strongly monotone, and with grad F(theta) = 0 = grad F'(theta'),

        lam ||theta' - theta||^2 <= <grad F(theta') - grad F(theta), theta' - theta>
                                  = <grad F(theta') - grad F'(theta'), theta' - theta>:

    ||theta' - theta|| is at most 1 / lam times how far apart the two gradients are at one and the same point. There all
    terms but those of the record that differs cancel; its term is e x~^T / m with ||x~|| <= R, and e = p - y, a
    probability vector less a unit vector, is at most sqrt(2) long. One term: sqrt(2) R / m. Two: twice that. Another
    label: the difference of the two e is that of two unit vectors, and x~ is the same. What is taken for a minimiser
    is at most tolerance R / lam from it, again by strong monotonicity, in either data set. But for the tolerance no
    smaller number holds for all data: a record of norm R that many records of a small norm sort into a wrong class
    attains it in the limit.

    The noise does not depend on the batch, and neither does where the minimisation begins. What is taken for granted:
    floats are counted as real numbers, and that no minimiser is found to the tolerance ends the run and is not counted.
    """
    try:
        check_softmax_regression(net, rule="output_perturbation")
    except ValueError as refusal:
        raise NoGuarantee("ours:softmax-output", str(refusal)) from None
    check_settings(m=m, lam=lam, R=R, sigma=sigma, tolerance=tolerance, rule="output_perturbation")
    require.one_of(ADJACENCIES, adjacency=adjacency)
    if sigma == 0:
        raise NoGuarantee("lee2020:lem1", "sigma is 0, so the release has no noise and protects nothing")
    return Mechanism(
        law="gaussian",
        # 2 tolerance: the answer for either data set is at most tolerance R / lam from its minimiser.
        sensitivity=R * (ERRORS_APART[adjacency] * math.sqrt(2) / m + 2 * tolerance) / lam,
        adjacency=adjacency,
        noise_std=sigma,
        sampling=sampling,
        sampling_rate=sampling_rate,
    )
