"""The checks of problem set 5, one for each graded cell.

The checks compare sensitivities with the largest distance over all pairs of histograms. They compare bounds with
neighbours that attain the largest distance. They compute the releases of a pair again, number by number.
"""

import math
import statistics
from itertools import combinations_with_replacement, islice, product

import numpy as np

from nfa.course.checking import (
    answered,
    array,
    call,
    close,
    fair,
    guessed,
    misfit,
    mismatch,
    number,
    pair,
    same_number,
    seeded,
    unless_lost,
)

C, TAU_E, TAU_B, TAU_H, TAU_LABEL = 1.0, 0.1, 0.8, 1.0, 1.0  # as in the notebook
NEAR = 1e-3  # a distance that exceeds the claimed number by more than this share of the number refutes the claim
WASTE = 1.25  # a bound may be this many times the largest distance
MOST = 20  # largest number of records in a data set
BOTH = ("replace-one", "add-remove")


# --- data sets as histograms


def farthest(f, domain, sizes, relation):
    """The sensitivity, as the largest distance over all pairs of histograms."""
    domain = sorted(domain)
    every = [D for n in sizes for D in combinations_with_replacement(domain, n)]
    counts = np.array([[D.count(record) for record in domain] for D in every])
    values = np.array([np.ravel(f(list(D))) for D in every], dtype=float)
    changes = counts[:, None] - counts
    size = np.abs(changes).sum(axis=2)
    near = size == 1 if relation == "add-remove" else (size == 2) & (changes.sum(axis=2) == 0)
    return float(np.linalg.norm(values[:, None] - values, axis=2)[near].max(initial=0.0))


# --- 1. the definition


def mean(D):
    """The mean of the records, or 0 if there are none."""
    return math.fsum(D) / max(len(D), 1)


def bumpy(D):
    """A function that is neither increasing nor decreasing."""
    return math.sin(7 * math.fsum(D)) + math.cos(3 * math.fsum(r * r for r in D))


def histogram(D):
    """The numbers of records that are equal to 0, to 1 and to 2."""
    return np.array([float(list(D).count(r)) for r in (0, 1, 2)])


def moments(D):
    """The sum, the negative sum of squares, and a constant."""
    return np.array([math.fsum(D), -math.fsum(r * r for r in D), 1.0])


def total(D):
    """The sum of the records."""
    return math.fsum(D)


def of_two(D):
    """The sum of two records, and 0 for every other number of records."""
    return math.fsum(D) if len(D) == 2 else 0.0


def more_of_three(D):
    """The sum, or three times the sum for three records. The size 3 is not in the list, so the factor has no effect."""
    return math.fsum(D) * (3 if len(D) == 3 else 1)


def same_sensitivity(sensitivity, f, domain, sizes, relation, hint):
    """Compare a student's sensitivity with the largest distance over all pairs of histograms."""
    got = number(call(sensitivity, f, domain, sizes, relation), "the sensitivity")
    want = farthest(f, domain, sizes, relation)
    close(got, want, f'the sensitivity under "{relation}" for the domain {domain} and sizes {sizes}', hint)


def sensitivity_values(sensitivity):
    """Functions that return a number: the largest distance over all pairs with the given sizes."""
    hint = "both neighbours must have a size in sizes"
    same_sensitivity(sensitivity, mean, [0, 1, 6], [2, 3], "add-remove", hint)
    hint = "it is the largest distance over all pairs, and a distance is not negative"
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
    hint = "the sizes can be in any order"
    for f, domain, sizes in (
        (total, [1, 2], [2, 1]),
        (bumpy, [0, 1, 3], [2, 0, 3, 1]),
        (mean, [0, 0.5, 2], [4, 1, 3]),
    ):
        for relation in BOTH:
            same_sensitivity(sensitivity, f, domain, sizes, relation, hint)
    hint = "without a pair of neighbours, the sensitivity is 0"
    same_sensitivity(sensitivity, total, [1, 2], [3, 1], "add-remove", hint)


def sensitivity_norm(sensitivity):
    """Functions that return a vector: the l2 norm.

    If `sensitivity_values` fails, the sensitivities of a vector and of a number that move by the same distance must be
    equal under at least one relation.
    """

    def check():
        hint = "the distance between two vectors is the l2 norm of their difference"
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
                raise mismatch("the sensitivity of a function that moves twice as far", one, f"more than {half:g}")
            close(both, one, "the sensitivity of a vector that moves as far as a number")
            moving += 1
        if not moving:
            raise mismatch("the sensitivity of a function that is not constant", 0, "another number")

    unless_lost(check, as_numbers, lambda: sensitivity_values(sensitivity))


