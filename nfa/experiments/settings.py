"""The settings of one training run, as JSON values. The results of the run depend only on these settings."""

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
    """The settings of one training run. Equal settings and data give bitwise identical results on one machine.

    Each setting is declared only here. nfa derives the check of a setting and the option of `nfa train` from the field
    of the setting. The first sentence of a description below is the help text of the option.

    Parameters
    ----------
    rule : Rule of `nfa rules` or, for your own rule, module:function.
    rule_settings : Setting of the rule, such as sigma=0.01. The rule gets all these settings as keyword arguments. Each
        value is a JSON value.
    dataset : Data set: a name of `nfa data list`, or your own .npz or .csv file. See `nfa.data.load`.
    test : File (.npz or .csv) with the test set, if the training data are your own file. A .csv file needs the
        columns of the training data. The test set of a secure run must be public. See `nfa.data.load`.
    classes : Classes of your own file: the names a,b,c, or a number K for the labels 0 to K-1. The order of the names
        is the order of the network's outputs. You must give the classes for a secure run, or if nfa computes an
        epsilon. A data set of `nfa data list` declares its own classes. See `nfa.data.own_data.class_names`.
    records : Public number of training records of your own file. The normaliser of the rule, the sampling rate and the
        number of steps follow from this number. If nfa computes an epsilon under add-remove, you must give this number,
        and nfa does not compare the number with the file. Under every other adjacency, this number must equal
        the number of records in the file. See `nfa.experiments.public`.
    data_dir : Folder in which nfa searches for data first, before NFA_DATA_HOME and the cache. The folder is not one of
        the settings that identify a run, because the place of the data does not change the results.
    train_examples : Number of training examples to use, drawn at random.
    validation : Share of the training set that is held out.
    tested : Compute the accuracy on the test set. With False, the run computes nothing from test examples. Use False to
        search for settings, because the settings must not depend on test examples.
    pixels : Scale of the pixels: standard (mean 0, standard deviation 1), unit (0 to 1) or as-is. For standard, nfa
        computes the mean and the standard deviation from the training pixels, for each feature of a table or each
        channel of images.
    features : Public features of the inputs, on which nfa trains the network: {nfa.features.FORMS}. nfa computes
        these features once from the scaled pixels, before the first step. The features of an example do not depend on
        other examples, so the features change no epsilon. Random layers have the law of --init and the activation of
        --activation.
    architecture : Network: a name from the papers, sizes (784-64-10), layers (1x28x28:conv16-5,pool2,dense64,10), or
        module:function for your own network. See `nfa.network.ARCHITECTURES` and `nfa.network.own`.
    activation : Activation of the hidden layers, for a network given as sizes or layers.
    init : Law of the first weights. The laws are in `nfa.network.INITS`.
    first_weights : Change of the first weights: "aligned" turns these weights towards the feedback B.
    loss : Loss function.
    feedback_law : Law of the feedback matrices, for rules with such matrices: normal, uniform, spectral or orthogonal.
        See `nfa.feedback.draw`.
    feedback_scale : Scale of the feedback matrices, for rules with such matrices. See `nfa.feedback.draw`.
    at : Place where the feedback B e enters a layer with pooling: h (after pooling) or z (before pooling). This setting
        is for rules that take ``B``.
    opu : Simulated optical processing units (OPUs) that project the error: ideal, or KEY=VALUE such as bits=8. The keys
        are parameters of `nfa.feedback.opu.OPU` and of `nfa.feedback.camera.Camera`. In rules that take ``project``,
        the OPUs replace the matrices B. OPUs use ``feedback_scale`` and need the "normal" law. {} means ideal OPUs, and
        None means matrices.
    stored : Store the feedback matrices or, with --no-stored, compute the matrices again at each use. This setting is
        for rules that take ``B`` and ``project``, with the "normal" law. With the same seed, computed matrices have
        other values than stored matrices. For the random matrix inside an OPU (its medium), use the parameter
        ``stored`` of the setting ``opu`` instead, for example --opu stored=false.
    align_every : Number of steps between two comparisons of the direction with the gradient. The steps with a
        comparison are the multiples of this number.
    sampling : Sampling scheme of the batches: {nfa.sampling.SAMPLERS}.
    batch : Batch size ({nfa.sampling.BATCH_IS}).
    N_B : Smallest size of a batch, only for the sampling scheme poisson-rejection.
    tau : Share of the training examples in a pass, only for the sampling scheme partial-passes.
    epochs : Number of passes over the training examples. If each step draws a new batch, the number of
        passes is an expected value.
    optimizer : Optimizer: sgd or adam.
    lr : Learning rate.
    lr_every : Number of epochs between two multiplications of the learning rate by --lr-factor.
    lr_factor : Factor that multiplies the learning rate every --lr-every epochs.
    momentum : Momentum of the optimizer sgd.
    adam_eps : Constant added to the square root in Adam's denominator.
    average : Share of the steps, at the end of the run, over which nfa averages the weights. The average is the
        mean of the weights after each of these steps. nfa evaluates and saves the network with the averaged weights,
        and predicts with this network. The training continues from the last weights. The guarantee covers the weights
        after every step, so averaging these weights does not change epsilon.
    adjacency : Difference between neighbouring data sets in the guarantee: {nfa.mechanism.ADJACENCIES}. With an
        adjacency, nfa computes epsilon and writes it into the record of the run. With None, nfa computes no epsilon.
    delta : Delta of the (epsilon, delta) guarantee, between 0 and 1.
    accountant : Accountant: rdp (Rényi differential privacy) or pld (privacy loss distributions). Without a target
        epsilon, the accountant does not change the weights, so it is not one of the settings that identify a run.
    conversion : Conversion from Rényi divergences to (epsilon, delta): mironov2017 or canonne2020. The tables and
        figures of the papers use mironov2017. Without a target epsilon, the conversion does not change the weights, so
        it is not one of the settings that identify a run.
    target_epsilon : Largest allowed epsilon, from which nfa computes the noise of the rule. The target is for all steps
        of an uninterrupted run. nfa writes the noise into the record of the run. For most rules, nfa sets the rule's
        setting sigma, the standard deviation of the noise on the batch's mean. For `pdfa`, sigma is the standard
        deviation of the noise on a record's errors. For `pdfa_isotropic`, nfa sets s, and for `dp_ulr_sound`, sigma_0.
    noise_multiplier : Standard deviation of the noise divided by the rule's sensitivity, instead of a target epsilon.
    seed : Seed of all random numbers. Runs of different rules with the same seed have the same first weights,
        feedback and batches.
    secure : Draw batches and noise with a key from the operating system instead of a seed. The key is not stored. The
        page tutorials/threat_model.md explains the guarantee of a secure run. The docstring of the function
        `nfa.noise.secure` explains how nfa draws the batches and the noise. The record of the run has a digest of the
        data. nfa computes this digest with another key, which is stored in your state folder
        (`nfa.data.keyed_digest`). Leave the seed at its default, because a secure run has no seed. The
        results that nfa computes for an example are bitwise identical in every batch (`nfa.kernels.rows`).
    dtype : Format of the numbers in the run: float32 or float64. A secure run needs float64. The sensitivity of a
        secure run includes the effect of rounding (`nfa.sensitivity.rounding`).
    threads : Number of threads that share the examples of a step. The results are bitwise identical for any number of
        threads, so you can continue a run with another number. See `nfa.parts`.
    kernels : Use compiled code for noise, clips and convolutions or, with --no-kernels, plain NumPy. If NumPy rounds
        the results of an example differently in another batch, nfa refuses a secure run with NumPy. See
        `nfa.experiments.company`. A run uses every kernel of `nfa.kernels` that fits its rule and its network. Kernels
        compute the same values as NumPy, up to rounding. But kernels draw other noise from the same distribution, so
        you cannot continue a run with another value of this setting.
    """

    rule: str = "dfa"
    rule_settings: Annotated[
        dict[str, Any], Setting(range=parameters, option="--set", metavar="KEY=VALUE", unset="")
    ] = field(default_factory=dict)
    dataset: str = "fashion-mnist-small"
    test: Annotated[str | None, Setting(unset="the test set in the file", metavar="FILE")] = None
    classes: Annotated[str | None, Setting(unset="the labels in the file", metavar="NAMES")] = None
    records: Annotated[int | None, Setting(range=AT_LEAST_1, unset="the number in the file")] = None
    data_dir: Annotated[str | None, Setting(unset="")] = None
    train_examples: Annotated[int | None, Setting(range=AT_LEAST_1, unset="all", null=True)] = None
    validation: Annotated[float, Setting(range=SHARE)] = 0.0
    tested: Annotated[bool, Setting(range=TRUE_OR_FALSE)] = True
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
    accountant: Annotated[
        str | None,
        Setting(
            range=OneOf("nfa.privacy.accountant.ACCOUNTANTS"), unset="the accountant that gives the smaller epsilon"
        ),
    ] = None
    conversion: Annotated[
        str | None,
        Setting(range=OneOf("nfa.privacy.rdp.CONVERSIONS"), unset="the conversion that gives the smallest epsilon"),
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
        if self.dtype == self._own_dtype:  # a default that is given explicitly must not change the run's identity
            object.__setattr__(self, "dtype", None)

    @property
    def _own_dtype(self) -> str:
        """The default format of the numbers of the run."""
        return "float64" if self.secure else "float32"

    @property
    def precision(self) -> str:
        """The format of all numbers of the run, "float32" or "float64"."""
        return self.dtype or self._own_dtype

    def to_json(self) -> dict[str, Any]:
        """Return the settings that identify the run, as JSON values. Settings that change no weight are left out."""
        unused = {"data_dir", "threads"} | (set() if self.target_epsilon else {"accountant", "conversion"})
        values = asdict(self) | {"dtype": self.precision}
        without_use = {
            "stored": self.stored,
            "tested": self.tested,
            "seed": self.secure,
            "secure": not self.secure,
            "lr_every": self.lr_every is None,
            "lr_factor": self.lr_every is None,
        } | {o.name: values[o.name] is None for o in declared(type(self)) if o.optional and not o.setting.null}
        unused |= {name for name, idle in without_use.items() if idle} | set(self.without_effect())
        kept = {name: value for name, value in values.items() if name not in unused}
        files = {name: os.path.basename(kept[name]) for name in ("dataset", "test") if name in kept}
        return kept | files  # the folder is left out, because a digest in the record identifies the data

    def without_effect(self) -> dict[str, str]:
        """Return the settings that have no effect on the run, each with the reason.

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
        """Return the settings from all or some of the values of `to_json`. Raise ValueError for an unknown name."""
        known = [f.name for f in fields(cls)]
        if unknown := [name for name in values if name not in known]:
            raise ValueError(f"{unknown[0]!r} is not a setting of a run. The settings are {', '.join(known)}")
        return cls(**values)


def check_ranges(settings: Settings) -> None:
    """Raise ValueError for a setting that is wrong for all data."""
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
                    f"{option}, {meaning}, is only for sampling {scheme!r}, got {value!r} with sampling"
                    f" {settings.sampling!r}: leave out {option}"
                )
    if settings.accountant == "pld" and settings.conversion is not None:
        raise ValueError(
            f"a conversion has an effect only with the accountant rdp, got the accountant {settings.accountant} and the"
            f" conversion {settings.conversion}: leave out accountant or conversion"
        )
    if settings.adam_eps is not None and settings.optimizer != "adam":
        raise ValueError(
            f"adam_eps needs the optimizer adam, got the optimizer {settings.optimizer!r}: leave out adam_eps"
        )
    if settings.secure and settings.seed != Settings.seed:
        raise ValueError(f"a secure run has no seed, got seed {settings.seed}: leave out seed or secure")
    if settings.secure and settings.precision != "float64":
        raise ValueError(f"a secure run needs dtype float64, got {settings.dtype}: leave out dtype")
    make_optimizer(settings)


def make_optimizer(settings: Settings, steps_per_epoch: int = 1):
    """Return the optimizer of the run. Raise ValueError if a setting of the optimizer is out of range."""
    from nfa import optim

    lr: optim.LearningRate = settings.lr
    if settings.lr_every is None:
        if settings.lr_factor != 1:
            raise ValueError(f"lr_factor {settings.lr_factor} needs lr_every: give lr_every, or leave out lr_factor")
    else:
        lr = optim.step_decay(settings.lr, settings.lr_factor, settings.lr_every * steps_per_epoch)
    own: dict[str, Any] = {} if settings.adam_eps is None else {"eps": settings.adam_eps}
    return optim.SGD(lr, settings.momentum) if settings.optimizer == "sgd" else optim.Adam(lr, **own)
