"""Right solutions in several styles, which get full marks."""

# %% loops score=20
# one record and one number at a time, lists in place of arrays, no NumPy


# %% norms
def norms(dz, h):
    def square(v):
        s = 0.0
        for t in v:
            s += float(t) * float(t)
        return s

    result = []
    for i in range(len(dz[1])):
        s = 0.0
        for l in range(1, len(dz)):
            s += square(dz[l][i]) * square(h[l - 1][i]) + square(dz[l][i])
        result.append(s**0.5)
    return result


# %% joint_sum
def joint_sum(dz, h, C):
    every = norms(dz, h)
    dW, db = [None], [None]
    for l in range(1, len(dz)):
        rows, columns = dz[l].shape[1], h[l - 1].shape[1]
        w = [[0.0] * columns for _ in range(rows)]
        v = [0.0] * rows
        for i, n in enumerate(every):
            if n != n or n == float("inf"):
                continue
            factor = 1.0 if n <= C else C / n
            for a in range(rows):
                term = factor * float(dz[l][i][a])
                v[a] += term
                for c in range(columns):
                    w[a][c] += term * float(h[l - 1][i][c])
        dW.append(w)
        db.append(v)
    return dW, db


# %% moves
def moves(C, relation):
    if relation == "add-remove":
        return C
    elif relation == "replace-one":
        return C + C


# %% label_only
def label_only():
    return ["C", "For two classes the new error is the old one with the other sign, so the term can turn around."]


# %% premises
def premises():
    needed = []
    needed.append(3)
    needed.append(1)
    needed.append(6)
    return needed


# %% attain
def attain(W, b, B, C):
    n, classes = len(W[1][0]), len(b[-1])
    size = 1.0
    while size < 1e12:
        for i in range(n):
            for sign in (-1.0, 1.0):
                x = [0.0] * n
                x[i] = sign * size
                for label in range(classes):
                    y = [[1.0 if c == label else 0.0 for c in range(classes)]]
                    dz, h = signals(W, b, B, [x], y)
                    if norms(dz, h)[0] >= C:
                        return x, label
        size *= 10


# %% guess
def guess():
    return 100, 0, 12


# %% pair_layers
def pair_layers():
    rest = [([0.5, 0.5], 1)] * 3
    return "fails", rest + [([-3.0, -3.0], 0)], rest


# %% pair_error
def pair_error():
    return "fails", [([1000, 1000], 0)], []


# %% pair_own
def pair_own():
    rest = [([9, 9], 1), ([2, 1], 0)]
    return "holds", rest, rest + [([5, -5], 0)]


# %% pair_batch
def pair_batch():
    learnt = []
    for i in range(15):
        learnt.append(([3.0 + i / 100, 3.0], 1))
    return "fails", learnt + [([3.0, -2.0], 0)], learnt


# %% pair_count
def pair_count():
    others = [([1.0, 1.0], 0)] * 5
    return "fails", others + [([1.0, 1.0], 1)], others


# %% noise_std
def noise_std(z, C, m):
    moved_in_the_mean = C / m
    return moved_in_the_mean * z


# %% least_noise
def least_noise(target, q, steps, delta):
    z = 30.0
    factor = 2.0
    while factor > 1.0001:
        while z / factor >= 0.3 and spent(z / factor, q, steps, delta) <= target:
            z = z / factor
        factor = factor**0.5
    return z


# %% float32 score=20
# float32 throughout, weights and biases as one matrix with a column of ones


# %% norms
def norms(dz, h):
    both = zip(dz[1:], h)
    squares = [np.square(np.float32(d)).sum(-1) * (1 + np.square(np.float32(a)).sum(-1)) for d, a in both]
    return np.sqrt(np.sum(squares, axis=0, dtype=np.float32))


