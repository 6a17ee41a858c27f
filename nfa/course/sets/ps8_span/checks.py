"""The checks of problem set 8, one for each graded cell.

The independent methods are loops, least squares, constructed updates, sums of binomial probabilities and SciPy.
"""

import math

import numpy as np
from scipy import optimize, stats

from nfa.course.checking import (
    Wrong,
    answered,
    array,
    call,
    close,
    fair,
    guessed,
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

# --- independent methods


def batch(k, units, n, seed):
    """Errors, derivatives and inputs of k records."""
    rng = seeded(seed)
    return rng.normal(size=(k, units)), rng.uniform(0.2, 1, size=(k, units)), rng.normal(size=(k, n))


def read(h):
    """The inputs, each with a 1 as its last entry."""
    return np.array([[*row, 1.0] for row in np.asarray(h, float)]).reshape(len(h), np.shape(h)[1] + 1)


def update_by_loops(u, dphi, h, m, g, G):
    """The update, record by record and entry by entry."""
    u, dphi, g, dW = np.asarray(u), np.asarray(dphi), np.asarray(g), np.array(G, float)
    for i, v in enumerate(read(h)):
        for j in range(dW.shape[0]):
            for c in range(dW.shape[1]):
                dW[j, c] += (u[i, j] + g[i, j]) * dphi[i, j] * v[c] / m
    return dW


def outer_update(errors, h):
    """The update of these errors with m = 1."""
    return sum(np.multiply.outer(e, v) for e, v in zip(errors, read(h), strict=True))


def known_update(s, units, N, seed):
    """An update constructed with these singular values, and its right singular vectors as rows."""
    rng = seeded(seed)
    left = np.linalg.qr(rng.normal(size=(units, len(s))))[0]
    right = np.linalg.qr(rng.normal(size=(N, len(s))))[0].T
    return sum(a * np.multiply.outer(x, y) for a, x, y in zip(s, left.T, right, strict=True)), right


def eigen_span(dW, rank=None, tol=1e-5):
    """The row space from the eigenvectors of dW^T dW. It replaces a student's wrong span in later exercises."""
    dW = np.asarray(dW)
    squares, vectors = np.linalg.eigh(dW.T @ dW)
    order = np.argsort(squares)[::-1]
    kept = [i for i in order if squares[i] > max(tol, 1e-7) ** 2 * squares[order[0]]]
    return vectors[:, kept[:rank]].T


def nearest(h, basis):
    """The distance of each (h, 1) from the span, by least squares instead of a projection."""
    found, basis = [], np.asarray(basis)
    for v in read(h):
        weights = np.linalg.lstsq(basis.T, v, rcond=None)[0] if len(basis) else np.zeros(0)
        found.append(math.dist(v, basis.T @ weights))
    return np.array(found)


def norms(h):
    """The norm of the vector (h, 1) of each candidate."""
    return np.array([math.hypot(*v) for v in read(h)])


def residuals_by_lstsq(h, basis):
    """The residual of each candidate."""
    return nearest(h, basis) / norms(h)


def orthonormal(rows):
    """Orthonormal rows with the same span, for independent rows."""
    return np.linalg.qr(np.asarray(rows).T)[0].T


def interval_by_tails(alarms, trials, error):
    """Clopper and Pearson's bounds: a search for the p at which a sum of binomial probabilities equals the error."""

    def tail(p, counts):
        return math.fsum(math.comb(trials, j) * p**j * (1 - p) ** (trials - j) for j in counts)

    low = optimize.brentq(lambda p: tail(p, range(alarms, trials + 1)) - error, 0, 1, xtol=1e-14) if alarms else 0.0
    high = optimize.brentq(lambda p: tail(p, range(alarms + 1)) - error, 0, 1, xtol=1e-14) if alarms < trials else 1.0
    return low, high


# --- 1. the update


def dW_of(update, u, dphi, h, m, g, G):
    """The result of a student's update, as an array."""
    return array(call(update, u, dphi, h, m, g, G), G.shape, f"the update of {len(h)} records")


def update_value(update):
    """The update without noise, for several m and for an empty batch."""
    for k, m in ((3, 3), (5, 8), (1, 2), (0, 4)):
        u, dphi, h = batch(k, 4, 6, 10 + k)
        g, G = np.zeros((k, 4)), np.zeros((4, 7))
        name = f"the update of {k} records with m = {m}"
        hint = "divide by m; the bias is the last column, and its input is 1"
        close(dW_of(update, u, dphi, h, m, g, G), update_by_loops(u, dphi, h, m, g, G), name, hint)


def update_noise(update):
    """Noise on the errors acts like a change of the errors. Noise on the update is added without a change.

    If `update_value` fails, one of three lenient checks must pass. In the first, G has the shape of the student's own
    update. In the second, all sizes are equal, so products of wrongly transposed factors are defined. In the third, the
    update lacks a column.
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

    def of_an_empty_batch():
        u, dphi, h = batch(0, 4, 6, 10)
        G = seeded(22).normal(size=(4, 7))
        return numbers(call(update, u, dphi, h, 5, np.zeros((0, 4)), G), "the update of an empty batch")

    unless_lost(lambda: noise_on(update, (4, 7), (4, 7)), lenient, lambda: update_value(update))
    if passes(of_an_empty_batch) and not of_an_empty_batch().any():  # otherwise `update_value` fails
        name = "the update of an empty batch with noise G"
        raise mismatch(name, "zeros only", "the noise G", "the update of an empty batch has noise, too")


def noise_on(update, given, shape, units=4, n=6):
    """The effect of the noise on an update of this shape, with a G of the given shape."""
    u, dphi, h = batch(3, units, n, 20)
    rng = seeded(21)
    g, G = rng.normal(size=(3, units)), rng.normal(size=given)
    none, zero = np.zeros((3, units)), np.zeros(given)

    def found(u, g, G):
        return array(call(update, u, dphi, h, 5, g, G), shape, "the update of 3 records")

    plain = found(u, none, zero)
    added = found(u, none, G) - plain
    close(added, G[:, : shape[1]], "the change of the update by G", "G is outside the mean: add it without a factor")
    noisy, moved = found(u, g, zero), found(u + g, none, zero)
    if passes(close, moved, plain, ""):  # for a student who left out the errors
        moved = moved + update_by_loops(g, dphi, h, 5, none, zero)[:, : shape[1]] * (np.abs(noisy - plain).max() > 0)
    close(noisy, moved, "the update with noise g", "add g to the error before every other operation")


# --- 2. the span


def rows_of(found, N, r, name):
    """A student's basis as an array (r, N)."""
    if isinstance(found, np.ndarray) and found.shape == (N, r) and N != r:
        raise mismatch(f"the shape of {name}", (N, r), (r, N), "each vector of the basis is a row")
    return array(found, (r, N), name)


def span_rows(span):
    """Updates of full rank with fewer units than columns, so no direction comes from rounding."""
    for units, N, seed in ((4, 9, 40), (1, 5, 41), (7, 12, 42)):
        u, _, h = batch(10, units, N - 1, seed)
        dW = outer_update(u, h)
        basis = rows_of(call(span, dW), N, units, f"the basis for an update {(units, N)} of rank {units}")
        gram = np.array([[math.fsum(a * b) for b in basis] for a in basis])
        hint = "orthonormal vectors have norm 1, and their inner products with each other are 0"
        close(gram, np.eye(units), "the inner products of the basis vectors", hint)
        inside = np.array([basis.T @ np.linalg.lstsq(basis.T, row, rcond=None)[0] for row in dW])
        hint = "the basis must span the rows of dW, not its columns"
        close(inside, dW, "the rows of dW as combinations of the basis", hint)


def span_tolerance(span):
    """The number of directions. The tolerance is relative, and an update of zeros has no direction."""
    u, _, h = batch(3, 12, 9, 44)  # with more units than columns, the full SVD also has one value for each right vector
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


def count(basis, want, of, think=""):
    """Check the number of directions in a basis."""
    try:
        # this check also accepts basis vectors as columns
        found = np.shape(basis)[1 if np.ndim(basis) == 2 and len(basis) == 10 else 0] if np.size(basis) else 0
    except (TypeError, ValueError, IndexError):
        raise misfit("the result of span", basis, "an array of basis vectors") from None
    if found != want:
        small = "leave out directions whose singular value is at most tol times the largest"
        think = think or (small if want else "an update of zeros has no direction")
        raise mismatch(f"the number of directions in the span of {of}", found, want, think)


def span_leading(span):
    """The kept directions, as rows or columns and with any norm. All directions are known, because we construct dW.

    If `span_rows` fails, two other results pass: the directions of the columns of dW, and right directions for an
    update with more units than columns.
    """

    def check(turned=False, sizes=((9, 7, 46), (6, 15, 47))):
        for units, N, seed in sizes:
            s = [3.0, 2.0, 1.5, 2e-3, 1e-3, 5e-4]
            dW, right = known_update(s, units, N, seed)
            for rank in (3, 1):
                found = call(span, dW.T if turned else dW, rank)
                basis = array(upright(found, (rank, N)), (rank, N), f"the basis with rank = {rank}")
                hint = "keep the directions with the largest singular values"
                name = f"the projection onto the directions kept with rank = {rank}"
                close(np.linalg.pinv(basis) @ basis, right[:rank].T @ right[:rank], name, hint)
            found = call(span, dW.T if turned else dW, 0)
            count(found, 0, f"an update of shape {(units, N)} and rank = 0", "rank = 0 keeps no direction")

    def lenient():
        if not passes(check, False, ((9, 7, 46), (12, 8, 47))):
            check(turned=True)

    unless_lost(check, lenient, lambda: span_rows(span))


# --- the membership test


def rho(residuals, h, basis):
    """The result of a student's residuals, as an array."""
    return array(call(residuals, h, basis), (len(h),), f"the residuals of {len(h)} candidates")


def residuals_members(residuals):
    """Records of the batch and their combinations have residual 0. Other records have a larger residual."""
    for k, n in ((4, 9), (1, 3), (6, 20)):
        h = batch(k, 1, n, 50 + k)[2]
        basis = orthonormal(read(h))
        inside = rho(residuals, np.vstack([h, h.mean(axis=0)[None]]), basis)
        if np.abs(inside).max() > 1e-3:
            think = "(h, 1) of this record is in the span, so it is equal to its projection"
            raise mismatch("the residual of a record of the batch", inside[np.abs(inside).argmax()], 0, think)
        outside = rho(residuals, batch(5, 1, n, 60 + k)[2], basis)
        if outside.min() < 1e-3:
            raise mismatch("the residual of a record not in the batch", outside.min(), "a number well above 0")


def residuals_others(residuals):
    """The values for candidates of small and large norm and spans of several dimensions, by least squares.

    If `residuals_members` fails, it suffices that rho does not depend on the norm of the candidate, or that rho is
    right for the transpose of the basis.
    """

    def lenient():
        if not passes(same_rho, residuals, True) and not passes(of_any_norm, residuals):
            of_any_norm(residuals, square=True)

    unless_lost(lambda: same_rho(residuals), lenient, lambda: residuals_members(residuals))


def of_any_norm(residuals, square=False):
    """The residuals do not depend on the norm of h if the 1 is negligible, and they differ between candidates.

    If ``square`` is true, there are as many candidates as directions and columns, so most products can be formed.
    """
    n, r = (4, 5) if square else (9, 4)
    h = 1e6 * batch(5, 1, n, 57)[2]
    basis = orthonormal(read(batch(r, 1, n, 55)[2]))
    got = rho(residuals, h, basis)
    close(rho(residuals, 100 * h, basis), got, "rho for candidates with 100 times the norm")
    if not (np.ptp(got) > 1e-3 and np.abs(got).max() <= 2):
        raise mismatch("rho for candidates of large norm", got.max(), "different values between 0 and 1")


def same_rho(residuals, turned=False):
    """Compare the values of rho with least squares."""
    for r, n in ((4, 9), (1, 6), (0, 5)):
        basis = orthonormal(read(batch(r, 1, n, 55)[2])) if r else np.zeros((0, n + 1))
        h = batch(5, 1, n, 56)[2] * np.array([[0.1], [1], [1], [3], [30]])
        got, far, norm = rho(residuals, h, basis.T if turned else basis), nearest(h, basis), norms(h)
        want = far / norm
        name = f"rho for a span of {r} dimensions"
        for value, what, share in (
            (far, "the distance itself", "the distance divided by the norm of (h, 1)"),
            (want**2, "the square of rho", "rho itself"),
            (np.sqrt(1 - want**2), "the share inside the span", "the share outside the span"),
        ):
            if r and np.allclose(got, value, rtol=1e-4, atol=0):
                raise mismatch(name, what, share)
        close(got, want, name, "compare with the formula; both norms contain the 1")


def typical_value(typical_residual):
    """Compare with the mean over all vectors of a random orthonormal basis, which is the mean over directions."""
    rng = seeded(58)
    for r, N in ((3, 10), (10, 50), (1, 4), (6, 6), (0, 5)):
        basis, axes = np.eye(N)[:r], np.linalg.qr(rng.normal(size=(N, N)))[0]
        far = [math.dist(v, basis.T @ np.linalg.lstsq(basis.T, v, rcond=None)[0]) if r else 1.0 for v in axes]
        want = math.sqrt(max(math.fsum(d * d for d in far) / N, 0.0))
        got = number(call(typical_residual, r, N), "the typical residual")
        if abs(got - want) > 1e-4:
            think = "each of the N axes has the same mean share of the squared norm, and the span has r axes"
            raise mismatch(f"the typical residual for r = {r} of N = {N}", got, "another number", think)


# --- 3. records


def one(recover_one, errors, h, name):
    """The record that a student computes from the update of one record, as an array."""
    return array(call(recover_one, outer_update([errors], [h])), h.shape, name)


def recover_record(recover_one):
    """All units are alive, with errors of both signs and several sizes."""

    def check():
        hint = "each row is a factor times (h, 1): which entry of the row is this factor?"
        for seed, units, n, size in ((70, 5, 8, 1.0), (71, 1, 4, 1e-3), (72, 3, 12, 1e3), (78, 2, 6, 1e-7)):
            rng = seeded(seed)
            errors, h = rng.choice([-1, 1], size=units) * rng.uniform(0.5, 2, size=units), rng.normal(size=n)
            close(one(recover_one, size * errors, h, "the record"), h, "the record", hint)

    fair(check, recover_one, span=eigen_span)


def recover_dead(recover_one):
    """The first or last units are dead, or the errors sum to 0, like the errors of a softmax.

    If `recover_record` fails, the student's result for one living unit counts as right.
    """

    def read_off(errors, seed=73):
        h = seeded(seed).normal(size=6)
        return numbers(call(recover_one, outer_update([np.array(errors)], [h])), "the record")

    def own():
        for errors in ([0, 0, 2.0, -0.5, 0], [1.5, -1.0, -0.5], [0, -3.0]):
            same_line(read_off(errors), read_off([1.0]), "the record")
        if passes(close, read_off([1.0], seed=74), read_off([1.0]), ""):
            raise mismatch("the record of a second batch", "the record of the first batch", "another record")

    def check():
        h = seeded(73).normal(size=6)
        for errors, which in (
            ([0, 0, 2.0, -0.5, 0], "the first units and the last unit are dead"),
            ([1.5, -1.0, -0.5], "the errors of the units sum to 0, like the errors of a softmax"),
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


# --- 4. epsilon


def bounds_of(clopper_pearson, alarms, trials, error):
    """The two bounds that a student returns."""
    low, high = pair(call(clopper_pearson, alarms, trials, error), "low and high")
    return number(low, f"low for {alarms} of {trials}"), number(high, f"high for {alarms} of {trials}")


def same_interval(clopper_pearson, cases):
    """Compare both bounds with bounds from sums of binomial probabilities."""
    for alarms, trials, error in cases:
        low, high = bounds_of(clopper_pearson, alarms, trials, error)
        right = interval_by_tails(alarms, trials, error)
        for got, want, name in zip((low, high), right, ("low", "high"), strict=True):
            if abs(got - want) > 2e-4 * max(want, 1 / trials):
                if (alarms == 0 and name == "low") or (alarms == trials and name == "high"):
                    hint = "the text gives this bound"
                    raise mismatch(f"{name} for {alarms} of {trials}", got, "another number", hint)
                side, p = "at least" if name == "low" else "at most", min(max(got, 0.0), 1.0)
                tail = stats.binom.sf(alarms - 1, trials, p) if name == "low" else stats.binom.cdf(alarms, trials, p)
                told = f"the probability of {side} {alarms} alarms in {trials} trials at your {name} = {got:.4g}"
                raise mismatch(told, tail, error, "each bound has this error")


def interval_values(clopper_pearson):
    """The bounds if some trials, but not all, raised an alarm."""
    same_interval(clopper_pearson, [(3, 10, 0.025), (1, 40, 0.05), (39, 40, 0.05), (20, 60, 0.005)])


def interval_ends(clopper_pearson):
    """No trial or every trial raised an alarm.

    If `interval_values` fails, only the two bounds that the text gives are checked, in either order.
    """

    def given(first=0):
        found = []
        for trials in (20, 100):
            for alarms, which, want in ((0, first, 0.0), (trials, 1 - first, 1.0)):
                both = pair(call(clopper_pearson, alarms, trials, 0.025), "low and high")
                close(number(both[which], "the bound"), want, f"the bound for {alarms} of {trials} that the text gives")
                found.append(tuple(map(str, both)))  # a bound can be nan, which another cell tests
        if len(set(found)) == 1:
            raise mismatch(
                "the bounds for 0 of 20, 20 of 20, 0 of 100 and 100 of 100 alarms", "equal bounds", "different bounds"
            )

    def lenient():
        if not passes(given):
            given(1)

    cases = [(0, 20, 0.025), (20, 20, 0.025), (0, 1, 0.1), (100, 100, 0.05)]
    unless_lost(lambda: same_interval(clopper_pearson, cases), lenient, lambda: interval_values(clopper_pearson))


def bound_value(epsilon_bound):
    """The bounds for perfect attacks, useful attacks and useless attacks."""

    def check():
        cases = [(0, 200, 200, 1e-5, 0.95), (3, 40, 50, 0.0, 0.9), (1, 19, 20, 0.3, 0.99)]
        for false_alarms, true_alarms, trials, delta, confidence in [
            *cases,
            (20, 22, 50, 0.0, 0.95),
            (30, 5, 50, 0.0, 0.95),
            (0, 2, 20, 0.1, 0.95),
            (3, 0, 20, 0.0, 0.95),
        ]:
            error = (1 - confidence) / 2
            low = interval_by_tails(true_alarms, trials, error)[0]
            high = interval_by_tails(false_alarms, trials, error)[1]
            want = max(0.0, math.log(low - delta) - math.log(high)) if low > delta else 0.0
            name = f"the bound for {false_alarms} false and {true_alarms} true alarms of {trials}"
            name = f"{name}, delta = {delta:g}, confidence {confidence:g}"
            raw = call(epsilon_bound, false_alarms, true_alarms, trials, delta, confidence)
            if isinstance(raw, float | np.floating) and not math.isfinite(raw):
                raise mismatch(name, raw, "a finite number", "return 0 if there is no logarithm")
            got = number(raw, "the bound")
            if got < -1e-6:
                raise mismatch(name, got, "0 or more", "epsilon is never negative")
            if abs(got - want) > 5e-4 * max(1.0, want):
                told = "a smaller bound" if got > want else "a larger bound, because the counts prove more"
                think = "which of the two bounds belongs in the numerator, and with which error?"
                raise mismatch(name, got, told, think)

    fair(check, epsilon_bound, clopper_pearson=interval_by_tails)


def hits_game(hits):
    """Noise of any size on the errors hides nobody. Large noise on the update leaves random directions."""

    def alarms(target, sigma, s, trials, t):
        rng = seeded(91)
        return number(call(hits, h, target, u, dphi, sigma, s, trials, t, rng), "the number of alarms")

    def check():
        for sigma, s, t, think in (
            (0.0, 0.0, 1e-3, "without noise, the span contains the batch"),
            (100.0, 0.0, 1e-3, "noise on the errors does not change the span"),
            (1.0, 1e-3, 0.05, "only the k leading directions belong to the batch"),
        ):
            for target, want, who in ((h[1], 10, "a record of the batch"), (other, 0, "another record")):
                got = alarms(target, sigma, s, 10, t)
                if got != want:
                    raise mismatch(f"the alarms for {who} in 10 trials, sigma = {sigma:g}, s = {s:g}", got, want, think)
        # with errors 0 and all derivatives 1, a noise that all records share gives a span of one direction
        got = number(call(hits, h, h[1], 0 * u, 0 * u + 1, 1.0, 0.0, 10, 1e-3, seeded(91)), "the number of alarms")
        if got != 10:
            name = "the alarms for a record of the batch in 10 trials, errors 0, sigma = 1, s = 0"
            raise mismatch(name, got, 10, "each record of the batch has its own noise g_i")
        # if s is much larger than the update, rho^2 of a fixed vector for 3 random directions of 8 is Beta(5/2, 3/2)
        t = math.sqrt(stats.beta.ppf(0.5, 5 / 2, 3 / 2))
        got = alarms(h[1], 0.0, 1e6, 80, t)
        low, high = stats.binom.ppf([1e-9, 1 - 1e-9], 80, 0.5)
        if not low <= got <= high:
            think = "does each trial draw new noise, for every entry of the update?"
            raise mismatch("the alarms in 80 trials if s is huge", got, "about 40 at this t", think)
        laws(hits)

    u, dphi, h = batch(3, 9, 7, 90)  # with more units than columns, noise on the update gives a span of all directions
    other = batch(1, 1, 7, 92)[2][0]
    fair(check, hits, update=update_by_loops, span=eigen_span, residuals=residuals_by_lstsq)


def laws(hits):
    """The share of alarms for a black record, which depends on the distribution of the noise in one place.

    Suppose that a batch has k records and that the noise in G is small. Let v be the errors of the black record minus
    their projection onto the errors of the other records. Then the residual is k s |N(0, I_r)| / |v| in first order of
    s, with r = n - k + 1. A right submission fails with a probability of about 1e-8.
    """

    def same_share(name, errors, n, sigma, s, t, p):
        rng, trials = seeded(93), 600
        given = np.eye(len(errors), n, -1), np.zeros(n), errors, np.ones_like(errors)  # the first record is black
        got = number(call(hits, *given, sigma, s, trials, t, rng), "the number of alarms")
        low, high = stats.binom.ppf([5e-10, 1 - 5e-10], trials, p)
        if not low <= got <= high:
            think = "each trial draws every entry of g and G anew, from a Gaussian with standard deviation sigma or s"
            what = f"the alarms in {trials} trials with {name}, sigma = {sigma:g} and s = {s:g}"
            raise mismatch(what, got, f"about {trials * p:.0f} at this t", think)

    # the errors are g, and there is an alarm if the norm of v is at least `least`
    for k, sigma, least in ((1, 1.0, 1.0), (1, 1.0, 3.5), (1, 0.4, 1.4), (2, 0.5, 0.8)):
        s, n = 0.002, 40
        free, r = 4 - k + 1, n - k + 1  # the dimensions of v, and of the space orthogonal to the span
        t = k * s * math.sqrt(r) / least
        share = stats.f.sf((least / sigma) ** 2 / free, free, r)
        name = f"errors 0 of four units{' and two records' if k == 2 else ''}"
        same_share(name, np.zeros((k, 4)), n, sigma, s, t, share)
    for most in (0.7, 2.5):  # v is 1000, and there is an alarm if the absolute entry of G is at most `most`
        share = 2 * stats.norm.cdf(most) - 1
        same_share("the error 1000 of one unit", np.full((1, 1), 1e3), 1, 0.0, 1.0, most / 1e3, share)


# --- 5. noise


def sensitivity_value(sensitivity):
    """Compare with the distance of two batches that attain the bound."""
    for tau, c, m in ((0.5, 3.0, 4), (1.0, 1.0, 1), (2.0, 1.5, 10)):
        e, v = tau * np.array([0.6, -0.8]), c * np.array([2.0, 1.0, 2.0]) / 3
        common = np.multiply.outer(np.array([0.3, 0.1]), v)
        want = np.array(np.linalg.norm((common + np.multiply.outer(e, v)) / m - (common - np.multiply.outer(e, v)) / m))
        got = number(call(sensitivity, tau, c, m), "the sensitivity")
        hint = "one record leaves the mean, and another record enters it, perhaps its opposite"
        close(got, want, f"the sensitivity for tau = {tau}, c = {c} and m = {m}", hint)


# --- the guess and the questions


def guess_made(guess):
    """The three guessed residuals."""
    names = (
        "the largest residual in the batch at sigma 100",
        "the median residual of the other images at sigma 0.2",
        "the median residual of the other images at sigma 100",
    )
    guessed(guess, *names, most=1)


def larger_noise_answer(larger_noise):
    """The row space of the update if the noise on the errors becomes larger."""
    answered(larger_noise, "c", "which vectors can a row of dW combine, with or without noise?")


def never_wrong_answer(never_wrong):
    """The bound that an attack without a mistake proves."""
    answered(never_wrong, "b", "which probabilities of a mistake are likely to give no mistake in 1,000 runs?")


def columns_answer(columns):
    """The divergence of all columns together."""
    answered(columns, "a", "what does a theorem on composition require of the noise of two releases?")
