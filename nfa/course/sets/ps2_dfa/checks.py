"""The checks of problem set 2, one a graded cell. Their oracles are differences and loops, never the formula itself."""

import math

import numpy as np

from nfa.course.checking import (
    Wrong,
    array,
    arrays,
    call,
    close,
    common_factor,
    fair,
    fitting,
    layers,
    misfit,
    mismatch,
    number,
    pair,
    passes,
    same_line,
    same_scale,
    slopes,
    unless_lost,
)

SIZES = [4, 5, 6, 4, 3]  # four layers, so that every mistake of a layer's number shows


def net(seed, sizes=SIZES):
    """W, b, B, random and of a size at which tanh is neither linear nor flat."""
    rng = np.random.default_rng(seed)
    L = len(sizes) - 1
    W = [None] + [rng.normal(size=(sizes[l], sizes[l - 1])) / 2 for l in range(1, L + 1)]
    b = [None] + [rng.normal(size=sizes[l]) / 2 for l in range(1, L + 1)]
    B = [None] + [rng.normal(size=(sizes[l], sizes[L])) for l in range(1, L)] + [None]
    return W, b, B


def batch(k, seed, sizes=SIZES):
    """Records, and targets of which every class has some."""
    x = np.random.default_rng(seed).normal(size=(k, sizes[0]))
    return x, np.eye(sizes[-1])[np.arange(k) % sizes[-1]]


# --- oracles


def forward_by_loops(W, b, x):
    """The forward pass one number at a time."""
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
    """DFA as slopes: of the sum over records of <h[l], B[l] e> / m, whose e and h[l-1] stand still.

    In the top layer, where dz = e, they are those of <z[L], e> / m, and with the right e, which is the one without
    another, those of the loss.
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

        dW.append(slopes(lambda w, l=l, f=surrogate: f(w, b[l]), W[l]))
        db.append(slopes(lambda v, l=l, f=surrogate: f(W[l], v), b[l]))
    return dW, db


def loss_slopes(W, b, x, y):
    """The gradient of the mean cross-entropy by every W[l], by differences."""

    def loss(l, w):
        changed = [*W[:l], w, *W[l + 1 :]]
        h = x
        for k in range(1, len(W)):
            z = h @ changed[k].T + b[k]
            h = np.tanh(z)
        return float(np.mean(np.log(np.exp(z).sum(axis=1)) - (z * y).sum(axis=1)))

    return [None, *(slopes(lambda w, l=l: loss(l, w), W[l]) for l in range(1, len(W)))]


# --- 1. forward


def lists(forward, W, b, x):
    """What a student's forward returns, as arrays of the right shapes."""
    z, h = pair(call(forward, W, b, x), "z and h")
    like = [x, *(np.empty((len(x), len(v))) for v in b[1:])]
    return arrays(z, like, "z"), arrays(h, like, "h", first=0)


def forward_hidden(forward):
    """z of all layers, h of those below the top."""
    for k in (1, 5):
        W, b, _ = net(10 + k)
        x, _ = batch(k, 20)
        z, h = lists(forward, W, b, x)
        want_z, want_h = forward_by_loops(W, b, x)
        close(h[0], x, "h[0]", "it is x itself")
        for l in range(1, len(W)):
            close(z[l], want_z[l], f"z[{l}]", f"it is W[{l}] h[{l - 1}] + b[{l}] for every record")
            if l < len(W) - 1:
                close(h[l], want_h[l], f"h[{l}]", f"it is tanh of z[{l}]")


def forward_softmax(forward):
    """The output of the top layer, given its z."""
    W, b, _ = net(12)
    x, _ = batch(5, 21)
    z, h = lists(forward, W, b, x)
    L = len(W) - 1
    rows = np.array([[math.exp(t) / math.fsum(math.exp(s) for s in row) for t in row] for row in z[L]])
    close(h[L], rows, f"h[{L}]", "the top layer has no tanh: it is the softmax of each row of z[L], a row a record")


