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
# **Have this page open**: Lee & Kifer (2020), Section 3.2, from its beginning to Equation 4; or Ohana et al.
# (2021), Section 2.1, Equation 2. It is the page with the notation, which one skips, and comes back to when a
# transpose is missing. This tutorial runs it once on real images, with every letter on the table.
#
# You need NumPy and what a neural network is. {doc}`notation` has the letters of all papers side by side.
#
# The statements we meet: {ref}`lee2020:notation <lee2020-notation>`, {ref}`lee2020:eq1 <lee2020-eq1>`,
# {ref}`lee2020:softmax <lee2020-softmax>`, {ref}`lee2020:ce <lee2020-ce>`, {ref}`lee2020:e <lee2020-e>`,
# {ref}`lee2020:eq3 <lee2020-eq3>`, {ref}`lee2020:gamma <lee2020-gamma>`, {ref}`ohana2021:eq2 <ohana2021-eq2>`
# and {ref}`ohana2021:eq9c
# <ohana2021-eq9c>`.

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
# Sixty-four images of clothes, one record a row. A record is $x$ with its label; the label is written as a vector
# $y$ with a single 1.

# %%
images = data.load("fashion-mnist-small")  # 6,000 + 1,000 real images, no download
scaled, _ = data.scale_pixels(images.x_train, images.x_test, how="standard")
x = scaled[:64].reshape(64, -1)  # (m, n_0)
y = data.one_hot(images.y_train[:64], images.classes)  # (m, n_L)
print("x", x.shape, " y", y.shape)

fig, axes = plt.subplots(1, 8, figsize=(9, 1.6))
for ax, image, label in zip(axes, images.x_train, images.y_train, strict=False):
    ax.imshow(image.squeeze(), cmap="gray")
    ax.set_axis_off()
    ax.set_title(f"label {label}", fontsize=9)
# In words: Eight grey pictures of 28 x 28 pixels, each with its label: shoes, shirts, trousers and other clothes.
plt.show()

# %% [markdown]
# ## Layers count from 1
#
# $$h^0 = x, \qquad z^l = W^l h^{l-1} + b^l, \qquad h^l = \phi_l(z^l), \qquad \hat y = h^L$$
#
# That is Equation 1 ({ref}`lee2020:eq1 <lee2020-eq1>`). So there are $L$ layers, not $L + 1$; the input is $h^0$
# and no layer; $W^l$ leads **into** layer $l$ and has one row for each of its units. The code counts alike:
# `W[l]`, `z[l]`, `h[l]`, with `W[0]` and `z[0]` left empty.
#
# Here is the fully connected network of Section 5.2, 784-128-256-10. **Predict before you run the next cell**:
# how many numbers does it learn?

# %%
net = network.lee2020_fc_fmnist(rng=noise.Streams(1)("init"))
z, h = network.forward(net, x)
print(f"{'l':>2}  {'W[l]':12} {'b[l]':7} {'z[l] of the batch':18} numbers to learn")
for l in range(1, net.L + 1):
    n = net.W[l].size + net.b[l].size
    print(f"{l:2}  {net.W[l].shape!s:12} {net.b[l].shape!s:7} {z[l].shape!s:18} {n:,}")
print(f"{net.n_parameters:,} in all")

# %% [markdown]
# Of about 136,000 three quarters sit in the first layer, for $784 \cdot 128$ is the one large product.
#
# The papers write columns, the code rows: an example is a row of `h[l]`, so that a whole batch passes at once.
# Then $W h$ becomes `h @ W.T`, which is the only transpose to remember. The same for record 7, as printed:

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
# In words: Four colour maps of 64 rows each, one a layer. The rows differ in the input and the first layer, hardly in
# the second, and the output is ten vertical stripes near 0.1.
plt.show()

# %% [markdown]
# A batch on its way, one record a row. In $h^1$ the rows still differ; in $h^2$ they nearly agree, and in $\hat
# y$ the more so: vertical stripes. The network has learnt nothing yet: its second layer sits close to the middle
# of the sigmoid, and all classes get about a tenth.
#
# ## What stands between $z$ and $h$
#
# Three things are asked of $\phi$: itself, its slope $\phi'$ (on the way back), and for privacy a bound on that
# slope, $|\phi_l'| \le \gamma_l$ ({ref}`lee2020:gamma <lee2020-gamma>`).

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
# In words: Left, four activations over z: sigmoid and tanh level off, ReLU and GELU rise. Right, their slopes: at
# most 1/4 for the sigmoid, 1 for tanh and ReLU, a little over 1 for GELU.
plt.show()

