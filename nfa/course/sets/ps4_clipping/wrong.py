"""Typical mistakes, each with its score out of 20 points and the cells that lose their points.

A line ("cell", "old", "new") replaces text in a cell of the reference solution. The old text occurs there once.
"""

# %% forgot_bias score=19 fails=["norms_values"]
# left the biases out of the norms
("norms", " + 1) for l", ") for l")

# %% off_by_one_layer score=19 fails=["norms_values"]
# used h[l], the output of layer l, in place of its input h[l - 1]
("norms", "h[l - 1]", "h[l]")

# %% norm_of_batch score=19 fails=["norms_values"]
# took the norm over the whole batch in place of one norm for each record
("norms", "(dz[l] ** 2).sum(axis=1)", "np.full(len(dz[l]), (dz[l] ** 2).sum())")
("norms", "(h[l - 1] ** 2).sum(axis=1)", "(h[l - 1] ** 2).sum()")

# %% weights_plus_biases score=19 fails=["norms_values"]
# added the norms of the gradients by weights and biases, not their squares
("norms", "((h[l - 1] ** 2).sum(axis=1) + 1)", "(np.sqrt((h[l - 1] ** 2).sum(axis=1)) + 1) ** 2")


# %% holds_gradients score=19 fails=["norms_memory"]
# stored the gradient of every record to take its norm
# %% norms
def norms(dz, h):
    rows = []
    for l in range(1, len(dz)):
        gW, gb = gradients(dz[l], h[l - 1])
        rows.append(np.sqrt((gW**2).sum(axis=(1, 2)) + (gb**2).sum(axis=1)))
    return np.transpose(rows)


# %% sum_of_norms score=19 fails=["joint_values"]
# added the norms of the layers
("joint_norms", "np.sqrt((norms(dz, h) ** 2).sum(axis=1))", "norms(dz, h).sum(axis=1)")

# %% as_printed score=19 fails=["factors_zero"]
# divided by the norm as printed, which is 0/0 for a gradient of zero
("clip_factors", "C / np.maximum(gradient_norms, C)", "np.minimum(C, gradient_norms) / gradient_norms")

# %% all_or_none score=19 fails=["factors_zero"]
# gave every gradient the factor 1 if one of the norms is 0
(
    "clip_factors",
    "return C / np.maximum(gradient_norms, C)",
    "if not np.all(gradient_norms):\n        return np.ones(len(gradient_norms))\n"
    "    return C / np.maximum(gradient_norms, C)",
)

# %% scales_up score=19 fails=["factors_values"]
# scaled every gradient to the norm C, also small gradients
(
    "clip_factors",
    "C / np.maximum(gradient_norms, C)",
    "np.where(gradient_norms > 0, C / np.where(gradient_norms > 0, gradient_norms, 1), 1)",
)

# %% max_for_min score=19 fails=["factors_values"]
# took the maximum in place of the minimum, so small gradients grow and large gradients stay
("clip_factors", "C / np.maximum(gradient_norms, C)", "np.maximum(1, C / gradient_norms)")


# %% clip_after_averaging score=18 fails=["clipped_values"]
# averaged first and clipped the mean
# %% clipped_mean
def clipped_mean(dz, h, C, m):
    L = len(dz) - 1
    dW = [None] + [dz[l].T @ h[l - 1] / m for l in range(1, L + 1)]
    db = [None] + [dz[l].sum(axis=0) / m for l in range(1, L + 1)]
    norm = np.sqrt(sum((dW[l] ** 2).sum() + (db[l] ** 2).sum() for l in range(1, L + 1)))
    weight = min(1, C / norm) if norm > 0 else 1
    return [None] + [weight * d for d in dW[1:]], [None] + [weight * d for d in db[1:]]


# %% clips_each_layer score=18 fails=["clipped_values"]
# clipped each layer's gradient to C in place of all layers together
# %% clipped_mean
def clipped_mean(dz, h, C, m):
    dW, db = [None], [None]
    every = norms(dz, h)
    for l in range(1, len(dz)):
        share = clip_factors(every[:, l - 1], C)[:, None] / m
        dW.append((share * dz[l]).T @ h[l - 1])
        db.append((share * dz[l]).sum(axis=0))
    return dW, db


# %% biases_unclipped score=18 fails=["clipped_values"]
# clipped the gradients by the weights, but not by the biases
("clipped_mean", "(share * dz[l]).sum(axis=0)", "dz[l].sum(axis=0) / m")

# %% batch_for_m score=19 fails=["clipped_m"]
# divided by the number of records in the batch in place of m
("clipped_mean", " / m\n", " / len(dz[1])\n")

# %% divides_twice score=19 fails=["clipped_m"]
# took the mean over the records and also divided by m
("clipped_mean", " / m\n", " / m / max(1, len(dz[1]))\n")


