"""Ohana et al., Photonic Differential Privacy with Direct Feedback Alignment, section 3.3: ohana2021:eq14.

Claim: sqrt(m/n) γ^min τ_h^min <= a_j for each column k (14). Here a_j² = Σ_i (φ'_ij h_ik)², summed over the m records.
The paper derives this bound "using the clipping of the quantities of interest", with c = τ_h^max/sqrt(n), nu =
τ_h^min/sqrt(n) and derivatives of at least γ^min.

We refute the claim in this meaning: the floor is the floor of section 3.1, ‖clip_c(offset_nu(h))‖ >= τ_h^min for each
record. (With the floor |h_ik| >= nu for every entry, the claim is true.)

Counterexample: records of signed activations, as from tanh, and one unit above them with derivatives 1.

Arithmetic: fractions, by squares. sqrt(n) is a whole number.
"""

from fractions import Fraction
from math import isqrt

# The counterexample.
TAU_MIN, TAU_MAX = Fraction("0.2"), 1
H = [(Fraction("0.4"), Fraction("-0.1"), Fraction("-0.1"), Fraction("-0.1"))] * 5
COLUMN = 1


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(H, "H must have at least one record")
m, n = len(H), len(H[0])
need(isqrt(n) ** 2 == n, "the number of columns must be a square, so that all numbers are fractions")
need(0 < TAU_MIN <= TAU_MAX, "tau_min and tau_max must satisfy 0 < tau_min <= tau_max")
need(all(-1 < v < 1 for h in H for v in h), "every entry of H, an output of a tanh unit, must be in (-1, 1)")
need(0 <= COLUMN < n, "COLUMN must be a column of H")
c, nu = Fraction(TAU_MAX) / isqrt(n), TAU_MIN / isqrt(n)
clipped = [[max(-c, min(c, v + nu)) for v in h] for h in H]
norms = [sum(v * v for v in h) for h in clipped]
need(all(TAU_MIN**2 <= s <= TAU_MAX**2 for s in norms), "each record's norm must be between tau_min and tau_max")
square = sum(h[COLUMN] ** 2 for h in clipped)
claimed = Fraction(m, n) * TAU_MIN**2
short = claimed - square
if short <= 0:
    raise SystemExit("not refuted: the claimed bound holds in this column")
print(f"refuted: claimed a_j² >= {float(claimed):g}, but {float(square):g} is too small by at least {float(short):g}")
