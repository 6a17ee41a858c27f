"""Tests of privacy loss distributions: the lower and upper bounds on epsilon hold at 50 digits and are close together.

The oracles with 60 digits are profiles (delta as a function of epsilon) by mpmath, and exact binomial sums of
two-valued losses. We also integrate two Poisson steps by the definition, and enumerate every batch of small data sets.
Other values come from Microsoft's prv_accountant and from dp-accounting.
"""

import csv
import itertools
import math
from functools import partial

import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, optimize, stats

from nfa.mechanism import Mechanism, NoGuarantee
from nfa.papers.berthier2019.mechanisms.randomised_response import randomised_response_release
from nfa.privacy import dominating, losses
from nfa.privacy.accountant import calibrate, epsilon, privacy_losses
from nfa.privacy.gaussians import epsilon_gaussian
from tests.project.tree import ROOT

# largest ratio of the two bounds if epsilon is at least 0.05; for smaller epsilons, their difference is at most 1e-4
CLOSE = 1.002
DIGITS = 60


def release(sampling, adjacency, z, q=1.0, law="gaussian"):
    return Mechanism(law=law, sensitivity=1.0, adjacency=adjacency, noise_std=z, sampling=sampling, sampling_rate=q)


def are_close(lower, upper):
    return upper <= CLOSE * lower or upper - lower <= 1e-4


# --- profiles


def hockey_stick(eps, z):
    mu, eps = 1 / mp.mpf(z), mp.mpf(eps)
    return mp.ncdf(mu / 2 - eps / mu) - mp.exp(eps) * mp.ncdf(-mu / 2 - eps / mu)


@pytest.mark.parametrize("seed", range(4))
def test_profiles_are_within_their_rounding(seed):
    """Profiles differ from 60-digit values by at most their stated rounding, from z = 0.03 to 1e6.

    We test Gaussian laws, and Gaussian laws with Poisson batches for (P, Q) and (Q, P).
    """
    rng = np.random.default_rng(seed)
    with mp.workdps(DIGITS):
        for z, q in zip(10 ** rng.uniform(-1.5, 6, 8), 10 ** rng.uniform(-5, 0, 8), strict=True):
            eps = np.sort(10 ** rng.uniform(-3, 1.5, 12) / z)
            low, high, *above = dominating.gaussian(z)(eps)
            pair = dominating.poisson(dominating.gaussian(z), q)[0]
            for k, e in enumerate(eps):
                exact = hockey_stick(e, z)
                assert low[k] <= exact <= high[k] + 1e-300
                assert high[k] - low[k] <= 3e-11 * float(exact) + 1e-300
                beyond = likely(e, z)
                assert above[0][k] <= beyond <= above[1][k] + 1e-300
                assert above[1][k] - above[0][k] <= 3e-11 * float(beyond) + 1e-300
                e, q_ = mp.mpf(e), mp.mpf(q)
                a, c = mp.log(1 + mp.expm1(e) / q_), 1 - (1 - q_) * mp.exp(e)
                with_it = q_ * hockey_stick(a, z), likely(a, z)
                without_it = mp.mpf(0), mp.mpf(0)
                if c > 0:
                    b = mp.log(q_ / c) + e
                    stick = hockey_stick(b, z)
                    without_it = c * stick, (1 - q_) * stick + q_ / c * likely(b, z)
                for profile, (want, chance) in ((pair.forward, with_it), (pair.backward, without_it)):
                    low_, high_, least, most = profile(np.array([eps[k]]))
                    assert low_[0] <= want <= high_[0] + 1e-300
                    assert least[0] <= chance <= most[0] + 1e-300
                    assert most[0] - least[0] <= 1e-6 * float(chance) + 1e-200


def test_the_exchanged_poisson_pair_is_within_its_rounding_near_its_largest_loss():
    """For a record that is removed, the loss is at most -log(1 - q). Near it, the terms of c cancel."""
    z = 0.03  # little noise, so that losses near the largest one are likely
    with mp.workdps(DIGITS):
        for q in (0.9, 0.1, 1e-3):
            eps = -math.log1p(-q) * (1 - 10.0 ** np.arange(-14.0, -1.0))
            found = dominating.poisson(dominating.gaussian(z), q)[0].backward(eps)
            for e, low, high, least, most in zip(eps, *found, strict=True):
                e, q_ = mp.mpf(e), mp.mpf(q)
                c = 1 - (1 - q_) * mp.exp(e)
                b = mp.log(q_ / c) + e
                stick, chance = hockey_stick(b, z), likely(b, z)
                assert low <= c * stick <= high
                assert least <= (1 - q_) * stick + q_ / c * chance <= most <= 1


