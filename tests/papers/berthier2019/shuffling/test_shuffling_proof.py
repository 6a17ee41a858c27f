"""Our proof of Conjecture 1. We compare each quantity of the proof with a sum over all orders of the records."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from nfa.papers.berthier2019.shuffling.beliefs import (
    batch_densities,
    beliefs,
    inclusion,
    next_batch,
    non_common_mass,
    non_common_mass_of_batches,
)
from nfa.papers.berthier2019.shuffling.exact import mixture_renyi, worst_pair
from nfa.papers.berthier2019.shuffling.our_bound import corrected_step_rdp
from nfa.papers.berthier2019.shuffling.our_proof import decomposition, exchange, path_end

SIZES = [(n, m) for n in range(2, 6) for m in range(n)]
SHAPES = ("ones", "random", "zeros", "huge", "nearly one record a row")


def table(rng, n, m, shape):
    """m rows of densities in fractions: a column for each of n records, and one for the neighbour's record 0."""
    values = rng.integers(1, 20, (m, n + 1))
    rows = [[Fraction(int(v), int(w)) for v, w in zip(row, row[::-1], strict=True)] for row in values]
    if shape == "ones":
        return [[Fraction(1)] * (n + 1) for _ in rows]
    if shape == "zeros":
        return [[f * int(rng.integers(2)) for f in row] for row in rows]
    if shape == "huge":
        return [[f * Fraction(10) ** int(rng.choice([-12, 0, 12])) for f in row] for row in rows]
    if shape == "nearly one record a row":
        return [[f * (10**9 if k == rng.integers(n) else 1) for k, f in enumerate(row)] for row in rows]
    return rows


def over_all_orders(phi, n):
    """Law of the next record by Bayes' rule over all n! orders, or None if the outputs are impossible."""
    weight = [Fraction(0)] * n
    for order in itertools.permutations(range(n)):
        weight[order[len(phi)]] += math.prod((row[k] for row, k in zip(phi, order, strict=False)), start=Fraction(1))
    total = sum(weight)
    return [w / total for w in weight] if total else None


def worlds(rng, n, m, shape):
    rows = table(rng, n, m, shape)
    return [row[:-1] for row in rows], [[row[-1], *row[1:-1]] for row in rows]


@pytest.mark.verifies("berthier2019:sec4.4.2-belief")
@pytest.mark.parametrize("shape", SHAPES)
def test_beliefs_by_all_orders(shape):
    rng, possible = np.random.default_rng(1), 0
    for n, m in SIZES:
        phi, _ = worlds(rng, n, m, shape)
        expected = over_all_orders(phi, n)
        if expected is None:
            with pytest.raises(ValueError, match="must have a positive probability under some order"):
                beliefs(phi, n)
            continue
        possible += 1
        found = beliefs(phi, n)
        assert found == expected
        assert max(found) <= Fraction(1, n - m)  # the report's bound
        assert found == [(1 - u) / (n - m) for u in inclusion(phi, n)]
        in_floats = beliefs([[float(f) for f in row] for row in phi], n)
        assert in_floats == pytest.approx([float(f) for f in expected], rel=1e-9, abs=1e-15)
    assert possible >= 6


MANY = pytest.param(150, marks=pytest.mark.nightly)


