# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 01 The forward pass: the letters of the papers
#
# After this page you can compute by hand and in NumPy what a neural network predicts and how large its error is. You
# can read the formulas of the papers and find each letter in the code. You can check a derivative with two
# evaluations of a function, and you can write a convolution as a matrix.
#
# **Have this page open**: Lee & Kifer (2020), Section 3.2, from its beginning to Equation 4, or Ohana et al. (2021),
# Section 2.1, Equation 2. Both sections introduce the notation of their paper. Many readers skip such a section and
# return to it when a transpose is missing. This tutorial computes each formula once on real images and explains each
# letter.
#
# You need NumPy, and you need to know what a neural network is. The page {doc}`notation` lists the letters of all
# papers side by side.
#
# In all tutorials, comments that begin with "In words" describe a picture. If you read this file as a script, cover
# these comments until you have made your prediction. Lines such as `(shown-...)=` are targets of links.
#
# Statements (claims and equations of the papers) that this page uses: {ref}`lee2020:notation <lee2020-notation>`,
# {ref}`lee2020:eq1 <lee2020-eq1>`, {ref}`lee2020:softmax <lee2020-softmax>`, {ref}`lee2020:ce <lee2020-ce>`,
# {ref}`lee2020:e <lee2020-e>`, {ref}`lee2020:eq3 <lee2020-eq3>`, {ref}`lee2020:gamma <lee2020-gamma>`,
# {ref}`ohana2021:eq2 <ohana2021-eq2>` and {ref}`ohana2021:eq9c <ohana2021-eq9c>`.

# %%
import matplotlib.pyplot as plt
import numpy as np

from nfa import data, network, noise, ops
from nfa.network import dense
from nfa.network.im2col import im2col

plt.rcParams.update({"figure.figsize": (7, 3.6), "figure.constrained_layout.use": True})

# %% [markdown]
# ## A batch
#
# We take sixty-four images of clothes as a batch. A record consists of an image and its label. Each row of the array
# `x` contains the pixels of one record. The same row of `y` contains the label, as a vector with a 1 for the right
# class and 0 for the other classes. The comments in the code give the shapes of arrays. In these comments, $m$ is the
# number of records in the batch. $n_0$ is the number of inputs (pixels) of a record, and $n_L$ is the number of
# classes.

# %%
images = data.load("fashion-mnist-small")  # 6,000 training and 1,000 test images, without a download
scaled, _ = data.scale_pixels(images.x_train, images.x_test, how="standard")
x = scaled[:64].reshape(64, -1)  # (m, n_0)
y = data.one_hot(images.y_train[:64], images.classes)  # (m, n_L)
print("x", x.shape, " y", y.shape)

fig, axes = plt.subplots(1, 8, figsize=(9, 1.6))
for ax, image, label in zip(axes, images.x_train, images.y_train, strict=False):
    ax.imshow(image.squeeze(), cmap="gray")
    ax.set_axis_off()
    ax.set_title(f"label {label}", fontsize=9)
# In words: Eight grey pictures of 28 x 28 pixels, each with its label. They show shoes, shirts, trousers and other
# clothes.
plt.show()

# %% [markdown]
# ## Layers count from 1
#
# $$h^0 = x, \qquad z^l = W^l h^{l-1} + b^l, \qquad h^l = \phi_l(z^l), \qquad \hat y = h^L$$
#
# This is Equation 1 ({ref}`lee2020:eq1 <lee2020-eq1>`). There are $L$ layers, not $L + 1$, because the input $h^0$ is
# not a layer. A **unit** of layer $l$ is one entry of $h^l$, and layer $l$ has $n_l$ units. The matrix $W^l$ leads
# **into** layer $l$ and has one row for each unit of this layer. The code counts in the same way. It has the lists
# `W`, `b`, `z` and `h`. The entries `W[0]`, `b[0]` and `z[0]` are `None`, and `h[0]` is $x$.
#
# The next cell makes the fully connected network of Section 5.2 of Lee & Kifer. This network has 784 inputs and three
# layers of 128, 256 and 10 units. In short, we write 784-128-256-10. **Predict before you run the next cell**: how
# many numbers does this network learn?

