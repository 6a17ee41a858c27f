"""Ohana et al., Photonic Differential Privacy with Direct Feedback Alignment, Theorem 1: ohana2021:thm1.

Claim: "Let {M_i} be a set of mechanisms, each satisfying (α, ε_i)-RDP. Then their combination is (α, Σ ε_i)-RDP."

The reading refuted: for any mechanisms, also such as draw on one realisation of the noise, like the columns of one
update. (With noise that is drawn anew for each it is true.)

Counterexample: two releases N(0, 1) under D, N(SHIFTS, 1) under D', whose noises have the correlation RHO. The
divergence of two normal laws with one covariance Σ and means Δ apart is α/2 Δᵀ Σ⁻¹ Δ.

Arithmetic: fractions.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction

# The counterexample.
ALPHA = 2
SHIFTS = (1, -1)
RHO = Fraction("0.9")


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(ALPHA > 1 and -1 < RHO < 1, "alpha > 1, and a correlation in (-1, 1)")
a, b = SHIFTS
each = [Fraction(ALPHA, 2) * s**2 for s in SHIFTS]
claimed = sum(each)
true = Fraction(ALPHA, 2) * (a * a - 2 * RHO * a * b + b * b) / (1 - RHO**2)
if true <= claimed:
    raise SystemExit("not refuted: the divergence of both is not above the sum")
shown = Context(prec=4, rounding=ROUND_FLOOR).divide(true.numerator, true.denominator)
print(f"refuted: claimed D_alpha <= {float(claimed):g} for both together, it is at least {shown}")