# %% [markdown]
# Look at the legend on the right. All have an upper bound; the sigmoid's is $1/4$, which will matter much later.
# Ohana et al. ask for a **lower** bound too, $\gamma^{\min} \le |\phi'|$
# ({ref}`ohana2021:eq9c <ohana2021-eq9c>`). As printed, 0 would do; but their Equations 14 and 17 divide by
# $\gamma^{\min}$, so it has to be positive, and the slopes of all of these come as near to 0 as you like, or are
# 0. Read so, the requirement cannot be met by the activations that it names. Its verdict is `false`, and it is the
# first that you can check by looking. ({doc}`generated/papers/index` has all verdicts, and what each word means.)
#
# ## The last layer
#
# The last $\phi$ is the softmax ({ref}`lee2020:softmax <lee2020-softmax>`). It mixes the units of a row, so it is
# no elementwise $\phi$ like the others. **Predict**: add 100 to all ten entries of $z^L$; what happens to $\hat
# y$?

# %%
y_hat = ops.softmax(z[net.L])
print(f"rows sum to 1 within {np.abs(y_hat.sum(axis=1) - 1).max():.0e}")
shifted = ops.softmax(z[net.L] + 100)
print(f"after adding 100: a difference of {np.abs(shifted - y_hat).max():.0e} at most")

# %% [markdown]
# The loss of a record is $\mathcal L = -\sum_k y[k] \log \hat y[k]$, the surprise at the right label, in nats
# ({ref}`lee2020:ce <lee2020-ce>`). **Predict**: what does a network lose that knows nothing?

# %%
loss = ops.cross_entropy(z[net.L], y)  # (m,)
print(f"mean loss {loss.mean():.3f}, log 10 = {np.log(10):.3f}")

# %% [markdown]
# ## The error $e$
#
# All learning in these papers starts from one vector a record, $e = \partial \mathcal L / \partial z^L$. For
# softmax with cross-entropy it is $\hat y - y$ ({ref}`lee2020:e <lee2020-e>`): what was said less what was right.
# The derivative of the softmax is already in it, so that nothing is left to multiply by. Take nobody's word: move
# one entry of $z^L$ up and down a little.

# %%
e = net.loss.error(z[net.L], y)  # (m, n_L)
step = 1e-5
slopes = np.empty_like(e)
for k in range(10):
    up, down = z[net.L].copy(), z[net.L].copy()
    up[:, k] += step
    down[:, k] -= step
    slopes[:, k] = (ops.cross_entropy(up, y) - ops.cross_entropy(down, y)) / (2 * step)
print(f"largest difference to y_hat - y: {np.abs(slopes - e).max():.0e}")

# %% [markdown]
# Two facts about $e$ that the other tutorials use. Its entries sum to 0. And it is never longer than $\sqrt 2$,
# which it comes near to where the network is sure and wrong. To see that, make this one surer and surer, by
# scaling $z^L$:

# %%
print(f"sums of e: {np.abs(e.sum(axis=1)).max():.0e} at most")
fig, ax = plt.subplots()
for factor in (1, 10, 100):
    norms = np.linalg.norm(net.loss.error(factor * z[net.L], y), axis=1)
    ax.hist(norms, bins=np.linspace(0, 1.5, 46), alpha=0.6, label=f"$z^L$ times {factor}")
ax.axvline(np.sqrt(2), color="k", ls=":", label="√2")
ax.set(xlabel="length of e", ylabel="records of 64", title="How long is the error?")
ax.legend()
# In words: Three histograms of the length of e. With the first weights all 64 are near 0.95; with outputs 10 and 100
# times as large they spread towards 0 and towards the bound, the root of 2.
plt.show()

# %% [markdown]
# At the start all are about 0.95 long, the length for ten equal guesses, $\sqrt{0.9}$. Remember that when a paper
# clips $e$ to the length 0.1.
#
# ## What a layer learns
#
# Every rule with a backward pass gives a layer some $\delta z^l$ and teaches it, record by record, the outer
# product $\delta z^l (h^{l-1})^\top$ ({ref}`lee2020:eq3 <lee2020-eq3>`). At the top $\delta z^L = e$, for all
# rules. The sum over a batch is one matrix product, and a single record's part has a length that needs no matrix
# at all:

# %%
h_in = net.input(3, h)  # h[2]
dW, db = net.map[3].outer(e / 64, h_in)  # mean over the batch: (10, 256), (10,)
one_by_one = sum(np.outer(e[i], h_in[i]) for i in range(64)) / 64
print("shape", dW.shape, f"difference to the loop {np.abs(dW - one_by_one).max():.0e}")
print(f"‖e hᵀ‖  {np.linalg.norm(np.outer(e[7], h_in[7])):.12f}")
print(f"‖e‖ ‖h‖ {np.linalg.norm(e[7]) * np.linalg.norm(h_in[7]):.12f}")

