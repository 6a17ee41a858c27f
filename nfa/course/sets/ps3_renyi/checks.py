"""The checks of problem set 3, one a graded cell. Their oracles are quadrature, exact fractions, counting, limits.

The formulas that students write stand only in the right versions of earlier exercises that `fair` puts in; these come
from nfa.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
from scipy import optimize

from nfa.course.checking import (
    RTOL,
    Wrong,
    array,
    call,
    common_factor,
    fair,
    misfit,
    mismatch,
    number,
    pair,
    passes,
    same_number,
    slopes,
    unless_lost,
)
from nfa.privacy import divergences, rdp, subsampling

ORDERS = np.arange(2, 33)  # of the notebook


def divergence(value, name):
    """A number that may be infinite."""
    return number(value, name, finite=False)


def infinite(value, name, hint=""):
    """Wrong unless the value is infinity; nan, too, is told beside the infinity that is expected."""
    nan = isinstance(value, float | np.floating | np.ndarray) and np.size(value) == 1 and value != value
    got = math.nan if nan else divergence(value, name)
    if got != math.inf:
        raise mismatch(name, got, "infinity", hint)


def agree(got, want, name, hint, cases=(), rtol=RTOL):
    """Hold several numbers against what they should be, each by its own size; a common factor is named.

    ``cases`` are the arguments that the numbers belong to, or how to say them.
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


# --- what `fair` puts in for earlier exercises: nfa's


def right_renyi(p, q, alpha):
    """The divergence, also at order 1."""
    return divergences.renyi(np.asarray(p, float), np.asarray(q, float), alpha=max(float(alpha), 1 + 1e-7))


def right_step(alpha, q, z):
    """One Poisson step, at one order or at several."""
    found = subsampling.poisson_gaussian(np.atleast_1d(alpha), sampling_rate=q, noise_multiplier=z)
    return found if np.ndim(alpha) else float(found[0])


def right_mironov(cost, alpha, delta):
    """The conversion, of numbers or arrays."""
    return rdp.mironov2017(np.asarray(alpha), np.asarray(cost), delta=delta)


def right_run(costs, orders, steps, delta):
    """A run of equal steps."""
    found = right_mironov(steps * np.asarray(costs, float), np.asarray(orders, float), delta)
    best = int(found.argmin())
    return float(found[best]), orders[best], best in (0, len(found) - 1)


RIGHT = {"step_cost": right_step, "mironov": right_mironov, "run_epsilon": right_run}


# --- oracles


def by_fractions(p, q, alpha):
    """The divergence of two laws of whole percents, at a whole order, by exact fractions."""
    p, q = ([Fraction(round(100 * float(t)), 100) for t in law] for law in (p, q))
    return math.log(sum(s * (s / t) ** (alpha - 1) for s, t in zip(p, q, strict=True))) / (alpha - 1)


def log_integral(exponent, lower, upper):
    """log of the integral of e^exponent, by the trapezoid rule, which is exact to all digits for what ends smoothly."""
    x = np.linspace(lower, upper, 20_001)
    values = exponent(x)
    top = values.max(axis=-1)
    return top + np.log(np.exp(values - top[..., None]).sum(axis=-1) * (x[1] - x[0]))


def log_normal(x, mean, std):
    """The log density of a Gaussian."""
    return -(((x - mean) / std) ** 2) / 2 - math.log(std * math.sqrt(2 * math.pi))


def gauss_by_quadrature(mean_p, std_p, mean_q, std_q, alpha):
    """The divergence of two Gaussians by its integral."""
    found = log_integral(
        lambda x: alpha * log_normal(x, mean_p, std_p) + (1 - alpha) * log_normal(x, mean_q, std_q), -80, 80
    )
    return float(found) / (alpha - 1)


def step_by_quadrature(alpha, q, z):
    """The divergence of (1 - q) N(0, 1) + q N(1/z, 1) from N(0, 1) by its integral, at one order or at several."""
    alpha = np.asarray(alpha, float)

    def exponent(x):
        ratio = np.logaddexp(math.log1p(-q), math.log(q) + (x - 0.5 / z) / z)  # log of mixture over N(0, 1)
        return alpha[..., None] * ratio + log_normal(x, 0, 1)

    return log_integral(exponent, -15, alpha.max() / z + 15) / (alpha - 1)


