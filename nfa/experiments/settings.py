"""The settings of one training run: everything that its numbers depend on, as JSON values."""

import hashlib
import importlib
import inspect
import json
import math
import os
import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

import numpy as np

from nfa import optim, sampling
from nfa.mechanism import ADJACENCIES
from nfa.network.ops import ACTIVATIONS, LOSSES

PIXELS = ("standard", "unit", "as-is")
DTYPES = {"float32": np.float32, "float64": np.float64}
OPTIMIZERS = ("sgd", "adam")
# No part of a run that does not set them.
_ABSENT = ("opu", "align_every", "adjacency", "delta", "N_B", "tau", "secure")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One training run, completely described: equal settings and data give equal results, bit for bit, on one machine.

    Parameters
    ----------
    rule : name of a file in `nfa.rules`, or "module:function" for your own
    rule_settings : the rule's own keyword arguments, JSON values
    dataset : name of a data set (see `nfa.data.load`), or the path of an .npz file
    data_dir : folder where data sets are looked for first; no part of a run's identity
    train_examples : how many training examples to use, drawn at random; None for all
    validation : share of the training set held out, in [0, 1)
    pixels : "standard" (mean 0, standard deviation 1 over the training pixels), "unit" (in [0, 1]) or "as-is"
    architecture : name in `nfa.network.ARCHITECTURES`, or sizes such as "784-512-512-10"
    activation : name in `nfa.network.ops.ACTIVATIONS`, for an architecture given as sizes; None for tanh
    init : name in `nfa.network.INITS`
    loss : name in `nfa.network.ops.LOSSES`
    feedback_law, feedback_scale : of `nfa.feedback.draw`, for rules that take B
    at : "h" or "z", where B[l] e enters a layer with pooling, for rules that take B
    opu : parameters of `nfa.feedback.opu.OPU` and of its `Camera`, for rules that take project: simulated OPUs in
        place of the matrices of B, with feedback_scale and the "normal" law; {} for an ideal one, None for matrices
    align_every : compare the rule's direction with the gradient at the steps that this divides; None for never
    sampling : one of `nfa.sampling.SCHEMES`, or "poisson-rejection", or "partial-passes"
    batch : batch size; under "poisson" the expected one, and under "poisson-rejection" that before rejection; not used
        under "none"
    N_B : least size of a batch, for "poisson-rejection" alone
    tau : share of the training examples that a pass takes, for "partial-passes" alone
    epochs : passes over the training examples (in expectation, where batches are drawn afresh at every step)
    optimizer : "sgd" or "adam"
    lr : step size
    lr_every, lr_factor : after every so many epochs lr is multiplied by the factor; None for a constant lr
    momentum : of "sgd"
    adjacency : one of `nfa.mechanism.ADJACENCIES`, for which the record counts what the run spends; None for no count
    delta : in (0, 1), at which it is counted
    seed : of all randomness; runs with one seed share initialisation, feedback and batches whatever their rule
    secure : True for batches and noise under a key of the operating system (see `nfa.noise.secure`) in place of the
        seed, which must then be left at its default and is no part of the run; None or False otherwise
    dtype : "float32" or "float64"
    threads : of the linear algebra library and of kernels; sums can differ in the last bit between numbers of threads
    kernels : for rules that take weigh: the compiled one where there is one for the network, whose noise is its own;
        False for NumPy everywhere
    """

    rule: str = "dfa"
    rule_settings: dict[str, Any] = field(default_factory=dict)
    dataset: str = "fashion-mnist-small"
    data_dir: str | None = None
    train_examples: int | None = None
    validation: float = 0.0
    pixels: str = "standard"
    architecture: str = "ohana2021"
    activation: str | None = None
    init: str = "uniform-fan-in"
    loss: str = "softmax-cross-entropy"
    feedback_law: str = "normal"
    feedback_scale: float = 0.05
    at: str = "h"
    opu: dict[str, Any] | None = None
    align_every: int | None = None
    sampling: str = "epoch-partition"
    batch: int = 32
    N_B: int | None = None
    tau: float | None = None
    epochs: int = 15
    optimizer: str = "sgd"
    lr: float = 0.01
    lr_every: int | None = None
    lr_factor: float = 1.0
    momentum: float = 0.9
    adjacency: str | None = None
    delta: float | None = None
    seed: int = 1
    secure: bool | None = None
    dtype: str = "float32"
    threads: int = 1
    kernels: bool = True

    def to_json(self) -> dict[str, Any]:
        """What identifies the run, as JSON values: all but the folder of the data and what this run does not use."""
        unused = {"data_dir"}
        taken = inspect.signature(rule_function(self.rule)).parameters
        if "B" not in taken:
            unused |= {"feedback_law", "feedback_scale", "at"}
        if "weigh" not in taken:
            unused.add("kernels")
        unused |= {name for name in _ABSENT if getattr(self, name) is None}
        if self.secure:
            unused |= {"seed", "kernels"}
        else:
            unused.add("secure")
        if self.lr_every is None:
            unused |= {"lr_every", "lr_factor"}
        if self.optimizer != "sgd":
            unused.add("momentum")
        if self.sampling == "none":
            unused.add("batch")
        kept = {name: value for name, value in asdict(self).items() if name not in unused}
        return kept | {"dataset": os.path.basename(self.dataset)}  # the record holds the file's digest, not its place

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Settings from `to_json`'s answer or any part of it; ValueError for a name that is no setting."""
        known = [f.name for f in fields(cls)]
        if unknown := [name for name in values if name not in known]:
            raise ValueError(f"{unknown[0]!r} is no setting of a run; settings are {', '.join(known)}")
        return cls(**values)


