"""Typical mistakes: the score that each must get of 20 points, and the cells whose points it must lose.

A line ("cell", "old", "new") replaces text in the reference solution, which has the old text in that cell once.
"""

# %% largest_layer score=19 fails=["joint_parts"]
# took the largest of the layers' sensitivities for that of all together
("joint", "math.sqrt(sum(delta**2 for delta in deltas))", "max(deltas)")

# %% sum_of_layers score=19 fails=["joint_parts"]
# added the layers' sensitivities up: a bound, but not the smallest
("joint", "math.sqrt(sum(delta**2 for delta in deltas))", "sum(deltas)")

# %% relations_swapped score=19 fails=["neighbours_replace"]
# took add-remove for replace-one and the other way round
("neighbours", '[rest] if relation == "add-remove"', '[rest] if relation == "replace-one"')
("neighbours", '    if relation == "add-remove":', '    if relation == "replace-one":')

# %% never_adds score=19 fails=["neighbours_add_remove"]
# took records away and added none
("neighbours", '    if relation == "add-remove":\n        found += [[*D, record] for record in domain]\n', "")

# %% first_record_only score=19 fails=["neighbours_replace"]
# replaced the first record only
("neighbours", "[[*rest, record] for record in domain]", "[[*rest, record] for record in domain if i == 0]")

# %% two_replaced score=19 fails=["neighbours_replace"]
# compared all data sets of one size, whatever the number of records that differ
("neighbours", "[[*rest, record] for record in domain]", "map(list, itertools.product(domain, repeat=len(D)))")

# %% l1_norm score=19 fails=["sensitivity_norm"]
# added up the entries' differences: the l1 norm
("sensitivity", "np.linalg.norm(f(list(D)) - f(other))", "np.sum(np.abs(f(list(D)) - f(other)))")

# %% mean_over_pairs score=19 fails=["sensitivity_values"]
# took the mean over all pairs of neighbours in place of the worst pair
("sensitivity", "largest = 0.0", "moved = []")
(
    "sensitivity",
    "largest = max(largest, np.linalg.norm(f(list(D)) - f(other)))",
    "moved.append(np.linalg.norm(f(list(D)) - f(other)))",
)
("sensitivity", "return largest", "return np.mean(moved)")

# %% sizes_ignored score=19 fails=["sensitivity_values"]
# went on to neighbours whose size is not in the list
("sensitivity", "len(other) in sizes", "True")

# %% replace_for_add score=19 fails=["sum_predicted"]
# took the range of the records for the sum under both relations
("sum_moves", ' if relation == "replace-one" else max(abs(a), abs(b))', "")

# %% twice_the_norm score=19 fails=["sum_predicted"]
# 2C for replace-one, though records in [a, b] are not as far apart as -C and C
("sum_moves", "b - a if", "2 * max(abs(a), abs(b)) if")

# %% one_term_of_the_mean score=19 fails=["mean_predicted"]
# took away one term of the mean and forgot that its divisor changes
("mean_moves", "(b - a) / n", '(b - a) / n if relation == "replace-one" else max(abs(a), abs(b)) / n')

# %% sign score=19 fails=["mean_predicted"]
# took a - b
("mean_moves", "b - a", "a - b")

# %% robust_median score=19 fails=["median_predicted"]
# thought that the median moves as little as the mean
("median_moves", 'b - a if relation == "replace-one" else (b - a) / 2', "(b - a) / n")

# %% forgot_bias score=19 fails=["clip_norm_values"]
# counted L gradients where W and b are clipped apart
("clip_norm", "2 * L", "L")

# %% c_for_two_c score=19 fails=["clip_norm_values"]
# moved a clipped gradient by its norm in place of twice that
("clip_norm", "(2 * math.sqrt(2 * L))", "math.sqrt(2 * L)")


# %% infinite_loop score=19 fails=["clip_norm_values"]
# a loop that never ends: it steps past the number that it waits for
# %% clip_norm
def clip_norm(S, L):
    tau = 0.0
    while joint([2 * tau] * (2 * L)) != S:
        tau += 0.001 * S
    return tau


