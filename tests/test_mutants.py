"""Lines that could be changed without a test noticing, until these: what tests/mutants.py found, by module."""

import math
import tomllib
from fractions import Fraction
from pathlib import Path

import mpmath as mp
import numpy as np
import pytest

from nfa import ops, optim
from nfa.mechanism import Mechanism
from nfa.network import mlp
from nfa.noise import Streams
from nfa.privacy import composition, divergences, last_iterate, mixtures, photonic, photonic_exact, shifted, testing
from nfa.privacy.pearson_vajda import log_moment
from nfa.privacy.tight import tight
from nfa.rules.dp_ulr import dp_ulr
from nfa.sampling import PartialPasses

ROOT = Path(__file__).resolve().parent.parent


def test_every_harmless_change_is_to_lines_that_are_there():
    """tests/mutants.toml: each has its reason, and none is left over from lines that are gone."""
    harmless = tomllib.loads((ROOT / "tests" / "mutants.toml").read_text())["harmless"]
    for change in harmless:
        lines = [line.strip() for line in (ROOT / change["file"]).read_text().splitlines()]
        assert all(line in lines for line in change["old"].splitlines()), change
        assert change["old"] != change["new"]
        assert change["why"].endswith(".")
    assert len({(c["file"], c["old"], c["new"]) for c in harmless}) == len(harmless)


# --- divergences ----------------------------------------------------------------------------------------------


def log_normal(mean, std=1.0):
    return lambda x: -(((x - mean) / std) ** 2) / 2 - math.log(std * math.sqrt(2 * math.pi))


@pytest.mark.parametrize("mean, std", [(-1000.0, 1.0), (1000.0, 1.0), (5000.0, 200.0), (2.0**-8, 2.0**-9)])
def test_the_renyi_divergence_of_densities_far_from_zero_and_narrow_ones(mean, std):
    """alpha (m_P - m_Q)^2 / (2 std^2), wherever the two are: the peak is looked for, on either side of 0."""
    d = divergences.renyi_density(log_normal(mean + std, std), log_normal(mean, std), alpha=3.0)
    assert d == pytest.approx(1.5, rel=1e-6)


def test_a_quadrature_that_does_not_settle_is_refused():
    """It swings without end towards 0, and the error that the rule sees is some 1e-5."""
    with pytest.raises(ValueError, match="the quadrature does not converge"):
        divergences._integral(lambda x: math.sin(1 / x), 0.0, 1.0)


# --- composition ----------------------------------------------------------------------------------------------


def test_the_best_epsilon_of_two_large_ones():
    """Two releases of 10 each with a small slack: just below 20, by bisection on the definition in 40 digits."""
    with mp.workdps(40):
        p = mp.e**10 / (1 + mp.e**10)
        epsilon = mp.log((1 - mp.mpf("1e-6") / p**2) * mp.e**20)  # delta(eps) = p^2 (1 - e^{eps - 20}) for 0 < eps < 20
    found = composition.optimal_epsilon(1e-6, epsilon=10.0, k=2)
    assert found == pytest.approx(float(epsilon), rel=1e-12)


def test_a_delta_is_never_above_1():
    assert composition.advanced_composition(epsilon=0.1, delta=0.3, k=4, delta_slack=0.1)[1] == 1.0


def test_one_release_is_composed_with_nothing():
    one = composition.optimal_delta_of(0.3, epsilons=[1.0], deltas=[0.01])
    assert one == pytest.approx(composition.optimal_delta(0.3, epsilon=1.0, delta=0.01, k=1), rel=1e-13)
    p = math.e / (1 + math.e)
    assert one == pytest.approx(1 - 0.99 * (1 - p * (1 - math.exp(0.3 - 1))), rel=1e-13)


# --- mixtures, iterates ----------------------------------------------------------------------------


def test_a_pass_s_divergence_has_no_origin_and_no_unit():
    """Gradients moved by 400, and in a unit a thousandth as large: the same, as the definition says."""
    gradients, replaced = np.array([1.0, -1.0, 10.0]), -10.0
    want = mixtures.pass_renyi(gradients, replaced, k=1, sigma=1.0, alpha=2)
    assert mixtures.pass_renyi(gradients + 400, replaced + 400, k=1, sigma=1.0, alpha=2) == pytest.approx(
        want, rel=1e-10
    )
    assert mixtures.pass_renyi(1e3 * gradients, 1e3 * replaced, k=1, sigma=1e3, alpha=2) == pytest.approx(
        want, rel=1e-10
    )


def test_a_pass_s_divergence_is_for_three_steps_at_most():
    with pytest.raises(ValueError, match="at most 3, got 4"):
        mixtures.pass_renyi([1.0, -1.0, 2.0, 0.0], -1.0, k=4, sigma=9.0, alpha=2)


def test_a_shift_is_not_negative():
    with pytest.raises(ValueError, match="z must be"):
        shifted.after_step(-1.0, 0.5, C=1.5, s=0.25)


def test_an_average_may_leave_a_divergence_out():
    weights = last_iterate._average(2, [3.0, 5.0], [1, 0])[2]
    assert weights.dtype == float
    assert weights.tolist() == [1, 0]


def test_a_test_may_be_a_row_of_decisions():
    assert testing.errors([True, False], [0.75, 0.25], [0.25, 0.75]) == (0.75, 0.75)


