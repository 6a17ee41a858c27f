"""Tests of PDFA, TDFA, noisy BP and DRTP: loops, autograd, identities with DFA and BP, and the laws of their noise.

Every statistical test has a fixed seed. With another seed, correct code would fail with probability at most
FALSE_ALARM.
"""

import functools
import math

import numpy as np
import pytest
from scipy import stats

from nfa import feedback, ledger, ops
from nfa.feedback.camera import Camera
from nfa.feedback.mirrors import ternarize
from nfa.feedback.opu import OPU, optical
from nfa.mechanism import NoGuarantee
from nfa.network import forward, mlp
from nfa.network.pooling import AvgPool, MaxPool
from nfa.optim import SGD
from nfa.rules import drtp as drtp_file
from nfa.rules import noisy_bp as noisy_bp_file
from nfa.rules import pdfa as pdfa_file
from nfa.rules import tdfa as tdfa_file
from nfa.rules.bp import bp
from nfa.rules.dfa import dfa
from nfa.rules.drtp import drtp
from nfa.rules.noisy_bp import noisy_bp
from nfa.rules.pdfa import pdfa
from nfa.rules.tdfa import tdfa
from tests.oracles.core import assert_close, assert_same_direction, batch, pooled_cnn, residual_cnn, v11
from tests.oracles.photonic import (
    drtp_by_records,
    noisy_bp_by_records,
    pdfa_by_records,
    tdfa_by_records,
    torch_drtp,
    torch_noisy_bp,
    torch_pdfa,
)

FALSE_ALARM = 1e-6


def perceptron(phi=ops.tanh, sizes=(5, 7, 4, 6, 3), **settings):
    """A network whose widths all differ, so that the tests detect n_l in place of n_{l-1}."""
    return mlp(list(sizes), phi, rng=np.random.default_rng(0), **settings)


NETS = {
    "tanh": perceptron,
    "relu": functools.partial(perceptron, ops.relu),
    "squared error": functools.partial(perceptron, ops.sigmoid, loss=ops.squared_error),
    "skips": lambda **s: mlp([4, 4, 4, 4, 3], ops.tanh, rng=np.random.default_rng(0), skip={2: 0, 3: 1, 4: 1}, **s),
    "max pooling": functools.partial(pooled_cnn, MaxPool),
    "average pooling": functools.partial(pooled_cnn, AvgPool),
    "residual same": functools.partial(residual_cnn, "same"),
}
every_net = pytest.mark.parametrize("make", NETS.values(), ids=list(NETS))

PLAIN = {
    "tau_B": 0.9,
    "tau_h_max": 0.8,
    "tau_h_min": 0.0,
    "t": None,
    "clip_x": True,
    "floor": "literal",
    "top": "noisy",
    "bias": "one",
}
READINGS = {
    "plain": {},
    "offset": {"tau_h_min": 0.3},
    "signed offset": {"tau_h_min": 0.3, "floor": "signed"},
    "floor is ceiling": {"tau_h_min": 0.8, "floor": "signed"},
    "input as it is": {"clip_x": False, "tau_h_min": 0.2, "bias": "clipped"},
    "ternary": {"t": 0.15},
    "ternary, threshold 0": {"t": 0.0, "tau_B": math.inf},
    "noiseless top": {"top": "noiseless", "tau_h_min": 0.1},
    "raw top": {"top": "raw", "tau_B": 0.1},
    "clipped bias": {"bias": "clipped", "tau_h_max": 20.0, "tau_h_min": 0.7},
    "clipped bias at c": {"bias": "clipped", "tau_h_min": 0.7},
    "all other": {"t": 0.2, "clip_x": False, "floor": "signed", "tau_h_min": 0.4, "top": "raw", "bias": "clipped"},
    "nothing active": {"tau_B": math.inf, "tau_h_max": math.inf},
}
every_reading = pytest.mark.parametrize("reading", READINGS.values(), ids=list(READINGS))
INACTIVE = {"tau_B": math.inf, "tau_h_max": 1e6, "tau_h_min": 0.0}


RULES = pytest.mark.parametrize("rule", ["pdfa", "tdfa", "noisy_bp", "drtp"])
NOISELESS = ("tdfa", "drtp")


def rng(seed=0):
    return np.random.default_rng(seed)


def fed(net, scale=0.5, seed=11):
    return feedback.draw(net, law="normal", scale=scale, rng=rng(seed))


def size(net, l):
    return math.prod(net.shape_h[l])


def draws(net, k, sigma, top, seed):
    """The noise of `pdfa`, drawn by hand in the documented order, from the top layer down."""
    source, g = rng(seed), [None] * (net.L + 1)
    for l in range(net.L, 0, -1):
        if l < net.L or top == "noisy":
            g[l] = sigma * source.standard_normal((k, size(net, l)))
    return g


class Given:
    """A replacement for a generator, which returns the given arrays one after another."""

    def __init__(self, *arrays):
        self.arrays = list(arrays)

    def standard_normal(self, shape, dtype):
        g = self.arrays.pop(0)
        assert g.shape == shape
        return g.astype(dtype)


# --- the updates of the rules equal the paper's algorithms ---------------------------------------------------


@pytest.mark.verifies("ohana2021:eq8", "ohana2021:eq9", "ohana2021:alg1.13-15")
@pytest.mark.parametrize("sigma", [0.0, 0.3])
@every_net
@every_reading
def test_pdfa_equals_algorithm_1_record_by_record(make, reading, sigma):
    net, settings = make(), PLAIN | reading
    x, y = batch(net, 3)
    B, g = fed(net), draws(net, 3, sigma, settings["top"], seed=1)
    got = pdfa(net, x, y, B=B, m=5, sigma=sigma, **settings, rng=rng(1))
    assert_same_direction(got, pdfa_by_records(net, x, y, B, g, m=5, **settings))


@pytest.mark.peers
@pytest.mark.verifies("ohana2021:eq8", "ohana2021:eq9")
@every_net
@every_reading
def test_pdfa_equals_autograd_of_surrogates(torch, make, reading):
    net, settings = make(), PLAIN | reading
    x, y = batch(net, 6)
    B, g = fed(net), draws(net, 6, 0.3, settings["top"], seed=2)
    got = pdfa(net, x, y, B=B, m=4, sigma=0.3, **settings, rng=rng(2))
    assert_same_direction(got, torch_pdfa(torch, net, x, y, B, g, m=4, **settings))


BP_READINGS = {
    "plain": {},
    "offset": {"tau_h_min": 0.3},
    "signed offset": {"tau_h_min": 0.3, "floor": "signed"},
    "input as it is": {"clip_x": False, "tau_h_min": 0.2},
    "nothing active": {"tau_e": math.inf, "tau_h_max": math.inf},
}
BP_PLAIN = {"tau_e": 0.8, "tau_h_max": 0.8, "tau_h_min": 0.0, "clip_x": True, "floor": "literal"}
every_bp_reading = pytest.mark.parametrize("reading", BP_READINGS.values(), ids=list(BP_READINGS))


