"""Ohana et al., Photonic Differential Privacy with Direct Feedback Alignment, section 3.1 and section 4.

ohana2021:eq9a and ohana2021:exp-clip. Claim: with c = τ_h^max/sqrt(n) and nu = τ_h^min/sqrt(n) (equation 9) "these
choices ensure that τ_h^min <= ‖clip_c(offset_nu(h))‖ <= τ_h^max". Here h are the activations of n units, offset_nu(v) =
(v_k + nu)_k and clip_c(v) = (sign(v_k) min(c, |v_k|))_k.

Counterexample: tanh units, as in section 4. Their outputs can be any number in (-1, 1).

Arithmetic: fractions. sqrt(n) is a whole number.
"""

from fractions import Fraction
from math import isqrt

# The counterexample.
TAU_MIN, TAU_MAX = Fraction("0.2"), 1
H = [Fraction("-0.05")] * 16


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


n = len(H)
need(n >= 1 and isqrt(n) ** 2 == n, "the number of units must be a square, so that all numbers are fractions")
need(0 < TAU_MIN <= TAU_MAX, "tau_min and tau_max must satisfy 0 < tau_min <= tau_max")
need(all(-1 < h < 1 for h in H), "every entry of H, an output of a tanh unit, must be in (-1, 1)")
c, nu = Fraction(TAU_MAX) / isqrt(n), TAU_MIN / isqrt(n)
shifted = [h + nu for h in H]
clipped = [max(-c, min(c, v)) for v in shifted]
square = sum(v * v for v in clipped)
short = TAU_MIN**2 - square
if short <= 0:
    raise SystemExit("not refuted: the norm is at least tau_min")
print(
    f"refuted: claimed a norm of {float(TAU_MIN):g} or more, "
    f"but its square {float(square):g} is too small by at least {float(short):g}"
)
