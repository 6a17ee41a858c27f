"""The span attack on photonic updates. We compare its functions with loops and least squares, and attack images."""

import math

import numpy as np
import pytest
import scipy.integrate
import scipy.stats

from nfa import data, network, ops, sampling
from nfa.audit.roc import auc
from nfa.network.dense import Conv2d, Dense
from nfa.noise import Streams
from nfa.optim import SGD
from nfa.papers.ohana2021 import span_attack
from nfa.papers.ohana2021.audit_images import IMAGES, SIGMAS, photonic_audit, prepare
from nfa.papers.ohana2021.span_attack import update_from_weights, weights_rounding
from nfa.papers.ohana2021.span_on_repaired import (
    blind_attack,
    draw_pair,
    gaussian_auc,
    known_attack,
    noisy_residuals,
    repaired_audit,
)
from nfa.papers.ohana2021.span_trials import CLIPS, LR, MOMENTUM, TAU_B, VIEWS, T, recover_labels, span_attacks
from nfa.rules.pdfa import pdfa
from nfa.train import train


def setting_of(dataset, data_dir=None, m=256, seed=1):
    return prepare(data_dir=data_dir, dataset=dataset, m=m, seed=seed, feedback_scale=0.05)[1]


@pytest.fixture(scope="module")
def embedded():
    return setting_of("fashion-mnist-small")


# --- the functions of the attack ------------------------------------------------------------------------------


@pytest.mark.parametrize("k, n", [(1, 5), (3, 5), (5, 5), (8, 5)])
def test_residuals_are_those_of_least_squares(k, n):
    rng = np.random.default_rng(k)
    rows, v = rng.standard_normal((k, n)), rng.standard_normal((6, n))
    for one, found in zip(v, span_attack.span_residuals(v, rows), strict=True):
        coefficients = np.linalg.lstsq(rows.T, one, rcond=None)[0]
        expected = math.sqrt(sum((one - sum(c * row for c, row in zip(coefficients, rows, strict=True))) ** 2))
        assert found == pytest.approx(expected / math.sqrt(sum(one**2)), abs=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-15, 1.0, 1e15])
def test_residuals_do_not_depend_on_scale_and_keep_the_dtype(dtype, scale):
    rows = np.array([[3, 4, 0], [0, 0, 2]], dtype)
    v = np.array([[3, 4, 5], [4, -3, 0], [6, 8, 0]], dtype) * dtype(scale)
    basis, _ = span_attack.span_basis(rows)
    assert basis.dtype == dtype
    np.testing.assert_allclose(span_attack.span_residuals(v, rows), [0, 1, 0], atol=4 * np.finfo(dtype).eps)


def test_dependent_rows_span_no_more_than_they_do_and_rank_keeps_the_leading_directions():
    rows = np.array([[1.0, 2, 0, 0], [2, 4, 0, 0], [0, 0, 1e-3, 0]])
    assert len(span_attack.span_basis(rows)[0]) == 2
    assert len(span_attack.span_basis(rows, rank=1)[0]) == 1
    v = np.array([[0.0, 0, 1, 0]])
    assert span_attack.span_residuals(v, rows)[0] < 1e-15
    assert span_attack.span_residuals(v, rows, rank=1)[0] == pytest.approx(1)
    threshold = span_attack.span_basis(rows, rank=1)[1]
    assert threshold == pytest.approx(1e-3 / 5, rel=1e-9)  # the singular values are 5 and 1e-3


def test_zero_lies_in_every_span_and_nothing_else_in_that_of_zeros():
    assert span_attack.span_residuals(np.zeros((1, 3)), np.ones((1, 3))).tolist() == [0]
    assert span_attack.span_residuals(np.ones((1, 3)), np.zeros((2, 3))).tolist() == [1]
    assert span_attack.update_residual(np.zeros((2, 3)), np.ones((1, 3))) == 0
    assert span_attack.update_threshold(np.zeros((2, 3))) == 1


