"""Typical mistakes: the score that each must get of 20 points, and the cells whose points it must lose."""

# %% forgot_dphi score=18 fails=["deltas_hidden"]
# forgot the sigmoid's slope in the hidden layers
"""Forgot the slope of the sigmoid in the hidden layers."""

import numpy as np


# %% deltas
def deltas(W, z, h, y):
    L = len(W) - 1
    dz = [None] * (L + 1)
    dz[L] = h[L] - y
    for l in range(L - 1, 0, -1):
        dz[l] = dz[l + 1] @ W[l + 1]
    return dz


# %% dphi_of_h score=18 fails=["deltas_hidden"]
# took the sigmoid's slope at h[l] in place of z[l]
"""Took the slope of the sigmoid at h[l] in place of z[l]."""

import numpy as np


# %% deltas
def deltas(W, z, h, y):
    L = len(W) - 1
    dz = [None] * (L + 1)
    dz[L] = h[L] - y
    for l in range(L - 1, 0, -1):
        dz[l] = (dz[l + 1] @ W[l + 1]) * sigmoid(h[l]) * (1 - sigmoid(h[l]))
    return dz


# %% slope_of_layer_above score=18 fails=["deltas_hidden"]
# took the slope of layer l + 1, before going down through W[l+1]
"""Multiplied by the slope of layer l + 1 before going down through W[l+1]: off by one layer."""

import numpy as np


# %% deltas
def deltas(W, z, h, y):
    L = len(W) - 1
    dz = [None] * (L + 1)
    dz[L] = h[L] - y
    for l in range(L - 1, 0, -1):
        slope = h[l + 1] * (1 - h[l + 1])
        dz[l] = (dz[l + 1] * slope) @ W[l + 1]
    return dz


# %% dphi_at_top score=19 fails=["deltas_top"]
# multiplied by a slope at the top, which the error has in it already
"""Multiplied by the slope of the top layer, which the error has in it already."""

import numpy as np


# %% deltas
def deltas(W, z, h, y):
    L = len(W) - 1
    dz = [None] * (L + 1)
    dz[L] = (h[L] - y) * h[L] * (1 - h[L])
    for l in range(L - 1, 0, -1):
        dz[l] = (dz[l + 1] @ W[l + 1]) * h[l] * (1 - h[l])
    return dz


# %% wrong_transpose score=18 fails=["deltas_hidden"]
# took W for its transpose, which cannot be multiplied where layers differ in size
import numpy as np


# %% deltas
def deltas(W, z, h, y):
    L = len(W) - 1
    dz = [None] * (L + 1)
    dz[L] = h[L] - y
    for l in range(L - 1, 0, -1):
        dz[l] = (dz[l + 1] @ W[l + 1].T) * h[l] * (1 - h[l])
    return dz


# %% sign score=19 fails=["deltas_top"]
# took e = y - y_hat
"""Took y - y_hat."""

import numpy as np


# %% deltas
def deltas(W, z, h, y):
    L = len(W) - 1
    dz = [None] * (L + 1)
    dz[L] = y - h[L]
    for l in range(L - 1, 0, -1):
        dz[l] = (dz[l + 1] @ W[l + 1]) * h[l] * (1 - h[l])
    return dz


# %% mean_too_early score=19 fails=["deltas_top"]
# divided by the number of records in deltas, and again in gradient
"""Divided by the number of records at the top of deltas, and took the mean once more in gradient."""

import numpy as np


# %% deltas
def deltas(W, z, h, y):
    L = len(W) - 1
    dz = [None] * (L + 1)
    dz[L] = (h[L] - y) / len(y)
    for l in range(L - 1, 0, -1):
        dz[l] = (dz[l + 1] @ W[l + 1]) * h[l] * (1 - h[l])
    return dz


# %% sum_for_mean score=19 fails=["gradient_scale"]
# summed the gradients over the records
"""Summed over the records."""

import numpy as np


# %% gradient
def gradient(W, b, x, y):
    z, h = forward(W, b, x)
    dz = deltas(W, z, h, y)
    dW, db = [None], [None]
    for l in range(1, len(W)):
        dW.append(dz[l].T @ h[l - 1])
        db.append(dz[l].sum(axis=0))
    return dW, db


