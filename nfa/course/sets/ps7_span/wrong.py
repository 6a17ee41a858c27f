"""Typical mistakes: the score that each must get of 20 points, and the cells whose points it must lose."""

# %% bias_forgotten score=19 fails=["update_value"]
# left the bias out: one column too few
import numpy as np


# %% update
def update(u, dphi, h, m, g, G):
    dW = ((u + g) * dphi).T @ h / m
    return dW + G[:, :-1]


# %% bias_first score=19 fails=["update_value"]
# put the bias in the first column
import numpy as np


# %% update
def update(u, dphi, h, m, g, G):
    read = np.hstack([np.ones((len(h), 1)), h])
    return ((u + g) * dphi).T @ read / m + G


# %% batch_for_m score=19 fails=["update_value"]
# divided by the number of records that came in place of m
import numpy as np


# %% update
def update(u, dphi, h, m, g, G):
    read = np.hstack([h, np.ones((len(h), 1))])
    return ((u + g) * dphi).T @ read / max(len(h), 1) + G


# %% noise_after_slope score=19 fails=["update_noise"]
# added g after the slopes
import numpy as np


# %% update
def update(u, dphi, h, m, g, G):
    read = np.hstack([h, np.ones((len(h), 1))])
    return (u * dphi + g).T @ read / m + G


# %% noise_averaged score=19 fails=["update_noise"]
# divided G by m as well
import numpy as np


# %% update
def update(u, dphi, h, m, g, G):
    read = np.hstack([h, np.ones((len(h), 1))])
    return (((u + g) * dphi).T @ read + G) / m


# %% paper_sign score=19 fails=["update_value"]
# kept the paper's minus, which the text leaves out
import numpy as np


# %% update
def update(u, dphi, h, m, g, G):
    read = np.hstack([h, np.ones((len(h), 1))])
    return -((u + g) * dphi).T @ read / m + G


# %% noise_fills_rank score=19 fails=["rank_predicted"]
# thought that any noise makes the rank full
import numpy as np


# %% predicted_rank
def predicted_rank(k, units, N, noise):
    return min(units, N)


# %% rank_of_batch score=19 fails=["rank_predicted"]
# forgot that there may be more records than units
import numpy as np


# %% predicted_rank
def predicted_rank(k, units, N, noise):
    return k if noise == "error" else min(units, N)


# %% column_space score=19 fails=["span_rows"]
# took the space of the columns: left singular vectors
import numpy as np


# %% span
def span(dW, rank=None, tol=1e-5):
    U, s, _ = np.linalg.svd(dW, full_matrices=False)
    return U.T[s > tol * s[0]][:rank]


# %% basis_in_columns score=19 fails=["span_rows"]
# returned the basis vectors as columns
import numpy as np


# %% span
def span(dW, rank=None, tol=1e-5):
    _, s, Vt = np.linalg.svd(dW, full_matrices=False)
    return Vt[s > tol * s[0]][:rank].T


# %% no_tolerance score=19 fails=["span_tolerance"]
# kept the directions that rounding makes
import numpy as np


# %% span
def span(dW, rank=None, tol=1e-5):
    _, s, Vt = np.linalg.svd(dW, full_matrices=False)
    return Vt[s > 0][:rank]


# %% absolute_tolerance score=19 fails=["span_tolerance"]
# held singular values against tol itself
import numpy as np


# %% span
def span(dW, rank=None, tol=1e-5):
    _, s, Vt = np.linalg.svd(dW, full_matrices=False)
    return Vt[s > tol][:rank]


# %% zeros_span_all score=19 fails=["span_tolerance"]
# kept singular values that equal the tolerance, and so every direction of an update of zeros
import numpy as np


# %% span
def span(dW, rank=None, tol=1e-5):
    _, s, Vt = np.linalg.svd(dW, full_matrices=False)
    return Vt[s >= tol * s[0]][:rank]


# %% smallest_first score=19 fails=["span_leading"]
# took the eigenvectors as they come, the smallest first
import numpy as np


# %% span
def span(dW, rank=None, tol=1e-5):
    squares, vectors = np.linalg.eigh(dW.T @ dW)
    return vectors[:, squares > tol**2 * squares[-1]].T[:rank]


