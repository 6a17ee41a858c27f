"""The same steps in other libraries: PyTorch without privacy, Opacus, JAX. Each is built from a `Problem`.

A peer has ``step()``, one whole training step, and ``direction()``, what it would subtract at the start, without noise,
as arrays in the order W[1], b[1], W[2], ...
"""

import importlib.util
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from nfa.network.dense import Conv2d

from .ours import LR, MOMENTUM, SIGMA, C, Problem


class Peer(NamedTuple):
    """A peer's two functions."""

    step: Callable
    direction: Callable


def installed(*names: str) -> bool:
    """Whether libraries of these names can be imported; none is."""
    return all(importlib.util.find_spec(name) for name in names)


def _torch_net(problem: Problem):
    import torch
    from torch import nn

    net, modules = problem.net, []
    for l in range(1, net.L + 1):
        c = net.map[l]
        if isinstance(c, Conv2d):
            module: Any = nn.Conv2d(c.in_shape[0], c.c_out, c.k, padding=c.padding)
        else:
            if len(net.shape_h[l - 1]) == 3:
                modules.append(nn.Flatten())
            module = nn.Linear(c.shape_W[1], c.n_out)
        with torch.no_grad():
            module.weight.copy_(torch.from_numpy(net.W[l]))
            module.bias.copy_(torch.from_numpy(net.b[l]))
        modules += [module.to(module.weight.dtype)]
        if l < net.L:
            modules += [nn.Tanh(), *([nn.MaxPool2d(net.pool[l].k)] if net.pool[l] else [])]
    return nn.Sequential(*modules), torch.from_numpy(problem.x), torch.from_numpy(problem.labels)


def torch_bp(problem: Problem) -> Peer:
    """PyTorch's BP step without clipping and noise: SGD with momentum on the mean loss."""
    import torch

    model, x, labels = _torch_net(problem)
    optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=MOMENTUM)
    loss = torch.nn.CrossEntropyLoss()

    def gradient():
        optimizer.zero_grad()
        loss(model(x), labels).backward()

    def step():
        gradient()
        optimizer.step()

    def direction():
        gradient()
        return [p.grad.numpy().copy() for p in model.parameters()]

    return Peer(step, direction)


def _opacus(problem: Problem, ghost: bool) -> Peer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Opacus about its own imports
        import torch
        from opacus.grad_sample import GradSampleModule, GradSampleModuleFastGradientClipping
        from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
        from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping

    model, x, labels = _torch_net(problem)
    loss: Any = torch.nn.CrossEntropyLoss()
    wrap = (
        GradSampleModuleFastGradientClipping(model, max_grad_norm=C, use_ghost_clipping=True)
        if ghost
        else GradSampleModule(model)
    )
    optimizer = (DPOptimizerFastGradientClipping if ghost else DPOptimizer)(
        torch.optim.SGD(wrap.parameters(), lr=LR, momentum=MOMENTUM),
        noise_multiplier=SIGMA * problem.batch / C,
        max_grad_norm=C,
        expected_batch_size=problem.batch,
    )
    if ghost:
        loss = DPLossFastGradientClipping(wrap, optimizer, loss)

    def gradient():
        with warnings.catch_warnings():  # Opacus still hooks modules the way that PyTorch calls old
            warnings.simplefilter("ignore")
            optimizer.zero_grad()
            loss(wrap(x), labels).backward()

    def step():
        gradient()
        optimizer.step()

    def direction():
        noise, optimizer.noise_multiplier = optimizer.noise_multiplier, 0.0
        gradient()
        optimizer.pre_step()
        optimizer.noise_multiplier = noise
        return [p.grad.numpy().copy() for p in model.parameters()]

    return Peer(step, direction)


def opacus_ghost(problem: Problem) -> Peer:
    """Opacus' DP-SGD step by ghost clipping: norms in a first backward pass, clipped gradients in a second."""
    return _opacus(problem, ghost=True)


def opacus_per_sample(problem: Problem) -> Peer:
    """Opacus' DP-SGD step by hooks that form every example's gradient."""
    return _opacus(problem, ghost=False)


def _jax(problem: Problem, private: bool) -> Peer:
    import jax
    import jax.numpy as jnp

    net = problem.net

    def logits(p, x):
        h = x
        for l in range(1, net.L + 1):
            W, b = p[l - 1]
            c = net.map[l]
            if isinstance(c, Conv2d):
                dims = ("NCHW", "OIHW", "NCHW")
                h = jax.lax.conv_general_dilated(h, W, c.stride, str(c.padding).upper(), dimension_numbers=dims)
                h = jnp.tanh(h + b[:, None, None])
                window = (1, 1, *net.pool[l].k)
                h = jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, window, window, "VALID")
            else:
                h = h.reshape(len(h), -1) @ W.T + b
                h = jnp.tanh(h) if l < net.L else h
        return h

    def loss(p, x, y):
        return -(jax.nn.log_softmax(logits(p, x)) * y).sum(axis=1).mean()

    def clipped(p, x, y):
        g = jax.grad(loss)(p, x[None], y[None])
        norm = jnp.sqrt(sum((v**2).sum() for v in jax.tree.leaves(g)))
        return jax.tree.map(lambda v: v * jnp.minimum(1, C / norm), g)

    def gradient(p, x, y, key, sigma):
        if not private:
            return jax.grad(loss)(p, x, y)
        g = jax.tree.map(lambda v: v.mean(axis=0), jax.vmap(clipped, (None, 0, 0))(p, x, y))
        leaves, tree = jax.tree.flatten(g)
        keys = jax.random.split(key, len(leaves))
        noisy = [v + sigma * jax.random.normal(k, v.shape, v.dtype) for v, k in zip(leaves, keys, strict=True)]
        return jax.tree.unflatten(tree, noisy)

    @jax.jit
    def update(p, memory, x, y, key):
        g = gradient(p, x, y, key, SIGMA)
        memory = jax.tree.map(lambda v, d: MOMENTUM * v + d, memory, g)
        return jax.tree.map(lambda w, v: w - LR * v, p, memory), memory

    p = [(jnp.asarray(net.W[l]), jnp.asarray(net.b[l])) for l in range(1, net.L + 1)]
    x, y = jnp.asarray(problem.x), jnp.asarray(problem.y)
    state = {"p": p, "memory": jax.tree.map(jnp.zeros_like, p), "key": jax.random.key(0)}

    def step():
        state["key"], key = jax.random.split(state["key"])
        state["p"], state["memory"] = update(state["p"], state["memory"], x, y, key)
        jax.block_until_ready(state["p"])

    def direction():
        return [np.asarray(v) for v in jax.tree.leaves(jax.jit(gradient)(p, x, y, jax.random.key(0), 0.0))]

    return Peer(step, direction)


def jax_bp(problem: Problem) -> Peer:
    """JAX's compiled BP step without clipping and noise."""
    return _jax(problem, private=False)


def jax_vmap(problem: Problem) -> Peer:
    """JAX's compiled DP-SGD step: every example's gradient by vmap, clipped, averaged, with noise."""
    return _jax(problem, private=True)


# What each computes, without its noise, is the direction of one of our rules.
PEERS: dict[str, tuple[Callable[[Problem], Peer], str, tuple[str, ...]]] = {
    "torch bp": (torch_bp, "bp", ("torch",)),
    "jax bp": (jax_bp, "bp", ("jax",)),
    "opacus ghost": (opacus_ghost, "dp_sgd", ("torch", "opacus")),
    "opacus per-sample": (opacus_per_sample, "dp_sgd", ("torch", "opacus")),
    "jax vmap": (jax_vmap, "dp_sgd", ("jax",)),
}
