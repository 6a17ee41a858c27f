"""Forward Learning with Differential Privacy (DP-ULR), section 3.2, below equation (4): dpulr2024:eq4-mean.

Claim: "the expectation of our likelihood ratio gradient proxy equals the expectation of gradient with noise added,
i.e., E_z(g) = E_z(∇L)". Here g = (1/σ²) (D v)ᵀ z L, and L is the loss at v + z, z ~ N(0, σ²).

We read the claim as a claim that is also about losses with jumps, for example from modules that are not differentiable.
(The claim is true if the loss is locally Lipschitz in the noise.)

Counterexample: v is the parameter, at 0, so D v = 1. The loss is BELOW for v + z < 0 and ABOVE otherwise. Its gradient
is 0 except for z = 0, which has probability 0, so E_z(∇L) = 0. E(z; z > 0) = σ/sqrt(2π) = -E(z; z < 0), so the mean of
the proxy is (ABOVE - BELOW)/(σ sqrt(2π)).

Arithmetic: fractions, and sqrt(2π) < 2.50663.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction

# The counterexample.
BELOW, ABOVE = 1, 0
SIGMA = Fraction("0.5")


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(min(BELOW, ABOVE) >= 0, "the losses BELOW and ABOVE must be at least 0")
need(SIGMA > 0, "sigma must be positive")
half = SIGMA / Fraction("2.50663")  # at most E(z; z > 0)
mean = abs(ABOVE * half - BELOW * half) / SIGMA**2
if mean <= 0:
    raise SystemExit("not refuted: the loss has no jump, so the mean of the proxy is 0, like the gradient")
shown = Context(prec=4, rounding=ROUND_FLOOR).divide(mean.numerator, mean.denominator)
print(f"refuted: claimed that the proxy has mean 0, like the gradient, but the size of its mean is at least {shown}")
