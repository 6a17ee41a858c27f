# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 02 Feedback alignment: why random feedback works
#
# After this page you can train a network that sends its error back through fixed random matrices, and not through its
# own weights. You can measure the angle between the direction of such an update and the gradient, and explain how
# this angle changes in training. You can also name the conditions under which random feedback fails.
#
# **Have this page open**: Lee & Kifer (2020), Section 3.2, from Equation 2 to the display below Equation 5, with
# Figure 1, or Ohana et al. (2021), Section 2.1, Equations 3 and 4. Backpropagation (BP) sends the error back through
# the transposed weights. Direct feedback alignment (DFA) sends the error to every layer through a matrix of random
# numbers, which is drawn once. Why can a network learn from an error that was multiplied by random numbers?
#
# You need {doc}`01_forward`: layers, $z^l$, $h^l$ and the error $e = \hat y - y$.
#
# Statements (claims, equations and figures of the papers) that this page uses: {ref}`lee2020:eq2 <lee2020-eq2>`,
# {ref}`lee2020:eq3 <lee2020-eq3>`, {ref}`lee2020:weight-transport <lee2020-weight-transport>`,
# {ref}`lee2020:dfa-backward <lee2020-dfa-backward>`, {ref}`lee2020:eq5 <lee2020-eq5>`,
# {ref}`lee2020:dfa-update <lee2020-dfa-update>`, {ref}`lee2020:fig1 <lee2020-fig1>`,
# {ref}`ohana2021:eq3 <ohana2021-eq3>`, {ref}`ohana2021:eq4 <ohana2021-eq4>`,
# {ref}`ohana2021:error <ohana2021-error>`, {ref}`ohana2021:dfa-parallel <ohana2021-dfa-parallel>`,
# {ref}`ohana2021:fig2 <ohana2021-fig2>` and {ref}`ohana2021:exp-ternary <ohana2021-exp-ternary>`.

# %%
from functools import partial

import matplotlib.pyplot as plt
import numpy as np

from nfa import data, feedback, network, noise, ops, optim, sampling
from nfa.experiments.alignment import Watched, alignment
from nfa.rules.bp import bp
from nfa.rules.dfa import dfa
from nfa.rules.tdfa import tdfa
from nfa.train import train

plt.rcParams.update({"figure.constrained_layout.use": True, "axes.grid": True})
plt.rcParams["axes.axisbelow"] = True

images = data.load("fashion-mnist-small")  # 6,000 training and 1,000 test images, without a download
pixels = images.x_train, images.x_test
x, x_test = data.scale_pixels(*pixels, how="standard", dtype=np.float32)
x, x_test = x.reshape(len(x), -1), x_test.reshape(len(x_test), -1)
y = data.one_hot(images.y_train, images.classes, np.float32)

# %% [markdown]
# ## Two ways back
#
# BP and DFA compute a learning signal $\delta z^l$ for each layer. From this signal, both rules compute the update of
# $W^l$ in the same way: the term of a record is the outer product $\delta z^l (h^{l-1})^\top$
# ({ref}`lee2020:eq3 <lee2020-eq3>`). The rules differ in how they compute $\delta z^l$:
#
# $$\text{BP:} \quad \delta z^l = \big((W^{l+1})^\top \delta z^{l+1}\big) \odot \phi_l'(z^l) \qquad\qquad
# \text{DFA:} \quad \delta z^l = \big(B^l e\big) \odot \phi_l'(z^l)$$
#
# Here $\odot$ multiplies two vectors entry by entry. In the top layer, both rules use $\delta z^L = e$. The matrix
# $B^l$, in code `B[l]`, sends the error to layer $l$. Equation 5 of Lee & Kifer and Equation 4 of Ohana et al. print
# $B^{l+1}$ for this matrix. Backpropagation needs $\delta z^{l+1}$ to compute $\delta z^l$, so it goes down layer by
# layer. DFA needs only $e$, so the layers do not wait for each other. Figure 1 of Lee & Kifer
# ({ref}`lee2020:fig1 <lee2020-fig1>`) shows both rules. The next cell prints the matrix and the vector of each
# product as a table:

# %%
for mode in ("bp", "dfa"):
    for l, (matrix, signal) in feedback.wiring(mode, 3).items():
        print(f"{mode:4} layer {l} takes {matrix:7} times {signal}")

