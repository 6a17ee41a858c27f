"""A rule's keyword arguments, from the settings of a run: feedback, OPUs, kernels, noise, its own settings."""

import inspect
import json
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from nfa import feedback
from nfa.experiments.declaration import check_type, whole_as_counts
from nfa.experiments.privacy_statement import Statement, describe, stated_mechanism
from nfa.experiments.rule_lookup import noise_setting, rule_function
from nfa.experiments.settings import Settings
from nfa.feedback import never_stored
from nfa.feedback.camera import Camera
from nfa.feedback.opu import OPU, optical
from nfa.mechanism import NoGuarantee, Release
from nfa.network import Conv2d, Dense, MaxPool, Net, ops
from nfa.noise import AnyStreams
from nfa.privacy import theorems
from nfa.privacy.noise_asked import setting_of_multiplier, setting_of_target

# What a run gives a rule by itself; everything else that a rule takes is one of its own settings.
GIVEN = ("net", "x", "y", "rng", "B", "V", "at", "project", "weigh", "clip_l2", "clip_offset", "add_normal", "state")
OPU_PARAMETERS = ("n_anchor", "anchor_shot", "noise_std", "stored")
CAMERA_PARAMETERS = tuple(f.name for f in fields(Camera) if f.name != "count")


def bind(function: Callable, settings: Settings, net: Net, streams: AnyStreams, m: int) -> tuple[dict, dict | None]:
    """The keyword arguments of the rule, m being the size of a batch, and the state dict of a rule that remembers."""
    taken = inspect.signature(function).parameters
    own = [name for name in taken if name not in GIVEN]
    for name, value in settings.rule_settings.items():
        if name not in own:
            has = f"it has {', '.join(own)}" if own else "it has none"
            raise ValueError(f"rule {settings.rule} has no setting {name!r}; {has}")
        check_type(name, value, taken[name].annotation)
    # Plain numbers, the same to the rule and to its mechanism.
    bound = whole_as_counts(json.loads(json.dumps(settings.rule_settings)), taken)
    if settings.opu is not None:
        if "project" not in taken:
            raise ValueError(f"rule {settings.rule} projects nothing, so it takes no OPU")
        bound["B"], bound["project"] = _opus(settings, net, streams("feedback")), optical
    elif "B" in taken and not settings.stored:
        if "project" not in taken:
            raise ValueError(f"rule {settings.rule} reads its feedback matrices themselves, so they must be stored")
        bound["B"], bound["project"] = _unstored(settings, net, streams("feedback")), feedback.project_unstored
    elif "B" in taken:
        bound["B"] = feedback.draw(
            net, law=settings.feedback_law, scale=settings.feedback_scale, rng=streams("feedback"), at=settings.at
        )
    if "V" in taken:
        bound["V"] = feedback.draw_layerwise(
            net, law=settings.feedback_law, scale=settings.feedback_scale, rng=streams("feedback")
        )
    if "at" in taken:
        bound["at"] = settings.at
    if settings.first_weights == "aligned":
        _align(settings, net, bound, streams("feedback", 1))
    # A public normaliser, where the rule insists on one or where the size of a batch is drawn.
    if "m" in taken and (taken["m"].default is inspect.Parameter.empty or settings.sampling.startswith("poisson")):
        bound.setdefault("m", m)
    if "N_B" in taken and settings.N_B is not None:
        bound.setdefault("N_B", settings.N_B)
    needed = [taken[name] for name in own if taken[name].default is inspect.Parameter.empty and name not in bound]
    if missing := [one.name for one in needed if one.kind is inspect.Parameter.KEYWORD_ONLY]:
        several = f"values for its settings {', '.join(missing[:-1])} and {missing[-1]}"
        what = several if missing[1:] else f"a value for its setting {missing[0]!r}"
        raise ValueError(
            f"rule {settings.rule} needs {what}: give {'each' if missing[1:] else 'it'} as in --set {missing[0]}=1, and"
            f" `nfa rules {settings.rule}` says what it means"
        )
    return bound, {} if "state" in taken else None


ASKING = ("target_epsilon", "noise_multiplier")


def asked(settings: Settings) -> dict[str, float]:
    """What a run's settings ask of its noise: a target with its delta, or a noise multiplier; empty where they do not.

    Raises ValueError for both at once, or where what they are counted under is missing.
    """
    asking = {name: value for name in ASKING if (value := getattr(settings, name)) is not None}
    if len(asking) > 1:
        raise ValueError("target_epsilon and noise_multiplier exclude each other: leave out one of the two")
    needed = ["adjacency", "delta"] if "target_epsilon" in asking else ["adjacency"] if asking else []
    if missing := [name for name in needed if getattr(settings, name) is None]:
        raise ValueError(f"{' and '.join(asking)} needs {' and '.join(missing)}, and none is named")
    return asking | ({"delta": settings.delta} if settings.delta is not None and "target_epsilon" in asking else {})


