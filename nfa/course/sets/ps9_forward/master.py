# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Problem set 9: forward learning
#
# **Have this page open**: "Forward Learning with Differential Privacy" (2024), Section 3.2: Equation 4, Propositions 2
# and 3, Algorithm 1 and Equation 8. About 100 minutes, 20 points. Tutorials 09 and 10 are the reading beside it.
#
# You estimate gradients without any derivative, from forward passes with noise; train a network that backpropagation
# cannot train; and then see whether all that noise protects anybody, as the paper says. Replace every
# `raise NotImplementedError`. Loops or array operations, float64 or float32, helper functions in the same cell: all are
# fine. A cell with points shows you a few of its checks; others run when your notebook is graded. Do not change those
# cells: they are put back before grading.
#
# `nfa eq dpulr2024:eq4` shows what stands behind a tag such as [dpulr2024:eq4]. When your notebook is graded, each
# call of one of your functions has three seconds of computing.
#
# Notation, as in nfa; the paper writes $v$ for our $z$, and $z$ for our $\zeta$. Rows are records.
#
# | | shape | |
# |---|---|---|
# | `z` | `(m, n)` | pre-activations of one layer, for m records |
# | `u` | `(K, m, n)` | K draws of standard normal noise for every record, all independent |
# | `sigma` | number | $\sigma$; the noise that is added to `z` is $\zeta = \sigma u$ |
# | `loss` | function | of an array `(m, n)` it gives the m losses of the records, of `(K, m, n)` the losses `(K, m)` |
#
# No exercise draws noise itself, but for the training loop: what is random is an argument, and so your results are
# reproducible.

# %% setting
import numpy as np


def exact_draws(n):
    """6^n draws, (6^n, n): averaged over them, a polynomial of degree up to 5 has its mean under N(0, I), exactly."""
    one = np.sqrt(3) * np.array([-1.0, 0, 0, 0, 0, 1])
    return np.stack(np.meshgrid(*[one] * n, indexing="ij"), axis=-1).reshape(-1, n)


# %% [markdown]
# ## 1. A gradient from noise (5 points)
#
# [dpulr2024:eq4], for the pre-activations of a layer and K draws: for every record
#
# $$\hat g = \frac{1}{K \sigma^2} \sum_{k=1}^K \zeta_k \, \mathcal L(z + \zeta_k), \qquad
# \zeta_k \sim N(0, \sigma^2 I)$$
#
# Why should that be a gradient? On paper, before you program: write the mean of $\mathcal L(z + \zeta)$ as an integral,
# substitute $v = z + \zeta$, so that $z$ stands in the Gaussian density and no longer in the loss, and differentiate
# the density by $z$ ([dpulr2024:thm3]). The loss itself need not have a derivative.
#
# Your draws are those of $u$: what do you divide by, then?


# %% estimate solution=true
def estimate(loss, z, u, sigma):
    """The estimate of every record's gradient by z, (m, n), from the K draws in u, which is (K, m, n)."""
    ### BEGIN SOLUTION
    felt = loss(z + sigma * u)  # (K, m)
    return (u * felt[:, :, None]).mean(axis=0) / sigma
    ### END SOLUTION


# %% estimate_direction points=2
# 2 points: the direction of all estimates together, whatever their length and sign
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").estimate_direction(estimate)
### END HIDDEN TESTS
assert np.shape(estimate(lambda v: np.sum(v**2, axis=-1), np.ones((4, 3)), np.ones((5, 4, 3)), 0.5)) == (4, 3)

# %% estimate_K points=1
# 1 point: the length, whatever K is, given that of K = 1 (with one record)
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").estimate_K(estimate)
### END HIDDEN TESTS

# %% estimate_sigma points=1
# 1 point: length and sign, whatever sigma is, where K = 1 (with one record)
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").estimate_sigma(estimate)
### END HIDDEN TESTS

