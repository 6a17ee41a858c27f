"""Beliefs about the next record of a shuffled pass, given the outputs so far.

phi[j][k] is the density of output j, given the earlier outputs, if its step used record k. The functions compute
exactly if the arguments are fractions, and with rounding if they are floats. Records and rows are numbered from 0.
"""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb, exp, inf, isfinite
from typing import Any

Number = Any  # Fraction, int (treated as a fraction) or float
LARGEST = 20  # largest number of records, which have 2^20 subsets


def inclusion(phi: Sequence[Sequence[Number]], n: int | None = None) -> list[Number]:
    r"""The probability u_k, given the outputs, that record k was among the records used so far, for each k.

    .. math:: u_k = \frac{\sum_{M \ni k} \prod_j \phi_j(M(j))}{\sum_M \prod_j \phi_j(M(j))}

    The sums are over the injective maps M of outputs to records, because all orders are equally likely a priori.

    Source: [berthier2019:sec4.4.2-belief]

    Parameters
    ----------
    phi : m rows of n numbers >= 0
    n : int, number of records; needed only for m = 0

    Returns
    -------
    u : list of n numbers; they add up to m

    Raises
    ------
    ValueError : if phi is not such a table, if phi has more rows than records, or if no order explains the outputs

    Examples
    --------
    The density of the only output is twice as large under record 0 as under each other record.

    >>> inclusion([[2, 1, 1]])
    [Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)]
    """
    phi, n = table(phi, n)
    used = used_sets(phi)
    total = sum(used.values())
    if not total:
        raise ValueError("the outputs must have a positive probability under some order of the records")
    return [sum((w for S, w in used.items() if S >> k & 1), Fraction(0)) / total for k in range(n)]


def beliefs(phi: Sequence[Sequence[Number]], n: int | None = None) -> list[Number]:
    r"""The probability that each record is used next, given the outputs. This probability is at most 1 / (n - m).

    .. math:: p(s_t = k \mid \theta_{[1:t-1]}) = \frac{1 - u_k}{n - m}, \qquad m = t - 1

    Source: [berthier2019:sec4.4.2-belief] [berthier2019:conj1]

    Parameters
    ----------
    phi, n : as in `inclusion`, with at most n - 1 rows

    Returns
    -------
    p : list of n numbers; they add up to 1

    Raises
    ------
    ValueError : as in `inclusion`, or if no record is left

    Notes
    -----
    The outputs depend only on the records used. Given the set of used records, the next record is uniform on the
    others. The report's bound 1 / (n - t + 1) follows with u_k >= 0. We enumerate 2^n sets of used records instead of
    n! orders.

    Examples
    --------
    >>> beliefs([[2, 1, 1]])
    [Fraction(1, 4), Fraction(3, 8), Fraction(3, 8)]
    """
    phi, n = table(phi, n)
    if len(phi) == n:
        raise ValueError(f"a next record needs fewer outputs than records, but all {n} records are used")
    return [(1 - u) / (n - len(phi)) for u in inclusion(phi, n)]


def non_common_mass(p: Sequence[Number], q: Sequence[Number]) -> Number:
    r"""The share of the weight that two mixtures over records do not have in common, if record 0 is replaced.

    .. math:: 1 - \sum_{k \ge 1} \min(p_k, q_k)

    Source: [berthier2019:conj1]

    Parameters
    ----------
    p, q : weights of the n records under D and D'; the two weights of record 0 belong to different laws

    Returns
    -------
    c : number, the smallest c for which p = (1 - c) O + c A and q = (1 - c) O + c B with the same O

    Examples
    --------
    >>> non_common_mass([0.25, 0.25, 0.5], [0.5, 0.25, 0.25])
    0.5
    """
    return 1 - sum(min(a, b) for a, b in zip(p[1:], q[1:], strict=True))


def batch_densities(gradients: Sequence[float], output: float, *, sigma: float, b: int) -> dict[frozenset[int], float]:
    r"""The density of an output for each batch: the output is the sum of b records' gradients plus Gaussian noise.

    .. math:: \phi(S) \propto \exp\Big( -\frac{(\theta - \sum_{k \in S} g_k)^2}{2 \sigma^2} \Big)

    Source: [berthier2019:conj1]

    Parameters
    ----------
    gradients : n numbers, one-dimensional gradients clipped to L, in [-L, L]
    output : float
    sigma : float > 0, std of the noise
    b : int, batch size

    Returns
    -------
    phi : dict from sets of b records to densities, scaled so that the largest is 1

    Raises
    ------
    ValueError : if sigma is not positive, or if a number is not finite

    Examples
    --------
    >>> phi = batch_densities([1.0, -1.0, 1.0], 0.0, sigma=1.0, b=2)
    >>> {tuple(S): round(f, 6) for S, f in phi.items()}
    {(0, 1): 1.0, (0, 2): 0.135335, (1, 2): 1.0}
    """
    if not (0 < sigma < inf and all(map(isfinite, (output, *gradients)))):
        raise ValueError(
            f"sigma must be positive, and output and gradients must be finite, got {sigma}, {output} and {gradients}"
        )
    misses = {
        frozenset(S): (output - sum(gradients[k] for k in S)) ** 2 / (2 * sigma**2)
        for S in combinations(range(len(gradients)), b)
    }
    return {S: exp(min(misses.values()) - miss) for S, miss in misses.items()}


