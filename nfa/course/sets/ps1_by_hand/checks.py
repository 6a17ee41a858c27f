"""The checks of problem set 1, one for each graded cell.

The expected values come from differences and loops, and not from the formula that students write.
"""

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
    entries,
    fair,
    fitting,
    guessed,
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
    size,
    transposed_first,
    unless_lost,
)

SIZES = [4, 5, 6, 4, 3]  # four layers, so that a wrong layer index gives other values


def net(seed, sizes=SIZES):
    """Random W and b, with entries of a size at which the sigmoid is neither linear nor flat."""
    rng = seeded(seed)
    L = len(sizes) - 1
    W = [None] + [rng.normal(size=(sizes[l], sizes[l - 1])) for l in range(1, L + 1)]
    return W, [None] + [rng.normal(size=sizes[l]) for l in range(1, L + 1)]


def batch(k, seed, sizes=SIZES):
    """Random records, and one-hot labels in which every class occurs."""
    x = seeded(seed).normal(size=(k, sizes[0]))
    return x, np.eye(sizes[-1])[np.arange(k) % sizes[-1]]


# --- oracles


def phi(t):
    """The sigmoid, computed with the exponential function."""
    return 1 / (1 + np.exp(-t))


def forward_by_loops(W, b, x):
    """The forward pass, one number at a time."""
    L = len(W) - 1
    z, h = [None, *(np.zeros((len(x), len(v))) for v in b[1:])], [x, *(np.zeros((len(x), len(v))) for v in b[1:])]
    for i in range(len(x)):
        for l in range(1, L + 1):
            for j in range(len(b[l])):
                z[l][i, j] = b[l][j] + math.fsum(W[l][j, k] * h[l - 1][i, k] for k in range(W[l].shape[1]))
            total = math.fsum(math.exp(t) for t in z[l][i]) if l == L else 1.0
            h[l][i] = [math.exp(t) / total if l == L else 1 / (1 + math.exp(-t)) for t in z[l][i]]
    return z, h


def record_losses(z, y):
    """The cross-entropy of every record, from z of the top layer."""
    return np.log(np.exp(z).sum(axis=1)) - (z * y).sum(axis=1)


def derivatives_by_record(values, z, step=1e-5):
    """The derivative of each record's value by its own entries of z, by central differences."""
    found = np.zeros(z.shape)
    for j in range(z.shape[1]):
        shift = step * np.eye(z.shape[1])[j]
        found[:, j] = (values(z + shift) - values(z - shift)) / (2 * step)
    return found


def top_from(l, W, z, new):
    """z of the top layer if z of layer l becomes ``new``: the change is added layer by layer."""
    old = np.asarray(z[l])
    for k in range(l + 1, len(W)):
        old, new = np.asarray(z[k]), np.asarray(z[k]) + (phi(new) - phi(old)) @ np.asarray(W[k]).T
    return new


def deltas_by_differences(W, z, h, y, top=None):
    """The list dz, by differences of each record's loss, or of the inner product of z[L] and a given dz[L]."""

    def values(l, new):
        reached = top_from(l, W, z, new)
        return record_losses(reached, y) if top is None else (reached * top).sum(axis=1)

    return [None, *(derivatives_by_record(lambda new, l=l: values(l, new), np.asarray(z[l])) for l in range(1, len(W)))]


def mean_loss(W, b, x, y, act=phi):
    """The mean loss of a batch."""
    h = x
    for l in range(1, len(W)):
        z = h @ W[l].T + b[l]
        h = act(z)
    return float(record_losses(z, y).mean())


def loss_gradients(W, b, x, y, act=phi):
    """The gradient of the mean loss by every W[l] and b[l], by differences."""

    def put(old, l, new):
        return [*old[:l], new, *old[l + 1 :]]

    every = range(1, len(W))
    dW = [None, *(derivatives(lambda w, l=l: mean_loss(put(W, l, w), b, x, y, act), W[l]) for l in every)]
    return dW, [None, *(derivatives(lambda v, l=l: mean_loss(W, put(b, l, v), x, y, act), b[l]) for l in every)]


# --- 1. on paper

