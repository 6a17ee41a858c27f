"""A user's own networks: from sizes, from a text such as ``1x28x28:conv16-5,pool2,dense64,10``, or from a function.

Networks and rules from outside nfa are functions. A user names such a function as "module:function".
"""

import hashlib
import importlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from nfa.network.conv2d import Conv2d
from nfa.network.dense import Dense
from nfa.network.net import Net
from nfa.network.ops import Activation
from nfa.network.pooling import AvgPool, MaxPool

LAYERS = "convCHANNELS-SIZE, poolSIZE, avgpoolSIZE and denseUNITS"
# For each kind of layer, an example of the text after the kind.
WRITTEN = {"conv": "16-5", "pool": "2", "avgpool": "2", "dense": "64"}


def from_outside(name: str) -> bool:
    """Whether a name is "module:function". nfa has not checked such a network or rule.

    A module's name cannot begin with a digit, but the text of a network always begins with a digit.
    """
    return ":" in name and not name[0].isdigit()


def imported(name: str, what: str) -> tuple[ModuleType, Callable]:
    """The module and the function of a name "module:function". Modules in the current folder have priority.

    Parameters
    ----------
    name : "module:function"
    what : "rule" or "network", for messages

    Raises
    ------
    ValueError : if there is no such module or function, or if importing it fails
    """
    module_name, _, function_name = name.partition(":")
    try:
        with _current_folder_first():
            module = importlib.import_module(module_name)
        function = getattr(module, function_name)
    except SystemExit as exit:  # otherwise SystemExit could end the command as if it had succeeded
        raise ValueError(
            f"{what} {name!r} cannot be imported, because its module exits (SystemExit: {exit}). Put the code of a "
            'script under `if __name__ == "__main__":`'
        ) from exit
    except Exception as failure:
        raise ValueError(f"{what} {name!r} cannot be imported: {type(failure).__name__}: {failure}") from failure
    if not callable(function):
        raise ValueError(f"{what} {name!r} must name a function, got {type(function).__name__}")
    return module, function


def file_digest(name: str, what: str) -> str | None:
    """The sha256 of the file of a user's own rule or network. The digest is in the record of the run, so a run cannot
    continue with a changed file.

    The result is None for a rule or network of nfa, or if there is no file. The digest does not depend on modules that
    the file imports.
    """
    if not from_outside(name):
        return None
    file = getattr(imported(name, what)[0], "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file and os.path.isfile(file) else None


@contextmanager
def _current_folder_first() -> Iterator[None]:
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)


def sizes_of(architecture: str) -> list[int]:
    """The sizes of the layers in an architecture such as "784-512-512-10", input first; [] if it has no sizes."""
    sizes = architecture.split("-")
    good = len(sizes) >= 2 and all(s.isascii() and s.isdigit() and int(s) >= 1 for s in sizes)
    return [int(s) for s in sizes] if good else []


def refuse_layers_among_sizes(architecture: str) -> None:
    """Raise ValueError for sizes that contain a layer of another kind, such as "784-conv16-5-10"."""
    for word in architecture.split("-"):
        if architecture[:1].isdigit() and re.match("conv|pool|avgpool|dense", word):
            raise ValueError(
                f"network {architecture}: {word} is not a number of units. Write layers after a colon, with commas "
                "between the layers, as in 1x28x28:conv16-5,pool2,dense64,10"
            )


def is_text(architecture: str) -> bool:
    """Whether an architecture is a text for `from_text`, which contains a colon and begins with a digit."""
    return ":" in architecture and architecture[:1].isdigit()


