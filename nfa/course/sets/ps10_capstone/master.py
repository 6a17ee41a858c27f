# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Problem set 10: a private model
#
# **Have these pages open**: Lee & Kifer (2020), Section 3.2, Section 4 up to Algorithm 1, and Section 5. Problem sets
# 2, 3, 4 and 6 come before this one. About 120 minutes, 20 points.
#
# You train a private model on real images. You choose a rule, cite its sensitivity, and calibrate the noise to
# $\epsilon = 3$ and $\delta = 10^{-5}$. Then you train, audit your own step, and measure the accuracy with intervals.
# At the end, you write one page that states what your guarantee covers and what it does not cover.
#
# Replace every `raise NotImplementedError`. You may paste what you wrote in earlier problem sets. Loops or array
# operations, float64 or float32, and helper functions in the same cell are all fine. After each exercise, `check_it`
# runs the checks of grading with other values. The checks of grading are hidden in the cells with points. Do not change
# these cells, because grading restores them. A mistake in an earlier exercise does not cost points again in a later
# exercise.
#
# `nfa eq ours:joint-clip` explains a tag such as [ours:joint-clip]. In grading, each call of one of your functions has
# three seconds of processor time. Only a call of `private_model`, which trains a whole model, has twelve seconds.
#
# Notation, as in problem set 6: we count layers from 1, and slot 0 of a list is `None`, except `h[0]`. Rows are
# records.
#
# | | shape | |
# |---|---|---|
# | `x`, `y` | `(k, n_0)`, `(k, n_L)` | k records and their one-hot labels |
# | `W[l]`, `b[l]` | `(n_l, n_{l-1})`, `(n_l,)` | weights and biases of layer l = 1..L |
# | `B[l]` | `(n_l, n_L)` | fixed random feedback of layer l = 1..L-1 |
# | `z[l]`, `h[l]` | `(k, n_l)` | before and after the activation; `h[0]` is x, and layer l reads `h[l-1]` |
# | `dz[l]` | `(k, n_l)` | the signal for layer l; record i's direction for `W[l]` is `np.outer(dz[l][i], h[l-1][i])` |
# | `C`, `m` | numbers > 0 | the norm that directions are clipped to, and the public number that we divide sums by |
# | `z` (a number) | | the noise multiplier: standard deviation of the noise / sensitivity; this z is not the list |
# | `q` | 0 < q ≤ 1 | the probability that a record is in a batch |
# | `N` | | the public number of records, declared before anybody reads the data |
#
# The data are the 6,000 training images and 1,000 test images of `fashion-mnist-small`, which is part of nfa. We
# average the images over squares of 2 by 2 pixels. The numbers 0.3 and 2 below are public, because they were not
# computed from these images.

# %% setting
import math

import numpy as np

import nfa.data
from nfa.audit.bounds import epsilon_lower_bound
from nfa.mechanism import Mechanism
from nfa.privacy.accountant import epsilon

DELTA, N = 1e-5, 6000


def smaller(images):
    """Images (k, 1, 28, 28) of bytes as rows (k, 196) of values between -0.6 and 1.4."""
    means = images.reshape(len(images), 14, 2, 14, 2).mean(axis=(2, 4)).reshape(len(images), 196)
    return 2 * (means / 255 - 0.3)


images = nfa.data.load("fashion-mnist-small")
x_train, y_train = smaller(images.x_train), np.eye(10)[images.y_train]
x_test, labels_test = smaller(images.x_test), images.y_test


def network(sizes, seed):
    """Random W, b and B for a network of these sizes."""
    rng = np.random.default_rng([seed, 2026])  # a separate stream, which the noise must not repeat
    L = len(sizes) - 1
    W = [None] + [rng.normal(size=(sizes[l], sizes[l - 1])) / np.sqrt(sizes[l - 1]) for l in range(1, L + 1)]
    b = [None] + [np.zeros(sizes[l]) for l in range(1, L + 1)]
    B = [None] + [rng.normal(size=(sizes[l], sizes[L])) for l in range(1, L)] + [None]
    return W, b, B


def forward(W, b, x):
    """The lists z and h of problem set 2: tanh layers with a softmax on top."""
    L = len(W) - 1
    z, h = [None], [np.asarray(x, dtype=float)]
    for l in range(1, L + 1):
        z.append(h[l - 1] @ np.transpose(W[l]) + b[l])
        h.append(np.tanh(z[l]))
    powers = np.exp(z[L] - z[L].max(axis=1, keepdims=True))
    h[L] = powers / powers.sum(axis=1, keepdims=True)
    return z, h


