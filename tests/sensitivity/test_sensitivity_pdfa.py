"""Tests of PDFA: the largest change of a direction from one record, and the law of its noise."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
from scipy import stats

from nfa import ops
from nfa.clip import clip_entries, clip_l2, offset, offset_signed
from nfa.network import forward, mlp
from nfa.rules.pdfa import pdfa
from nfa.sensitivity.pdfa import bias_sensitivity, column_law, column_noise_bounds, column_sensitivity, row_covariance
from tests.oracles.core import assert_close, v11

FALSE_ALARM = 1e-6  # probability that correct code fails a Monte Carlo test of this file; seeds are fixed

rng = np.random.default_rng


def some_layer(m, n_in, n_out, seed=0):
    """Projected errors u, phi' and inputs h of m records."""
    r = rng(seed)
    return r.normal(0, 0.5, (m, n_out)), r.uniform(0.2, 1, (m, n_out)), r.uniform(-0.4, 0.4, (m, n_in))


# --- the law of a column -------------------------------------------------------------------------------------


@pytest.mark.verifies("ohana2021:eq13")
@pytest.mark.parametrize("m, n_in, n_out", [(1, 1, 1), (4, 3, 5), (7, 5, 2)])
def test_the_law_of_a_column_equals_loops(m, n_in, n_out):
    u, dphi, h = some_layer(m, n_in, n_out)
    f, std = column_law(u, dphi, h, sigma=0.3)
    for j, k in itertools.product(range(n_out), range(n_in)):
        assert_close(f[j, k], math.fsum(u[i, j] * dphi[i, j] * h[i, k] for i in range(m)) / m)
        assert_close(std[j, k], 0.3 / m * math.hypot(*(dphi[i, j] * h[i, k] for i in range(m))))


@pytest.mark.verifies("ohana2021:eq13-index")
@pytest.mark.parametrize("m, n_in, n_out", [(4, 3, 5), (7, 5, 2)])
def test_a_column_has_as_many_deviations_as_the_layer_has_units(m, n_in, n_out):
    """A column has one standard deviation for each unit of the layer: j runs to n_l, the size of g and of the column.

    n_{l-1} is the number of columns.
    """
    f, std = column_law(*some_layer(m, n_in, n_out), sigma=1.0)
    for k in range(n_in):
        assert f[:, k].shape == std[:, k].shape == (n_out,)


def v12(l):
    """u, phi' and the input h of layer l of vector V-12, for three records, with the printed offset and without g."""
    net, x, y, B = v11()
    z, h = forward(net, x)
    n = h[l - 1].shape[1]
    u = clip_l2((h[3] - y) @ B[l].T, 0.5)
    return u, 1 / np.cosh(z[l]) ** 2, clip_entries(offset(h[l - 1], 0.2 / math.sqrt(n)), 1 / math.sqrt(n))


@pytest.fixture(scope="module")
def draws():
    """4,000 noisy directions of the rule for layer 1 of V-12 (3 rows, 4 columns) with sigma = 0.1."""
    net, x, y, B = v11()
    generator = rng(5)
    one = partial(pdfa, net, x, y, B=B, m=3, sigma=0.1, tau_B=0.5, tau_h_min=0.2, rng=generator)
    return np.array([one()[0][1] for _ in range(4000)])


@pytest.mark.slow
@pytest.mark.verifies("ohana2021:eq13", "ohana2021:eq12")
def test_the_noise_of_the_rule_has_the_law_of_the_column(draws):
    """The rule's noise has the law of the column: in each entry, the mean is normal, and N s^2 / var is chi-squared.

    There are two two-sided tests for each of 12 entries. If a mean is wrong by 0.17 std, or a variance by a third, the
    tests miss this with probability 1e-6.
    """
    f, std = column_law(*v12(1), sigma=0.1)
    n = len(draws)
    p = [2 * stats.norm.sf(np.abs(draws.mean(axis=0) - f) / std * math.sqrt(n))]
    square = ((draws - f) ** 2).sum(axis=0) / std**2
    p += [2 * np.minimum(stats.chi2.cdf(square, n), stats.chi2.sf(square, n))]
    assert np.min(p) * f.size * 2 > FALSE_ALARM
    assert_close(std[:, 3] ** 2, 0.1**2 / 9 * ((v12(1)[1] ** 2).T @ v12(1)[2][:, 3] ** 2))


