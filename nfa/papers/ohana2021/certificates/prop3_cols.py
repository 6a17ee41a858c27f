"""Ohana et al., Photonic Differential Privacy with Direct Feedback Alignment, below Proposition 3 in section 3.3.

ohana2021:prop3-cols and ohana2021:prop3-layers. Claim about one update, T = 1: the update of a whole weight matrix with
n_{l-1} columns is (α, n_{l-1} ε_PDFA)-RDP. The update of a network of L layers is (α, L n_{l-1} ε_PDFA)-RDP. Here, by
(17), ε_PDFA = 2α/(mσ²) r τ_B² + n_l α/(2(α-1)) log[m/(m+1-r)], r = (γ^max τ_h^max/(γ^min τ_h^min))². Hypotheses: h is
offset and clipped as in (9), derivatives are between γ^min and γ^max, and |B e| <= τ_B. All columns have the same noise
N(0, σ² I) on B e.

Counterexample: the first layer has one unit with derivative 1 and reads the inputs x below, offset and clipped. D' has
a different last record. (1/m) Σ (B e_i + g_i) h_i is normal with covariance (σ²/m²) Σ h_i h_iᵀ. For the claim about the
network, take LAYERS layers with at most as many columns as the first layer. Publishing the updates of the other layers
can only reveal more.

Arithmetic: fractions for (7), at α = 3/2: -log(det(3/2 Σ' - 1/2 Σ)/sqrt(det Σ'³/det Σ)). We omit the part of the means,
which is not negative, and use -log x >= 1 - x. τ = τ_h^min = τ_h^max, so r = 1 and the logarithm in (17) is 0.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction

# The counterexample.
TAU_SQUARED, TAU_B, SIGMA = 2, 1, 10  # τ_h² = 2, so that nu = c = 1 for two inputs
X_D = [(0, 0), (0, -2), (0, 0)]
X_OTHER = [(0, 0), (0, -2), (0, -2)]
LAYERS = 3


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


def clipped(x):
    """clip_c(offset_nu(x)) with nu = c = 1."""
    return tuple(max(-1, min(1, v + 1)) for v in x)


def covariance(records):
    """Σ h hᵀ without the factor σ²/m², as three entries."""
    return [sum(h[i] * h[j] for h in records) for i, j in ((0, 0), (0, 1), (1, 1))]


need(
    TAU_SQUARED == 2 and all(len(x) == 2 for x in X_D + X_OTHER),
    "each record must have two inputs, and tau_h² must be 2",
)
need(TAU_B > 0 and SIGMA > 0 and 1 <= LAYERS, "tau_B and sigma must be positive, and LAYERS at least 1")
need(
    len(X_D) == len(X_OTHER) and sum(a != b for a, b in zip(X_D, X_OTHER, strict=True)) <= 1,
    "D and D' must have one size and differ in at most one record",
)
D, other = ([clipped(x) for x in X] for X in (X_D, X_OTHER))
need(
    all(abs(v) == 1 for h in D + other for v in h),
    "every clipped entry must be 1 or -1, because the two bounds are equal",
)
m, alpha = len(D), Fraction(3, 2)
claimed = LAYERS * 2 * (2 * alpha * TAU_B**2 / (m * Fraction(SIGMA) ** 2))

one, two = covariance(D), covariance(other)
mixed = [alpha * b + (1 - alpha) * a for a, b in zip(one, two, strict=True)]
det_one, det_two, det = (s[0] * s[2] - s[1] ** 2 for s in (one, two, mixed))
need(det_one > 0 and det_two > 0 and mixed[0] > 0 and det > 0, "at alpha = 3/2 the divergence must be finite")
need(det_one == det_two, "the two determinants must be equal, so that no root is left")
true = 1 - det / det_one
if true <= claimed:
    raise SystemExit("not refuted: the divergence of one matrix is at most the claimed bound for all matrices")
shown = Context(prec=4, rounding=ROUND_FLOOR).divide(*Fraction(true).as_integer_ratio())
print(f"refuted: claimed D_1.5 <= {float(claimed):g} for {LAYERS} layers, but for one matrix it is at least {shown}")