def test_the_blind_threshold_bounds_what_an_error_does_to_the_span():
    """The threshold of the attack without a known batch bounds the effect of an error on the span.

    In 200 random cases, the rows are the sum of a matrix of exact rank 4 and an error E. The threshold estimates E and
    applies Wedin's bound twice.
    """
    rng = np.random.default_rng(0)
    for _ in range(200):
        exact = rng.standard_normal((9, 4)) @ rng.standard_normal((4, 12))
        noisy = exact + 10.0 ** rng.uniform(-12, -2) * rng.standard_normal((9, 12))
        basis, threshold = span_attack.span_basis(noisy, rank=4)
        assert span_attack.residuals_to(exact, basis).max() <= 4 * threshold


def test_when_divide_and_conquer_gives_up_the_other_method_answers(monkeypatch):
    rows, v = np.array([[3.0, 4.0, 0.0]]), np.array([[3.0, 4.0, 5.0]])
    expected = span_attack.span_residuals(v, rows)

    def gives_up(*_, **__):
        raise np.linalg.LinAlgError("SVD did not converge")

    monkeypatch.setattr(np.linalg, "svd", gives_up)
    np.testing.assert_allclose(span_attack.span_residuals(v, rows), expected, atol=1e-15)


@pytest.mark.parametrize("floor", ["literal", "signed"])
@pytest.mark.parametrize("clip_x", [True, False])
def test_the_attack_reads_what_the_rule_multiplies(floor, clip_x):
    """The attack computes the same layer inputs as the rule.

    With one record, every row of the update is a multiple of the computed layer input.
    """
    rng = np.random.default_rng(3)
    net = network.mlp([7, 5, 6, 3], ops.tanh, rng=rng)
    B = [None, rng.standard_normal((5, 3)), rng.standard_normal((6, 3)), None]
    x, y = rng.standard_normal((1, 7)), np.eye(3)[:1]
    clips = {"tau_h_max": 1.3, "tau_h_min": 0.2, "floor": floor, "clip_x": clip_x}
    dW, _ = pdfa(net, x, y, B=B, m=1, sigma=0.7, **clips, rng=rng)
    for l in (1, 2, 3):
        h = span_attack.layer_input(net, l, x, **clips)
        assert span_attack.span_residuals(dW[l], h).max() < 1e-15
        other = span_attack.layer_input(net, l, x + 0.3, **clips)
        assert span_attack.span_residuals(dW[l], other).min() > 1e-3


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_directions_read_off_the_weights_are_those_that_were_taken(dtype, momentum):
    rng = np.random.default_rng(5)
    net = network.mlp([20, 30, 4], ops.tanh, rng=rng, dtype=dtype)
    optimizer, iterates, taken = SGD(0.01, momentum), [net.copy()], []
    for t in range(1, 5):
        dW = [None, *(0.03 * rng.standard_normal(net.W[l].shape).astype(dtype) for l in (1, 2))]
        optimizer.step(net, dW, [None, *(np.zeros_like(net.b[l]) for l in (1, 2))], t)
        iterates.append(net.copy())
        taken.append(dW)
    for t in range(1, 5):
        for l in (1, 2):
            steps = [iterates[k].W[l] for k in range(max(0, t - (2 if momentum else 1)), t + 1)]
            read = update_from_weights(steps, lr=0.01, momentum=momentum)
            assert read.dtype == dtype
            error = np.linalg.norm(read.astype(float) - taken[t - 1][l])
            arithmetic = 40 * np.finfo(dtype).eps * np.linalg.norm(read)  # v is a sum of up to ten directions
            bound = weights_rounding(steps, lr=0.01, momentum=momentum)
            assert error <= bound + arithmetic
            assert bound <= 20 * error or dtype is np.float64  # the bound is not trivial


def test_recovered_errors_are_what_each_record_put_in():
    rng = np.random.default_rng(6)
    for m, n in ((1, 1), (3, 5), (8, 8)):
        h, V = rng.standard_normal((m, n)), rng.standard_normal((m, 4))
        dW = sum(np.outer(V[i], h[i]) for i in range(m)) / 7
        np.testing.assert_allclose(span_attack.recover_errors(dW, h, m=7), V, atol=1e-11)


