"""The checks of problem set 6, one for each graded cell.

Their oracles are loops over records and numbers, records and batches that attain a bound, and quadratures.
"""

import math
from itertools import islice, pairwise, product

import numpy as np

from nfa.course.checking import (
    RTOL,
    Wrong,
    answered,
    array,
    arrays,
    call,
    close,
    common_factor,
    fair,
    guessed,
    held,
    layers,
    misfit,
    mismatch,
    number,
    numbers,
    pair,
    passes,
    seeded,
    unless_lost,
)

SIZES = [4, 5, 3, 6]  # three layers of different sizes, so every wrong index of a layer has an effect
# A pair refutes a claimed bound if it exceeds the bound by more than this share of the bound. A pair attains the bound
# if it differs from the bound by at most this share.
NEAR = 1e-3
MOST = 20  # largest number of records in a batch


def case(seed, k=6, sizes=SIZES):
    """Random dz and h that belong to no network. The norms differ from record to record."""
    rng = seeded(seed)
    far = np.geomspace(0.2, 5.0, max(k, 1))[rng.permutation(max(k, 1))[:k], None]
    dz = [None] + [far * rng.normal(size=(k, n)) for n in sizes[1:]]
    return dz, [rng.normal(size=(k, n)) for n in sizes]


# --- oracles, which also replace earlier exercises


def norm_of(v):
    """The l2 norm without overflow of a square; infinite or nan if an entry is infinite or nan."""
    return math.hypot(*(float(a) for a in v))


def layered(dz, h):
    """One record's direction from its vectors dz[l] and h[l]: for each layer the weights, row by row, and the biases.

    Slot 0 of dz is not used.
    """
    return [[d * a for d in above for a in below] + list(above) for above, below in zip(dz[1:], h, strict=False)]


def joined(layers):
    """All entries of all layers in one list."""
    return [a for layer in layers for a in layer]


def clipped(v, C):
    """The vector, scaled down to the norm C if its norm is larger, in a loop; zeros if its norm is not finite."""
    norm = norm_of(v)
    factor = min(1.0, C / norm) if norm else 1.0
    return [a * factor if math.isfinite(norm) else 0.0 for a in v]


def record(lists, i):
    """The rows of record i, for a list of layers."""
    return [None if a is None else [float(value) for value in a[i]] for a in lists]


def norms_by_loops(dz, h):
    """The norm of each record's direction, which the oracle forms."""
    return np.array([norm_of(joined(layered(record(dz, i), record(h, i)))) for i in range(len(dz[1]))])


def sum_by_loops(dz, h, C):
    """The sum of the clipped directions, which the oracle forms one by one."""
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
    """W, b and B of a network of ReLU layers; ``gain`` multiplies the notebook's B."""
    W = [None, *(rng.normal(size=(n, below)) / math.sqrt(below) for below, n in pairwise(sizes))]
    b = [None, *(0.1 * rng.normal(size=n) for n in sizes[1:])]
    return W, b, [None, *(gain * rng.normal(size=(n, sizes[-1])) for n in sizes[1:-1])]


def pass_of(W, b, x):
    """One record's z[l], the inputs h[l] of the layers above for l < L, and the probabilities."""
    z, h = [None], [[float(a) for a in x]]
    for l in range(1, len(W)):
        z.append(
            [math.fsum(w * a for w, a in zip(row, h[-1], strict=True)) + c for row, c in zip(W[l], b[l], strict=True)]
        )
        h.append([max(a, 0.0) for a in z[l]])
    powers = [math.exp(a - max(z[-1])) for a in z[-1]]
    return z, h[:-1], [p / sum(powers) for p in powers]


def error_of(W, b, x, label):
    """The error of one record."""
    return [p - (k == label) for k, p in enumerate(pass_of(W, b, x)[2])]


