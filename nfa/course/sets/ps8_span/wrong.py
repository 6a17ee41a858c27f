"""Typical mistakes: the score that each must get of 20 points, and the cells whose points it must lose.

A line ("cell", "old", "new") replaces text in the reference solution, which has the old text in that cell once.
"""

# %% bias_forgotten score=19 fails=["update_value"]
# left the bias out: one column too few
("update", "read = np.hstack([h, np.ones((len(h), 1))])", "read, G = h, G[:, :-1]")

# %% bias_first score=19 fails=["update_value"]
# put the bias in the first column
("update", "[h, np.ones((len(h), 1))]", "[np.ones((len(h), 1)), h]")

# %% batch_for_m score=19 fails=["update_value"]
# divided by the number of records that came in place of m
("update", "/ m", "/ max(len(h), 1)")

# %% noise_after_slope score=19 fails=["update_noise"]
# added g after the slopes
("update", "(u + g) * dphi", "u * dphi + g")

# %% noise_averaged score=19 fails=["update_noise"]
# divided G by m as well
("update", "/ m + G", "/ m + G / m")

# %% paper_sign score=19 fails=["update_value"]
# kept the paper's minus, which the text leaves out
("update", "return (", "return -(")

# %% noise_fills_rank score=19 fails=["rank_predicted"]
# thought that any noise makes the rank full
("predicted_rank", 'min(k, units, N) if noise == "error" else min(units, N)', "min(units, N)")

# %% rank_of_batch score=19 fails=["rank_predicted"]
# forgot that there may be more records than units
("predicted_rank", "min(k, units, N)", "k")

# %% column_space score=19 fails=["span_rows"]
# took the space of the columns: left singular vectors
("span", "_, s, Vt = np", "U, s, _ = np")
("span", "return Vt[", "return U.T[")

# %% basis_in_columns score=19 fails=["span_rows"]
# returned the basis vectors as columns
("span", "[:rank]", "[:rank].T")

# %% no_tolerance score=19 fails=["span_tolerance"]
# kept the directions that rounding makes
("span", "tol * s[0]", "0")

# %% absolute_tolerance score=19 fails=["span_tolerance"]
# held singular values against tol itself
("span", "tol * s[0]", "tol")

# %% zeros_span_all score=19 fails=["span_tolerance"]
# kept singular values that equal the tolerance, and so every direction of an update of zeros
("span", "s > tol * s[0]", "s >= tol * s[0]")

# %% smallest_first score=19 fails=["span_leading"]
# took the eigenvectors as they come, the smallest first
("span", "Vt[s > tol * s[0]][:rank]", "Vt[s > tol * s[0]][::-1][:rank]")

# %% not_relative score=19 fails=["residuals_others"]
# did not divide by the length of the candidate
("residuals", " / np.linalg.norm(read, axis=1)", "")

# %% square_of_rho score=19 fails=["residuals_others"]
# forgot the roots
(
    "residuals",
    "np.linalg.norm(rest, axis=1) / np.linalg.norm(read, axis=1)",
    "(np.linalg.norm(rest, axis=1) / np.linalg.norm(read, axis=1)) ** 2",
)

# %% share_inside score=19 fails=["residuals_members"]
# measured what is in the span, not what is outside
("residuals", "read - (read @ basis.T) @ basis", "read @ basis.T")

# %% candidate_without_bias score=19 fails=["residuals_members"]
# left the 1 of the candidate out, and the last column of the basis with it
("residuals", "read = np.hstack([h, np.ones((len(h), 1))])", "read, basis = h, basis[:, :-1]")

# %% half_a_projector score=19 fails=["residuals_members"]
# took the basis for a projector, without its transpose
("residuals", "(read @ basis.T) @ basis", "read @ (basis @ basis.T)")

# %% typical_square score=19 fails=["typical_value"]
# returned the mean of the square, not its root
("typical_residual", "np.sqrt(1 - r / N)", "1 - r / N")

# %% typical_inside score=19 fails=["typical_value"]
# took the part that is in the span
("typical_residual", "np.sqrt(1 - r / N)", "np.sqrt(r / N) if r else 1.0")

# %% first_unit score=19 fails=["recover_dead"]
# read the record off the first unit, dead or not
("recover_one", "dW[np.argmax(np.abs(dW[:, -1]))]", "dW[0]")

# %% sum_of_units score=19 fails=["recover_dead"]
# added the units up, whose errors may cancel
("recover_one", "dW[np.argmax(np.abs(dW[:, -1]))]", "dW.sum(axis=0)")

# %% ratio_turned score=19 fails=["recover_record"]
# divided the bias by the row
("recover_one", "row[:-1] / row[-1]", "row[-1] / row[:-1]")


