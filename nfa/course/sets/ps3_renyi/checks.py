"""The checks of problem set 3, one for each graded cell.

Their oracles are quadrature, exact fractions, counting and limits. The formulas that students write occur only in the
right versions of earlier exercises, which `fair` uses. These versions come from nfa.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
from scipy import optimize

from nfa.course.checking import (
    RTOL,
    Wrong,
    answered,
    array,
    call,
    common_factor,
    derivatives,
    fair,
    guessed,
    misfit,
    mismatch,
    number,
    pair,
    passes,
    same_number,
    unless_lost,
)
from nfa.privacy import divergences, rdp, subsampling

ORDERS = np.arange(2, 33)  # as in the notebook


def divergence(value, name):
    """The value as a number, which may be infinite."""
    return number(value, name, finite=False)


def infinite(value, name, hint=""):
    """Check that the value is infinity. The message also reports nan."""
    nan = isinstance(value, float | np.floating | np.ndarray) and np.size(value) == 1 and value != value
    got = math.nan if nan else divergence(value, name)
    if got != math.inf:
        raise mismatch(name, got, "infinity", hint)


def agree(got, want, name, hint, cases=(), rtol=RTOL):
    """Compare several numbers with the right numbers, by relative differences. The message names a common factor.

    ``cases`` are the arguments that give the numbers, or texts that name them.
    """
    got, want = np.array(got), np.array(want)
    off = np.where(np.isfinite(got), np.abs(got - want) / np.abs(want), math.inf)
    if off.max() <= rtol:
        return
    factor = common_factor(got, want) if len(got) > 1 and np.isfinite(got).all() else None
    if factor is not None:
        raise mismatch(name, f"{factor:.4g} times what is expected", hint=hint)
    i = int(off.argmax())
    where = cases[i] if cases else name
    if isinstance(where, tuple):
        where = f"{name}({', '.join(f'{arg:.7g}' for arg in where)})"
    raise mismatch(where, got[i], want[i], hint)


# --- right versions of earlier exercises, for `fair`: those of nfa


def right_renyi(p, q, alpha):
    """A right version of `renyi`, also for the order 1."""
    return divergences.renyi(np.asarray(p, float), np.asarray(q, float), alpha=max(float(alpha), 1 + 1e-7))


def right_step(alpha, q, z):
    """A right version of `step_cost`, for one order or several orders."""
    found = subsampling.poisson_gaussian(np.atleast_1d(alpha), sampling_rate=q, noise_multiplier=z)
    return found if np.ndim(alpha) else float(found[0])


def right_mironov(cost, alpha, delta):
    """A right version of `mironov`, for numbers or arrays."""
    return rdp.mironov2017(np.asarray(alpha), np.asarray(cost), delta=delta)


def right_run(costs, orders, steps, delta):
    """A right version of `run_epsilon`."""
    found = right_mironov(steps * np.asarray(costs, float), np.asarray(orders, float), delta)
    best = int(found.argmin())
    return float(found[best]), orders[best], best in (0, len(found) - 1)


RIGHT = {"step_cost": right_step, "mironov": right_mironov, "run_epsilon": right_run}


# --- oracles


def by_fractions(p, q, alpha):
    """The divergence of two distributions in whole percents, at a whole order, by exact fractions."""
    p, q = ([Fraction(round(100 * float(t)), 100) for t in law] for law in (p, q))
    return math.log(sum(s * (s / t) ** (alpha - 1) for s, t in zip(p, q, strict=True))) / (alpha - 1)


def log_integral(exponent, lower, upper):
    """log of the integral of e^exponent by the trapezoid rule, which is exact to all digits if both ends are smooth."""
    x = np.linspace(lower, upper, 20_001)
    values = exponent(x)
    top = values.max(axis=-1)
    return top + np.log(np.exp(values - top[..., None]).sum(axis=-1) * (x[1] - x[0]))


def log_normal(x, mean, std):
    """The log density of a Gaussian."""
    return -(((x - mean) / std) ** 2) / 2 - math.log(std * math.sqrt(2 * math.pi))


def gauss_by_quadrature(mean_p, std_p, mean_q, std_q, alpha):
    """The divergence of two Gaussians, by quadrature."""
    found = log_integral(
        lambda x: alpha * log_normal(x, mean_p, std_p) + (1 - alpha) * log_normal(x, mean_q, std_q), -80, 80
    )
    return float(found) / (alpha - 1)


def step_by_quadrature(alpha, q, z):
    """The divergence of (1 - q) N(0, 1) + q N(1/z, 1) from N(0, 1), by quadrature, at one order or at several."""
    alpha = np.asarray(alpha, float)

    def exponent(x):
        ratio = np.logaddexp(math.log1p(-q), math.log(q) + (x - 0.5 / z) / z)  # log of mixture over N(0, 1)
        return alpha[..., None] * ratio + log_normal(x, 0, 1)

    return log_integral(exponent, -15, alpha.max() / z + 15) / (alpha - 1)


def by_counting(scheme):
    """The distributions of two answers, by counting equally likely cases: two for each batch, four for each answer."""
    laws = []
    for mine in (1, 0):
        counts = dict.fromkeys(itertools.product((0, 1), repeat=2), 0)
        for first, second, a, b in itertools.product((0, 1), (0, 1), range(4), range(4)):
            inside = (first, 1 - first if scheme == "shuffled" else second)
            truths = [mine and there for there in inside]
            counts[tuple(truth if face else 1 - truth for truth, face in zip(truths, (a, b), strict=True))] += 1
        laws.append(np.array(list(counts.values())) / sum(counts.values()))
    return laws


# --- 1. renyi

LAWS = [  # pairs in whole percents; only the first pair has the same divergence in both directions
    ([0.75, 0.25], [0.25, 0.75]),
    ([0.50, 0.30, 0.20], [0.20, 0.20, 0.60]),
    ([0.05, 0.15, 0.80], [0.25, 0.25, 0.50]),
]


def renyi_values(renyi):
    """Whole orders by fractions, and the order 1.5 by hand."""
    got, want, turned, cases = [], [], [], []
    for (p, q), alpha in itertools.product(LAWS, (2, 3, 8)):
        cases.append(f"renyi({p}, {q}, {alpha})")
        got.append(divergence(call(renyi, np.array(p), np.array(q), alpha), cases[-1]))
        want.append(by_fractions(p, q, alpha))
        turned.append(by_fractions(q, p, alpha))
    # sum p^1.5 q^-0.5 = 2 (0.001 + 0.027 + 0.027 + 0.729)
    p, q = np.array([0.01, 0.09, 0.09, 0.81]), np.full(4, 0.25)
    cases.append(f"renyi({p.tolist()}, {q.tolist()}, 1.5)")
    got.append(divergence(call(renyi, p, q, 1.5), cases[-1]))
    want.append(2 * math.log(1.568))
    turned.append(2 * math.log(1 / 8 * (10 + 2 * 10 / 3 + 10 / 9)))
    if np.allclose(got, turned, rtol=RTOL):
        hint = "which of the two distributions is in the denominator?"
        raise mismatch("renyi(p, q, alpha)", "the divergence of q from p", "the divergence of p from q", hint)
    # an outcome that is rare in the second distribution: 0.25 / 1e-7 + 0.25 / (1 - 1e-7)
    p, q = np.array([0.5, 0.5]), np.array([1e-7, 1 - 1e-7])
    cases.append(f"renyi({p.tolist()}, {q.tolist()}, 2)")
    got.append(divergence(call(renyi, p, q, 2), cases[-1]))
    want.append(math.log(0.25 / 1e-7 + 0.25 / (1 - 1e-7)))
    turned.append(math.log(2e-14 + 2 * (1 - 1e-7) ** 2))
    hint = "average the ratio to the power alpha over q, then take the natural logarithm and divide by alpha - 1"
    agree(got, want, "renyi(p, q, alpha)", hint, cases)


def exchanged(renyi):
    """Whether the student's function exchanges the two distributions, which costs points in another cell."""
    try:
        p, q = np.array(LAWS[1][0]), np.array(LAWS[1][1])
        return abs(divergence(call(renyi, p, q, 3), "") - by_fractions(*LAWS[1][::-1], 3)) < 1e-3
    except Wrong:
        return False


