"""Typical mistakes, each with its score out of 20 points and the cells that lose their points.

A line ("cell", "old", "new") replaces text in a cell of the reference solution. The old text occurs there once.
"""

# %% biases_forgotten score=19 fails=["norms_values"]
# computed the norm of the weights alone; later exercises use this norm
("norms", " + 1) for l", ") for l")

# %% one_for_all_biases score=19 fails=["norms_values"]
# added the 1 of the biases once for all layers, and not for each layer
("norms", "np.sqrt(sum(", "np.sqrt(1 + sum(")
("norms", " + 1) for l", ") for l")

# %% triangle score=19 fails=["norms_values"]
# added the norms of the layers, which is at least the norm of the whole direction
(
    "norms",
    "np.sqrt(sum((dz[l] ** 2).sum(axis=1) * ((h[l - 1] ** 2).sum(axis=1) + 1) for",
    "sum(np.sqrt((dz[l] ** 2).sum(axis=1) * ((h[l - 1] ** 2).sum(axis=1) + 1)) for",
)
("norms", "L + 1)))", "L + 1))")

# %% what_it_puts_out score=19 fails=["norms_values"]
# paired dz[l] with h[l], which has the same number of rows, so no error is raised
("norms", "h[l - 1]", "h[l]")

# %% outer_by_einsum score=19 fails=["norms_memory"]
# computed the right norms from outer products that einsum forms
(
    "norms",
    "(dz[l] ** 2).sum(axis=1) * ((h[l - 1] ** 2).sum(axis=1) + 1)",
    '(np.einsum("ki,kj->kij", dz[l], h[l - 1]) ** 2).sum(axis=(1, 2)) + (dz[l] ** 2).sum(axis=1)',
)


# %% row_of_ones score=19 fails=["norms_memory"]
# formed the direction of one record at a time
# %% norms
def norms(dz, h):
    found = []
    for i in range(len(dz[1])):
        pieces = [np.outer(dz[l][i], np.append(h[l - 1][i], 1.0)) for l in range(1, len(dz))]
        found.append(math.sqrt(sum(float((piece * piece).sum()) for piece in pieces)))
    return np.array(found)


# %% mean_of_the_batch score=19 fails=["sum_norm"]
# divided by the number of records
("joint_sum", "h[l - 1][fine]", "h[l - 1][fine] / len(every)")
("joint_sum", "kept.sum(axis=0)", "kept.sum(axis=0) / len(every)")


# %% each_layer_to_C score=19 fails=["sum_direction"]
# clipped each layer separately
# %% joint_sum
def joint_sum(dz, h, C):
    dW, db = [None], [None]
    for d, a in zip(dz[1:], h):
        every = norms([None, d], [a])
        ok = np.isfinite(every)
        w = np.minimum(1, C / np.maximum(every[ok], 1e-30))[:, None]
        dW.append((w * d[ok]).T @ a[ok])
        db.append((w * d[ok]).sum(0))
    return dW, db


# %% root_forgotten score=19 fails=["sum_direction"]
# compared C with the square of the norm
("joint_sum", "every = norms(dz, h)", "every = norms(dz, h) ** 2")

# %% biases_not_weighed score=19 fails=["sum_direction"]
# clipped the weights, and added the biases without a clip
("joint_sum", "kept.sum(axis=0)", "dz[l][fine].sum(axis=0)")


# %% batch_clipped score=19 fails=["sum_direction"]
# added first, and clipped the sum to C times the number of records
# %% joint_sum
def joint_sum(dz, h, C):
    good = [i for i, n in enumerate(norms(dz, h)) if math.isfinite(n)]
    dW = [None] + [np.einsum("ki,kj->ij", d[good], a[good]) for d, a in zip(dz[1:], h)]
    db = [None] + [d[good].sum(axis=0) for d in dz[1:]]
    size = math.sqrt(sum(float((g**2).sum()) for g in dW[1:] + db[1:]))
    s = min(1.0, len(good) * C / size) if size else 1.0
    return [None] + [s * g for g in dW[1:]], [None] + [s * g for g in db[1:]]


