"""Typical mistakes: the score that each must get of 20 points, and the cells whose points it must lose.

A line ("cell", "old", "new") replaces text in the reference solution, which has the old text in that cell once.
"""

# %% biases_forgotten score=19 fails=["norms_values"]
# took the norm of the weights' part alone; everything later is built on it
("norms", " + 1) for l", ") for l")

# %% one_for_all_biases score=19 fails=["norms_values"]
# added the 1 of the biases once for all layers, not to the square of each layer's input
("norms", "np.sqrt(sum(", "np.sqrt(1 + sum(")
("norms", " + 1) for l", ") for l")

# %% triangle score=19 fails=["norms_values"]
# added the norms of the layers up: never too short, and not the norm of the whole
(
    "norms",
    "np.sqrt(sum((dz[l] ** 2).sum(axis=1) * ((h[l - 1] ** 2).sum(axis=1) + 1) for",
    "sum(np.sqrt((dz[l] ** 2).sum(axis=1) * ((h[l - 1] ** 2).sum(axis=1) + 1)) for",
)
("norms", "L + 1)))", "L + 1))")

# %% what_it_puts_out score=19 fails=["norms_values"]
# paired dz[l] with h[l], which has as many rows and so raises nothing
("norms", "h[l - 1]", "h[l]")

# %% outer_by_einsum score=19 fails=["norms_memory"]
# the right norms, of outer products that einsum lays out in full
(
    "norms",
    "(dz[l] ** 2).sum(axis=1) * ((h[l - 1] ** 2).sum(axis=1) + 1)",
    '(np.einsum("ki,kj->kij", dz[l], h[l - 1]) ** 2).sum(axis=(1, 2)) + (dz[l] ** 2).sum(axis=1)',
)


# %% row_of_ones score=19 fails=["norms_memory"]
# one record at a time, each still formed
# %% norms
def norms(dz, h):
    found = []
    for i in range(len(dz[1])):
        pieces = [np.outer(dz[l][i], np.append(h[l - 1][i], 1.0)) for l in range(1, len(dz))]
        found.append(math.sqrt(sum(float((piece * piece).sum()) for piece in pieces)))
    return np.array(found)


# %% mean_of_the_batch score=19 fails=["sum_length"]
# divided by the number of records, out of habit
("joint_sum", "h[l - 1][fine]", "h[l - 1][fine] / len(long)")
("joint_sum", "kept.sum(axis=0)", "kept.sum(axis=0) / len(long)")


# %% each_layer_to_C score=19 fails=["sum_direction"]
# clipped every layer by itself
# %% joint_sum
def joint_sum(dz, h, C):
    dW, db = [None], [None]
    for d, a in zip(dz[1:], h):
        long = norms([None, d], [a])
        ok = np.isfinite(long)
        w = np.minimum(1, C / np.maximum(long[ok], 1e-30))[:, None]
        dW.append((w * d[ok]).T @ a[ok])
        db.append((w * d[ok]).sum(0))
    return dW, db


# %% root_forgotten score=19 fails=["sum_direction"]
# compared C with the square of the norm
("joint_sum", "long = norms(dz, h)", "long = norms(dz, h) ** 2")

# %% biases_not_weighed score=19 fails=["sum_direction"]
# weighed the weights' part and gave the biases the plain sum
("joint_sum", "kept.sum(axis=0)", "dz[l][fine].sum(axis=0)")


# %% batch_clipped score=19 fails=["sum_direction"]
# added first and clipped the sum, by C for every record
# %% joint_sum
def joint_sum(dz, h, C):
    good = [i for i, n in enumerate(norms(dz, h)) if math.isfinite(n)]
    dW = [None] + [np.einsum("ki,kj->ij", d[good], a[good]) for d, a in zip(dz[1:], h)]
    db = [None] + [d[good].sum(axis=0) for d in dz[1:]]
    size = math.sqrt(sum(float((g**2).sum()) for g in dW[1:] + db[1:]))
    s = min(1.0, len(good) * C / size) if size else 1.0
    return [None] + [s * g for g in dW[1:]], [None] + [s * g for g in db[1:]]


