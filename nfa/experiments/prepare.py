"""From settings to the parts of a run, data, network, rule, batches, each checked before anything is written."""

import inspect
import logging
import math
import time
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from nfa import data, sampling
from nfa.data import keyed_digest
from nfa.experiments.bind import bind, fast, kernels_of, lay
from nfa.experiments.privacy_statement import Statement, describe
from nfa.experiments.rule_lookup import rule_function
from nfa.experiments.settings import Settings, check_ranges, make_optimizer
from nfa.mechanism import NoGuarantee, Release
from nfa.network import ARCHITECTURES, Net, mlp
from nfa.network.ops import ACTIVATIONS, LOSSES
from nfa.noise import AnyStreams, Streams, secure

logger = logging.getLogger(__name__)

_in_use: set[str] = set()  # kernels that this process has compiled

STEPS = 2**32  # the steps that streams of randomness tell apart


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """The parts of a run, made from its settings and checked: nothing after them asks the settings again.

    Parameters
    ----------
    net, optimizer, batches, streams : as `nfa.train.train` takes them
    rule, state : the rule with its keyword arguments bound, and what it remembers; None where it remembers nothing
    steps : int >= 1, of the whole run
    align_every : compare the rule's direction with the gradient at the steps that this divides; None for never
    privacy : what is known of it before the first step
    dataset : as loaded
    x_val, y_val, x_test, y_test : the examples held out and those of the test set, y as numbers of classes
    """

    net: Net
    rule: partial
    state: dict[str, Any] | None
    steps: int
    align_every: int | None
    privacy: Statement
    batches: Any
    optimizer: Any
    streams: AnyStreams
    dataset: data.Dataset
    x_val: np.ndarray
    y_val: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray

    @property
    def kernels(self) -> list[str]:
        """The names of the kernels of its layers, its rule and its optimizer."""
        return kernels_of(self.rule, self.net, self.optimizer)

    @property
    def mechanism(self) -> Release | None:
        """What one step releases, where that is stated and proved."""
        return self.privacy.mechanism

    def compile(self) -> float:
        """Use every kernel of the run once, so that none is compiled at the first step; the seconds that this took.

        A rule from outside is not called, for it may count its calls.
        """
        began = time.perf_counter()
        if new := sorted(set(self.kernels) - _in_use):
            logger.info("compiling kernels: %s", ", ".join(name.removeprefix("nfa.kernels.") for name in new))
            _in_use.update(new)
        if self.kernels and not self.privacy.stated_by:
            net, rng, optimizer = self.net.copy(), np.random.default_rng(0), copy(self.optimizer)
            optimizer.state = {}
            rule = self.rule if self.state is None else partial(self.rule, state={})
            with np.errstate(all="ignore"):
                try:
                    dW, db = rule(net, self.batches.x[:2], self.batches.y[:2], rng=rng)
                except ValueError:  # it needs more examples than two
                    dW, db = rule(net, *self.batches.at(1), rng=rng)
                optimizer.step(net, dW, db, 1)
        return time.perf_counter() - began

    def told_of_data(self) -> str:
        """What record and checkpoint say of the data: their digest, which for a secure run is one under a key."""
        return keyed_digest.make(self.dataset.digest) if self.privacy.secure else self.dataset.digest

    def has_data(self, told: str) -> bool:
        """Whether a record or a checkpoint has told of these data. Raises as `nfa.data.keyed_digest.fits`."""
        return keyed_digest.fits(told, self.dataset.digest) if self.privacy.secure else told == self.dataset.digest


def check(settings: Settings) -> None:
    """Raise the error that a run with these settings would end in before its first step; nothing is written.

    Raises
    ------
    ValueError : for a bad setting, in one sentence that names it, or if the rule fails on a batch of two examples
    OSError : if the data cannot be read
    """
    prepare(settings)


