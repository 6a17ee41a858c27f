"""Berthier, Differential Privacy for Machine Learning (2019), Proposition 3.3 in section 3.4.2: berthier2019:prop3.3.

Claim: take SGD with noise feedback, θ_{t+1} = θ_t - γ g_t(θ_t) - η_{t+1} + η_t with η_0 = 0, independent η_t ~ N(0, σ²
I) for t >= 1 and gradients g_t(θ) = α_t θ + β_t, α_t >= 0. Then for all t >= 0, θ_t ~ N(m_t, Σ_t) with Σ_0 = 0 and
Σ_{t+1} = 2 γ² σ² α_t² + (I - γ α_t) Σ_t (I - γ α_t).

Counterexample: one dimension and the numbers below. θ_t is an affine function of η_1 ... η_t. Its variance is σ² times
the sum of the squares of its coefficients, so we need no recursion for Σ. The claim fails at the first step. The file
also checks that the claim fails at every later step. Section 3.4.1 prints a random η_0 next to η_0 = 0. With this
random η_0, the claim fails at the first step too.

Arithmetic: fractions.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction

# The counterexample.
GAMMA = Fraction("0.5")
VARIANCE = Fraction("1.69")  # σ²
ALPHA = [Fraction("0.3"), Fraction("0.7"), Fraction("0.5"), Fraction("0.9"), Fraction("0.2"), Fraction("0.6")]


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(GAMMA > 0 and VARIANCE > 0, "gamma and sigma must be positive")
need(all(a >= 0 for a in ALPHA), "every alpha must be at least 0")
need(all(GAMMA * a < 1 for a in ALPHA), "gamma alpha must be below 1 for every alpha, as in the text before the claim")


def variances(first):
    """The variances of θ_1, θ_2, ..., if the coefficient of η_0 in θ_1 is `first`."""
    coefficients = [Fraction(0)]  # the coefficients of η_0, η_1, ... in θ_t; θ_0 is fixed
    for t, a in enumerate(ALPHA):
        coefficients = [(1 - GAMMA * a) * c for c in coefficients] + [Fraction(-1)]
        coefficients[t] += 1 if t else first
        yield VARIANCE * sum(c * c for c in coefficients)


claimed, printed = Fraction(0), []
for a in ALPHA:
    claimed = 2 * GAMMA**2 * VARIANCE * a**2 + (1 - GAMMA * a) ** 2 * claimed
    printed.append(claimed)
for first in (0, 1):
    if any(true <= claimed for true, claimed in zip(variances(first), printed, strict=True)):
        raise SystemExit("not refuted: at some step the variance is at most the printed variance")
true = min(next(variances(first)) for first in (0, 1))
shown = Context(prec=6, rounding=ROUND_FLOOR).divide(true.numerator, true.denominator)
print(f"refuted: claimed a variance of {float(printed[0]):.6g} after the first step, but it is at least {shown}")
