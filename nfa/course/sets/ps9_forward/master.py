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
# **Have this page open**: "Forward Learning with Differential Privacy" (2024), Section 3.2 with Equation 4,
# Propositions 2 and 3, Algorithm 1 and Equation 8. Problem sets 2, 4 and 6 come before this one. About 120 minutes, 20
# points. Tutorials 09 and 10 explain the background.
#
# You estimate gradients without any derivative, from forward passes with noise. Then you train a network that
# backpropagation cannot train. At the end, you test the paper's claim that the noise of the estimates also protects
# the records.
#
# Replace every `raise NotImplementedError`. Loops or array operations, float64 or float32, lists or arrays, and helper
# functions in the same cell are all fine. After each exercise, `check_it` runs the checks of grading with other values.
# The checks of grading are hidden in the cells with points. Do not change these cells, because grading restores them. A
# mistake in an earlier exercise does not cost points again in a later exercise.
#
# `nfa eq dpulr2024:eq4` explains a tag such as [dpulr2024:eq4]. In grading, each call of one of your functions has
# three seconds of processor time.
#
# Notation, as in nfa. The paper writes $v$ for our $z$, and $z$ for our noise $\zeta$. Rows are records.
#
# | | shape | |
# |---|---|---|
# | `z` | `(m, n)` | the pre-activations of one layer (the inputs of its activation) for m records |
# | `u` | `(K, m, n)` | K draws of standard normal noise for every record, all independent |
# | `sigma` | number > 0 | $\sigma$, the standard deviation of the noise $\zeta = \sigma u$ that is added to `z` |
# | `loss` | function | maps `(m, n)` to the losses `(m,)` of the records, and `(K, m, n)` to losses `(K, m)` |
#
# A batch can have one record, a layer can have one unit, and K can be 1. The results keep their shapes: for m = 1, an
# estimate has the shape `(1, n)`.
#
# Only the training loop draws noise. In all other exercises the noise is an argument, so your results are
# reproducible.

# %% setting
import numpy as np


def exact_draws(n):
    """6^n draws, (6^n, n). A polynomial of degree up to 5 has the same mean over them as under N(0, I)."""
    one = np.sqrt(3) * np.array([-1.0, 0, 0, 0, 0, 1])
    return np.stack(np.meshgrid(*[one] * n, indexing="ij"), axis=-1).reshape(-1, n)


# %% [markdown]
# ## 1. A gradient from noise (4 points, 20 minutes)
#
# For the pre-activations of a layer and K draws, [dpulr2024:eq4] estimates the gradient of every record's loss
# $\mathcal L$ by $z$:
#
# $$\hat g = \frac{1}{K \sigma^2} \sum_{k=1}^K \zeta_k \, \mathcal L(z + \zeta_k), \qquad
# \zeta_k \sim N(0, \sigma^2 I)$$
#
# Why is the mean of this estimate a gradient? Before you program, work on paper. Write the mean of
# $\mathcal L(z + \zeta)$ as an integral, and substitute $v = z + \zeta$. Then $z$ is in the Gaussian density, and no
# longer in the loss. Now differentiate the density by $z$ ([dpulr2024:thm3]). So the loss itself needs no derivative.
#
# Your function gets the draws $u$ and not $\zeta = \sigma u$. By which power of $\sigma$ do you divide?


# %% estimate solution=true
def estimate(loss, z, u, sigma):
    """The estimate (m, n) of every record's gradient by z, from the K draws in u, which is (K, m, n)."""
    ### BEGIN SOLUTION
    noisy = loss(z + sigma * u)  # (K, m)
    return (u * noisy[:, :, None]).mean(axis=0) / sigma
    ### END SOLUTION


# %% estimate_direction points=1
# 1 point: the estimates of a batch as one long vector; one wrong factor for the whole vector costs nothing here
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").estimate_direction(estimate)
### END HIDDEN TESTS
assert np.shape(estimate(lambda v: np.sum(v**2, axis=-1), np.ones((4, 3)), np.ones((5, 4, 3)), 0.5)) == (4, 3)

# %% estimate_K points=1
# 1 point: the norm of the estimate for any K, compared with your estimate for K = 1 (with one record)
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").estimate_K(estimate)
### END HIDDEN TESTS