def by_counting(scheme):
    """The laws of two answers by counting cases that are equally likely: a batch's coin and a four-sided one a step."""
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

LAWS = [  # pairs of laws in whole percents, no divergence the same with the two exchanged but the first's
    ([0.75, 0.25], [0.25, 0.75]),
    ([0.50, 0.30, 0.20], [0.20, 0.20, 0.60]),
    ([0.05, 0.15, 0.80], [0.25, 0.25, 0.50]),
]


def renyi_values(renyi):
    """Whole orders by fractions, and one of 1.5 by hand."""
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
        hint = "which of the two laws is in the denominator?"
        raise mismatch("renyi(p, q, alpha)", "the divergence of q from p", "that of p from q", hint)
    # an outcome that is rare in the second law: 0.25 / 1e-7 + 0.25 / (1 - 1e-7)
    p, q = np.array([0.5, 0.5]), np.array([1e-7, 1 - 1e-7])
    cases.append(f"renyi({p.tolist()}, {q.tolist()}, 2)")
    got.append(divergence(call(renyi, p, q, 2), cases[-1]))
    want.append(math.log(0.25 / 1e-7 + 0.25 / (1 - 1e-7)))
    turned.append(math.log(2e-14 + 2 * (1 - 1e-7) ** 2))
    hint = "the ratio to the power alpha is averaged over q; then come a natural logarithm and a factor"
    agree(got, want, "renyi(p, q, alpha)", hint, cases)


def exchanged(renyi):
    """Whether the student's function takes its two laws the other way round, which is another cell's business."""
    try:
        p, q = np.array(LAWS[1][0]), np.array(LAWS[1][1])
        return abs(divergence(call(renyi, p, q, 3), "") - by_fractions(*LAWS[1][::-1], 3)) < 1e-3
    except Wrong:
        return False


def renyi_zeros(renyi):
    """What is finite with zeros is continuous in them.

    Where values have lost their point, it is finite, and may be a sum that was forgotten.
    """
    orders = (2, 4.5, 1) if passes(renyi_one, renyi) else (2, 4.5)

    def lenient():
        zeros(lambda *laws: np.sum(renyi(*laws)), (3.5, 4.5), near_by=math.inf)

    unless_lost(lambda: zeros(renyi, orders), lenient, lambda: renyi_values(renyi))


def zeros(renyi, orders, near_by=1e-3):
    """What is finite with zeros is so near to its limit, and what is infinite is infinite."""
    given = renyi
    if exchanged(renyi):

        def renyi(p, q, alpha):
            return given(q, p, alpha)

    full, some, tiny = np.array([0.25, 0.25, 0.5]), np.array([0.4, 0.6, 0.0]), np.array([0.4 - 1e-7, 0.6, 1e-7])
    for alpha in orders:
        name = f"the divergence of order {alpha} where p has a 0 and q has not"
        got = divergence(call(renyi, some, full, alpha), name)
        near = divergence(call(renyi, tiny, full, alpha), f"the divergence of order {alpha} where p is 1e-7 somewhere")
        if not (math.isfinite(got) and abs(got - near) <= near_by):
            expected = f"{near:.4g}, as at p = 1e-7" if math.isfinite(near) else "a finite number"
            raise mismatch(name, got, expected, "an outcome with p = 0 adds nothing")
        infinite(call(renyi, full, some, alpha), f"the divergence of order {alpha} where q has a 0 and p has not")
        both = [np.array([0.4, 0.6]), np.array([0.7, 0.3])]
        want = divergence(call(renyi, *both, alpha), f"the divergence of order {alpha} of two coins")
        name = f"the divergence of order {alpha} where p = q = 0 once"
        got = divergence(call(renyi, *(np.append(law, 0) for law in both), alpha), name)
        if not abs(got - want) <= 1e-3:
            raise mismatch(name, got, f"{want:.4g}, as without it", "an outcome with p = q = 0 adds nothing")
        name = f"the divergence of order {alpha} where p = q = 1 once"
        got = divergence(call(renyi, np.array([0.0, 1.0]), np.array([0.0, 1.0]), alpha), name)
        if got == math.inf or not abs(got) <= max(near_by, 1e-3):
            raise mismatch(name, got, 0, "the two laws are the same")