def test_most_likely_labels_by_loops_and_without_dead_units():
    rng = np.random.default_rng(7)
    V, dphi, u = rng.standard_normal((20, 3)), rng.uniform(0.1, 1, (20, 3)), rng.standard_normal((4, 20, 3))
    dphi[::2, 1] = 0
    V[dphi == 0] = 0
    for i, label in enumerate(span_attack.most_likely_labels(V, dphi, u)):
        live = [j for j in range(3) if dphi[i, j]]
        distances = [sum((V[i, j] / dphi[i, j] - u[c, i, j]) ** 2 for j in live) for c in range(4)]
        assert label == distances.index(min(distances))


ROW = np.ones((2, 3))


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda: span_attack.span_residuals(np.ones(3), ROW), "v must be a matrix of floats"),
        (lambda: span_attack.span_residuals(ROW, np.ones((2, 3), int)), "rows must be a matrix of floats"),
        (lambda: span_attack.span_residuals(ROW, np.empty((0, 3))), "rows must be a matrix"),
        (lambda: span_attack.span_residuals(ROW, np.ones((2, 4))), "the same number of columns, got 3 and 4"),
        (lambda: span_attack.span_residuals(np.array([[1.0], [np.nan]]), ROW), "v holds NaN or infinity in row 1"),
        (lambda: span_attack.span_basis(ROW, rank=0), "rank must be at least 1"),
        (lambda: update_from_weights([ROW], lr=0.1), "two or three iterates"),
        (lambda: update_from_weights([ROW, ROW.T], lr=0.1), "of one shape"),
        (lambda: update_from_weights([ROW, ROW], lr=0.0), "lr must be positive"),
        (lambda: update_from_weights([ROW, ROW * math.nan], lr=0.1), "weights must be finite, found NaN"),
        (lambda: update_from_weights([ROW, ROW], lr=0.1, momentum=1.0), "momentum must be in"),
        (lambda: weights_rounding([ROW, ROW], lr=math.inf), "lr must be positive and finite"),
        (lambda: span_attack.recover_errors(ROW, ROW, m=2), "linearly independent"),
        (lambda: span_attack.recover_errors(np.ones((1, 2)), np.eye(3)[:, :2], m=3), "linearly independent"),
        (lambda: span_attack.recover_errors(ROW, np.eye(2), m=2), "the same number of columns"),
        (lambda: span_attack.recover_errors(ROW, ROW[:1], m=0), "m must be positive"),
        (lambda: span_attack.recover_errors(ROW, ROW[:1], m=math.inf), "m must be positive and finite, got inf"),
        (lambda: span_attack.most_likely_labels(ROW, ROW, ROW), "matrices of the same shape"),
        (lambda: span_attack.most_likely_labels(ROW, ROW, np.full((1, 2, 3), np.inf)), "u holds NaN or infinity"),
        (lambda: gaussian_auc(-1.0, 1.0), "distance must be"),
        (lambda: gaussian_auc(1.0, 0.0), "noise_std must be"),
        (lambda: noisy_residuals(ROW, np.eye(3), noise_std=1.0, trials=1, rng=None), "more columns than"),
        (lambda: noisy_residuals(ROW, np.eye(3)[:1], noise_std=0.0, trials=1, rng=None), "noise_std must be"),
        (lambda: noisy_residuals(ROW, np.eye(3)[:1], noise_std=1.0, trials=0, rng=None), "trials must be"),
        (lambda: photonic_audit(sigmas=(0.0,)), "sigmas must be positive"),
        (lambda: photonic_audit(sigmas=(math.nan,)), "sigmas must be positive"),
        (lambda: photonic_audit(sigmas=()), "sigmas must contain"),
        (lambda: photonic_audit(trials=0), "trials must be at least 1"),
        (lambda: photonic_audit(dataset="fashion-mnist-small", m=1), "m must be between 2 and 511"),
        (lambda: photonic_audit(dataset="fashion-mnist-small", m=512), "m must be between 2 and 511"),
        (lambda: photonic_audit(dataset="fashion-mnist-small", seed=-1), "seed"),
        (lambda: photonic_audit(dataset="no-such-data"), "no-such-data"),
    ],
)
def test_bad_input_gets_one_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence) as refused:
        call()
    assert "\n" not in str(refused.value)