# --- moments of the likelihood ratio ---------------------------------------------------------------------------


@pytest.mark.parametrize("z", [0.001, 0.03, 0.1, 0.25, 4.0, 50.0])
def test_even_moments_of_the_likelihood_ratio(z):
    """E (dP/dQ - 1)^j, multiplied out in 400 digits: sum over k of (-1)^k binom(j, k) e^{k (k - 1) / (2 z^2)}."""
    orders = [2, 4, 6, 64]
    with mp.workdps(400):
        sums = [
            mp.fsum((-1) ** k * mp.binomial(j, k) * mp.exp(k * (k - 1) / (2 * mp.mpf(z) ** 2)) for k in range(j + 1))
            for j in orders
        ]
        want = [float(mp.log(total)) for total in sums]
    np.testing.assert_allclose(log_moment(np.array(orders), noise_multiplier=z), want, rtol=1e-13)


# --- sampling -------------------------------------------------------------------------------------------------


def test_a_pass_over_one_record_is_one_step():
    one = np.zeros((1, 1))
    assert PartialPasses(one, one, 1.0, Streams(0)).steps_per_epoch == 1


# --- photonic -------------------------------------------------------------------------------------------------


def test_noise_beyond_all_measure_leaves_the_conversion_without_an_order():
    """The quadratic term underflows to 0, where the best order is none."""
    ones = {"gamma_min": 1, "gamma_max": 1, "tau_h_min": 1, "tau_h_max": 1, "tau_B": 1}
    assert photonic.claimed_epsilon(delta=1e-5, sizes=(4, 3, 2), T=1, m=4, sigma=1e200, **ones) == (math.inf, None)


def test_covariances_that_rounding_cannot_tell_from_singular_have_no_divergence():
    """Variances of 2 - 2e-14 for 1 at the order 2: S_* is 2e-14 in eight directions, less than the rounding there."""
    A = math.sqrt(2 - 2e-14) * np.eye(8)
    assert photonic_exact._row_renyi(A, np.zeros(8), np.eye(8), np.zeros(8), alpha=2, sigma=1.0) == math.inf
    A = math.sqrt(2 - 2e-10) * np.eye(8)
    d = photonic_exact._row_renyi(A, np.zeros(8), np.eye(8), np.zeros(8), alpha=2, sigma=1.0)
    assert d == pytest.approx(-4 * (math.log(2e-10) + math.log(2)), rel=1e-6)


def test_each_record_is_held_against_the_span_by_itself():
    """A thousand rows that are outside by half of what counts do not add up to one that leaves."""
    V = np.array([[1.0], [0.0]])
    rows = np.tile([1.0, 0.5 * photonic_exact.SPAN_TOLERANCE], (1000, 1))
    assert not photonic_exact._leave(rows, V)
    rows[7, 1] *= 3
    assert photonic_exact._leave(rows, V)


def test_exact_fractions_are_numbers_too():
    assert testing.dp_trade_off([Fraction(1, 4)], epsilon=0.0).tolist() == [0.75]
    half = [Fraction(1, 2)] * 2
    d = photonic_exact.label_matrix_renyi(half, np.ones((2, 2)), np.eye(2), record=0, alpha=2, sigma=1)
    assert d == pytest.approx(0.5)


# --- rules ----------------------------------------------------------------------------------------------------


class Noting:
    """A generator that notes of which type normals are asked for."""

    def __init__(self):
        self.rng, self.types = np.random.default_rng(0), set()

    def standard_normal(self, size=None, dtype=float):
        self.types.add(np.dtype(dtype))
        return self.rng.standard_normal(size, dtype)


def test_parameter_noise_is_drawn_in_the_network_s_own_precision():
    net = mlp([3, 4, 2], ops.tanh, rng=np.random.default_rng(0), dtype=np.float32)
    x, y = np.ones((2, 3), np.float32), np.eye(2, dtype=np.float32)
    rng = Noting()
    dp_ulr(net, x, y, rng=rng, state={}, sigma_0=1.0, C=1.0, K=2, N_B=2, remedy="parameters")
    assert rng.types == {np.dtype(np.float32)}


# --- optimizers -----------------------------------------------------------------------------------------------


def test_a_step_size_is_finite():
    with pytest.raises(ValueError, match="inf"):
        optim.SGD(lr=math.inf)


# --- tight numbers --------------------------------------------------------------------------------------------


def test_the_grid_of_a_tight_number_if_nothing_is_said(monkeypatch):
    """1e-5, or a millionth of our own epsilon where that is more."""
    pld = pytest.importorskip("dp_accounting.pld")
    intervals = []

    class Accountant:
        def __init__(self, value_discretization_interval):
            intervals.append(value_discretization_interval)

        def compose(self, event, count):
            assert count == 1

        def get_epsilon(self, delta):
            return 0.25

    monkeypatch.setattr(pld, "PLDAccountant", Accountant)
    for noise_std in (1.0, 0.01):
        release = Mechanism(
            law="gaussian",
            adjacency="add-remove",
            sampling="none",
            sampling_rate=1.0,
            sensitivity=1.0,
            noise_std=noise_std,
        )
        assert tight([(release, 1)], delta=1e-5).epsilon == 0.25
    assert intervals[0] == 1e-5
    assert 0.005 < intervals[1] < 0.006  # the least epsilon is near (1 / 0.01)^2 / 2 + 479