def direction_of(W, b, B, x, e, fed=None):
    """One record's direction by layers, for the error e; B multiplies e or the vector ``fed``."""
    z, h, _ = pass_of(W, b, x)
    fed = e if fed is None else fed
    dz = [
        [math.fsum(c * s for c, s in zip(row, fed, strict=True)) * (a > 0) for row, a in zip(B[l], z[l], strict=True)]
        for l in range(1, len(B))
    ]
    return layered([None, *dz, e], h)


def term_of(net, x, label, C):
    """The term of a record in the sum: its whole direction, clipped."""
    W, b, B = net
    return clipped(joined(direction_of(W, b, B, x, error_of(W, b, x, label))), C)


def farthest(C, relation):
    """The largest distance of two sums: the norm of a term, or the distance of two terms with opposite errors."""
    net = network([2, 3, 2], seeded(30))
    one, other = (term_of(net, [0.0, 0.0], label, C) for label in (0, 1))
    return norm_of(one) if relation == "add-remove" else norm_of(a - b for a, b in zip(one, other, strict=True))


RIGHT = {"norms": norms_by_loops, "joint_sum": sum_by_loops, "moves": farthest}


# --- 1. norms


def norms_values(norms):
    """Compare with directions that are formed record by record."""
    dz, h = case(20)
    got = array(call(norms, dz, h), (6,), "the array of norms")
    hint = "layer l adds the entries of dz[l] h[l-1]^T for its weights and of dz[l] for its biases to one long vector"
    close(got, norms_by_loops(dz, h), "the array of norms", hint)


HELD = 800_000  # bytes; a direction below needs 1,640,000 bytes in float32; its dz and h need 10,240 bytes in float64


def memory_case(k, n):
    """Positive dz and h, so that every sum has a square root. A student's sum may omit one of the two layers."""
    dz, h = case(23, k, [n, n, 3 if k < n else n])
    return [None, *(abs(a) for a in dz[1:])], [abs(a) for a in h]


def norms_memory(norms):
    """The peak memory for a layer with 400,000 weights. Another cell checks the shape and the numbers.

    If the numbers lost their point, the case has as many records as units, so a sum over any axes works.
    """

    def check(k, n):
        call(norms, *case(22, 3, [3, 3, 3]))  # the first call may import modules
        dz, h = memory_case(k, n)
        found, most = held(norms, dz, h)
        other = call(norms, [None, *(2 * a for a in dz[1:])], [3 * a for a in h])
        found, other = (numbers(value, "the norms") for value in (found, other))
        if not found.min() > 0:
            raise mismatch("the norm of a direction that is not zero", found.min(), "a positive number")
        if np.array_equal(found, other):
            raise mismatch("the norms of larger directions", "the norms of the smaller directions", "other numbers")
        if most > HELD:
            name = f"the memory for {k} records, {n} inputs and {n} units"
            hint = "what is the norm of an outer product, in terms of its two vectors?"
            told = f"a few times the {16 * k * n / 1e6:.2g} MB of dz and h"
            raise mismatch(name, f"{most / 1e6:.1f} MB at once", told, hint)

    unless_lost(lambda: check(2, 640), lambda: check(60, 60), lambda: norms_values(norms))


# --- 2. the sum


def summed(joint_sum, dz, h, C):
    """The result of a student's sum, with all entries as one vector."""
    dW, db = pair(call(joint_sum, dz, h, C), "dW and db")
    like = sum_by_loops([None, *(a[:0] for a in dz[1:])], [a[:0] for a in h], C)
    both = arrays(dW, like[0], "dW"), arrays(db, like[1], "db")
    return flat(both)


def flat(both):
    """The entries of the lists dW and db as one vector."""
    return np.concatenate([np.ravel(a) for one in both for a in one[1:]])


def shaped(joint_sum, dz, h, C, what):
    """Check that each array of a student's sum has the shape of W or b, for any batch."""
    both = pair(call(joint_sum, dz, h, C), "dW and db")
    like = sum_by_loops([None, *(a[:0] for a in dz[1:])], [a[:0] for a in h], C)
    hint = "for every batch, dW[l] has the shape of W[l], and db[l] has the shape of b[l]"
    for name, mine, right in zip(("dW", "db"), both, like, strict=True):
        for l, value in enumerate(layers(mine, 1, len(dz) - 1, name)):
            if l and np.shape(value) != right[l].shape:
                raise mismatch(f"the shape of {name}[{l}] of {what}", np.shape(value), right[l].shape, hint)


