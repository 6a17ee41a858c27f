"""The checks of problem set 4, one for each graded cell.

Their oracles are loops over records and numbers, and records that attain a bound.
"""

import math

import numpy as np

from nfa.course.checking import (
    RTOL,
    answered,
    array,
    arrays,
    call,
    charged_once,
    close,
    common_factor,
    fair,
    fitting,
    guessed,
    held,
    layers,
    misfit,
    mismatch,
    number,
    numbers,
    pair,
    passes,
    same_line,
    same_scale,
    seeded,
    unless_lost,
)

SIZES = [4, 5, 3, 6]  # three layers of different sizes, so that a wrong layer number has an effect


def case(seed, k=6, sizes=SIZES):
    """Random dz and h, not of a network. The norms differ from record to record."""
    rng = seeded(seed)
    far = np.geomspace(0.2, 5.0, max(k, 1))[rng.permutation(max(k, 1))[:k], None]
    dz = [None] + [far * rng.normal(size=(k, n)) for n in sizes[1:]]
    return dz, [rng.normal(size=(k, n)) for n in sizes]


# --- oracles, which also replace earlier exercises


def long_vectors(dz, h):
    """For each record a list over the layers: all entries of the gradients by W[l] and b[l], in this order."""
    return [
        [[d * a for d in dz[l][i] for a in h[l - 1][i]] + list(dz[l][i]) for l in range(1, len(dz))]
        for i in range(len(dz[1]))
    ]


def l2_norm(v):
    """The l2 norm, entry by entry."""
    return math.sqrt(math.fsum(float(a) * float(a) for a in v))


def norms_by_loops(dz, h):
    """The norms of all layers, from all entries of the gradients."""
    rows = [[l2_norm(layer) for layer in record] for record in long_vectors(dz, h)]
    return np.array(rows).reshape(len(dz[1]), len(dz) - 1)


def joint_by_loops(dz, h):
    """The norms of the gradients by all layers together."""
    return np.array([l2_norm([a for layer in record for a in layer]) for record in long_vectors(dz, h)])


def factors_by_loops(norms, C):
    """The factor C / norm for norms above C, and the factor 1 for all other norms."""
    return np.vectorize(lambda norm: C / norm if norm > C else 1.0, otypes=[float])(np.asarray(norms, dtype=float))


def clipped_by_loops(dz, h, C, m):
    """The sum of the clipped long vectors, divided by m, as lists over the layers."""
    L = len(dz) - 1
    sizes = [(np.shape(dz[l])[1], np.shape(h[l - 1])[1]) for l in range(1, L + 1)]
    totals = [np.zeros(n * size + n) for n, size in sizes]
    for record in long_vectors(dz, h):
        norm = l2_norm([a for layer in record for a in layer])
        for total, layer in zip(totals, record, strict=True):
            total += np.array(layer) * (C / norm if norm > C else 1.0) / m
    pieces = [(t[: n * size].reshape(n, size), t[n * size :]) for t, (n, size) in zip(totals, sizes, strict=True)]
    return [None, *(w for w, _ in pieces)], [None, *(v for _, v in pieces)]


def moved_by_one(C, m, adjacency):
    """The change of the result if a record with norm C[l] in every layer is added, or replaces its opposite."""
    entries = [c * u for c in C[1:] for u in (0.6, -0.8)]
    sign = {"add-remove": 0.0, "replace-one": -1.0}[adjacency]
    return l2_norm([(a - sign * a) / m for a in entries])


# --- 1. norms


def norms_values(norms):
    """All entries of large and small gradients, and a record with inputs 0, which has gradients by the biases only."""
    for size in (1.0, 1e-5):
        dz, h = case(20)
        dz = [None, *(size * d for d in dz[1:])]
        h[0][1] = 0.0
        got, want = array(call(norms, dz, h), (6, 3), "norms"), norms_by_loops(dz, h)
        for l in range(1, 4):
            hint = f"layer {l} needs dz[{l}] and h[{l - 1}], and the gradient by the biases is a part of the vector"
            name = f"the norms of layer {l}{' for small gradients' * (size < 1)}"
            close(got[:, l - 1], want[:, l - 1], name, hint)


