"""The checks of problem set 2, one for each graded cell.

The expected values come from differences and loops, and not from the formula that students write.
"""

import copy
import itertools
import math

import numpy as np

from nfa.course.checking import (
    Wrong,
    answered,
    array,
    arrays,
    call,
    charged_once,
    close,
    common_factor,
    derivatives,
    fair,
    fitting,
    guessed,
    layers,
    misfit,
    mismatch,
    number,
    pair,
    passes,
    same_line,
    same_scale,
    seeded,
    transposed_first,
    unless_lost,
)

SIZES = [4, 5, 6, 4, 3]  # four layers, so that a wrong layer index gives other values


def net(seed, sizes=SIZES):
    """Random W, b and B, with entries of a size at which tanh is neither linear nor flat."""
    rng = seeded(seed)
    L = len(sizes) - 1
    W = [None] + [rng.normal(size=(sizes[l], sizes[l - 1])) / 2 for l in range(1, L + 1)]
    b = [None] + [rng.normal(size=sizes[l]) / 2 for l in range(1, L + 1)]
    B = [None] + [rng.normal(size=(sizes[l], sizes[L])) for l in range(1, L)] + [None]
    return W, b, B


def batch(k, seed, sizes=SIZES):
    """Random records, and one-hot labels in which every class occurs."""
    x = seeded(seed).normal(size=(k, sizes[0]))
    return x, np.eye(sizes[-1])[np.arange(k) % sizes[-1]]


# --- oracles


def forward_by_loops(W, b, x):
    """The forward pass, one number at a time."""
    L = len(W) - 1
    z, h = [None, *(np.zeros((len(x), len(v))) for v in b[1:])], [x, *(np.zeros((len(x), len(v))) for v in b[1:])]
    for i in range(len(x)):
        for l in range(1, L + 1):
            for j in range(len(b[l])):
                z[l][i, j] = b[l][j] + math.fsum(W[l][j, k] * h[l - 1][i, k] for k in range(W[l].shape[1]))
            top = max(z[l][i]) if l == L else 0.0
            total = math.fsum(math.exp(t - top) for t in z[l][i]) if l == L else 1.0
            h[l][i] = [math.exp(t - top) / total if l == L else math.tanh(t) for t in z[l][i]]
    return z, h


def directions(W, b, B, x, y, m, e=None):
    """The DFA directions. They are gradients of a function, and we compute them by differences of this function.

    In a hidden layer, the function is the sum over the records of the inner product of h[l] and B[l] e, divided by m.
    Here e and h[l-1] are constants. In the top layer, it is the loss, or the inner product of z[L] and e for a given e.
    """
    L = len(W) - 1
    _, h = forward_by_loops(W, b, x)
    own, e = e, h[L] - y if e is None else e
    dW, db = [None], [None]
    for l in range(1, L + 1):

        def surrogate(w, v, l=l):
            z = h[l - 1] @ w.T + v
            if l < L:
                return float((np.tanh(z) * (B[l] @ e.T).T).sum()) / m
            if own is not None:
                return float((z * own).sum()) / m
            return float((np.log(np.exp(z).sum(axis=1)) - (z * y).sum(axis=1)).sum()) / m

        dW.append(derivatives(lambda w, l=l, f=surrogate: f(w, b[l]), W[l]))
        db.append(derivatives(lambda v, l=l, f=surrogate: f(W[l], v), b[l]))
    return dW, db


def loss_gradients(W, b, x, y):
    """The gradient of the mean cross-entropy by every W[l], by differences."""

    def loss(l, w):
        changed = [*W[:l], w, *W[l + 1 :]]
        h = x
        for k in range(1, len(W)):
            z = h @ changed[k].T + b[k]
            h = np.tanh(z)
        return float(np.mean(np.log(np.exp(z).sum(axis=1)) - (z * y).sum(axis=1)))

    return [None, *(derivatives(lambda w, l=l: loss(l, w), W[l]) for l in range(1, len(W)))]


# --- 1. forward


# for lenient checks with four records: the matrices of transposed or neighbouring layers fit, too
SQUARE = [4, 4, 4, 4]


