"""Ohana et al., Photonic Differential Privacy with Direct Feedback Alignment, section 4: ohana2021:exp-inline.

Claim: "At σ = 0.01, this means that the noise is roughly 10 % of the norm of the DFA learning signal. This is in line
with differentially-private setup using backpropagation, and is in fact more demanding".

Counterexample: DP-SGD on the network and batches of section 4, with the noise multiplier MULTIPLIER. Gradients are
clipped to norm 1, so the norm of their sum is at most BATCH. The noise on this sum is N(0, MULTIPLIER² I), with one
entry for each parameter. The noise of the paper is N(0, σ² I) on each projected error of norm 1. The mean over the
batch then makes this noise smaller.

Arithmetic: fractions, by squares. For n entries of standard deviation s, s² (n-1) <= (E‖noise‖)² <= s² n.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction

# The counterexample.
SIGMA = Fraction("0.01")
SIZES = (784, 512, 512, 10)
BATCH = 256
MULTIPLIER = 1


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(Fraction("0.01") == SIGMA, "sigma must be 0.01, as in the claim")
need(SIZES == (784, 512, 512, 10), "SIZES must be 784, 512, 512 and 10, as in section 4")
need(BATCH == 256, "BATCH must be 256, as in section 4")
need(0 < MULTIPLIER <= 8, "MULTIPLIER must be in (0, 8], as noise multipliers usually are")
parameters = sum((SIZES[l - 1] + 1) * SIZES[l] for l in range(1, len(SIZES)))
theirs = SIGMA**2 * max(SIZES[1:])  # upper bound on (E‖g‖)² in every layer, for a signal of norm 1
usual = Fraction(MULTIPLIER**2 * (parameters - 1), BATCH**2)  # lower bound on (E‖noise‖)² / BATCH²
if usual <= 4 * theirs:
    raise SystemExit("not refuted: the lower bound on the noise of DP-SGD is at most twice the noise of the paper")
down, up = Context(prec=4, rounding=ROUND_FLOOR), Context(prec=4, rounding=ROUND_CEILING)
most = up.divide(theirs.numerator, theirs.denominator).sqrt(up).next_plus(up)
least = down.divide(usual.numerator, usual.denominator).sqrt(down).next_minus(down)
print(f"refuted: claimed more noise than DP-SGD, but noise/norm is at most {most} here, and at least {least} in DP-SGD")
