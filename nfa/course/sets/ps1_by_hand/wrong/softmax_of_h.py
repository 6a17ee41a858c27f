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
