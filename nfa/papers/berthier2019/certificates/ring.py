"""Berthier, Differential Privacy for Machine Learning (2019), section 5.4 with Figure 13: berthier2019:ring.

Claim: n >= 3 nodes on a ring, no two of which collude, compute the sum of their data points x_i in R^d. Each node
"should learn no more than this about the data of the other nodes". This goal "can be achieved by addition and
subtraction of arbitrarily large noise".

We refute the claim in this meaning: the noise is Gaussian, N(0, M²), with some finite M. (With integers modulo m and
one uniform mask, the protocol is exact.)

Counterexample: three nodes with one number each. The first node adds noise to its number and sends the sum to the
second node. The second node adds its number and sends the new sum to the third node. At the end, the first node
subtracts the noise. The second node receives x_1 + N(0, M²). The second node also knows its own number and the final
sum. Both numbers are the same for the two data sets below. Yet this node can distinguish the data sets. The total
variation between its views is at least P[view >= 1/2 | x_1 = 1] - P[view >= 1/2 | x_1 = 0], which is P[|N(0, 1)| <=
1/(2M)].

Arithmetic: fractions. For the normal density between -u and u, exp(-t²/2) >= 1 - u²/2 and sqrt(2 pi) < 2.50663.
"""

from decimal import ROUND_FLOOR, Context
from fractions import Fraction

# The counterexample.
M = 1000
DATA = (0, 5, 1)
OTHER = (1, 5, 0)


def need(rule, sentence):
    if not rule:
        raise SystemExit(f"not a counterexample: {sentence}")


need(M >= 1, "M, the standard deviation of the noise, must be at least 1")
need(len(DATA) == len(OTHER) >= 3, "both data sets must have the same number of nodes, at least three")
need(DATA[1] == OTHER[1], "the second node must have the same number in both data sets")
need(sum(DATA) == sum(OTHER), "the sum must be the same in both data sets")
apart = abs(OTHER[0] - DATA[0])
need(apart <= M, "M must be at least the difference of the two numbers of the first node")
u = Fraction(apart, 2 * M)
leak = 2 * u * (1 - u**2 / 2) / Fraction("2.50663")
if leak <= 0:
    raise SystemExit("not refuted: the second node's two views have the same law")
shown = Context(prec=6, rounding=ROUND_FLOOR).divide(leak.numerator, leak.denominator)
print(f"refuted: claimed that a node learns only the sum, but the laws of its two views differ by at least {shown}")