def renyi_zeros(renyi):
    """Finite divergences are continuous if a probability goes to 0.

    If `renyi_values` fails, finite divergences may have any finite value, and the sum may be missing.
    """
    orders = (2, 4.5, 1) if passes(renyi_one, renyi) else (2, 4.5)

    def lenient():
        zeros(lambda *laws: np.sum(renyi(*laws)), (3.5, 4.5), near_by=math.inf)

    unless_lost(lambda: zeros(renyi, orders), lenient, lambda: renyi_values(renyi))


def zeros(renyi, orders, near_by=1e-3):
    """Finite divergences with zeros are within ``near_by`` of their limits, and the others are infinite."""
    given = renyi
    if exchanged(renyi):

        def renyi(p, q, alpha):
            return given(q, p, alpha)

    full, some, tiny = np.array([0.25, 0.25, 0.5]), np.array([0.4, 0.6, 0.0]), np.array([0.4 - 1e-7, 0.6, 1e-7])
    for alpha in orders:
        name = f"the divergence of order {alpha} if p has a 0 and q does not"
        got = divergence(call(renyi, some, full, alpha), name)
        near = divergence(call(renyi, tiny, full, alpha), f"the divergence of order {alpha} if one p is 1e-7")
        if not (math.isfinite(got) and abs(got - near) <= near_by):
            expected = f"{near:.4g}, as at p = 1e-7" if math.isfinite(near) else "a finite number"
            raise mismatch(name, got, expected, "an outcome with p = 0 adds nothing")
        infinite(call(renyi, full, some, alpha), f"the divergence of order {alpha} if q has a 0 and p does not")
        both = [np.array([0.4, 0.6]), np.array([0.7, 0.3])]
        want = divergence(call(renyi, *both, alpha), f"the divergence of order {alpha} of two coins")
        name = f"the divergence of order {alpha} if p = q = 0 for one outcome"
        got = divergence(call(renyi, *(np.append(law, 0) for law in both), alpha), name)
        if not abs(got - want) <= 1e-3:
            raise mismatch(name, got, f"{want:.4g}, as without this outcome", "an outcome with p = q = 0 adds nothing")
        name = f"the divergence of order {alpha} if p = q = 1 for one outcome"
        got = divergence(call(renyi, np.array([0.0, 1.0]), np.array([0.0, 1.0]), alpha), name)
        if got == math.inf or not abs(got) <= max(near_by, 1e-3):
            raise mismatch(name, got, 0, "the two distributions are the same")