# %% estimate_sigma points=1
# 1 point: the norm and sign of the estimate for any sigma and K = 1 (with one record)
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").estimate_sigma(estimate)
### END HIDDEN TESTS

# %%
# Try your function.
g = estimate(lambda v: 3 + 0 * np.sum(v, axis=-1), np.array([[7.0]]), np.array([[[2.0]]]), sigma=0.5)
assert np.isclose(g[0][0], 12), "zeta is 1 and the loss is 3: 1 * 3 / 0.25"

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "estimate_direction", "estimate_K", "estimate_sigma")

# %% [markdown]
# The mean of the estimate over *all* noise is the gradient of the **smoothed** loss $E \, \mathcal L(z + \zeta)$.
# Take one record with one pre-activation $z = 1$, the loss $\mathcal L(z) = z^4$, and $\sigma = 1/2$. What is the mean
# of the estimate? The derivative of the loss itself is 4. You can calculate, or use `estimate` with `exact_draws`, so
# no random numbers are needed.


# %% mean_of_quartic solution=true
def mean_of_quartic():
    """The mean of the estimate over all noise, a number."""
    ### BEGIN SOLUTION
    return 7.0  # E (z + zeta)^4 = z^4 + 6 z^2 sigma^2 + 3 sigma^4, whose derivative is 4 z^3 + 12 z sigma^2
    ### END SOLUTION


# %% quartic points=1
# 1 point: the mean, up to 0.05
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").quartic(mean_of_quartic)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "quartic")

# %% [markdown]
# ## 2. Less variance (5 points, 32 minutes)
#
# A single estimate is usually far from its mean. The estimate multiplies the noise by the *size* of the loss, but only
# the *change* of the loss contains information about the gradient. Two methods reduce the variance and do not change
# the mean:
#
# - **Baseline**: subtract the record's loss without noise, $\mathcal L(z)$, from each of its losses.
# - **Antithetic pairs**: use each draw twice, as $\zeta$ and as $-\zeta$. So replace $\mathcal L(z + \zeta)$ by
#   $\big(\mathcal L(z + \zeta) - \mathcal L(z - \zeta)\big) / 2$.


# %% baseline solution=true
def baseline(loss, z, u, sigma):
    """The estimate (m, n) with the baseline, from the K draws in u."""
    ### BEGIN SOLUTION
    without_noise = loss(z)  # (m,)
    return estimate(lambda v: loss(v) - without_noise, z, u, sigma)
    ### END SOLUTION


# %% baseline_values points=1
# 1 point: the values for any draws; a wrong factor of your `estimate` costs nothing here
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").baseline_values(baseline)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "baseline_values")


# %% antithetic solution=true
def antithetic(loss, z, u, sigma):
    """The estimate (m, n) from K antithetic pairs, so from 2 K losses for each record."""
    ### BEGIN SOLUTION
    return (estimate(loss, z, u, sigma) + estimate(loss, z, -u, sigma)) / 2
    ### END SOLUTION


# %% antithetic_values points=1
# 1 point: the values for any draws; a wrong factor of your `estimate` costs nothing here
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").antithetic_values(antithetic)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "antithetic_values")

# %% [markdown]
# **Question.** Somebody wants to save the forward pass without noise. So they use another baseline: the *average of the
# record's K noisy losses*. These are the losses of the same K draws that the estimate uses. What is the mean over all
# noise of the estimate with this baseline?
#
# - `"a"`: the gradient of the smoothed loss, because we subtract the same number from all K losses.
# - `"b"`: $1 - 1/K$ times the gradient of the smoothed loss, because the average contains the loss of each draw itself.
# - `"c"`: zero, because the K differences have the sum zero.
#
# Return the letter and your reason, which must have at least eight different words. The letter is graded. Your teacher
# reads the reason.


# %% own_average solution=true
def own_average():
    """Two things: the letter and the reason."""
    ### BEGIN SOLUTION
    return "b", "For K = 1 the difference is zero, and only the losses of the K - 1 other draws are independent."
    ### END SOLUTION


# %% own_average_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").own_average_answer(own_average)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "own_average_answer")

