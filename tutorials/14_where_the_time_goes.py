# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 14 Where the time goes
#
# After this page you can measure, on your own machine, in which part of the training of a neural network the time is
# spent. You can explain why clipping the gradient of every single example need not cost much, and show this with two
# functions of a few lines. You can also tell a measured speed-up from one that is only computed.
#
# **Have this page open**: Lee & Kifer (2020), Algorithm 1, and next to it Equations 2 and 5. Private training is known
# to be slow. Feedback alignment is said to parallelise. An OPU multiplies by a matrix that is not stored anywhere. How
# much of this can you measure on your own machine?
#
# You need {doc}`06_private_dfa`, and for the last part {doc}`09_forward_learning`.
#
# The statements we meet: {ref}`lee2020:eq2 <lee2020-eq2>`, {ref}`lee2020:eq5 <lee2020-eq5>`, {ref}`lee2020:clip
# <lee2020-clip>` and {ref}`ohana2021:eq5 <ohana2021-eq5>`.
#
# **We measured every number below on one core of the machine that built this page**, and your numbers will differ. We
# interpret only ratios of two times that we measured in turn. We do not interpret differences of a tenth.

# %%
import json
import statistics
import threading
import time
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from threadpoolctl import threadpool_limits

import nfa
from nfa import feedback, network, noise, ops
from nfa.clip import clip_l2
from nfa.feedback import never_stored
from nfa.kernels import cores, philox, projection, rounded
from nfa.parts import InParts
from nfa.rules.bp import bp
from nfa.rules.dfa import dfa
from nfa.rules.dp_dfa import dp_dfa
from nfa.rules.dp_sgd import dp_sgd
from nfa.rules.spec import spec
from nfa.rules.ulr import ulr

plt.rcParams.update(
    {
        "figure.figsize": (7, 3.4),
        "figure.constrained_layout.use": True,
        "axes.axisbelow": True,
    }
)
one_core = threadpool_limits(1)
cores.limit(1)
# Otherwise, at every step, the operating system clears the memory pages that the step before gave back
cores.keep_memory()


def race(contenders, rounds=15):
    """Median seconds of each function. Each round calls every function once; the first round does not count."""
    seconds = {name: [] for name in contenders}
    for r in range(rounds + 1):
        for name, function in contenders.items():
            start = time.process_time()
            function()
            if r:
                seconds[name].append(time.process_time() - start)
    return {name: statistics.median(times) for name, times in seconds.items()}


def bars(times, base, title):
    """Draw each median divided by the median of the contender ``base``."""
    _, ax = plt.subplots()
    drawn = ax.barh(list(times), [t / times[base] for t in times.values()], color="C0")
    ax.bar_label(drawn, fmt="%.2f", padding=4, bbox={"facecolor": "w", "lw": 0, "pad": 1})
    ax.axvline(1, color="gray", ls=":")
    ax.invert_yaxis()
    ax.margins(x=0.12)
    ax.set(xlabel=f"time, in units of: {base}", title=title)
    plt.show()


# %% [markdown]
# ## The work that every step needs
#
# We use a network 784-256-256-10, a batch of 128, and values of 4 bytes. Every rule has to multiply matrices: a
# forward pass, and a product $\delta z^l (h^{l-1})^\top$ for each layer. BP adds $(W^{l+1})^\top \delta z^{l+1}$. DFA
# adds $B^l e$, which is a smaller product. A private rule must also draw one normal sample for each parameter. We
# time these operations alone, on arrays that are already in memory.

# %%
m, widths = 128, [784, 256, 256, 10]
streams = noise.Streams(14)
net = network.mlp(widths, ops.tanh, rng=streams("init"), dtype=np.float32)
B = feedback.draw(net, law="spectral", scale=1.0, rng=streams("feedback"))
rng = streams("data")
x = rng.uniform(0, 1, (m, 784)).astype(np.float32)
y = np.eye(10, dtype=np.float32)[rng.integers(0, 10, m)]
z, h = network.forward(net, x)
e = net.loss.error(z[3], y)


