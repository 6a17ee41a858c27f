"""Tests of the smallest proved epsilon: real orders, pure composition, total variation, and privacy losses.

The oracles are integrals of the definition by mpmath, all batches of small data sets, the exact delta of Gaussian and
Laplace releases, and dp-accounting. No result may be below the true value.
"""

import itertools
import json
import math
import warnings

import mpmath as mp
import numpy as np
import pytest

from nfa.experiments.experiment import SCALES
from nfa.experiments.privacy_statement import Statement
from nfa.mechanism import Mechanism, NoGuarantee
from nfa.papers import index
from nfa.papers.berthier2019.mechanisms.classic import hockey_stick_laplace
from nfa.privacy import pure, rdp, subsampling, theorems
from nfa.privacy.accountant import calibrate, epsilon, privacy_losses
from nfa.privacy.divergences import renyi
from nfa.privacy.gaussians import epsilon_gaussian, hockey_stick_gaussian
from nfa.privacy.sampled_gaussian import poisson_gaussian_at_any_order
from tests.project.tree import ROOT

SETTINGS = [
    ("none", "add-remove", "gaussian"),
    ("none", "replace-label", "laplace"),
    ("epoch-partition", "replace-one", "laplace"),
    ("without-replacement", "replace-one", "gaussian"),
    ("without-replacement", "replace-one", "laplace"),
    ("poisson", "add-remove", "gaussian"),
    ("poisson", "add-remove", "laplace"),
]


def release(sampling, adjacency, law, z, q=0.01):
    rate = 1.0 if sampling == "none" else q
    return Mechanism(law=law, sensitivity=1.0, adjacency=adjacency, noise_std=z, sampling=sampling, sampling_rate=rate)


def spend(m, steps=1, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rdp.OrderAtGridEnd)
        return epsilon([(m, steps)], **{"delta": 1e-5, "accountant": "rdp"} | settings)


# --- orders that are not integers


def exact_curve(alpha, q, z):
    """log E[((1 - q) + q r)^alpha] / (alpha - 1), with the mean over N(0, 1) by quadrature with forty digits."""
    with mp.workdps(40):
        alpha, q, z = mp.mpf(alpha), mp.mpf(q), mp.mpf(z)

        def integrand(x):
            u = q * mp.expm1(x / z - 1 / (2 * z * z))
            return mp.npdf(x) * ((1 + u) ** alpha - 1 - alpha * u)

        near, far = (-40, -10, -3, 0, 3, 10), (-12, -3, 0, 3, 12, 40)
        ends = sorted({*(mp.mpf(e) for e in near), *(alpha / z + e for e in far)})
        return mp.log1p(mp.quad(integrand, ends)) / (alpha - 1)


def holds_at(rng, trials):
    for _ in range(trials):
        z, q, alpha = 10 ** rng.uniform(-0.7, 2), 10 ** rng.uniform(-8, -0.01), 1 + 10 ** rng.uniform(-3, 1.8)
        (ours,) = poisson_gaussian_at_any_order([alpha], sampling_rate=q, noise_multiplier=z)
        if ours < math.inf:
            exact = exact_curve(alpha, q, z)
            assert exact <= ours <= exact * (1 + mp.mpf("1e-9")), (alpha, q, z)


@pytest.mark.verifies("mironov2019:sec3.3")
def test_the_curve_at_real_orders_is_the_integral_rounded_up():
    holds_at(np.random.default_rng(1), 3)


@pytest.mark.nightly
@pytest.mark.verifies("mironov2019:sec3.3")
def test_the_curve_at_many_real_orders_is_the_integral_rounded_up():
    holds_at(np.random.default_rng(2), 120)