# %% [markdown]
# BP computes the gradient of the loss. To test this, the next cell moves a single weight up and down a little. DFA
# does not compute the gradient of the loss. (In each layer, the direction of DFA is the gradient of another quantity.
# This quantity is the inner product of the vectors $h^l$ and $B^l e$, if we treat $e$ and $h^{l-1}$ as constants.
# Nobody chose this quantity as a goal.)

# %%
streams = noise.Streams(1)
net = network.mlp([784, 128, 128, 10], ops.tanh, rng=streams("init"))  # float64
B = feedback.draw(net, law="normal", scale=0.3, rng=streams("feedback"))  # entries N(0, 0.3²)
batch, targets = x[:64].astype(float), y[:64].astype(float)
by_bp, _ = bp(net, batch, targets)
by_dfa, _ = dfa(net, batch, targets, B=B)


def mean_loss(some_net):
    z, _ = network.forward(some_net, batch)
    return ops.cross_entropy(z[some_net.L], targets).mean()


l, j, k, step = 2, 5, 7, 1e-5
up, down = net.copy(), net.copy()
up.W[l][j, k] += step
down.W[l][j, k] -= step
print(f"derivative of the loss {(mean_loss(up) - mean_loss(down)) / (2 * step):+.10f}")
print(f"BP                     {by_bp[l][j, k]:+.10f}")
print(f"DFA                    {by_dfa[l][j, k]:+.10f}")

# %% [markdown]
# ## How far apart are the two directions?
#
# Take all entries of a layer's direction as one vector. The function `alignment(a, b, l)` computes the cosine of the
# angle between `a[l]` and `b[l]`, here between the directions of DFA and BP. The cosine is 1 if both vectors point in
# the same direction, and 0 if they are at a right angle. The optimizer subtracts the direction of a rule from the
# weights. If the cosine with the gradient is positive and the learning rate is small enough, the subtraction lowers
# the loss.
#
# **Predict before you run the next cell**: the network is not trained yet, and $B$ is random. What are the cosines in
# layers 1, 2 and 3?

# %%
print([round(alignment(by_dfa, by_bp, l), 3) for l in (1, 2, 3)])

# %% [markdown]
# In the hidden layers, the cosine is about 0. $B$ was drawn independently of $W$, so the inner product of the two
# directions is positive as often as negative. The directions have many entries, so the inner product is small
# compared with the product of the norms. In the top layer, the cosine is exactly 1, because both rules use $e$ there,
# without a matrix. The papers' formulas leave out the case $l = L$, but the papers mean $\delta z^L = e$
# ({ref}`ohana2021:eq4 <ohana2021-eq4>`).
#
# Now choose a $B$ with which both rules agree. For the layer below the top, this matrix is $(W^L)^\top$. With this
# choice, DFA (Equation 5 of Lee & Kifer) **is** BP (Equation 2) in this layer. One layer further down, take the
# product of the transposes, $B = (W^2)^\top (W^3)^\top$. Between these two matrices, BP multiplies by $\phi_2'(z^2)$,
# and DFA does not. So in this layer the two rules differ, except in a linear network, because there $\phi' = 1$:


# %%
def with_transposes(some_net):
    transposes = [None, some_net.W[2].T @ some_net.W[3].T, some_net.W[3].T, None]
    dW_bp, _ = bp(some_net, batch, targets)
    dW_dfa, _ = dfa(some_net, batch, targets, B=transposes)
    return [round(alignment(dW_dfa, dW_bp, l), 6) for l in (1, 2, 3)]


linear = network.mlp([784, 128, 128, 10], ops.identity, rng=streams("init"))
print("tanh  ", with_transposes(net))
print("linear", with_transposes(linear))

# %% [markdown]
# But this choice defeats the purpose of DFA. The purpose is a feedback that does not need the weights. For example,
# an optical device (tutorial {doc}`07_light`) sends light through scattering glass to multiply by a matrix. The glass
# fixes the matrix, so nobody can set it to the transposed weights. So we keep $B$ random, train, and measure the
# angle.
#
# ## Does the angle change?
#
# **Predict**: $B$ never changes. Will the cosine stay near 0? The next cell trains by DFA for three epochs. At every
# step, the cell compares the directions of DFA and BP, at the same weights and on the same batch.