# %% joint_sum
def joint_sum(dz, h, C):
    every = np.float32(norms(dz, h))
    share = np.where(np.isfinite(every), np.minimum(1, np.float32(C) / np.where(every > 0, every, 1)), 0)
    share = np.float32(share)[:, None]
    dW, db = [None], [None]
    for d, a in zip(dz[1:], h):
        above = np.where(share > 0, np.float32(d), 0) * share
        below = np.where(share > 0, np.float32(a), 0)
        joined = above.T @ np.hstack([below, np.ones_like(share)])
        dW.append(joined[:, :-1])
        db.append(joined[:, -1])
    return tuple(dW), tuple(db)


# %% moves
def moves(C, relation):
    return np.float32(C) * np.float32([1, 2][relation.startswith("replace")])


# %% label_only
def label_only():
    return "c ", "Softmax errors of two classes have opposite directions, and clipping gives both terms the norm C."


# %% premises
def premises():
    return np.array([6, 3, 1], dtype=np.float32)


# %% attain
def attain(W, b, B, C):
    classes = b[-1].size
    rng = np.random.default_rng(11)
    x = np.float32(rng.normal(size=(64, W[1].shape[1])))
    x = np.vstack([x * np.float32(10.0**p) for p in range(-1, 7)])
    y_hat = signals(W, b, B, x, 0)[1][-1]
    worst = np.eye(classes)[y_hat.argmin(axis=1)]
    found = np.nan_to_num(norms(*signals(W, b, B, x, worst)), posinf=0)
    i = int(found.argmax())
    return x[i], np.int64(worst[i].argmax())


# %% guess
def guess():
    return np.float32([50, 10, 20])


# %% pair_layers
def pair_layers():
    D = np.empty(0)
    return "fails", D, [(np.float32([3, -3]), np.float32(0))]


# %% pair_error
def pair_error():
    return "fails", [(np.float32([2, 2]), np.float32(1))], [(np.float32([2, 2]), np.float32(1))] * 2


# %% pair_own
def pair_own():
    return "holds", [], [(np.float32([-2, 2]), np.float32(0))]


# %% pair_batch
def pair_batch():
    D = [(np.float32([3, 3]), np.float32(1))] * 5
    return "fails", D, [(np.float32([-3, -3]), np.float32(0))] + D


# %% pair_count
def pair_count():
    D = [(np.float32([0.5, -0.5]), np.float32(1))] * 4
    return "fails", D, [*D, (np.float32([0.5, -0.5]), np.float32(0))]


# %% device
def device():
    return "B", "If a bright record joins the batch, the camera measures all other images with another exposure."


# %% noise_std
def noise_std(z, C, m):
    return np.float32(z) / (np.float32(m) / np.float32(C))


# %% least_noise
def least_noise(target, q, steps, delta):
    z = np.geomspace(0.3, 30, 17).astype(np.float32)
    for _ in range(3):
        costs = [spent(v, q, steps, delta) for v in z]
        first = next(i for i, c in enumerate(costs) if c <= target)
        z = np.linspace(z[first - 1], z[first], 17, dtype=np.float32)
    return z[-1]


# %% search score=20
# searches at random for records and pairs, and calls nfa for the noise


# %% norms
def norms(dz, h):
    grams = [
        np.sum(np.multiply(d, d), axis=1)[None] * np.vstack([np.sum(a * a, axis=1), np.ones(len(a))])
        for d, a in zip(dz[1:], h)
    ]
    return np.linalg.norm(np.sqrt(np.concatenate(grams)), axis=0)


# %% joint_sum
from nfa.clip import clip_l2


def joint_sum(dz, h, C):
    def one(d, a):
        return np.concatenate([d[:, :, None] * a[:, None, :], d[:, :, None]], axis=2)

    layers = [one(d, a) for d, a in zip(dz[1:], h)]
    flat = np.concatenate([layer.reshape(len(layer), -1) for layer in layers], axis=1) if len(dz[1]) else None
    if flat is None:
        total = np.zeros(sum(layer[0:].shape[1] * layer.shape[2] for layer in layers))
    else:
        flat = np.where(np.isfinite(flat).all(axis=1, keepdims=True), flat, 0)
        total = clip_l2(flat, C).sum(axis=0)
    dW, db = [None], [None]
    for layer in layers:
        mine, total = np.split(total, [layer.shape[1] * layer.shape[2]])
        mine = mine.reshape(layer.shape[1:])
        dW, db = dW + [mine[:, :-1]], db + [mine[:, -1]]
    return [dW, db]