C = math.log(3)
X, Y = np.array([2.0, 1.0]), np.array([1.0, 0.0])
W_HAND = [None, C * np.array([[1.0, -2.0], [-1.0, 1.0]]), C * np.array([[4.0, -2.0], [0.0, 4.0]])]
B_HAND = [None, C * np.array([1.0, 1.0]), C * np.array([-1.0, 1.0])]
THREE_DIGITS = 5e-3  # relative to the largest entry
Z_HAND, H_HAND = forward_by_loops(W_HAND, B_HAND, X[None])
H1, E = H_HAND[1][0], H_HAND[2][0] - Y
DZ1 = deltas_by_differences(W_HAND, Z_HAND, H_HAND, Y[None])[1][0]


def entered(by_hand, *names):
    """The student's entries with these names, as arrays."""
    found = entries(call(by_hand), "by_hand", *names)
    shapes = [(2, 2) if name.startswith("dW") else (2,) for name in names]
    return [array(value, shape, name) for value, shape, name in zip(found, shapes, names, strict=True)]


def nearest(got, *wants):
    """The expected value that is nearest: computed from the student's earlier numbers, or from the right numbers."""
    return min(wants, key=lambda want: np.abs(got - want).max())


def hand_forward(by_hand):
    """z1, and then each number computed from the number before it."""
    z1, h1, z2, y_hat = entered(by_hand, "z1", "h1", "z2", "y_hat")
    want = np.array([math.fsum([*(W_HAND[1][j] * X), B_HAND[1][j]]) for j in range(2)])
    same_number(z1, want, "z1", "multiply each row of W^1 by x, and do not forget b^1", THREE_DIGITS)
    same_number(h1, phi(z1), "h1", "it is the sigmoid of each entry of your z1", THREE_DIGITS)
    want = np.array([math.fsum([*(W_HAND[2][j] * h1), B_HAND[2][j]]) for j in range(2)])
    same_number(z2, want, "z2", "multiply each row of W^2 by your h1, and add b^2", THREE_DIGITS)
    powers = [math.exp(t) for t in z2 - z2.max()]
    hint = "it is the softmax of your z2, not its sigmoid"
    same_number(y_hat, np.array(powers) / sum(powers), "y_hat", hint, THREE_DIGITS)


def hand_top(by_hand):
    """e from y_hat, and dW2 from e and h1, with the student's numbers or the right ones."""
    h1, y_hat, e, dW2 = entered(by_hand, "h1", "y_hat", "e", "dW2")
    if not np.abs(e).max() > 0:
        raise mismatch("e", "0 everywhere", "other numbers", "a softmax is never equal to a one-hot y")
    same_number(e, nearest(e, y_hat - Y, E), "e", "subtract the label from the output", THREE_DIGITS)
    outer = (derivatives(lambda w, e=e, h=h: float(e @ (w @ h)), W_HAND[2]) for e in (e, E) for h in (h1, H1))
    hint = "entry (i, j) is the derivative of the loss by W^2[i, j]: multiply e of unit i by input j"
    same_number(dW2, nearest(dW2, *outer), "dW2", hint, THREE_DIGITS)


def hand_below(by_hand):
    """dz1 from e and z1 or h1, and dW1 from dz1, with the student's numbers or the right ones."""
    z1, h1, e, dz1, dW1 = entered(by_hand, "z1", "h1", "e", "dz1", "dW1")
    back = []
    for top in (e, E) if np.abs(e).max() > 0 else (E,):  # dz1 would be 0 for e = 0
        back += [derivatives(lambda z, top=top: float(top @ (W_HAND[2] @ phi(z))), z1)]
        dphis = (h * (1 - h) for h in (h1, H1))
        back += [derivatives(lambda h, top=top: float(top @ (W_HAND[2] @ h)), h1) * dphi for dphi in dphis]
    hint = "for unit j, multiply e by column j of W^2, and then by the derivative of the sigmoid of this unit"
    same_number(dz1, nearest(dz1, *back), "dz1", hint, THREE_DIGITS)
    outer = (derivatives(lambda w, dz=dz: float(dz @ (w @ X)), W_HAND[1]) for dz in (dz1, DZ1))
    hint = "it is an outer product, as dW2 is; what is the input of layer 1?"
    same_number(dW1, nearest(dW1, *outer), "dW1", hint, THREE_DIGITS)


# --- 2. forward and loss