def lists(forward, W, b, x):
    """The lists z and h of a student's forward, as arrays of the right shapes."""
    z, h = pair(call(forward, W, b, x), "z and h")
    like = [x, *(np.empty((len(x), len(v))) for v in b[1:])]
    return arrays(z, like, "z"), arrays(h, like, "h", first=0)


def last_of(value, shape):
    """The last entry of a list of layers. The list may begin with slot 0 or 1."""
    if not isinstance(value, list | tuple | np.ndarray) or not len(value):
        raise misfit("z or h", value, "a list of layers")
    return array(value[-1], shape, "the last of z or h")


def topmost(forward, W, b, x):
    """z and h of the top layer: the last entries of both lists. If only one entry has rows that sum to 1, it is h."""
    found = [last_of(value, (len(x), len(b[-1]))) for value in pair(call(forward, W, b, x), "z and h")]
    return found if np.allclose(found[1].sum(axis=1), 1) else found[::-1] if sums_to_1(found[0]) else found


def sums_to_1(rows):
    """Whether the rows can be results of a softmax."""
    return bool((rows >= 0).all() and np.allclose(rows.sum(axis=1), 1))


def softmax_by_loops(z):
    """The softmax of every row, without overflow."""
    shifted = [[t - max(row) for t in row] for row in np.asarray(z).tolist()]
    return np.array([[math.exp(t) / math.fsum(map(math.exp, row)) for t in row] for row in shifted])


def hidden_values(forward, *cases):
    """z of all layers, and h of the hidden layers, for several numbers of records and sizes."""
    for k, sizes in cases:
        W, b, _ = net(10 + k, sizes)
        x, _ = batch(k, 20, sizes)
        z, h = lists(forward, W, b, x)
        want_z, want_h = forward_by_loops(W, b, x)
        close(h[0], x, "h[0]", "it is x itself")
        for l in range(1, len(W)):
            close(z[l], want_z[l], f"z[{l}]", f"it is W[{l}] h[{l - 1}] + b[{l}] for every record")
            if l < len(W) - 1:
                close(h[l], want_h[l], f"h[{l}]", f"it is tanh of z[{l}]")


SOFTMAX = "the top layer has no tanh: take the softmax of each row of z[L], with one row for each record"


def softmax_values(forward, *cases):
    """The output of the top layer, computed from its z."""
    for k, sizes in cases:
        W, b, _ = net(12, sizes)
        z, h = lists(forward, W, b, batch(k, 21, sizes)[0])
        close(h[-1], softmax_by_loops(z[-1]), f"h[{len(W) - 1}]", SOFTMAX)


def softmax_alone(forward):
    """Check that the last entry of h is the softmax of the last entry of z, or the right output.

    If the output is right, only the returned z can be wrong, which loses the point of the other cell.
    """
    W, b, _ = net(12, SQUARE)
    x, _ = batch(4, 21, SQUARE)
    both, right = pair(call(forward, W, b, x), "z and h"), forward_by_loops(W, b, x)[1][-1]
    if any(passes(lambda value=value: close(last_of(value, (4, 4)), right, "h[L]")) for value in both):
        return
    z, h = topmost(forward, W, b, x)
    close(h, softmax_by_loops(z), "h[L]", SOFTMAX)


LARGE = np.array([2000.0, -2000.0, 1999.0])


def large_values(forward):
    """Large entries, without overflow and with the right values."""
    z = np.array([LARGE, -LARGE, [-1999.0, -2000.0, -2000.0]])
    _, h = lists(forward, [None, z.T], [None, np.zeros(3)], np.eye(3))
    hint = "subtract the largest entry of each row"
    close(h[1], softmax_by_loops(z), "the softmax of entries such as 2000 and -2000", hint)


