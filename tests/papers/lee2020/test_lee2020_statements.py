"""Statements of Lee & Kifer (2020), Sections 4 and 5: the ledger's numbers, computed by independent methods."""

import functools
import itertools
import json
import math
import re
import subprocess
import sys

import numpy as np
import pytest

from nfa import data, feedback, ledger, ops
from nfa.clip import clip_l2
from nfa.experiments import records, report
from nfa.ledger import certificates
from nfa.network import Net, forward, lee2020_cnn, lee2020_cnn_valid, lee2020_fc_cifar, lee2020_fc_fmnist, mlp
from nfa.network.dense import Dense
from nfa.noise import Streams
from nfa.optim import Adam
from nfa.papers import index
from nfa.papers.lee2020 import epsilons
from nfa.papers.lee2020.claims import claimed_dfa_sensitivity
from nfa.papers.lee2020.sensitivity import EXACT, SENSITIVITY, moved, paper_network, sensitivity_rows, two_labels
from nfa.privacy.accountant import privacy_losses
from nfa.rules import dp_sgd
from nfa.rules.dp_dfa import dp_dfa
from nfa.rules.dp_hybrid import dp_hybrid
from nfa.sampling import WithoutReplacement
from nfa.sensitivity.dfa import (
    LayerBound,
    corrected_dfa_sensitivity,
    corrected_tau_h,
    hybrid_sensitivity,
    hybrid_thresholds,
    layer_bounds,
    xi_sensitivity,
    zeta_sensitivity,
)
from tests.oracles.core import batch, fix_a
from tests.oracles.private_rules import dp_dfa_by_records, entries, norm
from tests.project.tree import ROOT

RESULTS = ROOT / "results" / "lee2020-sens-total"
HUGE = 1e9  # a bound that no norm exceeds
FLIP = np.array([1.0, -1.0]) / math.sqrt(2)
rng = np.random.default_rng


def digits(got, want, decimals=10):
    """Assert that a value equals the ledger's value in every printed decimal."""
    np.testing.assert_allclose(got, want, rtol=0, atol=0.51 * 10.0**-decimals)


# --- clip, gamma, Algorithm 1 ----------------------------------------------------------------------------------


@pytest.mark.verifies("lee2020:clip")
def test_the_printed_clip_at_0_and_the_norm_of_a_matrix():
    """The printed clip min(c, ||v||) v / ||v|| is NaN at v = 0, and our clip of a matrix uses the norm of its entries.

    The paper also uses spectral norms of matrices. The 4 x 4 unit matrix has the spectral norm 1, but the norm of its
    entries is 2.
    """
    v = np.zeros(3)
    with np.errstate(invalid="ignore"):
        assert np.isnan(min(1.0, np.linalg.norm(v)) * v / np.linalg.norm(v)).all()
    assert np.array_equal(clip_l2(v[None], 1.0), v[None])
    eye = np.eye(4)[None]
    assert np.linalg.norm(eye[0], 2) == 1
    np.testing.assert_allclose(clip_l2(eye, 1.0), eye / 2, rtol=1e-15)


@pytest.mark.verifies("lee2020:gamma")
@pytest.mark.parametrize("K", [2, 3, 10])
def test_derivatives_of_the_softmax(K):
    """The derivative of the softmax has diagonal entries up to 1/4 and spectral norm up to 1/2.

    We compute the Jacobian by central differences. The largest values are at (1/2, 1/2, 0 ...). The rule uses 1/4 for
    gamma_L if the top layer learns from e * y_hat (1 - y_hat).
    """

    def jacobian(z, step=1e-5):
        moves = step * np.eye(K)
        return (ops.softmax(z + moves) - ops.softmax(z - moves)) / (2 * step)

    r = rng(K)
    for scale in (0.1, 1.0, 10.0):
        for _ in range(100):
            J = jacobian(scale * r.normal(size=K))
            assert np.diag(J).max() <= 0.25 + 1e-9
            assert np.linalg.norm(J, 2) <= 0.5 + 1e-9
    J = jacobian(np.array([0.0, 0.0, *[-40.0] * (K - 2)]))
    assert np.diag(J).max() == pytest.approx(0.25, abs=1e-9)
    assert np.linalg.norm(J, 2) == pytest.approx(0.5, abs=1e-9)
    net = mlp([2, K], ops.sigmoid, rng=rng(0))
    assert [bound.gain_dz for bound in layer_bounds(net, [None, None], top="derivative")] == [0.25]