def forward_large(forward):
    """Large entries neither overflow nor come out wrong."""
    W, b = [None, np.array([[2000.0], [1000.0], [1999.0]])], [None, np.zeros(3)]
    x = np.array([[1.0], [-1.0]])
    _, h = lists(forward, W, b, x)
    want, name = forward_by_loops(W, b, x)[1][1], "the softmax of entries such as 2000"
    if not passes(forward_softmax, forward):  # a softmax over something else costs there; here it survives or does not
        W, x = [None, W[1] / 1000], np.ones((2, 1))
        want = lists(forward, W, b, x)[1][1]
        _, h = lists(forward, W, [None, b[1] + 2000], x)
    close(h[1], want, name, "subtract the largest of a row")


# --- 2. dfa


def both(dfa, W, b, B, x, y, m, like):
    """{place: (what a student has, what ``like`` has)} of all entries of dW and db that have their shape."""
    dW, db = pair(call(dfa, W, b, B, x, y, m), "dW and db")
    found = {**fitting(dW, like[0], "dW"), **fitting(db, like[1], "db")}
    if not found:
        raise mismatch("what of dW and db is finite and has the shape of its W or b", "nothing", "every entry")
    return found


def case(seed, k=7):
    """A network with a batch."""
    W, b, B = net(seed)
    return (W, b, B, *batch(k, seed + 1))


def judged(dfa, given, which, e=None, dW_too=True):
    """The directions of these layers, up to a factor; with another e than the right one, or of db alone."""
    W, b, _, _, _ = given
    L = len(W) - 1
    dW, db = pair(call(dfa, *given, 7), "dW and db")
    dW, db = layers(dW, 1, L, "dW"), layers(db, 1, L, "db")
    want_W, want_b = directions(*given, 7, e)
    for l in which:
        hint = f"layer {l} takes B[{l}] e times the derivative of tanh at z[{l}], and reads h[{l - 1}]"
        if l == L:
            hint = f"the top layer takes e itself, without B and without tanh', and reads h[{l - 1}]"
        if dW_too:
            same_line(array(dW[l], W[l].shape, f"dW[{l}]"), want_W[l], f"dW[{l}]", hint)
        same_line(array(db[l], b[l].shape, f"db[{l}]"), want_b[l], f"db[{l}]", hint)


TOP, HIDDEN = [len(SIZES) - 1], range(1, len(SIZES) - 1)


def dfa_top(dfa):
    """The top layer's direction, up to a factor. If dW and not db is wrong in every layer, that costs below."""

    def check():
        given = case(30)
        try:
            judged(dfa, given, TOP)
        except Wrong:
            e_right = passes(judged, dfa, given, [*HIDDEN, *TOP], None, False)
            if not e_right or passes(judged, dfa, given, HIDDEN):
                raise

    fair(check, dfa, forward=forward_by_loops)


def own_errors(dfa, W, b, B, x, y):
    """The error of each record as a student's top layer has it: db[L] of the record alone with m = 1.

    Raises
    ------
    Wrong : if another input with another target has the same
    """
    records = zip([*x, -x[0]], [*y, np.roll(y[0], 1)], strict=True)
    alone = [pair(call(dfa, W, b, B, one[None], target[None], 1), "dW and db")[1] for one, target in records]
    name = f"db[{len(b) - 1}]"
    *found, other = (array(layers(db, 1, len(b) - 1, "db")[-1], b[-1].shape, name) for db in alone)
    if np.array_equal(found[0], other):
        raise mismatch(f"{name} of another record", "the same", "another")
    return np.array(found)


def dfa_feedback(dfa):
    """The hidden layers' directions, up to a factor. A wrong e costs in the top layer, and here it will do."""

    def check():
        given = case(32)
        try:
            judged(dfa, given, HIDDEN)
        except Wrong as told:
            if passes(judged, dfa, given, TOP):
                raise
            if not passes(judged, dfa, given, HIDDEN, own_errors(dfa, *given)):
                raise told from None

    fair(check, dfa, forward=forward_by_loops)