# bytes; one gradient in one layer needs 1,640,000 bytes in float32, and dz and h need 71,680 bytes in float64
HELD = 800_000


def norms_memory(norms):
    """The largest memory for layers with 400,000 weights. Another cell tests the shape and the values."""
    call(norms, *case(22, 2, [3, 3, 3, 3]))  # the first call may import modules
    dz, h = case(23, 2, [640, 640, 640, 640])
    # positive numbers, so that without a square no root of a negative number occurs
    dz, h = [None, *map(np.abs, dz[1:])], list(map(np.abs, h))
    found, most = held(norms, dz, h)
    found, twice = (
        numbers(value, "norms") for value in (found, call(norms, [None, *(2 * a for a in dz[1:])], [3 * a for a in h]))
    )
    if not found.min() > 0:
        raise mismatch("the norm of a gradient that is not zero", found.min(), "a positive number")
    if np.array_equal(found, twice):
        raise mismatch("the norms of larger gradients", "the norms of the smaller gradients", "other numbers")
    if most > HELD:
        name = "the memory for 2 records and three layers of 640 inputs and 640 units"
        hint = "how does the norm of an outer product follow from the norms of its two vectors?"
        raise mismatch(name, f"{most / 1e6:.1f} MB", "a few times the 0.07 MB of dz and h", hint)


def joint_values(joint_norms):
    """The norms of all entries of all layers as one vector."""

    def check():
        dz, h = case(24)
        got = array(call(joint_norms, dz, h), (6,), "the array of joint norms")
        hint = "the norm of a long vector is not the sum of the norms of its parts"
        close(got, joint_by_loops(dz, h), "the array of joint norms", hint)

    fair(check, joint_norms, norms=norms_by_loops)


# --- 2. clip


def factors_values(clip_factors):
    """Positive norms below, at and above C, also for a small C."""
    for C in (0.5, 3.0, 1e-6):
        norms = C * np.array([0.01, 0.5, 0.999, 1.0, 1.001, 2.0, 700.0])
        got = array(call(clip_factors, norms, C), (7,), "the factors")
        if (got[:3] > 1 + 1e-4).any():
            name = f"the factor for a norm below C = {C:g}"
            raise mismatch(name, got[:3].max(), 1, "clipping does not change a gradient with such a norm")
        name = f"the norms after clipping with C = {C:g}"
        close(got * norms, np.minimum(norms, C), name, "clipping changes only norms above C, to C")


def factors_zero(clip_factors):
    """A zero among other norms. If `factors_values` fails, the factor of the zero must be the limit for small norms.

    The factors of the other norms must be the student's own factors without a zero.
    """

    def factor(norm, C=1.0, at=1):
        found = call(clip_factors, np.array([2.0, norm, 0.5]), C)
        try:
            return float(found[at])
        except (TypeError, ValueError, IndexError, KeyError):
            raise misfit("the result of clip_factors", found, "a number for each norm, also for 0") from None

    def check():
        if not abs(factor(0.0) - 1) < 1e-4:
            raise mismatch("the factor for a gradient of zero", factor(0.0), 1, "there is nothing to clip")

    def limit():
        zero, near = (min(factor(norm), 1e100) for norm in (0.0, 1e-200))
        if not abs(zero - near) < 1e-4:
            raise mismatch("the factor for a gradient of zero", zero, near)

    unless_lost(check, limit, lambda: factors_values(clip_factors))
    if all(factor(norm) == factor(norm, C=4.0) for norm in (2.0, 8.0)):
        raise mismatch("the factors with C = 1 and with C = 4", "equal numbers", "different numbers")
    for at, other in ((0, 2.0), (2, 0.5)):
        alone, beside = (factor(norm, at=at) for norm in (1.0, 0.0))
        name = f"the factor for the norm {other:g} with C = 1, if another norm in the array is 0"
        close(beside, alone, name, "a zero changes no factor of another norm")


