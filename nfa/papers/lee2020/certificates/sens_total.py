"""Lee & Kifer, Differentially Private Deep Learning with Direct Feedback Alignment, section 4.2: lee2020:sens-total.

Claim: if one record changes, the updates of Algorithm 1 move in l2 norm by at most Δ = 2 γ β τ_e sqrt((1 + τ_h²) L) /
m, for all layers together and before the noise. Hypotheses: |φ'| <= γ, the feedback matrices have spectral norm β,
errors are clipped to τ_e and activations to τ_h, and batches have m records.

We refute the claim in three meanings. In the first meaning, the output layer learns from e itself, as in section 3.2
and Figure 1. The other two meanings are refuted with sigmoid units. In the second meaning, the output layer learns from
β e. In the third meaning, it learns from e times the derivative of the softmax, e ⊙ ŷ(1 - ŷ).

Counterexample: one record x = 1, whose label differs between the two data sets, m = 1, one hidden layer. All weights
are 0. With the biases, each hidden unit has the output of SIGMOID or TANH, and both classes have ŷ = 1/2. The feedback
is B = β u (1, -1)/sqrt 2. Here the n entries of u are equal and |u| = 1. The two labels have the errors ∓(1, -1)/2,
clipped to τ_e.

Arithmetic: fractions, by squares of norms: |v xᵀ|² = |v|² |x|², and B e = ∓τ_e β u has |B e| = τ_e β.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction

# The counterexample.
L, M = 2, 1
BETA, TAU_E, TAU_H = Fraction("0.9"), Fraction("0.1"), 1
SIGMOID = {"gamma": Fraction("0.25"), "units": 4, "output": Fraction("0.5")}
TANH = {"gamma": Fraction("1"), "units": 400, "output": Fraction("0.05")}


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


def moved(units, output, derivative, top):
    """The squared distance between the updates for the two labels, if the output layer learns from top times e."""
    error = (Fraction(-1, 2), Fraction(1, 2))  # ŷ - y
    need(
        sum(e * e for e in error) >= TAU_E**2,
        "the norm of the error must be at least tau_e, so that the error is clipped",
    )
    input_ = min(1, TAU_H) ** 2  # squares of the clipped norms
    hidden = min(units * output**2, TAU_H**2)
    # The two labels have opposite updates, so the distance is twice the norm of one update. The 1 is for the bias.
    first = (derivative * TAU_E * BETA) ** 2 * (input_ + 1)
    last = (top * TAU_E) ** 2 * (hidden + 1)
    return 4 * (first + last) / M**2


need(L == 2 and M == 1, "L must be 2, for one hidden layer and an output layer, and m must be 1")
need(0 < BETA and 0 < TAU_E and 0 < TAU_H, "beta, tau_e and tau_h must be positive")
answers = []
for name, unit in (("sigmoid", SIGMOID), ("tanh", TANH)):
    gamma, n, h = unit["gamma"], unit["units"], unit["output"]
    need(n >= 1 and 0 < h < 1, f"there must be {name} units, and their output must be in (0, 1)")
    derivative = h * (1 - h) if name == "sigmoid" else 1 - h**2
    need(gamma >= (Fraction(1, 4) if name == "sigmoid" else 1), f"gamma must bound the derivative of {name}")
    printed = (2 * gamma * BETA * TAU_E / M) ** 2 * (1 + TAU_H**2) * L
    for top in {"sigmoid": (1, BETA, Fraction(1, 4)), "tanh": (1,)}[name]:
        found = moved(n, h, derivative, top)
        if found <= printed:
            learns = f"with {name} units and an output layer that learns from {float(top):g} e"
            raise SystemExit(f"not refuted: {learns}, the update moves by at most the printed bound")
        answers.append((printed, found))

printed, found = answers[0]
down, up = Context(prec=4, rounding=ROUND_FLOOR), Context(prec=4, rounding=ROUND_CEILING)
shown = down.divide(found.numerator, found.denominator).sqrt(down).next_minus(down)
claimed = up.divide(printed.numerator, printed.denominator).sqrt(up)
print(f"refuted: claimed that the update moves by at most {claimed}, but it moves by at least {shown}")
