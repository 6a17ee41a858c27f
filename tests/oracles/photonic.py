"""Oracles of the photonic rules: Algorithm 1 of Ohana et al. for one record and one number at a time, and autograd.

We represent the affine maps of a network by wires. A wire (p, w, q) means that z[p] contains the product W[w] h[q],
with all arrays flattened. So the forward pass, the adjoint and the outer product are loops over one list of wires.
"""

import math
from functools import cache

import numpy as np

from nfa.network.dense import Dense
from nfa.network.pooling import MaxPool
from tests.oracles.core import PHI, output_record, times, torch_affine, torch_forward, torch_loss, torch_parameters

# --- one layer and one record as lists of numbers ------------------------------------------------------------


@cache
def wires(map_):
    """The wires (p, w, q) of a map, and the index of the bias for every p."""
    if isinstance(map_, Dense):
        n_in = math.prod(map_.in_shape)
        return [(p, p * n_in + q, q) for p in range(map_.n_out) for q in range(n_in)], list(range(map_.n_out))
    (c_in, H, width), (c_out, rows, columns), (k0, k1) = map_.in_shape, map_.out_shape, map_.k
    above, _, left, _ = map_.pad
    found = []
    for o, p0, p1, c, i, j in np.ndindex(c_out, rows, columns, c_in, k0, k1):
        r, s = p0 * map_.stride[0] + i - above, p1 * map_.stride[1] + j - left
        if 0 <= r < H and 0 <= s < width:
            found.append(((o * rows + p0) * columns + p1, ((o * c_in + c) * k0 + i) * k1 + j, (c * H + r) * width + s))
    return found, [o for o in range(c_out) for _ in range(rows * columns)]


@cache
def windows(pool, shape):
    """For every entry after the pooling, the entries in its window before the pooling, in row order."""
    _, H, width = shape
    c_out, rows, columns = pool.out_shape(shape)
    return [
        [
            (c * H + r * pool.stride[0] + i) * width + s * pool.stride[1] + j
            for i in range(pool.k[0])
            for j in range(pool.k[1])
        ]
        for c in range(c_out)
        for r in range(rows)
        for s in range(columns)
    ]


def affine(net, l, h_in):
    products, bias = wires(net.map[l])
    W, z = net.W[l].ravel().tolist(), [float(net.b[l][o]) for o in bias]
    for p, w, q in products:
        z[p] += W[w] * h_in[q]
    return z


def transposed(net, l, dz):
    W, back = net.W[l].ravel().tolist(), [0.0] * math.prod(net.shape_h[l - 1])
    for p, w, q in wires(net.map[l])[0]:
        back[q] += W[w] * dz[p]
    return back


def add_outer(net, l, dz, h_in, one, m, dW, db):
    """Add dz h^T / m to dW and dz one / m to db."""
    products, bias = wires(net.map[l])
    into_W, into_b = dW[l].reshape(-1), db[l]
    for p, w, q in products:
        into_W[w] += dz[p] * h_in[q] / m
    for p, o in enumerate(bias):
        into_b[o] += dz[p] * one / m


def forward_any(net, x):
    """z and h of one record, as flat lists."""
    z, h = [None], [np.ravel(x).tolist()]
    for l in range(1, net.L + 1):
        z.append(affine(net, l, reading(net, l, h)))
        if l == net.L:
            h.append(output_record(net, z[l]))
            continue
        a = [PHI[net.phi[l].name][0](t) for t in z[l]]
        if net.pool[l]:
            pick = max if isinstance(net.pool[l], MaxPool) else lambda v: sum(v) / len(v)
            a = [pick([a[q] for q in window]) for window in windows(net.pool[l], net.shape_z[l])]
        h.append(a)
    return z, h


def reading(net, l, h):
    """The input of layer l: h[l-1] and, with a skip, also h[j]."""
    return [a + b for a, b in zip(h[l - 1], h[net.skip[l]], strict=True)] if l in net.skip else h[l - 1]


def pulled(net, l, z_l, v, at="h"):
    """The gradient by z[l], if the gradient by h[l] (or z[l]) is v."""
    phi, dphi = PHI[net.phi[l].name]
    if net.pool[l] and at == "h":
        below = [0.0] * len(z_l)
        for value, window in zip(v, windows(net.pool[l], net.shape_z[l]), strict=True):
            a = [phi(z_l[q]) for q in window]
            if isinstance(net.pool[l], MaxPool):
                below[window[a.index(max(a))]] += value
            else:
                for q in window:
                    below[q] += value / len(window)
        v = below
    return [value * dphi(t) for value, t in zip(v, z_l, strict=True)]


# --- the paper's operations on a vector ----------------------------------------------------------------------


def scaled(v, s):
    """scale_s(v) = min(s, ||v||) v / ||v||, and 0 for v = 0."""
    norm = math.sqrt(math.fsum(t * t for t in v))
    return [min(s, norm) * t / norm for t in v] if norm else [0.0 for _ in v]


