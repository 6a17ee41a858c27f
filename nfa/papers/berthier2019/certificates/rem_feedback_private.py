"""Berthier, Differential Privacy for Machine Learning (2019), section 3.4.1: berthier2019:rem-feedback-private.

Claim, about noise that feedback cancels partially: "Obviously, since we recover convergence, we should not expect the
final model to be private".

We read the claim as a claim about every learning rate and number of steps. (The claim is true if each step increases
the distance between the iterates for two neighbours.)

Counterexample: noise feedback on the gradient, θ_{t+1} = θ_t - γ (g_t(θ_t) + η_{t+1} - η_t), η_0 = 0, independent
η_t ~ N(0, σ²), with g_t(θ) = θ - x_t in one dimension. If every x_t is the goal, the mean of θ converges to this goal,
and the variance of θ stays positive. Replacing record t moves g_t by up to 2L. So the replacement moves θ_T by up to
2γL(1 - γ)^(T-t) and does not change the variance of θ_T. The laws of θ_T for the two records are therefore normal laws
with the same variance. Their divergence of order 2 is distance²/variance. This divergence is at most 4L²/σ², the
divergence of one release. By Pinsker, their total variation V satisfies V² <= KL/2 = distance²/(4 variance). Suppose a
fair coin decides which of the two records is used. An attacker who knows both records, and all other records, guesses
wrong with probability at least (1 - V)/2.

Arithmetic: fractions. The square root is rounded up.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from math import isqrt

# The counterexample.
L, SIGMA = 1, 2
GAMMA, STEPS = Fraction("0.01"), 800
START, WITHIN = 10, Fraction("0.03")


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(
    L > 0 and SIGMA > 0 and 0 < GAMMA < 1 and 1 <= STEPS <= 1600,
    "L > 0, sigma > 0, gamma in (0, 1) and 1 to 1600 steps are required",
)
need(
    WITHIN > 0 and WITHIN < abs(START) / Fraction(100),
    "WITHIN must be positive and below 1/100 of the distance at the start",
)
keep = 1 - GAMMA
kept = [Fraction(1)]  # powers of keep
for _ in range(STEPS):
    kept.append(kept[-1] * keep)
# In θ_T, the coefficient of η_T is -γ. The coefficient of an earlier η_t is -γ keep^(T-t) + γ keep^(T-t-1)
coefficients = [-GAMMA] + [GAMMA * (kept[k - 1] - kept[k]) for k in range(1, STEPS)]
variance = SIGMA**2 * sum(c * c for c in coefficients)
square = (START * kept[STEPS]) ** 2 + variance  # the mean square of the distance from the goal
need(square <= WITHIN**2, "the mean squared distance of the last iterate from the goal must be at most WITHIN²")
distance = max(2 * GAMMA * L * kept[STEPS - t] for t in range(1, STEPS + 1))
if distance**2 / variance > Fraction(4 * L**2) / SIGMA**2:
    raise SystemExit("not refuted: the divergence of the last iterate is larger than the divergence of one release")
pinsker = distance**2 / (4 * variance)
total_variation = Fraction(isqrt(int(pinsker * 10**20) + 1) + 1, 10**10)
wrong = (1 - total_variation) / 2
if wrong <= 0:
    raise SystemExit("not refuted: the upper bound on the total variation is at least 1")
shown = Context(prec=4, rounding=ROUND_FLOOR).divide(wrong.numerator, wrong.denominator)
print(
    f"refuted: claimed that an iterate within {float(WITHIN):g} of the goal is not private, "
    f"but a guess of one record from this iterate is wrong with a probability of at least {shown}"
)