def lists(forward, W, b, x):
    """The lists z and h of a student's forward, as arrays of the right shapes."""
    z, h = pair(call(forward, W, b, x), "z and h")
    like = [x, *(np.empty((len(x), len(v))) for v in b[1:])]
    return arrays(z, like, "z"), arrays(h, like, "h", first=0)


def topmost(value, shape, name):
    """The last entry of a list of layers. The list may begin with slot 0 or 1."""
    if not isinstance(value, list | tuple | np.ndarray) or not len(value):
        raise misfit(name, value, "a list of layers")
    return array(value[-1], shape, f"the last of {name}")


SQUARE = [4, 4, 4, 4]  # for lenient checks: the matrices of transposed or neighbouring layers fit, too


def hidden_values(forward, *cases):
    """z of all layers, and h of the hidden layers, for several numbers of records and sizes."""
    for k, sizes in cases:
        W, b = net(10 + k, sizes)
        x, _ = batch(k, 20, sizes)
        z, h = lists(forward, W, b, x)
        want_z, want_h = forward_by_loops(W, b, x)
        close(h[0], x, "h[0]", "it is x itself")
        for l in range(1, len(W)):
            close(z[l], want_z[l], f"z[{l}]", f"it is W[{l}] h[{l - 1}] + b[{l}] for every record")
            if l < len(W) - 1:
                close(h[l], want_h[l], f"h[{l}]", f"it is the sigmoid of z[{l}]")


def softmaxed(z, h, name):
    """Check that the rows of h are the softmax of the rows of z."""
    rows = np.array([[1 / math.fsum(math.exp(s - t) for s in row) for t in row] for row in z])
    close(
        h,
        rows,
        name,
        "the top layer has no sigmoid: take the softmax of each row of z[L], with one row for each record",
    )


def softmax_values(forward, *cases):
    """The output of the top layer, computed from its z."""
    for k, sizes in cases:
        W, b = net(12, sizes)
        z, h = lists(forward, W, b, batch(k, 21, sizes)[0])
        softmaxed(z[-1], h[-1], f"h[{len(W) - 1}]")


def softmax_alone(forward):
    """Check that the last entry of one list is the softmax of the last entry of the other list, or the right output.

    If the output is right, only the returned z can be wrong, which loses the point of the other cell.
    """
    given = (*net(12, SQUARE), batch(4, 21, SQUARE)[0])
    both, right = pair(call(forward, *given), "z and h"), forward_by_loops(*given)[1][-1]
    if any(passes(lambda value=value: close(topmost(value, (4, 4), "h"), right, "h[L]")) for value in both):
        return
    z, h = (topmost(value, (4, 4), "z and h") for value in both)
    softmaxed(*((z, h) if passes(softmaxed, z, h, "h") else (h, z)), "h[L]")


def of_forward(forward):
    """The checks of the two cells of forward, each with a lenient check."""
    return (
        (
            lambda: hidden_values(forward, (1, SIZES), (5, SIZES), (4, [3, 2])),
            lambda: hidden_values(forward, (4, SQUARE)),
        ),
        (lambda: softmax_values(forward, (5, SIZES), (4, [3, 2])), lambda: softmax_alone(forward)),
    )


def forward_hidden(forward):
    """z of all layers, and h of the hidden layers."""
    try:
        charged_once(0, of_forward(forward))
    except Wrong as told:
        given, square = (*net(14), batch(5, 20)[0]), (*net(14, SQUARE), batch(4, 20, SQUARE)[0])
        raise transposed_first(forward, given, square) or told from None


def forward_softmax(forward):
    """The output of the top layer, computed from its z. A mistake in a hidden layer loses only the other point."""
    charged_once(1, of_forward(forward))


def loss_values(loss):
    """The mean cross-entropy, from a loop over records. Some outputs are confident and wrong."""
    for k, classes, least in (
        (1, 2, None),
        (1, 4, None),
        (6, 3, None),
        (5, 4, None),
        (1, 2, 2e-5),
        (3, 3, 5e-4),
        (1, 3, 0.995),
    ):
        rng = seeded(70 + k)
        y_hat = rng.dirichlet(np.ones(classes), size=k)
        labels = rng.integers(classes, size=k)
        if least:
            y_hat[0] = (1 - least) / (classes - 1)
            y_hat[0, labels[0]] = least
        want = math.fsum(-math.log(y_hat[i, labels[i]]) for i in range(k)) / k
        got = number(call(loss, y_hat, np.eye(classes)[labels]), "the loss")
        name = f"the loss of {k} record{'s' if k > 1 else ''} with {classes} classes"
        if least:
            name += f", where y_hat of the right class is {least:g}"
        close(got, want, name, "take the sum over the classes, and the mean over the records")