# %% not_neighbours score=19 fails=["pair_of_size"]
# turned two records around at once: no neighbours
("pair_size", "[[1.0, 0.0], [1.0, 0.0], [-1.0, 0.0]]", "[[1.0, 0.0], [-1.0, 0.0], [-1.0, 0.0]]")

# %% actual_batch score=19 fails=["bound_of_size"]
# divided by the size of the smaller batch, without asking which way the last record points
("bound_size", "2 * C / k", "C / (k - 1)")


# %% expectation score=18 fails=["pair_of_expected", "bound_of_expected"]
# believed the expectation: holds, as some error is neither made longer nor shorter
# %% pair_expected
def pair_expected():
    e = np.random.default_rng(0).normal(size=(10_000, 3))
    e /= np.linalg.norm(e, axis=1, keepdims=True)
    usual = e[np.argmin(np.abs(np.linalg.norm(e @ B.T, axis=1) - 1))]
    return "holds", [usual], [-usual]


# %% bound_expected
def bound_expected(B, m, tau_e):
    return 2 * tau_e / m


# %% frobenius score=19 fails=["bound_of_expected"]
# took the Frobenius norm, by which no single error is made longer
("bound_expected", "np.linalg.norm(B, 2)", "np.linalg.norm(B)")

# %% all_fail score=18 fails=["pair_of_column", "pair_of_label"]
# says that every claim fails, and hands in the farthest neighbours there are
("pair_column", '"holds"', '"fails"')
("pair_label", '"holds"', '"fails"')

# %% only_h_moves score=19 fails=["pair_of_bias"]
# replaced what the layer reads and kept the error, which the claim allows
("pair_bias", "[([-1.0, 0.0], np.ones(4))]", "[([1.0, 0.0], -np.ones(4))]")

# %% bias_alone score=19 fails=["bound_of_bias"]
# bounded the bias and forgot the matrix beside it
("bound_bias", " * math.sqrt(tau_h**2 + 1)", "")

# %% worst_column_for_all score=19 fails=["bound_of_bias"]
# gave every column what the bias needs: true and wasteful
("bound_bias", "math.sqrt(tau_h**2 + 1)", "math.sqrt(n + 1) * max(1, tau_h / math.sqrt(n))")

# %% same_label score=19 fails=["pair_of_total"]
# replaced the input and kept the label
("pair_total", "[([1.0, 1.0], 1)]", "[([1.0, 0.9], 0)]")

# %% top_through_beta score=19 fails=["bound_of_total"]
# let the output layer's error pass through a feedback matrix
("bound_total", "(L - 1) * (gamma * beta) ** 2", "(L - 1) * gamma**2")
("bound_total", "2 / m * tau_e", "2 / m * beta * tau_e")

# %% c_for_two_c_in_total score=19 fails=["bound_of_total"]
# the add-remove bound for replace-one
("bound_total", "2 / m * tau_e", "1 / m * tau_e")

# %% thousand_times score=19 fails=["bound_of_total"]
# a bound for sure: a thousand times the claimed number
(
    "bound_total",
    "2 / m * tau_e * math.sqrt((1 + tau_h**2) * (1 + hidden))",
    "1000 * claimed_total(L, m, gamma, beta, tau_e, tau_h)",
)

# %% output_for_all score=19 fails=["bound_of_total"]
# gave every layer the share of the output layer: true and wasteful
("bound_total", "(1 + hidden)", "L")

# %% confident score=19 fails=["pair_of_label"]
# says rightly that it holds, with a prediction so sure of itself that one error is clipped
("pair_label", "[([0.5, 0.5], 0)], [([0.5, 0.5], 1)]", "[([0.99, 0.01], 0)], [([0.99, 0.01], 1)]")

# %% other_input score=19 fails=["pair_of_label"]
# replaced the whole record where only its label may change
("pair_label", '"holds", [([0.5, 0.5], 0)], [([0.5, 0.5], 1)]', '"fails", [([0.99, 0.01], 1)], [([0.01, 0.99], 0)]')


