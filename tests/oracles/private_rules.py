"""Oracles of Lee & Kifer's private rules: their algorithms for one record and one number at a time, and autograd.

The loops use `tests.oracles.photonic`, which represents a network by a list of wires (products). The oracles do not
call the code that they test.
"""

import math

import numpy as np

from nfa import network, ops
from nfa.network import dense
from nfa.network.pooling import MaxPool
from tests.oracles.core import times, top_eigenvalue, torch_affine, torch_forward, torch_loss, torch_parameters
from tests.oracles.photonic import add_outer, empty_direction, forward_any, pulled, reading, scaled, transposed


def entries(direction):
    """All weights and biases of a direction as one vector."""
    return np.concatenate([a.ravel() for part in direction for a in part[1:]])


def norm(*arrays):
    """The norm of several arrays as one vector, with an exactly rounded sum."""
    return math.sqrt(math.fsum(float(v) ** 2 for a in arrays for v in np.ravel(a)))


def clip_weight(size, c):
    """The factor that clips a vector of norm ``size`` to c."""
    return min(1.0, c / size) if size else 1.0


# --- one record at a time -------------------------------------------------------------------------------------


def dp_sgd_by_records(net, x, y, *, C, m, clip):
    """DP-SGD by loops: clip each record's gradient as a whole or for each layer, and add the clipped gradients."""
    total = empty_direction(net)
    for i in range(len(x)):
        dW, db = gradient_of_record(net, x[i], y[i])
        for l in range(1, net.L + 1):
            if clip == "joint":
                weight = clip_weight(norm(*dW[1:], *db[1:]), C)
            else:
                weight = clip_weight(norm(dW[l], db[l]), C / math.sqrt(net.L))
            total[0][l] += weight * dW[l] / m
            total[1][l] += weight * db[l] / m
    return total


def gradient_of_record(net, x, y):
    """Backpropagation of one record through any network, by loops."""
    dW, db = empty_direction(net)
    z, h = forward_any(net, x)
    dz = [a - float(b) for a, b in zip(h[net.L], y, strict=True)]
    back = [[0.0] * math.prod(shape) for shape in net.shape_h]
    for l in range(net.L, 0, -1):
        dz = dz if l == net.L else pulled(net, l, z[l], back[l])
        spread(net, l, dz, back)
        add_outer(net, l, dz, reading(net, l, h), 1.0, 1, dW, db)
    return dW, db


def spread(net, l, dz, back):
    """Multiply dz by the transpose of W^l, and add the result to all inputs of layer l in ``back``."""
    for j in [l - 1, *([net.skip[l]] if l in net.skip else [])]:
        back[j] = [a + b for a, b in zip(back[j], transposed(net, l, dz), strict=True)]


def dp_dfa_by_records(net, x, y, B, *, m, tau_e, tau_h, at="h", top="error", beta_top=1.0):
    """Lines A6 to A12 of Algorithm 1 without noise."""
    dW, db = empty_direction(net)
    for i in range(len(x)):
        z, h = forward_any(net, x[i])
        error = [a - float(b) for a, b in zip(h[net.L], y[i], strict=True)]
        e = scaled(error, tau_e)
        for l in range(1, net.L + 1):
            if l < net.L:
                dz = pulled(net, l, z[l], times(B[l], e), at)
            elif top == "unclipped":
                dz = [beta_top * v for v in error]
            else:
                dz = [beta_top * v * (p * (1 - p) if top == "derivative" else 1) for v, p in zip(e, h[l], strict=True)]
            add_outer(net, l, dz, scaled(reading(net, l, h), tau_h), 1.0, m, dW, db)
    return dW, db


def dp_hybrid_by_records(net, x, y, B, *, m, tau, tau_e, tau_h, ell):
    """DP-DFA's terms above layer ell, and clipped gradients of each record by W and by b below; tau_h is a list."""
    dW, db = empty_direction(net)
    for i in range(len(x)):
        z, h = forward_any(net, x[i])
        e = scaled([a - float(b) for a, b in zip(h[net.L], y[i], strict=True)], tau_e)
        back = [[0.0] * math.prod(shape) for shape in net.shape_h]
        for l in range(net.L, 0, -1):
            if l == net.L:
                dz = e
            else:
                dz = pulled(net, l, z[l], times(B[l], e) if l > ell else back[l])
            if l <= ell + 1:
                spread(net, l, dz, back)
            if l > ell:
                add_outer(net, l, dz, scaled(reading(net, l, h), tau_h[l - ell - 1]), 1.0, m, dW, db)
                continue
            own = empty_direction(net)
            add_outer(net, l, dz, reading(net, l, h), 1.0, 1, *own)
            for into, g in ((dW[l], own[0][l]), (db[l], own[1][l])):
                into += np.reshape(scaled(g.ravel().tolist(), tau), g.shape) / m
    return dW, db


