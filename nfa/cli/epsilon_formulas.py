"""What the docstrings of nfa.privacy have as equations, for a terminal. C(a, l) are binomials."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nfa.privacy.accountant import Guarantee

_WITHOUT_SAMPLING = "ε(α) = α / (2 z²) for Gaussian noise, without sampling"
_GENERAL = (
    "ε'(α) = log(1 + s(2) + s(3) + ... + s(α)) / (α - 1)",
    "s(2) = q² C(α,2) min{4 (e^ε(2) - 1), 2 e^ε(2), e^ε(2) (e^ε(∞) - 1)²}",
    "s(l) = q^l C(α,l) e^((l-1) ε(l)) min{2, (e^ε(∞) - 1)^l}",
    "with ε(α), the curve without sampling (ε(∞) = ∞ for Gaussian noise)",
)
_EXACT = (
    "ε'(α) = log(s(0) + s(1) + ... + s(α)) / (α - 1)",
    "s(k) = C(α,k) (1 - q)^(α-k) q^k e^(k (k-1) / (2 z²))",
)
_PURE = (
    "ε' = log(1 + q (e^ε - 1))",
    "with ε = ε(∞), of one use without sampling; √2 / z for Laplace noise",
)
FORMULAS = {
    "wbk2019:thm27": (
        "ε'(α) = log(1 + s(2) + s(3) + ... + s(α)) / (α - 1)",
        "s(2) = q² C(α,2) min{4 (e^ε(2) - 1), 2 e^ε(2)}",
        "s(l) = q^l C(α,l) min{4 √(B(2⌊l/2⌋) B(2⌈l/2⌉)), 2 e^((l-1) ε(l))}",
        "with " + _WITHOUT_SAMPLING,
        "and B(j) = E[(r - 1)^j], r the ratio of N(1/z, 1) to N(0, 1)",
    ),
    "wbk2019:thm9": _GENERAL,
    "lee2020:lem3": _GENERAL,
    "berthier2019:thm3.2": (
        "ε'(α) = log(1 + s(2) + s(3) + ... + s(α)) / (α - 1)",
        "s(2) = 4 q² C(α,2) (e^ε(2) - 1)",
        "s(l) = 2 q^l C(α,l) e^((l-1) ε(l))",
        "with ε(α), the curve without sampling",
    ),
    "lee2020:fn1": _EXACT,
    "mironov2019:sec3.3": (
        "ε'(α) = log(1 + I) / (α - 1), for integers the sum of lee2020:fn1",
        "I = ∫ φ(x) ((1 + u)^α - 1 - α u) dx, φ the density of N(0, 1),",
        "u = q (e^(x/z - 1/(2 z²)) - 1)",
    ),
    "balle2018:poisson": _PURE,
    "balle2018:without-replacement": _PURE,
    "mironov2019:thm11": (
        "ε'(α) = 2 q² α / z², if q <= 1/5, z >= 4,",
        "α <= z² A / 2 - 2 log z  and",
        "α <= (z² A² / 2 - log 5 - 2 log z) / (A + log(q α) + 1 / (2 z²))",
        "with A = log(1 + 1 / (q (α - 1)))",
    ),
    "zhuwang2019:thm5": (
        "ε'(α) = log(s(1) + s(2) + ... + s(α)) / (α - 1)",
        "s(1) = (1 - q)^(α-1) (α q - q + 1)",
        "s(2) = C(α,2) q² (1 - q)^(α-2) e^ε(2)",
        "s(l) = 3 C(α,l) (1 - q)^(α-l) q^l e^((l-1) ε(l))",
        "with ε(α), the curve without sampling",
    ),
    "lee2020:lem1": ("ε(α) = α / (2 z²)",),
    "berthier2019:prop2.1": (
        "ε(α) = log(a e^((α-1) / λ) + (1 - a) e^(-α / λ)) / (α - 1)",
        "with a = α / (2 α - 1) and λ = z / √2, scale / sensitivity",
    ),
}
CONVERSIONS = {
    "mironov2017": "ε = ε(α) + log(1/δ) / (α - 1)",
    "canonne2020": "ε = ε(α) + log((α - 1) / α) - (log δ + log α) / (α - 1)",
    "pure": "ε = ε(∞), for every δ",
    "bretagnolle1979": "ε = 0 where δ² >= 1 - e^(-ε(α))",
}
UNSAMPLED = ("lee2020:lem1", "berthier2019:prop2.1")  # the bounds that leave the sampling out


def bound_says(g: "Guarantee") -> str:
    """The sentence of the theorem for one step."""
    from nfa.privacy.pure import AMPLIFIED
    from nfa.privacy.theorems import says
    from nfa.privacy.tight import PLD

    if g.conversion == PLD:
        batches = " on Poisson batches" if g.sampling == "poisson" else ""
        return f"the law of its noise{batches}, whose privacy loss dp-accounting composes"
    return AMPLIFIED.get(g.bound) or says(g.bound)
