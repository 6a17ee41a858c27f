"""The settings of one training run: everything that its numbers depend on, as JSON values."""

import os
from dataclasses import asdict, dataclass, field, fields
from typing import Annotated, Any, Self

from nfa.experiments.declaration import (
    AT_LEAST_1,
    FINITE,
    POSITIVE,
    PROBABILITY,
    SEED,
    SHARE,
    SHARE_OF_STEPS,
    TRUE_OR_FALSE,
    OneOf,
    Setting,
    check,
    declared,
    documented,
    named_features,
    parameters,
)


@documented
@dataclass(frozen=True, kw_only=True)
class Settings:
    """One training run, completely described: equal settings and data give bitwise identical results on one machine.

    Each field is declared only here. Its check and its option of `nfa train` follow from this declaration. The first
    sentence of a meaning is the help of the option.

    Parameters
    ----------
    rule : Rule of nfa.rules or, for your own rule, module:function.
    rule_settings : Setting of the rule, such as sigma=0.01. All settings together are the keyword arguments of the
        rule. Their values are JSON values.
    dataset : Data set: a name of `nfa data list`, or your own .npz or .csv file. See `nfa.data.load`.
    test : Test set of your own .npz or .csv file, in another such file. A table needs the columns of the training data.
        The test set of a secure run must be public. See `nfa.data.load`.
    classes : Classes of your own file: their names a,b,c, or a number K for the labels 0 to K-1. Their order is that
        of the columns. A run that is counted or secure needs this setting. A data set of the registry declares its own
        classes. See `nfa.data.own_data.class_names`.
    records : Public number of training records of your own file. The normaliser of the rule, the sampling rate and the
        number of steps follow from this number. A run that is counted under add-remove needs the number, and nfa never
        compares it with the file. Under another adjacency it must be the number in the file. See
        `nfa.experiments.public`.
    data_dir : Folder that is searched for data before NFA_DATA_HOME and the cache. Runs with different folders count
        as the same run.
    train_examples : Number of training examples to use, drawn at random.
    validation : Share of the training set held out.
    pixels : Scale of the pixels: standard (mean 0, deviation 1), unit (0 to 1) or as-is. Mean and deviation are those
        of the training pixels. Each feature of a table and each channel of images has its own mean and deviation.
    features : Frozen public features of the inputs, on which the network is trained: {nfa.features.kind.FORMS}. These
        features are computed from the scaled pixels, once, before the first step. The features of an example depend on
        no other example, so they change no epsilon. Random layers have the laws of --init and --activation.
    architecture : Network: a name from the papers, sizes (784-64-10), layers (1x28x28:conv16-5,pool2,dense64,10), or
        module:function for your own network. See `nfa.network.ARCHITECTURES` and `nfa.network.own`.
    activation : Activation of the hidden layers, for a network given as sizes or layers.
    init : Law of the first weights. A name in `nfa.network.INITS`.
    first_weights : Change of the first weights: aligned turns these weights towards the feedback B.
    loss : Loss function.
    feedback_law : Law of the feedback, for rules with B or V: normal, uniform, spectral or orthogonal. See
        `nfa.feedback.draw`.
    feedback_scale : Scale of the feedback, for rules with B or V. See `nfa.feedback.draw`.
    at : Place where B e enters a pooled layer: h or z. For rules that take B.
    opu : Simulated OPUs that project the error: ideal, or KEY=VALUE such as bits=8. The keys are parameters of
        `nfa.feedback.opu.OPU` and of its `Camera`. In rules that take project, the OPUs replace the matrices of B. They
        use feedback_scale and need the "normal" law. {} is an ideal OPU, and None means matrices.
    stored : Store the feedback matrices, or compute these matrices again at each use. This setting is for rules that
        take B and project, with the "normal" law. The computed matrices differ from the stored ones, but they are also
        a function of the seed. The medium of an OPU has its own parameter of this name.
    align_every : Number of steps between comparisons of the direction with the gradient. If this number divides a step,
        the rule's direction is compared with the gradient at this step.
    sampling : Sampling scheme of the batches: {nfa.sampling.SAMPLERS}.
    batch : Batch size; {nfa.sampling.BATCH_IS}.
    N_B : Smallest size of a batch, with poisson-rejection. No other sampling has this setting.
    tau : Share of the data in a pass, with partial-passes. The data are the training examples. No other sampling has
        this setting.
    epochs : Number of passes over the training examples. If each step draws a new batch, this is the expected number.
    optimizer : Optimizer: sgd or adam.
    lr : Learning rate.
    lr_every : Number of epochs between two multiplications of the learning rate by --lr-factor.
    lr_factor : Factor of the learning rate, with --lr-every.
    momentum : Momentum of sgd.
    adam_eps : Constant added to the square root in Adam's denominator.
    average : Share of the steps, at the end of the run, whose weights are averaged. The mean of the weights after each
        of these steps is evaluated, kept and used for predictions. Training goes on from the last weights. The mean is
        post-processing, so it changes no epsilon.
    adjacency : Difference between neighbouring data sets, to count epsilon: {nfa.mechanism.ADJACENCIES}. The record has
        this epsilon. With None, no epsilon is counted.
    delta : Delta at which epsilon is counted, between 0 and 1.
    conversion : Conversion to (epsilon, delta): mironov2017 or canonne2020. The items of the papers use mironov2017.
        Runs with different conversions count as the same run, because only epsilon differs.
    target_epsilon : Largest allowed epsilon, which determines the noise of the rule (sigma, the standard deviation on
        the mean). The target is for all steps of an uninterrupted run. The record has the noise. Sigma of pdfa is the
        standard deviation on a record's errors. The noise of pdfa_isotropic is s, and that of dp_ulr_sound is sigma_0.
    noise_multiplier : Standard deviation of the noise divided by the rule's sensitivity, instead of a target epsilon.
    seed : Seed of all randomness. Runs of all rules with the same seed have the same initialisation, feedback and
        batches.
    secure : Draw batches and noise under a key of the operating system instead of a seed. nfa keeps this key nowhere.
        tutorials/threat_model.md explains the promise of such a run, and `nfa.noise.secure` the draws. The record has a
        digest of the data under the user's key, see `nfa.data.keyed_digest`. Leave the seed at its default, because a
        secure run has no seed. The results of an example are bitwise identical in every batch, see `nfa.kernels.rows`.
    dtype : Format of the numbers in the run: float32 or float64. A secure run needs float64. Its sensitivity includes
        the effect of rounding, see `nfa.sensitivity.rounding`.
    threads : Threads that share the examples of a step. The results are bitwise identical for any number of threads, so
        a run can continue with another number. See `nfa.parts`.
    kernels : Compiled noise, clips and convolutions, or plain NumPy. A secure run refuses NumPy if NumPy rounds the
        results of an example differently in another batch. See `nfa.experiments.company`. A run has every kernel of
        `nfa.kernels` that fits. Kernels compute the same as NumPy, up to rounding. They draw other values from the same
        distribution, so a run cannot continue with the other choice.
    """

    rule: str = "dfa"
    rule_settings: Annotated[
        dict[str, Any], Setting(range=parameters, option="--set", metavar="KEY=VALUE", unset="")
    ] = field(default_factory=dict)
    dataset: str = "fashion-mnist-small"
    test: Annotated[str | None, Setting(unset="that of the file", metavar="FILE")] = None
    classes: Annotated[str | None, Setting(unset="the labels that occur", metavar="NAMES")] = None
    records: Annotated[int | None, Setting(range=AT_LEAST_1, unset="the number in the file")] = None
    data_dir: Annotated[str | None, Setting(unset="")] = None
    train_examples: Annotated[int | None, Setting(range=AT_LEAST_1, unset="all", null=True)] = None
    validation: Annotated[float, Setting(range=SHARE)] = 0.0
    pixels: Annotated[str, Setting(range=OneOf(("standard", "unit", "as-is")))] = "standard"
    features: Annotated[str | None, Setting(range=named_features, metavar="KIND")] = None
    architecture: Annotated[str, Setting(option="--net --architecture")] = "ohana2021"
    activation: Annotated[str | None, Setting(range=OneOf("nfa.network.ops.ACTIVATIONS"), unset="tanh", null=True)] = (
        None
    )
    init: str = "uniform-fan-in"
    first_weights: Annotated[str | None, Setting(range=OneOf(("aligned",)), unset="as drawn")] = None
    loss: Annotated[str, Setting(range=OneOf("nfa.network.ops.LOSSES"))] = "softmax-cross-entropy"
    feedback_law: str = "normal"
    feedback_scale: Annotated[float, Setting(range=FINITE)] = 0.05
    at: str = "h"
    opu: Annotated[dict[str, Any] | None, Setting(range=parameters, empty="ideal")] = None
    stored: Annotated[bool, Setting(range=TRUE_OR_FALSE)] = True
    align_every: Annotated[int | None, Setting(range=AT_LEAST_1, unset="never")] = None
    sampling: Annotated[str, Setting(range=OneOf("nfa.sampling.SAMPLERS"))] = "epoch-partition"
    batch: Annotated[int, Setting(range=AT_LEAST_1)] = 32
    N_B: Annotated[int | None, Setting(range=AT_LEAST_1)] = None
    tau: float | None = None
    epochs: Annotated[int, Setting(range=AT_LEAST_1)] = 15
    optimizer: Annotated[str, Setting(range=OneOf(("sgd", "adam")))] = "sgd"
    lr: Annotated[float, Setting(range=FINITE)] = 0.01
    lr_every: Annotated[int | None, Setting(range=AT_LEAST_1, unset="never")] = None
    lr_factor: Annotated[float, Setting(range=POSITIVE)] = 1.0
    momentum: Annotated[float, Setting(range=FINITE)] = 0.9
    adam_eps: Annotated[float | None, Setting(range=POSITIVE, unset="1e-8")] = None
    average: Annotated[float | None, Setting(range=SHARE_OF_STEPS)] = None
    adjacency: Annotated[str | None, Setting(range=OneOf("nfa.mechanism.ADJACENCIES"))] = None
    delta: Annotated[float | None, Setting(range=PROBABILITY)] = None
    conversion: Annotated[
        str | None, Setting(range=OneOf("nfa.privacy.rdp.CONVERSIONS"), unset="the smallest epsilon that is proved")
    ] = None
    target_epsilon: Annotated[float | None, Setting(range=POSITIVE)] = None
    noise_multiplier: Annotated[float | None, Setting(range=POSITIVE)] = None
    seed: Annotated[int, Setting(range=SEED)] = 1
    secure: Annotated[bool | None, Setting(range=TRUE_OR_FALSE, unset="")] = None
    dtype: Annotated[
        str | None, Setting(range=OneOf(("float32", "float64")), unset="float32, or float64 for a secure run")
    ] = None
    threads: Annotated[int, Setting(range=AT_LEAST_1)] = 1
    kernels: Annotated[bool, Setting(range=TRUE_OR_FALSE)] = True

    def __post_init__(self) -> None:
        if self.dtype == self._own_dtype:  # equal runs have equal settings
            object.__setattr__(self, "dtype", None)

    @property
    def _own_dtype(self) -> str:
        """The format that the run takes where none is asked for."""
        return "float64" if self.secure else "float32"

    @property
    def precision(self) -> str:
        """The format of all numbers of the run, "float32" or "float64"."""
        return self.dtype or self._own_dtype

    def to_json(self) -> dict[str, Any]:
        """What identifies the run, as JSON values: all but the data's folder, the conversion and what is not used."""
        unused = {"data_dir", "threads"} if self.target_epsilon else {"data_dir", "threads", "conversion"}
        values = asdict(self) | {"dtype": self.precision}
        without_use = {
            "stored": self.stored,
            "seed": self.secure,
            "secure": not self.secure,
            "lr_every": self.lr_every is None,
            "lr_factor": self.lr_every is None,
        } | {o.name: values[o.name] is None for o in declared(type(self)) if o.optional and not o.setting.null}
        unused |= {name for name, idle in without_use.items() if idle} | set(self.without_effect())
        kept = {name: value for name, value in values.items() if name not in unused}
        files = {name: os.path.basename(kept[name]) for name in ("dataset", "test") if name in kept}
        return kept | files  # the record holds the digest of the data, not their place

    def without_effect(self) -> dict[str, str]:
        """The settings that no other value would change the run by, and why.

        >>> Settings(rule="bp", optimizer="adam").without_effect()["momentum"]
        'optimizer adam has no momentum'
        """
        from nfa.rules.spec import spec
        from nfa.sampling import ALL_RECORDS

        rule, why = spec(self.rule), dict[str, str]()
        if not rule.uses_feedback:
            why |= dict.fromkeys(("feedback_law", "feedback_scale"), f"rule {self.rule} takes no feedback")
        if "B" not in rule.given:
            why |= dict.fromkeys(("at", "stored"), f"rule {self.rule} takes no feedback B")
        if self.optimizer != "sgd":
            why["momentum"] = f"optimizer {self.optimizer} has no momentum"
        if self.sampling in ALL_RECORDS:
            why["batch"] = f"sampling {self.sampling} takes all records in every step"
        return why

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """The settings from all or some of the values of `to_json`. Raise ValueError for an unknown name."""
        known = [f.name for f in fields(cls)]
        if unknown := [name for name in values if name not in known]:
            raise ValueError(f"{unknown[0]!r} is not a setting of a run. The settings are {', '.join(known)}")
        return cls(**values)


