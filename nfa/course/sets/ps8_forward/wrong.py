"""Typical mistakes: the score that each must get of 20 points, and the cells whose points it must lose."""

# %% forgot_sigma score=19 fails=["estimate_sigma"]
# forgot to divide by sigma
import numpy as np


# %% estimate
def estimate(loss, z, u, sigma):
    felt = loss(z + sigma * u)
    return (u * felt[:, :, None]).mean(axis=0)


# %% sigma_squared score=19 fails=["estimate_sigma"]
# divided u by sigma squared, as the paper does zeta
"""Divided the draws u by sigma squared, as the paper does its noise zeta."""

import numpy as np


# %% estimate
def estimate(loss, z, u, sigma):
    felt = loss(z + sigma * u)
    return (u * felt[:, :, None]).mean(axis=0) / sigma**2


# %% sigma_for_variance score=18 fails=["estimate_direction"]
# took sigma for the variance of the noise
"""Took sigma for the variance, and added noise of standard deviation sqrt(sigma)."""

import numpy as np


# %% estimate
def estimate(loss, z, u, sigma):
    zeta = np.sqrt(sigma) * u
    return (zeta * loss(z + zeta)[:, :, None]).mean(axis=0) / sigma


# %% sum_for_mean score=19 fails=["estimate_K"]
# summed over the draws without 1/K
"""Summed over the K draws in place of taking the mean."""

import numpy as np


# %% estimate
def estimate(loss, z, u, sigma):
    felt = loss(z + sigma * u)
    return (u * felt[:, :, None]).sum(axis=0) / sigma


# %% mean_over_records score=18 fails=["estimate_direction"]
# took the mean over the records in place of the draws
import numpy as np


# %% estimate
def estimate(loss, z, u, sigma):
    felt = loss(z + sigma * u)
    return (u * felt[:, :, None]).mean(axis=1) / sigma


# %% shared_noise score=18 fails=["estimate_direction"]
# gave every record the noise of the first one
import numpy as np


# %% estimate
def estimate(loss, z, u, sigma):
    first = u[:, :1, :]
    felt = loss(z + sigma * first)
    return (first * felt[:, :, None]).mean(axis=0) / sigma


# %% true_gradient score=19 fails=["quartic"]
# gave the derivative without noise for the mean
"""Took the derivative of the loss for that of the smoothed loss."""

import numpy as np


# %% mean_of_quartic
def mean_of_quartic():
    return 4.0


# %% baseline_sign score=19 fails=["baseline_values"]
# added the baseline
"""Added the loss without noise in place of subtracting it."""

import numpy as np


# %% baseline
def baseline(loss, z, u, sigma):
    calm = loss(z)
    return estimate(lambda v: loss(v) + calm, z, u, sigma)


# %% baseline_of_draws score=19 fails=["baseline_values"]
# took the average of the same draws' losses for the baseline
"""Took the mean of the record's own noisy losses for the baseline, which is biased."""

import numpy as np


# %% baseline
def baseline(loss, z, u, sigma):
    felt = loss(z + sigma * u)
    return (u * (felt - felt.mean(axis=0))[:, :, None]).mean(axis=0) / sigma


# %% fresh_noise score=19 fails=["antithetic_values"]
# drew fresh noise for the mirrored half of a pair
"""Drew fresh noise for the second half of each pair."""

import numpy as np


# %% antithetic
def antithetic(loss, z, u, sigma):
    other = np.random.default_rng(0).standard_normal(u.shape)
    return (estimate(loss, z, u, sigma) + estimate(loss, z, other, sigma)) / 2


# %% no_half score=19 fails=["antithetic_values"]
# forgot the half of a pair's difference
import numpy as np


# %% antithetic
def antithetic(loss, z, u, sigma):
    return estimate(lambda v: loss(v) - loss(2 * z - v), z, u, sigma)


# %% pair_sum score=19 fails=["antithetic_values"]
# added the two losses of a pair
"""Added the two losses of a pair, which leaves nothing of the slope."""

import numpy as np


# %% antithetic
def antithetic(loss, z, u, sigma):
    return estimate(lambda v: (loss(v) + loss(2 * z - v)) / 2, z, u, sigma)


# %% average_is_fine score=19 fails=["own_average_factor"]
# thought the average of the same draws leaves the mean as it is
"""Believed that the average of the same draws is a baseline like any other."""

import numpy as np


# %% own_average
def own_average(K):
    return 1.0


# %% std_for_variance score=19 fails=["exponents_plain"]
# gave the exponents of the standard deviation
import numpy as np


# %% exponents
def exponents():
    return {"K": -0.5, "sigma": -1, "loss": 1, "baseline_sigma": 0, "bias_sigma": 2}