def renyi_one(renyi):
    """The limit: the derivative of log sum p^alpha q^(1 - alpha) at 1, or the limit of the student's own function."""
    for p, q in ([np.array(p), np.array(q)] for p, q in LAWS[1:]):
        want = float(
            derivatives(lambda a, p=p, q=q: np.log((p ** float(a) * q ** (1 - float(a))).sum()), np.array(1.0))
        )
        for one in (1, 1.0):
            got = divergence(call(renyi, p, q, one), "renyi(p, q, 1)")
            if abs(got - want) <= 1e-3 * want:
                continue
            near = [divergence(call(renyi, p, q, 1 + h), "renyi(p, q, 1.02)") for h in (0.02, 0.04, 0.06)]
            if near[0] == near[2] or not abs(got - (3 * near[0] - 3 * near[1] + near[2])) <= 2e-3 * want:
                hint = "it is an average over one of the two distributions; compare your result with the order 1.02"
                expected = f"about {near[0]:.4g}, as at the order 1.02" if math.isfinite(near[0]) else "a finite number"
                raise mismatch("renyi(p, q, 1)", got, expected, hint)


# --- 2. renyi_gauss


def gauss(renyi_gauss, case):
    """The number that a student's renyi_gauss returns."""
    return divergence(call(renyi_gauss, *case), "renyi_gauss(mean_p, std_p, mean_q, std_q, alpha)")


def gauss_same(renyi_gauss):
    """Gaussians with the same standard deviation.

    If the check with different standard deviations fails, only the part that the distance of the means adds is tested.
    """
    cases = [(0.7, 1.3, -0.2, 1.3, 3.5), (0.0, 2.0, 1.0, 2.0, 8), (-1.0, 0.5, -0.4, 0.5, 2), (0.0, 3.0, 2.5, 3.0, 1.5)]
    want = [gauss_by_quadrature(*case) for case in cases]

    def check(less=lambda mean, std, alpha: 0.0):
        got = [gauss(renyi_gauss, case) - less(case[0], case[1], case[4]) for case in cases]
        hint = "how do the distance of the means, the std and the order enter?"
        agree(got, want, "renyi_gauss", hint, cases)

    def of_distance():
        check(lambda mean, std, alpha: gauss(renyi_gauss, (mean, std, mean, std, alpha)))

    unless_lost(check, of_distance, lambda: spreads(renyi_gauss, UNSQUARED))