# %% everyone_gets_C score=19 fails=["sum_direction"]
# scaled every record to the norm C, also small ones
("joint_sum", "np.maximum(every[fine], C)", "np.where(every[fine] > 0, every[fine], 1)")

# %% zero_times_infinity score=19 fails=["sum_any"]
# gave an infinite direction the factor 0, and 0 times infinity is nan
("joint_sum", "np.isfinite(every)", "np.full(len(every), True)")

# %% zero_divided score=19 fails=["sum_any"]
# used Python's own division, which raises an error for a direction of zero
("joint_sum", "C / np.maximum(every[fine], C)", "np.array([min(1.0, C / float(n)) for n in every[fine]])")

# %% at_random_angles score=19 fails=["moves_record"]
# assumed that two clipped directions are orthogonal, as random vectors nearly are
("moves", "2 * C", "math.sqrt(2) * C")

# %% conventions_swapped score=19 fails=["moves_record"]
# took 2 C for an added record, and C for a replaced record
("moves", 'C if relation == "add-remove" else 2 * C', 'C if relation == "replace-one" else 2 * C')

# %% as_in_the_paper score=19 fails=["premises_needed"]
# listed the spectral norm of B and the derivative, which the papers' bounds need
("premises", "[1, 3, 6]", "[1, 3, 4, 5, 6]")

# %% after_the_clip score=19 fails=["premises_needed"]
# overlooked changes between the clip and the sum
("premises", "[1, 3, 6]", "[1, 3]")


# %% likeliest_label score=19 fails=["attains_C"]
# took a large input with its most likely label, for which the error is 0
# %% attain
def attain(W, b, B, C):
    best = None
    for k in range(30):
        x = 2.0**k * np.ones(len(W[1][0]))
        y_hat = signals(W, b, B, [x], np.zeros((1, len(b[-1]))))[1][-1][0]
        best = x, int(np.argmax(y_hat))
        if np.linalg.norm(y_hat - np.eye(len(b[-1]))[best[1]]) * np.linalg.norm(x) < C:
            break
    return best


# %% through_B score=19 fails=["attains_C"]
# gave the direction of the first layer the norm C, which needs a B that is not 0
# %% attain
def attain(W, b, B, C):
    x = np.random.default_rng(8).normal(size=np.shape(W[1])[1])
    classes = len(b[-1])
    dz, _ = signals(W, b, B, np.tile(x, (classes, 1)), np.eye(classes))
    fed_back = np.linalg.norm(dz[1], axis=1)
    label = int(fed_back.argmax())
    return 10 * C / (fed_back[label] * np.linalg.norm(x)) * x, label


# %% no_layer_exceeds score=19 fails=["variant_layers"]
# believed the argument, with a record that has a large direction in one layer only
("pair_layers", '"fails", [], [((3.0, -2.0), 0)]', '"holds", [((0.0, 0.0), 1)], [((0.0, 0.0), 1), ((0.2, 0.1), 0)]')


# %% in_proportion score=19 fails=["variant_error"]
# took a record with x near 0, for which the clip of the error is enough
# %% pair_error
def pair_error():
    one = ([0.1, -0.05], 1)
    return "holds", [one, one], [one, one, ([-3.0, -3.0], 1)]


# %% own_by_rounding score=19 fails=["variant_own"]
# thought that the jump at a threshold also breaks the bound for the record's own threshold
# %% pair_own
def pair_own():
    D = [((3.0, 3.0), 1), ((-3.0, 2.0), 1)]
    return "fails", D, D + [((3.0, -3.0), 0)]


# %% replaced_the_bright_one score=19 fails=["variant_batch"]
# replaced a record, so the two batches are no add-remove neighbours
("pair_batch", "* 10", "* 9")
("pair_batch", "D, [*D, ((3.0, 3.0), 0)]", "[*D, ((3.0, 3.0), 0)], [*D, ((1.0, 1.0), 1)]")


