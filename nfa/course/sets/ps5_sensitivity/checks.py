"""The checks of problem set 5, one a graded cell.

Sensitivities are judged by pairs of histograms, bounds by neighbours that attain the largest distance, and a pair by
how far it really moves a release that is computed here once more, number by number.
"""

import math
import statistics
from collections import Counter
from itertools import combinations_with_replacement, islice, product

import numpy as np

from nfa.course.checking import (
    array,
    call,
    close,
    fair,
    misfit,
    mismatch,
    number,
    pair,
    passes,
    same_number,
    seeded,
    unless_lost,
)

C, TAU_E, TAU_B, TAU_H, SIGMA, TAU_LABEL = 1.0, 0.1, 0.8, 1.0, 0.5, 1.0  # as in the notebook
NEAR = 1e-3  # of the claimed number: so much farther refutes it, so near attains it
WASTE = 1.25
MOST = 20  # records of a pair
BOTH = ("replace-one", "add-remove")


# --- oracles: data sets as histograms


def apart(D, other, relation):
    """Whether two data sets are neighbours, by the l1 distance of their histograms."""
    D, other = Counter(D), Counter(other)
    missing, extra = (D - other).total(), (other - D).total()
    return missing == extra == 1 if relation == "replace-one" else missing + extra == 1


def all_neighbours(D, domain, relation):
    """The neighbours of D, by comparing it with every multiset of a size near its own."""
    sizes = range(max(0, len(D) - 1), len(D) + 2)
    every = (other for n in sizes for other in combinations_with_replacement(domain, n))
    return [list(other) for other in every if apart(D, other, relation)]


def farthest(f, domain, sizes, relation):
    """The sensitivity, over all pairs of histograms."""
    domain = sorted(domain)
    every = [D for n in sizes for D in combinations_with_replacement(domain, n)]
    counts = np.array([[D.count(record) for record in domain] for D in every])
    values = np.array([np.ravel(f(list(D))) for D in every], dtype=float)
    changes = counts[:, None] - counts
    size = np.abs(changes).sum(axis=2)
    near = size == 1 if relation == "add-remove" else (size == 2) & (changes.sum(axis=2) == 0)
    return float(np.linalg.norm(values[:, None] - values, axis=2)[near].max(initial=0.0))


# --- 1. the definition


def same_neighbours(neighbours, D, domain, relation, asked=None, least=0):
    """Hold the student's neighbours of D against all there are; order, repeats and D itself do not matter.

    Leniently, of those with so many records at least, and where another relation is asked for.
    """
    name = f'the neighbours of D = {D} with the domain {domain} under "{relation}"'
    found = told_neighbours(neighbours, D, domain, asked or relation, name)
    got = {tuple(other) for other in found} - {tuple(sorted(map(float, D)))}
    want = {tuple(sorted(map(float, other))) for other in all_neighbours(D, domain, relation)}
    if least > 3 and not any(len(other) < least for other in found):
        raise mismatch(name, f"none with fewer than {least} records", "some")
    got, want = ({other for other in every if len(other) >= least} for every in (got, want))
    for other in sorted(want - got):
        raise mismatch(name, f"no {[round(r) for r in other]}", "it among them")
    for other in sorted(got - want):
        raise mismatch(name, f"{[float(f'{r:.6g}') for r in other]} among them", "neighbours only")


def told_neighbours(neighbours, D, domain, relation, name):
    """The student's neighbours of D, each a sorted list of floats."""

    def listed(*arguments):
        every = neighbours(*arguments)
        return None if every is None else [sorted(map(float, other)) for other in islice(every, 10_000)]

    listed.__name__ = "neighbours"
    found = call(listed, D, domain, relation)
    if not isinstance(found, list):
        raise misfit(name, found, "data sets")
    return found


def neighbours_replace(neighbours):
    """Another record for one of D's."""
    for D in ([3], [1, 4], [4, 1, 1], []):
        same_neighbours(neighbours, D, [1, 3, 4, 6], "replace-one")


