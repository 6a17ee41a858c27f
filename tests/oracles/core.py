"""Independent oracles of networks and rules: loops over single records and numbers, central differences, and torch.

The oracles do not call the code that they test. The functions at the end only build inputs (fixtures, networks,
batches).
"""

import math

import numpy as np

from nfa import network, ops
from nfa.network import dense, pooling

# Activations of one number and their derivatives. Their formulas differ in form from those of nfa.network.ops.
PHI = {
    "tanh": (math.tanh, lambda t: 1 / math.cosh(t) ** 2),
    "sigmoid": (lambda t: (1 + math.tanh(t / 2)) / 2, lambda t: 1 / (2 + 2 * math.cosh(t))),
    "relu": (lambda t: max(t, 0.0), lambda t: 1.0 if t > 0 else 0.0),
    "gelu": (
        lambda t: t * math.erfc(-t / math.sqrt(2)) / 2,
        lambda t: math.erfc(-t / math.sqrt(2)) / 2 + t * math.exp(-t * t / 2) / math.sqrt(2 * math.pi),
    ),
    "identity": (lambda t: t, lambda t: 1.0),
    "step": (lambda t: 1.0 if t > 0 else 0.0, lambda t: 0.0),
}


# --- one record at a time -------------------------------------------------------------------------------------


def times(M, v):
    """The matrix-vector product M v by loops."""
    return [sum(float(M[i][j]) * v[j] for j in range(len(v))) for i in range(len(M))]


def forward_record(net, x):
    """z and h of one record through a fully connected network (skips allowed), as lists of floats."""
    z, h = [None], [[float(value) for value in x]]
    for l in range(1, net.L + 1):
        below = h[l - 1]
        if l in net.skip:
            below = [a + b for a, b in zip(below, h[net.skip[l]], strict=True)]
        z.append([s + float(b) for s, b in zip(times(net.W[l], below), net.b[l], strict=True)])
        h.append(output_record(net, z[l]) if l == net.L else [PHI[net.phi[l].name][0](t) for t in z[l]])
    return z, h


def output_record(net, z):
    """y_hat of one record: the softmax, z itself for the squared error, or the sigmoid of every output."""
    if net.loss is ops.squared_error:
        return list(z)
    if net.loss is ops.logistic:
        return [1 / (1 + math.exp(-t)) for t in z]
    total = math.fsum(math.exp(t) for t in z)
    return [math.exp(t) / total for t in z]


def loss_by_records(net, x, y):
    """The mean loss, computed one record at a time."""
    total = 0.0
    for x_i, y_i in zip(x, y, strict=True):
        y_hat = forward_record(net, x_i)[1][net.L]
        if net.loss is ops.squared_error:
            total += sum((a - b) ** 2 for a, b in zip(y_hat, y_i, strict=True)) / 2
        elif net.loss is ops.logistic:
            total -= sum(b * math.log(a) + (1 - b) * math.log(1 - a) for a, b in zip(y_hat, y_i, strict=True))
        else:
            total -= sum(b * math.log(a) for a, b in zip(y_hat, y_i, strict=True))
    return total / len(x)


def rule_by_records(net, x, y, carry, m=None):
    """The direction of a rule by loops, if dz[L] = e and dz[l] = carry(l, dz, e, record) * phi'(z[l])."""
    m = len(x) if m is None else m
    dW = [None] + [np.zeros(W.shape) for W in net.W[1:]]
    db = [None] + [np.zeros(b.shape) for b in net.b[1:]]
    for record, (x_i, y_i) in enumerate(zip(x, y, strict=True)):
        z, h = forward_record(net, x_i)
        e = [a - b for a, b in zip(h[net.L], y_i, strict=True)]
        dz = {net.L: e}
        for l in range(net.L, 0, -1):
            if l < net.L:
                dphi = PHI[net.phi[l].name][1]
                dz[l] = [v * dphi(t) for v, t in zip(carry(l, dz, e, record), z[l], strict=True)]
            below = h[l - 1]
            if l in net.skip:
                below = [a + b for a, b in zip(below, h[net.skip[l]], strict=True)]
            for i, d in enumerate(dz[l]):
                db[l][i] += d / m
                for j, a in enumerate(below):
                    dW[l][i, j] += d * a / m
    return dW, db


def bp_by_records(net, x, y):
    """Backpropagation by loops (fully connected, no skip)."""
    return rule_by_records(net, x, y, lambda l, dz, e, record: times(net.W[l + 1].T, dz[l + 1]))


def dfa_by_records(net, x, y, B, g=None, m=None):
    """DFA by loops (fully connected), with the given noise g[l][record], if any, on each projection."""

    def carry(l, dz, e, record):
        p = times(B[l], e)
        return p if g is None else [a + float(b) for a, b in zip(p, g[l][record], strict=True)]

    return rule_by_records(net, x, y, carry, m)


