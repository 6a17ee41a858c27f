"""Numba twin of `nfa.rules.ulr.weigh`: the repeats of a few examples at a time, from noise to sum, within the cache.

For float32 networks of dense layers. A tile has units in rows and repeats in columns, so that every loop runs along
memory and the compiler takes many columns at once. A thread holds three arrays of a tile, whatever the chunk.

The noise is the kernel's own: the generator gives a key, and every normal is a function of key, tile and place in the
tile. So the answer does not depend on the number of threads. It is not that of NumPy for the same generator.
"""

import itertools

import numpy as np
from numba import njit

from nfa.kernels import cores

# A tile's size for layers of up to 128 units, and its least and most columns: repeats of one example, or of several.
# Fixed for good: other numbers make other noise of the same seed.
TILE, LEAST, MOST = 1 << 16, 16, 512

f32, i32, u32, u64 = np.float32, np.int32, np.uint32, np.uint64

# A product is added in one rounding; where sums are reordered, their terms may be taken in another order too.
_loop = njit(nogil=True, error_model="numpy", fastmath={"contract"})
_reordered = njit(nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})
_inlined = njit(inline="always")


def fits(net):
    """Whether `weigh` can run the network: float32, dense, no skips, activations and loss that have a loop here."""
    dense = all(W.ndim == 2 and W.dtype == f32 for W in net.W[1:]) and not net.skip and not any(net.pool)
    return dense and net.loss.name in _LOSSES and all(phi.name in _ACTIVATIONS for phi in net.phi[1:-1])


def weigh(net, l, z, h, y, sigma, draws, calm, antithetic, chunk, rng):
    """Twin of `nfa.rules.ulr.weigh`."""
    if not fits(net) or z[l].dtype != f32:
        raise ValueError("this kernel is for float32 networks of dense layers without skips, with functions it knows")
    m, n = z[l].shape
    z_l, y = np.ascontiguousarray(z[l]), np.ascontiguousarray(y, f32)
    sigma = np.broadcast_to(np.asarray(sigma, f32).reshape(-1), m).copy()
    suffix = []
    for j in range(l + 1, net.L + 1):
        W, b = net.W[j], net.b[j] if len(net.b[j]) else np.zeros(len(net.W[j]), f32)  # a layer may have no bias
        suffix.append((_ACTIVATIONS[net.phi[j - 1].name], np.ascontiguousarray(W), np.ascontiguousarray(b)))
    columns = _columns(net, l)
    loss_of = _LOSSES[net.loss.name]
    total, power = np.zeros((m, n), f32), np.zeros(m, f32)
    key = _key(rng)

    def work(start, stop):
        noise, *layers = np.empty((3, _widest(net, l) * columns + 3), f32)
        for tile, of, repeats in itertools.chain(*groups[start:stop]):
            size = n * len(z_l[of]) * repeats
            _normals(noise, size, key, tile)
            u = noise[:size].reshape(n, -1)
            L = _losses(z_l[of], sigma[of], u, y[of], suffix, loss_of, layers)
            if antithetic:
                L = (L - _losses(z_l[of], -sigma[of], u, y[of], suffix, loss_of, layers)) / f32(2)
            else:
                L = (L.reshape(-1, repeats) - calm[of, None]).reshape(-1)
            _add(u, L, total[of], power[of])

    groups = _tiles(m, draws, columns)
    cores.share(work, len(groups), 1)
    return total, power


def _key(rng):
    return rng.integers(1 << 32, size=2, dtype=u32)


def _widest(net, l):
    return max(len(W) for W in net.W[l:])


