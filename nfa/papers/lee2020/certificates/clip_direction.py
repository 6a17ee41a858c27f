"""Lee & Kifer, Differentially Private Deep Learning with Direct Feedback Alignment, section 2: lee2020:clip-direction.

Claim: clipping gradients before they are averaged "is known to produce bias — the estimated mini-batch gradient no
longer points in the same direction as the true mini-batch gradient".

We read the claim as a claim about every batch in which the clip reaches the gradients. (If the clip shrinks some
gradients more than others, the claim is true except in special cases.)

Counterexample: gradients of two parameters. All gradients have the same norm, above C, so the clip multiplies all of
them by the same factor.

Arithmetic: fractions. The norms are whole numbers.
"""

from fractions import Fraction
from math import isqrt

# The counterexample.
GRADIENTS = [(3, 4), (4, -3), (0, 5)]
C = 1


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


def mean(vectors):
    return [sum(entries) / Fraction(len(vectors)) for entries in zip(*vectors, strict=True)]


clipped = []
for g in GRADIENTS:
    norm = isqrt(sum(v * v for v in g))
    need(norm**2 == sum(v * v for v in g), "every norm must be a whole number, so that all values are fractions")
    need(0 < C < norm, "C must be positive and below the norm of every gradient")
    clipped.append([v * Fraction(C, norm) for v in g])
(a, b), (c, d) = mean(GRADIENTS), mean(clipped)
need((a, b) != (0, 0), "the mean gradient must not be 0")
if a * d != b * c or a * c + b * d <= 0:
    raise SystemExit("not refuted: the two means point in different directions")
cosine_squared = (a * c + b * d) ** 2 / ((a * a + b * b) * (c * c + d * d))
print(f"refuted: claimed that clips turn the mean, but the cosine between the two means is at least {cosine_squared}")