def renyi_one(renyi):
    """The limit, by the slope of log sum p^alpha q^(1 - alpha) at 1; or that of the student's own function."""
    for p, q in ([np.array(p), np.array(q)] for p, q in LAWS[1:]):
        want = float(slopes(lambda a, p=p, q=q: np.log((p ** float(a) * q ** (1 - float(a))).sum()), np.array(1.0)))
        for one in (1, 1.0):
            got = divergence(call(renyi, p, q, one), "renyi(p, q, 1)")
            if abs(got - want) <= 1e-3 * want:
                continue
            near = [divergence(call(renyi, p, q, 1 + h), "renyi(p, q, 1.02)") for h in (0.02, 0.04, 0.06)]
            if near[0] == near[2] or not abs(got - (3 * near[0] - 3 * near[1] + near[2])) <= 2e-3 * want:
                hint = "it is an average over one of the two laws, the one left in front when alpha goes to 1"
                expected = f"about {near[0]:.4g}, as at the order 1.02" if math.isfinite(near[0]) else "a finite number"
                raise mismatch("renyi(p, q, 1)", got, expected, hint)


# --- 2. renyi_gauss


def gauss(renyi_gauss, case):
    """What a student's renyi_gauss returns."""
    return divergence(call(renyi_gauss, *case), "renyi_gauss(mean_p, std_p, mean_q, std_q, alpha)")


def gauss_same(renyi_gauss):
    """One standard deviation; where two have lost their point, what the distance of the means adds there."""
    cases = [(0.7, 1.3, -0.2, 1.3, 3.5), (0.0, 2.0, 1.0, 2.0, 8), (-1.0, 0.5, -0.4, 0.5, 2), (0.0, 3.0, 2.5, 3.0, 1.5)]
    want = [gauss_by_quadrature(*case) for case in cases]

    def check(less=lambda mean, std, alpha: 0.0):
        got = [gauss(renyi_gauss, case) - less(case[0], case[1], case[4]) for case in cases]
        agree(got, want, "renyi_gauss", "how do the distance, the std and the order enter?", cases)

    def of_distance():
        check(lambda mean, std, alpha: gauss(renyi_gauss, (mean, std, mean, std, alpha)))

    unless_lost(check, of_distance, lambda: spreads(renyi_gauss, UNSQUARED))


SPREADS = [
    (0.3, 1.1, -0.4, 1.4, 1.7),
    (0.0, 1.0, 1.0, 2.0, 4),
    (0.5, 1.2, 0.0, 1.0, 2),
    (0.0, 1.0, 0.0, 1.5, 6),
    (0.0, 11 / 1024, 1 / 128, 1 / 128, 2),  # small ones, exact in float32
]
# means that are equal, and stds for which alpha std_q + (1 - alpha) std_p is the same without squares
UNSQUARED = [
    (0.3, 0.5 + math.sqrt(0.25 - alpha / (alpha - 1) * std_q * (1 - std_q)), 0.3, std_q, alpha)
    for std_q, alpha in ((0.9, 2), (0.9, 4), (0.8, 3.5), (0.95, 1.5))
]