def products(rule):
    for l in (1, 2, 3):
        h[l - 1] @ net.W[l].T
        z[l].T @ h[l - 1]
        if rule == "bp" and l > 1:
            z[l] @ net.W[l]
        if rule == "dfa" and l < 3:
            e @ B[l].T


draws, room, wide = streams("noise"), np.zeros(net.n_parameters, np.float32), np.zeros(net.n_parameters)
floors = {
    "products of BP": partial(products, "bp"),
    "products of DFA": partial(products, "dfa"),
    "normals, NumPy": lambda: draws.standard_normal(out=room, dtype=np.float32),
    "normals, of a seeded run": lambda: philox.add_normal(room, 1.0, draws),
    "normals, of a secure run": lambda: rounded.add_normal(wide, 1.0, draws, unit=2.0**-24),
}
print(f"{net.n_parameters:,} parameters")
# In words: Bars of the time of the work that every step needs, in units of BP's products. DFA's products take a
# little less time. Next to these two bars are the times of drawing the normal samples for a private step.
bars(race(floors), "products of BP", "The work that every step needs")

# %% [markdown]
# **The time of the noise is not small compared with that of the products.** The ratio depends on the batch, because
# the time of the products grows with the batch, and the time of the normals does not. A training by `nfa train` uses
# compiled functions (kernels), which draw many samples of the same law at a time from counters and a key. A seeded
# run uses the generator Philox, and a test compares this kernel with the NumPy code `nfa.philox`. A secure run uses
# the cipher ChaCha20 (`nfa.rounded`, {doc}`generated/api/index`). The noise of a secure run is an exact integer
# multiple of a grid unit, in values of 8 bytes. With `--no-kernels`, `nfa train` and `nfa reproduce` draw the noise
# of a seeded run with NumPy.
#
# ## A step of each rule
#
# **Predict before you run the next cell**: DP-SGD clips the gradient of each of 128 examples. Does a step of DP-SGD
# take 2, 20 or 128 times as long as a step of BP?

# %%
common = {"m": m, "sigma": 0.01, "rng": draws}
private = {**common, "add_normal": philox.add_normal}
steps = {
    "BP": lambda: bp(net, x, y),
    "DFA": lambda: dfa(net, x, y, B=B),
    "DP-DFA, NumPy's noise": lambda: dp_dfa(net, x, y, B=B, tau_e=0.1, tau_h=1.0, **common),
    "DP-DFA": lambda: dp_dfa(net, x, y, B=B, tau_e=0.1, tau_h=1.0, **private),
    "DP-SGD": lambda: dp_sgd(net, x, y, C=1.0, **private),
}
# In words: Bars of the time of one direction of each rule, in units of BP.
bars(race(steps), "BP", "One direction, batch 128")

# %% [markdown]
# Of these three factors, 2 is the nearest, although DP-SGD clips every example. One reason is the fast generator of
# the noise. The next section explains the other reason.
#
# ## Clipping without the gradients
#
# The gradient of one example in a dense layer is an outer product. The norm of an outer product is the product of the
# norms: $\|\delta z\, h^\top\|_F = \|\delta z\| \|h\|$. Once we know the norms, we multiply $\delta z$ by the weight
# of the clip ({ref}`lee2020:clip <lee2020-clip>`). Then one matrix product adds up the clipped terms. So we never
# form the 128 gradients. The next cell computes the clipped sum of the first layer in two ways: from the gradients
# one by one, and by this identity.

# %%
dz = rng.normal(size=(m, 256)).astype(np.float32)


def one_by_one():
    terms = dz[:, :, None] * x[:, None, :]  # (m, 256, 784)
    return clip_l2(terms, 1.0).sum(axis=0)


def by_identity():
    norms = np.sqrt(sum(net.map[1].norms2(dz, x)[:1]))  # (m,)
    return net.map[1].outer(dz * np.minimum(1, 1 / norms)[:, None], x)[0]


print(f"largest difference {np.abs(one_by_one() - by_identity()).max():.1e}")
times = race({"one by one": one_by_one, "by identity": by_identity}, rounds=5)
print(f"time  {times['one by one'] / times['by identity']:.0f} to 1")
print(f"bytes {m * 256 * 784 * 4:,} for the gradients of one layer,", end=" ")
print(f"{m * 4:,} for the norms")

