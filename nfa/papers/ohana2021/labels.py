r"""What photonic DFA does guarantee: each label hides behind the noise on its record's errors. Ours.

**Theorem.** Let the inputs x be public, and neighbours differ in the label of one record (replace-label). Let batches,
B, the initial weights and everything else that is not an error be drawn without looking at the labels. One update of
all layers is, given the weights before it, a function of (u_i^l + g_i^l) over records i and layers l that are noised.
So it is a Gaussian mechanism with noise sigma and the l2 sensitivity Delta of `nfa.sensitivity.pdfa.label_sensitivity`,

.. math:: D_\alpha \le \frac{\alpha \Delta^2}{2 \sigma^2},

and T updates that the record takes part in are together as private as one release of N(0, 1) against N(mu, 1) with
mu = sqrt(T) Delta / sigma.

**Proof.** The forward pass does not see labels: z_i, phi'(z_i), h_i and y_hat_i are functions of the public inputs and
the weights before the update. By Equation 8 the update is (u_i^l + g_i^l) times these: post-processing. The g_i^l are
independent N(0, sigma^2 I), and one label moves the u_I^l of its own record only, together by at most Delta.
Divergences do not grow under post-processing, which is the first claim. Updates without the record have the same law
under both data sets, given what was released before; those with it compose adaptively, and composing Gaussian
mechanisms of mu_t = Delta / sigma gives one of mu = (sum_t mu_t^2)^{1/2}. Momentum is post-processing too.

**How tight.** For one layer equality holds where no record's noise hides another's
(`nfa.papers.ohana2021.exact.label_matrix_renyi` with leverage 1), as a rule for n_{l-1} >= m. The batch size does not
enter: averaging comes after the noise and is undone by knowing the inputs.

**What it does not say.** Nothing about the inputs: whether a record was in the batch at all can be read off the update
(`nfa.papers.ohana2021.exact.matrix_renyi`). T is the number of epochs if the batches of an epoch are disjoint; with
fresh batches a record may take part in every iteration. The output layer must be noised or not learn.
"""

import math

from nfa import require
from nfa.privacy.divergences import check_order
from nfa.privacy.gaussians import epsilon_gaussian


def label_renyi(*, alpha: float, sigma: float, sensitivity: float, T: int = 1) -> float:
    r"""The Renyi divergence of a run of photonic DFA under a change of one label is at most this.

    .. math:: T \frac{\alpha \Delta^2}{2 \sigma^2}

    Source: [ohana2021:prop3-cols] [ours:pdfa-labels]

    Parameters
    ----------
    alpha : float > 1, finite
    sigma : float > 0, standard deviation of each entry of g_i
    sensitivity : float > 0, from `nfa.sensitivity.pdfa.label_sensitivity`
    T : int >= 1, updates that one record takes part in

    Returns
    -------
    epsilon : float, nats, in both directions

    Raises
    ------
    ValueError : if an argument is out of range

    Notes
    -----
    The theorem of this module, with its hypotheses.

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
    The theorem of this module, with its hypotheses. At the paper's sigma = 0.2 it is a formal guarantee, not a useful
    one.

    Examples
    --------
    Table 1, two hidden layers and the softmax error, 15 epochs of disjoint batches:

    >>> [round(label_epsilon(delta=1e-5, sigma=sigma, sensitivity=math.sqrt(10), T=15), 2) for sigma in (0.2, 5, 20)]
    [2135.2, 12.87, 2.5]
    """
    require.within("(0, 1)", delta=delta)
    require.integer(1, steps=T)
    require.positive(sigma=sigma, sensitivity=sensitivity)
    return epsilon_gaussian(delta=delta, noise_multiplier=sigma / sensitivity / math.sqrt(T))