def neighbours_add_remove(neighbours):
    """One record more or less; the empty data set has neighbours and is one.

    Where "replace-one" has lost its point, with the two relations exchanged, in one half of the work or in both, or
    those of one record more alone.
    """

    def check(asked="add-remove", more=False):
        for D in ([3], [1, 4], [4, 1, 1], []):
            same_neighbours(neighbours, D, [1, 3, 4, 6], "add-remove", asked, least=more * (len(D) + 1))

    def under_either():
        for D in ([3], [1, 4], [4, 1, 1], []):
            name = f"the data sets of {len(D)} records and one more or less, under either relation"
            every = (told_neighbours(neighbours, D, [1, 3, 4, 6], relation, name) for relation in BOTH)
            got = {tuple(other) for found in every for other in found if len(other) != len(D)}
            if got != {tuple(sorted(map(float, other))) for other in all_neighbours(D, [1, 3, 4, 6], "add-remove")}:
                raise mismatch(name, "others", "all neighbours")

    def lenient():
        if not passes(check, "replace-one") and not passes(under_either):
            check(more=True)

    unless_lost(check, lenient, lambda: neighbours_replace(neighbours))


def mean(D):
    """The mean; 0 of nothing."""
    return math.fsum(D) / max(len(D), 1)


def bumpy(D):
    """A function without any order in it."""
    return math.sin(7 * math.fsum(D)) + math.cos(3 * math.fsum(r * r for r in D))


def histogram(D):
    """How often 0, 1 and 2 are there."""
    return np.array([float(list(D).count(r)) for r in (0, 1, 2)])


def moments(D):
    """Sum and sum of squares, with a sign."""
    return np.array([math.fsum(D), -math.fsum(r * r for r in D), 1.0])


def total(D):
    """The sum."""
    return math.fsum(D)


def of_two(D):
    """The sum of two records, and 0 of fewer or more: only data sets of the size 2 are far from others."""
    return math.fsum(D) if len(D) == 2 else 0.0


def more_of_three(D):
    """The sum, three times where there are three records: nothing may come near a size that is not in the list."""
    return math.fsum(D) * (3 if len(D) == 3 else 1)


def same_sensitivity(sensitivity, f, domain, sizes, relation, hint):
    """Hold one sensitivity against that over all pairs of multisets."""
    got = number(call(sensitivity, f, domain, sizes, relation), "the sensitivity")
    want = farthest(f, domain, sizes, relation)
    close(got, want, f'the sensitivity under "{relation}" for the domain {domain} and sizes {sizes}', hint)


def sensitivity_values(sensitivity):
    """Numbers: the largest over all pairs, whatever the function, and of the sizes given only."""

    def check():
        hint = "both neighbours must have a size in sizes"
        same_sensitivity(sensitivity, mean, [0, 1, 6], [2, 3], "add-remove", hint)
        hint = "it is the largest over all pairs, in absolute value"
        for f, domain, sizes in (
            (total, [0, 2, 5], [0, 1, 2]),
            (total, [-4, 1], [2, 3]),
            (bumpy, [0, 1, 2, 5], [2, 3]),
            (mean, [0, 0.25, 0.5], [3, 1, 2]),
            (of_two, [1, 2, 6], [1, 2, 3]),
            (total, [0, 0.1], [1, 2]),
            (more_of_three, [0, 2, 5], [1, 2, 4]),
        ):
            for relation in BOTH:
                same_sensitivity(sensitivity, f, domain, sizes, relation, hint)

    fair(check, sensitivity, neighbours=all_neighbours)


