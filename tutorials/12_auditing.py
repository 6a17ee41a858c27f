# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 12 Auditing: how to refute a privacy claim
#
# **Have this page open**: "Forward Learning with Differential Privacy", Section 3.3, Theorem 2; and beside it Lee
# & Kifer (2020), Section 4.2, the overall sensitivity. Both say how private one step is. One can read the proofs;
# one can also run the step many times and count. This tutorial counts, and then audits a trained model from outside.
#
# You need $(\epsilon, \delta)$, the best test and ROC curves: {doc}`03_privacy`. What DP-DFA clips is in
# {ref}`lee2020:A10-A11 <lee2020-a10-a11>`.
#
# The statements we meet: {ref}`lee2020:def1 <lee2020-def1>`, {ref}`lee2020:sens-total <lee2020-sens-total>`,
# {ref}`dpulr2024:thm2 <dpulr2024-thm2>` and {ref}`berthier2019:overconfident <berthier2019-overconfident>`.

# %%
from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

from nfa import data, network, ops, optim, sampling
from nfa.audit import dp_sgd
from nfa.audit.bounds import clopper_pearson, epsilon_lower_bound
from nfa.audit.game import play, projection
from nfa.audit.membership import losses, membership_by_loss
from nfa.audit.private_game import Pair, flat, measure_pair
from nfa.audit.reports import AuditOptions
from nfa.noise import Streams
from nfa.papers.berthier2019.mechanisms import randomised_response as rr
from nfa.papers.dpulr2024 import audit_theorem2
from nfa.papers.lee2020 import audit_dp_dfa
from nfa.privacy.accountant import epsilon
from nfa.privacy.gaussians import epsilon_gaussian
from nfa.rules.bp import bp
from nfa.rules.dp_sgd import dp_sgd as sound_dp_sgd
from nfa.rules.dp_sgd import mechanism
from nfa.train import train

plt.rcParams.update({"figure.constrained_layout.use": True, "axes.grid": True})
plt.rcParams["axes.axisbelow"] = True
delta = 1e-5

# %% [markdown]
# ## The game
#
# A claim of $(\epsilon, \delta)$ speaks of **every** pair of neighbours and **every** event: $P_1(S) \le
# e^{\epsilon} P_0(S) + \delta$ ({ref}`lee2020:def1 <lee2020-def1>`). To refute it one pair and one event will do.
# So: choose $D$ and $D'$, run the mechanism many times on either, count how often the event happens. That is all.
#
# Here somebody claims $\epsilon = 1$ for a coin that answers truthfully with probability 0.8. **Predict**: from
# how many answers on do we know better?

# %%
truth = rr.randomised_response_epsilon(truth=0.8)
print(f"true epsilon {truth:.4f}")


def coin(world, rng):
    return rr.randomised_response(np.array([world]), truth=0.8, rng=rng)[0]


for trials in (10, 30, 100, 1000):
    rng = np.random.default_rng(trials)
    how = {"delta": 0, "trials": trials, "threshold": 0.5, "rng": rng}
    game = play(coin, float, claimed_epsilon=1, **how)
    print(f"{trials:5} answers a side, yeses {game.hits}: at least {game.lower_bound:.2f}")
print(game.words)

# %% [markdown]
# ## Counting with a guarantee
#
# What does "27 of 30" say about a probability? Not that it is 0.9. Clopper and Pearson take all $p$ under which
# so many hits would be too unlikely, and leave them out. The bound is wrong with at most the probability one asks
# for, **for every $n$ and $p$**; the usual $\hat p \pm 1.96 \sqrt{\hat p (1 - \hat p)/n}$ is not. How often does
# either contain the truth, for $n = 100$?

# %%
n = 100
k = np.arange(n + 1)
p = np.linspace(0.001, 0.5, 500)
low, high = clopper_pearson(k, n, error=0.025)
half = 1.96 * np.sqrt(k / n * (1 - k / n) / n)
weights = stats.binom.pmf(k, n, p[:, None])  # chance of k hits   (500, 101)
fig, ax = plt.subplots(figsize=(7, 3.4))
intervals = {"usual": (k / n - half, k / n + half), "Clopper and Pearson": (low, high)}
for name, (a, b) in intervals.items():
    covered = (a <= p[:, None]) & (p[:, None] <= b)
    ax.plot(p, (weights * covered).sum(axis=1), label=name)
