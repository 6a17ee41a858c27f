# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 07 Light: solutions
#
# This page solves the exercises of {doc}`/07_light`. Try each exercise before you read on.

# %%
from functools import partial

import numpy as np

from nfa import data, feedback, network, noise, optim, sampling
from nfa.feedback.camera import Camera, recover
from nfa.feedback.opu import OPU, optical
from nfa.network.ops import tanh
from nfa.rules.drtp import drtp
from nfa.rules.tdfa import tdfa
from nfa.train import train

# %% [markdown]
# ## 1. By hand
#
# $|R x|^2 = 9 + 16 = 25$, $|R a|^2 = 25$, and $|R(x + a)|^2 = |8 + 4i|^2 = 64 + 16 = 80$. The result is
# $(80 - 25 - 25) / (2 \cdot 5) = 3$. This is the real part of $R x$, because $R a$ has the phase 0.

# %%
print(recover(np.array([80.0]), np.array([25.0]), np.array([25.0])))
assert abs(float(recover(np.array([80.0]), np.array([25.0]), np.array([25.0]))[0]) - 3) < 1e-12

# %% [markdown]
# ## 2. No anchor
#
# The intensities of two mirrors do not add up if both mirrors are lit at the same time. For $e = (1, 0, \dots)$ and
# $e' = (0, 1, 0, \dots)$, the error $e + e'$ lights both mirrors. Then $|R_1 + R_2|^2 = |R_1|^2 + |R_2|^2 + 2 \,
# \mathrm{Re}(\bar R_1 R_2)$, so the projection is not linear. The device shows a $+1$ and a $-1$ one after the other,
# so their fields never meet. Then the projection of the sum **is** the sum of the two projections. So such a pair
# does not refute linearity.

# %%
opu = OPU(10, 500, rng=np.random.default_rng(0))


def without_anchor(e):
    return opu.intensity((e > 0).astype(float)) - opu.intensity((e < 0).astype(float))


one, two, minus = np.eye(10)[[0]], np.eye(10)[[1]], -np.eye(10)[[1]]
for name, other in (("a +1 each", two), ("a +1 and a -1", minus)):
    off = without_anchor(one + other) - without_anchor(one) - without_anchor(other)
    print(f"{name:14} largest difference from a sum {np.abs(off).max():.3g}")
    assert (np.abs(off).max() < 1e-9) == (name == "a +1 and a -1")

# %% [markdown]
# ## 3. Dark noise
#
# The dark noise of the camera does not depend on the amount of light. In the projection, the standard deviation of
# this noise depends only on the anchor's intensity at the pixel. Shot noise (the noise of photons) grows with the
# light, and so with the number of lit mirrors. So dark noise is nearer to equation 10. The temperature, which the
# paper mentions, changes the dark noise of a camera, but not the statistics of photons.

# %%
exposures = 400
for name, camera in (("photons", Camera(photons=100.0)), ("dark", Camera(dark_std=0.2))):
    noisy = OPU(10, 300, rng=np.random.default_rng(2), camera=camera, n_anchor=16)
    spread = []
    for lit in (2, 4):
        pattern = np.repeat((np.arange(10) < lit).astype(float)[None], exposures, axis=0)
        spread.append(noisy.linear(pattern, rng=np.random.default_rng(3)).std(axis=0))
    print(f"{name:8} std of the projection with two mirrors {spread[0].mean():.4f}, with four {spread[1].mean():.4f}")
    assert (abs(spread[1].mean() / spread[0].mean() - 1) < 0.05) == (name == "dark")

# %% [markdown]
# ## 4. One bit less
#
# If every pixel of both pictures is rounded to the same number, the difference is 0 and the hidden layers receive
# nothing. This happens if the saturation is so high that all light is below half a level of the camera. The top layer
# receives $e$ itself, so it still learns from the random features of the layers below. Only a misleading signal can
# be worse than no signal, for example a device that answers with noise.

# %%
images = data.load("fashion-mnist-small")
x_train, x_test = data.scale_pixels(images.x_train, images.x_test, how="standard", dtype=np.float32)
x_train, x_test = x_train.reshape(len(x_train), -1), x_test.reshape(len(x_test), -1)
y = data.one_hot(images.y_train, images.classes, np.float32)


def reached(make, epochs=4):
    streams = noise.Streams(1)
    net = network.mlp((784, 256, 256, 10), tanh, rng=streams("init"), dtype=np.float32)
    rule = make(streams, net)
    batches = sampling.EpochPartition(x_train, y, 64, streams)
    for t in train(net, rule, batches, optim.SGD(0.01, momentum=0.9), streams):
        if t == epochs * batches.steps_per_epoch:
            return 100 * network.accuracy(net, x_test, images.y_test)


def light(camera):
    def make(streams, net):
        device = {"scale": 0.05, "camera": camera, "rng": streams("feedback")}
        return partial(tdfa, B=[None, OPU(10, 256, **device), OPU(10, 256, **device), None], t=0.15, project=optical)

    return make


for name, camera in (("ideal", Camera()), ("4 bits", Camera(bits=4, saturation=80.0)),
                     ("no light left", Camera(bits=8, saturation=1e5))):  # fmt: skip
    print(f"{name:14} {reached(light(camera)):.1f} %")

# %% [markdown]
# ## 5. Random targets
#
# DRTP never uses the error, so a record that the network predicts correctly still changes the hidden layers. Also,
# learning with DRTP is not slower than with TDFA at the start.


# %%
def targets(streams, net):
    return partial(drtp, B=feedback.draw(net, law="normal", scale=0.05, rng=streams("feedback")))


by_targets = reached(targets)
print(f"random targets {by_targets:.1f} %")
assert abs(by_targets - 77.5) < 1.5
