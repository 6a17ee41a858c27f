"""One training step of nfa, rule and optimizer together, built for timing."""

from collections.abc import Callable
from functools import partial

import numpy as np

from nfa import feedback, network, noise
from nfa.kernels import conv as conv_kernels
from nfa.kernels import noise as noise_kernels
from nfa.network.ops import tanh
from nfa.optim import SGD
from nfa.rules.bp import bp
from nfa.rules.dfa import dfa
from nfa.rules.dp_dfa import dp_dfa
from nfa.rules.dp_hybrid import dp_hybrid
from nfa.rules.dp_sgd import dp_sgd
from nfa.rules.pdfa import pdfa

C = 1.0  # the clipping bound of DP-SGD
SIGMA = 0.01  # noise on every coordinate of the average
LR, MOMENTUM = 0.1, 0.9
STREAMS = noise.Streams(0)


class Problem:
    """A network with a batch of random records: what ours and the peers all learn from.

    Parameters
    ----------
    name : "mlp", 784-512-512-10 with tanh, or another row of ``sizes``; "cnn", Lee & Kifer's with tanh throughout
    batch : int >= 1
    sizes : widths of the "mlp"
    image : (c, H, W) of the "cnn"
    """

    def __init__(self, name: str, batch: int, sizes=(784, 512, 512, 10), image=(1, 28, 28), dtype=np.float32) -> None:
        self.name, self.batch = name, batch
        settings = {"rng": STREAMS("init"), "dtype": dtype}
        if name == "mlp":
            self.net = network.mlp(sizes, tanh, **settings)
        else:
            self.net = network.lee2020_cnn(image, phi_fc=tanh, ops=conv_kernels, **settings)
        rng = STREAMS("data")
        self.x = rng.uniform(0, 1, (batch, *self.net.shape_h[0])).astype(dtype)
        labels = rng.integers(0, 10, batch)
        self.labels = labels
        self.y = np.eye(10, dtype=dtype)[labels]
        self.B = feedback.draw(self.net, law="spectral", scale=1.0, rng=STREAMS("feedback"))


def rules(problem: Problem, *, sigma: float = SIGMA, add_normal: Callable | None = None) -> dict[str, Callable]:
    """The rules by name, hyper-parameters bound; ``sigma`` 0 gives the directions without noise."""
    add_normal = add_normal or noise_kernels.add_normal
    private = {"m": problem.batch, "sigma": sigma, "add_normal": add_normal}
    made: dict[str, Callable] = {
        "bp": bp,
        "dfa": partial(dfa, B=problem.B),
        "dp_dfa": partial(dp_dfa, B=problem.B, tau_e=0.1, tau_h=1.0, **private),
        "dp_sgd": partial(dp_sgd, C=C, **private),
    }
    if problem.name == "mlp":
        made["photonic"] = partial(pdfa, B=problem.B, t=0.15, tau_h_min=0.1, **private)
    else:
        made["dp_hybrid"] = partial(dp_hybrid, B=problem.B, tau=C, tau_e=0.1, tau_h=1.0, **private)
    return made


def step(problem: Problem, rule: Callable) -> Callable:
    """A function that takes one whole training step: direction, noise, momentum, new parameters."""
    net, optimizer, t = problem.net.copy(), SGD(LR, MOMENTUM), 0

    def one_step():
        nonlocal t
        t += 1
        dW, db = rule(net, problem.x, problem.y, rng=STREAMS("noise", t))
        optimizer.step(net, dW, db, t)

    return one_step


def direction(problem: Problem, rule: Callable) -> list[np.ndarray]:
    """The direction at the start, W[1], b[1], W[2], ..."""
    dW, db = rule(problem.net, problem.x, problem.y, rng=STREAMS("noise", 1))
    return [p for l in range(1, problem.net.L + 1) for p in (dW[l], db[l])]