# %% not_relative score=19 fails=["residuals_others"]
# did not divide by the length of the candidate
import numpy as np


# %% residuals
def residuals(h, basis):
    read = np.hstack([h, np.ones((len(h), 1))])
    return np.linalg.norm(read - (read @ basis.T) @ basis, axis=1)


# %% square_of_rho score=19 fails=["residuals_others"]
# forgot the roots
import numpy as np


# %% residuals
def residuals(h, basis):
    read = np.hstack([h, np.ones((len(h), 1))])
    rest = read - (read @ basis.T) @ basis
    return (rest**2).sum(axis=1) / (read**2).sum(axis=1)


# %% share_inside score=19 fails=["residuals_members"]
# measured what is in the span, not what is outside
import numpy as np


# %% residuals
def residuals(h, basis):
    read = np.hstack([h, np.ones((len(h), 1))])
    return np.linalg.norm(read @ basis.T, axis=1) / np.linalg.norm(read, axis=1)


# %% candidate_without_bias score=19 fails=["residuals_members"]
# left the 1 of the candidate out, and the last column of the basis with it
import numpy as np


# %% residuals
def residuals(h, basis):
    rest = h - (h @ basis[:, :-1].T) @ basis[:, :-1]
    return np.linalg.norm(rest, axis=1) / np.linalg.norm(h, axis=1)


# %% half_a_projector score=19 fails=["residuals_members"]
# took the basis for a projector, without its transpose
import numpy as np


# %% residuals
def residuals(h, basis):
    read = np.hstack([h, np.ones((len(h), 1))])
    rest = read - read @ (basis @ basis.T)
    return np.linalg.norm(rest, axis=1) / np.linalg.norm(read, axis=1)


# %% typical_square score=19 fails=["typical_value"]
# returned the mean of the square, not its root
import numpy as np


# %% typical_residual
def typical_residual(r, N):
    return 1 - r / N


# %% typical_inside score=19 fails=["typical_value"]
# took the part that is in the span
import numpy as np


# %% typical_residual
def typical_residual(r, N):
    return np.sqrt(r / N) if r else 1.0


# %% first_unit score=19 fails=["recover_dead"]
# read the record off the first unit, dead or not
import numpy as np


# %% recover_one
def recover_one(dW):
    return dW[0, :-1] / dW[0, -1]


# %% sum_of_units score=19 fails=["recover_dead"]
# added the units up, whose errors may cancel
import numpy as np


# %% recover_one
def recover_one(dW):
    total = dW.sum(axis=0)
    return total[:-1] / total[-1]


# %% ratio_turned score=19 fails=["recover_record"]
# divided the bias by the row
import numpy as np


# %% recover_one
def recover_one(dW):
    row = dW[np.argmax(np.abs(dW[:, -1]))]
    return row[-1] / row[:-1]


# %% mixtures score=19 fails=["recover_mixed"]
# took two rows, each divided by its bias, for the two records
import numpy as np


# %% recover_two
def recover_two(dW):
    return dW[:2, :-1] / dW[:2, -1:]


# %% threshold_turned score=19 fails=["advantage_value"]
# raised an alarm where the residual is large
import numpy as np


# %% advantage
def advantage(members, others):
    members, others = np.asarray(members), np.asarray(others)
    return max(0.0, *((members >= t).mean() - (others >= t).mean() for t in [*members, *others]))


# %% advantage_twice score=19 fails=["advantage_value"]
# counted the advantage of alarms and that of no alarms
import numpy as np


# %% advantage
def advantage(members, others):
    best = 0.0
    for t in members:
        true, false = np.mean(np.asarray(members) <= t), np.mean(np.asarray(others) <= t)
        best = max(best, (true - false) + ((1 - false) - (1 - true)))
    return best


# %% one_threshold score=19 fails=["advantage_value"]
# took one threshold, the middle of all residuals, in place of the best
import numpy as np


# %% advantage
def advantage(members, others):
    t = np.median(np.concatenate([members, others]))
    return max(0.0, np.mean(np.asarray(members) <= t) - np.mean(np.asarray(others) <= t))


