"""Private rules with one mistake each that does not change the mean of the result, for example in the noise.

The mistakes concern the spread, the correlation, rare steps, several steps or outliers. Except for its mistake, each
rule is `tests.trust.broken_rules.sound`, and it states the mechanism of `sound`. With mistakes in the spread or the
correlation, no single coordinate has less noise than stated.
"""

import math

import numpy as np

from nfa.clip import clip_factor
from tests.trust.broken_rules import answer, fresh, gradients, norms_of, sound, weighted


def odd(y):
    """Whether an odd number of records has the first label. If a record gets another label, the result can change."""
    return bool(round(float(y[:, 0].sum())) % 2)


def cut(v, shapes):
    """A vector, divided into arrays of these shapes."""
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    return [part.reshape(shape) for part, shape in zip(np.split(v, ends[:-1]), shapes, strict=True)]


def as_one(rng, shapes, sigma):
    return sigma * rng.standard_normal(sum(math.prod(shape) for shape in shapes))


# --- spread


def noise_by_size(net, x, y, *, sigma, **rest):
    """The noise is larger if the records are larger."""
    return sound(net, x, y, sigma=sigma * (1 + np.abs(x).max(initial=0)), **rest)


def noise_by_number(net, x, y, *, sigma, **rest):
    """The noise depends on the number of records: its std grows with this number."""
    return sound(net, x, y, sigma=sigma * math.sqrt(1 + len(x)), **rest)


def noise_by_label(net, x, y, *, sigma, **rest):
    """The noise is 50 % larger if the number of records with the first label is odd."""
    return sound(net, x, y, sigma=sigma * (1.5 if odd(y) else 1), **rest)


def top_by_label(net, x, y, **rest):
    """Only the noise on the top layer is doubled if the number of records with the first label is odd."""

    def noise(rng, shapes, sigma):
        sizes = [sigma * (2 if odd(y) and i >= len(shapes) - 2 else 1) for i in range(len(shapes))]
        return [fresh(rng, [shape], size)[0] for shape, size in zip(shapes, sizes, strict=True)]

    return sound(net, x, y, noise=noise, **rest)


def noise_for_outliers(net, x, y, *, sigma, **rest):
    """The noise is doubled if an entry of a record is beyond 1,000."""
    return sound(net, x, y, sigma=sigma * (2 if np.abs(x).max(initial=0) > 1e3 else 1), **rest)


# --- correlation