def unshaped(joint_sum, dz, h, C):
    """The result of a student's sum as one vector, for arrays of any shapes. Another cell checks the shapes."""
    both = pair(call(joint_sum, dz, h, C), "dW and db")
    lists = [layers(value, 1, len(dz) - 1, name) for value, name in zip(both, ("dW", "db"), strict=True)]
    return np.concatenate([numbers(a, "an entry of dW or db") for one in lists for a in one[1:]])


def sum_direction(joint_sum):
    """All entries together, up to a positive factor; half of the records are clipped."""

    def check():
        for seed in (30, 31):
            dz, h = case(seed)
            C = float(np.median(norms_by_loops(dz, h)))
            got, want = summed(joint_sum, dz, h, C), flat(sum_by_loops(dz, h, C))
            factor = common_factor(got, want)
            if factor is None or factor < 0:
                cosine = float(got @ want) / max(norm_of(got) * norm_of(want), 1e-300)
                hint = (
                    "do you clip each record's whole direction, with all layers and biases, and leave a direction "
                    "with a norm below C unchanged?"
                )
                name = "the cosine between your sum (dW and db as one vector) and the right sum"
                raise mismatch(name, cosine, 1, hint)

    fair(check, joint_sum, **RIGHT)


def sum_norm(joint_sum):
    """The norm of a sum of records with norms below C, or else of equal records with norms above C.

    If the function scales up small directions, it fails the first case. If it clips another norm, it fails the second
    case. Each of these mistakes passes one of the cases, and `sum_direction` finds it. A mean fails both cases. If the
    direction lost its point, the records have the norm C, and the right norm of the biases is enough.
    """

    def compare(dz, h, C, what):
        want = flat(sum_by_loops(dz, h, C))
        hint = "add the terms of all records, without a division"
        close(norm_of(unshaped(joint_sum, dz, h, C)), norm_of(want), f"the norm of the sum of {what}", hint)

    def none():
        if np.abs(unshaped(joint_sum, *case(34, 0), 1.0)).max() > 0:
            raise mismatch("the sum of no records", "numbers that are not 0", "0 everywhere")
        shaped(joint_sum, *case(34, 0), 1.0, "a batch without records")

    def at_the_bound():
        for C in (1.0, 0.5):
            dz, h = case(32)
            dz = [None, *(C * a / norms_by_loops(dz, h)[:, None] for a in dz[1:])]
            both = pair(call(joint_sum, dz, h, C), "dW and db")
            want = {a.size: a for one in sum_by_loops(dz, h, C) for a in one[1:]}  # the arrays have different sizes
            found = [numbers(a, "an entry of dW or db") for one in both for a in one if a is not None]
            here = [(a, want[a.size]) for a in found if a.size in want]
            parts = here, [two for two in here if two[1].ndim == 1]
            norms = [
                [norm_of(np.concatenate([a.ravel() for a in v])) for v in zip(*part, strict=True)]
                for part in parts
                if part
            ]
            if not any(passes(close, max(got, want) if C < 1 else got, want, "") for got, want in norms):
                told = f"{'' if C == 1 else 'at most '}the norm of the sum of 6 clipped directions"
                name = f"the norm of the sum of 6 records with the norm C = {C:g}"
                raise mismatch(name, norm_of(np.concatenate(found)), told)
        few = pair(call(joint_sum, *case(34, 0), 1.0), "dW and db")
        if any(np.abs(np.asarray(a, dtype=float)).max(initial=0) > 0 for one in few for a in one if a is not None):
            raise mismatch("the sum of no records", "numbers that are not 0", "0 everywhere")

    def check():
        dz, h = case(32)
        try:
            compare(dz, h, 1e6, "6 records with C = 1e6")
        except Wrong as first:
            dz, h = ([a if a is None else np.repeat(a, 4, axis=0) for a in lists] for lists in case(33, 1, [4, 5]))
            try:
                compare(dz, h, 0.01, "4 equal records with C = 0.01")
            except Wrong:
                raise first from None
        dz, h = case(36)
        compare([None, *(1e-6 * a for a in dz[1:])], h, 1e-6, "6 records with small dz and C = 1e-6")
        none()

    fair(lambda: unless_lost(check, at_the_bound, lambda: sum_direction(joint_sum)), joint_sum, **RIGHT)


