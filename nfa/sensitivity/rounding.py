r"""The effect of rounding on a sensitivity: a theorem on float64 sums over examples, which every secure run uses.

In real numbers, the norm of a record's term in a rule's sum is proved to be at most c. A secure run computes in
float64. So a term can be a little larger, and the computed sum is not the sum of the terms. The theorem bounds both
effects.

**Assumptions.** Let u = 2^-53 and :math:`\gamma_k = k u / (1 - k u)`. Numbers are rounded to nearest. Products may be
fused with sums. (1) *Other records change nothing*: the float64 factors of a term are a function of its record, the
weights and the record's random numbers. `nfa.kernels.rows` and the row-wise clips have this property. (2) Clips bound a
term's norm. They clip either the whole term by its computed norm, or the factors dz and h separately. Every derivative
is at most gamma_max as computed, and `check_norm` checks every matrix between two clips. (3) A step takes at most M
records, in parts of at most p, and a layer has at most P positions. (4) All settings of the rule that are not 0 lie
between 2^-200 and 2^200, and `scale` omits values that are too small for full precision.

**Terms.** Record i adds products of float64 numbers to the sum. These products are :math:`a_{ij} h_{ik}` for a layer's
W and :math:`a_{ij}` for its b. In a convolution, there are such products at several positions. Some rules compute each
record's term of a convolution separately. Then the computed term times its weight replaces these products. Let t_i be
the exact sum of the products, and |t|_i the sum of their absolute values.

**Theorem.** Let D = `roundings` (net) and K = `additions` (p, P, M). Let k = 2 under an adjacency that replaces a
record or its label. Let k = 1 under an adjacency that adds, removes or zeroes out a record. Then

(a) :math:`\|t_i\| \le \| |t|_i \| \le (1 + \gamma_{2D}) c`;

(b) the computed sums on two neighbours differ in l2 by at most

.. math:: S = (1 + \gamma_{2D}) (k + 2 M \gamma_K) \, c

(c) they differ by at most :math:`S + g \sqrt d` after each of their d coordinates is rounded to a multiple of g.

**Proof of (a).** A computed sum of n squares, or of n products of one sign, is the exact sum times a factor between
(1 - u)^n and (1 - u)^-n, in any order. Each product, quotient or root adds one such factor, between 1 - u and (1 -
u)^-1. An underflow has an absolute error below 2^-1022. By (4), this error is less than u times the bound, for any
number of entries in memory. So we count the underflow as one factor.

*A whole term that is clipped to C.* In a dense layer, the squared norm of the term is a product of two sums of squares.
In a convolution, it is the sum of the squares of the computed term. The squared norms are summed over layers and
biases. These sums have fewer factors than the network has weights, units and inputs. The root, the quotient, the
division by m, and the product with dz or with the term are four more factors. So the computed weight times the computed
norm exceeds the bound C / m by at most the factor (1 - u)^-D.

*Factors that are clipped.* A clip to tau leaves a norm of at most tau (1 - u)^-(n + 6) for n entries. For a product
with B, :math:`|fl(B e) - B e| \le \gamma_n |B| |e|` entry by entry. For a matrix of rank r, :math:`\| |B| \| \le
\|B\|_F \le \sqrt r \|B\|`. So the norm of the product is at most :math:`(1 + \gamma_{n r}) \|B\| \|e\|`, and n r is at
most the number of entries of B. A derivative multiplies by at most gamma_max, with one factor. Pooling adds at most as
many numbers as a layer has entries. The bounds of `nfa.network.pooling` hold for absolute values. By the inequality of
Cauchy and Schwarz, the bounds of `Conv2d.gains` also hold for absolute values, so they bound |t|_i. For the error of a
softmax, p_j = E_j / sum E up to n + 1 factors, with floats E_j >= 0. The norm of this error exceeds the square root of
2 by at most 2 n u. The entries of different layers, and the weights and biases of one layer, are different coordinates.
Their squared norms add up, each with its own factors, as in the rule's bound.

In total, there are fewer than D factors. The computed norm of B is below the exact norm by at most 1 + :math:`\gamma_D`
(`check_norm`). Also :math:`(1 + \gamma_D)^2 \le 1 + \gamma_{2D}`. In a dense layer, and for separately computed terms,
:math:`\| |t|_i \| = \|t_i\|`. In a convolution with clipped factors, the bound above already holds for |t|_i. QED.

**Proof of (b).** Each product of t_i is rounded once. It is an operand, directly or within a partial sum, of at most p
(P + 2) additions within its part. These are the additions of a matrix product, in any order, and of its blocks and
pieces. Each part is added to the sum of the parts before it. So a product is in the operands of at most K - 1
additions. The computed sum is therefore the exact sum of the t_i up to an error. In each entry, this error is at most
the sum over i of :math:`\gamma_K |t|_i` (Higham, Accuracy and Stability of Numerical Algorithms, lemma 3.1 and section
3.1). With at most M records, the norm of the error is at most
:math:`M \gamma_K (1 + \gamma_{2D}) c`, on each data set. The exact sums of two neighbours differ by k terms t_i. QED.

**Proof of (c).** Rounding changes a coordinate by at most g / 2, so it changes each of the two vectors by at most g
sqrt(d) / 2. QED.

M must be neither the size of a drawn batch nor n, because these numbers are private. We use
`nfa.sampling.most_records`.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from nfa import require, rounded
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.network import Net
from nfa.sensitivity import BOUNDS_APART

U = Fraction(1, 2**53)  # the unit roundoff of float64
RANGE = 2.0**200  # upper limit of a setting and of its inverse


def gamma(k: int) -> Fraction:
    """k u / (1 - k u), a bound on the relative error of k roundings. Raises ValueError unless k u < 1/2.

    Examples
    --------
    >>> float(gamma(1000))
    1.1102230246252799e-13
    """
    if not 2 * k * U < 1:
        raise ValueError(f"nfa bounds the error of fewer than 2^52 roundings in a row, got {k} roundings")
    return k * U / (1 - k * U)


def roundings(net: Net) -> int:
    """D of the theorem: an upper bound on the number of rounding factors between a record and its term.

    Source: [ours:rounding]

    The factors come from sums over a layer's weights, units, inputs or feedback. We count each of these numbers sixteen
    times.

    Examples
    --------
    >>> from nfa.network import mlp, ops
    >>> roundings(mlp([2, 3, 1], ops.tanh, rng=np.random.default_rng(0)))
    560
    """
    outputs = math.prod(net.shape_z[net.L])
    units = (math.prod(net.shape_z[l]) + math.prod(net.shape_h[l]) for l in range(1, net.L + 1))
    inputs = math.prod(net.shape_h[0])
    return 64 + 16 * (net.n_parameters + inputs + (1 + outputs) * sum(units))


def additions(part: int, positions: int, records: int) -> int:
    """K of the theorem: the largest number of roundings that a product undergoes in the sum of a batch.

    Source: [ours:rounding]

    Parameters
    ----------
    part : int >= 1, p, number of examples of a part
    positions : int >= 1, P, number of positions of a layer
    records : int >= 1, M, largest number of records of a batch

    Examples
    --------
    >>> additions(128, 1, 2**20)
    8592
    """
    require.whole(1, part=part, positions=positions, records=records)
    return part * (positions + 2) + -(-records // part) + 16


def positions(net: Net) -> int:
    """The largest number of positions of a layer; 1 without convolutions."""
    return max(math.prod(shape[1:]) for shape in net.shape_z[1:])


def outward(value: Fraction) -> float:
    """The smallest float that is at least a given number >= 0.

    Examples
    --------
    >>> outward(Fraction(1, 3)) > Fraction(1, 3), outward(Fraction(1, 4))
    (True, 0.25)
    """
    nearest = float(value)
    return nearest if Fraction(nearest) >= value else math.nextafter(nearest, math.inf)


def root(d: int) -> Fraction:
    """A number that is at least sqrt(d), and at most (1 + 2^-40) sqrt(d)."""
    return Fraction(1 + math.isqrt(d << 80), 2**40)


def check_norm(B: np.ndarray, net: Net) -> None:
    r"""Raise NoGuarantee unless the computed spectral norm s of B is proved to have :math:`\|B\| \le (1 + \gamma_D) s`.

    Source: [ours:rounding]

    Notes
    -----
    Proof. Let A be B or its transpose, with r rows and q >= r columns, and let G be the computed A A^T. The error of G
    has norm at most :math:`\gamma_q \|A\|_F^2 \le \gamma_q r \|B\|^2`. Let :math:`H = (1 + \tau) s^2 I - G`, computed
    with at most four roundings per entry. If Cholesky's algorithm succeeds for H, no eigenvalue of H is
    below :math:`-\gamma_{r+1} / (1 - \gamma_{r+1})` times its trace (Rump, Verification of positive definiteness, BIT
    46, 2006). The trace is at most :math:`2 r s^2`. So :math:`\|B\|^2 \le (1 + \tau) s^2 + (3 \gamma_q r + 4
    \gamma_{r+1} r + 4 u) s^2`. Take tau = :math:`\gamma_D / 2`. Then the right side is below :math:`(1 + \gamma_D)^2
    s^2`, because D is more than sixteen times the number of entries r q. No value overflows or becomes too small for
    full precision, because s is between 2^-200 and 2^200.
    """
    A = np.asarray(B, np.float64)
    A = A if len(A) <= A.shape[1] else A.T
    s, tau = float(np.linalg.norm(A, 2)), float(gamma(roundings(net))) / 2
    if not 1 / RANGE <= s <= RANGE:
        raise NoGuarantee(
            "ours:rounding", f"a feedback matrix must have a spectral norm between 2^-200 and 2^200, got {s}"
        )
    try:
        np.linalg.cholesky((1 + tau) * s * s * np.eye(len(A)) - A @ A.T)
    except np.linalg.LinAlgError:
        raise NoGuarantee(
            "ours:rounding", "nfa can prove no bound on the spectral norm of the feedback matrix"
        ) from None


@dataclass(frozen=True, kw_only=True)
class Rounding:
    """The effect of rounding on the sensitivity of a rule, by the theorem of this module.

    Parameters
    ----------
    term : float >= 0, the c of the theorem: the rule's bound on the norm of a record's term, in real numbers; 0 for a
        rule from outside nfa, for which we include only the rounding to the grid
    terms : Fraction t. In float64, the norm of a term is at most (1 + t) c
    sums : Fraction. For two neighbours, the distances of the computed sums from the exact sums add up to at most this
        number times c
    d : int >= 1, number of coordinates that a step releases
    """

    term: float
    terms: Fraction
    sums: Fraction
    d: int

    def of_sums(self, sensitivity: float, adjacency: str) -> float:
        """The largest distance between the computed sums of two neighbours, before the sums are rounded to a grid.

        Source: [ours:rounding]

        Parameters
        ----------
        sensitivity : float > 0, the sensitivity in real numbers under the adjacency
        adjacency : a name of `nfa.mechanism.ADJACENCIES`
        """
        apart = max(Fraction(sensitivity), BOUNDS_APART[adjacency] * Fraction(self.term))
        return outward((1 + self.terms) * apart + self.sums * Fraction(self.term))

    def unit(self, mechanism: Mechanism) -> float:
        """The unit of the grid of a mechanism's noise, see `nfa.rounded.unit`."""
        moved = self.of_sums(mechanism.sensitivity, mechanism.adjacency)
        return rounded.unit(moved, mechanism.noise_std, self.d)

    def on_grid(self, mechanism: Mechanism, unit: float) -> Mechanism:
        """The mechanism with a sensitivity that includes the rounding of terms and sums and the rounding to a grid.

        Parameters
        ----------
        mechanism : the mechanism of the rule in real numbers
        unit : float > 0, the unit g of the grid
        """
        moved = self.of_sums(mechanism.sensitivity, mechanism.adjacency)
        return replace(mechanism, sensitivity=outward(Fraction(moved) + Fraction(unit) * root(self.d)))


