"""Typical mistakes: the score that each must get of 20 points, and the cells whose points it must lose."""

# %% forgot_bias score=19 fails=["norms_values"]
# left the biases out of the norms
import numpy as np


# %% norms
def norms(dz, h):
    return np.stack(
        [np.linalg.norm(dz[l], axis=1) * np.linalg.norm(h[l - 1], axis=1) for l in range(1, len(dz))], axis=1
    )


# %% off_by_one_layer score=19 fails=["norms_values"]
# took h[l], what layer l puts out, for what it reads
import numpy as np


# %% norms
def norms(dz, h):
    L = len(dz) - 1
    squares = [(dz[l] ** 2).sum(axis=1) * ((h[l] ** 2).sum(axis=1) + 1) for l in range(1, L + 1)]
    return np.sqrt(np.stack(squares, axis=1))


# %% norm_of_batch score=19 fails=["norms_values"]
# took the norm over the whole batch in place of each record's
import numpy as np


# %% norms
def norms(dz, h):
    k, L = len(dz[1]), len(dz) - 1
    row = [np.linalg.norm(dz[l]) * np.sqrt(np.linalg.norm(h[l - 1]) ** 2 + 1) for l in range(1, L + 1)]
    return np.tile(row, (k, 1))


# %% weights_plus_biases score=19 fails=["norms_values"]
# added the norms of weights and biases, not their squares
import numpy as np


# %% norms
def norms(dz, h):
    columns = []
    for l in range(1, len(dz)):
        d, a = np.linalg.norm(dz[l], axis=1), np.linalg.norm(h[l - 1], axis=1)
        columns.append(d * a + d)
    return np.stack(columns, axis=1)


# %% holds_gradients score=19 fails=["norms_memory"]
# formed every record's gradient to take its norm
import numpy as np


# %% norms
def norms(dz, h):
    rows = []
    for l in range(1, len(dz)):
        gW, gb = gradients(dz[l], h[l - 1])
        rows.append(np.sqrt((gW**2).sum(axis=(1, 2)) + (gb**2).sum(axis=1)))
    return np.transpose(rows)


# %% sum_of_norms score=19 fails=["joint_values"]
# added the norms of the layers
import numpy as np


# %% joint_norms
def joint_norms(dz, h):
    return norms(dz, h).sum(axis=1)


# %% gradient_transposed score=19 fails=["gradients_values"]
# returned h dz^T for dz h^T
import numpy as np


# %% gradients
def gradients(dz, below):
    return below[:, :, None] * dz[:, None, :], dz


# %% bias_reads_input score=19 fails=["gradients_values"]
# took the gradient by the biases for a multiple of the input's sum
import numpy as np


# %% gradients
def gradients(dz, below):
    return dz[:, :, None] * below[:, None, :], dz * below.sum(axis=1, keepdims=True)


# %% as_printed score=19 fails=["weights_zero"]
# divided by the norm as the formula prints it: 0/0 for a gradient of zero
import numpy as np


# %% clip_weights
def clip_weights(norms, C):
    return np.minimum(C, norms) / norms


# %% scales_up score=19 fails=["weights_values"]
# brought every gradient to the norm C, the short ones too
import numpy as np


# %% clip_weights
def clip_weights(norms, C):
    return np.where(norms > 0, C / np.where(norms > 0, norms, 1), 1)


# %% max_for_min score=19 fails=["weights_values"]
# took the maximum for the minimum: short gradients grow, long ones stay
import numpy as np


# %% clip_weights
def clip_weights(norms, C):
    return np.maximum(1, C / norms)


# %% clip_after_averaging score=18 fails=["clipped_values"]
# averaged first and clipped the mean
import numpy as np


