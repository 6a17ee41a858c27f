"""Ohana et al., Photonic Differential Privacy with Direct Feedback Alignment, section 2.1, DFA update: ohana2021:error.

Claim: the derivative of the loss by the pre-activations z of the last layer is the error e ∝ ŷ - y. This is "For losses
commonly used in classification and regression, such as the squared loss or the cross-entropy loss".

We refute the claim in this meaning: the output also uses the paper's activation, tanh, as equation (2) allows. (The
claim is true for the squared loss with the identity, and for cross-entropy with a softmax or sigmoids.)

Counterexample: two outputs ŷ = tanh(z), which can be any numbers in (-1, 1), and the squared loss |ŷ - y|²/2. Its
derivative by z_k is (ŷ_k - y_k)(1 - ŷ_k²). The file computes the squared sine of the angle between the derivative and
ŷ - y.

Arithmetic: fractions.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction

# The counterexample.
Y_HAT = (Fraction("0.5"), Fraction("0.8"))
Y = (1, -1)


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(len(Y_HAT) == len(Y) == 2, "Y_HAT must have two outputs, and Y two targets")
need(
    all(-1 < v < 1 for v in Y_HAT) and all(-1 <= v <= 1 for v in Y),
    "the outputs must be in (-1, 1), as those of tanh, and the targets in [-1, 1]",
)
a, b = (v - y for v, y in zip(Y_HAT, Y, strict=True))
need((a, b) != (0, 0), "the outputs must differ from the targets")
c, d = (e * (1 - v * v) for e, v in zip((a, b), Y_HAT, strict=True))
sine_squared = (a * d - b * c) ** 2 / ((a * a + b * b) * (c * c + d * d))
if sine_squared <= 0:
    raise SystemExit("not refuted: the derivative is proportional to the error")
shown = Context(prec=4, rounding=ROUND_FLOOR).divide(sine_squared.numerator, sine_squared.denominator)
print(f"refuted: claimed an angle of 0, but the square of its sine is at least {shown}")
