"""The checks of problem set 8, one a graded cell. Oracles: loops, constructions, enumeration, searches, SciPy."""

import math

import numpy as np
from scipy import optimize, stats

from nfa.course.checking import (
    Wrong,
    array,
    call,
    close,
    fair,
    misfit,
    mismatch,
    number,
    numbers,
    pair,
    passes,
    same_line,
    seeded,
    unless_lost,
    upright,
)

# --- oracles


def batch(k, units, n, seed):
    """Errors, slopes and inputs of k records."""
    rng = seeded(seed)
    return rng.normal(size=(k, units)), rng.uniform(0.2, 1, size=(k, units)), rng.normal(size=(k, n))


def read(h):
    """The inputs with their 1."""
    return np.array([[*row, 1.0] for row in np.asarray(h, float)]).reshape(len(h), np.shape(h)[1] + 1)


def update_by_loops(u, dphi, h, m, g, G):
    """The update, record by record and number by number."""
    u, dphi, g, dW = np.asarray(u), np.asarray(dphi), np.asarray(g), np.array(G, float)
    for i, v in enumerate(read(h)):
        for j in range(dW.shape[0]):
            for c in range(dW.shape[1]):
                dW[j, c] += (u[i, j] + g[i, j]) * dphi[i, j] * v[c] / m
    return dW


def outer_update(errors, h):
    """The update of these errors, m = 1."""
    return sum(np.multiply.outer(e, v) for e, v in zip(errors, read(h), strict=True))


def known_update(s, units, N, seed):
    """An update with these singular values, and its right directions, by construction."""
    rng = seeded(seed)
    left = np.linalg.qr(rng.normal(size=(units, len(s))))[0]
    right = np.linalg.qr(rng.normal(size=(N, len(s))))[0].T
    return sum(a * np.multiply.outer(x, y) for a, x, y in zip(s, left.T, right, strict=True)), right


def eigen_span(dW, rank=None, tol=1e-5):
    """The row space by the eigenvectors of dW^T dW: what later exercises get where a student's span is wrong."""
    dW = np.asarray(dW)
    squares, vectors = np.linalg.eigh(dW.T @ dW)
    order = np.argsort(squares)[::-1]
    kept = [i for i in order if squares[i] > max(tol, 1e-7) ** 2 * squares[order[0]]]
    return vectors[:, kept[:rank]].T


def nearest(h, basis):
    """How far each (h, 1) is from the span: by least squares, not by a projector."""
    found, basis = [], np.asarray(basis)
    for v in read(h):
        weights = np.linalg.lstsq(basis.T, v, rcond=None)[0] if len(basis) else np.zeros(0)
        found.append(math.dist(v, basis.T @ weights))
    return np.array(found)


def lengths(h):
    """The lengths of (h, 1)."""
    return np.array([math.hypot(*v) for v in read(h)])


def residuals_by_lstsq(h, basis):
    """rho of each candidate."""
    return nearest(h, basis) / lengths(h)


def orthonormal(rows):
    """Orthonormal rows that span the same, for independent rows."""
    return np.linalg.qr(np.asarray(rows).T)[0].T


def interval_by_tails(k, n, error):
    """Clopper and Pearson's bounds, by finding where the sums of binomial probabilities are the error."""

    def tail(p, counts):
        return math.fsum(math.comb(n, j) * p**j * (1 - p) ** (n - j) for j in counts)

    low = optimize.brentq(lambda p: tail(p, range(k, n + 1)) - error, 0, 1, xtol=1e-14) if k else 0.0
    high = optimize.brentq(lambda p: tail(p, range(k + 1)) - error, 0, 1, xtol=1e-14) if k < n else 1.0
    return low, high


