"""Typical mistakes: the score that each must get of 20 points, and the cells whose points it must lose.

Every cell has one point.
"""


# %% largest_layer score=19 fails=["joint_parts"]
# took the largest of the layers' sensitivities for that of all together


# %% joint
def joint(deltas):
    return max(deltas)


# %% sum_of_layers score=19 fails=["joint_parts"]
# added the layers' sensitivities up: a bound, but not the smallest


# %% joint
def joint(deltas):
    return sum(deltas)


# %% relations_swapped score=19 fails=["neighbours_replace"]
# took add-remove for replace-one and the other way round


# %% neighbours
def neighbours(D, domain, relation):
    found = []
    for i in range(len(D)):
        rest = D[:i] + D[i + 1 :]
        found += [rest] if relation == "replace-one" else [[*rest, record] for record in domain]
    if relation == "replace-one":
        found += [[*D, record] for record in domain]
    return found


# %% never_adds score=19 fails=["neighbours_add_remove"]
# took records away and added none


# %% neighbours
def neighbours(D, domain, relation):
    found = []
    for i in range(len(D)):
        rest = D[:i] + D[i + 1 :]
        found += [rest] if relation == "add-remove" else [[*rest, record] for record in domain]
    return found


# %% first_record_only score=19 fails=["neighbours_replace"]
# replaced the first record only


# %% neighbours
def neighbours(D, domain, relation):
    if relation == "replace-one":
        return [[record, *D[1:]] for record in domain if D]
    return [D[:i] + D[i + 1 :] for i in range(len(D))] + [[*D, record] for record in domain]


# %% two_replaced score=19 fails=["neighbours_replace"]
# compared all data sets of one size, whatever the number of records that differ


# %% neighbours
def neighbours(D, domain, relation):
    if relation == "replace-one":
        return [list(other) for other in itertools.product(domain, repeat=len(D))]
    return [D[:i] + D[i + 1 :] for i in range(len(D))] + [[*D, record] for record in domain]


# %% l1_norm score=19 fails=["sensitivity_norm"]
# added up the entries' differences: the l1 norm
import math

import numpy as np


# %% sensitivity
def sensitivity(f, domain, sizes, relation):
    largest = 0.0
    for n in sizes:
        for D in itertools.product(domain, repeat=n):
            for other in neighbours(list(D), domain, relation):
                if len(other) in sizes:
                    largest = max(largest, np.sum(np.abs(f(list(D)) - f(other))))
    return largest


# %% mean_over_pairs score=19 fails=["sensitivity_values"]
# took the mean over all pairs of neighbours in place of the worst pair
import math

import numpy as np


# %% sensitivity
def sensitivity(f, domain, sizes, relation):
    moved = []
    for n in sizes:
        for D in itertools.product(domain, repeat=n):
            for other in neighbours(list(D), domain, relation):
                if len(other) in sizes:
                    moved.append(np.linalg.norm(f(list(D)) - f(other)))
    return np.mean(moved)


# %% sizes_ignored score=19 fails=["sensitivity_values"]
# went on to neighbours whose size is not in the list
import math

import numpy as np


# %% sensitivity
def sensitivity(f, domain, sizes, relation):
    largest = 0.0
    for n in sizes:
        for D in itertools.product(domain, repeat=n):
            for other in neighbours(list(D), domain, relation):
                largest = max(largest, np.linalg.norm(f(list(D)) - f(other)))
    return largest


# %% replace_for_add score=19 fails=["sum_predicted"]
# took the range of the records for the sum under both relations


# %% sum_moves
def sum_moves(a, b, relation):
    return b - a


# %% twice_the_norm score=19 fails=["sum_predicted"]
# 2C for replace-one, though records in [a, b] are not as far apart as -C and C


# %% sum_moves
def sum_moves(a, b, relation):
    C = max(abs(a), abs(b))
    return 2 * C if relation == "replace-one" else C


# %% one_term_of_the_mean score=19 fails=["mean_predicted"]
# took away one term of the mean and forgot that its divisor changes


# %% mean_moves
def mean_moves(a, b, n, relation):
    return (b - a) / n if relation == "replace-one" else max(abs(a), abs(b)) / n


# %% sign score=19 fails=["mean_predicted"]
# took a - b


# %% mean_moves
def mean_moves(a, b, n, relation):
    return (a - b) / n


# %% robust_median score=19 fails=["median_predicted"]
# thought that the median moves as little as the mean


# %% median_moves
def median_moves(a, b, n, relation):
    return (b - a) / n


# %% forgot_bias score=19 fails=["clip_norm_values"]
# counted L gradients where W and b are clipped apart
import math

import numpy as np


# %% clip_norm
def clip_norm(S, L):
    return S / (2 * math.sqrt(L))


# %% c_for_two_c score=19 fails=["clip_norm_values"]
# moved a clipped gradient by its norm in place of twice that
import math

import numpy as np


# %% clip_norm
def clip_norm(S, L):
    return S / math.sqrt(2 * L)


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


