"""Numba twin of `nfa.rules.ulr.weigh`: the repeats of a few examples at a time, from noise to sum, within the cache.

For float32 networks of dense layers. A tile has units in rows and repeats in columns, so that every loop runs along
memory and the compiler takes many columns at once. A thread holds three arrays of a tile, whatever the chunk; their
rows begin at multiples of 64 bytes, for a load across two lines of the cache costs two.

The noise is the kernel's own: the generator gives a key, and an example's normals are a function of the key and of the
example's place in the batch. So an example's answer does not depend on the number of threads, nor on how the batch is
cut into parts. It is not that of NumPy for the same generator. The kernel is for seeded runs: Philox is no cipher.
"""

import numpy as np
from numba import njit

from nfa.kernels import cores, philox
from nfa.kernels.functions import ACTIVATIONS, LOSSES, loop

# A tile's size for layers of up to 128 units, and its least and most columns: repeats of one example, or of several.
# Fixed for good: other numbers make other noise of the same seed.
TILE, LEAST, MOST = 1 << 16, 16, 512

LINE = 16  # numbers of a line of the cache
SPARE = 256  # numbers that are drawn beyond the last one, at most

f32, u32 = np.float32, np.uint32

# As `loop`, but the terms of a sum may be taken in another order too.
reordered = njit(nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})


def fits(net):
    """Whether `weigh` can run the network: float32, dense, without skips, a loss and activations known here."""
    dense = all(W.ndim == 2 and W.dtype == f32 for W in net.W[1:]) and not net.skip and not any(net.pool)
    return dense and net.loss.name in LOSSES and all(phi.name in ACTIVATIONS for phi in net.phi[1:-1])


def weigh(net, l, z, h, y, sigma, draws, calm, antithetic, chunk, rng):
    """Twin of `nfa.rules.ulr.weigh`."""
    if not fits(net) or z[l].dtype != f32:
        raise ValueError(
            "the kernel of ULR needs a float32 network of dense layers without skips and pooling. The kernel must "
            "also implement the activations and the loss of the network"
        )
    key = _key(rng)
    m, n = z[l].shape
    z_l, y, calm = (np.ascontiguousarray(a, f32) for a in (z[l], y, calm))
    sigma = np.broadcast_to(np.asarray(sigma, f32).reshape(-1), m).copy()
    layers, theta = _packed(net, l + 1)
    columns, loss_of = _columns(net, l), LOSSES[net.loss.name]
    width = _lines(columns)  # every row begins at a line of the cache
    groups, first = _tiles(m, draws, columns), getattr(rng, "first", 0)
    total, power = np.zeros((m, n), f32), np.zeros(m, f32)

    def work(start, stop):
        u, a = cores.aligned(_widest(net, l) * columns + SPARE), cores.aligned((2, _widest(net, l), width))
        rows, words = cores.aligned((3, width)), u.view(u32)  # rows: of the loss
        for piece, i, own, repeats in groups[start:stop].reshape(-1, 4).tolist():
            _draw(words, n * repeats, own, key, first + i, piece)
            answers = []
            for sign in (1, -1) if antithetic else (1,):
                _at_z(z_l, sigma, sign, i, own, repeats, u, layers, theta, a)
                loss_of(a[len(layers) % 2], y, i, own, repeats, rows, _lines(own * repeats))
                answers.append(rows[0, : own * repeats].copy())
            if antithetic:
                L = (answers[0] - answers[1]) / f32(2)
            else:
                L = answers[0] - np.repeat(calm[i : i + own], repeats)
            _add(u, L, i, own, repeats, total, power)

    cores.share(work, len(groups), 1)
    return total, power


def _at_z(z, sigma, sign, i, m, repeats, u, layers, theta, a):
    """The network's output at z + sign sigma u of a tile, by columns: into a[0] or a[1], which layers take in turn."""
    width = _lines(m * repeats)
    _shift(z, sigma, f32(sign), i, m, repeats, u, a[0], width)
    for j, (n_in, n_out, place, phi) in enumerate(layers):
        phi(a[j % 2], n_in, width)
        _affine(theta, place, n_in, n_out, a[j % 2], a[(j + 1) % 2], width)