def epsilon_of(s, delta, Delta):
    """The epsilon of noise of standard deviation s: the minimum over the orders, by search."""

    def at(x):  # x = log(alpha - 1)
        return (1 + math.exp(x)) * Delta**2 / (2 * s**2) - math.log(delta) / math.exp(x)

    return optimize.minimize_scalar(at, bounds=(-30, 30), method="bounded", options={"xatol": 1e-10}).fun


# --- 1. the update


def dW_of(update, u, dphi, h, m, g, G):
    """What a student's update returns, as an array."""
    return array(call(update, u, dphi, h, m, g, G), G.shape, f"the update of {len(h)} records")


def update_value(update):
    """The update without noise, whatever m is, and of an empty batch."""
    for k, m in ((3, 3), (5, 8), (1, 2), (0, 4)):
        u, dphi, h = batch(k, 4, 6, 10 + k)
        g, G = np.zeros((k, 4)), np.zeros((4, 7))
        name, hint = f"the update of {k} records with m = {m}", "m divides; the bias is the last column, its input 1"
        close(dW_of(update, u, dphi, h, m, g, G), update_by_loops(u, dphi, h, m, g, G), name, hint)


def update_noise(update):
    """Noise on the errors is what a change of the errors would be; noise on the update is added as it is.

    Where the update without noise has lost its point, G may have the shape that the student's own has, a column less
    be returned, or all sizes be equal, so that most products can be formed.
    """

    def square():
        noise_on(update, (3, 3), (3, 3), units=3, n=2)

    def own():
        u, dphi, h = batch(3, 4, 6, 20)
        found = call(update, u, dphi, h, 5, 0 * u, 0.0)
        if numbers(found, "the update").size < 7 or np.ndim(found) != 2:
            raise mismatch("the shape of the update", np.shape(found), (4, 7))
        noise_on(update, np.shape(found), np.shape(found))

    def lenient():
        if not passes(own) and not passes(square):
            noise_on(update, (4, 7), (4, 6))

    unless_lost(lambda: noise_on(update, (4, 7), (4, 7)), lenient, lambda: update_value(update))


def noise_on(update, given, shape, units=4, n=6):
    """What noise does to an update of this shape, of a G of the given one."""
    u, dphi, h = batch(3, units, n, 20)
    rng = seeded(21)
    g, G = rng.normal(size=(3, units)), rng.normal(size=given)
    none, zero = np.zeros((3, units)), np.zeros(given)

    def found(u, g, G):
        return array(call(update, u, dphi, h, 5, g, G), shape, "the update of 3 records")

    plain = found(u, none, zero)
    added = found(u, none, G) - plain
    close(added, G[:, : shape[1]], "what G adds to the update", "it stands outside the mean, and is added as it is")
    noisy, moved = found(u, g, zero), found(u + g, none, zero)
    if passes(close, moved, plain, ""):  # of a student who left the errors out
        moved = moved + update_by_loops(g, dphi, h, 5, none, zero)[:, : shape[1]] * (np.abs(noisy - plain).max() > 0)
    close(noisy, moved, "the update with noise g", "g is added to the error before anything is done with it")


def rank_predicted(predicted_rank):
    """Held against the ranks of updates that are drawn."""
    rng = seeded(30)
    for k, units, N in ((3, 8, 20), (30, 8, 20), (30, 25, 12), (9, 4, 20), (6, 10, 4), (0, 5, 7)):
        u, dphi, h = batch(k, units, N - 1, k)
        for noise in ("error", "update"):
            size = 100.0 if noise == "error" else 0.01
            g, G = size * (noise == "error") * rng.normal(size=(k, units)), np.zeros((units, N))
            if noise == "update":
                G = size * rng.normal(size=(units, N))
            dW = G + ((u + g) * dphi).T @ read(h)
            want = int(np.linalg.matrix_rank(dW))
            got = number(call(predicted_rank, k, units, N, noise), "the rank")
            if got != want:
                where = f"{k} records, {units} units and {N} columns, with noise in the {noise}"
                think = (
                    "is a row of dW still a combination of the inputs of the batch?"
                    if noise == "error"
                    else "what is the rank of a matrix of independent random numbers, and can adding dW lower it?"
                )
                if got > min(units, N):
                    think = "can a matrix have a higher rank than it has rows, or columns?"
                raise mismatch(f"the rank for {where}", got, "another number", f"{think} Draw one and compare")


