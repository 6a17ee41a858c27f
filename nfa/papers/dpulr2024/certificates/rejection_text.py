"""Forward Learning with Differential Privacy (DP-ULR), sections 3.2 and 3.4 on rejection.

dpulr2024:rejection-text, dpulr2024:impairment-text. Claim: with rejection the cost γ "diminishes quadratically with the
subsampling rate but adds a very small term that is not related to α" (section 3.2, "Batch subsampling with rejection").
This term is "extremely small to be ignored compared to the latter term" (section 3.4). By (10), the two terms are
q p(N_B-1; N, q)/(1 - P(N_B-1; N, q)) and 2q²α/σ².

We refute the claim in this meaning: q = N_B/N, as in line 195 of Algorithm 1. (For thresholds well below qN the claim
is true.)

Counterexample: the smallest batch of section 4.2 in the training set of MNIST. The first term is at least
q p(N_B-1; N, q), because 1 - P is at most 1.

Arithmetic: fractions. A lower bound on (1-q)^n is (1-q)^n > exp(-qn/(1-q)), and 1/e^x > 1/2.71829^x for a whole x.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from math import ceil, comb

# The counterexample.
N, N_B = 60_000, 64
ALPHA, SIGMA = 4, 4


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(1 <= N_B <= 1000 and 5 * N_B <= N, "q = N_B/N must be in (0, 1/5]")
need(SIGMA >= 4, "sigma must be at least 4, as in Theorem 1")
need(1 < ALPHA <= 4, "alpha must be in (1, 4], which Theorem 1 covers for all its q and sigma")
q = Fraction(N_B, N)
rest = ceil(q * (N - N_B + 1) / (1 - q))
mass = comb(N, N_B - 1) * q ** (N_B - 1) / Fraction("2.71829") ** rest
ratio = q * mass / (2 * q**2 * ALPHA / Fraction(SIGMA**2))
if ratio <= 1:
    raise SystemExit("not refuted: the lower bound on the first term is at most the second term")
shown = Context(prec=4, rounding=ROUND_FLOOR).divide(ratio.numerator, ratio.denominator)
print(f"refuted: claimed that the first term is very small, but it is at least {shown} times the second term")
