# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 13 Write your own rule
#
# After this page you can turn an idea for training a neural network into a function of about ten lines. You can check
# this function without knowing the right answer in advance. You can also make the function private, and test its
# privacy claim by an experiment that catches the usual mistakes.
#
# **Have this page open**: Lee & Kifer (2020), Section 3.2, Equations 2, 3 and 5, and Definition 4 (sensitivity). In
# Equation 5, the authors replace the product $(W^{l+1})^\top \delta z^{l+1}$ of Equation 2, and get a new learning
# rule. You can do this too. This tutorial begins with an idea, and ends with a private training and an audit that
# detects the usual mistakes.
#
# The idea is to send the error back through only the **signs** of the weights, $\mathrm{sign}(W^{l+1})^\top$ times the
# mean of their absolute values. This rule is known as sign symmetry, and is in none of the papers.
#
# You need {doc}`02_feedback_alignment`, and for the second half {doc}`05_sensitivity`.
#
# The statements we meet: {ref}`lee2020:eq2 <lee2020-eq2>`, {ref}`lee2020:eq3 <lee2020-eq3>`, {ref}`lee2020:eq5
# <lee2020-eq5>`, {ref}`lee2020:def4 <lee2020-def4>`, {ref}`lee2020:adjacency <lee2020-adjacency>`,
# {ref}`dpulr2024:thm2 <dpulr2024-thm2>` and {ref}`dpulr2024:alg1.L195 <dpulr2024-alg1-l195>`.

# %%
import inspect
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import nfa
from nfa import data, feedback, network, noise, ops, optim, sampling
from nfa.audit.dp_sgd import worst_pair
from nfa.audit.private_game import Pair, flat, measure_pair
from nfa.audit.reports import AuditOptions
from nfa.clip import clip_factor
from nfa.experiments.checkpoint import load_checkpoint, save_checkpoint
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.network import forward
from nfa.noise import add_normal
from nfa.privacy.accountant import epsilon
from nfa.privacy.gaussians import epsilon_gaussian
from nfa.rules.bp import bp
from nfa.rules.dfa import dfa
from nfa.sensitivity import clipped_sensitivity
from nfa.train import train

plt.rcParams.update({"figure.figsize": (7, 3.6), "figure.constrained_layout.use": True})
plt.rcParams["axes.grid"] = True

# %% [markdown]
# ## A rule is a function
#
# A rule takes a network, a batch and a generator. It returns the direction to **subtract**: `dW[l]`, `db[l]` for the
# layers 1 to $L$, with an empty slot 0. You need not inherit from a class or register anything. `net.pull(l, z, v)`
# takes a vector at $h^l$ back to $z^l$ (times $\phi'$, and through pooling). `net.map[l]` has the products of the
# layer, so the same rule also runs on convolutions.


# %%
def carried_back(net, z, y):
    """dz of every layer: the error, sent back through the signs of the weights."""
    dz = [None] * (net.L + 1)
    dz[net.L] = net.loss.error(z[net.L], y)  # e = y_hat - y   (k, n_L)
    for l in range(net.L - 1, 0, -1):
        W = net.W[l + 1]
        signs = np.sign(W) * np.abs(W).mean()
        dz[l] = net.pull(l, z, net.map[l + 1].transpose(signs, dz[l + 1]))  # (k, n_l)
    return dz


def sign_bp(net, x, y, *, m=None, rng=None):
    """Backpropagation through the signs of the weights."""
    m = len(x) if m is None else m
    z, h = forward(net, x)
    dz = carried_back(net, z, y)
    dW, db = [None] * (net.L + 1), [None] * (net.L + 1)
    for l in range(1, net.L + 1):
        dW[l], db[l] = net.map[l].outer(dz[l] / float(m), net.input(l, h))  # dz h^T
    return dW, db


# %% [markdown]
# ## Is the rule correct? Compare it with something independent
#
# You cannot compare a rule with the gradient if the rule is not the gradient. But you can check parts of the rule and
# special cases:
#
# 1. At the top, $\delta z^L = e$, so `dW[L]` **is** the gradient. You can compute this gradient by central differences
#    of the loss.
# 2. If all weights of a layer have the same absolute value, $\mathrm{sign}(W)$ times the mean absolute value is $W$.
#    Then the rule is backpropagation in every layer.
# 3. For every rule, the direction of a batch is an average over its records.
#
# **Predict before you run the next cell**: We change the rule in four ways that make it wrong. Which check catches
# which change?


