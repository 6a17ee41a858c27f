"""The checks of problem set 6, one a graded cell.

Their oracles are loops over records and numbers, records and batches that attain a bound, and quadratures.
"""

import math
from itertools import islice, pairwise, product

import numpy as np

from nfa.course.checking import (
    RTOL,
    Wrong,
    array,
    arrays,
    call,
    close,
    common_factor,
    fair,
    held,
    layers,
    misfit,
    mismatch,
    number,
    numbers,
    pair,
    passes,
    seeded,
    size,
    unless_lost,
)

SIZES = [4, 5, 3, 6]  # three layers of different sizes, so that every mistake of a layer's number shows
NEAR = 1e-3  # of the claimed number: so much farther refutes it, so near attains it
MOST = 20  # records of a pair


def case(seed, k=6, sizes=SIZES):
    """dz and h of no particular network: random, and of lengths that differ from record to record."""
    rng = seeded(seed)
    far = np.geomspace(0.2, 5.0, max(k, 1))[rng.permutation(max(k, 1))[:k], None]
    dz = [None] + [far * rng.normal(size=(k, n)) for n in sizes[1:]]
    return dz, [rng.normal(size=(k, n)) for n in sizes]


# --- oracles, which are also what stands in for an earlier exercise


def length(v):
    """The l2 norm, of which no square overflows; infinite or nan where an entry is."""
    return math.hypot(*(float(a) for a in v))


def layered(dz, h):
    """One record's direction from its dz[l] and h[l], vectors: for each layer its weights, row by row, and its biases.

    Slot 0 of dz is not used.
    """
    return [[d * a for d in above for a in below] + list(above) for above, below in zip(dz[1:], h, strict=False)]


def joined(layers):
    """All entries of all layers."""
    return [a for layer in layers for a in layer]


def clipped(v, C):
    """The vector shortened to the norm C if it is longer, number by number; zeros where its norm is not finite."""
    long = length(v)
    factor = min(1.0, C / long) if long else 1.0
    return [a * factor if math.isfinite(long) else 0.0 for a in v]


def record(lists, i):
    """Record i of a list over the layers."""
    return [None if a is None else [float(value) for value in a[i]] for a in lists]


def norms_by_loops(dz, h):
    """Every record's direction written out, and its norm."""
    return np.array([length(joined(layered(record(dz, i), record(h, i)))) for i in range(len(dz[1]))])


def sum_by_loops(dz, h, C):
    """Every record's direction written out, clipped and added."""
    shapes = [(len(above[0]), len(below[0])) for above, below in zip(dz[1:], h, strict=False)] if len(dz[1]) else []
    shapes = shapes or [(np.shape(above)[1], np.shape(below)[1]) for above, below in zip(dz[1:], h, strict=False)]
    total = [0.0] * sum(n * (below + 1) for n, below in shapes)
    for i in range(len(dz[1])):
        one = clipped(joined(layered(record(dz, i), record(h, i))), C)
        total = [a + b for a, b in zip(total, one, strict=True)]
    dW, db, at = [None], [None], 0
    for n, below in shapes:
        dW.append(np.reshape(total[at : at + n * below], (n, below)))
        db.append(np.array(total[at + n * below : at + n * below + n]))
        at += n * below + n
    return dW, db


def network(sizes, rng, gain=1.0):
    """W, b and B of a network of ReLU layers; B is so many times the one of the notebook."""
    W = [None, *(rng.normal(size=(n, below)) / math.sqrt(below) for below, n in pairwise(sizes))]
    b = [None, *(0.1 * rng.normal(size=n) for n in sizes[1:])]
    return W, b, [None, *(gain * rng.normal(size=(n, sizes[-1])) for n in sizes[1:-1])]


def pass_of(W, b, x):
    """One record's pre-activations z[l], what the layers read, h[l] for l < L, and its probabilities."""
    z, h = [None], [[float(a) for a in x]]
    for l in range(1, len(W)):
        z.append(
            [math.fsum(w * a for w, a in zip(row, h[-1], strict=True)) + c for row, c in zip(W[l], b[l], strict=True)]
        )
        h.append([max(a, 0.0) for a in z[l]])
    powers = [math.exp(a - max(z[-1])) for a in z[-1]]
    return z, h[:-1], [p / sum(powers) for p in powers]