def large_alone(forward):
    """Check the top layer with large entries. The z of this layer may be wrong, and its h need not be a softmax."""
    softmax = passes(softmax_values, forward, (5, SIZES)) or passes(softmax_alone, forward)
    # the rows of z have the same largest entry
    x = np.array([[1.0, 1.0, 1.0], [1.0, 0.25, 1.0], [1.0, 0.5, -1.0]])
    z, h = topmost(forward, [None, np.diag(LARGE)], [None, np.zeros(3)], x * [[1], [-1], [1]] if softmax else x)
    if not np.abs(z).max() > 800:
        raise mismatch("the largest entry of z", np.abs(z).max(), "about 2000")
    if softmax:
        close(h, softmax_by_loops(z), "the softmax of entries such as 2000")
    elif np.ptp(h, axis=0).max() == 0:
        raise mismatch("the outputs of different records", "equal outputs", "different outputs")


def of_forward(forward):
    """The checks of the three cells of forward, each with a lenient check."""
    return (
        (lambda: hidden_values(forward, (1, SIZES), (5, SIZES)), lambda: hidden_values(forward, (4, SQUARE))),
        (lambda: softmax_values(forward, (5, SIZES), (1, [3, 2])), lambda: softmax_alone(forward)),
        (lambda: large_values(forward), lambda: large_alone(forward)),
    )


def forward_hidden(forward):
    """z of all layers, and h of the hidden layers."""
    try:
        charged_once(0, of_forward(forward))
    except Wrong as told:
        given, square = (*net(14)[:2], batch(5, 20)[0]), (*net(14, SQUARE)[:2], batch(4, 20, SQUARE)[0])
        raise transposed_first(forward, given, square) or told from None


def forward_softmax(forward):
    """The output of the top layer, computed from its z."""
    charged_once(1, of_forward(forward))


def forward_large(forward):
    """Large entries, without overflow and with the right values."""
    charged_once(2, of_forward(forward))


# --- 2. dfa


def listed(value, L, name):
    """A list of layers. It may begin with layer 1 or be too long, because the cell of the top layer tests its slots."""
    if isinstance(value, list | tuple) and len(value) >= L:
        value = [None, *value] if len(value) == L else value[: L + 1]
    return layers(value, 1, L, name)


def both(dfa, W, b, B, x, y, m, like):
    """{place: (the student's entry, the entry of ``like``)}, for all entries of dW and db that have the right shape."""
    dW, db = pair(call(dfa, W, b, B, x, y, m), "dW and db")
    dW, db = listed(dW, len(W) - 1, "dW"), listed(db, len(W) - 1, "db")
    found = {**fitting(dW, like[0], "dW"), **fitting(db, like[1], "db")}
    if not found:
        raise mismatch("the finite entries of dW and db with the shape of W or b", "none", "all")
    return found


def case(seed, k=7, sizes=SIZES):
    """W, b and B of a network, with a batch x and y."""
    W, b, B = net(seed, sizes)
    return (W, b, B, *batch(k, seed + 1, sizes))


ALONE = [4, 3]  # a single layer, which has no feedback


def runs(dfa, *every):
    """The first of these (seed, k, sizes) for which dfa raises no error. If there is none, the last of them."""
    return next((one for one in every if passes(call, dfa, *case(*one), 1)), every[-1])


def judged(dfa, given, which, e=None, parts=("dW", "db"), read=listed):
    """Check the directions of these layers, up to a factor. A given e replaces the right e; parts selects dW or db."""
    W, b, _, _, _ = given
    L = len(W) - 1
    dW, db = pair(call(dfa, *given, 7), "dW and db")
    dW, db = read(dW, L, "dW"), read(db, L, "db")
    want_W, want_b = directions(*given, 7, e)
    for l in which(L):
        hint = f"layer {l} takes B[{l}] e times the derivative of tanh at z[{l}], and its input is h[{l - 1}]"
        if l == L:
            hint = f"the top layer takes e itself, without B and without tanh', and its input is h[{l - 1}]"
        if "dW" in parts:
            same_line(array(dW[l], W[l].shape, f"dW[{l}]"), want_W[l], f"dW[{l}]", hint)
        if "db" in parts:
            same_line(array(db[l], b[l].shape, f"db[{l}]"), want_b[l], f"db[{l}]", hint)


def top(L):
    return [L]


def hidden(L):
    return range(1, L)


def whole(value, L, name):
    """A list of layers with its slot 0."""
    return layers(value, 1, L, name)