# %% [markdown]
# DP-DFA does not use the norm of a gradient, because it clips $e$ and $h$. At this size, DP-DFA is hardly faster than
# DP-SGD, as the figure above shows. BP's additional product takes little time compared with the noise, and clipping
# $h$ writes all activations once more. For convolutions, no identity of this kind is fast in all cases, and clipping
# takes most of the time.
#
# ## Split the examples, not the products
#
# Now there are two cores, which can share a step in two ways. In the first way, each **product** is cut into two
# halves, one for each core. In the second way, the **batch** is cut into two parts. Each core then takes its part
# through the whole rule, and the two directions are added.
#
# **Predict before you run the next cell**: Both ways multiply the same values. In which way do the cores wait longer,
# and for what do they wait?

# %%
cores.limit(2)
many_x = rng.uniform(0, 1, (512, 784)).astype(np.float32)
many_y = np.eye(10, dtype=np.float32)[rng.integers(0, 10, 512)]
worked = []  # (way, thread, start, stop)


def noted(way, function):
    """Return a function that calls ``function`` and records when and on which thread it worked."""

    def call(*given):
        start = time.perf_counter()
        answer = function(*given)
        worked.append((way, threading.get_ident(), start, time.perf_counter()))
        return answer

    return call


def in_halves(a, b):
    """The product a b: each core multiplies half of the rows of a."""
    c = np.empty((len(a), b.shape[1]), np.float32)

    def work(start, stop):
        np.matmul(a[start:stop], b, out=c[start:stop])

    cores.share(noted("products", work), len(a), 1)
    return c


def by_products():
    """DFA (Equation 5) with each product in halves; one core does everything else."""
    z, h = [None], [many_x]
    for l in (1, 2, 3):
        z.append(in_halves(h[l - 1], net.W[l].T) + net.b[l])
        h.append(net.activate(l, z[l]))
    e = net.loss.error(z[3], many_y)
    for l in (3, 2, 1):
        dz = e if l == 3 else net.pull(l, z, in_halves(e, B[l].T))
        in_halves((dz / 512).T, h[l - 1]), dz.sum(axis=0)


def two_parts(work, n, take, finish):
    cores.together(noted("examples", work), n, take, finish)


by_examples = InParts(partial(dfa, B=B), spec("dfa"), size=256, run=two_parts)
ways = {
    "products": by_products,
    "examples": lambda: by_examples(net, many_x, many_y, rng=None),
}
took = {}
for name, way in ways.items():
    steps_taken = []
    for _ in range(25):
        worked.clear()
        begun = time.perf_counter()
        way()
        steps_taken.append((time.perf_counter() - begun, begun, list(worked)))
    took[name] = min(steps_taken)  # the shortest step, in which other programs disturbed the least

fig, axes = plt.subplots(2, sharex=True)
for ax, (name, (seconds, begun, own)) in zip(axes, took.items(), strict=True):
    for lane, thread in enumerate(dict.fromkeys(span[1] for span in own)):
        spans = [(1e3 * (start - begun), 1e3 * (stop - start)) for _, at, start, stop in own if at == thread]
        ax.broken_barh(spans, (lane - 0.4, 0.8), edgecolor="w")
    ax.axvline(1e3 * seconds, color="gray", ls=":")
    ax.set(yticks=[0, 1], yticklabels=["core 1", "core 2"], title=f"{name} are split")
    ax.invert_yaxis()
    share = sum(stop - start for _, _, start, stop in own) / (2 * seconds)
    print(f"{name}: {len(own)} pieces of work, the two cores are at work on them {share:.0%} of the time")
axes[1].set_xlabel("milliseconds from the start of a step to its end, the dotted line")
# In words: Two timelines of two cores. If products are split, there are twelve short bars with gaps between them. If
# examples are split, there is one long bar for each core and a short gap at the end.
plt.show()
adding = race({"adding": lambda: [np.add(W, W) for W in net.W[1:]]})["adding"]
print(f"adding two directions takes {adding / took['examples'][0]:.1%} of the step")
cores.limit(1)