@pytest.mark.verifies("lee2020:A1-A2", "lee2020:A10-A11")
@pytest.mark.parametrize("L", [2, 3, 6])
def test_the_printed_loops_draw_one_matrix_that_nothing_uses_and_use_one_that_nothing_draws(L):
    """The printed loops draw one matrix that no line uses, and use one matrix that no line draws.

    Line A1 draws B^1..B^L, and lines A10 to A12 read B^{l+1} for l = L..1. Figure 1 (b) has only B^2..B^L.
    """
    drawn, read = set(range(1, L + 1)), {l + 1 for l in range(L, 0, -1)}
    assert (drawn - read, read - drawn) == ({1}, {L + 1})
    net = mlp([5] * L + [3], ops.tanh, rng=rng(0))
    B = feedback.draw(net, law="spectral", scale=0.9, rng=rng(1))
    ours = {l + 1 for l in range(L + 1) if B[l] is not None}  # B[l] feeds layer l and is the printed B^{l+1}
    figure = {int(matrix[2:-1]) + 1 for matrix, _ in feedback.wiring("dfa", L).values() if matrix.startswith("B")}
    # we read the loop as l = 2..L; with l = 2..L+1, the top layer would also have a matrix
    assert ours == figure == drawn & read
    assert figure | {L + 1} == read
    assert all(B[l].shape == (net.W[l].shape[0], 3) for l in range(1, L))


@pytest.mark.verifies("lee2020:A3-A5")
@pytest.mark.parametrize("m, steps, share", [(512, 117, 0.6331), (128, 468, 0.6319)])
def test_how_many_records_an_epoch_of_fresh_batches_sees(m, steps, share):
    """An epoch of fresh batches uses the expected share of the records, at the paper's sizes.

    The share has a standard deviation below 0.002. The indicators of records are not independent, but draws without
    replacement make them negatively correlated. A correct program fails with probability below 2e-9 (6 standard
    deviations; seeds are fixed).
    """
    sampler = WithoutReplacement(np.zeros((60000, 1)), np.zeros((60000, 1)), m, Streams(0))
    assert sampler.steps_per_epoch == steps
    seen = np.unique(np.concatenate([sampler.indices(t) for t in range(1, steps + 1)]))
    assert len(seen) / 60000 == pytest.approx(share, abs=0.012)


@pytest.mark.verifies("lee2020:A6-A8")
def test_the_forward_pass_is_not_clipped():
    """The forward pass is not clipped: a tau_h that scales down all inputs does not change the error.

    The direction of the top bias is the mean clipped error, so we compare this direction.
    """
    net, x, y, B = fix_a()
    small, large = (
        dp_dfa(net, x, y, B=B, m=4, sigma=0.0, tau_e=0.1, tau_h=tau_h, rng=rng(0)) for tau_h in (1e-3, HUGE)
    )
    assert all(np.array_equal(a, b) for a, b in zip(small[1][1:], large[1][1:], strict=True))
    assert norm(small[0][3]) < 0.01 * norm(large[0][3])


TOPS = [  # readings A, E, D with beta = 1, D with beta = 0.9: settings, and the top layer's ||dW|| and ||db||
    ({}, 0.0270289470, 0.0278048785),
    ({"beta_top": 0.9}, 0.0243260523, 0.0250243907),
    ({"top": "derivative"}, 0.0057593453, 0.0059277869),
    ({"top": "derivative", "beta_top": 0.9}, 0.0051834108, 0.0053350082),
]


@pytest.mark.verifies("lee2020:A10-A11", "lee2020:A12")
@pytest.mark.parametrize("top, weights, biases", TOPS)
def test_the_readings_of_the_top_layer_on_fix_a(top, weights, biases):
    """The rule agrees with loops over records for each reading (interpretation) of the top layer, on `fix_a`.

    The layers below the top layer do not depend on the reading.
    """
    net, x, y, B = fix_a()
    settings = {"m": 4, "tau_e": 0.1, "tau_h": 1.2}
    by_loops = dp_dfa_by_records(net, x, y, B, **settings, **top)
    for dW, db in (by_loops, dp_dfa(net, x, y, B=B, sigma=0.0, rng=rng(0), **settings, **top)):
        digits([norm(dW[3]), norm(db[3])], [weights, biases])
        digits([norm(dW[1]), norm(dW[2])], [0.0143903462, 0.0035864932])