def top_right(dfa, *one, read=whole):
    """The direction of the top layer, up to a factor.

    If only dW or only db is wrong in every layer, the cell of the hidden layers loses its points.
    """
    given = case(*one)
    try:
        judged(dfa, given, top, read=read)
    except Wrong:
        every = [(dfa, given, lambda L: range(1, L + 1), None, (part,), read) for part in ("dW", "db")]
        if not any(passes(judged, *one) for one in every) or (len(given[0]) > 2 and passes(judged, dfa, given, hidden)):
            raise


def hidden_right(dfa, *one):
    """The directions of the hidden layers, up to a factor. A wrong e loses only the point of the top layer."""
    given = case(*one)
    try:
        judged(dfa, given, hidden)
    except Wrong as told:
        if passes(judged, dfa, given, top) or not passes(judged, dfa, given, hidden, own_errors(dfa, *given)):
            raise told from None


def own_errors(dfa, W, b, B, x, y):
    """The error e of each record in the student's top layer: db[L] of this record alone with m = 1.

    Raises
    ------
    Wrong : if a second record with another label has the same e
    """
    records = zip([*x, -x[0]], [*y, np.roll(y[0], 1)], strict=True)
    alone = [pair(call(dfa, W, b, B, one[None], label[None], 1), "dW and db")[1] for one, label in records]
    name = f"db[{len(b) - 1}]"
    *found, other = (array(listed(db, len(b) - 1, "db")[-1], b[-1].shape, name) for db in alone)
    if np.array_equal(found[0], other):
        raise mismatch(f"{name} of a second record", "the value of the first record", "another value")
    return np.array(found)


def scale_right(dfa, seed, k, sizes):
    """Norm and sign, for m = 1, of the entries with the right direction. The student's e may be wrong."""
    given = case(seed, k, sizes)
    found = both(dfa, *given, 1, directions(*given, 1))
    if not any(common_factor(*two) for two in found.values()):
        found = both(dfa, *given, 1, directions(*given, 1, own_errors(dfa, *given)))
    hint = "the sum over one record has one term, and m is 1"
    same_scale(
        found, "of one record with m = 1", hint, "the training loop subtracts this direction, and e is y_hat - y"
    )


SEVERAL = "divide the sum over the records by m, for any number of records"


def m_right(dfa, seed, k, sizes):
    """The sum of the student's own directions of single records, divided by m. For an empty batch, this sum is 0."""
    W, b, B, x, y = case(seed, k, sizes)
    alone = [both(dfa, W, b, B, x[i : i + 1], y[i : i + 1], 1, (W, b)) for i in range(len(x))]
    added = {place: sum(one[place][0] for one in alone) for place in alone[0] if all(place in one for one in alone)}
    added = {place: value for place, value in added.items() if value.any()}  # zeros lose the points of the direction
    if not added:
        raise mismatch("dW and db", "0 everywhere", "other numbers")
    for many, m, hint in ((k, 250, SEVERAL), (k, 3, SEVERAL), (0, 10, "the sum over no records is 0")):
        found = both(dfa, W, b, B, x[:many], y[:many], m, (W, b))
        for place, value in added.items():
            name = f"{place} of {many or 'no'} records with m = {m}"
            if place not in found:
                raise mismatch(name, "other values or another shape", "finite numbers in the shape of W or b", hint)
            close(found[place][0], value / m if many else 0 * value, name, hint)


def m_divides(dfa, seed, k, sizes):
    """The size of the entries with the right direction, for several m, if dfa only runs with k records."""
    given = case(seed, k, sizes)
    for m in (10, 3):
        found = both(dfa, *given, m, directions(*given, m))
        right = [two for two in found.values() if common_factor(*two) is not None]
        if not right:
            raise mismatch("entries with the right direction", "none", "at least one")
        for mine, want in right:
            close(np.abs(mine), np.abs(want), f"dW or db of {k} records with m = {m}", SEVERAL)