@pytest.mark.verifies("berthier2019:conj1", "ours:conjecture-1")
@pytest.mark.parametrize("times", [3, MANY])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_decomposition_is_exact(shape, times):
    rng, tried = np.random.default_rng(2), 0
    for n, m in SIZES * times:
        phi, other = worlds(rng, n, m, shape)
        p, q = over_all_orders(phi, n), over_all_orders(other, n)
        if p is None or q is None:
            continue
        assert non_common_mass(p, q) <= Fraction(1, n - m)  # also with densities of 0 (remark 1 in our_proof)
        replaced = [row[0] for row in other]
        maps = itertools.permutations(range(1, n), m)
        if not any(all(row[k] for row, k in zip(phi, image, strict=True)) for image in maps):
            with pytest.raises(ValueError, match="make the densities positive"):
                decomposition(phi, replaced, n)
            continue
        tried += 1
        parts = decomposition(phi, replaced, n)
        O = parts.O or [Fraction(0)] * n
        assert parts.c == Fraction(1, n - m)
        assert (parts.O is None) == (m == n - 1)
        for law in [parts.A, parts.B] + [O] * (m < n - 1):
            assert min(law) >= 0
            assert sum(law) == 1
        assert O[0] == 0
        assert [(1 - parts.c) * o + parts.c * a for o, a in zip(O, parts.A, strict=True)] == p
        assert [(1 - parts.c) * o + parts.c * b for o, b in zip(O, parts.B, strict=True)] == q
    assert tried >= 4 * times


@pytest.mark.verifies("berthier2019:conj1")
def test_the_mass_that_is_not_common_is_attained():
    """The mass that the laws under D and D' do not share can attain c = 1 / (n - m).

    In this example, the outputs show that record 0 is still unused under D, but already used under D'.
    """
    phi = [[Fraction(1, 10**12), Fraction(1), Fraction(1), Fraction(1)]]
    p, q = beliefs(phi), beliefs([[Fraction(10**12), *phi[0][1:]]])
    assert Fraction(1, 3) - Fraction(1, 10**9) < non_common_mass(p, q) <= Fraction(1, 3)
    # record 0 is a different record under D and D', so its mass is not common
    assert non_common_mass(beliefs([], 3), beliefs([], 3)) == Fraction(1, 3)


@pytest.mark.verifies("berthier2019:conj1")
@pytest.mark.parametrize("zeros", [False, True])
def test_adaptive_mechanisms_for_every_history(zeros):
    """Adaptive mechanisms satisfy the decomposition for every history, for n = 4 and two possible outputs per step.

    The law of each output depends on all earlier outputs. The decomposition gives the same law of the next output as
    the joint law of all outputs.
    """
    rng = np.random.default_rng(3)
    n, kernels = 4, {}

    def kernel(history, record):  # probability of output 1; record "0'" replaces record 0
        if (history, record) not in kernels:
            kernels[history, record] = Fraction(int(rng.integers(0 if zeros else 1, 8)), 7 if zeros else 8)
        return kernels[history, record]

    def joint(names, outputs):
        total = Fraction(0)
        for order in itertools.permutations(names, len(outputs)):
            chance = Fraction(1)
            for j, record in enumerate(order):
                one = kernel(outputs[:j], record)
                chance *= one if outputs[j] else 1 - one
            total += chance
        return total / math.perm(len(names), len(outputs))

    checked = 0
    D, neighbour = ["0", "1", "2", "3"], ["0'", "1", "2", "3"]
    for m in range(n):
        for history in itertools.product((0, 1), repeat=m):
            before = [joint(names, history) for names in (D, neighbour)]
            if not all(before):
                continue
            rows = [
                [1 - kernel(history[:j], k) if not history[j] else kernel(history[:j], k) for k in (*D, "0'")]
                for j in range(m)
            ]
            try:
                parts = decomposition([row[:-1] for row in rows], [row[-1] for row in rows], n)
            except ValueError:
                assert zeros
                continue
            laws = []
            for names, own in ((D, parts.A), (neighbour, parts.B)):
                weights = [(1 - parts.c) * o + parts.c * a for o, a in zip(parts.O or [0] * n, own, strict=True)]
                laws.append(sum(w * kernel(history, k) for w, k in zip(weights, names, strict=True)))
            for names, law, was in zip((D, neighbour), laws, before, strict=True):
                assert law == joint(names, (*history, 1)) / was
            assert abs(laws[0] - laws[1]) <= parts.c
            checked += 1
    assert checked >= (10 if zeros else 15)