# --- 2. the span


def rows_of(found, N, r, name):
    """A student's basis as an array (r, N)."""
    if isinstance(found, np.ndarray) and found.shape == (N, r) and N != r:
        raise mismatch(f"the shape of {name}", (N, r), (r, N), "one vector of the basis a row")
    return array(found, (r, N), name)


def span_rows(span):
    """Updates of full rank, fewer units than columns: no direction is a matter of rounding."""
    for units, N, seed in ((4, 9, 40), (1, 5, 41), (7, 12, 42)):
        u, _, h = batch(10, units, N - 1, seed)
        dW = outer_update(u, h)
        basis = rows_of(call(span, dW), N, units, f"the basis for an update {(units, N)} of rank {units}")
        gram = np.array([[math.fsum(a * b) for b in basis] for a in basis])
        close(gram, np.eye(units), "the inner products of the basis vectors", "orthonormal: 1 with itself, 0 else")
        inside = np.array([basis.T @ np.linalg.lstsq(basis.T, row, rcond=None)[0] for row in dW])
        close(inside, dW, "the rows of dW as combinations of the basis", "it is the space of the rows, not of columns")


def span_tolerance(span):
    """How many directions are kept: the tolerance is relative, and nothing is spanned by zeros."""
    u, _, h = batch(3, 12, 9, 44)  # more units than columns: an SVD of any form has as many vectors as values
    dW = outer_update(u, h)
    for scale in (1.0, 1e-9, 1e9):
        count(call(span, scale * dW), 3, f"an update of three records with entries of about {scale:.0e}")
    spread, _ = known_update([1.0, 0.5, 0.2, 1e-3], 12, 10, 45)
    of = "an update with the singular values 1, 0.5, 0.2, 0.001"
    count(call(span, spread), 4, of)
    count(call(span, spread, tol=0.02), 3, f"{of} and tol = 0.02")
    count(call(span, spread, 10), 4, f"{of} and rank = 10")
    near, _ = known_update([1.0, 0.5, 1.6e-5, 6e-6], 12, 10, 48)
    count(call(span, near), 3, "an update with the singular values 1, 0.5, 0.000016, 0.000006")
    count(call(span, np.zeros((12, 10))), 0, "an update of zeros")


def count(basis, want, of):
    """The number of directions in a basis."""
    try:
        found = np.shape(basis)[1 if np.ndim(basis) == 2 and len(basis) == 10 else 0]  # vectors as columns count too
    except (TypeError, ValueError, IndexError):
        raise misfit("what span returns", basis, "an array of basis vectors") from None
    if found != want:
        think = "zeros span nothing" if not want else "leave out what is at most tol times the largest singular value"
        raise mismatch(f"the number of directions in the span of {of}", found, want, think)


def span_leading(span):
    """With noise in every direction, those with the largest singular values, known by construction, as rows or not.

    Of whatever length; where the rows have lost their point, those of the columns of dW will do, or of an update with
    more units than columns.
    """

    def check(turned=False, sizes=((9, 7, 46), (6, 15, 47))):
        for units, N, seed in sizes:
            s = [3.0, 2.0, 1.5, 2e-3, 1e-3, 5e-4]
            dW, right = known_update(s, units, N, seed)
            for rank in (3, 1):
                found = call(span, dW.T if turned else dW, rank)
                basis = array(upright(found, (rank, N)), (rank, N), f"the basis with rank = {rank}")
                hint = "of the directions, keep those with the largest singular values"
                name = f"the projection onto the directions kept with rank = {rank}"
                close(np.linalg.pinv(basis) @ basis, right[:rank].T @ right[:rank], name, hint)

    def lenient():
        if not passes(check, False, ((9, 7, 46), (12, 8, 47))):
            check(turned=True)

    unless_lost(check, lenient, lambda: span_rows(span))


