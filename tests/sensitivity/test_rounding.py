"""Tests of the theorem on rounding, compared with exact rational sums, and of its constants."""

import math
from fractions import Fraction

import numpy as np
import pytest

from nfa import clip, feedback, ops
from nfa.kernels import clip as kernel
from nfa.mechanism import ADJACENCIES, Mechanism, NoGuarantee
from nfa.network import Conv2d, Dense, Net, mlp
from nfa.sensitivity import BOUNDS_APART
from nfa.sensitivity import rounding as theorem
from nfa.sensitivity.rounding import U, additions, check_norm, check_settings, gamma, outward, rounding, roundings

pytestmark = pytest.mark.verifies("ours:rounding")


def exact(values):
    return [Fraction(float(v)) for v in np.ravel(values)]


@pytest.mark.parametrize("n", [1, 2, 100, 5000])
def test_no_sum_errs_by_more_than_gamma(n):
    """Sums in NumPy's order, in the library's order and one by one differ from the exact sum by at most gamma.

    The terms are all positive, or have either sign.
    """
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=n), rng.normal(size=n)
    terms = [x * y for x, y in zip(exact(a), exact(b), strict=True)]
    size, one_by_one = sum(map(abs, terms)), 0.0
    for x, y in zip(a, b, strict=True):
        one_by_one += float(x) * float(y)
    for computed in (a @ b, np.sum(a * b), one_by_one):
        assert abs(Fraction(float(computed)) - sum(terms)) <= gamma(n) * size


def test_gamma_is_where_it_holds():
    assert gamma(0) == 0
    assert gamma(3) == 3 * U / (1 - 3 * U)
    with pytest.raises(ValueError, match="nfa bounds the error of fewer than"):
        gamma(2**52)


def test_what_is_turned_into_a_float_is_never_below():
    for value in (Fraction(1, 3), Fraction(1, 10), Fraction(2**53 + 1), Fraction(1), Fraction(0)):
        found = outward(value)
        assert Fraction(found) >= value
        assert found == 0 or Fraction(math.nextafter(found, 0)) < value
    for d in (1, 2, 3, 10, 669_706, 10**9):
        assert d <= theorem.root(d) ** 2 <= d * (1 + Fraction(1, 2**38))


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_the_sensitivity_is_the_theorem_s(adjacency):
    """The sensitivity with rounding is that of the theorem: (1 + gamma_2D) (k + 2 M gamma_K) c + g sqrt(d)."""
    net = mlp([2, 1], ops.tanh, rng=np.random.default_rng(0))
    D, K, M, c, g = 64 + 16 * (3 + 2 + 2 * 2), 4 * 3 + 250 + 16, 1000, 0.5, 2.0**-20
    assert (roundings(net), additions(4, 1, M)) == (D, K)
    k = BOUNDS_APART[adjacency]
    want = (1 + gamma(2 * D)) * (k + 2 * M * gamma(K)) * Fraction(c)
    how = {"noise_std": 1.0, "sampling": "none", "sampling_rate": 1.0, "adjacency": adjacency}
    found = rounding(net, term=c, part=4, records=M)
    assert (found.terms, found.sums) == (gamma(2 * D), 2 * M * gamma(K) * (1 + gamma(2 * D)))
    assert found.of_sums(k * c, adjacency) == pytest.approx(float(want), rel=1e-15)
    assert Fraction(found.of_sums(k * c, adjacency)) >= want
    counted = found.on_grid(Mechanism(law="gaussian", sensitivity=k * c, **how), g)
    assert counted.sensitivity == pytest.approx(float(want) + g * math.sqrt(3), rel=1e-12)
    assert counted.noise_std == 1.0


def test_positions_count():
    net = Net((1, 6, 7), [(Conv2d(2, 3), ops.tanh), (Dense(3),)], rng=np.random.default_rng(0))
    assert theorem.positions(net) == 4 * 5
    assert theorem.positions(mlp([3, 4, 2], ops.tanh, rng=np.random.default_rng(0))) == 1


@pytest.mark.parametrize("shape", [(1, 1), (7, 7), (300, 10), (10, 300), (2000, 2)])
def test_the_norm_of_a_matrix_is_proved_or_refused(shape, monkeypatch):
    """nfa proves the bound of a matrix norm or refuses the matrix: a bound that is too small by 1e-6 is refused.

    We test a matrix of rank one and other matrices.
    """
    rng = np.random.default_rng(0)
    net = mlp([2, shape[0], shape[1]], ops.tanh, rng=rng)
    matrices = [feedback.draw(net, law=law, scale=0.3, rng=rng)[1] for law in ("normal", "orthogonal")]
    matrices.append(np.outer(rng.normal(size=shape[0]), rng.normal(size=shape[1])))
    for B in matrices:
        check_norm(B, net)
    norm = np.linalg.norm
    monkeypatch.setattr(theorem.np.linalg, "norm", lambda *given: norm(*given) * (1 - 1e-6))
    for B in matrices:
        with pytest.raises(NoGuarantee, match="ours:rounding"):
            check_norm(B, net)


def test_settings_at_the_ends_of_float64_are_refused():
    check_settings(
        [("C", 1.0), ("m", 600), ("tau_h_min", 0.0), ("tau", math.inf), ("tau_h", [1.0, 2.0]), ("clip", "joint")]
    )
    for name, value in (("C", 1e-70), ("tau_h", [1.0, 1e70]), ("m", 10**61)):
        with pytest.raises(ValueError, match=f"a setting of a secure run must be 0 or between .* got {name} = "):
            check_settings([(name, value)])


@pytest.mark.parametrize("phi", list(ops.ACTIVATIONS.values()), ids=list(ops.ACTIVATIONS))
def test_no_derivative_is_above_its_bound(phi):
    """No derivative that NumPy computes exceeds its bound.

    Near the point where the derivative attains its bound, rounding could give a value above this bound.
    """
    z = np.concatenate(
        [np.linspace(-3, 3, 100_001), np.geomspace(1e-12, 1, 5000), math.sqrt(2) + np.linspace(-1e-7, 1e-7, 5000)]
    )
    for one in (z, -z, z.astype(np.float32)):
        assert np.abs(phi.dphi(one)).max() <= one.dtype.type(phi.gamma_max)


@pytest.mark.parametrize("clip_l2", [clip.clip_l2, kernel.clip_l2], ids=["numpy", "kernel"])
def test_a_clip_passes_its_bound_by_no_more_than_is_counted(clip_l2):
    """A clip exceeds its bound by at most the counted error, even if a million small squares are rounded away.

    The rows have 1 or 64 large entries. In float32 with 64 large entries, the clip exceeds its bound by more than 1e-6.
    """
    n = 2**20
    net = mlp([n, 1], ops.tanh, rng=np.random.default_rng(0))
    for largest in (1, 64):
        for dtype, eps in ((np.float64, 2.0**-52), (np.float32, 2.0**-23)):
            v = np.full((1, n), math.sqrt(0.49 * eps / (1 if largest == 64 else 4096)), dtype)
            v[0, :largest] = 1
            over = math.sqrt(math.fsum(np.square(clip_l2(v, 1.0).astype(np.longdouble)).ravel())) - 1
            if dtype == np.float64:
                assert over <= gamma(roundings(net))
            else:
                assert largest == 1 or over > 1e-6