# %%
def by_differences(net, l, x, y, step=1e-6):
    """The derivative of the mean loss by W[l], entry by entry."""
    found = np.zeros_like(net.W[l])
    for where in np.ndindex(net.W[l].shape):
        ends = []
        for sign in (1, -1):
            other = net.copy()
            other.W[l][where] += sign * step
            z, _ = forward(other, x)
            ends.append(net.loss.value(z[net.L], y).mean())
        found[where] = (ends[0] - ends[1]) / (2 * step)
    return found


def checks(rule):
    """Which of the three checks the rule passes."""
    rng = np.random.default_rng(1)
    net = network.mlp([3, 4, 4, 2], ops.tanh, rng=rng)
    x, y = rng.standard_normal((5, 3)), np.eye(2)[rng.integers(2, size=5)]
    top = np.allclose(rule(net, x, y)[0][3], by_differences(net, 3, x, y), atol=1e-8)
    one_by_one = [flat(*rule(net, x[i : i + 1], y[i : i + 1], m=5)) for i in range(5)]
    average = np.allclose(flat(*rule(net, x, y, m=5)), sum(one_by_one), atol=1e-12)
    for l in (1, 2, 3):
        net.W[l] = 0.3 * np.sign(net.W[l])
    pairs = [(rule(net, x, y)[0][l], by_differences(net, l, x, y)) for l in (1, 2, 3)]
    special = all(np.allclose(ours, theirs, atol=1e-8) for ours, theirs in pairs)
    return {"top layer": top, "equal weights": special, "average": average}


def wrong(change):
    """sign_bp with a change to its dz."""

    def rule(net, x, y, *, m=None, rng=None):
        m = len(x) if m is None else m
        z, h = forward(net, x)
        dz = change(net, z, h, y, carried_back(net, z, y))
        dW, db = [None] * (net.L + 1), [None] * (net.L + 1)
        for l in range(1, net.L + 1):
            dW[l], db[l] = net.map[l].outer(dz[l] / float(m), net.input(l, h))
        return dW, db

    return rule


def forgot_derivative(net, z, h, y, dz):
    return [None, *(dz[l] / net.phi[l].dphi(z[l]) for l in (1, 2)), dz[3]]


def sign_of_error(net, z, h, y, dz):
    return [None, *(-d for d in dz[1:])]


def derivative_at_top(net, z, h, y, dz):
    return [*dz[:3], dz[3] * h[3] * (1 - h[3])]


def centred(net, z, h, y, dz):
    return [None, *(d - d.mean(axis=0) for d in dz[1:])]


print(f"{'backpropagation':18}", checks(bp))
print(f"{'sign_bp':18}", checks(sign_bp))
for change in (forgot_derivative, sign_of_error, derivative_at_top, centred):
    print(f"{change.__name__:18}", checks(wrong(change)))

# %% [markdown]
# Only `sign_bp` and backpropagation pass all three checks. The most common mistake is a forgotten $\phi'$. Only the
# special case detects this mistake, so check more than the top layer. The last rule also fails the check of the
# average. This rule subtracts a mean over the batch, so its direction is not a sum over records. For such a rule,
# clipping each record would not bound how much one record changes the terms of the others.
#
# ## Does it learn?

# %%
images = data.load("fashion-mnist-small")
scaled = data.scale_pixels(images.x_train, images.x_test, "standard", np.float32)
x, x_test = (part.reshape(len(part), -1) for part in scaled)
y = data.one_hot(images.y_train, images.classes, np.float32)


def history(rule, epochs=5, B=False):
    streams = noise.Streams(1)
    sizes = [784, 128, 128, 10]
    net = network.mlp(sizes, ops.tanh, rng=streams("init"), dtype=np.float32)
    if B:
        drawn = feedback.draw(net, law="normal", scale=0.3, rng=streams("feedback"))
        rule = partial(rule, B=drawn)
    batches = sampling.EpochPartition(x, y, 60, streams)
    found = []
    for t in train(net, rule, batches, optim.SGD(0.02, momentum=0.9), streams):
        if t % batches.steps_per_epoch == 0:
            found.append(100 * network.accuracy(net, x_test, images.y_test))
        if t == epochs * batches.steps_per_epoch:
            return found


