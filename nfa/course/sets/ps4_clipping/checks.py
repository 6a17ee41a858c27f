"""The checks of problem set 4, one a graded cell. Their oracles are loops over records and numbers, differences, and
records that attain a bound.
"""

import math

import numpy as np

from nfa.course.checking import (
    RTOL,
    array,
    arrays,
    call,
    charged_once,
    close,
    common_factor,
    fair,
    fitting,
    held,
    layers,
    misfit,
    mismatch,
    number,
    numbers,
    pair,
    passes,
    same_line,
    same_number,
    same_scale,
    seeded,
    slopes,
    unless_lost,
)

SIZES = [4, 5, 3, 6]  # three layers of different sizes, so that every mistake of a layer's number shows


def case(seed, k=6, sizes=SIZES):
    """dz and h of no particular network: random, and of lengths that differ from record to record."""
    rng = seeded(seed)
    far = np.geomspace(0.2, 5.0, max(k, 1))[rng.permutation(max(k, 1))[:k], None]
    dz = [None] + [far * rng.normal(size=(k, n)) for n in sizes[1:]]
    return dz, [rng.normal(size=(k, n)) for n in sizes]


# --- oracles, which are also what stands in for an earlier exercise


def gradients_by_loops(dz, below):
    """Outer products, one number at a time."""
    k, n, size = len(dz), len(dz[0]) if len(dz) else 0, len(below[0]) if len(below) else 0
    gW = np.zeros((k, n, size))
    for i, j, a in np.ndindex(gW.shape):
        gW[i, j, a] = dz[i][j] * below[i][a]
    return gW, np.array(dz, dtype=float)


def long_vectors(dz, h):
    """A list over the records of lists over the layers: all entries of the gradient by W[l], then those by b[l]."""
    return [
        [[d * a for d in dz[l][i] for a in h[l - 1][i]] + list(dz[l][i]) for l in range(1, len(dz))]
        for i in range(len(dz[1]))
    ]


def length(v):
    """The l2 norm, entry by entry."""
    return math.sqrt(math.fsum(float(a) * float(a) for a in v))


def norms_by_loops(dz, h):
    """The norms of all layers, of gradients that are written out."""
    rows = [[length(layer) for layer in record] for record in long_vectors(dz, h)]
    return np.array(rows).reshape(len(dz[1]), len(dz) - 1)


def joint_by_loops(dz, h):
    """The same for all layers together."""
    return np.array([length([a for layer in record for a in layer]) for record in long_vectors(dz, h)])


def weights_by_loops(norms, C):
    """C / norm where that is below 1."""
    return np.vectorize(lambda norm: C / norm if norm > C else 1.0, otypes=[float])(np.asarray(norms, dtype=float))


def clipped_by_loops(dz, h, C, m):
    """The sum of the clipped long vectors over m, cut into layers again."""
    L = len(dz) - 1
    sizes = [(np.shape(dz[l])[1], np.shape(h[l - 1])[1]) for l in range(1, L + 1)]
    totals = [np.zeros(n * size + n) for n, size in sizes]
    for record in long_vectors(dz, h):
        norm = length([a for layer in record for a in layer])
        for total, layer in zip(totals, record, strict=True):
            total += np.array(layer) * (C / norm if norm > C else 1.0) / m
    pieces = [(t[: n * size].reshape(n, size), t[n * size :]) for t, (n, size) in zip(totals, sizes, strict=True)]
    return [None, *(w for w, _ in pieces)], [None, *(v for _, v in pieces)]


def moved_by_one(C, m, adjacency):
    """How far a record goes whose gradient fills every layer's bound, alone or in the place of its opposite."""
    entries = [c * u for c in C[1:] for u in (0.6, -0.8)]
    sign = {"add-remove": 0.0, "replace-one": -1.0}[adjacency]
    return length([(a - sign * a) / m for a in entries])


# --- 1. norms


