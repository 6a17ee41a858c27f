"""Ohana et al., Photonic Differential Privacy with Direct Feedback Alignment, section 4: ohana2021:exp-sigma.

Claim: "we fix τ_f = 1 such that σ = 0.1 implies ‖g‖ ≃ ‖B e‖". Here g ~ N(0, σ² I) has as many dimensions as the layer
has units, and ‖B e‖ <= τ_f. At σ = 0.01 "the noise is roughly 10 % of the norm of the DFA learning signal". The setup
makes this "a lower bound on the noise".

Counterexample: two kinds of layers in section 4. In the hidden layers, of 512 units, the noise at ‖B e‖ = 1 is far more
than stated. In the output layer, of 10 units, the noise is far less, so the statement is no lower bound.

Arithmetic: fractions, by squares. E‖g‖ = σ sqrt 2 Γ((n+1)/2)/Γ(n/2) grows with n. The product of E‖g‖ for n and E‖g‖
for n+1 is σ² n. So σ² (n-1) <= (E‖g‖)² <= σ² n.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction

# The counterexample.
SIGMA, SIGNAL = Fraction("0.1"), 1
HIDDEN, OUTPUT = 512, 10


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(Fraction("0.1") == SIGMA and SIGNAL == 1, "sigma must be 0.1 and |B e| = tau_f = 1, as in the claim")
need(
    1 <= HIDDEN <= 512 and 1 <= OUTPUT <= 10,
    "the paper's hidden layers have at most 512 units, and its output layer 10",
)
least = SIGMA**2 * (HIDDEN - 1)  # lower bound on (E‖g‖)²
most = SIGMA**2 * OUTPUT
if least < (2 * SIGNAL) ** 2:
    raise SystemExit("not refuted: in the hidden layer, the lower bound on the noise is below twice the signal")
if most > (Fraction(1, 2) * SIGNAL) ** 2:
    raise SystemExit("not refuted: in the output layer, the upper bound on the noise is above half of the signal")
down, up = Context(prec=3, rounding=ROUND_FLOOR), Context(prec=3, rounding=ROUND_CEILING)
low = down.divide(least.numerator, least.denominator).sqrt(down).next_minus(down)
high = up.divide(most.numerator, most.denominator).sqrt(up).next_plus(up)
print(f"refuted: claimed a noise near 1, but it is at least {low} for {HIDDEN} units and at most {high} for {OUTPUT}")
