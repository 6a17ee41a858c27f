"""Forward Learning with Differential Privacy (DP-ULR), section 3.2, equation (8), and section 3.4, Noise redundancy.

dpulr2024:eq8, dpulr2024:noise-redundancy. Claim: choosing the noise σ by (8) is "to bound the minimum eigenvalue of the
covariance matrix of the estimated gradient" from below. This is "the minimum variance of the output, the estimated
gradient in each step". The bound is C² σ_0² for the sum over the batch, since (8) is σ² K C² σ_0² <= min λ(sum of L_0²
(D v)ᵀ D v).
So DP-ULR "provides privacy protection by ensuring the variance of the estimated gradient in an arbitrary direction no
less than a pre-defined level".

We refute the claim in this meaning: the output is the sum of the estimates as released, each clipped to l2 norm C (line
205 of Algorithm 1). (The claim is true for the estimates before the clip, to leading order in σ.)

Counterexample: the first layer of the paper's MLP on MNIST and its largest batch. Estimates of different examples are
independent. The covariance of a vector of norm at most C has a trace of at most C². So the trace for the sum over n
examples is at most n C². The least eigenvalue is at most n C² divided by the number of parameters, for every σ.

Arithmetic: fractions.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction

# The counterexample.
INPUTS, OUTPUTS = 784, 128
BATCH = 500
C, SIGMA_0 = 1, 4


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(INPUTS >= 1 and OUTPUTS >= 1 and BATCH >= 1, "INPUTS, OUTPUTS and BATCH must be at least 1")
need(
    BATCH <= 500 and INPUTS <= 784 and OUTPUTS <= 128,
    "the paper's layer has at most 784 inputs and 128 outputs, and its batch 500 examples",
)
need(C > 0 and SIGMA_0 >= 4, "C must be positive and sigma_0 at least 4, as in Theorem 2")
parameters = (INPUTS + 1) * OUTPUTS  # weights and biases
claimed = Fraction(C**2 * SIGMA_0**2)
most = Fraction(BATCH * C**2, parameters)
if most >= claimed:
    raise SystemExit("not refuted: the bound from the trace is at least the claimed least eigenvalue")
factor = claimed / most
shown = Context(prec=6, rounding=ROUND_FLOOR).divide(factor.numerator, factor.denominator)
print(f"refuted: claimed a least variance of {claimed}, but it is smaller by a factor of at least {shown}")