def next_batch(phi: Mapping[frozenset[int], Number], *, n: int, b: int) -> dict[frozenset[int], Number]:
    """The law of the second batch of a shuffled pass with batches of b records, given the first output.

    Source: [berthier2019:conj1]

    Parameters
    ----------
    phi : the density of the first output for each possible set of b records, not all 0
    n, b : ints, number of records and batch size, 2 b <= n

    Returns
    -------
    p : the probability of each of the C(n, b) sets of b records

    Examples
    --------
    If the first batch is known to be {0, 1}, the second batch is {2, 3}.

    >>> {tuple(S): str(w) for S, w in next_batch({frozenset({0, 1}): 1}, n=4, b=2).items() if w}
    {(2, 3): '1'}
    """
    if not 1 <= b <= n - b:
        raise ValueError(f"the number n of records must be at least twice the batch size b, got n={n} and b={b}")
    exact = {S: Fraction(w) if isinstance(w, int) else w for S, w in phi.items()}
    total = sum(exact.values())
    after = comb(n - b, b)
    batches = [frozenset(S) for S in combinations(range(n), b)]
    return {T: sum((w for S, w in exact.items() if not S & T), Fraction(0)) / total / after for T in batches}


def non_common_mass_of_batches(p: Mapping[frozenset[int], Number], q: Mapping[frozenset[int], Number]) -> Number:
    r"""The share of the weight that two mixtures over batches do not have in common, if record 0 is replaced.

    Source: [berthier2019:conj1]

    Parameters
    ----------
    p, q : from `next_batch`, under D and D'

    Returns
    -------
    c : number

    Notes
    -----
    For batches of one record, c is at most 1 / (n - m), by the proposition of
    `nfa.papers.berthier2019.shuffling.our_proof`. The proof does not cover larger batches, for which **c can exceed
    b / (n - m)**. For example, take n = 6 and b = 2. Take an output that is only possible for {0, 1} under D, and only
    for {2, 3} under D'. Then c is 5/6, while b / (n - b) is 1/2. If the second output identifies the second batch, the
    total variation of the second output is 5/6. For sums of clipped gradients with Gaussian noise, c exceeds b / (n -
    m) too, at least up to sigma = L / 2. But a small search over such sums found no Renyi divergence above the bound at
    the weight b / (n - b). The search covered n = 4 and 6, batches of two, sigma from L / 10 to 2 L, and the orders 2
    and 4.

    Examples
    --------
    >>> rare = Fraction(1, 10**9)
    >>> p = next_batch({frozenset({0, 1}): 1, frozenset({2, 3}): rare}, n=6, b=2)
    >>> q = next_batch({frozenset({2, 3}): rare}, n=6, b=2)
    >>> round(float(non_common_mass_of_batches(p, q)), 6)
    0.833333
    """
    return 1 - sum(min(p[S], q[S]) for S in p if 0 not in S)


def used_sets(phi: Sequence[Sequence[Number]]) -> dict[int, Number]:
    """The weight of each set of used records: the sum over the injective maps of outputs onto this set.

    Each set is a bit mask. Without rows, the result is {0: 1}.

    Source: [berthier2019:sec4.4.2-belief]

    Examples
    --------
    Two outputs used the records 0 and 1 in either order: 2 * 3 + 5 * 7.

    >>> used_sets([[2, 5], [7, 3]])
    {3: 41}
    """
    used: dict[int, Number] = {0: 1}
    for row in phi:
        larger: dict[int, Number] = {}
        for S, w in used.items():
            for k, f in enumerate(row):
                if f and not S >> k & 1:
                    larger[S | 1 << k] = larger.get(S | 1 << k, 0) + w * f
        used = larger
    return used


def table(phi: Iterable[Iterable[Number]], n: int | None) -> tuple[list[list[Number]], int]:
    """The checked rows, with integers as fractions, and n. Each row is divided by its largest entry."""
    rows = [[Fraction(f) if isinstance(f, int) else f for f in row] for row in phi]
    n = len(rows[0]) if rows else n
    if n is None or any(len(row) != n for row in rows):
        raise ValueError("each row of phi must have one number for each of the n records. If phi has no row, give n")
    if not max(1, len(rows)) <= n <= LARGEST:
        raise ValueError(f"there must be 1 to {LARGEST} records, and no more outputs than records, got n={n}")
    if not all(0 <= f < float("inf") for row in rows for f in row):
        raise ValueError("phi must hold densities: finite numbers >= 0")
    return [[f / (max(row) or 1) for f in row] for row in rows], n