def _lines(columns):
    """As many columns as whole lines of the cache hold."""
    return -(-columns // LINE) * LINE


def _packed(net, first):
    """The layers from that on: [(n_in, n_out, place, phi), ...], and theta with W and then b at a layer's place.

    ``phi`` is the activation by which a layer's input is made. A layer may have no bias: zeros here.
    """
    layers, parts, place = [], [np.empty(0, f32)], 0
    for l in range(first, net.L + 1):
        n_out, n_in = net.W[l].shape
        layers.append((n_in, n_out, place, ACTIVATIONS[net.phi[l - 1].name]))
        parts += [net.W[l].ravel(), net.b[l] if len(net.b[l]) else np.zeros(n_out, f32)]
        place += n_out * (n_in + 1)
    return layers, np.concatenate(parts)


def _key(rng):
    return rng.integers(1 << 32, size=2, dtype=u32)


@loop
def _draw(words, size, m, key, first, piece):
    """The normals of a piece of m examples' repeats, ``size`` each, by Philox; ``first`` is the first one's place."""
    for own in range(m):
        philox.normals(words[own * size :], size, key, first + own, piece)


def _widest(net, l):
    return max(len(W) for W in net.W[l:])


def _columns(net, l):
    """How many columns the tiles of layer l have, at most."""
    return max(LEAST, min(MOST, TILE // _widest(net, l)))


def _tiles(m, draws, columns):
    """The tiles (piece, first example, examples, repeats): (groups, tiles, 4), a group of the same examples.

    The pieces of a group are of its examples' repeats. Its sums are added up in one order, by one thread.
    """
    at_once = min(draws, columns)
    together = columns // at_once
    starts = range(0, draws, at_once)
    tiles = [
        (piece, i, min(together, m - i), min(at_once, draws - start))
        for i in range(0, m, together)
        for piece, start in enumerate(starts)
    ]
    return np.array(tiles, np.int64).reshape(-1, len(starts), 4)


def _noise(m, n, draws, rng, columns=MOST):
    """The normals (draws, m, n) that `weigh` takes of this generator."""
    key, first = _key(rng), getattr(rng, "first", 0)
    u = np.empty((draws, m, n), f32)
    for tiles in _tiles(m, draws, columns):
        done = 0
        for piece, i, examples, repeats in tiles:
            into = u[done : done + repeats, i : i + examples].transpose(1, 2, 0)  # examples, units, repeats
            flat = np.empty(into.size + SPARE, f32)
            _draw(flat.view(u32), n * repeats, examples, key, first + i, piece)
            into[:] = flat[: into.size].reshape(into.shape)
            done += repeats
    return u


@loop
def _shift(z, sigma, sign, i, m, repeats, u, a, width):
    """a = z + sign sigma u for m examples from the i-th on, one's z and sigma for all its columns; 0 beyond them."""
    for j in range(z.shape[1]):
        a_j = a[j]
        for own in range(m):
            z_ij, std, first = z[i + own, j], sign * sigma[i + own], own * repeats
            u_ij, a_ij = u[(own * z.shape[1] + j) * repeats :], a_j[first : first + repeats]
            for r in range(repeats):
                a_ij[r] = z_ij + std * u_ij[r]
        for c in range(m * repeats, width):
            a_j[c] = f32(0)


@reordered
def _add(u, L, i, m, repeats, total, power):
    """Add the sums over repeats of u L and of L^2 to those of m examples from the i-th on."""
    for own in range(m):
        own_L, s = L[own * repeats : (own + 1) * repeats], f32(0)
        for r in range(repeats):
            s += own_L[r] * own_L[r]
        power[i + own] += s
        for j in range(total.shape[1]):
            u_ij, s = u[(own * total.shape[1] + j) * repeats :], f32(0)
            for r in range(repeats):
                s += u_ij[r] * own_L[r]
            total[i + own, j] += s


@loop
def _affine(theta, at, n_in, n_out, h, z, width):
    """z = W h + b by columns, eight terms at a time, where theta[at:] is W, row by row, and then b."""
    for o in range(n_out):
        z_o, b_o = z[o], theta[at + n_out * n_in + o]
        for c in range(width):
            z_o[c] = b_o
    for k in range(0, n_in - 7, 8):
        h0, h1, h2, h3, h4, h5, h6, h7 = h[k], h[k + 1], h[k + 2], h[k + 3], h[k + 4], h[k + 5], h[k + 6], h[k + 7]
        for o in range(n_out):
            w, z_o = theta[at + o * n_in + k :], z[o]
            w0, w1, w2, w3, w4, w5, w6, w7 = w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]
            for c in range(width):
                z_o[c] += (
                    w0 * h0[c] + w1 * h1[c] + w2 * h2[c] + w3 * h3[c]
                    + w4 * h4[c] + w5 * h5[c] + w6 * h6[c] + w7 * h7[c]
                )  # fmt: skip
    for k in range(n_in - n_in % 8, n_in):
        h_k = h[k]
        for o in range(n_out):
            w_ok, z_o = theta[at + o * n_in + k], z[o]
            for c in range(width):
                z_o[c] += w_ok * h_k[c]