def gradients_values(gradients):
    """Slopes of <z, dz> by W and b, record by record."""
    for seed, n, size in ((10, 3, 4), (11, 5, 2)):
        dz, h = case(seed, 3, [size, n])
        gW, gb = pair(call(gradients, dz[1], h[0]), "the gradients by the weights and by the biases")
        gW, gb = array(gW, (3, n, size), "the gradient by the weights"), array(gb, (3, n), "the gradient by the biases")
        for i in range(3):
            by_W = slopes(lambda w, d=dz[1][i], a=h[0][i]: float(d @ (w @ a)), np.zeros((n, size)))
            by_b = slopes(lambda v, d=dz[1][i]: float(d @ v), np.zeros(n))
            hint = "row j has the weights into unit j of the layer"
            close(gW[i], by_W, f"record {i}'s gradient by the weights", hint)
            close(gb[i], by_b, f"record {i}'s gradient by the biases", "z grows by 1 if the bias does")


def norms_values(norms):
    """Gradients written out, large and small, and a record whose inputs are all 0, where only the biases learn."""
    for size in (1.0, 1e-5):
        dz, h = case(20)
        dz = [None, *(size * d for d in dz[1:])]
        h[0][1] = 0.0
        got, want = array(call(norms, dz, h), (6, 3), "norms"), norms_by_loops(dz, h)
        for l in range(1, 4):
            hint = f"the gradient of layer {l} is made of dz[{l}] and h[{l - 1}], and the biases have a part in it"
            name = f"the norms of layer {l}{', of small gradients' * (size < 1)}"
            close(got[:, l - 1], want[:, l - 1], name, hint)


HELD = 800_000  # bytes; a record's gradient by a layer below is 1,640,000 in float32, dz and h are 71,680 in float64


def norms_memory(norms):
    """The most memory held at once, for layers with 400,000 weights; the shape and the numbers cost elsewhere."""
    call(norms, *case(22, 2, [3, 3, 3, 3]))  # imports and the like
    dz, h = case(23, 2, [640, 640, 640, 640])
    dz, h = [None, *map(np.abs, dz[1:])], list(map(np.abs, h))  # what is not squared, too, has a root
    found, most = held(norms, dz, h)
    found, twice = (
        numbers(value, "norms") for value in (found, call(norms, [None, *(2 * a for a in dz[1:])], [3 * a for a in h]))
    )
    if not found.min() > 0:
        raise mismatch("the norm of a gradient that is not zero", found.min(), "a positive number")
    if np.array_equal(found, twice):
        raise mismatch("the norms of gradients that are longer", "the same", "others")
    if most > HELD:
        name = "the memory for 2 records and three layers of 640 inputs and 640 units"
        hint = "what is the norm of an outer product, in terms of its two vectors?"
        raise mismatch(name, f"{most / 1e6:.1f} MB at once", "some times the 0.07 MB of dz and h", hint)


def joint_values(joint_norms):
    """Everything written out as one vector."""

    def check():
        dz, h = case(24)
        got = array(call(joint_norms, dz, h), (6,), "the array of joint norms")
        hint = "all layers are one long vector, whose norm is not the sum of the norms of its parts"
        close(got, joint_by_loops(dz, h), "the array of joint norms", hint)

    fair(check, joint_norms, norms=norms_by_loops, gradients=gradients_by_loops)


# --- 2. clip


def weights_values(clip_weights):
    """Positive norms below, at and above the bound, which may be small."""
    for C in (0.5, 3.0, 1e-6):
        norms = C * np.array([0.01, 0.5, 0.999, 1.0, 1.001, 2.0, 700.0])
        got = array(call(clip_weights, norms, C), (7,), "the weights")
        if (got[:3] > 1 + 1e-4).any():
            name = f"the weight of a gradient shorter than C = {C:g}"
            raise mismatch(name, got[:3].max(), 1, "it must be left alone, and yours is made longer")
        name = f"the norms after clipping with C = {C:g}"
        close(got * norms, np.minimum(norms, C), name, "it is C, but for norms that are below C")