@pytest.mark.slow
@pytest.mark.verifies("ohana2021:eq13")
def test_columns_share_their_noise_and_rows_do_not(draws):
    """Columns share their noise, and rows do not. We use Fisher's z of 18 pairs of columns and 48 pairs across rows.

    Fisher's z of a sample correlation is normal with variance 1 / (n - 3). If z is wrong by 0.17, the test misses this
    with probability 1e-6.
    """
    _, dphi, h = v12(1)
    n, p = len(draws), []
    for j, (k, other) in itertools.product(range(3), itertools.combinations(range(4), 2)):
        C = row_covariance(dphi[:, j], h, sigma=0.1)
        rho = C[k, other] / math.sqrt(C[k, k] * C[other, other])
        assert abs(rho) > 0.3
        seen = np.corrcoef(draws[:, j, k], draws[:, j, other])[0, 1]
        p.append(2 * stats.norm.sf(abs(math.atanh(seen) - math.atanh(rho)) * math.sqrt(n - 3)))
    for (j, other), k, k2 in itertools.product(itertools.combinations(range(3), 2), range(4), range(4)):
        seen = np.corrcoef(draws[:, j, k], draws[:, other, k2])[0, 1]
        p.append(2 * stats.norm.sf(abs(math.atanh(seen)) * math.sqrt(n - 3)))
    assert min(p) * len(p) > FALSE_ALARM


@pytest.mark.verifies("ohana2021:eq13")
def test_the_digits_of_the_shared_noise():
    """The shared noise has the ledger's digits: in layer 2 of V-12, columns 1 and 2 of row 1 have correlation 0.9961.

    So the two columns have nearly the same noise.
    """
    u, dphi, h = v12(2)
    _, std = column_law(u, dphi, h, sigma=0.1)
    assert std[0] == pytest.approx([0.01921764, 0.01284443, 0.02941941], abs=5e-9)
    C = row_covariance(dphi[:, 0], h, sigma=0.1)
    assert C[0, 1] / std[0, 0] / std[0, 1] == pytest.approx(0.99608895, abs=5e-9)


def test_the_covariance_of_a_row_equals_loops_and_has_the_columns_variances():
    u, dphi, h = some_layer(4, 6, 3)
    _, std = column_law(u, dphi, h, sigma=0.3)
    for j in range(3):
        C = row_covariance(dphi[:, j], h, sigma=0.3)
        for k, other in np.ndindex(6, 6):
            assert_close(C[k, other], 0.09 / 16 * math.fsum(dphi[i, j] ** 2 * h[i, k] * h[i, other] for i in range(4)))
        assert_close(np.diag(C), std[j] ** 2)
        assert np.linalg.matrix_rank(C) == 4  # the covariance of the 6 columns has the rank m = 4


# --- bounds on the noise of a column -------------------------------------------------------------------------

BOUNDS = {"gamma_min": 0.3, "gamma_max": 0.9, "tau_h_min": 0.2, "tau_h_max": 1.1}


def deviations(dphi, h):
    """(a_k)_j as an array (n_l, n_{l-1}), computed by loops."""
    m, n_out, n_in = len(h), dphi.shape[1], h.shape[1]
    a = [[math.hypot(*(dphi[i, j] * h[i, k] for i in range(m))) for k in range(n_in)] for j in range(n_out)]
    return np.array(a)


@pytest.mark.verifies("ohana2021:eq14")
def test_the_bounds_on_a_hold_with_an_entrywise_floor_and_are_attained():
    m, n = 5, 7
    nu, c = 0.2 / math.sqrt(n), 1.1 / math.sqrt(n)
    low, high = column_noise_bounds(m=m, n=n, **BOUNDS)
    for seed in range(50):
        r = rng(seed)
        h = clip_entries(offset_signed(r.normal(0, 0.5, (m, n)), nu), c)
        a = deviations(r.uniform(0.3, 0.9, (m, 3)), h)
        assert (a >= low * (1 - 1e-12)).all()
        assert (a <= high * (1 + 1e-12)).all()
    assert_close(deviations(np.full((m, 3), 0.3), np.full((m, n), -nu)), low * np.ones((3, n)))
    assert_close(deviations(np.full((m, 3), 0.9), np.full((m, n), c)), high * np.ones((3, n)))


@pytest.mark.verifies("ohana2021:eq14")
def test_a_floor_on_the_norm_is_no_floor_on_a():
    """A lower bound of the norm of h gives no lower bound of a: (c, 0, 0, 0) with c = 0.5 has norm >= tau_h_min = 0.2.

    For these rows of h, a is 0 in columns 2 to 4.
    """
    m, n = 5, 4
    h = clip_entries(np.array([[9.0, 0, 0, 0]] * m), 1 / math.sqrt(n))
    assert np.linalg.norm(h, axis=1).tolist() == [0.5] * m
    low, high = column_noise_bounds(m=m, n=n, gamma_min=1.0, gamma_max=1.0, tau_h_min=0.2, tau_h_max=1.0)
    assert low == pytest.approx(0.2236067977, abs=5e-11)
    a = deviations(np.ones((m, 1)), h)[0]
    assert a[0] == pytest.approx(high, rel=1e-15)
    assert a[1:].tolist() == [0.0] * 3


