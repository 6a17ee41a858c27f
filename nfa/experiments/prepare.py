"""Make the parts of a run (data, network, rule, batches) from its settings, and check them before writing any file."""

import inspect
import logging
import math
import time
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from nfa import data, rounded
from nfa.data import keyed_digest
from nfa.experiments import company, public, public_features
from nfa.experiments.bind import bind, cannot_compile, fast, in_parts, kernels_of, possible, try_rule, use_kernels
from nfa.experiments.privacy_statement import Statement, asked, resolve_noise, with_some_noise
from nfa.experiments.secure_sums import rounding_of
from nfa.experiments.settings import Settings, check_ranges, make_optimizer
from nfa.features.kind import Features
from nfa.mechanism import Release
from nfa.network import ARCHITECTURES, Conv2d, Net, mlp
from nfa.network.ops import ACTIVATIONS, LOSSES
from nfa.network.own import (
    from_function,
    from_outside,
    from_text,
    imported,
    is_text,
    refuse_layers_among_sizes,
    sizes_of,
)
from nfa.noise import AnyStreams, Streams, secure
from nfa.parts import InParts, part_size
from nfa.rules.spec import RuleSpec, spec
from nfa.sampling import ALL_RECORDS, SAMPLERS, Sampler, most_records
from nfa.train import train

logger = logging.getLogger(__name__)

_in_use: set[str] = set()  # kernels that this process has compiled

STEPS = 2**32  # a run must have fewer steps, because the random streams cannot distinguish more steps


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """The parts of a run, made from its settings and checked.

    Parameters
    ----------
    settings : settings of the run. If they request noise, the resulting noise is already a setting of the rule
    kernels_left_out : reason why the run has no kernels although its settings ask for them, or ""
    net, optimizer, batches, streams : as `nfa.train.train` takes them
    rule, state : the rule with its keyword arguments bound, and its state dict, or None if the rule keeps no state. If
        the direction is a sum over examples, the rule is called on parts of a batch
    steps : int >= 1, number of steps of the whole run
    align_every : int; None for no comparison. The rule's direction is compared with the gradient at the steps that are
        multiples of this number
    privacy : facts about the privacy of the run that are known before the first step
    dataset : the loaded data set
    sizes : the public numbers of examples
    scale : scale of the pixels
    features : features of the scaled inputs; None if the network reads the inputs themselves
    x_val, y_val, x_test, y_test : the held-out examples and the test set. y contains class numbers
    """

    settings: Settings
    kernels_left_out: str
    net: Net
    rule: partial | InParts
    state: dict[str, Any] | None
    steps: int
    align_every: int | None
    privacy: Statement
    batches: Any
    optimizer: Any
    streams: AnyStreams
    dataset: data.Dataset
    sizes: public.Sizes
    scale: data.Scale
    features: Features | None
    x_val: np.ndarray
    y_val: np.ndarray
    x_test: np.ndarray
    y_test: np.ndarray

    @property
    def kernels(self) -> list[str]:
        """The names of the kernels of the run's layers, rule and optimizer."""
        return kernels_of(self.rule, self.net, self.optimizer)

    @property
    def mechanism(self) -> Release | None:
        """The release of one step; None if no mechanism is stated and proved."""
        return self.privacy.mechanism

    @property
    def part(self) -> dict[str, int]:
        """The dictionary {"part": number of examples in a part}, or {} if batches are not processed in parts."""
        return {"part": self.rule.size} if isinstance(self.rule, InParts) else {}

    def train(self, start: int = 0, rule: Callable | None = None) -> Iterator[int]:
        """The training loop of `nfa.train.train`, after ``start`` steps.

        ``rule`` replaces the run's rule, for example by a `nfa.experiments.alignment.Watched`.

        If a batch is processed in parts, each part is copied separately.
        """
        batches = self.batches
        if isinstance(self.rule, InParts):
            batches = SimpleNamespace(scheme=batches.scheme, rate=batches.rate, at=batches.rows)
        return train(self.net, rule or self.rule, batches, self.optimizer, self.streams, start=start)

    def compile(self) -> float:
        """Use every kernel of the run once, so that the first step does not compile. Return the seconds that it takes.

        A rule from outside nfa is not called, because such a rule may count its calls.
        """
        began = time.perf_counter()
        if self.kernels_left_out:
            logger.info("the run uses plain NumPy, because kernels cannot be compiled here: %s", self.kernels_left_out)
        if new := sorted(set(self.kernels) - _in_use):
            logger.info("compiling kernels: %s", ", ".join(name.removeprefix("nfa.kernels.") for name in new))
            _in_use.update(new)
        if self.kernels and not self.privacy.stated_by:
            net, rng, optimizer = self.net.copy(), np.random.default_rng(0), copy(self.optimizer)
            optimizer.state = {}
            state: dict[str, Any] = {} if self.state is None else {"state": {}}
            with np.errstate(all="ignore"):
                try:
                    dW, db = self.rule(net, self.batches.x[:2], self.batches.y[:2], rng=rng, **state)
                except ValueError:  # the rule needs more than two examples
                    dW, db = self.rule(net, *self.batches.at(1), rng=rng, **state)
                optimizer.step(net, dW, db, 1)
        return time.perf_counter() - began

    def told_of_data(self) -> str:
        """The digest of the data for records and checkpoints. In a secure run, the digest is computed with a key."""
        return keyed_digest.make(self.dataset.digest) if self.privacy.secure else self.dataset.digest

    def has_data(self, told: str) -> bool:
        """Whether this digest from a record or a checkpoint matches the data.

        Raises as `nfa.data.keyed_digest.fits` does.
        """
        return keyed_digest.fits(told, self.dataset.digest) if self.privacy.secure else told == self.dataset.digest


