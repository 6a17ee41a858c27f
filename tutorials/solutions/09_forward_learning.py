# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 09 Forward learning: solutions
#
# These are solutions of the exercises of {doc}`/09_forward_learning`. Try each exercise before you read its solution.

# %%
from functools import partial

import numpy as np

from nfa import data, network, noise, ops
from nfa.experiments.alignment import alignment
from nfa.network import forward
from nfa.papers.dpulr2024.variances import proxy_covariance
from nfa.rules.bp import bp
from nfa.rules.ulr import proxy, ulr

net = network.mlp([2, 2, 3], ops.tanh, rng=np.random.default_rng(0))
net.W[1][:], net.b[1][:] = [[0.3, -0.6], [0.8, 0.1]], 0
net.W[2][:], net.b[2][:] = [[1, -0.5], [0.2, 0.7], [-0.9, 0.4]], 0
x, y = np.array([[1.0, -2.0]]), np.eye(3)[[1]]


def estimates(sigma, K=1, copies=100_000, seed=1, **how):
    """Independent proxies for the derivative of the loss by z[1]: (copies, 2)."""
    z, h = forward(net, np.repeat(x, copies, axis=0))
    how |= {"rng": np.random.default_rng(seed), "chunk": 1 << 18}
    return proxy(net, 1, z, h, np.repeat(y, copies, axis=0), sigma=sigma, K=K, **how)


gradient = bp(net, x, y)[1][1]

# %% [markdown]
# ## 1. By hand
#
# With $\zeta = \sigma u$ the estimate is $\frac{1}{\sigma} u (a + b \sigma u) = \frac{a}{\sigma} u + b u^2$. Its mean
# is $b \, E u^2 = b$. Its variance is $\frac{a^2}{\sigma^2} + b^2 (E u^4 - 1) + \frac{2ab}{\sigma} E u^3 =
# \frac{a^2}{\sigma^2} + 2 b^2$, because $E u^4 = 3$ and $E u^3 = 0$.

# %%
a, b, s = 1.3, 0.7, 0.4
print(proxy_covariance(loss=a, g=np.array([b]), H=np.array([[0.0]]), sigma=s), a**2 / s**2 + 2 * b**2)
assert np.isclose(proxy_covariance(loss=a, g=np.array([b]), H=np.array([[0.0]]), sigma=s)[0, 0], a**2 / s**2 + 2 * b**2)

# %% [markdown]
# ## 2. A pair or two?
#
# With forty losses you have twenty pairs, or forty samples with a baseline (and one more loss, without noise). A pair
# removes all even terms of the loss in $\zeta$, and the baseline removes only the constant term. For small $\sigma$,
# only the linear term remains with either method. Then the mean of twice as many samples has half of the variance.

# %%
spread = {name: estimates(0.1, K=40, copies=20_000, **how).var(axis=0).sum()
          for name, how in (("pairs", {"antithetic": True}), ("baseline", {"baseline": True}))}  # fmt: skip
print({name: round(float(v), 4) for name, v in spread.items()})
assert abs(spread["pairs"] - 0.026) < 0.002
assert abs(spread["baseline"] - 0.013) < 0.001

# %% [markdown]
# ## 3. The best $\sigma$
#
# The squared bias grows as $\sigma^4$, and the variance without baseline falls as $1/\sigma^2$. So the best $\sigma$
# is in between. With the baseline, neither the variance nor the bias grows as $\sigma$ falls, so every small $\sigma$
# is good.

# %%
nodes, weights = np.polynomial.hermite_e.hermegauss(60)
u = np.stack(np.meshgrid(nodes, nodes), axis=-1).reshape(-1, 2)
w = np.outer(weights, weights).ravel() / (2 * np.pi)


def smoothed_gradient(sigma, step=1e-4):
    def smoothed(v):
        z, _ = forward(net, start=1, z=[None, v + sigma * u], h=[np.repeat(x, len(u), axis=0)])
        return w @ net.loss.value(z[2], np.repeat(y, len(u), axis=0))

    v = forward(net, x)[0][1]
    return np.array([smoothed(v + e) - smoothed(v - e) for e in step * np.eye(2)]) / (2 * step)


sigmas = np.array([0.1, 0.5, 1.0, 1.4, 1.6, 1.8, 2.5, 4.0])
for name, how in (("plain", {}), ("with baseline", {"baseline": True})):
    off = [np.sum((smoothed_gradient(s) - gradient) ** 2) + estimates(s, copies=40_000, **how).var(axis=0).sum() / 40
           for s in sigmas]  # fmt: skip
    print(f"{name:14}", *(f"{s:g}: {value:.3f}" for s, value in zip(sigmas, off, strict=True)))
    assert (sigmas[np.argmin(off)] in (1.4, 1.6, 1.8)) == (name == "plain")

# %% [markdown]
# ## 4. Write it yourself
#
# The noise at layer 1 goes through the layer above it. The noise at layer 2 is added to the logits themselves. As the
# baseline, we subtract the loss without noise.


# %%
def mine(net, x, y, *, sigma, K, rng):
    z, h = forward(net, x)
    dW, db = [None] * 3, [None] * 3
    for l in (1, 2):
        found = np.zeros_like(z[l])
        for _ in range(K):
            zeta = sigma * rng.standard_normal(z[l].shape)
            top = z[2] + zeta if l == 2 else net.phi[1].phi(z[1] + zeta) @ net.W[2].T + net.b[2]
            found += zeta * (net.loss.value(top, y) - net.loss.value(z[2], y))[:, None]
        found /= K * sigma**2
        dW[l], db[l] = found.T @ h[l - 1] / len(x), found.mean(axis=0)
    return dW, db


images = data.load("fashion-mnist-small")
ten = data.scale_pixels(images.x_train, images.x_test, how="standard")[0][:10].reshape(10, -1)
labels = data.one_hot(images.y_train[:10], images.classes)
small = network.mlp([784, 16, 10], ops.tanh, rng=noise.Streams(1)("init"))
true = bp(small, ten, labels)[0]
for name, rule in (("mine", mine), ("nfa's", partial(ulr, baseline=True))):
    dW = rule(small, ten, labels, sigma=0.05, K=2000, rng=np.random.default_rng(4))[0]
    cosines = [alignment(dW, true, l) for l in (1, 2)]
    print(f"{name:6} cosines with the gradient {np.round(cosines, 3)}")
    assert min(cosines) > 0.9