fig, ax = plt.subplots()
for name, found in (
    ("backpropagation", history(bp)),
    ("sign_bp", history(sign_bp)),
    ("DFA", history(dfa, B=True)),
):
    ax.plot(range(1, 6), found, "o-", label=f"{name}, {found[-1]:.1f} at the end")
ax.set(
    xlabel="epoch",
    ylabel="test accuracy, percent",
    title="6,000 images, 784-128-128-10",
    xticks=range(1, 6),
)
ax.legend()
# In words: Accuracy after each of five epochs for backpropagation, sign_bp and DFA. The three curves are close to each
# other.
plt.show()

# %% [markdown]
# The rule learns. The three accuracies at the end are within a few points of each other. From one seed on so few
# images, we cannot conclude more.
#
# ## Make it private
#
# A private rule does three things, in this order. It bounds the contribution of each record (**clip**), divides the
# sum by a **public** number $m$, and adds noise to **every** entry. The estimate of a record is $\delta z_i h_i^\top$
# in each layer. `net.map[l].terms` computes its squared norm (`norms2`), without forming the estimate where algebra
# allows it. `outer` adds up the terms with a weight for each record. If the forward or backward pass of a record
# overflows, the record's norm is NaN. Then the test `norm > C` is false, so a simple clip would not change the
# record. `clip_factor` gives such a record the weight 0. `outer` leaves out records with the weight 0, because 0
# times infinity is NaN.
#
# The function `mechanism` describes one step of the rule as a Gaussian release, with the sensitivity for the named
# neighbours ({ref}`lee2020:def4 <lee2020-def4>`, {ref}`lee2020:adjacency <lee2020-adjacency>`). If there is no
# guarantee, `mechanism` raises `NoGuarantee` with the id of the statement that explains why. The optional `state` is
# for values that a rule reports or remembers. The history of a run contains the value that the rule stores under
# `clipped`.


# %%
def private_sign_bp(net, x, y, *, C, m, sigma, rng, state=None):
    """sign_bp with each record clipped to C over all layers, and noise on the average."""
    z, h = forward(net, x)
    dz = carried_back(net, z, y)
    layers = range(1, net.L + 1)
    own = {l: net.map[l].terms(dz[l], net.input(l, h)) for l in layers}  # dz_i h_i^T, dz_i
    norms2 = [sum(own[l].norms2()) for l in layers]
    norms = np.sqrt(sum(norms2))  # over all layers, weights and biases   (k,)
    factor = clip_factor(norms, C) / float(m)  # min(1, C / norm) / m
    dW, db = [None] * (net.L + 1), [None] * (net.L + 1)
    for l in layers:
        dW[l], db[l] = own[l].outer(factor)
        add_normal(dW[l], sigma, rng)
        add_normal(db[l], sigma, rng)
    if state is not None:
        state["clipped"] = float(np.mean(norms > C)) if len(x) else 0.0
    return dW, db


def mechanism(*, C, m, sigma, adjacency, sampling, sampling_rate):
    """The release of one step of private_sign_bp."""
    if sigma == 0:
        raise NoGuarantee("lee2020:lem1", "without noise a release protects nothing")
    return Mechanism(
        law="gaussian",
        sensitivity=clipped_sensitivity(C=C, m=m, adjacency=adjacency),
        adjacency=adjacency,
        noise_std=sigma,
        sampling=sampling,
        sampling_rate=sampling_rate,
    )


told = {}
net = network.mlp([784, 16, 10], ops.tanh, rng=np.random.default_rng(0), dtype=np.float32)
first = np.random.default_rng(1)
private_sign_bp(net, x[:200], y[:200], C=10.0, m=200, sigma=0.01, rng=first, state=told)
print(f"clipped at C = 10: {told['clipped']:.1%}")
where = {"adjacency": "add-remove", "sampling": "poisson", "sampling_rate": 0.05}
released = mechanism(C=1.0, m=300, sigma=1 / 300, **where)
print(f"80 steps: ε = {epsilon([(released, 80)], delta=1e-5).epsilon:.3f}")
try:
    mechanism(C=1.0, m=300, sigma=0, **where)
except NoGuarantee as refusal:
    print(refusal)

# %% [markdown]
# ## The empty batch
#
# Under Poisson sampling, each record is in the batch independently of the others, so sooner or later a batch is empty.
# **Predict**: What must a private rule return for a batch of no records?