# %% [markdown]
# **How large is the variance?** Let the loss be smooth, and let $\ell_0 = \mathcal L(z) \ne 0$ be the loss without
# noise. For small $\sigma$, the variance of `estimate` is proportional to $K^a \, \sigma^b \, \ell_0^c$ with three
# exponents a, b and c. Proposition 3 and Equation 22 of the paper print different exponents c ([dpulr2024:prop3],
# [dpulr2024:eq22]). Only one of these two exponents is right.
#
# Let the gradient at z be different from 0. With the baseline, the variance is then proportional to $\sigma^d$ for
# small $\sigma$, with another exponent d. The *bias* is the distance of the estimate's mean from the true gradient. For
# linear and quadratic losses, the bias is 0. Now take one pre-activation, and let the third derivative of the loss at z
# be different from 0. Then the bias is proportional to $\sigma^e$ for small $\sigma$. Find the five exponents a, b, c,
# d and e. The exponents a to d belong to the variance, not to the standard deviation. An exponent of 0 means that there
# is no dependence.


# %% exponents solution=true
def exponents():
    """The exponents: {"K": ..., "sigma": ..., "loss": ..., "baseline_sigma": ..., "bias_sigma": ...}.

    "K", "sigma" and "loss" are a, b and c, for the variance of `estimate`. "baseline_sigma" is d, for the variance of
    `baseline`. "bias_sigma" is e, for the bias, which is the same for both estimates.
    """
    ### BEGIN SOLUTION
    return {"K": -1, "sigma": -2, "loss": 2, "baseline_sigma": 0, "bias_sigma": 2}
    ### END SOLUTION


# %% exponents_plain points=1
# 1 point: the exponents "K", "sigma" and "loss"
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").exponents_plain(exponents)
### END HIDDEN TESTS

# %% exponents_rest points=1
# 1 point: the exponents "baseline_sigma" and "bias_sigma"
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").exponents_rest(exponents)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "exponents_plain", "exponents_rest")

# %% [markdown]
# Now measure the variances. A batch with 500 copies of one record gives 500 independent estimates. Why does only the
# first curve rise for small $\sigma$? Change `K`, or add 10 to the loss, and run the cell again.

# %%
import matplotlib.pyplot as plt


def bent(v):
    """A smooth loss of two pre-activations."""
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
# ## 3. A network without a useful gradient (4 points, 28 minutes)
#
# A network of **threshold units** has the activation $\phi(z) = 1[z > 0]$. Below the top layer, the gradient of the
# loss is 0 wherever it exists, so backpropagation cannot train these layers. Forward learning can train them. We count
# layers from 1, and slot 0 of `W`, `b`, `z` and `u` is `None`.


# %% network
def threshold(z):
    """The activation of every layer except the last."""
    return np.where(np.asarray(z) > 0, 1.0, 0.0)


def forward(W, b, x):
    """The lists z and h: z[l] for l = 1..L, with the logits z[L], and h[l] for l = 0..L-1, with h[0] = x."""
    z, h = [None], [np.asarray(x)]
    for l in range(1, len(W)):
        z.append(h[l - 1] @ W[l].T + b[l])
        h.append(threshold(z[l]))
    return z, h[:-1]


def loss_above(W, b, l, z, y):
    """The cross-entropy of every record if layer l has the pre-activations z.

    The result is (m,) if z is (m, n_l), and (K, m) if z is (K, m, n_l). The labels y are one-hot.
    """
    z = np.asarray(z)
    for k in range(l + 1, len(W)):
        z = threshold(z) @ W[k].T + b[k]
    top = z.max(axis=-1)
    return top + np.log(np.exp(z - top[..., None]).sum(axis=-1)) - (z * y).sum(axis=-1)


def small_net(sizes, seed):
    """Random W and b for a network of these sizes."""
    rng = np.random.default_rng(seed)
    L = len(sizes) - 1
    W = [None] + [rng.normal(size=(sizes[l], sizes[l - 1])) / np.sqrt(sizes[l - 1]) for l in range(1, L + 1)]
    return W, [None] + [0.1 * rng.normal(size=sizes[l]) for l in range(1, L + 1)]