# %% moves
def moves(C, relation):
    v = np.array([C, 0.0])
    other = {"add-remove": 0 * v, "replace-one": -v}
    return np.linalg.norm(v - other[relation])


# %% premises
def premises():
    return {1, 3, 6}


# %% attain
def attain(W, b, B, C):
    rng = np.random.default_rng(1)
    while True:
        x = rng.standard_cauchy(W[1].shape[1]) * 10 ** rng.uniform(0, 5)
        label = rng.integers(len(b[-1]))
        dz, h = signals(W, b, B, x[None], np.eye(len(b[-1]))[[label]])
        whole = [np.append(np.outer(d[0], a[0]), d[0]) for d, a in zip(dz[1:], h)]
        if C <= np.linalg.norm(np.concatenate(whole)) < 1e12:
            return [x, label]


# %% pair_layers
def look_for(release, claimed, least=0):
    """Try random neighbours, some with many copies of one record, until a pair shows the verdict."""
    rng = np.random.default_rng(2)
    best = 0, None
    for _ in range(3000):
        k = rng.integers(least, 12)
        pool = [(2 * rng.normal(size=2), int(rng.integers(2))) for _ in range(2)]
        D = [pool[0]] * k if rng.random() < 0.7 else [(rng.normal(size=2), int(rng.integers(2))) for _ in range(k)]
        other = D + [(D[0][0], 1 - D[0][1]) if k and rng.random() < 0.5 else pool[1]]
        moved = distance(release, D, other)
        if moved > 1.01 * claimed:
            return "fails", D, other
        if moved > best[0]:
            best = moved, (D, other)
        if _ > 300 and best[0] > 0.9999 * claimed:
            break
    return "holds", *best[1]


def pair_layers():
    return look_for(release_layers, C)


# %% pair_error
def pair_error():
    return look_for(release_error, C)


# %% pair_own
def pair_own():
    return look_for(release_own, C)


# %% pair_batch
def pair_batch():
    return look_for(release_batch, C)


# %% pair_count
def pair_count():
    return look_for(release_count, C / M, least=M)


# %% noise_std
def noise_std(z, C, m):
    zero, one = np.zeros(3), np.array([C, 0, 0])
    return z * np.linalg.norm(one / m - zero / m)


# %% least_noise
def least_noise(target, q, steps, delta):
    from nfa.privacy.accountant import calibrate

    found = calibrate(
        target_epsilon=target,
        delta=delta,
        steps=steps,
        adjacency="add-remove",
        sampling="poisson",
        sampling_rate=q,
        orders=ORDERS,
        conversion="canonne2020",
    )
    return found.noise_multiplier


# %% larger_batch
def larger_batch():
    return ("c", "With least_noise I get z = 0.74 and 1.54, which is a factor of 2.1, while m has 16.")


# %% by_thought score=20
# constructs inputs from the weights; generators and tuples in place of lists


# %% norms
def norms(dz, h):
    return sum((d * d).sum(1) * (1 + (a * a).sum(1)) for d, a in zip(dz[1:], h)) ** 0.5


# %% joint_sum
def joint_sum(dz, h, C):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        n = norms(dz, h)
        ok = n < np.inf
        factor = 1 / np.clip(n / C, 1, None)
    scaled = [(d * factor[:, None])[ok] for d in dz[1:]]
    below = [a[ok] for a in h]
    return (None, *(np.tensordot(s, a, (0, 0)) for s, a in zip(scaled, below))), (None, *(s.sum(0) for s in scaled))


# %% moves
def moves(C, relation):
    return C * (1 + (relation != "add-remove"))