# %%
nobody = x[:0], y[:0]
dW, _ = private_sign_bp(net, *nobody, C=1.0, m=300, sigma=0.01, rng=first)
print(f"private_sign_bp: noise alone, of standard deviation {dW[1].std():.4f}")
dW, _ = sign_bp(net, *nobody)
print(f"sign_bp: largest entry {np.abs(dW[1]).max()}")

# %% [markdown]
# A private rule must return the noise alone. An exact 0, a crash, or a skipped step would reveal that the batch was
# empty, which is a fact about the data. (Do not draw again until the batch is large enough, because nfa has no
# theorem about such batches, {ref}`dpulr2024:alg1.L195 <dpulr2024-alg1-l195>`.)
#
# ## An audit that catches the mistake
#
# The function `mechanism` states a claim. Does the code satisfy this claim? We play the distinguishing game on
# **worst neighbours**. These are two batches that differ in one record and between which the rule's direction moves
# as far as possible. Then we test whether the lower bound on $\epsilon$, with 95 % confidence and given that the
# noise is Gaussian, stays below the claim. `nfa.audit.dp_sgd.worst_pair` returns such a pair for a record that is
# replaced. The pair has two classes. The same record with the other label has exactly the opposite estimate, because
# our rule is linear in the error. For a record that is added, we build our own pair: seven equal records, and an
# eighth record with the opposite estimate.
#
# We compare four rules. Only one of them is right. **Predict** which of the four is refuted on which pair:
#
# - `right`: the rule above;
# - `2C`: clips to $2C$, but the claim is for $C$ (it is also wrong by the factor 2 to claim the sensitivity $C/m$ if
#   a record is replaced);
# - `layer by layer`: clips each layer to $C$ separately;
# - `len(x)`: divides by the number of records in the batch.


# %%
def doubled(net, x, y, *, C, **rest):
    return private_sign_bp(net, x, y, C=2 * C, **rest)


def divides_by_len(net, x, y, *, m, **rest):
    return private_sign_bp(net, x, y, m=len(x), **rest)


def layer_by_layer(net, x, y, *, C, m, sigma, rng):
    z, h = forward(net, x)
    dz = carried_back(net, z, y)
    dW, db = [None], [None]
    for l in range(1, net.L + 1):
        norms = np.sqrt(sum(net.map[l].norms2(dz[l], net.input(l, h))))
        scaled = dz[l] * clip_factor(norms, C)[:, None] / m
        terms = net.map[l].outer(scaled, net.input(l, h))
        for into, one in zip((dW, db), terms, strict=True):
            add_normal(one, sigma, rng)
            into.append(one)
    return dW, db


M, C = 8, 0.01
small, xs, ys = worst_pair("replace-one", seed=2)
eight = np.tile(xs[0][:1], (8, 1)), np.tile(ys[0][:1], (8, 1))
eight[1][7] = 1 - eight[1][7]  # the same record, with the other label
pairs = {
    "replace-one": (xs, ys),
    "add-remove": ((eight[0][:7], eight[0]), (eight[1][:7], eight[1])),
}
rules = {
    "right": private_sign_bp,
    "2C": doubled,
    "layer by layer": layer_by_layer,
    "len(x)": divides_by_len,
}
settings = AuditOptions(trials=1000, seed=1)
rows = {}
for k, (adjacency, (x01, y01)) in enumerate(pairs.items()):
    for j, (name, rule) in enumerate(rules.items()):
        moved = clipped_sensitivity(C=C, m=M, adjacency=adjacency)  # the sensitivity that all four rules claim
        pair = Pair(rule=partial(rule, small, C=C, m=M), x=x01, y=y01, sigma=moved)
        claim = epsilon_gaussian(delta=settings.delta, noise_multiplier=1.0)
        game = {"trials": 1000, "claims": {"claimed": claim}, "exact": claim}
        shown = measure_pair(name, pair, settings=settings, stream=10 * k + j, **game)
        f0, f1 = pair.noiseless()
        rows[adjacency, name] = shown.lower_bound
        caught = "REFUTED" if shown.lower_bound > claim else ""
        times = np.linalg.norm(f1 - f0) / moved
        print(f"{adjacency:12}{name:15} moves {times:.2f} times the claim,", end=" ")
        print(f"ε ≥ {shown.lower_bound:5.2f}, claimed {claim:.2f} {caught}")

