"""Claims in the sentences of Ohana et al. (2021), and formulas without a number.

V-11 is a test vector: a 4-3-3-2 tanh network with three records.
"""

import itertools
import math
from fractions import Fraction
from functools import partial

import numpy as np
import pytest

from nfa import data, feedback, ops, optim, sampling
from nfa.experiments import records
from nfa.feedback import ternarize
from nfa.network import ARCHITECTURES, Net, accuracy, dense, forward, mlp
from nfa.noise import Streams
from nfa.papers.ohana2021.claims import claimed_column_renyi, claimed_pdfa_epsilon
from nfa.papers.ohana2021.column_bound import Clips
from nfa.papers.ohana2021.table1 import (
    COLUMNS,
    PRINTED,
    clipping_and_noise,
    drops,
    expected_noise_norm,
    gaps_to_dfa,
    table1_settings,
)
from nfa.privacy.divergences import hockey_stick
from nfa.privacy.gaussians import epsilon_gaussian
from nfa.rules.bp import bp
from nfa.rules.dfa import dfa
from nfa.rules.dp_dfa import dp_dfa
from nfa.rules.dp_sgd import dp_sgd
from nfa.rules.noisy_bp import noisy_bp
from nfa.rules.pdfa import pdfa
from nfa.rules.tdfa import tdfa
from nfa.sensitivity.pdfa import column_law, column_sensitivity, repaired_pdfa_sensitivity
from nfa.train import train
from tests.oracles.core import batch, rule_by_records, times, v11
from tests.project.tree import ROOT

rng = np.random.default_rng
RESULTS = ROOT / "results" / "ohana2021-table1-paper"


def differences(net, x, y, l, step=1e-5):
    """Gradient of the mean cross-entropy with respect to W[l], by central differences (error about 1e-10)."""
    found = np.zeros_like(net.W[l])
    for at in np.ndindex(found.shape):
        losses = []
        for move in (step, -step):
            other = net.copy()
            other.W[l][at] += move
            losses.append(-np.sum(y * np.log(forward(other, x)[1][net.L])) / len(x))
        found[at] = (losses[0] - losses[1]) / (2 * step)
    return found


# --- introduction and background ---------------------------------------------------------------------------------


@pytest.mark.verifies("ohana2021:dp-utility")
def test_every_private_cell_of_table_1_is_below_its_rows_first():
    """Every private accuracy in Table 1 is below the accuracy without privacy in the first cell of its row.

    We test the smallest and the largest drop of each row. We compute the drops from the digits of the table.
    """
    digits = {
        "BP": "88.33 75.22 70.71 71.47 71.27 70.28 66.78",
        "DFA": "86.80 84.20 84.04 84.15 83.70 83.06 81.66",
        "TDFA": "86.63 84.20 84.38 84.04 83.94 82.98 80.80",
        "PDFA": "85.85 84.00 83.79 83.69 83.36 82.63 80.94",
    }
    known = {"BP": (13.11, 21.55), "DFA": (2.6, 5.14), "TDFA": (2.25, 5.83), "PDFA": (1.85, 4.91)}
    for rule, text in digits.items():
        plain, *private = map(Fraction, text.split())
        lost = [plain - cell for cell in private]
        assert (float(min(lost)), float(max(lost))) == known[rule]
        assert [drops(PRINTED, sigma)[rule] for sigma in COLUMNS[1:]] == [float(v) for v in lost]


@pytest.mark.verifies("ohana2021:dp-impossible")
def test_what_can_be_inferred_under_differential_privacy_is_bounded_and_not_nothing():
    """Differential privacy limits inference, but does not prevent it.

    Randomised response that gives the true answer with probability 3/4 is (log 3, 0)-DP. A guess of the truth is right
    with probability at most 3/4, but this is more than 1/2.
    """
    law = {0: (Fraction(3, 4), Fraction(1, 4)), 1: (Fraction(1, 4), Fraction(3, 4))}  # answer's law, given the truth
    assert max(law[0][k] / law[1][k] for k in (0, 1)) == 3
    right = {
        g: sum(Fraction(1, 2) * law[truth][k] for truth in law for k in (0, 1) if g[k] == truth)
        for g in itertools.product((0, 1), repeat=2)
    }
    assert max(right.values()) == Fraction(3, 4) == Fraction(1, 2) + Fraction(1, 2) * Fraction(1, 2)
    apart = hockey_stick(*(np.array(law[k], float) for k in (0, 1)), epsilon=0.0)
    # the gain of the best guess is 0 if and only if epsilon = delta = 0
    assert apart == float(2 * max(right.values()) - 1)


