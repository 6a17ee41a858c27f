"""The keyword arguments of a rule in a run: feedback, OPUs, kernels and the rule's own settings."""

import inspect
import json
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache, partial
from types import ModuleType
from typing import Any

import numpy as np

from nfa import feedback
from nfa.experiments.declaration import check_type, whole_as_counts
from nfa.experiments.settings import Settings
from nfa.feedback import never_stored
from nfa.feedback.camera import Camera
from nfa.feedback.opu import OPU, optical
from nfa.kernels import cores
from nfa.mechanism import NoGuarantee
from nfa.network import Conv2d, Dense, MaxPool, Net, ops
from nfa.noise import AnyStreams, Streams
from nfa.parts import InParts, check_is_sum, part_size
from nfa.rules.spec import RuleSpec
from nfa.sampling import SAMPLERS

OPU_PARAMETERS = ("n_anchor", "anchor_shot", "noise_std", "stored")
CAMERA_PARAMETERS = tuple(f.name for f in fields(Camera) if f.name != "count")


@cache
def cannot_compile() -> str:
    """The reason why numba cannot compile a kernel in this process, as a clause; "" if numba can compile.

    If the environment variable NUMBA_DISABLE_JIT is set, kernels are Python loops, which are far slower than NumPy.
    """
    try:
        import numba

        if getattr(numba.config, "DISABLE_JIT", 0):
            return "NUMBA_DISABLE_JIT is set"
        _kernels()
        numba.njit("int64(int64)")(lambda number: number + 1)
    except Exception as problem:  # numba and its compiler raise errors of many kinds
        cause = problem.__cause__ or problem
        return " ".join(f"{type(cause).__name__}: {cause}".split())
    return ""


def possible(settings: Settings) -> Settings:
    """Return the settings, without kernels if no kernel can be compiled here."""
    return replace(settings, kernels=False) if settings.kernels and cannot_compile() else settings


def bind(rule: RuleSpec, settings: Settings, net: Net, streams: AnyStreams, m: int) -> tuple[dict, dict | None]:
    """Return the rule's keyword arguments for batches of m examples, and its state dict or None."""
    own = {one.name: one for one in rule.settings}
    for name, value in settings.rule_settings.items():
        if name not in own:
            has = f"The settings of this rule are {', '.join(own)}" if own else "This rule has no settings"
            raise ValueError(f"rule {rule.name} has no setting {name!r}. {has}")
        check_type(name, value, own[name].type)
    # We copy the settings by JSON, so that the rule and its mechanism get equal plain numbers.
    types = {name: one.type for name, one in own.items()}
    bound = whole_as_counts(json.loads(json.dumps(settings.rule_settings)), types)
    if settings.opu is not None:
        if "project" not in rule.given:
            raise ValueError(f"rule {rule.name} computes no projection, so an OPU has no effect: leave out opu")
        bound["B"], bound["project"] = _opus(settings, net, streams("feedback")), optical
    elif "B" in rule.given and not settings.stored:
        if "project" not in rule.given:
            raise ValueError(
                f"`stored` must be true for rule {rule.name}, because this rule reads the feedback matrices directly"
            )
        bound["B"], bound["project"] = _unstored(settings, net, streams("feedback")), feedback.project_unstored
    elif "B" in rule.given:
        bound["B"] = feedback.draw(
            net, law=settings.feedback_law, scale=settings.feedback_scale, rng=streams("feedback"), at=settings.at
        )
    if "V" in rule.given:
        bound["V"] = feedback.draw_layerwise(
            net, law=settings.feedback_law, scale=settings.feedback_scale, rng=streams("feedback")
        )
    if "at" in rule.given:
        bound["at"] = settings.at
    if settings.first_weights == "aligned":
        _align(settings, net, bound, streams("feedback", 1))
    # We give a public normaliser m if the rule requires m, or if the size of a batch is random.
    if "m" in own and (own["m"].required or SAMPLERS[settings.sampling].size_varies):
        bound.setdefault("m", m)
    if "N_B" in own and settings.N_B is not None:
        bound.setdefault("N_B", settings.N_B)
    if missing := [one.name for one in rule.settings if one.required and one.name not in bound]:
        several = f"values for the settings {', '.join(missing[:-1])} and {missing[-1]}"
        what = several if missing[1:] else f"a value for the setting {missing[0]!r}"
        raise ValueError(
            f"rule {rule.name} needs {what}: give {'each' if missing[1:] else 'the'} value as in --set {missing[0]}=1."
            f" `nfa rules {rule.name}` describes the settings"
        )
    return bound, {} if "state" in rule.given else None


