"""Berthier, Differential Privacy for Machine Learning (2019), section 4.6.2: berthier2019:rem-largest-rate.

Claim: "the privacy guarantees are independent from the learning rate, hence we suggest to pick the largest possible
learning rate avoiding divergence".

We refute the claim in this meaning: the largest rate that avoids divergence is the best rate under noise. (We agree
that the guarantees by composition do not depend on the rate.)

Counterexample: the loss (θ - x)²/2, and θ <- θ - γ (θ - x + noise) with noise N(0, σ²) on the gradient. The guarantee
determines σ. At the start, θ is at a distance of START from x. Each step multiplies the mean square of the distance by
(1 - γ)² and adds γ²σ². The mean square diverges only for γ >= 2. With both rates, θ ends nearer to x than it started.
With the smaller rate, it ends much nearer.

Arithmetic: fractions.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction

# The counterexample.
SMALLER, LARGER = Fraction("0.1"), Fraction("1.9")
SIGMA, START, STEPS = 1, 10, 100


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


def end(gamma):
    """The mean square of the distance from x after the steps."""
    square = Fraction(START**2)
    for _ in range(STEPS):
        square = (1 - gamma) ** 2 * square + gamma**2 * SIGMA**2
    return square


need(0 < SMALLER < LARGER < 2, "the learning rates must satisfy 0 < SMALLER < LARGER < 2")
need(SIGMA > 0 and 1 <= STEPS <= 1000, "sigma must be positive and STEPS in [1, 1000]")
small, large = end(SMALLER), end(LARGER)
need(
    max(small, large) < START**2,
    "with both learning rates, the mean squared distance must be smaller at the end than at the start",
)
if large <= 2 * small:
    raise SystemExit(
        "not refuted: at the end, the mean squared distance of the larger learning rate is at most twice the other one"
    )
ratio = large / small
shown = Context(prec=4, rounding=ROUND_FLOOR).divide(ratio.numerator, ratio.denominator)
print(f"refuted: claimed that the largest rate is best, but its error is at least {shown} times that of a smaller rate")
