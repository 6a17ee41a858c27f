"""Berthier, Differential Privacy for Machine Learning (2019), section 3.3.2: berthier2019:rem-softmax.

Claim: for a shuffled pass, Lemma 3.1 is D <= log(mean of exp((α-1) D_t))/(α-1). This has a "softmax effect that will
make the weakest privacy guarantee (when point t is seen at the last step) dominate all the rest". For "σ >= L
sqrt(2(α-1)α) (high noise regime)" another version, D <= 2 mean of D_t, is stronger. The guarantee of a record that is
used at step t of n is D_t = 2αL²/σ² (1 - C^-2)/(1 - C^(-2(n-t+1))).

We read the claim as a claim that also covers the regime of high noise. (The claim is true if (α-1) D_t is large for the
last steps.)

Counterexample: the numbers below, at the border of that regime. The lemma gives far less than the weakest guarantee,
and less than the other version.

Arithmetic: fractions. The decimal module rounds exp and log correctly. We then move each value up by one unit in the
last place.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction

# The counterexample.
N, ALPHA, L, SIGMA = 100, 2, 1, 2
C = Fraction("1.01")

UP = Context(prec=30, rounding=ROUND_CEILING)


def upper(name, x):
    """Upper bound on log or exp of a fraction."""
    return Fraction(UP.next_plus(getattr(UP.divide(x.numerator, x.denominator), name)(UP)))


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(1 <= N <= 200 and L > 0 and SIGMA > 0, "n must be in [1, 200], and L and sigma must be positive")
need(
    ALPHA > 1 and SIGMA**2 >= 2 * L**2 * (ALPHA - 1) * ALPHA,
    "alpha must be above 1, and sigma² at least 2 L² (alpha - 1) alpha",
)
need(1 < C <= 1 + Fraction(1, N), "C must be above 1 and at most 1 + 1/n")
contracted, costs = 1 / C**2, []
for seen in range(N, 0, -1):  # number of steps from the record's own step to the last step
    costs.append(Fraction(2 * ALPHA * L**2) / SIGMA**2 * (1 - contracted) / (1 - contracted**seen))
weakest = max(costs)
need(weakest == costs[-1], "the last step must have the weakest guarantee")
lemma = upper("ln", sum(upper("exp", (ALPHA - 1) * cost) for cost in costs) / N) / (ALPHA - 1)
if lemma >= weakest / 2:
    raise SystemExit("not refuted: the bound of the lemma is at least half of the weakest guarantee")
if lemma >= 2 * sum(costs) / N:
    raise SystemExit("not refuted: the bound of the lemma is at least the bound of the other version")
ratio = weakest / lemma
shown = Context(prec=4, rounding=ROUND_FLOOR).divide(ratio.numerator, ratio.denominator)
print(f"refuted: claimed that the weakest D_t dominates the lemma's bound, but it is at least {shown} times this bound")