# %%
# to try it
g = estimate(lambda v: 3 + 0 * np.sum(v, axis=-1), np.array([[7.0]]), np.array([[[2.0]]]), sigma=0.5)
assert np.isclose(g[0][0], 12), "zeta is 1 and the loss is 3: 1 * 3 / 0.25"

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "estimate_direction", "estimate_K", "estimate_sigma")

# %% [markdown]
# The mean over *all* noise is the gradient of the **smoothed** loss $E \, \mathcal L(z + \zeta)$. One record, one
# logit, $\mathcal L(z) = z^4$, at $z = 1$ and with $\sigma = 1/2$: what is the mean of the estimate? (The derivative is
# 4.) You can reason, or let `estimate` meet `exact_draws`: no chance is needed.


# %% mean_of_quartic solution=true
def mean_of_quartic():
    """The mean of the estimate over all noise, a number."""
    ### BEGIN SOLUTION
    return 7.0  # E (z + zeta)^4 = z^4 + 6 z^2 sigma^2 + 3 sigma^4, whose derivative is 4 z^3 + 12 z sigma^2
    ### END SOLUTION


# %% quartic points=1
# 1 point, for an answer within 0.05
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").quartic(mean_of_quartic)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "quartic")

# %% [markdown]
# ## 2. Most of it says nothing (5 points)
#
# An estimate is also far from its mean: it weighs the noise with *how large* the loss is, where only *how it changes*
# is news. Two remedies, with the same mean:
#
# - **Baseline**: subtract from each loss the record's loss without noise, $\mathcal L(z)$.
# - **Antithetic pairs**: use each draw twice, as $\zeta$ and as $-\zeta$: in place of $\mathcal L(z + \zeta)$ take half
#   of what the loss at $z + \zeta$ is more than the loss at $z - \zeta$.


# %% baseline solution=true
def baseline(loss, z, u, sigma):
    """The estimate (m, n) with the baseline, from the K draws in u."""
    ### BEGIN SOLUTION
    calm = loss(z)  # (m,)
    return estimate(lambda v: loss(v) - calm, z, u, sigma)
    ### END SOLUTION


# %% baseline_values points=1
# 1 point: any draws; a factor that your `estimate` has wrong too costs nothing here
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").baseline_values(baseline)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "baseline_values")


# %% antithetic solution=true
def antithetic(loss, z, u, sigma):
    """The estimate (m, n) by K antithetic pairs, so from 2 K losses for each record."""
    ### BEGIN SOLUTION
    return (estimate(loss, z, u, sigma) + estimate(loss, z, -u, sigma)) / 2
    ### END SOLUTION


# %% antithetic_values points=1
# 1 point: any draws; a factor that your `estimate` has wrong too costs nothing here
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").antithetic_values(antithetic)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "antithetic_values")

# %% [markdown]
# Somebody wants to save the pass without noise, and takes as baseline the *average of the record's K noisy losses*,
# those of the very draws that are weighed. The mean of that estimate is no longer the gradient of the smoothed loss but
# a multiple of it. Which? (Write it out for $K = 2$; what must it be for $K = 1$?)


# %% own_average solution=true
def own_average(K):
    """What the mean over all noise is multiplied by, a number that depends on K alone."""
    ### BEGIN SOLUTION
    return 1 - 1 / K
    ### END SOLUTION


# %% own_average_factor points=1
# 1 point: several K
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").own_average_factor(own_average)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "own_average_factor")

# %% [markdown]
# **Predict, then measure.** Let the loss be smooth, and $\ell_0 = \mathcal L(z) \ne 0$ the loss without noise. For
# small $\sigma$ the variance of `estimate` is in proportion to a power of $K$, a power of $\sigma$ and a power of
# $\ell_0$. Proposition 3 and Equation 22 of the paper print different powers of $\ell_0$ ([dpulr2024:prop3],
# [dpulr2024:eq22]); only one is right. With the baseline the variance goes with another power of $\sigma$; and the
# distance of the mean from the true gradient, the bias, with yet another (let the loss not be quadratic, where the bias
# is 0). The variance, not the standard deviation; an exponent of 0 says that it does not depend on it.


