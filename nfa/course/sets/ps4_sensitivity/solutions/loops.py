"""Plain lists and loops, no NumPy; the pairs have several records."""


# %% neighbours
def neighbours(D, domain, relation):
    out = []
    if relation == "replace-one":
        for i in range(len(D)):
            for r in domain:
                if r != D[i]:
                    copy = list(D)
                    copy[i] = r
                    out.append(copy)
    else:
        for i in range(len(D)):
            copy = list(D)
            copy.pop(i)
            out.append(copy)
        for r in domain:
            out.append(list(D) + [r])
    return out


# %% sensitivity
def sensitivity(f, domain, sizes, relation):
    def data_sets(n):
        if n == 0:
            return [[]]
        return [[r] + rest for r in domain for rest in data_sets(n - 1)]

    best = 0
    for n in sizes:
        for D in data_sets(n):
            for other in neighbours(D, domain, relation):
                if len(other) in list(sizes):
                    a, b = f(D), f(other)
                    try:
                        square = sum((s - t) ** 2 for s, t in zip(a, b))
                    except TypeError:
                        square = (a - b) ** 2
                    best = max(best, square**0.5)
    return best


# %% sum_moves
def sum_moves(a, b, relation):
    if relation == "add-remove":
        return max(-a, b)
    return b - a


# %% mean_moves
def mean_moves(a, b, n, relation):
    # n - 1 records at a and one at b; one record less takes the b away
    with_b = ((n - 1) * a + b) / n
    return with_b - a


# %% median_moves
def median_moves(a, b, n, relation):
    below = [a] * (n // 2) + [b] * (n - n // 2)
    if relation == "replace-one":
        other = [a] * (n - n // 2) + [b] * (n // 2)
    else:
        other = [a] * (n // 2) + [b] * (n // 2)

    def middle(D):
        D = sorted(D)
        k = len(D) // 2
        return D[k] if len(D) % 2 else (D[k - 1] + D[k]) / 2

    return abs(middle(below) - middle(other))


# %% joint
def joint(deltas):
    square = 0
    for d in deltas:
        square += d * d
    return square**0.5


# %% clip_norm
def clip_norm(S, L):
    low, high = 0.0, S
    for _ in range(60):
        tau = (low + high) / 2
        if joint([2 * tau] * (2 * L)) < S:
            low = tau
        else:
            high = tau
    return low


# %% pair_size
def pair_size():
    D = [[0.0, 9.0]] * 19
    return "fails", D + [[0.0, -9.0]], D


# %% bound_size
def bound_size(C, k):
    # k - 1 at C; the k-th at -C
    return C - ((k - 1) * C - C) / k


# %% pair_expected
def pair_expected():
    longest, most = None, 0
    steps = [i / 4 for i in range(-4, 5)]
    for p in steps:
        for q in steps:
            for r in steps:
                if p or q or r:
                    norm = (p * p + q * q + r * r) ** 0.5
                    e = [p / norm, q / norm, r / norm]
                    Be = sum(sum(B[i][j] * e[j] for j in range(3)) ** 2 for i in range(5)) ** 0.5
                    if Be > most:
                        longest, most = e, Be
    rest = [[0, 0, 1]] * 3
    return "fails", rest + [longest], [[-s for s in longest]] + rest


# %% bound_expected
def bound_expected(B, m, tau_e):
    n, K = len(B), len(B[0])
    e = [1.0 + 0.1 * j * j for j in range(K)]
    for _ in range(500):
        Be = [sum(B[i][j] * e[j] for j in range(K)) for i in range(n)]
        e = [sum(B[i][j] * Be[i] for i in range(n)) for j in range(K)]
        norm = sum(t * t for t in e) ** 0.5
        e = [t / norm for t in e]
    return 2 * tau_e * norm**0.5 / m * 1.0001


# %% pair_column
def pair_column():
    rest = [([0.1, 0.2, 0.3], [1, 2, 3, 4])]
    return "holds", rest + [([0, 0, 2], [5, -5, 5, 5])], rest + [([0, 0, -2], [5, -5, 5, 5])]


# %% pair_bias
def pair_bias():
    rest = [([0.1, 0.2, 0.3], [1, 2, 3, 4])]
    return "fails", rest + [([0, 0, 2], [5, -5, 5, 5])], [([0, 0, -2], [5, -5, 5, 5])] + rest


# %% bound_bias
def bound_bias(m, n, tau_B, tau_h):
    squares = 0
    for column in range(n + 1):
        entry = 1 if column == n else tau_h / n**0.5
        squares += (2 / m * tau_B * entry) ** 2
    return squares**0.5


# %% pair_total
def pair_total():
    rest = [([-3, 0.5], 1), ([2, 2], 0)]
    return "fails", [([0.3, -0.2], 0), *rest], [*rest, ([0.3, -0.2], 1)]


# %% bound_total
def bound_total(L, m, gamma, beta, tau_e, tau_h):
    parts = []
    for l in range(1, L + 1):
        dz = tau_e if l == L else gamma * beta * tau_e
        parts.append(2 / m * dz * tau_h)
        parts.append(2 / m * dz)
    return joint(parts)


# %% pair_label
def pair_label():
    rest = [([0.2, 0.3, 0.5], 2)] * 4
    return "holds", rest + [([0.4, 0.4, 0.2], 1)], rest + [([0.4, 0.4, 0.2], 0)]


# %% pair_noise
def pair_noise():
    return "fails", [(0.8, [1, 1, 1])] * 3 + [(0.8, [1, 1, -1])], [(0.8, [1, 1, 1])] * 3 + [(-0.8, [1, 1, -1])]
