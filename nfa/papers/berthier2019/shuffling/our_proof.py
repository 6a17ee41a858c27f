r"""A proof of Conjecture 1 for batch size one. It is ours, and **nobody else has reviewed it**.

The functions below compute each object of the proof in exact fractions, so that you can try to refute it.

**Hypotheses.** (H1) n is fixed. D and D' differ in the value of one record, record 0 (replace-one). (H2) Every pass
draws a fresh, uniform permutation s of the records, independent of the past given the data. (H3) The batch size is one.
Step j of a pass emits theta_j with the density kappa_j(. ; h, x_{s_j}), where h is all previous output of the
algorithm. The step may depend adaptively on h, but on the permutation only through the current record. (H4) There is no
hidden state: later steps use only functions of the output. (H5) The densities are positive, as with Gaussian noise;
otherwise see remark 1. (H6) A pass has at most n steps. For Gaussian steps also (H7): gradients are clipped to L, the
noise on the iterate is N(0, gamma^2 sigma^2 I), and x = 4 L^2 / sigma^2.

Fix a step t, and write m = t - 1 and c = 1 / (n - m). Fix a history h: the m outputs of this pass, and all outputs of
earlier passes. Let phi_j(k) be the density of the j-th output of the pass if its step used record k. For k != 0,
phi_j(k) is the same under D and D'. Only phi_j(0) changes, to phi'_j(0).

**Lemma 1.** p(s_t = k | h) = (1 - u_k) / (n - m), where u_k = P(k in {s_1 .. s_m} | h).
*Proof.* The likelihood of h depends only on s_1 .. s_m. Given h and the set of used records, s_t is uniform on the n -
m other records. QED (`nfa.papers.berthier2019.shuffling.beliefs.beliefs`)

**Lemma 2 (exchange).** Let J be a finite set of rows, R a finite set of at least as many records, phi_i(k) >= 0. Weigh
an injective map M of J into R by w(M) = prod_i phi_i(M(i)). Let b_k be the probability that k is in the image of M,
and a_k the same for maps of J without the row j. If both normalisers are positive, b_k >= a_k for all k, and
sum_k (b_k - a_k) = 1.
*Proof.* The sum is |J| - (|J| - 1). For the sign, sum over pairs (M, M'), M on J and M' on J without j, of weight
w(M) w(M'). Consider the bipartite multigraph of their edges. In it, each row except j has degree 2, with one edge of
each kind. Row j has degree 1, with an M-edge. Each record has degree at most 2, with at most one edge of each kind. So
the components are double edges, alternating cycles, one path that starts at row j, and paths with records at both ends.
The path from j ends at a record, because the other rows have degree 2. It enters every record by an M-edge, so its end
is covered only by M (`path_end`). A path with two record ends has only rows with both edges inside, so it has an even
number of alternating edges. Therefore one end is covered only by M, and the other only by M'. Exchange M and M' on this
path (`exchange`). Both maps stay injective on the same rows. The multiset of edges does not change, so w(M) w(M') and
the components do not change. A second exchange undoes the first. The exchange flips the sign of 1[k in M] - 1[k in M']
at both ends, so those contributions cancel. In all other places the difference is 0. What is left is b_k - a_k = P(the
path from j ends at k) >= 0. QED

**Proposition (decomposition).** Write N_k for kappa_t(. ; h, x_k) and N'_0 for kappa_t(. ; h, x'_0). There are
probability vectors pi, pi' on the records other than 0, and a law O that is the same for D and D', such that

    p = (1 - c) O + c A,  A = (1 - u_0)  N_0  + u_0  sum_k pi_k  N_k,
    q = (1 - c) O + c B,  B = (1 - u'_0) N'_0 + u'_0 sum_k pi'_k N_k.

*Proof.* Let b_k and a_k^(j) be as in Lemma 2 for the records other than 0 (this is possible, because m <= n - 1).
Distinguish whether record 0 was used, and at which step j. Let Q_j = P(used at j | used). Then u_k = (1 - u_0) b_k +
u_0 sum_j Q_j a_k^(j) = b_k - u_0 pi_k, where pi_k = sum_j Q_j (b_k - a_k^(j)) is a probability vector by Lemma 2.
Insert this into Lemma 1: p = [(1 - u_0) N_0 + u_0 sum_k pi_k N_k] / (n - m) + sum_k (1 - b_k) N_k / (n - m). Also
sum_{k != 0} (1 - b_k) = n - 1 - m. So O = sum_k (1 - b_k) N_k / (n - 1 - m). If m = n - 1, then c = 1 and O is absent.
The b_k do not depend on record 0, so O is common. QED (`decomposition`)

**Corollary 1.** Take a jointly convex divergence (e^{(a-1) D_a} for a > 1, or hockey stick). Its value for p from q is
at most the largest value, over centres o, r, s among the N's, for (1 - c) N_o + c N_r from (1 - c) N_o + c N_s.
*Proof.* Write both sides as mixtures over (o, r, s) with product weights, and use joint convexity. QED
The bound has no term for the belief. The bound holds for each history of released outputs, so the bounds of the steps
compose.

**Corollary 2 (Gaussian step, whole order a >= 2).** Under (H7), for every c in (0, 1], D_a(p||q) <= B(c, a, x)
<= 2 a c^2 (e^x - 1) + K_a(x) c^3 (`nfa.papers.berthier2019.shuffling.our_bound.corrected_step_rdp`,
`remainder_constant`). As 2 (e^x - 1) <= 4 x up to x = 1.256431, it is at most 16 a L^2 c^2 / sigma^2 + K_a(1) c^3 for
sigma >= 2 L. *Proof.* For the pair P, Q of Corollary 1, E_Q[(P/Q)^a] = 1 + sum_{j >= 2} C(a, j) c^j int (N_r - N_s)^j
/ Q^{j-1}, because the term j = 1 is 0. As v -> v^{1-j} is convex, Q^{1-j} <= (1 - c) N_o^{1-j} + c N_s^{1-j}. All
centres lie in a ball of radius gamma L, so their distances are at most 2 gamma L. For j = 2: (N_r - N_s)^2 <= 2 (N_r -
N_v)^2 + 2 (N_s - N_v)^2 gives at most 4 (e^x - 1), and <= N_r^2 + N_s^2 gives 2 e^x. For j >= 3:
|N_r - N_s|^j <= N_r^j + N_s^j gives at most 2 e^{j(j-1) x/2}. Then use log(1 + y) <= y and c^j <= c^3. QED

**Conjecture 1 as printed.** Step t + 1 given t outputs has c = 1 / (n - t). With k = n - t + 1 >= 2, 1 / (k-1)^2 <=
1 / k^2 + 6 / k^3 and 1 / (k-1)^3 <= 8 / k^3. So eps_t(a) <= 16 a L^2 / (k^2 sigma^2) + (24 a + 8 K_a(1)) / k^3 for
sigma >= 2 L. This is the conjecture with C = 16, for each whole a >= 2. For a real order, use the next whole order
(C = 32 is then enough). Conjecture 2 follows by adaptive composition over all outputs of all passes, since the bound
holds for every history. Releasing only the last iterate is post-processing.

**Corollary 3 (a whole run).** Let P_j(a) be the sum of B(1 / (n - t + 1), a, x) over t = 1 .. j, or 2 a L^2 / sigma^2
if this is less. Take a run of w passes of k steps and r < k steps of one more pass. Its Renyi divergence is at most w
P_k(a) + P_r(a) at each whole a >= 2. *Proof.* Given all outputs of earlier passes, the divergence of j steps of a pass
is at most the sum, by Corollary 2 and adaptive composition. Given the order of the pass too, it is at most the
divergence of one Gaussian release of sensitivity 2 L, since record 0 is used at most once. The law of the order is the
same under D and D', and joint convexity over the orders gives 2 a L^2 / sigma^2. Compose the passes. QED P_r may be
more than r / k of P_k, because the cap acts on P_k (`nfa.papers.berthier2019.shuffling.our_bound.corrected_epsilon`).

**Remarks.** 1. Zeros: if a history is possible under both D and D', make the phi positive and take the limit along a
subsequence. The limit exists because O, A and B are in compact simplices. 2. If record 0 is deleted instead, q = O and
p = (1 - c) O + c A for m <= n - 2. 3. **The proof fails for batches of more than one.** Lemma 2 needs one record for
each output, and the part that is not common can exceed b / (n - m)
(`nfa.papers.berthier2019.shuffling.beliefs.non_common_mass_of_batches`). 4. The permutation must be uniform, and
momentum must be a function of released outputs. 5. K_a is not small. At n = 1000 and x = 1, the terms from j = 3 on
exceed the leading term from a = 14 on, so the conjecture is false uniformly in a. 6. The sum over steps is loose. For
all of n = 3 records and a = 2, the exact bounds of the steps add up to 1.532, but the divergence of the pass is .453.
At tau = 1 the sum of the c^2 tends to pi^2 / 6, which is no amplification. 7. In our searches, the worst centres are
o = s at one end and r at the other (`nfa.papers.berthier2019.shuffling.exact.worst_pair`). We have no proof that these
centres are the worst, so only B is proved.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from nfa.papers.berthier2019.shuffling.beliefs import Number, inclusion, table, used_sets

Row = TypeVar("Row", bound=Hashable)
Record = TypeVar("Record", bound=Hashable)


@dataclass(frozen=True)
class Decomposition:
    """Weights of the n records in the laws of the proposition. Weight 0 is for N_0 in A and N'_0 in B, and 0 in O.

    Parameters
    ----------
    c : number, 1 / (n - m)
    O, A, B : lists of n weights; O is None if c = 1
    """

    c: Number
    O: list[Number] | None
    A: list[Number]
    B: list[Number]


def decomposition(phi: Sequence[Sequence[Number]], replaced: Sequence[Number], n: int | None = None) -> Decomposition:
    """The common part of the next output under D and D', and the two parts of weight c = 1 / (n - m). Unreviewed.

    Source: [berthier2019:conj1] [ours:conjecture-1]

    Parameters
    ----------
    phi : m rows of n densities >= 0, under D; column 0 is the record that is replaced
    replaced : m densities, column 0 under D'
    n : int, number of records; needed only for m = 0

    Returns
    -------
    decomposition : Decomposition; exact if all numbers are fractions or ints

    Raises
    ------
    ValueError : if phi or replaced is not such a table, or if the other n - 1 records alone cannot explain the outputs
        (remark 1)

    Examples
    --------
    There are three records and one output. Under D, the density of the output is twice as large for record 0 as for the
    other records. Under D', record 0 cannot give this output.

    >>> parts = decomposition([[2, 1, 1]], [0])
    >>> [str(weight) for weight in parts.A], [str(weight) for weight in parts.B], [str(w) for w in parts.O]
    (['1/2', '1/4', '1/4'], ['1', '0', '0'], ['0', '1/2', '1/2'])
    """
    if len(replaced) != len(phi):
        raise ValueError(f"replaced must have a number for each of the {len(phi)} outputs, got {len(replaced)}")
    both, columns = table([[*row, own] for row, own in zip(phi, replaced, strict=True)], None if n is None else n + 1)
    m, n = len(both), columns - 1
    if m >= n:
        raise ValueError(f"there must be fewer outputs than records, got {m} outputs and {n} records")
    others = [row[1:-1] for row in both]
    if not sum(used_sets(others).values()):
        raise ValueError(
            "the outputs have probability 0 under the other records alone: make the densities positive first"
        )
    b = inclusion(others, n - 1)
    O = None if m == n - 1 else [Fraction(0)] + [(1 - b_k) / (n - 1 - m) for b_k in b]
    A, B = (_own_part(others, [row[column] for row in both], b) for column in (0, -1))
    return Decomposition(Fraction(1, n - m), O, A, B)


def _own_part(others: list[list[Number]], own: list[Number], b: list[Number]) -> list[Number]:
    """The weights of A: 1 - u_0 for record 0, and u_0 pi_k = sum_j P(0 used at j) (b_k - a_k^(j)) for record k."""
    absent = Fraction(1) * sum(used_sets(others).values())
    without = [others[:j] + others[j + 1 :] for j in range(len(others))]
    at = [density * sum(used_sets(rows).values()) for density, rows in zip(own, without, strict=True)]
    total = absent + sum(at)
    part = [absent / total] + [Fraction(0)] * len(b)
    for weight, rows in zip(at, without, strict=True):
        if weight:  # otherwise no history used record 0 at this step
            a = inclusion(rows, len(b))
            for k, (b_k, a_k) in enumerate(zip(b, a, strict=True)):
                part[k + 1] += weight / total * (b_k - a_k)
    return part


def path_end(M: Mapping[Row, Record], without: Mapping[Row, Record], j: Row) -> Record:
    """The record at which the path from row j ends, in the edges of two injective maps. The second map has no row j.

    Source: [berthier2019:conj1]

    Parameters
    ----------
    M : injective map of rows to records
    without : injective map of the same rows without j
    j : row of M

    Returns
    -------
    record : the record that M covers and the other map does not

    Examples
    --------
    M maps row 0 to record a. The other map has row 1 at a, and M maps row 1 to b.

    >>> path_end({0: "a", 1: "b"}, {1: "a"}, 0)
    'b'
    """
    back = {record: row for row, record in without.items()}
    record = M[j]
    while record in back:
        record = M[back[record]]
    return record


def exchange(
    M: Mapping[Row, Record], without: Mapping[Row, Record], record: Record
) -> tuple[dict[Row, Record], dict[Row, Record]]:
    """Exchange the edges of two injective maps on a path. The path starts at a record that only one map covers.

    Source: [berthier2019:conj1] [ours:conjecture-1]

    Parameters
    ----------
    M, without : injective maps; the second map lacks one row of the first map
    record : a record that exactly one map covers, and that is not the end of the path from the missing row

    Returns
    -------
    M, without : the two maps after the exchange: on the same rows, injective, with the same edges in total. The record
        and the other end of the path are each covered by the other map than before. A second exchange undoes the first

    Raises
    ------
    ValueError : if both maps or no map covers the record, or if the record is the end of the path from the missing row

    Examples
    --------
    >>> exchange({0: "a", 1: "b"}, {1: "c"}, "b")
    ({0: 'a', 1: 'c'}, {1: 'b'})
    """
    covers = [{k: row for row, k in side.items()} for side in (M, without)]
    if (record in covers[0]) == (record in covers[1]):
        raise ValueError(f"exactly one of the two maps must cover the record {record!r}")
    cover, other = (covers[0], without) if record in covers[0] else (covers[1], M)
    rows = []
    while record in cover:
        rows.append(cover[record])
        if rows[-1] not in other:
            raise ValueError(
                f"both maps must have the row {rows[-1]!r}, at which the path from the record ends, but only one map"
                " has this row"
            )
        record = other[rows[-1]]
    return (
        {row: without[row] if row in rows else k for row, k in M.items()},
        {row: M[row] if row in rows else k for row, k in without.items()},
    )