def gauss_spread(renyi_gauss):
    """Two standard deviations; where one has lost its point, what its mistakes leave alone.

    That is laws of equal means; or laws of which the student has another variance of the integrand, if that enters as
    it should; or variances in place of standard deviations.
    """

    def of_own_variance():
        found = []
        for alpha, std_p, std_q in itertools.product((0.5, 1.3, 2, 5), (0.8, 1.4), (1.1, 2.3)):
            alone, moved = (gauss(renyi_gauss, (mean, std_p, 0.0, std_q, alpha)) for mean in (0.0, 1.0))
            if math.isfinite(alone) and math.isfinite(moved) and moved - alone != 0 and alpha / (moved - alone) > 0:
                logs = math.log(alpha / (2 * (moved - alone))) / 2 - (1 - alpha) * math.log(std_p)
                found.append((alone, -(logs - alpha * math.log(std_q)) / (alpha - 1)))
        if len(found) < 3:
            raise mismatch("the finite divergences", len(found), "3 or more")
        agree(*zip(*found, strict=True), "renyi_gauss", "")

    def of_variances():
        spreads(lambda mp, sp, mq, sq, alpha: renyi_gauss(mp, sp**2, mq, sq**2, alpha), SPREADS[:4])

    def lenient():
        if not passes(spreads, renyi_gauss, UNSQUARED) and not passes(of_own_variance):
            of_variances()

    unless_lost(lambda: spreads(renyi_gauss, SPREADS), lenient, lambda: gauss_same(renyi_gauss))


def spreads(renyi_gauss, cases):
    """Two standard deviations, in either order of size."""
    got, want = [gauss(renyi_gauss, case) for case in cases], [gauss_by_quadrature(*case) for case in cases]
    turned = [gauss_by_quadrature(mq, sq, mp, sp, a) for mp, sp, mq, sq, a in (cases[0], cases[2])]
    if np.allclose([got[0], got[2]], turned, rtol=RTOL):
        hint = "p to the power alpha, q to the power 1 - alpha"
        raise mismatch("renyi_gauss", "the divergence of Q from P", "that of P from Q", hint)
    hint = "both stds enter, and the normalising constants of both densities to their powers"
    agree(got, want, "renyi_gauss", hint, cases)


EDGES = (  # at the last the integrand's quadratic is a line
    (0.0, 1.0, 0.0, math.sqrt(0.75), 4.5),
    (0.5, 2.0, -0.5, 1.0, 2),
    (0.0, 1.5, 3.0, 1.4, 20),
    (0.0, 3.0, 1.0, 1.0, 1.125),
)


def gauss_infinite(renyi_gauss):
    """The exponent's quadratic opens upwards.

    Where finite values have lost a point, for laws far from the edge, perhaps exchanged, and any finite number will do;
    or the student's own variance of the integrand has an edge somewhere, at orders that nobody needs too.
    """

    def check(cases=EDGES, turned=False, least=0.0):
        for case in cases:
            name = "the divergence of N({}, {:.3g}^2) from N({}, {:.3g}^2) at alpha = {}".format(*case)
            both = case, (*case[2:4], *case[:2], case[4])
            first, second = both[::-1] if turned else both
            infinite(call(renyi_gauss, *first), name, "the integrand grows without end for large x")
            finite = gauss(renyi_gauss, second)
            if not least <= finite < math.inf:
                raise mismatch(f"{name}, the two exchanged", finite, "a finite number that is not negative")

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
    """What a student's step_cost returns, and what it should be."""
    got = [number(call(step_cost, *case), "step_cost({}, {}, {})".format(*case)) for case in cases]
    return got, [float(step_by_quadrature(*case)) for case in cases]


def step_values(step_cost):
    """Orders to 32 by quadrature of the definition."""
    rates = ((0.2, 2.0), (0.1, 1.0), (0.5, 1.5), (0.05, 0.9))
    cases = [(alpha, *rate) for rate in rates for alpha in (2, 3, 8, 32)]
    hint = "look at each factor of the binomial sum, and at what stands before the logarithm"
    agree(*steps(step_cost, cases), "step_cost", hint, cases)


def step_large(step_cost):
    """Terms that no float holds; where smaller ones have lost their points, any number, if not always the same."""

    def check():
        cases = [(256, 0.01, 0.5), (200, 0.3, 0.3), (100, 0.001, 0.25), (256, 0.001, 3.0), (256, 0.02, 12.0)]
        hint = "keep logarithms, and take the largest out of the sum"
        agree(*steps(step_cost, cases), "step_cost", hint, cases, rtol=0.05)

    def numbers_at_all():
        found = steps(step_cost, [(256, 0.3, 0.5), (256, 0.3, 0.01), (100, 0.3, 0.01), (256, 0.02, 12.0)])[0]
        if len(set(found)) == 1:
            raise mismatch("step_cost at the orders 100 and 256", "the same", "different numbers")

    unless_lost(check, numbers_at_all, lambda: step_values(step_cost))


