"""Berthier, Differential Privacy for Machine Learning (2019), section 3.4.3: berthier2019:sec3.4.3.

Claim: without noise feedback, the variance of the iterates is greater than σ² I at all time steps. "This is not true
for the second one", which has feedback, "assuming γ‖α_t‖ < 1". So feedback cancels most of the noise and most of the
privacy. The iterates are those of Proposition 3.3: θ_{t+1} = θ_t - γ(α_t θ_t + β_t) - η_{t+1} + η_t, η_0 = 0.

Counterexample: one dimension, and one α for all steps. θ_t is an affine function of η_1 ... η_t, in which η_t has the
coefficient -1. The variance of θ_t is σ² times the sum of the squares of the coefficients, so it is never below σ². The
file computes this variance at every step, and also the variance without feedback. Both variances are at least σ², so
feedback does not cancel most of σ².

Arithmetic: fractions.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction

# The counterexample.
GAMMA, ALPHA = Fraction("0.1"), 1
VARIANCE = 1  # σ²
STEPS = 50


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(GAMMA > 0 and ALPHA > 0 and VARIANCE > 0, "gamma, alpha and sigma must be positive")
need(GAMMA * ALPHA < 1, "gamma alpha must be below 1")
need(1 <= STEPS <= 100, "STEPS must be in [1, 100], because the fractions grow")

fed, plain = [Fraction(0)], []  # coefficients of η_0, η_1, ... in θ_t
least = least_plain = None
for t in range(STEPS):
    fed = [(1 - GAMMA * ALPHA) * c for c in fed] + [Fraction(-1)]
    fed[t] += 1 if t else 0
    plain = [(1 - GAMMA * ALPHA) * c for c in plain] + [Fraction(-1)]
    need(fed[-1] == -1, "the coefficient of the newest noise in the iterate must be -1")
    found, beside = (VARIANCE * sum(c * c for c in one) for one in (fed, plain))
    least, least_plain = min(least or found, found), min(least_plain or beside, beside)
need(least_plain >= VARIANCE, "without feedback the variance must be at least sigma², as the text states")
if least < VARIANCE:
    raise SystemExit("not refuted: with feedback the variance falls below sigma²")
last = 2 * GAMMA * ALPHA / (2 - GAMMA * ALPHA) * VARIANCE  # the limit of the printed recursion
if last >= VARIANCE:
    raise SystemExit("not refuted: the variance of the printed recursion does not fall below sigma² either")
shown = Context(prec=6, rounding=ROUND_FLOOR).divide(least.numerator, least.denominator)
print(f"refuted: claimed a variance below sigma² = {VARIANCE}, but at each of {STEPS} steps it is at least {shown}")