def fast(rule: RuleSpec, settings: Settings, net: Net) -> dict[str, Callable]:
    """Return the kernels that the rule takes as keyword arguments and that support this run.

    Seeded runs draw their noise with Philox, a fast generator. Secure runs draw their noise with `nfa.kernels.rounded`,
    and the caller must still bind the unit of the grid to this ``add_normal``. A secure run binds no
    ``add_normal_each``, because nfa refuses secure runs of its own rules that take this argument. In a secure run, a
    rule from outside keeps its own default for ``add_normal_each``, which draws from the cipher of the run.

    Raises OSError if numba cannot be imported.
    """
    kernels = _kernels()
    known = {"clip_l2": kernels.clip.clip_l2, "clip_offset": kernels.clip.clip_offset}
    if settings.secure:
        known["add_normal"] = kernels.rounded.add_normal
    else:
        known |= {"add_normal": kernels.philox.add_normal, "add_normal_each": kernels.philox.add_normal_each}
    if kernels.ulr.fits(net):
        known["weigh"] = kernels.ulr.weigh
    return {name: kernel for name, kernel in known.items() if name in rule.given}


def use_kernels(net: Net, optimizer: Any, bound: dict[str, Any], secure: bool) -> None:
    """Set the kernels of the layers of a network, of a rule's stored feedback and of an optimizer.

    In a secure run, kernels compute the products with W and with B for each example alone. So the result of an
    example does not depend on other examples. Activations of nfa get kernels. An activation from outside nfa keeps its
    own functions, even if it has the name of an activation of nfa.

    Raises OSError if numba cannot be imported.
    """
    kernels = _kernels()
    optimizer.update = getattr(kernels.optim, optimizer.update.__name__)
    layers_with_kernels(net, secure)
    if secure and "B" in bound:
        bound["B"] = [
            feedback.WithProduct(B, kernels.rows.matmul) if isinstance(B, np.ndarray) else B for B in bound["B"]
        ]


def layers_with_kernels(net: Net, secure: bool) -> None:
    """Set the kernels of the layers of a network, as `use_kernels` does."""
    kernels = _kernels()
    for l in range(1, net.L + 1):
        if isinstance(net.map[l], Dense):
            net.map[l] = replace(net.map[l], ops=kernels.rows if secure else kernels.dense)
        elif isinstance(net.map[l], Conv2d) and (secure or net.map[l].stride == (1, 1)):
            net.map[l] = replace(net.map[l], ops=kernels.rows if secure else kernels.conv)
        if isinstance(net.pool[l], MaxPool):
            net.pool[l] = replace(net.pool[l], ops=kernels.conv)
        net.phi[l] = _activation(net.phi[l])


def _kernels() -> ModuleType:
    """Import the modules of the kernels, and return their package.

    nfa imports these modules only here, because importing numba is slow.
    """
    try:
        from nfa import kernels
        from nfa.kernels import (  # noqa: F401
            activations,
            clip,
            conv,
            dense,
            optim,
            philox,
            projection,
            rounded,
            rows,
            shot,
            ulr,
        )
    except ImportError as missing:
        raise OSError(
            f"kernels need numba, but Python cannot import numba ({missing}): install numba or, if the run is not"
            " secure, use --no-kernels"
        ) from missing
    return kernels


def kernels_of(rule: partial | InParts, net: Net, optimizer: Any) -> list[str]:
    """The names of a run's kernels: modules for the layers, and functions for the rule and the optimizer."""
    layers = [getattr(part, "ops", None) for part in (*net.map[1:], *net.pool[1:])]
    modules = {layer.__name__ for layer in layers if isinstance(layer, ModuleType)}
    modules |= {getattr(phi.phi, "__module__", "") for phi in net.phi[1 : net.L]}
    matrices = rule.keywords.get("B", [])
    makers = [getattr(matrix, name, None) for matrix in matrices for name in ("make", "product")]
    makers += [getattr(getattr(matrix, "camera", None), "count", None) for matrix in matrices]
    functions = [*rule.keywords.values(), *makers, getattr(optimizer, "update", None)]
    functions = [getattr(f, "func", f) for f in functions]  # unwrap functions with some arguments bound
    names = {f"{getattr(f, '__module__', '')}.{getattr(f, '__name__', '')}" for f in functions}
    return sorted(name for name in modules | names if name.startswith("nfa.kernels."))


def _tiles(settings: Settings) -> dict[str, Any]:
    """The function that computes the blocks (tiles) of a matrix that is not stored."""
    return {"make": _kernels().projection.tile if settings.kernels else never_stored.tile}


def _product(settings: Settings) -> dict[str, Any]:
    """The function that multiplies by a matrix that is not stored, and by the medium of an OPU."""
    return {"product": _kernels().rows.matmul} if settings.kernels and settings.secure else {}


def kernel_product(phi: ops.Activation) -> tuple[Callable, ops.Activation]:
    """The kernels of random features: a product that computes each row alone, and the activation with its kernels."""
    return _kernels().rows.matmul, _activation(phi)


def _activation(phi: ops.Activation) -> ops.Activation:
    """Return an activation of nfa with its kernels. Return any other activation unchanged."""
    if any(phi is one for one in (ops.tanh, ops.sigmoid, ops.relu)):
        kernels = _kernels()
        return replace(phi, **{d + "phi": getattr(kernels.activations, d + phi.name) for d in ("", "d")})
    return phi