@pytest.mark.verifies("berthier2019:conj1")
def test_deleting_the_record_leaves_the_common_part():
    rng = np.random.default_rng(4)
    for n, m in [(n, m) for n, m in SIZES if m <= n - 2] * 3:
        phi, other = worlds(rng, n, m, "random")
        parts = decomposition(phi, [row[0] for row in other], n)
        assert parts.O == [0, *over_all_orders([row[1:] for row in phi], n - 1)]


# ---------------------------------------------------------------- Lemma 2


def injections(rows, records):
    for image in itertools.permutations(records, len(rows)):
        yield dict(zip(rows, image, strict=True))


@pytest.mark.verifies("berthier2019:conj1", "ours:conjecture-1")
@pytest.mark.parametrize(("rows", "records", "j"), [(3, 4, 0), (3, 3, 1), (2, 4, 1), (1, 3, 0)])
def test_the_exchange_lemma_pair_by_pair(rows, records, j):
    rng = np.random.default_rng(5)
    phi = [[Fraction(int(v)) for v in rng.integers(0, 4, records)] for _ in range(rows)]
    J, R = list(range(rows)), list(range(records))

    def weight(M):
        return math.prod((phi[row][k] for row, k in M.items()), start=Fraction(1))

    ends, inside, without, totals = Counter(), Counter(), Counter(), [Fraction(0), Fraction(0)]
    shorter = list(injections([row for row in J if row != j], R))
    for M in injections(J, R):
        for N in shorter:
            w, end = weight(M) * weight(N), path_end(M, N, j)
            assert end in set(M.values()) - set(N.values())
            ends[end] += w
            for k in set(M.values()) ^ set(N.values()):
                if k == end:
                    with pytest.raises(ValueError, match="but only one map has this row"):
                        exchange(M, N, k)
                    continue
                M2, N2 = exchange(M, N, k)
                assert (set(M2), set(N2)) == (set(M), set(N))
                assert (len(set(M2.values())), len(set(N2.values()))) == (len(M), len(N))
                assert Counter([*M.items(), *N.items()]) == Counter([*M2.items(), *N2.items()])
                assert weight(M2) * weight(N2) == w
                assert (k in M2.values(), k in N2.values()) == (k in N.values(), k in M.values())
                assert exchange(M2, N2, k) == (M, N)
                assert path_end(M2, N2, j) == end
    for counts, maps, total in ((inside, injections(J, R), 0), (without, shorter, 1)):
        for M in maps:
            totals[total] += weight(M)
            for k in M.values():
                counts[k] += weight(M)
    for k in R:  # Lemma 2: b_k - a_k is the probability that the path from j ends at k, so it is at least 0
        assert inside[k] / totals[0] - without[k] / totals[1] == ends[k] / (totals[0] * totals[1]) >= 0
    assert sum(ends.values()) == totals[0] * totals[1]


def test_exchange_needs_a_record_of_one_map():
    with pytest.raises(ValueError, match="exactly one of the two maps must cover"):
        exchange({0: "a", 1: "b"}, {1: "a"}, "a")


# ---------------------------------------------------------------- Corollaries


def densities(outputs, gradients):
    return [[math.exp(-((output - g) ** 2) / 2) for g in gradients] for output in outputs]