EARLIER = {
    "norms": norms_by_loops,
    "joint_norms": joint_by_loops,
    "clip_factors": factors_by_loops,
}


def whole(value, L, name):
    """A list of layers with its slot 0."""
    return layers(value, 1, L, name)


def listed(value, L, name):
    """A list of layers, also without slot 0, too long or too short, because another cell tests the slots."""
    if isinstance(value, list | tuple) and len(value):
        value = [*value] if value[0] is None or len(value) > L else [None, *value]
        value = [*value, *[None] * L][: L + 1]
    return layers(value, 1, L, name)


def release(value, dz, h, read=whole):
    """The result of a student's step, as lists of arrays with the right shapes."""
    dW, db = pair(value, "dW and db")
    like = draws(dz, h, 0)
    L = len(dz) - 1
    return arrays(read(dW, L, "dW"), like[0], "dW"), arrays(read(db, L, "db"), like[1], "db")


def every(lists):
    """Pairs (name, array) for each dW[l] and db[l]."""
    return [(f"{name}[{l}]", one[l]) for name, one in zip(("dW", "db"), lists, strict=True) for l in range(1, len(one))]


def clipped_values(clipped_mean):
    """The direction of each array, up to a factor, if about half of the records are clipped."""

    def check():
        for seed in (30, 31):
            dz, h = case(seed)
            C = float(np.median(joint_by_loops(dz, h)))
            got = release(call(clipped_mean, dz, h, C, 6), dz, h)
            want = clipped_by_loops(dz, h, C, 6)
            hint = "clip one vector for each record, which contains the weights and biases of all layers"
            for (name, mine), (_, right) in zip(every(got), every(want), strict=True):
                same_line(mine, right, name, hint)

    fair(check, clipped_mean, **EARLIER)