def kinds():
    """Kinds of an additional record, as pairs (text, change). ``change`` returns the record's own dz and h.

    The first kind has a direction of zero. The norm of each other kind is infinite, nan or overflows.
    """

    def everywhere(above, below):
        return lambda dz, h: (
            [a if a is None else np.full(a.shape, above) for a in dz],
            [np.full(a.shape, below) for a in h],
        )

    def once(of_dz, l, value):
        def change(dz, h):
            (dz if of_dz else h)[l][0, -1] = value
            return dz, h

        return change

    nan, inf = math.nan, math.inf
    yield "one record has the direction 0", everywhere(0.0, 1.0)
    for value in (inf, -inf, nan, 1e200):
        yield f"all entries of the dz of one record are {value:g}", everywhere(value, 1.0)
        yield f"all entries of the h of one record are {value:g}", everywhere(1.0, value)
    yield "the dz of one record is 0, and its h is infinite", everywhere(0.0, inf)
    yield "the dz and h of one record are 1e200", everywhere(1e200, 1e200)
    for value in (inf, nan):
        for l in range(1, len(SIZES)):
            yield f"one entry of dz[{l}] of one record is {value:g}", once(True, l, value)
            yield f"one entry of h[{l - 1}] of one record is {value:g}", once(False, l - 1, value)


def sum_any(joint_sum):
    """An additional record of any kind moves the student's own sum by at most C.

    The additional record is in the middle of the batch or alone. If the direction lost its point, the terms can have
    any norm, and the sum must be finite. The shapes for a single record are tested only if the other cells pass.
    """
    C = 0.5

    def entries(dz, h, what):
        with np.errstate(all="ignore"):
            both = pair(call(joint_sum, dz, h, C), "dW and db")
        try:
            found = np.concatenate([np.ravel(np.asarray(a, dtype=float)) for one in both for a in one[1:]])
        except (TypeError, ValueError):
            raise mismatch(f"dW and db where {what}", "other values", "lists of arrays with None in slot 0") from None
        if not np.isfinite(found).all():
            raise mismatch(f"an entry of dW or db where {what}", found[~np.isfinite(found)][0], "a finite number")
        return found

    def check(kinds, most=C):
        few = entries(*case(35, 5), "all numbers are finite")
        for what, change in kinds:
            dz, h = case(35, 5)
            own = change(*case(36, 1))
            dz, h = (
                [a if a is None else np.concatenate([a[:2], one, a[2:]]) for a, one in zip(old, new, strict=True)]
                for old, new in zip((dz, h), own, strict=True)
            )
            moved = norm_of(entries(dz, h, what) - few)
            if moved > most * (1 + NEAR):
                raise mismatch(
                    f"the distance of the sums with and without a record where {what}", moved, f"at most C = {C:g}"
                )
            alone = norm_of(entries(*own, f"the batch has one record, and {what}"))
            if alone > most * (1 + NEAR):
                raise mismatch(f"the norm of the sum if the batch has one record, and {what}", alone, f"at most {C:g}")

    def strict():
        every = list(kinds())
        check(every)
        if passes(sum_direction, joint_sum) and passes(sum_norm, joint_sum):
            for what, change in every:
                shaped(joint_sum, *change(*case(36, 1)), C, f"a batch with one record, where {what}")

    def lenient():
        check(list(kinds())[1:], most=math.inf)

    fair(lambda: unless_lost(strict, lenient, lambda: sum_direction(joint_sum)), joint_sum, **RIGHT)