# %% alone_in_the_batch score=19 fails=["variant_batch"]
# tried only single records, which set their own threshold
# %% pair_batch
def pair_batch():
    return "holds", [], [((2.0, -2.0), 0)]


# %% fewer_than_M score=19 fails=["variant_count"]
# took a batch of one record, but each batch has at least four
("pair_count", "[((0.0, 0.0), 1)] * 4", "[((3.0, 3.0), 0)]")
("pair_count", "[*D, ((0.0, 0.0), 0)]", "[*D, ((3.0, 3.0), 1)]")

# %% all_alike score=19 fails=["variant_count"]
# added a copy of a record, which does not move a mean
("pair_count", "((0.0, 0.0), 1)", "((4.0, -1.0), 0)")
("pair_count", "[*D, ((0.0, 0.0), 0)]", "[*D, *D[:1]]")

# %% noise_of_the_sum score=19 fails=["std_value"]
# gave the standard deviation for the sum, but the noise is added to the mean
("noise_std", " / m", "")

# %% averaged_noise score=19 fails=["std_value"]
# divided by the square root of m, as if every record had noise of its own
("noise_std", "/ m", "/ np.sqrt(m)")

# %% lower_end score=19 fails=["noise_enough"]
# returned the end of the interval with an epsilon above the target
("least_noise", "1.0005 * low", "1.0001 * low")
("least_noise", "return high", "return low")


# %% on_a_grid score=19 fails=["noise_spare"]
# tried multipliers in steps of 0.02
# %% least_noise
def least_noise(target, q, steps, delta):
    for z in np.arange(0.5, 30, 0.02):
        if spent(z, q, steps, delta) <= target:
            return z


# %% one_epoch score=19 fails=["noise_enough"]
# counted the steps of one epoch instead of all steps
("least_noise", "spent(middle, q, steps, delta)", "spent(middle, q, round(1 / q), delta)")


# %% guessed_a_share score=19 fails=["guess_made"]
# gave one number for all three variations
("guess", "[70, 0, 30]", "30")

# %% one_term_changes score=19 fails=["label_only_answer"]
# thought that the term of one record moves by at most C when its label changes
("label_only", '"c"', '"a"')

# %% difference_of_errors score=19 fails=["label_only_answer"]
# applied the distance of two softmax errors to clipped directions
("label_only", '"c"', '"b"')

# %% unknown_matrix score=19 fails=["device_answer"]
# thought that the bound needs a B that does not change
("device", '"b"', '"a"')

# %% same_use_same_noise score=19 fails=["larger_batch_answer"]
# thought that z depends on the number of epochs alone
("larger_batch", '"c"', '"a"')

# %% no_reason score=19 fails=["larger_batch_answer"]
# gave a letter and hardly a reason
(
    "larger_batch",
    "The rate q is 16 times larger, so z grows by a factor 2, and we divide by 16 times more.",
    "It is obvious.",
)


# %% label_of_a_small_input score=19 fails=["attains_C"]
# took the least likely label of a small input, and kept this label for a large input
# %% attain
def attain(W, b, B, C):
    classes = len(b[-1])
    every = np.random.default_rng(0).normal(size=(200, W[1].shape[1]))
    label = None
    for k in range(40):
        x = every * 2.0**k
        h = signals(W, b, B, x, np.eye(classes)[[0] * len(x)])[1]
        i = int(np.linalg.norm(h[-2], axis=1).argmax())
        if label is None:
            label = int(h[-1][i].argmin())
        if np.linalg.norm(h[-2][i]) > 10 * C:
            return x[i], label


# %% infinite_loop score=19 fails=["attains_C"]
# doubles an input until its direction is large enough, for a label with an error that goes to 0
# %% attain
def attain(W, b, B, C):
    x = np.ones(W[1].shape[1])
    while True:
        y_hat = signals(W, b, B, [x], np.zeros((1, len(b[-1]))))[1][-1]
        label = int(y_hat.argmax())
        if norms(*signals(W, b, B, [x], np.eye(len(b[-1]))[[label]]))[0] > C:
            return x, label
        x = np.minimum(2 * x, 1e6)