def likely(epsilon, z):
    """The probability under N(0, 1) of a loss of at least epsilon for the pair N(1/z, 1), N(0, 1)."""
    return mp.ncdf(-1 / (2 * mp.mpf(z)) - mp.mpf(epsilon) * mp.mpf(z))


def laplace_at(z, eps):
    return -mp.expm1(min(eps - mp.sqrt(2) / mp.mpf(z), 0) / 2)


def pure_at(epsilon, eps):
    epsilon = mp.mpf(epsilon)
    return -mp.expm1(min(eps - epsilon, 0)) / (1 + mp.exp(-epsilon))


def forward_at(at, eps, q):
    return q * at(mp.log1p(mp.expm1(eps) / q))


def backward_at(at, eps, q):
    c = 1 - (1 - q) * mp.exp(eps)
    return c * at(mp.log(q / c) + eps) if c > 0 else mp.mpf(0)


@pytest.mark.parametrize("q", [1.0, 0.3, 1e-4])
@pytest.mark.parametrize(
    "law, exact, largest",
    [
        (dominating.laplace, laplace_at, lambda z: mp.sqrt(2) / mp.mpf(z)),
        (dominating.pure, pure_at, lambda epsilon: mp.mpf(epsilon)),
    ],
    ids=["laplace", "pure"],
)
def test_profiles_are_within_their_rounding_near_the_largest_loss(law, exact, largest, q):
    """A profile with a largest loss is within its bounds at the 41 floats around this loss.

    There, the difference of two almost equal losses has few correct digits or none. We test the law and, with Poisson
    batches, (P, Q) and (Q, P).
    """
    with mp.workdps(DIGITS):
        rate = mp.mpf(q)
        for size in 10 ** np.random.default_rng(5).uniform(-4, 1.3, 20):
            most, at = largest(size), partial(exact, size)
            with mp.workdps(7000):  # the largest loss of (Q, P) if e^-most is tiny, and q is 1
                backward_end = -mp.log1p(rate * mp.expm1(-most))
            pair = dominating.poisson(law(size), q)[0]
            for profile, of_profile, end in (
                (law(size), at, most),
                (pair.forward, partial(forward_at, at, q=rate), mp.log1p(rate * mp.expm1(most))),
                (pair.backward, partial(backward_at, at, q=rate), backward_end),
            ):
                near = float(end) + np.spacing(float(end)) * np.arange(-20, 21)
                low, high, *_ = profile(near)
                for e, least, greatest in zip(near, low, high, strict=True):
                    assert least <= of_profile(mp.mpf(e)) <= greatest, (size, e)