def prepare(settings: Settings) -> Prepared:
    """Make and check all parts of a run. Raises as `check` does."""
    check_ranges(settings)
    function = rule_function(settings.rule)
    streams = secure() if settings.secure else Streams(settings.seed)
    dataset = data.load(settings.dataset, settings.data_dir)
    net, flat = _network(settings, dataset, streams)
    kept, held = _split(settings, len(dataset.x_train), streams)
    m = len(kept) if settings.sampling == "none" else settings.batch
    bound, state = bind(function, settings, net, streams, m)

    dtype = np.dtype(settings.dtype).type
    others = np.concatenate([dataset.x_train[held], dataset.x_test])
    x, others = data.scale_pixels(dataset.x_train[kept], others, settings.pixels, dtype)
    if flat:
        x, others = x.reshape(len(x), -1), others.reshape(len(others), -1)
    if net.shape_h[net.L] == (1,):  # one output tells two classes apart
        y = dataset.y_train[kept].astype(dtype)[:, None]
    else:
        y = data.one_hot(dataset.y_train[kept], dataset.classes, dtype)

    batches = make_batches(settings, x, y, streams)
    steps = settings.epochs * batches.steps_per_epoch
    if steps >= STEPS:
        raise ValueError(
            f"epochs must give fewer than 2**32 steps in all, got {settings.epochs} of {batches.steps_per_epoch} steps"
        )
    kernels = fast(function, settings, net) if settings.kernels else {}
    statement = describe(settings, bound, net, batches)
    _try_rule(function, settings.rule, bound, net, batches, streams)
    optimizer = make_optimizer(settings, batches.steps_per_epoch)
    if settings.kernels:
        bound |= kernels
        lay(net, optimizer)
    return Prepared(
        net=net,
        rule=partial(function, **bound) if state is None else partial(function, state=state, **bound),
        state=state,
        steps=steps,
        align_every=settings.align_every,
        privacy=statement,
        batches=batches,
        optimizer=optimizer,
        streams=streams,
        dataset=dataset,
        x_val=others[: len(held)],
        y_val=dataset.y_train[held],
        x_test=others[len(held) :],
        y_test=dataset.y_test,
    )


def _network(settings: Settings, dataset: data.Dataset, streams: AnyStreams) -> tuple[Net, bool]:
    """The network, and whether it reads flattened images."""
    common = {
        "loss": LOSSES[settings.loss],
        "init": settings.init,
        "rng": streams("init"),
        "dtype": np.dtype(settings.dtype).type,
    }
    shape = dataset.x_train.shape[1:]
    if settings.architecture in ARCHITECTURES:
        if settings.activation is not None:
            raise ValueError(
                f"activation goes with an architecture given as sizes; {settings.architecture} has its own"
            )
        build = ARCHITECTURES[settings.architecture]
        if "in_shape" in inspect.signature(build).parameters:
            common["in_shape"] = shape
        net = build(**common)
    elif sizes := sizes_of(settings.architecture):
        net = mlp(sizes, ACTIVATIONS[settings.activation or "tanh"], **common)
    else:
        raise ValueError(
            f"architecture must be one of {', '.join(ARCHITECTURES)}, or sizes such as 784-512-512-10,"
            f" got {settings.architecture!r}"
        )
    flat = len(net.shape_h[0]) == 1
    if net.shape_h[0] != ((math.prod(shape),) if flat else shape):
        raise ValueError(
            f"architecture {settings.architecture} reads {math.prod(net.shape_h[0])} numbers an example,"
            f" but {dataset.name} has {math.prod(shape)}"
        )
    single = settings.loss == "sigmoid-cross-entropy" and dataset.classes == 2 and net.shape_h[net.L] == (1,)
    if net.shape_h[net.L] != (dataset.classes,) and not single:
        raise ValueError(
            f"architecture {settings.architecture} ends in {net.shape_h[net.L][0]} classes,"
            f" but {dataset.name} has {dataset.classes}"
        )
    return net, flat