@pytest.mark.verifies("mironov2019:sec3.3", "lee2020:fn1")
@pytest.mark.parametrize("q, z", [(0.01, 1.1), (1e-6, 5.0), (0.5, 0.4), (1e-12, 900.0)])
def test_real_orders_go_through_the_sums_at_integers_and_rise_between(q, z):
    whole = np.arange(2, 40)
    sums = poisson_gaussian_at_any_order(whole, sampling_rate=q, noise_multiplier=z)
    beside = poisson_gaussian_at_any_order(whole * (1 + 1e-12), sampling_rate=q, noise_multiplier=z)
    found = beside < math.inf
    assert found[:5].all()
    np.testing.assert_allclose(beside[found], sums[found], rtol=2e-9)
    orders = np.union1d(whole, whole + 0.5)
    curve = poisson_gaussian_at_any_order(orders, sampling_rate=q, noise_multiplier=z)
    curve = curve[: int(np.isfinite(curve).sum())] if not np.isfinite(curve).all() else curve
    assert (np.diff(curve[np.isfinite(curve)]) > 0).all()


@pytest.mark.verifies("mironov2019:sec3.3", "canonne2020:prop12")
def test_the_sampled_gaussian_that_integers_overstate():
    """Integer orders give a larger epsilon of the sampled Gaussian than real orders: q = 0.01, z = 1.1, 1,000 steps.

    We compare the papers' conversion, the best integer order, and the best of all orders.
    """
    m = release("poisson", "add-remove", "gaussian", 1.1)
    papers, whole, least = spend(m, 1000, conversion="mironov2017"), spend(m, 1000, conversion="canonne2020"), None
    least = spend(m, 1000)
    assert papers.epsilon == pytest.approx(2.0867961136, rel=1e-9)
    assert whole.epsilon == pytest.approx(1.7252908180, rel=1e-9)
    assert least.epsilon == pytest.approx(1.7117749457, rel=1e-9)
    assert (least.conversion, least.bound) == ("canonne2020", "mironov2019:sec3.3")
    assert least.order == pytest.approx(9.53, abs=0.01)
    with mp.workdps(30):  # the exact curve at the reported order gives the reported epsilon, up to upward rounding
        exact = 1000 * exact_curve(least.order, 0.01, 1.1)
        alpha = mp.mpf(least.order)
        by_hand = exact + mp.log1p(-1 / alpha) - (mp.log(mp.mpf(1e-5)) + mp.log(alpha)) / (alpha - 1)
        assert by_hand <= least.epsilon <= by_hand * (1 + mp.mpf("1e-9"))


# --- pure composition


@pytest.mark.verifies("balle2018:poisson", "berthier2019:postproc")
def test_few_steps_of_laplace_noise_are_pure():
    """For few steps of Laplace noise, the smallest epsilon comes from pure composition.

    At scale 1 and q = 0.001, one step has the epsilon log(1 + q (e - 1)). This epsilon holds for every delta, and the
    worst output attains it.
    """
    m = release("poisson", "add-remove", "laplace", math.sqrt(2), q=1e-3)
    g = spend(m, delta=1e-12)
    assert g.epsilon == pytest.approx(math.log1p(1e-3 * math.expm1(1)), rel=1e-12)
    assert (g.conversion, g.order, g.bound) == ("pure", math.inf, "balle2018:poisson")
    # outputs: without the record Laplace at 0, with the record a mixture with Laplace at 1
    x = np.linspace(-30, 30, 601)
    without, shifted = np.exp(-np.abs(x)), np.exp(-np.abs(x - 1))
    assert np.abs(np.log((0.999 * without + 1e-3 * shifted) / without)).max() == pytest.approx(g.epsilon, rel=1e-12)
    assert spend(m, 3, delta=1e-12).epsilon == pytest.approx(3 * g.epsilon, rel=1e-12)
    assert spend(m, delta=1e-12, conversion="mironov2017").epsilon > 0.1
    named = spend(m, delta=1e-12, orders=[2, 3])  # named orders leave out pure composition, which has no order
    assert named.epsilon > 0.1
    assert named.order in (2, 3)
    assert spend(m, delta=1e-12, bound="zhuwang2019:thm5").epsilon > 0.08
    assert spend(m, delta=1e-12, bound="berthier2019:prop2.1").epsilon == pytest.approx(1.0, rel=1e-12)


