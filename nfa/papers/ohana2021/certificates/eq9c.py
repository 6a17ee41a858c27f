"""Ohana et al., Photonic Differential Privacy with Direct Feedback Alignment, section 3.1.

ohana2021:eq9c, ohana2021:alg1-require. Claim: for sigmoid, tanh and ReLU it is a reasonable assumption that γ^min <=
|φ'(t)| <= γ^max for all scalars t. Algorithm 1 asks only for "bounded derivatives". The bounds (14) and (17) divide by
γ^min, so it must be positive. At τ_h^min = τ_h^max, (17) has a value only for (m+1) (γ^min)² > (γ^max)².

Counterexample: at the point t below, each function has a smaller derivative than the least γ that (17) allows. This γ
is for the batches of section 4, m = 256, and for γ^max = 1 (tanh, ReLU) or 1/4 (sigmoid). A smaller γ fails too: t =
2/γ works for any γ in (0, 1], since for t >= 0 the derivatives are at most 4 e^{-2t} and e^{-t}, and e^{-u} <= 1/(1 +
u).

Arithmetic: fractions. tanh'(t) = 4/(e^t + e^{-t})² <= 4 e^{-2t} and sigmoid'(t) = 1/(e^{t/2} + e^{-t/2})² <= e^{-t}.
For u >= 0, the first terms of the series of e^u are a lower bound.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction
from math import factorial

# The counterexample.
M = 256
POINT, POINT_RELU = 5, -1
GAMMA_MAX = {"tanh": Fraction("1"), "sigmoid": Fraction("0.25"), "ReLU": Fraction("1")}


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(M >= 256, "M must be at least 256, the batch size of section 4")
need(0 <= POINT <= 100, "POINT must be in [0, 100], because the bounds on the derivatives are for t >= 0")
grown = sum(Fraction(POINT) ** k / factorial(k) for k in range(60))  # at most e^t
derivative = {"tanh": 4 / grown**2, "sigmoid": 1 / grown, "ReLU": Fraction(0) if POINT_RELU < 0 else Fraction(1)}
factors = []
for name, gamma_max in GAMMA_MAX.items():
    need(gamma_max >= (Fraction(1, 4) if name == "sigmoid" else 1), f"gamma_max must bound the derivative of {name}")
    square = gamma_max**2 / (M + 1)  # gamma_min² must be above this
    if derivative[name] ** 2 >= square:
        raise SystemExit(f"not refuted: at this point the derivative of {name} may be at least the least gamma_min")
    if derivative[name]:
        factors.append(square / derivative[name] ** 2)
factor = Context(prec=4, rounding=ROUND_FLOOR).divide(*min(factors).as_integer_ratio())
factor = factor.sqrt(Context(prec=3)).next_minus(Context(prec=3))
print(f"refuted: claimed a gamma_min below all derivatives, but in (17) it is at least {factor} times a derivative")
