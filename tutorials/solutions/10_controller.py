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
# These are solutions of the exercises of {doc}`/10_controller`. Try each exercise before you read its solution.

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
# The variances along $d$ orthogonal directions add up to $E\|g\|^2 - \|E g\|^2 \le C^2$. The least of $d$ numbers is
# at most their mean, $C^2 / d$. In the extreme case, the vector has the norm $C$, and its direction is uniform on the
# sphere. Then the variance is $C^2/d$ in each direction. A clip turns isotropic noise of very large norm into such a
# vector.

# %%
print(clipped_variance(variance=1e9, d=4, C=1.0))
assert abs(clipped_variance(variance=1e9, d=4, C=1.0) - 0.25) < 1e-6

# %% [markdown]
# ## 2. Two switches
#
# A gradient of about the norm $C$ is not visible among estimates with far larger norms. The clip scales each estimate
# down, so only a small share of the gradient remains. If the added record has the same loss as all others, it hardly
# changes the noise. So neither game reveals anything.

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
# The square of the second component gives $f_1^2 / f_0$ the exponent $-\frac{(x - 1)^2}{16 + v} + \frac{x^2}{32}$.
# The integral is finite if $\frac{2}{16 + v} > \frac{1}{16}$, which means $v < 16$. For $v \ge 16$ it is infinite,
# because then the variance $16 + v$ is at least twice the variance of the denominator.

# %%
for v in (15.9, 16.1):
    print(v, theorem4.divergences(*theorem4.clean_pair(v)))
assert np.isfinite(max(theorem4.divergences(*theorem4.clean_pair(15.9))))
assert np.isinf(max(theorem4.divergences(*theorem4.clean_pair(16.1))))

# %% [markdown]
# ## 4. Which accountant goes with which sampler?
#
# Records that are permuted and cut into batches are an epoch partition. Each record is in one batch of each epoch, so
# an epoch has the same privacy cost as one step with all records. Poisson batches would have a lower cost, but the
# theorem about Poisson batches does not hold for permuted batches.

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
# The proof conditions on the inner noise. Given the inner noise, the clipped sum is a function of the data with a
# bounded sensitivity. The outer noise does not depend on the data. This step needs the inner noise to have the same
# law in both worlds. With Equation 8, the size of the inner noise is a function of the losses of the batch. So the
# two worlds draw inner noise of different sizes, and there is no common noise on which the proof could condition. An
# audit refutes such a rule, `nfa.papers.dpulr2024.audit_public_noise.with_controller`. The result is in the table
# "The sound rule, and Equation 8 put into it" of `nfa audit dpulr2024:thm2 --trials 20000`.