@pytest.mark.verifies("ohana2021:dp-impossible")
def test_what_others_tell_of_one_person_is_not_bounded():
    """Differential privacy does not limit the information that the answers of other people reveal about a person.

    If 101 people have the same bit, the majority of their answers is this bit with probability 0.99999997, by the
    binomial law. For five people, we also enumerate all answers.
    """

    def majority(n, truth=Fraction(3, 4)):
        return sum(math.comb(n, k) * truth**k * (1 - truth) ** (n - k) for k in range(n // 2 + 1, n + 1))

    by_hand = sum(
        math.prod(Fraction(3, 4) if told else Fraction(1, 4) for told in answers)
        for answers in itertools.product((0, 1), repeat=5)
        if sum(answers) > 2
    )
    assert majority(5) == by_hand
    assert majority(1) == Fraction(3, 4) < majority(5) < majority(101)
    assert float(majority(101)) == pytest.approx(0.99999997, abs=5e-9)
    for n in (1, 5, 101):  # the numbers of ones among n answers, for either bit
        ones = np.array([math.comb(n, k) * 0.75**k * 0.25 ** (n - k) for k in range(n + 1)])
        apart = hockey_stick(ones, ones[::-1], epsilon=0.0)
        assert apart == pytest.approx(float(2 * majority(n) - 1), abs=1e-12)


@pytest.mark.verifies("ohana2021:data-covariance")
def test_the_covariance_depends_on_the_data_in_pdfa_and_not_in_dp_dfa():
    """In layer 2 of V-11, the covariance of the noise depends on the data in PDFA, but not in DP-DFA.

    We compute the response of the update to each normal sample of the noise, on the data and on halved data.
    """
    net, x, y, B = v11()

    class OneNormal:
        """An rng that returns 1 as the k-th normal sample, and 0 as all other samples."""

        def __init__(self, k):
            self.left = k

        def standard_normal(self, shape, dtype=None, out=None):
            g = np.zeros(shape)
            if 0 <= self.left < g.size:
                g.flat[self.left] = 1.0
            self.left -= g.size
            return g

    def deviations(x):
        """Standard deviation of every entry of dW^2, as the root of the sum of squared responses, for 3 records."""
        settings = {"B": B, "m": 3, "tau_B": 0.5, "tau_h_min": 0.2}
        still = pdfa(net, x, y, sigma=0.0, rng=rng(0), **settings)[0][2]
        moved = [pdfa(net, x, y, sigma=0.1, rng=OneNormal(k), **settings)[0][2] - still for k in range(24)]
        return np.sqrt(np.sum(np.square(moved), axis=0))

    found = deviations(x)
    np.testing.assert_allclose(found[0], [0.01921764, 0.01284443, 0.02941941], rtol=0, atol=5e-9)
    other = deviations(x / 2)
    assert np.abs(other / found - 1).max() > 0.05
    np.testing.assert_allclose(other[0], [0.01542119, 0.00827357, 0.01843916], rtol=0, atol=5e-9)
    h = np.clip(forward(net, x)[1][1] + 0.2 / math.sqrt(3), -1 / math.sqrt(3), 1 / math.sqrt(3))
    dphi = 1 - forward(net, x)[1][2] ** 2
    np.testing.assert_allclose(column_law(np.zeros_like(dphi), dphi, h, sigma=0.1)[1], found, rtol=1e-12)
    a, b = (dp_dfa(net, d, y, B=B, m=3, sigma=s, tau_h=1.0, rng=rng(7))[0][2] for d in (x,) for s in (0.0, 0.1))
    c, d = (dp_dfa(net, x / 2, y, B=B, m=3, sigma=s, tau_h=1.0, rng=rng(7))[0][2] for s in (0.0, 0.1))
    np.testing.assert_allclose(b - a, d - c, rtol=0, atol=1e-15)


@pytest.mark.verifies("ohana2021:risk")
def test_the_mean_gradient_of_all_minibatches_is_that_of_the_empirical_risk():
    """The mean over the gradients of all minibatches is the gradient of the empirical risk.

    We use V-11 with N = 3 records and all batches of 2 records. The targets are vectors, not numbers.
    """
    net, x, y, _ = v11()
    pairs = [bp(net, x[[i, j]], y[[i, j]]) for i, j in itertools.combinations(range(3), 2)]
    for l in (1, 2, 3):
        np.testing.assert_allclose(
            np.mean([dW[l] for dW, _ in pairs], axis=0), differences(net, x, y, l), rtol=0, atol=1e-8
        )
    assert y.shape == forward(net, x)[1][3].shape == (3, 2)


@pytest.mark.verifies("ohana2021:error")
def test_the_error_is_y_hat_minus_y_for_matching_losses_and_not_for_the_squared_loss_of_a_squashed_output():
    """The error is y_hat - y for matching losses, but not for the squared loss of a squashed output.

    Softmax with cross-entropy, and identity with squared loss, give y_hat - y. Squared loss of tanh or softmax does
    not. We compute central differences with respect to z^L.
    """
    z, y, step = np.array([0.3, -1.2, 2.0]), np.array([0.0, 1.0, 0.0]), 1e-6

    def soft(v):
        return np.exp(v) / np.exp(v).sum()

    def differences(loss):
        return np.array([(loss(z + step * u) - loss(z - step * u)) / (2 * step) for u in np.eye(3)])

    entropy = differences(lambda v: -np.sum(y * np.log(soft(v))))
    np.testing.assert_allclose(entropy, soft(z) - y, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ops.cross_entropy_error(z[None], y[None])[0], entropy, rtol=0, atol=1e-9)
    squared = differences(lambda v: np.sum((v - y) ** 2) / 2)
    np.testing.assert_allclose(ops.residual(z[None], y[None])[0], squared, rtol=0, atol=1e-9)

    def cosine(a, b):
        return a @ b / (np.linalg.norm(a) * np.linalg.norm(b))

    for squash, known in ((np.tanh, 0.89639145), (soft, 0.72194213)):
        e = differences(lambda v, squash=squash: np.sum((squash(v) - y) ** 2) / 2)
        assert cosine(e, squash(z) - y) == pytest.approx(known, abs=1e-7)


@pytest.mark.verifies("ohana2021:dfa-parallel")
def test_one_product_projects_the_error_for_all_layers_at_once():
    """One product of the stacked matrices with e projects the error for all layers.

    We split the result by layers. The updates from these projections equal the updates of DFA within 1e-14.
    """
    net = mlp([4, 5, 6, 7, 3], ops.tanh, rng=rng(0))
    B = feedback.draw(net, law="normal", scale=1.0, rng=rng(1))
    x, y = batch(net, 4)
    z, h = forward(net, x)
    p = (h[4] - y) @ np.concatenate(B[1:4]).T
    parts = dict(zip((1, 2, 3), np.split(p, [5, 11], axis=1), strict=True))
    dW, _ = dfa(net, x, y, B=B)
    for l in (1, 2, 3):  # the layers can come in any order, because no layer uses the result of a different layer
        dz = parts[l] / np.cosh(z[l]) ** 2
        np.testing.assert_allclose(dW[l], dz.T @ h[l - 1] / 4, rtol=0, atol=1e-14)


@pytest.mark.verifies("ohana2021:dfa-archs")
def test_dfa_on_a_convolutional_network_with_a_skip():
    """On a convolutional network with a skip connection, DFA with B[2] = W[3]^T computes the gradient of layer 2.

    Its direction for layer 1 differs from the gradient. We compute gradients by central differences.
    """
    layers = [
        (dense.Conv2d(2, 3, padding="same"), ops.tanh),
        (dense.Conv2d(2, 3, padding="same"), ops.tanh),
        (dense.Dense(3),),
    ]
    net = Net((2, 4, 4), layers, skip={2: 0}, rng=rng(2))
    x, y = batch(net, 3)
    B = feedback.draw(net, law="normal", scale=1.0, rng=rng(3))
    B[2] = net.W[3].T.copy()
    dW, _ = dfa(net, x, y, B=B)
    right = {l: differences(net, x, y, l) for l in (1, 2)}
    np.testing.assert_allclose(dW[2], right[2], rtol=0, atol=1e-8)
    assert np.abs(dW[1] - right[1]).max() > 1e-3


@pytest.mark.verifies("ohana2021:sim-noise")
def test_simulated_noise_hides_nothing_from_whoever_has_its_seed():
    """Simulated noise hides nothing if the seed is known: subtracting the noise leaves the noiseless direction.

    Anyone who has the seed can compute the noise without the data.
    """
    net, x, y, B = v11()
    settings = {"B": B, "m": 3, "tau_B": 0.5, "tau_h_min": 0.2}
    released = pdfa(net, x, y, sigma=100.0, rng=rng(2021), **settings)[0]
    again = pdfa(net, x, y, sigma=100.0, rng=rng(2021), **settings)[0]
    bare = pdfa(net, x, y, sigma=0.0, rng=rng(0), **settings)[0]
    g = rng(2021)
    noise = {l: 100.0 * g.standard_normal((3, len(net.b[l]))) for l in (3, 2, 1)}
    h = forward(net, x)[1]
    clipped = np.clip(h[2] + 0.2 / math.sqrt(3), -1 / math.sqrt(3), 1 / math.sqrt(3))
    assert all(np.array_equal(a, b) for a, b in zip(released[1:], again[1:], strict=True))
    np.testing.assert_allclose(released[3] - noise[3].T @ clipped / 3, bare[3], rtol=0, atol=1e-12)


@pytest.mark.verifies("ohana2021:noise-negligible", "ohana2021:exp-notuning")
def test_the_simulated_device_costs_nothing_that_three_seeds_can_tell():
    """With three seeds, the simulated device loses no accuracy: PDFA without privacy is as accurate as TDFA.

    TDFA is the same rule without the camera. The runs have the paper's size and settings.
    """
    found = {}
    for rule in ("tdfa", "pdfa", "dfa"):
        runs = [records.read(RESULTS / f"{rule}-non-private-nearest-seed{seed}.json") for seed in (1, 2, 3)]
        found[rule] = round(100 * float(np.mean([run["test_accuracy"] for run in runs])), 2)
    assert found == {"tdfa": 85.59, "pdfa": 85.59, "dfa": 86.49}


@pytest.mark.verifies("ohana2021:exp-notuning")
def test_dfa_and_pdfa_run_with_the_same_settings_but_for_the_device():
    """In every column, DFA and PDFA run with the same settings except for the device.

    The printed accuracies of the two rules differ by less than one point in every column.
    """
    for sigma in COLUMNS:
        one, other = (
            table1_settings(rule, sigma, reading="nearest", scale="paper", seed=1).to_json() for rule in ("DFA", "PDFA")
        )
        apart = {name for name in one if one[name] != other[name]}
        assert apart <= {"rule", "rule_settings", "opu"}
        known = {k: v for k, v in other["rule_settings"].items() if k != "t"}
        assert known == one["rule_settings"]
    assert max(gaps_to_dfa(PRINTED).values()) < 1


# --- section 3 --------------------------------------------------------------------------------------------------


@pytest.mark.verifies("ohana2021:alg1-require")
def test_bounded_derivatives_are_enough_for_the_sensitivity_and_not_for_the_divergence():
    """Bounded derivatives are enough for the sensitivity, but not for the divergence.

    For tanh, gamma_max = 1 bounds the mean of the column. Because gamma_min is 0, Equation 17 is infinite.
    """
    assert column_sensitivity(m=256, n=784, tau_B=1.0, gamma_max=1.0, tau_h_max=1.0) == pytest.approx(2 / 256 / 28)
    clips = Clips(gamma_min=ops.tanh.gamma_min, gamma_max=ops.tanh.gamma_max, tau_h_min=1, tau_h_max=1, tau_B=1)
    assert claimed_column_renyi(alpha=2, m=256, n_l=512, sigma=0.1, clips=clips) == math.inf


@pytest.mark.verifies("ohana2021:alg1-require")
def test_a_tanh_unit_has_an_infinite_divergence_and_moves_less_than_its_sensitivity():
    """A tanh unit has an infinite divergence, but changes by less than its sensitivity.

    There is one record, with h = 1, B e = 1 and sigma = 1. P is the law of the column at z = 0, and Q is its law at z =
    1. At z = 1, tanh' is 0.42.
    """
    (f, one), (g, other) = (
        column_law(np.ones((1, 1)), ops.tanh.dphi(np.array([[z]])), np.ones((1, 1)), sigma=1.0) for z in (0.0, 1.0)
    )
    assert abs(f - g).item() == pytest.approx(1 - 1 / math.cosh(1) ** 2, rel=1e-12)
    assert abs(f - g).item() < column_sensitivity(m=1, n=1, tau_B=1.0, gamma_max=1.0, tau_h_max=1.0) == 2
    # The integral of p^2/q diverges, because at both ends the exponent 1 / (2 other^2) - 1 / one^2 of x^2 is positive.
    assert 1 / (2 * other.item() ** 2) - 1 / one.item() ** 2 == pytest.approx(math.cosh(1) ** 4 / 2 - 1, rel=1e-12)
    assert math.cosh(1) ** 4 / 2 > 1


@pytest.mark.verifies("ohana2021:iid-noise")
def test_independent_noise_costs_a_matrix_what_its_columns_cost():
    """With independent noise, the divergences of the columns of a matrix add up to its divergence.

    If each of 784 columns changes by (2/m) tau_B gamma / 28, the whole matrix changes by (2/m) tau_B gamma.
    """
    m, n, column = 256, 784, Fraction(2, 256 * 28)
    assert column_sensitivity(m=m, n=n, tau_B=1.0, gamma_max=1.0, tau_h_max=1.0) == pytest.approx(
        float(column), rel=1e-14
    )
    whole = repaired_pdfa_sensitivity(m=m, tau_B=1.0, tau_h_max=1.0, gamma_max=[], bias=[0.0], adjacency="replace-one")
    assert Fraction(whole) ** 2 == n * column**2


@pytest.mark.verifies("ohana2021:pre-eq15", "ohana2021:pre-eq16")
def test_the_preprints_bound_on_a_column_is_negative_where_the_activation_is():
    """If the activation is negative, the preprint's bound on a column is negative: -0.3 for h = -0.3.

    The column of one record (m = 1) changes by (2/m) 0.5 * 0.3 = 0.3.
    """
    u, dphi, h = np.array([[0.5]]), np.ones((1, 1)), np.array([[-0.3]])
    (f, _), (g, _) = (column_law(sign * u, dphi, h, sigma=0.0) for sign in (1, -1))
    printed = 2 / 1 * 0.5 * h[0, 0]
    assert abs(f - g).item() == pytest.approx(0.3, rel=1e-14)
    assert printed < 0
    assert column_sensitivity(m=1, n=1, tau_B=0.5, gamma_max=1.0, tau_h_max=0.3) == pytest.approx(0.3, rel=1e-14)


@pytest.mark.verifies("ohana2021:A1-s8")
def test_the_last_line_takes_the_lower_bound_on_the_new_variance():
    """The last line of the proof must use the lower bound on a'^2, because a'^2 / (a'^2 - c) decreases in a'^2.

    The lower bound gives Equation 17. The upper bound would give less than the ratio that a batch attains.
    """
    m, r = 256, 4
    lower, upper = Fraction(m, m - (r - 1)), Fraction(m * r, m * r - (r - 1))
    attained = Fraction(m - 1 + r, m)  # a' has a record at the upper bounds, and a has none
    assert upper < attained < lower
    clips = Clips(gamma_min=1, gamma_max=1, tau_h_min=0.5, tau_h_max=1, tau_B=1)
    log = claimed_column_renyi(alpha=2, m=m, n_l=1, sigma=1e9, clips=clips)  # n_l alpha / (2 (alpha - 1)) = 1
    assert log == pytest.approx(math.log(lower), rel=1e-9)
    assert [round(math.log(v), 8) for v in (lower, attained, upper)] == [0.01178796, 0.01165062, 0.00293399]


# --- section 4 --------------------------------------------------------------------------------------------------


@pytest.mark.verifies("ohana2021:exp-tdfa")
def test_tdfa_is_dfa_with_a_ternary_error_below_the_top():
    """TDFA is DFA with a ternary error in all layers below the top layer. We compare it with loops over records.

    The error of the top layer stays unchanged.
    """
    net, x, y, B = v11()
    e3 = forward(net, x)[1][3] - y

    def carry(l, dz, e, record):
        return times(B[l], [1 if v > 0.15 else -1 if v < -0.15 else 0 for v in e])

    by_loops = rule_by_records(net, x, y, carry)
    found = tdfa(net, x, y, B=B, t=0.15)
    for part, want in zip(found, by_loops, strict=True):
        for l in (1, 2, 3):
            np.testing.assert_allclose(part[l], want[l], rtol=0, atol=1e-14)
    assert set(np.unique(ternarize(e3, 0.15))) <= {-1.0, 0.0, 1.0}


@pytest.mark.verifies("ohana2021:exp-inline")
def test_how_much_noise_reaches_the_released_average():
    """The noise on the released average has the norm sigma sqrt(n_l / m), in units of the largest signal.

    This norm is for saturated inputs. For DP-SGD with noise multiplier 1, the norm is sqrt(d) / m. The network is
    784-512-512-10, m is 256, and we draw the noise once. The norm of 512 normal samples varies by 3 %, and the norm of
    669,706 samples by 0.1 %. With a random seed, a correct program fails with probability below 1e-5.
    """
    net = ARCHITECTURES["ohana2021"](rng=rng(0), dtype=np.float64)
    for l in (1, 2, 3):
        net.W[l][:] = 0
    net.phi = [None, ops.identity, ops.identity, net.phi[3]]
    net.b[1][:] = 1.0  # saturates the inputs of layer 2
    x, y = np.ones((256, 784)), np.eye(10)[np.arange(256) % 10]
    B = feedback.draw(net, law="normal", scale=1.0, rng=rng(1))
    noisy, still = (pdfa(net, x, y, B=B, m=256, sigma=s, rng=rng(2))[0][2] for s in (0.01, 0.0))
    share = np.linalg.norm(noisy - still)
    assert share == pytest.approx(0.01 * math.sqrt(2), rel=0.15)
    assert share == pytest.approx(expected_noise_norm(0.01, 512) / 16, rel=0.15)
    empty = dp_sgd(net, x[:0], y[:0], C=1.0, m=256, sigma=1 / 256, rng=rng(3))
    noise = math.sqrt(sum(np.sum(a**2) for part in empty for a in part[1:]))
    assert noise == pytest.approx(math.sqrt(669_706) / 256, rel=0.02)
    assert noise > 200 * share


@pytest.mark.verifies("ohana2021:exp-inline")
def test_dp_sgd_with_so_little_noise_has_an_epsilon_of_hundreds_after_one_step():
    """If the noise of DP-SGD is 10 % of the largest signal, epsilon is 646 after one step.

    The noise multiplier is then 0.0313. The two laws are unit Gaussians at a distance of 1 / 0.0313.
    """
    multiplier = 0.1 * 256 / math.sqrt(669_706)
    assert multiplier == pytest.approx(0.0313, abs=5e-5)
    half, tilt = 1 / (2 * multiplier), 646.34 * multiplier

    def tail(t):
        return math.erfc(t / math.sqrt(2)) / 2

    # Delta is P[loss > epsilon] - e^epsilon Q[loss > epsilon]. We compute the second term by its asymptotic series,
    # because e^epsilon overflows.
    t = tilt + half
    series = 1 / t - 1 / t**3 + 3 / t**5
    second = math.exp(646.34 - t * t / 2) * series / math.sqrt(2 * math.pi)
    assert tail(tilt - half) - second == pytest.approx(1e-5, rel=0.01)
    assert epsilon_gaussian(delta=1e-5, noise_multiplier=multiplier) == pytest.approx(646.34, abs=5e-3)


@pytest.mark.verifies("ohana2021:claim-strong")
def test_what_the_papers_own_formula_says_of_its_most_private_run():
    """By the paper's own formula, the most private run of Table 1 has epsilon 5790.77.

    This epsilon is a + 2 sqrt(a c), the minimum of epsilon(alpha) = a alpha + c / (alpha - 1) over alpha. The run has
    sigma = 0.2, T = 15 and r = 1.
    """
    a, c = 15 * (784 + 512 + 512) * 2 / (256 * 0.2**2), math.log(1e5)
    clips = Clips(gamma_min=1, gamma_max=1, tau_h_min=1, tau_h_max=1, tau_B=1)
    found, _ = claimed_pdfa_epsilon(sizes=(784, 512, 512, 10), T=15, m=256, sigma=0.2, clips=clips, delta=1e-5)
    assert found == pytest.approx(a + 2 * math.sqrt(a * c), rel=1e-6)
    assert found == pytest.approx(5790.77, abs=0.005)


@pytest.mark.verifies("ohana2021:claim-strong")
def test_one_update_of_the_most_private_run_tells_who_was_in_the_batch():
    """One update of the most private run reveals who was in the batch: the rows of dW^1 are in the span of its records.

    We use Table 1's network and batch size, sigma = 0.2, and least squares. If one record is replaced, the rows are not
    in the span, so delta is 1 at every epsilon.
    """
    net = ARCHITECTURES["ohana2021"](rng=rng(0), dtype=np.float64)
    B = feedback.draw(net, law="normal", scale=0.0225, rng=rng(1))
    x, y = rng(2).uniform(size=(257, 784)), np.eye(10)[np.arange(257) % 10]
    batch_, other = np.arange(256), np.r_[1:257]  # the two batches leave out the last record or the first record
    read = np.clip(x[batch_], -1 / 28, 1 / 28).T
    residuals = []
    for rows in (batch_, other):
        dW = pdfa(net, x[rows], y[rows], B=B, m=256, sigma=0.2, t=0.15, rng=rng(3))[0][1][:20].T
        fitted = read @ np.linalg.lstsq(read, dW, rcond=None)[0]
        residuals.append(np.linalg.norm(dW - fitted, axis=0) / np.linalg.norm(dW, axis=0))
    assert residuals[0].max() < 1e-10
    assert residuals[1].min() > 1e-4


def ends_of_bp(lr, seed):
    """Test accuracies of BP in percent: without clips, with clips, and with clips and sigma = 0.2.

    We train 15 epochs with batches of 256 on the images that are part of nfa.
    """
    images = data.load("fashion-mnist-small")
    x, x_test = data.scale_pixels(images.x_train, images.x_test, "standard", np.float32)
    x, x_test = x.reshape(len(x), -1), x_test.reshape(len(x_test), -1)
    y = data.one_hot(images.y_train, 10, np.float32)
    found = []
    clipped = partial(noisy_bp, m=256, tau_e=1.0, clip_x=False)
    for rule in (bp, partial(clipped, sigma=0.0), partial(clipped, sigma=0.2)):
        streams = Streams(seed)
        net = ARCHITECTURES["ohana2021"](rng=streams("init", 0), dtype=np.float32)
        batches = sampling.EpochPartition(x, y, 256, streams)
        steps = train(net, rule, batches, optim.SGD(lr, momentum=0.9), streams)
        for _ in itertools.islice(steps, 15 * batches.steps_per_epoch):
            pass
        found.append(100 * accuracy(net, x_test, images.y_test))
    return found


@pytest.mark.verifies("ohana2021:table1-c4")
def test_what_table_1_prints_of_bp_is_at_a_learning_rate_a_hundredth_of_the_others():
    """In Table 1, BP has a hundredth of the learning rate of the other rules.

    We also test the percentage points of accuracy that a rule loses by the clips, and by sigma = 0.2. We compute the
    points from the digits of the table.
    """
    digits = {
        "BP": ("88.33", "75.22", "66.78"),
        "DFA": ("86.80", "84.20", "81.66"),
        "PDFA": ("85.85", "84.00", "80.94"),
    }
    for rule, (plain, clips, noise) in digits.items():
        lost = Fraction(plain) - Fraction(clips), Fraction(clips) - Fraction(noise)
        assert clipping_and_noise(PRINTED, rule, "0.2") == tuple(float(v) for v in lost)
    at = {rule: table1_settings(rule, "0", reading="nearest", scale="paper", seed=1).lr for rule in ("BP", "DFA")}
    assert at == {"BP": 1e-4, "DFA": 0.01}


@pytest.mark.nightly
@pytest.mark.verifies("ohana2021:table1-c4")
def test_bp_loses_little_to_clips_and_noise_at_the_learning_rate_of_dfa():
    """At DFA's learning rate of 0.01, BP loses little accuracy from clips and noise, with one seed.

    The accuracies are 83.2 % without clips, 80.5 % with clips, and 80.2 % with clips and noise. At a learning rate of
    1e-4, they are 63.4, 57.1 and 57.1 %, so BP learns little with or without clips.
    """
    assert ends_of_bp(0.01, 1) == pytest.approx([83.2, 80.5, 80.2], abs=1.0)
    assert ends_of_bp(1e-4, 1) == pytest.approx([63.4, 57.1, 57.1], abs=1.0)