def sizes_of(architecture: str) -> list[int]:
    """The layers' sizes that an architecture such as "784-512-512-10" names, input first; [] if it names none."""
    sizes = architecture.split("-")
    good = len(sizes) >= 2 and all(s.isascii() and s.isdigit() and int(s) >= 1 for s in sizes)
    return [int(s) for s in sizes] if good else []


def _split(settings: Settings, n: int, streams: AnyStreams) -> tuple[np.ndarray, np.ndarray]:
    """Record numbers of the training examples and of those held out."""
    kept, held = np.arange(n), np.arange(0)
    if settings.validation:
        try:
            kept, held = data.split_validation(n, settings.validation, streams("split"))
        except ValueError as refusal:
            raise ValueError(f"validation: {refusal}") from None
    if settings.train_examples is not None:
        if settings.train_examples > len(kept):
            raise ValueError(
                f"train_examples must be at most the {len(kept)} training examples, got {settings.train_examples}"
            )
        kept = np.sort(streams("data").choice(kept, settings.train_examples, replace=False))
    return kept, held


def make_batches(settings: Settings, x: np.ndarray, y: np.ndarray, streams: AnyStreams):
    """The sampler of the run; ValueError where it does not fit the number of records."""
    if settings.sampling == "none":
        return sampling.Full(x, y)
    if settings.tau is not None:  # sampling "partial-passes"
        return _partial_passes(settings, settings.tau, x, y, streams)
    if settings.batch > len(x):
        raise ValueError(f"batch must be at most the {len(x)} training examples, got {settings.batch}")
    if settings.sampling == "poisson":
        return sampling.Poisson(x, y, settings.batch / len(x), streams)
    if settings.N_B is not None:  # sampling "poisson-rejection"
        return sampling.PoissonRejection(x, y, settings.batch / len(x), settings.N_B, streams)
    scheme = sampling.EpochPartition if settings.sampling == "epoch-partition" else sampling.WithoutReplacement
    return scheme(x, y, settings.batch, streams)


def _partial_passes(settings: Settings, tau: float, x: np.ndarray, y: np.ndarray, streams: AnyStreams):
    """Passes over a share tau, one example a step, if they come out even: epochs / tau passes of whole epochs."""
    if settings.batch != 1:
        raise ValueError(f"batch must be 1 for sampling {settings.sampling!r}, got {settings.batch}")
    batches = sampling.PartialPasses(x, y, tau, streams)
    if sampling.number_of_passes(settings.epochs, tau) * batches.k != settings.epochs * batches.steps_per_epoch:
        raise ValueError(
            f"an epoch must have a whole number of steps, and tau = {tau:g} of {len(x)} gives it {batches.k / tau:g}"
        )
    return batches


def _try_rule(function: Callable, name: str, bound: dict, net: Net, batches, streams: AnyStreams) -> None:
    """One call on two examples, so that a rule's complaint about its settings comes before anything is written.

    A rule may need more than two: then the first batch decides.
    """
    extra: dict[str, Any] = {"state": {}} if "state" in inspect.signature(function).parameters else {}
    try:
        with np.errstate(all="ignore"):
            try:
                dW, db = function(net, batches.x[:2], batches.y[:2], rng=streams("noise", 0), **bound, **extra)
            except ValueError:
                dW, db = function(net, *batches.at(1), rng=streams("noise", 0), **bound, **extra)
        for l in range(1, net.L + 1):
            if (np.shape(dW[l]), np.shape(db[l])) != (net.W[l].shape, net.b[l].shape):
                raise ValueError(
                    f"rule {name} returns directions of shapes {np.shape(dW[l])} and {np.shape(db[l])} for layer {l},"
                    f" need {net.W[l].shape} and {net.b[l].shape}"
                )
    except (ValueError, OSError, NoGuarantee):
        raise
    except Exception as failure:
        raise ValueError(f"rule {name} fails on two examples: {type(failure).__name__}: {failure}") from failure