def clipped_m(clipped_mean):
    """Without clipping, the sum divided by m, for any m, for an empty batch and for a record with a zero gradient.

    The check uses the arrays with the right direction, also transposed, because another cell tests the direction. If
    `clipped_values` fails, there are two lenient checks. The first uses only the arrays that are right with clipping.
    The second requires that m times the result does not depend on m. The shapes for an empty batch are tested only if
    `clipped_values` passes.
    """

    def both(dz, h, C, m):
        dW, db = pair(call(clipped_mean, dz, h, C, m), "dW and db")
        return listed(dW, 3, "dW"), listed(db, 3, "db")

    def one_case():
        dz, h = case(32)
        for l in (1, 2, 3):
            dz[l][2] = 0.0
        return dz, h

    hint = "divide the sum over the records once by m, for every number of records"

    def right(places=None):
        dz, h = one_case()
        for m in (4, 13):
            dW, db = both(dz, h, 1e6, m)
            want_W, want_b = clipped_by_loops(dz, h, math.inf, m)
            found = {**fitting(dW, want_W, "dW"), **fitting(db, want_b, "db")}
            found = {place: two for place, two in found.items() if places is None or place in places}
            same_scale(found, f"for 6 records, one of them with a zero gradient, and m = {m}", hint, hint)

    def clipped():
        dz, h = case(30)
        C = float(np.median(joint_by_loops(dz, h)))
        dW, db = both(dz, h, C, 6)
        want_W, want_b = clipped_by_loops(dz, h, C, 6)
        found = {**fitting(dW, want_W, "dW"), **fitting(db, want_b, "db")}
        return {place for place, two in found.items() if common_factor(*two) is not None}

    def lenient():
        if not passes(inverse):
            right(clipped())

    def inverse():
        dz, h = one_case()
        twice = [None, *(np.concatenate([d, d]) for d in dz[1:])], [np.concatenate([a, a]) for a in h]
        found = [dict(every(both(*batch, 1e6, m))) for batch, m in (((dz, h), 4), ((dz, h), 13), (twice, 13))]
        for name in found[0]:
            mine, other, double = (numbers(one[name], name) for one in found)
            close(13 * other, 4 * mine, f"m {name} with m = 13, compared with m = 4")
            close(double, 2 * other, f"{name} if the batch has every record twice")
            if not mine.any():
                raise mismatch(name, "zeros only", "other numbers")

    def only_records_are_clipped():
        dz, h = case(30)
        C = float(np.median(joint_by_loops(dz, h)))
        few, many = (dict(every(both(dz, h, C, m))) for m in (0.1, 10.0))
        for name in few:
            mine, other = numbers(few[name], name), numbers(many[name], name)
            told = f"{name} with clipped records and m = 0.1, compared with m = 10"
            close(mine, 100 * other, told, "clip each record's gradient only, and not the mean")

    def a_zero_beside_clipped_records():
        dz, h = one_case()
        C = float(np.median(joint_by_loops(dz, h)))
        rest = [0, 1, 3, 4, 5]
        fewer = [None, *(d[rest] for d in dz[1:])], [a[rest] for a in h]
        with_zero, without_zero = (dict(every(both(*batch, C, 6))) for batch in ((dz, h), fewer))
        for name in with_zero:
            mine, other = numbers(with_zero[name], name), numbers(without_zero[name], name)
            if mine.shape == other.shape:  # another cell tests the shapes
                told = f"{name} with clipped records and an additional record with a zero gradient"
                close(mine, other, told, "a record with a zero gradient adds nothing, and changes no other record")

    def check():
        unless_lost(right, lenient, lambda: clipped_values(clipped_mean))
        if passes(right) and passes(clipped_values, clipped_mean):
            only_records_are_clipped()
        a_zero_beside_clipped_records()
        empty = [(name, mine) for name, mine in every(both(*case(33, 0), 1.0, 5)) if np.size(mine) and mine is not None]
        if not empty:
            raise mismatch("dW and db of an empty batch", "no numbers", "numbers in the shapes of W and b")
        for name, mine in empty:
            mine = numbers(mine, f"{name} of an empty batch")
            close(mine, np.zeros_like(mine), f"{name} of an empty batch", "an empty sum is 0")
        if passes(clipped_values, clipped_mean):
            shapes()

    def shapes():
        found = pair(call(clipped_mean, *case(33, 0), 1.0, 5), "dW and db")
        for (name, mine), (_, like) in zip(every(found), every(draws(*case(33, 0), 0)), strict=True):
            if np.shape(mine) != like.shape:
                hint = "for every number of records, dW[l] has the shape of W[l], and db[l] has the shape of b[l]"
                raise mismatch(f"the shape of {name} of an empty batch", np.shape(mine), like.shape, hint)

    fair(check, clipped_mean, **EARLIER)


# --- 3. neighbours


def batches(neighbours, C, m):
    """The two batches of a student as lists of rows, the smaller one first. They must differ in one record."""
    first, second = pair(call(neighbours, C, m), "the two batches")
    try:
        first, second = (
            np.array(g, dtype=float).reshape(len(g), -1).tolist() if len(g) else [] for g in (first, second)
        )
    except (TypeError, ValueError):
        raise mismatch("a batch", "something else", "an array (k, n) whose rows are gradients") from None
    few, many = sorted((first, second), key=len)
    left, gone = list(many), 0
    for row in few:
        if row in left:
            left.remove(row)
        else:
            gone += 1
    if len(left) != 1 or gone > 1:
        told = f"{len(few)} and {len(many)} records, {len(few) - gone} of them in both batches"
        raise mismatch("the records of the two batches", told, "two batches that differ in one record")
    n = len(many[0])
    if n == 0 or not np.isfinite(many).all():
        found = "nan or infinity" if n else "no number"
        raise mismatch("a gradient", found, "one or more finite numbers")
    return few, many


def apart(few, many, C, m):
    """The distance of the clipped means of two batches, in units of C."""
    outputs, n = [], len(many[0])
    for rows in (few, many):
        mean = [math.fsum(row[j] for row in rows) / m for j in range(n)]
        outputs.append([a * (C / l2_norm(mean) if l2_norm(mean) > C else 1.0) for a in mean])
    return l2_norm(a - b for a, b in zip(*outputs, strict=True)) / C