def error_of(W, b, x, label):
    """One record's error."""
    return [p - (k == label) for k, p in enumerate(pass_of(W, b, x)[2])]


def direction_of(W, b, B, x, e, shown=None):
    """One record's direction by layers, of the error e; B is shown e or something in its place."""
    z, h, _ = pass_of(W, b, x)
    shown = e if shown is None else shown
    dz = [
        [math.fsum(c * s for c, s in zip(row, shown, strict=True)) * (a > 0) for row, a in zip(B[l], z[l], strict=True)]
        for l in range(1, len(B))
    ]
    return layered([None, *dz, e], h)


def term_of(net, x, label, C):
    """What a record adds to the sum: its whole direction, clipped."""
    W, b, B = net
    return clipped(joined(direction_of(W, b, B, x, error_of(W, b, x, label))), C)


def farthest(C, relation):
    """The distance of two sums: of a record that is as long as C, and of the two labels of one input."""
    net = network([2, 3, 2], seeded(30))
    one, other = (term_of(net, [0.0, 0.0], label, C) for label in (0, 1))
    return length(one) if relation == "add-remove" else length(a - b for a, b in zip(one, other, strict=True))


RIGHT = {"norms": norms_by_loops, "joint_sum": sum_by_loops, "moves": farthest}


# --- 1. norms


def norms_values(norms):
    """Everything written out."""
    dz, h = case(20)
    got = array(call(norms, dz, h), (6,), "the array of norms")
    hint = (
        "all layers are one long vector, in which layer l has dz[l] h[l-1]^T for its weights and dz[l] for its biases"
    )
    close(got, norms_by_loops(dz, h), "the array of norms", hint)


HELD = 800_000  # bytes; one record's direction below is 1,640,000 in float32, and what it is made of 10,240 in float64


def memory_case(k, n):
    """Two layers, so that one may be left out, and positive numbers, so that every sum has a root."""
    dz, h = case(23, k, [n, n, 3 if k < n else n])
    return [None, *(abs(a) for a in dz[1:])], [abs(a) for a in h]


def norms_memory(norms):
    """The most memory held at once, for a layer with 400,000 weights; the shape and the numbers cost elsewhere.

    Where the numbers have lost their point, as many records as units will do, so that any axes can be added up.
    """

    def check(k, n):
        call(norms, *case(22, 3, [3, 3, 3]))  # imports and the like
        dz, h = memory_case(k, n)
        found, most = held(norms, dz, h)
        other = call(norms, [None, *(2 * a for a in dz[1:])], [3 * a for a in h])
        found, other = (numbers(value, "the norms") for value in (found, other))
        if not found.min() > 0:
            raise mismatch("the norm of a direction that is not zero", found.min(), "a positive number")
        if np.array_equal(found, other):
            raise mismatch("the norms of directions that are longer", "the same", "others")
        if most > HELD:
            name = f"the memory for {k} records, {n} inputs and {n} units"
            hint = "what is the norm of an outer product, in terms of its two vectors?"
            told = f"some times the {16 * k * n / 1e6:.2g} MB of dz and h"
            raise mismatch(name, f"{most / 1e6:.1f} MB at once", told, hint)

    unless_lost(lambda: check(2, 640), lambda: check(60, 60), lambda: norms_values(norms))


# --- 2. the sum


def summed(joint_sum, dz, h, C):
    """What a student's sum returns, all entries as one vector."""
    dW, db = pair(call(joint_sum, dz, h, C), "dW and db")
    like = sum_by_loops([None, *(a[:0] for a in dz[1:])], [a[:0] for a in h], C)
    both = arrays(dW, like[0], "dW"), arrays(db, like[1], "db")
    return flat(both)


def flat(both):
    """dW and db, lists, as one vector."""
    return np.concatenate([np.ravel(a) for one in both for a in one[1:]])