def _opus(settings: Settings, net: Net, rng: np.random.Generator) -> list:
    """One simulated OPU for each hidden layer, with the parameters of the settings.

    The OPU of layer 1 is drawn first.
    """
    given = dict(settings.opu or {})
    for name, value in given.items():
        if name not in OPU_PARAMETERS + CAMERA_PARAMETERS:
            known = ", ".join(OPU_PARAMETERS + CAMERA_PARAMETERS)
            raise ValueError(f"an OPU has no parameter {name!r}. The parameters of an OPU are {known}")
        if not isinstance(value, int | float | None):
            raise ValueError(f"the OPU's {name} must be a number, got {value!r}")
    types = {name: one.annotation for kind in (OPU, Camera) for name, one in inspect.signature(kind).parameters.items()}
    given = whole_as_counts(given, types)
    if settings.feedback_law != "normal":
        raise ValueError(
            f"feedback_law must be normal for an OPU, got {settings.feedback_law!r}: leave out opu or feedback_law"
        )
    counted = settings.kernels and given.get("photons") is not None
    counting = {"count": _kernels().shot.poisson} if counted else {}
    camera = Camera(**{name: given.pop(name) for name in CAMERA_PARAMETERS if name in given}, **counting)
    if not settings.stored:
        raise ValueError(
            "the setting `stored` applies only to matrices. For OPUs, set the parameter of the device, as in"
            " `opu stored=false`"
        )
    how = given | {"camera": camera} | _product(settings) | ({} if given.get("stored", True) else _tiles(settings))
    return feedback.draw_devices(partial(OPU, **how), net, scale=settings.feedback_scale, rng=rng, at=settings.at)


def _unstored(settings: Settings, net: Net, rng: np.random.Generator) -> list:
    """One matrix for each hidden layer. The matrices are never stored. The matrix of layer 1 is drawn first."""
    if settings.feedback_law != "normal":
        raise ValueError(
            f"feedback_law must be normal if stored is false, got {settings.feedback_law!r}: set stored to true, or"
            " leave out feedback_law"
        )
    kind = partial(feedback.Unstored, **_tiles(settings), **_product(settings))
    return feedback.draw_devices(kind, net, scale=settings.feedback_scale, rng=rng, at=settings.at)


def _align(settings: Settings, net: Net, bound: dict[str, Any], rng: np.random.Generator) -> None:
    """Align the first weights with the feedback of a run."""
    if "B" not in bound:
        raise ValueError(
            f"first_weights='aligned' needs a rule with feedback B, but rule {settings.rule} has no feedback B:"
            " leave out first_weights"
        )
    if settings.at != "h":
        raise ValueError(f"first_weights='aligned' needs at='h', got at={settings.at!r}: leave out at")
    feedback.align_weights(net, bound["B"], project=bound.get("project", feedback.project), rng=rng)


def in_parts(rule: RuleSpec, bound: dict, net: Net, m: int) -> partial | InParts:
    """The rule with its keyword arguments.

    If the direction of the rule is a sum over examples, each batch of m examples is split into parts.
    """
    whole = partial(rule.function, **bound)
    return InParts(whole, rule, size=part_size(net, m), run=cores.together) if rule.sum_over_examples else whole


def try_rule(rule: RuleSpec, bound: dict, net: Net, batches) -> None:
    """Call a rule once on two examples, so that an error in its settings is raised before nfa writes a file.

    If the rule needs more than two examples, it is called on the first batch. The result is not used. The noise of this
    call is seeded, so the call draws nothing from the streams of a secure run.
    """
    streams = Streams(0)
    extra: dict[str, Any] = {"state": {}} if "state" in rule.given else {}
    try:
        with np.errstate(all="ignore"):
            try:
                dW, db = rule.function(net, batches.x[:2], batches.y[:2], rng=streams("noise", 0), **bound, **extra)
            except ValueError:
                dW, db = rule.function(net, *batches.at(1), rng=streams("noise", 0), **bound, **extra)
        for l in range(1, net.L + 1):
            if (np.shape(dW[l]), np.shape(db[l])) != (net.W[l].shape, net.b[l].shape):
                raise ValueError(
                    f"rule {rule.name} must return directions with the shapes of the weights and biases: for layer {l},"
                    f" {net.W[l].shape} and {net.b[l].shape}, got {np.shape(dW[l])} and {np.shape(db[l])}"
                )
        if rule.from_outside and rule.sum_over_examples:
            check_is_sum(partial(rule.function, **bound), rule, net, batches.x[:5], batches.y[:5], streams)
    except (ValueError, OSError, NoGuarantee):
        raise
    except Exception as failure:
        raise ValueError(
            f"nfa tests rule {rule.name} on two examples, but the rule raised {type(failure).__name__}: {failure}"
        ) from failure