# --- 3. derivatives by differences


def guess_made(guess):
    """Check the guess: three numbers between 1 and 16."""
    kinds = ("the central difference", "the one-sided difference", "the central difference in float32")
    guessed(guess, *(f"p for {kind}" for kind in kinds), least=1, most=16)


def values_of_gradient(numerical_gradient, half=False):
    """The derivatives of smooth functions, from a complex shift. With ``half``, the student returns half of each."""
    for shape in ((3,), (1,), (2, 3), (2, 1, 2)):
        rng = seeded(80 + len(shape))
        v, c = rng.normal(size=shape), rng.normal(size=shape)

        def f(v, c=c):
            return np.exp((c * v).sum() / 3) + np.prod(np.cos(v)) + (c * np.sin(v)).sum()

        want = np.zeros(shape)
        for i in np.ndindex(shape):
            beside = v.astype(complex)
            beside[i] += 1e-30j
            want[i] = f(beside).imag / 1e-30
        given = v.copy()
        found = call(numerical_gradient, lambda v, f=f: float(f(np.asarray(v))), given, 1e-6, copies=False)
        got = array(found, shape, "the numerical gradient")
        name = f"the numerical gradient by an array of shape {shape}"
        if not np.abs(got).max() > 0:
            hint = "do the two points differ, or are they two names of one array?"
            raise mismatch(name, "0 everywhere", "other numbers", hint)
        hint = "change one entry at a time, and restore it; how far apart are the two points?"
        close(2 * got if half else got, want, name, hint)
        if not np.allclose(given, v, rtol=0, atol=1e-9):
            raise mismatch("the array v after numerical_gradient(f, v, shift)", "changed entries", "the same entries")


def of_numerical(numerical_gradient):
    """The checks of the two cells of numerical_gradient, each with a lenient check.

    The lenient checks accept half of the value, and use arrays of one entry.
    """

    def of_one():
        central_of_one(numerical_gradient, 0.5 if passes(central_of_one, numerical_gradient, 0.5) else 1.0)

    return (
        (lambda: values_of_gradient(numerical_gradient), lambda: values_of_gradient(numerical_gradient, half=True)),
        (lambda: central_of_four(numerical_gradient), of_one),
    )


def numerical_values(numerical_gradient):
    """Smooth functions with a small shift. A shift of only one side halves the values, and loses the next point."""
    charged_once(0, of_numerical(numerical_gradient))


def numerical_central(numerical_gradient):
    """Central differences with large shifts, according to the definition."""
    charged_once(1, of_numerical(numerical_gradient))


def central_of_one(numerical_gradient, at):
    """Arrays of one entry, up to a common factor. If all differences are 0, count the calls of f."""
    got, want, asked = [], [], []
    for a, shift in itertools.product((0.5, -1.0, 2.0), (0.5, 1.0)):

        def f(v, a=a):
            asked.append(v)
            t = float(np.ravel(v)[0])
            return t**3 + a * t**2

        got.append(array(call(numerical_gradient, f, np.array([at]), shift), (1,), "the numerical gradient")[0])
        want.append(3 * at**2 + shift**2 + 2 * a * at)

    def bent(v):
        asked.append(v)
        return abs(float(np.ravel(v)[0]))

    kink = call(numerical_gradient, bent, np.array([1e-6 * at]), 1e-6)
    got, want = [*got, array(kink, (1,), "the numerical gradient")[0]], [*want, at]
    if any(got):
        same_line(got, want, "numerical gradients by one entry")
    elif len(asked) < 2 * len(want):
        raise mismatch("the number of calls of f", len(asked), 2 * len(want))