def accuracy(W, b, x, labels):
    """The share of records for which the largest output belongs to the label."""
    return float(np.mean(forward(W, b, x)[1][-1].argmax(axis=1) == labels))


# %% [markdown]
# ## 1. A rule and its sensitivity (4 points, 20 minutes)
#
# **Predict** first. What accuracy on the test images will your model have at $\epsilon = 1$, 3 and 8? Without noise, a
# network with one hidden layer of 32 units reaches an accuracy of 0.82 to 0.84 in 1,000 steps with six seeds. Every
# guess between 0 and 1 gets the point. You compare your guess with your result in part 6.


# %% guess solution=true
def guess():
    """A list with your three guesses of the accuracy, at epsilon 1, 3 and 8."""
    ### BEGIN SOLUTION
    return [0.6, 0.7, 0.8]
    ### END SOLUTION


# %% guess_made points=1
# 1 point: three numbers between 0 and 1
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps10_capstone").guess_made(guess)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps10_capstone", globals(), "guess_made")

# %% [markdown]
# Choose the rule that you will train with:
#
# - `"dp-sgd"`: $\delta z^l$ is the gradient of the record's cross-entropy $-\sum_j y_j \log \hat y_j$ by $z^l$, from
#   backpropagation.
# - `"dp-dfa"`: $\delta z^L = e = \hat y - y$ and $\delta z^l = (B^l e) \odot \tanh'(z^l)$ for $l < L$ [lee2020:eq5].
#
# Both rules clip each record's whole direction to the norm C. The whole direction is one long vector with the weights
# and biases of all layers. The rules add the clipped directions and divide the sum by the public m. Suppose that one
# record is added or removed. How far can this mean move at most?
#
# Also name the statement of nfa's ledger that describes your rule. This statement is one of `"lee2020:dp-bp"`,
# `"lee2020:sens-total"`, `"ours:joint-clip"` and `"ours:hybrid-sensitivity"`. A statement describes your rule if it is
# about the same $\delta z^l$ and the same clip. This clip scales down the whole direction of a record, and not its
# parts. Exactly one of the four statements describes `"dp-sgd"`, and exactly one describes `"dp-dfa"`. You can read
# these statements with `nfa eq`.


# %% claim solution=true
def claim(C, m):
    """Three things: the name of your rule, the id of the statement, the sensitivity of the mean under add-remove."""
    ### BEGIN SOLUTION
    return "dp-dfa", "ours:joint-clip", C / m
    ### END SOLUTION


# %% claim_right points=1
# 1 point: rule, statement and sensitivity fit together
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps10_capstone").claim_right(claim)
### END HIDDEN TESTS


# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps10_capstone", globals(), "claim_right")


# %% [markdown]
# Write `signals` for your rule. A batch can have one record, or it can be empty. For an empty batch, `dz[l]` and `h[l]`
# have the shape `(0, n_l)`.


# %% signals solution=true
def signals(W, b, B, x, y):
    """The lists dz and h of your rule for these records; dz[l] for l = 1..L, h[l] for l = 0..L."""
    ### BEGIN SOLUTION
    h = forward(W, b, x)[1]
    L = len(h) - 1
    e = h[L] - y
    dz = [None] + [e @ B[l].T * (1 - h[l] ** 2) for l in range(1, L)] + [e]
    return dz, h
    ### END SOLUTION


# %% signals_values points=1
# 1 point: dz and h of one of the two rules, for networks with several layers and also for an empty batch
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps10_capstone").signals_values(signals)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps10_capstone", globals(), "signals_values")

# %% [markdown]
# **Question.** Before the training, somebody subtracts the mean of all training images from every image. Everything
# else, also the noise, stays the same. Which sentence is true?
#
# - `"a"`: The guarantee holds as before, because each record's direction is still clipped to C.
# - `"b"`: The guarantee no longer follows, because one record then changes the directions of all other records.
# - `"c"`: The guarantee holds if the mean is divided by the public m instead of the number of images.
#
# Return the letter and your reason, which must have at least eight different words. The letter is graded. Your teacher
# reads the reason.


