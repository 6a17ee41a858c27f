"""Forward Learning with Differential Privacy (DP-ULR), section 4.2, Figure 3: dpulr2024:exp-eps.

Claim: "To present a fair comparison, we compute the ε of DP-SGD using the RDP bound from Mironov et al. (2019)".
Section 3.4 states this bound as (α, 2Tq²α/σ²)-RDP. Figure 3 has q = 1/1000, 1/300, 1/120 and σ = 1, 4, 8.

We refute the claim in this meaning: the formula is a bound for each of these settings. (The cited theorem requires σ >=
4, among other conditions.)

Counterexample: the least noise of the figure and its smallest batch, 25 epochs. The order is the whole α at which the
claimed ε, 2Tq²α/σ² + ln(1/δ)/(α-1), is least. The target's gradient has norm C = 1 and all other gradients are 0.
So one coordinate of one step is P = N(0, σ²) without the target and Q = (1-q) P + q N(1, σ²) with the target. E_P
(dQ/dP)^α is the sum over k of binom(α, k) (1-q)^(α-k) q^k e^(k(k-1)/(2σ²)). D_α(Q ‖ P) is the logarithm of this sum,
divided by α - 1.

Arithmetic: fractions. A lower bound on e^x is 2.718 to the power of the whole part of x. ln(x) is at least 0.693 times
the number of doublings from 1. We bound ln(1/δ) from both sides.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from math import comb

# The counterexample.
Q, SIGMA, ALPHA = Fraction(1, 1000), 1, 16
EPOCHS, DELTA = 25, Fraction(1, 100_000)


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(Q in (Fraction(1, 1000), Fraction(1, 300), Fraction(1, 120)), "q must be 1/1000, 1/300 or 1/120, as in the figure")
need(SIGMA in (1, 4, 8), "sigma must be 1, 4 or 8, as in the figure")
need(EPOCHS == 25 and Fraction(1, 100_000) == DELTA, "EPOCHS must be 25 and delta 1e-5, as in the paper")
need(2 <= ALPHA <= 64, "alpha must be a whole number from 2 to 64")
price = 2 * EPOCHS * Q / SIGMA**2  # T = EPOCHS / q steps, so the claimed Rényi epsilon is price times alpha
log = (Fraction("11.512"), Fraction("11.513"))  # ln(100 000) = 11.51292...
for other in range(2, 65):
    most = price * ALPHA + log[1] / (ALPHA - 1)
    need(other == ALPHA or most <= price * other + log[0] / (other - 1), "alpha must give the least claimed epsilon")
moment = sum(
    comb(ALPHA, k) * (1 - Q) ** (ALPHA - k) * Q**k * Fraction("2.718") ** (k * (k - 1) // (2 * SIGMA**2))
    for k in range(ALPHA + 1)
)
doublings = (moment.numerator // moment.denominator).bit_length() - 1
divergence = Fraction("0.693") * max(doublings, 0) / (ALPHA - 1)
claimed = 2 * Q**2 * ALPHA / SIGMA**2
if divergence <= claimed:
    raise SystemExit("not refuted: the lower bound on the divergence is at most the claimed divergence")
shown = Context(prec=4, rounding=ROUND_FLOOR).divide(divergence.numerator, divergence.denominator)
print(f"refuted: claimed D_{ALPHA} <= {float(claimed):.5g} for one step, but it is at least {shown}")