# --- the membership test


def rho(residuals, h, basis):
    """What a student's residuals returns, as an array."""
    return array(call(residuals, h, basis), (len(h),), f"the residuals of {len(h)} candidates")


def residuals_members(residuals):
    """Members, and combinations of members, are at 0; others are not."""
    for k, n in ((4, 9), (1, 3), (6, 20)):
        h = batch(k, 1, n, 50 + k)[2]
        basis = orthonormal(read(h))
        inside = rho(residuals, np.vstack([h, h.mean(axis=0)[None]]), basis)
        if np.abs(inside).max() > 1e-3:
            think = "its (h, 1) is in the span of the batch, so that its projection is itself"
            raise mismatch("the residual of a record of the batch", inside[np.abs(inside).argmax()], 0, think)
        outside = rho(residuals, batch(5, 1, n, 60 + k)[2], basis)
        if outside.min() < 1e-3:
            raise mismatch("the residual of a record not in the batch", outside.min(), "a number well above 0")


def residuals_others(residuals):
    """Values for candidates short and long, with spans of any size, held against least squares.

    Where members have lost their point, rho must not depend on the length, or be right for what is no basis but its
    transpose.
    """

    def lenient():
        if not passes(same_rho, residuals, True) and not passes(of_any_length, residuals):
            of_any_length(residuals, square=True)

    unless_lost(lambda: same_rho(residuals), lenient, lambda: residuals_members(residuals))


def of_any_length(residuals, square=False):
    """Of candidates beside which the 1 is nothing: not the same for all of them.

    If ``square``, there are as many candidates as directions and columns, so that most products can be formed.
    """
    n, r = (4, 5) if square else (9, 4)
    h = 1e6 * batch(5, 1, n, 57)[2]
    basis = orthonormal(read(batch(r, 1, n, 55)[2]))
    got = rho(residuals, h, basis)
    close(rho(residuals, 100 * h, basis), got, "rho for candidates 100 times as long")
    if not (np.ptp(got) > 1e-3 and np.abs(got).max() <= 2):
        raise mismatch("rho for candidates of any length", got.max(), "other numbers")


def same_rho(residuals, turned=False):
    """The values themselves."""
    for r, n in ((4, 9), (1, 6), (0, 5)):
        basis = orthonormal(read(batch(r, 1, n, 55)[2])) if r else np.zeros((0, n + 1))
        h = batch(5, 1, n, 56)[2] * np.array([[0.1], [1], [1], [3], [30]])
        got, far, long = rho(residuals, h, basis.T if turned else basis), nearest(h, basis), lengths(h)
        want = far / long
        name = f"rho for a span of {r} dimensions"
        for value, what, share in (
            (far, "the distance itself", "its ratio to the length of the candidate with its 1"),
            (want**2, "its square", "rho itself"),
            (np.sqrt(1 - want**2), "the share inside the span", "that outside"),
        ):
            if r and np.allclose(got, value, rtol=1e-4, atol=0):
                raise mismatch(name, what, share)
        close(got, want, name, "compare the formula; the 1 belongs in both norms")


def typical_value(typical_residual):
    """Held against the mean over all vectors of a random orthonormal basis, which is the mean over directions."""
    rng = seeded(58)
    for r, N in ((3, 10), (10, 50), (1, 4), (6, 6), (0, 5)):
        basis, axes = np.eye(N)[:r], np.linalg.qr(rng.normal(size=(N, N)))[0]
        far = [math.dist(v, basis.T @ np.linalg.lstsq(basis.T, v, rcond=None)[0]) if r else 1.0 for v in axes]
        want = math.sqrt(max(math.fsum(d * d for d in far) / N, 0.0))
        got = number(call(typical_residual, r, N), "the typical residual")
        if abs(got - want) > 1e-4:
            think = "of a random direction's squared length every axis has the same mean share; r of N are spanned"
            raise mismatch(f"the typical residual for r = {r} of N = {N}", got, "another number", think)


