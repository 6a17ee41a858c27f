"""Ohana et al., Photonic Differential Privacy with Direct Feedback Alignment, Appendix A.1: ohana2021:A1-s3.

Claim: "By choosing D and D' such that [q' - q] >= 0", q = (φ'_Ij h_Ik)² of the record on D and q' of that on D', the
divergence is at most Σ_j (α m²/(2σ²) (f_j - f'_j)²/a_j² - 1/(2(α-1)) log[a_j^{2α}/a'_j^{2α}]). (What is printed is the
log of 1, for which the bound would be smaller still.)

The reading refuted: for all neighbours D and D', which the definition of RDP asks for and Proposition 3 is stated for.

Counterexample: one unit, slopes 1, means equal (B e = 0 but for what cancels), α = 2; the squares of h on D and D'
below.

Arithmetic: fractions. The bound is log(a'²/a²)/(α-1) for α = 2, which is at most a'²/a² - 1, less than 0; the
divergence (7) is never below 0.
"""

from fractions import Fraction

# The counterexample.
SQUARES_D = [1, 1, 1, 4]
SQUARES_OTHER = [1, 1, 1, 1]
ALPHA = 2


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(ALPHA == 2, "the bound is written out for alpha = 2")
need(len(SQUARES_D) == len(SQUARES_OTHER), "the batches must be of one size")
need(sum(a != b for a, b in zip(SQUARES_D, SQUARES_OTHER, strict=True)) <= 1, "they must differ in one record")
need(all(s > 0 for s in SQUARES_D + SQUARES_OTHER), "squares must be positive")
one, other = sum(SQUARES_D), sum(SQUARES_OTHER)
most = Fraction(other, one) - 1  # above the claimed bound, (α/(2(α-1))) log(a'²/a²) at α = 2
if most >= 0:
    raise SystemExit("not refuted: the claimed bound is not shown to be below 0")
print(f"refuted: claimed a divergence of at most {float(most):.5g}, it is at least 0")
