"""Berthier, Differential Privacy for Machine Learning (2019), section 1, the attack of [6]: berthier2019:secret.

Claim: a secret word inserted in the training set can be retrieved from the model, and "models trained with differential
privacy do not memorize the secret word, and are immune to this attack for reasonable privacy parameters".

The reading refuted: for parameters that are reasonable however many words there are to guess from, such as ε = log(3),
that of the example in section 2.2. (For ε well below the logarithm of their number it is true.)

Counterexample: a model from which one word is read. If the training set has the secret, one of m words, that word is
read with the probability RIGHT and each other one with an equal share of the rest; without a secret each with 1/m.
Neighbours are, as in Definition 2.1, data sets with one record more or less: so the two with a secret and without.

Arithmetic: fractions. EPSILON is checked from above: e^ε >= 1 + ε + ε²/2 + ... + ε^9/9!.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from math import factorial

# The counterexample.
EPSILON, M = Fraction("1.0987"), 4
RIGHT = Fraction(3, 4)


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(M >= 2 and 0 < EPSILON < Fraction("1.1"), "there must be two words or more, and epsilon at most about log(3)")
need(0 < RIGHT < 1, "a probability must be in (0, 1)")
other, without = (1 - RIGHT) / (M - 1), Fraction(1, M)
ratio = max(RIGHT / without, without / RIGHT, other / without, without / other)
need(ratio <= sum(EPSILON**k / factorial(k) for k in range(10)), "the model must be epsilon-differentially private")
if without * 2 >= RIGHT:
    raise SystemExit("not refuted: the word is retrieved at most twice as often as by a guess")
shown = Context(prec=4, rounding=ROUND_FLOOR).divide(RIGHT.numerator, RIGHT.denominator)
print(f"refuted: claimed immune, one secret of {M} is retrieved with a probability of at least {shown}")