# %%
fig, ax = plt.subplots()
for shift, adjacency in ((-0.2, "replace-one"), (0.2, "add-remove")):
    heights = [rows[adjacency, name] for name in rules]
    ax.bar(np.arange(4) + shift, heights, 0.4, label=adjacency)
ax.axhline(claim, color="k", ls="--", label="claimed, exactly")
ax.set_xticks(range(4), list(rules))
ax.set_axisbelow(True)
ax.set(
    ylabel="lower bound on ε, 95 % confidence",
    title="1000 runs in each world, noise multiplier 1",
)
ax.legend()
# In words: Bars of the lower bound on epsilon for four versions of a rule and two adjacencies. The right rule stays
# just below the dashed claim. The wrong rules are above the claim, one of them for one adjacency only.
plt.show()

# %% [markdown]
# The right rule moves exactly as far as it claims, and is not refuted. The lower bound is just below the claim, so
# hardly any pair can be worse. This result is not a proof. `2C` and `layer by layer` are refuted on both pairs.
# `len(x)` passes when a record is **replaced**, because then the number of records stays the same. `len(x)` is
# refuted when a record is **added**, because then the terms of the seven other records change too.
#
# The result of an audit depends on the neighbours. For example, call `worst_pair` with `seed=1`. In that pair, the
# two rows of the output layer happen to have equal signs everywhere. So no error reaches the hidden layer, and
# `layer by layer` passes. You must find a pair for which the direction of every layer changes.
#
# ## Stop and continue
#
# Suppose that a long run is interrupted. All random values of step $t$ come from `streams(purpose, t)`. So a
# checkpoint contains the parameters, the optimizer's memory, $t$, and the rule's `state`, if the rule remembers
# something. The next rule remembers a running average of its own directions:


# %%
def remembering(net, x, y, *, state, rng=None):
    """sign_bp, averaged over the steps: 0.9 times the past average plus 0.1 times the new direction."""
    dW, db = sign_bp(net, x, y)
    for l in range(1, net.L + 1):
        for name, now in ((f"W{l}", dW), (f"b{l}", db)):
            now[l] = 0.9 * state.get(name, 0.0) + 0.1 * now[l]
            state[name] = now[l]
    return dW, db


def parts():
    streams = noise.Streams(1)
    net = network.mlp([784, 16, 10], ops.tanh, rng=streams("init"), dtype=np.float32)
    batches = sampling.EpochPartition(x, y, 60, streams)
    return net, batches, optim.SGD(0.1), streams, {}


def go(net, batches, optimizer, streams, state, start, stop):
    rule = partial(remembering, state=state)
    for t in train(net, rule, batches, optimizer, streams, start=start):
        if t == stop:
            return flat(net.W, net.b)


folder = tempfile.TemporaryDirectory()
saved = Path(folder.name) / "run.npz"
uninterrupted = go(*parts(), start=0, stop=20)

net, batches, optimizer, streams, state = parts()
go(net, batches, optimizer, streams, state, start=0, stop=10)
save_checkpoint(saved, net, optimizer, 10, state)

for kept in (True, False):
    net, batches, optimizer, streams, state = parts()
    t, _ = load_checkpoint(saved, net, optimizer, state if kept else None)
    resumed = go(net, batches, optimizer, streams, state, start=t, stop=20)
    print(f"with the rule's state: {kept!s:5} bitwise identical:", (resumed == uninterrupted).all())

# %% [markdown]
# ## From the command line
#
# Put the functions into a file. `nfa train --rule my_rule:private_sign_bp` then runs them like nfa's own rules. You
# can resume such a run, and its record contains $\epsilon$. The command finds `mechanism` in the module that you
# name, binds the values of `--set`, and asks for the neighbours and $\delta$ of your claim. If you give
# `--target-epsilon 3` in place of `--set sigma=0.03`, the command computes the necessary noise from `mechanism`. If
# your setting for the noise is not called sigma, write `NOISE = "name"` next to `mechanism`.
#
# The command computes $\epsilon$ from **your** claim. nfa has not checked this claim. So the record repeats the claim
# under your rule's name, as `unchecked`. It never contains `private: true`, not even with `--secure`. A secure run (a
# run with `--secure`) passes the function that adds its noise by the keyword `add_normal`. It refuses a rule that
# does not take this keyword. It also refuses a function that wraps another function (`functools.wraps`), because the
# guarantee of the inner function does not hold for the code around it. Settings are JSON values, so you cannot pass a
# function with `--set`. {doc}`threat_model` describes the guarantees of nfa's own rules in such a run.
# `nfa rules my_rule:private_sign_bp` prints the settings, with the meanings from the section "Parameters" of your
# docstring.