# %% dw_transposed score=19 fails=["gradient_direction"]
# returned dW[l] with rows and columns exchanged
import numpy as np


# %% gradient
def gradient(W, b, x, y):
    z, h = forward(W, b, x)
    dz = deltas(W, z, h, y)
    dW, db = [None], [None]
    for l in range(1, len(W)):
        dW.append(h[l - 1].T @ dz[l] / len(x))
        db.append(dz[l].mean(axis=0))
    return dW, db


# %% off_by_one_layer score=19 fails=["gradient_direction"]
# read h[l] where dW[l] needs h[l-1], which cannot even be multiplied into the right shape
"""Read h[l] where the gradient by W[l] needs h[l-1]."""

import numpy as np


# %% gradient
def gradient(W, b, x, y):
    z, h = forward(W, b, x)
    dz = deltas(W, z, h, y)
    dW, db = [None], [None]
    for l in range(1, len(W)):
        dW.append(dz[l].T @ h[l] / len(x))
        db.append(dz[l].mean(axis=0))
    return dW, db


# %% reads_z score=19 fails=["gradient_direction"]
# read z[l-1] where dW[l] needs h[l-1]
"""Read z[l-1] where the gradient by W[l] needs h[l-1]."""

import numpy as np


# %% gradient
def gradient(W, b, x, y):
    z, h = forward(W, b, x)
    dz = deltas(W, z, h, y)
    dW, db = [None], [None]
    for l in range(1, len(W)):
        below = x if l == 1 else z[l - 1]
        dW.append(dz[l].T @ below / len(x))
        db.append(dz[l].mean(axis=0))
    return dW, db


# %% hand_no_bias score=19 fails=["hand_forward"]
# left the bias out on paper, and went on rightly from there
"""Left the bias of layer 1 out on paper, and went on rightly from there."""

import numpy as np


# %% by_hand
def by_hand():
    c = np.log(3)
    return {
        "z1": [0, -c],
        "h1": [1 / 2, 1 / 4],
        "z2": [c / 2, 2 * c],
        "y_hat": [0.1614, 0.8386],
        "e": [-0.8386, 0.8386],
        "dW2": [[-0.4193, -0.2096], [0.4193, 0.2096]],
        "dz1": [-0.9213, 1.0365],
        "dW1": [[-1.8426, -0.9213], [2.0729, 1.0365]],
    }


# %% hand_sign score=19 fails=["hand_top"]
# took e = y - y_hat on paper, and went on rightly from there
import numpy as np


# %% by_hand
def by_hand():
    c = np.log(3)
    return {
        "z1": [c, 0],
        "h1": [3 / 4, 1 / 2],
        "z2": [c, 3 * c],
        "y_hat": [1 / 10, 9 / 10],
        "e": [9 / 10, -9 / 10],
        "dW2": [[27 / 40, 9 / 20], [-27 / 40, -9 / 20]],
        "dz1": [27 / 40 * c, -27 / 20 * c],
        "dW1": [[27 / 20 * c, 27 / 40 * c], [-27 / 10 * c, -27 / 20 * c]],
    }


# %% hand_rows_of_W score=19 fails=["hand_below"]
# took W for its transpose on paper, where its shape does not tell
"""Multiplied the rows of W^2 by e on paper, in place of its columns."""

import numpy as np


# %% by_hand
def by_hand():
    c = np.log(3)
    return {
        "z1": [c, 0],
        "h1": [3 / 4, 1 / 2],
        "z2": [c, 3 * c],
        "y_hat": [1 / 10, 9 / 10],
        "e": [-9 / 10, 9 / 10],
        "dW2": [[-27 / 40, -9 / 20], [27 / 40, 9 / 20]],
        "dz1": [-81 / 80 * c, 9 / 10 * c],
        "dW1": [[-81 / 40 * c, -81 / 80 * c], [9 / 5 * c, 9 / 10 * c]],
    }


# %% forgot_bias score=19 fails=["forward_hidden"]
# left the bias out of the forward pass
import numpy as np


# %% forward
def forward(W, b, x):
    L = len(W) - 1
    z, h = [None], [x]
    for l in range(1, L + 1):
        z.append(h[l - 1] @ W[l].T)
        h.append(sigmoid(z[l]) if l < L else softmax(z[l]))
    return z, h