def convolve(W, b, h, stride, pad):
    """A convolution by its definition: for every output pixel, the sum over the kernel's channels, rows and columns."""
    above, below, left, right = pad
    m, c_in, H, width = h.shape
    c_out, _, k0, k1 = W.shape
    rows = (H + above + below - k0) // stride[0] + 1
    columns = (width + left + right - k1) // stride[1] + 1
    z = np.empty((m, c_out, rows, columns))
    for n, o, p, q in np.ndindex(z.shape):
        total = float(b[o])
        for c, i, j in np.ndindex(c_in, k0, k1):
            r, s = p * stride[0] + i - above, q * stride[1] + j - left
            if 0 <= r < H and 0 <= s < width:
                total += float(W[o, c, i, j]) * float(h[n, c, r, s])
        z[n, o, p, q] = total
    return z


# --- differences ---------------------------------------------------------------------------------------------


def central_difference(f, step=1e-5):
    """f'(0) from f(step) and f(-step).

    In float64, if the values of f are about 1, the error is about step^2 + 1e-16 / step = 1e-10.
    """
    return (f(step) - f(-step)) / (2 * step)


def moved(net, VW, Vb, s):
    """A copy of net with the parameters W + s VW and b + s Vb."""
    twin = net.copy()
    for l in range(1, net.L + 1):
        twin.W[l] += s * VW[l]
        twin.b[l] += s * Vb[l]
    return twin


def random_direction(net, seed):
    """A random direction in parameter space, as lists with the shapes of net.W and net.b."""
    rng = np.random.default_rng(seed)
    return [None] + [rng.normal(size=W.shape) for W in net.W[1:]], [None] + [
        rng.normal(size=b.shape) for b in net.b[1:]
    ]


def inner(U, V):
    """The inner product of two lists of arrays; entry 0 of each list is unused."""
    return sum(float(np.vdot(u, v)) for u, v in zip(U[1:], V[1:], strict=True))


# --- torch ---------------------------------------------------------------------------------------------------


def torch_affine(torch, map_, W, b, h):
    """z of one layer in torch, computed from its input."""
    F = torch.nn.functional
    if isinstance(map_, dense.Dense):
        return F.linear(h.flatten(1), W, b)
    above, under, left, right = map_.pad
    return F.conv2d(F.pad(h, (left, right, above, under)), W, b, stride=map_.stride)


def torch_forward(torch, net, W, b, x, cut=False):
    """z, phi(z) before pooling, and h, in torch.

    With ``cut``, autograd stops between each layer and the layer below.
    """
    F = torch.nn.functional
    phi = {
        "tanh": torch.tanh,
        "sigmoid": torch.sigmoid,
        "relu": torch.relu,
        "gelu": F.gelu,
        "identity": lambda t: t,
    }
    z, a, h = [None], [None], [torch.as_tensor(x)]
    for l in range(1, net.L + 1):
        below = h[l - 1] + h[net.skip[l]] if l in net.skip else h[l - 1]
        below = below.detach() if cut else below
        z.append(torch_affine(torch, net.map[l], W[l], b[l], below))
        if l == net.L:
            break
        a.append(phi[net.phi[l].name](z[l]))
        pool = net.pool[l]
        if pool is None:
            h.append(a[l])
        else:
            pool_there = F.max_pool2d if isinstance(pool, pooling.MaxPool) else F.avg_pool2d
            h.append(pool_there(a[l], pool.k, pool.stride))
    return z, a, h


def torch_loss(torch, net, z_L, y):
    """The mean loss in torch, from z[L]."""
    if net.loss is ops.squared_error:
        return ((z_L - y) ** 2).sum(1).mean() / 2
    return torch.nn.functional.cross_entropy(z_L, y)


def torch_parameters(torch, net):
    """W and b as leaf tensors of torch."""
    leaf = lambda p: torch.tensor(p, requires_grad=True)  # noqa: E731
    return [None, *map(leaf, net.W[1:])], [None, *map(leaf, net.b[1:])]


def torch_bp(torch, net, x, y):
    """The gradient of the mean loss by torch's autograd."""
    W, b = torch_parameters(torch, net)
    z, _, _ = torch_forward(torch, net, W, b, x)
    torch_loss(torch, net, z[net.L], torch.as_tensor(y)).backward()
    return [None] + [p.grad.numpy() for p in W[1:]], [None] + [p.grad.numpy() for p in b[1:]]


def torch_dfa(torch, net, x, y, B, at="h"):
    """DFA by autograd of the mean of <h_l, stopgrad(B_l e)> in hidden layers, and of <z_L, stopgrad(e)> at the top."""
    W, b = torch_parameters(torch, net)
    z, a, h = torch_forward(torch, net, W, b, x, cut=True)
    e = torch.autograd.grad(torch_loss(torch, net, z[net.L], torch.as_tensor(y)), z[net.L], retain_graph=True)[0]
    surrogate = (z[net.L] * e).sum()
    for l in range(1, net.L):
        end = h[l] if at == "h" else a[l]
        surrogate = surrogate + (end.flatten(1) * (e @ torch.as_tensor(B[l]).T)).sum()
    surrogate.backward()
    return [None] + [p.grad.numpy() for p in W[1:]], [None] + [p.grad.numpy() for p in b[1:]]


