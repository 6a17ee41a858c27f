"""Joint-clip DFA with common mistakes, one in each rule. All rules state the mechanism `broken_rules.mechanism`.

The rules are for fully connected networks. They compute every example's direction, clip it, and add the clipped
directions.
"""

import numpy as np

from nfa.clip import clip_factor, clip_l2
from nfa.mechanism import Mechanism
from nfa.network import forward
from tests.trust.broken_rules import answer, gaussian, norms_of, weighted

T = 0.5  # an entry of a ternary error is 0 if it is smaller than this share of the largest entry


def signs(e, threshold):
    """The signs of the entries that are at least as large as the threshold, and 0 for all others.

    The threshold is one number for each row, or one number for all rows.
    """
    return np.sign(e) * (np.abs(e) >= threshold)


def largest(e):
    return np.abs(e).max(axis=1, keepdims=True)


def directions(net, z, h, e, taught, B, project=lambda c, M: c @ M.T):
    """Each record's direction: a list with one (k, ...) array for every W and b, W before b, from layer 1 up."""
    found = []
    for l in range(1, net.L + 1):
        dz = e if l == net.L else net.pull(l, z, project(taught, B[l]))
        found += [dz[:, :, None] * net.input(l, h)[:, None, :], dz]
    return found


def errors(net, x, y):
    z, h = forward(net, x)
    return z, h, net.loss.error(z[net.L], y)


def clipped(parts, net, *, C, m, sigma, rng):
    """The sum of whole directions, each clipped to C, plus noise, divided by the public m."""
    return answer(weighted(parts, clip_factor(norms_of(parts), C)), net, m=m, sigma=sigma, rng=rng)


# --- the clip


def layers_clipped_apart(net, x, y, *, B, C, m, sigma, rng):
    """The rule clips each layer (W and b together) to C, but the mechanism counts C only once."""
    z, h, e = errors(net, x, y)
    parts = directions(net, z, h, e, e, B)
    pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
    parts = [part for pair in pairs for part in weighted(pair, clip_factor(norms_of(pair), C))]
    return answer(parts, net, m=m, sigma=sigma, rng=rng)


def length_without_biases(net, x, y, *, B, C, m, sigma, rng):
    """The clip scales biases down with the weights, but its norm does not include the biases."""
    z, h, e = errors(net, x, y)
    parts = directions(net, z, h, e, e, B)
    return answer(weighted(parts, clip_factor(norms_of(parts[::2]), C)), net, m=m, sigma=sigma, rng=rng)


def clipped_before_the_feedback(net, x, y, *, B, C, m, sigma, rng):
    """The rule clips the error to C instead of the direction, which can have a larger norm."""
    z, h, e = errors(net, x, y)
    e = clip_l2(e, C)
    return answer(directions(net, z, h, e, e, B), net, m=m, sigma=sigma, rng=rng)


def top_not_clipped(net, x, y, *, B, C, m, sigma, rng):
    """The clip includes only the layers that use feedback.

    The rule does not clip the top layer, which uses the error itself.
    """
    z, h, e = errors(net, x, y)
    parts = directions(net, z, h, e, e, B)
    hidden = weighted(parts[:-2], clip_factor(norms_of(parts[:-2]), C))
    return answer([*hidden, *parts[-2:]], net, m=m, sigma=sigma, rng=rng)


def divided_by_those_there(net, x, y, *, B, C, m, sigma, rng):
    """The rule divides the sum by the actual batch size instead of the public m."""
    z, h, e = errors(net, x, y)
    return clipped(directions(net, z, h, e, e, B), net, C=C, m=max(len(x), 1), sigma=sigma, rng=rng)


# --- one record's direction depends on the others


def threshold_of_the_batch(net, x, y, *, B, C, m, sigma, rng):
    """The threshold of ternary errors depends on the largest entry of the batch."""
    z, h, e = errors(net, x, y)
    taught = norms_of([e])[:, None] * signs(e, T * np.abs(e).max(initial=0))
    return clipped(directions(net, z, h, e, taught, B), net, C=C, m=m, sigma=sigma, rng=rng)


def length_of_the_batch(net, x, y, *, B, C, m, sigma, rng):
    """The rule multiplies the signs by the mean norm of the batch's errors instead of the norm of each error."""
    z, h, e = errors(net, x, y)
    taught = (norms_of([e]).mean() if len(x) else 0) * signs(e, T * largest(e))
    return clipped(directions(net, z, h, e, taught, B), net, C=C, m=m, sigma=sigma, rng=rng)


def exposure_of_the_batch(net, x, y, *, B, C, m, sigma, rng):
    """The device gives projections in units of a tenth of the batch's largest projection."""

    def exposed(c, M):
        p = c @ M.T
        return 10 * p / (np.abs(p).max(initial=0) or 1)

    z, h, e = errors(net, x, y)
    parts = directions(net, z, h, e, e, B, exposed)
    return clipped(parts, net, C=C, m=m, sigma=sigma, rng=rng)


OF_THE_BATCH = (threshold_of_the_batch, length_of_the_batch, exposure_of_the_batch)
RULES = (
    layers_clipped_apart, length_without_biases, clipped_before_the_feedback, top_not_clipped, divided_by_those_there,
    *OF_THE_BATCH,
)  # fmt: skip


# --- the stated mechanism


def replacement_counted_once(*, C, m, sigma, adjacency, **where) -> Mechanism:
    """A mechanism with the sensitivity C / m for replacing a record, which is half of the correct value."""
    return gaussian(C / m, adjacency, sigma, **where)