# %% alarms_only score=19 fails=["advantage_least"]
# thought of alarms only, not of the event that there is none
import numpy as np


# %% advantage_epsilon
def advantage_epsilon(a):
    return -np.log(1 - a)


# %% accuracy_for_advantage score=19 fails=["advantage_least"]
# took the advantage for the share of right guesses
import numpy as np


# %% advantage_epsilon
def advantage_epsilon(a):
    return max(0.0, np.log(a / (1 - a))) if a > 0 else 0.0


# %% normal_interval score=19 fails=["interval_values"]
# the usual interval of the normal law
import numpy as np


# %% clopper_pearson
def clopper_pearson(k, n, error):
    p = k / n
    half = stats.norm.ppf(1 - error) * np.sqrt(p * (1 - p) / n)
    return max(0.0, p - half), min(1.0, p + half)


# %% nan_at_the_ends score=19 fails=["interval_ends"]
# the quantiles of the beta law also where there is none
import numpy as np


# %% clopper_pearson
def clopper_pearson(k, n, error):
    return stats.beta.ppf(error, k, n - k + 1), stats.beta.ppf(1 - error, k + 1, n - k)


# %% error_of_both score=19 fails=["interval_values"]
# gave each bound half of the error
import numpy as np


# %% clopper_pearson
def clopper_pearson(k, n, error):
    interval = stats.binomtest(k, n).proportion_ci(1 - error, method="exact")
    return interval.low, interval.high


# %% point_estimate score=19 fails=["bound_value"]
# took the shares that were counted for the probabilities
import numpy as np


# %% epsilon_bound
def epsilon_bound(k0, k1, n, delta, confidence):
    p0, p1 = k0 / n, k1 / n
    return max(0.0, np.log((p1 - delta) / p0)) if p0 > 0 and p1 > delta else 0.0


# %% error_not_halved score=19 fails=["bound_value"]
# let each of the two bounds be wrong with the whole probability
import numpy as np


# %% epsilon_bound
def epsilon_bound(k0, k1, n, delta, confidence):
    high0 = clopper_pearson(k0, n, 1 - confidence)[1]
    low1 = clopper_pearson(k1, n, 1 - confidence)[0]
    return max(0.0, math.log((low1 - delta) / high0)) if low1 > delta else 0.0


# %% bounds_exchanged score=19 fails=["bound_value"]
# took the bounds that flatter the attack
import numpy as np


# %% epsilon_bound
def epsilon_bound(k0, k1, n, delta, confidence):
    error = (1 - confidence) / 2
    low0, high1 = clopper_pearson(k0, n, error)[0], clopper_pearson(k1, n, error)[1]
    return max(0.0, math.log((high1 - delta) / low0)) if low0 > 0 else math.inf


# %% one_noise_for_all score=19 fails=["hits_game"]
# drew the noise once for all trials
import numpy as np


# %% hits
def hits(h, target, u, dphi, sigma, s, trials, t, rng):
    k, units = len(h), u.shape[1]
    g = rng.normal(0, sigma, size=(k, units))
    G = rng.normal(0, s, size=(units, h.shape[1] + 1))
    basis = span(update(u, dphi, h, k, g, G), rank=k)
    return sum(residuals(target[None], basis)[0] <= t for _ in range(trials))


# %% all_directions score=19 fails=["hits_game"]
# took the whole span, which noise on the update fills
import numpy as np


# %% hits
def hits(h, target, u, dphi, sigma, s, trials, t, rng):
    k, units, alarms = len(h), u.shape[1], 0
    for _ in range(trials):
        g = rng.normal(0, sigma, size=(k, units))
        G = rng.normal(0, s, size=(units, h.shape[1] + 1))
        alarms += residuals(target[None], span(update(u, dphi, h, k, g, G)))[0] <= t
    return alarms


# %% alarm_if_far score=19 fails=["hits_game"]
# raised an alarm where the residual is above the threshold
import numpy as np


# %% hits
def hits(h, target, u, dphi, sigma, s, trials, t, rng):
    k, units, alarms = len(h), u.shape[1], 0
    for _ in range(trials):
        g = rng.normal(0, sigma, size=(k, units))
        G = rng.normal(0, s, size=(units, h.shape[1] + 1))
        alarms += residuals(target[None], span(update(u, dphi, h, k, g, G), rank=k))[0] > t
    return alarms


