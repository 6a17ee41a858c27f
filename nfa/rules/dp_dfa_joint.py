"""Joint-clip DP-DFA: direct feedback alignment with every example's whole direction clipped, and noise on the average.

Ours. DP-DFA (`nfa.rules.dp_dfa`) and photonic DFA (`nfa.rules.pdfa_isotropic`) bound what an example can add by a
product of worst cases: clip of the error, clip of the input, slope, norm of B. Here the sum itself is bounded, as
DP-SGD bounds it, and nothing else: no B, activation, network or optical device is too wild for it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from nfa import require
from nfa.clip import clip_factor_of_squares, row_norms
from nfa.feedback import project as exact_projection
from nfa.feedback import ternarize_relative
from nfa.feedback.matrices import check_feeds
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.network import Net, forward
from nfa.noise import add_normal as numpy_normal
from nfa.sensitivity import clipped_sensitivity

SUM_OVER_EXAMPLES = True

CARRIES = ("error", "ternary", "label")


def dp_dfa_joint(
    net: Net,
    x: np.ndarray,
    y: np.ndarray,
    *,
    B: list,
    C: float,
    m: int,
    sigma: float,
    carries: str = "error",
    t: float = 0.5,
    at: str = "h",
    project: Callable = exact_projection,
    add_normal: Callable = numpy_normal,
    rng: np.random.Generator,
    state: dict | None = None,
) -> tuple[list, list]:
    r"""The joint-clip DFA direction for every layer; the loop subtracts ``eta`` times it.

    .. math:: \delta z_i^l = \begin{cases} e_i = \hat y_i - y_i & l = L \\
              (B^l c_i) \odot \phi_l'(z_i^l) & l < L \end{cases} \qquad
              c_i = \begin{cases} e_i & \text{error} \\ \|e_i\| \, t(e_i) & \text{ternary} \\
              -y_i & \text{label} \end{cases}

    .. math:: u_i = (\delta z_i^l (h_i^{l-1})^\top, \delta z_i^l)_{l = 1..L}, \qquad
              (dW, db) = N(0, \sigma^2 I) + \frac1m \sum_i u_i \min(1, C / \|u_i\|_2)

    Source: [ours:joint-clip]

    Parameters
    ----------
    net : Net
    x : (k, *in_shape) array; k may be 0 (then the answer is noise alone)
    y : (k, n_L) array of targets, one-hot for class labels
    B : list for l = 1..L-1: (n_l, n_L) arrays from `nfa.feedback.draw`, or what ``project`` takes in their place
    C : float > 0, l2 bound on each example's direction in all weights and biases together
    m : float > 0, the public normaliser: the batch size, or what is expected of it
    sigma : float >= 0, standard deviation of the noise on every coordinate of the average; the noise multiplier of
        other libraries is sigma m / C
    carries : what the feedback carries to the hidden layers: "error", DFA; "ternary", TDFA, what an optical device can
        show; "label", DRTP, what is known before the forward pass ends
    t : float in [0, 1], the share of the error's largest entry from which on `nfa.feedback.ternarize_relative` sees an
        entry, for "ternary"; 0 sees all, which is the sign
    at : "h" or "z", where B[l] c enters a layer with pooling: above the pooling or below it
    project : function (c, B[l], rng=...) -> (k, n_l)
    add_normal : function (out, std, rng) that adds the noise in place
    rng : numpy.random.Generator; layers draw from the top down, all projections before the noise, W before b
    state : dict, told "clipped", the share of examples that the clip scales down, in a list

    Returns
    -------
    dW, db : lists with dW[l] and db[l] of the shapes of W[l] and b[l]; slot 0 is None

    Raises
    ------
    ValueError : if m or C is not positive, or C too small for the dtype, sigma is negative, t is out of range, whatever
        is carried, carries is none of the three, or B has nothing for a hidden layer

    Notes
    -----
    No example's direction is formed: each layer knows the norm of each example's own term
    (`nfa.network.per_example`), and a clipped direction is one whose dz is multiplied by min(1, C / norm) in every
    layer. A direction whose norm is not finite, its pass having overflowed, is left out. The ternary error is shown to
    the device as it is, its length comes in after the camera: what has been learnt moves the hidden layers no more.
    """
    require.normaliser(m, rule="dp_dfa_joint")
    require.positive_or_infinite(**{"the clipping bound C": C})
    require.one_of(CARRIES, carries=carries)
    require.within("[0, 1]", t=t)
    L = net.L
    check_feeds(B, range(1, L))
    z, h = forward(net, x)
    e = net.loss.error(z[L], y)  # (k, n_L)
    shown, length = carried(e, y, carries, t)  # c_i = length_i shown_i
    # Two loops over the layers: the norm of an example's whole direction must be known before any layer is scaled.
    own: list = [None] * (L + 1)
    for l in range(L, 0, -1):
        # The length multiplies the answer and not what is shown: an optical device shows -1, 0 and 1 only.
        dz = e if l == L else net.pull(l, z, length * project(shown, B[l], rng=rng), at)  # (B c) * phi'(z)   (k, n_l)
        own[l] = net.map[l].terms(dz, net.input(l, h))  # dz_i h_i^T, dz_i
    norm2: Any = sum([sum(one.norms2()) for one in own[1:]])  # ||u_i||^2   (k,)
    shares: list = []  # of the batch that the clip scales down
    factor = clip_factor_of_squares(norm2, C, shares)  # min(1, C / ||u_i||)   (k,)
    dW: list = [None] * (L + 1)
    db: list = [None] * (L + 1)
    for l in range(L, 0, -1):
        # By the public m: with len(x), one record would change the weight of all others. float(m): a NumPy number would
        # turn float32 into float64. The noise comes after the clip, once, on the mean: it has to cover C / m.
        dW[l], db[l] = own[l].outer(factor / float(m))  # (n_l, n_{l-1}), (n_l,)
        add_normal(dW[l], sigma, rng)
        add_normal(db[l], sigma, rng)
    if state is not None:
        state["clipped"] = shares
    return dW, db


def carried(e: np.ndarray, y: np.ndarray, carries: str, t: float) -> tuple[np.ndarray, np.ndarray | float]:
    """What the feedback is shown of each example, (k, n_L), and what multiplies its answer, (k, 1) or a number."""
    if carries == "ternary":
        return ternarize_relative(e, t), row_norms(e)[:, None]
    return (e, 1.0) if carries == "error" else (y, -1.0)


def mechanism(*, C: float, m: int, sigma: float, adjacency: str, sampling: str, sampling_rate: float) -> Mechanism:
    """What one step of `dp_dfa_joint` releases: a Gaussian mechanism of sensitivity C / m, or 2 C / m for one replaced.

    Source: [ours:joint-clip]

    Raises NoGuarantee without noise, ValueError if a number or a name is out of range.

    Notes
    -----
    Proof. Let what a projection draws for a record be drawn for every record beforehand, whether or not it comes into
    the batch, and fix it, the weights and B. Then u_i min(1, C / ||u_i||) depends on record i alone and has norm at
    most C, so that a record more or less, or a term that becomes 0, moves the sum by at most C, and another record in
    its place by at most 2C; the noise, added once, makes of the sum, divided by m, a Gaussian mechanism of that
    sensitivity by m. The draws have one law whatever the data: two neighbouring data sets are answered by the same
    mixture of such mechanisms, and no Renyi or hockey-stick divergence of the two mixtures is above the largest of
    their parts. Nothing was asked of B, phi, the network or the values that a projection takes.

    No smaller number holds for every network. Take a record at which the derivatives of all hidden layers are 0, as
    those of ReLU are below 0. Its direction is (e h^T, e) of the output layer alone, whatever is carried and whatever
    B. Two targets with opposite errors then give opposite directions. Where both are longer than C, they are 2C apart
    after the clip, and C from 0. Under a softmax of two classes the two labels have opposite errors, of norms that
    allow every C up to 0.7; under a squared error two targets z + v and z - v allow every C.

    With two classes and the error or its ternary form carried, more is true: both labels of every record give opposite
    directions, whatever B, the weights and the activations. With the label carried that is false, since B y does not
    change its sign with the error. There two labels can be nearer: from almost 0 to 2C over random networks.

    What is asked of a projection: its answer for an example depends on what that example shows and on randomness that
    depends on no example: shot noise, the camera's own noise, an anchor that is measured again. Exposure, scale and
    threshold must not be chosen by looking at the batch, as lightonml chooses the exposure where its `fit1d` is given
    data. `nfa.feedback.opu.OPU`, `nfa.feedback.never_stored.Unstored` and `nfa.feedback.lighton.LightOnOPU`, which
    gives it none, with the simulated device, are as asked; of a device, who runs it must know.

    What rounding adds: the Notes of `nfa.mechanism.Mechanism`. A camera with ``bits`` adds a jump of its own: in a
    seeded run a reading at the edge of two levels can fall to either, by the rounding of what is shown.
    """
    if sigma == 0:
        raise NoGuarantee("lee2020:lem1", "sigma is 0, so the release has no noise and protects nothing")
    return Mechanism(
        law="gaussian",
        sensitivity=clipped_sensitivity(C=C, m=m, adjacency=adjacency),
        adjacency=adjacency,
        noise_std=sigma,
        sampling=sampling,
        sampling_rate=sampling_rate,
    )