# --- 3. records


def one(recover_one, errors, h, name):
    """What a student reads off the update of one record, as an array."""
    return array(call(recover_one, outer_update([errors], [h])), h.shape, name)


def recover_record(recover_one):
    """All units alive; errors of both signs and any size."""

    def check():
        hint = "which number of a row is the factor in front of (h, 1)?"
        for seed, units, n, size in ((70, 5, 8, 1.0), (71, 1, 4, 1e-3), (72, 3, 12, 1e3), (78, 2, 6, 1e-7)):
            rng = seeded(seed)
            errors, h = rng.choice([-1, 1], size=units) * rng.uniform(0.5, 2, size=units), rng.normal(size=n)
            close(one(recover_one, size * errors, h, "the record"), h, "the record", hint)

    fair(check, recover_one, span=eigen_span)


def recover_dead(recover_one):
    """Dead units at either end; errors that add up to 0, as those of a softmax do.

    Where the record has lost its point, whatever is read off an update of one living unit, for better or worse.
    """

    def read_off(errors, seed=73):
        h = seeded(seed).normal(size=6)
        return numbers(call(recover_one, outer_update([np.array(errors)], [h])), "the record")

    def own():
        for errors in ([0, 0, 2.0, -0.5, 0], [1.5, -1.0, -0.5], [0, -3.0]):
            same_line(read_off(errors), read_off([1.0]), "the record")
        if passes(close, read_off([1.0], seed=74), read_off([1.0]), ""):
            raise mismatch("the record of another batch", "the same", "another")

    def check():
        h = seeded(73).normal(size=6)
        for errors, which in (
            ([0, 0, 2.0, -0.5, 0], "the first units and the last are dead"),
            ([1.5, -1.0, -0.5], "the errors of the units add up to 0, as those of a softmax do"),
            ([0, -3.0], "one unit is alive, with a negative error"),
            ([0, 0, 1.5, -2.0], "the first units are dead and some pixels are black"),
        ):
            name = f"the record ({which})"
            h = np.array([0, 0, *h[2:-1], 0]) if "black" in which else h
            try:
                found = one(recover_one, np.array(errors), h, name)
            except Wrong as wrong:
                if wrong.why:
                    wrong.args = (f"where {which}: {wrong}",)
                raise
            close(found, h, name)

    def either():
        unless_lost(check, own, lambda: recover_record(recover_one))

    fair(either, recover_one, span=eigen_span)


def recover_mixed(recover_two):
    """Two records of zeros and ones, noise in the errors and all."""

    def check():
        for seed, units, n in ((75, 2, 10), (76, 6, 40), (77, 9, 5), *((seed, 4, 12) for seed in range(200, 206))):
            rng = seeded(seed)
            h = rng.integers(0, 2, size=(2, n)).astype(float)
            h[:, :2] = [[0, 1], [1, 0]]
            if seed >= 200:  # one record has all the white pixels of the other
                h[seed % 2] = 1 - h[seed % 2] * h[1 - seed % 2]
                h[1 - seed % 2] *= h[seed % 2]
            errors = rng.normal(size=(2, units)) + 30 * rng.normal(size=(2, units))
            found = call(recover_two, outer_update(errors, h))
            first, second = (array(v, (n,), "a record") for v in pair(found, "the two records"))
            found = np.array([first, second])
            if min(np.abs(found - h).max(), np.abs(found - h[::-1]).max()) > 1e-3:
                if np.abs(found - np.clip(np.round(found), 0, 1)).max() > 1e-3:
                    think = "of the mixtures that end in 1, take those whose pixels are black or white"
                    raise mismatch("the two records", "other mixtures of them", "entries 0 and 1 only", think)
                think = "both end in 1 and lie in the row space"
                raise mismatch("the two records", "other zeros and ones", "those of the batch", think)

    fair(check, recover_two, span=eigen_span, residuals=residuals_by_lstsq)