# --- 4. conversions and runs

COSTS = [(0.3, 12, 1e-5), (1.0, 2, 1e-3), (2.5, 4, 1e-6), (0.05, 30, 1e-5), (4.0, 1.5, 1e-5)]
NEAR_ONE = [(2.0, 1 + 2**-16, 1e-4), (0.5, 1 + 2**-14, 1e-6)]  # orders that are exact in float32


def mironov_values(mironov):
    """Markov's inequality: the chance of a loss above epsilon is at most e^((alpha - 1) (cost - epsilon))."""
    hint = "a small delta must make epsilon larger, by its logarithm over alpha - 1"
    for cases in (COSTS, NEAR_ONE):
        got = [number(call(mironov, *case), "mironov(cost, alpha, delta)") for case in cases]
        want = [
            optimize.brentq(lambda e, c=c, a=a, d=d: math.exp((a - 1) * (c - e)) / d - 1, c, c + 30 / (a - 1))
            for c, a, d in cases
        ]
        agree(got, want, "mironov", hint, cases)


def better_values(better):
    """The idea of its proof: the worst loss for delta = E (1 - e^(epsilon - loss))+ at a given moment of the loss."""

    def excess(epsilon, cost, alpha, delta):
        loss = np.linspace(1e-4, 12, 40_001)  # above epsilon
        worst = (np.log(-np.expm1(-loss)) - (alpha - 1) * loss).max()
        return worst + (alpha - 1) * (cost - epsilon) - math.log(delta)

    for cases in (COSTS, NEAR_ONE):
        got = [number(call(better, *case), "better(cost, alpha, delta)") for case in cases]
        want = [optimize.brentq(excess, -20, 30 + 30 / (case[1] - 1), args=case) for case in cases]
        agree(got, want, "better", "compare it with the formula term by term", cases)
    for case in ((0.001, 300, 1e-2), (0.0, 2, 0.5)):
        got = number(call(better, *case), "better(cost, alpha, delta)")
        if not abs(got) <= 1e-12:
            raise mismatch(f"better({case[0]}, {case[1]}, {case[2]})", got, 0, "the formula is negative there")


def three(value):
    """The three things that run_epsilon returns."""
    value = pair(value, "epsilon, its order and whether that is at an end of the grid", 3)
    at_end = np.asarray(value[2])
    if isinstance(value[2], str | None) or at_end.size != 1:
        raise misfit("the third thing that run_epsilon returns", value[2], "True or False")
    return number(value[0], "epsilon"), number(value[1], "the order"), bool(at_end.ravel()[0])


def two(value):
    """The first two of them; without the third one they are judged, too."""
    if isinstance(value, tuple | list) and len(value) == 2:
        value = (*value, False)
    return three(value)[:2]


def run_value(run_epsilon):
    """Gaussians without sampling, whose best real order is known in closed form, and a caption."""

    def check():
        orders = 1 + np.geomspace(0.05, 200, 1500)
        for z, steps, delta in ((2.0, 1, 1e-5), (20.0, 100, 1e-5), (5.0, 1000, 1e-5), (10.0, 50, 1e-3)):
            rate = steps / (2 * z * z)
            epsilon, order = two(call(run_epsilon, orders / (2 * z * z), orders, steps, delta))
            best = 1 + math.sqrt(math.log(1 / delta) / rate)
            want = rate + 2 * math.sqrt(rate * math.log(1 / delta))
            hint = "the costs of all steps add up, each order then gives an epsilon, and the smallest counts"
            name = f"the epsilon of T = {steps} without sampling at delta = {delta:g}"
            agree([epsilon], [want], name, hint, rtol=3e-4)
            if not abs(order / best - 1) < 0.02:
                name = f"the order that gives the epsilon of T = {steps}, which is right"
                raise mismatch(name, order, f"about {best:.3g}")
        costs = subsampling.without_replacement_gaussian(ORDERS, sampling_rate=512 / 60_000, noise_multiplier=128 / 75)
        epsilon, order = two(call(run_epsilon, costs, ORDERS, 5850, 1e-5))
        agree(
            [epsilon],
            [4.43868243865],
            "the first caption's epsilon",
            "T = 5850, and the costs are those of fixed batches",
        )
        if order != 7:
            name = "the order that gives the first caption's epsilon, which is right"
            raise mismatch(name, order, "another number")

    fair(check, run_epsilon, mironov=right_mironov)