# %% [markdown]
# **If products are split**, both cores stop after each product. One core then computes the activation, the error or
# the clip, while the other core waits for the next product. Also, every product must wake the other core again.
#
# **If examples are split**, a core waits for the other only at the end, to add the directions. This addition is the
# only additional work. It takes one pass over the parameters for each part. There are two more consequences:
#
# - The memory of a step is the memory of the parts that are being processed, so it does not grow with the batch.
# - A part has a fixed number of examples, and the sums are added in the order of the parts. So the direction is
#   bitwise identical for any number of cores.
#
# Splitting the examples works because the direction of DFA is a sum over examples. BP, DP-SGD and most other rules
# are such sums too, including clips of single examples. The noise of the sum is drawn once. For this, nfa calls the
# rule with no examples, and the rule returns the noise alone. The code of a rule does not mention parts.
# `nfa train --threads 2` splits the examples in this way (`nfa.parts`).
#
# ## Why DFA parallelises
#
# In Equation 2, layer $l$ waits for layer $l + 1$. In Equation 5, no layer waits for another, because all layers use
# $e$. On one core, DFA gains only the smaller product. But we can time the work of each layer alone, and then add up
# the operations that must wait for each other. We do this for a network of 12 layers and 12 cores. BP needs all its
# products $W^\top \delta z$ one after the other, and then one outer product. DFA needs the time of the slowest layer.
# **The result is computed from measured parts, and is not a measured speed-up.** It leaves out that cores share
# memory, and that starting them takes time.

# %%
depth, width = 12, 256
shapes = (width, width), (width, 10)
W, wide_B = (rng.normal(size=shape).astype(np.float32) for shape in shapes)
wide_h, wide_z = (rng.normal(size=(m, width)).astype(np.float32) for _ in range(2))
parts = race(
    {
        "forward": lambda: ops.tanh.phi(wide_h @ W.T),
        "W.T dz": lambda: (wide_z @ W) * ops.tanh.dphi(wide_z),
        "B e": lambda: (e @ wide_B.T) * ops.tanh.dphi(wide_z),
        "outer": lambda: wide_z.T @ wide_h,
    }
)
one = {
    "BP": depth * (parts["W.T dz"] + parts["outer"]),
    "DFA": depth * (parts["B e"] + parts["outer"]),
}
many = {
    "BP": depth * parts["W.T dz"] + parts["outer"],
    "DFA": parts["B e"] + parts["outer"],
}
forward_pass = depth * parts["forward"]
print(f"way back, one core:          BP over DFA {one['BP'] / one['DFA']:.1f}")
print(f"way back, a core a layer:    BP over DFA {many['BP'] / many['DFA']:.1f}")
whole = {name: forward_pass + way_back for name, way_back in many.items()}
print(f"with the forward pass, same: BP over DFA {whole['BP'] / whole['DFA']:.1f}")

# %% [markdown]
# The last printed ratio is the realistic one. **The forward pass stays a chain**, for DFA too. So the speed-up of the
# whole step is far smaller than that of the way back (the backward pass with the outer products).
#
# ## A matrix that is never stored
#
# An OPU multiplies by a matrix that exists only as a scattering medium ({ref}`ohana2021:eq5 <ohana2021-eq5>`). A
# program can do something similar. The entry of $B$ in row $i$ and column $j$ is a function of a key and $(i, j)$.
# The program computes this entry whenever it is needed, and does not store it. How much more time does the product
# take, and how much memory do we save?

# %%
n_in, n_out = 10, 100_000
errors = rng.normal(size=(16, n_in)).astype(np.float32)
medium = never_stored.Unstored(n_in, n_out, rng=streams("feedback"), make=projection.tile)
stored = medium.stored()
times = race(
    {
        "never stored": lambda: medium.project(errors),
        "stored": lambda: feedback.project(errors, stored),
    }
)
same = np.allclose(medium.project(errors), feedback.project(errors, stored), atol=1e-4)
print(f"same answer: {same}")
print(f"time {times['never stored'] / times['stored']:.1f} to 1;", end=" ")
print(f"{stored.nbytes:,} bytes not stored")