@pytest.mark.verifies("ohana2021:eq14")
def test_the_offset_as_printed_keeps_the_floor_of_a_for_inputs_that_are_not_negative():
    m, n = 5, 7
    nu, c = 0.2 / math.sqrt(n), 1.1 / math.sqrt(n)
    low, _ = column_noise_bounds(m=m, n=n, **BOUNDS)
    x = np.maximum(rng(1).normal(0, 0.5, (m, n)), 0)
    x[:, 0] = 0
    a = deviations(np.full((m, 2), 0.3), clip_entries(offset(x, nu), c))
    assert (a >= low * (1 - 1e-12)).all()
    x[:, 0] = -nu  # the offset cancels a unit of value -nu
    assert deviations(np.full((m, 2), 0.3), clip_entries(offset(x, nu), c))[:, 0].tolist() == [0, 0]


# --- the largest change of a column from one record ----------------------------------------------------------


def moved(old, new, m):
    """The norm of f(D) - f(D') if one record (u, phi', h) replaces another. The terms of all other records cancel."""
    return np.linalg.norm(old[0] * old[1] * old[2] - new[0] * new[1] * new[2]) / m


@pytest.mark.verifies("ohana2021:prop2", "ohana2021:pre-eq16")
def test_a_search_over_replaced_records_comes_up_to_the_sensitivity_and_not_beyond():
    """A search over replaced records comes up to the sensitivity and does not exceed it.

    The settings are m = 4, n_{l-1} = 5, n_l = 3, tau_B = 0.8, tau_h_max = 1.2 and phi' in [0, 1]. The search tries
    random changes of the records, and accepts them if the direction changes more.
    """
    m, c, r = 4, 1.2 / math.sqrt(5), rng(0)
    bound = column_sensitivity(m=m, n=5, tau_B=0.8, gamma_max=1.0, tau_h_max=1.2)
    assert bound == pytest.approx(0.21466253, abs=5e-9)

    def inside(u, dphi, h):
        return u * min(1.0, 0.8 / np.linalg.norm(u)), np.clip(dphi, 0, 1), float(np.clip(h, -c, c))

    def near(record, step):
        return inside(*(part + step * r.standard_normal(np.shape(part)) for part in record))

    pair = [inside(r.normal(size=3), r.uniform(size=3), r.uniform(-c, c)) for _ in range(2)]
    best = moved(*pair, m)
    for trial in range(6000):
        step = 0.3 * 0.998**trial + 1e-4
        new = [near(record, step) for record in pair]
        value = moved(*new, m)
        assert value <= bound * (1 + 1e-12)
        if value > best:
            best, pair = value, new
    assert best > bound * (1 - 1e-5)


def label_flip(**settings):
    """PDFA directions for two data sets that differ in one label, and the normaliser m.

    All weights are 0, so each output is (1/2, 1/2).
    """
    net = mlp([3, 4, 2], ops.tanh, rng=rng(0))
    for l in (1, 2):
        net.W[l][:], net.b[l][:] = 0, 0
    net.b[1][:] = 3  # h = tanh(3) > c, so the top layer's inputs are clipped to c
    x, y = rng(1).normal(size=(4, 3)), np.eye(2)[[0, 1, 0, 1]]
    other = y.copy()
    other[2] = [0, 1]
    B = [None, np.array([[3.0, -1.0], [0.5, 2.0], [-1.0, 1.0], [2.0, 2.5]]), None]
    return [
        pdfa(net, x, labels, B=B, m=4, sigma=0.0, tau_B=0.5, tau_h_max=0.9, rng=rng(2), **settings)
        for labels in (y, other)
    ]


@pytest.mark.verifies("ohana2021:prop2")
def test_a_flipped_label_moves_a_column_of_the_rule_by_exactly_the_sensitivity():
    """Another label changes a column of the top layer by exactly the sensitivity, 2 (0.5) (0.45) / 4.

    The errors (1/2, -1/2) and (-1/2, 1/2) are scaled down to norm 0.5, and h_ik = c = 0.9 / 2.
    """
    (one, _), (two, _) = label_flip()
    bound = column_sensitivity(m=4, n=4, tau_B=0.5, gamma_max=1.0, tau_h_max=0.9)
    assert bound == pytest.approx(0.1125, rel=1e-15)
    assert_close(np.linalg.norm(one[2] - two[2], axis=0), np.full(4, 0.1125))
    assert (
        np.linalg.norm(one[1] - two[1], axis=0) <= column_sensitivity(m=4, n=3, tau_B=0.5, gamma_max=1.0, tau_h_max=0.9)
    ).all()


