"""A rule's keyword arguments, from the settings of a run: feedback, OPUs, kernels, and what the rule itself takes."""

import inspect
import json
import math
from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

from nfa import feedback
from nfa.experiments.settings import Settings
from nfa.feedback import never_stored
from nfa.feedback.camera import Camera
from nfa.feedback.opu import OPU, optical
from nfa.network import Conv2d, Dense, MaxPool, Net, ops
from nfa.noise import AnyStreams

# What a run gives a rule by itself; everything else that a rule takes is one of its own settings.
GIVEN = ("net", "x", "y", "rng", "B", "at", "project", "weigh", "clip_l2", "clip_offset", "add_normal", "state")
OPU_PARAMETERS = ("n_anchor", "anchor_shot", "noise_std", "stored")
CAMERA_PARAMETERS = tuple(f.name for f in fields(Camera))


def bind(function: Callable, settings: Settings, net: Net, streams: AnyStreams, m: int) -> tuple[dict, dict | None]:
    """The keyword arguments of the rule, m being the size of a batch, and the state dict of a rule that remembers."""
    taken = inspect.signature(function).parameters
    own = [name for name in taken if name not in GIVEN]
    for name, value in settings.rule_settings.items():
        if name not in own:
            has = f"it has {', '.join(own)}" if own else "it has none"
            raise ValueError(f"rule {settings.rule} has no setting {name!r}; {has}")
        _check_type(name, value, taken[name].annotation)
    bound = json.loads(json.dumps(settings.rule_settings))  # plain numbers, the same to the rule and to its mechanism
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
    if "at" in taken:
        bound["at"] = settings.at
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
        from nfa.kernels import activations, clip, conv, dense, noise, optim, philox, projection, ulr  # noqa: F401
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
    makers = [getattr(matrix, "make", None) for matrix in rule.keywords.get("B", [])]
    functions = (*rule.keywords.values(), *makers, getattr(optimizer, "update", None))
    names = {f"{getattr(f, '__module__', '')}.{getattr(f, '__name__', '')}" for f in functions}
    return sorted(name for name in modules | names if name.startswith("nfa.kernels."))


def _tiles(settings: Settings) -> dict[str, Callable]:
    """What makes the tiles of a matrix that is not stored."""
    return {"make": _kernels().projection.tile if settings.kernels else never_stored.tile}


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
    if not settings.stored:
        raise ValueError("stored is for matrices; for OPUs give their own parameter, opu stored=false")
    how = given | {"camera": camera} | ({} if given.get("stored", True) else _tiles(settings))
    return _of_hidden_layers(OPU, settings, net, rng, how)


def _unstored(settings: Settings, net: Net, rng: np.random.Generator) -> list:
    """One matrix a hidden layer that is never stored, layer 1 drawn first."""
    if settings.feedback_law != "normal":
        raise ValueError(
            f"feedback that is not stored is normal: feedback_law {settings.feedback_law!r} needs stored matrices"
        )
    return _of_hidden_layers(feedback.Unstored, settings, net, rng, _tiles(settings))


def _of_hidden_layers(
    kind: Callable, settings: Settings, net: Net, rng: np.random.Generator, how: dict[str, Any]
) -> list:
    shapes = net.shape_h if settings.at == "h" else net.shape_z
    found: list = [None] * (net.L + 1)
    for l in range(1, net.L):
        found[l] = kind(shapes[net.L][0], math.prod(shapes[l]), rng=rng, scale=settings.feedback_scale, **how)
    return found
