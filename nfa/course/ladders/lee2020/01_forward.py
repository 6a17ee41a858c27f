"""The forward pass [lee2020:eq1] [lee2020:softmax]

h[0] is x. Every layer computes z[l] = W[l] h[l-1] + b[l]. A hidden layer has h[l] = tanh(z[l]), and h[L] is the softmax
of z[L]. A row of x is one example, so z[l] has a row for each example.

Hint: With rows as examples, W h is h @ W.T. Subtract the largest entry of each row before the exponential: the softmax
stays the same, and large numbers do not overflow.
"""

# %% task
import numpy as np


def forward(W, b, x):
    """Return the lists z and h.

    W, b : lists, W[l] of shape (n_l, n_{l-1}) and b[l] of shape (n_l,) for l = 1..L; slot 0 is None
    x : (k, n_0) array
    returns z, h : lists of length L + 1 with arrays (k, n_l); z[0] is None and h[0] is x
    """
    ### BEGIN SOLUTION
    L = len(W) - 1
    z, h = [None], [x]
    for l in range(1, L + 1):
        z.append(h[l - 1] @ W[l].T + b[l])
        if l < L:
            h.append(np.tanh(z[l]))
        else:
            p = np.exp(z[l] - z[l].max(axis=1, keepdims=True))
            h.append(p / p.sum(axis=1, keepdims=True))
    return z, h
    ### END SOLUTION


# %% cases
from nfa.course import small_nets
from nfa.course.judging import TaskCase


def cases():
    for sizes in ([4, 5, 3], [3, 4, 6, 2], [4, 2], [3, 3, 3, 3]):
        W, b = small_nets.weights(sizes)
        x, _ = small_nets.data(sizes[0], sizes[-1])
        z, h = small_nets.passed(W, b, x)
        square = len(set(sizes)) == 1  # a probe that only distinguishes slips, because many wrong shapes fit
        name = "network " + "-".join(map(str, sizes))
        yield TaskCase("", name, lambda f, given=(W, b, x): f(*given), None if square else {"z": z, "h": h})
    W, b = [None, np.diag([800.0, 1.0])], [None, np.zeros(2)]
    z, h = [None, np.array([[800.0, 1.0]])], [np.ones((1, 2)), np.array([[1.0, 0.0]])]
    yield TaskCase("", "outputs 800 and 1", lambda f: f(W, b, np.ones((1, 2))), {"z": z, "h": h})


# %% slips
(" + b[l]", "", "The bias is forgotten: add b[l] to every row.")
(" + b[l]", " - b[l]", "The sign of the bias is wrong: add b[l].")
(
    "@ W[l].T",
    "@ W[l]",
    "W[l] is transposed the wrong way: each row of h[l-1] becomes a row of W[l] h[l-1], h[l-1] @ W[l].T.",
)
("np.tanh(z[l])", "z[l]", "The activation is missing: hidden layers have h[l] = tanh(z[l]).")
("np.tanh(z[l])", "1 / (1 + np.exp(-z[l]))", "This is the sigmoid: the task asks for tanh in the hidden layers.")
("if l < L:", "if True:", "The top layer has tanh: its activation must be the softmax.")
("p / p.sum(axis=1, keepdims=True)", "p", "The softmax is not normalised: divide each row by its sum.")
(
    "p / p.sum(axis=1, keepdims=True)",
    "p / p.sum()",
    "The softmax is normalised over the batch: divide each row by its own sum.",
)
("p.sum(axis=1", "p.sum(axis=0", "The softmax is normalised over the examples: divide each row by its own sum, axis=1.")
(
    "z[l] - z[l].max(axis=1, keepdims=True)",
    "z[l]",
    "The exponential overflows: subtract the largest entry of each row first.",
)