# %% one_from_nothing score=19 fails=["neighbours_worst"]
# compared an empty batch with one large gradient, so the distance is half of the largest
# %% neighbours
def neighbours(C, m):
    return np.zeros((0, 2)), np.array([[0.0, 100 * m * C]])


# %% clipped_already score=18 fails=["neighbours_break", "neighbours_worst"]
# used gradients with a norm of at most C, as if each were clipped
("neighbours", "[[m * C, 0.0]]", "[[C, 0.0]] * (m - 1)")
("neighbours", "-2 * m * C", "-C")

# %% replaced score=19 fails=["neighbours_break"]
# replaced a record in place of adding one
("neighbours", "np.array([[m * C, 0.0]])", "np.array([[2.0 * m * C]])")
("neighbours", "np.vstack([first, [[-2 * m * C, 0.0]]])", "-first")

# %% two_C_for_C score=18 fails=["sensitivity_layers", "step_noise"]
# used 2C also under add-remove, in the sensitivity and in the noise
("sensitivity", '"add-remove": 1', '"add-remove": 2')
("private_step", '"add-remove"', '"replace-one"')

# %% one_layer_counted score=19 fails=["sensitivity_layers"]
# used only the largest bound of a layer
("sensitivity", "np.sqrt(sum(c**2 for c in C[1:]))", "max(C[1:])")

# %% bounds_added score=19 fails=["sensitivity_layers"]
# added the bounds of the layers, which gives a bound but not the smallest one
("sensitivity", "np.sqrt(sum(c**2 for c in C[1:]))", "sum(C[1:])")

# %% noise_without_C score=19 fails=["step_noise"]
# left C out of the noise
("private_step", 'sensitivity([None, C], m, "add-remove")', "1 / m")

# %% noise_of_this_batch score=19 fails=["step_noise"]
# took the largest clipped norm in the batch for the sensitivity, which is smaller than C / m if no record is clipped
(
    "private_step",
    'sensitivity([None, C], m, "add-remove")',
    "max(np.minimum(joint_norms(dz, h), C), default=C) / m",
)

# %% noise_per_record score=19 fails=["step_noise"]
# added the noise once for every record
("private_step", "std = z *", "std = len(dz[1]) * z *")

# %% noise_of_the_sum score=19 fails=["step_noise"]
# added the noise of the sum to the mean
("private_step", 'sensitivity([None, C], m, "add-remove")', "C")

# %% forgot_clip score=19 fails=["step_signal"]
# added the right noise to gradients without a clip
("private_step", "clipped_mean(dz, h, C, m)", "clipped_mean(dz, h, 1e9, m)")

# %% outlier_moves_it score=19 fails=["outlier_answer"]
# expected the stationary point to follow the outlier, as without clipping
("outlier", '"a"', '"b"')

# %% guesses_left_out score=19 fails=["guess_made"]
# guessed one number for two questions
("guess", "[7.0, 3.0]", "[7.0]")


# %% infinite_loop score=18 fails=["factors_values", "factors_zero"]
# wrote while in place of if, so the loop never ends
# %% clip_factors
def clip_factors(gradient_norms, C):
    factors = np.ones(len(gradient_norms))
    for i, norm in enumerate(gradient_norms):
        while norm > C:
            factors[i] = C / norm
    return factors


# %% divides_by_the_batch score=19 fails=["divisor_answer"]
# thought that the clip bounds the influence of a record for every divisor
("divisor", '"b"', '"a"')

# %% no_reason score=19 fails=["top_layer_answer"]
# gave the right letter and hardly a reason
("top_layer", "With 1 in place of gamma beta for the top layer only, the formula gives my bound.", "The top.")

# %% biases_blamed score=19 fails=["top_layer_answer"]
# thought that the printed formula leaves out the biases
("top_layer", '"c"', '"b"')

# %% bound_without_biases score=19 fails=["bound_top"]
# left the biases out of the bound
("dfa_bound", "(tau_h[l] ** 2 + 1)", "tau_h[l] ** 2")

# %% no_top_layer score=19 fails=["bound_top"]
# left out the top layer, which has no gamma and no beta
("dfa_bound", "for l in range(1, L + 1)", "for l in range(1, L)")


# %% tampered score=18 fails=["norms_values", "norms_memory"]
# returned zeros, and rewrote the graded cells so that they pass; grading restores these cells
# %% norms
def norms(dz, h):
    return np.zeros((len(dz[1]), len(dz) - 1))


# %% norms_values
assert True

# %% norms_memory
print("all checks passed")

# %% automatic score=19 fails=["factors_values"]
# divided by the norm plus C, which scales every gradient down
("clip_factors", "np.maximum(gradient_norms, C)", "(gradient_norms + C)")