@pytest.mark.verifies("lee2020:A10-A11")
@pytest.mark.parametrize("K, low, high", [(2, 0.48, 0.52), (3, 0.23, 0.27), (4, 0.09, 0.12), (10, 0.0, 0.0)])
def test_a_random_matrix_above_the_top_layer_repels_its_bias_from_the_optimum(K, low, high):
    """A random matrix above the top layer moves its bias away from the optimum.

    Near y_hat = (1/K ...), the bias b moves by -B J b, with the softmax's Jacobian J. The bias returns to the optimum
    if all eigenvalues are positive. We draw 20,000 standard normal B. For K = 2, the only eigenvalue on vectors of sum
    0 is positive with probability 1/2. The share of such matrices has standard deviation 0.0035. For K = 10, no matrix
    of 20,000 has only positive eigenvalues. So the probability is below 0.0014 (confidence 1 - 1e-12).
    """
    sums_0 = np.linalg.svd(np.eye(K) - 1 / K)[0][:, : K - 1]
    B = rng(0).standard_normal((20_000, K, K))
    slowest = np.linalg.eigvals(sums_0.T @ B @ sums_0).real.min(axis=1)
    assert low <= np.mean(slowest > 0) <= high


def learned(reading, seed, steps=250):
    """Test accuracy in percent of 784-128-256-10 on the images that are part of nfa, without noise.

    tau_h is 25.6405, and the optimizer is Adam with learning rate 1e-3.
    """
    known, r, f = data.load("fashion-mnist-small"), rng(seed), np.float32
    x, x_test = ((part.reshape(len(part), 784) / 255).astype(f) for part in (known.x_train, known.x_test))
    y = np.eye(10, dtype=f)[known.y_train]
    net = lee2020_fc_fmnist(rng=r, dtype=f)
    B = feedback.draw(net, law="spectral", scale=0.9, rng=r)
    above = r.standard_normal((10, 10))
    above = (0.9 * above / np.linalg.norm(above, 2)).astype(f)
    top = {"top": "derivative", "beta_top": 0.9} if reading == "D" else {}
    optimizer = Adam(1e-3)
    for t in range(1, steps + 1):
        i = r.choice(len(x), 128, replace=False)
        dW, db = dp_dfa(net, x[i], y[i], B=B, m=128, sigma=0.0, tau_e=0.1, tau_h=25.6405, rng=r, **top)
        if reading in (
            "B",
            "C",
        ):  # the printed line at l = L with a random matrix, without and with the softmax's derivative
            _, h = forward(net, x[i])
            dz = clip_l2(h[3] - y[i], 0.1) @ above.T * (h[3] * (1 - h[3]) if reading == "C" else 1)
            dW[3], db[3] = net.map[3].outer(dz / f(128), clip_l2(h[2], 25.6405))
        optimizer.step(net, dW, db, t)
    return 100 * float(np.mean(forward(net, x_test)[1][3].argmax(axis=1) == known.y_test))


@pytest.mark.slow
@pytest.mark.verifies("lee2020:A1-A2", "lee2020:A10-A11")
def test_which_readings_of_the_top_layer_learn():
    """A network learns under the readings A and D of the top layer, but hardly under B and C.

    After 250 steps on the 6,000 images of nfa, the accuracy is above 60 % under A and D, and below 40 % under B and C.
    Chance is 10 %.
    """
    found = {reading: learned(reading, seed) for seed in (0, 1) for reading in "AD"}
    assert min(found.values()) > 60, found
    found = {reading: learned(reading, seed) for seed in (0, 1) for reading in "BC"}
    assert max(found.values()) < 40, found


def in_place(net, x, y, B, *, order, eta, ell=0, keep=True):
    """One step of Algorithm 1 that overwrites W[l], b[l] on the way through the layers, without noise and clip.

    Layers up to ell get the hybrid's signal through W[l+1]. With ``keep``, this W[l+1] is the matrix of the forward
    pass, and otherwise the current matrix.
    """
    W, b = [None, *(w.copy() for w in net.W[1:])], [None, *(v.copy() for v in net.b[1:])]
    z, h = forward(net, x)
    dz = [None] * (net.L + 1)
    for l in order:
        if l == net.L:
            dz[l] = h[l] - y
        else:
            above = (net.W if keep else W)[l + 1]
            dz[l] = (dz[l + 1] @ above if l <= ell else (h[net.L] - y) @ B[l].T) * net.phi[l].dphi(z[l])
        W[l] -= eta / len(x) * dz[l].T @ h[l - 1]
        b[l] -= eta / len(x) * dz[l].sum(axis=0)
    return np.concatenate([a.ravel() for part in (W, b) for a in part[1:]])