# %%
# Streams(1) stands for all random generators of seed 1. The generator "init" draws the first weights.
net = network.lee2020_fc_fmnist(rng=noise.Streams(1)("init"))
z, h = network.forward(net, x)
print(f"{'l':>2}  {'W[l]':12} {'b[l]':7} {'z[l] of the batch':18} numbers to learn")
for l in range(1, net.L + 1):
    n = net.W[l].size + net.b[l].size
    print(f"{l:2}  {net.W[l].shape!s:12} {net.b[l].shape!s:7} {z[l].shape!s:18} {n:,}")
print(f"{net.n_parameters:,} in all")

# %% [markdown]
# The network learns about 136,000 numbers. Three quarters of them belong to the first layer, because $784 \cdot 128$
# is by far the largest product.
#
# The papers write a record as a column, and the code writes a record as a row. Each row of `h[l]` belongs to one
# record, so the code computes a layer for the whole batch at once. Therefore $W h$ becomes `h @ W.T`. This is the
# only transpose that you need to remember. The next cell computes layer 2 in both forms, as a column for record 7 and
# as rows for all records. It compares the results with `z[2]`:

# %%
l, i = 2, 7
column = h[l - 1][i][:, None]  # (n_{l-1}, 1)
as_printed = net.W[l] @ column + net.b[l][:, None]  # (n_l, 1)
as_rows = h[l - 1] @ net.W[l].T + net.b[l]  # (m, n_l)
print(f"largest difference {np.abs(as_printed[:, 0] - z[l][i]).max():.0e}", end=" ")
print(f"and {np.abs(as_rows - z[l]).max():.0e}")

# %%
fig, axes = plt.subplots(1, 4, figsize=(9, 3.2), width_ratios=(5, 2.6, 3.6, 1.8))
titles = ("$h^0 = x$", "$h^1$", "$h^2$", r"$h^3 = \hat y$")
for l, (ax, title) in enumerate(zip(axes, titles, strict=True)):
    shown = ax.imshow(h[l], aspect="auto", cmap="viridis", interpolation="nearest")
    ax.set(title=title, xlabel=f"{h[l].shape[1]} units", yticks=[])
    fig.colorbar(shown, ax=ax, location="bottom").locator = plt.MaxNLocator(2)
axes[0].set_ylabel("64 records")
# In words: Four colour maps of 64 rows each, for the input and the three layers. The rows differ in the input and the
# first layer, and hardly in the second. The output is ten vertical stripes near 0.1.
plt.show()
print(f"standard deviation of the entries of z[2]: {z[2].std():.2f}")

# %% [markdown]
# The pictures show the values of one batch in each layer. Each row is one record. In $h^1$ the rows still differ. In
# $h^2$ the rows nearly agree. In $\hat y$ the rows agree even more, so you see vertical stripes. The hidden units are
# sigmoids, $\phi(z) = 1 / (1 + e^{-z})$. If $z$ changes, $\phi(z)$ changes by at most a quarter as much. So the
# differences between the records become smaller from layer to layer.
#
# The network is not trained yet. The first weights are random with mean 0, so positive and negative products largely
# cancel. Therefore the entries of $z^2$ are near 0, with a standard deviation of 0.30. At 0 the sigmoid is $1/2$, so
# the entries of $h^2$ are near $1/2$. The entries of $z^3$ are near 0 for the same reason. Therefore each class gets
# a probability of about a tenth.
#
# ## The activation between $z$ and $h$
#
# The function $\phi$ is called the activation. We also need the derivative $\phi'$, to send the error from the output
# to the lower layers (tutorial {doc}`02_feedback_alignment`). For privacy, we need a bound on the derivative,
# $|\phi_l'| \le \gamma_l$ ({ref}`lee2020:gamma <lee2020-gamma>`). The next picture shows four activations and their
# derivatives. ReLU is $\max(z, 0)$. GELU is $z$ times the standard normal distribution function at $z$.

# %%
t = np.linspace(-5, 5, 401)
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), sharex=True)
for phi in (ops.sigmoid, ops.tanh, ops.relu, ops.gelu):
    bounds = f"|φ'| from {phi.gamma_min:g} to {phi.gamma_max:.4g}"
    left.plot(t, phi.phi(t), label=phi.name)
    right.plot(t, phi.dphi(t), label=bounds)