def weights_zero(clip_weights):
    """A zero among others; where these have lost their point, it is to be what small norms lead to."""

    def weight(norm, C=1.0):
        found = call(clip_weights, np.array([2.0, norm, 0.5]), C)
        try:
            return float(found[1])
        except (TypeError, ValueError, IndexError, KeyError):
            raise misfit("what clip_weights returns", found, "a number for each norm, also where one is 0") from None

    def check():
        if not abs(weight(0.0) - 1) < 1e-4:
            raise mismatch("the weight of a gradient of zero", weight(0.0), 1, "there is nothing to clip")

    def limit():
        zero, near = (min(weight(norm), 1e100) for norm in (0.0, 1e-200))
        if not abs(zero - near) < 1e-4:
            raise mismatch("the weight of a gradient of zero", zero, near)

    unless_lost(check, limit, lambda: weights_values(clip_weights))
    if all(weight(norm) == weight(norm, C=4.0) for norm in (2.0, 8.0)):
        raise mismatch("the weights with C = 1 and with C = 4", "the same", "others, as they depend on C")


EARLIER = {
    "gradients": gradients_by_loops,
    "norms": norms_by_loops,
    "joint_norms": joint_by_loops,
    "clip_weights": weights_by_loops,
}


def whole(value, L, name):
    """A list of layers with its slot 0."""
    return layers(value, 1, L, name)


def listed(value, L, name):
    """A list of layers; also one that begins with layer 1, is too long or lacks layers, which costs in another cell."""
    if isinstance(value, list | tuple) and len(value):
        value = [*value] if value[0] is None or len(value) > L else [None, *value]
        value = [*value, *[None] * L][: L + 1]
    return layers(value, 1, L, name)


def release(value, dz, h, read=whole):
    """What a student's step returns, as lists of arrays of the right shapes."""
    dW, db = pair(value, "dW and db")
    like = draws(dz, h, 0)
    L = len(dz) - 1
    return arrays(read(dW, L, "dW"), like[0], "dW"), arrays(read(db, L, "db"), like[1], "db")


def every(lists):
    """(name, array) of each dW[l] and db[l]."""
    return [(f"{name}[{l}]", one[l]) for name, one in zip(("dW", "db"), lists, strict=True) for l in range(1, len(one))]


def clipped_values(clipped_mean):
    """Every direction, up to a factor, where about half of the records are clipped."""

    def check():
        for seed in (30, 31):
            dz, h = case(seed)
            C = float(np.median(joint_by_loops(dz, h)))
            got = release(call(clipped_mean, dz, h, C, 6), dz, h)
            want = clipped_by_loops(dz, h, C, 6)
            hint = (
                "which vector is it that is clipped, one for each record or one for the batch, one for each layer or "
                "for all, with the biases or without?"
            )
            for (name, mine), (_, right) in zip(every(got), every(want), strict=True):
                same_line(mine, right, name, hint)

    fair(check, clipped_mean, **EARLIER)


def clipped_m(clipped_mean):
    """Nothing is clipped here: the sum over m for any m, for an empty batch, with a record of zero gradient.

    Of what has the right direction, upright or not: the others cost elsewhere. Where they have lost their points,
    of those that are right where some records are clipped; or the product with m must not depend on m.
    """

    def both(dz, h, C, m):
        dW, db = pair(call(clipped_mean, dz, h, C, m), "dW and db")
        return listed(dW, 3, "dW"), listed(db, 3, "db")

    def one_case():
        dz, h = case(32)
        for l in (1, 2, 3):
            dz[l][2] = 0.0
        return dz, h

    hint = "the sum over the records is divided by m, once, however many they are"

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
            close(13 * other, 4 * mine, f"{name} with m = 13, and m times as much")
            close(double, 2 * other, f"{name} where every record comes twice")
            if not mine.any():
                raise mismatch(name, "0 everywhere", "other numbers")

    def check():
        unless_lost(right, lenient, lambda: clipped_values(clipped_mean))
        empty = [(name, mine) for name, mine in every(both(*case(33, 0), 1.0, 5)) if np.size(mine) and mine is not None]
        if not empty:
            raise mismatch("dW and db of an empty batch", "no numbers", "numbers in the shapes of W and b")
        for name, mine in empty:
            mine = numbers(mine, f"{name} of an empty batch")
            close(mine, np.zeros_like(mine), f"{name} of an empty batch", "a sum of nothing is 0")

    fair(check, clipped_mean, **EARLIER)


