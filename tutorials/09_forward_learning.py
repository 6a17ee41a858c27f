# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 09 Learning from forward passes
#
# After this page you can train a neural network without computing a derivative: you add noise to a layer and measure
# how the loss reacts. You can say how accurate the estimated gradient is, and make it far more accurate with one
# additional evaluation of the loss. You can also train a network of steps, which backpropagation cannot train.
#
# **Have this page open**: "Forward Learning with Differential Privacy" (2024), Section 3.2, Equation 4. The paper
# trains a network without differentiating it. It adds noise to a layer and computes the loss. The noise and the loss
# together tell us how to reduce the loss. Why does this method work, how many forward passes does it need, and what
# can it do that backpropagation cannot?
#
# You need the forward pass, and you need to know what a gradient is. This tutorial is not about privacy. Tutorial 10
# tests the claim that the noise protects the records.
#
# The statements we meet: {ref}`dpulr2024:eq4 <dpulr2024-eq4>`, {ref}`dpulr2024:thm3 <dpulr2024-thm3>`,
# {ref}`dpulr2024:prop2 <dpulr2024-prop2>`, {ref}`dpulr2024:prop3 <dpulr2024-prop3>`, {ref}`dpulr2024:eq22
# <dpulr2024-eq22>` and {ref}`dpulr2024:efficiency <dpulr2024-efficiency>`.

# %%
from functools import partial

import matplotlib.pyplot as plt
import numpy as np

from nfa import data, network, noise, ops, optim, sampling
from nfa.mechanism import NoGuarantee
from nfa.network import forward
from nfa.network.dense import Dense
from nfa.papers.dpulr2024.variances import proxy_covariance
from nfa.rules.bp import bp
from nfa.rules.ulr import mechanism, proxy, ulr
from nfa.train import train

plt.rcParams.update({"figure.figsize": (7, 3.6), "figure.constrained_layout.use": True})
plt.rcParams["axes.grid"] = True

# %% [markdown]
# ## How the loss reacts to noise
#
# We use one record, two inputs, two hidden units and three classes. We add noise $\zeta \sim N(0, \sigma^2 I)$ to the
# pre-activation $z^1$ of the hidden layer, compute the loss $\mathcal L$, and multiply the noise by the loss:
#
# $$\widehat{\delta z} = \frac{1}{K \sigma^2} \sum_{k=1}^K \zeta_k \, \mathcal L(z^1 + \zeta_k)$$
#
# This estimate takes the place of $\delta z^1$ in $dW^1 = \delta z^1 (h^0)^\top$
# ({ref}`dpulr2024:eq4 <dpulr2024-eq4>`). The paper's $v$ is our $z$, and its noise $z$ is our $\zeta$. Samples of the
# noise with a larger loss have a larger weight, so the estimate moves towards the samples that raise the loss. We do
# not compute any derivative.
#
# The function `proxy` gives one estimate for each row of a batch. From a batch of 100,000 copies of our record, we get
# 100,000 independent estimates.

# %%
net = network.mlp([2, 2, 3], ops.tanh, rng=np.random.default_rng(0))
net.W[1][:], net.b[1][:] = [[0.3, -0.6], [0.8, 0.1]], 0
net.W[2][:], net.b[2][:] = [[1, -0.5], [0.2, 0.7], [-0.9, 0.4]], 0
x, y = np.array([[1.0, -2.0]]), np.eye(3)[[1]]


def estimates(sigma, K=1, copies=100_000, seed=1, **how):
    """Independent proxies for the derivative of the loss by z[1]: (copies, 2)."""
    z, h = forward(net, np.repeat(x, copies, axis=0))
    how |= {"rng": np.random.default_rng(seed), "chunk": 1 << 18}
    return proxy(net, 1, z, h, np.repeat(y, copies, axis=0), sigma=sigma, K=K, **how)


gradient = bp(net, x, y)[1][1]  # the derivative by b[1], which equals the derivative by z[1]
g = estimates(0.5)
print("gradient        ", gradient)
print("three estimates ", *g[:3])
print("mean of 100,000 ", g.mean(axis=0), "give or take", g.std(axis=0) / len(g) ** 0.5)

