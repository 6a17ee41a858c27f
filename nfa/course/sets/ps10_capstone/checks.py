"""The checks of problem set 10, one for each graded cell.

Their oracles are loops over records, differences, the exact laws of counts and of noise, and nfa's accountants. A check
with random values refuses a right function with probability below 1e-6.
"""

import copy
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

import nfa.data
from nfa.audit.bounds import epsilon_lower_bound
from nfa.course import checking, small_nets
from nfa.course.checking import (
    NOTHING,
    RTOL,
    answered,
    array,
    arrays,
    call,
    close,
    derivatives,
    entries,
    fair,
    guessed,
    misfit,
    mismatch,
    number,
    numbers,
    pair,
    passes,
    seeded,
    size,
    unless_lost,
    worded,
)
from nfa.mechanism import Mechanism
from nfa.privacy.accountant import epsilon
from nfa.privacy.gaussians import epsilon_gaussian

TAIL = 1e-8  # probability that a statistic of a right function exceeds its limit; a check has at most 30 statistics
DEVIATIONS = 6.0  # limit in standard deviations; a Gaussian statistic exceeds it with probability 2e-9
TRAINING = 4  # a whole training may take this many times SECONDS
BAR = 0.70  # required accuracy at epsilon 3

# --- right versions of earlier exercises, in array operations


def right_signals(W, b, B, x, y):
    """A right version of `signals`: dz and h of DFA."""
    h = [np.asarray(x, dtype=float)]
    for w, v in zip(W[1:], b[1:], strict=True):
        top = h[-1] @ np.transpose(w) + v
        h.append(np.tanh(top))
    powers = np.exp(top - top.max(axis=1, keepdims=True))
    h[-1] = powers / powers.sum(axis=1, keepdims=True)
    e = h[-1] - y
    return [None, *((e @ np.transpose(m)) * (1 - a * a) for m, a in zip(B[1:-1], h[1:-1], strict=True)), e], h


def right_sum(dz, h, C):
    """A right version of `clipped_sum`."""
    layers = [(np.asarray(d, dtype=float), np.asarray(a, dtype=float)) for d, a in zip(dz[1:], h, strict=False)]
    norm2: Any = sum(np.einsum("ki,ki->k", d, d) * (np.einsum("ki,ki->k", a, a) + 1) for d, a in layers)
    weight = np.minimum(1.0, C / np.sqrt(np.maximum(norm2, 1e-300)))
    return [None, *((weight * d.T) @ a for d, a in layers)], [None, *(weight @ d for d, _ in layers)]


def right_draw(n, q, rng):
    """A right version of `draw`."""
    return rng.uniform(size=n) < q


def right_step(dz, h, C, m, z, rng):
    """A right version of `private_step`."""
    return tuple(
        [None, *((a + z * C * rng.standard_normal(a.shape)) / m for a in one[1:])] for one in right_sum(dz, h, C)
    )


def right_noise(target, q, steps, delta):
    """A noise multiplier, by halving; at most 8 % too large, because little time is left after an endless loop."""
    low, high = math.log(0.5), math.log(50.0)
    for _ in range(6):
        middle = (low + high) / 2
        low, high = (low, middle) if proved(math.exp(middle), q, steps, delta) <= target else (middle, high)
    return math.exp(high)


def right_train(W, b, B, x, y, q, steps, eta, C, m, z, rng):
    """A right version of `train`."""
    W, b = [None, *(np.array(w) for w in W[1:])], [None, *(np.array(v) for v in b[1:])]
    for _ in range(steps):
        drawn = right_draw(len(x), q, rng)
        for mine, change in zip(
            (W, b), right_step(*right_signals(W, b, B, x[drawn], y[drawn]), C, m, z, rng), strict=True
        ):
            for a, d in zip(mine[1:], change[1:], strict=True):
                a -= eta * d
    return W, b


RIGHT: dict[str, Callable] = {
    "signals": right_signals,
    "clipped_sum": right_sum,
    "draw": right_draw,
    "private_step": right_step,
    "noise_for": right_noise,
    "train": right_train,
}


