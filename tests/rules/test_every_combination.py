"""Tests that every rule is correct or refuses, for every combination of biases, skips, pooling, stride and padding.

The tests include all rules in nfa/rules, so a rule that you add is tested too. We compare each rule, without noise and
active clips, with central differences of the forward pass, one parameter at a time. Every rule agrees on all networks
with one of the directions in `ways_to_teach`. A rule in `READINGS` agrees with the direction that its entry names. A
refusal is one sentence.
"""

import functools
import json
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from nfa import feedback, ops
from nfa.cli.main import main
from nfa.feedback import ternarize
from nfa.mechanism import NoGuarantee
from nfa.network import Net, forward
from nfa.network.dense import Conv2d, Dense
from nfa.network.pooling import AvgPool, MaxPool
from nfa.rules.hybrid import convolutions
from nfa.rules.spec import ALIASES, names, spec
from tests.oracles.core import assert_same_direction, batch
from tests.oracles.private_rules import norm
from tests.oracles.rule_settings import values

SPEC = {name: spec(name) for name in names() if name not in ALIASES}
T = 0.3  # threshold for ternary errors
K = 28  # examples in a batch: more than the weights of any unit
HUGE = 1e9  # a bound that no norm exceeds
rng = np.random.default_rng


# --- networks -------------------------------------------------------------------------------------------------


def conv(c=2, k=2, *how, phi=ops.tanh, pool=None):
    return (Conv2d(c, k, *how), phi, pool)


def dense(n, phi=ops.tanh):
    return (Dense(n), phi)


IMAGE = (2, 3, 4)
TOP = (Dense(3),)
BASES = {  # input, layers, skips
    "one layer": ((4,), [TOP], {}),
    "dense": ((4,), [dense(5, ops.sigmoid), dense(3, ops.gelu), TOP], {}),
    "dense, skips": ((3,), [dense(3), dense(3, ops.gelu), dense(3), TOP], {2: 0, 4: 1}),
    "one output unit": ((3,), [dense(1), dense(1), TOP], {3: 1}),
    "stride, valid": (IMAGE, [conv(2, 2, (2, 1), "valid"), TOP], {}),
    "same, max pooling": (IMAGE, [conv(2, 3, 1, "same", pool=MaxPool(2)), dense(4), TOP], {}),
    "zeros around, average pooling": (IMAGE, [conv(2, (2, 3), 1, (1, 0), pool=AvgPool(2)), TOP], {}),
    "stride, same, overlapping pooling": (IMAGE, [conv(2, 2, (1, 2), "same", pool=MaxPool(2, 1)), dense(3), TOP], {}),
    "convolutions, skips": (IMAGE, [conv(2, 3, 1, "same"), conv(2, 3, 1, "same"), dense(3), TOP], {2: 0, 3: 1}),
    "convolution above pooling, skip": (IMAGE, [conv(pool=AvgPool(2)), conv(2, 1), dense(2), dense(2), TOP], {5: 3}),
}
WAYS = ("gradient", "error", "ternary error", "relative ternary error", "target", "hybrid", "fixed matrices", "signs")
BIASES = {"biases": lambda l: True, "no biases": lambda l: False, "some biases": lambda l: l % 2 == 0}


def build(base: str, biases: str, loss=ops.softmax_cross_entropy) -> Net:
    """The network of BASES with this name. ``biases`` states which dense layers have biases. No entry of b is 0."""
    in_shape, layers, skip = BASES[base]
    made = [
        (replace(map_, bias=BIASES[biases](l)) if isinstance(map_, Dense) else map_, *rest)
        for l, (map_, *rest) in enumerate(layers, start=1)
    ]
    return Net(in_shape, made, skip=skip, loss=loss, rng=rng(1))


NETS = [(base, biases) for base in BASES for biases in BIASES]
EVERY_RULE = pytest.mark.parametrize("name", SPEC)
SOLVING = ("objective_perturbation", "output_perturbation")  # these rules compute a minimiser instead of a gradient
TEACHING_RULES = pytest.mark.parametrize("name", [name for name in SPEC if name not in SOLVING])


# --- oracles: central differences, one parameter at a time ----------------------------------------------------


