"""Forward Learning with Differential Privacy (DP-ULR), section 4.2, Table 1: dpulr2024:exp-batch.

Claim: "DP-SGD performs better with smaller batch sizes".

We read the claim as a claim about every row of the table. (The claim is true for σ_0 = 0.5 and 1.)

Counterexample: DP-SGD's validation accuracies in percent, as printed in Table 1, without their standard deviations, for
B = 64 and B = 500.

Arithmetic: exact decimals.
"""

from fractions import Fraction

# The counterexample: σ_0 = 2, 4 and 8.
SMALL = [Fraction("78.32"), Fraction("68.73"), Fraction("32.07")]
LARGE = [Fraction("88.00"), Fraction("87.97"), Fraction("88.16")]


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(len(SMALL) == len(LARGE), "SMALL and LARGE must have the same number of accuracies")
need(all(0 <= a <= 100 for a in SMALL + LARGE), "accuracies must be between 0 and 100 %")
ahead = [large - small for small, large in zip(SMALL, LARGE, strict=True)]
if min(ahead) <= 0:
    raise SystemExit("not refuted: for one of these sigma_0, DP-SGD is at least as accurate with the smaller batch")
print(
    "refuted: claimed that DP-SGD is better with smaller batches, "
    f"but in {len(ahead)} of 5 rows batches of 500 are better than those of 64 by at least {float(min(ahead)):g} points"
)
