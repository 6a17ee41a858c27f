"""Rules with a known running time, for the tests of the estimates of a dry run."""

import time

from nfa.rules.bp import bp

ALWAYS, AN_EXAMPLE, A_REPEAT = 4e-3, 5e-5, 1e-4  # seconds per step, per example, and per repeat of an example
calls = []  # (examples, repeats) of each call in this process


def seconds(m, K):
    return ALWAYS + m * (AN_EXAMPLE + A_REPEAT * K)


def repeats(net, x, y, *, K: int, antithetic: bool = False, rng):
    """BP with a running time given by the constants above.

    Like `nfa.rules.ulr`, it needs an even number of antithetic repeats.
    """
    if antithetic and K % 2:
        raise ValueError(f"the number K of losses must be even for antithetic pairs, got K={K}")
    calls.append((len(x), K))
    time.sleep(seconds(len(x), K))
    return bp(net, x, y)


def many_at_once(net, x, y, *, rng):
    """BP that refuses fewer than twenty examples."""
    if len(x) < 20:
        raise ValueError(f"needs 20 examples, got {len(x)}")
    calls.append((len(x), 1))
    return bp(net, x, y)
