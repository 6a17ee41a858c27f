# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 12 Auditing: solutions
#
# These are solutions of the exercises of {doc}`/12_auditing`. Try each exercise before you read its solution.

# %%
import numpy as np

from nfa.audit import dp_sgd
from nfa.audit.bounds import epsilon_lower_bound
from nfa.audit.reports import AuditOptions
from nfa.noise import Streams
from nfa.papers.berthier2019.mechanisms import randomised_response as rr
from nfa.papers.dpulr2024 import audit_theorem2
from nfa.privacy.divergences import hockey_stick
from nfa.privacy.gaussians import epsilon_gaussian
from nfa.rules.bp import bp
from nfa.rules.dp_dfa_joint import mechanism as joint_mechanism
from nfa.rules.dp_sgd import dp_sgd as sound
from nfa.rules.dp_sgd import mechanism

delta = 1e-5

# %% [markdown]
# ## 1. One answer more
#
# The probability of "yes" is 0.9 or 0.1, so $\epsilon = \log 9 = 2.20$. Because 2 is near this value, many answers
# are needed. The bound takes the event "yes" (hits 0.1 n and 0.9 n) or its complement, whichever gives the larger
# bound. So in half of the runs, the bound exceeds 2 at a smaller $n$ than with the expected counts.

# %%


def at_least(hits, n):
    return epsilon_lower_bound(tuple(int(h) for h in hits), n, delta=0, confidence=0.95)


by_expectation = next(n for n in range(100, 3000, 20) if at_least((round(0.1 * n), round(0.9 * n)), n) > 2)
rng = np.random.default_rng(1)
for n in (500, 700, 900, 1100):
    hits = rng.binomial(n, [0.1, 0.9], size=(400, 2))
    both = [max(at_least(h, n), at_least(n - h[::-1], n)) for h in hits]
    print(f"{n:5} answers a side: 2 is refuted in {np.mean(np.array(both) > 2):.0%} of the runs")
print("at the expected hits, from about", by_expectation)
assert np.isclose(rr.randomised_response_epsilon(truth=0.8), np.log(9))
assert 1000 < by_expectation < 1200

# %% [markdown]
# ## 2. An event both ways
#
# "No" has the probabilities 1 and 0.999, which is harmless. "Yes" has the probabilities 0 and 0.001. "Yes" is
# impossible on $D$, so no $\epsilon$ bounds the probability of "yes" on $D'$. So $\epsilon = \infty$ for $D'$ from
# $D$. In the other direction, the ratio is $1/0.999$, so $\epsilon = 0.001$. An audit that plays only this direction
# would call the mechanism private.

# %%
D, D2 = np.array([1.0, 0.0]), np.array([0.999, 0.001])
for name, laws in (("D from D'", (D, D2)), ("D' from D", (D2, D))):
    print(name, [round(hockey_stick(*laws, epsilon=e), 6) for e in (0.0, 0.0011, 1.0, 20.0)])
assert hockey_stick(D, D2, epsilon=0.0011) == 0
assert hockey_stick(D2, D, epsilon=20.0) > 0

# %% [markdown]
# ## 3. Write a bug
#
# The games refute two of the bugs: the clip at $2C$, and the norm without the bias. With each of these two bugs, a
# record moves the direction farther than $C$ allows. Division by `len(x)` passes, because for the pairs of these
# games the different divisor changes almost nothing. The pair of {doc}`/13_your_own_rule` has seven more records with
# large gradients, and refutes this bug.
#
# One seed for the noise of all layers passes too. Each entry has noise of the right law. A projection on the line
# between the two outputs does not detect that two layers have the same noise. If you subtract the values of two
# layers, the noise disappears. A statistic that uses this difference detects the record with certainty.


# %%
def divides(net, x, y, *, C, m, sigma, rng):
    """Divide by the number of records in the batch instead of the public m."""
    return sound(net, x, y, C=C, m=max(1, len(x)), sigma=sigma, rng=rng)