left.set(title="φ", xlabel="z", ylim=(-1.2, 2.5))
right.set(title="φ'", xlabel="z")
for ax in (left, right):
    ax.grid()
    ax.legend(fontsize=8)
# In words: Left, four activations over z: sigmoid and tanh level off, ReLU and GELU rise. Right, their derivatives:
# at most 1/4 for the sigmoid, 1 for tanh and ReLU, a little over 1 for GELU.
plt.show()

# %% [markdown]
# Compare the bounds in the legend on the right. All four derivatives have an upper bound. The bound of the sigmoid is
# $1/4$, and tutorial {doc}`05_sensitivity` uses it. Ohana et al. also ask for a **lower** bound,
# $\gamma^{\min} \le |\phi'|$ for all $z$ ({ref}`ohana2021:eq9c <ohana2021-eq9c>`). They claim that this is a
# reasonable assumption for activations such as sigmoid, tanh and ReLU. As printed, the bound $\gamma^{\min}$ may
# be 0. But Equations 14 and 17 of the paper divide by $\gamma^{\min}$, so these equations need $\gamma^{\min} > 0$.
# The derivatives of all four activations are 0 somewhere or come as near to 0 as you like. So no activation that the
# paper names has a lower bound above 0. Therefore our verdict on the claim is `false`. You can check this verdict in
# the picture. (The page {doc}`generated/papers/index` lists all verdicts and explains the words for them.)
#
# ## The last layer
#
# The last $\phi$ is the softmax ({ref}`lee2020:softmax <lee2020-softmax>`). With $z = z^L$, its entry for class $k$
# is
#
# $$\hat y[k] = \frac{e^{z[k]}}{\sum_j e^{z[j]}} .$$
#
# Each output of the softmax depends on all entries of $z^L$, so the softmax is not elementwise like the other
# activations. **Predict**: add 100 to all ten entries of $z^L$. What happens to $\hat y$?

# %%
y_hat = ops.softmax(z[net.L])
print(f"rows sum to 1 within {np.abs(y_hat.sum(axis=1) - 1).max():.0e}")
shifted = ops.softmax(z[net.L] + 100)
print(f"after adding 100: a difference of {np.abs(shifted - y_hat).max():.0e} at most")

# %% [markdown]
# Apart from rounding, nothing changes. Adding 100 multiplies the numerator and the denominator by $e^{100}$, and this
# factor cancels.
#
# The loss of a record is $\mathcal L = -\sum_k y[k] \log \hat y[k]$ ({ref}`lee2020:ce <lee2020-ce>`). It is the
# negative logarithm of the probability that the network gives to the right label. The logarithm is the natural one,
# so the unit of the loss is the nat. **Predict**: what is the loss of a network that has learnt nothing?

# %%
loss = ops.cross_entropy(z[net.L], y)  # (m,)
print(f"mean loss {loss.mean():.3f}, log 10 = {np.log(10):.3f}")

# %% [markdown]
# The mean loss is near $\log 10$, because the right label gets a probability of about a tenth.
#
# ## The error $e$
#
# In both papers, learning starts from one vector for each record, the error $e = \partial \mathcal L / \partial z^L$.
# For softmax with cross-entropy, the error is $\hat y - y$ ({ref}`lee2020:e <lee2020-e>`), the prediction minus the
# label. To see why, let $c$ be the right class and $z = z^L$. Then the loss is
#
# $$\mathcal L = -\log \hat y[c] = -z[c] + \log \sum_j e^{z[j]} .$$
#
# The derivative of $-z[c]$ with respect to $z[k]$ is $-1$ for $k = c$ and 0 for the other classes, so it is $-y[k]$.
# The derivative of the logarithm of the sum is $\hat y[k]$. So $e$ already contains the derivative of the softmax,
# and you must not multiply $e$ by this derivative again. To check the formula, the next cell moves one entry of $z^L$
# up and down a little and measures the change of the loss:

# %%
e = net.loss.error(z[net.L], y)  # (m, n_L)
step = 1e-5
derivatives = np.empty_like(e)
for k in range(10):
    up, down = z[net.L].copy(), z[net.L].copy()
    up[:, k] += step
    down[:, k] -= step
    derivatives[:, k] = (ops.cross_entropy(up, y) - ops.cross_entropy(down, y)) / (2 * step)