def _columns(net, l):
    """How many columns the tiles of layer l have, at most."""
    return max(LEAST, min(MOST, TILE // _widest(net, l)))


def _tiles(m, draws, columns):
    """The tiles (number, examples, repeats), in lists that have the same examples."""
    at_once = min(draws, columns)
    together = columns // at_once
    starts = range(0, draws, at_once)
    return [
        [
            (group * len(starts) + c, slice(i, min(i + together, m)), min(at_once, draws - start))
            for c, start in enumerate(starts)
        ]
        for group, i in enumerate(range(0, m, together))
    ]


def _noise(m, n, draws, rng, columns=MOST):
    """The normals (draws, m, n) that `weigh` takes of this generator."""
    key = _key(rng)
    u = np.empty((draws, m, n), f32)
    for tiles in _tiles(m, draws, columns):
        done = 0
        for tile, of, repeats in tiles:
            into = u[done : done + repeats, of].transpose(2, 1, 0)  # units, examples, repeats
            flat = np.empty(into.size + 3, f32)
            _normals(flat, into.size, key, tile)
            into[:] = flat[: into.size].reshape(into.shape)
            done += repeats
    return u


def _losses(z, sigma, u, y, suffix, loss_of, layers):
    """The losses of a tile's columns for noise sigma u on z: those of the first example, those of the second, ..."""
    columns = u.shape[1]
    a = layers[0][: u.size].reshape(u.shape)
    _shift(z, sigma, u, a)
    for i, (phi, W, b) in enumerate(suffix, start=1):
        phi(a.reshape(-1))
        below, a = a, layers[i % 2][: len(b) * columns].reshape(len(b), columns)
        _affine(W, b, below, a)
    rows = np.empty((3, columns), f32)
    loss_of(a, y, rows)
    return rows[0]


@_loop
def _shift(z, sigma, u, a):
    """a = z + sigma u, each example's z and sigma for all of its columns."""
    m, n = z.shape
    repeats = u.shape[1] // m
    for j in range(n):
        for i in range(m):
            z_ij, std = z[i, j], sigma[i]
            u_ij, a_ij = u[j, i * repeats : (i + 1) * repeats], a[j, i * repeats : (i + 1) * repeats]
            for r in range(repeats):
                a_ij[r] = z_ij + std * u_ij[r]


@_reordered
def _add(u, L, total, power):
    """Add each example's sums over repeats of u L and of L^2."""
    m, n = total.shape
    repeats = len(L) // m
    for i in range(m):
        own = L[i * repeats : (i + 1) * repeats]
        for j in range(n):
            u_ij, s = u[j, i * repeats : (i + 1) * repeats], f32(0)
            for r in range(repeats):
                s += u_ij[r] * own[r]
            total[i, j] += s
        s = f32(0)
        for r in range(repeats):
            s += own[r] * own[r]
        power[i] += s


@_loop
def _affine(W, b, h, z):
    """z = W h + b by columns, eight terms at a time."""
    n_out, n_in = W.shape
    for o in range(n_out):
        z_o = z[o]
        for c in range(len(z_o)):
            z_o[c] = b[o]
    for k in range(0, n_in - 7, 8):
        h0, h1, h2, h3, h4, h5, h6, h7 = h[k], h[k + 1], h[k + 2], h[k + 3], h[k + 4], h[k + 5], h[k + 6], h[k + 7]
        for o in range(n_out):
            w, z_o = W[o, k : k + 8], z[o]
            w0, w1, w2, w3, w4, w5, w6, w7 = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]
            for c in range(len(z_o)):
                z_o[c] += (
                    w0 * h0[c] + w1 * h1[c] + w2 * h2[c] + w3 * h3[c]
                    + w4 * h4[c] + w5 * h5[c] + w6 * h6[c] + w7 * h7[c]
                )  # fmt: skip
    for k in range(n_in - n_in % 8, n_in):
        h_k = h[k]
        for o in range(n_out):
            w_ok, z_o = W[o, k], z[o]
            for c in range(len(z_o)):
                z_o[c] += w_ok * h_k[c]


# Losses: into rows[0]


@_loop
def _cross_entropy(z, y, rows):
    loss, top, spread = rows[0], rows[1], rows[2]
    n, columns = z.shape
    repeats = columns // len(y)
    for c in range(columns):
        top[c], spread[c], loss[c] = z[0, c], f32(0), f32(0)
    for j in range(1, n):
        z_j = z[j]
        for c in range(columns):
            top[c] = z_j[c] if z_j[c] > top[c] else top[c]
    for j in range(n):
        z_j = z[j]
        for c in range(columns):
            spread[c] += _exp(z_j[c] - top[c])
    for c in range(columns):
        spread[c] = _log(spread[c])
    for j in range(n):
        z_j = z[j]
        for i in range(len(y)):
            y_ij = y[i, j]
            for c in range(i * repeats, (i + 1) * repeats):
                loss[c] -= y_ij * (z_j[c] - top[c] - spread[c])


@_loop
def _half_squared_error(z, y, rows):
    loss = rows[0]
    n, columns = z.shape
    repeats = columns // len(y)
    for c in range(columns):
        loss[c] = f32(0)
    for j in range(n):
        z_j = z[j]
        for i in range(len(y)):
            y_ij = y[i, j]
            for c in range(i * repeats, (i + 1) * repeats):
                loss[c] += f32(0.5) * (z_j[c] - y_ij) * (z_j[c] - y_ij)


# Activations: in place


def _identity(a):
    pass


@_loop
def _relu(a):
    for c in range(len(a)):
        a[c] = f32(0) if a[c] < f32(0) else a[c]


@_loop
def _step(a):
    for c in range(len(a)):
        a[c] = f32(1) if a[c] > f32(0) else f32(0)


@_loop
def _gelu(a):
    for c in range(len(a)):
        size = abs(a[c])
        a[c] = (f32(0) if a[c] < f32(0) else a[c]) - size * _upper_tail(size)


@_loop
def _tanh(a):
    for c in range(len(a)):
        q = _exp(f32(-2) * abs(a[c]))
        t = (f32(1) - q) / (f32(1) + q)
        a[c] = -t if a[c] < f32(0) else t


@_loop
def _sigmoid(a):
    for c in range(len(a)):
        q = _exp(-abs(a[c]))
        a[c] = (q if a[c] < f32(0) else f32(1)) / (f32(1) + q)


_LOSSES = {"softmax-cross-entropy": _cross_entropy, "squared-error": _half_squared_error}
_ACTIVATIONS = {
    "identity": _identity,
    "relu": _relu,
    "step": _step,
    "gelu": _gelu,
    "tanh": _tanh,
    "sigmoid": _sigmoid,
}


# Functions of one number, in float32 throughout and without a branch, so that a loop over them is taken many at a time


@_loop
def _exp(x):
    """exp(x) for x <= 0, to two roundings; exp(-87) below -87. NaN stays NaN.

    exp(x) = 2^k exp(r) with |r| <= log(2) / 2, and exp(r) by the polynomial of Cephes (expf).
    """
    x = f32(-87) if x < f32(-87) else x
    k = np.floor(x * f32(1.44269504) + f32(0.5))
    r = x - k * f32(0.693359375) + k * f32(2.12194440e-4)
    p = f32(1.9875691500e-4)
    p = p * r + f32(1.3981999507e-3)
    p = p * r + f32(8.3334519073e-3)
    p = p * r + f32(4.1665795894e-2)
    p = p * r + f32(1.6666665459e-1)
    p = p * r + f32(5.0000001201e-1)
    return (p * r * r + r + f32(1)) * i32((i32(k) + i32(127)) << i32(23)).view(f32)


@_loop
def _log(x):
    """log(x) for normal x > 0, to two roundings or 1e-7.

    log(x) = k log(2) + log(1 + r), sqrt(1/2) <= 1 + r < sqrt(2), and that by the polynomial of Cephes (logf).
    """
    bits = f32(x).view(i32)
    k = i32((bits - i32(0x3F3504F3)) >> i32(23))
    r = i32(bits - i32(k << i32(23))).view(f32) - f32(1)
    p = f32(7.0376836292e-2)
    p = p * r + f32(-1.1514610310e-1)
    p = p * r + f32(1.1676998740e-1)
    p = p * r + f32(-1.2420140846e-1)
    p = p * r + f32(1.4249322787e-1)
    p = p * r + f32(-1.6668057665e-1)
    p = p * r + f32(2.0000714765e-1)
    p = p * r + f32(-2.4999993993e-1)
    p = p * r + f32(3.3333331174e-1)
    return f32(k) * f32(0.69314718) + (r + r * r * (f32(-0.5) + r * p))


@_loop
def _upper_tail(a):
    """The probability that a standard normal is above a >= 0: erfc(a / sqrt(2)) / 2, to 1e-6 of itself for a < 5.

    By Press et al., Numerical Recipes, function erfcc, whose own relative error is 1.2e-7.
    """
    t = f32(1) / (f32(1) + f32(0.35355339) * a)
    p = f32(0.17087277)
    p = p * t + f32(-0.82215223)
    p = p * t + f32(1.48851587)
    p = p * t + f32(-1.13520398)
    p = p * t + f32(0.27886807)
    p = p * t + f32(-0.18628806)
    p = p * t + f32(0.09678418)
    p = p * t + f32(0.37409196)
    p = p * t + f32(1.00002368)
    p = p * t + f32(-1.26551223)
    return f32(0.5) * t * _exp(p - f32(0.5) * a * a)


# The noise


@_loop
def _normals(out, size, key, tile):
    """Fill out[:size], and up to three numbers more, with standard normals that are a function of key, tile and place.

    Box and Muller (1958): a radius by -2 log of one uniform number, an angle by another. Every number is below 6.77 in
    size; of a normal's, 1.3e-11 are not.
    """
    n = -(-size // 4)
    out_0, out_1, out_2, out_3 = out[:n], out[n : 2 * n], out[2 * n : 3 * n], out[3 * n : 4 * n]
    for c in range(n):
        a, b, d, e = _philox(u32(c), u32(tile), u32(0), u32(0), key[0], key[1])
        out_0[c], out_1[c] = _pair(a, b)
        out_2[c], out_3[c] = _pair(d, e)


@_loop
def _pair(a, b):
    """Two independent normals of two random words: 32 bits for the radius, 30 for the angle, 2 for the signs."""
    radius = np.sqrt(f32(-2) * _log((f32(a) + f32(0.5)) * f32(2.0**-32)))
    turn = f32(i32(b >> u32(2))) * f32(2.0**-30)
    x, y = radius * _quarter_sine(turn), radius * _quarter_sine(f32(1) - turn)
    return (x if b & u32(1) else -x), (y if b & u32(2) else -y)


@_loop
def _quarter_sine(x):
    """sin(pi x / 2) for 0 <= x <= 1, to 2e-7: Hastings, Approximations for Digital Computers (1955), sheet 15."""
    s = x * x
    p = f32(0.00015148419)
    p = p * s + f32(-0.00467376557)
    p = p * s + f32(0.07968967928)
    p = p * s + f32(-0.64596371106)
    return x * (p * s + f32(1.57079631847))


@_inlined
def _philox(c0, c1, c2, c3, k0, k1):
    """Four random words of a counter and a key: Philox4x32-10 of Salmon et al. (2011)."""
    for _ in range(10):
        p, q = u64(0xD2511F53) * u64(c0), u64(0xCD9E8D57) * u64(c2)
        c0, c1, c2, c3 = u32(q >> u64(32)) ^ c1 ^ k0, u32(q), u32(p >> u64(32)) ^ c3 ^ k1, u32(p)
        k0, k1 = u32(u64(k0) + u64(0x9E3779B9)), u32(u64(k1) + u64(0xBB67AE85))
    return c0, c1, c2, c3