def check(settings: Settings) -> None:
    """Raise the error that a run with these settings would raise before its first step. Nothing is written.

    Raises
    ------
    ValueError : for a wrong setting, with one sentence that names the setting, or if the rule fails on two examples
    NoGuarantee : for a target epsilon or a noise multiplier if no theorem covers the run
    OSError : if the data cannot be read
    """
    prepare(settings)


def prepare(settings: Settings, load: Callable[..., data.Dataset] = data.load) -> Prepared:
    """Make and check all parts of a run. Raises as `check` does.

    ``load`` is `nfa.data.load`, or a function that returns data in memory.
    """
    wanted, settings = settings, possible(settings)
    given = _before_noise(settings, load)
    rule, net, streams, dataset, bound = given.rule, given.net, given.streams, given.dataset, given.bound
    kept, held = given.kept, given.held

    dtype = np.dtype(settings.precision).type
    x_test = dataset.x_test if settings.tested else dataset.x_test[:0]
    scale = _scale(settings, dataset.x_train[kept])
    if given.features is None:
        x = scale.apply(dataset.x_train[kept], dtype, "x_train")
        others = scale.apply(np.concatenate([dataset.x_train[held], x_test]), dtype, "x_test")
    else:  # compute features in the order of the file, so that runs with different held-out examples use the same cache
        used = np.sort(np.concatenate([kept, held]))
        inputs = scale.apply(dataset.x_train[used], dtype, "x_train"), scale.apply(x_test, dtype, "x_test")
        known = dataset.records is not None
        found, of_test = (public_features.computed(given.features, one, settings, known) for one in inputs)
        x = found if np.array_equal(used, kept) else found[np.searchsorted(used, kept)]
        others = np.concatenate([found[np.searchsorted(used, held)], of_test])
    if given.flat:
        x, others = x.reshape(len(x), -1), others.reshape(len(others), math.prod(others.shape[1:]))
    if net.shape_h[net.L] == (1,):  # one output separates two classes
        y = dataset.y_train[kept].astype(dtype)[:, None]
    else:
        y = data.one_hot(dataset.y_train[kept], dataset.classes, dtype)

    batches = make_batches(settings, x, y, streams, given.sizes.N)
    kernels = fast(rule, settings, net) if settings.kernels else {}
    settings, statement = _with_its_noise(settings, given, batches)
    try_rule(rule, bound, net, batches)
    optimizer = make_optimizer(settings, batches.steps_per_epoch)
    if settings.kernels:
        bound |= kernels
        use_kernels(net, optimizer, bound, bool(settings.secure))
    elif settings.secure:
        try:
            _check_company(settings, rule, net, bound, given.m)
        except ValueError as refusal:
            remedy = (
                f"Kernels cannot be compiled here ({cannot_compile()})" if wanted.kernels else "Leave out --no-kernels"
            )
            raise ValueError(f"{refusal}. {remedy}") from None
    if settings.secure:
        bound["add_normal"] = partial(kernels.get("add_normal", rounded.add_normal), unit=statement.unit)
    state = given.state
    whole_or_parts = in_parts(rule, bound if state is None else {**bound, "state": state}, net, given.m)
    if settings.secure and not rule.from_outside:
        _check_noise_last(rule, whole_or_parts, net)
    return Prepared(
        settings=settings,
        kernels_left_out=cannot_compile() if wanted.kernels and not settings.kernels else "",
        net=net,
        rule=whole_or_parts,
        state=state,
        steps=settings.epochs * batches.steps_per_epoch,
        align_every=settings.align_every,
        privacy=statement,
        batches=batches,
        optimizer=optimizer,
        streams=streams,
        dataset=dataset,
        sizes=given.sizes,
        scale=scale,
        features=given.features,
        **_measured(dataset, held, others),
    )