def from_text(text: str, phi: Activation, **settings: Any) -> Net:
    """The network that a text describes: the shape of the input, a colon, the layers, and the number of outputs.

    Parameters
    ----------
    text : the input as units, ``784``, or as channels x rows x columns, ``1x28x28``. A colon and the layers follow,
        with commas between the layers. ``conv16-5`` is a convolution of 16 channels with kernels of 5 x 5. Its stride
        is 1, and it is padded so that images keep their size. ``pool2`` takes the largest of 2 x 2 outputs of the
        previous layer, and ``avgpool2`` takes their mean. ``dense64`` is a fully connected layer of 64 units. The last
        layer is ``10`` or ``dense10``. Blanks around the layers are ignored
    phi : activation of every layer except the last
    settings : the arguments loss, init, rng and dtype of `Net`

    Raises
    ------
    ValueError : if the text cannot be read, if layers do not fit each other, or if a kernel is larger than its input

    Examples
    --------
    >>> from nfa.network.ops import tanh
    >>> net = from_text("1x28x28:conv16-5,pool2,dense64,10", tanh, rng=np.random.default_rng(0))
    >>> net.shape_h[1:]
    [(16, 14, 14), (64,), (10,)]
    >>> from_text("1x28x28:conv16,10", tanh, rng=np.random.default_rng(0))
    Traceback (most recent call last):
    ValueError: network 1x28x28:conv16,10: 'conv16' must be conv and digits, as in conv16-5
    """
    shape, _, described = text.partition(":")
    shape = shape.strip()
    *hidden, last = (word.strip() for word in described.split(","))
    layers: list[list] = []
    try:
        if not re.fullmatch(r"\d+(x\d+x\d+)?", shape, re.ASCII):
            raise ValueError(f"the input must be written as UNITS or CHANNELSxROWSxCOLUMNS, got {shape!r}")
        if hidden and not last:
            raise ValueError(
                "the last comma must be followed by the number of outputs, such as 10. Give this number, or leave"
                " out the comma"
            )
        # Rows and columns of the next layer's input, or [] if this input is not an image.
        image = [int(n) for n in shape.split("x")[1:]]
        for word in hidden:
            layer = re.fullmatch(r"(conv|pool|avgpool|dense)(\d+)(?:-(\d+))?", word, re.ASCII)
            if layer is None or (layer[1] == "conv") != (layer[3] is not None):
                raise ValueError(_unread(word))
            kind, size = layer[1], int(layer[2])
            if kind != "dense" and not image:
                raise ValueError(f"{word} needs an input of images, CHANNELSxROWSxCOLUMNS, but gets an input of units")
            if kind != "dense" and min(image) > 0:
                side = int(layer[3] or size)
                if side > min(image):
                    what = "kernel" if kind == "conv" else "window"
                    most = word.removesuffix(str(side)) + str(min(image))
                    given = "x".join(map(str, image))
                    raise ValueError(
                        f"{word} has a {what} of {side}x{side}, which is larger than the input of {given}. Use "
                        f"{most} or less"
                    )
                if kind != "conv":
                    image = [n // max(1, side) for n in image]
            if kind == "dense":
                layers.append([Dense(size), phi])
                image = []
            elif kind == "conv":
                layers.append([Conv2d(size, int(layer[3]), padding="same"), phi])
            elif not layers or len(layers[-1]) == 3:
                raise ValueError(
                    f"{word} must follow a conv layer, but follows {'another pooling' if layers else 'the input'}"
                )
            else:
                layers[-1].append((MaxPool if kind == "pool" else AvgPool)(size))
        outputs = re.fullmatch(r"(?:dense)?(\d+)", last, re.ASCII)
        if outputs is None:
            raise ValueError(f"the last layer must be the number of outputs in digits, such as 10, got {last!r}")
        net = Net(tuple(map(int, shape.split("x"))), [*map(tuple, layers), (Dense(int(outputs[1])),)], **settings)
        return net
    except (ValueError, OverflowError) as wrong:
        raise ValueError(f"network {text}: {wrong}") from None


def _unread(word: str) -> str:
    """A text with the fault of a layer that cannot be read, and a correct example."""
    if not word:
        return f"there is no layer before a comma. The layers are {LAYERS}"
    kind = re.match("conv|pool|avgpool|dense", word)
    if kind is None:
        return f"no layer is called {word!r}. The layers are {LAYERS}"
    return f"{word!r} must be {kind[0]} and digits, as in {kind[0]}{WRITTEN[kind[0]]}"


def from_function(build: Callable[..., Net], name: str, rng: Callable[[], np.random.Generator], **given: Any) -> Net:
    """The network that a user's own function builds, after checks of its loss, dtype and weights.

    Parameters
    ----------
    build : function that is called with the keywords loss, init, rng and dtype. It is called twice, to check that all
        its random numbers come from rng
    name : name of the function, for messages
    rng : function that returns a generator, in the same state at every call
    given : loss, init and dtype

    Raises
    ------
    ValueError : if the function fails or does not return a `Net` with the given loss and dtype, or if two calls with
        equal generators return different weights
    """
    try:
        nets = [build(rng=rng(), **given) for _ in range(2)]
    except ValueError as wrong:
        raise ValueError(f"network {name}: {wrong}") from wrong
    except Exception as failure:
        raise ValueError(
            f"network {name}, called with the keywords loss, init, rng and dtype, fails:"
            f" {type(failure).__name__}: {failure}"
        ) from failure
    for net in nets:
        if not isinstance(net, Net):
            raise ValueError(f"network {name} must return a Net, got {type(net).__name__}")
    net, twin = nets
    weights, again = ([*one.W[1:], *one.b[1:]] for one in nets)
    if net.loss is not given["loss"]:
        raise ValueError(f"network {name} must use the loss that nfa passes, got {net.loss.name}")
    if other := [w.dtype for w in weights if w.dtype != given["dtype"]]:
        asked = np.dtype(given["dtype"])
        raise ValueError(f"network {name} must use the dtype {asked} that nfa passes, got {other[0]}")
    if net is twin or not all(map(np.array_equal, weights, again)):
        raise ValueError(f"network {name} must return a new Net at every call, and the weights must depend only on rng")
    return net