# %%
def run(rule_for, hidden=(128, 128), *, epochs=3, init="uniform-fan-in", seed=1):
    """Train with rule_for(B). Return the net, cosines with BP, accuracies, and cosines of W^L and the transposed B."""
    streams = noise.Streams(seed)
    sizes = [784, *hidden, 10]
    net = network.mlp(sizes, ops.tanh, init=init, rng=streams("init"), dtype=np.float32)
    B = feedback.draw(net, law="normal", scale=0.3, rng=streams("feedback"))
    rule = Watched(rule_for(B), every=1, start=0, noted=[])
    batches = sampling.EpochPartition(x, y, 64, streams)
    accuracies, weights = [], []
    for t in train(net, rule, batches, optim.SGD(0.01, momentum=0.9), streams):
        weights.append(alignment([net.W[net.L].T], [B[net.L - 1]], 0))
        if t % batches.steps_per_epoch == 0:
            accuracies.append(network.accuracy(net, x_test, images.y_test))
        if t == epochs * batches.steps_per_epoch:
            return net, np.array(rule.noted), accuracies, weights


trained, cosines, accuracy_dfa, weights = run(lambda B: partial(dfa, B=B))


def smooth(values, width=9):
    return np.convolve(values, np.ones(width) / width, mode="valid")


fig, ax = plt.subplots(figsize=(7, 3.6))
for l in (1, 2):
    ax.plot(smooth(cosines[:, l - 1]), label=f"DFA with BP, layer {l}")
ax.plot(smooth(weights), "--", color="gray", label="$W^3$ with the transpose of B[2]")
ax.set(xlabel="step", ylabel="cosine (mean of 9 steps)", ylim=(-0.05, 1))
ax.set_title("Feedback alignment")
ax.legend()
# In words: Cosine over steps. In both hidden layers, DFA's direction rises from 0 within some hundred steps and stays
# high. The dashed cosine of the top weights with the transposed feedback rises too.
plt.show()
print("mean of the last 20 steps:", cosines[-20:].mean(axis=0).round(2))
print(f"weights at the end: {weights[-1]:.2f}, test accuracy of DFA {accuracy_dfa[-1]:.3f}")

# %% [markdown]
# The angle shrinks within a hundred steps or so. $B$ did not change, so **the weights have moved towards $B$**. The
# dashed line is the cosine between the top matrix $W^3$ and the transpose of `B[2]`. Equation 5 does not ask that
# these matrices become similar. The name feedback alignment comes from this similarity. On another page you can
# {ref}`choose the step of training with a slider <moving-angles>` and see the angle at this step, for two seeds.
# Ohana et al. show such cosines for their network ({ref}`ohana2021:fig2 <ohana2021-fig2>`, right).
#
# ## Why
#
# Take one hidden layer of tanh units, with all weights and biases zero. Make two steps with the learning rate $\eta$
# on one batch. In this section, the lower indices $i$ and $j$ are records. In the first step, $h^1 = 0$. So only the
# bias of the top layer changes, and $W^2$ stays zero. The hidden layer also changes. Because $\tanh'(0) = 1$, DFA
# adds $-\eta\, \frac1m \sum_i B e_i x_i^\top$ to $W^1$ and $-\eta\, \frac1m \sum_i B e_i$ to $b^1$. For small $z$,
# $\tanh z \approx z$. So in the second step, $h^1_j \approx -\eta B \frac1m \sum_i e_i\, (x_i \cdot x_j + 1)$. The
# $+1$ comes from the bias. So **the outputs of the hidden layer are now sums of errors, multiplied by $B$**. The
# second step adds $-\eta\, \frac1m \sum_j e_j (h^1_j)^\top$ to $W^2$, so
#
# $$W^2 \approx M B^\top, \qquad M = \frac{\eta^2}{m^2} \sum_{i,j} e_j \, (x_i \cdot x_j + 1)\, e_i^\top .$$
#
# Here $e_i$ is an error in the first step, and $e_j$ is an error in the second step. Suppose that both steps had the
# same errors. Let $E$ be the matrix with the rows $e_i$, and $G$ the matrix with the entries
# $G_{ij} = x_i \cdot x_j + 1$. $G$ is the Gram matrix (the matrix of inner products) of the vectors $(x_i, 1)$. Then
# $M$ would be proportional to $E^\top G E$. A Gram matrix is positive semi-definite, so $M$ would be positive
# semi-definite too. The trace of a product of two positive semi-definite matrices is at least 0. So the inner product
# $\langle W^2, B^\top \rangle = \operatorname{tr}(M B^\top B)$ would be at least 0 for every $B$. Is this also true
# on real images, if each step has its own errors?