# --- 3. the effect of one record

BOUNDS = (0.3, 0.05)  # bounds C that a record of the oracle's network attains


def bounded(moves, C, relation, hint):
    """Compare a sensitivity with neighbours that attain the bound."""
    got, want = number(call(moves, C, relation), "the sensitivity"), farthest(C, relation)
    if abs(got - want) > RTOL * want:
        told = "a larger number, because some neighbours have a larger distance" if got < want else "a smaller number"
        raise mismatch(f'the sensitivity under "{relation}" with C = {C:g}', got, told, hint)


def moves_record(moves):
    """One term is added, or one term is replaced by its opposite."""
    for C in BOUNDS:
        bounded(moves, C, "add-remove", "how many terms of the sum change?")
        bounded(moves, C, "replace-one", "one term is replaced by another term, with any direction")


def label_only_answer(label_only):
    """The distance by which the change of one label moves the sum."""
    answered(label_only, "c", "which angle can the two clipped directions have, if there are two classes?")


def premises_needed(premises):
    """The bound needs the sentences 1, 3 and 6. It also holds if one of the other sentences is false."""

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
        told = "fewer sentences" if wanted < set(found) else "other sentences"
        hint = f"if sentence {min(spare)} is false, can the clipped direction of a record have a norm above C?"
        raise mismatch("the sentences", found, told, hint)
    if set(found) != wanted:
        hint = "how could a record change the terms of other records, or have a term with a norm above C?"
        raise mismatch("the sentences", found, "more sentences", hint)


def read_vector(value, n, name):
    """A student's vector of n numbers, as floats."""
    return array(value, (n,), name)


NETS = (([3, 4, 3], 40), ([5, 6, 4, 2], 41), ([2, 8, 8, 4, 3], 42), ([3, 6, 3], 43), ([2, 7, 5, 2], 44))
DOMINANT = {41: 0.0, 43: 50.0, 44: 1.0}  # seeds of networks with one most likely class for all large inputs
GAINS = ((0.0, "B = 0"), (1.0, "B as in the notebook"), (1e4, "10,000 times this B"))


def attains_C(attain):
    """The norm of the clipped direction of the student's record, in loops.

    In the networks of `DOMINANT`, class 0 is more likely than the others for all large inputs, so its error is 0 there.
    For small inputs the biases make class 0 the least likely class, unless the number in `DOMINANT` is 0.
    """

    def check():
        for (sizes, seed), (gain, what), C in product(NETS, GAINS, (0.1, 20.0, 1e5)):
            W, b, B = net = network(sizes, seeded(seed), gain)
            if seed in DOMINANT:
                signs = np.array([1.0] + [-1.0] * (sizes[-1] - 1))
                top = b[-1] if DOMINANT[seed] == 0 else -DOMINANT[seed] * signs
                net = [*W[:-1], signs[:, None] * abs(W[-1])], [*b[:-1], top], B
            x, label = pair(call(attain, *net, C), "x and label")
            x, label = read_vector(x, sizes[0], "x"), number(label, "the label")
            if label not in range(sizes[-1]):
                raise mismatch("the label", label, f"a whole number from 0 to {sizes[-1] - 1}")
            found = norm_of(term_of(net, x, label, C))
            if not found >= C * (1 - RTOL):
                hint = "which layer does not depend on B, and which label and which input give it a large norm?"
                others = set(range(sizes[-1])) - {label}
                if any(norm_of(term_of(net, x, other, C)) >= C * (1 - RTOL) for other in others):
                    hint = "another label of this x gives the norm C: which class is the most likely one for this x?"
                name = f"the norm of the record's clipped direction, layers of {sizes}, {what} and C = {C:g}"
                raise mismatch(name, found, C, hint)

    fair(check, attain, **RIGHT)