@pytest.mark.verifies("lee2020:A13", "lee2020:hybrid-conv")
def test_the_order_of_the_layers_matters_in_the_hybrid_alone():
    """The order of the layers matters only in the hybrid, because the hybrid uses W^{l+1} for layer l.

    A loop from the top has already overwritten W^{l+1}. DP-DFA gives the same step in every order.
    """
    net, x, y, B = fix_a()
    start, eta = entries((net.W, net.b)), 0.5
    rule = {"B": B, "m": 4, "sigma": 0.0, "tau_e": HUGE, "tau_h": HUGE, "rng": rng(0)}
    want = start - eta * entries(dp_dfa(net, x, y, **rule))
    for order in ((3, 2, 1), (1, 2, 3), (2, 3, 1)):
        np.testing.assert_allclose(in_place(net, x, y, B, order=order, eta=eta), want, rtol=0, atol=1e-14)
    hybrid = start - eta * entries(dp_hybrid(net, x, y, ell=1, tau=HUGE, **rule))
    kept, read = (in_place(net, x, y, B, order=(3, 2, 1), eta=eta, ell=1, keep=keep) for keep in (True, False))
    np.testing.assert_allclose(kept, hybrid, rtol=0, atol=1e-14)
    digits(norm(read - hybrid), 0.0005214, 7)


@pytest.mark.verifies("lee2020:adam")
def test_adam_reads_the_direction_alone():
    """Adam reads only the direction: networks and batches with the same released direction give the same step."""
    directions = [rng(t).normal(size=(2, 3)) for t in range(5)]
    steps = []
    for seed in (1, 2):
        net, optimizer = mlp([3, 2], ops.tanh, rng=rng(seed)), Adam()
        before = net.W[1].copy()
        for t, dW in enumerate(directions, start=1):
            optimizer.step(net, [None, dW], [None, dW[:, 0]], t)
        steps.append(net.W[1] - before)
    np.testing.assert_allclose(steps[0], steps[1], rtol=0, atol=1e-15)


# --- the sensitivity of a layer --------------------------------------------------------------------------------


@pytest.mark.verifies("lee2020:sens-zeta", "lee2020:sens-xi")
def test_the_top_layer_moves_by_more_than_the_printed_sensitivity_of_a_layer():
    """The top layer's change exceeds the printed sensitivity of a layer by a factor of 1 / 0.225 = 4.44.

    The test has y_hat = (1/2, 1/2), a record of norm 1, gamma = 1/4 and beta = 0.9.
    """
    net = mlp([1, 2], ops.sigmoid, rng=rng(0))
    net.W[1][:], net.b[1][:] = 0, 0
    a, b = (
        dp_dfa(net, np.ones((1, 1)), y[None], B=[None, None], m=1, sigma=0.0, tau_e=0.1, tau_h=1.0, rng=rng(0))
        for y in np.eye(2)
    )
    found = [norm(a[0][1] - b[0][1]), norm(a[1][1] - b[1][1])]
    assert found == pytest.approx([0.2, 0.2], rel=1e-12)
    layer = {"m": 1, "gamma": 0.25, "beta": 0.9, "tau_e": 0.1}
    printed = [zeta_sensitivity(**layer, tau_h=1.0), xi_sensitivity(**layer)]
    assert printed == pytest.approx([0.045, 0.045], rel=1e-12)


@pytest.mark.verifies("lee2020:sens-zeta", "lee2020:sens-xi")
def test_the_last_equals_sign_is_a_supremum_and_not_every_matrix_comes_near():
    """The last equality for the sensitivity of a layer is a supremum over matrices, and some matrices are far below it.

    For example, B = 0.9 u (1 ... 1) / sqrt(K) has spectral norm 0.9, but B e = 0 for every error of a softmax, so the
    layer does not change.
    """
    net, r = mlp([4, 5, 3], ops.tanh, rng=rng(0)), rng(1)
    B = 0.9 * np.outer(r.normal(size=5), np.ones(3))
    B *= 0.9 / np.linalg.norm(B, 2)
    x, y = batch(net, 3)
    dW, db = dp_dfa(net, x, y, B=[None, B, None], m=3, sigma=0.0, tau_e=0.1, tau_h=1.0, rng=rng(0))
    assert np.linalg.norm(B, 2) == pytest.approx(0.9, rel=1e-12)
    assert norm(dW[1], db[1]) < 1e-16
    # the largest ||B e|| over errors of sum 0, as a share of the norm of a drawn matrix
    drawn = feedback.draw(lee2020_fc_fmnist(rng=rng(0)), law="spectral", scale=0.9, rng=rng(0))
    shares = [np.linalg.norm(M @ (np.eye(10) - 0.1), 2) / 0.9 for M in drawn[1:3]]
    assert 0.9 < min(shares) < max(shares) < 1


# --- the sensitivity of all layers -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rows():
    return sensitivity_rows()


def of(rows, **key):
    (found,) = [entry for entry in rows if all(entry[name] == value for name, value in key.items())]
    return found


