# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 03 Privacy: solutions
#
# This page solves the exercises of {doc}`/03_privacy`. Try each exercise before you read on.

# %%
from functools import partial

import numpy as np

from nfa.papers.berthier2019.mechanisms import randomised_response as rr
from nfa.papers.berthier2019.mechanisms.total_variation import apply_channel
from nfa.privacy import divergences, gaussians, rdp

rng = np.random.default_rng(2019)

# %% [markdown]
# ## 1. Another coin
#
# The first coin shows heads with probability $p = 0.2$. The probability of a yes is $p + (1 - p)/2 = 0.6$ for a
# person who copied, and $(1 - p)/2 = 0.4$ for a person who did not copy. So
# $\epsilon = \log (0.6/0.4) = \log 1.5 = 0.405$. We estimate the share by $(\text{share of yeses} - 0.4)/0.2$. If the
# truth is fixed, the variance of one answer is $0.6 \cdot 0.4 = 0.24$. So the variance of the estimate is
# $0.24 / (0.04 \, n) = 6/n$, and $\sqrt{6/n} = 0.03$ requires $n = 6667$ people. With $p = 1/2$ the variance is
# $0.75/n$, so an eighth of these people is enough.

# %%
print(rr.randomised_response_epsilon(truth=0.2), np.log(1.5))
print(6667 * rr.debiased_variance(6667, truth=0.2), np.sqrt(rr.debiased_variance(6667, truth=0.2)))
assert np.isclose(rr.randomised_response_epsilon(truth=0.2), np.log(1.5))
assert np.sqrt(rr.debiased_variance(6667, truth=0.2)) <= 0.03 < np.sqrt(rr.debiased_variance(6666, truth=0.2))

# %% [markdown]
# ## 2. By counting
#
# The shares are $3/4$ and $1/4$ with standard errors of $\sqrt{3/16}/\sqrt{100000} = 0.00137$. The relative standard
# errors are $0.0018$ and $0.0055$, so the standard error of the ratio is about
# $3 \sqrt{0.0018^2 + 0.0055^2} = 0.017$. The number 3.1 is six standard errors away from 3, so one run excludes 3.1.
# But a ratio of shares does not prove that the survey is $\epsilon$-private. The ratio only shows that no $\epsilon$
# well below $\log 3$ is valid.

# %%
ones, zeros = np.ones(100_000, bool), np.zeros(100_000, bool)
ratios = [
    rr.randomised_response(ones, truth=0.5, rng=rng).mean() / rr.randomised_response(zeros, truth=0.5, rng=rng).mean()
    for _ in range(50)
]
print(f"one run {ratios[0]:.3f}; standard deviation over 50 runs {np.std(ratios):.3f}")
assert abs(np.mean(ratios) - 3) < 0.02
assert 0.01 < np.std(ratios) < 0.025

# %% [markdown]
# ## 3. Gauss by integral
#
# With noise of standard deviation 2, the two distributions are $N(1, 4)$ and $N(0, 4)$.

# %%


def log_normal(mean):
    return lambda x: -((x - mean) ** 2) / 8 - np.log(2 * np.sqrt(2 * np.pi))


by_integral = divergences.hockey_stick_density(log_normal(1), log_normal(0), epsilon=1.0)
print(by_integral, gaussians.hockey_stick_gaussian(epsilon=1, noise_multiplier=2))
assert abs(by_integral - gaussians.hockey_stick_gaussian(epsilon=1, noise_multiplier=2)) < 1e-9

# %% [markdown]
# ## 4. Which releases?
#
# The Rényi divergence of $k$ releases is $k \alpha / (2 \sigma^2)$ at each order, and the conversion adds a term.
# With the papers' conversion `mironov2017`, 16 releases fit. With the sharper conversion `canonne2020`, 24 releases
# fit. The exact computation uses that $k$ releases are equivalent to one release with the noise $\sigma / \sqrt k$.
# By this computation, 28 releases fit.

# %%


def by_renyi(k, conversion):
    spent = k * rdp.gaussian(rdp.REAL_ORDERS, noise_multiplier=20.0)
    return rdp.to_dp(rdp.REAL_ORDERS, spent, delta=1e-5, conversion=conversion)[0]


ways = {name: partial(by_renyi, conversion=name) for name in ("mironov2017", "canonne2020")}
ways["exactly"] = lambda k: gaussians.epsilon_gaussian(delta=1e-5, noise_multiplier=20 / k**0.5)
most = {name: max(k for k in range(1, 60) if way(k) < 1) for name, way in ways.items()}
print(most)
assert most == {"mironov2017": 16, "canonne2020": 24, "exactly": 28}

# %% [markdown]
# ## 5. Post-processing
#
# Each row of a channel is the distribution of the new outcome that replaces one old outcome. No channel makes two
# distributions easier to tell apart.

# %%
for _ in range(1000):
    p, q = rng.dirichlet(np.ones(4), size=2)
    channel = rng.dirichlet(np.ones(3), size=4)  # four outcomes into three
    after = [apply_channel(channel, law) for law in (p, q)]
    assert divergences.total_variation(*after) <= divergences.total_variation(p, q) + 1e-12
    assert divergences.renyi(*after, alpha=2.0) <= divergences.renyi(p, q, alpha=2.0) + 1e-12
print("none of a thousand random channels increased the total variation or the Rényi divergence")
