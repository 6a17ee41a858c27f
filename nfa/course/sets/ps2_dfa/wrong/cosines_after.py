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