# %% exponents solution=true
def exponents():
    """The exponents: {"K": ..., "sigma": ..., "loss": ..., "baseline_sigma": ..., "bias_sigma": ...}.

    The first three are those of the variance of `estimate`, "baseline_sigma" is that of the variance of `baseline` as a
    power of sigma, and "bias_sigma" that of the bias of either.
    """
    ### BEGIN SOLUTION
    return {"K": -1, "sigma": -2, "loss": 2, "baseline_sigma": 0, "bias_sigma": 2}
    ### END SOLUTION


# %% exponents_plain points=1
# 1 point: "K", "sigma" and "loss"
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").exponents_plain(exponents)
### END HIDDEN TESTS

# %% exponents_rest points=1
# 1 point: "baseline_sigma" and "bias_sigma"
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").exponents_rest(exponents)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "exponents_plain", "exponents_rest")

# %% [markdown]
# Now measure. A batch of copies of one record is that many independent estimates. What has the loss to do with the
# height of the first curve, and why do the other two not rise? Change `K`, or add 10 to the loss.

# %%
import matplotlib.pyplot as plt


def bent(v):
    """A smooth loss of two logits."""
    return 1 + np.log(1 + np.exp(v[..., 0] - v[..., 1])) + np.sin(v[..., 1])


copies, K = 500, 2
sigmas = [0.01, 0.03, 0.1, 0.3, 1.0]
u = np.random.default_rng(0).standard_normal((K, copies, 2))
for f in (estimate, baseline, antithetic):
    drawn = [np.array(f(bent, np.full((copies, 2), 0.3), u, s)) for s in sigmas]
    plt.loglog(sigmas, [g.var(axis=0).sum() for g in drawn], "o-", label=f.__name__)
plt.xlabel("σ")
plt.ylabel("variance of an estimate, both entries")
plt.legend()
plt.show()

# %% [markdown]
# ## 3. A network that is never differentiated (4 points)
#
# A network of **steps**, $\phi(z) = 1[z > 0]$, has gradient 0 below the top wherever it has one: backpropagation
# cannot even start. Forward learning can. Layers count from 1; slot 0 of `W`, `b`, `z` and `u` is `None`.


# %% network
def step(z):
    """The activation of every layer but the last."""
    return np.where(np.asarray(z) > 0, 1.0, 0.0)


def forward(W, b, x):
    """The lists z and h: z[l] for l = 1..L, of which z[L] are the logits, and h[l] for l = 0..L-1, h[0] being x."""
    z, h = [None], [np.asarray(x)]
    for l in range(1, len(W)):
        z.append(h[l - 1] @ W[l].T + b[l])
        h.append(step(z[l]))
    return z, h[:-1]


def loss_above(W, b, l, z, y):
    """The cross-entropy of every record if layer l has pre-activations z: (m,) for (m, n_l), (K, m) for (K, m, n_l)."""
    z = np.asarray(z)
    for k in range(l + 1, len(W)):
        z = step(z) @ W[k].T + b[k]
    top = z.max(axis=-1)
    return top + np.log(np.exp(z - top[..., None]).sum(axis=-1)) - (z * y).sum(axis=-1)


def small_net(sizes, seed):
    """Random W and b for a network of these sizes."""
    rng = np.random.default_rng(seed)
    L = len(sizes) - 1
    W = [None] + [rng.normal(size=(sizes[l], sizes[l - 1])) / np.sqrt(sizes[l - 1]) for l in range(1, L + 1)]
    return W, [None] + [0.1 * rng.normal(size=sizes[l]) for l in range(1, L + 1)]


# %% [markdown]
# Noise enters one layer at a time, at its pre-activation, and that of the top layer is no exception. Let $\hat g_i^l$
# be the estimate for record i and layer l by antithetic pairs, with the draws `u[l]`. Only what comes above the noise
# needs to be run again; below it, $z^l = W^l h^{l-1} + b^l$ is all that there is between the parameters and the noise:
#
# $$dW^l = \frac1m \sum_i \hat g_i^l (h_i^{l-1})^\top, \qquad db^l = \frac1m \sum_i \hat g_i^l$$
#
# Here m is the number of records.