# %% centred solution=true
def centred():
    """Two things: the letter and the reason."""
    ### BEGIN SOLUTION
    return "b", "The mean image depends on my record, so the directions of all other records move when I join."
    ### END SOLUTION


# %% centred_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps10_capstone").centred_answer(centred)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps10_capstone", globals(), "centred_answer")

# %% [markdown]
# ## 2. One private step (4 points, 25 minutes)
#
# Clip each record's whole direction to C, and add the clipped directions. Do not divide yet. A batch can be empty, and
# a direction can be zero.


# %% clipped_sum solution=true
def clipped_sum(dz, h, C):
    """The lists dW and db: the sum of the whole directions of the records, each clipped to C; slot 0 is None."""
    ### BEGIN SOLUTION
    layers = range(1, len(dz))
    norms = np.sqrt(sum((dz[l] ** 2).sum(axis=1) * (1 + (h[l - 1] ** 2).sum(axis=1)) for l in layers))
    kept = [None] + [dz[l] * (C / np.maximum(norms, C))[:, None] for l in layers]
    return [None] + [kept[l].T @ h[l - 1] for l in layers], [None] + [kept[l].sum(axis=0) for l in layers]
    ### END SOLUTION


# %% sum_values points=1
# 1 point: dW and db if some records are clipped and some are not, and for an empty batch
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps10_capstone").sum_values(clipped_sum)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps10_capstone", globals(), "sum_values")

# %% [markdown]
# Draw a batch with Poisson sampling. Every record is in the batch with probability q, independently of all others. So
# for q = 1, every batch has all n records. If q n is small, many batches are empty. An empty batch stays empty, because
# a record that you add to it would be drawn with a probability above q.


# %% draw solution=true
def draw(n, q, rng):
    """An array (n,) of truth values: whether each of n records is in the batch."""
    ### BEGIN SOLUTION
    return rng.random(n) < q
    ### END SOLUTION


# %% draw_law points=1
# 1 point: the distribution of the batches; a right function fails with a probability below one in a million
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps10_capstone").draw_law(draw)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps10_capstone", globals(), "draw_law")

# %% [markdown]
# The private step adds Gaussian noise to every coordinate of the sum of the clipped directions, and then divides by m.
# Every coordinate has its own noise, which is independent of the noise of all other coordinates. Add this noise once to
# the sum, and not once for each record. The standard deviation of the noise is z times the largest distance by which
# one record can move **the sum**.


# %% private_step solution=true
def private_step(dz, h, C, m, z, rng):
    """The lists dW and db that the step publishes; rng is a numpy.random.Generator."""
    ### BEGIN SOLUTION
    noisy = [[(a + rng.normal(0, z * C, a.shape)) / m for a in one[1:]] for one in clipped_sum(dz, h, C)]
    return [None] + noisy[0], [None] + noisy[1]
    ### END SOLUTION


# %% step_signal points=1
# 1 point: the step with z = 0
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps10_capstone").step_signal(private_step)
### END HIDDEN TESTS

# %% step_noise points=1
# 1 point: the distribution of the noise, compared with the distance by which one record moves your own step
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps10_capstone").step_noise(private_step)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps10_capstone", globals(), "step_signal", "step_noise")

# %% [markdown]
# ## 3. The noise for a target (1 point, 10 minutes)
#
# Find a noise multiplier z for which the epsilon of the run is at most the target. The adjacency is add-remove, the
# batches are Poisson batches, and the noise is Gaussian. Your z may be at most 20 % larger than the smallest z that the
# accountant `spent` below accepts. You can use `spent`, your own accountant from problem set 3, or a better accountant.
# `spent` can print the warning `OrderAtGridEnd`. The warning says that other orders may give a smaller epsilon. You can
# ignore it, because the printed epsilon is still a valid bound.

# %% accountant
ORDERS = np.arange(2, 65)


def spent(z, q, steps, delta):
    """The epsilon of this many steps with the noise multiplier z, from Renyi divergences of whole orders."""
    step = Mechanism(
        law="gaussian",
        sensitivity=1.0,
        adjacency="add-remove",
        noise_std=float(z),
        sampling="poisson",
        sampling_rate=q,
    )
    return epsilon([(step, steps)], delta=delta, orders=ORDERS, conversion="canonne2020").epsilon