# %%
header = """\
import numpy as np

from nfa.clip import clip_factor
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.network import forward
from nfa.noise import add_normal
from nfa.sensitivity import clipped_sensitivity
"""
functions = (carried_back, private_sign_bp, mechanism)
source = "\n\n".join([header, *(inspect.getsource(one) for one in functions)])
(Path(folder.name) / "my_rule.py").write_text(source, encoding="utf-8")

command = """nfa train --rule my_rule:private_sign_bp --set C=1 --set sigma=0.03
    --net 784-16-10 --train-examples 1000 --epochs 2 --batch 50 --lr 1 --momentum 0
    --sampling poisson --adjacency add-remove --delta 1e-5"""
found_here = {**os.environ, "PYTHONPATH": str(Path(nfa.__file__).parents[1])}
done = subprocess.run(
    [sys.executable, "-m", *command.split()],
    cwd=folder.name,
    env=found_here,
    capture_output=True,
    text=True,
)
print("$", command)
print(done.stdout or done.stderr)

# %% [markdown]
# For any rule with a `mechanism`, `nfa audit --rule` runs the tests of this page and more:
#
# - It searches for the neighbours that move the rule most. First it searches at random, and then by gradient ascent.
#   Then it tries records of every size that a float can have. For some of these sizes, a squared norm overflows or
#   becomes 0.
# - It measures the noise on every released number, also for an empty batch, and plays games on the neighbours that it
#   found.
# - Some batches have up to 64 records, some have copies of the record that differs, and some networks have three or
#   ten classes.
# - If your rule writes into its `state`, the audit tests whether a record of the first step moves any of 15 later
#   steps. In this test, the earlier releases of both worlds are the same.
# - The games use more than means. They test spread and correlation that depend on the data, and steps without noise.
#   Over four steps with the rule's `state`, they test noise that is used twice or taken back.
#
# Each score is chosen on separate runs and counted on fresh runs, so the confidence is correct. The audit refutes a
# rule if it finds that the stated sensitivity is too small. If a rule passes, this is not a proof. The verdict lists
# what was not tested, and the last line names the author of the claim.

# %%
command = """nfa audit --rule my_rule:private_sign_bp --set C=0.3 --set sigma=0.1 --net 4-3-2
    --adjacency add-remove --trials 300"""
done = subprocess.run(
    [sys.executable, "-m", *command.split()],
    cwd=folder.name,
    env=found_here,
    capture_output=True,
    text=True,
)
print("$", command)
print(done.stdout or done.stderr)

# %% [markdown]
# ## A network of your own
#
# `--net` takes the name of a paper's network, sizes such as `784-64-10`, or a text that describes the layers. Such a
# text consists of the shape of an input, a colon and the layers. `conv8-5` has 8 channels and kernels of $5 \times 5$,
# padded so that images keep their size. `pool2` takes the largest of $2 \times 2$ outputs of the layer before, and
# `avgpool2` takes their mean. `dense32` has 32 units. The last number is the number of classes. `--activation` is the
# activation of all layers except the last. For everything else (another stride, a skip, or an activation for each
# layer) write a function. `--net module:function` calls this function with the keywords `loss`, `init`, `rng` and
# `dtype`. All its randomness must come from `rng`.
#
# nfa states no guarantee of its own for your network, because the first weights of your network could depend on the
# training data. The record repeats the rule's claim, as `unchecked`. If you have changed the file of the network, nfa
# does not continue an interrupted run.

# %%
network = """\
from nfa.network import Conv2d, Dense, MaxPool, Net
from nfa.network.ops import relu, tanh


def net(**given):
    layers = [(Conv2d(8, 5, stride=2, padding="same"), relu, MaxPool(2)), (Dense(32), tanh), (Dense(10),)]
    return Net((1, 28, 28), layers, **given)
"""
(Path(folder.name) / "my_net.py").write_text(network, encoding="utf-8")