RANGES = ((0.0, 1.0), (-3.0, 1.0), (2.0, 2.5), (-1.0, 4.0), (-2.0, -0.5))


# --- 2. the mean and the median


def guess_made(guess):
    """Check the guess: two numbers between 0 and 1."""
    guessed(guess, "the sensitivity of the mean", "the sensitivity of the median", most=1.0)


def predicted(moves, f, hint):
    """Compare a formula for records in [a, b] with all pairs of data sets with the records a, (a + b) / 2 and b."""

    def check():
        for (a, b), relation, n in product(RANGES, BOTH, (3, 5, 7)):
            got = number(call(moves, a, b, n, relation), "the sensitivity")
            sizes = [n] if relation == "replace-one" else [n - 1, n]
            want = farthest(f, [a, (a + b) / 2, b], sizes, relation)
            same_number(
                got, want, f'the sensitivity for records in [{a:g}, {b:g}] under "{relation}" and n = {n}', hint
            )

    fair(check, moves, sensitivity=farthest)


def mean_predicted(mean_moves):
    """The sensitivity of the mean. Under add-remove, the divisor of the mean changes, too."""
    predicted(mean_moves, mean, "try data sets in which all other records are a")


def median_predicted(median_moves):
    """The sensitivity of the median."""
    predicted(median_moves, statistics.median, "try data sets in which half of the records are a and half are b")


def own_noise_answer(own_noise):
    """The question about noise with a standard deviation that depends on the records."""
    answered(own_noise, "b", "which outputs are possible for 0, 0, 0, 0, 1 and for 0, 0, 0, 1, 1?")


# --- 3. several layers


def joint_parts(joint):
    """The distance between long vectors, if one record moves every part as far as possible."""
    for deltas in ([3.0, 4.0], [0.5], [1.0, 0.0, 2.0, 2.0], [0.1] * 9):
        got = number(call(joint, deltas), "the joint sensitivity")
        parts = [np.array([0.6, -0.8]) * delta for delta in deltas]
        want = farthest(lambda D, parts=parts: np.concatenate(parts) * D[0], [0.0, 1.0], [1], "replace-one")
        hint = "one record can be the worst case for all layers, and the distance is the l2 norm of the long vector"
        close(got, want, f"the joint sensitivity of {deltas}", hint)


def right_mean(a, b, n, relation):
    """The right result of `mean_moves`."""
    return farthest(mean, [a, (a + b) / 2, b], [n] if relation == "replace-one" else [n - 1, n], relation)


LATER = {"sensitivity": farthest, "mean_moves": right_mean, "joint": lambda deltas: math.hypot(*deltas)}


# --- 4. claims: reading a pair


def clipped(v, c):
    """The vector, computed number by number. If its norm is larger than c, it is scaled down to the norm c."""
    norm = math.sqrt(math.fsum(float(x) ** 2 for x in v))
    return np.array([float(x) * min(1.0, c / norm) if norm else 0.0 for x in v])


def handed_in(claim, read, relation):
    """The student's verdict and two data sets. The function ``read`` converts each record.

    Raises
    ------
    Wrong : if the data sets are not neighbours
    """
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
            raise mismatch("the number of records in a data set", told, f"1 to {MOST}")
        data.append([read(record) for record in records])
    neighbouring(*data, relation)
    return verdict, *data


def neighbouring(D, other, relation):
    """Raise Wrong if two data sets are not neighbours. The data sets are lists of tuples of arrays."""
    left, right = list(D), list(other)
    for record in D:
        for k, candidate in enumerate(right):
            if all(np.shape(a) == np.shape(b) and np.allclose(a, b) for a, b in zip(record, candidate, strict=True)):
                del right[k]
                left.pop(next(i for i, kept in enumerate(left) if kept is record))
                break
    if not left and not right:
        raise mismatch("the two data sets", "the same records in both", "two neighbours, so one record must differ")
    counts = (len(left), len(right))
    fine = sorted(counts) == [0, 1] if relation == "add-remove" else counts == (1, 1)
    if fine and relation == "replace-label":
        inputs = left[0][0], right[0][0]
        if np.shape(inputs[0]) != np.shape(inputs[1]) or not np.allclose(*inputs):
            raise mismatch("the record that differs", "two different inputs", "one input with two labels")
    if not fine:
        told = f"{counts[0]} in the first and {counts[1]} in the second data set"
        one = "one in total" if relation == "add-remove" else "one in each data set"
        raise mismatch(f'the number of records that the other data set does not contain, under "{relation}"', told, one)