def central_of_four(numerical_gradient):
    """Arrays of four entries: large shifts, and a small shift next to a kink."""

    def smooth(v):
        v = np.asarray(v)
        return float((v**3).sum() + 2 * v[0] * v[1] + (v**2).sum())

    def bent(v):
        return float(np.abs(np.asarray(v)) @ [1.0, 2.0, 3.0, 4.0])

    v = np.array([0.5, -1.0, 2.0, 0.25])
    exact = 3 * v**2 + 2 * v + 2 * np.array([v[1], v[0], 0, 0])
    for f, at, shift in ((smooth, v, 0.5), (smooth, v, 1.0), (bent, 1e-6 * v, 1e-6)):
        got = array(call(numerical_gradient, f, at, shift), at.shape, "the numerical gradient")
        around = [[f(at + side * shift * unit) for side in (1, -1)] for unit in np.eye(4)]
        want = np.array([above - below for above, below in around]) / (2 * shift)
        if common_factor(got, want) is not None:
            continue
        name = f"the numerical gradient with the shift {shift:g}"
        if f is smooth and common_factor(got, exact) is not None:
            raise mismatch(name, "the exact derivative", "the central difference", "use the given shift")
        close(got, want, name, "change one entry at a time, by the given shift, on both sides of v")


# --- 4. the backward pass


def case(seed, k=7, sizes=SIZES):
    """W and b of a network, with a batch x and y."""
    return (*net(seed, sizes), *batch(k, seed + 1, sizes))


def returned(deltas, W, z, h, y):
    """The list dz of a student's deltas, as arrays of the right shapes."""
    return arrays(call(deltas, W, z, h, y), z, "dz")


def deltas_top(deltas):
    """The top layer, by differences of each record's loss. A mistake in a hidden layer loses only the other point."""

    def check(*cases, read):
        for k, sizes in cases:
            W, b, x, y = case(30, k, sizes)
            z, h = forward_by_loops(W, b, x)
            L = len(W) - 1
            got = read(call(deltas, W, z, h, y), z)
            hint = "it is y_hat - y of each record, without a mean and without a further derivative"
            close(got, derivatives_by_record(lambda new, y=y: record_losses(new, y), z[L]), f"dz[{L}]", hint)

    unless_lost(
        lambda: check((7, SIZES), (3, [3, 4]), read=lambda dz, z: arrays(dz, z, "dz")[-1]),
        lambda: check((7, SQUARE), read=lambda dz, z: topmost(dz, z[-1].shape, "dz")),
        lambda: deltas_hidden(deltas),
    )


def deltas_hidden(deltas):
    """The hidden layers: differences of the inner product of z[L] and the student's own dz[L]."""
    for k, sizes in ((7, SIZES), (1, [3, 4, 2])):
        W, b, x, y = case(32, k, sizes)
        z, h = forward_by_loops(W, b, x)
        L = len(W) - 1
        got = returned(deltas, W, z, h, y)
        if not np.abs(got[L]).max() > 0:
            raise mismatch(f"dz[{L}]", "0 everywhere", "other numbers", "every layer below would be 0, too")
        want = deltas_by_differences(W, z, h, y, top=got[L])
        for l in range(L - 1, 0, -1):
            hint = f"multiply dz[{l + 1}] by W[{l + 1}], and then by the derivative of the sigmoid at z[{l}]"
            close(got[l], want[l], f"dz[{l}] (computed from your dz[{L}])", hint)


RIGHT = {"forward": forward_by_loops, "deltas": deltas_by_differences}


def gradient_direction(gradient):
    """The direction of every dW[l] and db[l], up to a factor."""

    def check():
        W, b, x, y = case(34, 7)
        dW, db = pair(call(gradient, W, b, x, y), "dW and db")
        got = arrays(dW, W, "dW"), arrays(db, b, "db")
        hint = "dW[l] is the sum of dz[l] times h[l-1] over the records, and db[l] is the sum of dz[l]"
        for name, mine, right in zip(("dW", "db"), got, loss_gradients(W, b, x, y), strict=True):
            for l in range(len(W) - 1, 0, -1):
                same_line(mine[l], right[l], f"{name}[{l}]", hint)

    fair(check, gradient, **RIGHT)


def listed(value, L, name):
    """A list of layers. It may begin with layer 1 or be too long, because `gradient_direction` tests its slots."""
    if isinstance(value, list | tuple) and len(value) >= L:
        value = [None, *value] if len(value) == L else value[: L + 1]
    return layers(value, 1, L, name)


