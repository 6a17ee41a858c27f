"""Oracles of the joint clip: every example's whole direction by loops or by autograd, with its norm clipped.

The oracles do not call the code that they test.
"""

import math

import numpy as np

from tests.oracles.core import times, torch_forward, torch_loss, torch_parameters
from tests.oracles.photonic import add_outer, empty_direction, forward_any, pulled, reading
from tests.oracles.private_rules import clip_weight, entries, norm, spread, torch_hybrid


def shown(e, y, carries, t):
    """The signal of an example that the feedback projects: the error, a ternary error, or minus the label."""
    if carries == "label":
        return [-float(v) for v in y]
    if carries == "error":
        return e
    size, largest = norm(e), max(map(abs, e))
    return [math.copysign(size, v) if v and abs(v) >= t * largest else 0.0 for v in e]


def direction_of_record(net, x, y, B, *, carries="error", t=0.5, at="h", ell=0):
    """One record's direction by DFA above layer ell and backpropagation below, by loops."""
    dW, db = empty_direction(net)
    z, h = forward_any(net, x)
    e = [a - float(b) for a, b in zip(h[net.L], y, strict=True)]
    taught = shown(e, y, carries, t)
    back = [[0.0] * math.prod(shape) for shape in net.shape_h]
    for l in range(net.L, 0, -1):
        if l == net.L:
            dz = e
        else:
            dz = pulled(net, l, z[l], times(B[l], taught), at) if l > ell else pulled(net, l, z[l], back[l])
        if l <= ell + 1:
            spread(net, l, dz, back)
        add_outer(net, l, dz, reading(net, l, h), 1.0, 1, dW, db)
    return dW, db


def clipped_sum(directions, C, m):
    """The sum over records of their directions, each clipped as a whole to norm C, divided by m."""
    directions = list(directions)
    weights = [clip_weight(norm(entries(one)), C) for one in directions]
    return tuple(
        [None, *(sum(w * a / m for w, a in zip(weights, arrays, strict=True)) for arrays in zip(*parts, strict=True))]
        for parts in ([one[of][1:] for one in directions] for of in (0, 1))
    )


def joint_by_records(net, x, y, B, *, C, m, **how):
    """The joint-clip rule without noise, one record at a time."""
    return clipped_sum((direction_of_record(net, x[i], y[i], B, **how) for i in range(len(x))), C, m)


def torch_direction(torch, net, x, y, B, *, carries, t, at):
    """The direction of one record (one row of x and y) by autograd of <h_l or z_l, stopgrad(B_l c)> and of z_L e."""
    W, b = torch_parameters(torch, net)
    y = torch.as_tensor(y)
    z, a, h = torch_forward(torch, net, W, b, x, cut=True)
    e = torch.autograd.grad(torch_loss(torch, net, z[net.L], y), z[net.L], retain_graph=True)[0]
    c = {
        "error": e,
        "ternary": torch.linalg.norm(e) * torch.sign(torch.where(e.abs() < t * e.abs().amax(), 0.0, e)),
        "label": -y,
    }[carries]
    surrogate = (z[net.L] * e).sum()
    for l in range(1, net.L):
        end = h[l] if at == "h" else a[l]
        surrogate = surrogate + (end.flatten(1) * (c @ torch.as_tensor(B[l]).T)).sum()
    surrogate.backward()
    return [None] + [p.grad.numpy() for p in W[1:]], [None] + [p.grad.numpy() for p in b[1:]]


def torch_joint(torch, net, x, y, B, *, C, m, **how):
    """The joint-clip rule without noise, by autograd."""
    return clipped_sum((torch_direction(torch, net, x[i : i + 1], y[i : i + 1], B, **how) for i in range(len(x))), C, m)


def torch_joint_hybrid(torch, net, x, y, B, *, C, m, ell):
    """The hybrid rule without noise: autograd of each record's surrogate loss, with all layers clipped together."""
    alone = (torch_hybrid(torch, net, x[i : i + 1], y[i : i + 1], B, ell=ell, m=1) for i in range(len(x)))
    return clipped_sum(alone, C, m)


def median_norm(directions):
    """A clip bound that about half of the records' norms exceed."""
    return float(np.median([norm(entries(one)) for one in directions]))