# --- 4. variations: read a pair

C, M = 0.5, 4
NET = network([2, 4, 2], np.random.default_rng(9))  # the network of the notebook


def handed_in(pair_of, least=0):
    """The verdict and two batches with all records read; raises Wrong if they are not add-remove neighbours."""
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
        told = f"{len(both[0])} and {len(both[1])} records, {len(many) - len(left)} of them in both batches"
        raise mismatch("the records of the two batches", told, "the same records, and one more in one batch")
    return verdict, *batches


def read_record(value):
    """The record (x, label), with x as a tuple of two floats and label as an integer."""
    if not isinstance(value, tuple | list | np.ndarray) or len(value) != 2:
        raise misfit("a record", value, "a pair (x, label)")
    x, label = read_vector(value[0], 2, "x"), number(value[1], "a label")
    if label not in (0, 1):
        raise mismatch("a label", label, "0 or 1")
    return tuple(x.tolist()), int(label)


def judged(pair_of, release, holds, allowed=C, least=0):
    """Check the verdict, and whether the pair is evidence for it."""
    verdict, D, other = handed_in(pair_of, least)
    moved = norm_of(a - b for a, b in zip(release(D), release(other), strict=True))

    def told(expected, hint):
        return mismatch("the distance of the two releases", f"{moved:.5g}", expected, hint)

    if verdict == "fails" and not moved > (1 + NEAR) * allowed:
        raise told(f'more than {allowed:g} for "fails"', "search for another pair, or prove that the claim holds")
    if verdict == "holds" and moved > (1 + NEAR) * allowed:
        raise told(f'{allowed:g} for "holds"', "the distance exceeds the claimed bound, so what does your pair show?")
    if verdict == "holds" and not moved >= (1 - NEAR) * allowed:
        raise told(f'{allowed:g} for "holds" (the verdict is not checked yet)', "which records move the release most?")
    if verdict == "holds" and not holds:
        raise told("a larger distance", "your pair attains the claimed bound, but another pair exceeds it")


def total(terms):
    """The sum of vectors, entry by entry; zeros if there are no vectors."""
    return [math.fsum(column) for column in zip([0.0] * 22, *terms, strict=True)]


def layers_of(x, e, fed=None):
    """A record's direction in the notebook's network, by layers with 12 and 10 entries."""
    return direction_of(*NET, x, e, fed)


def errors(D):
    """The pair (x, e) of every record."""
    return [(x, error_of(*NET[:2], x, label)) for x, label in D]


def by_layers(D):
    """The release of variation "layers"."""
    return total([joined(clipped(layer, C) for layer in layers_of(x, e)) for x, e in errors(D)])


def of_errors(D):
    """The release of variation "error"."""
    return total([joined(layers_of(x, clipped(e, C))) for x, e in errors(D)])


def optical(D, threshold):
    """The releases of variations "own" and "batch". ``threshold`` is a function of one error and of all errors."""
    every, terms = errors(D), []
    for x, e in every:
        least = threshold(e, [f for _, f in every])
        fed = [norm_of(e) * math.copysign(1.0, a) if abs(a) >= least else 0.0 for a in e]
        terms.append(clipped(joined(layers_of(x, e, fed)), C))
    return total(terms)


def averaged(D):
    """The release of variation "count"."""
    return [a / len(D) for a in total([term_of(NET, x, label, C) for x, label in D])]


# --- 4. variations, one for each cell


def guess_made(guess):
    """Check the guess: three numbers between 0 and 100."""
    guessed(guess, *(f'the number of pairs for "{name}"' for name in ("layers", "own", "batch")), most=100)


def variant_layers(pair_layers):
    """Check the pair for "layers". A record with large directions in both layers refutes the claim."""
    judged(pair_layers, by_layers, holds=False)


def variant_error(pair_error):
    """Check the pair for "error". A large input, or a large row of B, refutes the claim."""
    judged(pair_error, of_errors, holds=False)