@pytest.mark.verifies("ohana2021:exp-bp")
@pytest.mark.parametrize("sigma", [0.0, 0.3])
@every_net
@every_bp_reading
def test_noisy_bp_equals_record_by_record_loops(make, reading, sigma):
    net, settings = make(), BP_PLAIN | reading
    x, y = batch(net, 3)
    g = sigma * rng(3).standard_normal((3, size(net, net.L)))
    got = noisy_bp(net, x, y, m=5, sigma=sigma, **settings, rng=rng(3))
    assert_same_direction(got, noisy_bp_by_records(net, x, y, g, m=5, **settings))


@pytest.mark.verifies("ohana2021:exp-bp")
@every_net
@pytest.mark.parametrize("noise_first", [False, True])
@pytest.mark.parametrize("noise", ["record", "batch", "layers"])
def test_the_readings_of_the_noise_of_noisy_bp_equal_loops(make, noise, noise_first):
    """For each reading of the paper's noise, noisy BP equals loops with noise that the test draws.

    In one reading, all records of a batch share one row of noise. In the reading with noise for each layer, the rule
    draws the row of the top layer first, and then the rows of the lower layers.
    """
    net, source = make(), rng(3)
    x, y = batch(net, 3)
    g = 0.3 * source.standard_normal((1 if noise == "batch" else 3, size(net, net.L)))
    below = {}
    for l in range(net.L - 1, 0, -1) if noise == "layers" else ():
        below[l] = 0.3 * source.standard_normal((3, size(net, l)))
    got = noisy_bp(net, x, y, m=5, sigma=0.3, **BP_PLAIN, noise=noise, noise_first=noise_first, rng=rng(3))
    want = noisy_bp_by_records(
        net, x, y, np.broadcast_to(g, (3, size(net, net.L))), m=5, **BP_PLAIN, noise_first=noise_first, below=below
    )
    assert_same_direction(got, want)


@pytest.mark.verifies("ohana2021:exp-bp")
def test_noise_before_the_scaling_makes_no_error_longer_than_tau_e():
    """If noise is added before the scaling, no scaled error has a norm above tau_e.

    One record has errors of 0.8 and noise of 100 on each of three outputs. The bias of the top layer uses the scaled
    error.
    """
    net = perceptron()
    x, y = batch(net, 1)
    norms = [
        np.linalg.norm(noisy_bp(net, x, y, m=1, sigma=100.0, tau_e=0.5, noise_first=first, rng=rng(4))[1][net.L])
        for first in (True, False)
    ]
    assert norms[0] == pytest.approx(0.5, rel=1e-12)
    assert norms[1] > 10


@pytest.mark.verifies("ohana2021:exp-bp")
@pytest.mark.parametrize("noise", ["record", "batch"])
def test_averaging_takes_from_noise_of_records_and_not_from_one_draw(noise):
    """The mean over records reduces noise that is independent for each record, but not noise that all records share.

    We use 50 records and 200 samples of the top layer's bias, so the variance is sigma^2 / 50 or sigma^2. The sum of
    squares is chi2 with 600 degrees of freedom. If the variance is wrong by 80 %, the test misses this with probability
    1e-6. The two variances differ by a factor of 50.
    """
    net = perceptron()
    x, y = batch(net, 50)
    source, total = rng(5), 0.0
    exact = noisy_bp(net, x, y, m=50, sigma=0.0, noise=noise, rng=rng())[1][net.L]
    for _ in range(200):
        total += np.square(noisy_bp(net, x, y, m=50, sigma=0.7, noise=noise, rng=source)[1][net.L] - exact).sum()
    variance = 0.7**2 / (50 if noise == "record" else 1)
    assert stats.chi2.ppf(FALSE_ALARM / 2, 600) < total / variance < stats.chi2.isf(FALSE_ALARM / 2, 600)


def test_an_unknown_reading_of_the_noise_gets_a_sentence():
    net = perceptron()
    x, y = batch(net, 2)
    with pytest.raises(ValueError, match=r"^noise must be one of record, batch, layers, got 'mean'$"):
        noisy_bp(net, x, y, m=2, sigma=0.1, noise="mean", rng=rng())


@pytest.mark.peers
@pytest.mark.verifies("ohana2021:exp-bp")
@every_net
@every_bp_reading
def test_noisy_bp_equals_autograd_of_surrogates(torch, make, reading):
    net, settings = make(), BP_PLAIN | reading
    x, y = batch(net, 6)
    g = 0.3 * rng(4).standard_normal((6, size(net, net.L)))
    got = noisy_bp(net, x, y, m=4, sigma=0.3, **settings, rng=rng(4))
    assert_same_direction(got, torch_noisy_bp(torch, net, x, y, g, m=4, **settings))


@pytest.mark.verifies("ohana2021:exp-ternary")
@every_net
@pytest.mark.parametrize("at", ["h", "z"])
def test_drtp_equals_record_by_record_loops(make, at):
    net = make()
    x, y = batch(net, 3)
    B = feedback.draw(net, law="normal", scale=1.0, rng=rng(5), at=at)
    assert_same_direction(drtp(net, x, y, B=B, m=5, at=at), drtp_by_records(net, x, y, B, m=5, at=at))
    assert_same_direction(drtp(net, x, y, B=B, at=at), drtp_by_records(net, x, y, B, m=3, at=at))


@pytest.mark.verifies("ohana2021:exp-ternary")
@every_net
@pytest.mark.parametrize("at", ["h", "z"])
def test_tdfa_equals_record_by_record_loops(make, at):
    net = make()
    x, y = batch(net, 3)
    B = feedback.draw(net, law="normal", scale=1.0, rng=rng(5), at=at)
    got = tdfa(net, x, y, B=B, t=0.2, m=5, at=at)
    assert_same_direction(got, tdfa_by_records(net, x, y, B, m=5, at=at, t=0.2))
    assert_same_direction(tdfa(net, x, y, B=B, t=0.2, at=at), tdfa_by_records(net, x, y, B, m=3, at=at, t=0.2))


@pytest.mark.peers
@pytest.mark.verifies("ohana2021:exp-ternary")
@every_net
@pytest.mark.parametrize("at", ["h", "z"])
def test_drtp_equals_autograd_of_the_surrogate(torch, make, at):
    net = make()
    x, y = batch(net, 6)
    B = feedback.draw(net, law="normal", scale=1.0, rng=rng(5), at=at)
    assert_same_direction(drtp(net, x, y, B=B, m=4, at=at), torch_drtp(torch, net, x, y, B, m=4, at=at))


# --- vectors of the ledger -----------------------------------------------------------------------------------


def digits(got, want, decimals=10):
    """Assert that values agree in every decimal that the ledger prints."""
    np.testing.assert_allclose(got, want, rtol=0, atol=0.51 * 10.0**-decimals)


V12 = {
    "literal": {
        "norms": [0.0757108041, 0.1916016088, 0.0490646242],
        (1, 0): [-0.0141746923, -0.0115584892, -0.0434098053, -0.0124810719],
        (2, 2): [0.0311664319, 0.0220189384, -0.0298714994],
        (3, 1): [0.0069347879, -0.0190631974, -0.0280532292],
    },
    "signed": {
        "norms": [0.0757108041, 0.1946352649, 0.0517664311],
        (1, 0): [-0.0141746923, -0.0115584892, -0.0434098053, -0.0124810719],
        (2, 2): [0.0292797605, 0.020132267, -0.0298714994],
        (3, 1): [0.0265256416, -0.0127163764, -0.0217064082],
    },
}


