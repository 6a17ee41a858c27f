"""Numba twin of `nfa.rules.ulr.weigh`: the repeats of a few examples at a time, from noise to sum, within the cache.

For float32 networks of dense layers. A tile has units in rows and repeats in columns, so that every loop runs along
memory and the compiler takes many columns at once. A thread holds three arrays of a tile, whatever the chunk; their
rows begin at multiples of 64 bytes, for a load across two lines of the cache costs two.

The noise is the kernel's own: the generator gives a key, and every normal is a function of key, tile and place in the
tile. So the answer does not depend on the number of threads. It is not that of NumPy for the same generator. `weigh`
takes Philox, `weigh_secure` the cipher ChaCha20 under a key of 256 bits, for noise that must stay secret.
"""

import numpy as np
from numba import njit

from nfa.kernels import cores, noise, philox
from nfa.kernels.functions import ACTIVATIONS, LOSSES, loop

# A tile's size for layers of up to 128 units, and its least and most columns: repeats of one example, or of several.
# Fixed for good: other numbers make other noise of the same seed.
TILE, LEAST, MOST = 1 << 16, 16, 512

LINE = 16  # numbers of a line of the cache
GROUPS = 1 << 20  # of the cipher's groups, kept for each tile: more than it can need

f32, u32 = np.float32, np.uint32

# As `loop`, but the terms of a sum may be taken in another order too.
reordered = njit(nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})


def fits(net):
    """Whether `weigh` can run the network: float32, dense, no skips, a loss and at most two activations known here."""
    dense = all(W.ndim == 2 and W.dtype == f32 for W in net.W[1:]) and not net.skip and not any(net.pool)
    names = _activations(net)
    return dense and net.loss.name in LOSSES and len(names) <= 2 and all(name in ACTIVATIONS for name in names)


def _activations(net):
    """The names of the hidden layers' activations, each once."""
    return list(dict.fromkeys(phi.name for phi in net.phi[1:-1]))


def weigh(net, l, z, h, y, sigma, draws, calm, antithetic, chunk, rng):
    """Twin of `nfa.rules.ulr.weigh`."""
    return _weigh(philox.normals, _key(rng), net, l, z, y, sigma, draws, calm, antithetic)


def weigh_secure(net, l, z, h, y, sigma, draws, calm, antithetic, chunk, rng):
    """Twin of `nfa.rules.ulr.weigh`."""
    return _weigh(_keyed_normals, _secure_key(rng), net, l, z, y, sigma, draws, calm, antithetic)


