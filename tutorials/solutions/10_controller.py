# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 10 The privacy controller: solutions
#
# Of the exercises of {doc}`/10_controller`. Try each before you read on.

# %%
import numpy as np

from nfa.mechanism import Mechanism
from nfa.papers.dpulr2024 import audit_theorem4 as theorem4
from nfa.papers.dpulr2024.audit_worlds import Clipping, Reading
from nfa.papers.dpulr2024.variances import clipped_variance
from nfa.privacy.accountant import epsilon

delta = 1e-5

# %% [markdown]
# ## 1. By hand
#
# The variances along $d$ orthogonal directions add up to $E\|g\|^2 - \|E g\|^2 \le C^2$. The least of $d$ numbers is at
# most their mean, $C^2 / d$. The extreme is a vector of length $C$ with a direction uniform on the sphere, which has
# $C^2/d$ in each: that is what a clip makes of very long isotropic noise.

# %%
print(clipped_variance(variance=1e9, d=4, C=1.0))
assert abs(clipped_variance(variance=1e9, d=4, C=1.0) - 0.25) < 1e-6

# %% [markdown]
# ## 2. Two switches
#
# A gradient of about the length $C$ is not seen among estimates that are far longer: clipped, each keeps a share of
# it that is as small as the noise was large. And a loss like all others makes the controller add noise like for all
# others. Neither game tells anything.

# %%
shortened = Clipping(R=2.0)
rng = np.random.default_rng(0)
with_target = shortened.law(1, rng, 2000)
print(f"largest sum with the target {with_target.max():.2f}; the threshold was 0.7")
quiet = -Reading(ratio=1.0).law(1, rng, 500)
print(f"shortest sum with a record like all others {quiet.min():.2f}; the threshold was 1.2")
assert with_target.max() < 0.7
assert quiet.min() > 1.2

# %% [markdown]
# ## 3. Where it becomes infinite
#
# $f_1^2 / f_0$ has the exponent $-\frac{(x - 1)^2}{16 + v} + \frac{x^2}{32}$ from the second component's square. The
# integral is finite as long as $\frac{2}{16 + v} > \frac{1}{16}$, so up to $v = 16$, and infinite from 16 on: twice the
# variance of what is below.

# %%
for v in (15.9, 16.1):
    print(v, theorem4.divergences(*theorem4.clean_pair(v)))
assert np.isfinite(max(theorem4.divergences(*theorem4.clean_pair(15.9))))
assert np.isinf(max(theorem4.divergences(*theorem4.clean_pair(16.1))))

# %% [markdown]
# ## 4. Which accountant goes with which sampler?
#
# Records permuted and cut are an epoch partition: each record is in one batch an epoch, and an epoch costs one full
# step. Poisson batches would cost less, by a theorem that does not speak of these.

# %%
for adjacency, sampling, steps, rate in (("replace-one", "epoch-partition", 25 * 120, 1 / 120),
                                         ("add-remove", "poisson", 25 * 120, 1 / 120)):  # fmt: skip
    sensitivity = 2.0 if adjacency == "replace-one" else 1.0
    step = Mechanism(law="gaussian", sensitivity=sensitivity, noise_std=4.0, adjacency=adjacency, sampling=sampling,
                     sampling_rate=rate)  # fmt: skip
    spent = epsilon([(step, steps)], delta=delta, conversion="mironov2017")
    print(f"{sampling:16} noise 4 C, 25 epochs of 120 batches: epsilon {spent.epsilon:.3f}")

# %% [markdown]
# ## 5. Write it yourself
#
# The proof conditions on the inner noise: given it, the clipped sum is a function of the data with a bounded
# sensitivity, and the outer noise looks at nothing. It needs the law of the inner noise to be the same in both
# worlds. With Equation 8 its size is a function of the losses of the batch: the two worlds draw inner noise of
# different sizes, and there is no common noise to condition on. The table "The sound rule, and Equation 8 put into
# it" of `nfa audit dpulr2024:thm2 --trials 20000` has a rule that is refuted so,
# `nfa.papers.dpulr2024.audit_public_noise.with_controller`.
