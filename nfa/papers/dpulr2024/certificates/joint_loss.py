"""Forward Learning with Differential Privacy (DP-ULR), section 3.4, Efficiency and suitability: dpulr2024:joint-loss.

Claim: if the loss "cannot be expressed as a summation of individual losses, computing individual gradients to limit
example sensitivity becomes challenging for standard backpropagation. In DP-ULR, noise can be injected separately,
enabling independent gradient computation".

We refute the claim in this meaning: for such a loss too, the sum of the clipped estimates changes by at most 2C if an
example is replaced. (We agree that the estimates can be computed in this way.)

Counterexample: the loss (v_1 + ... + v_n)² of the outputs of n examples. As the number of repeats grows and the noise
falls, the estimate for example i tends to the derivative by v_i. For a quadratic loss, this derivative is half the
difference of the losses at v_i + 1 and v_i - 1.

Arithmetic: fractions.
"""

from fractions import Fraction

# The counterexample.
COMMON = [1] * 9
LAST, REPLACED = 11, -29
C = 1


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


def released(outputs):
    """The sum of the clipped derivatives."""
    total = Fraction(0)
    for i in range(len(outputs)):
        up, down = (sum(v + (h if j == i else 0) for j, v in enumerate(outputs)) ** 2 for h in (1, -1))
        total += max(-C, min(C, Fraction(up - down, 2)))
    return total


need(C > 0, "C must be positive")
need(1 <= len(COMMON) <= 100, "COMMON must have from 1 to 100 examples")
moved = abs(released([*COMMON, REPLACED]) - released([*COMMON, LAST]))
if moved <= 2 * C:
    raise SystemExit("not refuted: the sum moves by at most 2 C")
print(f"refuted: claimed that one example moves the sum by at most {2 * C}, but the sum moves by at least {moved}")