@pytest.mark.verifies("balle2018:poisson", "balle2018:without-replacement")
@pytest.mark.parametrize("n, m", [(3, 1), (4, 2), (5, 2), (4, 3)])
def test_amplified_pure_privacy_on_all_batches_of_small_data(n, m):
    """Amplified pure privacy holds on all batches of small data, by enumeration of random pure mechanisms.

    We compute the largest log ratio of each mechanism with and without sampling. Records are bits, so a batch is
    described by its size and its number of ones. The neighbours differ in the last record.
    """
    rng = np.random.default_rng(n + 10 * m)
    q, ratios = m / n, []
    for _ in range(20):
        law = {(k, j): rng.dirichlet(np.full(4, 2.0)) for k in range(n + 1) for j in range(k + 1)}  # (size, ones)
        rows = list(law.items())
        # epsilon of the mechanism on batches, for the adjacency of each scheme
        near = {"poisson": 0.0, "without-replacement": 0.0}
        for ((k, j), a), ((k2, j2), b) in itertools.permutations(rows, 2):
            gap = float(np.log(a / b).max())
            if k2 == k == m and abs(j - j2) == 1:
                near["without-replacement"] = max(near["without-replacement"], gap)
            if (k2 == k + 1 and j2 - j in (0, 1)) or (k == k2 + 1 and j - j2 in (0, 1)):
                near["poisson"] = max(near["poisson"], gap)
        for bits in itertools.product((0, 1), repeat=n - 1):

            def drawn(last, bits=bits, law=law):
                data = [*bits, last]
                return sum(law[m, sum(c)] for c in itertools.combinations(data, m)) / math.comb(n, m)

            def coins(data, law=law):
                total = np.zeros(4)
                for kept in itertools.product((0, 1), repeat=len(data)):
                    weight = math.prod(q if k else 1 - q for k in kept)
                    total += weight * law[sum(kept), sum(d for d, k in zip(data, kept, strict=True) if k)]
                return total

            bound = subsampling.amplified(near["without-replacement"], sampling_rate=q)
            ratio = float(np.abs(np.log(drawn(0) / drawn(1))).max())
            assert ratio <= bound * (1 + 1e-12)
            ratios.append(ratio / bound)
            bound = subsampling.amplified(near["poisson"], sampling_rate=q)
            for last in (0, 1):
                assert np.abs(np.log(coins(bits) / coins((*bits, last)))).max() <= bound * (1 + 1e-12)
    assert max(ratios) > 0.3  # some mechanisms come near the bound


@pytest.mark.verifies("balle2018:poisson", "balle2018:without-replacement")
def test_amplification_at_all_sizes():
    for eps, q in itertools.product((0, 1e-12, 0.3, 1, 5, 400, 1e5), (1e-15, 1e-3, 0.5, 1)):
        with mp.workdps(60):
            exact = mp.log1p(mp.mpf(q) * mp.expm1(mp.mpf(eps))) if eps < 1e4 else mp.mpf(eps) + mp.log(mp.mpf(q))
            assert (
                exact <= subsampling.amplified(eps, sampling_rate=q) <= exact * (1 + mp.mpf("1e-12")) + mp.mpf("1e-300")
            )
    assert subsampling.amplified(math.inf, sampling_rate=0.1) == math.inf
    for wrong in ({"epsilon": -1, "sampling_rate": 0.1}, {"epsilon": 1, "sampling_rate": 0}):
        with pytest.raises(ValueError, match="must be"):
            subsampling.amplified(**wrong)