def v12_noise():
    """The noise g[3], g[2], g[1] of V-12, in the order in which pdfa draws noise."""
    return [
        np.array([[0.1 * math.sin(6 + l + 2 * i + 3 * j) for j in range(n)] for i in range(3)])
        for l, n in ((3, 2), (2, 3), (1, 3))
    ]


@pytest.mark.verifies("ohana2021:eq8", "ohana2021:alg1.13-15")
@pytest.mark.parametrize("floor", list(V12))
def test_v12(floor):
    net, x, y, B = v11()
    got, _ = pdfa(
        net, x, y, B=B, m=3, sigma=1.0, tau_B=0.5, tau_h_min=0.2, tau_h_max=1.0, floor=floor, rng=Given(*v12_noise())
    )
    digits([np.linalg.norm(dW) for dW in got[1:]], V12[floor]["norms"])
    for l, row in ((1, 0), (2, 2), (3, 1)):
        digits(got[l][row], V12[floor][l, row])
    if floor == "literal":
        gradient, _ = bp(net, x, y)
        cosines = [
            np.vdot(a, b) / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(got[1:], gradient[1:], strict=True)
        ]
        digits(cosines, [0.178095639498, -0.544860386755, 0.762236348967], decimals=12)


@pytest.mark.parametrize("rule", ["pdfa", "noisy_bp"])
def test_v11_with_nothing_active(rule):
    net, x, y, B = v11()
    if rule == "pdfa":
        dW, _ = pdfa(net, x, y, B=B, m=3, sigma=0.0, **INACTIVE, top="raw", rng=rng())
        want = [0.3511337292, 0.4323944762, 0.0772806269], [-0.1165363427, -0.0160607064, -0.1733260817, 0.037581365]
    else:
        dW, _ = noisy_bp(net, x, y, m=3, sigma=0.0, tau_e=math.inf, tau_h_max=1e6, rng=rng())
        want = [0.0969533446, 0.1935673427, 0.0772806269], [0.0318513441, 0.0050535734, 0.0472290991, -0.0094800382]
    digits([np.linalg.norm(d) for d in dW[1:]], want[0])
    digits(dW[1][0], want[1])


# --- the effect of clips on a direction: for one record, dW[l] is dz h^T and db[l] is dz -------------------------


def seen(net, x, y, B, **settings):
    """The input of each layer after its clips, and its dz, recovered from the direction of one record."""
    dW, db = pdfa(net, x, y, B=B, m=1, sigma=0.0, rng=rng(), **settings)
    return [None] + [db[l] @ dW[l] / (db[l] @ db[l]) for l in range(1, net.L + 1)], db


@pytest.mark.parametrize("floor", ["literal", "signed"])
@pytest.mark.parametrize("phi", [ops.tanh, ops.identity, ops.sigmoid], ids=lambda phi: phi.name)
def test_norms_stay_below_their_bounds_and_signed_entries_above_the_floor(floor, phi):
    """Norms stay below their upper bounds, and signed entries stay above their lower bound, up to rounding.

    Inputs range from far below the lower bound to far above the upper bound.
    """
    net = perceptron(phi)
    clipped = 0
    for seed in range(60):
        source = rng(seed)
        tau_h_max = source.uniform(0.1, 3)
        tau_h_min, tau_B = source.uniform(0, tau_h_max), source.uniform(0.05, 1)
        x, y = batch(net, 1, seed)
        bounds = {"tau_B": tau_B, "tau_h_max": tau_h_max, "tau_h_min": tau_h_min}
        h_in, db = seen(net, 10.0 ** source.uniform(-3, 1) * x, y, fed(net), **bounds, floor=floor)
        for l in range(1, net.L + 1):
            norm = np.linalg.norm(h_in[l])
            clipped += norm > 0.999 * tau_h_max
            assert norm <= tau_h_max * (1 + 1e-12)
            if floor == "signed":
                assert np.abs(h_in[l]).min() >= tau_h_min / math.sqrt(size(net, l - 1)) * (1 - 1e-10)
                assert norm >= tau_h_min * (1 - 1e-10)
            # for inputs that are not negative, the printed offset gives a lower bound
            elif l > 1 and phi is ops.sigmoid:
                assert norm >= tau_h_min * (1 - 1e-12)
        assert np.linalg.norm(db[net.L]) <= tau_B * (1 + 1e-12)
        if phi is ops.identity:  # phi' = 1, so db is the projected error
            assert all(np.linalg.norm(db[l]) <= tau_B * (1 + 1e-12) for l in range(1, net.L))
    assert clipped > 10


def test_the_offset_as_printed_is_no_floor_and_the_signed_one_is():
    """The printed offset gives no lower bound of the norm, but the signed offset does.

    If h = -nu in every entry, the printed clip(offset(h)) has norm 0, below any tau_h_min > 0. With the signed offset,
    the norm is 2 tau_h_min.
    """
    net = perceptron(ops.identity)
    y, B = batch(net, 1)[1], fed(net)
    bounds = {"tau_h_min": 0.4, "tau_h_max": 1.0}
    x = np.full((1, 5), -0.4 / math.sqrt(5))
    literal, _ = seen(net, x, y, B, **bounds, floor="literal")
    signed, _ = seen(net, x, y, B, **bounds, floor="signed")
    assert not literal[1].any()
    assert np.linalg.norm(signed[1]) == pytest.approx(0.8, rel=1e-12)
    assert (signed[1] < 0).all()


@pytest.mark.verifies("ohana2021:eq9")
@pytest.mark.parametrize("rule", ["pdfa", "noisy_bp"])
def test_saturated_inputs_have_entries_tau_over_the_root_of_what_the_layer_reads(rule):
    """Saturated inputs have entries tau / sqrt(n_{l-1}), so the bound uses the layer's number of inputs.

    For each layer, n_{l-1}, n_l and n_{l+1} differ, so a bound with n_l would have another value.
    """
    net = perceptron(ops.identity)
    x, y = batch(net, 1)
    settings = {"m": 1, "sigma": 1.0, "tau_h_max": 1e-9, "rng": rng(6)}
    dW, db = pdfa(net, x, y, B=fed(net), **settings) if rule == "pdfa" else noisy_bp(net, x, y, **settings)
    for l in range(1, net.L + 1):
        assert dW[l].shape == (size(net, l), size(net, l - 1))
        assert_close(np.abs(db[l] @ dW[l] / (db[l] @ db[l])), np.full(size(net, l - 1), 1e-9 / size(net, l - 1) ** 0.5))


def test_the_clips_act_in_the_backward_pass_only():
    """The clips have no effect on the forward pass, so the direction of the top bias does not depend on them."""
    net = perceptron()
    x, y = batch(net, 3)
    _, db = pdfa(net, x, y, B=fed(net), m=3, sigma=0.0, tau_h_max=1e-3, top="raw", rng=rng())
    assert_close(db[net.L], (forward(net, x)[1][net.L] - y).mean(axis=0))


