"""The one training loop, and checkpoints from which it goes on as if it had never stopped."""

import io
import json
import math
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nfa.data.npz import first_line, unpack
from nfa.experiments.files import write_whole
from nfa.mechanism import Mechanism
from nfa.network import Net


class Diverged(RuntimeError):
    """Raised when a rule's direction is no longer finite.

    Parameters
    ----------
    step, layer : int, where it happened first (the highest layer of that step)
    """

    def __init__(self, step: int, layer: int) -> None:
        super().__init__(f"the run diverged: at step {step} the direction for layer {layer} is no longer finite")
        self.step, self.layer = step, layer

    def __reduce__(self):  # a worker process hands the exception on by pickling it
        return Diverged, (self.step, self.layer)


def train(
    net: Net,
    rule: Callable,
    batches,
    optimizer,
    streams: Callable,
    start: int = 0,
    mechanism: Mechanism | None = None,
) -> Iterator[int]:
    """Train net in place, one step at a time; the caller logs, plots and stops.

    Parameters
    ----------
    net : Net
    rule : function ``(net, x, y, *, rng) -> (dW, db)``, its hyper-parameters bound
    batches : a sampler of `nfa.sampling`
    optimizer : an optimizer of `nfa.optim`
    streams : `nfa.noise.Streams`; step t's rule draws from ``streams("noise", t)``
    start : int >= 0, steps already done: everything at step t depends on t and the streams alone
    mechanism : what the rule says one step releases, if it releases privately

    Yields
    ------
    t : start + 1, start + 2, ... after each step, without end

    Raises
    ------
    ValueError : at the first step, if the batches' scheme or rate is not the mechanism's
    Diverged : instead of taking a step whose direction holds NaN or infinity; net keeps the parameters before it

    Examples
    --------
    Two steps down the slope of a network with one weight: z = w x, loss (w x - y)^2 / 2 with x = 1, y = 0.

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
            f"the batches are drawn by scheme {batches.scheme!r} at rate {batches.rate}, but the mechanism speaks of "
            f"{mechanism.sampling!r} at rate {mechanism.sampling_rate}"
        )
    t = start
    while True:
        t += 1
        x, y = batches.at(t)
        # A diverging run is told once, below, with step and layer.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            dW, db = rule(net, x, y, rng=streams("noise", t))
            for l in range(net.L, 0, -1):
                if not math.isfinite(np.vdot(dW[l], dW[l]) + np.vdot(db[l], db[l])):
                    raise Diverged(t, l)
            optimizer.step(net, dW, db, t)
        yield t


def save_checkpoint(
    path: str | os.PathLike,
    net: Net,
    optimizer,
    t: int,
    state: dict[str, Any] | None = None,
    meta: Any = None,
    privacy: Any = None,
) -> None:
    """Write all that a run needs to go on from step t: W, b, the optimizer's state, the rule's state, t and meta.

    Parameters
    ----------
    path : file to write, replaced atomically: a reader sees the old file or the new one, never part of one
    state : the rule's state dict, if it keeps one: arrays and JSON values by name
    meta : any JSON value of the caller's (settings, history)
    privacy : JSON value, what is said of the privacy of every step up to t: whoever goes on must say the same

    Raises
    ------
    OSError : if the file cannot be written; an existing one is left as it is
    """
    arrays = {f"W{l}": net.W[l] for l in range(1, net.L + 1)} | {f"b{l}": net.b[l] for l in range(1, net.L + 1)}
    for name, memory in optimizer.state.items():
        arrays |= {f"optimizer/{name}/{i}": a for i, a in enumerate(memory)}
    kept = dict(state or {})
    arrays |= {f"state/{name}": kept.pop(name) for name in list(kept) if isinstance(kept[name], np.ndarray)}
    header = {"t": t, "optimizer": type(optimizer).__name__, "state": kept, "meta": meta, "privacy": privacy}
    content = io.BytesIO()
    np.savez(content, header=np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays)
    write_whole(path, content.getvalue())


def load_checkpoint(
    path: str | os.PathLike, net: Net, optimizer, state: dict[str, Any] | None = None, privacy: Any = None
) -> tuple[int, Any]:
    """Put a saved run back into net, optimizer and the rule's state, and return (t, meta).

    Parameters
    ----------
    path : file written by `save_checkpoint`
    net, optimizer : of the same shapes, dtype and kind as those saved; changed only if everything fits
    state : the rule's state dict, filled in place
    privacy : what this run says of the privacy of its steps

    Raises
    ------
    ValueError : if the file is not a whole checkpoint, is one of another network or optimizer, or does not say of the
        privacy of its steps what this run says
    OSError : if the file cannot be read
    """
    name = Path(path).name
    content = Path(path).read_bytes()
    try:
        arrays = unpack(io.BytesIO(content), len(content))
        header = json.loads(arrays.pop("header").tobytes())
        t, kind, kept, meta = header["t"], header["optimizer"], header["state"], header["meta"]
        if not (type(t) is int and t >= 0 and isinstance(kept, dict)):
            raise ValueError("its step or the state of its rule is none")
    except Exception as damage:
        raise ValueError(f"{name} is not a whole checkpoint: {first_line(damage)}") from damage
    if "privacy" not in header:
        raise ValueError(
            f"{name} does not say what its steps release: it cannot be gone on from, delete it to start afresh"
        )
    if header["privacy"] != json.loads(json.dumps(privacy)):
        raise ValueError(
            f"{name} says of the privacy of its steps {json.dumps(header['privacy'])}, but this run"
            f" {json.dumps(privacy)}: its steps would be counted wrongly"
        )
    if kind != type(optimizer).__name__:
        raise ValueError(f"{name} was saved with the optimizer {kind}, not {type(optimizer).__name__}")
    parameters = {f"{p}{l}": getattr(net, p)[l] for l in range(1, net.L + 1) for p in "Wb"}
    for key, value in parameters.items():
        found = arrays.pop(key, None)
        if found is None or found.shape != value.shape or found.dtype != value.dtype:
            raise ValueError(f"{name} was saved from another network: its {key} is not {value.dtype} {value.shape}")
        parameters[key] = found
    memory: dict[str, list[np.ndarray]] = {}
    remembered: dict[str, np.ndarray] = {}
    for key, array in arrays.items():
        place, _, rest = key.partition("/")
        if place == "optimizer":
            memory.setdefault(rest.rpartition("/")[0], []).append(array)
        elif place == "state":
            remembered[rest] = array
        else:
            raise ValueError(f"{name} was saved from another network: this one has no {key}")
    fitting = [(p.shape, p.dtype) for p in parameters.values()]
    for key, kept_arrays in memory.items():
        if [(a.shape, a.dtype) for a in kept_arrays] != fitting:
            raise ValueError(f"{name} is not a whole checkpoint: the optimizer's {key} does not fit the network")
    for l in range(1, net.L + 1):
        net.W[l], net.b[l] = parameters[f"W{l}"], parameters[f"b{l}"]
    optimizer.state = memory
    if state is not None:
        state.clear()
        state.update(kept, **remembered)
    return t, meta