def test_the_attack_is_for_fully_connected_layers():
    net = network.Net((1, 4, 4), [(Conv2d(2, 3), ops.tanh), (Dense(3),)], rng=np.random.default_rng(0))
    x = np.zeros((1, 1, 4, 4))
    assert span_attack.layer_input(net, 2, x).shape == (1, 8)
    for l in (0, 1, 3):
        with pytest.raises(ValueError, match="covers only fully connected layers"):
            span_attack.layer_input(net, l, x)


def test_too_few_images_and_other_images_are_refused(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(20) % 10
    for shape, sentence in (((28, 28), "needs more than 3 m"), ((5, 5), "reads 784 pixels and has 10 classes")):
        x = rng.integers(0, 256, (20, *shape), dtype=np.uint8)
        np.savez(tmp_path / "own.npz", x_train=x, y_train=y, x_test=x, y_test=y)
        with pytest.raises(ValueError, match=sentence):
            photonic_audit(dataset=str(tmp_path / "own.npz"), m=8)


def test_without_a_name_the_embedded_images_serve_where_there_are_no_others(monkeypatch):
    def nowhere(name, data_dir=None):
        raise data.DataUnavailable(name)

    monkeypatch.setattr(data, "path", nowhere)
    loaded, setting = prepare(data_dir=None, dataset=None, m=4, seed=0, feedback_scale=0.05)
    assert loaded.name == "fashion-mnist-small"
    assert setting.x.shape == (IMAGES, 784)


# --- the attack on real images --------------------------------------------------------------------------------


def check_attacks(attacks, sigmas):
    """Check that the threshold separates the residuals of members and others, for every layer, view and sigma."""
    assert len(attacks) == len(sigmas) * len(VIEWS) * 5  # three layers if the batch is known, two layers otherwise
    for attack in attacks:
        where = (attack.sigma, attack.sees, attack.batch_known, attack.layer)
        assert attack.auc == 1.0, where
        assert attack.largest_inside <= attack.threshold < attack.smallest_outside, where
        if attack.sees == VIEWS[0]:
            assert attack.smallest_outside > 1e6 * attack.largest_inside, where


@pytest.mark.verifies("ohana2021:prop3-cols")
@pytest.mark.slow
def test_one_update_names_its_batch(embedded):
    check_attacks(span_attacks(embedded, (0.2,), 1), (0.2,))


@pytest.mark.verifies("ohana2021:prop3-cols")
@pytest.mark.slow
def test_at_every_sigma_of_table_1_and_at_100_on_the_full_data(data_home):
    setting = setting_of("fashion-mnist", data_home)
    attacks = span_attacks(setting, SIGMAS, 2)
    check_attacks(attacks, SIGMAS)
    assert {a.sigma for a in attacks} == {0.01, 0.03, 0.05, 0.1, 0.2, 100.0}
    assert all(len(a.inside) == (2 if a.batch_known else 256) for a in attacks)


@pytest.mark.verifies("ohana2021:prop3-cols")
@pytest.mark.slow
def test_none_of_the_other_59744_images_passes_for_a_member(data_home):
    full = data.load("fashion-mnist", data_home)
    x, _ = data.scale_pixels(full.x_train, full.x_test[:1], "standard", np.float32)
    x, y = x.reshape(len(x), -1), data.one_hot(full.y_train, 10)
    setting = setting_of("fashion-mnist", data_home)
    net, B = setting.net(np.float64)
    order = np.random.default_rng(17).permutation(len(x))
    members, others = order[:256], order[256:]
    batch = x[members].astype(float), y[members]
    dW, _ = pdfa(net, *batch, B=B, m=256, sigma=0.2, t=T, **CLIPS, rng=np.random.default_rng(18))
    basis, threshold = span_attack.span_basis(dW[1], rank=256)
    assert len(others) == 59_744
    assert (
        span_attack.residuals_to(span_attack.layer_input(net, 1, batch[0], **CLIPS), basis).max() <= threshold < 1e-11
    )
    for part in np.array_split(others, 20):
        assert (
            span_attack.residuals_to(span_attack.layer_input(net, 1, x[part].astype(float), **CLIPS), basis).min()
            > 1e-3
        )


def attack_while_training(setting, steps, at):
    """Train PDFA in float32. At the steps `at`, attack three consecutive iterates without knowing the batch."""
    x, y = setting.x.astype(np.float32), setting.y.astype(np.float32)
    streams = setting.streams
    net, B = setting.net(np.float32)
    batches = sampling.WithoutReplacement(x, y, setting.m, streams)

    def rule(net, x, y, *, rng):
        return pdfa(net, x, y, B=B, m=setting.m, sigma=0.2, t=T, tau_B=TAU_B, bias="clipped", **CLIPS, rng=rng)

    iterates = [net.copy()]
    for t in train(net, rule, batches, SGD(LR, MOMENTUM), streams):
        iterates = [*iterates[-2:], net.copy()]
        if t in at:
            members = batches.indices(t)
            others = np.setdiff1d(np.arange(len(x)), members)[:2000]
            for l in (1, 2):
                dW = update_from_weights([it.W[l] for it in iterates], lr=LR, momentum=MOMENTUM)
                basis, threshold = span_attack.span_basis(dW, rank=setting.m)
                inside, outside = (
                    span_attack.residuals_to(span_attack.layer_input(iterates[1], l, x[who], **CLIPS), basis)
                    for who in (members, others)
                )
                assert auc(-inside, -outside) == 1.0, (t, l)
                assert inside.max() <= threshold, (t, l)
                assert inside.max() < 2e-3 < 0.02 < outside.min(), (t, l)
        if t == steps:
            return


@pytest.mark.verifies("ohana2021:prop3-cols")
@pytest.mark.slow
def test_momentum_and_training_do_not_help(embedded):
    attack_while_training(embedded, 30, (10, 30))


@pytest.mark.verifies("ohana2021:prop3-cols")
@pytest.mark.slow
def test_momentum_and_longer_training_do_not_help_on_the_full_data(data_home):
    attack_while_training(setting_of("fashion-mnist", data_home), 300, (50, 300))


def test_a_record_that_adds_no_direction_stays_hidden(embedded):
    """A record that adds no direction to the span stays hidden, and the attack gives no false alarm.

    For example, D' differs only in a label, or only in a record that is in the span of the other records.
    """
    images = embedded.batches(0)[0][0]
    net, B = embedded.net(np.float64)
    x, y = embedded.x[images], embedded.y[images]
    settings = {"B": B, "m": 256, "sigma": 0.2, "t": T, "bias": "clipped", **CLIPS}
    other = np.roll(y[0], 1)
    dW, _ = pdfa(net, x, np.concatenate([[other], y[1:]]), rng=np.random.default_rng(0), **settings)
    twice = np.concatenate([x[1:2], x[1:]])  # a copy of record 1 replaces record 0
    dW_twice, _ = pdfa(net, twice, y, rng=np.random.default_rng(0), **settings)
    for l in (1, 2, 3):
        h = span_attack.layer_input(net, l, x, **CLIPS)
        for update in (dW[l], dW_twice[l]):
            assert span_attack.update_residual(update, h) <= span_attack.update_threshold(update)


# --- the protection by noise ----------------------------------------------------------------------------------


@pytest.mark.verifies("ohana2021:prop3-cols")
@pytest.mark.parametrize("sigma", [0.5, *(pytest.param(sigma, marks=pytest.mark.slow) for sigma in (0.2, 1.0))])
def test_labels_are_recovered_as_from_noise_on_each_record(embedded, sigma):
    """Without the ternary error, the attack recovers labels as often as from independent noise on each record.

    The errors for the ten candidate labels are sqrt(2 / .9) apart. The share of recovered labels among 512 records is
    within 4 standard errors plus 3 points of the expected share. The 3 points allow for y_hat that is not exactly
    uniform, and for columns of B that are not exactly orthogonal. A false alarm has probability 6e-5. An error of 23
    points is missed with probability below 1e-6.
    """
    d = math.sqrt(2 / 0.9)  # for y_hat = 1/10, the errors have norm sqrt .9 and distance sqrt 2, and are scaled to 1
    shift = d / math.sqrt(2) / sigma
    expected = scipy.integrate.quad(lambda v: scipy.stats.norm.pdf(v) * scipy.stats.norm.cdf(v + shift) ** 9, -9, 12)[0]
    for found in recover_labels(embedded, sigma, t=None)[:2]:
        assert found.records == 512
        assert abs(found.share - expected) <= 4 * math.sqrt(expected * (1 - expected) / 512) + 0.03
    if sigma == 0.2:
        assert all(found.share > 0.99 for found in recover_labels(embedded, sigma))


@pytest.mark.slow
def test_at_the_smaller_sigmas_every_label_is_read_and_at_a_large_one_none(embedded):
    assert [found.share for found in recover_labels(embedded, 0.1)] == [1, 1, 1]
    for found in recover_labels(
        embedded, 1e4
    ):  # 4 standard errors of Binomial(512, .1): false alarms 6e-5 for a layer; misses 13 points with probability 1e-6
        assert abs(found.share - 0.1) <= 4 * math.sqrt(0.1 * 0.9 / 512)


def test_the_update_is_a_bijection_of_what_each_record_adds(embedded):
    """We can recover the term of each record from the update, so averaging hides nothing.

    Without noise, the recovered term of a record with error e is scale(B t(e)).
    """
    images = embedded.batches(0)[0][0][:64]
    net, B = embedded.net(np.float64)
    x, y = embedded.x[images], embedded.y[images]
    dW, _ = pdfa(net, x, y, B=B, m=64, sigma=0.0, t=T, **CLIPS, rng=np.random.default_rng(0))
    for l in (1, 2):
        V = span_attack.recover_errors(dW[l], span_attack.layer_input(net, l, x, **CLIPS), m=64)
        for i in (0, 17, 63):
            alone, _ = pdfa(
                net, x[i : i + 1], y[i : i + 1], B=B, m=1, sigma=0.0, t=T, **CLIPS, rng=np.random.default_rng(1)
            )
            h = span_attack.layer_input(net, l, x[i : i + 1], **CLIPS)
            np.testing.assert_allclose(V[i], alone[l] @ h[0] / (h[0] @ h[0]), atol=1e-12)


# --- the repaired rule ----------------------------------------------------------------------------------------


@pytest.mark.verifies("ours:span-residual")
def test_the_law_of_the_residuals_is_that_of_drawn_matrices():
    """`noisy_residuals` follows the law of the residuals of simulated matrices.

    The Kolmogorov-Smirnov test compares two samples of 4,000 residuals. The test rejects at p < 1e-4, so one seed in
    10,000 gives a false alarm. A distance of 0.14 between the two laws is missed with probability 1e-6.
    """
    rng = np.random.default_rng(11)
    f, h = 0.5 * rng.standard_normal((2, 5)), rng.standard_normal((3, 5))
    basis, _ = span_attack.span_basis(h)
    drawn = [span_attack.update_residual(f + 0.3 * rng.standard_normal(f.shape), h) for _ in range(4000)]
    law = noisy_residuals(f, basis, noise_std=0.3, trials=4000, rng=rng)
    assert scipy.stats.ks_2samp(drawn, law).pvalue > 1e-4
    other = noisy_residuals(f, basis, noise_std=0.36, trials=4000, rng=rng)
    assert scipy.stats.ks_2samp(drawn, other).pvalue < 1e-4  # the test detects 20 % more noise


@pytest.mark.parametrize("distance", [0.0, 0.4, 1.0, 3.0])
def test_the_best_tests_auc_is_that_of_the_likelihood_ratio(distance):
    """`gaussian_auc` agrees with the AUC of the likelihood ratio within 4 standard errors.

    We draw 20,000 samples from each of two Gaussians in three dimensions. The standard error is at most 0.0029, and a
    false alarm has probability 6e-5. An error of 0.026 is missed with probability 1e-6.
    """
    rng = np.random.default_rng(12)
    a, b = np.array([1.0, -2.0, 0.5]), np.array([1.0, -2.0, 0.5]) + distance * np.array([2.0, 1.0, -2.0]) / 3
    ratios = []
    for mean in (b, a):
        draws = mean + 0.7 * rng.standard_normal((20_000, 3))
        ratios.append((np.square(draws - a).sum(axis=1) - np.square(draws - b).sum(axis=1)) / (2 * 0.49))
    assert auc(*ratios) == pytest.approx(gaussian_auc(distance, 0.7), abs=0.0116)


def test_isotropic_noise_of_a_tiny_size_hides_nothing_and_of_a_valid_one_all(embedded):
    pairs, rng = [draw_pair(embedded, k) for k in range(2)], np.random.default_rng(13)
    for l in (1, 2, 3):
        assert known_attack(pairs, l, 1e-9, 200, rng).auc == 1
        assert abs(known_attack(pairs, l, 0.0131, 2000, rng).auc - 0.5) <= 0.05
    assert blind_attack(embedded, 1, 1e-9, 1, rng).auc == 1


@pytest.mark.slow
def test_the_repaired_rule_at_epsilon_3(embedded):
    """Against the repaired rule at epsilon 3, every attack has an AUC within 0.05 of 1/2.

    We use at least 2,000 trials with the record and 2,000 without it. The standard error of an AUC is at most 0.0092,
    so 0.05 is more than 5 standard errors. An error of 0.1 is missed with probability below 1e-6.
    """
    found = repaired_audit(embedded, 2)
    assert (found.delta, found.adjacency, found.sampling) == (1e-5, "replace-one", "without-replacement")
    assert 3 - 1e-5 < found.epsilon <= 3
    assert found.steps == 3165
    # the sensitivity is 2 sqrt(sum of (1 + c_l^2)) / m with c_l^2 = 1/784, 1/512 and 1/512
    sensitivity = 2 / 256 * math.sqrt(3 + 1 / 784 + 2 / 512)
    assert found.noise_std == pytest.approx(found.noise_multiplier * sensitivity, rel=1e-12)
    assert found.noise_std == pytest.approx(0.0131, abs=2e-4)
    assert [(a.layer, a.batch_known) for a in found.attacks] == [
        (1, True),
        (2, True),
        (3, True),
        (1, False),
        (2, False),
    ]
    for attack in found.attacks:
        assert min(len(attack.inside), len(attack.outside)) >= 2000
        assert abs(attack.auc - 0.5) <= 0.05
    assert 0.5 < found.optimal_auc <= found.largest_optimal_auc <= found.bound_auc < 0.77
    assert found.sweep[0].known == found.sweep[0].blind == 1
    assert found.sweep[-1].optimal < 0.55


@pytest.mark.slow
def test_the_whole_audit_and_its_picture(tmp_path):
    from nfa.papers.ohana2021.audit_images import audit_figure

    audit = photonic_audit(dataset="fashion-mnist-small", sigmas=(100.0,), trials=1)
    check_attacks(audit.attacks, (100.0,))
    assert (audit.dataset, audit.m, audit.trials, audit.seed) == ("fashion-mnist-small", 256, 1, 1)
    for format, begins in (("png", b"\x89PNG"), ("pdf", b"%PDF"), ("svg", b"<?xml")):
        audit_figure(tmp_path / f"audit.{format}", audit)
        assert (tmp_path / f"audit.{format}").read_bytes().startswith(begins)


@pytest.mark.slow
def test_the_attack_is_a_function_of_its_seed():
    first, again, other = (
        [a.inside.tolist() for a in span_attacks(setting_of("fashion-mnist-small", m=8, seed=seed), (0.2,), 1)]
        for seed in (3, 3, 4)
    )
    assert first == again != other


def test_batches_are_disjoint_and_the_streams_are_the_settings():
    setting = setting_of("fashion-mnist-small", m=16)
    assert setting.streams == Streams(1)
    batches, others = setting.batches(0)
    assert len({*batches.ravel(), *others}) == 48 + 1000