def two(record, what):
    """The two parts of a record."""
    if not isinstance(record, tuple | list | np.ndarray) or len(record) != 2:
        raise misfit("a record", record, f"a pair, {what}")
    return record[0], record[1]


def vector(value, length, name):
    """A vector of this length, or of any length if it is None."""
    if length is None:
        try:
            length = len(value)
        except TypeError:
            raise misfit(name, value, "a list of numbers") from None
    return array(value, (length,), name)


def shown(verdict, moved, claimed, holds):
    """Check that the distance between the two releases is evidence for the verdict."""

    def told(expected, hint):
        return mismatch("the distance between the two releases", f"{moved:.5g}", expected, hint)

    if verdict == "fails" and not moved > (1 + NEAR) * claimed:
        hint = "this pair refutes nothing: search for another pair, or ask whether the claim holds"
        raise told(f'more than the claimed {claimed:.5g} for "fails"', hint)
    if verdict == "holds" and moved > (1 + NEAR) * claimed:
        raise told(f'the claimed {claimed:.5g} for "holds"', "the distance is larger, so what does your pair prove?")
    if verdict == "holds" and not moved >= (1 - NEAR) * claimed:
        hint = "the verdict is judged only for a pair at this distance"
        raise told(f'the claimed {claimed:.5g} for "holds"', hint)
    if verdict == "holds" and not holds:
        raise told("a larger distance", "other pairs are farther apart than your pair")


def norm_between(f, D, other):
    """The l2 distance between the releases of two data sets."""
    return math.dist(np.ravel(f(D)), np.ravel(f(other)))


def averaged(term, D):
    """The average over the records of the array that ``term`` gives for each record."""
    terms = [np.ravel(term(*record)) for record in D]
    return np.array([math.fsum(column) / len(D) for column in zip(*terms, strict=True)])


# --- 4. claims: the releases


def mean_of_clipped(D, c, length=2):
    """The release of claim "size"."""
    return averaged(lambda g: clipped(g, c), D) if D else np.zeros(length)


def layer(D, tau_B, tau_h):
    """The release of claim "column": the direction of a layer."""

    def term(v, h):
        c = tau_h / math.sqrt(len(h))
        entries = [min(c, max(-c, float(x))) for x in h]
        return [[x * y for y in entries] for x in clipped(v, tau_B)]

    return averaged(term, D)


def projected(D, B, tau_e):
    """The release of claim "expected"."""

    def term(e):
        e = clipped(e, tau_e)
        return [math.fsum(b * x for b, x in zip(row, e, strict=True)) for row in B]

    return averaged(term, D)


def network():
    """The notebook's network: W, b and B."""
    # the same network in practice, because students search for pairs in the notebook's network
    rng = np.random.default_rng(5)
    W = [rng.normal(size=(3, 2)), rng.normal(size=(2, 3))]
    b = [rng.normal(size=3), rng.normal(size=2)]
    B = rng.normal(size=(3, 2))
    return W, b, B * 0.9 / math.sqrt(float(np.linalg.eigvalsh(B.T @ B).max()))


def directions(D):
    """The release of claim "total": the directions of both layers of the notebook's network."""
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
    """The release of claim "label": the sum of the clipped errors."""
    terms = [clipped([p - (k == label) for k, p in enumerate(y_hat)], TAU_LABEL) for y_hat, label in D]
    return np.sum(terms, axis=0)


# --- 4. claims: the pairs


def pair_of_size(pair_size):
    """Check the pair for claim "size". In a pair that refutes it, one gradient can be the opposite of all others."""
    verdict, D, other = handed_in(pair_size, lambda g: (vector(g, 2, "a gradient"),), "add-remove")
    k = max(len(D), len(other))
    shown(verdict, norm_between(lambda D: mean_of_clipped(D, C), D, other), C / k, holds=False)


def pair_of_expected(pair_expected):
    """Check the pair for claim "expected". An error with a projection of larger norm refutes the claim."""
    B = np.random.default_rng(4).normal(size=(5, 3)) / math.sqrt(5)
    verdict, D, other = handed_in(pair_expected, lambda e: (vector(e, 3, "an error"),), "replace-one")
    shown(verdict, norm_between(lambda D: projected(D, B, TAU_E), D, other), 2 * TAU_E / len(D), holds=False)


def divisor_answer(divisor):
    """The question about noise with a standard deviation that depends on the size of the batch."""
    answered(divisor, "c", "which numbers in each choice depend on whether one record is in the batch?")


def layer_record(record):
    """The record (v, h) as arrays. The vector h must have 4 numbers."""
    v, h = two(record, "(v, h)")
    return vector(v, None, "v"), vector(h, 4, "h")


