"""Forward Learning with Differential Privacy (DP-ULR), Appendix A.5, Application Scope: dpulr2024:A5-dims.

Claim: other methods add noise "to parameters with dimensions significantly higher than logits—often exceeding 100
times", which costs more and varies more. "DP-ULR operates directly on logits".

We read the claim as a claim about convolutions too. (The claim is true for dense layers. For each output, a dense layer
has one parameter per input, and one for the bias.)

Counterexample: the first layer of the paper's ResNet-5 on CIFAR-10 (section 4.3), a convolution with stride 1. The
number of outputs is smallest without padding, so we count the logits of this case.

Arithmetic: whole numbers and fractions.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction

# The counterexample.
CHANNELS, SIDE = 3, 32
KERNELS, KERNEL_SIDE = 8, 3


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(
    CHANNELS >= 1 and KERNELS >= 1 and 1 <= KERNEL_SIDE <= SIDE,
    "CHANNELS and KERNELS must be at least 1, and KERNEL_SIDE in [1, SIDE]",
)
parameters = KERNELS * (CHANNELS * KERNEL_SIDE**2 + 1)
logits = KERNELS * (SIDE - KERNEL_SIDE + 1) ** 2
if logits <= parameters:
    raise SystemExit("not refuted: there are at least as many parameters as logits")
ratio = Fraction(logits, parameters)
shown = Context(prec=4, rounding=ROUND_FLOOR).divide(ratio.numerator, ratio.denominator)
print(f"refuted: claimed more parameters than logits, but there are at least {shown} logits for each parameter")