# --- identities ----------------------------------------------------------------------------------------------


@every_net
@pytest.mark.parametrize("bias", ["one", "clipped"])
@pytest.mark.parametrize("floor", ["literal", "signed"])
def test_pdfa_without_noise_and_active_clips_is_dfa(make, bias, floor):
    net = make()
    x, y = batch(net, 4)
    B = fed(net)
    got = pdfa(net, x, y, B=B, m=5, sigma=0.0, **INACTIVE, top="raw", bias=bias, floor=floor, rng=rng())
    assert_same_direction(got, dfa(net, x, y, B=B, m=5), rtol=0)
    noiseless = pdfa(net, x, y, B=B, m=5, sigma=0.0, **INACTIVE, top="noiseless", rng=rng())
    assert_same_direction(noiseless, got, rtol=0)


@every_net
def test_noisy_bp_without_noise_and_active_clips_is_bp(make):
    net = make()
    x, y = batch(net, 4)
    got = noisy_bp(net, x, y, m=5, sigma=0.0, tau_e=math.inf, tau_h_max=1e6, rng=rng())
    assert_same_direction(got, bp(net, x, y, m=5), rtol=0)


@pytest.mark.verifies("ohana2021:exp-ternary")
@every_net
def test_tdfa_is_dfa_of_the_ternary_error_below_the_top_and_pdfa_without_noise_and_clips(make):
    net = make()
    x, y = batch(net, 4)
    B = fed(net)
    got = tdfa(net, x, y, B=B, t=0.2)
    by_dfa = dfa(net, x, y, B=B, project=lambda e, B_l: feedback.project(ternarize(e, 0.2), B_l))
    assert_same_direction(got, by_dfa, rtol=0)
    by_pdfa = pdfa(net, x, y, B=B, m=4, sigma=0.0, **INACTIVE, t=0.2, top="raw", rng=rng())
    assert_same_direction(got, by_pdfa, rtol=0)


@pytest.mark.parametrize("at", ["h", "z"])
@pytest.mark.parametrize(
    "make", [NETS["squared error"], functools.partial(pooled_cnn, AvgPool, loss=ops.squared_error)]
)
def test_drtp_is_dfa_where_the_network_answers_0(make, at):
    """If the network's output is 0, DRTP equals DFA: with W[L] = 0 and b[L] = 0, the squared loss has the error -y."""
    net = make()
    net.W[net.L][:], net.b[net.L][:] = 0, 0
    x, y = batch(net, 4)
    B = feedback.draw(net, law="normal", scale=1.0, rng=rng(5), at=at)
    assert_same_direction(drtp(net, x, y, B=B, at=at), dfa(net, x, y, B=B, at=at), rtol=0)


@pytest.mark.verifies("ohana2021:exp-ternary")
def test_an_error_at_the_threshold_ternarises_to_0():
    """An error at the threshold becomes 0: e = (-1/4, 1/4, -1/2) and t = 1/4 give t(e) = (0, 0, -1).

    So layer 1 learns only from -B[1][:, 2].
    """
    net = perceptron(ops.identity, sizes=(5, 4, 3), loss=ops.squared_error)
    net.W[2][:], net.b[2][:] = 0, 0
    x, y, B = batch(net, 1)[0], np.array([[0.25, -0.25, 0.5]]), fed(net)
    _, db = pdfa(net, x, y, B=B, m=1, sigma=0.0, **INACTIVE, t=0.25, top="raw", rng=rng())
    assert_close(db[1], -B[1][:, 2])
    assert_close(db[2], -y[0])


@pytest.mark.verifies("ohana2021:alg1.16")
def test_one_step_of_sgd_is_line_16_of_algorithm_1():
    net = perceptron()
    x, y = batch(net, 3)
    B, g, before = fed(net), draws(net, 3, 0.2, "noisy", seed=12), net.copy()
    settings = {"m": 3, **PLAIN, "tau_h_min": 0.2}
    SGD(0.25).step(net, *pdfa(net, x, y, B=B, sigma=0.2, **settings, rng=rng(12)), 1)
    dW, db = pdfa_by_records(before, x, y, B, g, **settings)
    for l in range(1, net.L + 1):
        assert_close(net.W[l], before.W[l] - 0.25 * dW[l])
        assert_close(net.b[l], before.b[l] - 0.25 * db[l])


@pytest.mark.verifies("ohana2021:exp-tau")
def test_bounds_not_given_are_those_of_the_experiments():
    """Bounds without a given value are those of the experiments.

    These bounds are tau_B = tau_f = tau_h_max = 1, no offset, every clip active, and noise on every layer. With another
    tau_h_min, the direction is different.
    """
    net = perceptron()
    x, y = batch(net, 3)
    B, given = fed(net, scale=3.0), {"tau_h_max": 1.0, "tau_h_min": 0.0, "clip_x": True, "floor": "literal"}
    settings = {"t": None, "top": "noisy", "bias": "one", "tau_B": 1.0}
    default = pdfa(net, 3 * x, y, B=B, m=3, sigma=0.1, rng=rng(13))
    assert_same_direction(default, pdfa(net, 3 * x, y, B=B, m=3, sigma=0.1, **given, **settings, rng=rng(13)), rtol=0)
    moved = pdfa(net, 3 * x, y, B=B, m=3, sigma=0.1, tau_h_min=0.1, rng=rng(13))
    assert not any(np.allclose(a, b) for a, b in zip(default[0][1:], moved[0][1:], strict=True))
    default = noisy_bp(net, 3 * x, 5 * y, m=3, sigma=0.1, rng=rng(13))
    assert_same_direction(default, noisy_bp(net, 3 * x, 5 * y, m=3, sigma=0.1, tau_e=1.0, **given, rng=rng(13)), rtol=0)


def test_drtp_below_the_top_does_not_look_at_the_output():
    net = perceptron()
    x, y = batch(net, 4)
    B, other = fed(net), perceptron()
    other.W[net.L][:] = rng(7).normal(size=other.W[net.L].shape)
    got, want = drtp(net, x, y, B=B), drtp(other, x, y, B=B)
    assert_same_direction([part[: net.L] for part in got], [part[: net.L] for part in want], rtol=0)
    assert not np.allclose(got[0][net.L], want[0][net.L])


@RULES
def test_a_batch_is_the_mean_of_micro_batches_of_one(rule):
    net = perceptron()
    x, y = batch(net, 4)
    direction = every_rule(net)[rule]
    parts = [direction(net, x[i : i + 1], y[i : i + 1], m=4) for i in range(4)]
    total = [[None] + [sum(p[k][l] for p in parts) for l in range(1, net.L + 1)] for k in (0, 1)]
    assert_same_direction(direction(net, x, y, m=4), total)


def separable():
    """Two classes on either side of a line, and a 2-6-2 network."""
    x = rng(8).normal(size=(20, 2))
    x[:, 0] += np.where(np.arange(20) % 2, 2, -2)
    return perceptron(sizes=(2, 6, 2)), x, np.eye(2)[np.arange(20) % 2]