def ways_to_teach(net: Net, x, y, B: list, V: list) -> dict:
    """A function (l, z, h, repeats) -> values of each example, by learning signal ("gradient", "error", "target", ...).

    The direction of a rule is the derivative of these values by the parameters of layer l. In feedback rules, h[l]
    receives a fixed vector. The direction is then the derivative of <vector, h[l]> by the parameters of layer l.
    """
    e = net.loss.error(forward(net, x)[0][net.L], y)
    below = convolutions(net)

    def toward(taught):
        def number(l, z, h, repeats):
            seen, vector = (z[l], e) if l == net.L else (h[l], taught @ B[l].T)
            return (np.tile(vector, (repeats, 1)) * seen.reshape(len(seen), -1)).sum(axis=1)

        return number

    def layerwise(matrices):
        back = come_back(net, x, e, matrices)

        def number(l, z, h, repeats):
            seen, vector = (z[l], e) if l == net.L else (h[l], back[l])
            return (np.tile(vector, (repeats, 1)) * seen.reshape(len(seen), -1)).sum(axis=1)

        return number

    fixed = toward(e)
    signs = [None, *(np.sign(W) * math.sqrt((W**2).mean()) for W in net.W[1:])]
    return {
        "gradient": lambda l, z, h, repeats: net.loss.value(z[net.L], np.tile(y, (repeats, 1))),
        "error": fixed,
        "ternary error": toward(ternarize(e, T)),
        "relative ternary error": toward(np.linalg.norm(e, axis=1, keepdims=True) * large(e, T)),
        "target": toward(-y),
        "hybrid": lambda l, z, h, repeats: fixed(max(l, below + 1), z, h, repeats),
        "fixed matrices": layerwise(V),
        "signs": layerwise(signs),
    }


def come_back(net: Net, x, e, matrices: list, step=1e-5) -> list:
    """The gradient (records, units) that a backward pass with other matrices in place of W[l] gives for each h[l].

    We compute this gradient one unit at a time.
    """
    z, h = forward(net, x)
    back: list = [0.0] * (net.L + 1)
    for l in range(net.L, 1, -1):
        dz = e
        if l < net.L:  # the derivative of <back[l], h[l]> by every unit of z[l]
            units = np.eye(z[l][0].size).reshape(-1, *z[l].shape[1:])
            moved = [
                [forward(net, start=l, z=[*z[:l], z[l] + s * step * u], h=h[:l])[1][l] for u in units] for s in (1, -1)
            ]
            up, down = (np.array(each).reshape(len(units), len(x), -1) for each in moved)
            dz = np.einsum("ukn,kn->ku", up - down, back[l]) / (2 * step)
        units = np.eye(math.prod(net.shape_h[l - 1])).reshape(-1, *net.shape_h[l - 1])
        rows = net.map[l].affine(matrices[l], 0 * net.b[l], units).reshape(len(units), -1)
        for j in net.reads(l):
            back[j] = back[j] + dz @ rows.T
    return back


def large(e, t):
    """The signs of the entries that are at least t times as large as the largest entry of their row."""
    return np.array([[np.sign(v) * (abs(v) >= t * max(map(abs, row))) for v in row] for row in e])


def derivatives(net: Net, l: int, x, ways: dict, step=1e-5) -> dict:
    """The derivatives by every weight of layer l, then by every bias, summed over the batch: (parameters,) arrays."""
    z, h = forward(net, x)
    size = net.W[l].size
    unit = np.eye(size + net.b[l].size)
    none = net.map[l].affine(0 * net.W[l], 0 * net.b[l], net.input(l, h))
    each = [net.map[l].affine(u[:size].reshape(net.W[l].shape), u[size:], net.input(l, h)) - none for u in unit]
    repeats, found = len(unit), dict.fromkeys(ways, 0.0)
    below = [np.tile(v, (repeats, *[1] * (v.ndim - 1))) for v in h[:l]]
    for sign in (1, -1):
        at = [*[None] * l, np.concatenate([z[l] + sign * step * dz for dz in each])]  # z is affine in W and b
        after = forward(net, start=l, z=at, h=below)
        for way, number in ways.items():
            found[way] = found[way] + sign * number(l, *after, repeats).reshape(repeats, len(x)).sum(axis=1)
    return {way: total / (2 * step) for way, total in found.items()}


@functools.cache
def taught(base: str, biases: str):
    """A network with a batch, feedback, and the direction of every way to teach, summed over the batch."""
    net = build(base, biases)
    x, y = batch(net, K, seed=4)
    B = feedback.draw(net, law="spectral", scale=0.9, rng=rng(2))
    V = feedback.draw_layerwise(net, law="normal", scale=0.7, rng=rng(3))
    found = {way: ([None], [None]) for way in WAYS}
    ways = ways_to_teach(net, x, y, B, V)
    for l in range(1, net.L + 1):
        for way, derivative in derivatives(net, l, x, ways).items():
            W, b = np.split(derivative, [net.W[l].size])
            found[way][0].append(W.reshape(net.W[l].shape))
            found[way][1].append(b)
    return SimpleNamespace(net=net, x=x, y=y, B=B, V=V, found=found)


