"""Steps and epochs of the same tasks in other libraries: PyTorch without privacy, Opacus, JAX.

No module of nfa is imported. A peer has two functions. ``step()`` is one whole training step on a batch drawn from
records in memory. ``direction(x, labels)`` is the direction that the peer would subtract at the first weights, without
noise, as arrays in the order W[1], b[1], W[2], ...
"""

import importlib
import json
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import problem as problems
from .problem import LR, MOMENTUM, SIGMA, TRAIN_LOSS, Built, C, Layer

Weights = Sequence[tuple[np.ndarray, np.ndarray]]


class Task(NamedTuple):
    """A network, its first weights, and the batch size."""

    layers: list[Layer]
    weights: Weights
    batch: int


class Peer(NamedTuple):
    """A peer's functions.

    ``steps(x, labels)`` returns the step on records in memory. A peer of torch also has its model.
    """

    steps: Callable
    direction: Callable
    model: Any = None


def _torch_net(task: Task):
    import torch
    from torch import nn

    modules: list[Any] = []
    for (shape, activation), (W, b) in zip(task.layers, task.weights, strict=True):
        if len(shape) == 4:
            module: Any = nn.Conv2d(shape[1], shape[0], shape[2:], padding="same")
        else:
            if modules and isinstance(modules[-1], nn.MaxPool2d):
                modules.append(nn.Flatten())
            module = nn.Linear(shape[1], shape[0])
        with torch.no_grad():
            module.weight.copy_(torch.from_numpy(W))
            module.bias.copy_(torch.from_numpy(b))
        modules.append(module)
        if activation:
            modules.append({"tanh": nn.Tanh, "sigmoid": nn.Sigmoid}[activation]())
        if len(shape) == 4:
            modules.append(nn.MaxPool2d(2))
    return nn.Sequential(*modules)


def _stepper(task: Task, gradient: Callable, optimizer):
    def steps(x: np.ndarray, labels: np.ndarray) -> Callable:
        import torch

        x, labels = torch.from_numpy(x), torch.from_numpy(labels)
        batches = problems.permuted(len(x), task.batch, torch.randperm)

        def step() -> None:
            i = next(batches)
            gradient(x[i], labels[i])
            optimizer.step()

        return step

    return steps


def torch_bp(task: Task) -> Peer:
    """PyTorch's BP step without clipping and noise: SGD with momentum on the mean loss."""
    import torch

    model = _torch_net(task)
    optimizer = torch.optim.SGD(model.parameters(), lr=LR, momentum=MOMENTUM)
    loss = torch.nn.CrossEntropyLoss()

    def gradient(x, labels):
        optimizer.zero_grad()
        loss(model(x), labels).backward()

    def direction(x, labels):
        gradient(torch.from_numpy(x), torch.from_numpy(labels))
        return [p.grad.numpy().copy() for p in model.parameters()]

    return Peer(_stepper(task, gradient, optimizer), direction, model)


def _opacus(task: Task, ghost: bool) -> Peer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Opacus's own imports cause warnings
        import torch
        from opacus.grad_sample import GradSampleModule, GradSampleModuleFastGradientClipping
        from opacus.optimizers import DPOptimizer, DPOptimizerFastGradientClipping
        from opacus.utils.fast_gradient_clipping_utils import DPLossFastGradientClipping

    model = _torch_net(task)
    loss: Any = torch.nn.CrossEntropyLoss()
    wrap = (
        GradSampleModuleFastGradientClipping(model, max_grad_norm=C, use_ghost_clipping=True)
        if ghost
        else GradSampleModule(model)
    )
    optimizer = (DPOptimizerFastGradientClipping if ghost else DPOptimizer)(
        torch.optim.SGD(wrap.parameters(), lr=LR, momentum=MOMENTUM),
        noise_multiplier=SIGMA * task.batch / C,
        max_grad_norm=C,
        expected_batch_size=task.batch,
    )
    if ghost:
        loss = DPLossFastGradientClipping(wrap, optimizer, loss)

    def gradient(x, labels):
        with warnings.catch_warnings():  # Opacus still attaches hooks to modules in PyTorch's old way
            warnings.simplefilter("ignore")
            optimizer.zero_grad()
            loss(wrap(x), labels).backward()

    def direction(x, labels):
        noise, optimizer.noise_multiplier = optimizer.noise_multiplier, 0.0
        gradient(torch.from_numpy(x), torch.from_numpy(labels))
        optimizer.pre_step()
        optimizer.noise_multiplier = noise
        return [p.grad.numpy().copy() for p in model.parameters()]

    return Peer(_stepper(task, gradient, optimizer), direction, model)