@RULES
def test_the_hidden_layer_alone_learns(rule):
    """Training only the hidden layer reduces the loss, if the feedback is W[2]^T and W[2] and b[2] are fixed.

    If the direction had the opposite sign, the loss would increase.
    """
    net, x, y = separable()
    B, losses = [None, net.W[2].T.copy(), None], []
    for _ in range(30):
        losses.append(float(net.loss.value(forward(net, x)[0][2], y).mean()))
        if rule == "drtp":
            dW, db = drtp(net, x, y, B=B)
        elif rule == "tdfa":
            dW, db = tdfa(net, x, y, B=B, t=0.15)
        elif rule == "pdfa":
            dW, db = pdfa(net, x, y, B=B, m=20, sigma=0.0, t=0.15, tau_h_max=3.0, rng=rng())
        else:
            dW, db = noisy_bp(net, x, y, m=20, sigma=0.0, tau_h_max=3.0, rng=rng())
        net.W[1] -= 0.2 * dW[1]
        net.b[1] -= 0.2 * db[1]
    assert (np.diff(losses) < 0).all()
    assert losses[-1] < 0.9 * losses[0]


@pytest.mark.parametrize("seed", range(3))
def test_drtp_learns_with_random_feedback(seed):
    net, x, y = separable()
    B, losses = fed(net, scale=1.0, seed=seed), []
    for _ in range(30):
        losses.append(float(net.loss.value(forward(net, x)[0][2], y).mean()))
        dW, db = drtp(net, x, y, B=B)
        for l in (1, 2):
            net.W[l] -= 0.2 * dW[l]
            net.b[l] -= 0.2 * db[l]
    assert losses[-1] < 0.3 * losses[0]


# --- the noise -----------------------------------------------------------------------------------------------

N_DRAWS = 6000


def noise_problem():
    """A 4-3-3-2 network with 7 records and m different from 7.

    No layer has as many inputs as there are records, so no covariance is singular.
    """
    net = perceptron(sizes=(4, 3, 3, 2))
    x, y = batch(net, 7)
    return net, x, y, {"B": fed(net), "m": 5, "tau_h_max": 0.8, "tau_h_min": 0.2, "tau_B": 0.3}


@pytest.fixture(scope="module")
def pdfa_noise():
    """N_DRAWS directions minus the noiseless direction, by layer: (N, n_l, n_{l-1} + 1).

    The last column is the bias.
    """
    net, x, y, settings = noise_problem()
    exact, source = pdfa(net, x, y, **settings, sigma=0.0, rng=rng()), rng(20)
    sample = [pdfa(net, x, y, **settings, sigma=0.4, rng=source) for _ in range(N_DRAWS)]
    join = lambda direction, l: np.column_stack([direction[0][l], direction[1][l]])  # noqa: E731
    return [None] + [np.array([join(d, l) - join(exact, l) for d in sample]) for l in range(1, net.L + 1)]


def whitened(noise):
    """Every row j of every layer times the inverse root of sigma^2 / m^2 H^T Phi_j^2 H, as an array (N, all entries).

    H contains the clipped inputs of the layer and a column of ones for the bias. Phi_j contains phi'(z_j) of each
    record. We compute H and Phi_j from their definitions. The rows of different units or layers have covariance 0.
    """
    net, x, _, settings = noise_problem()
    z, h = forward(net, x)
    white = []
    for l in range(1, net.L + 1):
        root = math.sqrt(h[l - 1].shape[1])
        H = np.clip(
            h[l - 1] + settings["tau_h_min"] / root, -settings["tau_h_max"] / root, settings["tau_h_max"] / root
        )
        H = np.column_stack([H, np.ones(7)])
        for j in range(size(net, l)):
            dphi = np.ones(7) if l == net.L else 1 / np.cosh(z[l][:, j]) ** 2
            covariance = (0.4 / settings["m"]) ** 2 * (H.T * dphi**2) @ H
            white.append(np.linalg.solve(np.linalg.cholesky(covariance), noise[l][:, j].T))
    return np.concatenate(white).T


@pytest.mark.slow
@pytest.mark.verifies("ohana2021:alg1.13-15", "ohana2021:eq12")
def test_noise_of_pdfa_averages_out_and_has_the_covariance_of_shared_columns_and_independent_rows(pdfa_noise):
    """The noise of pdfa has mean 0. Its columns are correlated as in the formula, and its rows are independent.

    After whitening by the formula, the entries of all rows and layers are 35 independent N(0, 1) values. Their means
    are normal, and their sums of squares are chi2. A product of two entries has E exp(s ab) = (1 - s^2)^(-1/2). So by
    Chernoff's bound, the mean of 6,000 products exceeds 7 / sqrt(6000) with probability below 3e-11, at each end for
    595 pairs. The test misses the following errors with probability 1e-6: a mean wrong by 0.14, a variance wrong by 27
    %, and a correlation of 0.16.
    """
    white = whitened(pdfa_noise)
    N, d = white.shape
    assert (N, d) == (N_DRAWS, 3 * 5 + 3 * 4 + 2 * 4)
    assert np.abs(white.mean(axis=0)).max() * math.sqrt(N) < stats.norm.isf(FALSE_ALARM / (2 * d))
    squares = np.square(white).sum(axis=0)
    for total, degrees, tries in ((squares, N, d), (squares.sum(), N * d, 1)):
        assert (total > stats.chi2.ppf(FALSE_ALARM / (2 * tries), degrees)).all()
        assert (total < stats.chi2.isf(FALSE_ALARM / (2 * tries), degrees)).all()
    products = white.T @ white / N
    assert np.abs(products - np.diag(np.diag(products))).max() < 7 / math.sqrt(N)


@pytest.mark.slow
def test_columns_of_an_update_share_their_noise(pdfa_noise):
    """The columns of a direction share their noise: two columns of a row have the formula's nonzero correlation."""
    first = np.abs(np.corrcoef(pdfa_noise[1][:, 0].T))
    assert np.sort(first[np.triu_indices(5, 1)])[-1] > 0.5
    across = np.corrcoef(pdfa_noise[1][:, 0, 0], pdfa_noise[1][:, 1, 0])[0, 1]
    assert abs(across) < 7 / math.sqrt(N_DRAWS)


def test_with_fewer_records_than_inputs_all_rows_of_the_noise_lie_in_the_span_of_the_inputs():
    """With fewer records than inputs, all rows of the noise are in the span of the inputs.

    With three records and seven inputs, the noise of dW[2] is (g phi')^T H / m, of rank 3.
    """
    net = perceptron()
    x, y = batch(net, 3)
    settings = {"B": fed(net), "m": 3, "tau_h_max": 1e3}
    noisy, exact = (pdfa(net, x, y, **settings, sigma=s, rng=rng(9))[0][2] for s in (0.5, 0.0))
    H = forward(net, x)[1][1]
    noise = noisy - exact
    inside = noise @ np.linalg.pinv(H) @ H
    assert_close(noise, inside, rtol=1e-10)
    assert np.linalg.matrix_rank(noise) == 3


