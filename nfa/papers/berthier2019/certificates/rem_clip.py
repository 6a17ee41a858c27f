"""Berthier, Differential Privacy for Machine Learning (2019), section 3.2: berthier2019:rem-clip.

Claim: gradient clipping "is known in practice not to harm convergence". Clipping scales a gradient down to norm L if
its norm is larger.

We read the claim as a claim about all records and all L. (The claim is true if few gradients near the minimiser have a
norm above L.)

Counterexample: the losses (θ - x)²/2 of the records below. Their sum has its minimum at the mean of the records.
Descent along the mean of the gradients stays there. Descent along the mean of the clipped gradients moves away, to the
point at which the clipped gradients cancel.

Arithmetic: fractions.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction

# The counterexample.
RECORDS, L = (0, 0, 10), 1
CANCEL = Fraction("0.5")
RATE, STEPS = Fraction("0.1"), 200


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


def step(theta, bound=None):
    """The mean of the gradients at theta. If a bound is given, each gradient is clipped to this bound."""
    gradients = [theta - x for x in RECORDS]
    if bound is not None:
        gradients = [max(-bound, min(bound, g)) for g in gradients]
    return Fraction(sum(gradients)) / len(RECORDS)


need(L > 0 and 0 < RATE < 1 and 0 <= STEPS <= 2000, "L must be positive, RATE in (0, 1) and STEPS in [0, 2000]")
need(step(CANCEL, L) == 0, "the clipped gradients must add up to 0 at CANCEL")
mean = Fraction(sum(RECORDS), len(RECORDS))
need(step(mean) == 0, "the gradients must add up to 0 at the mean of the records")
theta = mean
for _ in range(STEPS):
    theta -= RATE * step(theta, L)
if abs(theta - CANCEL) > Fraction(1, 1000):
    raise SystemExit("not refuted: after STEPS steps theta is more than 0.001 from CANCEL")
away = abs(theta - mean)
if away <= Fraction(1, 1000):
    raise SystemExit("not refuted: after STEPS steps theta is at most 0.001 from the minimiser")
shown = Context(prec=6, rounding=ROUND_FLOOR).divide(away.numerator, away.denominator)
print(f"refuted: claimed convergence to {float(mean):.6g}, but theta ends at a distance of at least {shown} from it")
