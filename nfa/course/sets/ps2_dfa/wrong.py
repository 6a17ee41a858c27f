"""Typical mistakes: the score that each must get of 20 points, and the cells whose points it must lose."""

# %% forgot_dphi score=17 fails=["dfa_feedback"]
# forgot tanh' in the hidden layers
import numpy as np


# %% dfa
def dfa(W, b, B, x, y, m):
    L = len(W) - 1
    z, h = forward(W, b, x)
    e = h[L] - y
    dW, db = [None] * (L + 1), [None] * (L + 1)
    for l in range(1, L + 1):
        dz = e if l == L else (e @ B[l].T)
        dW[l] = dz.T @ h[l - 1] / m
        db[l] = dz.sum(axis=0) / m
    return dW, db


# %% dphi_of_h score=17 fails=["dfa_feedback"]
# took tanh' at h[l] in place of z[l]
import numpy as np


# %% dfa
def dfa(W, b, B, x, y, m):
    L = len(W) - 1
    z, h = forward(W, b, x)
    e = h[L] - y
    dW, db = [None] * (L + 1), [None] * (L + 1)
    for l in range(1, L + 1):
        dz = e if l == L else (e @ B[l].T) * (1 - np.tanh(h[l]) ** 2)
        dW[l] = dz.T @ h[l - 1] / m
        db[l] = dz.sum(axis=0) / m
    return dW, db


# %% dphi_at_top score=19 fails=["dfa_top"]
# multiplied by tanh' in the top layer too
import numpy as np


# %% dfa
def dfa(W, b, B, x, y, m):
    L = len(W) - 1
    z, h = forward(W, b, x)
    e = h[L] - y
    dW, db = [None] * (L + 1), [None] * (L + 1)
    for l in range(1, L + 1):
        dz = (e if l == L else e @ B[l].T) * (1 - np.tanh(z[l]) ** 2)
        dW[l] = dz.T @ h[l - 1] / m
        db[l] = dz.sum(axis=0) / m
    return dW, db


# %% wrong_transpose score=17 fails=["dfa_feedback"]
# put W where B belongs: backpropagation's transposes, one layer after the other
import numpy as np


# %% dfa
def dfa(W, b, B, x, y, m):
    L = len(W) - 1
    z, h = forward(W, b, x)
    dz = h[L] - y
    dW, db = [None] * (L + 1), [None] * (L + 1)
    for l in range(L, 0, -1):
        if l < L:
            dz = (dz @ W[l + 1]) * (1 - np.tanh(z[l]) ** 2)
        dW[l] = dz.T @ h[l - 1] / m
        db[l] = dz.sum(axis=0) / m
    return dW, db


# %% dw_transposed score=17 fails=["dfa_feedback"]
# returned dW[l] with rows and columns exchanged
import numpy as np


# %% dfa
def dfa(W, b, B, x, y, m):
    L = len(W) - 1
    z, h = forward(W, b, x)
    e = h[L] - y
    dW, db = [None] * (L + 1), [None] * (L + 1)
    for l in range(1, L + 1):
        dz = e if l == L else (e @ B[l].T) * (1 - np.tanh(z[l]) ** 2)
        dW[l] = h[l - 1].T @ dz / m
        db[l] = dz.sum(axis=0) / m
    return dW, db


# %% off_by_one_layer score=17 fails=["dfa_feedback"]
# read h[l] where dW[l] needs h[l-1], which cannot even be multiplied into the right shape
import numpy as np


# %% dfa
def dfa(W, b, B, x, y, m):
    L = len(W) - 1
    z, h = forward(W, b, x)
    e = h[L] - y
    dW, db = [None] * (L + 1), [None] * (L + 1)
    for l in range(1, L + 1):
        dz = e if l == L else (e @ B[l].T) * (1 - np.tanh(z[l]) ** 2)
        dW[l] = dz.T @ h[l] / m
        db[l] = dz.sum(axis=0) / m
    return dW, db


# %% feedback_of_next_layer score=17 fails=["dfa_feedback"]
# took the paper's superscript for the index: B[l+1] feeds layer l where its shape allows, else B[l]
import numpy as np


# %% dfa
def dfa(W, b, B, x, y, m):
    L = len(W) - 1
    z, h = forward(W, b, x)
    e = h[L] - y
    dW, db = [None] * (L + 1), [None] * (L + 1)
    for l in range(1, L + 1):
        dz = e if l == L else (e @ next_of(B, l).T) * (1 - np.tanh(z[l]) ** 2)
        dW[l] = dz.T @ h[l - 1] / m
        db[l] = dz.sum(axis=0) / m
    return dW, db


