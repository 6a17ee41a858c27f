"""Forward Learning with Differential Privacy (DP-ULR), section 3.2 and Appendix A.4: dpulr2024:extra-noise.

Claim: suppose Assumption 1 fails. Add noise of covariance Σ_extra = σ_0² C² I - diag(Λ)/K along the eigenvectors of the
batch's Σ_B = sum of L_0²/σ² (D v)ᵀ D v (26). Λ are the eigenvalues of Σ_B. This noise keeps the privacy cost of Theorem
2. For T = 1 and the conditions below, this cost is γ = q p(N_B-1; N-bar, q)/(1 - P(N_B-1; N-bar, q)) + 2q²α/σ_0² (11),
so that ε = γ + ln(1/δ)/(α-1).

We set an entry of Σ_extra below 0 to 0, because the eigenvalues of a covariance are at least 0.

Counterexample: one dense layer of two inputs and M outputs at parameters 0, with the softmax loss, so every L_0 is
ln M. All N examples have [h; 1] = OTHERS. D' has one more example, TARGET. Σ_B has M equal blocks, L_0²/σ² times the
sum of [h; 1][h; 1]ᵀ. TARGET is orthogonal to the others. So for a batch of D, the sum along TARGET has only the extra
noise: it is normal, N(0, σ_0² C² I) in M dimensions. With TARGET in the batch, the extra noise along TARGET is 0. The
sum along TARGET is then the clipped estimate of TARGET, of norm at most C. The event is that the norm of this sum is at
most C. For even M, P[χ²_M <= u] <= (u/2)^(M/2)/(M/2)!.

Arithmetic: fractions. The decimal module rounds log correctly. We then move the value outwards by one unit in the last
place.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from fractions import Fraction
from math import comb, factorial

# The counterexample.
N, N_BAR, N_B, Q, SIGMA_0, C, ALPHA = 51, 50, 10, Fraction(1, 5), 4, 1, 4
DELTA = Fraction(1, 100_000)
M, K, SIGMA = 4, 10, Fraction("0.5")
OTHERS, TARGET = (1, 0, 1), (-1, 1000, 1)

DOWN, UP = Context(prec=40, rounding=ROUND_FLOOR), Context(prec=40, rounding=ROUND_CEILING)


def ln(x, to):
    """Bound on log of a fraction, from below (to = DOWN) or from above (to = UP)."""
    value = to.divide(x.numerator, x.denominator).ln(to)
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
A, logs = ln(x, DOWN), 2 * ln(Fraction(SIGMA_0), UP)
below = ln(x, UP) + ln(Q * ALPHA, UP) + Fraction(1, 2 * SIGMA_0**2)
need(SIGMA_0**2 * A / 2 - logs >= ALPHA, "alpha must satisfy the first condition of Theorem 2")
need(
    SIGMA_0**2 * A**2 / 2 - ln(Fraction(5), UP) - logs >= ALPHA * below > 0,
    "alpha must satisfy the second condition of Theorem 2",
)
need(
    M % 2 == 0 and 4 <= M <= 100 and K >= 1 and SIGMA > 0 and C > 0,
    "M must be even and in [4, 100], K at least 1, and sigma and C positive",
)
need(OTHERS[2] == TARGET[2] == 1, "the last entry of OTHERS and TARGET belongs to the bias and must be 1")
need(sum(a * b for a, b in zip(OTHERS, TARGET, strict=True)) == 0, "TARGET must be orthogonal to OTHERS")
own = sum(t * t for t in TARGET) / SIGMA**2  # at most the eigenvalue along TARGET, for ln M > 1
need(own / K >= SIGMA_0**2 * C**2, "the eigenvalue along TARGET must be so large that no extra noise is added there")

p, bar = sizes(N), sizes(N_BAR)
there = Q * sum(p[N_B - 1 :]) / (sum(p[N_B:]) + Q * p[N_B - 1])  # probability that an accepted batch of D' has TARGET
chance = Fraction(1, 2 * SIGMA_0**2) ** (M // 2) / factorial(M // 2)  # at least the probability of the event under D
gamma = Q * bar[N_B - 1] / sum(bar[N_B:]) + 2 * Q**2 * ALPHA / SIGMA_0**2
claimed = gamma + ln(1 / DELTA, UP) / (ALPHA - 1)
shown = ln((there - DELTA) / chance, DOWN) if there > DELTA else Fraction(0)
if shown <= claimed:
    raise SystemExit("not refuted: this event needs an epsilon of at most the claimed epsilon")
shown = Context(prec=4, rounding=ROUND_FLOOR).divide(shown.numerator, shown.denominator)
print(f"refuted: claimed epsilon = {float(claimed):.3f} at delta = {float(DELTA):g}, but it is at least {shown}")