# %% mixtures score=19 fails=["recover_mixed"]
# took two rows, each divided by its bias, for the two records
# %% recover_two
def recover_two(dW):
    return dW[:2, :-1] / dW[:2, -1:]


# %% threshold_turned score=19 fails=["advantage_value"]
# raised an alarm where the residual is large
(
    "advantage",
    "(members <= t).mean() - (others <= t).mean() for t in members",
    "(members >= t).mean() - (others >= t).mean() for t in [*members, *others]",
)

# %% advantage_twice score=19 fails=["advantage_value"]
# counted the advantage of alarms and that of no alarms
("advantage", "((members <= t)", "(2 * ((members <= t)")
("advantage", "(others <= t).mean()", "(others <= t).mean())")

# %% one_threshold score=19 fails=["advantage_value"]
# took one threshold, the middle of all residuals, in place of the best
("advantage", "for t in members", "for t in [np.median([*members, *others])]")

# %% alarms_only score=19 fails=["advantage_least"]
# thought of alarms only, not of the event that there is none
("advantage_epsilon", "np.log((1 + a) / (1 - a))", "-np.log(1 - a)")

# %% accuracy_for_advantage score=19 fails=["advantage_least"]
# took the advantage for the share of right guesses
("advantage_epsilon", "np.log((1 + a) / (1 - a))", "max(0.0, np.log(a / (1 - a))) if a > 0 else 0.0")


# %% normal_interval score=19 fails=["interval_values"]
# the usual interval of the normal law
# %% clopper_pearson
def clopper_pearson(k, n, error):
    p = k / n
    half = stats.norm.ppf(1 - error) * np.sqrt(p * (1 - p) / n)
    return max(0.0, p - half), min(1.0, p + half)


# %% nan_at_the_ends score=19 fails=["interval_ends"]
# the quantiles of the beta law also where there is none
("clopper_pearson", " if k > 0 else 0.0", "")
("clopper_pearson", " if k < n else 1.0", "")

# %% error_of_both score=19 fails=["interval_values"]
# gave each bound half of the error
("clopper_pearson", "low =", "error = error / 2\n    low =")

# %% point_estimate score=19 fails=["bound_value"]
# took the shares that were counted for the probabilities
("epsilon_bound", "clopper_pearson(k0, n, error)[1]", "k0 / n")
("epsilon_bound", "clopper_pearson(k1, n, error)[0]", "k1 / n")
("epsilon_bound", "if low1 > delta", "if high0 > 0 and low1 > delta")

# %% error_not_halved score=19 fails=["bound_value"]
# let each of the two bounds be wrong with the whole probability
("epsilon_bound", "(1 - confidence) / 2", "1 - confidence")

# %% bounds_exchanged score=19 fails=["bound_value"]
# took the bounds that flatter the attack
("epsilon_bound", "clopper_pearson(k0, n, error)[1]", "clopper_pearson(k0, n, error)[0]")
("epsilon_bound", "clopper_pearson(k1, n, error)[0]", "clopper_pearson(k1, n, error)[1]")
("epsilon_bound", "if low1 > delta else 0.0", "if high0 > 0 else math.inf")


# %% one_noise_for_all score=19 fails=["hits_game"]
# drew the noise once for all trials
# %% hits
def hits(h, target, u, dphi, sigma, s, trials, t, rng):
    k, units = len(h), u.shape[1]
    g = rng.normal(0, sigma, size=(k, units))
    G = rng.normal(0, s, size=(units, h.shape[1] + 1))
    basis = span(update(u, dphi, h, k, g, G), rank=k)
    return sum(residuals(target[None], basis)[0] <= t for _ in range(trials))


# %% all_directions score=19 fails=["hits_game"]
# took the whole span, which noise on the update fills
("hits", ", rank=k", "")

# %% alarm_if_far score=19 fails=["hits_game"]
# raised an alarm where the residual is above the threshold
("hits", "[0] <= t", "[0] > t")

# %% c_for_2c score=19 fails=["sensitivity_value"]
# thought of a record that leaves, and not of the one that comes in
("sensitivity", "2 * tau", "tau")

# %% sum_for_mean score=19 fails=["sensitivity_value"]
# forgot that the update is a mean
("sensitivity", " / m", "")

# %% other_theorem score=19 fails=["noise_value"]
# took the classical formula, which needs more noise, and holds for epsilon below 1 only
(
    "noise_needed",
    "Delta / math.sqrt(2) / (math.sqrt(lam + epsilon) - math.sqrt(lam))",
    "math.sqrt(2 * math.log(1.25 / delta)) * Delta / epsilon",
)