def sensitivity_norm(sensitivity):
    """Vectors: the l2 norm.

    Where numbers have lost their point, it makes of a vector what it makes of a number that moves as far, under one
    relation at least.
    """

    def check():
        hint = "the distance of two vectors is the l2 norm of their difference"
        for f, domain in ((histogram, [0, 1, 2]), (moments, [-1, 2, 3])):
            for relation in BOTH:
                same_sensitivity(sensitivity, f, domain, [1, 2, 3], relation, hint)

    def as_numbers():
        moving = 0
        for relation in BOTH:
            half, one, both = (
                number(call(sensitivity, f, [0, 1], [0, 1, 2], relation), "the sensitivity")
                for f in (lambda D, c=c: c * math.fsum(D) for c in (2.5, 5.0, np.array([3.0, -4.0])))
            )
            if half == one == both == 0:
                continue
            if not one > half > 0:
                raise mismatch("the sensitivity of what moves twice as far", one, f"more than {half:g}")
            close(both, one, "the sensitivity of a vector beside that of a number")
            moving += 1
        if not moving:
            raise mismatch("the sensitivity of what moves", 0, "another number")

    def either():
        unless_lost(check, as_numbers, lambda: sensitivity_values(sensitivity))

    fair(either, sensitivity, neighbours=all_neighbours)


RIGHT = {"neighbours": all_neighbours, "sensitivity": farthest}
RANGES = ((0.0, 1.0), (-3.0, 1.0), (2.0, 2.5), (-1.0, 4.0), (-2.0, -0.5))


# --- 2. predictions


def predicted(moves, f, hint, sizes=None):
    """A formula for records in [a, b], against all pairs of data sets with records a, b and the middle of them."""

    def check():
        for (a, b), relation in product(RANGES, BOTH):
            domain = [a, (a + b) / 2, b]
            where = f'for records in [{a:g}, {b:g}] under "{relation}"'
            if sizes:
                got = number(call(moves, a, b, relation), "the sensitivity")
                same_number(got, farthest(f, domain, sizes, relation), f"the sensitivity {where}", hint)
                continue
            for n in (3, 5, 7):
                got = number(call(moves, a, b, n, relation), "the sensitivity")
                these = [n] if relation == "replace-one" else [n - 1, n]
                want = farthest(f, domain, these, relation)
                same_number(got, want, f"the sensitivity {where} and n = {n}", hint)

    fair(check, moves, **RIGHT)


def sum_predicted(sum_moves):
    """The sum, under both relations."""
    predicted(sum_moves, total, "a record that comes adds itself; one that is replaced adds a difference", [0, 1, 2])


def mean_predicted(mean_moves):
    """The mean; under add-remove its divisor changes too."""
    predicted(mean_moves, mean, "try the data sets where the records that stay are all a")


def median_predicted(median_moves):
    """The median."""
    predicted(median_moves, statistics.median, "try data sets of which one half is a and one half is b")


# --- 3. several layers


def joint_parts(joint):
    """The distance of long vectors of which a record moves every part as far as it may."""
    for deltas in ([3.0, 4.0], [0.5], [1.0, 0.0, 2.0, 2.0], [0.1] * 9):
        got = number(call(joint, deltas), "the joint sensitivity")
        parts = [np.array([0.6, -0.8]) * delta for delta in deltas]
        want = farthest(lambda D, parts=parts: np.concatenate(parts) * D[0], [0.0, 1.0], [1], "replace-one")
        hint = "one record can be the worst for every layer at once, and the long vector has one l2 norm"
        close(got, want, f"the joint sensitivity of {deltas}", hint)


def right_mean(a, b, n, relation):
    """`mean_moves` as it should be, for records a, b and the middle of them."""
    return farthest(mean, [a, (a + b) / 2, b], [n] if relation == "replace-one" else [n - 1, n], relation)


LATER = {**RIGHT, "mean_moves": right_mean, "joint": lambda deltas: math.hypot(*deltas)}


def clip_norm_values(clip_norm):
    """Two records whose gradients are long and opposite, for every W and every b."""

    def check():
        for S, L in ((2.0, 1), (3.0, 5), (0.5, 3)):
            tau = number(call(clip_norm, S, L), "tau")
            if tau <= 0:
                raise mismatch("tau", tau, "a positive number", "it is the norm of a vector")
            every = [np.full(4, 5.0), np.full(2, -3.0)] * L
            one, other = ([clipped(sign * 1e3 * tau * g, tau) for g in every] for sign in (1, -1))
            moved = math.dist(np.concatenate(one), np.concatenate(other))
            hint = "count the vectors that are clipped, and how far a replaced record can move each of them"
            close(moved, S, f"m times what a record moves for S = {S:g} and L = {L}", hint)

    fair(check, clip_norm, **LATER)