def test_an_infinite_order_is_a_word_in_a_record():
    m = release("none", "replace-one", "laplace", 3 * math.sqrt(2))
    known = {"known": {}, "stated_by": None, "steps_per_epoch": 1, "secure": True}
    said = Statement(mechanism=m, delta=1e-30, **known).account([(1, 2), (3, 1)])
    assert said["guarantee"]["epsilon"] == pytest.approx(1.0, rel=1e-12)
    assert (said["guarantee"]["order"], said["guarantee"]["conversion"]) == ("inf", "pure")
    assert "(1.0" in said["statement"] or "(1," in said["statement"]
    json.dumps(said["guarantee"], allow_nan=False)


# --- total variation


@pytest.mark.verifies("bretagnolle1979:tv")
def test_epsilon_zero_only_where_no_test_tells_more_than_delta():
    rng = np.random.default_rng(5)
    told = 0
    for _ in range(600):
        p, q = rng.dirichlet(np.full(3, 10 ** rng.uniform(-1, 3)), size=2)
        alpha, delta = 1 + 10 ** rng.uniform(-3, 1), 10 ** rng.uniform(-3, 0)
        if pure.is_zero(np.array([renyi(p, q, alpha=alpha)]), delta=delta)[0]:
            told += 1
            assert 0.5 * np.abs(p - q).sum() <= delta
    assert told > 100
    for z, steps in ((2.0, 1), (30.0, 40), (1e4, 1000)):
        m = release("none", "replace-one", "gaussian", z)
        truth = hockey_stick_gaussian(epsilon=0, noise_multiplier=z / math.sqrt(steps))
        least = math.sqrt(-math.expm1(-0.5 * steps / z**2))
        assert spend(m, steps, delta=truth * 0.999).epsilon > 0
        assert spend(m, steps, delta=min(1.01 * least, 0.999)).epsilon == 0


@pytest.mark.verifies("bretagnolle1979:tv")
def test_where_total_variation_alone_says_zero():
    """If the total variation distance alone implies epsilon 0, the result is 0, although the conversions give more.

    The curve is r = 1e-12 at one order. dp-accounting has the same rule.
    """
    curve = np.array([1e-12])
    assert pure.is_zero(curve, delta=1.01e-6).tolist() == [True]
    assert pure.is_zero(curve, delta=0.99e-6).tolist() == [False]
    # At r = -log(1 - delta^2), the inequality is an equality. Near this r, rounding may only give an epsilon above 0
    # instead of 0.
    with mp.workdps(50):
        edges = [(delta, -mp.log1p(-(mp.mpf(delta) ** 2))) for delta in (1e-50, 1e-5, 0.1, 0.9, 1 - 1e-7, 1 - 1e-12)]
        near = [(delta, float(r * (1 - mp.mpf(width)))) for delta, r in edges for width in ("2e-13", "1.5e-12")]
    assert [pure.is_zero(np.array([r]), delta=delta)[0] for delta, r in near] == [False, True] * 6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not pure.is_zero(np.zeros(1), delta=1e-300)[0]
    m = release("none", "replace-one", "gaussian", 1e6)  # r = alpha / 2 * 1e-12
    g = spend(m, delta=2e-6, orders=[1.5, 2])
    assert (g.epsilon, g.conversion) == (0, "bretagnolle1979")
    assert spend(m, delta=2e-6, orders=[1.5, 2], conversion="canonne2020").epsilon > 1


def test_a_large_delta_below_the_total_variation_is_not_zero():
    """At delta = 0.9 and z = 0.2, the total variation is 0.988, so the exact epsilon is positive."""
    exact = epsilon_gaussian(noise_multiplier=0.2, delta=0.9)
    g = spend(release("none", "add-remove", "gaussian", 0.2), delta=0.9)
    assert 0 < exact <= g.epsilon
    assert g.conversion != "bretagnolle1979"


