"""The checks of problem set 9, one for each graded cell.

Their oracles are quadratures, differences, enumerations of all draws and loops over records, never the formula itself.
"""

import itertools
import math
from functools import cache
from typing import NamedTuple

import numpy as np

from nfa.course.checking import (
    Wrong,
    answered,
    array,
    arrays,
    call,
    close,
    common_factor,
    derivatives,
    entries,
    fair,
    fitting,
    guessed,
    layers,
    mismatch,
    number,
    numbers,
    pair,
    passes,
    same_line,
    same_scale,
    seeded,
    size,
    unless_lost,
)

ONE = math.sqrt(3) * np.array([-1.0, 0, 0, 0, 0, 1])  # equally likely values with the first five moments of N(0, 1)


def case(m, n, K, seed):
    """A loss, pre-activations and draws; each record's loss is a polynomial of degree 4."""
    rng = seeded(seed)
    constant, linear, square, quartic = 1 + rng.random(m), *(rng.normal(size=(3, m, n)) / 2)

    def loss(v):
        v = np.asarray(v)
        along = (quartic * v).sum(axis=-1)
        return constant + (linear * v + square * v**2).sum(axis=-1) + along**3 / 3 + along**4 / 4

    return loss, rng.normal(size=(m, n)), rng.normal(size=(K, m, n))


# --- oracles


def by_loops(loss, z, u, sigma):
    """The estimate, in loops over draws and numbers."""
    z, u = np.asarray(z, float), np.asarray(u, float)
    K, m, n = u.shape
    noisy = np.reshape([loss(z + sigma * draw) for draw in u], (K, m))
    g = [[math.fsum(u[k, i, j] * noisy[k, i] for k in range(K)) for j in range(n)] for i in range(m)]
    return np.array(g) / (K * sigma)


def smoothed_derivatives(loss, z, sigma):
    """The gradient of every record's smoothed loss, by differences of a Gauss-Hermite sum."""
    t, w = np.polynomial.hermite_e.hermegauss(6)
    nodes = np.array(list(itertools.product(t, repeat=z.shape[1])))
    weights = [math.prod(p) for p in itertools.product(w / w.sum(), repeat=z.shape[1])]
    return derivatives(lambda v: sum(p * loss(v + sigma * t).sum() for p, t in zip(weights, nodes, strict=True)), z)


def baseline_by_loops(loss, z, u, sigma):
    """The estimate with the baseline."""
    without_noise = loss(z)
    return by_loops(lambda v: loss(v) - without_noise, z, u, sigma)


def antithetic_by_loops(loss, z, u, sigma):
    """The estimate from pairs: the draws, and the same draws with the other sign."""
    return by_loops(loss, z, np.concatenate([u, np.negative(u)]), sigma)


def cross_entropy(W, b, l, z, y):
    """The cross-entropy of one record with the pre-activations z of layer l, in loops."""
    z = [float(t) for t in z]
    for k in range(l + 1, len(W)):
        on = [float(t > 0) for t in z]
        z = [b[k][i] + math.fsum(w * h for w, h in zip(W[k][i], on, strict=True)) for i in range(len(b[k]))]
    top = max(z)
    return top + math.log(math.fsum(math.exp(t - top) for t in z)) - math.fsum(t * c for t, c in zip(z, y, strict=True))


def directions(W, b, x, y, u, sigma):
    """The directions of all layers, in loops over records and draws."""
    dW, db = [None, *(np.zeros(w.shape) for w in W[1:])], [None, *(np.zeros(v.shape) for v in b[1:])]
    for i, below in enumerate(x):
        for l in range(1, len(W)):
            z = W[l] @ below + b[l]
            for draw in u[l][:, i]:
                rise = cross_entropy(W, b, l, z + sigma * draw, y[i]) - cross_entropy(W, b, l, z - sigma * draw, y[i])
                share = draw * rise / (2 * sigma * len(u[l]) * len(x))
                dW[l] += np.outer(share, below)
                db[l] += share
            below = np.array([float(t > 0) for t in z])
    return dW, db


def mean_loss(W, b, x, y):
    """The mean cross-entropy of a network of threshold units."""
    return math.fsum(
        cross_entropy(W, b, 1, W[1] @ record + b[1], target) for record, target in zip(x, y, strict=True)
    ) / len(x)


def right_controller(h, losses, K, C, sigma_0):
    """A right version of `controller`: Equation 8 with singular values."""
    return np.linalg.svd(h * np.reshape(losses, (-1, 1)))[1].min() / (math.sqrt(K) * C * sigma_0)


SMALL = ((1, 3, 2), (4, 1, 3), (1, 1, 1))  # (m, n, K) with one record, one entry, one draw