# --- comparing -----------------------------------------------------------------------------------------------


def assert_close(got, want, rtol=1e-12):
    """Assert that the arrays agree up to rtol times the largest entry of the wanted array.

    Entries near 0 are sums with cancellation, so the tolerance is the same for all entries.
    """
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=0, atol=rtol * max(float(np.abs(want).max(initial=0)), 1e-300))


def assert_same_direction(got, want, rtol=1e-12):
    """Assert that two pairs (dW, db) agree in every layer."""
    for got_part, want_part in zip(got, want, strict=True):
        assert got_part[0] is None
        assert want_part[0] is None
        for a, b in zip(got_part[1:], want_part[1:], strict=True):
            assert_close(a, b, rtol)


# --- inputs --------------------------------------------------------------------------------------------------


def batch(net, m, seed=0):
    """m random records x for a network, with one-hot targets y."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(m, *net.shape_h[0])), np.eye(net.shape_z[net.L][0])[
        rng.integers(0, net.shape_z[net.L][0], m)
    ]


def fix_a():
    """Fixture A: a 4-5-4-3 network without random numbers, its batch x, y, and its feedback of spectral norm 0.9."""
    net = network.Net(
        (4,),
        [(dense.Dense(5), ops.tanh), (dense.Dense(4), ops.sigmoid), (dense.Dense(3),)],
        rng=np.random.default_rng(0),
    )
    for l in (1, 2, 3):
        for i in range(len(net.b[l])):
            net.b[l][i] = 0.1 * math.cos(l + i)
            for j in range(net.W[l].shape[1]):
                net.W[l][i, j] = 0.8 * math.sin(l + 2 * i + 3 * j)
    x = np.array([[math.cos(0.5 * r + j) for j in range(4)] for r in range(4)])
    y = np.eye(3)[[0, 1, 2, 0]]
    return net, x, y, [None, *(0.9 * B / math.sqrt(top_eigenvalue(B)) for B in fix_a_raw_feedback()), None]


def fix_a_raw_feedback():
    """Fixture A's feedback before scaling: the paper's B^2 into layer 1 and B^3 into layer 2."""
    return [
        np.array([[math.cos(l + 1 + 2 * i + 5 * k) for k in range(3)] for i in range(n)]) for l, n in ((1, 5), (2, 4))
    ]


def top_eigenvalue(B):
    """The largest eigenvalue of B^T B, the square of B's spectral norm, by power iteration."""
    v = np.ones(B.shape[1])
    for _ in range(2000):
        w = B.T @ (B @ v)
        v = w / math.sqrt(sum(w * w))
    return float(sum((B @ v) ** 2))


def v11():
    """Vector V-11 of ohana2021: a 4-3-3-2 network without biases, its batch, and its feedback."""

    def S(shape, p, s):
        return np.array([[s * math.sin(p + 2 * i + 3 * j) for j in range(shape[1])] for i in range(shape[0])])

    net = network.mlp([4, 3, 3, 2], ops.tanh, rng=np.random.default_rng(0))
    for l in (1, 2, 3):
        net.W[l][:], net.b[l][:] = S(net.W[l].shape, l, 0.5), 0
    x = (1 + S((3, 4), 6, 1)) / 2
    return net, x, np.eye(2)[[0, 1, 1]], [None, S((3, 2), 4, 1), S((3, 2), 5, 1), None]


def pooled_cnn(pool, *, seed=0, **settings):
    """A network with two convolutions on a 9 x 9 image and two dense layers.

    The first convolution has overlapping pooling windows, which leave out the last column.
    """
    return network.Net(
        (2, 9, 9),
        [
            (dense.Conv2d(3, (3, 2), padding=1), ops.tanh, pool(3, 2)),
            (dense.Conv2d(4, 2, padding="same"), ops.sigmoid, pool(2)),
            (dense.Dense(6), ops.gelu),
            (dense.Dense(3),),
        ],
        rng=np.random.default_rng(seed),
        **settings,
    )


def residual_cnn(padding, *, seed=0, **settings):
    """Three convolutions on a 7 x 9 image and a dense layer; h[1] skips to the third convolution.

    The first and the last convolution have stride 2.
    """
    middle = 3 if padding == "same" else 1  # so that the third convolution's input has the shape of h[1]
    return network.Net(
        (2, 7, 9),
        [
            (dense.Conv2d(4, 3, stride=2, padding=padding), ops.tanh),
            (dense.Conv2d(4, middle, padding=padding), ops.sigmoid),
            (dense.Conv2d(3, (3, 2), stride=2, padding=padding), ops.relu),
            (dense.Dense(3),),
        ],
        skip={3: 1},
        rng=np.random.default_rng(seed),
        **settings,
    )
