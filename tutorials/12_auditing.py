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
# After this page you can test a claim of privacy by experiment. For this, you run an algorithm many times on two data
# sets that differ in one record. You can compute from the results a lower bound on the leak with 95 % confidence, and
# avoid two mistakes by which an audit refutes true claims.
#
# **Have this page open**: "Forward Learning with Differential Privacy", Section 3.3, Theorem 2. Next to it, open Lee
# & Kifer (2020), Section 4.2, the overall sensitivity. Both texts state how private one step is. You can read the
# proofs, or you can run the step many times and count events. In this tutorial we count, and then audit a trained
# model from outside.
#
# You need $(\epsilon, \delta)$, the best test and ROC curves: {doc}`03_privacy`.
# {ref}`lee2020:A10-A11 <lee2020-a10-a11>` describes the clips of DP-DFA.
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
# A claim of $(\epsilon, \delta)$ is about **every** pair of neighbours and **every** event:
# $P_1(S) \le e^{\epsilon} P_0(S) + \delta$ ({ref}`lee2020:def1 <lee2020-def1>`). To refute the claim, one pair and one
# event are enough. So choose $D$ and $D'$, run the mechanism many times on each, and count how often the event
# happens. This is the whole game.
#
# Here is a coin that answers truthfully with probability 0.8. Suppose that somebody claims $\epsilon = 1$ for it.
# **Predict**: How many answers do we need to know that this claim is false?

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
# What does "27 of 30" tell us about a probability? It does not tell us that the probability is 0.9. Clopper and
# Pearson leave out all $p$ under which so many hits would be too unlikely. The resulting bound is wrong with at most
# the probability that you choose, **for every $n$ and $p$**. The usual interval
# $\hat p \pm 1.96 \sqrt{\hat p (1 - \hat p)/n}$ does not have this guarantee. How often does each of the two intervals
# contain the true probability, for $n = 100$?

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
ax.set(xlabel="true probability", ylabel="probability to contain it", ylim=(0.6, 1.01))
ax.set_title("95 % intervals from 100 trials")
ax.legend()
# In words: Probability that a 95 % interval contains the true probability, over the true probability. For Clopper and
# Pearson, this probability stays above the dotted 95 %. For the usual interval, it falls far below 95 % at the left
# end.
plt.show()

# %% [markdown]
# Audits use the left end, where events are rare, and there the usual interval fails. From an upper bound on $P_0$ and
# a lower bound on $P_1$, we get $\epsilon \ge \log \frac{P_1 - \delta}{P_0}$. So even a perfect attack, which is
# never wrong in $n$ trials on each data set, gives only a limited lower bound on $\epsilon$:

# %%
ns = np.unique(np.geomspace(5, 1e6, 60).astype(int))
best = [epsilon_lower_bound((0, n), int(n), delta=delta, confidence=0.95) for n in ns]
fig, ax = plt.subplots(figsize=(7, 3.2))
ax.semilogx(ns, best)
ax.set(xlabel="trials a side", ylabel="ε at least, at 95 %")
ax.set_title("An attack that is never wrong")
# In words: Bound on epsilon over the number of trials of an attack that is never wrong. The bound is a straight line
# on a log scale, and about 10 at a hundred thousand.
plt.show()

# %% [markdown]
# The bound is about $\log n$. To refute $\epsilon = 10$ by counting, you need about $10^5$ runs, or you must know more
# than the counts.
#
# ## Two ways to refute a true claim by mistake
#
# **The event must be chosen before the counting.** Here is a mechanism that ignores the data: it returns a number from
# 0 to 999, uniformly. Its $\epsilon$ is 0. The event is "a number that appeared more often on $D'$".

# %%
rng = np.random.default_rng(12)


def numbers(n):
    return rng.integers(0, 1000, n)


def chosen(d0, d1):
    """The numbers that appeared more often in the second sample."""
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
# Every single audit of the first kind refutes a true claim. With fresh runs, at most about one audit in twenty
# refutes a true claim, because this is the meaning of 95 %. `play` therefore separates its tuning trials from the
# trials that it counts. If you play twenty games, you can expect up to one false alarm among them. So **the second
# mistake** is to report the best of many games with the confidence of a single game.
#
# ## A claim that is not refuted: DP-SGD
#
# The worst pair for DP-SGD replaces one record so that its clipped gradient changes to its opposite. For this, it is
# enough to change the label in a problem with two classes. Then the two outputs without noise are $2C/m$ apart, which
# is the largest distance that the sensitivity allows. The best statistic is the component of the released vector
# along the line between these two outputs.

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
# In words: Two histograms of the score of a step of DP-SGD, for two neighbours. They are bells one unit apart, which
# overlap for the most part and lie on their exact curves.
plt.show()

