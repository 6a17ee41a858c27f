"""Attacks that reconstruct records: trying all data sets, and gradient ascent on the input of a network."""

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from nfa import require
from nfa.network import Net, forward


def n_data_sets(*, values: int, n: int) -> int:
    r"""The number of data sets of n records if a record can have k values. We ignore the order of the records.

    .. math:: \binom{k + n - 1}{n}

    For records of d bits, k = 2^d. Then the number is at least 2^(d n) / n!.

    Source: [berthier2019:brute-force]

    Parameters
    ----------
    values : int k >= 1
    n : int >= 1

    Returns
    -------
    count : int

    Raises
    ------
    ValueError : if a number is less than 1
    """
    require.whole(1, values=values, n=n)
    return math.comb(values + n - 1, n)


def reconstruct_by_brute_force(
    train: Callable[[list], np.ndarray], values: Sequence, *, n: int, result: np.ndarray, tolerance: float = 1e-9
) -> list[list]:
    """Train on every data set of n records, and return the data sets that give the published result.

    Source: [berthier2019:brute-force]

    Parameters
    ----------
    train : function from a list of n records to the array of the trained parameters. It must not be random
    values : sequence of all values that a record can have
    n : int >= 1, the number of records
    result : array, the published parameters
    tolerance : float >= 0, allowed difference of each parameter from ``result``

    Returns
    -------
    found : list of data sets, each as a list of records in the order of ``values``. If the list has only one data set,
        the published result reveals this data set. The number of trainings is `n_data_sets`.

    Raises
    ------
    ValueError : if there are no values or n is less than 1

    Examples
    --------
    The mean of two bits reveals the two bits, but not their order.

    >>> reconstruct_by_brute_force(lambda bits: np.array([np.mean(bits)]), (0, 1), n=2, result=np.array([0.5]))
    [[0, 1]]
    """
    require.whole(1, values=len(values), n=n)
    every = map(list, itertools.combinations_with_replacement(values, n))
    return [records for records in every if np.allclose(train(records), result, rtol=0, atol=tolerance)]


def confidence(net: Net, x: np.ndarray, label: int) -> np.ndarray:
    """The probability that a network assigns to a class.

    Source: [berthier2019:gradient-ascent]

    Parameters
    ----------
    net : Net with outputs that are probabilities
    x : (k, *in_shape) array
    label : int in 0..n_L-1

    Returns
    -------
    p : (k,) array
    """
    return forward(net, x)[1][net.L][:, label]


def input_gradient(net: Net, x: np.ndarray, label: int) -> np.ndarray:
    r"""The derivative of the log-probability of a class with respect to the input, by one backward pass.

    .. math:: \frac{\partial \log \hat y_c}{\partial x} = -(W^1)^\top \delta z^1

    Source: [berthier2019:gradient-ascent]

    Parameters
    ----------
    net : Net with a softmax and cross-entropy at the top
    x : (k, *in_shape) array
    label : int c in 0..n_L-1

    Returns
    -------
    gradient : (k, *in_shape) array
    """
    z, _ = forward(net, x)
    y = np.zeros(z[net.L].shape)
    y[:, label] = 1
    v: list = [0.0] * (net.L + 1)  # v[l] is the derivative of the loss, -log y_hat_c, with respect to h[l]
    for l in range(net.L, 0, -1):
        dz = net.loss.error(z[l], y) if l == net.L else net.pull(l, z, v[l])
        back = net.map[l].transpose(net.W[l], dz)
        for j in net.reads(l):
            v[j] = v[j] + back
    return -v[0]


def gradient_by_queries(answer: Callable[[np.ndarray], float], x: np.ndarray, *, width: float = 1e-4) -> np.ndarray:
    """An approximation of `input_gradient` from queries only, with two queries for each value of the input.

    Source: [berthier2019:gradient-ascent]

    Parameters
    ----------
    answer : function from an input to a number, such as the logarithm of a confidence
    x : array of d values, of any shape
    width : float > 0, half the distance between the inputs of two queries

    Returns
    -------
    gradient : array of x's shape, after 2 d calls of ``answer``

    Raises
    ------
    ValueError : if width is not positive
    """
    require.positive(width=width)
    gradient = np.empty(x.shape)
    for at in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[at] = width
        gradient[at] = (answer(x + step) - answer(x - step)) / (2 * width)
    return gradient


def ascend(gradient: Callable[[np.ndarray], np.ndarray], x: np.ndarray, *, lr: float, steps: int) -> np.ndarray:
    """Gradient ascent on the input.

    Source: [berthier2019:gradient-ascent]

    Parameters
    ----------
    gradient : function from an input to an array of the same shape
    x : array, the first input
    lr : float > 0
    steps : int >= 1

    Returns
    -------
    x : array, the last input

    Raises
    ------
    ValueError : if a number is out of range
    """
    require.positive(lr=lr)
    require.whole(1, steps=steps)
    for _ in range(steps):
        x = x + lr * gradient(x)
    return x
