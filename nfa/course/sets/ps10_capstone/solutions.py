"""Right solutions in several styles, which get full marks."""

# %% loops score=20
# DP-SGD with one record at a time, Mironov's conversion, other settings
"""DP-SGD with loops over records and layers."""


# %% guess
def guess():
    return 0.55, np.float32(0.72), 0.8


# %% claim
def claim(C, m):
    return ["dp-sgd", "lee2020:dp-bp", abs(C) / m]


# %% signals
def signals(W, b, B, x, y):
    L = len(W) - 1
    dz = [None] + [np.zeros((len(x), len(b[l]))) for l in range(1, L + 1)]
    _, h = forward(W, b, x)
    for i in range(len(x)):
        error = h[L][i] - y[i]
        dz[L][i] = error
        for l in range(L - 1, 0, -1):
            error = np.array(W[l + 1]).T.dot(error) * (1 - h[l][i] * h[l][i])
            dz[l][i] = error
    return dz, h


# %% clipped_sum
def clipped_sum(dz, h, C):
    L = len(dz) - 1
    dW = [None] + [
        np.zeros((len(dz[l][0]) if len(dz[l]) else dz[l].shape[1], h[l - 1].shape[1])) for l in range(1, L + 1)
    ]
    db = [None] + [np.zeros(dz[l].shape[1]) for l in range(1, L + 1)]
    for i in range(len(dz[1])):
        square = 0.0
        for l in range(1, L + 1):
            square += (dz[l][i] @ dz[l][i]) * (1 + h[l - 1][i] @ h[l - 1][i])
        share = 1.0 if square <= C * C else C / square**0.5
        for l in range(1, L + 1):
            dW[l] += share * np.outer(dz[l][i], h[l - 1][i])
            db[l] += share * dz[l][i]
    return dW, db


# %% draw
def draw(n, q, rng):
    return [rng.uniform() <= q for _ in range(n)]


# %% private_step
def private_step(dz, h, C, m, z, rng):
    dW, db = clipped_sum(dz, h, C)
    for l in range(1, len(dz)):
        dW[l] = dW[l] / m + z * C / m * rng.standard_normal(dW[l].shape)
        db[l] = db[l] / m + z * C / m * rng.standard_normal(len(db[l]))
    return dW, db


# %% noise_for
def noise_for(target, q, steps, delta):
    def run(z):
        best = math.inf
        for alpha in range(2, 65):
            logs = [
                math.lgamma(alpha + 1) - math.lgamma(k + 1) - math.lgamma(alpha - k + 1)
                + (alpha - k) * math.log(1 - q) + k * math.log(q) + k * (k - 1) / (2 * z * z)
                for k in range(alpha + 1)
            ]  # fmt: skip
            top = max(logs)
            cost = (top + math.log(sum(math.exp(t - top) for t in logs))) / (alpha - 1)
            best = min(best, steps * cost + math.log(1 / delta) / (alpha - 1))
        return best

    low, high = 0.5, 50.0
    for _ in range(12):
        z = (low * high) ** 0.5
        if run(z) <= target:
            high = z
        else:
            low = z
    return high


# %% train
def train(W, b, B, x, y, q, steps, eta, C, m, z, rng):
    W, b = [None, *[w.copy() for w in W[1:]]], [None, *[v.copy() for v in b[1:]]]
    for t in range(steps):
        inside = [i for i, drawn in enumerate(draw(len(x), q, rng)) if drawn]
        dz, h = signals(W, b, B, x[inside], y[inside])
        dW, db = private_step(dz, h, C, m, z, rng)
        for l in range(1, len(W)):
            W[l] -= eta * dW[l]
            b[l] -= eta * db[l]
    return W, b


# %% private_model
def private_model(x, y, N, target, delta, seed):
    q, steps = 0.03, 100
    W, b, B = network([196, 20, 10], seed)
    z = noise_for(target, q, steps, delta)
    return train(W, b, B, x, y, q, steps, eta=6.0, C=1.5, m=q * N, z=z, rng=np.random.default_rng([seed, 7]))


