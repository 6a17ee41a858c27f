# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 13 Your own rule: solutions
#
# These are solutions of the exercises of {doc}`/13_your_own_rule`. Try each exercise before you read its solution.

# %%
from functools import partial

import numpy as np

from nfa import data, network, noise, ops, optim, sampling
from nfa.audit.dp_sgd import worst_pair
from nfa.audit.game import play
from nfa.audit.private_game import Pair, flat
from nfa.clip import clip_l2
from nfa.network import forward
from nfa.rules.bp import bp
from nfa.rules.dp_sgd import dp_sgd
from nfa.train import train

# %% [markdown]
# ## 1. By hand
#
# With two classes $e = (\hat y_1 - 1, \hat y_2)$ under one label and $(\hat y_1, \hat y_2 - 1)$ under the other. The
# entries of each error add up to 0, so both are multiples of $(1, -1)$: $-\hat y_2 (1, -1)$ and $\hat y_1 (1, -1)$.
# The directions of all layers are linear in $e$, so the two estimates have opposite directions. Once both are
# clipped, they are opposite vectors, $2C$ apart. With three classes, the errors $e$ and $e'$ under two labels lie in
# a plane. If all classes are equally likely, the angle between the two errors is 120 degrees.

# %%
y_hat = np.array([0.7, 0.3])
e = y_hat - np.eye(2)
print("two classes: cosine", e[0] @ e[1] / np.linalg.norm(e[0]) / np.linalg.norm(e[1]))
e = np.full(3, 1 / 3) - np.eye(3)
clipped = clip_l2(e, 0.1)
print("three: moves", np.linalg.norm(clipped[0] - clipped[1]) / 0.2, "of 2 C")
assert np.linalg.norm(clipped[0] - clipped[1]) < 0.2

# %% [markdown]
# ## 2. Your rule
#
# Signs that are drawn once give feedback alignment with entries of one absolute value. You can check the rule with a
# network whose weights **are** these signs times a number. In this special case, the rule is backpropagation.


# %%
def random_signs(signs):
    def rule(net, x, y, *, m=None, rng=None):
        m = len(x) if m is None else m
        z, h = forward(net, x)
        dz = [None] * (net.L + 1)
        dz[net.L] = net.loss.error(z[net.L], y)
        for l in range(net.L - 1, 0, -1):
            back = net.map[l + 1].transpose(signs[l + 1] * np.abs(net.W[l + 1]).mean(), dz[l + 1])
            dz[l] = net.pull(l, z, back)
        parts = [net.map[l].outer(dz[l] / float(m), net.input(l, h)) for l in range(1, net.L + 1)]
        return [None, *(dW for dW, _ in parts)], [None, *(db for _, db in parts)]

    return rule


rng = np.random.default_rng(1)
small = network.mlp([3, 4, 4, 2], ops.tanh, rng=rng)
signs = [None, *(np.sign(rng.standard_normal(W.shape)) for W in small.W[1:])]
for l in (1, 2, 3):
    small.W[l] = 0.3 * signs[l]
x, y = rng.standard_normal((5, 3)), np.eye(2)[rng.integers(2, size=5)]
apart = np.abs(flat(*random_signs(signs)(small, x, y)) - flat(*bp(small, x, y))).max()
print(f"difference from backpropagation if the weights are the signs: {apart:.0e}")
assert apart < 1e-12

images = data.load("fashion-mnist-small")
scaled = data.scale_pixels(images.x_train, images.x_test, "standard", np.float32)
pixels, pixels_test = (part.reshape(len(part), -1) for part in scaled)
labels = data.one_hot(images.y_train, images.classes, np.float32)
streams = noise.Streams(1)
net = network.mlp([784, 128, 128, 10], ops.tanh, rng=streams("init"), dtype=np.float32)
signs = [None, *(np.sign(streams("feedback").standard_normal(W.shape)).astype(np.float32) for W in net.W[1:])]
batches = sampling.EpochPartition(pixels, labels, 60, streams)
for t in train(net, random_signs(signs), batches, optim.SGD(0.02, momentum=0.9), streams):
    if t == 5 * batches.steps_per_epoch:
        break