@pytest.mark.verifies("ohana2021:eq12")
@every_net
def test_the_noise_is_a_sum_of_its_own_linear_in_g(make):
    """The noise on a direction is linear in g: with equal samples, 2 sigma doubles it, and -sigma reverses it."""
    net = make()
    x, y = batch(net, 3)
    g = draws(net, 3, 1.0, "noisy", seed=14)[:0:-1]  # draws from the top layer down

    def moved(sigma, sign=1.0):
        parts = (
            pdfa(net, x, y, B=fed(net), m=5, sigma=s, tau_h_min=0.2, tau_B=0.3, rng=Given(*(sign * a for a in g)))
            for s in (sigma, 0.0)
        )
        return [
            [None] + [a - b for a, b in zip(noisy[1:], exact[1:], strict=True)]
            for noisy, exact in zip(*parts, strict=True)
        ]

    once = moved(0.3)
    assert_same_direction(moved(0.6), [[None] + [2 * d for d in part[1:]] for part in once], rtol=1e-11)
    assert_same_direction(moved(0.3, -1.0), [[None] + [-d for d in part[1:]] for part in once], rtol=1e-11)


@pytest.mark.verifies("ohana2021:eq8", "ohana2021:alg1.13-15")
def test_noise_comes_after_the_scaling():
    """The rule adds noise after the scaling.

    If the rule added the noise before the scaling to norm tau_B = 1e-3, the result's norm would be at most 1e-3. With
    sigma = 1, ||g||^2 is chi2. If the variance is wrong by 70 %, the test misses this with probability 1e-6.
    """
    net = perceptron(ops.identity)
    x, y = batch(net, 1)
    source, total = rng(10), np.zeros(net.L + 1)
    settings = {"B": fed(net), "m": 1, "tau_B": 1e-3}
    exact = pdfa(net, x, y, **settings, sigma=0.0, rng=source)[1]
    for _ in range(500):
        db = pdfa(net, x, y, **settings, sigma=1.0, rng=source)[1]
        total += [0, *(np.square(a - b).sum() for a, b in zip(db[1:], exact[1:], strict=True))]
    for l in range(1, net.L + 1):
        assert np.linalg.norm(exact[l]) <= 1e-3 * (1 + 1e-12)
        degrees = 500 * size(net, l)
        assert stats.chi2.ppf(FALSE_ALARM / 8, degrees) < total[l] < stats.chi2.isf(FALSE_ALARM / 8, degrees)


@pytest.mark.slow
@pytest.mark.verifies("ohana2021:exp-bp")
def test_noise_of_noisy_bp_averages_out_and_is_independent_for_the_records():
    """The noise of noisy BP has mean 0 and is independent for different records, in 4,000 samples of 35 entries.

    Each mean is within 6 standard errors, and correct code fails with probability below 1e-6 in total. The top's bias
    is (1/m) times the sum of 7 independent g. So its variance is 7 sigma^2 / m^2, and its sum of squares is chi2. If a
    mean is wrong by 10.8 standard errors, or a variance by 18 %, the test misses this with probability 1e-6.
    """
    net, x, y, _ = noise_problem()
    settings = {"m": 5, "tau_h_max": 0.8, "tau_h_min": 0.2, "tau_e": 0.3}
    exact, source = noisy_bp(net, x, y, **settings, sigma=0.0, rng=rng()), rng(21)
    sample = [noisy_bp(net, x, y, **settings, sigma=0.4, rng=source) for _ in range(4000)]
    for part in (0, 1):
        for l in range(1, net.L + 1):
            values = np.array([direction[part][l] for direction in sample])
            error = values.std(axis=0, ddof=1) / math.sqrt(len(values))
            assert (error > 0).all()
            assert (np.abs(values.mean(axis=0) - exact[part][l]) < 6 * error).all()
    squares = np.square([db[net.L] - exact[1][net.L] for _, db in sample]).sum() / (7 * (0.4 / 5) ** 2)
    assert stats.chi2.ppf(FALSE_ALARM / 2, 8000) < squares < stats.chi2.isf(FALSE_ALARM / 2, 8000)


@pytest.mark.verifies("ohana2021:exp-bp")
def test_the_layers_of_noisy_bp_share_one_g():
    """All layers of noisy BP use one g: in a linear network, the direction of every bias contains g.

    For one record, g has std sigma. If the variance is wrong by 60 %, the test misses this with probability 1e-6.
    """
    net = perceptron(ops.identity)
    x, y = batch(net, 1)
    source, found = rng(22), []
    for _ in range(300):
        exact = noisy_bp(net, x, y, m=1, sigma=0.0, rng=rng())[1]
        db = noisy_bp(net, x, y, m=1, sigma=0.7, rng=source)[1]
        g = db[net.L] - exact[net.L]
        carried = np.eye(3)
        for l in range(net.L - 1, 0, -1):
            carried = net.W[l + 1].T @ carried
            assert_close(np.linalg.lstsq(carried, db[l] - exact[l])[0], g, rtol=1e-10)
        found.append(g)
    squares = np.square(found).sum() / 0.7**2
    assert stats.chi2.ppf(FALSE_ALARM / 2, 900) < squares < stats.chi2.isf(FALSE_ALARM / 2, 900)


@pytest.mark.parametrize(
    "rule, reading, numbers",
    [
        ("pdfa", {"top": "noisy"}, 3 * (3 + 7 + 4 + 6)),
        ("pdfa", {"top": "noiseless"}, 3 * (7 + 4 + 6)),
        ("pdfa", {"top": "raw"}, 3 * (7 + 4 + 6)),
        ("noisy_bp", {}, 3 * 3),
        ("noisy_bp", {"noise": "batch", "noise_first": True}, 3),
        ("noisy_bp", {"noise": "layers"}, 3 * (3 + 7 + 4 + 6)),
    ],
)
def test_the_draws_do_not_depend_on_sigma(rule, reading, numbers):
    """The number of random samples does not depend on sigma, so runs with different sigma have equal later samples.

    With sigma = 0 and with sigma > 0, the generator ends in the same state.
    """
    net = perceptron()
    x, y = batch(net, 3)
    states = []
    for sigma in (0.0, 0.5):
        source = rng(23)
        if rule == "pdfa":
            pdfa(net, x, y, B=fed(net), m=3, sigma=sigma, **reading, rng=source)
        else:
            noisy_bp(net, x, y, m=3, sigma=sigma, **reading, rng=source)
        states.append(source.bit_generator.state)
    by_hand = rng(23)
    by_hand.standard_normal(numbers)
    assert states[0] == states[1] == by_hand.bit_generator.state


# --- edges ---------------------------------------------------------------------------------------------------


def every_rule(net):
    """The rules with their arguments, with active clips and without noise."""
    B = fed(net)
    return {
        "pdfa": lambda net, x, y, **s: pdfa(
            net, x, y, **{"B": B, "sigma": 0.0, "t": 0.15, "tau_h_min": 0.2, "bias": "clipped", "rng": rng()} | s
        ),
        "noisy_bp": lambda net, x, y, **s: noisy_bp(net, x, y, **{"sigma": 0.0, "tau_h_min": 0.2, "rng": rng()} | s),
        "tdfa": lambda net, x, y, **s: tdfa(net, x, y, **{"B": B, "t": 0.15} | s),
        "drtp": lambda net, x, y, **s: drtp(net, x, y, **{"B": B} | s),
    }


