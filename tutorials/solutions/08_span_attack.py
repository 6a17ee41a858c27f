# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 08 The span attack: solutions
#
# These are solutions of the exercises of {doc}`/08_span_attack`. Try each exercise before you read its solution.

# %%
import numpy as np

from nfa import data, feedback, network, noise
from nfa.network.dense import Conv2d, Dense
from nfa.network.ops import tanh
from nfa.papers.ohana2021.span_attack import layer_input, span_residuals
from nfa.privacy.gaussians import renyi_gaussian
from nfa.rules.pdfa import pdfa

images = data.load("fashion-mnist-small")
pixels, _ = data.scale_pixels(images.x_train, images.x_test, how="standard")
x = pixels.reshape(len(pixels), -1)
y = data.one_hot(images.y_train, images.classes)

# %% [markdown]
# ## 1. By hand
#
# The columns are $w_1 = g_1 + g_2 + g_3$ and $w_2 = g_1 - g_2 \pm g_3$, with $+$ under $D$. Both columns have the
# variance $3\sigma^2$. In units of $\sigma^2$, the covariance is $1 - 1 + 1 = 1$ under $D$ and $1 - 1 - 1 = -1$ under
# $D'$:
#
# $$\Sigma = \sigma^2 \begin{pmatrix} 3 & 1 \\ 1 & 3 \end{pmatrix}, \qquad
# \Sigma' = \sigma^2 \begin{pmatrix} 3 & -1 \\ -1 & 3 \end{pmatrix}$$
#
# Proposition 1 at $\alpha = 3/2$ needs $\frac32 \Sigma' - \frac12 \Sigma = \sigma^2 (3, -2; -2, 3)$. The determinant
# of this matrix is $5 \sigma^4$, and that of each of the two covariances is $8 \sigma^4$. So the divergence is
# $-\frac{1}{2 \cdot 1/2} \log \frac{5}{8} = \log 1.6 = 0.4700$ for every $\sigma$.

# %%
D = [np.array([[3.0, s], [s, 3.0]]) for s in (1, -1)]
found = renyi_gaussian(np.zeros(2), D[0], np.zeros(2), D[1], alpha=1.5)
print(found, np.log(1.6))
assert abs(found - np.log(1.6)) < 1e-12

# %% [markdown]
# ## 2. Fewer columns than records
#
# With 500 records the span has 500 of 512 dimensions. An image of another record can lie outside the span only in the
# 12 remaining dimensions. If its direction is arbitrary, the part outside is about $\sqrt{12/512} = 0.15$ of its
# norm. This part is smaller for an image that is similar to the others.
#
# With 600 records the span is the whole space, and an attack that uses only the span reveals nothing. But the update
# is still not private. The rows have the covariance $\sum_i \phi_{ij}'^2 h_i h_i^\top$, which depends on every
# record. The values of the inputs determine how strongly the covariance depends on one record. For example, take two
# columns, hundreds of records $c(1, 1)$ and one record $c(1, 0.99)$. Almost no noise falls in the direction
# $(1, -1)$, so this direction reveals whether the label of the one record has changed.

# %%
streams = noise.Streams(1)
net = network.ohana2021(rng=streams("init"))
B = feedback.draw(net, law="normal", scale=0.05, rng=streams("feedback"))
clips = {"tau_h_max": 1.0, "tau_h_min": 0.1, "floor": "signed"}
for m in (500, 600):
    dW, _ = pdfa(net, x[:m], y[:m], sigma=0.2, rng=streams("noise", m), B=B, m=m, tau_B=1.0, bias="clipped", **clips)
    h = layer_input(net, 2, x[: m + 500], **clips)
    residuals = span_residuals(h, dW[2], rank=min(m, 512))
    print(f"{m} records: farthest member {residuals[:m].max():.0e}, nearest other {residuals[m:].min():.0e}")
    assert (residuals[m:].min() > 0.01) == (m == 500)

# %% [markdown]
# ## 3. Hide in a secret batch?
#
# The update itself reveals which records were in the batch, so an attacker need not know the batch. A record outside
# the span of the others is recognised whenever it was drawn. So at every $\epsilon$, $\delta$ is at least the
# probability that the record was drawn. This probability is 0.0047 after one step with 256 of 54,000 records, and
# nearly 1 after 3,165 steps. Amplification by secret batches makes the epsilon of a guarantee smaller. Here no
# guarantee exists, so there is no epsilon to make smaller.
#
# ## 4. Attack a convolution
#
# The update of a convolution is $\delta z$ times the patches. So its rows lie in the span of the patches of the batch,
# which are vectors of $3 \cdot 3 = 9$ numbers. One image has $26 \cdot 26$ patches. They fill all nine dimensions,
# even if the image has only two lit pixels. So no vector is outside the span.

# %%
conv = network.Net((1, 28, 28), [(Conv2d(16, 3), tanh), (Dense(10),)], rng=streams("init", 2))
B_conv = feedback.draw(conv, law="normal", scale=0.05, rng=streams("feedback", 2))
blank = np.zeros((1, 1, 28, 28))
blank[0, 0, 13:15, 13] = 1.0
for name, batch in (("two lit pixels", blank), ("one image", pixels[:1]), ("eight images", pixels[:8])):
    k = len(batch)
    dW, _ = pdfa(conv, batch, y[:k], sigma=0.2, rng=streams("noise", k), B=B_conv, m=k, tau_B=1.0)
    print(f"{name:15} rank {np.linalg.matrix_rank(dW[1].reshape(16, -1))}")
assert np.linalg.matrix_rank(dW[1].reshape(16, -1)) == 9

# %% [markdown]
# ## 5. The whole audit
#
# The row "repaired" reports the same attack against noise on every entry. In this row, the AUC is within 0.04 of 1/2.
# The other rows have an AUC of 1.0. An attack that fails proves nothing, but the protection of the repair has a proof
# ({ref}`ohana2021:prop3-dp <ohana2021-prop3-dp>`).
