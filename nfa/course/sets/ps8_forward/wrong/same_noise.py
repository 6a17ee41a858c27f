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