DISTANCE = "the distance of the two results in units of C"
PAIRS = ((1.0, 10), (0.5, 64), (3.0, 2), (2e4, 300))


def neighbours_break(neighbours):
    """One batch has one record more, and the distance of the results is larger than C/m."""
    for C, m in PAIRS:
        few, many = batches(neighbours, C, m)
        for batch in call(neighbours, C, m):
            if np.ndim(batch) > 2:
                raise mismatch(
                    "the number of axes of a batch", np.ndim(batch), 2, "each row is the gradient of a record"
                )
        if len(few) == len(many):
            found = f"{len(few)} and {len(many)}"
            raise mismatch("the numbers of records in the two batches", found, "one record more in one batch")
        distance = apart(few, many, C, m)
        if not distance > 1.001 / m:
            hint = "how large can the norm of a single gradient be before the mean is clipped?"
            raise mismatch(
                f"{DISTANCE} for C = {C:g} and m = {m}", distance, f"more than 1/m, which is {1 / m:g}", hint
            )


def neighbours_worst(neighbours):
    """The largest distance of two vectors with norm at most C. If `neighbours_break` fails, gradients are scaled up."""

    def check(times=1.0):
        for C, m in PAIRS:
            few, many = ([[times * a for a in row] for row in batch] for batch in batches(neighbours, C, m))
            distance = apart(few, many, C, m)
            if distance < 1.98:
                hint = "which two points with norm at most C have the largest distance?"
                raise mismatch(f"{DISTANCE} for C = {C:g} and m = {m}", distance, "a larger distance", hint)

    unless_lost(check, lambda: check(1e6), lambda: neighbours_break(neighbours))


# --- 4. sensitivity and noise

BOUNDS = ([None, 0.7], [None, 1.0, 2.0], [None, 0.3, 0.3, 0.3, 0.3, 1.1])


def sensitivity_layers(sensitivity):
    """Compare with the distance that an added record of norm C[l] in every layer causes."""
    for C in BOUNDS:
        for m in (8, 50):
            got = number(call(sensitivity, C, m, "add-remove"), "the sensitivity")
            hint = "the parts of one added record in all layers are one long vector, which is divided by m"
            close(got, np.array(moved_by_one(C, m, "add-remove")), f"the sensitivity for C = {C[1:]} and m = {m}", hint)


def sensitivity_adjacency(sensitivity):
    """The ratio of replace-one and add-remove, with the student's own result for add-remove.

    If `sensitivity_layers` fails, three other results pass: the right sensitivity under replace-one alone, both
    sensitivities exchanged, and a right ratio if C[0] is a number.
    """

    def check(first=None, turned=False):
        for C in BOUNDS:
            C = [first, *C[1:]]
            one = number(call(sensitivity, C, 8, "add-remove"), "the sensitivity")
            two = number(call(sensitivity, C, 8, "replace-one"), "the sensitivity")
            if not min(one, two) > 0:
                raise mismatch("the sensitivity", min(one, two), "a positive number")
            got = one / two if turned else two / one
            want = moved_by_one(C, 8, "replace-one") / moved_by_one(C, 8, "add-remove")
            hint = "one record leaves, another record enters, and their gradients can have any directions"
            close(got, np.array(want), "the sensitivity under replace-one / the sensitivity under add-remove", hint)

    def alone():
        for C in BOUNDS:
            two = number(call(sensitivity, C, 8, "replace-one"), "the sensitivity")
            close(two, moved_by_one(C, 8, "replace-one"), "the sensitivity under replace-one")

    def lenient():
        if not (passes(check, 0.0) or passes(check, None, True)):
            alone()

    unless_lost(check, lenient, lambda: sensitivity_layers(sensitivity))


LATER = {**EARLIER, "clipped_mean": clipped_by_loops, "sensitivity": moved_by_one}


def draws(dz, h, seed):
    """Noise of variance 1 in the shapes of W and b."""
    rng = seeded(seed)
    L = len(dz) - 1
    return (
        [None] + [rng.normal(size=(dz[l].shape[1], h[l - 1].shape[1])) for l in range(1, L + 1)],
        [None] + [rng.normal(size=dz[l].shape[1]) for l in range(1, L + 1)],
    )