# %% [markdown]
# So the length of the product is bounded as soon as those of its two factors are: Lee & Kifer clip $e$ and $h$,
# not gradients ({ref}`lee2020:sens-zeta <lee2020-sens-zeta>`).
#
# ## A convolution is the same
#
# Equation 1 has a matrix in it, a convolution slides a kernel over an image. It is affine all the same, so there
# is a matrix. Send in the images that are 1 at one pixel and 0 elsewhere, and it shows:

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
# In words: Left, a 3 x 3 kernel. Right, the matrix of the same layer: zero but for the nine numbers, repeated in
# every row and shifted a little each time.
plt.show()
print(f"{np.count_nonzero(as_matrix)} of {as_matrix.size} entries are not 0")

# %% [markdown]
# The same nine numbers, sixteen times, once for every place where the kernel fits. So Equation 1 holds with this
# $W$; and $W^\top$, which carries a vector back from $z$ to $h$, is the transpose of this matrix. Nobody builds
# it: `im2col` lays out the patches, and one product with nine columns does the work.

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
# In a real network there is pooling besides: $z^l$ is before activation and pooling, $h^l$ after both. The
# convolutional network of Section 5.1:

# %%
cnn = network.lee2020_cnn(rng=noise.Streams(3)("init"))
z_cnn, h_cnn = network.forward(cnn, scaled[:8])
for l in range(1, cnn.L + 1):
    kind = type(cnn.map[l]).__name__
    W_shape, z_shape = str(cnn.W[l].shape), str(z_cnn[l].shape)
    print(f"{l} {kind:6} W {W_shape:16} z {z_shape:16} h {h_cnn[l].shape}")

# %% [markdown]
# ## Exercises
#
# 1. **By hand.** A network 2-1-2 with $W^1 = (3, 4)$, $b^1 = 0$, $\phi_1 = \tanh$, $x = (1, -1)$, $W^2 = (1,
#    -1)^\top$, $b^2 = 0$ and the label $y = (1, 0)$: find $z^1$, $h^1$, $\hat y$, $\mathcal L$ and $e$ with
#    pencil and a pocket calculator. Check: `network.mlp([2, 1, 2], ops.tanh, rng=noise.Streams(0)("init"))`, set its
#    `W[1]`, `b[1]`, `W[2]`, `b[2]` (arrays of two and of one dimension), and call `network.forward`. The loss is 1.720.
# 2. **Without biases.** Ohana et al. have no $b$ in Equation 2; "biases are columns of $W^l$"
#    ({ref}`ohana2021:eq2 <ohana2021-eq2>`). What must be appended to $h^{l-1}$? Rewrite layer 2 so. Check: your
#    $z^2$ is `z[2]`. In the clone, `pytest --eq ohana2021:eq2` does the same to a small network.
# 3. **Only loops.** Write the forward pass with `for` over records and units and no matrix product, and hold it
#    against `z[3]` to twelve digits; all 64 records take some seconds. Check: `pytest --eq lee2020:eq1`, in the
#    clone, is what verifies ours.
# 4. **Other losses.** For `ops.squared_error` and `ops.logistic` find $e$ on paper. Check by central differences
#    as above, with their `value` and `error`. For which of the three is $\|e\|$ bounded for all $z$, and by what?
#    Check: the lengths of `error(1000 * z[3], y)` for the two, beside $\sqrt{10}$.
# 5. **Count.** How many numbers does `network.dpulr2024_resnet5` learn, and what does its skip connection ask of
#    the shapes? Check: `n_parameters`, and its docstring.
#
# ## Three questions
#
# Answer each before you unfold it.
#
# <details><summary>1. How many layers has 784-128-256-10, and what is the shape of W¹?</summary>
#
# Three: the input is $h^0$ and no layer. $W^1$ leads into layer 1 and has a row for each of its units: 128 x 784.
#
# </details>
#
# <details><summary>2. Why is there no derivative of the softmax in e?</summary>
#
# It is in it already. $e$ is the derivative of the loss by $z^L$, before the softmax, and for cross-entropy softmax and
# logarithm cancel to $\hat y - y$. Who multiplies by $\hat y (1 - \hat y)$ once more has another rule.
#
# </details>
#
# <details><summary>3. A record's part in the gradient of a layer is a matrix of 256 x 128. How do you get its length
# without forming it?</summary>
#
# It is an outer product, and $\|\delta z \, h^\top\|_F = \|\delta z\| \|h\|$: two vectors of 256 and 128 numbers are
# enough.
#
# </details>
#
# ## Further reading
#
# - Rumelhart, Hinton & Williams, "Learning representations by back-propagating errors", Nature 323, 1986: four pages in
#   which the chain rule becomes a way to train.
# - Parr & Howard, "The matrix calculus you need for deep learning", 2018,
#   [arXiv:1802.01528](https://arxiv.org/abs/1802.01528): for those who miss a transpose.
