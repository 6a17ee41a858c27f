"""Scores that distinguish two worlds by their means, spreads and correlations, or by missing or reused noise.

A score may be any function that we learn from separate runs. The counted event is fixed before the counted runs. So the
bounds of `nfa.audit.bounds` hold for every learnt score.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Score = Callable[[np.ndarray], np.ndarray]  # (n, k) outputs -> (n,) scores; a high score is evidence for world 1

MOST_NUMBERS = 400  # largest number of entries of an output for which we estimate the covariance
# Numbers of lines along which a score compares the covariances. Along these lines, the covariances differ most. None
# means all lines.
LEADING = (1, 4, None)
FARTHEST = 1e6  # larger values are clipped to this value, in standard deviations of the noise
EXACT = 1e-11  # two values count as equal if their distance, in standard deviations of the noise, is smaller


@dataclass(frozen=True, kw_only=True, eq=False)
class Ends:
    """The releases of the two worlds without noise, and the stated standard deviation of the noise.

    Parameters
    ----------
    f0, f1 : (k,) arrays; entries that are not finite count as 0
    std : float > 0
    """

    f0: np.ndarray
    f1: np.ndarray
    std: float

    @property
    def _finite(self) -> list[np.ndarray]:
        return [np.nan_to_num(np.asarray(f, float), posinf=0.0, neginf=0.0) for f in (self.f0, self.f1)]

    @property
    def difference(self) -> np.ndarray:
        """f1 - f0 in units of the noise, (k,)."""
        f0, f1 = self._finite
        return np.clip((f1 - f0) / self.std, -FARTHEST, FARTHEST)

    def residuals(self, outputs: np.ndarray) -> np.ndarray:
        """The outputs minus f0 in units of the noise, clipped to `FARTHEST`, with 0 for NaN; (n, k) -> (n, k)."""
        with np.errstate(over="ignore", invalid="ignore"):
            found = (np.asarray(outputs, float) - self._finite[0]) / self.std
        return np.clip(np.nan_to_num(found, nan=0.0, posinf=FARTHEST, neginf=-FARTHEST), -FARTHEST, FARTHEST)

    def coincidences(self, outputs: np.ndarray) -> np.ndarray:
        """For each output, the number of coincidences under f1 minus the number under f0, (n,).

        The noise of an output is the output minus the release without noise of its world, f0 or f1. A coincidence is an
        entry of the noise that is 0, or equal to another entry up to the sign. If the noise consists of fresh normals,
        there are no coincidences, even if we subtract the wrong one of f0 and f1.
        """
        f0, f1 = self._finite
        with np.errstate(over="ignore", invalid="ignore"):
            counts = [_repeated(np.abs(outputs - f), self.std, outputs) for f in (f0, f1)]
        return (counts[1] - counts[0]).astype(float)


def _repeated(noise: np.ndarray, std: float, outputs: np.ndarray) -> np.ndarray:
    """The number of entries of each row that are 0 or repeated, (n, k) -> (n,); 0 if an entry is not finite."""
    finite = np.isfinite(noise).all(axis=1)
    noise, outputs = (np.where(finite[:, None], a, 0.0) for a in (noise, outputs))
    near = np.maximum(EXACT * std, 4 * np.finfo(float).eps * np.abs(outputs).max(axis=1, initial=0))
    ordered = np.sort(np.concatenate([np.zeros((len(noise), 1)), noise], axis=1), axis=1)
    return finite * (np.diff(ordered, axis=1) <= near[:, None]).sum(axis=1)


def learn(outputs: tuple[np.ndarray, np.ndarray], ends: Ends, steps: int, rng: np.random.Generator) -> dict[str, Score]:
    r"""Scores by name, learnt from runs of the two worlds.

    - means: the projection of the output on the difference of the means, weighted by the inverse of the covariance
      (Fisher).
    - the stated difference: the projection of the output on f1 - f0.
    - steps together: the projection of the output on f1 - f0, weighted by the inverse of the covariance between steps.
      This score needs several steps.
    - spread and correlation: the logarithm of the likelihood ratio of two normal laws with the measured means and
      covariances. The score uses the differences between the covariances only along the first lines of `LEADING`, along
      which the differences are largest.
    - spread of each number: the logarithm of this ratio for independent entries.
    - spread of all numbers: the sum of the squares of all entries, after subtracting the mean.
    - nearness: the distances of the output from f1 and from f0. This score detects rare runs with little noise.
    - coincidences: `Ends.coincidences`. This score detects rare runs without noise on some entry, or with noise that is
      used twice.
    - not finite: whether an entry is not finite.

    Parameters
    ----------
    outputs : pair of (n, k) arrays, n >= 2, for world 0 and for world 1
    ends : Ends
    steps : int >= 1, number of equal parts of an output
    rng : numpy.random.Generator; chooses among the entries if there are more than `MOST_NUMBERS`
    """
    k = len(ends.difference)
    kept = np.arange(k) if k <= MOST_NUMBERS else np.sort(rng.choice(k, MOST_NUMBERS, replace=False))
    norm = float(np.linalg.norm(ends.difference))
    line = ends.difference / (norm or 1.0)

    def seen(outputs: np.ndarray) -> np.ndarray:
        found = ends.residuals(outputs)
        return found if k == len(kept) else np.column_stack([found[:, kept], found @ line])

    x = [seen(one) for one in outputs]
    means, covariances = [one.mean(axis=0) for one in x], [np.atleast_2d(np.cov(one, rowvar=False)) for one in x]
    middle, together = (means[0] + means[1]) / 2, (covariances[0] + covariances[1]) / 2
    values, vectors = np.linalg.eigh(together)
    white = vectors / np.sqrt(np.maximum(values, 0) + max(1e-12 * float(values.sum()), 1e-18))
    # In these coordinates, the two covariances are I - D and I + D. So the eigenvectors of D diagonalise both
    # covariances.
    differ, turn = np.linalg.eigh(white.T @ (covariances[1] - covariances[0]) @ white / 2)
    basis, order = white @ turn, np.argsort(-np.abs(differ))
    gap = (means[1] - means[0]) @ basis
    bad = [float((~np.isfinite(one)).any(axis=1).mean()) for one in outputs]
    total = 1.0 if np.trace(covariances[1]) >= np.trace(covariances[0]) else -1.0

    scores: dict[str, Score] = {
        "means": lambda outputs: (seen(outputs) - middle) @ (basis @ gap),
        "the stated difference": lambda outputs: ends.residuals(outputs) @ line,
        "spread of each number": _likelihoods(seen, np.eye(len(middle)), means, [np.diag(c) for c in covariances]),
        "spread of all numbers": lambda outputs: np.square(seen(outputs) - middle) @ np.full(len(middle), total),
        "nearness": lambda outputs: _nearness(ends.residuals(outputs), ends.difference),
        "coincidences": ends.coincidences,
        "not finite": lambda outputs: np.where(
            np.isfinite(outputs).all(axis=1), 0.0, 1.0 if bad[1] >= bad[0] else -1.0
        ),
    }
    if steps > 1:
        weighted = _steps_together(outputs, ends, steps)
        scores["steps together"] = lambda outputs: ends.residuals(outputs) @ weighted
    for leading in LEADING:
        kept_lines = np.isin(np.arange(len(order)), order[:leading]) * np.clip(differ, -1 + 1e-9, 1 - 1e-9)
        name = "spread and correlation" if leading is None else f"spread and correlation along {leading}"
        scores[name] = _likelihoods(seen, basis, means, [1 - kept_lines, 1 + kept_lines])
    return scores


def _likelihoods(seen: Score, basis: np.ndarray, means: list, variances: list) -> Score:
    """The logarithm of the ratio of two normal densities with independent coordinates along the columns of basis."""
    centres = [mean @ basis for mean in means]
    widths = [np.maximum(v, 1e-18) for v in variances]

    def score(outputs: np.ndarray) -> np.ndarray:
        along = seen(outputs) @ basis
        terms = [np.square(along - c) / v + np.log(v) for c, v in zip(centres, widths, strict=True)]
        return (terms[0] - terms[1]).sum(axis=1) / 2

    return score


def _steps_together(outputs: tuple, ends: Ends, steps: int) -> np.ndarray:
    """f1 - f0, weighted by the inverse of the covariance between steps, (k,)."""
    covariance = np.zeros((steps, steps))
    for one in outputs:
        noise = ends.residuals(one).reshape(len(one), steps, -1)
        noise = noise - noise.mean(axis=0)
        covariance += np.einsum("isj,itj->st", noise, noise) / (2 * noise[:, 0].size)
    covariance += (1e-9 + 1e-9 * np.trace(covariance)) * np.eye(steps)
    return np.linalg.solve(covariance, ends.difference.reshape(steps, -1)).ravel()


def _nearness(found: np.ndarray, difference: np.ndarray) -> np.ndarray:
    """The logarithm of the distance to f0 over the distance to f1."""
    to_f0, to_f1 = (np.sqrt(np.square(found - end).sum(axis=1)) + 1e-12 for end in (0, difference))
    return np.log(to_f0 / to_f1)