ax.axhline(0.95, color="k", ls=":")
ax.set(xlabel="true probability", ylabel="chance to contain it", ylim=(0.6, 1.01))
ax.set_title("95 % intervals from 100 trials")
ax.legend()
# In words: Chance that a 95 % interval contains the truth over the true probability: Clopper and Pearson's stays
# above the dotted 95 %, the usual one falls far below it at the left end.
plt.show()

# %% [markdown]
# Audits live at the left end, where events are rare, and there the usual one fails. From an upper bound on $P_0$
# and a lower bound on $P_1$ follows $\epsilon \ge \log \frac{P_1 - \delta}{P_0}$. So even a perfect attack, never
# wrong in $n$ trials a side, shows only so much:

# %%
ns = np.unique(np.geomspace(5, 1e6, 60).astype(int))
best = [epsilon_lower_bound((0, n), int(n), delta=delta, confidence=0.95) for n in ns]
fig, ax = plt.subplots(figsize=(7, 3.2))
ax.semilogx(ns, best)
ax.set(xlabel="trials a side", ylabel="ε at least, at 95 %")
ax.set_title("An attack that is never wrong")
# In words: Bound on epsilon over the number of trials of an attack that is never wrong: a straight line on a log
# scale, about 10 at a hundred thousand.
plt.show()

# %% [markdown]
# About $\log n$. To refute $\epsilon = 10$ by counting needs about $10^5$ runs, or more knowledge than counts.
#
# ## Two ways to fool oneself
#
# **The event must be chosen before the counting.** Here is a mechanism that ignores the data: a number from 0 to
# 999, uniformly. Its $\epsilon$ is 0. The event: "a number that came up more often on $D'$".

# %%
rng = np.random.default_rng(12)


def numbers(n):
    return rng.integers(0, 1000, n)


def chosen(d0, d1):
    """The numbers that came up more often in the second sample."""
    return np.bincount(d1, minlength=1000) > np.bincount(d0, minlength=1000)


def bound(event, d0, d1):
    hits = event[d0].sum(), event[d1].sum()
    return epsilon_lower_bound(hits, 300, delta=0, confidence=0.95)


same, fresh = [], []
for _ in range(200):
    d0, d1, e0, e1 = (numbers(300) for _ in range(4))
    event = chosen(d0, d1)
    same.append(bound(event, d0, d1))
    fresh.append(bound(event, e0, e1))
for name, bounds in {"the same runs": same, "fresh runs": fresh}.items():
    refuted = np.mean(np.array(bounds) > 0)
    print(f"{name:13}: 0 refuted in {refuted:.1%}, mean bound {np.mean(bounds):.2f}")

# %% [markdown]
# Every single audit of the first kind refutes a true claim. With fresh runs at most one in twenty may, for that
# is what 95 % means; `play` keeps its tuning trials apart. And who plays twenty games should expect a false alarm
# among them: **the second way** is to report the best of many games with the confidence of one.
#
# ## A claim that stands: DP-SGD
#
# The worst pair for DP-SGD is one record whose clipped gradient turns around: another label, two classes. Then
# the two noiseless answers are $2C/m$ apart, which is all that the sensitivity allows, and the best statistic is
# the released vector along the line between them.

# %%
SIGMA, C, M = dp_sgd.SIGMA, dp_sgd.C, dp_sgd.M
net, x_pair, y_pair = dp_sgd.worst_pair("replace-one", seed=1)
pair = Pair(rule=partial(sound_dp_sgd, net, C=C, m=M), x=x_pair, y=y_pair, sigma=SIGMA)
f0, f1 = pair.noiseless()
print(f"distance of the two answers {np.linalg.norm(f1 - f0):.6f}, 2C/m = {2 * C / M}")

score = projection(f0, f1)
rng = Streams(1)("noise", 0)
fig, ax = plt.subplots(figsize=(7, 3.4))
for world, name in enumerate(("D", "D'")):
    scores = [score(pair.release(world, rng)) / SIGMA for _ in range(2000)]
    ax.hist(scores, bins=60, density=True, alpha=0.5, label=f"{name}: 2,000 steps")
    t = np.linspace(-4.5, 4.5, 200)
    ax.plot(t, stats.norm.pdf(t, (2 * world - 1) / 2), color=f"C{world}")