# %% only_v_moves score=19 fails=["pair_of_noise"]
# turned an error around and kept the input, in a batch smaller than n
# %% pair_noise
def pair_noise():
    return "fails", [(0.8, [1, 1, 1]), (0.8, [1, 1, -1])], [(0.8, [1, 1, 1]), (-0.8, [1, 1, -1])]


# %% tampered score=18 fails=["sensitivity_values", "sensitivity_norm"]
# returned 0, and rewrote the graded cells so that they pass; they are put back before grading
# %% sensitivity
def sensitivity(f, domain, sizes, relation):
    return 0.0


# %% sensitivity_values
assert True


# %% sensitivity_norm
print("all checks passed")

# %% column_sums score=19 fails=["bound_of_expected"]
# took the largest column sum for the norm of the matrix
("bound_expected", "np.linalg.norm(B, 2)", "np.linalg.norm(B, 1)")

# %% last_leaves score=19 fails=["neighbours_add_remove"]
# added any record, but removed the last one alone
("neighbours", "[rest] if", "[rest] * (i == len(D) - 1) if")

# %% biggest_entry score=19 fails=["sensitivity_norm"]
# took the largest entry of the difference of two vectors
("sensitivity", "np.linalg.norm(f(list(D)) - f(other))", "np.max(np.abs(f(list(D)) - f(other)))")

# %% never_empty score=19 fails=["neighbours_add_remove"]
# never came to the empty data set
("neighbours", "[rest] if", "[rest] * (len(D) > 1) if")

# %% largest_size_alone score=19 fails=["sensitivity_values"]
# tried the data sets of the largest size, and not those of the others
("sensitivity", "for n in sizes:", "for n in [max(sizes)]:")

# %% starts_at_one score=19 fails=["sensitivity_values"]
# began the search at 1, which is too much where all distances are smaller
("sensitivity", "largest = 0.0", "largest = 1.0")

# %% sizes_between score=19 fails=["sensitivity_values"]
# took the list of sizes for a range
("sensitivity", "len(other) in sizes", "min(sizes) <= len(other) <= max(sizes)")

# %% no_record_twice score=19 fails=["sensitivity_values"]
# tried no data set in which a record is there twice
("sensitivity", "itertools.product(domain, repeat=n)", "itertools.combinations(domain, n)")

# %% output_counted_twice score=19 fails=["bound_of_total"]
# counted the output layer among the hidden ones too
("bound_total", "(L - 1)", "L")

# %% neighbours_of_the_domain score=19 fails=["neighbours_replace"]
# added a record to D where another should replace one of its records
("neighbours", '    if relation == "add-remove":', '    if relation != "add-remove":')

# %% slips
# one slip in the reference solution, and the one graded cell that it must fail
("neighbours", '[rest] if relation == "add-remove"', '[rest] if relation == "replace-one"', "neighbours_replace")
("neighbours", "D[i + 1 :]", "D[i:]", "neighbours_replace")
("neighbours", "[*rest, record]", "[*D, record]", "neighbours_replace")
("neighbours", "for i in range(len(D))", "for i in range(len(D) - 1)", "neighbours_replace")
("neighbours", "[*D, record]", "[*rest, record]", "neighbours_add_remove")
("neighbours", "[rest] if", "[] if", "neighbours_add_remove")
("sensitivity", "max(largest, ", "(largest + ", "sensitivity_values")
("sensitivity", "np.linalg.norm(f(list(D)) - f(other))", "np.sum((f(list(D)) - f(other)) ** 2)", "sensitivity_values")
("sensitivity", "np.linalg.norm(f(list(D)) - f(other))", "abs(f(list(D)) - f(other))", "sensitivity_norm")
("sensitivity", "len(other) in sizes", "len(other) == n", "sensitivity_values")
("sensitivity", "neighbours(list(D), domain, relation)", "neighbours(domain, list(D), relation)", "sensitivity_values")