# %% [markdown]
# Now we test the claim. The accountant computes the $\epsilon$ of one such step. Because the noise is Gaussian, we
# also know the exact value. There are two lower bounds. The first bound, `any law`, follows from rare events and
# assumes no law. The second bound is sharper and uses that the noise is Gaussian. With this assumption, we can
# compute a bound at every $\delta$ from the frequent event "nearer to $D'$".

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
# The claim is not refuted, and the sharper lower bound is near the claim. The exact value is 4.38. The claim is
# larger than this value because bounds by Rényi divergences are not tight.
#
# Audits are most useful for programs. Here are two programs that look correct in a code review. **Predict**: Which of
# the two programs does this pair refute?


# %%
def half_the_noise(net, x, y, *, C, m, sigma, rng):
    """Takes C / m for the sensitivity, but under replace-one the sensitivity is 2 C / m."""
    return sound_dp_sgd(net, x, y, C=C, m=m, sigma=sigma / 2, rng=rng)


def clips_the_average(net, x, y, *, C, m, sigma, rng):
    """Averages the gradients first, and clips the average."""
    dW, db = bp(net, x, y, m=m)
    factor = min(1.0, C / np.linalg.norm(flat(dW, db)))
    for one in (*dW[1:], *db[1:]):
        one *= factor
        one += rng.normal(0, sigma, one.shape)
    return dW, db


for rule in (half_the_noise, clips_the_average):
    audit(rule, x_pair, y_pair)

# %% [markdown]
# The second program passes, with the lowest bound of the three programs, although it has the worse bug. On this pair,
# the seven other records keep the average almost fixed. Take eight copies of the same record, with labels that nearly
# balance. Then a change of one label reverses the direction of the average. The average is clipped to $C$ and changes
# to its opposite, so it moves by $2C$ and not by $2C/m$.

# %%
x_same = np.repeat(x_pair[0][:1], M, axis=0)
_, h_same = network.forward(net, x_same[:1])
ones = int(M * h_same[net.L][0, 1])  # with one more of these labels, the sum of the errors changes its sign
y_same = [np.eye(2)[(np.arange(M) < k).astype(int)] for k in (ones, ones + 1)]
for rule in (sound_dp_sgd, clips_the_average):
    audit(rule, (x_same, x_same), y_same)

# %% [markdown]
# ## Two claims that are refuted
#
# {doc}`05_sensitivity` shows by a measurement without noise that one label moves a step of DP-DFA farther than the
# printed formula allows. (The verdict on {ref}`lee2020:sens-total <lee2020-sens-total>` is `ambiguous`, because it
# depends on how one reads the formula.) Now we play the same game as above, with noise. The accountant computes two
# epsilons. The epsilon `printed` is for the printed sensitivity, and `corrected` is for the corrected sensitivity:

# %%
show(audit_dp_dfa.play_case(audit_dp_dfa.counterexample(), settings))

# %% [markdown]
# As expected, the lower bound is above the epsilon `printed` and below the epsilon `corrected`.
#
# The second refuted claim is Theorem 2 of DP-ULR ({ref}`dpulr2024:thm2 <dpulr2024-thm2>`): one step is as private as
# a Gaussian mechanism with noise multiplier 4. {doc}`10_controller` explains the attacks on this claim. Here we ask
# which bound we get from **counting** the successes of one attack. An estimate is noise in 1,024 coordinates, clipped
# to norm 1, so hardly any noise remains along the target's gradient. The event is fixed beforehand: a sum of at least
# 0.7 along this gradient. **Predict**: Suppose that none of 200,000 steps without the target has the event, and a
# quarter of 5,000 steps with the target have it. What is the lower bound on $\epsilon$, and what limits this bound?

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

# A larger lower bound: for D, we replace the count by a proved bound on the probability of a false alarm.
caught, _ = clopper_pearson(hits[1], n[1], error=0.05)
with_proof = np.log((caught - delta) / case.false_positives(tau))
print(f"at least {with_proof:.2f} with D bounded in closed form")

# %% [markdown]
# Counting gives a lower bound of at most about $\log n$, because $n$ runs cannot distinguish a probability of 0 from
# a probability of $1/n$. If you prove a bound for one of the two data sets by hand, you get a larger lower bound.
# `nfa audit dpulr2024:thm2` plays this attack with four million runs. It also compares the shortcut that draws these
# scores with the rule itself.

# %% [markdown]
# What does this result mean for the models trained in that paper? For these models it is less serious, because the
# attack needs an example with a gradient of norm far above $C$. If gradients have norms of at most $C$, the clip
# scales down signal and noise by the same factor:

# %%
rng = Streams(1)("noise", 3)
norms = (0.5, 1.0, 5.0, 30.0)
print({norm: round(case.multiplier(norm, rng, 20_000), 2) for norm in norms})

