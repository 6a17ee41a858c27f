"""Typical mistakes: the score that each must get of 20 points, and the cells whose points it must lose.

Every cell has one point.
"""

# %% biases_forgotten score=19 fails=["norms_values"]
# took the norm of the weights' part alone; everything later is built on it
import numpy as np


# %% norms
def norms(dz, h):
    total = 0
    for above, below in zip(dz[1:], h[:-1]):
        total = total + (np.linalg.norm(above, axis=1) * np.linalg.norm(below, axis=1)) ** 2
    return np.sqrt(total)


# %% one_for_all_biases score=19 fails=["norms_values"]
# added the 1 of the biases once for all layers, not to the square of each layer's input


# %% norms
def norms(dz, h):
    out = []
    for i in range(len(dz[1])):
        square = 1.0
        for l in range(1, len(dz)):
            square += np.dot(dz[l][i], dz[l][i]) * np.dot(h[l - 1][i], h[l - 1][i])
        out.append(math.sqrt(square))
    return np.array(out)


# %% triangle score=19 fails=["norms_values"]
# added the norms of the layers up: never too short, and not the norm of the whole


# %% norms
def norms(dz, h):
    L = len(dz) - 1
    layer = [np.linalg.norm(dz[l], axis=1) * np.sqrt(1 + np.sum(h[l - 1] ** 2, axis=1)) for l in range(1, L + 1)]
    return np.sum(layer, axis=0)


# %% what_it_puts_out score=19 fails=["norms_values"]
# paired dz[l] with h[l], which has as many rows and so raises nothing


# %% norms
def norms(dz, h):
    squares = np.zeros(len(dz[1]))
    for d, a in zip(dz[1:], h[1:]):
        squares += np.einsum("ij,ij->i", d, d) * (np.einsum("ij,ij->i", a, a) + 1)
    return squares**0.5


# %% outer_by_einsum score=19 fails=["norms_memory"]
# the right norms, of outer products that einsum lays out in full


# %% norms
def norms(dz, h):
    square = 0.0
    for l in range(1, len(dz)):
        every = np.einsum("ki,kj->kij", dz[l], h[l - 1])
        square = square + np.sum(every**2, axis=(1, 2)) + np.sum(dz[l] ** 2, axis=1)
    return np.sqrt(square)


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


# %% joint_sum
def joint_sum(dz, h, C):
    long = np.asarray(norms(dz, h))
    use = np.flatnonzero(np.isfinite(long))
    w = np.array([min(1.0, C / n) if n > 0 else 1.0 for n in long[use]])
    dW, db = [None], [None]
    for d, a in zip(dz[1:], h):
        d = d[use] * w.reshape(-1, 1)
        dW.append(np.einsum("ki,kj->ij", d, a[use]) / len(long))
        db.append(d.sum(axis=0) / len(long))
    return dW, db


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


# %% joint_sum
def joint_sum(dz, h, C):
    square = np.asarray(norms(dz, h)) ** 2
    factor = np.where(square > C, C / np.where(square > 0, square, 1), 1)
    factor[~np.isfinite(square)] = 0
    dW, db = [None] * len(dz), [None] * len(dz)
    for l in range(1, len(dz)):
        d = np.nan_to_num(dz[l], posinf=0, neginf=0) * factor[:, None]
        dW[l], db[l] = d.T @ np.nan_to_num(h[l - 1], posinf=0, neginf=0), d.sum(axis=0)
    return dW, db


# %% biases_not_weighed score=19 fails=["sum_direction"]
# weighed the weights' part and gave the biases the plain sum


# %% joint_sum
def joint_sum(dz, h, C):
    long = np.asarray(norms(dz, h))
    d, a = ([None if v is None else v[np.isfinite(long)] for v in lists] for lists in (dz, h))
    w = C / np.maximum(C, long[np.isfinite(long)])
    dW = [None] + [(d[l] * w[:, None]).T @ a[l - 1] for l in range(1, len(d))]
    db = [None] + [np.sum(d[l], axis=0) for l in range(1, len(d))]
    return dW, db


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