SPREADS = [
    (0.3, 1.1, -0.4, 1.4, 1.7),
    (0.0, 1.0, 1.0, 2.0, 4),
    (0.5, 1.2, 0.0, 1.0, 2),
    (0.0, 1.0, 0.0, 1.5, 6),
    (0.0, 11 / 1024, 1 / 128, 1 / 128, 2),  # small standard deviations, exact in float32
]
# equal means, and stds with alpha std_q^2 + (1 - alpha) std_p^2 = alpha std_q + (1 - alpha) std_p
UNSQUARED = [
    (0.3, 0.5 + math.sqrt(0.25 - alpha / (alpha - 1) * std_q * (1 - std_q)), 0.3, std_q, alpha)
    for std_q, alpha in ((0.9, 2), (0.9, 4), (0.8, 3.5), (0.95, 1.5))
]


def gauss_spread(renyi_gauss):
    """Gaussians with different standard deviations.

    If `gauss_same` fails, one of three lenient checks must pass. The first uses Gaussians with equal means. The second
    accepts a wrong variance of the integrand if the student uses this variance correctly. The third passes variances
    in place of standard deviations.
    """

    def of_own_variance():
        found = []
        for alpha, std_p, std_q in itertools.product((0.5, 1.3, 2, 5), (0.8, 1.4), (1.1, 2.3)):
            alone, moved = (gauss(renyi_gauss, (mean, std_p, 0.0, std_q, alpha)) for mean in (0.0, 1.0))
            if math.isfinite(alone) and math.isfinite(moved) and moved - alone != 0 and alpha / (moved - alone) > 0:
                logs = math.log(alpha / (2 * (moved - alone))) / 2 - (1 - alpha) * math.log(std_p)
                found.append((alone, -(logs - alpha * math.log(std_q)) / (alpha - 1)))
        if len(found) < 3:
            raise mismatch("the number of finite divergences", len(found), "3 or more")
        agree(*zip(*found, strict=True), "renyi_gauss", "")

    def of_variances():
        spreads(lambda mp, sp, mq, sq, alpha: renyi_gauss(mp, sp**2, mq, sq**2, alpha), SPREADS[:4])

    def lenient():
        if not passes(spreads, renyi_gauss, UNSQUARED) and not passes(of_own_variance):
            of_variances()

    unless_lost(lambda: spreads(renyi_gauss, SPREADS), lenient, lambda: gauss_same(renyi_gauss))


def spreads(renyi_gauss, cases):
    """Gaussians with different standard deviations, of which the first or the second is larger."""
    got, want = [gauss(renyi_gauss, case) for case in cases], [gauss_by_quadrature(*case) for case in cases]
    turned = [gauss_by_quadrature(mq, sq, mp, sp, a) for mp, sp, mq, sq, a in (cases[0], cases[2])]
    if np.allclose([got[0], got[2]], turned, rtol=RTOL):
        hint = "the integrand is p to the power alpha times q to the power 1 - alpha"
        raise mismatch("renyi_gauss", "the divergence of Q from P", "the divergence of P from Q", hint)
    hint = "use both stds, and the normalising constants of both densities with their powers"
    agree(got, want, "renyi_gauss", hint, cases)


EDGES = (  # in the last three cases, which are exact in floats, the exponent of the integrand is linear or constant
    (0.0, 1.0, 0.0, math.sqrt(0.75), 4.5),
    (0.5, 2.0, -0.5, 1.0, 2),
    (0.0, 1.5, 3.0, 1.4, 20),
    (0.0, 3.0, 1.0, 1.0, 1.125),
    (0.0, 3.0, 0.0, 1.0, 1.125),
    (0.5, 1.5, 0.5, 0.5, 1.125),
)