# %% misprint score=19 fails=["exponents_plain"]
# believed Equation 22's misprint
"""Believed the misprint of Equation 22: the loss, and not its square."""

import numpy as np


# %% exponents
def exponents():
    return {"K": -1, "sigma": -2, "loss": 1, "baseline_sigma": 0, "bias_sigma": 2}


# %% bias_linear score=19 fails=["exponents_rest"]
# thought the bias in proportion to sigma
import numpy as np


# %% exponents
def exponents():
    return {"K": -1, "sigma": -2, "loss": 2, "baseline_sigma": 0, "bias_sigma": 1}


# %% off_by_one_layer score=18 fails=["ulr_direction"]
# read h[l] where dW[l] needs h[l-1]
"""Read h[l] where dW[l] needs h[l-1], and the last one where there is none."""

import numpy as np


# %% ulr
def ulr(W, b, x, y, u, sigma):
    m, L = len(x), len(W) - 1
    z, h = forward(W, b, x)
    dW, db = [None] * (L + 1), [None] * (L + 1)
    for l in range(1, L + 1):
        g = antithetic(lambda v, l=l: loss_above(W, b, l, v, y), z[l], u[l], sigma)
        dW[l] = g.T @ h[min(l, L - 1)] / m
        db[l] = g.sum(axis=0) / m
    return dW, db


# %% wrong_step score=18 fails=["ulr_direction"]
# ran the layers above from h in place of z
"""Ran the layers above from the activation: steps were taken twice in the hidden layers."""

import numpy as np


# %% ulr
def ulr(W, b, x, y, u, sigma):
    m, L = len(x), len(W) - 1
    z, h = forward(W, b, x)
    dW, db = [None] * (L + 1), [None] * (L + 1)
    for l in range(1, L + 1):
        start = h[l] if l < L else z[l]
        g = antithetic(lambda v, l=l: loss_above(W, b, l, v, y), start, u[l], sigma)
        dW[l] = g.T @ h[l - 1] / m
        db[l] = g.sum(axis=0) / m
    return dW, db


# %% dw_transposed score=18 fails=["ulr_direction"]
# returned dW[l] with rows and columns exchanged
import numpy as np


# %% ulr
def ulr(W, b, x, y, u, sigma):
    m, L = len(x), len(W) - 1
    z, h = forward(W, b, x)
    dW, db = [None] * (L + 1), [None] * (L + 1)
    for l in range(1, L + 1):
        g = antithetic(lambda v, l=l: loss_above(W, b, l, v, y), z[l], u[l], sigma)
        dW[l] = h[l - 1].T @ g / m
        db[l] = g.sum(axis=0) / m
    return dW, db


# %% sum_over_records score=19 fails=["ulr_scale"]
# summed over the records without 1/m
import numpy as np


# %% ulr
def ulr(W, b, x, y, u, sigma):
    m, L = len(x), len(W) - 1
    z, h = forward(W, b, x)
    dW, db = [None] * (L + 1), [None] * (L + 1)
    for l in range(1, L + 1):
        g = antithetic(lambda v, l=l: loss_above(W, b, l, v, y), z[l], u[l], sigma)
        dW[l] = g.T @ h[l - 1]
        db[l] = g.sum(axis=0)
    return dW, db


# %% mean_twice score=19 fails=["ulr_scale"]
# divided by m twice for the biases
"""Took the mean over the records, and divided by m as well."""

import numpy as np


# %% ulr
def ulr(W, b, x, y, u, sigma):
    m, L = len(x), len(W) - 1
    z, h = forward(W, b, x)
    dW, db = [None] * (L + 1), [None] * (L + 1)
    for l in range(1, L + 1):
        g = antithetic(lambda v, l=l: loss_above(W, b, l, v, y), z[l], u[l], sigma)
        dW[l] = g.T @ h[l - 1] / m
        db[l] = g.mean(axis=0) / m
    return dW, db


# %% climbs score=19 fails=["train_learns"]
# added the direction in place of subtracting it
import numpy as np


# %% train
def train(W, b, x, y, steps, eta, sigma, K, rng):
    W, b = [None, *(w.copy() for w in W[1:])], [None, *(v.copy() for v in b[1:])]
    L = len(W) - 1
    losses = np.zeros(steps)
    for t in range(steps):
        losses[t] = loss_above(W, b, L, forward(W, b, x)[0][L], y).mean()
        u = [None, *(rng.standard_normal((K, len(x), len(v))) for v in b[1:])]
        dW, db = ulr(W, b, x, y, u, sigma)
        for l in range(1, L + 1):
            W[l] += eta * dW[l]
            b[l] += eta * db[l]
    return W, b, losses


# %% infinite_loop score=19 fails=["train_learns"]
# a loop that never ends
"""A loop that never ends: the losses never get longer."""

import numpy as np