# %% joint_sum
def joint_sum(dz, h, C):
    sums = []
    scale = [C / n if 0 < n < math.inf else 0.0 for n in norms(dz, h)]
    for l in range(1, len(dz)):
        w, v = np.zeros((dz[l].shape[1], h[l - 1].shape[1])), np.zeros(dz[l].shape[1])
        for i, s in enumerate(scale):
            if s:
                w += s * np.outer(dz[l][i], h[l - 1][i])
                v += s * dz[l][i]
        sums.append((w, v))
    return [None] + [w for w, _ in sums], [None] + [v for _, v in sums]


# %% zero_times_infinity score=19 fails=["sum_any"]
# the weight of an infinite direction is 0, and 0 times infinity is nan


# %% joint_sum
def joint_sum(dz, h, C):
    w = np.minimum(1, C / np.maximum(norms(dz, h), 1e-12))[:, None]
    scaled = [None if d is None else w * d for d in dz]
    return [None] + [s.T @ a for s, a in zip(scaled[1:], h)], [None] + [s.sum(0) for s in scaled[1:]]


# %% zero_divided score=19 fails=["sum_any"]
# Python's own division, which raises for a direction of zero


# %% joint_sum
def joint_sum(dz, h, C):
    w = [min(1.0, C / float(n)) if math.isfinite(n) else None for n in norms(dz, h)]
    dW, db = [None], [None]
    for above, below in zip(dz[1:], h):
        W_l, b_l = np.zeros((above.shape[1], below.shape[1])), np.zeros(above.shape[1])
        for i, factor in enumerate(w):
            if factor is not None:
                W_l = W_l + factor * np.outer(above[i], below[i])
                b_l = b_l + factor * above[i]
        dW.append(W_l)
        db.append(b_l)
    return dW, db


# %% at_random_angles score=19 fails=["moves_record"]
# took two clipped directions to be orthogonal, as long random vectors nearly are


# %% moves
def moves(C, relation):
    terms = 1 if relation == "add-remove" else 2
    return math.sqrt(terms * C**2)


# %% conventions_swapped score=19 fails=["moves_record"]
# two for a record that comes, one for a record that is exchanged


# %% moves
def moves(C, relation):
    return {"add-remove": 2 * C, "replace-one": C, "replace-label": 2 * C}[relation]


# %% only_the_label score=19 fails=["moves_label"]
# thought that a label moves half as much as a record, since the input stays


# %% moves
def moves(C, relation):
    factors = {"replace-one": 2, "add-remove": 1, "replace-label": 1}
    return C * factors[relation]


# %% softmax_errors score=19 fails=["moves_label"]
# two errors of one input differ by at most sqrt(2): right of the errors, and not of what is clipped


# %% moves
def moves(C, relation):
    if relation == "replace-label":
        return min(2 * C, C * math.sqrt(2))
    return 2 * C if relation == "replace-one" else C


# %% as_in_the_paper score=19 fails=["premises_needed"]
# asked for the spectral norm of B and the slope, as the papers' bounds do


# %% premises
def premises():
    return [1, 3, 4, 5, 6]


# %% after_the_clip score=19 fails=["premises_needed"]
# overlooked what may happen between the clip and the sum


# %% premises
def premises():
    return [1, 3]


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
import numpy as np


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


# %% pair_layers
def pair_layers():
    return "holds", [((0.0, 0.0), 1)], [((0.0, 0.0), 1), ((0.2, 0.1), 0)]


# %% refuted_in_vain score=19 fails=["variant_split"]
# was sure that layers clipped apart must fail


# %% pair_split
def pair_split():
    far = (8.0, -8.0)
    return "fails", [(far, 1)], [(far, 1), (far, 0)]


# %% too_short_to_show score=19 fails=["variant_split"]
# says rightly that it holds, with a record that is not clipped in both layers


# %% pair_split
def pair_split():
    return "holds", [], [((-1.0, -1.0), 1)]


# %% nearly_all_numbers score=19 fails=["variant_weights"]
# took a long input, for which the biases' part is small


# %% pair_weights
def pair_weights():
    one = ([400.0, -300.0], 0)
    return "holds", [], [one]


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