# %% [markdown]
# If the stored matrix fits into memory, the product with the matrix that is never stored is slower. The reason is
# that drawing an entry takes longer than reading it. The gain is that the memory stays the same however large the
# matrix is. On a processor, this is the only gain. An OPU draws nothing, because its matrix exists already.
# `nfa train --rule tdfa --no-stored` trains in this way. `--opu stored=false` does the same with the whole medium of
# a simulated OPU.
#
# ## Learning from forward passes spends its time on repeats
#
# ULR has no backward pass at all. Instead, it repeats the forward pass $K$ times with noise. The time is about a
# constant plus a term proportional to $K$.

# %%
repeats = [1, 2, 4, 8, 16]
small = network.mlp([64, 32, 10], ops.tanh, rng=streams("init"), dtype=np.float32)
few_x = x[:, :64].copy()
runs = {K: partial(ulr, small, few_x, y, sigma=0.1, K=K, rng=draws) for K in repeats}
times = race({"bp": lambda: bp(small, few_x, y), **runs}, rounds=9)
fig, ax = plt.subplots()
ax.loglog(repeats, [times[K] / times["bp"] for K in repeats], "o-", label="ULR")
ax.axhline(1, color="gray", ls=":", label="BP")
ax.set(
    xlabel="repeats K",
    ylabel="time of a step, in units of BP",
    title="64-32-10, batch 128",
)
ax.set_xticks(repeats, [str(K) for K in repeats])
ax.minorticks_off()
ax.legend()
# In words: Time of a step of ULR over its repeats K on log scales. The line is straight and far above the dotted line
# of BP.
plt.show()

# %% [markdown]
# The paper of 2024 on DP-ULR, a private version of ULR, does not print its $K$.
#
# ## Compared with other programs
#
# `make bench` times our code next to PyTorch, Opacus and JAX. It times single training steps, and whole epochs from
# the data on disk to the record of the run. We follow three rules to make this comparison as fair as we can:
#
# - **We time the code that runs.** Our steps are the steps of `nfa train`, built from the settings of a run. The next
#   cell prints the kernels that our steps use below the times.
# - **Each contender has its own process**, which loads only its own libraries, and sleeps while another contender is
#   timed. The reason is that threads which wait for work on a core slow down other threads on this core.
# - **The contenders take turns**, in a different order in each round, so a busy moment is equally likely to affect
#   any of them. The ratios are ratios of medians over the rounds.
#
# NumPy's linear algebra selects its instructions by the processor, or by `OPENBLAS_CORETYPE`. PyTorch and JAX select
# their instructions themselves. If the processor has AVX-512, our code is timed with AVX2 and with AVX-512.
#
# If this copy of the project has a benchmark record, the next cell prints it. The record is from another machine than
# the one that built this page. The cell prints medians of the times, also in units of PyTorch's step or epoch without
# privacy. It also prints the memory that the first two steps need in addition to the network and the data.

# %%
records = sorted((Path(nfa.__file__).parents[1] / "results" / "benchmarks").glob("*.json"))
runs_timed = [json.loads(record.read_text()) for record in records]
for run in runs_timed:
    machine = run["machine"]
    print(f"{run['when'][:10]}, {machine['processor']}, {machine['threads']} threads,", end=" ")
    print(f"{run['rounds']} rounds, load {run['load_before'][0]:.1f}")
    for group in ("mlp", "cnn", "mlp epoch", "cnn epoch"):
        timed, memory, bound = {}, {}, set()
        for name, by_core in run["groups"].get(group, {"contenders": {}})["contenders"].items():
            for core, found in by_core.items():
                bound |= set(found.get("kernels", []))
                for label, times in found.get("times", {}).items():
                    title = name if label in ("step", "epoch") else f"{name}, {label}"
                    title = title if core == "any" else f"{title} ({core})"
                    timed[title] = statistics.median(times["wall"])
                    if label == "step" and found["step_bytes"] is not None:
                        memory[title] = f"{found['step_bytes'] / 2**20:6.1f} MiB"
        base = timed.get("torch bp")
        for name, seconds in sorted(timed.items(), key=lambda item: item[1]):
            relative = f"{seconds / base:8.2f}" if base else " " * 8
            print(f"  {group:9}  {name:34} {1e3 * seconds:10.2f} ms", end=" ")
            print(f"{relative}  {memory.get(name, '')}")
        if timed:
            print(f"  {group:9}  kernels bound: {', '.join(sorted(bound)) or 'none'}")
    for row in run["targets"]:
        if row["found"] is not None and not row["reached"]:
            side = "least" if "at_least" in row else "most"
            print(f"  not reached: {row['what']} ({row['core']}): {row['found']:.3g},", end=" ")
            print(f"wanted at {side} {row[f'at_{side}']:.3g}")