print(f"largest difference to y_hat - y: {np.abs(derivatives - e).max():.0e}")

# %% [markdown]
# The other tutorials use two facts about $e$. The entries of $e$ sum to 0, and the norm of $e$ is at most $\sqrt 2$.
# The second fact follows from the first. For the right class $c$, the entry of $e$ is $-(1 - \hat y[c])$. The other
# entries are not negative and sum to $1 - \hat y[c]$, so the sum of their squares is at most $(1 - \hat y[c])^2$. So
# $\|e\|^2 \le 2 (1 - \hat y[c])^2 \le 2$. The norm is near $\sqrt 2$ if the network is confident and wrong. The next
# cell scales $z^L$ up, which makes the network more confident:

# %%
print(f"sums of e: {np.abs(e.sum(axis=1)).max():.0e} at most")
fig, ax = plt.subplots()
for factor in (1, 10, 100):
    norms = np.linalg.norm(net.loss.error(factor * z[net.L], y), axis=1)
    ax.hist(norms, bins=np.linspace(0, 1.5, 46), alpha=0.6, label=f"$z^L$ times {factor}")
ax.axvline(np.sqrt(2), color="k", ls=":", label="√2")
ax.set(xlabel="norm of e", ylabel="records of 64", title="How large is the error?")
ax.legend()
# In words: Three histograms of the norm of e. With the first weights, all 64 norms are near 0.95. With outputs 10 and
# 100 times as large, they spread towards 0 and towards the bound, the root of 2.
plt.show()

# %% [markdown]
# With the first weights, all errors have a norm of about 0.95. Ten equal probabilities give the norm
# $\sqrt{0.9} = 0.949$. Remember this norm when a paper clips $e$ to the norm 0.1. To **clip** $e$ means to scale $e$
# down to this norm if the norm of $e$ is larger (tutorial {doc}`05_sensitivity`).
#
# ## What a layer learns
#
# A **rule** computes from one batch how each array of weights and biases should change. For each record, the rules of
# both papers first compute a vector $\delta z^l$ for each layer $l$, the learning signal of this layer. In
# backpropagation, $\delta z^l$ is the derivative $\partial \mathcal L / \partial z^l$. Other rules use another vector
# (tutorial 02). In the top layer, $\delta z^L$ is the error $e$.
#
# The rule then takes the outer product $\delta z^l (h^{l-1})^\top$ of each record ({ref}`lee2020:eq3 <lee2020-eq3>`).
# We call this matrix the record's **term**, because an update is the sum or the mean of the terms of a batch. The sum
# of the terms is one matrix product. To compute the norm of a single record's term, you do not need the matrix:

# %%
h_in = net.input(3, h)  # h[2]
# net.map[3] is the linear map of layer 3. Its method outer sums the terms of the batch, here divided by 64.
dW, db = net.map[3].outer(e / 64, h_in)  # (10, 256), (10,)
one_by_one = sum(np.outer(e[i], h_in[i]) for i in range(64)) / 64
print("shape", dW.shape, f"difference to the loop {np.abs(dW - one_by_one).max():.0e}")
print(f"‖e hᵀ‖  {np.linalg.norm(np.outer(e[7], h_in[7])):.12f}")
print(f"‖e‖ ‖h‖ {np.linalg.norm(e[7]) * np.linalg.norm(h_in[7]):.12f}")

# %% [markdown]
# So a bound on $\|e\|$ and a bound on $\|h\|$ together bound the norm of the term. Therefore Lee & Kifer clip $e$ and
# $h$ instead of the gradients ({ref}`lee2020:sens-zeta <lee2020-sens-zeta>`).
#
# ## A convolution is also an affine map
#
# Equation 1 contains a matrix, but a convolution slides a **kernel**, a small array of weights, over an image. A
# convolution is still an affine map, so you can write it with a matrix. To see this matrix, apply the layer to images
# that are 1 at one pixel and 0 elsewhere:

# %%
two_layers = [(dense.Conv2d(1, 3), ops.tanh), (dense.Dense(2),)]
tiny = network.Net((1, 6, 6), two_layers, rng=noise.Streams(2)("init"))
conv, W, b = tiny.map[1], tiny.W[1], tiny.b[1]
pixels = np.eye(36).reshape(36, 1, 6, 6)
as_matrix = (conv.affine(W, 0 * b, pixels)).reshape(36, 16).T  # (n_1, n_0)

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), width_ratios=(1, 3))
limit = np.abs(W).max()
left.imshow(W[0, 0], cmap="RdBu", vmin=-limit, vmax=limit)
left.set(title="kernel, 9 numbers", xticks=[], yticks=[])
shown = right.imshow(as_matrix, cmap="RdBu", vmin=-limit, vmax=limit)
right.set(xlabel="pixel of h⁰", ylabel="entry of z¹")
right.set_title("the matrix of the same layer")
fig.colorbar(shown, ax=right)
# In words: Left, a 3 x 3 kernel. Right, the matrix of the same layer. Each row has the same nine numbers, shifted a
# little from row to row, and is zero elsewhere.
plt.show()
print(f"{np.count_nonzero(as_matrix)} of {as_matrix.size} entries are not 0")

# %% [markdown]
# The matrix contains the same nine numbers sixteen times, once for every place where the kernel fits. So Equation 1
# holds if $W$ means this matrix with 16 rows and 36 columns. In formulas, $W$ always means the matrix, and its
# transpose $W^\top$ carries a vector back from $z$ to $h$. In the code, `W[l]` of a convolution contains only the
# kernel, and the code never builds the matrix. Instead, `im2col` copies all patches of the image into columns, and
# one product with the nine numbers computes the layer.

# %%
image = scaled[7, :, :6, 10:16][None]  # a corner of a real image, (1, 1, 6, 6)
patches = im2col(image, (3, 3), (1, 1), (0, 0, 0, 0))  # (1, 9, 16)
v = np.arange(16.0).reshape(1, 1, 4, 4)
by_layer = conv.affine(W, b, image).ravel()
by_patches = W.reshape(1, 9) @ patches[0] + b[:, None]
back = as_matrix.T @ v.ravel()
print("largest differences:")
print(f"by the matrix  {np.abs(as_matrix @ image.ravel() + b - by_layer).max():.0e}")
print(f"by the patches {np.abs(by_patches - by_layer).max():.0e}")
print(f"transpose      {np.abs(back - conv.transpose(W, v).ravel()).max():.0e}")

# %% [markdown]
# Many networks also use **pooling**, which keeps only one value of each small block. For example, max pooling keeps
# the largest of 2 x 2 values. In a layer with pooling, $z^l$ is the value before the activation, and $h^l$ is the
# value after the activation and the pooling. Here are the layers of the convolutional network of Lee & Kifer's
# Section 5.1:

# %%
cnn = network.lee2020_cnn(rng=noise.Streams(3)("init"))
z_cnn, h_cnn = network.forward(cnn, scaled[:8])
for l in range(1, cnn.L + 1):
    kind = type(cnn.map[l]).__name__
    W_shape, z_shape = str(cnn.W[l].shape), str(z_cnn[l].shape)
    print(f"{l} {kind:6} W {W_shape:16} z {z_shape:16} h {h_cnn[l].shape}")