@pytest.mark.verifies("berthier2019:conj1", "berthier2019:sec4.4.2-belief", "ours:conjecture-1")
@pytest.mark.parametrize("times", [100, pytest.param(5_000, marks=pytest.mark.nightly)])
def test_no_gaussian_step_exceeds_the_bound(times):
    """No Gaussian step exceeds the bound, for random histories and random or extreme gradients in [-L, L].

    We compute the divergences by the trapezoidal rule on a grid with spacing 0.1.
    """
    rng, L, closest = np.random.default_rng(6), 0.5, 0.0
    theta = np.arange(-14, 14, 0.1)
    for _ in range(times):
        n = int(rng.integers(3, 6))
        m = int(rng.integers(0, n))
        g = rng.choice([-L, L], n) if rng.random() < 0.7 else rng.uniform(-L, L, n)
        other = np.array([-g[0] if rng.random() < 0.7 else rng.uniform(-L, L), *g[1:]])
        outputs = rng.normal(0, 3, m)
        p, q = (
            np.array(beliefs(densities(outputs, gradients), n)) @ np.exp(-((theta - gradients[:, None]) ** 2) / 2)
            for gradients in (g, other)
        )
        for alpha in (2, 4, 8):
            D = math.log(0.1 * (p / q) ** alpha @ q / math.sqrt(2 * math.pi)) / (alpha - 1)
            pair = worst_pair([alpha], c=1 / (n - m), x=4 * L**2)[0]
            assert D <= pair * (1 + 1e-9) + 1e-12
            assert pair <= corrected_step_rdp([alpha], c=1 / (n - m), L=L, sigma=1.0)[0] * (1 + 1e-12)
            closest = max(closest, D / pair)
    assert closest > 0.99  # the search comes close to the bound


@pytest.mark.verifies("berthier2019:conj1")
def test_the_worst_centres_by_quadrature():
    for n, alpha, x in ((3, 2, 1.0), (5, 8, 1.0), (10, 8, 1.0), (2, 3, 0.3)):
        pair = mixture_renyi(([1 - 1 / n, 1 / n], [-1.0, 1.0]), ([1.0], [-1.0]), sigma=2 / math.sqrt(x), alpha=alpha)
        assert worst_pair([alpha], c=1 / n, x=x)[0] == pytest.approx(pair, rel=1e-9)


@pytest.mark.verifies("berthier2019:conj1")
@pytest.mark.parametrize("x", [0.1, 0.5, 1.0, 1.2564, 2.0])
def test_the_second_moment_over_the_ball(x):
    """The integral of (N_a - N_b)^2 / N_r is at most e^x - 1, if the centres are in a ball of radius sigma x^(1/2) / 2.

    We test 20,000 triples of centres in the plane. The largest integral is within 1 % of the bound.
    """
    rng = np.random.default_rng(7)
    angle, radius = rng.uniform(0, 2 * np.pi, (2, 3, 20_000))
    radius = np.sqrt(x) / 2 * np.minimum(radius / np.pi, 1)  # half of the centres are on the boundary
    a, b, r = np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)
    moment = np.exp(((a - r) ** 2).sum(0)) + np.exp(((b - r) ** 2).sum(0)) - 2 * np.exp(((a - r) * (b - r)).sum(0))
    assert moment.max() <= math.expm1(x) * (1 + 1e-12)
    assert moment.max() > 0.99 * math.expm1(x)


# ---------------------------------------------------------------- where the proof fails: batches


@pytest.mark.verifies("berthier2019:conj1", "ours:conjecture-1")
def test_batches_of_two_break_the_decomposition():
    """The decomposition fails for batches of two records.

    For n = 6, the laws of the second batch under D and D' do not share 5/6 of their mass. The decomposition needs a
    mass of at most 2/4, the probability that the batch contains a given record.
    """
    n, b, rare = 6, 2, Fraction(1, 10**12)
    first = {frozenset({0, 1}): Fraction(1), frozenset({2, 3}): rare}
    p, q = next_batch(first, n=n, b=b), next_batch({frozenset({2, 3}): rare}, n=n, b=b)
    mass = non_common_mass_of_batches(p, q)
    assert Fraction(5, 6) - Fraction(1, 10**9) < mass <= Fraction(5, 6)
    assert mass > Fraction(b, n - b)
    tv = sum(max(p[S] - q[S], 0) for S in p)  # attained by outputs that reveal the second batch
    assert tv > Fraction(b, n - b)

    direct = Counter()  # the law p again, from all orders of the records
    for order in itertools.permutations(range(n), 2 * b):
        direct[frozenset(order[b:])] += first.get(frozenset(order[:b]), 0)
    assert {S: w / sum(direct.values()) for S, w in direct.items() if w} == {S: w for S, w in p.items() if w}