# %% biases_without_noise score=19 fails=["step_noise"]
# added the noise to the weights only
("private_step", "[None] + [d + std * n for d, n in zip(db[1:], N_b[1:], strict=True)]", "db")

# %% root_of_two score=19 fails=["sensitivity_adjacency"]
# assumed that the clipped gradients of the two records are orthogonal
("sensitivity", "terms * np.sqrt(", "np.sqrt(terms * ")

# %% norms_of_layers_added score=19 fails=["bound_hidden"]
# added the norms of the hidden layers, and then the square of the top layer
# %% dfa_bound
import math


def dfa_bound(gamma, beta, tau_e, tau_h):
    below = 0.0
    for gain, norm, read in zip(gamma[1:], beta[1:], tau_h[1:-1]):
        below += gain * norm * math.sqrt(1 + read * read)
    return tau_e * math.hypot(below, math.sqrt(1 + tau_h[-1] ** 2))


# %% clips_the_sum_of_layers score=18 fails=["clipped_values"]
# clipped by the sum of the norms of all layers
("clipped_mean", "joint_norms(dz, h)", "norms(dz, h).sum(axis=1)")

# %% bias_reads_the_norm score=19 fails=["norms_values"]
# added the 1 of the bias outside the square
("norms", "((h[l - 1] ** 2).sum(axis=1) + 1)", "(1 + np.linalg.norm(h[l - 1], axis=1)) ** 2")

# %% weight_with_a_floor score=19 fails=["factors_values"]
# added a small number to the norm, because the norm can be 0
("clip_factors", "np.maximum(gradient_norms, C)", "np.maximum(gradient_norms + 1e-6, C)")

# %% dz_left_out score=19 fails=["norms_values"]
# took the norm of the inputs only
("norms", "(dz[l] ** 2).sum(axis=1) * ", "")

# %% entries_not_squared score=19 fails=["norms_values"]
# added the entries of dz without squares
("norms", "(dz[l] ** 2).sum(axis=1)", "dz[l].sum(axis=1)")

# %% layer_left_out score=19 fails=["norms_values"]
# ended the loop one layer too early
("norms", "range(1, L + 1)", "range(1, L)")

# %% lists_without_slot_0 score=18 fails=["clipped_values"]
# returned lists that begin with layer 1
("clipped_mean", "return dW, db", "return dW[1:], db[1:]")

# %% biases_of_plain_records score=18 fails=["clipped_values"]
# forgot the clip and m for the biases
("clipped_mean", "(share * dz[l]).sum(axis=0)", "dz[l].sum(axis=0)")

# %% bias_not_summed score=18 fails=["clipped_values"]
# returned db for every record in place of the sum
("clipped_mean", "(share * dz[l]).sum(axis=0)", "share * dz[l]")

# %% weighted_by_norms score=18 fails=["clipped_values"]
# multiplied each gradient by its norm in place of the factor
("clipped_mean", "clip_factors(joint_norms(dz, h), C)", "joint_norms(dz, h)")

# %% constant_noise score=19 fails=["step_noise"]
# added the standard deviation itself to every weight
("private_step", "d + std * n for d, n in zip(dW", "d + std for d, n in zip(dW")

# %% step_without_slot_0 score=19 fails=["step_noise"]
# returned lists that begin with layer 1
("private_step", "return dW, [None] + [", "return dW[1:], [")

# %% gamma_of_the_paper score=19 fails=["bound_hidden"]
# used the index of the paper for beta, which has no such entry
("dfa_bound", "gamma[l] * beta[l] for", "gamma[l] * beta[l + 1] for")

# %% bound_without_feedback score=19 fails=["bound_hidden"]
# bounded the signal of every layer by tau_e
("dfa_bound", "gains[l] ** 2 * (", "(")

# %% batches_of_matrices score=19 fails=["neighbours_break"]
# returned a batch with three axes
("neighbours", "np.vstack([first, [[-2 * m * C, 0.0]]])", "[first, [[-2 * m * C, 0.0]]]")

# %% norm_with_a_floor score=19 fails=["norms_values"]
# added a small number before the root
("norms", "np.sqrt(np.stack(squares, axis=1))", "np.sqrt(np.stack(squares, axis=1) + 1e-6)")

# %% larger_of_m_and_batch score=19 fails=["clipped_m"]
# divided by the number of records if it is larger than m
("clipped_mean", " / m\n", " / max(m, len(dz[1]))\n")