def gauss_infinite(renyi_gauss):
    """Infinite divergences: the exponent of the integrand does not decrease on both sides.

    If the checks of finite values fail, two lenient checks can replace this one. The first uses Gaussians far from the
    edge between finite and infinite divergences, also exchanged, and accepts any finite number. The second requires
    only that the student's function returns infinity at some orders and finite numbers at others.
    """

    def check(cases=EDGES, turned=False, least=0.0):
        for case in cases:
            name = "the divergence of N({}, {:.3g}^2) from N({}, {:.3g}^2) at alpha = {}".format(*case)
            both = case, (*case[2:4], *case[:2], case[4])
            first, second = both[::-1] if turned else both
            infinite(call(renyi_gauss, *first), name, "does the integrand go to 0 on both sides?")
            finite = gauss(renyi_gauss, second)
            if not least <= finite < math.inf:
                raise mismatch(f"{name}, with the two distributions exchanged", finite, "a finite number, at least 0")

    def somewhere():
        stds = (0.6, 2.0), (2.0, 0.6)
        every = itertools.product((-20, -3, 0.5, 1.5, 3, 8), stds)
        found = [gauss(renyi_gauss, (0.5, std_p, 0.0, std_q, alpha)) for alpha, (std_p, std_q) in every]
        if all(map(math.isfinite, found)) or not any(map(math.isfinite, found)):
            raise mismatch("the divergences that are infinite", "all or none", "some")

    def lenient():
        far = (0.5, 3.0, -0.5, 0.25, 3), (0.0, 2.0, 1.0, 0.5, 6)
        if not passes(check, far, False, -math.inf) and not passes(check, far, True, -math.inf):
            somewhere()

    unless_lost(check, lenient, lambda: gauss_same(renyi_gauss), lambda: gauss_spread(renyi_gauss))


# --- 3. step_cost


def steps(step_cost, cases):
    """The numbers that a student's step_cost returns, and the right numbers."""
    got = [number(call(step_cost, *case), "step_cost({}, {}, {})".format(*case)) for case in cases]
    return got, [float(step_by_quadrature(*case)) for case in cases]


def step_values(step_cost):
    """The costs at orders up to 32, by quadrature of the definition."""
    rates = ((0.2, 2.0), (0.1, 1.0), (0.5, 1.5), (0.05, 0.9))
    cases = [(alpha, *rate) for rate in rates for alpha in (2, 3, 8, 32)]
    hint = "compare each factor of the binomial sum, and the factor before the logarithm, with the formula"
    agree(*steps(step_cost, cases), "step_cost", hint, cases)


def step_large(step_cost):
    """Factors that are larger than any float. If `step_values` fails, all numbers pass that are not all equal.

    In the second row of cases, no single term dominates the sum, although a factor overflows. The terms with small k,
    the terms with k near alpha, or both are important.
    """

    def check():
        cases = [(256, 0.01, 0.5), (200, 0.3, 0.3), (100, 0.001, 0.25), (256, 0.001, 3.0), (256, 0.02, 12.0)]
        cases += [(256, 0.01, 6.0), (200, 0.02, 5.2), (256, 0.1, 6.7), (200, 0.01, 4.6), (256, 0.02, 5.63)]
        hint = "work with the logarithms of the terms, and take the largest term out of the sum"
        agree(*steps(step_cost, cases), "step_cost", hint, cases, rtol=0.05)

    def numbers_at_all():
        found = steps(step_cost, [(256, 0.3, 0.5), (256, 0.3, 0.01), (100, 0.3, 0.01), (256, 0.02, 12.0)])[0]
        if len(set(found)) == 1:
            raise mismatch("step_cost at the orders 100 and 256", "the same number", "different numbers")

    unless_lost(check, numbers_at_all, lambda: step_values(step_cost))


# --- 4. conversion and runs


def guess_made(guess):
    """Check the guess: three numbers between 0 and 100,000."""
    guessed(guess, "the epsilon of 1 step", "the epsilon of 100 steps", "the epsilon of 5,850 steps", most=100_000)


COSTS = [(0.3, 12, 1e-5), (1.0, 2, 1e-3), (2.5, 4, 1e-6), (0.05, 30, 1e-5), (4.0, 1.5, 1e-5)]
NEAR_ONE = [(2.0, 1 + 2**-16, 1e-4), (0.5, 1 + 2**-14, 1e-6)]  # orders that are exact in float32