RATIOS = [  # the change from one label divided by the printed value; sigmoid with gamma = 1/4, tanh with gamma = 1
    ("worst sigmoid", "e", 3, 2.6927734414),
    ("worst sigmoid", "e", 4, 2.3850097704),
    ("worst sigmoid", "e", 5, 2.1795910818),
    ("worst sigmoid", "0.9 e", 3, 2.4494897428),
    ("worst sigmoid", "e y(1-y)", 3, 1.0383589458),
    ("worst sigmoid", "0.9 e y(1-y)", 3, 1.0),
]


@pytest.mark.verifies("lee2020:sens-total")
@pytest.mark.parametrize("setting, top, L, ratio", RATIOS)
def test_the_real_rule_attains_the_recorded_ratios(rows, setting, top, L, ratio):
    """The rule attains the recorded ratios. We compute these ratios from the norm of the difference of two directions.

    This norm does not depend on the printed or the corrected formula.
    """
    found = of(rows, setting=setting, top=top, L=L)
    printed = 2 * 0.225 * 0.1 * math.sqrt(2 * L)
    assert found["attained"] / printed == pytest.approx(ratio, rel=1e-6)
    assert found["paper"] == pytest.approx(printed, abs=1e-8)


@pytest.mark.verifies("lee2020:sens-total")
def test_the_printed_formula_is_a_bound_where_the_output_layer_moves_no_more_than_a_hidden_one(rows):
    """The printed formula is a bound if the output layer changes by at most as much as a hidden layer.

    The paper does not state this condition. We test it by the changes of the rule itself.
    """
    # factor of the output layer, in place of gamma beta
    moved_by = {"e": 1.0, "0.9 e": 0.9, "e y(1-y)": 0.25, "0.9 e y(1-y)": 0.225}
    worst = [entry for entry in rows if entry["setting"] in ("worst sigmoid", "worst tanh")]
    assert len(worst) == 12
    for entry in worst:
        condition = moved_by[entry["top"]] <= entry["gamma"] * 0.9
        assert (entry["attained"] <= entry["paper"] + 1e-8) == condition, entry


@pytest.mark.verifies("lee2020:sens-total")
def test_the_certificates_network_moves_by_the_bound_and_the_entry_tells_both_numbers():
    """On the certificate's network, the direction of the rule changes by the bound 0.2899137803.

    The network has four sigmoid units with output 1/2. The certificate prints a slightly smaller change. The ledger's
    entry contains the two numbers.
    """
    net, B = two_labels(2, 4, ops.sigmoid, 0.0)
    moves = moved(net, B, np.ones((1, 1)), tau_h=1.0)
    assert moves == pytest.approx(0.2899137803, abs=5.1e-11)
    place = ROOT / certificates.place(ledger.find("lee2020:sens-total"))
    typed = [sys.executable, "-I", "-S", str(place)]
    printed = subprocess.run(typed, capture_output=True, text=True, check=True).stdout.split()[-1]
    assert moves - 2e-4 < float(printed) <= moves
    assert all(digits_ in ledger.find("lee2020:sens-total").number for digits_ in (printed, "0.2899137803"))


@pytest.mark.verifies("lee2020:sens-total")
def test_no_row_moves_by_more_than_the_corrected_sensitivity(rows):
    assert len(rows) == 16
    assert all(entry["attained"] <= entry["ours"] + 1e-8 for entry in rows)
    above = [entry for entry in rows if entry["attained"] > entry["paper"] + 1e-8]
    assert len(above) == 11
    assert {entry["top"] for entry in above} == {"e", "0.9 e", "e y(1-y)"}
    assert all(entry["gamma"] == 0.25 for entry in above if entry["top"] != "e")
    inside = [(entry["setting"], entry["top"]) for entry in rows if entry["verdict"] == "inside"]
    assert inside == [("worst sigmoid", "0.9 e y(1-y)"), ("worst tanh", "0.9 e")]
    digits([entry["attained"] for entry in rows[:3]], [0.2828427122, 0.3799149816, 3.32827918], 8)
    digits([entry["ours"] for entry in rows[:3]], [0.2899137803, 0.3805259518, 5.38554688], 8)