# %% sums_begin_with_a_number score=19 fails=["clipped_m"]
# began the sums with the number 0, so that an empty batch gives numbers in place of arrays
# %% clipped_mean
def clipped_mean(dz, h, C, m):
    shares = clip_factors(joint_norms(dz, h), C) / m
    dW, db = [None], [None]
    for above, below in zip(dz[1:], h):
        dW.append(sum(share * np.outer(d, a) for share, d, a in zip(shares, above, below)))
        db.append(sum(share * d for share, d in zip(shares, above)))
    return dW, db


# %% slips
# each line: one slip in the reference solution, and the graded cell that loses its points
("norms", "np.sqrt(np.stack(squares, axis=1))", "np.stack(squares, axis=1)", "norms_values")
("norms", "np.stack(squares, axis=1)", "np.stack(squares)", "norms_values")
(
    "norms",
    "(dz[l] ** 2).sum(axis=1) * ((h[l - 1] ** 2).sum(axis=1) + 1)",
    "(dz[l] ** 2).sum(axis=0) * ((h[l - 1] ** 2).sum(axis=0) + 1)",
    "norms_values",
)
("clip_factors", "np.maximum", "np.minimum", "factors_values")
("clip_factors", "np.maximum(gradient_norms, C)", "gradient_norms", "factors_values")
("clip_factors", "C / np.maximum(gradient_norms, C)", "np.minimum(gradient_norms, C)", "factors_values")
("clip_factors", "C / np.maximum(gradient_norms, C)", "np.minimum(gradient_norms, C) / gradient_norms", "factors_zero")
("clipped_mean", "(share * dz[l]).T @ h[l - 1]", "h[l - 1].T @ (share * dz[l])", "clipped_values")
("clipped_mean", "h[l - 1] for", "h[l] for", "clipped_values")
("clipped_mean", "(share * dz[l]).sum", "(dz[l] / m).sum", "clipped_values")
("clipped_mean", " / m\n", "\n", "clipped_m")
("clipped_mean", "(share * dz[l]).sum(axis=0)", "(share * dz[l]).mean(axis=0)", "clipped_m")
("neighbours", "first = np", "m = 1\n    first = np", "neighbours_worst")
("neighbours", "np.vstack([first, [[-2 * m * C, 0.0]]])", "-first", "neighbours_break")
("neighbours", "first = np", "m = 1 / m\n    first = np", "neighbours_break")
("neighbours", "-2 * m * C", "-m * C", "neighbours_worst")
("sensitivity", '"add-remove": 1', '"add-remove": 2', "sensitivity_layers")
("sensitivity", " / m", "", "sensitivity_layers")
("sensitivity", "c**2", "c", "sensitivity_layers")
("sensitivity", "C[1:]", "C", "sensitivity_layers")
("sensitivity", '"add-remove": 1, "replace-one": 2', '"add-remove": 2, "replace-one": 1', "sensitivity_layers")
("sensitivity", '"replace-one": 2', '"replace-one": 1', "sensitivity_adjacency")
("private_step", "std = z *", "std =", "step_noise")
("private_step", "N_W, N_b =", "N_b, N_W =", "step_noise")
("private_step", '"add-remove"', '"replace-one"', "step_noise")
("private_step", "clipped_mean(dz, h, C, m)", "clipped_mean(dz, h, C, len(dz[1]))", "step_signal")
("dfa_bound", "tau_h[l] ** 2 + 1", "tau_h[l - 1] ** 2 + 1", "bound_top")
("dfa_bound", "tau_e * np.sqrt(", "tau_e * (", "bound_top")
("dfa_bound", "tau_e * np.sqrt(", "np.sqrt(", "bound_top")
("dfa_bound", "tau_h[l] ** 2 + 1", "tau_h[l] + 1", "bound_top")
("dfa_bound", "gamma[l] * beta[l] for", "gamma[l] for", "bound_hidden")
("dfa_bound", "gains[l] ** 2", "gains[l]", "bound_hidden")
(
    "neighbours",
    "return first, np.vstack([first, [[-2 * m * C, 0.0]]])",
    "return [[1e3, 0.0]], [[1e3, 0.0], [-2e3, 0.0]]",
    "neighbours_break",
)
(
    "clipped_mean",
    "    return dW, db",
    "    norm = np.sqrt(sum((a**2).sum() for a in dW[1:] + db[1:]))\n    small = C / max(norm, C)\n"
    "    return [None, *(small * a for a in dW[1:])], [None, *(small * a for a in db[1:])]",
    "clipped_m",
)
(
    "clipped_mean",
    "clip_factors(joint_norms(dz, h), C)[:, None] / m",
    "np.full((len(dz[1]), 1), 1 / m)\n    if np.all(joint_norms(dz, h)):\n"
    "        share = clip_factors(joint_norms(dz, h), C)[:, None] / m",
    "clipped_m",
)
("private_step", 'sensitivity([None, C], m, "add-remove")', "C / max(m, len(dz[1]))", "step_noise")