RIGHT = {"estimate": by_loops, "baseline": baseline_by_loops, "antithetic": antithetic_by_loops}


# --- 1. the estimate


def estimates(f, loss, z, u, sigma):
    """The result of a student's function for a batch. Shapes that follow from typical mistakes have their own hint."""
    found, (K, m, n) = call(f, loss, z, u, sigma), np.shape(u)
    causes = {
        (K, m, n): "take the mean over the K draws",
        (K, m): "take the mean over the draws, the first axis, and not over the entries",
        (K, n): "take the mean over the draws, the first axis, and not over the records",
        (m, 1): "multiply each draw u by its loss",
        (): "take the mean over the draws only, because every record has an estimate with n entries",
    }
    if m == 1:
        causes[n,] = "keep the axis of the records, also for one record"
    if n == 1:
        causes[m,] = "keep the axis of the entries, also for one entry"
    shape = np.shape(found) if isinstance(found, np.ndarray | np.number) else (m, n)
    if shape != (m, n) and shape in causes:
        raise mismatch(f"the shape of the estimate for m = {m} and n = {n}", shape, (m, n), causes[shape])
    return array(found, (m, n), f"the estimate for m = {m} and n = {n}")


def estimate_direction(estimate):
    """The right estimates up to one factor: for random draws, over all draws, and for one record or one entry."""
    loss, z, u = case(4, 3, 5, 1)
    hint = "multiply every draw of a record by this record's loss with this draw, and take the mean over the draws"
    same_line(estimates(estimate, loss, z, u, 0.5), by_loops(loss, z, u, 0.5), "the estimates of 4 records", hint)
    loss, z, _ = case(3, 2, 1, 2)
    every = np.array(list(itertools.product(ONE, repeat=2)))
    u = np.repeat(every[:, None], 3, axis=1)
    got, want = estimates(estimate, loss, z, u, 0.4), smoothed_derivatives(loss, z, 0.4)
    same_line(
        got, want, "the estimates over exact_draws(2)", "the mean over all draws is the gradient of the smoothed loss"
    )
    for m, n, K in SMALL:
        loss, z, u = case(m, n, K, 3)
        name = f"the estimate for m = {m}, n = {n} and K = {K}"
        same_line(estimates(estimate, loss, z, u, 0.5), by_loops(loss, z, u, 0.5), name, hint)


def factor(estimate, K, sigma):
    """The ratio of the student's estimate to the right estimate, for one record."""
    loss, z, u = case(1, 3, K, 10 + K)
    name = f"the estimate of one record with K = {K}"
    return same_line(estimates(estimate, loss, z, u, sigma), by_loops(loss, z, u, sigma), name)


def level(estimate, K, sigma, given=None):
    """The ratio of the estimate to the right estimate if all draws and losses are 1, so no direction can be wrong.

    There are as many records and entries as draws, so most wrong products can be formed. Another cell checks the shape.
    The student's function gets ``given`` in place of sigma.
    """

    def found(constant, draw):
        z, u = np.zeros((K, K)), np.full((K, K, K), draw)
        every = call(estimate, lambda v: constant + 0 * np.asarray(v).sum(axis=-1), z, u, given or sigma)
        return numbers(every, "the estimate")

    got, name = found(1.0, 1.0), f"the estimate for a constant loss with K = {K}"
    if passes(close, found(2.5, 1.0), got, name) and passes(close, found(1.0, 2.5), got, name):
        raise mismatch(f"{name}, twice with different draws and losses", "equal values", "different values")
    return same_line(got, np.full(got.shape, 1 / sigma), name)


def estimate_K(estimate):
    """The ratio to the right estimate is the same for every K. A constant loss is used if the direction is wrong."""

    def check(factor):
        one = factor(estimate, 1, 0.5)
        for K in (2, 7):
            times = factor(estimate, K, 0.5) / one
            if abs(times - 1) > 1e-4:
                name = f"the norm of the estimate with K = {K} draws, compared with one draw"
                raise mismatch(name, times, 1, "take the mean over the draws")

    def strict():
        check(factor)
        loss, z, u = case(4, 3, 2, 30)
        told = "the estimates of 4 records"
        of_four = same_line(estimates(estimate, loss, z, u, 0.5), by_loops(loss, z, u, 0.5), told)
        times = of_four / factor(estimate, 2, 0.5)
        if abs(times - 1) > 1e-4:
            name = "the norm of each record's estimate in a batch of 4 records, compared with one record alone"
            raise mismatch(name, times, 1, "the mean is over the draws and not over the records")

    unless_lost(strict, lambda: check(level), lambda: estimate_direction(estimate))