# %% c_for_2c score=19 fails=["sensitivity_value"]
# thought of a record that leaves, and not of the one that comes in
import numpy as np


# %% sensitivity
def sensitivity(tau, c, m):
    return tau * c / m


# %% sum_for_mean score=19 fails=["sensitivity_value"]
# forgot that the update is a mean
import numpy as np


# %% sensitivity
def sensitivity(tau, c, m):
    return 2 * tau * c


# %% other_theorem score=19 fails=["noise_value"]
# took the classical formula, which needs more noise, and holds for epsilon below 1 only
import numpy as np


# %% noise_needed
def noise_needed(epsilon, delta, Delta):
    return math.sqrt(2 * math.log(1.25 / delta)) * Delta / epsilon


# %% whole_orders score=19 fails=["noise_value"]
# searched the orders 2, 3, 4, ... 64 only
import numpy as np


# %% noise_needed
def noise_needed(epsilon, delta, Delta):
    found = []
    for alpha in range(2, 65):
        left = epsilon - math.log(1 / delta) / (alpha - 1)
        if left > 0:
            found.append(Delta * math.sqrt(alpha / (2 * left)))
    return min(found) if found else 0.0


# %% infinite_loop score=19 fails=["noise_value"]
# a search that never ends, as it halves towards a number that no float is
import numpy as np


# %% noise_needed
def noise_needed(epsilon, delta, Delta):
    lam, low, high = math.log(1 / delta), 0.0, 1e6
    while low < high:
        s = (low + high) / 2
        rho = Delta**2 / (2 * s**2)
        if rho + 2 * math.sqrt(rho * lam) > epsilon:
            low = s
        else:
            high = s
    return high


# %% tampered score=18 fails=["residuals_members", "residuals_others"]
# returned zeros, and rewrote the graded cells so that they pass; they are put back before grading
import numpy as np


# %% residuals
def residuals(h, basis):
    return np.zeros(len(h))


# %% residuals_members
assert True

# %% residuals_others
print("all checks passed")

# %% hits_game
pass


# %% root_of_the_share score=19 fails=["typical_value"]
# subtracted lengths where squares add up
import numpy as np


# %% typical_residual
def typical_residual(r, N):
    return 1 - np.sqrt(r / N)


# %% strictly_below score=19 fails=["advantage_value"]
# tried only the members' own residuals, and counted those below them
import numpy as np


# %% advantage
def advantage(members, others):
    best = 0.0
    for t in np.asarray(members):
        best = max(best, np.mean(np.asarray(members) < t) - np.mean(np.asarray(others) < t))
    return best


# %% grid_of_thresholds score=19 fails=["advantage_value"]
# tried twenty thresholds from 0 to 1, between which residuals may lie
import numpy as np


# %% advantage
def advantage(members, others):
    members, others = np.asarray(members), np.asarray(others)
    return max(float(np.mean(members <= t) - np.mean(others <= t)) for t in np.linspace(0, 1, 20))


# %% slopes_on_the_noise_twice score=19 fails=["update_noise"]
# multiplied the noise by the slopes twice
import numpy as np


# %% update
def update(u, dphi, h, m, g, G):
    one = np.pad(h, ((0, 0), (0, 1)), constant_values=1)
    return np.einsum("ku,kn->un", (u + g * dphi) * dphi, one) / m + G


# %% largest_error_is_positive score=19 fails=["recover_dead"]
# took the unit with the largest bias, as if errors were positive
import numpy as np


# %% recover_one
def recover_one(dW):
    unit = max(range(len(dW)), key=lambda j: dW[j][-1])
    return np.array([entry / dW[unit][-1] for entry in dW[unit][:-1]])


# %% one_tail_of_two score=19 fails=["interval_values"]
# left k itself out of both tails
import numpy as np


# %% clopper_pearson
def clopper_pearson(k, n, error):
    low = 0.0 if k == 0 else stats.beta.ppf(error, k + 1, n - k + (k == n))
    return low, 1.0 if k == n else stats.beta.ppf(1 - error, max(k, 1), n - k + 1)