def pairs_by_label(net, x, y, **rest):
    """Neighbouring coordinates are correlated by 0.7, or by -0.7 if an odd number of records has the first label."""

    def noise(rng, shapes, sigma):
        v = as_one(rng, shapes, sigma)
        one, other = v[: len(v) // 2 * 2 : 2], v[1::2]
        other *= math.sqrt(1 - 0.7**2)
        other += (-0.7 if odd(y) else 0.7) * one
        return cut(v, shapes)

    return sound(net, x, y, noise=noise, **rest)


def common_by_number(net, x, y, **rest):
    """In addition to the stated noise, all coordinates have a common noise.

    If the number of records is odd, the sign of the common noise alternates from one coordinate to the next.
    """

    def noise(rng, shapes, sigma):
        v = as_one(rng, shapes, sigma)
        sign = (-1.0) ** np.arange(len(v)) if len(x) % 2 else 1.0
        return cut(v + sigma * rng.standard_normal() * sign, shapes)

    return sound(net, x, y, noise=noise, **rest)


def along_the_gradient(net, x, y, *, C, m, sigma, rng):
    """In addition to the stated noise, the rule adds noise along the sum of the gradients."""
    parts = gradients(net, x, y)
    parts = weighted(parts, clip_factor(norms_of(parts), C))

    def noise(rng, shapes, sigma):
        xi = 4 * rng.standard_normal()
        return [eta + xi * g.sum(axis=0) for eta, g in zip(fresh(rng, shapes, sigma), parts, strict=True)]

    return answer(parts, net, m=m, sigma=sigma, rng=rng, noise=noise)


# --- rare steps


def seldom_silent(net, x, y, *, sigma, rng, **rest):
    """One step in 50 has no noise."""
    return sound(net, x, y, sigma=sigma * (rng.random() >= 0.02), rng=rng, **rest)


def seldom_silent_biases(net, x, y, **rest):
    """In one step of 50, the biases have no noise."""

    def noise(rng, shapes, sigma):
        silent = rng.random() < 0.02
        return [eta * (len(eta.shape) > 1 or not silent) for eta in fresh(rng, shapes, sigma)]

    return sound(net, x, y, noise=noise, **rest)


def sometimes_little(net, x, y, *, sigma, rng, **rest):
    """One step in ten has a tenth of the noise. The other steps have slightly more, so the average is as stated."""
    size = 0.1 if rng.random() < 0.1 else math.sqrt((1 - 0.001) / 0.9)
    return sound(net, x, y, sigma=sigma * size, rng=rng, **rest)


def seldom_repeated(net, x, y, *, state, **rest):
    """One step in ten has the noise of the previous step."""

    def noise(rng, shapes, sigma):
        again = "last" in state and rng.random() < 0.1
        state["last"] = state["last"] if again else fresh(rng, shapes, sigma)
        return state["last"]

    return sound(net, x, y, noise=noise, **rest)


# --- steps together


def repeated(net, x, y, *, state, **rest):
    """Every step has the same noise."""

    def noise(rng, shapes, sigma):
        if "first" not in state:
            state["first"] = fresh(rng, shapes, sigma)
        return state["first"]

    return sound(net, x, y, noise=noise, **rest)


def _taken_back(net, x, y, share, state, **rest):
    def noise(rng, shapes, sigma):
        last = state.get("last", [0] * len(shapes))
        state["last"] = fresh(rng, shapes, sigma)
        return [eta - share * before for eta, before in zip(state["last"], last, strict=True)]

    return sound(net, x, y, noise=noise, **rest)


def taken_back(net, x, y, *, state, **rest):
    """Every step subtracts the noise of the previous step."""
    return _taken_back(net, x, y, 1.0, state, **rest)


def partly_taken_back(net, x, y, *, state, **rest):
    """Every step subtracts eight tenths of the noise of the previous step."""
    return _taken_back(net, x, y, 0.8, state, **rest)


def every_other(net, x, y, *, state, **rest):
    """The steps use two noise vectors alternately."""

    def noise(rng, shapes, sigma):
        kept = state.setdefault("kept", [])
        kept.append(fresh(rng, shapes, sigma) if len(kept) < 2 else kept[-2])
        return kept[-1]

    return sound(net, x, y, noise=noise, **rest)


def mirrored(net, x, y, *, state, **rest):
    """Every noise vector is used in two steps, in the second step with the opposite sign."""

    def noise(rng, shapes, sigma):
        if last := state.pop("last", None):
            return [-eta for eta in last]
        state["last"] = fresh(rng, shapes, sigma)
        return state["last"]

    return sound(net, x, y, noise=noise, **rest)


def rolled(net, x, y, *, state, **rest):
    """Every step uses the noise vector of the first step, rotated by one more place."""

    def noise(rng, shapes, sigma):
        state["v"] = np.roll(state["v"], 1) if "v" in state else as_one(rng, shapes, sigma)
        return cut(state["v"], shapes)

    return sound(net, x, y, noise=noise, **rest)


def slowly_changing(net, x, y, *, state, **rest):
    """The noise has the correlation 0.95 with the noise of the previous step."""

    def noise(rng, shapes, sigma):
        now = fresh(rng, shapes, sigma)
        last = state.get("last", now)
        a = 0.95 if "last" in state else 0.0
        state["last"] = [a * before + math.sqrt(1 - a * a) * eta for before, eta in zip(last, now, strict=True)]
        return state["last"]

    return sound(net, x, y, noise=noise, **rest)


def at_first_only(net, x, y, *, state, sigma, **rest):
    """Only the first step has noise."""
    first = not state
    state["begun"] = True
    return sound(net, x, y, sigma=sigma * first, **rest)


def remembered(net, x, y, *, state, C, **rest):
    """Every step releases the sum of the clipped gradients of all steps so far, with the noise of one step."""
    parts = gradients(net, x, y)
    total = [g.sum(axis=0, keepdims=True) for g in weighted(parts, clip_factor(norms_of(parts), C))]
    state["sum"] = [g + before for g, before in zip(total, state.get("sum", [0] * len(total)), strict=True)]
    return answer(state["sum"], net, **rest)


# --- outliers


def overflow_passes(net, x, y, *, C, **rest):
    """A squared norm that overflows counts as 0."""
    parts = gradients(net, x, y)
    squares = sum(np.square(g).sum(axis=tuple(range(1, g.ndim))) for g in parts)
    factor = np.where(np.isfinite(squares), clip_factor(np.sqrt(squares), C), 1.0)
    return answer(weighted(parts, factor), net, **rest)


def nan_for_outliers(net, x, y, *, C, **rest):
    """The clip divides gradients by their squared norms. For outliers, infinity divided by infinity is NaN."""
    parts = gradients(net, x, y)
    squares = sum(np.square(g).sum(axis=tuple(range(1, g.ndim))) for g in parts)
    unit = [g * (np.sqrt(squares) / squares).reshape(-1, *[1] * (g.ndim - 1)) for g in parts]
    return answer(weighted(unit, np.minimum(np.sqrt(squares), C)), net, **rest)


RULES = {
    noise_by_size: "replace-one",
    noise_by_number: "add-remove",
    noise_by_label: "replace-one",
    top_by_label: "replace-one",
    noise_for_outliers: "add-remove",
    pairs_by_label: "replace-one",
    common_by_number: "add-remove",
    along_the_gradient: "replace-one",
    seldom_silent: "add-remove",
    seldom_silent_biases: "replace-one",
    sometimes_little: "add-remove",
    seldom_repeated: "add-remove",
    repeated: "add-remove",
    taken_back: "add-remove",
    partly_taken_back: "add-remove",
    every_other: "replace-one",
    mirrored: "add-remove",
    rolled: "add-remove",
    slowly_changing: "add-remove",
    at_first_only: "add-remove",
    remembered: "replace-one",
    overflow_passes: "add-remove",
    nan_for_outliers: "replace-one",
}