# %% audit
def audit(step, C, m, z, delta, trials, confidence, rng):
    worlds = []
    for k in (0, 1):
        dz = [None, 50 * C * np.ones((k, 2)), 50 * C * np.ones((k, 3))]
        h = [np.ones((k, 3)), np.ones((k, 2)), None]
        found = []
        for _ in range(trials + 40):
            dW, db = step(dz, h, C, m, z, rng)
            found.append(sum(float(np.sum(a)) for a in [*dW[1:], *db[1:]]))
        worlds.append(found)
    threshold = (np.median(worlds[0][:40]) + np.median(worlds[1][:40])) / 2
    counts = [int(np.sum(np.array(found[40:]) > threshold)) for found in worlds]
    return float(epsilon_lower_bound(tuple(counts), (trials, trials), delta=delta, confidence=confidence))


# %% curve
def curve(accuracy_of, epsilons, seeds):
    rows = []
    for target in epsilons:
        values = [accuracy_of(target, seed) for seed in seeds]
        k = len(values)
        mean = sum(values) / k
        s = math.sqrt(sum((a - mean) ** 2 for a in values) / (k - 1))
        t = stats.t(k - 1).isf(0.025)
        rows.append([mean, mean - t * s / math.sqrt(k), mean + t * s / math.sqrt(k)])
    return rows


# %% page
def page(target, delta, row):
    text = "An attacker who sees my weights can hardly tell whether your picture was used, whatever else they know."
    facts = dict(epsilon=target, delta=delta, adjacency="add-remove", accuracy=list(row))
    return facts | {"public": {5, 4, 2, 1}, "not covered": np.array([6, 4, 3, 2]), "in words": text}


# %% float32 score=20
# DFA in float32, with one flat vector for each record
"""DFA in float32, where each record's direction is one row of a matrix."""


# %% signals
def signals(W, b, B, x, y):
    W = [None] + [np.asarray(w, dtype=np.float32) for w in W[1:]]
    _, h = forward(W, b, np.asarray(x, dtype=np.float32))
    h = [np.asarray(a, dtype=np.float32) for a in h]
    e = h[-1] - np.asarray(y, dtype=np.float32)
    hidden = [np.einsum("kc,nc->kn", e, np.float32(m)) * (1 - np.square(a)) for m, a in zip(B[1:-1], h[1:-1])]
    return [None, *hidden, e], h


# %% clipped_sum
def clipped_sum(dz, h, C):
    k = len(dz[1])
    parts = []
    for l in range(1, len(dz)):
        parts.append(
            (np.float32(dz[l])[:, :, None] * np.float32(h[l - 1])[:, None, :]).reshape(
                k, dz[l].shape[1] * h[l - 1].shape[1]
            )
        )
        parts.append(np.float32(dz[l]))
    rows = np.concatenate(parts, axis=1)
    norms = np.linalg.norm(rows, axis=1)
    total = (rows * np.where(norms > C, C / np.where(norms > 0, norms, 1), 1).astype(np.float32)[:, None]).sum(axis=0)
    dW, db, at = [None], [None], 0
    for l in range(1, len(dz)):
        n, below = dz[l].shape[1], h[l - 1].shape[1]
        dW.append(total[at : at + n * below].reshape(n, below))
        db.append(total[at + n * below : at + n * below + n])
        at += n * below + n
    return dW, db


# %% draw
def draw(n, q, rng):
    return rng.binomial(1, q, size=n) == 1


# %% private_step
def private_step(dz, h, C, m, z, rng):
    dW, db = clipped_sum(dz, h, C)
    std = np.float32(z * C)
    dW = [None] + [((a + std * rng.standard_normal(a.shape, dtype=np.float32)) / np.float32(m)) for a in dW[1:]]
    return dW, [None] + [((a + std * rng.standard_normal(a.shape, dtype=np.float32)) / np.float32(m)) for a in db[1:]]


# %% train
def train(W, b, B, x, y, q, steps, eta, C, m, z, rng):
    W = [None] + [np.array(w, dtype=np.float32) for w in W[1:]]
    b = [None] + [np.array(v, dtype=np.float32) for v in b[1:]]
    x, y = np.asarray(x, np.float32), np.asarray(y, np.float32)
    t = 0
    while t < steps:
        now = np.flatnonzero(draw(len(x), q, rng))
        change = private_step(*signals(W, b, B, x[now], y[now]), C, m, z, rng)
        W = [None] + [w - np.float32(eta) * d for w, d in zip(W[1:], change[0][1:])]
        b = [None] + [v - np.float32(eta) * d for v, d in zip(b[1:], change[1][1:])]
        t += 1
    return W, b


