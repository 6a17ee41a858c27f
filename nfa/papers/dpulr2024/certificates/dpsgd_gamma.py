"""Forward Learning with Differential Privacy (DP-ULR), section 3.4, "Minute DP impairment": dpulr2024:dpsgd-gamma.

Claim: DP-SGD satisfies (α, γ)-RDP "for a suitable range of α and γ = 2Tq²α/σ²", σ its noise scale.

The reading refuted: for every σ, such as the smallest of Table 1. (The theorem cited, of Mironov et al., has q <= 1/5
and σ >= 4 among its conditions; with them it is true.)

Counterexample: T = 1, α = 2, the smallest whole order. The target's gradient has norm C = 1 and all others are 0, so
one coordinate of DP-SGD's release is N(0, σ²) without the target and (1-q) N(0, σ²) + q N(1, σ²) with it, in batches
where each example is with probability q. Their divergence of order 2 is ln(1 + q²(e^{1/σ²} - 1)).

Arithmetic: fractions; e^u from below by the first terms of its series, ln(1 + u) >= u - u²/2.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from math import factorial

# The counterexample.
Q, SIGMA = Fraction(64, 60_000), Fraction("0.5")
ALPHA, T = 2, 1


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(0 < Q <= Fraction(1, 5), "q must be in (0, 1/5]")
need(Fraction(1, 2) <= SIGMA, "sigma must be one of the paper's, 0.5 or more")
need(ALPHA == 2 and T == 1, "the closed form is that of alpha = 2 and one step")
u = Q**2 * sum(1 / (SIGMA ** (2 * k) * factorial(k)) for k in range(1, 30))
divergence = u - u**2 / 2
claimed = 2 * T * Q**2 * ALPHA / SIGMA**2
if divergence <= claimed:
    raise SystemExit("not refuted: the divergence is not above the claimed one")
shown = Context(prec=5, rounding=ROUND_FLOOR).divide(divergence.numerator, divergence.denominator)
print(f"refuted: claimed a divergence of at most {float(claimed):.5g}, it is at least {shown}")