# --- calls without noise --------------------------------------------------------------------------------------


class Balanced(np.random.Generator):
    """A generator for forward rules, whose samples are equal for all examples and have two exact moments.

    For the many samples u, the mean of u L(z + sigma u) / sigma is then the derivative of L, up to sigma^2. The noise
    on the rule's result is 0.
    """

    def standard_normal(self, size=None, dtype=float):
        if len(size) not in (3, 5):  # shape (repeats, examples, shape of z)
            return np.zeros(size, dtype)
        draws, _, *shape = size
        u = half = rng(3).standard_normal((draws, math.prod(shape)))
        if draws >= 2 * half.shape[1]:
            half = math.sqrt(draws / 2) * np.linalg.qr(half[: draws // 2])[0]  # orthogonal columns
            u = np.concatenate([half, -half])
        return np.broadcast_to(u.reshape(draws, 1, *shape), size).astype(dtype)


# Values for the keywords of all rules. If you add a rule with a new keyword, add a value for this keyword.
SMALL = 1e-5
OFF = {"m": 1, "sigma": 0.0, "s": 0.0, "ell": None, "L": None, "N_B": 1} | dict.fromkeys(
    ("C", "tau", "tau_e", "tau_h", "tau_B", "tau_h_max"), HUGE
)
ULR = [{"sigma": SMALL, "sigma_0": 0.0, **how} for how in ({}, {"baseline": False}, {"antithetic": True})]
READINGS = {  # additional arguments, and the entry of `ways_to_teach` that they select
    **{key: [({}, "gradient")] for key in ("bp", "dp_sgd", "noisy_bp", "shuffled_sgd")},
    **{key: [({}, "error")] for key in ("dfa", "dp_dfa")},
    **{key: [({}, "error"), ({"t": T}, "ternary error")] for key in ("pdfa", "pdfa_isotropic")},
    "dp_dfa_joint": [
        ({}, "error"),
        ({"carries": "ternary", "t": T}, "relative ternary error"),
        ({"carries": "label"}, "target"),
    ],
    **{key: [({}, "hybrid")] for key in ("hybrid", "dp_hybrid", "dp_hybrid_joint")},
    **{key: [(how, "gradient") for how in ULR] for key in ("ulr", "dp_ulr_sound")},
    "fa": [({}, "fixed matrices")],
    "sign_symmetry": [({}, "signs")],
    "tdfa": [({}, "ternary error")],
    "drtp": [({}, "target")],
    "noise_feedback": [({}, "gradient"), ({"noise_on": "iterate", "gamma": 0.1}, "gradient")],
    "dp_ulr": [
        ({"sigma": None, "sigma_0": SMALL}, "gradient"),
        ({"sigma": None, "sigma_0": SMALL, "remedy": "parameters"}, "gradient"),
        ({"sigma": SMALL, "sigma_0": SMALL / HUGE, "remedy": "eigenvectors"}, "gradient"),
    ],
}
REFUSED = {"dp_ulr": 'remedy "parameters" needs dense layers, but layer '}


def call(name: str, one, *, records=slice(None), **how):
    """The direction of a rule on some of the records. A rule for single records is called once for each record."""
    draws = 4 * max(math.prod(shape) for shape in one.net.shape_z[1:])
    known = OFF | {"B": one.B, "V": one.V, "K": draws, "rng": Balanced(np.random.PCG64(0)), "state": {}} | how
    if any(setting.name == "t" and setting.required for setting in SPEC[name].settings):
        known |= {"t": T}
    known = values(SPEC[name], known, bound=HUGE, positive=HUGE, noise=0.0, count=1)
    rule, x, y = SPEC[name].function, one.x[records], one.y[records]
    if name != "shuffled_sgd":
        return rule(one.net, x, y, **known)
    return added([rule(one.net, x[i : i + 1], y[i : i + 1], **known) for i in range(len(x))])


def added(directions):
    """The sum of several directions."""
    return tuple([None, *(sum(parts) for parts in zip(*(d[of][1:] for d in directions), strict=True))] for of in (0, 1))


def is_right(got, want) -> bool:
    """Whether every array has the correct shape and values, up to the error of the central differences."""
    return all(
        a.shape == b.shape and bool((np.abs(a - b) <= 1e-6 * (1 + np.abs(b).max(initial=0))).all())
        for of in (0, 1)
        for a, b in zip(got[of][1:], want[of][1:], strict=True)
    )


@TEACHING_RULES
def test_without_noise_and_clips_a_rule_is_what_differences_say(name):
    for how, expected in READINGS.get(name, [({}, None)]):
        ways = set(WAYS if expected is None else [expected])
        for base, biases in NETS:
            where, one = f"{name} {how} on {base}, {biases}", taught(base, biases)
            try:
                got = call(name, one, **how)
            except ValueError as error:
                said = str(error)
                assert said.startswith(REFUSED[name] if name in READINGS else ""), where
                assert said, where
                assert "\n" not in said, where
                continue
            ways &= {way for way in ways if is_right(got, one.found[way])}
            assert ways, where


@pytest.mark.parametrize("name", SOLVING)
def test_where_a_rule_that_solves_leads_the_derivative_is_that_of_the_ridge(name):
    """At the minimiser of a rule in SOLVING, the gradient of the loss cancels the gradient of the ridge term.

    We test one dense layer, with and without biases, by differences of the loss. All other networks are refused.
    """
    lam = 0.5
    for base, biases in NETS:
        one = taught(base, biases)
        solve = functools.partial(call, name, one, lam=lam, R=100.0)
        if base != "one layer":
            with pytest.raises(ValueError, match="needs softmax regression"):
                solve()
            continue
        net = one.net.copy()
        dW, db = solve()
        net.W[1], net.b[1] = net.W[1] - dW[1], net.b[1] - db[1]
        ways = ways_to_teach(net, one.x, one.y, one.B, one.V)
        derivative = derivatives(net, 1, one.x, {"gradient": ways["gradient"]})["gradient"]
        theta = np.concatenate([net.W[1].ravel(), net.b[1]])
        np.testing.assert_allclose(derivative, -lam * theta, rtol=0, atol=1e-7)


# --- active clips, and what a mechanism states about them -----------------------------------------------------

ACTING = {"C": 0.05, "tau": 0.02, "tau_e": 0.1, "tau_h": 0.5, "tau_B": 0.2, "tau_h_max": 0.5, "L": 0.05}
# values of dp_ulr's setting `remedy` for which the noise depends on the whole batch
READS_THE_BATCH = ("none", "parameters")


def stated(name: str, one, how: dict, adjacency: str):
    """The sensitivity that the mechanism states under these settings, or None if it states none."""
    rule = SPEC[name]
    if not rule.states:
        return None
    known = values(rule, OFF | how | {rule.noise: 1.0, "B": one.B, "V": one.V}, bound=HUGE, positive=HUGE, count=1)
    try:
        return rule.release(adjacency, known | {"net": one.net, "sampling": "none", "sampling_rate": 1.0}).sensitivity
    except NoGuarantee:
        return None


@TEACHING_RULES
def test_a_batch_is_the_sum_of_its_records_and_none_moves_it_further_than_stated(name):
    """With every clip active, a batch gives the sum of its records' terms, and no term exceeds the stated sensitivity.

    Some records are ordinary, and some records saturate the units.
    """
    for how, _ in READINGS.get(name, [({}, None)]):
        if name == "dp_ulr" and how.get("remedy", "none") in READS_THE_BATCH:
            continue
        # not smaller, because small values magnify rounding errors
        how = how | ACTING | {"K": 4} | ({"sigma": 0.1} if how.get("sigma") else {})
        for base, biases in NETS:
            where, one = f"{name} {how} on {base}, {biases}", taught(base, biases)
            one = SimpleNamespace(
                net=one.net, x=np.concatenate([one.x[:2], 50 * one.x[2:4]]), y=one.y[:4], B=one.B, V=one.V
            )
            terms = [call(name, one, records=slice(i, i + 1), **how) for i in range(4)]
            assert_same_direction(call(name, one, **how), added(terms), 1e-10)
            if (most := stated(name, one, how, "add-remove")) is not None:
                assert max(norm(*dW[1:], *db[1:]) for dW, db in terms) <= most * (1 + 1e-12), where
                apart = [norm(*(a - b for of in (0, 1) for a, b in zip(u[of][1:], v[of][1:], strict=True)))
                         for u in terms for v in terms]  # fmt: skip
                assert max(apart) <= stated(name, one, how, "replace-one") * (1 + 1e-12), where


@pytest.mark.verifies("ours:dfa-sensitivity", "ours:hybrid-sensitivity")
@pytest.mark.parametrize("name", ["dp_dfa", "dp_dfa_joint", "dp_hybrid", "dp_hybrid_joint", "dp_sgd", "pdfa_isotropic"])
def test_without_biases_the_stated_sensitivity_is_attained(name):
    """Without biases, a record attains the stated sensitivity, so the sensitivity contains no part for biases.

    If we add one record to an empty batch, the result changes by as much as the mechanism states.
    """
    net = Net((4,), [(Dense(3, bias=False), ops.identity), (Dense(3, bias=False),)], rng=rng(1))
    net.W[1][:] = 1
    net.W[2][:] = 9 * np.array([[1], [-1], [-1]])  # the probability of the first class is 1
    one = SimpleNamespace(net=net, x=np.ones((1, 4)), y=np.array([[0.0, 1, 0]]), V=None)
    e = net.loss.error(forward(net, one.x)[0][2], one.y)[0]
    one.B = [None, np.outer(np.ones(3), e), None]  # no matrix B of the same norm gives B e a larger norm
    how = ACTING | ({"ell": 1} if name == "dp_hybrid" else {})
    dW, db = call(name, one, **how)
    assert norm(*dW[1:], *db[1:]) == pytest.approx(stated(name, one, how, "add-remove"), rel=1e-9)


# --- on the command line --------------------------------------------------------------------------------------

TRAINED = {  # networks without biases, or with a skip, pooling and padding: data, options, refusals
    "berthier2019-logistic": ((6,), 2, "--loss sigmoid-cross-entropy", {}),
    "dpulr2024-resnet5": (
        (1, 10, 10),
        10,
        "",
        {"dp_ulr": "Equation 8 gives no noise for layer 5, because the controller's matrix of this layer has order 33"},
    ),
}
GIVEN = {
    "dp_dfa": "sigma=0.1 tau_h=1",
    "dp_dfa_joint": "sigma=0.1 C=0.1 carries=ternary",
    "dp_hybrid": "sigma=0.1 tau=0.1 tau_h=1",
    "dp_hybrid_joint": "sigma=0.1 C=0.1",
    "dp_sgd": "sigma=0.1 C=0.1",
    "dp_ulr": "sigma_0=1 C=1 K=4 N_B=8",
    "dp_ulr_sound": "sigma=0.1 sigma_0=1 C=0.1 K=4",
    "noise_feedback": "sigma=0.1",
    "noisy_bp": "sigma=0.1",
    "objective_perturbation": "sigma=0.1 lam=0.1",
    "output_perturbation": "sigma=0.1 lam=0.1",
    "pdfa": "sigma=0.1",
    "pdfa_isotropic": "s=0.1",
    "shuffled_sgd": "L=0.1 sigma=0.1",
    "tdfa": "t=0.1",
    "ulr": "sigma=0.1 K=4 baseline=true",
}


@pytest.mark.slow
@EVERY_RULE
@pytest.mark.parametrize("net", TRAINED)
def test_every_rule_trains_what_the_command_line_can_name(name, net, tmp_path, capsys):
    shape, classes, options, refused = TRAINED[net]
    y = np.arange(60) % classes
    x = rng(5).normal(size=(60, *shape)) + y.reshape(-1, *[1] * len(shape)) / classes
    np.savez(tmp_path / "own.npz", x_train=x[:40], y_train=y[:40], x_test=x[40:], y_test=y[40:])
    given = {k: v for k, _, v in (word.partition("=") for word in GIVEN.get(name, "").split())}
    given = values(SPEC[name], given, bound=0.1, positive=0.1, noise=0.1, count=4)
    words = ["train", "--json", "--rule", name, "--dataset", str(tmp_path / "own.npz"), "--net", net, *options.split()]
    words += ["--batch", "1" if name == "shuffled_sgd" else "10", "--epochs", "1", "--lr", "0.001"]
    code = main([*words, *(word for key, value in given.items() for word in ("--set", f"{key}={value}"))])
    said = capsys.readouterr()
    if name in refused or (name not in READINGS and code == 2):
        assert code == 2
        assert said.err.startswith(f"nfa: {refused.get(name, '')}")
        assert said.err.count("\n") == 1
    else:
        assert code == 0, said.err
        assert json.loads(said.out)