# %% [markdown]
# A single estimate is useless, but the mean of many estimates is near a limit. What is this limit? By Theorem 3 of
# the paper ({ref}`dpulr2024:thm3 <dpulr2024-thm3>`), the limit is not the gradient of the loss. It is the gradient of
# the **smoothed** loss $v \mapsto E \, \mathcal L(v + \zeta)$. We can check this theorem without any samples. The
# smoothed loss is an integral over two variables, and central differences give its gradient.

# %%
nodes, weights = np.polynomial.hermite_e.hermegauss(60)
u = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)  # every pair of nodes
w = np.outer(weights, weights).ravel() / (2 * np.pi)


def smoothed(v, sigma):
    """E L(v + zeta), by quadrature."""
    h0 = np.repeat(x, len(u), axis=0)
    z, _ = forward(net, start=1, z=[None, v + sigma * u], h=[h0])
    return w @ net.loss.value(z[2], np.repeat(y, len(u), axis=0))


def smoothed_gradient(sigma, step=1e-4):
    """Central differences of the smoothed loss at z[1]."""
    v = forward(net, x)[0][1]
    rises = [smoothed(v + e, sigma) - smoothed(v - e, sigma) for e in step * np.eye(2)]
    return np.array(rises) / (2 * step)


print("by central differences, smoothed", smoothed_gradient(0.5))
print("by noise, mean of 100,000       ", g.mean(axis=0))
print("without noise                   ", gradient)

# %% [markdown]
# The mean differs from the smoothed gradient by at most two standard errors of the mean. The smoothed gradient
# differs a little from the gradient. This difference is the **bias**, and no number of samples removes it. (Here we
# have too few samples to tell the two gradients apart. Below we use more samples.) A smaller $\sigma$ makes the bias
# smaller, but the estimate divides by $\sigma^2$.
#
# **Predict before you run the next cell**: We halve $\sigma$. By what factor does the bias change? By what factor does
# the variance of one estimate change?

# %%
sigmas = np.array([0.02, 0.05, 0.1, 0.2, 0.5, 1.0])
bias = [np.linalg.norm(smoothed_gradient(s) - gradient) for s in sigmas]
ways = {
    "plain": {},
    "with baseline": {"baseline": True},
    "antithetic pair": {"K": 2, "antithetic": True},
}
variance = {}
for name, how in ways.items():
    drawn = [estimates(s, copies=40_000, **how) for s in sigmas]
    variance[name] = [g.var(axis=0).sum() for g in drawn]
loss = net.loss.value(forward(net, x)[0][2], y)[0]

fig, (left, right) = plt.subplots(1, 2, figsize=(9.5, 3.8))
left.loglog(sigmas, bias, "o-", label="bias, exactly")
left.loglog(sigmas, bias[2] * (sigmas / 0.1) ** 2, ":", color="gray", label="slope 2")
left.set(xlabel="σ", ylabel="norm", title="The mean is off by a term in σ²")
left.legend()
for name, trace in variance.items():
    right.loglog(sigmas, trace, "o-", label=name)
right.loglog(sigmas, 2 * loss**2 / sigmas**2, ":", color="gray", label="ℓ₀²/σ² an entry")
right.set(xlabel="σ", ylabel="variance, both entries", title="One estimate")
right.legend()
# In words: Left, the norm of the bias over sigma, with slope 2. Right, the variance of one estimate. The variance of
# the plain estimate grows as sigma falls. The variances with a baseline and in pairs stay flat, thousands of times
# lower.
plt.show()
print("plain:        ", *np.round(variance["plain"], 1))
print("with baseline:", *np.round(variance["with baseline"], 2))