# %% noise_for solution=true
def noise_for(target, q, steps, delta):
    """A noise multiplier z between 0.5 and 50 for which the epsilon is at most the target."""
    ### BEGIN SOLUTION
    low, high = 0.5, 50.0
    while high > 1.01 * low:
        middle = math.sqrt(low * high)
        if spent(middle, q, steps, delta) > target:
            low = middle
        else:
            high = middle
    return high
    ### END SOLUTION


# %% noise_values points=1
# 1 point: enough noise, and at most 20 % more than needed
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps10_capstone").noise_values(noise_for)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps10_capstone", globals(), "noise_values")

# %% [markdown]
# ## 4. Train (5 points, 25 minutes)
#
# Each step draws a new batch, and computes a private step with new noise. Then the step subtracts `eta` times the
# result from W and b.


# %% train solution=true
def train(W, b, B, x, y, q, steps, eta, C, m, z, rng):
    """The lists W and b after this many private steps."""
    ### BEGIN SOLUTION
    for _ in range(steps):
        batch = draw(len(x), q, rng)
        dz, h = signals(W, b, B, x[batch], y[batch])
        dW, db = private_step(dz, h, C, m, z, rng)
        W = [None] + [w - eta * d for w, d in zip(W[1:], dW[1:], strict=True)]
        b = [None] + [v - eta * d for v, d in zip(b[1:], db[1:], strict=True)]
    return W, b
    ### END SOLUTION


# %% train_steps points=1
# 1 point: W and b after a few steps with q = 1 and z = 0
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps10_capstone").train_steps(train)
### END HIDDEN TESTS

# %% train_fresh points=1
# 1 point: every step has a new batch and new noise
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps10_capstone").train_fresh(train)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps10_capstone", globals(), "train_steps", "train_fresh")

# %% [markdown]
# Now choose the sizes of the layers, q, the number of steps, eta and C. Call your `train` exactly once. The accuracy on
# the test images at $\epsilon = 3$ must be at least **0.70**. Our solution with DFA reaches 0.75 to 0.79 with six
# seeds. The call of `private_model` must end within twelve seconds of processor time. Our solution needs less than half
# a second.
#
# Two neighbours must have the same settings. Every number that you choose may depend on the public N. But it must not
# depend on the number of rows of x, because this number shows whether a record was added [ours:public-number]. Use q N
# as the expected size of a batch.
#
# The random values of W and B at the start are published. The noise must not repeat these values. So give the generator
# that you pass to `train` another seed than the seed in `network`, which is `[seed, 2026]`.


# %% private_model solution=true
def private_model(x, y, N, target, delta, seed):
    """W and b of a network trained with your rule on x and y, with an epsilon of at most the target."""
    ### BEGIN SOLUTION
    q, steps = 0.05, 100
    W, b, B = network([x.shape[1], 32, y.shape[1]], seed)
    z = noise_for(target, q, steps, delta)
    return train(W, b, B, x, y, q, steps, 8.0, 1.0, q * N, z, np.random.default_rng([seed, 1]))
    ### END SOLUTION


# %% model_accuracy points=1
# 1 point: the accuracy at epsilon 3
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps10_capstone").model_accuracy(private_model)
### END HIDDEN TESTS

# %% model_private points=1
# 1 point: the epsilon of the settings that you pass to `train`, and the same settings with one record more
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps10_capstone").model_private(private_model)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps10_capstone", globals(), "model_accuracy", "model_private")

# %%
# Print the accuracy of one model before you run the checks.
print(accuracy(*private_model(x_train, y_train, N, 3.0, DELTA, seed=1), x_test, labels_test))

# %% [markdown]
# **Question.** Somebody trains with 24 settings on these images, each with $\epsilon = 3$. Then they publish only the
# model with the best accuracy on these images. Which sentence is true?
#
# - `"a"`: The published model has $\epsilon = 3$, because nobody sees the other 23 models.
# - `"b"`: The published model has $\epsilon = 3 / 24$, because it is one of 24 models.
# - `"c"`: The account of one run does not cover the choice, because the choice depends on all 24 runs.


# %% tuned solution=true
def tuned():
    """Two things: the letter and the reason, in at least eight different words."""
    ### BEGIN SOLUTION
    return "c", "All 24 runs read the same records, and which of them wins can depend on one record."
    ### END SOLUTION


# %% tuned_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps10_capstone").tuned_answer(tuned)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps10_capstone", globals(), "tuned_answer")