# %%
# A network that starts at zero makes two steps by hand.
flat = network.mlp([784, 128, 10], ops.tanh, init="zeros", rng=streams("init"))
B_flat = feedback.draw(flat, law="normal", scale=0.3, rng=streams("feedback"))
for _ in range(2):
    dW, db = dfa(flat, batch, targets, B=B_flat)
    for l in (1, 2):
        flat.W[l] -= 1e-3 * dW[l]
        flat.b[l] -= 1e-3 * db[l]

M = flat.W[2] @ np.linalg.pinv(B_flat[1].T)
outside = np.linalg.norm(flat.W[2] - M @ B_flat[1].T) / np.linalg.norm(flat.W[2])
print(f"share of W that is not M B^T: {outside:.4f}")
eigenvalues = np.linalg.eigvalsh((M + M.T) / 2)[::-1]
print("eigenvalues of M, times 1e6:", (1e6 * eigenvalues).round(2))
print(f"cosine of W^2 and B^T: {alignment([flat.W[2].T], [B_flat[1]], 0):.2f}")

# %% [markdown]
# $W^2$ equals $M B^\top$ to within a thousandth. $M$ is not exactly symmetric, because the errors of the two steps
# differ slightly. So the cell computes the eigenvalues of the symmetric part of $M$. No eigenvalue is below 0 by more
# than rounding. One eigenvalue is zero, because the entries of each error sum to 0. This argument covers only the
# first two steps, and it is an approximation. No theorem of the papers says that the alignment continues. The curves
# above show that the alignment continued in our run.
#
# With random first weights, DFA reached a test accuracy of 82 % after three epochs. **Predict**: we train for three
# epochs again, but all weights are zero at the start. Which accuracies do backpropagation and DFA reach?

# %%
for name, rule_for in {"BP": lambda B: bp, "DFA": lambda B: partial(dfa, B=B)}.items():
    _, _, accuracies, _ = run(rule_for, init="zeros")
    print(f"{name:4} test accuracy {accuracies[-1]:.3f}")

# %% [markdown]
# Backpropagation multiplies the error by $W^{l+1} = 0$, so the hidden layers never change. The weights of the top
# layer do not change either, because their inputs are $\tanh(0) = 0$. Only the bias of the top layer changes, so the
# accuracy stays at chance. A sigmoid has the output 1/2 at 0. With sigmoids, the top layer learns, and later the
# layers below learn too. But all units of a hidden layer stay equal. DFA does not need the weights to send the error
# down. In this run, DFA reaches about 82 %, as with random first weights.
#
# ## What matters about $B$, and what does not
#
# If the weights move towards $B$, then $B$ must not change. We test this with two controls. The first control draws a
# **fresh** $B$ at every step, which is as random as the fixed $B$. In the second control, the hidden layers are
# **frozen**, so only the top layer learns. The direction of a frozen layer is zero, and we print the cosine 0 for it.
# The cell also trains with a third rule, TDFA, which sends only the signs of the large entries of $e$ to the hidden
# layers. The next section explains TDFA.


# %%
def fresh(B):
    def rule(net, x, y, *, rng):
        return dfa(net, x, y, B=feedback.draw(net, law="normal", scale=0.3, rng=rng))

    return rule


def frozen(B):
    def rule(net, x, y, *, rng):
        dW, db = bp(net, x, y)
        for l in range(1, net.L):
            dW[l] *= 0
            db[l] *= 0
        return dW, db

    return rule


rules = {
    "BP": lambda B: bp,
    "TDFA: signs of e": lambda B: partial(tdfa, B=B, t=0.15),
    "hidden layers frozen": frozen,
    "B fresh every step": fresh,
}
found = {name: run(rule_for) for name, rule_for in rules.items()}
found["DFA"] = trained, cosines, accuracy_dfa, weights
for name, (_, cosine, accuracies, _) in found.items():
    last = cosine[-20:].mean(axis=0).round(2)
    print(f"{name:21} cosines {last}, test accuracy {accuracies[-1]:.2f}")