def resolved(settings: Settings, load: Callable[..., data.Dataset] = data.load) -> Settings:
    """Return the settings with the requested noise as a setting of the rule, as `prepare` computes it.

    Parameters
    ----------
    settings : Settings
    load : `nfa.data.load`, or a function that caches its results, for many settings on the same data

    Raises
    ------
    ValueError, NoGuarantee, OSError : as `check`, except for errors that only occur in a call of the rule

    Notes
    -----
    If the settings request no noise, they are returned unchanged, and no data are read.

    Examples
    --------
    >>> asking = Settings(rule="dp_sgd", rule_settings={"C": 1.0}, sampling="poisson", batch=64,
    ...                   adjacency="add-remove", noise_multiplier=1.1)
    >>> resolved(asking).rule_settings
    {'C': 1.0, 'sigma': 0.0171875}
    """
    settings = possible(settings)
    if not asked(settings):
        return settings
    given = _before_noise(settings, load)
    places = given.kept[:, None]  # positions replace the examples, because only the number of examples matters
    batches = make_batches(settings, places, places, given.streams, given.sizes.N)
    return _with_its_noise(settings, given, batches)[0]


@dataclass(frozen=True, kw_only=True)
class _Given:
    """The parts of a run that determine its noise, see `_before_noise`.

    Parameters
    ----------
    rule, net, streams, dataset, sizes, features, state : as in `Prepared`, except that rule is the `RuleSpec`
    flat : whether the network reads each example as one row of values
    kept, held : positions in the file of the training examples and of the held-out examples
    m : int, the batch size
    bound : keyword arguments of the rule. If noise is requested, they contain a preliminary value of the noise
    """

    rule: RuleSpec
    net: Net
    streams: AnyStreams
    dataset: data.Dataset
    sizes: public.Sizes
    features: Features | None
    flat: bool
    kept: np.ndarray
    held: np.ndarray
    m: int
    bound: dict[str, Any]
    state: dict[str, Any] | None


def _before_noise(settings: Settings, load: Callable[..., data.Dataset]) -> _Given:
    """Make and check the parts of a run that determine its noise, for `prepare` and `resolved`."""
    check_ranges(settings)
    rule = spec(settings.rule)
    if settings.secure:
        rule.refuse_insecure()
    some = with_some_noise(rule, settings)
    streams = secure() if settings.secure else Streams(settings.seed)
    dataset = public.load(settings, load)
    sizes = public.sizes(settings, dataset.records, len(dataset.x_train))
    features = public_features.drawn(settings, dataset.x_train.shape[1:], streams)
    net, flat = _network(settings, dataset, streams, features)
    kept, held = _split(settings, len(dataset.x_train), streams)
    m = sizes.N if settings.sampling in ALL_RECORDS else settings.batch
    bound, state = bind(rule, some, net, streams, m)
    return _Given(
        rule=rule,
        net=net,
        streams=streams,
        dataset=dataset,
        sizes=sizes,
        features=features,
        flat=flat,
        kept=kept,
        held=held,
        m=m,
        bound=bound,
        state=state,
    )