def estimate_sigma(estimate):
    """The ratio to the right estimate is 1 for one draw and any sigma.

    If the direction is wrong, the check uses a constant loss, and sigma may be taken for the variance of the noise.
    """

    def check(factor):
        for sigma in (1e-6, 0.1, 0.5, 3.0):  # sigma = 1e-6 reveals a small number that is added to sigma
            times = factor(sigma)
            hint = (
                "Equation 4 divides zeta by the square of sigma: what is left if zeta is sigma u?"
                if times > 0
                else "with one draw, the estimate is a positive multiple of the draw times the loss"
            )
            if abs(times - 1) > 1e-4:
                told = f"{times:.4g} times what is expected"
                raise mismatch(f"the estimate with K = 1 and sigma = {sigma:g}", told, hint=hint)

    def lenient():
        if not passes(check, lambda sigma: level(estimate, 1, sigma)):
            check(lambda sigma: level(estimate, 1, sigma, given=sigma**2))

    unless_lost(lambda: check(lambda sigma: factor(estimate, 1, sigma)), lenient, lambda: estimate_direction(estimate))


def quartic(mean_of_quartic):
    """The derivative of E (z + zeta)^4, by quadrature and differences."""

    def check():
        got = number(call(mean_of_quartic), "the mean")
        want = smoothed_derivatives(lambda v: v[..., 0] ** 4, np.array([[1.0]]), 0.5)
        if abs(got - want[0, 0]) > 0.05:
            hint = "which polynomial is the mean of (z + zeta)^4 over the noise, and what is its derivative at z = 1?"
            raise mismatch("the mean", got, "another number", hint)

    fair(check, mean_of_quartic, **RIGHT)


# --- 2. baseline and pairs


def follows(f, right, of, hint):
    """Check `baseline` or `antithetic`: the values are right, or they follow from the student's own `estimate`."""

    def check():
        # no product of powers of sigma and K is 2, so no two factors cancel
        for sigma, m, n, K in ((0.7, 4, 3, 3), (0.3, 4, 3, 5), (0.7, 1, 3, 3), (0.3, 4, 1, 5), (0.7, 1, 1, 1)):
            loss, z, u = case(m, n, K, 30)
            got = estimates(f, loss, z, u, sigma)
            try:
                close(got, right(loss, z, u, sigma), "the estimate", hint)
            except Wrong as told:
                own = getattr(f, "__globals__", {}).get("estimate")
                try:  # a wrong factor of `estimate` costs nothing here
                    if common_factor(estimates(own, loss, z, u, sigma), by_loops(loss, z, u, sigma)) is None:
                        raise told
                    close(got, of(lambda *given, own=own: estimates(own, *given), loss, z, u, sigma), "the estimate")
                except Wrong:
                    raise told from None

    fair(check, f, **RIGHT)


def baseline_values(baseline):
    """The estimates with the baseline, for any draws and for a constant loss."""

    def flat():
        _, z, u = case(4, 3, 3, 32)
        got = estimates(baseline, lambda v: 5 + 0 * np.asarray(v).sum(axis=-1), z, u, 0.5)
        if (most := np.abs(got).max()) > 1e-4:
            hint = "the gradient is 0, and with the baseline every estimate is 0"
            raise mismatch("the largest entry of the estimates for a constant loss", most, 0, hint)

    def of(estimate, loss, z, u, sigma):
        without_noise = loss(z)
        return estimate(lambda v: loss(v) - without_noise, z, u, sigma)

    fair(flat, baseline, **RIGHT)
    follows(baseline, baseline_by_loops, of, "the baseline is the record's loss at z, without noise")


def antithetic_values(antithetic):
    """The estimates from antithetic pairs, for any draws."""

    def of(estimate, loss, z, u, sigma):
        return (estimate(loss, z, u, sigma) + estimate(loss, z, -u, sigma)) / 2

    hint = "use each draw with both signs, and half the difference of the two losses in place of the loss"
    follows(antithetic, antithetic_by_loops, of, hint)


def own_average_answer(own_average):
    """The mean of the estimate if the baseline is the average loss of the same draws."""
    answered(own_average, "b", "write the estimate out for K = 1 and for K = 2: which terms have the mean zero?")


def variances(sigma, baseline=False, level=1.3, K=1):
    """Variance and mean of the estimate for a cubic loss of one pre-activation, by quadrature."""
    t, w = np.polynomial.hermite_e.hermegauss(12)
    draws = np.array(list(itertools.product(t, repeat=K)))
    p = np.array([math.prod(q) for q in itertools.product(w / w.sum(), repeat=K)])
    v = sigma * draws
    noisy = (0.0 if baseline else level) + 0.7 * v + 0.4 * v**2 + 0.3 * v**3
    g = (draws * noisy).mean(axis=1) / sigma
    return float(p @ g**2 - (p @ g) ** 2), float(p @ g)