# %% [markdown]
# Noise enters one layer at a time, at its pre-activation. This is also true for the top layer. Let $\hat g_i^l$ be the
# estimate for record i and layer l, from antithetic pairs with the draws `u[l]`. The noise on layer l changes only the
# layers above it, so only these layers must run again. The parameters of layer l enter the loss only through
# $z^l = W^l h^{l-1} + b^l$. So the chain rule gives
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
# 2 points: the direction of every layer, whatever its norm and sign
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").ulr_direction(ulr)
### END HIDDEN TESTS

# %% ulr_scale points=1
# 1 point: the norm and sign of the layers with a right direction
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").ulr_scale(ulr)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "ulr_direction", "ulr_scale")

# %% [markdown]
# Now train. Each step has four parts:
#
# 1. Store the mean loss without noise (`loss_above` of the top layer).
# 2. Draw *new* noise from `rng` for every layer, with K draws for each record. All values of all layers are
#    independent, so two layers must not share values.
# 3. Compute the direction of the whole batch with `ulr`.
# 4. Subtract the learning rate `eta` times the direction from W and b.
#
# Your function may change the lists and arrays that it gets, but it does not need to.


# %% train solution=true
def train(W, b, x, y, steps, eta, sigma, K, rng):
    """Train with `ulr`. Return W and b after all steps, and the mean losses (steps,), each computed before its step."""
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
# 1 point: the returned W and b, and the losses before each step; the losses must decrease
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").train_learns(train)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "train_learns")

# %% [markdown]
# The next cell trains a network with four hidden threshold units on the exclusive or. Why does a much smaller $\sigma$
# not give a better estimate here? How often does a threshold unit change its output if the noise is much smaller than
# its $z$? What is then the gradient of the smoothed loss?

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
# ## 4. Does the noise protect the records? (5 points, 30 minutes)
#
# The paper's idea is this: the estimates are random in any case. If they are random *enough*, they are as private as
# with added noise, and no accuracy is lost.
#
# Take one layer without bias. The input of this layer for record i is $h_i \in R^d$, and the record's loss without
# noise is $\ell_i$. By Proposition 3, the estimate for the d weights of one output has the covariance
# $\frac{\ell_i^2}{K \sigma^2} h_i h_i^\top$ for small $\sigma$. The batch sums independent estimates. The paper's
# *controller* chooses $\sigma$ so that the variance of this sum is at least $(\sigma_0 C)^2$ in every direction
# ([dpulr2024:eq8]):
#
# $$\sigma^2 \le \frac{\lambda_{\min}\big(\sum_i \ell_i^2 \, h_i h_i^\top\big)}{K C^2 \sigma_0^2}$$
#
# Here $\lambda_{\min}$ is the smallest eigenvalue. The number $C$ is the clip bound, and $\sigma_0$ is the promised
# standard deviation in units of C. Algorithm 1 then clips every record's estimate to the norm C,
# $\hat g_i \leftarrow \hat g_i / \max(1, \|\hat g_i\| / C)$. The number of this line in the margin of the paper is 205
# ([dpulr2024:alg1.L205]). The algorithm releases the sum of the clipped estimates.


# %% controller solution=true
def controller(h, losses, K, C, sigma_0):
    """The largest standard deviation sigma that Equation 8 allows; h is (m, d) with m >= d, losses (m,)."""
    ### BEGIN SOLUTION
    smallest = np.linalg.eigvalsh((h * losses[:, None] ** 2).T @ h)[0]
    return np.sqrt(smallest / K) / (C * sigma_0)
    ### END SOLUTION


# %% controller_value points=1
# 1 point: before the clip, the smallest variance of the summed estimates is as promised
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").controller_value(controller)
### END HIDDEN TESTS
sigma = controller(np.array([[1.0], [1.0]]), np.array([3.0, 4.0]), K=25, C=1.0, sigma_0=1.0)
assert np.isclose(sigma, 1), "the sum of the squared losses is 25, and so is K"

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "controller_value")