def mironov_values(mironov):
    """Markov's inequality: a loss above epsilon has a probability of at most e^((alpha - 1) (cost - epsilon))."""
    hint = "a smaller delta gives a larger epsilon; compare the second term with the formula"
    for cases in (COSTS, NEAR_ONE):
        got = [number(call(mironov, *case), "mironov(cost, alpha, delta)") for case in cases]
        want = [
            optimize.brentq(lambda e, c=c, a=a, d=d: math.exp((a - 1) * (c - e)) / d - 1, c, c + 30 / (a - 1))
            for c, a, d in cases
        ]
        agree(got, want, "mironov", hint, cases)


def three(value):
    """The three values that run_epsilon returns."""
    value = pair(value, "epsilon, its order, and whether the order is at an end of the grid", 3)
    at_end = np.asarray(value[2])
    if isinstance(value[2], str | None) or at_end.size != 1:
        raise misfit("the third value that run_epsilon returns", value[2], "True or False")
    return number(value[0], "epsilon"), number(value[1], "the order"), bool(at_end.ravel()[0])


def two(value):
    """The first two values that run_epsilon returns, also if the third value is missing."""
    if isinstance(value, tuple | list) and len(value) == 2:
        value = (*value, False)
    return three(value)[:2]


def run_value(run_epsilon):
    """Gaussians without sampling, for which a formula gives the best real order, and a caption."""

    def check():
        orders = 1 + np.geomspace(0.05, 200, 1500)
        for z, steps, delta in ((2.0, 1, 1e-5), (20.0, 100, 1e-5), (5.0, 1000, 1e-5), (10.0, 50, 1e-3)):
            rate = steps / (2 * z * z)
            epsilon, order = two(call(run_epsilon, orders / (2 * z * z), orders, steps, delta))
            best = 1 + math.sqrt(math.log(1 / delta) / rate)
            want = rate + 2 * math.sqrt(rate * math.log(1 / delta))
            hint = "add the costs of all steps, convert at each order, and take the smallest epsilon"
            name = f"the epsilon without sampling for T = {steps} and delta = {delta:g}"
            agree([epsilon], [want], name, hint, rtol=3e-4)
            if not abs(order / best - 1) < 0.02:
                name = f"the order of the epsilon without sampling for T = {steps} (the epsilon is right)"
                raise mismatch(name, order, f"about {best:.3g}")
        costs = subsampling.without_replacement_gaussian(ORDERS, sampling_rate=512 / 60_000, noise_multiplier=128 / 75)
        epsilon, order = two(call(run_epsilon, costs, ORDERS, 5850, 1e-5))
        agree(
            [epsilon],
            [4.43868243865],
            "the epsilon of the first caption of Figure 2",
            "the run has 5850 steps, and the costs are those of batches of fixed size",
        )
        if order != 7:
            name = "the order of the epsilon of the first caption of Figure 2 (the epsilon is right)"
            raise mismatch(name, order, "another number")

    fair(check, run_epsilon, mironov=right_mironov)


ENDS = (
    ([1.0, 0.01, 2.0, 1.0], False, "inside the grid"),
    ([0.01, 1.0, 0.5, 2.0], True, "the first order of the grid"),
    ([1.0, 2.0, 0.01, 1.0], False, "inside the grid"),
    ([2.0, 0.5, 1.0, 0.01], True, "the last order of the grid"),
)


def run_end(run_epsilon):
    """One step with the best order inside the grid, first or last. The largest epsilon is at the same kind of place.

    If `run_value` fails, the check uses the order that the student returned. If this function raises an error, the
    case with the last order is left out.
    """
    orders = np.array([100.0, 101.0, 102.0, 103.0])

    def check(cases=ENDS, own=False):
        for costs, at_end, where in cases:
            _, order, told = three(call(run_epsilon, np.array(costs), orders, 1, 1e-5))
            if told != (order in (orders[0], orders[-1]) if own else at_end):
                raise mismatch(f"the third returned value if the best order is {where}", str(told), str(at_end))

    def lenient():
        try:
            check()
        except Wrong as told:
            if told.why == "error":
                return check(ENDS[:3])
        return check(own=True)

    fair(lambda: unless_lost(check, lenient, lambda: run_value(run_epsilon)), run_epsilon, mironov=right_mironov)


