"""Forward Learning with Differential Privacy (DP-ULR), section 4.1 with Figure 2: dpulr2024:fig2.

Claim: with α = 1.1 and σ_0 = 4, "when the dataset size N >= 10³ and the rejection threshold N_B is slightly less than
the mean batch size qN, the ratio of the first impairment term to the second term [of (11)] is less than 10⁻³". The
terms are q p(N_B-1; N, q)/(1 - P(N_B-1; N, q)) and 2q²α/σ_0². Here p and P belong to the binomial law of N and q.

Counterexample: the N and q below. (The paper does not give the q of the figure; Theorem 2 requires q <= 1/5.) To cover
every meaning of "slightly less", the file computes the ratio for every N_B below qN.

Arithmetic: fractions.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from math import comb

# The counterexample.
N, Q = 1000, Fraction(1, 100)
ALPHA, SIGMA_0 = Fraction("1.1"), 4


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(1000 <= N <= 2000, "N must be in [1000, 2000], because the fractions grow")
need(0 < Q <= Fraction(1, 5), "q must be in (0, 1/5]")
need(Fraction("1.1") == ALPHA and SIGMA_0 == 4, "alpha must be 1.1 and sigma_0 must be 4, as in the figure")
thresholds = [N_B for N_B in range(1, N) if N_B < Q * N]
need(thresholds, "qN must be above 1, so that a threshold below qN exists")

mass, accepted, ratios = [], Fraction(1), []
for N_B in thresholds:
    mass.append(comb(N, N_B - 1) * Q ** (N_B - 1) * (1 - Q) ** (N - N_B + 1))
    accepted -= mass[-1]
    ratios.append(Q * mass[-1] / accepted / (2 * Q**2 * ALPHA / SIGMA_0**2))
least = min(ratios)
if least < Fraction(1, 1000):
    raise SystemExit("not refuted: for some threshold below qN, the ratio is less than 0.001")
shown = Context(prec=4, rounding=ROUND_FLOOR).divide(least.numerator, least.denominator)
print(f"refuted: claimed a ratio below 0.001, but for every N_B below qN = {float(Q * N):g} it is at least {shown}")