def _with_its_noise(settings: Settings, given: _Given, batches: Sampler) -> tuple[Settings, Statement]:
    """Return the settings with the requested noise, and the statement about privacy.

    This function also writes the noise into ``given.bound``.
    """
    steps = settings.epochs * batches.steps_per_epoch
    if steps >= STEPS:
        raise ValueError(
            f"a run must have fewer than 2^32 steps, got {settings.epochs} epochs of"
            f" {batches.steps_per_epoch} steps: lower epochs"
        )
    counted = None
    if settings.secure:
        part, records = part_size(given.net, given.m), most_records(given.sizes.N)
        counted = rounding_of(given.rule, given.bound, given.net, part=part, records=records)
    settings, statement = resolve_noise(given.rule, settings, given.bound, given.net, batches, counted, given.sizes.N)
    public.check_adjacency(settings, statement.mechanism, given.dataset.records)
    return settings, statement


def _scale(settings: Settings, x_train: np.ndarray) -> data.Scale:
    """The scale of the pixels. Raises as `nfa.data.Scale.of`, with a message that also names the setting ``pixels``."""
    try:
        return data.Scale.of(x_train, settings.pixels)
    except ValueError as refusal:
        if settings.pixels != "unit":
            raise
        raise ValueError(f"{refusal} ({public.words_of(settings).setting('pixels', 'as-is')})") from None


def _check_noise_last(rule: RuleSpec, in_parts: partial | InParts, net: Net) -> None:
    """Raise ValueError unless the rule's last operation adds noise, exactly once, to each array that it returns."""
    if not (isinstance(in_parts, InParts) and in_parts.adds_noise_last(net, in_parts.keywords)):
        raise ValueError(
            "a secure run needs a rule that adds noise only at the end, to the sum over the batch, but rule"
            f" {rule.name}"
            " adds noise in another way"
        )


def _check_company(settings: Settings, rule: RuleSpec, net: Net, bound: dict[str, Any], m: int) -> None:
    """Raise ValueError unless NumPy computes the same pass for an example in every batch of a secure run.

    A clip in a convolution needs the norm of each example's term. NumPy does not compute each of these terms alone, see
    `nfa.network.convolution`.
    """
    if settings.opu is not None:
        raise ValueError("a secure run with an OPU needs kernels: use kernels, or leave out opu")
    if any(isinstance(map_, Conv2d) for map_ in net.map):
        raise ValueError(
            "a secure run of a network with convolutions needs kernels: use kernels, or choose a dense network"
        )
    largest = part_size(net, m) if rule.sum_over_examples else m
    how = {name: bound[name] for name in ("B", "project") if name in bound}
    company.check(net, np.dtype(settings.precision), largest, at=settings.at, **how)


def _measured(dataset: data.Dataset, held: np.ndarray, others: np.ndarray) -> dict[str, np.ndarray]:
    """The held-out examples and the test set, on which the run measures the accuracy.

    The test set is empty if the setting ``tested`` is false. If the data have no test set, we use the held-out
    examples instead.
    """
    x_held, y_held = others[: len(held)], dataset.y_train[held]
    if dataset.unsplit:
        return {"x_val": others[:0], "y_val": y_held[:0], "x_test": x_held, "y_test": y_held}
    x_test = others[len(held) :]
    return {"x_val": x_held, "y_val": y_held, "x_test": x_test, "y_test": dataset.y_test[: len(x_test)]}