def of_dfa(dfa):
    """The checks of the four cells of dfa, each with a lenient check.

    The lenient checks use layers of one size, or one layer, with four records. Then most products are possible.
    """

    def mild_scale():
        one = runs(dfa, (34, 1, SQUARE), (34, 1, ALONE), (34, 4, SQUARE))
        (m_divides if one[1] == 4 else scale_right)(dfa, *one)

    def mild_m():
        one = runs(dfa, (36, 7, SQUARE), (36, 7, ALONE), (36, 4, SQUARE))
        (m_divides if one[1] == 4 else m_right)(dfa, *one)

    return (
        (
            lambda: top_right(dfa, 30, 7, SIZES),
            lambda: top_right(dfa, *runs(dfa, (30, 7, SIZES), (30, 4, SQUARE), (30, 4, ALONE))),
        ),
        (lambda: hidden_right(dfa, 32, 7, SIZES), lambda: hidden_right(dfa, 32, 4, SQUARE)),
        (lambda: scale_right(dfa, 34, 1, SIZES), mild_scale),
        (lambda: m_right(dfa, 36, 7, SIZES), mild_m),
    )


def dfa_top(dfa):
    """The direction of the top layer, up to a factor."""
    fair(lambda: charged_once(0, of_dfa(dfa)), dfa, forward=forward_by_loops)


def dfa_feedback(dfa):
    """The directions of the hidden layers, up to a factor."""

    def check():
        try:
            charged_once(1, of_dfa(dfa))
        except Wrong as told:
            raise turned(dfa) or told from None

    fair(check, dfa, forward=forward_by_loops)


def turned(dfa):
    """The error if dfa computes e B[l] without the transpose, which only works for layers of one size; else None."""

    def check():
        W, b, B, x, y = case(32, 4, SQUARE)
        dW, db = pair(call(dfa, W, b, B, x, y, 7), "dW and db")
        want = directions(W, b, [None if a is None else a.T for a in B], x, y, 7)
        for mine, right in zip(
            arrays(dW, W, "dW")[1:] + arrays(db, b, "db")[1:], want[0][1:] + want[1][1:], strict=True
        ):
            same_line(mine, right, "")

    if passes(call, dfa, *case(32), 7) or not passes(check):
        return None
    shapes = (SIZES[1], SIZES[-1]), (SIZES[-1], SIZES[1])
    return mismatch("the shape of the right factor in the product with e for layer 1", *shapes, "B[1] is transposed")


def dfa_scale(dfa):
    """Norm and sign, for one record with m = 1, of the entries with the right direction."""
    fair(lambda: charged_once(2, of_dfa(dfa)), dfa, forward=forward_by_loops)


def dfa_m(dfa):
    """The sum over the records, divided by m. For an empty batch, this sum is 0."""
    fair(lambda: charged_once(3, of_dfa(dfa)), dfa, forward=forward_by_loops)


# --- 3. transported


def suffix(W, l):
    """The transposed matrix of the linear map from h[l] to z[L], from its values for the unit vectors."""
    rows = []
    for unit in np.eye(W[l].shape[0]):
        for k in range(l + 1, len(W)):
            unit = np.array([math.fsum(w * u for w, u in zip(row, unit, strict=True)) for row in W[k]])
        rows.append(unit)
    return np.array(rows)


def matrices(transported, W):
    """The list that a student's function returns, with any entries."""
    B, L = call(transported, W), len(W) - 1
    if not isinstance(B, list | tuple):
        raise misfit("the result of transported", B, f"a list with B[1]..B[{L - 1}] and slots 0 and {L}")
    return B


def of_transported(transported):
    """The checks of the two cells of transported, each with a lenient check."""

    def last(sizes):
        W, _, _ = net(40, sizes)
        L = len(W) - 1
        B = matrices(transported, W)
        found = array(B[L - 1] if len(B) >= L else None, suffix(W, L - 1).shape, f"B[{L - 1}]")
        hint = f"compare Equation 2 at l = {L - 1}, where the next layer's dz is e"
        close(found, suffix(W, L - 1), f"B[{L - 1}]", hint)

    return (
        (lambda: last([4, 5, 3]), lambda: last(SIZES)),
        (lambda: every_matrix(transported), lambda: of_the_last(transported)),
    )