def softmax(z):
    powers = np.exp(z - z.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


# %% softmax_of_columns score=19 fails=["forward_softmax"]
# normalised over the records in place of the classes
import numpy as np


# %% forward
def forward(W, b, x):
    L = len(W) - 1
    z, h = [None], [x]
    for l in range(1, L + 1):
        z.append(h[l - 1] @ W[l].T + b[l])
        h.append(sigmoid(z[l]) if l < L else softmax(z[l]))
    return z, h


def softmax(z):
    powers = np.exp(z - z.max(axis=0, keepdims=True))
    return powers / powers.sum(axis=0, keepdims=True)


# %% softmax_of_h score=19 fails=["forward_softmax"]
# applied the sigmoid at the top as well, before the softmax
"""Applied the sigmoid in every layer, and the softmax to what it gives at the top."""

import numpy as np


# %% forward
def forward(W, b, x):
    L = len(W) - 1
    z, h = [None], [x]
    for l in range(1, L + 1):
        z.append(h[l - 1] @ W[l].T + b[l])
        h.append(sigmoid(z[l]))
    powers = np.exp(h[L])
    h[L] = powers / powers.sum(axis=1, keepdims=True)
    return z, h


# %% mean_of_entries score=19 fails=["loss_values"]
# took the mean over classes and records
"""Took the mean over classes and records, with np.mean of everything."""

import numpy as np


# %% loss
def loss(y_hat, y):
    return -np.mean(y * np.log(y_hat))


# %% loss_summed score=19 fails=["loss_values"]
# summed the loss over the records
import numpy as np


# %% loss
def loss(y_hat, y):
    return -np.sum(y * np.log(y_hat))


# %% forward_differences score=19 fails=["numerical_central"]
# took the one-sided difference
import numpy as np


# %% numerical_gradient
def numerical_gradient(f, v, step):
    found = np.zeros(v.shape)
    for i in np.ndindex(v.shape):
        up = v.copy()
        up[i] += step
        found[i] = (f(up) - f(v)) / step
    return found


# %% two_forgotten score=19 fails=["numerical_values"]
# divided by the step in place of twice the step
"""Divided the central difference by the step in place of twice the step."""

import numpy as np


# %% numerical_gradient
def numerical_gradient(f, v, step):
    found = np.zeros(v.shape)
    for i in np.ndindex(v.shape):
        up, down = v.copy(), v.copy()
        up[i] += step
        down[i] -= step
        found[i] = (f(up) - f(down)) / step
    return found


# %% no_copy score=19 fails=["numerical_values"]
# took two names for one array, so that both points are the same
import numpy as np


# %% numerical_gradient
def numerical_gradient(f, v, step):
    found = np.zeros(v.shape)
    for i in np.ndindex(v.shape):
        up = down = v.copy()
        up[i] += step
        down[i] -= step
        found[i] = (f(up) - f(down)) / (2 * step)
    return found


# %% all_at_once score=19 fails=["numerical_values"]
# moved all entries at once
"""Moved all entries at once: one slope for all of them."""

import numpy as np


# %% numerical_gradient
def numerical_gradient(f, v, step):
    return np.full(v.shape, (f(v + step) - f(v - step)) / (2 * step))


# %% the_smaller_the_better score=19 fails=["best_powers"]
# held the smallest step for the best
import numpy as np


# %% best_steps
def best_steps():
    return {"central": 12, "one-sided": 12, "central in float32": 12}


# %% both_learn score=19 fails=["sure_and_wrong_limits"]
# forgot that the squared error keeps the derivative of the softmax
import numpy as np


# %% sure_and_wrong
def sure_and_wrong():
    return np.sqrt(2), np.sqrt(2)


# %% lengths_added score=19 fails=["lengths_both"]
# added the lengths by W and b in place of their squares
"""Added the lengths by W[l] and b[l] in place of their squares."""

import numpy as np


# %% lengths
def lengths(dz, h):
    errors, inputs = np.linalg.norm(dz, axis=1), np.linalg.norm(h, axis=1)
    return errors * inputs, errors * inputs + errors


# %% length_of_the_sum score=19 fails=["lengths_W"]
# measured the gradient of the whole batch
"""Measured the gradient of the batch, and gave that number to every record."""

import numpy as np


# %% lengths
def lengths(dz, h):
    dW, db = dz.T @ h, dz.sum(axis=0)
    of_W, of_b = np.sum(dW**2), np.sum(db**2)
    return np.full(len(dz), np.sqrt(of_W)), np.full(len(dz), np.sqrt(of_W + of_b))


# %% infinite_loop score=18 fails=["lengths_W", "lengths_both"]
# a loop that never ends
import numpy as np


# %% lengths
def lengths(dz, h):
    by_W, both = np.zeros(len(dz)), np.zeros(len(dz))
    i = 0
    while i < len(dz):
        by_W[i] = np.linalg.norm(dz[i]) * np.linalg.norm(h[i])
        both[i] = np.hypot(by_W[i], np.linalg.norm(dz[i]))
    return by_W, both


# %% nothing_moves score=19 fails=["zero_moves"]
# thought that all zeros stay all zeros whatever the units are
import numpy as np


# %% from_zero
def from_zero():
    return {"sigmoid": [0, 0, 0], "tanh": [0, 0, 0], "even classes": [0, 0, 0], "different rows": 1}


# %% all_move score=19 fails=["zero_stays"]
# thought that the counts do not depend on the records, and that units part in time
import numpy as np


# %% from_zero
def from_zero():
    return {"sigmoid": [1, 2, 3], "tanh": [0, 0, 0], "even classes": [1, 2, 3], "different rows": 4}


# %% a_quarter_too_many score=19 fails=["fading"]
# counted a slope of the top layer
"""Counted the slope of the top layer, too: one quarter for each of L layers."""

import numpy as np


# %% largest_share
def largest_share(L):
    return 0.25**L if L > 1 else 1.0


# %% tampered score=15 fails=["deltas_top", "deltas_hidden", "gradient_direction", "gradient_scale"]
# returned zeros, and rewrote the graded cells so that they pass; they are put back before grading
import numpy as np


# %% deltas
def deltas(W, z, h, y):
    return [None, *(0 * t for t in z[1:])]


# %% gradient
def gradient(W, b, x, y):
    return [None, *(0 * w for w in W[1:])], [None, *(0 * v for v in b[1:])]


# %% deltas_top
assert True

# %% deltas_hidden
print("all checks passed")

# %% gradient_direction
pass

# %% gradient_scale
pass


# %% log_of_a_little_more score=19 fails=["loss_values"]
# kept the logarithm from minus infinity by adding a hundredth to every y_hat
import numpy as np


# %% loss
def loss(y_hat, y):
    return float(np.mean(-(y * np.log(y_hat + 0.01)).sum(axis=1)))


# %% steps_in_proportion score=19 fails=["numerical_values"]
# took steps in proportion to the entries, and divided by the step that was asked for
import numpy as np


# %% numerical_gradient
def numerical_gradient(f, v, step):
    flat = v.astype(float).ravel()
    out = []
    for i in range(flat.size):
        own = step * max(1.0, 2 * abs(flat[i]))
        pushed = [np.where(np.arange(flat.size) == i, flat + s * own, flat).reshape(v.shape) for s in (1, -1)]
        out.append((f(pushed[0]) - f(pushed[1])) / (2 * step))
    return np.array(out).reshape(v.shape)


# %% slope_of_z score=18 fails=["deltas_hidden"]
# put z for h into h (1 - h)


# %% deltas
def deltas(W, z, h, y):
    top = len(W) - 1
    dz = {top: h[top] - y}
    for l in reversed(range(1, top)):
        dz[l] = np.einsum("kj,ji->ki", dz[l + 1], W[l + 1]) * z[l] * (1 - z[l])
    return [dz.get(l) for l in range(top + 1)]


# %% largest_row_alone score=19 fails=["lengths_W"]
# took the larger of the two vectors for both factors of the first length
import numpy as np


# %% lengths
def lengths(dz, h):
    d, t = np.linalg.norm(dz, axis=1), np.linalg.norm(h, axis=1)
    return np.maximum(d, t) ** 2, np.hypot(d * t, d)


# %% loss_of_classes_too score=19 fails=["loss_values"]
# took the mean over the classes as well
import numpy as np


# %% loss
def loss(y_hat, y):
    return np.mean(np.where(y > 0, -np.log(y_hat), 0.0))
