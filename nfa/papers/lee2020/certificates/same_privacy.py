"""Lee & Kifer, Differentially Private Deep Learning with Direct Feedback Alignment, section 5: lee2020:same-privacy.

Claim: τ_h is "set so that the overall sensitivity matched that of DP BP". This "ensures that each iteration and each
epoch of DP BP has the same privacy impact as DP DFA". The overall sensitivity is from section 4.2. We write S for m
times this sensitivity: S = 2 γ β τ_e sqrt((1 + τ_h²) L). DP BP clips gradients to S/2, so its update moves by at most
S/m.

We refute the claim in this meaning: τ_h is from this formula, γ = 1/4 for the sigmoid, and the output layer learns from
e itself (section 3.2, Figure 1). (If τ_h is from a sensitivity that holds, the claim is true.)

Counterexample: the network for Fashion-MNIST of section 5.2, 784-128-256-10, β = 0.9, τ_e = 0.1, S = 2. The weights of
the last two layers are 0. With their biases, each of the 256 sigmoids has the output OUTPUT, and each class has ŷ =
1/10. The two data sets differ in the label of one record. The direction of the output layer alone is (e hᵀ, e), with
the error e clipped to τ_e. The squared distance of the two directions is |e - e'|² (|h|² + 1), which is more than S².
For two normal laws with the same variance, the divergence of every order is proportional to this squared distance.

Arithmetic: fractions, by squares of norms. |ŷ - y| is the same for each label, so e · e' is a fraction.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction

# The counterexample.
S, L, GAMMA, BETA, TAU_E = 2, 3, Fraction("0.25"), Fraction("0.9"), Fraction("0.1")
UNITS, CLASSES = 256, 10
OUTPUT = Fraction("0.95")


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(
    S == 2 and L == 3 and UNITS == 256 and CLASSES == 10,
    "S must be 2, L 3, UNITS 256 and CLASSES 10, as in section 5.2",
)
need(Fraction("0.9") == BETA and Fraction("0.1") == TAU_E, "beta must be 0.9 and tau_e 0.1, as in section 5")
need(Fraction(1, 4) <= GAMMA < 1, "gamma must be in [1/4, 1), to bound the derivative of the sigmoid")
need(0 < OUTPUT < 1, "OUTPUT, the output of a sigmoid unit, must be in (0, 1)")
tau_h_squared = (S / (2 * GAMMA * BETA * TAU_E)) ** 2 / L - 1
hidden = min(UNITS * OUTPUT**2, tau_h_squared)  # the square of the clipped norm
even = Fraction(1, CLASSES)
errors = [[even - (label == k) for k in range(CLASSES)] for label in (0, 1)]
square, product = sum(e * e for e in errors[0]), sum(a * b for a, b in zip(*errors, strict=True))
need(square >= TAU_E**2, "the norm of the errors must be at least tau_e, so that they are clipped")
apart = TAU_E**2 * (2 - 2 * product / square)
moved = apart * (hidden + 1)
if moved <= S**2:
    raise SystemExit("not refuted: the update of the output layer moves by at most the sensitivity of DP BP")
ratio = moved / S**2
shown = Context(prec=4, rounding=ROUND_FLOOR).divide(ratio.numerator, ratio.denominator)
print(f"refuted: claimed the same privacy, but DP DFA's divergence is at least {shown} times the bound of DP BP")