def _weigh(normals, key, net, l, z, y, sigma, draws, calm, antithetic):
    if not fits(net) or z[l].dtype != f32:
        raise ValueError("this kernel is for float32 networks of dense layers without skips, with functions it knows")
    m, n = z[l].shape
    z_l, y, calm = (np.ascontiguousarray(a, f32) for a in (z[l], y, calm))
    sigma = np.broadcast_to(np.asarray(sigma, f32).reshape(-1), m).copy()
    names = _activations(net) or ["identity"]
    phi, other_phi = ACTIVATIONS[names[0]], ACTIVATIONS[names[-1]]
    layers, theta = _packed(net, l + 1, names)
    columns = _columns(net, l)
    width = -(-columns // LINE) * LINE  # so that every row begins at a line of the cache
    groups = _tiles(m, draws, columns)
    total, power = np.zeros((m, n), f32), np.zeros(m, f32)

    def work(start, stop):
        u, a = cores.aligned(_widest(net, l) * columns + 3), cores.aligned((2, _widest(net, l), width))
        rows = cores.aligned((4, width))
        _repeat(
            normals, phi, other_phi, LOSSES[net.loss.name], key, groups[start:stop], z_l, sigma, y, calm,
            int(antithetic), layers, theta, u, a, rows, total, power,
        )  # fmt: skip

    cores.share(work, len(groups), 1)
    return total, power


@loop
def _repeat(
    normals,
    phi,
    other_phi,
    loss_of,
    key,
    groups,
    z,
    sigma,
    y,
    calm,
    antithetic,
    layers,
    theta,
    u,
    a,
    rows,
    total,
    power,
):
    """Add the sums of these groups of tiles to those of their examples.

    u, a and rows are room for the noise, for a layer and the next, and for the loss.
    """
    n, loss, L = z.shape[1], rows[0], rows[3]
    for g in range(groups.shape[0]):
        for c in range(groups.shape[1]):
            tile, i, m, repeats = groups[g, c, 0], groups[g, c, 1], groups[g, c, 2], groups[g, c, 3]
            width = -(-m * repeats // LINE) * LINE
            normals(u, n * m * repeats, key, tile)
            for sign in range(1 + antithetic):
                _shift(z, sigma, f32(1 - 2 * sign), i, m, repeats, u, a[0], width)
                for j in range(len(layers)):
                    n_in, n_out, at, which = layers[j, 0], layers[j, 1], layers[j, 2], layers[j, 3]
                    for o in range(n_in):
                        if which == 0:
                            phi(a[j % 2, o, :width])
                        else:
                            other_phi(a[j % 2, o, :width])
                    _affine(theta, at, n_in, n_out, a[j % 2], a[(j + 1) % 2], width)
                loss_of(a[len(layers) % 2], y, i, m, repeats, rows, width)
                for k in range(m * repeats):
                    L[k] = loss[k] if sign == 0 else (L[k] - loss[k]) / f32(2)
            if not antithetic:
                for k in range(m * repeats):
                    L[k] -= calm[i + k // repeats]
            _add(u, L, i, m, repeats, total, power)


def _packed(net, first, names):
    """The layers from that on: (n_in, n_out, place, which), and theta with W and then b at a layer's place.

    ``which`` tells the activation by which a layer's input was made. A layer may have no bias: zeros here.
    """
    layers, parts, place = [], [np.empty(0, f32)], 0
    for l in range(first, net.L + 1):
        n_out, n_in = net.W[l].shape
        layers.append((n_in, n_out, place, names.index(net.phi[l - 1].name)))
        parts += [net.W[l].ravel(), net.b[l] if len(net.b[l]) else np.zeros(n_out, f32)]
        place += n_out * (n_in + 1)
    return np.array(layers, np.int64).reshape(-1, 4), np.concatenate(parts)


def _key(rng):
    return rng.integers(1 << 32, size=2, dtype=u32)


def _secure_key(rng):
    return rng.integers(1 << 32, size=8, dtype=u32)


@loop
def _keyed_normals(out, size, key, tile):
    """As `nfa.kernels.philox.normals`, by ChaCha20: no group of the cipher's numbers is in two tiles."""
    out[:size] = f32(0)
    noise.add_keyed(out[:size], 1.0, key, tile * GROUPS)


def _widest(net, l):
    return max(len(W) for W in net.W[l:])


def _columns(net, l):
    """How many columns the tiles of layer l have, at most."""
    return max(LEAST, min(MOST, TILE // _widest(net, l)))


def _tiles(m, draws, columns):
    """The tiles (number, first example, examples, repeats): (groups, tiles, 4), a group of the same examples.

    A group's sums are added up in one order, by one thread.
    """
    at_once = min(draws, columns)
    together = columns // at_once
    starts = range(0, draws, at_once)
    tiles = [
        (group * len(starts) + c, i, min(together, m - i), min(at_once, draws - start))
        for group, i in enumerate(range(0, m, together))
        for c, start in enumerate(starts)
    ]
    return np.array(tiles, np.int64).reshape(-1, len(starts), 4)


def _noise(m, n, draws, rng, columns=MOST, secure=False):
    """The normals (draws, m, n) that `weigh` takes of this generator, or `weigh_secure`."""
    normals, key = (_keyed_normals, _secure_key(rng)) if secure else (philox.normals, _key(rng))
    u = np.empty((draws, m, n), f32)
    for tiles in _tiles(m, draws, columns):
        done = 0
        for tile, i, examples, repeats in tiles:
            into = u[done : done + repeats, i : i + examples].transpose(2, 1, 0)  # units, examples, repeats
            flat = np.empty(into.size + 3, f32)
            normals(flat, into.size, key, tile)
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
            u_ij, a_ij = u[(j * m + own) * repeats :], a_j[first : first + repeats]
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
            u_ij, s = u[(j * m + own) * repeats :], f32(0)
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
