"""Berthier, Differential Privacy for Machine Learning (2019), below Definition 5.1 in section 5.2: berthier2019:def5.1.

Claim: "ε-differential privacy implies ε-uniform stability". The latter means that sup_z E[l(A(D), z) - l(A(D'), z)] <=
ε for all data sets D, D' that differ in at most one example.

We read the claim as a claim about every loss l, since the text excludes none. (The claim is true for losses with values
in [0, 1], or in any interval of length at most 2.)

Counterexample: D and D' each consist of one example, 1 or 0. A answers with this example or, less often, with the other
value. The loss is a multiple of the answer. A(D) and A(D') have the probabilities below, so the mechanism is
ε-differentially private for every ε with e^ε >= the largest ratio.

Arithmetic: fractions. The check of EPSILON uses a lower bound: e^ε >= 1 + ε + ε²/2 + ... + ε^9/9!.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from math import factorial

# The counterexample.
EPSILON = Fraction("1.0987")
TRUTH = Fraction(3, 4)  # the probability of a true answer
LOSS = 10  # the loss of the answer 1; the loss of the answer 0 is 0


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(Fraction(1, 2) <= TRUTH < 1, "TRUTH, the probability of a true answer, must be in [1/2, 1)")
need(0 < EPSILON < 10, "epsilon must be in (0, 10)")
ratio = TRUTH / (1 - TRUTH)  # the largest ratio over both answers and both orders of D and D'
need(ratio <= sum(EPSILON**k / factorial(k) for k in range(10)), "the mechanism must be epsilon-differentially private")
difference = TRUTH * LOSS - (1 - TRUTH) * LOSS
if difference <= EPSILON:
    raise SystemExit("not refuted: the mean losses differ by at most epsilon")
shown = Context(prec=6, rounding=ROUND_FLOOR).divide(difference.numerator, difference.denominator)
print(f"refuted: claimed that mean losses differ by at most {float(EPSILON):g}, but they differ by at least {shown}")