# --- 4. claims: reading a pair


def clipped(v, c):
    """The vector shortened to the norm c, number by number."""
    norm = math.sqrt(math.fsum(float(x) ** 2 for x in v))
    return np.array([float(x) * min(1.0, c / norm) if norm else 0.0 for x in v])


def handed_in(claim, read, relation):
    """Verdict and two data sets, every record read; neighbours, or it is Wrong."""
    verdict, *both = pair(call(claim), 'the verdict "holds" or "fails" and two data sets', 3)
    found, verdict = str(verdict)[:40], str(verdict).strip().lower()
    if verdict not in ("holds", "fails"):
        raise mismatch("the verdict", repr(found), '"holds" or "fails"')
    data = []
    for found in both:
        try:
            records = list(islice(found, MOST + 1))
        except TypeError:
            raise misfit("a data set", found, "a list of records") from None
        if len(records) > MOST or (not records and relation != "add-remove"):
            told = f"more than {MOST}" if records else "none"
            raise mismatch("the records of a data set", told, f"1 to {MOST}")
        data.append([read(record) for record in records])
    neighbouring(*data, relation)
    return verdict, *data


def neighbouring(D, other, relation):
    """Wrong unless the two data sets, lists of tuples of arrays, are neighbours."""
    left, right = list(D), list(other)
    for record in D:
        for k, candidate in enumerate(right):
            if all(np.shape(a) == np.shape(b) and np.allclose(a, b) for a, b in zip(record, candidate, strict=True)):
                del right[k]
                left.pop(next(i for i, kept in enumerate(left) if kept is record))
                break
    if not left and not right:
        raise mismatch("the two data sets", "the same records in both", "neighbours, of which one record differs")
    counts = (len(left), len(right))
    fine = sorted(counts) == [0, 1] if relation == "add-remove" else counts == (1, 1)
    if fine and relation == "replace-label":
        inputs = left[0][0], right[0][0]
        if np.shape(inputs[0]) != np.shape(inputs[1]) or not np.allclose(*inputs):
            raise mismatch("the record that differs", "another input in it", "the same input with another label")
    if not fine:
        told = f"{counts[0]} of the first and {counts[1]} of the second"
        one = "one in all" if relation == "add-remove" else "one of each"
        raise mismatch(f'the records in one data set only, under "{relation}"', told, one)


def two(record, what):
    """The two parts of a record."""
    if not isinstance(record, tuple | list | np.ndarray) or len(record) != 2:
        raise misfit("a record", record, f"a pair, {what}")
    return record[0], record[1]


def vector(value, length, name):
    """A vector of this length, of any length if it is None."""
    if length is None:
        try:
            length = len(value)
        except TypeError:
            raise misfit(name, value, "a list of numbers") from None
    return array(value, (length,), name)


def shown(verdict, moved, claimed, holds):
    """Whether the pair shows what the verdict says."""

    def told(expected, hint):
        return mismatch("the distance of the two releases", f"{moved:.5g}", expected, hint)

    if verdict == "fails" and not moved > (1 + NEAR) * claimed:
        hint = "this refutes nothing: search on, or ask whether the claim holds"
        raise told(f'more than the {claimed:.5g} of the claim for "fails"', hint)
    if verdict == "holds" and moved > (1 + NEAR) * claimed:
        raise told(f'the {claimed:.5g} of the claim for "holds"', "it is more, so what does your pair show?")
    if verdict == "holds" and not moved >= (1 - NEAR) * claimed:
        hint = "before that the verdict is not judged"
        raise told(f'the {claimed:.5g} of the claim for "holds"', hint)
    if verdict == "holds" and not holds:
        raise told("more", "your pair is as far apart as claimed, and others are farther apart")


def norm_between(f, D, other):
    """The l2 distance of a release at two data sets."""
    return math.dist(np.ravel(f(D)), np.ravel(f(other)))