@pytest.mark.verifies("ohana2021:scale", "ohana2021:exp-ternary")
@pytest.mark.parametrize("top", ["noisy", "noiseless"])
def test_an_error_that_ternarises_to_0_gives_noise_alone(top):
    """If the ternary error is 0, the direction is noise alone.

    In this test, no |e| exceeds the threshold 1, so B t(e) = 0. For this error, the printed scaling would be 0 / 0.
    """
    net = perceptron(ops.identity)
    x, y = batch(net, 1)
    settings = {"B": fed(net), "m": 1, "t": 1.0, "top": top}
    silent = pdfa(net, x, y, **settings, sigma=0.0, rng=rng(24))
    assert not any(d.any() for part in silent for d in part[1 : net.L])
    g = draws(net, 1, 0.3, top, seed=24)
    noisy = pdfa(net, x, y, **settings, sigma=0.3, rng=rng(24))
    assert all(np.isfinite(d).all() for part in noisy for d in part[1:])
    for l in range(1, net.L):
        assert_close(noisy[1][l], g[l][0])


@pytest.mark.verifies("ohana2021:scale")
@pytest.mark.parametrize("rule", ["pdfa", "noisy_bp"])
def test_an_error_of_exactly_0_gives_noise_alone(rule):
    net = perceptron(ops.identity, loss=ops.squared_error)
    x, _ = batch(net, 2)
    y = forward(net, x)[1][net.L]
    B = {"B": fed(net)} if rule == "pdfa" else {}
    for sigma in (0.0, 0.3):
        direction = {"pdfa": pdfa, "noisy_bp": noisy_bp}[rule](net, x, y, m=2, sigma=sigma, rng=rng(25), **B)
        for part in direction:
            assert all(np.isfinite(d).all() and d.any() == (sigma > 0) for d in part[1:])


@RULES
@every_net
@pytest.mark.parametrize("sigma", [0.0, 0.5])
def test_an_empty_batch_gives_zeros(rule, make, sigma):
    net = make()
    x, y = batch(net, 0)
    dW, db = every_rule(net)[rule](net, x, y, m=8, **({} if rule in NOISELESS else {"sigma": sigma}))
    for got, like in zip((*dW[1:], *db[1:]), (*net.W[1:], *net.b[1:]), strict=True):
        assert np.array_equal(got, np.zeros_like(like))


@RULES
@pytest.mark.parametrize("m", [1, 6, 12, 12.5])
def test_m_divides_the_sum_whatever_the_batch(rule, m):
    net = perceptron()
    x, y = batch(net, 6)
    direction = every_rule(net)[rule]
    one = direction(net, x, y, m=1)
    assert_same_direction(direction(net, x, y, m=m), [[None] + [d / m for d in part[1:]] for part in one])


@RULES
@every_net
def test_float32_stays_float32(rule, make):
    net = make(dtype=np.float32)
    x, y = (a.astype(np.float32) for a in batch(net, 4))
    noise = {"t": 0.15} if rule == "tdfa" else {} if rule == "drtp" else {"sigma": 0.3}
    for settings in (noise, noise | {"m": np.float64(4)}, {name: np.float64(value) for name, value in noise.items()}):
        dW, db = every_rule(net)[rule](net, x, y, **{"m": 4} | settings)
        assert {a.dtype for a in (*dW[1:], *db[1:])} == {np.dtype(np.float32)}


@pytest.mark.parametrize("rule", ["pdfa", "noisy_bp"])
def test_bounds_that_are_numpy_numbers_do_not_change_the_dtype(rule):
    net = perceptron(dtype=np.float32)
    x, y = (a.astype(np.float32) for a in batch(net, 4))
    names = ("tau_B", "t") if rule == "pdfa" else ("tau_e",)
    for floor in ("literal", "signed"):
        settings = {name: np.float64(0.3) for name in (*names, "tau_h_max", "tau_h_min")}
        dW, db = every_rule(net)[rule](net, x, y, m=4, floor=floor, **settings)
        assert {a.dtype for a in (*dW[1:], *db[1:])} == {np.dtype(np.float32)}


@RULES
@every_net
def test_a_rule_changes_nothing_that_it_is_given(rule, make):
    net = make()
    x, y = batch(net, 4)
    direction, given = every_rule(net)[rule], [x, y, *net.W[1:], *net.b[1:]]
    kept = [a.copy() for a in given]
    first, again = direction(net, x, y, m=4), direction(net, x, y, m=4)
    assert all(np.array_equal(a, b) for a, b in zip(given, kept, strict=True))
    assert_same_direction(first, again, rtol=0)


# --- refusals ------------------------------------------------------------------------------------------------

NAN = math.nan
CLIPS = [
    ({"tau_h_min": 1.5}, "0 <= tau_h_min <= tau_h_max, .* got tau_h_min=1.5 and tau_h_max=1.0"),
    ({"tau_h_min": -0.1}, "tau_h_min <= tau_h_max, .* got tau_h_min=-0.1 and tau_h_max=1.0"),
    ({"tau_h_min": NAN}, "tau_h_min <= tau_h_max, .* got tau_h_min=nan and tau_h_max=1.0"),
    ({"tau_h_min": math.inf, "tau_h_max": math.inf}, "tau_h_min < inf .* got tau_h_min=inf and tau_h_max=inf"),
    ({"tau_h_max": 0.0}, "tau_h_max > 0, got tau_h_min=0.0 and tau_h_max=0.0"),
    ({"tau_h_max": NAN}, "tau_h_max > 0, got tau_h_min=0.0 and tau_h_max=nan"),
    ({"sigma": -0.1}, "sigma must be a number >= 0, got -0.1"),
    ({"sigma": NAN}, "sigma must be a number >= 0, got nan"),
    ({"sigma": math.inf}, "sigma must be a number >= 0, got inf"),
    ({"floor": "round"}, "floor must be one of literal, signed, got 'round'"),
]
REFUSED = {
    "pdfa": [
        *CLIPS,
        ({"tau_B": 0.0}, "tau_B must be positive, got 0.0"),
        ({"tau_B": -1.0}, "tau_B must be positive, got -1.0"),
        ({"tau_B": NAN}, "tau_B must be positive, got nan"),
        ({"t": -0.15}, "threshold t must not be negative, got -0.15"),
        ({"t": NAN}, "threshold t must not be negative, got nan"),
        ({"top": "quiet"}, "top must be one of noisy, noiseless, raw, got 'quiet'"),
        ({"bias": "none"}, "bias must be one of one, clipped, got 'none'"),
        ({"m": 0}, "the normaliser m of pdfa must be positive, got m=0"),
        ({"m": -2}, "the normaliser m of pdfa must be positive, got m=-2"),
        ({"m": NAN}, "the normaliser m of pdfa must be positive, got m=nan"),
    ],
    "noisy_bp": [
        *CLIPS,
        ({"tau_e": 0.0}, "tau_e must be positive, got 0.0"),
        ({"tau_e": NAN}, "tau_e must be positive, got nan"),
        ({"m": 0}, "the normaliser m of noisy_bp must be positive, got m=0"),
        ({"m": NAN}, "the normaliser m of noisy_bp must be positive, got m=nan"),
    ],
    "tdfa": [
        ({"m": 0}, "the normaliser m of tdfa must be positive, got m=0"),
        ({"m": NAN}, "the normaliser m of tdfa must be positive, got m=nan"),
        ({"t": -0.15}, "threshold t must not be negative, got -0.15"),
        ({"t": NAN}, "threshold t must not be negative, got nan"),
        ({"at": "x"}, "at must be 'h' or 'z', got 'x'"),
    ],
    "drtp": [
        ({"m": 0}, "the normaliser m of drtp must be positive, got m=0"),
        ({"m": -2}, "the normaliser m of drtp must be positive, got m=-2"),
        ({"m": NAN}, "the normaliser m of drtp must be positive, got m=nan"),
        ({"at": "x"}, "at must be 'h' or 'z', got 'x'"),
    ],
}