# %% [markdown]
# ## 5. Audit your step (3 points, 20 minutes)
#
# An audit computes a lower bound on epsilon from experiments. In world 1, a batch has one record, which you choose. In
# world 0, the batch is empty. Run the step many times in each world, and count how often some event happens. Let `k_0`
# be the count in world 0, and `k_1` the count in world 1. The audit then returns
# `epsilon_lower_bound((k_0, k_1), trials, delta=delta, confidence=confidence)`. If the event is fixed before you count,
# this bound exceeds the true epsilon with a probability of at most 1 - confidence.
#
# - Choose `dz` and `h` yourself, with any number of layers and units. If the norm of the record's direction is much
#   larger than C, your audit also finds steps without a clip.
# - Fix the event **before** you count. Choose the event with additional runs of the step, which you do not count. For
#   example, the event can be that a coordinate exceeds a threshold, and the threshold is halfway between the means of
#   the additional runs in the two worlds. The event must not depend on the counted runs.
# - Some wrong steps draw their noise once, and use this noise in every run. A threshold that is chosen without
#   additional runs can miss such a step.
# - Count exactly `trials` runs in each world.
#
# If your audit finds more than the accountant claims, then the step or the account is wrong.


# %% audit solution=true
def audit(step, C, m, z, delta, trials, confidence, rng):
    """A lower bound on the epsilon of one call of step(dz, h, C, m, z, rng) for a record added or removed."""

    ### BEGIN SOLUTION
    def released(world):
        dz, h = [None, np.full((world, 1), 100 * C)], [np.zeros((world, 1)), None]
        return float(step(dz, h, C, m, z, rng)[1][1][0])

    tries = [[released(world) for _ in range(50)] for world in (0, 1)]
    middle = np.mean(tries)
    hits = [sum(released(world) > middle for _ in range(trials)) for world in (0, 1)]
    return epsilon_lower_bound(hits, trials, delta=delta, confidence=confidence)
    ### END SOLUTION


# %% audit_below points=1
# 1 point: for right steps, a bound of at most the true epsilon that is not nearly 0 and that the trials can prove
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps10_capstone").audit_below(audit)
### END HIDDEN TESTS

# %% audit_above points=1
# 1 point: a bound above the claimed epsilon for steps without noise, with noise drawn once, and without a clip
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps10_capstone").audit_above(audit)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps10_capstone", globals(), "audit_below", "audit_above")

# %%
# Audit your own step with z = 1. The exact epsilon of this step is 4.38 at this delta.
print(audit(private_step, 1.0, 10.0, 1.0, DELTA, 2000, 0.95, np.random.default_rng(0)))

# %% [markdown]
# **Question.** The accountant claims $\epsilon = 3$, and your audit returns 0.9 with a confidence of 95 %. Which
# sentence is true?
#
# - `"a"`: Both can be right. The audit is a lower bound with a confidence of 95 %. The claim is an upper bound if the
#   proof fits the code.
# - `"b"`: The true epsilon is 0.9, so less noise is enough.
# - `"c"`: The claim is wrong, because the two numbers differ by more than 5 %.


# %% audited solution=true
def audited():
    """Two things: the letter and the reason, in at least eight different words."""
    ### BEGIN SOLUTION
    return "a", "An audit shows what one attack finds, and a proof bounds what every attack can find."
    ### END SOLUTION


# %% audited_answer points=1
# 1 point: the letter, with a reason
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps10_capstone").audited_answer(audited)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps10_capstone", globals(), "audited_answer")

# %% [markdown]
# ## 6. Accuracy over epsilon (1 point, 10 minutes)
#
# The accuracy differs from seed to seed. For each epsilon, train with k seeds, at least three. State the mean accuracy
# with an interval. If the accuracies are Gaussian, this interval covers the true mean with a probability of 95 %:
#
# $$\bar a \pm t_{0.975, \, k-1} \, \frac{s}{\sqrt k}, \qquad s^2 = \frac{1}{k-1} \sum_i (a_i - \bar a)^2$$
#
# `scipy.stats.t.ppf` computes the quantile t of Student's distribution. An interval can end above 1 or begin below 0.
# Do not cut such an interval.

# %% students_law
from scipy import stats


