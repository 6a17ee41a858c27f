"""Lee & Kifer, Differentially Private Deep Learning with Direct Feedback Alignment, section 4.2, both displays.

lee2020:sens-zeta and lee2020:sens-xi. Claim: where one record changes, the averaged terms of W^l and of b^l move by at
most Δ_ζ = (2/m) γ τ_h β τ_e and Δ_ξ = (2/m) γ β τ_e, for l = 1 to L: |φ'| <= γ, spectral norms of the feedback matrices
β, errors clipped to τ_e, activations to τ_h, batches of m.

The reading refuted: at l = L, where section 3.2 and Figure 1 have the error e itself, with neither B nor φ'.

Counterexample: one record with one label or the other, m = 1; its last hidden layer has the output HIDDEN and both
classes get ŷ = 1/2 (weights and biases 0). γ and β are those of the paper's fully connected networks of sigmoid units.

Arithmetic: fractions, by squares of norms: |e hᵀ|² = |e|² |h|².
"""

from fractions import Fraction

# The counterexample.
M = 1
GAMMA, BETA, TAU_E, TAU_H = Fraction("0.25"), Fraction("0.9"), Fraction("0.1"), 1
HIDDEN = [Fraction("0.5"), Fraction("0.5"), Fraction("0.5"), Fraction("0.5")]


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(M == 1, "there is one record")
need(0 < BETA and 0 < TAU_E and 0 < TAU_H, "beta, tau_e and tau_h must be positive")
need(GAMMA >= Fraction(1, 4), "gamma must bound the slope of the sigmoid")
need(all(0 < h < 1 for h in HIDDEN), "outputs of sigmoid units are in (0, 1)")
error = (Fraction(-1, 2), Fraction(1, 2))  # ŷ - y of the one label, its opposite of the other
need(sum(e * e for e in error) >= TAU_E**2, "the error must be clipped to norm tau_e")

moved_b = (2 * TAU_E / M) ** 2
moved_W = moved_b * min(sum(h * h for h in HIDDEN), TAU_H**2)
printed_b = (2 * GAMMA * BETA * TAU_E / M) ** 2
printed_W = printed_b * TAU_H**2
if moved_b <= printed_b or moved_W <= printed_W:
    raise SystemExit("not refuted: the output layer's terms move by no more than printed")
need(moved_W == moved_b, "the last hidden layer must have norm tau_h = 1, so that one number speaks of both")
claimed = 2 * GAMMA * BETA * TAU_E / M
print(f"refuted: claimed that W and b of the top layer move by {float(claimed):g}, each moves by at least {2 * TAU_E}")