@pytest.mark.parametrize(
    "profile",
    [dominating.gaussian(0.7), dominating.laplace(1.3), dominating.pure(0.9)],
    ids=["gaussian", "laplace", "pure"],
)
def test_the_derivative_of_a_profile_is_that_of_its_values(profile):
    """The derivative of a profile agrees with central differences in e^epsilon, which have an error of about 1e-12.

    We test the profile of a law, and its profiles with subsampling.
    """
    pairs = (*dominating.poisson(profile, 0.3), *dominating.without_replacement(profile, 0.3))
    for one in (profile, *(pair.forward for pair in pairs)):
        for e in (0.05, 0.1, 0.2):
            x, t = math.exp(e), 1e-6
            low, high = one(np.log(np.array([x - t, x + t])))[0]
            assert (low - high) / (2 * t) == pytest.approx(one(np.array([e]))[2][0], rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("law", ["gaussian", "laplace"])
@pytest.mark.parametrize(
    "z, q", [(1389.198, 0.2125475), (0.0606, 2.756e-4), (0.8, 0.05), (300.0, 0.9), (3000.0, 1e-3), (20.0, 0.5)]
)
def test_grids_dominate_and_are_dominated_at_60_digits(law, z, q):
    """With the rounding of their floats, `split` is above the profile and `merge` is below it, at exact grid points.

    The masses are floats, so we compute the profile of each loss at 60 digits. We test Poisson batches for (P, Q) and
    (Q, P).
    """
    at = partial(*{"gaussian": (lambda z, eps: hockey_stick(eps, z), z), "laplace": (laplace_at, z)}[law])
    profile = {"gaussian": dominating.gaussian, "laplace": dominating.laplace}[law](z)
    forward, backward = partial(forward_at, at, q=mp.mpf(q)), partial(backward_at, at, q=mp.mpf(q))
    for pair, right, left in zip(dominating.poisson(profile, q), (forward, backward), (backward, forward), strict=True):
        ends = losses._end(losses._below(pair.backward), 1e-12), losses._end(pair.forward, 1e-12)
        h = sum(ends) / 150
        start = losses.first_corner(pair, h, *ends)
        cells = max(math.floor((ends[1] - start) / h), math.floor(-start / h) + 2)
        for grid, side in (
            (losses.split(pair, start - h, h, cells + 2), 1),
            (losses.merge(pair, start, h, cells), -1),
        ):
            with mp.workdps(DIGITS):
                step = mp.exp(-mp.mpf(grid.interval))
                found, total = mp.mpf(grid.infinite), mp.mpf(grid.infinite)  # delta at a point, P(L > the point)
                for k in range(len(grid.masses) - 1, -1, -1):
                    eps = mp.mpf(grid.start) + k * mp.mpf(grid.interval)
                    exact = right(eps) if eps >= 0 else 1 - mp.exp(eps) + mp.exp(eps) * left(-eps)
                    assert side * (found - exact) >= -(mp.mpf(10) ** -50), (k, float(found), float(exact))
                    # one grid point down: sum_j m_j (1 - e^{s - s_j}) over the larger points
                    total += mp.mpf(grid.masses[k])
                    found = total - step * (total - found)


def test_a_grid_dominates_and_is_dominated():
    """The profile of `split` is above the profile of the pair of laws, and the profile of `merge` is below it.

    We test points on the grid and points between them.
    """
    for pair in (
        *dominating.poisson(dominating.gaussian(0.8), 0.05),
        *dominating.in_full(dominating.laplace(1.1)),
        *dominating.poisson(dominating.laplace(1.1), 0.2),
        *dominating.in_full(dominating.pure(0.77)),
    ):
        for h in (0.11, 0.03):
            start = losses.first_corner(pair, h, 12.0, 12.0)
            cells = math.ceil((4 - start) / h)
            above, below = losses.split(pair, start - h, h, cells + 2), losses.merge(pair, start, h, cells)
            for e in np.concatenate([h * np.arange(0, 60), np.random.default_rng(1).uniform(0, 3, 60)]):
                low, high, *_ = pair.forward(np.array([e]))
                assert profile_of(above, e) >= low[0] - 1e-15
                assert profile_of(below, e) <= high[0] + 1e-15
                low, high, *_ = pair.backward(np.array([e]))
                assert profile_of(above, -e) >= -math.expm1(-e) + math.exp(-e) * low[0] - 1e-13
                assert profile_of(below, -e) <= -math.expm1(-e) + math.exp(-e) * high[0] + 1e-13


def profile_of(found, eps):
    return found.infinite + float(found.masses @ np.maximum(-np.expm1(eps - found.at), 0))


# --- compositions with an exact answer


def two_valued(eps, one, steps):
    """The exact delta of ``steps`` randomised responses, each with the loss +-one."""
    p = mp.exp(one) / (1 + mp.exp(one))
    k = mp.mpf(steps)
    term, total = p**steps, mp.mpf(0)
    while k >= 0 and one * (2 * k - steps) > eps:
        total += term * -mp.expm1(eps - one * (2 * k - steps))
        term *= k / (steps - k + 1) * (1 - p) / p
        k -= 1
    return total


def holds_at_60_digits(rng, most_steps, count):
    """At 60 digits, both bounds hold for random losses, steps and deltas.

    Each loss has two values on the grid, so the bounds differ only by rounding.
    """
    with mp.workdps(DIGITS):
        for _ in range(count):
            steps = int(10 ** rng.uniform(0, math.log10(most_steps)))
            one, delta = 10 ** rng.uniform(-2.5, 0.4) / math.sqrt(steps), 10 ** rng.uniform(-12, -2)
            lower, upper = losses.bounds([(dominating.in_full(dominating.pure(one)), steps)], delta)
            assert are_close(lower, upper), (steps, one, delta)
            assert two_valued(mp.mpf(upper), mp.mpf(one), steps) <= delta
            assert lower == 0 or two_valued(mp.mpf(lower), mp.mpf(one), steps) >= delta


@pytest.mark.verifies("higham2002:thm24.2", "zhu2022:compose")
@pytest.mark.parametrize("seed", range(3))
def test_rounding_stays_within_its_margin(seed):
    holds_at_60_digits(np.random.default_rng(seed), 3000, 12)


@pytest.mark.nightly
@pytest.mark.verifies("higham2002:thm24.2")
def test_rounding_stays_within_its_margin_to_a_million_steps():
    holds_at_60_digits(np.random.default_rng(9), 1e6, 10)


@pytest.mark.nightly
@pytest.mark.verifies("higham2002:thm24.2")
@pytest.mark.parametrize("seed", range(5))
def test_rounding_stays_within_its_margin_in_200_settings(seed):
    holds_at_60_digits(np.random.default_rng(10 + seed), 1e6, 40)


@pytest.mark.parametrize("seed", range(3))
def test_rounding_stays_within_its_margin_for_any_guess(seed):
    """At 60 digits, both bounds of one composition hold, even if the guess of epsilon is wrong by a factor of 2."""
    rng = np.random.default_rng(seed)
    with mp.workdps(DIGITS):
        for _ in range(12):
            steps = int(10 ** rng.uniform(0, 3.5))
            one, delta = 10 ** rng.uniform(-2.5, 0.4) / math.sqrt(steps), 10 ** rng.uniform(-12, -2)
            p = 1 / (1 + math.exp(-one))
            loss = losses.Losses(-one, 2 * one, np.array([1 - p, p]), 0.0)
            lower, upper = losses.bounds([(dominating.in_full(dominating.pure(one)), steps)], delta)
            guess = upper * 2 ** rng.uniform(-1, 1) + 1e-6
            lower, upper = (losses.compose([(loss, steps)], delta, upper=up, guess=guess) for up in (False, True))
            assert two_valued(mp.mpf(upper), mp.mpf(one), steps) <= delta
            assert lower == 0 or two_valued(mp.mpf(lower), mp.mpf(one), steps) >= delta


@pytest.mark.verifies("higham2002:thm24.2")
@pytest.mark.parametrize("upper", [True, False])
def test_a_transform_as_wrong_as_the_theorem_allows_is_covered(monkeypatch, upper):
    """The bounds hold even if the last Fourier transform has the largest error that the theorem allows.

    With a coarse grid, delta is far in the tail of the tilted law, and only the error of a transform matters. The
    theorem bounds the total error of the last transform. We put this whole error on one entry of the law, for one entry
    after another. For the upper bound, the error lowers delta. For the lower bound, the error raises delta. Some
    entries must change the result, and no entry may move the result beyond the exact value.
    """
    one, steps, delta = 0.5, 120, 1e-17
    p = 1 / (1 + math.exp(-one))
    loss = losses.Losses(-one, 2 * one, np.array([1 - p, p]), 0.0)
    honest, sign = np.fft.irfft, -1 if upper else 1
    with mp.workdps(DIGITS):
        exact = mp.findroot(lambda e: two_valued(e, mp.mpf(one), steps) - delta, (20, 59), solver="bisect", tol=1e-40)

    def at_place(place):
        def wrong(product, N):
            law = honest(product, N)
            size = 10 * 2.0**-53 * math.log2(N) * float(np.linalg.norm(law))
            law[place % N] += sign * size
            return law

        monkeypatch.setattr(losses.np.fft, "irfft", wrong)
        return losses.compose([(loss, steps)], delta, upper=upper)

    found = [at_place(place) for place in range(256)]
    assert len(set(found)) > 1
    assert (min(found) >= exact) if upper else (max(found) <= exact)


@pytest.mark.parametrize("upper", [True, False])
def test_a_first_transform_as_wrong_as_its_proof_allows_is_covered(monkeypatch, upper):
    """The bounds hold even if all coefficients of the first transform have the largest error that the proof allows.

    The phases of these errors add up in one entry of the law. Some entries must change the result, and no entry may
    move the result beyond the exact value. Errors that are 100 times larger move the result beyond the exact value. The
    guess of epsilon is far too small, so delta is far in the tail of the tilted law.
    """
    one, steps, delta = 0.5, 120, 1e-17
    p = 1 / (1 + math.exp(-one))
    loss = losses.Losses(-one, 2 * one, np.array([1 - p, p]), 0.0)
    honest, sign = np.fft.rfft, -1 if upper else 1
    with mp.workdps(DIGITS):
        exact = mp.findroot(lambda e: two_valued(e, mp.mpf(one), steps) - delta, (20, 59), solver="bisect", tol=1e-40)

    def at_place(place, times=1):
        def wrong(law):
            phases = np.exp(-2j * math.pi * place * np.arange(len(law) // 2 + 1) / len(law))
            return honest(law) + sign * times * 10 * 2.0**-53 * math.log2(len(law)) * phases

        monkeypatch.setattr(losses.np.fft, "rfft", wrong)
        return losses.compose([(loss, steps)], delta, upper=upper, guess=25.0)

    found, beyond = ([at_place(place, times) for place in range(128)] for times in (1, 100))
    assert len(set(found)) > 1
    assert (min(found) >= exact > min(beyond)) if upper else (max(found) <= exact < max(beyond))


def test_infinite_losses_count_in_full():
    """Infinite losses count in full: delta is (1 - i)(1 - e^(epsilon - 1)) + i.

    The loss is 1 with probability 1 - i, and infinite with probability i.
    """
    i, delta = 1e-4, 3e-4
    found = losses.Losses(0.0, 0.5, np.array([0.0, 1e-9, 1 - i - 1e-9]), i)
    exact = 1 + math.log1p(-(delta - i) / (1 - i))
    assert exact <= losses.compose([(found, 1)], delta, upper=True) <= exact * (1 + 1e-6)
    assert losses.compose([(found, 4)], delta, upper=True) == math.inf


def test_gaussian_and_laplace_releases_have_their_exact_epsilon():
    for z, steps, delta in itertools.product((0.5, 2.0, 40.0), (1, 30, 10**6), (1e-2, 1e-6, 1e-12)):
        exact = epsilon_gaussian(delta=delta, noise_multiplier=z / math.sqrt(steps))
        lower, upper = losses.bounds([(dominating.in_full(dominating.gaussian(z)), steps)], delta)
        assert lower <= exact <= upper
        assert are_close(lower, upper)
        assert privacy_losses([(release("none", "replace-one", z), steps)], delta=delta).epsilon == exact
    for scale, delta in ((1.0, 0.1), (0.2, 1e-6)):
        g = privacy_losses([(release("none", "replace-one", scale * math.sqrt(2), law="laplace"), 1)], delta=delta)
        assert g.at_least <= 1 / scale + 2 * math.log1p(-delta) <= g.epsilon <= CLOSE * g.at_least
        assert (g.conversion, g.bound, g.order) == ("pld", "berthier2019:prop2.1", None)
    for q, scale, delta in (
        (0.01, 0.5, 1e-4),
        (0.2, 1.0, 1e-3),
    ):  # H_{1 + q (a - 1)} = q H_a, the larger value for (P, Q) and (Q, P)
        m = release("poisson", "add-remove", scale * math.sqrt(2), q, law="laplace")
        g = privacy_losses([(m, 1)], delta=delta)
        assert g.at_least <= math.log1p(q * math.expm1(1 / scale + 2 * math.log1p(-delta / q))) <= g.epsilon
        assert are_close(g.at_least, g.epsilon)


@pytest.mark.verifies("zhu2022:compose")
@pytest.mark.parametrize("q, z, eps", [(0.3, 0.9, 0.8), (0.05, 0.6, 0.5)])
def test_two_poisson_steps_by_quadrature(q, z, eps):
    """The delta of two Poisson steps agrees with its definition, by quadrature, for (P, Q) and (Q, P)."""

    def pair(x):
        alone = stats.norm.pdf(x)
        return (1 - q) * alone + q * stats.norm.pdf(x - 1 / z), alone

    x, cell = np.linspace(-9, 9 + 1 / z, 4001, retstep=True)
    p, alone = pair(x)
    deltas = []
    for one, other in ((p, alone), (alone, p)):
        above = np.maximum(np.outer(one, one) - math.exp(eps) * np.outer(other, other), 0)
        deltas.append(float(integrate.trapezoid(integrate.trapezoid(above, dx=cell), dx=cell)))
    delta = max(deltas)
    lower, upper = losses.bounds([(dominating.poisson(dominating.gaussian(z), q), 2)], delta)
    assert lower * (1 - 1e-4) <= eps <= upper * (1 + 1e-4)
    assert are_close(lower, upper)


@pytest.mark.verifies("balle2018:without-replacement")
@pytest.mark.parametrize("adjacency", ["replace-one", "zero-out"])
@pytest.mark.parametrize("seed", range(3))
def test_no_small_data_set_exceeds_the_pair_of_batches_without_replacement(seed, adjacency):
    """For small data sets, delta is at most that of the pair of laws for batches without replacement, by quadrature.

    We use every batch of 2 of 4 records in [-1, 1] with noise 2 z, for one step, and for two steps on a grid.
    """
    rng = np.random.default_rng(seed)
    # a record has norm 1, so the sensitivity is 1 if it is zeroed out, and 2 if it is replaced
    z = float(rng.uniform(0.5, 1.5))
    values = np.append(rng.uniform(-1, 1, 3), 1.0)
    other = np.append(values[:3], 0.0 if adjacency == "zero-out" else -1.0)
    multiplier = z if adjacency == "zero-out" else z / 2
    x, cell = np.linspace(-2 - 8 * z, 2 + 8 * z, 1601, retstep=True)

    def law(records):
        return np.mean([stats.norm.pdf(x, a + b, z) for a, b in itertools.combinations(records, 2)], axis=0)

    for e in (0.1, 0.6):
        for steps in (1, 2):
            for p, q in ((law(values), law(other)), (law(other), law(values))):
                if steps == 2:
                    p, q = np.outer(p, p), np.outer(q, q)
                delta = float(np.maximum(p - math.exp(e) * q, 0).sum()) * cell**steps
                if delta > 1e-9:
                    m = release("without-replacement", adjacency, multiplier, 0.5)
                    assert privacy_losses([(m, steps)], delta=delta * (1 - 1e-4)).epsilon >= e


# --- public values, and other programs


def public_values():
    rows = [
        line
        for line in (ROOT / "tests" / "privacy" / "prv_values.csv").read_text(encoding="utf-8").splitlines()
        if line[:1] != "#"
    ]
    return [tuple(map(float, row.values())) for row in csv.DictReader(rows)]


@pytest.mark.verifies("zhu2022:compose", "doroshenko2022:connect")
def test_public_values_of_another_accountant():
    """The published values of another accountant are between our lower bound and our upper bound plus 0.021.

    The other accountant adds its error of up to 0.01 to these values.
    """
    values = public_values()
    assert len(values) >= 28
    for z, q, steps, theirs in values:
        g = privacy_losses([(release("poisson", "add-remove", z, q), int(steps))], delta=1e-6)
        assert are_close(g.at_least, g.epsilon)
        assert g.at_least <= theirs <= g.epsilon + 0.021


def test_the_renyi_epsilon_of_opacus_is_above_all_of_ours():
    """The Rényi epsilon of Opacus, 7.32911117143 in its tests, is at least as large as each of our epsilons.

    With the orders of Opacus, our epsilon is the same. With all orders, our epsilon is smaller.
    """
    m = release("poisson", "add-remove", 1.5, 0.04)
    of_opacus = np.concatenate([1 + np.arange(1, 100) / 10, np.arange(12, 64)])
    how = {"orders": of_opacus, "conversion": "canonne2020", "bound": "mironov2019:sec3.3"}
    at_its_orders, by_orders, by_losses, smallest = (
        epsilon([(m, 2250)], delta=1e-5, **chosen) for chosen in (how, {"accountant": "rdp"}, {"accountant": "pld"}, {})
    )
    assert at_its_orders.epsilon == pytest.approx(7.32911117143, rel=1e-10)
    assert (
        by_losses.at_least <= by_losses.epsilon < 0.93 * by_orders.epsilon < by_orders.epsilon < at_its_orders.epsilon
    )
    assert smallest.epsilon == by_losses.epsilon


def test_dp_accounting_is_between_both_bounds_or_a_little_above():
    """dp-accounting's epsilon is between our two bounds, or at most 1 % above them.

    dp-accounting gives a pessimistic estimate on a fine grid. We test Poisson batches and runs with different steps.
    """
    accounting = pytest.importorskip("dp_accounting.pld", reason="the extra pld is not installed")
    from dp_accounting import dp_event

    for z, q, steps, delta in ((1.1, 0.01, 500, 1e-5), (0.7, 0.002, 2000, 1e-6), (3.0, 0.2, 100, 1e-8)):
        theirs = accounting.PLDAccountant(value_discretization_interval=1e-4)
        theirs.compose(dp_event.PoissonSampledDpEvent(q, dp_event.GaussianDpEvent(z)), steps)
        theirs.compose(dp_event.GaussianDpEvent(20.0), 3)
        spent = [(release("poisson", "add-remove", z, q), steps), (release("none", "add-remove", 20.0), 3)]
        g = privacy_losses(spent, delta=delta)
        assert g.at_least <= theirs.get_epsilon(delta) <= g.epsilon * 1.01
        assert are_close(g.at_least, g.epsilon)


RANDOM = {
    "poisson": lambda z, q: dominating.poisson(dominating.gaussian(z), q),
    "without-replacement": lambda z, q: dominating.without_replacement(dominating.gaussian(z), q),
    "laplace": lambda z, q: dominating.in_full(dominating.laplace(z)),
    "laplace on Poisson batches": lambda z, q: dominating.poisson(dominating.laplace(z), q),
}


def both_bounds_are_close(scheme, rng, count):
    for _ in range(count):
        steps, q = int(10 ** rng.uniform(0, 6)), 10 ** rng.uniform(-4, 0)
        z, delta = 10 ** rng.uniform(-0.5, 1.5), 10 ** rng.uniform(-12, -2)
        spent = [(RANDOM[scheme](z, q), steps)]
        if scheme == "poisson" and rng.random() < 0.3:  # a run with two kinds of steps
            spent.append((dominating.in_full(dominating.gaussian(10 ** rng.uniform(0, 1.5))), 1))
        lower, upper = losses.bounds(spent, delta)
        assert lower <= upper
        # in these settings, rounding limits how close the bounds are
        rounded = scheme != "laplace" and delta <= 1e-11 and q <= 1e-3
        assert are_close(lower, upper) or (rounded and upper <= 1.005 * lower), (z, q, steps, delta, lower, upper)


def test_rounding_keeps_the_bounds_of_a_rare_record_apart():
    """For a small sampling rate and a tiny delta, rounding limits how close the bounds are: 0.25 % in this setting."""
    spent = [(dominating.without_replacement(dominating.gaussian(0.8777365045664567), 0.00013602466856593506), 11)]
    lower, upper = losses.bounds(spent, 2.0842899995351255e-12)
    assert 1.002 * lower < upper <= 1.003 * lower


@pytest.mark.parametrize(
    "spent, delta",
    [
        ([(dominating.laplace(3.563627221734989), 1), (dominating.pure(0.17906814936485124), 3)], 0.0033264),
        ([(dominating.laplace(13.5), 6), (dominating.laplace(12.0), 5)], 5e-4),
        ([(dominating.laplace(20.9), 5), (dominating.laplace(14.2), 2), (dominating.laplace(9.6), 2)], 2e-3),
    ],
    ids=["laplace-pure", "two-laplace", "three-releases"],
)
def test_one_grid_fits_different_largest_losses(spent, delta):
    """The bounds are as close as the public settings ask, although no grid has two such losses as points."""
    lower, upper = losses.bounds([(dominating.in_full(profile), uses) for profile, uses in spent], delta)
    assert lower <= upper <= 1.002 * lower


@pytest.mark.parametrize(
    "scheme, z, q, steps, delta",
    [
        ("without-replacement", 0.9871738809372109, 0.00041080579625166365, 1683, 1.8344309902344923e-11),
        ("laplace on Poisson batches", 0.8777365045664567, 0.00013602466856593506, 11, 2.0842899995351255e-12),
        ("laplace on Poisson batches", 2.122191923619651, 0.03695101227523706, 5, 0.0013673079312154584),
    ],
)
def test_the_second_search_brings_the_bounds_together(monkeypatch, scheme, z, q, steps, delta):
    """In three settings, the bounds of the first search are too far apart.

    The bounds of the second search lie between the bounds of the first search.
    """
    spent = [(RANDOM[scheme](z, q), steps)]
    lower, upper = losses.bounds(spent, delta)
    assert are_close(lower, upper)
    search = losses._search
    monkeypatch.setattr(losses, "_search", lambda *a, **known: search(*a, **known) if len(a) == 4 else a[4])
    first_lower, first_upper = losses.bounds(spent, delta)
    assert not are_close(first_lower, first_upper)
    assert first_lower <= lower <= upper <= first_upper


def test_the_bounds_are_the_larger_ones_of_both_orders():
    """Each bound is the larger one for (P, Q) and (Q, P), although the search for the second pair may end early."""
    rng = np.random.default_rng(8)
    for _ in range(12):
        steps, q, z = int(10 ** rng.uniform(0, 4)), 10 ** rng.uniform(-3, 0), 10 ** rng.uniform(-0.3, 1)
        pairs = dominating.poisson(dominating.gaussian(z), q)
        each = [losses.bounds([((pair,), steps)], 1e-6) for pair in pairs]
        for both in (pairs, pairs[::-1]):
            assert losses.bounds([(both, steps)], 1e-6) == tuple(map(max, zip(*each, strict=True)))


@pytest.mark.parametrize("scheme", RANDOM)
def test_both_bounds_are_close_in_random_settings(scheme):
    both_bounds_are_close(scheme, np.random.default_rng(5), 4)


@pytest.mark.nightly
@pytest.mark.parametrize("scheme", RANDOM)
def test_both_bounds_are_close_in_500_random_settings(scheme):
    both_bounds_are_close(scheme, np.random.default_rng(6), 500)


# --- runs


def test_eight_times_less_than_the_moments_prove():
    """Privacy losses prove an epsilon over eight times smaller than that of Rényi orders: 0.0292, not 0.316.

    Rényi orders lose most in this setting.
    """
    spent = [(release("poisson", "add-remove", 1.5, 0.001), 100)]
    assert epsilon(spent, delta=1e-6, accountant="rdp").epsilon / privacy_losses(spent, delta=1e-6).epsilon > 8


def test_interrupted_and_mixed_runs_add_up():
    """The epsilon of a run does not change if its steps are counted in two parts.

    If the run has an additional release, epsilon is larger.
    """
    one = release("poisson", "zero-out", 1.0, 0.02)
    whole = privacy_losses([(one, 300)], delta=1e-5)
    parts = privacy_losses([(one, 100), (one, 200)], delta=1e-5)
    assert parts.at_least <= whole.epsilon
    assert whole.at_least <= parts.epsilon
    more = privacy_losses([(one, 300), (release("poisson", "zero-out", 2.0, 0.1), 50)], delta=1e-5)
    assert more.at_least > whole.epsilon


def test_a_mechanism_of_a_finite_epsilon_composes_as_randomised_response():
    survey = randomised_response_release(truth=0.5)
    g = privacy_losses([(survey, 10)], delta=1e-3)
    with mp.workdps(DIGITS):
        at = partial(two_valued, one=mp.mpf(survey.epsilon_infinity), steps=10)
        assert at(mp.mpf(g.epsilon)) <= 1e-3 <= at(mp.mpf(g.at_least))


def test_the_noise_for_a_target():
    for law, sampling, q, target in (("gaussian", "poisson", 0.01, 3.0), ("laplace", "none", 1.0, 0.5)):
        how = {"law": law, "adjacency": "add-remove", "sampling": sampling, "sampling_rate": q, "steps": 400}
        g = calibrate(target_epsilon=target, delta=1e-6, accountant="pld", **how)
        assert target * (1 - 1e-3) <= g.epsilon <= target
        assert (
            g.noise_multiplier < calibrate(target_epsilon=target, delta=1e-6, accountant="rdp", **how).noise_multiplier
        )


def test_what_privacy_losses_refuse():
    for bad in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="delta must be in"):
            losses.bounds([(dominating.in_full(dominating.gaussian(1.0)), 1)], bad)
    with pytest.raises(ValueError, match="noise multipliers from"):
        privacy_losses([(release("poisson", "add-remove", 1e-3, 0.5), 10)], delta=1e-5)
    with pytest.raises(ValueError, match="rounding errors are too large"):
        privacy_losses([(release("poisson", "add-remove", 1.0, 0.5), 2**53)], delta=1e-5)
    with pytest.raises(NoGuarantee) as refused:
        privacy_losses([(release("epoch-partition", "add-remove", 2.0, 0.1), 10)], delta=1e-5)
    assert refused.value.id == "dpulr2024:L249"


# --- the Gaussian limit, which no accountant uses


def test_the_gaussian_limit_is_exact_for_gaussian_losses():
    for z, steps, delta in ((2.0, 1, 1e-5), (20.0, 30, 1e-3), (5.0, 4, 1e-9)):
        exact = epsilon_gaussian(delta=delta, noise_multiplier=z / math.sqrt(steps))
        pairs = dominating.in_full(dominating.gaussian(z))
        assert losses.gaussian_limit([(pairs, steps)], delta) == pytest.approx(exact, rel=1e-4)


def test_the_gaussian_limit_has_the_mean_and_the_variance_of_the_loss():
    """The Gaussian limit has the mean and the variance of the loss of Poisson batches, by quadrature.

    The loss is log(1 - q + q e^{x/z - 1/(2 z^2)}) under P. Under Q, it has the opposite sign.
    """
    q, z, steps, delta = 0.05, 1.2, 400, 1e-5

    def normal(x, at=0.0):
        return math.exp(-((x - at) ** 2) / 2) / math.sqrt(2 * math.pi)

    def loss(x):
        return math.log1p(q * math.expm1(x / z - 1 / (2 * z * z)))

    def moments(sign, density):
        powers = (integrate.quad(lambda x, k=k: (sign * loss(x)) ** k * density(x), -12, 14)[0] for k in (1, 2))
        mean, square = powers
        return steps * mean, steps * (square - mean**2)

    def epsilon_of(mean, variance):
        def over(e):
            return max_mean(e, mean, math.sqrt(variance)) - delta

        return optimize.brentq(over, 0, mean + 20 * math.sqrt(variance))

    def max_mean(e, mean, s):  # E max(1 - e^{e - L}, 0) for L ~ N(mean, s^2)
        return integrate.quad(lambda t: -math.expm1(e - mean - s * t) * normal(t), (e - mean) / s, 40)[0]

    with_it = epsilon_of(*moments(1, lambda x: (1 - q) * normal(x) + q * normal(x, 1 / z)))
    without = epsilon_of(*moments(-1, normal))
    found = losses.gaussian_limit([(dominating.poisson(dominating.gaussian(z), q), steps)], delta)
    assert found == pytest.approx(max(with_it, without), rel=1e-4)
    assert found != pytest.approx(min(with_it, without), rel=1e-3)
