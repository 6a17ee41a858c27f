"""Berthier, Differential Privacy for Machine Learning (2019), section 4.6.3: berthier2019:sec4.6.3-sense.

Claim: with noise on the gradients "the objective function is no longer a finite sum, and distinguishing sampling with
or without replacement does not make sense".

We refute the claim in this meaning: with noise, the two kinds of sampling end with the same mean of θ². (The two means
are nearly equal if the noise is much larger than the spread of the gradients.)

Counterexample: three losses (θ - x)²/2 with the x below. The mean of the x is 0. From θ = 0, each step is θ <- θ -
γ (θ - x + noise), with noise N(0, σ²). With replacement, the mean of θ stays 0. Each step multiplies the mean of θ² by
(1 - γ)² and adds γ² (mean of x² + σ²). Without replacement, we enumerate all six orders of a pass. By symmetry, the
mean of θ stays 0 too.

Arithmetic: fractions.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction

# The counterexample.
X = (-1, 0, 1)
GAMMA, SIGMA, PASSES = Fraction("0.05"), 10, 50


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(len(X) == 3 and sum(X) == 0, "the data set must have three records, and their mean must be 0")
need(0 < GAMMA < 1 and SIGMA > 0 and 1 <= PASSES <= 100, "gamma in (0, 1), sigma > 0 and 1 to 100 passes are required")
keep, noise = 1 - GAMMA, GAMMA**2 * SIGMA**2
orders = [(a, b, 3 - a - b) for a in range(3) for b in range(3) if a != b]
ends = [GAMMA * (keep**2 * X[a] + keep * X[b] + X[c]) for a, b, c in orders]  # after a pass from 0 without noise
need(sum(ends) == 0, "the mean of theta must stay 0 in a pass")
replaced = shuffled = Fraction(0)
for _ in range(PASSES):
    for _ in X:
        replaced = keep**2 * replaced + GAMMA**2 * Fraction(sum(x * x for x in X), 3) + noise
    shuffled = keep**6 * shuffled + sum(e * e for e in ends) / 6 + noise * (1 + keep**2 + keep**4)
apart = replaced - shuffled
if apart <= 0:
    raise SystemExit("not refuted: without replacement, the mean square at the end is not smaller")
shown = Context(prec=4, rounding=ROUND_FLOOR).divide(apart.numerator, apart.denominator)
print(f"refuted: claimed no difference at sigma = {float(SIGMA):g}, but the mean squares differ by at least {shown}")