if not runs_timed:
    print("This copy of the project holds no benchmark record. `make bench` makes one.")

# %% [markdown]
# The cell also lists targets for the times that our code has not reached. How close to a target can a step be at all?
# Every step needs certain matrix products in any case. Take 784-512-512-10, with 668,672 weights and a batch of 256.
# The forward pass has 342 million operations, the sums over examples have as many, and the way back of BP has 137
# million. `make bench` times these products alone, in the same run. Their time is the **floor** of the step. For the
# network of convolutions, `make bench` computes the floor from the number of operations in the definition and the
# rate of the fastest product of the run. Our kernels of convolutions do fewer operations, by the algorithm of Toom
# and Cook. So a step can take less time than this floor. The next cell prints bytes too. These are the bytes of
# parameters, momentum and training examples, each counted once.
#
# **Remains** is the time beyond the floor: activations, clips, noise, the update, and waiting. **Least** is the
# ratio, or the time in seconds, that the floor alone would give. If this value is larger than the wanted value, the
# target cannot be reached with products at this rate. If a target compares an epoch with the steps of this epoch, its
# floor contains the time of these steps. Some benchmark records contain the time taken to read the data. In such a
# benchmark record, the floor also contains this time. It then also contains the time of the forward passes that
# measure the accuracy at the end of the epoch.

# %%
for run in runs_timed:
    for row in run["targets"]:
        counted = row.get("arithmetic")
        if not counted or row["reached"]:
            continue
        floor, own, rest = (1e3 * counted[key] for key in ("floor", "ours", "rest"))
        print(f"{row['what']} ({row['core']})")
        print(f"  {counted['flops'] / 1e9:8.2f} Gflop {counted['bytes'] / 1e6:8.1f} MB,", end=" ")
        print(f"floor {floor:8.2f} ms, ours {own:8.2f} ms, remains {rest:8.2f} ms")
        beyond = "  no room for it" if counted["least"] > row["at_most"] else ""
        print(f"  least {counted['least']:.2f}, wanted {row['at_most']:.2f}{beyond}")

# %% [markdown]
# The next cell prints the times of the clips of a run, in microseconds, next to those of NumPy. Our runs use the
# kernel at every size, although it is slower than NumPy for the smallest arrays. We clip in each layer, and the time
# lost on small arrays is less than the time gained on large arrays.

# %%
for run in runs_timed:
    clips, core = run["groups"].get("clips", {"contenders": {}})["contenders"], next(iter(run["core_types"]))
    if clips:
        bound, plain = (clips[name][core]["times"] for name in ("as bound", "plain NumPy"))
        for label in bound:
            two = (1e6 * statistics.median(times[label]["wall"]) for times in (bound, plain))
            print("{:20} {:8.1f} {:8.1f}".format(label, *two))

# %% [markdown]
# Some benchmark records also contain how the time grows with the size. We fit a line to the logarithms of time and
# size, and the slope of this line is the exponent. With an exponent of 1, twice the size takes twice the time. With
# an exponent of 2, it takes four times as long. The interval shows how much the slope changes if we draw the rounds
# again from those that were timed (a bootstrap, 95 %). The interval does not cover effects that are the same in every
# round, for example those of the processor. Steps use one thread, except in the rows in which the number of threads
# grows. From some size on, our kernels would use more threads, and a slope across this size would describe neither
# case.

# %%
for run in runs_timed:
    for row in run.get("growth", {}).get("rows", []):
        low, high = row["interval"]
        span = f"{row['values'][0]:,} to {row['values'][-1]:,}"
        print(f"{row['axis']:8} {span:14} {row['name']:8}", end=" ")
        print(f"exponent {row['exponent']:5.2f} ({low:.2f} to {high:.2f})")