# %% [markdown]
# ## What you have learnt
#
# - In layer $l$, $z^l = W^l h^{l-1} + b^l$ and $h^l = \phi_l(z^l)$. In the code a record is a row, so the product is
#   `h @ W.T`.
# - For softmax with cross-entropy, the error of a record is $e = \hat y - y$. Its entries sum to 0, and its norm is
#   at most $\sqrt 2$.
# - Before training, each of the ten classes gets a probability of about a tenth, and the norm of the error is about
#   $\sqrt{0.9}$.
# - A record's term in a layer's update is the outer product $\delta z^l (h^{l-1})^\top$. The norm of this matrix is
#   the product of two norms.
# - A convolution is an affine map with a matrix that repeats the kernel, so Equation 1 also covers convolutions.
#
# ## Exercises
#
# Type the commands `nfa` and `pytest` in the folder of your clone (your copy of the project). `make test` installs
# both commands. In each new terminal, first type `source .venv/bin/activate` ({doc}`usage`).
#
# 1. **By hand.** Take a network 2-1-2 with $W^1 = (3, 4)$, $b^1 = 0$, $\phi_1 = \tanh$, $x = (1, -1)$,
#    $W^2 = (1, -1)^\top$, $b^2 = 0$ and the label $y = (1, 0)$. The last layer is softmax, and the loss is
#    cross-entropy. Find $z^1$, $h^1$, $\hat y$, $\mathcal L$ and $e$ with pencil and a pocket calculator. Check: make
#    `small = network.mlp([2, 1, 2], ops.tanh, rng=noise.Streams(0)("init"))`. Set its weights `small.W[1]` and
#    `small.W[2]` (arrays of two dimensions) and its biases `small.b[1]` and `small.b[2]` (arrays of one dimension).
#    Call `z_small, h_small = network.forward(small, np.array([[1.0, -1.0]]))`, because `forward` takes a batch, here
#    of one row. Then `ops.cross_entropy(z_small[2], np.array([[1.0, 0.0]]))` is the loss, 1.720.
# 2. **Without biases.** Equation 2 of Ohana et al. has no $b$, because "biases are columns of $W^l$"
#    ({ref}`ohana2021:eq2 <ohana2021-eq2>`). What must you append to $h^{l-1}$? Compute layer 2 in this way. Check:
#    your $z^2$ is equal to `z[2]`. `pytest --eq ohana2021:eq2` runs our tests of this equation.
# 3. **Only loops.** Write the forward pass with `for` over records and units and without a matrix product. Compare
#    your result with `z[3]` to twelve digits. The loops take some seconds for all 64 records. Check:
#    `pytest --eq lee2020:eq1` runs the tests of our forward pass.
# 4. **Other losses.** Take two more losses. `ops.squared_error` is $\frac12 \|z - y\|^2$, and `ops.logistic` is
#    $-\sum_k \big(y[k] \log \sigma(z[k]) + (1 - y[k]) \log(1 - \sigma(z[k]))\big)$, with the sigmoid $\sigma$. For
#    each of these two losses, find $e$ on paper. Check your $e$ by central differences as above. For a loss such as
#    `ops.logistic`, `ops.logistic.value` computes the loss and `ops.logistic.error` computes $e$. Cross-entropy is
#    the third loss. For which of the three losses is $\|e\|$ bounded for all $z$, and what is the bound? Check:
#    compare the norms of `error(1000 * z[3], y)` for `ops.squared_error` and `ops.logistic` with $\sqrt{10}$.
# 5. **Count.** How many numbers does `network.dpulr2024_resnet5` learn? The docstring lists the layers. In this
#    network, a skip connection adds the input of convolution 4 to its output. What must hold for the shapes of this
#    input and this output? Check: `network.dpulr2024_resnet5(rng=noise.Streams(0)("init")).n_parameters` is the
#    number, and the docstring has the conditions on the shapes.
#
# ## Three questions
#
# Answer each question before you unfold its answer.
#
# <details><summary>1. How many layers has 784-128-256-10, and what is the shape of W¹?</summary>
#
# The network has three layers, because the input $h^0$ is not a layer. The matrix $W^1$ leads into layer 1 and has
# one row for each unit of layer 1. Its shape is 128 x 784.
#
# </details>
#
# <details><summary>2. Why is there no derivative of the softmax in e?</summary>
#
# The error $e$ is the derivative of the loss with respect to $z^L$, the value before the softmax. So $e$ already
# contains the derivative of the softmax. For cross-entropy, the derivatives of the softmax and the logarithm together
# give $\hat y - y$. If you multiply $e$ by $\hat y (1 - \hat y)$, you train with another rule.
#
# </details>
#
# <details><summary>3. A record's term in the update of a layer is a matrix of 256 x 128. How do you compute its norm
# without forming the matrix?</summary>
#
# The matrix is an outer product, and $\|\delta z \, h^\top\|_F = \|\delta z\| \|h\|$. So two vectors of 256 and 128
# numbers are enough.
#
# </details>
#
# ## Further reading
#
# - Rumelhart, Hinton & Williams, "Learning representations by back-propagating errors", Nature 323, 1986: four pages
#   that show how to train a network with the chain rule.
# - Parr & Howard, "The matrix calculus you need for deep learning", 2018,
#   [arXiv:1802.01528](https://arxiv.org/abs/1802.01528): useful if you miss a transpose in a derivative.