ENDS = (
    ([1.0, 0.01, 2.0, 1.0], False, "inside the grid"),
    ([0.01, 1.0, 0.5, 2.0], True, "the first of the grid"),
    ([1.0, 2.0, 0.01, 1.0], False, "inside the grid"),
    ([2.0, 0.5, 1.0, 0.01], True, "the last of the grid"),
)


def run_end(run_epsilon):
    """The best order inside the grid, first and last: of one step, and with the largest at the same kind of place.

    Where the value has lost its point, that of the order that is returned, or without a last order that raises.
    """
    orders = np.array([100.0, 101.0, 102.0, 103.0])

    def check(cases=ENDS, own=False):
        for costs, at_end, where in cases:
            _, order, told = three(call(run_epsilon, np.array(costs), orders, 1, 1e-5))
            if told != (order in (orders[0], orders[-1]) if own else at_end):
                raise mismatch(f"the third thing returned where the best order is {where}", str(told), str(at_end))

    def lenient():
        try:
            check()
        except Wrong as told:
            if told.why == "error":
                return check(ENDS[:3])
        return check(own=True)

    fair(lambda: unless_lost(check, lenient, lambda: run_value(run_epsilon)), run_epsilon, mironov=right_mironov)


def misprint_found(misprint):
    """One of six."""

    def check():
        got = number(call(misprint), "the misprint")
        printed = (9.77, 13.75, 17.8, 21.3, 23.74, 26.19)
        if min(abs(got - p) for p in printed) > 5e-3:
            raise mismatch("the misprint", f"{got:.6g}", "one of the six printed epsilons")
        if abs(got - 13.75) > 5e-3:
            hint = "this one does come out with 468 steps an epoch, when it is cut and not rounded to two decimals"
            raise mismatch("the misprint", f"{got:.6g}", "another of the six", hint)

    fair(check, misprint, mironov=right_mironov, run_epsilon=right_run)


# --- 5. noise


def epsilon_by_quadrature(z, q, steps, delta):
    """The epsilon of Poisson steps on the notebook's orders, every cost an integral."""
    return float((steps * step_by_quadrature(ORDERS, q, z) + math.log(1 / delta) / (ORDERS - 1)).min())


def noise_least(noise_for):
    """The noise gives the target, and a little less noise gives more: no solver, only the two sides.

    For noise near both ends of the interval and between them.
    """

    def check():
        for target, q, steps, delta in (
            (3.0, 0.1, 200, 1e-5),
            (1.5, 0.02, 2000, 1e-6),
            (14.0, 1e-3, 10, 1e-5),
            (2.0, 0.3, 50_000, 1e-5),
            (0.6, 0.01, 300, 1e-4),
            (8.0, 0.05, 1000, 1e-7),
        ):
            z = number(call(noise_for, target, q, steps, delta), "the noise multiplier")
            if not 0.2 <= z <= 200:
                raise mismatch("the noise multiplier", z, "a number from 0.2 to 200")
            reached = epsilon_by_quadrature(z, q, steps, delta)
            name = f"the epsilon of your z = {z:.5g} for {steps} steps at q = {q}"
            if reached > target * (1 + 3e-5):  # what a root finder or float32 leaves
                raise mismatch(name, f"{reached:.7g}", f"{target} or less", "it is not enough noise")
            if epsilon_by_quadrature(z / 1.0015, q, steps, delta) <= target:
                raise mismatch(name, f"{reached:.7g}", f"{target} but for 0.1 % of z", "less noise would do")

    fair(check, noise_for, **RIGHT)