def twice(net, x, y, *, C, m, sigma, rng):
    """Clip to 2 C instead of C."""
    return sound(net, x, y, C=2 * C, m=m, sigma=sigma, rng=rng)


def no_bias(net, x, y, *, C, m, sigma, rng):
    """Leave the biases out of the norm of a record's gradient."""
    dW, db = [None, *(0 * W for W in net.W[1:])], [None, *(0 * b for b in net.b[1:])]
    for i in range(len(x)):
        own_W, own_b = bp(net, x[i : i + 1], y[i : i + 1])
        weight = min(1.0, C / np.sqrt(sum((W**2).sum() for W in own_W[1:])))
        for l in range(1, net.L + 1):
            dW[l] += weight * own_W[l] / m
            db[l] += weight * own_b[l] / m
    for part in (dW, db):
        for l in range(1, net.L + 1):
            part[l] += sigma * rng.standard_normal(part[l].shape)
    return dW, db


def one_seed(net, x, y, *, C, m, sigma, rng):
    """Add the same noise to every layer."""
    dW, db = sound(net, x, y, C=C, m=m, sigma=0.0, rng=rng)
    seed = int(rng.integers(2**31))
    for part in (dW, db):
        for l in range(1, net.L + 1):
            part[l] = part[l] + sigma * np.random.default_rng(seed).standard_normal(part[l].shape)
    return dW, db


for rule in (sound, twice, no_bias, divides, one_seed):
    game = dp_sgd.one_step("replace-one", AuditOptions(delta=delta), rule, trials=1000)
    found, most = max(game.any_law, game.lower_bound or 0.0), game.claims["claimed"]
    print(f"{rule.__name__:8} at least {found:.2f} of {most:.2f}", "refuted" if found > most else "")
    assert (found > most) == (rule in (twice, no_bias))

# %% [markdown]
# ## 4. Columns
#
# The attack measures the rows of an update. All rows lie in the span of the inputs of the batch, whatever the noise
# is. For each candidate, the attack computes the distance from this span. The distances of members are rounding
# errors. So the AUC of the audit is 1, and its lower bound on $\epsilon$ is the largest that so many trials can show.
#
# ## 5. Repair
#
# The added noise does not depend on the data. Its standard deviation is $4C$, and the target moves the sum by at most
# $C$. So the $\epsilon$ of a Gaussian mechanism with noise multiplier 4 at $\delta = 10^{-5}$ is an upper bound. For
# the two data sets of this audit, the guarantee $\epsilon = 0.227$ is smaller, because the batch contains the target in
# only about a fifth of the runs.

# %%
case, rng = audit_theorem2.Clipping(), Streams(1)("noise", 4)
n = 3000
without, with_target = (case.law(world, rng, n) + rng.normal(0, 4, n) for world in (0, 1))
hits = [int((scores >= audit_theorem2.TAU).sum()) for scores in (without, with_target)]
bound = epsilon_lower_bound(tuple(hits), n, delta=delta, confidence=0.95)
whole = epsilon_gaussian(delta=delta, noise_multiplier=4)
print(f"hits {hits}, at least {bound:.3f}; one step at the noise 4 grants {whole:.3f}")
assert bound < 0.227

# %% [markdown]
# ## 6. Another rule, another canary
#
# Both rules state the same sensitivity, $C/m$ if a record is added, so the same training has the same claim. The game
# does not refute joint DFA. Under BP, a model can learn the right label from the other records too. So a model
# trained without the canary is nearly as confident of the right label. The wrong label is therefore the better
# canary.

# %%
told = {"C": 1.0, "m": 60, "sigma": 6 / 60, "adjacency": "add-remove", "sampling": "none", "sampling_rate": 1.0}
print(mechanism(**told).sensitivity, joint_mechanism(**told).sensitivity)
assert mechanism(**told).sensitivity == joint_mechanism(**told).sensitivity