# --- 3. neighbours


def batches(neighbours, C, m):
    """A student's two batches, lists of rows, the smaller one first; they differ in one record, or it is Wrong."""
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
        told = f"{len(few)} and {len(many)}, {len(few) - gone} of them in both"
        raise mismatch("the records of the two batches", told, "all in both but one")
    n = len(many[0])
    if n == 0 or not np.isfinite(many).all():
        found = "nan or infinity in it" if n else "no number in it"
        raise mismatch("a gradient", found, "one number or more, all of them finite")
    return few, many


def apart(few, many, C, m):
    """By how much the clipped means of two batches differ, in units of C."""
    outputs, n = [], len(many[0])
    for rows in (few, many):
        mean = [math.fsum(row[j] for row in rows) / m for j in range(n)]
        outputs.append([a * (C / length(mean) if length(mean) > C else 1.0) for a in mean])
    return length(a - b for a, b in zip(*outputs, strict=True)) / C


DISTANCE = "the distance of the two outputs in units of C"
PAIRS = ((1.0, 10), (0.5, 64), (3.0, 2))


def neighbours_break(neighbours):
    """One record more, and further apart than C/m."""
    for C, m in PAIRS:
        few, many = batches(neighbours, C, m)
        for batch in call(neighbours, C, m):
            if np.ndim(batch) > 2:
                raise mismatch("the number of axes of a batch", np.ndim(batch), 2, "a row is a record's gradient")
        if len(few) == len(many):
            found = f"{len(few)} and {len(many)}"
            raise mismatch("the numbers of records of the two batches", found, "one more in one batch")
        distance = apart(few, many, C, m)
        if not distance > 1.001 / m:
            hint = "how long may a record's gradient be, if it is not clipped by itself?"
            raise mismatch(
                f"{DISTANCE} for C = {C:g} and m = {m}", distance, f"more than 1/m, which is {1 / m:g}", hint
            )


def neighbours_worst(neighbours):
    """As far apart as two vectors in the ball can be; where the first point is lost, it may be for want of length."""

    def check(times=1.0):
        for C, m in PAIRS:
            few, many = ([[times * a for a in row] for row in batch] for batch in batches(neighbours, C, m))
            distance = apart(few, many, C, m)
            if distance < 1.98:
                hint = "from where to where can one record carry the mean?"
                raise mismatch(
                    f"{DISTANCE} for C = {C:g} and m = {m}", distance, "more, for others are further apart", hint
                )

    unless_lost(check, lambda: check(1e6), lambda: neighbours_break(neighbours))


# --- 4. sensitivity and noise

BOUNDS = ([None, 0.7], [None, 1.0, 2.0], [None, 0.3, 0.3, 0.3, 0.3, 1.1])


def sensitivity_layers(sensitivity):
    """A record that fills every layer's bound, added."""
    for C in BOUNDS:
        for m in (8, 50):
            got = number(call(sensitivity, C, m, "add-remove"), "the sensitivity")
            hint = "one record comes; all layers' parts of it are one long vector; the release is divided by m"
            close(got, np.array(moved_by_one(C, m, "add-remove")), f"the sensitivity for C = {C[1:]} and m = {m}", hint)


