"""Membership by loss: the losses of a network are lower on its training examples, which can reveal these examples."""

from dataclasses import dataclass

import numpy as np

from nfa import require
from nfa.audit.roc import auc, roc
from nfa.network import Net, forward

CHUNK = 1000  # number of examples in one forward pass, which bounds the memory


@dataclass(frozen=True, kw_only=True, eq=False)
class LossMembership:
    """The losses of a trained network on members and on other examples. A low loss is evidence for a member.

    Parameters
    ----------
    member_losses, other_losses : (a,) and (b,) float arrays, one loss for each example

    Raises
    ------
    ValueError : if one side is empty or contains NaN or infinity
    """

    member_losses: np.ndarray
    other_losses: np.ndarray

    def __post_init__(self) -> None:
        auc(-self.member_losses, -self.other_losses)  # raises ValueError if an array is empty or not finite

    @property
    def auc(self) -> float:
        """The probability that a member has a lower loss than another example. Ties count half.

        Without leakage, the probability is 1/2.
        """
        return auc(-self.member_losses, -self.other_losses)

    @property
    def advantage(self) -> float:
        """The largest difference between true and false positive rate over all thresholds, in [0, 1].

        The threshold is chosen on the same losses, so the advantage is above 0 even if the losses reveal nothing.
        """
        false_positive, true_positive = roc(-self.member_losses, -self.other_losses)
        return float(np.max(true_positive - false_positive))

    @property
    def auc_error(self) -> float:
        r"""Standard error of `auc` if the losses reveal nothing, :math:`\sqrt{(a + b + 1) / (12 a b)}`.

        An AUC within three standard errors of 1/2 is no evidence of leakage. It is also no proof that there is no
        leakage, because better attacks exist.
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
    ValueError : if there is no example, or if x and y differ in length
    """
    require.pairs(x, y)
    parts = (slice(start, start + CHUNK) for start in range(0, len(x), CHUNK))
    return np.concatenate([net.loss.value(forward(net, x[part])[0][net.L], y[part]) for part in parts])


def membership_by_loss(
    net: Net, members: tuple[np.ndarray, np.ndarray], others: tuple[np.ndarray, np.ndarray]
) -> LossMembership:
    """Attack a trained network: guess from the loss of an example whether it was a training example.

    Source: [berthier2019:overconfident]

    Parameters
    ----------
    net : Net, trained
    members : (x, y) as for `losses`, the training examples of the network
    others : (x, y), examples of the same law that were used neither in training nor in the choice of settings

    Returns
    -------
    result : LossMembership

    Raises
    ------
    ValueError : if a side is empty, if x and y differ in length, or if a loss is NaN or infinite

    Notes
    -----
    This attack is weak, because it uses only the final network. So a low AUC is no guarantee. The attack is fair only
    if members and others differ in nothing except membership. Published test sets are often drawn or cleaned separately
    from the training set. Then the losses of the two sets can differ even for a network that was trained on neither
    set. To exclude this cause, run the attack also on such a network.

    Examples
    --------
    The output of this network is 3 for every example here. The losses of the members are 0. Of the two other examples,
    one has a larger loss, and the other has the loss 0.

    >>> from nfa import network, ops
    >>> net = network.Net((1,), [(network.Dense(1),)], loss=ops.squared_error, rng=np.random.default_rng(0))
    >>> net.W[1][:], net.b[1][:] = 3.0, 0.0
    >>> one = np.ones((2, 1))
    >>> membership_by_loss(net, (one, 3 * one), (one, np.array([[2.0], [3.0]]))).auc
    0.75
    """
    return LossMembership(member_losses=losses(net, *members), other_losses=losses(net, *others))