if not any("growth" in run for run in runs_timed):
    print("No record of growth here.")

# %% [markdown]
# On the axis `repeats`, the number $K$ of losses of ULR for each example grows. On the axis `records`, the number of
# training records grows, and we time one epoch of DP-DFA. On the axis `jobs`, a growing number of processes shares
# four runs. On this axis, the exponent would be $-1$ if the processes shared the work perfectly.
#
# **The list above also shows where other programs are faster.** Our private step gains time from a method of this
# page: it computes norms by identities, and forms no gradient for each example.
#
# ## What you have learnt
#
# - For a batch of 128, the time of the noise is not small compared with that of the matrix products.
# - The norm of an outer product is the product of the norms, so DP-SGD on dense layers need not form 128 gradients.
# - If the examples are split and not the products, the cores wait only once, and the direction stays bitwise
#   identical.
# - The backward pass of DFA is not a chain, so DFA can gain from many cores. But its forward pass stays a chain.
# - A matrix that is never stored saves memory, but on a processor it saves no time.
#
# ## Exercises
#
# 1. **By hand.** Take widths 784-256-256-10, and count the multiplications of BP and of DFA for each example. Count
#    the forward pass, the backward pass without outer products, and the outer products. What is the ratio of the
#    backward passes? What is the ratio of the sums of all three, for DFA over BP? Check: 13 to 1, and 0.90 in the
#    first figure.
# 2. **The batch.** Time DP-DFA and BP for batches of 16, 128 and 1,024. Also time DP-DFA with `sigma=0.0`, which
#    draws nothing. For which batches is the time of the noise small compared with the time of the step? Check: for
#    us, DP-DFA took 3 times BP's time at 16, and was within a tenth of it at 1,024.
# 3. **No identity.** Take `nfa.network.dense.Conv2d(16, 3).bind((1, 12, 12))` and $\delta z$ of the shape (128, 16,
#    10, 10). Compute the norms by `norms2`, and through the gradients one by one (`outer` of one example). What is
#    the ratio of the two times? Check: the norms are the same, and the ratio is nearer to 5 than to the ratio of the
#    dense layer above.
# 4. **Ternary errors.** Suppose that each row of $e$ has at most two entries different from 0. `Unstored.project`
#    still draws all columns that any example uses. Time this function for 10 classes and for 1,000, in batches of 8.
#    Compare the times with those for errors without a zero. Check: no gain for 10 classes, and a factor of about 60
#    for 1,000.
#
# ## Three questions
#
# Answer each before you unfold it.
#
# <details><summary>1. Why does a step of DP-SGD on dense layers not take 128 times as long as a step of BP, for 128
# records?</summary>
#
# The norm of an outer product is the product of the norms. To clip a gradient, we multiply δz by a weight. So we
# never form the 128 gradients.
#
# </details>
#
# <details><summary>2. The backward pass of DFA is not a chain. Why is a step not twice as fast on many
# cores?</summary>
#
# The forward pass stays a chain. Only the backward pass takes less time. Every rule also needs the time of the outer
# products and of the noise.
#
# </details>
#
# <details><summary>3. When is a matrix that is never stored useful?</summary>
#
# It is useful if the matrix does not fit into memory. Drawing an entry takes longer than reading it, so on a
# processor the memory is the only gain.
#
# </details>
#
# ## Further reading
#
# - Goodfellow, "Efficient per-example gradient computations", 2015,
#   [arXiv:1510.01799](https://arxiv.org/abs/1510.01799): the identity of this tutorial.
# - Li, Tramèr, Liang & Hashimoto, "Large language models can be strong differentially private learners", ICLR 2022,
#   [arXiv:2110.05679](https://arxiv.org/abs/2110.05679): norms without gradients for transformers.
# - Subramani, Vadivelu & Kamath, "Enabling fast differentially private SGD via just-in-time compilation and
#   vectorization", NeurIPS 2021, [arXiv:2010.09063](https://arxiv.org/abs/2010.09063): measurements of the time of
#   private training in other programs.
