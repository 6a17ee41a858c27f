# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 04 Accounting: solutions
#
# This page solves the exercises of {doc}`/04_accounting`. Try each exercise before you read on.

# %%
from math import comb, log

import numpy as np

from nfa.privacy import rdp, subsampling

# %% [markdown]
# ## 1. By hand
#
# $f(\alpha) = \alpha/8 + 11.513/(\alpha - 1)$ has the derivative $1/8 - 11.513/(\alpha - 1)^2$. The derivative is 0
# at $\alpha - 1 = \sqrt{92.10} = 9.597$. So $\alpha = 10.6$ and
# $\epsilon = 10.597/8 + 11.513/9.597 = 1.3246 + 1.1997 = 2.524$. A grid of orders does not contain exactly this
# order, but the smallest $\epsilon$ on the grid is larger by less than a thousandth.

# %%
best = 1 + np.sqrt(8 * log(1e5))
by_hand = best / 8 + log(1e5) / (best - 1)
spent = rdp.gaussian(rdp.REAL_ORDERS, noise_multiplier=2.0)
on_grid, order = rdp.to_dp(rdp.REAL_ORDERS, spent, delta=1e-5, conversion="mironov2017")
print(f"by hand {by_hand:.5f} at {best:.3f}; on the grid {on_grid:.5f} at {order:.3f}")
assert 0 <= on_grid - by_hand < 1e-3

# %% [markdown]
# ## 2. Two of the captions
#
# With $\sigma = 0.03$, the noise multiplier is three times as large as for the caption 4.43. For 50 epochs,
# $\epsilon = 1.2800$, which gives 1.28 if rounded or truncated. For 200 epochs, $\epsilon = 2.6154$, which gives 2.62
# if rounded. But the paper prints 2.61. So the caption for 200 epochs shows that the captions are truncated.

# %%
orders = np.arange(2, 257)
z, q, delta = 0.03 * 512 / 3, 512 / 60_000, 1e-5
one_step = subsampling.without_replacement_gaussian(orders, sampling_rate=q, noise_multiplier=z)
captions = {epochs: rdp.to_dp(orders, epochs * 117 * one_step, delta=delta, conversion="mironov2017")[0]
            for epochs in (50, 200)}  # fmt: skip
print({epochs: round(value, 5) for epochs, value in captions.items()})
assert f"{captions[50]:.2f}" == "1.28"
assert f"{captions[200]:.2f}" == "2.62"

# %% [markdown]
# ## 3. CIFAR-10
#
# With $n = 50{,}000$, $q$ is larger, and an epoch has only $\lfloor 50000 / 512 \rfloor = 97$ steps. The next cell
# computes $\epsilon$ for 50 epochs with $\sigma = 0.01$:

# %%
cifar = subsampling.without_replacement_gaussian(orders, sampling_rate=512 / 50_000, noise_multiplier=0.01 * 512 / 3)
there = rdp.to_dp(orders, 50 * (50_000 // 512) * cifar, delta=delta, conversion="mironov2017")[0]
print(f"instead of 4.43: {there:.4f}")
assert abs(there - 4.87762) < 1e-5

# %% [markdown]
# ## 4. Write it yourself
#
# The accountant needs three lines. At order 256 and $z = 1.7$, the exponent $k(k-1)/(2z^2)$ is up to 11,000. The
# exponential of this number is too large for a float, so we compute the logarithm of the sum from the logarithms of
# the terms.


# %%
def mine(alpha, *, q, z):
    terms = [log(comb(alpha, k)) + (alpha - k) * log(1 - q) + k * log(q) + k * (k - 1) / (2 * z**2)
             for k in range(alpha + 1)]  # fmt: skip
    return float(np.logaddexp.reduce(terms)) / (alpha - 1)


def my_epsilon(steps, *, q, z, delta):
    return min(steps * mine(alpha, q=q, z=z) + log(1 / delta) / (alpha - 1) for alpha in range(2, 257))


z = 0.01 * 512 / 3  # as in the captions
ours = subsampling.poisson_gaussian(np.arange(2, 33), sampling_rate=q, noise_multiplier=z)
theirs = np.array([mine(int(a), q=q, z=z) for a in range(2, 33)])
print("largest relative difference", np.abs(theirs / ours - 1).max())
spent = my_epsilon(5850, q=q, z=z, delta=1e-5)
print(f"5,850 steps: {spent:.3f}")
assert round(spent, 3) == 2.137
assert np.allclose(ours, theirs, rtol=1e-9)