ax.set(xlabel="score, in units of the noise", ylabel="density")
ax.set_title("One step of DP-SGD on its worst neighbours")
ax.legend()
# In words: Two histograms of the score of a step of DP-SGD, for two neighbours: bells one unit apart that overlap for
# the most part, on their exact curves.
plt.show()

# %% [markdown]
# Now the claim. The accountant gives one such step an $\epsilon$; knowing that the noise is Gaussian, the exact
# value is known too. Two lower bounds: `any law` from rare events, which assumes nothing; and a sharper one that
# uses that the noise is Gaussian, so that the frequent event "nearer to $D'$" bounds the whole curve.

# %%
released = mechanism(C=C, m=M, sigma=SIGMA, **audit_dp_dfa.RELEASE)
counted = epsilon([(released, 1)], delta=delta, conversion="mironov2017")
claims = {"claimed": counted.epsilon}
exact = epsilon_gaussian(delta=delta, noise_multiplier=released.noise_multiplier)
settings = AuditOptions(trials=3000, delta=delta)


def show(game):
    claims = ", ".join(f"{name} {value:.2f}" for name, value in game.claims.items())
    gaussian = "" if game.lower_bound is None else f"at least {game.lower_bound:.2f}, "
    print(f"{game.name}: {claims}; {gaussian}any law {game.any_law:.2f}")


def audit(rule, x, y):
    pair = Pair(rule=partial(rule, net, C=C, m=M), x=x, y=y, sigma=SIGMA)
    how = {"claims": claims, "exact": exact, "settings": settings, "stream": 1}
    show(measure_pair(rule.__name__, pair, trials=settings.trials, **how))


audit(sound_dp_sgd, x_pair, y_pair)
print(f"exact {exact:.2f}")

# %% [markdown]
# Not refuted, and near: the exact value is 4.38, and the claim lies above it because Rényi divergences prove a
# little less than the truth.
#
# An audit earns its keep on programs. Here are two that look right in a code review. **Predict**: which is found
# out on this pair?


# %%
def half_the_noise(net, x, y, *, C, m, sigma, rng):
    """Takes C / m for the sensitivity; under replace-one it is 2 C / m."""
    return sound_dp_sgd(net, x, y, C=C, m=m, sigma=sigma / 2, rng=rng)


def clips_the_average(net, x, y, *, C, m, sigma, rng):
    """Averages the gradients first, and clips what comes out."""
    dW, db = bp(net, x, y, m=m)
    factor = min(1.0, C / np.linalg.norm(flat(dW, db)))
    for one in (*dW[1:], *db[1:]):
        one *= factor
        one += rng.normal(0, sigma, one.shape)
    return dW, db


for rule in (half_the_noise, clips_the_average):
    audit(rule, x_pair, y_pair)

# %% [markdown]
# The second passes, with the lowest bound of all, and is the worse bug. On this pair the seven other records hold
# the average where it is. Take eight times the same record, with labels that nearly balance, so that one label
# more decides where the average points: clipped to $C$, it then turns around, by $2C$ and not by $2C/m$.

# %%
x_same = np.repeat(x_pair[0][:1], M, axis=0)
_, h_same = network.forward(net, x_same[:1])
ones = int(M * h_same[net.L][0, 1])  # at the next label the sum of the errors turns around
y_same = [np.eye(2)[(np.arange(M) < k).astype(int)] for k in (ones, ones + 1)]
for rule in (sound_dp_sgd, clips_the_average):
    audit(rule, (x_same, x_same), y_same)

# %% [markdown]
# ## Two claims that fall
#
# {doc}`05_sensitivity` measures, without noise, that one label moves a step of DP-DFA farther than the printed formula
# allows ({ref}`lee2020:sens-total <lee2020-sens-total>`, `ambiguous`: it depends on a reading). With noise, in the
# same game; `printed` is what the accountant would say with the printed sensitivity:

# %%
show(audit_dp_dfa.play_case(audit_dp_dfa.counterexample(), settings))