def ternary(e, t):
    return [1.0 if v > t else -1.0 if v < -t else 0.0 for v in e]


def entry(v, *, n, tau_h_max, tau_h_min, floor):
    """clip_c(offset_nu(v)) of one entry of a vector with n entries."""
    c, nu = tau_h_max / math.sqrt(n), tau_h_min / math.sqrt(n)
    v = v - nu if floor == "signed" and v < 0 else v + nu
    return math.copysign(min(c, abs(v)), v)


def empty_direction(net):
    return [None] + [np.zeros(W.shape) for W in net.W[1:]], [None] + [np.zeros(b.shape) for b in net.b[1:]]


# --- the rules, one record at a time --------------------------------------------------------------------------


def pdfa_by_records(net, x, y, B, g, *, m, tau_B, tau_h_max, tau_h_min, t, clip_x, floor, top, bias):
    """Lines 6 to 16 of Algorithm 1 with the given noise g[l][record]. We divide the sum over records by m."""
    dW, db = empty_direction(net)
    bounds = {"tau_h_max": tau_h_max, "tau_h_min": tau_h_min, "floor": floor}
    for i in range(len(x)):
        z, h = forward_any(net, x[i])
        e = [a - float(b) for a, b in zip(h[net.L], y[i], strict=True)]
        for l in range(net.L, 0, -1):
            if l < net.L:
                p = scaled(times(B[l], e if t is None else ternary(e, t)), tau_B)
                dz = pulled(net, l, z[l], [a + float(b) for a, b in zip(p, g[l][i], strict=True)])
            else:
                dz = e if top == "raw" else scaled(e, tau_B)
                dz = [a + float(b) for a, b in zip(dz, g[l][i], strict=True)] if top == "noisy" else dz
            h_in, one = reading(net, l, h), 1.0
            if l > 1 or clip_x:
                n = len(h_in)
                h_in = [entry(v, n=n, **bounds) for v in h_in]
                one = entry(1.0, n=n, **bounds) if bias == "clipped" else 1.0
            add_outer(net, l, dz, h_in, one, m, dW, db)
    return dW, db


def noisy_bp_by_records(net, x, y, g, *, m, tau_e, tau_h_max, tau_h_min, clip_x, floor, noise_first=False, below=None):
    """Backpropagation of scale(e) + g, or of scale(e + g), with given g[record] and clipped inputs.

    If below[l][record] is given, it is added to the error that returns to hidden layer l.
    """
    dW, db = empty_direction(net)
    for i in range(len(x)):
        z, h = forward_any(net, x[i])
        e = [a - float(b) for a, b in zip(h[net.L], y[i], strict=True)]
        back = [[0.0] * math.prod(shape) for shape in net.shape_h]
        for l in range(net.L, 0, -1):
            if l == net.L and noise_first:
                dz = scaled([a + float(b) for a, b in zip(e, g[i], strict=True)], tau_e)
            elif l == net.L:
                dz = [a + float(b) for a, b in zip(scaled(e, tau_e), g[i], strict=True)]
            else:
                back[l] = [a + float(b) for a, b in zip(back[l], below[l][i], strict=True)] if below else back[l]
                dz = pulled(net, l, z[l], back[l])
            for j in [l - 1, *([net.skip[l]] if l in net.skip else [])]:
                back[j] = [a + b for a, b in zip(back[j], transposed(net, l, dz), strict=True)]
            h_in = reading(net, l, h)
            if l > 1 or clip_x:
                h_in = [entry(v, n=len(h_in), tau_h_max=tau_h_max, tau_h_min=tau_h_min, floor=floor) for v in h_in]
            add_outer(net, l, dz, h_in, 1.0, m, dW, db)
    return dW, db


def drtp_by_records(net, x, y, B, *, m, at):
    """DRTP: hidden layers learn from -B y, and the top layer from e."""
    return _projected_by_records(net, x, y, B, lambda e, y_i: [-float(v) for v in y_i], m, at)


def tdfa_by_records(net, x, y, B, *, m, at, t):
    """TDFA: hidden layers learn from B t(e), and the top layer from e."""
    return _projected_by_records(net, x, y, B, lambda e, y_i: ternary(e, t), m, at)


def _projected_by_records(net, x, y, B, signal, m, at):
    dW, db = empty_direction(net)
    for i in range(len(x)):
        z, h = forward_any(net, x[i])
        e = [a - float(b) for a, b in zip(h[net.L], y[i], strict=True)]
        for l in range(net.L, 0, -1):
            dz = e if l == net.L else pulled(net, l, z[l], times(B[l], signal(e, y[i])), at)
            add_outer(net, l, dz, reading(net, l, h), 1.0, m, dW, db)
    return dW, db


# --- torch ---------------------------------------------------------------------------------------------------


