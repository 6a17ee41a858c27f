"""The contenders by group: {group: function (tiny) -> {name: function that builds a step}}."""

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

from nfa import feedback, network, noise
from nfa.feedback import never_stored
from nfa.kernels import noise as noise_kernels
from nfa.kernels import projection as projection_kernels
from nfa.kernels import ulr as ulr_kernels
from nfa.optim import SGD
from nfa.rules.ulr import ulr

from . import floors, ours, peers
from .ours import STREAMS, Problem

Built = dict[str, Callable[[], Callable]]


def _with_peers(problem: Problem) -> Built:
    """Our rules, the peers that are installed, and the floors, on one problem."""
    made: Built = {name: partial(ours.step, problem, rule) for name, rule in ours.rules(problem).items()}
    slow = ours.rules(problem, add_normal=noise.add_normal)["dp_dfa" if problem.name == "mlp" else "dp_sgd"]
    made[f"{slow.func.__name__}, NumPy's noise"] = partial(ours.step, problem, slow)
    for name, (build, _, libraries) in peers.PEERS.items():
        if peers.installed(*libraries):
            made[name] = lambda build=build: build(problem).step
    made["floor: products of BP"] = partial(floors.products, problem, backward=True)
    made["floor: products of DFA"] = partial(floors.products, problem, backward=False)
    made["floor: normals"] = partial(floors.normals, problem)
    made["floor: copy"] = partial(floors.copy, problem)
    return made


def mlp(tiny: bool) -> Built:
    """784-512-512-10 with tanh, batch 256: one training step."""
    return _with_peers(Problem("mlp", 8, (20, 16, 12, 10)) if tiny else Problem("mlp", 256))


def cnn(tiny: bool) -> Built:
    """Lee & Kifer's network of two convolutions, batch 64: one training step."""
    return _with_peers(Problem("cnn", 3, image=(1, 8, 8)) if tiny else Problem("cnn", 64))


def normals(tiny: bool) -> Built:
    """Noise on as many numbers as the network 784-512-512-10 has parameters, 669,706, in float32."""
    n = 700 if tiny else 669_706

    def adding(add_normal, dtype):
        out, rng = np.zeros(n, dtype), STREAMS("noise")
        return lambda: add_normal(out, 0.01, rng)

    made: Built = {}
    for dtype in (np.float32, np.float64):
        made[f"kernel, {dtype.__name__}"] = partial(adding, noise_kernels.add_normal, dtype)
        made[f"NumPy, {dtype.__name__}"] = partial(adding, noise.add_normal, dtype)
    source, out = np.ones(n, np.float32), np.empty(n, np.float32)
    made["floor: copy"] = lambda: partial(np.copyto, out, source)
    return made


def projections(tiny: bool) -> Built:
    """Projections of errors: matrices never stored beside stored ones, sums of columns beside a product."""
    rng = STREAMS("data")

    def errors(m, n_in, nonzero):
        e = np.zeros((m, n_in), np.float32)
        for row in e:
            row[rng.choice(n_in, nonzero, replace=False)] = rng.choice([-1, 1], nonzero)
        return e

    made: Built = {}
    # 32 errors of 10 onto 200,000 outputs; 8 of 5,000 onto 2,000, all entries needed, or 20 an example.
    for m, n_in, n_out, nonzero in ((32, 10, 200_000, 4), (8, 5000, 2000, 5000), (8, 5000, 2000, 20)):
        if tiny:
            m, n_in, n_out, nonzero = 2, 10, n_out // 1000, min(nonzero, 4)
        e, B = errors(m, n_in, nonzero), never_stored.Unstored(n_in, n_out, rng=rng, make=projection_kernels.tile)
        name = f"{n_in} onto {n_out}, {nonzero} not 0"
        made[f"never stored, {name}"] = lambda e=e, B=B: partial(B.project, e)
        made[f"stored, {name}"] = lambda e=e, B=B: partial(feedback.project, e, B.stored())
    # 256 ternary errors onto 512 units, of 10 classes and of 1,000.
    for n_in, nonzero in ((10, 2), (1000, 4)):
        e, B = errors(4 if tiny else 256, n_in, nonzero), rng.normal(size=(512, n_in)).astype(np.float32)
        name = f"{n_in} onto 512, {nonzero} not 0"
        made[f"sums of columns, {name}"] = lambda e=e, B=B: partial(projection_kernels.project_ternary, e, B)
        made[f"product, {name}"] = lambda e=e, B=B: partial(feedback.project, e, B)
    return made


def repeated_forward(tiny: bool) -> Built:
    """ULR on 784-128-64-32-10 with K = 100, in batches of 500: 120 steps are an epoch of 60,000 records."""
    net = network.dpulr2024_mlp(rng=STREAMS("init"), dtype=np.float32)
    m = 4 if tiny else 500
    x = STREAMS("data").uniform(0, 1, (m, 784)).astype(np.float32)
    y = np.eye(10, dtype=np.float32)[np.arange(m) % 10]

    def build(**fast):
        rule, optimizer, own = partial(ulr, sigma=0.1, K=4 if tiny else 100, **fast), SGD(1e-6), net.copy()

        def step():
            optimizer.step(own, *rule(own, x, y, rng=STREAMS("noise")), 1)

        return step

    return {"step of 500": partial(build, weigh=ulr_kernels.weigh), "step of 500, NumPy": build}


# What a new process does, and prints how long it took.
FIRST = {
    "import nfa": "import nfa",
    "first noise": "add_normal(np.zeros(9, np.float32), 1.0, np.random.default_rng(0))",
    "first convolution": "conv.affine(x, x[0, 0, 0], x, (1, 1), (0, 0, 0, 0))",
    "first projection": "projection.tile(np.zeros(8, np.uint32), np.arange(3), 1, 0, 1)",
}
BEFORE = {
    "import nfa": "",
    "first noise": "import numpy as np; from nfa.kernels.noise import add_normal",
    "first convolution": "import numpy as np; from nfa.kernels import conv; x = np.zeros((1, 1, 1, 1), np.float32)",
    "first projection": "import numpy as np; from nfa.kernels import projection",
}


def start(tiny: bool, repeats: int) -> dict[str, dict[str, list[float]]]:
    """Seconds of what happens once a process, each in a new process: not raced, for nothing stays warm."""
    found: dict[str, dict[str, list[float]]] = {name: {"wall": [], "cpu": []} for name in (*FIRST, "nfa eq")}
    for _ in range(1 if tiny else min(repeats, 5)):
        for name, line in FIRST.items():
            clock = "import time; t, c = time.perf_counter(), time.process_time()"
            told = "print(time.perf_counter() - t, time.process_time() - c)"
            code = "\n".join([BEFORE[name], clock, line, told])
            wall, cpu = subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            ).stdout.split()
            found[name]["wall"].append(float(wall))
            found[name]["cpu"].append(float(cpu))
        began = time.perf_counter()
        subprocess.run([sys.executable, "-m", "nfa", "eq", "lee2020:eq5"], capture_output=True, check=True)
        found["nfa eq"]["wall"].append(time.perf_counter() - began)
    return found


GROUPS: dict[str, Callable[[bool], Built]] = {
    "mlp": mlp,
    "cnn": cnn,
    "normals": normals,
    "projections": projections,
    "ulr": repeated_forward,
}