def sensitivity_adjacency(sensitivity):
    """Whatever it says for add-remove, replace-one moves by so much more.

    Where add-remove has lost its point, replace-one may be right by itself, or the two exchanged, or there be a C[0].
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
            hint = "one record leaves and another comes, and their gradients may point anywhere"
            close(got, np.array(want), "the sensitivity under replace-one over that under add-remove", hint)

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
    """The same with zeros."""
    return tuple([None] + [0 * a for a in one[1:]] for one in noise)


def step_noise(private_step):
    """The difference that the noise makes, against one added record that fills the bound."""

    def check():
        for seed, k, C, m, z in ((40, 6, 0.8, 9, 1.5), (41, 0, 2.5, 4, 0.7), (42, 3, 2.0, 3, 2.0)):
            dz, h = case(seed, k)
            noise = draws(dz, h, seed + 5)
            noisy = release(call(private_step, dz, h, C, m, z, noise), dz, h)
            quiet = release(call(private_step, dz, h, C, m, z, without(noise)), dz, h)
            std = z * moved_by_one([None, C], m, "add-remove")
            for (name, a), (_, b), (_, draw) in zip(every(noisy), every(quiet), every(noise), strict=True):
                place = f"the noise on {name} (k = {k}, C = {C:g}, m = {m}, z = {z:g})"
                hint = "it is given once for the release, and its size is z times what one added record can move"
                close(a - b, std * draw, place, hint, rtol=1e-3)

    fair(check, private_step, **LATER)


def step_signal(private_step):
    """Without noise it is the clipped mean.

    Where the noise has lost its point, zeros fit any shape, or z is 0; and the lists may begin with layer 1.
    """

    def check(shapeless=False, z=1.3, read=whole):
        for seed, k, m in ((43, 6, 6), (44, 5, 11)):
            dz, h = case(seed, k)
            C = float(np.median(joint_by_loops(dz, h)))
            noise = ([None, 0.0, 0.0, 0.0],) * 2 if shapeless else without(draws(dz, h, 50))
            got = release(call(private_step, dz, h, C, m, z, noise), dz, h, read)
            want = clipped_by_loops(dz, h, C, m)
            for (name, mine), (_, right) in zip(every(got), every(want), strict=True):
                hint = "without noise it is the clipped mean of part 2"
                close(mine, right, f"{name} without noise ({k} records, m = {m})", hint)

    def lenient():
        if not passes(check, True) and not passes(check, False, 0.0):
            check(read=listed)

    fair(lambda: unless_lost(check, lenient, lambda: step_noise(private_step)), private_step, **LATER)


# --- 5. bias


def rest(x, C):
    """Where the clipped gradients add up to 0: their sum is linear between the places x[i] - C and x[i] + C."""
    places = sorted([float(a) + s * C for a in x for s in (-1, 1)])
    sums = [math.fsum(max(-C, min(C, at - float(a))) for a in x) for at in places]
    for at, after, low, high in zip(places, places[1:], sums, sums[1:], strict=False):
        if low <= 0 <= high and high > low:
            return at + (after - at) * -low / (high - low)
    raise AssertionError("the gradients of an odd number of records add up to 0 at one place")


def predicted_values(predicted):
    """Against the place found by interpolation."""
    for n, X, C in ((9, 100.0, 2.0), (2, 7.0, 1.0), (4, 7.0, 3.0), (30, 1000.0, 0.5)):
        got = number(call(predicted, n, X, C), "the place")
        want = rest([0.0] * n + [X], C)
        hint = (
            "there the pulls of all records cancel: how strong is that of the record far away, how strong the others'?"
        )
        same_number(got, want, f"the place for n = {n}, X = {X:g} and C = {C:g}", hint, rtol=1e-3)


def stationary_values(stationary_point):
    """Odd numbers of records, bounds from small to none."""
    for seed, k, C in ((60, 5, 0.6), (61, 9, 0.3), (62, 11, 1.0), (63, 3, 50.0), (64, 1, 1.0), (65, 3, 50.0)):
        x = seeded(seed).normal(size=k) * 2 + 1
        x[0] += 4
        x += 300 * (seed == 65)
        got = number(call(stationary_point, x, C), "the place")
        if abs(got - rest(x, C)) > 1.5e-3 * C:
            told = math.fsum(max(-C, min(C, got - float(a))) for a in x)
            name = f"the sum of the clipped gradients at your {got:.4g}, for {k} records and C = {C:g}"
            raise mismatch(name, told, 0)


# --- 6. DFA


def longest(gamma, beta, tau_e, tau_h):
    """The norm of an update that is written out: e along every B's first singular vector, all units at the steepest."""
    L = len(gamma)
    e = np.array([0.6, 0.0, -0.8]) * tau_e
    entries = []
    for l in range(1, L + 1):
        u = np.array([0.8, -0.6])
        dz = e if l == L else gamma[l] * (beta[l] * np.outer(u, e / tau_e)) @ e
        below = np.array([2.0, -1.0, 2.0]) / 3 * tau_h[l]
        entries += [d * a for d in dz for a in below] + list(dz)
    return length(entries)