@pytest.mark.verifies("lee2020:sens-total")
def test_with_one_gamma_for_all_layers_the_printed_formula_is_a_bound_for_sigmoid_and_not_for_tanh():
    """With one gamma for all layers, the printed formula is a bound for sigmoid, but not for tanh.

    We compute the printed value divided by the corrected value for sigmoid, and the inverse for tanh. beta = 0.9
    understates the change of the output layer.
    """
    for L, sigmoid, tanh in ((3, 1.485, 1.0384), (4, 1.677, 1.0289), (5, 1.835, 1.0232)):
        printed = claimed_dfa_sensitivity(L=L, m=1, gamma=1.0, beta=0.9, tau_e=0.1, tau_h=1.0)
        true = [
            corrected_dfa_sensitivity(
                [*[LayerBound(gain_dz=s)] * (L - 1), LayerBound(gain_dz=1.0)],
                m=1,
                tau_e=0.1,
                tau_h=1.0,
                adjacency="replace-one",
            )
            for s in (0.225, 0.9)
        ]
        digits([printed / true[0], true[1] / printed], [sigmoid, tanh], 3)


@pytest.mark.verifies("lee2020:sens-total")
def test_the_paper_network_cannot_move_by_more_than_3_446():
    """The direction of the paper's network changes by at most 3.446 at tau_h = 25.64, if one record is replaced.

    The outputs of sigmoids are below 1. So the inputs of layers 2 and 3 have norms of at most sqrt(128) and 16, and
    tau_h does not clip these inputs.
    """
    net, B, _, tau_h = paper_network()
    digits(tau_h, 25.6405189883)
    most = corrected_dfa_sensitivity(
        layer_bounds(net, B), m=1, tau_e=0.1, tau_h=[tau_h, math.sqrt(128), 16.0], adjacency="replace-one"
    )
    digits(most, 3.4459481037)
    r, found = rng(0), []
    y = np.eye(10)
    for _ in range(20):  # large weights and biases, so that some units saturate
        for l in (1, 2, 3):
            net.W[l][:] = r.normal(size=net.W[l].shape) * r.choice([0.0, 0.1, 1.0])
            net.b[l][:] = r.normal(size=net.b[l].shape) + r.choice([0.0, 5.0, 20.0])
        x = r.random((2, 1, 784))
        a, b = (dp_dfa(net, x[k], y[k : k + 1], B=B, m=1, sigma=0.0, tau_e=0.1, tau_h=tau_h, rng=r) for k in range(2))
        found.append(norm(entries(a) - entries(b)))
    assert 2 < max(found) < most


@pytest.mark.verifies("lee2020:sens-total", "lee2020:fig4")
def test_what_the_printed_epsilons_are_worth_if_the_printed_formula_set_tau_h():
    """If the printed formula set tau_h, Fashion-MNIST's printed epsilons of sigma = 0.05 are still true.

    S is then 3.446 instead of 2. For sigma = 0.01, the proved epsilons are 57 to 203, above the printed epsilons.
    """
    nearest = epsilons.READINGS[epsilons.NEAREST] | {"sensitivity_factor": 3.4459481037 / 2}
    known = {"0.05": [0.826, 1.208, 1.511, 1.773, 2.008, 2.223], "0.01": [57.41, 90.43, 120.45, 148.92, 176.38, 203.14]}
    for caption in epsilons.CAPTIONS[3:]:
        steps = [468 * epochs for epochs in caption["epochs"]]
        release = epsilons.release(caption, nearest, 60000)
        found = [privacy_losses([(release, count)], delta=1e-5).epsilon for count in steps]
        assert found == pytest.approx(known[caption["sigma"]], rel=2e-3)
        holds = [value < printed for value, printed in zip(found, caption["epsilon"], strict=True)]
        assert holds == [caption["sigma"] == "0.05"] * 6


@pytest.mark.verifies("lee2020:sens-layerwise")
def test_one_index_for_layers_of_two_kinds():
    """The printed formula uses the gamma of one layer l. In a network with two kinds of layers, it can be too small.

    The layers are tanh, tanh, sigmoid, sigmoid, output, as in the CNN. In units of 2 tau_e sqrt(1 + tau_h^2) / m, the
    formula gives sqrt(5) 0.9 = 2.0125 for a tanh layer l, and sqrt(5) 0.225 = 0.5031 for a sigmoid layer l. The true
    value is 1.6496.
    """
    layers = [(Dense(400), ops.tanh)] * 2 + [(Dense(4), ops.sigmoid)] * 2 + [(Dense(2),)]
    net = Net((1,), layers, rng=rng(0))
    B = [None] * 6
    for l in range(1, 6):
        n = net.b[l].size
        net.W[l][:], net.b[l][:] = 0, 0.0501 if l < 3 else 0
        if l < 5:
            B[l] = 0.9 * np.outer(np.ones(n), FLIP) / math.sqrt(n)
    a, b = (
        dp_dfa(net, np.ones((1, 1)), y[None], B=B, m=1, sigma=0.0, tau_e=0.1, tau_h=1.0, rng=rng(0)) for y in np.eye(2)
    )
    unit = 0.2 * math.sqrt(2)
    bound = corrected_dfa_sensitivity(layer_bounds(net, B), m=1, tau_e=0.1, tau_h=1.0, adjacency="replace-one")
    printed = [claimed_dfa_sensitivity(L=5, m=1, gamma=g, beta=0.9, tau_e=0.1, tau_h=1.0) / unit for g in (1.0, 0.25)]
    digits([bound / unit, *printed], [1.6496, 2.0125, 0.5031], 4)
    found = norm(entries(a) - entries(b))
    assert 0.997 * bound < found <= bound