for name in ("my_net:net", "1x28x28:conv8-5,pool4,dense32,10"):
    command = f"""nfa train --rule dp_sgd --set C=1 --set sigma=.03 --net {name}
    --train-examples 1000 --epochs 2 --batch 50 --lr 1 --momentum 0 --pixels unit
    --sampling poisson --adjacency add-remove --delta 1e-5"""
    done = subprocess.run(
        [sys.executable, "-m", *command.split()], cwd=folder.name, env=found_here, capture_output=True, text=True
    )
    print("$", command)
    print(done.stdout or done.stderr)

# %%
folder.cleanup()

# %% [markdown]
# ## What you have learnt
#
# - A rule is a function of a network, a batch and a generator. It returns the direction to subtract.
# - You can check a rule at the top layer, in a special case, and as an average over records.
# - A private rule clips each record over all layers, divides by a public number, and adds noise to every entry.
# - For an empty batch, a private rule returns the noise alone.
# - An audit on worst neighbours can refute a wrong claim. An audit that refutes nothing is not a proof.
#
# ## Exercises
#
# 1. **By hand.** With two classes and a softmax, why does a record with the other label have exactly the opposite
#    estimate? Why is this false with three classes? Check: compute the `moves` column above with your own pair of
#    three classes. The value is below 1.00.
# 2. **Your rule.** Take random signs, drawn once, in place of $\mathrm{sign}(W)$, and compare the rule with DFA. With
#    which special case can you check this rule? Check: run `checks` above with the special case replaced by yours.
#    After five epochs the rule is within about a point of DFA.
# 3. **The right clip for each layer.** To which norm must you clip each layer, so that one record moves the whole
#    direction by at most $C$? Check: run the audit above on your rule. Your rule moves at most 1.00 times the claim.
#    `clip="layer"` of `nfa.rules.dp_sgd.dp_sgd` uses this clip.
# 4. **A bug in the noise.** Add noise to `dW` only. Does the audit above catch this bug? Which statistic of the
#    output catches it with certainty? Check: pass your statistic to `nfa.audit.game.play`, with `Pair.release` as the
#    mechanism and `high_means=None`. If the statistic is certain, the lower bound grows with the logarithm of the
#    number of trials. It is 4.4 at 300 trials and 6.7 at 3,000.
# 5. **Write the tests.** `tests/rules/test_rules.py` runs the checks of this page on the library's rules.
#    `nfa eq lee2020:eq5` names the tests of DFA. Read `test_dfa_equals_record_by_record_loops`, and write this test
#    for your rule. Check: `pytest` on your file. If you replace your rule by one of the four wrong rules above, the
#    test fails.
#
# ## Three questions
#
# Answer each before you unfold it.
#
# <details><summary>1. Your rule is not a gradient. With what can you compare it?</summary>
#
# You can compare the rule with the gradient at the top layer, and with a known rule in a special case. You can also
# compare it with loops over single records, and check that the direction of a batch is an average over its records.
#
# </details>
#
# <details><summary>2. What must a private rule return for an empty batch?</summary>
#
# It must return the noise alone. Anything else reveals that the batch was empty.
#
# </details>
#
# <details><summary>3. `nfa train` counts ε for your rule. What did nfa check?</summary>
#
# nfa checked only the arithmetic. Your `mechanism` states the sensitivity, so the record calls the claim unchecked.
# `nfa audit --rule` searches for a contradiction. If it finds none, this is not a proof.
#
# </details>
#
# ## Further reading
#
# - Liao, Leibo & Poggio, "How important is weight symmetry in backpropagation?", AAAI 2016,
#   [arXiv:1510.05067](https://arxiv.org/abs/1510.05067): sign symmetry, the rule of this tutorial.
# - Xiao et al., "Biologically-plausible learning algorithms can scale to large datasets", ICLR 2019,
#   [arXiv:1811.03567](https://arxiv.org/abs/1811.03567): sign symmetry on large problems.
# - Akrout et al., "Deep learning without weight transport", NeurIPS 2019,
#   [arXiv:1904.05391](https://arxiv.org/abs/1904.05391): feedback that learns the weights, a rule that you could write
#   next.
# - Tramèr et al., "Debugging differential privacy: a case study for privacy auditing", 2022,
#   [arXiv:2202.12219](https://arxiv.org/abs/2202.12219). An audit refutes a published guarantee, and the authors find
#   the bug that explains it.
