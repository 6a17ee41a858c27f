"""Forward Learning with Differential Privacy (DP-ULR), section 3.3, Theorem 2.

dpulr2024:thm2, dpulr2024:alg1.L209, dpulr2024:A5-claims, dpulr2024:claims, dpulr2024:asm1. Claim: if the noise of the
estimates satisfies (8), Algorithm 1 is (α, γ)-RDP with γ as in (11), T = 1 here, under the conditions checked below. So
it is (γ + ln(1/δ)/(α-1), δ)-DP. Line 209 outputs this cost. Appendix A.5 states that the cost does not depend on K. The
abstract and section 5 promise the guarantee. Section 3.2 concludes this bound from Assumption 1, which holds here with
N_0 = 1. No loss is 0, so the covariance of one example has full rank. Neighbours differ by one more example.

Counterexample: noise z on D_THETA parameters (section 3.2: Jacobian I), and all losses L_0 = 1 at θ_0. The losses of
the N examples are constant. The target is only in D' and has the loss 1 + G θ_1. (8) with equality gives σ² = n/(K C²
σ_0²) for a batch of n. Estimates of constant losses are N(0, C² σ_0²/n I). After the clip, each estimate is a uniform
direction u on the sphere times a norm of at most C, and E exp(t u_1) <= exp(t²/(2 D_THETA)). So for a sum of n such
estimates, P[first entry >= s] <= exp(-s² D_THETA/(2nC²)), and P[first entry <= -s] has the same bound. The first entry
a of the target's estimate has mean G and variance V = C²σ_0²/n + 2G²/K. The rest r has E|r|² = (D_THETA - 1)(C²σ_0²/n +
G²/K). If a >= SAFE G, |r| <= a SLOPE and SAFE G >= C, the first entry of the clipped estimate is at least C/sqrt(1 +
SLOPE²). The inequalities of Chebyshev and Markov bound the probabilities. The event is that the sum over the batch, N_B
times the update, has a first entry of at least TAU.

Arithmetic: fractions. The decimal module rounds log, exp and sqrt correctly. We then move each value one unit outwards.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from math import comb

# The counterexample.
N, N_BAR, N_B, Q, SIGMA_0, C, ALPHA = 51, 50, 10, Fraction(1, 5), 4, 1, 4
DELTA = Fraction(1, 100_000)
D_THETA, K, G = 4096, 2**32, 1000
SAFE, SLOPE, TAU = Fraction(1, 2), Fraction(1, 2), Fraction("0.65")

DOWN, UP = Context(prec=40, rounding=ROUND_FLOOR), Context(prec=40, rounding=ROUND_CEILING)


def bound(name, x, to):
    """log, exp or sqrt of a fraction, from below (to = DOWN) or from above (to = UP)."""
    value = getattr(to.divide(x.numerator, x.denominator), name)(to)
    return Fraction(to.next_minus(value) if to is DOWN else to.next_plus(value))


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


def sizes(n):
    """The probabilities of 0 ... n examples in a batch, before rejection."""
    return [comb(n, k) * Q**k * (1 - Q) ** (n - k) for k in range(n + 1)]


need(0 < Q <= Fraction(1, 5) and 1 <= N_B <= Q * N_BAR and SIGMA_0 >= 4, "Theorem 2 does not cover q, N_B or sigma_0")
need(N_BAR < N <= 1000 and ALPHA > 1 and 0 < DELTA < 1, "N must be in (N-bar, 1000], alpha above 1 and delta in (0, 1)")
x = 1 + 1 / (Q * (ALPHA - 1))
A, logs = bound("ln", x, DOWN), 2 * bound("ln", Fraction(SIGMA_0), UP)
below = bound("ln", x, UP) + bound("ln", Q * ALPHA, UP) + Fraction(1, 2 * SIGMA_0**2)
need(SIGMA_0**2 * A / 2 - logs >= ALPHA, "alpha violates condition 1 of Theorem 2")
need(SIGMA_0**2 * A**2 / 2 - bound("ln", Fraction(5), UP) - logs >= ALPHA * below > 0, "alpha violates condition 2")
need(
    D_THETA >= 1 and K >= 1 and 0 < C <= SAFE * G and SAFE < 1 and SLOPE > 0 and TAU > 0,
    "D_THETA, K, C, G, SAFE, SLOPE or TAU is out of range",
)

p, bar = sizes(N), sizes(N_BAR)
accepted = sum(p[N_B:])
without = sum(p[n] * bound("exp", -(TAU**2) * D_THETA / (2 * n * C**2), UP) for n in range(N_B, N + 1)) / accepted
first, with_, total = C / bound("sqrt", 1 + SLOPE**2, UP), Fraction(0), accepted + Q * p[N_B - 1]
need(first > TAU, "the first entry of the target's clipped estimate must be above TAU")
for n in range(N_B, N + 2):  # a batch of the target and n - 1 others
    each = Fraction(C**2 * SIGMA_0**2, n)
    low = (each + Fraction(2 * G**2, K)) / ((1 - SAFE) * G) ** 2
    wide = (D_THETA - 1) * (each + Fraction(G**2, K)) / (SAFE * G * SLOPE) ** 2
    others = bound("exp", -((first - TAU) ** 2) * D_THETA / (2 * n * C**2), UP)
    with_ += Q * p[n - 1] / total * max(0, 1 - low - wide - others)
claimed = Q * bar[N_B - 1] / sum(bar[N_B:]) + 2 * Q**2 * ALPHA / SIGMA_0**2
claimed += bound("ln", 1 / DELTA, UP) / (ALPHA - 1)
shown = bound("ln", (with_ - DELTA) / without, DOWN) if with_ > DELTA else 0
if shown <= claimed:
    raise SystemExit("not refuted: this event needs an epsilon of at most the claimed epsilon")
shown = Context(prec=4, rounding=ROUND_FLOOR).divide(shown.numerator, shown.denominator)
print(f"refuted: claimed epsilon = {float(claimed):.3f} at delta = {float(DELTA):g}, but it is at least {shown}")