def gradient_scale(gradient):
    """The norm and sign of every direction that is right, or right with rows and columns exchanged.

    If gradient raises an error, the check uses as many records as units, because then most products are possible. If no
    direction is right, the check tests that the result stays the same if every record comes twice.
    """

    def both(W, b, x, y):
        dW, db = pair(call(gradient, W, b, x, y), "dW and db")
        return listed(dW, len(W) - 1, "dW"), listed(db, len(W) - 1, "db")

    def check(*cases):
        for k, sizes in cases:
            W, b, x, y = case(36, k, sizes)
            dW, db = both(W, b, x, y)
            want_W, want_b = loss_gradients(W, b, x, y)
            found = {**fitting(dW, want_W, "dW"), **fitting(db, want_b, "db")}
            turned = "it is the gradient: the loss increases in its direction"
            same_scale(found, f"of {k} record{'s' if k > 1 else ''}", "take the mean over the records once", turned)

    def twice():
        W, b, x, y = case(36)
        dW, db = both(W, b, x, y)
        want_W, want_b = loss_gradients(W, b, x, y)
        found = {**fitting(dW, want_W, "dW"), **fitting(db, want_b, "db")}
        if any(common_factor(*two) is not None for two in found.values()):
            raise mismatch("entries with the right direction", "some", "none")
        once, again = both(W, b, x, y), both(W, b, np.concatenate([x, x]), np.concatenate([y, y]))
        other = both(W, b, -x, np.roll(y, 1, axis=1))
        for mine, same, new in zip(*(two[0][1:] + two[1][1:] for two in (once, again, other)), strict=True):
            mine, same, new = numbers(mine, "dW or db"), numbers(same, "dW or db"), numbers(new, "dW or db")
            close(same, mine, "dW or db if every record comes twice")
            if np.array_equal(mine, new):
                raise mismatch("dW or db of a second batch", "the values of the first batch", "other values")

    def either():
        cases = ((7, SIZES), (1, SIZES)) if passes(call, gradient, *case(36)) else ((len(SQUARE), SQUARE),)
        unless_lost(lambda: check(*cases), twice, lambda: gradient_direction(gradient))

    fair(either, gradient, **RIGHT)


def convolved(x, K):
    """The convolution, one entry at a time."""
    rows, columns = (n - s + 1 for n, s in zip(x.shape[1:], K.shape, strict=True))
    return np.array(
        [
            [
                [math.fsum(np.ravel(K * one[a : a + len(K), b : b + K.shape[1]])) for b in range(columns)]
                for a in range(rows)
            ]
            for one in x
        ]
    )


def kernel_values(kernel_gradient):
    """The gradient by the kernel, from differences of a convolution by loops. Most images are not square."""
    for seed, k, image, kernel in (
        (50, 3, (5, 7), (2, 3)),
        (51, 1, (4, 6), (3, 1)),
        (52, 2, (3, 6), (3, 2)),
        (53, 4, (4, 4), (1, 1)),
    ):
        rng = seeded(seed)
        x, K = rng.normal(size=(size(k), *image)), rng.normal(size=kernel)
        said = "for {} images of {} by {} pixels and a kernel of {} by {}".format(len(x), *image, *kernel)
        dz = rng.normal(size=convolved(x, K).shape)
        found = array(call(kernel_gradient, x, dz), kernel, "the gradient by K")
        rises = derivatives(lambda v, x=x, dz=dz: float((dz * convolved(x, v)).sum()) / len(x), K)
        hint = "add over all positions, and take the mean over the records"
        close(found, rises, f"the gradient by K {said}", hint)


# --- 5. the norm of one record's gradient


def both_norms(norms, k, n, below):
    """The two results of a student's norms, and the norms from a loop that builds each record's gradient."""
    rng = seeded(90 + k)
    dz, h = rng.normal(size=(k, n)), rng.normal(size=(k, below))
    by_W, both = pair(call(norms, dz, h), "the norms by W[l], and by W[l] and b[l] together")
    want = [[], []]
    for i in range(k):
        by_weights = [d * t for d in dz[i] for t in h[i]]
        want[0].append(math.hypot(*by_weights))
        want[1].append(math.hypot(*by_weights, *dz[i]))
    return by_W, both, np.array(want[0]), np.array(want[1])