NETS = (
    ([None, 0.25, 1.0], [None, 0.9, 0.7], 0.1, [None, 2.0, 5.0, 1.5]),
    ([None, 1.0, 0.25, 1.0, 0.5], [None, 2.0, 1.0, 3.0, 1.0], 0.5, [None, 1.0, 0.5, 2.0, 1.0, 0.4]),
    ([None, 1.0], [None, 0.9], 1.4, [None, 3.0, 2.0]),
)


def bounded(dfa_bound, *arguments):
    """What a student's dfa_bound returns, a number."""
    return number(call(dfa_bound, *arguments), "the bound")


TOP = "no B and no slope stand between e and the top layer, which has weights and biases"


def single_layer(dfa_bound):
    """No hidden layer."""
    for _, _, tau_e, tau_h in NETS:
        one = ([None], [None], tau_e, [None, tau_h[-1]])
        close(np.array(bounded(dfa_bound, *one)), np.array(longest(*one)), "the bound for a single layer", TOP)


def top_of_all(dfa_bound):
    """No feedback and no slopes, or no hidden layer."""
    for gamma, _, tau_e, tau_h in NETS:
        none = [None] + [0.0] * (len(gamma) - 1)
        place = f"the bound for {len(gamma)} layers with gamma = 0 and beta = 0 below the top"
        want = np.array(longest(none, none, tau_e, tau_h))
        close(np.array(bounded(dfa_bound, none, none, tau_e, tau_h)), want, place, TOP)
    single_layer(dfa_bound)


def hidden_part(dfa_bound):
    """The square of the bound less that without feedback: nothing, too, where gamma or beta is 0."""
    for gamma, beta, tau_e, tau_h in NETS:
        none = [None] + [0.0] * (len(gamma) - 1)
        hint = "squares add up over the layers and over W and b; how long can dz be if e is no longer than tau_e?"
        for slopes_, norms_, told in ((gamma, beta, ""), (none, beta, "gamma = 0"), (gamma, none, "beta = 0")):
            without, with_ = (none, none, tau_e, tau_h), (slopes_, norms_, tau_e, tau_h)
            got = bounded(dfa_bound, *with_) ** 2 - bounded(dfa_bound, *without) ** 2
            want = longest(*with_) ** 2 - longest(*without) ** 2
            place = f"{len(gamma)} layers{told and ' with '}{told}"
            name = f"the hidden layers' part in the square of the bound for {place}"
            if abs(got - want) > RTOL * longest(gamma, beta, tau_e, tau_h) ** 2:
                raise mismatch(name, got, want, hint)


def part_of_its_own(dfa_bound):
    """The same where the student's own top stands for every layer, all of which read vectors of one norm.

    With the root or, if that is what is wrong, without.
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
    """The checks of its two cells, each with a lenient one."""
    return (
        (lambda: top_of_all(dfa_bound), lambda: single_layer(dfa_bound)),
        (lambda: hidden_part(dfa_bound), lambda: part_of_its_own(dfa_bound)),
    )


def bound_top(dfa_bound):
    """The top layer alone."""
    charged_once(0, of_bound(dfa_bound))


def bound_hidden(dfa_bound):
    """What the hidden layers add."""
    charged_once(1, of_bound(dfa_bound))


def too_small_values(too_small_by):
    """The record that attains the bound, replaced by its opposite, over the printed formula."""

    def check():
        for L in (2, 3, 4, 5, 10):
            got = number(call(too_small_by, L), "the factor")
            record = longest([None] + [0.25] * (L - 1), [None] + [0.9] * (L - 1), 0.1, [None] + [3.0] * L)
            printed = 2 * 0.25 * 0.9 * 0.1 * math.sqrt((1 + 3.0**2) * L)
            hint = "yours over the printed one, both for a record replaced"
            same_number(got, 2 * record / printed, f"the factor for {L} layers", hint, rtol=1e-3)

    fair(check, too_small_by, dfa_bound=longest)