# %%
styles = {
    "BP": "k",
    "DFA": "C0",
    "TDFA: signs of e": "C2",
    "hidden layers frozen": "C1",
    "B fresh every step": "C3",
}
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), width_ratios=(3, 2))
for name, style in styles.items():
    _, cosine, accuracies, _ = found[name]
    right.plot([0, 1, 2, 3], [0.1, *accuracies], style, marker="o", ms=3, label=name)
    if name not in ("BP", "hidden layers frozen"):
        left.plot(smooth(cosine[:, 1]), style, label=name)
left.set(xlabel="step", ylabel="cosine with BP, layer 2", ylim=(-0.3, 1))
left.set_title("Direction")
right.set(xlabel="epoch", ylabel="test accuracy", title="What is learnt", ylim=(0, 0.9))
right.set_xticks([0, 1, 2, 3])
right.legend(loc="lower right", fontsize=8)
# In words: Left, the cosine with backpropagation over steps: DFA and TDFA rise, a fresh B stays about 0. Right,
# accuracy after each of three epochs. BP and DFA are highest, TDFA is close to them, frozen hidden layers are below,
# and a fresh B is lowest.
plt.show()

# %% [markdown]
# With a fresh $B$, the cosine stays near 0. The accuracy is then lower than with frozen hidden layers, because random
# updates disturb these layers. We repeated the runs with the seeds 1 to 5. A fresh $B$ reaches 0.47 to 0.58, frozen
# layers 0.69 to 0.71, TDFA 0.78 to 0.80, BP 0.80 to 0.83 and DFA 0.82 to 0.83. In every seed, a fresh $B$ is the
# least accurate, and frozen layers are the second least accurate. TDFA is at most as accurate as BP and DFA. The
# accuracies of BP and DFA are so close that we cannot say which rule is better. So on these 6,000 images, DFA with a
# fixed $B$ is about as accurate as backpropagation. On the whole data set and with the network of Ohana et al., DFA
# is about a point less accurate than BP
# ({doc}`our rerun of Table 1 <generated/experiments/ohana2021-table1-paper>`). With convolutions the result is
# different ({ref}`lee2020:conv-dfa <lee2020-conv-dfa>`).
#
# ## Signs are enough
#
# The mirrors of an optical device are on or off, so the device shows images of 0 and 1 (tutorial 07). Two such
# images, one for the entries $+1$ and one for the entries $-1$, make a vector of $-1$, 0 and 1. So Ohana et al. send
# only the signs of the large entries of $e$ to the hidden layers, $t(e) \in \{-1, 0, 1\}^{10}$
# ({ref}`ohana2021:exp-ternary <ohana2021-exp-ternary>`). An entry of at most 0.15 in absolute value becomes 0. This
# rule is TDFA, which has the green curves above. TDFA also aligns with the gradient, but its angle stays larger than
# DFA's. How much of the error does a hidden layer receive under TDFA? In the output of the next cell, a record is
# "seen" if $t(e)$ is not zero:

# %%
for name, at in {"before training": net, "after three epochs": trained}.items():
    z, _ = network.forward(at, batch)
    e = at.loss.error(z[at.L], targets)
    t_e = feedback.ternarize(e, 0.15)
    shown = np.abs(t_e).sum(axis=1)
    seen = shown > 0
    norms = np.linalg.norm(e, axis=1) * np.sqrt(shown)
    cosine = (e * t_e).sum(axis=1)[seen] / norms[seen]
    entries = shown[seen].mean()
    print(f"{name:18} {seen.sum()} of 64 records seen, by {entries:.1f} entries;", end=" ")
    print(f"cosine of e and t(e) {cosine.mean():.2f}, angle {np.degrees(np.arccos(cosine)).mean():.0f} degrees")