# %% [markdown]
# The lower bound lies above the one claim and below the other, as it should.
#
# The second is Theorem 2 of DP-ULR ({ref}`dpulr2024:thm2 <dpulr2024-thm2>`): one step is to be as private as a Gaussian
# with noise multiplier 4. {doc}`10_controller` takes its attacks apart; here we ask what **counting** can show of one.
# An estimate is noise in 1,024 coordinates that is clipped to length 1, so that hardly any is left along the target's
# gradient. The event, fixed beforehand: a sum of at least 0.7 there. **Predict**: with 200,000 steps that never see it,
# and 5,000 of which a quarter do, what is the bound, and what limits it?

# %%
case = audit_theorem2.Clipping()
rng = Streams(1)("noise", 1)
without, with_target = case.law(0, rng, 200_000), case.law(1, rng, 5_000)
claimed = audit_theorem2.claim(case, delta)
tau = audit_theorem2.TAU
hits = [int((scores >= tau).sum()) for scores in (without, with_target)]
n = len(without), len(with_target)
counted = epsilon_lower_bound(hits, n, delta=delta, confidence=0.95)
print(f"hits {hits}; claimed {claimed:.3f}, at least {counted:.2f} by counting")

# The same with one side by mathematics: a bound on the chance of a false alarm on D.
caught, _ = clopper_pearson(hits[1], n[1], error=0.05)
with_proof = np.log((caught - delta) / case.false_positives(tau))
print(f"at least {with_proof:.2f} with D bounded in closed form")

# %% [markdown]
# Counting can show $\log n$, for no number of runs tells a chance of 0 from one of $1/n$; a bound on one side by hand
# shows more. `nfa audit dpulr2024:thm2` does this with four million runs, and holds the shortcut that draws these
# scores against the rule itself.

# %% [markdown]
# What does that mean for the models trained in that paper? Less than it seems. This attack needs an example
# whose gradient is far above $C$; where gradients are at most $C$ the clip shrinks signal and noise alike:

# %%
rng = Streams(1)("noise", 3)
lengths = (0.5, 1.0, 5.0, 30.0)
print({length: round(case.multiplier(length, rng, 20_000), 2) for length in lengths})

# %% [markdown]
# The noise multiplier in effect, by the length of the target's gradient: about the 4 that is claimed at $C$, a
# small fraction of it at $30 C$. A guarantee is for everybody's data, so the theorem is false; that is not to say
# that those models leak.
#
# ## A trained model, from outside
#
# So far the auditor saw what every step released, and a theorem speaks of that. Mostly he is handed the trained
# network and no more, a *black box*: he may ask for its loss at a record. A network is surer of what it was trained
# on ({ref}`berthier2019:overconfident <berthier2019-overconfident>`), so a low loss says "member". Train on 500
# images, and ask for the losses of these and of 500 others of the same law. **Predict**: the AUC, the chance that a
# member has the lower loss of the two, without privacy and with $\epsilon$ near 5.

# %%
images = data.load("fashion-mnist-small")
x, _ = data.scale_pixels(images.x_train, images.x_test, how="unit")
x = x.reshape(len(x), -1).astype(np.float32)
y = data.one_hot(images.y_train, images.classes).astype(np.float32)


def trained(rule, x, y, *, hidden, steps, streams):
    net = network.mlp([784, hidden, 10], ops.tanh, rng=streams("init"), dtype=np.float32)
    for t in train(net, rule, sampling.Full(x, y), optim.SGD(0.1, momentum=0.9), streams):
        if t == steps:
            return net


def spent(steps, **settings):
    step = mechanism(**settings, adjacency="add-remove", sampling="none", sampling_rate=1.0)
    return epsilon([(step, steps)], delta=delta).epsilon


members, others = (x[:500], y[:500]), (x[500:1000], y[500:1000])
private = {"C": 1.0, "m": 500, "sigma": 14 / 500}
for name, rule in (("BP", bp), ("DP-SGD", partial(sound_dp_sgd, **private))):
    seen = trained(rule, *members, hidden=64, steps=200, streams=Streams(1))
    attack = membership_by_loss(seen, members, others)
    right = [network.accuracy(seen, one, label.argmax(axis=1)) for one, label in (members, others)]
    print(f"{name:6} right {right[0]:.0%} of members, {right[1]:.0%} of others; AUC {attack.auc:.3f}")
print(f"standard error of an AUC where nothing is told: {attack.auc_error:.3f}")
print(f"DP-SGD's epsilon: {spent(200, **private):.2f}")

