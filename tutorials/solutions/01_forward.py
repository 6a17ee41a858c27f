# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 01 The forward pass: solutions
#
# This page solves the exercises of {doc}`/01_forward`. Try each exercise before you read on, and check each of your
# numbers.

# %%
import numpy as np

from nfa import data, network, noise, ops

images = data.load("fashion-mnist-small")
scaled, _ = data.scale_pixels(images.x_train, images.x_test, how="standard")
x = scaled[:64].reshape(64, -1)  # (m, n_0)
y = data.one_hot(images.y_train[:64], images.classes)  # (m, n_L)
net = network.mlp([784, 128, 256, 10], ops.sigmoid, rng=noise.Streams(1)("init"))
z, h = network.forward(net, x)

# %% [markdown]
# ## 1. By hand
#
# $z^1 = 3 \cdot 1 + 4 \cdot (-1) = -1$, $h^1 = \tanh(-1) = -0.7616$, $z^2 = (-0.7616, 0.7616)$. The two entries of
# $z^2$ differ by $1.5232$, so their softmax is $\hat y = (1/(1 + e^{1.5232}), \cdot) = (0.1790, 0.8210)$. The label
# is the first class. So $\mathcal L = -\log 0.1790 = 1.720$, and $e = \hat y - y = (-0.8210, 0.8210)$.

# %%
small = network.mlp([2, 1, 2], ops.tanh, rng=noise.Streams(0)("init"))
small.W[1], small.b[1] = np.array([[3.0, 4.0]]), np.zeros(1)
small.W[2], small.b[2] = np.array([[1.0], [-1.0]]), np.zeros(2)
one, label = np.array([[1.0, -1.0]]), np.array([[1.0, 0.0]])
z_small, h_small = network.forward(small, one)
print("z¹", z_small[1], " h¹", h_small[1], " ŷ", h_small[2])
print("loss", small.loss.value(z_small[2], label), " e", small.loss.error(z_small[2], label))
assert round(float(small.loss.value(z_small[2], label)[0]), 3) == 1.720

# %% [markdown]
# ## 2. Without biases
#
# Append a 1. With $\tilde h = (h^{l-1}, 1)$ and $\tilde W = (W^l \mid b^l)$, you get $z^l = \tilde W \tilde h$. The
# matrix $\tilde W$ has one column more than $W^l$, and this last column is the bias.

# %%
longer = np.c_[h[1], np.ones(64)]  # (64, 129)
joined = np.c_[net.W[2], net.b[2]]  # (256, 129)
print("largest difference", np.abs(longer @ joined.T - z[2]).max())
assert np.allclose(longer @ joined.T, z[2], atol=1e-12)

# %% [markdown]
# ## 3. Only loops
#
# To save time, we use only eight records here. A matrix product is a sum over units, and the loops compute this sum.

# %%
by_loops = np.zeros((8, 10))
for i in range(8):
    below = list(x[i])
    for l in (1, 2, 3):
        pre = [sum(w * v for w, v in zip(row, below, strict=True)) + b
               for row, b in zip(net.W[l], net.b[l], strict=True)]  # fmt: skip
        below = [1 / (1 + np.exp(-v)) for v in pre]
    by_loops[i] = pre  # the softmax comes after z³
print("largest difference", np.abs(by_loops - z[3][:8]).max())
assert np.allclose(by_loops, z[3][:8], atol=1e-12)

# %% [markdown]
# ## 4. Other losses
#
# For the squared error, $e = z - y$, so $\|e\|$ has no bound. For the logistic loss, $e_k = \sigma(z_k) - y_k$. Each
# $e_k$ is between $-1$ and $1$, so $\|e\| < \sqrt{10}$ for ten classes. For cross-entropy, $\|e\| < \sqrt 2$. So the
# logistic loss and cross-entropy have a bounded error, and the squared error does not.

# %%
for loss in (ops.squared_error, ops.logistic, ops.softmax_cross_entropy):
    step, derivatives = 1e-6, np.zeros((2, 10))
    for k in range(10):
        up, down = z[3][:2].copy(), z[3][:2].copy()
        up[:, k] += step
        down[:, k] -= step
        derivatives[:, k] = (loss.value(up, y[:2]) - loss.value(down, y[:2])) / (2 * step)
    e = loss.error(z[3][:2], y[:2])
    far = np.linalg.norm(loss.error(1000 * z[3], y), axis=1).max()
    print(f"{loss.name:22} differences {np.abs(derivatives - e).max():.0e}; ‖e‖ at 1000 z: {far:.4g}")
    assert np.allclose(derivatives, e, atol=1e-6)
assert np.linalg.norm(ops.logistic.error(1000 * z[3], y), axis=1).max() <= np.sqrt(10)

# %% [markdown]
# ## 5. Count
#
# The convolutions have $8 (3 \cdot 9 + 1) = 224$, $16 (8 \cdot 9 + 1) = 1168$, $32 (16 \cdot 9 + 1) = 4640$ and
# $32 (32 \cdot 9 + 1) = 9248$ numbers. The dense layer has $10 (512 + 1) = 5130$ numbers, so the network learns
# 20,410 numbers. The skip connection adds the input of convolution 4 to its output, so input and output must have the
# same shape. Therefore convolution 4 has as many input channels as output channels, uses padding, and has no pooling
# before the sum.

# %%
resnet = network.dpulr2024_resnet5(rng=noise.Streams(0)("init"))
print(resnet.n_parameters)
assert resnet.n_parameters == 224 + 1168 + 4640 + 9248 + 5130