def answer(doubled, what):
    """The number (0) or the word (1) that it returns; one alone is enough for its own question."""
    value = call(doubled)
    alone = isinstance(value, str) if what else isinstance(value, float | int | np.number)
    return value if alone else pair(value, "a number and a word")[what]


def doubled_full(doubled):
    """T alpha / (2 z^2) stays."""

    def check():
        factor = number(answer(doubled, 0), "the factor")
        if not 0.1 < factor < 10:
            raise mismatch("the factor", factor, "a number from 0.1 to 10", "it is by how much the noise must grow")
        for alpha in (2, 5):
            cost = 20 * gauss_by_quadrature(1.0, factor, 0.0, factor, alpha)
            want = 10 * gauss_by_quadrature(1.0, 1.0, 0.0, 1.0, alpha)
            if abs(cost / want - 1) > 0.025:
                name = f"the cost of twice as many steps with {factor:.4g} times the noise, over that of before"
                raise mismatch(name, cost / want, 1, "it is so at every order")

    fair(check, doubled, **RIGHT)


def doubled_sampled(doubled):
    """Whether the factor for full steps is more than enough; where that is lost, the student's own factor."""

    def check(own=False):
        told = answer(doubled, 1)
        word = told.strip().lower() if isinstance(told, str) else told
        if word not in ("less", "equal", "more"):
            raise mismatch("the second thing returned", f"{told!r:.80}", 'one of "less", "equal" and "more"')
        z, q = 128 / 75, 512 / 60_000
        factor = number(answer(doubled, 0), "the factor") if own else math.sqrt(2)
        before = epsilon_by_quadrature(z, q, 5850, 1e-5)
        after = epsilon_by_quadrature(factor * z, q, 11_700, 1e-5)
        if word != ("less" if after < before else "more"):
            hint = "give 11700 steps the noise of question 1 and compare their epsilon with that of 5850 steps"
            raise mismatch("the second thing returned", f'"{word}"', "another word", hint)

    def either():
        unless_lost(check, lambda: check(own=True), lambda: doubled_full(doubled))

    fair(either, doubled, **RIGHT)


# --- 6. shuffled batches


def answers_laws(two_answers):
    """Both schemes, by counting."""
    for scheme in ("poisson", "shuffled"):
        told = call(two_answers, scheme)
        P, Q = pair(told, "the laws P and Q")
        want_P, want_Q = by_counting(scheme)
        for name, law, want in (("Q", Q, want_Q), ("P", P, want_P)):
            got = array(law, (4,), f'{name} of "{scheme}"')
            if abs(got.sum() - 1) > 1e-4:
                raise mismatch(f'the sum of {name} of "{scheme}"', got.sum(), 1)
            if np.abs(got - want).max() > RTOL:
                if name == "P" and scheme == "shuffled" and np.allclose(got, by_counting("poisson")[0]):
                    hint = "are the two answers independent if I am in one?"
                    raise mismatch('P of "shuffled"', 'that of "poisson"', "another law", hint)
                hint = "both answers are coins about 0" if name == "Q" else "go through the cases of where my record is"
                same_number(got, want, f'{name} of "{scheme}"', hint)


def verdict_named(verdict):
    """The two schemes' costs, counted and compared on a grid of orders."""

    def check():
        word = call(verdict)
        words = ("never more", "always more", "both happen")
        one = 'one of "never more", "always more" and "both happen"'
        if not isinstance(word, str):
            raise misfit("the verdict", word, one)
        if word.strip().lower() not in words:
            raise mismatch("the verdict", f"{word!r:.80}", one)
        shuffled, poisson = (
            np.array([max(right_renyi(P, Q, a), right_renyi(Q, P, a)) for a in (1.1, 2, 5, 50)])
            for P, Q in map(by_counting, ("shuffled", "poisson"))
        )
        more = shuffled > poisson
        if word.strip().lower() != words[1 if more.all() else 2 if more.any() else 0]:
            hint = (
                "print both costs at several orders, small ones and large ones, and take the larger of the two "
                "directions each time"
            )
            raise mismatch("the verdict", f'"{word}"', "another of the three", hint)

    fair(check, verdict, renyi=right_renyi, two_answers=by_counting)