def exponent(small, large, times):
    """The exponent of a power that grows from small to large if its argument is multiplied by ``times``."""
    return math.log(large / small) / math.log(times)


def told_exponents(exponents, names):
    """The student's exponents with these names."""
    found = entries(call(exponents), "exponents", *names)
    return {name: number(value, f'the exponent "{name}"') for name, value in zip(names, found, strict=True)}


def compare(told, want, hints):
    """Compare exponents up to 0.1, so that measured exponents pass."""
    for name, value in told.items():
        if abs(value - want[name]) > 0.1:
            raise mismatch(f'the exponent "{name}"', value, "another number", hints[name])


def exponents_plain(exponents):
    """The exponents of the variance of `estimate`, from exact variances."""

    def check():
        s = 1e-3
        here = variances(s)[0]
        want = {
            "K": exponent(here, variances(s, K=2)[0], 2),
            "sigma": exponent(here, variances(2 * s)[0], 2),
            "loss": exponent(here, variances(s, level=2.6)[0], 2),
        }
        hints = {
            "K": "what is the variance (not the standard deviation) of the mean of K independent terms?",
            "sigma": "take a constant loss: what is the variance of u times a constant, divided by sigma?",
            "loss": "take a constant loss: how does the variance of the estimate change if the loss is doubled?",
        }
        compare(told_exponents(exponents, want), want, hints)

    fair(check, exponents, **RIGHT)


def exponents_rest(exponents):
    """The exponents of the variance with the baseline and of the bias."""

    def check():
        s = 1e-2
        off = [variances(t)[1] - 0.7 for t in (s, 2 * s)]
        want = {
            "baseline_sigma": exponent(variances(s, baseline=True)[0], variances(2 * s, baseline=True)[0], 2),
            "bias_sigma": exponent(*off, 2),
        }
        hints = {
            "baseline_sigma": "for small sigma, the loss minus its value at z is about its derivative times zeta",
            "bias_sigma": "expand the smoothed loss in powers of sigma, as for z^4; odd powers of noise have mean 0",
        }
        compare(told_exponents(exponents, want), want, hints)

    fair(check, exponents, **RIGHT)


# --- 3. a network


def net_case(seed, K=3, m=5, sizes=(4, 5, 4, 3)):
    """A network of threshold units with records, labels and draws."""
    rng = seeded(seed)
    W = [None, *(rng.normal(size=(n, below)) for below, n in itertools.pairwise(sizes))]
    b = [None, *(rng.normal(size=n) / 2 for n in sizes[1:])]
    u = [None, *(rng.normal(size=(K, m, n)) for n in sizes[1:])]
    return W, b, rng.normal(size=(m, sizes[0])), np.eye(sizes[-1])[np.arange(m) % sizes[-1]], u


def ulr_direction(ulr):
    """The direction of every layer, up to a factor for each layer. Some cases have one record or layers of one unit."""

    def check():
        for seed, m, sizes, case in (
            (50, 5, (4, 5, 4, 3), ""),
            (64, 1, (4, 5, 4, 3), " for one record"),
            (56, 5, (1, 1, 3), " for layers of one unit"),
        ):
            W, b, x, y, u = net_case(seed, m=m, sizes=sizes)
            dW, db = pair(call(ulr, W, b, x, y, u, 0.7), "dW and db")
            got, want = (arrays(dW, W, "dW"), arrays(db, b, "db")), directions(W, b, x, y, u, 0.7)
            for name, mine, right in zip(("dW", "db"), got, want, strict=True):
                for l in range(1, len(W)):
                    hint = f"layer {l} uses the pairs at z[{l}] with the draws u[{l}], and reads h[{l - 1}]"
                    same_line(mine[l], right[l], f"{name}[{l}]{case}", hint)

    fair(check, ulr, **RIGHT)


