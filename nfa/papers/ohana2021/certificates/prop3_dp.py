"""Ohana et al., Photonic Differential Privacy with Direct Feedback Alignment, below Proposition 3 in section 3.3.

ohana2021:prop3-dp, ohana2021:claim-strong. Claim: the training is (L T n_{l-1} ε_PDFA + log(1/δ)/(α-1), δ)-private for
all δ in (0, 1). By (17), ε_PDFA = 2α/(mσ²) r τ_B² + n_l α/(2(α-1)) log[m/(m+1-r)], r = (γ^max
τ_h^max/(γ^min τ_h^min))². With σ <= 0.2 these are "strong privacy constraints" (section 4). Hypotheses: h is offset and
clipped as in (9), derivatives are between γ^min and γ^max, |B e| <= τ_B, and the noise on B e is N(0, σ² I).

Counterexample: T = 1, L = 1, one unit with derivative 1, two records of three inputs at their bounds. D' has a
different second record. The update (1/m) Σ (B e_i + g_i) h_i is in the span of the h_i. NORMAL is orthogonal to the
span of D, so NORMAL · update is 0 with probability 1 under D. Under D' it is a normal variable with a variance above 0,
so it is 0 with probability 0. For this event, privacy requires 1 <= e^ε · 0 + δ for every ε.

Arithmetic: whole numbers and fractions. For an upper bound on log(1/δ), we multiply the number of binary digits of 1/δ
by 0.7, since log 2 < 0.7.
"""

from fractions import Fraction

# The counterexample.
DELTA, ALPHA, SIGMA, TAU_B = Fraction(1, 100_000), 2, 100, 1
H_D = [(1, 1, 1), (1, 1, -1)]
H_OTHER = [(1, 1, 1), (1, -1, 1)]
NORMAL = (1, -1, 0)


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


def along(h):
    return sum(a * b for a, b in zip(NORMAL, h, strict=True))


need(
    0 < DELTA < 1 and ALPHA > 1 and SIGMA > 0 and TAU_B > 0,
    "delta in (0, 1), alpha > 1, sigma > 0 and tau_B > 0 are required",
)
need(len(H_D) == len(H_OTHER), "the batches of D and D' must have the same size")
need(
    sum(a != b for a, b in zip(H_D, H_OTHER, strict=True)) <= 1,
    "the batches of D and D' must differ in at most one record",
)
need(
    all(abs(v) == 1 for h in H_D + H_OTHER for v in h), "every entry must be 1 or -1, because the two bounds are equal"
)
m = len(H_D)  # r = 1, so the logarithm in (17) is log(m/m) = 0
halvings = (1 / DELTA).numerator.bit_length()
claimed = len(NORMAL) * Fraction(2 * ALPHA * TAU_B**2, m * SIGMA**2) + Fraction(7, 10) * halvings / (ALPHA - 1)

need(all(along(h) == 0 for h in H_D), "NORMAL must be orthogonal to the records of D")
variance = Fraction(SIGMA**2, m**2) * sum(along(h) ** 2 for h in H_OTHER)
probability, other = 1, 0 if variance > 0 else 1  # probabilities of NORMAL · update = 0, under D and D'
least = probability if other == 0 else 0  # the δ that every finite ε needs
if least <= DELTA:
    raise SystemExit("not refuted: the event has probability 1 under D' too")
shown = f"{float(DELTA):g} at an epsilon of {float(claimed):.4g} or less"
print(f"refuted: claimed delta = {shown}, but delta is at least {least}")
