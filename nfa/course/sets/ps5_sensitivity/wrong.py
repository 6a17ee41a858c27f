"""Typical mistakes, each with its score out of 20 points and the cells that lose their points.

A line ("cell", "old", "new") replaces text in a cell of the reference solution. The old text occurs there once.
"""

# %% guessed_in_percent score=19 fails=["guess_made"]
# guessed percentages
("guess", "[0.6, 0.6]", "[60, 60]")

# %% local_sensitivity score=19 fails=["own_noise_answer"]
# thought that the noise must cover only the data set at hand
("own_noise", '"b"', '"a"')

# %% no_reason score=19 fails=["own_noise_answer"]
# gave a letter and hardly a reason
(
    "own_noise",
    "The standard deviation depends on the records, so an output that is exactly 0 tells the two neighbours apart.",
    "It is obvious.",
)

# %% true_bound score=19 fails=["divisor_answer"]
# thought that a true bound can always set the noise
("divisor", '"c"', '"a"')

# %% size_is_no_record score=19 fails=["divisor_answer"]
# published the size of the batch
("divisor", '"c"', '"b"')

# %% bias_as_a_column score=19 fails=["constant_input_answer"]
# gave the bias with an input of 1 the bound of a clipped column
("constant_input", '"a"', '"b"')

# %% constant_cancels score=19 fails=["constant_input_answer"]
# thought that a constant input cancels
("constant_input", '"a"', '"c"')

# %% largest_layer score=19 fails=["joint_parts"]
# took the largest sensitivity of a layer for the sensitivity of all layers
("joint", "math.sqrt(sum(delta**2 for delta in deltas))", "max(deltas)")

# %% sum_of_layers score=19 fails=["joint_parts"]
# added the sensitivities of the layers, which is a bound, but not the smallest
("joint", "math.sqrt(sum(delta**2 for delta in deltas))", "sum(deltas)")

# %% l1_norm score=19 fails=["sensitivity_norm"]
# added up the absolute differences of the entries, which is the l1 norm
("sensitivity", "np.linalg.norm(f(list(D)) - f(other))", "np.sum(np.abs(f(list(D)) - f(other)))")

# %% mean_over_pairs score=18 fails=["sensitivity_values"]
# took the mean over all pairs of neighbours in place of the largest distance
("sensitivity", "largest = 0.0", "moved = []")
(
    "sensitivity",
    "largest = max(largest, np.linalg.norm(f(list(D)) - f(other)))",
    "moved.append(np.linalg.norm(f(list(D)) - f(other)))",
)
("sensitivity", "return largest", "return np.mean(moved)")

# %% pairs_of_sizes_in_a_row score=18 fails=["sensitivity_values"]
# under add-remove, paired each size only with the next size in the list as given
(
    "sensitivity",
    "for n in sizes:",
    "for n, size in zip(sizes, sizes) if relation == 'replace-one' else zip(sizes, sizes[1:]):",
)
("sensitivity", "if len(other) in sizes:", "if len(other) == size:")

# %% largest_of_no_pair score=18 fails=["sensitivity_values"]
# began with minus infinity, which is not the sensitivity if there is no pair
("sensitivity", "largest = 0.0", "largest = -math.inf")

# %% sizes_ignored score=18 fails=["sensitivity_values"]
# used neighbours with a size that is not in the list
("sensitivity", "len(other) in sizes", "True")

# %% one_term_of_the_mean score=19 fails=["mean_predicted"]
# removed one term of the mean and forgot that the divisor of the mean changes
("mean_moves", "(b - a) / n", '(b - a) / n if relation == "replace-one" else max(abs(a), abs(b)) / n')

# %% sign score=19 fails=["mean_predicted"]
# returned a - b in place of b - a
("mean_moves", "b - a", "a - b")

# %% robust_median score=19 fails=["median_predicted"]
# thought that the median moves as little as the mean
("median_moves", 'b - a if relation == "replace-one" else (b - a) / 2', "(b - a) / n")


# %% infinite_loop score=19 fails=["joint_parts"]
# added small numbers until the square is equal to the sum, which never happens
# %% joint
def joint(deltas):
    total = 0.0
    while total**2 != sum(delta**2 for delta in deltas):
        total += 0.3
    return total


# %% not_neighbours score=19 fails=["pair_of_size"]
# reversed two records at once, so the batches are no neighbours
("pair_size", "[[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]", "[[1.0, 0.0], [-1.0, 0.0], [-1.0, 0.0]]")


# %% expectation score=17 fails=["pair_of_expected", "bound_of_expected"]
# believed the argument about the mean norm, with an error of unchanged norm as evidence
# %% pair_expected
def pair_expected():
    e = np.random.default_rng(0).normal(size=(10_000, 3))
    e /= np.linalg.norm(e, axis=1, keepdims=True)
    usual = e[np.argmin(np.abs(np.linalg.norm(e @ B.T, axis=1) - 1))]
    return "holds", [usual], [-usual]


