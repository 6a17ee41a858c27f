"""Typical mistakes, each with its score out of 20 points and the cells that lose their points.

A line ("cell", "old", "new") replaces text in a cell of the reference solution. The old text occurs there once.
"""

# %% bias_forgotten score=19 fails=["update_value"]
# left out the bias, so one column is missing
("update", "inputs = np.hstack([h, np.ones((len(h), 1))])", "inputs, G = h, G[:, :-1]")

# %% bias_first score=19 fails=["update_value"]
# put the bias in the first column
("update", "[h, np.ones((len(h), 1))]", "[np.ones((len(h), 1)), h]")

# %% batch_for_m score=19 fails=["update_value"]
# divided by the number of records in the batch instead of m
("update", "/ m", "/ max(len(h), 1)")

# %% noise_after_derivative score=19 fails=["update_noise"]
# added g after the product with the derivatives
("update", "(u + g) * dphi", "u * dphi + g")

# %% noise_averaged score=19 fails=["update_noise"]
# divided G by m, too
("update", "/ m + G", "/ m + G / m")

# %% paper_sign score=19 fails=["update_value"]
# kept the minus sign of the paper, which the text leaves out
("update", "return (", "return -(")

# %% column_space score=19 fails=["span_rows"]
# took left singular vectors, which span the columns
("span", "_, values, Vt = np", "U, values, _ = np")
("span", "return Vt[", "return U.T[")

# %% basis_in_columns score=19 fails=["span_rows"]
# returned the basis vectors as columns
("span", "[:rank]", "[:rank].T")

# %% no_tolerance score=19 fails=["span_tolerance"]
# kept the directions that come from rounding
("span", "tol * values[0]", "0")

# %% absolute_tolerance score=19 fails=["span_tolerance"]
# compared singular values with tol itself
("span", "tol * values[0]", "tol")

# %% zeros_span_all score=19 fails=["span_tolerance"]
# kept singular values equal to the tolerance, and so every direction of an update of zeros
("span", "values > tol * values[0]", "values >= tol * values[0]")

# %% smallest_first score=19 fails=["span_leading"]
# took the directions in ascending order, with the smallest first
("span", "Vt[values > tol * values[0]][:rank]", "Vt[values > tol * values[0]][::-1][:rank]")

# %% rank_zero_is_no_rank score=19 fails=["span_leading"]
# treated rank = 0 as if no rank were given
("span", "[:rank]", "[: rank or None]")

# %% not_relative score=19 fails=["residuals_others"]
# did not divide by the norm of the candidate
("residuals", " / np.linalg.norm(inputs, axis=1)", "")

# %% square_of_rho score=19 fails=["residuals_others"]
# returned the square of the residual
(
    "residuals",
    "np.linalg.norm(rest, axis=1) / np.linalg.norm(inputs, axis=1)",
    "(np.linalg.norm(rest, axis=1) / np.linalg.norm(inputs, axis=1)) ** 2",
)

# %% share_inside score=19 fails=["residuals_members"]
# measured the part inside the span, not the part outside
("residuals", "inputs - (inputs @ basis.T) @ basis", "inputs @ basis.T")

# %% candidate_without_bias score=19 fails=["residuals_members"]
# left out the 1 of the candidate and the last column of the basis
("residuals", "inputs = np.hstack([h, np.ones((len(h), 1))])", "inputs, basis = h, basis[:, :-1]")

# %% half_a_projector score=19 fails=["residuals_members"]
# multiplied by the Gram matrix of the basis, which is no projection
("residuals", "(inputs @ basis.T) @ basis", "inputs @ (basis @ basis.T)")

# %% typical_square score=19 fails=["typical_value"]
# returned the mean of the square, not its square root
("typical_residual", "np.sqrt(1 - r / N)", "1 - r / N")

# %% typical_inside score=19 fails=["typical_value"]
# took the part inside the span
("typical_residual", "np.sqrt(1 - r / N)", "np.sqrt(r / N) if r else 1.0")

# %% first_unit score=19 fails=["recover_dead"]
# computed the record from the first unit, even if this unit is dead
("recover_one", "dW[np.argmax(np.abs(dW[:, -1]))]", "dW[0]")

# %% sum_of_units score=19 fails=["recover_dead"]
# summed over the units, so that their errors can cancel
("recover_one", "dW[np.argmax(np.abs(dW[:, -1]))]", "dW.sum(axis=0)")

# %% ratio_turned score=19 fails=["recover_record"]
# divided the bias by the other entries
("recover_one", "row[:-1] / row[-1]", "row[-1] / row[:-1]")