# %% tampered score=17 fails=["sum_direction", "sum_norm", "premises_needed"]
# returned zeros and all sentences, and rewrote graded cells so that they pass; grading restores these cells
# %% joint_sum
def joint_sum(dz, h, C):
    return [None, *(np.zeros((d.shape[1], a.shape[1])) for d, a in zip(dz[1:], h))], [
        None,
        *(np.zeros(d.shape[1]) for d in dz[1:]),
    ]


# %% premises
def premises():
    return range(1, 8)


# %% sum_direction
assert True

# %% sum_norm
print("all checks passed")

# %% premises_needed
pass


# %% mean_norm_clipped score=18 fails=["sum_direction", "sum_any"]
# multiplied all records by the factor that clips their mean norm
# %% joint_sum
def joint_sum(dz, h, C):
    weight = min(1.0, C / float(np.mean(norms(dz, h))))
    dW = [None, *(weight * np.einsum("ki,kj->ij", d, v) for d, v in zip(dz[1:], h))]
    return dW, [None, *(weight * d.sum(axis=0) for d in dz[1:])]


# %% hidden_layers_alone score=19 fails=["norms_values"]
# left the top layer out of the norm
("norms", "range(1, L + 1)", "range(1, max(L, 2))")

# %% rows_that_are_zero_only score=19 fails=["sum_any"]
# tested for nan, but not for infinity
("joint_sum", "np.isfinite(every)", "~np.isnan(every)")

# %% half_of_the_noise score=19 fails=["std_value"]
# used the sensitivity for a replaced record in the noise
("noise_std", '"add-remove"', '"replace-one"')


# %% starts_too_high score=19 fails=["noise_spare"]
# searched only above 0.6
("least_noise", "0.3, 30.0", "0.6, 30.0")

# %% top_layer_forgotten score=19 fails=["norms_values"]
# left the top layer out of the norm, because the range ends too early
("norms", "range(1, L + 1)", "range(1, L)")

# %% wrong_axis score=19 fails=["norms_values"]
# summed over the records in one of the two factors
("norms", "(dz[l] ** 2).sum(axis=1)", "(dz[l] ** 2).sum(axis=0)")

# %% a_layer_less score=19 fails=["sum_direction"]
# left the top layer out of the sum
("joint_sum", "range(1, L + 1)", "range(1, L)")

# %% times_for_over score=19 fails=["sum_direction"]
# multiplied by the norm
("joint_sum", "C / np.maximum", "C * np.maximum")

# %% norm_and_a_bit score=19 fails=["sum_norm"]
# added 1e-8 to the norm, which is large compared with a small C
("joint_sum", "np.maximum(every[fine], C)", "(np.maximum(every[fine], C) + 1e-8)")


# %% h_of_a_bad_record score=19 fails=["sum_any"]
# gave a bad record the dz 0, and replaced only the nan of its h, so that 0 times infinity is nan
# %% joint_sum
def joint_sum(dz, h, C):
    every = norms(dz, h)
    fine = np.isfinite(every)[:, None]
    weight = C / np.maximum(every, C)[:, None]
    kept = [np.where(fine, weight * d, 0) for d in dz[1:]]
    dW = [None, *(d.T @ np.where(np.isnan(a), 0, a) for d, a in zip(kept, h))]
    return dW, [None, *(d.sum(axis=0) for d in kept)]


# %% sums_begin_with_a_number score=19 fails=["sum_norm"]
# began the sums with the number 0, so that a batch without good records gives numbers in place of arrays
# %% joint_sum
def joint_sum(dz, h, C):
    L = len(dz) - 1
    dW, db = [None] + [0.0] * L, [None] + [0.0] * L
    for i, norm in enumerate(norms(dz, h)):
        if math.isfinite(norm):
            for l in range(1, L + 1):
                dW[l] = dW[l] + C / max(norm, C) * np.outer(dz[l][i], h[l - 1][i])
                db[l] = db[l] + C / max(norm, C) * dz[l][i]
    return dW, db