# %% everyone_gets_C score=19 fails=["sum_direction"]
# gave every record the length C, short ones too
("joint_sum", "np.maximum(long[fine], C)", "np.where(long[fine] > 0, long[fine], 1)")

# %% zero_times_infinity score=19 fails=["sum_any"]
# the weight of an infinite direction is 0, and 0 times infinity is nan
("joint_sum", "np.isfinite(long)", "np.full(len(long), True)")

# %% zero_divided score=19 fails=["sum_any"]
# Python's own division, which raises for a direction of zero
("joint_sum", "C / np.maximum(long[fine], C)", "np.array([min(1.0, C / float(n)) for n in long[fine]])")

# %% at_random_angles score=19 fails=["moves_record"]
# took two clipped directions to be orthogonal, as long random vectors nearly are
("moves", "2 * C", "math.sqrt(2) * C")

# %% conventions_swapped score=19 fails=["moves_record"]
# two for a record that comes, one for a record that is exchanged
("moves", 'C if relation == "add-remove" else 2 * C', 'C if relation == "replace-one" else 2 * C')

# %% only_the_label score=19 fails=["moves_label"]
# thought that a label moves half as much as a record, since the input stays
("moves", '== "add-remove"', '!= "replace-one"')

# %% softmax_errors score=19 fails=["moves_label"]
# two errors of one input differ by at most sqrt(2): right of the errors, and not of what is clipped
("moves", "2 * C", '2 * C if relation == "replace-one" else min(2 * C, C * math.sqrt(2))')

# %% as_in_the_paper score=19 fails=["premises_needed"]
# asked for the spectral norm of B and the slope, as the papers' bounds do
("premises", "[1, 3, 6]", "[1, 3, 4, 5, 6]")

# %% after_the_clip score=19 fails=["premises_needed"]
# overlooked what may happen between the clip and the sum
("premises", "[1, 3, 6]", "[1, 3]")


# %% likeliest_label score=19 fails=["attains_C"]
# a far input with the label that the network gives it: the error is 0 there
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
# made the first layer's part as long as C, which takes a B that is not 0
# %% attain
def attain(W, b, B, C):
    x = np.random.default_rng(8).normal(size=np.shape(W[1])[1])
    classes = len(b[-1])
    dz, _ = signals(W, b, B, np.tile(x, (classes, 1)), np.eye(classes))
    fed_back = np.linalg.norm(dz[1], axis=1)
    label = int(fed_back.argmax())
    return 10 * C / (fed_back[label] * np.linalg.norm(x)) * x, label


# %% far_away score=19 fails=["attains_2C"]
# a far input, whose likely label has next to no error
# %% opposite
def opposite(W, b, B, C):
    x = np.zeros(W[1].shape[1])
    x[0] = 1e6
    return x


# %% from_both_sides score=19 fails=["attains_2C"]
# looked for an input that is long on average over its two labels
# %% opposite
def opposite(W, b, B, C):
    rng = np.random.default_rng(3)
    tries = 50 * rng.normal(size=(200, W[1].shape[1]))
    both = sum(norms(*signals(W, b, B, tries, np.tile(y, (200, 1)))) for y in ([1.0, 0.0], [0.0, 1.0]))
    return tries[np.argmax(both)]


# %% no_layer_exceeds score=19 fails=["variant_layers"]
# believed the argument, with a record of which a single layer is long
("pair_layers", '"fails", [], [((3.0, -2.0), 0)]', '"holds", [((0.0, 0.0), 1)], [((0.0, 0.0), 1), ((0.2, 0.1), 0)]')

# %% refuted_in_vain score=19 fails=["variant_split"]
# was sure that layers clipped apart must fail
("pair_split", '"holds", [], [((3.0, -2.0), 0)]', '"fails", [((8.0, -8.0), 1)], [((8.0, -8.0), 1), ((8.0, -8.0), 0)]')