def variant_own(pair_own):
    """Check the pair for "own". Any record that is clipped attains the bound."""
    judged(pair_own, lambda D: optical(D, lambda e, _: max(map(abs, e)) / 2), holds=True)


def variant_batch(pair_batch):
    """Check the pair for "batch". A record with a large error can raise the threshold above all other errors."""
    judged(pair_batch, lambda D: optical(D, lambda _, every: max(map(abs, joined(every))) / 2), holds=False)


def variant_count(pair_count):
    """Check the pair for "count". A record with a direction opposite to all others refutes the claim."""
    judged(pair_count, averaged, holds=False, allowed=C / M, least=M)


def device_answer(device):
    """The property of a device that breaks the bound."""
    answered(device, "b", "for which property can one record change the answers for other records?")


# --- 5. noise


def std_value(noise_std):
    """The noise divided by the distance that a record with a term of norm C moves the mean."""

    def check():
        for z, bound, m in ((1.0, 0.3, 10), (0.6, 0.05, 512), (3.0, 0.2, 2.0), (2.0, 0.1, 1e-5)):
            got = number(call(noise_std, z, bound, m), "the standard deviation")
            moved = farthest(bound, "add-remove") / m
            hint = "it is z times the distance that one record more or less moves the mean S / m"
            name = f"the noise divided by the sensitivity of the mean, for z = {z:g}, C = {bound:g} and m = {m:g}"
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
    """The epsilon of the notebook's accountant, from quadratures: the smallest over its orders."""
    return min(
        steps * renyi(a, q, z) + math.log1p(-1 / a) - math.log(delta * a) / (a - 1) for a in map(float, range(2, 65))
    )


RUNS = (
    (3.0, 512 / 60_000, 1172, 1e-5),
    (1.0, 0.02, 500, 1e-6),
    (8.0, 0.1, 300, 1e-5),
    (8.0, 0.002, 1000, 1e-5),
    # With these small z, an interval of absolute length 0.001 is too long.
    (14.0, 0.001, 2000, 1e-5),
    (20.0, 0.002, 1500, 1e-5),
)


def found_noise(least_noise, run):
    """A student's z for a run, and a description of the run."""
    target, q, steps, delta = run
    z = number(call(least_noise, *run), "the noise multiplier")
    if not 0.01 < z < 1000:
        raise mismatch("the noise multiplier", z, "a number from 0.3 to 30")
    return z, f"for the target {target:g}, q = {q:.4g}, {steps} steps and delta = {delta:g}"


def noise_enough(least_noise):
    """The epsilon of the student's z is at most the target, up to the rounding of float32."""
    for run in RUNS:
        z, where = found_noise(least_noise, run)
        if (spent := epsilon_of(z, *run[1:])) > run[0] * (1 + 1e-6):
            near = spent < 1.01 * run[0]
            hint = "which end of your interval satisfies the target?" if near else "count all steps of the run"
            raise mismatch(f"the epsilon of your z = {z:.5g} {where}", f"{spent:.6g}", f"at most {run[0]:g}", hint)


def noise_spare(least_noise):
    """A z that is 0.1 % smaller exceeds the target; different runs need different noise."""
    every = [found_noise(least_noise, run) for run in RUNS]
    if len({z for z, _ in every}) == 1:
        raise mismatch(f"the noise multipliers for {len(RUNS)} runs", "one number for all", "different numbers")
    for run, (z, where) in zip(RUNS, every, strict=True):
        if (spent := epsilon_of(z / 1.001, *run[1:])) < run[0] * (1 - 1e-6):
            name = f"the epsilon of a z that is 0.1 % smaller than your z = {z:.5g} {where}"
            raise mismatch(name, f"{spent:.6g}", f"more than {run[0]:g}", "a smaller z is enough")


def larger_batch_answer(larger_batch):
    """How z and the noise on the mean depend on the batch size."""
    hint = "which z does `least_noise` return for each size, and how large is the noise on the mean?"
    answered(larger_batch, "c", hint)