# %% zeros_for_the_empty_batch_only score=19 fails=["sum_any"]
# made zeros of the right shapes for an empty batch, but not for a batch with only bad records
# %% joint_sum
def joint_sum(dz, h, C):
    if not len(dz[1]):
        shapes = [(np.shape(d)[1], np.shape(a)[1]) for d, a in zip(dz[1:], h)]
        return [None, *map(np.zeros, shapes)], [None, *(np.zeros(n) for n, _ in shapes)]
    good = [(i, C / max(norm, C)) for i, norm in enumerate(norms(dz, h)) if math.isfinite(norm)]
    dW = [None, *(sum(w * np.outer(d[i], a[i]) for i, w in good) for d, a in zip(dz[1:], h))]
    return dW, [None, *(sum(w * d[i] for i, w in good) for d in dz[1:])]


# %% ends_at_a_bad_record score=19 fails=["sum_any"]
# wrote break in place of continue, so that all records after a bad record are lost
# %% joint_sum
def joint_sum(dz, h, C):
    dW = [None, *(np.zeros((d.shape[1], a.shape[1])) for d, a in zip(dz[1:], h))]
    db = [None, *(np.zeros(d.shape[1]) for d in dz[1:])]
    for i, norm in enumerate(norms(dz, h)):
        if not math.isfinite(norm):
            break
        for l in range(1, len(dz)):
            dW[l] += C / max(norm, C) * np.outer(dz[l][i], h[l - 1][i])
            db[l] += C / max(norm, C) * dz[l][i]
    return dW, db


# %% as_long_as_ever score=19 fails=["attains_C"]
# took inputs of a fixed norm, which is too small for a large C
# %% attain
def attain(W, b, B, C):
    classes = len(b[-1])
    x = 1e3 * np.random.default_rng(0).normal(size=(100, W[1].shape[1]))
    found = [norms(*signals(W, b, B, x, np.eye(classes)[[label] * 100])) for label in range(classes)]
    label, i = np.unravel_index(np.argmax(found), np.shape(found))
    return x[i], int(label)


# %% slips
# each line: one slip in the reference solution, and the graded cell that loses its points
("norms", "np.sqrt(sum(", "(sum(", "norms_values")
(
    "norms",
    "(dz[l] ** 2).sum(axis=1) * ((h[l - 1] ** 2).sum(axis=1) + 1)",
    "(dz[l] ** 2).sum(axis=0) * ((h[l - 1] ** 2).sum(axis=0) + 1)",
    "norms_values",
)
("norms", "np.sqrt(sum(", "np.sqrt(list(", "norms_values")
("joint_sum", "kept.T @ h[l - 1][fine]", "h[l - 1][fine].T @ kept", "sum_direction")
("joint_sum", "h[l - 1][fine]", "h[l][fine]", "sum_direction")
("joint_sum", "np.maximum(every[fine], C)", "np.minimum(every[fine], C)", "sum_direction")
("joint_sum", "np.maximum(every[fine], C)", "every[fine]", "sum_direction")
("joint_sum", "weight = C /", "weight = 1 /", "sum_norm")
("joint_sum", "C / np.maximum(every[fine], C)", "C / np.maximum(every[fine], C) / max(len(every), 1)", "sum_norm")
("moves", "else 2 * C", "else C", "moves_record")
("moves", "return C if", "return 2 * C if", "moves_record")
("least_noise", "return high", "return low", "noise_enough")
("least_noise", "1.0005", "1.05", "noise_spare")
("least_noise", "high > 1.0005 * low", "high - low > 0.001", "noise_spare")
("least_noise", "<= target", ">= target", "noise_spare")
("least_noise", "spent(middle, q, steps, delta)", "spent(middle, q, 1, delta)", "noise_enough")
(
    "label_only",
    "With two classes the errors are opposite, so the two clipped terms can be opposite vectors of norm C.",
    "2 C",
    "label_only_answer",
)
("device", '"b"', '"c"', "device_answer")
("larger_batch", '"c"', '"b"', "larger_batch_answer")
("guess", "[70, 0, 30]", "[70, -1, 30]", "guess_made")