# %% [markdown]
# The bias falls to a quarter, and the variance grows to four times. The bias falls as $\sigma^2$ if $\sigma$ is
# small. At $\sigma = 0.5$, the curve of the bias does not have the slope 2 yet. The variance grows as
# $\ell_0^2 / \sigma^2$, and $\ell_0$ is the loss without noise ({ref}`dpulr2024:prop3 <dpulr2024-prop3>`). So most of
# an estimate depends only on how large the loss is, not on how it changes.
#
# So we subtract the part that contains no information about the change. The **baseline** is the loss without noise,
# which we subtract from every loss. Because $\zeta \ell_0$ has mean 0, the mean of the estimate does not change, and
# the term in $1/\sigma^2$ disappears. The **antithetic pair** takes the losses at $z + \zeta$ and at $z - \zeta$, and
# keeps half of their difference. The pair removes the term in $1/\sigma^2$ too, but it needs two losses for one
# estimate. At $\sigma = 0.02$, one additional forward pass divides the variance by thousands.
#
# With the baseline, a million samples do distinguish the smoothed gradient from the gradient. The next cell prints
# the differences of the mean from both gradients, in units of the standard error of the mean:

# %%
g = estimates(0.5, copies=1_000_000, seed=2, baseline=True)
error = g.std(axis=0) / len(g) ** 0.5
mean = g.mean(axis=0)
print("from the smoothed gradient:", ((mean - smoothed_gradient(0.5)) / error).round(1))
print("from the gradient:         ", ((mean - gradient) / error).round(1))

# %% [markdown]
# For tutorial 10, remember that the paper uses the term $\ell_0^2 / \sigma^2$ as protection. So Algorithm 1 has no
# baseline.
#
# The paper's Equations 22 and 23 expand the variance further. Their printed leading term is $\ell_0 / \sigma^2$,
# without the square ({ref}`dpulr2024:eq22 <dpulr2024-eq22>`). A loss that is exactly quadratic shows which of the two
# terms is right.

# %%
l0, g0, H = 1.3, np.array([0.7, -0.4]), np.array([[0.9, 0.2], [0.2, -0.5]])
quadratic = ops.Loss(
    "quadratic",
    lambda z: z,
    lambda z, y: l0 + z @ g0 + np.einsum("ij,jk,ik->i", z, H, z) / 2,
    lambda z, y: g0 + z @ H,
)
rng = np.random.default_rng(0)
flat = network.Net((1,), [(Dense(2),)], loss=quadratic, init="zeros", rng=rng)
zeros = np.zeros((400_000, 1))
z, h = forward(flat, zeros)
found = np.cov(proxy(flat, 1, z, h, zeros, sigma=0.3, K=1, rng=rng).T)
print("measured\n", found.round(2))
formula = proxy_covariance(loss=l0, g=g0, H=H, sigma=0.3)
print("formula, with ℓ₀²/σ²\n", formula.round(2))
print("ℓ₀²/σ² - ℓ₀/σ² =", round((l0**2 - l0) / 0.3**2, 2))

# %% [markdown]
# The measured matrix agrees with the formula that has the term $\ell_0^2/\sigma^2$. With the printed term, the
# diagonal would be 4.33 smaller.
#
# ## How many passes?
#
# With $K$ losses for each record and layer, the variance is divided by $K$. **Predict**: With $\sigma = 0.5$, from
# which $K$ on does a larger $K$ no longer help?

# %%
many = 4 ** np.arange(0, 7)
fig, ax = plt.subplots()
for s, color in ((0.5, "C0"), (0.1, "C1")):
    for name, style in (("plain", "-"), ("with baseline", "--")):
        error = []
        for K in many:
            off = estimates(s, K=int(K), copies=200, **ways[name]) - gradient
            error.append(np.sqrt(np.mean(np.sum(off**2, axis=1))))
        ax.loglog(many, error, "o" + style, color=color, ms=4, label=f"σ = {s}, {name}")
    ax.axhline(np.linalg.norm(smoothed_gradient(s) - gradient), color=color, ls=":")
ax.set(
    xlabel="K, losses for each record",
    ylabel="distance to the gradient",
    title="Variance, then bias (dotted)",
)
ax.legend()
# In words: Distance to the gradient over the number K of losses, for two sigmas, plain and with baseline. The lines
# fall straight and stay above the dotted bias. The lines with baseline are lower.
plt.show()