def _torch_scale(torch, v, s):
    return v * torch.clamp(s / v.norm(dim=1, keepdim=True), max=1)


def _torch_clip(torch, h, *, tau_h_max, tau_h_min, floor):
    root = math.sqrt(h[0].numel())
    away = 1 - 2 * (h < 0).to(h.dtype) if floor == "signed" else 1.0
    return torch.clamp(h + away * (tau_h_min / root), -tau_h_max / root, tau_h_max / root)


def _torch_input(torch, net, l, h, clip_x, bounds):
    h_in = (h[l - 1] + h[net.skip[l]] if l in net.skip else h[l - 1]).detach()
    return _torch_clip(torch, h_in, **bounds) if l > 1 or clip_x else h_in


def _torch_parameters_from(torch, net, W, b, dz, inputs, ones, m):
    """Gradients by W and b of sum_l <z_l(inputs), stopgrad(dz_l)> / m, which is linear in W and b."""
    surrogate = sum(
        (torch_affine(torch, net.map[l], W[l], b[l] * ones[l], inputs[l]) * dz[l].detach()).sum()
        for l in range(1, net.L + 1)
    )
    (surrogate / m).backward()
    return [None] + [p.grad.numpy() for p in W[1:]], [None] + [p.grad.numpy() for p in b[1:]]


def torch_pdfa(torch, net, x, y, B, g, *, m, tau_B, tau_h_max, tau_h_min, t, clip_x, floor, top, bias):
    """PDFA by autograd: dz from <h_l, stopgrad(u_l)>, then the directions from a second surrogate loss."""
    bounds = {"tau_h_max": tau_h_max, "tau_h_min": tau_h_min, "floor": floor}
    W, b = torch_parameters(torch, net)
    z, _, h = torch_forward(torch, net, W, b, x, cut=True)
    loss = torch_loss(torch, net, z[net.L], torch.as_tensor(y)) * len(x)
    e = torch.autograd.grad(loss, z[net.L], retain_graph=True)[0]
    t_e = e if t is None else torch.sign(e) * (e.abs() > t)
    dz, inputs, ones = {}, {}, {}
    for l in range(1, net.L + 1):
        if l < net.L:
            u = _torch_scale(torch, t_e @ torch.as_tensor(B[l]).T, tau_B) + torch.as_tensor(g[l])
            dz[l] = torch.autograd.grad((h[l].flatten(1) * u).sum(), z[l], retain_graph=True)[0]
        else:
            dz[l] = e if top == "raw" else _torch_scale(torch, e, tau_B)
            dz[l] = dz[l] + torch.as_tensor(g[l]) if top == "noisy" else dz[l]
        inputs[l] = _torch_input(torch, net, l, h, clip_x, bounds)
        clipped = bias == "clipped" and (l > 1 or clip_x)
        ones[l] = _torch_clip(torch, torch.ones_like(inputs[l]), **bounds).flatten()[0] if clipped else 1.0
    return _torch_parameters_from(torch, net, W, b, dz, inputs, ones, m)


def torch_noisy_bp(torch, net, x, y, g, *, m, tau_e, tau_h_max, tau_h_min, clip_x, floor):
    """Noisy BP by autograd: one backward pass from <z_L, stopgrad(scale(e) + g)> gives dz of every layer."""
    bounds = {"tau_h_max": tau_h_max, "tau_h_min": tau_h_min, "floor": floor}
    W, b = torch_parameters(torch, net)
    z, _, h = torch_forward(torch, net, W, b, x)
    loss = torch_loss(torch, net, z[net.L], torch.as_tensor(y)) * len(x)
    e = torch.autograd.grad(loss, z[net.L], retain_graph=True)[0]
    u = _torch_scale(torch, e, tau_e) + torch.as_tensor(g)
    dz = dict(enumerate(torch.autograd.grad((z[net.L] * u).sum(), z[1:], retain_graph=True), start=1))
    inputs = {l: _torch_input(torch, net, l, h, clip_x, bounds) for l in range(1, net.L + 1)}
    return _torch_parameters_from(torch, net, W, b, dz, inputs, dict.fromkeys(dz, 1.0), m)


def torch_drtp(torch, net, x, y, B, *, m, at):
    """DRTP by autograd of the mean of <output of layer l, -B_l y>, and of <z_L, stopgrad(e)> at the top."""
    W, b = torch_parameters(torch, net)
    y = torch.as_tensor(y)
    z, a, h = torch_forward(torch, net, W, b, x, cut=True)
    surrogate = torch_loss(torch, net, z[net.L], y) * len(x)
    for l in range(1, net.L):
        end = h[l] if at == "h" else a[l]
        surrogate = surrogate - (end.flatten(1) * (y @ torch.as_tensor(B[l]).T)).sum()
    (surrogate / m).backward()
    return [None] + [p.grad.numpy() for p in W[1:]], [None] + [p.grad.numpy() for p in b[1:]]
