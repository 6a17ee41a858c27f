# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 05 Sensitivity: solutions
#
# This page solves the exercises of {doc}`/05_sensitivity`. Try each exercise before you read on.

# %%
import numpy as np

from nfa import data, feedback, network, noise
from nfa.network.ops import sigmoid
from nfa.papers.lee2020 import audit_dp_dfa
from nfa.papers.lee2020.claims import claimed_dfa_sensitivity
from nfa.rules.dp_dfa import dp_dfa
from nfa.rules.dp_sgd import dp_sgd
from nfa.sensitivity.dfa import LayerBound, corrected_dfa_sensitivity, layer_bounds


def flat(dW, db):
    """All layers of a direction as one vector."""
    return np.concatenate([d.ravel() for d in (*dW[1:], *db[1:])])


# %% [markdown]
# ## 1. By hand
#
# A single layer is the top layer, so $\delta z = e$. A record's term for $W$ has a norm of at most $\tau_e \tau_h$,
# and the term for $b$ has a norm of at most $\tau_e$. Both together have a norm of at most
# $\tau_e \sqrt{1 + \tau_h^2} = \frac12 \cdot 2 = 1$. If a record is replaced, its own term is removed and another one
# is added. The mean over $m = 2$ moves by at most twice the term, divided by 2, which is 1.

# %%
by_hand = corrected_dfa_sensitivity([LayerBound(gain_dz=1.0)], m=2, tau_e=0.5, tau_h=3**0.5, adjacency="replace-one")
print(by_hand)
assert abs(by_hand - 1) < 1e-12

# %% [markdown]
# ## 2. Another activation
#
# In the square of the printed formula, every layer has the share $(\gamma\beta)^2$. In the square of the corrected
# formula, the top layer has the share 1, and each of the $L - 1$ hidden layers has the share $(\gamma \beta)^2$. The
# other factors cancel, so the ratio is $\sqrt{1 + (L - 1)(\gamma\beta)^2} \,/\, (\gamma\beta \sqrt L)$. With
# $\gamma = 1$ the ratio is nearly 1, because $\gamma\beta = 0.9$ is nearly 1.

# %%
for L in (3, 4, 5):
    ratio = {gamma: np.sqrt(1 + (L - 1) * (0.9 * gamma) ** 2) / (0.9 * gamma * np.sqrt(L)) for gamma in (0.25, 1.0)}
    layers = [*[LayerBound(gain_dz=0.9)] * (L - 1), LayerBound(gain_dz=1.0)]
    told = {"m": 1, "tau_e": 0.1, "tau_h": 2.0}
    corrected = corrected_dfa_sensitivity(layers, adjacency="replace-one", **told)
    printed = claimed_dfa_sensitivity(L=L, gamma=1.0, beta=0.9, **told)
    print(f"L = {L}: sigmoid {ratio[0.25]:.3f}, tanh {ratio[1.0]:.4f}")
    assert abs(corrected / printed - ratio[1.0]) < 1e-12

# %% [markdown]
# ## 3. Find a worse pair
#
# Three choices bring random feedback near to the bound. Choose biases that put each unit at its steepest point,
# $\phi' = 1/4$. Choose records with norms above $\tau_h$, and a $\tau_h$ that also clips the hidden layer. Then only
# the norm of $B e$ must be large. With two classes, $e$ has only one direction, apart from its sign.

# %%
rng = np.random.default_rng(5)
net = network.mlp([3, 3, 2], sigmoid, rng=rng)
best = 0.0
for _ in range(3000):
    B = feedback.draw(net, law="spectral", scale=0.9, rng=rng)
    pair = 30 * rng.normal(size=(2, 3))  # norms far above tau_h
    net.W[1] = rng.normal(size=(3, 3)) * 0.05
    net.b[1] = -net.W[1] @ pair[0]  # z = 0 for the first record
    told = {"B": B, "m": 1, "sigma": 0.0, "tau_e": 0.1, "tau_h": 0.5, "rng": rng}
    one = flat(*dp_dfa(net, pair[:1], np.array([[1.0, 0.0]]), **told))
    other = flat(*dp_dfa(net, pair[:1], np.array([[0.0, 1.0]]), **told))
    most = corrected_dfa_sensitivity(layer_bounds(net, B), m=1, tau_e=0.1, tau_h=0.5, adjacency="replace-one")
    best = max(best, np.linalg.norm(one - other) / most)
print(f"largest share of the bound: {best:.4f}")
assert 0.9 < best <= 1 + 1e-12

# %% [markdown]
# ## 4. Find the mistake
#
# Each layer may move by $C$, so all layers together may move by $\sqrt{L} \, C$. The sensitivity is
# $2 \sqrt L \, C / m$.

# %%
images = data.load("fashion-mnist-small")
pixels, _ = data.scale_pixels(images.x_train, images.x_test, how="unit")
x, y = pixels[:8].reshape(8, -1), data.one_hot(images.y_train[:8], images.classes)
deep = network.mlp([784, 128, 256, 10], sigmoid, rng=noise.Streams(1)("init"))
L, C = deep.L, 0.01
moved = [np.linalg.norm(flat(*dp_sgd(deep, x[i : i + 1], y[i : i + 1], C=C * L**0.5, m=1, sigma=0.0, clip="layer",
         rng=rng))) for i in range(8)]  # fmt: skip
print(f"largest norm of one record's update {max(moved):.6f}, C = {C}, √L C = {C * L**0.5:.6f}")
assert abs(max(moved) - C * L**0.5) < 1e-9

# %% [markdown]
# ## 5. Take a layer out
#
# A record moves the hidden layers together by at most $C$. The record's term for the top layer is $[e h^\top, e]$,
# with the norm $\|e\| \sqrt{1 + \|h\|^2}$. Only two facts bound this norm. They are $\|e\| < \sqrt 2$ and, for tanh
# and sigmoids, $\|h\|^2 \le n_{L-1}$. So a record moves the sum by at most $\sqrt{C^2 + 2 (1 + n_{L-1})}$, for every
# $C$. For ReLU, there is no bound on $\|h\|$, so there is no bound on the movement.

# %%
e = deep.loss.error(network.forward(deep, x)[0][deep.L], y)
top = [np.linalg.norm(flat([None, d], [None, b])) for d, b in
       (deep.map[L].outer(e[i : i + 1], network.forward(deep, x)[1][L - 1][i : i + 1]) for i in range(8))]  # fmt: skip
print(f"largest norm of a term for the top layer alone {max(top):.2f}; C = {C}")
assert max(top) > 9 * C

# %% [markdown]
# ## 6. Play the other cases
#
# The $\epsilon$ of the printed sensitivity is refuted if the change of one label moves the update farther than the
# printed formula allows. This is true for the three networks in which the top layer learns from $e$. In the case
# "derivative", the top layer learns from $\beta \, e \odot \hat y (1 - \hat y)$, and the printed formula is exact.

# %%
for case in audit_dp_dfa.cases():
    if case.printed is not None:
        m = len(case.x)
        refuted = case.moved > case.printed * (1 + 1e-9)
        told = "refuted" if refuted else ""
        print(f"{case.name:24} printed {m * case.printed:8.4f}, moved {m * case.moved:8.4f}  {told}")