def without(noise):
    """Zeros in the shapes of the noise."""
    return tuple([None] + [0 * a for a in one[1:]] for one in noise)


def step_noise(private_step):
    """The difference from the result without noise, compared with an added record of norm C.

    Some batches have clipped records, and some have none.
    """

    def check():
        # in the last two cases no record is clipped, and m is smaller than the number of records
        cases = (
            (40, 6, 0.8, 9, 1.5),
            (41, 0, 2.5, 4, 0.7),
            (42, 3, 2.0, 3, 2.0),
            (45, 5, 2e3, 2, 0.9),
            (46, 1, 1e3, 0.5, 1.2),
        )
        for seed, k, C, m, z in cases:
            dz, h = case(seed, k)
            noise = draws(dz, h, seed + 5)
            noisy = release(call(private_step, dz, h, C, m, z, noise), dz, h)
            quiet = release(call(private_step, dz, h, C, m, z, without(noise)), dz, h)
            std = z * moved_by_one([None, C], m, "add-remove")
            for (name, a), (_, b), (_, draw) in zip(every(noisy), every(quiet), every(noise), strict=True):
                place = f"the noise on {name} (k = {k}, C = {C:g}, m = {m}, z = {z:g})"
                hint = "add the noise once to the result; its std is z times the largest change by any added record"
                close(a - b, std * draw, place, hint, rtol=1e-3)

    fair(check, private_step, **LATER)


def step_signal(private_step):
    """The result without noise is the clipped mean.

    If `step_noise` fails, the result must be right with one of three changes: the zeros are numbers instead of arrays,
    z is 0, or the lists begin with layer 1.
    """

    def check(shapeless=False, z=1.3, read=whole):
        for seed, k, m in ((43, 6, 6), (44, 5, 11)):
            dz, h = case(seed, k)
            C = float(np.median(joint_by_loops(dz, h)))
            noise = ([None, 0.0, 0.0, 0.0],) * 2 if shapeless else without(draws(dz, h, 50))
            got = release(call(private_step, dz, h, C, m, z, noise), dz, h, read)
            want = clipped_by_loops(dz, h, C, m)
            for (name, mine), (_, right) in zip(every(got), every(want), strict=True):
                hint = "without noise, the result is the clipped mean of part 2"
                close(mine, right, f"{name} without noise ({k} records, m = {m})", hint)

    def lenient():
        if not passes(check, True) and not passes(check, False, 0.0):
            check(read=listed)

    fair(lambda: unless_lost(check, lenient, lambda: step_noise(private_step)), private_step, **LATER)


def divisor_answer(divisor):
    """The distance by which one record moves a mean over the records of the batch."""
    answered(divisor, "b", "what is the mean of k equal gradients, and what is it with an opposite gradient added?")


# --- 5. clipping changes the result


def guess_made(guess):
    """Check the guess: two numbers between 0 and 100."""
    guessed(guess, "the stationary point with C = 10", "the stationary point with C = 1", most=100)


def outlier_answer(outlier):
    """The clipped gradient of a distant record, before and after the record moves."""
    answered(outlier, "a", "what is the clipped gradient of this record before and after the move?")


# --- 6. DFA


def longest(gamma, beta, tau_e, tau_h):
    """The norm of a direction, from all its entries. e is the first singular vector of each B, and phi' is largest."""
    L = len(gamma)
    e = np.array([0.6, 0.0, -0.8]) * tau_e
    entries = []
    for l in range(1, L + 1):
        u = np.array([0.8, -0.6])
        dz = e if l == L else gamma[l] * (beta[l] * np.outer(u, e / tau_e)) @ e
        below = np.array([2.0, -1.0, 2.0]) / 3 * tau_h[l]
        entries += [d * a for d in dz for a in below] + list(dz)
    return l2_norm(entries)