def rounding(net: Net, *, term: float, part: int, records: int) -> Rounding:
    """The effect of rounding for a network. The parameters have the letters of the theorem.

    Source: [ours:rounding]

    Parameters
    ----------
    net : Net
    term : float > 0, c, the bound on a record's term
    part : int >= 1, p, number of examples of a part
    records : int >= 1, M, largest number of records of a batch
    """
    require.positive(term=term)
    terms = gamma(2 * roundings(net))
    sums = 2 * records * gamma(additions(part, positions(net), records)) * (1 + terms)
    return Rounding(term=term, terms=terms, sums=sums, d=net.n_parameters)


def check_settings(values: Iterable[tuple[str, Any]]) -> None:
    """Raise ValueError if a setting of a secure run's rule is outside the range of the theorem.

    Parameters
    ----------
    values : pairs (name, value). The function checks numbers and sequences of numbers, except for 0 and infinity
    """
    for name, value in values:
        for one in value if isinstance(value, list | tuple) else [value]:
            number = isinstance(one, int | float) and not isinstance(one, bool)
            if number and one != 0 and math.isfinite(one) and not 1 / RANGE <= abs(one) <= RANGE:
                raise ValueError(
                    f"the absolute value of a setting of a secure run must be 0 or between {1 / RANGE:.3g} and "
                    f"{RANGE:.3g}, got {name} = {one}"
                )
