"""A step in parts: a rule whose direction is a sum over examples is called on parts of the batch, and the sums added.

Each part is the work of one thread, from its forward pass to its directions. So the cores are busy for a whole step,
the memory of a step does not grow with the batch, and no number depends on how many threads there are.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np

from nfa.network import Net
from nfa.noise import of_examples
from nfa.rules.spec import RuleSpec

# The least number of examples of a part: with fewer, matrix products and Python's share of a call are slow.
LEAST = 32
# Entries of all z and h of a part, about: 1.5 MB in float32, as much as stays near a core between their uses.
ENTRIES = 3 << 17

# Calls a function on each item, in order or at the same time, and gives the answers in order: `map`, say.
Run = Callable[[Callable, Iterable], Iterator]


def part_size(net: Net, m: int) -> int:
    """How many examples a part has: a function of the network's shapes and of the public size m of a batch.

    A power of 2, so many that what the layers hold stays in a core's cache, but at least `LEAST`; and at most half of
    a batch, so that there is work for two threads.
    """
    entries = sum(math.prod(shape) for shape in (*net.shape_z[1:], *net.shape_h))
    in_cache = 1 << max(1, ENTRIES // entries).bit_length() - 1
    return max(LEAST, min(in_cache, -(-m // 2)))


class InParts:
    """A rule that is called on parts of each batch: a rule again, for `nfa.train.train`.

    Parameters
    ----------
    rule : the rule with its keyword arguments bound, as `functools.partial` binds them
    known : what is known of it: its direction must be a sum over examples
    size : int >= 1, examples of a part; the last part of a batch may have fewer
    run : what calls a function on each item and gives the answers in order: `map`, or `nfa.kernels.cores.in_order`,
        which takes a thread for each

    Attributes
    ----------
    func, keywords : the rule and its keyword arguments

    Raises
    ------
    ValueError : if the rule's module does not declare a sum over examples, or for a size below 1

    Notes
    -----
    The direction is that of the whole batch, up to rounding, and bitwise the same whatever `run` is. Noise on the sum
    is drawn once, by a call of the rule on no examples: it returns its noise alone. To this the sums of the parts,
    which draw none, are added in their order. Randomness of single examples is drawn by step and example, see
    `nfa.noise.of_examples`. The rule's ``state`` is that of the call on no examples, but for the shares "clipped",
    which are those of the whole batch; a part begins with an empty one.

    Examples
    --------
    >>> from nfa.network import mlp, ops
    >>> from nfa.rules.spec import spec
    >>> from nfa.rules.bp import bp
    >>> net = mlp([2, 1], None, loss=ops.squared_error, init="zeros", rng=np.random.default_rng(0))
    >>> x, y = np.eye(2), np.ones((2, 1))
    >>> dW, db = InParts(partial(bp), spec("bp"), size=1)(net, x, y, rng=None)
    >>> dW[1].tolist(), db[1].tolist()
    ([[-0.5, -0.5]], [-1.0])
    """

    def __init__(self, rule: partial, known: RuleSpec, *, size: int, run: Run = map) -> None:
        if not known.sum_over_examples:
            raise ValueError(f"rule {known.name} declares no sum over examples, so that a batch has no parts")
        if size < 1:
            raise ValueError(f"the size of a part must be at least 1, got {size}")
        self.func, self.keywords = rule.func, rule.keywords
        self.known, self.size, self.run = known, size, run

    def __call__(
        self, net: Net, x: np.ndarray, y: np.ndarray, *, rng: np.random.Generator | None, **more: Any
    ) -> tuple[list, list]:
        """The direction of a batch; ``more`` are keyword arguments in the place of those that are bound.

        ``x`` and ``y`` may be `nfa.sampling.Rows`, which no one has copied yet.
        """
        given = {**self.keywords, **more}
        if given.get("m") is None and self.known.setting("m"):
            given["m"] = len(x)
        state = given.get("state")
        before = deepcopy(rng) if self.known.draws_by_example else None  # as it is before the noise on the sum
        total: tuple[list, list] | None = None
        if self.known.noise_on_sum or not len(x):
            total = self.func(net, x[:0], y[:0], rng=rng, **given)
        if self.known.noise_on_sum:
            given["add_normal"] = no_noise

        def part(first: int) -> tuple[tuple[list, list], Any]:
            own: dict[str, Any] = {} if state is None else {"state": {}}
            draws = None if before is None else of_examples(before, first)
            rows = slice(first, min(first + self.size, len(x)))
            return self.func(net, x[rows], y[rows], rng=draws, **{**given, **own}), own.get("state", {}).get("clipped")

        shares = []
        for direction, clipped in self.run(part, range(0, len(x), self.size)):
            total = direction if total is None else added(net, total, direction)
            del direction  # or it would stay in memory until the next one is there
            shares.append(clipped)
        assert total is not None
        if state is not None and any(shares):
            sizes = [min(self.size, len(x) - first) for first in range(0, len(x), self.size)]
            state["clipped"] = of_all(shares, sizes)
        return total


def no_noise(out: np.ndarray, std: float, rng: Any) -> None:
    """What a part takes for ``add_normal``: the noise on the sum comes with the call on no examples."""


def added(net: Net, total: tuple[list, list], direction: tuple[list, list]) -> tuple[list, list]:
    """Add a direction to the total, in place."""
    for all_layers, own in zip(total, direction, strict=True):
        for l in range(1, net.L + 1):
            all_layers[l] += own[l]
    return total


def check_is_sum(
    rule: partial, known: RuleSpec, net: Net, x: np.ndarray, y: np.ndarray, streams: Callable[..., np.random.Generator]
) -> None:
    """Raise ValueError unless the directions of a few examples' parts add up to that of the whole, noise aside.

    Two steps are taken, for a rule may read in its ``state`` what the step before has written. Sums may differ by half
    of the digits of their dtype.

    Parameters
    ----------
    rule, known : as for `InParts`
    x, y : arrays of at least two examples
    streams : as `nfa.noise.Streams`
    """
    in_parts = InParts(rule, known, size=len(x) // 2)
    states: list[dict] = [{"state": {}} if "state" in known.given else {} for _ in range(2)]
    quiet = {"add_normal": no_noise} if known.noise_on_sum else {}
    m = {"m": len(x)} if known.setting("m") and rule.keywords.get("m") is None else {}
    for t in (1, 2):
        whole = rule.func(
            net, x, y, rng=of_examples(streams("noise", t)), **{**rule.keywords, **quiet, **m, **states[0]}
        )
        parts = in_parts(net, x, y, rng=streams("noise", t), **quiet, **states[1])
        a, b = (np.concatenate([np.ravel(p) for p in (*dW[1:], *db[1:])]) for dW, db in (whole, parts))
        close = math.sqrt(np.finfo(a.dtype).eps) * max(np.abs(a).max(), np.abs(b).max())
        if not np.allclose(a, b, rtol=0, atol=close, equal_nan=True):
            raise ValueError(
                f"rule {known.name} declares SUM_OVER_EXAMPLES, but the direction of {len(x)} examples is not the sum"
                " of those of their parts: a sum divides by the m that it is given, draws for an example by"
                " add_normal_each, and reads nothing of the batch in its state"
            )


def of_all(shares: list, sizes: list[int]) -> Any:
    """The share of a whole batch, or the list of shares, from those of parts of these sizes.

    >>> of_all([[0.5, 1.0], [0.0, 1.0]], [3, 1])
    [0.375, 1.0]
    """
    if isinstance(shares[0], list):
        return [of_all(list(one), sizes) for one in zip(*shares, strict=True)]
    return sum(share * size for share, size in zip(shares, sizes, strict=True)) / sum(sizes)