def dfa_scale(dfa):
    """Length and sign, for one record with m = 1, of what has the right direction, if need be with a wrong e."""

    def check():
        given = case(34, 1)
        found = both(dfa, *given, 1, directions(*given, 1))
        if not any(common_factor(*two) for two in found.values()):
            found = both(dfa, *given, 1, directions(*given, 1, own_errors(dfa, *given)))
        hint = "with one record the sum has one term, and m = 1 divides it"
        same_scale(found, "of one record with m = 1", hint, "the training loop subtracts it, and e is y_hat - y")

    fair(check, dfa, forward=forward_by_loops)


def dfa_m(dfa):
    """A sum over records, of the student's own for each record alone, divided by m; of an empty batch it is 0."""

    def check():
        W, b, B, x, y = case(36)
        alone = [both(dfa, W, b, B, x[i : i + 1], y[i : i + 1], 1, (W, b)) for i in range(len(x))]
        added = {place: sum(one[place][0] for one in alone) for place in alone[0] if all(place in one for one in alone)}
        added = {place: value for place, value in added.items() if value.any()}  # zeros cost in the direction
        if not added:
            raise mismatch("dW and db", "0 everywhere", "other numbers")
        several = "a sum over the records is divided by m, however many they are"
        for k, m, hint in ((7, 10, several), (7, 3, several), (0, 10, "a sum of nothing is 0")):
            found = both(dfa, W, b, B, x[:k], y[:k], m, (W, b))
            for place, value in added.items():
                name = f"{place} of {k or 'no'} records with m = {m}"
                if place not in found:
                    raise mismatch(name, "other than finite numbers in its shape", "these", hint)
                close(found[place][0], value / m if k else 0 * value, name, hint)

    fair(check, dfa, forward=forward_by_loops)


# --- 3. transported


def suffix(W, l):
    """The matrix of the linear map from h[l] to z[L], transposed: what it does to each unit vector."""
    rows = []
    for unit in np.eye(W[l].shape[0]):
        for k in range(l + 1, len(W)):
            unit = np.array([math.fsum(w * u for w, u in zip(row, unit, strict=True)) for row in W[k]])
        rows.append(unit)
    return np.array(rows)


def matrices(transported, W):
    """The list that a student's function returns, not looked into."""
    B, L = call(transported, W), len(W) - 1
    if not isinstance(B, list | tuple):
        raise misfit("what transported returns", B, f"a list with B[1]..B[{L - 1}] and slots 0 and {L}")
    return B


def transported_last(transported):
    """The layer below the top."""
    W, _, _ = net(40, [4, 5, 3])  # what is wrong farther down costs there
    L = len(W) - 1
    B = matrices(transported, W)
    found = array(B[L - 1] if len(B) >= L else None, suffix(W, L - 1).shape, f"B[{L - 1}]")
    close(found, suffix(W, L - 1), f"B[{L - 1}]", f"compare Equation 2 at l = {L - 1}, where the next layer's dz is e")


def transported_all(transported):
    """Every layer: B[l] e is the slope of <z[L], e> by h[l] in a linear network.

    Where B[L-1] has lost its points, what is made of the student's own, in a network whose layers have one size.
    """

    def check(*every, own=False):
        for sizes in every:
            W, _, _ = net(41, sizes)
            L = len(W) - 1
            B = matrices(transported, W)
            if len(B) not in (L, L + 1):
                raise mismatch("the length of what transported returns", len(B), L + 1, f"it has slots 0 to {L}")
            last = array(B[L - 1], (sizes[L - 1], sizes[L]), f"B[{L - 1}]") if own else suffix(W, L - 1)
            for l in range(1, L):
                found = array(B[l], (sizes[l], sizes[L]), f"B[{l}]")
                want = suffix(W[:L], l) @ last if l < L - 1 else last
                close(found, want, f"B[{l}] of {L} layers", "apply Equation 2 again and again, with phi' = 1")

    unless_lost(
        lambda: check(SIZES, [3, 4, 2], [5, 2, 7, 3, 4, 2]),
        lambda: check([3, 3, 3, 3, 3], own=True),
        lambda: transported_last(transported),
    )


