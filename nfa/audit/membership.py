"""Membership by loss: a trained network is surer of the examples it was trained on, and that alone gives them away."""

from dataclasses import dataclass

import numpy as np

from nfa import require
from nfa.audit.roc import auc, roc
from nfa.network import Net, forward

CHUNK = 1000  # examples in one forward pass, to bound memory


@dataclass(frozen=True, kw_only=True, eq=False)
class LossMembership:
    """What the losses of a trained network tell about who was trained on: a low loss says "member".

    Parameters
    ----------
    member_losses, other_losses : (a,) and (b,) float arrays, one loss an example

    Raises
    ------
    ValueError : if one side is empty or holds NaN or infinity
    """

    member_losses: np.ndarray
    other_losses: np.ndarray

    def __post_init__(self) -> None:
        auc(-self.member_losses, -self.other_losses)  # its checks are ours

    @property
    def auc(self) -> float:
        """The chance that a member has a lower loss than one of the others, ties counting half; 1/2 tells nothing."""
        return auc(-self.member_losses, -self.other_losses)

    @property
    def advantage(self) -> float:
        """The largest difference of true and false positive rate over all thresholds, in [0, 1].

        Chosen on the very losses it is measured on, so above 0 even where the losses tell nothing.
        """
        false_positive, true_positive = roc(-self.member_losses, -self.other_losses)
        return float(np.max(true_positive - false_positive))

    @property
    def auc_error(self) -> float:
        r"""Standard error of `auc` where the losses tell nothing, :math:`\sqrt{(a + b + 1) / (12 a b)}`.

        An AUC within three of these of 1/2 is no evidence of leakage, and none of its absence: better attacks exist.
        """
        a, b = len(self.member_losses), len(self.other_losses)
        return float(np.sqrt((a + b + 1) / (12 * a * b)))


def losses(net: Net, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The loss of each example.

    Parameters
    ----------
    net : Net
    x : (k, *in_shape) array, k >= 1
    y : (k, n_L) array of targets, one-hot for class labels

    Returns
    -------
    losses : (k,) float array

    Raises
    ------
    ValueError : if there is no example, or x and y differ in length
    """
    require.pairs(x, y)
    parts = (slice(start, start + CHUNK) for start in range(0, len(x), CHUNK))
    return np.concatenate([net.loss.value(forward(net, x[part])[0][net.L], y[part]) for part in parts])


def membership_by_loss(
    net: Net, members: tuple[np.ndarray, np.ndarray], others: tuple[np.ndarray, np.ndarray]
) -> LossMembership:
    """Attack a trained network: guess from the loss of an example whether it was trained on.

    Source: [berthier2019:overconfident]

    Parameters
    ----------
    net : Net, trained
    members : (x, y) as for `losses`, examples that it was trained on
    others : (x, y), examples of the same law that nothing of the training has seen, the choice of settings included

    Returns
    -------
    result : LossMembership

    Raises
    ------
    ValueError : if a side is empty, x and y differ in length, or a loss is NaN or infinite

    Notes
    -----
    The weakest attack there is: it sees the final network only, and a low AUC is no guarantee. It is fair only if
    members and others differ in nothing but membership: published test sets are often drawn or cleaned apart from the
    training set, and then a network that was never trained on either already tells them apart; run it on one too.

    Examples
    --------
    A network whose output is its weight: it has learned the targets 3, not the others.

    >>> from nfa import network, ops
    >>> net = network.Net((1,), [(network.Dense(1),)], loss=ops.squared_error, rng=np.random.default_rng(0))
    >>> net.W[1][:], net.b[1][:] = 3.0, 0.0
    >>> one = np.ones((2, 1))
    >>> membership_by_loss(net, (one, 3 * one), (one, np.array([[2.0], [3.0]]))).auc
    0.75
    """
    return LossMembership(member_losses=losses(net, *members), other_losses=losses(net, *others))
