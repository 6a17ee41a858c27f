"""What no step can do without, alone: its matrix products, its normals, one pass over its parameters."""

from collections.abc import Callable

import numpy as np

from nfa.network.dense import Conv2d

from .ours import STREAMS, Problem


def products(problem: Problem, *, backward: bool) -> Callable:
    """The matrix products of one step on arrays already in place: forward, weights' directions, and what comes back.

    ``backward``: also W^T dz for every layer but the first (BP, DP-SGD); without, B e instead (DFA). A convolution
    counts as products on patches that already lie in columns, one for each example.
    """
    net, m, rng, work = problem.net, problem.batch, STREAMS("data", 1), []
    n_L = net.shape_z[net.L][0]

    def array(*shape):
        return rng.uniform(-1, 1, shape).astype(net.W[1].dtype)

    for l in range(1, net.L + 1):
        W = net.W[l].reshape(len(net.W[l]), -1)
        if isinstance(net.map[l], Conv2d):
            positions = net.shape_z[l][1] * net.shape_z[l][2]
            U, dz = array(1, W.shape[1], positions), array(1, len(W), positions)
            z, dW, back = np.empty((m, *dz.shape[1:]), W.dtype), np.empty((m, *W.shape), W.dtype), np.empty_like(U)
            work += [(W, U[0], out) for out in z]
            work += [(dz[0], U[0].T, out) for out in dW]
            work += [(W.T, dz[0], back[0])] * (m if l > 1 and backward else 0)
        else:
            h, dz = array(m, W.shape[1]), array(m, len(W))
            work += [(h, W.T, np.empty_like(dz)), (dz.T, h, np.empty_like(W))]
            if backward and l > 1:
                work.append((dz, W, np.empty_like(h)))
            elif not backward and l < net.L:
                work.append((array(m, n_L), problem.B[l].T, np.empty((m, len(problem.B[l])), W.dtype)))

    def multiply():
        for a, b, out in work:
            np.matmul(a, b, out=out)

    return multiply


def normals(problem: Problem) -> Callable:
    """As many normals as there are parameters, from one NumPy generator, into an array already in place."""
    out = np.empty(problem.net.n_parameters, problem.net.W[1].dtype)
    rng = STREAMS("noise")
    return lambda: rng.standard_normal(out=out, dtype=out.dtype)


def copy(problem: Problem) -> Callable:
    """One copy of as many numbers as there are parameters."""
    source = np.ones(problem.net.n_parameters, problem.net.W[1].dtype)
    out = np.empty_like(source)
    return lambda: np.copyto(out, source)