# %% clipped_mean
def clipped_mean(dz, h, C, m):
    L = len(dz) - 1
    dW = [None] + [dz[l].T @ h[l - 1] / m for l in range(1, L + 1)]
    db = [None] + [dz[l].sum(axis=0) / m for l in range(1, L + 1)]
    norm = np.sqrt(sum((dW[l] ** 2).sum() + (db[l] ** 2).sum() for l in range(1, L + 1)))
    weight = min(1, C / norm) if norm > 0 else 1
    return [None] + [weight * d for d in dW[1:]], [None] + [weight * d for d in db[1:]]


# %% clips_each_layer score=18 fails=["clipped_values"]
# clipped each layer's gradient to C in place of all layers together
import numpy as np


# %% clipped_mean
def clipped_mean(dz, h, C, m):
    dW, db = [None], [None]
    every = norms(dz, h)
    for l in range(1, len(dz)):
        share = clip_weights(every[:, l - 1], C)[:, None] / m
        dW.append((share * dz[l]).T @ h[l - 1])
        db.append((share * dz[l]).sum(axis=0))
    return dW, db


# %% biases_unclipped score=18 fails=["clipped_values"]
# clipped the weights' part and left the biases as they were
import numpy as np


# %% clipped_mean
def clipped_mean(dz, h, C, m):
    L = len(dz) - 1
    share = clip_weights(joint_norms(dz, h), C)[:, None] / m
    dW = [None] + [(share * dz[l]).T @ h[l - 1] for l in range(1, L + 1)]
    db = [None] + [dz[l].sum(axis=0) / m for l in range(1, L + 1)]
    return dW, db


# %% batch_for_m score=19 fails=["clipped_m"]
# divided by the number of records that came in place of m
import numpy as np


# %% clipped_mean
def clipped_mean(dz, h, C, m):
    L = len(dz) - 1
    share = clip_weights(joint_norms(dz, h), C)[:, None]
    dW = [None] + [(share * dz[l]).T @ h[l - 1] / len(dz[l]) for l in range(1, L + 1)]
    db = [None] + [(share * dz[l]).mean(axis=0) for l in range(1, L + 1)]
    return dW, db


# %% divides_twice score=19 fails=["clipped_m"]
# took the mean over the records and divided by m as well
import numpy as np


# %% clipped_mean
def clipped_mean(dz, h, C, m):
    L = len(dz) - 1
    share = clip_weights(joint_norms(dz, h), C)[:, None] / m
    k = max(1, len(share))
    dW = [None] + [(share * dz[l]).T @ h[l - 1] / k for l in range(1, L + 1)]
    db = [None] + [(share * dz[l]).sum(axis=0) / k for l in range(1, L + 1)]
    return dW, db


# %% one_from_nothing score=19 fails=["neighbours_worst"]
# compared an empty batch with one long gradient: twice as far is possible
import numpy as np


# %% neighbours
def neighbours(C, m):
    return np.zeros((0, 2)), np.array([[0.0, 100 * m * C]])


# %% clipped_already score=18 fails=["neighbours_break", "neighbours_worst"]
# took gradients that are no longer than C, as if each had been clipped
import numpy as np


# %% neighbours
def neighbours(C, m):
    first = np.array([[C, 0.0]] * (m - 1))
    return first, np.vstack([first, [[-C, 0.0]]])


# %% replaced score=19 fails=["neighbours_break"]
# replaced a record in place of adding one
import numpy as np


# %% neighbours
def neighbours(C, m):
    return np.array([[2.0 * m * C]]), np.array([[-2.0 * m * C]])


# %% two_C_for_C score=18 fails=["sensitivity_layers", "step_noise"]
# had 2C under add-remove too, in the sensitivity and in the noise
"""Had 2C under add-remove too."""

import numpy as np


# %% sensitivity
def sensitivity(C, m, adjacency):
    return 2 * np.sqrt(sum(c**2 for c in C[1:])) / m


# %% private_step
def private_step(dz, h, C, m, z, noise):
    std = z * 2 * C / m
    N_W, N_b = noise
    dW, db = clipped_mean(dz, h, C, m)
    dW = [None] + [d + std * n for d, n in zip(dW[1:], N_W[1:])]
    return dW, [None] + [d + std * n for d, n in zip(db[1:], N_b[1:])]