# %% [markdown]
# The cell prints the noise multiplier in effect for four norms of the target's gradient. The multiplier is about the
# claimed 4 at the norm $C$, and a small fraction of 4 at the norm $30 C$. A guarantee must hold for all possible
# data, so the theorem is false. We do not claim that those models leak.
#
# ## A trained model, from outside
#
# So far the auditor saw the release of every step, because the theorems are about these releases. Usually an auditor
# can use the trained network only as a *black box*, which returns its loss at a record. A network is more confident
# on the records on which it was trained ({ref}`berthier2019:overconfident <berthier2019-overconfident>`). So a low
# loss suggests that a record is a member. We train on 500 images, and compute the losses of these images and of 500
# other images of the same data set. **Predict**: What is the AUC without privacy, and with $\epsilon$ near 5? The AUC
# is the probability that a random member has a lower loss than a random other image.

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
print(f"standard error of an AUC if nothing leaks: {attack.auc_error:.3f}")
print(f"DP-SGD's epsilon: {spent(200, **private):.2f}")

# %% [markdown]
# The AUC is an average over 500 records, and it does not give a lower bound on $\epsilon$. A guarantee must hold for
# every record, but most of the records are similar to many others. So we play the game with whole trainings, and
# choose the record that differs. We choose a *canary*: an image with a wrong label, which only a network that was
# trained on it can know. World 0 trains on 60 images, and world 1 also trains on the canary. The score is larger if
# the network's loss at the canary is lower. Every training starts from different random weights.

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
mu = T**0.5 / z  # distance of the two laws of all T steps, in units of the noise, for the best test that sees all steps
game = play(lambda world, rng: rng.normal(world * mu), float, **how, rng=Streams(1)("noise", 6))
print(f"all steps seen: at least {game.lower_bound:.2f}, AUC {game.auc:.3f}; claimed {claimed:.2f}")

# %% [markdown]
# Without noise, the lower bound is as large as 200 trainings in each world can give. It refutes the claim for BP.
# With noise, the trainings refute nothing, and the lower bound is far below the claim. The black box is only a part
# of the reason. The $T$ steps together are one Gaussian mechanism of noise multiplier $z / \sqrt T$. The last printed
# line has the AUC of the best test that sees all steps. The AUC from the loss of the final network lies between 1/2
# and this value. But with as many trials, even the lower bound from this best test is far below the claim. The reason
# is that at $\delta = 10^{-5}$ most of $\epsilon$ depends on rare events, and 200 trials contain few of these events.
# For sharper bounds, you need more trainings, the form of the law, or many canaries in one training (see Further
# reading).
#
# ## What an audit can never show
#
# An audit can never show that a claim is true. Each of these three broken mechanisms passes:


# %%
def look(mechanism, statistic, **how):
    rng = Streams(1)("noise", 4)
    how |= {"claimed_epsilon": exact, "delta": delta, "trials": 2000, "rng": rng}
    game = play(mechanism, statistic, **how)
    print(f"claimed {exact:.2f}, at least {game.lower_bound:.2f}, refuted: {game.refuted}")


# 1. The wrong pair: the clipped average, on a pair where the other records keep it almost fixed.
rule = partial(clips_the_average, net, C=C, m=M)
passing = Pair(rule=rule, x=x_pair, y=y_pair, sigma=SIGMA)
look(passing.release, projection(*passing.noiseless()))

# 2. The wrong statistic: half the noise, on the worst pair, but the statistic is only one bias.
rule = partial(half_the_noise, net, C=C, m=M)
broken = Pair(rule=rule, x=x_pair, y=y_pair, sigma=SIGMA)
look(broken.release, lambda g: g[-1], high_means=None)


# 3. A rare event: with probability 1/10,000, the mechanism prints the record.
def leaks_seldom(world, rng):
    return 1e9 * world if rng.random() < 1e-4 else rng.normal(world)


look(leaks_seldom, float, threshold=20.0)

