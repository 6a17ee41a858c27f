"""Kernel for `nfa.rules.ulr.weigh`. It computes the sums for a few examples at a time, within the cache.

The kernel is for float32 networks of dense layers. A tile has units in rows and repeats in columns, so that every loop
follows the memory and the compiler processes many columns at once. A thread has three arrays of the size of a tile,
whatever the setting ``chunk``. Their rows begin at multiples of 64 bytes, because a load across two cache lines takes
the time of two loads.

The kernel draws its own noise. It draws a key from rng. An example's normals are a function of the key and of the
example's place in the batch. So an example's result depends neither on the number of threads nor on the division of the
batch into parts. With the same rng, the noise differs from that of the NumPy version. The kernel is for seeded runs,
because Philox is not a cipher.
"""

import numpy as np
from numba import njit

from nfa.kernels import cores, philox
from nfa.kernels.functions import ACTIVATIONS, LOSSES, loop

# The largest number of entries of a tile (for layers of up to 4096 units), and the smallest and the largest number of
# columns of a tile. The columns are repeats of one or several examples. These constants never change, because with
# other constants the same seed would give other noise.
TILE, LEAST, MOST = 1 << 16, 16, 512

LINE = 16  # number of float32 values in a cache line
SPARE = 256  # largest number of extra samples that are drawn

f32, u32 = np.float32, np.uint32

# `loop`, except that the compiler may also change the order of a sum.
reordered = njit(nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})


def fits(net):
    """Whether `weigh` supports the network: float32, dense, without skips, with a known loss and activations."""
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
    width = _lines(columns)  # every row begins at a cache line
    groups, first = _tiles(m, draws, columns), getattr(rng, "first", 0)
    total, power = np.zeros((m, n), f32), np.zeros(m, f32)

    def work(start, stop):
        u, a = cores.aligned(_widest(net, l) * columns + SPARE), cores.aligned((2, _widest(net, l), width))
        rows, words = cores.aligned((3, width)), u.view(u32)  # rows is memory for the losses
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
    """The network's outputs, in columns, for z + sign sigma u. Layers write alternately into a[0] and a[1]."""
    width = _lines(m * repeats)
    _shift(z, sigma, f32(sign), i, m, repeats, u, a[0], width)
    for j, (n_in, n_out, place, phi) in enumerate(layers):
        phi(a[j % 2], n_in, width)
        _affine(theta, place, n_in, n_out, a[j % 2], a[(j + 1) % 2], width)


def _lines(columns):
    """The number of columns, rounded up to whole cache lines."""
    return -(-columns // LINE) * LINE


def _packed(net, first):
    """The layers from ``first`` on, [(n_in, n_out, place, phi), ...], and theta, with W and then b at a layer's place.

    ``phi`` is the activation whose output is the layer's input. If a layer has no bias, its b in theta is 0.
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
    """Draw the normals of a piece by Philox: ``size`` normals for the repeats of each of m examples.

    ``first`` is the place of the first example.
    """
    for own in range(m):
        philox.normals(words[own * size :], size, key, first + own, piece)


def _widest(net, l):
    return max(len(W) for W in net.W[l:])


def _columns(net, l):
    """The largest number of columns in the tiles of layer l."""
    return max(LEAST, min(MOST, TILE // _widest(net, l)))


def _tiles(m, draws, columns):
    """The tiles as an array (groups, tiles, 4) of (piece, first example, number of examples, number of repeats).

    All tiles of a group have the same examples.

    A piece has some repeats of the group's examples. One thread adds up the sums of a group, in a fixed order.
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
    """The normals (draws, m, n) that `weigh` draws from this generator."""
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
    """Set a to z + sign sigma u for m examples from the i-th on. All columns of an example have its z and sigma.

    The remaining columns of a become 0.
    """
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
    """Add the sums over repeats of u L and of L^2 to the totals of m examples from the i-th on."""
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
    """z = W h + b by columns, eight terms at a time. theta[at:] is W, row by row, and then b."""
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