# --- 4. alignment


def cosine_by_loops(a, b):
    """The cosine, entry by entry."""
    a, b = np.ravel(a).tolist(), np.ravel(b).tolist()
    inner = math.fsum(s * t for s, t in zip(a, b, strict=True))
    return inner / math.sqrt(math.fsum(s * s for s in a) * math.fsum(t * t for t in b))


def cosine_values(cosine):
    """Vectors, matrices, small and large numbers, opposed directions."""
    rng = np.random.default_rng(50)
    a, b = rng.normal(size=(2, 3, 5))
    for s, t in ((a, b), (a[0], b[0]), (a, -2 * a), (1e-3 * a, b), (1e3 * a, b), (a.astype(np.float32), b)):
        got = number(call(cosine, s, t), "the cosine")
        close(got, cosine_by_loops(s, t), "the cosine", "divide by both norms; take all entries as one vector")


def gradient_by_slopes(W, b, x, y):
    """What the notebook's `gradient` returns."""
    return loss_slopes(W, b, x, y)


RIGHT = {"forward": forward_by_loops, "dfa": directions, "cosine": cosine_by_loops, "gradient": gradient_by_slopes}
SMALL = [3, 4, 4, 2]


def small_case(seed):
    """A network and batch small enough for a few steps by differences."""
    return (*net(seed, SMALL), *batch(5, seed + 1, SMALL))


def trained(train, W, b, B, x, y, steps, eta, copies=True):
    """What a student's train returns, as arrays of the right shapes."""
    found = pair(call(train, W, b, B, x, y, steps, eta, copies=copies), "W, b and the cosines", 3)
    cosines = array(found[2], (steps, len(W) - 1), "the cosines")
    return arrays(found[0], W, "W"), arrays(found[1], b, "b"), cosines


def train_cosines(train):
    """The cosines at the first step are those at the weights given."""

    def check():
        W, b, B, x, y = small_case(60)
        _, _, cosines = trained(train, W, b, B, x, y, 1, 0.5)
        dW, g = directions(W, b, B, x, y, 5)[0], loss_slopes(W, b, x, y)
        want = np.array([cosine_by_loops(dW[l], g[l]) for l in range(1, len(W))])
        close(cosines[0], want, "the first row of the cosines", "note them before the step; column 0 is layer 1")

    fair(check, train, **RIGHT)


def train_steps(train):
    """The weights after three steps."""

    def check():
        W, b, B, x, y = small_case(62)
        new_W, new_b, _ = trained(train, W, b, B, x, y, 3, 0.5)
        for _ in range(3):
            dW, db = directions(W, b, B, x, y, 5)
            W = [None, *(w - 0.5 * d for w, d in zip(W[1:], dW[1:], strict=True))]
            b = [None, *(v - 0.5 * d for v, d in zip(b[1:], db[1:], strict=True))]
        for l in range(1, len(W)):
            close(new_W[l], W[l], f"W[{l}] after 3 steps", "each step subtracts eta dW, with m the size of the batch")
            close(new_b[l], b[l], f"b[{l}] after 3 steps", "each step subtracts eta db")

    fair(check, train, **RIGHT)


def train_copies(train):
    """What is given is left as it was, and the network has moved."""

    def check():
        given, kept = small_case(64), small_case(64)
        new_W, _, _ = trained(train, *given, 2, 0.5, copies=False)
        for name, mine, right in zip(("W", "b", "B"), given, kept, strict=False):
            for l, (a, c) in enumerate(zip(mine, right, strict=True)):
                if c is not None and not np.array_equal(a, c):
                    name = f"the {name}[{l}] that train was given"
                    raise mismatch(name, "other numbers in it afterwards", "the same", "work on copies")
        if all(np.array_equal(a, c) for a, c in zip(new_W[1:], kept[0][1:], strict=True)):
            raise mismatch("the weights that train returns", "those that it was given", "others")

    fair(check, train, **RIGHT)