# %% [markdown]
# The slope is $-1/2$, as for every mean. The dotted lines are the bias, which the curves approach as $K$ grows. With
# 4,096 losses, the curves are still above the bias. The forward passes need not run through the whole network. Noise
# at layer $l$ changes nothing below this layer, so we run only the layers above it again.
#
# Section 3.4 says that DP-SGD is slow because its clip needs a backward pass for each record
# ({ref}`dpulr2024:efficiency <dpulr2024-efficiency>`). This claim is false. One backward pass of the whole batch
# gives every $\delta z_i$. The gradient $\delta z_i [h_i; 1]^\top$ of a dense layer has the norm
# $\|\delta z_i\| \sqrt{\|h_i\|^2 + 1}$. We compare the norms from one pass with those from 64 passes.
#
# (shown-dpulr2024-efficiency)=

# %%
drawn = np.random.default_rng(7)
records, hot = drawn.standard_normal((64, 2)), np.eye(3)[drawn.integers(3, size=64)]
z, h = forward(net, records)
top = net.loss.error(z[2], hot)
below = net.pull(1, z, net.map[2].transpose(net.W[2], top))  # the only backward pass, of all 64 records together
squares = [np.sum(dz**2, axis=1) * (np.sum(seen**2, axis=1) + 1) for dz, seen in ((below, h[0]), (top, h[1]))]
together = np.sqrt(sum(squares))
alone = []
for i in range(64):  # a backward pass for each record
    dW, db = bp(net, records[i : i + 1], hot[i : i + 1])
    alone.append(np.sqrt(sum(np.sum(part**2) for part in (*dW[1:], *db[1:]))))
print(f"norms from {together.min():.3f} to {together.max():.3f}")
print(f"largest difference between one pass and 64: {np.abs(together - alone).max():.0e}")

# %% [markdown]
# So neither method needs a backward pass for each record. DP-ULR spends its time on the $K$ losses of every record
# and layer.
#
# ## What backpropagation cannot do
#
# So far, the method did not need a derivative of the activation. Take a network of **steps**, $\phi(z) = 1[z > 0]$.
# Below the top layer, the gradient is 0 wherever it exists. But the smoothed loss of this network is smooth.

# %%
corners = np.array([[-1.0, -1], [-1, 1], [1, -1], [1, 1]])
xor = np.eye(2)[[0, 1, 1, 0]]
steps = network.mlp([2, 8, 2], ops.step, rng=np.random.default_rng(0))
dW, _ = bp(steps, corners, xor)
print("backpropagation, largest entry of dW[1]:", np.abs(dW[1]).max())

draw = np.random.default_rng(100)
losses = []
for _ in range(60):
    losses.append(steps.loss.value(forward(steps, corners)[0][2], xor).mean())
    dW, db = ulr(steps, corners, xor, sigma=0.5, K=40, baseline=True, rng=draw)
    for l in (1, 2):
        steps.W[l] -= 2.0 * dW[l]
        steps.b[l] -= 2.0 * db[l]
fig, ax = plt.subplots(figsize=(7, 3))
ax.semilogy(losses)
ax.set(xlabel="step", ylabel="loss, nats", title="Exclusive or with eight step units, by ULR")
ax.set_yticks([0.5, 0.2, 0.1, 0.05, 0.02], ["0.5", "0.2", "0.1", "0.05", "0.02"])
ax.minorticks_off()
# In words: Loss over 60 steps of forward learning on the exclusive or. The loss falls from about 0.7 to a few
# hundredths.
plt.show()
right = (network.predict(steps, corners) == [0, 1, 1, 0]).sum()
print(f"loss {losses[0]:.3f} -> {losses[-1]:.3f}; right: {right} of 4")

# %% [markdown]
# Forward learning solves a problem that backpropagation cannot even begin to solve. But do not let $\sigma$ go to 0
# here. Proposition 2 ({ref}`dpulr2024:prop2 <dpulr2024-prop2>`) says that the mean tends to the gradient as
# $\sigma \downarrow 0$. This proposition assumes that the loss has a gradient. Take the simplest loss with a jump,
# $\mathcal L = 1[z + \zeta > 0]$.
#
# **Predict**: What happens to the mean of the estimate at $z = 0$ as $\sigma$ falls?

