"""Ohana et al., Photonic Differential Privacy with Direct Feedback Alignment, Proposition 3 in section 3.3.

ohana2021:prop3, ohana2021:pre-prop3, ohana2021:prop3-proof-3, ohana2021:A1-s7, ohana2021:A1-alt and, for T = 1,
ohana2021:prop3-T. Claim: let P and Q be the laws of one column of an update under neighbours D and D' of m records. For
every α > 1, D_α(P ‖ Q) <= ε_PDFA = 2α/(mσ²) r τ_B² + n α/(2(α-1)) log[m/(m+1-r)], r = (γ^max τ_h^max/(γ^min τ_h^min))²
(17), with n units. The preprint has n times the first term, which is the same here, because n = 1. The alternative of
Appendix A.1 has log[(m-1)/m + r/m]. Hypotheses: entries of h, offset and clipped, are between τ_h^min/sqrt(n) and
τ_h^max/sqrt(n). Derivatives are between γ^min and γ^max, |B e| <= τ_B, and the noise on B e is N(0, σ² I).

The proof chooses D and D' so that the new record has the larger term, but a guarantee must hold for all neighbours.

Counterexample: one unit, the identity as activation, one input. D' has a smaller last record. All records have the same
B e.

Arithmetic: fractions for the closed form (7) of two normal laws. The decimal module rounds log correctly. We then move
the value outwards by one unit in the last place.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction

# The counterexample.
ALPHA, SIGMA = Fraction("2.33"), 10
TAU_MIN, TAU_MAX, TAU_B, BE = 1, 2, 1, 1
H_D = [1, 1, 1, 2]
H_OTHER = [1, 1, 1, 1]

DOWN, UP = Context(prec=40, rounding=ROUND_FLOOR), Context(prec=40, rounding=ROUND_CEILING)


def ln(x, to):
    """Bound on log of a fraction, from below (to = DOWN) or from above (to = UP)."""
    value = to.divide(x.numerator, x.denominator).ln(to)
    return Fraction(to.next_minus(value) if to is DOWN else to.next_plus(value))


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(ALPHA > 1 and SIGMA > 0 and abs(BE) <= TAU_B, "alpha > 1, sigma > 0 and |B e| <= tau_B are required")
need(0 < TAU_MIN <= TAU_MAX, "tau_min and tau_max must satisfy 0 < tau_min <= tau_max")
need(all(TAU_MIN <= h <= TAU_MAX for h in H_D + H_OTHER), "every entry must be between tau_min and tau_max")
need(
    len(H_D) == len(H_OTHER) and sum(a != b for a, b in zip(H_D, H_OTHER, strict=True)) <= 1,
    "D and D' must have one size and differ in at most one record",
)
m, r = len(H_D), Fraction(TAU_MAX, TAU_MIN) ** 2
need(r < m + 1, "r must be below m + 1, so that the formula has a value")

logs = [m / (m + 1 - r), Fraction(m - 1, m) + r / m]
claimed = [2 * ALPHA * r * TAU_B**2 / (m * SIGMA**2) + ALPHA / (2 * (ALPHA - 1)) * ln(x, UP) for x in logs]

means = [Fraction(BE * sum(h), m) for h in (H_D, H_OTHER)]
one, other = (Fraction(SIGMA**2 * sum(h * h for h in H), m**2) for H in (H_D, H_OTHER))  # variances
mixed = ALPHA * other + (1 - ALPHA) * one
shown = "infinity"
if mixed > 0:
    # (7): -(log(mixed) - (1 - alpha) log(one) - alpha log(other)) / (2 (alpha - 1)), plus the part of the means
    logarithm = ln(mixed / one, UP) + ALPHA * ln(one / other, UP)
    true = ALPHA / 2 * (means[0] - means[1]) ** 2 / mixed - logarithm / (2 * (ALPHA - 1))
    if true <= max(claimed):
        raise SystemExit("not refuted: the divergence is at most the claimed bound")
    shown = Context(prec=5, rounding=ROUND_FLOOR).divide(true.numerator, true.denominator)
both = " and ".join(f"{float(x):.5g}" for x in claimed)
print(f"refuted: claimed D_alpha <= {both} (two forms), but it is at least {shown}")