def check_ranges(settings: Settings) -> None:
    """Raise a ValueError for a setting that is wrong whatever the data are."""
    from nfa.sampling import SAMPLERS

    check(settings)
    for scheme, sampler in SAMPLERS.items():
        for option, meaning in sampler.options.items():
            value = getattr(settings, option)
            if settings.sampling == scheme and value is None:
                typed = f"--{option.lower().replace('_', '-')}"
                raise ValueError(f"sampling {scheme!r} needs {option}, {meaning}: give {typed}")
            if settings.sampling != scheme and value is not None:
                raise ValueError(
                    f"{option}, {meaning}, is for sampling {scheme!r} alone, got {value!r} with sampling"
                    f" {settings.sampling!r}: leave out {option}"
                )
    if settings.adam_eps is not None and settings.optimizer != "adam":
        raise ValueError(
            f"adam_eps is for the optimizer adam, got {settings.adam_eps!r} with {settings.optimizer!r}: leave out"
            " adam_eps"
        )
    if settings.secure and settings.seed != Settings.seed:
        raise ValueError(f"a secure run has no seed, got seed {settings.seed}: leave out seed or secure")
    if settings.secure and settings.precision != "float64":
        raise ValueError(f"a secure run computes in float64, got dtype {settings.dtype}: leave out dtype")
    make_optimizer(settings)


def make_optimizer(settings: Settings, steps_per_epoch: int = 1):
    """The optimizer of the run; ValueError if its settings are out of range."""
    from nfa import optim

    lr: optim.LearningRate = settings.lr
    if settings.lr_every is None:
        if settings.lr_factor != 1:
            raise ValueError(f"lr_factor {settings.lr_factor} needs lr_every, the epochs after which it applies")
    else:
        lr = optim.step_decay(settings.lr, settings.lr_factor, settings.lr_every * steps_per_epoch)
    own: dict[str, Any] = {} if settings.adam_eps is None else {"eps": settings.adam_eps}
    return optim.SGD(lr, settings.momentum) if settings.optimizer == "sgd" else optim.Adam(lr, **own)
