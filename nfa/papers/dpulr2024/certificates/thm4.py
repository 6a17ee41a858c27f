"""Forward Learning with Differential Privacy (DP-ULR), Appendix B, Theorem 4.

dpulr2024:thm4, dpulr2024:eq33, dpulr2024:eq41. The hypothesis is damaged in the middle, so we reconstruct it from the
proof and the sentence before. Claim: for every example, let f(d) be normal with mean of norm at most 1 and covariance
Σ_d. A batch has each example with probability q, and is drawn anew as long as it has fewer than N_B examples. Let M(D)
be the sum of f over the batch. Let min λ(Σ_{i in J} Σ_{d_i}) >= σ² for all |J| >= N_B. Suppose 1 <= N_B <= q N-bar, q
<= 1/5 and σ >= 4. With A = ln(1 + 1/(q(α-1))), suppose α <= σ²A/2 - 2 ln σ and α <= (σ²A²/2 - ln 5 - 2 ln σ)/(A +
ln(qα) + 1/(2σ²)). Then M is (α, γ)-RDP for neighbours that differ by one example, with γ = q p(N_B-1; N-bar, q)/(1 -
P(N_B-1; N-bar, q)) + 2q²α/σ². (33) and (41) state this bound for D_α(M(D) ‖ M(D')), if D' is the larger data set.

Counterexample, on the line: N examples have N(0, EACH). D' has one more example with N(MEAN, WIDE), which the
hypotheses allow. The event is |M| >= REACH. Every divergence of the laws is at least that of its probabilities.

Arithmetic: fractions. The decimal module rounds log and exp correctly. We then move each value one unit outwards. A
normal law of variance v has P[|x| >= t] <= 2 exp(-t²/(2v)) and P[|x - mean| < t] <= 2t/sqrt(2πv), and 2π > 6.28.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from math import comb, isqrt

# The counterexample.
N, N_BAR, N_B, Q, SIGMA, ALPHA = 51, 50, 5, Fraction(1, 5), 4, 2
EACH, WIDE, MEAN = Fraction("3.2"), 16_000, 1
REACH = 40

DOWN, UP = Context(prec=40, rounding=ROUND_FLOOR), Context(prec=40, rounding=ROUND_CEILING)


def bound(name, x, to):
    """log or exp of a fraction, from below (to = DOWN) or from above (to = UP)."""
    value = getattr(to.divide(x.numerator, x.denominator), name)(to)
    return Fraction(to.next_minus(value) if to is DOWN else to.next_plus(value))


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(0 < Q <= Fraction(1, 5) and 1 <= N_B <= Q * N_BAR, "Theorem 4 needs 1 <= N_B <= q N-bar and q <= 1/5")
need(N_BAR < N <= 1000, "N must be in (N-bar, 1000]")
need(
    EACH > 0 and WIDE > 0 and SIGMA >= 4 and abs(MEAN) <= 1,
    "sigma >= 4, EACH > 0, WIDE > 0 and |MEAN| <= 1 are required",
)
need(N_B * EACH >= SIGMA**2 and (N_B - 1) * EACH + WIDE >= SIGMA**2, "a batch of N_B has a variance below sigma²")
need(ALPHA > 1, "alpha must be above 1")
x = 1 + 1 / (Q * (ALPHA - 1))
A, logs = bound("ln", x, DOWN), 2 * bound("ln", Fraction(SIGMA), UP)
below = bound("ln", x, UP) + bound("ln", Q * ALPHA, UP) + Fraction(1, 2 * SIGMA**2)
need(SIGMA**2 * A / 2 - logs >= ALPHA, "alpha must satisfy the first condition of Theorem 4")
need(
    SIGMA**2 * A**2 / 2 - bound("ln", Fraction(5), UP) - logs >= ALPHA * below > 0,
    "alpha must satisfy the second condition of Theorem 4",
)
need(ALPHA == 2 and REACH > 0, "alpha must be 2 and REACH positive, because the bound below is for alpha = 2")


def sizes(n):
    """The probabilities of 0 ... n examples in a batch, before rejection."""
    return [comb(n, k) * Q**k * (1 - Q) ** (n - k) for k in range(n + 1)]


p, bar = sizes(N), sizes(N_BAR)
accepted = sum(p[N_B:])
gamma = Q * bar[N_B - 1] / sum(bar[N_B:]) + 2 * Q**2 * ALPHA / SIGMA**2
there = Q * (accepted + p[N_B - 1]) / (accepted + Q * p[N_B - 1])  # P[a batch of D' has the example with WIDE]
far = sum(p[n] * min(1, 2 * bound("exp", -(REACH**2) / (2 * n * EACH), UP)) for n in range(N_B, N + 1)) / accepted
wide = Fraction(isqrt(int(628 * WIDE * 10**8)), 10**5)  # at most sqrt(2 pi WIDE); other examples only add variance
near = (1 - there) + there * min(1, 2 * REACH / wide)  # at least P[|M| < REACH] under D'
if far >= 1 or near >= 1:
    raise SystemExit("not refuted: the bounds on the probabilities of the event are too weak to separate the two laws")
to, back = (1 - far) ** 2 / near, (1 - near) ** 2 / far  # D_2(P ‖ Q) >= ln(P(E)²/Q(E)) for every event E
shown = [bound("ln", e, DOWN) for e in (to, back)]
if min(shown) <= gamma:
    raise SystemExit("not refuted: in one direction, the lower bound on D_2 is at most the claimed bound")
low, high = (Context(prec=4, rounding=ROUND_FLOOR).divide(*e.as_integer_ratio()) for e in shown)
print(f"refuted: claimed D_2 <= {float(gamma):.5f} in both directions, but D_2 is at least {low} and {high}")