# %% [markdown]
# Before training, the only large entry of $e$ is the entry of the right class, and this entry is nearly all of $e$.
# After three epochs, the network predicts many records rightly and with confidence. All entries of their errors are
# below the threshold, so the hidden layers do not learn from these records. The other records have about two entries
# above the threshold, and the hidden layers receive the signs of these entries.
#
# The **direction** of $t(e)$ is on average less than 20 degrees from the direction of $e$, before and after the three
# epochs. (The cosines and the angles are means over the seen records. After training, the angles differ more from
# record to record. So the same mean cosine goes with a smaller mean angle.) So for the seen records, TDFA loses
# little besides the norm of the error.
#
# ## Shallow and deep
#
# Every hidden layer gets its own $B$ and the error $e$ itself, at every depth. **Predict**: with more layers, which
# of the two rules loses accuracy first?

# %%
depths = (1, 2, 4, 8)
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
reached = {"BP": [], "DFA": []}
for depth in depths:
    for name, rule_for in {"BP": lambda B: bp, "DFA": lambda B: partial(dfa, B=B)}.items():
        _, cosine, accuracies, _ = run(rule_for, (128,) * depth)
        reached[name].append(accuracies[-1])
        if name == "DFA":
            hidden = cosine[-20:, :-1].mean(axis=0)
            left.plot(range(1, depth + 1), hidden, "o-", label=f"{depth} hidden")
left.set(xlabel="layer", ylabel="cosine of DFA with BP", ylim=(0, 1))
left.set_title("Direction, last 20 steps")
left.legend()
for name, values in reached.items():
    right.plot(depths, values, "o-", color=styles[name], label=name)
right.set(xlabel="hidden layers", ylabel="test accuracy", ylim=(0.6, 0.9))
right.set_title("After three epochs")
right.set_xticks(depths)
right.legend()
# In words: Left, the cosine with backpropagation by layer, for one, two, four and eight hidden layers. It is lower if
# there are more layers. Right, accuracy over the number of layers. The accuracy of BP falls at eight, that of DFA
# falls less.
plt.show()

# %% [markdown]
# In a deeper network, DFA's angle with the gradient is larger. But after three epochs with eight hidden layers,
# backpropagation is less accurate than DFA. With these first weights, the signal of backpropagation becomes smaller
# from layer to layer on its way down. DFA sends the error to each layer directly, so its signal does not become
# smaller in this way:

# %%
deep = network.mlp([784, *(128,) * 8, 10], ops.tanh, rng=streams("init"))
B_deep = feedback.draw(deep, law="normal", scale=0.3, rng=streams("feedback"))
by_bp, _ = bp(deep, batch, targets)
by_dfa, _ = dfa(deep, batch, targets, B=B_deep)
for name, dW in {"BP": by_bp, "DFA": by_dfa}.items():
    print(f"{name:4} norm of the first layer's direction {np.linalg.norm(dW[1]):.2g}")

