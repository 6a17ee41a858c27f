"""Ohana et al., Photonic Differential Privacy with Direct Feedback Alignment, section 4, Results: ohana2021:table1-c3.

Claim: "Most of the performance hit can actually be attributed to the aggressive activation clipping, with noise having
a limited effect."

We read the claim as a claim about every σ of Table 1. (By the table, the claim is true for DFA, TDFA and PDFA up to σ =
0.1.)

Counterexample: the row of PDFA in Table 1. We compare three test accuracies in percent: without privacy, with the clips
and σ = 0, and with the clips and σ = 0.2.

Arithmetic: exact fractions.
"""

from fractions import Fraction

# The counterexample.
PLAIN, CLIPPED, NOISY = Fraction("85.85"), Fraction("84.00"), Fraction("80.94")


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(0 <= NOISY <= CLIPPED <= PLAIN <= 100, "the accuracies must satisfy 0 <= NOISY <= CLIPPED <= PLAIN <= 100")
clips, noise = PLAIN - CLIPPED, CLIPPED - NOISY
if noise <= clips:
    raise SystemExit("not refuted: the loss of accuracy from the clips is at least the loss from the noise")
shown = f"{float(clips):g} points, and the noise at least {float(noise):g} points"
print(f"refuted: claimed that the clips cost most, but they cost {shown}")