# %% [markdown]
# An average over 500 records is no lower bound on $\epsilon$, though: a guarantee is for every record, and most of
# them are like many others. So play the game with whole trainings, and choose the record: a *canary*, an image with
# a wrong label, that only a network which has seen it can know. World 0 trains on 60 images, world 1 on the
# canary too; the score is how low the network's loss at it is. Every training starts from other weights.

# %%
n, T, z = 60, 20, 6.0
canary = x[n : n + 1], np.roll(y[n : n + 1], 3, axis=1)
with_canary = np.concatenate([x[:n], canary[0]]), np.concatenate([y[:n], canary[1]])
worlds = (x[:n], y[:n]), with_canary


def how_sure(seen):
    return -float(losses(seen, *canary)[0])


private = {"C": 1.0, "m": n, "sigma": z / n}
claimed = spent(T, **private)
for name, rule in (("BP", partial(bp, m=n)), ("DP-SGD", partial(sound_dp_sgd, **private))):

    def model(world, rng, rule=rule):
        streams = Streams(int(rng.integers(2**31)))
        return trained(rule, *worlds[world], hidden=16, steps=T, streams=streams)

    how = {"claimed_epsilon": claimed, "delta": delta, "trials": 200, "tuning": 50}
    game = play(model, how_sure, **how, rng=Streams(1)("noise", 5))
    print(f"{name:6} at least {game.lower_bound:.2f}, AUC {game.auc:.3f}, refuted: {game.refuted}")
mu = T**0.5 / z  # of all T steps together, by the noise of one: the best test that sees them all
game = play(lambda world, rng: rng.normal(world * mu), float, **how, rng=Streams(1)("noise", 6))
print(f"all steps seen: at least {game.lower_bound:.2f}, AUC {game.auc:.3f}; claimed {claimed:.2f}")

# %% [markdown]
# Without noise 200 trainings a side show all that so many can show: whoever claimed this $\epsilon$ for BP is refuted.
# With noise they refute nothing, and their bound is far below the claim. Is that the black box? In part: the $T$ steps
# together are one Gaussian mechanism of noise multiplier $z / \sqrt T$, and the best test that sees them all has the
# AUC of the last line, towards which the loss of the final network comes some way. But even that test, counted as
# often, stays far below: at $\delta = 10^{-5}$ most of $\epsilon$ lies in rare events, and 200 trials hold few of them.
# Sharper bounds ask for more trainings, for the shape of the law, or for many canaries in one training (Further
# reading).
#
# ## What an audit can never show
#
# That a claim is true. Each of these passes:


# %%
def look(mechanism, statistic, **how):
    rng = Streams(1)("noise", 4)
    how |= {"claimed_epsilon": exact, "delta": delta, "trials": 2000, "rng": rng}
    game = play(mechanism, statistic, **how)
    print(f"claimed {exact:.2f}, at least {game.lower_bound:.2f}, refuted: {game.refuted}")


# 1. The wrong pair: the average clipped, on a pair where the others hold it in place.
rule = partial(clips_the_average, net, C=C, m=M)
passing = Pair(rule=rule, x=x_pair, y=y_pair, sigma=SIGMA)
look(passing.release, projection(*passing.noiseless()))

# 2. The wrong statistic: half the noise, on the worst pair, but only one bias is looked at.
rule = partial(half_the_noise, net, C=C, m=M)
broken = Pair(rule=rule, x=x_pair, y=y_pair, sigma=SIGMA)
look(broken.release, lambda g: g[-1], high_means=None)


# 3. A rare event: once in 10,000 times the record is printed, whatever the noise.
def leaks_seldom(world, rng):
    return 1e9 * world if rng.random() < 1e-4 else rng.normal(world)


look(leaks_seldom, float, threshold=20.0)