# %% normal_interval score=19 fails=["interval_values"]
# used the usual interval of the normal distribution
# %% clopper_pearson
def clopper_pearson(alarms, trials, error):
    p = alarms / trials
    half = stats.norm.ppf(1 - error) * np.sqrt(p * (1 - p) / trials)
    return max(0.0, p - half), min(1.0, p + half)


# %% nan_at_the_ends score=19 fails=["interval_ends"]
# used the quantiles of the beta distribution also where this distribution does not exist
("clopper_pearson", " if alarms > 0 else 0.0", "")
("clopper_pearson", " if alarms < trials else 1.0", "")

# %% error_of_both score=19 fails=["interval_values"]
# gave each bound only half of the error
("clopper_pearson", "low =", "error = error / 2\n    low =")

# %% point_estimate score=19 fails=["bound_value"]
# used the counted shares as probabilities
("epsilon_bound", "clopper_pearson(false_alarms, trials, error)[1]", "false_alarms / trials")
("epsilon_bound", "clopper_pearson(true_alarms, trials, error)[0]", "true_alarms / trials")
("epsilon_bound", "if low > delta", "if high > 0 and low > delta")

# %% error_not_halved score=19 fails=["bound_value"]
# gave the whole error probability to each of the two bounds
("epsilon_bound", "(1 - confidence) / 2", "1 - confidence")

# %% bounds_exchanged score=19 fails=["bound_value"]
# took the bounds that favour the attack
("epsilon_bound", "clopper_pearson(false_alarms, trials, error)[1]", "clopper_pearson(false_alarms, trials, error)[0]")
("epsilon_bound", "clopper_pearson(true_alarms, trials, error)[0]", "clopper_pearson(true_alarms, trials, error)[1]")
("epsilon_bound", "if low > delta else 0.0", "if high > 0 else math.inf")


# %% one_noise_for_all score=18 fails=["hits_game"]
# drew the noise only once for all trials
# %% hits
def hits(h, target, u, dphi, sigma, s, trials, t, rng):
    k, units = len(h), u.shape[1]
    g = rng.normal(0, sigma, size=(k, units))
    G = rng.normal(0, s, size=(units, h.shape[1] + 1))
    basis = span(update(u, dphi, h, k, g, G), rank=k)
    return sum(residuals(target[None], basis)[0] <= t for _ in range(trials))


# %% all_directions score=18 fails=["hits_game"]
# took the whole span, which has every direction with noise on the update
("hits", ", rank=k", "")

# %% alarm_if_far score=18 fails=["hits_game"]
# raised an alarm if the residual is above the threshold
("hits", "[0] <= t", "[0] > t")

# %% c_for_2c score=19 fails=["sensitivity_value"]
# counted the record that leaves, but not the record that enters
("sensitivity", "2 * tau", "tau")

# %% sum_for_mean score=19 fails=["sensitivity_value"]
# forgot that the update is a mean
("sensitivity", " / m", "")

# %% guessed_in_percent score=19 fails=["guess_made"]
# guessed in percent
("guess", "[0.6, 0.8, 0.9]", "[60, 80, 90]")

# %% noise_fills_the_matrix score=19 fails=["larger_noise_answer"]
# thought that enough noise makes the rank full
("larger_noise", '"c"', '"a"')

# %% noise_turns_the_space score=19 fails=["larger_noise_answer"]
# thought that larger noise changes the row space
("larger_noise", '"c"', '"b"')

# %% never_wrong_is_infinite score=19 fails=["never_wrong_answer"]
# used the counted share of zero as the probability of a mistake
("never_wrong", '"b"', '"a"')

# %% columns_add_up score=19 fails=["columns_answer"]
# added the divergences of releases with the same noise
("columns", '"a"', '"b"')

# %% noise_counts_once score=19 fails=["columns_answer"]
# thought that shared noise counts only once
("columns", '"a"', '"c"')

# %% no_reason score=19 fails=["columns_answer"]
# gave a letter with too short a reason
(
    "columns",
    "Divergences add up only for independent noise, and the correlation of the columns shows the inputs.",
    "It is obvious.",
)


# %% infinite_loop score=19 fails=["recover_dead"]
# searched for a living unit in a loop that never goes to the next unit
# %% recover_one
def recover_one(dW):
    j = 0
    while dW[j, -1] == 0:
        continue
    return dW[j, :-1] / dW[j, -1]


# %% tampered score=18 fails=["residuals_members", "residuals_others"]
# returned zeros, and rewrote the graded cells so that they pass; grading restores these cells
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
# subtracted norms instead of squared norms
("typical_residual", "np.sqrt(1 - r / N)", "1 - np.sqrt(r / N)")

