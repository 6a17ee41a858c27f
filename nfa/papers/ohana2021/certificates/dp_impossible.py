"""Ohana et al., Photonic Differential Privacy with Direct Feedback Alignment, section 1: ohana2021:dp-impossible.

Claim: differential privacy adds noise, "making the contribution of a single data-point hardly distinguishable from the
added noise. Therefore it is impossible to infer information on individuals from the aggregate".

The paper defines (ε, δ)-privacy for ε, δ > 0. (For ε = δ = 0 the claim is true. Otherwise, the guarantee only limits
what an attacker can infer.)

Counterexample: each individual has a bit, 0 or 1 with probability 1/2. The algorithm answers with the true bit with the
probability TRUTH, so it is (ε, 0)-private for every ε with e^ε >= TRUTH/(1 - TRUTH). An attacker who guesses that the
bit equals the answer is right with the probability TRUTH.

Arithmetic: fractions. The check of EPSILON uses a lower bound: e^ε >= 1 + ε + ε²/2 + ... + ε^9/9!.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from math import factorial

# The counterexample.
EPSILON = Fraction("1.0987")
TRUTH = Fraction(3, 4)


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(0 < TRUTH < 1, "TRUTH, the probability of a true answer, must be in (0, 1)")
need(0 < EPSILON < 10, "epsilon must be in (0, 10)")
ratio = max(TRUTH / (1 - TRUTH), (1 - TRUTH) / TRUTH)  # the largest ratio over both answers and both orders
need(ratio <= sum(EPSILON**k / factorial(k) for k in range(10)), "the answer must be epsilon-differentially private")
right = sum(Fraction(1, 2) * (TRUTH if answer == bit else 0) for bit in (0, 1) for answer in (0, 1))
if right <= Fraction(1, 2):
    raise SystemExit("not refuted: the answer is right with probability at most 1/2")
shown = Context(prec=4, rounding=ROUND_FLOOR).divide(right.numerator, right.denominator)
print(f"refuted: claimed that nothing can be inferred, but a guess is right with probability at least {shown}")