# %% one_layer_counted score=19 fails=["sensitivity_layers"]
# counted the largest layer's bound once, not every layer's
import numpy as np


# %% sensitivity
def sensitivity(C, m, adjacency):
    return (2 if adjacency == "replace-one" else 1) * max(C[1:]) / m


# %% bounds_added score=19 fails=["sensitivity_layers"]
# added up the layers' bounds, which is a bound and not the smallest
import numpy as np


# %% sensitivity
def sensitivity(C, m, adjacency):
    return (2 if adjacency == "replace-one" else 1) * sum(C[1:]) / m


# %% noise_without_C score=19 fails=["step_noise"]
# sized the noise without C
import numpy as np


# %% private_step
def private_step(dz, h, C, m, z, noise):
    N_W, N_b = noise
    dW, db = clipped_mean(dz, h, C, m)
    dW = [None] + [d + z / m * n for d, n in zip(dW[1:], N_W[1:])]
    return dW, [None] + [d + z / m * n for d, n in zip(db[1:], N_b[1:])]


# %% noise_per_record score=19 fails=["step_noise"]
# added the noise once for every record
import numpy as np


# %% private_step
def private_step(dz, h, C, m, z, noise):
    N_W, N_b = noise
    dW, db = clipped_mean(dz, h, C, m)
    for i in range(len(dz[1])):
        dW = [None] + [d + z * C / m * n for d, n in zip(dW[1:], N_W[1:])]
        db = [None] + [d + z * C / m * n for d, n in zip(db[1:], N_b[1:])]
    return dW, db


# %% noise_of_the_sum score=19 fails=["step_noise"]
# gave the mean the noise that the sum would need
import numpy as np


# %% private_step
def private_step(dz, h, C, m, z, noise):
    N_W, N_b = noise
    dW, db = clipped_mean(dz, h, C, m)
    dW = [None] + [d + z * C * n for d, n in zip(dW[1:], N_W[1:])]
    return dW, [None] + [d + z * C * n for d, n in zip(db[1:], N_b[1:])]


# %% forgot_clip score=19 fails=["step_signal"]
# added the right noise to gradients that nobody clipped
import numpy as np


# %% private_step
def private_step(dz, h, C, m, z, noise):
    N_W, N_b = noise
    dW = [None] + [dz[l].T @ h[l - 1] / m + z * C / m * N_W[l] for l in range(1, len(dz))]
    return dW, [None] + [dz[l].sum(axis=0) / m + z * C / m * N_b[l] for l in range(1, len(dz))]


# %% unclipped_mean score=19 fails=["predicted_values"]
# predicted the mean, as if nothing were clipped
import numpy as np


# %% predicted
def predicted(n, X, C):
    return X / (n + 1)


# %% mean_of_clipped score=18 fails=["predicted_values", "stationary_values"]
# clipped the records in place of their gradients
import numpy as np


# %% predicted
def predicted(n, X, C):
    return C / (n + 1)


# %% stationary_point
def stationary_point(x, C):
    return np.mean(np.clip(x, -C, C))


# %% infinite_loop score=19 fails=["stationary_values"]
# a loop that never ends: an interval halved until it is empty
"""A loop that never ends: the interval is halved until it is empty."""

import numpy as np


# %% stationary_point
def stationary_point(x, C):
    low, high = min(x) - C, max(x) + C
    while high > low:
        middle = (low + high) / 2
        if sum(np.clip(middle - np.asarray(x), -C, C)) < 0:
            low = middle
        else:
            high = middle
    return low


# %% bound_without_biases score=19 fails=["bound_top"]
# left the biases out of the bound
import numpy as np


