# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 11 Iteration, feedback and shuffling: solutions
#
# These are solutions of the exercises of {doc}`/11_shuffling`. Try each exercise before you read its solution.

# %%
from fractions import Fraction
from itertools import permutations
from math import prod

import numpy as np

from nfa.papers.berthier2019.perturbation.noise_feedback import corrected_feedback_covariances
from nfa.papers.berthier2019.shuffling.beliefs import next_batch, non_common_mass_of_batches
from nfa.papers.berthier2019.shuffling.conjectures import conjectured_step_rdp
from nfa.papers.berthier2019.shuffling.exact import worst_pair
from nfa.papers.berthier2019.shuffling.our_proof import decomposition
from nfa.papers.berthier2019.shuffling.toy import toy_ratio

# %% [markdown]
# ## 1. By hand
#
# Without replacement, two records with the same loss make the same two steps in either order, and end at one output.
# With probability $p$ this output is released. With probability $1 - p$, one of three outputs is released at random.
# So the probability of this output is $p + (1 - p)/3 = (1 + 2p)/3$. With two different losses, the walk never ends at
# this output. Then the output is released only at random, with probability $(1 - p)/3$. The ratio is
# $(1 + 2p)/(1 - p)$.

# %%
for p in (Fraction(1, 2), Fraction(3, 4)):
    print(p, toy_ratio(p=p, replacement=False), (1 + 2 * p) / (1 - p))
    assert toy_ratio(p=p, replacement=False) == (1 + 2 * p) / (1 - p)
assert toy_ratio(p=Fraction(3, 4), replacement=False) == 10

# %% [markdown]
# ## 2. Noise that is taken back, by hand
#
# With $\gamma\alpha = 1$ a step does not depend on the iterate before it: $\theta_{t+1} = \theta_t - \theta_t -
# \eta_{t+1} + \eta_t = \eta_t - \eta_{t+1}$, and $\eta_0 = 0$. So $\theta_1 = -\eta_1$ has the variance 1, and
# $\theta_3 = \eta_2 - \eta_3$ has the variance 2.

# %%
found = corrected_feedback_covariances(np.ones((3, 1, 1)), gamma=1.0, sigma=1.0)[:, 0, 0]
print(found)
assert found[-1] == 2

# %% [markdown]
# ## 3. Try to refute the decomposition
#
# We compute the law of the next record by enumeration. We sum over all ways in which different records can have made
# the outputs, and note which records are left. Then $p = (1 - c) O + c A$ must hold exactly, in fractions.


# %%
def enumerated(phi):
    """Probability that each record is drawn next, given the outputs, by enumeration of all orders."""
    m, n = len(phi), len(phi[0])
    weight = [Fraction(0)] * n
    for used in permutations(range(n), m):
        chance = prod(phi[t][k] for t, k in enumerate(used))
        for k in set(range(n)) - set(used):
            weight[k] += chance
    return [w / sum(weight) for w in weight]


rng = np.random.default_rng(11)
for _ in range(60):
    n = int(rng.integers(3, 6))
    m = int(rng.integers(1, n - 1))
    phi = [[Fraction(int(v), 7) for v in row] for row in rng.integers(1, 20, size=(m, n))]
    other = [Fraction(int(v), 7) for v in rng.integers(1, 20, size=m)]
    parts = decomposition(phi, other)
    neighbour = [[own, *row[1:]] for own, row in zip(other, phi, strict=True)]
    for law, own in ((enumerated(phi), parts.A), (enumerated(neighbour), parts.B)):
        assert law == [(1 - parts.c) * o + parts.c * a for o, a in zip(parts.O, own, strict=True)]
        assert min(own) >= 0
    assert min(parts.O) >= 0
print("sixty tables, in fractions: none refutes it")

# %% [markdown]
# ## 4. Batches of two
#
# Take an output that under $D$ only the pair of records 0 and 1 can have made. Under $D'$, record 0 is replaced, and
# only records 2 and 3 can have made this output. The next batch is drawn from the records that are left. So hardly
# any batch without record 0 is likely under both $D$ and $D'$.

# %%
rare = Fraction(1, 10**9)
p = next_batch({frozenset({0, 1}): 1, frozenset({2, 3}): rare}, n=6, b=2)
q = next_batch({frozenset({2, 3}): rare}, n=6, b=2)
apart = non_common_mass_of_batches(p, q)
print(f"not common {float(apart):.6f}, b / (n - b) = {2 / 4}")
assert float(apart) > 0.83

# %% [markdown]
# ## 5. How small is high noise?
#
# We guess that the last term exceeds the leading term from the order on at which
# $c^\alpha e^{\alpha (\alpha - 1) x / 2}$ is about 1. So $\alpha - 1 = 2 \log(1000) / x = 55$ for $x = 1/4$ (and 14
# for $x = 1$, as in the tutorial).

# %%
orders = np.arange(2, 80)
exact = worst_pair(orders, c=1 / 1000, x=0.25)
leading = conjectured_step_rdp(orders, n=1000, t=1, L=1.0, sigma=4.0)
last = int(orders[np.argmax(exact > leading)]) - 1
print("a bound up to order", last, "; the guess", round(1 + 2 * np.log(1000) / 0.25))
assert last == 55
