"""Berthier, Differential Privacy for Machine Learning (2019), Proposition 2.2 in section 2.2: berthier2019:prop2.2.

Claim: let S be the l2 sensitivity of the query f, c² > 2 log(1.25/δ) and σ >= c S/ε. Then f plus noise N(0, σ²) is (ε,
δ)-differentially private. By Definition 2.1, this means P[A(x) in E] <= e^ε P[A(y) in E] + δ for all neighbours x, y
and all sets E. No restriction on ε is stated.

Counterexample: f counts records. One data set has one record, so f(x) = 1. The other has no record, so f(y) = 0. The
event is E = {z : z >= THRESHOLD}. The δ that this E needs is P[1 + noise in E] - e^ε P[noise in E].

Arithmetic: fractions. The decimal module rounds logarithm, exponential and square root correctly. We then move each
value outwards by one unit in the last place. We compute the normal law from its series of positive terms, with a bound
on the rest.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction

# The counterexample.
EPSILON, DELTA = 10, Fraction(1, 100_000)
F_X, F_Y = 1, 0
SIGMA = Fraction("0.4845")
THRESHOLD = Fraction("2.847")

DOWN, UP = Context(prec=50, rounding=ROUND_FLOOR), Context(prec=50, rounding=ROUND_CEILING)
PI = {DOWN: Fraction("3.14159265358979323846264338327950288"), UP: Fraction("3.14159265358979323846264338327950289")}


def bound(name, x, to):
    """Bound on log, exp or square root of a fraction, from below (to = DOWN) or from above (to = UP)."""
    value = getattr(to.divide(x.numerator, x.denominator), name)(to)
    return Fraction(to.next_minus(value) if to is DOWN else to.next_plus(value))


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


def tail(x):
    """Two bounds on P[N(0, 1) >= x], x > 0: 1/2 minus density(x) times the sum of x^(2k+1) / (1 · 3 · 5 ... (2k+1))."""
    term = total = Fraction(x)
    k = 0
    while k < x * x or term > Fraction(1, 10**40):
        k += 1
        term *= x * x / (2 * k + 1)
        total += term
    rest = term  # from here on, each term is less than half of the previous one
    high = bound("exp", -x * x / 2, UP) / bound("sqrt", 2 * PI[DOWN], DOWN)
    low = bound("exp", -x * x / 2, DOWN) / bound("sqrt", 2 * PI[UP], UP)
    return Fraction(1, 2) - high * (total + rest), Fraction(1, 2) - low * total


need(EPSILON > 0 and 0 < DELTA < 1, "epsilon must be positive and delta in (0, 1)")
need(
    SIGMA > 0 and {F_X, F_Y} <= {0, 1} and F_X != F_Y,
    "sigma must be positive, and the counts F_X and F_Y must be 0 and 1",
)
S = abs(F_X - F_Y)
c = SIGMA * EPSILON / S  # so that sigma = c S / epsilon
need(c * c > 2 * bound("ln", Fraction(5, 4) / DELTA, UP), "c² must be above 2 log(1.25/delta)")
need(max(F_X, F_Y) < THRESHOLD < 20 * SIGMA, "THRESHOLD must be above both counts and below 20 sigma")
needed = tail((THRESHOLD - F_X) / SIGMA)[0] - bound("exp", Fraction(EPSILON), UP) * tail((THRESHOLD - F_Y) / SIGMA)[1]
if needed <= DELTA:
    raise SystemExit(
        f"not refuted: the smallest delta that this event allows is at most the claimed delta {float(DELTA):g}"
    )
shown = Context(prec=5, rounding=ROUND_FLOOR).divide(needed.numerator, needed.denominator)
print(f"refuted: claimed delta = {float(DELTA):g} at epsilon = {EPSILON}, but delta must be at least {shown}")
