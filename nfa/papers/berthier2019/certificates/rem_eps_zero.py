"""Berthier, Differential Privacy for Machine Learning (2019), section 2.1, page 8: berthier2019:rem-eps-zero.

Claim: "ε = 0 meaning that the algorithm does not use the data at all".

We read the claim as a claim that is also about (0, δ) with δ > 0. (The claim is true for (0, 0).)

Counterexample: an algorithm releases one record of the data set, drawn uniformly. The data sets have n to 2n records,
each "a" or "b". For two laws on {a, b}, the δ that ε = 0 needs is the distance between the probabilities of "b". This
distance is at most δ for neighbours, which differ by one more record or by one replaced record. Yet data sets that
differ in many records have laws that are far from each other.

Arithmetic: fractions.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction

# The counterexample.
N, DELTA = 10, Fraction(1, 10)
NUMBER_OF_B = (0, 10)  # in two data sets of N records


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


def law(b, n):
    """The probability that a data set of n records releases "b", if b of the records are "b"."""
    return Fraction(b, n)


need(1 <= N <= 50 and 0 < DELTA < 1, "N must be in [1, 50] and delta in (0, 1)")
need(
    all(0 <= b <= N for b in NUMBER_OF_B),
    "each entry of NUMBER_OF_B must be in [0, N], because each data set has N records",
)
for n in range(N, 2 * N + 1):
    for b in range(n + 1):
        near = [(b + 1, n)] if b < n else []
        near += [(b, n + 1), (b + 1, n + 1)]
        need(all(abs(law(b, n) - law(*other)) <= DELTA for other in near), "the algorithm must be (0, delta)-DP")
apart = abs(law(NUMBER_OF_B[1], N) - law(NUMBER_OF_B[0], N))
if apart <= 0:
    raise SystemExit("not refuted: the two data sets give the same law")
shown = Context(prec=4, rounding=ROUND_FLOOR).divide(apart.numerator, apart.denominator)
print(f"refuted: claimed that the data are not used, but the laws for two data sets differ by at least {shown}")