# --- 4. epsilon


def advantage_value(advantage):
    """Held against the one-sided Kolmogorov-Smirnov statistic, which is the same number."""
    rng = seeded(80)
    samples = [
        (rng.uniform(0, 0.6, 9), rng.uniform(0.2, 1, 14)),
        (rng.integers(0, 4, 12) / 10, rng.integers(1, 6, 7) / 10),
        (np.array([1e-15, 3e-15]), np.array([0.1, 0.2, 0.3])),
        (np.array([0.5, 0.6]), np.array([0.1, 0.2, 0.55])),
        (np.array([0.9]), np.array([0.1, 0.2])),
        (np.array([1e-7, 2e-7]), np.array([3e-7, 4e-7, 0.5])),  # between the thresholds of any grid
    ]
    for members, others in samples:
        want = stats.ks_2samp(members, others, alternative="greater", method="asymp").statistic
        got = number(call(advantage, members, others), "the advantage")
        turned = stats.ks_2samp(members, others, alternative="less", method="asymp").statistic
        hint = "the best t counts, and true alarms less false ones, once"
        if abs(got - turned) < 1e-6 < abs(want - turned):
            hint = "an alarm is a small residual, not a large one"
        close(got, want, "the advantage", hint)


def advantage_least(advantage_epsilon):
    """Held against a search over all shares of false alarms."""

    def needed(f, a):
        return max(math.log((f + a) / f), math.log((1 - f) / (1 - f - a)))

    for a in (0.0, 0.1, 0.5, 0.9, 0.99):
        grid = np.linspace(0, 1 - a, 401)[1:-1]
        want = min(needed(f, a) for f in grid)
        best = optimize.minimize_scalar(needed, args=(a,), bounds=(0, 1 - a), method="bounded")
        want = min(want, best.fun)
        got = number(call(advantage_epsilon, a), "the epsilon")
        if abs(got - want) > 2e-4 * max(1.0, want):
            think = (
                "some pair of rates with this advantage needs less: try other shares of false alarms, from 0 to 1 - a"
                if got > want
                else "no pair of rates with this advantage is allowed: think of both events, alarm and no alarm"
            )
            raise mismatch(f"the epsilon for a = {a}", got, "less" if got > want else "more", think)


def bounds_of(clopper_pearson, k, n, error):
    """What a student returns for the two bounds."""
    low, high = pair(call(clopper_pearson, k, n, error), "low and high")
    return number(low, f"low for {k} of {n}"), number(high, f"high for {k} of {n}")


def hold_interval(clopper_pearson, cases):
    """Both bounds against those found from sums of binomial probabilities."""
    for k, n, error in cases:
        low, high = bounds_of(clopper_pearson, k, n, error)
        for got, want, name in zip((low, high), interval_by_tails(k, n, error), ("low", "high"), strict=True):
            if abs(got - want) > 2e-4 * max(want, 1 / n):
                if (k == 0 and name == "low") or (k == n and name == "high"):
                    raise mismatch(f"{name} for {k} of {n}", got, "another number", "the text says what it is there")
                side, p = "at least" if name == "low" else "at most", min(max(got, 0.0), 1.0)
                tail = stats.binom.sf(k - 1, n, p) if name == "low" else stats.binom.cdf(k, n, p)
                told = f"the probability of {side} {k} alarms in {n} at your {name} = {got:.4g}"
                raise mismatch(told, tail, error, "it is so for each bound alone")


def interval_values(clopper_pearson):
    """Some, but not all."""
    hold_interval(clopper_pearson, [(3, 10, 0.025), (1, 40, 0.05), (39, 40, 0.05), (20, 60, 0.005)])