def unshaped(joint_sum, dz, h, C):
    """The same where the shapes are another cell's business."""
    both = pair(call(joint_sum, dz, h, C), "dW and db")
    lists = [layers(value, 1, len(dz) - 1, name) for value, name in zip(both, ("dW", "db"), strict=True)]
    return np.concatenate([numbers(a, "an entry of dW or db") for one in lists for a in one[1:]])


def sum_direction(joint_sum):
    """All entries together, up to a factor, where half of the records are clipped."""

    def check():
        for seed in (30, 31):
            dz, h = case(seed)
            C = float(np.median(norms_by_loops(dz, h)))
            got, want = summed(joint_sum, dz, h, C), flat(sum_by_loops(dz, h, C))
            factor = common_factor(got, want)
            if factor is None or factor < 0:
                cosine = float(got @ want) / max(length(got) * length(want), 1e-300)
                hint = (
                    "what is clipped, each record or the batch, each layer or all, with the biases or without, and are "
                    "short directions left alone?"
                )
                raise mismatch("the cosine of dW and db, all entries, with the right sum", cosine, 1, hint)

    fair(check, joint_sum, **RIGHT)


def sum_length(joint_sum):
    """Where nothing is clipped, or, for those who clip what they should not, where the records are equal and long.

    Whoever makes short directions longer fails the first and whoever clips another norm the second: that is judged by
    the direction. A mean fails both. Where the direction has lost its point, the records are as long as C, and the
    biases alone will do.
    """

    def length_of(dz, h, C, what):
        want = flat(sum_by_loops(dz, h, C))
        hint = "the terms of all records are added, and divided by nothing yet"
        close(length(unshaped(joint_sum, dz, h, C)), length(want), f"the length of the sum of {what}", hint)

    def none():
        if np.abs(unshaped(joint_sum, *case(34, 0), 1.0)).max() > 0:
            raise mismatch("the sum of no records", "numbers that are not 0", "0 everywhere")

    def at_the_bound():
        for C in (1.0, 0.5):
            dz, h = case(32)
            dz = [None, *(C * a / norms_by_loops(dz, h)[:, None] for a in dz[1:])]
            both = pair(call(joint_sum, dz, h, C), "dW and db")
            want = {a.size: a for one in sum_by_loops(dz, h, C) for a in one[1:]}  # no two have as many entries
            found = [numbers(a, "an entry of dW or db") for one in both for a in one if a is not None]
            here = [(a, want[a.size]) for a in found if a.size in want]
            parts = here, [two for two in here if two[1].ndim == 1]
            lengths = [
                [length(np.concatenate([a.ravel() for a in v])) for v in zip(*part, strict=True)]
                for part in parts
                if part
            ]
            if not any(passes(close, max(got, want) if C < 1 else got, want, "") for got, want in lengths):
                told = "that of what is returned of it" if C == 1 else "no more than that of what is returned of it"
                name = f"the length of the sum of 6 records as long as C = {C:g}"
                raise mismatch(name, length(np.concatenate(found)), told)
        few = pair(call(joint_sum, *case(34, 0), 1.0), "dW and db")
        if any(np.abs(np.asarray(a, dtype=float)).max(initial=0) > 0 for one in few for a in one if a is not None):
            raise mismatch("the sum of no records", "numbers that are not 0", "0 everywhere")

    def check():
        dz, h = case(32)
        try:
            length_of(dz, h, 1e6, "6 records with C = 1e6")
        except Wrong as first:
            dz, h = ([a if a is None else np.repeat(a, 4, axis=0) for a in lists] for lists in case(33, 1, [4, 5]))
            try:
                length_of(dz, h, 0.01, "4 equal records with C = 0.01")
            except Wrong:
                raise first from None
        dz, h = case(36)
        length_of([None, *(1e-6 * a for a in dz[1:])], h, 1e-6, "6 records with small dz and C = 1e-6")
        none()

    fair(lambda: unless_lost(check, at_the_bound, lambda: sum_direction(joint_sum)), joint_sum, **RIGHT)