# %% premises
def premises():
    yield from (1, 3, 6)


# %% attain
def attain(W, b, B, C):
    # try large inputs in the directions of the units
    v = W[1].T @ np.abs(np.linalg.pinv(W[1]).T @ np.ones(W[1].shape[1]))
    candidates = [*np.eye(len(v)), *-np.eye(len(v)), v, -v, *W[1], *-W[1]]
    size = 1e5 * (1 + C)
    tried = ((size * u, label) for u in candidates for label in range(len(b[-1])))

    def norm(x, label):
        return norms(*signals(W, b, B, x.reshape(1, -1), np.identity(len(b[-1]))[label : label + 1]))[0]

    return max(tried, key=lambda record: norm(*record))


# %% pair_layers
certain = ((3.0, -2.0), 0)  # an error near 1, and large directions in both layers


def pair_layers():
    return "FAILS", (), (certain,)


# %% pair_error
def pair_error():
    return "fails", (), (certain,)


# %% pair_own
def pair_own():
    return "holds", (), (certain,)


# %% pair_batch
def pair_batch():
    quiet = (np.array([3.0, -2.0]), True)
    return "fails", (quiet,) * 19, (certain,) + (quiet,) * 19


# %% pair_count
def pair_count():
    against, others = ((0, 0), False), (((0, 0), True),) * M
    return "fails", others, others + (against,)


# %% noise_std
def noise_std(z, C, m):
    return z / m * C


# %% least_noise
def least_noise(target, q, steps, delta):
    def bisect(low, high, left=14):
        if not left:
            return high
        middle = (low * high) ** 0.5
        half = (low, middle) if spent(middle, q, steps, delta) <= target else (middle, high)
        return bisect(*half, left - 1)

    return bisect(0.3, 30)


# %% record_by_record score=20
# one record at a time, with its whole direction as one long vector
import numpy as np


# %% joint_sum
def joint_sum(dz, h, C):
    shapes = [(np.shape(dz[l])[1], np.shape(h[l - 1])[1]) for l in range(1, len(dz))]
    total = [np.zeros((rows, columns + 1)) for rows, columns in shapes]
    for i in range(len(h[0])):
        own = [np.outer(dz[l][i], np.append(h[l - 1][i], 1.0)) for l in range(1, len(dz))]
        norm = np.linalg.norm(np.concatenate([part.ravel() for part in own]))
        if np.isfinite(norm):
            total = [t + part * (1.0 if norm <= C else C / norm) for t, part in zip(total, own)]
    return [None, *(t[:, :-1] for t in total)], [None, *(t[:, -1] for t in total)]


# %% tensordot_and_brentq score=20
# einsum and tensordot, and a root finder


# %% norms
def norms(dz, h):
    squares = [np.einsum("ki,ki->k", d, d) * (1 + np.einsum("ki,ki->k", t, t)) for d, t in zip(dz[1:], h)]
    return np.add.reduce(squares) ** 0.5


# %% joint_sum
def joint_sum(dz, h, C):
    dW = [None, *(np.zeros((d.shape[1], t.shape[1])) for d, t in zip(dz[1:], h))]
    db = [None, *(np.zeros(d.shape[1]) for d in dz[1:])]
    for i, norm in enumerate(norms(dz, h)):
        if norm < np.inf:
            share = C / max(C, norm)
            for l in range(1, len(dz)):
                dW[l] += np.tensordot(share * dz[l][i], h[l - 1][i], axes=0)
                db[l] += share * dz[l][i]
    return dW, db


# %% moves
def moves(C, relation):
    return C * (1 + relation.startswith("replace"))


# %% least_noise
import warnings

from scipy import optimize


def least_noise(target, q, steps, delta):
    def over(log_z):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return spent(math.exp(log_z), q, steps, delta) - target

    return math.exp(optimize.brentq(over, math.log(0.3), math.log(30), xtol=1e-5) + 1e-4)