def averaged(term, D):
    """The average of one array a record, and 0 of none."""
    terms = [np.ravel(term(*record)) for record in D]
    return np.array([math.fsum(column) / len(D) for column in zip(*terms, strict=True)])


# --- 4. claims: the releases


def mean_of_clipped(D, c, length=2):
    """Claim "size"."""
    return averaged(lambda g: clipped(g, c), D) if D else np.zeros(length)


def layer(D, tau_B, tau_h, bias):
    """Claims "column" and "bias": the direction of a layer, the bias's input being 1."""

    def term(v, h):
        c = tau_h / math.sqrt(len(h))
        entries = [min(c, max(-c, float(x))) for x in h] + [1.0] * bias
        return [[x * y for y in entries] for x in clipped(v, tau_B)]

    return averaged(term, D)


def projected(D, B, tau_e):
    """Claim "expected"."""

    def term(e):
        e = clipped(e, tau_e)
        return [math.fsum(b * x for b, x in zip(row, e, strict=True)) for row in B]

    return averaged(term, D)


def network():
    """The notebook's network: W, b and B."""
    rng = seeded(5)
    W = [rng.normal(size=(3, 2)), rng.normal(size=(2, 3))]
    b = [rng.normal(size=3), rng.normal(size=2)]
    B = rng.normal(size=(3, 2))
    return W, b, B * 0.9 / math.sqrt(float(np.linalg.eigvalsh(B.T @ B).max()))


def directions(D):
    """Claim "total": the directions of both layers of that network."""
    W, b, B = network()

    def term(x, label):
        h = [1 / (1 + math.exp(-(w @ x + c))) for w, c in zip(W[0], b[0], strict=True)]
        z = [float(w @ h + c) for w, c in zip(W[1], b[1], strict=True)]
        powers = [math.exp(t - max(z)) for t in z]
        e = clipped([p / sum(powers) - (k == label) for k, p in enumerate(powers)], TAU_E)
        hidden = [math.fsum(row * e) * t * (1 - t) for row, t in zip(B, h, strict=True)]
        return [d * t for dz, below in ((hidden, x), (e, h)) for d in dz for t in (*clipped(below, TAU_H), 1.0)]

    return averaged(term, D)


def labelled(D):
    """Claim "label": the sum of the clipped errors."""
    terms = [clipped([p - (k == label) for k, p in enumerate(y_hat)], TAU_LABEL) for y_hat, label in D]
    return np.sum(terms, axis=0)


def units_of_noise(D, other):
    """Claim "noise", by the eigenvectors of the noise's covariance."""
    m = len(D)
    moved = sum(v * h for v, h in other) / m - sum(v * h for v, h in D) / m
    variances, axes = np.linalg.eigh(SIGMA**2 / m**2 * sum(np.outer(h, h) for _, h in D))
    along = axes.T @ moved
    none = variances < 1e-9 * variances.max()
    if np.abs(along[none]).max(initial=0.0) > 1e-9:
        return math.inf
    return math.sqrt(math.fsum(along[~none] ** 2 / variances[~none]))


# --- 4. claims: the pairs


def pair_of_size(pair_size):
    """A batch in which one gradient is against all others."""
    verdict, D, other = handed_in(pair_size, lambda g: (vector(g, 2, "a gradient"),), "add-remove")
    k = max(len(D), len(other))
    shown(verdict, norm_between(lambda D: mean_of_clipped(D, C), D, other), C / k, holds=False)


def pair_of_expected(pair_expected):
    """An error that this B makes longer."""
    B = np.random.default_rng(4).normal(size=(5, 3)) / math.sqrt(5)
    verdict, D, other = handed_in(pair_expected, lambda e: (vector(e, 3, "an error"),), "replace-one")
    shown(verdict, norm_between(lambda D: projected(D, B, TAU_E), D, other), 2 * TAU_E / len(D), holds=False)


def layer_record(record):
    """(v, h) with 4 numbers in h."""
    v, h = two(record, "(v, h)")
    return vector(v, None, "v"), vector(h, 4, "h")


