"""The overall sensitivity and the threshold that Lee & Kifer (2020) print. They do not hold as printed."""

import math

from nfa import require
from nfa.sensitivity.dfa import no_overflow


def claimed_dfa_sensitivity(*, L: int, m: int, gamma: float, beta: float, tau_e: float, tau_h: float) -> float:
    r"""The overall sensitivity as the paper prints it, for L layers with one gamma and one beta.

    .. math:: \Delta = (L \Delta_\zeta^2 + L \Delta_\xi^2)^{1/2} = \frac2m \gamma \beta \tau_e \sqrt{(1 + \tau_h^2) L}

    Source: [lee2020:sens-total]

    Parameters
    ----------
    L : int, the number of layers, including the output layer
    m, gamma, beta, tau_e, tau_h : as in `zeta_sensitivity`, the same for all layers

    Raises
    ------
    ValueError : if L or m is not positive, if another number is negative, or if the result is not finite

    Notes
    -----
    The formula is no upper bound if gamma beta < 1 and the top layer learns from e itself, as in Section 3.2 and Figure
    1. The reason is that the term of the top layer does not contain gamma and beta. The formula is a bound in two
    cases. In the first case, gamma beta is a common bound for all layers. For the output layer, the bound must be at
    least 1. In the second case, the top layer learns from beta e * y_hat (1 - y_hat) (`nfa.rules.dp_dfa` with
    top="derivative"). See `corrected_dfa_sensitivity`.

    Examples
    --------
    >>> round(claimed_dfa_sensitivity(L=2, m=1, gamma=0.25, beta=0.9, tau_e=0.1, tau_h=1.0), 12)
    0.09
    """
    require.positive(**{"the number L of layers": L, "the batch size m": m})
    require.not_negative(gamma=gamma, beta=beta, tau_e=tau_e, tau_h=tau_h)
    with no_overflow():
        return 2 / m * gamma * beta * tau_e * math.sqrt((1 + tau_h**2) * L)


def claimed_tau_h(*, S: float, L: int, gamma: float, beta: float, tau_e: float) -> float:
    r"""The tau_h at which `claimed_dfa_sensitivity` is S / m: :math:`\sqrt{(S / (2 \gamma \beta \tau_e))^2 / L - 1}`.

    Source: [lee2020:exp-common] [lee2020:same-privacy]

    The function raises ValueError if S is too small for any tau_h.
    """
    require.positive(**{"the value S": S, "the number L of layers": L}, gamma=gamma, beta=beta, tau_e=tau_e)
    with no_overflow():
        square = (S / (2 * gamma * beta * tau_e)) ** 2 / L - 1
    if square <= 0:
        raise ValueError(
            f"the value S of the printed formula must be larger than the part of the biases, got S = {S:g}: the"
            " biases contribute"
            f" {2 * gamma * beta * tau_e * L**0.5:g}"
        )
    return math.sqrt(square)