RECORDS = (
    ("one record has the direction 0", 0.0, 1.0),
    ("a dz of one record is infinite", math.inf, 1.0),
    ("the h of one record is nan", 1.0, math.nan),
    ("the dz of one record is 1e200", 1e200, 1.0),
)


def sum_any(joint_sum):
    """A record more, of any kind, moves the student's own sum by at most C.

    Where the direction has lost its point, so that records may be longer, what is returned is finite.
    """
    C = 0.5

    def entries(dz, h, what):
        with np.errstate(all="ignore"):
            both = pair(call(joint_sum, dz, h, C), "dW and db")
        try:
            found = np.concatenate([np.ravel(np.asarray(a, dtype=float)) for one in both for a in one[1:]])
        except (TypeError, ValueError):
            raise mismatch(f"dW and db where {what}", "something else", "lists of arrays, slot 0 being None") from None
        if not np.isfinite(found).all():
            raise mismatch(f"an entry of dW or db where {what}", found[~np.isfinite(found)][0], "a number")
        return found

    def check(kinds=RECORDS, most=C):
        few = entries(*case(35, 5), "all numbers are finite")
        for what, above, below in kinds:
            dz, h = case(35, 5)
            dz = [a if a is None else np.concatenate([a, np.full((1, a.shape[1]), above)]) for a in dz]
            h = [np.concatenate([a, np.full((1, a.shape[1]), below)]) for a in h]
            moved = length(entries(dz, h, what) - few)
            if moved > most * (1 + NEAR):
                raise mismatch(
                    f"the distance of the sums with and without a record where {what}", moved, f"at most C = {C:g}"
                )

    def lenient():
        check(RECORDS[1:], most=math.inf)

    fair(lambda: unless_lost(check, lenient, lambda: sum_direction(joint_sum)), joint_sum, **RIGHT)


# --- 3. what a record moves

BOUNDS = (0.3, 0.05)  # clips that a record of the oracle's network attains


def bounded(moves, C, relation, hint):
    """Hold a sensitivity against neighbours that are as far apart as any."""
    got, want = number(call(moves, C, relation), "the sensitivity"), farthest(C, relation)
    if abs(got - want) > RTOL * want:
        told = "more, for there are neighbours farther apart" if got < want else "less, for none are that far apart"
        raise mismatch(f'the sensitivity under "{relation}" with C = {C:g}', got, told, hint)


def moves_record(moves):
    """A record that comes, and one that becomes its opposite."""
    for C in BOUNDS:
        bounded(moves, C, "add-remove", "one term comes or goes")
        bounded(moves, C, "replace-one", "one term goes and another comes, which may point anywhere")


def moves_label(moves):
    """Two labels of one input; as far as the student's own replace-one will do, whatever that is."""
    found = [number(call(moves, C, "replace-one"), "the sensitivity") for C in BOUNDS]
    if found[0] == found[1]:
        raise mismatch("the sensitivities with two bounds C", "the same", "others, as they depend on C")
    for C, same in zip(BOUNDS, found, strict=True):
        if not abs(number(call(moves, C, "replace-label"), "the sensitivity") - same) < RTOL * same:
            bounded(moves, C, "replace-label", "how do the errors of two labels lie, if there are two classes?")


def premises_needed(premises):
    """Those that the variants of part 4 take away, one each; the others a network can take away at no cost."""

    def listed():
        every = premises()
        return None if every is None else [number(item, "the number of a sentence") for item in islice(every, 100)]

    listed.__name__ = "premises"
    found = call(listed)
    if not isinstance(found, list):
        raise misfit("the sentences", found, "whole numbers from 1 to 7")
    found = sorted(set(found))
    if not set(found) <= set(range(1, 8)):
        raise mismatch("the sentences", found, "whole numbers from 1 to 7")
    found = [int(item) for item in found]
    wanted = {1, 3, 6}
    if spare := set(found) - wanted:
        told = "fewer" if wanted < set(found) else "others"
        hint = f"for {min(spare)}, try a network or a batch without it: does the clip not take care of that?"
        raise mismatch("the sentences", found, told, hint)
    if set(found) != wanted:
        hint = (
            "what would let a record change other records' terms, or its own exceed C, if nobody had promised you that "
            "it does not?"
        )
        raise mismatch("the sentences", found, "more", hint)