def next_of(B, l):
    below, above = B[l], B[l + 1]
    return below if above is None else np.resize(above, below.shape)


# %% sign score=18 fails=["dfa_scale"]
# took e = y - y_hat: the loop would climb
import numpy as np


# %% dfa
def dfa(W, b, B, x, y, m):
    L = len(W) - 1
    z, h = forward(W, b, x)
    e = y - h[L]
    dW, db = [None] * (L + 1), [None] * (L + 1)
    for l in range(1, L + 1):
        dz = e if l == L else (e @ B[l].T) * (1 - np.tanh(z[l]) ** 2)
        dW[l] = dz.T @ h[l - 1] / m
        db[l] = dz.sum(axis=0) / m
    return dW, db


# %% sum_for_mean score=18 fails=["dfa_m"]
# summed over the records without 1/m
import numpy as np


# %% dfa
def dfa(W, b, B, x, y, m):
    L = len(W) - 1
    z, h = forward(W, b, x)
    e = h[L] - y
    dW, db = [None] * (L + 1), [None] * (L + 1)
    for l in range(1, L + 1):
        dz = e if l == L else (e @ B[l].T) * (1 - np.tanh(z[l]) ** 2)
        dW[l] = dz.T @ h[l - 1]
        db[l] = dz.sum(axis=0)
    return dW, db


# %% batch_for_m score=18 fails=["dfa_m"]
# divided by the number of records that came in place of m
import numpy as np


# %% dfa
def dfa(W, b, B, x, y, m):
    L = len(W) - 1
    z, h = forward(W, b, x)
    e = h[L] - y
    dW, db = [None] * (L + 1), [None] * (L + 1)
    for l in range(1, L + 1):
        dz = e if l == L else (e @ B[l].T) * (1 - np.tanh(z[l]) ** 2)
        dW[l] = dz.T @ h[l - 1] / len(x)
        db[l] = dz.sum(axis=0) / len(x)
    return dW, db


# %% mean_twice score=18 fails=["dfa_m"]
# took the mean over the records and divided by m as well
import numpy as np


# %% dfa
def dfa(W, b, B, x, y, m):
    L = len(W) - 1
    z, h = forward(W, b, x)
    e = h[L] - y
    dW, db = [None] * (L + 1), [None] * (L + 1)
    for l in range(1, L + 1):
        dz = e if l == L else (e @ B[l].T) * (1 - np.tanh(z[l]) ** 2)
        dW[l] = dz.T @ h[l - 1] / len(x) / m
        db[l] = dz.mean(axis=0) / m
    return dW, db


# %% forgot_bias score=18 fails=["forward_hidden"]
# left the bias out of the forward pass
import numpy as np


# %% forward
def forward(W, b, x):
    L = len(W) - 1
    z, h = [None], [x]
    for l in range(1, L + 1):
        z.append(h[l - 1] @ W[l].T)
        h.append(np.tanh(z[l]) if l < L else softmax(z[l]))
    return z, h