def opacus_ghost(task: Task) -> Peer:
    """Opacus' DP-SGD step with ghost clipping: a backward pass for the norms, and another for the clipped gradients."""
    return _opacus(task, ghost=True)


def opacus_per_sample(task: Task) -> Peer:
    """Opacus' DP-SGD step with hooks that form every example's gradient."""
    return _opacus(task, ghost=False)


def _jax(task: Task, private: bool) -> Peer:
    import jax
    import jax.numpy as jnp

    act = {"tanh": jnp.tanh, "sigmoid": jax.nn.sigmoid, "": lambda z: z}

    def logits(p, x):
        h = x
        for (shape, activation), (W, b) in zip(task.layers, p, strict=True):
            if len(shape) == 4:
                h = jax.lax.conv_general_dilated(h, W, (1, 1), "SAME", dimension_numbers=("NCHW", "OIHW", "NCHW"))
                h = act[activation](h + b[:, None, None])
                h = jax.lax.reduce_window(h, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
            else:
                h = act[activation](h.reshape(len(h), -1) @ W.T + b)
        return h

    def loss(p, x, labels):
        chosen = jnp.take_along_axis(jax.nn.log_softmax(logits(p, x)), labels[:, None], axis=1)
        return -chosen.mean()

    def clipped(p, x, label):
        g = jax.grad(loss)(p, x[None], label[None])
        norm = jnp.sqrt(sum((v**2).sum() for v in jax.tree.leaves(g)))
        return jax.tree.map(lambda v: v * jnp.minimum(1, C / norm), g)

    def gradient(p, x, labels, key, sigma):
        if not private:
            return jax.grad(loss)(p, x, labels)
        g = jax.tree.map(lambda v: v.mean(axis=0), jax.vmap(clipped, (None, 0, 0))(p, x, labels))
        leaves, tree = jax.tree.flatten(g)
        keys = jax.random.split(key, len(leaves))
        noisy = [v + sigma * jax.random.normal(k, v.shape, v.dtype) for v, k in zip(leaves, keys, strict=True)]
        return jax.tree.unflatten(tree, noisy)

    @jax.jit
    def update(p, memory, x, labels, i, key):
        g = gradient(p, x[i], labels[i], key, SIGMA)
        memory = jax.tree.map(lambda v, d: MOMENTUM * v + d, memory, g)
        return jax.tree.map(lambda w, v: w - LR * v, p, memory), memory

    p = [(jnp.asarray(W), jnp.asarray(b)) for W, b in task.weights]

    def steps(x, labels) -> Callable:
        n = problems.whole_batches(len(x), task.batch)  # JAX would compile the step again for a smaller batch
        batches = problems.permuted(n, task.batch, np.random.default_rng(0).permutation)
        x, labels = jnp.asarray(x), jnp.asarray(labels)
        state = {"p": p, "memory": jax.tree.map(jnp.zeros_like, p), "key": jax.random.key(0)}

        def step() -> None:
            state["key"], key = jax.random.split(state["key"])
            state["p"], state["memory"] = update(state["p"], state["memory"], x, labels, next(batches), key)
            jax.block_until_ready(state["p"])

        return step

    def direction(x, labels):
        return [np.asarray(v) for v in jax.tree.leaves(jax.jit(gradient)(p, x, labels, jax.random.key(0), 0.0))]

    return Peer(steps, direction)


def jax_bp(task: Task) -> Peer:
    """JAX's compiled BP step without clipping and noise."""
    return _jax(task, private=False)


def jax_vmap(task: Task) -> Peer:
    """JAX's compiled DP-SGD step: every example's gradient by vmap, then clipping, averaging and noise."""
    return _jax(task, private=True)


# Without its noise, each peer computes the direction of one of our rules.
PEERS: dict[str, tuple[Callable[[Task], Peer], str]] = {
    "torch bp": (torch_bp, "bp"),
    "jax bp": (jax_bp, "bp"),
    "opacus ghost": (opacus_ghost, "dp_sgd"),
    "opacus per-sample": (opacus_per_sample, "dp_sgd"),
    "jax vmap": (jax_vmap, "dp_sgd"),
}


def task(problem: str, tiny: bool) -> Task:
    """A problem by its name. Its first weights have the same distribution as ours."""
    shapes = problems.layers(problem, tiny)
    return Task(shapes, problems.weights(shapes), problems.batch(tiny, problem))


def _use(name: str, threads: int) -> dict[str, Any]:
    """Set the number of torch's threads, and report this number and torch's instruction set."""
    if name.startswith("jax"):
        return {}
    torch = importlib.import_module("torch")
    torch.set_num_threads(threads)
    return {"capability": torch.backends.cpu.get_cpu_capability(), "threads": torch.get_num_threads()}


def step(folder: str, *, name: str, problem: str, tiny: bool, threads: int) -> Built:
    """One training step of a peer. The peer draws its batch from the records that our steps also use."""
    told = _use(name, threads)
    data = problems.name_of_data(folder, problem, tiny=tiny)
    x, labels, *_ = problems.records(folder, data, flat=problem == "mlp")
    given = task(problem, tiny)
    n = problems.whole_batches(len(x), given.batch)
    return Built({"step": PEERS[name][0](given).steps(x[:n], labels[:n])}, told)


def growth(folder: str, *, name: str, tiny: bool, threads: int) -> Built:
    """A step of a torch library on the MLP, for every batch size and, with a large batch, every number of threads."""
    import torch

    told, given, steps = _use(name, threads), task("mlp", tiny), {}
    rng, first = np.random.default_rng(0), given.layers[0].shape[1]

    def limited(step: Callable, n: int) -> Callable:
        def one() -> None:
            torch.set_num_threads(n)
            step()
            torch.set_num_threads(threads)

        return one

    for axis, values in problems.sizes_of_growth(tiny).items():
        for value, m in values:
            x, labels = rng.uniform(0, 1, (m, first)).astype(np.float32), np.arange(m) % 10
            step = PEERS[name][0](given._replace(batch=m)).steps(x, labels)
            steps[f"{axis} {value}"] = step if axis == "batch" else limited(step, value)
    return Built(steps, told)


def epoch(folder: str, *, name: str, problem: str, tiny: bool, threads: int) -> Built:
    """One epoch in torch. Like `nfa train`, it reads and scales the data, and writes loss and accuracy to a file."""
    import torch

    told = _use(name, threads)
    data, flat = problems.name_of_data(folder, problem, tiny=tiny, epoch=True), problem == "mlp"
    place = Path(tempfile.mkdtemp(dir=folder), "record.json")

    def one() -> dict[str, float]:
        x, labels, x_test, y_test = problems.records(folder, data, flat=flat)
        given = task(problem, tiny)
        peer = PEERS[name][0](given)
        began = time.perf_counter()
        step = peer.steps(x, labels)
        for _ in range(-(-len(x) // given.batch)):
            step()
        with torch.no_grad():
            few, every, test = (
                torch.cat([peer.model(part) for part in torch.from_numpy(v).split(1000)])
                for v in (x[:TRAIN_LOSS], x, x_test)
            )
            found = {"loss": float(torch.nn.functional.cross_entropy(few, torch.from_numpy(labels[:TRAIN_LOSS])))}
            for what, z, of in (("train_accuracy", every, labels), ("test_accuracy", test, y_test)):
                found[what] = float((z.argmax(1) == torch.from_numpy(of)).double().mean())
        record = {"training": time.perf_counter() - began}
        place.write_text(json.dumps(record | found))
        return record

    n = len(np.load(Path(folder, f"{data}-y_train.npy")))
    return Built({"epoch": one}, {**told, "data": data, "records": n, "steps": -(-n // problems.batch(tiny, problem))})