def test_the_results_are_those_of_the_code(rows, capsys):
    there = json.loads((RESULTS / "rows.json").read_text())
    assert there["experiment"] == SENSITIVITY.id
    for old, new in zip(there["rows"], rows, strict=True):
        assert list(old) == list(new)
        for name, value in new.items():
            assert old[name] == (pytest.approx(value, abs=2e-8) if isinstance(value, float) else value), name
    text = (RESULTS / "REPORT.md").read_text()
    assert report.markdown_table(SENSITIVITY.shown(rows), SENSITIVITY.digits) in text
    assert report.plain_table(SENSITIVITY.shown(rows), SENSITIVITY.digits) in (RESULTS / "table.txt").read_text()
    assert all(f"- {sentence}\n" in text for sentence in SENSITIVITY.summary(rows))
    assert list(records.in_folder(RESULTS)) == []
    code = [line for line in re.findall(r"^    (.*)$", text, re.M) if not line.startswith("nfa ")]
    exec("\n".join(code), {})
    assert capsys.readouterr().out.startswith("0.28284")


def test_the_experiment_is_found_and_draws(tmp_path, rows):
    assert index.find("lee2020:sens-total") is SENSITIVITY
    assert ledger.find(SENSITIVITY.id).id == SENSITIVITY.id
    assert SENSITIVITY.tolerance == EXACT
    SENSITIVITY.picture(tmp_path / "figure.png", rows)
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")


# --- the hybrid's thresholds, convolutions ----------------------------------------------------------------------


@pytest.mark.verifies("lee2020:hybrid-sens")
def test_one_tau_h_for_the_hybrids_dense_layers():
    """With one tau_h = 6.633 for the hybrid's dense layers, every layer stays within its share of the sensitivity.

    tau_h = 11.0267 gives the correct total, but the output layer exceeds its share.
    """
    dense = [LayerBound(gain_dz=0.225), LayerBound(gain_dz=0.225), LayerBound(gain_dz=1.0)]
    tau, each = hybrid_thresholds(dense, L=5, S=3.0, tau_e=0.1)
    share = 3 / math.sqrt(5)
    known = {"ell": 2, "m": 1, "tau": tau, "tau_e": 0.1, "adjacency": "replace-one"}

    def of_layer(bound, tau_h):
        return corrected_dfa_sensitivity([bound], m=1, tau_e=0.1, tau_h=tau_h, adjacency="replace-one")

    digits(min(each), 6.6332495807)
    assert all(of_layer(bound, min(each)) <= share * (1 + 1e-12) for bound in dense)
    assert hybrid_sensitivity(dense, tau_h=min(each), **known) < 3
    common = corrected_tau_h(dense, S=3 * math.sqrt(3 / 5), tau_e=0.1)
    digits(common, 11.0266934399)
    assert hybrid_sensitivity(dense, tau_h=common, **known) == pytest.approx(3, rel=1e-12)
    assert of_layer(dense[2], common) > 1.6 * share > 1.6 * of_layer(dense[0], common)
    assert math.sqrt(384) < each[0]  # so tau_h never clips the outputs of 384 sigmoid units


@pytest.mark.verifies("lee2020:conv-dfa")
@pytest.mark.parametrize("P, share", [(64, 0.458), (196, 0.432), (576, 0.4195), (784, 0.419)])
@pytest.mark.slow
def test_the_bias_of_a_convolution_under_a_drawn_matrix(P, share):
    """With a random matrix B, the bias of a convolution changes by 0.42 to 0.46 times the bound sqrt(P) ||B||.

    B has 64 channels and P positions and is drawn as in the paper. The derivatives are free in [0, 1]. This is a
    search, not a proof. The best derivatives for an error keep the positive or the negative terms of each channel. The
    best error for given derivatives is the top singular vector of a 64 x 10 matrix. We alternate from 10 starts.
    """
    r, best = rng(0), 0.0
    B = r.standard_normal((64 * P, 10))
    B = (B / np.linalg.norm(B, 2)).reshape(64, P, 10)
    for _ in range(10):
        e = r.standard_normal(10)
        for _ in range(50):
            e = (e - e.mean()) / np.linalg.norm(e - e.mean())
            v = B @ e
            plus, minus = np.where(v > 0, v, 0).sum(axis=1), np.where(v < 0, -v, 0).sum(axis=1)
            kept = np.where((plus > minus)[:, None], v > 0, v < 0)
            M = (B * kept[:, :, None]).sum(axis=1)
            best, e = max(best, norm(M @ e)), M.T @ (M @ e)
    assert best / math.sqrt(P) == pytest.approx(share, abs=0.005)


