"""Output perturbation: softmax regression solved to convergence, with noise on the result.

The method is that of Chaudhuri, Monteleoni and Sarwate (2011, Algorithm 1, for two classes), with Gaussian noise.
Berthier (2019, Section 3.2.2) instead bounds the distance between the outputs of one pass of SGD if a record is
replaced (`nfa.papers.berthier2019.perturbation.output`). One step on all records
(``--sampling none --epochs 1 --lr 1``) is the whole training. The direction leads from the current weights, whatever
they are, to the result.
"""

import math
from collections.abc import Callable

import numpy as np

from nfa import require
from nfa.mechanism import ADJACENCIES, Mechanism, NoGuarantee
from nfa.network import Net
from nfa.network.softmax_regression import check_one_hot, check_softmax_regression, joined_inputs, minimise
from nfa.noise import add_normal as numpy_normal

# For neighbours, the largest norm of the difference of their sums of e x^T, in units of sqrt(2) R. If a record is
# replaced, the difference has two terms. Otherwise it has one term. If a label is replaced, the e of this term is the
# difference of the errors for the two labels.
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
    r"""The direction from the weights to the perturbed minimiser. One step with learning rate 1 reaches it.

    .. math:: (dW, db) = (W, b) - (\theta^* + N(0, \sigma^2 I)), \qquad
              \theta^* = \mathrm{argmin}_\theta \frac1m \sum_i \mathcal L(\theta \tilde x_i, y_i)
              + \frac\lambda2 \|\theta\|^2, \qquad \tilde x_i = \mathrm{clip}_R((x_i, 1))

    Source: [ours:softmax-output]

    Parameters
    ----------
    net : Net of one dense layer, with the softmax cross-entropy; the values of its weights do not matter
    x : (k, *in_shape) array; k may be 0, and then the minimiser is 0
    y : (k, n_L) array of one-hot targets
    m : float > 0, public normaliser: the number of records, or its expected value
    lam : float > 0, weight of the regulariser, biases included
    R : float > 0, l2 bound on each record's input together with the input 1 of the biases, as one vector
    sigma : float >= 0, standard deviation of the noise on every weight and bias
    tolerance : float in [1e-12, 1); at the computed minimiser, the norm of the gradient is at most tolerance R
    add_normal : function (out, std, rng) that adds the noise in place
    rng : numpy.random.Generator, which draws the noise for all weights and biases at once: a row for each class, with
        its bias last
    state : dict. Its entry "clipped" gets the share of examples that the clip scales down

    Returns
    -------
    dW, db : lists with dW[1] and db[1] of the shapes and dtypes of W[1] and b[1]; slot 0 is None

    Raises
    ------
    ValueError : for another network, for targets that are not one-hot, for a number out of range, or if the search
        finds no minimiser to the tolerance

    Notes
    -----
    The minimiser is computed in float64. If R is below the norm of every input, all clipped inputs have norm R, so the
    predictions depend only on lam / R^2. If the input of a record is not finite, it is replaced by 0, so the record has
    no effect.
    """
    check_softmax_regression(net, rule="output_perturbation")
    check_settings(m=m, lam=lam, R=R, sigma=sigma, tolerance=tolerance, rule="output_perturbation")
    check_one_hot(net, y)
    shares: list = []  # share of the batch that the clip scales down
    inputs = joined_inputs(net, x, R, shares)  # (k, n_0 + 1)
    # The inputs are divided by R, so we minimise over R theta: lam becomes lam / R^2.
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
    """Raise ValueError unless the common settings of the two rules for softmax regression are in their ranges."""
    require.normaliser(m, rule=rule)
    require.positive(**{"the weight lam of the regulariser": lam, "the bound R on the norm of an input": R})
    # R^2 can underflow to 0. Then lam / R / R is infinite and raises this error, but lam / R^2 would divide by 0.
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
    r"""One step: a Gaussian mechanism with the sensitivity of the minimiser.

    .. math:: \Delta = \frac{R}{\lambda} \Big(\frac{k \sqrt2}{m} + 2 \cdot \mathrm{tolerance}\Big), \qquad
              k = 1 \text{ for a record added, removed, zeroed out or relabelled, } 2 \text{ for one replaced}

    Source: [ours:softmax-output]

    Parameters
    ----------
    net : Net
    m, lam, R, sigma, tolerance : as given to `output_perturbation`
    adjacency : one of `nfa.mechanism.ADJACENCIES`
    sampling, sampling_rate : scheme and rate of the batches

    Raises
    ------
    ValueError : if a number or a name is out of range
    NoGuarantee : for a network that is not softmax regression, or without noise

    Notes
    -----
    Proof. Let F and F' be the objectives of neighbours, and theta and theta' their exact minimisers. The losses are
    convex, so the gradient of F is lam-strongly monotone. From grad F(theta) = 0 = grad F'(theta') we get

        lam ||theta' - theta||^2 <= <grad F(theta') - grad F(theta), theta' - theta>
                                  = <grad F(theta') - grad F'(theta'), theta' - theta>.

    So ||theta' - theta|| is at most 1 / lam times the distance between the gradients of F and F' at theta'. In their
    difference, all terms cancel except those of the record that differs. Its term is e x~^T / m with ||x~|| <= R. Here
    e = p - y is a probability vector minus a unit vector, so its norm is at most sqrt(2). One term gives sqrt(2) R / m,
    and two terms give twice this bound. If the label is replaced, the difference of the two terms has the same x~ and
    the difference of two unit vectors in place of e. For each data set, the distance of the computed minimiser from the
    exact minimiser is at most tolerance R / lam, also by strong monotonicity. Apart from the tolerance, no smaller
    sensitivity holds for all data. A record of norm R attains this sensitivity in the limit, if many records of a small
    norm cause a wrong prediction for it.

    Neither the noise nor the start of the minimisation depends on the batch. The proof makes two assumptions. It treats
    floats as real numbers. It ignores the event that the run ends because the computed minimiser does not reach the
    tolerance.
    """
    try:
        check_softmax_regression(net, rule="output_perturbation")
    except ValueError as refusal:
        raise NoGuarantee("ours:softmax-output", str(refusal)) from None
    check_settings(m=m, lam=lam, R=R, sigma=sigma, tolerance=tolerance, rule="output_perturbation")
    require.one_of(ADJACENCIES, adjacency=adjacency)
    if sigma == 0:
        raise NoGuarantee("lee2020:lem1", "sigma is 0, so the release has no noise and no guarantee")
    return Mechanism(
        law="gaussian",
        # The term 2 tolerance is for the two data sets. In each, the computed minimiser is within tolerance R / lam.
        sensitivity=R * (ERRORS_APART[adjacency] * math.sqrt(2) / m + 2 * tolerance) / lam,
        adjacency=adjacency,
        noise_std=sigma,
        sampling=sampling,
        sampling_rate=sampling_rate,
    )