# %% ulr solution=true
def ulr(W, b, x, y, u, sigma):
    """The lists dW and db for every W[l] and b[l], l = 1..L; slot 0 is None. The draws u[l] are (K, m, n_l)."""
    ### BEGIN SOLUTION
    m, L = len(x), len(W) - 1
    z, h = forward(W, b, x)
    dW, db = [None] * (L + 1), [None] * (L + 1)
    for l in range(1, L + 1):
        g = antithetic(lambda v, l=l: loss_above(W, b, l, v, y), z[l], u[l], sigma)  # (m, n_l)
        dW[l] = g.T @ h[l - 1] / m
        db[l] = g.sum(axis=0) / m
    return dW, db
    ### END SOLUTION


# %% ulr_direction points=2
# 2 points: the direction of every layer, whatever its length and sign
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").ulr_direction(ulr)
### END HIDDEN TESTS

# %% ulr_scale points=1
# 1 point: lengths and signs of the layers whose directions are right
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").ulr_scale(ulr)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "ulr_direction", "ulr_scale")

# %% [markdown]
# Train. At every step: note the mean loss without noise (`loss_above` of the top layer); draw *fresh* noise from `rng`
# for every layer, K draws for each record; take the direction of the whole batch; and go a step of `eta` down.


# %% train solution=true
def train(W, b, x, y, steps, eta, sigma, K, rng):
    """Train by `ulr`; return the new lists W and b, and the mean losses before each step, (steps,)."""
    ### BEGIN SOLUTION
    W, b = [None, *(w.copy() for w in W[1:])], [None, *(v.copy() for v in b[1:])]
    L = len(W) - 1
    losses = np.zeros(steps)
    for t in range(steps):
        losses[t] = loss_above(W, b, L, forward(W, b, x)[0][L], y).mean()
        u = [None, *(rng.standard_normal((K, len(x), len(v))) for v in b[1:])]
        dW, db = ulr(W, b, x, y, u, sigma)
        for l in range(1, L + 1):
            W[l] -= eta * dW[l]
            b[l] -= eta * db[l]
    return W, b, losses
    ### END SOLUTION


# %% train_learns points=1
# 1 point: the losses are those of the network, and they fall
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").train_learns(train)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "train_learns")

# %% [markdown]
# Exclusive or, with four steps. Why does a much smaller $\sigma$ not give a better estimate here? What does a step
# answer to noise that is much smaller than its $z$, and of which loss is that the gradient?

# %%
corners, xor = np.array([[-1.0, -1], [-1, 1], [1, -1], [1, 1]]), np.eye(2)[[0, 1, 1, 0]]
for sigma in (0.5, 0.02):
    W, b = small_net([2, 4, 2], seed=6)
    _, _, losses = train(W, b, corners, xor, steps=60, eta=1.0, sigma=sigma, K=10, rng=np.random.default_rng(0))
    plt.plot(losses, label=f"σ = {sigma}")
plt.xlabel("step")
plt.ylabel("mean loss, nats")
plt.legend()
plt.show()

# %% [markdown]
# ## 4. Does the noise protect anybody? (6 points)
#
# The paper's idea: the estimates are random anyway; see to it that they are random *enough*, and they are as private as
# if noise had been added, for free. Take one layer without bias, whose input is $h_i \in R^d$ for record i, and let
# $\ell_i$ be the record's loss without noise. By Proposition 3 the estimate of one output's d weights has, for small
# $\sigma$, the covariance $\frac{\ell_i^2}{K \sigma^2} h_i h_i^\top$, and the batch sums independent estimates. The
# controller chooses $\sigma$ such that this sum has the variance $(\sigma_0 C)^2$ in every direction at least
# ([dpulr2024:eq8]):
#
# $$\sigma^2 \le \frac{\lambda_{\min}\big(\sum_i \ell_i^2 \, h_i h_i^\top\big)}{K C^2 \sigma_0^2}$$
#
# with $\lambda_{\min}$ the least eigenvalue. So far the numbers $\sigma_0$ (the noise that is promised, in units of C)
# and C are free. Then line 205 of Algorithm 1 clips every record's estimate to the length C, $\hat g_i \leftarrow
# \hat g_i / \max(1, \|\hat g_i\| / C)$, and the sum of these is what is released.