# %% pair_size
def pair_size():
    return "fails", [[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [-1.0, 0.0], [-1.0, 0.0]]


# %% actual_batch score=19 fails=["bound_of_size"]
# divided by the size of the smaller batch, without asking which way the last record points


# %% bound_size
def bound_size(C, k):
    return C / (k - 1)


# %% expectation score=18 fails=["pair_of_expected", "bound_of_expected"]
# believed the expectation: holds, as some error is neither made longer nor shorter
import math

import numpy as np


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
import math

import numpy as np


# %% bound_expected
def bound_expected(B, m, tau_e):
    return 2 * tau_e / m * np.linalg.norm(B)


# %% all_fail score=18 fails=["pair_of_column", "pair_of_label"]
# says that every claim fails, and hands in the farthest neighbours there are
import math

import numpy as np


# %% pair_column
def pair_column():
    return "fails", [([1.0, 0.0], np.ones(4))], [([-1.0, 0.0], np.ones(4))]


# %% pair_label
def pair_label():
    return "fails", [([0.5, 0.5], 0)], [([0.5, 0.5], 1)]


# %% only_h_moves score=19 fails=["pair_of_bias"]
# replaced what the layer reads and kept the error, which the claim allows
import math

import numpy as np


# %% pair_bias
def pair_bias():
    return "fails", [([1.0, 0.0], np.ones(4))], [([1.0, 0.0], -np.ones(4))]


# %% bias_alone score=19 fails=["bound_of_bias"]
# bounded the bias and forgot the matrix beside it


# %% bound_bias
def bound_bias(m, n, tau_B, tau_h):
    return 2 / m * tau_B


# %% worst_column_for_all score=19 fails=["bound_of_bias"]
# gave every column what the bias needs: true and wasteful
import math

import numpy as np


# %% bound_bias
def bound_bias(m, n, tau_B, tau_h):
    return math.sqrt(n + 1) * 2 / m * tau_B * max(1, tau_h / math.sqrt(n))


# %% same_label score=19 fails=["pair_of_total"]
# replaced the input and kept the label


# %% pair_total
def pair_total():
    return "fails", [([1.0, 1.0], 0)], [([1.0, 0.9], 0)]


# %% top_through_beta score=19 fails=["bound_of_total"]
# let the output layer's error pass through a feedback matrix
import math

import numpy as np


# %% bound_total
def bound_total(L, m, gamma, beta, tau_e, tau_h):
    return 2 / m * beta * tau_e * math.sqrt((1 + tau_h**2) * (1 + (L - 1) * gamma**2))


# %% c_for_two_c_in_total score=19 fails=["bound_of_total"]
# the add-remove bound for replace-one
import math

import numpy as np


# %% bound_total
def bound_total(L, m, gamma, beta, tau_e, tau_h):
    return tau_e / m * math.sqrt((1 + tau_h**2) * (1 + (L - 1) * (gamma * beta) ** 2))


# %% thousand_times score=19 fails=["bound_of_total"]
# a bound for sure: a thousand times the claimed number


# %% bound_total
def bound_total(L, m, gamma, beta, tau_e, tau_h):
    return 1000 * claimed_total(L, m, gamma, beta, tau_e, tau_h)


# %% output_for_all score=19 fails=["bound_of_total"]
# gave every layer the share of the output layer: true and wasteful
import math

import numpy as np


# %% bound_total
def bound_total(L, m, gamma, beta, tau_e, tau_h):
    return 2 / m * tau_e * math.sqrt((1 + tau_h**2) * L)


# %% confident score=19 fails=["pair_of_label"]
# says rightly that it holds, with a prediction so sure of itself that one error is clipped


# %% pair_label
def pair_label():
    return "holds", [([0.99, 0.01], 0)], [([0.99, 0.01], 1)]


# %% other_input score=19 fails=["pair_of_label"]
# replaced the whole record where only its label may change


# %% pair_label
def pair_label():
    return "fails", [([0.99, 0.01], 1)], [([0.01, 0.99], 0)]


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
import numpy as np


# %% bound_expected
def bound_expected(B, m, tau_e):
    return 2 * tau_e / m * max(sum(abs(row[j]) for row in B) for j in range(len(B[0])))


# %% last_leaves score=19 fails=["neighbours_add_remove"]
# added any record, but removed the last one alone
import itertools


# %% neighbours
def neighbours(D, domain, relation):
    if relation == "replace-one":
        return [[*D[:i], new, *D[i + 1 :]] for i, new in itertools.product(range(len(D)), domain)]
    return [D + [new] for new in domain] + ([D[:-1]] if D else [])


# %% biggest_entry score=19 fails=["sensitivity_norm"]
# took the largest entry of the difference of two vectors
import numpy as np


# %% sensitivity
def sensitivity(f, domain, sizes, relation):
    worst = 0.0
    for n in sizes:
        for D in itertools.combinations_with_replacement(domain, n):
            for other in neighbours(list(D), domain, relation):
                if len(other) in sizes:
                    worst = max(worst, np.max(np.abs(np.asarray(f(list(D))) - f(other))))
    return worst


# %% never_empty score=19 fails=["neighbours_add_remove"]
# never came to the empty data set
import numpy as np


# %% neighbours
def neighbours(D, domain, relation):
    without = [[*D[:i], *D[i + 1 :]] for i in range(len(D))]
    if relation == "replace-one":
        return [[*rest, record] for rest in without for record in domain]
    return [rest for rest in without if rest] + [[record, *D] for record in domain]