def softmax(z):
    powers = np.exp(z - z.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


# %% softmax_overflows score=19 fails=["forward_large"]
# took the softmax as it is written, without subtracting the largest entry
import numpy as np


# %% forward
def forward(W, b, x):
    L = len(W) - 1
    z, h = [None], [x]
    for l in range(1, L + 1):
        z.append(h[l - 1] @ W[l].T + b[l])
        h.append(np.tanh(z[l]) if l < L else np.exp(z[l]) / np.exp(z[l]).sum(axis=1, keepdims=True))
    return z, h


# %% softmax_of_columns score=18 fails=["forward_softmax"]
# normalised over the records in place of the classes
import numpy as np


# %% forward
def forward(W, b, x):
    L = len(W) - 1
    z, h = [None], [x]
    for l in range(1, L + 1):
        z.append(h[l - 1] @ W[l].T + b[l])
        h.append(np.tanh(z[l]) if l < L else softmax(z[l]))
    return z, h


def softmax(z):
    powers = np.exp(z - z.max(axis=0, keepdims=True))
    return powers / powers.sum(axis=0, keepdims=True)


# %% products_reversed score=18 fails=["transported_all"]
# multiplied the transposes in the wrong order, which fits no network whose layers differ in size
import numpy as np


# %% transported
def transported(W):
    L = len(W) - 1
    B = [None] * (L + 1)
    for l in range(L - 1, 0, -1):
        B[l] = W[L].T if l == L - 1 else B[l + 1] @ W[l + 1].T
    return B


# %% infinite_loop score=17 fails=["transported_last", "transported_all"]
# a loop that never ends
import numpy as np


# %% transported
def transported(W):
    B = [None] * len(W)
    l = len(W) - 2
    while l > 0:
        B[l] = W[l + 1].T if B[l + 1] is None else W[l + 1].T @ B[l + 1]
    return B


# %% cosine_squared score=19 fails=["cosine_values"]
# divided by the squared norms
import numpy as np


# %% cosine
def cosine(a, b):
    return np.vdot(a, b) / (np.vdot(a, a) * np.vdot(b, b))


# %% cosines_after score=19 fails=["train_cosines"]
# noted the cosines after the step
"""Noted the cosines after the step, with the gradient at the new weights."""

import numpy as np


# %% train
def train(W, b, B, x, y, steps, eta):
    W, b = [None, *(w.copy() for w in W[1:])], [None, *(v.copy() for v in b[1:])]
    L = len(W) - 1
    cosines = np.zeros((steps, L))
    for t in range(steps):
        dW, db = dfa(W, b, B, x, y, len(x))
        for l in range(1, L + 1):
            W[l] -= eta * dW[l]
            b[l] -= eta * db[l]
        g = gradient(W, b, x, y)
        for l in range(1, L + 1):
            cosines[t, l - 1] = cosine(dW[l], g[l])
    return W, b, cosines


# %% in_place score=19 fails=["train_copies"]
# changed the weights that it was given
import numpy as np


# %% train
def train(W, b, B, x, y, steps, eta):
    L = len(W) - 1
    cosines = np.zeros((steps, L))
    for t in range(steps):
        dW, db = dfa(W, b, B, x, y, len(x))
        g = gradient(W, b, x, y)
        for l in range(1, L + 1):
            cosines[t, l - 1] = cosine(dW[l], g[l])
        for l in range(1, L + 1):
            W[l] -= eta * dW[l]
            b[l] -= eta * db[l]
    return W, b, cosines


# %% climbs score=19 fails=["train_steps"]
# added the direction in place of subtracting it
import numpy as np


# %% train
def train(W, b, B, x, y, steps, eta):
    W, b = [None, *(w.copy() for w in W[1:])], [None, *(v.copy() for v in b[1:])]
    L = len(W) - 1
    cosines = np.zeros((steps, L))
    for t in range(steps):
        dW, db = dfa(W, b, B, x, y, len(x))
        g = gradient(W, b, x, y)
        for l in range(1, L + 1):
            cosines[t, l - 1] = cosine(dW[l], g[l])
        for l in range(1, L + 1):
            W[l] += eta * dW[l]
            b[l] += eta * db[l]
    return W, b, cosines


# %% tampered score=12 fails=["dfa_top", "dfa_feedback", "dfa_scale", "dfa_m"]
# returned zeros, and rewrote the graded cells so that they pass; they are put back before grading
import numpy as np


# %% dfa
def dfa(W, b, B, x, y, m):
    return [None, *(0 * w for w in W[1:])], [None, *(0 * v for v in b[1:])]


# %% dfa_top
assert True

# %% dfa_feedback
print("all checks passed")

# %% dfa_scale
pass

# %% dfa_m
pass


# %% largest_of_all score=19 fails=["forward_large"]
# subtracted the largest entry of the whole batch, below which other rows vanish
import numpy as np


# %% forward
def forward(W, b, x):
    z, h = [None], [np.asarray(x, float)]
    for weights, bias in zip(W[1:], b[1:]):
        z.append(h[-1] @ weights.T + bias)
        h.append(np.tanh(z[-1]))
    powers = np.exp(z[-1] - z[-1].max())
    h[-1] = powers / powers.sum(axis=1, keepdims=True)
    return z, h


# %% cosine_without_sign score=19 fails=["cosine_values"]
# took the cosine of the angle between lines, which have no direction
import numpy as np


# %% cosine
def cosine(a, b):
    a, b = np.ravel(a).astype(float), np.ravel(b).astype(float)
    return np.sqrt((a @ b) ** 2 / ((a @ a) * (b @ b)))


# %% with_momentum score=19 fails=["train_steps"]
# kept half of the last step, as other optimizers do
import numpy as np


# %% train
def train(W, b, B, x, y, steps, eta):
    W, b = [None if w is None else np.array(w) for w in W], [None if v is None else np.array(v) for v in b]
    last, cosines = {}, np.zeros((steps, len(W) - 1))
    for t in range(steps):
        dW, db = dfa(W, b, B, x, y, len(x))
        g = gradient(W, b, x, y)
        for l in range(1, len(W)):
            cosines[t, l - 1] = cosine(dW[l], g[l])
            last[l] = 0.5 * last.get(l, 0) - eta * np.asarray(dW[l])
            last[-l] = 0.5 * last.get(-l, 0) - eta * np.asarray(db[l])
        for l in range(1, len(W)):
            W[l], b[l] = W[l] + last[l], b[l] + last[-l]
    return W, b, cosines


# %% hidden_bias_stays score=17 fails=["dfa_feedback"]
# kept a direction for the top layer's bias only, as if hidden biases were not trained
import numpy as np


# %% dfa
def dfa(W, b, B, x, y, m):
    z, h = forward(W, b, x)
    top = len(W) - 1
    errors = np.asarray(h[top]) - y
    dW, db = [None], [None]
    for l in range(1, top):
        back = np.einsum("jc,ic->ij", B[l], errors) / np.cosh(z[l]) ** 2
        dW.append(np.einsum("ij,ik->jk", back, h[l - 1]) / m)
        db.append(np.zeros_like(b[l]))
    return [*dW, errors.T @ h[top - 1] / m], [*db, errors.sum(axis=0) / m]


# %% error_without_target score=19 fails=["dfa_top"]
# fed back the output itself: forgot to subtract y
import numpy as np


# %% dfa
def dfa(W, b, B, x, y, m):
    z, h = forward(W, b, x)
    e = np.asarray(h[-1])
    delta = [None, *(e @ B[l].T * (1 - np.tanh(z[l]) ** 2) for l in range(1, len(W) - 1)), e]
    return (
        [None, *(delta[l].T @ h[l - 1] / m for l in range(1, len(W)))],
        [None, *(delta[l].sum(axis=0) / m for l in range(1, len(W)))],
    )


# %% bias_of_the_batch score=18 fails=["dfa_m"]
# divided dW by m, and took the mean over the records that came for db
import numpy as np


# %% dfa
def dfa(W, b, B, x, y, m):
    z, h = forward(W, b, x)
    dW, db = [None], [None]
    for l in range(1, len(W)):
        dz = h[-1] - y
        if l + 1 < len(W):
            dz = (dz @ B[l].T) * (1 - np.tanh(z[l]) ** 2)
        dW.append(dz.T @ h[l - 1] / m)
        db.append(dz.mean(axis=0))
    return dW, db


# %% larger_of_m_and_batch score=18 fails=["dfa_m"]
# let m not be less than the number of records, lest the mean grow too long
import numpy as np


# %% dfa
def dfa(W, b, B, x, y, m):
    z, h = forward(W, b, x)
    e = (h[-1] - y) / max(m, len(x))
    dW, db = [None], [None]
    for l, (weights, feedback) in enumerate(zip(W[1:], B[1:]), start=1):
        dz = e if feedback is None else (e @ feedback.T) * (1 - h[l] ** 2)
        dW.append(dz.T @ h[l - 1])
        db.append(dz.sum(axis=0))
    return dW, db


# %% slope_at_the_top_too score=17 fails=["dfa_feedback"]
# squared the slope of tanh
import numpy as np


# %% dfa
def dfa(W, b, B, x, y, m):
    z, h = forward(W, b, x)
    e = h[-1] - y
    dW, db = [None], [None]
    for l in range(1, len(W)):
        d = e if l == len(W) - 1 else np.einsum("kc,nc->kn", e, B[l]) / np.cosh(z[l]) ** 4
        dW.append(np.einsum("kn,ki->ni", d, h[l - 1]) / m)
        db.append(d.sum(0) / m)
    return dW, db


# %% below_without_the_next score=18 fails=["transported_all"]
# took the transpose of the next layer alone below the last
import numpy as np


# %% transported
def transported(W):
    L = len(W) - 1
    B = [None] * (L + 1)
    B[L - 1] = np.transpose(W[L])
    for l in range(1, L - 1):
        B[l] = np.transpose(W[l + 1])
    return B