# %% pair_batch
def pair_batch():
    dark = [((3.0, 3.0), 1)] * 9
    return "fails", dark + [((3.0, 3.0), 0)], dark + [((1.0, 1.0), 1)]


# %% alone_in_the_batch score=19 fails=["variant_batch"]
# tried single records, which set their own threshold


# %% pair_batch
def pair_batch():
    return "holds", [], [((2.0, -2.0), 0)]


# %% fewer_than_M score=19 fails=["variant_count"]
# a record alone, where a batch has at least four


# %% pair_count
def pair_count():
    return "fails", [((3.0, 3.0), 0)], [((3.0, 3.0), 0), ((3.0, 3.0), 1)]


# %% all_alike score=19 fails=["variant_count"]
# one more of the same, which does not move a mean


# %% pair_count
def pair_count():
    D = [((4.0, -1.0), 0)] * 6
    return "fails", D[:-1], D


# %% noise_of_the_sum score=19 fails=["std_value"]
# the standard deviation for the sum, where the noise is on the mean


# %% noise_std
def noise_std(z, C, m):
    sensitivity = C
    return z * sensitivity


# %% averaged_noise score=19 fails=["std_value"]
# divided by the root of m, as if every record brought noise of its own


# %% noise_std
def noise_std(z, C, m):
    return z * C / np.sqrt(m)


# %% lower_end score=19 fails=["noise_enough"]
# halved to the last digit, and returned the end that is above the target


# %% least_noise
def least_noise(target, q, steps, delta):
    a, b_ = 0.3, 30
    while b_ - a > 2e-4:
        c = (a + b_) / 2
        if spent(c, q, steps, delta) > target:
            a = c
        else:
            b_ = c
    return a


# %% on_a_grid score=19 fails=["noise_spare"]
# stepped through multipliers by two hundredths


# %% least_noise
def least_noise(target, q, steps, delta):
    for z in np.arange(0.5, 30, 0.02):
        if spent(z, q, steps, delta) <= target:
            return z


# %% one_epoch score=19 fails=["noise_enough"]
# counted one epoch of steps, whatever the run has


# %% least_noise
def least_noise(target, q, steps, delta):
    from scipy.optimize import brentq

    z = brentq(lambda z: spent(z, q, round(1 / q), delta) - target, 0.3, 30)
    return z * 1.0001


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
import numpy as np


# %% joint_sum
def joint_sum(dz, h, C):
    weight = min(1.0, C / float(np.mean(norms(dz, h))))
    dW = [None, *(weight * np.einsum("ki,kj->ij", d, v) for d, v in zip(dz[1:], h))]
    return dW, [None, *(weight * d.sum(axis=0) for d in dz[1:])]


# %% labels_move_less score=19 fails=["moves_label"]
# thought that half of a direction stays when the label alone changes
import math


# %% moves
def moves(C, relation):
    return {"add-remove": C, "replace-one": 2 * C, "replace-label": math.sqrt(2) * C}[relation]


# %% hidden_layers_alone score=19 fails=["norms_values"]
# left the top layer out of the norm
import numpy as np


# %% norms
def norms(dz, h):
    pairs = list(zip(dz[1:-1], h)) or [(dz[1], h[0])]
    return np.sqrt(sum(np.einsum("ki,ki->k", d, d) * (1 + np.einsum("ki,ki->k", t, t)) for d, t in pairs))


# %% rows_that_are_zero_only score=19 fails=["sum_any"]
# looked for nan and not for infinity
import numpy as np


# %% joint_sum
def joint_sum(dz, h, C):
    long = norms(dz, h)
    fine = ~np.isnan(long)
    share = np.minimum(1, C / np.where(long > 0, long, C))[fine, None]
    dW = [None, *((share * d[fine]).T @ t[fine] for d, t in zip(dz[1:], h))]
    return dW, [None, *((share * d[fine]).sum(0) for d in dz[1:])]


# %% half_of_the_noise score=19 fails=["std_value"]
# had the sensitivity of a record that is replaced in the noise
import numpy as np


# %% noise_std
def noise_std(z, C, m):
    return z * moves(C, "replace-one") / m