def interval_ends(clopper_pearson):
    """None, or all; where the others have lost their point, of the bounds that the text gives, in either order."""

    def given(first=0):
        found = []
        for n in (20, 100):
            for k, which, want in ((0, first, 0.0), (n, 1 - first, 1.0)):
                both = pair(call(clopper_pearson, k, n, 0.025), "low and high")
                close(number(both[which], "the bound"), want, f"the bound of {k} of {n} that the text gives")
                found.append(tuple(map(str, both)))  # of which one may be nan, which costs elsewhere
        if len(set(found)) == 1:
            raise mismatch("the bounds for none and for all of 20 and of 100", "the same", "others for each")

    def lenient():
        if not passes(given):
            given(1)

    cases = [(0, 20, 0.025), (20, 20, 0.025), (0, 1, 0.1), (100, 100, 0.05)]
    unless_lost(lambda: hold_interval(clopper_pearson, cases), lenient, lambda: interval_values(clopper_pearson))


def bound_value(epsilon_bound):
    """Perfect attacks, useful and useless ones."""

    def check():
        cases = [(0, 200, 200, 1e-5, 0.95), (3, 40, 50, 0.0, 0.9), (1, 19, 20, 0.3, 0.99)]
        for k0, k1, n, delta, confidence in [
            *cases,
            (20, 22, 50, 0.0, 0.95),
            (30, 5, 50, 0.0, 0.95),
            (0, 2, 20, 0.1, 0.95),
            (3, 0, 20, 0.0, 0.95),
        ]:
            error = (1 - confidence) / 2
            low, high = interval_by_tails(k1, n, error)[0], interval_by_tails(k0, n, error)[1]
            want = max(0.0, math.log(low - delta) - math.log(high)) if low > delta else 0.0
            name = f"the bound for {k0} false and {k1} true alarms of {n}, delta = {delta:g}, confidence {confidence:g}"
            raw = call(epsilon_bound, k0, k1, n, delta, confidence)
            if isinstance(raw, float | np.floating) and not math.isfinite(raw):
                raise mismatch(name, raw, "a finite number", "it is 0 where there is no logarithm")
            got = number(raw, "the bound")
            if got < -1e-6:
                raise mismatch(name, got, "0 or more", "a negative number says less than 0 does")
            if abs(got - want) > 5e-4 * max(1.0, want):
                told = "less, for it is more than the counts show" if got > want else "more, for the counts show more"
                think = "which bound, wrong how often, belongs on which side of the fraction?"
                raise mismatch(name, got, told, think)

    fair(check, epsilon_bound, clopper_pearson=interval_by_tails)


def hits_game(hits):
    """Noise on the errors hides nobody, of whatever size; large noise on the update leaves random directions."""

    def alarms(target, sigma, s, trials, t):
        rng = seeded(91)
        return number(call(hits, h, target, u, dphi, sigma, s, trials, t, rng), "the number of alarms")

    def check():
        for sigma, s, t, think in (
            (0.0, 0.0, 1e-3, "without noise the span is that of the batch"),
            (100.0, 0.0, 1e-3, "noise on the errors leaves the span as it is"),
            (1.0, 1e-3, 0.05, "the k leading directions, and no more of them, are those of the batch"),
        ):
            for target, want, who in ((h[1], 10, "one of the batch"), (other, 0, "one not in the batch")):
                got = alarms(target, sigma, s, 10, t)
                if got != want:
                    raise mismatch(f"the alarms for {who} in 10 trials, sigma = {sigma:g}, s = {s:g}", got, want, think)
        # s far above the update: rho^2 of a fixed vector against 3 random directions of 8 is Beta(5/2, 3/2)
        t = math.sqrt(stats.beta.ppf(0.5, 5 / 2, 3 / 2))
        got = alarms(h[1], 0.0, 1e6, 80, t)
        low, high = stats.binom.ppf([1e-9, 1 - 1e-9], 80, 0.5)
        if not low <= got <= high:
            think = "is the noise drawn anew in each trial, and is it in every entry of the update?"
            raise mismatch("the alarms in 80 trials where s is huge", got, "about 40 at this t", think)
        laws(hits)

    u, dphi, h = batch(3, 9, 7, 90)  # more units than columns: noise on the update fills the span
    other = batch(1, 1, 7, 92)[2][0]
    fair(check, hits, update=update_by_loops, span=eigen_span, residuals=residuals_by_lstsq)


