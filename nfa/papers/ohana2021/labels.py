r"""Our guarantee for photonic DFA: the noise on a record's errors hides its label.

**Theorem.** Let the inputs x be public, and let neighbours differ in the label of one record (replace-label). Let
batches, B, the first weights and everything else that is not an error be drawn independently of the labels. Given the
weights before the update, one update of all layers is a function of (u_i^l + g_i^l) over records i and layers l with
noise. So the update is a Gaussian mechanism with noise sigma and the l2 sensitivity Delta of
`nfa.sensitivity.pdfa.label_sensitivity`:

.. math:: D_\alpha \le \frac{\alpha \Delta^2}{2 \sigma^2}.

Together, T updates that use the record are as private as one release of N(0, 1) against N(mu, 1) with
mu = sqrt(T) Delta / sigma.

**Proof.** The forward pass does not use labels: z_i, phi'(z_i), h_i and y_hat_i are functions of the public inputs and
the weights before the update. By Equation 8, the update is (u_i^l + g_i^l) times such functions, which is
post-processing. The g_i^l are independent N(0, sigma^2 I). One label moves only the u_I^l of its own record, over all
layers by at most Delta in norm. Divergences do not grow under post-processing. This proves the first claim. Updates
without the record have the same law under both data sets, given the earlier releases. Updates with the record compose
adaptively. The composition of Gaussian mechanisms with mu_t = Delta / sigma is a Gaussian mechanism with mu = (sum_t
mu_t^2)^{1/2}. Momentum is post-processing too.

**How tight.** For one layer, equality holds if no record's noise hides the term of another record
(`nfa.papers.ohana2021.exact.label_matrix_renyi` with leverage 1). This is the usual case for n_{l-1} >= m. The bound
does not depend on the batch size, because the mean is taken after the noise. Anyone who knows the inputs can undo the
mean.

**Limits.** The theorem gives no privacy for the inputs: the update can reveal whether a record was in the batch at all
(`nfa.papers.ohana2021.exact.matrix_renyi`). T is the number of epochs if the batches of an epoch are disjoint. With
fresh batches, a record may take part in every iteration. The output layer must have noise, or it must not learn.
"""

import math

from nfa import require
from nfa.privacy.divergences import check_order
from nfa.privacy.gaussians import epsilon_gaussian


def label_renyi(*, alpha: float, sigma: float, sensitivity: float, T: int = 1) -> float:
    r"""Upper bound on the Renyi divergence of a run of photonic DFA if one label changes.

    .. math:: T \frac{\alpha \Delta^2}{2 \sigma^2}

    Source: [ohana2021:prop3-cols] [ours:pdfa-labels]

    Parameters
    ----------
    alpha : float > 1, finite
    sigma : float > 0, standard deviation of each entry of g_i
    sensitivity : float > 0, from `nfa.sensitivity.pdfa.label_sensitivity`
    T : int >= 1, number of updates that use one record

    Returns
    -------
    epsilon : float, nats, in both directions

    Raises
    ------
    ValueError : if an argument is out of range

    Notes
    -----
    The docstring of this module has the theorem that proves this bound, with its hypotheses.

    Examples
    --------
    >>> label_renyi(alpha=2, sigma=0.5, sensitivity=2.0)
    16.0
    """
    check_order(alpha, finite_for="the bound")
    require.integer(1, steps=T)
    require.positive(sigma=sigma, sensitivity=sensitivity)
    return T * (alpha / 2) * (sensitivity / sigma) * (sensitivity / sigma)


def label_epsilon(*, delta: float, sigma: float, sensitivity: float, T: int) -> float:
    r"""The exact epsilon, at this delta, of Gaussian noise on one label's projected errors in T updates.

    .. math:: \delta(\epsilon) = \Phi(\tfrac{\mu}{2} - \tfrac{\epsilon}{\mu})
              - e^\epsilon \Phi(-\tfrac{\mu}{2} - \tfrac{\epsilon}{\mu}), \qquad \mu = \sqrt T \Delta / \sigma

    Source: [ohana2021:prop3-cols]

    Parameters
    ----------
    delta : float in (0, 1)
    sigma, sensitivity, T : as for `label_renyi`

    Returns
    -------
    epsilon : float >= 0; a run is (epsilon, delta)-DP under replace-label

    Raises
    ------
    ValueError : if an argument is out of range

    Notes
    -----
    The docstring of this module has the theorem that proves this epsilon, with its hypotheses. At the paper's sigma =
    0.2, the guarantee is formally true but too weak to be useful.

    Examples
    --------
    Table 1 with two hidden layers, the softmax error and 15 epochs of disjoint batches:

    >>> [round(label_epsilon(delta=1e-5, sigma=sigma, sensitivity=math.sqrt(10), T=15), 2) for sigma in (0.2, 5, 20)]
    [2135.2, 12.87, 2.5]
    """
    require.within("(0, 1)", delta=delta)
    require.integer(1, steps=T)
    require.positive(sigma=sigma, sensitivity=sensitivity)
    return epsilon_gaussian(delta=delta, noise_multiplier=sigma / sensitivity / math.sqrt(T))