def rules() -> list[str]:
    """The names of the rules that nfa brings."""
    return sorted(module.name for module in pkgutil.iter_modules(importlib.import_module("nfa.rules").__path__))


def rule_function(name: str) -> Callable:
    """The rule of this name: ``nfa.rules.NAME.NAME``, or the function of "module:function".

    Raises
    ------
    ValueError : if there is none; one's own module is looked for in the current folder too
    """
    module_name, colon, function_name = name.partition(":")
    if not colon:
        if name not in rules():
            raise ValueError(f"rule must be one of {', '.join(rules())}, or module:function, got {name!r}")
        module_name, function_name = f"nfa.rules.{name}", name
    with _current_folder_first() if colon else nullcontext():
        try:
            function = getattr(importlib.import_module(module_name), function_name)
        except Exception as failure:
            raise ValueError(f"rule {name!r} cannot be imported: {type(failure).__name__}: {failure}") from failure
    if not callable(function):
        raise ValueError(f"rule {name!r} must name a function, got {type(function).__name__}")
    return function


def rule_digest(name: str) -> str | None:
    """A sha256 of the file that one's own rule stands in, so that a run is not taken for one of a rule before it.

    None for a rule that nfa brings, or where there is no file. What that file imports is not looked at.
    """
    module, colon, _ = name.partition(":")
    if not colon:
        return None
    rule_function(name)
    file = getattr(sys.modules[module], "__file__", None)
    return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file and os.path.isfile(file) else None


@contextmanager
def _current_folder_first() -> Iterator[None]:
    here = os.getcwd()
    sys.path.insert(0, here)
    try:
        yield
    finally:
        sys.path.remove(here)


def check_ranges(settings: Settings) -> None:
    """Raise a ValueError for a setting that is wrong whatever the data are."""
    for name, value, allowed in (
        ("dtype", settings.dtype, tuple(DTYPES)),
        ("optimizer", settings.optimizer, OPTIMIZERS),
        ("sampling", settings.sampling, (*sampling.SCHEMES, sampling.REJECTION, sampling.PARTIAL)),
        ("pixels", settings.pixels, PIXELS),
        ("loss", settings.loss, tuple(LOSSES)),
        ("activation", settings.activation, (None, *ACTIVATIONS)),
        ("adjacency", settings.adjacency, (None, *ADJACENCIES)),
    ):
        if value not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(map(str, filter(None, allowed)))}, got {value!r}")
    for name in ("batch", "epochs", "threads", "train_examples", "align_every", "lr_every", "N_B"):
        value = getattr(settings, name)
        if value is not None and not (isinstance(value, int) and value >= 1):
            raise ValueError(f"{name} must be a whole number >= 1, got {value!r}")
    if (settings.sampling == sampling.REJECTION) != (settings.N_B is not None):
        raise ValueError(
            f"N_B, the least size of a batch, goes with sampling {sampling.REJECTION!r} and no other,"
            f" got {settings.N_B!r} for {settings.sampling!r}"
        )
    if (settings.sampling == sampling.PARTIAL) != (settings.tau is not None):
        raise ValueError(
            f"tau, the share of the examples that a pass takes, goes with sampling {sampling.PARTIAL!r} and no other,"
            f" got {settings.tau!r} for {settings.sampling!r}"
        )
    for name in ("validation", "feedback_scale", "lr", "lr_factor", "momentum"):
        value = getattr(settings, name)
        if not (isinstance(value, int | float) and math.isfinite(value)):
            raise ValueError(f"{name} must be a finite number, got {value!r}")
    if settings.lr_factor <= 0:
        raise ValueError(f"lr_factor must be positive, got {settings.lr_factor!r}")
    if not 0 <= settings.validation < 1:
        raise ValueError(f"validation must be a share in [0, 1), got {settings.validation!r}")
    if settings.delta is not None and not (isinstance(settings.delta, float) and 0 < settings.delta < 1):
        raise ValueError(f"delta must be a number between 0 and 1, got {settings.delta!r}")
    if not isinstance(settings.seed, int):
        raise ValueError(f"seed must be a whole number >= 0, got {settings.seed!r}")
    if not isinstance(settings.secure, bool | None):
        raise ValueError(f"secure must be true or false, got {settings.secure!r}")
    if settings.secure and settings.seed != Settings.seed:
        raise ValueError(f"a secure run has no seed, got seed {settings.seed}: leave out one of the two")
    if not isinstance(settings.kernels, bool):
        raise ValueError(f"kernels must be true or false, got {settings.kernels!r}")
    if not isinstance(settings.opu, dict | None):
        raise ValueError(f"opu must name parameters, got {settings.opu!r}")
    for name in ("rule_settings", "opu"):
        try:
            json.dumps(getattr(settings, name), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} must be JSON values: {error}") from None
    make_optimizer(settings)


def make_optimizer(settings: Settings, steps_per_epoch: int = 1):
    """The optimizer of the run; ValueError if its settings are out of range."""
    lr: optim.StepSize = settings.lr
    if settings.lr_every is None:
        if settings.lr_factor != 1:
            raise ValueError(f"lr_factor {settings.lr_factor} needs lr_every, the epochs after which it applies")
    else:
        lr = optim.step_decay(settings.lr, settings.lr_factor, settings.lr_every * steps_per_epoch)
    return optim.SGD(lr, settings.momentum) if settings.optimizer == "sgd" else optim.Adam(lr)