def ulr_scale(ulr):
    """The factor 1 for each layer with a right direction.

    If there is no such layer, the next case has as many records as units in every layer, so most wrong products can be
    formed. If this case has no right direction either, the result must stay the same if every record occurs twice.
    """

    def found(records, sizes):
        W, b, x, y, u = net_case(52, m=records, sizes=sizes)
        dW, db = pair(call(ulr, W, b, x, y, u, 0.7), "dW and db")
        dW, db = ([None, *v] if isinstance(v, list | tuple) and len(v) == len(W) - 1 else v for v in (dW, db))
        want_W, want_b = directions(W, b, x, y, u, 0.7)
        return {**fitting(dW, want_W, "dW"), **fitting(db, want_b, "db")}

    def check(records=5, sizes=(4, 5, 4, 3)):
        turned = "a step subtracts eta times the direction"
        same_scale(found(records, sizes), f"with {records} records and K = 3", "divide by m, and only once", turned)

    def right(*case):
        try:
            return any(common_factor(*two) for two in found(*case).values())
        except Wrong:
            return False

    def twice():
        W, b, x, y, u = net_case(52, sizes=(4, 4, 4, 4))
        again = [None, *(np.concatenate([v, v], axis=1) for v in u[1:])]
        other = net_case(53, sizes=(4, 4, 4, 4))[4]
        every = [
            pair(call(ulr, W, b, *given, 0.7), "dW and db")
            for given in ((x, y, u), (np.concatenate([x, x]), np.concatenate([y, y]), again), (x, y, other))
        ]
        for l, v in itertools.product((1, 2, 3), (0, 1)):
            a, c, d = (numbers(layers(lists[v], 1, 3, "the direction")[l], "the direction") for lists in every)
            close(c, a, "the direction if every record occurs twice")
            if np.array_equal(a, d):
                raise mismatch("the direction, twice with different draws", "equal values", "different values")

    def lenient():
        for case in ((5, (4, 5, 4, 3)), (4, (4, 4, 4, 4))):
            if right(*case):
                return check(*case)
        return twice()

    fair(lambda: unless_lost(check, lenient, lambda: ulr_direction(ulr)), ulr, **RIGHT)


class Run(NamedTuple):
    """The settings of a training."""

    steps: int
    eta: float
    sigma: float
    K: int

    def __str__(self) -> str:
        steps = f"{self.steps} step{'s' * (self.steps > 1)}"
        return f"{steps} with eta = {self.eta:g}, sigma = {self.sigma:g} and K = {self.K}"


def copies():
    """A small network of threshold units, and two records. Each record occurs four times, with independent noise.

    The two seeds are for grading and for practice. Among the seeds that we tried, these two give the largest gradients
    in every layer, compared with the noise.
    """
    W, b, x, y, _ = net_case((101, 102)[size(0)], m=2, sizes=(2, 3, 2, 3))
    return W, b, np.repeat(x, 4, axis=0), np.repeat(y, 4, axis=0)


def parameters(W, b):
    """The weights and biases of each layer as vectors, with their names as keys. A first axis of runs is kept."""
    every = {f"{name}[{l}]": v for name, lists in (("W", W), ("b", b)) for l, v in enumerate(lists) if l}
    return {
        name: np.reshape(v, (*v.shape[:1], -1) if v.ndim > 1 + (name[0] == "W") else -1) for name, v in every.items()
    }


def losses_above(W, b, l, z, y):
    """The losses of records with the pre-activations z (runs, K, m, n) of layer l, in many networks at once."""
    for w, c in zip(W[l + 1 :], b[l + 1 :], strict=True):
        z = (z > 0) @ w.swapaxes(1, 2)[:, None] + c[:, None, None]
    top = z.max(axis=-1, keepdims=True)
    return top[..., 0] + np.log(np.exp(z - top).sum(axis=-1)) - (z * y).sum(axis=-1)


def steps_of(W, b, x, y, zeta, sigma):
    """The direction of every layer for noise zeta[l] (runs, K, m, n), in many networks at once, and the mean losses."""
    h, moves = np.repeat(x[None], len(W[1]), axis=0), []
    for l in range(1, len(W)):
        z = h @ W[l].swapaxes(1, 2) + b[l][:, None]
        up, down = (losses_above(W, b, l, z[:, None] + turned, y) for turned in (zeta[l], -zeta[l]))
        g = ((up - down)[..., None] * zeta[l]).mean(axis=1) / (2 * sigma**2 * len(x))
        moves.append((g.swapaxes(1, 2) @ h, g.sum(axis=1)))
        h = (z > 0) * 1.0
    return moves, losses_above(W, b, len(W) - 1, z[:, None], y)[:, 0].mean(axis=1)


def trained(run, runs, seed):
    """The parameters after many right runs, and the losses (runs, steps), for all runs at once."""
    (W, b, x, y), rng, losses = copies(), seeded(seed), []
    W, b = ([None, *(np.repeat(v[None], runs, axis=0) for v in lists[1:])] for lists in (W, b))
    for _ in range(run.steps):
        zeta = [None, *(run.sigma * rng.normal(size=(runs, run.K, len(x), v.shape[1])) for v in b[1:])]
        moves, loss = steps_of(W, b, x, y, zeta, run.sigma)
        losses.append(loss)
        for l, (w, c) in enumerate(moves, 1):
            W[l], b[l] = W[l] - run.eta * w, b[l] - run.eta * c
    return parameters(W, b), np.stack(losses, axis=1)