# %% [markdown]
# **Question.** The controller's promise is about the estimates *before* the clip. The paper's layers have 100480, 8256,
# 2080 and 330 parameters, and its batches have 64 to 500 records. The paper's Theorem 2 needs $\sigma_0 \ge 4$. Take
# the most favourable case: d = 330 parameters, a batch of 500 records, and $\sigma_0 = 4$. The estimates of different
# records are independent. Can the sum of the clipped estimates have the variance $(\sigma_0 C)^2$ in every direction?
#
# - `"a"`: Yes, because the controller satisfies Equation 8, and a clip does not change the random draws.
# - `"b"`: Yes, if K is large enough, because the mean of many draws has less noise and is clipped less often.
# - `"c"`: No. In 330 orthogonal directions, the variances sum to at most $500 \, C^2$, which is too little.


# %% enough_records solution=true
def enough_records():
    """Two things: the letter and the reason, in at least eight different words."""
    ### BEGIN SOLUTION
    return "c", "Each clipped estimate adds at most C^2 to the trace, but 330 times 16 C^2 is 5280 C^2."
    ### END SOLUTION


# %% enough_records_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").enough_records_answer(enough_records)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "enough_records_answer")

# %% [markdown]
# Theorem 2 ([dpulr2024:thm2]) claims that a step is about as private as a Gaussian mechanism with the noise multiplier
# $\sigma_0$ on sampled batches. Here is a case in which we can compute the released sum.
#
# The model has one parameter $b$. Record i has the loss $(y_i - x_i b)^2 / 2$, and every input $x_i$ is 0. So the loss
# is $\ell_i = y_i^2 / 2$ for every $b$, and the gradient is 0. The noise is added to the parameter itself, which the
# paper allows ([dpulr2024:virtual-linear]). So $h_i = 1$ for every record. The estimate of record i from K draws is
#
# $$\hat g_i = \frac{1}{K \sigma} \sum_k u_{k,i} \, \ell_i = \frac{\ell_i}{\sigma \sqrt K} \, \xi_i, \qquad
# \xi_i \sim N(0, 1).$$
#
# This formula is exact. Write a function that computes the releases of Algorithm 1. The algorithm uses the controller's
# $\sigma$ for these losses, clips the estimate of each record to $[-C, C]$, and releases the sum.


# %% printed solution=true
def printed(losses, xi, K, C, sigma_0):
    """The released sums (runs,) of many independent runs, from xi (runs, m) and the losses (m,); every h_i is 1."""
    ### BEGIN SOLUTION
    sigma = controller(np.ones((len(losses), 1)), losses, K, C, sigma_0)
    return np.clip(losses * xi / (sigma * np.sqrt(K)), -C, C).sum(axis=1)
    ### END SOLUTION


# %% printed_values points=1
# 1 point: the sums for any losses; some estimates are clipped and some are not
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").printed_values(printed)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "printed_values")

# %% [markdown]
# A batch has 400 records with $y_i = 1$. With $C = 1$ and $\sigma_0 = 4$, the released sum is N(0, 16). A clip happens
# only in about one of 4000 runs. Now one record with $y = 1000$ joins the batch. We call this record the outlier. The
# gradient of the outlier is 0, too.
#
# **Predict** first. With which probability is the released sum within 0.001 of 1 or of -1? Guess this probability
# without the outlier and with the outlier. Every guess between 0 and 1 gets the point. Then we measure both
# probabilities.


# %% guess solution=true
def guess():
    """A list with your two guesses of the probability, without and with the outlier."""
    ### BEGIN SOLUTION
    return [0.001, 0.1]
    ### END SOLUTION


# %% guess_made points=1
# 1 point: two numbers between 0 and 1
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").guess_made(guess)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "guess_made")

# %%
cases = {"400 records": np.full(400, 0.5), "with the outlier": np.append(np.full(400, 0.5), 1000**2 / 2)}
shares = []
for name, given in cases.items():
    sums = printed(given, np.random.default_rng(0).standard_normal((10_000, len(given))), 100, 1.0, 4.0)
    shares.append(np.mean(np.abs(np.abs(sums) - 1) < 0.001))
    plt.hist(sums, np.linspace(-12.1, 12.1, 122), density=True, alpha=0.6, label=name)
    print(f"{name}: my guess {guess()[len(shares) - 1]}, measured {shares[-1]:.4f}")