@pytest.mark.verifies("ohana2021:prop2")
def test_a_bias_keeps_the_sensitivity_if_its_input_is_clipped_and_not_otherwise():
    """The change of a bias is within the sensitivity 0.1125 only if its input is clipped.

    Otherwise the change is 2 (0.5) / 4 = 0.25. The bias input of the rule is 1 unless bias="clipped".
    """
    (_, one), (_, two) = label_flip(bias="one")
    assert np.linalg.norm(one[2] - two[2]) == pytest.approx(bias_sensitivity(m=4, tau_B=0.5, gamma_max=1.0), rel=1e-12)
    assert bias_sensitivity(m=4, tau_B=0.5, gamma_max=1.0) == 0.25
    (_, one), (_, two) = label_flip(bias="clipped")
    assert np.linalg.norm(one[2] - two[2]) == pytest.approx(0.1125, rel=1e-12)
    ratio = bias_sensitivity(m=256, tau_B=1.0, gamma_max=1.0) / column_sensitivity(
        m=256, n=784, tau_B=1.0, gamma_max=1.0, tau_h_max=1.0
    )
    assert ratio == pytest.approx(28, rel=1e-14)


@pytest.mark.verifies("ohana2021:prop2")
def test_a_flipped_label_moves_a_hidden_layer_by_exactly_the_sensitivity():
    """Another label changes a hidden layer by exactly the sensitivity.

    Sigmoid units are at z = 0, where phi' = gamma_max = 1/4. Inputs are clipped to c = 0.9 / sqrt(3).
    """
    net = mlp([3, 4, 2], ops.sigmoid, rng=rng(0))
    for l in (1, 2):
        net.W[l][:], net.b[l][:] = 0, 0
    B = [None, np.array([[3.0, -1.0], [0.5, 2.0], [-1.0, 1.0], [2.0, 2.5]]), None]
    x, y = np.full((4, 3), 7.0), np.eye(2)[[0, 1, 0, 1]]
    other = y.copy()
    other[2] = [0, 1]
    (one, db), (two, db_two) = (
        pdfa(net, x, labels, B=B, m=4, sigma=0.0, tau_B=0.5, tau_h_max=0.9, rng=rng(2)) for labels in (y, other)
    )
    bound = column_sensitivity(m=4, n=3, tau_B=0.5, gamma_max=0.25, tau_h_max=0.9)
    assert_close(np.linalg.norm(one[1] - two[1], axis=0), np.full(3, bound))
    assert bound == pytest.approx(2 / 4 * 0.5 * 0.25 * 0.9 / math.sqrt(3), rel=1e-14)
    assert np.linalg.norm(db[1] - db_two[1]) == pytest.approx(2 / 4 * 0.5 * 0.25, rel=1e-12)
    assert bias_sensitivity(m=4, tau_B=0.5, gamma_max=0.25) == 0.0625


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -1.0])
@pytest.mark.parametrize(
    "function, sizes",
    [
        (column_sensitivity, {"m": 4, "n": 9, "tau_B": 1.0, "gamma_max": 1.0, "tau_h_max": 1.0}),
        (bias_sensitivity, {"m": 4, "tau_B": 1.0, "gamma_max": 1.0}),
        (
            column_noise_bounds,
            {"m": 4, "n": 9, "gamma_min": 0.5, "gamma_max": 1.0, "tau_h_min": 0.5, "tau_h_max": 1.0},
        ),
    ],
)
def test_what_is_no_bound_is_refused_by_name(function, sizes, wrong):
    function(**sizes)
    for name in sizes:
        with pytest.raises(ValueError, match=rf"\b{name}\b.* must be .*, got {wrong}"):
            function(**sizes | {name: wrong})
    with pytest.raises(ValueError, match="m must be positive and finite, got 0"):
        function(**sizes | {"m": 0})


def test_records_that_hold_no_number_are_refused():
    good = np.ones((2, 3))
    for wrong in (math.nan, math.inf, -1.0):
        with pytest.raises(ValueError, match=f"sigma must be at least 0 and finite, got {wrong}"):
            column_law(good, good, good, sigma=wrong)
        with pytest.raises(ValueError, match=f"sigma must be at least 0 and finite, got {wrong}"):
            row_covariance(good[:, 0], good, sigma=wrong)
    for bad in (np.full((2, 3), np.nan), np.ones((0, 3))):
        with pytest.raises(ValueError, match="h must contain at least one record and no NaN or infinity"):
            row_covariance(good[:, 0], bad, sigma=1.0)
        with pytest.raises(ValueError, match="u must contain at least one record and no NaN or infinity"):
            column_law(bad, good, good, sigma=1.0)
        with pytest.raises(ValueError, match="dphi must contain at least one record and no NaN or infinity"):
            column_law(good, bad, good, sigma=1.0)
        with pytest.raises(ValueError, match=r"^h must contain at least one record and no NaN or infinity"):
            column_law(good, good, bad, sigma=1.0)