# %% train
def train(W, b, x, y, steps, eta, sigma, K, rng):
    W, b = [None, *(w.copy() for w in W[1:])], [None, *(v.copy() for v in b[1:])]
    L = len(W) - 1
    losses = []
    while len(losses) < steps:
        losses + [loss_above(W, b, L, forward(W, b, x)[0][L], y).mean()]
        u = [None, *(rng.standard_normal((K, len(x), len(v))) for v in b[1:])]
        dW, db = ulr(W, b, x, y, u, sigma)
        for l in range(1, L + 1):
            W[l] -= eta * dW[l]
            b[l] -= eta * db[l]
    return W, b, losses


# %% noisy_loss score=19 fails=["train_learns"]
# noted the losses with noise on the logits
import numpy as np


# %% train
def train(W, b, x, y, steps, eta, sigma, K, rng):
    W, b = [None, *(w.copy() for w in W[1:])], [None, *(v.copy() for v in b[1:])]
    L = len(W) - 1
    losses = np.zeros(steps)
    for t in range(steps):
        z = forward(W, b, x)[0][L]
        losses[t] = loss_above(W, b, L, z + 3 * sigma * rng.standard_normal(z.shape), y).mean()
        u = [None, *(rng.standard_normal((K, len(x), len(v))) for v in b[1:])]
        dW, db = ulr(W, b, x, y, u, sigma)
        for l in range(1, L + 1):
            W[l] -= eta * dW[l]
            b[l] -= eta * db[l]
    return W, b, losses


# %% same_noise score=19 fails=["train_learns"]
# drew the noise once for all steps
"""Drew the noise once, before the loop, for all steps."""

import numpy as np


# %% train
def train(W, b, x, y, steps, eta, sigma, K, rng):
    W, b = [None, *(w.copy() for w in W[1:])], [None, *(v.copy() for v in b[1:])]
    L = len(W) - 1
    losses = np.zeros(steps)
    u = [None, *(rng.standard_normal((K, len(x), len(v))) for v in b[1:])]
    for t in range(steps):
        losses[t] = loss_above(W, b, L, forward(W, b, x)[0][L], y).mean()
        dW, db = ulr(W, b, x, y, u, sigma)
        for l in range(1, L + 1):
            W[l] -= eta * dW[l]
            b[l] -= eta * db[l]
    return W, b, losses


# %% controller_variance score=19 fails=["controller_value"]
# returned the variance in place of sigma
"""Returned sigma squared."""

import numpy as np


# %% controller
def controller(h, loss, K, C, sigma_0):
    least = np.linalg.eigvalsh((h * loss[:, None] ** 2).T @ h)[0]
    return least / (K * C**2 * sigma_0**2)


# %% loss_not_squared score=19 fails=["controller_value"]
# did not square the losses in Equation 8
"""Weighed the matrix with the losses and not their squares."""

import numpy as np


# %% controller
def controller(h, loss, K, C, sigma_0):
    least = np.linalg.eigvalsh((h * loss[:, None]).T @ h)[0]
    return np.sqrt(least / K) / (C * sigma_0)


# %% forgot_K score=19 fails=["controller_value"]
# left K out of Equation 8
import numpy as np


# %% controller
def controller(h, loss, K, C, sigma_0):
    least = np.linalg.eigvalsh((h * loss[:, None] ** 2).T @ h)[0]
    return np.sqrt(least) / (C * sigma_0)


# %% records_unsquared score=19 fails=["records_value"]
# forgot the square of sigma_0
import numpy as np


# %% records_needed
def records_needed(d, sigma_0):
    return sigma_0 * d


# %% records_each score=19 fails=["records_value"]
# thought each clipped record may have variance C^2 in every direction
"""Thought that each clipped record may have variance C^2 in every direction."""

import numpy as np


# %% records_needed
def records_needed(d, sigma_0):
    return sigma_0**2


# %% clips_the_sum score=19 fails=["printed_values"]
# clipped the sum in place of each record
"""Clipped the sum of the batch in place of each record."""

import numpy as np


# %% printed
def printed(loss, xi, K, C, sigma_0):
    sigma = controller(np.ones((len(loss), 1)), loss, K, C, sigma_0)
    return np.clip((loss * xi).sum(axis=1) / (sigma * np.sqrt(K)), -C, C)


# %% own_sigma score=19 fails=["printed_values"]
# gave each record a sigma of its own
"""Gave each record a sigma of its own, from its own loss alone."""

import numpy as np


# %% printed
def printed(loss, xi, K, C, sigma_0):
    sigma = loss / (np.sqrt(K) * C * sigma_0)
    return np.clip(loss * xi / (sigma * np.sqrt(K)), -C, C).sum(axis=1)


# %% complement score=19 fails=["outlier_value"]
# gave the chance that the outlier is not clipped
import numpy as np


