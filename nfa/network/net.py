"""The network: layers l = 1..L, z[l] = W[l] h[l-1] + b[l], h[l] = phi_l(z[l]).

Lists have length L + 1 and use the indices of the papers. Slot 0 is None, except for h[0] = x. A layer with pooling
pools phi_l(z[l]). A skip {l: j} adds h[j] to the input of layer l.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from nfa.network.dense import Dense
from nfa.network.ops import Activation, Loss, softmax_cross_entropy

AT_ONCE = 250  # number of examples in one forward pass, if only the outputs are needed


def _uniform_fan_in(shape, fan_in, fan_out, rng):
    bound = 1 / np.sqrt(fan_in)
    return rng.uniform(-bound, bound, shape), rng.uniform(-bound, bound, shape[0])


def _normal_fan_in(shape, fan_in, fan_out, rng):
    return rng.normal(0, 1 / np.sqrt(fan_in), shape), np.zeros(shape[0])


def _he_normal(shape, fan_in, fan_out, rng):
    return rng.normal(0, np.sqrt(2 / fan_in), shape), np.zeros(shape[0])


def _glorot_uniform(shape, fan_in, fan_out, rng):
    bound = np.sqrt(6 / (fan_in + fan_out))
    return rng.uniform(-bound, bound, shape), np.zeros(shape[0])


def _zeros(shape, fan_in, fan_out, rng):
    return np.zeros(shape), np.zeros(shape[0])


INITS: dict[str, Callable] = {
    "uniform-fan-in": _uniform_fan_in,  # W, b ~ U(-1, 1) / sqrt(fan_in)
    "normal-fan-in": _normal_fan_in,  # W ~ N(0, 1 / fan_in), b = 0
    "he-normal": _he_normal,  # W ~ N(0, 2 / fan_in), b = 0
    "glorot-uniform": _glorot_uniform,  # W ~ U(-1, 1) sqrt(6 / (fan_in + fan_out)), b = 0
    "zeros": _zeros,  # W = 0, b = 0, for a network of one layer, in which equal rows can learn
}


def _in_cache(z: np.ndarray) -> Iterator[slice]:
    """Slices of the batch with about 2^17 entries each, for a chain of elementwise operations.

    Such a chain is slow if each operation reads its input from main memory. A slice fits into the cache.
    """
    examples = 1 + 2**17 * len(z) // max(1, z.size)
    return (slice(i, i + examples) for i in range(0, len(z), examples))


class Net:
    """A feed-forward network with its maps, activations and parameters, and the shapes of its layers.

    Source: [lee2020:eq1] [ohana2021:eq2]

    Parameters
    ----------
    in_shape : tuple of int, shape of one input: (n_0,) or (c, H, W)
    layers : list of (map, phi) or (map, phi, pool), where map is a `Dense` or `Conv2d`, phi an `Activation`, and pool a
        `MaxPool` or `AvgPool`. The last layer is only (map,), because its output function belongs to the loss
    skip : {l: j} with j < l - 1, adds h[j] to the input h[l-1] of layer l. h[j] and h[l-1] must have the same shape
    loss : `Loss`
    init : name in `INITS`, the law of W and b (drawn in float64 in the order of the layers, W before b)
    rng : numpy.random.Generator
    dtype : dtype of W and b

    Attributes
    ----------
    L : int, number of layers
    map, phi, pool : lists. map[l] is bound to the shape of its input. phi[L] is None, and so is pool[l] for a layer
        without pooling
    W, b : lists of arrays
    shape_z, shape_h : lists, shapes of z[l] and h[l] for one example

    Raises
    ------
    ValueError : if shapes do not fit, if a skip is not possible, or if a name is unknown
    """

    def __init__(
        self,
        in_shape: Sequence[int],
        layers: Sequence[tuple],
        *,
        skip: Mapping[int, int] | None = None,
        loss: Loss = softmax_cross_entropy,
        init: str = "uniform-fan-in",
        rng: np.random.Generator,
        dtype: type = np.float64,
    ) -> None:
        if init not in INITS:
            raise ValueError(f"init must be one of {', '.join(INITS)}, got {init!r}")
        if not in_shape or not all(isinstance(n, int | np.integer) and n >= 1 for n in in_shape):
            raise ValueError(f"in_shape must contain whole numbers >= 1, got {tuple(in_shape)}")
        if not layers or len(layers[-1]) != 1 or any(len(layer) not in (2, 3) for layer in layers[:-1]):
            raise ValueError(
                "layers must be tuples (map, phi) or (map, phi, pool), and the last layer must be a tuple (map,)"
            )
        self.L = len(layers)
        self.skip = dict(skip or {})
        self.loss = loss
        self.map: list = [None]
        self.phi: list = [None]
        self.pool: list = [None]
        self.W: list = [None]
        self.b: list = [None]
        self.shape_z: list = [None]
        self.shape_h: list = [tuple(in_shape)]
        for l, (map_, phi, pool) in enumerate(((*layer, None, None)[:3] for layer in layers), start=1):
            map_ = map_.bind(self.shape_h[l - 1])
            self._check_skip(l)
            fan_in = int(np.prod(map_.shape_W[1:]))
            fan_out = int(np.prod(map_.shape_W)) // map_.shape_W[1]
            W, b = INITS[init](map_.shape_W, fan_in, fan_out, rng)
            self.map.append(map_)
            self.phi.append(phi)
            self.pool.append(pool)
            self.W.append(W.astype(dtype))
            self.b.append(b[: map_.n_bias].astype(dtype))
            self.shape_z.append(map_.out_shape)
            self.shape_h.append(pool.out_shape(map_.out_shape) if pool else map_.out_shape)
        if len(self.shape_z[self.L]) != 1:
            raise ValueError(
                f"the last layer must give a vector of outputs for each example, got the shape {self.shape_z[self.L]}"
            )
        if unknown := [l for l in self.skip if not 1 <= l <= self.L]:
            raise ValueError(f"each layer of skip must be between 1 and {self.L}, got layer {unknown[0]}")

    def _check_skip(self, l: int) -> None:
        if l not in self.skip:
            return
        j = self.skip[l]
        if not 0 <= j < l - 1:
            raise ValueError(
                f"skip {{{l}: {j}}} must add the output h[j] of an earlier layer j to layer {l}, with 0 <= j < {l - 1}"
            )
        if self.shape_h[j] != self.shape_h[l - 1]:
            raise ValueError(
                f"skip {{{l}: {j}}} needs h[{j}] and h[{l - 1}] of the same shape, got {self.shape_h[j]} and "
                f"{self.shape_h[l - 1]}"
            )

    def reads(self, l: int) -> list[int]:
        """The indices k for which layer l reads h[k]. They are l - 1 and, with a skip {l: j}, also j."""
        return [l - 1, self.skip[l]] if l in self.skip else [l - 1]

    def input(self, l: int, h: list) -> np.ndarray:
        """The input of layer l: h[l-1] or, with a skip {l: j}, h[l-1] + h[j]."""
        return h[l - 1] + h[self.skip[l]] if l in self.skip else h[l - 1]

    def _pools_first(self, l: int) -> bool:
        """Whether phi_l can be applied after the pooling, because max phi(z) = phi(max z) for a monotone phi."""
        return self.pool[l].picks and self.phi[l].monotone

    def activate(self, l: int, z: np.ndarray) -> np.ndarray:
        """h[l] from z[l]: the pooled phi_l(z) or, in the last layer, the output y_hat."""
        if l == self.L:
            return self.loss.output(z)
        if not self.pool[l]:
            return self.phi[l].phi(z)
        if self._pools_first(l):
            return self.phi[l].phi(self.pool[l].forward(z))
        h = np.empty((len(z), *self.shape_h[l]), z.dtype)
        for part in _in_cache(z):
            h[part] = self.pool[l].forward(self.phi[l].phi(z[part]))
        return h

    def pull(self, l: int, z: list, v: np.ndarray, at: str = "h") -> np.ndarray:
        """Carry v back to z[l], for l < L. If v belongs to h[l], v first goes back through the pooling. Then v is
        multiplied by phi'_l(z[l]).

        Parameters
        ----------
        v : array with one row for each example. A row has one entry for each entry of h[l] (``at="h"``) or of z[l]
            (``at="z"``), in any shape
        at : "h" or "z". This choice matters only for a layer with pooling

        Returns
        -------
        dz : array of z[l]'s shape

        Raises
        ------
        ValueError : if ``at`` is neither "h" nor "z", or if v has the wrong number of entries
        """
        check_at(at)
        n = math.prod(self.shape_h[l] if at == "h" else self.shape_z[l])
        if v.size != len(z[l]) * n:
            raise ValueError(
                f"the backward pass of layer {l} needs {n} entries of {at}[{l}] for each example, got shape {v.shape}"
            )
        if at == "z" or not self.pool[l]:
            return v.reshape(z[l].shape) * self.phi[l].dphi(z[l])
        v = v.reshape(len(z[l]), *self.shape_h[l])
        if self._pools_first(l):
            return self.pool[l].backward(z[l], v * self.phi[l].dphi(self.pool[l].forward(z[l])))
        dz = np.empty(z[l].shape, np.result_type(v, z[l]))
        for part in _in_cache(z[l]):
            a = self.phi[l].phi(z[l][part])  # the input of the pooling
            dz[part] = self.pool[l].backward(a, v[part]) * self.phi[l].dphi(z[l][part])
        return dz

    @property
    def n_parameters(self) -> int:
        """Number of weights and biases."""
        return sum(p.size for p in (*self.W[1:], *self.b[1:]))

    def copy(self) -> "Net":
        """A copy of the network with copies of W and b."""
        twin = copy(self)
        twin.W = [W if W is None else W.copy() for W in self.W]
        twin.b = [b if b is None else b.copy() for b in self.b]
        return twin


def check_at(at: str) -> None:
    """Raise ValueError unless ``at`` is "h" or "z"."""
    if at not in ("h", "z"):
        raise ValueError(f"at must be 'h' or 'z', got {at!r}")


def forward(
    net: Net, x: np.ndarray | None = None, *, start: int | None = None, z: Any = None, h: Any = None
) -> tuple[list, list]:
    r"""Run the network on a batch, and keep every z[l] and h[l].

    .. math:: h^0 = x, \quad z^l = W^l h^{l-1} + b^l, \quad h^l = \phi_l(z^l), \quad \hat y = h^L

    Source: [lee2020:eq1] [ohana2021:eq2] [ohana2021:alg1.6-12]

    Parameters
    ----------
    x : (m, *in_shape) array
    start, z, h : arguments to evaluate only the layers from ``start`` on, 1 <= start <= L. Do not give x then. ``h``
        has h[0..start-1] of an earlier pass, and z[start] may be a changed array. The given lists are not changed

    Returns
    -------
    z, h : lists of length L + 1 with z[l] (m, n_l), and h[l] (m, n_l) after pooling. z[0] is None, and h[0] is x

    Raises
    ------
    ValueError : if x contains no floats or does not have the network's input shape, or if x and start are both given or
        both missing

    Examples
    --------
    >>> from nfa.network.ops import tanh
    >>> net = mlp([2, 1, 2], tanh, rng=np.random.default_rng(0))
    >>> net.W[1][:], net.b[1][:] = [[3.0, 4.0]], 0.0
    >>> z, h = forward(net, np.array([[1.0, -1.0]]))
    >>> float(z[1][0, 0])
    -1.0
    """
    if x is not None and start is None:
        if x.shape[1:] != net.shape_h[0]:
            raise ValueError(f"x must have the shape (m, {', '.join(map(str, net.shape_h[0]))}), got {x.shape}")
        if x.dtype.kind != "f":
            raise ValueError(
                f"x must hold floats, because squares of integers can overflow, got {x.dtype}: see "
                "nfa.data.scale_pixels"
            )
        z, h, start = [None], [x], 0
    elif x is None and start is not None:
        if not 1 <= start <= net.L:
            raise ValueError(f"start must be the number of a layer, between 1 and {net.L}, got {start}")
        z, h = list(z[: start + 1]), list(h[:start])
        h.append(net.activate(start, z[start]))
    else:
        raise ValueError("`forward` needs either x, or `start` together with z and h of an earlier pass")
    for l in range(start + 1, net.L + 1):
        z.append(net.map[l].affine(net.W[l], net.b[l], net.input(l, h)))  # (m, n_l)
        h.append(net.activate(l, z[l]))
    return z, h


def one_by_one(work: Callable, n: int, take: Callable, finish: Callable = lambda: None) -> None:
    """Call take(work(i)) for i < n, in order, and then finish().

    `nfa.kernels.cores.together` has the same effect and uses all cores.

    Examples
    --------
    >>> one_by_one(lambda i: 10 * i, 3, print, lambda: print("end"))
    0
    10
    20
    end
    """
    for i in range(n):
        take(work(i))
    finish()


def outputs(net: Net, x: np.ndarray, chunk: int = AT_ONCE, run: Callable = one_by_one) -> tuple[np.ndarray, np.ndarray]:
    """z[L] and h[L] of n >= 1 examples, (n, n_L) each. Chunks limit the memory, because a pass stores all layers.

    ``run`` processes the chunks as `one_by_one` does.
    """
    tops: list[tuple[np.ndarray, np.ndarray]] = []

    def top(i: int) -> tuple[np.ndarray, np.ndarray]:
        z, h = forward(net, x[i * chunk : (i + 1) * chunk])
        return z[net.L], h[net.L]

    run(top, -(-len(x) // chunk), tops.append)
    z_L, h_L = zip(*tops, strict=True)
    return np.concatenate(z_L), np.concatenate(h_L)


def predict(net: Net, x: np.ndarray, chunk: int = AT_ONCE, run: Callable = one_by_one) -> np.ndarray:
    """The most likely class of each of n >= 1 examples, (n,) integers, in chunks as in `outputs`.

    A network with one output separates two classes. It predicts class 1 if y_hat is above 1/2.
    """
    _, y_hat = outputs(net, x, chunk, run)
    return y_hat.argmax(axis=1) if y_hat.shape[1] > 1 else (y_hat[:, 0] > 0.5).astype(int)


def accuracy(net: Net, x: np.ndarray, labels: np.ndarray, run: Callable = one_by_one) -> float:
    """Share of examples whose predicted class is their label, in [0, 1].

    Raises ValueError unless labels has shape (n,).

    ``run`` is as for `outputs`. On training examples with random labels, the accuracy is the share of labels that the
    network has memorised.

    Source: [dpulr2024:memorise]
    """
    if labels.shape != (len(x),):
        raise ValueError(f"labels must have one entry for each of the {len(x)} examples, got shape {labels.shape}")
    return float(np.mean(predict(net, x, run=run) == labels))


def mlp(sizes: Sequence[int], phi: Activation, **settings) -> Net:
    """A fully connected network n_0-n_1-...-n_L with one activation in its hidden layers; settings as for `Net`."""
    hidden = [(Dense(n), phi) for n in sizes[1:-1]]
    return Net((sizes[0],), [*hidden, (Dense(sizes[-1]),)], **settings)