# %% dfa_bound
def dfa_bound(gamma, beta, tau_e, tau_h):
    L = len(gamma)
    slopes = [None] + [gamma[l] * beta[l] for l in range(1, L)] + [1]
    return tau_e * np.sqrt(sum((slopes[l] * tau_h[l]) ** 2 for l in range(1, L + 1)))


# %% no_top_layer score=19 fails=["bound_top"]
# left out the top layer, which has neither gamma nor beta
import numpy as np


# %% dfa_bound
def dfa_bound(gamma, beta, tau_e, tau_h):
    return tau_e * np.sqrt(sum((gamma[l] * beta[l]) ** 2 * (tau_h[l] ** 2 + 1) for l in range(1, len(gamma))))


# %% added_for_replaced score=19 fails=["too_small_values"]
# compared the bound for a record added with the printed one for a record replaced
import numpy as np


# %% too_small_by
def too_small_by(L):
    printed = 2 * 0.25 * 0.9 * np.sqrt(2 * L)
    return dfa_bound([None] + [0.25] * (L - 1), [None] + [0.9] * (L - 1), 1, [None] + [1] * L) / printed


# %% tampered score=18 fails=["norms_values", "norms_memory"]
# returned zeros, and rewrote the graded cells so that they pass; they are put back before grading
import numpy as np


# %% norms
def norms(dz, h):
    return np.zeros((len(dz[1]), len(dz) - 1))


# %% norms_values
assert True

# %% norms_memory
print("all checks passed")


# %% automatic score=19 fails=["weights_values"]
# divided by the norm plus C, which never exceeds C but shortens everybody
import numpy as np


# %% clip_weights
def clip_weights(norms, C):
    return np.array([C / (one + C) for one in np.ravel(norms)])


# %% rests_at_the_median score=19 fails=["stationary_values"]
# took the median, where clipped gradients would add up to 0 if C were very small
import numpy as np


# %% stationary_point
def stationary_point(x, C):
    return float(np.median(x))


# %% biases_without_noise score=19 fails=["step_noise"]
# added the noise to the weights alone
import numpy as np


# %% private_step
def private_step(dz, h, C, m, z, noise):
    dW, db = clipped_mean(dz, h, C, m)
    return [None, *(d + z * C / m * n for d, n in zip(dW[1:], noise[0][1:]))], db


# %% root_of_two score=19 fails=["sensitivity_adjacency"]
# thought that the clipped gradients of the record that leaves and the one that comes are at right angles
# %% sensitivity
import math


def sensitivity(C, m, adjacency):
    squares = 0.0
    for bound in C[1:]:
        squares += bound * bound * (2 if adjacency == "replace-one" else 1)
    return math.sqrt(squares) / m


# %% lengths_of_layers_added score=19 fails=["bound_hidden"]
# added the lengths of the hidden layers' parts, and the top's by its square
# %% dfa_bound
import math


def dfa_bound(gamma, beta, tau_e, tau_h):
    below = 0.0
    for slope, norm, read in zip(gamma[1:], beta[1:], tau_h[1:-1]):
        below += slope * norm * math.sqrt(1 + read * read)
    return tau_e * math.hypot(below, math.sqrt(1 + tau_h[-1] ** 2))


# %% clips_the_sum_of_layers score=18 fails=["clipped_values"]
# clipped by the sum of the norms of all layers
import numpy as np


# %% clipped_mean
def clipped_mean(dz, h, C, m):
    share = np.minimum(1, C / np.maximum(norms(dz, h).sum(axis=1), 1e-30)) / m
    dW = [np.einsum("k,ko,ki->oi", share, d, t) for d, t in zip(dz[1:], h)]
    return [None, *dW], [None, *(share @ d for d in dz[1:])]


# %% bias_reads_the_norm score=19 fails=["norms_values"]
# added the 1 of the bias outside the square
import numpy as np


# %% norms
def norms(dz, h):
    return np.stack([np.linalg.norm(d, axis=1) * (1 + np.linalg.norm(t, axis=1)) for d, t in zip(dz[1:], h)], axis=1)