# --- section 5 --------------------------------------------------------------------------------------------------


@pytest.mark.verifies("lee2020:exp-common")
def test_which_inputs_the_two_tau_h_clip():
    """tau_h = 25.64 clips none of the 6,000 Fashion-MNIST images in nfa, but tau_h = 9.4766 clips 73.9 % of them.

    The pixels are in [0, 1].
    """
    images = data.load("fashion-mnist-small").x_train
    sizes = np.sqrt((images.reshape(len(images), -1).astype(float) ** 2).sum(axis=1)) / 255
    assert len(images) == 6000
    digits([sizes.min(), sizes.mean(), sizes.max()], [2.844, 12.167, 22.539], 3)
    assert np.mean(sizes > 25.6405) == 0
    digits(100 * np.mean(sizes > 9.4765976164), 73.9, 1)
    assert math.sqrt(256) < 25.6405  # 25.6405 also clips no layer of at most 256 sigmoid units


CNNS = [(lee2020_cnn, 1460426), (lee2020_cnn_valid, 649418)]
CIFAR = {"in_shape": (3, 32, 32)}


@pytest.mark.verifies("lee2020:exp-cnn")
@pytest.mark.parametrize("make, number", [*CNNS, (functools.partial(lee2020_cnn, **CIFAR), 1832266)])
def test_the_convolutional_network(make, number):
    """The convolutional network has the paper's number of parameters, counted layer by layer from the text.

    The padding determines the number of inputs of the first dense layer.
    """
    net = make(rng=rng(0), dtype=np.float32)
    assert sum(a.size for a in (*net.W[1:], *net.b[1:])) == number
    colours, side = net.shape_h[0][:2]
    for _ in range(2):
        side = (side if net.map[1].padding == "same" else side - 4) // 2
    read = 64 * side**2
    sizes = [(25 * colours + 1) * 64, (25 * 64 + 1) * 64, (read + 1) * 384, 385 * 384, 385 * 10]
    assert [W.size + b.size for W, b in zip(net.W[1:], net.b[1:], strict=True)] == sizes
    assert [phi.name for phi in net.phi[1:5]] == ["tanh", "tanh", "sigmoid", "sigmoid"]


@pytest.mark.verifies("lee2020:exp-fc")
@pytest.mark.parametrize("make, number", [(lee2020_fc_fmnist, 136074), (lee2020_fc_cifar, 920842)])
def test_the_fully_connected_networks(make, number):
    net = make(rng=rng(0), dtype=np.float32)
    sizes = [net.shape_h[0][0], *(b.size for b in net.b[1:])]
    assert sizes[1:] == ([128, 256, 10] if sizes[0] == 784 else [256, 256, 256, 10])
    assert sum(a.size for a in (*net.W[1:], *net.b[1:])) == number
    assert number == sum((n + 1) * k for n, k in itertools.pairwise(sizes))


@pytest.mark.verifies("lee2020:exp-cnn", "lee2020:exp-fc")
@pytest.mark.parametrize("net, m, C", [("CNN", 512, 1.5), ("FC", 128, 1.0)])
def test_the_sensitivity_of_the_experiments_is_that_of_a_clip_at_half(net, m, C):
    """In the experiments, the sensitivity of the average is S / m with S = 3 or 2, and DP-BP clips at S / 2.

    The factor is 1/2, because replacing a record can reverse its gradient.
    """
    (caption, *_) = [entry for entry in epsilons.CAPTIONS if entry["net"] == net and entry["sigma"] == "0.01"]
    printed = epsilons.release(caption, epsilons.READINGS[epsilons.NEAREST], 60000)
    settings = {"adjacency": "replace-one", "sampling": "without-replacement", "sampling_rate": m / 60000}
    assert dp_sgd.mechanism(C=C, m=m, sigma=0.01, **settings) == printed
    twice = dp_sgd.mechanism(C=2 * C, m=m, sigma=0.01, **settings)
    assert twice.noise_multiplier == pytest.approx(printed.noise_multiplier / 2, rel=1e-12)