# %% [markdown]
# All three break the claim, and all three audits say so little because they look in the wrong place, or too
# seldom. `nfa audit --rule` ({doc}`13_your_own_rule`) looks in more places: at spread and correlation, at noise that
# is missing, used twice or taken back, at records of every size, at copies of a record, at batches of up to 64 records,
# and at what a rule keeps in its state. It ends with those where it did not look. Nor does
# an audit see what it does not run: the seed that lies in a log file, or the rounding of floating-point noise. A
# proof speaks of all pairs, all events and all times. An audit speaks of one; but it speaks of the program, as it is.
#
# ## Exercises
#
# 1. **One answer more.** For which $n$ does the coin above, with $n$ answers a side, refute $\epsilon = 2$ half
#    of the time? Guess, then count. Check: `epsilon_lower_bound` passes 2 at the expected hits of about 1,100; in a
#    simulation with `play` half do at about 700, since the bound takes the better one of the event and its complement.
# 2. **An event both ways.** A mechanism says "no" always on $D$, and on $D'$ with probability $1 - 10^{-3}$.
#    What is its $\epsilon$ at $\delta = 0$, in either direction? Check: `nfa.privacy.divergences.hockey_stick`
#    on the two laws, in both orders: from which $\epsilon$ on is it 0?
# 3. **Break it.** Write a DP-SGD with a bug of your own (divide by `max(1, len(x))`, forget the bias in the norm, clip
#    with $2C$, one seed for the noise of all layers) and `show` each game of `dp_sgd.games(AuditOptions(trials=2000),
#    your_rule)`. Which bugs pass, and which pair, or which look at the output, would find them? Check: two of these
#    four pass; `nfa audit dp_sgd` is what the sound one gives, {doc}`13_your_own_rule` has a pair for the first.
# 4. **Columns.** Ohana et al. add up the privacy of the columns of one matrix as if each had noise of its own
#    ({ref}`ohana2021:prop3-cols <ohana2021-prop3-cols>`). Audit it: `nfa audit ohana2021:prop3-cols --trials
#    200`. What does the attack look at? Check: `pytest --eq ohana2021:prop3-cols`, in the clone.
# 5. **Repair.** `nfa.rules.dp_ulr_sound` puts $N(0, (\sigma_0 C)^2 I)$ on the clipped sum. Show that the attack
#    above, with $N(0, 16)$ added to what `case.law` draws, finds nothing beyond what it grants, $\epsilon = 0.227$
#    exactly. Check: the table "The sound rule" of `nfa audit dpulr2024:thm2 --trials 20000`.
# 6. **Another rule, another canary.** Play the canary's game for `dp_dfa_joint` (feedback drawn anew for every
#    training), and for BP with the canary's right label. Check: joint DFA has DP-SGD's claim, for its `mechanism` is
#    the same, and is not refuted; under BP the right label is told apart less surely than the wrong one.
#
# ## Three questions
#
# Answer each before you unfold it.
#
# <details><summary>1. An attack is never wrong in 1,000 trials a side. How large an ε does that show?</summary>
#
# About $\log$ of 1,000 over 3 or 4, that is between 5 and 6, with 95 % confidence: one false alarm in so many trials
# cannot be excluded. Counting shows about $\log n$, no more.
#
# </details>
#
# <details><summary>2. Why must the event be fixed before the trials that are counted?</summary>
#
# Chosen on the same trials, it fits their accidents: a mechanism that ignores the data is then refuted every time.
#
# </details>
#
# <details><summary>3. An audit finds nothing. What has been shown?</summary>
#
# That this attack, on this pair, with so many runs, finds nothing. The wrong pair, the wrong statistic or a rare event
# let each of three broken mechanisms pass above.
#
# </details>
#
# ## Further reading
#
# - Jagielski, Ullman & Oprea, "Auditing differentially private machine learning: how private is private SGD?", NeurIPS
#   2020, [arXiv:2006.07709](https://arxiv.org/abs/2006.07709): lower bounds by poisoned neighbours and by Clopper and
#   Pearson.
# - Nasr et al., "Tight auditing of differentially private machine learning", USENIX Security 2023,
#   [arXiv:2302.07956](https://arxiv.org/abs/2302.07956): the bound that uses the shape of Gaussian noise, with few
#   trainings.
# - Steinke, Nasr & Jagielski, "Privacy auditing with one (1) training run", NeurIPS 2023,
#   [arXiv:2305.08846](https://arxiv.org/abs/2305.08846): many records tossed in or out at once, in a single run.
# - Ding et al., "Detecting violations of differential privacy", CCS 2018,
#   [arXiv:1805.10277](https://arxiv.org/abs/1805.10277): events searched on some runs and counted on others.