def with_some_noise(settings: Settings) -> Settings:
    """The same run with noise of size 1 where its settings ask for noise, as they are elsewhere.

    Raises ValueError as `asked`, or if the setting of the rule that is asked for is given too.
    """
    asking = asked(settings)
    if not asking:
        return settings
    name = noise_setting(settings.rule)
    if name in settings.rule_settings:
        raise ValueError(f"{next(iter(asking))} and the setting {name} exclude each other: the one gives the other")
    takes_it = name in inspect.signature(rule_function(settings.rule)).parameters
    return _with_noise(settings, {name: 1.0} if takes_it else {})


def _with_noise(settings: Settings, noise: dict[str, float]) -> Settings:
    own = settings.rule_settings | noise
    return replace(settings, target_epsilon=None, noise_multiplier=None, rule_settings=own)


def stated(settings: Settings, bound: dict[str, Any], net: Net, batches) -> tuple[Settings, Statement]:
    """The settings with the noise that they ask for as one of the rule's, and what is known of the run's privacy.

    Parameters
    ----------
    settings : as they were before `with_some_noise`
    bound, net, batches : as for `nfa.experiments.privacy_statement.describe`; of noise that is asked for, bound has
        some, and is given what follows

    Raises
    ------
    NoGuarantee : for noise that is asked for where no theorem covers the rule, or its batches under this adjacency
    ValueError : as `describe`; for a rule that does not say which setting its noise is proportional to, a target that
        no noise keeps to, or a noise multiplier of a mechanism known by its Renyi curve
    """
    asking = asked(settings)
    if not asking:
        return settings, describe(settings, bound, net, batches)
    name, steps = noise_setting(settings.rule), settings.epochs * batches.steps_per_epoch

    def stating(noise: float) -> Release:
        return stated_mechanism(settings, bound | {name: noise}, net, batches)

    one = stating(1.0)
    theorems.smallest(one)  # refuses what none covers
    if name not in bound:
        raise ValueError(f"rule {settings.rule} has no setting {name}: NOISE of its module must name that of its noise")
    if "noise_multiplier" in asking:
        bound[name] = setting_of_multiplier(stating, asking["noise_multiplier"])
    else:
        shuffled = one.sampling == "epoch-partition"
        per_epoch = batches.steps_per_epoch if shuffled else None
        bound[name] = setting_of_target(
            stating, **asking, steps=steps, conversion=settings.conversion, steps_per_epoch=per_epoch
        )
        asking["steps"] = steps
    noise = {name: bound[name]}
    settings = _with_noise(settings, noise)
    statement = describe(settings, bound, net, batches)
    if statement.mechanism is None:
        raise ValueError(f"{next(iter(asking))} needs a guarantee, and there is {statement.known['statement']}")
    return settings, replace(statement, asked=asking, noise=noise)


def fast(function: Callable, settings: Settings, net: Net) -> dict[str, Callable]:
    """The kernels that the rule takes as keyword arguments and that can do this run.

    Seeded noise is of a generator made for speed, a secure run's of a cipher.

    Raises OSError if numba cannot be imported.
    """
    kernels = _kernels()
    known = {
        "add_normal": (kernels.noise if settings.secure else kernels.philox).add_normal,
        "clip_l2": kernels.clip.clip_l2,
        "clip_offset": kernels.clip.clip_offset,
    }
    if kernels.ulr.fits(net):
        known["weigh"] = kernels.ulr.weigh_secure if settings.secure else kernels.ulr.weigh
    taken = inspect.signature(function).parameters
    return {name: kernel for name, kernel in known.items() if name in taken}


def lay(net: Net, optimizer: Any) -> None:
    """Give the layers of a network and an optimizer their kernels. Raises OSError if numba cannot be imported.

    Of the activations those that nfa brings get theirs, in float32; another of the same name stays.
    """
    kernels = _kernels()
    optimizer.update = getattr(kernels.optim, optimizer.update.__name__)
    for l in range(1, net.L + 1):
        if isinstance(net.map[l], Dense):
            net.map[l] = replace(net.map[l], ops=kernels.dense)
        elif isinstance(net.map[l], Conv2d) and net.map[l].stride == (1, 1):
            net.map[l] = replace(net.map[l], ops=kernels.conv)
        if isinstance(net.pool[l], MaxPool):
            net.pool[l] = replace(net.pool[l], ops=kernels.conv)
        if net.W[l].dtype == np.float32 and any(net.phi[l] is phi for phi in (ops.tanh, ops.sigmoid, ops.relu)):
            phi, dphi = (getattr(kernels.activations, d + net.phi[l].name) for d in ("", "d"))
            net.phi[l] = replace(net.phi[l], phi=phi, dphi=dphi)