# %% whole_orders score=19 fails=["noise_value"]
# searched the orders 2, 3, 4, ... 64 only
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
("typical_residual", "np.sqrt(1 - r / N)", "1 - np.sqrt(r / N)")

# %% strictly_below score=19 fails=["advantage_value"]
# tried only the members' own residuals, and counted those below them
("advantage", "(members <= t)", "(members < t)")
("advantage", "(others <= t)", "(others < t)")

# %% grid_of_thresholds score=19 fails=["advantage_value"]
# tried twenty thresholds from 0 to 1, between which residuals may lie
("advantage", "for t in members", "for t in np.linspace(0, 1, 20)")

# %% slopes_on_the_noise_twice score=19 fails=["update_noise"]
# multiplied the noise by the slopes twice
("update", "(u + g)", "(u + g * dphi)")

# %% largest_error_is_positive score=19 fails=["recover_dead"]
# took the unit with the largest bias, as if errors were positive
("recover_one", "np.abs(dW[:, -1])", "dW[:, -1]")

# %% one_tail_of_two score=19 fails=["interval_values"]
# left k itself out of both tails
("clopper_pearson", "k, n - k + 1)", "k + 1, n - k + (k == n))")
("clopper_pearson", "k + 1, n - k) if k < n", "max(k, 1), n - k + 1) if k < n")

# %% no_noise_on_errors score=19 fails=["hits_game"]
# left the noise on the errors out
("hits", "rng.normal(0, sigma, size=(k, units))", "0")

# %% one_draw_for_all_errors score=19 fails=["hits_game"]
# drew one number for all errors of a trial
("hits", "rng.normal(0, sigma, size=(k, units))", "rng.normal(0, sigma)")

# %% laplace_noise score=19 fails=["hits_game"]
# drew Laplace noise for the update
("hits", "rng.normal(0, s, ", "rng.laplace(0, s, ")

# %% unit_by_first_pixel score=19 fails=["recover_dead"]
# chose the unit by its first weight, which is 0 for a black pixel
("recover_one", "dW[:, -1]", "dW[:, 0]")

# %% along_without_size score=19 fails=["recover_mixed"]
# looked for the largest entry, as if it were positive
("recover_two", "np.abs(along)", "along")

# %% axes_exchanged score=19 fails=["update_value"]
# multiplied in the other order
("update", "((u + g) * dphi).T @ read", "read @ ((u + g) * dphi).T")

# %% all_vectors score=19 fails=["span_rows"]
# took all right singular vectors, also those without a singular value
("span", ", full_matrices=False", "")

# %% coordinates_for_projection score=19 fails=["residuals_members"]
# subtracted the coordinates in the basis in place of the projection
("residuals", "(read @ basis.T) @ basis", "read @ basis.T")

# %% slips
# one slip in the reference solution, and the one graded cell that it must fail
("update", "read = np.hstack([h, np.ones((len(h), 1))])", "read = h", "update_value")
("update", "((u + g) * dphi).T @ read", "(read.T @ ((u + g) * dphi))", "update_value")
("update", "/ m", "/ len(h)", "update_value")
("span", "return Vt[s > tol * s[0]][:rank]", "return (s[:, None] * Vt)[s > tol * s[0]][:rank]", "span_rows")
("span", "np.linalg.svd(dW, ", "np.linalg.svd(np.transpose(dW), ", "span_rows")
("span", "[:rank]", "", "span_leading")
("residuals", "np.ones((len(h), 1))", "np.zeros((len(h), 1))", "residuals_members")
("residuals", "read - (read @ basis.T) @ basis", "(read @ basis.T) @ basis", "residuals_members")
("residuals", "read - (read", "read + (read", "residuals_members")
("residuals", "np.linalg.norm(rest, axis=1) / np", "np.linalg.norm(rest, axis=1) ** 2 / np", "residuals_others")
("residuals", "np.linalg.norm(read, axis=1)", "np.linalg.norm(h, axis=1)", "residuals_others")
("recover_one", "row[:-1] / row[-1]", "row / row[-1]", "recover_record")
("recover_one", "row[:-1] / row[-1]", "row[:-1]", "recover_record")
("recover_one", "row[:-1] / row[-1]", "row[1:] / row[0]", "recover_record")
("clopper_pearson", "n - k + 1) if", "n - k) if", "interval_values")
("clopper_pearson", "ppf(error, k", "ppf(error / 2, k", "interval_values")
("clopper_pearson", "ppf(1 - error, k + 1", "ppf(1 - error, k", "interval_values")
("clopper_pearson", "return low, high", "return high, low", "interval_values")
("clopper_pearson", " if k > 0 else 0.0", "", "interval_ends")
("clopper_pearson", "if k < n else 1.0", "if k < n else 0.0", "interval_ends")