def misprint_found(misprint):
    """The misprint, one of six printed epsilons."""

    def check():
        got = number(call(misprint), "the misprint")
        printed = (9.77, 13.75, 17.8, 21.3, 23.74, 26.19)
        if min(abs(got - p) for p in printed) > 5e-3:
            raise mismatch("the misprint", f"{got:.6g}", "one of the six printed epsilons")
        if abs(got - 13.75) > 5e-3:
            hint = "with 468 steps an epoch, this epsilon is reproduced if you truncate it to two decimals"
            raise mismatch("the misprint", f"{got:.6g}", "another of the six printed epsilons", hint)

    fair(check, misprint, mironov=right_mironov, run_epsilon=right_run)


def smallest_answer(smallest):
    """The question which of the epsilons of all orders are proved."""
    answered(smallest, "b", "can two upper bounds for the same run, both proved, be true at the same time?")


# --- 5. noise


def epsilon_by_quadrature(z, q, steps, delta):
    """The epsilon of Poisson steps at the orders of the notebook, with costs by quadrature."""
    return float((steps * step_by_quadrature(ORDERS, q, z) + math.log(1 / delta) / (ORDERS - 1)).min())


def noise_least(noise_for):
    """The noise reaches the target, and slightly less noise does not. No solver is needed.

    The cases have noise near both ends of the interval and between them.
    """

    def check():
        for target, q, steps, delta in (
            (3.0, 0.1, 200, 1e-5),
            (1.5, 0.02, 2000, 1e-6),
            (14.0, 1e-3, 10, 1e-5),
            (10.0, 1e-3, 20, 1e-5),
            (12.0, 1e-2, 3, 1e-5),
            (20.0, 0.01, 10, 1e-5),
            (2.0, 0.3, 50_000, 1e-5),
            (0.6, 0.01, 300, 1e-4),
            (8.0, 0.05, 1000, 1e-7),
        ):
            z = number(call(noise_for, target, q, steps, delta), "the noise multiplier")
            if not 0.2 <= z <= 200:
                raise mismatch("the noise multiplier", z, "a number from 0.2 to 200")
            reached = epsilon_by_quadrature(z, q, steps, delta)
            name = f"the epsilon of your z = {z:.5g} for {steps} steps at q = {q}"
            if reached > target * (1 + 3e-5):  # allows the error of a root finder or of float32
                raise mismatch(name, f"{reached:.7g}", f"at most {target}", "there is not enough noise")
            if epsilon_by_quadrature(z / 1.0015, q, steps, delta) <= target:
                raise mismatch(name, f"{reached:.7g}", f"{target}, for z to 0.1 %", "less noise is enough")

    fair(check, noise_for, **RIGHT)


def doubled_answer(doubled):
    """The factor for Poisson batches, compared with the factor without sampling."""
    hint = "compare the epsilon of 11,700 steps with sqrt(2) times the noise with the epsilon of 5,850 steps"
    answered(doubled, "c", hint)


# --- 6. shuffled batches


def answers_laws(two_answers):
    """The distributions of both schemes, by counting cases."""
    for scheme in ("poisson", "shuffled"):
        told = call(two_answers, scheme)
        P, Q = pair(told, "the distributions P and Q")
        want_P, want_Q = by_counting(scheme)
        for name, law, want in (("Q", Q, want_Q), ("P", P, want_P)):
            got = array(law, (4,), f'{name} of "{scheme}"')
            if abs(got.sum() - 1) > 1e-4:
                raise mismatch(f'the sum of {name} of "{scheme}"', got.sum(), 1)
            if np.abs(got - want).max() > RTOL:
                if name == "P" and scheme == "shuffled" and np.allclose(got, by_counting("poisson")[0]):
                    hint = "are the two answers independent if my record is in exactly one batch?"
                    raise mismatch('P of "shuffled"', 'P of "poisson"', "another distribution", hint)
                which = "the truth is no at both steps" if name == "Q" else "list the batches that my record can be in"
                same_number(got, want, f'{name} of "{scheme}"', which)


def shuffled_answer(shuffled):
    """Whether the shuffled run or the run with Poisson batches has the larger cost."""
    hint = "compute both costs at orders below 2 and above 10, and take the larger of the two directions each time"
    answered(shuffled, "a", hint)
