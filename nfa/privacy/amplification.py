"""The theorems on random batches that the accountants use, with the covered cases, curves, sentences and formulas.

The functions for the curves are in `nfa.privacy.subsampling`, `nfa.privacy.sampled_gaussian` and `nfa.privacy.zeroed`.

Poisson batches under zero-out [ours:zero-out]. Neighbours D and D' have the same n records, but one record of D is
replaced by the zero record in D'. The zero record adds exactly 0 to every sum, whether it is in the batch or not.
Whether any other record is in the batch does not depend on the zero record. So a step on D' has the law of a step on D
without this record. The sampling rate, the normaliser and the number of steps are equal for D and D', as under
add-remove with a public number of records. So a theorem for one record added or removed also holds under zero-out.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from nfa.mechanism import ADJACENCIES, Mechanism, Release
from nfa.privacy import dominating, subsampling
from nfa.privacy.coverage import Bound, Coverage, PureBound, noise_multiplier, unsampled
from nfa.privacy.dominating import DominatingPair, Profile
from nfa.privacy.sampled_gaussian import poisson_gaussian_at_any_order
from nfa.privacy.zeroed import amplified_zeroed, without_replacement_zeroed
from nfa.sampling import Poisson, WithoutReplacement

_CURVE = "with ε(α), the curve without sampling"
_GENERAL = (
    "ε'(α) = log(1 + s(2) + s(3) + ... + s(α)) / (α - 1)",
    "s(2) = q² C(α,2) min{4 (e^ε(2) - 1), 2 e^ε(2), e^ε(2) (e^ε(∞) - 1)²}",
    "s(l) = q^l C(α,l) e^((l-1) ε(l)) min{2, (e^ε(∞) - 1)^l}",
    _CURVE + " (ε(∞) = ∞ for Gaussian noise)",
)
_PURE = (
    "ε' = log(1 + q (e^ε - 1))",
    "with ε = ε(∞), of one use without sampling; √2 / z for Laplace noise",
)


def _of_gaussian(bound: Callable) -> Callable[[Release, np.ndarray], np.ndarray]:
    """A bound for Gaussian noise as a function of the release."""
    return lambda release, orders: bound(
        orders, sampling_rate=release.sampling_rate, noise_multiplier=noise_multiplier(release)
    )


def _of_curve(bound: Callable) -> Callable[[Release, np.ndarray], np.ndarray]:
    """A bound that depends only on the mechanism's Renyi curve, as a function of the release."""
    return lambda release, orders: bound(orders, sampling_rate=release.sampling_rate, curve=unsampled(release)[0])


def _of_curve_and_infinity(release: Release, orders: np.ndarray) -> np.ndarray:
    curve, at_infinity = unsampled(release)
    return subsampling.without_replacement(
        orders, sampling_rate=release.sampling_rate, curve=curve, epsilon_infinity=at_infinity
    )


def _of_curve_as_replaced(release: Release, orders: np.ndarray) -> np.ndarray:
    """The bound for one replaced record, with twice the sensitivity under zero-out.

    Source: [ours:zero-out-replaced]
    """
    assert isinstance(release, Mechanism), "only a Mechanism has a sensitivity that can be doubled"
    return _of_curve_and_infinity(replace(release, sensitivity=2 * release.sensitivity), orders)


def _independent_pairs(release: Mechanism, law: Callable[[float], Profile]) -> tuple[DominatingPair, ...] | None:
    if release.adjacency not in ("add-remove", "zero-out"):
        return None
    return dominating.poisson(law(release.noise_multiplier), release.sampling_rate)


def _drawn_pairs(release: Mechanism, law: Callable[[float], Profile]) -> tuple[DominatingPair, ...] | None:
    """The dominating pair for batches without replacement; None if no theorem covers the adjacency.

    Two batches of a fixed size differ in one replaced record. A replaced record can change a sum by twice the
    sensitivity under zero-out.
    """
    apart = {"replace-one": 1, "zero-out": 2}.get(release.adjacency)
    if apart is None:
        return None
    return dominating.without_replacement(law(release.noise_multiplier / apart), release.sampling_rate)


