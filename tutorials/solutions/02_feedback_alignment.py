# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 02 Feedback alignment: solutions
#
# This page solves the exercises of {doc}`/02_feedback_alignment`. Try each exercise before you read on.

# %%
from functools import partial

import numpy as np

from nfa import data, feedback, network, noise, ops, optim, sampling
from nfa.experiments.alignment import alignment
from nfa.rules.bp import bp
from nfa.rules.dfa import dfa
from nfa.rules.drtp import drtp
from nfa.train import train

images = data.load("fashion-mnist-small")
x, x_test = data.scale_pixels(images.x_train, images.x_test, how="standard", dtype=np.float32)
x, x_test = x.reshape(len(x), -1), x_test.reshape(len(x_test), -1)
y = data.one_hot(images.y_train, images.classes, np.float32)

streams = noise.Streams(1)
net = network.mlp([784, 128, 128, 10], ops.tanh, rng=streams("init"))  # float64
B = feedback.draw(net, law="normal", scale=0.3, rng=streams("feedback"))
batch, targets = x[:64].astype(float), y[:64].astype(float)

# %% [markdown]
# ## 1. Equation 5 by hand
#
# The rows of the batch are the records, so $B e$ of one record is a row of `e @ B[l].T`. The product
# `dz.T @ h[l - 1]` is the sum of the records' terms, and we divide it by the number of records. The top layer uses
# $e$ itself.


# %%
def mine(net, x, y, *, B):
    z, h = [None] * (net.L + 1), [x]
    for l in range(1, net.L + 1):
        z[l] = h[l - 1] @ net.W[l].T + net.b[l]  # (m, n_l)
        h.append(net.phi[l].phi(z[l]) if l < net.L else z[l])  # (m, n_l)
    e = net.loss.error(z[net.L], y)  # (m, n_L)
    dW, db = [None] * (net.L + 1), [None] * (net.L + 1)
    for l in range(1, net.L + 1):
        dz = e if l == net.L else (e @ B[l].T) * net.phi[l].dphi(z[l])  # (m, n_l)
        dW[l] = dz.T @ h[l - 1] / len(x)  # (n_l, n_{l-1})
        db[l] = dz.mean(axis=0)  # (n_l,)
    return dW, db


ours, theirs = mine(net, batch, targets, B=B)[0], dfa(net, batch, targets, B=B)[0]
for l in (1, 2, 3):
    print(l, alignment(ours, theirs, l), np.linalg.norm(ours[l]) / np.linalg.norm(theirs[l]))
    assert np.allclose(ours[l], theirs[l], atol=1e-12)

# %% [markdown]
# ## 2. The scale of $B$
#
# The hidden layers' directions are proportional to $B$. The top layer's direction contains no $B$. So under SGD, the
# scale acts as a learning rate of the hidden layers alone. If $B$ is too small, the hidden layers hardly change. If
# $B$ is too large, their updates are too large. Adam divides each entry of the direction by a running estimate of the
# size of this entry, so the scale of $B$ cancels.


# %%
def reached(scale, optimizer):
    streams = noise.Streams(1)
    net = network.mlp([784, 128, 128, 10], ops.tanh, init="uniform-fan-in", rng=streams("init"), dtype=np.float32)
    B = feedback.draw(net, law="normal", scale=scale, rng=streams("feedback"))
    batches = sampling.EpochPartition(x, y, 64, streams)
    for t in train(net, partial(dfa, B=B), batches, optimizer, streams):
        if t == 3 * batches.steps_per_epoch:
            return network.accuracy(net, x_test, images.y_test)


for name, optimizer in {"SGD": lambda: optim.SGD(0.01, momentum=0.9), "Adam": lambda: optim.Adam(1e-3)}.items():
    found = [reached(scale, optimizer()) for scale in (0.03, 0.3, 3.0)]
    print(name, np.round(found, 3))
    assert name == "SGD" or max(found) - min(found) < 0.03

# %% [markdown]
# For privacy, we need a bound on how far one record can move a layer. This bound is proportional to the spectral norm
# of $B$ ({doc}`/05_sensitivity`). Therefore Lee & Kifer fix the spectral norm.
#
# ## 3. A trap
#
# The network still learns, because every entry keeps its sign. But the network learns slowly. Before training,
# $\hat y \approx 1/10$ for each class, so each entry of $e$ is multiplied by only $\hat y (1 - \hat y) \approx 0.09$.

# %%
z, h = network.forward(net, batch)
e = net.loss.error(z[3], targets)
y_hat = h[3]
whole, trapped = (dz.T @ h[2] / 64 for dz in (e, e * y_hat * (1 - y_hat)))
kept = np.linalg.norm(trapped) / np.linalg.norm(whole)
cosine = np.sum(whole * trapped) / np.linalg.norm(whole) / np.linalg.norm(trapped)
print(f"share that is kept {kept:.3f}, cosine {cosine:.3f}")
assert 0.07 < kept < 0.11

# %% [markdown]
# ## 4. The label instead of the error
#
# In the tutorial, add `"DRTP": lambda B: partial(drtp, B=B)` to `rules` and `"DRTP": "C4"` to `styles`. The error
# becomes smaller as the network learns, but the label does not. So a record that the network already predicts rightly
# moves the hidden layers as much as the other records. The next cell computes the cosines with the gradient after
# three epochs:

# %%
streams = noise.Streams(1)
by_label = network.mlp([784, 128, 128, 10], ops.tanh, init="uniform-fan-in", rng=streams("init"), dtype=np.float32)
B32 = feedback.draw(by_label, law="normal", scale=0.3, rng=streams("feedback"))
batches = sampling.EpochPartition(x, y, 64, streams)
for t in train(by_label, partial(drtp, B=B32), batches, optim.SGD(0.01, momentum=0.9), streams):
    if t == 3 * batches.steps_per_epoch:
        break
directions = [rule(by_label, x[:256], y[:256])[0] for rule in (partial(drtp, B=B32), bp)]
cosines = [alignment(*directions, l) for l in (1, 2)]
print("cosines", np.round(cosines, 2), " accuracy", network.accuracy(by_label, x_test, images.y_test))
assert max(cosines) < 0.6

# %% [markdown]
# ## 5. The picture of the paper
#
# The mean cosines are 0.32 without clips, 0.14 with clips and 0.03 with clips and noise. So the clips divide the
# cosine by about 2, and the noise divides the rest by about 5. The accuracies after the last epoch are 81.8 %, 82.2 %
# and 77.9 % in our run with one seed. So the accuracies do not fall by the same factors. A direction that is nearly
# hidden in noise still adds up over many steps, while the noise averages out.