def test_a_curve_that_underflows_is_not_zero():
    """A curve that underflows does not give epsilon 0: for z = 1e200, the total variation 4e-201 exceeds 1e-300."""
    m = release("none", "replace-one", "gaussian", 1e200)
    assert not pure.is_zero(np.zeros(1), delta=1e-300)[0]
    assert spend(m, delta=1e-300).epsilon > 0


# --- the minimum


@pytest.mark.verifies("lee2020:acct", "canonne2020:prop12", "mironov2017:prop3")
@pytest.mark.parametrize("trials", [1, pytest.param(12, marks=pytest.mark.slow)])
@pytest.mark.parametrize("sampling, adjacency, law", SETTINGS)
def test_nothing_that_can_be_named_is_smaller(sampling, adjacency, law, trials):
    rng = np.random.default_rng(len(sampling) + len(law))
    for _ in range(trials):
        z, q, steps = 10 ** rng.uniform(-0.5, 1.5), 10 ** rng.uniform(-4, -0.1), int(10 ** rng.uniform(0, 4))
        m, delta = release(sampling, adjacency, law, z, q), 10 ** rng.uniform(-12, -1)
        least = spend(m, steps, delta=delta)
        for bound in (None, *(b.id for b in theorems.BOUNDS)):
            for conversion in (None, *rdp.CONVERSIONS):
                try:
                    named = spend(m, steps, delta=delta, bound=bound, conversion=conversion)
                except (NoGuarantee, ValueError):
                    continue
                assert least.epsilon <= named.epsilon * (1 + 1e-9), (bound, conversion, z, q, steps, delta)


@pytest.mark.verifies("lee2020:def1")
def test_it_is_never_below_the_exact_epsilon_where_that_is_known():
    rng = np.random.default_rng(7)
    for _ in range(40):
        z, steps, delta = 10 ** rng.uniform(-0.7, 4), int(10 ** rng.uniform(0, 4)), 10 ** rng.uniform(-12, -0.3)
        exact = epsilon_gaussian(delta=delta, noise_multiplier=z / math.sqrt(steps))
        assert spend(release("none", "replace-one", "gaussian", z), steps, delta=delta).epsilon >= exact * (1 - 1e-12)
        lap = spend(release("none", "replace-one", "laplace", z), 1, delta=delta).epsilon
        scale = z / math.sqrt(2)
        assert hockey_stick_laplace(epsilon=lap, scale=scale) <= delta * (1 + 1e-9)


@pytest.mark.slow
@pytest.mark.verifies("mironov2019:sec3.3", "balle2018:poisson", "lee2020:def1")
def test_it_is_never_below_the_composed_privacy_losses():
    """The smallest epsilon is never below the lower bound of composed privacy losses.

    On Poisson batches, some data attain the dominating pair. So an epsilon below the lower bound of this pair would be
    false.
    """
    rng = np.random.default_rng(8)
    for law in ("gaussian", "laplace"):
        for _ in range(12):
            z, q, steps = 10 ** rng.uniform(-0.2, 0.8), 10 ** rng.uniform(-3, -0.5), int(10 ** rng.uniform(0, 3))
            m = release("poisson", "add-remove", law, z, q)
            ours = spend(m, steps, delta=1e-6)
            assert ours.epsilon >= privacy_losses([(m, steps)], delta=1e-6).at_least, (law, z, q, steps)


def test_the_noise_for_a_target_uses_what_gives_the_least():
    how = {"delta": 1e-9, "steps": 2, "adjacency": "add-remove", "sampling": "poisson", "sampling_rate": 1e-3}
    g = calibrate(target_epsilon=0.01, law="laplace", accountant="rdp", **how)
    assert g.conversion == "pure"
    once = 0.005  # log(1 + q (e^(1 / scale) - 1))
    assert g.noise_multiplier == pytest.approx(math.sqrt(2) / math.log1p(math.expm1(once) / 1e-3), rel=1e-9)
    assert 0.01 * (1 - 1e-6) <= g.epsilon <= 0.01


# --- privacy losses that the caller requests


