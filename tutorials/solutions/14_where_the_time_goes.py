# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 14 Where the time goes: solutions
#
# These are solutions of the exercises of {doc}`/14_where_the_time_goes`. The times are from the machine that built
# this page, in units of other times on the same machine. Your times will differ.

# %%
import itertools
import statistics
import time
from functools import partial

import numpy as np

from nfa import feedback, network, noise, ops
from nfa.feedback.never_stored import Unstored
from nfa.kernels import philox
from nfa.network.dense import Conv2d
from nfa.rules.bp import bp
from nfa.rules.dp_dfa import dp_dfa


def race(contenders, rounds=7):
    """Median processor time of each function. A round calls every function once. We leave out the first round."""
    seconds = {name: [] for name in contenders}
    for r in range(rounds + 1):
        for name, function in contenders.items():
            start = time.process_time()
            function()
            if r:
                seconds[name].append(time.process_time() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


rng = np.random.default_rng(14)

# %% [markdown]
# ## 1. By hand
#
# The forward pass has $784 \cdot 256 + 256 \cdot 256 + 256 \cdot 10 = 268{,}800$ multiplications for each example,
# and the outer products have as many. The backward pass of BP goes through $W^3$ and $W^2$, with
# $10 \cdot 256 + 256 \cdot 256 = 68{,}096$ multiplications. The backward pass of DFA goes through two matrices of
# $256 \times 10$, with $5{,}120$ multiplications. So the ratio of the backward passes is 13.3 to 1, and the ratio of
# the sums is $542{,}720 / 605{,}696 = 0.90$.

# %%
n = [784, 256, 256, 10]
forward = sum(a * b for a, b in itertools.pairwise(n))
back = {"BP": n[3] * n[2] + n[2] * n[1], "DFA": n[3] * (n[1] + n[2])}
print(back["BP"] / back["DFA"], (2 * forward + back["DFA"]) / (2 * forward + back["BP"]))
assert round((2 * forward + back["DFA"]) / (2 * forward + back["BP"]), 2) == 0.90

# %% [markdown]
# ## 2. The batch
#
# The noise has one sample for each parameter, whatever the batch is, but the time of the products grows with the
# batch. So the share of the noise falls as $1/m$. Here we draw the noise with the kernel that `nfa train` uses.
# NumPy's own normals would take several times as long.

# %%
streams = noise.Streams(14)
net = network.mlp(n, ops.tanh, rng=streams("init"), dtype=np.float32)
B = feedback.draw(net, law="spectral", scale=1.0, rng=streams("feedback"))
for m in (16, 128, 1024):
    x = rng.uniform(0, 1, (m, 784)).astype(np.float32)
    y = np.eye(10, dtype=np.float32)[rng.integers(0, 10, m)]
    private = partial(dp_dfa, net, x, y, B=B, m=m, tau_e=0.1, tau_h=1.0, rng=streams("noise"),
                      add_normal=philox.add_normal)  # fmt: skip
    times = race({"BP": partial(bp, net, x, y), "DP-DFA": partial(private, sigma=0.01),
                  "without noise": partial(private, sigma=0.0)})  # fmt: skip
    noisy, plain = (times[name] / times["BP"] for name in ("DP-DFA", "without noise"))
    print(f"batch {m:5}: DP-DFA {noisy:.2f}, without noise {plain:.2f}, in units of BP")

# %% [markdown]
# ## 3. No identity
#
# The gradient of a convolution is a sum of outer products over positions, and the norm of a sum is not a product of
# norms. `norms2` forms a small matrix for each example, and adds up squares. Computing the gradients one by one needs
# about as many operations. `norms2` is faster only because it processes many examples together, which uses the
# processor better.

# %%
m = 128
conv = Conv2d(16, 3).bind((1, 12, 12))
dz, h = rng.normal(size=(m, 16, 10, 10)).astype(np.float32), rng.normal(size=(m, 1, 12, 12)).astype(np.float32)


def one_by_one():
    return np.array([np.square(conv.outer(dz[i : i + 1], h[i : i + 1])[0]).sum() for i in range(m)])


together = partial(conv.norms2, dz, h)
print("relative difference", np.abs(one_by_one() / together()[0] - 1).max())
times = race({"one by one": one_by_one, "norms2": together})
print(f"ratio {times['one by one'] / times['norms2']:.1f}")
assert np.allclose(one_by_one(), together()[0], rtol=1e-4)

# %% [markdown]
# ## 4. Ternary errors
#
# `project` draws every column that any example of the batch uses. With 10 classes, a batch of 8 uses nearly all
# columns, so nothing is saved. With 1,000 classes, the batch uses at most 16 of the 1,000 columns.

# %%
for classes in (10, 1000):
    device = Unstored(classes, 2000, rng=np.random.default_rng(1))
    full = rng.normal(size=(8, classes)).astype(np.float32)
    ternary = np.zeros_like(full)
    for row in ternary:
        row[rng.choice(classes, 2, replace=False)] = 1, -1
    times = race({"full": partial(device.project, full), "ternary": partial(device.project, ternary)}, rounds=5)
    used = int(ternary.any(axis=0).sum())
    print(f"{classes:5} classes, {used} columns used: {times['full'] / times['ternary']:.1f} to 1")