def network_of(settings: Settings, streams: AnyStreams, shape: tuple[int, ...] | None = None) -> Net:
    """The network of the settings. ``shape`` is the shape of the inputs, for an architecture that does not fix it."""
    name = settings.architecture
    given = {"loss": LOSSES[settings.loss], "init": settings.init, "dtype": np.dtype(settings.precision).type}
    common = given | {"rng": streams("init")}
    own = from_outside(name)
    if settings.activation is not None and (own or name in ARCHITECTURES):
        raise ValueError(
            f"activation applies only to an architecture given as sizes or layers, but {name} has its own activation:"
            " leave out activation"
        )
    phi = ACTIVATIONS[settings.activation or "tanh"]
    if own:
        return from_function(imported(name, "network")[1], name, lambda: streams("init"), **given)
    if name in ARCHITECTURES:
        build = ARCHITECTURES[name]
        if shape is not None and "in_shape" in inspect.signature(build).parameters:
            common["in_shape"] = shape
        return build(**common)
    if is_text(name):
        return from_text(name, phi, **common)
    if sizes := sizes_of(name):
        return mlp(sizes, phi, **common)
    refuse_layers_among_sizes(name)
    raise ValueError(
        f"architecture must be one of {', '.join(ARCHITECTURES)}, sizes such as 784-512-512-10, a text such as"
        f" 1x28x28:conv16-5,pool2,dense64,10, or module:function, got {name!r}"
    )


def _network(
    settings: Settings, dataset: data.Dataset, streams: AnyStreams, features: Features | None
) -> tuple[Net, bool]:
    """The network, and whether it reads each example as one row of values."""
    name = settings.architecture
    shape = dataset.x_train.shape[1:] if features is None else features.out_shape
    net = network_of(settings, streams, shape)
    flat = len(net.shape_h[0]) == 1
    fitting = f"{math.prod(shape)}-64-{dataset.classes}"  # the numbers of inputs and classes are public
    remedy = f"give a network that fits, such as {public.words_of(settings).setting('architecture', fitting)}"
    if net.shape_h[0] != ((math.prod(shape),) if flat else shape):
        numbers = [str(math.prod(sizes)) for sizes in (net.shape_h[0], shape)]
        same = numbers[0] == numbers[1]
        reads, has = ("x".join(map(str, sizes)) for sizes in (net.shape_h[0], shape)) if same else numbers
        what = (
            ""
            if features is None
            else f" features with {public.words_of(settings).setting('features', settings.features or '')}"
        )
        raise ValueError(
            f"architecture {name} reads {reads} values per example, but {dataset.name} has {has}{what}: {remedy}"
        )
    single = settings.loss == "sigmoid-cross-entropy" and dataset.classes == 2 and net.shape_h[net.L] == (1,)
    if net.shape_h[net.L] != (dataset.classes,) and not single:
        raise ValueError(
            f"architecture {name} ends in {net.shape_h[net.L][0]} classes, but {dataset.name} has {dataset.classes}:"
            f" {remedy}"
        )
    return net, flat


def _split(settings: Settings, n: int, streams: AnyStreams) -> tuple[np.ndarray, np.ndarray]:
    """The positions of the training examples and of the held-out examples in the file.

    The positions depend only on n, the settings and the seed.
    """
    kept, held = np.arange(n), np.arange(0)
    if settings.validation:
        try:
            kept, held = data.split_validation(n, settings.validation, streams("split"))
        except ValueError:
            raise ValueError(
                f"validation must leave examples to train on and examples to hold out, got {settings.validation}"
            ) from None
    if settings.train_examples is not None:
        if settings.train_examples > len(kept):
            raise ValueError(
                f"train_examples must be at most {len(kept)}, the number of examples for training, got"
                f" {settings.train_examples}"
            )
        kept = np.sort(streams("data").choice(kept, settings.train_examples, replace=False))
    return kept, held


def make_batches(settings: Settings, x: np.ndarray, y: np.ndarray, streams: AnyStreams, N: int) -> Sampler:
    """The sampler of the run. N is the public number of examples. Raises ValueError if the sampler does not fit N."""
    sampler = SAMPLERS[settings.sampling]
    options = {name: getattr(settings, name) for name in sampler.options}
    if not sampler.reads_n:
        options["records"] = N
    return sampler.of_run(x, y, streams, batch=settings.batch, epochs=settings.epochs, **options)
