"""Lee & Kifer, Differentially Private Deep Learning with Direct Feedback Alignment, section 4.2.

lee2020:sens-layerwise. Claim: with one index l for all layers, the overall sensitivity is at most 2 γ_l β_{l+1} τ_e
sqrt((1 + τ_h²) L) / m. Algorithm 1 takes a bound γ_l and a β_l for each layer.

We refute the claim in this meaning: l is any layer, here the sigmoid layer. (The networks of section 5.1 have tanh
layers, γ = 1, and sigmoid layers, γ = 1/4.) The file omits the share of the output layer, so the refutation holds for
every signal from which this layer learns.

Counterexample: one record x = 1, whose label differs between the two data sets, m = 1, a tanh layer below a sigmoid
layer. All weights are 0. With the biases, each tanh unit has the output OUTPUT, and both classes have ŷ = 1/2. The
feedback is B = β u (1, -1)/sqrt 2. Here the n entries of u are equal and |u| = 1. The two labels have the errors ∓(1,
-1)/2, clipped to τ_e.

Arithmetic: fractions, by squares of norms: |v xᵀ|² = |v|² |x|², and B e = ∓τ_e β u has |B e| = τ_e β.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction

# The counterexample.
L, M = 3, 1
BETA, TAU_E, TAU_H = Fraction("0.9"), Fraction("0.1"), 1
GAMMA_TANH, GAMMA_SIGMOID = 1, Fraction("0.25")
OUTPUT = Fraction("0.05")  # the output of a tanh unit


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(L == 3 and M == 1, "L must be 3, for two hidden layers and an output layer, and m must be 1")
need(0 < BETA and 0 < TAU_E and 0 < TAU_H, "beta, tau_e and tau_h must be positive")
need(GAMMA_TANH >= 1 and GAMMA_SIGMOID >= Fraction(1, 4), "gamma must be at least 1 for tanh and 1/4 for the sigmoid")
need(-1 < OUTPUT < 1, "OUTPUT, the output of a tanh unit, must be in (-1, 1)")
error = (Fraction(-1, 2), Fraction(1, 2))  # ŷ - y for one label; the other label has the opposite error
need(
    sum(e * e for e in error) >= TAU_E**2, "the norm of the error must be at least tau_e, so that the error is clipped"
)

derivative = 1 - OUTPUT**2
tanh_layer = 4 * (derivative * TAU_E * BETA / M) ** 2 * (min(1, TAU_H) ** 2 + 1)  # the square, for W and b together
printed = (2 * GAMMA_SIGMOID * BETA * TAU_E / M) ** 2 * (1 + TAU_H**2) * L
if tanh_layer <= printed:
    raise SystemExit("not refuted: the update of the tanh layer moves by at most the bound with the sigmoid's gamma")

down, up = Context(prec=4, rounding=ROUND_FLOOR), Context(prec=4, rounding=ROUND_CEILING)
shown = down.divide(tanh_layer.numerator, tanh_layer.denominator).sqrt(down).next_minus(down)
claimed = up.divide(printed.numerator, printed.denominator).sqrt(up)
print(f"refuted: claimed that the update moves by at most {claimed}, but it moves by at least {shown}")