def transported_last(transported):
    """The layer below the top, in a network with two layers. Mistakes farther down lose the next point."""
    charged_once(0, of_transported(transported))


def every_matrix(transported):
    """In a linear network, B[l] e is the gradient of the inner product of z[L] and e by h[l]."""
    for sizes in (SIZES, [3, 4, 2], [5, 2, 7, 3, 4, 2]):
        W, _, _ = net(41, sizes)
        L = len(W) - 1
        B = matrices(transported, W)
        if len(B) not in (L, L + 1):
            raise mismatch("the length of the list of transported", len(B), L + 1, f"it must have slots 0 to {L}")
        for l in range(1, L):
            found = array(B[l], (sizes[l], sizes[L]), f"B[{l}]")
            close(found, suffix(W, l), f"B[{l}] of {L} layers", "apply Equation 2 layer by layer, with phi' = 1")


def of_the_last(transported):
    """Products with the student's own last matrix, in any slots, for layers of one size. Transposes may be missing."""
    W, _, _ = net(41, [3, 3, 3, 3, 3])
    B = [a for a in matrices(transported, W) if a is not None]
    found = [array(a, (3, 3), "an entry of the list of transported") for a in B]
    for at in range(2, len(found)):
        two, last = found[at - 2 : at], found[at]
        upright = W[2].T @ W[3].T @ last, W[3].T @ last
        others = (W[2] @ W[3] @ last, W[3] @ last), (last @ W[3] @ W[2], last @ W[3])
        if np.abs(last).max() > 0 and any(passes(close, two, np.array(one), "") for one in (upright, *others)):
            return
    raise mismatch("the result of transported", "other matrices", "products with its last matrix")


def transported_all(transported):
    """Every layer. If B[L-1] loses its point, products with the student's own matrix are right here."""
    charged_once(1, of_transported(transported))


# --- 4. alignment


def cosine_by_loops(a, b):
    """The cosine, entry by entry."""
    a, b = np.ravel(a).tolist(), np.ravel(b).tolist()
    inner = math.fsum(s * t for s, t in zip(a, b, strict=True))
    return inner / math.sqrt(math.fsum(s * s for s in a) * math.fsum(t * t for t in b))


def cosine_values(cosine):
    """Vectors, matrices, small and large numbers, opposed directions.

    In the last cases, the largest entries are at the ends of the promised interval, and the norms are hardly larger. So
    a lower bound for the product of the norms has an effect if it is above 1.5e-16. The product of the squared norms is
    still a number of float32.
    """
    rng = seeded(50)
    a, b = rng.normal(size=(2, 3, 5))
    for s, t in ((a, b), (a[0], b[0]), (a, -2 * a), (1e-3 * a, b), (1e3 * a, b), (a.astype(np.float32), b)):
        hint = "take all entries as one vector, and divide by both norms"
        close(number(call(cosine, s, t), "the cosine"), cosine_by_loops(s, t), "the cosine of arrays", hint)
    one, two = rng.uniform(0.2, 0.4, size=(2, 2, 2))
    one[0, 0], two[0, 0] = 1.0, -1.0
    for p, q in itertools.product((1e-8, 1e4), repeat=2):
        name = f"the cosine of arrays with largest entries of {p:g} and {q:g}"
        hint = "divide by both norms, without a bound or an added constant"
        close(number(call(cosine, p * one, q * two), name), cosine_by_loops(one, two), name, hint)


def gradient_by_differences(W, b, x, y):
    """The gradient of the mean loss by every W[l], like the `gradient` of the notebook."""
    return loss_gradients(W, b, x, y)


RIGHT = {"forward": forward_by_loops, "dfa": directions, "cosine": cosine_by_loops, "gradient": gradient_by_differences}
SMALL = [3, 4, 4, 2]


def small_case(seed, k=5):
    """A small network and batch, for a few steps by differences."""
    return (*net(seed, SMALL), *batch(k, seed + 1, SMALL))