def one_length(*data):
    """Wrong unless all v are of one length."""
    if len({len(v) for D in data for v, _ in D}) > 1:
        raise mismatch("the length of v", "several", "one for all records", "they go into one matrix")


def pair_of_column(pair_column):
    """Two opposite records that are as long as they may be."""
    verdict, D, other = handed_in(pair_column, layer_record, "replace-one")
    one_length(D, other)
    moved = norm_between(lambda D: layer(D, TAU_B, TAU_H, bias=False), D, other)
    shown(verdict, moved, 2 / len(D) * TAU_B * TAU_H, holds=True)


def pair_of_bias(pair_bias):
    """Two opposite records: the bias alone moves by more than its share."""
    verdict, D, other = handed_in(pair_bias, layer_record, "replace-one")
    one_length(D, other)
    moved = norm_between(lambda D: layer(D, TAU_B, TAU_H, bias=True), D, other)
    shown(verdict, moved, math.sqrt(5 / 4) * 2 / len(D) * TAU_B * TAU_H, holds=False)


def labelled_record(record, length):
    """(vector, label), the label one of 0..K-1 for a K that the vector or the notebook sets."""
    first, label = two(record, "the second of which is the label")
    first = vector(first, length, "the first part of a record")
    label = number(label, "a label")
    classes = length or len(first)
    if label not in range(classes):
        raise mismatch("a label", label, f"a whole number from 0 to {classes - 1}")
    return first, np.array(label)


def pair_of_total(pair_total):
    """Two labels."""
    verdict, D, other = handed_in(pair_total, lambda record: labelled_record(record, 2), "replace-one")
    claimed = 2 / len(D) * 0.25 * 0.9 * TAU_E * math.sqrt(2 * (1 + TAU_H**2))
    shown(verdict, norm_between(directions, D, other), claimed, holds=False)


def pair_of_label(pair_label):
    """Two labels of an input for which neither error is clipped."""

    def read(record):
        y_hat, label = labelled_record(record, None)
        if len(y_hat) < 2 or y_hat.min() < 0 or abs(math.fsum(y_hat) - 1) > 1e-6:
            found = f"{len(y_hat)} numbers, the least {y_hat.min(initial=0):.4g}, of sum {math.fsum(y_hat):.4g}"
            raise mismatch("y_hat", found, "two or more probabilities whose sum is 1")
        return y_hat, label

    verdict, D, other = handed_in(pair_label, read, "replace-label")
    if len({len(y_hat) for y_hat, _ in D}) > 1:
        raise mismatch("the number of classes in y_hat", "several", "one for all records")
    shown(verdict, norm_between(labelled, D, other), min(math.sqrt(2), 2 * TAU_LABEL), holds=True)


def pair_of_noise(pair_noise):
    """A record whose input is outside what the others' span, or one that alone stands for a direction."""

    def read(record):
        v, h = two(record, "(v, h)")
        v, h = number(v, "v"), vector(h, 3, "h")
        if not np.isin(h, (-1, 1)).all():
            raise mismatch("an entry of h", h[~np.isin(h, (-1, 1))][0], "1 or -1")
        if abs(v) > TAU_B * (1 + 1e-6):
            raise mismatch("v", v, f"a number from {-TAU_B:g} to {TAU_B:g}")
        return v, h

    verdict, D, other = handed_in(pair_noise, read, "replace-one")
    claimed = math.sqrt(3) * 2 * TAU_B / (SIGMA * math.sqrt(len(D)))
    shown(verdict, units_of_noise(D, other), claimed, holds=False)


# --- 4. claims: the bounds


def held(bound, arguments, reach):
    """Whether a bound is one, and not wasteful, where neighbours as far apart as any are ``reach`` apart."""
    shown_as = {name: value for name, value in arguments.items() if np.ndim(value) == 0}
    name = "the bound for " + ", ".join(f"{name} = {value:g}" for name, value in shown_as.items())
    if "B" in arguments:
        name += f" and a B of the shape {np.shape(arguments['B'])}"

    def check():
        got = number(call(bound, *arguments.values()), "the bound")
        if got < reach * (1 - 1e-4):
            raise mismatch(name, f"{got:.6g}", f"{reach:.6g} or more, for there are neighbours that far apart")
        if got > WASTE * reach:
            told = f"at most {WASTE:g} times the largest distance there is, which is {reach:.4g}"
            raise mismatch(name, got, told, "it is true and wasteful")

    fair(check, bound, **LATER)