# %% too_short_to_show score=19 fails=["variant_split"]
# says rightly that it holds, with a record that is not clipped in both layers
("pair_split", "[((3.0, -2.0), 0)]", "[((-1.0, -1.0), 1)]")

# %% nearly_all_numbers score=19 fails=["variant_weights"]
# took a long input, for which the biases' part is small
("pair_weights", '"fails", [], [((0.0, 0.0), 0)]', '"holds", [], [([400.0, -300.0], 0)]')


# %% in_proportion score=19 fails=["variant_error"]
# a record near 0, which the error's clip does hold below C
# %% pair_error
def pair_error():
    one = ([0.1, -0.05], 1)
    return "holds", [one, one], [one, one, ([-3.0, -3.0], 1)]


# %% own_by_rounding score=19 fails=["variant_own"]
# thought that the jump of a threshold breaks the bound of one record too
# %% pair_own
def pair_own():
    D = [((3.0, 3.0), 1), ((-3.0, 2.0), 1)]
    return "fails", D, D + [((3.0, -3.0), 0)]


# %% replaced_the_bright_one score=19 fails=["variant_batch"]
# far apart, and no neighbours: one record was replaced by another
("pair_batch", "* 10", "* 9")
("pair_batch", "D, [*D, ((3.0, 3.0), 0)]", "[*D, ((3.0, 3.0), 0)], [*D, ((1.0, 1.0), 1)]")


# %% alone_in_the_batch score=19 fails=["variant_batch"]
# tried single records, which set their own threshold
# %% pair_batch
def pair_batch():
    return "holds", [], [((2.0, -2.0), 0)]


# %% fewer_than_M score=19 fails=["variant_count"]
# a record alone, where a batch has at least four
("pair_count", "[((0.0, 0.0), 1)] * 4", "[((3.0, 3.0), 0)]")
("pair_count", "[*D, ((0.0, 0.0), 0)]", "[*D, ((3.0, 3.0), 1)]")

# %% all_alike score=19 fails=["variant_count"]
# one more of the same, which does not move a mean
("pair_count", "((0.0, 0.0), 1)", "((4.0, -1.0), 0)")
("pair_count", "[*D, ((0.0, 0.0), 0)]", "[*D, *D[:1]]")

# %% noise_of_the_sum score=19 fails=["std_value"]
# the standard deviation for the sum, where the noise is on the mean
("noise_std", " / m", "")

# %% averaged_noise score=19 fails=["std_value"]
# divided by the root of m, as if every record brought noise of its own
("noise_std", "/ m", "/ np.sqrt(m)")

# %% lower_end score=19 fails=["noise_enough"]
# halved to the last digit, and returned the end that is above the target
("least_noise", "1.0005 * low", "1.0001 * low")
("least_noise", "return high", "return low")


# %% on_a_grid score=19 fails=["noise_spare"]
# stepped through multipliers by two hundredths
# %% least_noise
def least_noise(target, q, steps, delta):
    for z in np.arange(0.5, 30, 0.02):
        if spent(z, q, steps, delta) <= target:
            return z


# %% one_epoch score=19 fails=["noise_enough"]
# counted one epoch of steps, whatever the run has
("least_noise", "spent(middle, q, steps, delta)", "spent(middle, q, round(1 / q), delta)")


# %% infinite_loop score=19 fails=["attains_C"]
# doubles an input until its direction is long enough, for a label whose error goes to 0
# %% attain
def attain(W, b, B, C):
    x = np.ones(W[1].shape[1])
    while True:
        y_hat = signals(W, b, B, [x], np.zeros((1, len(b[-1]))))[1][-1]
        label = int(y_hat.argmax())
        if norms(*signals(W, b, B, [x], np.eye(len(b[-1]))[[label]]))[0] > C:
            return x, label
        x = np.minimum(2 * x, 1e6)