plt.xlabel("released sum, in units of C")
plt.ylabel("density")
plt.legend()
plt.show()

# %% [markdown]
# **Question.** The estimates of the other 400 records are random. Why does their noise not hide the outlier?
#
# - `"a"`: K is too small. With more draws for each record, the sum is N(0, 16) again.
# - `"b"`: The controller's $\sigma$ depends on the losses. One large loss makes $\sigma$ large and the other 400
#   estimates tiny. The clip then limits the outlier's own estimate to C.
# - `"c"`: The clip bound C is too large. With a smaller C, the sum is N(0, 16 C²) again.


# %% outlier solution=true
def outlier():
    """Two things: the letter and the reason, in at least eight different words."""
    ### BEGIN SOLUTION
    return "b", "The controller asks for one total variance, the outlier fills it alone, and the clip then removes it."
    ### END SOLUTION


# %% outlier_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").outlier_answer(outlier)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "outlier_answer")

# %% [markdown]
# What does this mean for $\epsilon$? If a step is $(\epsilon, \delta)$-private, then
# $P'(A) \le e^\epsilon P(A) + \delta$ for every event A. Here $P'$ is the probability with the outlier in the data set,
# and $P$ is the probability without it. Our event is that the sum is within 0.001 of 1 or -1. The batch is sampled with
# the rate $q = 1/5$, so the outlier is in the batch with a probability of at least 1/5. If it is in the batch, the
# number of the other records hardly changes the probability of the event (why?). Without the outlier, the batch must be
# so large that a clip is rare. With 200 or more records, the probability is that of N(0, 16) up to 0.04 %. The cell
# below computes the lower bound on $\epsilon$ that follows from your numbers. It also computes the $\epsilon$ of
# Theorem 2 for 2000 records and batches of at least 320.
#
# Not every record has this effect. If all losses are similar and all gradients have norms of at most C, the noise is
# about as large as the theorem claims. But a guarantee covers every record.

# %%
from nfa.papers.dpulr2024.theorems import claimed_dp_ulr_epsilon

delta = 1e-5
without = 4 * 0.001 * np.exp(-1 / 32) / np.sqrt(2 * np.pi * 16)  # the probability of the event for N(0, 16)
shown = np.log((shares[1] / 5 - delta) / without)
claimed = claimed_dp_ulr_epsilon(delta=delta, T=1, q=0.2, sigma_0=4.0, N_B=320, N_bar=2000)[0]
print(f"epsilon is at least {shown:.1f}; Theorem 2 claims {claimed:.2f}")

# %% [markdown]
# ## 5. The repair (2 points, 10 minutes)
#
# The amount of noise must not depend on private values. So clip the estimate of every record to the norm C, with all
# its parameters as one vector. Sum the clipped estimates. *Then* add noise of standard deviation $\sigma_0 C$ to every
# entry. This standard deviation is public. The noise inside the estimates adds nothing to the guarantee. A record's
# estimate can be 0, and a batch can be empty. If the batch is empty or all its estimates are 0, the release is the
# noise alone.


# %% sound solution=true
def sound(g, xi, C, sigma_0):
    """The released sum (d,), from the estimates g (m, d) and the standard normal draws xi (d,)."""
    ### BEGIN SOLUTION
    norm = np.linalg.norm(g, axis=1, keepdims=True)
    return (g / np.maximum(1, norm / C)).sum(axis=0) + sigma_0 * C * xi
    ### END SOLUTION


# %% sound_clip points=1
# 1 point: the sum for xi = 0
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").sound_clip(sound)
### END HIDDEN TESTS
assert np.shape(sound(np.ones((4, 3)), np.zeros(3), C=1.0, sigma_0=4.0)) == (3,)

# %% sound_noise points=1
# 1 point: the noise that xi adds, also for an empty batch and for estimates of 0
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps9_forward").sound_noise(sound)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps9_forward", globals(), "sound_clip", "sound_noise")

# %% [markdown]
# Think about two questions. With the baseline or with pairs, most of the noise that the paper counts as protection
# disappears. What is then left of the controller's promise? And which estimator of part 2 would you use in the repaired
# rule? Does the guarantee depend on this choice?