# %% outlier
def outlier():
    return 0.197


# %% still_gaussian score=19 fails=["outlier_value"]
# thought the sum is N(0, 16) with the outlier too
"""Thought that the sum is N(0, 16) with the outlier too."""

import numpy as np


# %% outlier
def outlier():
    return 4 * 0.001 * np.exp(-1 / 32) / np.sqrt(2 * np.pi * 16)


# %% clips_entries score=19 fails=["sound_clip"]
# clipped every entry by itself
"""Clipped every entry by itself in place of the length."""

import numpy as np


# %% sound
def sound(g, xi, C, sigma_0):
    return np.clip(g, -C, C).sum(axis=0) + sigma_0 * C * xi


# %% normalises score=19 fails=["sound_clip"]
# lengthened short estimates to C
"""Gave every record the length C, short ones too."""

import numpy as np


# %% sound
def sound(g, xi, C, sigma_0):
    norm = np.maximum(np.linalg.norm(g, axis=1, keepdims=True), 1e-12)
    return (g * C / norm).sum(axis=0) + sigma_0 * C * xi


# %% clips_after_sum score=19 fails=["sound_clip"]
# clipped the sum of the batch, and not each record
"""Clipped the sum in place of each record."""

import numpy as np


# %% sound
def sound(g, xi, C, sigma_0):
    total = g.sum(axis=0)
    return total / max(1, np.linalg.norm(total) / C) + sigma_0 * C * xi


# %% noise_before_clip score=19 fails=["sound_noise"]
# added the noise before the clip, to each record
"""Added the noise to each record before its clip."""

import numpy as np


# %% sound
def sound(g, xi, C, sigma_0):
    noisy = g + sigma_0 * C * xi
    norm = np.linalg.norm(noisy, axis=1, keepdims=True)
    return (noisy / np.maximum(1, norm / C)).sum(axis=0)


# %% noise_variance score=19 fails=["sound_noise"]
# took the variance of the noise for its standard deviation
"""Took (sigma_0 C)^2, the variance, for the standard deviation."""

import numpy as np


# %% sound
def sound(g, xi, C, sigma_0):
    norm = np.linalg.norm(g, axis=1, keepdims=True)
    return (g / np.maximum(1, norm / C)).sum(axis=0) + (sigma_0 * C) ** 2 * xi


# %% tampered score=16 fails=["estimate_direction", "estimate_K", "estimate_sigma"]
# returned zeros, and rewrote the graded cells so that they pass; they are put back before grading
import numpy as np


# %% estimate
def estimate(loss, z, u, sigma):
    return 0 * z


# %% estimate_direction
assert True

# %% estimate_K
print("all checks passed")

# %% estimate_sigma
pass


# %% one_length_for_all score=19 fails=["sound_clip"]
# clipped the estimates as one long vector, to C times the root of their number
import numpy as np


# %% sound
def sound(g, xi, C, sigma_0):
    g = np.asarray(g, float)
    return g.sum(axis=0) / max(1.0, np.linalg.norm(g) / (C * np.sqrt(len(g)))) + sigma_0 * C * xi


# %% mean_for_baseline score=19 fails=["baseline_values"]
# subtracted the mean loss of the batch from every record's
import numpy as np


# %% baseline
def baseline(loss, z, u, sigma):
    calm = np.mean(loss(z))
    return sum(d * (loss(z + sigma * d) - calm)[:, None] for d in u) / (len(u) * sigma)


# %% mean_in_the_controller score=19 fails=["controller_value"]
# took the mean over the records for their sum
import numpy as np


# %% controller
def controller(h, loss, K, C, sigma_0):
    weighed = h * np.abs(loss)[:, None]
    return np.sqrt(np.linalg.eigvalsh(weighed.T @ weighed / len(h)).min() / K) / C / sigma_0


# %% draws_not_scaled score=18 fails=["estimate_direction"]
# asked the loss at z + u
import numpy as np


# %% estimate
def estimate(loss, z, u, sigma):
    return np.einsum("kmn,km->mn", u, loss(z + u)) / (len(u) * sigma)


# %% clips_by_the_square score=19 fails=["sound_clip"]
# divided long estimates by the square of what they are too long
import numpy as np


# %% sound
def sound(g, xi, C, sigma_0):
    return sum((row / max(1, row @ row / C**2) for row in g), sigma_0 * C * np.asarray(xi))


# %% noise_of_one_record score=19 fails=["controller_value"]
# put the losses in where their squares belong
import numpy as np


# %% controller
def controller(h, loss, K, C, sigma_0):
    least = np.linalg.eigvalsh(np.einsum("m,mi,mj->ij", loss, h, h)).min()
    return np.sqrt(least / (K * C**2 * sigma_0**2))