# %% private_model
def private_model(x, y, N, target, delta, seed):
    settings = {"q": 0.02, "steps": 150, "eta": 5.0, "C": 1.0}
    z = noise_for(target, settings["q"], settings["steps"], delta)
    W, b, B = network([x.shape[1], 16, y.shape[1]], seed)
    return train(W, b, B, x, y, m=settings["q"] * N, z=z, rng=np.random.default_rng(seed + 1000), **settings)


# %% curve
def curve(accuracy_of, epsilons, seeds):
    found = np.array([[accuracy_of(target, seed) for seed in seeds] for target in epsilons], dtype=np.float32)
    low, high = stats.t.interval(0.95, len(seeds) - 1, loc=found.mean(axis=1), scale=stats.sem(found, axis=1))
    return np.stack([found.mean(axis=1), low, high], axis=1)


# %% audit
def audit(step, C, m, z, delta, trials, confidence, rng):
    record = [None, np.array([[1e4 * C]])], [np.array([[1.0]]), None]
    empty = [None, np.zeros((0, 1))], [np.zeros((0, 1)), None]

    def run(world, times):
        return np.array([np.concatenate([np.ravel(a[1]) for a in step(*world, C, m, z, rng)]) for _ in range(times)])

    along = run(record, 100).mean(axis=0) - run(empty, 100).mean(axis=0)
    middle = (run(record, 100) @ along).mean() / 2 + (run(empty, 100) @ along).mean() / 2
    hits = (run(empty, trials) @ along > middle).sum(), (run(record, trials) @ along > middle).sum()
    return epsilon_lower_bound(hits, trials, delta=delta, confidence=confidence)


# %% one_piece score=20
# DP-SGD in which train and private_step use nothing that was written before
"""Nothing earlier is used again; other accountants and another network."""


# %% claim
def claim(C, m):
    longest = np.array([C, 0.0])
    return "dp-sgd", "lee2020:dp-bp", np.linalg.norm(longest) / m


# %% signals
def signals(W, b, B, x, y):
    h = forward(W, b, x)[1]
    dz = [h[-1] - y]
    for l in range(len(W) - 1, 1, -1):
        dz.insert(0, (dz[0] @ W[l]) / np.cosh(forward(W, b, x)[0][l - 1]) ** 2)
    return [None] + dz, h


# %% private_step
def private_step(dz, h, C, m, z, rng):
    dW, db = [None], [None]
    layers = list(zip(dz[1:], h))
    norms = np.sqrt(sum(np.sum(d**2, 1) * (np.sum(a**2, 1) + 1) for d, a in layers))
    for d, a in layers:
        d = d / np.maximum(1, norms / C)[:, None]
        both = d.T @ np.hstack([a, np.ones((len(a), 1))])
        both = (both + rng.normal(scale=z * C, size=both.shape)) / m
        dW.append(both[:, :-1])
        db.append(both[:, -1])
    return dW, db


# %% noise_for
def noise_for(target, q, steps, delta):
    z = 0.5
    while spent(z, q, steps, delta) > target:
        z *= 1.05
    return z


# %% train
def train(W, b, B, x, y, q, steps, eta, C, m, z, rng):
    for _ in range(int(steps)):
        batch = rng.random(len(x)) < q
        a1 = [x[batch]]
        for l in range(1, len(W)):
            a1.append(np.tanh(a1[-1] @ W[l].T + b[l]) if l < len(W) - 1 else a1[-1] @ W[l].T + b[l])
        top = np.exp(a1[-1] - a1[-1].max(axis=1, keepdims=True))
        d = top / top.sum(axis=1, keepdims=True) - y[batch]
        dz = [d]
        for l in range(len(W) - 1, 1, -1):
            d = (d @ W[l]) * (1 - a1[l - 1] ** 2)
            dz = [d] + dz
        norms = np.sqrt(sum((d**2).sum(1) * (1 + (a**2).sum(1)) for d, a in zip(dz, a1)))
        f = np.minimum(1, C / np.maximum(norms, 1e-12))[:, None]
        newW, newb = [None], [None]
        for l in range(1, len(W)):
            g = (f * dz[l - 1]).T @ a1[l - 1] + z * C * rng.normal(size=W[l].shape)
            c = (f * dz[l - 1]).sum(0) + z * C * rng.normal(size=b[l].shape)
            newW.append(W[l] - eta * g / m)
            newb.append(b[l] - eta * c / m)
        W, b = newW, newb
    return W, b


