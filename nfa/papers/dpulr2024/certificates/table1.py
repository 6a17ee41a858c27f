"""Forward Learning with Differential Privacy (DP-ULR), section 4.2, Table 1: dpulr2024:table1.

Claim: "DP-ULR outperforms DP-SGD with the large batch, underperforms with the small batch".

We read the claim as a claim about every row of the table. (The claim is true for σ_0 = 0.5 and 1. Theorem 2 does not
cover these two values.)

Counterexample: two rows of Table 1, validation accuracies in percent as printed, without their standard deviations.

Arithmetic: exact decimals.
"""

from fractions import Fraction

# The counterexample: σ_0 = 8, the last row for B = 500 and the last row for B = 64.
ULR_500, SGD_500 = Fraction("84.53"), Fraction("88.16")
ULR_64, SGD_64 = Fraction("58.65"), Fraction("32.07")


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(all(0 <= a <= 100 for a in (ULR_500, SGD_500, ULR_64, SGD_64)), "accuracies must be between 0 and 100 %")
behind, ahead = SGD_500 - ULR_500, ULR_64 - SGD_64
if behind <= 0:
    raise SystemExit("not refuted: DP-ULR is at least as accurate as DP-SGD in the row of the large batch")
if ahead <= 0:
    raise SystemExit("not refuted: DP-ULR is at most as accurate as DP-SGD in the row of the small batch")
print(
    "refuted: claimed that DP-ULR is better with the large batch and worse with the small batch, but "
    f"it is at least {float(behind):g} points worse with the large and {float(ahead):g} better with the small batch"
)