def _drawn(id: str, *, adjacency: str = "replace-one", **what: Any) -> Bound:
    return Bound(id=id, samplings=(WithoutReplacement.scheme,), adjacencies=(adjacency,), **what)


def _independent(id: str, **what: Any) -> Bound:
    return Bound(id=id, samplings=(Poisson.scheme,), adjacencies=("add-remove", "zero-out"), **what)


# Source: [ours:zero-out]
COVERAGE = (
    Coverage(
        sampling=WithoutReplacement.scheme,
        in_full=("replace-one", "zero-out", "replace-label"),
        bounds=(
            _drawn(
                "wbk2019:thm27",
                laws=("gaussian",),
                says="batches without replacement, the bound for Gaussian noise",
                curve=_of_gaussian(subsampling.without_replacement_gaussian),
                formula=(
                    "ε'(α) = log(1 + s(2) + s(3) + ... + s(α)) / (α - 1)",
                    "s(2) = q² C(α,2) min{4 (e^ε(2) - 1), 2 e^ε(2)}",
                    "s(l) = q^l C(α,l) min{4 √(B(2⌊l/2⌋) B(2⌈l/2⌉)), 2 e^((l-1) ε(l))}",
                    "with ε(α) = α / (2 z²) for Gaussian noise, without sampling",
                    "and B(j) = E[(r - 1)^j], r the ratio of N(1/z, 1) to N(0, 1)",
                ),
            ),
            _drawn(
                "wbk2019:thm9",
                says="batches without replacement, the bound for any mechanism",
                curve=_of_curve_and_infinity,
                formula=_GENERAL,
            ),
            _drawn(
                "lee2020:lem3",
                says="batches without replacement, the bound for any mechanism",
                curve=_of_curve_and_infinity,
                formula=_GENERAL,
            ),
            _drawn(
                "berthier2019:thm3.2",
                says="batches without replacement, a weaker form of the bound",
                curve=_of_curve(subsampling.without_replacement_berthier),
                formula=(
                    "ε'(α) = log(1 + s(2) + s(3) + ... + s(α)) / (α - 1)",
                    "s(2) = 4 q² C(α,2) (e^ε(2) - 1)",
                    "s(l) = 2 q^l C(α,l) e^((l-1) ε(l))",
                    _CURVE,
                ),
            ),
            _drawn(
                "ours:zero-out-drawn",
                adjacency="zero-out",
                laws=("gaussian",),
                says="batches without replacement and a record zeroed out, the bound for Gaussian noise",
                curve=_of_gaussian(without_replacement_zeroed),
                formula=(
                    "ε'(α) = log(1 + s(2) + s(3) + ... + s(α)) / (α - 1)",
                    "s(2) = q² C(α,2) (e^(4/z²) - 2 e^(2/z²) + e^(1/z²))",
                    "s(l) = q^l C(α,l) min{u (w b + w - 1)^l, u⁴ + u}",
                    "with w = e^((l-1) / z²), u = e^(l (l-1) / (2 z²)),",
                    "b = (B(2⌊l/2⌋) B(2⌈l/2⌉))^(1 / (2 l))",
                    "and B(j) = E[(r - 1)^j], r the ratio of N(1/z, 1) to N(0, 1)",
                ),
            ),
            _drawn(
                "ours:zero-out-replaced",
                adjacency="zero-out",
                laws=("gaussian", "laplace"),
                says="batches without replacement and a record zeroed out, the bound for a record replaced",
                curve=_of_curve_as_replaced,
                formula=(*_GENERAL[:3], "with ε(α), the curve without sampling at z / 2"),
            ),
        ),
        pure=(
            PureBound(
                id="balle2018:without-replacement",
                adjacencies=("replace-one",),
                says="batches without replacement, pure differential privacy of any mechanism",
                epsilon=subsampling.amplified,
                formula=_PURE,
            ),
            PureBound(
                id="ours:zero-out-pure",
                adjacencies=("zero-out",),
                says="batches without replacement and a record zeroed out, pure differential privacy of any mechanism",
                epsilon=amplified_zeroed,
                formula=("ε' = log((1 + q (e^2ε - 1)) / (1 + q (e^ε - 1)))", _PURE[1]),
            ),
        ),
        refused={
            "add-remove": (
                "wbk2019:thm9",
                "the theorems on batches without replacement cover only a replaced or zeroed-out record. Use "
                "replace-one or zero-out, with the sensitivity for that adjacency, or draw Poisson batches",
            ),
            "replace-label": (
                "wbk2019:thm9",
                "the proof compares batches that differ in a whole record, so the sensitivity to a label is not "
                "enough. Use replace-one, or the bound {base}, which ignores the sampling",
            ),
        },
        pairs=_drawn_pairs,
    ),
    Coverage(
        sampling=Poisson.scheme,
        in_full=ADJACENCIES,
        bounds=(
            _independent(
                "lee2020:fn1",
                laws=("gaussian",),
                says="Poisson batches, the exact curve for Gaussian noise",
                curve=_of_gaussian(subsampling.poisson_gaussian),
                formula=(
                    "ε'(α) = log(s(0) + s(1) + ... + s(α)) / (α - 1)",
                    "s(k) = C(α,k) (1 - q)^(α-k) q^k e^(k (k-1) / (2 z²))",
                ),
                finer="mironov2019:sec3.3",
            ),
            _independent(
                "mironov2019:sec3.3",
                laws=("gaussian",),
                integers=False,
                says="Poisson batches, the exact curve at all real orders",
                curve=_of_gaussian(poisson_gaussian_at_any_order),
                formula=(
                    "ε'(α) = log(1 + I) / (α - 1), for integers the sum of lee2020:fn1",
                    "I = ∫ φ(x) ((1 + u)^α - 1 - α u) dx, φ the density of N(0, 1),",
                    "u = q (e^(x/z - 1/(2 z²)) - 1)",
                ),
            ),
            _independent(
                "mironov2019:thm11",
                laws=("gaussian",),
                integers=False,
                says="Poisson batches, the closed form for Gaussian noise",
                curve=_of_gaussian(subsampling.poisson_gaussian_closed_form),
                formula=(
                    "ε'(α) = 2 q² α / z², if q <= 1/5, z >= 4,",
                    "α <= z² A / 2 - 2 log z  and",
                    "α <= (z² A² / 2 - log 5 - 2 log z) / (A + log(q α) + 1 / (2 z²))",
                    "with A = log(1 + 1 / (q (α - 1)))",
                ),
            ),
            _independent(
                "zhuwang2019:thm5",
                says="Poisson batches, the bound for any mechanism",
                curve=_of_curve(subsampling.poisson),
                formula=(
                    "ε'(α) = log(s(1) + s(2) + ... + s(α)) / (α - 1)",
                    "s(1) = (1 - q)^(α-1) (α q - q + 1)",
                    "s(2) = C(α,2) q² (1 - q)^(α-2) e^ε(2)",
                    "s(l) = 3 C(α,l) (1 - q)^(α-l) q^l e^((l-1) ε(l))",
                    _CURVE,
                ),
            ),
        ),
        pure=(
            PureBound(
                id="balle2018:poisson",
                adjacencies=("add-remove", "zero-out"),
                says="Poisson batches, pure differential privacy of any mechanism",
                epsilon=subsampling.amplified,
                formula=_PURE,
            ),
        ),
        refused={
            "replace-one": (
                "lee2020:fn1",
                "the theorems on Poisson batches cover only an added, removed or zeroed-out record. Use add-remove or "
                "zero-out, or the bound {base}, which ignores the sampling",
            ),
            "replace-label": (
                "lee2020:fn1",
                "the theorems on Poisson batches cover only an added, removed or zeroed-out record, and not a replaced "
                "label. Use add-remove or zero-out, or the bound {base}, which ignores the sampling",
            ),
        },
        attained=("add-remove", "zero-out"),
        pairs=_independent_pairs,
    ),
)