def laws(hits):
    """How often a batch of one black record is found, where this depends on the law of the noise in one place alone.

    With units whose errors are v, and with little noise in G, the residual is s |N(0, I_n)| / |v|, up to a share of s.
    A right submission fails with a probability of about 1e-8.
    """

    def held(name, errors, n, sigma, s, t, p):
        rng, trials = seeded(93), 600
        given = np.zeros((1, n)), np.zeros(n), errors, np.ones_like(errors)
        got = number(call(hits, *given, sigma, s, trials, t, rng), "the number of alarms")
        low, high = stats.binom.ppf([5e-10, 1 - 5e-10], trials, p)
        if not low <= got <= high:
            think = "each entry of g and G has a normal draw of its own in each trial, of mean 0, times sigma or s"
            what = f"the alarms in {trials} trials with {name}, sigma = {sigma:g} and s = {s:g}"
            raise mismatch(what, got, f"about {trials * p:.0f} at this t", think)

    for sigma, least in ((1.0, 1.0), (1.0, 3.5), (0.4, 1.4)):  # v is g: its norm is at least so much
        s, n = 0.002, 40
        t = s * math.sqrt(n) / least
        held("errors 0 of four units", np.zeros((1, 4)), n, sigma, s, t, stats.f.sf((least / sigma) ** 2 / 4, 4, n))
    for most in (0.7, 2.5):  # v is 1000, and one entry of G is at most so large
        held("the error 1000 of one unit", np.full((1, 1), 1e3), 1, 0.0, 1.0, most / 1e3, 2 * stats.norm.cdf(most) - 1)


# --- 5. noise


def sensitivity_value(sensitivity):
    """Held against two batches that are as far apart as they can be, and may not be farther."""
    for tau, c, m in ((0.5, 3.0, 4), (1.0, 1.0, 1), (2.0, 1.5, 10)):
        e, v = tau * np.array([0.6, -0.8]), c * np.array([2.0, 1.0, 2.0]) / 3
        common = np.multiply.outer(np.array([0.3, 0.1]), v)
        want = np.array(np.linalg.norm((common + np.multiply.outer(e, v)) / m - (common - np.multiply.outer(e, v)) / m))
        got = number(call(sensitivity, tau, c, m), "the sensitivity")
        hint = "one record leaves the mean and another, perhaps its opposite, comes in"
        close(got, want, f"the sensitivity for tau = {tau}, c = {c} and m = {m}", hint)


def noise_value(noise_needed):
    """The epsilon that this s gives, by a search over the orders."""
    for epsilon, delta, Delta in (
        (8.0, 1e-5, 1.0),
        (1.0, 1e-6, 0.25),
        (0.1, 1e-5, 2.0),
        (20.0, 0.01, 1.0),
        (2.0, 1e-10, 1.0),
    ):
        s = number(call(noise_needed, epsilon, delta, Delta), "the noise")
        if not s > 0:
            raise mismatch("the standard deviation of the noise", s, "a positive number")
        found = epsilon_of(s, delta, Delta)
        if abs(found - epsilon) > 2.5e-3 * epsilon:
            name = f"the epsilon of your s = {s:.4g} for delta = {delta:g} and sensitivity {Delta:g}"
            raise mismatch(name, found, epsilon, "take less noise" if found < epsilon else "take more noise")