# %%
jump = ops.Loss(
    "jump",
    lambda z: z,  # output of the network
    lambda z, y: (z[:, 0] > 0).astype(float),  # value of the loss
    lambda z, y: np.zeros_like(z),  # derivative of the loss, where it exists
)
unit = network.Net((1,), [(Dense(1),)], loss=jump, init="zeros", rng=rng)
at_zero = np.zeros((200_000, 1))
z, h = forward(unit, at_zero)
for s in (1.0, 0.1, 0.01):
    p = proxy(unit, 1, z, h, at_zero, sigma=s, K=1, rng=np.random.default_rng(3))
    error = p.std() / len(p) ** 0.5
    print(f"σ = {s:4}: mean {p.mean():7.3f} ± {error:.3f},  φ(0)/σ = {0.398942 / s:.3f}")

# %% [markdown]
# The mean diverges as $1/\sigma$, because the smoothed jump is a steep ramp of width $\sigma$. For steps, $\sigma$ is
# not a numerical parameter that we can make as small as we like. The value of $\sigma$ **defines** the loss that the
# network learns, so we have to choose it.
#
# ## On images
#
# We train on 6,000 real images, with 16 hidden units and three epochs for each rule. On the network of steps,
# backpropagation trains only the top layer, and the layer below stays random.

# %%
images = data.load("fashion-mnist-small")
scaled = data.scale_pixels(images.x_train, images.x_test, "standard", np.float32)
pixels, pixels_test = (part.reshape(len(part), -1) for part in scaled)
labels = data.one_hot(images.y_train, images.classes, np.float32)


def accuracy(phi, rule, epochs=3, seed=1):
    streams = noise.Streams(seed)
    net = network.mlp([784, 16, 10], phi, rng=streams("init"), dtype=np.float32)
    batches = sampling.EpochPartition(pixels, labels, 60, streams)
    for t in train(net, rule, batches, optim.Adam(0.01), streams):
        if t == epochs * batches.steps_per_epoch:
            return network.accuracy(net, pixels_test, images.y_test)


pairs = partial(ulr, K=40, antithetic=True)
rules = {
    "tanh, backpropagation": (ops.tanh, bp),
    "tanh, ULR plain, σ = 0.1": (ops.tanh, partial(ulr, sigma=0.1, K=40)),
    "tanh, ULR in pairs, σ = 0.1": (ops.tanh, partial(pairs, sigma=0.1)),
    "steps, backpropagation": (ops.step, bp),
    "steps, ULR in pairs, σ = 1": (ops.step, partial(pairs, sigma=1.0)),
}
reached = {name: accuracy(*how) for name, how in rules.items()}
fig, ax = plt.subplots(figsize=(7, 2.8))
percent = [100 * a for a in reached.values()]
ax.barh(list(reached), percent, color=["C0", "C1", "C1", "C0", "C1"])
ax.bar_label(ax.containers[0], fmt="%.1f", padding=3)
ax.invert_yaxis()
ax.set_axisbelow(True)
ax.set(xlim=(0, 100), xlabel="test accuracy, percent", title="3 epochs of 6,000 images")
# In words: Five bars of accuracy. Backpropagation on tanh is highest, and forward learning in pairs is close to it.
# Plain forward learning is far below. On steps, forward learning is more accurate than backpropagation.
plt.show()

# %% [markdown]
# With the same 40 losses for each record, the network learns well with pairs, and almost nothing without them. In
# pairs, forward learning is almost as accurate as backpropagation on the smooth network. On the network of steps,
# forward learning in pairs is more accurate, because there backpropagation cannot change the first layer. The order
# of the five accuracies is the same with seeds 1 to 5. On tanh, the accuracy is 75 to 77 % with backpropagation, 1.9
# to 3.3 points less with pairs, and 22 to 41 % with plain forward learning. On steps, the accuracy is 70 to 73 % with
# pairs and 52 to 59 % with backpropagation. (This is a demonstration and not a comparison: the network is small, and
# all rules use one learning rate.)
#
# Does all this noise give privacy? We ask the rule's function `mechanism` for its guarantee:

# %%
try:
    mechanism(sigma=0.1)