def directions_at_once(W, b, x, y, u, sigma):
    """The directions of all layers: a fast and right version of `ulr`."""
    W, b = ([None, *(np.asarray(v)[None] for v in lists[1:])] for lists in (W, b))
    moves = steps_of(W, b, np.asarray(x), y, [None, *(sigma * np.asarray(v)[None] for v in u[1:])], sigma)[0]
    return tuple([None, *(v[0] for v in lists)] for lists in zip(*moves, strict=True))


def expected(run):
    """For each name the mean of the parameters over right runs, and the mean squared distance from it; the losses."""
    return _expected(run, size(0))


@cache
def _expected(run, practice):
    """The result of `expected`, computed once for grading and once for practice, which has other weights."""
    every, losses = trained(run, 100, 64)
    means = {name: v.mean(axis=0) for name, v in every.items()}
    return {name: (means[name], ((v - means[name]) ** 2).sum(axis=1).mean()) for name, v in every.items()}, losses


def trains(train, run, seed):
    """The parameters after a student's training, and the losses."""
    W, b, x, y = copies()
    back = call(train, W, b, x, y, *run, seeded(seed))
    new_W, new_b, losses = pair(back, "W, b and the losses", 3)
    new = parameters(arrays(new_W, W, "W"), arrays(new_b, b, "b"))
    return new, array(losses, (run.steps,), "the losses")


# limit of squared distance / its mean. A Gaussian vector exceeds this value with a probability of at most 3e-10
MOST = 40.0
FAR = (
    "every step subtracts eta times the direction from the weights and the biases of every layer; the draws are "
    "standard normal, and eta, sigma and K are the arguments"
)
ONCE = Run(1, 0.25, 0.8, 300)
TINY = Run(3, 1e-3, 0.8, 6)
LONG = Run(4, 0.5, 0.8, 50)


def goes(train, run, seeds, like=None):
    """The mean change over some runs is, in every layer, the mean change of right runs.

    ``like`` has fewer draws, which make the expectation of one step faster. The mean squared distance is proportional
    to 1 / K.
    """
    mean = expected(like or run)[0]
    start = parameters(*copies()[:2])
    every = [trains(train, run, seed)[0] for seed in seeds]
    for name, (right, square) in mean.items():
        moved, wanted = np.mean([new[name] for new in every], axis=0) - start[name], right - start[name]
        square = square * (like or run).K / run.K / len(seeds)
        times = moved @ wanted / (wanted @ wanted)
        far = ((moved - wanted) ** 2).sum() / square
        if far > MOST and abs(times - 1) > 0.2:
            raise mismatch(f"the change of {name} in {run}, divided by the expected change", times, "about 1", FAR)
        if far > MOST:
            what = f"the distance of {name} after {run} from its mean, divided by the standard deviation"
            raise mismatch(
                what, far**0.5, "about 1", "the noise is standard normal, new in every step, and multiplied by sigma"
            )


def spreads(train):
    """The variance over runs is the variance of K draws for each record and step.

    The ratio has about 90 degrees of freedom, so for right runs it is outside 0.3 to 2.5 with a probability below 1e-9.
    """
    mean = expected(TINY)[0]
    every = [trains(train, TINY, seed)[0] for seed in range(70, 82)]
    ratio = np.mean(
        [((new[name] - right) ** 2).sum() / square for new in every for name, (right, square) in mean.items()]
    )
    if not 0.3 < ratio < 2.5:
        what = f"the variance of the parameters over 12 runs of {TINY}, divided by the expected variance"
        raise mismatch(what, ratio, "about 1", "every record has its own K draws in every step")


def apart(train):
    """The noises of different layers are independent: with one record and K = 1, db[l] is parallel to the noise.

    We compare the squared cosines of the changes of b in pairs of layers. For independent noise, their mean over all
    runs exceeds 0.5 with a probability below 2e-9.
    """
    n, runs = 8, 12
    W, b, x, y, _ = net_case(103, m=1, sizes=(3, n, n, n))
    found = []
    for seed in range(90, 90 + runs):
        back = call(train, W, b, x, y, 1, 1.0, 3.0, 1, seeded(seed))
        new_W, new_b, losses = pair(back, "W, b and the losses", 3)
        arrays(new_W, W, "W")
        found.append([new - old for new, old in zip(arrays(new_b, b, "b")[1:], b[1:], strict=True)])
        first = np.array([mean_loss(W, b, x, y)])
        close(array(losses, (1,), "the losses of one step"), first, "the loss before one step with one record")
    for k, l in itertools.combinations(range(3), 2):
        norms = [(one[k] @ one[k]) * (one[l] @ one[l]) for one in found]
        square = np.mean([(one[k] @ one[l]) ** 2 / both if both else 0 for one, both in zip(found, norms, strict=True)])
        if square > 0.5:
            name = f"the squared cosine of the changes of b[{k + 1}] and b[{l + 1}] in a step with one record and K = 1"
            raise mismatch(name, square, f"about 1/{n}", "the noises of different layers are independent")