# %% derivatives_on_the_noise_twice score=19 fails=["update_noise"]
# multiplied the noise by the derivatives twice
("update", "(u + g)", "(u + g * dphi)")

# %% largest_error_is_positive score=19 fails=["recover_dead"]
# took the unit with the largest bias, and forgot that errors can be negative
("recover_one", "np.abs(dW[:, -1])", "dW[:, -1]")

# %% one_tail_of_two score=19 fails=["interval_values"]
# left the counted number of alarms out of both tails
("clopper_pearson", "alarms, trials - alarms + 1)", "alarms + 1, trials - alarms + (alarms == trials))")
("clopper_pearson", "alarms + 1, trials - alarms) if", "max(alarms, 1), trials - alarms + 1) if")

# %% same_noise_for_all_records score=18 fails=["hits_game"]
# drew one g in every trial and gave it to all records of the batch
("hits", "rng.normal(0, sigma, size=(k, units))", "np.tile(rng.normal(0, sigma, size=units), (k, 1))")

# %% sum_in_the_game score=18 fails=["hits_game"]
# computed the updates of the game with m = 1
("hits", "h, k, g, G)", "h, 1, g, G)")

# %% no_noise_on_errors score=18 fails=["hits_game"]
# left out the noise on the errors
("hits", "rng.normal(0, sigma, size=(k, units))", "0")

# %% one_draw_for_all_errors score=18 fails=["hits_game"]
# drew one value for all errors of a trial
("hits", "rng.normal(0, sigma, size=(k, units))", "rng.normal(0, sigma)")

# %% laplace_noise score=18 fails=["hits_game"]
# drew Laplace noise for the update
("hits", "rng.normal(0, s, ", "rng.laplace(0, s, ")

# %% unit_by_first_pixel score=19 fails=["recover_dead"]
# chose the unit by its first weight, which is 0 for a black pixel
("recover_one", "dW[:, -1]", "dW[:, 0]")

# %% axes_exchanged score=19 fails=["update_value"]
# multiplied the matrices in the other order
("update", "((u + g) * dphi).T @ inputs", "inputs @ ((u + g) * dphi).T")

# %% all_vectors score=19 fails=["span_rows"]
# took all right singular vectors, also those without a singular value
("span", ", full_matrices=False", "")

# %% coordinates_for_projection score=19 fails=["residuals_members"]
# subtracted the coordinates in the basis instead of the projection
("residuals", "(inputs @ basis.T) @ basis", "inputs @ basis.T")

# %% slips
# each line: one slip in the reference solution, and the graded cell that loses its points
("update", "inputs = np.hstack([h, np.ones((len(h), 1))])", "inputs = h", "update_value")
("update", "((u + g) * dphi).T @ inputs", "(inputs.T @ ((u + g) * dphi))", "update_value")
("update", "/ m", "/ len(h)", "update_value")
("span", "return Vt[", "return (values[:, None] * Vt)[", "span_rows")
("span", "np.linalg.svd(dW, ", "np.linalg.svd(np.transpose(dW), ", "span_rows")
("span", "[:rank]", "", "span_leading")
("residuals", "np.ones((len(h), 1))", "np.zeros((len(h), 1))", "residuals_members")
("residuals", "inputs - (inputs @ basis.T) @ basis", "(inputs @ basis.T) @ basis", "residuals_members")
("residuals", "inputs - (inputs", "inputs + (inputs", "residuals_members")
("residuals", "np.linalg.norm(rest, axis=1) / np", "np.linalg.norm(rest, axis=1) ** 2 / np", "residuals_others")
("residuals", "np.linalg.norm(inputs, axis=1)", "np.linalg.norm(h, axis=1)", "residuals_others")
("recover_one", "row[:-1] / row[-1]", "row / row[-1]", "recover_record")
("recover_one", "row[:-1] / row[-1]", "row[:-1]", "recover_record")
("recover_one", "row[:-1] / row[-1]", "row[1:] / row[0]", "recover_record")
("clopper_pearson", "trials - alarms + 1) if", "trials - alarms) if", "interval_values")
("clopper_pearson", "ppf(error, alarms", "ppf(error / 2, alarms", "interval_values")
("clopper_pearson", "ppf(1 - error, alarms + 1", "ppf(1 - error, alarms", "interval_values")
("clopper_pearson", "return low, high", "return high, low", "interval_values")
("clopper_pearson", " if alarms > 0 else 0.0", "", "interval_ends")
("clopper_pearson", "if alarms < trials else 1.0", "if alarms < trials else 0.0", "interval_ends")
(
    "update",
    "    inputs = np",
    "    if len(h) == 0:\n        return np.zeros((u.shape[1], h.shape[1] + 1))\n    inputs = np",
    "update_noise",
)
