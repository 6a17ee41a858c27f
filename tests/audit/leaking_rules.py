"""Rules from outside nfa that leak in rare cases. Each rule states the mechanism of `sound`, which never leaks.

To audit a rule, give its name to `nfa audit --rule`, for example "tests.audit.leaking_rules:copies_together".
"""

import math

import numpy as np

from tests.trust import broken_rules
from tests.trust.broken_rules import answer, gradients, mechanism, norms_of, weighted  # noqa: F401

LATE = 6  # the step in which `late` releases the stored gradient


def sound(net, x, y, *, C, m, sigma, rng):
    """DP-SGD, which does not leak."""
    return broken_rules.sound(net, x, y, C=C, m=m, sigma=sigma, rng=rng)


def of_four(net, x, y, *, C, m, sigma, rng):
    """DP-SGD that accepts only batches of four records."""
    if len(x) != 4:
        raise ValueError(f"this rule takes four records a step, got {len(x)}")
    return sound(net, x, y, C=C, m=m, sigma=sigma, rng=rng)


def copies_together(net, x, y, *, C, m, sigma, rng):
    """DP-SGD in which each record's weight is the number of copies of this record in the batch."""
    flat = x.reshape(len(x), math.prod(x.shape[1:]))
    counts = (flat[:, None] == flat[None]).all(axis=2).sum(axis=1)
    return _weighing(net, x, y, counts, C=C, m=m, sigma=sigma, rng=rng)


def above_five(net, x, y, *, C, m, sigma, rng):
    """DP-SGD that clips gradients to the norm 2 C instead of C if a batch has more than five records."""
    return broken_rules.sound(net, x, y, C=2 * C if len(x) > 5 else C, m=m, sigma=sigma, rng=rng)


def third_class(net, x, y, *, C, m, sigma, rng):
    """DP-SGD in which records of the third class and of later classes have the weight 3 instead of 1."""
    rare = y.argmax(axis=1) >= 2
    return _weighing(net, x, y, np.where(rare, 3, 1), C=C, m=m, sigma=sigma, rng=rng)


def first_again(net, x, y, *, C, m, sigma, rng, state):
    """DP-SGD that stores the gradient of the first record of the first batch. Every later step releases it again."""
    return _again(net, x, y, lambda step: step > 1, C=C, m=m, sigma=sigma, rng=rng, state=state)


def late(net, x, y, *, C, m, sigma, rng, state):
    """DP-SGD that stores the gradient of the first record of the first batch. One later step releases it again."""
    return _again(net, x, y, lambda step: step == LATE, C=C, m=m, sigma=sigma, rng=rng, state=state)


def of_its_releases(net, x, y, *, C, m, sigma, rng, state):
    """A sound rule with momentum. The rule computes the momentum from its own earlier releases, which are public."""
    dW, db = broken_rules.sound(net, x, y, C=C, m=m, sigma=sigma, rng=rng)
    before = state.get("released", ([None] + [0.0] * net.L, [None] + [0.0] * net.L))
    out = tuple(
        [None, *(g + 0.9 * v for g, v in zip(now[1:], then[1:], strict=True))]
        for now, then in zip((dW, db), before, strict=True)
    )
    state["released"] = tuple([None, *(np.array(a) for a in part[1:])] for part in out)
    return out


def _weighing(net, x, y, weights, *, C, **rest):
    """DP-SGD in which a record's clipped gradient is multiplied by its weight."""
    parts = gradients(net, x, y)
    factor = broken_rules.clip_factor(norms_of(parts), C) * weights
    return answer(weighted(parts, factor), net, **rest)


def _again(net, x, y, due, *, C, m, sigma, rng, state):
    """DP-SGD that adds the clipped gradient of the very first record to the steps for which ``due`` is true."""
    state["step"] = state.get("step", 0) + 1
    if state["step"] == 1 and len(x):
        parts = gradients(net, x[:1], y[:1])
        kept = [g.sum(axis=0) / m for g in weighted(parts, broken_rules.clip_factor(norms_of(parts), C))]
        state["kept"] = [np.array(g) for g in kept]
    dW, db = broken_rules.sound(net, x, y, C=C, m=m, sigma=sigma, rng=rng)
    if due(state["step"]) and "kept" in state:
        dW = [None, *(a + b for a, b in zip(dW[1:], state["kept"][::2], strict=True))]
        db = [None, *(a + b for a, b in zip(db[1:], state["kept"][1::2], strict=True))]
    return dW, db