def read_vector(value, n, name):
    """A vector of n numbers, as floats."""
    return array(value, (n,), name)


NETS = (([3, 4, 3], 40), ([5, 6, 4, 2], 41), ([2, 8, 8, 4, 3], 42))
GAINS = ((0.0, "B = 0"), (1.0, "B of the size of the notebook's"), (1e4, "B 10,000 times the notebook's"))


def attains_C(attain):
    """The norm of the clipped direction of what is handed in, number by number."""

    def check():
        for (sizes, seed), (gain, what), C in product(NETS, GAINS, (0.1, 20.0, 1000.0)):
            W, b, B = net = network(sizes, seeded(seed), gain)
            if seed == 41:  # class 0 is the likelier one for all long inputs, so that its error is always short
                net = [*W[:-1], np.array([[1.0], [-1.0]]) * abs(W[-1])], b, B
            x, label = pair(call(attain, *net, C), "x and label")
            x, label = read_vector(x, sizes[0], "x"), number(label, "the label")
            if label not in range(sizes[-1]):
                raise mismatch("the label", label, f"a whole number from 0 to {sizes[-1] - 1}")
            long = length(term_of(net, x, label, C))
            if not long >= C * (1 - RTOL):
                hint = (
                    "of which part does no B decide, which label makes the error long, and what makes what the top "
                    "layer reads long?"
                )
                name = f"the norm of the record's clipped direction, layers of {sizes}, {what} and C = {C:g}"
                raise mismatch(name, long, C, hint)

    fair(check, attain, **RIGHT)


# sizes, the seeds of grading and of practice, and how much likelier class 0 is by the biases alone: with more than 0,
# inputs near 0 are no answer. The seeds are chosen so that a search among few inputs finds a right one.
TWO_CLASSES = (
    ([3, 4, 2], (43, 43), 0.0),
    ([2, 6, 5, 2], (44, 46), 0.0),
    ([3, 6, 2], (50, 60), 3.0),
    ([3, 6, 2], (66, 57), -3.0),
)


def attains_2C(opposite):
    """The distance of the two clipped directions."""

    def check():
        for (sizes, seeds, tilt), (gain, what), C in product(TWO_CLASSES, GAINS, (0.05, 0.4)):
            W, b, B = network(sizes, seeded(seeds[size(0)]), gain)
            net = [*W[:-1], (1 + abs(tilt)) * W[-1]], [*b[:-1], b[-1] + np.array([tilt, -tilt])], B
            x = read_vector(call(opposite, *net, C), sizes[0], "x")
            terms = [term_of(net, x, label, C) for label in (0, 1)]
            moved = length(a - b for a, b in zip(*terms, strict=True))
            if not moved >= 2 * C * (1 - NEAR):
                hint = (
                    "both must be as long as C, so neither of the two probabilities may be small, unless what the "
                    "layers read is long"
                )
                name = f"the distance of the terms of labels 0 and 1, layers of {sizes}, {what} and C = {C:g}"
                raise mismatch(name, moved, 2 * C, hint)

    fair(check, opposite, **RIGHT)


# --- 4. variants: reading a pair

C, M = 0.5, 4
NET = network([2, 4, 2], np.random.default_rng(9))  # the network of the notebook


def handed_in(pair_of, least=0):
    """Verdict and two batches, every record read; add-remove neighbours, or it is Wrong."""
    verdict, *both = pair(call(pair_of), "the verdict and two batches", 3)
    verdict = str(verdict).strip().lower()
    if verdict not in ("holds", "fails"):
        raise mismatch("the verdict", repr(verdict[:40]), '"holds" or "fails"')
    batches = []
    for value in both:
        try:
            batch = [read_record(found) for found in islice(value, MOST + 1)]
        except TypeError:
            raise misfit("a batch", value, "a list of records (x, label)") from None
        if not least <= len(batch) <= MOST:
            told = f"more than {MOST}" if len(batch) > MOST else len(batch)
            raise mismatch("the records of a batch", told, f"{least} to {MOST}")
        batches.append(batch)
    few, many = sorted(batches, key=len)
    left = list(many)
    for one in few:
        if one in left:
            left.remove(one)
    if len(many) != len(few) + 1 or len(left) != 1:
        told = f"{len(both[0])} and {len(both[1])}, {len(many) - len(left)} of them in both"
        raise mismatch("the records of the two batches", told, "all in both but one that one has more")
    return verdict, *batches


