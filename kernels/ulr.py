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
from nfa.kernels.functions import ACTIVATIONS, LOSSES, loop
from nfa.kernels.philox import normals

# A tile's size for layers of up to 128 units, and its least and most columns: repeats of one example, or of several.
# Fixed for good: other numbers make other noise of the same seed.
TILE, LEAST, MOST = 1 << 16, 16, 512

f32, u32 = np.float32, np.uint32

# As `loop`, but the terms of a sum may be taken in another order too.
reordered = njit(nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})


def fits(net):
    """Whether `weigh` can run the network: float32, dense, no skips, activations and loss that have a loop here."""
    dense = all(W.ndim == 2 and W.dtype == f32 for W in net.W[1:]) and not net.skip and not any(net.pool)
    return dense and net.loss.name in LOSSES and all(phi.name in ACTIVATIONS for phi in net.phi[1:-1])


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
        suffix.append((ACTIVATIONS[net.phi[j - 1].name], np.ascontiguousarray(W), np.ascontiguousarray(b)))
    columns = _columns(net, l)
    loss_of = LOSSES[net.loss.name]
    total, power = np.zeros((m, n), f32), np.zeros(m, f32)
    key = _key(rng)

    def work(start, stop):
        noise, *layers = np.empty((3, _widest(net, l) * columns + 3), f32)
        for tile, of, repeats in itertools.chain(*groups[start:stop]):
            size = n * len(z_l[of]) * repeats
            normals(noise, size, key, tile)
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
            normals(flat, into.size, key, tile)
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


@loop
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


@reordered
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


@loop
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