def train_learns(train):
    """The first loss is that of the given network, the last losses are much lower, and every layer changes rightly.

    The check compares the mean and the variance of the student's runs with those of correct runs. A right submission
    fails one of these comparisons with a probability of about 1e-8.
    """

    def check():
        rng = seeded(60)
        W, b, *_ = net_case(61, sizes=(2, 6, 2))
        x = rng.normal(size=(12, 2))
        y = np.eye(2)[(x[:, 0] > 0).astype(int)]
        steps = 40
        back = call(train, W, b, x, y, steps, 0.5, 0.5, 8, seeded(62))
        back = pair(back, "W, b and the losses", 3)
        new = arrays(back[0], W, "W"), arrays(back[1], b, "b")
        losses = array(back[2], (steps,), "the losses")
        first = np.array(mean_loss(W, b, x, y))
        close(losses[0], first, "the first loss", "store the loss before the step, without noise")
        after = mean_loss(*new, x, y)
        if after > 0.6 * losses[0]:
            name = f"the mean loss with the returned weights after {steps} steps"
            told = f"much less than the first loss {losses[0]:.4g}"
            raise mismatch(name, after, told, "a step subtracts eta times the direction")
        if not 0.5 * after < losses[-1] < 0.8 * losses[0]:
            told = f"about {after:.4g}, the loss with the returned weights"
            raise mismatch("the last of the losses", losses[-1], told, "store one loss before each step")
        apart(train)
        goes(train, ONCE, (63, 65, 66, 69), like=Run(1, ONCE.eta, ONCE.sigma, 60))
        spreads(train)
        goes(train, LONG, (67,))
        losses, right = trains(train, LONG, 68)[1], expected(LONG)[1]
        # the loss must be in the range of right losses, widened on both sides by the width of this range
        for t in range(LONG.steps):
            low, high = right[:, t].min(), right[:, t].max()
            if not 2 * low - high - 1e-4 <= losses[t] <= 2 * high - low + 1e-4:
                what, told = f"loss {t + 1} of {LONG}", f"{low:.4g} to {high:.4g}"
                raise mismatch(what, losses[t], told, "take the loss of the network before this step, without noise")

    fair(check, train, ulr=directions_at_once, **RIGHT)


# --- 4. privacy


def controller_value(controller):
    """The smallest variance of the summed estimates over all directions, from the whole matrix of two outputs."""
    for seed, m, d, K, C, sigma_0 in (
        (70, 8, 3, 1, 1.0, 1.0),
        (71, 8, 3, 9, 1.0, 1.0),
        (72, 8, 3, 4, 0.5, 1.0),
        (73, 8, 3, 5, 2.0, 4.0),
        (74, 8, 3, 3, 1e-5, 0.7),
        (75, 5, 1, 2, 1.0, 1.0),
        (76, 1, 1, 2, 1.0, 1.0),
    ):
        rng = seeded(seed)
        h, losses = rng.normal(size=(m, d)), 0.5 + 2 * rng.random(m)
        sigma = number(call(controller, h, losses, K, C, sigma_0), "sigma")
        if not sigma > 0:
            raise mismatch("sigma", sigma, "a positive number")
        jacobians = [np.kron(np.eye(2), row) for row in h]
        total = sum(t**2 * J.T @ J for t, J in zip(losses, jacobians, strict=True)) / (K * sigma**2)
        smallest, wanted = np.linalg.eigvalsh(total)[0], (sigma_0 * C) ** 2
        if abs(smallest / wanted - 1) > 1e-3:
            case = f"m = {m}, d = {d}, K = {K}, C = {C:g} and sigma_0 = {sigma_0:g}"
            name = f"the smallest variance of the summed estimates, {case}"
            raise mismatch(name, smallest, wanted, "compare each factor of Equation 8, and which factors are squared")


def enough_records_answer(enough_records):
    """The question whether 500 clipped estimates can have the promised variance."""
    answered(enough_records, "c", "how large can the trace of the covariance of one clipped estimate be?")


def right_printed(losses, xi, K, C, sigma_0):
    """A right version of `printed`, in loops over records."""
    norm, total = math.sqrt(math.fsum(t * t for t in losses)), np.zeros(len(xi))
    for t, draws in zip(losses, np.transpose(xi), strict=True):
        total += np.clip(sigma_0 * C * t * draws / norm, -C, C)
    return total


