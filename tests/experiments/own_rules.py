"""A user's own rules. The tests of runs use their names "tests.experiments.own_rules:..."."""

import time

import numpy as np

from nfa.rules.bp import bp
from nfa.rules.dfa import dfa


def remembers(net, x, y, *, sigma, state, rng):
    """BP with noise. The noise is a running sum in the state, so a resumed run needs this sum from its checkpoint."""
    dW, db = bp(net, x, y)
    for l in range(1, net.L + 1):
        walk = state.get(f"walk{l}", 0.0) + sigma * rng.standard_normal(dW[l].shape)
        state[f"walk{l}"] = walk
        dW[l] = dW[l] + walk.astype(dW[l].dtype)
    state["calls"] = state.get("calls", 0) + 1
    return dW, db


def noisy_dfa(net, x, y, *, B, m, sigma=0.1, rng):
    """DFA with noise on the mean. The rule takes m, so it accepts empty batches."""
    if sigma < 0:
        raise ValueError(f"sigma must not be negative, got {sigma}")
    dW, db = dfa(net, x, y, B=B, m=m)
    for l in range(1, net.L + 1):
        dW[l] = dW[l] + (sigma * rng.standard_normal(dW[l].shape)).astype(dW[l].dtype)
    return dW, db


def tells(net, x, y, *, rng, state=None):
    """BP that stores its clipped share as a number instead of a list: 0 in the first three calls, then 0.25."""
    if state is not None:
        state["calls"] = state.get("calls", 0) + 1
        state["clipped"] = 0.25 if state["calls"] > 3 else 0.0
    return bp(net, x, y)


def wasteful(net, x, y, *, rng):
    """BP that allocates 30 MB, frees them, and allocates 20 MB."""
    for size in (30_000_000, 20_000_000):
        room = np.empty(size, np.uint8)
        room[0] = 0
        del room
    return bp(net, x, y)


def slow(net, x, y, *, rng):
    """BP that computes for 20 ms and then sleeps for 40 ms."""
    began = time.process_time()
    while time.process_time() < began + 0.02:
        pass
    time.sleep(0.04)
    return bp(net, x, y)


NOT_A_RULE = 3


def transposed(net, x, y, *, rng):
    """BP that returns directions of wrong shapes."""
    dW, db = bp(net, x, y)
    return [None, *(W.T for W in dW[1:])], db


def broken(net, x, y, *, rng):
    """A rule with a misspelt attribute."""
    return np.zeros(3) + x.no_such_attribute


def wants_ten(net, x, y, *, rng):
    """BP that refuses fewer than ten examples."""
    if len(x) < 10:
        raise ValueError(f"wants_ten needs ten examples, got {len(x)}")
    return bp(net, x, y)
