"""Forward Learning with Differential Privacy (DP-ULR), Appendix B, equation (32): dpulr2024:eq32, dpulr2024:eq32b.

Claim: let f_0 and f_1 be the densities of the release without and with example N+1, in batches drawn with rejection.
Let f-bar_1 = (c_1/c_0) ((1-q) f_0 + q g). Here g is the law of f_0 plus the normal vector of example N+1. Then for
every λ > 0, E_{f_0}[(f_0/f-bar_1)^λ] <= (c_0/c_1)^λ E_{f_0}[(f_0/((1-q) f_0 + q Γ f_0))^λ]. Here Γ is the translation
by the mean of example N+1, of norm at most 1. Hypotheses as in Theorem 4: every batch of N_B or more has variance σ² or
more. With this inequality, the paper's derivation below (32) ends with the same result for every covariance Σ_{N+1}.

Counterexample, on the line, λ = 1: N examples have N(0, EACH), and example N+1 has N(1, WIDE). Without the common
factor c_0/c_1 the left side is at least P²/((1-q) P + q G). Here P and G are the probabilities of the event |x| <=
REACH under f_0 and under g. The right side is at most 1 + q²(e^{1/σ²} - 1)/(1-q) for two reasons. First, f²/h is
jointly convex, so the worst case is a single batch, a normal law μ of variance σ² or more. Second, y = q(μ(· - 1)/μ -
1) >= -q has mean 0, and 1/(1+y) <= 1 - y + y²/(1-q).

Arithmetic: fractions. The decimal module rounds exp correctly. We then move the value up by one unit in the last place.
A normal law of variance v has P[|x| >= t] <= 2 exp(-t²/(2v)) and P[|x - mean| < t] <= 2t/sqrt(2πv), and 2π > 6.28.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from math import comb, isqrt

# The counterexample.
N, N_B, Q, SIGMA = 50, 5, Fraction(1, 5), 4
EACH, WIDE = Fraction("3.2"), 16_000
REACH = 30

UP = Context(prec=40, rounding=ROUND_CEILING)


def exp(x):
    """Upper bound on the exponential of a fraction."""
    return Fraction(UP.next_plus(UP.divide(x.numerator, x.denominator).exp(UP)))


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(0 < Q <= Fraction(1, 5) and SIGMA >= 4, "q must be in (0, 1/5], and sigma at least 4")
need(1 <= N_B <= Q * N and N <= 1000, "N_B must be in [1, q N], and N at most 1000")
need(EACH > 0 and WIDE > 0 and REACH > 0, "EACH, WIDE and REACH must be positive")
need(N_B * EACH >= SIGMA**2, "N_B EACH, the variance of the smallest batch, must be at least sigma²")

p = [comb(N, n) * Q**n * (1 - Q) ** (N - n) for n in range(N + 1)]
far = sum(p[n] * 2 * exp(-(REACH**2) / (2 * n * EACH)) for n in range(N_B, N + 1)) / sum(p[N_B:])
need(far < 1, "the bound on P[|x| > REACH] under f_0 must be below 1")
wide = Fraction(isqrt(int(628 * WIDE * 10**8)), 10**5)  # at most sqrt(2 pi WIDE)
P, G = 1 - far, min(1, 2 * REACH / wide)  # a lower and an upper bound, because the quotient below grows with P
left = P**2 / ((1 - Q) * P + Q * G)
right = 1 + Q**2 * (exp(Fraction(1, SIGMA**2)) - 1) / (1 - Q)
if left <= right:
    raise SystemExit("not refuted: the lower bound on the left side is at most the upper bound on the right side")
shown = Context(prec=4, rounding=ROUND_FLOOR).divide(left.numerator, left.denominator)
claimed = Context(prec=4, rounding=ROUND_CEILING).divide(right.numerator, right.denominator)
print(f"refuted: claimed a left side of at most (c_0/c_1) {claimed}, but it is at least (c_0/c_1) {shown}")