# %% tampered score=17 fails=["sum_direction", "sum_length", "premises_needed"]
# returned zeros and all sentences, and rewrote the graded cells so that they pass; they are put back before grading
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

# %% sum_length
print("all checks passed")

# %% premises_needed
pass


# %% typical_length_clipped score=18 fails=["sum_direction", "sum_any"]
# gave all records the weight that clips their mean norm
# %% joint_sum
def joint_sum(dz, h, C):
    weight = min(1.0, C / float(np.mean(norms(dz, h))))
    dW = [None, *(weight * np.einsum("ki,kj->ij", d, v) for d, v in zip(dz[1:], h))]
    return dW, [None, *(weight * d.sum(axis=0) for d in dz[1:])]


# %% labels_move_less score=19 fails=["moves_label"]
# thought that half of a direction stays when the label alone changes
("moves", "2 * C", '2 * C if relation == "replace-one" else math.sqrt(2) * C')

# %% hidden_layers_alone score=19 fails=["norms_values"]
# left the top layer out of the norm
("norms", "range(1, L + 1)", "range(1, max(L, 2))")

# %% rows_that_are_zero_only score=19 fails=["sum_any"]
# looked for nan and not for infinity
("joint_sum", "np.isfinite(long)", "~np.isnan(long)")

# %% half_of_the_noise score=19 fails=["std_value"]
# had the sensitivity of a record that is replaced in the noise
("noise_std", '"add-remove"', '"replace-one"')


# %% no_input score=19 fails=["attains_2C"]
# took no input, where both classes are as likely only if the biases are small
# %% opposite
def opposite(W, b, B, C):
    return np.zeros(W[1].shape[1])


# %% longest_of_one_label score=19 fails=["attains_2C"]
# looked at one of the two labels
("opposite", "for label in (0, 1)", "for label in (1, 1)")

# %% longer_of_two score=19 fails=["attains_2C"]
# made the longer of the two terms long
("opposite", "np.minimum", "np.maximum")

# %% starts_too_high score=19 fails=["noise_spare"]
# searched from 0.6 on
("least_noise", "0.3, 30.0", "0.6, 30.0")

# %% top_layer_forgotten score=19 fails=["norms_values"]
# left the top layer out of the norm, by a range that ends too early
("norms", "range(1, L + 1)", "range(1, L)")

# %% wrong_axis score=19 fails=["norms_values"]
# added over the records in one of the two factors
("norms", "(dz[l] ** 2).sum(axis=1)", "(dz[l] ** 2).sum(axis=0)")

# %% a_layer_less score=19 fails=["sum_direction"]
# left the top layer out of the sum
("joint_sum", "range(1, L + 1)", "range(1, L)")

# %% times_for_over score=19 fails=["sum_direction"]
# multiplied by the norm
("joint_sum", "C / np.maximum", "C * np.maximum")

# %% norm_and_a_bit score=19 fails=["sum_length"]
# added a little to the norm, which is much for a small C
("joint_sum", "np.maximum(long[fine], C)", "(np.maximum(long[fine], C) + 1e-8)")

# %% slips
# one slip in the reference solution, and the one graded cell that it must fail
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
("joint_sum", "np.maximum(long[fine], C)", "np.minimum(long[fine], C)", "sum_direction")
("joint_sum", "np.maximum(long[fine], C)", "long[fine]", "sum_direction")
("joint_sum", "weight = C /", "weight = 1 /", "sum_length")
("joint_sum", "C / np.maximum(long[fine], C)", "C / np.maximum(long[fine], C) / max(len(long), 1)", "sum_length")
("moves", "else 2 * C", "else C", "moves_record")
("moves", "return C if", "return 2 * C if", "moves_record")
("least_noise", "return high", "return low", "noise_enough")
("least_noise", "1.0005", "1.05", "noise_spare")
("least_noise", "<= target", ">= target", "noise_spare")
("least_noise", "spent(middle, q, steps, delta)", "spent(middle, q, 1, delta)", "noise_enough")