# %% private_model
def private_model(x, y, N, target, delta, seed):
    q, steps = 0.07, 80
    W, b, B = network([x.shape[1], 24, 16, y.shape[1]], seed)
    z = noise_for(target, q, steps, delta)
    return train(W, b, B, x, y, q, steps, 6.0, 1.0, q * N, z, np.random.default_rng(seed))


# %% curve
def curve(accuracy_of, epsilons, seeds):
    rows = np.zeros((len(epsilons), 3))
    for i, target in enumerate(epsilons):
        a = np.array([accuracy_of(target, s) for s in seeds])
        half = stats.t.ppf(0.975, df=a.size - 1) * a.std(ddof=1) / a.size**0.5
        rows[i] = a.mean(), a.mean() - half, a.mean() + half
    return rows


# %% centred
def centred():
    return ["B", "When my image joins, the mean moves, and then every other record has another direction as well."]


# %% no_hidden_layer score=20
# a network of one layer, which has no matrix B, and batches with a size that is drawn first
"""Softmax regression with DP-SGD; one flat vector of noise in float32."""


# %% claim
def claim(C, m):
    return ["dp-sgd", "lee2020:dp-bp", C / m]


# %% signals
def signals(W, b, B, x, y):
    z, h = forward(W, b, x)
    L = len(W) - 1
    dz = [None] * L + [h[L] - y]
    for l in range(L - 1, 0, -1):
        dz[l] = (dz[l + 1] @ W[l + 1]) / np.cosh(z[l]) ** 2
    return dz, h


# %% draw
def draw(n, q, rng):
    batch = np.zeros(n, dtype=bool)
    batch[rng.permutation(n)[: rng.binomial(n, q)]] = True
    return batch


# %% private_step
def private_step(dz, h, C, m, z, rng):
    dW, db = clipped_sum(dz, h, C)
    whole = np.concatenate([np.ravel(a) for a in dW[1:] + db[1:]])
    whole = ((whole + C * z * rng.standard_normal(len(whole))) / m).astype(np.float32)
    pieces = np.split(whole, np.cumsum([a.size for a in dW[1:] + db[1:]])[:-1])
    pieces = [piece.reshape(a.shape) for piece, a in zip(pieces, dW[1:] + db[1:])]
    return [None] + pieces[: len(dW) - 1], [None] + pieces[len(dW) - 1 :]


# %% private_model
def private_model(x, y, N, target, delta, seed):
    batch, steps = N // 20, 60
    W, b, B = network([x.shape[1], y.shape[1]], seed)
    z = noise_for(target, batch / N, steps, delta)
    rng = np.random.default_rng(10_000 + seed)
    return train(W, b, B, x.astype(np.float32), y, batch / N, steps, 8.0, 0.5, batch, z, rng)


# %% audit
def audit(step, C, m, z, delta, trials, confidence, rng):
    sizes = [2, 2, 1]
    record = [None, np.zeros((1, 2)), np.array([[-50.0 * C]])], [np.zeros((1, 2)), np.array([[40.0, 0.0]]), None]
    empty = [None] + [np.zeros((0, n)) for n in sizes[1:]], [np.zeros((0, n)) for n in sizes]

    def weight(world):
        return float(step(*world, C, m, z, rng)[0][2][0, 0])

    threshold = sum(np.median([weight(world) for _ in range(101)]) for world in (empty, record)) / 2
    counts = tuple(sum(weight(world) < threshold for _ in range(trials)) for world in (empty, record))
    return epsilon_lower_bound(counts, trials, delta=delta, confidence=confidence)