def printed_values(printed):
    """Sums over records; some estimates are clipped and some are not. One case has one run, and one has one record."""

    def check():
        rng = seeded(80)
        some, xi = 0.2 + 3 * rng.random(6), rng.normal(size=(5, 6))
        # all these estimates are clipped
        far = 4 * np.array([[-1.0, -2, -1, -3, -2, -1], [1, 2, 1, 3, 2, 1], [1, -1, 2, -2, 1, -1]])
        for losses, draws, K, C in (
            (some, xi, 1, 1.0),
            (some, xi, 9, 0.5),
            (some, far, 4, 0.7),
            (1e-5 * some, xi, 4, 2.0),
            (some, xi[:1], 4, 1.0),  # one run
            (some[:1], xi[:, :1], 4, 1.0),  # one record
        ):
            got = array(call(printed, losses, draws, K, C, 1.2), draws.shape[:1], "the released sums")
            hint = "use one sigma from all losses of the batch, clip each record's estimate to [-C, C], and then sum"
            close(got, right_printed(losses, draws, K, C, 1.2), "the released sum", hint)

    fair(check, printed, controller=right_controller)


def guess_made(guess):
    """Check the guess: two numbers between 0 and 1."""
    guessed(guess, "the probability without the outlier", "the probability with the outlier", most=1.0)


def outlier_answer(outlier):
    """The reason why the noise of the other records does not hide the outlier."""
    answered(outlier, "b", "compute sigma with and without the outlier: how large are the other estimates?")


# --- 5. the repair


def released(sound, g, xi, C, sigma_0):
    """The release of a student's rule."""
    found = call(sound, g, xi, C, sigma_0)
    if isinstance(found, np.ndarray) and found.shape == np.shape(g) != np.shape(xi):
        raise mismatch("the shape of the released sum", found.shape, np.shape(xi), "sum over the records")
    return array(found, xi.shape, "the released sum")


def clips(sound, without=False):
    """Check estimates with small, large and zero norms. ``without`` subtracts the release of an empty batch."""
    g = np.array(
        [[0.3, 0.1, 0.2], [4.0, -2.0, 1.0], [0.0, 0.0, 0.0], [0.0, 0.69, 0.0], [0.6, 0.6, -0.6], [0.0, 0.0, 9.0]]
    )
    for C in (0.7, 2.0, 1e-5):
        want = np.zeros(3)
        for row in g:
            norm = math.hypot(*row)
            want += [t * C / norm if norm > C else t for t in row]
        got = released(sound, g, np.zeros(3), C, 3.0)
        if without:
            got = got - released(sound, np.zeros((0, 3)), np.zeros(3), C, 3.0)
        hint = "scale only the estimates with norms above C, each to the norm C"
        close(got, want, f"the sum without noise for C = {C:g}", hint)
        if not without:
            one = released(sound, g[1:2], np.zeros(3), C, 3.0)
            close(one, g[1] * C / math.hypot(*g[1]), f"the sum of one record without noise for C = {C:g}", hint)


def sound_clip(sound):
    """The sum for xi = 0. If the noise does not depend on xi, the check subtracts it."""
    unless_lost(lambda: clips(sound), lambda: clips(sound, without=True), lambda: noise_of(sound, 6, 0))


def noise_of(sound, *records, anyhow=False, size_of_estimates=1.0):
    """The noise that xi adds, for these numbers of records; with ``anyhow`` also if there is a row for each record."""
    rng = seeded(90)
    for m in records:
        g, xi = size_of_estimates * rng.normal(size=(m, 4)), rng.normal(size=4)
        noisy, quiet = (
            numbers(call(sound, g, draws, 0.5, 3.0), "the released sum").reshape(-1, 4)
            if anyhow
            else released(sound, g, draws, 0.5, 3.0)[None]
            for draws in (xi, np.zeros(4))
        )
        hint = "add noise of standard deviation sigma_0 C once, after the clip"
        for row in noisy - quiet:
            case = f"{m} records" + " whose estimates are all 0" * (m > 0 and size_of_estimates == 0)
            close(row, 1.5 * xi, f"the noise on the sum of {case}", hint)


def sound_noise(sound):
    """The noise for some records, for an empty batch, and for estimates of 0.

    If the sum is wrong, there are as many records as entries.
    """

    def strict():
        noise_of(sound, 6, 0)
        noise_of(sound, 6, size_of_estimates=0.01)  # no estimate is clipped, and the noise is the same
        noise_of(sound, 6, 1, size_of_estimates=0.0)

    def lenient():
        for size_of_estimates in (1.0, 0.01):
            noise_of(sound, 4, anyhow=True, size_of_estimates=size_of_estimates)
        at_zero = call(sound, np.zeros((4, 4)), np.zeros(4), 0.5, 3.0)
        if passes(numbers, at_zero, "the sum"):  # a wrong clip can divide by 0
            noise_of(sound, 4, anyhow=True, size_of_estimates=0.0)

    unless_lost(strict, lenient, lambda: clips(sound))
