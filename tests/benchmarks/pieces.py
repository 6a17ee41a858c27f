"""Times of single parts of a step: noise, clips and projections with the kernels of a run, and in plain NumPy."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from nfa import clip, feedback
from nfa import noise as plain_noise
from nfa.experiments.prepare import prepare

from .own import settings
from .problem import Built

# shapes of the arrays that the papers' networks clip; each row is one example
SIZES = ((256, 784), (256, 512), (256, 10), (64, 12_544))
TINY_SIZES = ((4, 20), (3, 7))


def _given(folder: str, rule: str, how: dict[str, Any], **more: Any) -> tuple[dict[str, Any], Any]:
    """The keyword arguments that a run passes to its rule, and the random streams of the run."""
    parts = prepare(settings(folder, "mlp", rule, **how, **more))
    return parts.rule.keywords, parts.streams


def _name(function: Any) -> str:
    """The name of a function, or of the function inside a `functools.partial`."""
    function = getattr(function, "func", function)
    return f"{getattr(function, '__module__', '')}.{getattr(function, '__name__', '')}"


def noise(folder: str, *, tiny: bool, threads: int, secure: bool = False, kernels: bool = True) -> Built:
    """The noise of DP-DFA, added to zeros."""
    how = {"tiny": tiny, "threads": threads}
    more: dict[str, Any] = {"secure": True, "pixels": "as-is"} if secure else {"kernels": kernels}
    keywords, streams = _given(folder, "dp_dfa", how, **more)
    add_normal = keywords.get("add_normal", plain_noise.add_normal)
    rng, n = streams("noise", 1), 700 if tiny else 669_706
    dtypes = (np.float64,) if secure else (np.float32, np.float64)
    steps = {str(np.dtype(t)): partial(add_normal, np.zeros(n, t), 0.01, rng) for t in dtypes}
    return Built({label: _silent(step) for label, step in steps.items()}, {"function": _name(add_normal)})


def _silent(step: Callable) -> Callable[[], None]:
    """A step that ignores the return value of ``step``."""

    def one() -> None:
        step()

    return one


def _offset_then_clip(v: np.ndarray, nu: float, c: float, floor: str) -> np.ndarray:
    return clip.clip_entries(clip.FLOORS[floor](v, nu), c)


def clips(folder: str, *, tiny: bool, threads: int, kernels: bool = True) -> Built:
    """The l2 clip of DP-DFA, and the offset and entrywise clip of the photonic rule."""
    how, rng = {"tiny": tiny, "threads": threads}, np.random.default_rng(3)
    clip_l2 = _given(folder, "dp_dfa", how, kernels=kernels)[0].get("clip_l2", clip.clip_l2)
    clip_offset = _given(folder, "photonic", how, kernels=kernels)[0].get("clip_offset", _offset_then_clip)
    steps = {}
    for m, n in TINY_SIZES if tiny else SIZES:
        v = rng.normal(size=(m, n)).astype(np.float32)
        steps[f"l2, {m}x{n}"] = _silent(partial(clip_l2, v, 1.0, []))
        steps[f"offset, {m}x{n}"] = _silent(partial(clip_offset, v, 0.1, 1.0, "literal"))
    return Built(steps, {"functions": [_name(clip_l2), _name(clip_offset)]})


def _errors(m: int, n_in: int, nonzero: int) -> np.ndarray:
    """Errors (m, n_in), each with ``nonzero`` values that are not 0."""
    rng, e = np.random.default_rng(4), np.zeros((m, n_in), np.float32)
    for row in e:
        row[rng.choice(n_in, nonzero, replace=False)] = rng.choice([-1, 1], nonzero)
    return e


def never_stored(folder: str, *, tiny: bool, threads: int, kernels: bool = True) -> Built:
    """Projections of 32 errors of size 10 to 200,000 outputs, and of 8 errors of size 5,000 to 2,000 outputs.

    The errors of size 5,000 have either 5,000 or 20 entries that are not 0.
    """
    from nfa.feedback.never_stored import Unstored
    from nfa.kernels import projection

    steps = {}
    for m, n_in, n_out, nonzero in ((32, 10, 200_000, 4), (8, 5000, 2000, 5000), (8, 5000, 2000, 20)):
        label = f"{n_in} onto {n_out}, {nonzero} not 0"
        if tiny:
            m, n_in, n_out, nonzero = 2, 10, n_out // 1000, min(nonzero, 4)
        e = _errors(m, n_in, nonzero)
        B = Unstored(n_in, n_out, rng=plain_noise.Streams(5)("feedback"), make=projection.tile)
        project = B.project if kernels else partial(_onto, B.stored())
        steps[label] = _silent(partial(project, e))
    return Built(steps, {})


def _onto(B: np.ndarray, e: np.ndarray) -> np.ndarray:
    return feedback.project(e, B)