print(f"after five epochs {100 * network.accuracy(net, pixels_test, images.y_test):.1f} %")

# %% [markdown]
# ## 3. The right clip for each layer
#
# Clip each of the $L$ layers to $C / \sqrt L$. Then the squared norms of the layers add up to at most
# $L \cdot C^2 / L = C^2$. DP-SGD with `clip="layer"` uses this clip.

# %%
C, m, sigma = 1.0, 8, 0.25
net, pair_x, pair_y = worst_pair("replace-one", seed=1)
moved = Pair(rule=partial(dp_sgd, net, C=C, m=m, clip="layer"), x=pair_x, y=pair_y, sigma=sigma)
f0, f1 = moved.noiseless()
print(f"moves {np.linalg.norm(f1 - f0) / (2 * C / m):.3f} times the claim")
assert np.linalg.norm(f1 - f0) <= 2 * C / m + 1e-9

# %% [markdown]
# ## 4. A bug in the noise
#
# The biases are released without noise. Anyone who compares the biases with their values under $D$ identifies the
# data set with certainty. The audit uses the projection on $f_1 - f_0$. This projection adds noise from all other
# coordinates, so the buggy rule may pass. As the score, take the distance of the biases from their values under $D$.
# Then every run is classified correctly.


# %%
def noise_on_W_only(net, x, y, *, C, m, sigma, rng):
    dW, db = dp_sgd(net, x, y, C=C, m=m, sigma=0.0, rng=rng)
    return [None, *(W + sigma * rng.standard_normal(W.shape) for W in dW[1:])], db


leaks = Pair(rule=partial(noise_on_W_only, net, C=C, m=m), x=pair_x, y=pair_y, sigma=sigma)
is_bias = flat([None, *(0 * W for W in net.W[1:])], [None, *(0 * b + 1 for b in net.b[1:])]) == 1
without = leaks.noiseless()[0][is_bias]
for trials in (300, 1000):
    game = play(leaks.release, lambda out: np.linalg.norm(out[is_bias] - without), claimed_epsilon=4.38, delta=1e-5,
                high_means=None, trials=trials, rng=np.random.default_rng(5))  # fmt: skip
    print(f"{trials} trials: at least {game.lower_bound:.1f}, refuted: {game.refuted}")
assert game.refuted

# %% [markdown]
# ## 5. Write the tests
#
# The test uses loops over records, units and inputs. From the library it uses only the weights and biases of the
# network. These loops are slow, but they are unlikely to have the same mistake as the rule.


# %%
def by_loops(net, x, y, signs):
    """The directions of `random_signs`, entry by entry."""
    dW, db = [None, *(0 * W for W in net.W[1:])], [None, *(0 * b for b in net.b[1:])]
    for i in range(len(x)):
        h, z = [x[i]], [None]
        for l in (1, 2, 3):
            z.append(np.array([sum(w * v for w, v in zip(row, h[-1], strict=True)) + b
                               for row, b in zip(net.W[l], net.b[l], strict=True)]))  # fmt: skip
            h.append(np.tanh(z[-1]) if l < 3 else np.exp(z[-1]) / np.exp(z[-1]).sum())
        dz = h[3] - y[i]
        for l in (3, 2, 1):
            for j in range(len(dz)):
                db[l][j] += dz[j] / len(x)
                for k in range(len(h[l - 1])):
                    dW[l][j, k] += dz[j] * h[l - 1][k] / len(x)
            if l > 1:
                size = np.mean([abs(w) for row in net.W[l] for w in row])
                dz = np.array([sum(signs[l][j, k] * size * dz[j] for j in range(len(dz))) * (1 - h[l - 1][k] ** 2)
                               for k in range(len(h[l - 1]))])  # fmt: skip
    return dW, db


other = network.mlp([3, 4, 4, 2], ops.tanh, rng=np.random.default_rng(2))
small_signs = [None, *(np.sign(rng.standard_normal(W.shape)) for W in other.W[1:])]
apart = np.abs(flat(*by_loops(other, x, y, small_signs)) - flat(*random_signs(small_signs)(other, x, y))).max()
print(f"difference between the loops and the rule: {apart:.0e}")
assert apart < 1e-12
