"""A step in parts: if a direction is a sum over examples, nfa calls the rule on parts of the batch and adds the sums.

One thread processes each part, from its forward pass to its directions. So the cores are busy for the whole step, and
the memory of a step does not grow with the batch. No result depends on the number of threads.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from nfa.network import Net
from nfa.network.net import one_by_one
from nfa.noise import of_examples
from nfa.rules.spec import RuleSpec

# The smallest number of examples in a part. With fewer examples, matrix products are slow and Python's overhead is
# large.
LEAST = 32
# Approximate number of entries of all arrays z and h of a part. In float32 these entries take 1.5 MB and fit into a
# core's cache.
ENTRIES = 3 << 17

Noise = tuple[int, int, float]  # (0 for an array of W or 1 for b, its layer, the std of the noise)


def part_size(net: Net, m: int) -> int:
    """The number of examples in a part, as a function of the network's shapes and of the public batch size m.

    The size is the largest power of 2 for which the layers' arrays fit into a core's cache. If half a batch is smaller,
    the size is half a batch, so that two threads have work. In every case the size is at least `LEAST`.
    """
    entries = sum(math.prod(shape) for shape in (*net.shape_z[1:], *net.shape_h))
    in_cache = 1 << max(1, ENTRIES // entries).bit_length() - 1
    return max(LEAST, min(in_cache, -(-m // 2)))


class InParts:
    """A rule that is called on parts of each batch. An instance is itself a rule, for example for `nfa.train.train`.

    Parameters
    ----------
    rule : the rule with its keyword arguments bound, as by `functools.partial`
    known : the declaration of the rule. Its direction must be a sum over examples
    size : int >= 1, number of examples in a part. The last part of a batch may have fewer
    run : function that processes the parts: `nfa.network.net.one_by_one`, or `nfa.kernels.cores.together`, which uses
        all cores

    Attributes
    ----------
    func, keywords : the rule and its keyword arguments

    Raises
    ------
    ValueError : if the rule's module does not declare a sum over examples, or for a size below 1

    Notes
    -----
    The direction equals that of the whole batch, up to rounding. It is bitwise identical for any `run`, because the
    directions of the parts are added in the order of the parts.

    Noise on the sum is drawn once, in the rule's order. Parts draw no noise. The noise that the rule would add to its
    returned arrays is added to the sum of these arrays. Some rules also use their noise in another way, for example
    store it, and a rule from outside nfa may do so. Such a rule is called once more with an empty batch. This call
    returns only the rule's noise, and its ``state`` is the state of the step.

    Random values of single examples depend on the step and the example's place (see `nfa.noise.of_examples`). A part
    begins with an empty state. The shares "clipped" in the state are those of the whole batch.

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

    def __init__(self, rule: partial, known: RuleSpec, *, size: int, run: Callable = one_by_one) -> None:
        if not known.sum_over_examples:
            raise ValueError(
                f"rule {known.name} must declare SUM_OVER_EXAMPLES, because only a sum over examples can be "
                "computed in parts"
            )
        if size < 1:
            raise ValueError(f"the size of a part must be at least 1, got {size}")
        self.func, self.keywords = rule.func, rule.keywords
        self.known, self.size, self.run = known, size, run
        self._noise_last: bool | None = None

    def __call__(
        self, net: Net, x: np.ndarray, y: np.ndarray, *, rng: np.random.Generator | None, **more: Any
    ) -> tuple[list, list]:
        """The direction of a batch. ``more`` are keyword arguments that replace bound arguments.

        ``x`` and ``y`` may be `nfa.sampling.Rows`. Their rows are copied only when a part uses them.
        """
        given = {**self.keywords, **more}
        if self.known.setting("m") and given.get("m", self.known.defaults.get("m")) is None:
            given["m"] = len(x)
        state = given.get("state")
        examples = of_examples(rng) if rng is not None and self._draws_by_example else None  # must precede the noise
        add_normal: Any = given.get("add_normal", self.known.defaults.get("add_normal"))
        shares: list = []
        to_add: list[Noise] = []
        # # A rule from outside nfa may use its noise in any way, so the rule draws the noise itself.
        own = not self.known.from_outside
        noise_last = own and self.known.noise_on_sum and self.adds_noise_last(net, given)
        total: tuple[list, list] | None = None
        if not len(x) or (self.known.noise_on_sum and not noise_last):
            total = self.func(net, x[:0], y[:0], rng=rng, **given)

        def part(i: int) -> tuple[tuple[list, list], Any, list[Noise]]:
            noise: list[tuple[np.ndarray, float]] = []
            own: dict[str, Any] = {} if state is None else {"state": {}}
            if self.known.noise_on_sum:
                own["add_normal"] = lambda out, std, rng: noise.append((out, std))
            rows = slice(i * self.size, min((i + 1) * self.size, len(x)))
            draws = None if examples is None else examples.at(rows.start)
            direction = self.func(net, x[rows], y[rows], rng=draws, **{**given, **own})
            places = _places(direction, noise) if noise_last else []
            return direction, own.get("state", {}).get("clipped"), places

        def take(answer: tuple[tuple[list, list], Any, list[Noise]]) -> None:
            nonlocal total, to_add
            direction, clipped, noise = answer
            if total is None:
                total, to_add = direction, noise
            else:
                add(net, total, direction)
                if noise != to_add:
                    raise ValueError(
                        f"the noise of rule {self.known.name} depends on the examples, so the direction of the "
                        "rule is not a sum over examples"
                    )
            shares.append(clipped)

        def noise_on_sum() -> None:
            assert total is not None
            for which, l, std in to_add:
                add_normal(total[which][l], std, rng)

        self.run(part, -(-len(x) // self.size), take, noise_on_sum)
        assert total is not None
        if state is not None and shares and None not in shares:
            sizes = [min(self.size, len(x) - first) for first in range(0, len(x), self.size)]
            state["clipped"] = of_all(shares, sizes)
        return total

    @property
    def _draws_by_example(self) -> bool:
        """Whether the call of the rule on a part can draw random values.

        A projection can draw random values only if the run has replaced the default projection of a rule of nfa.
        """
        exact = not self.known.from_outside and "project" not in self.keywords
        return self.known.draws_by_example and not (exact and self.known.given.isdisjoint({"weigh", "add_normal_each"}))

    def adds_noise_last(self, net: Net, given: dict[str, Any]) -> bool:
        """Whether the rule's noise is added to its returned arrays, once to each, and nothing happens after it.

        Then the noise can be added to the sum of the parts. The function calls the rule once, with ones in place of the
        noise, to test this condition.
        """
        if self._noise_last is None:
            noisy: list[np.ndarray] = []
            state: dict[str, Any] = {}
            quiet = {**given, "add_normal": lambda out, std, rng: noisy.append(np.add(out, 1, out=out))}
            x = np.zeros((0, *net.shape_h[0]), net.W[1].dtype)
            y = np.zeros((0, *net.shape_z[net.L]), net.W[1].dtype)
            rng = of_examples(np.random.default_rng(0))
            direction = self.func(net, x, y, rng=rng, **({**quiet, "state": state} if "state" in given else quiet))
            arrays = [array for arrays in direction for array in arrays[1:]]
            each = sorted(map(id, noisy)) == sorted(map(id, arrays))
            self._noise_last = each and set(state) <= {"clipped"} and all((array == 1).all() for array in arrays)
        return self._noise_last


def _places(direction: tuple[list, list], noise: list[tuple[np.ndarray, float]]) -> list[Noise]:
    """The positions in a direction of the arrays to which the rule adds noise, in the order of these additions."""
    places = {id(array): (which, l) for which, arrays in enumerate(direction) for l, array in enumerate(arrays)}
    return [(*places[id(out)], std) for out, std in noise if id(out) in places]


def add(net: Net, total: tuple[list, list], direction: tuple[list, list]) -> None:
    """Add a direction to the total, in place."""
    for sums, own in zip(total, direction, strict=True):
        for l in range(1, net.L + 1):
            sums[l] += own[l]


def check_is_sum(
    rule: partial, known: RuleSpec, net: Net, x: np.ndarray, y: np.ndarray, streams: Callable[..., np.random.Generator]
) -> None:
    """Raise ValueError unless the directions of parts of a few examples add up to the direction of all of them.

    The function compares them without noise, and with marks in place of the noise. A mark is a value that depends on
    the number of the call of ``add_normal``, times the standard deviation of this call. The comparison fails if noise
    is lost, is drawn for each part, or has a size that depends on the examples. The function takes two steps, because a
    rule may read the values of the previous step from its ``state``. The sums must agree in half of the digits of their
    dtype.

    Parameters
    ----------
    rule, known : as for `InParts`
    x, y : arrays of a few examples. One example has no parts, so only the noise is compared
    streams : as `nfa.noise.Streams`
    """
    in_parts = InParts(rule, known, size=max(1, len(x) // 2))
    unset = known.setting("m") and rule.keywords.get("m", known.defaults.get("m")) is None
    m = {"m": len(x)} if unset else {}
    unit: list[float] = []  # the standard deviation of the first call, which is the unit of the marks
    for marked in (False, True) if known.noise_on_sum else (False,):
        states: list[dict] = [{"state": {}} if "state" in known.given else {} for _ in range(2)]
        for t in (1, 2):
            noise: list[dict] = [{"add_normal": _Marks(marked, unit)} if known.noise_on_sum else {} for _ in range(2)]
            given = {**rule.keywords, **m, **noise[0], **states[0]}
            whole = rule.func(net, x, y, rng=of_examples(streams("noise", t)), **given)
            parts = in_parts(net, x, y, rng=streams("noise", t), **noise[1], **states[1])
            a, b = (np.concatenate([np.ravel(p) for p in (*dW[1:], *db[1:])]) for dW, db in (whole, parts))
            close = math.sqrt(np.finfo(a.dtype).eps) * max(np.abs(a).max(), np.abs(b).max())
            if not np.allclose(a, b, rtol=0, atol=close, equal_nan=True):
                raise ValueError(
                    f"rule {known.name} declares SUM_OVER_EXAMPLES, but the direction of a batch of {len(x)} is "
                    "not the sum of the directions of the parts of the "
                    f"batch{', plus the noise of an empty batch' if marked else ''}. The rule must divide by the "
                    "given m and read nothing of the batch from its state. The rule must use add_normal_each for "
                    "the noise of an example, and add_normal only for noise on the sum"
                )


class _Marks:
    """A replacement of ``add_normal`` that adds nothing, or marks in units of the first standard deviation."""

    def __init__(self, marked: bool, unit: list[float]) -> None:
        self.marked, self.unit, self.calls = marked, unit, 0

    def __call__(self, out: np.ndarray, std: float, rng: Any) -> None:
        self.calls += 1
        if self.marked and std:
            self.unit[:] = self.unit or [std]
            out += std / self.unit[0] * np.random.default_rng(self.calls).uniform(1, 2, out.shape) * (-1) ** self.calls


def of_all(shares: list, sizes: list[int]) -> Any:
    """The share of clipped rows of a whole batch (or a list of shares), from the shares of its parts and their sizes.

    >>> of_all([[0.5, 1.0], [0.0, 1.0]], [3, 1])
    [0.375, 1.0]
    """
    if isinstance(shares[0], list):
        return [of_all(list(one), sizes) for one in zip(*shares, strict=True)]
    return sum(share * size for share, size in zip(shares, sizes, strict=True)) / sum(sizes)