def proved(z, q, steps, delta, accountant=None):
    """The epsilon that nfa proves: by Renyi divergences at whole orders, or with the accountant "pld"."""
    step = Mechanism(
        law="gaussian",
        sensitivity=1.0,
        adjacency="add-remove",
        noise_std=float(z),
        sampling="poisson",
        sampling_rate=float(q),
    )
    how: Any = {"accountant": accountant} if accountant else {"orders": np.arange(2, 65), "conversion": "canonne2020"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the accountant warns that orders below 2 could prove a smaller epsilon
        return epsilon([(step, int(steps))], delta=delta, **how).epsilon


def net(seed, sizes):
    """Random W, b and B, with entries of a size at which tanh is neither linear nor flat."""
    rng = seeded(seed)
    L = len(sizes) - 1
    W = [None] + [rng.normal(size=(sizes[l], sizes[l - 1])) / 2 for l in range(1, L + 1)]
    b = [None] + [rng.normal(size=sizes[l]) / 2 for l in range(1, L + 1)]
    return W, b, [None] + [rng.normal(size=(sizes[l], sizes[L])) for l in range(1, L)] + [None]


def records(seed, k, sizes):
    """k records with labels."""
    rng = seeded(seed)
    return rng.normal(size=(k, sizes[0])), np.eye(sizes[-1])[rng.integers(sizes[-1], size=k)]


def flat(both):
    """All entries of the lists dW and db as one vector."""
    return np.concatenate([np.ravel(a) for one in both for a in one[1:]])


def shaped(value, dz, h):
    """dW and db of a student, as one vector, in the right shapes."""
    dW, db = pair(value, "dW and db")
    like = [None, *(np.empty((d.shape[1], a.shape[1])) for d, a in zip(dz[1:], h, strict=False))]
    return flat((arrays(dW, like, "dW"), arrays(db, [None, *(np.empty(d.shape[1]) for d in dz[1:])], "db")))


# --- 1. a rule


def guess_made(guess):
    """Check the guess: three numbers between 0 and 1."""
    guessed(guess, "the accuracy at epsilon 1", "the accuracy at epsilon 3", "the accuracy at epsilon 8", most=1.0)


DESCRIBED = {"dp-sgd": "lee2020:dp-bp", "dp-dfa": "ours:joint-clip"}


def claim_right(claim):
    """The rule, its statement, and a sensitivity that a record of large norm attains."""
    for C, m in ((0.5, 20.0), (3.0, 8.0), (1e-6, 1e-6)):
        rule, statement, moved = pair(call(claim, C, m), "rule, statement and sensitivity", 3)
        if rule not in DESCRIBED:
            raise mismatch("the rule", rule, "'dp-sgd' or 'dp-dfa'")
        if statement != DESCRIBED[rule]:
            raise mismatch(
                f"the statement for {rule}", statement, "another id", "which direction is clipped in this statement?"
            )
        far = flat(right_sum([None, np.array([[1e3]])], [np.array([[2.0]])], C)) / m
        close(number(moved, "the sensitivity"), np.linalg.norm(far), f"the sensitivity with C = {C:g} and m = {m:g}")


def signals_by_differences(W, b, B, x, y, back):
    """dz and h, one record at a time. dz[l] is the derivative by z[l] of the loss, or of <h[l], B[l] e>."""
    z, h = small_nets.passed(W, b, x)
    L = len(W) - 1
    dz = [None, *(np.zeros((len(x), len(v))) for v in b[1:])]
    if not len(x):
        return dz, [np.asarray(x), *dz[1:]]  # no rows

    def loss(at, l, i):
        for k in range(l + 1, L + 1):
            at = W[k] @ np.tanh(at) + b[k]
        return math.log(math.fsum(math.exp(t) for t in at)) - float(at @ y[i])

    for i in range(len(x)):
        for l in range(1, L + 1):
            if l == L or back:
                dz[l][i] = derivatives(lambda at, l=l, i=i: loss(at, l, i), z[l][i])
            else:
                fed = B[l] @ derivatives(lambda at, i=i: loss(at, L, i), z[L][i])
                dz[l][i] = derivatives(lambda at, fed=fed: float(np.tanh(at) @ fed), z[l][i])
    return dz, h


def signals_values(signals):
    """dz and h of one of the two rules, with the same rule in all layers, also for one record and an empty batch."""
    for seed, k, sizes in (
        (10, size(4), [3, 4, 5, 3]),
        (11, size(4), [2, 3, 4, 3, 2]),
        (12, 1, [3, 4, 5, 3]),
        (13, 0, [3, 4, 3]),
    ):
        W, b, B = net(seed, sizes)
        x, y = records(seed + 10, k, sizes)
        dz, h = pair(call(signals, W, b, B, x, y), "dz and h")
        wanted = [signals_by_differences(W, b, B, x, y, back) for back in (True, False)]
        dz, h = arrays(dz, wanted[0][0], "dz"), arrays(h, wanted[0][1], "h", first=0)
        for l in range(len(W)):
            close(h[l], wanted[0][1][l], f"h[{l}] of {k or 'no'} records")
        close(dz[-1], wanted[0][0][-1], f"dz[{len(W) - 1}]", "the top layer takes e = y_hat - y")
        if any(all(passes(close, dz[l], one[l], "") for l in range(1, len(W))) for one, _ in wanted):
            continue
        for l in range(len(W) - 2, 0, -1):
            close(dz[l], wanted[1][0][l], f"dz[{l}], compared with DFA", "your dz fits neither DFA nor backpropagation")


# --- 2. one private step


def case(seed, k=6, sizes=(4, 5, 3), scale=1.0):
    """dz and h of no particular network, with norms that differ from record to record."""
    rng = seeded(seed)
    far = scale * np.geomspace(0.2, 5.0, max(k, 1))[rng.permutation(max(k, 1))[:k], None]
    return [None] + [far * rng.normal(size=(k, n)) for n in sizes[1:]], [rng.normal(size=(k, n)) for n in sizes]


def sum_by_loops(dz, h, C):
    """Each record's direction written out, clipped and added."""
    total = 0.0
    for i in range(len(dz[1])):
        below = [np.outer(d[i], a[i]).ravel() for d, a in zip(dz[1:], h, strict=False)]
        whole = np.concatenate([*below, *(d[i] for d in dz[1:])])
        norm = math.hypot(*whole)
        total = total + (whole * (C / norm) if norm > C else whole)
    return total


def sum_values(clipped_sum):
    """Some, all or no records are clipped. Some batches have no record, a record of zeros, or small values."""
    for seed, k, C, scale in (
        (20, 6, 4.0, 1.0),
        (21, 5, 0.1, 1.0),
        (22, 4, 1e4, 1.0),
        (23, 6, 4e-7, 1e-7),
        (24, 0, 1.0, 1.0),
    ):
        dz, h = case(seed, k, scale=scale)
        dz = [a if a is None else np.concatenate([a, 0 * a[:1]]) for a in dz]  # a record of zeros
        h = [np.concatenate([a, a[:1]]) for a in h]
        got = shaped(call(clipped_sum, dz, h, C), dz, h)
        want = sum_by_loops(dz, h, C) if len(dz[1]) else np.zeros(got.shape)
        hint = "clip each record's whole direction, weights and biases of all layers as one vector"
        close(got, want, f"dW and db of {len(dz[1]) or 'no'} records with C = {C:g}, all entries", hint)


def batches_of(draw, n, q, calls, rng):
    """Several batches (calls, n) of a student's function, as 0 and 1."""
    rows = []
    for _ in range(calls):
        value = call(draw, n, q, rng, copies=False)
        if np.shape(value) != (n,):
            shape = misfit("the batch", value, f"an array of shape ({n},)") if value is NOTHING else None
            raise shape or mismatch(
                "the shape of the batch", np.shape(value), f"({n},)", "one truth value for each record"
            )
        row = array(value, (n,), "the batch")
        if not np.isin(row, (0, 1)).all():
            raise mismatch("an entry of the batch", row[~np.isin(row, (0, 1))][0], "True or False")
        rows.append(row)
    return np.array(rows)


def draw_law(draw):
    """The sizes of the batches, their variance, the counts of each record, and the counts of pairs.

    For q = 1 every record is in every batch, so no right function fails. For a small n q, most batches are empty. A
    batch size with a Poisson law has a variance of about n q in place of n q (1 - q), which q = 0.8 shows. A right
    function fails one of the counts with a probability below 2e-8, and one of the variances with a probability below
    2e-9. It fails any part of this check with a probability below 3e-7.
    """
    for seed, n, calls in ((33, 1, 10), (34, 2, 40), (35, size(40), 10)):
        sizes = batches_of(draw, n, 1.0, calls, seeded(seed)).sum(axis=1)
        if sizes.min() < n:
            name = f"the smallest of {calls} batches of {n} record{'s' * (n > 1)} with q = 1"
            raise mismatch(name, sizes.min(), n, "every record is in the batch with probability q")
    for seed, n, q, calls in ((36, 1, 0.2, 150), (37, size(3), 0.1, 200)):
        found = batches_of(draw, n, q, calls, seeded(seed))
        what = f"{calls} batches of {n} record{'s' * (n > 1)} with q = {q:g}"
        empty = (found.sum(axis=1) == 0).sum()
        counted(empty, calls, (1 - q) ** n, f"the empty batches among {what}", "an empty batch stays empty")
        counted(found.sum(), found.size, q, f"the records in {what}")
    for seed, n, q, calls in ((30, size(150), 0.3, 80), (31, size(90), 0.06, 120), (32, size(60), 0.8, 80)):
        found = batches_of(draw, n, q, calls, seeded(seed))
        counted(found.sum(), found.size, q, f"the records in {calls} batches of {n} records with q = {q:g}")
        sums = found.sum(axis=1)
        spread(
            "the variance of the sizes of the batches",
            sums,
            n * q,
            n * q * (1 - q),
            "is each record drawn independently of the others?",
        )
        each = found.sum(axis=0)
        hint = "is every batch a new draw, with the same q for every record?"
        spread("the variance of the counts of the records", each, calls * q, calls * q * (1 - q), hint)
        both = (found[:, 1:] * found[:, :-1]).sum(), (found[1:] * found[:-1]).sum()
        kinds = "of neighbouring records in a batch", "of one record in consecutive batches"
        for hits, of, what in zip(both, (calls * (n - 1), (calls - 1) * n), kinds, strict=True):
            # pairs that overlap depend on each other, which widens the variance to at most q^2 (1 + 2 q)
            if abs(hits - of * q * q) > DEVIATIONS * math.sqrt(of * q * q * (1 + 2 * q)) + DEVIATIONS:
                raise mismatch(f"the number of pairs {what}", hits, f"about {of * q * q:.0f}", hint)


def counted(hits, trials, q, what, hint=""):
    """Check that a binomial count is between two quantiles."""
    low, high = (float(stats.binom.ppf(tail, trials, q)) for tail in (TAIL, 1 - TAIL))
    if not low <= hits <= high:
        raise mismatch(what, float(hits), f"between {low:.0f} and {high:.0f}", hint)


def spread(what, values, mean, variance, hint):
    """A sum of squares between the quantiles of the chi-squared law, widened for a law that is only nearly Gaussian."""
    share = float(((np.asarray(values) - mean) ** 2).mean() / variance)
    low, high = (float(stats.chi2.ppf(tail, len(values))) / len(values) for tail in (TAIL, 1 - TAIL))
    if not 0.8 * low <= share <= 1.3 * high:
        raise mismatch(
            f"{what}, divided by the right variance", share, f"between {0.8 * low:.2f} and {1.3 * high:.2f}", hint
        )


def step_signal(private_step):
    """With z = 0, the sum divided by m. If there is noise with z = 0, the mean of several steps is compared."""

    def check(times=1):
        for seed, k, C, m in ((40, 6, 4.0, 9.0), (41, 5, 0.3, 2.0), (42, 6, 4.0, 1e-7), (43, 0, 1.0, 3.0)):
            dz, h = case(seed, k)
            rng = seeded(44)
            every = [shaped(call(private_step, dz, h, C, m, 0.0, rng, copies=False), dz, h) for _ in range(times)]
            want = sum_by_loops(dz, h, C) / m if k else np.zeros(every[0].shape)
            got = np.mean(every, axis=0)
            if (np.abs(got - want) <= DEVIATIONS * np.std(every, axis=0) / math.sqrt(times)).all():
                continue
            close(got, want, f"the step with z = 0, {k or 'no'} records and m = {m:g}", "divide the sum by m")

    fair(lambda: unless_lost(check, lambda: check(200), lambda: step_noise(private_step)), private_step, **RIGHT)


WIDE = (30, 20, 8)  # sizes with enough coordinates for statistics


def step_noise(private_step):
    """The noise is Gaussian and independent. Its std is z times the largest change of the step by one record."""

    def check():
        for seed, k, C, m, z in ((50, 0, 0.5, 7.0, 1.3), (51, 5, 2.0, 30.0, 0.6)):
            dz, h = case(seed, k, WIDE)
            rng = seeded(seed + 2)
            many = max(k, 1)  # so that a wrong divisor loses only the point of step_signal
            long, below = (
                [a if a is None else a.repeat(many, axis=0) for a in one] for one in case(seed, 1, WIDE, 1e3)
            )
            moved = float(np.linalg.norm(free(call(private_step, long, below, C, m, 0.0, rng, copies=False)))) / many
            moved = moved or C / m  # if no record moves the step, which loses the point of step_signal
            quiet = free(call(private_step, dz, h, C, m, 0.0, rng, copies=False))
            noise = [free(call(private_step, dz, h, C, m, z, rng, copies=False)) - quiet for _ in range(4)]
            judged_noise(
                noise, z * moved, f"the noise of a step with {k or 'no'} records, C = {C:g}, m = {m:g}, z = {z:g}"
            )

    fair(check, private_step, **RIGHT)


def free(value):
    """All entries of dW and db in any shape. Wrong shapes lose the point of another cell."""
    dW, db = pair(value, "dW and db")
    return np.concatenate([numbers(a, "an entry of dW or db") for one in (dW, db) for a in list(one)[1:]])


def judged_noise(noise, std, what):
    """Several vectors of noise: their standard deviation, law and independence."""
    every = np.concatenate(noise)
    share = float((every**2).mean()) / std**2
    low, high = (float(stats.chi2.ppf(tail, every.size)) / every.size for tail in (TAIL, 1 - TAIL))
    if not low <= share <= high:
        hint = "it is z times the distance by which one record moves the step; draw the noise once"
        name = f"the standard deviation of {what}, divided by the right value"
        raise mismatch(name, math.sqrt(share), "about 1", hint)
    if stats.kstest(every / std, "norm").pvalue < TAIL:
        raise mismatch(f"the law of {what}", "another law", "a Gaussian law, independent in all coordinates")
    for one in noise:  # among 800 independent values, the mean number of pairs that are so close is below 1
        equal = int((np.diff(np.sort(np.abs(one))) < 1e-6 * std).sum())
        if equal > 8:
            raise mismatch(f"the pairs of equal values in {what}", equal, "none", "draw new noise for every coordinate")
    n = len(noise[0])
    for one, other, which in (
        (noise[0], noise[1], "two steps"),
        (noise[1], noise[3], "two steps"),
        (every[: n // 2], every[n // 2 : 2 * (n // 2)], "two halves of the coordinates"),
        (every[1:], every[:-1], "coordinates next to each other"),
    ):
        related = float(one @ other) / math.sqrt(float((one @ one) * (other @ other)))
        if abs(related) > DEVIATIONS / math.sqrt(len(one)):
            raise mismatch(f"the correlation of {which} in {what}", related, "about 0", "draw new noise")


# --- 3. the noise for a target


def noise_values(noise_for):
    """The noise is enough by one of nfa's accountants, and not much more than the first accountant needs."""
    for target, q, steps, delta in (
        (3.0, 0.05, 100, 1e-5),
        (8.0, 0.03, 20, 1e-5),
        (1.0, 0.02, 60, 1e-6),
        (6.0, 0.3, 9, 1e-4),
        (2.0, 0.2, 30, 1e-5),
    ):
        z = number(call(noise_for, target, q, steps, delta), "z")
        what = f"for epsilon {target:g} with q = {q:g}, {steps} steps and delta = {delta:g}"
        if not 0.1 < z < 1e4:
            raise mismatch(f"z {what}", z, "a number between 0.5 and 50")
        spent = proved(z, q, steps, delta)
        if spent > target and (spent > 1.5 * target or proved(z, q, steps, delta, "pld") > target):
            raise mismatch(f"the epsilon of your z {what}", spent, f"at most {target:g}", "the run needs more noise")
        if proved(z / 1.2, q, steps, delta) <= target:
            raise mismatch(f"z {what}", z, "a smaller z", "a z that is 17 % smaller is enough")


# --- 4. train


def train_steps(train):
    """q = 1 and z = 0: the weights by loops over records, with either rule."""

    def check():
        sizes, steps, eta, C, m = [3, 4, 3], 3, 0.7, 1.5, 4.0
        W, b, B = net(60, sizes)
        x, y = records(61, size(5), sizes)
        value = call(train, W, b, B, x, y, 1.0, steps, eta, C, m, 0.0, seeded(62))
        new_W, new_b = pair(value, "W and b")
        got = flat((arrays(new_W, W, "W"), arrays(new_b, b, "b")))
        ends = []
        for back in (True, False):
            now = flat((W, b))
            for _ in range(steps):
                dz, h = signals_by_differences(*unflat(now, W, b), B, x, y, back)
                now = now - eta * sum_by_loops(dz, h, C) / m
            ends.append(now)
        if not any(passes(close, got, one, "") for one in ends):
            close(
                got,
                ends[1],
                f"W and b after {steps} steps, compared with DFA",
                "each step subtracts eta times dW and db",
            )

    fair(check, train, **RIGHT)


def unflat(vector, W, b):
    """The lists W and b from one vector of all their entries."""
    found, at = ([None], [None]), 0
    for mine, like in zip(found, (W, b), strict=True):
        for a in like[1:]:
            mine.append(vector[at : at + a.size].reshape(a.shape))
            at += a.size
    return found


def train_fresh(train):
    """The noise, and the number of batches that each record was in. Each record changes its own column of W[1]."""

    def run(given, steps, q, z, rng, C=1.0, eta=1e-6):
        """The change of all weights, divided by eta, and the change of W[1]. The direction stays nearly the same."""
        W, b, B, x, y = given
        new_W, new_b = pair(call(train, W, b, B, x, y, q, steps, eta, C, 1.0, z, rng, copies=False), "W and b")
        ends = flat((arrays(new_W, W, "W"), arrays(new_b, b, "b")))
        return (ends - flat((W, b))) / eta, new_W[1] - W[1]

    def moves(runs, steps, q, rng):
        """For each run and record, the norm of the change of W[1] from this record."""
        n = size(30)
        W, b, B = net(70, [n, 3, 2])
        W[1] *= 0.0  # so that float32 holds its small changes
        given = (W, b, B, np.eye(n), records(71, n, [1, 2])[1])
        return np.array([np.linalg.norm(run(given, steps, q, 0.0, rng)[1], axis=0) for _ in range(runs)])

    def batches():
        steps, q, rng = 12, 0.3, seeded(72)
        whole = moves(1, 1, 1.0, rng)
        if not whole.min() > 0:
            raise mismatch(
                "the change of the weights by a step with q = 1, for one of the records", 0, "a positive number"
            )
        found = moves(16, steps, q, rng) / whole
        if np.abs(found - found.round()).max() > 0.1:
            raise mismatch("the number of batches that had a certain record", found.max(), "a whole number")
        found = found.round()
        counted(found.sum(), steps * found.size, q, f"the records in all batches of {16 * steps} steps")
        variance = steps * q * (1 - q)
        hint = "draw a batch in every step, each record with probability q"
        spread("the variance of the number of batches with a record", found.ravel(), steps * q, variance, hint)
        n = found.shape[1]
        spread("the variance of the records in a run", found.sum(axis=1), n * steps * q, n * variance, hint)

    def some_batches():
        rng = seeded(73)
        one, several = (float((moves(16, steps, 0.3, rng) > 0).mean()) for steps in (1, 12))
        if not 0.05 < one < 0.5:
            raise mismatch("the share of the records in one batch, for q = 0.3", f"{one:.2f}", "about 0.3")
        if not several > 1.5 * one:
            name = "the share of the records that are in at least one of 12 batches"
            raise mismatch(name, f"{several:.2f}", f"more than 1.5 times the share in one batch, {one:.2f}")

    def lenient_batches():
        """If train_steps has failed: the spread of the counts at the rate that was found, if there are counts."""
        steps, rng = 12, seeded(77)
        whole = moves(40, 1, 1.0, rng).max(axis=0)
        found = moves(16, steps, 0.3, rng) / np.where(whole > 0, whole, np.nan)
        if not np.abs(found - found.round()).max() < 0.1:
            return some_batches()
        rate = float(found.mean()) / steps
        if not 0 < rate < 1:
            raise mismatch("the share of the records in a batch", rate, "more than 0 and less than 1")
        spread(
            "the variance of the number of batches with a record",
            found.ravel(),
            steps * rate,
            steps * rate * (1 - rate),
            "",
        )

    def noise(lost=False):
        """If train_steps has failed: in a network of one layer, W[1] alone, compared with the student's own change."""
        sizes, z = [WIDE[0], WIDE[1]] if lost else list(WIDE), 1e3
        given = (*net(74, sizes), *records(75, 2, sizes))
        rng = seeded(76)

        def moves_by(steps):
            both = [run(given, steps, 0.5, z, rng, 1e-2, 1e-2) for _ in range(4)]
            return [one.ravel() if lost else whole for whole, one in both]

        alone = (*given[:3], *(a[:1] for a in given[3:]))
        whole, _ = run(alone, 1, 1.0, 0.0, rng, 1e-2, 1e-2)
        if lost:  # several runs, because the batches can be wrong, too
            moved = max(np.linalg.norm(run(alone, 1, 1.0, 0.0, rng, 1e-2, 1e-2)[1]) for _ in range(40))
            right = right_sum(*right_signals(*alone), 1e-2)
            std = z * float(moved / np.linalg.norm(right[0][1])) * float(np.linalg.norm(flat(right)))
        else:
            std = z * float(np.linalg.norm(whole))
        judged_noise(moves_by(1), std + 1e-300, "the noise of one step")
        judged_noise(moves_by(9), 3 * std + 1e-300, "the noise of nine steps together")

    def check():
        batches()
        noise()

    def lenient():
        lenient_batches()
        noise(lost=True)

    fair(lambda: unless_lost(check, lenient, lambda: train_steps(train)), train, **RIGHT)


class Longer:
    """Gives a whole training more seconds than other calls."""

    def __enter__(self):
        checking.SECONDS *= TRAINING

    def __exit__(self, *_):
        checking.SECONDS /= TRAINING


def smaller(images):
    """The images in the same form as in the notebook."""
    means = images.reshape(len(images), 14, 2, 14, 2).mean(axis=(2, 4)).reshape(len(images), 196)
    return 2 * (means / 255 - 0.3)


def model_accuracy(private_model):
    """The accuracy on the test images at epsilon 3, for one seed."""
    images = nfa.data.load("fashion-mnist-small")
    x, y = smaller(images.x_train), np.eye(10)[images.y_train]
    seed = int(seeded(80).integers(1000))

    def check():
        with Longer():
            W, b = pair(call(private_model, x, y, 6000, 3.0, 1e-5, seed), "W and b")
        try:
            share = float(np.mean(outputs(W, b).argmax(axis=1) == images.y_test))
        except (TypeError, ValueError, IndexError, AttributeError):
            raise misfit(
                "the network that private_model returns", W, "lists W and b as the notebook has them"
            ) from None
        if not share >= BAR:
            hint = "try another learning rate, more steps, or another C"
            raise mismatch("the accuracy on the test images at epsilon 3", share, f"at least {BAR:g}", hint)

    def outputs(W, b):
        h = smaller(images.x_test)
        for l in range(1, len(W)):
            h = h @ np.transpose(np.asarray(W[l], dtype=float)) + np.asarray(b[l], dtype=float)
            h = np.tanh(h) if l < len(W) - 1 else h
        return h

    fair(check, private_model, **RIGHT)


NAMES = ("W", "b", "B", "x", "y", "q", "steps", "eta", "C", "m", "z", "rng")


def handed(private_model, x, y, N, target, delta, seed):
    """The arguments that the student's private_model passes to train, by name."""
    seen = []

    def train(*args, **kwargs):
        seen.append(dict(zip(NAMES, args, strict=False)) | kwargs)
        return seen[-1].get("W"), seen[-1].get("b")

    scope = private_model.__globals__
    before = scope.get("train")
    scope.update({"train": train})
    try:
        pair(call(private_model, x, y, N, target, delta, seed), "W and b")
    finally:
        scope.update({"train": before})
    if len(seen) != 1:
        raise mismatch("the number of calls of train in private_model", len(seen), 1)
    if lacks := [name for name in NAMES if name not in seen[0]]:
        raise mismatch(f"the argument {lacks[0]} of train", "none", "one")
    return seen[0]


def joined(layers):
    """All entries of the arrays of a list as one vector. A network without a hidden layer has no array B."""
    every = [np.ravel(np.asarray(a, dtype=float)) for a in (() if layers is None else layers) if a is not None]
    return np.concatenate([np.empty(0), *every])


def repeated(given):
    """How many values of the network at the start occur in the stream of the generator that train gets.

    The function ``network`` divides the values of W[l] by the square root of the number of columns. Each of the n
    values of the network equals one of n values of another stream up to 1e-12 with a probability of at most 1e-12 n. So
    a right network of 30,000 values has one such value with a probability of about 1e-3, and three of them with a
    probability below 1e-9.
    """
    scaled = [w if w is None else np.asarray(w) * math.sqrt(math.prod(np.shape(w)[-1:])) for w in given["W"]]
    mine = np.concatenate([joined(scaled), joined(given["B"])])
    mine = mine[mine != 0]
    drawn = np.sort(copy.deepcopy(given["rng"]).normal(size=mine.size + 1))
    at = np.clip(np.searchsorted(drawn, mine), 1, drawn.size - 1)
    return int((np.minimum(np.abs(drawn[at] - mine), np.abs(drawn[at - 1] - mine)) < 5e-13).sum())


def model_private(private_model):
    """The epsilon of the settings that train gets. Neighbours get equal settings, and seeds give different values.

    The stream of the noise must not repeat the values of the network, which are published.
    """
    if not hasattr(private_model, "__globals__"):
        raise misfit("private_model", private_model, "a function")

    def check():
        sizes = [196, 10]
        x, y = records(81, size(301), sizes)
        seed = int(seeded(82).integers(1000))
        for N, target, delta in ((300, 3.0, 1e-5), (500, 0.7, 1e-4), (400, 2.0, 1e-8)):
            one, other = (handed(private_model, x[:k], y[:k], N, target, delta, seed) for k in (len(x), len(x) - 1))
            for name in ("q", "steps", "eta", "C", "m", "z"):
                a, c = (number(given[name], name) for given in (one, other))
                if not a > 0 and name != "eta":
                    raise mismatch(f"the {name} that train gets", a, "a positive number")
                if abs(a - c) > 1e-9 * abs(a):
                    hint = "the number of records is private: use N"
                    raise mismatch(f"the {name} with one more record", a, f"{c:.17g} as without this record", hint)
            for name in ("W", "b", "B"):
                both = [joined(given[name]) for given in (one, other)]
                if both[0].shape != both[1].shape or not np.array_equal(*both):
                    raise mismatch(f"the {name} at the start, with one more record", "other values", "the same values")
            for name, want in (("x", x), ("y", y)):
                if np.shape(one[name]) != want.shape or not np.allclose(one[name], want, rtol=1e-6):  # also in float32
                    raise mismatch(f"the {name} that train gets", "other values", "the values that private_model got")
            q, steps, m, z = (float(one[name]) for name in ("q", "steps", "m", "z"))
            if not q <= 1 or steps != int(steps):
                raise mismatch(
                    "q and the number of steps", f"{q:g} and {steps:g}", "q at most 1, and a whole number of steps"
                )
            if not 0.5 * q * N <= m <= 2 * q * N:
                raise mismatch(
                    "the m that train gets", m, f"about q N = {q * N:g}", "m is the expected size of a batch"
                )
            spent = proved(z, q, steps, delta)
            if spent > target and (spent > 1.5 * target or proved(z, q, steps, delta, "pld") > target):
                raise mismatch("the epsilon of q, steps and z", spent, f"at most {target:g}")
        again = handed(private_model, x, y, N, target, delta, seed + 1)
        for given in (one, other, again):
            if not hasattr(given["rng"], "random"):
                raise misfit("the rng that train gets", given["rng"], "a numpy.random.Generator")
        if (equal := repeated(one)) >= 3:
            hint = "these values are published: give the generator of the noise another seed than network has"
            name = "the values of the network at the start that the generator of the noise draws again"
            raise mismatch(name, equal, "none", hint)
        streams = [given["rng"].random(3) for given in (one, other, again)]
        if not np.array_equal(*streams[:2]) or np.array_equal(*streams[1:]):
            raise mismatch(
                "the random values of two seeds",
                "equal values, or different values for one seed",
                "one set of values for each seed",
            )

    fair(check, private_model, noise_for=right_noise)


# --- 5. the audit


def once(seed):
    """A step whose noise is drawn once and used again in every run."""

    def step(dz, h, C, m, z, rng):
        return right_step(dz, h, C, m, z, np.random.default_rng(seed))

    return step


def silent(dz, h, C, m, z, rng):
    """A step without noise."""
    return right_step(dz, h, C, m, 0.0, rng)


def unclipped(dz, h, C, m, z, rng):
    """A step without a clip, with the noise of a step with the clip."""
    quiet, noise = (
        right_step(dz, h, 1e300, m, 0.0, rng),
        right_step([None, *(a[:0] for a in dz[1:])], h_of(h), C, m, z, rng),
    )
    return tuple(
        [None, *(a + c for a, c in zip(one[1:], other[1:], strict=True))]
        for one, other in zip(quiet, noise, strict=True)
    )


def h_of(h):
    """The lists of h for a batch without records."""
    return [None if a is None else a[:0] for a in h]


def audited_step(audit, step, C, m, z, delta, trials, confidence, seed):
    """The number that a student's audit returns."""
    others, batches = [], set()

    def audited(dz, h, *numbers):
        others.extend(a for a, given in zip(numbers, (C, m, z), strict=False) if a != given)
        batches.add(len(dz[1]))
        return step(dz, h, *numbers)

    given = audited, C, m, z, delta, trials, confidence, seeded(seed)
    found = number(call(audit, *given, copies=False), "the bound on epsilon")
    if others and step is right_step:
        raise mismatch("C, m or z of a call of step", others[0], "the value that audit got")
    if step is right_step and not (len(batches) == 2 and max(batches) - min(batches) == 1):
        said = " and ".join(f"{k}" for k in sorted(batches)) or "no call of step"
        raise mismatch("the numbers of records in the two worlds", said, "0 and 1")
    return found


SURE = 1 - 1e-9
AUDITS = 100  # at most this many audits of one step; 15 are enough if at most 2 of them exceed the true epsilon
EXCEEDS = 0.14  # at confidence 0.5 and 50 trials, a fixed event exceeds a true epsilon of 0 with a smaller probability


def fixed_event(audit):
    """The event must not depend on the counted runs.

    In the first step, all runs have the same noise, which is 1e8 times as large as the distance between the two worlds.
    An event that was fixed without additional runs separates the worlds with a probability below 1e-8. In the second
    step, the worlds are equal up to 1e-6 of the noise, so the true epsilon is 0. At confidence 0.5 and 50 trials,
    `epsilon_lower_bound` exceeds 0 for a fixed event with a probability of at most 0.136, as the sum over all counts
    shows. A right function fails this part with a probability below 1e-8. If the event is the best threshold of all for
    the counted runs, the bound exceeds 0 with a probability of about 0.65. Such a function passes with a
    probability below 1e-4. With the best one of 20 thresholds, the two probabilities are about 0.48 and 0.02.
    """
    runs, trials = [], 40
    noise = int(seeded(200).integers(10**6))

    def far(dz, h, C, m, z, rng):
        runs.append(len(dz[1]))
        return right_step(dz, h, C, m, 1e8, np.random.default_rng(noise))

    found = number(call(audit, far, 1.0, 4.0, 2.0, 1e-5, trials, 0.95, seeded(201), copies=False), "the bound")
    most = float(epsilon_lower_bound((0, trials), trials, delta=1e-5, confidence=0.95))
    hint = "fix the event before you count, because the bound is not valid for an event chosen with the counted runs"
    if found > 0.999 * most and len(runs) <= 2 * trials:
        name = "the additional runs of an audit whose event depends on the runs"
        raise mismatch(name, max(len(runs) - 2 * trials, 0), "at least 1", hint)
    exceeded, delta = 0, 1e-3
    for done in range(1, AUDITS + 1):
        exceeded += audited_step(audit, right_step, 1.0, 1.0, 1e6, delta, 50, 0.5, 210 + done) > 0
        if done == 15 and exceeded <= 2:
            return
    limit = int(stats.binom.ppf(1 - TAIL, AUDITS, EXCEEDS))
    if exceeded > limit:
        name = f"the audits with a bound above the true epsilon of 0, of {AUDITS} audits with a confidence of 0.5"
        raise mismatch(name, exceeded, f"at most {limit}", hint)


def audit_below(audit):
    """The bound for right steps: at most the exact epsilon and the largest provable bound, and not always nearly 0.

    The event must be fixed before the counted runs.
    """
    for seed, C, m, z, delta, trials in (
        (90, 1.0, 8.0, 0.6, 1e-5, 100),
        (91, 0.3, 2.0, 1.0, 0.3, 200),
        (92, 2.0, 9.0, 3.0, 1e-6, 60),
    ):
        found = audited_step(audit, right_step, C, m, z, delta, trials, SURE, seed)
        exact = epsilon_gaussian(delta=delta, noise_multiplier=z)
        if found > exact:
            hint = "with a confidence of 1 - 1e-9 the bound exceeds the true epsilon in one of a billion audits"
            raise mismatch(
                f"the bound for a right step with z = {z:g} and delta = {delta:g}", found, f"at most {exact:.4g}", hint
            )
    found = audited_step(audit, right_step, 1.0, 4.0, 0.5, 1e-5, 200, 0.9, 93)
    if not found > 0.1:
        raise mismatch(
            "the bound for a right step with z = 0.5", found, "more than 0.1", "which event distinguishes the worlds?"
        )
    for seed, trials, confidence in ((94, 40, 0.95), (95, 30, SURE)):
        found = audited_step(audit, silent, 1.0, 4.0, 1.0, 0.2, trials, confidence, seed)
        most = float(epsilon_lower_bound((0, trials), trials, delta=0.2, confidence=confidence))
        if found > most * (1 + RTOL):
            name = f"the bound after {trials} runs in each world, delta = 0.2"
            raise mismatch(name, found, f"at most {most:.4g}", "use trials, delta and confidence")
    fixed_event(audit)


def audit_above(audit):
    """The bound for three wrong steps exceeds the exact epsilon of the right step."""
    wrong = (
        ("without noise", silent),
        ("whose noise is drawn once", once(int(seeded(96).integers(1000)))),
        ("without a clip", unclipped),
    )
    for what, step in wrong:
        for seed, C, m in ((97, 1.0, 8.0), (98, 0.2, 3.0)):
            found = audited_step(audit, step, C, m, 2.0, 1e-5, 80, 0.95, seed)
            claimed = epsilon_gaussian(delta=1e-5, noise_multiplier=2.0)
            if not found > claimed:
                raise mismatch(f"the bound for a step {what}", found, f"more than the claimed {claimed:.4g}")


# --- 6. accuracy over epsilon


def curve_values(curve):
    """Means and intervals of accuracies in a table; the quantile from the law of Student's t, by its definition.

    The last table has accuracies near 1 and near 0, so one interval ends above 1 and one interval begins below 0.
    """
    for seed, epsilons, seeds in (
        (100, [1.0, 3.0, 8.0], [1, 2, 3]),
        (101, [0.5, 2.0], [4, 7, 9, 11, 20]),
        (None, [2.0, 5.0], [5, 6, 8]),
    ):
        if seed is None:
            near = seeded(102).uniform(0.9, 0.95), 1.0, 1.0
            shares = [near, [1 - a for a in near]]
        else:
            shares = [seeded(seed + int(10 * e)).uniform(0.6, 0.8, len(seeds)) for e in epsilons]
        table = {
            (e, s): float(a) for e, row in zip(epsilons, shares, strict=True) for s, a in zip(seeds, row, strict=True)
        }

        def accuracy_of(target, seed, table=table):
            return table[target, seed]

        found = array(call(curve, accuracy_of, epsilons, seeds, copies=False), (len(epsilons), 3), "the rows")
        k = len(seeds)
        for row, e in zip(found, epsilons, strict=True):
            values = [table[e, s] for s in seeds]
            mean = math.fsum(values) / k
            close(row[0], mean, f"the mean at epsilon {e:g}")
            error = math.sqrt(math.fsum((a - mean) ** 2 for a in values) / (k - 1) / k)
            for side, end, name in ((-1, row[1], "low"), (1, row[2], "high")):
                within = float(stats.t.cdf((end - mean) / error, k - 1))
                if abs(within - (0.5 + side * 0.475)) > 1e-4:
                    hint = f"t with {k - 1} degrees of freedom, and the standard error of the mean"
                    if end in (0, 1):
                        hint = f"{name} is {end:g}: do not cut the interval at 0 or 1"
                    raise mismatch(f"the probability below {name} for {k} seeds", within, 0.5 + side * 0.475, hint)


# --- 7. the page, and questions

FACTS = ("epsilon", "delta", "adjacency", "accuracy", "public")
CASES = ((3.0, 1e-5, (0.76, 0.75, 0.77)), (1.0, 1e-6, (0.7, 0.66, 0.74)))
MORE_WORDS = 12


def page_facts(page):
    """The given numbers, the adjacency, and the items that may be published."""
    for target, delta, row in CASES:
        found = dict(zip(FACTS, entries(call(page, target, delta, row), "page", *FACTS), strict=True))
        close(number(found["epsilon"], "the epsilon of the page"), target, "the epsilon of the page")
        close(number(found["delta"], "the delta of the page"), delta, "the delta of the page")
        close(
            array(found["accuracy"], (3,), "the accuracy of the page"),
            row,
            "the accuracy of the page",
            "mean, low, high",
        )
        if found["adjacency"] != "add-remove":
            raise mismatch(
                "the adjacency of the page",
                found["adjacency"],
                "another adjacency",
                "for which adjacency was the noise calibrated?",
            )
        hint = "the noise covers what the steps release, and choices before the data are read need no noise"
        items(found["public"], {1, 2, 4, 5}, "the items that may be published", hint)


def page_limits(page):
    """The items that are not covered, and the promise in words."""
    for target, delta, row in CASES:
        limits, said = entries(call(page, target, delta, row), "page", "not covered", "in words")
        hint = "does the item follow from one training record, and only through the published weights?"
        items(limits, {2, 3, 4, 6}, "the items that are not covered", hint)
        worded(said, "the promise in words", MORE_WORDS)


def items(value, wanted, name, hint):
    """Compare a list of item numbers with the right list."""
    found = set(numbers(sorted(value) if isinstance(value, set) else value, name).tolist())
    if found != wanted:
        told = "more items" if found < wanted else "fewer items" if found > wanted else "other items"
        raise mismatch(name, ", ".join(f"{one:g}" for one in sorted(found)), told, hint)


def centred_answer(centred):
    """The distance by which one record moves the sum if the mean image is subtracted."""
    answered(centred, "b", "on which records does the direction of each record then depend?")


def tuned_answer(tuned):
    """The question which data the account of one run covers."""
    answered(tuned, "c", "which results had been computed from the records before the choice?")


def audited_answer(audited):
    """The question how a lower bound and an upper bound on epsilon fit together."""
    answered(audited, "a", "which of the two numbers is a lower bound, and which number is an upper bound?")
