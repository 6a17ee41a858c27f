"""Ohana et al., Photonic Differential Privacy with Direct Feedback Alignment, Appendix A.1 and A.2.

ohana2021:A2 and ohana2021:A1-s5. Claim: if the covariances under neighbours D and D' are equal, then for one column
D_α(P ‖ Q) = Σ_j α m² (f_j(D) - f_j(D'))²/(2 σ² a_j²) <= ε₂. Here ε₂ = 2α r τ_B²/(m σ²) and r = (γ^max τ_h^max/(γ^min
τ_h^min))². The mean terms in A.1 have the same bound.

We refute the claim in this meaning: the floor is the floor of section 3.1, so each record's norm is in [τ_h^min,
τ_h^max]. (With a floor for every entry, the claim is true.)

Counterexample: one unit with derivatives 1, one record with a flipped label, and a column that only this record reads.

Arithmetic: fractions.
"""

from fractions import Fraction
from math import isqrt

# The counterexample.
ALPHA, SIGMA = 2, Fraction("0.1")
TAU_MIN, TAU_MAX, TAU_B = Fraction("0.5"), 1, Fraction("0.5")
HALF = Fraction("0.5")
H = [(HALF, 0, 0, 0)] + [(0, HALF, HALF, HALF)] * 255
BE, OTHER = [HALF] * 256, [-HALF] + [HALF] * 255  # B e of each record under D and D'
COLUMN = 0


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


m, n = len(H), len(H[0])
need(ALPHA > 1 and SIGMA > 0 and 0 < TAU_MIN <= TAU_MAX, "alpha > 1, sigma > 0 and 0 < tau_min <= tau_max are required")
need(
    0 <= COLUMN < n and all(len(h) == n for h in H),
    "the rows of H must have the same length, and COLUMN must be a column of H",
)
need(len(BE) == len(OTHER) == m, "BE and OTHER must have one projected error for each record")
need(
    sum(a != b for a, b in zip(BE, OTHER, strict=True)) <= 1,
    "BE and OTHER must differ in at most one record, as neighbours do",
)
need(all(abs(u) <= TAU_B for u in BE + OTHER), "every projected error must satisfy |B e| <= tau_B")
need(isqrt(n) ** 2 == n, "the number of columns must be a square, so that all numbers are fractions")
need(
    all(abs(v) <= Fraction(TAU_MAX) / isqrt(n) for h in H for v in h),
    "every entry of H must be clipped to tau_max/sqrt(n)",
)
need(
    all(TAU_MIN**2 <= sum(v * v for v in h) <= TAU_MAX**2 for h in H),
    "the norm of each record must be between tau_min and tau_max",
)
column = [h[COLUMN] for h in H]
shift = sum((u - v) * h for u, v, h in zip(BE, OTHER, column, strict=True)) / m  # f(D) - f(D')
square = sum(h * h for h in column)  # a², the same under D and D'
need(square > 0, "at least one record must have an entry other than 0 in the column")
true = Fraction(ALPHA) * m**2 / (2 * SIGMA**2) * shift**2 / square
claimed = 2 * ALPHA * (Fraction(TAU_MAX) / TAU_MIN) ** 2 * TAU_B**2 / (m * SIGMA**2)
if true <= claimed:
    raise SystemExit("not refuted: the divergence is at most the claimed bound")
print(f"refuted: claimed D_alpha <= {float(claimed):g}, but it is at least {float(true):g}")