NETS = (
    ([None, 0.25, 1.0], [None, 0.9, 0.7], 0.1, [None, 2.0, 5.0, 1.5]),
    ([None, 1.0, 0.25, 1.0, 0.5], [None, 2.0, 1.0, 3.0, 1.0], 0.5, [None, 1.0, 0.5, 2.0, 1.0, 0.4]),
    ([None, 1.0], [None, 0.9], 1.4, [None, 3.0, 2.0]),
)


def bounded(dfa_bound, *arguments):
    """The number that a student's dfa_bound returns."""
    return number(call(dfa_bound, *arguments), "the bound")


TOP = "the signal of the top layer is e, without B and phi', and the layer has weights and biases"


def single_layer(dfa_bound):
    """The bound for a network without hidden layers."""
    for _, _, tau_e, tau_h in NETS:
        one = ([None], [None], tau_e, [None, tau_h[-1]])
        close(np.array(bounded(dfa_bound, *one)), np.array(longest(*one)), "the bound for one layer", TOP)


def top_of_all(dfa_bound):
    """The bound with gamma = 0 and beta = 0, and the bound without hidden layers."""
    for gamma, _, tau_e, tau_h in NETS:
        none = [None] + [0.0] * (len(gamma) - 1)
        place = f"the bound for {len(gamma)} layers with gamma = 0 and beta = 0"
        want = np.array(longest(none, none, tau_e, tau_h))
        close(np.array(bounded(dfa_bound, none, none, tau_e, tau_h)), want, place, TOP)
    single_layer(dfa_bound)


def hidden_part(dfa_bound):
    """The square of the bound minus the square without hidden layers. This difference is 0 if gamma or beta is 0."""
    for gamma, beta, tau_e, tau_h in NETS:
        none = [None] + [0.0] * (len(gamma) - 1)
        hint = "add the squares over the layers and over W and b; which norm can dz have if the norm of e is tau_e?"
        for gammas, betas, told in ((gamma, beta, ""), (none, beta, "gamma = 0"), (gamma, none, "beta = 0")):
            without, with_ = (none, none, tau_e, tau_h), (gammas, betas, tau_e, tau_h)
            got = bounded(dfa_bound, *with_) ** 2 - bounded(dfa_bound, *without) ** 2
            want = longest(*with_) ** 2 - longest(*without) ** 2
            place = f"{len(gamma)} layers{told and ' with '}{told}"
            name = f"the part of the hidden layers in the square of the bound for {place}"
            if abs(got - want) > RTOL * longest(gamma, beta, tau_e, tau_h) ** 2:
                raise mismatch(name, got, want, hint)


def part_of_its_own(dfa_bound):
    """The part of the hidden layers, computed from the student's own bound for one layer. All layers have one tau_h.

    The check uses the squares of the student's numbers or, if the student forgot the root, the numbers themselves.
    """

    def check(power):
        for gamma, beta, tau_e, _ in NETS:
            tau_h, none = [1.5] * (len(gamma) + 1), [None] + [0.0] * (len(gamma) - 1)
            top = bounded(dfa_bound, [None], [None], tau_e, tau_h[:2]) ** power
            got = bounded(dfa_bound, gamma, beta, tau_e, tau_h) ** power
            got -= bounded(dfa_bound, none, none, tau_e, tau_h) ** power
            close(got, top * sum((g * b) ** 2 for g, b in zip(gamma[1:], beta[1:], strict=True)), "the hidden part")

    if not passes(check, 1):
        check(2)


def of_bound(dfa_bound):
    """The checks of the two cells of dfa_bound, each with a lenient check."""
    return (
        (lambda: top_of_all(dfa_bound), lambda: single_layer(dfa_bound)),
        (lambda: hidden_part(dfa_bound), lambda: part_of_its_own(dfa_bound)),
    )


def bound_top(dfa_bound):
    """The bound of the top layer alone."""
    charged_once(0, of_bound(dfa_bound))


def bound_hidden(dfa_bound):
    """The part of the hidden layers in the square of the bound."""
    charged_once(1, of_bound(dfa_bound))


def top_layer_answer(top_layer):
    """The factor of the printed formula that is too small."""
    answered(top_layer, "c", "which layer of your bound has another factor than the formula?")