def one_length(*data):
    """Raise Wrong if the vectors v do not all have the same number of entries."""
    if len({len(v) for D in data for v, _ in D}) > 1:
        raise mismatch("the number of entries of v", "several", "one for all records", "v is a column of one matrix")


def pair_of_column(pair_column):
    """Check the pair for claim "column". Two opposite v, and an h with all entries at their bound, attain it."""
    verdict, D, other = handed_in(pair_column, layer_record, "replace-one")
    one_length(D, other)
    moved = norm_between(lambda D: layer(D, TAU_B, TAU_H), D, other)
    shown(verdict, moved, 2 / len(D) * TAU_B * TAU_H, holds=True)


def constant_input_answer(constant_input):
    """The question about a bias with an input that is not clipped."""
    answered(constant_input, "a", "what is the direction of this bias for one record, and how far apart can two v be?")


def labelled_record(record, length):
    """(vector, label), with a label of 0..K-1; K is the length of the vector."""
    first, label = two(record, "with the label as its second part")
    first = vector(first, length, "the first part of a record")
    label = number(label, "a label")
    classes = length or len(first)
    if label not in range(classes):
        raise mismatch("a label", label, f"a whole number from 0 to {classes - 1}")
    return first, np.array(label)


def pair_of_total(pair_total):
    """Check the pair for claim "total". One input with two labels refutes the claim."""
    verdict, D, other = handed_in(pair_total, lambda record: labelled_record(record, 2), "replace-one")
    claimed = 2 / len(D) * 0.25 * 0.9 * TAU_E * math.sqrt(2 * (1 + TAU_H**2))
    shown(verdict, norm_between(directions, D, other), claimed, holds=False)


def pair_of_label(pair_label):
    """Check the pair for claim "label". Two labels of an input for which neither error is clipped attain the number."""

    def read(record):
        y_hat, label = labelled_record(record, None)
        if len(y_hat) < 2 or y_hat.min() < 0 or abs(math.fsum(y_hat) - 1) > 1e-6:
            found = f"{len(y_hat)} numbers with minimum {y_hat.min(initial=0):.4g} and sum {math.fsum(y_hat):.4g}"
            raise mismatch("y_hat", found, "two or more probabilities with sum 1")
        return y_hat, label

    verdict, D, other = handed_in(pair_label, read, "replace-label")
    if len({len(y_hat) for y_hat, _ in D}) > 1:
        raise mismatch("the number of classes in y_hat", "several", "one for all records")
    shown(verdict, norm_between(labelled, D, other), min(math.sqrt(2), 2 * TAU_LABEL), holds=True)


# --- 4. claims: the bounds


def held(bound, arguments, reach):
    """Check that a bound is at least ``reach``, the largest distance, and at most 1.25 times as large."""
    shown_as = {name: value for name, value in arguments.items() if np.ndim(value) == 0}
    name = "the bound for " + ", ".join(f"{name} = {value:g}" for name, value in shown_as.items())
    if "B" in arguments:
        name += f" and a B of shape {np.shape(arguments['B'])}"

    def check():
        got = number(call(bound, *arguments.values()), "the bound")
        if got < reach * (1 - 1e-4):
            raise mismatch(name, f"{got:.6g}", f"{reach:.6g} or more, because some neighbours have this distance")
        if got > WASTE * reach:
            told = f"at most {WASTE:g} times the largest distance, which is {reach:.4g}"
            raise mismatch(name, got, told, "the bound is true but too large")

    fair(check, bound, **LATER)


def bound_of_expected(bound_expected):
    """Check the bound with the error whose projection has the largest norm, found by power iteration."""
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


def two_labels(L, m, gamma, beta, tau_e, tau_h):
    """The distance by which a changed label moves the release of the worst network.

    All hidden units have the derivative gamma, and all layers have inputs with a norm above tau_h. With
    y_hat = (1/2, 1/2) the two labels have opposite errors. The matrix B = beta u (1, -1) / sqrt(2) multiplies the norm
    of these errors by beta.
    """
    u, read = np.array([0.6, 0.0, -0.8]), clipped([2 * tau_h, tau_h], tau_h)

    def term(label):
        e = clipped([0.5 - (label == 0), 0.5 - (label == 1)], tau_e)
        hidden = gamma * beta * u * (e[0] - e[1]) / math.sqrt(2)
        every = [hidden] * (L - 1) + [e]
        return np.concatenate([np.outer(dz, [*read, 1.0]).ravel() for dz in every])

    return math.dist(term(0), term(1)) / m


def bound_of_total(bound_total):
    """Check the bound for networks of one layer and of many layers, with small and large derivatives."""
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
