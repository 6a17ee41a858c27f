"""Joint-clip hybrid: DFA in the dense layers and BP in the convolutions, with each example's whole direction clipped.

This rule is ours. It is the hybrid of Lee & Kifer (2020, Section 4.2) with the clip of `nfa.rules.dp_dfa_joint`. Their
own private version is `nfa.rules.dp_hybrid`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from nfa import require
from nfa.clip import clip_factor_of_squares
from nfa.feedback import project
from nfa.feedback.matrices import check_feeds
from nfa.mechanism import Mechanism
from nfa.network import Net, forward
from nfa.noise import add_normal as numpy_normal
from nfa.rules.dp_dfa_joint import mechanism as joint_mechanism
from nfa.rules.hybrid import convolutions

SUM_OVER_EXAMPLES = True


def dp_hybrid_joint(
    net: Net,
    x: np.ndarray,
    y: np.ndarray,
    *,
    B: list,
    C: float,
    m: int,
    sigma: float,
    ell: int | None = None,
    add_normal: Callable = numpy_normal,
    rng: np.random.Generator,
    state: dict | None = None,
) -> tuple[list, list]:
    r"""The joint-clip hybrid direction for every layer. The training loop subtracts ``eta`` times the direction.

    .. math:: \delta z_i^l = \begin{cases} e_i = \hat y_i - y_i & l = L \\
              (B^l e_i) \odot \phi_l'(z_i^l) & \ell < l < L \\
              ((W^{l+1})^\top \delta z_i^{l+1}) \odot \phi_l'(z_i^l) & l \le \ell \end{cases}

    .. math:: u_i = (\delta z_i^l (h_i^{l-1})^\top, \delta z_i^l)_{l = 1..L}, \qquad
              (dW, db) = N(0, \sigma^2 I) + \frac1m \sum_i u_i \min(1, C / \|u_i\|_2)

    Source: [ours:joint-clip]

    Parameters
    ----------
    net : Net
    x : (k, *in_shape) array; k may be 0, and then the direction is only noise
    y : (k, n_L) array of targets, one-hot for class labels
    B : list, B[l] (n_l, n_L) for l = ell+1..L-1, from `nfa.feedback.draw`; lower entries are not used
    C : float > 0, l2 bound on each example's direction in all weights and biases together
    m : float > 0, public normaliser: the batch size, or its expected value
    sigma : float >= 0, standard deviation of the noise on every coordinate of the average
    ell : int in 0..L-1, number of layers that learn by backpropagation; by default the convolutions
    add_normal : function (out, std, rng) that adds the noise in place
    rng : numpy.random.Generator; the noise is drawn from the top layer down, W before b
    state : dict. Its entry "clipped" gets a list with the share of examples that the clip scales down

    Returns
    -------
    dW, db : lists with dW[l] and db[l] of the shapes of W[l] and b[l]; slot 0 is None

    Raises
    ------
    ValueError : if m or C is not positive, if C is too small for the dtype, if sigma is negative, if ell is out of
        range, or if B has no entry for a hidden layer above ell

    Notes
    -----
    With ell = 0, the rule is `nfa.rules.dp_dfa_joint` with at="h". With ell = L-1, it is DP-SGD. A direction is omitted
    if its norm is not finite, because a value has overflowed.
    """
    ell = convolutions(net) if ell is None else ell
    require.normaliser(m, rule="dp_hybrid_joint")
    require.positive_or_infinite(**{"the clipping bound C": C})
    if not 0 <= ell < net.L:
        raise ValueError(f"the number ell of layers with backpropagation must be between 0 and {net.L - 1}, got {ell}")
    L = net.L
    check_feeds(B, range(ell + 1, L))
    z, h = forward(net, x)
    e = net.loss.error(z[L], y)  # (k, n_L)
    # We need two loops over the layers, because the factor depends on the norm of an example's whole direction.
    own: list = [None] * (L + 1)
    v: list = [0.0] * (L + 1)  # v[l], for l <= ell, is the signal that comes back to h[l]
    for l in range(L, 0, -1):
        if l == L:
            dz = e
        else:
            dz = net.pull(l, z, project(e, B[l]) if l > ell else v[l])  # (k, n_l)
        # Layer ell + 1 learns by feedback. Its dz goes down through the true weights, as in the layers below.
        if 1 < l <= ell + 1:
            back = net.map[l].transpose(net.W[l], dz)  # (W^l)^T dz^l   (k, n_{l-1})
            for j in net.reads(l):
                v[j] = v[j] + back
        own[l] = net.map[l].terms(dz, net.input(l, h))  # dz_i h_i^T, dz_i
    norm2: Any = sum([sum(one.norms2()) for one in own[1:]])  # ||u_i||^2   (k,)
    shares: list = []  # share of the batch that the clip scales down
    factor = clip_factor_of_squares(norm2, C, shares)  # min(1, C / ||u_i||)   (k,)
    dW: list = [None] * (L + 1)
    db: list = [None] * (L + 1)
    for l in range(L, 0, -1):
        # We divide by the public m, because with len(x) one record would change the weight of all others. We use
        # float(m), because a NumPy number would turn float32 into float64.
        dW[l], db[l] = own[l].outer(factor / float(m))  # (n_l, n_{l-1}), (n_l,)
        add_normal(dW[l], sigma, rng)
        add_normal(db[l], sigma, rng)
    if state is not None:
        state["clipped"] = shares
    return dW, db


def mechanism(*, C: float, m: int, sigma: float, adjacency: str, sampling: str, sampling_rate: float) -> Mechanism:
    """One step of `dp_hybrid_joint`: the mechanism of `nfa.rules.dp_dfa_joint`, whose proof covers this rule too.

    Source: [ours:joint-clip]

    Raises NoGuarantee without noise, and ValueError if a number or a name is out of range.
    """
    return joint_mechanism(C=C, m=m, sigma=sigma, adjacency=adjacency, sampling=sampling, sampling_rate=sampling_rate)