# %% curve solution=true
def curve(accuracy_of, epsilons, seeds):
    """For each epsilon a row (mean, low, high) of accuracy_of(epsilon, seed) over the seeds."""
    ### BEGIN SOLUTION
    rows = []
    for target in epsilons:
        found = [accuracy_of(target, seed) for seed in seeds]
        half = stats.t.ppf(0.975, len(found) - 1) * np.std(found, ddof=1) / math.sqrt(len(found))
        rows.append((np.mean(found), np.mean(found) - half, np.mean(found) + half))
    return rows
    ### END SOLUTION


# %% curve_values points=1
# 1 point: mean and interval, for accuracies that the check chooses
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps10_capstone").curve_values(curve)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps10_capstone", globals(), "curve_values")

# %% [markdown]
# The next cell draws the curve next to your guess. Do the intervals of $\epsilon = 3$ and 8 overlap? Does the noise
# limit the accuracy at $\epsilon = 8$, or do the number of steps and the clip? The cell trains nine models, which can
# take up to 40 seconds.

# %%
import matplotlib.pyplot as plt


def accuracy_of(target, seed):
    return accuracy(*private_model(x_train, y_train, N, target, DELTA, seed), x_test, labels_test)


rows = np.array(curve(accuracy_of, [1.0, 3.0, 8.0], [1, 2, 3]))
plt.errorbar([1, 3, 8], rows[:, 0], yerr=[rows[:, 0] - rows[:, 1], rows[:, 2] - rows[:, 0]], capsize=4, label="private")
plt.plot([1, 3, 8], guess(), "x", label="my guess")
plt.xlabel("epsilon (delta = 1e-5, add-remove)")
plt.ylabel("accuracy on 1,000 test images")
plt.legend()
plt.show()
print(rows)

# %% [markdown]
# ## 7. One honest page (2 points, 10 minutes)
#
# Write the page that you publish with your model. The page is a dictionary with these entries:
#
# - `"epsilon"`, `"delta"`: the two numbers of the guarantee, which are the arguments `target` and `delta` of `page`
# - `"adjacency"`: `"add-remove"`, `"replace-one"` or `"zero-out"`
# - `"accuracy"`: mean, low and high of part 6, which is the argument `row`
# - `"public"`: the numbers of the items of the first list that you may publish without a change to the guarantee
# - `"not covered"`: the numbers of the items of the second list that the guarantee does not cover
# - `"in words"`: what your guarantee promises to one person, in at least twelve different words
#
# The numbers of items can be a list, a tuple, an array or a set.
#
# First list. Which items may you publish, if all settings were chosen before anybody read the data?
#
# 1. the declared number N, the rate q and m
# 2. C, z, eta and the number of steps
# 3. the number of records in each drawn batch
# 4. the starting weights and the matrices B
# 5. the weights after every step
# 6. the mean loss of each batch, without noise
#
# Second list. Which items does the guarantee at this epsilon not cover?
#
# 1. an attacker who sees the weights after every step and knows all other records
# 2. facts about people in general that anybody can learn from the model, for example which clothes they wear
# 3. a person who contributed ten of the images
# 4. a choice of the settings by experiments on the training images
# 5. everything that somebody computes later from the published weights alone
# 6. the test images, with which the accuracy was measured


# %% page solution=true
def page(target, delta, row):
    """The page, a dictionary, for a model with this target, this delta and this row (mean, low, high) of `curve`."""
    ### BEGIN SOLUTION
    return {
        "epsilon": target,
        "delta": delta,
        "adjacency": "add-remove",
        "accuracy": row,
        "public": [1, 2, 4, 5],
        "not covered": [2, 3, 4, 6],
        "in words": "Whether or not my image is in the data, all published weights have nearly the same chance.",
    }
    ### END SOLUTION


# %% page_facts points=1
# 1 point: the numbers, the adjacency and the items that may be published
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps10_capstone").page_facts(page)
### END HIDDEN TESTS

# %% page_limits points=1
# 1 point: the items that are not covered, and the promise in words
### BEGIN HIDDEN TESTS
from nfa.course import checks

checks("ps10_capstone").page_limits(page)
### END HIDDEN TESTS

# %%
# Run the checks of grading with other values, and print their messages. nfa saves no score.
from nfa.course.practice import check_it

check_it("ps10_capstone", globals(), "page_facts", "page_limits")

# %%
# Print the page.
for name, entry in page(3.0, DELTA, tuple(rows[1])).items():
    print(f"{name}: {entry}")