# %% bound_expected
def bound_expected(B, m, tau_e):
    return 2 * tau_e / m


# %% frobenius score=18 fails=["bound_of_expected"]
# took the Frobenius norm of B in place of the spectral norm
("bound_expected", "np.linalg.norm(B, 2)", "np.linalg.norm(B)")

# %% all_fail score=18 fails=["pair_of_column", "pair_of_label"]
# said that every claim fails, with the farthest neighbours as evidence
("pair_column", '"holds"', '"fails"')
("pair_label", '"holds"', '"fails"')

# %% same_label score=18 fails=["pair_of_total"]
# replaced the input and kept the label
("pair_total", "[([1.0, 1.0], 1)]", "[([1.0, 0.9], 0)]")

# %% top_through_beta score=18 fails=["bound_of_total"]
# multiplied the error of the output layer by a feedback matrix
("bound_total", "(L - 1) * (gamma * beta) ** 2", "(L - 1) * gamma**2")
("bound_total", "2 / m * tau_e", "2 / m * beta * tau_e")

# %% c_for_two_c_in_total score=18 fails=["bound_of_total"]
# used the add-remove bound for replace-one
("bound_total", "2 / m * tau_e", "1 / m * tau_e")

# %% thousand_times score=18 fails=["bound_of_total"]
# returned a thousand times the claimed number to be safe
(
    "bound_total",
    "2 / m * tau_e * math.sqrt((1 + tau_h**2) * (1 + hidden))",
    "1000 * claimed_total(L, m, gamma, beta, tau_e, tau_h)",
)

# %% output_for_all score=18 fails=["bound_of_total"]
# gave every layer the share of the output layer, which is a bound, but too large
("bound_total", "(1 + hidden)", "L")

# %% confident score=19 fails=["pair_of_label"]
# said correctly that the claim "label" holds, with a y_hat for which one error is clipped
("pair_label", "[([0.5, 0.5], 0)], [([0.5, 0.5], 1)]", "[([0.99, 0.01], 0)], [([0.99, 0.01], 1)]")

# %% other_input score=19 fails=["pair_of_label"]
# replaced the whole record, although only its label may change
("pair_label", '"holds", [([0.5, 0.5], 0)], [([0.5, 0.5], 1)]', '"fails", [([0.99, 0.01], 1)], [([0.01, 0.99], 0)]')


# %% tampered score=17 fails=["sensitivity_values", "sensitivity_norm"]
# returned 0, and rewrote the graded cells so that they pass; grading restores these cells
# %% sensitivity
def sensitivity(f, domain, sizes, relation):
    return 0.0


# %% sensitivity_values
assert True


# %% sensitivity_norm
print("all checks passed")

# %% column_sums score=18 fails=["bound_of_expected"]
# took the largest column sum for the norm of the matrix
("bound_expected", "np.linalg.norm(B, 2)", "np.linalg.norm(B, 1)")

# %% biggest_entry score=19 fails=["sensitivity_norm"]
# took the largest entry of the difference of two vectors
("sensitivity", "np.linalg.norm(f(list(D)) - f(other))", "np.max(np.abs(f(list(D)) - f(other)))")

# %% largest_size_alone score=18 fails=["sensitivity_values"]
# tried the data sets of the largest size only
("sensitivity", "for n in sizes:", "for n in [max(sizes)]:")

# %% starts_at_one score=18 fails=["sensitivity_values"]
# began the search at 1, which is wrong if all distances are smaller
("sensitivity", "largest = 0.0", "largest = 1.0")

# %% sizes_between score=18 fails=["sensitivity_values"]
# used all sizes between the smallest and the largest of the list
("sensitivity", "len(other) in sizes", "min(sizes) <= len(other) <= max(sizes)")

# %% no_record_twice score=18 fails=["sensitivity_values"]
# tried no data set in which a record occurs twice
("sensitivity", "itertools.product(domain, repeat=n)", "itertools.combinations(domain, n)")

# %% output_counted_twice score=18 fails=["bound_of_total"]
# also counted the output layer as a hidden layer
("bound_total", "(L - 1)", "L")

# %% slips
# each line: one slip in the reference solution, and the graded cell that loses its points
("sensitivity", "max(largest, ", "(largest + ", "sensitivity_values")
("sensitivity", "np.linalg.norm(f(list(D)) - f(other))", "np.sum((f(list(D)) - f(other)) ** 2)", "sensitivity_values")
("sensitivity", "np.linalg.norm(f(list(D)) - f(other))", "abs(f(list(D)) - f(other))", "sensitivity_norm")
("sensitivity", "len(other) in sizes", "len(other) == n", "sensitivity_values")
("sensitivity", "neighbours(list(D), domain, relation)", "neighbours(domain, list(D), relation)", "sensitivity_values")
("joint", "delta**2", "delta", "joint_parts")
("own_noise", '"b"', '"c"', "own_noise_answer")
("bound_total", "1 + tau_h**2", "tau_h**2", "bound_of_total")