def read_record(value):
    """(x, label) as a tuple of two floats and a number."""
    if not isinstance(value, tuple | list | np.ndarray) or len(value) != 2:
        raise misfit("a record", value, "a pair (x, label)")
    x, label = read_vector(value[0], 2, "x"), number(value[1], "a label")
    if label not in (0, 1):
        raise mismatch("a label", label, "0 or 1")
    return tuple(x.tolist()), int(label)


def judged(pair_of, release, holds, allowed=C, least=0):
    """Whether a pair shows what its verdict says."""
    verdict, D, other = handed_in(pair_of, least)
    moved = length(a - b for a, b in zip(release(D), release(other), strict=True))

    def told(expected, hint):
        return mismatch("the distance of the two releases", f"{moved:.5g}", expected, hint)

    if verdict == "fails" and not moved > (1 + NEAR) * allowed:
        raise told(f'more than {allowed:g} for "fails"', "search on, or ask whether the claim holds")
    if verdict == "holds" and moved > (1 + NEAR) * allowed:
        raise told(f'{allowed:g} for "holds"', "it is more, so what does your pair show?")
    if verdict == "holds" and not moved >= (1 - NEAR) * allowed:
        raise told(f'{allowed:g} for "holds", and before that the verdict is not judged', "which records move most?")
    if verdict == "holds" and not holds:
        raise told("a pair that is farther apart", "yours is as far as claimed, and there are others")


def total(terms):
    """The sum of vectors, entry by entry; zeros if there are none."""
    return [math.fsum(column) for column in zip([0.0] * 22, *terms, strict=True)]


def layers_of(x, e, shown=None):
    """A record's direction in the notebook's network, by layers: 12 and 10 entries."""
    return direction_of(*NET, x, e, shown)


def errors(D):
    """(x, e) of every record."""
    return [(x, error_of(*NET[:2], x, label)) for x, label in D]


def by_layers(D, share):
    """Claims "layers" and "split"."""
    return total([joined(clipped(layer, share * C) for layer in layers_of(x, e)) for x, e in errors(D)])


def without_biases(D):
    """Claim "weights": 8 of the 12 entries of layer 1 are weights, 8 of the 10 of layer 2."""
    terms = []
    for x, e in errors(D):
        layers = layers_of(x, e)
        factor = min(1.0, C / max(length(joined(layer[:8] for layer in layers)), 1e-300))
        terms.append([factor * a for a in joined(layers)])
    return total(terms)


def of_errors(D):
    """Claim "error"."""
    return total([joined(layers_of(x, clipped(e, C))) for x, e in errors(D)])


def optical(D, threshold):
    """Claims "own" and "batch": the threshold of each record, from its error and all of them."""
    every, terms = errors(D), []
    for x, e in every:
        least = threshold(e, [f for _, f in every])
        shown = [length(e) * math.copysign(1.0, a) if abs(a) >= least else 0.0 for a in e]
        terms.append(clipped(joined(layers_of(x, e, shown)), C))
    return total(terms)


def averaged(D):
    """Claim "count"."""
    return [a / len(D) for a in total([term_of(NET, x, label, C) for x, label in D])]


# --- 4. variants, one a cell


def variant_layers(pair_layers):
    """A record of which both layers are long."""
    judged(pair_layers, lambda D: by_layers(D, 1.0), holds=False)


def variant_split(pair_split):
    """The same record attains it."""
    judged(pair_split, lambda D: by_layers(D, math.sqrt(0.5)), holds=True)


def variant_weights(pair_weights):
    """A record whose biases' part counts."""
    judged(pair_weights, without_biases, holds=False)