# %% controller solution=true
def controller(h, loss, K, C, sigma_0):
    """The largest standard deviation sigma that Equation 8 allows; h is (m, d), loss (m,)."""
    ### BEGIN SOLUTION
    least = np.linalg.eigvalsh((h * loss[:, None] ** 2).T @ h)[0]
    return np.sqrt(least / K) / (C * sigma_0)
    ### END SOLUTION


# %% controller_value points=1
# 1 point: the least variance of the summed estimates, before the clip, is as promised
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").controller_value(controller)
### END HIDDEN TESTS
sigma = controller(np.array([[1.0], [1.0]]), np.array([3.0, 4.0]), K=25, C=1.0, sigma_0=1.0)
assert np.isclose(sigma, 1), "the sum of the squared losses is 25, and so is K"

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "controller_value")

# %% [markdown]
# The promise is made *before* the clip. After it a record's estimate is a vector of d numbers whose length is at most
# C, whatever the controller did. How many records must a batch have at least, so that the sum of their clipped
# estimates, independent of each other, *can* have the variance $(\sigma_0 C)^2$ in every direction?


# %% records_needed solution=true
def records_needed(d, sigma_0):
    """The least number of records, for whole d and sigma_0."""
    ### BEGIN SOLUTION
    return sigma_0**2 * d  # the variances in d orthogonal directions add up to at most C^2 for each record
    ### END SOLUTION


# %% records_value points=1
# 1 point. The paper's layers have d = 100480, 8256, 2080 and 330 parameters in all; its batches 64 to 500 records.
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").records_value(records_needed)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "records_value")

# %% [markdown]
# Theorem 2 ([dpulr2024:thm2]) gives one step the privacy of a Gaussian mechanism with noise multiplier $\sigma_0$ (on
# sampled batches). Here is a case in which it can be computed what is released.
#
# One parameter $b$. Record i has the loss $(y_i - x_i b)^2 / 2$, and every input $x_i$ is 0: the loss is
# $\ell_i = y_i^2 / 2$, whatever $b$ is, and the gradient is 0. The noise goes onto the parameter itself, as the paper
# allows ([dpulr2024:virtual-linear]), so that $h_i = 1$. Then the average of K estimates of record i is
#
# $$\hat g_i = \frac{1}{K \sigma} \sum_k u_{k,i} \, \ell_i = \frac{\ell_i}{\sigma \sqrt K} \, \xi_i, \qquad
# \xi_i \sim N(0, 1),$$
#
# exactly. Write what Algorithm 1 releases: the controller's $\sigma$ for these losses, the estimates of all records,
# each clipped to $[-C, C]$, and their sum.


# %% printed solution=true
def printed(loss, xi, K, C, sigma_0):
    """The sums (runs,) released in many independent runs, from xi (runs, m); loss is (m,), and every h_i is 1."""
    ### BEGIN SOLUTION
    sigma = controller(np.ones((len(loss), 1)), loss, K, C, sigma_0)
    return np.clip(loss * xi / (sigma * np.sqrt(K)), -C, C).sum(axis=1)
    ### END SOLUTION


# %% printed_values points=1
# 1 point: any losses, some estimates clipped and some not
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").printed_values(printed)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "printed_values")

# %% [markdown]
# 400 records have $y_i = 1$. With $C = 1$ and $\sigma_0 = 4$ the released sum is N(0, 16), but for about one clip in
# 4000 runs. Now one record more, with $y = 1000$. It has no gradient either.
#
# **Predict**: what happens to $\sigma$, to the estimates of the 400, and to that of the one? Then say with what
# probability the released sum is now within 0.001 of 1 or of -1. Reason, or measure (10,000 runs will do).