# %% [markdown]
# All three mechanisms violate the claim. The three audits find little, because they test the wrong pair or the wrong
# statistic, or because the event is too rare. `nfa audit --rule` ({doc}`13_your_own_rule`) tests more:
#
# - spread and correlation;
# - noise that is missing, used twice or taken back;
# - records of every size, copies of a record, and batches of up to 64 records;
# - values that a rule keeps in its state.
#
# At the end, it lists what it did not test. An audit also misses everything that it does not run, for example the
# seed in a log file, or the rounding of floating-point noise. A proof covers all pairs, all events and all runs. An
# audit covers only some pairs and some events, but it tests the program as it is.
#
# ## What you have learnt
#
# - To refute a claim of $(\epsilon, \delta)$, one pair of neighbours and one event are enough.
# - Clopper and Pearson's bounds hold for every $n$ and $p$, and counting with $n$ runs shows at most about $\log n$.
# - Choose the event before the counting. Do not report the best of many games with the confidence of one game.
# - The loss of a trained network reveals less about a record than all its steps, and rare events limit both bounds.
# - An audit that refutes nothing shows only that this attack, on this pair, with so many runs, found nothing.
#
# ## Exercises
#
# 1. **One answer more.** Take $n$ answers of the coin above in each world. For which $n$ do these answers refute
#    $\epsilon = 2$ in half of all runs? Guess, then count. Check: for the expected numbers of hits,
#    `epsilon_lower_bound` exceeds 2 from about 1,100 answers on. In a simulation with `play`, half of the runs exceed
#    2 at about 700 answers, because `play` takes the better bound of the event and its complement.
# 2. **An event both ways.** A mechanism always answers "no" on $D$, and answers "no" on $D'$ with probability
#    $1 - 10^{-3}$. What is its $\epsilon$ at $\delta = 0$, in each direction? Check: compute
#    `nfa.privacy.divergences.hockey_stick` of the two laws, in both directions. From which $\epsilon$ on is this
#    divergence 0?
# 3. **Write a bug.** Write a DP-SGD with a bug of your own. For example, divide by `max(1, len(x))`, leave the bias
#    out of the norm, clip with $2C$, or use one seed for the noise of all layers. Then `show` each game of
#    `dp_sgd.games(AuditOptions(trials=2000), your_rule)`. Which bugs pass? Which pair of neighbours or which
#    statistic of the output would detect these bugs? Check: two of the four bugs above pass. `nfa audit dp_sgd`
#    prints the values of the sound rule, and {doc}`13_your_own_rule` has a pair for the first bug.
# 4. **Columns.** Ohana et al. add up the privacy of the columns of one matrix as if each column had its own noise
#    ({ref}`ohana2021:prop3-cols <ohana2021-prop3-cols>`). Audit this claim with
#    `nfa audit ohana2021:prop3-cols --trials 200`. What does the attack measure? Check:
#    `pytest --eq ohana2021:prop3-cols`, in the clone.
# 5. **Repair.** `nfa.rules.dp_ulr_sound` adds $N(0, (\sigma_0 C)^2 I)$ to the clipped sum. Add $N(0, 16)$ to the
#    scores of `case.law`. Show that the attack above then finds no more than the guarantee allows, which is exactly
#    $\epsilon = 0.227$. Check: the table "The sound rule" of `nfa audit dpulr2024:thm2 --trials 20000`.
# 6. **Another rule, another canary.** Play the canary's game for `dp_dfa_joint`, with new feedback for every
#    training. Play it also for BP with the canary's right label. Check: joint DFA has the same claim as DP-SGD,
#    because its `mechanism` is the same, and the game does not refute this claim. Under BP, the game detects the
#    canary with the right label less reliably than the canary with the wrong label.
#
# ## Three questions
#
# Answer each before you unfold it.
#
# <details><summary>1. An attack is never wrong in 1,000 trials in each world. How large an ε does this show?</summary>
#
# The attack shows an $\epsilon$ of about $\log(1{,}000/3)$ or $\log(1{,}000/4)$, which is between 5 and 6, with 95 %
# confidence. The reason is that 1,000 trials without a false alarm cannot exclude a probability of 3 or 4 in 1,000.
# In general, counting shows at most about $\log n$.
#
# </details>
#
# <details><summary>2. Why must the event be fixed before the trials that are counted?</summary>
#
# An event that is chosen on the same trials fits the random errors of these trials. Then the audit refutes even a
# mechanism that ignores the data, every time.
#
# </details>
#
# <details><summary>3. An audit finds nothing. What has been shown?</summary>
#
# The audit shows only that this attack, on this pair, with so many runs, finds nothing. Above, three broken
# mechanisms pass. The reasons are a wrong pair, a wrong statistic and a rare event.
#
# </details>
#
# ## Further reading
#
# - Jagielski, Ullman & Oprea, "Auditing differentially private machine learning: how private is private SGD?", NeurIPS
#   2020, [arXiv:2006.07709](https://arxiv.org/abs/2006.07709). They derive lower bounds from poisoned neighbours and
#   from Clopper and Pearson.
# - Nasr et al., "Tight auditing of differentially private machine learning", USENIX Security 2023,
#   [arXiv:2302.07956](https://arxiv.org/abs/2302.07956): the bound that uses the shape of Gaussian noise, with few
#   trainings.
# - Steinke, Nasr & Jagielski, "Privacy auditing with one (1) training run", NeurIPS 2023,
#   [arXiv:2305.08846](https://arxiv.org/abs/2305.08846): many records are included or left out at random, all in a
#   single run.
# - Ding et al., "Detecting violations of differential privacy", CCS 2018,
#   [arXiv:1805.10277](https://arxiv.org/abs/1805.10277): events that are searched on some runs and counted on others.