# %% [markdown]
# So the accuracy does not depend on the angle alone. A comparison at one learning rate and three epochs does not
# decide which rule is better. The comparison only shows that a network can learn with random feedback, and how.
#
# ## What you have learnt
#
# - BP sends the error down through $W^\top$, layer by layer. DFA sends $e$ to each layer through a fixed random $B$.
# - Before training, DFA's direction in the hidden layers is at a right angle to the gradient. In the top layer, DFA's
#   direction is the gradient.
# - In training the weights move towards $B$, so the angle shrinks. $B$ never changes.
# - With a fresh $B$ at every step, a network is less accurate than with frozen hidden layers. With the signs of the
#   large errors (TDFA), a network is nearly as accurate as with the errors themselves (DFA).
# - With eight hidden layers, three epochs and one learning rate, BP is less accurate than DFA. This does not decide
#   which rule is better.
#
# ## Exercises
#
# Type the commands `nfa` and `pytest` in the folder of your clone (your copy of the project). `make test` installs
# both commands. In each new terminal, first type `source .venv/bin/activate` ({doc}`usage`).
#
# 1. **Equation 5 by hand.** `nfa course stub lee2020:eq5 --out mine.py` writes the head of a function
#    `dfa(net, x, y, *, B, ...)`. Write the body, with a loop over $l$ and with the shape of each array in a comment.
#    Check: `pytest --stub=mine.py` runs the tests of our function on your function. The page {doc}`student` shows
#    each step, and the messages after common mistakes. In this tutorial,
#    `alignment(mine.dfa(...)[0], dfa(...)[0], l)` is 1 for every layer, and the norms of both directions agree. Then
#    train with your function: `nfa train --rule mine:dfa`.
# 2. **The scale of $B$.** Repeat the run with `scale=0.03` and `scale=3` (`run` sets the scale to 0.3). For which
#    layers does the scale matter? With which optimizer, SGD or Adam, does the accuracy not depend on the scale? (Adam
#    divides each entry of the direction by a running estimate of the size of this entry.) Check: with
#    `optim.Adam(1e-3)` in place of `optim.SGD`, the accuracy is 0.81 at all three scales. Lee & Kifer fix the
#    spectral norm of $B$ instead, which is `scale` if `law="spectral"` ({ref}`lee2020:A1-A2 <lee2020-a1-a2>`). Why
#    does the spectral norm matter for privacy?
# 3. **A trap.** Multiply the top layer's $\delta z^L = e$ by $\hat y \odot (1 - \hat y)$. You get this product if you
#    apply Equation 5 literally to the top layer, with the identity in place of $B$ and $\hat y \odot (1 - \hat y)$ as
#    $\phi'$ of the softmax. Does the network still learn? Which share of the norm does the update of the top layer
#    keep? Check: the share is about 0.09 before training, for `net` and `batch` above. `nfa eq ohana2021:eq4` shows
#    the share for another network.
# 4. **The label instead of the error.** The rule `nfa.rules.drtp` sends the label to the hidden layers, in place of
#    the error. Add this rule to the picture of the controls (`partial(drtp, B=B)` in `rules`, a color in `styles`).
#    Check: Ohana et al. call this rule inferior. In our run, the cosines of the rule after three epochs are below
#    0.6. `nfa demo` prints a row for this rule.
# 5. **The picture of the paper.** `nfa reproduce ohana2021:fig2 --scale demo` draws the cosine in layer 2 for the
#    private rule of Ohana et al. The command takes a minute or two. The picture shows the rule without clips, with
#    clips, and with clips and noise. By which factor do the clips lower the cosine? By which factor does the noise
#    lower the cosine further? Check: the cosines are 0.32, 0.14 and 0.03 on average. Do the accuracies, which the
#    command prints as well, fall by the same factors?
#
# ## Three questions
#
# Answer each question before you unfold its answer.
#
# <details><summary>1. Random feedback is at a right angle to the gradient at first. Why does it not stay
# there?</summary>
#
# The angle shrinks because the weights move. After the first step, the outputs of the hidden layer are sums of
# errors, multiplied by $B$. The update of the top layer contains these outputs, so $W^L$ becomes similar to $B^\top$.
# $B$ itself never changes.
#
# </details>
#
# <details><summary>2. What happens if B is drawn anew at every step, and why?</summary>
#
# The weights cannot move towards a matrix that changes at every step. The angle stays at 90 degrees, and random
# updates disturb the hidden layers. The network is then less accurate than one with frozen hidden layers.
#
# </details>
#
# <details><summary>3. At which layer do DFA and backpropagation agree from the first step on?</summary>
#
# DFA and backpropagation agree at the top layer. There, both rules use $\delta z^L = e$, without a matrix.
#
# </details>
#
# ## Further reading
#
# - Lillicrap, Cownden, Tweed & Akerman, "Random synaptic feedback weights support error backpropagation for deep
#   learning", Nature Communications 7:13276, 2016: the first paper on random feedback, from layer to layer, with a
#   first explanation.
# - Nøkland, "Direct feedback alignment provides learning in deep neural networks", NeurIPS 2016,
#   [arXiv:1609.01596](https://arxiv.org/abs/1609.01596): sends the error straight to every layer. Lee & Kifer and
#   Ohana et al. use this rule.
# - Refinetti, d'Ascoli, Ohana & Goldt, "Align, then memorise: the dynamics of learning with feedback alignment", ICML
#   2021, [arXiv:2011.12428](https://arxiv.org/abs/2011.12428). The paper gives a theory of the angles above and
#   explains why convolutions do not align.
# - Bartunov et al., "Assessing the scalability of biologically-motivated deep learning algorithms and architectures",
#   NeurIPS 2018, [arXiv:1807.04587](https://arxiv.org/abs/1807.04587): shows where random feedback fails.
# - Launay et al., "Direct feedback alignment scales to modern deep learning tasks and architectures", NeurIPS 2020,
#   [arXiv:2006.12878](https://arxiv.org/abs/2006.12878): shows where DFA works.