def variant_error(pair_error):
    """A long input, or a long row of B."""
    judged(pair_error, of_errors, holds=False)


def variant_own(pair_own):
    """Any record that is clipped."""
    judged(pair_own, lambda D: optical(D, lambda e, _: max(map(abs, e)) / 2), holds=True)


def variant_batch(pair_batch):
    """A record with a large error puts out the light of others."""
    judged(pair_batch, lambda D: optical(D, lambda _, every: max(map(abs, joined(every))) / 2), holds=False)


def variant_count(pair_count):
    """A record against all others."""
    judged(pair_count, averaged, holds=False, allowed=C / M, least=M)


# --- 5. noise


def std_value(noise_std):
    """The noise over what a record that fills the bound moves in the mean."""

    def check():
        for z, bound, m in ((1.0, 0.3, 10), (0.6, 0.05, 512), (3.0, 0.2, 2.0), (2.0, 0.1, 1e-5)):
            got = number(call(noise_std, z, bound, m), "the standard deviation")
            moved = farthest(bound, "add-remove") / m
            hint = "it is z times what a record added or removed moves in the mean, which is S / m"
            name = f"the ratio of the noise and what a record moves, for z = {z:g}, C = {bound:g} and m = {m:g}"
            close(got / moved, z, name, hint)

    fair(check, noise_std, **RIGHT)


def renyi(alpha, q, z):
    """The divergence of (1 - q) N(0, 1) + q N(1/z, 1) from N(0, 1), by the trapezoidal rule."""
    x = np.linspace(-12.0, alpha / z + 12.0, 4001)
    log_ratio = np.logaddexp(math.log1p(-q), math.log(q) + x / z - 0.5 / z**2)
    logs = alpha * log_ratio - x**2 / 2
    top = logs.max()
    return (top + math.log(np.exp(logs - top).sum() * (x[1] - x[0]) / math.sqrt(2 * math.pi))) / (alpha - 1)


def epsilon_of(z, q, steps, delta):
    """What the notebook's accountant proves, from quadratures: the smallest over its orders."""
    return min(
        steps * renyi(a, q, z) + math.log1p(-1 / a) - math.log(delta * a) / (a - 1) for a in map(float, range(2, 65))
    )


RUNS = ((3.0, 512 / 60_000, 1172, 1e-5), (1.0, 0.02, 500, 1e-6), (8.0, 0.1, 300, 1e-5), (8.0, 0.002, 1000, 1e-5))


def found_noise(least_noise, run):
    """A student's z for a run, and how the run is called."""
    target, q, steps, delta = run
    z = number(call(least_noise, *run), "the noise multiplier")
    if not 0.01 < z < 1000:
        raise mismatch("the noise multiplier", z, "a number from 0.3 to 30")
    return z, f"for the target {target:g}, q = {q:.4g}, {steps} steps and delta = {delta:g}"


def noise_enough(least_noise):
    """At most the target, but for what float32 rounds."""
    for run in RUNS:
        z, where = found_noise(least_noise, run)
        if (spent := epsilon_of(z, *run[1:])) > run[0] * (1 + 1e-6):
            near = spent < 1.01 * run[0]
            hint = "of the two ends of an interval, which keeps the promise?" if near else "it is spent over all steps"
            raise mismatch(f"the epsilon of your z = {z:.5g} {where}", f"{spent:.6g}", f"at most {run[0]:g}", hint)


def noise_spare(least_noise):
    """With 0.1 % less it is above; runs that differ need different noise."""
    every = [found_noise(least_noise, run) for run in RUNS]
    if len({z for z, _ in every}) == 1:
        raise mismatch("the noise multipliers for four runs", "the same", "others for each")
    for run, (z, where) in zip(RUNS, every, strict=True):
        if (spent := epsilon_of(z / 1.001, *run[1:])) < run[0] * (1 - 1e-6):
            name = f"the epsilon of 0.1 % less noise than your z = {z:.5g} {where}"
            raise mismatch(name, f"{spent:.6g}", f"more than {run[0]:g}", "a smaller z will do")