def trained(train, W, b, B, x, y, steps, eta):
    """The W and b that a student's function `train` returns, as arrays of the right shapes."""
    found = pair(call(train, W, b, B, x, y, steps, eta), "W, b and the cosines", 3)
    return arrays(found[0], W, "W"), arrays(found[1], b, "b")


def step(W, b, B, x, y, eta):
    """W and b after one step."""
    dW, db = directions(W, b, B, x, y, len(x))
    W = [None, *(w - eta * d for w, d in zip(W[1:], dW[1:], strict=True))]
    return W, [None, *(v - eta * d for v, d in zip(b[1:], db[1:], strict=True))]


def train_cosines(train):
    """The cosines: at the first step with the given weights, and at later steps with the student's own weights.

    If `train_steps` loses its point, two other results pass, too: cosines with the right weights, and cosines of the
    first direction.
    """

    def check(own=True, stale=False):
        W, b, B, x, y = given = small_case(82)
        found = pair(call(train, *given, 3, 0.5), "W, b and the cosines", 3)[2]
        cosines = array(found, (3, len(W) - 1), "the cosines")
        hint = "compute them before the step, with the gradient at the same weights; column 0 is layer 1"
        for t in range(3):
            if t and own and not passes(trained, train, *given, t, 0.5):
                break
            if t:
                W, b = trained(train, *given, t, 0.5) if own else step(W, b, B, x, y, 0.5)
            dW = directions(*(given[:2] if stale else (W, b)), B, x, y, 5)[0]
            g = loss_gradients(W, b, x, y)
            want = np.array([cosine_by_loops(dW[l], g[l]) for l in range(1, len(W))])
            close(cosines[t], want, f"row {t} of the cosines", hint)

    def lenient():
        if not passes(check, False):
            check(stale=True)

    fair(lambda: unless_lost(check, lenient, lambda: train_steps(train)), train, **RIGHT)


def unchanged(train, W, b, B, x, y):
    """Check that the lists W and b that `train` gets, and their arrays, are the same after the call."""
    given = copy.deepcopy((W, b))
    call(train, *given, B, x, y, 2, 0.5, copies=False)
    for name, mine, before in zip(("W", "b"), given, (W, b), strict=True):
        if len(mine) != len(before):
            raise mismatch(f"the length of the list {name} that train gets, after the call", len(mine), len(before))
        for l in range(1, len(before)):
            if not np.array_equal(mine[l], before[l]):
                hint = "store the new values in a new list and in new arrays"
                raise mismatch(f"the {name}[{l}] that train gets, after the call", "other values", "the same", hint)


def train_steps(train):
    """The weights after a few steps with batches of two sizes. The given weights must stay the same."""

    def check():
        for seed, k, steps, eta in ((62, 5, 3, 0.5), (63, 3, 5, 0.2)):
            W, b, B, x, y = small_case(seed, k)
            new_W, new_b = trained(train, W, b, B, x, y, steps, eta)
            for _ in range(steps):
                W, b = step(W, b, B, x, y, eta)
            for l in range(1, len(W)):
                after = f"after {steps} steps"
                close(new_W[l], W[l], f"W[{l}] {after}", "each step subtracts eta dW, with m the size of the batch")
                close(new_b[l], b[l], f"b[{l}] {after}", "each step subtracts eta db")
        unchanged(train, *small_case(64))

    fair(check, train, **RIGHT)


# --- the guess and the questions


def guess_made(guess):
    """Check the guess: three numbers between -1 and 1."""
    names = ("layer 2 at the first step", "layer 2 at the last step", "layer 3 at the last step")
    guessed(guess, *(f"the cosine in {name}" for name in names), least=-1.0, most=1.0)


def transposes_answer(transposes):
    """The layers in which DFA with the transposed weights is the gradient, for tanh units."""
    answered(transposes, "a", "compare Equations 2 and 5 layer by layer: where does a derivative at another z occur?")


def decreases_answer(decreases):
    """The condition under which a small step along a direction decreases the loss."""
    answered(decreases, "c", "what is the derivative of the loss along the direction of the step?")


def fresh_answer(fresh):
    """The behaviour of the cosine if B is new in every step."""
    answered(fresh, "b", "which weights could be similar to all of these matrices?")