# %% outlier solution=true
def outlier():
    """The probability that the sum is within 0.001 of 1 or of -1, with the record y = 1000 in the batch."""
    ### BEGIN SOLUTION
    return 0.803  # the sum is the one estimate, N(0, 16), clipped to [-1, 1], give or take 0.0001
    ### END SOLUTION


# %% outlier_value points=1
# 1 point, for an answer within 0.02
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").outlier_value(outlier)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "outlier_value")

# %% [markdown]
# What does that cost? If a step is $(\epsilon, \delta)$-private, then $P'(A) \le e^\epsilon P(A) + \delta$ for every
# event A, here: "the sum is within 0.001 of 1 or -1", with the outlier in the data set ($P'$) and without it ($P$). A
# batch is drawn at rate $q = 1/5$, so that the outlier is in it with this probability or a little more; how many of the
# others are in it does not matter (why?). Below is what your numbers say, and what Theorem 2 says, for 2000 records and
# batches of at least 320.
#
# Not every record does this: for records whose losses are alike and whose gradients are no longer than C, the noise is
# about what the theorem claims. But a guarantee speaks of every record.

# %%
from nfa.papers.dpulr2024.theorems import claimed_dp_ulr_epsilon

delta, runs = 1e-5, 500
losses = {"400 records": np.full(400, 0.5), "and the outlier": np.append(np.full(400, 0.5), 1000**2 / 2)}
for name, loss in losses.items():
    xi = np.random.default_rng(0).standard_normal((runs, len(loss)))
    plt.hist(printed(loss, xi, 100, 1.0, 4.0), np.linspace(-12.1, 12.1, 122), density=True, alpha=0.6, label=name)
plt.xlabel("released sum, in units of C")
plt.ylabel("density")
plt.legend()
plt.show()
without = 4 * 0.001 * np.exp(-1 / 32) / np.sqrt(2 * np.pi * 16)  # N(0, 16) within 0.001 of 1 or -1
shown = np.log((outlier() / 5 - delta) / without)
claimed = claimed_dp_ulr_epsilon(delta=delta, T=1, q=0.2, sigma_0=4.0, N_B=320, N_bar=2000)[0]
print(f"epsilon is at least {shown:.1f}; Theorem 2 claims {claimed:.2f}")

# %% [markdown]
# ## The repair
#
# Nothing that is private may decide how much noise there is. Clip the estimate of every record, all its parameters
# together as one vector of length at most C; sum; and *then* add noise of standard deviation $\sigma_0 C$ to every
# entry, which looks at nothing. The noise inside the estimates counts for nothing: there is no free lunch. A record's
# estimate may be 0, and a batch may be empty: what is released then is noise alone.


# %% sound solution=true
def sound(g, xi, C, sigma_0):
    """The released sum (d,), from the estimates g (m, d) and standard normal draws xi (d,)."""
    ### BEGIN SOLUTION
    norm = np.linalg.norm(g, axis=1, keepdims=True)
    return (g / np.maximum(1, norm / C)).sum(axis=0) + sigma_0 * C * xi
    ### END SOLUTION


# %% sound_clip points=1
# 1 point: the sum, where xi is 0
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").sound_clip(sound)
### END HIDDEN TESTS
assert np.shape(sound(np.ones((4, 3)), np.zeros(3), C=1.0, sigma_0=4.0)) == (3,)

# %% sound_noise points=1
# 1 point: what xi adds to it, and an empty batch
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").sound_noise(sound)
### END HIDDEN TESTS

# %%
# The sentences of grading, with other values; nfa keeps no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "sound_clip", "sound_noise")

# %% [markdown]
# To think about: a good practitioner takes the baseline or pairs, and so removes the very noise that the paper counts
# as protection. What is left of the controller then? And in the repaired rule: which of the estimators of part 2 would
# you give to `sound`, and does the guarantee depend on it?