def _kernels() -> ModuleType:
    """The package of the kernels with its modules, imported here, for numba takes a while."""
    try:
        from nfa import kernels
        from nfa.kernels import activations, clip, conv, dense, noise, optim, philox, projection, shot, ulr  # noqa: F401
    except ImportError as missing:
        raise OSError(
            f"kernels need numba, which cannot be imported ({missing}): --no-kernels does without"
        ) from missing
    return kernels


def kernels_of(rule: partial, net: Net, optimizer: Any) -> list[str]:
    """The names of the kernels of a run: of its layers, a module each, and the functions of its rule and optimizer."""
    layers = [getattr(part, "ops", None) for part in (*net.map[1:], *net.pool[1:])]
    modules = {layer.__name__ for layer in layers if isinstance(layer, ModuleType)}
    modules |= {getattr(phi.phi, "__module__", "") for phi in net.phi[1 : net.L]}
    matrices = rule.keywords.get("B", [])
    makers = [getattr(matrix, "make", None) for matrix in matrices]
    makers += [getattr(getattr(matrix, "camera", None), "count", None) for matrix in matrices]
    functions = (*rule.keywords.values(), *makers, getattr(optimizer, "update", None))
    names = {f"{getattr(f, '__module__', '')}.{getattr(f, '__name__', '')}" for f in functions}
    return sorted(name for name in modules | names if name.startswith("nfa.kernels."))


def _tiles(settings: Settings) -> dict[str, Any]:
    """What makes the tiles of a matrix that is not stored."""
    return {"make": _kernels().projection.tile if settings.kernels else never_stored.tile}


def _opus(settings: Settings, net: Net, rng: np.random.Generator) -> list:
    """One simulated OPU a hidden layer, layer 1 drawn first, with the parameters that the settings name."""
    given = dict(settings.opu or {})
    for name, value in given.items():
        if name not in OPU_PARAMETERS + CAMERA_PARAMETERS:
            known = ", ".join(OPU_PARAMETERS + CAMERA_PARAMETERS)
            raise ValueError(f"an OPU has no parameter {name!r}; it has {known}")
        if not isinstance(value, int | float | None):
            raise ValueError(f"the OPU's {name} must be a number, got {value!r}")
    given = whole_as_counts(given, inspect.signature(OPU).parameters | inspect.signature(Camera).parameters)
    if settings.feedback_law != "normal":
        raise ValueError(f"the feedback of an OPU is normal: feedback_law {settings.feedback_law!r} needs matrices")
    counted = settings.kernels and given.get("photons") is not None
    counting = {"count": _kernels().shot.poisson} if counted else {}
    camera = Camera(**{name: given.pop(name) for name in CAMERA_PARAMETERS if name in given}, **counting)
    if not settings.stored:
        raise ValueError("stored is for matrices; for OPUs give their own parameter, opu stored=false")
    how = given | {"camera": camera} | ({} if given.get("stored", True) else _tiles(settings))
    return feedback.draw_devices(partial(OPU, **how), net, scale=settings.feedback_scale, rng=rng, at=settings.at)


def _unstored(settings: Settings, net: Net, rng: np.random.Generator) -> list:
    """One matrix a hidden layer that is never stored, layer 1 drawn first."""
    if settings.feedback_law != "normal":
        raise ValueError(
            f"feedback that is not stored is normal: feedback_law {settings.feedback_law!r} needs stored matrices"
        )
    kind = partial(feedback.Unstored, **_tiles(settings))
    return feedback.draw_devices(kind, net, scale=settings.feedback_scale, rng=rng, at=settings.at)


def _align(settings: Settings, net: Net, bound: dict[str, Any], rng: np.random.Generator) -> None:
    """Turn the first weights towards the feedback of a run."""
    if "B" not in bound:
        raise ValueError(f"first weights are aligned with feedback B, and rule {settings.rule} takes none")
    if settings.at != "h":
        raise ValueError(f"first weights are aligned with feedback at h, got at {settings.at!r}")
    feedback.align_weights(net, bound["B"], project=bound.get("project", feedback.project), rng=rng)


def try_rule(function: Callable, name: str, bound: dict, net: Net, batches, streams: AnyStreams) -> None:
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