# --- torch ---------------------------------------------------------------------------------------------------


def torch_gradients(torch, net, x, y):
    """Each record's own gradient by autograd: a list of (dW, db)."""
    found = []
    for i in range(len(x)):
        W, b = torch_parameters(torch, net)
        z, _, _ = torch_forward(torch, net, W, b, x[i : i + 1])
        torch_loss(torch, net, z[net.L], torch.as_tensor(y[i : i + 1])).backward()
        found.append(([None] + [p.grad.numpy() for p in W[1:]], [None] + [p.grad.numpy() for p in b[1:]]))
    return found


def torch_hybrid(torch, net, x, y, B, *, ell, m, tau_e=math.inf):
    """The hybrid rule by autograd of a surrogate loss, with <h_l, stopgrad(B_l e)> for each layer above ell."""
    phi = {"tanh": torch.tanh, "sigmoid": torch.sigmoid, "relu": torch.relu, "gelu": torch.nn.functional.gelu}
    phi["identity"] = lambda t: t
    W, b = torch_parameters(torch, net)
    h, a, z = [torch.as_tensor(x)], [None], [None]
    for l in range(1, net.L + 1):
        below = h[l - 1] + h[net.skip[l]] if l in net.skip else h[l - 1]
        z.append(torch_affine(torch, net.map[l], W[l], b[l], below.detach() if l > ell + 1 else below))
        if l == net.L:
            break
        a.append(phi[net.phi[l].name](z[l]))
        pool = net.pool[l]
        name = "max_pool2d" if isinstance(pool, MaxPool) else "avg_pool2d"
        h.append(getattr(torch.nn.functional, name)(a[l], pool.k, pool.stride) if pool else a[l])
    loss = torch_loss(torch, net, z[net.L], torch.as_tensor(y)) * len(x)
    e = torch.autograd.grad(loss, z[net.L], retain_graph=True)[0]
    e = e * torch.clamp(tau_e / e.norm(dim=1, keepdim=True), max=1)
    surrogate = (z[net.L] * e).sum()
    for l in range(ell + 1, net.L):
        surrogate = surrogate + (h[l].flatten(1) * (e @ torch.as_tensor(B[l]).T)).sum()
    (surrogate / m).backward()
    return [None] + [p.grad.numpy() for p in W[1:]], [None] + [p.grad.numpy() for p in b[1:]]


# --- inputs --------------------------------------------------------------------------------------------------


def fix_b():
    """Fixture B: a convolution with 2 x 2 max pooling and two dense layers, with B[2] of spectral norm 0.9.

    The fixture uses no random numbers.
    """
    net = network.Net(
        (1, 6, 6),
        [(dense.Conv2d(2, 3), ops.tanh, MaxPool(2)), (dense.Dense(5), ops.sigmoid), (dense.Dense(3),)],
        rng=np.random.default_rng(0),
    )
    for o, p, q in np.ndindex(2, 3, 3):
        net.W[1][o, 0, p, q] = 0.5 * math.sin(1 + o + 2 * p + 3 * q)
    for i, j in np.ndindex(5, 8):
        net.W[2][i, j] = 0.6 * math.sin(2 + 2 * i + 3 * j)
    for i, j in np.ndindex(3, 5):
        net.W[3][i, j] = 0.8 * math.sin(3 + 2 * i + 3 * j)
    for l, n in ((1, 2), (2, 5), (3, 3)):
        net.b[l][:] = [0.1 * math.cos(i + (l if l > 1 else 0)) for i in range(n)]
    x = np.array([[[[math.cos(0.3 * r + 0.7 * p - 1.1 * q) for q in range(6)] for p in range(6)]] for r in range(3)])
    raw = np.array([[math.cos(3 + 2 * i + 5 * k) for k in range(3)] for i in range(5)])
    return net, x, np.eye(3), [None, None, 0.9 * raw / math.sqrt(top_eigenvalue(raw)), None]