@pytest.mark.parametrize(
    ("rule", "bad", "sentence"), [(rule, bad, sentence) for rule, cases in REFUSED.items() for bad, sentence in cases]
)
def test_bad_input_gets_a_sentence_that_names_the_argument(rule, bad, sentence):
    net = perceptron()
    plain = {"pdfa": {"tau_h_min": 0.0, "t": None, "bias": "one"}, "noisy_bp": {"tau_h_min": 0.0}}.get(rule, {})
    with pytest.raises(ValueError, match=sentence) as refusal:
        every_rule(net)[rule](net, *batch(net, 2), **{"m": 2} | plain | bad)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("rule", NOISELESS)
def test_an_empty_batch_without_m_gets_a_sentence(rule):
    net = perceptron()
    with pytest.raises(
        ValueError, match=f"the normaliser m of {rule} must be positive, got m=0. Give m if a batch can be"
    ):
        every_rule(net)[rule](net, *batch(net, 0))


@pytest.mark.parametrize("rule", [pdfa_file, tdfa_file, noisy_bp_file, drtp_file], ids=lambda file: file.__name__)
def test_the_rules_refuse_a_privacy_statement_by_name(rule):
    settings = {"m": 8, "B": []} if rule in (tdfa_file, drtp_file) else {"m": 8, "sigma": 0.1, "tau_h_max": 1.0}
    without = {}
    if rule is pdfa_file:  # under replace-label, this rule has a guarantee
        without = {"net": perceptron(), "sigma": 0.1, "sampling": "none", "sampling_rate": 1.0}
        settings = without | {"adjacency": "replace-one"}
    for given in (without, settings):
        with pytest.raises(NoGuarantee) as refusal:
            rule.mechanism(**given)
        assert ledger.find(refusal.value.id).id == refusal.value.id


# --- the optical projection ----------------------------------------------------------------------------------


def opus(net, **settings):
    """One OPU for each hidden layer in place of B[l], and their matrices."""
    devices = [None] + [OPU(size(net, net.L), size(net, l), rng=rng(30 + l), **settings) for l in range(1, net.L)]
    return [*devices, None], [None, *(device.B for device in devices[1:]), None]


@every_net
@pytest.mark.parametrize("sigma", [0.0, 0.3])
def test_a_step_with_ideal_opus_is_the_step_with_their_matrices(make, sigma):
    net = make()
    x, y = batch(net, 4)
    devices, B = opus(net, scale=0.5)
    settings = {"m": 4, "sigma": sigma, "t": 0.15, "tau_B": 0.9, "tau_h_min": 0.1}
    got = pdfa(net, x, y, B=devices, project=optical, **settings, rng=rng(31))
    assert_same_direction(got, pdfa(net, x, y, B=B, **settings, rng=rng(31)))


@every_net
def test_tdfa_with_ideal_opus_is_tdfa_with_their_matrices(make):
    net = make()
    x, y = batch(net, 4)
    devices, B = opus(net, scale=0.5)
    got = tdfa(net, x, y, B=devices, t=0.15, project=optical, rng=rng())
    assert_same_direction(got, tdfa(net, x, y, B=B, t=0.15))


def test_an_opu_needs_the_ternary_error():
    net = perceptron()
    devices, _ = opus(net)
    with pytest.raises(ValueError, match="every entry of an error for an OPU must be -1, 0 or 1"):
        pdfa(net, *batch(net, 2), B=devices, project=optical, m=2, sigma=0.0, rng=rng())


def test_a_step_with_opus_keeps_float32():
    net = perceptron(dtype=np.float32)
    x, y = (a.astype(np.float32) for a in batch(net, 4))
    devices, _ = opus(net, camera=Camera(photons=100.0))
    dW, db = pdfa(net, x, y, B=devices, project=optical, m=4, sigma=0.1, t=0.15, rng=rng())
    assert {a.dtype for a in (*dW[1:], *db[1:])} == {np.dtype(np.float32)}


def test_a_step_with_noisy_opus_is_fixed_by_its_rng_and_projects_before_it_adds_noise():
    """A step with noisy OPUs depends only on its rng, and draws its noise in the documented order.

    The step draws the top layer's g, and then for every lower layer the noise of the OPU and g. In each layer, the step
    projects before it adds g. The test draws the same noise.
    """
    net = perceptron()
    x, y = batch(net, 4)
    devices, _ = opus(net, noise_std=0.2)
    settings = {"m": 4, "sigma": 0.3, "t": 0.15, "tau_h_min": 0.1, "project": optical, "B": devices}
    first, again, other = (pdfa(net, x, y, **settings, rng=rng(seed)) for seed in (32, 32, 33))
    assert_same_direction(first, again, rtol=0)
    assert not np.allclose(first[0][1], other[0][1])

    source = rng(32)
    e = forward(net, x)[1][net.L] - y
    source.standard_normal((4, 3))
    for l in range(net.L - 1, 0, -1):
        p = devices[l].project(ternarize(e, 0.15), rng=source)
        p /= np.maximum(1, np.linalg.norm(p, axis=1, keepdims=True))
        v = p + 0.3 * source.standard_normal(p.shape)
        assert_close(first[1][l], (v / np.cosh(forward(net, x)[0][l]) ** 2).mean(axis=0))


@pytest.mark.slow
def test_a_step_with_noisy_opus_averages_to_the_step_without_noise():
    """With noisy OPUs, the mean of 3,000 steps is the step without noise, to 6 standard errors in each entry.

    In this test, the rule does not scale the noise of the OPU (tau_B = inf). If a mean is wrong by 10.8 standard
    errors, the test misses this with probability 1e-6.
    """
    net, x, y, _ = noise_problem()
    settings = {"m": 7, "t": 0.15, "tau_B": math.inf, "top": "raw", "project": optical}
    noisy, ideal = opus(net, noise_std=0.3)[0], opus(net)[0]
    exact = pdfa(net, x, y, B=ideal, sigma=0.0, **settings, rng=rng())[0]
    source = rng(34)
    sample = [pdfa(net, x, y, B=noisy, sigma=0.0, **settings, rng=source)[0] for _ in range(3000)]
    for l in range(1, net.L):
        values = np.array([dW[l] for dW in sample])
        error = values.std(axis=0, ddof=1) / math.sqrt(len(values))
        assert (error > 0).all()
        assert (np.abs(values.mean(axis=0) - exact[l]) < 6 * error).all()
