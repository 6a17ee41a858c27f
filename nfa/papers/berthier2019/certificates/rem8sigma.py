"""Berthier, Differential Privacy for Machine Learning (2019), section 3.2.3: berthier2019:rem-8sigma.

Claim, below Theorem 3.2: "For σ² large enough (high noise regime), 4(e^{ε(2)} - 1) <= 8/σ²."

We refute the claim in this meaning: ε(2) belongs to the mechanism in this section, with L = 1. This mechanism releases
one step. The noise is on the gradient, and the sensitivity of the gradient is 2L, so ε(α) = α (2L)²/(2σ²) and ε(2) =
4L²/σ². (With a sensitivity of 1, ε(2) = 1/σ², and the claim is true for σ² >= 0.7959. With 2L, the true bound is
4(e^{ε(2)} - 1) <= 32 L²/σ², from σ² = 3.18362 L² on.)

Counterexample: the noise below. The left side is at least 4 ε(2), since e^u - 1 >= u. So if L² > 1/2, the left side is
above 8/σ² at every σ, and no σ² is large enough.

Arithmetic: fractions.
"""

from fractions import Fraction

# The counterexample.
VARIANCE = 10**6  # σ², high noise
L = 1


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(L > 0, "L must be positive")
need(VARIANCE >= 10**4 * L**2, "sigma² must be at least 10^4 L²")
order = 2
epsilon = Fraction(order * (2 * L) ** 2, 2 * VARIANCE)  # ε(2) of the Gaussian mechanism with sensitivity 2L
left = 4 * (epsilon + epsilon**2 / 2)  # the first two terms of e^u - 1; all other terms are positive
claimed = Fraction(8, VARIANCE)
if left <= claimed:
    raise SystemExit("not refuted: the lower bound on 4(e^eps(2) - 1) is at most 8/sigma²")
print(f"refuted: claimed 4(e^eps(2) - 1) <= 8/sigma² = {float(claimed):g}, but it is at least {float(4 * epsilon):g}")
