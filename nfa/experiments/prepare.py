"""From settings to the parts of a run, data, network, rule, batches, each checked before anything is written."""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from nfa import data, feedback, sampling
from nfa.experiments import privacy_statement
from nfa.experiments.rule_lookup import rule_function
from nfa.experiments.settings import Settings, check_ranges, make_optimizer
from nfa.feedback.camera import Camera
from nfa.feedback.opu import OPU, optical
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.network import ARCHITECTURES, Net, mlp
from nfa.network.ops import ACTIVATIONS, LOSSES
from nfa.noise import AnyStreams, Streams, secure

# What a run gives a rule by itself; everything else that a rule takes is one of its own settings.
GIVEN = ("net", "x", "y", "rng", "B", "at", "project", "weigh", "add_normal", "state")
STEPS = 2**32  # the steps that streams of randomness tell apart
OPU_PARAMETERS = ("n_anchor", "anchor_shot", "noise_std")
CAMERA_PARAMETERS = tuple(f.name for f in fields(Camera))


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """The parts of a run, made from its settings and checked."""

    net: Net
    rule: partial
    state: dict[str, Any] | None
    mechanism: Mechanism | None
    privacy_statement: dict[str, Any]
    batches: Any
    optimizer: Any
    streams: AnyStreams
    dataset: data.Dataset
    x_val: np.ndarray
    y_val: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray


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

    batches = _batches(settings, x, y, streams)
    if settings.epochs * batches.steps_per_epoch >= STEPS:
        raise ValueError(
            f"epochs must give fewer than 2**32 steps in all, got {settings.epochs} of {batches.steps_per_epoch} steps"
        )
    mechanism, said = privacy_statement.describe(function, settings, bound, net, batches)
    _try_rule(function, settings.rule, bound, net, batches, streams)
    return Prepared(
        net=net,
        rule=partial(function, **bound) if state is None else partial(function, state=state, **bound),
        state=state,
        mechanism=mechanism,
        privacy=said,
        batches=batches,
        optimizer=make_optimizer(settings, batches.steps_per_epoch),
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
    else:
        sizes = settings.architecture.split("-")
        if len(sizes) < 2 or not all(s.isascii() and s.isdigit() and int(s) >= 1 for s in sizes):
            raise ValueError(
                f"architecture must be one of {', '.join(ARCHITECTURES)}, or sizes such as 784-512-512-10,"
                f" got {settings.architecture!r}"
            )
        net = mlp([int(s) for s in sizes], ACTIVATIONS[settings.activation or "tanh"], **common)
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


def bind(function: Callable, settings: Settings, net: Net, streams: AnyStreams, m: int) -> tuple[dict, dict | None]:
    """The keyword arguments of the rule, m being the size of a batch, and the state dict of a rule that remembers."""
    taken = inspect.signature(function).parameters
    own = [name for name in taken if name not in GIVEN]
    for name, value in settings.rule_settings.items():
        if name not in own:
            has = f"it has {', '.join(own)}" if own else "it has none"
            raise ValueError(f"rule {settings.rule} has no setting {name!r}; {has}")
        _check_type(name, value, taken[name].annotation)
    bound = dict(settings.rule_settings)
    if settings.opu is not None:
        if "project" not in taken:
            raise ValueError(f"rule {settings.rule} projects nothing, so it takes no OPU")
        bound["B"], bound["project"] = _opus(settings, net, streams("feedback")), optical
    elif "B" in taken:
        bound["B"] = feedback.draw(
            net, law=settings.feedback_law, scale=settings.feedback_scale, rng=streams("feedback"), at=settings.at
        )
    if "at" in taken:
        bound["at"] = settings.at
    if "weigh" in taken and settings.kernels and not settings.secure:  # its noise is not a cipher's
        bound |= _compiled(net)
    # A public normaliser, where the rule insists on one or where the size of a batch is drawn.
    if "m" in taken and (taken["m"].default is inspect.Parameter.empty or settings.sampling.startswith("poisson")):
        bound.setdefault("m", m)
    if "N_B" in taken and settings.N_B is not None:
        bound.setdefault("N_B", settings.N_B)
    for name in own:
        if taken[name].default is inspect.Parameter.empty and taken[name].kind is inspect.Parameter.KEYWORD_ONLY:
            if name not in bound:
                raise ValueError(f"rule {settings.rule} needs a value for its setting {name!r}")
    return bound, {} if "state" in taken else None


def _compiled(net: Net) -> dict[str, Callable]:
    """The kernel for a rule that takes weigh, if it can run this network."""
    try:
        from nfa.kernels import ulr as kernel  # here, for numba takes a while to import
    except ImportError as missing:
        raise OSError(
            f"kernels need numba, which cannot be imported ({missing}); kernels=False does without"
        ) from missing
    return {"weigh": kernel.weigh} if kernel.fits(net) else {}


def kernels_of(rule: partial) -> list[str]:
    """The names of the kernels that a run's rule was given."""
    given = rule.keywords.values()
    names = [f"{getattr(v, '__module__', '')}.{getattr(v, '__name__', '')}" for v in given]
    return [name for name in names if name.startswith("nfa.kernels.")]


def _check_type(name: str, value: Any, annotation: Any) -> None:
    """Hold a setting against the rule's signature, where that asks for a number or for true or false."""
    if annotation is bool and not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, got {value!r}")
    if annotation in (int, float) and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ValueError(f"{name} must be a number, got {value!r}")
    if annotation in (int | None, float | None) and value is not None:
        _check_type(name, value, float)


def _opus(settings: Settings, net: Net, rng: np.random.Generator) -> list:
    """One simulated OPU a hidden layer, layer 1 drawn first, with the parameters that the settings name."""
    given = dict(settings.opu or {})
    for name, value in given.items():
        if name not in OPU_PARAMETERS + CAMERA_PARAMETERS:
            known = ", ".join(OPU_PARAMETERS + CAMERA_PARAMETERS)
            raise ValueError(f"an OPU has no parameter {name!r}; it has {known}")
        if not isinstance(value, int | float | None):
            raise ValueError(f"the OPU's {name} must be a number, got {value!r}")
    if settings.feedback_law != "normal":
        raise ValueError(f"the feedback of an OPU is normal: feedback_law {settings.feedback_law!r} needs matrices")
    camera = Camera(**{name: given.pop(name) for name in CAMERA_PARAMETERS if name in given})
    shapes = net.shape_h if settings.at == "h" else net.shape_z
    opus: list = [None] * (net.L + 1)
    for l in range(1, net.L):
        size = math.prod(shapes[l])
        opus[l] = OPU(shapes[net.L][0], size, rng=rng, scale=settings.feedback_scale, camera=camera, **given)
    return opus


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


def _batches(settings: Settings, x: np.ndarray, y: np.ndarray, streams: AnyStreams):
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
