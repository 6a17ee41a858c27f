"""Forward Learning with Differential Privacy (DP-ULR), section 3.2, lines 219-221: dpulr2024:L220.

Claim: "while the proxy leads to a certain precision loss in the gradient estimation, we can control it by selecting
noise with a distribution close to 0, substantiating the utility".

We refute the claim in this meaning: "precision" is the precision of the estimate, the mean of K proxies z L/σ² with z ~
N(0, σ²). (The claim is true for the bias of the estimate.)

Counterexample: the loss (v + z)² at v = V. Its gradient is 2 V. The mean square of the estimate's distance from the
gradient is the squared bias plus the proxy's variance divided by K. The bias and the variance are polynomials in the
moments of z: E z^(2j) = σ^(2j) 1 · 3 ··· (2j - 1), and E z^(2j+1) = 0.

Arithmetic: fractions.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction

# The counterexample.
V, K = 1, 100
CLOSE, AWAY = Fraction("0.01"), 1  # σ


def moment(j, sigma):
    """The moment E z^j."""
    value = Fraction(0 if j % 2 else 1)
    for odd in range(1, j, 2):
        value *= odd * sigma**2
    return value


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


def square(sigma):
    """The mean square of the distance of the estimate from the gradient."""
    loss = [V**2, 2 * V, 1]  # the coefficients of 1, z, z²
    squared = [sum(loss[i] * loss[j - i] for i in range(3) if 0 <= j - i < 3) for j in range(5)]
    mean = sum(c * moment(j + 1, sigma) for j, c in enumerate(loss)) / Fraction(sigma) ** 2
    second = sum(c * moment(j + 2, sigma) for j, c in enumerate(squared)) / Fraction(sigma) ** 4
    return (mean - 2 * V) ** 2 + (second - mean**2) / K


need(K >= 1 and V != 0, "K must be at least 1, and V must differ from 0, so that the gradient is not 0")
need(0 < CLOSE < AWAY, "the two values of sigma must satisfy 0 < CLOSE < AWAY")
close, away = square(CLOSE), square(AWAY)
if close <= 2 * away:
    raise SystemExit("not refuted: at CLOSE, the mean squared error is at most twice the error at AWAY")
ratio = close / away
shown = Context(prec=4, rounding=ROUND_FLOOR).divide(ratio.numerator, ratio.denominator)
print(f"refuted: claimed precision for sigma near 0, but the squared error is at least {shown} times the error at AWAY")