except NoGuarantee as refusal:
    print(refusal)

# %% [markdown]
# {doc}`10_controller` tests the paper's private version of this rule.
#
# ## What you have learnt
#
# - Noise times the loss estimates the gradient of the smoothed loss, without any derivative.
# - Halving a small $\sigma$ divides the bias by four, and multiplies the variance of one plain estimate by four.
# - A baseline or an antithetic pair removes the variance $\ell_0^2 / \sigma^2$, and does not change the mean.
# - With $K$ losses for each record and layer, the variance is divided by $K$, but the bias stays.
# - Forward learning trains networks of steps, and there $\sigma$ defines the loss that the network learns.
#
# ## Exercises
#
# 1. **By hand.** Take $\mathcal L = a + b \zeta$ with one unit. Show that the estimate with $K = 1$ has mean $b$
#    exactly, for every $\sigma$, and variance $a^2/\sigma^2 + 2 b^2$. Check:
#    `proxy_covariance(loss=a, g=[b], H=[[0]], sigma=...)` of `nfa.papers.dpulr2024.variances`.
# 2. **A pair or two?** A pair needs two losses. At $\sigma = 0.1$, do pairs or the baseline have less variance for
#    the same number of losses? Use `estimates` with `K=40, copies=20_000` for both methods. Check: the sum of the
#    variances of both entries is 0.026 with pairs and 0.013 with the baseline. In the clone,
#    `pytest --eq dpulr2024:prop2` tests both methods for three logits, where the variances are known exactly.
# 3. **The best $\sigma$.** Take $K = 40$ without baseline and the example of the first half. Find the $\sigma$ that
#    minimises the mean squared distance to the gradient. This mean is the square of the bias (`smoothed_gradient`)
#    plus the variance (`estimates`). Is there a best $\sigma$ with the baseline? Check: without baseline, the minimum
#    is 0.059, for a $\sigma$ between 1.4 and 1.8. With the baseline, the mean squared distance is 0.013 for all small
#    $\sigma$.
# 4. **Write it yourself.** Write the version of `ulr` with a baseline for a network with one hidden layer. It takes
#    ten lines of NumPy with a loop over $K$. Check: use ten images, `K=2000` and `sigma=0.05`. In each layer, the
#    directions of your rule and of `nfa.rules.ulr.ulr` both have a cosine of more than 0.9 with that of
#    `nfa.rules.bp.bp`.
#
# ## Three questions
#
# Answer each before you unfold it.
#
# <details><summary>1. What is the estimate unbiased for?</summary>
#
# The estimate is unbiased for the gradient of the smoothed loss $v \mapsto E\, \mathcal L(v + \zeta)$, not for the
# gradient of the loss. The difference between the two gradients falls as $\sigma^2$.
#
# </details>
#
# <details><summary>2. What does the baseline remove, and why does it not change the mean?</summary>
#
# The baseline removes the term $\ell_0^2 / \sigma^2$ of the variance. The mean stays the same because $\ell_0$ does
# not depend on $\zeta$, so $\zeta \ell_0$ has mean 0.
#
# </details>
#
# <details><summary>3. Why may σ not go to 0 for a network of steps?</summary>
#
# At a jump there is no gradient to which the mean could tend. The smoothed loss is a ramp of width $\sigma$ there, and
# its derivative grows as $1/\sigma$.
#
# </details>
#
# ## Further reading
#
# - Williams, "Simple statistical gradient-following algorithms for connectionist reinforcement learning", Machine
#   Learning 8, 1992: the likelihood ratio, and why a baseline does not change the mean.
# - Spall, "Multivariate stochastic approximation using a simultaneous perturbation gradient approximation", IEEE
#   Transactions on Automatic Control 37, 1992: a pair of losses for any number of parameters.
# - Baydin et al., "Gradients without backpropagation", 2022, [arXiv:2202.08587](https://arxiv.org/abs/2202.08587), and
#   Ren, Kornblith, Liao & Hinton, "Scaling forward gradient with local losses", ICLR 2023,
#   [arXiv:2210.03310](https://arxiv.org/abs/2210.03310): how well forward passes can train larger networks.