def bound_of_size(bound_size):
    """One gradient against all others."""
    for c, k in ((1.0, 2), (1.0, 3), (0.25, 8), (4.0, 40)):
        D = [(np.array([3 * c, 4 * c]),)] * (k - 1)
        reach = norm_between(lambda D, c=c: mean_of_clipped(D, c), D, [*D, (np.array([-3 * c, -4 * c]),)])
        held(bound_size, {"C": c, "k": k}, reach)


def bound_of_expected(bound_expected):
    """The error that B makes longest, by power iteration."""
    rng = seeded(40)
    drawn = [rng.normal(size=(n, k)) / math.sqrt(n) for n, k in ((5, 3), (2, 6), (12, 10))]
    for B, m, tau_e in zip([*drawn, 0.5 * np.eye(6)], (1, 4, 3, 2), (0.1, 1.0, 0.3, 2.0), strict=True):
        e = rng.normal(size=B.shape[1])
        for _ in range(300):
            e = B.T @ (B @ e)
            e /= math.hypot(*e)
        D = [(2 * tau_e * e,)] * m
        reach = norm_between(lambda D, B=B, t=tau_e: projected(D, B, t), D, [*D[1:], (-2 * tau_e * e,)])
        held(bound_expected, {"B": B, "m": m, "tau_e": tau_e}, reach)


def bound_of_bias(bound_bias):
    """Opposite v, and the same h with all entries at their bound."""
    for m, n, tau_B, tau_h in ((1, 4, 0.8, 1.0), (3, 9, 0.3, 0.2), (2, 16, 1.0, 6.0), (4, 50, 2.0, 1.5)):
        v, h = np.array([tau_B, -tau_B]), np.full(n, 2 * tau_h)
        D = [(v, h)] * m
        reach = norm_between(lambda D, b=tau_B, t=tau_h: layer(D, b, t, bias=True), D, [*D[1:], (-v, h)])
        held(bound_bias, {"m": m, "n": n, "tau_B": tau_B, "tau_h": tau_h}, reach)


def two_labels(L, m, gamma, beta, tau_e, tau_h):
    """How far a label moves a network that is as bad as it can be.

    Every hidden unit has the slope gamma and every layer reads a vector longer than tau_h; y_hat = (1/2, 1/2), so that
    the two labels have opposite errors, which B = beta u (1, -1) / sqrt(2) takes whole to every layer.
    """
    u, read = np.array([0.6, 0.0, -0.8]), clipped([2 * tau_h, tau_h], tau_h)

    def term(label):
        e = clipped([0.5 - (label == 0), 0.5 - (label == 1)], tau_e)
        hidden = gamma * beta * u * (e[0] - e[1]) / math.sqrt(2)
        every = [hidden] * (L - 1) + [e]
        return np.concatenate([np.outer(dz, [*read, 1.0]).ravel() for dz in every])

    return math.dist(term(0), term(1)) / m


def bound_of_total(bound_total):
    """Networks of one layer and of many, with flat and steep units."""
    for L, m, gamma, beta, tau_e, tau_h in (
        (2, 1, 0.25, 0.9, 0.1, 1.0),
        (1, 2, 0.25, 0.9, 0.3, 2.0),
        (3, 128, 0.25, 0.9, 0.1, 9.5),
        (5, 4, 1.0, 0.9, 0.5, 0.3),
        (10, 1, 1.0, 0.4, 0.2, 1.0),
        (1, 3, 2.0, 1.5, 0.2, 0.5),
    ):
        arguments = {"L": L, "m": m, "gamma": gamma, "beta": beta, "tau_e": tau_e, "tau_h": tau_h}
        held(bound_total, arguments, two_labels(**arguments))