def norms_W(norms):
    """The norm of each record's gradient by W[l] alone."""
    for k, n, below in ((5, 3, 4), (1, 1, 6), (4, 4, 4)):
        by_W, _, want, _ = both_norms(norms, k, n, below)
        name = f"the {k} norms by W[l]"
        close(array(by_W, (k,), name), want, name, "for each record, take the root of the sum of all squares")


def norms_both(norms):
    """The norm of each record's gradient by W[l] and b[l] together.

    If the first norm loses its point, the check uses one unit with one input, and accepts the square of the norm.
    """

    def check():
        for k, n, below in ((5, 3, 4), (1, 1, 6), (4, 4, 4)):
            _, both, _, want = both_norms(norms, k, n, below)
            name = f"the {k} norms by W[l] and b[l] together"
            hint = "add squares, not norms; the gradient by b[l] is dz[l]"
            close(array(both, (k,), name), want, name, hint)

    def of_one():
        for d, t in ((2.0, 0.5), (0.5, 3.0)):
            one, both = pair(call(norms, np.array([[d]]), np.array([[t]])), "the two norms")
            square = d**2 * (t**2 + 1)
            one, got = number(one, "the norm"), number(both, "the norm")
            if one != got and any(passes(relation, one**p, got**p, d, t) for p in (1, 2)):
                continue  # the student's two norms are consistent
            close(got, nearest(got, square, math.sqrt(square)), "the norm for one unit and one input")

    def relation(one, both, d, t):
        close(both, nearest(both, one * (1 + 1 / t**2), one + d**2), "the square of the norm")

    unless_lost(check, of_one, lambda: norms_W(norms))


# --- 6. where learning stops


def run_from_zero(act, labels, steps):
    """Gradient descent from all zeros, by differences: how many W[l] are not zero after each step."""
    sizes = [3, 4, 4, 2]
    W = [None] + [np.zeros((sizes[l], sizes[l - 1])) for l in (1, 2, 3)]
    b = [None] + [np.zeros(sizes[l]) for l in (1, 2, 3)]
    x, y = seeded(5).normal(size=(6, 3)), np.eye(2)[labels]
    counts = []
    for _ in range(steps):
        dW, db = loss_gradients(W, b, x, y, act)
        W = [None, *(W[l] - 2 * dW[l] for l in (1, 2, 3))]
        b = [None, *(b[l] - 2 * db[l] for l in (1, 2, 3))]
        counts.append(sum(int(np.abs(w).max() > 1e-7) for w in W[1:]))
    return counts


def same_counts(value, want, name, hint):
    """Compare counts, and name the first step with a wrong count."""
    got = array(value, (3,), f"the counts of {name!r}")
    for t, (mine, right) in enumerate(zip(got, want, strict=True), start=1):
        if mine != right:
            raise mismatch(f"{name!r} after step {t}", f"{mine:g} of the three", "another number", hint)


def zero_moves(from_zero):
    """The counts for sigmoid and tanh units. The batch has more records of one class than of the other."""

    def check():
        by_sigmoid, by_tanh = entries(call(from_zero), "from_zero", "sigmoid", "tanh")
        uneven = [0, 0, 0, 0, 1, 1]
        hint = "dW[l] needs both dz[l], which contains W[l+1], and h[l-1]: which of them are 0 before this step?"
        same_counts(by_sigmoid, run_from_zero(phi, uneven, 3), "sigmoid", hint)
        same_counts(by_tanh, run_from_zero(np.tanh, uneven, 3), "tanh", hint)

    fair(check, from_zero, gradient=loss_gradients, **RIGHT)


# --- the questions


def rounding_answer(rounding):
    """The reason why a tiny shift has a large error."""
    answered(rounding, "b", "which error of f does the division by 2s increase?")


def confident_answer(confident):
    """The norm of dz[L] for both losses, if the network is confident and wrong."""
    answered(confident, "c", "what are the two formulas for dz[L] if y_hat is nearly (1, 0)?")


def fading_answer(fading):
    """The largest ratio of the norms of dz[1] and dz[L]."""
    answered(fading, "a", "how many layers between z[1] and z[L] have a sigmoid, and how large is its derivative?")
