"""Berthier, Differential Privacy for Machine Learning (2019), Proposition 2.4 in section 2.4.2: berthier2019:prop2.4.

Claim: let Δ be the l1 sensitivity of f. The Laplace mechanism adds independent noise of Lap(b) to each coordinate of f,
with b = sqrt(Δ/(2δ)). The mechanism is δ TV-private: for neighbours x, y the total variation between its two laws is at
most δ.

Counterexample: f counts records. Without a record, f(x) = 0. With one record, f(y) = 1, so Δ = 1. For the event E =
{z <= 1/2}, the total variation is at least P[0 + noise in E] - P[1 + noise in E] = 1 - exp(-1/(2b)).

Arithmetic: fractions. We use two fractions with b between them, and 1 - exp(-u) >= u - u²/2 for u >= 0.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from math import isqrt

# The counterexample.
DELTA = Fraction("0.01")
F_X, F_Y = 0, 1


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(0 < DELTA < 1, "delta must be in (0, 1)")
need({F_X, F_Y} == {0, 1}, "the counts F_X and F_Y must be 0 and 1, because x and y differ by one record")
sensitivity = abs(F_X - F_Y)
square = sensitivity / (2 * DELTA)  # the square of b
FINE = 10**9
above = Fraction(isqrt(square.numerator * FINE**2 // square.denominator) + 1, FINE)
need((above - Fraction(2, FINE)) ** 2 < square <= above**2, "b must be the square root of sensitivity / (2 delta)")

u = sensitivity / (2 * above)  # `above` is a little more than the claimed b, so the total variation is a little smaller
variation = u - u**2 / 2
if variation <= DELTA:
    raise SystemExit(f"not refuted: the lower bound on the total variation is at most the claimed {float(DELTA):g}")
shown = Context(prec=5, rounding=ROUND_FLOOR).divide(variation.numerator, variation.denominator)
print(f"refuted: claimed a total variation of at most {float(DELTA):g}, but it is at least {shown}")