@pytest.mark.verifies("berthier2019:conj1")
@pytest.mark.parametrize(
    ("gradients", "replaced", "output", "sigma", "mass"),
    [
        ((-1, -1, -0.5, -1, -0.5, -1), 1, -0.25, 0.1, 0.83333),
        ((1, -0.4, -1, -1, -0.4, -1), -1, -0.1, 0.3, 0.80790),
        ((-1, 1, 1, 1, 0.2, 0.2), 1, -0.35, 0.5, 0.63391),
    ],
)
def test_so_do_gaussian_sums_of_clipped_gradients(gradients, replaced, output, sigma, mass):
    """The decomposition also fails for Gaussian sums of clipped gradients with L = 1.

    A search at sigma = L and at sigma = 2 L found no mass above 1/2.
    """
    laws = [
        next_batch(batch_densities(world, output, sigma=sigma, b=2), n=6, b=2)
        for world in (gradients, (replaced, *gradients[1:]))
    ]
    found = non_common_mass_of_batches(*laws)
    assert found == pytest.approx(mass, abs=1e-5)
    assert found > 0.5
    by_hand = 1.0  # directly from the densities
    for S in itertools.combinations(range(1, 6), 2):
        least = 1.0
        for world in (gradients, (replaced, *gradients[1:])):
            density = {T: math.exp(-((output - sum(world[k] for k in T)) ** 2) / (2 * sigma**2)) for T in PAIRS}
            free = sum(w for T, w in density.items() if not set(T) & set(S))
            least = min(least, free / sum(density.values()) / 6)
        by_hand -= least
    assert found == pytest.approx(by_hand, rel=1e-9)
    centres = [[sum(world[k] for k in S) for S in laws[0]] for world in (gradients, (replaced, *gradients[1:]))]
    for alpha in (2, 4):  # the proof fails, but the divergence is below the bound with weight 1/2
        p, q = ((list(law.values()), own) for law, own in zip(laws, centres, strict=True))
        pair = worst_pair([alpha], c=0.5, x=4 / sigma**2)[0]
        assert max(mixture_renyi(*both, sigma=sigma, alpha=alpha) for both in ((p, q), (q, p))) < 0.9 * pair


PAIRS = list(itertools.combinations(range(6), 2))


def test_twenty_records_are_enumerated():
    """`beliefs` accepts 20 records. If all have the same density of the output, each is equally likely to be next."""
    assert beliefs([[1] * 20]) == [Fraction(1, 20)] * 20


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: beliefs([[1, 2], [1]]), "each row of phi must have one number"),
        (lambda: beliefs([]), "If phi has no row, give n"),
        (lambda: beliefs([[1, -1]]), "finite numbers >= 0"),
        (lambda: beliefs([[1.0, math.nan]]), "finite numbers >= 0"),
        (lambda: beliefs([[1] * 21]), "1 to 20 records"),
        (lambda: batch_densities([0.5, 1], 0.0, sigma=0.0, b=1), "sigma must be positive"),
        (lambda: inclusion([[1], [1]]), "no more outputs than records"),
        (lambda: beliefs([[1, 1], [1, 1]]), "a next record needs fewer outputs than records"),
        (lambda: decomposition([[1, 1]], []), "replaced must have a number for each of the 1 outputs"),
        (lambda: decomposition([[1, 1], [1, 1]], [1, 1]), "fewer outputs than records"),
        (lambda: decomposition([[1, 0]], [1]), "make the densities positive first"),
        (lambda: next_batch({frozenset({0, 1}): 1}, n=3, b=2), "at least twice the batch size b"),
        (lambda: mixture_renyi(([1.0], [0.0]), ([0.5], [0.0]), sigma=1.0, alpha=2), "add up to 1"),
        (lambda: worst_pair([2], c=0.5, x=0.0), "x must be positive"),
    ],
)
def test_bad_input_is_told_in_a_sentence(call, told):
    with pytest.raises(ValueError, match=told):
        call()
