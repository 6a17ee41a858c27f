"""Ohana et al., Photonic Differential Privacy with Direct Feedback Alignment, Remark 3.1: ohana2021:rem3.1.

Claim about (17), 2α r τ_B²/(mσ²) + n_l α/(2(α-1)) log[m/(m+1-r)]: "This bound is not tight since it assumes that all
the activations reach their worst cases". "Obtaining a tighter bound would be very challenging since the values of the
covariance matrices depend on the output of the neurons".

Counterexample: at α = 2 a bound from the same constants is far below (17). It covers the worst case: all columns within
the floors and all replacements of a record, in both orders. Write x = (r-1)/m. Let q be the least square of an entry
times a derivative. Write v = a²/a'². A row's logarithm is -log(1 - (v-1)²)/2, and 1/(1+x) <= v <= 1+x. So the logarithm
is at most -log(1 - x²)/2 <= x²/(2(1-x²)). The row's variance in (7) is 2a'² - a² >= (m-1)q + 2q - rq = mq(1-x). The
means differ by at most 4 τ_B² rq/m² in squared norm (Proposition 2). So they add at most 4r τ_B²/(mσ²(1-x)).

Arithmetic: fractions. For (17), we use log(1/(1-x)) >= x.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction

# The counterexample.
M, UNITS = 256, 512
SIGMA, TAU_B = Fraction("0.2"), 1
R = 4


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(M >= 1 and UNITS >= 1, "M and UNITS must be at least 1")
need(0 < SIGMA <= Fraction("0.2"), "sigma must be in (0, 0.2], because Table 1 has no larger sigma")
need(TAU_B > 0, "tau_B must be positive")
need(R > 1, "R must be above 1, so that the two bounds on the activations differ")
x = Fraction(R - 1) / M
need(x < 1, "r must be below m + 1, so that (17) has a value")
mean = 4 * R * TAU_B**2 / (M * SIGMA**2)
printed = mean + UNITS * x  # at most (17)
tighter = mean / (1 - x) + UNITS * x**2 / (2 * (1 - x**2))
if printed <= 2 * tighter:
    raise SystemExit("not refuted: the lower bound on (17) is at most twice the other bound")
times = Context(prec=4, rounding=ROUND_FLOOR).divide(*(printed / tighter).as_integer_ratio())
print(f"refuted: claimed that the worst case makes (17) loose, but even there (17) is at least {times} times too large")