def test_laplace_noise_on_two_coordinates_is_no_worse_than_on_one():
    """Laplace noise on a shift that is divided between two coordinates has at most the delta of one coordinate.

    `privacy_losses` counts the shift of one coordinate.
    """
    x = np.arange(-20, 20, 0.04) + 0.02
    one, cell = np.exp(-np.abs(x)) / 2, 0.04
    for share in (0.5, 0.2):
        a, b = np.exp(-np.abs(x - share)) / 2, np.exp(-np.abs(x - 1 + share)) / 2
        moved, still = np.outer(a, b), np.outer(one, one)
        for eps in (0.0, 0.3, 0.9):
            delta = cell**2 * np.maximum(moved - math.exp(eps) * still, 0).sum()
            assert delta <= hockey_stick_laplace(epsilon=eps, scale=1.0) + 2e-4


# --- the papers' items keep their conversion


@pytest.mark.slow
def test_every_epsilon_of_the_committed_records_is_that_of_its_own_conversion():
    counted, known = 0, {}
    texts = [path.read_text() for path in (ROOT / "results").rglob("*.json")]
    for text in texts:
        record = json.loads(text)
        privacy = record.get("privacy", {}) if isinstance(record, dict) else {}
        if not isinstance(privacy, dict) or "guarantee" not in privacy or "curve" in privacy["mechanism"]:
            continue
        said, m = privacy["guarantee"], Mechanism(**privacy["mechanism"])
        per_epoch = record["steps"] // record["settings"]["epochs"] if m.sampling == "epoch-partition" else None
        # Our own experiments use the smallest epsilon that privacy losses or, in some records, Rényi orders prove.
        ours, losses = record["experiment"].startswith("ours:"), said["conversion"] == "pld"
        asked = (m, said["steps"], said["delta"], None if ours else said["conversion"], per_epoch, losses)
        if asked not in known:  # runs with different seeds have the same epsilon
            how = {"delta": asked[2], "conversion": asked[3], "steps_per_epoch": per_epoch}
            known[asked] = spend(m, said["steps"], **how, accountant=None if losses else "rdp")
        g = known[asked]
        assert said["conversion"] == "mironov2017" or ours
        found, expected = g.summary(), dict(said)
        for bound in ["epsilon", "epsilon_at_least"] if losses else ["epsilon"]:
            # The record of a run by privacy losses can have another margin for rounding, so both bounds can differ by
            # about 1e-10.
            rel = 1e-9 if losses else 1e-12
            assert found.pop(bound) == pytest.approx(expected.pop(bound), rel=rel)
        assert found == expected
        counted += 1
    claims = ['"guarantee": {' in text and '"curve"' not in text for text in texts]
    assert counted == sum(claims) > 500  # all runs of the reports were compared


@pytest.mark.parametrize(
    "scales", [SCALES[:1], pytest.param(SCALES[1:], marks=pytest.mark.slow)], ids=["demo", "others"]
)
def test_the_papers_experiments_name_their_conversion(scales):
    """Every run of a paper's experiment with an epsilon names its conversion, in every variant.

    Our own runs use the smallest epsilon.
    """
    counted = set()
    for variant, known in (("published", index.EXPERIMENTS), ("repaired", index.REPAIRED)):
        for id_ in (one for one in known if not one.startswith("ours:")):
            experiment = index.find(id_, variant)
            for scale in scales if hasattr(experiment, "cells") else ():
                if scale not in experiment.scales:
                    continue
                for cell in experiment.cells(scale, [1]):
                    if cell.settings.delta is not None and cell.settings.adjacency is not None:
                        counted.add(id_)
                        assert cell.settings.conversion == "mironov2017", (id_, cell.name)
                    assert "conversion" not in cell.settings.to_json()
    assert {"lee2020:fig2", "dpulr2024:table1", "ohana2021:table1", "berthier2019:fig11"} <= counted
