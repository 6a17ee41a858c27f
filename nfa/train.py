"""The training loop."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from nfa.mechanism import Release
from nfa.network import Net
from nfa.rules.spec import released


class Diverged(RuntimeError):
    """Raised when a rule's direction is not finite.

    Parameters
    ----------
    step, layer : int, the first step with such a direction, and the highest such layer of this step
    """

    def __init__(self, step: int, layer: int) -> None:
        super().__init__(f"the run diverged: at step {step} the direction for layer {layer} is not finite")
        self.step, self.layer = step, layer

    def __reduce__(self):  # a worker process passes the exception on by pickling it
        return Diverged, (self.step, self.layer)


def train(
    net: Net,
    rule: Callable,
    batches,
    optimizer,
    streams: Callable,
    start: int = 0,
    mechanism: Release | None = None,
) -> Iterator[int]:
    """Train net in place, one step at a time. The caller logs, plots and stops.

    Parameters
    ----------
    net : Net
    rule : function ``(net, x, y, *, rng) -> (dW, db)``, with its hyper-parameters bound
    batches : a sampler of `nfa.sampling`
    optimizer : an optimizer of `nfa.optim`
    streams : `nfa.noise.Streams`. The rule of step t draws from ``streams("noise", t)``
    start : int >= 0, number of steps already done. The random values of step t depend only on t and the streams
    mechanism : the expected release of one step, from `nfa.rules.spec.released` for the bound rule; None if no epsilon
        is computed

    Yields
    ------
    t : start + 1, start + 2, ... after each step, without end

    Raises
    ------
    ValueError : at the first step, if the scheme or rate of the batches is not that of the mechanism, or if the bound
        rule declares a mechanism that differs from the given one
    NoGuarantee : at the first step, if a mechanism is given and the rule has no guarantee
    Diverged : if the direction of a step contains NaN or infinity. The parameters of net are those before this step

    Examples
    --------
    This is one step of gradient descent for z = w x + b and the loss (z - y)^2 / 2, with x = 1 and y = 0.

    >>> from nfa import network, noise, ops, optim, rules, sampling
    >>> from nfa.rules.bp import bp
    >>> streams = noise.Streams(0)
    >>> net = network.Net((1,), [(network.Dense(1),)], loss=ops.squared_error, rng=streams("init"))
    >>> net.W[1][:], net.b[1][:] = 1.0, 0.0
    >>> steps = train(net, bp, sampling.Full(np.ones((1, 1)), np.zeros((1, 1))), optim.SGD(0.25), streams)
    >>> next(steps), float(net.W[1][0, 0]), float(net.b[1][0])
    (1, 0.75, -0.25)
    """
    if mechanism is not None and (batches.scheme, batches.rate) != (
        mechanism.sampling,
        mechanism.sampling_rate,
    ):
        raise ValueError(
            f"the mechanism needs batches by {mechanism.sampling!r} at rate {mechanism.sampling_rate}, got"
            f" batches by {batches.scheme!r} at rate {batches.rate}"
        )
    if mechanism is not None and (stated := released(rule, net, batches, mechanism.adjacency)) != mechanism:
        raise ValueError(
            f"the mechanism must be the mechanism that the rule states, got {mechanism}, but the rule states {stated}"
        )
    t = start
    while True:
        t += 1
        x, y = batches.at(t)
        # # A direction that is not finite raises Diverged below, with step and layer, so NumPy need not warn.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            dW, db = rule(net, x, y, rng=streams("noise", t))
            for l in range(net.L, 0, -1):
                if not math.isfinite(np.vdot(dW[l], dW[l]) + np.vdot(db[l], db[l])):
                    raise Diverged(t, l)
            optimizer.step(net, dW, db, t)
        yield t
